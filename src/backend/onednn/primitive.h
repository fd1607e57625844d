/* primitive.h - oneDNN's primitives in words that hold for all its versions.
 *
 * primitive_v2.c and primitive_v3.c put them into the calls of versions 2 and 3, of which the
 * header at hand picks one; another version needs another such file and nothing else. Every
 * tensor is single precision.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BACKEND_ONEDNN_PRIMITIVE_H
#define EBB_BACKEND_ONEDNN_PRIMITIVE_H

#include "tensor/layout.h"

#include <oneapi/dnnl/dnnl.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t ebb__dnnl_md;
#else
typedef const dnnl_memory_desc_t *ebb__dnnl_md;
#endif

/* One tensor of a request. rank 0: absent. any: oneDNN chooses the layout. */
typedef struct ebb__dnnl_layout {
    int32_t rank;
    bool any;
    dnnl_dims_t dims, strides;
} ebb__dnnl_layout;

typedef enum ebb__dnnl_kind {
    EBB__DNNL_CONV,             /* dst = conv(src, weight) + bias */
    EBB__DNNL_CONV_GRAD_INPUT,  /* src = gradient from dst and weight */
    EBB__DNNL_CONV_GRAD_WEIGHT, /* weight = gradient from src and dst */
    EBB__DNNL_MATMUL,           /* dst = src weight + bias */
    EBB__DNNL_SOFTMAX,          /* dst from src, along axis */
    EBB__DNNL_SOFTMAX_GRAD,     /* src = gradient from dst (its gradient and its value) */
    EBB__DNNL_AVG_POOL,         /* dst from src */
    EBB__DNNL_AVG_POOL_GRAD,    /* src = gradient from dst */
    EBB__DNNL_LAYER_NORM,       /* dst, mean and variance from src, over the last axis */
    EBB__DNNL_LAYER_NORM_GRAD   /* src, scale, shift = gradients from dst, src and these */
} ebb__dnnl_kind;

typedef struct ebb__dnnl_request {
    ebb__dnnl_kind kind;
    ebb__dnnl_layout src, weight, bias, dst; /* weight: the statistics of a norm */
    /* of the spatial axes */
    dnnl_dims_t stride, padding, dilation /* 1: dense */, kernel;
    int32_t axis;
    bool log;         /* of the softmax */
    bool exclude_pad; /* of the average */
    bool scale, shift;
    double eps;
} ebb__dnnl_request;

/* Scratchpads are the caller's. Made for the thread count that OpenMP has now. */
dnnl_status_t ebb__dnnl_primitive(dnnl_primitive_t *out, dnnl_engine_t engine,
                                  const ebb__dnnl_request *r);
/* A memory object without bytes. */
dnnl_status_t ebb__dnnl_memory(dnnl_memory_t *out, dnnl_engine_t engine,
                               const ebb__dnnl_layout *l);
/* The forward kind that a backward one asks for as a hint; itself where none. */
ebb__dnnl_kind ebb__dnnl_forward_of(ebb__dnnl_kind kind);
/* What the primitive wants as its argument `arg` (DNNL_ARG_...), borrowed from it. */
ebb__dnnl_md ebb__dnnl_arg_md(dnnl_primitive_t p, int arg);
/* Adds to what the target holds. */
dnnl_status_t ebb__dnnl_append_sum(dnnl_post_ops_t ops);
const char *ebb__dnnl_status_text(dnnl_status_t s);

#endif
