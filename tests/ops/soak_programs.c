/* soak_programs.c - random programs for hours: the long form of test_programs.
 * SPDX-License-Identifier: MIT */
#include "support/random_program.h"

#include <stdio.h>

int main(void)
{
    for (uint64_t seed = 1000000; seed < 3000000; seed++) {
        random_program_report r;
        const char *fault = random_program_check(seed, 50, &r);
        if (fault) {
            printf("%s\n", fault);
            return 1;
        }
    }
    random_program_close();
    return 0;
}
