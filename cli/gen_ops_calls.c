/* gen_ops_calls.c - src/api/ops_gen.c: each public operation packs its attributes and calls.
 * SPDX-License-Identifier: MIT */
#include "gen_ops.h"

#include "ops/ids.h"

#include <string.h>

static const char head_text[] =
    "/* ops_gen.c - the public operations: each packs its attributes and runs its descriptor.\n"
    " *\n"
    " * Generated from the table of operations (src/ops/ops.def) by gen_ops; edit the "
    "descriptors.\n"
    " * SPDX-License-Identifier: MIT */\n"
    "/* clang-format off */\n"
    "#ifndef EBB_NO_SITES\n"
    "#define EBB_NO_SITES\n"
    "#endif\n"
    "#include \"api/call.h\"\n"
    "#include \"ops/ids.h\"\n"
    "\n"
    "#include <ebb/ops.h>\n"
    "\n"
    "#include <string.h>\n";

/* The attributes in order of offset: that of the descriptor's struct. */
static int by_offset(const ebb_attr_spec *sorted[GEN_MAX_ITEMS], const ebb_op *op)
{
    int n = 0;
    for (const ebb_attr_spec *a = op->attrs; a && a->name; a++) {
        if (n == GEN_MAX_ITEMS) gen_refuse(op->name, "too many attributes");
        int i = n++;
        for (; i > 0 && sorted[i - 1]->offset > a->offset; i--) sorted[i] = sorted[i - 1];
        sorted[i] = a;
    }
    return n;
}

static void write_attr_struct(FILE *f, const ebb_op *op)
{
    const ebb_attr_spec *sorted[GEN_MAX_ITEMS];
    int n = by_offset(sorted, op);
    fprintf(f, "struct %s_attr {\n", op->name);
    for (int i = 0; i < n; i++) {
        int length = gen_attr_length(sorted[i]);
        fprintf(f, "    %s %s", gen_attr_type(sorted[i]), sorted[i]->name);
        if (length > 1) fprintf(f, "[%d]", length);
        fputs(";\n", f);
    }
    fprintf(f, "};\n_Static_assert(sizeof(struct %s_attr) == %d, \"%s\");\n", op->name,
            op->attr_bytes, op->name);
    for (int i = 0; i < n; i++)
        fprintf(f, "_Static_assert(offsetof(struct %s_attr, %s) == %d, \"%s\");\n", op->name,
                sorted[i]->name, sorted[i]->offset, op->name);
}

static void write_option(FILE *f, const ebb_attr_spec *a)
{
    int length = gen_attr_length(a);
    if (length == 1) {
        fprintf(f, "        attr.%s = options->%s;\n", a->name, a->name);
        return;
    }
    for (int i = 0; i < length; i++)
        fprintf(f, "        attr.%s[%d] = options->%s[%d];\n", a->name, i, a->name, i);
}

/* Padding is zeroed too: attributes are compared as bytes. */
static void write_pack(FILE *f, const ebb_op *op, const char *failed)
{
    fprintf(f, "    struct %s_attr attr;\n    memset(&attr, 0, sizeof attr);\n", op->name);
    for (const ebb_attr_spec *a = op->attrs; a && a->name; a++)
        if (!a->option) fprintf(f, "    attr.%s = %s;\n", a->name, a->name);
    if (!op->options) return;
    fputs("    if (options != NULL) {\n", f);
    fprintf(f, "        %sebb__call_reserved(&ebb__op_%s, options->reserved)%s;\n",
            failed ? "if (" : "EBB_TRY(", op->name, failed ? " != EBB_OK) return NULL" : ")");
    for (const ebb_attr_spec *a = op->attrs; a && a->name; a++)
        if (a->option) write_option(f, a);
    fputs("    }\n", f);
}

static void write_inputs(FILE *f, const ebb_op *op)
{
    int n = op->flags & EBB_OP_VARIADIC_IN ? op->n_in - 1 : op->n_in;
    if (n == 0) return;
    fputs("    ebb_tensor *const in[] = {", f);
    for (int i = 0; i < n; i++) fprintf(f, "%s%s", i ? ", " : "", op->arg[i]);
    fputs("};\n", f);
}

static void write_run(FILE *f, const ebb_op *op, const char *attr)
{
    const char *ctx = op->flags & EBB_OP_CREATE ? "ctx" : "NULL";
    if (op->flags & EBB_OP_VARIADIC_OUT) {
        bool list = op->flags & EBB_OP_VARIADIC_IN;
        if (op->n_in != 1) gen_refuse(op->name, "variadic outputs of other than one input");
        fprintf(f, "    return ebb__call_parts(%s_out, n_out, &ebb__op_%s, %s, %s, %s);\n",
                op->result[0] ? op->result[0] : "parts", op->name, attr,
                list ? op->arg[0] : "in", list ? "n" : "1");
    } else if (op->flags & EBB_OP_VARIADIC_IN) {
        if (op->n_out != 1) gen_refuse(op->name, "a list of inputs and several outputs");
        fprintf(f, "    return ebb__call_list(&ebb__op_%s, %s, %s, %d, %s, n);\n", op->name,
                attr, op->n_in > 1 ? "in" : "NULL", op->n_in - 1, op->arg[op->n_in - 1]);
    } else if (op->n_out == 1) {
        fprintf(f, "    return ebb__call1(%s, &ebb__op_%s, %s, %d, %s);\n", ctx, op->name, attr,
                op->n_in, op->n_in ? "in" : "NULL");
    } else {
        fputs("    ebb_tensor **const out[] = {", f);
        for (int k = 0; k < op->n_out; k++)
            fprintf(f, "%s%s_out", k ? ", " : "", op->result[k]);
        fprintf(f, "};\n    return ebb__call_outs(out, %d, &ebb__op_%s, %s, %d, in);\n",
                op->n_out, op->name, attr, op->n_in);
    }
}

/* The call of the form that takes options. */
static void write_short(FILE *f, const ebb_op *op)
{
    char text[128];
    gen_list args;
    gen_args(&args, op, GEN_SHORT);
    gen_add(&args, "NULL");
    snprintf(text, sizeof text, "    return ebb_%s_with(", op->name);
    gen_write_list(f, text, &args, ");\n}\n");
}

static void write_call(FILE *f, const ebb_op *op, const char *name, gen_form form)
{
    char text[128];
    gen_list params;
    bool in_place = form == GEN_IN_PLACE;
    gen_params(&params, op, form);
    bool one = !in_place && op->n_out == 1 && !(op->flags & EBB_OP_VARIADIC_OUT);
    fputc('\n', f);
    snprintf(text, sizeof text, "%sebb_%s(", gen_returns(op, form), name);
    /* Its plain variant has come before. */
    if (op->attr_bytes && form != GEN_SHORT && !(in_place && gen_is_public(op)))
        write_attr_struct(f, op);
    gen_write_list(f, text, &params, ")\n");
    fputs("{\n", f);
    if (form == GEN_SHORT) {
        write_short(f, op);
        return;
    }
    if (op->attr_bytes) write_pack(f, op, one ? "NULL" : NULL);
    write_inputs(f, op);
    const char *attr = op->attr_bytes ? "&attr" : "NULL";
    if (in_place)
        fprintf(f, "    return ebb__run_in_place(&ebb__op_%s, \"%s\", %s, %d, in);\n", op->name,
                name, attr, op->n_in);
    else
        write_run(f, op, attr);
    fputs("}\n", f);
}

void gen_calls(FILE *f)
{
    fputs(head_text, f);
    gen_each(f, write_call);
}
