/* recorded.h - recorded iterations, between the files that read and make them.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_API_RECORDED_H
#define EBB_API_RECORDED_H

#include "memory/program.h"

#include <ebb/plan.h>

struct ebb_iteration {
    ebb__trace trace;
    ebb__program program;
};

/* Takes the trace, also on failure; it is checked. Errors: E_NOMEM, E_IO it is none. */
ebb_status ebb__iteration_make(ebb_iteration **out, ebb__trace *take_trace);

#endif
