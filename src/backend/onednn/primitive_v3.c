/* primitive_v3.c - primitives of oneDNN 3.x: descriptors are objects, one call per primitive.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/primitive.h"

#if DNNL_VERSION_MAJOR == 3

/* NULL: absent. */
typedef struct descs {
    dnnl_memory_desc_t src, weight, bias, dst;
} descs;

static dnnl_status_t md_create(dnnl_memory_desc_t *out, const ebb__dnnl_layout *l)
{
    *out = NULL;
    if (l->rank == 0) return dnnl_success;
    if (l->any)
        return dnnl_memory_desc_create_with_tag(out, l->rank, l->dims, dnnl_f32,
                                                dnnl_format_tag_any);
    return dnnl_memory_desc_create_with_strides(out, l->rank, l->dims, dnnl_f32, l->strides);
}

static void descs_destroy(descs *m)
{
    if (m->src) dnnl_memory_desc_destroy(m->src);
    if (m->weight) dnnl_memory_desc_destroy(m->weight);
    if (m->bias) dnnl_memory_desc_destroy(m->bias);
    if (m->dst) dnnl_memory_desc_destroy(m->dst);
}

/* What every call below needs. */
typedef struct maker {
    dnnl_engine_t engine;
    dnnl_primitive_attr_t attr;
    const ebb__dnnl_request *r;
    descs m;
    dnnl_primitive_desc_t hint; /* the forward's, for backward kinds */
} maker;

static dnnl_status_t conv_create(dnnl_primitive_desc_t *out, const maker *k,
                                 ebb__dnnl_kind kind)
{
    const ebb__dnnl_request *r = k->r;
    /* oneDNN counts the holes between the taps, not the distance. */
    dnnl_dims_t holes = {r->dilation[0] - 1, r->dilation[1] - 1, r->dilation[2] - 1};
    switch (kind) {
    case EBB__DNNL_CONV_GRAD_INPUT:
        return dnnl_convolution_backward_data_primitive_desc_create(
            out, k->engine, dnnl_convolution_direct, k->m.src, k->m.weight, k->m.dst, r->stride,
            holes, r->padding, r->padding, k->hint, k->attr);
    case EBB__DNNL_CONV_GRAD_WEIGHT:
        return dnnl_convolution_backward_weights_primitive_desc_create(
            out, k->engine, dnnl_convolution_direct, k->m.src, k->m.weight, k->m.bias, k->m.dst,
            r->stride, holes, r->padding, r->padding, k->hint, k->attr);
    default:
        return dnnl_convolution_forward_primitive_desc_create(
            out, k->engine, dnnl_forward_training, dnnl_convolution_direct, k->m.src,
            k->m.weight, k->m.bias, k->m.dst, r->stride, holes, r->padding, r->padding,
            k->attr);
    }
}

static dnnl_status_t pool_create(dnnl_primitive_desc_t *out, const maker *k, bool forward)
{
    const dnnl_dims_t dense = {0};
    const ebb__dnnl_request *r = k->r;
    dnnl_alg_kind_t how =
        r->exclude_pad ? dnnl_pooling_avg_exclude_padding : dnnl_pooling_avg_include_padding;
    if (forward)
        return dnnl_pooling_forward_primitive_desc_create(
            out, k->engine, dnnl_forward_training, how, k->m.src, k->m.dst, r->stride,
            r->kernel, dense, r->padding, r->padding, k->attr);
    return dnnl_pooling_backward_primitive_desc_create(out, k->engine, how, k->m.src, k->m.dst,
                                                       r->stride, r->kernel, dense, r->padding,
                                                       r->padding, k->hint, k->attr);
}

static dnnl_status_t norm_create(dnnl_primitive_desc_t *out, const maker *k, bool forward)
{
    const ebb__dnnl_request *r = k->r;
    unsigned flags = (r->scale ? dnnl_use_scale : 0u) | (r->shift ? dnnl_use_shift : 0u);
    if (forward)
        return dnnl_layer_normalization_forward_primitive_desc_create(
            out, k->engine, dnnl_forward_training, k->m.src, k->m.src, k->m.weight,
            (float)r->eps, flags, k->attr);
    return dnnl_layer_normalization_backward_primitive_desc_create(
        out, k->engine, dnnl_backward, k->m.src, k->m.src, k->m.src, k->m.weight, (float)r->eps,
        flags, k->hint, k->attr);
}

static dnnl_status_t pd_create(dnnl_primitive_desc_t *out, const maker *k, ebb__dnnl_kind kind)
{
    dnnl_alg_kind_t softmax = k->r->log ? dnnl_softmax_log : dnnl_softmax_accurate;
    switch (kind) {
    case EBB__DNNL_MATMUL:
        return dnnl_matmul_primitive_desc_create(out, k->engine, k->m.src, k->m.weight,
                                                 k->m.bias, k->m.dst, k->attr);
    case EBB__DNNL_SOFTMAX:
        return dnnl_softmax_forward_primitive_desc_create(out, k->engine, dnnl_forward_training,
                                                          softmax, k->m.src, k->m.dst,
                                                          k->r->axis, k->attr);
    case EBB__DNNL_SOFTMAX_GRAD:
        return dnnl_softmax_backward_primitive_desc_create(out, k->engine, softmax, k->m.src,
                                                           k->m.dst, k->m.dst, k->r->axis,
                                                           k->hint, k->attr);
    case EBB__DNNL_AVG_POOL:
    case EBB__DNNL_AVG_POOL_GRAD:
        return pool_create(out, k, kind == EBB__DNNL_AVG_POOL);
    case EBB__DNNL_LAYER_NORM:
    case EBB__DNNL_LAYER_NORM_GRAD:
        return norm_create(out, k, kind == EBB__DNNL_LAYER_NORM);
    default:
        return conv_create(out, k, kind);
    }
}

static dnnl_status_t make(dnnl_primitive_t *out, maker *k)
{
    dnnl_primitive_desc_t pd = NULL;
    ebb__dnnl_kind forward = ebb__dnnl_forward_of(k->r->kind);
    dnnl_status_t s = dnnl_success;
    if (forward != k->r->kind) s = pd_create(&k->hint, k, forward);
    if (s == dnnl_success) s = pd_create(&pd, k, k->r->kind);
    if (s == dnnl_success) s = dnnl_primitive_create(out, pd);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (k->hint) dnnl_primitive_desc_destroy(k->hint);
    return s;
}

dnnl_status_t ebb__dnnl_primitive(dnnl_primitive_t *out, dnnl_engine_t engine,
                                  const ebb__dnnl_request *r)
{
    maker k = {.engine = engine, .r = r};
    dnnl_status_t s = md_create(&k.m.src, &r->src);
    if (s == dnnl_success) s = md_create(&k.m.weight, &r->weight);
    if (s == dnnl_success) s = md_create(&k.m.bias, &r->bias);
    if (s == dnnl_success) s = md_create(&k.m.dst, &r->dst);
    if (s == dnnl_success) s = dnnl_primitive_attr_create(&k.attr);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(k.attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success) s = make(out, &k);
    if (k.attr) dnnl_primitive_attr_destroy(k.attr);
    descs_destroy(&k.m);
    return s;
}

dnnl_status_t ebb__dnnl_memory(dnnl_memory_t *out, dnnl_engine_t engine,
                               const ebb__dnnl_layout *l)
{
    dnnl_memory_desc_t md;
    dnnl_status_t s = md_create(&md, l);
    if (s == dnnl_success) s = dnnl_memory_create(out, md, engine, DNNL_MEMORY_NONE);
    if (md) dnnl_memory_desc_destroy(md);
    return s;
}

dnnl_status_t ebb__dnnl_append_sum(dnnl_post_ops_t ops)
{
    return dnnl_post_ops_append_sum(ops, 1.0f, 0, dnnl_data_type_undef);
}

#endif
