/* memory_audit.c - all values of the memories of a tree, and a check of every invariant that can be seen from
 * them.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"

/* Uses that the value must have: one for each read by a recipe per needed dropped output. */
static const char *readers_check(const ebb__value *v, size_t *n_reads, size_t *n_uses)
{
    ebb__read *const *link = &v->readers;
    for (const ebb__read *read = v->readers; read; read = read->next) {
        const ebb__record *r = read->record;
        if (read->prev != link) return "a reader's link is wrong";
        link = &read->next;
        if (!r->is_recipe || r->broken)
            return "a record that is no recipe in force reads a value";
        size_t i = (size_t)(read - ebb__record_reads(r));
        if (i >= r->n_in || r->in[i] != v) return "a reader reads another value";
        ++*n_reads;
        for (uint32_t k = 0; k < r->n_out; k++) {
            const ebb__value *out = r->out[k];
            if (out && ebb__recipe_of(out) == r && out->state == EBB__VALUE_DROPPED &&
                atomic_load(&out->uses))
                ++*n_uses;
        }
    }
    return NULL;
}

static const char *recipe_check(const ebb__value *v)
{
    const ebb__record *r = ebb__recipe_of(v);
    if (!r) return v->depth ? "a source has a depth" : NULL;
    if (r->broken) return "a value's recipe is broken";
    if (v->out_index >= r->n_out || r->out[v->out_index] != v)
        return "a recipe does not know its value";
    for (uint32_t i = 0; i < r->n_in; i++) {
        const ebb__value *in = r->in[i];
        if (!in || in->tiny) continue;
        bool elsewhere = in->ctx->memory != v->ctx->memory;
        if (elsewhere) continue; /* it comes out when the value is dropped */
        if (in->state == EBB__VALUE_LOST) return "a recipe in force reads a lost value";
        if (in->depth >= v->depth) return "a recipe's input is as deep as its output";
    }
    return NULL;
}

static const char *value_check(const ebb__value *v)
{
    size_t n_reads = 0, n_uses = 0;
    unsigned refs = atomic_load(&v->refs), uses = atomic_load(&v->uses);
    if (v->tiny) return "a tiny value is in the list of values with blocks";
    if ((v->state == EBB__VALUE_RESIDENT) != (v->data != NULL))
        return "a value's state and bytes differ";
    if (v->state == EBB__VALUE_DROPPED && !ebb__recipe_of(v))
        return "a dropped value has no recipe";
    if (v->state == EBB__VALUE_LOST && ebb__recipe_of(v)) return "a lost value has a recipe";
    if (v->state == EBB__VALUE_RESIDENT && !uses) return "bytes are kept that nobody needs";
    size_t n_needs = atomic_load(&((const ebb__big *)v)->n_needs);
    bool apart = v->ctx->memory->top->first->next; /* there is more than one memory */
    if (v->moved && v->state != EBB__VALUE_LOST && !apart) return "a moved value has bytes";
    if (!v->moved) {
        const char *fault = readers_check(v, &n_reads, &n_uses);
        if (fault) return fault;
    }
    if (v->state == EBB__VALUE_LOST && n_reads) return "a lost value has readers";
    size_t least = (uses > 0) + n_reads;
    if (refs < least || (refs > least && !apart)) return "a value's refs are miscounted";
    if (n_needs && (!apart || !v->data)) return "a value is needed elsewhere and is not there";
    if (((const ebb__big *)v)->n_deps != n_uses) return "dependents are miscounted";
    if (uses < n_uses + n_needs) return "a dropped value does not hold its inputs";
    return recipe_check(v);
}

static void audit(void *user, ebb__memory *m)
{
    const char **fault = user;
    size_t bytes = 0;
    if (*fault) return;
    *fault = ebb__arena_check(m->arena);
    ebb__big *const *link = &m->all;
    for (const ebb__big *b = m->all; b && !*fault; b = b->next) {
        if (b->prev != link) *fault = "the list of values is broken";
        link = &b->next;
        if (b->value.ctx->memory != m) *fault = "a value is in the list of another memory";
        if (!*fault) *fault = value_check(&b->value);
        if (!*fault && !ebb__place_is_known(m, b)) *fault = "a value is not found by its block";
        if (b->value.data && !b->value.external) bytes += b->value.bytes;
    }
    for (const ebb__big *b = m->tables; b; b = b->next) bytes += b->value.bytes;
    if (!*fault) *fault = ebb__mirror_check(m);
    if (!*fault && bytes + atomic_load(&m->scratch_bytes) + atomic_load(&m->region_bytes) !=
                       ebb__arena_used_bytes(m->arena))
        *fault = "blocks in use are not those of values and scratch";
}

const char *ebb__memory_check(ebb_context *ctx)
{
    const char *fault = NULL;
    ebb__memories_each(ctx, audit, &fault);
    return fault;
}

typedef struct visitor {
    void (*each)(void *user, ebb__value *v);
    void *user;
} visitor;

static void values_visit(void *user, ebb__memory *m)
{
    const visitor *v = user;
    for (ebb__big *b = m->all; b; b = b->next) v->each(v->user, &b->value);
}

void ebb__values_each(ebb_context *ctx, void (*each)(void *user, ebb__value *v), void *user)
{
    ebb__memories_each(ctx, values_visit, &(visitor){each, user});
}
