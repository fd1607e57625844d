/* region.c - what was made in a region and nobody holds at its end, given up.
 *
 * Nobody holds a value where all its uses are saves and dropped values made from it. The list of
 * values begins with the newest, so an input is looked at after what was made from it.
 * SPDX-License-Identifier: MIT */
#include "memory/memory.h"
#include "memory/reserve.h"

uint64_t ebb__region_start(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    uint64_t serial = m->serial;
    ebb__memory_leave_unchanged(m);
    return serial;
}

static bool held(const ebb__big *b)
{
    const ebb__value *v = &b->value;
    return atomic_load_explicit(&v->uses, memory_order_relaxed) !=
           atomic_load_explicit(&v->saves, memory_order_relaxed) + b->n_deps +
               atomic_load_explicit(&b->n_needs, memory_order_relaxed);
}

/* Under the mutex. */
static void give_up(ebb__memory *m, ebb__big *b)
{
    if (b->value.kind == EBB_KIND_ACTIVATION && !b->locks && !held(b)) ebb__drop(m, &b->value);
}

void ebb__region_end(ebb_context *ctx, uint64_t start)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    for (ebb__big *b = m->all, *next; b && b->serial > start; b = next) {
        next = b->next;
        b->again = true;
        give_up(m, b);
    }
    ebb__memory_leave(m);
}

void ebb__region_saves_drop(ebb__record *r)
{
    for (uint32_t n = r->n_in + r->n_out, i = 0; i < n; i++) {
        bool is_in = i < r->n_in;
        uint32_t k = is_in ? i : i - r->n_in;
        ebb__value *v = is_in ? r->in[k] : r->out[k];
        bool saved = is_in ? r->saved_in & ebb__in_bit(k) : r->saved_out & ebb__out_bit(k);
        if (!v || v->tiny || !saved || !ebb__big_of(v)->again) continue;
        ebb__memory *m = v->ctx->memory;
        ebb__memory_enter(m);
        give_up(m, ebb__big_of(v));
        ebb__memory_leave(m);
    }
}
