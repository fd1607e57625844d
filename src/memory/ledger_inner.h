/* ledger_inner.h - inside the ledger: its tables, and what its parts call of each
 * other.
 *
 * ledger.c keeps the program and who needs what; ledger_score.c keeps what a choice needs:
 * candidates, sums over vals that are not resident, soonest next uses; ledger_choice.c makes it. These
 * sleeps (awake == false) until the first victim is asked for, and is then made from
 * scratch, so that a program without pressure pays for the first half alone.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_LEDGER_INNER_H
#define EBB_MEMORY_LEDGER_INNER_H

#include "base/check.h"
#include "base/error.h"
#include "memory/ledger.h"

enum { NONE = EBB__LEDGER_NONE };

typedef enum ledger_state {
    VAL_FREE,     /* the number is not in use; readers links the free list */
    VAL_RESIDENT, /* has bytes */
    VAL_AWAY      /* has none; needed where it has uses */
} ledger_state;

typedef struct ledger_val {
    uint64_t bytes;
    uint32_t *owner; /* the driver's: its number, NONE once it is dead; NULL: not wanted */
    double last;     /* time of last use */
    double next;     /* own next use */
    double soonest;  /* awake: also of needed vals away made from it */
    float weight;
    uint32_t uses;
    uint32_t rec;     /* NONE: a source */
    uint32_t readers; /* first link of recs that read it; NONE */
    uint32_t slot;    /* awake: as a candidate; NONE */
    uint32_t mark, work, chain;
    float label; /* of first_missing */
    float back;  /* awake, of a candidate: what it takes; where stale at least */
    uint16_t locks;
    uint8_t state, group;
    bool queued;  /* its uses have reached 0, which has yet to take effect */
    bool chained; /* in a list through chain */
    bool stale;   /* as a candidate: its gain is to be made anew before it is chosen */
    bool listed;  /* it is in the short list; maybe no candidate any more */
    bool
        passed[2]; /* all candidates that a walk downwards, upwards from here finds are stale */
} ledger_val;

typedef struct ledger_rec {
    double cost;
    uint32_t first;       /* link: n_in inputs, then n_out outputs; a free rec's next */
    uint32_t n_in, n_out; /* n_out counts NONEs too */
    uint32_t n_alive;     /* outputs alive */
    uint32_t mark;
    uint8_t size_class; /* of its links: 1 << size_class of them */
} ledger_rec;

typedef struct ledger_link {
    uint32_t val, rec;
    uint32_t next, prev; /* among the readers of val; of a free block: next */
} ledger_link;

/* Candidates that may be the best, from one choice to the next. Of those that are not in it none comes
 * to have a larger |key| than `rest` before `now` is past `until`, as long as `at` does not go back. */
enum { SHORT_MAX = 192 };
typedef struct ledger_short {
    bool is_valid; /* else all are to be looked at */
    uint32_t n;
    double rest, until, at;
    double part; /* of the best key: what has more is listed */
    uint32_t val[SHORT_MAX];
} ledger_short;

struct ebb__ledger {
    ebb_allocator allocator;
    size_t bytes; /* of everything allocated, itself included */
    ebb__policy policy;
    double now, at;
    uint64_t resident_bytes, droppable_bytes, free_bytes[EBB__LEDGER_GROUPS];

    ledger_val *vals;
    ledger_rec *recs;
    ledger_link *links;
    uint32_t vals_max, recs_max, links_max; /* room */
    uint32_t vals_end, recs_end, links_end; /* never used from here on */
    uint32_t free_val, free_rec, free_links[32];
    uint32_t n_free_vals, n_free_recs, n_links; /* links: taken */

    bool awake;
    uint32_t stamp; /* of the present walk */
    uint32_t n_candidates;
    /* Of candidates, by slot. */
    uint32_t *slot_val;
    float *slot_gain;   /* weight * bytes^p / back^p, at most; negative where locked or stale */
    double *slot_coord; /* >= 0: soonest next use; else -1 - last use */
    ledger_short likely;
};

static inline bool is_away(const ledger_val *v)
{
    return v->state == VAL_AWAY;
}
static inline bool is_held(const ledger_val *v)
{
    return v->locks || v->group == EBB__LEDGER_KEPT;
}
static inline bool is_droppable(const ledger_val *v)
{
    return v->state == VAL_RESIDENT && v->rec != NONE;
}

/* x^power for the powers a policy may have. */
static inline double ebb__ledger_power(double x, float p)
{
    if (p == 1) return x;
    if (p == 0) return 1;
    if (p == 0.5f) return sqrt(x);
    if (p == 2) return x * x;
    return p == 0.25f ? sqrt(sqrt(x)) : pow(x, (double)p);
}

/* The candidate's key may have grown. */
static inline void ebb__ledger_list(ebb__ledger *l, uint32_t val)
{
    ledger_short *s = &l->likely;
    if (!s->is_valid || l->vals[val].listed) return;
    s->is_valid = s->n < SHORT_MAX;
    if (!s->is_valid) return;
    l->vals[val].listed = true;
    s->val[s->n++] = val;
}

/* ---- ledger_room.c ------------------------------------------------------------------------ */
uint8_t ebb__ledger_links_class(uint32_t n);

/* ---- ledger_score.c; all but wake are called while awake --------------------------------- */
void ebb__ledger_wake(ebb__ledger *l);
uint32_t ebb__ledger_stamp(ebb__ledger *l); /* a mark that nothing has yet; asleep too */
void ebb__ledger_candidate_add(ebb__ledger *l, uint32_t val);
void ebb__ledger_candidate_remove(ebb__ledger *l, uint32_t val);
void ebb__ledger_candidate_lock(ebb__ledger *l, uint32_t val);
void ebb__ledger_candidate_coord(ebb__ledger *l, uint32_t val);
void ebb__ledger_candidate_renew(ebb__ledger *l, uint32_t val); /* its gain is made anew */
void ebb__ledger_candidate_reset(ebb__ledger *l, uint32_t val); /* it may be any */
/* val changed between resident and away: sums over what is above candidates below it are
 * stale; val, away, came to be needed or not, or went or came needed: sums over what is
 * below candidates above it are. They have fallen by `less` at most; 0: they have not. */
void ebb__ledger_stale_below(ebb__ledger *l, uint32_t val, double less);
void ebb__ledger_stale_above(ebb__ledger *l, uint32_t val, double less);
bool ebb__ledger_is_passed_on(const ledger_val *v);
/* val, away, came to be needed, or went away needed: its inputs may be needed sooner. */
void ebb__ledger_sooner(ebb__ledger *l, uint32_t val);
/* val, away, is no longer needed or is back: its inputs may be needed later. */
void ebb__ledger_later(ebb__ledger *l, uint32_t val);
/* The soonest use of val itself must be made anew. */
void ebb__ledger_soonest(ebb__ledger *l, uint32_t val);
double ebb__ledger_soonest_from_scratch(const ebb__ledger *l, uint32_t val);
float ebb__ledger_gain_from_scratch(ebb__ledger *l, uint32_t val);

#endif
