/* gen_ops_header.c - include/ebb/ops.h: options structs, prototypes, call-site wrappers.
 * SPDX-License-Identifier: MIT */
#include "gen_ops.h"

#include "ops/ids.h"

#include <string.h>

static const char head_text[] =
    "/* ops.h - the operations: they take tensors and return tensors.\n"
    " *\n"
    " * Generated from the table of operations (src/ops/ops.def) by gen_ops; edit the "
    "descriptors.\n"
    " *\n"
    " * Inputs are borrowed; results belong to the innermost open scope. A failed operation\n"
    " * returns NULL and leaves the reason in the thread's error record; NULL as an input\n"
    " * passes the failure on. Several outputs are written to out-parameters, all NULL on\n"
    " * failure. Errors common to all: E_MISUSE no open scope, a stale handle, an option that\n"
    " * must be zero; E_SHAPE, E_DTYPE and E_RANGE where inputs and attributes do not fit;\n"
    " * E_BUDGET; E_NOMEM. Options may be NULL; zero is the default of every member.\n"
    " *\n"
    " * ebb_NAME_ puts the result in the place of its first input, which keeps dtype and "
    "shape.\n"
    " * While an input is tracked and the scope records, the handle gets the result with its\n"
    " * history: E_GRAPH on a leaf, and where other tensors share the bytes. Else the bytes "
    "are\n"
    " * written, which all views see; E_MISUSE on an expanded tensor. A backward that saved "
    "them\n"
    " * is refused naming both operations.\n"
    " * docs/ops.md has the whole table.\n"
    " *\n"
    " * SPDX-License-Identifier: MIT */\n"
    "/* clang-format off */\n"
    "#ifndef EBB_OPS_H\n"
    "#define EBB_OPS_H\n"
    "\n"
    "#include <ebb/axes.h>\n"
    "#include <ebb/modes.h>\n"
    "\n"
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n";

static const char tail_text[] = "#endif\n"
                                "\n"
                                "#ifdef __cplusplus\n"
                                "}\n"
                                "#endif\n"
                                "\n"
                                "#endif\n";

/* "", "[2]", "[3]": what follows the name in a declaration. */
static const char *array_text(const ebb_attr_spec *a)
{
    static const char *const text[] = {"", "", "[2]", "[3]"};
    return text[gen_attr_length(a)];
}

static bool same_member(const ebb_attr_spec *a, const ebb_attr_spec *b)
{
    return a->kind == b->kind && a->offset == b->offset && strcmp(a->name, b->name) == 0;
}

static const ebb_attr_spec *next_option(const ebb_attr_spec *a)
{
    while (a && a->name && !a->option) a++;
    return a && a->name ? a : NULL;
}

static bool same_options(const ebb_op *x, const ebb_op *y)
{
    const ebb_attr_spec *a = next_option(x->attrs), *b = next_option(y->attrs);
    while (a && b && same_member(a, b)) {
        a = next_option(a + 1);
        b = next_option(b + 1);
    }
    return !a && !b;
}

/* The struct is written before the first operation that takes it; others must agree with it. */
static void write_options(FILE *f, int id)
{
    const ebb_op *op = ebb__op_table[id];
    for (int i = 0; i < id; i++) {
        const ebb_op *earlier = ebb__op_table[i];
        if (!gen_is_public(earlier) || !earlier->options ||
            strcmp(earlier->options, op->options))
            continue;
        if (!same_options(earlier, op))
            gen_refuse(op->name, "members of %s_options differ from those in %s", op->options,
                       earlier->name);
        return;
    }
    fprintf(f, "typedef struct ebb_%s_options {\n", op->options);
    for (const ebb_attr_spec *a = next_option(op->attrs); a; a = next_option(a + 1)) {
        int column = 4 + fprintf(f, "    %s %s%s;", gen_attr_type(a), a->name, array_text(a));
        if (a->doc) {
            fputs(" /* ", f);
            gen_write_text(f, a->doc, "            ", column);
            fputs(" */", f);
        }
        fputc('\n', f);
    }
    fprintf(f, "    uint64_t reserved[4]; /* zero */\n} ebb_%s_options;\n", op->options);
}

static void write_prototype(FILE *f, const ebb_op *op, const char *name, gen_form form)
{
    char text[128];
    gen_list params;
    gen_params(&params, op, form);
    fputs("\n", f);
    bool again = form == GEN_IN_PLACE && gen_is_public(op); /* plain has come before */
    if (op->options && form != GEN_SHORT && !again) write_options(f, op->id);
    if (form == GEN_WITH) {
        fprintf(f, "/* ebb_%s with options. */\n", op->name);
        snprintf(text, sizeof text, "EBB_API EBB_NODISCARD %sebb_%s(", gen_returns(op, form),
                 name);
        gen_write_list(f, text, &params, ");\n");
        return;
    }
    if (again) {
        snprintf(text, sizeof text, "EBB_API EBB_NODISCARD ebb_status ebb_%s(", name);
        gen_write_list(f, text, &params, ");\n");
        return;
    }
    fputs("/* ", f);
    gen_write_text(f, op->doc, " * ", 3);
    for (const ebb_attr_spec *a = op->attrs; a && a->name; a++) {
        if (a->option || !a->doc) continue;
        fprintf(f, "\n *   %-10s ", a->name);
        gen_write_text(f, a->doc, " *              ", 16);
    }
    for (int i = 0; i < op->n_in; i++)
        if (op->optional >> i & 1) fprintf(f, "\n *   %-10s may be EBB_NONE", op->arg[i]);
    fputs(" */\n", f);
    snprintf(text, sizeof text, "EBB_API EBB_NODISCARD %sebb_%s(", gen_returns(op, form), name);
    gen_write_list(f, text, &params, ");\n");
}

static void write_wrapper(FILE *f, const ebb_op *op, const char *name, gen_form form)
{
    char text[128];
    gen_list params, args, all = {0};
    gen_params(&params, op, form);
    gen_args(&args, op, form);
    gen_add(&all, "const char *file");
    gen_add(&all, "int32_t line");
    for (int i = 0; i < params.n; i++) gen_add(&all, "%s", params.item[i]);
    snprintf(text, sizeof text, "static inline EBB_NODISCARD %sebb__%s_at(",
             gen_returns(op, form), name);
    gen_write_list(f, text, &all, ")\n");
    fputs("{\n    ebb__at(file, line);\n", f);
    snprintf(text, sizeof text, "    %sresult_ = (ebb_%s)(", gen_returns(op, form), name);
    gen_write_list(f, text, &args, ");\n");
    fputs("    ebb__at(NULL, 0);\n    return result_;\n", f);
    fprintf(f, "}\n#define ebb_%s(...) ebb__%s_at(__FILE__, __LINE__, __VA_ARGS__)\n", name,
            name);
}

void gen_header(FILE *f)
{
    fputs(head_text, f);
    gen_each(f, write_prototype);
    fputs("\n/* The caller's line in messages. Arguments are evaluated first, so that a nested "
          "call "
          "cannot\n * leave its own line behind. EBB_NO_SITES: without. */\n#ifndef "
          "EBB_NO_SITES\n",
          f);
    gen_each(f, write_wrapper);
    fputs(tail_text, f);
}
