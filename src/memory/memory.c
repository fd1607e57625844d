/* memory.c - the memories of a tree of contexts: pool, arenas, mutexes, and what they hold in the
 * account.
 *
 * Invariants: a root's budget holds at least its blocks in use and all slabs, at every
 * moment; a chunk or slab that would go beyond it is taken only after empty chunks have gone
 * back.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/room.h"

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
    ebb_context *root = m->owner;
    if (ebb__room_charge(root, EBB_KIND_BOOKKEEPING, EBB__SLAB_BYTES) != EBB_OK) return NULL;
    void *slab = ebb__fixed_alloc(m, EBB__SLAB_BYTES);
    if (!slab) {
        ebb__account_take_back(root->account, EBB_KIND_BOOKKEEPING, EBB__SLAB_BYTES);
        ebb__room_refuse_block(root, EBB__SLAB_BYTES, EBB_KIND_BOOKKEEPING);
        return NULL;
    }
    atomic_fetch_add_explicit(&m->slab_bytes, EBB__SLAB_BYTES, memory_order_relaxed);
    return slab;
}

/* Only ever called when the pool goes, and with it the account's meaning. */
static void slab_less(void *user, void *slab)
{
    ebb__memory *m = user;
    ebb__fixed_free(m, slab, EBB__SLAB_BYTES);
}

ebb_status ebb__object_refused(size_t bytes)
{
    ebb_status s = ebb_error_status();
    if (s == EBB_E_NOMEM || s == EBB_E_BUDGET) return s;
    return ebb__fail(EBB_E_NOMEM, "the pool refused %zu bytes", bytes);
}

/* Under the mutex. */
static void ledger_shed(ebb__memory *m)
{
    ebb__ledger_table t;
    while (ebb__ledger_shed(m->own_ledger, &t)) {
        ebb__table_drop(m, m->ledger_tables[t.which]);
        m->ledger_tables[t.which] = NULL;
    }
    atomic_store_explicit(&m->ledger_is_low, true, memory_order_relaxed);
}

/* ---- create and destroy ------------------------------------------------------------------ */

static void list_lock(ebb__memory *top)
{
    if (!top->single_threaded) pthread_mutex_lock(&top->list_mutex);
}

static void list_unlock(ebb__memory *top)
{
    if (!top->single_threaded) pthread_mutex_unlock(&top->list_mutex);
}

static void memory_link(ebb__memory *m)
{
    ebb__memory *top = m->top;
    list_lock(top);
    m->next = top->first;
    m->prev = &top->first;
    if (m->next) m->next->prev = &m->next;
    top->first = m;
    atomic_fetch_add_explicit(&top->n_memories, 1, memory_order_relaxed);
    list_unlock(top);
}

static void memory_unlink(ebb__memory *m)
{
    list_lock(m->top);
    *m->prev = m->next;
    if (m->next) m->next->prev = m->prev;
    atomic_fetch_sub_explicit(&m->top->n_memories, 1, memory_order_relaxed);
    list_unlock(m->top);
}

static void memory_free(ebb__memory *m)
{
    ebb__ledger_destroy(m->own_ledger);
    ebb__arena_destroy(m->arena);
    ebb__gate_destroy(&m->gate);
    pthread_mutex_destroy(&m->mutex);
    pthread_mutex_destroy(&m->list_mutex);
    ebb__free(&m->owner->allocator, m, sizeof *m);
}

/* Under a budget one chunk holds all there may be, so that no hole comes on top of it. A root's
 * maps of it count as bookkeeping; a child's come on top. Where the allocator refuses the chunk,
 * others are taken as they are needed. */
static ebb_status budget_prepare(ebb__memory *m)
{
    const size_t most = (size_t)256 << 30; /* larger ones are rather "all there is" */
    size_t budget = ebb__account_budget(m->owner->account);
    m->has_budget = budget != 0;
    if (m->has_budget) EBB_TRY(ebb__ledger_create(&m->own_ledger, &m->owner->allocator));
    atomic_init(&m->ledger_is_low, true);
    if (!budget || budget > most) return EBB_OK;
    bool is_root = !m->owner->parent;
    if (!ebb__arena_fix(m->arena, is_root ? budget : budget + budget / 120 + 4096))
        return EBB_OK;
    m->edge = ebb__arena_end(m->arena);
    if (!is_root) return EBB_OK;
    return ebb__account_charge(m->owner->account, EBB_KIND_BOOKKEEPING,
                               budget - ebb__arena_room(m->arena));
}

static ebb_status memory_make(ebb__memory **out, ebb_context *owner)
{
    ebb__memory *m = ebb__alloc(&owner->allocator, sizeof *m, 64);
    if (!m)
        return ebb__fail(EBB_E_NOMEM, "the allocator refused %zu bytes for a context",
                         sizeof *m);
    *m = (ebb__memory){.single_threaded = owner->single_threaded, .owner = owner};
    m->top = owner->parent ? owner->root->memory : m;
    ebb__mutex_init(&m->mutex);
    ebb__mutex_init(&m->list_mutex);
    ebb__gate_init(&m->gate, owner->single_threaded);
    m->arena = ebb__arena_create(&owner->allocator);
    if (!m->arena) {
        memory_free(m);
        return ebb__fail(EBB_E_NOMEM, "the allocator refused the bytes for a context");
    }
    if (owner->cache_limit) ebb__arena_set_cache(m->arena, owner->cache_limit);
    ebb_status status = budget_prepare(m);
    if (status != EBB_OK) {
        memory_free(m);
        return status;
    }
    memory_link(m);
    *out = m;
    return EBB_OK;
}

static ebb_status child_create(ebb_context *ctx)
{
    ctx->pool = ctx->root->pool;
    for (const ebb_context *above = ctx->parent; above; above = above->parent) {
        if (!ebb__account_budget(above->account)) continue;
        ctx->memory = ctx->parent->memory;
        return EBB_OK;
    }
    return memory_make(&ctx->memory, ctx);
}

ebb_status ebb__memory_create(ebb_context *ctx)
{
    if (ctx->parent) return child_create(ctx);
    EBB_TRY(memory_make(&ctx->memory, ctx)); /* slab_more asks the context's */
    ebb__memory *m = ctx->memory;
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
    if (!m || m->owner != ctx) {
        ctx->pool = NULL;
        return;
    }
    EBB_ASSERT(!ctx->parent || (!m->all && !m->large));
    for (ebb__big *b = m->all; b; b = b->next) {
        if (!b->value.external) continue;
        ebb__external *e = (ebb__external *)b;
        if (e->done) e->done(e->user);
    }
    if (m->own_ledger) {
        ebb__memory_enter(m);
        ledger_shed(m);
        ebb__memory_leave(m);
    }
    for (ebb__large *large = m->large, *next; large; large = next) {
        next = large->next;
        ebb__fixed_free(m, large, large->bytes);
    }
    memory_unlink(m);
    if (!ctx->parent) {
        ebb__account_set_pool(ctx->account, NULL);
        ebb__pool_destroy(ctx->pool);
    }
    ctx->pool = NULL;
    memory_free(m);
}

/* ---- all memories of a tree -------------------------------------------------------------- */

static bool is_within(const ebb_context *ctx, const ebb_context *ancestor)
{
    while (ctx && ctx != ancestor) ctx = ctx->parent;
    return ctx != NULL;
}

void ebb__memories_each(const ebb_context *ctx, void (*each)(void *user, ebb__memory *m),
                        void *user)
{
    ebb__memory *top = ctx->memory->top;
    list_lock(top);
    for (ebb__memory *m = top->first; m; m = m->next) {
        if (m != ctx->memory && !is_within(m->owner, ctx)) continue;
        ebb__memory_enter(m);
        each(user, m);
        ebb__memory_leave_unchanged(m);
    }
    list_unlock(top);
}

static void holes_add(void *user, ebb__memory *m)
{
    *(size_t *)user += ebb__arena_chunk_bytes(m->arena) - ebb__arena_used_bytes(m->arena);
}

size_t ebb__tables_bytes(const ebb__memory *m)
{
    size_t bytes = atomic_load_explicit(&m->notes_bytes, memory_order_relaxed);
    for (int i = 0; i < EBB__LEDGER_TABLES; i++)
        if (m->ledger_tables[i])
            bytes += sizeof(ebb__table) + m->ledger_tables[i]->big.value.bytes;
    return bytes;
}

static void tables_add(void *user, ebb__memory *m)
{
    size_t bytes = ebb__tables_bytes(m);
    if (m->own_ledger) bytes -= ebb__ledger_taken_bytes(m->own_ledger);
    *(size_t *)user += bytes;
}

static void cached(ebb_stats *out, size_t bytes)
{
    /* while calls are in progress the sums may not belong together */
    if (bytes > out->bytes[EBB_KIND_BOOKKEEPING]) bytes = out->bytes[EBB_KIND_BOOKKEEPING];
    out->bytes[EBB_KIND_BOOKKEEPING] -= bytes;
    out->used_bytes -= bytes;
    out->bytes[EBB_KIND_CACHE] += bytes;
}

void ebb__memory_stats(ebb_stats *out, const ebb_context *ctx)
{
    if (ctx->memory->owner != ctx) return;
    size_t holes = 0, tables = 0;
    ebb__memories_each(ctx, holes_add, &holes);
    ebb__memories_each(ctx, tables_add, &tables);
    out->bytes[EBB_KIND_CACHE] += holes;
    cached(out, tables);
    if (ctx->parent) return;
    ebb__pool_stats pool;
    ebb__pool_stats_get(&pool, ctx->pool);
    cached(out, pool.slab_bytes - pool.object_bytes);
}

static void trim(void *user, ebb__memory *m)
{
    (void)user;
    bool unused = m->ledger ? ebb__ledger_is_empty(m->ledger) : m->n_recipes == 0;
    if (m->own_ledger && unused) ledger_shed(m);
    ebb__arena_trim(m->arena);
}

void ebb__memory_trim(ebb_context *ctx)
{
    ebb__memories_each(ctx, trim, NULL);
}

void ebb__memory_set_trace(ebb_context *ctx, ebb__memory_trace_fn fn, void *user)
{
    ctx->memory->top->trace = fn;
    ctx->memory->top->trace_user = user;
}

/* ---- charged bytes ----------------------------------------------------------------------- */

/* The last resorts, of which the first costs least. */
static bool relieve(ebb_context *ctx, size_t bytes)
{
    ebb__memory *m = ctx->memory;
    if (!m->has_budget) return false;
    if (ebb__mirror_cut(ctx)) return true;
    size_t free = ebb__account_free(ctx->account);
    return m->top->relief && m->top->relief(ctx, bytes > free ? bytes - free : 0);
}

ebb_status ebb__room_charge(ebb_context *ctx, ebb_kind kind, size_t bytes)
{
    while (!ebb__account_try(ctx->account, kind, bytes))
        if (!ebb__room_more(ctx, bytes) && !relieve(ctx, bytes))
            return ebb__room_refuse_charge(ctx, kind, bytes);
    return EBB_OK;
}

void ebb__list_insert(ebb__memory *m, ebb__big *b)
{
    ebb__place_enter(m, b);
    if (b->prev) return;
    ebb__big **first = b->value.kind == EBB_KIND_BOOKKEEPING ? &m->tables : &m->all;
    b->serial = ++m->serial;
    b->next = *first;
    b->prev = first;
    if (b->next) b->next->prev = &b->next;
    *first = b;
}

void ebb__list_remove(ebb__big *b)
{
    *b->prev = b->next;
    if (b->next) b->next->prev = b->prev;
}

ebb_status ebb__block_alloc(void **out, ebb_context *ctx, size_t bytes, ebb_kind kind,
                            ebb__big *list)
{
    EBB_TRY(ebb__room_charge(ctx, kind, bytes));
    if (ebb__room_block(out, ctx, bytes, kind, list)) return EBB_OK;
    ebb__account_take_back(ctx->account, kind, bytes);
    return ebb__room_refuse_block(ctx, bytes, kind);
}

ebb_status ebb__scratch_alloc(void **out, ebb_context *ctx, size_t bytes)
{
    size_t rounded = ebb__block_bytes(bytes);
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
    size_t rounded = ebb__block_bytes(bytes);
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
    ebb__large *large = ebb__fixed_alloc(m, total);
    if (!large) {
        ebb__account_take_back(ctx->account, EBB_KIND_BOOKKEEPING, total);
        return ebb__room_refuse_block(ctx, total, EBB_KIND_BOOKKEEPING);
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
    ebb__fixed_free(m, large, large->bytes);
}
