/* test_ops.c - every operation of the table, every sample, every check: cases built at run
 * time.
 *
 * test_ops [FILTER]  runs the cases whose name contains FILTER ("gradient/softmax", "/f32");
 * names are kind/operation/inputs,attributes/type.
 * SPDX-License-Identifier: MIT */
#include "ops/ids.h"
#include "ops/large.h"
#include "support/op_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct ops_case {
    char name[240];
    const harness_kind *kind; /* NULL: of the operation as a whole */
    const char *(*of_op)(const ebb_op *op);
    const ebb_op *op;
    const ebb_sample *sample;
    ebb_dtype dtype;
} ops_case;

typedef struct ops_cases {
    ops_case **item;
    size_t n, room;
    const char *filter;
} ops_cases;

static void run_case(void **state)
{
    const ops_case *o = *state;
    const char *fault;
    ebb_error_clear();
    if (o->kind) {
        harness_case c;
        fault = harness_case_make(&c, o->op, o->sample, o->dtype);
        if (!fault) fault = o->kind->check(&c);
        harness_case_free(&c);
    } else {
        fault = o->of_op(o->op);
    }
    if (fault == HARNESS_SKIP) skip();
    if (fault) fail_msg("%s", fault);
}

/* At the start of the name or of one of its parts: "shape/" is not in "need/reshape/...". */
static bool matches(const char *name, const char *filter)
{
    size_t n = strlen(filter);
    if (strncmp(name, filter, n) == 0) return true;
    for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/'))
        if (strncmp(slash + 1, filter, n) == 0) return true;
    return false;
}

static void add(ops_cases *all, const ops_case *o)
{
    if (!matches(o->name, all->filter)) return;
    if (all->n == all->room) {
        all->room = all->room ? 2 * all->room : 256;
        all->item = realloc(all->item, all->room * sizeof(ops_case *));
    }
    ops_case *copy = all->item ? malloc(sizeof *copy) : NULL;
    if (!copy) exit(1);
    *copy = *o;
    all->item[all->n++] = copy;
}

/* Every kind but those that run it hundreds of times. */
static bool slow_when_large(const char *kind)
{
    const char *slow[] = {"failure", "budget", "second", "need", "lengths", "layout", "linear"};
    for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
        if (strcmp(kind, slow[i]) == 0) return true;
    return false;
}

static void add_sample(ops_cases *all, const ebb_op *op, const ebb_sample *sample, ebb_dtype d,
                       bool large)
{
    harness_case c;
    if (harness_case_make(&c, op, sample, d) != NULL) { /* table/NAME says why */
        harness_case_free(&c);
        return;
    }
    for (int32_t k = 0; k < harness_n_kinds; k++) {
        ops_case o = {.kind = &harness_kinds[k], .op = op, .sample = sample, .dtype = d};
        if (o.kind->f64_only && d != EBB_F64) continue;
        if (large && slow_when_large(o.kind->name)) continue;
        snprintf(o.name, sizeof o.name, "%s/%s", o.kind->name, c.name);
        add(all, &o);
    }
    harness_case_free(&c);
}

static void add_large(ops_cases *all, const large_sample *l)
{
    const ebb_op *op = NULL;
    for (int32_t id = 0; id < EBB__N_OPS; id++)
        if (strcmp(ebb__op_table[id]->name, l->op) == 0) op = ebb__op_table[id];
    if (op) add_sample(all, op, &l->sample, EBB_F64, true);
    if (op) add_sample(all, op, &l->sample, EBB_F32, true);
}

static void add_op(ops_cases *all, const ebb_op *op)
{
    ops_case table = {.of_op = harness_check_table, .op = op};
    snprintf(table.name, sizeof table.name, "table/%s", op->name);
    add(all, &table);
    ops_case minimal = {.of_op = harness_check_need_minimal, .op = op};
    snprintf(minimal.name, sizeof minimal.name, "need/%s/minimal", op->name);
    add(all, &minimal);
    for (int32_t s = 0; s < op->n_samples; s++) {
        add_sample(all, op, &op->samples[s], EBB_F64, false);
        if (harness_case_has_f32_form(&op->samples[s]))
            add_sample(all, op, &op->samples[s], EBB_F32, false);
    }
}

int main(int argc, char **argv)
{
    ops_cases all = {.filter = argc > 1 ? argv[1] : ""};
    for (int32_t id = 0; id < EBB__N_OPS; id++) add_op(&all, ebb__op_table[id]);
    for (int i = 0; i < n_large_samples; i++) add_large(&all, &large_samples[i]);
    struct CMUnitTest *tests = calloc(all.n + 1, sizeof *tests);
    for (size_t i = 0; tests && i < all.n; i++)
        tests[i] = (struct CMUnitTest){all.item[i]->name, run_case, NULL, NULL, all.item[i]};
    int failed = all.n == 0 || !tests;
    if (failed)
        fprintf(stderr, "no case contains \"%s\"\n", all.filter);
    else
        failed = _cmocka_run_group_tests("operations", tests, all.n, NULL, NULL);
    for (size_t i = 0; i < all.n; i++) free(all.item[i]);
    free(all.item);
    free(tests);
    harness_context_close();
    return failed != 0;
}
