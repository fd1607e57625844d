/* hard.c - activations made of straight pieces: hardtanh, relu6, hardsigmoid, hardswish.
 *
 * The gradient at a kink is that of the flat side. NaN stays NaN.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <stddef.h>

#define OUT EBB_NEED_OUT(0)
#define IN(i) EBB_NEED_IN(i)

/* ---- hardtanh, relu6 --------------------------------------------------------------------- */
typedef struct hardtanh_attr {
    double min_val, max_val;
} hardtanh_attr;
static const ebb_attr_spec hardtanh_options[] = {
    {"min_val", EBB_ATTR_F64, offsetof(hardtanh_attr, min_val), true, "both 0: -1"},
    {"max_val", EBB_ATTR_F64, offsetof(hardtanh_attr, max_val), true, "both 0: 1"},
    {0},
};
static const ebb_attr_spec hardtanh_grad_attrs[] = {
    {"min_val", EBB_ATTR_F64, offsetof(hardtanh_attr, min_val), false, "both 0: -1"},
    {"max_val", EBB_ATTR_F64, offsetof(hardtanh_attr, max_val), false, "both 0: 1"},
    {0},
};

EBB_MAP_ROWS(1, hardtanh, FLOAT, EBB_SAME, x <= a ? a : x >= b ? b : x)
EBB_MAP_ROWS(2, hardtanh_grad, FLOAT, EBB_SAME, y <= a || y >= b ? 0 : x)

static hardtanh_attr bounds_of(const void *attr)
{
    hardtanh_attr k = *(const hardtanh_attr *)attr;
    if (k.min_val == 0 && k.max_val == 0) k = (hardtanh_attr){-1, 1};
    return k;
}
static ebb_status hardtanh_shape(ebb__call *c)
{
    hardtanh_attr k = bounds_of(c->attr);
    if (!(k.min_val < k.max_val))
        return ebb__fail(EBB_E_RANGE,
                         "min_val is %g, max_val is %g: min_val < max_val is needed", k.min_val,
                         k.max_val);
    return ebb__shape_floats(c);
}
static ebb_status hardtanh_forward(const ebb__call *c)
{
    hardtanh_attr k = bounds_of(c->attr);
    return ebb__map(c, hardtanh_rows[c->in[0].dtype], &k.min_val);
}
static ebb_status hardtanh_grad_forward(const ebb__call *c)
{
    hardtanh_attr k = bounds_of(c->attr);
    return ebb__map(c, hardtanh_grad_rows[c->in[0].dtype], &k.min_val);
}
static void hardtanh_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, hardtanh_grad, v->attr, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
static void hardtanh_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, hardtanh_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_hardtanh = {
    EBB_OP_HEAD(hardtanh),
    .doc = "out = min(max(x, min_val), max_val); the gradient is 1 strictly between, else 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(hardtanh_attr),
    .options_bytes = sizeof(hardtanh_attr),
    .attrs = hardtanh_options,
    .options = "hardtanh",
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,
    .bound = EBB_BOUND_MEMORY,
    .need = {OUT},
    .shape = hardtanh_shape,
    .forward = hardtanh_forward,
    .vjp = hardtanh_vjp,
    .range = {{-2, 2, 1}},
    EBB_SAMPLES({.in = {"67"}, .attr = "min_val=-9 max_val=1"},
                {.in = {"3x4"}, .attr = "min_val=-8 max_val=1"},
                {.in = {""}, .attr = "min_val=1 max_val=4"},
                {.in = {"2x1x3"}, .attr = "max_val=1 min_val=-7"}, {.in = {"0x3"}}),
};
const ebb_op ebb__op_hardtanh_grad = {
    EBB_OP_HEAD(hardtanh_grad),
    .doc = "out = g where min_val < y < max_val (or NaN), else 0: the gradient of hardtanh.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "y"},
    .attr_bytes = sizeof(hardtanh_attr),
    .attrs = hardtanh_grad_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {IN(1)},
    .shape = hardtanh_shape,
    .forward = hardtanh_grad_forward,
    .vjp = hardtanh_grad_vjp,
    .range = {{-2, 2, 0}, {-2, 2, 1}},
    EBB_SAMPLES({.in = {"3x4", "3x4"}, .attr = "min_val=-8 max_val=1"},
                {.in = {"", ""}, .attr = "min_val=1 max_val=4"},
                {.in = {"0x3", "0x3"}, .attr = "min_val=0 max_val=6"}),
};

static void relu6_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in, (void)attr;
    hardtanh_attr six = {0, 6};
    out[0] = EBB_EMIT(v, hardtanh, &six, in[0]);
}

const ebb_op ebb__op_relu6 = {
    EBB_OP_HEAD(relu6),
    .doc = "out = min(max(x, 0), 6); the gradient at 0 and 6 is 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .flags = EBB_OP_IN_PLACE,
    .bound = EBB_BOUND_MEMORY,
    .compose = relu6_compose,
    .range = {{-4, 9, 0}},
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {""}}, {.in = {"5"}}, {.in = {"2x1x3"}},
                {.in = {"0x3"}}),
};

/* ---- hardsigmoid ------------------------------------------------------------------------- */
EBB_MAP1(hardsigmoid, FLOAT, (x <= -3 ? 0 : x >= 3 ? 6 : x + 3) / 6)
EBB_MAP2(hardsigmoid_grad, FLOAT, y <= 0 || y >= 1 ? 0 : x / 6)

static void hardsigmoid_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, hardsigmoid_grad, NULL, ebb__grad_last(v, 0), ebb__out(v, 0)));
}
static void hardsigmoid_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, hardsigmoid_grad, NULL, ebb__grad(v, 0), ebb__in(v, 1)));
}

EBB_UNARY(hardsigmoid, ebb__shape_floats, OUT, hardsigmoid_vjp,
          "out = min(max(x + 3, 0), 6) / 6; the gradient at -3 and 3 is 0.", {-2, 5, 3})
EBB_SLOPE2(hardsigmoid_grad, "g", "y", IN(1), 0,
           "out = g / 6 where 0 < y < 1 (or NaN), else 0: the gradient of hardsigmoid.",
           {-2, 2, 0}, {-0.5, 0.9, 0})

/* ---- hardswish --------------------------------------------------------------------------- */
EBB_MAP1(hardswish, FLOAT, x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6)
EBB_MAP2(hardswish_grad, FLOAT, y <= -3 ? 0 : y >= 3 ? x : x * (2 * y + 3) / 6)

static void hardswish_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, hardswish_grad, NULL, ebb__grad_last(v, 0), ebb__in(v, 0)));
}
/* The slope's own is 1 / 3 between the kinks. */
static void hardswish_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *h = ebb__grad(v, 0), *x = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, hardswish_grad, NULL, h, x));
    if (!ebb__wants(v, 1)) return;
    hardtanh_attr kinks = {-3, 3};
    ebb_tensor *gh = ebb__rule_scale(v, ebb__rule_mul(v, ebb__in(v, 0), h), 1.0 / 3);
    ebb__give(v, 1, EBB_EMIT(v, hardtanh_grad, &kinks, gh, x));
}

EBB_UNARY(hardswish, ebb__shape_floats, IN(0), hardswish_vjp,
          "out = x * min(max(x + 3, 0), 6) / 6; the gradient is 0 for x <= -3, 1 for x >= 3.",
          {-2, 5, 3})
EBB_SLOPE2(hardswish_grad, "g", "x", IN(1), IN(0) | IN(1),
           "out = g * (x / 3 + 1 / 2) between -3 and 3: the gradient of hardswish.", {-2, 2, 0},
           {-2, 5, 3})
