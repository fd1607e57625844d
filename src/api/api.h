/* api.h - what the files of the public interface share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_API_API_H
#define EBB_API_API_H

#include "autodiff/backward.h"
#include "base/context.h"

/* The tag of leaves; those of nodes are operations' numbers. */
#define EBB__LEAF_TAG UINT32_MAX
/* The descriptor behind a node's tag, custom ones included; NULL for an unknown tag. */
const ebb_op *ebb__op_of_tag(ebb_context *root, uint32_t tag);
/* Descriptors of the users' own operations. */
ebb_status ebb__custom_create(ebb_context *root);
void ebb__custom_destroy(ebb_context *root);
/* E_MISUSE naming the function where a reserved field is not zero. */
ebb_status ebb__reserved_check(const char *function, const uint64_t *reserved, size_t n);
/* E_RANGE, E_MISUSE where a list has no members or is NULL. */
ebb_status ebb__list_check(const char *name, ebb_tensor *const *list, int64_t n);
/* ebb_grad without the name of the function in messages. */
ebb_status ebb__grad_run(ebb_tensor **grads_out, const ebb__backward_args *given,
                         const ebb_grad_options *o);

/* Fills report->holder; see refusal.c. */
void ebb__refusal_holders(ebb_context *ctx, ebb_budget_report *report);

#endif
