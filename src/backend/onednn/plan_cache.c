/* plan_cache.c - the table of plans; plan_cache.h has the invariants.
 *
 * Entries sit in numbered slots, chained by hash. A ticket is the slot's number and the slot's
 * generation, which grows with each entry it receives.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/plan_cache.h"

#include <string.h>

enum { SLOT_BITS = 12, NO_SLOT = -1 };

typedef struct cache_slot {
    ebb__dnnl_entry *entry; /* NULL: free */
    uint64_t generation, last_use;
    int32_t pins, next;
} cache_slot;

struct ebb__dnnl_cache {
    const ebb_allocator *allocator;
    int32_t capacity, n_heads, n_used;
    ebb__lock lock;
    uint64_t clock;
    int32_t *head;
    cache_slot *slot;
};

/* ---- keys -------------------------------------------------------------------------------- */

static void key_put(ebb__dnnl_key *k, uint64_t word)
{
    if (k->n_words < EBB__DNNL_KEY_WORDS) k->word[k->n_words] = word;
    k->n_words++;
}

static void key_put_view(ebb__dnnl_key *k, const ebb_view *v, bool strided)
{
    bool dense = !strided || ebb__view_is_contiguous(v);
    key_put(k, (uint64_t)v->dtype | (uint64_t)v->shape.n_dims << 8 | (uint64_t)dense << 16);
    for (int64_t i = 0; i < v->shape.n_dims; i++) key_put(k, (uint64_t)v->shape.dims[i]);
    for (int64_t i = 0; !dense && i < v->shape.n_dims; i++) key_put(k, (uint64_t)v->strides[i]);
}

/* Member by member, because the padding of an attribute struct may hold anything. */
static bool key_put_attribute(ebb__dnnl_key *k, const ebb_attr_spec *spec, const void *attr)
{
    const char *at = (const char *)attr + spec->offset;
    uint64_t word[3] = {0, 0, 0};
    switch (spec->kind) {
    case EBB_ATTR_F64:
    case EBB_ATTR_I64:
        memcpy(word, at, 8);
        break;
    case EBB_ATTR_BOOL:
        memcpy(word, at, sizeof(bool));
        break;
    case EBB_ATTR_DTYPE:
        memcpy(word, at, sizeof(ebb_dtype));
        break;
    case EBB_ATTR_PAIR:
    case EBB_ATTR_F64_PAIR:
        memcpy(word, at, 16);
        key_put(k, word[1]);
        break;
    case EBB_ATTR_TRIPLE:
        memcpy(word, at, 24);
        key_put(k, word[1]);
        key_put(k, word[2]);
        break;
    case EBB_ATTR_SHAPE: {
        const ebb_shape *s = (const void *)at;
        word[0] = (uint64_t)s->n_dims;
        for (int64_t i = 0; i < s->n_dims; i++) key_put(k, (uint64_t)s->dims[i]);
        break;
    }
    default:
        return false;
    }
    key_put(k, word[0]);
    return true;
}

bool ebb__dnnl_key_make(ebb__dnnl_key *k, const ebb__call *c)
{
    k->n_words = 0;
    key_put(k, (uint64_t)(uint32_t)c->op->id | (uint64_t)(uint32_t)c->n_threads << 32);
    for (int32_t i = 0; i < c->n_in; i++)
        key_put_view(k, &c->in[i], (c->op->flags & EBB_OP_STRIDED) != 0);
    for (const ebb_attr_spec *s = c->op->attrs; s && s->name; s++)
        if (!key_put_attribute(k, s, c->attr)) return false;
    if (k->n_words > EBB__DNNL_KEY_WORDS) return false;
    /* FNV-1a by words instead of bytes, folded so that high bits reach the low ones. */
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (uint64_t i = 0; i < k->n_words; i++) {
        h = (h ^ k->word[i]) * UINT64_C(0x100000001b3);
        h ^= h >> 29;
    }
    k->hash = h;
    return true;
}

static bool key_equal(const ebb__dnnl_key *a, const ebb__dnnl_key *b)
{
    return a->hash == b->hash && a->n_words == b->n_words &&
           memcmp(a->word, b->word, a->n_words * sizeof *a->word) == 0;
}

/* ---- the table --------------------------------------------------------------------------- */

static int32_t heads_for(int32_t capacity)
{
    int32_t n = 16;
    while (n < 2 * capacity) n *= 2;
    return n;
}

ebb__dnnl_cache *ebb__dnnl_cache_create(const ebb_allocator *a, int32_t capacity)
{
    ebb__dnnl_cache *cache = ebb__alloc(a, sizeof *cache, 16);
    if (!cache) return NULL;
    memset(cache, 0, sizeof *cache);
    cache->allocator = a;
    cache->capacity = capacity;
    cache->n_heads = heads_for(capacity);
    size_t head_bytes = (size_t)cache->n_heads * sizeof *cache->head;
    size_t slot_bytes = (size_t)capacity * sizeof *cache->slot;
    cache->head = ebb__alloc(a, head_bytes, 16);
    cache->slot = ebb__alloc(a, slot_bytes, 16);
    if (cache->head) memset(cache->head, 0xff, head_bytes);
    if (cache->slot) memset(cache->slot, 0, slot_bytes);
    if (!cache->head || !cache->slot) {
        ebb__dnnl_cache_destroy(cache);
        return NULL;
    }
    return cache;
}

void ebb__dnnl_entry_destroy(const ebb_allocator *a, ebb__dnnl_entry *e)
{
    if (!e) return;
    ebb__dnnl_plan_destroy(&e->plan);
    ebb__free(a, e, sizeof *e);
}

void ebb__dnnl_cache_destroy(ebb__dnnl_cache *cache)
{
    if (!cache) return;
    for (int32_t i = 0; cache->slot && i < cache->capacity; i++)
        ebb__dnnl_entry_destroy(cache->allocator, cache->slot[i].entry);
    ebb__free(cache->allocator, cache->head, (size_t)cache->n_heads * sizeof *cache->head);
    ebb__free(cache->allocator, cache->slot, (size_t)cache->capacity * sizeof *cache->slot);
    ebb__free(cache->allocator, cache, sizeof *cache);
}

static int32_t *chain_of(ebb__dnnl_cache *cache, const ebb__dnnl_key *key)
{
    return &cache->head[key->hash & (uint64_t)(cache->n_heads - 1)];
}

/* Under the lock. */
static bool slot_find(ebb__dnnl_found *out, ebb__dnnl_cache *cache, const ebb__dnnl_key *key)
{
    for (int32_t i = *chain_of(cache, key); i != NO_SLOT; i = cache->slot[i].next) {
        cache_slot *s = &cache->slot[i];
        if (!key_equal(&s->entry->key, key)) continue;
        s->last_use = ++cache->clock;
        out->ticket = (const void *)(uintptr_t)(s->generation << SLOT_BITS | (uint64_t)i);
        out->usable = s->entry->usable;
        out->scratch_bytes = s->entry->plan.scratch_bytes;
        return true;
    }
    return false;
}

bool ebb__dnnl_cache_find(ebb__dnnl_found *out, ebb__dnnl_cache *cache,
                          const ebb__dnnl_key *key)
{
    ebb__lock_take(&cache->lock);
    bool found = slot_find(out, cache, key);
    ebb__lock_give(&cache->lock);
    return found;
}

/* Under the lock: a free slot, or the unpinned one unused for longest, taken out of its chain.
 */
static int32_t slot_claim(ebb__dnnl_cache *cache, ebb__dnnl_entry **displaced)
{
    int32_t best = NO_SLOT;
    for (int32_t i = 0; i < cache->capacity; i++) {
        cache_slot *s = &cache->slot[i];
        if (!s->entry) return i;
        if (s->pins == 0 && (best == NO_SLOT || s->last_use < cache->slot[best].last_use))
            best = i;
    }
    if (best == NO_SLOT) return NO_SLOT;
    int32_t *link = chain_of(cache, &cache->slot[best].entry->key);
    while (*link != best) link = &cache->slot[*link].next;
    *link = cache->slot[best].next;
    *displaced = cache->slot[best].entry;
    cache->slot[best].entry = NULL;
    cache->n_used--;
    return best;
}

bool ebb__dnnl_cache_add(ebb__dnnl_found *out, ebb__dnnl_cache *cache,
                         ebb__dnnl_entry *take_entry)
{
    ebb__dnnl_entry *displaced = NULL;
    const ebb__dnnl_key *key = &take_entry->key;
    ebb__lock_take(&cache->lock);
    bool found = slot_find(out, cache, key);
    int32_t i = found ? NO_SLOT : slot_claim(cache, &displaced);
    if (i != NO_SLOT) {
        cache_slot *s = &cache->slot[i];
        s->entry = take_entry;
        s->generation++;
        s->next = *chain_of(cache, key);
        *chain_of(cache, key) = i;
        cache->n_used++;
        found = slot_find(out, cache, key);
    } else {
        displaced = take_entry;
    }
    ebb__lock_give(&cache->lock);
    ebb__dnnl_entry_destroy(cache->allocator, displaced);
    return found;
}

static cache_slot *slot_of(ebb__dnnl_cache *cache, const void *ticket)
{
    cache_slot *s = &cache->slot[(uintptr_t)ticket & ((1u << SLOT_BITS) - 1)];
    return s->generation == (uintptr_t)ticket >> SLOT_BITS ? s : NULL;
}

ebb__dnnl_plan *ebb__dnnl_cache_pin(ebb__dnnl_cache *cache, const void *ticket)
{
    ebb__lock_take(&cache->lock);
    cache_slot *s = slot_of(cache, ticket);
    ebb__dnnl_entry *e = s ? s->entry : NULL;
    if (e) s->pins++;
    ebb__lock_give(&cache->lock);
    return e ? &e->plan : NULL;
}

void ebb__dnnl_cache_unpin(ebb__dnnl_cache *cache, const void *ticket)
{
    ebb__lock_take(&cache->lock);
    slot_of(cache, ticket)->pins--;
    ebb__lock_give(&cache->lock);
}

int32_t ebb__dnnl_cache_count(ebb__dnnl_cache *cache)
{
    ebb__lock_take(&cache->lock);
    int32_t n = cache->n_used;
    ebb__lock_give(&cache->lock);
    return n;
}
