/* loss_formulas.c - losses that are formulas of other operations: huber, hinge, kl_div, triplet
 * and their kind.
 *
 * Shapes must be equal, as in loss.c.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/reduction.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>

/* Fails where the operands differ in shape; names them. */
static bool same_shapes(ebb_vjp *v, ebb_tensor *const *in, int32_t n)
{
    for (int32_t i = 1; i < n; i++) {
        ebb_shape a = ebb__tensor_shape(in[0]), b = ebb__tensor_shape(in[i]);
        char at[EBB__SHAPE_TEXT], bt[EBB__SHAPE_TEXT];
        if (ebb__shape_equal(&a, &b)) continue;
        v->status = ebb__fail(EBB_E_SHAPE, "%s is %s, %s is %s: one shape is needed",
                              v->op->arg[0], ebb__shape_text(at, sizeof at, &a), v->op->arg[i],
                              ebb__shape_text(bt, sizeof bt, &b));
        return false;
    }
    return true;
}
static bool positive(ebb_vjp *v, const char *name, double value)
{
    if (value > 0 && value < INFINITY) return true;
    v->status =
        ebb__fail(EBB_E_RANGE, "%s is %g, it must be positive (0: the default)", name, value);
    return false;
}
static double or_one(double value)
{
    return value == 0 ? 1 : value;
}
/* max(0, a - x) */
static ebb_tensor *short_of(ebb_vjp *v, double a, ebb_tensor *x)
{
    ebb_tensor *rest = ebb__rule_shift(v, EBB_EMIT(v, neg, NULL, x), a);
    return EBB_EMIT(v, relu, NULL, rest);
}

#define LOSS_COMMON(name)                                                                      \
    .n_out = 1, .attr_bytes = sizeof(name##_attr), .options_bytes = sizeof(name##_attr),       \
    .attrs = name##_attrs, .options = #name, .bound = EBB_BOUND_MEMORY,                        \
    .compose = name##_compose

/* ---- huber ------------------------------------------------------------------------------- */
typedef struct huber_attr {
    int64_t reduction;
    double delta;
} huber_attr;
static const ebb_attr_spec huber_attrs[] = {EBB_REDUCTION_SPEC(huber_attr, true),
                                            {"delta", EBB_ATTR_F64, offsetof(huber_attr, delta),
                                             true, "|x - y| from which it is linear; 0: 1"},
                                            {0}};

/* With m = min(a, delta): m (a - m / 2) is a^2 / 2 below delta, delta (a - delta / 2) above. */
static void huber_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in;
    const huber_attr *k = attr;
    double bounds[2] = {0, or_one(k->delta)};
    if (!positive(v, "delta", bounds[1])) return;
    ebb_tensor *a = EBB_EMIT(v, abs, NULL, EBB_EMIT(v, difference, NULL, in[0], in[1]));
    ebb_tensor *m = EBB_EMIT(v, clamp, bounds, a);
    ebb_tensor *rest = ebb__rule_sub(v, a, ebb__rule_scale(v, m, 0.5));
    out[0] = ebb__reduction_of(v, k->reduction, ebb__rule_mul(v, m, rest));
}

const ebb_op ebb__op_huber = {
    EBB_OP_HEAD(huber),
    .doc = "out = mean of (x - y)^2 / 2 where |x - y| < delta, of delta (|x - y| - delta / 2) "
           "elsewhere.",
    .n_in = 2,
    .arg = {"x", "y"},
    LOSS_COMMON(huber),
    .range = {{0.5, 2, 0}, {-2, 0.4, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}, .attr = "delta=6"},
                {.in = {"5", "5"}, .attr = "delta=0.05"}, {.in = {"", ""}, .attr = "delta=8"},
                {.in = {"2x3", "2x3"}, .attr = "delta=9 reduction=1"},
                {.in = {"0x3", "0x3"}, .attr = "reduction=2"}),
};

/* ---- hinge, hinge_embedding -------------------------------------------------------------- */
static void hinge_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    if (!same_shapes(v, in, n_in)) return;
    ebb_tensor *each = short_of(v, 1, ebb__rule_mul(v, in[0], in[1]));
    out[0] = ebb__reduction_of(v, ebb__reduction(attr), each);
}

const ebb_op ebb__op_hinge = {
    EBB_OP_HEAD(hinge),
    .doc = "out = mean of max(0, 1 - x * y), y being 1 or -1: the loss of support vectors; the "
           "gradient at x * y = 1 is 0.",
    .n_in = 2,
    .arg = {"x", "y"},
    .n_out = 1,
    EBB_REDUCTION_ONLY(hinge),
    .bound = EBB_BOUND_MEMORY,
    .compose = hinge_compose,
    .range = {{-0.9, 0.9, 0}, {-1, 1, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"5", "5"}, .attr = "reduction=1"},
                {.in = {"", ""}}, {.in = {"2x1x3", "2x1x3"}, .attr = "reduction=2"},
                {.in = {"0x3", "0x3"}, .attr = "reduction=1"}),
};

typedef struct hinge_embedding_attr {
    int64_t reduction;
    double margin;
} hinge_embedding_attr;
static const ebb_attr_spec hinge_embedding_attrs[] = {
    EBB_REDUCTION_SPEC(hinge_embedding_attr, true),
    {"margin", EBB_ATTR_F64, offsetof(hinge_embedding_attr, margin), true, "0: 1"},
    {0}};

static void hinge_embedding_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                    int32_t n_in, const void *attr)
{
    const hinge_embedding_attr *k = attr;
    double zero = 0;
    if (!same_shapes(v, in, n_in)) return;
    ebb_tensor *near = EBB_EMIT(v, gt, NULL, in[1], EBB_EMIT(v, full_like, &zero, in[1]));
    ebb_tensor *each =
        EBB_EMIT(v, where, NULL, near, in[0], short_of(v, or_one(k->margin), in[0]));
    out[0] = ebb__reduction_of(v, k->reduction, each);
}

const ebb_op ebb__op_hinge_embedding = {
    EBB_OP_HEAD(hinge_embedding),
    .doc = "out = mean of x where y > 0 (1), of max(0, margin - x) elsewhere (-1), x being "
           "distances.",
    .n_in = 2,
    .arg = {"x", "y"},
    LOSS_COMMON(hinge_embedding),
    .range = {{-0.9, 0.9, 0}, {-1, 1, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}},
                {.in = {"5", "i64:5<2"}, .attr = "margin=3 reduction=1"}, {.in = {"", ""}},
                {.in = {"2x3", "2x3"}, .attr = "reduction=2"},
                {.in = {"0x3", "0x3"}, .attr = "reduction=1"}),
};

/* ---- kl_div ------------------------------------------------------------------------------ */
typedef struct kl_div_attr {
    int64_t reduction;
    bool log_target;
} kl_div_attr;
static const ebb_attr_spec kl_div_attrs[] = {
    {"reduction", EBB_ATTR_I64, offsetof(kl_div_attr, reduction), true,
     "EBB_REDUCTION_MEAN, _SUM, _NONE: each, or _BATCH_MEAN: the sum over the length of axis "
     "0, "
     "which is the divergence"},
    {"log_target", EBB_ATTR_BOOL, offsetof(kl_div_attr, log_target), true,
     "y are logarithms of probabilities too"},
    {0}};

static void kl_div_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                           const void *attr)
{
    const kl_div_attr *k = attr;
    bool by_batch = k->reduction == EBB_REDUCTION_BATCH_MEAN;
    ebb_tensor *x = in[0], *y = in[1], *each;
    if (!same_shapes(v, in, n_in)) return;
    if (by_batch && ebb_rank(x) == 0) {
        v->status = ebb__fail(EBB_E_SHAPE, "x is (), the mean over a batch needs an axis 0");
        return;
    }
    if (k->log_target)
        each = ebb__rule_mul(v, EBB_EMIT(v, exp, NULL, y), ebb__rule_sub(v, y, x));
    else
        each = ebb__rule_sub(v, EBB_EMIT(v, xlogy, NULL, y, y), ebb__weighed(v, y, x));
    out[0] = ebb__reduction_of(v, by_batch ? EBB_REDUCTION_SUM : k->reduction, each);
    if (by_batch) out[0] = ebb__rule_scale(v, out[0], 1 / (double)ebb_dim(x, 0));
}

const ebb_op ebb__op_kl_div = {
    EBB_OP_HEAD(kl_div),
    .doc = "out = mean of y (ln(y) - x), 0 where y = 0: x are logarithms of probabilities, y "
           "probabilities.",
    .n_in = 2,
    .arg = {"x", "y"},
    LOSS_COMMON(kl_div),
    .range = {{-2, -0.1, 0}, {0.1, 0.9, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"5", "5"}, .attr = "log_target=1 reduction=1"},
                {.in = {"", ""}}, {.in = {"2x3", "2x3"}, .attr = "reduction=3"},
                {.in = {"0x3", "0x3"}, .attr = "reduction=2"}),
};

/* ---- cosine_similarity ------------------------------------------------------------------- */
typedef struct cosine_attr {
    double eps;
    int64_t axis;
} cosine_attr;
static const ebb_attr_spec cosine_attrs[] = {
    {"eps", EBB_ATTR_F64, offsetof(cosine_attr, eps), true, "least norm divided by; 0: 1e-8"},
    {"axis", EBB_ATTR_I64, offsetof(cosine_attr, axis), false,
     "of the vectors; after broadcasting"},
    {0}};

/* 16-bit floats are run as f32: they do not hold eps. */
static void cosine_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                           const void *attr)
{
    const cosine_attr *k = attr;
    double bounds[2] = {k->eps == 0 ? 1e-8 : k->eps, INFINITY};
    int64_t axis = k->axis;
    ebb_shape s, a = ebb__tensor_shape(in[0]), b = ebb__tensor_shape(in[1]);
    if (!positive(v, "eps", bounds[0])) return;
    v->status = ebb__shape_broadcast(&s, &a, &b);
    if (v->status == EBB_OK) v->status = ebb__axis_check(&axis, s.n_dims);
    if (v->status != EBB_OK) return;
    ebb_axes along = {.n = 1, .axis = {axis}};
    ebb_tensor *x[2], *size[2];
    for (int32_t i = 0; i < n_in; i++) {
        x[i] = ebb__rule_wide(v, in[i]);
        if (!ebb__shape_equal(i ? &b : &a, &s)) x[i] = EBB_EMIT(v, expand, &s, x[i]);
        size[i] = EBB_EMIT(v, clamp, bounds, EBB_EMIT(v, norm_2, &along, x[i]));
    }
    ebb_tensor *dot = ebb__rule_sum(v, ebb__rule_mul(v, x[0], x[1]), along);
    ebb_tensor *y = EBB_EMIT(v, div, NULL, EBB_EMIT(v, div, NULL, dot, size[0]), size[1]);
    out[0] = ebb__rule_narrow(v, y, ebb_dtype_of(in[0]));
}

const ebb_op ebb__op_cosine_similarity = {
    EBB_OP_HEAD(cosine_similarity),
    .doc = "out = sum(x * y) / (max(|x|, eps) max(|y|, eps)) over one axis; shapes broadcast.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .attr_bytes = sizeof(cosine_attr),
    .options_bytes = sizeof(double),
    .attrs = cosine_attrs,
    .options = "cosine_similarity",
    .flags = EBB_OP_PROMOTES,
    .bound = EBB_BOUND_MEMORY,
    .compose = cosine_compose,
    EBB_SAMPLES(
        {.in = {"3x4", "3x4"}, .attr = "axis=1"}, {.in = {"3x4", "4"}, .attr = "axis=-1"},
        {.in = {"5", "5"}, .attr = "axis=0 eps=30"},
        {.in = {"2x3x4", "2x3x1"}, .attr = "axis=1"}, {.in = {"0x3", "0x3"}, .attr = "axis=1"}),
};

/* ---- triplet ----------------------------------------------------------------------------- */
typedef struct triplet_attr {
    int64_t reduction;
    double margin, p, eps;
    bool swap;
} triplet_attr;
static const ebb_attr_spec triplet_attrs[] = {
    EBB_REDUCTION_SPEC(triplet_attr, true),
    {"margin", EBB_ATTR_F64, offsetof(triplet_attr, margin), true, "0: 1"},
    {"p", EBB_ATTR_F64, offsetof(triplet_attr, p), true, "of the norm; 0: 2"},
    {"eps", EBB_ATTR_F64, offsetof(triplet_attr, eps), true, "added to differences; 0: 1e-6"},
    {"swap", EBB_ATTR_BOOL, offsetof(triplet_attr, swap), true,
     "the negative's distance is that to the nearer of anchor and positive"},
    {0}};

static ebb_tensor *distance(ebb_vjp *v, const triplet_attr *k, ebb_tensor *x, ebb_tensor *y)
{
    struct {
        double p;
        ebb_axes axes;
    } norm = {k->p == 0 ? 2 : k->p, EBB_AXES(-1)};
    double eps = k->eps == 0 ? 1e-6 : k->eps;
    ebb_tensor *away = ebb__rule_shift(v, ebb__rule_sub(v, x, y), eps);
    if (norm.p == 2) return EBB_EMIT(v, norm_2, &norm.axes, away);
    return EBB_EMIT(v, norm, &norm, away);
}
static void triplet_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                            const void *attr)
{
    const triplet_attr *k = attr;
    if (!same_shapes(v, in, n_in)) return;
    if (ebb_rank(in[0]) == 0) {
        v->status = ebb__fail(EBB_E_SHAPE, "anchor is (): an axis of coordinates is needed");
        return;
    }
    ebb_tensor *near = distance(v, k, in[0], in[1]), *far = distance(v, k, in[0], in[2]);
    if (k->swap) far = EBB_EMIT(v, minimum, NULL, far, distance(v, k, in[1], in[2]));
    ebb_tensor *each = short_of(v, or_one(k->margin), ebb__rule_sub(v, far, near));
    out[0] = ebb__reduction_of(v, k->reduction, each);
}

const ebb_op ebb__op_triplet = {
    EBB_OP_HEAD(triplet),
    .doc =
        "out = mean of max(0, margin + |anchor - positive| - |anchor - negative|), norms over "
        "the last axis (triplet_margin_loss).",
    .n_in = 3,
    .arg = {"anchor", "positive", "negative"},
    LOSS_COMMON(triplet),
    EBB_SAMPLES({.in = {"3x4", "3x4", "3x4"}, .attr = "margin=20"},
                {.in = {"5", "5", "5"}, .attr = "margin=30 p=3"},
                {.in = {"2x3", "2x3", "2x3"}, .attr = "margin=20 swap=1 reduction=1"},
                {.in = {"2x3x4", "2x3x4", "2x3x4"}, .attr = "margin=20 reduction=2"},
                {.in = {"0x3", "0x3", "0x3"}, .attr = "reduction=1"}),
};
