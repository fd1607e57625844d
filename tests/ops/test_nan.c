/* test_nan.c - a NaN comes out where it went in and nowhere else, at every length and position:
 * elementwise operations of the whole table, with their gradients, and reductions.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/context.h"
#include "support/op_harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_N = 67 };

static int n_checked;

static int next_length(int n)
{
    return n < 18 ? n + 1 : n + 7;
}

/* ---- elementwise --------------------------------------------------------------------------- */
/* What answers NaN with a number by what it is: docs/conventions.md. */
static bool answers_nan(const char *name)
{
    const char *some[] = {"nan_to_num", "dropout", "where", "masked_fill", "pow", "pow_scalar"};
    for (size_t k = 0; k < sizeof some / sizeof *some; k++)
        if (strcmp(name, some[k]) == 0) return true;
    return false;
}

static bool is_elementwise(const ebb_op *op)
{
    const uint32_t no = EBB_OP_PRIVATE | EBB_OP_INTEGER | EBB_OP_CREATE | EBB_OP_VARIADIC_IN;
    return op->flags & EBB_OP_ALIAS_SAFE && !(op->flags & no) && !op->writes &&
           op->n_out == 1 && op->n_samples > 0 && !answers_nan(op->name);
}

static bool near(double a, double b)
{
    return a == b || fabs(a - b) <= 1e-6 * fmax(1, fabs(b)) || (isnan(a) && isnan(b));
}

/* As without the NaN, but at k, where `at_k` says what is right (0: not looked at). */
static const char *same_but(const harness_value *x, const harness_value *plain, int k, int at_k)
{
    for (int64_t j = 0; j < x->n; j++) {
        bool right = j != k ? near(x->x[j], plain->x[j]) : !at_k || isnan(x->x[j]);
        if (!right)
            return verdict("%lld elements, NaN at %d: element %lld is %g", (long long)x->n, k,
                           (long long)j, x->x[j]);
    }
    return NULL;
}

/* *rule: the gradient at a NaN, the same everywhere (of several inputs only whether it is NaN:
 * it may be the value of another). */
static const char *nan_at(harness_case *c, int input, int k, const harness_results *plain,
                          const harness_results *plain_grads, double *rule)
{
    harness_results out, grads;
    harness_value ones = {0};
    double kept = c->in[input].x[k];
    harness_value_copy(&ones, &plain->value[0]);
    for (int64_t j = 0; j < ones.n; j++) ones.x[j] = 1;
    c->in[input].x[k] = NAN;
    const char *fault = NULL;
    if (harness_run(&out, &grads, c, &(harness_options){.seed = &ones}) != EBB_OK) {
        fault = ebb_error_message();
    } else {
        fault = same_but(&out.value[0], &plain->value[0], k, 1);
        const harness_value *g = &grads.value[input];
        if (!fault && !g->absent) {
            fault = same_but(g, &plain_grads->value[input], k, 0);
            if (*rule == INFINITY) *rule = g->x[k];
            bool same = c->n_in > 1 ? isnan(g->x[k]) == isnan(*rule) : near(g->x[k], *rule);
            if (!fault && !same)
                fault = verdict("%lld elements: the gradient at a NaN is %g here, %g elsewhere",
                                (long long)g->n, g->x[k], *rule);
        }
        harness_results_free(&out), harness_results_free(&grads);
    }
    c->in[input].x[k] = kept;
    harness_value_free(&ones);
    n_checked++;
    return fault;
}

static const char *of_length(const ebb_op *op, int input, int n, ebb_dtype d, double *rule)
{
    char text[16];
    harness_case c;
    harness_results out, grads;
    harness_value ones = {0};
    snprintf(text, sizeof text, "%d", n);
    ebb_sample sample = {.attr = op->samples[0].attr};
    for (int i = 0; i < op->n_in; i++) sample.in[i] = text;
    const char *fault = harness_case_make(&c, op, &sample, d);
    if (fault) return fault;
    harness_value_copy(&ones, &c.in[0]);
    for (int64_t j = 0; j < n; j++) ones.x[j] = 1;
    if (harness_run(&out, &grads, &c, &(harness_options){.seed = &ones}) != EBB_OK) {
        fault = ebb_error_message();
    } else {
        for (int k = 0; k < n && !fault; k += n > 20 ? 5 : 1)
            fault = nan_at(&c, input, k, &out, &grads, rule);
        harness_results_free(&out), harness_results_free(&grads);
    }
    harness_value_free(&ones);
    harness_case_free(&c);
    return fault;
}

static void elementwise_operations_keep_a_nan_in_its_place(void **state)
{
    (void)state;
    ebb__registry *registry = harness_context()->registry;
    int n_ops = 0, n_faults = 0;
    for (int32_t id = 0; id < ebb__registry_count(registry); id++) {
        const ebb_op *op = ebb__registry_at(registry, id);
        if (!is_elementwise(op)) continue;
        n_ops++;
        for (int t = 0; t < 2 * op->n_in; t++) {
            const char *fault = NULL;
            double rule = INFINITY;
            for (int n = 1; n <= MAX_N && !fault; n = next_length(n))
                fault = of_length(op, t / 2, n, t % 2 ? EBB_F32 : EBB_F64, &rule);
            if (!fault) continue;
            print_error("%s, input %d: %s\n", op->name, t / 2, fault);
            ebb_error_clear();
            n_faults++;
        }
    }
    printf("%d operations, %d places\n", n_ops, n_checked);
    assert_true(n_ops > 60);
    if (n_faults) fail_msg("%d faults", n_faults);
}

/* ---- reductions ---------------------------------------------------------------------------- */
static void reductions_see_a_nan_wherever_it_is(void **state)
{
    (void)state;
    static const struct {
        const char *name, *attr;
        int n_out, at; /* at: the output that is the NaN's place; -1: none */
    } some[] = {
        {"sum", "axes=0", 1, -1},      {"mean", "axes=0", 1, -1},
        {"prod", "axes=0", 1, -1},     {"amax", "axes=0", 1, -1},
        {"amin", "axes=0", 1, -1},     {"var", "axes=0", 1, -1},
        {"std", "axes=0", 1, -1},      {"logsumexp", "axes=0", 1, -1},
        {"norm", "p=2 axes=0", 1, -1}, {"norm", "p=inf axes=0", 1, -1},
        {"norm", "p=3 axes=0", 1, -1}, {"norm", "p=-1 axes=0", 1, -1},
        {"max", "axes=0", 2, 1},       {"min", "axes=0", 2, 1},
        {"median", "axes=0", 2, 1},    {"topk", "k=1 axis=0", 2, 1},
        {"argmax", "axes=0", 1, 0},    {"argmin", "axes=0", 1, 0},
        {"softmax", "axis=0", 1, -1},  {"log_softmax", "axis=0", 1, -1},
    };
    for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
        const ebb_op *op = ebb__registry_find(harness_context()->registry, some[s].name);
        for (int n = 2; n <= MAX_N; n = next_length(n)) {
            for (int k = 0; k<2 * n; k += n> 20 ? 5 : 1) {
                char text[16];
                harness_case c;
                harness_results out;
                snprintf(text, sizeof text, "%d", n);
                ebb_sample sample = {.in = {text}, .attr = some[s].attr};
                assert_null(harness_case_make(&c, op, &sample, k < n ? EBB_F64 : EBB_F32));
                c.in[0].x[k % n] = NAN;
                assert_int_equal(harness_run(&out, NULL, &c, NULL), EBB_OK);
                for (int64_t j = 0; some[s].at != 0 && j < out.value[0].n; j++)
                    if (!isnan(out.value[0].x[j]))
                        fail_msg("%s %s of %d, NaN at %d: %g", op->name, some[s].attr, n, k % n,
                                 out.value[0].x[j]);
                if (some[s].at >= 0 && out.value[some[s].at].x[0] != k % n)
                    fail_msg("%s of %d: the NaN at %d is said to be at %g", op->name, n, k % n,
                             out.value[some[s].at].x[0]);
                harness_results_free(&out);
                harness_case_free(&c);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_operations_keep_a_nan_in_its_place),
        cmocka_unit_test(reductions_see_a_nan_wherever_it_is),
    };
    int failed = cmocka_run_group_tests_name("nan", tests, NULL, NULL);
    harness_context_close();
    return failed;
}
