/* fetch.c - reads the items of a batch, ahead of time where it has a thread.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "data/fetch.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

static bool thread_is_gone(const ebb__fetch *f)
{
    return f->threaded && getpid() != f->process;
}

static bool must_quit(ebb__fetch *f)
{
    if (!f->threaded) return false;
    pthread_mutex_lock(&f->lock);
    bool quit = f->quit;
    pthread_mutex_unlock(&f->lock);
    return quit;
}

/* A reader that fails without a record of its own gets one made by the caller. */
static void keep_failure(ebb__fetch *f, ebb_status s, int64_t item, const ebb_error *before)
{
    f->status = s;
    f->failed_item = item;
    ebb_error_get(&f->error);
    if (f->error.status == before->status && strcmp(f->error.message, before->message) == 0)
        f->error = (ebb_error){.status = EBB_OK};
}

static void fetch_batch(ebb__fetch *f)
{
    const ebb_source *s = f->source;
    ebb_error before;
    ebb_error_get(&before);
    f->status = EBB_OK;
    for (int64_t i = 0; i < f->n && !must_quit(f); i++) {
        void *fields[EBB_MAX_FIELDS] = {NULL};
        for (int64_t k = 0; k < s->n_fields; k++)
            fields[k] = (char *)f->buffer[k] + (size_t)i * f->item_bytes[k];
        const int64_t item = f->order ? f->order[f->first + i] : f->first + i;
        const ebb_status status = s->read(s->user, item, fields);
        if (status == EBB_OK) continue;
        keep_failure(f, status, item, &before);
        return;
    }
}

static void *run(void *object)
{
    ebb__fetch *f = object;
    pthread_mutex_lock(&f->lock);
    while (!f->quit) {
        if (f->state != FETCH_ASKED) {
            pthread_cond_wait(&f->changed, &f->lock);
            continue;
        }
        pthread_mutex_unlock(&f->lock);
        fetch_batch(f);
        pthread_mutex_lock(&f->lock);
        f->state = FETCH_DONE;
        pthread_cond_broadcast(&f->changed);
    }
    pthread_mutex_unlock(&f->lock);
    return NULL;
}

ebb_status ebb__fetch_start(ebb__fetch *f, bool threaded)
{
    if (!threaded) return EBB_OK;
    pthread_mutex_init(&f->lock, NULL);
    pthread_cond_init(&f->changed, NULL);
    /* Signals are for the program's own threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    f->threaded = true;
    f->process = getpid();
    int failed = pthread_create(&f->thread, NULL, run, f);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) return EBB_OK;
    f->threaded = false;
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
    return ebb_fail(EBB_E_NOMEM, "loader: the system refused a thread: %s", strerror(failed));
}

void ebb__fetch_begin(ebb__fetch *f, int64_t first, int64_t n)
{
    if (thread_is_gone(f)) return;
    if (f->threaded) pthread_mutex_lock(&f->lock);
    f->first = first;
    f->n = n;
    f->state = FETCH_ASKED;
    if (!f->threaded) return;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

void ebb__fetch_wait(ebb__fetch *f)
{
    if (!f->threaded) {
        fetch_batch(f);
        f->state = FETCH_IDLE;
        return;
    }
    if (thread_is_gone(f)) {
        f->error = (ebb_error){.message = "it was made before a fork, in another process"};
        f->status = f->error.status = EBB_E_MISUSE;
        f->failed_item = -1;
        return;
    }
    pthread_mutex_lock(&f->lock);
    while (f->state != FETCH_DONE) pthread_cond_wait(&f->changed, &f->lock);
    f->state = FETCH_IDLE;
    pthread_mutex_unlock(&f->lock);
}

void ebb__fetch_stop(ebb__fetch *f)
{
    if (!f->threaded || thread_is_gone(f)) return;
    pthread_mutex_lock(&f->lock);
    f->quit = true;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
    pthread_join(f->thread, NULL);
    f->threaded = false;
    pthread_cond_destroy(&f->changed);
    pthread_mutex_destroy(&f->lock);
}
