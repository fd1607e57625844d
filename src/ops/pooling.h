/* pooling.h - windows over one, two or three axes: what max and average pooling share.
 *
 * Inside, the axes are always depth, height and width; those that an operation has not got have
 * size, kernel and stride 1. A volume is one channel of one image.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_POOLING_H
#define EBB_OPS_POOLING_H

#include "op/op.h"

#include <stddef.h>

enum { EBB__POOL_WIDTH = 128, EBB__POOL_NARROW = 256 };

/* One entry per spatial axis, from the first. */
typedef struct ebb__pool_attr {
    int64_t stride[3], padding[3], dilation[3], kernel[3];
    int64_t divisor;
    bool ceil_mode, exclude_padding;
} ebb__pool_attr;
typedef struct ebb__pool_grad_attr {
    ebb__pool_attr pool;
    ebb_shape shape; /* of x */
} ebb__pool_grad_attr;
extern const ebb_attr_spec ebb__pool_grad_attrs[];

typedef struct ebb__pool_geometry {
    int64_t volumes, in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
    int64_t n_in, n_out; /* elements of a volume */
    int64_t divisor;     /* 0: the number of places */
    bool is_wide;        /* the window has more places than a byte can name */
    bool exclude_padding;
    ebb_shape shape; /* of the result */
} ebb__pool_geometry;

/* The positional attributes of a window over n axes that begins at `offset`. */
#define EBB__POOL_KERNEL_1(offset)                                                             \
    {                                                                                          \
        "kernel", EBB_ATTR_I64, offset, false, "length of the window"                          \
    }
#define EBB__POOL_KERNEL_2(offset)                                                             \
    {"kernel_h", EBB_ATTR_I64, offset, false, "rows of the window"},                           \
    {                                                                                          \
        "kernel_w", EBB_ATTR_I64, offset + 8, false, "columns of the window"                   \
    }
#define EBB__POOL_KERNEL_3(offset)                                                             \
    {"kernel_d", EBB_ATTR_I64, offset, false, "planes of the window"},                         \
        {"kernel_h", EBB_ATTR_I64, offset + 8, false, "rows of the window"},                   \
    {                                                                                          \
        "kernel_w", EBB_ATTR_I64, offset + 16, false, "columns of the window"                  \
    }

ebb_status ebb__pool_geometry_of(ebb__pool_geometry *s, const ebb_shape *x,
                                 const ebb__pool_attr *a);
/* in[0] is floating and has n spatial axes. */
ebb_status ebb__pool_check(const ebb__call *c, int64_t n);
/* Of a gradient: the geometry from its attributes, in[0] checked. */
ebb_status ebb__pool_grad_geometry(ebb__pool_geometry *s, const ebb__call *c);
/* Operand i has the shape of the pooled result. */
ebb_status ebb__pool_check_pooled(const ebb__call *c, int32_t i, const ebb__pool_geometry *s);
/* Runs fn over the volumes. */
void ebb__pool_run(const ebb__call *c, const ebb__pool_geometry *s,
                   void (*fn)(const void *arg, int64_t lo, int64_t hi, int32_t part),
                   const void *arg);

/* Columns [lo, hi) of [0, n) whose place start + stride * j lies in [0, w). */
static inline void ebb__pool_span(int64_t *lo, int64_t *hi, int64_t start, int64_t stride,
                                  int64_t w, int64_t n)
{
    *lo = start < 0 ? (-start + stride - 1) / stride : 0;
    *hi = start < w ? (w - start + stride - 1) / stride : 0;
    if (*hi > n) *hi = n;
}

/* Where axis `i` of x a place of the window at output `at` lies. */
static inline int64_t ebb__pool_at(const ebb__pool_geometry *s, int i, int64_t at,
                                   int64_t place)
{
    return at * s->stride[i] - s->padding[i] + place * s->dilation[i];
}

/* The first element of the line of x that place (kd, ki) of the window at (z, y) sees; -1:
 * padding. */
static inline int64_t ebb__pool_line(const ebb__pool_geometry *s, int64_t z, int64_t y,
                                     int64_t kd, int64_t ki)
{
    int64_t plane = ebb__pool_at(s, 0, z, kd), row = ebb__pool_at(s, 1, y, ki);
    if (plane < 0 || plane >= s->in[0] || row < 0 || row >= s->in[1]) return -1;
    return (plane * s->in[1] + row) * s->in[2];
}

#endif
