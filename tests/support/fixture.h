/* fixture.h - what most tests of the public interface start from: a context, short forms.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TEST_FIXTURE_H
#define EBB_TEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ebb/ebb.h>

/* setup and teardown of a test: *state is a fresh context. Teardown checks that the graph
 * audits clean and that no node is live. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* f64 tensors of the innermost scope. */
ebb_tensor *vector(ebb_context *ctx, int64_t n, const double *values);
ebb_tensor *scalar(ebb_context *ctx, double value);
ebb_tensor *leaf_scalar(ebb_context *ctx, double value);
/* The gradient slot's one element; fails the test where it is empty. */
double grad_item(ebb_tensor *leaf);

#define assert_ok(expr)                                                                        \
    do {                                                                                       \
        ebb_status ok_status_ = (expr);                                                        \
        if (ok_status_ != EBB_OK) fail_msg("%s: %s", #expr, ebb_error_message());              \
    } while (0)
/* The call fails with this status; the record is cleared afterwards. */
#define assert_status(expr, want)                                                              \
    do {                                                                                       \
        ebb_status got_status_ = (expr);                                                       \
        assert_string_equal(ebb_status_name(got_status_), ebb_status_name(want));              \
        ebb_error_clear();                                                                     \
    } while (0)
#define assert_null_with(expr, want)                                                           \
    do {                                                                                       \
        assert_null(expr);                                                                     \
        assert_string_equal(ebb_status_name(ebb_error_status()), ebb_status_name(want));       \
        ebb_error_clear();                                                                     \
    } while (0)

#endif
