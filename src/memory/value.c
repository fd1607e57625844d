/* value.c - values: made, used, unused; tiny ones in one pool object, others in struct and
 * block.
 *
 * Invariant: a value's last use goes under the mutex (tiny ones excepted), so that uses is 0
 * only for whoever holds it, and going from 0 to 1 there cannot race with going away. A pin
 * takes no lock: it is counted first and counts if the value is then still resident, while who
 * drops the value first says so and then looks for pins.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/room.h"

#include <string.h>

/* ---- tiny values ------------------------------------------------------------------------- */

_Static_assert(sizeof(ebb__value) % 16 == 0, "a tiny value's bytes follow it, aligned");

EBB__THREAD_HOT ebb__value_lease ebb__lease;

static ebb_status tiny_refused(ebb_context *ctx, ebb_kind kind, size_t bytes)
{
    while (ebb__room_more(ctx, bytes))
        if (ebb__account_try_pooled(ctx->account, kind, bytes)) return EBB_OK;
    return ebb__room_refuse_charge(ctx, kind, bytes);
}

static ebb_status tiny_create(ebb__value **out, ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    ebb__value *v = ebb__object_alloc(ctx, ebb__tiny_bytes(bytes));
    if (!v) return ebb__object_refused(ebb__tiny_bytes(bytes));
    if (!ebb__account_try_pooled(ctx->account, kind, bytes)) {
        ebb_status s = tiny_refused(ctx, kind, bytes);
        if (s != EBB_OK) {
            ebb__object_free(ctx, v, ebb__tiny_bytes(bytes));
            return s;
        }
    }
    memset(v, 0, offsetof(ebb__value, recipe));
    atomic_init(&v->refs, 1);
    v->kind = (uint8_t)kind;
    v->tiny = true;
    v->bytes = bytes;
    v->data = &v->recipe;
    v->ctx = ctx;
    ebb__trace_made(ctx->memory, v);
    *out = v;
    return EBB_OK;
}

void ebb__tiny_free(ebb__value *v)
{
    ebb_context *ctx = v->ctx;
    ebb__account_discharge_pooled(ctx->account, v->kind, v->bytes);
    ebb__object_free(ctx, v, ebb__tiny_bytes(v->bytes));
}

/* ---- others ------------------------------------------------------------------------------ */

ebb__big *ebb__big_create(ebb_context *ctx, size_t bytes, ebb_kind kind, bool external)
{
    size_t struct_bytes = external ? sizeof(ebb__external) : sizeof(ebb__big);
    ebb__big *b = ebb__object_alloc(ctx, struct_bytes);
    if (!b) return NULL;
    memset(b, 0, struct_bytes);
    b->value = (ebb__value){.refs = 1,
                            .uses = 1,
                            .state = EBB__VALUE_LOST,
                            .kind = (uint8_t)kind,
                            .external = external,
                            .bytes = bytes,
                            .ctx = ctx};
    b->number = EBB__LEDGER_NONE;
    return b;
}

ebb_status ebb__value_create(ebb__value **out, ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    size_t rounded;
    if (bytes <= EBB__TINY_BYTES) return tiny_create(out, ctx, bytes ? bytes : 1, kind);
    if (!ebb__round_up(&rounded, bytes, EBB__ARENA_GRAIN))
        return ebb__fail(EBB_E_SHAPE, "%zu bytes overflow the size of memory", bytes);
    ebb__big *b = ebb__big_create(ctx, rounded, kind, false);
    if (!b) return ebb__object_refused(sizeof *b);
    b->value.state = EBB__VALUE_RESIDENT;
    b->unused = (uint8_t)(rounded - bytes);
    ebb_status s = ebb__block_alloc(&b->value.data, ctx, rounded, kind, b);
    if (s != EBB_OK) {
        ebb__object_free(ctx, b, sizeof *b);
        return s;
    }
    ebb__trace_made(ctx->memory, &b->value);
    *out = &b->value;
    return EBB_OK;
}

void *ebb__nowhere(void)
{
    static const char grain[EBB__ARENA_GRAIN];
    return (void *)(uintptr_t)grain;
}

/* On memory that is not the arena's. */
static ebb_status elsewhere_create(ebb__value **out, ebb_context *ctx, void *data, size_t bytes,
                                   ebb_kind kind, bool phantom)
{
    ebb__memory *m = ctx->memory;
    ebb__big *b = ebb__big_create(ctx, bytes, kind, true);
    if (!b) return ebb__object_refused(sizeof(ebb__external));
    b->value.state = EBB__VALUE_RESIDENT;
    b->value.data = data;
    b->value.phantom = phantom;
    ebb__memory_enter(m);
    ebb__list_insert(m, b);
    ebb__memory_leave(m);
    ebb__trace_made(m, &b->value);
    *out = &b->value;
    return EBB_OK;
}

ebb_status ebb__value_adopt(ebb__value **out, ebb_context *ctx, void *data, size_t bytes,
                            void (*done)(void *user), void *user)
{
    EBB_TRY(elsewhere_create(out, ctx, data, bytes, EBB_KIND_DATA, false));
    ebb__external *e = (ebb__external *)ebb__big_of(*out);
    e->done = done;
    e->user = user;
    return EBB_OK;
}

ebb_status ebb__value_create_phantom(ebb__value **out, ebb_context *ctx, size_t bytes,
                                     ebb_kind kind)
{
    size_t rounded;
    if (bytes <= EBB__TINY_BYTES) {
        EBB_TRY(tiny_create(out, ctx, bytes ? bytes : 1, kind));
        (*out)->phantom = true;
        return EBB_OK;
    }
    if (!ebb__round_up(&rounded, bytes, EBB__ARENA_GRAIN))
        return ebb__fail(EBB_E_SHAPE, "%zu bytes overflow the size of memory", bytes);
    return elsewhere_create(out, ctx, ebb__nowhere(), rounded, kind, true);
}

ebb__value *ebb__value_use(ebb__value *v)
{
    if (v == ebb__lease.value && ebb__lease.uses > 1) /* one stays: it keeps the value */
        ebb__lease.uses--;
    else
        ebb__count_up(v->tiny ? &v->refs : &v->uses, v->ctx->single_threaded);
    return v;
}

static void tiny_unuse(ebb__value *v)
{
    if (v == ebb__lease.value) {
        ebb__lease.uses++;
        return;
    }
    if (!ebb__count_down(&v->refs, v->ctx->single_threaded)) return;
    ebb__memory *m = v->ctx->memory;
    if (m->top->trace) ebb__trace_event(m, v, false);
    ebb__tiny_free(v);
}

void ebb__lease_end(void)
{
    ebb__value *v = ebb__lease.value;
    unsigned uses = ebb__lease.uses, saves = ebb__lease.saves;
    ebb__lease.value = NULL;
    ebb__lease.uses = ebb__lease.saves = 0;
    if (saves && atomic_fetch_sub_explicit(&v->saves, saves, memory_order_relaxed) == saves)
        ebb__saved_note(v, -1);
    if (uses > 1) atomic_fetch_sub_explicit(&v->refs, uses - 1, memory_order_release);
    if (uses) tiny_unuse(v);
}

void ebb__lease_begin(ebb__value *v)
{
    if (v == ebb__lease.value || !v->tiny || v->ctx->single_threaded) return;
    ebb__lease_end();
    ebb__lease.value = v;
}

void ebb__value_unuse(ebb__value *v)
{
    if (!v) return;
    if (v->tiny) {
        tiny_unuse(v);
        return;
    }
    unsigned n = atomic_load_explicit(&v->uses, memory_order_relaxed);
    EBB_ASSERT(n > 0);
    bool spare = atomic_load_explicit(&ebb__big_of(v)->spare, memory_order_relaxed);
    while (n > 1 && !spare)
        if (atomic_compare_exchange_weak_explicit(&v->uses, &n, n - 1, memory_order_release,
                                                  memory_order_relaxed))
            return;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    ebb__use_drop(m, v);
    ebb__memory_leave(m);
}

void ebb__value_set_kind(ebb__value *v, ebb_kind kind)
{
    ebb__memory *m = v->ctx->memory;
    if (v->kind == kind) return;
    if (!v->tiny) ebb__memory_enter(m);
    if (v->tiny)
        ebb__account_move_pooled(v->ctx->account, v->kind, kind, v->bytes);
    else if (v->data && !v->external)
        ebb__account_move(v->ctx->account, v->kind, kind, v->bytes);
    v->kind = (uint8_t)kind;
    if (v->tiny) return;
    ebb__mirror_kind(m, v);
    ebb__memory_leave(m);
}

void ebb__value_rehome(ebb__value *v, ebb_context *ancestor)
{
    ebb_context *from = v->ctx;
    while (from && from != ancestor) from = from->parent;
    if (!from) return;
    ebb__memory *m = v->ctx->memory;
    EBB_ASSERT(!ebb__recipe_of(v) && (v->tiny || ancestor->memory == m));
    if (!v->tiny) ebb__memory_enter(m);
    if (v->data && !v->external)
        ebb__account_discharge_below(v->ctx->account, ancestor->account, v->kind, v->bytes,
                                     v->tiny);
    v->ctx = ancestor;
    if (!v->tiny) ebb__memory_leave(m);
}

bool ebb__value_pin(ebb__value *v)
{
    if (v->tiny) return true;
    atomic_fetch_add(&v->pins, 1);
    if (ebb__state_get(v) == EBB__VALUE_RESIDENT) return true;
    ebb__value_unpin(v);
    return false;
}

void ebb__value_pin_reserved(ebb__value *v)
{
    EBB_ASSERT(v->data);
    if (!v->tiny) atomic_fetch_add(&v->pins, 1);
}

void ebb__value_note_kept(ebb__value *v)
{
    if (v->tiny) return;
    ebb__memory *m = v->ctx->memory;
    atomic_store(&ebb__big_of(v)->kept,
                 true); /* in this order: ebb__drop changes the state first */
    if (ebb__state_get(v) != EBB__VALUE_RESIDENT) atomic_store(&m->misses_kept, true);
    if (!m->ledger) return;
    ebb__memory_enter(m);
    ebb__mirror_expect(m, ebb__big_of(v));
    ebb__memory_leave_unchanged(m);
}

bool ebb__value_is_forgone(const ebb__value *v)
{
    return !v->tiny && ((const ebb__big *)v)->forgone;
}

bool ebb__value_has_bytes(const ebb__value *v)
{
    unsigned state = ebb__state_get(v);
    return v->tiny || state == EBB__VALUE_RESIDENT || state == EBB__VALUE_MOVING;
}

bool ebb__value_unseen(ebb__value *v)
{
    /* A ref is that of the uses, or a reader's. Who could add to one has another. */
    if (atomic_load_explicit(&v->refs, memory_order_acquire) != 1) return false;
    return v->tiny ||
           (atomic_load_explicit(&v->uses, memory_order_acquire) == 1 && !ebb__depth_get(v));
}

void ebb__value_unpin(ebb__value *v)
{
    if (v->tiny) return;
    unsigned before = atomic_fetch_sub_explicit(&v->pins, 1, memory_order_release);
    EBB_ASSERT(before > 0);
    (void)before;
}

void ebb__trace_event(ebb__memory *m, const ebb__value *v, bool made)
{
    ebb__memory_event e = {.what = made ? EBB__EVENT_MADE : EBB__EVENT_GONE,
                           .value = v,
                           .bytes = v->bytes,
                           .kind = v->kind};
    const ebb__memory *top = m->top;
    if (top->trace) top->trace(top->trace_user, &e);
}
