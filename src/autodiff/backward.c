/* backward.c - walk the graph from the roots, newest node first, and collect gradients.
 *
 * Refused (everything checked before the claim): nothing has changed. Failed (a rule's error):
 * the walked graph is spent unless kept, leaf slots are untouched. Totals of leaves are staged
 * and committed when the walk has succeeded (commit.c).
 * SPDX-License-Identifier: MIT */
#include "autodiff/commit.h"
#include "autodiff/dry.h"
#include "memory/reserve.h"

#include <stdlib.h>
#include <string.h>

/* ---- totals ------------------------------------------------------------------------------ */

bool ebb__tensor_exclusive(const ebb__slot *s)
{
    const ebb__storage *storage = s->storage;
    const ebb__value *v = storage->value;
    unsigned holds = v->tiny ? atomic_load_explicit(&v->refs, memory_order_acquire)
                             : atomic_load_explicit(&v->uses, memory_order_acquire);
    return atomic_load_explicit(&s->refs, memory_order_acquire) == 1 && !s->node &&
           atomic_load_explicit(&storage->refs, memory_order_acquire) == 1 && holds == 1 &&
           ebb__value_has_bytes(v) && (!v->external || v->phantom) && s->layout->contiguous;
}

ebb_tensor *ebb__claim_or_keep(ebb_tensor *g)
{
    return ebb__scope_take(ebb__slot_raw(g)) ? g : ebb_keep(g);
}

/* The sum of a few elements, without an application of an operation. */
static bool add_small(ebb_tensor *total, ebb_tensor *g)
{
    enum { FEW_ELEMS = 64 };
    ebb__slot *x = ebb__slot_raw(total), *y = ebb__slot_raw(g);
    if (!x->storage->value->tiny || !y->layout->contiguous) return false;
    ebb_view vx, vy;
    ebb__tensor_view(&vx, x);
    int64_t n = ebb__n_elems(&vx.shape);
    if (n > FEW_ELEMS) return false;
    if (ebb__is_dry(x->ctx)) return true;
    if (!ebb__value_pin(y->storage->value)) return false;
    ebb__tensor_view(&vy, y);
    ebb__add_in_place(vx.data, vy.data, vx.dtype, n);
    ebb__value_unpin(y->storage->value);
    return true;
}

static ebb_dtype dtype_of(const ebb_tensor *t)
{
    return (ebb_dtype)ebb__slot_raw(t)->layout->dtype;
}

static ebb_status total_cast(ebb__backward *b, ebb__grad_total *total, ebb_dtype d)
{
    ebb_tensor *t = ebb__run1(b->ctx, b->ctx->engine->cast, &d, 1, total);
    if (!t) return ebb_error_status();
    ebb_release(*total);
    *total = ebb__claim_or_keep(t);
    return *total ? EBB_OK : ebb_error_status();
}

/* Sums of 16-bit floats are kept in f32 until they are complete: 2048 + 1 is 2048 in f16. */
static ebb_status operands_widen(ebb__backward *b, ebb__grad_total *total, ebb_tensor **g)
{
    ebb_dtype wide = EBB_F32;
    if (ebb__dtype_is_half(dtype_of(*total))) {
        EBB_TRY(total_cast(b, total, wide));
        b->has_wide = true;
    }
    if (!ebb__dtype_is_half(dtype_of(*g))) return EBB_OK;
    *g = ebb__run1(b->ctx, b->ctx->engine->cast, &wide, 1, g);
    return *g ? EBB_OK : ebb_error_status();
}

/* A total is complete: it is rounded, once, to the dtype of what it is the gradient of. */
static ebb_status total_narrow(ebb__backward *b, ebb__grad_total *total, ebb_dtype d)
{
    if (!b->has_wide || !*total || dtype_of(*total) == d) return EBB_OK;
    return total_cast(b, total, d);
}

ebb_status ebb__total_add(ebb__backward *b, ebb__grad_total *total, ebb_tensor *g)
{
    ebb__engine *e = b->ctx->engine;
    if (!*total) {
        *total = ebb__claim_or_keep(g);
        if (!*total) return ebb_error_status();
        ebb__part_note(b, total);
        return EBB_OK;
    }
    EBB_TRY(operands_widen(b, total, &g));
    if (!b->create_graph && ebb__tensor_exclusive(ebb__slot_raw(*total))) {
        if (add_small(*total, g)) return EBB_OK;
        return ebb__run(b->ctx, e->accumulate, NULL, 2, (ebb_tensor *[]){*total, g}, 0, NULL);
    }
    ebb_tensor *sum = ebb__run1(b->ctx, e->add, NULL, 2, (ebb_tensor *[]){*total, g});
    if (!sum) return ebb_error_status();
    ebb_release(*total);
    *total = ebb__claim_or_keep(sum);
    return *total ? EBB_OK : ebb_error_status();
}

static void totals_release(ebb__backward *b)
{
    for (int64_t i = 0; i < b->n_totals; i++) ebb_release(b->total[i]);
    if (b->memory) ebb__free(&b->ctx->allocator, b->memory, b->memory_bytes);
}

static ebb__record *record_of(const ebb__backward *b, int64_t i)
{
    return ebb_graph_node_payload(b->walk.nodes[i]);
}

/* Which nodes are chosen inputs, and to which leaf which node contributes last. */
static void places_mark(ebb__backward *b)
{
    const ebb__graph_walk *w = &b->walk;
    for (int64_t j = 0; j < b->args->n_inputs; j++)
        if (w->input[j] >= 0) b->is_input[w->input[j]] = true;
    for (int64_t i = 0; i < w->n_nodes; i++)
        for (int64_t e = w->first[i]; e < w->first[i + 1]; e++)
            if (w->targets[e].leaf >= 0) b->last_of[w->targets[e].leaf] = i;
}

static ebb_status totals_make(ebb__backward *b)
{
    const ebb__graph_walk *w = &b->walk;
    int64_t n = 0;
    for (int64_t i = 0; i < w->n_nodes; i++)
        n += record_of(b, i)->n_out - record_of(b, i)->op->n_aux;
    n += w->n_leaves;
    size_t marks = (size_t)w->n_leaves * sizeof(int64_t) + (size_t)w->n_nodes;
    b->memory_bytes =
        marks + (size_t)(n + 1) * sizeof *b->total + (size_t)(w->n_nodes + 1) * sizeof(int64_t);
    b->memory = ebb__alloc(&b->ctx->allocator, b->memory_bytes, 16);
    if (!b->memory)
        return ebb__fail(EBB_E_NOMEM, "%zu bytes for gradients under way were refused",
                         b->memory_bytes);
    memset(b->memory, 0, b->memory_bytes);
    b->first_out = b->memory;
    b->total = (ebb__grad_total *)(b->first_out + w->n_nodes + 1);
    b->last_of = (int64_t *)(b->total + n + 1);
    b->is_input = (bool *)(b->last_of + w->n_leaves);
    places_mark(b);
    b->n_totals = n;
    int64_t at = 0;
    for (int64_t i = 0; i < w->n_nodes; i++) {
        b->first_out[i] = at;
        at += record_of(b, i)->n_out - record_of(b, i)->op->n_aux;
    }
    b->first_out[w->n_nodes] = at;
    return EBB_OK;
}

/* The total a root or a chosen input stands for: `place` as in walk.root and walk.input. */
static ebb__grad_total *total_at(ebb__backward *b, int32_t place, uint32_t output)
{
    return place >= 0 ? &b->total[b->first_out[place] + output]
                      : ebb__leaf_total(b, -1 - (int64_t)place);
}

/* ---- checks before the claim ------------------------------------------------------------- */

static ebb_status saved_check(const ebb__record *r, const ebb__value *v)
{
    if (!v || !v->moved) return EBB_OK;
    char text[EBB__RECORD_TEXT];
    return ebb__fail(EBB_E_GRAPH, "a value saved by %s was written to by %s since",
                     ebb__record_text(text, sizeof text, r),
                     v->moved_by ? v->moved_by : "a write");
}

static ebb_status node_check(const ebb__record *r)
{
    uint32_t in = r->saved_in;
    for (int32_t i = 0; i < r->n_in && in; i++)
        if (in >> (i < 31 ? i : 31) & 1) EBB_TRY(saved_check(r, r->in[i]));
    for (int32_t k = 0; k < r->n_out && r->saved_out >> k; k++)
        if (r->saved_out >> k & 1) EBB_TRY(saved_check(r, r->out[k]));
    return EBB_OK;
}

static ebb_status roots_check(const ebb__backward_args *a, ebb__graph_place *place,
                              ebb_context **ctx)
{
    for (int64_t i = 0; i < a->n_roots; i++) {
        ebb__slot *s = ebb__slot_of(a->roots[i], "backward", "root");
        if (!s) return ebb_error_status();
        EBB_TRY(ebb__context_usable(s->ctx));
        if (!s->node)
            return ebb__fail(EBB_E_GRAPH, "root %lld depends on nothing that wants a gradient",
                             (long long)i);
        EBB_TRY(ebb__context_join(ctx, s->ctx));
        place[i] = (ebb__graph_place){s->node, s->output};
        if (!a->seeds || a->seeds[i] == EBB_NONE) continue;
        ebb__slot *seed = ebb__slot_of(a->seeds[i], "backward", "seed");
        if (!seed) return ebb_error_status();
        EBB_TRY(ebb__context_join(ctx, seed->ctx));
        ebb_view vs, vr;
        ebb__layout_unpack(&vs, seed->layout, NULL);
        ebb__layout_unpack(&vr, s->layout, NULL);
        char ts[EBB__SHAPE_TEXT], tr[EBB__SHAPE_TEXT];
        if (vs.dtype != vr.dtype || !ebb__shape_equal(&vs.shape, &vr.shape))
            return ebb__fail(
                EBB_E_SHAPE, "seed %lld is %s %s, its root %s %s", (long long)i,
                ebb_dtype_name(vs.dtype), ebb__shape_text(ts, sizeof ts, &vs.shape),
                ebb_dtype_name(vr.dtype), ebb__shape_text(tr, sizeof tr, &vr.shape));
    }
    return EBB_OK;
}

static ebb_status inputs_check(const ebb__backward_args *a, ebb__graph_place *place)
{
    for (int64_t i = 0; i < a->n_inputs; i++) {
        ebb__slot *s = ebb__slot_of(a->inputs[i], "backward", "input");
        if (!s) return ebb_error_status();
        if (!s->node)
            return ebb__fail(EBB_E_GRAPH, "input %lld is not tracked: it wants no gradient",
                             (long long)i);
        place[i] = (ebb__graph_place){s->node, s->output};
    }
    return EBB_OK;
}

/* Of a node with several outputs the walk tells whether the node is reached, not by which. */
static bool output_reached(const ebb__backward *b, int32_t node, uint32_t output)
{
    const ebb__graph_walk *w = &b->walk;
    if (record_of(b, node)->n_out - record_of(b, node)->op->n_aux == 1) return true;
    for (int64_t i = 0; i < b->args->n_roots; i++)
        if (w->root[i] == node && ebb__slot_raw(b->args->roots[i])->output == output)
            return true;
    for (int64_t e = 0; e < w->first[w->n_nodes]; e++)
        if (w->targets[e].node == node && w->targets[e].output == output) return true;
    return false;
}

/* A dry run uses up no graph but its own. */
static ebb_status dry_check(const ebb__backward *b)
{
    if (b->walk.keep) return EBB_OK;
    for (int64_t i = 0; i < b->walk.n_nodes; i++) {
        const ebb__record *r = record_of(b, i);
        unsigned marks = atomic_load_explicit(&r->marks, memory_order_relaxed);
        if (!b->walk.is_stop[i] && !(marks & EBB__RECORD_DRY))
            return ebb__fail(EBB_E_UNSUPPORTED,
                             "%s was recorded before the dry run, whose backward would use it "
                             "up",
                             r->op->name);
    }
    return EBB_OK;
}

static ebb_status walk_check(ebb__backward *b)
{
    const ebb__graph_walk *w = &b->walk;
    const ebb__backward_args *a = b->args;
    for (int64_t i = 0; i < a->n_inputs; i++) {
        int32_t node = w->input[i];
        if (node >= 0 && !output_reached(b, node, ebb__slot_raw(a->inputs[i])->output))
            w->input[i] = INT32_MIN;
    }
    for (int64_t i = 0; i < a->n_inputs; i++)
        if (w->input[i] == INT32_MIN && !a->allow_unused)
            return ebb__fail(EBB_E_GRAPH, "no root depends on input %lld", (long long)i);
    for (int64_t i = 0; i < w->n_nodes; i++)
        if (!w->is_stop[i]) EBB_TRY(node_check(record_of(b, i)));
    return ebb__is_dry(b->ctx) ? dry_check(b) : EBB_OK;
}

/* ---- the walk ---------------------------------------------------------------------------- */

static ebb_status seeds_put(ebb__backward *b)
{
    const ebb__backward_args *a = b->args;
    for (int64_t i = 0; i < a->n_roots; i++) {
        if (b->walk.root[i] == INT32_MIN) continue;
        ebb__slot *s = ebb__slot_raw(a->roots[i]);
        ebb_tensor *seed = a->seeds ? a->seeds[i] : EBB_NONE;
        if (seed == EBB_NONE) seed = ebb__ones_like(s);
        if (!seed) return ebb_error_status();
        EBB_TRY(ebb__total_add(b, total_at(b, b->walk.root[i], s->output), seed));
    }
    return EBB_OK;
}

static ebb_status outputs_narrow(ebb__backward *b, int64_t i)
{
    const ebb__record *r = record_of(b, i);
    for (int64_t k = b->first_out[i]; k < b->first_out[i + 1]; k++) {
        const ebb__layout *l = ebb__record_layout(r, r->n_in + (int32_t)(k - b->first_out[i]));
        EBB_TRY(total_narrow(b, &b->total[k], l ? (ebb_dtype)l->dtype : EBB_F32));
    }
    return EBB_OK;
}

ebb_status ebb__leaf_complete(ebb__backward *b, int64_t i)
{
    const ebb__leaf *leaf = ebb_graph_node_payload(b->walk.leaves[i]);
    EBB_TRY(total_narrow(b, ebb__leaf_total(b, i), leaf->dtype));
    return ebb__hooks_run_leaf(b, i);
}

/* Results of chosen inputs that lie on the way to others are taken before their rule runs. */
static void results_take(ebb__backward *b, int64_t node)
{
    const ebb__backward_args *a = b->args;
    for (int64_t j = 0; j < a->n_inputs; j++) {
        if (b->walk.input[j] != node || a->grads_out[j]) continue;
        ebb_tensor *t = *total_at(b, (int32_t)node, ebb__slot_raw(a->inputs[j])->output);
        a->grads_out[j] = t ? ebb_keep(t) : NULL;
    }
}

static bool any_gradient(const ebb__backward *b, int64_t i)
{
    for (int64_t k = b->first_out[i]; k < b->first_out[i + 1]; k++)
        if (b->total[k]) return true;
    return false;
}

/* A large graph has left the cache since it was recorded: what comes is asked for in time. */
static void prefetch(const ebb__backward *b, int64_t i)
{
    enum { NODES_AHEAD = 12, RECORDS_AHEAD = 6 };
    if (i + NODES_AHEAD >= b->walk.n_nodes) return;
    __builtin_prefetch(b->walk.nodes[i + NODES_AHEAD]);
    const char *record = ebb_graph_node_payload(b->walk.nodes[i + RECORDS_AHEAD]);
    __builtin_prefetch(record);
    __builtin_prefetch(record + 64);
}

static ebb_status nodes_run(ebb__backward *b)
{
    for (int64_t i = 0; i < b->walk.n_nodes; i++) {
        prefetch(b, i);
        if (b->n_parts) EBB_TRY(ebb__parts_settle(b, i));
        ebb__next_uses_at(b, i);
        if (b->has_wide) EBB_TRY(outputs_narrow(b, i));
        if (atomic_load_explicit(&record_of(b, i)->marks, memory_order_relaxed))
            EBB_TRY(ebb__hooks_run_node(b, i));
        if (b->is_input && b->is_input[i]) results_take(b, i);
        if (!b->walk.is_stop[i] && any_gradient(b, i)) EBB_TRY(ebb__rule_run(b, i));
        for (int64_t k = b->first_out[i]; k < b->first_out[i + 1]; k++) {
            ebb__tensor_release(b->total[k]);
            b->total[k] = NULL;
        }
        if (b->walk.keep) EBB_TRY(ebb__region_saves_use(&b->again, record_of(b, i)));
        ebb__next_uses_after(b, i);
        ebb__graph_walk_done(&b->walk, i);
        if (b->args->commit_each_leaf) EBB_TRY(ebb__commit_complete(b, i));
    }
    return EBB_OK;
}

static ebb_status results_finish(ebb__backward *b)
{
    const ebb__backward_args *a = b->args;
    for (int64_t i = 0; i < b->walk.n_leaves; i++) EBB_TRY(ebb__leaf_complete(b, i));
    for (int64_t j = 0; j < a->n_inputs; j++) {
        int32_t place = b->walk.input[j];
        if (place == INT32_MIN) {
            a->grads_out[j] = EBB_NONE;
            continue;
        }
        if (!a->grads_out[j] && place < 0) {
            ebb_tensor *t = *ebb__leaf_total(b, -1 - (int64_t)place);
            a->grads_out[j] = t ? ebb_keep(t) : NULL;
        }
        if (!a->grads_out[j]) { /* a path, but no rule gave anything: zero */
            ebb_tensor *zero = ebb__zeros_like(ebb__slot_raw(a->inputs[j]));
            if (!zero) return ebb_error_status();
            a->grads_out[j] = ebb_claim(zero);
        }
    }
    return EBB_OK;
}

/* The results belong to the innermost scope; each has bytes of its own, never those of a seed or
 * of another result (under create_graph they are shared: such a one is not written to). */
static ebb_status results_hand_over(ebb__backward *b)
{
    const ebb__backward_args *a = b->args;
    ebb_status status = EBB_OK;
    for (int64_t j = 0; j < a->n_inputs; j++) {
        ebb_tensor *ours = a->grads_out[j];
        if (!ours || ours == EBB_NONE) continue;
        ebb_tensor *theirs = NULL;
        if (status == EBB_OK)
            theirs = a->create_graph || ebb__tensor_exclusive(ebb__slot_raw(ours))
                         ? ebb__alias(ebb__slot_raw(ours), a->create_graph)
                         : ebb__run1(b->ctx, b->ctx->engine->clone, NULL, 1, &ours);
        if (!theirs) status = ebb_error_status();
        a->grads_out[j] = theirs;
        ebb_release(ours);
    }
    return status;
}

static ebb_status backward_walk(ebb__backward *b)
{
    const ebb__backward_args *a = b->args;
    EBB_TRY(walk_check(b));
    ebb__habit_weigh(b->ctx, b->walk.n_nodes);
    EBB_TRY(totals_make(b));
    EBB_TRY(ebb__next_uses_set(b));
    ebb_scope scope =
        ebb_scope_begin(EBB__SCOPE_RULE | (a->create_graph ? 0 : EBB_SCOPE_NO_GRAD), NULL);
    ebb_status status = scope.id ? seeds_put(b) : ebb_error_status();
    if (status == EBB_OK) status = ebb__graph_walk_claim(&b->walk);
    bool claimed = status == EBB_OK;
    if (status == EBB_OK) status = nodes_run(b);
    if (status == EBB_OK) status = a->inputs ? results_finish(b) : ebb__commit_all(b);
    ebb_scope_end(scope);
    ebb__region_saves_drop(&b->again);
    if (status != EBB_OK && claimed && !b->walk.keep) ebb__error_append("; its graph is spent");
    if (status != EBB_OK && b->committed) ebb__error_append("; some gradients were added");
    return status;
}

static ebb_status backward_checked(ebb__backward *b, ebb__graph_place *places)
{
    const ebb__backward_args *a = b->args;
    EBB_TRY(roots_check(a, places, &b->ctx));
    if (a->inputs) EBB_TRY(inputs_check(a, places + a->n_roots));
    EBB_TRY(ebb__graph_walk_begin(&b->walk, places, a->n_roots,
                                  a->inputs ? places + a->n_roots : NULL, a->n_inputs, a->only,
                                  a->user, a->keep_graph || a->create_graph));
    ebb_status status = backward_walk(b);
    if (b->first_out) totals_release(b);
    ebb__next_uses_end(b);
    if (b->kept) ebb__kept_release(b);
    if (status == EBB_OK &&
        atomic_load_explicit(&b->ctx->root->engine->watch.flags, memory_order_relaxed))
        ebb__watch_backward(b);
    ebb__graph_walk_end(&b->walk);
    ebb__lease_end();
    if (status == EBB_OK && !ebb__is_dry(b->ctx)) ebb__memory_step_done(b->ctx);
    if (status == EBB_OK && !b->walk.keep) ebb__habit_step(b->ctx);
    if (status == EBB_OK && a->inputs) return results_hand_over(b);
    for (int64_t j = 0; j < a->n_inputs; j++) {
        if (a->grads_out[j] != EBB_NONE) ebb_release(a->grads_out[j]);
        a->grads_out[j] = NULL;
    }
    return status;
}

ebb_status ebb__backward_run(const ebb__backward_args *a)
{
    for (int64_t j = 0; j < a->n_inputs; j++) a->grads_out[j] = NULL;
    if (a->inputs) EBB_TRY(ebb__scope_required()); /* results need an owner */
    enum { FEW = 16 };
    ebb__graph_place few[FEW], *places = few;
    int64_t n = a->n_roots + a->n_inputs;
    size_t bytes = (size_t)n * sizeof *places;
    if (n > FEW) places = ebb__alloc(&ebb__allocator_libc, bytes, 16);
    if (!places) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
    ebb__backward b = {.args = a,
                       .create_graph = a->create_graph,
                       .again = {.item_bytes = sizeof(ebb__value *)}};
    ebb_status status = backward_checked(&b, places);
    if (places != few) ebb__free(&ebb__allocator_libc, places, bytes);
    return status;
}
