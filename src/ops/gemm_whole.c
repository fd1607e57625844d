/* gemm_whole.c - the product of two matrices of whole numbers: sums of products that wrap round.
 *
 * No blocks: integer products are index arithmetic and counts, not where time goes.
 * SPDX-License-Identifier: MIT */
#include "ops/gemm.h"

/* One row of c at a time, so that the innermost loop is over a row of b. */
#define GEMM_WHOLE(name, T)                                                                    \
    static void name(const ebb__gemm *g)                                                       \
    {                                                                                          \
        const T *a = g->a, *b = g->b;                                                          \
        for (int64_t i = 0; i < g->m; i++) {                                                   \
            T *row = (T *)g->c + i * g->c_row;                                                 \
            for (int64_t j = 0; j < g->n && !g->add; j++) row[j] = 0;                          \
            for (int64_t l = 0; l < g->k; l++) {                                               \
                const T factor = a[i * g->a_row + l * g->a_col], *from = b + l * g->b_row;     \
                for (int64_t j = 0; j < g->n; j++)                                             \
                    row[j] = (T)(row[j] + factor * from[j * g->b_col]);                        \
            }                                                                                  \
        }                                                                                      \
    }
/* The unsigned twins: their overflow is defined. */
GEMM_WHOLE(gemm_whole_64, uint64_t)
GEMM_WHOLE(gemm_whole_32, uint32_t)
GEMM_WHOLE(gemm_whole_8, uint8_t)

void ebb__gemm_whole(const ebb__gemm *g, ebb_dtype dtype)
{
    if (dtype == EBB_I64)
        gemm_whole_64(g);
    else if (dtype == EBB_I32)
        gemm_whole_32(g);
    else
        gemm_whole_8(g);
}
