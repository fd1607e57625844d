/* assign.c - tensors with a part replaced, and what takes the place of a whole.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ids.h"
#include "ops/kernels/copy.h"

#include <string.h>

/* ---- slice_assign ------------------------------------------------------------------------ */
static const ebb_attr_spec assign_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(ebb__slice_attr, axis), false, NULL},
    {"start", EBB_ATTR_I64, offsetof(ebb__slice_attr, start), false, "negative: from the end"},
    {"stop", EBB_ATTR_I64, offsetof(ebb__slice_attr, stop), false,
     "not reached; negative: from the end; INT64_MAX: all"},
    {"step", EBB_ATTR_I64, offsetof(ebb__slice_attr, step), false, ">= 1"},
    {0},
};

/* The slice of a view, without its data. */
static ebb_status part_of(ebb_view *part, int64_t *offset, const ebb_view *x, const void *attr)
{
    ebb_view in = *x;
    bool copy = false;
    ebb__call c = {.op = &ebb__op_slice, .attr = attr, .n_in = 1, .in = &in};
    *offset = 0;
    return ebb__op_slice.view(part, offset, &copy, &c);
}

static ebb_status slice_assign_shape(ebb__call *c)
{
    ebb_view part;
    ebb_shape both;
    int64_t offset;
    EBB_TRY(part_of(&part, &offset, &c->in[0], c->attr));
    char tp[EBB__SHAPE_TEXT], ty[EBB__SHAPE_TEXT];
    if (ebb__shape_broadcast(&both, &part.shape, &c->in[1].shape) != EBB_OK ||
        !ebb__shape_equal(&both, &part.shape))
        return ebb__fail(EBB_E_SHAPE, "y is %s, the slice of x is %s",
                         ebb__shape_text(ty, sizeof ty, &c->in[1].shape),
                         ebb__shape_text(tp, sizeof tp, &part.shape));
    if (c->in[0].dtype != c->in[1].dtype)
        return ebb__fail(EBB_E_DTYPE, "x is %s, y is %s", ebb_dtype_name(c->in[0].dtype),
                         ebb_dtype_name(c->in[1].dtype));
    return ebb__shape_same(c);
}

static ebb_status slice_assign_forward(const ebb__call *c)
{
    ebb_view out = c->out[0], part, y = c->in[1];
    int64_t offset;
    ebb__view_contiguous(&out);
    if (out.data != c->in[0].data) ebb__copy_view(&out, &c->in[0], c->n_threads);
    EBB_TRY(part_of(&part, &offset, &out, c->attr));
    part.data = (char *)out.data + offset * (int64_t)ebb__dtype_size(out.dtype);
    ebb__view_broadcast(&y, &part.shape);
    ebb__copy_view(&part, &y, c->n_threads);
    return EBB_OK;
}

static void slice_assign_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *part = EBB_EMIT(v, slice, v->attr, g);
    double zero = 0;
    if (ebb__wants(v, 0)) {
        ebb_tensor *nothing = EBB_EMIT(v, full_like, &zero, part);
        ebb__give(v, 0, EBB_EMIT(v, slice_assign, v->attr, g, nothing));
    }
    if (ebb__wants(v, 1)) ebb__give(v, 1, part);
}

const ebb_op ebb__op_slice_assign = {
    EBB_OP_HEAD(slice_assign),
    .doc = "x with elements start, start + step, ... before stop of one axis replaced by y, "
           "which broadcasts to them; a copy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .attr_bytes = sizeof(ebb__slice_attr),
    .attrs = assign_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_MOVES | EBB_OP_PROMOTES | EBB_OP_IN_PLACE,
    .bound = EBB_BOUND_MEMORY,
    .shape = slice_assign_shape,
    .forward = slice_assign_forward,
    .vjp = slice_assign_vjp,
    EBB_SAMPLES({.in = {"3x5", "3x3"}, .attr = "axis=1 start=0 stop=5 step=2"},
                {.in = {"5", ""}, .attr = "axis=-1 start=-4 stop=-1 step=1"},
                {.in = {"4x3", "3"}, .attr = "axis=0 start=1 stop=99 step=5"},
                {.in = {"2x4x3", "4x1"}, .attr = "axis=0 start=1 stop=2 step=1"},
                {.in = {"3x4", "0x4"}, .attr = "axis=0 start=2 stop=1 step=1"}),
};

/* ---- what takes the place of a whole: only the variants in place are public --------------- */
static void copy_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in, (void)attr;
    ebb_dtype d = ebb_dtype_of(in[0]);
    ebb_shape whole = ebb_shape_get(in[0]), own = ebb_shape_get(in[1]);
    ebb_tensor *y = ebb_dtype_of(in[1]) == d ? in[1] : EBB_EMIT(v, cast, &d, in[1]);
    out[0] = ebb__shape_equal(&whole, &own) ? y : EBB_EMIT(v, expand, &whole, y);
    /* an operation's result is never its operand */
    if (out[0] == in[1]) out[0] = EBB_EMIT(v, clone, NULL, out[0]);
}

const ebb_op ebb__op_copy = {
    EBB_OP_HEAD(copy),
    .doc = "y in place of x: cast to its dtype, broadcast to its shape.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = EBB_OP_PRIVATE | EBB_OP_IN_PLACE,
    .bound = EBB_BOUND_MEMORY,
    .compose = copy_compose,
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x4", "4"}}, {.in = {"2", "i64:<5"}},
                {.in = {"0x3", "3"}}),
};

typedef struct fill_attr {
    double value;
} fill_attr;
static const ebb_attr_spec fill_attrs[] = {
    {"value", EBB_ATTR_F64, offsetof(fill_attr, value), false, "one that the dtype holds"},
    {0},
};

static void fill_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    out[0] = EBB_EMIT(v, full_like, attr, in[0]);
}

const ebb_op ebb__op_fill = {
    EBB_OP_HEAD(fill),
    .doc = "value in place of every element of x.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(fill_attr),
    .attrs = fill_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_IN_PLACE,
    .bound = EBB_BOUND_MEMORY,
    .compose = fill_compose,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "value=3"}, {.in = {""}, .attr = "value=-1"},
                {.in = {"0x3"}, .attr = "value=2"}),
};

static void zero_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in, (void)attr;
    double zero = 0;
    out[0] = EBB_EMIT(v, full_like, &zero, in[0]);
}

const ebb_op ebb__op_zero = {
    EBB_OP_HEAD(zero),
    .doc = "0 in place of every element of x.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .flags = EBB_OP_PRIVATE | EBB_OP_IN_PLACE,
    .bound = EBB_BOUND_MEMORY,
    .compose = zero_compose,
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {""}}, {.in = {"0x3"}}),
};
