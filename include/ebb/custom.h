/* custom.h - operations of the user's own, with the rights of built-in ones.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_CUSTOM_H
#define EBB_CUSTOM_H

#include <ebb/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_vjp ebb_vjp; /* one application of a backward rule */

enum {
    EBB_CUSTOM_STRIDED = 1,      /* inputs come with any strides */
    EBB_CUSTOM_NO_RECOMPUTE = 2, /* what it gives cannot be made again: it keeps state, or reads
                                    what is not an input. Random numbers need not be kept so:
                                    take them from a seed in the attributes */
    EBB_CUSTOM_CHEAP = 4,        /* redoing costs about a pass over the operands */
    EBB_CUSTOM_BROADCAST = 8, /* with STRIDED: inputs broadcast as in NumPy to output 0, where
                                    repeated with stride 0, and are promoted to one dtype;
                                    gradients are summed back */
    EBB_CUSTOM_LIST = 16      /* the last of n_in inputs is a list: see ebb_apply_list */
};
/* Bits of need[i]: the inputs, outputs and by-products that the gradient of input i reads. */
#define EBB_NEED_IN(i) (1u << (i))
#define EBB_NEED_OUT(k) (1u << (8 + (k)))
#define EBB_NEED_AUX(k) (1u << (16 + (k)))

typedef struct ebb_custom {
    const char *name; /* copied */
    int32_t n_in, n_out, n_aux;
    size_t attr_bytes; /* copied at each call */
    uint32_t flags, need[8];
    /* Writes dtype and shape of the n_out outputs and n_aux by-products. */
    ebb_status (*shape)(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr);
    /* Inputs are contiguous unless EBB_CUSTOM_STRIDED; outputs always are. */
    ebb_status (*forward)(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                          const void *attr);
    ebb_status (*vjp)(ebb_vjp *v, const void *attr); /* NULL: not differentiable */
    /* Needed for create_graph where vjp reads a floating by-product. */
    ebb_status (*vjp_composed)(ebb_vjp *v, const void *attr);
    uint32_t
        optional; /* bit i: input i may be EBB_NONE; its view has dtype 0, its data is NULL */
    uint64_t reserved[4];
} ebb_custom;

/* Inside a rule: borrowed, valid until it returns. The gradient of an output nobody used is
 * EBB_NONE. Reading what need[] does not name is E_MISUSE. */
EBB_API ebb_tensor *ebb_vjp_grad(ebb_vjp *v, int32_t out);
EBB_API ebb_tensor *ebb_vjp_in(ebb_vjp *v, int32_t i);
EBB_API ebb_tensor *ebb_vjp_out(ebb_vjp *v, int32_t k);
EBB_API ebb_tensor *ebb_vjp_aux(ebb_vjp *v, int32_t k);
EBB_API bool ebb_vjp_wants(ebb_vjp *v, int32_t i);
/* Of any input, whether its values were saved or not; of an absent one no dimensions and 0. */
EBB_API ebb_shape ebb_vjp_in_shape(ebb_vjp *v, int32_t i);
EBB_API ebb_dtype ebb_vjp_in_dtype(ebb_vjp *v, int32_t i);
/* Of this application, those of a list counted one by one. */
EBB_API int64_t ebb_vjp_n_in(ebb_vjp *v);
/* The gradient of input i; summed back to its shape where it was broadcast. */
EBB_API void ebb_vjp_give(ebb_vjp *v, int32_t i, ebb_tensor *g);

/* Runs op on n_in inputs; out gets n_out tensors of the innermost scope (all NULL on failure).
 * op is not needed after the call, its functions are until the graph behind the results is
 * gone. */
EBB_API EBB_NODISCARD ebb_status ebb_apply(ebb_tensor **out, const ebb_custom *op,
                                           ebb_tensor *const *in, const void *attr);

/* The same for an operation with EBB_CUSTOM_LIST on n >= op->n_in inputs: what is said of its last
 * input (need, optional) holds for all that follow. How many there are the attributes tell shape
 * and forward. */
EBB_API EBB_NODISCARD ebb_status ebb_apply_list(ebb_tensor **out, const ebb_custom *op,
                                                ebb_tensor *const *in, int64_t n,
                                                const void *attr);

#ifdef __cplusplus
}
#endif

#endif
