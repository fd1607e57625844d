/* gelu.c - x times the normal distribution function of x, exactly or by tanh.
 *
 * Source: Hendrycks & Gimpel, Gaussian Error Linear Units (2016).
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"
#include "ops/rule.h"

#include <stddef.h>

#define ROOT_HALF 0.70710678118654752440      /* sqrt(1 / 2) */
#define BELL 0.39894228040143267794           /* 1 / sqrt(2 pi) */
#define ROOT_TWO_BY_PI 0.79788456080286535588 /* sqrt(2 / pi) */
#define CUBIC 0.044715

typedef struct gelu_attr {
    bool tanh_approximation;
} gelu_attr;

static const ebb_attr_spec gelu_attrs[] = {
    {"tanh_approximation", EBB_ATTR_BOOL, 0, true,
     "0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))"},
    {0},
};

static bool by_tanh(const void *attr)
{
    return ((const gelu_attr *)attr)->tanh_approximation;
}

/* The argument u of tanh, and the slope of the approximation from x and t = tanh(u). */
#define U(x) ((x) * (C1 + C3 * ((x) * (x))))
#define SLOPE(x, t)                                                                            \
    (HALF * (1 + (t)) + HALF * (x) * (1 - (t) * (t)) * (C1 + 3 * C3 * (x) * (x)))
#define EBB_TYPED "ops/gelu.inl"
#include "ops/kernels/typed.h"

static ebb_status gelu_forward(const ebb__call *c)
{
    bool f32 = c->in[0].dtype == EBB_F32;
    if (by_tanh(c->attr)) return ebb__map(c, f32 ? gelu_tanh_f32 : gelu_tanh_f64, NULL);
    return ebb__map(c, f32 ? gelu_erf_f32 : gelu_erf_f64, NULL);
}
static ebb_status gelu_grad_forward(const ebb__call *c)
{
    bool f32 = c->in[0].dtype == EBB_F32;
    if (by_tanh(c->attr))
        return ebb__map(c, f32 ? gelu_tanh_grad_f32 : gelu_tanh_grad_f64, NULL);
    return ebb__map(c, f32 ? gelu_erf_grad_f32 : gelu_erf_grad_f64, NULL);
}
static void gelu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, gelu_grad, v->attr, ebb__grad_last(v, 0), ebb__in(v, 0)));
}

const ebb_op ebb__op_gelu = {
    EBB_OP_HEAD(gelu),
    .doc = "out = x * (normal distribution function of x) = 0.5 x (1 + erf(x / sqrt(2))).",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(gelu_attr),
    .options_bytes = sizeof(gelu_attr),
    .attrs = gelu_attrs,
    .options = "gelu",
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0)},
    .shape = ebb__shape_floats,
    .forward = gelu_forward,
    .vjp = gelu_vjp,
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {"67"}, .attr = "tanh_approximation=1"}, {.in = {""}},
                {.in = {"0x3"}}),
};

/* Phi + x phi has the derivative phi (2 - x^2). */
static ebb_tensor *curve_of_erf(ebb_vjp *v, ebb_tensor *x)
{
    ebb_tensor *x2 = EBB_EMIT(v, square, NULL, x);
    ebb_tensor *bell = EBB_EMIT(v, exp, NULL, ebb__rule_scale(v, x2, -0.5));
    ebb_tensor *rest = ebb__rule_shift(v, EBB_EMIT(v, neg, NULL, x2), 2);
    return ebb__rule_mul(v, ebb__rule_scale(v, bell, BELL), rest);
}
/* With u(x), t = tanh(u): the slope is (1 + t) / 2 + x (1 - t^2) u' / 2, its derivative
 * (1 - t^2) (u' + x (u'' / 2 - t u'^2)). */
static ebb_tensor *curve_of_tanh(ebb_vjp *v, ebb_tensor *x)
{
    ebb_tensor *x2 = EBB_EMIT(v, square, NULL, x);
    ebb_tensor *cubic =
        ebb__rule_shift(v, ebb__rule_scale(v, x2, ROOT_TWO_BY_PI * CUBIC), ROOT_TWO_BY_PI);
    ebb_tensor *t = EBB_EMIT(v, tanh, NULL, ebb__rule_mul(v, x, cubic));
    ebb_tensor *u1 =
        ebb__rule_shift(v, ebb__rule_scale(v, x2, 3 * ROOT_TWO_BY_PI * CUBIC), ROOT_TWO_BY_PI);
    ebb_tensor *half_u2 = ebb__rule_scale(v, x, 3 * ROOT_TWO_BY_PI * CUBIC);
    ebb_tensor *bend = ebb__rule_mul(v, t, EBB_EMIT(v, square, NULL, u1));
    ebb_tensor *inner = ebb__rule_mul(v, x, ebb__rule_sub(v, half_u2, bend));
    return EBB_EMIT(v, tanh_grad, NULL, ebb__rule_add(v, u1, inner), t);
}
static void gelu_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, gelu_grad, v->attr, h, x));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *curve = by_tanh(v->attr) ? curve_of_tanh(v, x) : curve_of_erf(v, x);
    ebb__give(v, 1, ebb__rule_mul(v, ebb__rule_mul(v, ebb__in(v, 0), h), curve));
}

const ebb_op ebb__op_gelu_grad = {
    EBB_OP_HEAD(gelu_grad),
    .doc = "out = g * gelu'(x): the gradient of gelu.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "x"},
    .attr_bytes = sizeof(gelu_attr),
    .options_bytes = sizeof(gelu_attr),
    .attrs = gelu_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .shape = ebb__shape_floats,
    .forward = gelu_grad_forward,
    .vjp = gelu_grad_vjp,
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"67", "67"}, .attr = "tanh_approximation=1"},
                {.in = {"", ""}}, {.in = {"0x3", "0x3"}}),
};
