/* ctc.c - connectionist temporal classification: the loss of all alignments of a sequence of
 * labels with a longer one of log-probabilities.
 *
 * Labels are laid out with a blank before, between and after them: `states` of them, of which a
 * path starts in the first two and ends in the last two, staying, going on by one, or by two
 * over a blank between different labels. Everything is in logarithms, in f64. Source: Graves et
 * al., Connectionist temporal classification (2006).
 * SPDX-License-Identifier: MIT */
#include "ops/ctc.h"

#include "ops/parallel.h"
#include "ops/reduction.h"

#include <math.h>
#include <string.h>

static const ebb_attr_spec ctc_nll_attrs[] = {
    {"blank", EBB_ATTR_I64, offsetof(ebb__ctc_attr, blank), false, NULL},
    {"zero_infinity", EBB_ATTR_BOOL, offsetof(ebb__ctc_attr, zero_infinity), false, NULL},
    {0}};

/* ---- one item ---------------------------------------------------------------------------- */
typedef struct ctc_item {
    const ebb_view *x, *targets;
    int64_t n, row, n_items, n_classes, n_steps, states, width,
        blank; /* width: of all states */
} ctc_item;

static ctc_item item_of(const ebb_view *x, const ebb_view *targets, const ebb_view *lengths,
                        int64_t n, int64_t blank)
{
    ctc_item k = {.x = x, .targets = targets, .n = n, .blank = blank};
    k.n_items = x->shape.dims[1], k.n_classes = x->shape.dims[2];
    k.row = targets->shape.dims[1];
    k.n_steps = ebb__index_at(&lengths[0], n);
    k.states = 2 * ebb__index_at(&lengths[1], n) + 1;
    k.width = 2 * k.row + 1;
    return k;
}
static int64_t class_of(const ctc_item *k, int64_t s)
{
    return s % 2 ? ebb__index_at(k->targets, k->n * k->row + s / 2) : k->blank;
}
/* From state s - 2 to s. */
static bool skips_to(const ctc_item *k, int64_t s)
{
    return s % 2 && s > 1 && class_of(k, s) != class_of(k, s - 2);
}
static double log_p(const ctc_item *k, int64_t t, int64_t s)
{
    int64_t at = (t * k->n_items + k->n) * k->n_classes + class_of(k, s);
    return k->x->dtype == EBB_F64 ? ((const double *)k->x->data)[at]
                                  : (double)((const float *)k->x->data)[at];
}
static double add_logs(double a, double b)
{
    const double top = a > b ? a : b;
    return top == -INFINITY ? top : top + log1p(exp(-fabs(a - b)));
}

/* alpha[t][s]: ln of the paths that are in s at t. Rows are n_items * width apart. */
static double run_up(double *alpha, const ctc_item *k)
{
    const int64_t step = k->n_items * k->width;
    for (int64_t t = 0; t < k->n_steps; t++, alpha += step)
        for (int64_t s = 0; s < k->states; s++) {
            const double *last = alpha - step;
            double sum = t == 0 && s < 2 ? 0 : -INFINITY;
            if (t > 0) {
                sum = last[s];
                if (s > 0) sum = add_logs(sum, last[s - 1]);
                if (skips_to(k, s)) sum = add_logs(sum, last[s - 2]);
            }
            alpha[s] = sum + log_p(k, t, s);
        }
    if (k->n_steps == 0) return k->states == 1 ? 0 : -INFINITY;
    alpha -= step;
    return k->states == 1 ? alpha[0] : add_logs(alpha[k->states - 1], alpha[k->states - 2]);
}

/* dx = -g times the chance of each class at each step. rows: 2 width numbers. */
static void run_down(void *dx, const double *alpha, const ctc_item *k, double g, double *rows)
{
    const int64_t step = k->n_items * k->width;
    double *after = rows, *next = rows + k->width;
    if (k->n_steps == 0) return;
    alpha += (k->n_steps - 1) * step;
    double total = alpha[k->states - 1];
    if (k->states > 1) total = add_logs(total, alpha[k->states - 2]);
    if (total == -INFINITY) return;
    for (int64_t s = 0; s < k->states; s++) after[s] = s + 2 < k->states ? -INFINITY : 0;
    for (int64_t t = k->n_steps - 1; t >= 0; t--, alpha -= step) {
        for (int64_t s = 0; s < k->states; s++) {
            int64_t at = (t * k->n_items + k->n) * k->n_classes + class_of(k, s);
            double part = -g * exp(alpha[s] + after[s] - total);
            if (k->x->dtype == EBB_F64)
                ((double *)dx)[at] += part;
            else
                ((float *)dx)[at] += (float)part;
            after[s] += log_p(k, t, s);
        }
        for (int64_t s = 0; s < k->states; s++) {
            double sum = after[s];
            if (s + 1 < k->states) sum = add_logs(sum, after[s + 1]);
            if (s + 2 < k->states && skips_to(k, s + 2)) sum = add_logs(sum, after[s + 2]);
            next[s] = sum;
        }
        double *swap = after;
        after = next;
        next = swap;
    }
}

/* ---- checks ------------------------------------------------------------------------------ */
/* Operands first, ..., first + 3: log_probs, targets, input_lengths, target_lengths. */
static ebb_status check_operands(const ebb__call *c, int32_t first)
{
    EBB_TRY(ebb__check_float(c, first));
    EBB_TRY(ebb__check_rank(c, first, 3));
    const ebb_shape *x = &c->in[first].shape;
    for (int32_t i = first + 1; i < first + 4; i++) EBB_TRY(ebb__check_integer(c, i));
    EBB_TRY(ebb__check_rank(c, first + 1, 2));
    for (int32_t i = first + 2; i < first + 4; i++)
        EBB_TRY(ebb__check_vector(c, i, x->dims[1]));
    if (c->in[first + 1].shape.dims[0] != x->dims[1])
        return ebb__fail(EBB_E_SHAPE, "targets has %lld rows, log_probs %lld items",
                         (long long)c->in[first + 1].shape.dims[0], (long long)x->dims[1]);
    int64_t blank = ((const ebb__ctc_attr *)c->attr)->blank;
    if (blank < 0 || blank >= x->dims[2])
        return ebb__fail(EBB_E_RANGE, "blank is %lld, it must be in [0, %lld)",
                         (long long)blank, (long long)x->dims[2]);
    return EBB_OK;
}
static ebb_status check_item(const ctc_item *k)
{
    int64_t labels = (k->states - 1) / 2;
    if (k->n_steps < 0 || k->n_steps > k->x->shape.dims[0])
        return ebb__fail(EBB_E_RANGE, "input length %lld of item %lld is outside [0, %lld]",
                         (long long)k->n_steps, (long long)k->n,
                         (long long)k->x->shape.dims[0]);
    if (labels < 0 || labels > k->row)
        return ebb__fail(EBB_E_RANGE, "target length %lld of item %lld is outside [0, %lld]",
                         (long long)labels, (long long)k->n, (long long)k->row);
    for (int64_t s = 1; s < k->states; s += 2) {
        int64_t label = class_of(k, s);
        if (label < 0 || label >= k->n_classes || label == k->blank)
            return ebb__fail(EBB_E_RANGE,
                             "target %lld of item %lld must be in [0, %lld) and not the blank",
                             (long long)label, (long long)k->n, (long long)k->n_classes);
    }
    return EBB_OK;
}

/* ---- ctc_nll ----------------------------------------------------------------------------- */
static ebb_shape alpha_shape(const ebb_view *x, const ebb_view *targets)
{
    return (ebb_shape){3, {x->shape.dims[0], x->shape.dims[1], 2 * targets->shape.dims[1] + 1}};
}
static ebb_status ctc_nll_shape(ebb__call *c)
{
    EBB_TRY(check_operands(c, 0));
    ebb_shape items = {1, {c->in[0].shape.dims[1]}}, alpha = alpha_shape(&c->in[0], &c->in[1]);
    ebb__set_out(c, 0, c->in[0].dtype, &items);
    ebb__set_out(c, 1, EBB_F64, &alpha);
    return EBB_OK;
}
static void nll_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const ebb__call *c = arg;
    const ebb__ctc_attr *a = c->attr;
    for (int64_t n = lo; n < hi; n++) {
        ctc_item k = item_of(&c->in[0], &c->in[1], &c->in[2], n, a->blank);
        double loss = -run_up((double *)c->out[1].data + n * k.width, &k);
        if (loss == INFINITY && a->zero_infinity) loss = 0;
        if (c->out[0].dtype == EBB_F64)
            ((double *)c->out[0].data)[n] = loss;
        else
            ((float *)c->out[0].data)[n] = (float)loss;
    }
}
static ebb_status ctc_nll_forward(const ebb__call *c)
{
    const ebb__ctc_attr *a = c->attr;
    int64_t n_items = c->in[0].shape.dims[1], n_alpha = ebb__n_elems(&c->out[1].shape);
    for (int64_t n = 0; n < n_items; n++) {
        ctc_item k = item_of(&c->in[0], &c->in[1], &c->in[2], n, a->blank);
        EBB_TRY(check_item(&k));
    }
    for (int64_t i = 0; i < n_alpha; i++) ((double *)c->out[1].data)[i] = -INFINITY;
    ebb__parallel(c->n_threads, n_items, 1, nll_items, c);
    return EBB_OK;
}
static void ctc_nll_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0,
              EBB_EMIT(v, ctc_grad, v->attr, ebb__grad(v, 0), ebb__in(v, 0), ebb__in(v, 1),
                       ebb__in(v, 2), ebb__in(v, 3), ebb__aux(v, 0)));
}

#define CTC_NEED                                                                               \
    EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2) | EBB_NEED_IN(3) | EBB_NEED_AUX(0)
const ebb_op ebb__op_ctc_nll = {
    EBB_OP_HEAD(ctc_nll),
    .doc = "-ln(the probability of each item's targets over all alignments).",
    .n_in = 4,
    .n_out = 1,
    .n_aux = 1,
    .arg = {"log_probs", "targets", "input_lengths", "target_lengths"},
    .attr_bytes = sizeof(ebb__ctc_attr),
    .attrs = ctc_nll_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .need = {CTC_NEED},
    .shape = ctc_nll_shape,
    .forward = ctc_nll_forward,
    .vjp = ctc_nll_vjp,
    .vjp_composed = ebb__ctc_vjp_composed,
    .range = {{-2, -0.2, 0}},
    EBB_SAMPLES(
        {.in = {"5x2x4", "i64:2x2<3", "i64:2<6", "i64:2<3"}, .attr = "blank=3"},
        {.in = {"4x1x3", "i32:1x1<2", "i64:1<5", "i64:1<2"}, .attr = "blank=2 zero_infinity=1"},
        {.in = {"6x3x5", "u8:3x3<4", "i64:3<7", "i32:3<4"}, .attr = "blank=4"},
        {.in = {"3x0x4", "i64:0x2<3", "i64:0<3", "i64:0<3"}, .attr = "blank=3"}),
};

/* ---- ctc_grad ---------------------------------------------------------------------------- */
static ebb_status ctc_grad_shape(ebb__call *c)
{
    EBB_TRY(check_operands(c, 1));
    EBB_TRY(ebb__check_dtype_as(c, 0, 1));
    EBB_TRY(ebb__check_vector(c, 0, c->in[1].shape.dims[1]));
    ebb_shape alpha = alpha_shape(&c->in[1], &c->in[2]);
    if (c->in[5].dtype != EBB_F64 || !ebb__shape_equal(&c->in[5].shape, &alpha))
        return ebb__fail(EBB_E_SHAPE, "alpha must be f64, of steps, items and states");
    ebb__set_out(c, 0, c->in[1].dtype, &c->in[1].shape);
    c->scratch_bytes = (size_t)ebb__n_parts(c->n_threads, alpha.dims[1], 1) *
                       (size_t)alpha.dims[2] * 2 * sizeof(double);
    return EBB_OK;
}
static void grad_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__call *c = arg;
    const ebb__ctc_attr *a = c->attr;
    for (int64_t n = lo; n < hi; n++) {
        ctc_item k = item_of(&c->in[1], &c->in[2], &c->in[3], n, a->blank);
        double g = c->in[0].dtype == EBB_F64 ? ((const double *)c->in[0].data)[n]
                                             : (double)((const float *)c->in[0].data)[n];
        run_down(c->out[0].data, (const double *)c->in[5].data + n * k.width, &k, g,
                 (double *)c->scratch + part * 2 * k.width);
    }
}
static ebb_status ctc_grad_forward(const ebb__call *c)
{
    size_t bytes = (size_t)ebb__n_elems(&c->out[0].shape) * ebb__dtype_size(c->out[0].dtype);
    int64_t n_items = c->in[1].shape.dims[1];
    const ebb__ctc_attr *a = c->attr;
    for (int64_t n = 0; n < n_items; n++) {
        ctc_item k = item_of(&c->in[1], &c->in[2], &c->in[3], n, a->blank);
        EBB_TRY(check_item(&k));
    }
    if (bytes > 0) memset(c->out[0].data, 0, bytes);
    ebb__parallel(c->n_threads, n_items, 1, grad_items, c);
    return EBB_OK;
}

const ebb_op ebb__op_ctc_grad = {
    EBB_OP_HEAD(ctc_grad),
    .doc =
        "-g times the chance of each class at each step: the gradient of ctc_nll; 0 where no "
        "alignment is possible.",
    .n_in = 6,
    .n_out = 1,
    .arg = {"g", "log_probs", "targets", "input_lengths", "target_lengths", "alpha"},
    .attr_bytes = sizeof(ebb__ctc_attr),
    .attrs = ctc_nll_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .shape = ctc_grad_shape,
    .forward = ctc_grad_forward,
    .range = {{-2, 2, 0}, {-2, -0.2, 0}, {0}, {0}, {0}, {-2, -0.2, 0}},
    EBB_SAMPLES({.in = {"2", "5x2x4", "i64:2x2<3", "i64:2<6", "i64:2<3", "f64:5x2x5"},
                 .attr = "blank=3"}),
};

/* ---- ctc --------------------------------------------------------------------------------- */
typedef struct ctc_public_attr {
    int64_t reduction;
    bool zero_infinity;
    int64_t blank;
} ctc_public_attr;
static const ebb_attr_spec ctc_attrs[] = {
    EBB_REDUCTION_SPEC(ctc_public_attr, true),
    {"zero_infinity", EBB_ATTR_BOOL, offsetof(ctc_public_attr, zero_infinity), true,
     "0 for items whose targets do not fit into their steps, instead of infinity"},
    {"blank", EBB_ATTR_I64, offsetof(ctc_public_attr, blank), true, "class of the blank"},
    {0}};

static void ctc_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                        const void *attr)
{
    (void)n_in;
    const ctc_public_attr *a = attr;
    ebb__ctc_attr k;
    memset(&k, 0, sizeof k);
    k.blank = a->blank, k.zero_infinity = a->zero_infinity;
    ebb_tensor *each = EBB_EMIT(v, ctc_nll, &k, in[0], in[1], in[2], in[3]);
    if (a->reduction == EBB_REDUCTION_MEAN && each) {
        double bounds[2] = {1, INFINITY};
        ebb_dtype d = ebb_dtype_of(each);
        ebb_tensor *length = EBB_EMIT(v, clamp, bounds, EBB_EMIT(v, cast, &d, in[3]));
        each = EBB_EMIT(v, div, NULL, each, length);
    }
    out[0] = ebb__reduction_of(v, a->reduction, each);
}

const ebb_op ebb__op_ctc = {
    EBB_OP_HEAD(ctc),
    .doc = "Connectionist temporal classification: -ln(probability of targets over all "
           "alignments), "
           "divided by the target's length and averaged; log_probs is (steps, items, classes), "
           "targets (items, labels), lengths (items).",
    .n_in = 4,
    .n_out = 1,
    .arg = {"log_probs", "targets", "input_lengths", "target_lengths"},
    .attr_bytes = sizeof(ctc_public_attr),
    .options_bytes = sizeof(ctc_public_attr),
    .attrs = ctc_attrs,
    .options = "ctc",
    .bound = EBB_BOUND_COMPUTE,
    .compose = ctc_compose,
    .range = {{-2, -0.2, 0}},
    EBB_SAMPLES(
        {.in = {"5x2x4", "i64:2x2<3", "i64:2<6", "i64:2<3"}, .attr = "blank=3 zero_infinity=1"},
        {.in = {"4x1x3", "i32:1x1<2", "i64:1<5", "i64:1<2"},
         .attr = "blank=2 zero_infinity=1 reduction=1"},
        {.in = {"6x3x5", "u8:3x3<4", "i64:3<7", "i32:3<4"},
         .attr = "blank=4 zero_infinity=1 reduction=2"},
        {.in = {"3x0x4", "i64:0x2<3", "i64:0<3", "i64:0<3"}, .attr = "blank=3 reduction=1"}),
};
