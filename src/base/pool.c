/* pool.c - size classes over slabs, with a part of free lists and counters for each thread.
 *
 * A slab is 16 pages; each page holds objects of one class. Page 0 begins with the slab's
 * header, and in the first slab with the pool itself. Parts are ordinary objects of the pool.
 * Invariants: a free object is in exactly one list: a part's, or a batch in the pool's `spare`.
 * A part is touched only by the thread whose token it holds; by another only after that token
 * has died, which `lock` orders. The last part (`common`) serves threads that could get none,
 * under common_lock. Lock order: common_lock, then lock. SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include "base/check.h"
#include "base/thread.h"

#include <string.h>

enum {
    GRAIN = 16,
    N_SIZES = EBB__POOL_MAX / GRAIN + 1,
    N_CLASSES = 2 * N_SIZES, /* listed objects have the upper half */
    PAGE_BYTES = 4096,
    N_PAGES = EBB__SLAB_BYTES / PAGE_BYTES,
    BATCH = 64,
    HEADER_BYTES = 64
};

typedef struct object {
    struct object *next;
    struct object *next_batch; /* in the first of a batch */
} object;

typedef struct slab {
    struct slab *next;
    uint32_t n_pages;       /* given out */
    uint8_t klass[N_PAGES]; /* of a page given out */
} slab;
_Static_assert(sizeof(slab) <= HEADER_BYTES, "the header fits before the first object");
_Static_assert(N_CLASSES <= 256, "a class fits a byte");

typedef struct free_list {
    object *first;
    uint32_t n; /* less than 2 * BATCH between calls, but for a fresh page of tiny objects */
} free_list;

typedef struct part {
    ebb__pool_part head; /* first: what callers see */
    ebb__pool *pool;
    struct part *next;
    ebb__thread_token *owner; /* NULL in the common part and in a single-threaded pool */
    atomic_llong n_objects, object_bytes;
    free_list list[N_CLASSES];
} part;

struct ebb__pool {
    uint64_t id;
    bool single_threaded;
    ebb__lock lock, common_lock;
    ebb__pool_source source;
    slab *open, *full; /* with pages left, without */
    size_t n_slabs;
    part *parts;
    object *spare[N_CLASSES]; /* batches */
    part common;
};
_Static_assert(HEADER_BYTES + sizeof(ebb__pool) <= PAGE_BYTES, "the pool fits its first page");

static inline unsigned class_of(size_t bytes)
{
    return (unsigned)((bytes + GRAIN - 1) / GRAIN);
}

static inline size_t class_bytes(unsigned klass)
{
    return (size_t)(klass % N_SIZES) * GRAIN;
}

/* Only the owner writes: a plain add, made readable from elsewhere. */
static inline void count_add(atomic_llong *c, long long delta)
{
    atomic_store_explicit(c, atomic_load_explicit(c, memory_order_relaxed) + delta,
                          memory_order_relaxed);
}

static char *page_objects(slab *s, uint32_t page)
{
    return (char *)s + (size_t)page * PAGE_BYTES + (page == 0 ? HEADER_BYTES : 0);
}

static size_t page_n(uint32_t page, unsigned klass)
{
    return (PAGE_BYTES - (page == 0 ? (size_t)HEADER_BYTES : 0)) / class_bytes(klass);
}

/* A page for the class, NULL where the source refuses. */
static char *page_take(ebb__pool *pool, unsigned klass, size_t *n)
{
    slab *fresh = NULL;
    for (;;) {
        char *objects = NULL;
        ebb__lock_take(&pool->lock);
        if (fresh) {
            fresh->next = pool->open;
            pool->open = fresh;
            pool->n_slabs++;
        }
        slab *s = pool->open;
        if (s) {
            *n = page_n(s->n_pages, klass);
            objects = page_objects(s, s->n_pages);
            s->klass[s->n_pages++] = (uint8_t)klass;
            if (s->n_pages == N_PAGES) {
                pool->open = s->next;
                s->next = pool->full;
                pool->full = s;
            }
        }
        ebb__lock_give(&pool->lock);
        if (objects) return objects;
        fresh = pool->source.more(pool->source.user);
        if (!fresh) return NULL;
        memset(fresh, 0, sizeof *fresh);
    }
}

static inline void part_lock(part *own)
{
    if (own->head.lock) ebb__lock_take(own->head.lock);
}

static inline void part_unlock(part *own)
{
    if (own->head.lock) ebb__lock_give(own->head.lock);
}

/* Called with the part locked, as it is again afterwards; unlocked while the source is asked.
 */
static __attribute__((noinline)) bool refill(part *own, unsigned klass)
{
    ebb__pool *pool = own->pool;
    free_list *list = &own->list[klass];
    ebb__lock_take(&pool->lock);
    object *batch = pool->spare[klass];
    if (batch) pool->spare[klass] = batch->next_batch;
    ebb__lock_give(&pool->lock);
    if (batch) {
        list->first = batch;
        list->n = BATCH;
        return true;
    }
    part_unlock(own);
    size_t n = 0, bytes = class_bytes(klass);
    char *objects = page_take(pool, klass, &n);
    if (objects && klass >= N_SIZES) memset(objects, 0, n * bytes);
    part_lock(own);
    if (!objects) return false;
    for (size_t i = n; i-- > 0;) {
        object *o = (object *)(objects + i * bytes);
        o->next = list->first;
        list->first = o;
    }
    list->n += (uint32_t)n;
    return true;
}

/* The newest objects stay, warm in the cache; the BATCH after them go to whoever needs them. */
static __attribute__((noinline)) void give_batch(part *own, unsigned klass)
{
    ebb__pool *pool = own->pool;
    free_list *list = &own->list[klass];
    object *stay = list->first;
    for (int i = 1; i < BATCH; i++) stay = stay->next;
    object *batch = stay->next, *last = batch;
    for (int i = 1; i < BATCH; i++) last = last->next;
    stay->next = last->next;
    last->next = NULL;
    list->n -= BATCH;
    ebb__lock_take(&pool->lock);
    batch->next_batch = pool->spare[klass];
    pool->spare[klass] = batch;
    ebb__lock_give(&pool->lock);
}

static inline void *class_alloc(part *own, unsigned klass)
{
    part_lock(own);
    free_list *list = &own->list[klass];
    object *o = NULL;
    if (list->first || refill(own, klass)) {
        o = list->first;
        list->first = o->next;
        list->n--;
        count_add(&own->n_objects, 1);
        count_add(&own->object_bytes, (long long)class_bytes(klass));
    }
    part_unlock(own);
    return o;
}

static inline void class_free(part *own, void *p, unsigned klass)
{
    part_lock(own);
    free_list *list = &own->list[klass];
    object *o = p;
    o->next = list->first;
    list->first = o;
    if (++list->n >= 2 * BATCH) give_batch(own, klass);
    count_add(&own->n_objects, -1);
    count_add(&own->object_bytes, -(long long)class_bytes(klass));
    part_unlock(own);
}

void *ebb__pool_part_alloc(ebb__pool_part *head, size_t bytes)
{
    EBB_ASSERT(bytes > 0 && bytes <= EBB__POOL_MAX);
    return class_alloc((part *)head, class_of(bytes));
}

void ebb__pool_part_free(ebb__pool_part *head, void *p, size_t bytes)
{
    class_free((part *)head, p, class_of(bytes));
}

void *ebb__pool_part_alloc_listed(ebb__pool_part *head, size_t bytes)
{
    EBB_ASSERT(bytes >= 2 * GRAIN && bytes <= EBB__POOL_MAX);
    return class_alloc((part *)head, N_SIZES + class_of(bytes));
}

void ebb__pool_part_free_listed(ebb__pool_part *head, void *p, size_t bytes)
{
    class_free((part *)head, p, N_SIZES + class_of(bytes));
}

void *ebb__pool_alloc(ebb__pool *pool, size_t bytes)
{
    return ebb__pool_part_alloc(ebb__pool_part_get(pool), bytes);
}

void ebb__pool_free(ebb__pool *pool, void *p, size_t bytes)
{
    ebb__pool_part_free(ebb__pool_part_get(pool), p, bytes);
}

/* The part of an ended thread becomes the calling one's, with all it holds. */
static part *part_adopt(ebb__pool *pool, ebb__thread_token *self)
{
    part *own;
    ebb__thread_token *before = NULL;
    ebb__lock_take(&pool->lock);
    for (own = pool->parts; own; own = own->next) {
        if (own->owner == self) break;
        if (!atomic_load_explicit(&own->owner->alive, memory_order_acquire)) {
            before = own->owner;
            own->owner = ebb__thread_token_keep(self);
            break;
        }
    }
    ebb__lock_give(&pool->lock);
    ebb__thread_token_release(before);
    return own;
}

static part *part_make(ebb__pool *pool, ebb__thread_token *self)
{
    /* A part is larger than the largest object: it has a page to itself. */
    size_t n = 0;
    part *own = (part *)page_take(pool, class_of(EBB__POOL_MAX), &n);
    if (!own) return NULL;
    memset(own, 0, sizeof *own);
    own->pool = pool;
    own->owner = ebb__thread_token_keep(self);
    ebb__lock_take(&pool->lock);
    own->next = pool->parts;
    pool->parts = own;
    ebb__lock_give(&pool->lock);
    return own;
}
_Static_assert(sizeof(part) <= PAGE_BYTES - HEADER_BYTES, "a part fits any page");

static __attribute__((noinline)) ebb__pool_part *part_find(ebb__pool *pool)
{
    ebb__thread_token *self = ebb__thread_self();
    if (!self) return &pool->common.head;
    part *own = part_adopt(pool, self);
    if (!own) own = part_make(pool, self);
    if (!own) return &pool->common.head;
    ebb__thread_memo *memo = &ebb__thread_memos[pool->id % EBB__THREAD_MEMO];
    memo->key = pool->id;
    memo->value = own;
    return &own->head;
}

ebb__pool_part *ebb__pool_part_get(ebb__pool *pool)
{
    if (pool->single_threaded) return &pool->common.head;
    const ebb__thread_memo *memo = &ebb__thread_memos[pool->id % EBB__THREAD_MEMO];
    return memo->key == pool->id ? memo->value : part_find(pool);
}

ebb__pool *ebb__pool_create(const ebb__pool_source *source, bool single_threaded)
{
    slab *first = source->more(source->user);
    if (!first) return NULL;
    memset(first, 0, PAGE_BYTES);
    ebb__pool *pool = (ebb__pool *)((char *)first + HEADER_BYTES);
    pool->id = ebb__unique_id();
    pool->single_threaded = single_threaded;
    pool->source = *source;
    pool->open = first;
    pool->n_slabs = 1;
    first->n_pages = 1; /* page 0 is the pool's: klass 0 has no objects */
    pool->common.pool = pool;
    pool->common.head.lock = single_threaded ? NULL : &pool->common_lock;
    return pool;
}

void ebb__pool_destroy(ebb__pool *pool)
{
    if (!pool) return;
    for (part *own = pool->parts; own; own = own->next) ebb__thread_token_release(own->owner);
    ebb__pool_source source = pool->source;
    for (slab *lists[2] = {pool->open, pool->full}, **l = lists; l < lists + 2; l++) {
        for (slab *s = *l, *next; s; s = next) {
            next = s->next;
            source.less(source.user, s);
        }
    }
}

static long long sum(const ebb__pool *pool, size_t offset)
{
    ebb__pool *p = (ebb__pool *)(uintptr_t)pool; /* its lock is not part of its value */
    const char *common = (const char *)&pool->common;
    long long total =
        atomic_load_explicit((const atomic_llong *)(common + offset), memory_order_relaxed);
    ebb__lock_take(&p->lock);
    for (const part *own = pool->parts; own; own = own->next)
        total += atomic_load_explicit((const atomic_llong *)((const char *)own + offset),
                                      memory_order_relaxed);
    ebb__lock_give(&p->lock);
    return total;
}

int64_t ebb__pool_count(const ebb__pool *pool, unsigned slot)
{
    return sum(pool, offsetof(part, head.count) + slot * sizeof(atomic_llong));
}

void ebb__pool_stats_get(ebb__pool_stats *out, const ebb__pool *pool)
{
    out->n_objects = (size_t)sum(pool, offsetof(part, n_objects));
    out->object_bytes = (size_t)sum(pool, offsetof(part, object_bytes));
    out->slab_bytes = pool->n_slabs * EBB__SLAB_BYTES;
}

static void slab_each(slab *s, void (*each)(void *user, void *object), void *user)
{
    for (uint32_t page = 0; page < s->n_pages; page++) {
        unsigned klass = s->klass[page];
        if (klass < N_SIZES) continue;
        char *objects = page_objects(s, page);
        size_t n = page_n(page, klass), bytes = class_bytes(klass);
        for (size_t i = 0; i < n; i++) each(user, objects + i * bytes);
    }
}

void ebb__pool_each_listed(ebb__pool *pool, void (*each)(void *user, void *object), void *user)
{
    for (slab *s = pool->open; s; s = s->next) slab_each(s, each, user);
    for (slab *s = pool->full; s; s = s->next) slab_each(s, each, user);
}
