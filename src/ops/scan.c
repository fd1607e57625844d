/* scan.c - sums up to each element along an axis.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ids.h"
#include "ops/operand.h"
#include "ops/parallel.h"

static const ebb_attr_spec scan_attrs[] = {
    {"axis", EBB_ATTR_I64, 0, false, "along which is summed"},
    {0},
};

typedef struct job {
    const ebb__call *c;
    ebb__around around;
    bool backwards;
} job;

#define EBB_TYPED "ops/scan.inl"
#include "ops/kernels/numbers.h"

static ebb_status scan_shape(ebb__call *c)
{
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    ebb_dtype d = c->in[0].dtype;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    c->out[0].dtype = ebb__dtype_is_float(d) ? d : EBB_I64;
    c->out[0].shape = c->in[0].shape;
    return EBB_OK;
}

static ebb_status scan(const ebb__call *c, bool backwards)
{
    static const ebb__range_fn lines[] = {
        [EBB_F32] = scan_lines_f32, [EBB_F64] = scan_lines_f64, [EBB_I64] = scan_lines_i64,
        [EBB_I32] = scan_lines_i32, [EBB_U8] = scan_lines_u8,   [EBB_BOOL] = scan_lines_bool};
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    job j = {c, ebb__around_axis(&c->in[0].shape, axis), backwards};
    if (j.around.n == 0) return EBB_OK;
    ebb__parallel(c->n_threads, j.around.outer * j.around.inner, ebb__grain(j.around.n),
                  lines[c->in[0].dtype], &j);
    return EBB_OK;
}
static ebb_status cumsum_forward(const ebb__call *c)
{
    return scan(c, false);
}
static ebb_status cumsum_back_forward(const ebb__call *c)
{
    return scan(c, true);
}
static void cumsum_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, cumsum_back, v->attr, ebb__grad(v, 0)));
}
static void cumsum_back_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, cumsum, v->attr, ebb__grad(v, 0)));
}

#define SCAN(op_name, more_flags, text)                                                        \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .attr_bytes = sizeof(ebb__axis_attr),                                                  \
        .attrs = scan_attrs,                                                                   \
        .flags = more_flags,                                                                   \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .shape = scan_shape,                                                                   \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        EBB_SAMPLES({.in = {"3x4"}, .attr = "axis=0"}, {.in = {"3x4"}, .attr = "axis=-1"},     \
                    {.in = {"2x3x4"}, .attr = "axis=1"}, {.in = {"1"}, .attr = "axis=0"},      \
                    {.in = {"2x0"}, .attr = "axis=1"}),                                        \
    };
SCAN(cumsum, 0, "out[i] = x[0] + ... + x[i] along an axis; integers and bools give i64.")
SCAN(cumsum_back, EBB_OP_PRIVATE,
     "out[i] = x[i] + ... + x[n - 1] along an axis: the gradient of cumsum.")
