/* follow.c - under a budget: steps are recorded, known again while they run, and done as planned.
 *
 * Each value of a step has a number: operands from outside when they are read first, then
 * results and by-products, in the order of the operations. While the step is, operation by operation, like
 * a kept one, that one says when each value is read next, and the plan made from it what else the
 * choice of victims goes by. Where it turns out otherwise, another kept step that has begun the
 * same way is followed, or none, and next uses are known in the backward alone. Nothing has to
 * be undone: what is in memory and what is not is always as it is.
 *
 * A step that is followed is not recorded again: up to where it turns out otherwise it is the
 * kept one. Nothing is told while no value is given up.
 * SPDX-License-Identifier: MIT */
#include "autodiff/follow.h"

#include "autodiff/backward.h"
#include "memory/planning.h"
#include "memory/reserve.h"

#include <string.h>
#include <time.h>

enum {
    NONE = EBB__TAPE_NONE,
    TABLES = 16,    /* a step under way takes at most this part of the budget */
    KEPT = 10,      /* those that are kept, in all */
    MOST_NEW = 12,  /* steps, one after the other, are recorded though unlike all before */
    TRY_EVERY = 32, /* where there is no room, one of so many is recorded */
};

struct ebb__follow {
    ebb_context *ctx;
    uint32_t n_ops, n_vals; /* of the step so far */
    uint64_t hash;
    ebb__tape now; /* where it is not followed */
    ebb__trace_cache cache;
    ebb__learned *on;   /* the step is like this one so far; NULL: like none */
    ebb__learned *last; /* the step before; NULL: not kept */
    uint32_t number, last_number;
    bool is_short;   /* there was no room for all of the step */
    bool is_passed;  /* or it is like none before, and is not recorded for that */
    bool is_pressed; /* values were given up in the step before */
    bool tells;
    ebb__how how;          /* the step is done */
    bool is_mixed;         /* not all of it */
    double recompute_cost; /* when it began */
    double base;           /* where the axis of the followed step begins */
    bool has_acts;         /* it is done as planned: */
    uint32_t next_act;
    uint64_t n_acted, n_before; /* values given up as planned in it; and not, before it began */
    uint64_t n_evictions;       /* when the step began */
    size_t bookkeeping;         /* when its backward began */
    double started;             /* ns */
    double extra;               /* the last step has run again */
    uint64_t n_chosen;          /* and given up otherwise than as planned */
    uint64_t n_known;           /* steps like one before to their end */
    uint32_t n_new, n_short;    /* one after the other, unlike all before; too long */
    uint64_t passed[EBB__LEARNED_MAX]; /* hashes of the last ones that were not recorded */
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

static double recompute_cost(const ebb__follow *f)
{
    ebb__room_stats s;
    ebb__room_stats_get(&s, f->ctx);
    return s.recompute_cost;
}

/* What the step is so far. */
static ebb__tape *tape_of(ebb__follow *f)
{
    return f->on ? &f->on->tape : &f->now;
}

/* Only in the step's own tape: one that is followed may turn out to be another, in which values
 * are held for longer. */
static void left_watch(ebb__follow *f)
{
    bool any = !f->is_short && !f->on && f->now.left;
    ebb__left_watch(f->ctx, any ? f->number : 0, any ? f->now.left : NULL,
                    any ? f->now.max_vals : 0);
}

static void step_begin(ebb__follow *f)
{
    ebb__tape_clear(&f->now);
    f->n_ops = f->n_vals = 0;
    f->hash = 0;
    f->is_short = f->n_short % TRY_EVERY > 2;
    f->is_passed = false;
    f->how = EBB__HOW_ALONE;
    f->is_mixed = false;
    f->recompute_cost = recompute_cost(f);
    f->tells = false;
    f->on = NULL;
    f->bookkeeping = 0;
    f->last_number = f->number;
    f->number = (uint32_t)ebb__unique_id();
    uint64_t n = ebb__memory_evictions(f->ctx);
    f->is_pressed = n != f->n_evictions;
    f->n_evictions = n;
    left_watch(f);
}

ebb__follow *ebb__follow_create(ebb_context *ctx)
{
    ebb__follow *f = ebb__notes_alloc(ctx, sizeof *f);
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
    ebb__notes_free(ctx, f, sizeof *f);
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
    ebb__value *v = ebb__operand(a, i);
    return is_seen(f, v) ? v : NULL;
}

static uint32_t number_of(const ebb__value *v, uint32_t step)
{
    uint64_t born = ebb__value_born(v);
    return step && born >> 32 == step ? (uint32_t)born : NONE;
}

static void number_new(ebb__follow *f, ebb__value *v)
{
    ebb__value_set_born(v, (uint64_t)f->number << 32 | f->n_vals++);
}

/* The value is one of an earlier step, which should have it at its end. */
static void kept_note(ebb__follow *f, const ebb__value *v)
{
    uint32_t val = number_of(v, f->last_number);
    if (f->last && val < f->last->tape.n_vals && f->last->tape.left[val] == NONE)
        f->last->tape.left[val] = EBB__TAPE_KEPT;
}

/* ---- recording --------------------------------------------------------------------------- */
static void give_up(ebb__follow *f)
{
    f->is_short = true;
    f->on = NULL;
    left_watch(f);
    ebb__tape_free(&f->now, f->ctx);
}

/* The step is not recorded any more; what is left of it is its hash. */
static void pass(ebb__follow *f)
{
    f->is_passed = true;
    ebb__tape_free(&f->now, f->ctx);
    left_watch(f);
}

static bool was_passed(const ebb__follow *f)
{
    for (int i = 0; i < EBB__LEARNED_MAX; i++)
        if (f->passed[i] == f->hash) return true;
    return false;
}

/* Makes room for the operation in the step's own tape; at first, where the step was followed so
 * far, that becomes as the followed one. False: there is none, or the step would not be kept. */
static bool tape_begin(ebb__follow *f, const ebb__apply *a, const ebb__learned *was)
{
    const ebb__call *c = &a->call;
    uint32_t n_in = (uint32_t)c->n_in, n_out = (uint32_t)(c->n_out + c->n_aux);
    const uint32_t *before = f->now.left;
    size_t most = part_of_budget(f, TABLES);
    if (f->n_new >= MOST_NEW) {
        pass(f);
        return false;
    }
    if ((!was || ebb__tape_copy(&f->now, f->ctx, most, &was->tape, f->n_ops)) &&
        ebb__tape_room(&f->now, f->ctx, most, n_in, 2 * n_in + n_out + 1)) {
        if (f->now.left != before || was) left_watch(f);
        return true;
    }
    give_up(f);
    return false;
}

static uint64_t reads_note(ebb__follow *f, const ebb__apply *a, uint64_t hash)
{
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = operand(f, a, i);
        if (v && number_of(v, f->number) == NONE) {
            kept_note(f, v);
            number_new(f, v);
            hash = mix(hash, 3 + ((uint64_t)v->bytes << 8));
        }
        uint32_t val = v ? number_of(v, f->number) : 0;
        hash = mix(hash, v ? 4 + ((uint64_t)(f->n_vals - val) << 8) : a->slot[i] ? 1 : 2);
    }
    return hash;
}

/* In the step's own tape, where the numbers are those of the values. */
static void reads_record(ebb__follow *f, const ebb__apply *a)
{
    for (int32_t i = 0; i < a->call.n_in; i++) {
        const ebb__value *v = operand(f, a, i);
        uint32_t val = v ? number_of(v, f->number) : NONE;
        if (!v) continue;
        if (val == f->now.n_vals) ebb__tape_val(&f->now, EBB__TAPE_SOURCE, v->bytes);
        ebb__tape_read(&f->now, val);
    }
}

static uint64_t shape_mix(uint64_t hash, const ebb_view *v, bool has_recipe)
{
    hash = mix(hash, (uint64_t)has_recipe << 16 | (uint64_t)v->dtype << 8 |
                         (uint64_t)v->shape.n_dims);
    for (int64_t d = 0; d < v->shape.n_dims; d++) hash = mix(hash, (uint64_t)v->shape.dims[d]);
    return hash;
}

/* Whether a result took the place of an operand, and cannot be made again for that, or not, the step is
 * the same. */
static bool is_made_again(const ebb__apply *a, int32_t k)
{
    return !a->made[k]->tiny && (a->over || ebb__recipe_of(a->made[k]));
}

/* A gradient is added to in place or not, as values made from it have been given up or not:
 * the step is the same. */
static bool is_sum(const ebb__follow *f, const ebb__apply *a)
{
    return a->call.op == f->ctx->engine->accumulate;
}

static uint64_t shapes_mix(const ebb__follow *f, const ebb__apply *a, uint64_t hash)
{
    const ebb__call *c = &a->call;
    hash = mix(hash, (uintptr_t)(is_sum(f, a) ? f->ctx->engine->add : c->op));
    hash = mix(hash, c->scratch_bytes);
    if (is_sum(f, a)) hash = shape_mix(hash, &c->in[0], true);
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++)
        hash = shape_mix(hash, &c->out[k], is_made_again(a, k));
    return hash;
}

static void brings(ebb__follow *f, ebb__value *v, ebb__tape_kind kind, size_t bytes)
{
    if (!f->on) ebb__tape_val(&f->now, kind, bytes);
    if (v)
        number_new(f, v);
    else
        f->n_vals++;
}

/* Results that cannot be made again, for which there must be room before the operation runs; those
 * that can, scratch, then what was written. */
static void made_note(ebb__follow *f, const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    int32_t n = c->n_out + c->n_aux;
    for (int32_t k = 0; k < n; k++)
        if (is_seen(f, a->made[k]) && !is_made_again(a, k))
            brings(f, a->made[k], EBB__TAPE_SOURCE, a->made[k]->bytes);
    for (int32_t k = 0; k < n; k++)
        if (is_seen(f, a->made[k]) && is_made_again(a, k))
            brings(f, a->made[k], EBB__TAPE_MADE, a->made[k]->bytes);
    if (c->scratch_bytes) brings(f, NULL, EBB__TAPE_SCRATCH, c->scratch_bytes);
    for (int32_t i = 0; i < c->n_in && c->op->writes; i++) {
        ebb__value *v = c->op->writes >> (i < 31 ? i : 31) & 1 ? operand(f, a, i) : NULL;
        uint32_t val = v ? number_of(v, f->number) : NONE;
        ebb__tape *t = tape_of(f);
        if (val >= t->n_vals) continue;
        if (ebb__tape_kind_of(t, val) != EBB__TAPE_MADE && !is_sum(f, a)) continue;
        if (!f->on && t->left[val] > f->n_ops) t->left[val] = f->n_ops;
        brings(f, v, EBB__TAPE_BECAME, v->bytes);
    }
}

/* Without a tape. */
static void results_number(ebb__follow *f, const ebb__apply *a)
{
    for (int32_t k = 0; k < a->call.n_out + a->call.n_aux; k++)
        if (is_seen(f, a->made[k])) number_new(f, a->made[k]);
}

/* ---- following --------------------------------------------------------------------------- */
/* Where the operation that has just run ends, on the axis of the step's time. */
static double here(const ebb__follow *f, uint32_t at)
{
    const ebb__tape_op *op = &f->on->tape.ops[at];
    return op->time + (double)op->cost;
}

static void acts_end(ebb__follow *f)
{
    if (f->has_acts) ebb__named_watch(f->ctx, 0, NULL, 0);
    f->has_acts = false;
}

/* From the acts behind operation `at` on. */
static void acts_begin(ebb__follow *f, uint32_t at)
{
    const ebb__steps_plan *plan = f->on->plan;
    uint32_t n_vals = f->on->tape.n_vals;
    memset(plan->made, 0, n_vals * sizeof *plan->made);
    ebb__named_watch(f->ctx, f->number, plan->made, n_vals);
    f->has_acts = true;
    f->next_act = 0;
    while (at && f->next_act < plan->n_acts && plan->acts[f->next_act].at <= 2 * at)
        f->next_act++;
}

/* From here on as f->on says, or as nobody says. As planned, nothing is told before somebody
 * has to choose. */
static void telling_begin(ebb__follow *f, uint32_t at)
{
    bool fixed = ebb__memory_policy_is_fixed(f->ctx);
    ebb__how how = f->on && !fixed ? ebb__learned_how(f->on) : EBB__HOW_ALONE;
    if (at && how != f->how) f->is_mixed = true;
    bool told = f->how != EBB__HOW_ALONE;
    f->how = how;
    f->tells = how == EBB__HOW_KNOWN;
    if (!told && how == EBB__HOW_ALONE) return;
    acts_end(f);
    if (how == EBB__HOW_PLANNED) acts_begin(f, at);
    f->n_before = ebb__memory_evictions(f->ctx) - f->n_acted;
    ebb__memory_follow(f->ctx, how != EBB__HOW_ALONE);
    if (f->on) f->base = (double)ebb__clock(f->ctx) - here(f, at);
    ebb__step_nexts_set(f->ctx, f->number, how == EBB__HOW_ALONE ? NULL : f->on, f->base,
                        how == EBB__HOW_PLANNED);
}

static double place_of(const ebb__follow *f, uint32_t reader, uint32_t val)
{
    return f->base + ebb__learned_place(f->on, reader, val);
}

static void made_tell(const ebb__follow *f, ebb__value *v)
{
    const ebb__learned *l = f->on;
    uint32_t val = is_seen(f, v) ? number_of(v, f->number) : NONE;
    if (val >= l->tape.n_vals || !ebb__recipe_of(v)) return;
    ebb__value_set_next(v, place_of(f, l->first[val], val));
}

static void tell(ebb__follow *f, const ebb__apply *a, uint32_t at)
{
    const ebb__learned *l = f->on;
    uint32_t k = at ? l->tape.ops[at - 1].links : 0;
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = operand(f, a, i);
        if (!v || k == l->tape.ops[at].links) continue;
        uint32_t reader = l->next[k], val = l->tape.links[k];
        k++;
        if (reader != at && ebb__recipe_of(v)) ebb__value_set_next(v, place_of(f, reader, val));
    }
    for (int32_t i = 0; i < a->call.n_out + a->call.n_aux; i++) made_tell(f, a->made[i]);
}

static ebb__value *act_next(ebb__follow *f, uint32_t until)
{
    const ebb__steps_plan *plan = f->has_acts ? f->on->plan : NULL;
    while (plan && f->next_act < plan->n_acts && plan->acts[f->next_act].at <= until) {
        const ebb__steps_act *act = &plan->acts[f->next_act++];
        if (!act->again) {
            f->n_acted += ebb__named_drop(f->ctx, act->val);
            continue;
        }
        ebb__value *v = ebb__named_away(f->ctx, act->val);
        if (v) return v;
    }
    return NULL;
}

ebb__value *ebb__follow_before(ebb__follow *f)
{
    return act_next(f, 2 * f->n_ops);
}

bool ebb__follow_acts(const ebb__follow *f)
{
    return f->has_acts;
}

/* After an operation of a step that is done as planned. Where the plan does not do, because more
 * is in use beside the step's values than it allowed for, somebody has chosen. */
static void acted(ebb__follow *f, uint32_t at)
{
    act_next(f, 2 * at + 1);
    if (ebb__memory_evictions(f->ctx) - f->n_acted != f->n_before) f->tells = true;
}

/* Which kept step the operation belongs to, if any; else it is recorded. */
static void op_know(ebb__follow *f, const ebb__apply *a)
{
    ebb__learned *was = f->on;
    const ebb__tape *t = was ? &was->tape : NULL;
    if (!t || f->n_ops >= t->n_ops || t->ops[f->n_ops].hash != f->hash)
        f->on = f->n_ops && !was ? NULL : ebb__trace_cache_find(&f->cache, f->n_ops, f->hash);
    if (f->on && f->on != was) left_watch(f);
    if (f->on || !tape_begin(f, a, was)) return;
    reads_record(f, a);
}

void ebb__follow_op(ebb__follow *f, const ebb__apply *a)
{
    const ebb__learned *was = f->on;
    if (f->is_short) return;
    f->hash = shapes_mix(f, a, reads_note(f, a, f->hash));
    if (!f->is_passed) op_know(f, a);
    if (f->is_passed)
        results_number(f, a);
    else if (!f->is_short)
        made_note(f, a);
    if (f->on && f->n_vals != f->on->tape.ops[f->n_ops].vals) give_up(f);
    if (!f->is_short && !f->is_passed && !f->on)
        ebb__tape_end(&f->now, f->hash, a->cost_ns, ebb__scope_is_rule());
    uint32_t at = f->n_ops++;
    ebb__left_now(f->ctx, at);
    bool was_pressed = f->is_pressed;
    if (!f->is_pressed) f->is_pressed = ebb__memory_evictions(f->ctx) != f->n_evictions;
    bool begins = f->is_pressed && (at == 0 || !was_pressed) && f->on;
    if (begins || (f->on != was && at && f->is_pressed)) telling_begin(f, at);
    if (f->has_acts) acted(f, at);
    if (f->tells) tell(f, a, at);
}

/* First as if nothing was learned, then without what planning has in memory, then, where that is
 * enough, without what learning has. */
bool ebb__follow_refused(ebb__follow *f, size_t missing)
{
    if (f->how == EBB__HOW_ALONE && f->planning.of) {
        ebb__planning_end(&f->planning, f->ctx); /* it begins again with the next step */
        return true;
    }
    if (f->how == EBB__HOW_ALONE) {
        bool any = f->cache.n || f->now.table || f->planning.of;
        if (!any || missing > ebb__notes_bytes(f->ctx)) return false;
        ebb__follow_end(f);
        return true;
    }
    if (f->on) f->on->extra[f->how] = (double)INFINITY;
    give_up(f);
    telling_begin(f, 0);
    return true;
}

bool ebb__follow_tells(const ebb__follow *f)
{
    return f->how != EBB__HOW_ALONE;
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
    if (f->how == EBB__HOW_ALONE) return;
    f->tells = false;
    acts_end(f);
    ebb__memory_follow(f->ctx, false);
    ebb__step_nexts_set(f->ctx, 0, NULL, 0, true);
}

/* The step that has ended as a kept one; NULL: it is not kept. */
static ebb__learned *step_keep(ebb__follow *f)
{
    size_t most = part_of_budget(f, KEPT);
    ebb__learned *l = f->on;
    if (l && l->tape.n_ops == f->n_ops) {
        f->n_known++;
        return l;
    }
    if (l && !ebb__tape_copy(&f->now, f->ctx, part_of_budget(f, TABLES), &l->tape, f->n_ops))
        return NULL;
    l = ebb__trace_cache_same(&f->cache, f->n_ops, f->hash);
    if (l) return l;
    f->n_new++;
    l = ebb__trace_cache_add(&f->cache, f->ctx, &f->now, most, f->planning.of);
    if (l) l->n_seen = 0;
    return l;
}

static ebb__learned *step_learn(ebb__follow *f)
{
    ebb__learned *l = step_keep(f);
    if (!l) return NULL;
    if (l->n_seen++) f->n_new = 0;
    ebb__trace_cache_use(&f->cache, l);
    if (!f->is_mixed) l->extra[f->how] = f->extra;
    ebb__step_use u;
    ebb__step_bytes(&u, f->ctx, f->number);
    size_t turn = f->bookkeeping > u.bookkeeping ? f->bookkeeping - u.bookkeeping : 0;
    l->outside = u.used - u.values + turn;
    return l;
}

/* What comes again is recorded again. */
static void step_pass(ebb__follow *f)
{
    f->n_new = was_passed(f) ? 0 : f->n_new + 1;
    f->passed[f->n_new % EBB__LEARNED_MAX] = f->hash;
}

void ebb__follow_step(ebb__follow *f)
{
    double now = now_ns();
    telling_end(f);
    f->extra = recompute_cost(f) - f->recompute_cost;
    f->n_chosen = ebb__memory_evictions(f->ctx) - f->n_evictions - f->n_acted;
    f->n_acted = 0;
    f->last = f->is_short || f->is_passed ? NULL : step_learn(f);
    if (f->is_passed) step_pass(f);
    ebb__trace_cache_turn(&f->cache, f->ctx, f->planning.of);
    f->n_short = f->is_short ? f->n_short + 1 : 0;
    if (f->on) ebb__tape_free(&f->now, f->ctx); /* it is not needed for steps like this */
    if (f->is_pressed && !ebb__memory_policy_is_fixed(f->ctx))
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
    const ebb__learned *l = f->last;
    out->extra = f->extra;
    out->n_chosen = f->n_chosen;
    out->planned = l && l->plan ? l->plan->cost - l->tape.time : -1;
    out->known_bytes = l ? l->smallest : 0;
    for (int i = 0; i < f->cache.n; i++) out->n_plans += f->cache.items[i]->plan != NULL;
}
