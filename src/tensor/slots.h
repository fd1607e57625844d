/* slots.h - pages of tensor handles, and the process-wide table that finds them.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TENSOR_SLOTS_H
#define EBB_TENSOR_SLOTS_H

#include "tensor/tensor.h"

enum { EBB__SLOT_PAGE_BYTES = 64 << 10 };

/* The first slot's place in a page. */
typedef struct ebb__slot_page {
    ebb_context *ctx; /* NULL while no context uses the page */
    struct ebb__slot_page *next;
} ebb__slot_page;

/* Free slots. A thread takes from and gives to the shelf of its number in the pool, so that
 * threads hardly meet; an empty shelf is filled from others before a page is added. */
enum { EBB__SLOT_SHELVES = 8 };
typedef struct ebb__slot_shelf {
    _Alignas(64) ebb__lock lock;
    ebb__slot *free;
    int64_t n_live; /* taken here minus given here */
} ebb__slot_shelf;

typedef struct ebb__slots {
    ebb__slot_shelf shelf[EBB__SLOT_SHELVES];
    bool single_threaded;
    ebb__lock lock; /* of the pages */
    ebb__slot_page *pages;
    int64_t n_pages;
    atomic_llong n_misuse;
} ebb__slots;

/* A dead slot of ctx, its generation already moved; NULL with a record where refused. */
ebb__slot *ebb__slot_take(ebb_context *ctx);
/* Moves the generation and gives the slot back. */
void ebb__slot_give(ebb__slot *s);
static inline bool ebb__slot_is_live(const ebb__slot *s)
{
    return atomic_load_explicit(&s->refs, memory_order_relaxed) != 0;
}
/* Lets go of what a dying slot holds, then gives it back. */
void ebb__slot_die(ebb__slot *s);

#endif
