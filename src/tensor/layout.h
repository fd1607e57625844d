/* layout.h - where a tensor's elements lie in its storage: dtype, shape, strides, offset.
 *
 * ebb_view (public) is the full form that kernels read; ebb__layout the packed form that is
 * kept: 16 + 16 * n_dims bytes.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TENSOR_LAYOUT_H
#define EBB_TENSOR_LAYOUT_H

#include "base/size.h"

#include <ebb/tensor.h>

typedef struct ebb__layout {
    int64_t offset; /* of the first element, in elements */
    uint8_t dtype, n_dims;
    bool contiguous;        /* C order without gaps (size-1 and empty dimensions aside) */
    int64_t dims_strides[]; /* dims[n_dims], then strides[n_dims] */
} ebb__layout;

static inline size_t ebb__layout_bytes(int64_t n_dims)
{
    return sizeof(ebb__layout) + 2 * (size_t)n_dims * sizeof(int64_t);
}
static inline size_t ebb__dtype_size(ebb_dtype d)
{
    static const uint8_t size[] = {0, 4, 8, 8, 4, 1, 1, 2, 2};
    return (unsigned)d < sizeof size ? size[d] : 0;
}
static inline bool ebb__dtype_is_half(ebb_dtype d)
{
    return d == EBB_F16 || d == EBB_BF16;
}
static inline bool ebb__dtype_is_float(ebb_dtype d)
{
    return d == EBB_F32 || d == EBB_F64 || ebb__dtype_is_half(d);
}
static inline int64_t ebb__n_elems(const ebb_shape *s)
{
    int64_t n = 1;
    for (int64_t i = 0; i < s->n_dims; i++) n *= s->dims[i];
    return n;
}
static inline bool ebb__shape_equal(const ebb_shape *a, const ebb_shape *b)
{
    if (a->n_dims != b->n_dims) return false;
    for (int64_t i = 0; i < a->n_dims; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}
/* E_SHAPE where n_dims or a dimension is out of range, or elements or bytes overflow; a
 * dimension of EBB_DIM_NONE or worse is NULL's consequence: returns the pending failure. */
ebb_status ebb__shape_check(const ebb_shape *s, ebb_dtype d);
/* "(32, 784)"; at most `size` bytes, returns buffer. */
const char *ebb__shape_text(char *buffer, size_t size, const ebb_shape *s);
enum { EBB__SHAPE_TEXT = 120 };
/* -rank <= axis < rank, made non-negative; E_RANGE "axis 5 is outside [-2, 2)". */
ebb_status ebb__axis_check(int64_t *axis, int64_t rank);

/* Of all elements, packed. */
static inline size_t ebb__view_bytes(const ebb_view *v)
{
    return (size_t)ebb__n_elems(&v->shape) * ebb__dtype_size(v->dtype);
}
/* Sets strides to C order. */
void ebb__view_contiguous(ebb_view *v);
bool ebb__view_is_contiguous(const ebb_view *v);
void ebb__layout_pack(ebb__layout *out, const ebb_view *v, int64_t offset);
/* data = base + offset elements, or NULL where base is NULL. */
static inline void ebb__layout_unpack(ebb_view *out, const ebb__layout *l, void *base)
{
    int64_t n = l->n_dims;
    out->dtype = (ebb_dtype)l->dtype;
    out->data = base ? (char *)base + l->offset * (int64_t)ebb__dtype_size(out->dtype) : NULL;
    out->shape.n_dims = n;
    for (int64_t i = 0; i < n; i++) {
        out->shape.dims[i] = l->dims_strides[i];
        out->strides[i] = l->dims_strides[n + i];
    }
}
/* NumPy broadcasting of two shapes; E_SHAPE names both. */
ebb_status ebb__shape_broadcast(ebb_shape *out, const ebb_shape *a, const ebb_shape *b);
/* Strides 0 where v is repeated to fill `s`, to which its shape must broadcast. */
void ebb__view_broadcast(ebb_view *v, const ebb_shape *s);

#endif
