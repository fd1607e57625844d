/* index_put.c - elements and rows at places named by several indices: index_put, take.
 *
 * The indices broadcast to one shape; together they name a row of x seen as (places, rest).
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/index.h"
#include "ops/rule.h"

#include <string.h>

/* ---- index_flat ------------------------------------------------------------------------- */
static const ebb_attr_spec index_flat_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, 0, false, "of the indexed axes"}, {0}};

static bool is_index(ebb_dtype d)
{
    return d == EBB_I64 || d == EBB_I32 || d == EBB_U8;
}

static ebb_status index_flat_shape(ebb__call *c)
{
    const ebb_shape *axes = c->attr;
    ebb_shape both = {0};
    if (c->n_in != axes->n_dims)
        return ebb__fail(EBB_E_SHAPE, "%d indices are given for %lld axes", (int)c->n_in,
                         (long long)axes->n_dims);
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!is_index(c->in[i].dtype))
            return ebb__fail(EBB_E_DTYPE, "indices[%d] is %s, i64, i32 or u8 is needed", (int)i,
                             ebb_dtype_name(c->in[i].dtype));
        EBB_TRY(ebb__shape_broadcast(&both, &both, &c->in[i].shape));
    }
    ebb__set_out(c, 0, EBB_I64, &both);
    return EBB_OK;
}

static int64_t strided(const ebb_view *v, int64_t i)
{
    int64_t at = 0;
    for (int64_t d = v->shape.n_dims - 1; d >= 0; d--) {
        at += i % v->shape.dims[d] * v->strides[d];
        i /= v->shape.dims[d];
    }
    return at;
}

static ebb_status index_flat_forward(const ebb__call *c)
{
    const ebb_shape *axes = c->attr;
    int64_t n = ebb__n_elems(&c->out[0].shape), *out = c->out[0].data;
    for (int64_t k = 0; k < n; k++) {
        int64_t flat = 0;
        for (int32_t i = 0; i < c->n_in; i++) {
            ebb_view index = c->in[i];
            ebb__view_broadcast(&index, &c->out[0].shape);
            int64_t at = ebb__index_at(&index, strided(&index, k)), length = axes->dims[i];
            if (at < -length || at >= length)
                return ebb__fail(
                    EBB_E_RANGE, "indices[%d] is %lld at position %lld, outside [-%lld, %lld)",
                    (int)i, (long long)at, (long long)k, (long long)length, (long long)length);
            flat = flat * length + ebb__index_wrap(at, length);
        }
        out[k] = flat;
    }
    return EBB_OK;
}

const ebb_op ebb__op_index_flat = {
    EBB_OP_HEAD(index_flat),
    .doc =
        "Several indices, broadcast, as one into the elements of the indexed axes; i64, none "
        "negative.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"indices"},
    .attr_bytes = sizeof(ebb_shape),
    .attrs = index_flat_attrs,
    .flags = EBB_OP_VARIADIC_IN | EBB_OP_INTEGER | EBB_OP_PRIVATE | EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .shape = index_flat_shape,
    .forward = index_flat_forward,
    EBB_SAMPLES({.in = {"i64:3<2", "i64:3<4"}, .attr = "shape=2x4"},
                {.in = {"i32:3x1<2", "u8:4<5"}, .attr = "shape=2x5"},
                {.in = {"i64:0"}, .attr = "shape=3"}),
};

/* ---- index_put -------------------------------------------------------------------------- */
typedef struct index_put_attr {
    bool accumulate;
} index_put_attr;
static const ebb_attr_spec index_put_attrs[] = {
    {"accumulate", EBB_ATTR_BOOL, offsetof(index_put_attr, accumulate), true,
     "add to what is there, repeated places too, instead of replacing it"},
    {0}};

/* x as (places, rest) and the values as (indices, rest); the index tells places. */
typedef struct put_plan {
    ebb_shape x, axes, values; /* values: of the indices, then the rest */
    int64_t places, n_index, rest;
} put_plan;

static void plan_put(ebb_vjp *v, put_plan *p, const ebb_shape *index, int32_t k)
{
    *p = (put_plan){.x = p->x, .places = 1, .n_index = ebb__n_elems(index), .rest = 1};
    p->values = *index;
    if (index->n_dims + p->x.n_dims - k > EBB_MAX_DIMS) {
        v->status = ebb__fail(EBB_E_SHAPE,
                              "indices and axes left make %lld dimensions, at most %d are "
                              "possible",
                              (long long)(index->n_dims + p->x.n_dims - k), EBB_MAX_DIMS);
        return;
    }
    for (int64_t d = 0; d < p->x.n_dims; d++) {
        if (d < k) {
            p->axes.dims[p->axes.n_dims++] = p->x.dims[d];
            p->places *= p->x.dims[d];
        } else {
            p->values.dims[p->values.n_dims++] = p->x.dims[d];
            p->rest *= p->x.dims[d];
        }
    }
}

static void index_put_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                              const void *attr)
{
    int32_t k = n_in - 2;
    put_plan p = {.x = ebb_shape_get(in[0])};
    ebb_shape axes = {.n_dims = k};
    if (k > p.x.n_dims) {
        v->status = ebb__fail(EBB_E_SHAPE, "%d indices are given, x has %lld axes", (int)k,
                              (long long)p.x.n_dims);
        return;
    }
    for (int32_t d = 0; d < k; d++) axes.dims[d] = p.x.dims[d];
    ebb_tensor *flat = ebb__emit(v, &ebb__op_index_flat, &axes, k, in + 2);
    if (!flat) return;
    ebb_shape index = ebb_shape_get(flat);
    plan_put(v, &p, &index, k);
    if (v->status != EBB_OK) return;
    ebb_tensor *x = ebb__rule_reshape(v, in[0], EBB_SHAPE(p.places, p.rest));
    ebb_tensor *values = EBB_EMIT(v, expand, &p.values, in[1]);
    values = ebb__rule_reshape(v, values, EBB_SHAPE(p.n_index, p.rest));
    ebb__axis_attr first = {0};
    ebb_tensor *y;
    if (((const index_put_attr *)attr)->accumulate) {
        flat = ebb__rule_reshape(v, flat, EBB_SHAPE(p.n_index));
        y = EBB_EMIT(v, index_add, &first, x, flat, values);
    } else {
        flat = ebb__rule_reshape(v, flat, EBB_SHAPE(p.n_index, 1));
        flat = EBB_EMIT(v, expand, &EBB_SHAPE(p.n_index, p.rest), flat);
        y = EBB_EMIT(v, scatter, &first, x, flat, values);
    }
    out[0] = ebb__rule_reshape(v, y, p.x);
}

const ebb_op ebb__op_index_put = {
    EBB_OP_HEAD(index_put),
    .doc =
        "x with x[indices[0][i], indices[1][i], ...] = values[i]; the indices broadcast, "
        "values broadcast to them and the axes left; the last of several for one place wins.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"x", "values", "indices"},
    .attr_bytes = sizeof(index_put_attr),
    .options_bytes = sizeof(index_put_attr),
    .attrs = index_put_attrs,
    .options = "index_put",
    .flags = EBB_OP_VARIADIC_IN,
    .bound = EBB_BOUND_MEMORY,
    .compose = index_put_compose,
    EBB_SAMPLES({.in = {"3x4", "5", "i64:5<3", "i64:5<4"}},
                {.in = {"3x4", "5", "i64:5<3", "i64:5<4"}, .attr = "accumulate=1"},
                {.in = {"3x4x2", "2x1x2", "i64:2x1<3", "i32:3<4"}, .attr = "accumulate=1"},
                {.in = {"3x2", "2", "u8:4<3"}}, {.in = {"3", "", "i64:<3"}},
                {.in = {"i64:4<9", "i64:2<9", "i64:2<4"}}, {.in = {"3x2", "0x2", "i64:0"}}),
};

/* ---- take ------------------------------------------------------------------------------- */
static void take_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in, (void)attr;
    ebb__embedding_attr plain;
    memset(&plain, 0, sizeof plain);
    out[0] = EBB_EMIT(v, embedding, &plain, ebb__rule_reshape(v, in[0], EBB_SHAPE(-1)), in[1]);
}

const ebb_op ebb__op_take = {
    EBB_OP_HEAD(take),
    .doc = "out[i...] = element index[i...] of x in C order; negative indices count from the "
           "end.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "index"},
    .bound = EBB_BOUND_MEMORY,
    .compose = take_compose,
    EBB_SAMPLES({.in = {"3x4", "i64:5<12"}}, {.in = {"2x3x2", "i32:2x3<12"}},
                {.in = {"", "u8:2<1"}}, {.in = {"5", "i64:<5"}}, {.in = {"0x3", "i64:0"}}),
};
