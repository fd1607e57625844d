/* pool.h - small objects of one space (a root context's): nodes, values, records, tiny blocks.
 *
 * Objects of up to EBB__POOL_MAX bytes come from size classes of 16 bytes in 64 KiB slabs that
 * the `more` callback supplies (so they are charged to a budget); each thread allocates and
 * frees in a part of its own without atomics, parts exchange batches of objects under a lock.
 * Destroying the pool gives all slabs back, live objects included. With `single_threaded` there
 * is one part.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_POOL_H
#define EBB_BASE_POOL_H

#include "base/lock.h"
#include "base/thread.h"

#include <stddef.h>

enum { EBB__POOL_MAX = 1024, EBB__SLAB_BYTES = 64 << 10, EBB__POOL_COUNTERS = 32 };

/* The head of a pool; the rest is pool.c's. */
typedef struct ebb__pool {
    uint64_t id;
    struct ebb__pool_part *only; /* of a single-threaded pool */
} ebb__pool;
/* Slabs are EBB__SLAB_BYTES, 4096-aligned; more returns NULL where refused (it has recorded
 * why). more may be called from any thread that allocates, without locks of the pool held. */
typedef struct ebb__pool_source {
    void *(*more)(void *user);
    void (*less)(void *user, void *slab);
    void *user;
} ebb__pool_source;

/* NULL where memory was refused. */
ebb__pool *ebb__pool_create(const ebb__pool_source *source, bool single_threaded);
void ebb__pool_destroy(ebb__pool *pool);
/* 16-byte aligned, 64-byte aligned where bytes is a multiple of 64; not zeroed; 0 < bytes <=
 * EBB__POOL_MAX. NULL where `more` refused. */
void *ebb__pool_alloc(ebb__pool *pool, size_t bytes);
/* From any thread; bytes as allocated. */
void ebb__pool_free(ebb__pool *pool, void *p, size_t bytes);
/* Sums over all threads, exact when no call is in progress. */
typedef struct ebb__pool_stats {
    size_t object_bytes, slab_bytes, n_objects;
} ebb__pool_stats;
void ebb__pool_stats_get(ebb__pool_stats *out, const ebb__pool *pool);

/* ---- the calling thread's part ------------------------------------------------------------
 *
 * A caller that does several things at once looks its part up once. The part stays the thread's
 * until the thread ends or the pool goes. Never NULL: where memory for another part is refused,
 * threads share a last one whose use is locked. */
enum {
    EBB__POOL_GRAIN = 16,
    EBB__POOL_SIZES = EBB__POOL_MAX / EBB__POOL_GRAIN + 1,
    EBB__POOL_CLASSES = 2 * EBB__POOL_SIZES /* listed objects have the upper half */
};
typedef struct ebb__pool_object {
    struct ebb__pool_object *next;
    struct ebb__pool_object *next_batch; /* in the first of a batch */
} ebb__pool_object;
typedef struct ebb__pool_list {
    ebb__pool_object *first;
    uint32_t n, most;   /* free here; above `most` a batch goes to the pool */
    atomic_llong n_out; /* given out minus taken back by this part */
} ebb__pool_list;
typedef struct ebb__pool_part {
    ebb__lock *lock; /* NULL but in the shared part */
    uint32_t number; /* of the parts from 0; the shared one's is 0 too */
    atomic_llong count[EBB__POOL_COUNTERS];
    ebb__pool_list list[EBB__POOL_CLASSES];
} ebb__pool_part;

ebb__pool_part *ebb__pool_part_find(ebb__pool *pool);
static inline ebb__pool_part *ebb__pool_part_get(ebb__pool *pool)
{
    if (pool->only) return pool->only;
    const ebb__thread_memo *memo = &ebb__thread_memos[pool->id % EBB__THREAD_MEMO];
    return memo->key == pool->id ? memo->value : ebb__pool_part_find(pool);
}
/* The slow ways: the part is shared, its list empty or full. */
void *ebb__pool_part_alloc_slow(ebb__pool_part *part, unsigned klass);
void ebb__pool_part_free_slow(ebb__pool_part *part, void *p, unsigned klass);

/* Only the owner writes: a plain add, readable from elsewhere. */
static inline void ebb__pool_add(atomic_llong *c, long long delta)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + delta,
                          memory_order_relaxed);
}
static inline unsigned ebb__pool_class(size_t bytes)
{
    return (unsigned)((bytes + EBB__POOL_GRAIN - 1) / EBB__POOL_GRAIN);
}
/* The bytes that an object of so many takes. */
static inline size_t ebb__pool_rounded(size_t bytes)
{
    return (size_t)ebb__pool_class(bytes) * EBB__POOL_GRAIN;
}
static inline void *ebb__pool_class_alloc(ebb__pool_part *part, unsigned klass)
{
    ebb__pool_list *list = &part->list[klass];
    ebb__pool_object *o = list->first;
    if (part->lock || !o) return ebb__pool_part_alloc_slow(part, klass);
    ebb__pool_object *next = o->next;
    /* Filling an object whose lines are on their way costs a third less. */
    __builtin_prefetch(next, 1);
    __builtin_prefetch((const char *)next + 64, 1);
    list->first = next;
    list->n--;
    ebb__pool_add(&list->n_out, 1);
    return o;
}
static inline void ebb__pool_class_free(ebb__pool_part *part, void *p, unsigned klass)
{
    ebb__pool_list *list = &part->list[klass];
    if (part->lock || list->n >= list->most) {
        ebb__pool_part_free_slow(part, p, klass);
        return;
    }
    ebb__pool_object *o = p;
    o->next = list->first;
    list->first = o;
    list->n++;
    ebb__pool_add(&list->n_out, -1);
}
static inline void *ebb__pool_part_alloc(ebb__pool_part *part, size_t bytes)
{
    return ebb__pool_class_alloc(part, ebb__pool_class(bytes));
}
static inline void ebb__pool_part_free(ebb__pool_part *part, void *p, size_t bytes)
{
    ebb__pool_class_free(part, p, ebb__pool_class(bytes));
}

/* Counters of whoever owns the pool, summed over the parts on reading. slot <
 * EBB__POOL_COUNTERS */
int64_t ebb__pool_count(const ebb__pool *pool, unsigned slot);
/* n counters from slot `first` on. */
void ebb__pool_counts(int64_t *out, const ebb__pool *pool, unsigned first, unsigned n);
static inline void ebb__pool_part_count(ebb__pool_part *part, unsigned slot, int64_t delta)
{
    atomic_llong *c = &part->count[slot];
    if (part->lock) {
        atomic_fetch_add_explicit(c, delta, memory_order_relaxed);
        return;
    }
    ebb__pool_add(c, delta);
}

/* ---- listed objects -----------------------------------------------------------------------
 *
 * Objects that can be found again by a walk over the slabs. They lie in slabs of their own,
 * keep everything from their byte 16 on when freed, and are zero there before their first use,
 * so their owner can tell live ones by a field there. bytes >= 32. */
static inline void *ebb__pool_part_alloc_listed(ebb__pool_part *part, size_t bytes)
{
    return ebb__pool_class_alloc(part, EBB__POOL_SIZES + ebb__pool_class(bytes));
}
static inline void ebb__pool_part_free_listed(ebb__pool_part *part, void *p, size_t bytes)
{
    ebb__pool_class_free(part, p, EBB__POOL_SIZES + ebb__pool_class(bytes));
}
/* Calls `each` for every listed object, live or not, while no other call is in progress; `each`
 * may free listed objects of the pool. */
void ebb__pool_each_listed(ebb__pool *pool, void (*each)(void *user, void *object), void *user);

#endif
