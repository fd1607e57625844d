/* attrs.h - attribute structs that several families share or fill in rules.
 *
 * reshape, expand and sum_to take an ebb_shape; sum, mean and their kind an ebb_axes;
 * add_scalar and mul_scalar a double; cast an ebb_dtype.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_ATTRS_H
#define EBB_OPS_ATTRS_H

#include "op/op.h"

#include <stddef.h>

typedef struct ebb__axis_attr {
    int64_t axis;
} ebb__axis_attr;
typedef struct ebb__transpose_attr {
    int64_t a, b;
} ebb__transpose_attr;
typedef struct ebb__narrow_attr {
    int64_t axis, start, length;
} ebb__narrow_attr;
typedef struct ebb__slice_attr {
    int64_t axis, start, stop, step;
} ebb__slice_attr;
typedef struct ebb__select_attr {
    int64_t axis, i;
} ebb__select_attr;
/* place: zeros of `shape` with the input at start, start + step, ... of one axis. */
typedef struct ebb__place_attr {
    ebb_shape shape;
    int64_t axis, start, step;
} ebb__place_attr;
/* axis_put and axis_take: places along axes of a whole (shape: axis_put's result). */
typedef struct ebb__place_axes {
    ebb_shape shape;
    ebb_axes axes;
} ebb__place_axes;

#endif
