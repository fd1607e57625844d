/* commit.h - totals of leaves become gradients in slots.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_COMMIT_H
#define EBB_AUTODIFF_COMMIT_H

#include "autodiff/backward.h"

/* All totals at once: staged first (may fail, nothing changed), then moved into empty slots or
 * added in place, allocating nothing. */
ebb_status ebb__commit_all(ebb__backward *b);
/* Those of leaves to which no node after i contributes. */
ebb_status ebb__commit_complete(ebb__backward *b, int64_t i);

/* Where the total's bytes lie in a context that the slot's may outlive. It is ours alone and dense:
 * as is what takes its place, in the slot's context. On failure it stays. */
ebb_status ebb__stage_above(ebb__grad_total *total, const ebb__leaf *slot);

/* to[i] += from[i], of a floating type. */
void ebb__add_in_place(void *to, const void *from, ebb_dtype d, int64_t n);
/* Handles of the innermost scope; NULL with a record. */
ebb_tensor *ebb__ones_like(const ebb__slot *s);
ebb_tensor *ebb__zeros_like(const ebb__slot *s);
/* Another handle on the same bytes, with the same history or none. */
ebb_tensor *ebb__alias(const ebb__slot *s, bool history);

#endif
