/* rerun.h - one recipe run again; the cost of a run.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_RERUN_H
#define EBB_AUTODIFF_RERUN_H

#include "autodiff/engine.h"
#include "memory/reserve.h"

/* Runs a recipe whose inputs are there and locked; its dropped and needed outputs are there
 * afterwards. Called alone. */
ebb_status ebb__recipe_run(ebb__record *r);
/* Estimated nanoseconds of one run of the call's kernel. */
float ebb__call_cost(const ebb__call *c);

#endif
