/* storage.c - what views share: the current value and its version; writes.
 *
 * Invariant: a storage holds one use of its value. A write leaves every other holder with what
 * it can still use: saves learn that the value was moved, recipes that read it are gone, and
 * values that were dropped and needed it have been made resident.
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

/* Others keep the old bytes: too few to be worth moving or breaking a recipe for. */
static ebb_status tiny_write(ebb__storage *s, const char *writer)
{
    ebb__value *old = s->value, *fresh;
    if (atomic_load_explicit(&old->refs, memory_order_acquire) > 1) {
        if (atomic_load_explicit(&s->n_maps, memory_order_relaxed))
            return ebb__fail(EBB_E_MISUSE,
                             "a mapped tensor of at most %d bytes that a graph has "
                             "saved cannot be written to",
                             EBB__TINY_BYTES);
        EBB_TRY(ebb__value_create(&fresh, old->ctx, old->bytes, old->kind));
        memcpy(fresh->data, old->data, old->bytes);
        fresh->phantom = old->phantom;
        old->moved_by = writer;
        old->moved = true;
        s->value = fresh;
        ebb__value_unuse(old);
    }
    s->version++;
    return EBB_OK;
}

/* A dropped and needed value whose recipe reads v; NULL if none. Under the mutex. */
static ebb__value *dependent_find(const ebb__value *v)
{
    for (const ebb__read *read = v->readers; read; read = read->next) {
        const ebb__record *r = read->record;
        for (uint32_t k = 0; k < r->n_out; k++) {
            ebb__value *out = r->out[k];
            if (out && ebb__recipe_of(out) == r && out->state == EBB__VALUE_DROPPED &&
                atomic_load_explicit(&out->uses, memory_order_relaxed))
                return out;
        }
    }
    return NULL;
}

/* Makes v resident and a source, so that it cannot be dropped again before the write. Enters
 * and leaves with the mutex held, gives it back meanwhile. */
static ebb_status make_source(ebb__memory *m, ebb__value *v,
                              ebb_status (*restore)(ebb__value *dropped))
{
    ebb_status s = EBB_OK;
    if (v->state == EBB__VALUE_DROPPED) {
        ebb__mirror_count(m, ebb__big_of(v));
        ebb__count_up(&v->uses, m->single_threaded);
        ebb__memory_leave(m);
        s = restore ? restore(v)
                    : ebb__fail(EBB_E_INTERNAL, "a dropped value cannot be made again here");
        ebb__memory_enter(m);
        /* evicted again at once by somebody else: the caller finds it and comes back */
        if (s == EBB_OK && v->state == EBB__VALUE_RESIDENT) ebb__recipe_drop(m, v);
        ebb__use_drop(m, v);
        ebb__settle(m);
        return s;
    }
    ebb__recipe_drop(m, v);
    return s;
}

/* A dropped value of another memory needs v: the storage gets other bytes instead. */
static ebb_status copy_make(ebb__value **copy, ebb__storage *s, ebb__value *v)
{
    if (v->external || atomic_load_explicit(&s->n_maps, memory_order_relaxed))
        return ebb__fail(EBB_E_MISUSE,
                         "a tensor whose bytes are mapped or the user's cannot be written to "
                         "while a child context needs it to make a result again");
    return ebb__value_create(copy, v->ctx, v->bytes, v->kind);
}

static bool needed_elsewhere(const ebb__value *v)
{
    return atomic_load_explicit(&((const ebb__big *)v)->n_needs, memory_order_acquire) > 0;
}

/* The storage gets the copy. Under the mutex. */
static void copy_take(ebb__memory *m, ebb__storage *s, ebb__value *copy, const char *writer)
{
    ebb__value *old = s->value;
    memcpy(copy->data, old->data, old->bytes);
    old->moved = true;
    old->moved_by = writer;
    s->value = copy;
    ebb__use_drop(m, old);
}

/* The bytes go over to `fresh`, which becomes the storage's value. Under the mutex. */
static void bytes_move(ebb__memory *m, ebb__storage *s, ebb__big *fresh, const char *writer)
{
    ebb__value *old = s->value;
    fresh->value.data = old->data;
    fresh->value.kind = old->kind;
    fresh->value.state = EBB__VALUE_RESIDENT;
    /* who has mapped the storage will unpin what it then holds: the bytes are the same */
    fresh->value.pins = atomic_exchange(&old->pins, 0);
    if (old->external) {
        ebb__external *from = (ebb__external *)old, *to = (ebb__external *)fresh;
        to->done = from->done;
        to->user = from->user;
        from->done = NULL;
    }
    ebb__mirror_unused(m, ebb__big_of(old));
    ebb__place_leave(ebb__big_of(old));
    old->data = NULL;
    old->state = EBB__VALUE_LOST;
    old->moved = true;
    old->moved_by = writer;
    ebb__list_insert(m, fresh);
    s->value = &fresh->value;
    ebb__use_drop(m, old);
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

/* Waits where it is just being moved; false where it was given up. */
static bool pin_moving(ebb__value *v)
{
    while (!ebb__value_pin(v))
        if (!ebb__value_has_bytes(v)) return false;
    return true;
}

/* The storage gets a copy, and the old value stays for what is made from it. A refusal is no
 * failure of the caller's: there are other ways. */
static bool copy_over(ebb__memory *m, ebb__storage *s)
{
    ebb__value *old = s->value, *fresh;
    ebb_error pending;
    ebb_error_get(&pending);
    ebb__value_lock(old); /* it is not given up for its own copy */
    bool made = ebb__value_create(&fresh, old->ctx, old->bytes, old->kind) == EBB_OK;
    bool there = made && pin_moving(old);
    ebb__value_unlock(old);
    if (made && !there) ebb__value_unuse(fresh);
    if (!made) ebb__error_adopt(&pending);
    if (!there) return false;
    while (!ebb__value_pin(fresh)) {
    } /* it is just being moved */
    memcpy(fresh->data, old->data, old->bytes);
    ebb__value_unpin(fresh);
    ebb__value_unpin(old);
    if (ebb__big_of(old)->kept) ebb__value_note_kept(fresh);
    if (old->kind == EBB_KIND_PARAMETER) atomic_store(&m->copies, true);
    ebb__value_set_kind(old, EBB_KIND_TEMPORARY);
    ebb__memory_enter(m);
    s->version++;
    s->value = fresh;
    ebb__use_drop(m, old);
    ebb__memory_leave(m);
    return true;
}

bool ebb__memory_copies(const ebb_context *ctx)
{
    return atomic_load_explicit(&ctx->memory->copies, memory_order_relaxed);
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
               ebb__value_unseen(w) && dependent_find(v);
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

/* Somebody could miss it. */
static bool missed(const ebb__value *v)
{
    const ebb__big *b = (const ebb__big *)v;
    return b->kept || b->locks || atomic_load_explicit(&v->saves, memory_order_relaxed);
}

/* A dropped value that needs v and that no other needs; NULL where it would be missed. Under the
 * mutex. */
static ebb__value *forgoable_find(const ebb__value *v)
{
    ebb__value *last = NULL;
    for (ebb__value *next; (next = dependent_find(last ? last : v));) last = next;
    return last && !missed(last) ? last : NULL;
}

/* Under the mutex. */
static void forgo(ebb__memory *m, ebb__value *v)
{
    ebb__big_of(v)->forgone = true;
    ebb__inputs_unuse(m, ebb__recipe_of(v));
    ebb__recipe_drop(m, v);
    ebb__lose(m, v);
    ebb__settle(m);
}

/* Nothing that was dropped needs v any more, and v is resident and a source; or *copied: the storage
 * has another value. Enters and leaves with the mutex held. */
static ebb_status readers_settle(ebb__memory *m, ebb__storage *s, bool *copied,
                                 ebb_status (*restore)(ebb__value *dropped))
{
    ebb__value *old = s->value;
    bool may_copy = !old->external && !atomic_load(&s->n_maps) && !atomic_load(&old->saves);
    bool no_room = false;
    for (;;) {
        ebb__value *v = dependent_find(old), *spare;
        if (old->state == EBB__VALUE_DROPPED || (!v && ebb__recipe_of(old))) {
            EBB_TRY(make_source(m, old, restore));
        } else if (!v) {
            return EBB_OK;
        } else if (may_copy) {
            ebb__memory_leave(m);
            *copied = copy_over(m, s);
            may_copy = false;
            no_room = true;
            ebb__memory_enter(m);
            if (*copied) return EBB_OK;
        } else if (no_room && m->has_budget && (spare = forgoable_find(old))) {
            forgo(m, spare);
        } else {
            ebb_error pending;
            ebb_error_get(&pending);
            ebb_status status = make_source(m, v, restore);
            no_room = status == EBB_E_BUDGET && m->has_budget && forgoable_find(old);
            if (!no_room && status != EBB_OK) return status;
            if (no_room) ebb__error_adopt(&pending);
        }
    }
}

/* Has anybody but the storage seen the value: saves and, in other memories, recipes? */
static bool is_seen(const ebb__memory *m, const ebb__value *v)
{
    if (atomic_load_explicit(&v->uses, memory_order_acquire) > 1) return true;
    return atomic_load_explicit(&m->top->n_memories, memory_order_relaxed) > 1 &&
           atomic_load_explicit(&v->refs, memory_order_acquire) > 1;
}

ebb_status ebb__storage_write(ebb__storage *s, const char *writer,
                              ebb_status (*restore)(ebb__value *dropped))
{
    ebb__value *old = s->value, *copy = NULL;
    if (old->tiny) return tiny_write(s, writer);
    ebb__memory *m = old->ctx->memory;
    ebb__big *fresh = NULL;
    if (is_seen(m, old)) {
        fresh = ebb__big_create(old->ctx, old->bytes, old->kind, old->external);
        if (!fresh) return ebb__object_refused(sizeof *fresh);
        fresh->value.phantom = old->phantom;
    }
    ebb__memory_enter(m);
    bool copied = false;
    ebb_status status = readers_settle(m, s, &copied, restore);
    while (status == EBB_OK && !copied && !copy && needed_elsewhere(old)) {
        ebb__memory_leave(m);
        status = copy_make(&copy, s, old);
        ebb__memory_enter(m);
        if (status == EBB_OK) status = readers_settle(m, s, &copied, restore);
    }
    if (status == EBB_OK && !copied) {
        while (old->readers) ebb__record_break(m, old->readers->record);
        s->version++;
        /* a save may have been given back meanwhile */
        if (copy && needed_elsewhere(old)) {
            copy_take(m, s, copy, writer);
            copy = NULL;
        } else if (fresh && is_seen(m, old)) {
            bytes_move(m, s, fresh, writer);
            fresh = NULL;
        }
    }
    ebb__memory_leave(m);
    if (fresh) ebb__object_free(fresh->value.ctx, fresh, ebb__big_bytes(fresh));
    ebb__value_unuse(copy);
    return status;
}
