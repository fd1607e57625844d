/* planner.c - a portfolio of simulated runs, then local search.
 *
 * Scores that differ by a power of the whole order candidates alike, so of (cost, bytes,
 * horizon) powers each ratio is tried once, with the cost's at 1. Local search changes weights,
 * and which vals are dropped as soon as they were read: that keeps what they are made from where
 * it would go otherwise, because nobody else needs it.
 * SPDX-License-Identifier: MIT */
#include "memory/planner.h"

#include "base/error.h"
#include "memory/chain.h"

#include <string.h>

enum {
    PASSES = 300,
    PASSES_AT_ONCE = 20,
    STEPS_AT_ONCE = 64, /* simulated in a bit */
    CHAINS = 3,
    WALK = 200,
    SMALL = 64
};

static const float bytes_powers[] = {1, 0.5F, 1.5F, 2, 3};
static const float horizon_powers[] = {1, 0.5F, 0.25F, 2, 4};
static const double mixes[] = {1, 0, 0.1, 0.3};
typedef struct candidate {
    ebb__policy policy;
    double mix;
} candidate;
/* What has done best on recorded steps, the first of them by time alone; then what looks at no axis,
 * which takes long and seldom wins. */
static const candidate leading[] = {
    {{EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 1, 1}, 1},
    {{EBB__BACK_OWN, EBB__HORIZON_KNOWN, 1, 1, 0.5F}, 1},
    {{EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 1, 0.5F}, 1},
    {{EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 0.5F, 1}, 1},
    {{EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 1, 1}, 0.1},
    {{EBB__BACK_OWN, EBB__HORIZON_KNOWN, 1, 1, 0.25F}, 0.1},
    {{EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 0.5F, 0.5F}, 0.1},
    {{EBB__BACK_AROUND, EBB__HORIZON_STALE, 1, 1, 1}, 1}, /* h_DTR */
    {{EBB__BACK_ABOVE, EBB__HORIZON_ONE, 1, 1, 0}, 1},    /* MSPS */
    {{EBB__BACK_ABOVE, EBB__HORIZON_STALE, 1, 1, 1}, 1}};
enum {
    N_BYTES = sizeof bytes_powers / sizeof *bytes_powers,
    N_HORIZON = sizeof horizon_powers / sizeof *horizon_powers,
    N_MIX = sizeof mixes / sizeof *mixes,
    N_LEADING = sizeof leading / sizeof *leading,
    N_BY_TIME = 4,
    N_AXIS = N_BYTES * N_HORIZON * N_MIX,
    N_CANDIDATES = N_LEADING + N_AXIS
};

static const double UNFINISHED = 1e100;

static size_t tables(ebb__planner *n, char *base)
{
    size_t at = 0, vals = n->p->n_vals, links = n->p->n_links,
           axis = ((size_t)n->p->n_steps + 1) * sizeof(double);
    struct {
        void *table;
        size_t bytes;
    } all[] = {
        {&n->now.axis, axis},
        {&n->best.axis, axis},
        {&n->now.advice.weights, vals * sizeof(float)},
        {&n->walk.weights, vals * sizeof(float)},
        {&n->best.advice.weights, vals * sizeof(float)},
        {&n->now.advice.again, vals * sizeof(uint32_t)},
        {&n->walk.again, vals * sizeof(uint32_t)},
        {&n->best.advice.again, vals * sizeof(uint32_t)},
        {&n->now.advice.early, links},
        {&n->walk.early, links},
        {&n->best.advice.early, links},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (base) *(void **)all[i].table = base + at;
        at += (all[i].bytes + 15) / 16 * 16;
    }
    return at;
}

ebb_status ebb__planner_create(ebb__planner *out, const ebb__program *p, uint64_t budget)
{
    ebb__planner n = {.p = p, .budget = budget, .random = 1};
    n.block_bytes = tables(&n, NULL) + 16;
    EBB_TRY(ebb__bound_create(&n.bound, p, budget));
    n.block = ebb__alloc(&p->allocator, n.block_bytes, 16);
    if (!n.block) {
        ebb__bound_destroy(&n.bound);
        return ebb__fail(EBB_E_NOMEM, "no memory to plan %u steps", p->n_steps);
    }
    memset(n.block, 0, n.block_bytes);
    tables(&n, n.block);
    n.best.result.end = EBB__GHOST_SHORT;
    n.best.result.cost = (double)INFINITY;
    *out = n;
    return EBB_OK;
}

static void acts_free(ebb__planner *n, ebb__acts *a)
{
    ebb__free(&n->p->allocator, a->list, a->max * sizeof *a->list);
    *a = (ebb__acts){0};
}

void ebb__planner_destroy(ebb__planner *n)
{
    if (!n->block) return;
    ebb__ghost_close(n->run);
    acts_free(n, &n->acts);
    acts_free(n, &n->now_acts);
    ebb__bound_destroy(&n->bound);
    ebb__free(&n->p->allocator, n->block, n->block_bytes);
    n->block = NULL;
}

void ebb__planner_resume(ebb__planner *n, uint32_t at, double cost)
{
    if (at) n->chain = CHAINS;
    n->candidate = at;
    n->best.result.cost = cost;
}

void ebb__plan_options(ebb__ghost_options *out, const ebb__plan *plan, uint64_t budget)
{
    *out = (ebb__ghost_options){.budget = budget, .policy = plan->policy, .axis = plan->axis};
    if (!plan->is_advised) return;
    out->weight = plan->advice.weights;
    out->early = plan->advice.early;
    out->again = plan->advice.again;
}

static void advice_copy(const ebb__planner *n, ebb__advice *to, const ebb__advice *from)
{
    memcpy(to->weights, from->weights, n->p->n_vals * sizeof *to->weights);
    memcpy(to->again, from->again, n->p->n_vals * sizeof *to->again);
    memcpy(to->early, from->early, n->p->n_links);
}

static void advice_clear(const ebb__planner *n, ebb__advice *a)
{
    for (uint32_t v = 0; v < n->p->n_vals; v++) a->weights[v] = 1;
    memset(a->again, 0, n->p->n_vals * sizeof *a->again);
    memset(a->early, 0, n->p->n_links);
}

/* ---- one candidate ----------------------------------------------------------------------- */
static bool acts_room(ebb__planner *n, ebb__acts *a)
{
    enum { LEAST = 64 };
    if (a->n < a->max) return true;
    ebb__acts more = {.n = a->n, .max = a->max ? a->max + a->max / 2 : LEAST};
    more.list = ebb__alloc(&n->p->allocator, more.max * sizeof *more.list, 16);
    if (!more.list) return false;
    if (a->n) memcpy(more.list, a->list, a->n * sizeof *more.list);
    acts_free(n, a);
    *a = more;
    return true;
}

static void act_note(void *user, const ebb__ghost_event *e)
{
    ebb__planner *n = user;
    if (n->is_short || !acts_room(n, &n->now_acts))
        n->is_short = true;
    else
        n->now_acts.list[n->now_acts.n++] = *e;
}

/* Of n->now.axis and, where it is advised, n->now.advice; given up beyond `most` in cost. */
static ebb_status attempt_begin(ebb__planner *n, const ebb__policy *policy, double mix,
                                bool is_advised, double most)
{
    double base = n->p->cost;
    ebb__ghost_options o;
    n->now.policy = *policy;
    n->now.mix = mix;
    n->now.is_advised = is_advised;
    n->is_search = n->is_short = false;
    n->now_acts.n = 0;
    ebb__plan_options(&o, &n->now, n->budget);
    if (base > 0 && most < UNFINISHED) o.limit = most / base;
    o.happened = act_note;
    o.user = n;
    return ebb__ghost_begin(&n->run, n->p, &o);
}

static void best_set(ebb__planner *n, const ebb__ghost_result *r)
{
    const ebb__acts acts = n->acts;
    n->best.result = *r;
    n->best.policy = n->now.policy;
    n->best.mix = n->now.mix;
    n->best.is_advised = n->now.is_advised;
    memcpy(n->best.axis, n->now.axis, ((size_t)n->p->n_steps + 1) * sizeof *n->now.axis);
    if (n->now.is_advised) advice_copy(n, &n->best.advice, &n->now.advice);
    n->acts = n->now_acts;
    n->now_acts = acts;
}

/* The run has ended; it is kept where it is cheaper than the best. Returns more than the cost of any run
 * that gets through where it does not, and the more the earlier it ends. */
static double attempt_end(ebb__planner *n)
{
    const ebb__ghost_result r = *ebb__ghost_so_far(n->run);
    bool is_through = r.end == EBB__GHOST_DONE && !n->is_short;
    ebb__ghost_close(n->run);
    n->run = NULL;
    n->n_tried++;
    if (is_through && r.cost < n->best.result.cost) best_set(n, &r);
    return is_through ? r.cost : UNFINISHED * (1 + n->p->n_steps - r.step);
}

static ebb__policy candidate_of(double *mix, uint32_t i)
{
    *mix = i < N_LEADING ? leading[i].mix : mixes[(i - N_LEADING) % N_MIX];
    if (i < N_LEADING) return leading[i].policy;
    uint32_t k = (i - N_LEADING) / N_MIX;
    return (ebb__policy){EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, bytes_powers[k % N_BYTES],
                         horizon_powers[k / N_BYTES]};
}

static ebb_status portfolio(ebb__planner *n, uint32_t i)
{
    double mix;
    ebb__policy policy = candidate_of(&mix, i);
    ebb__bound_axis(n->now.axis, &n->bound, mix);
    return attempt_begin(n, &policy, mix, false, n->best.result.cost);
}

/* The schedule of a chain with a snapshot fewer, as many, one more than there seems to be room for. */
static ebb_status chain(ebb__planner *n, uint32_t i)
{
    static const ebb__policy by_weight = {EBB__BACK_ONE, EBB__HORIZON_ONE, 0, 0, 0};
    bool is_made;
    ebb__bound_axis(n->now.axis, &n->bound, 1);
    advice_clear(n, &n->now.advice);
    EBB_TRY(ebb__chain_weights(&is_made, n->now.advice.weights, n->p, n->budget, (int)i - 1));
    return is_made ? attempt_begin(n, &by_weight, 1, true, n->best.result.cost) : EBB_OK;
}

static uint64_t next_random(ebb__planner *n)
{
    /* xorshift64*: Marsaglia 2003, Vigna 2016. */
    n->random ^= n->random >> 12;
    n->random ^= n->random << 25;
    n->random ^= n->random >> 27;
    return n->random * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t below(ebb__planner *n, uint32_t most)
{
    return (uint32_t)((next_random(n) >> 32) * most >> 32);
}

/* Where a run takes microseconds. */
static bool is_small(const ebb__planner *n)
{
    return n->p->n_links <= SMALL;
}

/* Local search begins from the best, or, where that has led nowhere for a while, from the plain
 * policy or any candidate of the portfolio: small changes end in a hollow. */
static void walk_begin(ebb__planner *n)
{
    uint32_t turn = n->n_since / WALK;
    bool is_best =
        n->best.result.end == EBB__GHOST_DONE && (is_small(n) ? turn % 3 == 0 : turn % 4 != 3);
    n->walk_policy = ebb__policy_next;
    n->walk_mix = 1;
    if (is_best) {
        n->walk_policy = n->best.policy;
        n->walk_mix = n->best.mix;
    } else if (turn % 3 == 2 || !is_small(n)) {
        n->walk_policy = candidate_of(&n->walk_mix, below(n, N_CANDIDATES));
    }
    ebb__bound_axis(n->now.axis, &n->bound, n->walk_mix);
    if (is_best)
        memcpy(n->now.axis, n->best.axis, ((size_t)n->p->n_steps + 1) * sizeof *n->now.axis);
    if (is_best && n->best.is_advised)
        advice_copy(n, &n->walk, &n->best.advice);
    else
        advice_clear(n, &n->walk);
    n->walk_cost = is_best ? n->best.result.cost : (double)INFINITY;
}

/* Mostly one that the best run dropped. */
static uint32_t val_draw(ebb__planner *n)
{
    const ebb__acts *a = &n->acts;
    return a->n && below(n, 4) ? a->list[below(n, a->n)].val : below(n, n->p->n_vals);
}

static void weight_draw(ebb__planner *n)
{
    static const float factors[] = {0.01F, 0.25F, 0.5F, 0.8F, 1.25F, 2, 4, 100};
    float *w = &n->now.advice.weights[val_draw(n)];
    *w = fminf(fmaxf(*w * factors[below(n, sizeof factors / sizeof *factors)], 1e-6F), 1e6F);
}

/* At the last step before `at` that reads or makes it. */
static void drop_before(ebb__planner *n, uint32_t val, uint32_t at)
{
    const ebb__program *p = n->p;
    uint32_t last = p->made[val];
    for (uint32_t u = p->use[val]; u < p->use[val + 1] && p->uses[u] < at; u++)
        last = p->uses[u];
    const ebb__step *s = &p->steps[last];
    for (uint32_t k = s->in; k < s->out + s->n_out; k++)
        if (p->links[k] == val) n->now.advice.early[k] |= EBB__ACT_DROP;
}

/* A val away is made again at some step; often it is the better for being dropped before. */
static void again_draw(ebb__planner *n)
{
    const ebb__program *p = n->p;
    uint32_t v = val_draw(n), *again = &n->now.advice.again[v];
    uint32_t from = p->made[v] + 1, to = p->left[v] < p->n_steps ? p->left[v] : p->n_steps;
    if (from >= to) return;
    *again = *again && below(n, 2) ? 0 : from + below(n, to - from);
    if (*again && below(n, 2)) drop_before(n, v, *again);
}

static void act_draw(ebb__planner *n)
{
    uint32_t kind = n->has_all_acts ? below(n, 4) : 0;
    if (kind == 3)
        again_draw(n);
    else
        n->now.advice.early[below(n, n->p->n_links)] ^=
            kind < 2 ? EBB__ACT_DROP : EBB__ACT_HOLD;
}

/* What had no effect gathers, and is in the way when it comes to have one. */
static void advice_thin(ebb__planner *n)
{
    for (uint32_t k = 0; k < n->p->n_links; k++)
        if (below(n, 4) == 0) n->now.advice.early[k] = 0;
    for (uint32_t v = 0; v < n->p->n_vals; v++) {
        if (below(n, 4) == 0) n->now.advice.weights[v] = 1;
        if (below(n, 4) == 0) n->now.advice.again[v] = 0;
    }
}

/* A few changes. */
static void advice_draw(ebb__planner *n)
{
    uint32_t n_changes = 1 + below(n, 1 + below(n, 8));
    advice_copy(n, &n->now.advice, &n->walk);
    if (below(n, 4) == 0) advice_thin(n);
    for (uint32_t i = 0; i < n_changes; i++)
        if (below(n, n->has_all_acts ? 2 : 5) == 0)
            act_draw(n);
        else
            weight_draw(n);
}

static ebb_status search(ebb__planner *n)
{
    if (n->n_since % WALK == 0) walk_begin(n);
    advice_draw(n);
    EBB_TRY(attempt_begin(n, &n->walk_policy, n->walk_mix, true, n->walk_cost));
    n->is_search = true;
    return EBB_OK;
}

/* What is as good is taken, too: that leads out of hollows without a rim. */
static void search_end(ebb__planner *n, double cost, double before)
{
    if (cost <= n->walk_cost) {
        n->walk_cost = cost;
        advice_copy(n, &n->walk, &n->now.advice);
    }
    n->n_since = n->best.result.cost < before ? 1 : n->n_since + 1;
}

/* ---- pieces of work ---------------------------------------------------------------------- */
static bool is_hopeless(const ebb__planner *n)
{
    return n->budget && n->budget < n->p->bottleneck;
}

static bool is_done(const ebb__planner *n)
{
    const ebb__plan *b = &n->best;
    if (is_hopeless(n) || !n->p->n_vals) return true;
    if (n->candidate < N_CANDIDATES)
        return b->result.n_evictions == 0 && n->candidate > 0 &&
               b->result.end == EBB__GHOST_DONE;
    if (b->result.end == EBB__GHOST_DONE && !b->result.n_rebuilt) return true;
    return n->n_since >= (is_small(n) ? 30 : b->result.end == EBB__GHOST_DONE ? 10 : 1) * WALK;
}

static bool wants_passes(const ebb__planner *n)
{
    return n->candidate >= N_BY_TIME && n->bound.n_passes < PASSES;
}

static void pass(ebb__planner *n)
{
    ebb__bound_pass(&n->bound, n->best.result.cost - n->p->cost);
}

/* Begins the next run; there may be none behind a number. */
static ebb_status run_begin(ebb__planner *n)
{
    if (n->chain < CHAINS) return chain(n, n->chain++);
    if (n->candidate < N_CANDIDATES) return portfolio(n, n->candidate++);
    return search(n);
}

static ebb_status run_go(ebb__planner *n, uint32_t steps)
{
    bool is_done;
    double before = n->best.result.cost;
    ebb_status s = ebb__ghost_go(&is_done, n->run, steps);
    if (s != EBB_OK) {
        ebb__ghost_close(n->run);
        n->run = NULL;
    } else if (is_done) {
        double cost = attempt_end(n);
        if (n->is_search) search_end(n, cost, before);
    }
    return s;
}

ebb_status ebb__planner_bit(bool *done, ebb__planner *n)
{
    if (n->run)
        EBB_TRY(run_go(n, STEPS_AT_ONCE));
    else if (wants_passes(n))
        pass(n);
    else if (!is_done(n))
        EBB_TRY(run_begin(n));
    *done = !n->run && is_done(n);
    return EBB_OK;
}

static ebb_status piece(ebb__planner *n)
{
    if (!n->run && wants_passes(n)) {
        for (int i = 0; i < PASSES_AT_ONCE; i++) pass(n);
        return EBB_OK;
    }
    while (!n->run) EBB_TRY(run_begin(n));
    return run_go(n, UINT32_MAX);
}

ebb_status ebb__planner_work(bool *done, ebb__planner *n, uint32_t pieces)
{
    for (uint32_t i = 0; i < pieces && (n->run || !is_done(n)); i++) EBB_TRY(piece(n));
    *done = is_done(n);
    return EBB_OK;
}

/* ---- the smallest budget ----------------------------------------------------------------- */
static ebb_status works(bool *out, ebb__ghost_result *r, const ebb__program *p, uint64_t budget,
                        double limit)
{
    static const float horizons[] = {1, 0.5F, 0.25F, 2};
    *out = false;
    for (int i = 0; i < 8 && !*out; i++) {
        ebb__policy policy = {EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, i < 4 ? 1 : 0.5F,
                              horizons[i % 4]};
        ebb__ghost_options o = {.budget = budget, .policy = policy, .limit = limit};
        EBB_TRY(ebb__ghost_run(r, p, &o));
        *out = r->end == EBB__GHOST_DONE;
    }
    return EBB_OK;
}

ebb_status ebb__planner_smallest(uint64_t *budget, ebb__ghost_result *out,
                                 const ebb__program *p, double limit)
{
    uint64_t low = p->bottleneck ? p->bottleneck - 1 : 0, high = p->peak ? p->peak : 1;
    bool ok;
    ebb__ghost_result r;
    EBB_TRY(works(&ok, out, p, high, limit));
    uint64_t grain = p->peak / 200 + 1;
    while (high - low > grain) {
        uint64_t mid = low + (high - low) / 2;
        EBB_TRY(works(&ok, &r, p, mid, limit));
        if (ok) {
            high = mid;
            *out = r;
        } else {
            low = mid;
        }
    }
    *budget = high;
    return EBB_OK;
}
