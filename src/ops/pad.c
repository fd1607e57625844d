/* pad.c - axes made longer at their ends: pad and its gradient.
 *
 * Each place of the result shows one place of x, or none (constant): a map per axis. Rows go
 * through it whole; between the two ends of the last axis it is the identity and a copy.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include "base/size.h"

#include <stddef.h>
#include <string.h>

typedef struct pad_attr {
    int64_t mode;
    double value;
    ebb_shape before, after;
} pad_attr;
static const ebb_attr_spec pad_attrs[] = {
    {"mode", EBB_ATTR_I64, offsetof(pad_attr, mode), true,
     "EBB_PAD_CONSTANT (0), EBB_PAD_REFLECT, EBB_PAD_REPLICATE or EBB_PAD_CIRCULAR"},
    {"value", EBB_ATTR_F64, offsetof(pad_attr, value), true, "of a constant border; 0: zeros"},
    {"before", EBB_ATTR_SHAPE, offsetof(pad_attr, before), false,
     "places put before the first of each of the last axes; negative (constant): cut off"},
    {"after", EBB_ATTR_SHAPE, offsetof(pad_attr, after), false,
     "places put after the last, for the same axes"},
    {0}};
/* shape: x's. */
typedef struct pad_grad_attr {
    int64_t mode;
    ebb_shape before, after, shape;
} pad_grad_attr;
static const ebb_attr_spec pad_grad_attrs[] = {
    {"mode", EBB_ATTR_I64, offsetof(pad_grad_attr, mode), false, NULL},
    {"before", EBB_ATTR_SHAPE, offsetof(pad_grad_attr, before), false, NULL},
    {"after", EBB_ATTR_SHAPE, offsetof(pad_grad_attr, after), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(pad_grad_attr, shape), false, NULL},
    {0}};

/* ---- where a place comes from ----------------------------------------------------------- */
/* The place of x that shows at `at` of an axis that begins at -before; -1: none. */
static int64_t pad_source(int64_t at, int64_t before, int64_t n, int64_t mode)
{
    int64_t i = at - before;
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case EBB_PAD_REFLECT:
        return i < 0 ? -i : 2 * (n - 1) - i;
    case EBB_PAD_REPLICATE:
        return i < 0 ? 0 : n - 1;
    case EBB_PAD_CIRCULAR:
        return i < 0 ? i + n : i - n;
    default:
        return -1;
    }
}

static ebb_status check_axis(int64_t axis, int64_t n, int64_t before, int64_t after,
                             int64_t mode)
{
    int64_t least = mode == EBB_PAD_CONSTANT ? INT64_MIN : 0, most = INT64_MAX;
    if (mode == EBB_PAD_REFLECT) most = n - 1;
    if (mode == EBB_PAD_CIRCULAR) most = n;
    if (mode == EBB_PAD_REPLICATE && n == 0) most = 0;
    if (before >= least && after >= least && before <= most && after <= most) return EBB_OK;
    return ebb__fail(EBB_E_RANGE,
                     "axis %lld of length %lld cannot get %lld before and %lld after in this "
                     "mode",
                     (long long)axis, (long long)n, (long long)before, (long long)after);
}

/* The padded shape, and `before` of every axis. */
static ebb_status pad_sizes(ebb_shape *out, int64_t first[EBB_MAX_DIMS], const ebb_shape *x,
                            const ebb_shape *before, const ebb_shape *after, int64_t mode)
{
    int64_t n = before->n_dims, skip = x->n_dims - n;
    if (mode < EBB_PAD_CONSTANT || mode > EBB_PAD_CIRCULAR)
        return ebb__fail(EBB_E_RANGE, "mode is %lld, 0 to %d are modes", (long long)mode,
                         (int)EBB_PAD_CIRCULAR);
    if (n != after->n_dims || n < 0 || skip < 0)
        return ebb__fail(EBB_E_SHAPE,
                         "before names %lld axes, after %lld: x has %lld, and both must name "
                         "as many of them",
                         (long long)n, (long long)after->n_dims, (long long)x->n_dims);
    *out = *x;
    for (int64_t d = 0; d < x->n_dims; d++) {
        first[d] = d < skip ? 0 : before->dims[d - skip];
        int64_t last = d < skip ? 0 : after->dims[d - skip];
        EBB_TRY(check_axis(d, x->dims[d], first[d], last, mode));
        if (!ebb__add_i64(&out->dims[d], x->dims[d], first[d]) ||
            !ebb__add_i64(&out->dims[d], out->dims[d], last))
            return ebb__fail(EBB_E_SHAPE, "the length of axis %lld overflows", (long long)d);
        if (out->dims[d] < 0)
            return ebb__fail(EBB_E_RANGE, "%lld places are cut from axis %lld of length %lld",
                             (long long)(x->dims[d] - out->dims[d]), (long long)d,
                             (long long)x->dims[d]);
    }
    return EBB_OK;
}

/* ---- kernels ---------------------------------------------------------------------------- */
typedef struct pad_work {
    ebb_shape small, large; /* at least one axis each */
    int64_t first[EBB_MAX_DIMS], mode;
    ebb_dtype dtype;
    char *x, *y; /* small, large */
    uint64_t fill;
} pad_work;

/* Offset of the row of x that row `row` of the result shows; -1: none. */
static int64_t source_row(const pad_work *w, int64_t row)
{
    int64_t from = 0, step = 1;
    for (int64_t d = w->large.n_dims - 2; d >= 0; d--) {
        int64_t at = pad_source(row % w->large.dims[d], w->first[d], w->small.dims[d], w->mode);
        if (at < 0) return -1;
        row /= w->large.dims[d];
        from += at * step;
        step *= w->small.dims[d];
    }
    return from * w->small.dims[w->small.n_dims - 1];
}

static void fill(char *to, int64_t n, uint64_t value, size_t size)
{
    for (int64_t i = 0; i < n; i++) memcpy(to + (size_t)i * size, &value, size);
}

static int64_t clamp_to(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i > n ? n : i;
}

static void pad_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const pad_work *w = arg;
    int64_t last = w->large.n_dims - 1, n = w->large.dims[last], m = w->small.dims[last];
    int64_t first = w->first[last], start = clamp_to(first, n);
    int64_t end = clamp_to(first + m, n); /* where the row of x shows unchanged */
    if (end < start) end = start;
    size_t size = ebb__dtype_size(w->dtype);
    for (int64_t row = lo; row < hi; row++) {
        char *to = w->y + (size_t)(row * n) * size;
        int64_t at = source_row(w, row);
        if (at < 0) {
            fill(to, n, w->fill, size);
            continue;
        }
        const char *from = w->x + (size_t)at * size;
        if (end > start)
            memcpy(to + (size_t)start * size, from + (size_t)(start - first) * size,
                   (size_t)(end - start) * size);
        for (int64_t i = 0; i < n; i++) {
            if (i == start) i = end;
            if (i == n) break;
            int64_t k = pad_source(i, first, m, w->mode);
            memcpy(to + (size_t)i * size,
                   k < 0 ? (const char *)&w->fill : from + (size_t)k * size, size);
        }
    }
}

/* Rows in C order on one thread: places that show several times add up in one order. */
static void pad_add_rows(const pad_work *w)
{
    int64_t last = w->large.n_dims - 1, n = w->large.dims[last], m = w->small.dims[last];
    int64_t rows = n > 0 ? ebb__n_elems(&w->large) / n : 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t at = source_row(w, row);
        for (int64_t i = 0; i < n && at >= 0; i++) {
            int64_t k = pad_source(i, w->first[last], m, w->mode);
            if (k < 0) continue;
            if (w->dtype == EBB_F64)
                ((double *)w->x)[at + k] += ((const double *)w->y)[row * n + i];
            else
                ((float *)w->x)[at + k] += ((const float *)w->y)[row * n + i];
        }
    }
}

/* ---- pad -------------------------------------------------------------------------------- */
static ebb_status pad_shape(ebb__call *c)
{
    const pad_attr *a = c->attr;
    ebb_shape out;
    int64_t first[EBB_MAX_DIMS];
    EBB_TRY(pad_sizes(&out, first, &c->in[0].shape, &a->before, &a->after, a->mode));
    EBB_TRY(ebb__check_holds(c->in[0].dtype, a->value));
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status pad_forward(const ebb__call *c)
{
    const pad_attr *a = c->attr;
    pad_work w = {.small = c->in[0].shape,
                  .mode = a->mode,
                  .dtype = c->in[0].dtype,
                  .x = c->in[0].data,
                  .y = c->out[0].data,
                  .fill = ebb__element_bits(c->in[0].dtype, a->value)};
    EBB_TRY(pad_sizes(&w.large, w.first, &w.small, &a->before, &a->after, a->mode));
    int64_t n = ebb__n_elems(&w.large);
    if (n == 0) return EBB_OK;
    if (w.large.n_dims == 0) {
        memcpy(w.y, w.x, ebb__dtype_size(w.dtype));
        return EBB_OK;
    }
    int64_t length = w.large.dims[w.large.n_dims - 1];
    ebb__parallel(c->n_threads, n / length, ebb__grain(length), pad_rows, &w);
    return EBB_OK;
}

static void pad_vjp(ebb_vjp *v)
{
    const pad_attr *a = v->attr;
    pad_grad_attr attr = {a->mode, a->before, a->after, ebb__in_shape(v, 0)};
    ebb__give(v, 0, EBB_EMIT(v, pad_grad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_pad = {
    EBB_OP_HEAD(pad),
    .doc =
        "x with its last axes made longer at both ends: by a value, by x reflected about its "
        "first and last places (which do not repeat), by those places repeated, or by x "
        "again from its other end.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(pad_attr),
    .options_bytes = offsetof(pad_attr, before),
    .attrs = pad_attrs,
    .options = "pad",
    .bound = EBB_BOUND_MEMORY,
    .shape = pad_shape,
    .forward = pad_forward,
    .vjp = pad_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "before=1,2 after=0,3 value=0.5"},
                {.in = {"2x3x4"}, .attr = "before=2 after=1"},
                {.in = {"3x5"}, .attr = "before=-1,-2 after=1,-1"},
                {.in = {"4x5"}, .attr = "mode=1 before=3,2 after=2,4"},
                {.in = {"2x3x2x2"}, .attr = "mode=2 before=1,2,0 after=3,1,2"},
                {.in = {"2x3"}, .attr = "mode=3 before=3 after=2"},
                {.in = {"i64:3<9"}, .attr = "before=1 after=1 value=-7"},
                {.in = {""}, .attr = "before= after="},
                {.in = {"0x3"}, .attr = "before=2,0 after=0,1 value=1"}),
};

/* ---- pad_grad --------------------------------------------------------------------------- */
static ebb_status pad_grad_shape(ebb__call *c)
{
    const pad_grad_attr *a = c->attr;
    ebb_shape large;
    int64_t first[EBB_MAX_DIMS];
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(pad_sizes(&large, first, &a->shape, &a->before, &a->after, a->mode));
    if (!ebb__shape_equal(&large, &c->in[0].shape)) {
        char gt[EBB__SHAPE_TEXT], yt[EBB__SHAPE_TEXT];
        return ebb__fail(EBB_E_SHAPE, "g is %s, the padded shape %s",
                         ebb__shape_text(gt, sizeof gt, &c->in[0].shape),
                         ebb__shape_text(yt, sizeof yt, &large));
    }
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    return EBB_OK;
}

static ebb_status pad_grad_forward(const ebb__call *c)
{
    const pad_grad_attr *a = c->attr;
    pad_work w = {.small = a->shape,
                  .mode = a->mode,
                  .dtype = c->in[0].dtype,
                  .x = c->out[0].data,
                  .y = c->in[0].data};
    size_t size = ebb__dtype_size(w.dtype), bytes = (size_t)ebb__n_elems(&w.small) * size;
    EBB_TRY(pad_sizes(&w.large, w.first, &w.small, &a->before, &a->after, a->mode));
    if (bytes == 0) return EBB_OK;
    memset(w.x, 0, bytes);
    if (w.large.n_dims == 0)
        memcpy(w.x, w.y, size);
    else
        pad_add_rows(&w);
    return EBB_OK;
}

static void pad_grad_vjp(ebb_vjp *v)
{
    const pad_grad_attr *a = v->attr;
    pad_attr attr = {a->mode, 0, a->before, a->after};
    ebb__give(v, 0, EBB_EMIT(v, pad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_pad_grad = {
    EBB_OP_HEAD(pad_grad),
    .doc = "The gradient of pad: each place of x gets the sum of g over the places that show "
           "it.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(pad_grad_attr),
    .attrs = pad_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = pad_grad_shape,
    .forward = pad_grad_forward,
    .vjp = pad_grad_vjp,
    EBB_SAMPLES({.in = {"4x9"}, .attr = "before=1,2 after=0,3 shape=3x4"},
                {.in = {"3x2"}, .attr = "before=-1,-2 after=1,-1 shape=3x5"},
                {.in = {"9x11"}, .attr = "mode=1 before=3,2 after=2,4 shape=4x5"},
                {.in = {"8"}, .attr = "mode=2 before=3 after=2 shape=3"},
                {.in = {"2x8"}, .attr = "mode=3 before=3 after=2 shape=2x3"},
                {.in = {"2"}, .attr = "before=2 after=0 shape=0"}),
};
