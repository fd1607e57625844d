/* compare.c - truths about elements, and choices by them.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"

#include <math.h>
#include <stddef.h>

#define PAIR_SAMPLES                                                                           \
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x1", "4"}}, {.in = {"", "2"}},               \
                {.in = {"i64:5<3", "i64:5<3"}}, {.in = {"0x3", "3"}})
#define ONE_SAMPLES EBB_SAMPLES({.in = {"3x4"}}, {.in = {""}}, {.in = {"67"}}, {.in = {"0x3"}})
#define MAP_FLAGS (EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE)

/* ---- comparisons ------------------------------------------------------------------------- */
EBB_TEST2(eq, ANY, x == y)
EBB_TEST2(ne, ANY, x != y)
EBB_TEST2(lt, ANY, x < y)
EBB_TEST2(le, ANY, x <= y)
EBB_TEST2(gt, ANY, x > y)
EBB_TEST2(ge, ANY, x >= y)
EBB_TEST2(logical_and, ANY, x != 0 && y != 0)
EBB_TEST2(logical_or, ANY, x != 0 || y != 0)
EBB_TEST1(logical_not, ANY, x == 0)

#define COMPARE(op_name, text)                                                                 \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x", "y"},                                                                     \
        .flags = MAP_FLAGS | EBB_OP_BROADCAST | EBB_OP_INTEGER,                                \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .shape = ebb__shape_test,                                                              \
        .forward = op_name##_forward,                                                          \
        PAIR_SAMPLES,                                                                          \
    };
COMPARE(eq, "out = (x == y), elementwise, bool; NaN equals nothing.")
COMPARE(ne, "out = (x != y), elementwise, bool.")
COMPARE(lt, "out = (x < y), elementwise, bool.")
COMPARE(le, "out = (x <= y), elementwise, bool.")
COMPARE(gt, "out = (x > y), elementwise, bool.")
COMPARE(ge, "out = (x >= y), elementwise, bool.")
COMPARE(logical_and, "out = (x != 0 and y != 0), elementwise, bool.")
COMPARE(logical_or, "out = (x != 0 or y != 0), elementwise, bool.")

/* Whole numbers are finite. */
EBB_MAP_ROWS(1, never, BITS, EBB_TRUTH, ((void)x, false))
EBB_MAP_ROWS(1, always, BITS, EBB_TRUTH, ((void)x, true))
#define KIND(op_name, of_whole)                                                                \
    EBB_MAP_ROWS(1, op_name, FLOAT, EBB_TRUTH, op_name(x))                                     \
    static ebb_status op_name##_forward(const ebb__call *c)                                    \
    {                                                                                          \
        ebb_dtype d = c->in[0].dtype;                                                          \
        return ebb__map(c, ebb__dtype_is_float(d) ? op_name##_rows[d] : of_whole##_rows[d],    \
                        NULL);                                                                 \
    }
KIND(isnan, never)
KIND(isinf, never)
KIND(isfinite, always)

#define TEST(op_name, numbers, text)                                                           \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .flags = MAP_FLAGS | EBB_OP_INTEGER,                                                   \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .shape = numbers,                                                                      \
        .forward = op_name##_forward,                                                          \
        ONE_SAMPLES,                                                                           \
    };
TEST(logical_not, ebb__shape_test, "out = (x == 0), bool.")
TEST(isnan, ebb__shape_test, "out = (x is NaN), bool.")
TEST(isinf, ebb__shape_test, "out = (x is infinite), bool.")
TEST(isfinite, ebb__shape_test, "out = (x is neither infinite nor NaN), bool.")

/* ---- where ------------------------------------------------------------------------------- */
/* Choices move bits: one row function per element size. */
EBB_MAP_ROW3(where_4, bool, uint32_t, uint32_t, uint32_t, x ? y : z)
EBB_MAP_ROW3(where_8, bool, uint64_t, uint64_t, uint64_t, x ? y : z)
EBB_MAP_ROW3(where_2, bool, uint16_t, uint16_t, uint16_t, x ? y : z)
EBB_MAP_ROW3(where_1, bool, uint8_t, uint8_t, uint8_t, x ? y : z)

static ebb_status check_bool(const ebb__call *c, int32_t i)
{
    if (c->in[i].dtype == EBB_BOOL) return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "%s is %s, bool is needed", c->op->arg[i],
                     ebb_dtype_name(c->in[i].dtype));
}

static ebb_status where_shape(ebb__call *c)
{
    EBB_TRY(check_bool(c, 0));
    if (c->in[1].dtype != c->in[2].dtype)
        return ebb__fail(EBB_E_DTYPE, "x is %s and y is %s: they must be of one type",
                         ebb_dtype_name(c->in[1].dtype), ebb_dtype_name(c->in[2].dtype));
    ebb_shape s;
    EBB_TRY(ebb__shape_broadcast(&s, &c->in[1].shape, &c->in[2].shape));
    EBB_TRY(ebb__shape_broadcast(&s, &s, &c->in[0].shape));
    c->out[0].dtype = c->in[1].dtype;
    c->out[0].shape = s;
    return EBB_OK;
}
static ebb_status where_forward(const ebb__call *c)
{
    size_t size = ebb__dtype_size(c->out[0].dtype);
    const ebb__map_row by_size[] = {[1] = where_1, [2] = where_2, [4] = where_4, [8] = where_8};
    return ebb__map(c, by_size[size], NULL);
}
static void where_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *cond = ebb__in(v, 0);
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, pass, NULL, g, cond));
    if (ebb__wants(v, 2))
        ebb__give(v, 2, EBB_EMIT(v, pass, NULL, g, EBB_EMIT(v, logical_not, NULL, cond)));
}

const ebb_op ebb__op_where = {
    EBB_OP_HEAD(where),
    .doc = "out = cond ? x : y, elementwise; shapes broadcast as in NumPy. The gradient of the "
           "one not "
           "taken is 0 (and NaN where its own derivative is infinite).",
    .n_in = 3,
    .n_out = 1,
    .arg = {"cond", "x", "y"},
    .keep_dtype = 1 << 0,
    .flags = MAP_FLAGS | EBB_OP_BROADCAST | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {0, EBB_NEED_IN(0), EBB_NEED_IN(0)},
    .shape = where_shape,
    .forward = where_forward,
    .vjp = where_vjp,
    EBB_SAMPLES({.in = {"bool:3x4", "3x4", "3x4"}}, {.in = {"bool:3x1", "4", ""}},
                {.in = {"bool:", "2x3", "3"}}, {.in = {"bool:3", "0x3", "3"}}),
};

/* ---- pass -------------------------------------------------------------------------------- */
EBB_MAP_ROW_XY(pass_f32, float, bool, float, y ? x : 0)
EBB_MAP_ROW_XY(pass_f64, double, bool, double, y ? x : 0)

static ebb_status masked_shape(ebb__call *c)
{
    EBB_TRY(check_bool(c, 1));
    c->out[0].dtype = c->in[0].dtype;
    return ebb__shape_broadcast(&c->out[0].shape, &c->in[0].shape, &c->in[1].shape);
}
static ebb_status pass_shape(ebb__call *c)
{
    if (!ebb__dtype_is_float(c->in[0].dtype))
        return ebb__fail(EBB_E_DTYPE, "x is %s, f32 or f64 is needed",
                         ebb_dtype_name(c->in[0].dtype));
    return masked_shape(c);
}
static ebb_status pass_forward(const ebb__call *c)
{
    return ebb__map(c, c->in[0].dtype == EBB_F32 ? pass_f32 : pass_f64, NULL);
}
static void pass_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, pass, NULL, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_pass = {
    EBB_OP_HEAD(pass),
    .doc = "out = mask ? x : 0.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "mask"},
    .keep_dtype = 1 << 1,
    .flags = MAP_FLAGS | EBB_OP_BROADCAST | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = pass_shape,
    .forward = pass_forward,
    .vjp = pass_vjp,
    EBB_SAMPLES({.in = {"3x4", "bool:3x4"}}, {.in = {"3x1", "bool:4"}}, {.in = {"", "bool:2"}},
                {.in = {"0x3", "bool:3"}}),
};

/* ---- masked_fill ------------------------------------------------------------------------- */
typedef struct masked_fill_attr {
    double value;
} masked_fill_attr;

static const ebb_attr_spec masked_fill_attrs[] = {
    {"value", EBB_ATTR_F64, offsetof(masked_fill_attr, value), false,
     "one that x's dtype holds"},
    {0},
};

EBB_MAP_ROW_XY(masked_fill_f32, float, bool, float, y ? a : x)
EBB_MAP_ROW_XY(masked_fill_f64, double, bool, double, y ? a : x)
EBB_MAP_ROW_XY(masked_fill_i64, int64_t, bool, int64_t, y ? a : x)
EBB_MAP_ROW_XY(masked_fill_i32, int32_t, bool, int32_t, y ? a : x)
EBB_MAP_ROW_XY(masked_fill_u8, uint8_t, bool, uint8_t, y ? a : x)
EBB_MAP_ROW_XY(masked_fill_bool, bool, bool, bool, y ? a : x)
static const ebb__map_row masked_fill_rows[EBB__N_DTYPES] = {EBB_TABLE_ANY(masked_fill)};

static ebb_status masked_fill_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_holds(c->in[0].dtype, ((const masked_fill_attr *)c->attr)->value));
    return masked_shape(c);
}
static ebb_status masked_fill_forward(const ebb__call *c)
{
    const double p[2] = {((const masked_fill_attr *)c->attr)->value};
    return ebb__map(c, masked_fill_rows[c->in[0].dtype], p);
}
static void masked_fill_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb_tensor *open = EBB_EMIT(v, logical_not, NULL, ebb__in(v, 1));
    ebb__give(v, 0, EBB_EMIT(v, pass, NULL, ebb__grad(v, 0), open));
}

const ebb_op ebb__op_masked_fill = {
    EBB_OP_HEAD(masked_fill),
    .doc = "out = mask ? value : x, elementwise; shapes broadcast as in NumPy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "mask"},
    .keep_dtype = 1 << 1,
    .attr_bytes = sizeof(masked_fill_attr),
    .attrs = masked_fill_attrs,
    .flags = MAP_FLAGS | EBB_OP_BROADCAST,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = masked_fill_shape,
    .forward = masked_fill_forward,
    .vjp = masked_fill_vjp,
    EBB_SAMPLES({.in = {"3x4", "bool:3x4"}, .attr = "value=-1"},
                {.in = {"3x1", "bool:4"}, .attr = "value=2"},
                {.in = {"", "bool:"}, .attr = "value=0"},
                {.in = {"0x3", "bool:3"}, .attr = "value=0"}),
};

/* ---- maximum, minimum -------------------------------------------------------------------- */
/* NaN of either side wins: a comparison with it is false. */
EBB_MAP_ROWS(2, maximum_float, FLOAT, EBB_SAME, x > y || isnan(x) ? x : y)
EBB_MAP_ROWS(2, minimum_float, FLOAT, EBB_SAME, x < y || isnan(x) ? x : y)
EBB_MAP_ROWS(2, maximum, NUMBER, EBB_SAME, x > y ? x : y)
EBB_MAP_ROWS(2, minimum, NUMBER, EBB_SAME, x < y ? x : y)

static ebb_status maximum_forward(const ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    if (d == EBB_BOOL) return ebb__op_logical_or.forward(c);
    return ebb__map(c, ebb__dtype_is_float(d) ? maximum_float_rows[d] : maximum_rows[d], NULL);
}
static ebb_status minimum_forward(const ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    if (d == EBB_BOOL) return ebb__op_logical_and.forward(c);
    return ebb__map(c, ebb__dtype_is_float(d) ? minimum_float_rows[d] : minimum_rows[d], NULL);
}

/* share_grad(g, a, b) is g's part of `a` in maximum(a, b); a minimum is one of the negatives.
 */
static void maximum_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, share_grad, NULL, g, x, y));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, share_grad, NULL, g, y, x));
}
static void minimum_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0), *x = ebb__in(v, 0), *y = ebb__in(v, 1);
    if (ebb__wants(v, 0)) ebb__give(v, 0, EBB_EMIT(v, share_grad, NULL, g, y, x));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, share_grad, NULL, g, x, y));
}

#define EXTREME(op_name, text)                                                                 \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x", "y"},                                                                     \
        .flags = MAP_FLAGS | EBB_OP_BROADCAST,                                                 \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},            \
        .shape = ebb__shape_broadcast_n,                                                       \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x1", "4"}}, {.in = {"", "2"}},           \
                    {.in = {"0x3", "3"}}, {.in = {"bool:3x4", "bool:4"}}),                     \
    };
EXTREME(maximum,
        "out = the larger of x and y, elementwise; NaN wins; each of two equal ones gets half "
        "of the gradient.")
EXTREME(minimum,
        "out = the smaller of x and y, elementwise; NaN wins; each of two equal ones gets half "
        "of the gradient.")

EBB_MAP3(share_grad, y < z ? 0 : y == z ? x / 2 : x)

static void share_grad_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0,
              EBB_EMIT(v, share_grad, NULL, ebb__grad(v, 0), ebb__in(v, 1), ebb__in(v, 2)));
}

const ebb_op ebb__op_share_grad = {
    EBB_OP_HEAD(share_grad),
    .doc = "out = g where a > b, g / 2 where a = b, 0 where a < b: the gradient of a in "
           "maximum(a, b), and of b in minimum(a, b).",
    .n_in = 3,
    .n_out = 1,
    .arg = {"g", "a", "b"},
    .flags = MAP_FLAGS | EBB_OP_BROADCAST | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1) | EBB_NEED_IN(2)},
    .shape = ebb__shape_floats,
    .forward = share_grad_forward,
    .vjp = share_grad_vjp,
    EBB_SAMPLES({.in = {"3x4", "3x4", "3x4"}}, {.in = {"3x4", "3x1", "4"}},
                {.in = {"", "", ""}}, {.in = {"0x3", "0x3", "3"}}),
};
