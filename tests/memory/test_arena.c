/* test_arena.c - blocks never overlap, are found again, and nothing is lost to their
 * neighbours.
 * SPDX-License-Identifier: MIT */
#include "memory/arena.h"
#include "support/memory_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void sound(const ebb__arena *a)
{
    const char *fault = ebb__arena_check(a);
    if (fault) fail_msg("%s", fault);
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

typedef struct block {
    unsigned char *p;
    size_t bytes;
    unsigned char mark;
} block;

static bool marked(const block *b)
{
    for (size_t i = 0; i < b->bytes; i++)
        if (b->p[i] != b->mark) return false;
    return true;
}

/* Every byte of every live block carries its mark: an overlap or a lost block shows. */
static void random_blocks_keep_their_bytes(void **state)
{
    (void)state;
    enum { N = 300, STEPS = 20000 };
    static block blocks[N];
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    uint64_t seed = 0x9E3779B97F4A7C15u;
    size_t used = 0;
    memset(blocks, 0, sizeof blocks);
    for (int step = 0; step < STEPS; step++) {
        block *b = &blocks[next_random(&seed) % N];
        if (b->p) {
            assert_true(marked(b));
            ebb__arena_free(a, b->p, b->bytes);
            used -= (b->bytes + 63) / 64 * 64;
            b->p = NULL;
        } else {
            b->bytes = 1 + next_random(&seed) % ((size_t)1 << (3 + next_random(&seed) % 14));
            b->mark = (unsigned char)step;
            b->p = ebb__arena_alloc(a, 0, b->bytes);
            assert_non_null(b->p);
            assert_int_equal((uintptr_t)b->p % 64, 0);
            memset(b->p, b->mark, b->bytes);
            used += (b->bytes + 63) / 64 * 64;
        }
        assert_int_equal(ebb__arena_used_bytes(a), used);
        if (step % 97 == 0) sound(a);
        if (step % 1999 == 0) ebb__arena_trim(a);
    }
    for (block *b = blocks; b < blocks + N; b++) {
        if (!b->p) continue;
        assert_true(marked(b));
        ebb__arena_free(a, b->p, b->bytes);
    }
    sound(a);
    assert_int_equal(ebb__arena_used_bytes(a), 0);
    ebb__arena_trim(a);
    assert_int_equal(ebb__arena_chunk_bytes(a), 0);
    ebb__arena_destroy(a);
    assert_int_equal(atomic_load(&memory.n_blocks), 0);
}

static void neighbours_become_one_block_again(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    void *p[1000];
    for (int i = 0; i < 1000; i++) p[i] = ebb__arena_alloc(a, 0, 4000);
    size_t chunk = ebb__arena_chunk_bytes(a);
    for (int i = 0; i < 1000; i += 2) ebb__arena_free(a, p[i], 4000);
    for (int i = 1; i < 1000; i += 2) ebb__arena_free(a, p[i], 4000);
    sound(a);
    /* 99 % of the chunk in one piece, without another from the allocator */
    void *whole = ebb__arena_alloc(a, 0, chunk / 100 * 99);
    assert_non_null(whole);
    assert_int_equal(ebb__arena_chunk_bytes(a), chunk);
    ebb__arena_destroy(a);
}

static void the_tightest_hole_is_taken(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    /* the last three are in one bin */
    const size_t size[] = {640, 448, 1280, 576, 960, 70 * 64, 66 * 64, 68 * 64};
    void *hole[8], *wall[8];
    for (int i = 0; i < 8; i++) {
        hole[i] = ebb__arena_alloc(a, 0, size[i]);
        wall[i] = ebb__arena_alloc(a, 0, 64);
    }
    for (int i = 0; i < 8; i++) ebb__arena_free(a, hole[i], size[i]);
    assert_ptr_equal(ebb__arena_alloc(a, 0, 576), hole[3]);
    assert_ptr_equal(ebb__arena_alloc(a, 0, 900), hole[4]);
    assert_ptr_equal(ebb__arena_alloc(a, 0, 448), hole[1]);
    assert_ptr_equal(ebb__arena_alloc(a, 0, 65 * 64), hole[6]);
    assert_ptr_equal(ebb__arena_alloc(a, 0, 65 * 64), hole[7]);
    (void)wall;
    ebb__arena_destroy(a);
}

static void a_refusing_allocator_is_survived(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    for (int k = 1; k < 6; k++) {
        memset(&memory, 0, sizeof memory);
        memory.fail_at = k;
        ebb__arena *a = ebb__arena_create(&allocator);
        if (!a) {
            assert_int_equal(k, 1);
            continue;
        }
        for (int i = 0; i < 3; i++) {
            void *p = ebb__arena_alloc(a, 0, 5 << 20);
            sound(a);
            if (!p) assert_non_null(ebb__arena_alloc(a, 0, 5 << 20));
        }
        assert_null(ebb__arena_alloc(a, 0, SIZE_MAX));
        assert_null(ebb__arena_alloc(a, 0, SIZE_MAX - 100));
        assert_null(ebb__arena_alloc(a, 0, SIZE_MAX / 2));
        sound(a);
        ebb__arena_destroy(a);
        assert_int_equal(atomic_load(&memory.n_blocks), 0);
    }
}

/* Against a note of each grain that a block has ever covered. */
static void of_one_chunk_it_says_what_was_ever_reached(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20, N = 24 };
    static bool reached[BYTES / EBB__ARENA_GRAIN];
    uint64_t seed = 5;
    for (int round = 0; round < 40; round++) {
        test_memory memory = {0};
        ebb_allocator allocator = test_allocator(&memory);
        ebb__arena *a = ebb__arena_create(&allocator);
        block blocks[N] = {{0}};
        assert_true(ebb__arena_fix(a, BYTES));
        assert_int_equal(ebb__arena_chunk_bytes(a), 0);
        const unsigned char *end = ebb__arena_end(a), *first = end - ebb__arena_room(a);
        memset(reached, 0, sizeof reached);
        for (int step = 0; step < 60; step++) {
            block *b = &blocks[next_random(&seed) % N];
            if (b->p && ebb__arena_free_before(a, b->p)) {
                b->p = ebb__arena_slide(a, b->p, b->bytes);
            } else if (b->p) {
                ebb__arena_free(a, b->p, b->bytes);
                b->p = NULL;
            } else {
                bool is_high = round % 3 && step % 3 == 0;
                b->bytes = 64 * (1 + next_random(&seed) % (1u << (next_random(&seed) % 14)));
                b->p = is_high ? ebb__arena_alloc_high(a, b->bytes)
                               : ebb__arena_alloc(a, 0, b->bytes);
            }
            size_t n = 0;
            for (size_t g = 0; b->p && g < b->bytes / 64; g++)
                reached[(size_t)(b->p - first) / 64 + g] = true;
            for (size_t g = 0; g < sizeof reached; g++) n += reached[g];
            assert_true(ebb__arena_chunk_bytes(a) >= n * 64);
            /* nothing lies amid what was never reached: that it is one piece costs nothing */
            if (round % 3 == 0) assert_int_equal(ebb__arena_chunk_bytes(a), n * 64);
        }
        sound(a);
        ebb__arena_destroy(a);
    }
}

static void of_a_block_that_is_cut_the_rest_is_free(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    char *p = ebb__arena_alloc(a, 0, 1000), *wall = ebb__arena_alloc(a, 0, 64);
    assert_ptr_equal(wall, p + 1024);
    memset(p, 7, 1000);
    ebb__arena_cut(a, p, 1000, 1000);
    assert_int_equal(ebb__arena_used_bytes(a), 1024 + 64);
    ebb__arena_cut(a, p, 1000, 130);
    sound(a);
    assert_int_equal(ebb__arena_used_bytes(a), 192 + 64);
    assert_ptr_equal(ebb__arena_alloc(a, 0, 1024 - 192), p + 192);
    for (int i = 0; i < 130; i++) assert_int_equal(p[i], 7);
    ebb__arena_free(a, p, 192);
    sound(a);
    ebb__arena_destroy(a);
}

static void near_its_limit_it_takes_no_more_than_asked(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    ebb__arena_set_limit(a, 100000);
    void *p = ebb__arena_alloc(a, 0, 40000);
    assert_non_null(p);
    assert_true(ebb__arena_chunk_bytes(a) < 50000);
    ebb__arena_free(a, p, 40000);
    /* the empty chunk goes before another would pass the limit */
    p = ebb__arena_alloc(a, 0, 80000);
    assert_non_null(p);
    assert_true(ebb__arena_chunk_bytes(a) < 100000);
    assert_true(memory.bytes < 110000);
    ebb__arena_destroy(a);
}

static void chunks_of_every_size_hold_what_they_were_made_for(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    ebb__arena_set_limit(a, 0);
    for (size_t bytes = 1; bytes < 40 << 20; bytes = bytes * 9 / 8 + 61) {
        void *p = ebb__arena_alloc(a, 0, bytes);
        assert_non_null(p);
        assert_true(ebb__arena_chunk_bytes(a) < bytes + bytes / 64 + 3 * 4096);
        sound(a);
        ebb__arena_free(a, p, bytes);
        ebb__arena_trim(a);
        assert_int_equal(ebb__arena_chunk_bytes(a), 0);
    }
    ebb__arena_destroy(a);
}

#if defined __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>

static void a_freed_block_is_out_of_bounds(void **state)
{
    (void)state;
    test_memory memory = {0};
    ebb_allocator allocator = test_allocator(&memory);
    ebb__arena *a = ebb__arena_create(&allocator);
    char *p[3];
    for (int i = 0; i < 3; i++) p[i] = ebb__arena_alloc(a, 0, 256);
    for (int i = 0; i < 3; i++)
        assert_null(__asan_region_is_poisoned(p[i], 256)); /* all of it is the user's */
    for (int i = 2; i >= 0; i--) {
        ebb__arena_free(a, p[i], 256);
        assert_true(__asan_address_is_poisoned(p[i] + 128));
        if (i) assert_null(__asan_region_is_poisoned(p[i - 1], 256));
    }
    assert_ptr_equal(ebb__arena_alloc(a, 0, 512), p[0]);
    assert_null(__asan_region_is_poisoned(p[0], 512));
    assert_true(__asan_address_is_poisoned(p[2] + 128));
    ebb__arena_destroy(a);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_blocks_keep_their_bytes),
        cmocka_unit_test(neighbours_become_one_block_again),
        cmocka_unit_test(the_tightest_hole_is_taken),
        cmocka_unit_test(a_refusing_allocator_is_survived),
        cmocka_unit_test(of_one_chunk_it_says_what_was_ever_reached),
        cmocka_unit_test(of_a_block_that_is_cut_the_rest_is_free),
        cmocka_unit_test(near_its_limit_it_takes_no_more_than_asked),
        cmocka_unit_test(chunks_of_every_size_hold_what_they_were_made_for),
#if defined __SANITIZE_ADDRESS__
        cmocka_unit_test(a_freed_block_is_out_of_bounds),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
