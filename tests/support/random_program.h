/* random_program.h - programs drawn at random from the table of operations, run several ways
 * that must agree: plainly, with values dropped and handles released at random moments, with
 * too little memory, and against central differences.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_RANDOM_PROGRAM_H
#define EBB_TESTS_RANDOM_PROGRAM_H

#include "support/numeric.h"

#include <ebb/context.h>

typedef struct random_program_report {
    int64_t n_ops, n_dropped, n_released;
    bool differentiated; /* central differences converged, and agreed */
    bool twice_differentiated;
} random_program_report;

/* One program of up to max_ops operations. NULL, or a verdict that names the seed. */
const char *random_program_check(uint64_t seed, int32_t max_ops, random_program_report *report);
void random_program_close(void);

#endif
