/* triangular.c - triangular systems and the factors of positive definite matrices:
 * triangular_solve, cholesky.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/dense.h"
#include "ops/matrices.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

/* ---- triangular_solve ------------------------------------------------------------------- */
typedef struct triangular_attr {
    bool upper, transpose, unitriangular, right;
} triangular_attr;
static const ebb_attr_spec triangular_attrs[] = {
    {"upper", EBB_ATTR_BOOL, offsetof(triangular_attr, upper), true,
     "a's upper half is read, else its lower one"},
    {"transpose", EBB_ATTR_BOOL, offsetof(triangular_attr, transpose), true,
     "a' stands for a in the system"},
    {"unitriangular", EBB_ATTR_BOOL, offsetof(triangular_attr, unitriangular), true,
     "a's diagonal counts as ones and is not read"},
    {"right", EBB_ATTR_BOOL, offsetof(triangular_attr, right), true,
     "out a = b, not a out = b"},
    {0}};

/* A system from the right is its transpose from the left: out a = b is a' out' = b'. */
static int64_t triangular_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    const ebb__call *c = w->c;
    const triangular_attr *k = c->attr;
    int64_t n = w->n, m = w->m;
    bool turned = k->transpose != k->right;
    double *a = scratch, *x = a + n * n;
    ebb__dense_load(a, &c->in[0], ebb__matrices_first(w, &c->in[0].shape, 2, item), n, n,
                    turned);
    ebb__dense_load(x, &c->in[1], ebb__matrices_first(w, &c->in[1].shape, 2, item), n, m,
                    k->right);
    if (k->upper != turned)
        ebb__dense_upper(a, x, n, m, k->unitriangular);
    else
        ebb__dense_lower(a, x, n, m, k->unitriangular);
    ebb__dense_store(&c->out[0], item * n * m, x, n, m, k->right);
    return -1;
}

static ebb_status triangular_work(ebb__matrices *w, ebb_shape *out, const ebb__call *c)
{
    bool right = ((const triangular_attr *)c->attr)->right;
    ebb_shape a = c->in[0].shape, b = c->in[1].shape;
    *w = (ebb__matrices){.c = c, .run = triangular_one, .n = a.dims[a.n_dims - 1]};
    w->m = b.dims[b.n_dims - (right ? 2 : 1)];
    if (b.dims[b.n_dims - (right ? 1 : 2)] != w->n) {
        char at[EBB__SHAPE_TEXT], bt[EBB__SHAPE_TEXT];
        return ebb__fail(EBB_E_SHAPE, "a is %s, b is %s: %lld %s are needed",
                         ebb__shape_text(at, sizeof at, &a), ebb__shape_text(bt, sizeof bt, &b),
                         (long long)w->n, right ? "columns" : "rows");
    }
    a.n_dims -= 2, b.n_dims -= 2;
    EBB_TRY(ebb__shape_broadcast(&w->batch, &a, &b));
    w->doubles = w->n * (w->n + w->m);
    w->cost = (double)w->n * (double)w->n * (double)(w->m + 1);
    *out = w->batch;
    out->dims[out->n_dims++] = right ? w->m : w->n;
    out->dims[out->n_dims++] = right ? w->n : w->m;
    return EBB_OK;
}

static ebb_status triangular_shape(ebb__call *c)
{
    ebb__matrices w;
    ebb_shape out;
    EBB_TRY(ebb__check_square(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 1, 0));
    EBB_TRY(ebb__check_rank_at_least(c, 1, 2));
    EBB_TRY(triangular_work(&w, &out, c));
    ebb__matrices_reserve(c, w.n, w.doubles);
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status triangular_forward(const ebb__call *c)
{
    ebb__matrices w;
    ebb_shape out;
    EBB_TRY(triangular_work(&w, &out, c));
    return w.n * w.m > 0 ? ebb__matrices_run(&w, "") : EBB_OK;
}

static ebb_cost triangular_cost(const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape;
    double n = (double)a->dims[a->n_dims - 1], size = (double)ebb__dtype_size(c->in[0].dtype);
    double out = (double)ebb__n_elems(&c->out[0].shape);
    return (ebb_cost){n * out, size * (2 * out + (double)ebb__n_elems(a))};
}

/* The half of x that the system reads. */
static ebb_tensor *half_of(ebb_vjp *v, ebb_tensor *x, const triangular_attr *k)
{
    int64_t diagonal = k->unitriangular ? (k->upper ? 1 : -1) : 0;
    return k->upper ? EBB_EMIT(v, triu, &diagonal, x) : EBB_EMIT(v, tril, &diagonal, x);
}

/* dL/db solves the transposed system with g; dL/da is minus its product with out, in the order
 * in which a stands. */
static void triangular_vjp(ebb_vjp *v)
{
    triangular_attr k = *(const triangular_attr *)v->attr, back = k;
    back.transpose = !k.transpose;
    ebb_tensor *b = EBB_EMIT(v, triangular_solve, &back, ebb__in(v, 0), ebb__grad(v, 0));
    if (ebb__wants(v, 1)) ebb__give(v, 1, b);
    if (!ebb__wants(v, 0)) return;
    ebb_tensor *x = ebb__out(v, 0);
    ebb_tensor *first = k.right == k.transpose ? b : x,
               *second = k.right == k.transpose ? x : b;
    if (k.right)
        first = ebb__rule_transpose(v, first, -1, -2);
    else
        second = ebb__rule_transpose(v, second, -1, -2);
    ebb_tensor *product = EBB_EMIT(v, matmul, NULL, first, second);
    ebb__give(v, 0, half_of(v, EBB_EMIT(v, neg, NULL, product), &k));
}

const ebb_op ebb__op_triangular_solve = {
    EBB_OP_HEAD(triangular_solve),
    .doc = "out with a out = b for a triangular a, whose other half is not read; a 0 on the "
           "diagonal divides.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"a", "b"},
    .attr_bytes = sizeof(triangular_attr),
    .options_bytes = sizeof(triangular_attr),
    .attrs = triangular_attrs,
    .options = "triangular_solve",
    .bound = EBB_BOUND_COMPUTE,
    .cost = triangular_cost,
    .need = {EBB_NEED_IN(0) | EBB_NEED_OUT(0), EBB_NEED_IN(0)},
    .shape = triangular_shape,
    .forward = triangular_forward,
    .vjp = triangular_vjp,
    EBB_SAMPLES({.in = {"3x3+4", "3x2"}}, {.in = {"3x3+4", "3x2"}, .attr = "upper=1"},
                {.in = {"3x3+4", "3x2"}, .attr = "transpose=1"},
                {.in = {"3x3+4", "3x2"}, .attr = "upper=1 transpose=1 unitriangular=1"},
                {.in = {"3x3+4", "2x3"}, .attr = "right=1"},
                {.in = {"3x3+4", "2x3"}, .attr = "right=1 upper=1 transpose=1"},
                {.in = {"2x3x3", "3x2"}, .attr = "unitriangular=1"}, {.in = {"2x2+4", "3x2x1"}},
                {.in = {"1x1+4", "1x1"}}, {.in = {"0x0", "0x3"}}),
};

/* ---- cholesky --------------------------------------------------------------------------- */
typedef struct cholesky_attr {
    bool upper;
} cholesky_attr;
static const ebb_attr_spec cholesky_attrs[] = {
    {"upper", EBB_ATTR_BOOL, offsetof(cholesky_attr, upper), true,
     "the upper factor, the transpose of the lower one"},
    {0}};

static int64_t cholesky_one(const ebb__matrices *w, int64_t item, double *scratch)
{
    const ebb__call *c = w->c;
    int64_t n = w->n;
    ebb__dense_load(scratch, &c->in[0], item * n * n, n, n, false);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++)
            scratch[i * n + j] = scratch[i * n + j] / 2 + scratch[j * n + i] / 2;
    int64_t place = ebb__dense_cholesky(scratch, n);
    if (place < n) return place;
    ebb__dense_store(&c->out[0], item * n * n, scratch, n, n,
                     ((const cholesky_attr *)c->attr)->upper);
    return -1;
}

static ebb__matrices cholesky_work(const ebb__call *c)
{
    ebb__matrices w = {.c = c, .run = cholesky_one, .batch = c->in[0].shape};
    w.batch.n_dims -= 2;
    w.n = w.m = w.batch.dims[w.batch.n_dims];
    w.doubles = w.n * w.n;
    w.cost = (double)w.n * (double)w.n * (double)w.n / 2;
    return w;
}

static ebb_status cholesky_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_square(c, 0));
    ebb__matrices w = cholesky_work(c);
    ebb__matrices_reserve(c, w.n, w.doubles);
    return ebb__shape_same(c);
}

static ebb_status cholesky_forward(const ebb__call *c)
{
    ebb__matrices w = cholesky_work(c);
    return w.n > 0 ? ebb__matrices_run(&w, "is not positive definite: no pivot") : EBB_OK;
}

static ebb_cost cholesky_cost(const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape;
    double all = (double)ebb__n_elems(a), n = (double)a->dims[a->n_dims - 1];
    return (ebb_cost){n * all / 3, 2 * all * (double)ebb__dtype_size(c->in[0].dtype)};
}

/* Murray, Differentiation of the Cholesky decomposition (2016): with P the lower half of L' g,
 * its diagonal halved, dL/da = (S + S') / 2 where S = L^-T P L^-1. */
static void cholesky_vjp(ebb_vjp *v)
{
    bool upper = ((const cholesky_attr *)v->attr)->upper;
    int64_t all = 0, below = -1;
    triangular_attr turned = {.transpose = true}, right = {.right = true};
    ebb_tensor *l = ebb__out(v, 0), *g = ebb__grad(v, 0);
    if (upper) l = ebb__rule_transpose(v, l, -1, -2), g = ebb__rule_transpose(v, g, -1, -2);
    ebb_tensor *p = EBB_EMIT(v, matmul, NULL, ebb__rule_transpose(v, l, -1, -2), g);
    p = ebb__rule_add(v, EBB_EMIT(v, tril, &all, p), EBB_EMIT(v, tril, &below, p));
    ebb_tensor *s = EBB_EMIT(v, triangular_solve, &turned, l, ebb__rule_scale(v, p, 0.25));
    s = EBB_EMIT(v, triangular_solve, &right, l, s);
    ebb__give(v, 0, ebb__rule_add(v, s, ebb__rule_transpose(v, s, -1, -2)));
}

const ebb_op ebb__op_cholesky = {
    EBB_OP_HEAD(cholesky),
    .doc =
        "Lower triangular out with out out' = (a + a') / 2, for positive definite matrices a, "
        "(..., n, n).",
    .n_in = 1,
    .n_out = 1,
    .arg = {"a"},
    .attr_bytes = sizeof(cholesky_attr),
    .options_bytes = sizeof(cholesky_attr),
    .attrs = cholesky_attrs,
    .options = "cholesky",
    .bound = EBB_BOUND_COMPUTE,
    .cost = cholesky_cost,
    .need = {EBB_NEED_OUT(0)},
    .shape = cholesky_shape,
    .forward = cholesky_forward,
    .vjp = cholesky_vjp,
    EBB_SAMPLES({.in = {"3x3+6"}}, {.in = {"3x3+6"}, .attr = "upper=1"}, {.in = {"2x3x3+6"}},
                {.in = {"2x1x2x2+6"}}, {.in = {"1x1+4"}}, {.in = {"0x0"}}, {.in = {"0x2x2"}}),
};
