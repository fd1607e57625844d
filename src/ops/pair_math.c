/* pair_math.c - functions of two and three tensors beyond arithmetic: hypot, atan2, logaddexp,
 * xlogy, lerp.
 *
 * Their gradients are private kernels that are exact where a formula of quotients is 0 / 0, and
 * whose own gradients are written with themselves, so every order is.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <math.h>

#define IN(i) EBB_NEED_IN(i)
#define PAIR_SAMPLES                                                                           \
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x1", "4"}}, {.in = {"", "2"}},               \
                {.in = {"67", "67"}}, {.in = {"0x3", "3"}})
#define PAIR(op_name, x_name, y_name, need_x, need_y, text, ...)                               \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {x_name, y_name},                                                               \
        .flags = EBB_OP_BROADCAST | EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,                        \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_x, need_y},                                                              \
        .shape = ebb__shape_floats,                                                            \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {__VA_ARGS__},                                                                \
        PAIR_SAMPLES,                                                                          \
    };

/* ---- hypot ------------------------------------------------------------------------------- */
#define HYPOT(x, y) _Generic((x), float : hypotf, default : hypot)(x, y)
EBB_PLAIN2(hypot, HYPOT(x, y))
EBB_MAP3(mul_div, z == 0 ? 0 : x * (y / z))

static void hypot_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *r = ebb__out(v, 0);
    for (int32_t i = 0; i < 2; i++)
        if (ebb__wants(v, i)) ebb__give(v, i, EBB_EMIT(v, mul_div, NULL, g, ebb__in(v, i), r));
}
/* out = x y / z: with the cotangent h, dx = h y / z, dy = h x / z, dz = -h x y / z^2. */
static void mul_div_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *z = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, mul_div, NULL, h, ebb__in(v, 1), z));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, mul_div, NULL, h, ebb__in(v, 0), z));
    if (!ebb__wants(v, 2)) return;
    ebb_tensor *once = EBB_EMIT(v, mul_div, NULL, ebb__in(v, 0), ebb__in(v, 1), z);
    ebb__give(v, 2, EBB_EMIT(v, neg, NULL, EBB_EMIT(v, mul_div, NULL, h, once, z)));
}

PAIR(hypot, "x", "y", IN(0) | EBB_NEED_OUT(0), IN(1) | EBB_NEED_OUT(0),
     "out = sqrt(x^2 + y^2) without overflow; the gradient at (0, 0) is 0.", {0.3, 2, 0},
     {-2, 2, 0})
EBB_SLOPE3(mul_div, "x", "y", "z", IN(1) | IN(2), IN(0) | IN(2), IN(0) | IN(1) | IN(2),
           "out = x * y / z, 0 where z = 0: the gradient of hypot and norm.", {-2, 2, 0},
           {-2, 2, 0}, {0.5, 2, 0})

/* ---- atan2 ------------------------------------------------------------------------------- */
#define ATAN2(x, y) _Generic((x), float : atan2f, default : atan2)(x, y)
EBB_PLAIN2(atan2, ATAN2(x, y))
/* Divided by the larger of the two first: their squares may overflow. */
#define ATAN2_SLOPE(a, b)                                                                      \
    ((a) == 0 && (b) == 0        ? 0                                                           \
     : EBB_FABS(a) > EBB_FABS(b) ? 1 / ((a) + (b) * ((b) / (a)))                               \
                                 : (a) / (b) / ((b) + (a) * ((a) / (b))))
EBB_MAP3(atan2_grad, x *ATAN2_SLOPE(y, z))

static void atan2_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *y = ebb__in(v, 0), *x = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, atan2_grad, NULL, g, x, y));
    if (ebb__wants(v, 1))
        ebb__give(v, 1, EBB_EMIT(v, neg, NULL, EBB_EMIT(v, atan2_grad, NULL, g, y, x)));
}
/* With F(a, b) = a / (a^2 + b^2): dF/da = F(b, a)^2 - F(a, b)^2, dF/db = -2 F(a, b) F(b, a). */
static void atan2_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *a = ebb__in(v, 1), *b = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, atan2_grad, NULL, h, a, b));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    ebb_tensor *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb_tensor *f = EBB_EMIT(v, atan2_grad, NULL, gh, a, b);
    if (ebb__wants(v, 1)) {
        ebb_tensor *q = EBB_EMIT(v, atan2_grad, NULL, gh, b, a);
        ebb__give(v, 1,
                  ebb__rule_sub(v, EBB_EMIT(v, atan2_grad, NULL, q, b, a),
                                EBB_EMIT(v, atan2_grad, NULL, f, a, b)));
    }
    if (ebb__wants(v, 2))
        ebb__give(v, 2, ebb__rule_scale(v, EBB_EMIT(v, atan2_grad, NULL, f, b, a), -2));
}

PAIR(atan2, "y", "x", IN(0) | IN(1), IN(0) | IN(1),
     "out = the angle of the point (x, y) in [-pi, pi]; the gradient at (0, 0) is 0.",
     {0.3, 2, 0}, {-2, 2, 0})
EBB_SLOPE3(atan2_grad, "g", "a", "b", IN(1) | IN(2), IN(0) | IN(1) | IN(2),
           IN(0) | IN(1) | IN(2), "out = g * a / (a^2 + b^2), 0 where both are 0.", {-2, 2, 0},
           {0.5, 2, 0}, {-2, 2, 0})

/* ---- logaddexp --------------------------------------------------------------------------- */
/* Equal ones first: the difference of infinities is NaN. */
#define MORE(x, y) ((x) > (y) ? (x) : (y))
EBB_MAP2(logaddexp, FLOAT,
         x - x != 0 && x == y ? x : MORE(x, y) + EBB_LOG1P(EBB_EXP(-EBB_FABS(x - y))))
EBB_MAP3(logaddexp_grad, y != z ? x * EBB_SIGMOID(y - z) : y == -INFINITY ? 0 : x / 2)

static void logaddexp_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, logaddexp_grad, NULL, g, x, y));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, logaddexp_grad, NULL, g, y, x));
}
/* s(a - b) has the derivative s(a - b) s(b - a) in a, minus that in b. */
static void logaddexp_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *a = ebb__in(v, 1), *b = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, logaddexp_grad, NULL, h, a, b));
    if (!ebb__wants(v, 1) && !ebb__wants(v, 2)) return;
    ebb_tensor *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb_tensor *slope =
        EBB_EMIT(v, logaddexp_grad, NULL, EBB_EMIT(v, logaddexp_grad, NULL, gh, a, b), b, a);
    if (ebb__wants(v, 1)) ebb__give(v, 1, slope);
    if (ebb__wants(v, 2)) ebb__give(v, 2, EBB_EMIT(v, neg, NULL, slope));
}

PAIR(logaddexp, "x", "y", IN(0) | IN(1), IN(0) | IN(1),
     "out = ln(exp(x) + exp(y)) without overflow; both -inf: the gradient is 0.", {-2, 2, 0},
     {-2, 2, 0})
EBB_SLOPE3(logaddexp_grad, "g", "a", "b", IN(1) | IN(2), IN(0) | IN(1) | IN(2),
           IN(0) | IN(1) | IN(2),
           "out = g / (1 + exp(b - a)), 0 where both are -inf: the gradient of logaddexp.",
           {-2, 2, 0}, {-2, 2, 0}, {-2, 2, 0})

/* ---- xlogy ------------------------------------------------------------------------------- */
EBB_MAP2(xlogy, FLOAT, x == 0 && y == y ? 0 : x * EBB_LOG(y))

/* ln(y) where it counts: 0 where x is 0 and ln(y) is no number, NaN where x is. */
EBB_MAP3(xlogy_grad, y == 0 && z <= 0 ? 0 : y != y ? y : x * EBB_LOG(z))

/* The slope of that in y. */
EBB_MAP3(xlogy_slope, y == 0 && z <= 0 ? 0 : y != y ? y : x / z)

/* Where x is 0 the value is 0 for every y, and so is its derivative in y. */
static void xlogy_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, xlogy_grad, NULL, g, x, y));
    if (ebb__wants(v, 1))
        ebb__give(v, 1, EBB_EMIT(v, xlogy_slope, NULL, ebb__rule_mul(v, g, x), x, y));
}
static void xlogy_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0) && !ebb__wants(v, 2)) return;
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1), *y = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, xlogy_grad, NULL, h, x, y));
    if (ebb__wants(v, 2))
        ebb__give(v, 2,
                  EBB_EMIT(v, xlogy_slope, NULL, ebb__rule_mul(v, ebb__in(v, 0), h), x, y));
}
/* d/dy of 1 / y is -(1 / y) / y. */
static void xlogy_slope_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0) && !ebb__wants(v, 2)) return;
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1), *y = ebb__in(v, 2);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, xlogy_slope, NULL, h, x, y));
    if (!ebb__wants(v, 2)) return;
    ebb_tensor *once = EBB_EMIT(v, xlogy_slope, NULL, ebb__rule_mul(v, ebb__in(v, 0), h), x, y);
    ebb__give(v, 2, EBB_EMIT(v, neg, NULL, EBB_EMIT(v, xlogy_slope, NULL, once, x, y)));
}

PAIR(
    xlogy, "x", "y", IN(0) | IN(1), IN(0) | IN(1),
    "out = x * ln(y), 0 where x = 0 (NaN where y is NaN); where x = 0 and y <= 0 the gradients "
    "are 0.",
    {-2, 2, 0}, {0.3, 2, 0})
EBB_SLOPE3(xlogy_grad, "g", "x", "y", IN(1) | IN(2), 0, IN(0) | IN(1) | IN(2),
           "out = g * ln(y), 0 where x = 0 and y <= 0: the gradient of x in xlogy.", {-2, 2, 0},
           {0.5, 2, 0}, {0.3, 2, 0})

EBB_SLOPE3(xlogy_slope, "g", "x", "y", IN(1) | IN(2), 0, IN(0) | IN(1) | IN(2),
           "out = g / y, 0 where x = 0 and y <= 0: the slope of ln(y) in xlogy.", {-2, 2, 0},
           {0.5, 2, 0}, {0.3, 2, 0})

/* ---- lerp -------------------------------------------------------------------------------- */
/* From the nearer end, so that weight 0 gives x and weight 1 gives y exactly. */
EBB_MAP3(lerp, 2 * z < 1 ? x + z * (y - x) : y - (y - x) * (1 - z))

static void lerp_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    ebb_tensor *back =
        ebb__wants(v, 0) || ebb__wants(v, 1) ? ebb__rule_mul(v, g, ebb__in(v, 2)) : NULL;
    if (ebb__wants(v, 0)) ebb__give(v, 0, ebb__rule_sub(v, g, back));
    if (ebb__wants(v, 1)) ebb__give(v, 1, back);
    if (ebb__wants(v, 2))
        ebb__give(v, 2, ebb__rule_mul(v, g, ebb__rule_sub(v, ebb__in(v, 1), ebb__in(v, 0))));
}

const ebb_op ebb__op_lerp = {
    EBB_OP_HEAD(lerp),
    .doc = "out = x + weight * (y - x), elementwise; x at weight 0 and y at weight 1 exactly.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"x", "y", "weight"},
    .flags = EBB_OP_BROADCAST | EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,
    .bound = EBB_BOUND_MEMORY,
    .need = {IN(2), IN(2), IN(0) | IN(1)},
    .shape = ebb__shape_floats,
    .forward = lerp_forward,
    .vjp = lerp_vjp,
    .range = {{-2, 2, 0}, {-2, 2, 0}, {-0.5, 1.5, 0.5}},
    EBB_SAMPLES({.in = {"3x4", "3x4", "3x4"}}, {.in = {"3x1", "4", ""}}, {.in = {"", "", ""}},
                {.in = {"67", "67", "67"}}, {.in = {"0x3", "3", ""}}),
};
