/* det.c - determinants: det, slogdet, and the matrix of cofactors, which is det's gradient.
 *
 * The gradient of a determinant exists where the matrix is singular: it is taken from LU with
 * full pivoting without ever dividing by the last pivot, and is 0 below rank n - 1. So does the
 * second derivative (cofactors.c).
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/dense.h"
#include "ops/matrices.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

static ebb__matrices det_work(const ebb__call *c, ebb__matrix_fn run, int64_t squares)
{
    ebb__matrices w = {.c = c, .run = run, .batch = c->in[0].shape};
    w.batch.n_dims -= 2;
    w.n = w.m = w.batch.dims[w.batch.n_dims];
    w.doubles = squares * w.n * w.n;
    w.cost = (double)w.n * (double)w.n * (double)w.n + 1;
    return w;
}

static ebb_status det_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_square(c, 0));
    ebb__matrices w = det_work(c, NULL, 1);
    ebb__matrices_reserve(c, w.n, w.doubles);
    for (int32_t k = 0; k < c->n_out; k++) ebb__set_out(c, k, c->in[0].dtype, &w.batch);
    return EBB_OK;
}

static ebb_cost det_cost(const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape;
    double all = (double)ebb__n_elems(a), n = (double)a->dims[a->n_dims - 1];
    return (ebb_cost){n * all, all * (double)ebb__dtype_size(c->in[0].dtype)};
}

/* The factors' diagonal with the sign of the exchanges; 0 where a pivot is. */
static const double *diagonal(const ebb__matrices *w, int64_t item, double *scratch,
                              double *sign)
{
    int64_t n = w->n;
    ebb__dense_load(scratch, &w->c->in[0], item * n * n, n, n, false);
    int64_t place = ebb__dense_lu(scratch, ebb__matrices_rows(w, scratch), sign, n);
    if (place < n) *sign = 0;
    return scratch;
}

/* ---- det -------------------------------------------------------------------------------- */
static int64_t det_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    double product;
    const double *lu = diagonal(w, item, scratch, &product);
    for (int64_t i = 0; i < w->n && product != 0; i++) product *= lu[i * w->n + i];
    ebb__dense_store(&w->c->out[0], item, &product, 1, 1, false);
    return -1;
}

static ebb_status det_forward(const ebb__call *c)
{
    ebb__matrices w = det_work(c, det_one, 1);
    return ebb__matrices_run(&w, "");
}

/* x (...) as (..., 1, 1) */
static ebb_tensor *as_matrix(ebb_vjp *v, ebb_tensor *x)
{
    int64_t last = -1;
    return EBB_EMIT(v, unsqueeze, &last, EBB_EMIT(v, unsqueeze, &last, x));
}

static void det_vjp(ebb_vjp *v)
{
    ebb_tensor *c = EBB_EMIT(v, cofactors, NULL, ebb__in(v, 0));
    ebb__give(v, 0, ebb__rule_mul(v, as_matrix(v, ebb__grad(v, 0)), c));
}

const ebb_op ebb__op_det = {
    EBB_OP_HEAD(det),
    .doc = "The determinant of square matrices a, (..., n, n).",
    .n_in = 1,
    .n_out = 1,
    .arg = {"a"},
    .bound = EBB_BOUND_COMPUTE,
    .cost = det_cost,
    .need = {EBB_NEED_IN(0)},
    .shape = det_shape,
    .forward = det_forward,
    .vjp = det_vjp,
    EBB_SAMPLES({.in = {"3x3+4"}}, {.in = {"4x4"}}, {.in = {"2x3x3+1"}}, {.in = {"2x1x2x2"}},
                {.in = {"1x1"}}, {.in = {"0x3x3"}}),
};

/* ---- cofactors -------------------------------------------------------------------------- */
/* The adjugate of U = (u1 u; 0 d): (d D u1^-1, -D u1^-1 u; 0, D), D = det u1. */
static void adjugate_of_upper(double *adj, const double *u, int64_t n)
{
    double d = u[n * n - 1], product = 1;
    for (int64_t i = 0; i < n - 1; i++) product *= u[i * n + i];
    memset(adj, 0, (size_t)(n * n) * sizeof *adj);
    adj[n * n - 1] = product;
    if (product == 0) return;
    for (int64_t i = n - 2; i >= 0; i--) {
        double *row = adj + i * n;
        row[i] = d * product;
        row[n - 1] = -u[i * n + n - 1] * product;
        for (int64_t k = i + 1; k < n - 1; k++)
            for (int64_t j = k; j < n; j++) row[j] -= u[i * n + k] * adj[k * n + j];
        for (int64_t j = i; j < n; j++) row[j] /= u[i * n + i];
    }
}

/* x becomes x L^-1, L being unit lower. */
static void over_lower(double *x, const double *lu, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = n - 1; k > 0; k--)
            for (int64_t j = 0; j < k; j++) x[i * n + j] -= x[i * n + k] * lu[k * n + j];
}

/* With a's rows p and columns q as L U, adj a = sign adj(L U) at [q, p]; cofactors are its
 * transpose. */
static int64_t cofactors_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    int64_t n = w->n, *rows = ebb__matrices_rows(w, scratch), *columns = rows + n;
    double *lu = scratch, *adj = lu + n * n, sign;
    ebb__dense_load(lu, &w->c->in[0], item * n * n, n, n, false);
    ebb__dense_lu_full(lu, rows, columns, &sign, n);
    adjugate_of_upper(adj, lu, n);
    over_lower(adj, lu, n);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) lu[rows[j] * n + columns[i]] = sign * adj[i * n + j];
    ebb__dense_store(&w->c->out[0], item * n * n, lu, n, n, false);
    return -1;
}

static ebb_status cofactors_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_square(c, 0));
    ebb__matrices w = det_work(c, NULL, 2);
    ebb__matrices_reserve(c, w.n, w.doubles);
    return ebb__shape_same(c);
}

static ebb_status cofactors_forward(const ebb__call *c)
{
    ebb__matrices w = det_work(c, cofactors_one, 2);
    return w.n > 0 ? ebb__matrices_run(&w, "") : EBB_OK;
}

static void cofactors_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, cofactors_grad, NULL, ebb__in(v, 0), ebb__grad(v, 0)));
}

const ebb_op ebb__op_cofactors = {
    EBB_OP_HEAD(cofactors),
    .doc =
        "The cofactors of square matrices, the gradient of det: det(a) times a^-T where that "
        "exists.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"a"},
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = det_cost,
    .need = {EBB_NEED_IN(0)},
    .shape = cofactors_shape,
    .forward = cofactors_forward,
    .vjp = cofactors_vjp,
    EBB_SAMPLES({.in = {"3x3+4"}}, {.in = {"4x4"}}, {.in = {"2x3x3+1"}}, {.in = {"2x2x2"}},
                {.in = {"5x5+4"}}, {.in = {"0x0"}}),
};

/* ---- slogdet ---------------------------------------------------------------------------- */
static int64_t slogdet_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    double sign, log_abs = 0;
    const double *lu = diagonal(w, item, scratch, &sign);
    if (sign == 0) log_abs = -INFINITY;
    for (int64_t i = 0; i < w->n && sign != 0; i++) {
        double pivot = lu[i * w->n + i];
        sign *= isnan(pivot) ? NAN : pivot < 0 ? -1 : 1;
        log_abs += log(fabs(pivot));
    }
    ebb__dense_store(&w->c->out[0], item, &sign, 1, 1, false);
    ebb__dense_store(&w->c->out[1], item, &log_abs, 1, 1, false);
    return -1;
}

static ebb_status slogdet_forward(const ebb__call *c)
{
    ebb__matrices w = det_work(c, slogdet_one, 1);
    return ebb__matrices_run(&w, "");
}

/* The sign is constant wherever it has a derivative. */
static void slogdet_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 1);
    if (g == EBB_NONE) return;
    ebb_tensor *inverse = EBB_EMIT(v, inverse, NULL, ebb__in(v, 0));
    ebb_tensor *turned = ebb__rule_transpose(v, inverse, -1, -2);
    ebb__give(v, 0, ebb__rule_mul(v, as_matrix(v, g), turned));
}

const ebb_op ebb__op_slogdet = {
    EBB_OP_HEAD(slogdet),
    .doc = "The sign and the logarithm of the absolute value of determinants, where these "
           "themselves would overflow.",
    .n_in = 1,
    .n_out = 2,
    .arg = {"a"},
    .result = {"sign", "logabsdet"},
    .bound = EBB_BOUND_COMPUTE,
    .cost = det_cost,
    .need = {EBB_NEED_IN(0)},
    .shape = det_shape,
    .forward = slogdet_forward,
    .vjp = slogdet_vjp,
    EBB_SAMPLES({.in = {"3x3+4"}}, {.in = {"2x3x3+4"}}, {.in = {"2x2"}}, {.in = {"2x1x2x2+3"}},
                {.in = {"1x1+3"}}, {.in = {"0x3x3"}}),
};
