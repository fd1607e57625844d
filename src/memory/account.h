/* account.h - exact bytes of one context, by kind, with the peak; the budget is enforced here.
 *
 * Every charge counts against the context and all its ancestors, or against none of them.
 * used = sum of all kinds but CACHE; used <= budget at every moment.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_ACCOUNT_H
#define EBB_MEMORY_ACCOUNT_H

#include "base/context.h"

typedef struct ebb__account ebb__account;

/* parent may be NULL. Locks are skipped where single_threaded. */
ebb_status ebb__account_create(ebb__account **out, const ebb_allocator *allocator,
                               ebb__account *parent, size_t budget_bytes, bool single_threaded);
void ebb__account_destroy(ebb__account *a);
/* E_BUDGET (with the report filled: need, budget, need by kind) where it would exceed a budget. */
ebb_status ebb__account_charge(ebb__account *a, ebb_kind kind, size_t bytes);
void ebb__account_discharge(ebb__account *a, ebb_kind kind, size_t bytes);
/* Bytes change their kind: never fails. */
void ebb__account_move(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes);
/* Bytes held in CACHE: no budget, not in used. */
void ebb__account_cache(ebb__account *a, int64_t delta_bytes);
/* Bytes that may still be charged; SIZE_MAX without a budget. */
size_t ebb__account_free(const ebb__account *a);
/* E_BUDGET, nothing charged, where `bytes` more of `kind` would not fit. */
ebb_status ebb__account_check(ebb__account *a, ebb_kind kind, size_t bytes);
void ebb__account_stats(ebb_stats *out, const ebb__account *a);
void ebb__account_reset_peak(ebb__account *a);
/* The operation that peaks are attributed to is the one named by ebb__error_op_set. */

/* The thread's report of its last E_BUDGET, for higher layers to complete. */
ebb_budget_report *ebb__budget_report(void);

#endif
