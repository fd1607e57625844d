/* one_hot.c - indices as rows of zeros with a one; how many columns may follow from the values.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/rule.h"

#include <string.h>

typedef struct one_hot_attr {
    int64_t n_classes;
} one_hot_attr;
static const ebb_attr_spec one_hot_attrs[] = {
    {"n_classes", EBB_ATTR_I64, offsetof(one_hot_attr, n_classes), false,
     "length of the new axis; 0 or -1: one more than the largest index"},
    {0}};

static ebb_status rows_shape(ebb__call *c, int64_t n)
{
    ebb_shape out = c->in[0].shape;
    if (out.n_dims == EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE, "index has %d dimensions already, the most possible",
                         EBB_MAX_DIMS);
    out.dims[out.n_dims++] = n;
    ebb__set_out(c, 0, EBB_I64, &out);
    return EBB_OK;
}

static ebb_status rows_forward(const ebb__call *c)
{
    int64_t n = c->out[0].shape.dims[c->out[0].shape.n_dims - 1];
    int64_t count = ebb__n_elems(&c->in[0].shape);
    int64_t *out = c->out[0].data;
    for (int64_t i = 0; i < count; i++) {
        int64_t at = ebb__index_at(&c->in[0], i);
        if (at < 0 || at >= n)
            return ebb__fail(EBB_E_RANGE, "index %lld at position %lld is outside [0, %lld)",
                             (long long)at, (long long)i, (long long)n);
    }
    if (count > 0) memset(out, 0, (size_t)(count * n) * sizeof *out);
    for (int64_t i = 0; i < count; i++) out[i * n + ebb__index_at(&c->in[0], i)] = 1;
    return EBB_OK;
}

/* ---- so many columns --------------------------------------------------------------------- */
static ebb_status one_hot_rows_shape(ebb__call *c)
{
    int64_t n = ((const one_hot_attr *)c->attr)->n_classes;
    EBB_TRY(ebb__check_integer(c, 0));
    if (n < 1)
        return ebb__fail(EBB_E_RANGE, "n_classes is %lld, it must be positive, or 0 or -1",
                         (long long)n);
    return rows_shape(c, n);
}

const ebb_op ebb__op_one_hot_rows = {
    EBB_OP_HEAD(one_hot_rows),
    .doc = "one_hot of a given number of classes.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"index"},
    .attr_bytes = sizeof(one_hot_attr),
    .attrs = one_hot_attrs,
    .flags = EBB_OP_INTEGER | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = one_hot_rows_shape,
    .forward = rows_forward,
    EBB_SAMPLES(
        {.in = {"i64:4<5"}, .attr = "n_classes=5"}, {.in = {"u8:2x3<3"}, .attr = "n_classes=4"},
        {.in = {"i32:<2"}, .attr = "n_classes=2"}, {.in = {"i64:0"}, .attr = "n_classes=3"}),
};

/* ---- as many as the values need ---------------------------------------------------------- */
static ebb_status one_hot_fit_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_integer(c, 0));
    int64_t count = ebb__n_elems(&c->in[0].shape), most = -1;
    if (count == 0)
        return ebb__fail(EBB_E_SHAPE, "index is empty: n_classes does not follow from it");
    for (int64_t i = 0; i < count; i++) {
        int64_t at = ebb__index_at(&c->in[0], i);
        if (at > most) most = at;
    }
    if (most == INT64_MAX)
        return ebb__fail(EBB_E_SHAPE, "the largest index is the largest i64");
    return rows_shape(c, most + 1);
}

const ebb_op ebb__op_one_hot_fit = {
    EBB_OP_HEAD(one_hot_fit),
    .doc = "one_hot of one class more than the largest index.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"index"},
    .flags = EBB_OP_INTEGER | EBB_OP_PRIVATE | EBB_OP_VALUE_SHAPE,
    .bound = EBB_BOUND_MEMORY,
    .shape = one_hot_fit_shape,
    .forward = rows_forward,
    EBB_SAMPLES({.in = {"i64:4<5"}}, {.in = {"u8:2x3<3"}}, {.in = {"i32:<2"}}),
};

/* ---- one_hot ----------------------------------------------------------------------------- */
static void one_hot_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                            const void *attr)
{
    (void)n_in;
    int64_t n = ((const one_hot_attr *)attr)->n_classes;
    bool follows = n == 0 || n == -1;
    out[0] = follows ? EBB_EMIT(v, one_hot_fit, NULL, in[0])
                     : EBB_EMIT(v, one_hot_rows, attr, in[0]);
}

const ebb_op ebb__op_one_hot = {
    EBB_OP_HEAD(one_hot),
    .doc = "out[i..., j] = 1 where j = index[i...], else 0; i64.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"index"},
    .attr_bytes = sizeof(one_hot_attr),
    .attrs = one_hot_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = one_hot_compose,
    EBB_SAMPLES(
        {.in = {"i64:4<5"}, .attr = "n_classes=5"}, {.in = {"u8:2x3<3"}, .attr = "n_classes=4"},
        {.in = {"i32:<2"}, .attr = "n_classes=2"}, {.in = {"i64:0"}, .attr = "n_classes=3"},
        {.in = {"i64:2x2<4"}, .attr = "n_classes=0"},
        {.in = {"i32:3<4"}, .attr = "n_classes=-1"}),
};
