/* tensor.h - the user's handle: a checked slot with layout, storage and the node that made it.
 *
 * A public ebb_tensor * is the address of a 128-byte slot with the slot's generation in its low
 * 7 bits. Slots live in pages that are never given back to the system and are found through a
 * process-wide table, so any pointer can be checked; a page belongs to one context at a time.
 * Slots are created with one reference of the innermost scope.
 *
 * refs counts the user's references (low 24 bits) apart from the scope's (above); the slot dies
 * when both are 0: the storage and the node are let go and the generation moves.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TENSOR_TENSOR_H
#define EBB_TENSOR_TENSOR_H

#include "base/lock.h"
#include "graph/graph.h"
#include "memory/value.h"
#include "tensor/layout.h"

#include <ebb/scope.h>

enum { EBB__SLOT_BYTES = 128, EBB__GENERATION_MASK = EBB__SLOT_BYTES - 1 };
enum { EBB__SCOPE_REF = 1 << 24 };
enum { EBB__INLINE_DIMS = 3, EBB__LABEL_BYTES = 32 };

typedef struct ebb__slot {
    atomic_uint refs;
    atomic_uchar generation; /* in the handle's low 7 bits */
    bool is_leaf;
    atomic_uchar n_maps;
    atomic_bool written_by_map; /* mapped for writing since it was last unmapped wholly */
    uint16_t output;            /* of node */
    uint16_t scope_depth;       /* of the scope that owns it (or that it was escaped to) */
    uint32_t scope_index;       /* in the owning thread's handle list */
    ebb__storage *storage;
    ebb_graph_node *node; /* NULL: untracked. A leaf's: its graph leaf */
    ebb_context *ctx;
    ebb__layout *layout; /* own.layout where n_dims <= EBB__INLINE_DIMS, else from the pool */
    const ebb_site
        *scope; /* where the owning scope was opened; after death: which scope it was */
    struct ebb__slot_extra *extra; /* of the pool's, or NULL */
    union {
        ebb__layout layout_inline;
        unsigned char bytes[16 + 16 * EBB__INLINE_DIMS];
        struct ebb__slot *next_free;
    } own;
} ebb__slot;
_Static_assert(sizeof(ebb__slot) == EBB__SLOT_BYTES, "handles are spaced by the slot size");

/* A leaf's payload in the graph: the gradient slot. Guarded by ebb__graph_leaf_lock. */
typedef struct ebb__leaf {
    ebb__storage *grad; /* dense, C order, of the leaf's dtype and shape; NULL: empty */
    ebb_context *ctx;
    ebb_dtype dtype;
    ebb_shape shape;
    atomic_bool hooked; /* somebody wants to see its gradients: autodiff/hooks.h */
} ebb__leaf;

/* The gradient slot of an interior tensor whose user asked for one: held by the handle, and by
 * the hook that fills it, so that neither holds the other. */
typedef struct ebb__retained {
    atomic_uint refs;
    ebb__lock lock; /* guards slot.grad */
    ebb__leaf slot;
} ebb__retained;
/* One reference; NULL with a record. */
ebb__retained *ebb__retained_create(ebb_context *ctx, ebb_dtype d, const ebb_shape *shape);
void ebb__retained_release(ebb__retained *r); /* NULL is ignored */

/* What few handles have. */
typedef struct ebb__slot_extra {
    char label[EBB__LABEL_BYTES];
    bool has_label;
    ebb__retained *retained;
} ebb__slot_extra;
/* The handle's, made where it has none. NULL with a record. */
ebb__slot_extra *ebb__slot_extra_need(ebb__slot *s);
void ebb__slot_extra_free(ebb__slot *s);
static inline const char *ebb__slot_label(const ebb__slot *s)
{
    return s->extra && s->extra->has_label ? s->extra->label : NULL;
}

/* One bit per possible page of handles in a 47-bit address space, in two levels; slots.c. */
enum { EBB__SLOT_PAGE_BITS = 16, EBB__SLOT_TABLE_BITS = 16 };
extern _Atomic(atomic_ullong *) ebb__slot_table[1 << EBB__SLOT_TABLE_BITS];

/* Without checks, for handles known to be good. */
static inline ebb__slot *ebb__slot_raw(const ebb_tensor *t)
{
    return (ebb__slot *)((uintptr_t)t & ~(uintptr_t)EBB__GENERATION_MASK);
}
static inline ebb_tensor *ebb__handle_of(const ebb__slot *s)
{
    unsigned generation = atomic_load_explicit(&s->generation, memory_order_relaxed);
    return (ebb_tensor *)((uintptr_t)s | (generation & EBB__GENERATION_MASK));
}

/* Is the address that of a slot of some page, live or not. */
static inline bool ebb__slot_known(const void *slot)
{
    uintptr_t a = (uintptr_t)slot;
    if (a >> (EBB__SLOT_PAGE_BITS + 2 * EBB__SLOT_TABLE_BITS)) return false;
    atomic_ullong *leaf = atomic_load_explicit(
        &ebb__slot_table[a >> (EBB__SLOT_PAGE_BITS + EBB__SLOT_TABLE_BITS)],
        memory_order_acquire);
    if (!leaf) return false;
    uint32_t page = (uint32_t)(a >> EBB__SLOT_PAGE_BITS) & ((1u << EBB__SLOT_TABLE_BITS) - 1);
    /* The first slot's place in a page is the page's header. */
    return (atomic_load_explicit(&leaf[page / 64], memory_order_acquire) >> (page % 64) & 1) &&
           (a & ((1u << EBB__SLOT_PAGE_BITS) - 1)) != 0;
}
/* The slot behind a handle, NULL where it is none, stale or foreign. */
static inline ebb__slot *ebb__slot_find(const ebb_tensor *t)
{
    ebb__slot *s = ebb__slot_raw(t);
    bool good = ebb__slot_known(s) && atomic_load_explicit(&s->refs, memory_order_relaxed) &&
                ebb__handle_of(s) == t;
    return good ? s : NULL;
}
/* Records (E_MISUSE) why a handle is refused; returns NULL. A NULL handle: the pending failure
 * stays, or E_MISUSE naming `function` and `argument` is made. */
ebb__slot *ebb__slot_refuse(const ebb_tensor *t, const char *function, const char *argument);
/* The slot behind a handle, NULL with a record where it is refused. */
static inline ebb__slot *ebb__slot_of(const ebb_tensor *t, const char *function,
                                      const char *argument)
{
    ebb__slot *s = ebb__slot_find(t);
    return s ? s : ebb__slot_refuse(t, function, argument);
}

/* A handle owned by the innermost scope on storage, whose reference it takes, also on failure.
 */
ebb_status ebb__tensor_create(ebb_tensor **out, ebb_context *ctx, ebb__storage *take_storage,
                              const ebb_view *layout, int64_t offset);
/* A fresh storage of `kind` in C order, content unspecified, and a handle on it. view (may be
 * NULL) gets the layout with data set, which is pinned: the caller unpins the value. */
ebb_status ebb__tensor_new(ebb_tensor **out, ebb_context *ctx, ebb_dtype d, const ebb_shape *s,
                           ebb_kind kind, ebb_view *view);
void ebb__tensor_set_node(ebb_tensor *t, ebb_graph_node *take_node, uint32_t output);
/* The bytes as a view; data is NULL where they are not resident. */
void ebb__tensor_view(ebb_view *out, const ebb__slot *s);
/* Drops every slot of a context. */
ebb_status ebb__slots_create(ebb_context *ctx);
void ebb__slots_destroy(ebb_context *ctx);
/* Live handles; bytes of its pages that are charged as bookkeeping and not in use. */
void ebb__slots_count(const ebb_context *ctx, int64_t *n_live, size_t *idle_bytes);
/* Misuse seen by this context (late releases and the like). */
int64_t ebb__slots_misuse(const ebb_context *ctx);

/* ---- scopes of the thread ---------------------------------------------------------------- */
/* E_MISUSE where none is open. */
ebb_status ebb__scope_required(void);
/* True where operations on tracked inputs are recorded. */
bool ebb__scope_records(void);
/* Scopes that the engine opens around a backward rule: what is made there is temporary. */
enum { EBB__SCOPE_RULE = 1 << 8 };
bool ebb__scope_is_rule(void);
/* The innermost scope owns the slot from now on: its one reference. E_NOMEM. */
ebb_status ebb__scope_adopt(ebb__slot *s);
/* Takes a slot out of the thread's scopes, with the scope's reference, wherever it is there;
 * false where no scope of this thread owns it. */
bool ebb__scope_disown(ebb__slot *s);
/* The innermost scope made it and nothing else holds it. */
bool ebb__scope_sole_owner(const ebb__slot *s);
/* Then its reference becomes the caller's; false where it is not so. */
bool ebb__scope_take(ebb__slot *s);
/* ebb_release of a handle known to be good; NULL is ignored. */
void ebb__tensor_release(ebb_tensor *t);
/* Around a user's callback: it may not end scopes that were open before, and those it leaves open
 * are closed; and the caller's line, which calls within set anew, is again what it was. */
typedef struct ebb__fence {
    uint32_t floor;
    int32_t line;
    const char *file;
} ebb__fence;
ebb__fence ebb__scope_fence(void);
void ebb__scope_unfence(ebb__fence before);
/* The thread's open scopes, the outermost first: once without a slot (is_first), then each live
 * handle that it owns. */
void ebb__scopes_each(void (*each)(void *user, const ebb_site *site, bool is_first,
                                   const ebb__slot *s),
                      void *user);
/* The innermost scope's site, NULL where it has none. */
const ebb_site *ebb__scope_site(void);

#endif
