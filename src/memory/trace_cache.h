/* trace_cache.h - training steps as they are recorded while they run, and those of them that are
 * kept, so that a step is known again while it runs.
 *
 * val   bytes that come and go in a step, numbered as in the program (program.h) that the step
 *       becomes: what comes from outside when it is read first, results and by-products, scratch,
 *       what cannot be made again once the operation has run.
 * hash  of an operation: of all in the step up to it, with sizes and how far back each operand was
 *       made. Two steps are alike as far as their hashes are equal.
 *
 * An operation of two operands and one result takes 60 bytes. All tables are bookkeeping of the
 * context; where there is no room for them nothing is recorded.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_TRACE_CACHE_H
#define EBB_MEMORY_TRACE_CACHE_H

#include "base/context.h"
#include "memory/planner.h"

#define EBB__TAPE_NONE UINT32_MAX
#define EBB__TAPE_KEPT (UINT32_MAX - 1)

typedef enum ebb__tape_kind {
    EBB__TAPE_SOURCE, /* from outside, or not to be made again: there before the operation */
    EBB__TAPE_MADE,
    EBB__TAPE_SCRATCH,
    EBB__TAPE_BECAME /* a source, once the operation has run */
} ebb__tape_kind;

typedef struct ebb__tape_op {
    uint64_t hash;
    double time; /* cost of those before it */
    float cost;
    uint32_t links; /* end of what it reads */
    uint32_t vals;  /* end of what it brings */
    uint32_t step : 31, is_rule : 1;
} ebb__tape_op;

typedef struct ebb__tape {
    ebb__tape_op *ops;
    uint32_t *links; /* vals read */
    uint32_t *sizes; /* vals: kind << 30 | bytes / 64 */
    uint32_t *left;  /* vals: the operation after which nobody holds it; NONE: still held at the
                        end; KEPT: and a later step reads it */
    uint32_t n_ops, n_links, n_vals, n_steps;
    uint32_t max_ops, max_links, max_vals;
    double time;
    struct ebb__table *table; /* of all of them */
    size_t table_bytes;
} ebb__tape;

static inline uint64_t ebb__tape_bytes(const ebb__tape *t, uint32_t val)
{
    return (uint64_t)(t->sizes[val] & (UINT32_MAX >> 2)) * 64;
}
static inline ebb__tape_kind ebb__tape_kind_of(const ebb__tape *t, uint32_t val)
{
    return (ebb__tape_kind)(t->sizes[val] >> 30);
}

/* Room for so many more of each, taken from the context where it does not come to more than
 * `most` bytes in all; false: there is none, and the tape is as it was. */
bool ebb__tape_room(ebb__tape *t, ebb_context *ctx, size_t most, uint32_t links, uint32_t vals);
/* The first n_ops operations of `from` become t's, which is empty; false: no room. */
bool ebb__tape_copy(ebb__tape *t, ebb_context *ctx, size_t most, const ebb__tape *from,
                    uint32_t n_ops);
void ebb__tape_clear(ebb__tape *t); /* keeps the room */
void ebb__tape_free(ebb__tape *t, ebb_context *ctx);
/* Of the operation that ebb__tape_end completes; in the order of the kinds. Room is there. */
uint32_t ebb__tape_val(ebb__tape *t, ebb__tape_kind kind, uint64_t bytes);
static inline void ebb__tape_read(ebb__tape *t, uint32_t val)
{
    if (t->left[val] < t->n_ops) t->left[val] = EBB__TAPE_NONE; /* who reads it holds it */
    t->links[t->n_links++] = val;
}
void ebb__tape_end(ebb__tape *t, uint64_t hash, float cost, bool is_rule);
/* What ebb__program_create takes. Errors: E_NOMEM. */
ebb_status ebb__tape_trace(ebb__trace *out, const ebb_allocator *allocator, const ebb__tape *t);

/* ---- kept steps -------------------------------------------------------------------------- */
/* A val is given up, or made again, before operation at / 2; after it, but before anything of it
 * is let go of, where at is odd. */
typedef struct ebb__steps_act {
    uint32_t at;
    uint32_t val : 31, again : 1;
} ebb__steps_act;
/* What to do in a step like this one: what the planner's best run did, in its order. */
typedef struct ebb__steps_plan {
    ebb__steps_act *acts;
    uint32_t n_acts;
    struct ebb__value **made; /* per val, while a step is done so: for ebb__named_watch */
    double cost;              /* simulated */
    struct ebb__table *table; /* of all of it */
} ebb__steps_plan;

typedef enum ebb__how {
    EBB__HOW_ALONE,   /* next uses known in the backward, as the engine sets them */
    EBB__HOW_KNOWN,   /* all next uses known */
    EBB__HOW_PLANNED, /* as planned */
    EBB__HOW_MAX
} ebb__how;
typedef struct ebb__learned {
    ebb__tape tape;           /* as large as it is */
    uint32_t *next;           /* per link: the operation that reads the val next; NONE */
    uint32_t *first;          /* per val: that reads it first after it was brought; NONE */
    struct ebb__table *table; /* of next and first */
    size_t table_bytes;
    uint64_t stamp;
    double least_ns; /* that a step like it took; 0: not known */
    uint32_t n_seen;
    uint32_t n_tried; /* of the planner's candidates */
    bool is_planned;  /* the planner is through with it, or cannot do it */
    /* What was run again in a whole step, by how victims were chosen; below 0: not known yet,
     * INFINITY: it found no room. */
    double extra[EBB__HOW_MAX];
    ebb__steps_plan *plan; /* NULL: none yet */
    uint64_t outside;      /* bytes in use beside its vals, at most */
    uint64_t smallest;     /* budget for all that is known to work; 0: not known */
    uint64_t low, high; /* for its vals: what does not work, and what does; high 0: not begun */
    bool has_smallest;  /* they are as good as one */
} ebb__learned;

enum { EBB__LEARNED_MAX = 8 };
typedef struct ebb__trace_cache {
    ebb__learned *items[EBB__LEARNED_MAX];
    int n;
    uint64_t stamp; /* steps so far */
} ebb__trace_cache;

/* A kept step whose first operations, up to number `at`, have this hash: the one used last. */
ebb__learned *ebb__trace_cache_find(const ebb__trace_cache *c, uint32_t at, uint64_t hash);
/* The kept step of n_ops operations whose last has this hash; NULL: there is none. */
ebb__learned *ebb__trace_cache_same(const ebb__trace_cache *c, uint32_t n_ops, uint64_t hash);
/* Keeps a copy of t, where it has at most `most` bytes and room can be made by forgetting others,
 * but not `spared`: those seen once first, then those not used for long. NULL: not kept. */
ebb__learned *ebb__trace_cache_add(ebb__trace_cache *c, ebb_context *ctx, const ebb__tape *t,
                                   size_t most, const ebb__learned *spared);
void ebb__trace_cache_use(ebb__trace_cache *c, ebb__learned *l);
/* A step has ended: those that were seen once and not again for a while are forgotten, but not
 * `spared`. */
void ebb__trace_cache_turn(ebb__trace_cache *c, ebb_context *ctx, const ebb__learned *spared);
/* How a step like this one is best done: as planned where that comes out so; else what was not
 * tried yet, then what cost least. */
ebb__how ebb__learned_how(const ebb__learned *l);
void ebb__trace_cache_destroy(ebb__trace_cache *c, ebb_context *ctx);
/* What the planner's best run does becomes the step's plan. False: no room. */
bool ebb__learned_plan(ebb__learned *l, ebb_context *ctx, const ebb__planner *planner);

/* ---- next uses, on the axis of the step's time -------------------------------------------- */
/* When operation `reader`, which reads val, begins; NONE: no more in this step. */
double ebb__learned_place(const ebb__learned *l, uint32_t reader, uint32_t val);
/* When val is read next, after operation `at`. */
double ebb__learned_next(const ebb__learned *l, uint32_t val, uint32_t at);

#endif
