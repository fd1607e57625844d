/* hooks.h - functions of the user's that see gradients on their way.
 *
 * Hooks lie in a table of the root context's engine, found by the place they watch: the record
 * of a live node, or a leaf's payload; both carry a mark, so that a backward looks here only
 * where there is something. A place's hooks go when its payload does. The table's lock is never
 * held while anything is called; a hook that runs is kept by a reference of its own.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_HOOKS_H
#define EBB_AUTODIFF_HOOKS_H

#include "base/lock.h"
#include "tensor/tensor.h"

#include <ebb/hook.h>

/* ebb__record.marks: an output has a hook; recorded in a dry run; a kept root that is watched. */
enum { EBB__RECORD_HOOKED = 1, EBB__RECORD_DRY = 2, EBB__RECORD_KEPT = 4 };

typedef struct ebb__hook {
    struct ebb__hook *next, *next_by_id; /* in the buckets; in the order of adding */
    const void *place;
    uint64_t id;
    uint32_t refs; /* the table's, and one per run; under the lock */
    uint32_t output;
    ebb_context *ctx;
    ebb_hook_fn fn; /* NULL: fills `retained` */
    void *user;
    void (*done)(void *user);
    ebb__retained *retained;
    ebb_tensor **holds;
    int64_t n_holds;
    /* known, not held: what it was added to */
    ebb_tensor *tensor;
    const ebb_graph_node *node;
    uint64_t sequence;
    int64_t step; /* of the watch, then; -1: warned of */
    bool seen;    /* the watch has looked at what it holds */
    bool is_on_leaf;
    uint64_t thread_id;
    char name[EBB__LABEL_BYTES], label[EBB__LABEL_BYTES]; /* its own; the tensor's, then */
} ebb__hook;

/* A root context's. */
typedef struct ebb__hooks {
    ebb__lock lock;
    ebb__hook **bucket, **bucket_by_id;
    uint32_t n_buckets, n;
    uint64_t last_id;
} ebb__hooks;

/* Adds a hook to the slot's place; takes user and done over, also on failure. */
ebb_status ebb__hook_add(ebb_hook_id *out, ebb__slot *s, ebb_hook_fn fn, void *user,
                         const ebb_hook_options *o);
ebb_status ebb__hook_retain(ebb__slot *s);
ebb_status ebb__hook_remove(ebb_context *root, ebb_hook_id id);
/* The place's payload goes: so do its hooks. */
void ebb__hooks_drop(ebb_context *root, const void *place);
/* All that is left. */
void ebb__hooks_destroy(ebb_context *root);
/* The next hook of a place after number `after` and up to `last`, with a reference. NULL: none. */
ebb__hook *ebb__hook_next(ebb_context *root, const void *place, uint32_t output, uint64_t after,
                          uint64_t last);
void ebb__hook_unref(ebb__hook *h);
uint64_t ebb__hooks_last_id(ebb_context *root);
/* For the watch: the next hook with `holds` that this thread has added before a step and that is
 * not seen yet, with a reference; NULL: none. */
ebb__hook *ebb__hook_unseen(ebb_context *root, uint64_t thread_id, int64_t step);
/* It is warned of once. */
void ebb__hook_told(ebb__hook *h);
/* A watch begins anew. */
void ebb__hooks_unsee(ebb_context *root);
/* Each hook, under the lock: `each` calls nothing. */
void ebb__hooks_each(ebb_context *root, void (*each)(void *user, ebb__hook *h), void *user);

#endif
