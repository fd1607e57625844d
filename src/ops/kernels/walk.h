/* walk.h - some dimensions of a strided view as one index in C order.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_WALK_H
#define EBB_OPS_KERNELS_WALK_H

#include "op/op.h"

/* n elements in all; dimensions that step as one are merged, those of size 1 left out. Start
 * from
 * {.n = 1}. */
typedef struct ebb__walk {
    int32_t n_dims;
    int64_t dims[EBB_MAX_DIMS], strides[EBB_MAX_DIMS], n;
} ebb__walk;

static inline void ebb__walk_add(ebb__walk *w, int64_t n, int64_t stride)
{
    w->n *= n;
    if (n == 1) return;
    if (w->n_dims > 0 && w->strides[w->n_dims - 1] == stride * n) {
        w->dims[w->n_dims - 1] *= n;
        w->strides[w->n_dims - 1] = stride;
        return;
    }
    w->dims[w->n_dims] = n;
    w->strides[w->n_dims++] = stride;
}

/* In elements, from the first. */
static inline int64_t ebb__walk_offset(const ebb__walk *w, int64_t at)
{
    if (w->n_dims == 1) return at * w->strides[0];
    int64_t offset = 0;
    for (int32_t d = w->n_dims - 1; d >= 0; d--) {
        offset += at % w->dims[d] * w->strides[d];
        at /= w->dims[d];
    }
    return offset;
}

/* The axes that are reduced, and those that are kept. */
static inline void ebb__walk_split(ebb__walk *kept, ebb__walk *reduced, const ebb_view *v,
                                   const bool is_reduced[EBB_MAX_DIMS])
{
    *kept = *reduced = (ebb__walk){.n = 1};
    for (int64_t d = 0; d < v->shape.n_dims; d++)
        ebb__walk_add(is_reduced[d] ? reduced : kept, v->shape.dims[d], v->strides[d]);
}

#endif
