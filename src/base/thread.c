/* thread.c - thread tokens and the fork generation.
 * Invariants: a token is alive from its thread's first use of it to the thread's end; before it
 * is declared dead the thread's memo is empty, so nobody else can be using what the memo led
 * to.
 * SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/alloc.h"

#include <pthread.h>
#include <string.h>

EBB__THREAD_HOT ebb__thread_memo ebb__thread_memos[EBB__THREAD_MEMO];
atomic_uint ebb__fork_count;

static _Thread_local ebb__thread_token *self;
static pthread_key_t end_key;
static bool end_key_made;

/* Other destructors of the thread may call the library after this one: they get a new token,
 * and this runs again for it. */
static void thread_end(void *token)
{
    memset(ebb__thread_memos, 0, sizeof ebb__thread_memos);
    self = NULL;
    atomic_store_explicit(&((ebb__thread_token *)token)->alive, false, memory_order_release);
    ebb__thread_token_release(token);
}

static void fork_child(void)
{
    atomic_fetch_add_explicit(&ebb__fork_count, 1, memory_order_relaxed);
}

/* At load time: nothing made by the library can be older than this. */
__attribute__((constructor)) static void thread_setup(void)
{
    end_key_made = pthread_key_create(&end_key, thread_end) == 0;
    pthread_atfork(NULL, NULL, fork_child);
}

uint64_t ebb__unique_id(void)
{
    static atomic_ullong last;
    return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
}

ebb__thread_token *ebb__thread_self(void)
{
    if (self || !end_key_made) return self;
    ebb__thread_token *t = ebb__alloc(&ebb__allocator_libc, sizeof *t, 16);
    if (!t) return NULL;
    atomic_init(&t->refs, 1);
    atomic_init(&t->alive, true);
    t->id = ebb__unique_id();
    if (pthread_setspecific(end_key, t) != 0) {
        ebb__free(&ebb__allocator_libc, t, sizeof *t);
        return NULL;
    }
    return self = t;
}

ebb__thread_token *ebb__thread_token_keep(ebb__thread_token *t)
{
    if (t) atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
    return t;
}

void ebb__thread_token_release(ebb__thread_token *t)
{
    if (t && atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1)
        ebb__free(&ebb__allocator_libc, t, sizeof *t);
}
