/* restore.c - dropped bytes made again by running recipes, by work list.
 *
 * A recipe runs with the attributes, layouts, random counter and thread count of its first run,
 * so its results are bit for bit the same; a stateful operation leaves its state alone.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "base/array.h"

enum { MAX_MADE = EBB__MAX_OUT + EBB__MAX_AUX };

static void call_of_record(ebb__call *c, const ebb__record *r)
{
    *c = (ebb__call){.op = r->op,
                     .ctx = r->ctx,
                     .attr = ebb__record_attr(r),
                     .n_in = r->n_in,
                     .n_out = r->n_out - r->op->n_aux,
                     .n_aux = r->op->n_aux,
                     .in = c->in,
                     .out = c->out,
                     .random_key = r->ctx->seed,
                     .random_base = ebb__record_random_base(r),
                     .n_threads = ebb__record_n_threads(r),
                     .recompute = true,
                     .records = true};
}

/* Where results that are still there, or that nobody needs (not held), are written instead. */
static size_t spare_bytes(const ebb__record *r, const ebb__call *c, ebb__value *const *held)
{
    size_t bytes = 0;
    for (int32_t k = 0; k < r->n_out; k++)
        if (!held[k]) bytes += (ebb__view_bytes(&c->out[k]) + 63) & ~(size_t)63;
    return bytes;
}

static void inputs_unpin(const ebb__record *r, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (r->in[i]) ebb__value_unpin(r->in[i]);
}

static ebb_status outputs_reserve(ebb__record *r, ebb__call *c, ebb__value *const *held,
                                  char *spare)
{
    for (int32_t k = 0; k < r->n_out; k++) {
        ebb__value *v = held[k];
        if (!v) {
            c->out[k].data = spare;
            spare += (ebb__view_bytes(&c->out[k]) + 63) & ~(size_t)63;
            continue;
        }
        if (ebb__value_reserve(v) != EBB_OK) {
            while (k-- > 0)
                if (held[k]) ebb__value_unreserve(held[k]);
            return ebb_error_status();
        }
        c->out[k].data = v->data;
    }
    return EBB_OK;
}

/* Inputs first: once its outputs are there the record may break and forget what it read. */
static void outputs_settle(const ebb__record *r, ebb__value *const *held, bool ok)
{
    inputs_unpin(r, r->n_in);
    for (int32_t k = 0; k < r->n_out; k++) {
        if (!held[k]) continue;
        if (ok)
            ebb__value_restored(held[k]);
        else
            ebb__value_unreserve(held[k]);
    }
}

static ebb_status recipe_compute(ebb__record *r, ebb__call *c, ebb__value *const *held)
{
    for (int32_t i = 0; i < r->n_in; i++) {
        const ebb__layout *l = ebb__record_layout(r, i);
        c->in[i] = (ebb_view){0};
        if (!l) continue;
        if (!ebb__value_pin(r->in[i])) {
            inputs_unpin(r, i);
            return ebb__fail(EBB_E_INTERNAL, "an input of a recipe is not there");
        }
        ebb__layout_unpack(&c->in[i], l, r->in[i]->data);
    }
    void *backend = NULL;
    for (int32_t k = 0; k < r->n_out; k++)
        ebb__layout_unpack(&c->out[k], ebb__record_layout(r, r->n_in + k), NULL);
    ebb_status status = r->op->shape(c);
    for (int32_t k = 0; k < r->n_out; k++) ebb__view_contiguous(&c->out[k]);
    if (r->op->flags & EBB_OP_BROADCAST)
        for (int32_t i = 0; i < r->n_in; i++)
            if (c->in[i].dtype) ebb__view_broadcast(&c->in[i], &c->out[0].shape);
    const ebb__override *o = ebb__registry_plan(r->ctx->registry, c, &backend);
    size_t kernel_scratch = (c->scratch_bytes + 63) & ~(size_t)63;
    size_t scratch = kernel_scratch + spare_bytes(r, c, held);
    char *memory = NULL;
    bool settled = false;
    if (status == EBB_OK && scratch)
        status = ebb__scratch_alloc((void **)&memory, r->ctx, scratch);
    if (status == EBB_OK) {
        c->scratch = memory;
        status = outputs_reserve(r, c, held, memory + kernel_scratch);
        if (status == EBB_OK) {
            status = o ? o->forward(c, backend) : r->op->forward(c);
            outputs_settle(r, held, status == EBB_OK);
            settled = true;
        }
        if (scratch) ebb__scratch_free(r->ctx, memory, scratch);
    }
    if (!settled) inputs_unpin(r, r->n_in);
    return status;
}

static ebb_status recipe_run(ebb__record *r)
{
    ebb_view few[EBB__MAX_IN], out[MAX_MADE];
    ebb__value *few_held[MAX_MADE], **held = few_held;
    ebb__call c = {.in = few, .out = out};
    void *memory = NULL;
    size_t bytes = ((size_t)r->n_in + r->n_out) * sizeof(ebb_view);
    bytes += r->n_out * sizeof(ebb__value *);
    if (r->n_in > EBB__MAX_IN || r->n_out > MAX_MADE) {
        memory = ebb__alloc(&r->ctx->allocator, bytes, 16);
        if (!memory) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
        c.in = memory;
        c.out = c.in + r->n_in;
        held = (ebb__value **)(c.out + r->n_out);
    }
    call_of_record(&c, r);
    /* A value's death may end the record under us. */
    ebb__record_keep(r);
    ebb__record_hold(r, held);
    const char *outer = ebb__error_op_set(r->op->name);
    ebb_status status = recipe_compute(r, &c, held);
    ebb__error_op_set(outer);
    for (int32_t k = 0; k < r->n_out; k++) ebb__value_unuse(held[k]);
    ebb__record_release(r);
    if (memory) ebb__free(&c.ctx->allocator, memory, bytes);
    return status;
}

ebb_status ebb__restore(ebb__value *v)
{
    ebb__array stack = {.item_bytes = sizeof(ebb__value *)};
    const ebb_allocator *allocator = &v->ctx->allocator;
    ebb_status status = ebb__array_push(&stack, allocator, &v);
    while (status == EBB_OK && stack.n > 0) {
        ebb__value *top = ((ebb__value **)stack.items)[stack.n - 1];
        if (top->state == EBB__VALUE_RESIDENT) {
            stack.n--;
            continue;
        }
        ebb__record *r = ebb__recipe_of(top);
        if (top->state == EBB__VALUE_LOST || !r || r->broken) {
            status = ebb__fail(EBB_E_INTERNAL, "bytes are gone and cannot be made again");
            break;
        }
        bool ready = true;
        for (int32_t i = 0; i < r->n_in && status == EBB_OK; i++) {
            if (!r->in[i] || r->in[i]->state == EBB__VALUE_RESIDENT) continue;
            ready = false;
            status = ebb__array_push(&stack, allocator, &r->in[i]);
        }
        if (status == EBB_OK && ready) status = recipe_run(r);
    }
    ebb__array_free(&stack, allocator);
    return status;
}
