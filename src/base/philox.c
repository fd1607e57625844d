/* philox.c - Philox4x32-10.
 *
 * Constants and rounds as in Salmon et al. (2011), section 4.3 and table 2.
 * SPDX-License-Identifier: MIT */
#include "base/philox.h"

enum { ROUNDS = 10 };
#define PHILOX_M0 UINT32_C(0xD2511F53)
#define PHILOX_M1 UINT32_C(0xCD9E8D57)
#define PHILOX_W0 UINT32_C(0x9E3779B9)
#define PHILOX_W1 UINT32_C(0xBB67AE85)

void ebb__philox_block(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t x0 = counter[0], x1 = counter[1], x2 = counter[2], x3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < ROUNDS; round++, k0 += PHILOX_W0, k1 += PHILOX_W1) {
        uint64_t a = (uint64_t)PHILOX_M0 * x0, b = (uint64_t)PHILOX_M1 * x2;
        x0 = (uint32_t)(b >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)b;
        x2 = (uint32_t)(a >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)a;
    }
    out[0] = x0, out[1] = x1, out[2] = x2, out[3] = x3;
}

void ebb__philox_fill(uint32_t *out, int64_t n_blocks, uint64_t key, uint64_t first)
{
    const uint32_t keys[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int64_t i = 0; i < n_blocks; i++) {
        uint64_t at = first + (uint64_t)i;
        const uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), 0, 0};
        ebb__philox_block(out + 4 * i, counter, keys);
    }
}
