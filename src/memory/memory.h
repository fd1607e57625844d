/* memory.h - inside src/memory: the memory of a context, and what its mutex guards.
 *
 * Where an ancestor has a budget, all below share the memory of that ancestor, so that room can
 * be made for any of them in one arena; otherwise each context has a memory of its own and its
 * threads meet no others'. Values of another memory are read by a memory's records ("elsewhere":
 * only ever an ancestor's): the record holds refs and uses of them but is not in their lists of
 * readers, so that nobody who writes or frees them needs the child's mutex; it finds out later
 * (see drop.c). Their last use or ref goes once the own mutex has been given back.
 *
 * What happens when bytes are no longer needed can set off more of the same without bound, so
 * it is put on work lists, which are linked through the objects themselves (a free path
 * allocates nothing). The lists are filled and emptied while the mutex is held:
 * ebb__memory_leave settles them. Trace and done callbacks come after the mutex is given back;
 * a value waiting for one is on the `gone` list and kept by a ref. (The allocator hook is
 * called under the mutex.)
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_MEMORY_H
#define EBB_MEMORY_MEMORY_H

#include "base/check.h"
#include "base/error.h"
#include "base/size.h"
#include "base/thread.h"
#include "memory/arena.h"
#include "memory/gate.h"
#include "memory/ledger.h"
#include "memory/value.h"

#include <pthread.h>

/* A value that is not tiny, as it is allocated. */
typedef struct ebb__big ebb__big;
struct ebb__big {
    ebb__value value;
    ebb__big *work;              /* the next in the one work list it is in */
    ebb__big *gone;              /* the next in the list of those waiting for callbacks */
    ebb__big *next, **prev;      /* all values of the memory that are not tiny */
    void *beside, **beside_prev; /* those whose blocks begin in the same 4096 bytes */
    uint32_t n_gone;     /* times its bytes went without the callbacks having been made */
    atomic_uint n_needs; /* of its uses, those by dropped values elsewhere */
    uint16_t locks;      /* it is not given up; under the mutex */
    atomic_bool kept;    /* somebody has held it beyond a scope: it is not lost for a write */
    bool forgone;        /* lost for a write, under a budget */
    atomic_uint visit;   /* the last search that came by */
    uint8_t unused;      /* bytes at the end of the block that are no content */
    bool again;      /* made in a region that has ended: given up whenever nobody holds it */
    bool counted;    /* the ledger counts uses that are not by dropped values; see mirror.h */
    bool known;      /* it is in n_known; under the mutex */
    uint32_t n_deps; /* of its uses, those by dropped values of its memory; under the mutex */
    uint32_t number; /* in the memory's ledger; EBB__LEDGER_NONE; under the mutex */
    /* By what earlier steps did, nobody reads it again in this one: it is given up once only
     * scopes hold it. */
    atomic_bool spare;
    bool in_spares;
    uint32_t content; /* a hash of the bytes first given up; 0: none */
    ebb__big *next_spare;
    uint32_t born_step, born_id; /* the engine's */
    uint64_t serial;             /* in the order of the list, which begins with the newest */
};

/* One whose bytes are, or were once, the user's memory. */
typedef struct ebb__external {
    ebb__big big;
    void (*done)(void *user); /* NULL: none, or called */
    void *user;
} ebb__external;

/* A dead object of the pool's: it goes back there after the mutex, because a thread's first use
 * of the pool may ask for a slab, which takes the mutex. */
typedef struct ebb__dead_object {
    struct ebb__dead_object *next;
    size_t bytes;
} ebb__dead_object;

typedef struct ebb__large ebb__large; /* an object larger than the pool's */

/* A table of bookkeeping that moves as a value does; only block, list and move of `big` are used.
 * moved: told where it is now, under the mutex; NULL: it stays. thread, not NULL: reads it without
 * the mutex, so no other moves it. */
typedef struct ebb__table ebb__table;
struct ebb__table {
    _Alignas(16) ebb__big big; /* all of what the pool gives counts */
    void (*moved)(void *owner, void *to);
    void *owner;
    const ebb__thread_token *thread;
};

struct ebb__memory {
    /* read by every call: on a line of their own, away from what threads take turns at */
    bool single_threaded;
    ebb_context *owner;
    ebb__memory *top; /* the root's */
    ebb__arena *arena;
    bool has_budget;               /* some account of this memory has one: the gate is used */
    _Atomic(ebb__ledger *) ledger; /* own_ledger while it is awake; NULL; changed, and its
                                      content, under the mutex */
    ebb__ledger *own_ledger;       /* where there is a budget; see sleep.c */
    atomic_bool ledger_is_low;     /* there is little room in its tables */
    /* of the root's only */
    void (*holders)(ebb_context *ctx, ebb_budget_report *report);
    bool (*relief)(ebb_context *ctx, size_t missing);
    ebb__memory_trace_fn trace;
    void *trace_user;
    atomic_uint n_memories;     /* in the list */
    pthread_mutex_t list_mutex; /* taken before any other: the list of all in the tree */
    ebb__memory *first;
    ebb__memory *next, **prev;
    atomic_ullong clock; /* estimated nanoseconds of work so far */
    ebb__gate gate;
    _Alignas(64) pthread_mutex_t mutex;
    atomic_size_t slab_bytes, scratch_bytes;
    atomic_size_t region_bytes; /* what never moves, in the arena */
    /* under the mutex */
    size_t n_known, n_recipes, n_links; /* what the ledger must have room for; see sleep.c */
    uint64_t n_evictions_before;        /* the end of the last step */
    bool follows;                       /* who sets next uses sets all of them */
    bool policy_is_fixed;
    bool gives_gradients;    /* those under way may be given up */
    atomic_bool copies;      /* a write has copied a parameter for what was given up */
    atomic_bool misses_kept; /* something that was held beyond a scope has been given up */
    atomic_uint n_maps;      /* by users, of values of this memory */
    uint64_t n_evictions, n_recomputes, moved_bytes, recompute_ns;
    double recompute_cost;
    size_t planned_bytes; /* one that would, as simulated; 0: not known */
    /* Of the values born in this step of a learner's: the operation after which nobody held it. */
    uint32_t *left_table;
    uint32_t left_n, left_step;
    atomic_uint left_now; /* the operation that has run */
    /* Who knows when the values born in a step are read, if that was not asked for yet. */
    const struct ebb__learned *known;
    double known_base;
    uint32_t known_step;
    ebb__value **named; /* of a step: the value born as each number, while there is one */
    uint32_t named_n, named_step;
    atomic_size_t notes_bytes; /* tables of who learns from steps */
    uint64_t serial;
    bool has_places; /* whose a block is can be found: compact.c */
    ebb__big *all, *tables;
    char *edge; /* where what never moves begins */
    ebb__table *ledger_tables[EBB__LEDGER_TABLES];
    ebb__large *large;
    ebb__big *idle;    /* uses have become 0 */
    ebb__big *spares;  /* may have come to be given up; each kept by a ref */
    ebb__big *lost;    /* have become LOST: their readers break; each kept by a ref */
    ebb__record *dead; /* refs have become 0 */
    ebb__big *gone;
    ebb__value *gone_tiny; /* dead; wait for the trace */
    ebb__dead_object *dead_objects;
    ebb__big *elsewhere; /* other memories': their last use, or ref where none is left, goes */
};

static inline ebb__big *ebb__big_of(ebb__value *v)
{
    EBB_ASSERT_CALL(!v->tiny);
    return (ebb__big *)v;
}

static inline bool ebb__is_elsewhere(const ebb__memory *m, const ebb__value *v)
{
    return v->ctx->memory != m;
}
static inline void ebb__memory_enter(ebb__memory *m)
{
    if (!m->single_threaded) pthread_mutex_lock(&m->mutex);
}
/* Without callbacks, where nothing was changed. */
static inline void ebb__memory_leave_unchanged(ebb__memory *m)
{
    if (!m->single_threaded) pthread_mutex_unlock(&m->mutex);
}
/* Whether bytes are there, as seen by who pins them without the mutex. */
static inline unsigned ebb__state_get(const ebb__value *v)
{
    return __atomic_load_n(&v->state, __ATOMIC_SEQ_CST);
}
static inline void ebb__state_set(ebb__value *v, unsigned state)
{
    __atomic_store_n(&v->state, (uint8_t)state, __ATOMIC_SEQ_CST);
}
/* 0: a source; for whoever does not hold the value's mutex. */
static inline uint16_t ebb__depth_get(const ebb__value *v)
{
    return __atomic_load_n(&v->depth, __ATOMIC_RELAXED);
}
static inline void ebb__depth_set(ebb__value *v, uint16_t depth)
{
    __atomic_store_n(&v->depth, depth, __ATOMIC_RELAXED);
}
static inline uint64_t ebb__memory_now(const ebb__memory *m)
{
    return atomic_load_explicit(&m->clock, memory_order_relaxed);
}
/* Settles the work lists, gives the mutex back, lets go of what lies elsewhere, then frees what
 * died and makes the callbacks due. */
void ebb__memory_leave(ebb__memory *m);

/* Counts up from at least one, by a caller who holds one. */
static inline void ebb__count_up(atomic_uint *count, bool single_threaded)
{
    if (single_threaded)
        atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}
/* True if it was the last. The last one needs no locked instruction: nobody else holds any. */
static inline bool ebb__count_down(atomic_uint *count, bool single_threaded)
{
    unsigned n = atomic_load_explicit(count, memory_order_acquire);
    EBB_ASSERT(n > 0);
    if (n == 1) return true;
    if (single_threaded) {
        atomic_store_explicit(count, n - 1, memory_order_relaxed);
        return false;
    }
    return atomic_fetch_sub_explicit(count, 1, memory_order_acq_rel) == 1;
}

/* ---- memory.c ---------------------------------------------------------------------------- */
/* A small object, BOOKKEEPING. alloc is not called under the mutex. */
static inline void *ebb__object_alloc(ebb_context *ctx, size_t bytes) /* NULL: recorded why */
{
    return ebb__pool_alloc(ctx->pool, bytes);
}
static inline void ebb__object_free(ebb_context *ctx, void *p, size_t bytes)
{
    ebb__pool_free(ctx->pool, p, bytes);
}
/* The status of the failure that ebb__object_alloc recorded. */
ebb_status ebb__object_refused(size_t bytes);
/* One that may be larger than EBB__POOL_MAX. */
ebb_status ebb__large_alloc(void **out, ebb_context *ctx, size_t bytes);
/* Under the mutex where bytes > EBB__POOL_MAX. */
void ebb__large_free(ebb_context *ctx, void *p, size_t bytes);
/* What a block for so many takes, a whole number of grains; less where that overflows. */
static inline size_t ebb__block_bytes(size_t bytes)
{
    return ebb__round_64(bytes ? bytes : 1);
}
/* A charged block of the arena; bytes is a multiple of 64; not under the mutex. `list`, if not
 * NULL, enters the list of all values with it. */
ebb_status ebb__block_alloc(void **out, ebb_context *ctx, size_t bytes, ebb_kind kind,
                            ebb__big *list);
/* Under the mutex: b, which has a block, enters the list of all values, or that of tables, and is
 * found by its block. */
void ebb__list_insert(ebb__memory *m, ebb__big *b);
void ebb__list_remove(ebb__big *b);
/* Calls `each` under the mutex of every memory that ctx or a context below uses. */
void ebb__memories_each(const ebb_context *ctx, void (*each)(void *user, ebb__memory *m),
                        void *user);

/* ---- tables.c ---------------------------------------------------------------------------- */
/* Charged bytes that never move; alloc not under the mutex, free is. */
void *ebb__fixed_alloc(ebb__memory *m, size_t bytes);
void ebb__fixed_free(ebb__memory *m, void *p, size_t bytes);
/* Charged as BOOKKEEPING to the memory's owner; NULL where there is no room, without a record. Not
 * under the mutex, and dropped under it. stays: it is brief and lies among results. */
ebb__table *ebb__table_make(ebb__memory *m, size_t bytes, bool stays);
void ebb__table_drop(ebb__memory *m, ebb__table *t);
size_t ebb__tables_bytes(const ebb__memory *m); /* of all that are there, under the mutex */
/* In a fixed arena: what lies beyond so many bytes, > 0, goes; false: nothing does. */
bool ebb__table_cut(ebb__memory *m, ebb__table *t, size_t bytes);
void ebb__table_moved(ebb__memory *m, ebb__table *t, const char *from);

/* ---- compact.c, under the mutex: who has a block ------------------------------------------ */
void ebb__place_set(ebb__memory *m, ebb__big *b);
bool ebb__place_is_known(const ebb__memory *m, const ebb__big *b); /* as it is */
static inline void ebb__place_enter(ebb__memory *m, ebb__big *b)
{
    if (m->has_places) ebb__place_set(m, b);
}
static inline void ebb__place_leave(ebb__big *b)
{
    if (!b->beside_prev) return;
    *b->beside_prev = b->beside;
    if (b->beside) ((ebb__big *)b->beside)->beside_prev = b->beside_prev;
    b->beside_prev = NULL;
}

/* ---- settle.c, all under the mutex ------------------------------------------------------- */
void ebb__settle(ebb__memory *m);
/* An object of the pool's goes back once the mutex has been given back. */
void ebb__object_dead(ebb__memory *m, void *p, size_t bytes);
/* A use less; the value may become idle. It may lie elsewhere. */
void ebb__use_drop(ebb__memory *m, ebb__value *v);
/* A ref less of a value that is not tiny, or tiny; the struct may go. It may lie elsewhere. */
void ebb__ref_drop(ebb__memory *m, ebb__value *v);
/* Its bytes are gone for ever: what is made from it can no longer be made. */
void ebb__lose(ebb__memory *m, ebb__value *v);
/* A resident value's bytes go; state is the caller's to set. */
void ebb__bytes_free(ebb__memory *m, ebb__value *v);
/* The block of `from`, resident, is that of `to` already: nobody reads the one again. */
void ebb__bytes_pass(ebb__memory *m, ebb__value *from, ebb__value *to);
/* The value no longer has a recipe. */
void ebb__recipe_drop(ebb__memory *m, ebb__value *v);
/* The record can no longer be run: it lets go of what it reads. */
void ebb__record_break(ebb__memory *m, ebb__record *r);
void ebb__record_unref(ebb__memory *m, ebb__record *r);
/* Uses of the recipe's inputs, held while v is dropped and needed. */
void ebb__inputs_unuse(ebb__memory *m, ebb__record *r);

/* ---- steps.c, under the mutex ------------------------------------------------------------ */
void ebb__left_note(ebb__memory *m, const ebb__big *b);
/* Nobody holds b any more, but for dropped values that are made from it. */
static inline void ebb__let_go(ebb__memory *m, const ebb__big *b)
{
    if (m->left_step && b->born_step == m->left_step) ebb__left_note(m, b);
}

/* Of one that is, or is no longer, born as it says. */
static inline void ebb__named_note(ebb__memory *m, ebb__big *b, bool is)
{
    if (b->born_id < m->named_n && b->born_step == m->named_step)
        m->named[b->born_id] = is ? &b->value : NULL;
}
void ebb__nexts_fill(ebb__memory *m);

/* ---- region.c, under the mutex ----------------------------------------------------------- */
/* A use of a spare value has gone: it is looked at when the mutex is given back. */
void ebb__spare_look(ebb__memory *m, ebb__value *v);
void ebb__spares_settle(ebb__memory *m);

/* ---- overwrite.c ------------------------------------------------------------------------- */
/* Under the mutex: a dropped and needed value whose recipe reads v; NULL if none. */
ebb__value *ebb__dependent_find(const ebb__value *v);

/* ---- drop.c ------------------------------------------------------------------------------ */
/* Under the mutex: gives up the bytes of a value, where they can be made again and are not
 * pinned. */
bool ebb__drop(ebb__memory *m, ebb__value *v);

/* ---- value.c ----------------------------------------------------------------------------- */
/* The struct of a value that is not tiny: LOST, one use, in no list. NULL: recorded why. */
ebb__big *ebb__big_create(ebb_context *ctx, size_t bytes, ebb_kind kind, bool external);
static inline size_t ebb__big_bytes(const ebb__big *b)
{
    return b->value.external ? sizeof(ebb__external) : sizeof(ebb__big);
}
/* Beyond saves and dropped values made from it. Under the mutex. */
static inline bool ebb__big_is_held(const ebb__big *b)
{
    const ebb__value *v = &b->value;
    return atomic_load_explicit(&v->uses, memory_order_relaxed) !=
           atomic_load_explicit(&v->saves, memory_order_relaxed) + b->n_deps +
               atomic_load_explicit(&b->n_needs, memory_order_relaxed);
}
/* By a user, beyond a scope. Under the mutex. */
static inline bool ebb__big_is_kept(const ebb__big *b)
{
    return atomic_load(&b->kept) && ebb__big_is_held(b);
}
/* What a thread has under ebb__lease_begin: counted at the value, given back already. */
typedef struct ebb__value_lease {
    ebb__value *value;
    unsigned uses, saves;
} ebb__value_lease;
extern EBB__THREAD_HOT ebb__value_lease ebb__lease;
/* Where the bytes of phantoms are said to lie: none of an arena's addresses. */
void *ebb__nowhere(void);
/* Frees a tiny value whose refs are 0; anywhere. */
void ebb__tiny_free(ebb__value *v);
void ebb__trace_event(ebb__memory *m, const ebb__value *v, bool made);
static inline void ebb__trace_made(ebb__memory *m, const ebb__value *v)
{
    if (m->top->trace) ebb__trace_event(m, v, true);
}

/* ---- record.c ---------------------------------------------------------------------------- */
static inline uint32_t ebb__in_bit(uint32_t i)
{
    return UINT32_C(1) << (i < 31 ? i : 31);
}
static inline uint32_t ebb__out_bit(uint32_t k)
{
    return UINT32_C(1) << (k < 31 ? k : 31);
}
/* The bytes of a tiny value lie where a larger one has its recipe. */
static inline size_t ebb__tiny_bytes(size_t bytes)
{
    return offsetof(ebb__value, recipe) + bytes;
}
/* The counter of saved bytes in the pool's parts: the graph's count from 0. */
enum { EBB__COUNT_SAVED_BYTES = EBB__POOL_COUNTERS - 1 };
/* A save of v by r more or less (change 1 or -1); it counts from the first to the last. Others
 * may save it at the same time. */
static inline void ebb__saved_note(const ebb__value *v, int change)
{
    ebb__pool_part_count(ebb__pool_part_get(v->ctx->pool), EBB__COUNT_SAVED_BYTES,
                         change < 0 ? -(int64_t)v->bytes : (int64_t)v->bytes);
}
static inline void ebb__save_count(const ebb__record *r, ebb__value *v, int change)
{
    unsigned before;
    if (v == ebb__lease.value && ebb__lease.uses && change < 0) { /* which keeps the value */
        ebb__lease.saves++;
        return;
    }
    if (r->ctx->single_threaded) {
        before = atomic_load_explicit(&v->saves, memory_order_relaxed);
        atomic_store_explicit(&v->saves, before + (unsigned)change, memory_order_relaxed);
    } else {
        before = atomic_fetch_add_explicit(&v->saves, (unsigned)change, memory_order_relaxed);
    }
    EBB_ASSERT(change > 0 || before > 0);
    if (before == (change < 0)) ebb__saved_note(v, change);
}
/* Frees the record's memory; under the mutex where it is a recipe. */
void ebb__record_free(ebb__record *r);

#endif
