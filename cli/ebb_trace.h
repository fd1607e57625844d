/* ebb_trace.h - what the subcommands that read a trace share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_CLI_EBB_TRACE_H
#define EBB_CLI_EBB_TRACE_H

#include <ebb/plan.h>

/* Prints "ebb NAME: the error" and returns 1. */
int trace_fail(const char *name);
/* Bytes ("1000000", "64K", "1.5M", "2G", powers of 1024), or a fraction of the peak ("r.5",
 * "0.5"). False where it is neither. */
bool trace_budget(size_t *out, const char *text, const ebb_iteration_facts *facts);
/* Operations, values, peak, lower bound: two lines. */
void trace_facts_print(const ebb_iteration_facts *facts);
/* "1.5M" in buffer, which has 32 bytes. */
const char *trace_bytes(char *buffer, double bytes);

#endif
