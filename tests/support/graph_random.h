/* graph_random.h - random programs run on the library and compared with the oracle at every
 * step.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_SUPPORT_GRAPH_RANDOM_H
#define EBB_TESTS_SUPPORT_GRAPH_RANDOM_H

#include "graph_program.h"

/* Programs of the seeds from `seed` on, until n_steps statements have been run. A difference
 * prints the program and fails the test. */
void random_programs_run(const program_shape *shape, const ebb_graph_space_options *options,
                         uint64_t seed, int64_t n_steps);

#endif
