/* context.h - a context: memory, budget, threads and random numbers of everything made in it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_CONTEXT_H
#define EBB_CONTEXT_H

#include <ebb/allocator.h>
#include <ebb/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_context ebb_context;

/* What bytes are for. DATA: what the user supplied (copied, adopted, loaded, written). CACHE:
 * held for reuse, no content; not part of used_bytes. Values are pinned; new ones are added at
 * the end. */
#define EBB_KIND_MAP(X)                                                                        \
    X(PARAMETER, 0, "parameter")                                                               \
    X(GRADIENT, 1, "gradient")                                                                 \
    X(ACTIVATION, 2, "activation")                                                             \
    X(OPTIMIZER, 3, "optimizer")                                                               \
    X(TEMPORARY, 4, "temporary")                                                               \
    X(SCRATCH, 5, "scratch")                                                                   \
    X(DATA, 6, "data")                                                                         \
    X(BOOKKEEPING, 7, "bookkeeping")                                                           \
    X(CACHE, 8, "cache")
typedef enum ebb_kind {
#define X(name, value, text) EBB_KIND_##name = value,
    EBB_KIND_MAP(X)
#undef X
} ebb_kind;
enum { EBB_KIND_MAX = 16 };
EBB_API const char *ebb_kind_name(ebb_kind k);

/* Zero is the default of every field. */
typedef struct ebb_context_options {
    size_t memory_budget_bytes; /* 0: no limit; the environment variable EBB_MEMORY_BUDGET_BYTES
                                   gives the default where it is set */
    int32_t n_threads;          /* 0: EBB_NUM_THREADS where set, else one per core */
    uint64_t seed;
    /* Allows, and does not demand, kernels whose results depend on timing; there are none today. */
    bool nondeterministic; /* 0: results do not depend on timing */
    bool single_threaded; /* another thread's use is E_MISUSE; takes no locks. A child is as its
                              parent is: to ask for it under another parent is E_MISUSE */
    ebb_context *parent;  /* this context's bytes count against the parent's budget too;
                              the parent's tensors may be used here */
    const ebb_allocator *allocator; /* copied; NULL: the C library's, or the parent's */
    /* Each recorded operation keeps its caller's file and line (16 bytes) for refusals and
     * explanations; so in all contexts below. */
    bool record_sites;
    /* For finding faults: what is made again, for a budget or a region, is compared by a hash with
     * what was given up first. Where it differs the call that reads it fails: E_MISUSE names the
     * user's own operation. A pass over the bytes each time; so in all contexts below. */
    bool check_recompute;
    /* Without a budget: where more than so many bytes are free for reuse, those around a value that goes
     * go back to the allocator at once, if nothing else lies among them. 0: all stay until ebb_trim or
     * the context goes; 1: none. 0 in a child: as its parent. */
    size_t cache_limit_bytes;
    uint64_t reserved[5];
} ebb_context_options;

/* Errors: E_MISUSE out is NULL, reserved is not zero, or the parent is of another process;
 * E_RANGE n_threads < 0, or EBB_MEMORY_BUDGET_BYTES is no number of bytes; E_NOMEM;
 * E_BUDGET the budget cannot hold the context itself. */
EBB_API EBB_NODISCARD ebb_status ebb_context_create(ebb_context **out,
                                                    const ebb_context_options *options);
/* Everything made in the context goes with it: tensors, parameter sets, optimizers, loaders. Tensor
 * handles that outlive it are stale: releasing one does nothing, using one is E_MISUSE; pointers to
 * sets, optimizers and loaders are not to be used any more. Children are closed first: what is
 * tried with one is E_MISUSE, and it still wants its own destroy. In a child process a context of
 * the parent's is left alone. NULL is ignored. */
EBB_API void ebb_context_destroy(ebb_context *ctx);

typedef struct ebb_stats {
    size_t used_bytes, peak_bytes, budget_bytes; /* budget 0: none */
    size_t bytes[EBB_KIND_MAX];        /* now, by kind; all but CACHE sum to used_bytes */
    size_t peak_by_kind[EBB_KIND_MAX]; /* at the moment of the peak */
    char peak_op[32];                  /* the operation at which the peak occurred */
    int64_t live_nodes, n_handles, n_misuse;
    /* Of the graph, which a context shares with its parent and its children. Nodes are interior
     * ones; a spent or severed one is there as long as its tensor is. */
    int64_t spent_nodes, severed_nodes;
    int64_t leaves_in_use, edges;       /* leaves that live nodes read; edges of live nodes */
    int64_t created_nodes, freed_nodes; /* since the context was made */
    size_t saved_bytes; /* of the values that live nodes saved for their backward, each once,
                           whether in memory now or not; storages, as their kinds count them */
    uint64_t reserved[16];
} ebb_stats;
/* Exact when no call is in progress. Bytes are this context's and its children's; those of the
 * graph the whole graph's. */
EBB_API void ebb_stats_get(ebb_stats *out, const ebb_context *ctx);
/* The peak starts anew from what is used now. */
EBB_API void ebb_stats_reset_peak(ebb_context *ctx);
/* Gives cached memory back to the allocator; what a budget has reserved goes with the context. */
EBB_API void ebb_trim(ebb_context *ctx);

/* Details of the thread's last E_BUDGET failure; members that are not known are 0.
 * needed_bytes      what must be there at once, by kind, all that cannot be given up included
 * held_by_user_bytes   in memory and taken beyond scopes, parameters included
 * lower_bound_bytes no budget below this serves what was run so far and this
 * smallest_known_bytes  what would do for steps like the last, as found between steps; else, from the
 *                      second backward that succeeded on, what has served until then: the budget or,
 *                      where no value was given up yet, what was used at most
 * holder            the open scopes that hold most, by name and line */
typedef struct ebb_budget_report {
    size_t needed_bytes, budget_bytes, needed_by_kind[EBB_KIND_MAX], held_by_user_bytes,
        lower_bound_bytes, smallest_known_bytes;
    struct {
        char scope[32];
        const char *file;
        int32_t line;
        size_t bytes;
    } holder[4];
    uint64_t reserved[8];
} ebb_budget_report;
/* True, and *out filled, when the pending failure is EBB_E_BUDGET. */
EBB_API bool ebb_error_budget(ebb_budget_report *out);

#ifdef __cplusplus
}
#endif

#endif
