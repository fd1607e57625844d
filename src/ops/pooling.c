/* pooling.c - two-dimensional max and average pooling.
 *
 * max_pool2d keeps for its gradient neither x nor out but each maximum's place
 * in its window (row * kernel_w + column): one byte per output where the window
 * has at most 256 places, else four.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { POOL_WIDTH = 128, POOL_NARROW = 256 };

typedef struct pool_attr {
    int64_t stride[2], padding[2];
    int64_t kernel_h, kernel_w;
} pool_attr;
typedef struct pool_grad_attr {
    pool_attr pool;
    ebb_shape shape; /* of x */
} pool_grad_attr;
typedef struct avg_pool_attr {
    int64_t stride[2], padding[2];
    bool exclude_padding;
    int64_t kernel_h, kernel_w;
} avg_pool_attr;
typedef struct avg_pool_grad_attr {
    avg_pool_attr pool;
    ebb_shape shape;
} avg_pool_grad_attr;

#define POOL_SPECS(type, path, is_option)                                                      \
    {"stride", EBB_ATTR_PAIR, offsetof(type, path stride), is_option,                          \
     "rows, columns; 0: the kernel's side"},                                                   \
    {                                                                                          \
        "padding", EBB_ATTR_PAIR, offsetof(type, path padding), is_option,                     \
            "on each side, at most half the kernel"                                            \
    }
#define POOL_KERNEL_SPECS(type, path)                                                          \
    {"kernel_h", EBB_ATTR_I64, offsetof(type, path kernel_h), false, "rows of the window"},    \
    {                                                                                          \
        "kernel_w", EBB_ATTR_I64, offsetof(type, path kernel_w), false,                        \
            "columns of the window"                                                            \
    }
#define AVG_SPEC(type, path, is_option)                                                        \
    {                                                                                          \
        "exclude_padding", EBB_ATTR_BOOL, offsetof(type, path exclude_padding), is_option,     \
            "divide by the places inside the image only"                                       \
    }
#define SHAPE_SPEC(type)                                                                       \
    {                                                                                          \
        "shape", EBB_ATTR_SHAPE, offsetof(type, shape), false, NULL                            \
    }

static const ebb_attr_spec pool_attrs[] = {
    POOL_SPECS(pool_attr, , true), POOL_KERNEL_SPECS(pool_attr, ), {0}};
static const ebb_attr_spec pool_grad_attrs[] = {POOL_SPECS(pool_grad_attr, pool., false),
                                                POOL_KERNEL_SPECS(pool_grad_attr, pool.),
                                                SHAPE_SPEC(pool_grad_attr),
                                                {0}};
static const ebb_attr_spec avg_pool_attrs[] = {POOL_SPECS(avg_pool_attr, , true),
                                               AVG_SPEC(avg_pool_attr, , true),
                                               POOL_KERNEL_SPECS(avg_pool_attr, ),
                                               {0}};
static const ebb_attr_spec avg_pool_grad_attrs[] = {
    POOL_SPECS(avg_pool_grad_attr, pool., false),
    AVG_SPEC(avg_pool_grad_attr, pool., false),
    POOL_KERNEL_SPECS(avg_pool_grad_attr, pool.),
    SHAPE_SPEC(avg_pool_grad_attr),
    {0}};

typedef struct pool_geometry {
    int64_t planes, h, w, out_h, out_w;
    int64_t kernel[2], stride[2], padding[2];
    bool is_wide, exclude_padding;
    ebb_shape out;
} pool_geometry;

typedef struct pool_work {
    pool_geometry s;
    const void *x, *places; /* x: what is read plane by plane; places: read */
    void *out, *places_out;
    int32_t step[POOL_NARROW]; /* from the window's corner to each of its places,
                                  in x */
    ebb_dtype dtype;
    void (*plane)(const struct pool_work *w, int64_t plane);
    /* Planes [lo, hi) of 2 x 2 windows that tile an even plane; NULL: the general form. */
    void (*tiled)(const struct pool_work *w, int64_t lo, int64_t hi);
} pool_work;

/* Columns [lo, hi) of [0, n) whose place start + stride * j lies in [0, w). */
static void pool_span(int64_t *lo, int64_t *hi, int64_t start, int64_t stride, int64_t w,
                      int64_t n)
{
    *lo = start < 0 ? (-start + stride - 1) / stride : 0;
    *hi = start < w ? (w - start + stride - 1) / stride : 0;
    if (*hi > n) *hi = n;
}

/* By how much the sum of the window at (y, j) is divided. */
static double pool_count(const pool_geometry *s, int64_t y, int64_t j)
{
    if (!s->exclude_padding) return (double)(s->kernel[0] * s->kernel[1]);
    int64_t size[2] = {s->h, s->w}, at[2] = {y, j}, n = 1;
    for (int i = 0; i < 2; i++) {
        int64_t lo = at[i] * s->stride[i] - s->padding[i], hi = lo + s->kernel[i];
        n *= (hi < size[i] ? hi : size[i]) - (lo > 0 ? lo : 0);
    }
    return (double)n;
}

/* Where in its plane of x the maximum at (y, j) came from; `first` is the
 * plane's first place. */
static inline int64_t pool_source(const pool_work *w, int64_t first, int64_t y, int64_t j)
{
    const pool_geometry *s = &w->s;
    int64_t at = first + y * s->out_w + j;
    int64_t corner =
        (y * s->stride[0] - s->padding[0]) * s->w + j * s->stride[1] - s->padding[1];
    if (!s->is_wide) return corner + w->step[((const uint8_t *)w->places)[at]];
    int64_t place = ((const int32_t *)w->places)[at];
    return corner + place / s->kernel[1] * s->w + place % s->kernel[1];
}

#define EBB_TYPED "ops/kernels/pool2x2.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/pooling.inl"
#include "ops/kernels/typed.h"

/* ---- shapes ----------------------------------------------------------------------------- */
static ebb_status pool_geometry_of(pool_geometry *s, const ebb_shape *x, const pool_attr *a)
{
    int64_t size[2] = {x->dims[2], x->dims[3]}, out[2];
    *s = (pool_geometry){.planes = x->dims[0] * x->dims[1],
                         .h = size[0],
                         .w = size[1],
                         .kernel = {a->kernel_h, a->kernel_w}};
    for (int i = 0; i < 2; i++) {
        int64_t kernel = s->kernel[i], padding = a->padding[i];
        int64_t stride = a->stride[i] ? a->stride[i] : kernel;
        if (kernel < 1 || kernel > INT32_MAX / 2 || stride < 1)
            return ebb__fail(EBB_E_RANGE, "kernel %lld, stride %lld: both must be positive",
                             (long long)kernel, (long long)stride);
        if (padding < 0 || padding > kernel / 2)
            return ebb__fail(EBB_E_RANGE, "padding %lld is outside [0, %lld], half the kernel",
                             (long long)padding, (long long)(kernel / 2));
        if (size[i] + 2 * padding < kernel)
            return ebb__fail(EBB_E_SHAPE,
                             "the kernel's side is %lld, the padded input's is %lld",
                             (long long)kernel, (long long)(size[i] + 2 * padding));
        out[i] = (size[i] + 2 * padding - kernel) / stride + 1;
        s->stride[i] = stride, s->padding[i] = padding;
    }
    if (s->kernel[0] > INT32_MAX / s->kernel[1])
        return ebb__fail(EBB_E_RANGE, "the kernel has more than %d places", INT32_MAX);
    s->is_wide = s->kernel[0] * s->kernel[1] > POOL_NARROW;
    s->out_h = out[0], s->out_w = out[1];
    s->out = EBB_SHAPE(x->dims[0], x->dims[1], out[0], out[1]);
    return EBB_OK;
}

static ebb_status avg_geometry_of(pool_geometry *s, const ebb_shape *x, const avg_pool_attr *a)
{
    pool_attr plain = {.kernel_h = a->kernel_h, .kernel_w = a->kernel_w};
    for (int i = 0; i < 2; i++) {
        plain.stride[i] = a->stride[i];
        plain.padding[i] = a->padding[i];
    }
    EBB_TRY(pool_geometry_of(s, x, &plain));
    s->exclude_padding = a->exclude_padding;
    return EBB_OK;
}

static ebb_status check_planes(const ebb__call *c)
{
    EBB_TRY(ebb__check_float(c, 0));
    return ebb__check_rank(c, 0, 4);
}

/* Operand i has the shape of the pooled result. */
static ebb_status check_pooled(const ebb__call *c, int32_t i, const pool_geometry *s)
{
    char a[EBB__SHAPE_TEXT], b[EBB__SHAPE_TEXT];
    if (ebb__shape_equal(&c->in[i].shape, &s->out)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "%s is %s, the pooled result is %s", ebb__arg_name(c, i),
                     ebb__shape_text(a, sizeof a, &c->in[i].shape),
                     ebb__shape_text(b, sizeof b, &s->out));
}

static ebb_status check_places(const ebb__call *c, const pool_geometry *s)
{
    ebb_dtype want = s->is_wide ? EBB_I32 : EBB_U8;
    if (c->in[1].dtype != want)
        return ebb__fail(EBB_E_DTYPE, "places must be %s, it is %s", ebb_dtype_name(want),
                         ebb_dtype_name(c->in[1].dtype));
    return check_pooled(c, 1, s);
}

static ebb_status check_x_shape(const ebb_shape *shape)
{
    if (shape->n_dims == 4) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "shape must have 4 dimensions, it has %lld",
                     (long long)shape->n_dims);
}

/* ---- running ---------------------------------------------------------------------------- */
static void pool_planes(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const pool_work *w = arg;
    if (w->tiled) {
        w->tiled(w, lo, hi);
        return;
    }
    for (int64_t plane = lo; plane < hi; plane++) w->plane(w, plane);
}

static bool pool_is_tiled(const pool_geometry *s)
{
    for (int i = 0; i < 2; i++)
        if (s->kernel[i] != 2 || s->stride[i] != 2 || s->padding[i] != 0) return false;
    return s->h % 2 == 0 && s->w % 2 == 0;
}

#define PLANE_FN(c, name) ((c)->in[0].dtype == EBB_F64 ? name##_f64 : name##_f32)

static ebb_status pool_run(pool_work *w, const ebb__call *c)
{
    const pool_geometry *s = &w->s;
    w->x = c->in[0].data, w->out = c->out[0].data;
    for (int64_t k = 0; !s->is_wide && k < s->kernel[0] * s->kernel[1]; k++)
        w->step[k] = k / s->kernel[1] * s->w + k % s->kernel[1];
    int64_t cost = s->out_h * s->out_w * s->kernel[0] * s->kernel[1] + s->h * s->w;
    ebb__parallel(c->n_threads, s->planes, ebb__grain(cost), pool_planes, w);
    return EBB_OK;
}

/* ---- max_pool2d ------------------------------------------------------------------------- */
static ebb_status max_pool2d_shape(ebb__call *c)
{
    pool_geometry s;
    EBB_TRY(check_planes(c));
    EBB_TRY(pool_geometry_of(&s, &c->in[0].shape, c->attr));
    ebb__set_out(c, 0, c->in[0].dtype, &s.out);
    ebb__set_out(c, 1, s.is_wide ? EBB_I32 : EBB_U8, &s.out);
    return EBB_OK;
}

static ebb_status max_pool2d_forward(const ebb__call *c)
{
    pool_work w = {.plane = PLANE_FN(c, max_plane), .places_out = c->out[1].data};
    EBB_TRY(pool_geometry_of(&w.s, &c->in[0].shape, c->attr));
    if (pool_is_tiled(&w.s)) w.tiled = PLANE_FN(c, max_tiled);
    return pool_run(&w, c);
}

static void max_pool2d_vjp(ebb_vjp *v)
{
    pool_grad_attr attr = {.pool = *(const pool_attr *)v->attr, .shape = ebb__in_shape(v, 0)};
    ebb__give(v, 0, EBB_EMIT(v, max_pool2d_grad, &attr, ebb__grad(v, 0), ebb__aux(v, 0)));
}

const ebb_op ebb__op_max_pool2d = {
    EBB_OP_HEAD(max_pool2d),
    .doc = "out[n, c, i, j] = the maximum of x[n, c] in the window at (stride "
           "* i - padding, ...); "
           "the gradient goes to the first maximum; NaN wins.",
    .n_in = 1,
    .n_out = 1,
    .n_aux = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(pool_attr),
    .options_bytes = offsetof(pool_attr, kernel_h),
    .attrs = pool_attrs,
    .options = "pool2d",
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_AUX(0)},
    .shape = max_pool2d_shape,
    .forward = max_pool2d_forward,
    .vjp = max_pool2d_vjp,
    EBB_SAMPLES({.in = {"2x3x4x6"}, .attr = "kernel_h=2 kernel_w=2"},
                {.in = {"1x2x5x5"}, .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1"},
                {.in = {"1x1x1x1"}, .attr = "kernel_h=1 kernel_w=1"},
                {.in = {"0x2x4x4"}, .attr = "kernel_h=2 kernel_w=2"},
                {.in = {"1x1x20x18"}, .attr = "kernel_h=17 kernel_w=16 stride=1,1"}),
};

static ebb_status max_grad_geometry(pool_geometry *s, const ebb__call *c)
{
    const pool_grad_attr *a = c->attr;
    EBB_TRY(check_x_shape(&a->shape));
    return pool_geometry_of(s, &a->shape, &a->pool);
}

static ebb_status max_pool2d_grad_shape(ebb__call *c)
{
    pool_geometry s;
    EBB_TRY(check_planes(c));
    EBB_TRY(max_grad_geometry(&s, c));
    EBB_TRY(check_pooled(c, 0, &s));
    EBB_TRY(check_places(c, &s));
    ebb__set_out(c, 0, c->in[0].dtype, &((const pool_grad_attr *)c->attr)->shape);
    return EBB_OK;
}

static ebb_status max_pool2d_grad_forward(const ebb__call *c)
{
    pool_work w = {.plane = PLANE_FN(c, max_grad_plane), .places = c->in[1].data};
    EBB_TRY(max_grad_geometry(&w.s, c));
    if (pool_is_tiled(&w.s)) w.tiled = PLANE_FN(c, max_grad_tiled);
    return pool_run(&w, c);
}

static void max_pool2d_grad_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, max_pool2d_pick, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_max_pool2d_grad = {
    EBB_OP_HEAD(max_pool2d_grad),
    .doc = "dx of max_pool2d: each g is added at the place in its window that "
           "places names.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "places"},
    .attr_bytes = sizeof(pool_grad_attr),
    .attrs = pool_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = max_pool2d_grad_shape,
    .forward = max_pool2d_grad_forward,
    .vjp = max_pool2d_grad_vjp,
    EBB_SAMPLES(
        {.in = {"2x3x2x3", "u8:2x3x2x3<4"}, .attr = "kernel_h=2 kernel_w=2 shape=2x3x4x6"},
        {.in = {"1x2x2x3", "u8:1x2x2x3<6"},
         .attr = "kernel_h=3 kernel_w=2 stride=2,1 shape=1x2x5x4"},
        {.in = {"1x1x1x1", "u8:1x1x1x1<1"}, .attr = "kernel_h=1 kernel_w=1 shape=1x1x1x1"}),
};

static ebb_status max_pool2d_pick_shape(ebb__call *c)
{
    const pool_grad_attr *a = c->attr;
    pool_geometry s;
    char ut[EBB__SHAPE_TEXT], xt[EBB__SHAPE_TEXT];
    EBB_TRY(check_planes(c));
    EBB_TRY(max_grad_geometry(&s, c));
    if (!ebb__shape_equal(&c->in[0].shape, &a->shape))
        return ebb__fail(EBB_E_SHAPE, "u is %s, x was %s",
                         ebb__shape_text(ut, sizeof ut, &c->in[0].shape),
                         ebb__shape_text(xt, sizeof xt, &a->shape));
    EBB_TRY(check_places(c, &s));
    ebb__set_out(c, 0, c->in[0].dtype, &s.out);
    return EBB_OK;
}

static ebb_status max_pool2d_pick_forward(const ebb__call *c)
{
    pool_work w = {.plane = PLANE_FN(c, max_pick_plane), .places = c->in[1].data};
    EBB_TRY(max_grad_geometry(&w.s, c));
    return pool_run(&w, c);
}

static void max_pool2d_pick_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, max_pool2d_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_max_pool2d_pick = {
    EBB_OP_HEAD(max_pool2d_pick),
    .doc = "out[n, c, i, j] = u at the place in its window that places names.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"u", "places"},
    .attr_bytes = sizeof(pool_grad_attr),
    .attrs = pool_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = max_pool2d_pick_shape,
    .forward = max_pool2d_pick_forward,
    .vjp = max_pool2d_pick_vjp,
    EBB_SAMPLES(
        {.in = {"2x3x4x6", "u8:2x3x2x3<4"}, .attr = "kernel_h=2 kernel_w=2 shape=2x3x4x6"},
        {.in = {"1x2x5x4", "u8:1x2x2x3<6"},
         .attr = "kernel_h=3 kernel_w=2 stride=2,1 shape=1x2x5x4"},
        {.in = {"1x1x1x1", "u8:1x1x1x1<1"}, .attr = "kernel_h=1 kernel_w=1 shape=1x1x1x1"}),
};

/* ---- avg_pool2d ------------------------------------------------------------------------- */
static ebb_status avg_pool2d_shape(ebb__call *c)
{
    pool_geometry s;
    EBB_TRY(check_planes(c));
    EBB_TRY(avg_geometry_of(&s, &c->in[0].shape, c->attr));
    ebb__set_out(c, 0, c->in[0].dtype, &s.out);
    return EBB_OK;
}

static ebb_status avg_pool2d_forward(const ebb__call *c)
{
    pool_work w = {.plane = PLANE_FN(c, avg_plane)};
    EBB_TRY(avg_geometry_of(&w.s, &c->in[0].shape, c->attr));
    return pool_run(&w, c);
}

static void avg_pool2d_vjp(ebb_vjp *v)
{
    avg_pool_grad_attr attr;
    memset(&attr, 0, sizeof attr);
    memcpy(&attr.pool, v->attr, sizeof attr.pool);
    attr.shape = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, avg_pool2d_grad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_avg_pool2d = {
    EBB_OP_HEAD(avg_pool2d),
    .doc = "out[n, c, i, j] = the mean of x[n, c] in the window at (stride * i "
           "- padding, ...), "
           "padding counted as zeros.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(avg_pool_attr),
    .options_bytes = offsetof(avg_pool_attr, kernel_h),
    .attrs = avg_pool_attrs,
    .options = "avg_pool2d",
    .bound = EBB_BOUND_MEMORY,
    .shape = avg_pool2d_shape,
    .forward = avg_pool2d_forward,
    .vjp = avg_pool2d_vjp,
    EBB_SAMPLES({.in = {"2x3x4x6"}, .attr = "kernel_h=2 kernel_w=2"},
                {.in = {"1x2x5x5"}, .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1"},
                {.in = {"1x2x5x5"},
                 .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1 exclude_padding=1"},
                {.in = {"1x1x1x1"}, .attr = "kernel_h=1 kernel_w=1"},
                {.in = {"2x0x4x4"}, .attr = "kernel_h=2 kernel_w=2"}),
};

static ebb_status avg_pool2d_grad_shape(ebb__call *c)
{
    const avg_pool_grad_attr *a = c->attr;
    pool_geometry s;
    EBB_TRY(check_planes(c));
    EBB_TRY(check_x_shape(&a->shape));
    EBB_TRY(avg_geometry_of(&s, &a->shape, &a->pool));
    EBB_TRY(check_pooled(c, 0, &s));
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    return EBB_OK;
}

static ebb_status avg_pool2d_grad_forward(const ebb__call *c)
{
    const avg_pool_grad_attr *a = c->attr;
    pool_work w = {.plane = PLANE_FN(c, avg_grad_plane)};
    EBB_TRY(avg_geometry_of(&w.s, &a->shape, &a->pool));
    return pool_run(&w, c);
}

static void avg_pool2d_grad_vjp(ebb_vjp *v)
{
    const avg_pool_grad_attr *a = v->attr;
    ebb__give(v, 0, EBB_EMIT(v, avg_pool2d, &a->pool, ebb__grad(v, 0)));
}

const ebb_op ebb__op_avg_pool2d_grad = {
    EBB_OP_HEAD(avg_pool2d_grad),
    .doc = "dx of avg_pool2d: each g is shared out over its window.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(avg_pool_grad_attr),
    .attrs = avg_pool_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = avg_pool2d_grad_shape,
    .forward = avg_pool2d_grad_forward,
    .vjp = avg_pool2d_grad_vjp,
    EBB_SAMPLES({.in = {"2x3x2x3"}, .attr = "kernel_h=2 kernel_w=2 shape=2x3x4x6"},
                {.in = {"1x2x3x6"},
                 .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1 exclude_padding=1 "
                         "shape=1x2x5x5"},
                {.in = {"1x1x1x1"}, .attr = "kernel_h=1 kernel_w=1 shape=1x1x1x1"}),
};
