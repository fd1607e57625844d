/* graph.h - a computation graph that frees every node at the first moment nobody can use it.
 *
 * For authors of automatic-differentiation engines: nodes carry a payload of yours, edges lead
 * from a node to the nodes (or leaves) that made its inputs. libebb-graph needs the C library
 * only.
 *
 *   live     backward from the node is still possible
 *   spent    a backward consumed it; its payload is gone
 *   severed  backward is impossible because an ancestor was spent; its payload is gone
 *
 * A live node keeps its payload exactly while it has a handle or a live child. Leaves are never
 * spent. Nodes may be recorded, kept, released and consumed from any thread; no callback runs
 * under a lock, and a release inside a free callback joins the outermost call's work list.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_GRAPH_H
#define EBB_GRAPH_H

#include <ebb/allocator.h>
#include <ebb/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_graph_space ebb_graph_space; /* owns all its nodes */
typedef struct ebb_graph_node ebb_graph_node;   /* an interior node or a leaf */

typedef enum ebb_graph_state {
    EBB_GRAPH_LIVE = 1,
    EBB_GRAPH_SPENT,
    EBB_GRAPH_SEVERED,
    EBB_GRAPH_LEAF
} ebb_graph_state;

typedef struct ebb_graph_space_options {
    bool single_threaded;           /* used from one thread only: no locks are taken */
    const ebb_allocator *allocator; /* copied; NULL: the C library's */
    /* The name of a node's tag in messages ("matmul"); NULL: tags are shown as numbers. */
    const char *(*tag_name)(void *user, uint32_t tag);
    void *user;
    uint64_t reserved[4]; /* zero */
} ebb_graph_space_options;

EBB_API EBB_NODISCARD ebb_status ebb_graph_space_create(ebb_graph_space **out,
                                                        const ebb_graph_space_options *options);
/* Frees every node left, its payload included, whoever holds handles. NULL is ignored. */
EBB_API void ebb_graph_space_destroy(ebb_graph_space *space);

/* What a node is made of. payload is passed to free_payload exactly once, at the moment it is
 * of no further use (or when the space goes); free_payload may be NULL. */
typedef struct ebb_graph_payload {
    void *data;
    void (*free)(void *data);
    uint32_t tag; /* what made the node, for messages and dumps: an operation's number */
} ebb_graph_payload;

/* One edge: output `output` of `node` is this input. */
typedef struct ebb_graph_edge {
    ebb_graph_node *node;
    uint32_t output;
} ebb_graph_edge;

/* A leaf with one handle for the caller. Errors: E_NOMEM (the payload stays the caller's). */
EBB_API EBB_NODISCARD ebb_status ebb_graph_leaf_create(ebb_graph_node **out,
                                                       ebb_graph_space *space,
                                                       const ebb_graph_payload *payload);
/* A node with n >= 1 parents and one handle for the caller, who holds handles on the parents.
 * Where a parent is spent or severed the node is born severed: its payload is freed before this
 * returns and it shares the parent's tombstone. Errors: E_NOMEM, E_MISUSE (parents of different
 * spaces); then the payload stays the caller's. */
EBB_API EBB_NODISCARD ebb_status ebb_graph_node_record(ebb_graph_node **out,
                                                       ebb_graph_space *space,
                                                       const ebb_graph_edge *parents,
                                                       uint32_t n,
                                                       const ebb_graph_payload *payload);
/* One handle more; returns its argument. */
EBB_API ebb_graph_node *ebb_graph_node_keep(ebb_graph_node *node);
/* One handle less; frees whatever nobody can use any more, here and now. NULL is ignored. */
EBB_API void ebb_graph_node_release(ebb_graph_node *node);
EBB_API ebb_graph_state ebb_graph_node_state(const ebb_graph_node *node);
/* NULL once the payload is gone. The caller sees to it that it does not go meanwhile. */
EBB_API void *ebb_graph_node_payload(const ebb_graph_node *node);
EBB_API uint32_t ebb_graph_node_tag(const ebb_graph_node *node);
/* How a spent or severed node became so; number 0 while it is live. */
typedef struct ebb_graph_tombstone {
    uint32_t tag;    /* of the node that was consumed */
    uint64_t number; /* of the backward that consumed it, from 1 */
} ebb_graph_tombstone;
EBB_API ebb_graph_tombstone ebb_graph_node_tombstone(const ebb_graph_node *node);

/* ---- backward ---------------------------------------------------------------------------- */

/* One node of a backward. Its payload and those of the parents named by ebb_graph_step_parent
 * are there until the visitor returns. */
typedef struct ebb_graph_step {
    ebb_graph_node *node;
    void *payload;
    uint32_t tag;
    uint32_t n_parents;
    bool is_input; /* a chosen input not on the way to another: its gradient is complete; it is
                      not spent and has no parents in this backward */
    const void *walk;
    int64_t index;
} ebb_graph_step;

/* Where input i of the node came from; node NULL where no gradient is wanted there. i <
 * n_parents. Valid during the visit. */
EBB_API ebb_graph_edge ebb_graph_step_parent(const ebb_graph_step *step, uint32_t i);

/* Called without locks held; both may record, keep, release, and consume other roots. A status
 * other than EBB_OK (made with ebb_fail) ends the backward: nodes not visited are spent all the
 * same unless it keeps. */
typedef struct ebb_graph_visitor {
    /* Every interior node, each after all nodes of this backward that use it. */
    ebb_status (*node)(void *user, const ebb_graph_step *step);
    /* Every leaf reached, once, after the last node; NULL if not wanted. */
    ebb_status (*leaf)(void *user, ebb_graph_node *leaf, void *payload);
    void *user;
} ebb_graph_visitor;

typedef struct ebb_graph_consume_options {
    bool keep;                    /* visit only: nothing is spent or severed */
    bool allow_unused;            /* an input without a path is passed over */
    const ebb_graph_edge *inputs; /* NULL: all leaves; else only nodes on a path from a root to
                                     one of these are visited and spent */
    int64_t n_inputs;
    uint64_t reserved[4]; /* zero */
} ebb_graph_consume_options;

/* Backward from live roots: visits the interior ancestors newest first and spends them; every
 * descendant of a spent node outside becomes severed. A node's payload goes right after its
 * visit. visitor NULL: lets the graph go without visiting. The roots' handles stay the
 * caller's.
 *
 * Errors  EBB_E_GRAPH a root is spent or severed, or another thread's backward was first, or an
 *         input has no path (the message names its index); EBB_E_MISUSE; EBB_E_NOMEM: nothing
 * has changed. A visitor's own status: the walked nodes are spent unless kept.
 */
EBB_API EBB_NODISCARD ebb_status ebb_graph_consume(const ebb_graph_edge *roots, int64_t n_roots,
                                                   const ebb_graph_visitor *visitor,
                                                   const ebb_graph_consume_options *options);

/* ---- what is there, and why ------------------------------------------------------------------
 *
 * Exact when no other call on the space is in progress; only ebb_graph_stats_get and
 * ebb_graph_label_set may be called while others are. */

typedef struct ebb_graph_stats {
    int64_t live, spent, severed;  /* interior nodes now; the last two have handles only */
    int64_t leaves, leaves_in_use; /* now; in use: a live node has an edge to it */
    int64_t edges;                 /* of live nodes, now */
    int64_t nodes_created, nodes_freed, leaves_created,
        leaves_freed;                      /* in all; interior nodes */
    int64_t nodes_consumed, nodes_severed; /* in all */
    int64_t backwards;                     /* in all; consuming ones */
    size_t object_bytes, memory_bytes;     /* of nodes; taken from the allocator for them */
    uint64_t reserved[8];
} ebb_graph_stats;
EBB_API void ebb_graph_stats_get(ebb_graph_stats *out, const ebb_graph_space *space);

/* What a consuming backward from these roots would do now. */
typedef struct ebb_graph_forecast {
    int64_t n_spent, n_severed;
    int64_t n_severed_held; /* of these, nodes somebody has a handle on */
    bool severs_node;       /* the node asked about would be severed or spent */
    uint64_t reserved[4];
} ebb_graph_forecast;
/* node may be NULL. Errors: as ebb_graph_consume; E_NOMEM. */
EBB_API EBB_NODISCARD ebb_status ebb_graph_forecast_get(ebb_graph_forecast *out,
                                                        const ebb_graph_edge *roots,
                                                        int64_t n_roots,
                                                        const ebb_graph_node *node);

/* A name for a node in explanations and dumps, copied; NULL takes it away. Errors: E_NOMEM. */
EBB_API EBB_NODISCARD ebb_status ebb_graph_label_set(ebb_graph_node *node, const char *label);
/* NULL where it has none; valid until it is set again or the node is freed. */
EBB_API const char *ebb_graph_label(const ebb_graph_node *node);

/* Why a node is alive: the shortest chain from a node that somebody has a handle on, through
 * edges to parents, to the node itself. */
typedef struct ebb_graph_reason {
    ebb_graph_node *node; /* borrowed */
    int64_t n_handles;    /* on this node; more than 0 only at the head of the chain */
    uint32_t tag;
    const char *label; /* or NULL */
} ebb_graph_reason;
/* Writes the first `size` members of the chain, its head first, and its whole length to n_out:
 * 1 where the node has a handle itself, 0 where nothing holds it (a callback asks about a node
 * that is going). Errors: E_NOMEM, E_MISUSE. */
EBB_API EBB_NODISCARD ebb_status ebb_graph_explain(ebb_graph_reason *chain, int64_t size,
                                                   int64_t *n_out, ebb_graph_node *node);
EBB_API int64_t ebb_graph_node_handles(const ebb_graph_node *node);

typedef enum ebb_graph_format { EBB_GRAPH_DOT = 1, EBB_GRAPH_JSON } ebb_graph_format;
/* Writes all nodes and edges as text, in pieces. */
EBB_API EBB_NODISCARD ebb_status ebb_graph_dump(ebb_graph_space *space, ebb_graph_format format,
                                                void (*write)(void *user, const char *text,
                                                              size_t n),
                                                void *user);

#ifdef __cplusplus
}
#endif

#endif
