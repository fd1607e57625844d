/* pool.c - size classes over slabs, with a part of free lists and counters for each thread.
 *
 * A slab is 16 pages; each page holds objects of one class. Page 0 begins with the slab's
 * header, and in the first slab with the pool itself. Parts are ordinary objects of the pool.
 * Invariants: a free object is in exactly one list: a part's, or a batch in the pool's `spare`.
 * A part is touched only by the thread whose token it holds; by another only after that token
 * has died, which `lock` orders. The last part (`common`) serves threads that could get none,
 * under common_lock. Lock order: common_lock, then lock.
 * SPDX-License-Identifier: MIT */
#include "base/pool.h"

#include "base/check.h"
#include "base/error.h"
#include "base/thread.h"

#include <string.h>

enum {
    N_SIZES = EBB__POOL_SIZES,
    N_CLASSES = EBB__POOL_CLASSES,
    PAGE_BYTES = 4096,
    N_PAGES = EBB__SLAB_BYTES / PAGE_BYTES,
    BATCH = 64,
    PART_BYTES = 256 << 10, /* a part keeps this much of a class, but at least two batches */
    HEADER_BYTES = 64
};

typedef ebb__pool_object object;

typedef struct slab {
    struct slab *next;
    uint32_t n_pages;       /* given out */
    uint8_t klass[N_PAGES]; /* of a page given out */
} slab;
_Static_assert(sizeof(slab) <= HEADER_BYTES, "the header fits before the first object");
_Static_assert(N_CLASSES <= 256, "a class fits a byte");

typedef struct part {
    ebb__pool_part head; /* first: what callers see */
    struct pool *pool;
    struct part *next;
    ebb__thread_token *owner; /* NULL in the common part and in a single-threaded pool */
} part;

typedef struct pool {
    ebb__pool head; /* first */
    ebb__lock lock, common_lock;
    ebb__pool_source source;
    slab *open, *full; /* with pages left, without */
    size_t n_slabs;
    part *parts;
    object *spare[N_CLASSES]; /* batches */
    part common;
} pool;
_Static_assert(HEADER_BYTES + sizeof(pool) <= 2 * PAGE_BYTES, "the pool fits two pages");

static inline size_t class_bytes(unsigned klass)
{
    return (size_t)(klass % N_SIZES) * EBB__POOL_GRAIN;
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
static char *page_take(pool *all, unsigned klass, size_t *n)
{
    slab *fresh = NULL;
    for (;;) {
        char *objects = NULL;
        ebb__lock_take(&all->lock);
        if (fresh) {
            fresh->next = all->open;
            all->open = fresh;
            all->n_slabs++;
        }
        slab *s = all->open;
        if (s) {
            *n = page_n(s->n_pages, klass);
            objects = page_objects(s, s->n_pages);
            s->klass[s->n_pages++] = (uint8_t)klass;
            if (s->n_pages == N_PAGES) {
                all->open = s->next;
                s->next = all->full;
                all->full = s;
            }
        }
        ebb__lock_give(&all->lock);
        if (objects) return objects;
        fresh = all->source.more(all->source.user);
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
    pool *all = own->pool;
    ebb__pool_list *list = &own->head.list[klass];
    ebb__lock_take(&all->lock);
    object *batch = all->spare[klass];
    if (batch) all->spare[klass] = batch->next_batch;
    ebb__lock_give(&all->lock);
    if (batch) {
        list->first = batch;
        list->n = BATCH;
        return true;
    }
    part_unlock(own);
    size_t n = 0, bytes = class_bytes(klass);
    char *objects = page_take(all, klass, &n);
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
    pool *all = own->pool;
    ebb__pool_list *list = &own->head.list[klass];
    object *stay = list->first;
    for (int i = 1; i < BATCH; i++) stay = stay->next;
    object *batch = stay->next, *last = batch;
    for (int i = 1; i < BATCH; i++) last = last->next;
    stay->next = last->next;
    last->next = NULL;
    list->n -= BATCH;
    ebb__lock_take(&all->lock);
    batch->next_batch = all->spare[klass];
    all->spare[klass] = batch;
    ebb__lock_give(&all->lock);
}

void *ebb__pool_part_alloc_slow(ebb__pool_part *head, unsigned klass)
{
    part *own = (part *)head;
    ebb__pool_list *list = &head->list[klass];
    object *o = NULL;
    EBB_ASSERT(class_bytes(klass) > 0 && klass < N_CLASSES);
    part_lock(own);
    if (list->first || refill(own, klass)) {
        o = list->first;
        list->first = o->next;
        list->n--;
        ebb__pool_add(&list->n_out, 1);
    }
    part_unlock(own);
    return o;
}

void ebb__pool_part_free_slow(ebb__pool_part *head, void *p, unsigned klass)
{
    part *own = (part *)head;
    ebb__pool_list *list = &head->list[klass];
    object *o = p;
    part_lock(own);
    o->next = list->first;
    list->first = o;
    list->n++;
    ebb__pool_add(&list->n_out, -1);
    if (list->most == 0) {
        size_t most = PART_BYTES / class_bytes(klass);
        list->most = most > 2 * BATCH ? (uint32_t)most : 2 * BATCH;
    }
    if (list->n > list->most) give_batch(own, klass);
    part_unlock(own);
}

void *ebb__pool_alloc(ebb__pool *head, size_t bytes)
{
    return ebb__pool_part_alloc(ebb__pool_part_get(head), bytes);
}

void ebb__pool_free(ebb__pool *head, void *p, size_t bytes)
{
    ebb__pool_part_free(ebb__pool_part_get(head), p, bytes);
}

/* The part of an ended thread becomes the calling one's, with all it holds. */
static part *part_adopt(pool *all, ebb__thread_token *self)
{
    part *own;
    ebb__thread_token *before = NULL;
    ebb__lock_take(&all->lock);
    for (own = all->parts; own; own = own->next) {
        if (own->owner == self) break;
        if (!atomic_load_explicit(&own->owner->alive, memory_order_acquire)) {
            before = own->owner;
            own->owner = ebb__thread_token_keep(self);
            break;
        }
    }
    ebb__lock_give(&all->lock);
    ebb__thread_token_release(before);
    return own;
}

static part *part_make(pool *all, ebb__thread_token *self)
{
    /* A part is larger than the largest object: it has a page to itself. */
    size_t n = 0;
    part *own = (part *)page_take(all, ebb__pool_class(EBB__POOL_MAX), &n);
    if (!own) return NULL;
    memset(own, 0, sizeof *own);
    own->pool = all;
    own->owner = ebb__thread_token_keep(self);
    ebb__lock_take(&all->lock);
    own->head.number = all->parts ? all->parts->head.number + 1 : 0;
    own->next = all->parts;
    all->parts = own;
    ebb__lock_give(&all->lock);
    return own;
}
_Static_assert(sizeof(part) <= PAGE_BYTES - HEADER_BYTES, "a part fits any page");

ebb__pool_part *ebb__pool_part_find(ebb__pool *head)
{
    pool *all = (pool *)head;
    ebb__thread_token *self = ebb__thread_self();
    if (!self) return &all->common.head;
    part *own = part_adopt(all, self);
    if (!own) {
        /* doing without one is no failure of the caller's */
        ebb_error pending;
        ebb_error_get(&pending);
        own = part_make(all, self);
        if (!own) ebb__error_adopt(&pending);
    }
    if (!own) return &all->common.head;
    ebb__thread_memo *memo = &ebb__thread_memos[head->id % EBB__THREAD_MEMO];
    memo->key = head->id;
    memo->value = own;
    return &own->head;
}

ebb__pool *ebb__pool_create(const ebb__pool_source *source, bool single_threaded)
{
    slab *first = source->more(source->user);
    if (!first) return NULL;
    memset(first, 0, (size_t)2 * PAGE_BYTES);
    pool *all = (pool *)((char *)first + HEADER_BYTES);
    all->head.id = ebb__unique_id();
    if (single_threaded) all->head.only = &all->common.head;
    all->source = *source;
    all->open = first;
    all->n_slabs = 1;
    first->n_pages = 2; /* the pool's; class 0 has no objects */
    all->common.pool = all;
    all->common.head.lock = single_threaded ? NULL : &all->common_lock;
    return &all->head;
}

void ebb__pool_destroy(ebb__pool *head)
{
    if (!head) return;
    pool *all = (pool *)head;
    for (part *own = all->parts; own; own = own->next) ebb__thread_token_release(own->owner);
    ebb__pool_source source = all->source;
    for (slab *lists[2] = {all->open, all->full}, **l = lists; l < lists + 2; l++) {
        for (slab *s = *l, *next; s; s = next) {
            next = s->next;
            source.less(source.user, s);
        }
    }
}

static long long sum(const ebb__pool *head, size_t offset)
{
    pool *all = (pool *)(uintptr_t)head; /* its lock is not part of its value */
    const char *common = (const char *)&all->common;
    long long total =
        atomic_load_explicit((const atomic_llong *)(common + offset), memory_order_relaxed);
    ebb__lock_take(&all->lock);
    for (const part *own = all->parts; own; own = own->next)
        total += atomic_load_explicit((const atomic_llong *)((const char *)own + offset),
                                      memory_order_relaxed);
    ebb__lock_give(&all->lock);
    return total;
}

int64_t ebb__pool_count(const ebb__pool *head, unsigned slot)
{
    return sum(head, offsetof(part, head.count) + slot * sizeof(atomic_llong));
}

void ebb__pool_counts(int64_t *out, const ebb__pool *head, unsigned first, unsigned n)
{
    for (unsigned i = 0; i < n; i++) out[i] = ebb__pool_count(head, first + i);
}

void ebb__pool_stats_get(ebb__pool_stats *out, const ebb__pool *head)
{
    out->n_objects = out->object_bytes = 0;
    for (unsigned klass = 1; klass < N_CLASSES; klass++) {
        size_t n =
            (size_t)sum(head, offsetof(part, head.list) + klass * sizeof(ebb__pool_list) +
                                  offsetof(ebb__pool_list, n_out));
        out->n_objects += n;
        out->object_bytes += n * class_bytes(klass);
    }
    pool *all = (pool *)(uintptr_t)head; /* its lock is not part of its value */
    ebb__lock_take(&all->lock);
    out->slab_bytes = all->n_slabs * EBB__SLAB_BYTES;
    ebb__lock_give(&all->lock);
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

void ebb__pool_each_listed(ebb__pool *head, void (*each)(void *user, void *object), void *user)
{
    const pool *all = (const pool *)head;
    for (slab *s = all->open; s; s = s->next) slab_each(s, each, user);
    for (slab *s = all->full; s; s = s->next) slab_each(s, each, user);
}
