/* ctc.h - what the kernel of ctc and its formula of other operations share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_CTC_H
#define EBB_OPS_CTC_H

#include "ops/operand.h"
#include "ops/rule.h"

#include <stddef.h>

typedef struct ebb__ctc_attr {
    int64_t blank;
    bool zero_infinity;
} ebb__ctc_attr;

/* The gradient of ctc_nll by differentiable operations, one step at a time. */
void ebb__ctc_vjp_composed(ebb_vjp *v);

#endif
