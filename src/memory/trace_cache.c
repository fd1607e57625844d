/* trace_cache.c - recorded steps: growing, keeping, and as a trace for the planner.
 * SPDX-License-Identifier: MIT */
#include "memory/trace_cache.h"

#include "base/error.h"
#include "memory/reserve.h"

#include <string.h>

enum { NONE = EBB__TAPE_NONE, KEPT = EBB__TAPE_KEPT, MOST_ITEMS = 1 << 28 };

/* ---- a step under way -------------------------------------------------------------------- */
/* Places the tables; base NULL: only adds up. */
static size_t tables(ebb__tape *t, char *base, size_t ops, size_t links, size_t vals)
{
    size_t at = 0;
    if (base) t->ops = (ebb__tape_op *)base;
    at += ops * sizeof *t->ops;
    if (base) t->links = (uint32_t *)(base + at);
    at += links * sizeof *t->links;
    if (base) t->sizes = (uint32_t *)(base + at);
    at += vals * sizeof *t->sizes;
    if (base) t->left = (uint32_t *)(base + at);
    return at + vals * sizeof *t->left;
}

static void tape_moved(void *owner, void *to)
{
    ebb__tape *t = owner;
    tables(t, to, t->max_ops, t->max_links, t->max_vals);
}

static void tape_settle(ebb__tape *t)
{
    ebb__notes_own(t->table, tape_moved, t);
}

/* As much as `to` says. */
static void contents_copy(ebb__tape *to, const ebb__tape *from)
{
    if (!to->n_ops && !to->n_vals) return;
    memcpy(to->ops, from->ops, to->n_ops * sizeof *to->ops);
    memcpy(to->links, from->links, to->n_links * sizeof *to->links);
    memcpy(to->sizes, from->sizes, to->n_vals * sizeof *to->sizes);
    memcpy(to->left, from->left, to->n_vals * sizeof *to->left);
}

/* A tape with the contents of t and so much room; does not move until it is settled. */
static bool copy_make(ebb__tape *out, ebb_context *ctx, const ebb__tape *t, size_t ops,
                      size_t links, size_t vals)
{
    const size_t bytes = tables(out, NULL, ops, links, vals);
    ebb__table *table = ebb__notes_make(ctx, bytes, false);
    if (!table) return false;
    *out = *t;
    out->table = table;
    out->table_bytes = bytes;
    tables(out, ebb__notes_at(table), ops, links, vals);
    contents_copy(out, t);
    out->max_ops = (uint32_t)ops;
    out->max_links = (uint32_t)links;
    out->max_vals = (uint32_t)vals;
    return true;
}

static size_t grown(uint32_t max, uint32_t n, uint32_t more, uint32_t least)
{
    size_t need = (size_t)n + more, size = max > least ? max : least;
    while (size < need) size += size / 2;
    return size;
}

bool ebb__tape_room(ebb__tape *t, ebb_context *ctx, size_t most, uint32_t links, uint32_t vals)
{
    if (t->n_ops < t->max_ops && t->n_links + links <= t->max_links &&
        t->n_vals + vals <= t->max_vals)
        return true;
    size_t ops = grown(t->max_ops, t->n_ops, 1, 64);
    size_t all_links = grown(t->max_links, t->n_links, links, 128);
    size_t all_vals = grown(t->max_vals, t->n_vals, vals, 128);
    ebb__tape more;
    if (ops + all_links + all_vals > MOST_ITEMS ||
        t->table_bytes + tables(&more, NULL, ops, all_links, all_vals) > most ||
        !copy_make(&more, ctx, t, ops, all_links, all_vals))
        return false;
    ebb__tape_free(t, ctx);
    *t = more;
    tape_settle(t);
    return true;
}

void ebb__tape_clear(ebb__tape *t)
{
    t->n_ops = t->n_links = t->n_vals = t->n_steps = 0;
    t->time = 0;
}

static uint32_t n_became(const ebb__tape *t, uint32_t first)
{
    uint32_t n = 0;
    for (uint32_t v = first; v < t->n_vals; v++)
        n += ebb__tape_kind_of(t, v) == EBB__TAPE_BECAME;
    return n;
}

bool ebb__tape_copy(ebb__tape *t, ebb_context *ctx, size_t most, const ebb__tape *from,
                    uint32_t n_ops)
{
    ebb__tape part = *from;
    ebb__tape_clear(&part);
    if (n_ops) {
        const ebb__tape_op *last = &from->ops[n_ops - 1];
        part.n_ops = n_ops;
        part.n_links = last->links;
        part.n_vals = last->vals;
        part.n_steps = last->step + 1 + n_became(&part, n_ops > 1 ? last[-1].vals : 0);
        part.time = last->time + last->cost;
    }
    ebb__tape_clear(t);
    if (t->max_ops < n_ops || t->max_links < part.n_links || t->max_vals < part.n_vals) {
        size_t links = part.n_links + part.n_links / 4, vals = part.n_vals + part.n_vals / 4;
        ebb__tape more;
        ebb__tape_free(t, ctx);
        if (tables(&more, NULL, n_ops + n_ops / 4, links, vals) > most ||
            !copy_make(&more, ctx, t, n_ops + n_ops / 4, links, vals))
            return false;
        *t = more;
        tape_settle(t);
    }
    t->n_ops = part.n_ops, t->n_links = part.n_links;
    t->n_vals = part.n_vals, t->n_steps = part.n_steps;
    t->time = part.time;
    contents_copy(t, from);
    for (uint32_t v = 0; v < t->n_vals; v++)
        if (t->left[v] >= n_ops)
            t->left[v] = NONE; /* when, in the other step, says nothing here */
    return true;
}

void ebb__tape_free(ebb__tape *t, ebb_context *ctx)
{
    ebb__notes_drop(ctx, t->table);
    *t = (ebb__tape){0};
}

uint32_t ebb__tape_val(ebb__tape *t, ebb__tape_kind kind, uint64_t bytes)
{
    uint64_t units = (bytes + 63) / 64, most = UINT32_MAX >> 2;
    uint32_t val = t->n_vals++;
    t->sizes[val] = (uint32_t)kind << 30 | (uint32_t)(units < most ? units : most);
    t->left[val] = kind == EBB__TAPE_SCRATCH ? t->n_ops : NONE;
    return val;
}

void ebb__tape_end(ebb__tape *t, uint64_t hash, float cost, bool is_rule)
{
    uint32_t first = t->n_ops ? t->ops[t->n_ops - 1].vals : 0;
    uint32_t step = t->n_steps;
    for (uint32_t v = first; v < t->n_vals; v++)
        step += ebb__tape_kind_of(t, v) == EBB__TAPE_SOURCE;
    t->ops[t->n_ops++] = (ebb__tape_op){.hash = hash,
                                        .time = t->time,
                                        .cost = cost,
                                        .links = t->n_links,
                                        .vals = t->n_vals,
                                        .step = step & (UINT32_MAX >> 1),
                                        .is_rule = is_rule};
    t->n_steps = step + 1 + n_became(t, first);
    t->time += cost;
}

/* ---- as a trace -------------------------------------------------------------------------- */
typedef struct writer {
    ebb__trace *out;
    const ebb__tape *t;
    uint32_t *leaves; /* per operation: the first val that nobody holds after it */
    uint32_t *also;   /* per val: the next one of that list */
} writer;

static void leaves_list(writer *w)
{
    const ebb__tape *t = w->t;
    memset(w->leaves, 0xff, t->n_ops * sizeof *w->leaves);
    for (uint32_t v = t->n_vals; v-- > 0;) {
        if (t->left[v] >= t->n_ops) continue;
        w->also[v] = w->leaves[t->left[v]];
        w->leaves[t->left[v]] = v;
    }
}

static ebb_status constant_put(writer *w, uint32_t val)
{
    uint32_t tensor;
    EBB_TRY(ebb__trace_constant(&tensor, w->out, ebb__tape_bytes(w->t, val)));
    return tensor == val ? EBB_OK
                         : ebb__fail(EBB_E_INTERNAL, "a recorded step is out of order");
}

static ebb_status op_put(writer *w, uint32_t at)
{
    enum { FEW = 256 };
    const ebb__tape *t = w->t;
    const ebb__tape_op *op = &t->ops[at];
    uint32_t val = at ? op[-1].vals : 0, link = at ? op[-1].links : 0, n_out = 0, first;
    uint64_t bytes[FEW];
    while (val < op->vals && ebb__tape_kind_of(t, val) == EBB__TAPE_SOURCE)
        EBB_TRY(constant_put(w, val++));
    for (; val < op->vals && ebb__tape_kind_of(t, val) != EBB__TAPE_BECAME; val++) {
        if (n_out == FEW) return ebb__fail(EBB_E_NOMEM, "an operation has too many results");
        bytes[n_out++] = ebb__tape_bytes(t, val);
    }
    EBB_TRY(ebb__trace_call(&first, w->out, op->is_rule ? "backward" : "op", op->cost,
                            op->links - link, t->links + link, n_out, bytes, NULL));
    for (; val < op->vals; val++) EBB_TRY(constant_put(w, val));
    for (uint32_t v = w->leaves[at]; v != NONE; v = w->also[v])
        EBB_TRY(ebb__trace_note(w->out, EBB__TRACE_RELEASE, v));
    return EBB_OK;
}

static ebb_status trace_put(writer *w)
{
    const ebb__tape *t = w->t;
    EBB_TRY(ebb__trace_room(w->out, t->n_vals, t->n_vals, t->n_steps, t->n_links + t->n_vals,
                            t->n_steps + t->n_vals, 10 * (size_t)t->n_steps));
    leaves_list(w);
    for (uint32_t at = 0; at < t->n_ops; at++) EBB_TRY(op_put(w, at));
    for (uint32_t v = 0; v < t->n_vals; v++)
        if (t->left[v] == KEPT) EBB_TRY(ebb__trace_note(w->out, EBB__TRACE_PIN, v));
    return EBB_OK;
}

ebb_status ebb__tape_trace(ebb__trace *out, const ebb_allocator *allocator, const ebb__tape *t)
{
    size_t bytes = ((size_t)t->n_ops + t->n_vals) * sizeof(uint32_t);
    ebb__trace_create(out, allocator);
    if (!bytes) return EBB_OK;
    writer w = {.out = out, .t = t, .leaves = ebb__alloc(allocator, bytes, 16)};
    if (!w.leaves) return ebb__fail(EBB_E_NOMEM, "no memory for a trace");
    w.also = w.leaves + t->n_ops;
    ebb_status s = trace_put(&w);
    ebb__free(allocator, w.leaves, bytes);
    if (s != EBB_OK) ebb__trace_destroy(out);
    return s;
}

/* ---- kept steps -------------------------------------------------------------------------- */
/* An operation that reads a val twice is its own next reader at the earlier operand. */
static void readers_find(ebb__learned *l)
{
    const ebb__tape *t = &l->tape;
    for (uint32_t v = 0; v < t->n_vals; v++) l->first[v] = NONE;
    for (uint32_t at = t->n_ops; at-- > 0;)
        for (uint32_t k = t->ops[at].links, from = at ? t->ops[at - 1].links : 0; k-- > from;) {
            l->next[k] = l->first[t->links[k]];
            l->first[t->links[k]] = at;
        }
}

static void readers_moved(void *owner, void *to)
{
    ebb__learned *l = owner;
    l->next = to;
    l->first = l->next + l->tape.n_links;
}

static void plan_free(ebb__learned *l, ebb_context *ctx)
{
    if (!l->plan) return;
    ebb__notes_drop(ctx, l->plan->table);
    l->plan = NULL;
}

static void learned_free(ebb__learned *l, ebb_context *ctx)
{
    plan_free(l, ctx);
    ebb__tape_free(&l->tape, ctx);
    ebb__notes_drop(ctx, l->table);
    ebb__notes_free(ctx, l, sizeof *l);
}

static ebb__learned *learned_make(ebb_context *ctx, const ebb__tape *t)
{
    ebb__learned *l = ebb__notes_alloc(ctx, sizeof *l);
    if (!l) return NULL;
    *l = (ebb__learned){.extra = {-1, -1, -1}};
    l->table_bytes = ((size_t)t->n_links + t->n_vals + 1) * sizeof *l->next;
    if (copy_make(&l->tape, ctx, t, t->n_ops, t->n_links, t->n_vals)) {
        tape_settle(&l->tape);
        l->table = ebb__notes_make(ctx, l->table_bytes, false);
    }
    if (!l->table) {
        learned_free(l, ctx);
        return NULL;
    }
    readers_moved(l, ebb__notes_at(l->table));
    ebb__notes_own(l->table, readers_moved, l);
    readers_find(l);
    return l;
}

static size_t learned_bytes(const ebb__learned *l)
{
    return l->tape.table_bytes + l->table_bytes;
}

/* Of those that may go the one to be missed least; -1: none. */
static int least_of(const ebb__trace_cache *c, const ebb__learned *spared)
{
    int least = -1;
    for (int i = 0; i < c->n; i++) {
        const ebb__learned *l = c->items[i], *best = least < 0 ? NULL : c->items[least];
        if (l == spared) continue;
        bool once = l->n_seen < 2, best_once = best && best->n_seen < 2;
        if (!best || (once == best_once ? l->stamp < best->stamp : once)) least = i;
    }
    return least;
}

static void forget(ebb__trace_cache *c, ebb_context *ctx, int i)
{
    learned_free(c->items[i], ctx);
    c->items[i] = c->items[--c->n];
}

ebb__learned *ebb__trace_cache_add(ebb__trace_cache *c, ebb_context *ctx, const ebb__tape *t,
                                   size_t most, const ebb__learned *spared)
{
    ebb__tape none;
    size_t own = tables(&none, NULL, t->n_ops, t->n_links, t->n_vals) +
                 ((size_t)t->n_links + t->n_vals) * sizeof(uint32_t);
    if (!t->n_ops || own > most) return NULL;
    for (;;) {
        size_t held = own;
        for (int i = 0; i < c->n; i++) held += learned_bytes(c->items[i]);
        if (c->n < EBB__LEARNED_MAX && held <= most) break;
        int least = least_of(c, spared);
        if (least < 0) return NULL;
        forget(c, ctx, least);
    }
    ebb__learned *l = learned_make(ctx, t);
    if (!l) return NULL;
    c->items[c->n++] = l;
    ebb__trace_cache_use(c, l);
    return l;
}

void ebb__trace_cache_use(ebb__trace_cache *c, ebb__learned *l)
{
    l->stamp = c->stamp;
}

void ebb__trace_cache_turn(ebb__trace_cache *c, ebb_context *ctx, const ebb__learned *spared)
{
    c->stamp++;
    for (int i = c->n; i-- > 0;) {
        const ebb__learned *l = c->items[i];
        bool is_old = c->stamp - l->stamp > EBB__LEARNED_MAX;
        if (l->n_seen < 2 && is_old && l != spared) forget(c, ctx, i);
    }
}

ebb__learned *ebb__trace_cache_find(const ebb__trace_cache *c, uint32_t at, uint64_t hash)
{
    ebb__learned *best = NULL;
    for (int i = 0; i < c->n; i++) {
        ebb__learned *l = c->items[i];
        if (at < l->tape.n_ops && l->tape.ops[at].hash == hash &&
            (!best || l->stamp > best->stamp))
            best = l;
    }
    return best;
}

ebb__learned *ebb__trace_cache_same(const ebb__trace_cache *c, uint32_t n_ops, uint64_t hash)
{
    for (int i = 0; i < c->n && n_ops; i++) {
        const ebb__tape *t = &c->items[i]->tape;
        if (t->n_ops == n_ops && t->ops[n_ops - 1].hash == hash) return c->items[i];
    }
    return NULL;
}

/* What choosing costs beside what is run again: a plan may be dearer by so much. */
static double choosing(const ebb__learned *l)
{
    return l->tape.time / 64;
}

/* The plan has come out as simulated, and no other way that was tried is cheaper: the choices of a
 * program have room that no plan counts on. */
static bool is_as_planned(const ebb__learned *l)
{
    if (!l->plan) return false;
    double simulated = l->plan->cost - l->tape.time, planned = l->extra[EBB__HOW_PLANNED];
    double known = l->extra[EBB__HOW_KNOWN], alone = l->extra[EBB__HOW_ALONE];
    if (planned > simulated + choosing(l)) return false;
    double most = (planned >= 0 ? planned : simulated) - choosing(l);
    return (known < 0 || known >= most) && (alone < 0 || alone >= most);
}

ebb__how ebb__learned_how(const ebb__learned *l)
{
    if (is_as_planned(l)) return EBB__HOW_PLANNED;
    if (l->extra[EBB__HOW_KNOWN] < 0) return EBB__HOW_KNOWN;
    double planned = l->plan ? l->extra[EBB__HOW_PLANNED] - choosing(l) : (double)INFINITY;
    double known = l->extra[EBB__HOW_KNOWN], alone = l->extra[EBB__HOW_ALONE];
    double best = fmin(planned, known);
    if ((alone >= 0 && alone < best) || isinf(best)) return EBB__HOW_ALONE;
    return planned <= known ? EBB__HOW_PLANNED : EBB__HOW_KNOWN;
}

void ebb__trace_cache_destroy(ebb__trace_cache *c, ebb_context *ctx)
{
    while (c->n) forget(c, ctx, c->n - 1);
}

/* ---- plans ------------------------------------------------------------------------------- */
typedef struct schedule {
    const ebb__tape *t;
    ebb__steps_plan *plan;
    uint32_t op;
} schedule;

/* The program's first step of an operation: that of the first source it brings. */
static uint32_t first_step(const ebb__tape *t, uint32_t op)
{
    uint32_t n = 0;
    for (uint32_t v = op ? t->ops[op - 1].vals : 0; v < t->ops[op].vals; v++)
        n += ebb__tape_kind_of(t, v) == EBB__TAPE_SOURCE;
    return t->ops[op].step - n;
}

/* What is made again after an operation may need the bytes that are let go of then. */
static void act_put(schedule *s, const ebb__ghost_event *e)
{
    const ebb__tape *t = s->t;
    while (s->op + 1 < t->n_ops && e->step >= first_step(t, s->op + 1)) s->op++;
    bool after = e->after || e->step > t->ops[s->op].step;
    uint32_t at = after && e->again ? 2 * (s->op + 1) : 2 * s->op + after;
    if (e->step >= t->n_steps) return;
    s->plan->acts[s->plan->n_acts++] =
        (ebb__steps_act){.at = at, .val = e->val, .again = e->again};
}

static void plan_place(ebb__steps_plan *plan, uint32_t n_vals)
{
    plan->made = (struct ebb__value **)(plan + 1);
    plan->acts = (ebb__steps_act *)(plan->made + n_vals);
}

static void plan_moved(void *owner, void *to)
{
    ebb__learned *l = owner;
    l->plan = to;
    plan_place(l->plan, l->tape.n_vals);
}

bool ebb__learned_plan(ebb__learned *l, ebb_context *ctx, const ebb__planner *planner)
{
    const ebb__acts *did = &planner->acts;
    schedule s = {.t = &l->tape};
    size_t acts = did->n * sizeof *s.plan->acts, made = l->tape.n_vals * sizeof *s.plan->made;
    plan_free(l, ctx);
    ebb__table *table = ebb__notes_make(ctx, sizeof *l->plan + made + acts, false);
    if (!table) return false;
    s.plan = l->plan = ebb__notes_at(table);
    *l->plan = (ebb__steps_plan){.cost = planner->best.result.cost, .table = table};
    plan_place(l->plan, l->tape.n_vals);
    ebb__notes_own(table, plan_moved, l);
    l->extra[EBB__HOW_PLANNED] = -1;
    for (uint32_t i = 0; i < did->n; i++) act_put(&s, &did->list[i]);
    return true;
}

/* ---- next uses --------------------------------------------------------------------------- */
double ebb__learned_place(const ebb__learned *l, uint32_t reader, uint32_t val)
{
    const ebb__tape *t = &l->tape;
    if (reader < t->n_ops) return t->ops[reader].time;
    return val < t->n_vals && t->left[val] == KEPT ? t->time : EBB__NEXT_NONE;
}

double ebb__learned_next(const ebb__learned *l, uint32_t val, uint32_t at)
{
    const ebb__tape *t = &l->tape;
    uint32_t reader = val < t->n_vals ? l->first[val] : NONE;
    while (reader != NONE && reader <= at) {
        uint32_t k = t->ops[reader].links;
        while (t->links[--k] != val) {
        }
        reader = l->next[k];
    }
    return ebb__learned_place(l, reader, val);
}
