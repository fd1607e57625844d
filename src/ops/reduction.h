/* reduction.h - how a loss ends: the first members of its options.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_REDUCTION_H
#define EBB_OPS_REDUCTION_H

#include "ops/rule.h"

typedef struct ebb__reduction {
    bool sum, each;
} ebb__reduction;
/* The reduction is the first member of the attribute struct. */
#define EBB_REDUCTION_SPECS                                                                    \
    {"sum", EBB_ATTR_BOOL, offsetof(ebb__reduction, sum), true, "instead of the mean"},        \
    {                                                                                          \
        "each", EBB_ATTR_BOOL, offsetof(ebb__reduction, each), true,                           \
            "no reduction: one loss per element"                                               \
    }

/* E_RANGE where both are asked for. */
ebb_status ebb__reduction_check(const ebb__reduction *r);
/* The mean of `each`, its sum, or itself. */
ebb_tensor *ebb__reduction_of(ebb_vjp *v, const ebb__reduction *r, ebb_tensor *each);
/* weight * x, and 0 where the weight is 0 and x infinite: impossible classes that no target asks
 * for cost nothing. */
ebb_tensor *ebb__weighed(ebb_vjp *v, ebb_tensor *weight, ebb_tensor *x);
/* The shape of an operand of a formula. */
ebb_shape ebb__tensor_shape(const ebb_tensor *t);

#endif
