/* primitive.c - what is the same in all versions of oneDNN.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/primitive.h"

ebb__dnnl_kind ebb__dnnl_forward_of(ebb__dnnl_kind kind)
{
    switch (kind) {
    case EBB__DNNL_CONV_GRAD_INPUT:
    case EBB__DNNL_CONV_GRAD_WEIGHT:
        return EBB__DNNL_CONV;
    case EBB__DNNL_SOFTMAX_GRAD:
        return EBB__DNNL_SOFTMAX;
    case EBB__DNNL_AVG_POOL_GRAD:
        return EBB__DNNL_AVG_POOL;
    case EBB__DNNL_LAYER_NORM_GRAD:
        return EBB__DNNL_LAYER_NORM;
    default:
        return kind;
    }
}

ebb__dnnl_md ebb__dnnl_arg_md(dnnl_primitive_t p, int arg)
{
    const_dnnl_primitive_desc_t pd = NULL;
    if (dnnl_primitive_get_primitive_desc(p, &pd) != dnnl_success) return NULL;
    return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, arg);
}

const char *ebb__dnnl_status_text(dnnl_status_t s)
{
    static const char *const text[] = {
        "success",       "out of memory", "invalid arguments", "unimplemented",
        "iterator ends", "runtime error", "a missing argument"};
    return (unsigned)s < sizeof text / sizeof *text ? text[s] : "an unknown status";
}
