/* ebb_trace.c - reading budgets, printing bytes and facts of a trace.
 * SPDX-License-Identifier: MIT */
#include "ebb_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int trace_fail(const char *name)
{
    fprintf(stderr, "ebb %s: %s\n", name, ebb_error_message());
    return 1;
}

bool trace_budget(size_t *out, const char *text, const ebb_iteration_facts *facts)
{
    char *end;
    bool is_fraction = text[0] == 'r';
    double x = strtod(text + is_fraction, &end);
    if (end == text + is_fraction || !(x > 0)) return false;
    const char *units = "KMG", *unit = *end ? strchr(units, *end) : NULL;
    if (is_fraction || (!*end && x <= 1)) {
        x *= (double)facts->peak_bytes;
    } else if (unit) {
        for (; unit >= units; unit--) x *= 1024;
        end++;
    }
    if (*end || !(x >= 1 && x < 9e18)) return false;
    *out = (size_t)x;
    return true;
}

const char *trace_bytes(char *buffer, double bytes)
{
    const char *units = " KMGTP";
    int unit = 0;
    while (bytes >= 10000 && unit < 5) {
        bytes /= 1024;
        unit++;
    }
    snprintf(buffer, 32, unit ? "%.1f%c" : "%.0f", bytes, units[unit]);
    return buffer;
}

void trace_facts_print(const ebb_iteration_facts *f)
{
    char peak[32], bound[32];
    printf("%lld operations, %lld values\n", (long long)f->n_operations,
           (long long)f->n_values);
    printf("peak %zu bytes (%s), lower bound %zu (%s, r %.3f)\n", f->peak_bytes,
           trace_bytes(peak, (double)f->peak_bytes), f->lower_bound,
           trace_bytes(bound, (double)f->lower_bound),
           f->peak_bytes ? (double)f->lower_bound / (double)f->peak_bytes : 0);
}
