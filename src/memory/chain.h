/* chain.h - what to keep of a chain: the exact schedule of equal steps, as weights.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_CHAIN_H
#define EBB_MEMORY_CHAIN_H

#include "memory/program.h"

/* The number of vals of p's forward pass if it is a chain: each step makes one, from the one
 * before and from what is there from outside; 0 if it is none, or too long. */
uint32_t ebb__chain_length(const ebb__program *p);
/* Which of the vals of a chain goes first when a run is short of bytes: the one with the largest
 * weight. more: snapshots beside those that the budget is reckoned to have room for (or fewer).
 * Sets *is_made; not where there is no room for a snapshot, or for so many that the choice
 * hardly matters. Errors: E_NOMEM. */
ebb_status ebb__chain_weights(bool *is_made, float *weights, const ebb__program *p,
                              uint64_t budget, int more);

#endif
