/* test_shared_bytes.c - for every operation: what a backward gives has bytes of its own, and a
 * backward whose saved values were written meanwhile is refused, no other.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/context.h"
#include "support/op_harness.h"

#include <ebb/ebb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_checked, n_refused;

typedef struct trial {
    const harness_case *c;
    ebb_context *ctx;
    ebb_tensor *in[EBB__MAX_IN], *out[EBB__MAX_OUT], *root[EBB__MAX_OUT], *seed[EBB__MAX_OUT];
    int64_t n_roots;
} trial;

static ebb_status trial_run(trial *t, const harness_case *c)
{
    *t = (trial){.c = c, .ctx = harness_context()};
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(harness_tensor(&t->in[i], t->ctx, &c->in[i], HARNESS_CONTIGUOUS));
        if (c->wants[i] && !c->in[i].absent) EBB_TRY(ebb_set_requires_grad(t->in[i], true));
    }
    EBB_TRY(harness_apply(t->out, c, t->in));
    for (int32_t k = 0; k < c->n_out; k++) {
        if (!ebb_requires_grad(t->out[k])) continue;
        t->root[t->n_roots] = t->out[k];
        ebb_tensor *seed = ebb_full_like(t->out[k], 0.5 + k);
        EBB_TRY(ebb_check(seed));
        t->seed[t->n_roots++] = seed;
    }
    return EBB_OK;
}

static ebb_status read_grads(harness_results *r, const trial *t)
{
    *r = (harness_results){.n = t->c->n_in};
    for (int32_t i = 0; i < t->c->n_in; i++) {
        r->value[i].absent = true;
        if (t->in[i] == EBB_NONE || !ebb_has_grad(t->in[i])) continue;
        EBB_TRY(harness_read(&r->value[i], ebb_grad_of(t->in[i])));
    }
    return EBB_OK;
}

/* ---- gradients ---------------------------------------------------------------------------- */
/* Seeds are overwritten, then each gradient in turn: nothing else may change. */
static const char *gradients_stand_alone(const harness_case *c)
{
    EBB_SCOPE(scope);
    trial t;
    harness_results first, now;
    const char *fault = NULL;
    if (trial_run(&t, c) != EBB_OK) return ebb_error_message();
    if (t.n_roots == 0) return NULL;
    if (ebb_backward_from(t.root, t.seed, t.n_roots, NULL) != EBB_OK)
        return ebb_error_message();
    if (read_grads(&first, &t) != EBB_OK) return ebb_error_message();
    for (int64_t k = 0; k < t.n_roots; k++)
        if (ebb_fill_(t.seed[k], 77) != EBB_OK) return ebb_error_message();
    for (int32_t i = -1; i < c->n_in && !fault; i++) {
        if (i >= 0 && first.value[i].absent) continue;
        if (i >= 0 && ebb_fill_(ebb_grad_of(t.in[i]), 55) != EBB_OK) return ebb_error_message();
        for (int64_t e = 0; i >= 0 && e < first.value[i].n; e++) first.value[i].x[e] = 55;
        if (read_grads(&now, &t) != EBB_OK) return ebb_error_message();
        fault =
            harness_compare(i < 0 ? "after its seed was written" : "after another was written",
                            &now, &first, 0);
        harness_results_free(&now);
    }
    harness_results_free(&first);
    n_checked++;
    return fault;
}

/* ---- saved values -------------------------------------------------------------------------- */
static bool saves(const harness_case *c, int32_t input)
{
    bool needed = false;
    for (int32_t i = 0; i < c->n_in; i++) {
        int32_t at = i < c->op->n_in ? i : c->op->n_in - 1;
        int32_t as = input < c->op->n_in ? input : c->op->n_in - 1;
        needed |= c->wants[i] && !c->in[i].absent && c->op->need[at] & EBB_NEED_IN(as);
    }
    return needed;
}

/* Composed operations keep what theirs keep; a list's own are told apart by the engine alone: see
 * write_does_no_harm. */
static bool simple(const harness_case *c)
{
    return c->op->vjp && !c->op->compose && !(c->op->flags & EBB_OP_VARIADIC_IN);
}

static const char *write_is_noticed(const harness_case *c, int32_t input)
{
    EBB_SCOPE(scope);
    trial t;
    if (trial_run(&t, c) != EBB_OK) return ebb_error_message();
    if (t.n_roots == 0) return NULL;
    {
        EBB_NO_GRAD(quiet);
        if (ebb_zero_(t.in[input]) != EBB_OK) return ebb_error_message();
    }
    ebb_status status = ebb_backward_from(t.root, t.seed, t.n_roots, NULL);
    const char *text = ebb_error_message(), *fault = NULL;
    bool names = strstr(text, "was written to by zero_") && strstr(text, c->op->name);
    if (saves(c, input)) {
        n_refused++;
        if (status != EBB_E_GRAPH || !names)
            fault = verdict("input %d is saved and was written: %s, \"%s\"", input,
                            ebb_status_name(status), text);
    } else if (status != EBB_OK) {
        fault = verdict("input %d is not saved, but: %s", input, text);
    }
    ebb_error_clear();
    n_checked++;
    return fault;
}

/* Of a formula or a list: what it keeps is not told, so a write is refused by its name or changes no
 * gradient. */
static const char *write_does_no_harm(const harness_case *c, int32_t input)
{
    EBB_SCOPE(scope);
    trial t;
    harness_results want, got;
    if (trial_run(&t, c) != EBB_OK) return ebb_error_message();
    if (t.n_roots == 0) return NULL;
    const ebb_backward_options keep = {.keep_graph = true};
    if (ebb_backward_from(t.root, t.seed, t.n_roots, &keep) != EBB_OK ||
        read_grads(&want, &t) != EBB_OK)
        return ebb_error_message();
    for (int32_t i = 0; i < c->n_in; i++)
        if (!want.value[i].absent && ebb_clear_grad(t.in[i]) != EBB_OK)
            return ebb_error_message();
    {
        EBB_NO_GRAD(quiet);
        if (ebb_zero_(t.in[input]) != EBB_OK) return ebb_error_message();
    }
    ebb_status status = ebb_backward_from(t.root, t.seed, t.n_roots, NULL);
    const char *fault = NULL;
    if (status == EBB_E_GRAPH && strstr(ebb_error_message(), "was written to by zero_")) {
        n_refused++;
    } else if (status != EBB_OK || read_grads(&got, &t) != EBB_OK) {
        fault = verdict("input %d was written: %s", input, ebb_error_message());
    } else {
        fault = harness_compare("an input was written, not noticed", &got, &want, 0);
        harness_results_free(&got);
    }
    ebb_error_clear();
    harness_results_free(&want);
    n_checked++;
    return fault;
}

static const char *writes_are_noticed(const harness_case *c)
{
    const char *fault = NULL;
    for (int32_t i = 0; i < c->n_in && !fault; i++)
        if (!c->in[i].absent && c->in[i].n > 0)
            fault = simple(c) ? write_is_noticed(c, i) : write_does_no_harm(c, i);
    return fault;
}

/* ---- over the table ------------------------------------------------------------------------ */
static void over_the_table(harness_check check)
{
    ebb__registry *registry = harness_context()->registry;
    int n_faults = 0;
    n_checked = 0;
    for (int32_t id = 0; id < ebb__registry_count(registry); id++) {
        const ebb_op *op = ebb__registry_at(registry, id);
        if (op->flags & (EBB_OP_PRIVATE | EBB_OP_CREATE | EBB_OP_INTEGER) || op->writes)
            continue;
        for (int32_t k = 0; k < op->n_samples; k++) {
            harness_case c;
            ebb_error_clear();
            const char *fault = harness_case_make(&c, op, &op->samples[k], EBB_F64);
            if (!fault) fault = check(&c);
            if (fault) {
                print_error("%s: %s\n", c.name, fault);
                n_faults++;
            }
            harness_case_free(&c);
        }
    }
    printf("%d checked\n", n_checked);
    assert_true(n_checked > 500);
    if (n_faults) fail_msg("%d faults", n_faults);
}

static void gradients_have_bytes_of_their_own(void **state)
{
    (void)state;
    over_the_table(gradients_stand_alone);
}

static void a_write_to_what_is_saved_is_noticed_and_no_other(void **state)
{
    (void)state;
    over_the_table(writes_are_noticed);
    printf("%d of them refused\n", n_refused);
    assert_true(n_refused > 200 && n_checked - n_refused > 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_have_bytes_of_their_own),
        cmocka_unit_test(a_write_to_what_is_saved_is_noticed_and_no_other),
    };
    int failed = cmocka_run_group_tests_name("shared_bytes", tests, NULL, NULL);
    harness_context_close();
    return failed;
}
