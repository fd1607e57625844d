/* conv.c - convolution over one, two or three axes and its two gradients, each a product of
 * matrices.
 *
 * The three operations are the derivatives of one trilinear form sum(u * conv(x, w)), so each
 * one's rule is made of the other two and every order of derivative exists. Attributes are
 * arrays with an entry per spatial axis; inside, the axes are always depth, height and width,
 * and those that an operation has not got are 1.
 * SPDX-License-Identifier: MIT */
#include "ops/conv.h"

#include "ops/gemm.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <string.h>

#define CONV_SPECS(kind, n, text)                                                              \
    static const ebb_attr_spec conv##n##d_attrs[] = {                                          \
        {"stride", kind, 0, true, text "; 0: 1"},                                              \
        {"padding", kind, 8 * n, true, "zeros on each side"},                                  \
        {"dilation", kind, 16 * n, true, "0: 1"},                                              \
        {"groups", EBB_ATTR_I64, 24 * n, true, "0: 1"},                                        \
        {0}}
CONV_SPECS(EBB_ATTR_I64, 1, "of the window");
CONV_SPECS(EBB_ATTR_PAIR, 2, "rows, columns");
CONV_SPECS(EBB_ATTR_TRIPLE, 3, "planes, rows, columns");

static const ebb_attr_spec conv_grad_attrs[] = {
    {"stride", EBB_ATTR_TRIPLE, offsetof(ebb__conv_grad_attr, conv.stride), false, NULL},
    {"padding", EBB_ATTR_TRIPLE, offsetof(ebb__conv_grad_attr, conv.padding), false, NULL},
    {"dilation", EBB_ATTR_TRIPLE, offsetof(ebb__conv_grad_attr, conv.dilation), false, NULL},
    {"groups", EBB_ATTR_I64, offsetof(ebb__conv_grad_attr, conv.groups), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(ebb__conv_grad_attr, shape), false, NULL},
    {0}};

typedef struct conv_geometry {
    int64_t n, c_each; /* images; channels of one group */
    int64_t o_each;    /* outputs of one group */
    int64_t groups, rank;
    int64_t in[3], kernel[3], out[3], stride[3], padding[3], dilation[3];
    int64_t n_in;      /* elements of one channel of an image */
    int64_t k_rows;    /* c_each * places of the kernel */
    int64_t n_places;  /* of the output */
    int64_t n_cols;    /* of n_places, worked on at once */
    bool is_pointwise; /* 1 x 1, no stride or padding: an image is its own matrix of patches */
} conv_geometry;

typedef struct conv_work {
    conv_geometry s;
    const void *x, *weight, *bias, *grad;
    void *out;
    char *scratch, *sums;
    size_t col_bytes, scratch_each, sum_bytes;
    ebb_dtype dtype;
} conv_work;

#define EBB_TYPED "ops/conv.inl"
#include "ops/kernels/typed.h"

/* ---- attributes ------------------------------------------------------------------------- */
/* How many spatial axes: a public convolution's attributes are 3 n + 1 numbers. */
static int64_t rank_of(const ebb_op *op)
{
    return (op->attr_bytes / (int64_t)sizeof(int64_t) - 1) / 3;
}

static ebb__conv_attr attr_of(const ebb_op *op, const void *attr)
{
    ebb__conv_attr a = {.groups = 0};
    int64_t n = rank_of(op);
    const int64_t *from = attr;
    for (int64_t i = 0; i < n; i++) {
        a.stride[i] = from[i];
        a.padding[i] = from[n + i];
        a.dilation[i] = from[2 * n + i];
    }
    a.groups = from[3 * n];
    return a;
}

/* The convolution of x and w with these attributes, over as many axes as `shape` has. */
static ebb_tensor *emit_conv(ebb_vjp *v, const ebb__conv_grad_attr *a, ebb_tensor *x,
                             ebb_tensor *w)
{
    static const ebb_op *const ops[] = {&ebb__op_conv1d, &ebb__op_conv2d, &ebb__op_conv3d};
    int64_t n = a->shape.n_dims - 2, attr[10];
    for (int64_t i = 0; i < n; i++) {
        attr[i] = a->conv.stride[i];
        attr[n + i] = a->conv.padding[i];
        attr[2 * n + i] = a->conv.dilation[i];
    }
    attr[3 * n] = a->conv.groups;
    ebb_tensor *in[] = {x, w, EBB_NONE};
    return ebb__emit(v, ops[n - 1], attr, 3, in);
}

/* ---- shapes ----------------------------------------------------------------------------- */
static ebb_status conv_axis(conv_geometry *s, int64_t i, const char *side)
{
    if (s->stride[i] < 1 || s->dilation[i] < 1 || s->padding[i] < 0)
        return ebb__fail(EBB_E_RANGE,
                         "stride %lld, dilation %lld, padding %lld: stride and dilation must "
                         "be positive, padding must not be negative",
                         (long long)s->stride[i], (long long)s->dilation[i],
                         (long long)s->padding[i]);
    int64_t reach, padded;
    if (!ebb__mul_i64(&reach, s->dilation[i], s->kernel[i] - 1) ||
        !ebb__mul_i64(&padded, s->padding[i], 2) || !ebb__add_i64(&padded, padded, s->in[i]))
        return ebb__fail(EBB_E_SHAPE, "padding or dilation too large");
    if (s->kernel[i] < 1 || padded < reach + 1)
        return ebb__fail(EBB_E_SHAPE, "the kernel's %s is %lld, the padded input's is %lld",
                         side, (long long)reach + 1, (long long)padded);
    s->out[i] = (padded - reach - 1) / s->stride[i] + 1;
    return EBB_OK;
}

static ebb_status conv_sizes(conv_geometry *s)
{
    static const char *const side[] = {"depth", "height", "width"};
    bool is_plain = true;
    s->k_rows = s->c_each, s->n_places = s->n_in = 1;
    for (int64_t i = 0; i < 3; i++) {
        EBB_TRY(conv_axis(s, i, s->rank == 1 ? "length" : side[i]));
        s->k_rows *= s->kernel[i];
        s->n_places *= s->out[i];
        s->n_in *= s->in[i];
        is_plain &= s->kernel[i] == 1 && s->stride[i] == 1 && s->padding[i] == 0;
    }
    s->is_pointwise = is_plain;
    int64_t cols = 65536 / (s->k_rows < 1 ? 1 : s->k_rows);
    cols = cols < 64 ? 64 : cols;
    s->n_cols = cols < s->n_places ? cols : s->n_places;
    return EBB_OK;
}

/* From the shapes of image and weight, whatever the operation's operands are. */
static ebb_status conv_geometry_of(conv_geometry *s, const ebb_shape *x, const ebb_shape *w,
                                   const ebb__conv_attr *a)
{
    int64_t groups = a->groups ? a->groups : 1, rank = x->n_dims - 2;
    char xt[EBB__SHAPE_TEXT], wt[EBB__SHAPE_TEXT];
    if (groups < 1 || x->dims[1] % groups || w->dims[0] % groups)
        return ebb__fail(EBB_E_RANGE, "groups is %lld, it must divide %lld and %lld channels",
                         (long long)groups, (long long)x->dims[1], (long long)w->dims[0]);
    if (x->dims[1] / groups != w->dims[1])
        return ebb__fail(EBB_E_SHAPE, "x is %s, w is %s: w must have %lld / %lld channels",
                         ebb__shape_text(xt, sizeof xt, x), ebb__shape_text(wt, sizeof wt, w),
                         (long long)x->dims[1], (long long)groups);
    *s = (conv_geometry){.n = x->dims[0],
                         .c_each = w->dims[1],
                         .o_each = w->dims[0] / groups,
                         .groups = groups,
                         .rank = rank};
    for (int64_t i = 0; i < 3; i++) {
        int64_t own = i - (3 - rank);
        bool has = own >= 0;
        s->in[i] = has ? x->dims[2 + own] : 1;
        s->kernel[i] = has ? w->dims[2 + own] : 1;
        s->stride[i] = has && a->stride[own] ? a->stride[own] : 1;
        s->dilation[i] = has && a->dilation[own] ? a->dilation[own] : 1;
        s->padding[i] = has ? a->padding[own] : 0;
    }
    return conv_sizes(s);
}

static ebb_shape out_shape(const conv_geometry *s)
{
    ebb_shape out = EBB_SHAPE(s->n, s->groups * s->o_each);
    for (int64_t i = 3 - s->rank; i < 3; i++) out.dims[out.n_dims++] = s->out[i];
    return out;
}

static ebb_status check_operands(const ebb__call *c, int64_t rank)
{
    for (int32_t i = 0; i < 2; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
        EBB_TRY(ebb__check_rank(c, i, rank + 2));
    }
    return EBB_OK;
}

/* Both operands of a gradient have the rank of the attribute's shape. */
static ebb_status check_grad_operands(const ebb__call *c)
{
    const ebb_shape *shape = &((const ebb__conv_grad_attr *)c->attr)->shape;
    if (shape->n_dims < 3 || shape->n_dims > 5)
        return ebb__fail(EBB_E_SHAPE, "shape must have 3 to 5 dimensions, it has %lld",
                         (long long)shape->n_dims);
    return check_operands(c, shape->n_dims - 2);
}

static ebb_status check_grad_shape(const conv_geometry *s, const ebb_shape *g)
{
    ebb_shape want = out_shape(s);
    char a[EBB__SHAPE_TEXT], b[EBB__SHAPE_TEXT];
    if (ebb__shape_equal(&want, g)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "g is %s, the output is %s", ebb__shape_text(a, sizeof a, g),
                     ebb__shape_text(b, sizeof b, &want));
}

static int32_t threads(const ebb__call *c)
{
    return c->n_threads < 1 ? 1 : c->n_threads;
}

/* What one image costs, in steps of ebb__grain; only small numbers need to be right. */
static int64_t image_steps(const conv_geometry *s)
{
    double steps = (double)s->groups * (double)(s->o_each + 1) * (double)s->n_places *
                   (double)s->k_rows / 4;
    return steps < 1e15 ? (int64_t)steps : INT64_C(1000000000000000);
}

static size_t align_up(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* Per thread: columns, packing for an (m, n, k) product, and with_sum a sum of weights of its
 * own. */
static void plan_scratch(conv_work *w, const conv_geometry *s, ebb_dtype dtype, int64_t m,
                         int64_t n, int64_t k, bool with_sum)
{
    size_t element = ebb__dtype_size(dtype);
    w->s = *s;
    w->dtype = dtype;
    w->col_bytes = align_up((size_t)(s->k_rows * s->n_cols) * element);
    w->scratch_each = w->col_bytes + align_up(ebb__gemm_scratch(m, n, k, element));
    w->sum_bytes =
        with_sum ? align_up((size_t)(s->groups * s->o_each * s->k_rows) * element) : 0;
}

/* ---- convolution ----------------------------------------------------------------------------- */
static ebb_status conv_plan(conv_work *w, const ebb__call *c)
{
    conv_geometry s;
    ebb__conv_attr a = attr_of(c->op, c->attr);
    EBB_TRY(conv_geometry_of(&s, &c->in[0].shape, &c->in[1].shape, &a));
    plan_scratch(w, &s, c->in[0].dtype, s.o_each, s.n_cols, s.k_rows, false);
    return EBB_OK;
}

static ebb_status conv_shape(ebb__call *c)
{
    conv_work w;
    EBB_TRY(check_operands(c, rank_of(c->op)));
    EBB_TRY(ebb__check_dtype_as(c, 2, 0));
    EBB_TRY(conv_plan(&w, c));
    EBB_TRY(ebb__check_vector(c, 2, c->in[1].shape.dims[0]));
    ebb_shape out = out_shape(&w.s);
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    c->scratch_bytes = w.scratch_each * (size_t)threads(c);
    return EBB_OK;
}

static void conv_units(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const conv_work *w = arg;
    const conv_geometry *s = &w->s;
    int64_t n_blocks = (s->n_places + s->n_cols - 1) / s->n_cols;
    char *scratch = w->scratch + (size_t)part * w->scratch_each;
    for (int64_t i = lo; i < hi; i++) {
        int64_t first = i % n_blocks * s->n_cols, unit = i / n_blocks;
        int64_t n_cols = s->n_places - first < s->n_cols ? s->n_places - first : s->n_cols;
        EBB_BY_DTYPE(w->dtype, conv_forward_unit, w, unit / s->groups, unit % s->groups, first,
                     n_cols, scratch);
    }
}

static ebb_status conv_forward(const ebb__call *c)
{
    conv_work w;
    EBB_TRY(conv_plan(&w, c));
    if (ebb__n_elems(&c->out[0].shape) == 0) return EBB_OK;
    w.x = c->in[0].data, w.weight = c->in[1].data, w.out = c->out[0].data;
    w.bias = ebb__given(c, 2) ? c->in[2].data : NULL;
    w.scratch = c->scratch;
    int64_t n_blocks = (w.s.n_places + w.s.n_cols - 1) / w.s.n_cols;
    int64_t cost = w.s.o_each * w.s.n_cols * (w.s.k_rows + 1) / 4;
    ebb__parallel(c->n_threads, w.s.n * w.s.groups * n_blocks, ebb__grain(cost), conv_units,
                  &w);
    return EBB_OK;
}

static ebb_cost conv_cost(const conv_geometry *s, ebb_dtype dtype)
{
    double n_out = (double)s->n * (double)s->groups * (double)s->o_each * (double)s->n_places;
    double n_in = (double)s->n * (double)s->groups * (double)s->c_each * (double)s->n_in;
    double n_w = (double)s->groups * (double)s->o_each * (double)s->k_rows;
    return (ebb_cost){2 * n_out * (double)s->k_rows,
                      (n_out + n_in + n_w) * (double)ebb__dtype_size(dtype)};
}

static ebb_cost conv_cost_of(const ebb__call *c)
{
    conv_work w;
    return conv_plan(&w, c) == EBB_OK ? conv_cost(&w.s, w.dtype) : (ebb_cost){0};
}

static void conv_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    ebb__conv_grad_attr attr = {.conv = attr_of(v->op, v->attr)};
    /* The weights' first: after it x may go, for the room of its own gradient. */
    if (ebb__wants(v, 1)) {
        attr.shape = ebb__in_shape(v, 1);
        ebb__give(v, 1, EBB_EMIT(v, conv_grad_weight, &attr, ebb__in(v, 0), g));
    }
    if (ebb__wants(v, 2)) {
        ebb_axes axes = {.n = rank_of(v->op) + 1, .axis = {0, 2, 3, 4}};
        ebb__give(v, 2, ebb__rule_sum(v, g, axes));
    }
    if (ebb__wants(v, 0)) {
        attr.shape = ebb__in_shape(v, 0);
        ebb__give(v, 0, EBB_EMIT(v, conv_grad_input, &attr, g, ebb__in(v, 1)));
    }
}

#define CONV_OP(n)                                                                             \
    EBB_OP_HEAD(conv##n##d),                                                                   \
        .n_in = 3, .n_out = 1, .optional = 1u << 2, .arg = {"x", "w", "b"},                    \
        .attr_bytes = (3 * n + 1) * 8, .options_bytes = (3 * n + 1) * 8,                       \
        .attrs = conv##n##d_attrs, .options = "conv" #n "d", .bound = EBB_BOUND_COMPUTE,       \
        .cost = conv_cost_of, .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)}, .shape = conv_shape,   \
        .forward = conv_forward, .vjp = conv_vjp

const ebb_op ebb__op_conv1d = {
    CONV_OP(1),
    .doc = "out[n, o, i] = b[o] + sum over c, p of w[o, c, p] * x[n, c, stride * i - padding + "
           "dilation * p], channels split into groups; x is (n, c, l), w is (out, c / groups, "
           "kernel).",
    EBB_SAMPLES({.in = {"2x3x7", "4x3x3", "4"}}, {.in = {"1x1x1", "1x1x1", "1"}},
                {.in = {"2x4x9", "6x2x3", "-"}, .attr = "stride=2 padding=1 groups=2"},
                {.in = {"1x2x8", "3x2x3", "3"}, .attr = "dilation=3 padding=2"},
                {.in = {"0x2x5", "3x2x2", "3"}}, {.in = {"2x3x6", "5x3x1", "5"}}),
};

const ebb_op ebb__op_conv2d = {
    CONV_OP(2),
    .doc = "out[n, o, i, j] = b[o] + sum over c, p, q of w[o, c, p, q] * x[n, c, stride * i - "
           "padding + dilation * p, ...], channels split into groups; x is (n, c, h, w), w is "
           "(out, c / groups, kernel_h, kernel_w).",
    EBB_SAMPLES(
        {.in = {"2x3x5x6", "4x3x3x3", "4"}}, {.in = {"1x1x1x1", "1x1x1x1", "1"}},
        {.in = {"2x2x5x5", "3x2x3x2", "-"}, .attr = "stride=2,1 padding=1,0"},
        {.in = {"1x4x6x5", "6x2x2x3", "6"}, .attr = "groups=2 dilation=2,1 padding=1,1"},
        {.in = {"1x3x4x4", "3x1x3x3", "-"}, .attr = "groups=3 padding=2,2 stride=2,2"},
        {.in = {"2x3x4x4", "5x3x1x1", "5"}}, {.in = {"0x2x4x4", "3x2x2x2", "3"}},
        {.in = {"1x8x9x9", "16x8x3x3", "16"}, .attr = "padding=1,1"}),
};

const ebb_op ebb__op_conv3d = {
    CONV_OP(3),
    .doc = "out[n, o, h, i, j] = b[o] + sum over c, r, p, q of w[o, c, r, p, q] * x[n, c, "
           "stride * h - padding + dilation * r, ...], channels split into groups; x is "
           "(n, c, d, h, w), w is (out, c / groups, kernel_d, kernel_h, kernel_w).",
    EBB_SAMPLES(
        {.in = {"2x2x3x4x5", "3x2x2x3x3", "3"}}, {.in = {"1x1x1x1x1", "1x1x1x1x1", "1"}},
        {.in = {"1x2x4x3x4", "2x1x2x2x2", "-"}, .attr = "stride=2,1,2 padding=1,0,1 groups=2"},
        {.in = {"1x1x5x3x4", "2x1x2x2x3", "2"}, .attr = "dilation=3,1,1 padding=1,1,1"},
        {.in = {"0x2x3x3x3", "3x2x2x2x2", "3"}}, {.in = {"1x3x2x3x2", "2x3x1x1x1", "2"}}),
};

/* ---- the gradient of the image ---------------------------------------------------------- */
static ebb_status grad_input_plan(conv_work *w, const ebb__call *c)
{
    const ebb__conv_grad_attr *a = c->attr;
    conv_geometry s;
    EBB_TRY(conv_geometry_of(&s, &a->shape, &c->in[1].shape, &a->conv));
    EBB_TRY(check_grad_shape(&s, &c->in[0].shape));
    plan_scratch(w, &s, c->in[0].dtype, s.k_rows, s.n_cols, s.o_each, false);
    return EBB_OK;
}

static ebb_status conv_grad_input_shape(ebb__call *c)
{
    conv_work w;
    EBB_TRY(check_grad_operands(c));
    EBB_TRY(grad_input_plan(&w, c));
    ebb__set_out(c, 0, c->in[0].dtype, &((const ebb__conv_grad_attr *)c->attr)->shape);
    c->scratch_bytes = w.scratch_each * (size_t)threads(c);
    return EBB_OK;
}

static void conv_grad_input_units(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const conv_work *w = arg;
    char *scratch = w->scratch + (size_t)part * w->scratch_each;
    for (int64_t i = lo; i < hi; i++)
        EBB_BY_DTYPE(w->dtype, conv_grad_input_unit, w, i / w->s.groups, i % w->s.groups,
                     scratch);
}

static ebb_status conv_grad_input_forward(const ebb__call *c)
{
    conv_work w;
    EBB_TRY(grad_input_plan(&w, c));
    if (ebb__n_elems(&c->out[0].shape) == 0) return EBB_OK;
    w.grad = c->in[0].data, w.weight = c->in[1].data, w.out = c->out[0].data;
    w.scratch = c->scratch;
    int64_t cost = image_steps(&w.s) / w.s.groups;
    ebb__parallel(c->n_threads, w.s.n * w.s.groups, ebb__grain(cost), conv_grad_input_units,
                  &w);
    return EBB_OK;
}

static ebb_cost conv_grad_input_cost(const ebb__call *c)
{
    conv_work w;
    return grad_input_plan(&w, c) == EBB_OK ? conv_cost(&w.s, w.dtype) : (ebb_cost){0};
}

static void conv_grad_input_vjp(ebb_vjp *v)
{
    const ebb__conv_grad_attr *a = v->attr;
    ebb_tensor *u = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, emit_conv(v, a, u, ebb__in(v, 1)));
    if (ebb__wants(v, 1)) {
        ebb__conv_grad_attr attr = {.conv = a->conv, .shape = ebb__in_shape(v, 1)};
        ebb__give(v, 1, EBB_EMIT(v, conv_grad_weight, &attr, u, ebb__in(v, 0)));
    }
}

const ebb_op ebb__op_conv_grad_input = {
    EBB_OP_HEAD(conv_grad_input),
    .doc = "dx of a convolution, of the given shape, from g and w.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "w"},
    .attr_bytes = sizeof(ebb__conv_grad_attr),
    .attrs = conv_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = conv_grad_input_cost,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)},
    .shape = conv_grad_input_shape,
    .forward = conv_grad_input_forward,
    .vjp = conv_grad_input_vjp,
    EBB_SAMPLES(
        {.in = {"2x4x3x4", "4x3x3x3"}, .attr = "shape=2x3x5x6"},
        {.in = {"1x6x5x4", "6x2x2x3"},
         .attr = "groups=2 dilation=2,1 padding=1,1 shape=1x4x5x4"},
        {.in = {"1x3x3x3", "3x1x3x3"}, .attr = "groups=3 padding=2,2 stride=2,2 shape=1x3x4x4"},
        {.in = {"2x3x4", "3x2x3"}, .attr = "stride=2 padding=1 shape=2x2x8"},
        {.in = {"1x2x2x3x2", "2x2x2x2x3"}, .attr = "padding=0,1,1 shape=1x2x3x2x2"}),
};

/* ---- the gradient of the weight --------------------------------------------------------- */
static ebb_status grad_weight_plan(conv_work *w, const ebb__call *c)
{
    const ebb__conv_grad_attr *a = c->attr;
    conv_geometry s;
    EBB_TRY(conv_geometry_of(&s, &c->in[0].shape, &a->shape, &a->conv));
    EBB_TRY(check_grad_shape(&s, &c->in[1].shape));
    plan_scratch(w, &s, c->in[0].dtype, s.o_each, s.k_rows, s.n_cols, true);
    return EBB_OK;
}

static int32_t grad_weight_parts(const conv_work *w, int32_t n_threads)
{
    const conv_geometry *s = &w->s;
    int64_t cost = image_steps(s);
    return ebb__n_parts(n_threads, s->n, ebb__grain(cost));
}

static ebb_status conv_grad_weight_shape(ebb__call *c)
{
    conv_work w;
    EBB_TRY(check_grad_operands(c));
    EBB_TRY(grad_weight_plan(&w, c));
    ebb__set_out(c, 0, c->in[0].dtype, &((const ebb__conv_grad_attr *)c->attr)->shape);
    size_t n_parts = (size_t)grad_weight_parts(&w, threads(c));
    c->scratch_bytes = n_parts * w.scratch_each + (n_parts - 1) * w.sum_bytes;
    return EBB_OK;
}

/* Part 0 sums into the output, the others into sums of their own behind the threads' scratch.
 */
static void conv_grad_weight_images(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const conv_work *w = arg;
    char *scratch = w->scratch + (size_t)part * w->scratch_each;
    void *sum = part == 0 ? w->out : w->sums + (size_t)(part - 1) * w->sum_bytes;
    size_t bytes =
        (size_t)(w->s.groups * w->s.o_each * w->s.k_rows) * ebb__dtype_size(w->dtype);
    memset(sum, 0, bytes);
    for (int64_t i = lo; i < hi; i++)
        EBB_BY_DTYPE(w->dtype, conv_grad_weight_image, w, i, sum, scratch);
}

static ebb_status conv_grad_weight_forward(const ebb__call *c)
{
    conv_work w;
    EBB_TRY(grad_weight_plan(&w, c));
    if (ebb__n_elems(&c->out[0].shape) == 0) return EBB_OK;
    int32_t n_parts = grad_weight_parts(&w, threads(c));
    w.x = c->in[0].data, w.grad = c->in[1].data, w.out = c->out[0].data;
    w.scratch = c->scratch;
    w.sums = w.scratch + (size_t)n_parts * w.scratch_each;
    int64_t cost = image_steps(&w.s);
    ebb__parallel(threads(c), w.s.n, ebb__grain(cost), conv_grad_weight_images, &w);
    EBB_BY_DTYPE(w.dtype, conv_add_parts, w.out, w.sums, w.sum_bytes, n_parts - 1,
                 ebb__n_elems(&c->out[0].shape));
    return EBB_OK;
}

static ebb_cost conv_grad_weight_cost(const ebb__call *c)
{
    conv_work w;
    return grad_weight_plan(&w, c) == EBB_OK ? conv_cost(&w.s, w.dtype) : (ebb_cost){0};
}

static void conv_grad_weight_vjp(ebb_vjp *v)
{
    const ebb__conv_grad_attr *a = v->attr;
    ebb_tensor *u = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) {
        ebb__conv_grad_attr attr = {.conv = a->conv, .shape = ebb__in_shape(v, 0)};
        ebb__give(v, 0, EBB_EMIT(v, conv_grad_input, &attr, ebb__in(v, 1), u));
    }
    if (ebb__wants(v, 1)) ebb__give(v, 1, emit_conv(v, a, ebb__in(v, 0), u));
}

const ebb_op ebb__op_conv_grad_weight = {
    EBB_OP_HEAD(conv_grad_weight),
    .doc = "dw of a convolution, of the given shape, from x and g.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "g"},
    .attr_bytes = sizeof(ebb__conv_grad_attr),
    .attrs = conv_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = conv_grad_weight_cost,
    .need = {EBB_NEED_IN(1), EBB_NEED_IN(0)},
    .shape = conv_grad_weight_shape,
    .forward = conv_grad_weight_forward,
    .vjp = conv_grad_weight_vjp,
    EBB_SAMPLES(
        {.in = {"2x3x5x6", "2x4x3x4"}, .attr = "shape=4x3x3x3"},
        {.in = {"1x4x5x4", "1x6x5x4"},
         .attr = "groups=2 dilation=2,1 padding=1,1 shape=6x2x2x3"},
        {.in = {"1x3x4x4", "1x3x3x3"}, .attr = "groups=3 padding=2,2 stride=2,2 shape=3x1x3x3"},
        {.in = {"2x2x8", "2x3x4"}, .attr = "stride=2 padding=1 shape=3x2x3"},
        {.in = {"1x2x3x2x2", "1x2x2x3x2"}, .attr = "padding=0,1,1 shape=2x2x2x2x3"}),
};
