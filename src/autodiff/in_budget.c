/* in_budget.c - operands, results and scratch of one application under a budget.
 *
 * First inside the gate, side by side with others: operands are pinned where they are there, and
 * results reserved where the bytes are free. Where that fails all is undone and done again alone.
 * In both ways results and operands are pinned while the kernel runs, so that nothing that a
 * kernel of the user's calls can move them.
 * SPDX-License-Identifier: MIT */
#include "autodiff/in_budget.h"

#include "autodiff/backward.h"
#include "autodiff/rerun.h"

enum { FEW = EBB__MAX_OUT + EBB__MAX_AUX + 1 };

typedef struct bytes {
    ebb__apply *a;
    ebb__want few[FEW], *want;
    int32_t n;
    void *memory;
    size_t memory_bytes;
} bytes;

/* What has bytes of its own. */
static ebb__value *operand(const ebb__apply *a, int32_t i)
{
    ebb__value *v = i == 0 && a->over ? NULL : ebb__operand(a, i);
    return v && !v->tiny ? v : NULL;
}

static ebb_status wants_fill(bytes *b, ebb__apply *a)
{
    const ebb__call *c = &a->call;
    int32_t n = c->n_out + c->n_aux;
    b->a = a;
    b->want = b->few;
    b->memory = NULL;
    if (n + 1 > FEW) {
        b->memory_bytes = ((size_t)n + 1) * sizeof(ebb__want);
        b->memory = ebb__alloc(&ebb__allocator_libc, b->memory_bytes, 16);
        if (!b->memory)
            return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", b->memory_bytes);
        b->want = b->memory;
    }
    for (int32_t k = 0; k < n; k++) {
        size_t size = ebb__view_bytes(&c->out[k]);
        b->want[k] = (ebb__want){.bytes = size ? size : 1, .kind = ebb__result_kind(c, k)};
    }
    b->n = n;
    if (c->scratch_bytes)
        b->want[b->n++] = (ebb__want){
            .bytes = c->scratch_bytes, .kind = EBB_KIND_SCRATCH, .is_scratch = true};
    return EBB_OK;
}

static void operands_unpin(const ebb__apply *a, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (operand(a, i)) ebb__value_unpin(operand(a, i));
}

static bool side_by_side(bytes *b)
{
    const ebb__apply *a = b->a;
    if (!ebb__wants_prepare(a->call.ctx, b->want, b->n)) return false;
    for (int32_t i = 0; i < a->call.n_in; i++) {
        ebb__value *v = operand(a, i);
        if (!v || ebb__value_pin(v)) continue;
        operands_unpin(a, i);
        ebb__wants_leave(a->call.ctx, b->want, b->n);
        return false;
    }
    if (ebb__wants_try(a->call.ctx, b->want, b->n)) return true;
    operands_unpin(a, a->call.n_in);
    return false;
}

static void operands_unlock(const ebb__apply *a)
{
    for (int32_t i = 0; i < a->call.n_in; i++)
        if (operand(a, i)) ebb__value_unlock(operand(a, i));
}

static ebb_status check(const bytes *b)
{
    const ebb__apply *a = b->a;
    size_t need[EBB_KIND_MAX] = {0}, missing = 0;
    for (int32_t k = 0; k < b->n; k++)
        if (!b->want[k].over && (b->want[k].is_scratch || b->want[k].bytes > EBB__TINY_BYTES))
            need[b->want[k].kind] += (b->want[k].bytes + 63) & ~(size_t)63;
    for (int32_t i = 0; i < a->call.n_in; i++) {
        const ebb__value *v = operand(a, i);
        bool again = false;
        for (int32_t j = 0; j < i; j++) again |= operand(a, j) == v;
        if (v && !again && v->state != EBB__VALUE_RESIDENT) missing += v->bytes;
    }
    return ebb__room_check(a->call.ctx, need, missing);
}

static bool any_missing(const ebb__apply *a)
{
    for (int32_t i = 0; i < a->call.n_in; i++) {
        const ebb__value *v = operand(a, i);
        if (v && !ebb__value_has_bytes(v)) return true;
    }
    return false;
}

static ebb_status restore(const bytes *b)
{
    const ebb__apply *a = b->a;
    const ebb_allocator *allocator = &a->call.ctx->allocator;
    ebb__value *few[EBB__MAX_IN], **v = few;
    size_t size = (size_t)a->call.n_in * sizeof *v;
    if (a->call.n_in > EBB__MAX_IN) v = ebb__alloc(allocator, size, 16);
    if (!v) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", size);
    for (int32_t i = 0; i < a->call.n_in; i++) v[i] = operand(a, i);
    ebb_status status = ebb__restore_all(v, a->call.n_in);
    if (v != few) ebb__free(allocator, v, size);
    return status;
}

/* The first result may take the place of the first operand, of which only its handle and our lock
 * have a use. */
static void over_choose(bytes *b)
{
    const ebb__apply *a = b->a;
    ebb__value *v = a->is_last ? operand(a, 0) : NULL;
    bool may = v && ebb__over_may(v, a->call.ctx, b->want[0].bytes, false);
    b->want[0].over = may ? a->slot[0]->storage : NULL;
}

/* Nothing is pinned meanwhile; operands are locked but while missing ones are made. */
static ebb_status alone(bytes *b)
{
    ebb__apply *a = b->a;
    int32_t n_in = a->call.n_in;
    ebb__value *first = n_in ? operand(a, 0) : NULL;
    for (int32_t i = 0; i < n_in; i++)
        if (operand(a, i)) ebb__value_lock(operand(a, i));
    over_choose(b);
    ebb_status status = check(b);
    if (status == EBB_OK && any_missing(a)) {
        operands_unlock(a);
        status = restore(b);
        for (int32_t i = 0; i < n_in; i++)
            if (operand(a, i)) ebb__value_lock(operand(a, i));
        over_choose(b);
    }
    if (status == EBB_OK) status = ebb__wants_make(a->call.ctx, b->want, b->n);
    if (status == EBB_OK && b->want[0].over) {
        ebb__value_stay(first, false);
        a->over = first;
        ebb__value_unlock(first);
    }
    if (status == EBB_OK)
        for (int32_t i = 0; i < n_in; i++)
            if (operand(a, i)) ebb__value_pin_reserved(operand(a, i));
    operands_unlock(a);
    return status;
}

/* By the report of the refusal. */
static size_t missing_bytes(void)
{
    const ebb_budget_report *r = ebb__refusal_pending();
    if (!r) return SIZE_MAX;
    return r->needed_bytes > r->budget_bytes ? r->needed_bytes - r->budget_bytes : 0;
}

/* Where what was learned did not do, or takes the room, it is tried again without; at last with the last
 * resorts. */
static ebb_status alone_or_again(bytes *b)
{
    ebb_error pending;
    ebb_error_get(&pending);
    ebb_status status = alone(b);
    while (status == EBB_E_BUDGET && (ebb__habit_refused(b->a->call.ctx, missing_bytes()) ||
                                      ebb__room_squeeze(b->a->call.ctx))) {
        ebb__error_adopt(&pending);
        status = alone(b);
    }
    return status;
}

static ebb_status compute(bytes *b)
{
    ebb__apply *a = b->a;
    ebb__call *c = &a->call;
    int32_t n = c->n_out + c->n_aux;
    for (int32_t k = 0; k < n; k++) {
        a->made[k] = b->want[k].value;
        c->out[k].data = a->made[k]->data;
    }
    if (c->scratch_bytes) c->scratch = b->want[n].scratch;
    ebb__operands_resolve(a);
    ebb_status status = ebb__kernel_run(a);
    ebb__wants_unpin(b->want, n);
    operands_unpin(a, c->n_in);
    if (c->scratch_bytes) ebb__scratch_free(c->ctx, c->scratch, c->scratch_bytes);
    if (status != EBB_OK) ebb__wants_drop(c->ctx, b->want, n);
    return status;
}

/* What a plan does not get done is done when it comes to be needed. */
static void plan_do(ebb_context *ctx)
{
    for (ebb__value *v; (v = ebb__habit_before(ctx)); ebb__value_stay_end(v, true)) {
        ebb_error pending;
        ebb_error_get(&pending);
        if (ebb__restore(v) != EBB_OK) ebb__error_adopt(&pending);
    }
}

ebb_status ebb__compute_in_budget(ebb__apply *a)
{
    bytes b;
    ebb__gate_hold hold;
    EBB_TRY(wants_fill(&b, a));
    plan_do(a->call.ctx);
    ebb__gate *gate = ebb__budget_gate(a->call.ctx);
    ebb_status status = EBB_OK;
    ebb__gate_enter(&hold, gate);
    if (!side_by_side(&b)) {
        ebb__gate_leave(&hold);
        ebb__gate_enter_alone(&hold, gate);
        status = alone_or_again(&b);
        if (status == EBB_OK) ebb__gate_share(&hold);
    }
    if (status == EBB_OK) status = compute(&b);
    ebb__gate_leave(&hold);
    a->cost_ns = ebb__call_cost(&a->call);
    ebb__clock_advance(a->call.ctx, a->cost_ns);
    if (b.memory) ebb__free(&ebb__allocator_libc, b.memory, b.memory_bytes);
    return status;
}
