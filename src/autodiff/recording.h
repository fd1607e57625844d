/* recording.h - what the engine writes into a record's tail: attributes and layouts.
 *
 * tail: place[n_in + n_out] (uint16_t: offset of the layout in the tail in units of 8 bytes, 0
 * where absent; the top bit says that the input was tracked), then the attributes, then the
 * layouts. Equal layouts are stored once. n_out counts by-products too.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_RECORDING_H
#define EBB_AUTODIFF_RECORDING_H

#include "autodiff/engine.h"

enum { EBB__PLACE_TRACKED = 1 << 15 };

static inline const uint16_t *ebb__record_places(const ebb__record *r)
{
    return r->tail;
}
static inline size_t ebb__tail_attr_offset(int32_t n)
{
    return ((size_t)n * sizeof(uint16_t) + 7) & ~(size_t)7;
}
static inline void *ebb__record_attr(const ebb__record *r)
{
    return (char *)r->tail + ebb__tail_attr_offset(r->n_in + r->n_out);
}
/* NULL where the optional input was absent. */
static inline const ebb__layout *ebb__record_layout(const ebb__record *r, int32_t i)
{
    uint16_t p = ebb__record_places(r)[i] & (EBB__PLACE_TRACKED - 1);
    return p ? (const ebb__layout *)((char *)r->tail + (size_t)p * 8) : NULL;
}
static inline bool ebb__record_tracked(const ebb__record *r, int32_t i)
{
    return ebb__record_places(r)[i] & EBB__PLACE_TRACKED;
}

/* The application under way: operands resolved, results reserved. */
typedef struct ebb__apply {
    ebb__call call;
    ebb__slot **slot;  /* per input; NULL where absent */
    ebb__value **made; /* per output and by-product */
    const ebb__override *override;
    void *backend;
    int32_t max_in; /* what the arrays hold */
    bool tracked;   /* an input is, the thread records, the operation is differentiable */
} ebb__apply;

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
