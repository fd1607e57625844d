/* gen_ops.c - writes what follows from the table of operations.
 *
 * gen_ops ROOT writes ROOT/include/ebb/ops.h, ROOT/include/ebb/sites.h, ROOT/src/api/ops_gen.c
 * and ROOT/docs/ops.md. These are committed; a test runs this again and compares. gen_ops --cli
 * FOLDER writes FOLDER/ebb_ops_table.c, a part of the program ebb, while that is built.
 * SPDX-License-Identifier: MIT */
#include "gen_ops.h"

#include "ops/ids.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void gen_refuse(const char *op, const char *format, ...)
{
    va_list args;
    fprintf(stderr, "gen_ops: %s: ", op);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

void gen_add(gen_list *list, const char *format, ...)
{
    if (list->n == GEN_MAX_ITEMS) gen_refuse("list", "more than %d items", GEN_MAX_ITEMS);
    va_list args;
    va_start(args, format);
    int length = vsnprintf(list->item[list->n], GEN_ITEM_BYTES, format, args);
    va_end(args);
    if (length >= GEN_ITEM_BYTES) gen_refuse(list->item[list->n], "item too long");
    list->n++;
}

const char *gen_attr_type(const ebb_attr_spec *a)
{
    switch (a->kind) {
    case EBB_ATTR_F64:
    case EBB_ATTR_F64_PAIR:
        return "double";
    case EBB_ATTR_I64:
    case EBB_ATTR_PAIR:
    case EBB_ATTR_TRIPLE:
        return "int64_t";
    case EBB_ATTR_BOOL:
        return "bool";
    case EBB_ATTR_SHAPE:
        return "ebb_shape";
    case EBB_ATTR_AXES:
        return "ebb_axes";
    case EBB_ATTR_DTYPE:
        return "ebb_dtype";
    case EBB_ATTR_STRING:
        return "const char *";
    }
    gen_refuse(a->name, "attribute kind %d is unknown", (int)a->kind);
}

int gen_attr_length(const ebb_attr_spec *a)
{
    if (a->kind == EBB_ATTR_TRIPLE) return 3;
    return a->kind == EBB_ATTR_PAIR || a->kind == EBB_ATTR_F64_PAIR ? 2 : 1;
}

bool gen_is_public(const ebb_op *op)
{
    return !(op->flags & EBB_OP_PRIVATE);
}

void gen_forms(FILE *f, const ebb_op *op, gen_each_fn fn)
{
    char name[64];
    bool is_short = op->flags & EBB_OP_SHORT;
    if (is_short && !op->options) gen_refuse(op->name, "a short form of no options");
    if (gen_is_public(op)) fn(f, op, op->name, is_short ? GEN_SHORT : GEN_PLAIN);
    if (gen_is_public(op) && is_short) {
        snprintf(name, sizeof name, "%s_with", op->name);
        fn(f, op, name, GEN_WITH);
    }
    if (!ebb__op_in_place(op)) return;
    snprintf(name, sizeof name, "%s_", op->name);
    fn(f, op, name, GEN_IN_PLACE);
}

void gen_each(FILE *f, gen_each_fn fn)
{
    for (int i = 0; i < EBB__N_OPS; i++) gen_forms(f, ebb__op_table[i], fn);
}

const char *gen_returns(const ebb_op *op, gen_form form)
{
    bool one = form != GEN_IN_PLACE && op->n_out == 1 && !(op->flags & EBB_OP_VARIADIC_OUT);
    return one ? "ebb_tensor *" : "ebb_status ";
}

static void add_outputs(gen_list *out, const ebb_op *op, bool declare)
{
    if (op->flags & EBB_OP_VARIADIC_OUT) {
        const char *name = op->result[0] ? op->result[0] : "parts";
        gen_add(out, "%s%s_out", declare ? "ebb_tensor **" : "", name);
        gen_add(out, "%sn_out", declare ? "int64_t " : "");
    } else if (op->n_out > 1) {
        for (int k = 0; k < op->n_out; k++) {
            if (!op->result[k]) gen_refuse(op->name, "output %d has no name", k);
            gen_add(out, "%s%s_out", declare ? "ebb_tensor **" : "", op->result[k]);
        }
    }
}

static void add_all(gen_list *out, const ebb_op *op, gen_form form, bool declare)
{
    const char *type = declare ? "ebb_tensor *" : "";
    add_outputs(out, op, declare);
    if (op->flags & EBB_OP_CREATE) gen_add(out, "%sctx", declare ? "ebb_context *" : "");
    for (int i = 0; i < op->n_in; i++) {
        if (!op->arg[i]) gen_refuse(op->name, "input %d has no name", i);
        if ((op->flags & EBB_OP_VARIADIC_IN) && i == op->n_in - 1) {
            gen_add(out, "%s%s", declare ? "ebb_tensor *const *" : "", op->arg[i]);
            gen_add(out, "%sn", declare ? "int64_t " : "");
        } else {
            gen_add(out, "%s%s", type, op->arg[i]);
        }
    }
    for (const ebb_attr_spec *a = op->attrs; a && a->name; a++) {
        if (a->option) continue;
        if (gen_attr_length(a) > 1 || a->kind == EBB_ATTR_BOOL)
            gen_refuse(op->name, "attribute %s can only be an option", a->name);
        if (a->kind == EBB_ATTR_STRING && !op->compose)
            gen_refuse(op->name, "attribute %s would be kept: compose the operation", a->name);
        if (declare)
            gen_add(out, "%s%s%s", gen_attr_type(a), a->kind == EBB_ATTR_STRING ? "" : " ",
                    a->name);
        else
            gen_add(out, "%s", a->name);
    }
    if (op->options && form != GEN_SHORT) {
        if (declare)
            gen_add(out, "const ebb_%s_options *options", op->options);
        else
            gen_add(out, "options");
    }
    if (out->n == 0) gen_refuse(op->name, "a function without parameters");
}

void gen_params(gen_list *out, const ebb_op *op, gen_form form)
{
    out->n = 0;
    add_all(out, op, form, true);
}

void gen_args(gen_list *out, const ebb_op *op, gen_form form)
{
    out->n = 0;
    add_all(out, op, form, false);
}

void gen_write_list(FILE *f, const char *head, const gen_list *items, const char *tail)
{
    int indent = (int)strlen(head), column = indent;
    fputs(head, f);
    for (int i = 0; i < items->n; i++) {
        const char *after = i + 1 < items->n ? "," : tail;
        int width = (int)(strlen(items->item[i]) + strcspn(after, "\n"));
        if (i > 0 && column + 1 + width > GEN_COLUMNS) {
            fprintf(f, "\n%*s", indent, "");
            column = indent;
        } else if (i > 0) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%s%s", items->item[i], after);
        column += width;
    }
}

int gen_write_text(FILE *f, const char *text, const char *prefix, int column)
{
    bool first = true;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (!first && column + 1 + length > GEN_COLUMNS - 3) {
            fprintf(f, "\n%s", prefix);
            column = (int)strlen(prefix);
        } else if (!first) {
            fputc(' ', f);
            column++;
        }
        fprintf(f, "%.*s", length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
        first = false;
    }
    return column;
}

/* Writes beside the file and moves it into place, so that a failed run leaves the old one. */
static void write_file(const char *root, const char *path, void (*write)(FILE *f))
{
    char name[1024], part[1040];
    snprintf(name, sizeof name, "%s/%s", root, path);
    snprintf(part, sizeof part, "%s.part", name);
    FILE *f = fopen(part, "w");
    if (!f) gen_refuse(part, "cannot be opened for writing");
    write(f);
    if (fclose(f) != 0) gen_refuse(part, "cannot be written");
    if (rename(part, name) != 0) gen_refuse(name, "cannot be replaced");
}

int main(int n_args, char **args)
{
    if (n_args == 3 && strcmp(args[1], "--cli") == 0) {
        write_file(args[2], "ebb_ops_table.c", gen_cli);
        return 0;
    }
    if (n_args != 2) {
        fputs("usage: gen_ops ROOT | gen_ops --cli FOLDER\n", stderr);
        return 2;
    }
    write_file(args[1], "include/ebb/ops.h", gen_header);
    write_file(args[1], "include/ebb/sites.h", gen_sites);
    write_file(args[1], "src/api/ops_gen.c", gen_calls);
    write_file(args[1], "docs/ops.md", gen_docs);
    return 0;
}
