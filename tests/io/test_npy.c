/* test_npy.c - .npy files: what NumPy writes is read, what lies is refused.
 * SPDX-License-Identifier: MIT */
#include "io/files.h"

/* A file of that version with this dictionary as header, unpadded, and n bytes of data. */
static const char *npy(int version, const char *dict, const void *data, size_t n)
{
    bytes b = {0};
    const size_t n_dict = strlen(dict);
    put(&b, "\x93NUMPY", 6);
    put(&b, (unsigned char[]){(unsigned char)version, 0}, 2);
    put(&b, (unsigned char[]){(unsigned char)n_dict, (unsigned char)(n_dict >> 8), 0, 0},
        version > 1 ? 4 : 2);
    put(&b, dict, n_dict);
    put(&b, data, n);
    return write_file(b.data, b.n);
}

static void refused(ebb_status want, const char *path)
{
    begin_watch();
    assert_null(ebb_load_npy(ctx, path));
    end_watch();
    expect_failure(want, path);
}

static void reads_what_numpy_writes(void **state)
{
    (void)state;
    /* The bytes of numpy.save(f, numpy.array([[1, 2, 3], [4, 5, 6]], '<f4')). */
    static const float values[] = {1, 2, 3, 4, 5, 6};
    const char *dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
                       "                                                          \n";
    for (int version = 1; version <= 3; version++) {
        ebb_tensor *t = ebb_load_npy(ctx, npy(version, dict, values, sizeof values));
        float got[6];
        assert_non_null(t);
        assert_int_equal(ebb_rank(t), 2);
        assert_int_equal(ebb_dim(t, 0), 2);
        assert_int_equal(ebb_dtype_of(t), EBB_F32);
        assert_int_equal(EBB_READ(t, got, 6), EBB_OK);
        assert_memory_equal(got, values, sizeof values);
    }
}

static void fortran_order_is_read_as_the_same_matrix(void **state)
{
    (void)state;
    /* [[1, 2, 3], [4, 5, 6]] column by column. */
    static const double columns[] = {1, 4, 2, 5, 3, 6}, rows[] = {1, 2, 3, 4, 5, 6};
    double got[6];
    ebb_tensor *t = ebb_load_npy(
        ctx, npy(1, "{'shape': (2, 3), 'fortran_order': True, 'descr': '<f8'}", columns, 48));
    assert_non_null(t);
    assert_int_equal(EBB_READ(t, got, 6), EBB_OK);
    assert_memory_equal(got, rows, sizeof rows);
}

static void every_element_type_and_rank_is_read(void **state)
{
    (void)state;
    static const unsigned char data[8] = {7, 0, 0, 0, 0, 0, 0, 0}, truth[2] = {2, 0};
    static const struct {
        const char *descr;
        ebb_dtype dtype;
        size_t n;
    } types[] = {{"<i8", EBB_I64, 8}, {"<i4", EBB_I32, 4}, {"|u1", EBB_U8, 1}};
    for (size_t i = 0; i < 3; i++) {
        char dict[96];
        snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (), }",
                 types[i].descr);
        ebb_tensor *t = ebb_load_npy(ctx, npy(1, dict, data, types[i].n));
        assert_non_null(t);
        assert_int_equal(ebb_dtype_of(t), types[i].dtype);
        assert_int_equal(ebb_rank(t), 0);
        assert_true(ebb_item(t) == 7);
    }
    /* NumPy takes any byte but 0 for true. */
    unsigned char got[2];
    ebb_tensor *t = ebb_load_npy(
        ctx, npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }", truth, 2));
    assert_int_equal(ebb_read(got, 2, EBB_U8, t), EBB_OK);
    assert_int_equal(got[0], 1);
    assert_int_equal(got[1], 0);
    t = ebb_load_npy(
        ctx, npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }", NULL, 0));
    assert_non_null(t);
    assert_int_equal(ebb_n_elems(t), 0);
}

static void header_length_beyond_the_file(void **state)
{
    (void)state;
    refused(EBB_E_IO, write_file("\x93NUMPY\x02\x00\xF0\xFF\xFF\xFF", 12));
    refused(EBB_E_IO, write_file("\x93NUMPY\x01\x00\xFF\xFF{'descr': ", 20));
    refused(EBB_E_IO, write_file("\x93NUMPY\x03\x00\xF0\xFF\xFF\xFF", 12));
    refused(EBB_E_IO, write_file("\x93NUMPY\x09\x00\x02\x00{}", 12));
    refused(EBB_E_IO, write_file("\x93NUMPY\x02\x00\x01\x00", 10));
    refused(EBB_E_IO, write_file("\x93NUMPY\x01", 7));
    refused(EBB_E_IO, write_file("", 0));
    refused(EBB_E_IO, write_file("a text file, not an array", 25));
}

static void shape_whose_size_overflows(void **state)
{
    (void)state;
    static const char data[8];
    static const char *const overflow[] = {
        "(4294967296, 4294967296)", "(8589934592, 2147483648)", "(0, 4611686018427387904, 4)"};
    static const char *const truncated[] = {"(3,)", "(2147483648,)", "(2147483648, 1)"};
    char dict[128];
    for (size_t i = 0; i < 3; i++) {
        snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
                 overflow[i]);
        refused(EBB_E_SHAPE, npy(1, dict, data, sizeof data));
        snprintf(dict, sizeof dict, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
                 truncated[i]);
        refused(EBB_E_IO, npy(1, dict, data, sizeof data));
    }
    refused(EBB_E_SHAPE, npy(1,
                             "{'descr': '<f4', 'fortran_order': False, "
                             "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 2), }",
                             data, sizeof data));
}

static void malformed_headers(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "",
        "{",
        "{}",
        "[]",
        "{'descr': '<f4'}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} and more",
        "{'descr': '<f4, 'fortran_order': False, 'shape': (2,)}",
    };
    static const char data[8];
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        refused(EBB_E_IO, npy(1, dicts[i], data, sizeof data));
}

static void element_types_that_ebb_does_not_have(void **state)
{
    (void)state;
    static const char *const descr[] = {"'<f1'", "'>f4'", "'<c8'",  "'<U4'",
                                        "'|O'",  "''",    "'\x01'", "[('a', '<f4')]"};
    static const char data[64];
    char dict[128];
    for (size_t i = 0; i < sizeof descr / sizeof *descr; i++) {
        snprintf(dict, sizeof dict, "{'descr': %s, 'fortran_order': False, 'shape': (2,), }",
                 descr[i]);
        refused(EBB_E_UNSUPPORTED, npy(1, dict, data, sizeof data));
    }
}

/* 1.5 and -2 in binary16 are 3e00 and c000. */
static void binary16_is_saved_and_bf16_is_refused(void **state)
{
    (void)state;
    ebb_tensor *x = EBB_VALUES(ctx, float, EBB_SHAPE(2), 1.5f, -2);
    assert_int_equal(ebb_save_npy(ebb_cast(x, EBB_F16), file_path), EBB_OK);
    unsigned char file[4096];
    size_t n = read_file(file, sizeof file);
    assert_int_equal(n, 128 + 2 * 2);
    assert_memory_equal(file + n - 4, "\x00\x3e\x00\xc0", 4);
    ebb_tensor *back = ebb_load_npy(ctx, file_path);
    assert_int_equal(ebb_dtype_of(back), EBB_F16);
    assert_true(ebb_item(ebb_select(back, 0, 1)) == -2);
    assert_int_equal(ebb_save_npy(ebb_cast(x, EBB_BF16), file_path), EBB_E_UNSUPPORTED);
    ebb_error_clear();
}

static void saved_views_are_their_elements_in_c_order(void **state)
{
    (void)state;
    /* arange(6) as 2x3: its transpose, its first row, that row four times. */
    static const float base[] = {0, 1, 2, 3, 4, 5};
    static const float transposed[] = {0, 3, 1, 4, 2, 5}, row[] = {0, 1, 2};
    float got[12];
    ebb_tensor *b = EBB_FROM(ctx, EBB_SHAPE(2, 3), base, 6), *t;
    assert_int_equal(ebb_save_npy(ebb_transpose(b, 0, 1), file_path), EBB_OK);
    assert_int_equal(read_file((char[4096]){0}, 4096), 128 + 6 * 4);
    t = ebb_load_npy(ctx, file_path);
    assert_int_equal(ebb_dim(t, 0), 3);
    assert_int_equal(EBB_READ(t, got, 6), EBB_OK);
    assert_memory_equal(got, transposed, sizeof transposed);
    assert_int_equal(ebb_save_npy(ebb_select(b, 0, 0), file_path), EBB_OK);
    assert_int_equal(EBB_READ(ebb_load_npy(ctx, file_path), got, 3), EBB_OK);
    assert_memory_equal(got, row, sizeof row);
    ebb_tensor *four = ebb_expand(ebb_select(b, 0, 0), EBB_SHAPE(4, 3));
    assert_int_equal(ebb_save_npy(four, file_path), EBB_OK);
    assert_int_equal(EBB_READ(ebb_load_npy(ctx, file_path), got, 12), EBB_OK);
    for (int i = 0; i < 12; i++) assert_true(got[i] == (float)(i % 3));
}

static void missing_files_and_folders(void **state)
{
    (void)state;
    refused(EBB_E_IO, "/nowhere/at/all.npy");
    assert_null(ebb_load_npy(ctx, folder));
    expect_failure(EBB_E_IO, folder);
    assert_null(ebb_load_npy(ctx, NULL));
    expect_failure(EBB_E_MISUSE, NULL);
    ebb_tensor *t = EBB_FROM(ctx, EBB_SCALAR, (const float[]){1}, 1);
    assert_int_equal(ebb_save_npy(t, "/nowhere/at/all.npy"), EBB_E_IO);
    expect_failure(EBB_E_IO, "/nowhere/at/all.npy");
    assert_int_equal(ebb_save_npy(t, folder), EBB_E_IO);
    expect_failure(EBB_E_IO, folder);
    assert_int_equal(ebb_save_npy(NULL, file_path), EBB_E_MISUSE);
}

static void the_message_begins_with_the_callers_line(void **state)
{
    (void)state;
    char want[64];
    snprintf(want, sizeof want, "test_npy.c:%d: load_npy: /nowhere.npy: ", __LINE__ + 1);
    assert_null(ebb_load_npy(ctx, "/nowhere.npy"));
    assert_memory_equal(ebb_error_message(), want, strlen(want));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_what_numpy_writes),
        TEST(fortran_order_is_read_as_the_same_matrix),
        TEST(every_element_type_and_rank_is_read),
        TEST(header_length_beyond_the_file),
        TEST(shape_whose_size_overflows),
        TEST(malformed_headers),
        TEST(element_types_that_ebb_does_not_have),
        TEST(binary16_is_saved_and_bf16_is_refused),
        TEST(saved_views_are_their_elements_in_c_order),
        TEST(missing_files_and_folders),
        TEST(the_message_begins_with_the_callers_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
