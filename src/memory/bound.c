/* bound.c - the price bound, by projected subgradient steps of Polyak's length.
 *
 * Bytes are in units of the budget and costs in units of the program's, so that prices are of
 * one size for all programs. Source of the method: Polyak, Minimization of unsmooth functionals
 * (1969), with the target lowered where it proves out of reach.
 * SPDX-License-Identifier: MIT */
#include "memory/bound.h"

#include "base/error.h"

#include <math.h>
#include <string.h>

static uint32_t gaps_of(ebb__bound_gap *out, const ebb__program *p, double unit, double scale)
{
    uint32_t n = 0;
    for (uint32_t v = 0; v < p->n_vals; v++) {
        const ebb__step *s = &p->steps[p->made[v]];
        if (s->kind != EBB__STEP_RUN) continue;
        for (uint32_t u = p->use[v], from = p->made[v]; u < p->use[v + 1];
             from = p->uses[u++]) {
            uint32_t to = p->uses[u];
            if (to <= from + 1 || p->steps[from].kind == EBB__STEP_PIN) continue;
            if (out)
                out[n] = (ebb__bound_gap){from, to, (double)p->bytes[v] / unit,
                                          s->cost / s->n_out / scale};
            n++;
        }
    }
    return n;
}

static double cost_unit(const ebb__program *p)
{
    return p->cost > 0 ? p->cost : 1;
}

ebb_status ebb__bound_create(ebb__bound *out, const ebb__program *p, uint64_t budget)
{
    ebb__bound b = {.p = p, .budget = budget};
    double unit = budget ? (double)budget : 1;
    size_t steps = (size_t)p->n_steps + 1;
    b.n_gaps = gaps_of(NULL, p, unit, 1);
    b.block_bytes = 4 * steps * sizeof(double) + (b.n_gaps + 1) * sizeof *b.gaps;
    b.block = ebb__alloc(&p->allocator, b.block_bytes, 16);
    if (!b.block) return ebb__fail(EBB_E_NOMEM, "no memory for prices of %u steps", p->n_steps);
    memset(b.block, 0, b.block_bytes);
    b.prices = b.block;
    b.now = b.prices + steps;
    b.slope = b.now + steps;
    b.sums = b.slope + steps;
    b.gaps = (ebb__bound_gap *)(b.sums + steps);
    gaps_of(b.gaps, p, unit, cost_unit(p));
    b.target = 0.01;
    if (budget < p->bottleneck) b.best = (double)INFINITY;
    *out = b;
    return EBB_OK;
}

void ebb__bound_destroy(ebb__bound *b)
{
    if (b->block) ebb__free(&b->p->allocator, b->block, b->block_bytes);
    b->block = NULL;
}

/* D at the present prices, and its slope. */
static double value(ebb__bound *b)
{
    const ebb__program *p = b->p;
    double d = 0, unit = (double)b->budget;
    memset(b->slope, 0, ((size_t)p->n_steps + 1) * sizeof *b->slope);
    for (uint32_t t = 0; t < p->n_steps; t++) b->sums[t + 1] = b->sums[t] + b->now[t];
    for (uint32_t i = 0; i < b->n_gaps; i++) {
        const ebb__bound_gap *g = &b->gaps[i];
        double rent = g->bytes * (b->sums[g->to] - b->sums[g->from + 1]);
        if (rent >= g->cost) {
            d += g->cost;
            continue;
        }
        d += rent;
        b->slope[g->from + 1] += g->bytes;
        b->slope[g->to] -= g->bytes;
    }
    double held = 0;
    for (uint32_t t = 0; t < p->n_steps; t++) {
        held += b->slope[t];
        double room = 1 - (double)p->must[t] / unit;
        d -= b->now[t] * room;
        b->slope[t] = held - room;
    }
    return d;
}

static void step(ebb__bound *b, double length)
{
    for (uint32_t t = 0; t < b->p->n_steps; t++)
        b->now[t] = fmax(0, b->now[t] + length * b->slope[t]);
}

void ebb__bound_pass(ebb__bound *b, double upper)
{
    if (b->best == (double)INFINITY || !b->budget) return;
    enum { STUCK = 20 };
    double scale = cost_unit(b->p), d = value(b), norm = 0;
    b->n_passes++;
    if (d > b->best / scale) {
        b->best = d * scale;
        memcpy(b->prices, b->now, b->p->n_steps * sizeof *b->now);
        b->n_stuck = 0;
    } else if (++b->n_stuck >= STUCK) {
        /* The target is out of reach: halve the way to it and begin again from the best. */
        b->target = b->best / scale + (b->target - b->best / scale) / 2;
        memcpy(b->now, b->prices, b->p->n_steps * sizeof *b->now);
        b->n_stuck = 0;
        return;
    }
    if (b->best / scale > b->target * 0.9) b->target = b->best / scale * 1.25 + 1e-3;
    double target = fmin(b->target, upper / scale);
    for (uint32_t t = 0; t < b->p->n_steps; t++)
        if (b->now[t] > 0 || b->slope[t] > 0) norm += b->slope[t] * b->slope[t];
    if (norm > 0 && target > d) step(b, (target - d) / norm);
}

void ebb__bound_axis(double *axis, const ebb__bound *b, double mix)
{
    const ebb__program *p = b->p;
    double sum = 0, at = 0;
    for (uint32_t t = 0; t < p->n_steps; t++) sum += b->prices[t];
    mix = sum > 0 ? fmax(mix, 1e-6) : 1;
    double per_price = sum > 0 ? (1 - mix) * p->cost / sum : 0;
    for (uint32_t t = 0; t <= p->n_steps; t++) {
        axis[t] = mix * p->time[t] + at * per_price;
        if (t < p->n_steps) at += b->prices[t];
    }
}
