/* random_program.h - programs drawn at random from the table of operations, run several ways
 * that must agree: plainly, with values dropped and handles released at random moments, with
 * too little memory, and against central differences.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_RANDOM_PROGRAM_H
#define EBB_TESTS_RANDOM_PROGRAM_H

#include "op/op.h"
#include "support/numeric.h"

#include <ebb/context.h>

enum { RANDOM_PROGRAM_MAX_OPS = 512 };

typedef struct random_program_report {
    int64_t n_ops, n_dropped, n_released;
    bool differentiated; /* central differences converged, and agreed */
    bool twice_differentiated;
    bool drawn[RANDOM_PROGRAM_MAX_OPS]; /* by id: applied at least once */
} random_program_report;

/* Whether programs have it at all: not what makes tensors of nothing, writes its first input or
 * has a shape that the values decide. */
bool random_program_draws(const ebb_op *op);
/* One program of up to max_ops operations. NULL, or a verdict that names the seed. */
const char *random_program_check(uint64_t seed, int32_t max_ops, random_program_report *report);
void random_program_close(void);

#endif
