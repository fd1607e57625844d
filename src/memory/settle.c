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
 * elsewhere: values of other memories whose last use or ref goes; each keeps it while it waits,
 * so only one thread at a time can put a value there, and none of its own memory's lists can
 * have it.
 *
 * Invariant: a value is in one list at a time: those in `idle` still have the ref of their
 * uses, those in `lost` have one of the list, and a value without refs is destroyed at once.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"

/* ---- bytes ------------------------------------------------------------------------------- */

/* Callbacks are due after the mutex is given back. */
static void gone_note(ebb__memory *m, ebb__big *b)
{
    bool done = b->value.external && ((ebb__external *)b)->done;
    if (!m->top->trace && !done) return;
    if (b->n_gone++) return; /* it waits already, in this thread's list or in another's */
    atomic_fetch_add_explicit(&b->value.refs, 1, memory_order_relaxed);
    b->gone = m->gone;
    m->gone = b;
}

void ebb__bytes_free(ebb__memory *m, ebb__value *v)
{
    if (!v->external) {
        ebb__place_leave(ebb__big_of(v));
        ebb__arena_free(m->arena, v->data, v->bytes);
        ebb__account_discharge(v->ctx->account, v->kind, v->bytes);
    }
    v->data = NULL;
    gone_note(m, ebb__big_of(v));
}

void ebb__bytes_pass(ebb__memory *m, ebb__value *from, ebb__value *to)
{
    ebb__place_leave(ebb__big_of(from));
    from->data = NULL;
    ebb__list_insert(m, ebb__big_of(to));
    if (to->kind != from->kind)
        ebb__account_move(to->ctx->account, from->kind, to->kind, to->bytes);
    gone_note(m, ebb__big_of(from));
}

/* ---- counts ------------------------------------------------------------------------------ */

/* count: of uses or refs, of a value of another memory. */
static void elsewhere_drop(ebb__memory *m, ebb__value *v, atomic_uint *count)
{
    unsigned n = atomic_load_explicit(count, memory_order_acquire);
    EBB_ASSERT(n > 0);
    while (n > 1)
        if (atomic_compare_exchange_weak_explicit(count, &n, n - 1, memory_order_acq_rel,
                                                  memory_order_acquire))
            return;
    ebb__big *b = ebb__big_of(v);
    b->work = m->elsewhere;
    m->elsewhere = b;
}

void ebb__use_drop(ebb__memory *m, ebb__value *v)
{
    if (ebb__is_elsewhere(m, v)) {
        elsewhere_drop(m, v, &v->uses);
        return;
    }
    ebb__big *b = ebb__big_of(v);
    bool spare = atomic_load_explicit(&b->spare, memory_order_relaxed);
    if (atomic_fetch_sub_explicit(&v->uses, 1, memory_order_acq_rel) != 1) {
        if (spare) ebb__spare_look(m, v);
        if (atomic_load_explicit(&v->uses, memory_order_relaxed) == b->n_deps)
            ebb__let_go(m, b);
        return;
    }
    b->work = m->idle;
    m->idle = b;
}

void ebb__object_dead(ebb__memory *m, void *p, size_t bytes)
{
    ebb__dead_object *dead = p;
    dead->bytes = bytes;
    dead->next = m->dead_objects;
    m->dead_objects = dead;
}

static void big_destroy(ebb__memory *m, ebb__big *b)
{
    EBB_ASSERT(!b->value.data && atomic_load(&b->value.uses) == 0);
    EBB_ASSERT(b->number == EBB__LEDGER_NONE);
    ebb__recipe_drop(m, &b->value);
    m->n_known -= b->known;
    ebb__named_note(m, b, false);
    ebb__list_remove(b);
    ebb__object_dead(m, b, ebb__big_bytes(b));
}

void ebb__ref_drop(ebb__memory *m, ebb__value *v)
{
    if (!v->tiny) {
        if (ebb__is_elsewhere(m, v))
            elsewhere_drop(m, v, &v->refs);
        else if (atomic_fetch_sub_explicit(&v->refs, 1, memory_order_acq_rel) == 1)
            big_destroy(m, ebb__big_of(v));
        return;
    }
    if (!ebb__count_down(&v->refs, m->single_threaded)) return;
    if (m->top->trace) {
        v->next_gone = m->gone_tiny;
        m->gone_tiny = v;
    } else {
        ebb__account_discharge_pooled(v->ctx->account, v->kind, v->bytes);
        ebb__object_dead(m, v, ebb__tiny_bytes(v->bytes));
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
    if (m->ledger) ebb__mirror_recipe_gone(m, v);
    uint32_t k = v->out_index;
    if (!(r->saved_out & ebb__out_bit(k))) r->out[k] = NULL;
    v->recipe = NULL;
    ebb__depth_set(v, 0);
    if (m->ledger) ebb__mirror_source(m, v);
    ebb__record_unref(m, r);
}

void ebb__inputs_unuse(ebb__memory *m, ebb__record *r)
{
    for (uint32_t i = 0; i < r->n_in; i++) {
        ebb__value *in = r->in[i];
        if (!in || in->tiny) continue;
        if (ebb__is_elsewhere(m, in))
            atomic_fetch_sub_explicit(&ebb__big_of(in)->n_needs, 1, memory_order_release);
        else
            ebb__big_of(in)->n_deps--;
        ebb__use_drop(m, in);
    }
}

/* ---- cascades ---------------------------------------------------------------------------- */

void ebb__lose(ebb__memory *m, ebb__value *v)
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
    ebb__mirror_unlinked(m, r);
    for (uint32_t i = 0; i < r->n_in; i++) {
        ebb__value *v = r->in[i];
        if (!v) continue;
        if (!v->tiny && !ebb__is_elsewhere(m, v)) {
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
    for (uint32_t k = 0; m->ledger && k < r->n_out; k++) /* it knows them as long as they are */
        if (r->out[k] && ebb__recipe_of(r->out[k]) == r) ebb__mirror_recipe_gone(m, r->out[k]);
    reads_drop(m, r);
    for (uint32_t k = 0; k < r->n_out; k++) {
        ebb__value *v = r->out[k];
        if (!v || ebb__recipe_of(v) != r) continue;
        EBB_ASSERT(v->state != EBB__VALUE_DROPPED || atomic_load(&v->uses) == 0);
        ebb__recipe_drop(m, v);
        if (v->state == EBB__VALUE_DROPPED) ebb__lose(m, v);
    }
}

static void idle_settle(ebb__memory *m, ebb__value *v)
{
    ebb__mirror_unused(m, ebb__big_of(v));
    bool in_force = ebb__recipe_of(v) && !ebb__recipe_of(v)->broken;
    ebb__let_go(m, ebb__big_of(v));
    if (v->state == EBB__VALUE_DROPPED) {
        ebb__inputs_unuse(m, ebb__recipe_of(v));
    } else if (v->state == EBB__VALUE_RESIDENT) {
        if (v->data) ebb__bytes_free(m, v); /* not where a result has them */
        v->state = EBB__VALUE_DROPPED;
        if (!in_force) ebb__lose(m, v);
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
        ebb__object_dead(m, r, r->bytes);
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

/* What a thread has to do without the mutexes it took. */
typedef struct left {
    ebb__big *big;
    ebb__value *tiny;
    ebb__dead_object *dead;
    ebb__big *elsewhere;
} left;

/* Settles m, adds what it leaves to `all` and gives the mutex back. */
static inline void settle_and_unlock(left *all, ebb__memory *m)
{
    ebb__settle(m);
    if (m->spares) ebb__spares_settle(m);
    left own = {m->gone, m->gone_tiny, m->dead_objects, m->elsewhere};
    m->gone = NULL;
    m->gone_tiny = NULL;
    m->dead_objects = NULL;
    m->elsewhere = NULL;
    if (!m->single_threaded) pthread_mutex_unlock(&m->mutex);
    /* what is there already, of which there is little or nothing, goes in front */
    ebb__big **big = &all->big, **elsewhere = &all->elsewhere;
    ebb__value **tiny = &all->tiny;
    ebb__dead_object **dead = &all->dead;
    while (*big) big = &(*big)->gone;
    while (*tiny) tiny = &(*tiny)->next_gone;
    while (*dead) dead = &(*dead)->next;
    while (*elsewhere) elsewhere = &(*elsewhere)->work;
    *big = own.big;
    *tiny = own.tiny;
    *dead = own.dead;
    *elsewhere = own.elsewhere;
}

/* The memories of ancestors, one after the other. */
static __attribute__((noinline)) void elsewhere_settle(left *all)
{
    while (all->elsewhere) {
        ebb__value *v = &all->elsewhere->value;
        all->elsewhere = all->elsewhere->work;
        ebb__memory *m = v->ctx->memory;
        ebb__memory_enter(m);
        if (atomic_load_explicit(&v->uses, memory_order_relaxed))
            ebb__use_drop(m, v);
        else
            ebb__ref_drop(m, v);
        settle_and_unlock(all, m);
    }
}

void ebb__memory_leave(ebb__memory *m)
{
    left all = {0};
    settle_and_unlock(&all, m);
    if (all.elsewhere) elsewhere_settle(&all);
    if (all.dead) {
        ebb__pool_part *part = ebb__pool_part_get(m->owner->pool);
        for (ebb__dead_object *next; all.dead; all.dead = next) {
            next = all.dead->next;
            ebb__pool_part_free(part, all.dead, all.dead->bytes);
        }
    }
    if (all.big || all.tiny) run_callbacks(all.big, all.tiny);
}
