/* size.h - arithmetic on sizes that reports overflow instead of wrapping.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_SIZE_H
#define EBB_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns false, leaving *out unspecified, where the exact result does not fit. */
static inline bool ebb__mul_i64(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool ebb__add_i64(int64_t *out, int64_t a, int64_t b)
{
    return !__builtin_add_overflow(a, b, out);
}
static inline bool ebb__mul_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool ebb__add_size(size_t *out, size_t a, size_t b)
{
    return !__builtin_add_overflow(a, b, out);
}
/* Rounds up to a multiple of `to`, a power of two; false on overflow. */
static inline bool ebb__round_up(size_t *out, size_t n, size_t to)
{
    if (!ebb__add_size(&n, n, to - 1)) return false;
    *out = n & ~(to - 1);
    return true;
}
/* Up to a multiple of 64, the arena's grain and a line of a cache; less than n where it overflows. */
static inline size_t ebb__round_64(size_t n)
{
    return (n + 63) & ~(size_t)63;
}

#endif
