/* test_loader.c - batches: every row once, the same order from the same seed, failed reads,
 * ends.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { N = 103 };

/* Rows whose two fields tell which row they are. */
static ebb_loader *numbered(ebb_context *ctx, int64_t batch_size, const ebb_loader_options *o)
{
    EBB_SCOPE(scope);
    int64_t id[N];
    float square[N * 2];
    for (int i = 0; i < N; i++) {
        id[i] = i;
        square[2 * i] = (float)i;
        square[2 * i + 1] = (float)(i * i);
    }
    ebb_tensor *fields[] = {EBB_FROM(ctx, EBB_SHAPE(N), id, N),
                            EBB_FROM(ctx, EBB_SHAPE(N, 2), square, 2 * N)};
    ebb_loader *l;
    assert_ok(ebb_loader_create(&l, fields, 2, batch_size, o));
    return l;
}

/* One epoch; the ids in the order they came. Checks that fields belong together. */
static int64_t epoch(ebb_loader *l, int64_t *order)
{
    ebb_batch b;
    int64_t n = 0, n_batches = 0;
    while (ebb_loader_next(l, &b)) {
        float square[2 * N];
        assert_non_null(b.field[0]);
        assert_null(b.field[2]);
        assert_int_equal(b.index, n_batches++);
        assert_int_equal(ebb_dim(b.field[0], 0), b.n);
        assert_int_equal(ebb_dim(b.field[1], 1), 2);
        assert_true(n + b.n <= N);
        assert_ok(EBB_READ(b.field[0], order + n, b.n));
        assert_ok(EBB_READ(b.field[1], square, 2 * b.n));
        for (int64_t i = 0; i < b.n; i++) {
            assert_true(square[2 * i] == (float)order[n + i]);
            assert_true(square[2 * i + 1] == (float)(order[n + i] * order[n + i]));
        }
        n += b.n;
        assert_true(n_batches <= b.n_batches);
    }
    assert_int_equal(ebb_error_status(), EBB_OK);
    return n;
}

static void in_order_every_row_comes_once(void **state)
{
    static const int64_t sizes[] = {1, 10, 103, 1000};
    int64_t order[N];
    for (int i = 0; i < 4; i++) {
        ebb_loader *l = numbered(*state, sizes[i], NULL);
        for (int e = 0; e < 2; e++) {
            assert_int_equal(epoch(l, order), N);
            for (int k = 0; k < N; k++) assert_int_equal(order[k], k);
        }
        ebb_loader_release(l);
    }
}

static void the_last_short_batch_may_be_dropped(void **state)
{
    int64_t order[N];
    const ebb_loader_options o = {.drop_last = true};
    ebb_loader *l = numbered(*state, 10, &o);
    assert_int_equal(epoch(l, order), 100);
    ebb_loader_release(l);
    l = numbered(*state, 104, &o);
    assert_int_equal(epoch(l, order), 0);
    ebb_loader_release(l);
}

static void shuffled_epochs_are_permutations_that_seed_and_epoch_decide(void **state)
{
    int64_t first[4][N], again[4][N], other[N];
    const ebb_loader_options a = {.shuffle = true, .seed = 7};
    const ebb_loader_options b = {.shuffle = true, .seed = 7, .no_prefetch = true};
    const ebb_loader_options c = {.shuffle = true, .seed = 8};
    ebb_loader *l = numbered(*state, 10, &a), *m = numbered(*state, 17, &b);
    for (int e = 0; e < 4; e++) {
        bool seen[N] = {false};
        assert_int_equal(epoch(l, first[e]), N);
        assert_int_equal(epoch(m, again[e]), N);
        assert_memory_equal(first[e], again[e], sizeof first[e]);
        for (int i = 0; i < N; i++) seen[first[e][i]] = true;
        for (int i = 0; i < N; i++) assert_true(seen[i]);
        for (int k = 0; k < e; k++)
            assert_memory_not_equal(first[e], first[k], sizeof first[e]);
    }
    ebb_loader_release(l);
    ebb_loader_release(m);
    l = numbered(*state, 10, &c);
    assert_int_equal(epoch(l, other), N);
    assert_memory_not_equal(first[0], other, sizeof other);
    ebb_loader_release(l);
}

/* Each row is equally often first: 103 places, 20600 epochs, 200 expected, standard
 * deviation 14. */
static void shuffles_are_fair(void **state)
{
    const ebb_loader_options o = {.shuffle = true, .no_prefetch = true};
    int64_t count[N] = {0};
    EBB_SCOPE(scope);
    int64_t id[N];
    for (int i = 0; i < N; i++) id[i] = i;
    ebb_tensor *field = EBB_FROM(*state, EBB_SHAPE(N), id, N);
    ebb_loader *l;
    ebb_batch b;
    assert_ok(ebb_loader_create(&l, &field, 1, N, &o));
    for (int e = 0; e < 200 * N; e++) {
        assert_true(ebb_loader_next(l, &b));
        assert_ok(EBB_READ(b.field[0], id, N));
        count[id[0]]++;
        assert_false(ebb_loader_next(l, &b));
    }
    for (int i = 0; i < N; i++) assert_true(count[i] > 130 && count[i] < 270);
    ebb_loader_release(l);
}

static void rows_of_views_are_their_elements(void **state)
{
    EBB_SCOPE(scope);
    static const int32_t v[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    int32_t got[4];
    /* Rows of the transpose are columns. */
    ebb_tensor *t = ebb_transpose(EBB_FROM(*state, EBB_SHAPE(4, 3), v, 12), 0, 1);
    ebb_loader *l;
    ebb_batch b;
    assert_ok(ebb_loader_create(&l, &t, 1, 1, NULL));
    for (int32_t column = 0; column < 3; column++) {
        assert_true(ebb_loader_next(l, &b));
        assert_ok(EBB_READ(b.field[0], got, 4));
        for (int32_t i = 0; i < 4; i++) assert_int_equal(got[i], 3 * i + column);
    }
    assert_false(ebb_loader_next(l, &b));
    ebb_loader_release(l);
}

static void a_batch_kept_by_the_user_stays(void **state)
{
    ebb_loader *l = numbered(*state, 10, NULL);
    ebb_batch b;
    int64_t got[10];
    assert_true(ebb_loader_next(l, &b));
    ebb_tensor *kept = ebb_keep(b.field[0]), *gone = b.field[1];
    assert_true(ebb_loader_next(l, &b));
    assert_ok(EBB_READ(kept, got, 10));
    for (int i = 0; i < 10; i++) assert_int_equal(got[i], i);
    assert_status(ebb_check(gone), EBB_E_MISUSE);
    ebb_release(kept);
    ebb_loader_release(l);
}

static void memory_is_steady_and_all_given_back(void **state)
{
    ebb_context *ctx = *state;
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    const size_t before = s.used_bytes;
    ebb_loader *l = numbered(ctx, 10, &(ebb_loader_options){.shuffle = true});
    ebb_batch b;
    size_t first = 0;
    for (int e = 0; e < 3; e++)
        while (ebb_loader_next(l, &b)) {
            ebb_stats_get(&s, ctx);
            if (first == 0) first = s.used_bytes;
            assert_true(s.used_bytes <= first);
        }
    ebb_loader_release(l);
    ebb_stats_get(&s, ctx);
    assert_int_equal(s.used_bytes, before);
}

/* ---- a reader of the user's -------------------------------------------------------------- */

typedef struct reader {
    pthread_t caller;
    atomic_int n_reads, n_elsewhere;
    int64_t bad, silent; /* items that fail, with and without a message */
    int delay_ms;
} reader;

static ebb_status read_item(void *user, int64_t index, void *const *fields)
{
    reader *r = user;
    atomic_fetch_add(&r->n_reads, 1);
    if (!pthread_equal(pthread_self(), r->caller)) atomic_fetch_add(&r->n_elsewhere, 1);
    if (r->delay_ms) nanosleep(&(struct timespec){.tv_nsec = r->delay_ms * 1000000L}, NULL);
    if (index == r->bad)
        return ebb_fail(EBB_E_IO, "image %lld.png: bad checksum", (long long)index);
    if (index == r->silent) return EBB_E_UNSUPPORTED;
    for (int i = 0; i < 6; i++) ((float *)fields[0])[i] = (float)(index * 10 + i);
    *(uint8_t *)fields[1] = (uint8_t)(index % 7);
    return EBB_OK;
}

static ebb_loader *read_by(ebb_context *ctx, reader *r, int64_t n, int64_t batch_size,
                           const ebb_loader_options *o)
{
    const ebb_source source = {.n_items = n,
                               .n_fields = 2,
                               .dtype = {EBB_F32, EBB_U8},
                               .item = {EBB_SHAPE(2, 3), EBB_SCALAR},
                               .read = read_item,
                               .user = r};
    ebb_loader *l;
    r->caller = pthread_self();
    assert_ok(ebb_loader_create_from(&l, ctx, &source, batch_size, o));
    return l;
}

static void a_reader_fills_batches_on_another_thread(void **state)
{
    for (int ahead = 0; ahead < 2; ahead++) {
        reader r = {.bad = -1, .silent = -1};
        const ebb_loader_options o = {.no_prefetch = !ahead};
        ebb_loader *l = read_by(*state, &r, 25, 10, &o);
        ebb_batch b;
        int64_t n = 0;
        while (ebb_loader_next(l, &b)) {
            float x[60];
            uint8_t y[10];
            assert_int_equal(ebb_rank(b.field[0]), 3);
            assert_ok(EBB_READ(b.field[0], x, b.n * 6));
            assert_ok(EBB_READ(b.field[1], y, b.n));
            for (int64_t i = 0; i < b.n; i++, n++) {
                assert_true(x[6 * i + 5] == (float)(n * 10 + 5));
                assert_int_equal(y[i], n % 7);
            }
        }
        assert_int_equal(n, 25);
        assert_int_equal(atomic_load(&r.n_reads), 25);
        assert_int_equal(atomic_load(&r.n_elsewhere), ahead ? 25 : 0);
        ebb_loader_release(l);
    }
}

static void the_next_batch_is_read_while_one_is_used(void **state)
{
    reader r = {.bad = -1, .silent = -1};
    ebb_loader *l = read_by(*state, &r, 20, 10, NULL);
    ebb_batch b;
    assert_true(ebb_loader_next(l, &b));
    for (int i = 0; i < 60000 && atomic_load(&r.n_reads) < 20; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&r.n_reads), 20);
    ebb_loader_release(l);
}

static void a_failed_read_is_told_once_and_the_next_batch_comes(void **state)
{
    for (int ahead = 0; ahead < 2; ahead++) {
        reader r = {.bad = 12, .silent = 23};
        const ebb_loader_options o = {.no_prefetch = !ahead};
        ebb_loader *l = read_by(*state, &r, 40, 10, &o);
        ebb_batch b;
        assert_true(ebb_loader_next(l, &b));
        assert_non_null(b.field[0]);
        assert_int_equal(ebb_error_status(), EBB_OK);
        assert_true(ebb_loader_next(l, &b));
        assert_null(b.field[0]);
        assert_null(b.field[1]);
        assert_int_equal(b.index, 1);
        assert_int_equal(ebb_error_status(), EBB_E_IO);
        assert_non_null(strstr(ebb_error_message(), "test_loader.c:"));
        assert_non_null(strstr(ebb_error_message(), "image 12.png: bad checksum"));
        ebb_error_clear();
        assert_true(ebb_loader_next(l, &b));
        assert_null(b.field[0]);
        assert_int_equal(ebb_error_status(), EBB_E_UNSUPPORTED);
        assert_non_null(strstr(ebb_error_message(), "item 23"));
        ebb_error_clear();
        assert_true(ebb_loader_next(l, &b));
        assert_non_null(b.field[0]);
        assert_int_equal(b.index, 3);
        assert_false(ebb_loader_next(l, &b));
        assert_int_equal(ebb_error_status(), EBB_OK);
        ebb_loader_release(l);
    }
}

static void a_failed_batch_stops_the_formula_that_uses_it(void **state)
{
    reader r = {.bad = 0, .silent = -1};
    ebb_loader *l = read_by(*state, &r, 10, 10, NULL);
    ebb_batch b;
    EBB_SCOPE(scope);
    assert_true(ebb_loader_next(l, &b));
    assert_null(ebb_sum(ebb_square(b.field[0]), EBB_ALL));
    assert_int_equal(ebb_error_status(), EBB_E_IO);
    ebb_error_clear();
    ebb_loader_release(l);
}

static void loaders_end_anywhere(void **state)
{
    ebb_batch b;
    for (int n = 0; n < 4; n++) {
        reader r = {.bad = -1, .silent = -1, .delay_ms = 2};
        ebb_loader *l = read_by(*state, &r, 40, 10, NULL);
        for (int i = 0; i < n; i++) assert_true(ebb_loader_next(l, &b));
        ebb_loader_release(
            l); /* in the middle of a batch: no more than an item is waited for */
    }
    ebb_context *ctx;
    assert_ok(ebb_context_create(&ctx, NULL));
    reader r = {.bad = -1, .silent = -1, .delay_ms = 2};
    ebb_loader *l = read_by(ctx, &r, 40, 10, NULL);
    assert_true(ebb_loader_next(l, &b));
    (void)numbered(ctx, 10, NULL);
    ebb_context_destroy(ctx); /* takes both */
    ebb_loader_release(NULL);
}

/* In the child of a fork there is no reading thread: an error, never a wait for ever. */
static void a_forked_child_is_told_and_does_not_hang(void **state)
{
    reader r = {.bad = -1, .silent = -1};
    ebb_loader *l = read_by(*state, &r, 40, 10, NULL);
    ebb_batch b;
    assert_true(ebb_loader_next(l, &b));
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60);
        const bool told = ebb_loader_next(l, &b) && !b.field[0] &&
                          ebb_error_status() == EBB_E_MISUSE &&
                          strstr(ebb_error_message(), "fork") != NULL;
        ebb_loader_release(l);
        _exit(told ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_true(ebb_loader_next(l, &b));
    assert_non_null(b.field[0]);
    ebb_loader_release(l);
}

static void wrong_arguments_are_refused(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_loader *l = NULL;
    ebb_batch b;
    ebb_tensor *three = ebb_full(ctx, EBB_F32, EBB_SHAPE(3, 2), 0),
               *four = ebb_full(ctx, EBB_F32, EBB_SHAPE(4), 0);
    ebb_tensor *both[] = {three, four}, *point[] = {ebb_full(ctx, EBB_F32, EBB_SCALAR, 0)};
    assert_status(ebb_loader_create(&l, both, 2, 1, NULL), EBB_E_SHAPE);
    assert_status(ebb_loader_create(&l, point, 1, 1, NULL), EBB_E_SHAPE);
    assert_status(ebb_loader_create(&l, both, 1, 0, NULL), EBB_E_RANGE);
    assert_status(ebb_loader_create(&l, both, 0, 1, NULL), EBB_E_RANGE);
    assert_status(ebb_loader_create(&l, both, 5, 1, NULL), EBB_E_RANGE);
    assert_status(ebb_loader_create(NULL, both, 1, 1, NULL), EBB_E_MISUSE);
    assert_status(ebb_loader_create(&l, NULL, 1, 1, NULL), EBB_E_MISUSE);
    assert_status(ebb_loader_create(&l, (ebb_tensor *[]){EBB_NONE}, 1, 1, NULL), EBB_E_MISUSE);
    assert_status(ebb_loader_create(&l, both, 1, 1, &(ebb_loader_options){.reserved = {1}}),
                  EBB_E_MISUSE);
    ebb_source s = {.n_items = 1, .n_fields = 1, .dtype = {EBB_F32}, .read = read_item};
    assert_status(ebb_loader_create_from(&l, NULL, &s, 1, NULL), EBB_E_MISUSE);
    assert_status(ebb_loader_create_from(&l, ctx, NULL, 1, NULL), EBB_E_MISUSE);
    s.item[0] = EBB_SHAPE(-1);
    assert_status(ebb_loader_create_from(&l, ctx, &s, 1, NULL), EBB_E_SHAPE);
    s.item[0] = EBB_SHAPE(INT64_C(1) << 40, INT64_C(1) << 40);
    assert_status(ebb_loader_create_from(&l, ctx, &s, 1, NULL), EBB_E_SHAPE);
    s.item[0] = EBB_SCALAR;
    s.dtype[0] = (ebb_dtype)77;
    assert_status(ebb_loader_create_from(&l, ctx, &s, 1, NULL), EBB_E_DTYPE);
    assert_null(l);
    assert_false(ebb_loader_next(NULL, &b));
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    ebb_tensor *none = ebb_full(ctx, EBB_F32, EBB_SHAPE(0, 2), 0);
    assert_ok(ebb_loader_create(&l, &none, 1, 4, &(ebb_loader_options){.shuffle = true}));
    assert_false(ebb_loader_next(l, &b));
    ebb_loader_release(l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_order_every_row_comes_once),
        TEST(the_last_short_batch_may_be_dropped),
        TEST(shuffled_epochs_are_permutations_that_seed_and_epoch_decide),
        TEST(shuffles_are_fair),
        TEST(rows_of_views_are_their_elements),
        TEST(a_batch_kept_by_the_user_stays),
        TEST(memory_is_steady_and_all_given_back),
        TEST(a_reader_fills_batches_on_another_thread),
        TEST(the_next_batch_is_read_while_one_is_used),
        TEST(a_failed_read_is_told_once_and_the_next_batch_comes),
        TEST(a_failed_batch_stops_the_formula_that_uses_it),
        TEST(loaders_end_anywhere),
        TEST(a_forked_child_is_told_and_does_not_hang),
        TEST(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
