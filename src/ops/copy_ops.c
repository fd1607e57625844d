/* copy_ops.c - operations that copy elements: into C order, reversed, into place.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ids.h"
#include "ops/kernels/copy.h"
#include "ops/kernels/map.h"

#include <string.h>

/* ---- clone ------------------------------------------------------------------------------- */
static ebb_status clone_forward(const ebb__call *c)
{
    ebb_view out = c->out[0];
    ebb__view_contiguous(&out);
    ebb__copy_view(&out, &c->in[0], c->n_threads);
    return EBB_OK;
}
static void clone_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, ebb__grad(v, 0));
}

const ebb_op ebb__op_clone = {
    EBB_OP_HEAD(clone),
    .doc = "A copy of x in C order, with a storage of its own.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .flags = EBB_OP_STRIDED | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = ebb__shape_same,
    .forward = clone_forward,
    .vjp = clone_vjp,
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {""}}, {.in = {"33x65"}}, {.in = {"0x3"}}),
};

/* ---- flip -------------------------------------------------------------------------------- */
static const ebb_attr_spec flip_attrs[] = {
    {"axes", EBB_ATTR_AXES, 0, false, "to turn round"},
    {0},
};

static ebb_status flip_shape(ebb__call *c)
{
    bool turned[EBB_MAX_DIMS];
    EBB_TRY(ebb__axes_resolve(turned, c->attr, c->in[0].shape.n_dims));
    return ebb__shape_same(c);
}
static ebb_status flip_forward(const ebb__call *c)
{
    bool turned[EBB_MAX_DIMS];
    ebb_view in = c->in[0], out = c->out[0];
    EBB_TRY(ebb__axes_resolve(turned, c->attr, in.shape.n_dims));
    ebb__view_contiguous(&out);
    if (ebb__n_elems(&in.shape) == 0) return EBB_OK;
    int64_t first = 0;
    for (int64_t d = 0; d < in.shape.n_dims; d++) {
        if (!turned[d]) continue;
        first += (in.shape.dims[d] - 1) * in.strides[d];
        in.strides[d] = -in.strides[d];
    }
    in.data = (char *)in.data + first * (int64_t)ebb__dtype_size(in.dtype);
    ebb__copy_view(&out, &in, c->n_threads);
    return EBB_OK;
}
static void flip_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, flip, v->attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_flip = {
    EBB_OP_HEAD(flip),
    .doc = "x with the order of elements along some axes turned round; a copy.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_axes),
    .attrs = flip_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = flip_shape,
    .forward = flip_forward,
    .vjp = flip_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=1"}, {.in = {"2x3x2"}, .attr = "axes=0,-1"},
                {.in = {"1"}, .attr = "axes=0"}, {.in = {"0x3"}, .attr = "axes=1"}),
};

/* ---- place ------------------------------------------------------------------------------- */
static const ebb_attr_spec place_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, offsetof(ebb__place_attr, shape), false, "of the result"},
    {"axis", EBB_ATTR_I64, offsetof(ebb__place_attr, axis), false, ">= 0"},
    {"start", EBB_ATTR_I64, offsetof(ebb__place_attr, start), false, ">= 0"},
    {"step", EBB_ATTR_I64, offsetof(ebb__place_attr, step), false, ">= 1"},
    {0},
};

static ebb_status place_shape(ebb__call *c)
{
    const ebb__place_attr *k = c->attr;
    int64_t n = k->axis < c->in[0].shape.n_dims ? c->in[0].shape.dims[k->axis] : 0;
    ebb_shape part = k->shape;
    if (k->axis < part.n_dims) part.dims[k->axis] = n;
    if (!ebb__shape_equal(&part, &c->in[0].shape) ||
        (n > 0 && k->start + (n - 1) * k->step >= k->shape.dims[k->axis]))
        return ebb__fail(EBB_E_SHAPE, "the part does not lie in the whole");
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = k->shape;
    return EBB_OK;
}
static ebb_status place_forward(const ebb__call *c)
{
    const ebb__place_attr *k = c->attr;
    ebb_view part = c->out[0];
    int64_t size = (int64_t)ebb__dtype_size(part.dtype);
    if (ebb__n_elems(&part.shape) == 0) return EBB_OK;
    memset(part.data, 0, (size_t)(ebb__n_elems(&part.shape) * size));
    ebb__view_contiguous(&part);
    part.data = (char *)part.data + k->start * part.strides[k->axis] * size;
    part.strides[k->axis] *= k->step;
    part.shape.dims[k->axis] = c->in[0].shape.dims[k->axis];
    ebb__copy_view(&part, &c->in[0], c->n_threads);
    return EBB_OK;
}
static void place_vjp(ebb_vjp *v)
{
    const ebb__place_attr *k = v->attr;
    int64_t n = ebb__in_shape(v, 0).dims[k->axis];
    ebb__slice_attr part = {k->axis, k->start, k->start + (n - 1) * k->step + 1, k->step};
    if (n == 0) part.stop = part.start;
    ebb__give(v, 0, EBB_EMIT(v, slice, &part, ebb__grad(v, 0)));
}

const ebb_op ebb__op_place = {
    EBB_OP_HEAD(place),
    .doc = "Zeros of a shape, with x at start, start + step, ... of one axis: the gradient of "
           "a slice.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__place_attr),
    .attrs = place_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_MOVES | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = place_shape,
    .forward = place_forward,
    .vjp = place_vjp,
    EBB_SAMPLES({.in = {"3x2"}, .attr = "shape=3x4 axis=1 start=1 step=1"},
                {.in = {"2x3"}, .attr = "shape=5x3 axis=0 start=1 step=3"},
                {.in = {"1"}, .attr = "shape=1 axis=0 start=0 step=1"},
                {.in = {"3x0"}, .attr = "shape=3x4 axis=1 start=4 step=1"}),
};

/* ---- accumulate -------------------------------------------------------------------------- */
EBB_MAP_ROWS(2, accumulate, FLOAT, EBB_SAME, x + y)
EBB_MAP_FORWARD(accumulate)

static ebb_status accumulate_shape(ebb__call *c)
{
    if (!ebb__dtype_is_float(c->in[0].dtype) || c->in[0].dtype != c->in[1].dtype ||
        !ebb__shape_equal(&c->in[0].shape, &c->in[1].shape))
        return ebb__fail(EBB_E_SHAPE, "sum and x must be f32 or f64, of one dtype and shape");
    return EBB_OK;
}

const ebb_op ebb__op_accumulate = {
    EBB_OP_HEAD(accumulate),
    .doc = "sum += x, in place; sum is in C order.",
    .n_in = 2,
    .arg = {"sum", "x"},
    .flags = EBB_OP_STRIDED | EBB_OP_PRIVATE,
    .writes = 1,
    .bound = EBB_BOUND_MEMORY,
    .shape = accumulate_shape,
    .forward = accumulate_forward,
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"", ""}}, {.in = {"0x3", "0x3"}}),
};
