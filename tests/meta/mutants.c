/* mutants.c - cube (x^3), product (x y), flat (x + y over a broadcast) and soft (softmax of
 * rows), each sound and broken in single ways.
 * SPDX-License-Identifier: MIT */
#include "meta/mutants.h"
#include "ops/ids.h"

#include <ebb/grad.h>

#include <math.h>
#include <stddef.h>

/* ---- kernels: f32 and f64, contiguous ---------------------------------------------------- */
static double get(const ebb_view *v, int64_t i)
{
    return v->dtype == EBB_F32 ? ((const float *)v->data)[i] : ((const double *)v->data)[i];
}

static void put(const ebb_view *v, int64_t i, double x)
{
    if (v->dtype == EBB_F32)
        ((float *)v->data)[i] = (float)x;
    else
        ((double *)v->data)[i] = x;
}

static ebb_status cube_forward(const ebb__call *c)
{
    int64_t n = ebb__n_elems(&c->out[0].shape);
    for (int64_t i = 0; i < n; i++) {
        double x = get(&c->in[0], i);
        put(&c->out[0], i, x * x * x);
    }
    return EBB_OK;
}

static ebb_status cube_past_end(const ebb__call *c)
{
    cube_forward(c);
    put(&c->out[0], ebb__n_elems(&c->out[0].shape), 1);
    return EBB_OK;
}

static ebb_status cube_into_input(const ebb__call *c)
{
    cube_forward(c);
    int64_t n = ebb__n_elems(&c->out[0].shape);
    for (int64_t i = 0; i < n; i++) put(&c->in[0], i, get(&c->out[0], i));
    return EBB_OK;
}

static ebb_status cube_leaves_last(const ebb__call *c)
{
    int64_t n = ebb__n_elems(&c->out[0].shape);
    for (int64_t i = 0; i + 1 < n; i++) put(&c->out[0], i, pow(get(&c->in[0], i), 3));
    return EBB_OK;
}

static ebb_status cube_differs_on_recompute(const ebb__call *c)
{
    int64_t n = ebb__n_elems(&c->out[0].shape);
    for (int64_t i = 0; i < n; i++)
        put(&c->out[0], i, pow(get(&c->in[0], i), 3) + (c->recompute ? 1e-6 : 0));
    return EBB_OK;
}

static ebb_status cube_drifts(const ebb__call *c)
{
    static double drift;
    int64_t n = ebb__n_elems(&c->out[0].shape);
    drift += 1e-9;
    for (int64_t i = 0; i < n; i++) put(&c->out[0], i, pow(get(&c->in[0], i), 3) + drift);
    return EBB_OK;
}

/* Right in f64; in f32 as sloppy as a table of 16 bits. */
static ebb_status cube_imprecise(const ebb__call *c)
{
    cube_forward(c);
    int64_t n = ebb__n_elems(&c->out[0].shape);
    for (int64_t i = 0; c->out[0].dtype == EBB_F32 && i < n; i++)
        put(&c->out[0], i, get(&c->out[0], i) * (1 + 1e-4));
    return EBB_OK;
}

static ebb_status product_forward(const ebb__call *c)
{
    int64_t n = ebb__n_elems(&c->out[0].shape);
    for (int64_t i = 0; i < n; i++) put(&c->out[0], i, get(&c->in[0], i) * get(&c->in[1], i));
    return EBB_OK;
}

static ebb_status soft_forward(const ebb__call *c)
{
    const ebb_shape *s = &c->out[0].shape;
    int64_t width = s->dims[s->n_dims - 1], rows = ebb__n_elems(s) / width;
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++) sum += exp(get(&c->in[0], r * width + i));
        for (int64_t i = 0; i < width; i++)
            put(&c->out[0], r * width + i, exp(get(&c->in[0], r * width + i)) / sum);
    }
    return EBB_OK;
}

/* ---- rules ------------------------------------------------------------------------------- */
static ebb_tensor *scaled(ebb_vjp *v, ebb_tensor *x, double factor)
{
    return EBB_EMIT(v, mul_scalar, &factor, x);
}

/* factor g x^2 */
static void cube_give(ebb_vjp *v, ebb_tensor *x, double factor)
{
    ebb_tensor *xx = EBB_EMIT(v, mul, NULL, x, x);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), scaled(v, xx, factor)));
}

static void cube_vjp(ebb_vjp *v)
{
    cube_give(v, ebb__in(v, 0), 3);
}

static void cube_wrong_sign(ebb_vjp *v)
{
    cube_give(v, ebb__in(v, 0), -3);
}

static void cube_zero(ebb_vjp *v)
{
    cube_give(v, ebb__in(v, 0), 0);
}

static void cube_off_by_a_thousandth(ebb_vjp *v)
{
    cube_give(v, ebb__in(v, 0), 3.003);
}

static void cube_quadratic_in_g(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0);
    ebb_tensor *gg = EBB_EMIT(v, mul, NULL, g, g);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, gg, EBB_EMIT(v, mul, NULL, x, x)));
}

/* Right at first order; the second loses a term because x is taken as its own constant copy. */
static void cube_second_lost(ebb_vjp *v)
{
    ebb_tensor *x = ebb__in(v, 0), *half = scaled(v, ebb_detach(x), 3);
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), EBB_EMIT(v, mul, NULL, half, x)));
}

static void product_vjp(ebb_vjp *v)
{
    for (int i = 0; i < 2; i++)
        if (ebb__wants(v, i))
            ebb__give(v, i, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), ebb__in(v, 1 - i)));
}

/* The gradient of y is left out when x wants one too: a contribution that is not accumulated.
 */
static void product_forgets_y(ebb_vjp *v)
{
    int32_t i = ebb__wants(v, 0) ? 0 : 1;
    ebb__give(v, i, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), ebb__in(v, 1 - i)));
}

static void product_swapped(ebb_vjp *v)
{
    for (int i = 0; i < 2; i++)
        if (ebb__wants(v, i))
            ebb__give(v, i, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), ebb__in(v, i)));
}

/* g * y - y * sum(g * y), times sign */
static void soft_give(ebb_vjp *v, double sign)
{
    ebb_tensor *y = ebb__out(v, 0), *gy = EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), y);
    ebb_axes last = EBB_KEEP(-1);
    ebb_tensor *dot = EBB_EMIT(v, sum, &last, gy);
    ebb_tensor *dx = EBB_EMIT(v, sub, NULL, gy, EBB_EMIT(v, mul, NULL, y, dot));
    ebb__give(v, 0, scaled(v, dx, sign));
}

static void soft_vjp(ebb_vjp *v)
{
    soft_give(v, 1);
}

static void soft_flipped(ebb_vjp *v)
{
    soft_give(v, -1);
}

static void soft_zero(ebb_vjp *v)
{
    soft_give(v, 0);
}

/* ---- descriptors ------------------------------------------------------------------------- */
#define CUBE(op_name, kernel, rule, needed, by, more_flags)                                    \
    {                                                                                          \
        .op = {.name = op_name,                                                                \
               .id = -1,                                                                       \
               .doc = "out = x * x * x, or an attempt at it.",                                 \
               .n_in = 1,                                                                      \
               .n_out = 1,                                                                     \
               .arg = {"x"},                                                                   \
               .flags = more_flags,                                                            \
               .bound = EBB_BOUND_MEMORY,                                                      \
               .need = {needed},                                                               \
               .shape = ebb__shape_same_float,                                                 \
               .forward = kernel,                                                              \
               .vjp = rule,                                                                    \
               EBB_SAMPLES({.in = {"3x4"}}, {.in = {"5x7"}}, {.in = {""}}, {.in = {"0x3"}})},  \
        .caught_by = by                                                                        \
    }
#define PRODUCT(op_name, rule, need_x, need_y, by, more_flags)                                 \
    {                                                                                          \
        .op = {.name = op_name,                                                                \
               .id = -1,                                                                       \
               .doc = "out = x * y, or an attempt at it.",                                     \
               .n_in = 2,                                                                      \
               .n_out = 1,                                                                     \
               .arg = {"x", "y"},                                                              \
               .flags = more_flags,                                                            \
               .bound = EBB_BOUND_MEMORY,                                                      \
               .need = {need_x, need_y},                                                       \
               .shape = ebb__shape_broadcast_n,                                                \
               .forward = product_forward,                                                     \
               .vjp = rule,                                                                    \
               EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"5", "5"}}, {.in = {"", ""}})},     \
        .caught_by = by                                                                        \
    }
#define SOFT(op_name, rule, by)                                                                \
    {                                                                                          \
        .op = {.name = op_name,                                                                \
               .id = -1,                                                                       \
               .doc = "out = exp(x) / sum(exp(x)) along the last axis.",                       \
               .n_in = 1,                                                                      \
               .n_out = 1,                                                                     \
               .arg = {"x"},                                                                   \
               .bound = EBB_BOUND_MEMORY,                                                      \
               .need = {EBB_NEED_OUT(0)},                                                      \
               .shape = ebb__shape_same_float,                                                 \
               .forward = soft_forward,                                                        \
               .vjp = rule,                                                                    \
               EBB_SAMPLES({.in = {"5"}}, {.in = {"3x4"}}, {.in = {"2x1x3"}})},                \
        .caught_by = by                                                                        \
    }
#define X EBB_NEED_IN(0)
#define Y EBB_NEED_IN(1)

const mutant mutants[] = {
    CUBE("cube", cube_forward, cube_vjp, X, NULL, 0),
    CUBE("cube_wrong_sign", cube_forward, cube_wrong_sign, X, "gradient", 0),
    CUBE("cube_zero", cube_forward, cube_zero, X, "gradient", 0),
    CUBE("cube_off_by_a_thousandth", cube_forward, cube_off_by_a_thousandth, X, "gradient", 0),
    CUBE("cube_without_rule", cube_forward, NULL, 0, "gradient", 0),
    CUBE("cube_called_integer", cube_forward, NULL, 0, "gradient", EBB_OP_INTEGER),
    CUBE("cube_quadratic_in_g", cube_forward, cube_quadratic_in_g, X, "linear", 0),
    CUBE("cube_second_lost", cube_forward, cube_second_lost, X, "second", 0),
    CUBE("cube_undeclared_need", cube_forward, cube_vjp, 0, "need", 0),
    CUBE("cube_needs_too_much", cube_forward, cube_vjp, X | EBB_NEED_OUT(0), "minimal", 0),
    CUBE("cube_past_end", cube_past_end, cube_vjp, X, "shape", 0),
    CUBE("cube_into_input", cube_into_input, cube_vjp, X, "shape", 0),
    CUBE("cube_leaves_last", cube_leaves_last, cube_vjp, X, "shape", 0),
    CUBE("cube_differs_on_recompute", cube_differs_on_recompute, cube_vjp, X, "recompute", 0),
    CUBE("cube_drifts", cube_drifts, cube_vjp, X, "repeat", 0),
    CUBE("cube_imprecise", cube_imprecise, cube_vjp, X, "precision", 0),
    CUBE("cube_blind_to_strides", cube_forward, cube_vjp, X, "layout", EBB_OP_STRIDED),
    PRODUCT("product", product_vjp, Y, X, NULL, 0),
    PRODUCT("product_forgets_y", product_forgets_y, Y, X, "gradient", 0),
    PRODUCT("product_forgets_y_alone", product_forgets_y, Y, X, "need", 0),
    PRODUCT("product_swapped", product_swapped, X, Y, "gradient", 0),
    PRODUCT("product_needs_both", product_vjp, X | Y, X | Y, "minimal", 0),
    PRODUCT("product_needs_swapped", product_vjp, X, Y, "need", 0),
    PRODUCT("product_blind_to_broadcast", product_vjp, Y, X, "layout",
            EBB_OP_STRIDED | EBB_OP_BROADCAST),
    SOFT("soft", soft_vjp, NULL),
    SOFT("soft_flipped", soft_flipped, "gradient"),
    SOFT("soft_zero", soft_zero, "gradient"),
};
const int n_mutants = (int)(sizeof mutants / sizeof mutants[0]);
