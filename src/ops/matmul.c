/* matmul.c - products of matrices: matmul with NumPy's rules, linear with PyTorch's weights.
 *
 * Operands of any strides are read where they lie: a transposed operand costs no copy.
 * SPDX-License-Identifier: MIT */
#include "ops/gemm.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <string.h>

/* One product per item of the batch, cut into n_pieces along the longer side of the result. */
typedef struct matmul_work {
    const ebb__call *call;
    ebb__gemm gemm; /* strides and sizes; pointers per item */
    int64_t n_batch_dims, batch_dims[EBB_MAX_DIMS];
    int64_t a_batch[EBB_MAX_DIMS], b_batch[EBB_MAX_DIMS];
    int64_t n_pieces;
    size_t scratch_each;
} matmul_work;

/* ---- the kernel ------------------------------------------------------------------------- */
/* An operand with a dimension of 1 added where it is a vector. */
static ebb_view as_matrix(const ebb_view *v, bool left)
{
    ebb_view m = *v;
    if (v->shape.n_dims != 1) return m;
    m.shape.n_dims = 2;
    m.shape.dims[left] = v->shape.dims[0], m.strides[left] = v->strides[0];
    m.shape.dims[!left] = 1, m.strides[!left] = 0;
    return m;
}

static void batch_strides(int64_t out[EBB_MAX_DIMS], const ebb_view *m, const matmul_work *w)
{
    int64_t skip = w->n_batch_dims - (m->shape.n_dims - 2);
    for (int64_t i = 0; i < w->n_batch_dims; i++)
        out[i] = i < skip || m->shape.dims[i - skip] == 1 ? 0 : m->strides[i - skip];
}

static void matmul_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const matmul_work *w = arg;
    const ebb__call *c = w->call;
    size_t bytes = ebb__dtype_size(c->out[0].dtype);
    for (int64_t item = lo; item < hi; item++) {
        int64_t index = item / w->n_pieces, piece = item % w->n_pieces, rest = index;
        int64_t a = 0, b = 0, to = index * w->gemm.m * w->gemm.n;
        for (int64_t i = w->n_batch_dims - 1; i >= 0; i--) {
            int64_t at = rest % w->batch_dims[i];
            rest /= w->batch_dims[i];
            a += at * w->a_batch[i], b += at * w->b_batch[i];
        }
        ebb__gemm g = w->gemm;
        if (g.m >= g.n) {
            int64_t first = g.m * piece / w->n_pieces;
            g.m = g.m * (piece + 1) / w->n_pieces - first;
            a += first * g.a_row, to += first * g.c_row;
        } else {
            int64_t first = g.n * piece / w->n_pieces;
            g.n = g.n * (piece + 1) / w->n_pieces - first;
            b += first * g.b_col, to += first;
        }
        g.a = (const char *)c->in[0].data + a * (int64_t)bytes;
        g.b = (const char *)c->in[1].data + b * (int64_t)bytes;
        g.c = (char *)c->out[0].data + to * (int64_t)bytes;
        g.scratch = (char *)c->scratch + (size_t)part * w->scratch_each;
        if (ebb__dtype_is_float(c->out[0].dtype))
            EBB_BY_DTYPE(c->out[0].dtype, ebb__gemm, &g);
        else
            ebb__gemm_whole(&g, c->out[0].dtype);
    }
}

/* Runs w->gemm over `batch` items with as many threads as the work is worth. */
static void matmul_run(matmul_work *w, int64_t batch)
{
    const ebb__gemm *g = &w->gemm;
    if (batch == 0 || g->m == 0 || g->n == 0) return;
    double cost = (double)g->m * (double)g->n * (double)(g->k + 1) / 4;
    int32_t n_threads = (double)batch * cost < 32768 ? 1 : w->call->n_threads;
    int64_t longer = g->m > g->n ? g->m : g->n;
    w->n_pieces = batch < n_threads && longer >= 16 * n_threads ? n_threads : 1;
    w->scratch_each =
        ebb__gemm_scratch(g->m, g->n, g->k, ebb__dtype_size(w->call->out[0].dtype));
    int64_t each = (int64_t)(cost < 1e9 ? cost : 1e9) / w->n_pieces;
    ebb__parallel(n_threads, batch * w->n_pieces, ebb__grain(each), matmul_items, w);
}

static ebb_status matmul_forward(const ebb__call *c)
{
    ebb_view a = as_matrix(&c->in[0], true), b = as_matrix(&c->in[1], false);
    int64_t a_rank = a.shape.n_dims, b_rank = b.shape.n_dims;
    matmul_work w = {.call = c,
                     .gemm = {.m = a.shape.dims[a_rank - 2],
                              .n = b.shape.dims[b_rank - 1],
                              .k = a.shape.dims[a_rank - 1],
                              .a_row = a.strides[a_rank - 2],
                              .a_col = a.strides[a_rank - 1],
                              .b_row = b.strides[b_rank - 2],
                              .b_col = b.strides[b_rank - 1],
                              .c_row = b.shape.dims[b_rank - 1]}};
    w.n_batch_dims = (a_rank > b_rank ? a_rank : b_rank) - 2;
    int64_t batch = 1;
    for (int64_t i = 0; i < w.n_batch_dims; i++) {
        w.batch_dims[i] = c->out[0].shape.dims[i];
        batch *= w.batch_dims[i];
    }
    batch_strides(w.a_batch, &a, &w);
    batch_strides(w.b_batch, &b, &w);
    /* (batch, m, k) by one (k, n): one tall product, where the rows of the batch are in line.
     */
    if (b_rank == 2 && w.n_batch_dims > 0 && ebb__view_is_contiguous(&c->in[0])) {
        w.gemm.m *= batch;
        w.n_batch_dims = 0;
        batch = 1;
    }
    matmul_run(&w, batch);
    return EBB_OK;
}

/* Scratch for each thread, of the largest product that one may make. */
static void reserve(ebb__call *c, int64_t m, int64_t n, int64_t k)
{
    if (!ebb__dtype_is_float(c->in[0].dtype)) return;
    c->scratch_bytes = (size_t)(c->n_threads < 1 ? 1 : c->n_threads) *
                       ebb__gemm_scratch(m, n, k, ebb__dtype_size(c->in[0].dtype));
}

/* ---- matmul ----------------------------------------------------------------------------- */
static ebb_status matmul_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_number(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 1, 0));
    EBB_TRY(ebb__check_rank_at_least(c, 0, 1));
    EBB_TRY(ebb__check_rank_at_least(c, 1, 1));
    const ebb_shape *x = &c->in[0].shape, *y = &c->in[1].shape;
    ebb_view a = as_matrix(&c->in[0], true), b = as_matrix(&c->in[1], false);
    int64_t k = a.shape.dims[a.shape.n_dims - 1], k_y = b.shape.dims[b.shape.n_dims - 2];
    char xt[EBB__SHAPE_TEXT], yt[EBB__SHAPE_TEXT];
    if (k != k_y)
        return ebb__fail(EBB_E_SHAPE, "%s is %s, %s is %s: %lld and %lld differ",
                         ebb__arg_name(c, 0), ebb__shape_text(xt, sizeof xt, x),
                         ebb__arg_name(c, 1), ebb__shape_text(yt, sizeof yt, y), (long long)k,
                         (long long)k_y);
    int64_t m = a.shape.dims[a.shape.n_dims - 2], n = b.shape.dims[b.shape.n_dims - 1];
    ebb_shape out;
    a.shape.n_dims -= 2, b.shape.n_dims -= 2;
    EBB_TRY(ebb__shape_broadcast(&out, &a.shape, &b.shape));
    int64_t rows = m;
    for (int64_t i = 0; i < out.n_dims; i++) rows *= out.dims[i];
    if (x->n_dims > 1) out.dims[out.n_dims++] = m;
    if (y->n_dims > 1) out.dims[out.n_dims++] = n;
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    reserve(c, y->n_dims <= 2 ? rows : m, n, k);
    return EBB_OK;
}

static ebb_cost matmul_cost(const ebb__call *c)
{
    const ebb_shape *x = &c->in[0].shape;
    double n_out = (double)ebb__n_elems(&c->out[0].shape);
    double n_in = (double)ebb__n_elems(x) + (double)ebb__n_elems(&c->in[1].shape);
    return (ebb_cost){2 * n_out * (double)x->dims[x->n_dims - 1],
                      (n_out + n_in) * (double)ebb__dtype_size(c->in[0].dtype)};
}

static ebb_shape matrix_shape(ebb_shape s, bool left)
{
    ebb_view v = {.shape = s};
    return as_matrix(&v, left).shape;
}

/* (..., m, n) as (all before n, n). */
static ebb_tensor *fold(ebb_vjp *v, ebb_tensor *x, const ebb_shape *s)
{
    int64_t n = s->dims[s->n_dims - 1], rows = 1;
    for (int64_t i = 0; i < s->n_dims - 1; i++) rows *= s->dims[i];
    return ebb__rule_reshape(v, x, EBB_SHAPE(rows, n));
}

/* g (batch, m, n), the gradient of input i as a matrix: summed over the batch the input was
 * repeated for, then given in the input's own shape. */
static void give_matrix(ebb_vjp *v, int32_t i, ebb_tensor *g, const ebb_shape *batch)
{
    ebb_shape shape = ebb__in_shape(v, i), matrix = matrix_shape(shape, i == 0);
    bool repeated = matrix.n_dims - 2 != batch->n_dims;
    for (int64_t d = 0; !repeated && d < batch->n_dims; d++)
        repeated = matrix.dims[d] != batch->dims[d];
    if (repeated) g = EBB_EMIT(v, sum_to, &matrix, g);
    if (shape.n_dims == 1) g = ebb__rule_reshape(v, g, shape);
    ebb__give(v, i, g);
}

/* out = x y: dL/dx = g y', dL/dy = x' g, with vectors as matrices of one row or column. */
static void matmul_vjp(ebb_vjp *v)
{
    ebb_shape x_in = ebb__in_shape(v, 0), y_in = ebb__in_shape(v, 1);
    ebb_shape x = matrix_shape(x_in, true), y = matrix_shape(y_in, false);
    ebb_shape x_batch = x, y_batch = y, g_shape;
    x_batch.n_dims -= 2, y_batch.n_dims -= 2;
    if (ebb__shape_broadcast(&g_shape, &x_batch, &y_batch) != EBB_OK) return;
    ebb_shape batch = g_shape;
    g_shape.dims[g_shape.n_dims++] = x.dims[x.n_dims - 2];
    g_shape.dims[g_shape.n_dims++] = y.dims[y.n_dims - 1];
    ebb_tensor *g = ebb__grad(v, 0);
    if (x_in.n_dims == 1 || y_in.n_dims == 1) g = ebb__rule_reshape(v, g, g_shape);
    if (ebb__wants(v, 0)) {
        ebb_tensor *value = ebb__in(v, 1);
        if (y_in.n_dims == 1) value = ebb__rule_reshape(v, value, y);
        value = ebb__rule_transpose(v, value, -1, -2);
        give_matrix(v, 0, EBB_EMIT(v, matmul, NULL, g, value), &batch);
    }
    if (ebb__wants(v, 1)) {
        ebb_tensor *value = ebb__in(v, 0);
        if (x_in.n_dims == 1) value = ebb__rule_reshape(v, value, x);
        if (y.n_dims == 2 && batch.n_dims > 0) {
            /* One weight for the whole batch: the sum over it is part of the product. */
            value = fold(v, value, &x), g = fold(v, g, &g_shape);
            batch.n_dims = 0;
        }
        value = ebb__rule_transpose(v, value, -1, -2);
        give_matrix(v, 1, EBB_EMIT(v, matmul, NULL, value, g), &batch);
    }
}

const ebb_op ebb__op_matmul = {
    EBB_OP_HEAD(matmul),
    .doc =
        "out[..., i, j] = sum over l of x[..., i, l] * y[..., l, j]; batch axes broadcast and "
        "vectors count as one row (x) or one column (y), as in NumPy; whole numbers wrap.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = EBB_OP_STRIDED,
    .bound = EBB_BOUND_COMPUTE,
    .cost = matmul_cost,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)},
    .shape = matmul_shape,
    .forward = matmul_forward,
    .vjp = matmul_vjp,
    EBB_SAMPLES({.in = {"3x4", "4x5"}}, {.in = {"3", "3"}}, {.in = {"3", "3x2"}},
                {.in = {"2x3", "3"}}, {.in = {"2x3x4", "4x5"}}, {.in = {"2x3x4", "2x4x5"}},
                {.in = {"2x1x3x4", "3x4x2"}}, {.in = {"3x4", "2x4x5"}}, {.in = {"4", "2x4x3"}},
                {.in = {"2x3x4", "4"}}, {.in = {"1x1", "1x1"}}, {.in = {"0x3", "3x2"}},
                {.in = {"2x0", "0x3"}}, {.in = {"33x40", "40x35"}},
                {.in = {"i64:2x3x4<9", "i64:4x5<9"}}, {.in = {"u8:3x4<99", "u8:4<99"}}),
};

/* ---- linear ----------------------------------------------------------------------------- */
static ebb_status linear_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_number(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 1, 0));
    EBB_TRY(ebb__check_dtype_as(c, 2, 0));
    EBB_TRY(ebb__check_rank_at_least(c, 0, 1));
    EBB_TRY(ebb__check_rank(c, 1, 2));
    ebb_shape out = c->in[0].shape;
    int64_t k = out.dims[out.n_dims - 1], n = c->in[1].shape.dims[0];
    char xt[EBB__SHAPE_TEXT], wt[EBB__SHAPE_TEXT];
    if (k != c->in[1].shape.dims[1])
        return ebb__fail(EBB_E_SHAPE, "x is %s, w is %s: %lld and %lld differ",
                         ebb__shape_text(xt, sizeof xt, &out),
                         ebb__shape_text(wt, sizeof wt, &c->in[1].shape), (long long)k,
                         (long long)c->in[1].shape.dims[1]);
    EBB_TRY(ebb__check_vector(c, 2, n));
    int64_t rows = 1;
    for (int64_t i = 0; i < out.n_dims - 1; i++) rows *= out.dims[i];
    out.dims[out.n_dims - 1] = n;
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    reserve(c, rows, n, k);
    return EBB_OK;
}

static ebb_status linear_forward(const ebb__call *c)
{
    int64_t k = c->in[1].shape.dims[1], n = c->in[1].shape.dims[0];
    int64_t n_out = ebb__n_elems(&c->out[0].shape), rows = n > 0 ? n_out / n : 0;
    matmul_work w = {.call = c,
                     .gemm = {.m = rows,
                              .n = n,
                              .k = k,
                              .a_row = k,
                              .a_col = 1,
                              .b_row = 1,
                              .b_col = k,
                              .c_row = n,
                              .add = ebb__given(c, 2)}};
    if (w.gemm.add)
        for (int64_t i = 0; i < rows; i++) {
            size_t bytes = (size_t)n * ebb__dtype_size(c->in[2].dtype);
            memcpy((char *)c->out[0].data + (size_t)i * bytes, c->in[2].data, bytes);
        }
    matmul_run(&w, 1);
    return EBB_OK;
}

/* out = x w' + b: dL/dx = g w, dL/dw = g' x, dL/db = the sum of g's rows. */
static void linear_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    ebb_shape x = ebb__in_shape(v, 0), g_shape = x;
    g_shape.dims[x.n_dims - 1] = ebb__in_shape(v, 1).dims[0];
    bool folds = x.n_dims != 2 && (ebb__wants(v, 1) || ebb__wants(v, 2));
    ebb_tensor *rows = folds ? fold(v, g, &g_shape) : g;
    /* The weight's first: after it x may go, for the room of its own gradient. */
    if (ebb__wants(v, 1)) {
        ebb_tensor *value = ebb__in(v, 0);
        if (folds) value = fold(v, value, &x);
        ebb__give(v, 1, EBB_EMIT(v, matmul, NULL, ebb__rule_transpose(v, rows, 0, 1), value));
    }
    if (ebb__wants(v, 2)) ebb__give(v, 2, ebb__rule_sum(v, rows, EBB_AXES(0)));
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, matmul, NULL, g, ebb__in(v, 1)));
}

const ebb_op ebb__op_linear = {
    EBB_OP_HEAD(linear),
    .doc = "out[..., j] = sum over i of x[..., i] * w[j, i] + b[j]; w is (out, in).",
    .n_in = 3,
    .n_out = 1,
    .optional = 1u << 2,
    .arg = {"x", "w", "b"},
    .bound = EBB_BOUND_COMPUTE,
    .cost = matmul_cost,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0), 0},
    .shape = linear_shape,
    .forward = linear_forward,
    .vjp = linear_vjp,
    EBB_SAMPLES({.in = {"3x4", "5x4", "5"}}, {.in = {"3x4", "5x4", "-"}},
                {.in = {"4", "2x4", "2"}}, {.in = {"2x3x4", "5x4", "5"}},
                {.in = {"1x1", "1x1", "1"}}, {.in = {"0x3", "2x3", "2"}},
                {.in = {"40x33", "35x33", "35"}}),
};
