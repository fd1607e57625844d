/* test_onednn.c - oneDNN's kernels give what the reference kernels give in double precision,
 * and behave: no stray writes, no allocation in the steady state, safe from several threads.
 * SPDX-License-Identifier: MIT */
#include "backend/call.h"
#include "backend/onednn/onednn.h"
#include "backend/onednn/plan_cache.h"
#include "base/context.h"

#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- the backend under test, on an allocator that counts --------------------------------- */

static atomic_int n_allocs, n_live;

static void *counting_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    atomic_fetch_add(&n_allocs, 1);
    atomic_fetch_add(&n_live, 1);
    return ebb__allocator_libc.alloc(NULL, bytes, alignment);
}

static void counting_free(void *user, void *p, size_t bytes)
{
    (void)user;
    atomic_fetch_sub(&n_live, 1);
    ebb__allocator_libc.free(NULL, p, bytes);
}

static void *backend;

static int backend_open(void **state)
{
    (void)state;
    ebb_context *root = calloc(1, sizeof *root);
    root->allocator = (ebb_allocator){counting_alloc, counting_free, NULL};
    ebb_status s = ebb__backend_onednn.create(&backend, root);
    free(root);
    return s == EBB_OK ? 0 : -1;
}

static int backend_close(void **state)
{
    (void)state;
    ebb__backend_onednn.destroy(backend);
    return atomic_load(&n_live) == 0 ? 0 : -1;
}

static const ebb__override *override_of(const char *name)
{
    const ebb__override *o = ebb__backend_onednn.overrides;
    while (o->name && strcmp(o->name, name) != 0) o++;
    assert_non_null(o->name);
    return o;
}

/* ---- against the reference kernels in double --------------------------------------------- */

#define COUNT(...) (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
/* clang-format off */
#define OPERAND(...) {.rank = COUNT(__VA_ARGS__), .dims = {__VA_ARGS__}}
#define POSITIVE(...) {.rank = COUNT(__VA_ARGS__), .dims = {__VA_ARGS__}, .is_positive = true}
#define ABSENT {.rank = -1}
/* Its last two of two, three axes swapped in memory. */
#define SWAPPED2(a, b) {.rank = 2, .dims = {a, b}, .order = {1, 0}}
#define SWAPPED3(a, b, c) {.rank = 3, .dims = {a, b, c}, .order = {0, 2, 1}}
/* clang-format on */

static const subject subjects[] = {
    {"matmul", {OPERAND(64, 48), OPERAND(48, 40)}, {{0}}},
    {"matmul", {SWAPPED2(64, 48), OPERAND(48, 40)}, {{0}}},
    {"matmul", {OPERAND(64, 48), SWAPPED2(48, 40)}, {{0}}},
    {"matmul", {SWAPPED2(33, 65), SWAPPED2(65, 129)}, {{0}}},
    {"matmul", {OPERAND(1, 300), OPERAND(300, 200)}, {{0}}},
    {"matmul", {OPERAND(200, 300), OPERAND(300, 1)}, {{0}}},
    {"matmul", {OPERAND(200, 1), OPERAND(1, 300)}, {{0}}},
    {"matmul", {OPERAND(300), OPERAND(300, 200)}, {{0}}},
    {"matmul", {OPERAND(200, 300), OPERAND(300)}, {{0}}},
    {"matmul", {OPERAND(40000), OPERAND(40000)}, {{0}}},
    {"matmul", {OPERAND(5, 24, 32), OPERAND(5, 32, 40)}, {{0}}},
    {"matmul", {OPERAND(5, 24, 32), SWAPPED3(5, 32, 40)}, {{0}}},
    {"matmul", {SWAPPED3(5, 24, 32), OPERAND(1, 32, 40)}, {{0}}},
    {"matmul", {OPERAND(5, 24, 32), OPERAND(32, 40)}, {{0}}},
    {"matmul", {OPERAND(24, 32), OPERAND(5, 32, 40)}, {{0}}},
    {"matmul", {OPERAND(2, 1, 24, 32), OPERAND(3, 32, 40)}, {{0}}},
    {"linear", {OPERAND(128, 300), OPERAND(10, 300), OPERAND(10)}, {{0}}},
    {"linear", {OPERAND(128, 300), OPERAND(10, 300), ABSENT}, {{0}}},
    {"linear", {OPERAND(4, 7, 64), OPERAND(33, 64), OPERAND(33)}, {{0}}},
    {"linear", {OPERAND(1, 500), OPERAND(100, 500), OPERAND(100)}, {{0}}},
    {"linear", {OPERAND(500), OPERAND(100, 500), OPERAND(100)}, {{0}}},
    {"conv2d", {OPERAND(3, 4, 12, 11), OPERAND(8, 4, 3, 3), OPERAND(8)}, {{"padding", {1, 1}}}},
    {"conv2d",
     {OPERAND(16, 1, 28, 28), OPERAND(32, 1, 3, 3), OPERAND(32)},
     {{"padding", {1, 1}}}},
    {"conv2d",
     {OPERAND(128, 4, 28, 28), OPERAND(16, 4, 3, 3), OPERAND(16)},
     {{"padding", {1, 1}}}},
    {"conv2d", {OPERAND(61, 8, 28, 28), OPERAND(32, 8, 3, 3), ABSENT}, {{"padding", {1, 1}}}},
    {"conv2d", {OPERAND(3, 3, 17, 19), OPERAND(5, 3, 5, 3), ABSENT}, {{"stride", {2, 3}}}},
    {"conv2d", {OPERAND(2, 16, 9, 9), OPERAND(24, 16, 1, 1), OPERAND(24)}, {{0}}},
    {"conv2d",
     {OPERAND(2, 6, 20, 20), OPERAND(9, 2, 3, 3), OPERAND(9)},
     {{"groups", {3}}, {"padding", {2, 0}}}},
    {"conv2d",
     {OPERAND(2, 32, 14, 14), OPERAND(32, 1, 3, 3), ABSENT},
     {{"groups", {32}}, {"padding", {1, 1}}}},
    {"conv2d",
     {OPERAND(2, 4, 24, 24), OPERAND(8, 4, 3, 2), ABSENT},
     {{"dilation", {2, 3}}, {"padding", {2, 1}}, {"stride", {1, 2}}}},
    {"conv_grad_input",
     {OPERAND(3, 8, 12, 11), OPERAND(8, 4, 3, 3)},
     {{"padding", {1, 1}}, {"shape", {3, 4, 12, 11}}}},
    {"conv_grad_input",
     {OPERAND(61, 32, 28, 28), OPERAND(32, 8, 3, 3)},
     {{"padding", {1, 1}}, {"shape", {61, 8, 28, 28}}}},
    {"conv_grad_input",
     {OPERAND(1, 5, 7, 6), OPERAND(5, 9, 5, 3)},
     {{"stride", {2, 3}}, {"shape", {1, 9, 18, 20}}}},
    {"conv_grad_input",
     {OPERAND(2, 9, 22, 18), OPERAND(9, 2, 3, 3)},
     {{"groups", {3}}, {"padding", {2, 0}}, {"shape", {2, 6, 20, 20}}}},
    {"conv_grad_input",
     {OPERAND(2, 8, 24, 12), OPERAND(8, 4, 3, 2)},
     {{"dilation", {2, 3}},
      {"padding", {2, 1}},
      {"stride", {1, 2}},
      {"shape", {2, 4, 24, 24}}}},
    {"conv_grad_weight",
     {OPERAND(3, 4, 12, 11), OPERAND(3, 8, 12, 11)},
     {{"padding", {1, 1}}, {"shape", {8, 4, 3, 3}}}},
    {"conv_grad_weight",
     {OPERAND(128, 1, 28, 28), OPERAND(128, 32, 28, 28)},
     {{"padding", {1, 1}}, {"shape", {32, 1, 3, 3}}}},
    {"conv_grad_weight",
     {OPERAND(61, 8, 28, 28), OPERAND(61, 32, 28, 28)},
     {{"padding", {1, 1}}, {"shape", {32, 8, 3, 3}}}},
    {"conv_grad_weight",
     {OPERAND(1, 9, 18, 20), OPERAND(1, 5, 7, 6)},
     {{"stride", {2, 3}}, {"shape", {5, 9, 5, 3}}}},
    {"conv_grad_weight",
     {OPERAND(2, 6, 20, 20), OPERAND(2, 9, 22, 18)},
     {{"groups", {3}}, {"padding", {2, 0}}, {"shape", {9, 2, 3, 3}}}},
    {"conv_grad_weight",
     {OPERAND(2, 4, 24, 24), OPERAND(2, 8, 24, 12)},
     {{"dilation", {2, 3}}, {"padding", {2, 1}}, {"stride", {1, 2}}, {"shape", {8, 4, 3, 2}}}},
    {"softmax", {OPERAND(256, 100)}, {{"axis", {-1}}}},
    {"softmax", {OPERAND(7, 64, 40)}, {{"axis", {1}}}},
    {"log_softmax", {OPERAND(256, 100)}, {{"axis", {1}}}},
    {"softmax_grad", {OPERAND(256, 100), OPERAND(256, 100)}, {{"axis", {-1}}}},
    {"log_softmax_grad", {OPERAND(256, 100), OPERAND(256, 100)}, {{"axis", {-1}}}},
    {"avg_pool2d", {OPERAND(8, 16, 28, 28)}, {{"kernel_h", {2}}, {"kernel_w", {2}}}},
    {"avg_pool2d",
     {OPERAND(5, 7, 25, 30)},
     {{"kernel_h", {3}}, {"kernel_w", {2}}, {"stride", {2, 1}}, {"padding", {1, 1}}}},
    {"avg_pool2d",
     {OPERAND(5, 7, 25, 30)},
     {{"kernel_h", {3}}, {"kernel_w", {4}}, {"padding", {1, 2}}, {"exclude_padding", {1}}}},
    {"avg_pool_grad",
     {OPERAND(16, 16, 14, 14)},
     {{"kernel", {2, 2}}, {"shape", {16, 16, 28, 28}}}},
    {"avg_pool_grad",
     {OPERAND(5, 14, 13, 31)},
     {{"kernel", {3, 2}}, {"stride", {2, 1}}, {"padding", {1, 1}}, {"shape", {5, 14, 25, 30}}}},
    {"layer_norm", {OPERAND(500, 64), OPERAND(64), OPERAND(64)}, {{0}}},
    {"layer_norm", {OPERAND(4, 50, 100), OPERAND(100), ABSENT}, {{0}}},
    {"layer_norm", {OPERAND(9, 3001), ABSENT, ABSENT}, {{0}}},
    {"layer_norm_grad",
     {OPERAND(500, 64), OPERAND(500, 64), OPERAND(64), OPERAND(500), POSITIVE(500)},
     {{0}}},
    {"layer_norm_grad",
     {OPERAND(4, 50, 100), OPERAND(4, 50, 100), OPERAND(100), OPERAND(4, 50), POSITIVE(4, 50)},
     {{0}}},
};
enum { N_SUBJECTS = sizeof subjects / sizeof *subjects };

/* A sum of k products in single precision is off by some sqrt(k) half-ulps of its largest
 * value, and k is at most 1e5 here (4e-6 was seen). */
static const double TOLERANCE = 1e-5;

static void subject_name(char *text, size_t size, const subject *s)
{
    int at = snprintf(text, size, "%s", s->op);
    for (int i = 0; i < CALL_MAX_IN && s->in[i].rank > 0; i++)
        for (int64_t j = 0; j < s->in[i].rank; j++)
            at += snprintf(text + at, size - (size_t)at, "%s%lld", j ? "x" : " ",
                           (long long)s->in[i].dims[j]);
}

static int n_taken;

static void test_results_equal_the_reference(void **state)
{
    const subject *s = *state;
    for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
        call got, want;
        call_init(&got, s, EBB_F32, n_threads, 7);
        call_init(&want, s, EBB_F64, n_threads, 7);
        const ebb__override *o = override_of(s->op);
        if (o->plan(&got.c, backend)) {
            call_run(&got, o, backend);
            call_run(&want, NULL, NULL);
            n_taken++;
            assert_true(call_error(&got, &want) < TOLERANCE);
        } else if (n_threads == 1) {
            print_message("%s: left to the reference kernel\n", s->op);
        }
        call_destroy(&got);
        call_destroy(&want);
    }
}

/* Which kernels oneDNN has depends on the processor; most it has everywhere. */
static void test_most_calls_are_taken(void **state)
{
    (void)state;
    assert_true(n_taken > 3 * N_SUBJECTS / 2);
}

/* ---- behaviour --------------------------------------------------------------------------- */

static const subject product = {"matmul", {OPERAND(96, 200), OPERAND(200, 80)}, {{0}}};
static const subject convolution = {"conv2d",
                                    {OPERAND(9, 8, 20, 20), OPERAND(16, 8, 3, 3), OPERAND(16)},
                                    {{"padding", {1, 1}}}};

static void planned(call *k, const subject *s, int32_t n_threads)
{
    call_init(k, s, EBB_F32, n_threads, 3);
    assert_true(override_of(s->op)->plan(&k->c, backend));
}

static void test_the_same_call_gives_the_same_bits(void **state)
{
    (void)state;
    call a, b;
    planned(&a, &convolution, 2);
    planned(&b, &convolution, 2);
    call_run(&a, override_of("conv2d"), backend);
    for (int i = 0; i < 20; i++) {
        call_run(&b, override_of("conv2d"), backend);
        assert_memory_equal(a.out[0].data, b.out[0].data, a.out_bytes[0]);
    }
    call_destroy(&a);
    call_destroy(&b);
}

static void test_a_repeated_call_allocates_nothing(void **state)
{
    (void)state;
    call k;
    planned(&k, &convolution, 2);
    int before = atomic_load(&n_allocs);
    for (int i = 0; i < 20; i++) {
        assert_true(override_of("conv2d")->plan(&k.c, backend));
        call_run(&k, override_of("conv2d"), backend);
    }
    assert_int_equal(atomic_load(&n_allocs), before);
    call_destroy(&k);
}

static void test_the_users_thread_count_is_left_alone(void **state)
{
    (void)state;
    int before = omp_get_max_threads();
    omp_set_num_threads(5);
    call k;
    planned(&k, &product, 2);
    assert_int_equal(omp_get_max_threads(), 5);
    call_run(&k, override_of("matmul"), backend);
    assert_int_equal(omp_get_max_threads(), 5);
    omp_set_num_threads(before);
    call_destroy(&k);
}

static void test_small_work_and_doubles_are_left_to_the_reference(void **state)
{
    (void)state;
    const subject small = {"matmul", {OPERAND(8, 8), OPERAND(8, 8)}, {{0}}};
    const subject empty = {"matmul", {OPERAND(0, 800), OPERAND(800, 800)}, {{0}}};
    call k;
    call_init(&k, &small, EBB_F32, 2, 1);
    assert_false(override_of("matmul")->plan(&k.c, backend));
    call_destroy(&k);
    call_init(&k, &empty, EBB_F32, 2, 1);
    assert_false(override_of("matmul")->plan(&k.c, backend));
    call_destroy(&k);
    call_init(&k, &product, EBB_F64, 2, 1);
    assert_false(override_of("matmul")->plan(&k.c, backend));
    call_destroy(&k);
}

static void test_repeated_rows_are_read_right_or_not_at_all(void **state)
{
    (void)state;
    call got, want;
    call_init(&got, &product, EBB_F32, 2, 3);
    call_init(&want, &product, EBB_F64, 2, 3);
    got.in[0].strides[0] = want.in[0].strides[0] = 0;
    const ebb__override *o = override_of("matmul");
    bool taken = o->plan(&got.c, backend);
    call_run(&got, taken ? o : NULL, backend);
    call_run(&want, NULL, NULL);
    assert_true(call_error(&got, &want) < TOLERANCE);
    call_destroy(&got);
    call_destroy(&want);
}

typedef struct racer {
    pthread_t thread;
    call k;
    const call *want;
    bool differs;
} racer;

static void *race(void *arg)
{
    racer *r = arg;
    const ebb__override *o = override_of("conv2d");
    for (int i = 0; i < 100; i++) {
        if (!o->plan(&r->k.c, backend) || o->forward(&r->k.c, backend) != EBB_OK)
            r->differs = true;
        if (memcmp(r->k.out[0].data, r->want->out[0].data, r->want->out_bytes[0]) != 0)
            r->differs = true;
    }
    return NULL;
}

static void test_threads_run_one_plan_side_by_side(void **state)
{
    (void)state;
    call want;
    racer r[3];
    planned(&want, &convolution, 1);
    call_run(&want, override_of("conv2d"), backend);
    for (int i = 0; i < 3; i++) {
        r[i].want = &want;
        r[i].differs = false;
        planned(&r[i].k, &convolution, 1);
        call_run(&r[i].k, override_of("conv2d"), backend);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&r[i].thread, NULL, race, &r[i]), 0);
    for (int i = 0; i < 3; i++) {
        pthread_join(r[i].thread, NULL);
        assert_false(r[i].differs);
        call_destroy(&r[i].k);
    }
    call_destroy(&want);
}

/* ---- the table of plans ------------------------------------------------------------------ */

/* More shapes than the table holds: the first call's plan is displaced before it runs. */
static void test_a_displaced_plan_still_runs(void **state)
{
    (void)state;
    call first, want;
    planned(&first, &product, 2);
    for (int64_t n = 300; n < 300 + 530; n++) {
        subject other = {"matmul", {OPERAND(12, n), OPERAND(n, 12)}, {{0}}};
        call k;
        planned(&k, &other, 1);
        call_destroy(&k);
    }
    call_run(&first, override_of("matmul"), backend);
    call_init(&want, &product, EBB_F64, 2, 3);
    call_run(&want, NULL, NULL);
    assert_true(call_error(&first, &want) < TOLERANCE);
    call_destroy(&first);
    call_destroy(&want);
}

static ebb__dnnl_entry *entry_of(uint64_t number)
{
    ebb__dnnl_entry *e = ebb__alloc(&ebb__allocator_libc, sizeof *e, 16);
    memset(e, 0, sizeof *e);
    e->key.hash = number % 3;
    e->key.n_words = 1;
    e->key.word[0] = number;
    e->usable = true;
    e->plan.scratch_bytes = (size_t)number;
    return e;
}

static bool holds(ebb__dnnl_cache *cache, uint64_t number, ebb__dnnl_found *found)
{
    ebb__dnnl_key key = {.hash = number % 3, .n_words = 1, .word = {number}};
    return ebb__dnnl_cache_find(found, cache, &key) && found->scratch_bytes == number;
}

static void test_the_plan_unused_for_longest_makes_room(void **state)
{
    (void)state;
    ebb__dnnl_found found;
    ebb__dnnl_cache *cache = ebb__dnnl_cache_create(&ebb__allocator_libc, 3);
    for (uint64_t i = 1; i <= 3; i++)
        assert_true(ebb__dnnl_cache_add(&found, cache, entry_of(i)));
    assert_true(holds(cache, 1, &found));
    assert_true(ebb__dnnl_cache_add(&found, cache, entry_of(4)));
    assert_int_equal(ebb__dnnl_cache_count(cache), 3);
    assert_true(holds(cache, 1, &found) && holds(cache, 3, &found) && holds(cache, 4, &found));
    assert_false(holds(cache, 2, &found));
    ebb__dnnl_cache_destroy(cache);
}

static void test_a_running_plan_stays(void **state)
{
    (void)state;
    ebb__dnnl_found one, two, found;
    ebb__dnnl_cache *cache = ebb__dnnl_cache_create(&ebb__allocator_libc, 2);
    assert_true(ebb__dnnl_cache_add(&one, cache, entry_of(1)));
    assert_true(ebb__dnnl_cache_add(&two, cache, entry_of(2)));
    ebb__dnnl_plan *p = ebb__dnnl_cache_pin(cache, one.ticket);
    assert_int_equal(p->scratch_bytes, 1);
    assert_true(ebb__dnnl_cache_add(&found, cache, entry_of(3)));
    assert_true(ebb__dnnl_cache_add(&found, cache, entry_of(4)));
    assert_true(holds(cache, 1, &found));
    assert_null(ebb__dnnl_cache_pin(cache, two.ticket));
    assert_non_null(ebb__dnnl_cache_pin(cache, found.ticket));
    assert_true(holds(cache, 4, &two));
    assert_non_null(ebb__dnnl_cache_pin(cache, two.ticket));
    assert_false(ebb__dnnl_cache_add(&found, cache, entry_of(5)));
    ebb__dnnl_cache_destroy(cache);
}

int main(void)
{
    static char name[N_SUBJECTS][96];
    static struct CMUnitTest accuracy[N_SUBJECTS];
    for (int i = 0; i < N_SUBJECTS; i++) {
        subject_name(name[i], sizeof name[i], &subjects[i]);
        accuracy[i] = (struct CMUnitTest){name[i], test_results_equal_the_reference, NULL, NULL,
                                          (void *)&subjects[i]};
    }
    const struct CMUnitTest behaviour[] = {
        cmocka_unit_test(test_most_calls_are_taken),
        cmocka_unit_test(test_the_same_call_gives_the_same_bits),
        cmocka_unit_test(test_a_repeated_call_allocates_nothing),
        cmocka_unit_test(test_the_users_thread_count_is_left_alone),
        cmocka_unit_test(test_small_work_and_doubles_are_left_to_the_reference),
        cmocka_unit_test(test_repeated_rows_are_read_right_or_not_at_all),
        cmocka_unit_test(test_threads_run_one_plan_side_by_side),
        cmocka_unit_test(test_a_displaced_plan_still_runs),
        cmocka_unit_test(test_the_plan_unused_for_longest_makes_room),
        cmocka_unit_test(test_a_running_plan_stays)};
    int failed = cmocka_run_group_tests(accuracy, backend_open, backend_close);
    return failed + cmocka_run_group_tests(behaviour, backend_open, backend_close);
}
