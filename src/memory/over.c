/* over.c - a result in the place of an operand that nobody reads again.
 *
 * The operand's block goes over to the result before the kernel runs. The operand is there without
 * bytes then, and read by nobody, until its last use goes: that of who asked for the result, or of the
 * result that is made again. After it the operand is as any value after its last use; where the result
 * is new it is lost, and the result a source. What is made from the operand may be given up while
 * room is made for the other results, and needs the operand from then on: so whether it is free is
 * asked again when its block is taken.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/reserve.h"

/* Under the mutex: nobody but who asks needs it; again: that is the one that is made again. */
static bool is_free(const ebb__value *from, bool again)
{
    const ebb__big *b = (const ebb__big *)from;
    return b->locks == 1 && b->n_deps == again &&
           atomic_load_explicit(&from->uses, memory_order_relaxed) == (again ? 1 : 2) &&
           atomic_load_explicit(&from->pins, memory_order_relaxed) == 0;
}

bool ebb__over_may(const ebb__value *from, const ebb_context *ctx, size_t bytes, bool again)
{
    bool alike = !from->tiny && !from->external && !from->phantom && !from->moved &&
                 from->ctx == ctx && from->bytes == ebb__block_bytes(bytes) &&
                 (from->kind == EBB_KIND_ACTIVATION || from->kind == EBB_KIND_TEMPORARY);
    if (!alike) return false;
    ebb__memory_enter(ctx->memory);
    bool may = is_free(from, again);
    ebb__memory_leave_unchanged(ctx->memory);
    return may;
}

bool ebb__over_take(ebb__value *v, ebb__value *from, ebb__storage *s)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    if (!is_free(from, !s)) {
        ebb__memory_leave_unchanged(m);
        return false;
    }
    EBB_ASSERT(from->state == EBB__VALUE_RESIDENT && from->data && !v->data);
    v->data = from->data;
    ebb__bytes_pass(m, from, v);
    if (s) {
        ebb__recipe_drop(m, from);
        v->state = EBB__VALUE_RESIDENT;
        ebb__count_up(&v->uses, m->single_threaded);
        s->value = v;
        ebb__use_drop(m, from);
    }
    ebb__memory_leave(m);
    ebb__trace_made(m, v);
    return true;
}
