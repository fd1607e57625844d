/* nn.h - layers: plain structs of borrowed parameters. T_make(params, name, sizes...) and
 * T_forward(&m, x). A failure while making is kept in the set (ebb_params_status); the layer's
 * members are then NULL and so is what its forward returns.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NN_H
#define EBB_NN_H

#include <ebb/ops.h>
#include <ebb/params.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_nn_linear {
    ebb_tensor *weight, *bias; /* (n_out, n_in), (n_out) */
} ebb_nn_linear;
EBB_API ebb_nn_linear ebb_nn_linear_make(ebb_params *p, const char *name, int64_t n_in,
                                         int64_t n_out);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_linear_forward(const ebb_nn_linear *m, ebb_tensor *x);

typedef struct ebb_nn_norm {
    ebb_tensor *weight, *bias; /* (n) */
} ebb_nn_norm;
/* Layer norm over the last axis. */
EBB_API ebb_nn_norm ebb_nn_norm_make(ebb_params *p, const char *name, int64_t n);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_norm_forward(const ebb_nn_norm *m, ebb_tensor *x);

typedef struct ebb_nn_batch_norm {
    ebb_tensor *weight, *bias, *running_mean, *running_var; /* (n) */
} ebb_nn_batch_norm;
EBB_API ebb_nn_batch_norm ebb_nn_batch_norm_make(ebb_params *p, const char *name, int64_t n);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_batch_norm_forward(const ebb_nn_batch_norm *m,
                                                            ebb_tensor *x, bool training);

typedef struct ebb_nn_conv2d {
    ebb_tensor *weight, *bias; /* (n_out, n_in / groups, kernel, kernel), (n_out) */
    ebb_conv2d_options options;
} ebb_nn_conv2d;
EBB_API ebb_nn_conv2d ebb_nn_conv2d_make(ebb_params *p, const char *name, int64_t n_in,
                                         int64_t n_out, int64_t kernel,
                                         const ebb_conv2d_options *options);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_conv2d_forward(const ebb_nn_conv2d *m, ebb_tensor *x);

typedef struct ebb_nn_conv1d {
    ebb_tensor *weight, *bias; /* (n_out, n_in / groups, kernel), (n_out) */
    ebb_conv1d_options options;
} ebb_nn_conv1d;
EBB_API ebb_nn_conv1d ebb_nn_conv1d_make(ebb_params *p, const char *name, int64_t n_in,
                                         int64_t n_out, int64_t kernel,
                                         const ebb_conv1d_options *options);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_conv1d_forward(const ebb_nn_conv1d *m, ebb_tensor *x);

typedef struct ebb_nn_conv_transpose2d {
    ebb_tensor *weight, *bias; /* (n_in, n_out / groups, kernel, kernel), (n_out) */
    ebb_conv_transpose2d_options options;
} ebb_nn_conv_transpose2d;
EBB_API ebb_nn_conv_transpose2d
ebb_nn_conv_transpose2d_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_out,
                             int64_t kernel, const ebb_conv_transpose2d_options *options);
EBB_API EBB_NODISCARD ebb_tensor *
ebb_nn_conv_transpose2d_forward(const ebb_nn_conv_transpose2d *m, ebb_tensor *x);

typedef struct ebb_nn_group_norm {
    ebb_tensor *weight, *bias; /* (channels) */
    int64_t groups;
} ebb_nn_group_norm;
EBB_API ebb_nn_group_norm ebb_nn_group_norm_make(ebb_params *p, const char *name,
                                                 int64_t groups, int64_t channels);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_group_norm_forward(const ebb_nn_group_norm *m,
                                                            ebb_tensor *x);

typedef struct ebb_nn_embedding {
    ebb_tensor *weight; /* (n, width) */
} ebb_nn_embedding;
EBB_API ebb_nn_embedding ebb_nn_embedding_make(ebb_params *p, const char *name, int64_t n,
                                               int64_t width);
EBB_API EBB_NODISCARD ebb_tensor *ebb_nn_embedding_forward(const ebb_nn_embedding *m,
                                                           ebb_tensor *index);

/* Self-attention with several heads. in_weight's rows are those of queries, keys and values. */
typedef struct ebb_nn_attention {
    ebb_tensor *in_weight, *in_bias;   /* (3 width, width), (3 width) */
    ebb_tensor *out_weight, *out_bias; /* (width, width), (width) */
    int64_t n_heads;
} ebb_nn_attention;
EBB_API ebb_nn_attention ebb_nn_attention_make(ebb_params *p, const char *name, int64_t width,
                                               int64_t n_heads);
/* x is (batch, steps, width), as is the result; mask (EBB_NONE: none) broadcasts to (batch,
 * n_heads, steps, steps). Options as for ebb_scaled_dot_product_attention. */
EBB_API EBB_NODISCARD ebb_tensor *
ebb_nn_attention_forward(const ebb_nn_attention *m, ebb_tensor *x, ebb_tensor *mask,
                         const ebb_attention_options *options);

typedef struct ebb_nn_lstm {
    ebb_tensor *w_x, *w_h, *bias; /* (4 n_hidden, n_in), (4 n_hidden, n_hidden), (4 n_hidden) */
} ebb_nn_lstm;
EBB_API ebb_nn_lstm ebb_nn_lstm_make(ebb_params *p, const char *name, int64_t n_in,
                                     int64_t n_hidden);
/* One step: replaces *h and *c (n, n_hidden); both NULL on failure. Gates in PyTorch's order:
 * input, forget, cell, output. */
EBB_API EBB_NODISCARD ebb_status ebb_nn_lstm_step(ebb_tensor **h, ebb_tensor **c,
                                                  const ebb_nn_lstm *m, ebb_tensor *x);
/* A whole sequence x (steps, n, n_in): *y gets its states (steps, n, n_hidden); *h and *c, the
 * states before (EBB_NONE: zeros), become the last ones. All NULL on failure. */
EBB_API EBB_NODISCARD ebb_status ebb_nn_lstm_forward(ebb_tensor **y, ebb_tensor **h,
                                                     ebb_tensor **c, const ebb_nn_lstm *m,
                                                     ebb_tensor *x,
                                                     const ebb_lstm_options *options);

typedef struct ebb_nn_gru {
    ebb_tensor *w_x, *w_h, *b_x, *b_h; /* (3 n_hidden, n_in), (3 n_hidden, n_hidden), (3
                                          n_hidden) twice; reset, update, new */
} ebb_nn_gru;
EBB_API ebb_nn_gru ebb_nn_gru_make(ebb_params *p, const char *name, int64_t n_in,
                                   int64_t n_hidden);
/* As ebb_nn_lstm_forward, with one state. */
EBB_API EBB_NODISCARD ebb_status ebb_nn_gru_forward(ebb_tensor **y, ebb_tensor **h,
                                                    const ebb_nn_gru *m, ebb_tensor *x,
                                                    const ebb_gru_options *options);

#ifdef __cplusplus
}
#endif

#endif
