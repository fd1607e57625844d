/* copy.h - copies elements between views of one shape and dtype, strided on both sides.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_COPY_H
#define EBB_OPS_KERNELS_COPY_H

#include "op/op.h"

/* The views do not overlap. Rows that are dense on both sides go by memcpy, transposed ones by
 * square tiles. */
void ebb__copy_view(const ebb_view *out, const ebb_view *in, int32_t n_threads);

#endif
