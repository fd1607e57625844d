/* room.c - charged bytes and blocks under a budget: tried, made room for, or refused.
 *
 * Invariant: what is refused was either impossible from the start, and then nothing was given up
 * for it, or everything that could be given up was.
 * SPDX-License-Identifier: MIT */
#include "memory/room.h"

#include "memory/mirror.h"
#include "memory/reserve.h"

ebb__gate *ebb__gate_of(const ebb_context *ctx)
{
    return &ctx->memory->gate;
}

ebb__gate *ebb__budget_gate(const ebb_context *ctx)
{
    return ctx->memory->has_budget ? &ctx->memory->gate : NULL;
}

/* ---- room -------------------------------------------------------------------------------- */

/* One eviction towards so many bytes; none where all together would not do. */
static bool evict_towards(ebb_context *ctx, const ebb__account *tight, size_t bytes)
{
    ebb__memory *m = ctx->memory;
    ebb__gate_hold hold;
    ebb__gate_enter_alone(&hold, &m->gate);
    ebb__memory_enter(m);
    size_t free = ebb__account_free(tight);
    bool ok = free >= bytes || (free + ebb__evictable_bytes(m, tight) >= bytes &&
                                ebb__evict_one(m, tight, bytes - free));
    ebb__memory_leave(m);
    ebb__gate_leave(&hold);
    return ok;
}

bool ebb__room_more(ebb_context *ctx, size_t bytes)
{
    ebb__memory *m = ctx->memory;
    if (!m->has_budget) return false;
    const ebb__account *tight = ebb__account_tight(ctx->account, bytes);
    return !tight || evict_towards(ctx, tight, bytes);
}

ebb_status ebb__room_make(ebb_context *ctx, const size_t need[EBB_KIND_MAX])
{
    const ebb__account *tight;
    size_t bytes = 0;
    for (int k = 0; k < EBB_KIND_CACHE; k++) bytes += need[k];
    while ((tight = ebb__account_tight(ctx->account, bytes)))
        if (!evict_towards(ctx, tight, bytes)) return ebb__room_refuse(ctx, need);
    return EBB_OK;
}

/* Lasting bytes, and what cannot move, lie at the other end. */
static bool lies_high(const ebb__memory *m, ebb_kind kind)
{
    return ebb__arena_is_fixed(m->arena) &&
           (kind == EBB_KIND_PARAMETER || kind == EBB_KIND_GRADIENT ||
            kind == EBB_KIND_OPTIMIZER || kind == EBB_KIND_DATA ||
            kind == EBB_KIND_BOOKKEEPING);
}

/* Under the mutex. */
static void *block_take(ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    ebb__memory *m = ctx->memory;
    if (lies_high(m, kind)) return ebb__arena_alloc_high(m->arena, bytes);
    size_t budget = ebb__account_budget(m->owner->account);
    if (budget)
        ebb__arena_set_limit(
            m->arena, budget - atomic_load_explicit(&m->slab_bytes, memory_order_relaxed));
    return ebb__arena_alloc(m->arena, ebb__pool_part_get(ctx->pool)->number, bytes);
}

/* Where all free bytes must be gathered from all over, most of memory moves for one block. What is
 * cheapest to miss now would have to go for the next blocks: given up a little ahead it leaves
 * holes nearer to each other. */
enum { AT_ONCE = 8 };

bool ebb__hole_make(ebb__memory *m, size_t bytes)
{
    const size_t room = ebb__arena_room(m->arena);
    if (ebb__compact(m, bytes, 2 * bytes)) return true;
    int n = 0;
    while (n < AT_ONCE && room - ebb__arena_used_bytes(m->arena) < bytes + room / 32 &&
           ebb__evict_one(m, NULL, bytes))
        n++;
    if (n || ebb__compact(m, bytes, SIZE_MAX) || ebb__evict_one(m, NULL, bytes)) return true;
    ebb__compact_all(m);
    return ebb__arena_fits(m->arena, bytes);
}

bool ebb__room_block(void **out, ebb_context *ctx, size_t bytes, ebb_kind kind, ebb__big *list)
{
    ebb__memory *m = ctx->memory;
    for (bool more = true; more;) {
        ebb__memory_enter(m);
        void *p = block_take(ctx, bytes, kind);
        if (p) *out = p;
        if (p && list) ebb__list_insert(m, list);
        ebb__memory_leave(m);
        if (p) return true;
        if (!m->has_budget) return false;
        ebb__gate_hold hold;
        ebb__gate_enter_alone(&hold, &m->gate);
        ebb__memory_enter(m);
        more = ebb__hole_make(m, bytes);
        ebb__memory_leave(m);
        ebb__gate_leave(&hold);
    }
    return false;
}

/* ---- what one operation wants ------------------------------------------------------------ */

static bool is_tiny(const ebb__want *w)
{
    return !w->is_scratch && w->bytes <= EBB__TINY_BYTES;
}

/* It has a block of its own. */
static bool has_block(const ebb__want *w)
{
    return !is_tiny(w) && !w->over;
}

static void structs_free(ebb_context *ctx, ebb__want *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (!want[i].value) continue;
        if (is_tiny(&want[i]))
            ebb__value_unuse(want[i].value);
        else
            ebb__object_free(ctx, want[i].value, sizeof(ebb__big));
        want[i].value = NULL;
    }
}

/* The structs, and whole values where they are tiny; false with what refused recorded. */
static bool structs_make(ebb_context *ctx, ebb__want *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        ebb__want *w = &want[i];
        w->value = NULL;
        w->scratch = NULL;
        if (w->is_scratch) continue;
        ebb__big *b = NULL;
        bool ok;
        if (is_tiny(w))
            ok = ebb__value_create(&w->value, ctx, w->bytes, w->kind) == EBB_OK;
        else if ((ok = (b = ebb__big_create(ctx, ebb__block_bytes(w->bytes), w->kind, false)) !=
                       NULL)) {
            w->value = &b->value;
            b->unused = (uint8_t)(ebb__block_bytes(w->bytes) - w->bytes);
        }
        if (ok) continue;
        structs_free(ctx, want, i);
        return false;
    }
    return true;
}

/* Under the mutex: a charged block that is free as it lies. */
static bool block_try(ebb_context *ctx, ebb__want *w)
{
    ebb__memory *m = ctx->memory;
    size_t bytes = ebb__block_bytes(w->bytes);
    if (!ebb__account_try(ctx->account, w->kind, bytes)) return false;
    void *p = block_take(ctx, bytes, w->kind);
    if (!p) {
        ebb__account_take_back(ctx->account, w->kind, bytes);
        return false;
    }
    if (w->is_scratch) {
        w->scratch = p;
        atomic_fetch_add_explicit(&m->scratch_bytes, bytes, memory_order_relaxed);
    } else {
        w->value->data = p;
        w->value->state = EBB__VALUE_RESIDENT;
        atomic_store_explicit(&w->value->pins, 1, memory_order_relaxed);
        ebb__list_insert(m, ebb__big_of(w->value));
    }
    return true;
}

void ebb__wants_unpin(const ebb__want *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (want[i].is_scratch || is_tiny(&want[i])) continue;
        atomic_uint *pins = &want[i].value->pins;
        unsigned now = atomic_load_explicit(pins, memory_order_relaxed);
        atomic_store_explicit(pins, now - 1, memory_order_release);
    }
}

void ebb__wants_drop(ebb_context *ctx, ebb__want *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        if (want[i].is_scratch)
            ebb__scratch_free(ctx, want[i].scratch, want[i].bytes);
        else if (want[i].value->data)
            ebb__value_unuse(want[i].value);
        else
            ebb__object_free(ctx, want[i].value,
                             sizeof(ebb__big)); /* that was to be over another */
        want[i].value = NULL;
        want[i].scratch = NULL;
    }
}

static void made_note(const ebb_context *ctx, const ebb__want *want, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (want[i].value && has_block(&want[i])) ebb__trace_made(ctx->memory, want[i].value);
}

bool ebb__wants_prepare(ebb_context *ctx, ebb__want *want, int32_t n)
{
    ebb_error pending;
    ebb__error_keep(&pending);
    if (structs_make(ctx, want, n)) return true;
    ebb__error_adopt(&pending);
    return false;
}

void ebb__wants_leave(ebb_context *ctx, ebb__want *want, int32_t n)
{
    structs_free(ctx, want, n);
}

bool ebb__wants_try(ebb_context *ctx, ebb__want *want, int32_t n)
{
    ebb__memory *m = ctx->memory;
    int32_t i = 0;
    while (i < n && is_tiny(&want[i])) i++;
    if (i < n) {
        ebb__memory_enter(m);
        while (i < n && (is_tiny(&want[i]) || block_try(ctx, &want[i]))) i++;
        ebb__memory_leave(m);
    }
    made_note(ctx, want, i);
    if (i == n) return true;
    structs_free(ctx, want + i, n - i);
    ebb__wants_unpin(want, i);
    ebb__wants_drop(ctx, want, i);
    return false;
}

static ebb_status block_make(ebb_context *ctx, ebb__want *w)
{
    size_t bytes = ebb__block_bytes(w->bytes);
    if (!w->is_scratch) w->value->state = EBB__VALUE_RESIDENT;
    EBB_TRY(ebb__block_alloc(w->is_scratch ? &w->scratch : &w->value->data, ctx, bytes, w->kind,
                             w->is_scratch ? NULL : ebb__big_of(w->value)));
    if (w->is_scratch)
        atomic_fetch_add_explicit(&ctx->memory->scratch_bytes, bytes, memory_order_relaxed);
    return EBB_OK;
}

/* Has the block it is to be over; or one of its own, where what was given up for the others needs
 * the operand. */
static ebb_status over_make(ebb_context *ctx, ebb__want *w)
{
    if (!w->over || ebb__over_take(w->value, w->over->value, w->over)) return EBB_OK;
    size_t need[EBB_KIND_MAX] = {0};
    need[w->kind] = ebb__block_bytes(w->bytes);
    w->over = NULL;
    EBB_TRY(ebb__room_make(ctx, need));
    EBB_TRY(block_make(ctx, w));
    ebb__trace_made(ctx->memory, w->value);
    return EBB_OK;
}

ebb_status ebb__wants_make(ebb_context *ctx, ebb__want *want, int32_t n)
{
    size_t need[EBB_KIND_MAX] = {0};
    for (int32_t i = 0; i < n; i++)
        if (has_block(&want[i])) need[want[i].kind] += ebb__block_bytes(want[i].bytes);
    if (!structs_make(ctx, want, n)) return ebb__object_refused(sizeof(ebb__big));
    ebb_status status = ebb__room_make(ctx, need);
    int32_t i = 0;
    while (i < n && status == EBB_OK) {
        if (has_block(&want[i])) status = block_make(ctx, &want[i]);
        i += status == EBB_OK;
    }
    made_note(ctx, want, i);
    for (int32_t k = 0; k < n && status == EBB_OK; k++) status = over_make(ctx, &want[k]);
    for (int32_t k = 0; k < n && status == EBB_OK; k++)
        if (want[k].value) ebb__value_pin_reserved(want[k].value);
    if (status == EBB_OK) return EBB_OK;
    structs_free(ctx, want + i, n - i);
    ebb__wants_drop(ctx, want, i);
    return status;
}

/* ---- locks ------------------------------------------------------------------------------- */

static void locks_add(ebb__memory *m, ebb__big *b)
{
    if (b->locks++ == 0) ebb__mirror_locked(m, b);
    EBB_ASSERT(b->locks > 0);
}

static void locks_sub(ebb__memory *m, ebb__big *b)
{
    EBB_ASSERT(b->locks > 0);
    if (--b->locks == 0) ebb__mirror_unlocked(m, b);
}

void ebb__value_lock(ebb__value *v)
{
    if (v->tiny) return;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    ebb__mirror_count(m, ebb__big_of(v));
    ebb__count_up(&v->uses, m->single_threaded);
    locks_add(m, ebb__big_of(v));
    ebb__memory_leave_unchanged(m);
}

void ebb__value_unlock(ebb__value *v)
{
    if (v->tiny) return;
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    locks_sub(m, ebb__big_of(v));
    ebb__use_drop(m, v);
    ebb__memory_leave(m);
}

bool ebb__value_stay(ebb__value *v, bool if_there)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    bool stays = !if_there || v->state == EBB__VALUE_RESIDENT;
    if (stays) {
        ebb__count_up(&v->refs, m->single_threaded);
        locks_add(m, ebb__big_of(v));
    }
    ebb__memory_leave_unchanged(m);
    return stays;
}

void ebb__value_stay_end(ebb__value *v, bool was_read)
{
    ebb__memory *m = v->ctx->memory;
    ebb__memory_enter(m);
    locks_sub(m, ebb__big_of(v));
    bool spare = atomic_load_explicit(&ebb__big_of(v)->spare, memory_order_relaxed);
    if (was_read && spare && atomic_load(&v->uses)) ebb__spare_look(m, v);
    ebb__ref_drop(m, v);
    ebb__memory_leave(m);
}

bool ebb__value_visit(ebb__value *v, uint32_t number)
{
    ebb__big *b = ebb__big_of(v);
    return atomic_exchange_explicit(&b->visit, number, memory_order_relaxed) != number;
}

/* ---- the clock, figures ------------------------------------------------------------------ */

uint64_t ebb__clock(const ebb_context *ctx)
{
    return ebb__memory_now(ctx->memory);
}

void ebb__clock_advance(ebb_context *ctx, float ns)
{
    atomic_ullong *clock = &ctx->memory->clock;
    if (ctx->memory->ledger) /* nobody asks else */
        atomic_fetch_add_explicit(clock, (uint64_t)ns, memory_order_relaxed);
}

void ebb__room_stats_get(ebb__room_stats *out, const ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    *out = (ebb__room_stats){.n_evictions = m->n_evictions,
                             .n_recomputes = m->n_recomputes,
                             .moved_bytes = m->moved_bytes,
                             .recompute_ns = m->recompute_ns,
                             .recompute_cost = m->recompute_cost};
    ebb__memory_leave_unchanged(m);
}

void ebb__room_recomputed(ebb_context *ctx, uint64_t ns, float cost)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    m->n_recomputes++;
    m->recompute_ns += ns;
    m->recompute_cost += cost;
    ebb__memory_leave_unchanged(m);
}
