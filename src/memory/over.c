/* over.c - a result in the place of an operand that nobody reads again.
 *
 * The operand's block goes over to the result before the kernel runs. The operand is there without
 * bytes then, and read by nobody, until its last use goes: that of who asked for the result, or of the
 * result that is made again. After it the operand is as any value after its last use; where the result
 * is new it is lost, and the result a source.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/reserve.h"

bool ebb__over_may(const ebb__value *from, const ebb_context *ctx, size_t bytes, unsigned uses,
                   unsigned n_deps)
{
    const ebb__big *b = (const ebb__big *)from;
    bool alike = !from->tiny && !from->external && !from->phantom && !from->moved &&
                 from->ctx == ctx && from->bytes == ebb__block_bytes(bytes) &&
                 (from->kind == EBB_KIND_ACTIVATION || from->kind == EBB_KIND_TEMPORARY);
    if (!alike) return false;
    ebb__memory_enter(ctx->memory);
    bool may = b->locks == 1 && b->n_deps == n_deps &&
               atomic_load_explicit(&from->uses, memory_order_relaxed) == uses &&
               atomic_load_explicit(&from->pins, memory_order_relaxed) == 0;
    ebb__memory_leave_unchanged(ctx->memory);
    return may;
}

void ebb__over_take(ebb__value *v, ebb__value *from, ebb__storage *s)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
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
}
