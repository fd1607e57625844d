/* ctc_composed.c - the gradient of ctc_nll as a formula of operations, for those who
 * differentiate it again.
 *
 * The sums up and down of ctc.c, all items and states at once: impossible states are -inf, and
 * an item that has ended keeps its sums.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ctc.h"
#include "ops/index.h"

#include <math.h>
#include <stddef.h>

/* ---- ctc_plan ---------------------------------------------------------------------------- */
typedef struct plan_attr {
    int64_t blank, n_steps;
} plan_attr;
static const ebb_attr_spec plan_attrs[] = {
    {"blank", EBB_ATTR_I64, offsetof(plan_attr, blank), false, NULL},
    {"n_steps", EBB_ATTR_I64, offsetof(plan_attr, n_steps), false, NULL},
    {0}};
enum { PLAN_CLASS, PLAN_SKIP, PLAN_START, PLAN_END, PLAN_LIVE, PLAN_N };

static ebb_status ctc_plan_shape(ebb__call *c)
{
    for (int32_t i = 0; i < 3; i++) EBB_TRY(ebb__check_integer(c, i));
    EBB_TRY(ebb__check_rank(c, 0, 2));
    int64_t n = c->in[0].shape.dims[0];
    for (int32_t i = 1; i < 3; i++) EBB_TRY(ebb__check_vector(c, i, n));
    ebb_shape states = {2, {n, 2 * c->in[0].shape.dims[1] + 1}};
    ebb_shape live = {3, {((const plan_attr *)c->attr)->n_steps, n, 1}};
    for (int32_t k = 0; k < PLAN_N; k++)
        ebb__set_out(c, k, k == PLAN_CLASS ? EBB_I64 : EBB_BOOL,
                     k == PLAN_LIVE ? &live : &states);
    return EBB_OK;
}
static ebb_status ctc_plan_forward(const ebb__call *c)
{
    const plan_attr *a = c->attr;
    int64_t n_items = c->in[0].shape.dims[0], row = c->in[0].shape.dims[1], width = 2 * row + 1;
    for (int64_t n = 0; n < n_items; n++) {
        int64_t steps = ebb__index_at(&c->in[1], n),
                states = 2 * ebb__index_at(&c->in[2], n) + 1;
        int64_t *class = (int64_t *)c->out[PLAN_CLASS].data + n * width;
        for (int64_t s = 0; s < width; s++) {
            bool label = s % 2 && s < states;
            class[s] = label ? ebb__index_at(&c->in[0], n * row + s / 2) : a->blank;
            ((bool *)c->out[PLAN_SKIP].data)[n * width + s] =
                label && s > 1 && class[s] != class[s - 2];
            ((bool *)c->out[PLAN_START].data)[n * width + s] = s < 2 && s < states;
            ((bool *)c->out[PLAN_END].data)[n * width + s] = s < states && s + 2 >= states;
        }
        for (int64_t t = 0; t < a->n_steps; t++)
            ((bool *)c->out[PLAN_LIVE].data)[t * n_items + n] = t < steps;
    }
    return EBB_OK;
}

const ebb_op ebb__op_ctc_plan = {
    EBB_OP_HEAD(ctc_plan),
    .doc =
        "The states of ctc: their classes, which may be reached over a blank, which start and "
        "end; and which steps each item has.",
    .n_in = 3,
    .n_out = PLAN_N,
    .arg = {"targets", "input_lengths", "target_lengths"},
    .result = {"classes", "skip", "start", "end", "live"},
    .attr_bytes = sizeof(plan_attr),
    .attrs = plan_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = ctc_plan_shape,
    .forward = ctc_plan_forward,
    EBB_SAMPLES({.in = {"i64:2x3<4", "i64:2<5", "i64:2<4"}, .attr = "blank=4 n_steps=5"}),
};

/* ---- the sums ---------------------------------------------------------------------------- */
typedef struct walk_up {
    ebb_vjp *v;
    ebb_tensor *plan[PLAN_N], *never, *column; /* -inf for all states, for one */
    int64_t n_items, width;
} walk_up;

static ebb_tensor *constant(const walk_up *w, int64_t width, double value)
{
    struct {
        ebb_dtype dtype;
        ebb_shape shape;
        double value;
    } full = {ebb__in_dtype(w->v, 0), {2, {w->n_items, width}}, value};
    return ebb__emit(w->v, &ebb__op_full, &full, 0, NULL);
}
static ebb_tensor *choose(const walk_up *w, ebb_tensor *mask, ebb_tensor *x, ebb_tensor *other)
{
    return EBB_EMIT(w->v, where, NULL, mask, x, other);
}
static ebb_tensor *add_logs(const walk_up *w, ebb_tensor *x, ebb_tensor *y)
{
    return EBB_EMIT(w->v, logaddexp, NULL, x, y);
}
/* x one state up (the state before in place of each), or down. */
static ebb_tensor *shifted(const walk_up *w, ebb_tensor *x, bool up)
{
    int64_t axis = 1;
    if (w->width == 1) return w->never;
    ebb__narrow_attr most = {1, up ? 0 : 1, w->width - 1};
    ebb_tensor *part = EBB_EMIT(w->v, narrow, &most, x);
    return up ? EBB_EMIT(w->v, cat, &axis, w->column, part)
              : EBB_EMIT(w->v, cat, &axis, part, w->column);
}
static ebb_tensor *at_step(const walk_up *w, ebb_tensor *x, int64_t t)
{
    ebb__select_attr at = {0, t};
    return EBB_EMIT(w->v, select, &at, x);
}

/* The chance of each state at each step, (steps, items, states). e: the states' ln p. */
static ebb_tensor *chances(const walk_up *w, ebb_tensor *e, int64_t n_steps,
                           ebb_tensor **chance, ebb_tensor **up)
{
    ebb_vjp *v = w->v;
    ebb_axes states = {.n = 1, .axis = {1}, .keep = true};
    double zero = 0;
    up[0] = choose(w, w->plan[PLAN_START], at_step(w, e, 0), w->never);
    for (int64_t t = 1; t < n_steps; t++) {
        ebb_tensor *last = up[t - 1], *one = shifted(w, last, true);
        ebb_tensor *two = choose(w, w->plan[PLAN_SKIP], shifted(w, one, true), w->never);
        ebb_tensor *sum = add_logs(w, add_logs(w, last, one), two);
        sum = ebb__rule_add(v, sum, at_step(w, e, t));
        up[t] = choose(w, at_step(w, w->plan[PLAN_LIVE], t), sum, last);
    }
    ebb_tensor *end = choose(w, w->plan[PLAN_END], up[n_steps - 1], w->never);
    ebb_tensor *total = EBB_EMIT(v, logsumexp, &states, end);
    ebb_tensor *possible = EBB_EMIT(v, isfinite, NULL, total);
    total = EBB_EMIT(v, masked_fill, &zero, total, EBB_EMIT(v, logical_not, NULL, possible));
    ebb_tensor *after = choose(w, w->plan[PLAN_END], constant(w, w->width, 0), w->never);
    for (int64_t t = n_steps - 1; t >= 0; t--) {
        ebb_tensor *live = at_step(w, w->plan[PLAN_LIVE], t);
        ebb_tensor *ln = ebb__rule_sub(v, ebb__rule_add(v, up[t], after), total);
        ebb_tensor *shown = EBB_EMIT(v, logical_and, NULL, live, possible);
        chance[t] = EBB_EMIT(v, pass, NULL, EBB_EMIT(v, exp, NULL, ln), shown);
        ebb_tensor *here = ebb__rule_add(v, after, at_step(w, e, t));
        ebb_tensor *over = choose(w, w->plan[PLAN_SKIP], here, w->never);
        ebb_tensor *two = shifted(w, shifted(w, over, false), false);
        ebb_tensor *sum = add_logs(w, add_logs(w, here, shifted(w, here, false)), two);
        after = choose(w, live, sum, after);
    }
    int64_t axis = 0;
    return ebb__emit(v, &ebb__op_stack, &axis, (int32_t)n_steps, chance);
}

enum { MAX_STEPS = 4096 };

void ebb__ctc_vjp_composed(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb_shape s = ebb__in_shape(v, 0), targets = ebb__in_shape(v, 1);
    ebb_tensor *x = ebb__in(v, 0), *g = ebb__grad(v, 0), *store[2 * MAX_STEPS];
    double zero = 0;
    if (s.dims[0] > MAX_STEPS) {
        v->status = ebb__fail(EBB_E_UNSUPPORTED,
                              "%lld steps, the second derivative is made for at most %d",
                              (long long)s.dims[0], (int)MAX_STEPS);
        return;
    }
    if (ebb__n_elems(&s) == 0) {
        ebb__give(v, 0, EBB_EMIT(v, full_like, &zero, x));
        return;
    }
    walk_up w = {.v = v, .n_items = s.dims[1], .width = 2 * targets.dims[1] + 1};
    plan_attr attr = {((const ebb__ctc_attr *)v->attr)->blank, s.dims[0]};
    ebb_tensor *given[] = {ebb__in(v, 1), ebb__in(v, 2), ebb__in(v, 3)};
    ebb__emit_n(v, &ebb__op_ctc_plan, &attr, 3, given, PLAN_N, w.plan);
    w.never = constant(&w, w.width, -INFINITY);
    w.column = constant(&w, 1, -INFINITY);
    ebb_shape one = {3, {1, w.n_items, w.width}}, all = {3, {s.dims[0], w.n_items, w.width}};
    ebb_tensor *class = ebb__rule_reshape(v, w.plan[PLAN_CLASS], one);
    class = EBB_EMIT(v, expand, &all, class);
    int64_t axis = 2;
    ebb_tensor *e = EBB_EMIT(v, gather, &axis, x, class);
    ebb_tensor *chance = chances(&w, e, s.dims[0], store, store + MAX_STEPS);
    ebb_tensor *share =
        ebb__rule_reshape(v, EBB_EMIT(v, neg, NULL, g), (ebb_shape){3, {1, w.n_items, 1}});
    ebb__index_grad_attr back = {2, s};
    ebb__give(v, 0, EBB_EMIT(v, gather_grad, &back, ebb__rule_mul(v, chance, share), class));
}
