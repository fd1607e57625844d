/* loss.c - losses of two tensors of one shape: the mean over all elements, their sum, or each.
 *
 * Shapes must be equal: a prediction (n, 1) against targets (n) would broadcast to (n, n) and
 * train something else.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/reduction.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>

enum { PAIR_GRAIN = 16384 };

typedef enum pair_kind { PAIR_MSE, PAIR_BCE, PAIR_BCE_LOGITS } pair_kind;
typedef struct pair_work {
    pair_kind kind;
    ebb_dtype dtype;
    const void *x, *y, *g; /* g: one for each element, else NULL */
    void *out;
    double scale, *sums;
} pair_work;

#define EBB_TYPED "ops/loss.inl"
#include "ops/kernels/typed.h"

/* ---- the loss --------------------------------------------------------------------------- */
static ebb_status pair_check(const ebb__call *c, int32_t first)
{
    for (int32_t i = first; i < first + 2; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, first));
        EBB_TRY(ebb__check_shape_as(c, i, first));
    }
    return EBB_OK;
}

static ebb_status pair_shape(ebb__call *c)
{
    EBB_TRY(pair_check(c, 0));
    EBB_TRY(ebb__reduction_check(ebb__reduction(c->attr)));
    if (ebb__reduction(c->attr) == EBB_REDUCTION_NONE) {
        ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
        return EBB_OK;
    }
    ebb__set_out(c, 0, c->in[0].dtype, &EBB_SCALAR);
    int64_t n = ebb__n_elems(&c->in[0].shape);
    c->scratch_bytes = (size_t)ebb__n_parts(c->n_threads, n, PAIR_GRAIN) * sizeof(double);
    return EBB_OK;
}

static void pair_sums(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const pair_work *w = arg;
    w->sums[part] = EBB_BY_DTYPE(w->dtype, pair_sum, w, lo, hi);
}

static void pair_each(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const pair_work *w = arg;
    EBB_BY_DTYPE(w->dtype, pair_values, w, lo, hi);
}

static ebb_status pair_loss(const ebb__call *c, pair_kind kind)
{
    pair_work w = {.kind = kind,
                   .dtype = c->in[0].dtype,
                   .x = c->in[0].data,
                   .y = c->in[1].data,
                   .out = c->out[0].data,
                   .sums = c->scratch};
    int64_t n = ebb__n_elems(&c->in[0].shape), reduction = ebb__reduction(c->attr);
    if (reduction == EBB_REDUCTION_NONE) {
        ebb__parallel(c->n_threads, n, PAIR_GRAIN, pair_each, &w);
        return EBB_OK;
    }
    ebb__parallel(c->n_threads, n, PAIR_GRAIN, pair_sums, &w);
    double total = 0;
    int32_t n_parts = ebb__n_parts(c->n_threads, n, PAIR_GRAIN);
    for (int32_t p = 0; p < n_parts; p++) total += w.sums[p];
    if (reduction == EBB_REDUCTION_MEAN) total /= (double)n;
    if (w.dtype == EBB_F64)
        *(double *)c->out[0].data = total;
    else
        *(float *)c->out[0].data = (float)total;
    return EBB_OK;
}

/* ---- the gradient by x ------------------------------------------------------------------ */
static ebb_status pair_grad_shape(ebb__call *c)
{
    EBB_TRY(pair_check(c, 1));
    EBB_TRY(ebb__check_dtype_as(c, 0, 1));
    if (ebb__reduction(c->attr) == EBB_REDUCTION_NONE)
        EBB_TRY(ebb__check_shape_as(c, 0, 1));
    else
        EBB_TRY(ebb__check_rank(c, 0, 0));
    ebb__set_out(c, 0, c->in[1].dtype, &c->in[1].shape);
    return EBB_OK;
}

static void pair_grads(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const pair_work *w = arg;
    EBB_BY_DTYPE(w->dtype, pair_grad, w, w->scale, lo, hi);
}

static ebb_status pair_grad_forward(const ebb__call *c, pair_kind kind)
{
    int64_t n = ebb__n_elems(&c->in[1].shape);
    if (n == 0) return EBB_OK;
    pair_work w = {.kind = kind,
                   .dtype = c->in[1].dtype,
                   .x = c->in[1].data,
                   .y = c->in[2].data,
                   .out = c->out[0].data};
    if (ebb__reduction(c->attr) == EBB_REDUCTION_NONE)
        w.g = c->in[0].data;
    else
        w.scale = w.dtype == EBB_F64 ? *(const double *)c->in[0].data
                                     : (double)*(const float *)c->in[0].data;
    if (ebb__reduction(c->attr) == EBB_REDUCTION_MEAN) w.scale /= (double)n;
    ebb__parallel(c->n_threads, n, PAIR_GRAIN, pair_grads, &w);
    return EBB_OK;
}

/* The weight of an element of operand i in the loss. */
static double share(ebb_vjp *v, int32_t i)
{
    ebb_shape s = ebb__in_shape(v, i);
    return ebb__reduction(v->attr) == EBB_REDUCTION_MEAN ? 1 / (double)ebb__n_elems(&s) : 1;
}

/* From what each element of g is multiplied with: its gradient, summed where g is one number. */
static ebb_tensor *by_g(ebb_vjp *v, ebb_tensor *u, ebb_tensor *slope)
{
    return ebb__reduction(v->attr) == EBB_REDUCTION_NONE ? ebb__rule_mul(v, u, slope)
                                                         : ebb__rule_dot(v, u, slope);
}

static const ebb_attr_spec pair_grad_attrs[] = {EBB_REDUCTION_SPEC(ebb__reduction_attr, false),
                                                {0}};
/* What the three pairs of descriptors share. */
#define PAIR_COMMON(name)                                                                      \
    .n_in = 2, .n_out = 1, .arg = {"x", "y"}, EBB_REDUCTION_ONLY(name),                        \
    .flags = EBB_OP_SHORT | EBB_OP_PROMOTES, .bound = EBB_BOUND_MEMORY, .shape = pair_shape,   \
    .forward = name##_forward, .vjp = name##_vjp
#define PAIR_GRAD_COMMON(name)                                                                 \
    .n_in = 3, .n_out = 1, .arg = {"g", "x", "y"}, .attrs = pair_grad_attrs,                   \
    .attr_bytes = sizeof(ebb__reduction_attr), .flags = EBB_OP_PRIVATE,                        \
    .bound = EBB_BOUND_MEMORY, .shape = pair_grad_shape, .forward = name##_grad_forward,       \
    .vjp = name##_grad_vjp
#define PAIR_SAMPLES                                                                           \
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"", ""}}, {.in = {"1", "1"}},                  \
                {.in = {"2x3x4", "2x3x4"}, .attr = "reduction=1"},                             \
                {.in = {"2x3", "2x3"}, .attr = "reduction=2"})
#define PAIR_GRAD_SAMPLES                                                                      \
    EBB_SAMPLES({.in = {"", "3x4", "3x4"}}, {.in = {"", "", ""}},                              \
                {.in = {"", "5", "5"}, .attr = "reduction=1"},                                 \
                {.in = {"2x3", "2x3", "2x3"}, .attr = "reduction=2"})

/* ---- mse -------------------------------------------------------------------------------- */
static ebb_status mse_forward(const ebb__call *c)
{
    return pair_loss(c, PAIR_MSE);
}

static ebb_status mse_grad_forward(const ebb__call *c)
{
    return pair_grad_forward(c, PAIR_MSE);
}

static void mse_vjp(ebb_vjp *v)
{
    ebb_tensor *dx =
        EBB_EMIT(v, mse_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 0), ebb__in(v, 1));
    if (ebb__wants(v, 0)) ebb__give(v, 0, dx);
    if (ebb__wants(v, 1)) ebb__give(v, 1, ebb__rule_scale(v, dx, -1));
}

static void mse_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *u = ebb__rule_scale(v, ebb__grad(v, 0), 2 * share(v, 1));
    if (ebb__wants(v, 0))
        ebb__give(v, 0, by_g(v, u, ebb__rule_sub(v, ebb__in(v, 1), ebb__in(v, 2))));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    u = ebb__rule_mul(v, u, ebb__in(v, 0));
    if (ebb__wants(v, 1)) ebb__give(v, 1, u);
    if (ebb__wants(v, 2)) ebb__give(v, 2, ebb__rule_scale(v, u, -1));
}

const ebb_op ebb__op_mse = {
    EBB_OP_HEAD(mse),
    .doc = "out = mean of (x - y)^2, a scalar; x and y have one shape. Elements "
           "are weighed by EBB_REDUCTION_NONE, mul and mean.",
    PAIR_COMMON(mse),
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    PAIR_SAMPLES,
};

const ebb_op ebb__op_mse_grad = {
    EBB_OP_HEAD(mse_grad),
    .doc = "dx = g * 2 (x - y) / n (1 for a sum and for each); the gradient of mse.",
    PAIR_GRAD_COMMON(mse),
    .need = {EBB_NEED_IN(1) | EBB_NEED_IN(2), EBB_NEED_IN(0), EBB_NEED_IN(0)},
    PAIR_GRAD_SAMPLES,
};

/* ---- bce -------------------------------------------------------------------------------- */
static ebb_status bce_forward(const ebb__call *c)
{
    return pair_loss(c, PAIR_BCE);
}

static ebb_status bce_grad_forward(const ebb__call *c)
{
    return pair_grad_forward(c, PAIR_BCE);
}

static ebb_tensor *one_minus(ebb_vjp *v, ebb_tensor *x)
{
    return ebb__rule_shift(v, ebb__rule_scale(v, x, -1), 1);
}

/* As far as the loss goes down. */
static ebb_tensor *bounded_log(ebb_vjp *v, ebb_tensor *x)
{
    double bounds[2] = {-100, INFINITY};
    return EBB_EMIT(v, clamp, bounds, EBB_EMIT(v, log, NULL, x));
}

/* dL/dy = g / n * log((1 - x) / x). */
static void bce_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, bce_grad, v->attr, g, x, ebb__in(v, 1)));
    if (ebb__wants(v, 1)) {
        ebb_tensor *odds = ebb__rule_sub(v, bounded_log(v, one_minus(v, x)), bounded_log(v, x));
        ebb__give(v, 1, ebb__rule_mul(v, ebb__rule_scale(v, odds, share(v, 0)), g));
    }
}

/* dx = g / n * (x - y) / q with q = x (1 - x); with the cotangent u
 * dL/dx = u g / n * (1 / q - (x - y) (1 - 2 x) / q^2) and dL/dy = -u g / n / q. */
static void bce_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *u = ebb__rule_scale(v, ebb__grad(v, 0), share(v, 1)), *x = ebb__in(v, 1);
    ebb_tensor *q = ebb__rule_mul(v, x, one_minus(v, x));
    ebb_tensor *uq = EBB_EMIT(v, div, NULL, u, q);
    if (ebb__wants(v, 0)) ebb__give(v, 0, by_g(v, uq, ebb__rule_sub(v, x, ebb__in(v, 2))));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    ebb_tensor *ug = ebb__rule_mul(v, uq, ebb__in(v, 0));
    if (ebb__wants(v, 1)) {
        ebb_tensor *slope = EBB_EMIT(v, div, NULL, ebb__rule_sub(v, x, ebb__in(v, 2)), q);
        slope = ebb__rule_mul(v, slope, ebb__rule_shift(v, ebb__rule_scale(v, x, -2), 1));
        ebb__give(v, 1, ebb__rule_mul(v, ug, one_minus(v, slope)));
    }
    if (ebb__wants(v, 2)) ebb__give(v, 2, ebb__rule_scale(v, ug, -1));
}

const ebb_op ebb__op_bce = {
    EBB_OP_HEAD(bce),
    .doc = "out = -mean(y log(x) + (1 - y) log(1 - x)) of probabilities x, logarithms no lower "
           "than "
           "-100; the gradient at x = y in {0, 1} is 0. bce_with_logits keeps more digits. "
           "Elements are weighed by EBB_REDUCTION_NONE, mul and mean.",
    PAIR_COMMON(bce),
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0)},
    .range = {{0.1, 0.9, 0}, {0.1, 0.9, 0}},
    PAIR_SAMPLES,
};

const ebb_op ebb__op_bce_grad = {
    EBB_OP_HEAD(bce_grad),
    .doc = "dx = g / n * (x - y) / max(x (1 - x), 1e-12); the gradient of bce.",
    PAIR_GRAD_COMMON(bce),
    .need = {EBB_NEED_IN(1) | EBB_NEED_IN(2), EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2),
             EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .range = {{0}, {0.1, 0.9, 0}, {0.1, 0.9, 0}},
    PAIR_GRAD_SAMPLES,
};

/* ---- bce_with_logits -------------------------------------------------------------------- */
static ebb_status bce_with_logits_forward(const ebb__call *c)
{
    return pair_loss(c, PAIR_BCE_LOGITS);
}

static ebb_status bce_with_logits_grad_forward(const ebb__call *c)
{
    return pair_grad_forward(c, PAIR_BCE_LOGITS);
}

static void bce_with_logits_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0);
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, bce_with_logits_grad, v->attr, g, x, ebb__in(v, 1)));
    if (ebb__wants(v, 1))
        ebb__give(v, 1, ebb__rule_mul(v, ebb__rule_scale(v, x, -share(v, 0)), g));
}

/* dx = g / n * (s - y) with s = sigmoid(x); ds/dx = s (1 - s). */
static void bce_with_logits_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *u = ebb__rule_scale(v, ebb__grad(v, 0), share(v, 1)), *s = NULL;
    if (ebb__wants(v, 0) || ebb__wants(v, 1)) s = EBB_EMIT(v, sigmoid, NULL, ebb__in(v, 1));
    if (ebb__wants(v, 0)) ebb__give(v, 0, by_g(v, u, ebb__rule_sub(v, s, ebb__in(v, 2))));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    ebb_tensor *ug = ebb__rule_mul(v, u, ebb__in(v, 0));
    if (ebb__wants(v, 1))
        ebb__give(v, 1, ebb__rule_mul(v, ug, ebb__rule_mul(v, s, one_minus(v, s))));
    if (ebb__wants(v, 2)) ebb__give(v, 2, ebb__rule_scale(v, ug, -1));
}

const ebb_op ebb__op_bce_with_logits = {
    EBB_OP_HEAD(bce_with_logits),
    .doc =
        "out = mean(max(x, 0) - x y + log(1 + exp(-|x|))): binary cross-entropy of sigmoid(x) "
        "against y, without overflow; with weights: bce_with_logits_weighted.",
    PAIR_COMMON(bce_with_logits),
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0)},
    PAIR_SAMPLES,
};

const ebb_op ebb__op_bce_with_logits_grad = {
    EBB_OP_HEAD(bce_with_logits_grad),
    .doc = "dx = g / n * (sigmoid(x) - y); the gradient of bce_with_logits.",
    PAIR_GRAD_COMMON(bce_with_logits),
    .need = {EBB_NEED_IN(1) | EBB_NEED_IN(2), EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0)},
    PAIR_GRAD_SAMPLES,
};

/* ---- l1, smooth_l1: formulas of the difference ------------------------------------------ */
static ebb_status difference_shape(ebb__call *c)
{
    EBB_TRY(pair_check(c, 0));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status difference_forward(const ebb__call *c)
{
    return ebb__op_sub.forward(c);
}

static void difference_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, g);
    if (ebb__wants(v, 1)) ebb__give(v, 1, ebb__rule_scale(v, g, -1));
}

const ebb_op ebb__op_difference = {
    EBB_OP_HEAD(difference),
    .doc = "out = x - y of equal shapes.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = EBB_OP_PRIVATE | EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_PROMOTES,
    .bound = EBB_BOUND_MEMORY,
    .shape = difference_shape,
    .forward = difference_forward,
    .vjp = difference_vjp,
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"", ""}}, {.in = {"0x2", "0x2"}}),
};

static void l1_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                       const void *attr)
{
    (void)n_in;
    ebb_tensor *away = EBB_EMIT(v, difference, NULL, in[0], in[1]);
    out[0] = ebb__reduction_of(v, ebb__reduction(attr), EBB_EMIT(v, abs, NULL, away));
}

const ebb_op ebb__op_l1 = {
    EBB_OP_HEAD(l1),
    .doc = "out = mean of |x - y|, a scalar; x and y have one shape.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    EBB_REDUCTION_ONLY(l1),
    .flags = EBB_OP_SHORT,
    .bound = EBB_BOUND_MEMORY,
    .compose = l1_compose,
    .range = {{0.5, 2, 0}, {-2, 0.4, 0}},
    PAIR_SAMPLES,
};

typedef struct smooth_l1_attr {
    double beta;
    int64_t reduction;
} smooth_l1_attr;
static const ebb_attr_spec smooth_l1_attrs[] = {{"beta", EBB_ATTR_F64,
                                                 offsetof(smooth_l1_attr, beta), true,
                                                 "|x - y| from which it is linear; 0: 1"},
                                                EBB_REDUCTION_SPEC(smooth_l1_attr, true),
                                                {0}};

/* With m = min(a, beta): m (a - m / 2) / beta is a^2 / (2 beta) below beta, a - beta / 2 above.
 */
static void smooth_l1_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                              const void *attr)
{
    (void)n_in;
    const smooth_l1_attr *k = attr;
    double beta = k->beta;
    if (beta == 0) beta = 1;
    if (!(beta > 0)) {
        v->status = ebb__fail(EBB_E_RANGE, "beta is %g, it must be positive", beta);
        return;
    }
    double bounds[2] = {0, beta};
    ebb_tensor *a = EBB_EMIT(v, difference, NULL, in[0], in[1]);
    a = EBB_EMIT(v, abs, NULL, a);
    ebb_tensor *m = EBB_EMIT(v, clamp, bounds, a);
    ebb_tensor *rest = ebb__rule_sub(v, a, ebb__rule_scale(v, m, 0.5));
    out[0] = ebb__reduction_of(v, k->reduction,
                               ebb__rule_scale(v, ebb__rule_mul(v, m, rest), 1 / beta));
}

const ebb_op ebb__op_smooth_l1 = {
    EBB_OP_HEAD(smooth_l1),
    .doc = "out = mean of (x - y)^2 / (2 beta) where |x - y| < beta, of |x - y| - beta / 2 "
           "elsewhere.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .attr_bytes = sizeof(smooth_l1_attr),
    .options_bytes = sizeof(smooth_l1_attr),
    .attrs = smooth_l1_attrs,
    .options = "smooth_l1",
    .bound = EBB_BOUND_MEMORY,
    .compose = smooth_l1_compose,
    .range = {{0.5, 2, 0}, {-2, 0.4, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"5", "5"}, .attr = "beta=0.05"},
                {.in = {"", ""}, .attr = "beta=8"},
                {.in = {"2x3", "2x3"}, .attr = "beta=9 reduction=1"},
                {.in = {"0x3", "0x3"}, .attr = "reduction=2"}),
};
