/* ghost_dtr.c - a trace under a budget by the rules of DTR's simulator.
 *
 * Kept as published, weaknesses included, so that its figures can be compared with ours: a
 * storage goes when its last reference does and is made again if something needs it later;
 * views are lost with their storage and run again one by one; a rerun makes every output and
 * frees those that were there; h = (cost + costs of evicted storages reachable upwards +
 * downwards) / (bytes * time since last use), the last of equals; the clock counts reruns
 * too.
 *
 * Reachable sums are kept per storage; an eviction or a rerun makes those stale that a walk
 * over evicted storages reaches. Source: Kirisame et al., Dynamic Tensor Rematerialization,
 * ICLR 2021, and its artifact.
 * SPDX-License-Identifier: MIT */
#include "memory/ghost.h"

#include "base/check.h"
#include "base/error.h"

#include <string.h>

enum { NONE = UINT32_MAX };

typedef struct dtr_storage {
    double compute, last;
    double sums[2];       /* reachable downwards, upwards */
    uint32_t first, tail; /* tensors made so far, by next_view */
    uint32_t locks, refs, mark;
    bool is_material, is_pinned, is_known[2]; /* the sums */
} dtr_storage;

/* A tensor in the making: its op's inputs up to `at` are locked; first those that are there,
 * then, in the second round, those that were not. */
typedef struct dtr_frame {
    uint32_t tensor, at;
    uint8_t round;
    bool is_rerun;
} dtr_frame;

typedef struct dtr {
    const ebb__trace *t;
    ebb__ghost_result r;
    uint64_t budget, used;
    double clock, limit;
    dtr_storage *storages;
    bool *is_defined;  /* tensors */
    uint8_t *called;   /* ops */
    uint8_t *was_away; /* links: the input was not defined when its op began */
    uint32_t *next_view;
    uint32_t *reader, *readers; /* tensor x is read by ops readers[reader[x]..reader[x + 1]) */
    uint32_t *pool;             /* storages that may go, in order */
    uint32_t *stack;
    dtr_frame *frames;
    uint32_t n_pool, stamp;
} dtr;

static const uint32_t *op_in(const dtr *d, uint32_t op)
{
    return d->t->links + d->t->ops[op].first;
}

static const uint32_t *op_out(const dtr *d, uint32_t op)
{
    return op_in(d, op) + d->t->ops[op].n_in;
}

static dtr_storage *storage_of(const dtr *d, uint32_t tensor)
{
    return &d->storages[d->t->tensors[tensor].storage];
}

/* ---- reachable sums ---------------------------------------------------------------------- */
typedef struct reach {
    double cost;
    uint32_t n, base;
    bool up, is_mark; /* mark: sums of what is reached first that is there are stale */
} reach;

static void visit(dtr *d, reach *w, uint32_t tensor)
{
    uint32_t id = d->t->tensors[tensor].storage;
    dtr_storage *s = &d->storages[id];
    if (s->mark == d->stamp) return;
    if (s->is_material) {
        if (w->is_mark) s->is_known[w->up ? 0 : 1] = false;
        return;
    }
    s->mark = d->stamp;
    w->cost += s->compute;
    d->stack[w->n++] = id;
}

static void visit_around(dtr *d, reach *w, uint32_t storage)
{
    for (uint32_t x = d->storages[storage].first; x != NONE; x = d->next_view[x]) {
        uint32_t op = d->t->tensors[x].op;
        for (uint32_t i = 0; w->up && i < d->t->ops[op].n_in; i++) visit(d, w, op_in(d, op)[i]);
        for (uint32_t k = d->reader[x]; !w->up && k < d->reader[x + 1]; k++) {
            uint32_t reader = d->readers[k];
            for (uint32_t o = 0; d->called[reader] && o < d->t->ops[reader].n_out; o++)
                visit(d, w, op_out(d, reader)[o]);
        }
    }
}

static double reach_sum(dtr *d, uint32_t storage, bool up, bool is_mark)
{
    reach w = {.base = storage, .up = up, .is_mark = is_mark};
    d->storages[storage].mark = ++d->stamp;
    visit_around(d, &w, storage);
    while (w.n) visit_around(d, &w, d->stack[--w.n]);
    return w.cost;
}

static void around_changed(dtr *d, uint32_t storage)
{
    reach_sum(d, storage, false, true);
    reach_sum(d, storage, true, true);
    d->storages[storage].is_known[0] = d->storages[storage].is_known[1] = false;
}

static double score(dtr *d, uint32_t id)
{
    dtr_storage *s = &d->storages[id];
    for (int up = 0; up < 2; up++) {
        if (s->is_known[up]) continue;
        s->sums[up] = reach_sum(d, id, up, false);
        s->is_known[up] = true;
    }
    double below = (double)d->t->storages[id] * (d->clock - s->last);
    return below > 0 ? (s->compute + s->sums[0] + s->sums[1]) / below : (double)INFINITY;
}

/* ---- the pool ---------------------------------------------------------------------------- */
static void pool_remove(dtr *d, uint32_t storage)
{
    uint32_t i = 0;
    while (i < d->n_pool && d->pool[i] != storage) i++;
    if (i == d->n_pool) return;
    d->n_pool--;
    memmove(d->pool + i, d->pool + i + 1, (d->n_pool - i) * sizeof *d->pool);
}

static void pool_add(dtr *d, uint32_t storage)
{
    for (uint32_t i = 0; i < d->n_pool; i++)
        if (d->pool[i] == storage) return;
    d->pool[d->n_pool++] = storage;
}

static void evict(dtr *d, uint32_t id)
{
    dtr_storage *s = &d->storages[id];
    s->is_material = false;
    d->used -= d->t->storages[id];
    pool_remove(d, id);
    for (uint32_t x = s->first; x != NONE; x = d->next_view[x]) d->is_defined[x] = false;
    around_changed(d, id);
}

static bool make_room(dtr *d, uint64_t need)
{
    while (d->used + need > d->budget) {
        double best = (double)INFINITY;
        uint32_t found = NONE;
        for (uint32_t i = 0; i < d->n_pool; i++) {
            double h = score(d, d->pool[i]);
            if (h > best) continue;
            best = h;
            found = d->pool[i];
            if (h == 0) break;
        }
        if (found == NONE) {
            d->r.end = EBB__GHOST_SHORT;
            d->r.short_bytes = d->used + need - d->budget;
            return false;
        }
        d->r.n_evictions++;
        evict(d, found);
    }
    return true;
}

static void lock(dtr *d, uint32_t tensor)
{
    dtr_storage *s = storage_of(d, tensor);
    if (s->locks++ == 0) pool_remove(d, d->t->tensors[tensor].storage);
}

static void unlock(dtr *d, uint32_t tensor)
{
    dtr_storage *s = storage_of(d, tensor);
    EBB_ASSERT(s->locks > 0);
    if (--s->locks == 0) pool_add(d, d->t->tensors[tensor].storage);
}

/* ---- making tensors ---------------------------------------------------------------------- */
static uint64_t op_bytes(const dtr *d, uint32_t op)
{
    uint64_t bytes = 0;
    for (uint32_t k = 0; k < d->t->ops[op].n_out; k++) {
        uint32_t x = op_out(d, op)[k], s = d->t->tensors[x].storage;
        if (d->storages[s].first == x) bytes += d->t->storages[s];
    }
    return bytes;
}

/* All outputs of the op come to be; those that were defined are freed again. Views among
 * them make no storage. */
static void outputs_make(dtr *d, uint32_t op, uint64_t bytes)
{
    d->used += bytes;
    if (d->used > d->r.peak) d->r.peak = d->used;
    for (uint32_t k = 0; k < d->t->ops[op].n_out; k++) {
        uint32_t x = op_out(d, op)[k], id = d->t->tensors[x].storage;
        dtr_storage *s = &d->storages[id];
        if (d->is_defined[x]) {
            if (s->first == x) d->used -= d->t->storages[id];
            continue;
        }
        d->is_defined[x] = true;
        if (s->is_material) continue;
        s->is_material = true;
        pool_add(d, id);
        around_changed(d, id);
    }
}

static void frame_push(dtr *d, uint32_t *n, uint32_t tensor, bool is_rerun)
{
    d->frames[(*n)++] = (dtr_frame){tensor, 0, 0, is_rerun};
    uint32_t op = d->t->tensors[tensor].op;
    for (uint32_t i = 0; i < d->t->ops[op].n_in; i++) {
        uint32_t x = op_in(d, op)[i];
        storage_of(d, x)->last = d->clock;
        d->was_away[d->t->ops[op].first + i] = !d->is_defined[x];
    }
}

/* The next input that the frame must have made, after locking those before it; NONE: all are
 * locked. */
static uint32_t frame_advance(dtr *d, dtr_frame *f)
{
    const ebb__traced_op *op = &d->t->ops[d->t->tensors[f->tensor].op];
    for (; f->round < 2; f->round++, f->at = 0)
        for (; f->at < op->n_in; f->at++) {
            uint32_t x = d->t->links[op->first + f->at];
            if (d->was_away[op->first + f->at] != f->round) continue;
            if (!d->is_defined[x]) return x;
            lock(d, x);
        }
    return NONE;
}

static bool frame_run(dtr *d, const dtr_frame *f)
{
    uint32_t op = d->t->tensors[f->tensor].op;
    uint64_t bytes = op_bytes(d, op);
    if (!make_room(d, bytes)) return false;
    d->clock += d->t->ops[op].cost;
    d->r.cost += d->t->ops[op].cost;
    d->r.n_rebuilt += f->is_rerun;
    outputs_make(d, op, bytes);
    for (uint32_t i = 0; i < d->t->ops[op].n_in; i++) unlock(d, op_in(d, op)[i]);
    /* What costs next to nothing may be made again no end. */
    bool is_endless = d->r.n_rebuilt > 100000 + 1000 * (uint64_t)d->t->n_ops;
    if (d->r.cost <= d->limit && !is_endless) return true;
    d->r.end = EBB__GHOST_LIMIT;
    return false;
}

static bool materialise(dtr *d, uint32_t tensor, bool is_rerun)
{
    uint32_t n = 0;
    frame_push(d, &n, tensor, is_rerun);
    while (n) {
        uint32_t missing = frame_advance(d, &d->frames[n - 1]);
        if (missing != NONE)
            frame_push(d, &n, missing, true);
        else if (!frame_run(d, &d->frames[--n]))
            return false;
    }
    return true;
}

/* ---- commands ---------------------------------------------------------------------------- */
static void storage_compute(dtr *d, dtr_storage *s)
{
    s->compute = 0;
    for (uint32_t x = s->first, last = NONE; x != NONE; x = d->next_view[x]) {
        if (d->t->tensors[x].op != last) s->compute += d->t->ops[d->t->tensors[x].op].cost;
        last = d->t->tensors[x].op;
    }
}

static bool call(dtr *d, uint32_t op)
{
    uint32_t n_out = d->t->ops[op].n_out;
    for (uint32_t k = 0; k < n_out; k++) {
        uint32_t x = op_out(d, op)[k];
        dtr_storage *s = storage_of(d, x);
        d->next_view[x] = NONE;
        if (s->first == NONE)
            s->first = x;
        else
            d->next_view[s->tail] = x;
        s->tail = x;
        s->refs++;
        storage_compute(d, s);
    }
    d->called[op] = 1;
    if (!n_out) return true;
    if (!materialise(d, op_out(d, op)[0], false)) return false;
    for (uint32_t k = 0; k < n_out; k++) storage_of(d, op_out(d, op)[k])->last = d->clock;
    return true;
}

static bool pin(dtr *d, uint32_t tensor)
{
    if (!d->is_defined[tensor] && !materialise(d, tensor, true)) return false;
    dtr_storage *s = storage_of(d, tensor);
    if (!s->is_pinned) lock(d, tensor);
    s->is_pinned = true;
    return true;
}

static void release(dtr *d, uint32_t tensor)
{
    dtr_storage *s = storage_of(d, tensor);
    if (--s->refs == 0 && s->is_material && !s->is_pinned)
        evict(d, d->t->tensors[tensor].storage);
}

static bool command(dtr *d, ebb__trace_command m)
{
    switch ((ebb__trace_verb)m.verb) {
    case EBB__TRACE_CALL:
        return call(d, m.what);
    case EBB__TRACE_GET:
        storage_of(d, m.what)->refs++;
        return true;
    case EBB__TRACE_RELEASE:
        release(d, m.what);
        return true;
    case EBB__TRACE_PIN:
        return pin(d, m.what);
    }
    return true;
}

/* ---- a run ------------------------------------------------------------------------------- */
static size_t tables(dtr *d, char *base)
{
    const ebb__trace *t = d->t;
    size_t at = 0, tensors = t->n_tensors;
    struct {
        void *table;
        size_t bytes;
    } all[] = {
        {&d->storages, t->n_storages * sizeof *d->storages},
        {&d->is_defined, tensors * sizeof *d->is_defined},
        {&d->called, t->n_ops * sizeof *d->called},
        {&d->was_away, t->n_links * sizeof *d->was_away},
        {&d->next_view, tensors * sizeof *d->next_view},
        {&d->reader, (tensors + 1) * sizeof *d->reader},
        {&d->readers, t->n_links * sizeof *d->readers},
        {&d->pool, t->n_storages * sizeof *d->pool},
        {&d->stack, t->n_storages * sizeof *d->stack},
        {&d->frames, (tensors + 1) * sizeof *d->frames},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (base) *(void **)all[i].table = base + at;
        at += (all[i].bytes + 15) / 16 * 16;
    }
    return at;
}

static void readers_make(dtr *d)
{
    const ebb__trace *t = d->t;
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t o = 0; o < t->n_ops; o++)
            for (uint32_t i = 0; i < t->ops[o].n_in; i++) {
                uint32_t x = op_in(d, o)[i];
                if (fill)
                    d->readers[d->reader[x]++] = o;
                else
                    d->reader[x + 1]++;
            }
        for (uint32_t x = 0; x < t->n_tensors && !fill; x++) d->reader[x + 1] += d->reader[x];
    }
    for (uint32_t x = t->n_tensors; x > 0; x--) d->reader[x] = d->reader[x - 1];
    d->reader[0] = 0;
}

static void run(dtr *d, double limit)
{
    const ebb__trace *t = d->t;
    double base = 0;
    for (uint32_t o = 0; o < t->n_ops; o++) base += t->ops[o].cost;
    d->limit = (limit > 0 ? limit : 8) * base;
    d->clock = 1;
    readers_make(d);
    for (uint32_t s = 0; s < t->n_storages; s++)
        d->storages[s] = (dtr_storage){.first = NONE, .tail = NONE, .last = -(double)INFINITY};
    for (uint32_t i = 0; i < t->n_commands; i++) {
        d->r.step = i;
        if (!command(d, t->commands[i])) return;
    }
}

ebb_status ebb__ghost_dtr(ebb__ghost_result *out, const ebb__trace *t, uint64_t budget,
                          double limit)
{
    dtr d = {.t = t, .budget = budget ? budget : UINT64_MAX};
    size_t bytes = tables(&d, NULL) + 16;
    void *block = ebb__alloc(&t->allocator, bytes, 16);
    if (!block) return ebb__fail(EBB_E_NOMEM, "no memory to simulate %u operations", t->n_ops);
    memset(block, 0, bytes);
    tables(&d, block);
    run(&d, limit);
    ebb__free(&t->allocator, block, bytes);
    *out = d.r;
    return EBB_OK;
}
