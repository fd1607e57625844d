/* reduction.h - how a loss ends: the option `reduction`, EBB_REDUCTION_ of modes.h.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_REDUCTION_H
#define EBB_OPS_REDUCTION_H

#include "ops/rule.h"

#include <stddef.h>

/* An option, or (of the private operations of a gradient) an attribute. */
#define EBB_REDUCTION_SPEC(type, is_option)                                                    \
    {                                                                                          \
        "reduction", EBB_ATTR_I64, offsetof(type, reduction), is_option,                       \
            "EBB_REDUCTION_MEAN, _SUM or _NONE: each"                                          \
    }
/* The options of a loss that has no others. */
typedef struct ebb__reduction_attr {
    int64_t reduction;
} ebb__reduction_attr;
extern const ebb_attr_spec ebb__reduction_specs[];
#define EBB_REDUCTION_ONLY(name)                                                               \
    .attr_bytes = sizeof(ebb__reduction_attr), .options_bytes = sizeof(ebb__reduction_attr),   \
    .attrs = ebb__reduction_specs, .options = #name
static inline int64_t ebb__reduction(const void *attr)
{
    return ((const ebb__reduction_attr *)attr)->reduction;
}

/* E_RANGE where it is none of mean, sum and none. */
ebb_status ebb__reduction_check(int64_t reduction);
/* The mean of `each`, its sum, or itself. */
ebb_tensor *ebb__reduction_of(ebb_vjp *v, int64_t reduction, ebb_tensor *each);
/* weight * x, and 0 where the weight is 0 and x infinite: impossible classes that no target asks
 * for cost nothing. */
ebb_tensor *ebb__weighed(ebb_vjp *v, ebb_tensor *weight, ebb_tensor *x);
/* The shape of an operand of a formula. */
ebb_shape ebb__tensor_shape(const ebb_tensor *t);

#endif
