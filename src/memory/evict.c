/* evict.c - which bytes to give up: those that are cheapest to miss.
 *
 * Each eviction looks at all candidates. The score of one is what it takes to make it again,
 * recipes of inputs that are gone included, over its bytes and the time until it is needed. That
 * time is known for what a backward under way will read; else it is as long as it has not been
 * used (Kirisame et al., 2021). What only handles hold and some operation has read goes first:
 * most of it is never asked for.
 * SPDX-License-Identifier: MIT */
#include "memory/room.h"

#include <float.h>

enum { LOOK_MAX = 64 }; /* dropped values that one score looks at, each way */

static bool counts_for(const ebb__value *v, const ebb__account *tight)
{
    if (!tight) return true;
    for (const ebb_context *ctx = v->ctx; ctx; ctx = ctx->parent)
        if (ctx->account == tight) return true;
    return false;
}

static bool evictable(const ebb__big *b, const ebb__account *tight)
{
    const ebb__value *v = &b->value;
    return v->state == EBB__VALUE_RESIDENT && v->recipe && !v->recipe->broken && !b->locks &&
           (v->kind == EBB_KIND_ACTIVATION || v->kind == EBB_KIND_TEMPORARY) &&
           atomic_load_explicit(&v->pins, memory_order_relaxed) == 0 && counts_for(v, tight);
}

typedef struct seen {
    const ebb__value *value[LOOK_MAX];
    int n;
} seen;

/* False where it was seen before, or no more are looked at. */
static bool see(seen *s, const ebb__value *v)
{
    for (int i = 0; i < s->n; i++)
        if (s->value[i] == v) return false;
    if (s->n == LOOK_MAX) return false;
    s->value[s->n++] = v;
    return true;
}

/* What it takes to make v again, with the dropped values it is made from. */
static double back_cost(const ebb__value *v)
{
    seen s = {.n = 0};
    double cost = ebb__record_cost(v->recipe);
    const ebb__value *at = v;
    for (int next = 0;; at = s.value[next++]) {
        const ebb__record *r = at->recipe;
        for (uint32_t i = 0; r && i < r->n_in; i++) {
            const ebb__value *in = r->in[i];
            if (in && !in->tiny && in->state == EBB__VALUE_DROPPED && see(&s, in))
                cost += ebb__record_cost(in->recipe);
        }
        if (next == s.n) return cost;
    }
}

static bool is_spare(const ebb__big *b, uint64_t now)
{
    return atomic_load_explicit(&b->value.saves, memory_order_relaxed) == 0 &&
           b->value.kind == EBB_KIND_ACTIVATION &&
           !atomic_load_explicit(&b->kept, memory_order_relaxed) &&
           atomic_load_explicit(&b->read_at, memory_order_relaxed) &&
           atomic_load_explicit(&b->next_at, memory_order_relaxed) <= now;
}

typedef struct use {
    uint64_t next; /* 0: not known */
    bool spare;    /* only handles hold it and what is made from it */
} use;

/* The next use, of its own or of a dropped value that it is wanted for. */
static use use_find(ebb__big *b, uint64_t now)
{
    seen s = {.n = 0};
    use u = {.next = UINT64_MAX, .spare = true};
    for (int next = 0;; b = ebb__big_of((ebb__value *)(uintptr_t)s.value[next++])) {
        uint64_t at = atomic_load_explicit(&b->next_at, memory_order_relaxed);
        if (at > now && at < u.next) u.next = at;
        u.spare = u.spare && is_spare(b, now);
        for (const ebb__read *read = b->value.readers; read; read = read->next)
            for (uint32_t k = 0; k < read->record->n_out; k++) {
                const ebb__value *out = read->record->out[k];
                if (out && ebb__recipe_of(out) == read->record &&
                    out->state == EBB__VALUE_DROPPED &&
                    atomic_load_explicit(&out->uses, memory_order_relaxed))
                    see(&s, out);
            }
        if (next == s.n) break;
    }
    if (u.next == UINT64_MAX) u.next = 0;
    return u;
}

/* What is free afterwards: temporaries that cannot be made again, and that v is made from, stay
 * for its sake, though they would soon go. Where that is as much, it is the last resort. */
static double gain(const ebb__value *v)
{
    double kept = 0, bytes = (double)v->bytes;
    for (uint32_t i = 0; i < v->recipe->n_in; i++) {
        const ebb__value *in = v->recipe->in[i];
        if (in && !in->tiny && in->kind == EBB_KIND_TEMPORARY && !in->recipe)
            kept += (double)in->bytes;
    }
    return bytes - kept > bytes / 1024 ? bytes - kept : bytes / 1024;
}

static double score(ebb__big *b, uint64_t now)
{
    const double long_time = 1e15; /* ns: later than anything known */
    uint64_t read = atomic_load_explicit(&b->read_at, memory_order_relaxed);
    uint64_t last = read ? read : b->made_at;
    double unused = now > last ? (double)(now - last) : 0;
    use u = use_find(b, now);
    double horizon = u.next ? (double)(u.next - now) : u.spare ? long_time + unused : unused;
    return back_cost(&b->value) / (gain(&b->value) * (horizon + 1));
}

static ebb__big *cheapest(ebb__memory *m, const ebb__account *tight)
{
    uint64_t now = ebb__memory_now(m);
    ebb__big *best = NULL;
    double least = DBL_MAX;
    for (ebb__big *b = m->all; b; b = b->next) {
        if (!evictable(b, tight)) continue;
        double x = score(b, now);
        if (x >= least) continue;
        least = x;
        best = b;
    }
    return best;
}

bool ebb__evict_one(ebb__memory *m, const ebb__account *tight)
{
    enum { TRIES = 16 }; /* one was just pinned, or what makes it turned out to be lost */
    for (int i = 0; i < TRIES; i++) {
        ebb__big *best = cheapest(m, tight);
        if (!best) return false;
        if (!ebb__drop(m, &best->value)) continue;
        m->n_evictions++;
        return true;
    }
    return false;
}

void ebb__evictable_by_kind(size_t out[EBB_KIND_MAX], ebb__memory *m, const ebb__account *tight)
{
    for (const ebb__big *b = m->all; b; b = b->next)
        if (evictable(b, tight)) out[b->value.kind] += b->value.bytes;
}

size_t ebb__evictable_bytes(ebb__memory *m, const ebb__account *tight)
{
    size_t by_kind[EBB_KIND_MAX] = {0};
    ebb__evictable_by_kind(by_kind, m, tight);
    return by_kind[EBB_KIND_ACTIVATION] + by_kind[EBB_KIND_TEMPORARY];
}
