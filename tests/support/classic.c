/* classic.c - the classical graph memory manager.
 *
 * Faithful in what it does, not in how slow it is: one entry per node in an open hash map,
 * status and visit marks in the entry, sinks in a dense array. Invariants: `sinks` holds the
 * entries without registered children; statuses mean something during a cleanup only.
 * SPDX-License-Identifier: MIT */
#include "classic.h"

#include <stdlib.h>
#include <string.h>

enum { UNKNOWN, UNAVAILABLE, USEFUL };

typedef struct entry {
    classic_node *node;
    uint64_t epoch; /* of the cleanup that gave the status */
    uint64_t seen;  /* newest phase 3 walk that was here */
    int64_t sink;   /* place in sinks, -1 if none */
    uint32_t n_parents;
    uint8_t status, tagged, explored, listed;
    uint64_t parents[];
} entry;

typedef struct step {
    uint64_t id;
    uint32_t n_parents;
    bool is_leaf;
    uint64_t parents[];
} step;

/* Open addressing with linear probing and backward shifts; keys are ids from 1. */
typedef struct map {
    uint64_t *keys;
    void **values;
    size_t size, n;
} map;

typedef struct list {
    void **items;
    size_t n, size;
} list;

struct classic {
    unsigned mends;
    uint64_t epoch, walk;
    map nodes, steps;
    list sinks;
    list useful, explore, delete; /* of a cleanup, kept for the next */
};

/* Handed out to nodes of all managers, so that extend meets no equal ids. */
static uint64_t next_id(void)
{
    static uint64_t last;
    return ++last;
}

static void list_push(list *l, void *item)
{
    if (l->n == l->size) {
        l->size = l->size ? 2 * l->size : 64;
        l->items = realloc(l->items, l->size * sizeof *l->items);
    }
    l->items[l->n++] = item;
}

static size_t map_home(const map *m, uint64_t key)
{
    return (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & (m->size - 1);
}

static size_t map_at(const map *m, uint64_t key)
{
    size_t i = map_home(m, key);
    while (m->keys[i] && m->keys[i] != key) i = (i + 1) & (m->size - 1);
    return i;
}

static void *map_get(const map *m, uint64_t key)
{
    return m->size ? m->values[map_at(m, key)] : NULL;
}

static void map_put(map *m, uint64_t key, void *value)
{
    if (2 * (m->n + 1) > m->size) {
        map old = *m;
        m->size = old.size ? 2 * old.size : 64;
        m->keys = calloc(m->size, sizeof *m->keys);
        m->values = calloc(m->size, sizeof *m->values);
        m->n = 0;
        for (size_t i = 0; i < old.size; i++)
            if (old.keys[i]) map_put(m, old.keys[i], old.values[i]);
        free(old.keys);
        free(old.values);
    }
    size_t i = map_at(m, key);
    m->n += m->keys[i] == 0;
    m->keys[i] = key;
    m->values[i] = value;
}

static void *map_take(map *m, uint64_t key)
{
    if (!m->size) return NULL;
    size_t hole = map_at(m, key);
    void *value = m->values[hole];
    if (!m->keys[hole]) return NULL;
    m->n--;
    for (size_t i = hole;;) {
        m->keys[hole] = 0;
        m->values[hole] = NULL;
        do {
            i = (i + 1) & (m->size - 1);
            if (!m->keys[i]) return value;
        } while (((i - map_home(m, m->keys[i])) & (m->size - 1)) <
                 ((i - hole) & (m->size - 1)));
        m->keys[hole] = m->keys[i];
        m->values[hole] = m->values[i];
        hole = i;
    }
}

static void map_free(map *m, bool with_values)
{
    for (size_t i = 0; with_values && i < m->size; i++) free(m->values[i]);
    free(m->keys);
    free(m->values);
    *m = (map){0};
}

static void sink_add(classic *c, entry *e)
{
    if (e->sink >= 0) return;
    e->sink = (int64_t)c->sinks.n;
    list_push(&c->sinks, e);
}

static void sink_remove(classic *c, entry *e)
{
    if (e->sink < 0) return;
    entry *last = c->sinks.items[--c->sinks.n];
    c->sinks.items[e->sink] = last;
    last->sink = e->sink;
    e->sink = -1;
}

static void node_unref(classic_node *node)
{
    if (--node->refs == 0) free(node);
}

static bool is_referenced(const entry *e)
{
    return e->node->refs > 1;
}

/* ---- register and consume ---------------------------------------------------------------- */

void classic_register(classic *c, classic_node *node, const uint64_t *parents, uint32_t n)
{
    entry *e = malloc(sizeof *e + n * sizeof *parents);
    *e = (entry){.node = node, .sink = -1, .n_parents = n};
    node->refs++;
    for (uint32_t i = 0; i < n; i++) {
        e->parents[i] = parents[i];
        entry *parent = map_get(&c->nodes, parents[i]);
        if (parent) sink_remove(c, parent);
    }
    map_put(&c->nodes, node->id, e);
    sink_add(c, e);
}

static void entry_remove(classic *c, uint64_t id)
{
    entry *e = map_take(&c->nodes, id);
    if (!e) return;
    sink_remove(c, e);
    node_unref(e->node);
    free(e);
}

static void consume(classic *c, uint64_t id, bool is_root)
{
    const entry *e = map_get(&c->nodes, id);
    bool is_leaf = e->n_parents == 0;
    bool mended = !is_leaf && (c->mends & (is_root ? CLASSIC_ROOT : CLASSIC_HELD));
    if (is_leaf && (c->mends & CLASSIC_LEAF_GONE)) return;
    if (mended || !is_referenced(e)) entry_remove(c, id);
}

void classic_consume_node(classic *c, uint64_t id)
{
    consume(c, id, false);
}

/* ---- cleanup ----------------------------------------------------------------------------- */

static void status_begin(classic *c, entry *e)
{
    if (e->epoch == c->epoch) return;
    e->epoch = c->epoch;
    e->status = UNKNOWN;
    e->tagged = e->explored = e->listed = 0;
}

/* Phase 1, depth first without recursion: an entry stays on the stack until its parents have
 * their statuses. `explored` says that it has one; it is reset for phase 2. */
static void unavailable_propagation(classic *c, entry *sink)
{
    list *stack = &c->explore;
    list_push(stack, sink);
    while (stack->n) {
        entry *e = stack->items[stack->n - 1];
        status_begin(c, e);
        if (e->explored) {
            stack->n--;
            continue;
        }
        size_t before = stack->n;
        for (uint32_t i = 0; i < e->n_parents; i++) {
            entry *p = map_get(&c->nodes, e->parents[i]);
            if (p) status_begin(c, p);
            if (p && !p->explored) list_push(stack, p);
        }
        if (stack->n > before) continue;
        for (uint32_t i = 0; i < e->n_parents; i++) {
            const entry *p = map_get(&c->nodes, e->parents[i]);
            if (!p || p->status == UNAVAILABLE) e->status = UNAVAILABLE;
        }
        e->explored = 1;
        stack->n--;
    }
}

enum { VISITED = 2 }; /* in `explored` during phase 2 */

static void useful_visit(classic *c, entry *e, bool is_useful)
{
    if (is_useful) {
        e->status = USEFUL;
        e->tagged = 1;
    } else {
        e->explored = VISITED;
    }
    for (uint32_t i = 0; i < e->n_parents; i++) {
        entry *p = map_get(&c->nodes, e->parents[i]);
        if (!p) continue;
        if (is_useful ? !p->tagged : p->explored != VISITED)
            list_push(is_useful ? &c->useful : &c->explore, p);
    }
}

/* Phase 2, from all sinks, the useful ones first. */
static void useful_propagation(classic *c)
{
    for (size_t i = 0; i < c->sinks.n; i++) list_push(&c->explore, c->sinks.items[i]);
    while (c->useful.n || c->explore.n) {
        if (c->useful.n) {
            entry *e = c->useful.items[--c->useful.n];
            if (!e->tagged) useful_visit(c, e, true);
            continue;
        }
        entry *e = c->explore.items[--c->explore.n];
        bool is_useful = e->status == USEFUL || (e->status == UNKNOWN && is_referenced(e));
        if (is_useful ? !e->tagged : e->explored != VISITED) useful_visit(c, e, is_useful);
    }
}

/* Phase 3 from one sink. An entry may be listed once per sink that reaches it. */
static void deletables_collect(classic *c, entry *sink, list *new_sinks)
{
    c->walk++;
    list_push(&c->explore, sink);
    while (c->explore.n) {
        entry *e = c->explore.items[--c->explore.n];
        if (e->seen == c->walk) continue;
        e->seen = c->walk;
        if (e->status == USEFUL) {
            if (!e->listed) list_push(new_sinks, e);
            e->listed = 1;
            continue;
        }
        list_push(&c->delete, (void *)(uintptr_t)e->node->id);
        for (uint32_t i = 0; i < e->n_parents; i++) {
            entry *p = map_get(&c->nodes, e->parents[i]);
            if (p) list_push(&c->explore, p);
        }
    }
}

static void unused_roots_collect(classic *c)
{
    for (size_t i = 0; i < c->nodes.size; i++) {
        entry *e = c->nodes.keys[i] ? c->nodes.values[i] : NULL;
        if (!e || is_referenced(e)) continue;
        bool is_rootless = !(e->epoch == c->epoch && e->status == USEFUL);
        for (uint32_t k = 0; is_rootless && k < e->n_parents; k++)
            is_rootless = !map_get(&c->nodes, e->parents[k]);
        if (is_rootless) list_push(&c->delete, (void *)(uintptr_t)e->node->id);
    }
}

/* Removes every listed node and its step. Returns how many there were. */
static size_t deletables_free(classic *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->delete.n; i++) {
        uint64_t id = (uint64_t)(uintptr_t)c->delete.items[i];
        n += map_get(&c->nodes, id) != NULL;
        entry_remove(c, id);
        free(map_take(&c->steps, id));
    }
    c->delete.n = 0;
    return n;
}

static size_t cleanup(classic *c)
{
    list new_sinks = {0};
    c->epoch++;
    for (size_t i = 0; i < c->sinks.n; i++) unavailable_propagation(c, c->sinks.items[i]);
    useful_propagation(c);
    for (size_t i = 0; i < c->sinks.n; i++)
        deletables_collect(c, c->sinks.items[i], &new_sinks);
    while (c->sinks.n) sink_remove(c, c->sinks.items[c->sinks.n - 1]);
    for (size_t i = 0; i < new_sinks.n; i++) sink_add(c, new_sinks.items[i]);
    free(new_sinks.items);
    unused_roots_collect(c);
    return deletables_free(c);
}

void classic_free_unavailable_nodes(classic *c)
{
    cleanup(c);
}

void classic_free_unused_roots(classic *c)
{
    c->epoch++; /* no status holds outside a cleanup */
    unused_roots_collect(c);
    deletables_free(c);
}

void classic_extend(classic *c, classic *other)
{
    for (size_t i = 0; i < other->nodes.size; i++)
        if (other->nodes.keys[i])
            map_put(&c->nodes, other->nodes.keys[i], other->nodes.values[i]);
    for (size_t i = 0; i < other->steps.size; i++)
        if (other->steps.keys[i])
            map_put(&c->steps, other->steps.keys[i], other->steps.values[i]);
    while (other->sinks.n) {
        entry *e = other->sinks.items[other->sinks.n - 1];
        sink_remove(other, e);
        sink_add(c, e);
    }
    map_free(&other->nodes, false);
    map_free(&other->steps, false);
    if (other->epoch > c->epoch) c->epoch = other->epoch;
    if (other->walk > c->walk) c->walk = other->walk;
}

bool classic_maybe_useful(const classic *c)
{
    for (size_t i = 0; i < c->nodes.size; i++)
        if (c->nodes.keys[i] && is_referenced(c->nodes.values[i])) return true;
    return false;
}

size_t classic_n_nodes(const classic *c)
{
    return c->nodes.n;
}

/* ---- the driver -------------------------------------------------------------------------- */

classic *classic_create(unsigned mends)
{
    classic *c = calloc(1, sizeof *c);
    c->mends = mends;
    return c;
}

void classic_destroy(classic *c)
{
    for (size_t i = 0; i < c->nodes.size; i++)
        if (c->nodes.keys[i]) node_unref(((entry *)c->nodes.values[i])->node);
    map_free(&c->nodes, true);
    map_free(&c->steps, true);
    free(c->sinks.items);
    free(c->useful.items);
    free(c->explore.items);
    free(c->delete.items);
    free(c);
}

static void changed(classic *c)
{
    while ((c->mends & CLASSIC_LATE) && cleanup(c)) {
    }
}

classic_node *classic_record(classic *c, classic_node *const *parents, uint32_t n)
{
    classic_node *node = malloc(sizeof *node);
    *node = (classic_node){.id = next_id(), .refs = 1};
    step *s = malloc(sizeof *s + n * sizeof *s->parents);
    *s = (step){.id = node->id, .n_parents = n, .is_leaf = n == 0};
    bool is_dead = false;
    for (uint32_t i = 0; i < n; i++) {
        s->parents[i] = parents[i]->id;
        is_dead |= !map_get(&c->steps, parents[i]->id);
    }
    if (is_dead && (c->mends & CLASSIC_BORN)) {
        free(s);
        return node;
    }
    classic_register(c, node, s->parents, n);
    map_put(&c->steps, node->id, s);
    changed(c);
    return node;
}

void classic_keep(classic *c, classic_node *node)
{
    (void)c;
    node->refs++;
}

void classic_release(classic *c, classic_node *node)
{
    node_unref(node);
    changed(c);
}

/* The step of a node leaves with it, but for a mended leaf's, which stays. */
static step *step_take(classic *c, uint64_t id, bool *is_kept)
{
    step *s = map_get(&c->steps, id);
    *is_kept = s && s->is_leaf && (c->mends & CLASSIC_LEAF_USED);
    return *is_kept ? s : map_take(&c->steps, id);
}

bool classic_backward(classic *c, classic_node *root,
                      void (*reached)(void *user, uint64_t leaf), void *user)
{
    if (!map_get(&c->steps, root->id)) return false;
    list todo = {0};
    map seen = {0};
    list_push(&todo, (void *)(uintptr_t)root->id);
    while (todo.n) {
        uint64_t id = (uint64_t)(uintptr_t)todo.items[--todo.n];
        if (map_get(&seen, id)) continue;
        bool is_kept;
        step *s = step_take(c, id, &is_kept);
        if (!s) continue;
        map_put(&seen, id, s);
        for (uint32_t i = 0; i < s->n_parents; i++)
            list_push(&todo, (void *)(uintptr_t)s->parents[i]);
        if (s->is_leaf) reached(user, id);
        if (map_get(&c->nodes, id)) consume(c, id, id == root->id);
        if (!is_kept) free(s);
    }
    free(todo.items);
    map_free(&seen, false);
    if (c->mends & CLASSIC_LATE)
        changed(c);
    else
        cleanup(c);
    return true;
}

bool classic_has_step(const classic *c, uint64_t id)
{
    return map_get(&c->steps, id) != NULL;
}
