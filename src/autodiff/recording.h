/* recording.h - what the engine writes into a record's tail: attributes and layouts.
 *
 * tail: n_threads (uint16_t), place[n_in + n_out] (uint16_t: offset of the layout in the tail
 * in units of 8 bytes, 0 where absent; the top bit says that the input was tracked), then the
 * attributes, the counter of a random operation, the layouts. Equal layouts are stored once.
 * n_out counts by-products too. Where the context records sites the caller's is at the end.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_RECORDING_H
#define EBB_AUTODIFF_RECORDING_H

#include "autodiff/engine.h"

enum { EBB__PLACE_TRACKED = 1 << 15 };

static inline uint16_t ebb__record_n_threads(const ebb__record *r)
{
    return *(const uint16_t *)ebb__record_tail(r);
}
static inline const uint16_t *ebb__record_places(const ebb__record *r)
{
    return (const uint16_t *)ebb__record_tail(r) + 1;
}
/* n: inputs, outputs and by-products. */
static inline size_t ebb__tail_attr_offset(int32_t n)
{
    return (((size_t)n + 1) * sizeof(uint16_t) + 7) & ~(size_t)7;
}
static inline size_t ebb__tail_counter_offset(const ebb_op *op, int32_t n)
{
    return (ebb__tail_attr_offset(n) + op->attr_bytes + 7) & ~(size_t)7;
}
static inline void *ebb__record_attr(const ebb__record *r)
{
    return (char *)ebb__record_tail(r) + ebb__tail_attr_offset(r->n_in + r->n_out);
}
/* Where a random operation's draws begin. */
static inline uint64_t ebb__record_random_base(const ebb__record *r)
{
    if (!(r->op->flags & EBB_OP_RANDOM)) return 0;
    size_t at = ebb__tail_counter_offset(r->op, r->n_in + r->n_out);
    return *(const uint64_t *)((const char *)ebb__record_tail(r) + at);
}
/* NULL where the optional input was absent. */
static inline const ebb__layout *ebb__record_layout(const ebb__record *r, int32_t i)
{
    uint16_t p = ebb__record_places(r)[i] & (EBB__PLACE_TRACKED - 1);
    return p ? (const ebb__layout *)((char *)ebb__record_tail(r) + (size_t)p * 8) : NULL;
}
static inline bool ebb__record_tracked(const ebb__record *r, int32_t i)
{
    return ebb__record_places(r)[i] & EBB__PLACE_TRACKED;
}

typedef struct ebb__record_site {
    const char *file; /* NULL: not known */
    int64_t line;
} ebb__record_site;
static inline ebb__record_site *ebb__record_site_at(const ebb__record *r)
{
    return (ebb__record_site *)((char *)r + r->bytes) - 1;
}
/* "mul", or "mul (train.c:41)" where the site is known. Returns buffer. */
const char *ebb__record_text(char *buffer, size_t size, const ebb__record *r);
enum { EBB__RECORD_TEXT = 160 };

/* The application under way: operands resolved, results reserved. */
typedef struct ebb__apply {
    ebb__call call;
    ebb__slot **slot;  /* per input; NULL where absent */
    ebb__value **made; /* per output and by-product */
    const ebb__override *override;
    void *backend;
    ebb_dtype promoted; /* what the operands must be cast to first; 0: nothing */
    int32_t max_in;     /* what the arrays hold */
    float cost_ns;      /* estimated, under a budget; else 0 */
    bool is_last;       /* nobody else reads the first operand after this */
    ebb__value
        *over;    /* the first operand, which stays, where its block went over to a result */
    bool tracked; /* an input is, the thread records, the operation is differentiable */
} ebb__apply;

/* What the operation reads, or has read; NULL where absent. */
static inline ebb__value *ebb__operand(const ebb__apply *a, int32_t i)
{
    if (i == 0 && a->over) return a->over;
    return a->slot[i] ? a->slot[i]->storage->value : NULL;
}

/* The record of a finished application whose results have their handles, with saves taken and,
 * where it can serve as one, linked as the recipe of its results. *out NULL where none is
 * needed (untracked, all results tiny).
 */
ebb_status ebb__record_make(ebb__record **out, const ebb__apply *a, ebb_tensor *const *result);
/* The graph node on top of it: takes the record, also on failure. One handle for the caller. */
ebb_status ebb__node_make(ebb_graph_node **out, const ebb__apply *a, ebb__record *take_record);

/* need[] of input i, the last one standing for all remaining of a variadic operation. */
static inline uint32_t ebb__need_of(const ebb_op *op, int32_t i)
{
    return op->need[i < op->n_in ? i : op->n_in - 1];
}
bool ebb__op_differentiable(const ebb_op *op);

#endif
