/* diagonal.c - diagonals of matrices: diagonal (a view), diag_embed, diag, trace.
 *
 * The diagonal of offset k has the elements [i, i + k] for k >= 0 and [i - k, i] for k < 0 of
 * the plane of two axes; it becomes the last axis.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/copy.h"
#include "ops/operand.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

typedef struct diagonal_attr {
    int64_t offset, a, b;
} diagonal_attr;
static const ebb_attr_spec diagonal_attrs[] = {
    {"offset", EBB_ATTR_I64, offsetof(diagonal_attr, offset), false,
     "> 0: above the main diagonal, < 0: below it"},
    {"a", EBB_ATTR_I64, offsetof(diagonal_attr, a), false, "the axis of rows"},
    {"b", EBB_ATTR_I64, offsetof(diagonal_attr, b), false, "the axis of columns"},
    {0}};
typedef struct diagonal_put_attr {
    int64_t offset, a, b;
    ebb_shape shape; /* of the whole */
} diagonal_put_attr;
static const ebb_attr_spec diagonal_put_attrs[] = {
    {"offset", EBB_ATTR_I64, offsetof(diagonal_put_attr, offset), false, NULL},
    {"a", EBB_ATTR_I64, offsetof(diagonal_put_attr, a), false, NULL},
    {"b", EBB_ATTR_I64, offsetof(diagonal_put_attr, b), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(diagonal_put_attr, shape), false, NULL},
    {0}};

static ebb_status check_axes(int64_t *a, int64_t *b, int64_t rank)
{
    EBB_TRY(ebb__axis_check(a, rank));
    EBB_TRY(ebb__axis_check(b, rank));
    if (*a != *b) return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "axis %lld is given twice", (long long)*a);
}

static int64_t diagonal_length(int64_t rows, int64_t columns, int64_t offset)
{
    int64_t n = offset >= 0 ? (columns - offset < rows ? columns - offset : rows)
                            : (rows + offset < columns ? rows + offset : columns);
    return n > 0 ? n : 0;
}

/* The view of x's diagonal; *first in elements from x's first. Axes are resolved. */
static void diagonal_of(ebb_view *out, int64_t *first, const ebb_view *x, int64_t offset,
                        int64_t a, int64_t b)
{
    int64_t n = diagonal_length(x->shape.dims[a], x->shape.dims[b], offset);
    ebb_view v = {.data = x->data, .dtype = x->dtype};
    for (int64_t d = 0; d < x->shape.n_dims; d++) {
        if (d == a || d == b) continue;
        v.shape.dims[v.shape.n_dims] = x->shape.dims[d];
        v.strides[v.shape.n_dims++] = x->strides[d];
    }
    v.shape.dims[v.shape.n_dims] = n;
    v.strides[v.shape.n_dims++] = x->strides[a] + x->strides[b];
    *first = n == 0 ? 0 : offset >= 0 ? offset * x->strides[b] : -offset * x->strides[a];
    *out = v;
}

/* ---- diagonal --------------------------------------------------------------------------- */
static ebb_status diagonal_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)copy;
    diagonal_attr k = *(const diagonal_attr *)c->attr;
    int64_t first;
    EBB_TRY(check_axes(&k.a, &k.b, c->in[0].shape.n_dims));
    if (k.offset == INT64_MIN) k.offset++; /* as empty, and it has a negative */
    diagonal_of(out, &first, &c->in[0], k.offset, k.a, k.b);
    *offset += first;
    return EBB_OK;
}

static void diagonal_vjp(ebb_vjp *v)
{
    const diagonal_attr *k = v->attr;
    diagonal_put_attr put = {k->offset, k->a, k->b, ebb__in_shape(v, 0)};
    if (put.a < 0) put.a += put.shape.n_dims;
    if (put.b < 0) put.b += put.shape.n_dims;
    ebb__give(v, 0, EBB_EMIT(v, diagonal_put, &put, ebb__grad(v, 0)));
}

const ebb_op ebb__op_diagonal = {
    EBB_OP_HEAD(diagonal),
    .doc =
        "out[..., i] = x[..., i, ..., i + offset, ...]: the diagonal of the plane of two axes, "
        "as the last axis; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(diagonal_attr),
    .attrs = diagonal_attrs,
    .flags = EBB_OP_VIEW | EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .view = diagonal_view,
    .vjp = diagonal_vjp,
    EBB_SAMPLES({.in = {"3x3"}, .attr = "offset=0 a=0 b=1"},
                {.in = {"3x5"}, .attr = "offset=1 a=0 b=1"},
                {.in = {"4x2x3"}, .attr = "offset=-1 a=0 b=-1"},
                {.in = {"2x3x4"}, .attr = "offset=0 a=-1 b=-2"},
                {.in = {"3x3"}, .attr = "offset=7 a=0 b=1"},
                {.in = {"1x1"}, .attr = "offset=0 a=0 b=1"},
                {.in = {"2x0x3"}, .attr = "offset=0 a=1 b=2"}),
};

/* ---- diagonal_put ----------------------------------------------------------------------- */
static ebb_status diagonal_put_shape(ebb__call *c)
{
    diagonal_put_attr k = *(const diagonal_put_attr *)c->attr;
    ebb_view whole = {.shape = k.shape}, part;
    int64_t first;
    EBB_TRY(check_axes(&k.a, &k.b, k.shape.n_dims));
    diagonal_of(&part, &first, &whole, k.offset, k.a, k.b);
    if (!ebb__shape_equal(&part.shape, &c->in[0].shape)) {
        char xt[EBB__SHAPE_TEXT], pt[EBB__SHAPE_TEXT];
        return ebb__fail(EBB_E_SHAPE, "x is %s, the diagonal is %s",
                         ebb__shape_text(xt, sizeof xt, &c->in[0].shape),
                         ebb__shape_text(pt, sizeof pt, &part.shape));
    }
    ebb__set_out(c, 0, c->in[0].dtype, &k.shape);
    return EBB_OK;
}

static ebb_status diagonal_put_forward(const ebb__call *c)
{
    const diagonal_put_attr *k = c->attr;
    ebb_view whole = c->out[0], part;
    size_t size = ebb__dtype_size(whole.dtype);
    int64_t first, n = ebb__n_elems(&whole.shape);
    if (n == 0) return EBB_OK;
    memset(whole.data, 0, (size_t)n * size);
    ebb__view_contiguous(&whole);
    diagonal_of(&part, &first, &whole, k->offset, k->a, k->b);
    part.data = (char *)part.data + first * (int64_t)size;
    if (ebb__n_elems(&part.shape) > 0) ebb__copy_view(&part, &c->in[0], c->n_threads);
    return EBB_OK;
}

static void diagonal_put_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, diagonal, v->attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_diagonal_put = {
    EBB_OP_HEAD(diagonal_put),
    .doc = "Zeros of a shape with x on a diagonal; the gradient of diagonal.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(diagonal_put_attr),
    .attrs = diagonal_put_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_PRIVATE | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = diagonal_put_shape,
    .forward = diagonal_put_forward,
    .vjp = diagonal_put_vjp,
    EBB_SAMPLES({.in = {"3"}, .attr = "offset=0 a=0 b=1 shape=3x3"},
                {.in = {"3"}, .attr = "offset=1 a=0 b=1 shape=3x5"},
                {.in = {"2x3"}, .attr = "offset=-1 a=0 b=2 shape=4x2x3"},
                {.in = {"2x0"}, .attr = "offset=0 a=1 b=2 shape=2x0x3"}),
};

/* ---- diag_embed, diag, trace ------------------------------------------------------------ */
/* The whole is square and just holds the diagonal. */
static ebb_tensor *embed(ebb_vjp *v, ebb_tensor *x, int64_t offset, int64_t a, int64_t b)
{
    ebb_shape s = ebb_shape_get(x);
    diagonal_put_attr put = {.offset = offset, .shape = {.n_dims = s.n_dims + 1}};
    if (s.n_dims < 1 || s.n_dims == EBB_MAX_DIMS || offset > INT32_MAX || offset < -INT32_MAX) {
        v->status = ebb__fail(EBB_E_RANGE,
                              "x has %lld axes and offset is %lld: 1 to %d axes and less than "
                              "2^31 are allowed",
                              (long long)s.n_dims, (long long)offset, EBB_MAX_DIMS - 1);
        return NULL;
    }
    v->status = check_axes(&a, &b, put.shape.n_dims);
    if (v->status != EBB_OK) return NULL;
    put.a = a, put.b = b;
    int64_t side = s.dims[s.n_dims - 1] + (offset < 0 ? -offset : offset), from = 0;
    for (int64_t d = 0; d < put.shape.n_dims; d++)
        put.shape.dims[d] = d == a || d == b ? side : s.dims[from++];
    return EBB_EMIT(v, diagonal_put, &put, x);
}

static void diag_embed_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                               int32_t n_in, const void *attr)
{
    (void)n_in;
    const diagonal_attr *k = attr;
    out[0] = embed(v, in[0], k->offset, k->a, k->b);
}

const ebb_op ebb__op_diag_embed = {
    EBB_OP_HEAD(diag_embed),
    .doc = "Square matrices of zeros with the last axis of x on a diagonal; two axes of the "
           "result are the rows and columns.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(diagonal_attr),
    .attrs = diagonal_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = diag_embed_compose,
    EBB_SAMPLES({.in = {"3"}, .attr = "offset=0 a=-2 b=-1"},
                {.in = {"2x3"}, .attr = "offset=1 a=-2 b=-1"},
                {.in = {"2x3"}, .attr = "offset=-2 a=0 b=2"},
                {.in = {"1"}, .attr = "offset=0 a=0 b=1"},
                {.in = {"2x0"}, .attr = "offset=1 a=1 b=2"}),
};

static void diag_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    diagonal_attr k = {*(const int64_t *)attr, 0, 1};
    ebb_shape s = ebb_shape_get(in[0]);
    if (s.n_dims == 1)
        out[0] = embed(v, in[0], k.offset, 0, 1);
    else if (s.n_dims == 2)
        out[0] = EBB_EMIT(v, diagonal, &k, in[0]);
    else
        v->status =
            ebb__fail(EBB_E_SHAPE, "x has %lld axes, 1 or 2 are needed", (long long)s.n_dims);
}

static const ebb_attr_spec diag_attrs[] = {
    {"offset", EBB_ATTR_I64, 0, false, "> 0: above the main diagonal, < 0: below it"}, {0}};

const ebb_op ebb__op_diag = {
    EBB_OP_HEAD(diag),
    .doc = "The diagonal of a matrix (a view), or the matrix with a vector on its diagonal.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(int64_t),
    .attrs = diag_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = diag_compose,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "offset=0"}, {.in = {"3x4"}, .attr = "offset=-1"},
                {.in = {"3"}, .attr = "offset=2"}, {.in = {"1x1"}, .attr = "offset=0"},
                {.in = {"0"}, .attr = "offset=0"}),
};

static void trace_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in, (void)attr;
    diagonal_attr k = {0, 0, 1};
    ebb_shape s = ebb_shape_get(in[0]);
    if (s.n_dims != 2) {
        v->status =
            ebb__fail(EBB_E_SHAPE, "x has %lld axes, 2 are needed", (long long)s.n_dims);
        return;
    }
    out[0] = ebb__rule_sum(v, EBB_EMIT(v, diagonal, &k, in[0]), EBB_ALL);
}

const ebb_op ebb__op_trace = {
    EBB_OP_HEAD(trace),
    .doc = "out = sum over i of x[i, i].",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .bound = EBB_BOUND_MEMORY,
    .compose = trace_compose,
    EBB_SAMPLES({.in = {"3x3"}}, {.in = {"2x4"}}, {.in = {"4x2"}}, {.in = {"1x1"}},
                {.in = {"0x3"}}),
};
