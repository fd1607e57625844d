/* rule.c - a backward rule at work: what it may read, what it emits, what it gives.
 *
 * A rule runs in a scope of its own whose results are temporary. It reaches saved values only,
 * as tensors made on the spot: under create_graph an input's tensor carries the node's own
 * edge, an output's the node itself; a by-product never has history.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

typedef struct rule {
    ebb_vjp vjp; /* first: the public type */
    ebb__backward *b;
    int64_t i;
    ebb_graph_node *node;
    ebb__record *record;
    const ebb__graph_target *target; /* of the node's tracked parents, in order */
    uint32_t declared;               /* what the inputs that want a gradient declare to read */
    int32_t seen_input, seen_edge; /* the edge of the input asked for last: rules go in order */
    bool checks_finite;            /* what it gives must be finite: what it was given is */
} rule;

static void *sticky(ebb_vjp *v, ebb_status s)
{
    if (v->status == EBB_OK) v->status = s;
    return NULL;
}

/* The edge of input i among the node's tracked parents. */
static int32_t edge_of(rule *r, int32_t i)
{
    if (i < r->seen_input) r->seen_input = r->seen_edge = 0;
    for (; r->seen_input < i; r->seen_input++)
        r->seen_edge += ebb__record_tracked(r->record, r->seen_input);
    return r->seen_edge;
}

static ebb__graph_target target_of(rule *r, int32_t i)
{
    static const ebb__graph_target none = {-1, -1, 0};
    if (i < 0 || i >= r->record->n_in || !ebb__record_tracked(r->record, i)) return none;
    return r->target[edge_of(r, i)];
}

static bool rule_wants(ebb_vjp *v, int32_t i)
{
    ebb__graph_target t = target_of((rule *)v, i);
    return t.node >= 0 || t.leaf >= 0;
}

static uint32_t declared_by(rule *r)
{
    uint32_t need = 0;
    for (int32_t i = 0; i < r->vjp.n_in; i++)
        if (rule_wants(&r->vjp, i)) need |= ebb__need_of(r->vjp.op, i);
    return need;
}

static uint32_t declared(const ebb_vjp *v)
{
    return ((const rule *)v)->declared;
}

static uint32_t in_bit(const ebb_op *op, int32_t i)
{
    return EBB_NEED_IN(i < op->n_in ? i : op->n_in - 1);
}

ebb_tensor *ebb__tensor_of_value(ebb_context *ctx, ebb__value *value, const ebb__layout *layout)
{
    ebb_view view;
    ebb__layout_unpack(&view, layout, NULL);
    ebb__storage *storage;
    ebb_tensor *t = NULL;
    if (ebb__storage_create(&storage, ebb__value_use(value)) != EBB_OK) return NULL;
    return ebb__tensor_create(&t, ctx, storage, &view, layout->offset) == EBB_OK ? t : NULL;
}

static ebb_tensor *saved_tensor(rule *r, ebb__value *value, int32_t place)
{
    if (!value) return sticky(&r->vjp, ebb__fail(EBB_E_INTERNAL, "a value was not saved"));
    ebb_tensor *t =
        ebb__tensor_of_value(r->vjp.ctx, value, ebb__record_layout(r->record, place));
    return t ? t : sticky(&r->vjp, ebb_error_status());
}

static ebb_tensor *rule_in(ebb_vjp *v, int32_t i)
{
    rule *r = (rule *)v;
    if (v->status != EBB_OK) return NULL;
    if (i < 0 || i >= v->n_in || !(declared(v) & in_bit(v->op, i)))
        return sticky(v, ebb__fail(EBB_E_MISUSE, "the rule of %s reads input %d undeclared",
                                   v->op->name, (int)i));
    if (!ebb__record_layout(r->record, i)) return EBB_NONE;
    if (r->record->in[i] && target_of(r, i).leaf >= 0) ebb__lease_begin(r->record->in[i]);
    ebb_tensor *t = saved_tensor(r, r->record->in[i], i);
    if (t && r->b->create_graph && ebb__record_tracked(r->record, i)) {
        ebb__graph_place p = ebb__graph_parent(r->node, (uint32_t)edge_of(r, i));
        ebb__tensor_set_node(t, ebb_graph_node_keep(p.node), p.output);
    }
    return t;
}

static ebb_tensor *rule_out(ebb_vjp *v, int32_t k)
{
    rule *r = (rule *)v;
    if (v->status != EBB_OK) return NULL;
    if (k < 0 || k >= v->n_out || !(declared(v) & EBB_NEED_OUT(k)))
        return sticky(v, ebb__fail(EBB_E_MISUSE, "the rule of %s reads output %d undeclared",
                                   v->op->name, (int)k));
    ebb_tensor *t = saved_tensor(r, r->record->out[k], v->n_in + k);
    if (t && r->b->create_graph && ebb__dtype_is_float(ebb_dtype_of(t)))
        ebb__tensor_set_node(t, ebb_graph_node_keep(r->node), (uint32_t)k);
    return t;
}

static ebb_tensor *rule_aux(ebb_vjp *v, int32_t k)
{
    rule *r = (rule *)v;
    if (v->status != EBB_OK) return NULL;
    if (k < 0 || k >= v->op->n_aux || !(declared(v) & EBB_NEED_AUX(k)))
        return sticky(v,
                      ebb__fail(EBB_E_MISUSE, "the rule of %s reads by-product %d undeclared",
                                v->op->name, (int)k));
    ebb_tensor *t = saved_tensor(r, r->record->out[v->n_out + k], v->n_in + v->n_out + k);
    if (t && r->b->create_graph && ebb__dtype_is_float(ebb_dtype_of(t)))
        return sticky(v,
                      ebb__fail(EBB_E_UNSUPPORTED,
                                "create_graph: the rule of %s reads a by-product that has no "
                                "history",
                                v->op->name));
    return t;
}

static ebb_tensor *rule_grad(ebb_vjp *v, int32_t k)
{
    rule *r = (rule *)v;
    if (v->status != EBB_OK) return NULL;
    if (k < 0 || k >= v->n_out)
        return sticky(v, ebb__fail(EBB_E_MISUSE, "%s has %d outputs, not %d", v->op->name,
                                   (int)v->n_out, (int)k + 1));
    ebb_tensor *t = r->b->total[r->b->first_out[r->i] + k];
    return t ? t : EBB_NONE;
}

static ebb_shape rule_in_shape(ebb_vjp *v, int32_t i)
{
    const ebb__layout *l = ebb__record_layout(((rule *)v)->record, i);
    ebb_view view = {0};
    if (l) ebb__layout_unpack(&view, l, NULL);
    return view.shape;
}

static ebb_dtype rule_in_dtype(ebb_vjp *v, int32_t i)
{
    const ebb__layout *l = ebb__record_layout(((rule *)v)->record, i);
    return l ? (ebb_dtype)l->dtype : (ebb_dtype)0;
}

static void rule_emit(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                      ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    for (int32_t i = 0; i < n_in; i++)
        if (!in[i]) {
            sticky(v, ebb__null_argument(op->name, "an argument"));
            return;
        }
    bool is_last = n_in > 0 && in[0] == v->last && v->last && !op->compose;
    v->last = NULL;
    ebb_status status = is_last ? ebb__run_last(v->ctx, op, attr, n_in, in, n_out, out)
                                : ebb__run(v->ctx, op, attr, n_in, in, n_out, out);
    if (status != EBB_OK) sticky(v, status);
}

static bool same_dims(const ebb__layout *a, const ebb__layout *b)
{
    if (a->n_dims != b->n_dims) return false;
    for (int64_t i = 0; i < a->n_dims; i++)
        if (a->dims_strides[i] != b->dims_strides[i]) return false;
    return true;
}

/* False, and the rule has failed, where it is not. */
static bool given_is_finite(rule *r, int32_t i, ebb_tensor *g)
{
    bool finite;
    char text[160];
    const ebb_op *op = r->vjp.op;
    const char *name = op->arg[i < op->n_in ? i : op->n_in - 1];
    ebb_status status = ebb__finite_check(&finite, g);
    if (status == EBB_OK && !finite)
        status = ebb__fail(EBB_E_RANGE,
                           "the gradient that %s gives its input %d%s%s%s is not finite, all "
                           "that came to it was",
                           ebb__record_text(text, sizeof text, r->record), (int)i,
                           name ? " (" : "", name ? name : "", name ? ")" : "");
    if (status != EBB_OK) sticky(&r->vjp, status);
    return status == EBB_OK;
}

/* Whether what comes to the rule is finite. */
static ebb_status came_finite(rule *r)
{
    r->checks_finite = true;
    for (int32_t k = 0; k < r->vjp.n_out && r->checks_finite; k++) {
        ebb_tensor *g = r->b->total[r->b->first_out[r->i] + k];
        if (g) EBB_TRY(ebb__finite_check(&r->checks_finite, g));
    }
    return EBB_OK;
}

static void rule_give(ebb_vjp *v, int32_t i, ebb_tensor *g)
{
    rule *r = (rule *)v;
    if (v->status != EBB_OK) return;
    if (!g) {
        sticky(v, ebb__null_argument(v->op->name, "a gradient"));
        return;
    }
    ebb__graph_target t = target_of(r, i);
    if (g == EBB_NONE || (t.node < 0 && t.leaf < 0)) return;
    const ebb__slot *s = ebb__slot_of(g, "ebb_vjp_give", "g");
    if (!s) {
        sticky(v, ebb_error_status());
        return;
    }
    if (s->layout->dtype != rule_in_dtype(v, i)) {
        sticky(v, ebb__fail(EBB_E_DTYPE, "%s: the gradient of input %d is %s, the input %s",
                            v->op->name, (int)i, ebb_dtype_name((ebb_dtype)s->layout->dtype),
                            ebb_dtype_name(rule_in_dtype(v, i))));
        return;
    }
    if (!same_dims(s->layout, ebb__record_layout(r->record, i))) {
        ebb_shape want = rule_in_shape(v, i), have = ebb_shape_get(g), joint = have;
        if (ebb__shape_broadcast(&joint, &have, &want) != EBB_OK ||
            !ebb__shape_equal(&joint, &have)) {
            char th[EBB__SHAPE_TEXT], tw[EBB__SHAPE_TEXT];
            sticky(v, ebb__fail(EBB_E_SHAPE, "%s: the gradient of input %d is %s, %s is needed",
                                v->op->name, (int)i, ebb__shape_text(th, sizeof th, &have),
                                ebb__shape_text(tw, sizeof tw, &want)));
            return;
        }
        g = ebb__emit(v, v->ctx->engine->sum_to, &want, 1, &g);
        if (!g) return;
    }
    if (r->checks_finite && !given_is_finite(r, i, g)) return;
    ebb__backward *b = r->b;
    ebb__grad_total *total =
        t.node >= 0 ? &b->total[b->first_out[t.node] + t.output] : ebb__leaf_total(b, t.leaf);
    ebb_status status = ebb__total_add(b, total, g);
    if (status != EBB_OK) sticky(v, status);
    if (t.node >= 0) ebb__next_use_total(b, total, t.node);
}

static uint64_t rule_random_base(ebb_vjp *v)
{
    return ebb__record_random_base(((rule *)v)->record);
}

static const ebb__vjp_host host = {
    .grad = rule_grad,
    .in = rule_in,
    .out = rule_out,
    .aux = rule_aux,
    .wants = rule_wants,
    .give = rule_give,
    .in_shape = rule_in_shape,
    .in_dtype = rule_in_dtype,
    .emit = rule_emit,
    .random_base = rule_random_base,
};

ebb_status ebb__rule_run(ebb__backward *b, int64_t i)
{
    ebb_graph_node *node = b->walk.nodes[i];
    ebb__record *record = ebb_graph_node_payload(node);
    const ebb_op *op = record->op;
    rule r = {.vjp = {.op = op,
                      .attr = ebb__record_attr(record),
                      .ctx = record->ctx,
                      .n_in = record->n_in,
                      .n_out = record->n_out - op->n_aux,
                      .host = &host},
              .b = b,
              .i = i,
              .node = node,
              .record = record,
              .target = b->walk.targets + b->walk.first[i]};
    r.declared = declared_by(&r);
    ebb_scope scope = ebb_scope_begin(
        EBB__SCOPE_RULE | (b->create_graph ? EBB_SCOPE_GRAD : EBB_SCOPE_NO_GRAD), NULL);
    if (scope.id == 0) {
        ebb_status refused = ebb_error_status();
        ebb_scope_end(scope);
        return refused;
    }
    if (b->args->check_finite) r.vjp.status = came_finite(&r);
    if (r.vjp.status == EBB_OK && b->create_graph && op->vjp_composed)
        op->vjp_composed(&r.vjp);
    else if (r.vjp.status == EBB_OK)
        op->vjp(&r.vjp);
    ebb_scope_end(scope);
    return r.vjp.status;
}
