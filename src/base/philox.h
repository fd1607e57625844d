/* philox.h - Philox4x32-10: a counter and a key give four random words, whatever was drawn
 * before.
 *
 * Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011). Results
 * do not depend on how work is cut up among threads.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_PHILOX_H
#define EBB_BASE_PHILOX_H

#include <stdint.h>

/* One block: 128 bits of counter, low word first. */
void ebb__philox_block(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);
/* Blocks first, first + 1, ... (wrapping at 2^64; the high half of the counter is 0): 4 *
 * n_blocks words. */
void ebb__philox_fill(uint32_t *out, int64_t n_blocks, uint64_t key, uint64_t first);

#endif
