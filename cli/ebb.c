/* ebb.c - the program: finds the subcommand.
 * SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>
#include <string.h>

#include <ebb/version.h>

typedef struct subcommand {
    const char *name, *usage, *what;
    int (*main)(int argc, char **argv);
} subcommand;

static const subcommand subcommands[] = {
    {"ops", "ops [NAME...] [--all]", "operations: formula, shapes, what gradients keep, cost",
     cli_ops_main},
    {"plan", "plan TRACE", "a recorded iteration: which budget costs how much time",
     cli_plan_main},
    {"simulate", "simulate TRACE --budget B", "the same under one budget, or by another policy",
     cli_simulate_main},
};
enum { N_SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static void usage(FILE *f)
{
    fputs("usage: ebb SUBCOMMAND ...\n\n", f);
    for (int i = 0; i < N_SUBCOMMANDS; i++)
        fprintf(f, "  ebb %-28s %s\n", subcommands[i].usage, subcommands[i].what);
    fputs("  ebb --version\n", f);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("ebb %d.%d.%d\n", EBB_VERSION_MAJOR, EBB_VERSION_MINOR, EBB_VERSION_PATCH);
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return 0;
    }
    for (int i = 0; i < N_SUBCOMMANDS; i++)
        if (strcmp(argv[1], subcommands[i].name) == 0)
            return subcommands[i].main(argc - 1, argv + 1);
    fprintf(stderr, "ebb: there is no subcommand %s\n", argv[1]);
    usage(stderr);
    return 2;
}
