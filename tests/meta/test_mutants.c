/* test_mutants.c - the tests of operations are tested: sound operations pass every check, and
 * each broken one is rejected by the check that is there for its fault.
 * SPDX-License-Identifier: MIT */
#include "meta/mutants.h"
#include "ops/ids.h"
#include "support/op_harness.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The first verdict of a kind over all samples and types; NULL where all pass. */
static const char *verdict_of(const ebb_op *op, const harness_kind *kind)
{
    for (int32_t s = 0; s < op->n_samples; s++) {
        for (int d = EBB_F32; d <= EBB_F64; d++) {
            harness_case c;
            if (kind->f64_only && d != EBB_F64) continue;
            const char *fault = harness_case_make(&c, op, &op->samples[s], (ebb_dtype)d);
            if (!fault) fault = kind->check(&c);
            harness_case_free(&c);
            if (fault && fault != HARNESS_SKIP) return fault;
        }
    }
    return NULL;
}

static const char *verdict_by(const ebb_op *op, const char *name)
{
    if (strcmp(name, "minimal") == 0) return harness_check_need_minimal(op);
    for (int32_t k = 0; k < harness_n_kinds; k++)
        if (strcmp(harness_kinds[k].name, name) == 0) return verdict_of(op, &harness_kinds[k]);
    fail_msg("no check is called %s", name);
    return NULL;
}

static void sound_operation_passes(void **state)
{
    const mutant *m = *state;
    const char *fault = harness_check_table(&m->op);
    if (!fault) fault = harness_check_need_minimal(&m->op);
    for (int32_t k = 0; !fault && k < harness_n_kinds; k++) {
        fault = verdict_of(&m->op, &harness_kinds[k]);
        if (fault) fail_msg("%s: %s", harness_kinds[k].name, fault);
    }
    if (fault) fail_msg("%s", fault);
}

static void broken_operation_is_caught(void **state)
{
    const mutant *m = *state;
    const char *fault = verdict_by(&m->op, m->caught_by);
    if (!fault) fail_msg("%s: the %s check has nothing against it", m->op.name, m->caught_by);
    if (fault == HARNESS_SKIP) fail_msg("%s: the %s check skips it", m->op.name, m->caught_by);
}

/* What the random cotangent is for: with ones, a flipped softmax looks right. */
static void flipped_softmax_passes_with_ones_and_fails_with_random(void **state)
{
    (void)state;
    const mutant *flipped = NULL;
    for (int i = 0; i < n_mutants; i++)
        if (strcmp(mutants[i].op.name, "soft_flipped") == 0) flipped = &mutants[i];
    assert_non_null(flipped);
    harness_case c;
    harness_results grads, out, seed;
    assert_null(harness_case_make(&c, &flipped->op, &flipped->op.samples[0], EBB_F64));
    assert_int_equal(harness_run(&out, NULL, &c, NULL), EBB_OK);
    harness_seeds(&seed, &c, &out, 0);
    for (int64_t i = 0; i < seed.value[0].n; i++) seed.value[0].x[i] = 1;
    harness_options o = {.seed = seed.value};
    assert_int_equal(harness_run(NULL, &grads, &c, &o), EBB_OK);
    for (int64_t i = 0; i < grads.value[0].n; i++)
        assert_true(fabs(grads.value[0].x[i]) < 1e-15);
    harness_results_free(&grads), harness_results_free(&out), harness_results_free(&seed);
    harness_case_free(&c);
    assert_non_null(verdict_by(&flipped->op, "gradient"));
}

static const ebb_op *op_named(const char *name)
{
    for (int32_t i = 0; i < EBB__N_OPS; i++)
        if (strcmp(ebb__op_table[i]->name, name) == 0) return ebb__op_table[i];
    return NULL;
}

/* The engine itself must refuse a read that the descriptor does not declare. */
static void engine_refuses_undeclared_reads(void **state)
{
    (void)state;
    for (int i = 0; i < n_mutants; i++) {
        harness_case c;
        harness_results grads;
        if (strcmp(mutants[i].op.name, "cube_undeclared_need") != 0) continue;
        assert_null(harness_case_make(&c, &mutants[i].op, &mutants[i].op.samples[0], EBB_F64));
        ebb_status s = harness_run(NULL, &grads, &c, NULL);
        assert_true(s == EBB_E_INTERNAL || s == EBB_E_MISUSE);
        assert_non_null(strstr(ebb_error_message(), "cube_undeclared_need"));
        ebb_error_clear();
        harness_case_free(&c);
        return;
    }
    fail();
}

/* ---- a backend whose kernels are off, or write where they must not ----------------------- */
static bool take_f32(ebb__call *c, void *backend)
{
    (void)backend;
    return c->in[0].dtype == EBB_F32;
}
static ebb_status off_by_a_thousandth(const ebb__call *c, void *backend)
{
    (void)backend;
    EBB_TRY(c->op->forward(c));
    float *y = c->out[0].data;
    for (int64_t i = ebb__n_elems(&c->out[0].shape); i-- > 0;) y[i] *= 1.001f;
    return EBB_OK;
}
static ebb_status one_too_many(const ebb__call *c, void *backend)
{
    (void)backend;
    EBB_TRY(c->op->forward(c));
    ((float *)c->out[0].data)[ebb__n_elems(&c->out[0].shape)] = 1;
    return EBB_OK;
}
static ebb_status faithful(const ebb__call *c, void *backend)
{
    (void)backend;
    return c->op->forward(c);
}
static ebb_status backend_create(void **backend, ebb_context *root)
{
    (void)root;
    *backend = NULL;
    return EBB_OK;
}
static void backend_destroy(void *backend)
{
    (void)backend;
}

static void broken_backends_are_caught(void **state)
{
    (void)state;
    static const ebb__override overrides[] = {{"sqrt", take_f32, off_by_a_thousandth},
                                              {"square", take_f32, one_too_many},
                                              {"neg", take_f32, faithful},
                                              {0}};
    static const ebb__backend crooked = {"crooked", backend_create, backend_destroy, overrides};
    assert_int_equal(ebb__registry_add(harness_context(), &crooked), EBB_OK);
    const char *fault = verdict_by(op_named("sqrt"), "override");
    assert_true(fault && strstr(fault, "backend against reference"));
    fault = verdict_by(op_named("square"), "override");
    assert_true(fault && strstr(fault, "wrote outside result 0"));
    assert_null(verdict_by(op_named("neg"), "override"));
    harness_context_close();
}

static void rejects(const ebb_op *op, ebb_sample sample)
{
    harness_case c;
    assert_non_null(harness_case_make(&c, op, &sample, EBB_F64));
    harness_case_free(&c);
}

static void misspelt_samples_are_refused(void **state)
{
    (void)state;
    const ebb_op *clamp = op_named("clamp");
    rejects(clamp, (ebb_sample){.in = {"3x4"}, .attr = "low=0"});
    rejects(clamp, (ebb_sample){.in = {"3x4"}, .attr = "lo=zero"});
    rejects(clamp, (ebb_sample){.in = {"3x4"}, .attr = "lo"});
    rejects(clamp, (ebb_sample){.in = {"3xx"}});
    rejects(clamp, (ebb_sample){.in = {"f24:3"}});
    rejects(op_named("add"), (ebb_sample){.in = {"3"}});
}

static void comparison_sees_nan_inf_shape_and_last_bit(void **state)
{
    (void)state;
    double one[] = {1, 2}, other[] = {1, NAN}, far[] = {1, INFINITY}, near[] = {1, 2 + 1e-15};
    assert_int_equal(numeric_difference(one, other, 2, 1e-3, 0), 1);
    assert_int_equal(numeric_difference(one, far, 2, 1e-3, 0), 1);
    assert_int_equal(numeric_difference(far, far, 2, 0, 0), -1);
    assert_int_equal(numeric_difference(other, other, 2, 0, 0), -1);
    assert_int_equal(numeric_difference(one, near, 2, 1e-12, 0), -1);
    harness_results a = {.n = 1, .value = {{.shape = {1, {2}}, .n = 2, .x = one}}}, b = a;
    assert_null(harness_compare("same", &a, &b, 0));
    b.value[0].x = near;
    assert_non_null(harness_compare("last bit", &a, &b, 0));
    assert_null(harness_compare("near", &a, &b, 1e-12));
    b.value[0].x = one, b.value[0].shape = (ebb_shape){2, {2, 1}};
    assert_non_null(harness_compare("shape", &a, &b, 1e-12));
}

int main(void)
{
    struct CMUnitTest *tests = calloc((size_t)n_mutants + 5, sizeof *tests);
    if (!tests) return 1;
    size_t n = 0;
    for (int i = 0; i < n_mutants; i++)
        tests[n++] = (struct CMUnitTest){mutants[i].op.name,
                                         mutants[i].caught_by ? broken_operation_is_caught
                                                              : sound_operation_passes,
                                         NULL, NULL, (void *)&mutants[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(
        flipped_softmax_passes_with_ones_and_fails_with_random);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(misspelt_samples_are_refused);
    tests[n++] =
        (struct CMUnitTest)cmocka_unit_test(comparison_sees_nan_inf_shape_and_last_bit);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(engine_refuses_undeclared_reads);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(broken_backends_are_caught);
    int failed = _cmocka_run_group_tests("mutants", tests, n, NULL, NULL);
    free(tests);
    harness_context_close();
    return failed;
}
