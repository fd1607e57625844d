/* test_philox.c - the generator gives the words its authors published, in any order.
 *
 * Known answers: Random123 1.09, tests/kat_vectors, "philox4x32 10".
 * SPDX-License-Identifier: MIT */
#include "base/philox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_known_answers(void **state)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } kat[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof kat / sizeof kat[0]; i++) {
        uint32_t out[4];
        ebb__philox_block(out, kat[i].counter, kat[i].key);
        assert_memory_equal(out, kat[i].want, sizeof out);
    }
}

static void test_fill_is_the_blocks_in_order(void **state)
{
    enum { BLOCKS = 45 };
    const uint64_t key = UINT64_C(0x0123456789abcdef), first = UINT64_C(0xfffffff0);
    uint32_t all[4 * BLOCKS];
    (void)state;
    ebb__philox_fill(all, BLOCKS, key, first);
    for (uint64_t i = 0; i < BLOCKS; i++) {
        uint64_t at = first + i;
        const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
        const uint32_t keys[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
        uint32_t one[4];
        ebb__philox_block(one, counter, keys);
        assert_memory_equal(all + 4 * i, one, sizeof one);
    }
}

static void test_pieces_give_the_same_words(void **state)
{
    uint32_t whole[4 * 40], pieces[4 * 40];
    (void)state;
    ebb__philox_fill(whole, 40, 7, 1000);
    ebb__philox_fill(pieces, 17, 7, 1000);
    ebb__philox_fill(pieces + 4 * 17, 23, 7, 1017);
    assert_memory_equal(whole, pieces, sizeof whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_answers),
        cmocka_unit_test(test_fill_is_the_blocks_in_order),
        cmocka_unit_test(test_pieces_give_the_same_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
