/* test_safetensors.c - safetensors files: bytes as others write them, and headers that lie.
 * SPDX-License-Identifier: MIT */
#include "io/files.h"

#include <time.h>

/* The file with this header and n bytes of data. */
static const char *st(const char *header, const void *data, size_t n)
{
    bytes b = {0};
    put_u64(&b, strlen(header));
    put(&b, header, strlen(header));
    put(&b, data, n);
    return write_file(b.data, b.n);
}

/* Processor time: a machine that does something else meanwhile is no fault. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void refused(ebb_status want, const char *path, const char *name)
{
    double begin = now();
    begin_watch();
    assert_null(ebb_load_safetensors(ctx, path, name));
    end_watch();
    assert_true(now() - begin < 0.5); /* 10 ms where nothing else runs */
    expect_failure(want, path);
}

static const float values[] = {1.5f, -2, 3};

static void reads_what_others_write(void **state)
{
    (void)state;
    float got[3];
    const char *path = st("{\"__metadata__\":{\"format\":\"pt\"},\"b\":{\"dtype\":\"F32\","
                          "\"shape\":[1],\"data_offsets\":[8,12]},\"a\":{\"dtype\":\"F32\","
                          "\"shape\":[2,1],\"data_offsets\":[0,8]}}   ",
                          values, 12);
    ebb_tensor *a = ebb_load_safetensors(ctx, path, "a");
    assert_non_null(a);
    assert_int_equal(ebb_rank(a), 2);
    assert_int_equal(EBB_READ(a, got, 2), EBB_OK);
    assert_memory_equal(got, values, 8);
    assert_true(ebb_item(ebb_load_safetensors(ctx, path, "b")) == 3);
    refused(EBB_E_RANGE, path, "c");
    refused(EBB_E_RANGE, path, "__metadata__");
    assert_null(ebb_load_safetensors(ctx, path, NULL));
    expect_failure(EBB_E_MISUSE, path);
}

static void header_length_lies(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {
        0, 1, UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX - 4, (100u << 20) + 1};
    for (size_t n = 8; n <= 16; n++)
        for (size_t i = 0; i < 7; i++) {
            bytes b = {0};
            put_u64(&b, i < 6 ? lengths[i] : n - 8 + 1);
            put(&b, "{}      ", n - 8);
            refused(EBB_E_IO, write_file(b.data, b.n), "a");
        }
    for (size_t n = 0; n < 8; n++) refused(EBB_E_IO, write_file("\2\0\0\0\0\0\0", n), "a");
}

static void offsets_lie(void **state)
{
    (void)state;
    static const char *const entries[] = {
        "\"shape\":[3],\"data_offsets\":[0,16]",
        "\"shape\":[3],\"data_offsets\":[4,16]",
        "\"shape\":[3],\"data_offsets\":[12,0]",
        "\"shape\":[3],\"data_offsets\":[-4,8]",
        "\"shape\":[3],\"data_offsets\":[0,1e99]",
        "\"shape\":[3],\"data_offsets\":[0.5,12.5]",
        "\"shape\":[3],\"data_offsets\":[0]",
        "\"shape\":[3],\"data_offsets\":\"0,12\"",
        "\"shape\":[3]",
        "\"shape\":[2],\"data_offsets\":[0,12]",
        "\"shape\":[-3],\"data_offsets\":[0,12]",
        "\"shape\":3,\"data_offsets\":[0,12]",
        "\"data_offsets\":[0,12]",
        "\"shape\":[2],\"data_offsets\":[0,8]",
        "\"shape\":[2],\"data_offsets\":[4,12]",
    };
    char header[256];
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"F32\",%s}}", entries[i]);
        refused(EBB_E_IO, st(header, values, 12), "a");
    }
    refused(EBB_E_SHAPE,
            st("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],"
               "\"data_offsets\":[0,12]}}",
               values, 12),
            "a");
    refused(EBB_E_IO,
            st("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
               "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]}}",
               values, 12),
            "a");
    refused(EBB_E_IO,
            st("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
               "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}",
               values, 12),
            "a");
}

static void headers_that_are_no_json(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{",        "[]",          "\"a\"",           "nonsense",  "{}{}",
        "{\"a\":}", "{\"a\":[1]}", "{\"a\":\"F32\"}", "{\"a\":{}}"};
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        refused(EBB_E_IO, st(headers[i], NULL, 0), "a");
    bytes deep = {0};
    put_u64(&deep, 3000);
    for (int i = 0; i < 3000; i++) put(&deep, "[", 1);
    refused(EBB_E_IO, write_file(deep.data, deep.n), "a");
}

static void unknown_element_types_are_refused_and_their_offsets_still_checked(void **state)
{
    (void)state;
    static const char *const dtypes[] = {"\"X9\"", "\"f32\"",     "\"\"",
                                         "12",     "\"F8_E4M3\"", "null"};
    static const struct {
        const char *offsets;
        ebb_status unknown, other;
    } cases[] = {{"[4,12]", EBB_E_UNSUPPORTED, EBB_OK},
                 {"[4,16]", EBB_E_IO, EBB_E_IO},
                 {"[3,12]", EBB_E_IO, EBB_E_IO},
                 {"[12,4]", EBB_E_IO, EBB_E_IO}};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
            char header[256];
            snprintf(
                header, sizeof header,
                "{\"x\":{\"dtype\":%s,\"shape\":[2],\"data_offsets\":%s},\"ok\":{\"dtype\":"
                "\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
                dtypes[i], cases[k].offsets);
            const char *path = st(header, values, 12);
            refused(cases[k].unknown, path, "x");
            if (cases[k].other != EBB_OK)
                refused(cases[k].other, path, "ok");
            else
                assert_true(ebb_item(ebb_load_safetensors(ctx, path, "ok")) == 1.5);
        }
}

static void missing_and_truncated_files(void **state)
{
    (void)state;
    refused(EBB_E_IO, "/nowhere/model.safetensors", "a");
    const char *header = "{\"a\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]}}";
    for (size_t n = 0; n < 12; n++) refused(EBB_E_IO, st(header, values, n), "a");
    refused(EBB_E_IO, st(header, (char[13]){0}, 13), "a");
    assert_null(ebb_load_safetensors(NULL, st(header, values, 12), "a"));
    expect_failure(EBB_E_MISUSE, NULL);
}

/* b = arange(6) as 2x3: its transpose, its first row, that row four times, two names for one
 * storage, nothing and a scalar. */
static void saved_views_are_their_elements_in_c_order(void **state)
{
    (void)state;
    static const float base[] = {0, 1, 2, 3, 4, 5}, transposed[] = {0, 3, 1, 4, 2, 5};
    static const uint8_t byte[] = {7};
    float got[12];
    unsigned char raw[4096];
    ebb_tensor *b = EBB_FROM(ctx, EBB_SHAPE(2, 3), base, 6), *row = ebb_select(b, 0, 0);
    ebb_tensor *t[] = {EBB_FROM(ctx, EBB_SHAPE(1), byte, 1),
                       ebb_transpose(b, 0, 1),
                       row,
                       ebb_expand(row, EBB_SHAPE(4, 3)),
                       row,
                       ebb_full(ctx, EBB_F64, EBB_SHAPE(0, 3), 0),
                       ebb_full(ctx, EBB_F64, EBB_SCALAR, 2.5)};
    const char *names[] = {"byte",         "transposed", "row",   "four",
                           "same \"row\"", "empty",      "scalar"};
    assert_int_equal(ebb_save_safetensors(file_path, t, names, 7), EBB_OK);
    size_t n = read_file(raw, sizeof raw), n_header = raw[0] + 256u * raw[1];
    assert_int_equal(n, 8 + n_header + 4 * (6 + 3 + 12 + 3) + 8 + 1);
    assert_int_equal(n_header % 8, 0);
    assert_int_equal(EBB_READ(ebb_load_safetensors(ctx, file_path, "transposed"), got, 6),
                     EBB_OK);
    assert_memory_equal(got, transposed, sizeof transposed);
    assert_int_equal(EBB_READ(ebb_load_safetensors(ctx, file_path, "four"), got, 12), EBB_OK);
    for (int i = 0; i < 12; i++) assert_true(got[i] == (float)(i % 3));
    assert_int_equal(EBB_READ(ebb_load_safetensors(ctx, file_path, "same \"row\""), got, 3),
                     EBB_OK);
    assert_memory_equal(got, base, 12);
    assert_true(ebb_item(ebb_load_safetensors(ctx, file_path, "scalar")) == 2.5);
    assert_true(ebb_item(ebb_load_safetensors(ctx, file_path, "byte")) == 7);
    assert_int_equal(ebb_n_elems(ebb_load_safetensors(ctx, file_path, "empty")), 0);
}

static void a_refused_save_leaves_the_old_file(void **state)
{
    (void)state;
    ebb_tensor *t[] = {EBB_FROM(ctx, EBB_SHAPE(3), values, 3), NULL};
    const char *twice[] = {"a", "a"}, *reserved[] = {"__metadata__"}, *one[] = {"a"};
    assert_int_equal(ebb_save_safetensors(file_path, t, one, 1), EBB_OK);
    assert_int_equal(ebb_save_safetensors(file_path, (ebb_tensor *[]){t[0], t[0]}, twice, 2),
                     EBB_E_RANGE);
    assert_int_equal(ebb_save_safetensors(file_path, t, reserved, 1), EBB_E_RANGE);
    ebb_error_clear();
    assert_int_equal(ebb_save_safetensors(file_path, t, (const char *[]){"a", "b"}, 2),
                     EBB_E_MISUSE);
    assert_int_equal(ebb_save_safetensors("/nowhere/m.safetensors", t, one, 1), EBB_E_IO);
    assert_int_equal(ebb_save_safetensors("/dev/null", t, one, 1), EBB_E_IO);
    ebb_error_clear();
    float got[3];
    assert_int_equal(EBB_READ(ebb_load_safetensors(ctx, file_path, "a"), got, 3), EBB_OK);
    assert_memory_equal(got, values, sizeof values);
    /* tear_down removes the folder, which would fail if a temporary file were left in it */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_what_others_write),
        TEST(header_length_lies),
        TEST(offsets_lie),
        TEST(headers_that_are_no_json),
        TEST(unknown_element_types_are_refused_and_their_offsets_still_checked),
        TEST(missing_and_truncated_files),
        TEST(saved_views_are_their_elements_in_c_order),
        TEST(a_refused_save_leaves_the_old_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
