/* adaptive_pool.c - pooling to a given size: place i of n sees [floor(i m / n), ceil((i + 1) m /
 * n)) of m.
 *
 * Inside, the axes are always depth, height and width, 1 where an operation has fewer.
 * SPDX-License-Identifier: MIT */
#include "ops/index.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

#define SIZE_SPEC(name, at, text)                                                              \
    {                                                                                          \
        name, EBB_ATTR_I64, 8 * at, false, text                                                \
    }
static const ebb_attr_spec adaptive1d_attrs[] = {SIZE_SPEC("out_l", 0, "length of the result"),
                                                 {0}};
static const ebb_attr_spec adaptive2d_attrs[] = {SIZE_SPEC("out_h", 0, "rows of the result"),
                                                 SIZE_SPEC("out_w", 1, "columns of the result"),
                                                 {0}};
static const ebb_attr_spec adaptive3d_attrs[] = {SIZE_SPEC("out_d", 0, "planes of the result"),
                                                 SIZE_SPEC("out_h", 1, "rows of the result"),
                                                 SIZE_SPEC("out_w", 2, "columns of the result"),
                                                 {0}};
typedef struct adaptive_grad_attr {
    ebb_shape shape;
} adaptive_grad_attr;
static const ebb_attr_spec adaptive_grad_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, offsetof(adaptive_grad_attr, shape), false, NULL}, {0}};

typedef struct adaptive_work {
    int64_t volumes, in[3], out_dims[3], n_in, n_out; /* n: elements of a volume */
    const void *x;
    void *out;
    int64_t *places;
    void (*volume)(const struct adaptive_work *w, int64_t volume);
} adaptive_work;
typedef struct adaptive_window {
    int64_t lo[3], hi[3], n;
} adaptive_window;

/* What output element `at` of a volume sees. Sizes are below 2^31, so products fit. */
static adaptive_window window_of(const adaptive_work *w, int64_t at)
{
    adaptive_window b = {.n = 1};
    for (int i = 2; i >= 0; i--) {
        int64_t place = at % w->out_dims[i], m = w->in[i], n = w->out_dims[i];
        at /= n;
        b.lo[i] = place * m / n;
        b.hi[i] = ((place + 1) * m + n - 1) / n;
        b.n *= b.hi[i] - b.lo[i];
    }
    return b;
}

#define EBB_TYPED "ops/adaptive_pool.inl"
#include "ops/kernels/typed.h"

/* ---- shapes and running ----------------------------------------------------------------- */
static adaptive_work work_of(const ebb_shape *x, const ebb_shape *out)
{
    adaptive_work w = {.volumes = x->dims[0] * x->dims[1], .n_in = 1, .n_out = 1};
    for (int64_t i = 0, rank = x->n_dims - 2; i < 3; i++) {
        int64_t own = i - (3 - rank);
        w.in[i] = own >= 0 ? x->dims[2 + own] : 1;
        w.out_dims[i] = own >= 0 ? out->dims[2 + own] : 1;
        w.n_in *= w.in[i];
        w.n_out *= w.out_dims[i];
    }
    return w;
}

static ebb_status check_sides(const ebb_shape *x, const ebb_shape *out)
{
    char text[EBB__SHAPE_TEXT];
    for (int64_t i = 2; i < x->n_dims; i++) {
        if (out->dims[i] < 1 || out->dims[i] > INT32_MAX)
            return ebb__fail(EBB_E_RANGE, "a side of the result is %lld, it must be in [1, %d]",
                             (long long)out->dims[i], INT32_MAX);
        if (x->dims[i] < 1 || x->dims[i] > INT32_MAX)
            return ebb__fail(EBB_E_SHAPE, "x is %s: there is nothing to pool",
                             ebb__shape_text(text, sizeof text, x));
    }
    return EBB_OK;
}

/* The attributes of a public operation are its n sides. */
static ebb_status adaptive_shape(ebb__call *c)
{
    int64_t n = c->op->attr_bytes / (int64_t)sizeof(int64_t);
    const int64_t *side = c->attr;
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(ebb__check_rank(c, 0, n + 2));
    ebb_shape out = c->in[0].shape;
    for (int64_t i = 0; i < n; i++) out.dims[2 + i] = side[i];
    EBB_TRY(check_sides(&c->in[0].shape, &out));
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    if (c->n_aux > 0) ebb__set_out(c, 1, EBB_I64, &out);
    return EBB_OK;
}

static void adaptive_volumes(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const adaptive_work *w = arg;
    for (int64_t volume = lo; volume < hi; volume++) w->volume(w, volume);
}

static ebb_status adaptive_run(const ebb__call *c, adaptive_work *w)
{
    w->x = c->in[0].data, w->out = c->out[0].data;
    ebb__parallel(c->n_threads, w->volumes, ebb__grain(w->n_in + 8 * w->n_out),
                  adaptive_volumes, w);
    return EBB_OK;
}

#define VOLUME_FN(c, name) ((c)->in[0].dtype == EBB_F64 ? name##_f64 : name##_f32)

/* ---- averages --------------------------------------------------------------------------- */
static ebb_status adaptive_avg_forward(const ebb__call *c)
{
    adaptive_work w = work_of(&c->in[0].shape, &c->out[0].shape);
    w.volume = VOLUME_FN(c, adaptive_avg);
    return adaptive_run(c, &w);
}

static void adaptive_avg_vjp(ebb_vjp *v)
{
    adaptive_grad_attr attr = {ebb__in_shape(v, 0)};
    ebb__give(v, 0, EBB_EMIT(v, adaptive_avg_pool_grad, &attr, ebb__grad(v, 0)));
}

static ebb_status adaptive_avg_grad_shape(ebb__call *c)
{
    const ebb_shape *shape = &((const adaptive_grad_attr *)c->attr)->shape;
    EBB_TRY(ebb__check_float(c, 0));
    if (shape->n_dims < 3 || shape->n_dims > 5)
        return ebb__fail(EBB_E_SHAPE, "shape must have 3 to 5 dimensions, it has %lld",
                         (long long)shape->n_dims);
    EBB_TRY(ebb__check_rank(c, 0, shape->n_dims));
    EBB_TRY(check_sides(shape, &c->in[0].shape));
    for (int64_t i = 0; i < 2; i++)
        if (c->in[0].shape.dims[i] != shape->dims[i])
            return ebb__fail(EBB_E_SHAPE, "g has a side of %lld, x of %lld",
                             (long long)c->in[0].shape.dims[i], (long long)shape->dims[i]);
    ebb__set_out(c, 0, c->in[0].dtype, shape);
    return EBB_OK;
}

static ebb_status adaptive_avg_grad_forward(const ebb__call *c)
{
    adaptive_work w = work_of(&c->out[0].shape, &c->in[0].shape);
    w.volume = VOLUME_FN(c, adaptive_avg_grad);
    return adaptive_run(c, &w);
}

static void adaptive_avg_grad_vjp(ebb_vjp *v)
{
    static const ebb_op *const ops[] = {&ebb__op_adaptive_avg_pool1d,
                                        &ebb__op_adaptive_avg_pool2d,
                                        &ebb__op_adaptive_avg_pool3d};
    ebb_shape g = ebb__in_shape(v, 0);
    ebb_tensor *u = ebb__grad(v, 0);
    ebb__give(v, 0, ebb__emit(v, ops[g.n_dims - 3], g.dims + 2, 1, &u));
}

#define ADAPTIVE(name, n, text)                                                                \
    EBB_OP_HEAD(adaptive_##name##_pool##n##d),                                                 \
        .doc = text, .n_in = 1, .n_out = 1, .arg = {"x"}, .attr_bytes = 8 * n,                 \
        .attrs = adaptive##n##d_attrs, .bound = EBB_BOUND_MEMORY, .shape = adaptive_shape,     \
        .forward = adaptive_##name##_forward, .vjp = adaptive_##name##_vjp
#define ADAPTIVE_SAMPLES_1                                                                     \
    EBB_SAMPLES({.in = {"2x3x7"}, .attr = "out_l=3"}, {.in = {"1x2x3"}, .attr = "out_l=5"},    \
                {.in = {"1x1x1"}, .attr = "out_l=1"}, {.in = {"2x1x6"}, .attr = "out_l=2"},    \
                {.in = {"0x2x4"}, .attr = "out_l=2"})
#define ADAPTIVE_SAMPLES_2                                                                     \
    EBB_SAMPLES({.in = {"2x3x5x7"}, .attr = "out_h=2 out_w=3"},                                \
                {.in = {"1x2x3x4"}, .attr = "out_h=4 out_w=1"},                                \
                {.in = {"1x1x1x1"}, .attr = "out_h=1 out_w=1"},                                \
                {.in = {"2x1x4x6"}, .attr = "out_h=1 out_w=1"},                                \
                {.in = {"2x0x4x4"}, .attr = "out_h=2 out_w=2"})
#define ADAPTIVE_SAMPLES_3                                                                     \
    EBB_SAMPLES({.in = {"1x2x3x5x4"}, .attr = "out_d=2 out_h=3 out_w=2"},                      \
                {.in = {"1x1x2x3x4"}, .attr = "out_d=3 out_h=1 out_w=4"},                      \
                {.in = {"1x1x1x1x1"}, .attr = "out_d=1 out_h=1 out_w=1"},                      \
                {.in = {"2x1x2x4x2"}, .attr = "out_d=1 out_h=2 out_w=1"},                      \
                {.in = {"0x1x2x2x2"}, .attr = "out_d=2 out_h=2 out_w=2"})

const ebb_op ebb__op_adaptive_avg_pool1d = {
    ADAPTIVE(avg, 1,
             "out[n, c, i] = the mean of x[n, c] over [floor(i l / out), ceil((i + 1) l "
             "/ out))."),
    ADAPTIVE_SAMPLES_1,
};

const ebb_op ebb__op_adaptive_avg_pool2d = {
    ADAPTIVE(avg, 2,
             "out[n, c, i, j] = the mean of x[n, c] over rows [floor(i h / out), ceil((i "
             "+ 1) h / out)) and likewise columns."),
    ADAPTIVE_SAMPLES_2,
};

const ebb_op ebb__op_adaptive_avg_pool3d = {
    ADAPTIVE(avg, 3,
             "out[n, c, h, i, j] = the mean of x[n, c] over planes [floor(h d / out), "
             "ceil((h + 1) d / out)), likewise rows and columns."),
    ADAPTIVE_SAMPLES_3,
};

const ebb_op ebb__op_adaptive_avg_pool_grad = {
    EBB_OP_HEAD(adaptive_avg_pool_grad),
    .doc = "dx of adaptive average pooling: each g is shared out over its window.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(adaptive_grad_attr),
    .attrs = adaptive_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = adaptive_avg_grad_shape,
    .forward = adaptive_avg_grad_forward,
    .vjp = adaptive_avg_grad_vjp,
    EBB_SAMPLES({.in = {"2x3x3"}, .attr = "shape=2x3x7"},
                {.in = {"1x2x4x1"}, .attr = "shape=1x2x3x4"},
                {.in = {"1x1x1x1"}, .attr = "shape=1x1x1x1"},
                {.in = {"1x2x2x3x2"}, .attr = "shape=1x2x3x5x4"},
                {.in = {"0x2x2x2"}, .attr = "shape=0x2x4x4"}),
};

/* ---- maxima ----------------------------------------------------------------------------- */
static ebb_status adaptive_max_forward(const ebb__call *c)
{
    adaptive_work w = work_of(&c->in[0].shape, &c->out[0].shape);
    w.volume = VOLUME_FN(c, adaptive_max);
    w.places = c->out[1].data;
    return adaptive_run(c, &w);
}

/* Places count within a volume: the gradient of a gather from rows of volumes. */
static void adaptive_max_vjp(ebb_vjp *v)
{
    ebb_shape x = ebb__in_shape(v, 0);
    int64_t n_in = 1, n_out = 1, rank = x.n_dims - 2;
    const int64_t *side = v->attr;
    for (int64_t i = 0; i < rank; i++) n_in *= x.dims[2 + i], n_out *= side[i];
    ebb_shape volumes = EBB_SHAPE(x.dims[0] * x.dims[1], n_out);
    ebb__index_grad_attr attr = {1, EBB_SHAPE(x.dims[0] * x.dims[1], n_in)};
    ebb_tensor *g = ebb__rule_reshape(v, ebb__grad(v, 0), volumes);
    ebb_tensor *places = ebb__rule_reshape(v, ebb__aux(v, 0), volumes);
    ebb__give(v, 0, ebb__rule_reshape(v, EBB_EMIT(v, gather_grad, &attr, g, places), x));
}

#define ADAPTIVE_MAX(n, text) ADAPTIVE(max, n, text), .n_aux = 1, .need = {EBB_NEED_AUX(0)}

const ebb_op ebb__op_adaptive_max_pool1d = {
    ADAPTIVE_MAX(1,
                 "out[n, c, i] = the maximum of x[n, c] over [floor(i l / out), ceil((i + 1) "
                 "l / out)); the gradient goes to the first maximum; NaN wins."),
    ADAPTIVE_SAMPLES_1,
};

const ebb_op ebb__op_adaptive_max_pool2d = {
    ADAPTIVE_MAX(2,
                 "out[n, c, i, j] = the maximum of x[n, c] over rows [floor(i h / out), "
                 "ceil((i + 1) h / out)) and likewise columns; the gradient goes to the first "
                 "maximum; NaN wins."),
    ADAPTIVE_SAMPLES_2,
};

const ebb_op ebb__op_adaptive_max_pool3d = {
    ADAPTIVE_MAX(3,
                 "out[n, c, h, i, j] = the maximum of x[n, c] over planes [floor(h d / out), "
                 "ceil((h + 1) d / out)), likewise rows and columns; the gradient goes to the "
                 "first maximum; NaN wins."),
    ADAPTIVE_SAMPLES_3,
};
