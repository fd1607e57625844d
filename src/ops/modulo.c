/* modulo.c - remainders and fractions.
 *
 * fmod and trunc go together (the result has x's sign), remainder and floor (y's sign).
 * Integers are refused a divisor of 0 before anything is written.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/kernels/walk.h"
#include "ops/operand.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <tgmath.h>

#define IN(i) EBB_NEED_IN(i)

/* Towards y's sign. */
#define TURN(r, y) ((r) != 0 && ((r) < 0) != ((y) < 0) ? (r) + (y) : (r))
EBB_PLAIN_ROW2(fmod_f32, float, fmod(x, y))
EBB_PLAIN_ROW2(fmod_f64, double, fmod(x, y))
EBB_PLAIN_ROW2(remainder_f32, float, TURN(fmod(x, y), y))
EBB_PLAIN_ROW2(remainder_f64, double, TURN(fmod(x, y), y))
/* The least number by -1 overflows where there is an instruction for it. */
EBB_MAP_ROW2(fmod_i64, int64_t, int64_t, y == -1 ? 0 : x % y)
EBB_MAP_ROW2(fmod_i32, int32_t, int32_t, y == -1 ? 0 : x % y)
EBB_MAP_ROW2(fmod_u8, uint8_t, uint8_t, x % y)
EBB_MAP_ROW2(remainder_i64, int64_t, int64_t, y == -1 ? 0 : TURN(x % y, y))
EBB_MAP_ROW2(remainder_i32, int32_t, int32_t, y == -1 ? 0 : TURN(x % y, y))
static const ebb__map_row fmod_rows[EBB__N_DTYPES] = {
    EBB_TABLE_FLOAT(fmod), [EBB_I64] = fmod_i64, [EBB_I32] = fmod_i32, [EBB_U8] = fmod_u8};
static const ebb__map_row remainder_rows[EBB__N_DTYPES] = {
    EBB_TABLE_FLOAT(remainder), [EBB_I64] = remainder_i64, [EBB_I32] = remainder_i32,
    [EBB_U8] = fmod_u8};

static ebb_status check_divisor(const ebb_view *y)
{
    ebb__walk w = {.n = 1};
    if (ebb__dtype_is_float(y->dtype) || ebb__n_elems(&y->shape) == 0) return EBB_OK;
    for (int64_t d = 0; d < y->shape.n_dims; d++)
        if (y->strides[d] != 0) ebb__walk_add(&w, y->shape.dims[d], y->strides[d]);
    for (int64_t i = 0; i < w.n; i++)
        if (ebb__index_at(y, ebb__walk_offset(&w, i)) == 0)
            return ebb__fail(EBB_E_RANGE, "y has a 0: integers have no remainder by 0");
    return EBB_OK;
}
static ebb_status fmod_forward(const ebb__call *c)
{
    EBB_TRY(check_divisor(&c->in[1]));
    return ebb__map(c, fmod_rows[c->in[0].dtype], NULL);
}
static ebb_status remainder_forward(const ebb__call *c)
{
    EBB_TRY(check_divisor(&c->in[1]));
    return ebb__map(c, remainder_rows[c->in[0].dtype], NULL);
}

/* out = x - n y with a whole n, which is made from the exact remainder: x / y alone may round
 * over a whole number. The remainder is infinite only where y is and has the other sign: n is
 * -1 there. */
static void modulo_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, g);
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *pair[] = {ebb__in(v, 0), ebb__in(v, 1)};
    double less = -1;
    ebb_tensor *rest = ebb__emit(v, v->op, NULL, 2, pair);
    ebb_tensor *whole = ebb__rule_sub(v, pair[0], rest);
    ebb_tensor *n = EBB_EMIT(v, round, NULL, EBB_EMIT(v, div, NULL, whole, pair[1]));
    n = EBB_EMIT(v, masked_fill, &less, n, EBB_EMIT(v, isinf, NULL, rest));
    ebb__give(v, 1, EBB_EMIT(v, neg, NULL, ebb__rule_mul(v, g, n)));
}

#define MODULO(op_name, text)                                                                  \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x", "y"},                                                                     \
        .flags = EBB_OP_BROADCAST | EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,                        \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {0, IN(0) | IN(1)},                                                            \
        .shape = ebb__shape_numbers,                                                           \
        .forward = op_name##_forward,                                                          \
        .vjp = modulo_vjp,                                                                     \
        .range = {{2.1, 2.9, 0}, {0.75, 0.99, 0}},                                             \
        EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x1", "4"}}, {.in = {"", "2"}},           \
                    {.in = {"67", "67"}}, {.in = {"0x3", "3"}}),                               \
    };
MODULO(fmod, "out = x - trunc(x / y) * y, of x's sign; NaN for y = 0, which integers refuse.")
MODULO(remainder,
       "out = x - floor(x / y) * y, of y's sign; NaN for y = 0, which integers refuse.")

/* ---- frac -------------------------------------------------------------------------------- */
EBB_PLAIN1(frac, x - trunc(x))

static void frac_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, ebb__grad(v, 0));
}

EBB_UNARY(frac, ebb__shape_floats, 0, frac_vjp,
          "out = x - trunc(x), of x's sign; NaN of an infinity; the gradient is 1.",
          {0.1, 0.9, 0})
