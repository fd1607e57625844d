/* test_sizes.c - shapes whose elements or bytes overflow: refused wherever a tensor can be
 * made.
 * SPDX-License-Identifier: MIT */
#include "io/files.h"

static const int64_t big = INT64_C(1) << 31;

static void refused(ebb_tensor *t)
{
    if (t) fail_msg("a tensor of %lld elements was made", (long long)ebb_n_elems(t));
    const ebb_status s = ebb_error_status();
    if (s != EBB_E_SHAPE && s != EBB_E_RANGE) fail_msg("%s", ebb_error_message());
    ebb_error_clear();
}

static void elements_or_bytes_that_overflow(void **state)
{
    (void)state;
    const int64_t huge = INT64_C(1) << 61;
    begin_watch();
    refused(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(2, 2, 1, huge)));
    refused(ebb_full(ctx, EBB_F64, EBB_SHAPE(2, 4, INT64_C(1) << 29, INT64_C(1) << 29), 1));
    refused(ebb_uniform(ctx, EBB_F64, EBB_SHAPE(big, big), 0, 1));
    refused(ebb_empty(ctx, EBB_F64, EBB_SHAPE(huge), EBB_KIND_DATA));
    refused(ebb_tensor_copy(ctx, EBB_F64, EBB_SHAPE(huge), &big, 8));
    refused(ebb_tensor_copy(ctx, EBB_U8, EBB_SHAPE(-1), &big, 8));
    refused(ebb_arange(ctx, EBB_F64, 0, 1e300, 1));
    end_watch();
}

static void views_that_repeat_too_much(void **state)
{
    (void)state;
    ebb_tensor *one = ebb_full(ctx, EBB_F32, EBB_SHAPE(1, 1, 1), 1);
    refused(ebb_expand(one, EBB_SHAPE(big, big, 4)));
    /* 2^58 elements of 4 bytes: a view, but nothing that could be written down or joined. */
    ebb_tensor *wide = ebb_expand(one, EBB_SHAPE(big, INT64_C(1) << 27, 1));
    ebb_error_clear();
    if (wide) {
        ebb_tensor *many[] = {wide, wide, wide, wide, wide, wide, wide, wide, wide};
        assert_null(ebb_cat(many, 9, 0));
        assert_true(ebb_error_status() == EBB_E_SHAPE || ebb_error_status() == EBB_E_NOMEM);
    }
}

static void an_empty_axis_hides_no_overflow(void **state)
{
    (void)state;
    ebb_tensor *t = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(0, INT64_C(1) << 62, 4));
    if (t) t = ebb_sum(t, EBB_AXES(0)); /* 2^64 elements */
    refused(t);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(elements_or_bytes_that_overflow),
        TEST(views_that_repeat_too_much),
        TEST(an_empty_axis_hides_no_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
