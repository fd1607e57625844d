/* ledger.h - the program under a budget in integers: what is in memory, what it takes to bring
 * back what is not, what to give up next.
 *
 * A ledger mirrors values and recipes by number: no tensors, no data, no addresses. The engine
 * feeds it real events, the simulator (ghost.h) recorded ones, so a prediction runs the code
 * that it predicts.
 *
 * val  an immutable value: bytes, resident or not; a source where no recipe makes it.
 * rec  a recipe: cost, inputs, outputs. Lives while one of its outputs does; a val lives while
 *      it has uses or a living rec reads it. Numbers of dead ones are given out again.
 *
 * Exact liveness. uses = the caller's + one for each input slot of a needed val that is not
 * resident. A resident val whose uses reach 0 is gone at once; so are, in turn, inputs that
 * only a val needed which is resident again, or no longer needed. A source that is gone breaks
 * the recs that read it: their outputs become sources.
 *
 * A driver whose own counts include uses by dropped dependents holds exactly one use of each
 * val, from the add until its own count is 0: the two counts then reach 0 together.
 *
 * Time is in the driver's unit of cost (seconds, ns). A next use is a coordinate on an axis of
 * the driver's choice that grows with the position in the program: time itself, or the
 * cumulative shadow price scaled to the length of time. Only differences matter.
 *
 * Not thread-safe. Only the adds and ebb__ledger_reserve allocate; they do so before they
 * change anything, and the allocator may meanwhile call ebb__ledger_victim and _dropped.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_LEDGER_H
#define EBB_MEMORY_LEDGER_H

#include "base/alloc.h"

#include <ebb/status.h>
#include <float.h>
#include <math.h>

typedef struct ebb__ledger ebb__ledger;

#define EBB__LEDGER_NONE UINT32_MAX /* no val */

/* ---- policy ------------------------------------------------------------------------------
 *
 * The victim has the least back^cost_power / (bytes^bytes_power * horizon^horizon_power).
 *
 * back     what it takes to bring it back: its recipe's cost, and (ABOVE) that of the distinct
 *          recipes of ancestors that are not resident, and (AROUND) that of needed descendants
 *          which are not resident either
 * horizon  by KNOWN: soonest next use - now, where a next use is known, of the val itself or of
 *          a needed dropped val that is made from it; else, and by STALE, time since the last
 *          use (then back is AROUND if it is ABOVE). Without a next use it goes first. */
typedef enum ebb__policy_back {
    EBB__BACK_ABOVE,
    EBB__BACK_AROUND,
    EBB__BACK_OWN,
    EBB__BACK_ONE /* 1 */
} ebb__policy_back;
typedef enum ebb__policy_horizon {
    EBB__HORIZON_KNOWN,
    EBB__HORIZON_STALE,
    EBB__HORIZON_ONE /* 1 */
} ebb__policy_horizon;
/* Powers are multiples of 1/4 in [0, 4]. */
typedef struct ebb__policy {
    ebb__policy_back back;
    ebb__policy_horizon horizon;
    float cost_power, bytes_power, horizon_power;
} ebb__policy;

extern const ebb__policy ebb__policy_next;    /* TAPE, ORACLE and PRICE: the driver's axis */
extern const ebb__policy ebb__policy_h_dtr;   /* cost around / (bytes * staleness) */
extern const ebb__policy ebb__policy_h_local; /* own cost / (bytes * staleness) */
extern const ebb__policy ebb__policy_lru;     /* 1 / staleness */
extern const ebb__policy ebb__policy_msps;    /* cost above / bytes */

/* ---- the ledger -------------------------------------------------------------------------- */
/* Starts with ebb__policy_next at time 0. Errors: E_NOMEM. */
ebb_status ebb__ledger_create(ebb__ledger **out, const ebb_allocator *allocator);
void ebb__ledger_destroy(ebb__ledger *l);
/* Room for so many more vals, recs, and inputs and outputs together. Errors: E_NOMEM. */
ebb_status ebb__ledger_reserve(ebb__ledger *l, size_t vals, size_t recs, size_t links);
/* A table that grows, for drivers that supply its memory themselves. */
enum { EBB__LEDGER_TABLES = 3 };
typedef struct ebb__ledger_table {
    void *block; /* 64-byte aligned */
    size_t bytes, n;
    int which; /* < EBB__LEDGER_TABLES */
} ebb__ledger_table;
/* Is there too little room: then t says what is to be allocated; least: no more than that. */
bool ebb__ledger_lacks(const ebb__ledger *l, ebb__ledger_table *t, size_t vals, size_t recs,
                       size_t links, bool least);
/* Would adding a rec of n_links inputs and outputs, and n_vals vals, not allocate. */
bool ebb__ledger_has_room(const ebb__ledger *l, size_t n_vals, size_t n_links);
/* Takes the block over, and leaves in t what is to be freed instead (NULL: nothing), which is
 * the block itself where the table has come to be as large meanwhile. */
void ebb__ledger_grow(ebb__ledger *l, ebb__ledger_table *t);
/* Makes the tables, vals, recs and links, as small as they may be with so many: the blocks stay
 * where they are, and of each as many bytes are needed. */
void ebb__ledger_cut(ebb__ledger *l, const size_t least[EBB__LEDGER_TABLES],
                     size_t bytes[EBB__LEDGER_TABLES]);
/* The block of that table, with what is in it, now lies there. */
void ebb__ledger_moved(ebb__ledger *l, int which, void *to);
bool ebb__ledger_is_empty(const ebb__ledger *l);
/* Forgets everything, owners too; keeps the tables and the policy. */
void ebb__ledger_clear(ebb__ledger *l);
/* Are the tables as large; without more an empty ledger takes in as many. */
bool ebb__ledger_holds(const ebb__ledger *l, size_t vals, size_t recs, size_t links);
/* How many of these a rec of so many inputs and outputs takes. */
static inline size_t ebb__ledger_links(uint32_t n)
{
    return n <= 1 ? 1 : (size_t)1 << (32 - __builtin_clz(n - 1));
}
/* Where it is empty, or before the end: gives a table back; false where none is left. */
bool ebb__ledger_shed(ebb__ledger *l, ebb__ledger_table *t);
/* What the ledger itself occupies; of its tables, what is not free. */
size_t ebb__ledger_bytes(const ebb__ledger *l);
size_t ebb__ledger_taken_bytes(const ebb__ledger *l);
/* Of the resident vals; of those of them that have a recipe, locked or not. */
uint64_t ebb__ledger_resident_bytes(const ebb__ledger *l);
uint64_t ebb__ledger_droppable_bytes(const ebb__ledger *l);
/* Of those that could be dropped now, of one group of the driver's; 0 at first. Vals of the last
 * one are never chosen. */
enum { EBB__LEDGER_GROUPS = 3, EBB__LEDGER_KEPT = EBB__LEDGER_GROUPS - 1 };
uint64_t ebb__ledger_free_bytes(const ebb__ledger *l, uint8_t group);
void ebb__ledger_set_group(ebb__ledger *l, uint32_t val, uint8_t group);
/* Where the driver keeps val's number: NONE is written there when val dies. */
void ebb__ledger_set_owner(ebb__ledger *l, uint32_t val, uint32_t *owner);
uint32_t *ebb__ledger_owner(const ebb__ledger *l, uint32_t val);

void ebb__ledger_set_policy(ebb__ledger *l, const ebb__policy *policy);
/* now: time; at: the present position on the axis of next uses. */
void ebb__ledger_clock(ebb__ledger *l, double now, double at);

/* A resident source with one use for the caller. Errors: E_NOMEM. */
ebb_status ebb__ledger_source_add(uint32_t *out, ebb__ledger *l, uint64_t bytes);
/* A rec and its outputs, resident, each with one use for the caller, last used now, next use
 * unknown. in[] may repeat vals and hold EBB__LEDGER_NONE, which is passed over. Where an input
 * is neither resident nor can be made again, the outputs become sources. An output of
 * out_bytes[k] == 0 is not tracked: out[k] is EBB__LEDGER_NONE. cost > 0 is not required.
 * Errors: E_NOMEM, nothing changed. */
ebb_status ebb__ledger_rec_add(uint32_t *out, ebb__ledger *l, double cost, uint32_t n_in,
                               const uint32_t *in, uint32_t n_out, const uint64_t *out_bytes);

/* ---- events; vals given are alive -------------------------------------------------------- */
void ebb__ledger_use(ebb__ledger *l, uint32_t val);   /* needed already */
void ebb__ledger_unuse(ebb__ledger *l, uint32_t val); /* val may be dead afterwards */
/* Not to be dropped meanwhile (read by a kernel, mapped by the user); nests up to 65,535. */
void ebb__ledger_lock(ebb__ledger *l, uint32_t val);
void ebb__ledger_unlock(ebb__ledger *l, uint32_t val);
void ebb__ledger_touch(ebb__ledger *l, uint32_t val); /* used now */
#define EBB__NEXT_UNKNOWN DBL_MAX
#define EBB__NEXT_NONE ((double)INFINITY) /* nobody is expected to read it again */
void ebb__ledger_set_next(ebb__ledger *l, uint32_t val, double at);
/* Scales the score's denominator, > 0; 1 at first: above 1 it is given up earlier. */
void ebb__ledger_set_weight(ebb__ledger *l, uint32_t val, float weight);
/* It can no longer be made again (its recipe may not be run): a source from now on; resident. */
void ebb__ledger_set_source(ebb__ledger *l, uint32_t val);
/* The same of one that is not resident and not needed: it is gone for ever, and dead. */
void ebb__ledger_lost(ebb__ledger *l, uint32_t val);

/* The val to drop next, which is unlocked, resident, no source; EBB__LEDGER_NONE if there is
 * none. need: of those that score about alike, one that frees so many bytes; 0: the least. */
uint32_t ebb__ledger_victim(ebb__ledger *l, uint64_t need);
/* The same of those that the driver allows, which is asked of few. */
uint32_t ebb__ledger_victim_of(ebb__ledger *l, uint64_t need,
                               bool (*allows)(void *user, const uint32_t *owner), void *user);
/* What a choice needs is made when one is asked for, and kept up from then on; or from now on no
 * more, until one is. */
bool ebb__ledger_is_awake(const ebb__ledger *l);
void ebb__ledger_sleep(ebb__ledger *l);
/* Its bytes were given up: resident, unlocked, no source; or are back: needed, not resident.
 * Inputs of a restored val are gone at once where they were needed for it alone, even locked. */
void ebb__ledger_dropped(ebb__ledger *l, uint32_t val);
void ebb__ledger_restored(ebb__ledger *l, uint32_t val);

/* ---- questions --------------------------------------------------------------------------- */
bool ebb__ledger_is_resident(const ebb__ledger *l, uint32_t val);
bool ebb__ledger_is_source(const ebb__ledger *l, uint32_t val); /* no recipe makes it */
bool ebb__ledger_is_needed(const ebb__ledger *l, uint32_t val); /* has uses */
bool ebb__ledger_can_drop(const ebb__ledger *l,
                          uint32_t val); /* resident, unlocked, no source */
uint64_t ebb__ledger_val_bytes(const ebb__ledger *l, uint32_t val);
double ebb__ledger_own_next(const ebb__ledger *l, uint32_t val); /* as set */
/* What it takes to bring val back if it is dropped now (or back, if it is), in cost: exact up
 * to 256 recipes, a lower bound beyond. */
double ebb__ledger_back(ebb__ledger *l, uint32_t val);
/* Soonest next use: its own, or of a needed dropped val made from it. */
double ebb__ledger_next(ebb__ledger *l, uint32_t val);
/* The order of a rebuild: of the inputs of val's recipe that are not resident, the one whose
 * own rebuild holds the most bytes at once compared with what it leaves (Sethi and Ullman 1970,
 * generalised); EBB__LEDGER_NONE if all are resident. */
uint32_t ebb__ledger_first_missing(ebb__ledger *l, uint32_t val);

/* Compares every cached sum and count with one made from scratch; first fault or NULL. */
const char *ebb__ledger_check(ebb__ledger *l);

#endif
