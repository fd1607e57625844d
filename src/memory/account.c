/* account.c - exact bytes of one context, by kind, with the peak; the budget is enforced here.
 *
 * Invariants: used is the sum of bytes[] but CACHE and of tiny[], and at most budget where there
 * is one; an account's used is at least that of its children together. One account is locked at
 * a time, so a charge walks from the context to the root and goes back on a refusal; peaks are
 * taken only when all have agreed. What lies in a slab is part of the root's BOOKKEEPING in
 * bytes[]; of which kind it is the pool's counters know, and it is shown so. Below the root it
 * is in tiny[].
 *
 * A root without a budget refuses nothing, so its children (`apart`) need not tell it all, and
 * their threads do not meet there: what a child gives back stays counted in the root's used as
 * the child's slack and is charged again from there. The root's used is too high by the slacks
 * together, its bytes[] are its own alone. They are exact where it shows: before a peak is noted
 * the slacks are taken back, and who asks is told the sum over the children.
 * SPDX-License-Identifier: MIT */
#include "memory/account.h"

#include "base/check.h"
#include "base/error.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { N_KINDS = EBB_KIND_CACHE + 1, FIRST_COUNTER = EBB__POOL_COUNTERS / 2 };
_Static_assert(FIRST_COUNTER + N_KINDS < EBB__POOL_COUNTERS, "a counter for each kind");

typedef struct peak {
    size_t used, by_kind[N_KINDS];
    const char *op; /* an operation's name outlives the context */
} peak;

struct ebb__account {
    /* never written: on a line of their own, away from what threads take turns at */
    bool single_threaded, apart;
    ebb__account *parent;
    ebb__pool *pool; /* a root's; NULL: nothing lies in slabs */
    size_t budget;
    ebb_allocator allocator;
    pthread_mutex_t mutex;         /* a root's: the list of those apart, and adding them up */
    _Atomic(ebb__account *) first; /* of them */
    ebb__account *next, **prev;
    _Alignas(64) ebb__lock lock;
    size_t used, slack, bytes[N_KINDS], tiny[N_KINDS];
    peak peak, before; /* as it was before the last charge that has come up to it */
    ebb__budget_notes notes;
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

static void tree_lock(ebb__account *root)
{
    if (!root->single_threaded) pthread_mutex_lock(&root->mutex);
}

static void tree_unlock(ebb__account *root)
{
    if (!root->single_threaded) pthread_mutex_unlock(&root->mutex);
}

static inline bool has_children_apart(const ebb__account *a)
{
    return atomic_load_explicit(&a->first, memory_order_relaxed) != NULL;
}

static void apart_link(ebb__account *root, ebb__account *a)
{
    tree_lock(root);
    a->next = atomic_load_explicit(&root->first, memory_order_relaxed);
    a->prev = NULL;
    if (a->next) a->next->prev = &a->next;
    atomic_store_explicit(&root->first, a, memory_order_relaxed);
    tree_unlock(root);
}

static void apart_unlink(ebb__account *root, ebb__account *a)
{
    tree_lock(root);
    if (a->prev)
        *a->prev = a->next;
    else
        atomic_store_explicit(&root->first, a->next, memory_order_relaxed);
    if (a->next) a->next->prev = a->prev;
    account_lock(root);
    root->used -= a->slack;
    account_unlock(root);
    tree_unlock(root);
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
    ebb__mutex_init(&a->mutex);
    a->apart = parent && !parent->parent && !parent->budget;
    if (a->apart) apart_link(parent, a);
    *out = a;
    return EBB_OK;
}

void ebb__account_destroy(ebb__account *a)
{
    if (!a) return;
    EBB_ASSERT(!a->parent || a->used == 0);
    if (a->apart) apart_unlink(a->parent, a);
    pthread_mutex_destroy(&a->mutex);
    ebb_allocator allocator = a->allocator;
    ebb__free(&allocator, a, sizeof *a);
}

static inline bool fits(const ebb__account *a, size_t bytes)
{
    return !a->budget ? bytes <= SIZE_MAX - a->used : bytes <= a->budget - a->used;
}

/* bytes[] as it is shown, without what children have that are apart. While others count, the
 * sums may not belong together. */
static void bytes_by_kind(size_t *out, const ebb__account *a)
{
    int64_t pooled[N_KINDS];
    for (int k = 0; k < N_KINDS; k++) out[k] = a->bytes[k] + a->tiny[k];
    if (!a->pool) return;
    ebb__pool_counts(pooled, a->pool, FIRST_COUNTER, N_KINDS);
    for (int k = 0; k < N_KINDS; k++) {
        if (pooled[k] < 0 || (size_t)pooled[k] > out[EBB_KIND_BOOKKEEPING]) continue;
        out[EBB_KIND_BOOKKEEPING] -= (size_t)pooled[k];
        out[k] += (size_t)pooled[k];
    }
}

/* Adds to bytes[] what the children that are apart have (their tiny values the root's pool
 * knows) and takes their slack back. The tree is locked. */
static size_t apart_sum(size_t *bytes, ebb__account *root)
{
    size_t slack = 0;
    for (ebb__account *c = atomic_load_explicit(&root->first, memory_order_relaxed); c;
         c = c->next) {
        account_lock(c);
        slack += c->slack;
        c->slack = 0;
        for (int k = 0; k < EBB_KIND_CACHE; k++) bytes[k] += c->bytes[k];
        account_unlock(c);
    }
    return slack;
}

/* The account is locked. apart: what children that are apart have, NULL: none are. */
static inline void peak_note(ebb__account *a, const size_t *apart)
{
    if (a->used < a->peak.used) return;
    a->before = a->peak;
    if (a->used == a->peak.used) return;
    a->peak.used = a->used;
    bytes_by_kind(a->peak.by_kind, a);
    for (int k = 0; apart && k < EBB_KIND_CACHE; k++) a->peak.by_kind[k] += apart[k];
    a->peak.op = ebb__error_op();
}

/* The charge that is about to be taken back is no peak: exact where no other has come meanwhile. */
static void peak_forget(ebb__account *a)
{
    account_lock(a);
    if (a->used == a->peak.used) a->peak = a->before;
    account_unlock(a);
}

/* Makes the root's used exact, and notes a peak if it is one. */
static __attribute__((noinline)) void root_settle(ebb__account *root)
{
    size_t apart[N_KINDS] = {0};
    tree_lock(root);
    size_t slack = apart_sum(apart, root);
    account_lock(root);
    root->used -= slack;
    peak_note(root, apart);
    account_unlock(root);
    tree_unlock(root);
}

/* Where the bytes of a charge lie. */
typedef enum place { IN_BLOCK, IN_SLAB } place;

static inline size_t *counted(ebb__account *a, ebb_kind kind, place where)
{
    return where == IN_SLAB ? &a->tiny[kind] : &a->bytes[kind];
}

/* unheard: set to what the parent has not counted already. is_peak, if not NULL: set where it
 * would be one, instead of noting it. */
static bool add(ebb__account *a, ebb_kind kind, size_t bytes, place where, size_t *unheard,
                bool *is_peak)
{
    bool late = false;
    account_lock(a);
    bool ok = fits(a, bytes);
    if (ok) {
        a->used += bytes;
        *counted(a, kind, where) += bytes;
        if (where == IN_BLOCK && a->slack) {
            size_t again = bytes < a->slack ? bytes : a->slack;
            a->slack -= again;
            *unheard = bytes - again;
        }
        if (is_peak)
            *is_peak |= a->used >= a->peak.used;
        else if (!has_children_apart(a))
            peak_note(a, NULL);
        else
            late = a->used >= a->peak.used;
    }
    account_unlock(a);
    if (late) root_settle(a);
    return ok;
}

/* slack: how much of it the root goes on counting. */
static void take_off(ebb__account *a, ebb_kind kind, size_t bytes, place where, size_t slack)
{
    account_lock(a);
    size_t *of_kind = counted(a, kind, where);
    EBB_ASSERT(*of_kind >= bytes && a->used >= bytes);
    a->used -= bytes;
    *of_kind -= bytes;
    if (a->apart && where == IN_BLOCK) a->slack += slack;
    account_unlock(a);
}

static void swap_kind(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes, place where)
{
    account_lock(a);
    EBB_ASSERT(*counted(a, from, where) >= bytes);
    *counted(a, from, where) -= bytes;
    *counted(a, to, where) += bytes;
    account_unlock(a);
}

/* A root without a budget counts what a child has beyond its slack. */
static bool root_hear(ebb__account *root, size_t bytes)
{
    if (!bytes) return true;
    account_lock(root);
    bool ok = fits(root, bytes);
    if (ok) root->used += bytes;
    bool late = root->used >= root->peak.used;
    account_unlock(root);
    if (late) root_settle(root);
    return ok;
}

/* Charges a and its ancestors below `end`; nothing in slabs to the root. */
static bool try_below(ebb__account *a, const ebb__account *end, ebb_kind kind, size_t bytes,
                      place where)
{
    bool is_peak = false, ok = true;
    size_t unheard = bytes;
    ebb__account *p = a, *apart = NULL;
    for (; p != end && (ok = add(p, kind, bytes, where, &unheard, &is_peak)); p = p->parent) {
        if (!p->apart) continue;
        apart = p;
        end = p->parent;
        ok = where == IN_SLAB || root_hear(p->parent, unheard);
    }
    if (!ok) {
        for (ebb__account *q = a; q != p; q = q->parent)
            take_off(q, kind, bytes, where, q == apart ? bytes - unheard : bytes);
        return false;
    }
    for (p = a; is_peak && p != end; p = p->parent) {
        account_lock(p);
        peak_note(p, NULL);
        account_unlock(p);
    }
    return true;
}

bool ebb__account_try(ebb__account *a, ebb_kind kind, size_t bytes)
{
    EBB_ASSERT(kind < EBB_KIND_CACHE);
    size_t unheard;
    return a->parent ? try_below(a, NULL, kind, bytes, IN_BLOCK)
                     : add(a, kind, bytes, IN_BLOCK, &unheard, NULL);
}

ebb_status ebb__account_charge(ebb__account *a, ebb_kind kind, size_t bytes)
{
    return ebb__account_try(a, kind, bytes) ? EBB_OK : ebb__account_refuse(a, kind, bytes);
}

void ebb__account_discharge(ebb__account *a, ebb_kind kind, size_t bytes)
{
    for (; a; a = a->apart ? NULL : a->parent) take_off(a, kind, bytes, IN_BLOCK, bytes);
}

void ebb__account_take_back(ebb__account *a, ebb_kind kind, size_t bytes)
{
    for (ebb__account *p = a; p; p = p->parent) peak_forget(p);
    ebb__account_discharge(a, kind, bytes);
}

void ebb__account_discharge_below(ebb__account *a, const ebb__account *end, ebb_kind kind,
                                  size_t bytes, bool pooled)
{
    for (; a != end; a = a->parent) {
        EBB_ASSERT(!a->apart || pooled);
        take_off(a, kind, bytes, pooled ? IN_SLAB : IN_BLOCK, bytes);
    }
}

void ebb__account_move(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes)
{
    for (; a; a = a->apart ? NULL : a->parent) swap_kind(a, from, to, bytes, IN_BLOCK);
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
    if (a != root && !try_below(a, root, kind, bytes, IN_SLAB)) return false;
    pooled_count(root, kind, (int64_t)bytes);
    return true;
}

void ebb__account_discharge_pooled(ebb__account *a, ebb_kind kind, size_t bytes)
{
    for (; a->parent; a = a->parent) take_off(a, kind, bytes, IN_SLAB, 0);
    pooled_count(a, kind, -(int64_t)bytes);
}

void ebb__account_move_pooled(ebb__account *a, ebb_kind from, ebb_kind to, size_t bytes)
{
    for (; a->parent; a = a->parent) swap_kind(a, from, to, bytes, IN_SLAB);
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

const ebb__account *ebb__account_tight(const ebb__account *a, size_t bytes)
{
    for (ebb__account *p = unconst(a); p; p = p->parent) {
        account_lock(p);
        bool ok = fits(p, bytes);
        account_unlock(p);
        if (!ok) return p;
    }
    return NULL;
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
    ebb__account *tightest = unconst(a);
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
    size_t held[N_KINDS], budget = tightest->budget;
    account_lock(tightest);
    size_t used = tightest->used;
    bytes_by_kind(held, tightest);
    account_unlock(tightest);
    int largest = 0;
    for (int k = 1; k < EBB_KIND_CACHE; k++)
        if (held[k] > held[largest]) largest = k;

    ebb_budget_report *report = &ebb__refusal_get()->report;
    memset(report, 0, sizeof *report);
    report->needed_bytes = bytes;
    report->budget_bytes = budget;
    report->needed_by_kind[kind] = bytes;
    char most[64] = "";
    if (held[largest])
        snprintf(most, sizeof most, "; most is held as %s (%zu)",
                 ebb_kind_name((ebb_kind)largest), held[largest]);
    ebb_status status =
        budget
            ? ebb__fail(EBB_E_BUDGET,
                        "%zu bytes of kind %s are needed, %zu of the budget of %zu are free%s",
                        bytes, ebb_kind_name(kind), budget - used, budget, most)
            : ebb__fail(EBB_E_BUDGET, "%zu bytes overflow the count of bytes in use", bytes);
    ebb__refusal_bind();
    return status;
}

void ebb__account_stats(ebb_stats *out, const ebb__account *a)
{
    ebb__account *p = unconst(a);
    size_t apart[N_KINDS] = {0};
    tree_lock(p);
    size_t slack = apart_sum(apart, p);
    account_lock(p);
    p->used -= slack;
    out->used_bytes = p->used;
    out->peak_bytes = p->peak.used;
    out->budget_bytes = p->budget;
    memset(out->bytes, 0, sizeof out->bytes);
    memset(out->peak_by_kind, 0, sizeof out->peak_by_kind);
    bytes_by_kind(out->bytes, p);
    for (int k = 0; k < N_KINDS; k++) out->bytes[k] += apart[k];
    memcpy(out->peak_by_kind, p->peak.by_kind, sizeof p->peak.by_kind);
    const char *op = p->peak.op;
    account_unlock(p);
    tree_unlock(p);
    snprintf(out->peak_op, sizeof out->peak_op, "%s", op ? op : "");
}

void ebb__account_reset_peak(ebb__account *a)
{
    size_t apart[N_KINDS] = {0};
    tree_lock(a);
    size_t slack = apart_sum(apart, a);
    account_lock(a);
    a->used -= slack;
    a->peak = (peak){.used = a->used};
    bytes_by_kind(a->peak.by_kind, a);
    for (int k = 0; k < EBB_KIND_CACHE; k++) a->peak.by_kind[k] += apart[k];
    a->before = a->peak;
    account_unlock(a);
    tree_unlock(a);
}

ebb__budget_notes *ebb__account_notes(const ebb__account *a)
{
    return &unconst(a)->notes;
}

ebb__refusal *ebb__refusal_get(void)
{
    static _Thread_local ebb__refusal refusal;
    return &refusal;
}

void ebb__refusal_bind(void)
{
    ebb__refusal *r = ebb__refusal_get();
    snprintf(r->message, sizeof r->message, "%s", ebb_error_message());
}

const ebb_budget_report *ebb__refusal_pending(void)
{
    const ebb__refusal *r = ebb__refusal_get();
    bool is_its = ebb_error_status() == EBB_E_BUDGET && r->message[0] &&
                  strncmp(ebb_error_message(), r->message, strlen(r->message)) == 0;
    return is_its ? &r->report : NULL;
}
