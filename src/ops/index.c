/* index.c - rows chosen by index: index_select, index_add, embedding, one_hot.
 *
 * Seen around the axis, x is (outer, n, inner) and the result (outer, m, inner) with m indices.
 * Where rows are added, each thread owns some of the target rows and goes through all indices
 * in order: repeated ones add up in one order, whatever the number of threads.
 * SPDX-License-Identifier: MIT */
#include "ops/index.h"

#include "ops/attrs.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

typedef struct index_attr {
    int64_t axis;
} index_attr;
static const ebb_attr_spec index_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(index_attr, axis), false, "negative: from the end"}, {0}};
static const ebb_attr_spec index_grad_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(ebb__row_grad_attr, axis), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(ebb__row_grad_attr, shape), false, NULL},
    {"skips", EBB_ATTR_I64, offsetof(ebb__row_grad_attr, skips), false, NULL},
    {"skipped", EBB_ATTR_I64, offsetof(ebb__row_grad_attr, skipped), false, NULL},
    {0}};
static const ebb_attr_spec embedding_attrs[] = {
    {"padding", EBB_ATTR_BOOL, offsetof(ebb__embedding_attr, padding), true,
     "the row padding_idx of w gets no gradient"},
    {"padding_idx", EBB_ATTR_I64, offsetof(ebb__embedding_attr, padding_idx), true,
     "read where padding is set; negative: from the end"},
    {0}};

typedef struct index_work {
    ebb__around around; /* of the side that has n rows */
    int64_t m;
    const ebb_view *index;
    ebb_dtype dtype;
    const void *from;
    void *to;
    bool is_fresh;   /* target rows start as zeros */
    int64_t skipped; /* the row of the axis to which nothing is added; -1: none */
} index_work;

ebb_status ebb__index_check(const ebb_view *index, int64_t n)
{
    int64_t count = ebb__n_elems(&index->shape);
    bool outside = false; /* of any: without a branch in the loop */
    for (int64_t i = 0; i < count; i++) {
        int64_t at = ebb__index_at(index, i);
        outside |= (at < -n) | (at >= n);
    }
    for (int64_t i = 0; outside && i < count; i++) {
        int64_t at = ebb__index_at(index, i);
        if (at < -n || at >= n)
            return ebb__fail(EBB_E_RANGE,
                             "index %lld at position %lld is outside [-%lld, %lld)",
                             (long long)at, (long long)i, (long long)n, (long long)n);
    }
    return EBB_OK;
}

/* ---- kernels ---------------------------------------------------------------------------- */
/* Rows [lo, hi) of outer * m. */
static void take_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const index_work *w = arg;
    size_t bytes = (size_t)w->around.inner * ebb__dtype_size(w->dtype);
    for (int64_t row = lo; row < hi; row++) {
        int64_t at = ebb__index_wrap(ebb__index_at(w->index, row % w->m), w->around.n);
        int64_t source = row / w->m * w->around.n + at;
        memcpy((char *)w->to + (size_t)row * bytes,
               (const char *)w->from + (size_t)source * bytes, bytes);
    }
}

/* Target rows [lo, hi) of outer * n. */
static void add_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const index_work *w = arg;
    int64_t n = w->around.n, inner = w->around.inner;
    size_t bytes = (size_t)inner * ebb__dtype_size(w->dtype);
    if (w->is_fresh) memset((char *)w->to + (size_t)lo * bytes, 0, (size_t)(hi - lo) * bytes);
    for (int64_t outer = lo / n; outer * n < hi; outer++)
        for (int64_t j = 0; j < w->m; j++) {
            int64_t at = ebb__index_wrap(ebb__index_at(w->index, j), n), row = outer * n + at;
            if (row < lo || row >= hi || at == w->skipped) continue;
            ebb__add_row((char *)w->to + (size_t)row * bytes,
                         (const char *)w->from + (size_t)(outer * w->m + j) * bytes, inner,
                         w->dtype);
        }
}

static ebb_status take(const ebb__call *c, int64_t axis)
{
    index_work w = {.around = ebb__around_axis(&c->in[0].shape, axis),
                    .m = ebb__n_elems(&c->in[1].shape),
                    .index = &c->in[1],
                    .dtype = c->in[0].dtype,
                    .from = c->in[0].data,
                    .to = c->out[0].data};
    EBB_TRY(ebb__index_check(w.index, w.around.n));
    ebb__parallel(c->n_threads, w.around.outer * w.m, ebb__grain(w.around.inner), take_rows,
                  &w);
    return EBB_OK;
}

/* from: (outer, m, inner), added to the rows of out, which has the axis. */
static ebb_status add(const ebb__call *c, int64_t axis, const ebb_view *from, bool is_fresh,
                      int64_t skipped)
{
    index_work w = {.around = ebb__around_axis(&c->out[0].shape, axis),
                    .m = ebb__n_elems(&c->in[1].shape),
                    .index = &c->in[1],
                    .dtype = from->dtype,
                    .from = from->data,
                    .to = c->out[0].data,
                    .is_fresh = is_fresh,
                    .skipped = skipped};
    EBB_TRY(ebb__index_check(w.index, w.around.n));
    int64_t rows = w.around.outer * w.around.n;
    if (rows == 0) return EBB_OK;
    ebb__parallel(c->n_threads, rows, ebb__grain(w.around.inner), add_rows, &w);
    return EBB_OK;
}

/* x's shape with the axis replaced by the dimensions of index. */
static ebb_status taken_shape(ebb_shape *out, const ebb_shape *x, const ebb_shape *index,
                              int64_t axis)
{
    if (x->n_dims - 1 + index->n_dims > EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE,
                         "the result would have %lld dimensions, at most %d are possible",
                         (long long)(x->n_dims - 1 + index->n_dims), EBB_MAX_DIMS);
    *out = (ebb_shape){0};
    for (int64_t i = 0; i < axis; i++) out->dims[out->n_dims++] = x->dims[i];
    for (int64_t i = 0; i < index->n_dims; i++) out->dims[out->n_dims++] = index->dims[i];
    for (int64_t i = axis + 1; i < x->n_dims; i++) out->dims[out->n_dims++] = x->dims[i];
    return EBB_OK;
}

static ebb_status check_taken(const ebb__call *c, int32_t i, const ebb_shape *x, int64_t axis)
{
    ebb_shape want;
    EBB_TRY(taken_shape(&want, x, &c->in[1].shape, axis));
    char a[EBB__SHAPE_TEXT], b[EBB__SHAPE_TEXT];
    if (ebb__shape_equal(&want, &c->in[i].shape)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "%s is %s, the index asks for %s", ebb__arg_name(c, i),
                     ebb__shape_text(a, sizeof a, &c->in[i].shape),
                     ebb__shape_text(b, sizeof b, &want));
}

static int64_t axis_of(const ebb__call *c)
{
    int64_t axis = ((const index_attr *)c->attr)->axis;
    return axis < 0 ? axis + c->in[0].shape.n_dims : axis;
}

static ebb_status check_axis(const ebb__call *c)
{
    int64_t axis = ((const index_attr *)c->attr)->axis;
    return ebb__axis_check(&axis, c->in[0].shape.n_dims);
}

/* ---- index_select, and the gradient of all that take rows ------------------------------- */
static ebb_status index_select_shape(ebb__call *c)
{
    ebb_shape out;
    EBB_TRY(ebb__check_integer(c, 1));
    EBB_TRY(ebb__check_rank(c, 1, 1));
    EBB_TRY(check_axis(c));
    EBB_TRY(taken_shape(&out, &c->in[0].shape, &c->in[1].shape, axis_of(c)));
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status index_select_forward(const ebb__call *c)
{
    return take(c, axis_of(c));
}

static void index_select_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__row_grad_attr attr = {((const index_attr *)v->attr)->axis, ebb__in_shape(v, 0), 0, 0};
    if (attr.axis < 0) attr.axis += attr.shape.n_dims;
    ebb__give(v, 0, EBB_EMIT(v, index_grad, &attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_index_select = {
    EBB_OP_HEAD(index_select),
    .doc = "out[..., j, ...] = x[..., index[j], ...] along one axis; negative indices count "
           "from the "
           "end.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "index"},
    .attr_bytes = sizeof(index_attr),
    .attrs = index_attrs,
    .flags = EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = index_select_shape,
    .forward = index_select_forward,
    .vjp = index_select_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:5<3"}, .attr = "axis=0"},
                {.in = {"3x4", "u8:2<4"}, .attr = "axis=-1"},
                {.in = {"2x3x2", "i32:4<3"}, .attr = "axis=1"},
                {.in = {"3", "i64:0"}, .attr = "axis=0"},
                {.in = {"1", "i64:3<1"}, .attr = "axis=0"}),
};

static ebb_status index_grad_shape(ebb__call *c)
{
    const ebb__row_grad_attr *a = c->attr;
    int64_t axis = a->axis;
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(ebb__check_integer(c, 1));
    EBB_TRY(ebb__axis_check(&axis, a->shape.n_dims));
    EBB_TRY(check_taken(c, 0, &a->shape, axis));
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    return EBB_OK;
}

static ebb_status index_grad_forward(const ebb__call *c)
{
    const ebb__row_grad_attr *a = c->attr;
    return add(c, a->axis, &c->in[0], true, a->skips ? a->skipped : -1);
}

/* Only along axis 0 may an index have other than one dimension. */
static void index_grad_vjp(ebb_vjp *v)
{
    const ebb__row_grad_attr *a = v->attr;
    if (!ebb__wants(v, 0)) return;
    ebb_tensor *u = ebb__grad(v, 0), *index = ebb__in(v, 1);
    index_attr attr = {a->axis};
    ebb__embedding_attr plain;
    memset(&plain, 0, sizeof plain);
    if (a->skips) {
        ebb__slice_attr row = {a->axis, a->skipped, a->skipped + 1, 1};
        ebb_tensor *zero = ebb__rule_zeros(v, ebb__in_dtype(v, 0), EBB_SCALAR);
        u = EBB_EMIT(v, slice_assign, &row, u, zero);
    }
    ebb__give(v, 0,
              a->axis == 0 ? EBB_EMIT(v, embedding, &plain, u, index)
                           : EBB_EMIT(v, index_select, &attr, u, index));
}

const ebb_op ebb__op_index_grad = {
    EBB_OP_HEAD(index_grad),
    .doc = "zeros of the given shape with the rows of g added at index; the gradient of "
           "index_select and embedding.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "index"},
    .attr_bytes = sizeof(ebb__row_grad_attr),
    .attrs = index_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = index_grad_shape,
    .forward = index_grad_forward,
    .vjp = index_grad_vjp,
    EBB_SAMPLES({.in = {"5x4", "i64:5<3"}, .attr = "axis=0 shape=3x4"},
                {.in = {"2x4x2", "i32:4<3"}, .attr = "axis=1 shape=2x3x2"},
                {.in = {"2x3x4", "u8:2x3<3"}, .attr = "axis=0 shape=3x4"},
                {.in = {"5x4", "i64:5<3"}, .attr = "axis=0 shape=3x4 skips=1 skipped=2"},
                {.in = {"0", "i64:0"}, .attr = "axis=0 shape=3"}),
};

/* ---- index_add -------------------------------------------------------------------------- */
static ebb_status index_add_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_number(c, 0));
    EBB_TRY(ebb__check_integer(c, 1));
    EBB_TRY(ebb__check_rank(c, 1, 1));
    EBB_TRY(ebb__check_dtype_as(c, 2, 0));
    EBB_TRY(check_axis(c));
    EBB_TRY(check_taken(c, 2, &c->in[0].shape, axis_of(c)));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status index_add_forward(const ebb__call *c)
{
    size_t bytes = (size_t)ebb__n_elems(&c->out[0].shape) * ebb__dtype_size(c->out[0].dtype);
    if (bytes > 0) memcpy(c->out[0].data, c->in[0].data, bytes);
    return add(c, axis_of(c), &c->in[2], false, -1);
}

static void index_add_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, g);
    if (ebb__wants(v, 2)) ebb__give(v, 2, EBB_EMIT(v, index_select, v->attr, g, ebb__in(v, 1)));
}

const ebb_op ebb__op_index_add = {
    EBB_OP_HEAD(index_add),
    .doc = "x with src[..., j, ...] added at [..., index[j], ...]; repeated indices add up.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"x", "index", "src"},
    .attr_bytes = sizeof(index_attr),
    .attrs = index_attrs,
    .bound = EBB_BOUND_MEMORY,
    .need = {0, 0, EBB_NEED_IN(1)},
    .shape = index_add_shape,
    .forward = index_add_forward,
    .vjp = index_add_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:5<3", "5x4"}, .attr = "axis=0"},
                {.in = {"2x3x2", "i32:4<3", "2x4x2"}, .attr = "axis=-2"},
                {.in = {"3", "u8:1<3", "1"}, .attr = "axis=0"},
                {.in = {"3", "i64:0", "0"}, .attr = "axis=0"}),
};

/* ---- embedding -------------------------------------------------------------------------- */
static ebb_status embedding_shape(ebb__call *c)
{
    ebb_shape out;
    EBB_TRY(ebb__check_integer(c, 1));
    EBB_TRY(ebb__check_rank_at_least(c, 0, 1));
    EBB_TRY(taken_shape(&out, &c->in[0].shape, &c->in[1].shape, 0));
    const ebb__embedding_attr *a = c->attr;
    int64_t n = c->in[0].shape.dims[0];
    if (a->padding && (a->padding_idx < -n || a->padding_idx >= n))
        return ebb__fail(EBB_E_RANGE, "padding_idx %lld is outside [-%lld, %lld)",
                         (long long)a->padding_idx, (long long)n, (long long)n);
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status embedding_forward(const ebb__call *c)
{
    return take(c, 0);
}

static void embedding_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    const ebb__embedding_attr *a = v->attr;
    ebb__row_grad_attr attr = {0, ebb__in_shape(v, 0), a->padding, 0};
    if (a->padding) attr.skipped = ebb__index_wrap(a->padding_idx, attr.shape.dims[0]);
    ebb__give(v, 0, EBB_EMIT(v, index_grad, &attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_embedding = {
    EBB_OP_HEAD(embedding),
    .doc = "out[i..., :] = w[index[i...], :]; index has any shape, negative ones count from "
           "the end.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"w", "index"},
    .attr_bytes = sizeof(ebb__embedding_attr),
    .options_bytes = sizeof(ebb__embedding_attr),
    .attrs = embedding_attrs,
    .options = "embedding",
    .flags = EBB_OP_SHORT | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = embedding_shape,
    .forward = embedding_forward,
    .vjp = embedding_vjp,
    EBB_SAMPLES({.in = {"5x3", "i64:4<5"}}, {.in = {"5x3", "i32:2x3<5"}},
                {.in = {"5x3", "u8:<5"}}, {.in = {"4", "i64:2x2<4"}}, {.in = {"1x1", "i64:0"}},
                {.in = {"5x3", "i64:6<3"}, .attr = "padding=1 padding_idx=3"},
                {.in = {"5x3", "i32:2x3<4"}, .attr = "padding=1 padding_idx=-1"}),
};
