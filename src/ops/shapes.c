/* shapes.c - other shapes as formulas of views: flatten, broadcast_to, chunk, meshgrid.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/rule.h"

/* ---- flatten ---------------------------------------------------------------------------- */
typedef struct flatten_attr {
    int64_t start, end;
} flatten_attr;
static const ebb_attr_spec flatten_attrs[] = {
    {"start", EBB_ATTR_I64, offsetof(flatten_attr, start), false, "the first axis to merge"},
    {"end", EBB_ATTR_I64, offsetof(flatten_attr, end), false, "the last one; -1: x's last"},
    {0}};

static void flatten_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                            const void *attr)
{
    (void)n_in;
    flatten_attr a = *(const flatten_attr *)attr;
    ebb_shape x = ebb_shape_get(in[0]), s = {0};
    int64_t rank = x.n_dims > 0 ? x.n_dims : 1; /* a scalar becomes (1) */
    if ((v->status = ebb__axis_check(&a.start, rank)) != EBB_OK) return;
    if ((v->status = ebb__axis_check(&a.end, rank)) != EBB_OK) return;
    if (a.start > a.end) {
        v->status = ebb__fail(EBB_E_RANGE, "start is axis %lld, end is axis %lld, before it",
                              (long long)a.start, (long long)a.end);
        return;
    }
    for (int64_t d = 0; d < rank; d++) {
        if (d <= a.start || d > a.end) s.dims[s.n_dims++] = 1;
        if (x.n_dims > 0) s.dims[s.n_dims - 1] *= x.dims[d];
    }
    out[0] = ebb__rule_reshape(v, in[0], s);
}

const ebb_op ebb__op_flatten = {
    EBB_OP_HEAD(flatten),
    .doc = "x with the axes start to end merged into one, in C order; a scalar becomes (1).",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(flatten_attr),
    .attrs = flatten_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = flatten_compose,
    EBB_SAMPLES(
        {.in = {"2x3x4"}, .attr = "start=0 end=-1"}, {.in = {"2x3x4"}, .attr = "start=1 end=2"},
        {.in = {"2x3x4"}, .attr = "start=1 end=1"}, {.in = {""}, .attr = "start=0 end=0"},
        {.in = {"0x3"}, .attr = "start=0 end=1"}),
};

/* ---- broadcast_to ----------------------------------------------------------------------- */
static const ebb_attr_spec broadcast_to_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, 0, false, "of the result"}, {0}};

static void broadcast_to_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                 int32_t n_in, const void *attr)
{
    (void)n_in;
    out[0] = EBB_EMIT(v, expand, attr, in[0]);
}

const ebb_op ebb__op_broadcast_to = {
    EBB_OP_HEAD(broadcast_to),
    .doc =
        "x repeated along axes of size 1 and new leading ones; a view of stride 0 there, the "
        "same as expand.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_shape),
    .attrs = broadcast_to_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = broadcast_to_compose,
    EBB_SAMPLES({.in = {"3x1"}, .attr = "shape=3x4"}, {.in = {"4"}, .attr = "shape=2x3x4"},
                {.in = {""}, .attr = "shape=5"}, {.in = {"2x3"}, .attr = "shape=2x3"},
                {.in = {"1x3"}, .attr = "shape=0x3"}),
};

/* ---- chunk ------------------------------------------------------------------------------ */
static const ebb_attr_spec chunk_attrs[] = {
    {"axis", EBB_ATTR_I64, 0, false, "negative: from the end"}, {0}};

static void chunk_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in;
    int64_t axis = ((const ebb__axis_attr *)attr)->axis;
    ebb_shape x = ebb_shape_get(in[0]);
    if ((v->status = ebb__axis_check(&axis, x.n_dims)) != EBB_OK) return;
    int64_t n = x.dims[axis], size = n / v->n_out + (n % v->n_out > 0);
    int64_t split[2] = {size > 0 ? size : 1, axis}; /* size, axis */
    ebb__emit_n(v, &ebb__op_split, split, 1, in, v->n_out, out);
}

const ebb_op ebb__op_chunk = {
    EBB_OP_HEAD(chunk),
    .doc =
        "x in n_out parts of one length along an axis, the last one shorter where it does not "
        "divide evenly; refused where that makes fewer parts.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .result = {"parts"},
    .attr_bytes = sizeof(ebb__axis_attr),
    .attrs = chunk_attrs,
    .flags = EBB_OP_VARIADIC_OUT,
    .bound = EBB_BOUND_MEMORY,
    .compose = chunk_compose,
    EBB_SAMPLES({.in = {"6x4"}, .attr = "axis=0", .n_out = 3},
                {.in = {"5x2"}, .attr = "axis=0", .n_out = 3},
                {.in = {"2x7x3"}, .attr = "axis=-2", .n_out = 2},
                {.in = {"3"}, .attr = "axis=0", .n_out = 1},
                {.in = {"0x3"}, .attr = "axis=0", .n_out = 1}),
};

/* ---- meshgrid --------------------------------------------------------------------------- */
typedef struct meshgrid_attr {
    bool xy;
} meshgrid_attr;
static const ebb_attr_spec meshgrid_attrs[] = {
    {"xy", EBB_ATTR_BOOL, offsetof(meshgrid_attr, xy), true,
     "the first two axes of the grids change places, as in plots"},
    {0}};

static void meshgrid_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                             const void *attr)
{
    bool xy = ((const meshgrid_attr *)attr)->xy && n_in >= 2;
    if (v->n_out != n_in || n_in > EBB_MAX_DIMS) {
        v->status = ebb__fail(EBB_E_SHAPE,
                              "%d axes make %d grids, room is for %d; at most %d are possible",
                              (int)n_in, (int)n_in, (int)v->n_out, EBB_MAX_DIMS);
        return;
    }
    ebb_shape grid = {.n_dims = n_in};
    for (int32_t i = 0; i < n_in; i++) {
        ebb_shape own = ebb_shape_get(in[i]);
        int32_t axis = xy && i < 2 ? 1 - i : i;
        if (own.n_dims > 1) {
            char text[EBB__SHAPE_TEXT];
            v->status = ebb__fail(EBB_E_SHAPE, "xs[%d] is %s, a vector or a scalar is needed",
                                  (int)i, ebb__shape_text(text, sizeof text, &own));
            return;
        }
        grid.dims[axis] = own.n_dims ? own.dims[0] : 1;
    }
    for (int32_t i = 0; i < n_in; i++) {
        ebb_shape line = {.n_dims = n_in};
        int32_t axis = xy && i < 2 ? 1 - i : i;
        for (int32_t d = 0; d < n_in; d++) line.dims[d] = d == axis ? grid.dims[d] : 1;
        out[i] = EBB_EMIT(v, expand, &grid, ebb__rule_reshape(v, in[i], line));
    }
}

const ebb_op ebb__op_meshgrid = {
    EBB_OP_HEAD(meshgrid),
    .doc =
        "Grid k holds xs[k][i_k] at [i_0, i_1, ...]: one grid per vector, views of stride 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"xs"},
    .result = {"grids"},
    .attr_bytes = sizeof(meshgrid_attr),
    .options_bytes = sizeof(meshgrid_attr),
    .attrs = meshgrid_attrs,
    .options = "meshgrid",
    .flags = EBB_OP_VARIADIC_IN | EBB_OP_VARIADIC_OUT,
    .bound = EBB_BOUND_MEMORY,
    .compose = meshgrid_compose,
    EBB_SAMPLES({.in = {"3", "4"}, .n_out = 2}, {.in = {"3", "4"}, .attr = "xy=1", .n_out = 2},
                {.in = {"2", "3", "2"}, .attr = "xy=1", .n_out = 3}, {.in = {"3"}, .n_out = 1},
                {.in = {"", "2"}, .n_out = 2}, {.in = {"0", "3"}, .n_out = 2}),
};
