/* watching.h - what is remembered from step to step to warn of leaks.
 *
 * It holds nothing: a kept root is known by the record of what made it, which takes it from the list
 * when it goes, and by its handle, of which only the number is looked at: other threads may let go
 * of both meanwhile. Of kept roots only the latest few are watched, each by the thread that kept
 * it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AUTODIFF_WATCHING_H
#define EBB_AUTODIFF_WATCHING_H

#include "base/lock.h"
#include "tensor/tensor.h"

#include <ebb/explain.h>

enum { EBB__WATCH_ROOTS = 8 };

typedef struct ebb__kept_root {
    ebb_tensor *root; /* NULL: free */
    const ebb__record *record;
    uint64_t thread_id;
    int64_t step; /* at which it was used last */
    char label[EBB__LABEL_BYTES];
} ebb__kept_root;

/* A root context's. Zero: nobody watches. Under the lock but for `flags` and `tells`. */
typedef struct ebb__watch {
    ebb__lock lock;
    atomic_uint flags; /* 0: off */
    void (*warn)(void *user, const ebb_watch_event *e);
    void *user;
    int64_t step, last_live, first_live, n_grown_steps;
    ebb__kept_root kept[EBB__WATCH_ROOTS];
    uint32_t next_kept; /* taken where all are in use */
    /* refusals: whom to tell; telling: a call of it is in progress */
    atomic_bool tells;
    bool telling;
    void (*refused)(void *user, ebb_context *ctx, const ebb_error *error);
    void *refused_user;
} ebb__watch;

#endif
