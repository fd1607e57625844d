/* evict.c - which bytes to give up: the choice is the ledger's, of what may go at all.
 *
 * Pins take no lock, so the ledger does not know of them: they are looked at when a value comes
 * into question.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/room.h"

static bool counts_for(const ebb__value *v, const ebb__account *tight)
{
    for (const ebb_context *ctx = v->ctx; ctx; ctx = ctx->parent)
        if (ctx->account == tight) return true;
    return false;
}

/* The account that is short; NULL: bytes of any will do. */
typedef struct wanted {
    const ebb__account *tight;
} wanted;

static wanted wanted_of(const ebb__memory *m, const ebb__account *tight)
{
    return (wanted){tight == m->owner->account ? NULL : tight};
}

/* Of what is resident, unlocked and can be made again. */
static bool may_go(const ebb__value *v, const wanted *w)
{
    return (v->kind == EBB_KIND_ACTIVATION || v->kind == EBB_KIND_TEMPORARY) && !v->phantom &&
           atomic_load_explicit(&v->pins, memory_order_relaxed) == 0 &&
           (!w->tight || counts_for(v, w->tight));
}

static bool allows(void *user, const uint32_t *number)
{
    return may_go(&ebb__mirror_big((uint32_t *)(uintptr_t)number)->value, user);
}

bool ebb__evict_one(ebb__memory *m, const ebb__account *tight, size_t need)
{
    enum { TRIES = 16 }; /* one was just pinned, or what makes it turned out to be lost */
    wanted w = wanted_of(m, tight);
    ebb__mirror_wake(m);
    ebb__mirror_clock(m);
    if (m->known && !ebb__ledger_is_awake(m->ledger)) ebb__nexts_fill(m);
    for (int i = 0; i < TRIES; i++) {
        uint32_t number = ebb__ledger_victim_of(m->ledger, need, allows, &w);
        if (number == EBB__LEDGER_NONE) return false;
        ebb__big *b = ebb__mirror_big(ebb__ledger_owner(m->ledger, number));
        if (!ebb__drop(m, &b->value)) continue;
        m->n_evictions++;
        return true;
    }
    return false;
}

void ebb__evictable_by_kind(size_t out[EBB_KIND_MAX], ebb__memory *m, const ebb__account *tight,
                            bool exact)
{
    wanted w = wanted_of(m, tight);
    ebb__mirror_wake(m);
    if (!exact && !w.tight) {
        out[EBB_KIND_ACTIVATION] = ebb__ledger_free_bytes(m->ledger, EBB__GROUP_ACTIVATION);
        out[EBB_KIND_TEMPORARY] = ebb__ledger_free_bytes(m->ledger, EBB__GROUP_TEMPORARY);
        return;
    }
    for (const ebb__big *b = m->all; b; b = b->next)
        if (b->number != EBB__LEDGER_NONE && ebb__ledger_can_drop(m->ledger, b->number) &&
            may_go(&b->value, &w))
            out[b->value.kind] += b->value.bytes;
}

size_t ebb__evictable_bytes(ebb__memory *m, const ebb__account *tight)
{
    size_t by_kind[EBB_KIND_MAX] = {0};
    ebb__evictable_by_kind(by_kind, m, tight, false);
    return by_kind[EBB_KIND_ACTIVATION] + by_kind[EBB_KIND_TEMPORARY];
}
