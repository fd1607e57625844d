/* test_golden.c - operations against values of PyTorch, NumPy or a formula, read from the text
 * files beside this one; scripts/golden/ops/make.py writes them.
 *
 * A sample: "case NAME [n_out]", "attr ...", one line per input ("in DTYPE SHAPE : values" or
 * "absent"), per result ("out ..."), per gradient ("grad INPUT ..."), "end". The cotangent of
 * element j of result k is cos(0.7 j + k + 0.3). Every public operation has five samples, or a
 * line with the reason in exempt.txt.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/context.h"
#include "support/op_harness.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 32, LINE_BYTES = 1 << 16, PATH_BYTES = 512, MIN_SAMPLES = 5 };

typedef struct sample {
    char name[64], attr[200], in_text[EBB__MAX_IN][64];
    int32_t n_in, n_out, line;
    harness_value in[EBB__MAX_IN];
    harness_results out, grads;
} sample;

static int *n_samples; /* per operation */

static ebb__registry *registry(void)
{
    return harness_context()->registry;
}

/* ---- reading ----------------------------------------------------------------------------- */
static ebb_dtype dtype_named(const char *name)
{
    for (int d = EBB_F32; d <= EBB_BF16; d++)
        if (strcmp(ebb_dtype_name((ebb_dtype)d), name) == 0) return (ebb_dtype)d;
    fail_msg("no element type is called %s", name);
    return EBB_F64;
}

/* "f64 3x4 : 1 2 ..." */
static void read_value(harness_value *v, char *text, char in_text[64])
{
    char dtype[8], shape[40];
    int at = 0;
    if (sscanf(text, "%7s %39s : %n", dtype, shape, &at) < 2) fail_msg("not a value: %s", text);
    ebb_shape s = {0};
    if (strcmp(shape, "()") != 0)
        for (char *p = shape; *p; p += *p == 'x') s.dims[s.n_dims++] = strtoll(p, &p, 10);
    if (in_text) snprintf(in_text, 64, "%s:%s", dtype, s.n_dims ? shape : "");
    if (!harness_value_make(v, dtype_named(dtype), &s)) fail_msg("no memory");
    char *p = at ? text + at : text + strlen(text);
    for (int64_t i = 0; i < v->n; i++) {
        char *end;
        v->x[i] = strtod(p, &end);
        if (end == p)
            fail_msg("%s: %lld values, %lld needed", text, (long long)i, (long long)v->n);
        p = end;
    }
}

/* False at the end of the file. */
static bool read_sample(sample *s, FILE *f, char *line, int32_t *line_number)
{
    memset(s, 0, sizeof *s);
    for (int32_t i = 0; i < HARNESS_MAX_RESULTS; i++) s->grads.value[i].absent = true;
    while (fgets(line, LINE_BYTES, f)) {
        ++*line_number;
        line[strcspn(line, "\n")] = 0;
        if (strncmp(line, "case ", 5) == 0) {
            s->line = *line_number, s->n_out = 1;
            sscanf(line + 5, "%63s %d", s->name, &s->n_out);
        } else if (strncmp(line, "attr ", 5) == 0) {
            snprintf(s->attr, sizeof s->attr, "%.199s", line + 5);
        } else if (strcmp(line, "absent") == 0) {
            strcpy(s->in_text[s->n_in], "-");
            s->in[s->n_in++].absent = true;
        } else if (strncmp(line, "in ", 3) == 0) {
            read_value(&s->in[s->n_in], line + 3, s->in_text[s->n_in]);
            s->n_in++;
        } else if (strncmp(line, "out ", 4) == 0) {
            read_value(&s->out.value[s->out.n++], line + 4, NULL);
        } else if (strncmp(line, "grad ", 5) == 0) {
            char *rest;
            long i = strtol(line + 5, &rest, 10);
            read_value(&s->grads.value[i], rest + 1, NULL);
            s->grads.n = 1;
        } else if (strcmp(line, "end") == 0) {
            return true;
        }
    }
    return false;
}

static void sample_free(sample *s)
{
    for (int32_t i = 0; i < s->n_in; i++) harness_value_free(&s->in[i]);
    for (int32_t i = 0; i < HARNESS_MAX_RESULTS; i++) harness_value_free(&s->grads.value[i]);
    harness_results_free(&s->out);
}

/* ---- comparing --------------------------------------------------------------------------- */
/* Relative to the element, or to 1: sums of inputs of that order may cancel. */
static bool differs(double x, double want)
{
    if (isnan(x) || isnan(want)) return !(isnan(x) && isnan(want));
    if (isinf(x) || isinf(want)) return x != want;
    return !(fabs(x - want) <= 2e-10 * fmax(1, fabs(want)));
}

static int compare(const char *what, int32_t at, const harness_value *x,
                   const harness_value *want)
{
    if (!ebb__shape_equal(&x->shape, &want->shape) || x->dtype != want->dtype) {
        print_error("  %s %d has another shape or type (%s)\n", what, at,
                    ebb_dtype_name(x->dtype));
        return 1;
    }
    for (int64_t i = 0; i < want->n; i++)
        if (differs(x->x[i], want->x[i])) {
            print_error("  %s %d, element %lld is %.17g, %.17g expected\n", what, at,
                        (long long)i, x->x[i], want->x[i]);
            return 1;
        }
    return 0;
}

static int run_case(sample *s, harness_case *c)
{
    harness_results out = {0}, grads = {0};
    harness_value seed[EBB__MAX_OUT] = {{0}};
    int32_t n_faults = 0;
    for (int32_t i = 0; i < c->n_in; i++) {
        c->wants[i] = i < HARNESS_MAX_RESULTS && !s->grads.value[i].absent;
        if (i < s->n_in && !s->in[i].absent)
            memcpy(c->in[i].x, s->in[i].x, (size_t)s->in[i].n * sizeof(double));
    }
    for (int32_t k = 0; k < s->out.n; k++) {
        harness_value_copy(&seed[k], &s->out.value[k]);
        for (int64_t j = 0; j < seed[k].n; j++)
            seed[k].x[j] = cos(0.7 * (double)j + (double)k + 0.3);
    }
    harness_options o = {.seed = seed};
    if (harness_run(&out, s->grads.n ? &grads : NULL, c, &o) != EBB_OK) {
        print_error("  %s\n", ebb_error_message());
        ebb_error_clear();
        n_faults = 1;
    }
    for (int32_t k = 0; !n_faults && k < s->out.n; k++)
        n_faults += compare("result", k, &out.value[k], &s->out.value[k]);
    for (int32_t i = 0; !n_faults && s->grads.n && i < c->n_in; i++)
        if (!s->grads.value[i].absent)
            n_faults += compare("gradient", i, &grads.value[i], &s->grads.value[i]);
    for (int32_t k = 0; k < s->out.n; k++) harness_value_free(&seed[k]);
    harness_results_free(&out), harness_results_free(&grads);
    return n_faults;
}

static int run_sample(sample *s)
{
    const ebb_op *op = ebb__registry_find(registry(), s->name);
    if (!op) {
        print_error("  there is no operation %s\n", s->name);
        return 1;
    }
    ebb_sample text = {.attr = s->attr, .n_out = s->n_out};
    for (int32_t i = 0; i < s->n_in; i++) text.in[i] = s->in_text[i];
    harness_case c;
    const char *fault = harness_case_make(&c, op, &text, EBB_F64);
    if (fault) {
        print_error("  %s\n", fault);
        return 1;
    }
    n_samples[op->id]++;
    int n_faults = run_case(s, &c);
    harness_case_free(&c);
    return n_faults;
}

static void file_agrees(void **state)
{
    const char *path = *state;
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s cannot be opened", path);
    char *line = malloc(LINE_BYTES);
    sample s;
    int32_t line_number = 0, n_faults = 0, n = 0;
    for (; read_sample(&s, f, line, &line_number); n++) {
        int faults = run_sample(&s);
        if (faults) print_error("%s:%d: %s %s\n", path, s.line, s.name, s.attr);
        n_faults += faults;
        sample_free(&s);
    }
    free(line);
    fclose(f);
    assert_true(n > 0);
    if (n_faults) fail_msg("%d of %d samples differ", n_faults, n);
}

/* ---- coverage ---------------------------------------------------------------------------- */
static bool is_exempt(const char *name)
{
    char line[256], exempt[64];
    FILE *f = fopen(EBB_SOURCE_DIR "/tests/golden/exempt.txt", "r");
    bool found = false;
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "%63[a-z0-9_]:", exempt) == 1 && strcmp(exempt, name) == 0;
    if (f) fclose(f);
    return found;
}

static void every_public_operation_has_five_samples(void **state)
{
    (void)state;
    int n_missing = 0;
    for (int32_t id = 0; id < ebb__registry_count(registry()); id++) {
        const ebb_op *op = ebb__registry_at(registry(), id);
        if (op->flags & EBB_OP_PRIVATE || n_samples[id] >= MIN_SAMPLES) continue;
        if (is_exempt(op->name)) continue;
        print_error("  %s has %d samples\n", op->name, n_samples[id]);
        n_missing++;
    }
    if (n_missing) fail_msg("%d operations have fewer than %d samples", n_missing, MIN_SAMPLES);
}

int main(void)
{
    static char path[MAX_FILES][PATH_BYTES], name[MAX_FILES][64];
    struct CMUnitTest tests[MAX_FILES + 1];
    int n = 0;
    DIR *dir = opendir(EBB_SOURCE_DIR "/tests/golden");
    for (struct dirent *e; dir && n < MAX_FILES && (e = readdir(dir));) {
        char *dot = strrchr(e->d_name, '.');
        if (!dot || strcmp(dot, ".txt") != 0 || strcmp(e->d_name, "exempt.txt") == 0) continue;
        snprintf(path[n], PATH_BYTES, "%s/%.200s", EBB_SOURCE_DIR "/tests/golden", e->d_name);
        snprintf(name[n], sizeof name[n], "%.*s", (int)(dot - e->d_name), e->d_name);
        tests[n] = (struct CMUnitTest){
            .name = name[n], .test_func = file_agrees, .initial_state = path[n]};
        n++;
    }
    if (dir) closedir(dir);
    n_samples = calloc((size_t)ebb__registry_count(registry()), sizeof *n_samples);
    tests[n++] = (struct CMUnitTest){.name = "every_public_operation_has_five_samples",
                                     .test_func = every_public_operation_has_five_samples};
    int failed = _cmocka_run_group_tests("golden", tests, (size_t)n, NULL, NULL);
    free(n_samples);
    harness_context_close();
    return failed;
}
