/* gen_ops.h - what the parts of the generator share: parameter lists and wrapped text.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_CLI_GEN_OPS_H
#define EBB_CLI_GEN_OPS_H

#include "op/op.h"

#include <stdio.h>

enum { GEN_MAX_ITEMS = 24, GEN_ITEM_BYTES = 96, GEN_COLUMNS = 96 };

typedef struct gen_list {
    int n;
    char item[GEN_MAX_ITEMS][GEN_ITEM_BYTES];
} gen_list;

/* Exits with a message: the table is not something to generate from. */
_Noreturn void gen_refuse(const char *op, const char *format, ...) EBB_PRINTF(2, 3);
void gen_add(gen_list *list, const char *format, ...) EBB_PRINTF(2, 3);

/* "int64_t" and so on: the C type of an attribute as a parameter or member. */
const char *gen_attr_type(const ebb_attr_spec *a);
/* How many of them: 1, or the length of an array. */
int gen_attr_length(const ebb_attr_spec *a);
/* The functions of an operation: ebb_NAME; where that leaves options at their defaults
 * (EBB_OP_SHORT) ebb_NAME_with, which takes them; ebb_NAME_, which writes in place. */
typedef enum gen_form { GEN_PLAIN, GEN_SHORT, GEN_WITH, GEN_IN_PLACE } gen_form;
/* Declared parameters of the public function, and the same names as arguments. */
void gen_params(gen_list *out, const ebb_op *op, gen_form form);
void gen_args(gen_list *out, const ebb_op *op, gen_form form);
/* What it returns: "ebb_tensor *" or "ebb_status ". */
const char *gen_returns(const ebb_op *op, gen_form form);
bool gen_is_public(const ebb_op *op);
/* Calls fn for each public function: `name` is what follows ebb_. */
typedef void (*gen_each_fn)(FILE *f, const ebb_op *op, const char *name, gen_form form);
void gen_each(FILE *f, gen_each_fn fn);
/* The same for the functions of one operation. */
void gen_forms(FILE *f, const ebb_op *op, gen_each_fn fn);

/* head, the items with ", " between, tail; continued under the end of head. */
void gen_write_list(FILE *f, const char *head, const gen_list *items, const char *tail);
/* Text broken at blanks; every line after the first begins with prefix. `column` is where the
 * first line starts. Returns the column reached. */
int gen_write_text(FILE *f, const char *text, const char *prefix, int column);

void gen_header(FILE *f);
void gen_calls(FILE *f);
void gen_docs(FILE *f);
/* The same entries for the program. */
void gen_cli(FILE *f);
/* Lines on the operation's first sample: shapes, cost. */
void gen_write_sample(FILE *f, const ebb_op *op);
void gen_sites(FILE *f);

#endif
