/* memory.c - the memory of a root context: pool, arena, mutex, and what they hold in the
 * account.
 *
 * Invariants: the root's budget holds at least its blocks in use and all slabs, at every
 * moment; a chunk or slab that would go beyond it is taken only after empty chunks have gone
 * back.
 * SPDX-License-Identifier: MIT */
#include "memory/memory.h"

struct ebb__large {
    ebb__large *next, **prev;
    ebb_context *ctx;
    size_t bytes; /* with this header */
};
_Static_assert(sizeof(ebb__large) % 16 == 0, "what follows the header is aligned");

/* ---- slabs ------------------------------------------------------------------------------- */

static void *slab_more(void *user)
{
    ebb__memory *m = user;
    ebb_context *root = m->root;
    if (ebb__room_charge(root, EBB_KIND_BOOKKEEPING, EBB__SLAB_BYTES) != EBB_OK) return NULL;
    size_t budget = ebb__account_budget(root->account);
    if (budget) {
        ebb__memory_enter(m);
        size_t slabs = atomic_load_explicit(&m->slab_bytes, memory_order_relaxed);
        if (ebb__arena_chunk_bytes(m->arena) + slabs + EBB__SLAB_BYTES > budget)
            ebb__arena_trim(m->arena);
        ebb__memory_leave(m);
    }
    void *slab = ebb__alloc(&root->allocator, EBB__SLAB_BYTES, 4096);
    if (!slab) {
        ebb__account_discharge(root->account, EBB_KIND_BOOKKEEPING, EBB__SLAB_BYTES);
        ebb__fail(EBB_E_NOMEM, "the allocator refused %d bytes", (int)EBB__SLAB_BYTES);
        return NULL;
    }
    atomic_fetch_add_explicit(&m->slab_bytes, EBB__SLAB_BYTES, memory_order_relaxed);
    return slab;
}

/* Only ever called when the pool goes, and with it the account's meaning. */
static void slab_less(void *user, void *slab)
{
    ebb__memory *m = user;
    ebb__free(&m->root->allocator, slab, EBB__SLAB_BYTES);
}

ebb_status ebb__object_refused(size_t bytes)
{
    ebb_status s = ebb_error_status();
    if (s == EBB_E_NOMEM || s == EBB_E_BUDGET) return s;
    return ebb__fail(EBB_E_NOMEM, "the pool refused %zu bytes", bytes);
}

/* ---- create and destroy ------------------------------------------------------------------ */

static void memory_free(ebb__memory *m)
{
    ebb__arena_destroy(m->arena);
    pthread_mutex_destroy(&m->mutex);
    ebb__free(&m->root->allocator, m, sizeof *m);
}

ebb_status ebb__memory_create(ebb_context *ctx)
{
    if (ctx->parent) {
        ctx->memory = ctx->root->memory;
        ctx->pool = ctx->root->pool;
        return EBB_OK;
    }
    ebb__memory *m = ebb__alloc(&ctx->allocator, sizeof *m, 64);
    if (!m)
        return ebb__fail(EBB_E_NOMEM, "the allocator refused %zu bytes for a context",
                         sizeof *m);
    *m = (ebb__memory){.single_threaded = ctx->single_threaded, .root = ctx};
    ebb__mutex_init(&m->mutex);
    m->arena = ebb__arena_create(&ctx->allocator);
    if (!m->arena) {
        memory_free(m);
        return ebb__fail(EBB_E_NOMEM, "the allocator refused the bytes for a context");
    }
    ctx->memory = m; /* slab_more asks the context's */
    ctx->pool =
        ebb__pool_create(&(ebb__pool_source){.more = slab_more, .less = slab_less, .user = m},
                         ctx->single_threaded);
    if (!ctx->pool) {
        ctx->memory = NULL;
        memory_free(m);
        return ebb__object_refused(EBB__SLAB_BYTES);
    }
    ebb__account_set_pool(ctx->account, ctx->pool);
    return EBB_OK;
}

void ebb__memory_destroy(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    ctx->memory = NULL;
    if (ctx->parent || !m) {
        ctx->pool = NULL;
        return;
    }
    for (ebb__big *b = m->all; b; b = b->next) {
        if (!b->value.external) continue;
        ebb__external *e = (ebb__external *)b;
        if (e->done) e->done(e->user);
    }
    for (ebb__large *large = m->large, *next; large; large = next) {
        next = large->next;
        ebb__free(&ctx->allocator, large, large->bytes);
    }
    ebb__account_set_pool(ctx->account, NULL);
    ebb__pool_destroy(ctx->pool);
    ctx->pool = NULL;
    memory_free(m);
}

void ebb__memory_stats(ebb_stats *out, const ebb_context *ctx)
{
    if (ctx->parent) return;
    ebb__memory *m = ctx->memory;
    ebb__pool_stats pool;
    ebb__pool_stats_get(&pool, ctx->pool);
    size_t unused = pool.slab_bytes - pool.object_bytes;
    /* while calls are in progress the pool's sums may not belong together */
    if (unused > out->bytes[EBB_KIND_BOOKKEEPING]) unused = out->bytes[EBB_KIND_BOOKKEEPING];
    ebb__memory_enter(m);
    size_t holes = ebb__arena_chunk_bytes(m->arena) - ebb__arena_used_bytes(m->arena);
    ebb__memory_leave(m);
    out->bytes[EBB_KIND_BOOKKEEPING] -= unused;
    out->used_bytes -= unused;
    out->bytes[EBB_KIND_CACHE] += unused + holes;
}

void ebb__memory_trim(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    ebb__arena_trim(m->arena);
    ebb__memory_leave(m);
}

void ebb__memory_set_pressure(ebb_context *ctx, ebb__pressure_fn fn)
{
    ctx->memory->pressure = fn;
}

void ebb__memory_set_trace(ebb_context *ctx, ebb__memory_trace_fn fn, void *user)
{
    ctx->memory->trace = fn;
    ctx->memory->trace_user = user;
}

/* ---- charged bytes ----------------------------------------------------------------------- */

static bool pressure(ebb_context *ctx, size_t bytes)
{
    ebb__memory *m = ctx->memory;
    return m->pressure && m->pressure(ctx, bytes);
}

ebb_status ebb__room_charge(ebb_context *ctx, ebb_kind kind, size_t bytes)
{
    while (!ebb__account_try(ctx->account, kind, bytes))
        if (!pressure(ctx, bytes)) return ebb__account_refuse(ctx->account, kind, bytes);
    return EBB_OK;
}

void ebb__list_insert(ebb__memory *m, ebb__big *b)
{
    b->next = m->all;
    b->prev = &m->all;
    if (b->next) b->next->prev = &b->next;
    m->all = b;
}

ebb_status ebb__block_alloc(void **out, ebb_context *ctx, size_t bytes, ebb_kind kind,
                            ebb__big *list)
{
    ebb__memory *m = ctx->memory;
    size_t budget = ebb__account_budget(m->root->account);
    unsigned side = ebb__pool_part_get(ctx->pool)->number;
    EBB_TRY(ebb__room_charge(ctx, kind, bytes));
    for (;;) {
        ebb__memory_enter(m);
        if (budget)
            ebb__arena_set_limit(
                m->arena, budget - atomic_load_explicit(&m->slab_bytes, memory_order_relaxed));
        void *block = ebb__arena_alloc(m->arena, side, bytes);
        if (block) {
            *out = block;
            if (list) ebb__list_insert(m, list);
        }
        ebb__memory_leave(m);
        if (block) return EBB_OK;
        if (pressure(ctx, bytes)) continue;
        ebb__account_discharge(ctx->account, kind, bytes);
        return ebb__fail(EBB_E_NOMEM, "the allocator refused %zu bytes of kind %s", bytes,
                         ebb_kind_name(kind));
    }
}

static size_t scratch_rounded(size_t bytes)
{
    return bytes ? (bytes + EBB__ARENA_GRAIN - 1) & ~(size_t)(EBB__ARENA_GRAIN - 1)
                 : EBB__ARENA_GRAIN;
}

ebb_status ebb__scratch_alloc(void **out, ebb_context *ctx, size_t bytes)
{
    size_t rounded = scratch_rounded(bytes);
    if (rounded < bytes)
        return ebb__fail(EBB_E_SHAPE, "%zu bytes of scratch overflow the size of memory",
                         bytes);
    EBB_TRY(ebb__block_alloc(out, ctx, rounded, EBB_KIND_SCRATCH, NULL));
    atomic_fetch_add_explicit(&ctx->memory->scratch_bytes, rounded, memory_order_relaxed);
    return EBB_OK;
}

void ebb__scratch_free(ebb_context *ctx, void *p, size_t bytes)
{
    if (!p) return;
    ebb__memory *m = ctx->memory;
    size_t rounded = scratch_rounded(bytes);
    ebb__memory_enter(m);
    ebb__arena_free(m->arena, p, rounded);
    ebb__memory_leave(m);
    atomic_fetch_sub_explicit(&m->scratch_bytes, rounded, memory_order_relaxed);
    ebb__account_discharge(ctx->account, EBB_KIND_SCRATCH, rounded);
}

/* ---- large objects ----------------------------------------------------------------------- */

ebb_status ebb__large_alloc(void **out, ebb_context *ctx, size_t bytes)
{
    if (bytes <= EBB__POOL_MAX) {
        void *p = ebb__object_alloc(ctx, bytes);
        if (!p) return ebb__object_refused(bytes);
        *out = p;
        return EBB_OK;
    }
    ebb__memory *m = ctx->memory;
    size_t total = bytes + sizeof(ebb__large);
    EBB_TRY(ebb__room_charge(ctx, EBB_KIND_BOOKKEEPING, total));
    ebb__large *large = ebb__alloc(&m->root->allocator, total, 64);
    if (!large) {
        ebb__account_discharge(ctx->account, EBB_KIND_BOOKKEEPING, total);
        return ebb__fail(EBB_E_NOMEM, "the allocator refused %zu bytes", total);
    }
    large->ctx = ctx;
    large->bytes = total;
    ebb__memory_enter(m);
    large->next = m->large;
    large->prev = &m->large;
    if (large->next) large->next->prev = &large->next;
    m->large = large;
    ebb__memory_leave(m);
    *out = large + 1;
    return EBB_OK;
}

void ebb__large_free(ebb_context *ctx, void *p, size_t bytes)
{
    if (bytes <= EBB__POOL_MAX) {
        ebb__object_free(ctx, p, bytes);
        return;
    }
    ebb__memory *m = ctx->memory;
    ebb__large *large = (ebb__large *)p - 1;
    *large->prev = large->next;
    if (large->next) large->next->prev = large->prev;
    ebb__account_discharge(ctx->account, EBB_KIND_BOOKKEEPING, large->bytes);
    ebb__free(&m->root->allocator, large, large->bytes);
}
