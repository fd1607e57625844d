/* soak_random_programs.c - a thousand million steps of random programs against the definition.
 *
 * EBB_GRAPH_STEPS asks for another number, EBB_GRAPH_SEED for programs not seen before.
 * SPDX-License-Identifier: MIT */
#include "support/graph_random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static int64_t from_environment(const char *name, int64_t otherwise)
{
    const char *text = getenv(name);
    return text ? atoll(text) : otherwise;
}

static void a_thousand_million_steps_agree_with_the_definition(void **state)
{
    (void)state;
    int64_t n_steps = from_environment("EBB_GRAPH_STEPS", 1000000000);
    uint64_t seed = (uint64_t)from_environment("EBB_GRAPH_SEED", 1) << 40;
    ebb_graph_space_options single = {.single_threaded = true};
    for (int32_t most = 8; most <= 64; most *= 2) {
        program_shape shape = {.most_nodes = most,
                               .leaves = 2,
                               .ops = 10,
                               .holds = 1,
                               .drops = 5,
                               .backs = 3,
                               .keeps = most != 16,
                               .inputs = most != 16};
        random_programs_run(&shape, most == 32 ? &single : NULL, seed, n_steps / 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_million_steps_agree_with_the_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
