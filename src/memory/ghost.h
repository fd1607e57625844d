/* ghost.h - a program run under a budget in numbers alone: the ledger's policy, on byte
 * counts.
 *
 * Room is reserved before an operation runs; where it is short, victims are dropped; what a
 * step reads and is away is made again by an explicit work list. Feasibility depends on
 * bytes only, because an arena that slides its blocks together has room if the bytes
 * suffice. SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_GHOST_H
#define EBB_MEMORY_GHOST_H

#include "memory/ledger.h"
#include "memory/program.h"

typedef enum ebb__ghost_end {
    EBB__GHOST_DONE,
    EBB__GHOST_SHORT, /* a step, or a rebuild for it, did not find room */
    EBB__GHOST_LIMIT  /* it costs more than the limit */
} ebb__ghost_end;

/* What is done with a val once the step that reads or makes it at a link has run, before anything
 * is released. */
typedef enum ebb__act {
    /* It is dropped: what it is made from then stays needed. */
    EBB__ACT_DROP = 1,
    /* An input of a step with outputs: it stays needed until the first of these is gone, so
     * that this can be dropped later. */
    EBB__ACT_HOLD = 2
} ebb__act;

/* What a run has done with a val: it was dropped, or made again. after: the step has run. */
typedef struct ebb__ghost_event {
    uint32_t step;
    uint32_t val : 30, again : 1, after : 1;
} ebb__ghost_event;

typedef struct ebb__ghost_options {
    uint64_t budget;    /* bytes; 0: none */
    ebb__policy policy; /* all zero: ebb__policy_next */
    /* Where the axis of next uses is at each step, n_steps + 1, not falling; NULL: time. */
    const double *axis;
    uint32_t known_from;  /* next uses are known from this step on; 0: always */
    const float *weight;  /* of vals, for ebb__ledger_set_weight; NULL: all 1 */
    const uint8_t *early; /* of links: ebb__act bits; NULL: none */
    /* Of vals: the step after which it is made again before anything is released, if it is away
     * and needed; 0: none. NULL: no val. */
    const uint32_t *again;
    double limit; /* most cost in all, in units of the program's; 0: 8 */
    bool moves;   /* the addresses too: moved_bytes, n_moves */
    /* Called with each of n_evictions + n_rebuilt events, in order; NULL: not. */
    void (*happened)(void *user, const ebb__ghost_event *event);
    void *user;
} ebb__ghost_options;

typedef struct ebb__ghost_result {
    ebb__ghost_end end;
    double cost; /* in all, until the end */
    uint64_t peak, short_bytes, moved_bytes, allocated_bytes;
    uint32_t n_evictions, n_rebuilt, n_moves, n_protected; /* steps that used up their fuel */
    uint32_t step;                                         /* where it ended */
} ebb__ghost_result;

/* Errors: E_NOMEM. That the budget does not do is a result. */
ebb_status ebb__ghost_run(ebb__ghost_result *out, const ebb__program *p,
                          const ebb__ghost_options *options);
/* The same bit by bit: what the options point to stays as it is until the end. */
typedef struct ebb__ghost ebb__ghost;
ebb_status ebb__ghost_begin(ebb__ghost **out, const ebb__program *p,
                            const ebb__ghost_options *options);
/* So many steps more; true: that was the last. Errors: E_NOMEM, there is only its close left. */
ebb_status ebb__ghost_go(bool *is_done, ebb__ghost *g, uint32_t steps);
const ebb__ghost_result *ebb__ghost_so_far(const ebb__ghost *g);
void ebb__ghost_close(ebb__ghost *g); /* NULL is ignored */

/* The same by the rules of DTR's simulator, for comparison with what was published: the
 * trace's tensors and views, eviction at the last release, copies for writes, no exact
 * liveness; the victim has the least cost around it over bytes and staleness. Peak and cost
 * as its own. */
ebb_status ebb__ghost_dtr(ebb__ghost_result *out, const ebb__trace *t, uint64_t budget,
                          double limit);

#endif
