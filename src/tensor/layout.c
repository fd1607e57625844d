/* layout.c - shapes, strides, broadcasting.
 * SPDX-License-Identifier: MIT */
#include "tensor/layout.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

ebb_status ebb__shape_check(const ebb_shape *s, ebb_dtype d)
{
    char text[EBB__SHAPE_TEXT];
    if (s->n_dims < 0 || s->n_dims > EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE, "a shape has %lld dimensions, 0 to %d are allowed",
                         (long long)s->n_dims, EBB_MAX_DIMS);
    bool consequence = false;
    for (int64_t i = 0; i < s->n_dims; i++) consequence |= s->dims[i] <= EBB_DIM_NONE / 2;
    if (consequence && ebb_error_status() != EBB_OK) return ebb_error_status();
    /* Sizes are taken over the non-zero dimensions, so strides cannot overflow behind a 0. */
    int64_t n = 1, bytes;
    for (int64_t i = 0; i < s->n_dims; i++) {
        if (s->dims[i] < 0)
            return ebb__fail(EBB_E_SHAPE, "dimension %lld of %s is negative", (long long)i,
                             ebb__shape_text(text, sizeof text, s));
        if (s->dims[i] > 0 && !ebb__mul_i64(&n, n, s->dims[i]))
            return ebb__fail(EBB_E_SHAPE, "the number of elements of %s overflows",
                             ebb__shape_text(text, sizeof text, s));
    }
    size_t size = ebb__dtype_size(d);
    if (size == 0) return ebb__fail(EBB_E_DTYPE, "%d is not an element type", (int)d);
    if (!ebb__mul_i64(&bytes, n, (int64_t)size) || bytes > INT64_MAX - 4096)
        return ebb__fail(EBB_E_SHAPE, "the bytes of %s %s overflow", ebb_dtype_name(d),
                         ebb__shape_text(text, sizeof text, s));
    return EBB_OK;
}

const char *ebb__shape_text(char *buffer, size_t size, const ebb_shape *s)
{
    size_t used = 0;
    int64_t n = s->n_dims < 0 ? 0 : s->n_dims > EBB_MAX_DIMS ? EBB_MAX_DIMS : s->n_dims;
    used += (size_t)snprintf(buffer, size, "(");
    for (int64_t i = 0; i < n && used < size; i++)
        used += (size_t)snprintf(buffer + used, size - used, "%s%lld", i ? ", " : "",
                                 (long long)s->dims[i]);
    if (used < size) snprintf(buffer + used, size - used, ")");
    return buffer;
}

ebb_status ebb__axis_check(int64_t *axis, int64_t rank)
{
    if (*axis < -rank || *axis >= rank) {
        if (rank == 0)
            return ebb__fail(EBB_E_RANGE, "axis %lld: a scalar has no axes", (long long)*axis);
        return ebb__fail(EBB_E_RANGE, "axis %lld is outside [%lld, %lld)", (long long)*axis,
                         (long long)-rank, (long long)rank);
    }
    if (*axis < 0) *axis += rank;
    return EBB_OK;
}

void ebb__view_contiguous(ebb_view *v)
{
    int64_t stride = 1;
    for (int64_t i = v->shape.n_dims; i-- > 0;) {
        v->strides[i] = stride;
        if (v->shape.dims[i] > 0) stride *= v->shape.dims[i];
    }
}

bool ebb__view_is_contiguous(const ebb_view *v)
{
    int64_t stride = 1;
    for (int64_t i = v->shape.n_dims; i-- > 0;) {
        int64_t n = v->shape.dims[i];
        if (n == 0) return true;
        if (n == 1) continue;
        if (v->strides[i] != stride) return false;
        stride *= n;
    }
    return true;
}

void ebb__layout_pack(ebb__layout *out, const ebb_view *v, int64_t offset)
{
    int64_t n = v->shape.n_dims;
    out->offset = offset;
    out->dtype = (uint8_t)v->dtype;
    out->n_dims = (uint8_t)n;
    out->contiguous = ebb__view_is_contiguous(v);
    for (int64_t i = 0; i < n; i++) {
        out->dims_strides[i] = v->shape.dims[i];
        out->dims_strides[n + i] = v->strides[i];
    }
}

ebb_status ebb__shape_broadcast(ebb_shape *out, const ebb_shape *a, const ebb_shape *b)
{
    ebb_shape r = {.n_dims = a->n_dims > b->n_dims ? a->n_dims : b->n_dims};
    for (int64_t i = 0; i < r.n_dims; i++) {
        int64_t ia = i - (r.n_dims - a->n_dims), ib = i - (r.n_dims - b->n_dims);
        int64_t na = ia < 0 ? 1 : a->dims[ia], nb = ib < 0 ? 1 : b->dims[ib];
        if (na != nb && na != 1 && nb != 1) {
            char ta[EBB__SHAPE_TEXT], tb[EBB__SHAPE_TEXT];
            return ebb__fail(EBB_E_SHAPE, "%s and %s do not broadcast: %lld and %lld differ",
                             ebb__shape_text(ta, sizeof ta, a),
                             ebb__shape_text(tb, sizeof tb, b), (long long)na, (long long)nb);
        }
        r.dims[i] = na == 1 ? nb : na;
    }
    *out = r;
    return EBB_OK;
}

void ebb__view_broadcast(ebb_view *v, const ebb_shape *s)
{
    int64_t shift = s->n_dims - v->shape.n_dims;
    for (int64_t i = s->n_dims; i-- > 0;) {
        int64_t from = i - shift;
        bool repeat = from < 0 || (v->shape.dims[from] == 1 && s->dims[i] != 1);
        v->strides[i] = repeat ? 0 : v->strides[from];
        v->shape.dims[i] = s->dims[i];
    }
    v->shape.n_dims = s->n_dims;
}
