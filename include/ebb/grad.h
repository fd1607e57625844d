/* grad.h - gradients: backward into the leaves' slots, or returned.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAD_H
#define EBB_GRAD_H

#include <ebb/params.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_backward_options {
    bool keep_graph;       /* nothing is consumed: backward may run again */
    bool commit_each_leaf; /* add each leaf's total to its slot as it completes, not at the end
                            */
    bool check_finite; /* E_RANGE where an operation, given finite gradients, gives a NaN or an
                          infinity: names it (with record_sites its line). For searching: slow */
    ebb_params *only;  /* gradients of these parameters only */
    uint64_t reserved[4];
} ebb_backward_options;

/* Gradients of a scalar with respect to every leaf it depends on, added to their slots.
 *
 *   loss     floating, one element: borrowed
 *   options  NULL for defaults
 *
 * The graph behind loss is freed as it is consumed unless keep_graph. All or nothing: slots
 * change only when the whole pass has succeeded (commit_each_leaf: a failure says that some
 * have). Errors  E_SHAPE loss has more than one element; E_GRAPH nothing wants a gradient,
 * consumed before, or a saved value was written to since (naming both operations); E_MISUSE;
 * E_BUDGET; E_NOMEM; a rule's own error: then the walked graph is spent, unless keep_graph.
 * Source  reverse accumulation: Griewank & Walther, Evaluating Derivatives (2008), ch. 3. */
EBB_API EBB_NODISCARD ebb_status ebb_backward(ebb_tensor *loss,
                                              const ebb_backward_options *options);
/* The same from n roots of any shape in one pass. seeds NULL, or one of them EBB_NONE: ones;
 * else of the root's shape and dtype. */
EBB_API EBB_NODISCARD ebb_status ebb_backward_from(ebb_tensor *const *roots,
                                                   ebb_tensor *const *seeds, int64_t n,
                                                   const ebb_backward_options *options);

typedef struct ebb_grad_options {
    bool keep_graph;
    bool create_graph; /* the results carry history; implies keep_graph */
    bool allow_unused; /* an input without a path gives EBB_NONE instead of E_GRAPH */
    bool check_finite; /* as in ebb_backward_options */
    uint64_t reserved[4];
} ebb_grad_options;
/* Gradients of the roots with respect to chosen inputs, leaves or not; slots are untouched.
 * Only nodes on a path from a root to an input are consumed. grads_out gets n_inputs tensors
 * that belong to the innermost scope (all NULL on failure). */
EBB_API EBB_NODISCARD ebb_status ebb_grad(ebb_tensor **grads_out, ebb_tensor *const *roots,
                                          ebb_tensor *const *seeds, int64_t n_roots,
                                          ebb_tensor *const *inputs, int64_t n_inputs,
                                          const ebb_grad_options *options);
/* Product of the Hessian of a scalar with vectors v[i] of the inputs' shapes. Keeps the graph.
 */
EBB_API EBB_NODISCARD ebb_status ebb_hvp(ebb_tensor **hv_out, ebb_tensor *loss,
                                         ebb_tensor *const *inputs, ebb_tensor *const *v,
                                         int64_t n);
/* Product of the Jacobian with vectors v[i] of the inputs' shapes, forward through the graph: what
 * the roots change by when the inputs change by v. (ebb_grad with seeds is the product from the
 * other side.) jv_out gets n_roots tensors of the roots' shapes, zeros where a root depends on no
 * input. Keeps the graph.
 *
 * Errors  E_SHAPE a vector does not fit its input; E_UNSUPPORTED an operation on the way has no
 *         second derivative; as ebb_grad.
 * Source  two products from the other side: Townsend, A new trick for calculating Jacobian
 *         vector products (2017). */
EBB_API EBB_NODISCARD ebb_status ebb_jvp(ebb_tensor **jv_out, ebb_tensor *const *roots,
                                         int64_t n_roots, ebb_tensor *const *inputs,
                                         ebb_tensor *const *v, int64_t n_inputs);
/* The whole Jacobian of a root of any shape: jacobian_out[i] has the root's dimensions, then
 * those of input i (at most 8 together), zeros where there is no path. One backward per element
 * of the root. With create_graph the results carry history. Keeps the graph.
 * Errors  E_SHAPE too many dimensions; as ebb_grad. */
typedef struct ebb_jacobian_options {
    bool create_graph;
    uint64_t reserved[4];
} ebb_jacobian_options;
EBB_API EBB_NODISCARD ebb_status ebb_jacobian(ebb_tensor **jacobian_out, ebb_tensor *root,
                                              ebb_tensor *const *inputs, int64_t n_inputs,
                                              const ebb_jacobian_options *options);
/* All second derivatives of a scalar: hessian_out[i * n + j] has the dimensions of input i, then
 * those of input j. Keeps the graph. Errors  as ebb_jacobian. */
EBB_API EBB_NODISCARD ebb_status ebb_hessian(ebb_tensor **hessian_out, ebb_tensor *loss,
                                             ebb_tensor *const *inputs, int64_t n);

/* ---- is a gradient right ------------------------------------------------------------------- */

typedef struct ebb_gradcheck_options {
    double eps;        /* of the differences; 0: 1e-6 */
    double atol, rtol; /* |analytic - numeric| <= atol + rtol * |numeric|; 0: 1e-5, 1e-3 */
    bool second_order; /* check the gradient's gradient, too */
    uint64_t reserved[4];
} ebb_gradcheck_options;
/* The worst of what was compared, in units of its tolerance. */
typedef struct ebb_gradcheck_report {
    int32_t order;          /* 1; 2: the derivative of a gradient */
    int64_t input, element; /* of the inputs, in C order; order 2: past the inputs, of the
                               cotangent */
    int64_t output,
        output_element; /* of the result; order 2: of the gradient of input `output` */
    double analytic, numeric;
    double error; /* 1: as far off as is allowed */
    int64_t n_compared;
    /* It is off by less than what rounding alone makes of such differences: cancellation in the
     * function, nothing is said about the gradient. */
    bool is_ill_conditioned;
    double uncertainty; /* then: of numeric, by rounding; else 0 */
    uint64_t reserved[4];
} ebb_gradcheck_report;
/* A function of tensors: f64 ones are leaves or (where differences are taken) untracked, others are
 * the caller's own. NULL where it failed. */
typedef ebb_tensor *(*ebb_function)(void *user, ebb_tensor *const *inputs, int64_t n_inputs);
/* Compares every element of the Jacobian of a function with central differences.
 *
 *   report  filled where a comparison was made, whatever came of it; NULL if not wanted
 *   inputs  borrowed and unchanged; the f64 ones are checked, at least one is
 *
 * Errors  E_RANGE a gradient is wrong: the message names input, element and both values (or says that
 *         they are ill-conditioned, and that nothing was found wrong beside); or two calls with
 *         the same inputs differ; E_DTYPE an f32 input, a result that is not f64;
 *         the function's own; as ebb_grad. */
EBB_API EBB_NODISCARD ebb_status ebb_gradcheck(ebb_gradcheck_report *report, ebb_function fn,
                                               void *user, ebb_tensor *const *inputs,
                                               int64_t n_inputs,
                                               const ebb_gradcheck_options *options);

/* Spends the graph behind root without running rules, for those who want to let go early. */
EBB_API EBB_NODISCARD ebb_status ebb_discard_graph(ebb_tensor *root);

EBB_API bool ebb_has_grad(const ebb_tensor *leaf);
/* A scope-owned handle on the slot's bytes (later backwards add into them); EBB_NONE when
 * empty. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_grad_of(ebb_tensor *leaf);
/* Empties the slot; its bytes go unless somebody holds them. */
EBB_API EBB_NODISCARD ebb_status ebb_clear_grad(ebb_tensor *leaf);
/* A handle on the same bytes without history. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_detach(ebb_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
