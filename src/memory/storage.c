/* storage.c - what views share: the current value and its version; exchanges. (Writes: overwrite.c.)
 *
 * Invariant: a storage holds one use of its value.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/reserve.h"

#include <string.h>

ebb_status ebb__storage_create(ebb__storage **out, ebb__value *take_v)
{
    ebb__storage *s = ebb__object_alloc(take_v->ctx, sizeof *s);
    if (!s) {
        ebb__value_unuse(take_v);
        return ebb__object_refused(sizeof *s);
    }
    atomic_init(&s->refs, 1);
    s->version = 0;
    atomic_init(&s->n_maps, 0);
    s->value = take_v;
    *out = s;
    return EBB_OK;
}

void ebb__storage_map_count(ebb__storage *s, int change)
{
    atomic_fetch_add(&s->n_maps, (unsigned short)change);
    atomic_fetch_add(&s->value->ctx->memory->n_maps, (unsigned)change);
}

/* Keeping and releasing do not look at the value: another holder may be replacing it. */
ebb__storage *ebb__storage_keep(ebb__storage *s)
{
    if (s) ebb__count_up(&s->refs, false);
    return s;
}

void ebb__storage_release(ebb__storage *s)
{
    if (!s || !ebb__count_down(&s->refs, false)) return;
    ebb__value *v = s->value;
    ebb__object_free(v->ctx, s, sizeof *s);
    ebb__value_unuse(v);
}

void ebb__storage_swap(ebb__storage *s, ebb__storage *own)
{
    ebb__value *old = s->value, *fresh = own->value;
    unsigned n_maps = atomic_load_explicit(&s->n_maps, memory_order_relaxed);
    if (n_maps && !old->tiny) {
        EBB_ASSERT(old->bytes == fresh->bytes && !old->external && !fresh->external);
        ebb__memory *m = old->ctx->memory;
        ebb__memory_enter(m);
        unsigned char *x = old->data, *y = fresh->data;
        for (size_t i = 0; i < old->bytes; i++) {
            unsigned char byte = x[i];
            x[i] = y[i];
            y[i] = byte;
        }
        old->data = y;
        fresh->data = x;
        ebb__place_leave(ebb__big_of(old));
        ebb__place_leave(ebb__big_of(fresh));
        ebb__place_enter(m, ebb__big_of(old));
        ebb__place_enter(m, ebb__big_of(fresh));
        ebb__memory_leave_unchanged(m);
        atomic_fetch_sub_explicit(&old->pins, n_maps, memory_order_relaxed);
        atomic_fetch_add_explicit(&fresh->pins, n_maps, memory_order_relaxed);
    }
    s->value = fresh;
    own->value = old;
    s->version++;
}

bool ebb__storage_may_exchange(const ebb__storage *s, const ebb__storage *own)
{
    ebb__value *v = s->value, *w = own->value;
    if (v->tiny || w->tiny || v->ctx != w->ctx || v->bytes != w->bytes) return false;
    if (v->external || w->external || atomic_load(&s->n_maps) || atomic_load(&own->n_maps))
        return false;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    bool may = ebb__value_has_bytes(v) && ebb__value_has_bytes(w) && !ebb__recipe_of(v) &&
               !atomic_load(&v->saves) && !atomic_load(&ebb__big_of(v)->n_needs) &&
               ebb__value_unseen(w) && ebb__dependent_find(v);
    ebb__memory_leave_unchanged(m);
    return may;
}

void ebb__storage_exchange(ebb__storage *s, ebb__storage *own, size_t bytes)
{
    ebb__value *old = s->value, *fresh = own->value;
    ebb__memory *m = old->ctx->memory;
    ebb__memory_enter(m);
    memcpy((char *)fresh->data + bytes, (char *)old->data + bytes, old->bytes - bytes);
    ebb__memory_leave_unchanged(m);
    if (ebb__big_of(old)->kept) ebb__value_note_kept(fresh);
    /* who learns from steps sees what a write in place would be */
    const uint64_t born = ebb__value_born(fresh);
    ebb__value_set_born(fresh, ebb__value_born(old));
    ebb__value_set_born(old, born);
    ebb__value_set_kind(fresh, old->kind);
    ebb__value_set_kind(old, EBB_KIND_TEMPORARY);
    ebb__storage_swap(s, own);
}
