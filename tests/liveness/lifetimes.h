/* lifetimes.h - exact liveness from what ran: the peak of bytes if every value went right after
 * the last operation that read it.
 *
 * The recorder listens to values being made and to operations running. A value's life is from
 * the operation that made it to the last that read it; values that were there before, or stay
 * after, (parameters, optimizer state, the batch) belong to neither side of the comparison.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_LIVENESS_LIFETIMES_H
#define EBB_TESTS_LIVENESS_LIFETIMES_H

#include "autodiff/engine.h"
#include "memory/value.h"

typedef struct life {
    const ebb__value *value;
    size_t bytes;
    int64_t born, last;
    bool gone;
} life;

typedef struct lifetimes {
    ebb_context *ctx;
    life *life;
    size_t *scratch; /* of each operation */
    int64_t n, room, n_ops, ops_room;
    size_t base_bytes; /* of tensors, at the start */
} lifetimes;

void lifetimes_begin(lifetimes *l, ebb_context *ctx);
/* Stops listening. *exact and *actual are the peaks above the start, in bytes; false if memory
 * for the record was refused. */
bool lifetimes_end(lifetimes *l, size_t *exact, size_t *actual);

#endif
