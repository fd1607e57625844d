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

typedef struct ebb_nn_lstm {
    ebb_tensor *w_x, *w_h, *bias; /* (4 n_hidden, n_in), (4 n_hidden, n_hidden), (4 n_hidden) */
} ebb_nn_lstm;
EBB_API ebb_nn_lstm ebb_nn_lstm_make(ebb_params *p, const char *name, int64_t n_in,
                                     int64_t n_hidden);
/* One step: replaces *h and *c (n, n_hidden); both NULL on failure. Gates in PyTorch's order:
 * input, forget, cell, output. */
EBB_API EBB_NODISCARD ebb_status ebb_nn_lstm_step(ebb_tensor **h, ebb_tensor **c,
                                                  const ebb_nn_lstm *m, ebb_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
