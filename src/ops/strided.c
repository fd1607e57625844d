/* strided.c - as_strided: any strides over the elements of a tensor, and its gradient.
 *
 * Strides are over x's elements in C order, so that the result follows from x's values alone,
 * however they lie. Everything is checked before a place is computed: no element outside x is
 * ever named, and no product or sum wraps round.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/rule.h"

#include <string.h>

typedef struct strided_attr {
    ebb_shape shape, strides;
    int64_t offset;
} strided_attr;
typedef struct strided_grad_attr {
    ebb_shape shape, strides;
    int64_t offset;
    ebb_shape whole; /* x's */
} strided_grad_attr;
static const ebb_attr_spec strided_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, offsetof(strided_attr, shape), false, "of the result"},
    {"strides", EBB_ATTR_SHAPE, offsetof(strided_attr, strides), false,
     "one for each axis, in elements, none negative"},
    {"offset", EBB_ATTR_I64, offsetof(strided_attr, offset), false, "of the first element"},
    {0}};
static const ebb_attr_spec strided_grad_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, offsetof(strided_grad_attr, shape), false, NULL},
    {"strides", EBB_ATTR_SHAPE, offsetof(strided_grad_attr, strides), false, NULL},
    {"offset", EBB_ATTR_I64, offsetof(strided_grad_attr, offset), false, NULL},
    {"whole", EBB_ATTR_SHAPE, offsetof(strided_grad_attr, whole), false, NULL},
    {0}};

/* E_RANGE where an element lies outside [0, n). */
static ebb_status check_reach(const ebb_shape *shape, const ebb_shape *strides, int64_t offset,
                              int64_t n, ebb_dtype dtype)
{
    EBB_TRY(ebb__shape_check(shape, dtype));
    if (strides->n_dims != shape->n_dims)
        return ebb__fail(EBB_E_SHAPE, "%lld strides are given for %lld axes",
                         (long long)strides->n_dims, (long long)shape->n_dims);
    if (offset < 0)
        return ebb__fail(EBB_E_RANGE, "offset is %lld, it must not be negative",
                         (long long)offset);
    bool fits = offset <= n, is_empty = ebb__n_elems(shape) == 0;
    int64_t last = offset;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        int64_t step = strides->dims[d], length = shape->dims[d], way;
        if (step < 0)
            return ebb__fail(EBB_E_RANGE, "stride %lld of axis %lld must not be negative",
                             (long long)step, (long long)d);
        if (is_empty || !fits) continue;
        fits = !__builtin_mul_overflow(length - 1, step, &way) &&
               !__builtin_add_overflow(last, way, &last);
    }
    if (fits && (is_empty || last < n)) return EBB_OK;
    return ebb__fail(EBB_E_RANGE,
                     "offset %lld and strides reach outside the %lld elements of x",
                     (long long)offset, (long long)n);
}

/* ---- as_strided -------------------------------------------------------------------------- */
static ebb_status as_strided_view(ebb_view *out, int64_t *offset, bool *copy,
                                  const ebb__call *c)
{
    const strided_attr *a = c->attr;
    EBB_TRY(check_reach(&a->shape, &a->strides, a->offset, ebb__n_elems(&c->in[0].shape),
                        c->in[0].dtype));
    out->dtype = c->in[0].dtype;
    out->shape = a->shape;
    for (int64_t d = 0; d < a->shape.n_dims; d++) out->strides[d] = a->strides.dims[d];
    *copy = !ebb__view_is_contiguous(&c->in[0]);
    if (!*copy) *offset += a->offset;
    return EBB_OK;
}

static void as_strided_vjp(ebb_vjp *v)
{
    const strided_attr *a = v->attr;
    strided_grad_attr attr = {a->shape, a->strides, a->offset, ebb__in_shape(v, 0)};
    ebb__give(v, 0, EBB_EMIT(v, as_strided_grad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_as_strided = {
    EBB_OP_HEAD(as_strided),
    .doc = "out[i, j, ...] = the element of x, in C order, at offset + i strides[0] + j "
           "strides[1] + ...; a view whose elements may overlap, their gradients add up.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(strided_attr),
    .attrs = strided_attrs,
    .flags = EBB_OP_VIEW | EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .view = as_strided_view,
    .vjp = as_strided_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "shape=2x3 strides=4x1 offset=1"},
                {.in = {"7"}, .attr = "shape=5x3 strides=1x1 offset=0"},
                {.in = {"2x3"}, .attr = "shape=2x2x2 strides=0x1x3 offset=1"},
                {.in = {"5"}, .attr = "shape= strides= offset=4"},
                {.in = {"3x4"}, .attr = "shape=0x3 strides=1x1 offset=12"},
                {.in = {"0x3"}, .attr = "shape=0 strides=1 offset=0"}),
};

/* ---- its gradient ------------------------------------------------------------------------ */
static ebb_status as_strided_grad_shape(ebb__call *c)
{
    const strided_grad_attr *a = c->attr;
    char gt[EBB__SHAPE_TEXT], st[EBB__SHAPE_TEXT];
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(ebb__shape_check(&a->whole, c->in[0].dtype));
    EBB_TRY(check_reach(&a->shape, &a->strides, a->offset, ebb__n_elems(&a->whole),
                        c->in[0].dtype));
    if (!ebb__shape_equal(&c->in[0].shape, &a->shape))
        return ebb__fail(EBB_E_SHAPE, "g is %s, the view is %s",
                         ebb__shape_text(gt, sizeof gt, &c->in[0].shape),
                         ebb__shape_text(st, sizeof st, &a->shape));
    ebb__set_out(c, 0, c->in[0].dtype, &a->whole);
    return EBB_OK;
}

/* One thread goes through g in C order: what overlaps adds up in one order. */
static ebb_status as_strided_grad_forward(const ebb__call *c)
{
    const strided_grad_attr *a = c->attr;
    int64_t at[EBB_MAX_DIMS] = {0}, place = a->offset, n = ebb__n_elems(&a->shape);
    size_t bytes = (size_t)ebb__n_elems(&a->whole) * ebb__dtype_size(c->out[0].dtype);
    if (bytes > 0) memset(c->out[0].data, 0, bytes);
    for (int64_t i = 0; i < n; i++) {
        if (c->out[0].dtype == EBB_F64)
            ((double *)c->out[0].data)[place] += ((const double *)c->in[0].data)[i];
        else
            ((float *)c->out[0].data)[place] += ((const float *)c->in[0].data)[i];
        for (int64_t d = a->shape.n_dims - 1; d >= 0; d--) {
            place += a->strides.dims[d];
            if (++at[d] < a->shape.dims[d]) break;
            place -= a->shape.dims[d] * a->strides.dims[d];
            at[d] = 0;
        }
    }
    return EBB_OK;
}

static void as_strided_grad_vjp(ebb_vjp *v)
{
    const strided_grad_attr *a = v->attr;
    strided_attr attr = {a->shape, a->strides, a->offset};
    ebb__give(v, 0, EBB_EMIT(v, as_strided, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_as_strided_grad = {
    EBB_OP_HEAD(as_strided_grad),
    .doc = "Zeros with g added at the places of as_strided; its gradient.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(strided_grad_attr),
    .attrs = strided_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = as_strided_grad_shape,
    .forward = as_strided_grad_forward,
    .vjp = as_strided_grad_vjp,
    EBB_SAMPLES({.in = {"2x3"}, .attr = "shape=2x3 strides=4x1 offset=1 whole=3x4"},
                {.in = {"5x3"}, .attr = "shape=5x3 strides=1x1 offset=0 whole=7"},
                {.in = {"2x2x2"}, .attr = "shape=2x2x2 strides=0x1x3 offset=1 whole=2x3"},
                {.in = {""}, .attr = "shape= strides= offset=4 whole=5"}),
};
