/* overwrite.c - writes: what is made from a content that is about to go, and where the bytes are.
 *
 * Dropped values that need the old content would be lost with it. Those that users hold are made
 * again, all of them, and stay for good; where there is no room for all at once, the old content
 * stays as a value of its own if each of them can be made again beside it. For the others it
 * stays, too, where there is room for a copy; else those that a graph saved are made again, and
 * what only scopes hold is forgone.
 *
 * Invariant: a write leaves every other holder with what it can still use: saves learn that the
 * value was moved, and recipes that read it are gone. Nothing has changed where it is refused:
 * what was made again can be given up as before, and nothing was forgone.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/reserve.h"

#include "base/array.h"

#include <string.h>

typedef struct overwrite {
    ebb__memory *m;
    ebb__storage *s;
    ebb__value *old;
    ebb_status (*restore)(ebb__value *dropped); /* may be NULL */
    const ebb_allocator *allocator;
    ebb__array found;    /* a use of each */
    ebb__array held;     /* locked, with a use */
    ebb__gate_hold gate; /* alone, from when others' values are held to the end */
    bool old_stays, copied, met_failure;
} overwrite;

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

/* ---- who needs it ------------------------------------------------------------------------ */

static ebb__value **value_at(const ebb__array *a, size_t i)
{
    return (ebb__value **)a->items + i;
}

static bool is_missing(const ebb__value *v, const ebb__record *made_by)
{
    return v && ebb__recipe_of(v) == made_by && v->state == EBB__VALUE_DROPPED &&
           atomic_load_explicit(&v->uses, memory_order_relaxed);
}

ebb__value *ebb__dependent_find(const ebb__value *v)
{
    for (const ebb__read *read = v->readers; read; read = read->next)
        for (uint32_t k = 0; k < read->record->n_out; k++)
            if (is_missing(read->record->out[k], read->record)) return read->record->out[k];
    return NULL;
}

static bool is_kept(const ebb__value *v)
{
    return ebb__big_is_kept((const ebb__big *)v);
}

/* Somebody could miss it. */
static bool is_missed(const ebb__value *v)
{
    const ebb__big *b = (const ebb__big *)v;
    return b->kept || b->locks || atomic_load_explicit(&v->saves, memory_order_relaxed);
}

/* Under the mutex. */
static ebb_status found_add(overwrite *o, ebb__value *v)
{
    EBB_TRY(ebb__array_push(&o->found, o->allocator, &v));
    ebb__mirror_count(o->m, ebb__big_of(v));
    ebb__count_up(&v->uses, o->m->single_threaded);
    return EBB_OK;
}

/* Under the mutex: adds to o->found what is missing, of that kind, and made from the old value,
 * directly or by way of others that are missing. */
static ebb_status found_fill(overwrite *o, bool (*of_kind)(const ebb__value *v))
{
    ebb__array todo = {.item_bytes = sizeof(ebb__value *)};
    uint32_t number = (uint32_t)ebb__unique_id();
    ebb_status status = ebb__array_push(&todo, o->allocator, &o->old);
    for (size_t at = 0; at < todo.n && status == EBB_OK; at++) {
        for (ebb__read *read = (*value_at(&todo, at))->readers; read; read = read->next) {
            const ebb__record *r = read->record;
            for (uint32_t k = 0; k < r->n_out && status == EBB_OK; k++) {
                ebb__value *v = r->out[k];
                if (!is_missing(v, r) || !ebb__value_visit(v, number)) continue;
                status = ebb__array_push(&todo, o->allocator, &v);
                if (status != EBB_OK || !of_kind(v)) continue;
                status = found_add(o, v);
            }
        }
    }
    ebb__array_free(&todo, o->allocator);
    return status;
}

static void found_drop(overwrite *o)
{
    while (o->found.n) ebb__value_unuse(*value_at(&o->found, --o->found.n));
}

/* ---- made again -------------------------------------------------------------------------- */

static ebb_status make_again(overwrite *o, ebb__value *v)
{
    if (ebb__value_has_bytes(v)) return EBB_OK;
    if (!o->restore)
        return ebb__fail(EBB_E_INTERNAL, "a dropped value cannot be made again here");
    ebb_status status = o->restore(v);
    o->met_failure |= status != EBB_OK;
    return status;
}

/* It is there, to the end of the write, or is as it was. */
static ebb_status stay(overwrite *o, ebb__value *v)
{
    EBB_TRY(ebb__array_push(&o->held, o->allocator, &v));
    ebb__value_lock(v);
    ebb_status status = make_again(o, v);
    if (status == EBB_OK) return EBB_OK;
    o->held.n--;
    ebb__value_unlock(v);
    return status;
}

/* Under the mutex: adds to o->found what users hold and is missing. All values are looked at, so not where
 * none was last time and none has gone, or come to be held, since. */
static ebb_status kept_fill(overwrite *o)
{
    ebb_status status = EBB_OK;
    bool any = atomic_exchange(&o->m->misses_kept, false);
    for (ebb__big *b = any ? o->m->all : NULL; b && status == EBB_OK; b = b->next) {
        if (b->value.state != EBB__VALUE_DROPPED || !is_kept(&b->value)) continue;
        atomic_store(&o->m->misses_kept, true);
        status = found_add(o, &b->value);
    }
    return status;
}

/* What users hold, whatever it is made from, can be made again, each by itself, beside what stays. */
static ebb_status others_check(overwrite *o)
{
    if (!o->m->has_budget) return EBB_OK;
    found_drop(o);
    ebb__memory_enter(o->m);
    ebb_status status = kept_fill(o);
    ebb__memory_leave(o->m);
    for (size_t i = 0; i < o->found.n && status == EBB_OK; i++)
        status = make_again(o, *value_at(&o->found, i));
    return status;
}

static void held_drop(overwrite *o, size_t down_to)
{
    while (o->held.n > down_to) ebb__value_unlock(*value_at(&o->held, --o->held.n));
}

/* All of that kind are there at once. What was there may have gone for what was not. */
static ebb_status stay_all(overwrite *o, bool (*of_kind)(const ebb__value *v))
{
    ebb_status status = EBB_OK;
    for (bool more = true; more && status == EBB_OK;) {
        size_t i = o->found.n;
        ebb__memory_enter(o->m);
        status = found_fill(o, of_kind);
        ebb__memory_leave(o->m);
        more = i < o->found.n;
        for (; i < o->found.n && status == EBB_OK; i++)
            status = stay(o, *value_at(&o->found, i));
    }
    return status;
}

/* ---- a copy ------------------------------------------------------------------------------ */

/* Waits where it is just being moved; false where it was given up. */
static bool pin_moving(ebb__value *v)
{
    while (!ebb__value_pin(v))
        if (!ebb__value_has_bytes(v)) return false;
    return true;
}

/* NULL: refused, or the old bytes went meanwhile. */
static ebb__value *copy_make(overwrite *o)
{
    ebb__value *old = o->old, *fresh;
    ebb__value_lock(old); /* it is not given up for its own copy */
    ebb_status status = ebb__value_create(&fresh, old->ctx, old->bytes, old->kind);
    bool there = status == EBB_OK && pin_moving(old);
    ebb__value_unlock(old);
    o->met_failure |= status != EBB_OK;
    if (!there) {
        if (status == EBB_OK) ebb__value_unuse(fresh);
        return NULL;
    }
    while (!ebb__value_pin(fresh)) {
    } /* it is just being moved */
    memcpy(fresh->data, old->data, old->bytes);
    ebb__value_unpin(fresh);
    ebb__value_unpin(old);
    return fresh;
}

static void copy_take(overwrite *o, ebb__value *fresh)
{
    ebb__value *old = o->old;
    if (is_kept(old)) ebb__value_note_kept(fresh);
    if (old->kind == EBB_KIND_PARAMETER) atomic_store(&o->m->copies, true);
    ebb__value_set_kind(old, EBB_KIND_TEMPORARY);
    ebb__memory_enter(o->m);
    o->s->version++;
    o->s->value = fresh;
    ebb__use_drop(o->m, old);
    ebb__memory_leave(o->m);
    o->copied = true;
}

bool ebb__memory_copies(const ebb_context *ctx)
{
    return atomic_load_explicit(&ctx->memory->copies, memory_order_relaxed);
}

static bool may_copy(const overwrite *o)
{
    return !o->old->external && !atomic_load(&o->s->n_maps) && !atomic_load(&o->old->saves);
}

/* ---- what is forgone --------------------------------------------------------------------- */

/* Under the mutex: one that nothing missing is made from; NULL: none, or it would be missed. */
static ebb__value *forgoable_find(const ebb__value *v)
{
    ebb__value *last = NULL;
    for (ebb__value *next; (next = ebb__dependent_find(last ? last : v));) last = next;
    return last && !is_missed(last) ? last : NULL;
}

/* Under the mutex. */
static void forgo_all(overwrite *o)
{
    for (ebb__value *v; (v = forgoable_find(o->old));) {
        ebb__big_of(v)->forgone = true;
        ebb__inputs_unuse(o->m, ebb__recipe_of(v));
        ebb__recipe_drop(o->m, v);
        ebb__lose(o->m, v);
        ebb__settle(o->m);
    }
}

/* ---- together ---------------------------------------------------------------------------- */

static bool has_dependents(overwrite *o)
{
    ebb__memory_enter(o->m);
    bool has = ebb__dependent_find(o->old) != NULL;
    ebb__memory_leave_unchanged(o->m);
    return has;
}

/* Without a copy: all that is left, as far as there is room. */
static ebb_status rest_stays(overwrite *o)
{
    ebb_status status = EBB_OK;
    while (status == EBB_OK) {
        ebb__memory_enter(o->m);
        ebb__value *v = ebb__dependent_find(o->old);
        if (v) {
            ebb__mirror_count(o->m, ebb__big_of(v));
            ebb__count_up(&v->uses, o->m->single_threaded);
        }
        ebb__memory_leave(o->m);
        if (!v) return EBB_OK;
        status = stay(o, v);
        ebb__value_unuse(v);
    }
    if (o->m->has_budget && status == EBB_E_BUDGET) return EBB_OK;
    return status;
}

static ebb_status rest_settle(overwrite *o, bool no_room)
{
    EBB_TRY(stay_all(o, is_missed));
    const size_t n_missed = o->held.n;
    if (!no_room || !o->m->has_budget) EBB_TRY(rest_stays(o));
    ebb_status status = others_check(o);
    if (status == EBB_OK || o->held.n == n_missed) return status;
    held_drop(o, n_missed); /* it can be forgone */
    return others_check(o);
}

/* What is missing is there, or has a copy to be made from, or can be forgone. */
static ebb_status dependents_settle(overwrite *o)
{
    const size_t n_held = o->held.n;
    const ebb_status kept = stay_all(o, is_kept);
    if (kept != EBB_OK && kept != EBB_E_BUDGET) return kept;
    if (kept != EBB_OK) held_drop(o, n_held);
    bool no_room = false;
    if (may_copy(o) && has_dependents(o)) {
        ebb__value *fresh = copy_make(o);
        if (fresh && others_check(o) == EBB_OK)
            copy_take(o, fresh);
        else
            ebb__value_unuse(fresh);
        if (o->copied) return EBB_OK;
        no_room = true;
    }
    found_drop(o);
    return kept == EBB_OK ? rest_settle(o, no_room) : kept;
}

/* Nothing that was dropped needs the old value any more, which is there, or there is a copy. Leaves
 * with the mutex held where it is OK. */
static ebb_status settle(overwrite *o)
{
    ebb__memory_enter(o->m);
    if (!ebb__recipe_of(o->old) && !ebb__dependent_find(o->old)) return EBB_OK;
    ebb__memory_leave(o->m);
    if (!o->gate.gate) ebb__gate_enter_alone(&o->gate, ebb__gate_of(o->old->ctx));
    if (!o->old_stays) o->old_stays = ebb__value_stay(o->old, false);
    EBB_TRY(make_again(o, o->old));
    for (;;) {
        ebb_status status = dependents_settle(o);
        found_drop(o);
        if (status != EBB_OK) return status;
        ebb__memory_enter(o->m);
        if (o->copied) return EBB_OK;
        status = found_fill(o, is_missed); /* one went for another, or is missed by now */
        if (status == EBB_OK && o->found.n == 0 && o->m->has_budget) forgo_all(o);
        if (status == EBB_OK && !ebb__dependent_find(o->old)) return EBB_OK;
        ebb__memory_leave(o->m);
        found_drop(o);
        if (status != EBB_OK) return status;
    }
}

/* ---- needed by a child's ----------------------------------------------------------------- */

/* A dropped value of another memory needs v: the storage gets other bytes instead. */
static ebb_status elsewhere_copy(ebb__value **copy, ebb__storage *s, ebb__value *v)
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
static void elsewhere_take(ebb__memory *m, ebb__storage *s, ebb__value *copy,
                           const char *writer)
{
    ebb__value *old = s->value;
    memcpy(copy->data, old->data, old->bytes);
    old->moved = true;
    old->moved_by = writer;
    s->value = copy;
    ebb__use_drop(m, old);
}

/* ---- the write --------------------------------------------------------------------------- */

/* Has anybody but the storage seen the value: saves and, in other memories, recipes? */
static bool is_seen(const ebb__memory *m, const ebb__value *v)
{
    if (atomic_load_explicit(&v->uses, memory_order_acquire) > 1) return true;
    return atomic_load_explicit(&m->top->n_memories, memory_order_relaxed) > 1 &&
           atomic_load_explicit(&v->refs, memory_order_acquire) > 1;
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

/* Under the mutex, settled: *copy and *fresh, where they are taken, become NULL. */
static void write_begin(overwrite *o, ebb__value **copy, ebb__big **fresh, const char *writer)
{
    ebb__memory *m = o->m;
    ebb__value *old = o->old;
    if (ebb__recipe_of(old)) ebb__recipe_drop(m, old);
    while (old->readers) ebb__record_break(m, old->readers->record);
    o->s->version++;
    /* a save may have been given back meanwhile */
    if (*copy && needed_elsewhere(old)) {
        elsewhere_take(m, o->s, *copy, writer);
        *copy = NULL;
    } else if (*fresh && is_seen(m, old)) {
        bytes_move(m, o->s, *fresh, writer);
        *fresh = NULL;
    }
}

/* Leaves with the mutex held where it is OK. */
static ebb_status prepare(overwrite *o, ebb__value **copy)
{
    ebb_status status = settle(o);
    while (status == EBB_OK && !o->copied && !*copy && needed_elsewhere(o->old)) {
        ebb__memory_leave(o->m);
        status = elsewhere_copy(copy, o->s, o->old);
        if (status == EBB_OK) status = settle(o);
    }
    return status;
}

static void overwrite_end(overwrite *o)
{
    held_drop(o, 0);
    if (o->old_stays) ebb__value_stay_end(o->old, false);
    ebb__array_free(&o->held, o->allocator);
    ebb__array_free(&o->found, o->allocator);
    ebb__gate_leave(&o->gate);
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
    overwrite o = {.m = m,
                   .s = s,
                   .old = old,
                   .restore = restore,
                   .allocator = &old->ctx->allocator,
                   .found = {.item_bytes = sizeof(ebb__value *)},
                   .held = {.item_bytes = sizeof(ebb__value *)}};
    ebb_error pending;
    ebb_error_get(&pending);
    ebb_status status = prepare(&o, &copy);
    if (status == EBB_OK) {
        if (!o.copied) write_begin(&o, &copy, &fresh, writer);
        ebb__memory_leave(m);
        if (o.met_failure) ebb__error_adopt(&pending); /* there was another way */
    }
    overwrite_end(&o);
    if (fresh) ebb__object_free(fresh->value.ctx, fresh, ebb__big_bytes(fresh));
    ebb__value_unuse(copy);
    return status;
}
