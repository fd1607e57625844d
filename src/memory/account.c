/* account.c - exact bytes of one context, by kind, with the peak; the budget is enforced here.
 *
 * Invariants: used is the sum of bytes[] but CACHE, and at most budget where there is one; an
 * account's used is at least that of its children together. One account is locked at a time, so
 * a charge walks from the context to the root and goes back on a refusal; peaks are taken only
 * when all have agreed. What lies in a slab is part of the root's BOOKKEEPING in bytes[]; of
 * which kind it is the pool's counters know, and it is shown so.
 * SPDX-License-Identifier: MIT */
#include "memory/account.h"

#include "base/check.h"
#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { N_KINDS = EBB_KIND_CACHE + 1, FIRST_COUNTER = EBB__POOL_COUNTERS / 2 };
_Static_assert(FIRST_COUNTER + N_KINDS < EBB__POOL_COUNTERS, "a counter for each kind");

struct ebb__account {
    /* never written: on a line of their own, away from what threads take turns at */
    bool single_threaded;
    ebb__account *parent;
    ebb__pool *pool; /* a root's; NULL: nothing lies in slabs */
    size_t budget;
    ebb_allocator allocator;
    _Alignas(64) ebb__lock lock;
    size_t used, peak, bytes[N_KINDS];
    size_t peak_by_kind[N_KINDS];
    const char *peak_op; /* an operation's name outlives the context */
};

const char *ebb_kind_name(ebb_kind k)
{
    switch (k) {
#define X(name, value, text)                                                                   \
    case EBB_KIND_##name:                                                                      \
        return text;
        EBB_KIND_MAP(X)
#undef X
    }
    return "not an ebb_kind";
}

static inline void account_lock(ebb__account *a)
{
    if (!a->single_threaded) ebb__lock_take(&a->lock);
}

static inline void account_unlock(ebb__account *a)
{
    if (!a->single_threaded) ebb__lock_give(&a->lock);
}

ebb_status ebb__account_create(ebb__account **out, const ebb_allocator *allocator,
                               ebb__account *parent, size_t budget_bytes, bool single_threaded)
{
    ebb__account *a = ebb__alloc(allocator, sizeof *a, 64);
    if (!a)
        return ebb__fail(EBB_E_NOMEM, "the allocator refused %zu bytes for a context",
                         sizeof *a);
    memset(a, 0, sizeof *a);
    a->single_threaded = single_threaded;
    a->parent = parent;
    a->budget = budget_bytes;
    a->allocator = *allocator;
    *out = a;
    return EBB_OK;
}

void ebb__account_destroy(ebb__account *a)
{
    if (!a) return;
    EBB_ASSERT(!a->parent || a->used == 0);
    ebb_allocator allocator = a->allocator;
    ebb__free(&allocator, a, sizeof *a);
}

static inline bool fits(const ebb__account *a, size_t bytes)
{
    return !a->budget ? bytes <= SIZE_MAX - a->used : bytes <= a->budget - a->used;
}

/* bytes[] as it is shown. While others count, the sums may not belong together. */
static void bytes_by_kind(size_t *out, const ebb__account *a)
{
    int64_t pooled[N_KINDS];
    memcpy(out, a->bytes, sizeof a->bytes);
    if (!a->pool) return;
    ebb__pool_counts(pooled, a->pool, FIRST_COUNTER, N_KINDS);
    for (int k = 0; k < N_KINDS; k++) {
        if (pooled[k] < 0 || (size_t)pooled[k] > out[EBB_KIND_BOOKKEEPING]) continue;
        out[EBB_KIND_BOOKKEEPING] -= (size_t)pooled[k];
        out[k] += (size_t)pooled[k];
    }
}

/* The account is locked. */
static inline void peak_note(ebb__account *a)
{
    if (a->used <= a->peak) return;
    a->peak = a->used;
    bytes_by_kind(a->peak_by_kind, a);
    a->peak_op = ebb__error_op();
}

/* is_peak, if not NULL: set where it would be one, instead of noting it. */
static bool add(ebb__account *a, ebb_kind kind, size_t bytes, bool *is_peak)
{
    account_lock(a);
    bool ok = fits(a, bytes);
    if (ok) {
        a->used += bytes;
        a->bytes[kind] += bytes;
        if (!is_peak)
            peak_note(a);
        else if (a->used > a->peak)
            *is_peak = true;
    }
    account_unlock(a);
    return ok;
}

static void take_off(ebb__account *a, ebb_kind kind, size_t bytes)
{
    account_lock(a);
    EBB_ASSERT(a->bytes[kind] >= bytes && a->used >= bytes);
    a->used -= bytes;
    a->bytes[kind] -= bytes;
    account_unlock(a);
}

static void swap_kind(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes)
{
    account_lock(a);
    EBB_ASSERT(a->bytes[from] >= bytes);
    a->bytes[from] -= bytes;
    a->bytes[to] += bytes;
    account_unlock(a);
}

/* Charges a and its ancestors below `end`. */
static bool try_below(ebb__account *a, const ebb__account *end, ebb_kind kind, size_t bytes)
{
    bool is_peak = false;
    for (ebb__account *p = a; p != end; p = p->parent) {
        if (add(p, kind, bytes, &is_peak)) continue;
        for (ebb__account *q = a; q != p; q = q->parent) take_off(q, kind, bytes);
        return false;
    }
    for (ebb__account *p = a; is_peak && p != end; p = p->parent) {
        account_lock(p);
        peak_note(p);
        account_unlock(p);
    }
    return true;
}

bool ebb__account_try(ebb__account *a, ebb_kind kind, size_t bytes)
{
    EBB_ASSERT(kind < EBB_KIND_CACHE);
    return a->parent ? try_below(a, NULL, kind, bytes) : add(a, kind, bytes, NULL);
}

ebb_status ebb__account_charge(ebb__account *a, ebb_kind kind, size_t bytes)
{
    return ebb__account_try(a, kind, bytes) ? EBB_OK : ebb__account_refuse(a, kind, bytes);
}

void ebb__account_discharge(ebb__account *a, ebb_kind kind, size_t bytes)
{
    ebb__account_discharge_below(a, NULL, kind, bytes);
}

void ebb__account_discharge_below(ebb__account *a, const ebb__account *end, ebb_kind kind,
                                  size_t bytes)
{
    for (; a != end; a = a->parent) take_off(a, kind, bytes);
}

void ebb__account_move(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes)
{
    for (; a; a = a->parent) swap_kind(a, from, to, bytes);
}

static ebb__account *root_of(ebb__account *a)
{
    while (a->parent) a = a->parent;
    return a;
}

void ebb__account_set_pool(ebb__account *root, ebb__pool *pool)
{
    root->pool = pool;
}

static inline void pooled_count(const ebb__account *root, ebb_kind kind, int64_t bytes)
{
    ebb__pool_part_count(ebb__pool_part_get(root->pool), FIRST_COUNTER + kind, bytes);
}

bool ebb__account_try_pooled(ebb__account *a, ebb_kind kind, size_t bytes)
{
    ebb__account *root = root_of(a);
    if (a != root && !try_below(a, root, kind, bytes)) return false;
    pooled_count(root, kind, (int64_t)bytes);
    return true;
}

void ebb__account_discharge_pooled(ebb__account *a, ebb_kind kind, size_t bytes)
{
    for (; a->parent; a = a->parent) take_off(a, kind, bytes);
    pooled_count(a, kind, -(int64_t)bytes);
}

void ebb__account_move_pooled(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes)
{
    for (; a->parent; a = a->parent) swap_kind(a, from, to, bytes);
    pooled_count(a, from, -(int64_t)bytes);
    pooled_count(a, to, (int64_t)bytes);
}

void ebb__account_cache(ebb__account *a, int64_t delta_bytes)
{
    for (; a; a = a->parent) {
        account_lock(a);
        a->bytes[EBB_KIND_CACHE] += (size_t)delta_bytes; /* wraps back for negative ones */
        account_unlock(a);
    }
}

/* A lock is no part of an account's value. */
static ebb__account *unconst(const ebb__account *a)
{
    return (ebb__account *)(uintptr_t)a;
}

size_t ebb__account_free(const ebb__account *a)
{
    size_t least = SIZE_MAX;
    for (ebb__account *p = unconst(a); p; p = p->parent) {
        account_lock(p);
        size_t left = p->budget ? p->budget - p->used : SIZE_MAX;
        account_unlock(p);
        if (left < least) least = left;
    }
    return least;
}

size_t ebb__account_budget(const ebb__account *a)
{
    return a->budget;
}

ebb_status ebb__account_check(ebb__account *a, ebb_kind kind, size_t bytes)
{
    return bytes <= ebb__account_free(a) ? EBB_OK : ebb__account_refuse(a, kind, bytes);
}

ebb_status ebb__account_refuse(const ebb__account *a, ebb_kind kind, size_t bytes)
{
    ebb__account *tightest = unconst(a), copy;
    size_t least = SIZE_MAX;
    for (ebb__account *p = unconst(a); p; p = p->parent) {
        account_lock(p);
        size_t left = p->budget ? p->budget - p->used : SIZE_MAX;
        account_unlock(p);
        if (left < least) {
            least = left;
            tightest = p;
        }
    }
    account_lock(tightest);
    copy = *tightest;
    bytes_by_kind(copy.bytes, tightest);
    account_unlock(tightest);
    int largest = 0;
    for (int k = 1; k < EBB_KIND_CACHE; k++)
        if (copy.bytes[k] > copy.bytes[largest]) largest = k;

    ebb_budget_report *report = ebb__budget_report();
    memset(report, 0, sizeof *report);
    report->needed_bytes = bytes;
    report->budget_bytes = copy.budget;
    report->needed_by_kind[kind] = bytes;
    if (!copy.budget)
        return ebb__fail(EBB_E_BUDGET, "%zu bytes overflow the count of bytes in use", bytes);
    return ebb__fail(EBB_E_BUDGET,
                     "%zu bytes of kind %s are needed, %zu of the budget of %zu are free; most "
                     "is held as %s (%zu)",
                     bytes, ebb_kind_name(kind), copy.budget - copy.used, copy.budget,
                     ebb_kind_name((ebb_kind)largest), copy.bytes[largest]);
}

void ebb__account_stats(ebb_stats *out, const ebb__account *a)
{
    ebb__account *p = unconst(a);
    account_lock(p);
    out->used_bytes = p->used;
    out->peak_bytes = p->peak;
    out->budget_bytes = p->budget;
    memset(out->bytes, 0, sizeof out->bytes);
    memset(out->peak_by_kind, 0, sizeof out->peak_by_kind);
    bytes_by_kind(out->bytes, p);
    memcpy(out->peak_by_kind, p->peak_by_kind, sizeof p->peak_by_kind);
    const char *op = p->peak_op;
    account_unlock(p);
    snprintf(out->peak_op, sizeof out->peak_op, "%s", op ? op : "");
}

void ebb__account_reset_peak(ebb__account *a)
{
    account_lock(a);
    a->peak = a->used;
    bytes_by_kind(a->peak_by_kind, a);
    a->peak_op = NULL;
    account_unlock(a);
}

ebb_budget_report *ebb__budget_report(void)
{
    static _Thread_local ebb_budget_report report;
    return &report;
}
