/* cli.h - what the subcommands of the program share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_CLI_CLI_H
#define EBB_CLI_CLI_H

#include <stdbool.h>

/* argv[0] is the subcommand's name. Returns the exit status: 0, 1 for a failure, 2 for misuse. */
int cli_ops_main(int argc, char **argv);
int cli_plan_main(int argc, char **argv);
int cli_simulate_main(int argc, char **argv);

typedef struct cli_op {
    const char *name;
    bool internal; /* no public function */
    const char *text;
} cli_op;
extern const cli_op cli_ops[];
extern const int cli_n_ops;

#endif
