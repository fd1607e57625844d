/* plan_optimum.c - the cheapest of all schedules, by trying every one.
 *
 * A state is (steps done, set of vals in memory). From it: drop one val (free), run a step that
 * was done again, or run the next one. Sources stay. Distances are whole and bounded by the
 * largest step's cost apart, so the queue is a ring of buckets (Dial 1969).
 * SPDX-License-Identifier: MIT */
#include "support/plan_optimum.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { RING = 256 };

typedef struct search {
    const ebb__program *p;
    uint64_t budget;
    uint32_t n_sets;
    uint32_t *distance;    /* of states */
    uint32_t *next, *head; /* a state may be queued once per distance that it had */
    uint32_t *queued;
    uint32_t n_queued, max_queued;
} search;

static uint64_t bytes_of(const ebb__program *p, uint32_t set)
{
    uint64_t bytes = 0;
    for (uint32_t v = 0; v < p->n_vals; v++) bytes += set >> v & 1 ? p->bytes[v] : 0;
    return bytes;
}

static uint32_t set_of(const uint32_t *vals, uint32_t n)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < n; i++) set |= 1U << vals[i];
    return set;
}

static void reach(search *s, uint32_t state, uint32_t distance)
{
    if (distance >= s->distance[state]) return;
    s->distance[state] = distance;
    if (s->n_queued == s->max_queued) {
        s->max_queued = s->max_queued ? 2 * s->max_queued : 1024;
        s->next = realloc(s->next, s->max_queued * sizeof *s->next);
        s->queued = realloc(s->queued, s->max_queued * sizeof *s->queued);
        assert_non_null(s->next);
        assert_non_null(s->queued);
    }
    s->queued[s->n_queued] = state;
    s->next[s->n_queued] = s->head[distance % RING];
    s->head[distance % RING] = s->n_queued++;
}

/* Step i with `set` in memory: is it possible, and what is in memory afterwards. */
static bool runs(const search *s, uint32_t i, uint32_t set, uint32_t *after)
{
    const ebb__program *p = s->p;
    uint32_t in = set_of(ebb__step_in(p, i), p->steps[i].n_in);
    *after = set | set_of(ebb__step_out(p, i), p->steps[i].n_out);
    return (in & ~set) == 0 && bytes_of(p, *after) <= s->budget;
}

static void expand(search *s, uint32_t state, uint32_t d)
{
    const ebb__program *p = s->p;
    uint32_t done = state / s->n_sets, set = state % s->n_sets, after;
    if (runs(s, done, set, &after))
        reach(s, (done + 1) * s->n_sets + after, d + (uint32_t)p->steps[done].cost);
    for (uint32_t i = 0; i < done; i++)
        if (p->steps[i].kind == EBB__STEP_RUN && runs(s, i, set, &after) && after != set)
            reach(s, done * s->n_sets + after, d + (uint32_t)p->steps[i].cost);
    for (uint32_t v = 0; v < p->n_vals; v++)
        if ((set >> v & 1) && p->steps[p->made[v]].kind == EBB__STEP_RUN)
            reach(s, done * s->n_sets + (set & ~(1U << v)), d);
}

double plan_optimum(const ebb__program *p, uint64_t budget)
{
    assert_true(p->n_vals <= PLAN_OPTIMUM_VALS);
    search s = {.p = p, .budget = budget, .n_sets = 1U << p->n_vals};
    size_t states = ((size_t)p->n_steps + 1) * s.n_sets;
    s.distance = malloc(states * sizeof *s.distance);
    s.head = malloc(RING * sizeof *s.head);
    assert_non_null(s.distance);
    assert_non_null(s.head);
    memset(s.distance, 0xff, states * sizeof *s.distance);
    memset(s.head, 0xff, RING * sizeof *s.head);
    reach(&s, 0, 0);
    double found = (double)INFINITY;
    uint32_t idle = 0;
    for (uint32_t d = 0; idle < RING && found == (double)INFINITY; d++, idle++)
        while (s.head[d % RING] != UINT32_MAX && found == (double)INFINITY) {
            uint32_t q = s.head[d % RING], state = s.queued[q];
            s.head[d % RING] = s.next[q];
            idle = 0;
            if (s.distance[state] != d) continue;
            if (state / s.n_sets == p->n_steps)
                found = d;
            else
                expand(&s, state, d);
        }
    free(s.distance);
    free(s.head);
    free(s.next);
    free(s.queued);
    return found;
}

double plan_optimum_chain(uint32_t n, uint32_t budget)
{
    /* t[l][s]: to reverse l steps with s snapshots beside the pinned input, whose recomputation
     * costs 1 a step; one step needs its output again. Backward holds x_{i-1} or the input, the
     * gradient it reads and the one it makes. */
    uint32_t slots = budget - 3, width = slots + 1;
    double *t = calloc((size_t)(n + 1) * width, sizeof *t);
    assert_non_null(t);
    for (uint32_t l = 1; l <= n; l++)
        for (uint32_t s = 1; s <= slots; s++) {
            double best = l == 1 ? 1 : (double)l * (l + 1) / 2;
            for (uint32_t j = 1; j <= l && s > 1 && l > 1; j++)
                best = fmin(best, j + t[(l - j) * width + s - 1] + t[(j - 1) * width + s]);
            t[l * width + s] = best;
        }
    double extra = t[(size_t)n * width + slots] - n;
    free(t);
    return extra;
}
