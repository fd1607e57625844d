/* interpolate.c - images of another size: nearest neighbours, or linear in one, two or three
 * axes.
 *
 * Linear in x, so the gradient's gradient is the operation itself. Each axis has a table of two
 * places and a weight, made in scratch; axes that x has not got have one place.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct interpolate_attr {
    ebb_shape size;
    double scale;
    bool linear, align_corners;
} interpolate_attr;
typedef struct interpolate_grad_attr {
    interpolate_attr how;
    ebb_shape shape; /* of x */
} interpolate_grad_attr;

static const ebb_attr_spec interpolate_attrs[] = {
    {"size", EBB_ATTR_SHAPE, offsetof(interpolate_attr, size), true,
     "of the spatial axes; none: by scale"},
    {"scale", EBB_ATTR_F64, offsetof(interpolate_attr, scale), true,
     "of every side, where size is not given: floor(side * scale)"},
    {"linear", EBB_ATTR_BOOL, offsetof(interpolate_attr, linear), true,
     "linear, bilinear or trilinear; else the nearest place"},
    {"align_corners", EBB_ATTR_BOOL, offsetof(interpolate_attr, align_corners), true,
     "linear: the first and last places stay where they are"},
    {0}};
static const ebb_attr_spec interpolate_grad_attrs[] = {
    {"size", EBB_ATTR_SHAPE, offsetof(interpolate_grad_attr, how.size), false, NULL},
    {"scale", EBB_ATTR_F64, offsetof(interpolate_grad_attr, how.scale), false, NULL},
    {"linear", EBB_ATTR_BOOL, offsetof(interpolate_grad_attr, how.linear), false, NULL},
    {"align_corners", EBB_ATTR_BOOL, offsetof(interpolate_grad_attr, how.align_corners), false,
     NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(interpolate_grad_attr, shape), false, NULL},
    {0}};

/* (1 - weight) * x[lo] + weight * x[hi] */
typedef struct interpolate_tap {
    int64_t lo, hi;
    double weight;
} interpolate_tap;
typedef struct interpolate_work {
    int64_t volumes, m[3], n[3], n_in, n_out; /* sides of x and of the result */
    interpolate_tap *tap[3];
    const void *x;
    void *out;
    ebb_dtype dtype;
} interpolate_work;
/* Which lines of a volume of x make one of the result, from their first elements. */
typedef struct interpolate_lines {
    int n;
    int64_t at[4];
    double weight[4];
} interpolate_lines;

static void lines_of(interpolate_lines *l, const interpolate_work *w, int64_t line)
{
    const interpolate_tap *z = &w->tap[0][line / w->n[1]], *y = &w->tap[1][line % w->n[1]];
    l->n = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double weight = (i ? z->weight : 1 - z->weight) * (j ? y->weight : 1 - y->weight);
            if (weight == 0) continue;
            l->at[l->n] = ((i ? z->hi : z->lo) * w->m[1] + (j ? y->hi : y->lo)) * w->m[2];
            l->weight[l->n++] = weight;
        }
}

#define EBB_TYPED "ops/interpolate.inl"
#include "ops/kernels/typed.h"

/* ---- sizes and places ------------------------------------------------------------------- */
static ebb_status result_shape(ebb_shape *out, const ebb_shape *x, const interpolate_attr *a)
{
    char text[EBB__SHAPE_TEXT];
    int64_t n = x->n_dims - 2;
    if (n < 1 || n > 3)
        return ebb__fail(EBB_E_SHAPE, "x is %s: 1 to 3 axes after (n, c) are needed",
                         ebb__shape_text(text, sizeof text, x));
    if (a->size.n_dims != 0 && a->size.n_dims != n)
        return ebb__fail(EBB_E_SHAPE, "size has %lld axes, x is %s", (long long)a->size.n_dims,
                         ebb__shape_text(text, sizeof text, x));
    if (a->size.n_dims == 0 && !(a->scale > 0 && a->scale <= 1e6))
        return ebb__fail(EBB_E_RANGE,
                         "scale is %g, it must be in (0, 1e6] where no size is given",
                         a->scale);
    if (a->align_corners && !a->linear)
        return ebb__fail(EBB_E_RANGE, "align_corners is for linear interpolation");
    *out = *x;
    for (int64_t i = 0; i < n; i++) {
        int64_t side = x->dims[2 + i];
        out->dims[2 + i] =
            a->size.n_dims ? a->size.dims[i] : (int64_t)floor((double)side * a->scale);
        if (side < 1 || out->dims[2 + i] < 1 || side > INT32_MAX ||
            out->dims[2 + i] > INT32_MAX)
            return ebb__fail(EBB_E_SHAPE, "a side of %lld cannot become %lld", (long long)side,
                             (long long)out->dims[2 + i]);
    }
    return EBB_OK;
}

static interpolate_work work_of(const ebb_shape *x, const ebb_shape *out)
{
    interpolate_work w = {.volumes = x->dims[0] * x->dims[1], .n_in = 1, .n_out = 1};
    for (int64_t i = 0, rank = x->n_dims - 2; i < 3; i++) {
        int64_t own = i - (3 - rank);
        w.m[i] = own >= 0 ? x->dims[2 + own] : 1;
        w.n[i] = own >= 0 ? out->dims[2 + own] : 1;
        w.n_in *= w.m[i];
        w.n_out *= w.n[i];
    }
    return w;
}

/* Where in [0, m - 1] place i of n lies: i + 1/2 counts from the edges, unless the corners are
 * aligned; with a scale given, it and not n / m says how places lie. */
static double source_of(const interpolate_attr *a, int64_t i, int64_t m, int64_t n)
{
    if (a->align_corners) return n > 1 ? (double)i * (double)(m - 1) / (double)(n - 1) : 0;
    double ratio = a->size.n_dims ? (double)m / (double)n : 1 / a->scale;
    double at = ((double)i + 0.5) * ratio - 0.5;
    return at < 0 ? 0 : at;
}

static interpolate_tap tap_of(const interpolate_attr *a, int64_t i, int64_t m, int64_t n)
{
    int64_t last = m - 1;
    if (!a->linear) {
        int64_t at = a->size.n_dims ? i * m / n : (int64_t)floor((double)i / a->scale);
        return (interpolate_tap){.lo = at < last ? at : last, .hi = last};
    }
    double at = source_of(a, i, m, n);
    interpolate_tap t = {.lo = at < (double)last ? (int64_t)at : last};
    t.hi = t.lo < last ? t.lo + 1 : last;
    t.weight = t.lo < last ? at - (double)t.lo : 0;
    return t;
}

static size_t table_bytes(const interpolate_work *w)
{
    return (size_t)(w->n[0] + w->n[1] + w->n[2]) * sizeof(interpolate_tap);
}

static void tables_make(interpolate_work *w, const ebb__call *c, const interpolate_attr *a)
{
    interpolate_tap *next = c->scratch;
    for (int i = 0; i < 3; i++) {
        w->tap[i] = next;
        for (int64_t at = 0; at < w->n[i]; at++)
            *next++ = w->m[i] == 1 ? (interpolate_tap){0} : tap_of(a, at, w->m[i], w->n[i]);
    }
    w->x = c->in[0].data, w->out = c->out[0].data;
    w->dtype = c->in[0].dtype;
}

/* ---- interpolate ------------------------------------------------------------------------ */
static ebb_status interpolate_shape(ebb__call *c)
{
    ebb_shape out;
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(result_shape(&out, &c->in[0].shape, c->attr));
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    interpolate_work w = work_of(&c->in[0].shape, &out);
    c->scratch_bytes = table_bytes(&w);
    return EBB_OK;
}

static void interpolate_lines_of(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const interpolate_work *w = arg;
    int64_t lines = w->n[0] * w->n[1];
    for (int64_t i = lo; i < hi; i++)
        EBB_BY_DTYPE(w->dtype, interpolate_line, w, i / lines, i % lines);
}

static ebb_status interpolate_forward(const ebb__call *c)
{
    interpolate_work w = work_of(&c->in[0].shape, &c->out[0].shape);
    tables_make(&w, c, c->attr);
    ebb__parallel(c->n_threads, w.volumes * w.n[0] * w.n[1], ebb__grain(4 * w.n[2]),
                  interpolate_lines_of, &w);
    return EBB_OK;
}

static void interpolate_vjp(ebb_vjp *v)
{
    interpolate_grad_attr attr;
    memset(&attr, 0, sizeof attr);
    memcpy(&attr.how, v->attr, sizeof attr.how);
    attr.shape = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, interpolate_grad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_interpolate = {
    EBB_OP_HEAD(interpolate),
    .doc = "x (n, c, sides...) with its one to three sides resampled to `size` or by `scale`: "
           "out[n, c, i] = x[n, c, floor(i * ratio)], or linear: x at (i + 1/2) * ratio - 1/2, "
           "at the edge where that lies outside.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(interpolate_attr),
    .options_bytes = sizeof(interpolate_attr),
    .attrs = interpolate_attrs,
    .options = "interpolate",
    .bound = EBB_BOUND_MEMORY,
    .shape = interpolate_shape,
    .forward = interpolate_forward,
    .vjp = interpolate_vjp,
    EBB_SAMPLES({.in = {"2x3x4x6"}, .attr = "size=7x5"}, {.in = {"1x2x5"}, .attr = "scale=1.7"},
                {.in = {"2x2x3x4"}, .attr = "size=5x7 linear=1"},
                {.in = {"2x2x6x5"}, .attr = "size=4x9 linear=1 align_corners=1"},
                {.in = {"1x2x5"}, .attr = "scale=2.3 linear=1"},
                {.in = {"1x2x2x3x4"}, .attr = "size=4x2x7 linear=1"},
                {.in = {"1x1x2x3x2"}, .attr = "scale=2"},
                {.in = {"1x1x1x1"}, .attr = "size=1x1 linear=1 align_corners=1"},
                {.in = {"1x1x1x3"}, .attr = "size=3x1 linear=1"},
                {.in = {"0x2x3x3"}, .attr = "size=2x2"}),
};

static ebb_status interpolate_grad_shape(ebb__call *c)
{
    const interpolate_grad_attr *a = c->attr;
    ebb_shape out;
    char gt[EBB__SHAPE_TEXT], ot[EBB__SHAPE_TEXT];
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(result_shape(&out, &a->shape, &a->how));
    if (!ebb__shape_equal(&out, &c->in[0].shape))
        return ebb__fail(EBB_E_SHAPE, "g is %s, the result is %s",
                         ebb__shape_text(gt, sizeof gt, &c->in[0].shape),
                         ebb__shape_text(ot, sizeof ot, &out));
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    interpolate_work w = work_of(&a->shape, &out);
    c->scratch_bytes = table_bytes(&w);
    return EBB_OK;
}

static void interpolate_volumes(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const interpolate_work *w = arg;
    for (int64_t i = lo; i < hi; i++) EBB_BY_DTYPE(w->dtype, interpolate_spread, w, i);
}

static ebb_status interpolate_grad_forward(const ebb__call *c)
{
    const interpolate_grad_attr *a = c->attr;
    interpolate_work w = work_of(&a->shape, &c->in[0].shape);
    tables_make(&w, c, &a->how);
    ebb__parallel(c->n_threads, w.volumes, ebb__grain(4 * w.n_out + w.n_in),
                  interpolate_volumes, &w);
    return EBB_OK;
}

static void interpolate_grad_vjp(ebb_vjp *v)
{
    const interpolate_grad_attr *a = v->attr;
    ebb__give(v, 0, EBB_EMIT(v, interpolate, &a->how, ebb__grad(v, 0)));
}

const ebb_op ebb__op_interpolate_grad = {
    EBB_OP_HEAD(interpolate_grad),
    .doc =
        "dx of interpolate, of the given shape: each g goes back to the places it came from.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(interpolate_grad_attr),
    .attrs = interpolate_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = interpolate_grad_shape,
    .forward = interpolate_grad_forward,
    .vjp = interpolate_grad_vjp,
    EBB_SAMPLES({.in = {"2x3x7x5"}, .attr = "size=7x5 shape=2x3x4x6"},
                {.in = {"1x2x8"}, .attr = "scale=1.7 shape=1x2x5"},
                {.in = {"2x2x5x7"}, .attr = "size=5x7 linear=1 shape=2x2x3x4"},
                {.in = {"2x2x4x9"}, .attr = "size=4x9 linear=1 align_corners=1 shape=2x2x6x5"},
                {.in = {"1x2x4x2x7"}, .attr = "size=4x2x7 linear=1 shape=1x2x2x3x4"}),
};

/* ---- channels as places ----------------------------------------------------------------- */
typedef struct shuffle_attr {
    int64_t factor;
} shuffle_attr;
static const ebb_attr_spec shuffle_attrs[] = {
    {"factor", EBB_ATTR_I64, offsetof(shuffle_attr, factor), false, "of height and width"},
    {0}};

/* x as (all before, c, h, w), with what `up` demands of them. */
static ebb_status shuffle_sides(ebb_shape *flat, const ebb_shape *x, int64_t r, bool up)
{
    char text[EBB__SHAPE_TEXT];
    int64_t n = x->n_dims;
    if (n < 3)
        return ebb__fail(EBB_E_SHAPE, "x must have at least 3 dimensions, it is %s",
                         ebb__shape_text(text, sizeof text, x));
    if (r < 1 || r > 65536)
        return ebb__fail(EBB_E_RANGE, "factor is %lld, it must be in [1, 65536]", (long long)r);
    *flat = EBB_SHAPE(1, x->dims[n - 3], x->dims[n - 2], x->dims[n - 1]);
    for (int64_t i = 0; i + 3 < n; i++) flat->dims[0] *= x->dims[i];
    if (up && flat->dims[1] % (r * r) != 0)
        return ebb__fail(EBB_E_SHAPE, "x is %s: its channels must divide by %lld",
                         ebb__shape_text(text, sizeof text, x), (long long)(r * r));
    if (!up && (flat->dims[2] % r != 0 || flat->dims[3] % r != 0))
        return ebb__fail(EBB_E_SHAPE, "x is %s: height and width must divide by %lld",
                         ebb__shape_text(text, sizeof text, x), (long long)r);
    return EBB_OK;
}

static void pixel_shuffle_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                  int32_t n_in, const void *attr)
{
    (void)n_in;
    int64_t r = ((const shuffle_attr *)attr)->factor;
    ebb_shape x = ebb_shape_get(in[0]), f = {.n_dims = 0};
    v->status = shuffle_sides(&f, &x, r, true);
    if (v->status != EBB_OK) return;
    int64_t channels = f.dims[1] / (r * r), h = f.dims[2], w = f.dims[3], n = x.n_dims;
    ebb_axes order = EBB_AXES(0, 1, 4, 2, 5, 3);
    ebb_tensor *y = ebb__rule_reshape(v, in[0], EBB_SHAPE(f.dims[0], channels, r, r, h, w));
    y = EBB_EMIT(v, permute, &order, y);
    x.dims[n - 3] = channels, x.dims[n - 2] = h * r, x.dims[n - 1] = w * r;
    out[0] = ebb__rule_reshape(v, y, x);
}

static void pixel_unshuffle_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                    int32_t n_in, const void *attr)
{
    (void)n_in;
    int64_t r = ((const shuffle_attr *)attr)->factor;
    ebb_shape x = ebb_shape_get(in[0]), f = {.n_dims = 0};
    v->status = shuffle_sides(&f, &x, r, false);
    if (v->status != EBB_OK) return;
    int64_t channels = f.dims[1], h = f.dims[2] / r, w = f.dims[3] / r, n = x.n_dims;
    ebb_axes order = EBB_AXES(0, 1, 3, 5, 2, 4);
    ebb_tensor *y = ebb__rule_reshape(v, in[0], EBB_SHAPE(f.dims[0], channels, h, r, w, r));
    y = EBB_EMIT(v, permute, &order, y);
    x.dims[n - 3] = channels * r * r, x.dims[n - 2] = h, x.dims[n - 1] = w;
    out[0] = ebb__rule_reshape(v, y, x);
}

#define SHUFFLE_COMMON                                                                         \
    .n_in = 1, .n_out = 1, .arg = {"x"}, .attr_bytes = sizeof(shuffle_attr),                   \
    .attrs = shuffle_attrs, .bound = EBB_BOUND_MEMORY

const ebb_op ebb__op_pixel_shuffle = {
    EBB_OP_HEAD(pixel_shuffle),
    .doc = "out[..., c, h r + i, w r + j] = x[..., c r^2 + i r + j, h, w], r the factor: "
           "channels become places.",
    SHUFFLE_COMMON,
    .compose = pixel_shuffle_compose,
    EBB_SAMPLES(
        {.in = {"2x8x2x3"}, .attr = "factor=2"}, {.in = {"9x2x1"}, .attr = "factor=3"},
        {.in = {"1x1x1x1"}, .attr = "factor=1"}, {.in = {"2x1x4x2x2"}, .attr = "factor=2"},
        {.in = {"0x4x2x2"}, .attr = "factor=2"}, {.in = {"i64:4x1x2"}, .attr = "factor=2"}),
};

const ebb_op ebb__op_pixel_unshuffle = {
    EBB_OP_HEAD(pixel_unshuffle),
    .doc = "out[..., c r^2 + i r + j, h, w] = x[..., c, h r + i, w r + j], r the factor: the "
           "inverse of pixel_shuffle.",
    SHUFFLE_COMMON,
    .compose = pixel_unshuffle_compose,
    EBB_SAMPLES(
        {.in = {"2x2x4x6"}, .attr = "factor=2"}, {.in = {"1x6x3"}, .attr = "factor=3"},
        {.in = {"1x1x1x1"}, .attr = "factor=1"}, {.in = {"2x1x1x4x2"}, .attr = "factor=2"},
        {.in = {"0x1x2x2"}, .attr = "factor=2"}, {.in = {"i64:1x2x4"}, .attr = "factor=2"}),
};
