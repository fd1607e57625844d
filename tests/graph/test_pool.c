/* test_pool.c - the pool that nodes come from: whole objects, from any thread, nothing lost.
 * SPDX-License-Identifier: MIT */
#include "base/pool.h"
#include "support/graph_program.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct slabs {
    atomic_llong n_out, n_taken;
    long long most; /* refused beyond; 0: no limit */
} slabs;

static void *slab_more(void *user)
{
    slabs *s = user;
    if (s->most && atomic_load(&s->n_taken) >= s->most) return NULL;
    atomic_fetch_add(&s->n_out, 1);
    atomic_fetch_add(&s->n_taken, 1);
    return aligned_alloc(4096, EBB__SLAB_BYTES);
}

static void slab_less(void *user, void *slab)
{
    atomic_fetch_sub(&((slabs *)user)->n_out, 1);
    free(slab);
}

static ebb__pool *pool_new(slabs *s, bool single_threaded)
{
    ebb__pool_source source = {.more = slab_more, .less = slab_less, .user = s};
    ebb__pool *pool = ebb__pool_create(&source, single_threaded);
    assert_non_null(pool);
    return pool;
}

static void pool_end(ebb__pool *pool, const slabs *s)
{
    ebb__pool_destroy(pool);
    assert_int_equal(s->n_out, 0);
}

/* ---- objects exchanged between threads --------------------------------------------------- */

enum { N_BOXES = 512, N_THREADS = 4 };

typedef struct box {
    pthread_mutex_t lock;
    unsigned char *bytes;
    size_t n;
} box;

typedef struct exchange {
    ebb__pool *pool;
    box boxes[N_BOXES];
    atomic_int n_wrong;
    int64_t n_steps;
    atomic_ullong seed;
} exchange;

static void box_change(exchange *x, uint64_t *random)
{
    int32_t i = random_below(random, N_BOXES);
    box *b = &x->boxes[i];
    pthread_mutex_lock(&b->lock);
    if (b->bytes) {
        for (size_t k = 0; k < b->n; k++) x->n_wrong += b->bytes[k] != (unsigned char)i;
        ebb__pool_free(x->pool, b->bytes, b->n);
        b->bytes = NULL;
    } else {
        b->n = 1 + (size_t)random_below(random, EBB__POOL_MAX);
        b->bytes = ebb__pool_alloc(x->pool, b->n);
        size_t alignment = b->n % 64 == 0 ? 64 : 16;
        x->n_wrong += !b->bytes || (uintptr_t)b->bytes % alignment != 0;
        memset(b->bytes, i, b->n);
    }
    pthread_mutex_unlock(&b->lock);
}

static void *exchange_main(void *arg)
{
    exchange *x = arg;
    uint64_t random = atomic_fetch_add(&x->seed, 1);
    for (int64_t i = 0; i < x->n_steps; i++) box_change(x, &random);
    return NULL;
}

static void objects_stay_whole_when_threads_free_each_others(void **state)
{
    (void)state;
    slabs s = {0};
    static exchange x;
    x = (exchange){.pool = pool_new(&s, false),
                   .n_steps = getenv("EBB_TEST_SHORT") ? 3000 : 60000};
    for (int i = 0; i < N_BOXES; i++) pthread_mutex_init(&x.boxes[i].lock, NULL);
    for (int round = 0; round < 3; round++) {
        pthread_t threads[N_THREADS];
        for (int i = 0; i < N_THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, exchange_main, &x), 0);
        for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    }
    assert_int_equal(x.n_wrong, 0);
    size_t n = 0, bytes = 0;
    for (int i = 0; i < N_BOXES; i++) {
        if (!x.boxes[i].bytes) continue;
        n++;
        bytes += (x.boxes[i].n + 15) / 16 * 16;
    }
    ebb__pool_stats stats;
    ebb__pool_stats_get(&stats, x.pool);
    assert_int_equal(stats.n_objects, n);
    assert_int_equal(stats.object_bytes, bytes);
    assert_int_equal(stats.slab_bytes, s.n_out * EBB__SLAB_BYTES);
    pool_end(x.pool, &s);
}

/* ---- threads that come and go ------------------------------------------------------------ */

static void *visitor_main(void *pool)
{
    void *objects[100];
    for (int i = 0; i < 100; i++) objects[i] = ebb__pool_alloc(pool, 112);
    for (int i = 0; i < 100; i++) ebb__pool_free(pool, objects[i], 112);
    return NULL;
}

static void a_thousand_threads_in_a_row_need_no_more_than_one(void **state)
{
    (void)state;
    slabs s = {0};
    ebb__pool *pool = pool_new(&s, false);
    long long after_one = 0;
    for (int i = 0; i < (getenv("EBB_TEST_SHORT") ? 50 : 1000); i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, visitor_main, pool), 0);
        pthread_join(thread, NULL);
        if (i == 0) after_one = s.n_out;
    }
    assert_int_equal(s.n_out, after_one);
    pool_end(pool, &s);
}

static pthread_key_t late_key;
static ebb__pool *late_pool;

static void late_free(void *object)
{
    ebb__pool_free(late_pool, object, 48);
}

static void *late_main(void *arg)
{
    (void)arg;
    /* The key is older than the library's use of the thread or newer: either way its destructor
     * may run after the library's own. */
    pthread_setspecific(late_key, ebb__pool_alloc(late_pool, 48));
    return NULL;
}

static void an_object_freed_by_a_threads_last_destructor_is_not_lost(void **state)
{
    (void)state;
    slabs s = {0};
    late_pool = pool_new(&s, false);
    assert_int_equal(pthread_key_create(&late_key, late_free), 0);
    for (int i = 0; i < 20; i++) {
        pthread_t threads[2];
        for (int k = 0; k < 2; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, late_main, NULL), 0);
        for (int k = 0; k < 2; k++) pthread_join(threads[k], NULL);
    }
    ebb__pool_stats stats;
    ebb__pool_stats_get(&stats, late_pool);
    assert_int_equal(stats.n_objects, 0);
    pthread_key_delete(late_key);
    pool_end(late_pool, &s);
}

static void a_new_pool_never_meets_the_parts_of_a_destroyed_one(void **state)
{
    (void)state;
    slabs s = {0};
    ebb__pool *other = pool_new(&s, false);
    void *kept = ebb__pool_alloc(other, 64);
    memset(kept, 7, 64);
    for (int i = 0; i < 200; i++) {
        ebb__pool *pool = pool_new(&s, false);
        memset(ebb__pool_alloc(pool, 64), 1, 64);
        ebb__pool_free(other, kept, 64);
        kept = ebb__pool_alloc(other, 64);
        ebb__pool_destroy(pool); /* with a live object */
    }
    ebb__pool_free(other, kept, 64);
    pool_end(other, &s);
}

/* ---- refusals, counters, listed objects -------------------------------------------------- */

static void a_refused_slab_gives_null_and_the_pool_goes_on(void **state)
{
    (void)state;
    slabs s = {.most = 2};
    ebb__pool *pool = pool_new(&s, false);
    void *last = NULL, *object;
    int n = 0;
    for (; (object = ebb__pool_alloc(pool, 1024)); n++) last = object;
    assert_true(n > 64);
    ebb__pool_free(pool, last, 1024);
    assert_ptr_equal(ebb__pool_alloc(pool, 1024), last);
    s.most = 3;
    assert_non_null(ebb__pool_alloc(pool, 1024));
    pool_end(pool, &s);
}

static void *counter_main(void *pool)
{
    for (int i = 0; i < 1000; i++)
        ebb__pool_part_count(ebb__pool_part_get(pool), 3, i % 2 ? 5 : -2);
    return NULL;
}

static void counters_are_summed_over_threads_that_ended_too(void **state)
{
    (void)state;
    slabs s = {0};
    ebb__pool *pool = pool_new(&s, false);
    pthread_t threads[N_THREADS];
    for (int i = 0; i < N_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, counter_main, pool), 0);
    for (int i = 0; i < N_THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(ebb__pool_count(pool, 3), N_THREADS * 1500);
    assert_int_equal(ebb__pool_count(pool, 2), 0);
    pool_end(pool, &s);
}

typedef struct listing {
    int n_live, n_free;
} listing;

static void listing_each(void *user, void *object)
{
    listing *l = user;
    int64_t mark;
    memcpy(&mark, (char *)object + 16, sizeof mark);
    if (mark == 77) l->n_live++;
    if (mark == 78) l->n_free++;
}

static void listed_objects_are_found_and_keep_their_marks_when_freed(void **state)
{
    (void)state;
    enum { N = 500 };
    slabs s = {0};
    ebb__pool *pool = pool_new(&s, true);
    ebb__pool_part *part = ebb__pool_part_get(pool);
    static char *objects[N];
    for (int i = 0; i < N; i++) {
        size_t bytes = i % 2 ? 112 : 1024;
        objects[i] = ebb__pool_part_alloc_listed(part, bytes);
        int64_t mark = 77;
        memcpy(objects[i] + 16, &mark, sizeof mark);
        memset(ebb__pool_alloc(pool, 112), 77, 112); /* not listed */
    }
    for (int i = 0; i < N; i += 5) {
        int64_t mark = 78;
        memcpy(objects[i] + 16, &mark, sizeof mark);
        ebb__pool_part_free_listed(part, objects[i], i % 2 ? 112 : 1024);
    }
    listing l = {0};
    ebb__pool_each_listed(pool, listing_each, &l);
    assert_int_equal(l.n_live, N - N / 5);
    assert_int_equal(l.n_free, N / 5);
    pool_end(pool, &s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_stay_whole_when_threads_free_each_others),
        cmocka_unit_test(a_thousand_threads_in_a_row_need_no_more_than_one),
        cmocka_unit_test(an_object_freed_by_a_threads_last_destructor_is_not_lost),
        cmocka_unit_test(a_new_pool_never_meets_the_parts_of_a_destroyed_one),
        cmocka_unit_test(a_refused_slab_gives_null_and_the_pool_goes_on),
        cmocka_unit_test(counters_are_summed_over_threads_that_ended_too),
        cmocka_unit_test(listed_objects_are_found_and_keep_their_marks_when_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
