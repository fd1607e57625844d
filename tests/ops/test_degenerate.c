/* test_degenerate.c - every operation with an axis of each input made empty or of one element, on
 * scalars, and with other element types: a result with gradients of the inputs' shapes, twice, or
 * a refusal by the arguments; never an internal error, never something left.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/context.h"
#include "support/op_harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int n_right, n_refused;

/* The descriptor's sample with its text split: types, dimensions, what follows them. */
typedef struct inputs {
    char text[EBB__MAX_IN][64];
    ebb_sample sample;
} inputs;

static void take_sample(inputs *p, const ebb_sample *s)
{
    p->sample = *s;
    for (int i = 0; i < EBB__MAX_IN && s->in[i]; i++) {
        snprintf(p->text[i], sizeof p->text[i], "%s", s->in[i]);
        p->sample.in[i] = p->text[i];
    }
}

static char *dims_of(char *text)
{
    char *colon = strchr(text, ':');
    return colon ? colon + 1 : text;
}

/* Input i with axis `axis` of another length; false where it has no such axis. */
static bool set_length(inputs *p, int i, int axis, int length)
{
    char rest[64], *at = dims_of(p->text[i]);
    if (strcmp(p->text[i], "-") == 0) return false;
    for (int k = 0; k < axis; k++) {
        at += strcspn(at, "x<+");
        if (*at != 'x') return false;
        at++;
    }
    size_t digits = strspn(at, "0123456789");
    if (digits == 0) return false;
    snprintf(rest, sizeof rest, "%s", at + digits);
    snprintf(at, sizeof p->text[i] - (size_t)(at - p->text[i]), "%d%.40s", length, rest);
    return true;
}

static bool make_scalar(inputs *p, int i)
{
    char rest[64], *at = dims_of(p->text[i]);
    if (strcmp(p->text[i], "-") == 0) return false;
    snprintf(rest, sizeof rest, "%s", at + strspn(at, "0123456789x"));
    if (*rest == '+') *rest = 0;
    snprintf(at, sizeof p->text[i] - (size_t)(at - p->text[i]), "%.40s", rest);
    return true;
}

static bool set_type(inputs *p, int i, ebb_dtype d)
{
    char rest[64];
    if (strcmp(p->text[i], "-") == 0) return false;
    snprintf(rest, sizeof rest, "%s", dims_of(p->text[i]));
    snprintf(p->text[i], sizeof p->text[i], "%s:%.50s", ebb_dtype_name(d), rest);
    return true;
}

static bool by_the_arguments(ebb_status s)
{
    return s == EBB_E_SHAPE || s == EBB_E_RANGE || s == EBB_E_DTYPE || s == EBB_E_MISUSE ||
           s == EBB_E_UNSUPPORTED;
}

static const char *shapes_fit(const harness_case *c, const harness_results *grads)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        const harness_value *g = &grads->value[i];
        if (i < grads->n && !g->absent &&
            (!ebb__shape_equal(&g->shape, &c->in[i].shape) || g->dtype != c->in[i].dtype))
            return verdict("the gradient of input %d has another shape or type", i);
    }
    return NULL;
}

static const char *again(const harness_case *c, const harness_results *out)
{
    harness_results first = {0}, second = {0}, seeds;
    harness_value weight[EBB__MAX_IN] = {{0}};
    const char *fault = NULL;
    harness_seeds(&seeds, c, out, 5);
    for (int32_t i = 0; i < c->n_in; i++) harness_value_copy(&weight[i], &c->in[i]);
    harness_options o = {.seed = seeds.value};
    ebb_status status = harness_run_second(&first, &second, c, &o, weight);
    if (status == EBB_OK)
        fault = shapes_fit(c, &second);
    else
        fault = verdict("second order: %s", ebb_error_message());
    harness_results_free(&first), harness_results_free(&second);
    harness_results_free(&seeds);
    for (int32_t i = 0; i < c->n_in; i++) harness_value_free(&weight[i]);
    return fault;
}

static const char *run(const ebb_op *op, const inputs *p)
{
    harness_case c;
    harness_results out = {0}, grads = {0};
    ebb_stats before, after;
    if (harness_case_make(&c, op, &p->sample, EBB_F64)) {
        harness_case_free(&c);
        return NULL; /* no such sample */
    }
    ebb_error_clear();
    ebb_stats_get(&before, harness_context());
    ebb_status status = harness_run(&out, &grads, &c, NULL);
    const char *fault = NULL;
    if (status == EBB_OK) {
        n_right++;
        fault = shapes_fit(&c, &grads);
        if (!fault) fault = again(&c, &out);
    } else {
        n_refused++;
        if (!by_the_arguments(status)) fault = ebb_error_message();
        if (strlen(ebb_error_message()) < 10) fault = "a refusal says nothing";
    }
    harness_results_free(&out), harness_results_free(&grads);
    ebb_stats_get(&after, harness_context());
    if (!fault && (after.live_nodes || after.n_handles != before.n_handles))
        fault = verdict("%lld nodes are left", (long long)after.live_nodes);
    if (fault) {
        print_error("%s: %s\n", c.name, fault);
        for (int i = 0; i < c.n_in && p->sample.in[i]; i++)
            print_error("    %s\n", p->sample.in[i]);
    }
    harness_case_free(&c);
    ebb_error_clear();
    return fault;
}

static int lengths_of(const ebb_op *op, const ebb_sample *s, int i)
{
    int n_faults = 0;
    for (int axis = 0; axis < EBB_MAX_DIMS; axis++)
        for (int length = 0; length < 3; length++) {
            inputs p;
            take_sample(&p, s);
            if (set_length(&p, i, axis, length)) n_faults += run(op, &p) != NULL;
            take_sample(&p, s);
            bool any = false; /* and of all inputs together */
            for (int k = 0; k < EBB__MAX_IN && s->in[k]; k++)
                any |= set_length(&p, k, axis, length);
            if (any && i == 0) n_faults += run(op, &p) != NULL;
        }
    return n_faults;
}

static int types_of(const ebb_op *op, const ebb_sample *s, int i)
{
    int n_faults = 0;
    for (int d = EBB_F32; d <= EBB_BF16; d++) {
        inputs p;
        take_sample(&p, s);
        if (set_type(&p, i, (ebb_dtype)d)) n_faults += run(op, &p) != NULL;
        take_sample(&p, s);
        for (int k = 0; k < EBB__MAX_IN && s->in[k]; k++) set_type(&p, k, (ebb_dtype)d);
        if (i == 0) n_faults += run(op, &p) != NULL;
    }
    return n_faults;
}

static int scalars_of(const ebb_op *op, const ebb_sample *s, int i)
{
    int n_faults = 0;
    inputs p;
    take_sample(&p, s);
    if (make_scalar(&p, i)) n_faults += run(op, &p) != NULL;
    for (int k = 0; k < EBB__MAX_IN && s->in[k]; k++) make_scalar(&p, k);
    if (i == 0) n_faults += run(op, &p) != NULL;
    return n_faults;
}

static void over_the_table(int (*some)(const ebb_op *op, const ebb_sample *s, int i))
{
    ebb__registry *registry = harness_context()->registry;
    int n_faults = 0;
    n_right = n_refused = 0;
    for (int32_t id = 0; id < ebb__registry_count(registry); id++) {
        const ebb_op *op = ebb__registry_at(registry, id);
        if (op->flags & (EBB_OP_PRIVATE | EBB_OP_CREATE)) continue;
        for (int32_t k = 0; k < op->n_samples; k++)
            for (int i = 0; i < EBB__MAX_IN && op->samples[k].in[i]; i++)
                n_faults += some(op, &op->samples[k], i);
    }
    printf("%d right, %d refused\n", n_right, n_refused);
    assert_true(n_right > 500 && n_refused > 100);
    if (n_faults) fail_msg("%d faults", n_faults);
}

static void axes_of_no_and_one_element(void **state)
{
    (void)state;
    over_the_table(lengths_of);
}
static void scalars(void **state)
{
    (void)state;
    over_the_table(scalars_of);
}
static void other_element_types(void **state)
{
    (void)state;
    over_the_table(types_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_of_no_and_one_element),
        cmocka_unit_test(scalars),
        cmocka_unit_test(other_element_types),
    };
    int failed = cmocka_run_group_tests_name("degenerate", tests, NULL, NULL);
    harness_context_close();
    return failed;
}
