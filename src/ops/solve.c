/* solve.c - linear systems with full matrices: solve, inverse.
 *
 * LU with partial pivoting. A matrix whose pivot is exactly 0 has no solution and is refused; one
 * that is only near to that gives large numbers, as it should.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/dense.h"
#include "ops/matrices.h"
#include "ops/rule.h"

#include <string.h>

static const char singular[] = "is singular: no pivot is left";

/* b is vectors, (..., n) for a of (..., n, n), as in torch.linalg.solve. */
static bool is_vector(const ebb_shape *a, const ebb_shape *b)
{
    if (b->n_dims == 1) return true;
    if (b->n_dims != a->n_dims - 1) return false;
    for (int64_t d = 0; d < b->n_dims; d++)
        if (a->dims[d] != b->dims[d]) return false;
    return true;
}

/* LU of the matrix of this item in scratch; its solutions for b (n, m), rows as given. */
static int64_t solve_rows(const ebb__matrices *w, double *a, int64_t *rows, double *b,
                          double *x)
{
    double sign;
    int64_t n = w->n, place = ebb__dense_lu(a, rows, &sign, n);
    if (place < n) return place;
    for (int64_t i = 0; i < n; i++)
        memcpy(x + i * w->m, b + rows[i] * w->m, (size_t)w->m * sizeof *x);
    ebb__dense_lower(a, x, n, w->m, true);
    ebb__dense_upper(a, x, n, w->m, false);
    return -1;
}

/* ---- solve ------------------------------------------------------------------------------ */
static int64_t solve_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    const ebb__call *c = w->c;
    int64_t n = w->n, m = w->m;
    bool vector = is_vector(&c->in[0].shape, &c->in[1].shape);
    double *a = scratch, *b = a + n * n, *x = b + n * m;
    ebb__dense_load(a, &c->in[0], ebb__matrices_first(w, &c->in[0].shape, 2, item), n, n,
                    false);
    ebb__dense_load(b, &c->in[1], ebb__matrices_first(w, &c->in[1].shape, vector ? 1 : 2, item),
                    n, m, false);
    int64_t place = solve_rows(w, a, ebb__matrices_rows(w, scratch), b, x);
    if (place < 0) ebb__dense_store(&c->out[0], item * n * m, x, n, m, false);
    return place;
}

static ebb_status solve_work(ebb__matrices *w, ebb_shape *out, const ebb__call *c)
{
    ebb_shape a = c->in[0].shape, b = c->in[1].shape;
    bool vector = is_vector(&a, &b);
    *w = (ebb__matrices){.c = c, .run = solve_one, .n = a.dims[a.n_dims - 1]};
    w->m = vector ? 1 : b.dims[b.n_dims - 1];
    if (b.dims[b.n_dims - (vector ? 1 : 2)] != w->n) {
        char at[EBB__SHAPE_TEXT], bt[EBB__SHAPE_TEXT];
        return ebb__fail(EBB_E_SHAPE, "a is %s, b is %s: %lld rows are needed",
                         ebb__shape_text(at, sizeof at, &a), ebb__shape_text(bt, sizeof bt, &b),
                         (long long)w->n);
    }
    a.n_dims -= 2, b.n_dims -= vector ? 1 : 2;
    EBB_TRY(ebb__shape_broadcast(&w->batch, &a, &b));
    w->doubles = w->n * w->n + 2 * w->n * w->m;
    w->cost = (double)w->n * (double)w->n * (double)(w->n + w->m);
    *out = w->batch;
    out->dims[out->n_dims++] = w->n;
    if (!vector) out->dims[out->n_dims++] = w->m;
    return EBB_OK;
}

static ebb_status solve_shape(ebb__call *c)
{
    ebb__matrices w;
    ebb_shape out;
    EBB_TRY(ebb__check_square(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 1, 0));
    bool vector = is_vector(&c->in[0].shape, &c->in[1].shape);
    EBB_TRY(ebb__check_rank_at_least(c, 1, vector ? 1 : 2));
    EBB_TRY(solve_work(&w, &out, c));
    ebb__matrices_reserve(c, w.n, w.doubles);
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status solve_forward(const ebb__call *c)
{
    ebb__matrices w;
    ebb_shape out;
    EBB_TRY(solve_work(&w, &out, c));
    return w.n * w.m > 0 ? ebb__matrices_run(&w, singular) : EBB_OK;
}

static ebb_cost solve_cost(const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape, *b = &c->in[1].shape;
    double n = (double)a->dims[a->n_dims - 1], size = (double)ebb__dtype_size(c->in[0].dtype);
    double a_all = (double)ebb__n_elems(a), out = (double)ebb__n_elems(&c->out[0].shape);
    return (ebb_cost){2 * n * (a_all / 3 + out),
                      size * (a_all + (double)ebb__n_elems(b) + out)};
}

/* out = a^-1 b: dL/db = a^-T g, dL/da = -(dL/db) out'. */
static void solve_vjp(ebb_vjp *v)
{
    ebb_shape a = ebb__in_shape(v, 0), b = ebb__in_shape(v, 1);
    bool vector = is_vector(&a, &b);
    int64_t last = -1;
    ebb_tensor *g = ebb__grad(v, 0);
    ebb_tensor *back =
        EBB_EMIT(v, solve, NULL, ebb__rule_transpose(v, ebb__in(v, 0), -1, -2), g);
    if (ebb__wants(v, 1)) ebb__give(v, 1, back);
    if (!ebb__wants(v, 0)) return;
    ebb_tensor *x = ebb__out(v, 0);
    if (vector) {
        back = EBB_EMIT(v, unsqueeze, &last, back);
        x = EBB_EMIT(v, unsqueeze, &last, x);
    }
    ebb_tensor *product = EBB_EMIT(v, matmul, NULL, back, ebb__rule_transpose(v, x, -1, -2));
    ebb__give(v, 0, EBB_EMIT(v, neg, NULL, product));
}

const ebb_op ebb__op_solve = {
    EBB_OP_HEAD(solve),
    .doc =
        "out with a out = b, for square matrices a; b is a vector, a matrix of columns, or a "
        "batch of them, which broadcast as in torch.linalg.solve.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"a", "b"},
    .bound = EBB_BOUND_COMPUTE,
    .cost = solve_cost,
    .need = {EBB_NEED_IN(0) | EBB_NEED_OUT(0), EBB_NEED_IN(0)},
    .shape = solve_shape,
    .forward = solve_forward,
    .vjp = solve_vjp,
    EBB_SAMPLES({.in = {"3x3+4", "3x2"}}, {.in = {"3x3+4", "3"}}, {.in = {"2x3x3+4", "2x3x2"}},
                {.in = {"2x3x3+4", "2x3"}}, {.in = {"2x3x3+4", "3"}},
                {.in = {"3x3+4", "2x3x2"}}, {.in = {"2x1x2x2+4", "3x2x1"}},
                {.in = {"1x1+4", "1"}}, {.in = {"2x0x0", "2x0x3"}}, {.in = {"2x2+4", "2x0"}}),
};

/* ---- inverse ---------------------------------------------------------------------------- */
static int64_t inverse_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    const ebb__call *c = w->c;
    int64_t n = w->n;
    double *a = scratch, *b = a + n * n, *x = b + n * n;
    ebb__dense_load(a, &c->in[0], item * n * n, n, n, false);
    memset(b, 0, (size_t)(n * n) * sizeof *b);
    for (int64_t i = 0; i < n; i++) b[i * n + i] = 1;
    int64_t place = solve_rows(w, a, ebb__matrices_rows(w, scratch), b, x);
    if (place < 0) ebb__dense_store(&c->out[0], item * n * n, x, n, n, false);
    return place;
}

static ebb__matrices inverse_work(const ebb__call *c)
{
    ebb__matrices w = {.c = c, .run = inverse_one, .batch = c->in[0].shape};
    w.batch.n_dims -= 2;
    w.n = w.m = w.batch.dims[w.batch.n_dims];
    w.doubles = 3 * w.n * w.n;
    w.cost = 2 * (double)w.n * (double)w.n * (double)w.n;
    return w;
}

static ebb_status inverse_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_square(c, 0));
    ebb__matrices w = inverse_work(c);
    ebb__matrices_reserve(c, w.n, w.doubles);
    return ebb__shape_same(c);
}

static ebb_status inverse_forward(const ebb__call *c)
{
    ebb__matrices w = inverse_work(c);
    return w.n > 0 ? ebb__matrices_run(&w, singular) : EBB_OK;
}

static ebb_cost inverse_cost(const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape;
    double all = (double)ebb__n_elems(a), n = (double)a->dims[a->n_dims - 1];
    return (ebb_cost){2 * n * all, 2 * all * (double)ebb__dtype_size(c->in[0].dtype)};
}

/* dL/da = -out' g out' */
static void inverse_vjp(ebb_vjp *v)
{
    ebb_tensor *y = ebb__rule_transpose(v, ebb__out(v, 0), -1, -2);
    ebb_tensor *left = EBB_EMIT(v, matmul, NULL, y, ebb__grad(v, 0));
    ebb__give(v, 0, EBB_EMIT(v, neg, NULL, EBB_EMIT(v, matmul, NULL, left, y)));
}

const ebb_op ebb__op_inverse = {
    EBB_OP_HEAD(inverse),
    .doc = "out with a out = 1, for square matrices a, (..., n, n).",
    .n_in = 1,
    .n_out = 1,
    .arg = {"a"},
    .bound = EBB_BOUND_COMPUTE,
    .cost = inverse_cost,
    .need = {EBB_NEED_OUT(0)},
    .shape = inverse_shape,
    .forward = inverse_forward,
    .vjp = inverse_vjp,
    EBB_SAMPLES({.in = {"3x3+4"}}, {.in = {"2x3x3+4"}}, {.in = {"2x1x2x2+4"}},
                {.in = {"1x1+4"}}, {.in = {"0x0"}}, {.in = {"0x3x3"}}),
};
