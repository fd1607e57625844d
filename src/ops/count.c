/* count.c - how many elements are not 0.
 * SPDX-License-Identifier: MIT */
#include "ops/ids.h"
#include "ops/kernels/clones.h"
#include "ops/reduce.h"

#define EBB_TYPED "ops/count.inl"
#include "ops/kernels/numbers.h"

static void count_start(void *acc, const void *first, int64_t m)
{
    (void)first;
    for (int64_t i = 0; i < m; i++) ((int64_t *)acc)[i] = 0;
}
static void count_merge(void *acc, const void *later, int64_t m, int64_t at, int64_t n,
                        int64_t step)
{
    (void)at, (void)n, (void)step;
    for (int64_t i = 0; i < m; i++) ((int64_t *)acc)[i] += ((const int64_t *)later)[i];
}
static void count_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    (void)n;
    for (int64_t i = 0; i < m; i++)
        ((int64_t *)c->out[0].data)[at + i] = ((const int64_t *)acc)[i];
}

#define FOLDER(type)                                                                           \
    {                                                                                          \
        sizeof(int64_t), count_start, count_row_##type, count_cols_##type, count_merge,        \
            count_finish, false                                                                \
    }
static const ebb__folder count_folder[] = {
    [EBB_F32] = FOLDER(f32), [EBB_F64] = FOLDER(f64), [EBB_I64] = FOLDER(i64),
    [EBB_I32] = FOLDER(i32), [EBB_U8] = FOLDER(u8),   [EBB_BOOL] = FOLDER(bool)};

static ebb_status count_nonzero_shape(ebb__call *c)
{
    return ebb__reduce_shape(c, c->attr, EBB_I64, &count_folder[EBB_BOOL]);
}
static ebb_status count_nonzero_forward(const ebb__call *c)
{
    return ebb__reduce_forward(c, c->attr, &count_folder[c->in[0].dtype]);
}

const ebb_op ebb__op_count_nonzero = {
    EBB_OP_HEAD(count_nonzero),
    .doc = "How many elements over axes are not 0 (i64); NaN is not.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_axes),
    .attrs = ebb__axes_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = count_nonzero_shape,
    .forward = count_nonzero_forward,
    EBB_SAMPLES({.in = {"i64:3x4<2"}, .attr = "axes=0"},
                {.in = {"u8:3x40<3"}, .attr = "axes=-1 keep=1"},
                {.in = {"2x3x4"}, .attr = "axes=0,2"},
                {.in = {"bool:300x301"}, .attr = "axes=all"}, {.in = {""}, .attr = "axes=all"},
                {.in = {"0x3"}, .attr = "axes=0"}),
};
