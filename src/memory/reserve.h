/* reserve.h - the bytes of one operation under a budget: all of them, or none.
 *
 * Under a budget an operation runs in one of two ways. Inside the gate, side by side with
 * others: its operands are there and enough bytes are free. Or alone: it locks its operands, makes
 * those that are missing, has other values give up their bytes until enough are free, and blocks
 * move until they lie in one piece; then it pins what it has and shares the gate while its
 * kernel runs.
 *
 * A locked value is not given up; its block may still move. Addresses are read once everything
 * is reserved and pinned.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_RESERVE_H
#define EBB_MEMORY_RESERVE_H

#include "base/array.h"
#include "memory/gate.h"
#include "memory/ledger.h"
#include "memory/value.h"

/* The gate of the context's memory. */
ebb__gate *ebb__gate_of(const ebb_context *ctx);
/* NULL where nothing has a budget: then nobody goes through it but those who restore. */
ebb__gate *ebb__budget_gate(const ebb_context *ctx);

typedef struct ebb__want {
    size_t bytes;
    ebb_kind kind;
    bool is_scratch;
    ebb__storage *over; /* whose value's block it takes: see ebb__over_take; NULL: its own */
    ebb__value *value;  /* has a use for the caller, and a pin: see ebb__wants_unpin */
    void *scratch;
} ebb__want;
/* Small objects for what is wanted, which then is tried, or left. They come before the caller pins
 * anything: room for them, which never moves, may lie where the pinned would be. False: there is
 * none, nothing recorded in the error record. */
bool ebb__wants_prepare(ebb_context *ctx, ebb__want *want, int32_t n);
void ebb__wants_leave(ebb_context *ctx, ebb__want *want, int32_t n);
/* Has what was prepared if the bytes are free as they lie: nothing is evicted, nothing recorded in
 * the error record. Scratch comes last. False: it was left. */
bool ebb__wants_try(ebb_context *ctx, ebb__want *want, int32_t n);
/* The same without having been prepared, making room. Called alone. On E_BUDGET and E_NOMEM nothing
 * was created. */
ebb_status ebb__wants_make(ebb_context *ctx, ebb__want *want, int32_t n);
/* What was made may move again; nobody else has come to know it. */
void ebb__wants_unpin(const ebb__want *want, int32_t n);
/* Undoes either; unpinned. */
void ebb__wants_drop(ebb_context *ctx, ebb__want *want, int32_t n);

/* ---- over.c: in the place of an operand that nobody reads again --------------------------- */
/* May a result of so many bytes have the block of `from`, which is locked once: nobody needs that but
 * its storage or, again, a dropped value that is about to be made again. Called alone. */
bool ebb__over_may(const ebb__value *from, const ebb_context *ctx, size_t bytes, bool again);
/* v, which has none, gets the block of `from`, which is there. s, not NULL: who holds `from`, and has
 * v from now on, which is resident. NULL: v is about to be made again. False, and nothing is done:
 * somebody has come to need `from` since. */
bool ebb__over_take(ebb__value *v, ebb__value *from, ebb__storage *s);

/* Refuses (E_BUDGET, with the report) what cannot fit whatever is given up: `need` more bytes by kind,
 * with `missing` bytes of operands that are to be made again. Operands are locked. */
ebb_status ebb__room_check(ebb_context *ctx, const size_t need[EBB_KIND_MAX], size_t missing);
/* A backward has got through: what was used at most has served. */
void ebb__memory_step_done(ebb_context *ctx);
/* A budget that is known to do; 0: none. */
void ebb__memory_known(ebb_context *ctx, size_t bytes);
/* Gradients under way are given up from now on, or no longer; false: so it was. Not done where there
 * is another way: see mirror.c. */
bool ebb__gradients_give(ebb_context *ctx, bool give);
/* The last resorts of what was refused: those gradients, then what is unused of the ledger's tables.
 * False: there are none any more. */
bool ebb__room_squeeze(ebb_context *ctx);
/* Evicts until so many bytes, by kind, may be charged. Called alone. E_BUDGET. */
ebb_status ebb__room_make(ebb_context *ctx, const size_t need[EBB_KIND_MAX]);

/* Not given up until unlocked, whether there or to be made again. The caller holds a use, and
 * takes one more. Tiny ones are passed over. */
void ebb__value_lock(ebb__value *v);
void ebb__value_unlock(ebb__value *v);
/* The same without a use: where nobody needs it any more its bytes go all the same. if_there: false,
 * and nothing is done, where it is not resident. was_read: a spare one may go now. Not of tiny
 * ones. */
bool ebb__value_stay(ebb__value *v, bool if_there);
void ebb__value_stay_end(ebb__value *v, bool was_read);
/* True the first time in the search of this number; v is not tiny. */
bool ebb__value_visit(ebb__value *v, uint32_t number);

/* ---- regions ----------------------------------------------------------------------------- */
/* A number of the context's memory: values made later have higher ones. */
uint64_t ebb__region_start(ebb_context *ctx);
/* Gives up what was made since and only saves and dropped values need. */
void ebb__region_end(ebb_context *ctx, uint64_t start);
/* The record's saves were read and are kept: a use of each that was made in a region that has
 * ended, to be given back, and their bytes given up again, when all of the graph has been read. E_NOMEM.
 */
ebb_status ebb__region_saves_use(ebb__array *out, const ebb__record *r);
void ebb__region_saves_drop(ebb__array *values);

/* ---- what a step does not read again ----------------------------------------------------- */
/* From now on its bytes go once only scopes hold it; not while its operation is under way. */
void ebb__value_set_spare(ebb__value *v);
void ebb__value_clear_spare(ebb__value *v);
/* A mark of the engine's: 0 at birth and for tiny ones. */
uint64_t ebb__value_born(const ebb__value *v);
void ebb__value_set_born(ebb__value *v, uint64_t born);

/* ---- steps.c: for who learns from steps -------------------------------------------------- */
/* A table of bookkeeping, counted, room made for it; NULL where there is none, without a failure
 * recorded. Not from inside the gate. stays: it is brief, and does not move. Others do once they
 * have an owner, when the thread that made them asks for room; `moved` is told where it lies then. */
typedef struct ebb__table ebb__table;
ebb__table *ebb__notes_make(ebb_context *ctx, size_t bytes, bool stays);
void *ebb__notes_at(const ebb__table *t);
void ebb__notes_own(ebb__table *t, void (*moved)(void *owner, void *to), void *owner);
void ebb__notes_drop(ebb_context *ctx, ebb__table *t); /* NULL is ignored */
size_t ebb__notes_bytes(const ebb_context *ctx);       /* of all of them */
/* The same for one thing that is small, and lasts. */
void *ebb__notes_alloc(ebb_context *ctx, size_t bytes);
void ebb__notes_free(ebb_context *ctx, void *p, size_t bytes);
/* A write has copied a parameter of the memory for what was given up. */
bool ebb__memory_copies(const ebb_context *ctx);
/* The context whose memory ctx uses, and its budget. */
ebb_context *ebb__memory_owner(const ebb_context *ctx);
size_t ebb__memory_budget(const ebb_context *ctx);
/* From now on left[i] becomes the number told last, if that is less, once nobody holds the value
 * born as i of this step any more; n of them, read and written until the next call. */
void ebb__left_watch(ebb_context *ctx, uint32_t step, uint32_t *left, uint32_t n);
void ebb__left_now(ebb_context *ctx, uint32_t at);
typedef struct ebb__step_use {
    size_t used, bookkeeping; /* by the owner and all below */
    size_t values;            /* born in the step, and in memory */
} ebb__step_use;
void ebb__step_bytes(ebb__step_use *out, const ebb_context *ctx, uint32_t step);
struct ebb__learned; /* trace_cache.h */
/* Sets the next use of each value born in the step, after the operation told last, by a kept
 * step that begins at `base` on the clock; or, where later, as soon as somebody has to choose what
 * to give up. NULL: nobody knows. */
void ebb__step_nexts_set(ebb_context *ctx, uint32_t step, const struct ebb__learned *l,
                         double base, bool later);
/* made[i] is from now on the value born as i of this step, where it can be made again; n of them,
 * until the next call. */
void ebb__named_watch(ebb_context *ctx, uint32_t step, ebb__value **made, uint32_t n);
/* Gives the bytes of such a value up, where that can be done. */
bool ebb__named_drop(ebb_context *ctx, uint32_t born);
/* One that has none and is needed: it stays once it is made again, until ebb__value_stay_end.
 * NULL: it is not so. */
ebb__value *ebb__named_away(ebb_context *ctx, uint32_t born);
/* Values given up so far for want of room, or by name. */
uint64_t ebb__memory_evictions(const ebb_context *ctx);

/* ---- the clock --------------------------------------------------------------------------- */
/* Estimated nanoseconds of the main program's work so far, under a budget; it stands while no
 * value is given up. */
uint64_t ebb__clock(const ebb_context *ctx);
void ebb__clock_advance(ebb_context *ctx, float ns);
/* ---- what is given up, and in which order: nothing where there is no budget --------------- */
/* When it will be read, on the axis of next uses; EBB__NEXT_UNKNOWN, EBB__NEXT_NONE. The clock is
 * that axis. Of what cannot be made again nothing is noted. */
void ebb__value_set_next(ebb__value *v, double at);
double ebb__value_next(ebb__value *v);
/* From now on this one, and nothing learned is followed: to compare with. */
void ebb__memory_fix_policy(ebb_context *ctx, const ebb__policy *policy);
bool ebb__memory_policy_is_fixed(const ebb_context *ctx);
/* Values are being given up: next uses matter. */
bool ebb__memory_chooses(const ebb_context *ctx);
/* The caller sets the next uses of everything from now on, and nobody else does. */
void ebb__memory_follow(ebb_context *ctx, bool follows);

/* The values, not tiny, that a node saves: each is read at `at`, and *after, one for each, says
 * when after that, if what was set before is later. */
size_t ebb__saves_count(ebb__record *r);
void ebb__saves_read_at(ebb__record *r, double at, double *after);
/* They were read: their next use is *after; NULL: not known. */
void ebb__saves_were_read(ebb__record *r, const double *after);

/* ---- figures ----------------------------------------------------------------------------- */
typedef struct ebb__room_stats {
    uint64_t n_evictions, n_recomputes, moved_bytes, recompute_ns;
    double recompute_cost; /* by the estimates, in ns */
} ebb__room_stats;
void ebb__room_stats_get(ebb__room_stats *out, const ebb_context *ctx);
/* What was run again took so long; cost: by the estimates. */
void ebb__room_recomputed(ebb_context *ctx, uint64_t ns, float cost);

#endif
