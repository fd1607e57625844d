/* reduce.h - what families of reductions share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_REDUCE_H
#define EBB_OPS_REDUCE_H

#include "ops/kernels/fold.h"

extern const ebb_attr_spec ebb__axes_attrs[];

/* Of a table by dtype; shape rules see 16-bit floats, which are folded as f32. */
static inline const ebb__folder *ebb__folder_of(const ebb__folder *table, ebb_dtype d)
{
    return &table[ebb__dtype_is_half(d) ? EBB_F32 : d];
}

/* Resolves axes and sets out[0] to `dtype` and the reduced shape, and the scratch of the fold.
 */
ebb_status ebb__reduce_shape(ebb__call *c, const ebb_axes *axes, ebb_dtype dtype,
                             const ebb__folder *f);
/* E_SHAPE where the reduced axes hold nothing but results are asked for. */
ebb_status ebb__reduce_nonempty(const ebb__call *c, const ebb_axes *axes);
ebb_status ebb__reduce_forward(const ebb__call *c, const ebb_axes *axes, const ebb__folder *f);
/* Writes values from accumulators (double for a floating input, else int64_t) to c->out[0]. */
void ebb__reduce_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n);

/* Rules: a tensor of the reduced shape with the reduced axes back, of size 1. */
ebb_tensor *ebb__reduce_keep(ebb_vjp *v, ebb_tensor *t, const ebb_axes *axes);
/* The same, repeated to the input's shape. */
ebb_tensor *ebb__reduce_spread(ebb_vjp *v, ebb_tensor *t, const ebb_axes *axes);
/* How many elements were reduced for each result. */
int64_t ebb__reduce_count(ebb_vjp *v, const ebb_axes *axes);
/* The axes with `keep` set. */
ebb_axes ebb__axes_keeping(const ebb_axes *axes);

#endif
