/* conv.h - the attributes of a convolution's gradients, which transposed convolution is made of.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_CONV_H
#define EBB_OPS_CONV_H

#include "op/op.h"

#include <stddef.h>

/* One entry per spatial axis, from the first; stride, dilation and groups 0: 1. */
typedef struct ebb__conv_attr {
    int64_t stride[3], padding[3], dilation[3], groups;
} ebb__conv_attr;
/* The shape of what it is the gradient of, which the operands do not tell. */
typedef struct ebb__conv_grad_attr {
    ebb__conv_attr conv;
    ebb_shape shape;
} ebb__conv_grad_attr;

#endif
