/* refusal.h - what every error must be: the right status, one line that begins with the
 * caller's file and line and names what is wrong, and a context that works afterwards.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_ERRORS_REFUSAL_H
#define EBB_TESTS_ERRORS_REFUSAL_H

#include <ebb/ebb.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static inline void context_works(ebb_context *ctx)
{
    EBB_SCOPE(works);
    ebb_tensor *x = EBB_VALUES(ctx, double, EBB_SHAPE(2), 1, 2);
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    assert_int_equal(ebb_backward(ebb_sum(ebb_mul(x, x), EBB_ALL), NULL), EBB_OK);
    double g[2];
    assert_int_equal(EBB_READ(ebb_grad_of(x), g, 2), EBB_OK);
    assert_true(g[0] == 2 && g[1] == 4);
}

/* The caller's file and line: that of the call within a statement that begins at `line`. */
static inline bool begins_with_caller(const char *message, const char *file, int line)
{
    char prefix[100];
    for (int at = line; at <= line + 4; at++) {
        snprintf(prefix, sizeof prefix, "%s:%d: ", base_name(file), at);
        if (strncmp(message, prefix, strlen(prefix)) == 0) return true;
    }
    return false;
}

/* One record: status, begins "FILE:LINE: ", one line of sensible length, contains `part`. */
static inline void expect_record(const char *expr, const char *file, int line, ebb_status want,
                                 const char *part)
{
    ebb_error e;
    ebb_error_get(&e);
    const char *m = ebb_error_message();
    if (e.status != want || ebb_error_status() != want)
        fail_msg("line %d: %s: %s (%s), %s expected", line, expr, ebb_status_name(e.status), m,
                 ebb_status_name(want));
    if (!begins_with_caller(m, file, line))
        fail_msg("line %d: %s: \"%s\" does not begin with the caller's line", line, expr, m);
    if (strchr(m, '\n') || strlen(m) > 390 || strlen(m) < strlen(base_name(file)) + 14)
        fail_msg("line %d: %s: \"%s\" is not one line of use", line, expr, m);
    if (part && !strstr(m, part))
        fail_msg("line %d: %s: \"%s\" does not say \"%s\"", line, expr, m, part);
    if (strstr(m, "(null)")) fail_msg("line %d: \"%s\"", line, m);
    ebb_error_clear();
    assert_int_equal(ebb_error_status(), EBB_OK);
    assert_string_equal(ebb_error_message(), "");
}

/* A tensor that must be NULL, a status that must be `want`. `ctx` must work afterwards. */
#define REFUSED_TENSOR(want, part, expr)                                                       \
    do {                                                                                       \
        ebb_error_clear();                                                                     \
        const ebb_tensor *got_ = (expr);                                                       \
        if (got_) fail_msg("%s is not NULL", #expr);                                           \
        expect_record(#expr, __FILE__, __LINE__, want, part);                                  \
        context_works(ctx);                                                                    \
    } while (0)
#define REFUSED_STATUS(want, part, expr)                                                       \
    do {                                                                                       \
        ebb_error_clear();                                                                     \
        ebb_status got_ = (expr);                                                              \
        if (got_ != (want)) fail_msg("%s: %s", #expr, ebb_status_name(got_));                  \
        expect_record(#expr, __FILE__, __LINE__, want, part);                                  \
        context_works(ctx);                                                                    \
    } while (0)
/* Functions without a result: a record and nothing else. */
#define REFUSED_CALL(want, part, expr)                                                         \
    do {                                                                                       \
        ebb_error_clear();                                                                     \
        (void)(expr);                                                                          \
        expect_record(#expr, __FILE__, __LINE__, want, part);                                  \
        context_works(ctx);                                                                    \
    } while (0)

static inline int errors_open(void **state)
{
    ebb_context *ctx = NULL;
    ebb_error_clear();
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 2}) != EBB_OK) return -1;
    *state = ctx;
    return 0;
}
static inline int errors_close(void **state)
{
    ebb_context_destroy(*state);
    return 0;
}
#define ERRORS(f) cmocka_unit_test_setup_teardown(f, errors_open, errors_close)

#endif
