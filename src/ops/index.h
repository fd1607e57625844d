/* index.h - indices as operands: any integer dtype, negative ones counted from the end.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_INDEX_H
#define EBB_OPS_INDEX_H

#include "ops/operand.h"

static inline int64_t ebb__index_wrap(int64_t i, int64_t n)
{
    return i < 0 ? i + n : i;
}
/* E_RANGE naming the first index outside [-n, n); called before anything is written. */
ebb_status ebb__index_check(const ebb_view *index, int64_t n);
/* What the gradient of an indexing operation needs to know of its input. */
typedef struct ebb__index_grad_attr {
    int64_t axis;
    ebb_shape shape;
} ebb__index_grad_attr;
/* The same of rows; `skipped` is a row that gets none where `skips` is 1. */
typedef struct ebb__row_grad_attr {
    int64_t axis;
    ebb_shape shape;
    int64_t skips, skipped;
} ebb__row_grad_attr;
typedef struct ebb__embedding_attr {
    bool padding;
    int64_t padding_idx;
} ebb__embedding_attr;

#define EBB_ADD_ROW(T)                                                                         \
    for (int64_t i = 0; i < n; i++) ((T *)to)[i] = (T)(((T *)to)[i] + ((const T *)from)[i])
/* to += from, n elements; whole numbers wrap round. */
static inline void ebb__add_row(void *to, const void *from, int64_t n, ebb_dtype d)
{
    if (d == EBB_F32)
        EBB_ADD_ROW(float);
    else if (d == EBB_F64)
        EBB_ADD_ROW(double);
    else if (d == EBB_I64)
        EBB_ADD_ROW(uint64_t);
    else if (d == EBB_I32)
        EBB_ADD_ROW(uint32_t);
    else
        EBB_ADD_ROW(uint8_t);
}

#endif
