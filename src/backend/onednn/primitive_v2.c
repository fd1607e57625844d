/* primitive_v2.c - primitives of oneDNN 2.x: descriptors are structs by value.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/primitive.h"

#if DNNL_VERSION_MAJOR == 2

/* Of each request: the operation's own descriptor, made by one of dnnl's init functions. */
typedef union op_desc {
    dnnl_convolution_desc_t conv;
    dnnl_matmul_desc_t matmul;
    dnnl_softmax_v2_desc_t softmax;
    dnnl_pooling_v2_desc_t pool;
    dnnl_layer_normalization_desc_t norm;
} op_desc;

typedef struct descs {
    dnnl_memory_desc_t src, weight, bias, dst;
} descs;

static dnnl_status_t md_init(dnnl_memory_desc_t *out, const ebb__dnnl_layout *l)
{
    if (l->rank == 0) {
        *out = (dnnl_memory_desc_t){0};
        return dnnl_success;
    }
    if (l->any)
        return dnnl_memory_desc_init_by_tag(out, l->rank, l->dims, dnnl_f32,
                                            dnnl_format_tag_any);
    return dnnl_memory_desc_init_by_strides(out, l->rank, l->dims, dnnl_f32, l->strides);
}

static dnnl_status_t conv_init(dnnl_convolution_desc_t *d, const ebb__dnnl_request *r,
                               ebb__dnnl_kind kind, const descs *m)
{
    const dnnl_memory_desc_t *bias = r->bias.rank ? &m->bias : NULL;
    /* oneDNN counts the holes between the taps, not the distance. */
    dnnl_dims_t holes = {r->dilation[0] - 1, r->dilation[1] - 1, r->dilation[2] - 1};
    switch (kind) {
    case EBB__DNNL_CONV_GRAD_INPUT:
        return dnnl_dilated_convolution_backward_data_desc_init(
            d, dnnl_convolution_direct, &m->src, &m->weight, &m->dst, r->stride, holes,
            r->padding, r->padding);
    case EBB__DNNL_CONV_GRAD_WEIGHT:
        return dnnl_dilated_convolution_backward_weights_desc_init(
            d, dnnl_convolution_direct, &m->src, &m->weight, bias, &m->dst, r->stride, holes,
            r->padding, r->padding);
    default:
        return dnnl_dilated_convolution_forward_desc_init(
            d, dnnl_forward_training, dnnl_convolution_direct, &m->src, &m->weight, bias,
            &m->dst, r->stride, holes, r->padding, r->padding);
    }
}

static dnnl_status_t pool_init(dnnl_pooling_v2_desc_t *d, const ebb__dnnl_request *r,
                               bool forward, const descs *m)
{
    const dnnl_dims_t dense = {0};
    dnnl_alg_kind_t how =
        r->exclude_pad ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_avg_include_padding;
    if (forward)
        return dnnl_pooling_v2_forward_desc_init(d, dnnl_forward_training, how, &m->src,
                                                 &m->dst, r->stride, r->kernel, dense,
                                                 r->padding, r->padding);
    return dnnl_pooling_v2_backward_desc_init(d, how, &m->src, &m->dst, r->stride, r->kernel,
                                              dense, r->padding, r->padding);
}

static dnnl_status_t norm_init(dnnl_layer_normalization_desc_t *d, const ebb__dnnl_request *r,
                               bool forward, const descs *m)
{
    unsigned flags = (r->scale ? dnnl_use_scale : 0u) | (r->shift ? dnnl_use_shift : 0u);
    if (forward)
        return dnnl_layer_normalization_forward_desc_init(d, dnnl_forward_training, &m->src,
                                                          &m->weight, (float)r->eps, flags);
    return dnnl_layer_normalization_backward_desc_init(d, dnnl_backward, &m->src, &m->src,
                                                       &m->weight, (float)r->eps, flags);
}

static dnnl_status_t op_init(op_desc *d, const ebb__dnnl_request *r, ebb__dnnl_kind kind,
                             const descs *m)
{
    dnnl_alg_kind_t softmax = r->log ? dnnl_softmax_log : dnnl_softmax_accurate;
    switch (kind) {
    case EBB__DNNL_MATMUL:
        return dnnl_matmul_desc_init(&d->matmul, &m->src, &m->weight,
                                     r->bias.rank ? &m->bias : NULL, &m->dst);
    case EBB__DNNL_SOFTMAX:
        return dnnl_softmax_v2_forward_desc_init(&d->softmax, dnnl_forward_training, softmax,
                                                 &m->src, &m->dst, r->axis);
    case EBB__DNNL_SOFTMAX_GRAD:
        return dnnl_softmax_v2_backward_desc_init(&d->softmax, softmax, &m->src, &m->dst,
                                                  &m->dst, r->axis);
    case EBB__DNNL_AVG_POOL:
    case EBB__DNNL_AVG_POOL_GRAD:
        return pool_init(&d->pool, r, kind == EBB__DNNL_AVG_POOL, m);
    case EBB__DNNL_LAYER_NORM:
    case EBB__DNNL_LAYER_NORM_GRAD:
        return norm_init(&d->norm, r, kind == EBB__DNNL_LAYER_NORM, m);
    default:
        return conv_init(&d->conv, r, kind, m);
    }
}

static dnnl_status_t pd_create(dnnl_primitive_desc_t *out, dnnl_engine_t engine,
                               dnnl_primitive_attr_t attr, const ebb__dnnl_request *r,
                               const descs *m)
{
    op_desc d;
    dnnl_primitive_desc_t hint = NULL;
    dnnl_status_t s = dnnl_success;
    ebb__dnnl_kind forward = ebb__dnnl_forward_of(r->kind);
    if (forward != r->kind) {
        s = op_init(&d, r, forward, m);
        if (s == dnnl_success) s = dnnl_primitive_desc_create(&hint, &d, attr, engine, NULL);
    }
    if (s == dnnl_success) s = op_init(&d, r, r->kind, m);
    if (s == dnnl_success) s = dnnl_primitive_desc_create(out, &d, attr, engine, hint);
    if (hint) dnnl_primitive_desc_destroy(hint);
    return s;
}

dnnl_status_t ebb__dnnl_primitive(dnnl_primitive_t *out, dnnl_engine_t engine,
                                  const ebb__dnnl_request *r)
{
    descs m;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s = md_init(&m.src, &r->src);
    if (s == dnnl_success) s = md_init(&m.weight, &r->weight);
    if (s == dnnl_success) s = md_init(&m.bias, &r->bias);
    if (s == dnnl_success) s = md_init(&m.dst, &r->dst);
    if (s == dnnl_success) s = dnnl_primitive_attr_create(&attr);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success) s = pd_create(&pd, engine, attr, r, &m);
    if (s == dnnl_success) s = dnnl_primitive_create(out, pd);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return s;
}

dnnl_status_t ebb__dnnl_memory(dnnl_memory_t *out, dnnl_engine_t engine,
                               const ebb__dnnl_layout *l)
{
    dnnl_memory_desc_t md;
    dnnl_status_t s = md_init(&md, l);
    return s == dnnl_success ? dnnl_memory_create(out, &md, engine, DNNL_MEMORY_NONE) : s;
}

dnnl_status_t ebb__dnnl_append_sum(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1.0f);
}

#endif
