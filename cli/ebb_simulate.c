/* ebb_simulate.c - `ebb simulate`: a recorded iteration under one budget, or under several.
 * SPDX-License-Identifier: MIT */
#include "cli.h"
#include "ebb_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const help =
    "usage: ebb simulate TRACE --budget BYTES | --curve [--policy NAME] [--runs N]\n"
    "  --budget BYTES  1000000, 64K, 1.5M, 2G, or a part of the peak: 0.5, r.5\n"
    "  --curve         at .9, .8, ... .1 of the peak\n"
    "  --policy NAME   planned (the default), known, backward, h_dtr, h_dtr_exact,\n"
    "                  h_local, lru, msps; h_dtr: by the rules of DTR's own simulator, the\n"
    "                  others by those of a program\n"
    "  --runs N        most simulated runs to plan with: 200\n";

typedef struct arguments {
    const char *path, *budget;
    bool curve;
    ebb_simulate_options options;
} arguments;

static int misuse(const char *what, const char *given)
{
    fprintf(stderr, "ebb simulate: %s%s\n%s", what, given, help);
    return 2;
}

/* 0: go on; else the exit status + 1. */
static int parse(arguments *a, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *x = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(x, "--help") == 0) {
            fputs(help, stdout);
            return 1;
        }
        if (strcmp(x, "--curve") == 0) {
            a->curve = true;
        } else if (strcmp(x, "--budget") == 0 && value) {
            a->budget = argv[++i];
        } else if (strcmp(x, "--policy") == 0 && value) {
            a->options.policy = ebb_policy_of(argv[++i]);
            if (a->options.policy == EBB_POLICY_MAX)
                return 1 + misuse("there is no policy ", value);
        } else if (strcmp(x, "--runs") == 0 && value) {
            a->options.most_runs = atoi(argv[++i]);
            if (a->options.most_runs < 1) return 1 + misuse("--runs: 1 or more, not ", value);
        } else if (x[0] == '-' || a->path) {
            return 1 + misuse("not understood: ", x);
        } else {
            a->path = x;
        }
    }
    if (!a->path) return 1 + misuse("no trace was given", "");
    if (!a->budget == !a->curve) return 1 + misuse("one of --budget and --curve is needed", "");
    return 0;
}

static void cell(const ebb_simulation *s)
{
    if (s->works)
        printf(" %9.3f", s->slowdown);
    else
        printf(" %9s", s->is_infeasible ? "never" : s->short_bytes ? "no room" : "too dear");
    if (s->bound == 0)
        printf(" %8s", "-");
    else if (s->is_infeasible)
        printf(" %8s", "never");
    else
        printf(" %8.3f", s->bound);
}

static int row(const arguments *a, const ebb_iteration *t, const ebb_iteration_facts *f,
               size_t budget)
{
    ebb_simulation s;
    char bytes[32], moved[32];
    if (ebb_iteration_simulate(&s, t, budget, &a->options) != EBB_OK)
        return trace_fail("simulate");
    printf("%6.3f %9s", (double)budget / (double)f->peak_bytes,
           trace_bytes(bytes, (double)budget));
    cell(&s);
    if (!s.works)
        printf(" %9s %8s %9s\n", "-", "-", "-");
    else
        printf(" %9lld %8lld %9s\n", (long long)s.n_evictions, (long long)s.n_rebuilt,
               a->options.policy == EBB_POLICY_H_DTR
                   ? "-"
                   : trace_bytes(moved, (double)s.moved_bytes));
    return 0;
}

static int run(const arguments *a, const ebb_iteration *t)
{
    ebb_iteration_facts f;
    size_t budget = 0, smallest;
    if (ebb_iteration_facts_get(&f, t) != EBB_OK) return trace_fail("simulate");
    if (!f.peak_bytes) {
        fprintf(stderr, "ebb simulate: %s has no bytes in it\n", a->path);
        return 1;
    }
    if (a->budget && !trace_budget(&budget, a->budget, &f))
        return misuse("not a budget: ", a->budget);
    if (ebb_iteration_smallest(&smallest, NULL, t, 2) != EBB_OK) return trace_fail("simulate");
    trace_facts_print(&f);
    printf("smallest budget known to work at twice the cost: %zu (r %.3f)\npolicy %s\n\n",
           smallest, (double)smallest / (double)f.peak_bytes,
           ebb_policy_name(a->options.policy));
    printf("     r    budget  slowdown    bound evictions  rebuilt     moved\n");
    if (a->budget) return row(a, t, &f, budget);
    for (int i = 9; i > 0; i--)
        if (row(a, t, &f, (size_t)((double)f.peak_bytes * i / 10))) return 1;
    return 0;
}

int cli_simulate_main(int argc, char **argv)
{
    arguments a = {0};
    int end = parse(&a, argc, argv);
    if (end) return end - 1;
    ebb_iteration *t;
    if (ebb_iteration_load(&t, a.path) != EBB_OK) return trace_fail("simulate");
    int status = run(&a, t);
    ebb_iteration_destroy(t);
    return status;
}
