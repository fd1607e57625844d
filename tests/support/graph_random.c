/* graph_random.c - random programs against the oracle, after every step.
 * SPDX-License-Identifier: MIT */
#include "graph_random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

void random_programs_run(const program_shape *shape, const ebb_graph_space_options *options,
                         uint64_t seed, int64_t n_steps)
{
    program p = {0};
    answer a = {0};
    while (n_steps > 0) {
        uint64_t random = seed++;
        run r;
        run_begin(&r, options);
        assert_int_equal(r.status, EBB_OK);
        program_clear(&p);
        while (p.n_steps < 3 * shape->most_nodes && program_grow(&p, shape, &random)) {
            const program_step *last = &p.steps[p.n_steps - 1];
            run_step(&r, last);
            oracle_answer(&a, &p, p.n_steps);
            const char *difference = run_compare(&r, &a, last, true);
            if (difference) {
                program_print(stderr, &p, p.n_steps);
                fail_msg("seed %llu, step %d: %s", (unsigned long long)(seed - 1), p.n_steps,
                         difference);
            }
            n_steps--;
        }
        run_release(&r);
        assert_null(ebb__graph_check(r.space));
        run_end(&r);
    }
    answer_free(&a);
    program_free(&p);
}
