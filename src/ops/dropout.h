/* dropout.h - which elements fall, for the operations that draw and draw again.
 *
 * Element i falls where word i % 4 of block base + i / 4 of the context's generator is below
 * ebb__dropout_least(p); the others are scaled by 1 / (1 - p),
 * by 0 where p is 1.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_DROPOUT_H
#define EBB_OPS_DROPOUT_H

#include <stdint.h>

typedef struct ebb__dropout_attr {
    double p;
} ebb__dropout_attr;
/* The counter is kept as it was drawn: 64 bits in an int64_t. */
typedef struct ebb__dropout_grad_attr {
    double p;
    int64_t base;
} ebb__dropout_grad_attr;

static inline uint32_t ebb__dropout_least(double p)
{
    return p < 1 ? (uint32_t)(p * 4294967296.0) : UINT32_MAX;
}

#endif
