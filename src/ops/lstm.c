/* lstm.c - long short-term memory over a whole sequence: Hochreiter & Schmidhuber 1997 with the
 * forget gate of Gers et al. 2000, gates in PyTorch's order (input, forget, cell, output).
 *
 * The private operation's gates and cells are outputs, so that they have a history and the rule
 * for higher derivatives can be a formula of them.
 * SPDX-License-Identifier: MIT */
#include "ops/gemm.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/recurrent.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

static const ebb_attr_spec lstm_options[] = {
    {"reverse", EBB_ATTR_BOOL, 0, true, "from the last step to the first"}, {0}};
static const ebb_attr_spec lstm_attrs[] = {
    {"relu", EBB_ATTR_BOOL, offsetof(ebb__recurrent_attr, relu), false, NULL},
    {"reverse", EBB_ATTR_BOOL, offsetof(ebb__recurrent_attr, reverse), false, NULL},
    {0}};

typedef struct lstm_work {
    ebb__recurrence r;
    const void *pre, *h0, *c0, *g_y, *g_gates, *g_cells;
    void *y, *gates, *cells; /* read by the gradient */
    void *dpre, *dh, *dc;
} lstm_work;

#define EBB_TYPED "ops/recurrent.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/lstm.inl"
#include "ops/kernels/typed.h"

static const void *data_of(const ebb__call *c, int32_t i)
{
    return ebb__given(c, i) ? c->in[i].data : NULL;
}

/* ---- the sequence ----------------------------------------------------------------------- */
enum { PRE, H0, C0, W };

static ebb_status lstm_sequence_shape(ebb__call *c)
{
    EBB_TRY(ebb__recurrence_check(c, PRE, W, 4));
    ebb__recurrence r = ebb__recurrence_of(c, PRE, W, 4);
    EBB_TRY(ebb__recurrence_check_steps(c, PRE, &r, 4 * r.width));
    EBB_TRY(ebb__recurrence_check_state(c, H0, &r));
    EBB_TRY(ebb__recurrence_check_state(c, C0, &r));
    ebb_shape y = EBB_SHAPE(r.steps, r.batch, r.width);
    ebb__set_out(c, 0, r.dtype, &y);
    ebb__set_out(c, 1, r.dtype, &c->in[PRE].shape);
    ebb__set_out(c, 2, r.dtype, &y);
    ebb__recurrence_plan(&r, r.width);
    c->scratch_bytes = ebb__recurrence_scratch(c, &r);
    return EBB_OK;
}

static void lstm_step(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const lstm_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, lstm_columns, w, lo, hi, part);
}

static ebb_status lstm_sequence_forward(const ebb__call *c)
{
    lstm_work w = {.r = ebb__recurrence_of(c, PRE, W, 4),
                   .pre = c->in[PRE].data,
                   .h0 = data_of(c, H0),
                   .c0 = data_of(c, C0),
                   .y = c->out[0].data,
                   .gates = c->out[1].data,
                   .cells = c->out[2].data};
    ebb__recurrence_plan(&w.r, w.r.width);
    for (w.r.at = 0; w.r.at < w.r.steps; w.r.at++)
        ebb__recurrence_columns(c, &w.r, lstm_step, &w);
    return EBB_OK;
}

static ebb_cost lstm_cost(const ebb__call *c)
{
    ebb__recurrence r = ebb__recurrence_of(c, PRE, W, 4);
    double rows = (double)r.steps * (double)r.batch, n = (double)r.width;
    return (ebb_cost){8 * rows * n * n,
                      (10 * rows * n + 4 * n * n) * (double)ebb__dtype_size(r.dtype)};
}

static void lstm_give(ebb_vjp *v, ebb_tensor *dpre, ebb_tensor *dh, ebb_tensor *dc)
{
    if (ebb__wants(v, PRE)) ebb__give(v, PRE, dpre);
    if (ebb__wants(v, H0)) ebb__give(v, H0, dh);
    if (ebb__wants(v, C0)) ebb__give(v, C0, dc);
    if (!ebb__wants(v, W)) return;
    ebb_shape pre = ebb__in_shape(v, PRE);
    ebb__give(v, W,
              ebb__recurrent_weight(v, dpre, ebb__out(v, 0), ebb__in(v, H0), &pre,
                                    ((const ebb__recurrent_attr *)v->attr)->reverse));
}

/* c0, where the gradients wanted depend on it. */
static ebb_tensor *cell_before(ebb_vjp *v)
{
    bool matters = ebb__wants(v, PRE) || ebb__wants(v, H0) || ebb__wants(v, W);
    return matters ? ebb__in(v, C0) : EBB_NONE;
}

static void lstm_sequence_vjp(ebb_vjp *v)
{
    ebb_tensor *out[3];
    ebb_tensor *in[] = {ebb__grad(v, 0), ebb__grad(v, 1), ebb__grad(v, 2), ebb__in(v, W),
                        cell_before(v),  ebb__out(v, 1),  ebb__out(v, 2)};
    ebb__emit_n(v, &ebb__op_lstm_sequence_grad, v->attr, 7, in, 3, out);
    lstm_give(v, out[0], out[1], out[2]);
}

/* Gradients that reach one step, and what they become before it. */
typedef struct lstm_reach {
    ebb_tensor *dh, *dc, *dpre;
} lstm_reach;

static ebb_tensor *sigmoid_slope(ebb_vjp *v, ebb_tensor *g, ebb_tensor *y)
{
    return EBB_EMIT(v, sigmoid_grad, NULL, g, y);
}

/* Step t, whose cell before was `before` (NULL: zeros), by public operations. */
static void lstm_step_back(ebb_vjp *v, lstm_reach *l, int64_t t, ebb_tensor *before,
                           int64_t width)
{
    ebb_tensor *gates = ebb__recurrent_step(v, ebb__out(v, 1), t), *gate[4], *more[4] = {0};
    ebb_tensor *extra = ebb__grad(v, 1), *change = ebb__grad(v, 2), *axis_cat[4];
    for (int64_t k = 0; k < 4; k++) {
        gate[k] = ebb__recurrent_gate(v, gates, k, width);
        if (extra != EBB_NONE)
            more[k] = ebb__recurrent_gate(v, ebb__recurrent_step(v, extra, t), k, width);
    }
    ebb_tensor *squashed = EBB_EMIT(v, tanh, NULL, ebb__recurrent_step(v, ebb__out(v, 2), t));
    ebb_tensor *through =
        EBB_EMIT(v, tanh_grad, NULL, ebb__rule_mul(v, l->dh, gate[3]), squashed);
    ebb_tensor *dc = ebb__rule_add(v, l->dc, through);
    if (change != EBB_NONE) dc = ebb__rule_add(v, dc, ebb__recurrent_step(v, change, t));
    double zero = 0;
    ebb_tensor *d_forget =
        before ? ebb__rule_mul(v, dc, before) : EBB_EMIT(v, full_like, &zero, dc);
    ebb_tensor *d_in = ebb__recurrent_plus(v, more[0], ebb__rule_mul(v, dc, gate[2]));
    ebb_tensor *d_fresh = ebb__recurrent_plus(v, more[2], ebb__rule_mul(v, dc, gate[0]));
    ebb_tensor *d_open = ebb__recurrent_plus(v, more[3], ebb__rule_mul(v, l->dh, squashed));
    axis_cat[0] = sigmoid_slope(v, d_in, gate[0]);
    axis_cat[1] = sigmoid_slope(v, ebb__recurrent_plus(v, more[1], d_forget), gate[1]);
    axis_cat[2] = EBB_EMIT(v, tanh_grad, NULL, d_fresh, gate[2]);
    axis_cat[3] = sigmoid_slope(v, d_open, gate[3]);
    int64_t axis = 1;
    l->dpre = ebb__emit(v, &ebb__op_cat, &axis, 4, axis_cat);
    l->dh = EBB_EMIT(v, matmul, NULL, l->dpre, ebb__in(v, W));
    l->dc = ebb__rule_mul(v, dc, gate[1]);
}

static void lstm_sequence_composed(ebb_vjp *v)
{
    bool reverse = ((const ebb__recurrent_attr *)v->attr)->reverse;
    ebb_shape pre = ebb__in_shape(v, PRE);
    int64_t steps = pre.dims[0];
    double zero = 0;
    ebb_tensor *g = ebb__grad(v, 0), *cells = ebb__out(v, 2), *c0 = cell_before(v);
    lstm_reach l = {NULL, NULL, NULL};
    l.dh = l.dc = EBB_EMIT(v, full_like, &zero, ebb__recurrent_step(v, cells, 0));
    ebb__recurrent_pile pile = {.prepend = !reverse};
    for (int64_t at = steps - 1; at >= 0 && v->status == EBB_OK; at--) {
        int64_t t = reverse ? steps - 1 - at : at;
        ebb_tensor *before = c0 == EBB_NONE ? NULL : c0;
        if (at > 0) before = ebb__recurrent_step(v, cells, reverse ? t + 1 : t - 1);
        if (g != EBB_NONE) l.dh = ebb__rule_add(v, l.dh, ebb__recurrent_step(v, g, t));
        lstm_step_back(v, &l, t, before, pre.dims[2] / 4);
        ebb__recurrent_push(v, &pile, l.dpre);
    }
    lstm_give(v, ebb__recurrent_whole(v, &pile), l.dh, l.dc);
}

/* c0 is part of the first step's gates' gradient, not of its own. */
#define LSTM_NEED (EBB_NEED_IN(C0) | EBB_NEED_IN(W) | EBB_NEED_OUT(1) | EBB_NEED_OUT(2))

const ebb_op ebb__op_lstm_sequence = {
    EBB_OP_HEAD(lstm_sequence),
    .doc = "States, gates and cells of an lstm from what the inputs have in its gates.",
    .n_in = 4,
    .n_out = 3,
    .optional = 1u << H0 | 1u << C0,
    .arg = {"pre", "h0", "c0", "w_hh"},
    .result = {"y", "gates", "cells"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .attrs = lstm_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = lstm_cost,
    .need = {LSTM_NEED, LSTM_NEED, LSTM_NEED & ~EBB_NEED_IN(C0),
             LSTM_NEED | EBB_NEED_OUT(0) | EBB_NEED_IN(H0)},
    .shape = lstm_sequence_shape,
    .forward = lstm_sequence_forward,
    .vjp = lstm_sequence_vjp,
    .vjp_composed = lstm_sequence_composed,
    EBB_SAMPLES({.in = {"3x2x8", "2x2", "2x2", "8x2"}}, {.in = {"1x1x4", "-", "-", "4x1"}},
                {.in = {"4x2x12", "-", "2x3", "12x3"}, .attr = "reverse=1"},
                {.in = {"2x0x8", "0x2", "0x2", "8x2"}}, {.in = {"2x3x4", "3x1", "-", "4x1"}}),
};

/* ---- its gradient ----------------------------------------------------------------------- */
enum { G_Y, G_GATES, G_CELLS, G_W, G_C0, G_ACTIVE, G_CELL };

static ebb_status lstm_sequence_grad_shape(ebb__call *c)
{
    EBB_TRY(ebb__recurrence_check(c, G_ACTIVE, G_W, 4));
    ebb__recurrence r = ebb__recurrence_of(c, G_ACTIVE, G_W, 4);
    EBB_TRY(ebb__recurrence_check_steps(c, G_Y, &r, r.width));
    EBB_TRY(ebb__recurrence_check_steps(c, G_GATES, &r, 4 * r.width));
    EBB_TRY(ebb__recurrence_check_steps(c, G_CELLS, &r, r.width));
    EBB_TRY(ebb__recurrence_check_state(c, G_C0, &r));
    EBB_TRY(ebb__recurrence_check_steps(c, G_ACTIVE, &r, 4 * r.width));
    EBB_TRY(ebb__recurrence_check_steps(c, G_CELL, &r, r.width));
    ebb_shape state = EBB_SHAPE(r.batch, r.width);
    ebb__set_out(c, 0, r.dtype, &c->in[G_ACTIVE].shape);
    ebb__set_out(c, 1, r.dtype, &state);
    ebb__set_out(c, 2, r.dtype, &state);
    ebb__recurrence_plan(&r, 4 * r.width);
    c->scratch_bytes = ebb__recurrence_scratch(c, &r);
    return EBB_OK;
}

static void lstm_grad_step(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const lstm_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, lstm_grad_columns, w, lo, hi, part);
}

static void lstm_grad_first(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const lstm_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, lstm_state_columns, w, 0, lo, hi, part);
}

static ebb_status lstm_sequence_grad_forward(const ebb__call *c)
{
    lstm_work w = {.r = ebb__recurrence_of(c, G_ACTIVE, G_W, 4),
                   .g_y = data_of(c, G_Y),
                   .g_gates = data_of(c, G_GATES),
                   .g_cells = data_of(c, G_CELLS),
                   .c0 = data_of(c, G_C0),
                   .gates = c->in[G_ACTIVE].data,
                   .cells = c->in[G_CELL].data,
                   .dpre = c->out[0].data,
                   .dh = c->out[1].data,
                   .dc = c->out[2].data};
    size_t bytes = (size_t)(w.r.batch * w.r.width) * ebb__dtype_size(w.r.dtype);
    if (bytes == 0) return EBB_OK;
    ebb__recurrence_plan(&w.r, 4 * w.r.width);
    memset(w.dh, 0, bytes);
    memset(w.dc, 0, bytes);
    for (w.r.at = w.r.steps - 1; w.r.at >= 0; w.r.at--)
        ebb__recurrence_columns(c, &w.r, lstm_grad_step, &w);
    ebb__recurrence_columns(c, &w.r, lstm_grad_first, &w);
    return EBB_OK;
}

const ebb_op ebb__op_lstm_sequence_grad = {
    EBB_OP_HEAD(lstm_sequence_grad),
    .doc = "Gradients of pre, h0 and c0 of lstm_sequence.",
    .n_in = 7,
    .n_out = 3,
    .optional = 1u << G_Y | 1u << G_GATES | 1u << G_CELLS | 1u << G_C0,
    .arg = {"g_y", "g_gates", "g_cells", "w_hh", "c0", "gates", "cells"},
    .result = {"dpre", "dh0", "dc0"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .attrs = lstm_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .range = {[G_ACTIVE] = {0.1, 0.9, 0}},
    .shape = lstm_sequence_grad_shape,
    .forward = lstm_sequence_grad_forward,
    EBB_SAMPLES(
        {.in = {"3x2x2", "-", "-", "8x2", "2x2", "3x2x8", "3x2x2"}},
        {.in = {"-", "2x1x4", "2x1x1", "4x1", "-", "2x1x4", "2x1x1"}, .attr = "reverse=1"},
        {.in = {"1x3x2", "-", "1x3x2", "8x2", "3x2", "1x3x8", "1x3x2"}}),
};

/* ---- public ----------------------------------------------------------------------------- */
enum { X, STATE, CELL, W_IH, W_HH, B_IH, B_HH };

static void lstm_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    ebb__recurrent_attr how = {.reverse = *(const bool *)attr};
    ebb_tensor *pre = ebb__recurrent_input(v, in[X], 3, in[W_IH], in[B_IH], in[B_HH]), *made[3];
    ebb_tensor *own[] = {pre, in[STATE], in[CELL], in[W_HH]};
    ebb__emit_n(v, &ebb__op_lstm_sequence, &how, 4, own, 3, made);
    out[0] = made[0];
    out[1] = ebb__recurrent_last(v, made[0], how.reverse);
    out[2] = ebb__recurrent_last(v, made[2], how.reverse);
}

static void lstm_cell_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                              const void *attr)
{
    (void)n_in;
    (void)attr;
    ebb__recurrent_attr how = {.reverse = false};
    ebb_tensor *pre = ebb__recurrent_input(v, in[X], 2, in[W_IH], in[B_IH], in[B_HH]), *made[3];
    ebb_tensor *own[] = {ebb__recurrent_one(v, pre), in[STATE], in[CELL], in[W_HH]};
    ebb__emit_n(v, &ebb__op_lstm_sequence, &how, 4, own, 3, made);
    out[0] = ebb__recurrent_last(v, made[0], false);
    out[1] = ebb__recurrent_last(v, made[2], false);
}

#define LSTM_ARGS                                                                              \
    .n_in = 7, .optional = 1u << STATE | 1u << CELL | 1u << B_IH | 1u << B_HH,                 \
    .arg = {"x", "h0", "c0", "w_ih", "w_hh", "b_ih", "b_hh"}, .bound = EBB_BOUND_COMPUTE

const ebb_op ebb__op_lstm = {
    EBB_OP_HEAD(lstm),
    .doc =
        "One layer in one direction over x (steps, batch, in): with (i, f, g, o) = x[t] w_ih' "
        "+ b_ih + h w_hh' + b_hh, c = sigmoid(f) c + sigmoid(i) tanh(g), y[t] = h = "
        "sigmoid(o) tanh(c); w_ih is (4 width, in), w_hh (4 width, width), h0 and c0 (batch, "
        "width), absent: zeros; h and c are the last ones.",
    LSTM_ARGS,
    .n_out = 3,
    .result = {"y", "h", "c"},
    .attr_bytes = sizeof(bool),
    .options_bytes = sizeof(bool),
    .attrs = lstm_options,
    .options = "lstm",
    .compose = lstm_compose,
    EBB_SAMPLES({.in = {"3x2x4", "2x3", "2x3", "12x4", "12x3", "12", "12"}},
                {.in = {"4x1x2", "-", "-", "8x2", "8x2", "8", "-"}, .attr = "reverse=1"},
                {.in = {"1x2x3", "-", "2x1", "4x3", "4x1", "-", "-"}},
                {.in = {"2x0x3", "0x2", "-", "8x3", "8x2", "-", "8"}},
                {.in = {"5x2x2", "2x2", "-", "8x2", "8x2", "-", "-"}}),
};

const ebb_op ebb__op_lstm_cell = {
    EBB_OP_HEAD(lstm_cell),
    .doc = "One step of lstm: x is (batch, in); the new h and c (batch, width).",
    LSTM_ARGS,
    .n_out = 2,
    .result = {"h", "c"},
    .compose = lstm_cell_compose,
    EBB_SAMPLES({.in = {"2x4", "2x3", "2x3", "12x4", "12x3", "12", "12"}},
                {.in = {"1x2", "-", "-", "8x2", "8x2", "8", "-"}},
                {.in = {"2x3", "2x1", "2x1", "4x3", "4x1", "-", "-"}},
                {.in = {"0x3", "0x2", "-", "8x3", "8x2", "-", "8"}},
                {.in = {"3x1", "-", "3x2", "8x1", "8x2", "-", "-"}}),
};
