/* rnn.c - the plain recurrent network (Elman 1990) over a whole sequence.
 *
 * Nothing but the states is kept. The gradient operation has no rule of its own: higher
 * derivatives are made of the formula.
 * SPDX-License-Identifier: MIT */
#include "ops/gemm.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/recurrent.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

#define RNN_SPECS(is_option)                                                                   \
    {                                                                                          \
        {"relu", EBB_ATTR_BOOL, offsetof(ebb__recurrent_attr, relu), is_option,                \
         "max(x, 0) in place of tanh"},                                                        \
            {"reverse", EBB_ATTR_BOOL, offsetof(ebb__recurrent_attr, reverse), is_option,      \
             "from the last step to the first"},                                               \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }
static const ebb_attr_spec rnn_options[] = RNN_SPECS(true);
static const ebb_attr_spec rnn_attrs[] = RNN_SPECS(false);
static const ebb_attr_spec rnn_cell_options[] = {
    {"relu", EBB_ATTR_BOOL, 0, true, "max(x, 0) in place of tanh"}, {0}};

typedef struct rnn_work {
    ebb__recurrence r;
    const void *pre, *h0, *g_y;
    void *y; /* read by the gradient */
    void *dpre, *dh;
} rnn_work;

#define EBB_TYPED "ops/recurrent.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/rnn.inl"
#include "ops/kernels/typed.h"

/* ---- the sequence ----------------------------------------------------------------------- */
enum { PRE, H0, W };

static ebb_status rnn_sequence_shape(ebb__call *c)
{
    EBB_TRY(ebb__recurrence_check(c, PRE, W, 1));
    ebb__recurrence r = ebb__recurrence_of(c, PRE, W, 1);
    EBB_TRY(ebb__recurrence_check_steps(c, PRE, &r, r.width));
    EBB_TRY(ebb__recurrence_check_state(c, H0, &r));
    ebb__set_out(c, 0, r.dtype, &c->in[PRE].shape);
    ebb__recurrence_plan(&r, r.width);
    c->scratch_bytes = ebb__recurrence_scratch(c, &r);
    return EBB_OK;
}

static void rnn_step(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const rnn_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, rnn_columns, w, lo, hi, part);
}

static ebb_status rnn_sequence_forward(const ebb__call *c)
{
    rnn_work w = {.r = ebb__recurrence_of(c, PRE, W, 1),
                  .pre = c->in[PRE].data,
                  .h0 = ebb__given(c, H0) ? c->in[H0].data : NULL,
                  .y = c->out[0].data};
    ebb__recurrence_plan(&w.r, w.r.width);
    for (w.r.at = 0; w.r.at < w.r.steps; w.r.at++)
        ebb__recurrence_columns(c, &w.r, rnn_step, &w);
    return EBB_OK;
}

static ebb_cost rnn_cost(const ebb__call *c)
{
    ebb__recurrence r = ebb__recurrence_of(c, PRE, W, 1);
    double rows = (double)r.steps * (double)r.batch, n = (double)r.width;
    return (ebb_cost){2 * rows * n * n,
                      (2 * rows * n + n * n) * (double)ebb__dtype_size(r.dtype)};
}

static void rnn_give(ebb_vjp *v, ebb_tensor *dpre, ebb_tensor *dh)
{
    if (ebb__wants(v, PRE)) ebb__give(v, PRE, dpre);
    if (ebb__wants(v, H0)) ebb__give(v, H0, dh);
    if (!ebb__wants(v, W)) return;
    ebb_shape pre = ebb__in_shape(v, PRE);
    ebb__give(v, W,
              ebb__recurrent_weight(v, dpre, ebb__out(v, 0), ebb__in(v, H0), &pre,
                                    ((const ebb__recurrent_attr *)v->attr)->reverse));
}

static void rnn_sequence_vjp(ebb_vjp *v)
{
    ebb_tensor *out[2], *in[] = {ebb__grad(v, 0), ebb__in(v, W), ebb__out(v, 0)};
    ebb__emit_n(v, &ebb__op_rnn_sequence_grad, v->attr, 3, in, 2, out);
    rnn_give(v, out[0], out[1]);
}

static void rnn_sequence_composed(ebb_vjp *v)
{
    const ebb__recurrent_attr *a = v->attr;
    int64_t steps = ebb__in_shape(v, PRE).dims[0];
    ebb_tensor *g = ebb__grad(v, 0), *y = ebb__out(v, 0), *dh = NULL;
    ebb__recurrent_pile pile = {.prepend = !a->reverse};
    for (int64_t at = steps - 1; at >= 0 && v->status == EBB_OK; at--) {
        int64_t t = a->reverse ? steps - 1 - at : at;
        ebb_tensor *reach = ebb__recurrent_plus(v, dh, ebb__recurrent_step(v, g, t));
        ebb_tensor *state = ebb__recurrent_step(v, y, t);
        reach = a->relu ? EBB_EMIT(v, relu_grad, NULL, reach, state)
                        : EBB_EMIT(v, tanh_grad, NULL, reach, state);
        ebb__recurrent_push(v, &pile, reach);
        dh = EBB_EMIT(v, matmul, NULL, reach, ebb__in(v, W));
    }
    rnn_give(v, ebb__recurrent_whole(v, &pile), dh);
}

const ebb_op ebb__op_rnn_sequence = {
    EBB_OP_HEAD(rnn_sequence),
    .doc = "States of an rnn from what the inputs have in them.",
    .n_in = 3,
    .n_out = 1,
    .optional = 1u << H0,
    .arg = {"pre", "h0", "w_hh"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .attrs = rnn_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = rnn_cost,
    .need = {EBB_NEED_IN(W) | EBB_NEED_OUT(0), EBB_NEED_IN(W) | EBB_NEED_OUT(0),
             EBB_NEED_IN(W) | EBB_NEED_OUT(0) | EBB_NEED_IN(H0)},
    .shape = rnn_sequence_shape,
    .forward = rnn_sequence_forward,
    .vjp = rnn_sequence_vjp,
    .vjp_composed = rnn_sequence_composed,
    EBB_SAMPLES({.in = {"3x2x2", "2x2", "2x2"}}, {.in = {"1x1x1", "-", "1x1"}},
                {.in = {"4x2x3", "-", "3x3"}, .attr = "reverse=1"},
                {.in = {"3x2x2", "2x2", "2x2"}, .attr = "relu=1"},
                {.in = {"2x0x2", "0x2", "2x2"}}),
};

/* ---- its gradient ----------------------------------------------------------------------- */
enum { G_Y, G_W, G_STATES };

static ebb_status rnn_sequence_grad_shape(ebb__call *c)
{
    EBB_TRY(ebb__recurrence_check(c, G_STATES, G_W, 1));
    ebb__recurrence r = ebb__recurrence_of(c, G_STATES, G_W, 1);
    EBB_TRY(ebb__recurrence_check_steps(c, G_Y, &r, r.width));
    EBB_TRY(ebb__recurrence_check_steps(c, G_STATES, &r, r.width));
    ebb_shape state = EBB_SHAPE(r.batch, r.width);
    ebb__set_out(c, 0, r.dtype, &c->in[G_STATES].shape);
    ebb__set_out(c, 1, r.dtype, &state);
    ebb__recurrence_plan(&r, r.width);
    c->scratch_bytes = ebb__recurrence_scratch(c, &r);
    return EBB_OK;
}

static void rnn_grad_step(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const rnn_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, rnn_grad_columns, w, lo, hi, part);
}

static void rnn_grad_first(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const rnn_work *w = arg;
    EBB_BY_DTYPE(w->r.dtype, rnn_state_columns, w, 0, lo, hi, part);
}

static ebb_status rnn_sequence_grad_forward(const ebb__call *c)
{
    rnn_work w = {.r = ebb__recurrence_of(c, G_STATES, G_W, 1),
                  .g_y = c->in[G_Y].data,
                  .y = c->in[G_STATES].data,
                  .dpre = c->out[0].data,
                  .dh = c->out[1].data};
    size_t bytes = (size_t)(w.r.batch * w.r.width) * ebb__dtype_size(w.r.dtype);
    if (bytes == 0) return EBB_OK;
    ebb__recurrence_plan(&w.r, w.r.width);
    memset(w.dh, 0, bytes);
    for (w.r.at = w.r.steps - 1; w.r.at >= 0; w.r.at--)
        ebb__recurrence_columns(c, &w.r, rnn_grad_step, &w);
    ebb__recurrence_columns(c, &w.r, rnn_grad_first, &w);
    return EBB_OK;
}

const ebb_op ebb__op_rnn_sequence_grad = {
    EBB_OP_HEAD(rnn_sequence_grad),
    .doc = "Gradients of pre and h0 of rnn_sequence, from its states.",
    .n_in = 3,
    .n_out = 2,
    .arg = {"g_y", "w_hh", "y"},
    .result = {"dpre", "dh0"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .attrs = rnn_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .range = {[G_STATES] = {0.1, 0.9, 0}},
    .shape = rnn_sequence_grad_shape,
    .forward = rnn_sequence_grad_forward,
    EBB_SAMPLES({.in = {"3x2x2", "2x2", "3x2x2"}},
                {.in = {"2x1x3", "3x3", "2x1x3"}, .attr = "reverse=1 relu=1"},
                {.in = {"1x3x1", "1x1", "1x3x1"}}),
};

/* ---- public ----------------------------------------------------------------------------- */
enum { X, STATE, W_IH, W_HH, B_IH, B_HH };

static void rnn_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                        const void *attr)
{
    (void)n_in;
    ebb_tensor *pre = ebb__recurrent_input(v, in[X], 3, in[W_IH], in[B_IH], in[B_HH]);
    out[0] = EBB_EMIT(v, rnn_sequence, attr, pre, in[STATE], in[W_HH]);
    out[1] = ebb__recurrent_last(v, out[0], ((const ebb__recurrent_attr *)attr)->reverse);
}

static void rnn_cell_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                             const void *attr)
{
    (void)n_in;
    ebb__recurrent_attr how = {.relu = *(const bool *)attr};
    ebb_tensor *pre = ebb__recurrent_input(v, in[X], 2, in[W_IH], in[B_IH], in[B_HH]);
    pre = ebb__recurrent_one(v, pre);
    out[0] = ebb__recurrent_last(v, EBB_EMIT(v, rnn_sequence, &how, pre, in[STATE], in[W_HH]),
                                 false);
}

#define RNN_ARGS                                                                               \
    .n_in = 6, .optional = 1u << STATE | 1u << B_IH | 1u << B_HH,                              \
    .arg = {"x", "h0", "w_ih", "w_hh", "b_ih", "b_hh"}, .bound = EBB_BOUND_COMPUTE

const ebb_op ebb__op_rnn = {
    EBB_OP_HEAD(rnn),
    .doc =
        "One layer in one direction over x (steps, batch, in): y[t] = h = tanh(x[t] w_ih' + "
        "b_ih + h w_hh' + b_hh); w_ih is (width, in), w_hh (width, width), h0 (batch, width), "
        "absent: zeros; h is the last one.",
    RNN_ARGS,
    .n_out = 2,
    .result = {"y", "h"},
    .attr_bytes = sizeof(ebb__recurrent_attr),
    .options_bytes = sizeof(ebb__recurrent_attr),
    .attrs = rnn_options,
    .options = "rnn",
    .compose = rnn_compose,
    EBB_SAMPLES({.in = {"3x2x4", "2x3", "3x4", "3x3", "3", "3"}},
                {.in = {"4x1x2", "-", "2x2", "2x2", "2", "-"}, .attr = "reverse=1"},
                {.in = {"1x2x3", "2x1", "1x3", "1x1", "-", "-"}},
                {.in = {"2x0x3", "0x2", "2x3", "2x2", "-", "2"}},
                {.in = {"3x2x2", "2x2", "2x2", "2x2", "-", "2"}, .attr = "relu=1"}),
};

const ebb_op ebb__op_rnn_cell = {
    EBB_OP_HEAD(rnn_cell),
    .doc = "One step of rnn: x is (batch, in); the new h (batch, width).",
    RNN_ARGS,
    .n_out = 1,
    .attr_bytes = sizeof(bool),
    .options_bytes = sizeof(bool),
    .attrs = rnn_cell_options,
    .options = "rnn_cell",
    .compose = rnn_cell_compose,
    EBB_SAMPLES({.in = {"2x4", "2x3", "3x4", "3x3", "3", "3"}},
                {.in = {"1x2", "-", "2x2", "2x2", "2", "-"}},
                {.in = {"2x3", "2x1", "1x3", "1x1", "-", "-"}, .attr = "relu=1"},
                {.in = {"0x3", "0x2", "2x3", "2x2", "-", "2"}},
                {.in = {"3x1", "3x2", "2x1", "2x2", "-", "2"}}),
};
