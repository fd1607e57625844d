/* finite.c - whether a gradient is made of numbers, for backwards that are asked to find the first
 * that is not.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "autodiff/dry.h"
#include "base/half.h"

#include <math.h>

static bool element_is_finite(const void *p, ebb_dtype d)
{
    switch (d) {
    case EBB_F32:
        return isfinite(*(const float *)p);
    case EBB_F64:
        return isfinite(*(const double *)p);
    case EBB_F16:
        return isfinite(ebb__f16_to_float(*(const uint16_t *)p));
    case EBB_BF16:
        return isfinite(ebb__bf16_to_float(*(const uint16_t *)p));
    default:
        return true;
    }
}

static bool view_is_finite(const ebb_view *v)
{
    const int64_t n = ebb__n_elems(&v->shape), size = (int64_t)ebb__dtype_size(v->dtype);
    int64_t index[EBB_MAX_DIMS] = {0};
    const char *p = v->data;
    for (int64_t i = 0; i < n; i++) {
        if (!element_is_finite(p, v->dtype)) return false;
        for (int64_t d = v->shape.n_dims; d-- > 0;) {
            p += v->strides[d] * size;
            if (++index[d] < v->shape.dims[d]) break;
            p -= index[d] * v->strides[d] * size;
            index[d] = 0;
        }
    }
    return true;
}

ebb_status ebb__finite_check(bool *finite, ebb_tensor *g)
{
    *finite = true;
    ebb__slot *s = ebb__slot_raw(g);
    ebb_view v;
    if (ebb__is_dry(s->ctx)) return EBB_OK;
    EBB_TRY(ebb__tensor_pin(&v, s));
    *finite = view_is_finite(&v);
    ebb__tensor_unpin(s);
    return EBB_OK;
}
