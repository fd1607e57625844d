/* optim.h - optimizers: updates in place, fused, all or nothing.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPTIM_H
#define EBB_OPTIM_H

#include <ebb/grad.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_optimizer ebb_optimizer;

typedef struct ebb_sgd_options {
    double momentum, weight_decay;
    bool nesterov;
    uint64_t reserved[4];
} ebb_sgd_options;
/* p -= lr * v, v = momentum * v + (g + weight_decay * p); nesterov: p -= lr * (g' + momentum *
 * v). State: one tensor per parameter where momentum is not 0, made at the first step. */
EBB_API EBB_NODISCARD ebb_status ebb_sgd_create(ebb_optimizer **out, ebb_params *p, double lr,
                                                const ebb_sgd_options *options);
typedef struct ebb_adam_options {
    double betas[2]; /* {0, 0}: {0.9, 0.999} */
    double eps;      /* 0: 1e-8 */
    double weight_decay;
    bool decoupled; /* weight decay as in AdamW */
    uint64_t reserved[4];
} ebb_adam_options;
/* Kingma & Ba 2015, algorithm 1; decoupled: Loshchilov & Hutter 2019, algorithm 2. */
EBB_API EBB_NODISCARD ebb_status ebb_adam_create(ebb_optimizer **out, ebb_params *p, double lr,
                                                 const ebb_adam_options *options);
/* Adam with decoupled weight decay; options->weight_decay 0: 0.01. */
EBB_API EBB_NODISCARD ebb_status ebb_adamw_create(ebb_optimizer **out, ebb_params *p, double lr,
                                                  const ebb_adam_options *options);

typedef struct ebb_minimize_options {
    double clip_grad_norm; /* 0: none */
    uint64_t reserved[4];
} ebb_minimize_options;
/* Backward into the optimizer's parameters only, clip, step, clear; all or nothing: after an
 * error no parameter has changed and the slots are as they were. E_MISUSE a slot of its
 * parameters holds a gradient already. */
EBB_API EBB_NODISCARD ebb_status ebb_minimize(ebb_optimizer *opt, ebb_tensor *loss,
                                              const ebb_minimize_options *options);
/* Applies the gradients in the slots and clears them; a parameter without one is left alone;
 * none at all: E_MISUSE. */
EBB_API EBB_NODISCARD ebb_status ebb_optimizer_step(ebb_optimizer *opt);
EBB_API void ebb_optimizer_set_lr(ebb_optimizer *opt, double lr);
EBB_API double ebb_optimizer_lr(const ebb_optimizer *opt);
EBB_API void ebb_optimizer_release(ebb_optimizer *opt);

#ifdef __cplusplus
}
#endif

#endif
