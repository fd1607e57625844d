/* arith.c - shape rules by kind of number.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"

#include <math.h>
#include <string.h>

ebb_status ebb__shape_numbers(ebb__call *c)
{
    if (c->in[0].dtype == EBB_BOOL)
        return ebb__fail(EBB_E_DTYPE, "%s is bool, a number is needed; cast it", c->op->arg[0]);
    return ebb__shape_broadcast_n(c);
}

ebb_status ebb__shape_test(ebb__call *c)
{
    EBB_TRY(ebb__shape_broadcast_n(c));
    c->out[0].dtype = EBB_BOOL;
    return EBB_OK;
}

ebb_status ebb__check_holds(ebb_dtype d, double value)
{
    static const double lowest[] = {[EBB_I64] = -9223372036854775808.0,
                                    [EBB_I32] = -2147483648.0,
                                    [EBB_U8] = 0,
                                    [EBB_BOOL] = 0};
    static const double above[] = {[EBB_I64] = 9223372036854775808.0,
                                   [EBB_I32] = 2147483648.0,
                                   [EBB_U8] = 256,
                                   [EBB_BOOL] = 2};
    if (ebb__dtype_is_float(d)) return EBB_OK;
    if (value >= lowest[d] && value < above[d] && value == trunc(value)) return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "%g is no %s: whole numbers in [%g, %g) are", value,
                     ebb_dtype_name(d), lowest[d], above[d]);
}

uint64_t ebb__element_bits(ebb_dtype d, double value)
{
    uint64_t bits = 0;
    float f32 = (float)value;
    if (d == EBB_F64)
        memcpy(&bits, &value, sizeof value);
    else if (d == EBB_F32)
        memcpy(&bits, &f32, sizeof f32);
    else if (d == EBB_BOOL)
        bits = value != 0;
    else /* little-endian: the low bytes of a whole number are the narrower one */
        bits = (uint64_t)(int64_t)value;
    return bits;
}
