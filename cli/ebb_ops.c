/* ebb_ops.c - `ebb ops`: the table of operations, or some of its entries.
 * SPDX-License-Identifier: MIT */
#include "cli.h"

#include <stdio.h>
#include <string.h>

/* What comes after the signature and an empty line: the sentence's first line. */
static void line_print(const cli_op *op)
{
    const char *doc = strstr(op->text, "\n\n");
    doc = doc ? doc + 2 : op->text;
    printf("%-24s %.*s\n", op->name, (int)strcspn(doc, "\n"), doc);
}

static const cli_op *op_find(const char *name)
{
    size_t length = strlen(name);
    if (length > 1 && name[length - 1] == '_') length--; /* the variant in place */
    for (int i = 0; i < cli_n_ops; i++)
        if (strlen(cli_ops[i].name) == length && strncmp(cli_ops[i].name, name, length) == 0)
            return &cli_ops[i];
    return NULL;
}

/* Names that contain what was asked for, or begin as it does. */
static void suggest(const char *name)
{
    int n = 0;
    for (int i = 0; i < cli_n_ops; i++) {
        const char *other = cli_ops[i].name;
        bool near = strstr(other, name) || (name[0] && strncmp(other, name, 3) == 0);
        if (!near || cli_ops[i].internal) continue;
        fprintf(stderr, "%s%s", n++ ? ", " : "; there are ", other);
    }
    fputc('\n', stderr);
}

int cli_ops_main(int argc, char **argv)
{
    bool all = false;
    int n_names = 0, status = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--all") == 0) {
            all = true;
            continue;
        }
        if (argv[i][0] == '-') {
            fprintf(stderr, "usage: ebb ops [NAME...] [--all]\n"
                            "  --all  operations that only rules use, too\n");
            return strcmp(argv[i], "--help") == 0 ? 0 : 2;
        }
        const cli_op *op = op_find(argv[i]);
        if (op) {
            printf("%s%s\n\n%s", n_names ? "\n" : "", op->name, op->text);
        } else {
            fprintf(stderr, "ebb ops: no operation is called %s", argv[i]);
            suggest(argv[i]);
            status = 1;
        }
        n_names++;
    }
    for (int i = 0; i < cli_n_ops && n_names == 0; i++)
        if (all || !cli_ops[i].internal) line_print(&cli_ops[i]);
    return status;
}
