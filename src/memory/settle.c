/* settle.c - what follows when bytes are no longer needed: by work list, under the mutex.
 *
 * idle: uses became 0, so the bytes go, and the value is DROPPED where its recipe is in force,
 * else LOST. One that was dropped gives back the uses it held of its recipe's inputs.
 *
 * lost: the bytes are gone for ever. Records that read them break, which makes sources of their
 * resident outputs and lost values of their dropped (and so unneeded) ones.
 *
 * dead: a record nobody holds lets go of what it reads and saves.
 *
 * Invariant: a value is in one list at a time: those in `idle` still have the ref of their
 * uses, those in `lost` have one of the list, and a value without refs is destroyed at once.
 * SPDX-License-Identifier: MIT */
#include "memory/memory.h"

/* ---- bytes ------------------------------------------------------------------------------- */

/* Callbacks are due after the mutex is given back. */
static void gone_note(ebb__memory *m, ebb__big *b)
{
    bool done = b->value.external && ((ebb__external *)b)->done;
    if (!m->trace && !done) return;
    if (b->n_gone++) return; /* it waits already, in this thread's list or in another's */
    atomic_fetch_add_explicit(&b->value.refs, 1, memory_order_relaxed);
    b->gone = m->gone;
    m->gone = b;
}

void ebb__bytes_free(ebb__memory *m, ebb__value *v)
{
    if (!v->external) {
        ebb__arena_free(m->arena, v->data, v->bytes);
        ebb__account_discharge(v->ctx->account, v->kind, v->bytes);
    }
    v->data = NULL;
    gone_note(m, ebb__big_of(v));
}

/* ---- counts ------------------------------------------------------------------------------ */

void ebb__use_drop(ebb__memory *m, ebb__value *v)
{
    if (atomic_fetch_sub_explicit(&v->uses, 1, memory_order_acq_rel) != 1) return;
    ebb__big *b = ebb__big_of(v);
    b->work = m->idle;
    m->idle = b;
}

static void object_dead(ebb__memory *m, void *p, size_t bytes)
{
    ebb__dead_object *dead = p;
    dead->bytes = bytes;
    dead->next = m->dead_objects;
    m->dead_objects = dead;
}

static void big_destroy(ebb__memory *m, ebb__big *b)
{
    EBB_ASSERT(!b->value.data && atomic_load(&b->value.uses) == 0);
    ebb__recipe_drop(m, &b->value);
    *b->prev = b->next;
    if (b->next) b->next->prev = b->prev;
    object_dead(m, b, ebb__big_bytes(b));
}

void ebb__ref_drop(ebb__memory *m, ebb__value *v)
{
    if (!v->tiny) {
        if (atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1)
            big_destroy(m, ebb__big_of(v));
        return;
    }
    if (!ebb__count_down(&v->refs, m->single_threaded)) return;
    if (m->trace) {
        v->next_gone = m->gone_tiny;
        m->gone_tiny = v;
    } else {
        ebb__account_discharge_pooled(v->ctx->account, v->kind, v->bytes);
        object_dead(m, v, ebb__tiny_bytes(v->bytes));
    }
}

void ebb__record_unref(ebb__memory *m, ebb__record *r)
{
    if (!ebb__count_down(&r->refs, m->single_threaded)) return;
    r->next_dead = m->dead;
    m->dead = r;
}

void ebb__recipe_drop(ebb__memory *m, ebb__value *v)
{
    ebb__record *r = ebb__recipe_of(v);
    if (!r) return;
    uint32_t k = v->out_index;
    if (!(r->saved_out & ebb__out_bit(k))) r->out[k] = NULL;
    v->recipe = NULL;
    v->depth = 0;
    ebb__record_unref(m, r);
}

void ebb__inputs_unuse(ebb__memory *m, ebb__record *r)
{
    for (uint32_t i = 0; i < r->n_in; i++)
        if (r->in[i] && !r->in[i]->tiny) ebb__use_drop(m, r->in[i]);
}

/* ---- cascades ---------------------------------------------------------------------------- */

static void lose(ebb__memory *m, ebb__value *v)
{
    ebb__big *b = ebb__big_of(v);
    v->state = EBB__VALUE_LOST;
    if (v->moved || !v->readers) return;
    atomic_fetch_add_explicit(&v->refs, 1, memory_order_relaxed);
    b->work = m->lost;
    m->lost = b;
}

/* Gives back the refs that reading holds. */
static void reads_drop(ebb__memory *m, ebb__record *r)
{
    r->broken = true;
    for (uint32_t i = 0; i < r->n_in; i++) {
        ebb__value *v = r->in[i];
        if (!v) continue;
        if (!v->tiny) {
            const ebb__read *read = &ebb__record_reads(r)[i];
            *read->prev = read->next;
            if (read->next) read->next->prev = read->prev;
        }
        if (!(r->saved_in & ebb__in_bit(i))) r->in[i] = NULL;
        ebb__ref_drop(m, v);
    }
}

void ebb__record_break(ebb__memory *m, ebb__record *r)
{
    if (r->broken) return;
    reads_drop(m, r);
    for (uint32_t k = 0; k < r->n_out; k++) {
        ebb__value *v = r->out[k];
        if (!v || ebb__recipe_of(v) != r) continue;
        EBB_ASSERT(v->state != EBB__VALUE_DROPPED || atomic_load(&v->uses) == 0);
        ebb__recipe_drop(m, v);
        if (v->state == EBB__VALUE_DROPPED) lose(m, v);
    }
}

static void idle_settle(ebb__memory *m, ebb__value *v)
{
    bool in_force = ebb__recipe_of(v) && !ebb__recipe_of(v)->broken;
    if (v->state == EBB__VALUE_DROPPED) {
        ebb__inputs_unuse(m, ebb__recipe_of(v));
    } else if (v->state == EBB__VALUE_RESIDENT) {
        ebb__bytes_free(m, v);
        v->state = EBB__VALUE_DROPPED;
        if (!in_force) lose(m, v);
    }
    ebb__ref_drop(m, v); /* that of the uses */
}

/* What it saves is given back by its node before; where not, here. */
static void record_die(ebb__memory *m, ebb__record *r)
{
    uint64_t saved_in = r->saved_in;
    uint32_t saved_out = r->saved_out;
    r->saved_in = 0;
    r->saved_out = 0;
    for (uint32_t n = r->n_in + r->n_out, i = 0; i < n; i++) {
        bool is_in = i < r->n_in;
        ebb__value *v = is_in ? r->in[i] : r->out[i - r->n_in];
        bool saved = is_in ? saved_in & ebb__in_bit(i) : saved_out & ebb__out_bit(i - r->n_in);
        if (!v || !saved) continue;
        ebb__save_count(r, v, -1);
        if (v->tiny)
            ebb__ref_drop(m, v);
        else
            ebb__use_drop(m, v);
    }
    if (!r->broken) reads_drop(m, r);
    if (r->bytes > EBB__POOL_MAX)
        ebb__record_free(r);
    else
        object_dead(m, r, r->bytes);
}

void ebb__settle(ebb__memory *m)
{
    for (;;) {
        if (m->idle) {
            ebb__big *b = m->idle;
            m->idle = b->work;
            idle_settle(m, &b->value);
        } else if (m->lost) {
            ebb__big *b = m->lost;
            m->lost = b->work;
            while (b->value.readers) ebb__record_break(m, b->value.readers->record);
            ebb__ref_drop(m, &b->value);
        } else if (m->dead) {
            ebb__record *r = m->dead;
            m->dead = r->next_dead;
            record_die(m, r);
        } else {
            return;
        }
    }
}

/* ---- callbacks --------------------------------------------------------------------------- */

/* What waits for callbacks of the outermost leave on this thread: a done hook that lets go of
 * other values adds to it instead of calling their hooks from inside. */
typedef struct pending {
    ebb__big *big;
    ebb__value *tiny;
} pending;
static _Thread_local pending *outermost;

static void pending_add(pending *p, ebb__big *big, ebb__value *tiny)
{
    for (ebb__big *next; big; big = next) {
        next = big->gone;
        big->gone = p->big;
        p->big = big;
    }
    for (ebb__value *next; tiny; tiny = next) {
        next = tiny->next_gone;
        tiny->next_gone = p->tiny;
        p->tiny = tiny;
    }
}

static void big_callbacks(ebb__big *b)
{
    ebb__memory *m = b->value.ctx->memory;
    void (*done)(void *) = NULL;
    void *user = NULL;
    ebb__memory_enter(m);
    uint32_t n = b->n_gone;
    b->n_gone = 0;
    if (b->value.external) {
        ebb__external *e = (ebb__external *)b;
        done = e->done;
        user = e->user;
        e->done = NULL;
    }
    ebb__memory_leave(m);
    for (uint32_t i = 0; i < n; i++) ebb__trace_event(m, &b->value, false);
    if (done) done(user);
    ebb__memory_enter(m);
    ebb__ref_drop(m, &b->value);
    ebb__memory_leave(m);
}

static __attribute__((noinline)) void run_callbacks(ebb__big *big, ebb__value *tiny)
{
    if (outermost) {
        pending_add(outermost, big, tiny);
        return;
    }
    pending mine = {0};
    pending_add(&mine, big, tiny); /* turns the newest-first list into the order of going */
    outermost = &mine;
    while (mine.big || mine.tiny) {
        if (mine.big) {
            ebb__big *b = mine.big;
            mine.big = b->gone;
            big_callbacks(b);
        } else {
            ebb__value *v = mine.tiny;
            mine.tiny = v->next_gone;
            ebb__trace_event(v->ctx->memory, v, false);
            ebb__tiny_free(v);
        }
    }
    outermost = NULL;
}

void ebb__memory_leave(ebb__memory *m)
{
    ebb__settle(m);
    ebb__big *big = m->gone;
    ebb__value *tiny = m->gone_tiny;
    ebb__dead_object *dead = m->dead_objects;
    m->gone = NULL;
    m->gone_tiny = NULL;
    m->dead_objects = NULL;
    if (!m->single_threaded) pthread_mutex_unlock(&m->mutex);
    if (dead) {
        ebb__pool_part *part = ebb__pool_part_get(m->root->pool);
        for (ebb__dead_object *next; dead; dead = next) {
            next = dead->next;
            ebb__pool_part_free(part, dead, dead->bytes);
        }
    }
    if (big || tiny) run_callbacks(big, tiny);
}
