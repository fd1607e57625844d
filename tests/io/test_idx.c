/* test_idx.c - IDX files, plain and compressed.
 * SPDX-License-Identifier: MIT */
#include "io/files.h"

#include <zlib.h>

static const unsigned char small[] = {0, 0, 8, 2, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 4, 5, 250};

static const char *gz(const void *data, size_t n)
{
    gzFile f = gzopen(file_path, "wb9");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, data, (unsigned)n), n);
    assert_int_equal(gzclose(f), Z_OK);
    return file_path;
}

static void refused(ebb_status want, const char *path)
{
    begin_watch();
    assert_null(ebb_load_idx(ctx, path));
    end_watch();
    expect_failure(want, path);
}

static void expect_small(ebb_tensor *t)
{
    unsigned char got[6];
    assert_non_null(t);
    assert_int_equal(ebb_dtype_of(t), EBB_U8);
    assert_int_equal(ebb_rank(t), 2);
    assert_int_equal(ebb_dim(t, 1), 3);
    assert_int_equal(EBB_READ(t, got, 6), EBB_OK);
    assert_memory_equal(got, small + 12, 6);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_true(s.bytes[EBB_KIND_DATA] >= 6);
}

static void plain_and_compressed_files_hold_the_same(void **state)
{
    (void)state;
    expect_small(ebb_load_idx(ctx, write_file(small, sizeof small)));
    expect_small(ebb_load_idx(ctx, gz(small, sizeof small)));
}

static void numbers_are_big_endian(void **state)
{
    (void)state;
    static const unsigned char i32[] = {0, 0, 12, 1, 0, 0, 0, 1, 255, 255, 255, 254};
    static const unsigned char f32[] = {0, 0, 13, 1, 0, 0, 0, 1, 0xC0, 0x20, 0, 0};
    static const unsigned char f64[] = {0, 0, 14, 1, 0, 0, 0, 1, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0};
    assert_true(ebb_item(ebb_load_idx(ctx, write_file(i32, sizeof i32))) == -2);
    assert_true(ebb_item(ebb_load_idx(ctx, write_file(f32, sizeof f32))) == -2.5);
    assert_true(ebb_item(ebb_load_idx(ctx, gz(f64, sizeof f64))) == 1.5);
}

static void truncated_at_every_byte(void **state)
{
    (void)state;
    bytes whole = {0};
    gz(small, sizeof small);
    whole.n = read_file(whole.data, sizeof whole.data);
    for (size_t n = 0; n < sizeof small; n++) refused(EBB_E_IO, write_file(small, n));
    for (size_t n = 0; n < whole.n; n++) refused(EBB_E_IO, write_file(whole.data, n));
}

static void more_than_the_header_says(void **state)
{
    (void)state;
    unsigned char longer[sizeof small + 1] = {0};
    memcpy(longer, small, sizeof small);
    refused(EBB_E_IO, write_file(longer, sizeof longer));
    refused(EBB_E_IO, gz(longer, sizeof longer));
}

static void damaged_compressed_data(void **state)
{
    (void)state;
    bytes whole = {0};
    gz(small, sizeof small);
    whole.n = read_file(whole.data, sizeof whole.data);
    whole.data[whole.n - 6] ^= 1; /* the checksum */
    refused(EBB_E_IO, write_file(whole.data, whole.n));
}

static void headers_that_ask_for_too_much(void **state)
{
    (void)state;
    /* 4 GiB in 12 bytes, 2^64 elements, and the same where compression could be the reason. */
    static const unsigned char much[] = {0, 0, 8, 1, 255, 255, 255, 255, 1, 2, 3, 4};
    static const unsigned char overflow[] = {0,   0,   8,   3,   255, 255, 255, 255,
                                             255, 255, 255, 255, 255, 255, 255, 255};
    refused(EBB_E_IO, write_file(much, sizeof much));
    refused(EBB_E_IO, gz(much, sizeof much));
    refused(EBB_E_SHAPE, write_file(overflow, sizeof overflow));
    refused(EBB_E_SHAPE, gz(overflow, sizeof overflow));
}

static void other_files(void **state)
{
    (void)state;
    static const unsigned char i8[] = {0, 0, 9, 1, 0, 0, 0, 1, 5},
                               i16[] = {0, 0, 11, 1, 0, 0, 0, 0};
    static const unsigned char type[] = {0, 0, 7, 1, 0, 0, 0, 1, 5};
    static const unsigned char rank[] = {0, 0, 8, 9}, none[] = {0, 0, 8, 0};
    refused(EBB_E_UNSUPPORTED, write_file(i8, sizeof i8));
    refused(EBB_E_UNSUPPORTED, write_file(i16, sizeof i16));
    refused(EBB_E_IO, write_file(type, sizeof type));
    refused(EBB_E_SHAPE, write_file(rank, sizeof rank));
    refused(EBB_E_SHAPE, write_file(none, sizeof none));
    refused(EBB_E_IO, write_file("\x89PNG and so on", 14));
    refused(EBB_E_IO, "/nowhere/train-images-idx3-ubyte.gz");
    assert_null(ebb_load_idx(ctx, NULL));
    expect_failure(EBB_E_MISUSE, NULL);
    assert_null(ebb_load_idx(NULL, write_file(small, sizeof small)));
    expect_failure(EBB_E_MISUSE, NULL);
}

static void no_memory_is_reported_and_nothing_kept(void **state)
{
    (void)state;
    ebb_context *tight;
    /* 1 MiB of zeros compresses to a kilobyte, so the file is sound; the budget is not enough.
     */
    static unsigned char large[(1 << 20) + 8] = {0, 0, 8, 1, 0, 16, 0, 0};
    ebb_stats before, after;
    assert_int_equal(
        ebb_context_create(&tight, &(ebb_context_options){.memory_budget_bytes = 512 << 10}),
        EBB_OK);
    ebb_stats_get(&before, tight);
    assert_null(ebb_load_idx(tight, gz(large, sizeof large)));
    expect_failure(EBB_E_BUDGET, NULL);
    ebb_stats_get(&after, tight);
    assert_int_equal(before.used_bytes, after.used_bytes);
    ebb_context_destroy(tight);
    assert_non_null(ebb_load_idx(ctx, file_path));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plain_and_compressed_files_hold_the_same),
        TEST(numbers_are_big_endian),
        TEST(truncated_at_every_byte),
        TEST(more_than_the_header_says),
        TEST(damaged_compressed_data),
        TEST(headers_that_ask_for_too_much),
        TEST(other_files),
        TEST(no_memory_is_reported_and_nothing_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
