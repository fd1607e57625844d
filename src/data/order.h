/* order.h - the order of an epoch: a permutation that depends on seed and epoch alone.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_DATA_ORDER_H
#define EBB_DATA_ORDER_H

#include <stdint.h>

void ebb__order_shuffle(int64_t *order, int64_t n, uint64_t seed, uint64_t epoch);

#endif
