/* gemm.c - the product of two matrices with any strides.
 *
 * Blocks of a and b are packed into panels that the innermost loop reads in order, as in Goto &
 * van de Geijn, "Anatomy of high-performance matrix multiplication" (2008). Sums run over
 * blocks of GEMM_KC in a fixed order, so results depend neither on threads nor on strides.
 * SPDX-License-Identifier: MIT */
#include "ops/gemm.h"

/* Products here may be fused into their sums; strict ISO mode would forbid it. */
#ifndef __clang__
#pragma GCC optimize("fp-contract=fast")
#endif

#include <string.h>

/* As EBB_CLONES, but the middle step must have fused products. */
#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ &&    \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define GEMM_CLONES __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define GEMM_CLONES
#endif

enum {
    GEMM_MR = 8,   /* rows of a tile; its columns fill one 64-byte vector */
    GEMM_KC = 256, /* terms of a sum before it is added to c */
    GEMM_MC = 64,
    GEMM_NC = 256,
    GEMM_NARROW = 128 /* columns of b up to which rows of a are read where they lie */
};

static int64_t gemm_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t gemm_round(int64_t n, int64_t to)
{
    return (n + to - 1) / to * to;
}

/* Below this packing costs more than it saves. */
static bool gemm_is_small(int64_t m, int64_t n, int64_t k)
{
    return m < 4 || n < 4 || (double)m * (double)n * (double)k < 16384;
}

size_t ebb__gemm_scratch(int64_t m, int64_t n, int64_t k, size_t element_bytes)
{
    if (gemm_is_small(m, n, k)) return 0;
    int64_t depth = gemm_min(k, GEMM_KC);
    int64_t rows = gemm_round(gemm_min(m, GEMM_MC), GEMM_MR);
    int64_t cols = gemm_round(gemm_min(n, GEMM_NC), (int64_t)(64 / element_bytes));
    return (size_t)(depth * (rows + cols)) * element_bytes;
}

#define EBB_TYPED "ops/gemm.inl"
#include "ops/kernels/typed.h"
