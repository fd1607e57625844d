/* scatter.c - elements put at places named by an index: scatter, scatter_value, index_put, take.
 *
 * index is gone through in C order on one thread, so of several elements for one place the last
 * one wins, always; only the winner has a gradient. All operands may have any strides: an index
 * repeated along an axis is not written out.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/attrs.h"
#include "ops/index.h"
#include "ops/kernels/copy.h"
#include "ops/rule.h"

#include <string.h>

typedef struct scatter_value_attr {
    int64_t axis; /* first, as in ebb__axis_attr */
    double value;
} scatter_value_attr;
static const ebb_attr_spec scatter_attrs[] = {
    {"axis", EBB_ATTR_I64, 0, false, "negative: from the end"}, {0}};
static const ebb_attr_spec scatter_value_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(scatter_value_attr, axis), false, "negative: from the end"},
    {"value", EBB_ATTR_F64, offsetof(scatter_value_attr, value), false,
     "one that x's dtype holds"},
    {0}};

/* ---- kernels ---------------------------------------------------------------------------- */
/* A place in index, and what lies there: elements of index, of a tensor of index's shape, and of
 * the whole, the axis left out. */
typedef struct scatter_walk {
    const ebb_shape *shape; /* of index */
    int64_t at[EBB_MAX_DIMS], step[3][EBB_MAX_DIMS], offset[3];
    const ebb_view *index;
    int64_t n, axis_step; /* of the whole */
} scatter_walk;
enum { OF_INDEX, OF_SIDE, OF_WHOLE };

static scatter_walk walk_start(const ebb_view *index, const ebb_view *side,
                               const ebb_view *whole, int64_t axis)
{
    scatter_walk w = {.shape = &index->shape, .index = index, .n = whole->shape.dims[axis]};
    for (int64_t d = 0; d < index->shape.n_dims; d++) {
        w.step[OF_INDEX][d] = index->strides[d];
        w.step[OF_SIDE][d] = side ? side->strides[d] : 0;
        w.step[OF_WHOLE][d] = d == axis ? 0 : whole->strides[d];
    }
    w.axis_step = whole->strides[axis];
    return w;
}

/* Places at[d] of one dimension on or back. */
static void walk_move(scatter_walk *w, int64_t d, int64_t by)
{
    w->at[d] += by;
    for (int k = 0; k < 3; k++) w->offset[k] += by * w->step[k][d];
}

static void walk_next(scatter_walk *w)
{
    for (int64_t d = w->shape->n_dims - 1; d >= 0; d--) {
        walk_move(w, d, 1);
        if (w->at[d] < w->shape->dims[d]) return;
        walk_move(w, d, -w->shape->dims[d]);
    }
}

static void walk_previous(scatter_walk *w)
{
    for (int64_t d = w->shape->n_dims - 1; d >= 0; d--) {
        walk_move(w, d, -1);
        if (w->at[d] >= 0) return;
        walk_move(w, d, w->shape->dims[d]);
    }
}

static int64_t walk_index(const scatter_walk *w)
{
    return ebb__index_at(w->index, w->offset[OF_INDEX]);
}

static int64_t walk_place(const scatter_walk *w)
{
    return w->offset[OF_WHOLE] + ebb__index_wrap(walk_index(w), w->n) * w->axis_step;
}

/* As ebb__index_check, for an index of any strides. */
static ebb_status check_range(const ebb_view *index, const ebb_view *whole, int64_t axis)
{
    int64_t count = ebb__n_elems(&index->shape), n = whole->shape.dims[axis];
    scatter_walk w = walk_start(index, NULL, whole, axis);
    for (int64_t k = 0; k < count; k++, walk_next(&w))
        if (walk_index(&w) < -n || walk_index(&w) >= n)
            return ebb__fail(
                EBB_E_RANGE, "index %lld at position %lld is outside [-%lld, %lld)",
                (long long)walk_index(&w), (long long)k, (long long)n, (long long)n);
    return EBB_OK;
}

static int64_t axis_of(const ebb__call *c)
{
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    return axis < 0 ? axis + c->in[0].shape.n_dims : axis;
}

/* out is x, with the elements of src (or the one value where src is NULL) at index. */
static ebb_status put_all(const ebb__call *c, const ebb_view *src, const void *value)
{
    int64_t axis = axis_of(c), n = ebb__n_elems(&c->in[1].shape);
    size_t size = ebb__dtype_size(c->out[0].dtype);
    ebb_view out = c->out[0];
    ebb__view_contiguous(&out);
    EBB_TRY(check_range(&c->in[1], &out, axis));
    if (ebb__n_elems(&out.shape) > 0) ebb__copy_view(&out, &c->in[0], c->n_threads);
    scatter_walk w = walk_start(&c->in[1], src, &out, axis);
    for (int64_t k = 0; k < n; k++, walk_next(&w))
        memcpy((char *)out.data + (size_t)walk_place(&w) * size,
               src ? (const char *)src->data + w.offset[OF_SIDE] * (int64_t)size : value, size);
    return EBB_OK;
}

/* ---- shapes ----------------------------------------------------------------------------- */
static ebb_status check_index(const ebb__call *c)
{
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    const ebb_shape *x = &c->in[0].shape, *index = &c->in[1].shape;
    char xt[EBB__SHAPE_TEXT], it[EBB__SHAPE_TEXT];
    EBB_TRY(ebb__check_integer(c, 1));
    EBB_TRY(ebb__axis_check(&axis, x->n_dims));
    bool fits = index->n_dims == x->n_dims;
    for (int64_t d = 0; fits && d < x->n_dims; d++)
        fits = d == axis || index->dims[d] <= x->dims[d];
    if (fits) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE,
                     "%s is %s, index is %s: it must have as many axes and, axis %lld aside, "
                     "be nowhere longer",
                     ebb__arg_name(c, 0), ebb__shape_text(xt, sizeof xt, x),
                     ebb__shape_text(it, sizeof it, index), (long long)axis);
}

/* ---- scatter ---------------------------------------------------------------------------- */
static ebb_status scatter_shape(ebb__call *c)
{
    EBB_TRY(check_index(c));
    EBB_TRY(ebb__check_dtype_as(c, 2, 0));
    EBB_TRY(ebb__check_shape_as(c, 2, 1));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status scatter_forward(const ebb__call *c)
{
    return put_all(c, &c->in[2], NULL);
}

static void scatter_vjp(ebb_vjp *v)
{
    scatter_value_attr none = {((const ebb__axis_attr *)v->attr)->axis, 0};
    ebb_tensor *g = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, scatter_value, &none, g, ebb__in(v, 1)));
    if (ebb__wants(v, 2)) ebb__give(v, 2, EBB_EMIT(v, scatter_pick, v->attr, g, ebb__in(v, 1)));
}

const ebb_op ebb__op_scatter = {
    EBB_OP_HEAD(scatter),
    .doc = "x with src[i..., j, k...] at [i..., index[i..., j, k...], k...]; src has index's "
           "shape; of several for one place the last in C order wins.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"x", "index", "src"},
    .attr_bytes = sizeof(ebb__axis_attr),
    .attrs = scatter_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1), 0, EBB_NEED_IN(1)},
    .shape = scatter_shape,
    .forward = scatter_forward,
    .vjp = scatter_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:2x4<3", "2x4"}, .attr = "axis=0"},
                {.in = {"2x3x2", "i32:2x5x1<3", "2x5x1"}, .attr = "axis=-2"},
                {.in = {"1", "u8:3<1", "3"}, .attr = "axis=0"},
                {.in = {"i64:4<9", "i64:3<4", "i64:3<9"}, .attr = "axis=0"},
                {.in = {"3x2", "i64:0x2", "0x2"}, .attr = "axis=0"}),
};

/* ---- scatter_value ---------------------------------------------------------------------- */
static ebb_status scatter_value_shape(ebb__call *c)
{
    EBB_TRY(check_index(c));
    EBB_TRY(ebb__check_holds(c->in[0].dtype, ((const scatter_value_attr *)c->attr)->value));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status scatter_value_forward(const ebb__call *c)
{
    uint64_t bits =
        ebb__element_bits(c->in[0].dtype, ((const scatter_value_attr *)c->attr)->value);
    return put_all(c, NULL, &bits);
}

static void scatter_value_vjp(ebb_vjp *v)
{
    scatter_value_attr none = {((const scatter_value_attr *)v->attr)->axis, 0};
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, scatter_value, &none, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_scatter_value = {
    EBB_OP_HEAD(scatter_value),
    .doc = "x with one value at the places index names along an axis.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "index"},
    .attr_bytes = sizeof(scatter_value_attr),
    .attrs = scatter_value_attrs,
    .flags = EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = scatter_value_shape,
    .forward = scatter_value_forward,
    .vjp = scatter_value_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:2x4<3"}, .attr = "axis=0 value=0.5"},
                {.in = {"2x3x2", "i32:2x5x1<3"}, .attr = "axis=-2 value=0"},
                {.in = {"1", "u8:3<1"}, .attr = "axis=0 value=-2"},
                {.in = {"u8:4<9", "i64:3<4"}, .attr = "axis=0 value=7"},
                {.in = {"3x2", "i64:0x2"}, .attr = "axis=0 value=1"}),
};

/* ---- scatter_pick ----------------------------------------------------------------------- */
static ebb_status scatter_pick_shape(ebb__call *c)
{
    EBB_TRY(check_index(c));
    c->scratch_bytes =
        (size_t)ebb__n_elems(&c->in[0].shape); /* places that have their winner */
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    return EBB_OK;
}

/* From the last place of index to the first, so that the winner comes first. */
static ebb_status scatter_pick_forward(const ebb__call *c)
{
    int64_t axis = axis_of(c), n = ebb__n_elems(&c->in[1].shape);
    size_t size = ebb__dtype_size(c->out[0].dtype);
    ebb_view whole = {.shape = c->in[0].shape};
    uint8_t *taken = c->scratch;
    ebb__view_contiguous(&whole);
    EBB_TRY(check_range(&c->in[1], &whole, axis));
    if (n == 0) return EBB_OK;
    memset(taken, 0, c->scratch_bytes);
    scatter_walk from = walk_start(&c->in[1], NULL, &c->in[0], axis);
    scatter_walk mark = walk_start(&c->in[1], NULL, &whole, axis);
    for (int64_t k = n - 1; k >= 0; k--) {
        walk_previous(&from);
        walk_previous(&mark);
        char *to = (char *)c->out[0].data + (size_t)k * size;
        int64_t place = walk_place(&mark);
        if (taken[place])
            memset(to, 0, size);
        else
            memcpy(to, (const char *)c->in[0].data + walk_place(&from) * (int64_t)size, size);
        taken[place] = 1;
    }
    return EBB_OK;
}

static void scatter_pick_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb_tensor *zeros = ebb__rule_zeros(v, ebb__in_dtype(v, 0), ebb__in_shape(v, 0));
    ebb__give(v, 0, EBB_EMIT(v, scatter, v->attr, zeros, ebb__in(v, 1), ebb__grad(v, 0)));
}

const ebb_op ebb__op_scatter_pick = {
    EBB_OP_HEAD(scatter_pick),
    .doc = "out[place] = g at the place index names, 0 where a later one in C order names the "
           "same; the gradient of scatter's src.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "index"},
    .attr_bytes = sizeof(ebb__axis_attr),
    .attrs = scatter_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_MOVES | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = scatter_pick_shape,
    .forward = scatter_pick_forward,
    .vjp = scatter_pick_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:2x4<3"}, .attr = "axis=0"},
                {.in = {"2x3x2", "i32:2x5x1<3"}, .attr = "axis=1"},
                {.in = {"1", "u8:3<1"}, .attr = "axis=0"},
                {.in = {"3x2", "i64:0x2"}, .attr = "axis=0"}),
};
