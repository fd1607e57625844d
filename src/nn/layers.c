/* layers.c - layers as plain structs of borrowed parameters. Invariant of every forward: what a
 * step has used up is let go before the next step runs, so that a layer's peak is what its
 * operations need and no more.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "nn/layers.h"

#include <math.h>

/* PyTorch's default for biases: U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)). */
static ebb_init bias_init(int64_t fan_in)
{
    const double bound = fan_in > 0 ? 1 / sqrt((double)fan_in) : 0;
    return ebb_uniform_init(-bound, bound);
}

ebb_nn_linear ebb_nn_linear_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_out)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    return (ebb_nn_linear){
        .weight =
            ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n_out, n_in), ebb_kaiming_uniform()),
        .bias = ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n_out), bias_init(n_in))};
}

ebb_tensor *ebb_nn_linear_forward(const ebb_nn_linear *m, ebb_tensor *x)
{
    if (!m) return ebb__nn_no_layer("nn_linear_forward");
    return ebb_linear(x, m->weight, m->bias);
}

ebb_nn_norm ebb_nn_norm_make(ebb_params *p, const char *name, int64_t n)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    return (ebb_nn_norm){
        .weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n), ebb_constant(1)),
        .bias = ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n), ebb_constant(0))};
}

ebb_tensor *ebb_nn_norm_forward(const ebb_nn_norm *m, ebb_tensor *x)
{
    if (!m) return ebb__nn_no_layer("nn_norm_forward");
    return ebb_layer_norm(x, m->weight, m->bias, NULL);
}

ebb_nn_batch_norm ebb_nn_batch_norm_make(ebb_params *p, const char *name, int64_t n)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    const ebb_init zero = ebb_constant(0), one = ebb_constant(1);
    return (ebb_nn_batch_norm){
        .weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n), one),
        .bias = ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n), zero),
        .running_mean = ebb_buffer(own, "running_mean", EBB_F32, EBB_SHAPE(n), zero),
        .running_var = ebb_buffer(own, "running_var", EBB_F32, EBB_SHAPE(n), one)};
}

ebb_tensor *ebb_nn_batch_norm_forward(const ebb_nn_batch_norm *m, ebb_tensor *x, bool training)
{
    if (!m) return ebb__nn_no_layer("nn_batch_norm_forward");
    const ebb_norm_options o = {.inference = !training};
    return ebb_batch_norm(x, m->weight, m->bias, m->running_mean, m->running_var, &o);
}

ebb_nn_conv2d ebb_nn_conv2d_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_out,
                                 int64_t kernel, const ebb_conv2d_options *options)
{
    ebb_nn_conv2d m = {NULL};
    if (options) m.options = *options;
    const int64_t groups = m.options.groups ? m.options.groups : 1;
    ebb_params *own = ebb_params_sub(p, "%s", name);
    /* Divisible or not, the convolution itself says what does not fit. */
    const int64_t n_group = groups > 0 ? n_in / groups : n_in;
    m.weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n_out, n_group, kernel, kernel),
                         ebb_kaiming_uniform());
    m.bias =
        ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n_out), bias_init(n_group * kernel * kernel));
    return m;
}

ebb_tensor *ebb_nn_conv2d_forward(const ebb_nn_conv2d *m, ebb_tensor *x)
{
    if (!m) return ebb__nn_no_layer("nn_conv2d_forward");
    return ebb_conv2d(x, m->weight, m->bias, &m->options);
}

ebb_nn_conv1d ebb_nn_conv1d_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_out,
                                 int64_t kernel, const ebb_conv1d_options *options)
{
    ebb_nn_conv1d m = {NULL};
    if (options) m.options = *options;
    const int64_t groups = m.options.groups ? m.options.groups : 1;
    const int64_t n_group = groups > 0 ? n_in / groups : n_in;
    ebb_params *own = ebb_params_sub(p, "%s", name);
    m.weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n_out, n_group, kernel),
                         ebb_kaiming_uniform());
    m.bias = ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n_out), bias_init(n_group * kernel));
    return m;
}

ebb_tensor *ebb_nn_conv1d_forward(const ebb_nn_conv1d *m, ebb_tensor *x)
{
    if (!m) return ebb__nn_no_layer("nn_conv1d_forward");
    return ebb_conv1d(x, m->weight, m->bias, &m->options);
}

ebb_nn_conv_transpose2d
ebb_nn_conv_transpose2d_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_out,
                             int64_t kernel, const ebb_conv_transpose2d_options *options)
{
    ebb_nn_conv_transpose2d m = {NULL};
    if (options) m.options = *options;
    const int64_t groups = m.options.groups ? m.options.groups : 1;
    const int64_t n_group = groups > 0 ? n_out / groups : n_out;
    ebb_params *own = ebb_params_sub(p, "%s", name);
    m.weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n_in, n_group, kernel, kernel),
                         ebb_kaiming_uniform());
    m.bias =
        ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n_out), bias_init(n_group * kernel * kernel));
    return m;
}

ebb_tensor *ebb_nn_conv_transpose2d_forward(const ebb_nn_conv_transpose2d *m, ebb_tensor *x)
{
    if (!m) return ebb__nn_no_layer("nn_conv_transpose2d_forward");
    return ebb_conv_transpose2d(x, m->weight, m->bias, &m->options);
}

ebb_nn_group_norm ebb_nn_group_norm_make(ebb_params *p, const char *name, int64_t groups,
                                         int64_t channels)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    return (ebb_nn_group_norm){
        .weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(channels), ebb_constant(1)),
        .bias = ebb_param(own, "bias", EBB_F32, EBB_SHAPE(channels), ebb_constant(0)),
        .groups = groups};
}

ebb_tensor *ebb_nn_group_norm_forward(const ebb_nn_group_norm *m, ebb_tensor *x)
{
    if (!m) return ebb__nn_no_layer("nn_group_norm_forward");
    return ebb_group_norm(x, m->weight, m->bias, m->groups, NULL);
}

/* ---- lstm -------------------------------------------------------------------------------- */

ebb_nn_lstm ebb_nn_lstm_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_hidden)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    const ebb_init init = bias_init(n_hidden);
    const int64_t n = 4 * n_hidden;
    return (ebb_nn_lstm){.w_x = ebb_param(own, "w_x", EBB_F32, EBB_SHAPE(n, n_in), init),
                         .w_h = ebb_param(own, "w_h", EBB_F32, EBB_SHAPE(n, n_hidden), init),
                         .bias = ebb_param(own, "bias", EBB_F32, EBB_SHAPE(n), init)};
}

static ebb_tensor *gate(ebb_tensor *gates, int64_t k)
{
    const int64_t n = ebb_dim(gates, 1) / 4;
    return ebb_narrow(gates, 1, k * n, n);
}

/* c' = forget * c + input * cell. */
static ebb_tensor *next_cell(ebb_tensor *gates, ebb_tensor *c)
{
    const ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_tensor *input = ebb_sigmoid(gate(gates, 0)), *cell = ebb_tanh(gate(gates, 2));
    ebb_tensor *added = ebb_mul(input, cell);
    ebb__nn_drop(input);
    ebb__nn_drop(cell);
    ebb_tensor *kept = ebb_sigmoid(gate(gates, 1));
    ebb_replace(&kept, ebb_mul(kept, c));
    ebb_tensor *out = ebb_escape(scope, ebb_add(kept, added));
    ebb_scope_end(scope);
    return out;
}

static void step(ebb_tensor **h, ebb_tensor **c, const ebb_nn_lstm *m, ebb_tensor *x)
{
    ebb_tensor *gates = ebb_linear(*h, m->w_h, EBB_NONE);
    ebb_tensor *from_x = ebb_linear(x, m->w_x, m->bias);
    ebb_replace(&gates, ebb_add(from_x, gates));
    ebb__nn_drop(from_x);
    *c = next_cell(gates, *c);
    ebb_tensor *last = gate(gates, 3), *output = ebb_sigmoid(last);
    ebb__nn_drop(last);
    ebb__nn_drop(gates);
    ebb_tensor *squashed = ebb_tanh(*c);
    *h = ebb_mul(output, squashed);
}

/* Source: Hochreiter & Schmidhuber 1997 with the forget gate of Gers et al. 2000. */
ebb_status ebb_nn_lstm_step(ebb_tensor **h, ebb_tensor **c, const ebb_nn_lstm *m, ebb_tensor *x)
{
    if (!h || !c || !m)
        return ebb_fail(EBB_E_MISUSE, "nn_lstm_step: %s is NULL", !h ? "h" : !c ? "c" : "m");
    const ebb_scope scope = ebb_scope_begin(0, NULL);
    step(h, c, m, x);
    *h = ebb_escape(scope, *h);
    *c = ebb_escape(scope, *c);
    ebb_scope_end(scope);
    if (*h && *c) return EBB_OK;
    *h = *c = NULL;
    return ebb_error_status();
}
