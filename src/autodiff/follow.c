/* follow.c - under a budget: steps are recorded, known again while they run, and done as planned.
 *
 * Each value of a step has a number: operands from outside when they are read first, then
 * results and by-products, in the order of the operations. While the step is, operation by operation, like
 * a kept one, that one says when each value is read next, and the plan made from it what else the
 * choice of victims goes by. Where it turns out otherwise, another kept step that has begun the
 * same way is followed, or none, and next uses are known in the backward alone. Nothing has to
 * be undone: what is in memory and what is not is always as it is.
 *
 * Nothing is told while no value is given up: without pressure a step is only recorded.
 * SPDX-License-Identifier: MIT */
#include "autodiff/follow.h"

#include "autodiff/backward.h"
#include "memory/planning.h"
#include "memory/reserve.h"

#include <string.h>
#include <time.h>

enum {
    NONE = EBB__TAPE_NONE,
    TABLES = 64, /* a step under way takes at most this part of the budget */
    KEPT = 32    /* those that are kept */
};

struct ebb__follow {
    ebb_context *ctx;
    ebb__tape now;
    ebb__trace_cache cache;
    ebb__learned *on;   /* the step is like this one so far; NULL: like none */
    ebb__learned *last; /* the step before; NULL: not kept */
    uint32_t number, last_number;
    bool is_short;   /* there was no room for all of the step */
    bool is_pressed; /* values were given up in the step before */
    bool tells;
    double base; /* where the axis of the followed step begins */
    uint32_t next_early;
    uint64_t n_evictions;      /* when the step began */
    size_t bookkeeping;        /* when its backward began */
    double started;            /* ns */
    uint64_t n_steps, n_known; /* in all; like one before to their end */
    ebb__planning planning;
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t part_of_budget(const ebb__follow *f, size_t part)
{
    return ebb__memory_budget(f->ctx) / part;
}

static void step_begin(ebb__follow *f)
{
    f->now.n_ops = f->now.n_links = f->now.n_vals = f->now.n_steps = 0;
    f->now.time = 0;
    f->is_short = f->tells = false;
    f->on = NULL;
    f->bookkeeping = 0;
    f->last_number = f->number;
    f->number = (uint32_t)ebb__unique_id();
    uint64_t n = ebb__memory_evictions(f->ctx);
    f->is_pressed = n != f->n_evictions;
    f->n_evictions = n;
    ebb__left_watch(f->ctx, f->number, f->now.left, f->now.max_vals);
}

ebb__follow *ebb__follow_create(ebb_context *ctx)
{
    ebb__follow *f = ebb__table_alloc(ctx, sizeof *f);
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    f->ctx = ctx;
    f->started = now_ns();
    step_begin(f);
    return f;
}

void ebb__follow_destroy(ebb__follow *f)
{
    if (!f) return;
    ebb_context *ctx = f->ctx;
    ebb__follow_end(f);
    ebb__table_free(ctx, f, sizeof *f);
}

/* ---- numbers ----------------------------------------------------------------------------- */
static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

/* Bytes that come and go in the memory. */
static bool is_seen(const ebb__follow *f, const ebb__value *v)
{
    return v && !v->tiny && !v->external && ebb__memory_owner(v->ctx) == f->ctx;
}

static ebb__value *operand(const ebb__follow *f, const ebb__apply *a, int32_t i)
{
    ebb__value *v = a->slot[i] ? a->slot[i]->storage->value : NULL;
    return is_seen(f, v) ? v : NULL;
}

static uint32_t number_of(const ebb__value *v, uint32_t step)
{
    uint64_t born = ebb__value_born(v);
    return step && born >> 32 == step ? (uint32_t)born : NONE;
}

static uint32_t number_new(ebb__follow *f, ebb__value *v, ebb__tape_kind kind)
{
    uint32_t val = ebb__tape_val(&f->now, kind, v->bytes);
    ebb__value_set_born(v, (uint64_t)f->number << 32 | val);
    return val;
}

/* The value is one of an earlier step, which should have it at its end. */
static void kept_note(ebb__follow *f, const ebb__value *v)
{
    uint32_t val = number_of(v, f->last_number);
    if (f->last && val < f->last->tape.n_vals && f->last->tape.left[val] == NONE)
        f->last->tape.left[val] = EBB__TAPE_KEPT;
}

/* ---- recording --------------------------------------------------------------------------- */
static bool room_for(ebb__follow *f, const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    uint32_t n_in = (uint32_t)c->n_in, n_out = (uint32_t)(c->n_out + c->n_aux);
    const uint32_t *before = f->now.left;
    if (f->is_short) return false;
    if (!ebb__tape_room(&f->now, f->ctx, part_of_budget(f, TABLES), n_in,
                        2 * n_in + n_out + 1)) {
        ebb__left_watch(f->ctx, 0, NULL, 0);
        ebb__tape_free(&f->now, f->ctx);
        f->is_short = true;
        return false;
    }
    if (f->now.left != before) ebb__left_watch(f->ctx, f->number, f->now.left, f->now.max_vals);
    return true;
}

static uint64_t reads_note(ebb__follow *f, const ebb__apply *a, uint64_t hash)
{
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = operand(f, a, i);
        uint32_t val = v ? number_of(v, f->number) : NONE;
        if (v && val == NONE) {
            kept_note(f, v);
            val = number_new(f, v, EBB__TAPE_SOURCE);
            hash = mix(hash, 3 + ((uint64_t)v->bytes << 8));
        }
        if (v) ebb__tape_read(&f->now, val);
        hash = mix(hash, v ? 4 + ((uint64_t)(f->now.n_vals - val) << 8) : a->slot[i] ? 1 : 2);
    }
    return hash;
}

static uint64_t shapes_mix(const ebb__call *c, uint64_t hash)
{
    hash = mix(hash, (uintptr_t)c->op);
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        hash = mix(hash, (uint64_t)c->out[k].dtype << 8 | (uint64_t)c->out[k].shape.n_dims);
        for (int64_t d = 0; d < c->out[k].shape.n_dims; d++)
            hash = mix(hash, (uint64_t)c->out[k].shape.dims[d]);
    }
    return hash;
}

/* Results that can be made again, scratch, then results that cannot, and what was written. */
static void made_note(ebb__follow *f, const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    int32_t n = c->n_out + c->n_aux;
    for (int32_t k = 0; k < n; k++)
        if (is_seen(f, a->made[k]) && ebb__recipe_of(a->made[k]))
            number_new(f, a->made[k], EBB__TAPE_MADE);
    if (c->scratch_bytes) ebb__tape_val(&f->now, EBB__TAPE_SCRATCH, c->scratch_bytes);
    for (int32_t k = 0; k < n; k++)
        if (is_seen(f, a->made[k]) && !ebb__recipe_of(a->made[k]))
            number_new(f, a->made[k], EBB__TAPE_BECAME);
    for (int32_t i = 0; i < c->n_in && c->op->writes; i++) {
        ebb__value *v = c->op->writes >> (i < 31 ? i : 31) & 1 ? operand(f, a, i) : NULL;
        uint32_t val = v ? number_of(v, f->number) : NONE;
        if (val == NONE || ebb__tape_kind_of(&f->now, val) != EBB__TAPE_MADE) continue;
        if (f->now.left[val] == NONE) f->now.left[val] = f->now.n_ops;
        number_new(f, v, EBB__TAPE_BECAME);
    }
}

/* ---- following --------------------------------------------------------------------------- */
static double axis_at(const ebb__learned *l, uint32_t step, double time)
{
    return l->plan ? l->plan->axis[step] : time;
}

/* Where operation `reader` of the followed step begins. */
static double place_of(const ebb__follow *f, uint32_t reader, uint32_t val)
{
    const ebb__tape *t = &f->on->tape;
    if (reader < t->n_ops)
        return f->base + axis_at(f->on, t->ops[reader].step, t->ops[reader].time);
    bool is_kept = val < t->n_vals && t->left[val] == EBB__TAPE_KEPT;
    return is_kept ? f->base + axis_at(f->on, t->n_steps, t->time) : EBB__NEXT_NONE;
}

/* Where the operation that has just run ends. */
static double here(const ebb__follow *f, uint32_t at)
{
    const ebb__tape_op *op = &f->on->tape.ops[at];
    return axis_at(f->on, op->step + 1, op->time + op->cost);
}

/* Who reads val first after operation `at`. */
static uint32_t reader_after(const ebb__learned *l, uint32_t val, uint32_t at)
{
    const ebb__tape *t = &l->tape;
    uint32_t reader = val < t->n_vals ? l->first[val] : NONE;
    while (reader != NONE && reader <= at) {
        uint32_t k = t->ops[reader].links;
        while (t->links[--k] != val) {
        }
        reader = l->next[k];
    }
    return reader;
}

static double next_of(void *user, uint32_t val)
{
    const ebb__follow *f = user;
    if (!f->on) return EBB__NEXT_UNKNOWN;
    return place_of(f, reader_after(f->on, val, f->now.n_ops - 1), val);
}

/* From here on as f->on says, or as nobody says. */
static void telling_begin(ebb__follow *f, uint32_t at)
{
    f->tells = f->on != NULL;
    f->next_early = 0;
    ebb__memory_follow(f->ctx, f->tells);
    ebb__memory_axis(f->ctx, NAN);
    if (f->tells) f->base = ebb__memory_position(f->ctx) - here(f, at);
    ebb__memory_set_policy(f->ctx, f->tells && f->on->plan ? &f->on->plan->policy : NULL);
    ebb__step_nexts_set(f->ctx, f->number, next_of, f);
}

static void early_drop(ebb__follow *f, const ebb__apply *a, uint32_t val)
{
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = operand(f, a, i);
        if (v && number_of(v, f->number) == val && ebb__value_drop(v)) return;
    }
    for (int32_t k = 0; k < a->call.n_out + a->call.n_aux; k++) {
        ebb__value *v = is_seen(f, a->made[k]) ? a->made[k] : NULL;
        if (v && number_of(v, f->number) == val && ebb__value_drop(v)) return;
    }
}

static void made_tell(const ebb__follow *f, ebb__value *v)
{
    const ebb__learned *l = f->on;
    uint32_t val = is_seen(f, v) ? number_of(v, f->number) : NONE;
    if (val >= l->tape.n_vals || !ebb__recipe_of(v)) return;
    ebb__value_set_next(v, place_of(f, l->first[val], val));
    if (l->plan && l->plan->weights) ebb__value_set_weight(v, l->plan->weights[val]);
}

static void tell(ebb__follow *f, const ebb__apply *a, uint32_t at)
{
    const ebb__learned *l = f->on;
    uint32_t k = at ? l->tape.ops[at - 1].links : 0, step = l->tape.ops[at].step;
    ebb__memory_axis(f->ctx, f->base + here(f, at));
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = operand(f, a, i);
        if (!v || k == l->tape.ops[at].links) continue;
        uint32_t reader = l->next[k], val = l->tape.links[k];
        k++;
        if (reader != at && ebb__recipe_of(v)) ebb__value_set_next(v, place_of(f, reader, val));
    }
    for (int32_t i = 0; i < a->call.n_out + a->call.n_aux; i++) made_tell(f, a->made[i]);
    for (; l->plan && f->next_early < l->plan->n_early; f->next_early++) {
        const uint32_t *pair = l->plan->early + 2 * (size_t)f->next_early;
        if (pair[0] > step) break;
        if (pair[0] == step) early_drop(f, a, pair[1]);
    }
}

void ebb__follow_op(ebb__follow *f, const ebb__apply *a)
{
    uint32_t at = f->now.n_ops;
    ebb__learned *l = f->on;
    if (room_for(f, a)) {
        uint64_t hash = reads_note(f, a, at ? f->now.ops[at - 1].hash : 0);
        hash = shapes_mix(&a->call, hash);
        made_note(f, a);
        ebb__tape_end(&f->now, hash, a->cost_ns, ebb__scope_is_rule());
        ebb__left_now(f->ctx, at);
        if (!l || at >= l->tape.n_ops || l->tape.ops[at].hash != hash)
            l = ebb__trace_cache_find(&f->cache, at, hash);
    } else {
        l = NULL;
    }
    bool changes = l != f->on;
    f->on = l;
    if (!f->is_pressed && l) f->is_pressed = ebb__memory_evictions(f->ctx) != f->n_evictions;
    if ((changes && f->tells) || (l && f->is_pressed && !f->tells)) telling_begin(f, at);
    if (f->tells) tell(f, a, at);
}

bool ebb__follow_tells(const ebb__follow *f)
{
    return f->tells;
}

/* ---- steps ------------------------------------------------------------------------------- */
void ebb__follow_turn(ebb__follow *f)
{
    ebb_stats s = {0};
    ebb__account_stats(&s, f->ctx->account);
    f->bookkeeping = s.bytes[EBB_KIND_BOOKKEEPING];
}

static void telling_end(ebb__follow *f)
{
    if (!f->tells) return;
    f->tells = false;
    ebb__memory_follow(f->ctx, false);
    ebb__memory_axis(f->ctx, NAN);
    ebb__memory_set_policy(f->ctx, NULL);
}

/* What earlier recordings could not see: a value given up is held on by those made from it. */
static void left_join(ebb__tape *have, const ebb__tape *now)
{
    for (uint32_t v = 0; v < have->n_vals; v++)
        if (now->left[v] < have->left[v]) have->left[v] = now->left[v];
}

static ebb__learned *step_learn(ebb__follow *f)
{
    ebb__learned *l = ebb__trace_cache_same(&f->cache, &f->now);
    if (l) {
        l->n_seen++;
        f->n_known += f->on == l;
        left_join(&l->tape, &f->now);
        ebb__trace_cache_use(&f->cache, l);
    } else {
        l = ebb__trace_cache_add(&f->cache, f->ctx, &f->now, part_of_budget(f, KEPT),
                                 f->planning.of);
    }
    if (!l) return NULL;
    ebb__step_use u;
    ebb__step_bytes(&u, f->ctx, f->number);
    size_t turn = f->bookkeeping > u.bookkeeping ? f->bookkeeping - u.bookkeeping : 0;
    l->outside = u.used - u.values + turn;
    return l;
}

void ebb__follow_step(ebb__follow *f)
{
    double now = now_ns();
    telling_end(f);
    f->last = f->is_short ? NULL : step_learn(f);
    f->n_steps++;
    ebb__planning_step(&f->planning, f->ctx, f->last, now - f->started);
    ebb__memory_known(f->ctx, f->last ? f->last->smallest : 0);
    step_begin(f);
    f->started = now_ns();
}

void ebb__follow_end(ebb__follow *f)
{
    telling_end(f);
    ebb__left_watch(f->ctx, 0, NULL, 0);
    ebb__planning_end(&f->planning, f->ctx);
    ebb__trace_cache_destroy(&f->cache, f->ctx);
    ebb__tape_free(&f->now, f->ctx);
    f->on = f->last = NULL;
    f->is_short = true;
}

void ebb__follow_stats_get(ebb__follow_stats *out, const ebb__follow *f)
{
    *out = (ebb__follow_stats){.n_traces = (uint64_t)f->cache.n,
                               .n_steps_known = f->n_known,
                               .plan_ns = (uint64_t)f->planning.spent};
    for (int i = 0; i < f->cache.n; i++) out->n_plans += f->cache.items[i]->plan != NULL;
}
