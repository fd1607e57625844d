/* large.h - samples beyond those of the descriptors: large enough for threads, vector loops and
 * a backend's kernels.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_OPS_LARGE_H
#define EBB_TESTS_OPS_LARGE_H

#include "op/op.h"

typedef struct large_sample {
    const char *op;
    ebb_sample sample;
} large_sample;
extern const large_sample large_samples[];
extern const int n_large_samples;

#endif
