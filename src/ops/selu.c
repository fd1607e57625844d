/* selu.c - activations that continue the line above 0 by an exponential below: selu, celu; and
 * mish.
 *
 * selu and celu keep their output, from which their slope can be read.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <stddef.h>

#define OUT EBB_NEED_OUT(0)
#define IN(i) EBB_NEED_IN(i)

/* ---- selu -------------------------------------------------------------------------------- */
/* Klambauer et al., Self-normalizing neural networks (2017): the scale, and scale * alpha. */
#define SELU_SCALE 1.0507009873554804934193349852946
#define SELU_BELOW 1.7580993408473768599402175208123

EBB_MAP_ROWS(1, selu, FLOAT, EBB_SAME, x > 0 ? a * x : b * EBB_EXPM1(x))
EBB_MAP_ROWS(2, selu_grad, FLOAT, EBB_SAME, y > 0 ? a * x : x * (y + b))

static const double selu_parameters[2] = {SELU_SCALE, SELU_BELOW};

static ebb_status selu_forward(const ebb__call *c)
{
    return ebb__map(c, selu_rows[c->in[0].dtype], selu_parameters);
}
static ebb_status selu_grad_forward(const ebb__call *c)
{
    return ebb__map(c, selu_grad_rows[c->in[0].dtype], selu_parameters);
}
static void selu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, selu_grad, NULL, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
/* x where y <= 0, else 0. */
static ebb_tensor *below_zero(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return ebb__rule_sub(v, x, EBB_EMIT(v, relu_grad, NULL, x, y));
}
static void selu_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, selu_grad, NULL, h, y));
    if (ebb__wants(v, 1)) ebb__give(v, 1, below_zero(v, ebb__rule_mul(v, ebb__in(v, 0), h), y));
}

EBB_UNARY(selu, ebb__shape_floats, OUT, selu_vjp,
          "out = 1.0507 x where x > 0, else 1.0507 * 1.67326 (exp(x) - 1).", {-2, 2, 0})
EBB_SLOPE2(selu_grad, "g", "y", IN(1), IN(0) | IN(1),
           "out = 1.0507 g where y > 0, else g * (y + 1.7581): the gradient of selu.",
           {-2, 2, 0}, {-1.5, 2, 0})

/* ---- celu -------------------------------------------------------------------------------- */
typedef struct celu_attr {
    double alpha;
} celu_attr;
static const ebb_attr_spec celu_options[] = {
    {"alpha", EBB_ATTR_F64, 0, true, "-alpha is the limit at -infinity, > 0; 0: 1"}, {0}};
static const ebb_attr_spec celu_grad_attrs[] = {{"alpha", EBB_ATTR_F64, 0, false, "0: 1"}, {0}};

EBB_MAP_ROWS(1, celu, FLOAT, EBB_SAME, x > 0 ? x : a * EBB_EXPM1(x / a))
EBB_MAP_ROWS(2, celu_grad, FLOAT, EBB_SAME, y > 0 ? x : x * (y / a + 1))

static double alpha_of(const void *attr)
{
    double alpha = ((const celu_attr *)attr)->alpha;
    return alpha == 0 ? 1 : alpha;
}
static ebb_status celu_shape(ebb__call *c)
{
    double alpha = alpha_of(c->attr);
    if (!(alpha > 0 && alpha < INFINITY))
        return ebb__fail(EBB_E_RANGE, "alpha is %g, a number > 0 is needed (0: 1)", alpha);
    return ebb__shape_floats(c);
}
static ebb_status celu_forward(const ebb__call *c)
{
    const double p[2] = {alpha_of(c->attr)};
    return ebb__map(c, celu_rows[c->in[0].dtype], p);
}
static ebb_status celu_grad_forward(const ebb__call *c)
{
    const double p[2] = {alpha_of(c->attr)};
    return ebb__map(c, celu_grad_rows[c->in[0].dtype], p);
}
static void celu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, celu_grad, v->attr, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
static void celu_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, celu_grad, v->attr, h, y));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb__give(v, 1, below_zero(v, ebb__rule_scale(v, gh, 1 / alpha_of(v->attr)), y));
}

const ebb_op ebb__op_celu = {
    EBB_OP_HEAD(celu),
    .doc = "out = x where x > 0, else alpha * (exp(x / alpha) - 1).",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(celu_attr),
    .options_bytes = sizeof(celu_attr),
    .attrs = celu_options,
    .options = "celu",
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,
    .bound = EBB_BOUND_MEMORY,
    .need = {OUT},
    .shape = celu_shape,
    .forward = celu_forward,
    .vjp = celu_vjp,
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {"67"}, .attr = "alpha=0.5"}, {.in = {""}},
                {.in = {"2x1x3"}, .attr = "alpha=2"}, {.in = {"0x3"}}),
};
const ebb_op ebb__op_celu_grad = {
    EBB_OP_HEAD(celu_grad),
    .doc = "out = g where y > 0, else g * (y / alpha + 1): the gradient of celu.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "y"},
    .attr_bytes = sizeof(celu_attr),
    .attrs = celu_grad_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {IN(1), IN(0) | IN(1)},
    .shape = celu_shape,
    .forward = celu_grad_forward,
    .vjp = celu_grad_vjp,
    .range = {{-2, 2, 0}, {-0.4, 2, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}, .attr = "alpha=0.5"},
                {.in = {"", ""}, .attr = "alpha=1"}, {.in = {"0x3", "0x3"}, .attr = "alpha=1"}),
};

/* ---- mish -------------------------------------------------------------------------------- */
#define EBB_TYPED "ops/mish.inl"
#include "ops/kernels/typed.h"

#define MISH(x) _Generic((x), float : mish_of_f32, default : mish_of_f64)(x)
#define MISH_SLOPE(x) _Generic((x), float : mish_slope_f32, default : mish_slope_f64)(x)
EBB_MAP1(mish, FLOAT, MISH(x))
EBB_MAP2(mish_grad, FLOAT, x *MISH_SLOPE(y))

static void mish_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, mish_grad, NULL, ebb__grad_last(v, 0), ebb__in(v, 0)));
}
/* With s = sigmoid(x) and t = tanh(softplus(x)) the slope is t + x s (1 - t^2), its own
 * (1 - t^2) s (2 + x (1 - s - 2 t s)). */
static void mish_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, mish_grad, NULL, h, x));
    if (!ebb__wants(v, 1)) return;
    double one = 0; /* beta: its default */
    ebb_tensor *s = EBB_EMIT(v, sigmoid, NULL, x);
    ebb_tensor *t = EBB_EMIT(v, tanh, NULL, EBB_EMIT(v, softplus, &one, x));
    ebb_tensor *twice = ebb__rule_scale(v, t, -2);
    ebb_tensor *inner =
        ebb__rule_shift(v, ebb__rule_mul(v, s, ebb__rule_shift(v, twice, -1)), 1);
    ebb_tensor *curve = ebb__rule_shift(v, ebb__rule_mul(v, x, inner), 2);
    ebb_tensor *gh = ebb__rule_mul(v, ebb__rule_mul(v, ebb__in(v, 0), h), s);
    ebb__give(v, 1, EBB_EMIT(v, tanh_grad, NULL, ebb__rule_mul(v, gh, curve), t));
}

EBB_UNARY(mish, ebb__shape_floats, IN(0), mish_vjp, "out = x * tanh(ln(1 + exp(x))).",
          {-2, 2, 0})
EBB_SLOPE2(mish_grad, "g", "x", IN(1), IN(0) | IN(1),
           "out = g * mish'(x): the gradient of mish.", {-2, 2, 0}, {-2, 2, 0})
