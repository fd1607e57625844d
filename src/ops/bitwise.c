/* bitwise.c - bits of integers and bools; exclusive or of truths.
 *
 * Shifts by a negative number or by the width and more leave nothing of the value but its sign.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"

#define PAIR_FLAGS (EBB_OP_BROADCAST | EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_INTEGER)
#define PAIR(op_name, shape_rule, text, ...)                                                   \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x", "y"},                                                                     \
        .flags = PAIR_FLAGS,                                                                   \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .shape = shape_rule,                                                                   \
        .forward = op_name##_forward,                                                          \
        EBB_SAMPLES({.in = {"i64:3x4<100", "i64:3x4<9"}}, {.in = {"i32:3x1<100", "i32:4<9"}},  \
                    {.in = {"u8:<200", "u8:2<9"}}, {.in = {"i64:0x3<9", "i64:3<9"}},           \
                    __VA_ARGS__),                                                              \
    };

EBB_MAP2(bitwise_and, BITS, x &y)
EBB_MAP2(bitwise_or, BITS, x | y)
EBB_MAP2(bitwise_xor, BITS, x ^ y)
/* bool: the other truth; integers: every bit turned. */
EBB_MAP_ROW1(bitwise_not_bool, bool, bool, !x)
EBB_ROWS_INTEGER(1, bitwise_not, EBB_SAME, ~x)
static const ebb__map_row bitwise_not_rows[EBB__N_DTYPES] = {EBB_TABLE_BITS(bitwise_not)};
EBB_MAP_FORWARD(bitwise_not)
EBB_TEST2(logical_xor, ANY, (x != 0) != (y != 0))

static ebb_status bits_shape(ebb__call *c)
{
    if (ebb__dtype_is_float(c->in[0].dtype))
        return ebb__fail(EBB_E_DTYPE, "x is %s, an integer type or bool is needed",
                         ebb_dtype_name(c->in[0].dtype));
    return ebb__shape_broadcast_n(c);
}
static ebb_status shift_shape(ebb__call *c)
{
    if (c->in[0].dtype == EBB_BOOL)
        return ebb__fail(EBB_E_DTYPE, "x is bool, an integer type is needed");
    return bits_shape(c);
}

PAIR(bitwise_and, bits_shape, "out = bits set in x and in y; integers or bool.",
     {.in = {"bool:3x4", "bool:4"}})
PAIR(bitwise_or, bits_shape, "out = bits set in x or in y; integers or bool.",
     {.in = {"bool:3x4", "bool:4"}})
PAIR(bitwise_xor, bits_shape, "out = bits set in one of x and y; integers or bool.",
     {.in = {"bool:3x4", "bool:4"}})
PAIR(logical_xor, ebb__shape_test, "out = (x != 0) differs from (y != 0), elementwise, bool.",
     {.in = {"3x4", "3x4"}})

const ebb_op ebb__op_bitwise_not = {
    EBB_OP_HEAD(bitwise_not),
    .doc = "out = x with every bit turned; of bool: not x.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = bits_shape,
    .forward = bitwise_not_forward,
    EBB_SAMPLES({.in = {"i64:3x4<100"}}, {.in = {"i32:<9"}}, {.in = {"u8:67<200"}},
                {.in = {"bool:5"}}, {.in = {"i64:0x3<9"}}),
};

/* ---- shifts ------------------------------------------------------------------------------ */
/* To the left on the unsigned twin: bits that leave are lost. */
#define LEFT(x, y, width) ((y) < (width) ? (x) << (y) : 0)
#define RIGHT(x, y, width) ((y) >= 0 && (y) < (width) ? (x) >> (y) : (x) < 0 ? -1 : 0)
EBB_MAP_ROW2(bitwise_left_shift_i64, uint64_t, uint64_t, LEFT(x, y, 64))
EBB_MAP_ROW2(bitwise_left_shift_i32, uint32_t, uint32_t, LEFT(x, y, 32))
EBB_MAP_ROW2(bitwise_left_shift_u8, uint8_t, uint8_t, LEFT((uint32_t)x, y, 8))
EBB_MAP_ROW2(bitwise_right_shift_i64, int64_t, int64_t, RIGHT(x, y, 64))
EBB_MAP_ROW2(bitwise_right_shift_i32, int32_t, int32_t, RIGHT(x, y, 32))
EBB_MAP_ROW2(bitwise_right_shift_u8, uint8_t, uint8_t, y < 8 ? x >> y : 0)
static const ebb__map_row bitwise_left_shift_rows[EBB__N_DTYPES] = {
    EBB_TABLE_INTEGER(bitwise_left_shift)};
static const ebb__map_row bitwise_right_shift_rows[EBB__N_DTYPES] = {
    EBB_TABLE_INTEGER(bitwise_right_shift)};
EBB_MAP_FORWARD(bitwise_left_shift)
EBB_MAP_FORWARD(bitwise_right_shift)

PAIR(bitwise_left_shift, shift_shape,
     "out = x * 2^y without the bits that leave its width; 0 for y < 0 or y >= the width.",
     {.in = {"i32:3<9", "i32:3<40"}})
PAIR(bitwise_right_shift, shift_shape,
     "out = floor(x / 2^y), the sign being kept; 0 or -1 for y < 0 or y >= the width.",
     {.in = {"i32:3<9", "i32:3<40"}})
