/* gen_ops_docs.c - docs/ops.md: every operation with what its gradient keeps.
 * SPDX-License-Identifier: MIT */
#include "gen_ops.h"

#include "ops/ids.h"

#include <stdlib.h>
#include <string.h>

static const char head_text[] =
    "<!-- ops.md - generated from the table of operations by gen_ops; edit the descriptors.\n"
    "     SPDX-License-Identifier: MIT -->\n"
    "# Operations\n"
    "\n"
    "One entry per operation, in the order of `src/ops/ops.def`. *Keeps* is what the graph "
    "retains of\n"
    "an application so that the gradient of the named input can be computed: nothing else is "
    "kept, and\n"
    "nothing at all for inputs that want no gradient. *Redo* says how dear it is to compute "
    "the value\n"
    "again after it was dropped: `memory` costs about a pass over the operands, `compute` "
    "more.\n"
    "*Shapes* shows what one call takes and gives (f32 where nothing is said), *cost* what "
    "that "
    "call takes.\n"
    "`ebb ops NAME` prints the same.\n";

static void write_needs(FILE *f, const ebb_op *op, uint32_t need)
{
    int n = 0;
    for (int j = 0; j < op->n_in; j++)
        if (need & EBB_NEED_IN(j)) fprintf(f, "%s`%s`", n++ ? " and " : "", op->arg[j]);
    for (int k = 0; k < op->n_out; k++)
        if (need & EBB_NEED_OUT(k))
            fprintf(f, "%s`%s`", n++ ? " and " : "", op->result[k] ? op->result[k] : "out");
    for (int k = 0; k < op->n_aux; k++)
        if (need & EBB_NEED_AUX(k)) fprintf(f, "%sby-product %d", n++ ? " and " : "", k);
    if (n == 0) fputs("nothing", f);
}

static void write_gradient(FILE *f, const ebb_op *op)
{
    if (op->compose) {
        fputs("* composed of other operations; keeps what they keep\n", f);
        return;
    }
    if (!op->vjp) {
        fputs("* not differentiable: the result is untracked\n", f);
        return;
    }
    for (int i = 0; i < op->n_in; i++) {
        fprintf(f, "* keeps for `%s`: ", op->arg[i]);
        write_needs(f, op, op->need[i]);
        fputc('\n', f);
    }
}

static void write_attrs(FILE *f, const ebb_op *op)
{
    for (const ebb_attr_spec *a = op->attrs; a && a->name; a++)
        fprintf(f, "* %s`%s`%s%s\n", a->option ? "option " : "", a->name, a->doc ? ": " : "",
                a->doc ? a->doc : "");
    for (int i = 0; i < op->n_in; i++)
        if (op->optional >> i & 1) fprintf(f, "* `%s` may be `EBB_NONE`\n", op->arg[i]);
}

/* Of a variant in place the name is said below, unless it is all there is. */
static void write_prototype(FILE *f, const ebb_op *op, const char *name, gen_form form)
{
    char text[128];
    gen_list params;
    if (form == GEN_IN_PLACE && gen_is_public(op)) return;
    gen_params(&params, op, form);
    snprintf(text, sizeof text, "%sebb_%s(", gen_returns(op, form), name);
    gen_write_list(f, text, &params, ");\n");
}

static void write_op(FILE *f, const ebb_op *op)
{
    fprintf(f, "\n## %s\n\n", op->name);
    if (gen_is_public(op) || ebb__op_in_place(op)) {
        fputs("```c\n", f);
        gen_forms(f, op, write_prototype);
        fputs("```\n\n", f);
    } else {
        fputs("Internal: used by rules.\n\n", f);
    }
    gen_write_text(f, op->doc, "", 0);
    fputs("\n\n", f);
    write_attrs(f, op);
    if (gen_is_public(op) && ebb__op_in_place(op))
        fprintf(f, "* in place: `ebb_%s_`\n", op->name);
    write_gradient(f, op);
    fprintf(f, "* redo: %s%s\n",
            op->flags & EBB_OP_VIEW          ? "free, a view"
            : op->bound == EBB_BOUND_COMPUTE ? "compute"
                                             : "memory",
            op->flags & EBB_OP_NO_RECOMPUTE ? "; never recomputed" : "");
    gen_write_sample(f, op);
}

/* One line of an entry as a string, without the marks of the document. */
static void write_plain(FILE *f, const char *line, size_t length)
{
    fputs("     \"", f);
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '`') continue;
        if (line[i] == '"' || line[i] == '\\') fputc('\\', f);
        fputc(line[i], f);
    }
    fputs("\\n\"\n", f);
}

static void write_cli(FILE *f, const ebb_op *op)
{
    char *text = NULL;
    size_t bytes;
    FILE *entry = open_memstream(&text, &bytes);
    if (!entry) gen_refuse(op->name, "no memory");
    write_op(entry, op);
    if (fclose(entry) != 0) gen_refuse(op->name, "no memory");
    fprintf(f, "    {\"%s\", %s,\n", op->name, gen_is_public(op) ? "false" : "true");
    bool was_empty = true;
    for (char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        bool marks = strncmp(line, "```", 3) == 0 || strncmp(line, "##", 2) == 0;
        if (!marks && !(length == 0 && was_empty)) write_plain(f, line, length);
        if (!marks) was_empty = length == 0;
        line += length + (line[length] != 0);
    }
    fputs("    },\n", f);
    free(text);
}

void gen_cli(FILE *f)
{
    fputs("/* ebb_ops_table.c - every operation as `ebb ops` shows it.\n"
          " *\n"
          " * Generated from the table of operations (src/ops/ops.def) by gen_ops; edit the "
          "descriptors.\n"
          " * SPDX-License-Identifier: MIT */\n"
          "/* clang-format off */\n"
          "#include \"cli.h\"\n"
          "\n"
          "const cli_op cli_ops[] = {\n",
          f);
    for (int i = 0; i < EBB__N_OPS; i++) write_cli(f, ebb__op_table[i]);
    fprintf(f, "};\nconst int cli_n_ops = %d;\n", EBB__N_OPS);
}

void gen_docs(FILE *f)
{
    fputs(head_text, f);
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) fputs("\n# Internal operations\n", f);
        for (int i = 0; i < EBB__N_OPS; i++)
            if (gen_is_public(ebb__op_table[i]) == (pass == 0)) write_op(f, ebb__op_table[i]);
    }
}
