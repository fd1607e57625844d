/* operand.h - what shape rules ask of operands, each with its one message.
 *
 * Operands are named by the descriptor's `arg`. An absent optional operand passes every check.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_OPERAND_H
#define EBB_OPS_OPERAND_H

#include "op/op.h"

#ifndef EBB_BY_DTYPE
/* name_f64(...) or name_f32(...), by dtype. */
#define EBB_BY_DTYPE(dtype, name, ...)                                                         \
    ((dtype) == EBB_F64 ? name##_f64(__VA_ARGS__) : name##_f32(__VA_ARGS__))
#endif

static inline bool ebb__given(const ebb__call *c, int32_t i)
{
    return i < c->n_in && c->in[i].dtype != 0;
}
const char *ebb__arg_name(const ebb__call *c, int32_t i);

/* Not bool. */
ebb_status ebb__check_number(const ebb__call *c, int32_t i);
ebb_status ebb__check_float(const ebb__call *c, int32_t i);
ebb_status ebb__check_integer(const ebb__call *c, int32_t i); /* i64, i32 or u8 */
/* Operand i's dtype is operand j's. */
ebb_status ebb__check_dtype_as(const ebb__call *c, int32_t i, int32_t j);
ebb_status ebb__check_shape_as(const ebb__call *c, int32_t i, int32_t j);
ebb_status ebb__check_rank(const ebb__call *c, int32_t i, int64_t rank);
ebb_status ebb__check_rank_at_least(const ebb__call *c, int32_t i, int64_t rank);
/* Operand i is (n). */
ebb_status ebb__check_vector(const ebb__call *c, int32_t i, int64_t n);

static inline void ebb__set_out(ebb__call *c, int32_t k, ebb_dtype dtype,
                                const ebb_shape *shape)
{
    c->out[k].dtype = dtype;
    c->out[k].shape = *shape;
}

/* A shape seen as outer x n x inner around one axis. */
typedef struct ebb__around {
    int64_t outer, n, inner;
} ebb__around;
ebb__around ebb__around_axis(const ebb_shape *s, int64_t axis);

/* Element i of contiguous integer data. */
static inline int64_t ebb__index_at(const ebb_view *v, int64_t i)
{
    switch (v->dtype) {
    case EBB_I64:
        return ((const int64_t *)v->data)[i];
    case EBB_I32:
        return ((const int32_t *)v->data)[i];
    default:
        return ((const uint8_t *)v->data)[i];
    }
}

#endif
