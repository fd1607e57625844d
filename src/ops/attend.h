/* attend.h - what the public attention operation asks of its kernel.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_ATTEND_H
#define EBB_OPS_ATTEND_H

#include "op/op.h"

#include <stddef.h>

typedef struct ebb__attend_attr {
    double scale, p; /* p: chance of each weight to be dropped */
    bool causal;
} ebb__attend_attr;

#endif
