/* ctc.c - connectionist temporal classification: the likelihood of a row of labels given scores
 * per step, over all ways to stretch it with repeats and blanks.
 *
 * A formula of other operations, so gradients of every order are exact: the state at each step
 * is the logarithm of the likelihood of the labels so far, with a blank before, between and
 * after them. What cannot happen has likelihood exp(-1e30): finite, so that no gradient is NaN.
 * 16-bit floats are taken as f32.
 * Source  Graves et al., Connectionist Temporal Classification (2006), equations 6 and 7.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/operand.h"
#include "ops/reduction.h"
#include "ops/rule.h"

#include <math.h>

#define NEVER (-1e30)

/* ---- the states -------------------------------------------------------------------------- */
typedef struct ctc_states_attr {
    int64_t n_steps, n_classes, blank;
} ctc_states_attr;
static const ebb_attr_spec ctc_states_attrs[] = {
    {"n_steps", EBB_ATTR_I64, offsetof(ctc_states_attr, n_steps), false, NULL},
    {"n_classes", EBB_ATTR_I64, offsetof(ctc_states_attr, n_classes), false, NULL},
    {"blank", EBB_ATTR_I64, offsetof(ctc_states_attr, blank), false, NULL},
    {0}};
enum { LABEL, SKIP, FIRST, LAST, ACTIVE, N_STATES };

static ebb_status ctc_states_shape(ebb__call *c)
{
    const ctc_states_attr *k = c->attr;
    EBB_TRY(ebb__check_rank(c, 0, 2));
    for (int32_t i = 0; i < 3; i++) EBB_TRY(ebb__check_integer(c, i));
    int64_t n = c->in[0].shape.dims[0];
    EBB_TRY(ebb__check_vector(c, 1, n));
    EBB_TRY(ebb__check_vector(c, 2, n));
    ebb_shape states = {2, {n, 2 * c->in[0].shape.dims[1] + 1}},
              steps = {3, {k->n_steps, n, 1}};
    ebb__set_out(c, LABEL, EBB_I64, &states);
    for (int32_t o = SKIP; o <= LAST; o++) ebb__set_out(c, o, EBB_BOOL, &states);
    ebb__set_out(c, ACTIVE, EBB_BOOL, &steps);
    return EBB_OK;
}

static ebb_status check_item(const ebb__call *c, int64_t i, int64_t n_steps, int64_t n_labels)
{
    const ctc_states_attr *k = c->attr;
    int64_t most = c->in[0].shape.dims[1];
    if (n_steps < 0 || n_steps > k->n_steps)
        return ebb__fail(EBB_E_RANGE, "input_lengths[%lld] is %lld, 0 to %lld steps are there",
                         (long long)i, (long long)n_steps, (long long)k->n_steps);
    if (n_labels < 0 || n_labels > most)
        return ebb__fail(EBB_E_RANGE,
                         "target_lengths[%lld] is %lld, 0 to %lld labels are there",
                         (long long)i, (long long)n_labels, (long long)most);
    for (int64_t s = 0; s < n_labels; s++) {
        int64_t label = ebb__index_at(&c->in[0], i * most + s);
        if (label < 0 || label >= k->n_classes || label == k->blank)
            return ebb__fail(EBB_E_RANGE,
                             "targets[%lld, %lld] is %lld: labels in [0, %lld) but %lld are",
                             (long long)i, (long long)s, (long long)label,
                             (long long)k->n_classes, (long long)k->blank);
    }
    return EBB_OK;
}

static ebb_status ctc_states_forward(const ebb__call *c)
{
    const ctc_states_attr *k = c->attr;
    const int64_t n = c->in[0].shape.dims[0], most = c->in[0].shape.dims[1];
    int64_t *label = c->out[LABEL].data;
    bool *skip = c->out[SKIP].data, *first = c->out[FIRST].data, *last = c->out[LAST].data;
    bool *active = c->out[ACTIVE].data;
    for (int64_t i = 0; i < n; i++) {
        int64_t n_steps = ebb__index_at(&c->in[1], i), n_labels = ebb__index_at(&c->in[2], i);
        EBB_TRY(check_item(c, i, n_steps, n_labels));
        for (int64_t s = 0, at = i * (2 * most + 1); s <= 2 * most; s++, at++) {
            bool is_label = s % 2 == 1 && s / 2 < n_labels;
            label[at] = is_label ? ebb__index_at(&c->in[0], i * most + s / 2) : k->blank;
            skip[at] = is_label && s >= 3 && label[at] != label[at - 2];
            first[at] = s == 0 || (s == 1 && is_label);
            last[at] = n_steps > 0 && (s == 2 * n_labels || s == 2 * n_labels - 1);
        }
        for (int64_t t = 0; t < k->n_steps; t++) active[t * n + i] = t < n_steps;
    }
    return EBB_OK;
}

const ebb_op ebb__op_ctc_states = {
    EBB_OP_HEAD(ctc_states),
    .doc =
        "The states of ctc: each one's label, whether it may follow the one before the last, "
        "whether rows begin or end in it; and which steps of which rows are there.",
    .n_in = 3,
    .n_out = N_STATES,
    .arg = {"targets", "input_lengths", "target_lengths"},
    .result = {"label", "skip", "first", "last", "active"},
    .attr_bytes = sizeof(ctc_states_attr),
    .attrs = ctc_states_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = ctc_states_shape,
    .forward = ctc_states_forward,
    EBB_SAMPLES(
        {.in = {"i64:2x3<4", "i64:2<5", "i64:2<4"}, .attr = "n_steps=4 n_classes=5 blank=4"},
        {.in = {"i32:3x1<2", "i64:3<3", "u8:3<2"}, .attr = "n_steps=2 n_classes=3 blank=2"},
        {.in = {"i64:2x0", "i64:2<2", "i64:2<1"}, .attr = "n_steps=1 n_classes=1 blank=0"}),
};

/* ---- the loss ---------------------------------------------------------------------------- */
typedef struct ctc_attr {
    ebb__reduction reduction;
    bool zero_infinity;
    int64_t blank;
} ctc_attr;
static const ebb_attr_spec ctc_attrs[] = {
    EBB_REDUCTION_SPECS,
    {"zero_infinity", EBB_ATTR_BOOL, offsetof(ctc_attr, zero_infinity), true,
     "rows that cannot give their labels cost 0, not infinity"},
    {"blank", EBB_ATTR_I64, offsetof(ctc_attr, blank), true,
     "the class that stands for no label"},
    {0}};

static ebb_tensor *filled(ebb_vjp *v, ebb_dtype dtype, ebb_shape shape, double value)
{
    struct {
        ebb_dtype dtype;
        ebb_shape shape;
        double value;
    } attr;
    memset(&attr, 0, sizeof attr);
    attr.dtype = dtype, attr.shape = shape, attr.value = value;
    return ebb__emit(v, &ebb__op_full, &attr, 0, NULL);
}

typedef struct lattice {
    ebb_tensor *x, *never;       /* scores (t, n, classes); (n, states) of NEVER */
    ebb_tensor *state[N_STATES]; /* ctc_states */
    ebb_shape shape;             /* (n, states) */
} lattice;

/* Of every state that lies `by` places further. */
static ebb_tensor *moved(ebb_vjp *v, const lattice *l, ebb_tensor *a, int64_t by)
{
    int64_t axis = 1;
    ebb__narrow_attr head = {1, 0, by}, rest = {1, 0, l->shape.dims[1] - by};
    return EBB_EMIT(v, cat, &axis, EBB_EMIT(v, narrow, &head, l->never),
                    EBB_EMIT(v, narrow, &rest, a));
}

static ebb_tensor *step(ebb_vjp *v, const lattice *l, ebb_tensor *a, int64_t t)
{
    ebb__select_attr at = {0, t};
    int64_t axis = 1;
    ebb_tensor *score =
        EBB_EMIT(v, gather, &axis, EBB_EMIT(v, select, &at, l->x), l->state[LABEL]);
    if (t == 0) return EBB_EMIT(v, where, NULL, l->state[FIRST], score, l->never);
    ebb_tensor *sum = a;
    if (l->shape.dims[1] > 1) {
        ebb_tensor *two = EBB_EMIT(v, where, NULL, l->state[SKIP], moved(v, l, a, 2), l->never);
        sum = EBB_EMIT(v, logaddexp, NULL, EBB_EMIT(v, logaddexp, NULL, a, moved(v, l, a, 1)),
                       two);
    }
    return EBB_EMIT(v, where, NULL, EBB_EMIT(v, select, &at, l->state[ACTIVE]),
                    ebb__rule_add(v, sum, score), a);
}

static bool check_scores(ebb_vjp *v, const ebb_shape *s, ebb_dtype d, int64_t blank)
{
    char text[EBB__SHAPE_TEXT];
    if (!ebb__dtype_is_float(d))
        v->status = ebb__fail(EBB_E_DTYPE, "log_probs is %s, a floating type is needed",
                              ebb_dtype_name(d));
    else if (s->n_dims != 3 || s->dims[0] < 1)
        v->status =
            ebb__fail(EBB_E_SHAPE, "log_probs must be (steps, batch, classes), it is %s",
                      ebb__shape_text(text, sizeof text, s));
    else if (blank < 0 || blank >= s->dims[2])
        v->status = ebb__fail(EBB_E_RANGE, "blank is %lld, classes are [0, %lld)",
                              (long long)blank, (long long)s->dims[2]);
    return v->status == EBB_OK;
}

/* Minus the logarithm of each row's likelihood, (n). */
static ebb_tensor *losses(ebb_vjp *v, const lattice *l, int64_t n_steps, const ctc_attr *k)
{
    ebb_tensor *a = NULL;
    for (int64_t t = 0; t < n_steps && v->status == EBB_OK; t++) a = step(v, l, a, t);
    ebb_axes states = {.n = 1, .axis = {1}};
    ebb_tensor *end = EBB_EMIT(v, where, NULL, l->state[LAST], a, l->never);
    ebb_tensor *each = EBB_EMIT(v, neg, NULL, EBB_EMIT(v, logsumexp, &states, end));
    double most = -NEVER / 2, instead = k->zero_infinity ? 0 : INFINITY;
    ebb_tensor *impossible = EBB_EMIT(v, gt, NULL, each, EBB_EMIT(v, full_like, &most, each));
    return EBB_EMIT(v, masked_fill, &instead, each, impossible);
}

static void ctc_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                        const void *attr)
{
    (void)n_in;
    const ctc_attr *k = attr;
    ebb_shape s = ebb__tensor_shape(in[0]), t = ebb__tensor_shape(in[1]);
    ebb_dtype d = ebb_dtype_of(in[0]), wide = ebb__dtype_is_half(d) ? EBB_F32 : d;
    if (!check_scores(v, &s, d, k->blank)) return;
    lattice l = {.x = wide == d ? in[0] : EBB_EMIT(v, cast, &wide, in[0])};
    ctc_states_attr states = {s.dims[0], s.dims[2], k->blank};
    ebb__emit_n(v, &ebb__op_ctc_states, &states, 3, in + 1, N_STATES, l.state);
    if (v->status == EBB_OK && t.dims[0] != s.dims[1])
        v->status = ebb__fail(EBB_E_SHAPE, "targets has %lld rows, log_probs a batch of %lld",
                              (long long)t.dims[0], (long long)s.dims[1]);
    if (v->status != EBB_OK) return;
    l.shape = (ebb_shape){2, {s.dims[1], 2 * t.dims[1] + 1}};
    l.never = filled(v, wide, l.shape, NEVER);
    ebb_tensor *each = losses(v, &l, s.dims[0], k);
    if (!k->reduction.sum && !k->reduction.each) {
        double one_or_more[2] = {1, INFINITY};
        ebb_tensor *length = EBB_EMIT(v, cast, &wide, in[3]);
        each = EBB_EMIT(v, div, NULL, each, EBB_EMIT(v, clamp, one_or_more, length));
    }
    each = ebb__reduction_of(v, &k->reduction, each);
    out[0] = wide == d ? each : EBB_EMIT(v, cast, &d, each);
}

const ebb_op ebb__op_ctc = {
    EBB_OP_HEAD(ctc),
    .doc = "Minus the logarithm of the likelihood of the first target_lengths[n] labels of "
           "targets[n] (batch, labels) given the first input_lengths[n] steps of log_probs "
           "(steps, batch, classes), over all alignments; the mean divides each row's by its "
           "number of labels first (ctc_loss). A row that cannot give its labels costs "
           "infinity and has no gradient.",
    .n_in = 4,
    .n_out = 1,
    .arg = {"log_probs", "targets", "input_lengths", "target_lengths"},
    .attr_bytes = sizeof(ctc_attr),
    .options_bytes = sizeof(ctc_attr),
    .attrs = ctc_attrs,
    .options = "ctc",
    .bound = EBB_BOUND_COMPUTE,
    .compose = ctc_compose,
    EBB_SAMPLES(
        {.in = {"5x2x4", "i64:2x2<3", "i64:2<6", "i64:2<3"}, .attr = "blank=3 zero_infinity=1"},
        {.in = {"4x1x3", "i64:1x2<2", "i64:1<5", "i64:1<3"},
         .attr = "blank=2 zero_infinity=1 each=1"},
        {.in = {"6x3x3", "i64:3x2<2", "i64:3<7", "i64:3<3"},
         .attr = "blank=2 zero_infinity=1 sum=1"},
        {.in = {"2x2x2", "i32:2x1<1", "i64:2<3", "i64:2<2"}, .attr = "blank=1 zero_infinity=1"},
        {.in = {"1x1x2", "i64:1x0", "i64:1<2", "i64:1<1"}, .attr = "zero_infinity=1"}),
};
