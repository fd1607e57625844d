/* loss_weighted.c - classification losses with weights or with probabilities as targets.
 *
 * Formulas of other operations. Without weights and with labels cross_entropy, nll and
 * bce_with_logits are faster and keep less.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/reduction.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- labels ------------------------------------------------------------------------------ */
typedef struct class_label_attr {
    int64_t n_classes, ignore_index;
    bool ignore;
} class_label_attr;
static const ebb_attr_spec class_label_attrs[] = {
    {"n_classes", EBB_ATTR_I64, offsetof(class_label_attr, n_classes), false, NULL},
    {"ignore_index", EBB_ATTR_I64, offsetof(class_label_attr, ignore_index), false, NULL},
    {"ignore", EBB_ATTR_BOOL, offsetof(class_label_attr, ignore), false, NULL},
    {0}};

static ebb_status class_label_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_integer(c, 0));
    ebb__set_out(c, 0, EBB_I64, &c->in[0].shape);
    ebb__set_out(c, 1, EBB_BOOL, &c->in[0].shape);
    return EBB_OK;
}
static ebb_status class_label_forward(const ebb__call *c)
{
    const class_label_attr *a = c->attr;
    int64_t n = ebb__n_elems(&c->in[0].shape), *out = c->out[0].data;
    bool *ignored = c->out[1].data;
    for (int64_t i = 0; i < n; i++) {
        int64_t label = ebb__index_at(&c->in[0], i);
        ignored[i] = a->ignore && label == a->ignore_index;
        if (!ignored[i] && (label < 0 || label >= a->n_classes))
            return ebb__fail(EBB_E_RANGE, "label %lld at position %lld is outside [0, %lld)",
                             (long long)label, (long long)i, (long long)a->n_classes);
        out[i] = ignored[i] ? 0 : label;
    }
    return EBB_OK;
}

const ebb_op ebb__op_class_label = {
    EBB_OP_HEAD(class_label),
    .doc = "Labels checked, those to ignore as 0; and which are to ignore.",
    .n_in = 1,
    .n_out = 2,
    .arg = {"labels"},
    .result = {"labels", "ignored"},
    .attr_bytes = sizeof(class_label_attr),
    .attrs = class_label_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = class_label_shape,
    .forward = class_label_forward,
    EBB_SAMPLES({.in = {"i64:4<5"}, .attr = "n_classes=5"},
                {.in = {"u8:2x3<2"}, .attr = "n_classes=1 ignore=1 ignore_index=1"},
                {.in = {"i32:<2"}, .attr = "n_classes=2"}),
};

/* ---- classes ----------------------------------------------------------------------------- */
/* What the losses of this file know of their operands: classes are axis 1, or the only one. */
typedef struct classes {
    ebb_shape all, one, items; /* with the axis, with 1 in its place, without it */
    int64_t axis, n;
} classes;

static bool find_classes(ebb_vjp *v, classes *k, const ebb_tensor *x, ebb_tensor *weight)
{
    char text[EBB__SHAPE_TEXT];
    k->all = ebb__tensor_shape(x);
    if (k->all.n_dims == 0) {
        v->status =
            ebb__fail(EBB_E_SHAPE, "there is no axis of classes: %s is ()", v->op->arg[0]);
        return false;
    }
    k->axis = k->all.n_dims > 1 ? 1 : 0;
    k->n = k->all.dims[k->axis];
    k->one = k->all;
    k->one.dims[k->axis] = 1;
    k->items = (ebb_shape){.n_dims = k->all.n_dims - 1};
    for (int64_t d = 0; d < k->items.n_dims; d++)
        k->items.dims[d] = k->all.dims[d < k->axis ? d : d + 1];
    if (weight == EBB_NONE) return true;
    ebb_shape w = ebb__tensor_shape(weight);
    if (w.n_dims == 1 && w.dims[0] == k->n) return true;
    v->status = ebb__fail(EBB_E_SHAPE, "weight is %s, (%lld) is needed: one for each class",
                          ebb__shape_text(text, sizeof text, &w), (long long)k->n);
    return false;
}

/* A weight for each class, laid out to broadcast against all. */
static ebb_tensor *spread_weight(ebb_vjp *v, const classes *k, ebb_tensor *weight)
{
    ebb_shape s = {.n_dims = k->all.n_dims};
    for (int64_t d = 0; d < s.n_dims; d++) s.dims[d] = d == k->axis ? k->n : 1;
    return ebb__rule_reshape(v, weight, s);
}
static ebb_tensor *sum_of_classes(ebb_vjp *v, const classes *k, ebb_tensor *x)
{
    return ebb__rule_sum(v, x, (ebb_axes){.n = 1, .axis = {k->axis}});
}

typedef struct weighted_attr {
    int64_t reduction;
    double label_smoothing;
    bool ignore;
    int64_t ignore_index;
} weighted_attr;
typedef struct weighted_nll_attr {
    int64_t reduction;
    bool ignore;
    int64_t ignore_index;
} weighted_nll_attr;
#define IGNORE_SPECS(type)                                                                     \
    {"ignore", EBB_ATTR_BOOL, offsetof(type, ignore), true,                                    \
     "leave out items whose label is ignore_index"},                                           \
    {                                                                                          \
        "ignore_index", EBB_ATTR_I64, offsetof(type, ignore_index), true,                      \
            "read where ignore is set"                                                         \
    }
static const ebb_attr_spec weighted_attrs[] = {
    EBB_REDUCTION_SPEC(weighted_attr, true),
    {"label_smoothing", EBB_ATTR_F64, offsetof(weighted_attr, label_smoothing), true,
     "in [0, 1]: how much of the target is spread over all classes"},
    IGNORE_SPECS(weighted_attr),
    {0}};
static const ebb_attr_spec weighted_nll_attrs[] = {
    EBB_REDUCTION_SPEC(weighted_nll_attr, true), IGNORE_SPECS(weighted_nll_attr), {0}};

static bool check_smoothing(ebb_vjp *v, double s)
{
    if (s >= 0 && s <= 1) return true;
    v->status = ebb__fail(EBB_E_RANGE, "label_smoothing is %g, it must be in [0, 1]", s);
    return false;
}

/* -w[label] log_p[label] (1 - s) - s / n (the sum of w log_p) of each item; the mean is over the
 * weights of the labels. in: log-probabilities or logits, labels, weight. */
static ebb_tensor *weighted_loss(ebb_vjp *v, const weighted_attr *a, ebb_tensor *log_p,
                                 ebb_tensor *labels, ebb_tensor *weight)
{
    classes k;
    double zero = 0, s = a->label_smoothing;
    if (!check_smoothing(v, s) || !find_classes(v, &k, log_p, weight)) return NULL;
    ebb_shape got = ebb__tensor_shape(labels);
    char lt[EBB__SHAPE_TEXT], wt[EBB__SHAPE_TEXT];
    if (!ebb__shape_equal(&got, &k.items)) {
        v->status = ebb__fail(EBB_E_SHAPE, "labels are %s, they must be %s",
                              ebb__shape_text(lt, sizeof lt, &got),
                              ebb__shape_text(wt, sizeof wt, &k.items));
        return NULL;
    }
    class_label_attr check;
    memset(&check, 0, sizeof check);
    check.n_classes = k.n, check.ignore = a->ignore, check.ignore_index = a->ignore_index;
    ebb_tensor *label[2] = {NULL, NULL};
    ebb__emit_n(v, &ebb__op_class_label, &check, 1, &labels, 2, label);
    ebb_shape flat = {1, {ebb__n_elems(&k.items)}};
    ebb_tensor *place = ebb__rule_reshape(v, label[0], k.one);
    ebb_tensor *hit = ebb__rule_reshape(v, EBB_EMIT(v, gather, &k.axis, log_p, place), k.items);
    int64_t first = 0;
    ebb_tensor *w =
        EBB_EMIT(v, index_select, &first, weight, ebb__rule_reshape(v, label[0], flat));
    w = EBB_EMIT(v, masked_fill, &zero, ebb__rule_reshape(v, w, k.items), label[1]);
    ebb_tensor *each = ebb__rule_scale(v, ebb__rule_mul(v, w, hit), s - 1);
    if (s != 0) {
        ebb_tensor *level = ebb__rule_mul(v, log_p, spread_weight(v, &k, weight));
        level = EBB_EMIT(v, masked_fill, &zero, sum_of_classes(v, &k, level), label[1]);
        each = ebb__rule_sub(v, each, ebb__rule_scale(v, level, s / (double)k.n));
    }
    if (v->status == EBB_OK) v->status = ebb__reduction_check(a->reduction);
    if (a->reduction == EBB_REDUCTION_NONE) return each;
    ebb_tensor *total = ebb__rule_sum(v, each, EBB_ALL);
    if (a->reduction == EBB_REDUCTION_SUM) return total;
    /* Where nothing counts the mean is NaN, but no gradient is. */
    double one = 1, none = NAN;
    ebb_tensor *n = ebb__rule_sum(v, w, EBB_ALL), *empty = EBB_EMIT(v, logical_not, NULL, n);
    total = EBB_EMIT(v, div, NULL, total, EBB_EMIT(v, masked_fill, &one, n, empty));
    return EBB_EMIT(v, masked_fill, &none, total, empty);
}

static void cross_entropy_weighted_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                           int32_t n_in, const void *attr)
{
    (void)n_in;
    classes k;
    if (!find_classes(v, &k, in[0], EBB_NONE)) return;
    ebb_tensor *log_p = EBB_EMIT(v, log_softmax, &k.axis, in[0]);
    if (log_p) out[0] = weighted_loss(v, attr, log_p, in[1], in[2]);
}
static void nll_weighted_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                 int32_t n_in, const void *attr)
{
    (void)n_in;
    const weighted_nll_attr *a = attr;
    weighted_attr full = {a->reduction, 0, a->ignore, a->ignore_index};
    out[0] = weighted_loss(v, &full, in[0], in[1], in[2]);
}

#define WEIGHTED_SAMPLES                                                                       \
    EBB_SAMPLES({.in = {"4x5", "i64:4<5", "5"}},                                               \
                {.in = {"5", "u8:<5", "5"}, .attr = "reduction=1"},                            \
                {.in = {"2x3x4", "i32:2x4<3", "3"}, .attr = "reduction=2"},                    \
                {.in = {"6x3", "i64:6<3", "3"}, .attr = "ignore=1 ignore_index=1"},            \
                {.in = {"2x2", "i64:2<2", "2"}})
const ebb_op ebb__op_cross_entropy_weighted = {
    EBB_OP_HEAD(cross_entropy_weighted),
    .doc = "cross_entropy with a weight for each class: the mean is over the weights of the "
           "labels.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"logits", "labels", "weight"},
    .attr_bytes = sizeof(weighted_attr),
    .options_bytes = sizeof(weighted_attr),
    .attrs = weighted_attrs,
    .options = "cross_entropy_weighted",
    .bound = EBB_BOUND_MEMORY,
    .compose = cross_entropy_weighted_compose,
    .range = {{0}, {0}, {0.2, 2, 0}},
    WEIGHTED_SAMPLES,
};
const ebb_op ebb__op_nll_weighted = {
    EBB_OP_HEAD(nll_weighted),
    .doc = "nll with a weight for each class: the mean is over the weights of the labels.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"x", "labels", "weight"},
    .attr_bytes = sizeof(weighted_nll_attr),
    .options_bytes = sizeof(weighted_nll_attr),
    .attrs = weighted_nll_attrs,
    .options = "nll_weighted",
    .bound = EBB_BOUND_MEMORY,
    .compose = nll_weighted_compose,
    .range = {{0}, {0}, {0.2, 2, 0}},
    WEIGHTED_SAMPLES,
};

/* ---- cross_entropy_soft ------------------------------------------------------------------ */
typedef struct soft_attr {
    int64_t reduction;
    double label_smoothing;
} soft_attr;
static const ebb_attr_spec soft_attrs[] = {
    EBB_REDUCTION_SPEC(soft_attr, true),
    {"label_smoothing", EBB_ATTR_F64, offsetof(soft_attr, label_smoothing), true,
     "in [0, 1]: how much of the target is spread over all classes"},
    {0}};

static void soft_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    const soft_attr *a = attr;
    classes k;
    double s = a->label_smoothing;
    ebb_tensor *target = in[1], *weight = in[2];
    if (!check_smoothing(v, s) || !find_classes(v, &k, in[0], weight)) return;
    ebb_shape got = ebb__tensor_shape(target);
    char xt[EBB__SHAPE_TEXT], tt[EBB__SHAPE_TEXT];
    if (!ebb__shape_equal(&got, &k.all)) {
        v->status = ebb__fail(EBB_E_SHAPE, "logits are %s, target is %s: one shape is needed",
                              ebb__shape_text(xt, sizeof xt, &k.all),
                              ebb__shape_text(tt, sizeof tt, &got));
        return;
    }
    if (s != 0) target = ebb__rule_shift(v, ebb__rule_scale(v, target, 1 - s), s / (double)k.n);
    ebb_tensor *log_p = EBB_EMIT(v, log_softmax, &k.axis, in[0]);
    if (weight != EBB_NONE) log_p = ebb__rule_mul(v, log_p, spread_weight(v, &k, weight));
    ebb_tensor *each = sum_of_classes(v, &k, ebb__weighed(v, target, log_p));
    out[0] = ebb__reduction_of(v, a->reduction, EBB_EMIT(v, neg, NULL, each));
}

const ebb_op ebb__op_cross_entropy_soft = {
    EBB_OP_HEAD(cross_entropy_soft),
    .doc =
        "out = mean over items of -sum(weight * target * log(softmax(logits))): cross_entropy "
        "with probabilities of classes as target; weight may be EBB_NONE.",
    .n_in = 3,
    .n_out = 1,
    .optional = 1u << 2,
    .arg = {"logits", "target", "weight"},
    .attr_bytes = sizeof(soft_attr),
    .options_bytes = sizeof(soft_attr),
    .attrs = soft_attrs,
    .options = "cross_entropy_soft",
    .bound = EBB_BOUND_MEMORY,
    .compose = soft_compose,
    .range = {{0}, {0.1, 0.9, 0}, {0.2, 2, 0}},
    EBB_SAMPLES(
        {.in = {"4x5", "4x5", "-"}}, {.in = {"5", "5", "5"}, .attr = "label_smoothing=0.1"},
        {.in = {"2x3x4", "2x3x4", "3"}, .attr = "reduction=2"},
        {.in = {"2x3", "2x3", "-"}, .attr = "reduction=1"}, {.in = {"1x1", "1x1", "1"}}),
};

/* ---- bce_with_logits_weighted ------------------------------------------------------------ */
/* -weight ((1 - y) log(sigmoid(-x)) + pos_weight y log(sigmoid(x))): no two terms cancel, and one
 * of weight 0 is 0 where its logarithm is infinite. */
static void bce_weighted_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                 int32_t n_in, const void *attr)
{
    (void)n_in;
    ebb_tensor *x = in[0], *y = in[1], *weight = in[2], *pos = in[3];
    ebb_shape a = ebb__tensor_shape(x), b = ebb__tensor_shape(y);
    char at[EBB__SHAPE_TEXT], bt[EBB__SHAPE_TEXT];
    if (!ebb__shape_equal(&a, &b)) {
        v->status =
            ebb__fail(EBB_E_SHAPE, "x is %s, y is %s: one shape is needed",
                      ebb__shape_text(at, sizeof at, &a), ebb__shape_text(bt, sizeof bt, &b));
        return;
    }
    ebb_tensor *not_y = ebb__rule_shift(v, ebb__rule_scale(v, y, -1), 1);
    ebb_tensor *no = EBB_EMIT(v, logsigmoid, NULL, EBB_EMIT(v, neg, NULL, x));
    if (pos != EBB_NONE) y = ebb__rule_mul(v, pos, y);
    ebb_tensor *yes = ebb__weighed(v, y, EBB_EMIT(v, logsigmoid, NULL, x));
    ebb_tensor *each =
        EBB_EMIT(v, neg, NULL, ebb__rule_add(v, ebb__weighed(v, not_y, no), yes));
    if (weight != EBB_NONE) each = ebb__rule_mul(v, each, weight);
    out[0] = ebb__reduction_of(v, ebb__reduction(attr), each);
}

const ebb_op ebb__op_bce_with_logits_weighted = {
    EBB_OP_HEAD(bce_with_logits_weighted),
    .doc =
        "bce_with_logits with a weight for each element and pos_weight for that of y = 1; both "
        "broadcast, either may be EBB_NONE.",
    .n_in = 4,
    .n_out = 1,
    .optional = 1u << 2 | 1u << 3,
    .arg = {"x", "y", "weight", "pos_weight"},
    EBB_REDUCTION_ONLY(bce_with_logits_weighted),
    .bound = EBB_BOUND_MEMORY,
    .compose = bce_weighted_compose,
    .range = {{0}, {0.1, 0.9, 0}, {0.2, 2, 0}, {0.2, 2, 0}},
    EBB_SAMPLES({.in = {"3x4", "3x4", "-", "4"}}, {.in = {"3x4", "3x4", "3x1", "-"}},
                {.in = {"5", "5", "5", "5"}, .attr = "reduction=1"}, {.in = {"", "", "-", "-"}},
                {.in = {"2x3", "2x3", "3", "-"}, .attr = "reduction=2"}),
};
