/* widen.h - kernels of f32 serve f16 and bf16: operands are widened before, results rounded
 * once after. So every operation takes 16-bit floats and accumulates wide.
 *
 * The widened copies are scratch of the call, declared like any other.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OP_WIDEN_H
#define EBB_OP_WIDEN_H

#include "op/op.h"

/* Whether the call's kernel must see wider operands than the call has. */
bool ebb__half_wanted(const ebb__call *c);
/* How the wide kernel is found and run: the registry's. plan may set scratch and plan. */
typedef struct ebb__half_kernel {
    const ebb__registry *registry;
    const ebb__override *(*plan)(const ebb__registry *r, ebb__call *c, void **backend);
} ebb__half_kernel;
/* Adds the widened operands to the call's scratch. Never refuses. */
void ebb__half_plan(ebb__call *c, const ebb__half_kernel *k);
ebb_status ebb__half_forward(const ebb__call *c, const ebb__half_kernel *k);

#endif
