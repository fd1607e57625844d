/* cast.c - to another dtype.
 * SPDX-License-Identifier: MIT */
#include "ops/ids.h"
#include "ops/kernels/map.h"

static inline int64_t whole(int64_t x, int64_t lowest, int64_t largest)
{
    return x < lowest ? lowest : x > largest ? largest : x;
}

#define EBB_TYPED "ops/cast.inl"
#include "ops/kernels/numbers.h"

static const ebb__map_row *const rows_from[EBB__N_DTYPES] = {
    [EBB_F32] = cast_rows_f32, [EBB_F64] = cast_rows_f64, [EBB_I64] = cast_rows_i64,
    [EBB_I32] = cast_rows_i32, [EBB_U8] = cast_rows_u8,   [EBB_BOOL] = cast_rows_bool};

static const ebb_attr_spec cast_attrs[] = {
    {"dtype", EBB_ATTR_DTYPE, 0, false, "of the result"},
    {0},
};

static ebb_status cast_shape(ebb__call *c)
{
    ebb_dtype d = *(const ebb_dtype *)c->attr;
    if (ebb__dtype_size(d) == 0)
        return ebb__fail(EBB_E_DTYPE, "dtype %d is none of Ebb's", (int)d);
    EBB_TRY(ebb__shape_check(&c->in[0].shape, d));
    c->out[0].dtype = d;
    c->out[0].shape = c->in[0].shape;
    return EBB_OK;
}
static ebb_status cast_forward(const ebb__call *c)
{
    return ebb__map(c, rows_from[c->in[0].dtype][c->out[0].dtype], NULL);
}
static void cast_vjp(ebb_vjp *v)
{
    ebb_dtype d = ebb__in_dtype(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, cast, &d, ebb__grad(v, 0)));
}

const ebb_op ebb__op_cast = {
    EBB_OP_HEAD(cast),
    .doc =
        "x in another dtype: whole types truncate and saturate, NaN becomes 0, bool is x != 0. "
        "Differentiable between floating types.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_dtype),
    .attrs = cast_attrs,
    .flags = EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .shape = cast_shape,
    .forward = cast_forward,
    .vjp = cast_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "dtype=f64"}, {.in = {"f64:5"}, .attr = "dtype=f64"},
                {.in = {"i64:5<3"}, .attr = "dtype=f32"}, {.in = {""}, .attr = "dtype=f64"},
                {.in = {"0x3"}, .attr = "dtype=f64"}),
};
