/* memory_record.c - one application of an operation: what is saved, and how to run it again.
 *
 * Invariants: a record holds a ref of each in[] it reads (linked, not broken) and a use of each
 * in[] and out[] it saves; each value it is the recipe of holds a ref of the record. in[] and
 * out[] have no other pointers once recording is over, so none can dangle.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"

#include <string.h>

ebb_status ebb__record_create(ebb__record **out, ebb_context *ctx, const struct ebb_op *op,
                              uint16_t n_in, uint16_t n_out, bool is_recipe,
                              uint32_t tail_bytes)
{
    size_t pointers = sizeof(ebb__record) + ((size_t)n_in + n_out) * sizeof(ebb__value *);
    size_t reads = is_recipe ? n_in * sizeof(ebb__read) : 0;
    size_t head = pointers + reads, bytes = head + ((tail_bytes + 7u) & ~(size_t)7);
    void *memory;
    EBB_TRY(ebb__large_alloc(&memory, ctx, bytes));
    if (is_recipe) ebb__mirror_room(ctx, n_in, n_out);
    ebb__record *r = memory;
    memset(r, 0, head);
    atomic_init(&r->refs, 1);
    r->n_in = n_in;
    r->n_out = n_out;
    r->is_recipe = is_recipe;
    r->broken = true;
    r->bytes = (uint32_t)bytes;
    r->op = op;
    r->ctx = ctx;
    r->in = (ebb__value **)(r + 1);
    r->out = r->in + n_in;
    *out = r;
    return EBB_OK;
}

void ebb__record_free(ebb__record *r)
{
    ebb__large_free(r->ctx, r, r->bytes);
}

ebb__record *ebb__record_keep(ebb__record *r)
{
    if (r) ebb__count_up(&r->refs, r->ctx->single_threaded);
    return r;
}

void ebb__record_release(ebb__record *r)
{
    if (!r || !ebb__count_down(&r->refs, r->ctx->single_threaded)) return;
    /* Only a recipe is known to others; what is in the pool is freed without the mutex. */
    if (!r->is_recipe && r->bytes <= EBB__POOL_MAX) {
        ebb__record_unsave(r);
        ebb__record_free(r);
        return;
    }
    ebb__memory *m = r->ctx->memory;
    ebb__memory_enter(m);
    r->next_dead = m->dead;
    m->dead = r;
    ebb__memory_leave(m);
}

static inline void save_one(const ebb__record *r, ebb__value *v)
{
    ebb__value_use(v);
    ebb__save_count(r, v, 1);
}

void ebb__record_save(ebb__record *r, uint32_t in_mask, uint32_t out_mask)
{
    EBB_ASSERT(!r->saved_in && !r->saved_out && r->broken);
    for (uint32_t i = 0; i < r->n_in; i++) {
        if (!r->in[i]) continue;
        if (in_mask & ebb__in_bit(i))
            save_one(r, r->in[i]);
        else if (!r->is_recipe)
            r->in[i] = NULL;
    }
    for (uint32_t k = 0; k < r->n_out; k++) {
        if (!r->out[k]) continue;
        if (out_mask & ebb__out_bit(k))
            save_one(r, r->out[k]);
        else if (!r->is_recipe)
            r->out[k] = NULL;
    }
    r->saved_in = in_mask;
    r->saved_out = out_mask;
}

/* Gives back one save; the mutex is held where the record is a recipe. */
static void unsave_one(ebb__memory *m, const ebb__record *r, ebb__value **slot, bool keep)
{
    ebb__value *v = *slot;
    if (!v) return;
    if (!keep) *slot = NULL;
    ebb__save_count(r, v, -1);
    if (!r->is_recipe) {
        ebb__value_unuse(v);
    } else if (v->tiny) {
        ebb__ref_drop(m, v);
    } else {
        ebb__use_drop(m, v);
        if (m->ledger && atomic_load(&v->uses) && !atomic_load(&v->saves))
            ebb__mirror_expect(m, ebb__big_of(v));
    }
}

void ebb__record_unsave(ebb__record *r)
{
    if (!r->saved_in && !r->saved_out) return;
    ebb__memory *m = r->ctx->memory;
    if (r->is_recipe) ebb__memory_enter(m);
    for (uint32_t i = 0; r->saved_in && i < r->n_in; i++)
        if (r->saved_in & ebb__in_bit(i)) unsave_one(m, r, &r->in[i], !r->broken);
    for (uint32_t k = 0; r->saved_out && k < r->n_out; k++)
        if (r->saved_out & ebb__out_bit(k))
            unsave_one(m, r, &r->out[k], r->out[k] && ebb__recipe_of(r->out[k]) == r);
    r->saved_in = 0;
    r->saved_out = 0;
    if (r->is_recipe) ebb__memory_leave(m);
}

size_t ebb__saved_bytes(const ebb_context *ctx)
{
    int64_t bytes = ebb__pool_count(ctx->pool, EBB__COUNT_SAVED_BYTES);
    return bytes > 0 ? (size_t)bytes : 0; /* parts read one by one may not belong together */
}

/* The depth of what the record makes; 0 where it cannot be a recipe. Of what lies elsewhere only
 * sources are read: to make another again would be work in the other memory. */
static uint32_t link_depth(const ebb__memory *m, const ebb__record *r)
{
    uint32_t depth = 1;
    for (uint32_t i = 0; i < r->n_in; i++) {
        const ebb__value *v = r->in[i];
        if (!v || v->tiny) continue;
        if (v->state == EBB__VALUE_LOST) return 0;
        uint32_t above = ebb__depth_get(v);
        if (above && ebb__is_elsewhere(m, v)) return 0;
        if (above + 1 > depth) depth = above + 1;
    }
    return depth < EBB__RECIPE_DEPTH_MAX ? depth : 0;
}

static void reads_link(ebb__memory *m, ebb__record *r)
{
    r->broken = false;
    ebb__mirror_linked(m, r);
    for (uint32_t i = 0; i < r->n_in; i++) {
        ebb__value *v = r->in[i];
        if (!v) continue;
        ebb__count_up(&v->refs, m->single_threaded);
        if (v->tiny || ebb__is_elsewhere(m, v)) continue;
        ebb__mirror_know(m, ebb__big_of(v));
        ebb__read *read = &ebb__record_reads(r)[i];
        read->record = r;
        read->next = v->readers;
        read->prev = &v->readers;
        if (read->next) read->next->prev = &read->next;
        v->readers = read;
    }
}

void ebb__record_link(ebb__record *r)
{
    EBB_ASSERT(r->is_recipe && r->broken);
    ebb__memory *m = r->ctx->memory;
    uint32_t n_made = 0;
    ebb__memory_enter(m);
    uint32_t depth = ebb__mirror_fits(m, r) ? link_depth(m, r) : 0;
    for (uint32_t k = 0; k < r->n_out; k++) {
        ebb__value *v = r->out[k];
        if (!v) continue;
        if (depth && !v->tiny && (!v->external || v->phantom)) {
            EBB_ASSERT(!ebb__recipe_of(v));
            v->recipe = r;
            v->out_index = (uint16_t)k;
            ebb__depth_set(v, (uint16_t)depth);
            ebb__count_up(&r->refs, m->single_threaded);
            ebb__mirror_know(m, ebb__big_of(v));
            n_made++;
        } else if (!(r->saved_out & ebb__out_bit(k))) {
            r->out[k] = NULL;
        }
    }
    if (n_made) {
        reads_link(m, r);
        if (m->ledger) ebb__mirror_made(m, r); /* else it is told when it wakes */
    }
    if (m->ledger) ebb__mirror_read(m, r);
    if (!n_made) {
        for (uint32_t i = 0; i < r->n_in; i++)
            if (!(r->saved_in & ebb__in_bit(i))) r->in[i] = NULL;
    }
    ebb__memory_leave(m);
}
