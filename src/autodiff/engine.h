/* engine.h - run an operation (reserve, compute, record) and walk backward.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_ENGINE_H
#define EBB_AUTODIFF_ENGINE_H

#include "op/op.h"
#include "tensor/tensor.h"

#include <ebb/grad.h>

ebb_status ebb__engine_create(ebb_context *ctx);
void ebb__engine_destroy(ebb_context *ctx);

/* Runs op: checks handles, dtypes and shapes; reserves outputs and scratch; computes; records
 * where an input is tracked and the thread records. out[0..n_out) belong to the innermost
 * scope; all NULL on failure. ctx may be NULL where there is an input (then the deepest input's
 * context is used). in[i] NULL: returns the pending failure. EBB_NONE where optional. attr is
 * copied. */
ebb_status ebb__run(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                    ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);
/* The same for one result; NULL on failure. */
ebb_tensor *ebb__run1(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                      ebb_tensor *const *in);

/* The same, in[0] being read for the last time by anybody who has no handle of their own on it:
 * where bytes are short its first result may take its place. Of no composed operation. */
ebb_status ebb__run_last(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                         ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);

/* Puts the result in the place of in[0]; `name` is that of the variant, a literal. The handle keeps
 * its dtype and shape. */
ebb_status ebb__run_in_place(const ebb_op *op, const char *name, const void *attr, int32_t n_in,
                             ebb_tensor *const *in);

/* The end of a public call that began with outer = ebb__error_op_set(name): the name goes back,
 * and where nobody else waits for the call (outer is NULL) a refusal for want of memory is told
 * to whom ebb_watch_refusals named. ctx may be NULL. Returns status. */
ebb_status ebb__call_end(const char *outer, const ebb_context *ctx, ebb_status status);
/* The context of the first of n tensors that is a valid handle; NULL where none is. */
const ebb_context *ebb__context_among(ebb_tensor *const *t, int64_t n);

/* Makes a dropped value resident again by running recipes, by work list. */
ebb_status ebb__restore(ebb__value *v);
/* The same of all that an operation reads (not tiny; NULLs are passed over), alone: afterwards all
 * are there together. */
ebb_status ebb__restore_all(ebb__value *const *v, int32_t n);
/* The same of one, and pins it. */
ebb_status ebb__restore_pinned(ebb__value *v);
/* Restores and pins the bytes behind a slot; *view gets data. Undo with ebb__tensor_unpin. */
ebb_status ebb__tensor_pin(ebb_view *view, ebb__slot *s);
void ebb__tensor_unpin(ebb__slot *s);

typedef struct ebb__backward_args {
    ebb_tensor *const *roots, *const *seeds;
    int64_t n_roots;
    ebb_tensor *const *inputs; /* NULL: into the leaves' slots */
    int64_t n_inputs;
    ebb_tensor **grads_out;
    bool keep_graph, create_graph, allow_unused, commit_each_leaf, check_finite;
    bool (*only)(void *user, void *leaf_payload); /* leaves wanted; NULL: all */
    void *user;
} ebb__backward_args;
ebb_status ebb__backward_run(const ebb__backward_args *a);

/* What ran, for tests, reports and the planner. Values are the operands', outputs' and
 * by-products' (as identities); rule: during a backward. */
typedef struct ebb__op_event {
    const ebb_op *op;
    ebb_context *ctx;
    const ebb__value *const *in, *const *out;
    int32_t n_in, n_out;
    size_t scratch_bytes;
    float cost_ns; /* estimated */
    bool recompute, rule;
} ebb__op_event;
void ebb__engine_set_trace(ebb_context *ctx, void (*fn)(void *user, const ebb__op_event *e),
                           void *user);

#endif
