/* cross_entropy.c - classification losses against integer labels.
 *
 * The gradient is made from the logits again: they are the only float kept (saved probabilities
 * would be as large and stand beside the logits at the peak), and a by-product would cost the
 * rule of higher order. Every label is checked before anything is written.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/clones.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/reduction.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct class_attr {
    double label_smoothing;
    bool ignore;
    int64_t ignore_index, reduction;
} class_attr;
typedef struct nll_attr {
    bool ignore;
    int64_t ignore_index, reduction;
} nll_attr;
typedef struct nll_grad_attr {
    nll_attr nll;
    ebb_shape shape;
} nll_grad_attr;
typedef struct label_weight_attr {
    nll_attr nll;
    ebb_dtype dtype;
} label_weight_attr;

#define IGNORE_SPECS(type, path, is_option)                                                    \
    {"ignore", EBB_ATTR_BOOL, offsetof(type, path ignore), is_option,                          \
     "leave out items whose label is ignore_index"},                                           \
    {                                                                                          \
        "ignore_index", EBB_ATTR_I64, offsetof(type, path ignore_index), is_option,            \
            "read where ignore is set"                                                         \
    }
#define CLASS_SPECS(is_option)                                                                 \
    {"label_smoothing", EBB_ATTR_F64, offsetof(class_attr, label_smoothing), is_option,        \
     "in [0, 1]: how much of the target is spread over all classes"},                          \
        IGNORE_SPECS(class_attr, , is_option)

#define REDUCTION_OF(type)                                                                     \
    {                                                                                          \
        "reduction", EBB_ATTR_I64, offsetof(type, nll.reduction), false, NULL                  \
    }

static const ebb_attr_spec class_options[] = {
    CLASS_SPECS(true), EBB_REDUCTION_SPEC(class_attr, true), {0}};
static const ebb_attr_spec class_attrs[] = {
    CLASS_SPECS(false), EBB_REDUCTION_SPEC(class_attr, false), {0}};
static const ebb_attr_spec nll_options[] = {
    IGNORE_SPECS(nll_attr, , true), EBB_REDUCTION_SPEC(nll_attr, true), {0}};
static const ebb_attr_spec nll_grad_attrs[] = {
    IGNORE_SPECS(nll_grad_attr, nll., false),
    REDUCTION_OF(nll_grad_attr),
    {"shape", EBB_ATTR_SHAPE, offsetof(nll_grad_attr, shape), false, NULL},
    {0}};
static const ebb_attr_spec label_weight_attrs[] = {
    IGNORE_SPECS(label_weight_attr, nll., false),
    REDUCTION_OF(label_weight_attr),
    {"dtype", EBB_ATTR_DTYPE, offsetof(label_weight_attr, dtype), false, NULL},
    {0}};

typedef struct class_work {
    const class_attr *attr;
    bool is_nll;
    ebb_dtype dtype;
    ebb__around around; /* outer items by n classes by inner items */
    const ebb_view *labels;
    const void *x, *g; /* g: one for each item, else NULL */
    void *out;
    double scale, *sums;
} class_work;

static bool class_ignored(const class_attr *a, int64_t label)
{
    return a->ignore && label == a->ignore_index;
}

static int64_t class_offset(const class_work *w, int64_t item)
{
    int64_t inner = w->around.inner;
    return item / inner * w->around.n * inner + item % inner;
}

#define EBB_TYPED "ops/exp_rows.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/cross_entropy.inl"
#include "ops/kernels/typed.h"

/* ---- labels ----------------------------------------------------------------------------- */
/* Classes are axis 1, or the only one. */
static int64_t class_axis(const ebb_shape *x)
{
    return x->n_dims > 1 ? 1 : 0;
}

static class_attr with_ignore(const nll_attr *a)
{
    return (class_attr){
        .ignore = a->ignore, .ignore_index = a->ignore_index, .reduction = a->reduction};
}

/* x's shape without its classes. */
static ebb_shape items_of(const ebb_shape *x)
{
    ebb_shape items = {x->n_dims - 1, {0}};
    int64_t axis = class_axis(x);
    for (int64_t d = 0; d < items.n_dims; d++) items.dims[d] = x->dims[d < axis ? d : d + 1];
    return items;
}

/* Labels (operand i) are an integer for each item of x. */
static ebb_status check_labels(const ebb__call *c, const ebb_shape *x, int32_t i)
{
    EBB_TRY(ebb__check_integer(c, i));
    if (x->n_dims < 1) return ebb__fail(EBB_E_SHAPE, "there is no axis of classes: x is ()");
    ebb_shape want = items_of(x);
    int64_t axis = class_axis(x);
    char xt[EBB__SHAPE_TEXT], lt[EBB__SHAPE_TEXT], wt[EBB__SHAPE_TEXT];
    if (!ebb__shape_equal(&want, &c->in[i].shape))
        return ebb__fail(EBB_E_SHAPE, "logits are %s, labels are %s: labels must be %s",
                         ebb__shape_text(xt, sizeof xt, x),
                         ebb__shape_text(lt, sizeof lt, &c->in[i].shape),
                         ebb__shape_text(wt, sizeof wt, &want));
    if (x->dims[axis] == 0 && ebb__n_elems(&want) > 0)
        return ebb__fail(EBB_E_SHAPE, "logits are %s: there are no classes",
                         ebb__shape_text(xt, sizeof xt, x));
    return EBB_OK;
}

/* g (operand 0) is a number, or one for each item of x. */
static ebb_status check_g(const ebb__call *c, const ebb_shape *x, int64_t reduction)
{
    if (reduction != EBB_REDUCTION_NONE) return ebb__check_rank(c, 0, 0);
    ebb_shape items = items_of(x);
    if (ebb__shape_equal(&items, &c->in[0].shape)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "g needs a number for each item");
}

/* *count: how many are not ignored. */
static ebb_status count_labels(int64_t *count, const ebb_view *labels, int64_t n_classes,
                               const class_attr *a)
{
    int64_t n = ebb__n_elems(&labels->shape), counted = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = ebb__index_at(labels, i);
        if (class_ignored(a, label)) continue;
        if (label < 0 || label >= n_classes)
            return ebb__fail(EBB_E_RANGE, "label %lld at position %lld is outside [0, %lld)",
                             (long long)label, (long long)i, (long long)n_classes);
        counted++;
    }
    *count = counted;
    return EBB_OK;
}

/* ---- running ---------------------------------------------------------------------------- */
static int64_t item_grain(const ebb__around *a)
{
    return ebb__grain(a->n * 4);
}

static void class_sums(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const class_work *w = arg;
    w->sums[part] = EBB_BY_DTYPE(w->dtype, class_sum, w, lo, hi);
}

static void class_grads(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const class_work *w = arg;
    EBB_BY_DTYPE(w->dtype, class_grad, w, lo, hi);
}

static void class_values(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const class_work *w = arg;
    EBB_BY_DTYPE(w->dtype, class_each, w, lo, hi);
}

static ebb_status class_loss_shape(ebb__call *c, int64_t reduction)
{
    const ebb_shape *x = &c->in[0].shape;
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(check_labels(c, x, 1));
    EBB_TRY(ebb__reduction_check(reduction));
    ebb_shape items = items_of(x);
    if (reduction == EBB_REDUCTION_NONE) {
        ebb__set_out(c, 0, c->in[0].dtype, &items);
        return EBB_OK;
    }
    ebb__set_out(c, 0, c->in[0].dtype, &EBB_SCALAR);
    ebb__around a = ebb__around_axis(x, class_axis(x));
    c->scratch_bytes =
        (size_t)ebb__n_parts(c->n_threads, a.outer * a.inner, item_grain(&a)) * sizeof(double);
    return EBB_OK;
}

static ebb_status class_loss(const ebb__call *c, const class_attr *attr, bool is_nll)
{
    const ebb_shape *x = &c->in[0].shape;
    class_work w = {.attr = attr,
                    .is_nll = is_nll,
                    .dtype = c->in[0].dtype,
                    .around = ebb__around_axis(x, class_axis(x)),
                    .labels = &c->in[1],
                    .x = c->in[0].data,
                    .out = c->out[0].data,
                    .sums = c->scratch};
    int64_t count = 0, items = w.around.outer * w.around.inner, grain = item_grain(&w.around);
    EBB_TRY(count_labels(&count, w.labels, w.around.n, attr));
    if (attr->reduction == EBB_REDUCTION_NONE) {
        ebb__parallel(c->n_threads, items, grain, class_values, &w);
        return EBB_OK;
    }
    ebb__parallel(c->n_threads, items, grain, class_sums, &w);
    double total = 0;
    int32_t n_parts = ebb__n_parts(c->n_threads, items, grain);
    for (int32_t p = 0; p < n_parts; p++) total += w.sums[p];
    if (attr->reduction == EBB_REDUCTION_MEAN) total /= (double)count;
    if (w.dtype == EBB_F64)
        *(double *)c->out[0].data = total;
    else
        *(float *)c->out[0].data = (float)total;
    return EBB_OK;
}

/* Operand 0 is g, the last one the labels; x is NULL for nll. */
static ebb_status class_loss_grad(const ebb__call *c, const class_attr *attr, const void *x)
{
    const ebb_shape *shape = &c->out[0].shape;
    class_work w = {.attr = attr,
                    .is_nll = x == NULL,
                    .dtype = c->in[0].dtype,
                    .around = ebb__around_axis(shape, class_axis(shape)),
                    .labels = &c->in[c->n_in - 1],
                    .x = x,
                    .out = c->out[0].data};
    int64_t count = 0;
    EBB_TRY(count_labels(&count, w.labels, w.around.n, attr));
    if (attr->reduction == EBB_REDUCTION_NONE)
        w.g = c->in[0].data;
    else
        w.scale = w.dtype == EBB_F64 ? *(const double *)c->in[0].data
                                     : (double)*(const float *)c->in[0].data;
    if (attr->reduction == EBB_REDUCTION_MEAN) w.scale /= (double)count;
    ebb__parallel(c->n_threads, w.around.outer * w.around.inner, item_grain(&w.around),
                  class_grads, &w);
    return EBB_OK;
}

/* ---- cross_entropy ---------------------------------------------------------------------- */
static ebb_status check_class_attr(const class_attr *a)
{
    if (a->label_smoothing >= 0 && a->label_smoothing <= 1) return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "label_smoothing is %g, it must be in [0, 1]",
                     a->label_smoothing);
}

static ebb_status cross_entropy_shape(ebb__call *c)
{
    const class_attr *a = c->attr;
    EBB_TRY(check_class_attr(a));
    return class_loss_shape(c, a->reduction);
}

static ebb_status cross_entropy_forward(const ebb__call *c)
{
    return class_loss(c, c->attr, false);
}

static void cross_entropy_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0,
                  EBB_EMIT(v, cross_entropy_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 0),
                           ebb__in(v, 1)));
}

const ebb_op ebb__op_cross_entropy = {
    EBB_OP_HEAD(cross_entropy),
    .doc =
        "out = mean of -log(softmax(logits)[label]); classes are axis 1 of logits (n, classes, "
        "...), or the only one; labels (n, ...) are i64, i32 or u8.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"logits", "labels"},
    .attr_bytes = sizeof(class_attr),
    .options_bytes = sizeof(class_attr),
    .attrs = class_options,
    .options = "cross_entropy",
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(0) | EBB_NEED_IN(1)},
    .shape = cross_entropy_shape,
    .forward = cross_entropy_forward,
    .vjp = cross_entropy_vjp,
    EBB_SAMPLES({.in = {"4x5", "i64:4<5"}},
                {.in = {"4x3", "u8:4<3"}, .attr = "label_smoothing=0.1"},
                {.in = {"5", "i64:<5"}}, {.in = {"2x3x4", "i32:2x4<3"}},
                {.in = {"6x3", "i64:6<3"}, .attr = "ignore=1 ignore_index=1"},
                {.in = {"1x1", "i64:1<1"}},
                {.in = {"4x3", "i64:4<3"}, .attr = "label_smoothing=0.2 reduction=1"},
                {.in = {"2x3x4", "i64:2x4<3"}, .attr = "ignore=1 ignore_index=1 reduction=2"}),
};

static ebb_status cross_entropy_grad_shape(ebb__call *c)
{
    EBB_TRY(check_class_attr(c->attr));
    EBB_TRY(ebb__check_float(c, 1));
    EBB_TRY(ebb__check_dtype_as(c, 0, 1));
    EBB_TRY(check_labels(c, &c->in[1].shape, 2));
    EBB_TRY(check_g(c, &c->in[1].shape, ((const class_attr *)c->attr)->reduction));
    ebb__set_out(c, 0, c->in[1].dtype, &c->in[1].shape);
    return EBB_OK;
}

static ebb_status cross_entropy_grad_forward(const ebb__call *c)
{
    return class_loss_grad(c, c->attr, c->in[1].data);
}

/* dx = g * w * (p - target) with p = softmax(x) and w = 1 / n (of a mean, else 1), 0 for ignored
 * items; it is linear in g, and with the cotangent u dL/dx = g * softmax_grad(u * w, p). */
static void cross_entropy_grad_vjp(ebb_vjp *v)
{
    ebb_tensor *u = ebb__grad(v, 0), *x = NULL, *labels = NULL;
    if (ebb__wants(v, 0) || ebb__wants(v, 1)) x = ebb__in(v, 1), labels = ebb__in(v, 2);
    if (ebb__wants(v, 0)) {
        double value = 1;
        ebb_shape all = ebb__in_shape(v, 1);
        ebb_axes over = {.n = 1, .axis = {class_axis(&all)}};
        if (((const class_attr *)v->attr)->reduction != EBB_REDUCTION_NONE) over = EBB_ALL;
        ebb_tensor *one = EBB_EMIT(v, full_like, &value, ebb__rule_sum(v, u, over));
        ebb_tensor *slope = EBB_EMIT(v, cross_entropy_grad, v->attr, one, x, labels);
        ebb__give(v, 0, ebb__rule_sum(v, ebb__rule_mul(v, u, slope), over));
    }
    if (ebb__wants(v, 1)) {
        const class_attr *a = v->attr;
        ebb_shape shape = ebb__in_shape(v, 1);
        int64_t axis = class_axis(&shape);
        shape.dims[axis] = 1;
        label_weight_attr attr;
        memset(&attr, 0, sizeof attr);
        attr.nll.ignore = a->ignore;
        attr.nll.ignore_index = a->ignore_index;
        attr.nll.reduction = a->reduction;
        attr.dtype = ebb__in_dtype(v, 1);
        ebb_tensor *w = EBB_EMIT(v, label_weight, &attr, labels);
        ebb_tensor *uw = ebb__rule_mul(v, u, ebb__rule_reshape(v, w, shape));
        ebb_tensor *p = EBB_EMIT(v, softmax, &axis, x);
        ebb_tensor *g = ebb__in(v, 0);
        if (a->reduction == EBB_REDUCTION_NONE) g = ebb__rule_reshape(v, g, shape);
        ebb__give(v, 1, ebb__rule_mul(v, EBB_EMIT(v, softmax_grad, &axis, uw, p), g));
    }
}

const ebb_op ebb__op_cross_entropy_grad = {
    EBB_OP_HEAD(cross_entropy_grad),
    .doc = "dx = g / n * (softmax(x) - target); the gradient of cross_entropy.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"g", "x", "labels"},
    .attr_bytes = sizeof(class_attr),
    .attrs = class_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1) | EBB_NEED_IN(2), EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2)},
    .shape = cross_entropy_grad_shape,
    .forward = cross_entropy_grad_forward,
    .vjp = cross_entropy_grad_vjp,
    EBB_SAMPLES(
        {.in = {"", "4x5", "i64:4<5"}},
        {.in = {"", "4x3", "i32:4<3"}, .attr = "label_smoothing=0.1"},
        {.in = {"", "5", "i64:<5"}},
        {.in = {"", "6x3x2", "u8:6x2<3"}, .attr = "ignore=1 ignore_index=1"},
        {.in = {"", "4x3", "i64:4<3"}, .attr = "label_smoothing=0.2 reduction=1"},
        {.in = {"2x4", "2x3x4", "i64:2x4<3"}, .attr = "ignore=1 ignore_index=1 reduction=2"}),
};

/* ---- label_weight ----------------------------------------------------------------------- */
static ebb_status label_weight_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_integer(c, 0));
    ebb__set_out(c, 0, ((const label_weight_attr *)c->attr)->dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status label_weight_forward(const ebb__call *c)
{
    class_attr a = with_ignore(&((const label_weight_attr *)c->attr)->nll);
    int64_t n = ebb__n_elems(&c->in[0].shape), count = 0;
    for (int64_t i = 0; i < n; i++) count += !class_ignored(&a, ebb__index_at(&c->in[0], i));
    if (a.reduction != EBB_REDUCTION_MEAN) count = 1;
    for (int64_t i = 0; i < n; i++) {
        double w = class_ignored(&a, ebb__index_at(&c->in[0], i)) ? 0 : 1 / (double)count;
        if (c->out[0].dtype == EBB_F64)
            ((double *)c->out[0].data)[i] = w;
        else
            ((float *)c->out[0].data)[i] = (float)w;
    }
    return EBB_OK;
}

const ebb_op ebb__op_label_weight = {
    EBB_OP_HEAD(label_weight),
    .doc =
        "out = 1 / n for each of the n labels that are not ignored (1 where no mean is taken), "
        "0 for the others.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"labels"},
    .attr_bytes = sizeof(label_weight_attr),
    .attrs = label_weight_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = label_weight_shape,
    .forward = label_weight_forward,
    EBB_SAMPLES({.in = {"i64:4<5"}, .attr = "dtype=f64"},
                {.in = {"u8:2x3<2"}, .attr = "ignore=1 ignore_index=1 dtype=f32"},
                {.in = {"i64:4<2"}, .attr = "ignore=1 ignore_index=1 reduction=1 dtype=f64"},
                {.in = {"i32:<2"}, .attr = "dtype=f64"}),
};

/* ---- nll -------------------------------------------------------------------------------- */
static ebb_status nll_shape(ebb__call *c)
{
    return class_loss_shape(c, ((const nll_attr *)c->attr)->reduction);
}

static ebb_status nll_forward(const ebb__call *c)
{
    class_attr a = with_ignore(c->attr);
    return class_loss(c, &a, true);
}

static void nll_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    nll_grad_attr attr;
    memset(&attr, 0, sizeof attr);
    memcpy(&attr.nll, v->attr, sizeof attr.nll);
    attr.shape = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, nll_grad, &attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_nll = {
    EBB_OP_HEAD(nll),
    .doc = "out = mean of -x[label], x being log-probabilities laid out as cross_entropy's "
           "logits.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "labels"},
    .attr_bytes = sizeof(nll_attr),
    .options_bytes = sizeof(nll_attr),
    .attrs = nll_options,
    .options = "nll",
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = nll_shape,
    .forward = nll_forward,
    .vjp = nll_vjp,
    EBB_SAMPLES({.in = {"4x5", "i64:4<5"}}, {.in = {"5", "u8:<5"}},
                {.in = {"2x3x4", "i32:2x4<3"}},
                {.in = {"6x3", "i64:6<3"}, .attr = "ignore=1 ignore_index=1"},
                {.in = {"6x3", "i64:6<3"}, .attr = "reduction=1"},
                {.in = {"2x3x4", "i32:2x4<3"}, .attr = "ignore=1 ignore_index=1 reduction=2"}),
};

static ebb_status nll_grad_shape(ebb__call *c)
{
    const nll_grad_attr *a = c->attr;
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(check_labels(c, &a->shape, 1));
    EBB_TRY(check_g(c, &a->shape, a->nll.reduction));
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    return EBB_OK;
}

static ebb_status nll_grad_forward(const ebb__call *c)
{
    class_attr a = with_ignore(&((const nll_grad_attr *)c->attr)->nll);
    return class_loss_grad(c, &a, NULL);
}

/* <u, nll_grad(g)> = g * nll(u). */
static void nll_grad_vjp(ebb_vjp *v)
{
    const nll_grad_attr *a = v->attr;
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, nll, &a->nll, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_nll_grad = {
    EBB_OP_HEAD(nll_grad),
    .doc = "dx = -g / n at the labels, 0 elsewhere; the gradient of nll.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "labels"},
    .attr_bytes = sizeof(nll_grad_attr),
    .attrs = nll_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = nll_grad_shape,
    .forward = nll_grad_forward,
    .vjp = nll_grad_vjp,
    EBB_SAMPLES({.in = {"", "i64:4<5"}, .attr = "shape=4x5"},
                {.in = {"", "u8:<5"}, .attr = "shape=5"},
                {.in = {"", "i32:2x4<3"}, .attr = "ignore=1 ignore_index=1 shape=2x3x4"},
                {.in = {"2x4", "i32:2x4<3"},
                 .attr = "ignore=1 ignore_index=1 reduction=2 shape=2x3x4"}),
};
