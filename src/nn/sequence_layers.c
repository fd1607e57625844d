/* sequence_layers.c - layers over sequences: embedding, attention, lstm and gru over whole
 * sequences. As in layers.c, what a step has used up is let go before the next one runs.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "nn/layers.h"

#include <math.h>

ebb_nn_embedding ebb_nn_embedding_make(ebb_params *p, const char *name, int64_t n,
                                       int64_t width)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    return (ebb_nn_embedding){.weight = ebb_param(own, "weight", EBB_F32, EBB_SHAPE(n, width),
                                                  ebb_normal_init(0, 1))};
}

ebb_tensor *ebb_nn_embedding_forward(const ebb_nn_embedding *m, ebb_tensor *index)
{
    if (!m) return ebb__nn_no_layer("nn_embedding_forward");
    return ebb_embedding(m->weight, index);
}

/* ---- attention --------------------------------------------------------------------------- */

ebb_nn_attention ebb_nn_attention_make(ebb_params *p, const char *name, int64_t width,
                                       int64_t n_heads)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    const ebb_init zero = ebb_constant(0);
    return (ebb_nn_attention){
        .in_weight = ebb_param(own, "in_weight", EBB_F32, EBB_SHAPE(3 * width, width),
                               ebb_xavier_uniform()),
        .in_bias = ebb_param(own, "in_bias", EBB_F32, EBB_SHAPE(3 * width), zero),
        .out_weight = ebb_param(own, "out_weight", EBB_F32, EBB_SHAPE(width, width),
                                ebb_kaiming_uniform()),
        .out_bias = ebb_param(own, "out_bias", EBB_F32, EBB_SHAPE(width), zero),
        .n_heads = n_heads};
}

/* Queries (0), keys (1) or values (2) of all heads: (batch, heads, steps, width of a head). */
static ebb_tensor *heads_of(ebb_tensor *parts, int64_t which)
{
    ebb_tensor *own = ebb_select(parts, 2, which);
    ebb_tensor *heads = ebb_transpose(own, 1, 2);
    ebb__nn_drop(own);
    return heads;
}

/* The heads' results for x (batch, steps, width), side by side again. */
static ebb_tensor *attend(const ebb_nn_attention *m, ebb_tensor *x, ebb_tensor *mask,
                          const ebb_attention_options *options)
{
    const int64_t batch = ebb_dim(x, 0), steps = ebb_dim(x, 1), width = ebb_dim(x, 2);
    ebb_tensor *all = ebb_linear(x, m->in_weight, m->in_bias);
    const ebb_shape parts = EBB_SHAPE(batch, steps, 3, m->n_heads, width / m->n_heads);
    ebb_replace(&all, ebb_reshape(all, parts));
    ebb_tensor *q = heads_of(all, 0), *k = heads_of(all, 1), *v = heads_of(all, 2);
    ebb__nn_drop(all);
    ebb_tensor *y = ebb_scaled_dot_product_attention(q, k, v, mask, options);
    ebb__nn_drop(q);
    ebb__nn_drop(k);
    ebb__nn_drop(v);
    ebb_replace(&y, ebb_transpose(y, 1, 2));
    ebb_replace(&y, ebb_reshape(y, EBB_SHAPE(batch, steps, width)));
    return y;
}

/* Source: Vaswani et al. 2017, section 3.2. */
ebb_tensor *ebb_nn_attention_forward(const ebb_nn_attention *m, ebb_tensor *x, ebb_tensor *mask,
                                     const ebb_attention_options *options)
{
    if (!m) return ebb__nn_no_layer("nn_attention_forward");
    if (!x) return NULL;
    const int64_t width = ebb_rank(x) == 3 ? ebb_dim(x, 2) : 0;
    if (width == 0 || m->n_heads < 1 || width % m->n_heads != 0) {
        (void)ebb_fail(
            EBB_E_SHAPE,
            "nn_attention_forward: x must be (batch, steps, width), width a multiple "
            "of %lld heads",
            (long long)m->n_heads);
        return NULL;
    }
    const ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_tensor *y = attend(m, x, mask, options);
    ebb_tensor *out = ebb_escape(scope, ebb_linear(y, m->out_weight, m->out_bias));
    ebb_scope_end(scope);
    return out;
}

/* ---- recurrent --------------------------------------------------------------------------- */

static const char *first_null(const void *y, const void *h, const void *c, const void *m)
{
    return !y ? "y" : !h ? "h" : !c ? "c" : !m ? "m" : NULL;
}

ebb_status ebb_nn_lstm_forward(ebb_tensor **y, ebb_tensor **h, ebb_tensor **c,
                               const ebb_nn_lstm *m, ebb_tensor *x,
                               const ebb_lstm_options *options)
{
    const char *missing = first_null(y, h, c, m);
    if (missing) return ebb_fail(EBB_E_MISUSE, "nn_lstm_forward: %s is NULL", missing);
    return ebb_lstm(y, h, c, x, *h, *c, m->w_x, m->w_h, m->bias, EBB_NONE, options);
}

ebb_nn_gru ebb_nn_gru_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_hidden)
{
    ebb_params *own = ebb_params_sub(p, "%s", name);
    const double bound = n_hidden > 0 ? 1 / sqrt((double)n_hidden) : 0;
    const ebb_init init = ebb_uniform_init(-bound, bound);
    const int64_t n = 3 * n_hidden;
    return (ebb_nn_gru){.w_x = ebb_param(own, "w_x", EBB_F32, EBB_SHAPE(n, n_in), init),
                        .w_h = ebb_param(own, "w_h", EBB_F32, EBB_SHAPE(n, n_hidden), init),
                        .b_x = ebb_param(own, "b_x", EBB_F32, EBB_SHAPE(n), init),
                        .b_h = ebb_param(own, "b_h", EBB_F32, EBB_SHAPE(n), init)};
}

ebb_status ebb_nn_gru_forward(ebb_tensor **y, ebb_tensor **h, const ebb_nn_gru *m,
                              ebb_tensor *x, const ebb_gru_options *options)
{
    const char *missing = first_null(y, h, h, m);
    if (missing) return ebb_fail(EBB_E_MISUSE, "nn_gru_forward: %s is NULL", missing);
    return ebb_gru(y, h, x, *h, m->w_x, m->w_h, m->b_x, m->b_h, options);
}
