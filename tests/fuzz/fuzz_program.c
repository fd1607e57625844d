/* fuzz_program.c - bytes to a seed and a length to a random program of tensor operations, which
 * must agree with itself under drops, releases and little memory, and with central differences.
 * SPDX-License-Identifier: MIT */
#include "support/random_program.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    random_program_report report;
    uint64_t seed = 0;
    if (bytes < 2) return 0;
    for (size_t i = 1; i < bytes; i++) seed = seed * 1099511628211u + data[i];
    const char *fault = random_program_check(seed, 1 + data[0] % 8, &report);
    if (fault) {
        fprintf(stderr, "%s\n", fault);
        abort();
    }
    return 0;
}
