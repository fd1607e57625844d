/* mutants.h - small operations, one sound and each other one broken in a single way.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_META_MUTANTS_H
#define EBB_TESTS_META_MUTANTS_H

#include "op/op.h"

typedef struct mutant {
    ebb_op op;
    const char *caught_by; /* the kind of check that must reject it; NULL: sound */
} mutant;
extern const mutant mutants[];
extern const int n_mutants;

#endif
