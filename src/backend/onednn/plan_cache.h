/* plan_cache.h - plans by what they depend on: operation, attributes, layouts, thread count.
 *
 * A bounded table under one spin lock that is held for a look-up and never while a plan is
 * built, run or destroyed. A plan is handed out twice: at plan time as a ticket, which keeps
 * nothing alive (the application may never run), and for its run as a pin, which does. A ticket
 * whose plan was displaced meanwhile is stale and pins nothing. Refusals are kept like plans,
 * so that oneDNN is asked once.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BACKEND_ONEDNN_PLAN_CACHE_H
#define EBB_BACKEND_ONEDNN_PLAN_CACHE_H

#include "backend/onednn/plan.h"

enum { EBB__DNNL_KEY_WORDS = 62 };
typedef struct ebb__dnnl_key {
    uint64_t hash;
    uint64_t n_words;
    uint64_t word[EBB__DNNL_KEY_WORDS];
} ebb__dnnl_key;
/* False where the call is too large for a key. */
bool ebb__dnnl_key_make(ebb__dnnl_key *key, const ebb__call *c);

typedef struct ebb__dnnl_entry {
    ebb__dnnl_key key;
    bool usable; /* false: a refusal */
    ebb__dnnl_plan plan;
} ebb__dnnl_entry;

void ebb__dnnl_entry_destroy(const ebb_allocator *a, ebb__dnnl_entry *e);

typedef struct ebb__dnnl_cache ebb__dnnl_cache;
/* NULL where memory was refused. capacity <= 4096. */
ebb__dnnl_cache *ebb__dnnl_cache_create(const ebb_allocator *a, int32_t capacity);
void ebb__dnnl_cache_destroy(ebb__dnnl_cache *cache);
typedef struct ebb__dnnl_found {
    const void *ticket;
    bool usable;
    size_t scratch_bytes;
} ebb__dnnl_found;
bool ebb__dnnl_cache_find(ebb__dnnl_found *out, ebb__dnnl_cache *cache,
                          const ebb__dnnl_key *key);
/* Takes the entry even on failure; displaces the one unused for longest. False where every
 * entry is pinned. Where another thread added the same key first, that one is found. */
bool ebb__dnnl_cache_add(ebb__dnnl_found *out, ebb__dnnl_cache *cache,
                         ebb__dnnl_entry *take_entry);
/* NULL where the ticket is stale. */
ebb__dnnl_plan *ebb__dnnl_cache_pin(ebb__dnnl_cache *cache, const void *ticket);
void ebb__dnnl_cache_unpin(ebb__dnnl_cache *cache, const void *ticket);
int32_t ebb__dnnl_cache_count(ebb__dnnl_cache *cache);

#endif
