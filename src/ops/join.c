/* join.c - tensors put together along an axis, and taken apart: cat, stack, split.
 *
 * Seen around the axis everything is (outer, length, inner): row o of the whole is row o of
 * each part in turn.
 * SPDX-License-Identifier: MIT */
#include "base/alloc.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

typedef struct join_attr {
    int64_t axis;
} join_attr;
static const ebb_attr_spec join_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(join_attr, axis), false, "negative: from the end"}, {0}};
typedef struct split_attr {
    int64_t size, axis;
} split_attr;
static const ebb_attr_spec split_attrs[] = {
    {"size", EBB_ATTR_I64, offsetof(split_attr, size), false,
     "length of each part; the last may be shorter"},
    {"axis", EBB_ATTR_I64, offsetof(split_attr, axis), false, "negative: from the end"},
    {0}};
typedef struct split_grad_attr {
    int64_t size, axis;
    ebb_shape shape; /* of what was split */
} split_grad_attr;
static const ebb_attr_spec split_grad_attrs[] = {
    {"size", EBB_ATTR_I64, offsetof(split_grad_attr, size), false, NULL},
    {"axis", EBB_ATTR_I64, offsetof(split_grad_attr, axis), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(split_grad_attr, shape), false, NULL},
    {0}};

/* ---- kernels ---------------------------------------------------------------------------- */
/* Row o of a part of row_bytes lies at `offset` in row o of the whole, of whole_bytes. */
typedef struct join_work {
    char *whole;
    char *part;
    size_t whole_bytes, row_bytes, offset;
    enum { JOIN_PUT, JOIN_TAKE, JOIN_CLEAR } what;
} join_work;

static void join_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const join_work *w = arg;
    for (int64_t o = lo; o < hi; o++) {
        char *whole = w->whole + (size_t)o * w->whole_bytes + w->offset;
        char *row = w->part + (size_t)o * w->row_bytes;
        switch (w->what) {
        case JOIN_PUT:
            memcpy(whole, row, w->row_bytes);
            break;
        case JOIN_TAKE:
            memcpy(row, whole, w->row_bytes);
            break;
        case JOIN_CLEAR:
            memset(whole, 0, w->row_bytes);
            break;
        }
    }
}

/* The next `length` of the axis; a part without data is nothing to put. */
static void join_part(join_work *w, const ebb__call *c, const ebb__around *whole,
                      int64_t length, void *part, size_t element)
{
    w->row_bytes = (size_t)(length * whole->inner) * element;
    w->part = part;
    if (w->row_bytes > 0)
        ebb__parallel(c->n_threads, whole->outer, ebb__grain((int64_t)w->row_bytes / 8),
                      join_rows, w);
    w->offset += w->row_bytes;
}

/* All parts into out; `rank` dimensions of a part and of the whole agree around the axis. */
static ebb_status join_forward(const ebb__call *c, int64_t axis, bool is_stack)
{
    ebb__around whole = ebb__around_axis(&c->out[0].shape, axis);
    size_t element = ebb__dtype_size(c->out[0].dtype);
    join_work w = {.whole = c->out[0].data,
                   .whole_bytes = (size_t)(whole.n * whole.inner) * element,
                   .what = JOIN_PUT};
    for (int32_t i = 0; i < c->n_in; i++)
        join_part(&w, c, &whole, is_stack ? 1 : c->in[i].shape.dims[axis], c->in[i].data,
                  element);
    return EBB_OK;
}

static int64_t resolved(int64_t axis, int64_t rank)
{
    return axis < 0 ? axis + rank : axis;
}

static ebb_status check_one_dtype(const ebb__call *c)
{
    for (int32_t i = 1; i < c->n_in; i++)
        if (c->in[i].dtype != c->in[0].dtype)
            return ebb__fail(EBB_E_DTYPE, "xs[0] is %s, xs[%d] is %s: one dtype is needed",
                             ebb_dtype_name(c->in[0].dtype), (int)i,
                             ebb_dtype_name(c->in[i].dtype));
    return EBB_OK;
}

/* xs[i] and xs[0] have one shape, the axis (-1: none) aside. */
static ebb_status check_alike(const ebb__call *c, int32_t i, int64_t axis)
{
    const ebb_shape *a = &c->in[0].shape, *b = &c->in[i].shape;
    bool alike = a->n_dims == b->n_dims;
    for (int64_t d = 0; alike && d < a->n_dims; d++)
        alike = d == axis || a->dims[d] == b->dims[d];
    if (alike) return EBB_OK;
    char at[EBB__SHAPE_TEXT], bt[EBB__SHAPE_TEXT];
    return ebb__fail(EBB_E_SHAPE, "xs[0] is %s, xs[%d] is %s: %s",
                     ebb__shape_text(at, sizeof at, a), (int)i,
                     ebb__shape_text(bt, sizeof bt, b),
                     axis < 0 ? "one shape is needed" : "only the axis joined may differ");
}

/* ---- cat -------------------------------------------------------------------------------- */
static ebb_status cat_shape(ebb__call *c)
{
    int64_t axis = ((const join_attr *)c->attr)->axis;
    ebb_shape out = c->in[0].shape;
    EBB_TRY(check_one_dtype(c));
    EBB_TRY(ebb__axis_check(&axis, out.n_dims));
    for (int32_t i = 1; i < c->n_in; i++) {
        EBB_TRY(check_alike(c, i, axis));
        if (!ebb__add_i64(&out.dims[axis], out.dims[axis], c->in[i].shape.dims[axis]))
            return ebb__fail(EBB_E_SHAPE, "the sum of %d lengths overflows", (int)c->n_in);
    }
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status cat_forward(const ebb__call *c)
{
    int64_t axis = ((const join_attr *)c->attr)->axis;
    return join_forward(c, resolved(axis, c->out[0].shape.n_dims), false);
}

static void cat_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    int64_t narrow[3] = {((const join_attr *)v->attr)->axis, 0, 0}; /* axis, start, length */
    for (int32_t i = 0; i < v->n_in; i++, narrow[1] += narrow[2]) {
        ebb_shape shape = ebb__in_shape(v, i);
        narrow[2] = shape.dims[resolved(narrow[0], shape.n_dims)];
        if (ebb__wants(v, i)) ebb__give(v, i, EBB_EMIT(v, narrow, narrow, g));
    }
}

const ebb_op ebb__op_cat = {
    EBB_OP_HEAD(cat),
    .doc = "The tensors of a list one after another along an axis they have.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"xs"},
    .attr_bytes = sizeof(join_attr),
    .attrs = join_attrs,
    .flags = EBB_OP_VARIADIC_IN | EBB_OP_MOVES | EBB_OP_PROMOTES,
    .bound = EBB_BOUND_MEMORY,
    .shape = cat_shape,
    .forward = cat_forward,
    .vjp = cat_vjp,
    EBB_SAMPLES({.in = {"3x4", "3x2"}, .attr = "axis=1"},
                {.in = {"2x3", "1x3", "4x3"}, .attr = "axis=0"},
                {.in = {"2x2x3", "2x5x3"}, .attr = "axis=-2"}, {.in = {"5"}, .attr = "axis=0"},
                {.in = {"0x3", "2x3"}, .attr = "axis=0"},
                {.in = {"i64:3<9", "i64:2<9"}, .attr = "axis=0"}),
};

/* ---- stack ------------------------------------------------------------------------------ */
static ebb_status stack_shape(ebb__call *c)
{
    int64_t axis = ((const join_attr *)c->attr)->axis;
    const ebb_shape *x = &c->in[0].shape;
    EBB_TRY(check_one_dtype(c));
    for (int32_t i = 1; i < c->n_in; i++) EBB_TRY(check_alike(c, i, -1));
    if (x->n_dims == EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE, "xs[0] has %d dimensions already, the most possible",
                         EBB_MAX_DIMS);
    EBB_TRY(ebb__axis_check(&axis, x->n_dims + 1));
    ebb_shape out = {x->n_dims + 1, {0}};
    for (int64_t d = 0; d < out.n_dims; d++)
        out.dims[d] = d < axis ? x->dims[d] : d == axis ? c->n_in : x->dims[d - 1];
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status stack_forward(const ebb__call *c)
{
    int64_t axis = ((const join_attr *)c->attr)->axis;
    return join_forward(c, resolved(axis, c->out[0].shape.n_dims), true);
}

static void stack_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    for (int32_t i = 0; i < v->n_in; i++) {
        int64_t select[2] = {((const join_attr *)v->attr)->axis, i}; /* axis, i */
        if (ebb__wants(v, i)) ebb__give(v, i, EBB_EMIT(v, select, select, g));
    }
}

const ebb_op ebb__op_stack = {
    EBB_OP_HEAD(stack),
    .doc = "The tensors of a list, of one shape, along a new axis.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"xs"},
    .attr_bytes = sizeof(join_attr),
    .attrs = join_attrs,
    .flags = EBB_OP_VARIADIC_IN | EBB_OP_MOVES | EBB_OP_PROMOTES,
    .bound = EBB_BOUND_MEMORY,
    .shape = stack_shape,
    .forward = stack_forward,
    .vjp = stack_vjp,
    EBB_SAMPLES({.in = {"3x4", "3x4"}, .attr = "axis=0"},
                {.in = {"2x3", "2x3", "2x3"}, .attr = "axis=-1"},
                {.in = {"", ""}, .attr = "axis=0"}, {.in = {"2x3"}, .attr = "axis=1"},
                {.in = {"0x3", "0x3"}, .attr = "axis=0"}),
};

/* ---- split ------------------------------------------------------------------------------ */
static int64_t part_length(int64_t n, int64_t size, int64_t k)
{
    int64_t left = n - k * size;
    return left < size ? left : size;
}

static ebb_status split_shape(ebb__call *c)
{
    const split_attr *a = c->attr;
    int64_t axis = a->axis;
    ebb_shape part = c->in[0].shape;
    EBB_TRY(ebb__axis_check(&axis, part.n_dims));
    if (a->size < 1)
        return ebb__fail(EBB_E_RANGE, "size is %lld, it must be positive", (long long)a->size);
    int64_t n = part.dims[axis], n_parts = n == 0 ? 1 : (n - 1) / a->size + 1;
    if (c->n_out != n_parts)
        return ebb__fail(EBB_E_SHAPE, "%lld in parts of %lld make %lld, room is for %d",
                         (long long)n, (long long)a->size, (long long)n_parts, (int)c->n_out);
    for (int32_t k = 0; k < c->n_out; k++) {
        part.dims[axis] = part_length(n, a->size, k);
        ebb__set_out(c, k, c->in[0].dtype, &part);
    }
    return EBB_OK;
}

static ebb_status split_forward(const ebb__call *c)
{
    const split_attr *a = c->attr;
    int64_t axis = resolved(a->axis, c->in[0].shape.n_dims);
    ebb__around whole = ebb__around_axis(&c->in[0].shape, axis);
    size_t element = ebb__dtype_size(c->in[0].dtype);
    join_work w = {.whole = c->in[0].data,
                   .whole_bytes = (size_t)(whole.n * whole.inner) * element,
                   .what = JOIN_TAKE};
    for (int32_t k = 0; k < c->n_out; k++)
        join_part(&w, c, &whole, c->out[k].shape.dims[axis], c->out[k].data, element);
    return EBB_OK;
}

static void split_vjp(ebb_vjp *v)
{
    const split_attr *a = v->attr;
    split_grad_attr attr;
    ebb_tensor *few[EBB__MAX_OUT], **g = few;
    size_t bytes = (size_t)v->n_out * sizeof *g;
    if (v->n_out > EBB__MAX_OUT) g = ebb__alloc(&ebb__allocator_libc, bytes, 16);
    if (!g) {
        v->status =
            ebb__fail(EBB_E_NOMEM, "%zu bytes for a list of gradients were refused", bytes);
        return;
    }
    memset(&attr, 0, sizeof attr);
    attr.size = a->size;
    attr.shape = ebb__in_shape(v, 0);
    attr.axis = resolved(a->axis, attr.shape.n_dims);
    for (int32_t k = 0; k < v->n_out; k++) g[k] = ebb__grad(v, k);
    ebb__give(v, 0, ebb__emit(v, &ebb__op_split_grad, &attr, v->n_out, g));
    if (g != few) ebb__free(&ebb__allocator_libc, g, bytes);
}

const ebb_op ebb__op_split = {
    EBB_OP_HEAD(split),
    .doc = "x in parts of `size` along an axis, the last one shorter where it does not divide "
           "evenly.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .result = {"parts"},
    .attr_bytes = sizeof(split_attr),
    .attrs = split_attrs,
    .flags = EBB_OP_VARIADIC_OUT | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = split_shape,
    .forward = split_forward,
    .vjp = split_vjp,
    EBB_SAMPLES({.in = {"6x4"}, .attr = "size=2 axis=0", .n_out = 3},
                {.in = {"5x2"}, .attr = "size=2 axis=0", .n_out = 3},
                {.in = {"2x7x3"}, .attr = "size=4 axis=-2", .n_out = 2},
                {.in = {"3"}, .attr = "size=5 axis=0", .n_out = 1}),
};

/* A part that nobody used (EBB_NONE) is zeros that are never made by themselves. */
static ebb_status split_grad_shape(ebb__call *c)
{
    const split_grad_attr *a = c->attr;
    ebb_shape part = a->shape;
    int64_t n = part.dims[a->axis];
    ebb_dtype dtype = 0;
    char gt[EBB__SHAPE_TEXT], pt[EBB__SHAPE_TEXT];
    for (int32_t k = 0; k < c->n_in; k++) {
        if (!ebb__given(c, k)) continue;
        if (dtype == 0) dtype = c->in[k].dtype;
        part.dims[a->axis] = part_length(n, a->size, k);
        if (c->in[k].dtype != dtype || !ebb__shape_equal(&c->in[k].shape, &part))
            return ebb__fail(EBB_E_SHAPE, "gs[%d] is %s %s, the part was %s %s", (int)k,
                             ebb_dtype_name(c->in[k].dtype),
                             ebb__shape_text(gt, sizeof gt, &c->in[k].shape),
                             ebb_dtype_name(dtype), ebb__shape_text(pt, sizeof pt, &part));
    }
    if (dtype == 0) return ebb__fail(EBB_E_MISUSE, "every part is absent");
    ebb__set_out(c, 0, dtype, &a->shape);
    return EBB_OK;
}

static ebb_status split_grad_forward(const ebb__call *c)
{
    const split_grad_attr *a = c->attr;
    ebb__around whole = ebb__around_axis(&a->shape, a->axis);
    size_t element = ebb__dtype_size(c->out[0].dtype);
    join_work w = {.whole = c->out[0].data,
                   .whole_bytes = (size_t)(whole.n * whole.inner) * element};
    for (int32_t k = 0; k < c->n_in; k++) {
        w.what = ebb__given(c, k) ? JOIN_PUT : JOIN_CLEAR;
        join_part(&w, c, &whole, part_length(whole.n, a->size, k), c->in[k].data, element);
    }
    return EBB_OK;
}

static void split_grad_vjp(ebb_vjp *v)
{
    const split_grad_attr *a = v->attr;
    int64_t narrow[3] = {a->axis, 0, 0};
    for (int32_t k = 0; k < v->n_in; k++, narrow[1] += narrow[2]) {
        narrow[2] = part_length(a->shape.dims[a->axis], a->size, k);
        if (ebb__wants(v, k)) ebb__give(v, k, EBB_EMIT(v, narrow, narrow, ebb__grad(v, 0)));
    }
}

const ebb_op ebb__op_split_grad = {
    EBB_OP_HEAD(split_grad),
    .doc = "The gradients of split's parts side by side, zeros for parts nobody used.",
    .n_in = 1,
    .n_out = 1,
    .optional = 1u << 0,
    .arg = {"gs"},
    .attr_bytes = sizeof(split_grad_attr),
    .attrs = split_grad_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_VARIADIC_IN | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = split_grad_shape,
    .forward = split_grad_forward,
    .vjp = split_grad_vjp,
    EBB_SAMPLES({.in = {"2x4", "2x4", "2x4"}, .attr = "size=2 axis=0 shape=6x4"},
                {.in = {"2x2", "-", "1x2"}, .attr = "size=2 axis=0 shape=5x2"},
                {.in = {"2x4x3", "2x3x3"}, .attr = "size=4 axis=1 shape=2x7x3"}),
};
