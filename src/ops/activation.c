/* activation.c - activations of networks, each with its gradient as one pass.
 *
 * What the gradient can read from the output is kept as output: the next layer keeps that one
 * anyway.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"
#include "ops/kernels/vmath.h"
#include "ops/rule.h"

#include <stddef.h>

#define ONE_SAMPLES                                                                            \
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {""}}, {.in = {"67"}}, {.in = {"2x1x3"}},              \
                {.in = {"0x3"}})
#define TWO_SAMPLES                                                                            \
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"", ""}}, {.in = {"67", "67"}},                \
                {.in = {"0x3", "0x3"}})
#define IN(i) EBB_NEED_IN(i)
#define OUT EBB_NEED_OUT(0)

/* A function of x; the last argument is the range for tests. */
#define ACTIVATION(op_name, need_bits, text, ...)                                              \
    ACTIVATION_OF(op_name, ebb__shape_floats, need_bits, text, __VA_ARGS__)
#define ACTIVATION_OF(op_name, shape_rule, need_bits, text, ...)                               \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,                                           \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_bits},                                                                   \
        .shape = shape_rule,                                                                   \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {__VA_ARGS__},                                                                \
        ONE_SAMPLES,                                                                           \
    };
/* g times a slope that is a function of `of`, the output y or the input x. */
#define SLOPE(op_name, of, need_g, need_of, text, ...)                                         \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"g", of},                                                                      \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,       \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_g, need_of},                                                             \
        .shape = ebb__shape_floats,                                                            \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {{-2, 2, 0}, __VA_ARGS__},                                                    \
        TWO_SAMPLES,                                                                           \
    };

/* ---- relu -------------------------------------------------------------------------------- */
EBB_MAP1(relu, NUMBER, x <= 0 ? 0 : x)
EBB_MAP2(relu_grad, FLOAT, y <= 0 ? 0 : x)

static void relu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, relu_grad, NULL, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
static void relu_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, relu_grad, NULL, ebb__grad(v, 0), ebb__in(v, 1)));
}

ACTIVATION_OF(relu, ebb__shape_numbers, OUT,
              "out = max(x, 0); NaN stays NaN; the gradient at 0 is 0.", {-2, 2, 0})
SLOPE(relu_grad, "y", IN(1), 0, "out = g where y > 0 or NaN, else 0: the gradient of relu.",
      {-2, 2, 0})

/* ---- tanh, sigmoid ----------------------------------------------------------------------- */
EBB_MAP1(tanh, FLOAT, EBB_TANH(x))
EBB_MAP2(tanh_grad, FLOAT, x *(1 - y * y))
EBB_MAP1(sigmoid, FLOAT, EBB_SIGMOID(x))
EBB_MAP2(sigmoid_grad, FLOAT, x *(y *(1 - y)))

static void tanh_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, tanh_grad, NULL, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
static void sigmoid_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, sigmoid_grad, NULL, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
/* out = g (1 - y^2): dg = h (1 - y^2), dy = -2 g h y. */
static void tanh_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, tanh_grad, NULL, h, y));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb__give(v, 1, ebb__rule_mul(v, gh, ebb__rule_scale(v, y, -2)));
}
/* out = g y (1 - y): dg = h y (1 - y), dy = g h (1 - 2 y). */
static void sigmoid_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, sigmoid_grad, NULL, h, y));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb__give(v, 1, ebb__rule_mul(v, gh, ebb__rule_shift(v, ebb__rule_scale(v, y, -2), 1)));
}

ACTIVATION(tanh, OUT, "out = tanh(x).", {-2, 2, 0})
SLOPE(tanh_grad, "y", IN(1), IN(0) | IN(1), "out = g * (1 - y^2): the gradient of tanh.",
      {-0.9, 0.9, 0})
ACTIVATION(sigmoid, OUT, "out = 1 / (1 + exp(-x)).", {-2, 2, 0})
SLOPE(sigmoid_grad, "y", IN(1), IN(0) | IN(1),
      "out = g * y * (1 - y): the gradient of sigmoid.", {0.05, 0.95, 0.5})

/* ---- silu -------------------------------------------------------------------------------- */
EBB_MAP1(silu, FLOAT, x *EBB_SIGMOID(x))
/* From 800 on the slope is 1 whatever y, infinity too. */
EBB_MAP2(silu_grad, FLOAT,
         x *(EBB_SIGMOID(y) * (1 + (y < 800 ? y : 800) * (1 - EBB_SIGMOID(y)))))

static void silu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, silu_grad, NULL, ebb__grad_last(v, 0), ebb__in(v, 0)));
}
/* With s = sigmoid(x): the second derivative is s (1 - s) (2 + x (1 - 2 s)). */
static void silu_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, silu_grad, NULL, h, x));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *s = EBB_EMIT(v, sigmoid, NULL, x), *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb_tensor *tilt = ebb__rule_shift(v, ebb__rule_scale(v, s, -2), 1);
    ebb_tensor *curve = ebb__rule_shift(v, ebb__rule_mul(v, x, tilt), 2);
    ebb__give(v, 1, EBB_EMIT(v, sigmoid_grad, NULL, ebb__rule_mul(v, gh, curve), s));
}

ACTIVATION(silu, IN(0), "out = x * sigmoid(x).", {-2, 2, 0})
SLOPE(silu_grad, "x", IN(1), IN(0) | IN(1), "out = g * (x sigmoid(x))': the gradient of silu.",
      {-2, 2, 0})

/* ---- logsigmoid -------------------------------------------------------------------------- */
EBB_MAP1(logsigmoid, FLOAT, -EBB_SOFTPLUS(-x))

static void logsigmoid_vjp(ebb_vjp *v)
{
    ebb_tensor *minus = EBB_EMIT(v, neg, NULL, ebb__in(v, 0));
    ebb_tensor *slope = EBB_EMIT(v, sigmoid, NULL, minus);
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), slope));
}

ACTIVATION(logsigmoid, IN(0), "out = ln(sigmoid(x)), without overflow.", {-2, 2, 0})

/* ---- activations with one option --------------------------------------------------------- */
typedef struct shape_attr {
    double value;
} shape_attr;

static const ebb_attr_spec leaky_relu_attrs[] = {
    {"slope", EBB_ATTR_F64, 0, true, "of the part below 0, > 0; 0: 0.01"}, {0}};
static const ebb_attr_spec elu_attrs[] = {
    {"alpha", EBB_ATTR_F64, 0, true, "-alpha is the limit at -infinity, > 0; 0: 1"}, {0}};
static const ebb_attr_spec softplus_attrs[] = {
    {"beta", EBB_ATTR_F64, 0, true, "sharpness, > 0; 0: 1"}, {0}};

/* The option of a call or rule, its default for 0. */
static double option(const void *attr, double when_zero)
{
    double value = ((const shape_attr *)attr)->value;
    return value == 0 ? when_zero : value;
}
static ebb_status option_shape(ebb__call *c)
{
    double value = option(c->attr, 1);
    if (!(value > 0 && value < INFINITY))
        return ebb__fail(EBB_E_RANGE,
                         "options->%s is %g, a number > 0 is needed (0: the default)",
                         c->op->attrs[0].name, value);
    return ebb__shape_floats(c);
}

EBB_MAP_ROWS(1, leaky_relu, FLOAT, EBB_SAME, x > 0 ? x : x * a)
EBB_MAP_ROWS(2, leaky_relu_grad, FLOAT, EBB_SAME, y > 0 ? x : x * a)
EBB_MAP_ROWS(1, elu, FLOAT, EBB_SAME, x > 0 ? x : a * EBB_EXPM1(x))
EBB_MAP_ROWS(2, elu_grad, FLOAT, EBB_SAME, y > 0 ? x : x * (y + a))
EBB_MAP_ROWS(1, softplus, FLOAT, EBB_SAME, EBB_SOFTPLUS(x *a) / a)

#define OPTION_FORWARD(name, when_zero)                                                        \
    static ebb_status name##_forward(const ebb__call *c)                                       \
    {                                                                                          \
        const double p[2] = {option(c->attr, when_zero)};                                      \
        return ebb__map(c, name##_rows[c->in[0].dtype], p);                                    \
    }
OPTION_FORWARD(leaky_relu, 0.01)
OPTION_FORWARD(leaky_relu_grad, 0.01)
OPTION_FORWARD(elu, 1)
OPTION_FORWARD(elu_grad, 1)
OPTION_FORWARD(softplus, 1)

static void leaky_relu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0,
              EBB_EMIT(v, leaky_relu_grad, v->attr, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
static void leaky_relu_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, leaky_relu_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}
static void elu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, elu_grad, v->attr, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
/* out = g (y + alpha) for y <= 0: dy = g h there. */
static void elu_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, elu_grad, v->attr, h, y));
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *gh = ebb__rule_mul(v, ebb__in(v, 0), h);
    ebb__give(v, 1, ebb__rule_sub(v, gh, EBB_EMIT(v, relu_grad, NULL, gh, y)));
}
static void softplus_vjp(ebb_vjp *v)
{
    ebb_tensor *bx = ebb__rule_scale(v, ebb__in(v, 0), option(v->attr, 1));
    ebb__give(v, 0, ebb__rule_mul(v, ebb__grad(v, 0), EBB_EMIT(v, sigmoid, NULL, bx)));
}

#define WITH_OPTION(op_name, need_bits, key, text, ...)                                        \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .attr_bytes = sizeof(shape_attr),                                                      \
        .options_bytes = sizeof(shape_attr),                                                   \
        .attrs = op_name##_attrs,                                                              \
        .options = #op_name,                                                                   \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,                                           \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_bits},                                                                   \
        .shape = option_shape,                                                                 \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {__VA_ARGS__},                                                                \
        EBB_SAMPLES({.in = {"3x4"}}, {.in = {"67"}, .attr = key "=0.5"}, {.in = {""}},         \
                    {.in = {"0x3"}}),                                                          \
    };
#define SLOPE_WITH_OPTION(op_name, of_attrs, need_of, text)                                    \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"g", "y"},                                                                     \
        .attr_bytes = sizeof(shape_attr),                                                      \
        .options_bytes = sizeof(shape_attr),                                                   \
        .attrs = of_attrs,                                                                     \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,       \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {IN(1), need_of},                                                              \
        .shape = option_shape,                                                                 \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {{-2, 2, 0}, {-0.9, 2, 0}},                                                   \
        TWO_SAMPLES,                                                                           \
    };
WITH_OPTION(leaky_relu, OUT, "slope", "out = x where x > 0, else slope * x.", {-2, 2, 0})
SLOPE_WITH_OPTION(leaky_relu_grad, leaky_relu_attrs, 0,
                  "out = g where y > 0, else slope * g: the gradient of leaky_relu.")
WITH_OPTION(elu, OUT, "alpha", "out = x where x > 0, else alpha * (exp(x) - 1).", {-2, 2, 0})
SLOPE_WITH_OPTION(elu_grad, elu_attrs, IN(0) | IN(1),
                  "out = g where y > 0, else g * (y + alpha): the gradient of elu.")
WITH_OPTION(softplus, IN(0), "beta", "out = ln(1 + exp(beta * x)) / beta, without overflow.",
            {-2, 2, 0})
