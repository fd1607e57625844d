/* graph_program.c - random programs, and the running of a program on the library.
 *
 * Invariant: a run's payloads are its entries, so a free callback says which node's state went,
 * and a second one for the same node is seen.
 * SPDX-License-Identifier: MIT */
#include "graph_program.h"

#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u); /* splitmix64, Steele et al. 2014 */
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

int32_t random_below(uint64_t *state, int32_t n)
{
    return (int32_t)(random_next(state) % (uint64_t)n);
}

void program_add(program *p, program_step s)
{
    if (p->n_steps == p->size) {
        p->size = p->size ? 2 * p->size : 64;
        p->steps = realloc(p->steps, (size_t)p->size * sizeof *p->steps);
    }
    if (s.kind == STEP_LEAF || s.kind == STEP_OP) {
        s.id = p->n_nodes++;
        if (p->n_nodes > p->nodes_size) {
            p->nodes_size = 2 * p->n_nodes;
            p->handles = realloc(p->handles, (size_t)p->nodes_size * sizeof *p->handles);
        }
        p->handles[s.id] = 0;
    }
    if (s.kind != STEP_BACK) p->handles[s.id] += s.kind == STEP_DROP ? -1 : 1;
    p->steps[p->n_steps++] = s;
}

/* A node with a handle, newer ones more often; -1 where there is none. */
static int32_t held_pick(const program *p, uint64_t *random)
{
    for (int tries = 0; tries < 40 && p->n_nodes; tries++) {
        int32_t window = tries % 2 ? p->n_nodes : (p->n_nodes < 8 ? p->n_nodes : 8);
        int32_t id = p->n_nodes - 1 - random_below(random, window);
        if (p->handles[id] > 0) return id;
    }
    return -1;
}

bool program_grow(program *p, const program_shape *shape, uint64_t *random)
{
    int32_t all = shape->leaves + shape->ops + shape->holds + shape->drops + shape->backs;
    int32_t pick = random_below(random, all);
    program_step s = {.kind = STEP_LEAF, .id = held_pick(p, random)};
    if ((pick -= shape->leaves) < 0 || s.id < 0) {
        if (p->n_nodes >= shape->most_nodes) return false;
    } else if ((pick -= shape->ops) < 0) {
        if (p->n_nodes >= shape->most_nodes) return false;
        s.kind = STEP_OP;
        s.n_parents = 1 + random_below(random, 3);
        for (int32_t i = 0; i < s.n_parents; i++) s.parents[i] = held_pick(p, random);
        for (int32_t i = 0; i < s.n_parents; i++)
            if (s.parents[i] < 0) s.parents[i] = s.id;
    } else if ((pick -= shape->holds) < 0) {
        s.kind = STEP_HOLD;
    } else if ((pick -= shape->drops) < 0) {
        s.kind = STEP_DROP;
    } else {
        s.kind = STEP_BACK;
        s.keep = shape->keeps && random_below(random, 4) == 0;
        s.has_inputs = shape->inputs && random_below(random, 3) == 0;
        s.allow_unused = random_below(random, 4) != 0;
        for (int32_t n = 1 + random_below(random, 3); s.has_inputs && s.n_parents < n;) {
            int32_t id = held_pick(p, random);
            s.parents[s.n_parents++] = id < 0 ? s.id : id;
        }
    }
    program_add(p, s);
    return true;
}

void program_clear(program *p)
{
    p->n_steps = p->n_nodes = 0;
}

void program_free(program *p)
{
    free(p->steps);
    free(p->handles);
    *p = (program){0};
}

void program_print(FILE *to, const program *p, int32_t n_steps)
{
    static const char *const names[] = {"leaf", "op", "hold", "drop", "back"};
    for (int32_t i = 0; i < n_steps; i++) {
        const program_step *s = &p->steps[i];
        fprintf(to, "%s %d", names[s->kind], s->id);
        if (s->kind == STEP_BACK && (s->keep || s->has_inputs))
            fprintf(to, " # %s%s%s", s->keep ? "keep " : "", s->has_inputs ? "inputs" : "",
                    s->allow_unused ? " (may be unused)" : "");
        for (int32_t k = 0; k < s->n_parents; k++) fprintf(to, " %d", s->parents[k]);
        fputc('\n', to);
    }
}

/* ---- the library's side ------------------------------------------------------------------ */

void run_begin(run *r, const ebb_graph_space_options *options)
{
    *r = (run){0};
    r->status = ebb_graph_space_create(&r->space, options);
}

static void payload_gone(void *payload)
{
    run_entry *e = payload;
    if (!e->has_payload) e->run->fault = "a payload was freed twice";
    e->has_payload = false;
}

static run_entry *entry_new(run *r, int32_t id, bool is_leaf)
{
    if (id >= r->size) {
        int32_t size = 2 * id + 16;
        r->entries = realloc(r->entries, (size_t)size * sizeof(run_entry *));
        memset(r->entries + r->size, 0, (size_t)(size - r->size) * sizeof(run_entry *));
        r->size = size;
    }
    if (!r->entries[id]) r->entries[id] = malloc(sizeof(run_entry));
    *r->entries[id] =
        (run_entry){.run = r, .id = id, .handles = 1, .is_leaf = is_leaf, .has_payload = true};
    return r->entries[id];
}

static ebb_status node_visit(void *user, const ebb_graph_step *s)
{
    run *r = user;
    run_entry *e = s->payload;
    if (!e || !e->has_payload || e->node != s->node) {
        r->fault = "a node was visited without its payload";
        return EBB_OK;
    }
    if (e->is_reached) r->fault = "a node was visited twice";
    e->is_reached = true;
    for (uint32_t i = 0; i < s->n_parents; i++) {
        ebb_graph_edge p = ebb_graph_step_parent(s, i);
        if (!p.node || ebb_graph_node_state(p.node) == EBB_GRAPH_LEAF) continue;
        const run_entry *parent = ebb_graph_node_payload(p.node);
        if (!parent || !parent->has_payload)
            r->fault = "a parent's payload went before its turn";
        else if (parent->is_reached)
            r->fault = "a parent was visited before its child";
    }
    return EBB_OK;
}

static ebb_status leaf_visit(void *user, ebb_graph_node *leaf, void *payload)
{
    run_entry *e = payload;
    if (e->node != leaf || e->is_reached) ((run *)user)->fault = "a leaf was visited wrongly";
    e->is_reached = true;
    return EBB_OK;
}

static void back_step(run *r, const program_step *s)
{
    for (int32_t i = 0; i < r->n_entries; i++) r->entries[i]->is_reached = false;
    ebb_graph_visitor visitor = {.node = node_visit, .leaf = leaf_visit, .user = r};
    ebb_graph_edge root = {.node = r->entries[s->id]->node}, inputs[PROGRAM_PARENTS];
    for (int32_t i = 0; i < s->n_parents; i++)
        inputs[i] = (ebb_graph_edge){.node = r->entries[s->parents[i]]->node};
    ebb_graph_consume_options o = {.keep = s->keep,
                                   .allow_unused = s->allow_unused,
                                   .inputs = s->has_inputs ? inputs : NULL,
                                   .n_inputs = s->n_parents};
    r->status = ebb_graph_consume(&root, 1, &visitor, &o);
}

void run_step(run *r, const program_step *s)
{
    r->status = EBB_OK;
    if (s->kind == STEP_BACK) {
        back_step(r, s);
    } else if (s->kind == STEP_LEAF || s->kind == STEP_OP) {
        run_entry *e = entry_new(r, s->id, s->kind == STEP_LEAF);
        ebb_graph_payload payload = {.data = e, .free = payload_gone, .tag = (uint32_t)s->id};
        ebb_graph_edge parents[PROGRAM_PARENTS];
        for (int32_t i = 0; i < s->n_parents; i++)
            parents[i] = (ebb_graph_edge){.node = r->entries[s->parents[i]]->node};
        r->status = s->kind == STEP_LEAF
                        ? ebb_graph_leaf_create(&e->node, r->space, &payload)
                        : ebb_graph_node_record(&e->node, r->space, parents,
                                                (uint32_t)s->n_parents, &payload);
        if (r->status == EBB_OK) r->n_entries = s->id + 1;
    } else {
        run_entry *e = r->entries[s->id];
        e->handles += s->kind == STEP_HOLD ? 1 : -1;
        if (s->kind == STEP_HOLD)
            ebb_graph_node_keep(e->node);
        else
            ebb_graph_node_release(e->node);
    }
}

const char *run_compare(run *r, const answer *a, const program_step *last, bool full)
{
    if (r->fault) return r->fault;
    for (int32_t i = 0; i < r->n_entries; i++) {
        const run_entry *e = r->entries[i];
        if (!e->is_leaf && e->has_payload != a->is_alive[i])
            return a->is_alive[i] ? "a state went that is still useful"
                                  : "a state is kept that nobody can use";
        if (e->handles > 0 && (uint8_t)ebb_graph_node_state(e->node) != a->state[i])
            return "a node is in the wrong state";
        if (e->is_leaf && e->handles > 0 && !e->has_payload) return "a held leaf was freed";
    }
    if (last->kind == STEP_BACK) {
        if ((r->status == EBB_OK) != a->ok)
            return a->ok ? "a backward was refused"
                         : "a backward that cannot be was not refused";
        if (r->status != EBB_OK && r->status != EBB_E_GRAPH) return "the wrong status";
        for (int32_t i = 0; i < r->n_entries && a->ok; i++)
            if (r->entries[i]->is_reached != a->is_reached[i])
                return a->is_reached[i] ? "a node or leaf was not reached"
                                        : "a node or leaf was reached that must not be";
    }
    return full ? ebb__graph_check(r->space) : NULL;
}

void run_release(run *r)
{
    for (int32_t i = 0; i < r->n_entries; i++)
        for (; r->entries[i]->handles > 0; r->entries[i]->handles--)
            ebb_graph_node_release(r->entries[i]->node);
}

void run_end(run *r)
{
    ebb_graph_space_destroy(r->space);
    for (int32_t i = 0; i < r->size; i++) free(r->entries[i]);
    free(r->entries);
    *r = (run){0};
}
