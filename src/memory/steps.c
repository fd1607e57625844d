/* steps.c - what who learns from a program's steps asks of the memory: tables inside the budget,
 * when nobody holds a value any more, what is in use beside a step's values.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/reserve.h"
#include "memory/room.h"
#include "memory/trace_cache.h"

/* Modulo the size of memory. */
static void notes_count(ebb__memory *m, size_t bytes)
{
    atomic_fetch_add_explicit(&m->notes_bytes, bytes, memory_order_relaxed);
}

void *ebb__notes_alloc(ebb_context *ctx, size_t bytes)
{
    void *p = NULL;
    bytes = ebb__pool_rounded(bytes);
    ebb_error pending;
    ebb_error_get(&pending);
    if (ebb__large_alloc(&p, ctx, bytes) != EBB_OK)
        ebb__error_adopt(&pending);
    else
        notes_count(ctx->memory, bytes);
    return p;
}

void ebb__notes_free(ebb_context *ctx, void *p, size_t bytes)
{
    ebb__memory *m = ctx->memory;
    bytes = ebb__pool_rounded(bytes);
    notes_count(m, -bytes);
    ebb__memory_enter(m);
    ebb__large_free(ctx, p, bytes);
    ebb__memory_leave(m);
}

ebb__table *ebb__notes_make(ebb_context *ctx, size_t bytes, bool stays)
{
    ebb__memory *m = ctx->memory;
    ebb__table *t = ebb__table_make(m, bytes, stays);
    if (!t) return NULL;
    t->thread = ebb__thread_self();
    notes_count(m, sizeof *t + t->big.value.bytes);
    return t;
}

void *ebb__notes_at(const ebb__table *t)
{
    return t->big.value.data;
}

void ebb__notes_own(ebb__table *t, void (*moved)(void *owner, void *to), void *owner)
{
    t->moved = moved;
    t->owner = owner;
}

void ebb__notes_drop(ebb_context *ctx, ebb__table *t)
{
    ebb__memory *m = ctx->memory;
    if (!t) return;
    notes_count(m, -(sizeof *t + t->big.value.bytes));
    ebb__memory_enter(m);
    ebb__table_drop(m, t);
    ebb__memory_leave(m);
}

size_t ebb__notes_bytes(const ebb_context *ctx)
{
    return atomic_load_explicit(&ctx->memory->notes_bytes, memory_order_relaxed);
}

ebb_context *ebb__memory_owner(const ebb_context *ctx)
{
    return ctx->memory->owner;
}

size_t ebb__memory_budget(const ebb_context *ctx)
{
    return ebb__account_budget(ctx->memory->owner->account);
}

void ebb__left_watch(ebb_context *ctx, uint32_t step, uint32_t *left, uint32_t n)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    m->left_table = left;
    m->left_n = n;
    m->left_step = step;
    ebb__memory_leave_unchanged(m);
}

void ebb__left_now(ebb_context *ctx, uint32_t at)
{
    atomic_store_explicit(&ctx->memory->left_now, at, memory_order_relaxed);
}

void ebb__left_note(ebb__memory *m, const ebb__big *b)
{
    uint32_t now = atomic_load_explicit(&m->left_now, memory_order_relaxed);
    if (b->born_id < m->left_n && m->left_table[b->born_id] > now)
        m->left_table[b->born_id] = now;
}

uint64_t ebb__memory_evictions(const ebb_context *ctx)
{
    return __atomic_load_n(&ctx->memory->n_evictions, __ATOMIC_RELAXED);
}

/* ---- what is in use ---------------------------------------------------------------------- */
void ebb__step_bytes(ebb__step_use *out, const ebb_context *ctx, uint32_t step)
{
    ebb__memory *m = ctx->memory;
    ebb_stats s = {0};
    ebb__account_stats(&s, m->owner->account);
    *out = (ebb__step_use){.used = s.used_bytes, .bookkeeping = s.bytes[EBB_KIND_BOOKKEEPING]};
    ebb__memory_enter(m);
    for (const ebb__big *b = m->all; b; b = b->next)
        if (b->born_step == step && b->value.data && !b->value.external)
            out->values += b->value.bytes;
    ebb__memory_leave_unchanged(m);
}

/* ---- next uses, values by name ----------------------------------------------------------- */
void ebb__nexts_fill(ebb__memory *m)
{
    uint32_t at = atomic_load_explicit(&m->left_now, memory_order_relaxed);
    for (ebb__big *b = m->all; b; b = b->next) {
        if (b->born_step != m->known_step || !ebb__mirror_has(m, b)) continue;
        double next = m->known ? m->known_base + ebb__learned_next(m->known, b->born_id, at)
                               : EBB__NEXT_UNKNOWN;
        ebb__ledger_set_next(m->ledger, b->number, next);
    }
}

void ebb__step_nexts_set(ebb_context *ctx, uint32_t step, const ebb__learned *l, double base,
                         bool later)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    m->known = l;
    m->known_step = step;
    m->known_base = base;
    if (later && m->ledger)
        ebb__ledger_sleep(m->ledger);
    else
        ebb__nexts_fill(m);
    m->known = later ? l : NULL;
    ebb__memory_leave_unchanged(m);
}

void ebb__named_watch(ebb_context *ctx, uint32_t step, ebb__value **made, uint32_t n)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    m->named = made;
    m->named_n = n;
    m->named_step = step;
    for (ebb__big *b = m->all; b; b = b->next) ebb__named_note(m, b, true);
    ebb__memory_leave_unchanged(m);
}

bool ebb__named_drop(ebb_context *ctx, uint32_t born)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    ebb__value *v = born < m->named_n ? m->named[born] : NULL;
    bool is_mine = v && (v->kind == EBB_KIND_ACTIVATION || v->kind == EBB_KIND_TEMPORARY);
    bool dropped = is_mine && !ebb__big_of(v)->locks && ebb__drop(m, v);
    m->n_evictions += dropped;
    ebb__memory_leave(m);
    return dropped;
}

ebb__value *ebb__named_away(ebb_context *ctx, uint32_t born)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    ebb__value *v = born < m->named_n ? m->named[born] : NULL;
    if (v && (v->state != EBB__VALUE_DROPPED || !atomic_load(&v->uses))) v = NULL;
    ebb__memory_leave_unchanged(m);
    if (v) ebb__value_stay(v, false);
    return v;
}
