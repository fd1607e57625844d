/* windows.c - sliding windows along an axis: unfold, a view whose elements overlap, and its
 * gradient, which adds them up again.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

typedef struct unfold_attr {
    int64_t axis, size, step;
} unfold_attr;
static const ebb_attr_spec unfold_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(unfold_attr, axis), false, "negative: from the end"},
    {"size", EBB_ATTR_I64, offsetof(unfold_attr, size), false, "of a window, at most the axis"},
    {"step", EBB_ATTR_I64, offsetof(unfold_attr, step), false, "between windows, >= 1"},
    {0}};
typedef struct unfold_grad_attr {
    int64_t axis, step;
    ebb_shape shape; /* of what was unfolded */
} unfold_grad_attr;
static const ebb_attr_spec unfold_grad_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(unfold_grad_attr, axis), false, NULL},
    {"step", EBB_ATTR_I64, offsetof(unfold_grad_attr, step), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(unfold_grad_attr, shape), false, NULL},
    {0}};

static ebb_status unfold_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset, (void)copy;
    unfold_attr k = *(const unfold_attr *)c->attr;
    const ebb_view *x = &c->in[0];
    int64_t rank = x->shape.n_dims;
    EBB_TRY(ebb__axis_check(&k.axis, rank));
    int64_t n = x->shape.dims[k.axis], stride = x->strides[k.axis];
    if (rank == EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE, "x has %d dimensions already, the most there are",
                         EBB_MAX_DIMS);
    if (k.size < 0 || k.size > n || k.step < 1)
        return ebb__fail(
            EBB_E_RANGE,
            "size is %lld and step %lld: 0 to %lld, the length of axis %lld, and 1 "
            "or more are allowed",
            (long long)k.size, (long long)k.step, (long long)n, (long long)k.axis);
    int64_t windows = (n - k.size) / k.step + 1;
    *out = *x;
    out->shape.dims[k.axis] = windows;
    out->strides[k.axis] = windows > 1 ? stride * k.step : stride;
    out->shape.dims[rank] = k.size;
    out->strides[rank] = stride;
    out->shape.n_dims = rank + 1;
    return EBB_OK;
}

static void unfold_vjp(ebb_vjp *v)
{
    const unfold_attr *k = v->attr;
    unfold_grad_attr attr = {k->axis, k->step, ebb__in_shape(v, 0)};
    if (attr.axis < 0) attr.axis += attr.shape.n_dims;
    ebb__give(v, 0, EBB_EMIT(v, unfold_grad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_unfold = {
    EBB_OP_HEAD(unfold),
    .doc =
        "Windows along an axis: out[..., w, ..., i] = x[..., w * step + i, ...]; a view whose "
        "windows share elements, as torch.Tensor's unfold.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(unfold_attr),
    .attrs = unfold_attrs,
    .flags = EBB_OP_VIEW | EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .view = unfold_view,
    .vjp = unfold_vjp,
    EBB_SAMPLES({.in = {"7"}, .attr = "axis=0 size=3 step=1"},
                {.in = {"2x7"}, .attr = "axis=-1 size=3 step=2"},
                {.in = {"5x2x3"}, .attr = "axis=0 size=2 step=3"},
                {.in = {"1"}, .attr = "axis=0 size=1 step=1"},
                {.in = {"3x4"}, .attr = "axis=1 size=0 step=1"},
                {.in = {"0x4"}, .attr = "axis=1 size=2 step=1"}),
};

/* ---- the gradient ----------------------------------------------------------------------- */
typedef struct fold_work {
    ebb__around around; /* of x */
    int64_t windows, size, step;
    ebb_dtype dtype;
    const void *from;
    void *to;
} fold_work;

/* Rows [lo, hi) of outer: windows in order, so sums have one order whatever the threads. */
static void fold_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const fold_work *w = arg;
    int64_t n = w->around.n, inner = w->around.inner;
    memset((char *)w->to + (size_t)(lo * n * inner) * ebb__dtype_size(w->dtype), 0,
           (size_t)((hi - lo) * n * inner) * ebb__dtype_size(w->dtype));
    for (int64_t o = lo; o < hi; o++)
        for (int64_t at = 0; at < w->windows; at++)
            for (int64_t j = 0; j < inner; j++)
                for (int64_t i = 0; i < w->size; i++) {
                    int64_t from = ((o * w->windows + at) * inner + j) * w->size + i;
                    int64_t to = (o * n + at * w->step + i) * inner + j;
                    if (w->dtype == EBB_F64)
                        ((double *)w->to)[to] += ((const double *)w->from)[from];
                    else
                        ((float *)w->to)[to] += ((const float *)w->from)[from];
                }
}

static ebb_status unfold_grad_shape(ebb__call *c)
{
    const unfold_grad_attr *a = c->attr;
    const ebb_shape *g = &c->in[0].shape;
    EBB_TRY(ebb__check_float(c, 0));
    int64_t rank = a->shape.n_dims, size = g->n_dims == rank + 1 ? g->dims[rank] : -1;
    bool fits = size >= 0 && a->axis < rank && size <= a->shape.dims[a->axis];
    for (int64_t d = 0; fits && d < rank; d++)
        fits = g->dims[d] ==
               (d == a->axis ? (a->shape.dims[d] - size) / a->step + 1 : a->shape.dims[d]);
    if (!fits) return ebb__fail(EBB_E_SHAPE, "g does not have the shape of the windows");
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    return EBB_OK;
}

static ebb_status unfold_grad_forward(const ebb__call *c)
{
    const unfold_grad_attr *a = c->attr;
    const ebb_shape *g = &c->in[0].shape;
    fold_work w = {.around = ebb__around_axis(&a->shape, a->axis),
                   .windows = g->dims[a->axis],
                   .size = g->dims[g->n_dims - 1],
                   .step = a->step,
                   .dtype = c->in[0].dtype,
                   .from = c->in[0].data,
                   .to = c->out[0].data};
    if (ebb__n_elems(&a->shape) == 0) return EBB_OK;
    ebb__parallel(c->n_threads, w.around.outer, ebb__grain(w.windows * w.size * w.around.inner),
                  fold_rows, &w);
    return EBB_OK;
}

static void unfold_grad_vjp(ebb_vjp *v)
{
    const unfold_grad_attr *a = v->attr;
    ebb_shape g = ebb__in_shape(v, 0);
    unfold_attr attr = {a->axis, g.dims[g.n_dims - 1], a->step};
    ebb__give(v, 0, EBB_EMIT(v, unfold, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_unfold_grad = {
    EBB_OP_HEAD(unfold_grad),
    .doc = "The windows of g added up where they overlap; the gradient of unfold.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(unfold_grad_attr),
    .attrs = unfold_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = unfold_grad_shape,
    .forward = unfold_grad_forward,
    .vjp = unfold_grad_vjp,
    EBB_SAMPLES({.in = {"5x3"}, .attr = "axis=0 step=1 shape=7"},
                {.in = {"2x3x3"}, .attr = "axis=1 step=2 shape=2x7"},
                {.in = {"2x2x3x2"}, .attr = "axis=0 step=3 shape=5x2x3"},
                {.in = {"3x4x1"}, .attr = "axis=1 step=1 shape=3x4"}),
};
