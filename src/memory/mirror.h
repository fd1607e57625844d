/* mirror.h - inside src/memory: what the ledger of a memory under a budget is told.
 *
 * A value has a number from when a recipe first makes or reads it until the ledger knows of no
 * more use for it. The ledger counts uses by dropped values itself and holds one more for all
 * others together (`counted`), from the number's beginning until the value has no use; and again
 * where somebody takes a use of a value that only dropped ones needed.
 *
 * Everything here is under the mutex and does nothing where there is no ledger, or it sleeps.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_MIRROR_H
#define EBB_MEMORY_MIRROR_H

#include "memory/memory.h"

/* Groups of values that the ledger adds up. */
enum { EBB__GROUP_ACTIVATION, EBB__GROUP_TEMPORARY, EBB__GROUP_KEPT = EBB__LEDGER_KEPT };

/* Before a recipe of so many inputs and outputs is linked: room in the tables, as far as there
 * are bytes. Not under the mutex. */
void ebb__mirror_room(ebb_context *ctx, uint32_t n_in, uint32_t n_out);
/* What is unused of the tables goes: false, there was nothing. Not under the mutex. */
bool ebb__mirror_cut(ebb_context *ctx);
/* Is there room for it now: else what it makes stays a source. */
bool ebb__mirror_fits(ebb__memory *m, const ebb__record *r);
/* The record has become a recipe; awake. */
void ebb__mirror_made(ebb__memory *m, ebb__record *r);
/* Its inputs were read by the operation that has just run, whether it became a recipe or not. */
void ebb__mirror_read(ebb__memory *m, const ebb__record *r);

/* ---- sleep.c ----------------------------------------------------------------------------- */
/* Before any value is given up or chosen. */
void ebb__mirror_wake(ebb__memory *m);
void ebb__mirror_sleep(ebb__memory *m); /* while nothing that was given up is needed */
void ebb__mirror_doze(ebb__memory *m);  /* sleeps if it may */
/* A step has ended: the ledger goes to sleep if none was, since the one before did. */
void ebb__mirror_rest(ebb__memory *m);
/* Is there room in its tables for as many more as it would have to know if it woke now. */
bool ebb__mirror_holds(const ebb__memory *m, size_t n_vals, size_t n_recs, size_t n_links);
/* The record reads from now on; no longer. Those that it makes and reads are known. */
void ebb__mirror_linked(ebb__memory *m, const ebb__record *r);
void ebb__mirror_unlinked(ebb__memory *m, const ebb__record *r);
/* First fault of what is counted for a ledger that sleeps, or NULL. */
const char *ebb__mirror_sleep_check(const ebb__memory *m);

/* ---- mirror.c ---------------------------------------------------------------------------- */
/* The record as a recipe of its outputs, at the ledger's time. */
void ebb__mirror_tell(ebb__memory *m, ebb__record *r);
/* It is made or read by a recipe. */
static inline void ebb__mirror_know(ebb__memory *m, ebb__big *b)
{
    m->n_known += !b->known;
    b->known = true;
}
static inline bool ebb__mirror_has(const ebb__memory *m, const ebb__big *b)
{
    return m->ledger && b->number != EBB__LEDGER_NONE;
}
/* Somebody who is no dropped value takes a use. */
static inline void ebb__mirror_count(ebb__memory *m, ebb__big *b)
{
    if (!ebb__mirror_has(m, b) || b->counted) return;
    ebb__ledger_use(m->ledger, b->number);
    b->counted = true;
}
/* The value has no use any more, or its bytes have gone over to another. */
static inline void ebb__mirror_unused(ebb__memory *m, ebb__big *b)
{
    if (!b->counted) return;
    b->counted = false;
    if (ebb__mirror_has(m, b)) ebb__ledger_unuse(m->ledger, b->number);
}
static inline void ebb__mirror_dropped(ebb__memory *m, ebb__big *b)
{
    if (ebb__mirror_has(m, b)) ebb__ledger_dropped(m->ledger, b->number);
}
void ebb__mirror_restored(ebb__memory *m, ebb__big *b);
/* b->locks has come to be 1, or 0. */
static inline void ebb__mirror_locked(ebb__memory *m, ebb__big *b)
{
    if (ebb__mirror_has(m, b)) ebb__ledger_lock(m->ledger, b->number);
}
static inline void ebb__mirror_unlocked(ebb__memory *m, ebb__big *b)
{
    if (ebb__mirror_has(m, b)) ebb__ledger_unlock(m->ledger, b->number);
}
/* It is about to have no recipe. */
void ebb__mirror_recipe_gone(ebb__memory *m, ebb__value *v);
void ebb__mirror_source(ebb__memory *m, const ebb__value *v); /* it has none now */
void ebb__mirror_kind(ebb__memory *m, ebb__value *v);         /* as it is now */
/* A save of it has gone, or it is kept: what is expected of it changes. */
void ebb__mirror_expect(ebb__memory *m, ebb__big *b);

/* The ledger's time is the memory's. */
void ebb__mirror_clock(ebb__memory *m);
static inline ebb__big *ebb__mirror_big(uint32_t *number)
{
    return (ebb__big *)((char *)number - offsetof(ebb__big, number));
}
/* Compares the ledger with the values; first fault or NULL. */
const char *ebb__mirror_check(ebb__memory *m);

#endif
