/* explain.h - what holds memory, and why: labels, explanations, saved values, holders, the graph
 * as text, warnings about leaks.
 *
 * All but ebb_label_of and those that watch look at the whole graph: they may be called
 * while no other thread uses the context, its parent or its children. None of them prints,
 * changes what is alive, or computes; where memory for the search is refused they say so
 * (EBB_E_NOMEM) and nothing has changed.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_EXPLAIN_H
#define EBB_EXPLAIN_H

#include <ebb/graph.h>
#include <ebb/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EBB_NAME_BYTES = 32 }; /* of labels and names of operations here, the final 0 included */

/* A name for a tensor and for the operation that made it, in explanations and dumps.
 *
 *   label  copied, longer ones cut between characters of UTF-8 to at most 31 bytes; NULL takes
 *          the name away
 *
 * The tensor's name goes with the handle; that of the operation (of the leaf) with its node.
 * Memory  48 bytes of bookkeeping, and 32 for a tracked tensor's node.
 * Errors  EBB_E_MISUSE t is NULL or stale; EBB_E_NOMEM; EBB_E_BUDGET: the name is as it was.
 */
EBB_API EBB_NODISCARD ebb_status ebb_label(ebb_tensor *t, const char *label);
/* NULL where it has none; valid until it is set again or the handle goes. */
EBB_API const char *ebb_label_of(const ebb_tensor *t);

/* ---- what a backward would use -----------------------------------------------------------
 *
 * A value is the content of a storage at one version; views of it share its bytes. bytes are
 * those of the storage, as the statistics count them (more than 64: whole multiples of 64). */

/* One input, output or by-product that an operation saved for its backward. */
typedef struct ebb_saved_value {
    char op[EBB_NAME_BYTES]; /* the operation that saved it */
    const char *file;        /* where that was called; NULL without record_sites */
    int32_t line;
    int32_t index;    /* of the input, or of the output; by-products follow the outputs */
    bool is_output;   /* an output or by-product */
    bool is_shared;   /* another operation behind the root saves the same bytes */
    bool is_resident; /* in memory now; else made again when needed */
    bool is_stale;    /* written to since: a backward from here is refused */
    ebb_dtype dtype;  /* as it was saved */
    ebb_shape shape;
    size_t bytes;        /* of the whole storage */
    size_t unique_bytes; /* bytes, at the first member of the list that saves them; else 0 */
    uint64_t reserved[4];
} ebb_saved_value;
/* What a backward from root would use, in its order: newest operation first, its inputs before
 * its outputs.
 *
 *   out    the first max members; NULL where max is 0
 *   n_out  how many there are
 *   root   tracked, its graph not consumed
 *
 * The unique bytes sum to ebb_stats.saved_bytes where all live operations are behind root.
 * Errors  EBB_E_GRAPH root depends on nothing that wants a gradient, or was consumed;
 *         EBB_E_MISUSE; EBB_E_NOMEM.
 */
EBB_API EBB_NODISCARD ebb_status ebb_saved(ebb_saved_value *out, int64_t max, int64_t *n_out,
                                           ebb_tensor *root);

/* ---- why it is alive --------------------------------------------------------------------- */

/* An operation on the way from saved bytes to a handle. */
typedef struct ebb_explained_link {
    char op[EBB_NAME_BYTES];
    char label[EBB_NAME_BYTES]; /* of a tensor it made; "" where it has none */
    const char *file;           /* where it was called; NULL without record_sites */
    int32_t line;
} ebb_explained_link;

enum { EBB_EXPLAIN_LINKS = 8, EBB_EXPLAIN_SAVES = 4 };
/* Why an operation that saved the bytes is alive: the shortest chain of operations, each an
 * input of the next, to one whose result has a handle. */
typedef struct ebb_explained_save {
    int64_t n_links;                            /* of the whole chain */
    int64_t n_written;                          /* of link, from the one that saved */
    ebb_explained_link link[EBB_EXPLAIN_LINKS]; /* link[0] saved the bytes */
    ebb_explained_link head; /* the last of the chain, link[0] where it is 1 */
    ebb_tensor *handle;      /* on the head's result, borrowed; NULL: a call in progress */
    int64_t n_references;
    const ebb_site *scope;
    int64_t n_hook_references; /* as for the explained tensor itself, below */
    char hook[EBB_NAME_BYTES], hook_of[EBB_NAME_BYTES];
} ebb_explained_save;

/* Who holds a tensor's handle, and who else the bytes behind it. */
typedef struct ebb_explanation {
    size_t bytes; /* of the storage */
    ebb_kind kind;
    bool is_resident, is_view; /* a view: part of the storage, or strided */
    /* the handle */
    char label[EBB_NAME_BYTES];
    int64_t n_references;  /* the user's: ebb_keep, ebb_hold, ebb_claim, made by hand */
    bool is_in_scope;      /* a scope owns it, too */
    const ebb_site *scope; /* which one, NULL where it has no site */
    int64_t n_maps;
    /* the bytes */
    int64_t n_handles;                /* on them, this one included */
    int64_t n_gradient_slots;         /* that they are in */
    char gradient_of[EBB_NAME_BYTES]; /* the label of the first of these leaves, or "" */
    int64_t n_saves;                  /* live operations that saved them */
    int64_t n_explained;              /* of these, in save */
    ebb_explained_save save[EBB_EXPLAIN_SAVES];
    /* what the handle itself keeps alive: operations behind it that a backward would run */
    int64_t n_history;
    /* hooks */
    int64_t n_hooks;              /* on what made it, or on the leaf */
    int64_t n_hook_references;    /* of n_references: hooks name it in `holds` */
    char hook[EBB_NAME_BYTES];    /* the name of one of these, an own one first, or "" */
    char hook_of[EBB_NAME_BYTES]; /* what it is on: a label, an operation, "a leaf" */
    bool is_held_by_own_hook; /* the cycle: one of these is on what made it, or on what it was
                                 computed from; it goes when consumed, or with ebb_hook_remove */
    uint64_t reserved[8];
} ebb_explanation;
/* Why is it alive. Errors: EBB_E_MISUSE; EBB_E_NOMEM. */
EBB_API EBB_NODISCARD ebb_status ebb_explain(ebb_explanation *out, ebb_tensor *t);
/* The same as text, one line per holder, each ended by a newline; what exceeds size - 1 bytes is
 * cut. size 0: nothing is written. Errors: as ebb_explain. */
EBB_API EBB_NODISCARD ebb_status ebb_explain_text(char *buffer, size_t size, ebb_tensor *t);

/* ---- who holds how much ------------------------------------------------------------------ */

#define EBB_HOLDER_MAP(X)                                                                      \
    X(USER, 1, "user")         /* references that the user took */                             \
    X(HOOK, 2, "hook")         /* hooks, which name it in `holds`, and no user */              \
    X(SCOPE, 3, "scope")       /* a scope alone */                                             \
    X(GRADIENT, 4, "gradient") /* a leaf's gradient slot */                                    \
    X(SAVE, 5, "save")         /* an operation, for its backward */                            \
    X(RECIPE, 6, "recipe")     /* what can be made again needs it */                           \
    X(OBJECTS, 7, "objects")   /* what is no tensor: objects, bookkeeping; per kind of bytes */
typedef enum ebb_holder_what {
#define X(name, value, text) EBB_HOLDER_##name = value,
    EBB_HOLDER_MAP(X)
#undef X
} ebb_holder_what;
EBB_API const char *ebb_holder_what_name(ebb_holder_what what);

typedef struct ebb_holder {
    ebb_holder_what what;
    ebb_kind kind; /* what the bytes count as */
    size_t bytes;  /* of the storage held; adopted ones are the user's and count 0 below */
    size_t unique_bytes;       /* as the statistics count them, at one holder of each storage */
    uint64_t storage;          /* a number: equal where two hold the same bytes */
    int64_t n_references;      /* USER: his; HOOK: of hooks; else 0 */
    char name[EBB_NAME_BYTES]; /* USER, HOOK, SCOPE, GRADIENT: a label or ""; SAVE, RECIPE: the
                                  operation */
    char hook[EBB_NAME_BYTES]; /* HOOK: the name of one of them, or "" */
    const char *scope;         /* the name of the scope that owns the handle too, or NULL */
    const char *file;          /* where it was opened, or the operation called; or NULL */
    int32_t line;
    ebb_dtype dtype; /* 0: OBJECTS */
    ebb_shape shape;
    ebb_tensor *tensor; /* USER, HOOK, SCOPE: the handle, borrowed; SAVE: one that keeps the
                           operation, the nearest, NULL: a call in progress; else NULL */
    int64_t n_links;    /* SAVE: operations on the way to what made that, both included */
    uint64_t reserved[4];
} ebb_holder;
/* Every holder of bytes of the context and its children, those of most unique bytes first.
 *
 *   out    members; NULL where max is 0
 *   n_out  how many there are; more than max: out is not complete, and call again with as many
 *
 * Where complete, the unique bytes of each kind sum to ebb_stats.bytes of that kind (CACHE
 * aside), and all of them to used_bytes. Bytes with several holders count at the first in the
 * order of ebb_holder_what.
 * Memory  none but out.
 * Errors  EBB_E_MISUSE.
 */
EBB_API EBB_NODISCARD ebb_status ebb_holders(ebb_holder *out, int64_t max, int64_t *n_out,
                                             ebb_context *ctx);

/* The graph that a context shares with its parent and children, as text in pieces: operations
 * with their names, states and handles, labels, edges.
 *
 *   format  EBB_GRAPH_DOT (for graphviz) or EBB_GRAPH_JSON
 *   write   called without locks; must not call back
 *
 * Memory  none.
 * Errors  EBB_E_MISUSE; EBB_E_RANGE another format.
 */
EBB_API EBB_NODISCARD ebb_status
ebb_context_dump_graph(ebb_context *ctx, ebb_graph_format format,
                       void (*write)(void *user, const char *text, size_t n), void *user);

/* ---- warnings ---------------------------------------------------------------------------- */

enum {
    EBB_WATCH_GROWTH = 1, /* the live operations grew in each of the last 8 steps */
    EBB_WATCH_KEPT =
        2, /* a graph kept by keep_graph, its root held, was not used for 8 steps */
    EBB_WATCH_HOOK =
        4, /* a hook that holds its own tensor or one computed from that, or whose tensor was
              held for 8 steps */
    EBB_WATCH_STEPS = 8
};
typedef struct ebb_watch_event {
    uint32_t what; /* one of the above */
    ebb_context *ctx;
    int64_t step;       /* of the watch, from 1 */
    int64_t live_nodes; /* now */
    int64_t n_grown;    /* GROWTH: by how many in these steps */
    ebb_tensor *root;   /* KEPT: borrowed; HOOK: what it is on, or NULL; else NULL */
    char text[200];     /* the same in words */
    uint64_t reserved[4];
} ebb_watch_event;
/* Switches warnings about leaks on, for the context with its parent and children.
 *
 *   warn   called at the end of a step on the thread that takes it, without locks; may call
 *          anything; NULL switches them off
 *   flags  which warnings; 0: all
 *
 * A step is an ebb_optimizer_step or ebb_minimize that succeeded, or an ebb_watch_step. Each
 * warning comes once; growth again after 8 more steps of it.
 * Errors  EBB_E_MISUSE; EBB_E_RANGE unknown flags.
 */
EBB_API EBB_NODISCARD ebb_status ebb_watch(ebb_context *ctx,
                                           void (*warn)(void *user, const ebb_watch_event *e),
                                           void *user, uint32_t flags);
/* Has a function called where any call on the context or its tensors ends in EBB_E_BUDGET or EBB_E_NOMEM:
 * for a snapshot of who holds what at that moment (ebb_holders into memory made before,
 * ebb_context_dump_graph), for the context with its parent and children. A call that is made of others
 * (a layer, an optimizer, a loader, a set of parameters) is told of at the one within that was refused;
 * what zlib and other libraries are refused on their own account is not told.
 *
 *   refused  called once a failing call, on its thread, without locks, when all that the call
 *            had begun is undone; may call anything. ctx is that of the call (a child that could not
 *            be made: its parent), error the failure. NULL switches it off
 *
 * The failure, its budget report included, stays as it is whatever the function does. What is
 * refused while the function runs, in it or on other threads, is not told.
 * Errors  EBB_E_MISUSE.
 */
EBB_API EBB_NODISCARD ebb_status ebb_watch_refusals(
    ebb_context *ctx, void (*refused)(void *user, ebb_context *ctx, const ebb_error *error),
    void *user);
/* The end of a step of one's own. Costs nothing where nobody watches. */
EBB_API void ebb_watch_step(ebb_context *ctx);

#ifdef __cplusplus
}
#endif

#endif
