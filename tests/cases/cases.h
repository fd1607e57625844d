/* cases.h - short words for the tests of what users of other engines ran into: f64 tensors from
 * values, leaves, and exact comparison.
 *
 * Every test gets a context of its own in *state; at its end no node and no handle may be left.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_CASES_H
#define EBB_TESTS_CASES_H

#include <ebb/ebb.h>

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static inline int case_open(void **state)
{
    ebb_context *ctx = NULL;
    ebb_error_clear();
    if (ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 2, .seed = 3}) != EBB_OK)
        return -1;
    *state = ctx;
    return 0;
}

static inline int case_close(void **state)
{
    ebb_stats s;
    ebb_stats_get(&s, *state);
    if (s.live_nodes != 0 || s.n_handles != 0)
        printf("left behind: %lld nodes, %lld handles\n", (long long)s.live_nodes,
               (long long)s.n_handles);
    ebb_context_destroy(*state);
    return s.live_nodes != 0 || s.n_handles != 0 ? -1 : 0;
}
#define CASE(f) cmocka_unit_test_setup_teardown(f, case_open, case_close)

/* A status or a tensor that must be good. */
#define GOOD(expr)                                                                             \
    do {                                                                                       \
        if ((expr) != EBB_OK) fail_msg("%s: %s", #expr, ebb_error_message());                  \
    } while (0)
/* A status that must not be; clears the record. */
#define REFUSED(want, expr)                                                                    \
    do {                                                                                       \
        ebb_status got_ = (expr);                                                              \
        if (got_ != (want))                                                                    \
            fail_msg("%s: %s (%s), %s expected", #expr, ebb_status_name(got_),                 \
                     ebb_error_message(), ebb_status_name(want));                              \
        ebb_error_clear();                                                                     \
    } while (0)

static inline ebb_tensor *case_tensor(ebb_context *ctx, ebb_shape s, const double *x, int64_t n)
{
    ebb_tensor *t = ebb_tensor_copy(ctx, EBB_F64, s, x, (size_t)n * sizeof *x);
    if (!t) fail_msg("%s", ebb_error_message());
    return t;
}
#define COUNT(...) ((int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)))
#define VEC(...)                                                                               \
    case_tensor(ctx, EBB_SHAPE(COUNT(__VA_ARGS__)), (const double[]){__VA_ARGS__},             \
                COUNT(__VA_ARGS__))
#define MAT(shape, ...)                                                                        \
    case_tensor(ctx, shape, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__))
#define NUMBER(x) case_tensor(ctx, EBB_SCALAR, &(const double){x}, 1)

static inline ebb_tensor *case_leaf(ebb_tensor *t)
{
    GOOD(ebb_set_requires_grad(t, true));
    return t;
}
#define LEAF(...) case_leaf(VEC(__VA_ARGS__))
#define LEAF_NUMBER(x) case_leaf(NUMBER(x))

static inline void case_expect(ebb_tensor *t, double tolerance, const double *want, int64_t n,
                               const char *what, int line)
{
    if (!t) fail_msg("line %d: %s is NULL: %s", line, what, ebb_error_message());
    if (t == EBB_NONE) fail_msg("line %d: %s is absent", line, what);
    if (ebb_n_elems(t) != n)
        fail_msg("line %d: %s has %lld elements", line, what, (long long)ebb_n_elems(t));
    double *got = calloc((size_t)n + 1, sizeof *got);
    GOOD(ebb_read(got, (size_t)n * sizeof *got, EBB_F64, t));
    for (int64_t i = 0; i < n; i++) {
        bool equal = got[i] == want[i] || (isnan(got[i]) && isnan(want[i])) ||
                     fabs(got[i] - want[i]) <= tolerance * fabs(want[i]);
        if (!equal)
            fail_msg("line %d: %s[%lld] is %.17g, %.17g expected", line, what, (long long)i,
                     got[i], want[i]);
    }
    free(got);
}
/* Relative; 0: exactly. */
#define EXPECT(t, tolerance, ...)                                                              \
    case_expect(t, tolerance, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__), #t, __LINE__)
#define EXPECT_GRAD(leaf, tolerance, ...) EXPECT(ebb_grad_of(leaf), tolerance, __VA_ARGS__)

static inline bool case_has_shape(ebb_tensor *t, ebb_shape s)
{
    if (ebb_rank(t) != s.n_dims) return false;
    for (int64_t d = 0; d < s.n_dims; d++)
        if (ebb_dim(t, d) != s.dims[d]) return false;
    return true;
}

static inline ebb_stats case_stats(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s;
}
static inline int64_t case_nodes(ebb_context *ctx)
{
    return case_stats(ctx).live_nodes;
}
/* All tensors: what users and the engine hold, without bookkeeping. */
static inline size_t case_bytes(ebb_context *ctx)
{
    ebb_stats s = case_stats(ctx);
    return s.used_bytes - s.bytes[EBB_KIND_BOOKKEEPING];
}

/* backward through sum(y * g) */
static inline ebb_status case_backward_with(ebb_tensor *y, ebb_tensor *g)
{
    return ebb_backward_from(&y, &g, 1, NULL);
}
static inline ebb_status case_backward_sum(ebb_tensor *y)
{
    return ebb_backward_from(&y, NULL, 1, NULL);
}

#endif
