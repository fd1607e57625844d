/* planner.c - a portfolio of simulated runs, then local search.
 *
 * Scores that differ by a power of the whole order candidates alike, so of (cost, bytes,
 * horizon) powers each ratio is tried once, with the cost's at 1. Local search changes weights,
 * and which vals are dropped as soon as they were read: that keeps what they are made from where
 * it would go otherwise, because nobody else needs it.
 * SPDX-License-Identifier: MIT */
#include "memory/planner.h"

#include "base/error.h"

#include <string.h>
#include <time.h>

enum { PASSES = 300, PASSES_AT_ONCE = 20, FIRST_SEARCH = 200, STALE_SEARCH = 2000 };

static const float bytes_powers[] = {1, 0.5F, 1.5F, 2, 3};
static const float horizon_powers[] = {1, 0.5F, 0.25F, 2, 4};
static const double mixes[] = {1, 0, 0.1, 0.3};
enum {
    N_BYTES = sizeof bytes_powers / sizeof *bytes_powers,
    N_HORIZON = sizeof horizon_powers / sizeof *horizon_powers,
    N_MIX = sizeof mixes / sizeof *mixes,
    N_FIXED = 3, /* policies that look at no axis */
    N_CANDIDATES = N_FIXED + N_BYTES * N_HORIZON * N_MIX
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t tables(ebb__planner *n, char *base)
{
    size_t at = 0, vals = n->p->n_vals, links = n->p->n_links,
           axis = ((size_t)n->p->n_steps + 1) * sizeof(double);
    struct {
        void *table;
        size_t bytes;
    } all[] = {
        {&n->axis, axis},
        {&n->best.axis, axis},
        {&n->weights, vals * sizeof(float)},
        {&n->best.weights, vals * sizeof(float)},
        {&n->dropped, vals * sizeof(uint32_t)},
        {&n->changed, vals * sizeof(uint32_t)},
        {&n->seen, vals},
        {&n->early, links},
        {&n->best.early, links},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (base) *(void **)all[i].table = base + at;
        at += (all[i].bytes + 15) / 16 * 16;
    }
    return at;
}

ebb_status ebb__planner_create(ebb__planner *out, const ebb__program *p, uint64_t budget)
{
    ebb__planner n = {.p = p, .budget = budget, .acts = EBB__ACT_DROP, .random = 1};
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

void ebb__planner_destroy(ebb__planner *n)
{
    if (!n->block) return;
    ebb__bound_destroy(&n->bound);
    ebb__free(&n->p->allocator, n->block, n->block_bytes);
    n->block = NULL;
}

void ebb__plan_options(ebb__ghost_options *out, const ebb__plan *plan, uint64_t budget)
{
    *out = (ebb__ghost_options){.budget = budget,
                                .policy = plan->policy,
                                .axis = plan->axis,
                                .weight = plan->is_weighted ? plan->weights : NULL,
                                .early = plan->is_weighted ? plan->early : NULL};
}

/* ---- one candidate ----------------------------------------------------------------------- */
static void note_dropped(void *user, uint32_t step, uint32_t val)
{
    ebb__planner *n = user;
    (void)step;
    if (n->seen[val]) return;
    n->seen[val] = 1;
    n->changed[n->n_changed++] = val;
}

/* Runs it; keeps it where it is cheaper than the best. */
static ebb_status attempt(ebb__planner *n, const ebb__policy *policy, double mix,
                          bool is_weighted)
{
    double base = n->p->cost,
           most = n->best.result.end == EBB__GHOST_DONE ? n->best.result.cost / base : 0;
    ebb__ghost_options o = {.budget = n->budget,
                            .policy = *policy,
                            .axis = n->axis,
                            .weight = is_weighted ? n->weights : NULL,
                            .early = is_weighted ? n->early : NULL,
                            .limit = base > 0 ? most : 0,
                            .dropped = note_dropped,
                            .user = n};
    ebb__ghost_result r;
    n->n_changed = 0;
    memset(n->seen, 0, n->p->n_vals);
    EBB_TRY(ebb__ghost_run(&r, n->p, &o));
    n->n_tried++;
    if (r.end != EBB__GHOST_DONE || r.cost >= n->best.result.cost) return EBB_OK;
    n->best.result = r;
    n->best.policy = *policy;
    n->best.mix = mix;
    n->best.is_weighted = is_weighted;
    memcpy(n->best.axis, n->axis, ((size_t)n->p->n_steps + 1) * sizeof *n->axis);
    if (is_weighted) memcpy(n->best.weights, n->weights, n->p->n_vals * sizeof *n->weights);
    if (is_weighted) memcpy(n->best.early, n->early, n->p->n_links);
    memcpy(n->dropped, n->changed, n->n_changed * sizeof *n->changed);
    n->n_dropped = n->n_changed;
    return EBB_OK;
}

static ebb_status portfolio(ebb__planner *n, uint32_t i)
{
    const ebb__policy fixed[N_FIXED] = {
        ebb__policy_h_dtr, ebb__policy_msps, {EBB__BACK_ABOVE, EBB__HORIZON_STALE, 1, 1, 1}};
    double mix = i < N_FIXED ? 1 : mixes[(i - N_FIXED) % N_MIX];
    ebb__bound_axis(n->axis, &n->bound, mix);
    if (i < N_FIXED) return attempt(n, &fixed[i], mix, false);
    uint32_t k = (i - N_FIXED) / N_MIX;
    ebb__policy policy = {EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, bytes_powers[k % N_BYTES],
                          horizon_powers[k / N_BYTES]};
    return attempt(n, &policy, mix, false);
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

/* One of those that the plan may make use of, DROP as often as the others. */
static uint8_t act_draw(ebb__planner *n)
{
    if (n->acts == EBB__ACT_DROP || below(n, 2)) return EBB__ACT_DROP;
    return below(n, 2) ? EBB__ACT_HOLD : EBB__ACT_AGAIN;
}

/* A few vals, mostly ones that the best run dropped, are to go sooner or later than now; of any
 * 8 tries one begins anew, with all weights drawn, because small changes end in a hollow. */
static void weights_draw(ebb__planner *n)
{
    static const float factors[] = {0.01F, 0.25F, 0.5F, 0.8F, 1.25F, 2, 4, 100};
    enum { N_FACTORS = sizeof factors / sizeof *factors };
    uint32_t n_vals = n->p->n_vals, n_changes = 1 + below(n, 1 + below(n, 8));
    bool is_new = n->best.result.end != EBB__GHOST_DONE || n->n_since % 8 == 7;
    for (uint32_t v = 0; v < n_vals; v++) {
        n->weights[v] = n->best.is_weighted ? n->best.weights[v] : 1;
        if (is_new) n->weights[v] = factors[below(n, N_FACTORS)];
    }
    if (n->best.is_weighted && !is_new)
        memcpy(n->early, n->best.early, n->p->n_links);
    else
        memset(n->early, 0, n->p->n_links);
    for (uint32_t i = 0; i < n_changes; i++) {
        if (below(n, 4) == 0) n->early[below(n, n->p->n_links)] ^= act_draw(n);
        if (is_new) continue;
        bool is_dropped = n->n_dropped && below(n, 4);
        uint32_t v = is_dropped ? n->dropped[below(n, n->n_dropped)] : below(n, n_vals);
        float w = n->weights[v] * factors[below(n, N_FACTORS)];
        n->weights[v] = fminf(fmaxf(w, 1e-6F), 1e6F);
    }
}

static ebb_status search(ebb__planner *n)
{
    weights_draw(n);
    double before = n->best.result.cost;
    bool is_first = n->best.result.end != EBB__GHOST_DONE;
    ebb__policy policy = is_first ? ebb__policy_next : n->best.policy;
    if (is_first)
        ebb__bound_axis(n->axis, &n->bound, 1);
    else
        memcpy(n->axis, n->best.axis, ((size_t)n->p->n_steps + 1) * sizeof *n->axis);
    EBB_TRY(attempt(n, &policy, is_first ? 1 : n->best.mix, true));
    n->n_since = n->best.result.cost < before ? 0 : n->n_since + 1;
    return EBB_OK;
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
    if (b->result.end != EBB__GHOST_DONE) return n->n_since >= FIRST_SEARCH;
    return !b->result.n_rebuilt || n->n_since >= STALE_SEARCH;
}

static bool wants_passes(const ebb__planner *n)
{
    return n->candidate >= N_FIXED && n->bound.n_passes < PASSES;
}

static ebb_status piece(ebb__planner *n)
{
    double from = now_ns();
    if (wants_passes(n)) {
        double extra = n->best.result.cost - n->p->cost;
        for (int i = 0; i < PASSES_AT_ONCE; i++) ebb__bound_pass(&n->bound, extra);
        n->pass_ns = now_ns() - from;
        return EBB_OK;
    }
    if (n->candidate < N_CANDIDATES)
        EBB_TRY(portfolio(n, n->candidate++));
    else
        EBB_TRY(search(n));
    n->run_ns = now_ns() - from;
    return EBB_OK;
}

ebb_status ebb__planner_work(bool *done, ebb__planner *n, uint32_t pieces)
{
    for (uint32_t i = 0; i < pieces && !is_done(n); i++) EBB_TRY(piece(n));
    *done = is_done(n);
    return EBB_OK;
}

ebb_status ebb__planner_step(bool *better, ebb__planner *n, double max_ns)
{
    double before = n->best.result.cost;
    n->credit_ns += max_ns;
    while (!is_done(n)) {
        double expected = wants_passes(n) ? n->pass_ns : n->run_ns;
        if (n->credit_ns <= 0 || expected > n->credit_ns) break;
        double from = now_ns();
        EBB_TRY(piece(n));
        n->credit_ns -= now_ns() - from;
    }
    if (better) *better = n->best.result.cost < before;
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
