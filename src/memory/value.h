/* value.h - storage, value, block and recipe: what bytes are, why they live, how to get them
 * back.
 *
 * storage  what views share: identity and version. Holds one use of its current value.
 * value    immutable content of a storage at one version; resident, or dropped with a recipe.
 * block    where a resident value's bytes lie now (value->data); may move while pins == 0.
 * record   one application of an operation: what the graph node keeps (saves) and how to run it
 *          again (recipe). One object serves both.
 *
 * Exact liveness. A value's bytes are needed while it has a use: its storage's (while the
 * storage has a tensor), a save by a live node, or a needed dropped value whose recipe reads
 * it. The moment none is left they go. The struct lives on while a recipe reads it (refs). A
 * record lives while a node holds it, or a value made by it lives.
 *
 * Sources. A value without recipe (user data, parameters) whose bytes are gone is LOST; records
 * that read a lost value are broken: they let go of their inputs and cannot be run again, and
 * so on through unneeded values. A value at recipe depth 1,024 is made a source at birth, so a
 * loop h = f(h) holds a bounded chain.
 *
 * Tiny values (<= EBB__TINY_BYTES) are sources that keep their bytes as long as the struct
 * lives: a recipe would cost more than they do. Only refs counts for them; their blocks come
 * from the pool.
 *
 * Locks. `refs` and `uses` are atomic. Everything else of non-tiny values, records' links and
 * the arena are guarded by the mutex of the context's memory (skipped in single-threaded
 * contexts; a record's context may be below that of what it reads, and have another memory).
 * uses goes from 0 to 1 only under that mutex. No callback runs under it. A thread that holds
 * one takes no other but that of a context above.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_VALUE_H
#define EBB_MEMORY_VALUE_H

#include "memory/account.h"

#include <string.h>

enum { EBB__TINY_BYTES = 64, EBB__RECIPE_DEPTH_MAX = 1024 };

typedef struct ebb__value ebb__value;
typedef struct ebb__storage ebb__storage;
typedef struct ebb__record ebb__record;
typedef struct ebb__read ebb__read;

typedef enum ebb__value_state {
    EBB__VALUE_RESIDENT,
    EBB__VALUE_DROPPED, /* no bytes; recipe can make them again */
    EBB__VALUE_LOST,    /* no bytes, for ever */
    EBB__VALUE_MOVING   /* on its way to another address; seen only by who holds no lock */
} ebb__value_state;

struct ebb__value {
    atomic_uint
        refs; /* structs: 1 for all uses together, 1 per reading recipe (tiny: every use) */
    atomic_uint uses; /* bytes: storage, saves, dropped dependents */
    uint8_t state, kind;
    uint16_t out_index; /* which of its recipe's outputs it is */
    bool tiny : 1;
    bool external : 1; /* the user's memory (adopted); freed through its done hook */
    bool phantom : 1;  /* of a dry run: counted by nobody, has no content */
    bool moved;        /* a write took the bytes: saves of this value are refused in backward */
    uint16_t depth;    /* of the recipe chain above; 0: source */
    atomic_uint pins;
    atomic_uint saves; /* by live nodes, of the uses */
    size_t bytes;      /* as allocated (rounded up to 64; tiny: exact, at least 1) */
    void *data;        /* NULL unless resident */
    union {
        ebb__read *readers;    /* recipes that read it */
        const char *moved_by;  /* moved: the writer's operation name, static */
        ebb__value *next_gone; /* of a dead tiny value */
    };
    ebb_context *ctx;    /* whose account is charged */
    ebb__record *recipe; /* NULL: source. Last: a tiny value ends here and its bytes begin */
};
/* What makes the value's bytes again; NULL: it is a source. */
static inline ebb__record *ebb__recipe_of(const ebb__value *v)
{
    return v->tiny ? NULL : v->recipe;
}

struct ebb__storage {
    atomic_uint refs; /* tensors */
    uint16_t version;
    atomic_ushort n_maps; /* by users: so many of the value's pins stay with the storage */
    ebb__value *value;    /* current; one use */
};

struct ebb__read { /* one input of a recipe, linked at the value it reads */
    ebb__record *record;
    ebb__read *next, **prev;
};

/* The struct is followed in one allocation by in[n_in], out[n_out] (values made, by-products
 * included; weak), read[n_in] where it is a recipe, then tail_bytes of the op layer's
 * (attributes, layouts). */
struct ebb__record {
    atomic_uint refs;
    uint16_t n_in, n_out;
    bool is_recipe, broken; /* broken: cannot be run and holds no reads; until linked, and again
                               once an input is lost */
    atomic_uchar marks;     /* the engine's; 0 at birth */
    uint8_t cost;           /* of one run, estimated: see ebb__record_cost */
    uint32_t bytes;         /* of the whole allocation */
    uint32_t saved_in;  /* bit i: a use of in[i] is held for the node; the last bit stands for
                           all  remaining inputs */
    uint32_t saved_out; /* the same for out[k] */
    ebb_context *ctx;
    union {
        const struct ebb_op *op; /* opaque here */
        ebb__record *next_dead;  /* once refs is 0 */
    };
    ebb__value **in, **out;
};
/* Nanoseconds, from 1 to 4e9 in steps of an eighth of a power of two: the middle bits of a
 * float. */
static inline float ebb__record_cost(const ebb__record *r)
{
    uint32_t bits = (r->cost + (UINT32_C(127) << 3)) << 20;
    float ns;
    memcpy(&ns, &bits, sizeof ns);
    return ns;
}
static inline void ebb__record_set_cost(ebb__record *r, float ns)
{
    uint32_t bits, least = UINT32_C(127) << 3;
    memcpy(&bits, &ns, sizeof bits);
    bits >>= 20;
    r->cost = bits < least ? 0 : bits > least + 255 ? 255 : (uint8_t)(bits - least);
}
/* Of a recipe: one link per input. */
static inline ebb__read *ebb__record_reads(const ebb__record *r)
{
    return (ebb__read *)(r->out + r->n_out);
}
static inline void *ebb__record_tail(const ebb__record *r)
{
    return ebb__record_reads(r) + (r->is_recipe ? r->n_in : 0);
}

/* ---- memory of a context ----------------------------------------------------------------- */
typedef struct ebb__memory ebb__memory;
/* Uses ctx->root, ctx->parent, ctx->allocator, ctx->single_threaded; ctx->account must be set.
 * Sets ctx->pool, a root's for all below, and ctx->memory: the parent's where a context above
 * has a budget, else one of its own. Slabs of the
 * pool are charged whole to the root, so that its budget holds for them; as BOOKKEEPING the
 * statistics show the objects in them, the rest as CACHE. Errors: E_NOMEM, E_BUDGET. */
ebb_status ebb__memory_create(ebb_context *ctx);
/* A root's goes with all that is left in it; done hooks of adopted values are called. A child
 * must have no values or records left, nor children of its own. */
void ebb__memory_destroy(ebb_context *ctx);
/* Completes an account's stats (of a root) with what pool and arena hold: afterwards
 * BOOKKEEPING counts objects, and CACHE what is free in slabs, chunks and the ledger's tables. The
 * peak counts slabs and tables whole. */
void ebb__memory_stats(ebb_stats *out, const ebb_context *ctx);
void ebb__memory_trim(ebb_context *ctx);
/* Charges bytes that lie outside the memory's blocks, making room for them in the budget; not under
 * a lock that a kernel of the user's may want. */
ebb_status ebb__room_charge(ebb_context *ctx, ebb_kind kind, size_t bytes);

/* Names the largest holders in a report; set by a higher layer, called without locks. */
void ebb__memory_set_holders(ebb_context *ctx,
                             void (*holders)(ebb_context *ctx, ebb_budget_report *report));

/* Gives back what is no use to calls, where it may be as much as is missing; set by a higher layer.
 * True: another try may do. */
void ebb__memory_set_relief(ebb_context *ctx, bool (*relief)(ebb_context *ctx, size_t missing));

/* Trace of values' bytes made and gone, for tests, reports and the planner; NULL: off. Set
 * while no call is in progress. The callback must not call back into the library. */
typedef struct ebb__memory_event {
    enum { EBB__EVENT_MADE, EBB__EVENT_GONE } what;
    const ebb__value *value;
    size_t bytes;
    ebb_kind kind;
} ebb__memory_event;
typedef void (*ebb__memory_trace_fn)(void *user, const ebb__memory_event *e);
void ebb__memory_set_trace(ebb_context *ctx, ebb__memory_trace_fn fn, void *user);

/* ---- values and storages ----------------------------------------------------------------- */
/* A resident value with one use for the caller; content unspecified. bytes may be 0 (then one
 * byte is allocated). Errors: E_BUDGET, E_NOMEM, E_SHAPE the size overflows; nothing changed.
 */
ebb_status ebb__value_create(ebb__value **out, ebb_context *ctx, size_t bytes, ebb_kind kind);
/* A value on the user's memory (charged as DATA: 0 bytes); done(user), which may be NULL, runs
 * once when it goes, without locks; it may release other things. On failure it is not called.
 */
ebb_status ebb__value_adopt(ebb__value **out, ebb_context *ctx, void *data, size_t bytes,
                            void (*done)(void *user), void *user);
/* A source whose elements do not exist: nothing is charged for it, nothing may look at its data.
 * Otherwise as ebb__value_create. */
ebb_status ebb__value_create_phantom(ebb__value **out, ebb_context *ctx, size_t bytes,
                                     ebb_kind kind);
ebb__value *ebb__value_use(ebb__value *v); /* the caller holds a use already */
void ebb__value_unuse(ebb__value *v);      /* NULL is ignored */
/* A tiny value that many nodes of a backward saved, and those of other threads too: the thread
 * keeps the uses and saves of it that it gives back, up to the next call for another value or to
 * the end, and takes uses from there first. Each count would be a transfer between processors. */
void ebb__lease_begin(ebb__value *v);
void ebb__lease_end(void);
void ebb__value_set_kind(ebb__value *v, ebb_kind kind); /* moves the accounted bytes */
/* The value, of which nobody else holds a use and which has no recipe, counts from now on for
 * `ancestor` where that is an ancestor of its context (and may outlive it): never fails. It is
 * tiny, or they share a memory: otherwise its bytes would lie in an arena that goes first. */
static inline bool ebb__value_may_rehome(const ebb__value *v, const ebb_context *to)
{
    return v->tiny || v->ctx->memory == to->memory;
}
void ebb__value_rehome(ebb__value *v, ebb_context *ancestor);
/* Scratch of one kernel: charged as SCRATCH until freed; 64-byte aligned. */
ebb_status ebb__scratch_alloc(void **out, ebb_context *ctx, size_t bytes);
void ebb__scratch_free(ebb_context *ctx, void *p, size_t bytes);

/* Takes the caller's use of v, also on failure. One ref for the caller. */
ebb_status ebb__storage_create(ebb__storage **out, ebb__value *take_v);
/* So many maps by users more, or fewer. */
void ebb__storage_map_count(ebb__storage *s, int change);
ebb__storage *ebb__storage_keep(ebb__storage *s);
void ebb__storage_release(ebb__storage *s);
/* Prepares a write: afterwards s->value is a resident source that nobody else saves or reads,
 * its bytes are the old ones and writable, s->version has moved. Where the old value is saved,
 * its bytes (and pins) move to a new value and it is marked moved by `writer` (a tiny one keeps
 * them); recipes that read it break. Where dropped values need it, those that users hold are made
 * resident by `restore` and become sources; for the others, and for those too if there is no room
 * for all at once, the old value stays and the storage gets a copy, unless it is mapped or saved or
 * there is no room: then saved ones are made resident, and what only scopes hold is forgone. restore
 * gets a dropped value, of which the caller holds a use, and leaves it resident; it may be NULL
 * where nothing can be dropped. While a dropped value of a child's own memory needs the old one
 * that keeps its bytes too; refused (E_MISUSE) where they are mapped or the user's. Called by
 * whoever has the storage to himself. Errors: restore's, E_NOMEM, E_BUDGET: nothing has changed but what is
 * resident. */
ebb_status ebb__storage_write(ebb__storage *s, const char *writer,
                              ebb_status (*restore)(ebb__value *dropped));
/* Two storages of equal size exchange resident sources, of which only the first may be known to
 * others: saves and recipes keep what they have, mapped bytes stay with their storage. */
void ebb__storage_swap(ebb__storage *s, ebb__storage *own);
/* Is there something dropped that needs what s holds, but no save of it, and does nobody know the
 * value of `own`, of equal size: may what is to be written to s be put there? */
bool ebb__storage_may_exchange(const ebb__storage *s, const ebb__storage *own);
/* It is there, so many bytes: s gets that value and what follows the bytes; own the old one. */
void ebb__storage_exchange(ebb__storage *s, ebb__storage *own, size_t bytes);

/* ---- records ----------------------------------------------------------------------------- */
/* A record with one ref, all in[] and out[] NULL, tail uninitialised, 8-byte aligned. */
ebb_status ebb__record_create(ebb__record **out, ebb_context *ctx, const struct ebb_op *op,
                              uint16_t n_in, uint16_t n_out, bool is_recipe,
                              uint32_t tail_bytes);
ebb__record *ebb__record_keep(ebb__record *r);
void ebb__record_release(ebb__record *r); /* NULL is ignored */
/* The node's saves: takes a use of each in[i]/out[k] named by the masks (NULLs are passed
 * over). Called once, before ebb__record_link, with in[] and out[] set and used by the caller.
 * A record that is no recipe forgets (sets NULL) what it does not save. */
void ebb__record_save(ebb__record *r, uint32_t in_mask, uint32_t out_mask);
/* Gives the saves back (bytes may go); idempotent. A node does so before it releases the
 * record, which may live on as a recipe. */
void ebb__record_unsave(ebb__record *r);
/* Bytes of the values that records save, each value once, whether resident or not. */
size_t ebb__saved_bytes(const ebb_context *ctx);
/* The record becomes the recipe of the values out[k] that are not tiny: in[] (set; each value
 * used by the caller meanwhile) are linked as read; out[] gets recipe pointers and depths.
 * Where the depth would reach EBB__RECIPE_DEPTH_MAX, an input is lost or lies in another memory
 * and is no source, they stay sources.
 * Afterwards out[k] is NULL where the record is neither the recipe of it nor saves it (so too
 * once such a value is gone), in[i] where it neither reads nor saves it. */
void ebb__record_link(ebb__record *r);

/* ---- drop and restore: the mechanism under recompute and eviction ------------------------ */
/* Can its bytes be made again: it has a recipe in force. (No input of one is ever lost: losing
 * it would have broken the recipe. But for inputs in an ancestor's memory, of which that comes
 * out when the value is to be dropped.) */
bool ebb__value_can_drop(ebb__value *v);
/* Drops a resident, unpinned value's bytes; its recipe's inputs gain a use each (and so on).
 * False if it cannot be dropped. */
bool ebb__value_drop(ebb__value *v);
/* Before a recipe is run again: takes a use of each out[k] that is dropped and needed, so that
 * it stays so, and sets held[k] to it; to NULL for others, which are written elsewhere. The
 * caller holds the record (which forgets its outputs if what it reads goes when they are there)
 * and gives the uses back when all is done (ebb__value_unuse). */
void ebb__record_hold(ebb__record *r, ebb__value **held);
/* Its recipe, kept; NULL where it has none in force. */
ebb__record *ebb__value_recipe_keep(ebb__value *v);
/* The input of a dropped value's recipe that is to be made first; NULL: all are there. */
ebb__value *ebb__value_missing(ebb__value *v);
/* Gives a dropped value a new block (content unspecified, to be filled by its recipe). Whoever
 * does this holds a use of the value and is the only one to. Errors: E_BUDGET, E_NOMEM. */
ebb_status ebb__value_reserve(ebb__value *v);
/* Where the context compares what is made again: the bytes are those first given up. */
bool ebb__value_is_as_before(const ebb__value *v);
/* The recipe has run: the value is resident and gives back the uses it held of its inputs. */
void ebb__value_restored(ebb__value *v);
/* The recipe has failed: the block goes back, the value is dropped as before. */
void ebb__value_unreserve(ebb__value *v);
/* Keeps the bytes where they are; false, and nothing is pinned, where there are none. */
bool ebb__value_pin(ebb__value *v);
/* The same for a reserved block, which only the caller knows. */
void ebb__value_pin_reserved(ebb__value *v);
/* Somebody holds a tensor of it beyond its scope. */
void ebb__value_note_kept(ebb__value *v);
/* Its bytes were lost to a write because the budget held no room for the older content. */
bool ebb__value_is_forgone(const ebb__value *v);
/* Are its bytes there, or just being moved: for whoever holds no lock. */
bool ebb__value_has_bytes(const ebb__value *v);
/* Only the storage that the caller holds uses the resident value, and nothing reads it or makes
 * it: its bytes may be changed where they lie. */
bool ebb__value_unseen(ebb__value *v);
void ebb__value_unpin(ebb__value *v);

/* Each value that is not tiny of the memories of ctx and the contexts below, in or out of memory. Under the mutex: `each`
 * calls nothing of the memory's. */
void ebb__values_each(ebb_context *ctx, void (*each)(void *user, ebb__value *v), void *user);

/* Audits links, counts and the arena while no call is in progress; first fault or NULL. */
const char *ebb__memory_check(ebb_context *ctx);

#endif
