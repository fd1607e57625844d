/* params.h - named sets of parameters and buffers, and how they start.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_PARAMS_H
#define EBB_PARAMS_H

#include <ebb/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_params ebb_params;

/* How a parameter starts; random ones draw from the context's generator. */
typedef struct ebb_init {
    int32_t kind;
    double a, b;
} ebb_init;
/* U(-bound, bound), bound = sqrt(6 / ((1 + a^2) fan_in)), a = sqrt(5) (PyTorch's default for
 * linear and convolution): bound = 1 / sqrt(fan_in). fan_in: elements of one output's weights.
 * Source: He et al. 2015, eq. 10. */
EBB_API ebb_init ebb_kaiming_uniform(void);
/* N(0, std), std = sqrt(2 / fan_in), for layers before relu. */
EBB_API ebb_init ebb_kaiming_normal(void);
/* U(-a, a), a = sqrt(6 / (fan_in + fan_out)). Source: Glorot & Bengio 2010, eq. 16. */
EBB_API ebb_init ebb_xavier_uniform(void);
EBB_API ebb_init ebb_constant(double v);
EBB_API ebb_init ebb_normal_init(double mean, double std);
EBB_API ebb_init ebb_uniform_init(double low, double high);

EBB_API EBB_NODISCARD ebb_status ebb_params_create(ebb_params **out, ebb_context *ctx);
/* One reference more to the whole set that p is part of; the caller owes one
 * ebb_params_release. Returns p. */
EBB_API ebb_params *ebb_params_keep(ebb_params *p);
/* One reference less to the whole set that p is part of; with the last go its subtrees and
 * every parameter in it. NULL is ignored. */
EBB_API void ebb_params_release(ebb_params *p);
/* The subtree of that name, made where it is not there: borrowed, lives as long as the set.
 * NULL stays NULL; a failure is kept in the set (ebb_params_status). */
EBB_API ebb_params *ebb_params_sub(ebb_params *p, const char *format, ...) EBB_PRINTF(2, 3);
/* A trainable leaf of a floating type: borrowed, lives as long as the set. A name given twice in one
 * subtree is E_MISUSE. NULL on failure. */
EBB_API ebb_tensor *ebb_param(ebb_params *p, const char *name, ebb_dtype d, ebb_shape s,
                              ebb_init init);
/* Saved with the set, never trained. */
EBB_API ebb_tensor *ebb_buffer(ebb_params *p, const char *name, ebb_dtype d, ebb_shape s,
                               ebb_init init);
/* The first failure while the set was built. */
EBB_API EBB_NODISCARD ebb_status ebb_params_status(const ebb_params *p);
/* By its name below p ("weight" in the subtree conv1): borrowed; EBB_NONE where there is none. */
EBB_API ebb_tensor *ebb_params_find(ebb_params *p, const char *name);
/* Everything below p, in order of creation, buffers included. */
EBB_API int64_t ebb_params_count(const ebb_params *p);
EBB_API ebb_tensor *ebb_params_at(const ebb_params *p, int64_t i); /* borrowed */
EBB_API const char *ebb_params_name(const ebb_params *p,
                                    int64_t i); /* full name, from the root */
EBB_API bool ebb_params_is_buffer(const ebb_params *p, int64_t i);
/* The subtree's own name from the root, "" for the root. */
EBB_API const char *ebb_params_path(const ebb_params *p);
EBB_API ebb_context *ebb_params_context(const ebb_params *p);
/* This subtree: its parameters become leaves, or stop being so. */
EBB_API EBB_NODISCARD ebb_status ebb_params_set_trainable(ebb_params *p, bool on);
EBB_API EBB_NODISCARD ebb_status ebb_params_clear_grads(ebb_params *p);
/* Scales all gradients so that their joint 2-norm is at most max_norm; norm_out (may be NULL)
 * gets the norm before. E_RANGE max_norm <= 0 or the norm is not finite (gradients unchanged).
 */
EBB_API EBB_NODISCARD ebb_status ebb_params_clip_grad_norm(double *norm_out, ebb_params *p,
                                                           double max_norm);

typedef struct ebb_load_options {
    bool allow_missing, allow_extra;
    uint64_t reserved[4];
} ebb_load_options;
/* safetensors: names below p (of a root set: the full names), elements in C order. */
EBB_API EBB_NODISCARD ebb_status ebb_params_save(const ebb_params *p, const char *path);
/* All or nothing. Errors: E_IO unreadable or malformed; E_SHAPE, E_DTYPE a tensor does not fit;
 * E_RANGE a name is missing or extra, unless allowed. */
EBB_API EBB_NODISCARD ebb_status ebb_params_load(ebb_params *p, const char *path,
                                                 const ebb_load_options *options);

#ifdef __cplusplus
}
#endif

#endif
