/* rerun.c - one recipe run again.
 *
 * It runs with the attributes, layouts, random counter and thread count of its first run, so its
 * results are bit for bit the same; a stateful operation leaves its state alone. Results that are
 * still there, or that nobody needs, are written to scratch instead.
 * SPDX-License-Identifier: MIT */
#include "autodiff/rerun.h"

#include "autodiff/backward.h"
#include "autodiff/in_budget.h"
#include "base/size.h"
#include "memory/reserve.h"

#include <time.h>

enum { MAX_MADE = EBB__MAX_OUT + EBB__MAX_AUX };

float ebb__call_cost(const ebb__call *c)
{
    /* One core of a machine of today: a kernel's start, bytes moved, multiply-adds. */
    const double start_ns = 500, ns_per_byte = 1.0 / 6, ns_per_flop = 1.0 / 80;
    if (c->op->cost) {
        ebb_cost cost = c->op->cost(c);
        return (float)(start_ns + cost.bytes * ns_per_byte + cost.flop * ns_per_flop);
    }
    int64_t bytes = 0;
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i].dtype)
            bytes += ebb__n_elems(&c->in[i].shape) * (int64_t)ebb__dtype_size(c->in[i].dtype);
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++)
        bytes += (int64_t)ebb__view_bytes(&c->out[k]);
    return (float)(start_ns + (double)bytes * ns_per_byte);
}

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

/* The views of the inputs as they lie now. */
static void inputs_resolve(ebb__call *c, const ebb__record *r)
{
    for (int32_t i = 0; i < r->n_in; i++) {
        const ebb__layout *l = ebb__record_layout(r, i);
        c->in[i] = (ebb_view){0};
        if (l) ebb__layout_unpack(&c->in[i], l, r->in[i]->data);
    }
}

static ebb_status shapes_resolve(ebb__call *c, const ebb__record *r)
{
    inputs_resolve(c, r);
    for (int32_t k = 0; k < r->n_out; k++)
        ebb__layout_unpack(&c->out[k], ebb__record_layout(r, r->n_in + k), NULL);
    EBB_TRY(r->op->shape(c));
    for (int32_t k = 0; k < r->n_out; k++) ebb__view_contiguous(&c->out[k]);
    return EBB_OK;
}

static void broadcast(ebb__call *c, const ebb__record *r)
{
    if (r->op->flags & EBB_OP_BROADCAST)
        for (int32_t i = 0; i < r->n_in; i++)
            if (c->in[i].dtype) ebb__view_broadcast(&c->in[i], &c->out[0].shape);
}

static size_t spare_bytes(const ebb__call *c, ebb__value *const *held)
{
    size_t bytes = 0;
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++)
        if (!held[k]) bytes += ebb__round_64(ebb__view_bytes(&c->out[k]));
    return bytes;
}

static void outputs_unreserve(ebb__value *const *held, int32_t n)
{
    for (int32_t k = 0; k < n; k++)
        if (held[k] && held[k]->data) ebb__value_unreserve(held[k]);
}

/* The input whose block the first output can have, since it is there for that alone; NULL: none. */
static ebb__value *over_of(const ebb__call *c, const ebb__record *r, const ebb__value *first)
{
    for (int32_t i = 0; first && i < r->n_in; i++) {
        const ebb__layout *l = ebb__record_layout(r, i);
        if (!l || !l->contiguous || l->offset || !ebb__may_go_over(c, i)) continue;
        if (ebb__over_may(r->in[i], first->ctx, ebb__view_bytes(&c->out[0]), true))
            return r->in[i];
    }
    return NULL;
}

static ebb_status outputs_reserve(const ebb__call *c, ebb__value *const *held, int32_t from,
                                  int32_t n, size_t scratch)
{
    size_t need[EBB_KIND_MAX] = {0};
    need[EBB_KIND_SCRATCH] = ebb__round_64(scratch);
    for (int32_t k = from; k < n; k++)
        if (held[k]) need[held[k]->kind] += held[k]->bytes;
    ebb_status status = ebb__room_make(c->ctx, need);
    for (int32_t k = from; k < n && status == EBB_OK; k++)
        if (held[k]) status = ebb__value_reserve(held[k]);
    if (status != EBB_OK) outputs_unreserve(held + from, n - from);
    return status;
}

/* Room for the outputs, of which the first may have that of *over, then scratch: after that nothing
 * moves. *over becomes NULL where what was given up meanwhile needs it. */
static ebb_status reserve(ebb__call *c, ebb__value *const *held, size_t scratch,
                          ebb__value **over)
{
    int32_t n = c->n_out + c->n_aux;
    EBB_TRY(outputs_reserve(c, held, *over ? 1 : 0, n, scratch));
    ebb_status status = EBB_OK;
    if (scratch) status = ebb__scratch_alloc(&c->scratch, c->ctx, scratch);
    bool has_scratch = scratch && status == EBB_OK;
    if (status == EBB_OK && *over && !ebb__over_take(held[0], *over, NULL)) {
        *over = NULL;
        status = outputs_reserve(c, held, 0, 1, 0);
    }
    if (status == EBB_OK) return EBB_OK;
    outputs_unreserve(held, n);
    if (has_scratch) ebb__scratch_free(c->ctx, c->scratch, scratch);
    return status;
}

/* It has bytes, or those of the first output, which it gave up for that. */
static ebb__value *pinned(const ebb__record *r, int32_t i)
{
    return r->in[i] && r->in[i]->data ? r->in[i] : NULL;
}

/* Addresses from now on; a kernel of the user's may come back to the library. */
static void pin(ebb__call *c, ebb__record *r, ebb__value *const *held, char *spare)
{
    for (int32_t i = 0; i < r->n_in; i++)
        if (pinned(r, i)) ebb__value_pin_reserved(r->in[i]);
    inputs_resolve(c, r);
    broadcast(c, r);
    for (int32_t k = 0; k < r->n_out; k++) {
        if (held[k]) {
            ebb__value_pin_reserved(held[k]);
            c->out[k].data = held[k]->data;
            continue;
        }
        c->out[k].data = spare;
        spare += ebb__round_64(ebb__view_bytes(&c->out[k]));
    }
    for (int32_t i = 0; i < r->n_in; i++)
        if (r->in[i] && !pinned(r, i)) c->in[i].data = c->out[0].data;
}

/* Inputs first: once its outputs are there the record may break and forget what it read. */
static void settle(const ebb__record *r, ebb__value *const *held, bool ok)
{
    for (int32_t i = 0; i < r->n_in; i++)
        if (pinned(r, i)) ebb__value_unpin(r->in[i]);
    for (int32_t k = 0; k < r->n_out; k++) {
        if (!held[k]) continue;
        ebb__value_unpin(held[k]);
        if (ok)
            ebb__value_restored(held[k]);
        else
            ebb__value_unreserve(held[k]);
    }
}

static ebb_status as_before(const ebb__record *r, ebb__value *const *held)
{
    for (int32_t k = 0; k < r->n_out; k++) {
        if (!held[k] || ebb__value_is_as_before(held[k])) continue;
        bool ours = ebb__registry_at(r->ctx->registry, r->op->id) == r->op;
        return ours ? ebb__fail(EBB_E_INTERNAL, "run again it gives other values")
                    : ebb__fail(EBB_E_MISUSE,
                                "run again it gives other values: an operation that may has "
                                "the flag EBB_CUSTOM_NO_RECOMPUTE");
    }
    return EBB_OK;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Results of a dry run come back without a kernel. False: there is none. */
static bool phantoms_restore(ebb__value *const *held, int32_t n)
{
    bool any = false;
    for (int32_t k = 0; k < n; k++) {
        if (!held[k] || !held[k]->phantom || ebb__value_reserve(held[k]) != EBB_OK) continue;
        ebb__value_restored(held[k]);
        any = true;
    }
    return any;
}

static ebb_status compute(ebb__record *r, ebb__call *c, ebb__value *const *held)
{
    void *backend = NULL;
    if (phantoms_restore(held, r->n_out)) return EBB_OK;
    EBB_TRY(shapes_resolve(c, r));
    broadcast(c, r);
    const ebb__override *o = ebb__registry_plan(r->ctx->registry, c, &backend);
    size_t kernel_scratch = ebb__round_64(c->scratch_bytes);
    size_t scratch = kernel_scratch + spare_bytes(c, held);
    ebb__value *over = o ? NULL : over_of(c, r, held[0]);
    EBB_TRY(reserve(c, held, scratch, &over));
    pin(c, r, held, (char *)c->scratch + kernel_scratch);
    uint64_t start = now_ns();
    ebb_status status = o ? o->forward(c, backend) : r->op->forward(c);
    ebb__room_recomputed(c->ctx, now_ns() - start, ebb__record_cost(r));
    if (status == EBB_OK) status = as_before(r, held);
    settle(r, held, status == EBB_OK || over); /* what was written over is gone either way */
    if (scratch) ebb__scratch_free(c->ctx, c->scratch, scratch);
    return status;
}

ebb_status ebb__recipe_run(ebb__record *r)
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
    ebb__gate_hold hold; /* what it reads may belong to another memory than what is made */
    ebb__gate_enter_alone(&hold, ebb__gate_of(r->ctx));
    /* A value's death may end the record under us. */
    ebb__record_keep(r);
    ebb__record_hold(r, held);
    const char *outer = ebb__error_op_set(r->op->name);
    ebb_status status = compute(r, &c, held);
    ebb__error_op_set(outer);
    for (int32_t k = 0; k < r->n_out; k++) ebb__value_unuse(held[k]);
    ebb__record_release(r);
    ebb__gate_leave(&hold);
    if (memory) ebb__free(&c.ctx->allocator, memory, bytes);
    return status;
}
