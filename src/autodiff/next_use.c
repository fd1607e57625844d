/* next_use.c - under a budget: when a backward under way will read what was saved for it.
 *
 * The nodes are in order, so each saved value's next use is known: a rule takes some times what
 * the operation took. That is an upper estimate, and the clock is put forward to it as the walk
 * comes by, so that what is still to come never looks past.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "memory/reserve.h"

static ebb__record *record_of(const ebb__backward *b, int64_t i)
{
    return ebb_graph_node_payload(b->walk.nodes[i]);
}

static void saves_set(const ebb__record *r, uint64_t at)
{
    for (uint32_t i = 0; i < r->n_in; i++)
        if (r->in[i] && r->saved_in >> (i < 31 ? i : 31) & 1) ebb__value_set_next(r->in[i], at);
    for (uint32_t k = 0; k < r->n_out && k < 32; k++)
        if (r->out[k] && r->saved_out >> k & 1) ebb__value_set_next(r->out[k], at);
}

ebb_status ebb__next_uses_set(ebb__backward *b)
{
    const double rule_per_run = 4;
    int64_t n = b->walk.n_nodes;
    if (!ebb__budget_gate(b->ctx) || n == 0) return EBB_OK;
    b->position = ebb__alloc(&ebb__allocator_libc, (size_t)n * sizeof *b->position, 16);
    if (!b->position)
        return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused",
                         (size_t)n * sizeof *b->position);
    uint64_t at = ebb__clock(b->ctx) + 1;
    for (int64_t i = 0; i < n; i++) {
        b->position[i] = at;
        at += 1 + (uint64_t)(rule_per_run * (double)ebb__record_cost(record_of(b, i)));
    }
    for (int64_t i = n; i-- > 0;) /* the first use last: it is what stays */
        if (!b->walk.is_stop[i]) saves_set(record_of(b, i), b->position[i]);
    return EBB_OK;
}

void ebb__next_uses_at(const ebb__backward *b, int64_t i)
{
    if (!b->position) return;
    uint64_t now = ebb__clock(b->ctx);
    if (now < b->position[i]) ebb__clock_advance(b->ctx, (float)(b->position[i] - now));
}

void ebb__next_use_total(const ebb__backward *b, const ebb__grad_total *total, int64_t node)
{
    if (!b->position || !*total) return;
    ebb__value_set_next(ebb__slot_raw(*total)->storage->value, b->position[node]);
}

void ebb__next_uses_end(ebb__backward *b)
{
    if (!b->position) return;
    ebb__free(&ebb__allocator_libc, b->position, (size_t)b->walk.n_nodes * sizeof *b->position);
    b->position = NULL;
}
