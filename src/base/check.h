/* check.h - assertions about our own invariants, by cost. Never about user input.
 *
 * EBB_CHECK 0 (release): none; 1: cheap; 2: per call; 3: graph and memory are audited
 * when a context goes.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_CHECK_H
#define EBB_BASE_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#ifndef EBB_CHECK
#define EBB_CHECK 0
#endif

#define EBB__ASSERT(level, condition)                                                          \
    do {                                                                                       \
        if (EBB_CHECK >= (level) && !(condition)) {                                            \
            fprintf(stderr, "%s:%d: invariant broken: %s\n", __FILE__, __LINE__, #condition);  \
            abort();                                                                           \
        }                                                                                      \
    } while (0)
#define EBB_ASSERT(condition) EBB__ASSERT(1, condition)
#define EBB_ASSERT_CALL(condition) EBB__ASSERT(2, condition)

#endif
