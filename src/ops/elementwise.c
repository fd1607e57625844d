/* elementwise.c - arithmetic of two tensors and of a tensor and a number.
 *
 * Where an input was broadcast the engine sums its gradient back to its shape, so no rule here
 * does.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"

#include <math.h>
#include <stddef.h>

#define ARITH_FLAGS (EBB_OP_BROADCAST | EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE)
#define ARITH_SAMPLES                                                                          \
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x4", "4"}}, {.in = {"3x1", "1x4"}},          \
                {.in = {"", "2"}}, {.in = {"2x1x3", "4x1"}}, {.in = {"1", ""}},                \
                {.in = {"0x3", "3"}})
#define ARITH_SAMPLES_BOOL                                                                     \
    EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"3x4", "4"}}, {.in = {"3x1", "1x4"}},          \
                {.in = {"", "2"}}, {.in = {"2x1x3", "4x1"}}, {.in = {"1", ""}},                \
                {.in = {"0x3", "3"}}, {.in = {"bool:3x4", "bool:4"}})

/* ---- two tensors ------------------------------------------------------------------------- */
EBB_MAP2(plus, WRAPPING, x + y)
EBB_MAP2(sub, WRAPPING, x - y)
EBB_MAP2(times, WRAPPING, x *y)
EBB_MAP2(div, FLOAT, x / y)

/* Truths add up to "either" and multiply to "both". */
static ebb_status add_forward(const ebb__call *c)
{
    return c->in[0].dtype == EBB_BOOL ? ebb__op_logical_or.forward(c) : plus_forward(c);
}
static ebb_status mul_forward(const ebb__call *c)
{
    return c->in[0].dtype == EBB_BOOL ? ebb__op_logical_and.forward(c) : times_forward(c);
}

static void add_vjp(ebb_vjp *v)
{
    for (int32_t i = 0; i < 2; i++)
        if (ebb__wants(v, i)) ebb__give(v, i, ebb__grad(v, 0));
}

const ebb_op ebb__op_add = {
    EBB_OP_HEAD(add),
    .doc = "out = x + y, elementwise, x or y of bools; shapes broadcast as in NumPy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = ARITH_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .shape = ebb__shape_broadcast_n,
    .forward = add_forward,
    .vjp = add_vjp,
    ARITH_SAMPLES_BOOL,
};

static void sub_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0)) ebb__give(v, 0, ebb__grad(v, 0));
    if (ebb__wants(v, 1)) ebb__give(v, 1, EBB_EMIT(v, neg, NULL, ebb__grad(v, 0)));
}

const ebb_op ebb__op_sub = {
    EBB_OP_HEAD(sub),
    .doc = "out = x - y, elementwise; shapes broadcast as in NumPy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = ARITH_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .shape = ebb__shape_numbers,
    .forward = sub_forward,
    .vjp = sub_vjp,
    ARITH_SAMPLES,
};

static void mul_vjp(ebb_vjp *v)
{
    for (int32_t i = 0; i < 2; i++)
        if (ebb__wants(v, i))
            ebb__give(v, i, EBB_EMIT(v, mul, NULL, ebb__grad(v, 0), ebb__in(v, 1 - i)));
}

const ebb_op ebb__op_mul = {
    EBB_OP_HEAD(mul),
    .doc = "out = x * y, elementwise, x and y of bools; shapes broadcast as in NumPy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = ARITH_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)},
    .shape = ebb__shape_broadcast_n,
    .forward = mul_forward,
    .vjp = mul_vjp,
    ARITH_SAMPLES_BOOL,
};

/* dL/dx = g / y, dL/dy = -(g / y) * (x / y). */
static void div_vjp(ebb_vjp *v)
{
    ebb_tensor *y = ebb__in(v, 1), *part = EBB_EMIT(v, div, NULL, ebb__grad(v, 0), y);
    if (ebb__wants(v, 0)) ebb__give(v, 0, part);
    if (!ebb__wants(v, 1)) return;
    ebb_tensor *ratio = EBB_EMIT(v, div, NULL, ebb__in(v, 0), y);
    ebb__give(v, 1, EBB_EMIT(v, neg, NULL, EBB_EMIT(v, mul, NULL, part, ratio)));
}

const ebb_op ebb__op_div = {
    EBB_OP_HEAD(div),
    .doc = "out = x / y, elementwise, f32 or f64; shapes broadcast as in NumPy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "y"},
    .flags = ARITH_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .shape = ebb__shape_floats,
    .forward = div_forward,
    .vjp = div_vjp,
    .range = {{-2, 2, 0}, {0.5, 2, 0}},
    ARITH_SAMPLES,
};
