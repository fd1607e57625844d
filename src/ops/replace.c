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

typedef struct nan_replace_attr {
    double nan, posinf, neginf;
} nan_replace_attr;
static const ebb_attr_spec nan_replace_attrs[] = {
    {"nan", EBB_ATTR_F64, offsetof(nan_replace_attr, nan), false, NULL},
    {"posinf", EBB_ATTR_F64, offsetof(nan_replace_attr, posinf), false, NULL},
    {"neginf", EBB_ATTR_F64, offsetof(nan_replace_attr, neginf), false, NULL},
    {0},
};

EBB_MAP_ROWS(1, nan_replace, FLOAT, EBB_SAME,
             x != x       ? a
             : x - x == 0 ? x
             : x > 0      ? b
                          : (__typeof__(x))p[2])

static ebb_status nan_replace_forward(const ebb__call *c)
{
    const nan_replace_attr *k = c->attr;
    return ebb__map(c, nan_replace_rows[c->in[0].dtype], &k->nan);
}
static void nan_replace_vjp(ebb_vjp *v)
{
    ebb_tensor *kept = EBB_EMIT(v, isfinite, NULL, ebb__in(v, 0));
    ebb__give(v, 0, EBB_EMIT(v, pass, NULL, ebb__grad(v, 0), kept));
}

const ebb_op ebb__op_nan_replace = {
    EBB_OP_HEAD(nan_replace),
    .doc = "out = x with NaN and infinities replaced by numbers; their gradient is 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(nan_replace_attr),
    .attrs = nan_replace_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0)},
    .shape = ebb__shape_floats,
    .forward = nan_replace_forward,
    .vjp = nan_replace_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "nan=1 posinf=2 neginf=3"}, {.in = {""}},
                {.in = {"0x3"}}),
};

/* A formula, because the largest number is that of the caller's type, f16 being run as f32. */
static void nan_to_num_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                               int32_t n_in, const void *attr)
{
    (void)n_in;
    static const double largest[] = {
        [EBB_F32] = FLT_MAX, [EBB_F64] = DBL_MAX, [EBB_F16] = 65504, [EBB_BF16] = 0x1.fep127};
    const nan_to_num_attr *k = attr;
    ebb_dtype d = ebb_dtype_of(in[0]);
    if (!ebb__dtype_is_float(d)) { /* all finite */
        out[0] = EBB_EMIT(v, clone, NULL, in[0]);
        return;
    }
    double most = k->zero_infinities ? 0 : largest[d];
    nan_replace_attr by = {k->nan, k->posinf == 0 ? most : k->posinf,
                           k->neginf == 0 ? -most : k->neginf};
    out[0] = EBB_EMIT(v, nan_replace, &by, in[0]);
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
    .bound = EBB_BOUND_MEMORY,
    .flags = EBB_OP_IN_PLACE,
    .compose = nan_to_num_compose,
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {"67"}, .attr = "nan=2 posinf=7"}, {.in = {""}},
                {.in = {"2x1x3"}, .attr = "zero_infinities=1"}, {.in = {"0x3"}}),
};
