/* gru.c - gated recurrent units over a whole sequence: Cho et al. 2014, with the reset gate on
 * the state's product as in cuDNN and PyTorch; gates in PyTorch's order (reset, update, new).
 *
 * The private operation's gates are an output, so that they have a history and the rule for
 * higher derivatives can be a formula of them.
 * SPDX-License-Identifier: MIT */
#include "ops/gemm.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/recurrent.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

static const ebb_attr_spec gru_options[] = {
    {"reverse", EBB_ATTR_BOOL, 0, true, "from the last step to the first"}, {0}};
static const ebb_attr_spec gru_attrs[] = {
    {"relu", EBB_ATTR_BOOL, offsetof(ebb__recurrent_attr, relu), false, NULL},
    {"reverse", EBB_ATTR_BOOL, offsetof(ebb__recurrent_attr, reverse), false, NULL},
    {0}};

typedef struct gru_work {
    ebb__recurrence r;
    const void *pre, *h0, *bias, *g_y, *g_gates;
    void *y, *gates; /* read by the gradient */
    void *dpre, *dsum, *dh;
} gru_work;

#define EBB_TYPED "ops/recurrent.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/gru.inl"
#include "ops/kernels/typed.h"

static const void *data_of(const ebb__call *c, int32_t i)
{
    return ebb__given(c, i) ? c->in[i].data : NULL;
}

/* ---- the sequence ----------------------------------------------------------------------- */
enum { PRE, H0, W, B };

static ebb_status gru_sequence_shape(ebb__call *c)
{
    EBB_TRY(ebb__recurrence_check(c, PRE, W, 3));
    ebb__recurrence r = ebb__recurrence_of(c, PRE, W, 3);
    EBB_TRY(ebb__recurrence_check_steps(c, PRE, &r, 3 * r.width));
    EBB_TRY(ebb__recurrence_check_state(c, H0, &r));
    EBB_TRY(ebb__check_vector(c, B, 3 * r.width));
    ebb_shape y = EBB_SHAPE(r.steps, r.batch, r.width);
    ebb_shape gates = EBB_SHAPE(r.steps, r.batch, 4 * r.width);
    ebb__set_out(c, 0, r.dtype, &y);
    ebb__set_out(c, 1, r.dtype, &gates);
    ebb__recurrence_plan(&r, r.width);
    c->scratch_bytes = ebb__recurrence_scratch(c, &r);
    return EBB_OK;
}

static void gru_step(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const gru_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, gru_columns, w, lo, hi, part);
}

static ebb_status gru_sequence_forward(const ebb__call *c)
{
    gru_work w = {.r = ebb__recurrence_of(c, PRE, W, 3),
                  .pre = c->in[PRE].data,
                  .h0 = data_of(c, H0),
                  .bias = data_of(c, B),
                  .y = c->out[0].data,
                  .gates = c->out[1].data};
    ebb__recurrence_plan(&w.r, w.r.width);
    for (w.r.at = 0; w.r.at < w.r.steps; w.r.at++)
        ebb__recurrence_columns(c, &w.r, gru_step, &w);
    return EBB_OK;
}

static ebb_cost gru_cost(const ebb__call *c)
{
    ebb__recurrence r = ebb__recurrence_of(c, PRE, W, 3);
    double rows = (double)r.steps * (double)r.batch, n = (double)r.width;
    return (ebb_cost){6 * rows * n * n,
                      (8 * rows * n + 3 * n * n) * (double)ebb__dtype_size(r.dtype)};
}

/* dsum: the gradient of what the state has in the gates. */
static void gru_give(ebb_vjp *v, ebb_tensor *dpre, ebb_tensor *dsum, ebb_tensor *dh)
{
    if (ebb__wants(v, PRE)) ebb__give(v, PRE, dpre);
    if (ebb__wants(v, H0)) ebb__give(v, H0, dh);
    ebb_shape pre = ebb__in_shape(v, PRE);
    if (ebb__wants(v, W))
        ebb__give(v, W,
                  ebb__recurrent_weight(v, dsum, ebb__out(v, 0), ebb__in(v, H0), &pre,
                                        ((const ebb__recurrent_attr *)v->attr)->reverse));
    if (ebb__wants(v, B)) ebb__give(v, B, ebb__rule_sum(v, dsum, EBB_AXES(0, 1)));
}

static void gru_sequence_vjp(ebb_vjp *v)
{
    ebb_tensor *out[3], *in[] = {ebb__grad(v, 0), ebb__grad(v, 1), ebb__in(v, W),
                                 ebb__in(v, H0),  ebb__out(v, 0),  ebb__out(v, 1)};
    ebb__emit_n(v, &ebb__op_gru_sequence_grad, v->attr, 6, in, 3, out);
    gru_give(v, out[0], out[1], out[2]);
}

typedef struct gru_reach {
    ebb_tensor *dh, *dpre, *dsum;
} gru_reach;

/* Step t, whose state before was `before` (NULL: zeros), by public operations. */
static void gru_step_back(ebb_vjp *v, gru_reach *l, int64_t t, ebb_tensor *before,
                          int64_t width)
{
    ebb_tensor *gates = ebb__recurrent_step(v, ebb__out(v, 1), t), *gate[4], *more[4] = {0};
    ebb_tensor *extra = ebb__grad(v, 1);
    for (int64_t k = 0; k < 4; k++) {
        gate[k] = ebb__recurrent_gate(v, gates, k, width);
        if (extra != EBB_NONE)
            more[k] = ebb__recurrent_gate(v, ebb__recurrent_step(v, extra, t), k, width);
    }
    double minus = -1;
    ebb_tensor *slope =
        before ? ebb__rule_sub(v, before, gate[2]) : EBB_EMIT(v, mul_scalar, &minus, gate[2]);
    ebb_tensor *dz = ebb__recurrent_plus(v, more[1], ebb__rule_mul(v, l->dh, slope));
    ebb_tensor *past = ebb__rule_mul(v, l->dh, gate[1]);
    ebb_tensor *dn = ebb__recurrent_plus(v, more[2], ebb__rule_sub(v, l->dh, past));
    dn = EBB_EMIT(v, tanh_grad, NULL, dn, gate[2]);
    ebb_tensor *dr = ebb__recurrent_plus(v, more[0], ebb__rule_mul(v, dn, gate[3]));
    ebb_tensor *ds = ebb__recurrent_plus(v, more[3], ebb__rule_mul(v, dn, gate[0]));
    dr = EBB_EMIT(v, sigmoid_grad, NULL, dr, gate[0]);
    dz = EBB_EMIT(v, sigmoid_grad, NULL, dz, gate[1]);
    int64_t axis = 1;
    l->dpre = EBB_EMIT(v, cat, &axis, dr, dz, dn);
    l->dsum = EBB_EMIT(v, cat, &axis, dr, dz, ds);
    l->dh = ebb__rule_add(v, past, EBB_EMIT(v, matmul, NULL, l->dsum, ebb__in(v, W)));
}

static void gru_sequence_composed(ebb_vjp *v)
{
    bool reverse = ((const ebb__recurrent_attr *)v->attr)->reverse;
    ebb_shape pre = ebb__in_shape(v, PRE);
    int64_t steps = pre.dims[0];
    double zero = 0;
    ebb_tensor *g = ebb__grad(v, 0), *y = ebb__out(v, 0), *h0 = ebb__in(v, H0);
    gru_reach l = {EBB_EMIT(v, full_like, &zero, ebb__recurrent_step(v, y, 0)), NULL, NULL};
    ebb__recurrent_pile dpre = {.prepend = !reverse}, dsum = {.prepend = !reverse};
    for (int64_t at = steps - 1; at >= 0 && v->status == EBB_OK; at--) {
        int64_t t = reverse ? steps - 1 - at : at;
        ebb_tensor *before = h0 == EBB_NONE ? NULL : h0;
        if (at > 0) before = ebb__recurrent_step(v, y, reverse ? t + 1 : t - 1);
        if (g != EBB_NONE) l.dh = ebb__rule_add(v, l.dh, ebb__recurrent_step(v, g, t));
        gru_step_back(v, &l, t, before, pre.dims[2] / 3);
        ebb__recurrent_push(v, &dpre, l.dpre);
        ebb__recurrent_push(v, &dsum, l.dsum);
    }
    gru_give(v, ebb__recurrent_whole(v, &dpre), ebb__recurrent_whole(v, &dsum), l.dh);
}

#define GRU_NEED (EBB_NEED_IN(W) | EBB_NEED_IN(H0) | EBB_NEED_OUT(0) | EBB_NEED_OUT(1))

const ebb_op ebb__op_gru_sequence = {
    EBB_OP_HEAD(gru_sequence),
    .doc = "States and gates of a gru from what the inputs have in its gates.",
    .n_in = 4,
    .n_out = 2,
    .optional = 1u << H0 | 1u << B,
    .arg = {"pre", "h0", "w_hh", "b_hh"},
    .result = {"y", "gates"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .attrs = gru_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = gru_cost,
    .need = {GRU_NEED, GRU_NEED, GRU_NEED, GRU_NEED},
    .shape = gru_sequence_shape,
    .forward = gru_sequence_forward,
    .vjp = gru_sequence_vjp,
    .vjp_composed = gru_sequence_composed,
    EBB_SAMPLES({.in = {"3x2x6", "2x2", "6x2", "6"}}, {.in = {"1x1x3", "-", "3x1", "-"}},
                {.in = {"4x2x9", "-", "9x3", "9"}, .attr = "reverse=1"},
                {.in = {"2x0x6", "0x2", "6x2", "6"}}, {.in = {"2x3x3", "3x1", "3x1", "-"}}),
};

/* ---- its gradient ----------------------------------------------------------------------- */
enum { G_Y, G_GATES, G_W, G_H0, G_STATES, G_ACTIVE };

static ebb__recurrence grad_recurrence(const ebb__call *c)
{
    return ebb__recurrence_of(c, G_STATES, G_W, 3);
}

static ebb_status gru_sequence_grad_shape(ebb__call *c)
{
    EBB_TRY(ebb__recurrence_check(c, G_STATES, G_W, 3));
    ebb__recurrence r = grad_recurrence(c);
    EBB_TRY(ebb__recurrence_check_steps(c, G_Y, &r, r.width));
    EBB_TRY(ebb__recurrence_check_steps(c, G_GATES, &r, 4 * r.width));
    EBB_TRY(ebb__recurrence_check_state(c, G_H0, &r));
    EBB_TRY(ebb__recurrence_check_steps(c, G_STATES, &r, r.width));
    EBB_TRY(ebb__recurrence_check_steps(c, G_ACTIVE, &r, 4 * r.width));
    ebb_shape state = EBB_SHAPE(r.batch, r.width);
    ebb_shape gates = EBB_SHAPE(r.steps, r.batch, 3 * r.width);
    ebb__set_out(c, 0, r.dtype, &gates);
    ebb__set_out(c, 1, r.dtype, &gates);
    ebb__set_out(c, 2, r.dtype, &state);
    ebb__recurrence_plan(&r, 3 * r.width);
    c->scratch_bytes = ebb__recurrence_scratch(c, &r);
    return EBB_OK;
}

static void gru_grad_step(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const gru_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, gru_grad_columns, w, lo, hi, part);
}

static void gru_grad_first(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const gru_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, gru_state_columns, w, 0, lo, hi, part);
}

static ebb_status gru_sequence_grad_forward(const ebb__call *c)
{
    gru_work w = {.r = grad_recurrence(c),
                  .g_y = data_of(c, G_Y),
                  .g_gates = data_of(c, G_GATES),
                  .h0 = data_of(c, G_H0),
                  .y = c->in[G_STATES].data,
                  .gates = c->in[G_ACTIVE].data,
                  .dpre = c->out[0].data,
                  .dsum = c->out[1].data,
                  .dh = c->out[2].data};
    size_t bytes = (size_t)(w.r.batch * w.r.width) * ebb__dtype_size(w.r.dtype);
    if (bytes == 0) return EBB_OK;
    ebb__recurrence_plan(&w.r, 3 * w.r.width);
    memset(w.dh, 0, bytes);
    for (w.r.at = w.r.steps - 1; w.r.at >= 0; w.r.at--)
        ebb__recurrence_columns(c, &w.r, gru_grad_step, &w);
    ebb__recurrence_columns(c, &w.r, gru_grad_first, &w);
    return EBB_OK;
}

const ebb_op ebb__op_gru_sequence_grad = {
    EBB_OP_HEAD(gru_sequence_grad),
    .doc = "Gradients of pre, of the state's part in the gates and of h0 of gru_sequence.",
    .n_in = 6,
    .n_out = 3,
    .optional = 1u << G_Y | 1u << G_GATES | 1u << G_H0,
    .arg = {"g_y", "g_gates", "w_hh", "h0", "y", "gates"},
    .result = {"dpre", "dsum", "dh0"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .attrs = gru_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .range = {[G_ACTIVE] = {0.1, 0.9, 0}},
    .shape = gru_sequence_grad_shape,
    .forward = gru_sequence_grad_forward,
    EBB_SAMPLES({.in = {"3x2x2", "-", "6x2", "2x2", "3x2x2", "3x2x8"}},
                {.in = {"-", "2x1x4", "3x1", "-", "2x1x1", "2x1x4"}, .attr = "reverse=1"},
                {.in = {"1x3x2", "1x3x8", "6x2", "3x2", "1x3x2", "1x3x8"}}),
};

/* ---- public ----------------------------------------------------------------------------- */
enum { X, STATE, W_IH, W_HH, B_IH, B_HH };

static void gru_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                        const void *attr)
{
    (void)n_in;
    ebb__recurrent_attr how = {.reverse = *(const bool *)attr};
    ebb_tensor *made[2];
    ebb_tensor *own[] = {ebb__recurrent_input(v, in[X], 3, in[W_IH], in[B_IH], EBB_NONE),
                         in[STATE], in[W_HH], in[B_HH]};
    ebb__emit_n(v, &ebb__op_gru_sequence, &how, 4, own, 2, made);
    out[0] = made[0];
    out[1] = ebb__recurrent_last(v, made[0], how.reverse);
}

static void gru_cell_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                             const void *attr)
{
    (void)n_in;
    (void)attr;
    ebb__recurrent_attr how = {.reverse = false};
    ebb_tensor *pre = ebb__recurrent_input(v, in[X], 2, in[W_IH], in[B_IH], EBB_NONE), *made[2];
    ebb_tensor *own[] = {ebb__recurrent_one(v, pre), in[STATE], in[W_HH], in[B_HH]};
    ebb__emit_n(v, &ebb__op_gru_sequence, &how, 4, own, 2, made);
    out[0] = ebb__recurrent_last(v, made[0], false);
}

#define GRU_ARGS                                                                               \
    .n_in = 6, .optional = 1u << STATE | 1u << B_IH | 1u << B_HH,                              \
    .arg = {"x", "h0", "w_ih", "w_hh", "b_ih", "b_hh"}, .bound = EBB_BOUND_COMPUTE

const ebb_op ebb__op_gru = {
    EBB_OP_HEAD(gru),
    .doc =
        "One layer in one direction over x (steps, batch, in): with (r, z, n) = x[t] w_ih' + "
        "b_ih and (r', z', n') = h w_hh' + b_hh, n = tanh(n + sigmoid(r + r') n'), z = "
        "sigmoid(z + z'), y[t] = h = (1 - z) n + z h; w_ih is (3 width, in), w_hh (3 width, "
        "width), h0 (batch, width), absent: zeros; h is the last one.",
    GRU_ARGS,
    .n_out = 2,
    .result = {"y", "h"},
    .attr_bytes = sizeof(bool),
    .options_bytes = sizeof(bool),
    .attrs = gru_options,
    .options = "gru",
    .compose = gru_compose,
    EBB_SAMPLES({.in = {"3x2x4", "2x3", "9x4", "9x3", "9", "9"}},
                {.in = {"4x1x2", "-", "6x2", "6x2", "6", "-"}, .attr = "reverse=1"},
                {.in = {"1x2x3", "2x1", "3x3", "3x1", "-", "-"}},
                {.in = {"2x0x3", "0x2", "6x3", "6x2", "-", "6"}},
                {.in = {"5x2x2", "2x2", "6x2", "6x2", "-", "6"}}),
};

const ebb_op ebb__op_gru_cell = {
    EBB_OP_HEAD(gru_cell),
    .doc = "One step of gru: x is (batch, in); the new h (batch, width).",
    GRU_ARGS,
    .n_out = 1,
    .compose = gru_cell_compose,
    EBB_SAMPLES({.in = {"2x4", "2x3", "9x4", "9x3", "9", "9"}},
                {.in = {"1x2", "-", "6x2", "6x2", "6", "-"}},
                {.in = {"2x3", "2x1", "3x3", "3x1", "-", "-"}},
                {.in = {"0x3", "0x2", "6x3", "6x2", "-", "6"}},
                {.in = {"3x1", "3x2", "6x1", "6x2", "-", "6"}}),
};
