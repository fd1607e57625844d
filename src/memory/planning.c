/* planning.c - pieces of the planner's work, as time is given.
 *
 * The room that a plan has is the budget less what was in use beside the step's own values, at
 * most. The smallest budget is looked for with the choices that a program's first step makes: next
 * uses known in the backward alone. Then nothing has to be learned for it to be true.
 * SPDX-License-Identifier: MIT */
#include "memory/planning.h"

#include "base/error.h"
#include "memory/reserve.h"

#include <time.h>

/* Of the time of all steps, of that of one; and what may be saved up. The share of the first so many
 * steps is there from the beginning: a plan is worth most then. */
static const double share = 0.02, share_at_once = 0.2, most_credit_ns = 1e9, in_advance = 50;

enum {
    BYTES_PER_ITEM = 400, /* of the work, for an operation or a val: always enough */
    LEAST_PER_ITEM = 190, /* may do, where there is no more */
    LITTLE = 32,          /* kept: at most this part of the budget */
    SLACK = 256,          /* of what can come and go, not planned with */
    SLACK_BESIDE = 16,    /* the same of what is beside the values */
    FEW_RUNS = 6,         /* worth the while, where nothing is kept; before a smallest budget */
    STEPS_AT_ONCE = 64,   /* simulated between two looks at the clock */
    MANY_RUNS = 24,       /* where nothing is kept: no more */
    FRUITLESS = 400,      /* of a search, one after the other: it has found what there is */
    NS_PER_ITEM = 400     /* of a simulated run, before one was measured */
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t work_bytes(const ebb__tape *t, size_t per_item)
{
    return 16384 + per_item * ((size_t)t->n_steps + t->n_vals);
}

static bool is_kept(const ebb_context *ctx, const ebb__tape *t)
{
    return work_bytes(t, BYTES_PER_ITEM) <= ebb__memory_budget(ctx) / LITTLE;
}

/* Of what is there to the step's end. */
static uint64_t kept_bytes(const ebb__tape *t)
{
    uint64_t n = 0;
    for (uint32_t v = 0; v < t->n_vals; v++)
        n += t->left[v] >= t->n_ops ? ebb__tape_bytes(t, v) : 0;
    return n;
}

/* A little less than there is: bookkeeping is not the same in each step, and where what comes and
 * goes fills all, much is moved; where the plan does not do, all that is needed for a choice is made. */
static uint64_t room_of(const ebb_context *ctx, const ebb__learned *l)
{
    uint64_t budget = ebb__memory_budget(ctx), kept = kept_bytes(&l->tape);
    uint64_t beside = l->outside + l->outside / SLACK_BESIDE;
    if (budget > beside + kept) beside += (budget - beside - kept) / SLACK;
    return budget > beside ? budget - beside : 0;
}

void ebb__planning_end(ebb__planning *p, ebb_context *ctx)
{
    ebb__ghost_close(p->look);
    p->look = NULL;
    if (p->has_planner) ebb__planner_destroy(&p->planner);
    if (p->has_program) ebb__program_destroy(&p->program);
    p->has_planner = p->has_program = false;
    ebb__workspace_free(&p->space, ctx);
    p->of = NULL;
}

static bool begin(ebb__planning *p, ebb_context *ctx, ebb__learned *l)
{
    ebb__trace trace;
    const ebb__tape *t = &l->tape;
    size_t per_item = BYTES_PER_ITEM;
    while (!ebb__workspace_make(&p->space, ctx, work_bytes(t, per_item)))
        if ((per_item -= per_item / 8) < LEAST_PER_ITEM) return false;
    p->of = l;
    p->allocator = ebb__workspace_allocator(&p->space);
    if (ebb__tape_trace(&trace, &p->allocator, &l->tape) != EBB_OK) return false;
    p->has_program = ebb__program_create(&p->program, &p->allocator, &trace) == EBB_OK;
    ebb__trace_destroy(&trace);
    if (!p->has_program) return false;
    if (!l->high) {
        l->low = p->program.bottleneck ? p->program.bottleneck - 1 : 0;
        l->high = p->program.peak;
        l->has_smallest = l->low >= l->high;
    }
    return true;
}

static void smallest_set(ebb__planning *p)
{
    /* Rebuilds of a program find room at other moments than simulated ones: 14 % were enough for
     * each model of the benchmark in each of its sizes, 5 % for most. */
    uint64_t some_more = p->of->high / 100 * 15;
    p->of->smallest = p->of->high + some_more + p->of->outside;
}

static uint64_t middle(const ebb__learned *l)
{
    return l->low + (l->high - l->low) / 2;
}

static ebb_status look_begin(ebb__planning *p)
{
    const double limit = 4;
    ebb__ghost_options o = {
        .budget = middle(p->of), .known_from = p->program.n_forward, .limit = limit};
    return ebb__ghost_begin(&p->look, &p->program, &o);
}

/* A part of one halving. */
static ebb_status look_go(ebb__planning *p)
{
    bool is_done;
    ebb__learned *l = p->of;
    uint64_t mid = middle(l), grain = p->program.peak / 200 + 1;
    EBB_TRY(ebb__ghost_go(&is_done, p->look, STEPS_AT_ONCE));
    if (!is_done) return EBB_OK;
    bool works = ebb__ghost_so_far(p->look)->end == EBB__GHOST_DONE;
    ebb__ghost_close(p->look);
    p->look = NULL;
    p->n_runs++;
    *(works ? &l->high : &l->low) = mid;
    if (works) smallest_set(p);
    l->has_smallest = l->high - l->low <= grain;
    return EBB_OK;
}

static bool is_better(const ebb__planning *p)
{
    const ebb__planner *n = &p->planner;
    return p->has_planner && n->best.result.end == EBB__GHOST_DONE &&
           (!p->of->plan || n->best.result.cost < p->of->plan->cost);
}

static bool planner_make(ebb__planning *p, const ebb_context *ctx)
{
    ebb__learned *l = p->of;
    if (ebb__planner_create(&p->planner, &p->program, room_of(ctx, l)) != EBB_OK) return false;
    p->has_planner = true;
    /* to be less than */
    double cost = l->plan ? l->plan->cost : (double)INFINITY;
    ebb__planner_resume(&p->planner, l->n_tried, cost);
    return true;
}

/* A small part of the work. False: there is nothing left to do, or no memory to do it in. */
static bool bit(ebb__planning *p, const ebb_context *ctx)
{
    bool done = false;
    ebb__learned *l = p->of;
    ebb__planner *n = &p->planner;
    if (!p->has_planner) return planner_make(p, ctx);
    if (p->look) return look_go(p) == EBB_OK;
    if (l->n_tried >= FEW_RUNS && !l->has_smallest && !n->run) return look_begin(p) == EBB_OK;
    uint32_t before = n->n_tried;
    if (ebb__planner_bit(&done, n) != EBB_OK) return false;
    p->n_runs += n->n_tried - before;
    done |= n->n_since >= FRUITLESS;
    l->n_tried = done ? FEW_RUNS : n->candidate;
    return !done || !l->has_smallest;
}

static double items_of(const ebb__learned *l)
{
    return (double)l->tape.n_steps + l->tape.n_vals;
}

/* Of so many simulated runs. */
static double time_of(const ebb__planning *p, const ebb__learned *l, int n_runs)
{
    return n_runs * items_of(l) * (p->item_ns > 0 ? p->item_ns : NS_PER_ITEM);
}

/* Something else may have run meanwhile. */
static void item_note(ebb__planning *p, double ns)
{
    const double more = 2;
    double before = p->item_ns > 0 ? p->item_ns : NS_PER_ITEM;
    p->item_ns = fmin(ns, before * more);
}

/* Where nothing is kept, a run under way when time is up is lost. */
static void work(ebb__planning *p, ebb_context *ctx, ebb__learned *l, double most_ns)
{
    bool keeps = is_kept(ctx, &l->tape);
    double from = p->now(), until = from + most_ns;
    p->n_runs = 0;
    bool more = p->of || begin(p, ctx, l);
    while (more && p->now() < until) more = bit(p, ctx);
    if (is_better(p)) more = ebb__learned_plan(p->of, ctx, &p->planner) && more;
    l->is_planned = !more || (!keeps && l->has_smallest && l->n_tried >= MANY_RUNS);
    if (l->is_planned || !keeps) ebb__planning_end(p, ctx);
    double spent = p->now() - from;
    if (p->n_runs) item_note(p, spent / p->n_runs / items_of(l));
    p->spent += spent;
}

/* What the step took, less what is beside it from one step's end to the next: other work of the
 * program's. */
static double own_time(ebb__learned *l, double step_ns)
{
    const double most = 1.25; /* times the shortest like it */
    if (!l) return step_ns;
    if (!l->least_ns || step_ns < l->least_ns) l->least_ns = step_ns;
    return fmin(step_ns, most * l->least_ns);
}

/* What may be spent now: of the time of all steps, and at first of so many as short as any. */
static double credit_of(ebb__planning *p, double step_ns)
{
    p->steps_ns += step_ns;
    if (!p->least_ns || step_ns < p->least_ns) p->least_ns = step_ns;
    double all = fmax(p->steps_ns, in_advance * p->least_ns);
    return fmin(share * all - p->spent, most_credit_ns);
}

void ebb__planning_step(ebb__planning *p, ebb_context *ctx, ebb__learned *l, double step_ns)
{
    ebb_error before;
    step_ns = own_time(l, step_ns);
    double credit = credit_of(p, step_ns);
    if (p->of) l = p->of;
    if (!l || l->n_seen < 2 || l->is_planned || credit <= 0) return;
    bool keeps = is_kept(ctx, &l->tape);
    if (!keeps && credit < time_of(p, l, FEW_RUNS)) return;
    if (!p->now) p->now = now_ns;
    ebb_error_get(&before);
    work(p, ctx, l, keeps ? fmin(credit, share_at_once * step_ns) : credit);
    ebb__error_adopt(&before);
}
