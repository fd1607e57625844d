/* max_pool.c - max pooling over one, two or three axes.
 *
 * What is kept for the gradient is neither x nor out but each maximum's place in its window
 * ((plane * kernel_h + row) * kernel_w + column): one byte per output where the window has at
 * most 256 places, else four.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/operand.h"
#include "ops/pooling.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

#define MAX_SPECS(n, kind, text)                                                               \
    static const ebb_attr_spec max_pool##n##d_attrs[] = {                                      \
        {"stride", kind, 0, true, text "0: the kernel's side"},                                \
        {"padding", kind, 8 * n, true, "on each side, at most half the kernel"},               \
        {"dilation", kind, 16 * n, true, "from place to place of the window; 0: 1"},           \
        {"ceil_mode", EBB_ATTR_BOOL, 24 * n, true,                                             \
         "a last window for what is left at the end"},                                         \
        EBB__POOL_KERNEL_##n(24 * n + 8),                                                      \
        {0}}
MAX_SPECS(1, EBB_ATTR_I64, "");
MAX_SPECS(2, EBB_ATTR_PAIR, "rows, columns; ");
MAX_SPECS(3, EBB_ATTR_TRIPLE, "planes, rows, columns; ");

typedef struct max_work {
    ebb__pool_geometry s;
    const void *x, *places; /* x: what is read volume by volume; places: read */
    void *out, *places_out;
    int64_t step[EBB__POOL_NARROW]; /* from the window's corner to each of its places, in x */
    void (*volume)(const struct max_work *w, int64_t volume);
    /* Volumes [lo, hi) of 2 x 2 windows that tile even planes; NULL: the general form. */
    void (*tiled)(const struct max_work *w, int64_t lo, int64_t hi);
} max_work;

/* From the window's corner to a place of it, in x. */
static int64_t max_step(const ebb__pool_geometry *s, int64_t place)
{
    int64_t kj = place % s->kernel[2], ki = place / s->kernel[2] % s->kernel[1];
    int64_t kd = place / s->kernel[2] / s->kernel[1];
    return (kd * s->dilation[0] * s->in[1] + ki * s->dilation[1]) * s->in[2] +
           kj * s->dilation[2];
}

/* Where in its volume of x the maximum at (z, y, j), output element `at`, came from. */
static inline int64_t max_source(const max_work *w, int64_t at, int64_t z, int64_t y, int64_t j)
{
    const ebb__pool_geometry *s = &w->s;
    int64_t corner =
        (ebb__pool_at(s, 0, z, 0) * s->in[1] + ebb__pool_at(s, 1, y, 0)) * s->in[2] +
        ebb__pool_at(s, 2, j, 0);
    if (!s->is_wide) return corner + w->step[((const uint8_t *)w->places)[at]];
    return corner + max_step(s, ((const int32_t *)w->places)[at]);
}

#define EBB_TYPED "ops/kernels/pool2x2.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/max_pool.inl"
#include "ops/kernels/typed.h"

/* ---- running ---------------------------------------------------------------------------- */
/* How many spatial axes: a public operation's attributes are 4 n + 1 numbers. */
static int64_t rank_of(const ebb_op *op)
{
    return (op->attr_bytes / (int64_t)sizeof(int64_t) - 1) / 4;
}

static ebb__pool_attr attr_of(const ebb_op *op, const void *attr)
{
    ebb__pool_attr a;
    memset(&a, 0, sizeof a);
    int64_t n = rank_of(op);
    const int64_t *from = attr;
    for (int64_t i = 0; i < n; i++) {
        a.stride[i] = from[i];
        a.padding[i] = from[n + i];
        a.dilation[i] = from[2 * n + i];
        a.kernel[i] = from[3 * n + 1 + i];
    }
    a.ceil_mode = *(const bool *)(from + 3 * n);
    return a;
}

static void max_volumes(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const max_work *w = arg;
    if (w->tiled) {
        w->tiled(w, lo, hi);
        return;
    }
    for (int64_t volume = lo; volume < hi; volume++) w->volume(w, volume);
}

static bool is_tiled(const ebb__pool_geometry *s)
{
    if (s->kernel[0] != 1 || s->stride[0] != 1) return false;
    for (int i = 1; i < 3; i++)
        if (s->kernel[i] != 2 || s->stride[i] != 2 || s->padding[i] != 0 ||
            s->dilation[i] != 1 || s->in[i] % 2 != 0)
            return false;
    return true;
}

#define VOLUME_FN(c, name) ((c)->in[0].dtype == EBB_F64 ? name##_f64 : name##_f32)

static ebb_status max_run(max_work *w, const ebb__call *c)
{
    const ebb__pool_geometry *s = &w->s;
    w->x = c->in[0].data, w->out = c->out[0].data;
    for (int64_t k = 0; !s->is_wide && k < s->kernel[0] * s->kernel[1] * s->kernel[2]; k++)
        w->step[k] = max_step(s, k);
    ebb__pool_run(c, s, max_volumes, w);
    return EBB_OK;
}

/* ---- max pooling ------------------------------------------------------------------------ */
static ebb_status max_pool_shape(ebb__call *c)
{
    ebb__pool_geometry s;
    ebb__pool_attr a = attr_of(c->op, c->attr);
    EBB_TRY(ebb__pool_check(c, rank_of(c->op)));
    EBB_TRY(ebb__pool_geometry_of(&s, &c->in[0].shape, &a));
    ebb__set_out(c, 0, c->in[0].dtype, &s.shape);
    ebb__set_out(c, 1, s.is_wide ? EBB_I32 : EBB_U8, &s.shape);
    return EBB_OK;
}

static ebb_status max_pool_forward(const ebb__call *c)
{
    max_work w = {.volume = VOLUME_FN(c, max_volume), .places_out = c->out[1].data};
    ebb__pool_attr a = attr_of(c->op, c->attr);
    EBB_TRY(ebb__pool_geometry_of(&w.s, &c->in[0].shape, &a));
    if (is_tiled(&w.s)) w.tiled = VOLUME_FN(c, max_tiled);
    return max_run(&w, c);
}

static void max_pool_vjp(ebb_vjp *v)
{
    ebb__pool_grad_attr attr = {.pool = attr_of(v->op, v->attr), .shape = ebb__in_shape(v, 0)};
    ebb__give(v, 0, EBB_EMIT(v, max_pool_grad, &attr, ebb__grad(v, 0), ebb__aux(v, 0)));
}

#define MAX_POOL(n, what)                                                                      \
    EBB_OP_HEAD(max_pool##n##d),                                                               \
        .doc = "out[n, c, " what                                                               \
               ", ...] = the maximum of x[n, c] in the window at (stride * " what              \
               " - padding, ...); the gradient goes to the first maximum; NaN wins.",          \
        .n_in = 1, .n_out = 1, .n_aux = 1, .arg = {"x"}, .attr_bytes = (4 * n + 1) * 8,        \
        .options_bytes = (3 * n + 1) * 8, .attrs = max_pool##n##d_attrs,                       \
        .options = "pool" #n "d", .bound = EBB_BOUND_MEMORY, .need = {EBB_NEED_AUX(0)},        \
        .shape = max_pool_shape, .forward = max_pool_forward, .vjp = max_pool_vjp

const ebb_op ebb__op_max_pool1d = {
    MAX_POOL(1, "i"),
    EBB_SAMPLES({.in = {"2x3x6"}, .attr = "kernel=2"},
                {.in = {"1x2x8"}, .attr = "kernel=3 stride=2 padding=1"},
                {.in = {"1x1x1"}, .attr = "kernel=1"}, {.in = {"0x2x4"}, .attr = "kernel=2"},
                {.in = {"2x1x11"}, .attr = "kernel=2 stride=3 dilation=2 ceil_mode=1"}),
};

const ebb_op ebb__op_max_pool2d = {
    MAX_POOL(2, "i"),
    EBB_SAMPLES(
        {.in = {"2x3x4x6"}, .attr = "kernel_h=2 kernel_w=2"},
        {.in = {"1x2x5x5"}, .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1"},
        {.in = {"1x1x1x1"}, .attr = "kernel_h=1 kernel_w=1"},
        {.in = {"0x2x4x4"}, .attr = "kernel_h=2 kernel_w=2"},
        {.in = {"1x1x20x18"}, .attr = "kernel_h=17 kernel_w=16 stride=1,1"},
        {.in = {"1x2x6x7"},
         .attr = "kernel_h=2 kernel_w=3 stride=3,2 padding=0,1 dilation=2,2 ceil_mode=1"}),
};

const ebb_op ebb__op_max_pool3d = {
    MAX_POOL(3, "h"),
    EBB_SAMPLES({.in = {"1x2x4x4x6"}, .attr = "kernel_d=2 kernel_h=2 kernel_w=2"},
                {.in = {"1x1x5x4x5"},
                 .attr = "kernel_d=3 kernel_h=2 kernel_w=2 stride=2,1,2 padding=1,1,0"},
                {.in = {"1x1x1x1x1"}, .attr = "kernel_d=1 kernel_h=1 kernel_w=1"},
                {.in = {"2x0x2x2x2"}, .attr = "kernel_d=2 kernel_h=2 kernel_w=2"},
                {.in = {"1x1x7x7x7"}, .attr = "kernel_d=7 kernel_h=7 kernel_w=6"},
                {.in = {"1x2x3x4x4"}, .attr = "kernel_d=1 kernel_h=2 kernel_w=2"}),
};

/* ---- its gradients ---------------------------------------------------------------------- */
static ebb_status check_places(const ebb__call *c, const ebb__pool_geometry *s)
{
    ebb_dtype want = s->is_wide ? EBB_I32 : EBB_U8;
    if (c->in[1].dtype != want)
        return ebb__fail(EBB_E_DTYPE, "places must be %s, it is %s", ebb_dtype_name(want),
                         ebb_dtype_name(c->in[1].dtype));
    return ebb__pool_check_pooled(c, 1, s);
}

static ebb_status max_pool_grad_shape(ebb__call *c)
{
    ebb__pool_geometry s;
    EBB_TRY(ebb__pool_grad_geometry(&s, c));
    EBB_TRY(ebb__pool_check_pooled(c, 0, &s));
    EBB_TRY(check_places(c, &s));
    ebb__set_out(c, 0, c->in[0].dtype, &((const ebb__pool_grad_attr *)c->attr)->shape);
    return EBB_OK;
}

static ebb_status max_pool_grad_forward(const ebb__call *c)
{
    max_work w = {.volume = VOLUME_FN(c, max_grad_volume), .places = c->in[1].data};
    EBB_TRY(ebb__pool_grad_geometry(&w.s, c));
    if (is_tiled(&w.s)) w.tiled = VOLUME_FN(c, max_grad_tiled);
    return max_run(&w, c);
}

static void max_pool_grad_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, max_pool_pick, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

#define MAX_PLACES_COMMON                                                                      \
    .n_in = 2, .n_out = 1, .attr_bytes = sizeof(ebb__pool_grad_attr),                          \
    .attrs = ebb__pool_grad_attrs, .flags = EBB_OP_PRIVATE, .bound = EBB_BOUND_MEMORY,         \
    .need = {EBB_NEED_IN(1)}

const ebb_op ebb__op_max_pool_grad = {
    EBB_OP_HEAD(max_pool_grad),
    .doc = "dx of max pooling: each g is added at the place in its window that places names.",
    .arg = {"g", "places"},
    MAX_PLACES_COMMON,
    .shape = max_pool_grad_shape,
    .forward = max_pool_grad_forward,
    .vjp = max_pool_grad_vjp,
    EBB_SAMPLES(
        {.in = {"2x3x2x3", "u8:2x3x2x3<4"}, .attr = "kernel=2,2 shape=2x3x4x6"},
        {.in = {"1x2x2x3", "u8:1x2x2x3<6"}, .attr = "kernel=3,2 stride=2,1 shape=1x2x5x4"},
        {.in = {"1x1x1x1", "u8:1x1x1x1<1"}, .attr = "kernel=1,1 shape=1x1x1x1"},
        {.in = {"2x1x3", "u8:2x1x3<3"}, .attr = "kernel=3 stride=2 shape=2x1x8"},
        {.in = {"1x2x1x2x2", "u8:1x2x1x2x2<12"},
         .attr = "kernel=2,2,3 dilation=2,1,1 shape=1x2x3x4x6"}),
};

static ebb_status max_pool_pick_shape(ebb__call *c)
{
    const ebb__pool_grad_attr *a = c->attr;
    ebb__pool_geometry s;
    char ut[EBB__SHAPE_TEXT], xt[EBB__SHAPE_TEXT];
    EBB_TRY(ebb__pool_grad_geometry(&s, c));
    if (!ebb__shape_equal(&c->in[0].shape, &a->shape))
        return ebb__fail(EBB_E_SHAPE, "u is %s, x was %s",
                         ebb__shape_text(ut, sizeof ut, &c->in[0].shape),
                         ebb__shape_text(xt, sizeof xt, &a->shape));
    EBB_TRY(check_places(c, &s));
    ebb__set_out(c, 0, c->in[0].dtype, &s.shape);
    return EBB_OK;
}

static ebb_status max_pool_pick_forward(const ebb__call *c)
{
    max_work w = {.volume = VOLUME_FN(c, max_pick_volume), .places = c->in[1].data};
    EBB_TRY(ebb__pool_grad_geometry(&w.s, c));
    return max_run(&w, c);
}

static void max_pool_pick_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, max_pool_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_max_pool_pick = {
    EBB_OP_HEAD(max_pool_pick),
    .doc = "out = u at the place in each window that places names.",
    .arg = {"u", "places"},
    MAX_PLACES_COMMON,
    .shape = max_pool_pick_shape,
    .forward = max_pool_pick_forward,
    .vjp = max_pool_pick_vjp,
    EBB_SAMPLES(
        {.in = {"2x3x4x6", "u8:2x3x2x3<4"}, .attr = "kernel=2,2 shape=2x3x4x6"},
        {.in = {"1x2x5x4", "u8:1x2x2x3<6"}, .attr = "kernel=3,2 stride=2,1 shape=1x2x5x4"},
        {.in = {"1x1x1x1", "u8:1x1x1x1<1"}, .attr = "kernel=1,1 shape=1x1x1x1"},
        {.in = {"2x1x8", "u8:2x1x3<3"}, .attr = "kernel=3 stride=2 shape=2x1x8"},
        {.in = {"1x2x3x4x6", "u8:1x2x1x2x2<12"},
         .attr = "kernel=2,2,3 dilation=2,1,1 shape=1x2x3x4x6"}),
};

/* ---- max_pool_indices -------------------------------------------------------------------- */
static ebb_status max_pool_indices_shape(ebb__call *c)
{
    ebb__pool_geometry s;
    EBB_TRY(ebb__pool_grad_geometry(&s, c));
    ebb__set_out(c, 0, EBB_I64, &s.shape);
    /* the maxima, and their places in their windows */
    c->scratch_bytes =
        (size_t)(s.volumes * s.n_out) * (ebb__dtype_size(c->in[0].dtype) + sizeof(int32_t));
    return EBB_OK;
}

static ebb_status max_pool_indices_forward(const ebb__call *c)
{
    max_work w = {.volume = VOLUME_FN(c, max_volume)};
    EBB_TRY(ebb__pool_grad_geometry(&w.s, c));
    const ebb__pool_geometry *s = &w.s;
    int64_t at = 0, *out = c->out[0].data, n = s->volumes * s->n_out;
    w.places_out = (char *)c->scratch + (size_t)n * ebb__dtype_size(c->in[0].dtype);
    ebb_view maxima = {.data = c->scratch};
    ebb__call into = *c;
    into.out = &maxima;
    if (n > 0) EBB_TRY(max_run(&w, &into));
    w.places = w.places_out;
    for (int64_t volume = 0; volume < s->volumes; volume++)
        for (int64_t z = 0; z < s->out[0]; z++)
            for (int64_t y = 0; y < s->out[1]; y++)
                for (int64_t j = 0; j < s->out[2]; j++, at++)
                    out[at] = max_source(&w, at, z, y, j);
    return EBB_OK;
}

const ebb_op ebb__op_max_pool_indices = {
    EBB_OP_HEAD(max_pool_indices),
    .doc = "Where in its volume, counted in C order, the maximum of each window is; i64.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__pool_grad_attr),
    .attrs = ebb__pool_grad_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = max_pool_indices_shape,
    .forward = max_pool_indices_forward,
    EBB_SAMPLES({.in = {"2x3x4x6"}, .attr = "kernel=2,2 shape=2x3x4x6"},
                {.in = {"1x2x5x4"}, .attr = "kernel=3,2 stride=2,1 shape=1x2x5x4"},
                {.in = {"1x1x20x18"}, .attr = "kernel=17,16 stride=1,1 shape=1x1x20x18"},
                {.in = {"2x1x8"}, .attr = "kernel=3 stride=2 shape=2x1x8"},
                {.in = {"0x2x4"}, .attr = "kernel=2 shape=0x2x4"}),
};

/* Values are read from x at the indices: their gradients of every order are those of gather. */
static void with_indices_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                 int32_t n_in, const void *attr)
{
    (void)n_in;
    ebb_shape x = ebb_shape_get(in[0]);
    char text[EBB__SHAPE_TEXT];
    int64_t rank = rank_of(v->op), axis = 2;
    if (x.n_dims != rank + 2) {
        v->status = ebb__fail(EBB_E_SHAPE, "x must have %d dimensions, it is %s", (int)rank + 2,
                              ebb__shape_text(text, sizeof text, &x));
        return;
    }
    ebb__pool_grad_attr window;
    memset(&window, 0, sizeof window);
    window.pool = attr_of(v->op, attr);
    window.shape = x;
    out[1] = EBB_EMIT(v, max_pool_indices, &window, in[0]);
    if (out[1] == NULL) return;
    ebb_shape pooled = ebb_shape_get(out[1]);
    ebb_shape rows = EBB_SHAPE(x.dims[0], x.dims[1], 1), picked = rows;
    for (int64_t d = 2; d < x.n_dims; d++) {
        rows.dims[2] *= x.dims[d];
        picked.dims[2] *= pooled.dims[d];
    }
    ebb_tensor *values = EBB_EMIT(v, gather, &axis, ebb__rule_reshape(v, in[0], rows),
                                  ebb__rule_reshape(v, out[1], picked));
    out[0] = ebb__rule_reshape(v, values, pooled);
}

#define WITH_INDICES(n)                                                                        \
    EBB_OP_HEAD(max_pool##n##d_with_indices),                                                  \
        .doc = "max_pool" #n "d, and where in its volume, counted in C order, each maximum "   \
               "is: i64. max_pool" #n "d keeps less.",                                         \
        .n_in = 1, .n_out = 2, .arg = {"x"}, .result = {"values", "indices"},                  \
        .attr_bytes = (4 * n + 1) * 8, .options_bytes = (3 * n + 1) * 8,                       \
        .attrs = max_pool##n##d_attrs, .options = "pool" #n "d", .bound = EBB_BOUND_MEMORY,    \
        .compose = with_indices_compose

const ebb_op ebb__op_max_pool1d_with_indices = {
    WITH_INDICES(1),
    EBB_SAMPLES({.in = {"2x3x6"}, .attr = "kernel=2"},
                {.in = {"1x2x8"}, .attr = "kernel=3 stride=2 padding=1"},
                {.in = {"1x1x1"}, .attr = "kernel=1"}, {.in = {"0x2x4"}, .attr = "kernel=2"},
                {.in = {"2x1x11"}, .attr = "kernel=2 stride=3 dilation=2 ceil_mode=1"}),
};

const ebb_op ebb__op_max_pool2d_with_indices = {
    WITH_INDICES(2),
    EBB_SAMPLES({.in = {"2x3x4x6"}, .attr = "kernel_h=2 kernel_w=2"},
                {.in = {"1x2x5x5"}, .attr = "kernel_h=3 kernel_w=2 stride=2,1 padding=1,1"},
                {.in = {"1x1x1x1"}, .attr = "kernel_h=1 kernel_w=1"},
                {.in = {"0x2x4x4"}, .attr = "kernel_h=2 kernel_w=2"},
                {.in = {"1x1x20x18"}, .attr = "kernel_h=17 kernel_w=16 stride=1,1"}),
};

const ebb_op ebb__op_max_pool3d_with_indices = {
    WITH_INDICES(3),
    EBB_SAMPLES({.in = {"1x2x4x4x6"}, .attr = "kernel_d=2 kernel_h=2 kernel_w=2"},
                {.in = {"1x1x5x4x5"},
                 .attr = "kernel_d=3 kernel_h=2 kernel_w=2 stride=2,1,2 padding=1,1,0"},
                {.in = {"1x1x1x1x1"}, .attr = "kernel_d=1 kernel_h=1 kernel_w=1"},
                {.in = {"2x0x2x2x2"}, .attr = "kernel_d=2 kernel_h=2 kernel_w=2"},
                {.in = {"1x2x3x4x4"}, .attr = "kernel_d=1 kernel_h=2 kernel_w=2"}),
};
