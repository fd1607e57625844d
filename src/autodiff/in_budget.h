/* in_budget.h - the part of an application that needs bytes, where there is a budget.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_IN_BUDGET_H
#define EBB_AUTODIFF_IN_BUDGET_H

#include "autodiff/recording.h"
#include "memory/reserve.h"

/* Operands there, results and scratch reserved, the kernel run: made[] set, one use each for the
 * caller. On failure nothing was made. */
ebb_status ebb__compute_in_budget(ebb__apply *a);

/* ---- run.c ------------------------------------------------------------------------------- */
/* What result or by-product k counts as. */
ebb_kind ebb__result_kind(const ebb__call *c, int32_t k);
/* Where the operands lie now. */
void ebb__operands_resolve(ebb__apply *a);
/* Of input i, for messages. */
const char *ebb__argument_name(const ebb_op *op, int32_t i);
/* writes.c: checks what it writes, and lets it be written. Afterwards c->over says where. */
ebb_status ebb__writes_prepare(ebb__apply *a);
bool ebb__goes_over(const ebb_op *op, ebb_tensor *const *in);
/* writes.c: may the first result lie where input i does, with the reference kernel. */
bool ebb__may_go_over(const ebb__call *c, int32_t i);
ebb_status ebb__kernel_run(ebb__apply *a);

#endif
