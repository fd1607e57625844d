/* chain.c - what to keep of a chain: the exact schedule of equal steps, as weights.
 *
 * To run l steps backward with room for s vals, the first of which is made from a val that stays:
 * the least number of runs is T(l, s) = min over j of j + T(l - j, s - 1) + T(j - 1, s), where the
 * j-th val is kept, what is behind it comes first and what is before it last (Griewank 1992;
 * heterogeneous chains and persistent schedules: Beaumont et al. 2019). T(l, 1) = l (l + 1) / 2.
 *
 * The schedule as an order of precedence: a val kept on the way to the end, rank 0, outlives all
 * made again before it is reached; what is before a kept val is ranked one lower, and so on
 * inwards. While any val is in the making, those of lower rank that are in memory belong to
 * the stretch at hand, so dropping the lowest rank first repeats the schedule.
 * SPDX-License-Identifier: MIT */
#include "memory/chain.h"

#include "base/error.h"

#include <string.h>

enum { NONE = UINT32_MAX, LENGTH_MAX = 512, SLOTS_MAX = 48 };

static const float UNREAD = 1e4F, OTHER = 1e-4F; /* go first, last */

/* The val that the step reads and that may be away; NONE: none. *n: how many. */
static uint32_t movable_input(const ebb__program *p, uint32_t step, uint32_t *n)
{
    uint32_t found = NONE;
    *n = 0;
    for (uint32_t k = 0; k < p->steps[step].n_in; k++) {
        uint32_t v = ebb__step_in(p, step)[k];
        if (p->steps[p->made[v]].kind != EBB__STEP_RUN) continue;
        found = v;
        ++*n;
    }
    return found;
}

uint32_t ebb__chain_length(const ebb__program *p)
{
    uint32_t length = 0, last = NONE;
    for (uint32_t i = 0; i < p->n_forward; i++) {
        const ebb__step *s = &p->steps[i];
        uint32_t n, in = movable_input(p, i, &n);
        if (s->kind != EBB__STEP_RUN || s->n_out == 0) continue;
        if (s->n_out > 1 || n > 1 || in != last) return 0;
        last = ebb__step_out(p, i)[0];
        if (++length > LENGTH_MAX) return 0;
    }
    return p->n_forward < p->n_steps ? length : 0;
}

/* Vals for which there is room while any backward step runs, the one that it reads among them. */
static int64_t slots_of(const ebb__program *p, uint64_t budget)
{
    uint64_t most = 0, one = 0;
    for (uint32_t i = p->n_forward; i < p->n_steps; i++)
        if (p->must[i] > most) most = p->must[i];
    for (uint32_t v = 0; v < p->n_vals; v++)
        if (p->made[v] < p->n_forward && p->steps[p->made[v]].kind == EBB__STEP_RUN &&
            p->bytes[v] > one)
            one = p->bytes[v];
    return budget < most || !one ? 0 : (int64_t)((budget - most) / one) + 1;
}

typedef struct chain {
    uint32_t n, width; /* of a row: slots + 1 */
    uint32_t *runs;    /* T(l, s) at l * width + s */
    uint16_t *first;   /* the j that it is least for; 0: none is kept */
    uint16_t *rank;    /* of vals, by their place */
} chain;

static void tables_make(chain *c)
{
    for (uint32_t l = 1; l <= c->n; l++)
        for (uint32_t s = 1; s < c->width; s++) {
            uint32_t best = l * (l + 1) / 2, first = 0;
            for (uint32_t j = 1; j <= l && s > 1 && l > 1; j++) {
                uint32_t runs =
                    j + c->runs[(l - j) * c->width + s - 1] + c->runs[(j - 1) * c->width + s];
                if (runs >= best) continue;
                best = runs;
                first = j;
            }
            c->runs[l * c->width + s] = best;
            c->first[l * c->width + s] = (uint16_t)first;
        }
}

/* Of the l vals from `from` on, of which s can be in memory. It is as deep as one val is run often:
 * at most about sqrt(2 l), where s = 2. */
static void rank_make(chain *c, uint32_t from, uint32_t l, uint32_t s, uint16_t rank)
{
    while (l) {
        uint32_t j = c->first[l * c->width + s];
        if (!j) break;
        c->rank[from + j - 1] = rank;
        rank_make(c, from, j - 1, s, (uint16_t)(rank + 1));
        from += j;
        l -= j;
        s--;
    }
    for (uint32_t i = 0; i < l; i++) c->rank[from + i] = (uint16_t)(rank + 1);
}

static void weights_make(float *weights, const chain *c, const ebb__program *p)
{
    uint32_t place = 0;
    for (uint32_t v = 0; v < p->n_vals; v++)
        weights[v] = p->use[v] == p->use[v + 1] ? UNREAD : OTHER;
    for (uint32_t i = 0; i < p->n_forward; i++) {
        if (p->steps[i].kind != EBB__STEP_RUN || p->steps[i].n_out == 0) continue;
        weights[ebb__step_out(p, i)[0]] = (float)(1 + c->rank[place++]);
    }
}

ebb_status ebb__chain_weights(bool *is_made, float *weights, const ebb__program *p,
                              uint64_t budget, int more)
{
    int64_t slots = slots_of(p, budget) + more;
    chain c = {.n = ebb__chain_length(p)};
    *is_made = false;
    if (!c.n || slots < 1 || slots > SLOTS_MAX) return EBB_OK;
    c.width = (uint32_t)slots + 1;
    size_t cells = ((size_t)c.n + 1) * c.width;
    size_t bytes = cells * (sizeof *c.runs + sizeof *c.first) + c.n * sizeof *c.rank;
    c.runs = ebb__alloc(&p->allocator, bytes, 16);
    if (!c.runs) return ebb__fail(EBB_E_NOMEM, "no memory to plan a chain of %u steps", c.n);
    memset(c.runs, 0, bytes);
    c.first = (uint16_t *)(c.runs + cells);
    c.rank = c.first + cells;
    tables_make(&c);
    rank_make(&c, 0, c.n, (uint32_t)slots, 0);
    weights_make(weights, &c, p);
    ebb__free(&p->allocator, c.runs, bytes);
    *is_made = true;
    return EBB_OK;
}
