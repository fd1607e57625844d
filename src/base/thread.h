/* thread.h - identity of threads, and the generation of the process (for fork).
 *
 * A token outlives its thread: per-thread parts of long-lived objects keep it to learn whether
 * their thread still runs, so that a new thread can take over the part of one that has ended.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_THREAD_H
#define EBB_BASE_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Thread-locals on hot paths: one load instead of a call in the shared library. Keep them
 * small, they share some 1.5 KiB with every other library that is loaded late. */
#define EBB__THREAD_HOT _Thread_local __attribute__((tls_model("initial-exec")))

typedef struct ebb__thread_token {
    atomic_uint refs;
    atomic_bool alive;
    uint64_t id; /* never reused in the life of the process; starts at 1 */
} ebb__thread_token;

/* The calling thread's token, borrowed; NULL if memory for it was refused. */
ebb__thread_token *ebb__thread_self(void);
ebb__thread_token *ebb__thread_token_keep(ebb__thread_token *t);
void ebb__thread_token_release(ebb__thread_token *t);

/* A small memory of the calling thread: key -> pointer, emptied when the thread ends. Keys come
 * from ebb__unique_id, so an entry of a destroyed object is never found again. */
enum { EBB__THREAD_MEMO = 4 };
typedef struct ebb__thread_memo {
    uint64_t key;
    void *value;
} ebb__thread_memo;
extern EBB__THREAD_HOT ebb__thread_memo ebb__thread_memos[EBB__THREAD_MEMO];
/* Never reused in the life of the process; starts at 1. */
uint64_t ebb__unique_id(void);

/* The number of forks between the start of the program and this process: an object made under
 * another number belongs to a parent process. Cheap: one load. */
extern atomic_uint ebb__fork_count;
static inline uint32_t ebb__fork_generation(void)
{
    return atomic_load_explicit(&ebb__fork_count, memory_order_relaxed);
}

#endif
