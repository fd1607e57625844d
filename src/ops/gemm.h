/* gemm.h - the product of two matrices with any strides, for the kernels of this folder.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_GEMM_H
#define EBB_OPS_GEMM_H

#include <ebb/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* c[i][j] = (or += where `add`) sum over l of a[i][l] * b[l][j]; i < m, j < n, l < k. Strides
 * are in elements; rows of c have unit stride. Repeatable bit for bit. k = 0
 * gives zeros. */
typedef struct ebb__gemm {
    const void *a, *b;
    void *c;
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, b_col, c_row;
    bool add;
    void *scratch; /* ebb__gemm_scratch bytes, aligned to the element */
} ebb__gemm;

void ebb__gemm_f32(const ebb__gemm *g);
void ebb__gemm_f64(const ebb__gemm *g);
/* Of i64, i32 or u8: sums wrap round. Reads no scratch. */
void ebb__gemm_whole(const ebb__gemm *g, ebb_dtype dtype);
/* For one thread; 0 where the product is so small or thin that it is made without packing. */
size_t ebb__gemm_scratch(int64_t m, int64_t n, int64_t k, size_t element_bytes);

#endif
