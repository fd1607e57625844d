/* account.h - exact bytes of one context, by kind, with the peak; the budget is enforced here.
 *
 * Every charge counts against the context and all its ancestors, or against none of them.
 * used = sum of all kinds but CACHE; used <= budget at every moment. The pool's slabs are
 * charged to the root as BOOKKEEPING, whole; what lies in them and has another kind (tiny
 * values) moves there from BOOKKEEPING, so no byte counts twice.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_ACCOUNT_H
#define EBB_MEMORY_ACCOUNT_H

#include "base/context.h"

typedef struct ebb__account ebb__account;

/* parent may be NULL. Locks are skipped where single_threaded. budget_bytes 0: none. */
ebb_status ebb__account_create(ebb__account **out, const ebb_allocator *allocator,
                               ebb__account *parent, size_t budget_bytes, bool single_threaded);
/* Its children are gone, and everything charged to it, where it has a parent. */
void ebb__account_destroy(ebb__account *a);
/* E_BUDGET (with the report filled: need, budget, need by kind) where it would exceed a budget;
 * then nothing has changed, the peak included. */
ebb_status ebb__account_charge(ebb__account *a, ebb_kind kind, size_t bytes);
/* The same without a failure recorded: for callers that can make room and try again. */
bool ebb__account_try(ebb__account *a, ebb_kind kind, size_t bytes);
void ebb__account_discharge(ebb__account *a, ebb_kind kind, size_t bytes);
/* A charge that came to nothing, as the allocator has refused the bytes: it was no peak either. */
void ebb__account_take_back(ebb__account *a, ebb_kind kind, size_t bytes);
/* Discharges a and its ancestors below `end`, which keeps the bytes (pooled: that lie in a
 * slab; others only where an ancestor has a budget). */
void ebb__account_discharge_below(ebb__account *a, const ebb__account *end, ebb_kind kind,
                                  size_t bytes, bool pooled);
/* Bytes change their kind: never fails. */
void ebb__account_move(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes);
/* Where a root's account counts bytes that lie in a slab: in the parts of its pool, so that
 * threads that make small things do not meet. */
void ebb__account_set_pool(ebb__account *root, ebb__pool *pool);
/* Bytes of `kind` that lie in a slab: out of the root's BOOKKEEPING, charged to accounts below
 * the root. False where one of their budgets refuses. */
bool ebb__account_try_pooled(ebb__account *a, ebb_kind kind, size_t bytes);
void ebb__account_discharge_pooled(ebb__account *a, ebb_kind kind, size_t bytes);
void ebb__account_move_pooled(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes);
/* Bytes held in CACHE: no budget, not in used. */
void ebb__account_cache(ebb__account *a, int64_t delta_bytes);
/* Bytes that may still be charged; SIZE_MAX without a budget. */
size_t ebb__account_free(const ebb__account *a);
/* The account, a or an ancestor, that refuses so many bytes more; NULL: none does. */
const ebb__account *ebb__account_tight(const ebb__account *a, size_t bytes);
/* 0: none. */
size_t ebb__account_budget(const ebb__account *a);
/* Of its budget, under the mutex of the memory that it is charged for: the largest working set of
 * what was run, and what has served for all steps so far. */
typedef struct ebb__budget_notes {
    size_t lower_bound, served;
    size_t seen; /* no working set of what was run can be more */
    uint64_t n_backwards;
} ebb__budget_notes;
ebb__budget_notes *ebb__account_notes(const ebb__account *a);
/* E_BUDGET, nothing charged, where `bytes` more of `kind` would not fit. */
ebb_status ebb__account_check(ebb__account *a, ebb_kind kind, size_t bytes);
/* Records why `bytes` of `kind` were refused: E_BUDGET, with the report. */
ebb_status ebb__account_refuse(const ebb__account *a, ebb_kind kind, size_t bytes);
/* Fills used, peak, budget and bytes by kind; the rest of *out is left alone. */
void ebb__account_stats(ebb_stats *out, const ebb__account *a);
void ebb__account_reset_peak(ebb__account *a);
/* The operation that peaks are attributed to is the one named by ebb__error_op_set. */

/* The thread's last E_BUDGET with figures, for higher layers to complete; message: what its own
 * begins with. */
typedef struct ebb__refusal {
    ebb_budget_report report;
    char message[sizeof((ebb_error *)0)->message];
} ebb__refusal;
ebb__refusal *ebb__refusal_get(void);
/* Its figures are those of the pending failure. */
void ebb__refusal_bind(void);
/* The figures of the pending failure; NULL where it came without. */
const ebb_budget_report *ebb__refusal_pending(void);

#endif
