/* backward.h - what the files of the engine share.
 *
 * The few operations the engine itself emits are named here; they are the only ones it knows.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_BACKWARD_H
#define EBB_AUTODIFF_BACKWARD_H

#include "autodiff/habit.h"
#include "autodiff/hooks.h"
#include "autodiff/recording.h"
#include "autodiff/watching.h"
#include "base/array.h"
#include "base/context.h"

/* Operations the engine itself needs, looked up by name when it is created: no upward call. */
typedef struct ebb__engine {
    const ebb_op *add, *accumulate, *sum_to, *clone, *cast;
    void (*trace)(void *user, const ebb__op_event *e);
    void *trace_user;
    ebb__watch watch;            /* the root's counts */
    ebb__hooks hooks;            /* so does this */
    _Atomic(ebb__habit *) habit; /* NULL: nothing is learned */
    struct ebb__dry *dry;        /* NULL: operations compute; dry.h */
} ebb__engine;

static inline ebb__habit *ebb__habit_of(const ebb_context *ctx)
{
    if (ctx->engine->dry) return NULL;
    return atomic_load_explicit(&ctx->engine->habit, memory_order_acquire);
}
/* E_MISUSE: made before a fork, or single-threaded and another thread's. */
ebb_status ebb__context_usable(const ebb_context *ctx);
/* The deeper of the two, which must lie on one line of descent. */
ebb_status ebb__context_join(ebb_context **ctx, ebb_context *other);
void ebb__trace_op(const ebb__apply *a);
/* ebb__run under the name of the operation around it. */
ebb_status ebb__run_unnamed(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                            ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);
/* Runs a composed operation: its formula, with the results escaping. */
ebb_status ebb__compose(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                        ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);

/* The dtype that the operands must be cast to; 0: they may stay as they are. */
ebb_dtype ebb__promoted(const ebb__apply *a);
/* Operand i in that dtype, of the innermost scope; NULL with a record. */
ebb_tensor *ebb__promote(ebb_tensor *t, const ebb_op *op, int32_t i, ebb_dtype d);
/* All operands in their common dtype. */
ebb_status ebb__promote_all(ebb_tensor **out, const ebb_op *op, ebb_tensor *const *in,
                            int32_t n_in);

/* Whether a gradient has neither NaN nor infinities; nothing is known of it in a dry run. */
ebb_status ebb__finite_check(bool *finite, ebb_tensor *g);

/* ---- one rule of a backward -------------------------------------------------------------- */
typedef struct ebb__backward ebb__backward;
/* Runs the rule of node i of the walk: gradients go to the walk's accumulators. */
ebb_status ebb__rule_run(ebb__backward *b, int64_t i);

/* A gradient under way: a handle we own, or NULL. */
typedef ebb_tensor *ebb__grad_total;

/* The gradient of an interior tensor whose user asked for it, until the walk has succeeded. */
typedef struct ebb__kept_total {
    struct ebb__kept_total *next;
    ebb__retained *to;
    ebb_tensor *total;
} ebb__kept_total;

enum { EBB__MAX_PARTS = 8 };

struct ebb__backward {
    ebb__graph_walk walk;
    ebb_context *ctx;
    bool create_graph;
    const ebb__backward_args *args;
    int64_t *first_out;     /* per node: where its outputs' totals begin */
    ebb__grad_total *total; /* of every output of every node, then of every leaf */
    int64_t n_totals;
    int64_t *last_of; /* per leaf: the node that contributes last */
    bool *is_input;   /* per node: a chosen input */
    bool committed;   /* commit_each_leaf: a slot has been added to */
    bool has_wide;    /* some total of 16-bit floats is a sum, in f32 */
    ebb__kept_total *kept;
    ebb__grad_total *part[EBB__MAX_PARTS]; /* under a budget: see ebb__parts_settle */
    int32_t n_parts;
    void *memory;
    size_t memory_bytes;
    ebb__array again; /* a kept graph's values to be given up again; a use each */
    double
        *position; /* under a budget: per node, when its rule runs on the axis of next uses */
    double *after; /* of the saves of nodes to come, in their order: when they are read again */
    size_t n_saves;
    int64_t n_read; /* nodes done */
};

/* ---- next_use.c: nothing where there is no budget ---------------------------------------- */
ebb_status ebb__next_uses_set(ebb__backward *b);
void ebb__next_uses_at(ebb__backward *b, int64_t i);    /* node i is next */
void ebb__next_uses_after(ebb__backward *b, int64_t i); /* node i is done */
void ebb__next_use_total(const ebb__backward *b, const ebb__grad_total *total, int64_t node);
void ebb__next_uses_end(ebb__backward *b);
/* Notes a backward that has succeeded, where somebody watches. */
void ebb__watch_backward(const ebb__backward *b);
/* A record with EBB__RECORD_KEPT goes. */
void ebb__watch_forget(const ebb__record *record);
static inline ebb__grad_total *ebb__leaf_total(ebb__backward *b, int64_t leaf)
{
    return &b->total[b->first_out[b->walk.n_nodes] + leaf];
}
/* parts.c: the total has just been given, and may be a small part of a larger gradient. */
void ebb__part_note(ebb__backward *b, ebb__grad_total *total);
/* Before node i: such parts that alone keep all the bytes of the whole get bytes of their own. */
ebb_status ebb__parts_settle(ebb__backward *b, int64_t i);
/* Adds g (borrowed) to a total. */
ebb_status ebb__total_add(ebb__backward *b, ebb__grad_total *total, ebb_tensor *g);
/* What the innermost scope made and nobody else holds becomes ours; what belongs to others is
 * kept. NULL with a record. */
ebb_tensor *ebb__claim_or_keep(ebb_tensor *g);
/* Calls the hooks of node i's outputs, or of leaf i, whose totals are complete. */
ebb_status ebb__hooks_run_node(ebb__backward *b, int64_t i);
ebb_status ebb__hooks_run_leaf(ebb__backward *b, int64_t i);
/* The total of leaf i is: rounded where it was summed wide, then its hooks. */
ebb_status ebb__leaf_complete(ebb__backward *b, int64_t i);
void ebb__kept_release(ebb__backward *b);
/* True where nobody else can see the tensor's bytes and they are dense. */
bool ebb__tensor_exclusive(const ebb__slot *s);

/* A handle of the innermost scope on a value, without history. NULL with a record. */
ebb_tensor *ebb__tensor_of_value(ebb_context *ctx, ebb__value *v, const ebb__layout *layout);

#endif
