/* run.c - one application of an operation: check, reserve, compute, record.
 *
 * Strong guarantee: on failure no output exists, no reference is left, nothing was written.
 * Outputs and scratch are reserved before the kernel runs; the blocks of operands are pinned
 * from there to the kernel's end.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"
#include "autodiff/dry.h"
#include "autodiff/in_budget.h"

#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = EBB__MAX_IN, MAX_MADE = EBB__MAX_OUT + EBB__MAX_AUX };

/* ---- operands ---------------------------------------------------------------------------- */

ebb_status ebb__no_values(void)
{
    return ebb__fail(EBB_E_UNSUPPORTED, "the tensor was made in a dry run, which finds shapes "
                                        "only: it has no values");
}

static bool is_within(const ebb_context *ctx, const ebb_context *ancestor)
{
    while (ctx && ctx != ancestor) ctx = ctx->parent;
    return ctx != NULL;
}

ebb_status ebb__context_join(ebb_context **ctx, ebb_context *other)
{
    if (!*ctx || *ctx == other || is_within(other, *ctx)) {
        *ctx = other;
        return EBB_OK;
    }
    if (is_within(*ctx, other)) return EBB_OK;
    return ebb__fail(EBB_E_MISUSE, "the tensors belong to different contexts");
}

const ebb_context *ebb__context_among(ebb_tensor *const *t, int64_t n)
{
    for (int64_t i = 0; t && i < n; i++) {
        const ebb__slot *s = ebb__slot_find(t[i]);
        if (s) return s->ctx;
    }
    return NULL;
}

ebb_status ebb__context_usable(const ebb_context *ctx)
{
    if (ctx->fork_generation != ebb__fork_generation())
        return ebb__fail(EBB_E_MISUSE,
                         "the context was made before a fork, in another process");
    if (ctx->closed)
        return ebb__fail(EBB_E_MISUSE, "the context went with its parent, which was destroyed");
    if (ctx->single_threaded) {
        ebb__thread_token *self = ebb__thread_self();
        if (!self || self->id != ctx->thread_id)
            return ebb__fail(EBB_E_MISUSE,
                             "the context is single-threaded and belongs to another thread");
    }
    return EBB_OK;
}

const char *ebb__argument_name(const ebb_op *op, int32_t i)
{
    const char *name = op->arg[i < op->n_in ? i : op->n_in - 1];
    return name ? name : "x";
}

static bool may_be_absent(const ebb_op *op, int32_t i)
{
    return op->optional >> (i < op->n_in ? i : op->n_in - 1) & 1;
}

/* What is no valid handle: an absent optional input, or an error. */
static ebb_status operand_special(ebb__apply *a, ebb_tensor *t, int32_t i)
{
    ebb__call *c = &a->call;
    if (t != EBB_NONE || !may_be_absent(c->op, i)) {
        ebb__slot_refuse(t, c->op->name, ebb__argument_name(c->op, i));
        return ebb_error_status();
    }
    a->slot[i] = NULL;
    c->in[i] = (ebb_view){0};
    return EBB_OK;
}

static ebb_status operands_resolve(ebb__apply *a, ebb_tensor *const *in)
{
    ebb__call *c = &a->call;
    ebb_context *ctx = c->ctx;
    bool tracked = false, phantom = false;
    for (int32_t i = 0, n = c->n_in; i < n; i++) {
        ebb__slot *s = ebb__slot_find(in[i]);
        if (!s) {
            EBB_TRY(operand_special(a, in[i], i));
            continue;
        }
        if (s->ctx != ctx) EBB_TRY(ebb__context_join(&ctx, s->ctx));
        a->slot[i] = s;
        tracked |= s->node != NULL;
        phantom |= s->storage->value->phantom;
        ebb__layout_unpack(&c->in[i], s->layout, NULL);
    }
    if (!ctx) return ebb__fail(EBB_E_MISUSE, "no tensor was given");
    EBB_TRY(ebb__context_usable(ctx));
    if (phantom && !ebb__is_dry(ctx)) return ebb__no_values();
    c->ctx = ctx;
    a->tracked = tracked && ebb__op_differentiable(c->op) && ebb__scope_records();
    c->records = a->tracked;
    c->n_threads = ctx->n_threads;
    return EBB_OK;
}

/* ---- shapes ------------------------------------------------------------------------------ */

static ebb_status shapes_resolve(ebb__apply *a)
{
    ebb__call *c = &a->call;
    EBB_TRY(c->op->shape(c));
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        EBB_TRY(ebb__shape_check(&c->out[k].shape, c->out[k].dtype));
        ebb__view_contiguous(&c->out[k]);
    }
    if (c->op->flags & EBB_OP_BROADCAST)
        for (int32_t i = 0; i < c->n_in; i++)
            if (a->slot[i] && !ebb__shape_equal(&c->in[i].shape, &c->out[0].shape))
                ebb__view_broadcast(&c->in[i], &c->out[0].shape);
    a->override = ebb__registry_plan(c->ctx->registry, c, &a->backend);
    return EBB_OK;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static void operands_unpin(ebb__apply *a, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (a->slot[i] && !a->slot[i]->storage->value->tiny)
            ebb__value_unpin(a->slot[i]->storage->value);
}

ebb_status ebb__tensor_pin(ebb_view *view, ebb__slot *s)
{
    if (s->storage->value->phantom) return ebb__no_values();
    if (!ebb__value_pin(s->storage->value)) EBB_TRY(ebb__restore_pinned(s->storage->value));
    if (ebb__habit_of(s->ctx)) ebb__habit_read(ebb__habit_of(s->ctx), s->storage->value);
    ebb__tensor_view(view, s);
    return EBB_OK;
}

void ebb__tensor_unpin(ebb__slot *s)
{
    ebb__value_unpin(s->storage->value);
}

static ebb_status operands_pin(ebb__apply *a)
{
    ebb__call *c = &a->call;
    for (int32_t i = 0; i < c->n_in; i++) {
        ebb__slot *s = a->slot[i];
        if (!s) continue;
        ebb__value *v = s->storage->value;
        if (!v->tiny && !ebb__value_pin(v) && ebb__restore_pinned(v) != EBB_OK) {
            operands_unpin(a, i);
            return ebb_error_status();
        }
    }
    ebb__operands_resolve(a);
    return EBB_OK;
}

/* A shape that depends on values: they are there while it is found. */
static ebb_status shapes_of_values(ebb__apply *a)
{
    for (int32_t i = 0; i < a->call.n_in; i++)
        if (a->slot[i] && a->slot[i]->storage->value->phantom) return ebb__no_values();
    EBB_TRY(operands_pin(a));
    ebb_status status = shapes_resolve(a);
    operands_unpin(a, a->call.n_in);
    return status;
}

void ebb__operands_resolve(ebb__apply *a)
{
    ebb__call *c = &a->call;
    for (int32_t i = 0; i < c->n_in; i++) {
        const ebb__slot *s = a->slot[i];
        if (!s) continue;
        c->in[i].data = (char *)s->storage->value->data +
                        s->layout->offset * (int64_t)ebb__dtype_size(c->in[i].dtype);
    }
}

ebb_status ebb__kernel_run(ebb__apply *a)
{
    ebb__call *c = &a->call;
    if (c->op->flags & EBB_OP_RANDOM) {
        ebb_context *root = c->ctx;
        c->random_key = root->seed;
        c->random_base = atomic_fetch_add_explicit(
            &root->random_counter, (uint64_t)(c->n_random + 3) / 4, memory_order_relaxed);
    }
    return a->override ? a->override->forward(c, a->backend) : c->op->forward(c);
}

static void made_drop(ebb__apply *a, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        if (a->made[k]) ebb__value_unuse(a->made[k]);
}

ebb_kind ebb__result_kind(const ebb__call *c, int32_t k)
{
    bool kept = k < c->n_out || c->records;
    return kept && !ebb__scope_is_rule() ? EBB_KIND_ACTIVATION : EBB_KIND_TEMPORARY;
}

static ebb_status results_reserve(ebb__apply *a)
{
    ebb__call *c = &a->call;
    int32_t n = c->n_out + c->n_aux;
    for (int32_t k = 0; k < n; k++) {
        ebb_kind own = ebb__result_kind(c, k);
        if (ebb__value_create(&a->made[k], c->ctx, ebb__view_bytes(&c->out[k]), own) !=
            EBB_OK) {
            made_drop(a, k);
            return ebb_error_status();
        }
        c->out[k].data = a->made[k]->data;
    }
    if (c->scratch_bytes &&
        ebb__scratch_alloc(&c->scratch, c->ctx, c->scratch_bytes) != EBB_OK) {
        made_drop(a, n);
        return ebb_error_status();
    }
    return EBB_OK;
}

static ebb_status compute(ebb__apply *a)
{
    ebb__call *c = &a->call;
    if (ebb__is_dry(c->ctx)) return ebb__dry_compute(a);
    if (ebb__budget_gate(c->ctx)) return ebb__compute_in_budget(a);
    EBB_TRY(operands_pin(a));
    ebb_status status = results_reserve(a);
    if (status == EBB_OK) {
        status = ebb__kernel_run(a);
        if (c->scratch_bytes) ebb__scratch_free(c->ctx, c->scratch, c->scratch_bytes);
        if (status != EBB_OK) made_drop(a, c->n_out + c->n_aux);
    }
    operands_unpin(a, c->n_in);
    return status;
}

/* May the first result lie where the first operand does, as far as can be seen from here. */
static bool may_go_over(const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    const ebb__slot *s = a->slot[0];
    return s && ebb__may_go_over(c, 0) && !a->override && !a->tracked && !s->node &&
           s->layout->contiguous && !s->layout->offset &&
           atomic_load_explicit(&s->refs, memory_order_acquire) == 1 &&
           atomic_load_explicit(&s->storage->refs, memory_order_acquire) == 1;
}

/* ---- results ----------------------------------------------------------------------------- */

static void handles_drop(ebb_tensor **out, int32_t n)
{
    for (int32_t k = 0; k < n; k++) {
        ebb_tensor *x = out[k];
        ebb_replace(&x, NULL);
        out[k] = NULL;
    }
}

/* Gives each output a handle; takes the uses of made[]. */
static ebb_status handles_make(ebb__apply *a, ebb_tensor **out)
{
    ebb__call *c = &a->call;
    ebb_status status = EBB_OK;
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        if (status != EBB_OK || k >= c->n_out) {
            ebb__value_unuse(a->made[k]);
            continue;
        }
        ebb__storage *storage;
        status = ebb__storage_create(&storage, a->made[k]);
        if (status == EBB_OK)
            status = ebb__tensor_create(&out[k], c->ctx, storage, &c->out[k], 0);
        if (status != EBB_OK) handles_drop(out, k);
    }
    return status;
}

static ebb_status record(ebb__apply *a, ebb_tensor **out)
{
    ebb__call *c = &a->call;
    ebb__record *r;
    ebb_graph_node *node = NULL;
    EBB_TRY(ebb__record_make(&r, a, out));
    if (r && ebb__is_dry(c->ctx))
        atomic_fetch_or_explicit(&r->marks, EBB__RECORD_DRY, memory_order_relaxed);
    if (a->tracked) {
        EBB_TRY(ebb__node_make(&node, a, r));
        bool first = true; /* gets the handle that recording gave us */
        for (int32_t k = 0; k < c->n_out; k++) {
            if (!ebb__dtype_is_float(c->out[k].dtype)) continue;
            ebb__tensor_set_node(out[k], first ? node : ebb_graph_node_keep(node), (uint32_t)k);
            first = false;
        }
        if (first) ebb_graph_node_release(node);
    } else if (r) {
        ebb__record_release(r); /* the values hold it as their recipe */
    }
    return EBB_OK;
}

/* The kernel has run. */
static ebb_status finish(ebb__apply *a, ebb_tensor **out)
{
    ebb__call *c = &a->call;
    if (c->ctx->engine->trace) ebb__trace_op(a);
    if (c->n_out + c->n_aux == 0) {
        if (ebb__habit_of(c->ctx)) ebb__habit_op(a);
        if (c->over)
            ebb__storage_exchange(a->slot[0]->storage, a->slot[1]->storage,
                                  ebb__view_bytes(&c->in[0]));
        return EBB_OK;
    }
    int32_t n = c->n_out + c->n_aux;
    /* The handles hold the outputs while they are recorded, we the by-products. */
    for (int32_t k = c->n_out; k < n; k++) ebb__value_use(a->made[k]);
    ebb_status status = handles_make(a, out);
    if (status == EBB_OK && (status = record(a, out)) != EBB_OK) handles_drop(out, c->n_out);
    if (ebb__habit_of(c->ctx) && status == EBB_OK) ebb__habit_op(a);
    for (int32_t k = c->n_out; k < n; k++) ebb__value_unuse(a->made[k]);
    return status;
}

static ebb_status apply_kernel(ebb__apply *a, ebb_tensor **out)
{
    const ebb_op *op = a->call.op;
    EBB_TRY(op->flags & EBB_OP_VALUE_SHAPE ? shapes_of_values(a) : shapes_resolve(a));
    if (op->writes) EBB_TRY(ebb__writes_prepare(a));
    a->is_last = a->is_last && may_go_over(a);
    ebb_status status = compute(a);
    if (status == EBB_OK) status = finish(a, out);
    if (a->over) ebb__value_stay_end(a->over, false);
    return status;
}

static ebb_status apply_view(ebb__apply *a, ebb_tensor **out, bool *copy)
{
    ebb__call *c = &a->call;
    int64_t offset = 0;
    c->out[0].dtype = c->in[0].dtype;
    EBB_TRY(c->op->view(&c->out[0], &offset, copy, c));
    if (*copy) return EBB_OK;
    EBB_TRY(ebb__shape_check(&c->out[0].shape, c->out[0].dtype));
    const ebb__slot *s = a->slot[0];
    EBB_TRY(ebb__tensor_create(&out[0], c->ctx, ebb__storage_keep(s->storage), &c->out[0],
                               s->layout->offset + offset));
    ebb_status status = record(a, out);
    if (status != EBB_OK) handles_drop(out, 1);
    return status;
}

/* ---- entry ------------------------------------------------------------------------------- */

static ebb_status apply(ebb__apply *a, ebb_tensor *const *in, ebb_tensor **out, bool *copy)
{
    EBB_TRY(operands_resolve(a, in));
    ebb__call *c = &a->call;
    if (c->op->flags & EBB_OP_VIEW) return apply_view(a, out, copy);
    if (c->op->flags & (EBB_OP_BROADCAST | EBB_OP_PROMOTES) ||
        c->op->shape == ebb__shape_floats)
        *copy = (a->promoted = ebb__promoted(a)) != 0;
    if (!(c->op->flags & EBB_OP_STRIDED))
        for (int32_t i = 0; i < c->n_in; i++)
            if (a->slot[i] && !a->slot[i]->layout->contiguous && !(c->op->writes >> i & 1))
                *copy = true;
    return *copy ? EBB_OK : apply_kernel(a, out);
}

/* What the kernel can take: in the promoted dtype (0: its own), dense where it must be. */
static ebb_tensor *operand_fit(ebb_context *ctx, const ebb_op *op, ebb_tensor *t, int32_t i,
                               ebb_dtype promoted)
{
    if (promoted && !(t = ebb__promote(t, op, i, promoted))) return NULL;
    const ebb__slot *s = ebb__slot_raw(t);
    bool any_strides = op->flags & EBB_OP_STRIDED && !(op->flags & EBB_OP_VIEW);
    if (s->layout->contiguous || any_strides) return t;
    return ebb__run1(ctx, s->ctx->engine->clone, NULL, 1, &t);
}

/* Runs with the inputs cast or copied first; the copies belong to a scope of their own. */
static ebb_status run_on_copies(ebb_context *ctx, const ebb_op *op, const void *attr,
                                int32_t n_in, ebb_tensor *const *in, int32_t n_out,
                                ebb_tensor **out, ebb_dtype promoted)
{
    ebb_tensor *few[FEW], **dense = few;
    size_t bytes = (size_t)n_in * sizeof *dense;
    if (n_in > FEW) dense = ebb__alloc(&ebb__allocator_libc, bytes, 16);
    if (!dense) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
    ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_status status = scope.id ? EBB_OK : ebb_error_status();
    for (int32_t i = 0; i < n_in && status == EBB_OK; i++) {
        dense[i] = in[i];
        if (in[i] == EBB_NONE) continue;
        if (op->writes >> i & 1)
            continue; /* a write into a copy would be lost: refused later */
        dense[i] = operand_fit(ctx, op, in[i], i, promoted);
        if (!dense[i]) status = ebb_error_status();
    }
    if (status == EBB_OK) status = ebb__run(ctx, op, attr, n_in, dense, n_out, out);
    for (int32_t k = 0; k < n_out && status == EBB_OK; k++) out[k] = ebb_escape(scope, out[k]);
    ebb_scope_end(scope);
    if (dense != few) ebb__free(&ebb__allocator_libc, dense, bytes);
    return status;
}

static ebb_status run_checked(ebb_context *ctx, const ebb_op *op, const void *attr,
                              int32_t n_in, ebb_tensor *const *in, int32_t n_out,
                              ebb_tensor **out, bool is_last)
{
    ebb_view few_in[FEW], few_out[MAX_MADE];
    ebb__slot *few_slot[FEW];
    ebb__value *few_made[MAX_MADE];
    ebb__apply a;
    memset(&a.call, 0, sizeof a.call);
    a.call.op = op;
    a.call.ctx = ctx;
    a.call.attr = attr;
    a.call.n_in = n_in;
    a.call.n_out = n_out;
    a.call.n_aux = op->n_aux;
    a.override = NULL;
    a.promoted = (ebb_dtype)0;
    a.is_last = is_last;
    a.over = NULL;
    a.cost_ns = 0;
    a.backend = NULL;
    a.call.in = few_in;
    a.call.out = few_out;
    a.slot = few_slot;
    a.made = few_made;
    void *memory = NULL;
    size_t bytes = 0;
    if (n_in > FEW || n_out > EBB__MAX_OUT) {
        size_t per_in = sizeof(ebb_view) + sizeof(ebb__slot *);
        size_t n_made = (size_t)n_out + op->n_aux, per_out = sizeof(ebb_view) + sizeof(void *);
        bytes = (size_t)n_in * per_in + n_made * per_out;
        memory = ebb__alloc(&ebb__allocator_libc, bytes, 16);
        if (!memory) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
        a.call.in = memory;
        a.call.out = a.call.in + n_in;
        a.slot = (ebb__slot **)(a.call.out + n_made);
        a.made = (ebb__value **)(a.slot + n_in);
    }
    bool copy = false;
    ebb_status status = apply(&a, in, out, &copy);
    if (memory) ebb__free(&ebb__allocator_libc, memory, bytes);
    if (status == EBB_OK && copy)
        status = run_on_copies(ctx, op, attr, n_in, in, n_out, out, a.promoted);
    return status;
}

ebb_status ebb__run_unnamed(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                            ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    for (int32_t k = 0; k < n_out; k++) out[k] = NULL;
    EBB_TRY(ebb__scope_required());
    return op->compose ? ebb__compose(ctx, op, attr, n_in, in, n_out, out)
                       : run_checked(ctx, op, attr, n_in, in, n_out, out, false);
}

ebb_status ebb__run_last(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                         ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    const char *outer = ebb__error_op_set(op->name);
    ebb_status status = run_checked(ctx, op, attr, n_in, in, n_out, out, true);
    ebb__error_op_set(outer);
    return status;
}

ebb_status ebb__run(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                    ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    const char *outer = ebb__error_op_set(op->name);
    ebb_status status = ebb__run_unnamed(ctx, op, attr, n_in, in, n_out, out);
    if (status == EBB_OK || outer) {
        ebb__error_op_set(outer);
        return status;
    }
    return ebb__call_end(NULL, ctx ? ctx : ebb__context_among(in, n_in), status);
}

ebb_tensor *ebb__run1(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                      ebb_tensor *const *in)
{
    ebb_tensor *out = NULL;
    return ebb__run(ctx, op, attr, n_in, in, 1, &out) == EBB_OK ? out : NULL;
}
