/* products.c - products of vectors and matrices of a given rank: mv, dot, outer, bmm, and with
 * something added addmm, baddbmm. Formulas on matmul, which takes all ranks.
 * SPDX-License-Identifier: MIT */
#include "ops/rule.h"

#include <stddef.h>

static bool check_rank(ebb_vjp *v, ebb_tensor *x, int32_t i, int64_t rank)
{
    ebb_shape s = ebb_shape_get(x);
    char text[EBB__SHAPE_TEXT];
    if (s.n_dims == rank) return true;
    v->status = ebb__fail(EBB_E_SHAPE, "%s is %s, %lld axes are needed", v->op->arg[i],
                          ebb__shape_text(text, sizeof text, &s), (long long)rank);
    return false;
}

/* Axis d is as long in both. */
static bool check_alike(ebb_vjp *v, ebb_tensor *const *in, int32_t i, int64_t d)
{
    ebb_shape a = ebb_shape_get(in[i]), b = ebb_shape_get(in[i + 1]);
    char at[EBB__SHAPE_TEXT], bt[EBB__SHAPE_TEXT];
    if (a.dims[d] == b.dims[d]) return true;
    v->status = ebb__fail(EBB_E_SHAPE, "%s is %s, %s is %s: axis %lld differs", v->op->arg[i],
                          ebb__shape_text(at, sizeof at, &a), v->op->arg[i + 1],
                          ebb__shape_text(bt, sizeof bt, &b), (long long)d);
    return false;
}

/* ---- mv, dot, outer, bmm ---------------------------------------------------------------- */
static void mv_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                       const void *attr)
{
    (void)n_in, (void)attr;
    if (check_rank(v, in[0], 0, 2) && check_rank(v, in[1], 1, 1))
        out[0] = EBB_EMIT(v, matmul, NULL, in[0], in[1]);
}

static void dot_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                        const void *attr)
{
    (void)n_in, (void)attr;
    if (check_rank(v, in[0], 0, 1) && check_rank(v, in[1], 1, 1))
        out[0] = EBB_EMIT(v, matmul, NULL, in[0], in[1]);
}

static void outer_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in, (void)attr;
    int64_t last = -1;
    if (check_rank(v, in[0], 0, 1) && check_rank(v, in[1], 1, 1))
        out[0] = ebb__rule_mul(v, EBB_EMIT(v, unsqueeze, &last, in[0]), in[1]);
}

static void bmm_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                        const void *attr)
{
    (void)n_in, (void)attr;
    if (check_rank(v, in[0], 0, 3) && check_rank(v, in[1], 1, 3) && check_alike(v, in, 0, 0))
        out[0] = EBB_EMIT(v, matmul, NULL, in[0], in[1]);
}

#define PRODUCT(op_name, text, ...)                                                            \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x", "y"},                                                                     \
        .bound = EBB_BOUND_COMPUTE,                                                            \
        .compose = op_name##_compose,                                                          \
        EBB_SAMPLES(__VA_ARGS__),                                                              \
    };
PRODUCT(mv, "out[i] = sum over j of x[i, j] * y[j].", {.in = {"3x4", "4"}},
        {.in = {"1x4", "4"}}, {.in = {"1x1", "1"}}, {.in = {"0x3", "3"}}, {.in = {"3x0", "0"}})
PRODUCT(dot, "out = sum over i of x[i] * y[i], of vectors.", {.in = {"4", "4"}},
        {.in = {"1", "1"}}, {.in = {"67", "67"}}, {.in = {"0", "0"}})
PRODUCT(outer, "out[i, j] = x[i] * y[j], of vectors.", {.in = {"3", "4"}}, {.in = {"1", "4"}},
        {.in = {"3", "1"}}, {.in = {"i64:3", "i64:2"}}, {.in = {"0", "2"}})
PRODUCT(bmm, "out[b] = x[b] y[b], a matrix product for each b; both have three axes.",
        {.in = {"2x3x4", "2x4x5"}}, {.in = {"1x3x2", "1x2x1"}}, {.in = {"2x1x1", "2x1x1"}},
        {.in = {"0x3x4", "0x4x5"}}, {.in = {"2x3x0", "2x0x5"}})

/* ---- addmm, baddbmm --------------------------------------------------------------------- */
typedef struct added_attr {
    double beta, alpha;
} added_attr;
static const ebb_attr_spec added_attrs[] = {
    {"beta", EBB_ATTR_F64, offsetof(added_attr, beta), false,
     "factor of x; 0: x is not read, even where it is NaN"},
    {"alpha", EBB_ATTR_F64, offsetof(added_attr, alpha), false, "factor of the product"},
    {0}};

/* beta x + alpha a b; x broadcasts to the product. */
static void added_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in;
    const added_attr *k = attr;
    int64_t rank = v->op == &ebb__op_addmm ? 2 : 3;
    if (!check_rank(v, in[1], 1, rank) || !check_rank(v, in[2], 2, rank)) return;
    if (rank == 3 && !check_alike(v, in, 1, 0)) return;
    ebb_tensor *y = EBB_EMIT(v, matmul, NULL, in[1], in[2]);
    if (!y) return;
    ebb_shape x = ebb_shape_get(in[0]), want = ebb_shape_get(y), both;
    v->status = ebb__shape_broadcast(&both, &x, &want);
    if (v->status == EBB_OK && !ebb__shape_equal(&both, &want)) {
        char xt[EBB__SHAPE_TEXT], yt[EBB__SHAPE_TEXT];
        v->status = ebb__fail(EBB_E_SHAPE, "x is %s, the product is %s",
                              ebb__shape_text(xt, sizeof xt, &x),
                              ebb__shape_text(yt, sizeof yt, &want));
    }
    if (k->alpha != 1) y = ebb__rule_scale(v, y, k->alpha);
    if (k->beta == 0)
        out[0] = y;
    else
        out[0] = ebb__rule_add(v, k->beta == 1 ? in[0] : ebb__rule_scale(v, in[0], k->beta), y);
}

#define ADDED(op_name, text, ...)                                                              \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 3,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x", "a", "b"},                                                                \
        .attr_bytes = sizeof(added_attr),                                                      \
        .attrs = added_attrs,                                                                  \
        .bound = EBB_BOUND_COMPUTE,                                                            \
        .compose = added_compose,                                                              \
        EBB_SAMPLES(__VA_ARGS__),                                                              \
    };
ADDED(addmm, "out = beta * x + alpha * (a b), of matrices; x broadcasts to the product.",
      {.in = {"3x5", "3x4", "4x5"}, .attr = "beta=1 alpha=1"},
      {.in = {"5", "3x4", "4x5"}, .attr = "beta=0.5 alpha=-2"},
      {.in = {"3x1", "3x4", "4x2"}, .attr = "beta=0 alpha=1"},
      {.in = {"", "1x1", "1x1"}, .attr = "beta=1 alpha=3"},
      {.in = {"0x2", "0x3", "3x2"}, .attr = "beta=1 alpha=1"})
ADDED(
    baddbmm,
    "out[b] = beta * x[b] + alpha * (a[b] b[b]); all have three axes, or x broadcasts to them.",
    {.in = {"2x3x5", "2x3x4", "2x4x5"}, .attr = "beta=1 alpha=1"},
    {.in = {"3x1", "2x3x4", "2x4x5"}, .attr = "beta=0.5 alpha=-2"},
    {.in = {"2x1x2", "2x3x4", "2x4x2"}, .attr = "beta=0 alpha=2"},
    {.in = {"1x1x1", "1x1x1", "1x1x1"}, .attr = "beta=1 alpha=1"},
    {.in = {"2x0x2", "2x0x3", "2x3x2"}, .attr = "beta=1 alpha=1"})
