/* slots.c - pages of tensor handles: taken and given back in O(1), checked in O(1).
 *
 * Pages are 64 KiB, aligned to their size, and never go back to the system: their slots keep
 * their generations, so a handle of a context long gone is still known to be stale. A two-level
 * table of bits, one per possible page of a 47-bit address space, tells slots from foreign
 * pointers. Process-wide state: that table and the list of pages no context uses; a fork waits
 * for its lock, so that the child finds it free.
 * SPDX-License-Identifier: MIT */
#include "tensor/slots.h"

#include "base/error.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = (1 << EBB__SLOT_TABLE_BITS) / 64 };
_Atomic(atomic_ullong *) ebb__slot_table[1 << EBB__SLOT_TABLE_BITS];
_Static_assert(EBB__SLOT_PAGE_BYTES == 1 << EBB__SLOT_PAGE_BITS,
               "pages as the table sees them");
static ebb__slot_page *idle_pages;
static ebb__lock table_lock;

static void table_lock_take(void)
{
    ebb__lock_take(&table_lock);
}

static void table_lock_give(void)
{
    ebb__lock_give(&table_lock);
}

__attribute__((constructor)) static void table_setup(void)
{
    pthread_atfork(table_lock_take, table_lock_give, table_lock_give);
}

static bool page_register(ebb__slot_page *page)
{
    uintptr_t a = (uintptr_t)page;
    if (a >> 48) return false;
    atomic_ullong *leaf = atomic_load_explicit(&ebb__slot_table[a >> 32], memory_order_acquire);
    if (!leaf) {
        leaf = calloc(WORDS, sizeof *leaf);
        if (!leaf) return false;
        atomic_store_explicit(&ebb__slot_table[a >> 32], leaf, memory_order_release);
    }
    unsigned bit = (unsigned)(a >> 16) & ((1u << EBB__SLOT_TABLE_BITS) - 1);
    atomic_fetch_or_explicit(&leaf[bit / 64], 1ull << (bit % 64), memory_order_release);
    return true;
}

static ebb__slot_page *page_take(void)
{
    ebb__lock_take(&table_lock);
    ebb__slot_page *page = idle_pages;
    if (page) {
        idle_pages = page->next;
    } else {
        page = aligned_alloc(EBB__SLOT_PAGE_BYTES, EBB__SLOT_PAGE_BYTES);
        if (page) {
            for (size_t i = 1; i < EBB__SLOT_PAGE_BYTES / EBB__SLOT_BYTES; i++) {
                ebb__slot *s = (ebb__slot *)((char *)page + i * EBB__SLOT_BYTES);
                *s = (ebb__slot){0};
            }
            if (!page_register(page)) {
                free(page);
                page = NULL;
            }
        }
    }
    ebb__lock_give(&table_lock);
    return page;
}

static inline void lock_take(const ebb__slots *slots, ebb__lock *lock)
{
    if (!slots->single_threaded) ebb__lock_take(lock);
}

static inline void lock_give(const ebb__slots *slots, ebb__lock *lock)
{
    if (!slots->single_threaded) ebb__lock_give(lock);
}

static inline ebb__slot_shelf *shelf_of(const ebb_context *ctx)
{
    return &ctx->slots->shelf[ebb__pool_part_get(ctx->pool)->number % EBB__SLOT_SHELVES];
}

static void shelf_add(const ebb__slots *slots, ebb__slot_shelf *shelf, ebb__slot *first,
                      ebb__slot *last)
{
    lock_take(slots, &shelf->lock);
    last->own.next_free = shelf->free;
    shelf->free = first;
    lock_give(slots, &shelf->lock);
}

static ebb_status slots_grow(ebb_context *ctx, ebb__slots *slots)
{
    EBB_TRY(ebb__room_charge(ctx, EBB_KIND_BOOKKEEPING, EBB__SLOT_PAGE_BYTES));
    ebb__slot_page *page = page_take();
    if (!page) {
        ebb__account_take_back(ctx->account, EBB_KIND_BOOKKEEPING, EBB__SLOT_PAGE_BYTES);
        return ebb__fail(EBB_E_NOMEM, "a page of %d bytes for tensor handles was refused",
                         EBB__SLOT_PAGE_BYTES);
    }
    page->ctx = ctx;
    lock_take(slots, &slots->lock);
    page->next = slots->pages;
    slots->pages = page;
    slots->n_pages++;
    lock_give(slots, &slots->lock);
    ebb__slot *first = NULL, *last = NULL;
    for (size_t i = EBB__SLOT_PAGE_BYTES / EBB__SLOT_BYTES; i-- > 1;) {
        ebb__slot *s = (ebb__slot *)((char *)page + i * EBB__SLOT_BYTES);
        if (!first) last = s;
        s->own.next_free = first;
        first = s;
    }
    shelf_add(slots, shelf_of(ctx), first, last);
    return EBB_OK;
}

/* Some from another shelf; false where all are empty. */
static bool shelf_fill(ebb__slots *slots, ebb__slot_shelf *own)
{
    enum { AT_MOST = 64 };
    for (int i = 0; i < EBB__SLOT_SHELVES; i++) {
        ebb__slot_shelf *from = &slots->shelf[i];
        if (from == own) continue;
        lock_take(slots, &from->lock);
        ebb__slot *first = from->free, *last = first;
        for (int n = 1; last && last->own.next_free && n < AT_MOST; n++)
            last = last->own.next_free;
        if (last) from->free = last->own.next_free;
        lock_give(slots, &from->lock);
        if (!first) continue;
        shelf_add(slots, own, first, last);
        return true;
    }
    return false;
}

ebb__slot *ebb__slot_take(ebb_context *ctx)
{
    ebb__slots *slots = ctx->slots;
    ebb__slot_shelf *shelf = shelf_of(ctx);
    for (;;) {
        lock_take(slots, &shelf->lock);
        ebb__slot *s = shelf->free;
        if (s) {
            shelf->free = s->own.next_free;
            shelf->n_live++;
        }
        lock_give(slots, &shelf->lock);
        if (s) return s;
        if (!slots->single_threaded && shelf_fill(slots, shelf)) continue;
        if (slots_grow(ctx, slots) != EBB_OK) return NULL;
    }
}

/* Whoever asks about a handle meanwhile is told that it is one or the other. */
static void generation_move(ebb__slot *s)
{
    unsigned next = atomic_load_explicit(&s->generation, memory_order_relaxed) + 1;
    atomic_store_explicit(&s->generation, (unsigned char)(next & EBB__GENERATION_MASK),
                          memory_order_relaxed);
}

void ebb__slot_give(ebb__slot *s)
{
    ebb__slots *slots = s->ctx->slots;
    ebb__slot_shelf *shelf = shelf_of(s->ctx);
    generation_move(s);
    lock_take(slots, &shelf->lock);
    s->own.next_free = shelf->free;
    shelf->free = s;
    shelf->n_live--;
    lock_give(slots, &shelf->lock);
}

void ebb__slot_die(ebb__slot *s)
{
    if (!ebb__context_is_ours(s->ctx)) { /* what it holds stays with the parent process */
        generation_move(s);
        return;
    }
    ebb__storage *storage = s->storage;
    ebb_graph_node *node = s->node;
    if (s->layout->n_dims > EBB__INLINE_DIMS)
        ebb__pool_free(s->ctx->pool, s->layout, ebb__layout_bytes(s->layout->n_dims));
    if (s->extra) ebb__slot_extra_free(s);
    int maps = atomic_load_explicit(&s->n_maps, memory_order_relaxed);
    if (maps) ebb__storage_map_count(storage, -maps);
    for (; maps > 0; maps--) ebb__value_unpin(storage->value);
    atomic_store_explicit(&s->n_maps, 0, memory_order_relaxed);
    s->storage = NULL;
    s->node = NULL;
    s->is_leaf = false;
    ebb__slot_give(s);
    /* Last: freeing the node may free much else. */
    ebb__storage_release(storage);
    ebb_graph_node_release(node);
}

ebb_status ebb__slots_create(ebb_context *ctx)
{
    ebb__slots *slots = ebb__pool_alloc(ctx->pool, sizeof *slots);
    if (!slots) return ebb_error_status();
    memset(slots, 0, sizeof *slots);
    slots->single_threaded = ctx->single_threaded;
    ctx->slots = slots;
    return EBB_OK;
}

void ebb__slots_destroy(ebb_context *ctx)
{
    ebb__slots *slots = ctx->slots;
    if (!slots) return;
    for (ebb__slot_page *page = slots->pages; page; page = page->next) {
        for (size_t i = 1; i < EBB__SLOT_PAGE_BYTES / EBB__SLOT_BYTES; i++) {
            ebb__slot *s = (ebb__slot *)((char *)page + i * EBB__SLOT_BYTES);
            if (!ebb__slot_is_live(s)) continue;
            atomic_store_explicit(&s->refs, 0, memory_order_relaxed);
            ebb__slot_die(s);
        }
    }
    ebb__lock_take(&table_lock);
    while (slots->pages) {
        ebb__slot_page *page = slots->pages;
        slots->pages = page->next;
        page->ctx = NULL;
        page->next = idle_pages;
        idle_pages = page;
    }
    ebb__lock_give(&table_lock);
    ebb__account_discharge(ctx->account, EBB_KIND_BOOKKEEPING,
                           (size_t)slots->n_pages * EBB__SLOT_PAGE_BYTES);
    ebb__pool_free(ctx->pool, slots, sizeof *slots);
    ctx->slots = NULL;
}

void ebb__slots_count(const ebb_context *ctx, int64_t *n_live, size_t *idle_bytes)
{
    ebb__slots *slots = ctx->slots;
    int64_t n = 0;
    for (int i = 0; i < EBB__SLOT_SHELVES; i++) {
        lock_take(slots, &slots->shelf[i].lock);
        n += slots->shelf[i].n_live;
        lock_give(slots, &slots->shelf[i].lock);
    }
    lock_take(slots, &slots->lock);
    size_t bytes = (size_t)slots->n_pages * EBB__SLOT_PAGE_BYTES;
    lock_give(slots, &slots->lock);
    /* while others work the shelves may not belong together */
    if (n < 0) n = 0;
    size_t used = (size_t)n * EBB__SLOT_BYTES;
    *n_live = n;
    *idle_bytes = used < bytes ? bytes - used : 0;
}

int64_t ebb__slots_misuse(const ebb_context *ctx)
{
    return atomic_load_explicit(&ctx->slots->n_misuse, memory_order_relaxed);
}
