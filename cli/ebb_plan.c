/* ebb_plan.c - `ebb plan`: which budget costs how much time, for a recorded iteration.
 * SPDX-License-Identifier: MIT */
#include "cli.h"
#include "ebb_trace.h"

#include <stdio.h>
#include <string.h>

static const char *const help =
    "usage: ebb plan TRACE\n"
    "  Predicted time of an iteration at several budgets, from the peak down to the smallest\n"
    "  that is known to work, each planned for; times are in the trace's unit.\n";

static int row(const ebb_iteration *t, const ebb_iteration_facts *f, size_t budget)
{
    ebb_simulation s;
    char bytes[32];
    if (ebb_iteration_simulate(&s, t, budget, NULL) != EBB_OK) return trace_fail("plan");
    printf("%9s %12zu %6.3f", trace_bytes(bytes, (double)budget), budget,
           (double)budget / (double)f->peak_bytes);
    if (s.works)
        printf(" %14.6g %8.3f %9.3f\n", s.slowdown * f->cost, s.slowdown, s.bound);
    else
        printf(" %14s %8s %9.3f\n", "-", "-", s.bound);
    return 0;
}

static int curve(const ebb_iteration *t, const char *path)
{
    ebb_iteration_facts f;
    size_t smallest, least;
    if (ebb_iteration_facts_get(&f, t) != EBB_OK) return trace_fail("plan");
    if (!f.peak_bytes) {
        fprintf(stderr, "ebb plan: %s has no bytes in it\n", path);
        return 1;
    }
    if (ebb_iteration_smallest(&smallest, NULL, t, 2) != EBB_OK ||
        ebb_iteration_smallest(&least, NULL, t, 8) != EBB_OK)
        return trace_fail("plan");
    trace_facts_print(&f);
    printf("smallest budget known to work: %zu at twice the time, %zu at eight times\n\n",
           smallest, least);
    printf("   budget        bytes      r           time slowdown  at least\n");
    if (row(t, &f, f.peak_bytes)) return 1;
    for (int i = 9; i > 0; i--) {
        size_t budget = (size_t)((double)f.peak_bytes * i / 10);
        if (budget > smallest && row(t, &f, budget)) return 1;
    }
    if (smallest < f.peak_bytes && row(t, &f, smallest)) return 1;
    return least < smallest ? row(t, &f, least) : 0;
}

int cli_plan_main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        fputs(help, stdout);
        return 0;
    }
    if (argc != 2 || argv[1][0] == '-') {
        fputs(help, stderr);
        return 2;
    }
    ebb_iteration *t;
    if (ebb_iteration_load(&t, argv[1]) != EBB_OK) return trace_fail("plan");
    int status = curve(t, argv[1]);
    ebb_iteration_destroy(t);
    return status;
}
