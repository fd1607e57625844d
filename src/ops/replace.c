/* replace.c - nan_to_num: numbers for what is none.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"
#include "ops/rule.h"
#include "ops/unary.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

typedef struct nan_to_num_attr {
    double nan, posinf, neginf;
    bool zero_infinities;
} nan_to_num_attr;
static const ebb_attr_spec nan_to_num_options[] = {
    {"nan", EBB_ATTR_F64, offsetof(nan_to_num_attr, nan), true, "for NaN"},
    {"posinf", EBB_ATTR_F64, offsetof(nan_to_num_attr, posinf), true,
     "for infinity; 0: the largest finite number"},
    {"neginf", EBB_ATTR_F64, offsetof(nan_to_num_attr, neginf), true,
     "for -infinity; 0: the lowest finite number"},
    {"zero_infinities", EBB_ATTR_BOOL, offsetof(nan_to_num_attr, zero_infinities), true,
     "posinf and neginf mean 0 where they are 0"},
    {0},
};

EBB_MAP_ROWS(1, nan_to_num, FLOAT, EBB_SAME,
             x != x       ? a
             : x - x == 0 ? x
             : x > 0      ? b
                          : (__typeof__(x))p[2])

static ebb_status nan_to_num_forward(const ebb__call *c)
{
    const nan_to_num_attr *k = c->attr;
    double largest = c->in[0].dtype == EBB_F64 ? DBL_MAX : FLT_MAX;
    if (k->zero_infinities) largest = 0;
    const double p[3] = {k->nan, k->posinf == 0 ? largest : k->posinf,
                         k->neginf == 0 ? -largest : k->neginf};
    return ebb__map(c, nan_to_num_rows[c->in[0].dtype], p);
}
static void nan_to_num_vjp(ebb_vjp *v)
{
    ebb_tensor *kept = EBB_EMIT(v, isfinite, NULL, ebb__in(v, 0));
    ebb__give(v, 0, EBB_EMIT(v, pass, NULL, ebb__grad(v, 0), kept));
}

const ebb_op ebb__op_nan_to_num = {
    EBB_OP_HEAD(nan_to_num),
    .doc = "out = x with NaN and infinities replaced; their gradient is 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(nan_to_num_attr),
    .options_bytes = sizeof(nan_to_num_attr),
    .attrs = nan_to_num_options,
    .options = "nan_to_num",
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0)},
    .shape = ebb__shape_floats,
    .forward = nan_to_num_forward,
    .vjp = nan_to_num_vjp,
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {"67"}, .attr = "nan=2 posinf=7"}, {.in = {""}},
                {.in = {"2x1x3"}, .attr = "zero_infinities=1"}, {.in = {"0x3"}}),
};
