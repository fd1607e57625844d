/* next_use.c - under a budget: when a backward under way will read what was saved for it.
 *
 * The nodes are in order, so each saved value's next use is known: a rule takes some times what
 * the operation took. That is an upper estimate, and the clock is put forward to it as the walk
 * comes by, so that what is still to come never looks past. What several nodes save is read again
 * after the first: the position of the next is kept for each save.
 *
 * While no value is given up nobody asks, and nothing is set; from the node on before which one was.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "memory/reserve.h"

static ebb__record *record_of(const ebb__backward *b, int64_t i)
{
    return ebb_graph_node_payload(b->walk.nodes[i]);
}

/* Of the nodes from the given one on. */
static ebb_status uses_set(ebb__backward *b, int64_t from)
{
    const double rule_per_run = 4;
    int64_t n = b->walk.n_nodes;
    size_t n_saves = 0;
    for (int64_t i = from; i < n; i++)
        if (!b->walk.is_stop[i]) n_saves += ebb__saves_count(record_of(b, i));
    size_t bytes = ((size_t)n + n_saves) * sizeof *b->position;
    b->position = ebb__alloc(&ebb__allocator_libc, bytes, 16);
    if (!b->position) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
    b->n_saves = n_saves;
    b->n_read = from;
    double at = (double)ebb__clock(b->ctx) + 1;
    for (int64_t i = from; i < n; i++) {
        b->position[i] = at;
        at += 1 + rule_per_run * (double)ebb__record_cost(record_of(b, i));
    }
    double *after = b->position + n + n_saves;
    for (int64_t i = n; i-- > from;) { /* the first use last: it is what stays */
        if (b->walk.is_stop[i]) continue;
        after -= ebb__saves_count(record_of(b, i));
        ebb__saves_read_at(record_of(b, i), b->position[i], after);
    }
    b->after = after;
    return EBB_OK;
}

/* Next uses are to be known, and no earlier step tells them. */
static bool is_asked(const ebb__backward *b)
{
    return ebb__memory_chooses(b->ctx) && !ebb__habit_tells(b->ctx);
}

ebb_status ebb__next_uses_set(ebb__backward *b)
{
    return is_asked(b) && b->walk.n_nodes > 0 ? uses_set(b, 0) : EBB_OK;
}

/* The step was like an earlier one, and is no longer; or the first value was given up. */
static void take_over(ebb__backward *b, int64_t i)
{
    ebb_error pending;
    ebb_error_get(&pending);
    if (uses_set(b, i) != EBB_OK) ebb__error_adopt(&pending);
}

void ebb__next_uses_at(ebb__backward *b, int64_t i)
{
    if (!b->position && is_asked(b)) take_over(b, i);
    if (!b->position) return;
    double now = (double)ebb__clock(b->ctx);
    if (now < b->position[i]) ebb__clock_advance(b->ctx, (float)(b->position[i] - now));
}

void ebb__next_uses_after(ebb__backward *b, int64_t i)
{
    if (!b->position) return;
    b->n_read = i + 1;
    if (b->walk.is_stop[i]) return;
    ebb__saves_were_read(record_of(b, i), b->after);
    b->after += ebb__saves_count(record_of(b, i));
}

void ebb__next_use_total(const ebb__backward *b, const ebb__grad_total *total, int64_t node)
{
    if (!b->position || !*total) return;
    ebb__value_set_next(ebb__slot_raw(*total)->storage->value, (double)b->position[node]);
}

void ebb__next_uses_end(ebb__backward *b)
{
    if (!b->position) return;
    for (int64_t i = b->n_read; i < b->walk.n_nodes; i++) /* it has failed there */
        if (!b->walk.is_stop[i]) ebb__saves_were_read(record_of(b, i), NULL);
    size_t n = (size_t)b->walk.n_nodes + b->n_saves;
    ebb__free(&ebb__allocator_libc, b->position, n * sizeof *b->position);
    b->position = NULL;
}
