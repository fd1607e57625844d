/* dry.h - a dry run: operations find shapes and are recorded, nothing is computed or written.
 *
 * What operations make in it has no elements (ebb__value_create_phantom); what was there before
 * keeps its own: kernels do not run, writes are left out, and gradient slots are put back at the
 * end. The user sees to it that no other thread uses the context meanwhile.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_DRY_H
#define EBB_AUTODIFF_DRY_H

#include "autodiff/backward.h"

/* Of ctx and the contexts below it. Errors: E_MISUSE it is one already; E_NOMEM. */
ebb_status ebb__dry_begin(ebb_context *ctx);
void ebb__dry_end(ebb_context *ctx);

static inline bool ebb__is_dry(const ebb_context *ctx)
{
    return ctx->engine->dry != NULL;
}
/* E_UNSUPPORTED: who asks wants elements of a phantom. */
ebb_status ebb__no_values(void);
/* Before the slot of a leaf is changed: what it holds comes back at the end. E_NOMEM. */
ebb_status ebb__dry_slot_note(ebb_context *ctx, ebb_graph_node *leaf);
/* The results of an operation, without running it. */
ebb_status ebb__dry_compute(ebb__apply *a);
/* A handle of the innermost scope on a new tensor without elements. */
ebb_status ebb__dry_tensor_new(ebb_tensor **out, ebb_context *ctx, ebb_dtype d,
                               const ebb_shape *shape, ebb_kind kind);

#endif
