/* cofactors.c - the second derivative of det: cofactors differentiated along a matrix.
 *
 * A polynomial in the elements, so it exists at singular matrices too. With a's rows and columns
 * exchanged as L D U (L, U of unit diagonals, elements at most 1 by full pivoting) only D can be
 * singular, and of a diagonal matrix it is written down without a division:
 *
 *     d2 det(D)[e, h] = sum over i != j of m_ij (e_ii h_jj - e_ij h_ji),  m_ij = the product of
 *     all d_k but d_i and d_j.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/dense.h"
#include "ops/matrices.h"
#include "ops/rule.h"

#include <string.h>

static ebb__matrices work_of(const ebb__call *c, ebb__matrix_fn run)
{
    ebb__matrices w = {.c = c, .run = run, .batch = c->in[0].shape};
    w.batch.n_dims -= 2;
    w.n = w.m = w.batch.dims[w.batch.n_dims];
    w.doubles = 3 * w.n * w.n + 3 * w.n;
    w.cost = 4.0 * (double)w.n * (double)w.n * (double)w.n + 1;
    return w;
}

static ebb_status cofactors_grad_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_square(c, 0));
    ebb__matrices w = work_of(c, NULL);
    ebb__matrices_reserve(c, w.n, w.doubles);
    return ebb__shape_same(c);
}

static ebb_cost cofactors_grad_cost(const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape;
    double all = (double)ebb__n_elems(a), n = (double)a->dims[a->n_dims - 1];
    return (ebb_cost){8 * n * all, 3 * all * (double)ebb__dtype_size(c->in[0].dtype)};
}

static void transpose_to(double *to, const double *from, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) to[j * n + i] = from[i * n + j];
}

/* lu's U over its diagonal, which goes to d. Where a pivot is 0 all behind it is. */
static void take_diagonal(double *lu, double *d, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        d[i] = lu[i * n + i];
        for (int64_t j = i + 1; j < n && d[i] != 0; j++) lu[i * n + j] /= d[i];
    }
}

/* x, e transposed, becomes the gradient of <e, cofactors(D)>; work: 2 n. */
static void along_diagonal(double *x, const double *d, double *work, int64_t n)
{
    double *behind = work, *own = work + n, before = 1;
    behind[n - 1] = 1;
    for (int64_t i = n - 1; i > 0; i--) behind[i - 1] = behind[i] * d[i];
    memset(own, 0, (size_t)n * sizeof *own);
    for (int64_t i = 0; i < n; before *= d[i++]) {
        double between = before;
        for (int64_t j = i + 1; j < n; between *= d[j++]) {
            double m = between * behind[j];
            own[i] += m * x[j * n + j], own[j] += m * x[i * n + i];
            x[i * n + j] *= -m, x[j * n + i] *= -m;
        }
    }
    for (int64_t i = 0; i < n; i++) x[i * n + i] = own[i];
}

static int64_t cofactors_grad_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    int64_t n = w->n, nn = n * n, *rows = ebb__matrices_rows(w, scratch), *columns = rows + n;
    double *lu = scratch, *x = lu + nn, *turned = x + nn, *d = turned + nn, sign;
    ebb__dense_load(lu, &w->c->in[0], item * nn, n, n, false);
    ebb__dense_lu_full(lu, rows, columns, &sign, n);
    take_diagonal(lu, d, n);
    ebb__dense_load(turned, &w->c->in[1], item * nn, n, n, false);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) x[i * n + j] = turned[rows[i] * n + columns[j]];
    ebb__dense_lower(lu, x, n, n, true);
    transpose_to(turned, x, n);
    memcpy(x, turned, (size_t)nn * sizeof *x);
    transpose_to(turned, lu, n);
    ebb__dense_lower(turned, x, n, n, true);
    along_diagonal(x, d, d + n, n);
    ebb__dense_upper(turned, x, n, n, true);
    transpose_to(turned, x, n);
    ebb__dense_upper(lu, turned, n, n, true);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) x[rows[i] * n + columns[j]] = sign * turned[j * n + i];
    ebb__dense_store(&w->c->out[0], item * nn, x, n, n, false);
    return -1;
}

static ebb_status cofactors_grad_forward(const ebb__call *c)
{
    ebb__matrices w = work_of(c, cofactors_grad_one);
    return w.n > 0 ? ebb__matrices_run(&w, "") : EBB_OK;
}

static ebb_tensor *times(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return EBB_EMIT(v, matmul, NULL, x, y);
}
static ebb_tensor *turn(ebb_vjp *v, ebb_tensor *x)
{
    return ebb__rule_transpose(v, x, -1, -2);
}
static ebb_tensor *inner(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return ebb__rule_sum(v, ebb__rule_mul(v, x, y), EBB_KEEP(-1, -2));
}

/* With V = a^-T, C the cofactors and W the gradient, <W, out> = <W, V> <g, C> - <W, V g' C>. The
 * third derivative of det: only where a has an inverse. */
static ebb_tensor *by_matrix(ebb_vjp *v, ebb_tensor *a, ebb_tensor *g, ebb_tensor *w)
{
    ebb_tensor *inverse = EBB_EMIT(v, inverse, NULL, a), *vt = turn(v, inverse);
    ebb_tensor *c = EBB_EMIT(v, cofactors, NULL, a);
    ebb_tensor *vwv = times(v, times(v, vt, turn(v, w)), vt);
    ebb_tensor *gc = times(v, turn(v, g), c); /* g' C */
    ebb_tensor *first = ebb__rule_sub(
        v, ebb__rule_mul(v, inner(v, w, vt), EBB_EMIT(v, cofactors_grad, NULL, a, g)),
        ebb__rule_mul(v, inner(v, g, c), vwv));
    ebb_tensor *by_inverse = times(v, times(v, vt, times(v, gc, turn(v, w))), vt);
    ebb_tensor *at_c = times(v, g, times(v, inverse, w));
    return ebb__rule_sub(v, ebb__rule_add(v, first, by_inverse),
                         EBB_EMIT(v, cofactors_grad, NULL, a, at_c));
}

static void cofactors_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *w = ebb__grad(v, 0), *a = ebb__in(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, by_matrix(v, a, ebb__in(v, 1), w));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, cofactors_grad, NULL, a, w));
}

const ebb_op ebb__op_cofactors_grad = {
    EBB_OP_HEAD(cofactors_grad),
    .doc = "The gradient of <g, cofactors(a)> by a, at singular matrices too.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"a", "g"},
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = cofactors_grad_cost,
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0)},
    .shape = cofactors_grad_shape,
    .forward = cofactors_grad_forward,
    .vjp = cofactors_grad_vjp,
    EBB_SAMPLES({.in = {"3x3+4", "3x3"}}, {.in = {"4x4+3", "4x4"}},
                {.in = {"2x3x3+3", "2x3x3"}}, {.in = {"2x1x3x3+4", "2x1x3x3"}},
                {.in = {"5x5+4", "5x5"}}, {.in = {"0x0", "0x0"}}),
};
