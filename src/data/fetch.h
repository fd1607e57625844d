/* fetch.h - fills one batch's buffers, on a thread of its own or on the caller's.
 *
 * The thread sees the source, the order and the buffers, never a tensor. Between fetch_begin
 * and fetch_wait these belong to it, else to the caller.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_DATA_FETCH_H
#define EBB_DATA_FETCH_H

#include <ebb/data.h>
#include <pthread.h>
#include <sys/types.h>

typedef struct ebb__fetch {
    const ebb_source *source;
    size_t item_bytes[EBB_MAX_FIELDS];
    const int64_t *order; /* NULL: as they come */
    void *buffer[EBB_MAX_FIELDS];

    int64_t first, n; /* the batch asked for: positions in the order */
    ebb_status status;
    ebb_error error; /* where status is not EBB_OK */
    int64_t failed_item;

    bool threaded;
    pid_t process; /* whose thread it is: a forked child has none, nor may it touch the lock */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { FETCH_IDLE, FETCH_ASKED, FETCH_DONE } state; /* these two under the lock */
    bool quit;
} ebb__fetch;

/* Starts the thread where threaded. E_NOMEM. */
ebb_status ebb__fetch_start(ebb__fetch *f, bool threaded);
/* Asks for a batch: at once where threaded, else it is read in fetch_wait. */
void ebb__fetch_begin(ebb__fetch *f, int64_t first, int64_t n);
/* The batch asked for is in the buffers, or f->status says why not. */
void ebb__fetch_wait(ebb__fetch *f);
/* Ends the thread, after the item it is reading. */
void ebb__fetch_stop(ebb__fetch *f);

#endif
