/* plan_fixture.c - recorded iterations for the tests of tests/plan.
 * SPDX-License-Identifier: MIT */
#include "support/plan_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

void plan_trace_load(ebb__trace *out, const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/tests/plan/data/%s.tr", EBB_SOURCE_DIR, name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t max = 1 << 20;
    char *text = malloc(max);
    assert_non_null(text);
    size_t n = fread(text, 1, max, f);
    assert_true(n < max);
    fclose(f);
    ebb_status s = ebb__trace_parse(out, &ebb__allocator_libc, text, n);
    if (s != EBB_OK) fail_msg("%s", ebb_error_message());
    free(text);
}

static uint32_t op_add(ebb__trace *t, const char *name, uint32_t n_in, const uint32_t *in)
{
    uint32_t out;
    uint64_t bytes = 1;
    assert_int_equal(ebb__trace_call(&out, t, name, 1, n_in, in, 1, &bytes, NULL), EBB_OK);
    return out;
}

void plan_trace_chain(ebb__trace *t, uint32_t n)
{
    ebb__trace_create(t, &ebb__allocator_libc);
    uint32_t x, g = 0;
    assert_int_equal(ebb__trace_constant(&x, t, 1), EBB_OK);
    for (uint32_t i = 1; i <= n; i++) x = op_add(t, "f", 1, &x);
    for (uint32_t i = n; i >= 1; i--, x--) {
        uint32_t in[] = {x, g};
        uint32_t made = op_add(t, "f_backward", i == n ? 1 : 2, in);
        if (i < n) assert_int_equal(ebb__trace_note(t, EBB__TRACE_RELEASE, g), EBB_OK);
        assert_int_equal(ebb__trace_note(t, EBB__TRACE_RELEASE, x), EBB_OK);
        g = made;
    }
    assert_int_equal(ebb__trace_check(t), EBB_OK);
}
