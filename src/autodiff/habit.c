/* habit.c - which values a training step does not read again, learned from the steps before.
 *
 * A step lasts from the end of one backward to the end of the next. Its operations are hashed
 * one after the other, with their shapes and how far back each operand was made, and for each
 * value made the operation that read it last is noted. The next step
 * gives up values after their last read as long as it is the same; nothing has to be undone where
 * it turns out otherwise, for what is read after all is made again. What the
 * user has read himself, or a later step, is never given up.
 *
 * Under a budget nothing is given up so: what is made again may read it. There the habit is that of
 * the memory, from its first operation on, and follow.c learns more.
 *
 * One thread's: where a second one runs operations in the context, learning ends for good.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"
#include "autodiff/follow.h"

#include "memory/reserve.h"

#include <string.h>

static const uint32_t NEVER = UINT32_MAX;

typedef struct steps {
    uint64_t *hash; /* of the operations up to here, each */
    uint32_t *last; /* per value: the operation that read it last; NEVER: to be kept */
    uint32_t n_ops, max_ops, n_values, max_values;
    uint32_t number; /* of the step */
} steps;

struct ebb__habit {
    steps now, before;
    const ebb_context *ctx;
    ebb__follow *follow;                       /* under a budget, then nothing else is used */
    _Atomic(const ebb__thread_token *) thread; /* NULL: of the first operation */
    atomic_bool busy, ended;
    bool pauses; /* its thread's */
    bool dear;   /* what is given up costs more than it gains */
};

static uint64_t mix(uint64_t hash, uint64_t x)
{
    hash = (hash ^ x) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static void steps_free(steps *s)
{
    ebb__free(&ebb__allocator_libc, s->hash, s->max_ops * sizeof *s->hash);
    ebb__free(&ebb__allocator_libc, s->last, s->max_values * sizeof *s->last);
}

void ebb__habit_destroy(ebb__habit *h)
{
    if (!h) return;
    ebb__follow_destroy(h->follow);
    steps_free(&h->now);
    steps_free(&h->before);
    ebb__free(&ebb__allocator_libc, h, sizeof *h);
}

void ebb__habit_end(ebb_context *ctx)
{
    ebb__habit *h = ebb__habit_of(ctx);
    atomic_store(&ctx->engine->habit, NULL);
    if (h && h->ctx == ctx) ebb__habit_destroy(h);
}

static bool grow(void **items, uint32_t n, uint32_t *max, size_t size)
{
    enum { MOST = 1 << 24 };
    if (n < *max) return true;
    uint32_t want = *max ? 2 * *max : 256;
    void *p = want <= MOST ? ebb__alloc(&ebb__allocator_libc, want * size, 16) : NULL;
    if (!p) return false;
    if (*max) memcpy(p, *items, *max * size);
    ebb__free(&ebb__allocator_libc, *items, *max * size);
    *items = p;
    *max = want;
    return true;
}

static void leave(ebb__habit *h)
{
    /* Where another thread came by meanwhile, nobody else will. */
    if (h->follow && atomic_load(&h->ended)) ebb__follow_end(h->follow);
    atomic_store_explicit(&h->busy, false, memory_order_release);
}

/* False where it is another thread's, or over. */
static bool enter(ebb__habit *h)
{
    const ebb__thread_token *self = ebb__thread_self(), *none = NULL;
    if (atomic_load_explicit(&h->ended, memory_order_relaxed)) return false;
    if (atomic_load_explicit(&h->thread, memory_order_relaxed) != self &&
        !atomic_compare_exchange_strong(&h->thread, &none, self)) {
        atomic_store(&h->ended, true);
        if (!atomic_exchange(&h->busy, true)) leave(h);
        return false;
    }
    if (!atomic_exchange(&h->busy, true)) return true;
    atomic_store(&h->ended, true);
    return false;
}

/* The value's number in the step; NEVER: it is not of this step. */
static uint32_t number_in(const steps *s, const ebb__value *v)
{
    uint64_t born = ebb__value_born(v);
    return s->number && born >> 32 == s->number ? (uint32_t)born : NEVER;
}

static uint64_t call_hash(const ebb__habit *h, const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    uint64_t x = h->now.n_ops ? h->now.hash[h->now.n_ops - 1] : 0;
    x = mix(x, (uintptr_t)c->op);
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!a->slot[i]) continue;
        uint32_t made = number_in(&h->now, ebb__operand(a, i));
        x = mix(x, made == NEVER ? 1 : 2 + (uint64_t)(h->now.n_values - made));
    }
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        x = mix(x, (uint64_t)c->out[k].dtype << 8 | (uint64_t)c->out[k].shape.n_dims);
        for (int64_t d = 0; d < c->out[k].shape.n_dims; d++)
            x = mix(x, (uint64_t)c->out[k].shape.dims[d]);
    }
    return x;
}

static void read_note(ebb__habit *h, const ebb__value *v, uint32_t at)
{
    uint32_t i = number_in(&h->now, v), earlier = number_in(&h->before, v);
    if (i != NEVER && h->now.last[i] != NEVER) h->now.last[i] = at;
    if (earlier != NEVER) h->before.last[earlier] = NEVER;
}

static bool made_note(ebb__habit *h, const ebb__apply *a, uint32_t at)
{
    const ebb__call *c = &a->call;
    steps *s = &h->now;
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        if (!grow((void **)&s->last, s->n_values, &s->max_values, sizeof *s->last))
            return false;
        ebb__value_set_born(a->made[k], (uint64_t)s->number << 32 | s->n_values);
        s->last[s->n_values++] = at;
    }
    return true;
}

static void give_up(const ebb__habit *h, ebb__value *v, uint32_t at, bool same)
{
    uint32_t i = number_in(&h->now, v);
    if (i == NEVER) return;
    if (same && i < h->before.n_values && h->before.last[i] == at)
        ebb__value_set_spare(v);
    else
        ebb__value_clear_spare(v);
}

void ebb__habit_op(const ebb__apply *a)
{
    ebb__habit *h = ebb__habit_of(a->call.ctx);
    const ebb__call *c = &a->call;
    if (!enter(h)) return;
    if (h->follow) {
        if (!h->pauses) ebb__follow_op(h->follow, a);
        leave(h);
        return;
    }
    steps *s = &h->now;
    uint32_t at = s->n_ops;
    if (!grow((void **)&s->hash, at, &s->max_ops, sizeof *s->hash)) {
        atomic_store(&h->ended, true);
        leave(h);
        return;
    }
    s->hash[at] = call_hash(h, a);
    s->n_ops++;
    for (int32_t i = 0; i < c->n_in; i++)
        if (a->slot[i]) read_note(h, ebb__operand(a, i), at);
    if (!made_note(h, a, at)) atomic_store(&h->ended, true);
    bool same = !h->dear && at < h->before.n_ops && h->before.hash[at] == s->hash[at];
    for (int32_t i = 0; i < c->n_in; i++)
        if (a->slot[i]) give_up(h, ebb__operand(a, i), at, same);
    leave(h);
}

void ebb__habit_read(ebb__habit *h, ebb__value *v)
{
    if (v->tiny || h->follow || !enter(h)) return;
    uint32_t i = number_in(&h->now, v), earlier = number_in(&h->before, v);
    if (i != NEVER) h->now.last[i] = NEVER;
    if (earlier != NEVER) h->before.last[earlier] = NEVER;
    ebb__value_clear_spare(v);
    leave(h);
}

static ebb__habit *habit_make(const ebb_context *ctx)
{
    ebb__habit *h = ebb__alloc(&ebb__allocator_libc, sizeof *h, 16);
    if (!h) return NULL;
    memset(h, 0, sizeof *h);
    h->ctx = ctx;
    return h;
}

void ebb__habit_begin(ebb_context *ctx)
{
    const size_t least = (size_t)512 << 10; /* in less each table weighs */
    ebb_context *owner = ebb__memory_owner(ctx);
    if (!ebb__budget_gate(ctx) || ebb__memory_budget(ctx) < least) return;
    if (owner != ctx) {
        if (owner->engine) atomic_store(&ctx->engine->habit, ebb__habit_of(owner));
        return;
    }
    ebb__habit *h = habit_make(ctx);
    if (h && !(h->follow = ebb__follow_create(ctx))) {
        ebb__habit_destroy(h);
        h = NULL;
    }
    atomic_store(&ctx->engine->habit, h);
}

/* Does it pay to give up what operations made, and not only cost: are there bytes enough to an
 * operation, and do updates not copy parameters for it? */
static bool pays(const ebb_context *ctx, int64_t n_nodes)
{
    const size_t least = 512; /* a node and what learning notes of it take as much */
    ebb_stats s = {0};
    ebb__account_stats(&s, ctx->account);
    size_t bytes = s.bytes[EBB_KIND_ACTIVATION];
    return bytes >= least * (size_t)n_nodes &&
           (bytes >= 2 * s.bytes[EBB_KIND_PARAMETER] || !ebb__memory_copies(ctx));
}

void ebb__habit_weigh(ebb_context *ctx, int64_t n_nodes)
{
    if (ctx->engine->dry) return;
    ebb__habit *h = ebb__habit_of(ctx), *none = NULL;
    if (h && h->follow && enter(h)) {
        ebb__follow_turn(h->follow);
        leave(h);
    }
    if (ebb__budget_gate(ctx)) return;
    if (h && !h->dear && ebb__memory_copies(ctx) && enter(h)) {
        h->dear = !pays(ctx, n_nodes);
        leave(h);
    }
    if (h || !pays(ctx, n_nodes)) return;
    h = habit_make(ctx);
    if (!h) return;
    h->thread = ebb__thread_self();
    if (!atomic_compare_exchange_strong(&ctx->engine->habit, &none, h)) ebb__habit_destroy(h);
}

static void steps_turn(ebb__habit *h)
{
    steps done = h->now;
    bool same = done.n_ops > 0 && done.n_ops == h->before.n_ops &&
                done.n_values == h->before.n_values &&
                done.hash[done.n_ops - 1] == h->before.hash[done.n_ops - 1];
    for (uint32_t i = 0; same && i < done.n_values; i++)
        if (h->before.last[i] == NEVER) done.last[i] = NEVER;
    h->now = h->before;
    h->before = done;
    h->now.n_ops = h->now.n_values = 0;
    h->now.number = (uint32_t)ebb__unique_id();
}

void ebb__habit_step(ebb_context *ctx)
{
    ebb__habit *h = ebb__habit_of(ctx);
    if (!h || !enter(h)) return;
    if (h->follow)
        ebb__follow_step(h->follow);
    else
        steps_turn(h);
    leave(h);
}

void ebb__habit_pause(ebb_context *ctx, bool pauses)
{
    ebb__habit *h = ebb__habit_of(ctx);
    if (h && h->follow && atomic_load(&h->thread) == ebb__thread_self()) h->pauses = pauses;
}

ebb__value *ebb__habit_before(ebb_context *ctx)
{
    ebb__habit *h = ebb__habit_of(ctx);
    if (!h || !h->follow || atomic_load(&h->thread) != ebb__thread_self() || h->pauses)
        return NULL;
    if (!ebb__follow_acts(h->follow) || !enter(h)) return NULL;
    ebb__value *v = ebb__follow_before(h->follow);
    leave(h);
    return v;
}

bool ebb__habit_refused(ebb_context *ctx, size_t missing)
{
    ebb__habit *h = ctx->engine ? ebb__habit_of(ctx) : NULL;
    if (!h || !h->follow || atomic_load(&h->busy)) return false;
    const size_t before = ebb__notes_bytes(ctx);
    if (!enter(h)) return ebb__notes_bytes(ctx) < before; /* another thread's: it has ended */
    bool again = ebb__follow_refused(h->follow, missing);
    leave(h);
    return again;
}

bool ebb__habit_tells(const ebb_context *ctx)
{
    const ebb__habit *h = ebb__habit_of(ctx);
    return h && h->follow && atomic_load(&h->thread) == ebb__thread_self() &&
           !atomic_load(&h->ended) && ebb__follow_tells(h->follow);
}

void ebb__habit_stats(ebb__follow_stats *out, const ebb_context *ctx)
{
    const ebb__habit *h = ebb__habit_of(ctx);
    *out = (ebb__follow_stats){0};
    if (h && h->follow && atomic_load(&h->thread) == ebb__thread_self())
        ebb__follow_stats_get(out, h->follow);
}
