/* attention.c - triangles of matrices, and attention with batch axes that broadcast.
 * SPDX-License-Identifier: MIT */
#include "ops/attend.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- triangles -------------------------------------------------------------------------- */
typedef struct triangle_attr {
    int64_t diagonal;
} triangle_attr;
static const ebb_attr_spec triangle_attrs[] = {{"diagonal", EBB_ATTR_I64,
                                                offsetof(triangle_attr, diagonal), false,
                                                "0: the main one, positive: above it"},
                                               {0}};

/* Row i of a matrix keeps columns [0, i + diagonal] (lower) or [i + diagonal, n) and is `other`
 * elsewhere. */
typedef struct triangle_work {
    const ebb__call *call;
    int64_t diagonal, rows, n;
    bool lower;
    double other;
} triangle_work;

static void fill(const ebb_view *v, int64_t at, int64_t count, double value)
{
    if (value == 0) {
        size_t element = ebb__dtype_size(v->dtype);
        if (count > 0)
            memset((char *)v->data + (size_t)at * element, 0, (size_t)count * element);
        return;
    }
    for (int64_t i = at; i < at + count; i++)
        if (v->dtype == EBB_F64)
            ((double *)v->data)[i] = value;
        else
            ((float *)v->data)[i] = (float)value;
}

static void triangle_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const triangle_work *w = arg;
    const ebb_view *x = &w->call->in[0], *out = &w->call->out[0];
    size_t element = ebb__dtype_size(x->dtype);
    for (int64_t row = lo; row < hi; row++) {
        int64_t cut = row % w->rows + w->diagonal + w->lower;
        cut = cut < 0 ? 0 : cut > w->n ? w->n : cut;
        int64_t first = w->lower ? 0 : cut, stop = w->lower ? cut : w->n, at = row * w->n;
        fill(out, at, first, w->other);
        memcpy((char *)out->data + (size_t)(at + first) * element,
               (const char *)x->data + (size_t)(at + first) * element,
               (size_t)(stop - first) * element);
        fill(out, at + stop, w->n - stop, w->other);
    }
}

static ebb_status triangle_run(const ebb__call *c, int64_t diagonal, bool lower, double other)
{
    const ebb_shape *s = &c->in[0].shape;
    int64_t limit = INT64_C(1) << 60;
    diagonal = diagonal > limit ? limit : diagonal < -limit ? -limit : diagonal;
    triangle_work w = {c,     diagonal, s->dims[s->n_dims - 2], s->dims[s->n_dims - 1],
                       lower, other};
    int64_t n = ebb__n_elems(s);
    if (n > 0) ebb__parallel(c->n_threads, n / w.n, ebb__grain(w.n), triangle_rows, &w);
    return EBB_OK;
}

static ebb_status triangle_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_rank_at_least(c, 0, 2));
    return ebb__shape_same(c);
}

static ebb_status tril_forward(const ebb__call *c)
{
    return triangle_run(c, ((const triangle_attr *)c->attr)->diagonal, true, 0);
}

static ebb_status triu_forward(const ebb__call *c)
{
    return triangle_run(c, ((const triangle_attr *)c->attr)->diagonal, false, 0);
}

static void tril_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, tril, v->attr, ebb__grad(v, 0)));
}

static void triu_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, triu, v->attr, ebb__grad(v, 0)));
}

#define TRIANGLE_COMMON                                                                        \
    .n_in = 1, .n_out = 1, .arg = {"x"}, .attr_bytes = sizeof(triangle_attr),                  \
    .attrs = triangle_attrs, .bound = EBB_BOUND_MEMORY, .shape = triangle_shape,               \
    EBB_SAMPLES({.in = {"3x4"}, .attr = "diagonal=0"}, {.in = {"4x3"}, .attr = "diagonal=-1"}, \
                {.in = {"2x3x3"}, .attr = "diagonal=1"},                                       \
                {.in = {"2x2"}, .attr = "diagonal=9"}, {.in = {"0x3"}, .attr = "diagonal=0"},  \
                {.in = {"i64:3x3<9"}, .attr = "diagonal=0"})

const ebb_op ebb__op_tril = {
    EBB_OP_HEAD(tril),
    .doc = "x where column <= row + diagonal, 0 elsewhere, in the last two axes.",
    TRIANGLE_COMMON,
    .forward = tril_forward,
    .vjp = tril_vjp,
};

const ebb_op ebb__op_triu = {
    EBB_OP_HEAD(triu),
    .doc = "x where column >= row + diagonal, 0 elsewhere, in the last two axes.",
    TRIANGLE_COMMON,
    .forward = triu_forward,
    .vjp = triu_vjp,
};

static ebb_status causal_fill_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_float(c, 0));
    return triangle_shape(c);
}

static ebb_status causal_fill_forward(const ebb__call *c)
{
    return triangle_run(c, 0, true, -INFINITY);
}

static void causal_fill_vjp(ebb_vjp *v)
{
    triangle_attr attr = {0};
    ebb__give(v, 0, EBB_EMIT(v, tril, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_causal_fill = {
    EBB_OP_HEAD(causal_fill),
    .doc = "x where column <= row, -infinity elsewhere: what softmax then ignores.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = causal_fill_shape,
    .forward = causal_fill_forward,
    .vjp = causal_fill_vjp,
    EBB_SAMPLES({.in = {"1x1"}}, {.in = {"2x3x1"}}, {.in = {"0x3"}}),
};

/* ---- attention -------------------------------------------------------------------------- */
typedef struct attention_attr {
    bool causal;
    double scale, dropout_p;
} attention_attr;
static const ebb_attr_spec attention_attrs[] = {
    {"causal", EBB_ATTR_BOOL, offsetof(attention_attr, causal), true,
     "place i sees keys 0 to i only"},
    {"scale", EBB_ATTR_F64, offsetof(attention_attr, scale), true, "0: 1 / sqrt(d)"},
    {"dropout_p", EBB_ATTR_F64, offsetof(attention_attr, dropout_p), true,
     "chance of each weight to be dropped, in [0, 1)"},
    {0}};

/* The batch axes of x joined to those in *batch. */
static ebb_status join_batch(ebb_shape *batch, ebb_tensor *x)
{
    ebb_shape s = ebb_shape_get(x);
    s.n_dims = s.n_dims > 2 ? s.n_dims - 2 : 0;
    return ebb__shape_broadcast(batch, batch, &s);
}

/* x with all batch axes, and (rows, cols) behind them; a view. */
static ebb_tensor *with_batch(ebb_vjp *v, ebb_tensor *x, const ebb_shape *batch, int64_t rows,
                              int64_t cols)
{
    ebb_shape want = *batch, have = ebb_shape_get(x);
    want.dims[want.n_dims++] = rows;
    want.dims[want.n_dims++] = cols;
    return ebb__shape_equal(&want, &have) ? x : EBB_EMIT(v, expand, &want, x);
}

static ebb_status attention_batch(ebb_shape *batch, ebb_tensor *const *in)
{
    static const char *const name[] = {"q", "k", "v"};
    char text[EBB__SHAPE_TEXT];
    *batch = (ebb_shape){.n_dims = 0};
    for (int32_t i = 0; i < 3; i++) {
        ebb_shape s = ebb_shape_get(in[i]);
        if (s.n_dims < 2 || s.n_dims > EBB_MAX_DIMS)
            return ebb__fail(EBB_E_SHAPE, "%s must have at least 2 dimensions, it is %s",
                             name[i], ebb__shape_text(text, sizeof text, &s));
        EBB_TRY(join_batch(batch, in[i]));
    }
    return in[3] == EBB_NONE ? EBB_OK : join_batch(batch, in[3]);
}

static void attention_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                              const void *attr)
{
    (void)n_in;
    const attention_attr *a = attr;
    ebb_shape batch = {.n_dims = 0};
    v->status = attention_batch(&batch, in);
    if (v->status != EBB_OK) return;
    int64_t l = ebb_dim(in[0], -2), s = ebb_dim(in[1], -2), d = ebb_dim(in[0], -1);
    ebb__attend_attr how;
    memset(&how, 0, sizeof how);
    how.scale = a->scale != 0 ? a->scale : 1 / sqrt((double)(d > 0 ? d : 1));
    how.p = a->dropout_p;
    how.causal = a->causal;
    ebb_tensor *mask = in[3] == EBB_NONE ? in[3] : with_batch(v, in[3], &batch, l, s);
    out[0] =
        EBB_EMIT(v, attend, &how, with_batch(v, in[0], &batch, l, d),
                 with_batch(v, in[1], &batch, s, ebb_dim(in[1], -1)),
                 with_batch(v, in[2], &batch, ebb_dim(in[2], -2), ebb_dim(in[2], -1)), mask);
}

const ebb_op ebb__op_scaled_dot_product_attention = {
    EBB_OP_HEAD(scaled_dot_product_attention),
    .doc = "out = softmax(scale * q k' + mask) v over keys; q is (..., l, d), k (..., s, d), v "
           "(..., s, e), batch axes broadcast; mask broadcasts to (..., l, s): bool (true: may "
           "look) or a number added. A place that sees nothing is 0. Memory is linear in l and "
           "s, unless a mask wants a gradient.",
    .n_in = 4,
    .n_out = 1,
    .optional = 1u << 3,
    .arg = {"q", "k", "v", "mask"},
    .attr_bytes = sizeof(attention_attr),
    .options_bytes = sizeof(attention_attr),
    .attrs = attention_attrs,
    .options = "attention",
    .bound = EBB_BOUND_COMPUTE,
    .compose = attention_compose,
    EBB_SAMPLES({.in = {"2x3x4", "2x5x4", "2x5x6", "-"}},
                {.in = {"3x4", "3x4", "3x4", "-"}, .attr = "causal=1"},
                {.in = {"2x2x3x4", "2x2x3x4", "2x2x3x4", "3x3"}, .attr = "scale=0.5"},
                {.in = {"1x1", "1x1", "1x1", "-"}},
                {.in = {"2x1x3x4", "3x5x4", "5x2", "bool:5"}},
                {.in = {"2x3x2", "2x0x2", "2x0x3", "-"}}),
};
