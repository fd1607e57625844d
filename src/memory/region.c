/* region.c - values given up because nobody will read them soon: what was made in a region and
 * nobody holds at its end; what earlier steps did not read again and only scopes hold.
 *
 * Nobody holds a value where all its uses are saves and dropped values made from it. The list of
 * values begins with the newest, so an input is looked at after what was made from it.
 * SPDX-License-Identifier: MIT */
#include "memory/memory.h"
#include "memory/reserve.h"

uint64_t ebb__region_start(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    uint64_t serial = m->serial;
    ebb__memory_leave_unchanged(m);
    return serial;
}

/* Under the mutex. */
static void give_up(ebb__memory *m, ebb__big *b)
{
    if (b->value.kind == EBB_KIND_ACTIVATION && !b->locks && !ebb__big_is_held(b))
        ebb__drop(m, &b->value);
}

void ebb__region_end(ebb_context *ctx, uint64_t start)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    for (ebb__big *b = m->all, *next; b && b->serial > start; b = next) {
        /* what goes with it may be its neighbour: it is asked for that only afterwards */
        ebb__count_up(&b->value.refs, m->single_threaded);
        b->again = true;
        give_up(m, b);
        next = b->next;
        ebb__ref_drop(m, &b->value);
    }
    ebb__memory_leave(m);
}

ebb_status ebb__region_saves_use(ebb__array *out, const ebb__record *r)
{
    for (uint32_t n = r->n_in + r->n_out, i = 0; i < n; i++) {
        bool is_in = i < r->n_in;
        uint32_t k = is_in ? i : i - r->n_in;
        ebb__value *v = is_in ? r->in[k] : r->out[k];
        bool saved = is_in ? r->saved_in & ebb__in_bit(k) : r->saved_out & ebb__out_bit(k);
        if (!v || v->tiny || !saved || !ebb__big_of(v)->again) continue;
        EBB_TRY(ebb__array_push(out, &ebb__allocator_libc, &v));
        ebb__value_use(v);
    }
    return EBB_OK;
}

void ebb__region_saves_drop(ebb__array *values)
{
    while (values->n > 0) {
        ebb__value *v = ((ebb__value **)values->items)[--values->n];
        ebb__memory *m = v->ctx->memory;
        ebb__memory_enter(m);
        ebb__use_drop(m, v);
        if (atomic_load(&v->uses)) give_up(m, ebb__big_of(v));
        ebb__memory_leave(m);
    }
    ebb__array_free(values, &ebb__allocator_libc);
}

/* ---- spare values ------------------------------------------------------------------------ */

/* Some scope's handles are one use, of their storage. */
static bool only_scopes_hold(const ebb__big *b)
{
    const ebb__value *v = &b->value;
    return !b->kept && !b->locks && atomic_load(&v->saves) == 0 &&
           (v->kind == EBB_KIND_ACTIVATION || v->kind == EBB_KIND_TEMPORARY) &&
           atomic_load(&v->uses) <= 1 + b->n_deps + atomic_load(&b->n_needs);
}

void ebb__spare_look(ebb__memory *m, ebb__value *v)
{
    ebb__big *b = ebb__big_of(v);
    if (b->in_spares || v->state != EBB__VALUE_RESIDENT) return;
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    b->in_spares = true;
    b->next_spare = m->spares;
    m->spares = b;
}

void ebb__spares_settle(ebb__memory *m)
{
    while (m->spares) {
        ebb__big *b = m->spares;
        m->spares = b->next_spare;
        b->in_spares = false;
        bool needed = atomic_load(&b->value.uses) > 0;
        if (needed && b->spare && only_scopes_hold(b) && ebb__drop(m, &b->value))
            for (uint32_t i = 0; i < b->value.recipe->n_in; i++) {
                ebb__value *in = b->value.recipe->in[i];
                if (in && !in->tiny && !ebb__is_elsewhere(m, in) && ebb__big_of(in)->spare)
                    ebb__spare_look(m, in);
            }
        ebb__ref_drop(m, &b->value);
        ebb__settle(m);
    }
}

void ebb__value_set_spare(ebb__value *v)
{
    if (v->tiny) return;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    atomic_store_explicit(&ebb__big_of(v)->spare, true, memory_order_relaxed);
    if (atomic_load(&v->uses)) ebb__spare_look(m, v);
    ebb__memory_leave(m);
}

void ebb__value_clear_spare(ebb__value *v)
{
    if (!v->tiny) atomic_store_explicit(&ebb__big_of(v)->spare, false, memory_order_relaxed);
}

uint64_t ebb__value_born(const ebb__value *v)
{
    const ebb__big *b = (const ebb__big *)v;
    return v->tiny ? 0 : (uint64_t)b->born_step << 32 | b->born_id;
}

void ebb__value_set_born(ebb__value *v, uint64_t born)
{
    if (v->tiny) return;
    ebb__big *b = ebb__big_of(v);
    ebb__named_note(v->ctx->memory, b, false);
    b->born_step = (uint32_t)(born >> 32);
    b->born_id = (uint32_t)born;
    ebb__named_note(v->ctx->memory, b, true);
}
