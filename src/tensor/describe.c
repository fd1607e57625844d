/* describe.c - what a tensor is, as its user asks: dtype, shape, sizes.
 * SPDX-License-Identifier: MIT */
#include "tensor/tensor.h"

#include <string.h>

const char *ebb_dtype_name(ebb_dtype d)
{
    switch (d) {
#define X(id, value, text, bytes)                                                              \
    case EBB_##id:                                                                             \
        return text;
        EBB_DTYPE_MAP(X)
#undef X
    }
    return "?";
}

size_t ebb_dtype_bytes(ebb_dtype d)
{
    return ebb__dtype_size(d);
}

ebb_shape ebb_shape_of(const int64_t *dims, int64_t n_dims)
{
    ebb_shape s = {.n_dims = n_dims < 0 || n_dims > EBB_MAX_DIMS ? EBB_MAX_DIMS + 1 : n_dims};
    if (s.n_dims <= EBB_MAX_DIMS && dims)
        memcpy(s.dims, dims, (size_t)n_dims * sizeof *dims);
    else if (n_dims)
        s.n_dims = EBB_MAX_DIMS + 1;
    return s;
}

ebb_dtype ebb_dtype_of(const ebb_tensor *t)
{
    const ebb__slot *s = t ? ebb__slot_of(t, "ebb_dtype_of", "t") : NULL;
    return s ? (ebb_dtype)s->layout->dtype : (ebb_dtype)0;
}

int64_t ebb_rank(const ebb_tensor *t)
{
    const ebb__slot *s = t ? ebb__slot_of(t, "ebb_rank", "t") : NULL;
    return s ? s->layout->n_dims : EBB_DIM_NONE;
}

int64_t ebb_dim(const ebb_tensor *t, int64_t axis)
{
    const ebb__slot *s = t ? ebb__slot_of(t, "ebb_dim", "t") : NULL;
    if (!s || ebb__axis_check(&axis, s->layout->n_dims) != EBB_OK) return EBB_DIM_NONE;
    return s->layout->dims_strides[axis];
}

ebb_shape ebb_shape_get(const ebb_tensor *t)
{
    ebb_view v = {.shape = {.n_dims = EBB_MAX_DIMS + 1}};
    const ebb__slot *s = t ? ebb__slot_of(t, "ebb_shape_get", "t") : NULL;
    if (s) ebb__layout_unpack(&v, s->layout, NULL);
    return v.shape;
}

int64_t ebb_n_elems(const ebb_tensor *t)
{
    const ebb__slot *s = t ? ebb__slot_of(t, "ebb_n_elems", "t") : NULL;
    if (!s) return EBB_DIM_NONE;
    int64_t n = 1;
    for (int64_t i = 0; i < s->layout->n_dims; i++) n *= s->layout->dims_strides[i];
    return n;
}

size_t ebb_n_bytes(const ebb_tensor *t)
{
    int64_t n = ebb_n_elems(t);
    return n < 0 ? 0 : (size_t)n * ebb__dtype_size(ebb_dtype_of(t));
}

size_t ebb_storage_bytes(const ebb_tensor *t)
{
    const ebb__slot *s = t ? ebb__slot_of(t, "ebb_storage_bytes", "t") : NULL;
    return s ? s->storage->value->bytes : 0;
}
