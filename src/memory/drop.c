/* drop.c - bytes given up although they are needed, and made again: under recompute and
 * eviction.
 *
 * Invariant: a dropped value with uses holds a use of each input of its recipe, so what it
 * takes to make it again stays: resident inputs keep their bytes, dropped ones hold their own
 * inputs. An input elsewhere is resident or lost, and is a source: where it is lost, which
 * nobody told the record, it turns out here that the value cannot be made again.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"

static bool can_drop(const ebb__value *v)
{
    return !v->tiny && ebb__recipe_of(v) && !ebb__recipe_of(v)->broken;
}

bool ebb__value_can_drop(ebb__value *v)
{
    if (v->tiny) return false;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    bool can = can_drop(v);
    ebb__memory_leave(m);
    return can;
}

/* Takes a use, for a dropped value of another memory; false where there are no bytes. */
static bool elsewhere_use(ebb__value *v)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    if (atomic_fetch_add_explicit(&v->uses, 1, memory_order_relaxed) == 0)
        atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&ebb__big_of(v)->n_needs, 1, memory_order_release);
    bool there = v->state == EBB__VALUE_RESIDENT;
    ebb__memory_leave_unchanged(m);
    return there;
}

/* v is dropped and has come to be needed; so, then, are dropped inputs that were not. Returns a
 * record on the way that reads a value lost elsewhere; NULL: there is none. */
static ebb__record *inputs_use(ebb__memory *m, ebb__value *v)
{
    ebb__big *list = ebb__big_of(v);
    ebb__record *unsound = NULL;
    list->work = NULL;
    while (list) {
        ebb__record *r = ebb__recipe_of(&list->value);
        list = list->work;
        for (uint32_t i = 0; i < r->n_in; i++) {
            ebb__value *in = r->in[i];
            if (!in || in->tiny) continue;
            if (ebb__is_elsewhere(m, in)) {
                if (!elsewhere_use(in)) unsound = r;
                continue;
            }
            ebb__big_of(in)->n_deps++;
            if (atomic_fetch_add_explicit(&in->uses, 1, memory_order_relaxed) != 0) continue;
            EBB_ASSERT(in->state == EBB__VALUE_DROPPED);
            atomic_fetch_add_explicit(&in->refs, 1, memory_order_relaxed);
            ebb__big_of(in)->work = list;
            list = ebb__big_of(in);
        }
    }
    return unsound;
}

/* The resident value comes to need what makes it; false where that is lost. */
static bool recipe_need(ebb__memory *m, ebb__value *v)
{
    ebb__record *unsound = inputs_use(m, v);
    if (!unsound) return true;
    ebb__state_set(v, EBB__VALUE_RESIDENT);
    ebb__inputs_unuse(m, ebb__recipe_of(v));
    ebb__settle(m);
    ebb__record_break(m, unsound);
    return false;
}

/* ---- what is made again is what was given up --------------------------------------------- */

static bool compares(const ebb_context *ctx)
{
    return EBB_CHECK >= 3 || ctx->check_recompute;
}

static uint32_t content(const ebb__big *b)
{
    if (b->value.phantom) return 1;
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    const unsigned char *p = b->value.data;
    for (size_t i = 0; i < b->value.bytes - b->unused; i++)
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    uint32_t folded = (uint32_t)(hash ^ hash >> 32);
    return folded ? folded : 1;
}

bool ebb__value_is_as_before(const ebb__value *v)
{
    const ebb__big *b = (const ebb__big *)v;
    return !compares(v->ctx) || !b->content || b->content == content(b);
}

bool ebb__drop(ebb__memory *m, ebb__value *v)
{
    bool can = v->state == EBB__VALUE_RESIDENT && can_drop(v) &&
               atomic_load_explicit(&v->pins, memory_order_relaxed) == 0;
    if (can) {
        ebb__mirror_wake(m);
        ebb__state_set(v, EBB__VALUE_DROPPED);
        can = atomic_load(&v->pins) == 0; /* in this order: see ebb__value_pin */
        if (can && atomic_load_explicit(&v->uses, memory_order_relaxed))
            can = recipe_need(m, v);
        if (can) {
            ebb__mirror_dropped(m, ebb__big_of(v));
            if (ebb__big_is_kept(ebb__big_of(v))) atomic_store(&m->misses_kept, true);
            if (compares(v->ctx) && !ebb__big_of(v)->content)
                ebb__big_of(v)->content = content(ebb__big_of(v));
            ebb__bytes_free(m, v);
        } else {
            ebb__state_set(v, EBB__VALUE_RESIDENT);
        }
    }
    return can;
}

bool ebb__value_drop(ebb__value *v)
{
    if (v->tiny) return false;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    bool dropped = !ebb__big_of(v)->locks && ebb__drop(m, v);
    ebb__memory_leave(m);
    return dropped;
}

void ebb__record_hold(ebb__record *r, ebb__value **held)
{
    ebb__memory *m = r->ctx->memory;
    ebb__memory_enter(m);
    for (uint32_t k = 0; k < r->n_out; k++) {
        ebb__value *v = r->out[k];
        bool needed = v && ebb__recipe_of(v) == r && v->state == EBB__VALUE_DROPPED &&
                      atomic_load_explicit(&v->uses, memory_order_relaxed);
        held[k] = needed ? v : NULL;
        if (!needed) continue;
        ebb__mirror_count(m, ebb__big_of(v));
        ebb__count_up(&v->uses, m->single_threaded);
    }
    ebb__memory_leave(m);
}

ebb__record *ebb__value_recipe_keep(ebb__value *v)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    ebb__record *r = v->state == EBB__VALUE_LOST ? NULL : ebb__recipe_of(v);
    if (r && r->broken) r = NULL;
    ebb__record_keep(r);
    ebb__memory_leave_unchanged(m);
    return r;
}

/* Without a budget any order will do: the longest chain first. */
static ebb__value *deepest(const ebb__record *r)
{
    ebb__value *found = NULL;
    for (uint32_t i = 0; r && i < r->n_in; i++) {
        ebb__value *in = r->in[i];
        if (in && !in->tiny && in->state == EBB__VALUE_DROPPED &&
            (!found || in->depth > found->depth))
            found = in;
    }
    return found;
}

ebb__value *ebb__value_missing(ebb__value *v)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    ebb__value *missing = NULL;
    if (ebb__mirror_has(m, ebb__big_of(v))) {
        uint32_t number = ebb__ledger_first_missing(m->ledger, ebb__big_of(v)->number);
        if (number != EBB__LEDGER_NONE)
            missing = &ebb__mirror_big(ebb__ledger_owner(m->ledger, number))->value;
    } else {
        missing = deepest(ebb__recipe_of(v));
    }
    ebb__memory_leave_unchanged(m);
    return missing;
}

ebb_status ebb__value_reserve(ebb__value *v)
{
    EBB_ASSERT(!v->tiny && v->state == EBB__VALUE_DROPPED && !v->data);
    if (v->phantom)
        v->data = ebb__nowhere();
    else
        EBB_TRY(ebb__block_alloc(&v->data, v->ctx, v->bytes, v->kind, ebb__big_of(v)));
    ebb__trace_made(v->ctx->memory, v);
    return EBB_OK;
}

void ebb__value_restored(ebb__value *v)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    EBB_ASSERT(v->state == EBB__VALUE_DROPPED && v->data);
    EBB_ASSERT(atomic_load(&v->uses) > 0);
    ebb__state_set(v, EBB__VALUE_RESIDENT);
    ebb__mirror_restored(m, ebb__big_of(v));
    ebb__inputs_unuse(m, ebb__recipe_of(v));
    ebb__memory_leave(m);
}

void ebb__value_unreserve(ebb__value *v)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    EBB_ASSERT(v->state == EBB__VALUE_DROPPED && v->data);
    ebb__bytes_free(m, v);
    ebb__memory_leave(m);
}
