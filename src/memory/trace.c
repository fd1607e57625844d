/* trace.c - recorded iterations: growing, recording, checking.
 * SPDX-License-Identifier: MIT */
#include "memory/trace.h"

#include "base/error.h"

#include <string.h>

void ebb__trace_create(ebb__trace *t, const ebb_allocator *allocator)
{
    *t = (ebb__trace){.allocator = *allocator};
}

void ebb__trace_clear(ebb__trace *t)
{
    t->n_storages = t->n_tensors = t->n_ops = t->n_links = t->n_commands = t->n_names = 0;
    t->hash = 0;
}

void ebb__trace_destroy(ebb__trace *t)
{
    const ebb_allocator *a = &t->allocator;
    ebb__free(a, t->storages, t->max_storages * sizeof *t->storages);
    ebb__free(a, t->tensors, t->max_tensors * sizeof *t->tensors);
    ebb__free(a, t->ops, t->max_ops * sizeof *t->ops);
    ebb__free(a, t->links, t->max_links * sizeof *t->links);
    ebb__free(a, t->commands, t->max_commands * sizeof *t->commands);
    ebb__free(a, t->names, t->max_names);
    *t = (ebb__trace){.allocator = t->allocator};
}

size_t ebb__trace_bytes(const ebb__trace *t)
{
    return t->max_storages * sizeof *t->storages + t->max_tensors * sizeof *t->tensors +
           t->max_ops * sizeof *t->ops + t->max_links * sizeof *t->links +
           t->max_commands * sizeof *t->commands + t->max_names;
}

static ebb_status room(ebb__trace *t, void *table_of, uint32_t *max, uint32_t n, size_t more,
                       size_t item)
{
    void **table = table_of;
    if (n + more <= *max) return EBB_OK;
    size_t size = *max ? *max : 64;
    while (size < n + more) size += size / 2;
    if (size > EBB__TRACE_MAX) size = EBB__TRACE_MAX;
    void *p = n + more <= size ? ebb__alloc(&t->allocator, size * item, 16) : NULL;
    if (!p) return ebb__fail(EBB_E_NOMEM, "no memory for a trace of %zu entries", n + more);
    if (n) memcpy(p, *table, n * item);
    ebb__free(&t->allocator, *table, *max * item);
    *table = p;
    *max = (uint32_t)size;
    return EBB_OK;
}

ebb_status ebb__trace_room(ebb__trace *t, size_t storages, size_t tensors, size_t ops,
                           size_t links, size_t commands, size_t names)
{
    EBB_TRY(room(t, &t->storages, &t->max_storages, t->n_storages, storages, 8));
    EBB_TRY(room(t, &t->tensors, &t->max_tensors, t->n_tensors, tensors, sizeof *t->tensors));
    EBB_TRY(room(t, &t->ops, &t->max_ops, t->n_ops, ops, sizeof *t->ops));
    EBB_TRY(room(t, &t->links, &t->max_links, t->n_links, links, sizeof *t->links));
    EBB_TRY(
        room(t, &t->commands, &t->max_commands, t->n_commands, commands, sizeof *t->commands));
    return room(t, &t->names, &t->max_names, t->n_names, names, 1);
}

uint64_t ebb__trace_mix(uint64_t hash, uint64_t key)
{
    /* splitmix64's finaliser: Steele, Lea, Flood 2014. */
    uint64_t x = (hash ^ key) + UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool is_constant_name(const char *name)
{
    return strcmp(name, "constant") == 0;
}

ebb_status ebb__trace_call(uint32_t *first_out, ebb__trace *t, const char *name, double cost,
                           uint32_t n_in, const uint32_t *in, uint32_t n_out,
                           const uint64_t *bytes, const uint32_t *storage_of)
{
    size_t length = strlen(name) + 1;
    EBB_TRY(ebb__trace_room(t, n_out, n_out, 1, (size_t)n_in + n_out, 1, length));
    ebb__traced_op *op = &t->ops[t->n_ops];
    *op = (ebb__traced_op){.cost = cost,
                           .first = t->n_links,
                           .n_in = n_in,
                           .n_out = n_out,
                           .name = t->n_names,
                           .is_constant = is_constant_name(name)};
    memcpy(t->names + t->n_names, name, length);
    t->n_names += (uint32_t)length;
    for (uint32_t i = 0; i < n_in; i++) {
        t->links[t->n_links++] = in[i];
        t->hash = ebb__trace_mix(t->hash, t->n_tensors - in[i]);
    }
    *first_out = t->n_tensors;
    for (uint32_t k = 0; k < n_out; k++) {
        uint32_t storage = storage_of ? storage_of[k] : UINT32_MAX;
        if (storage == UINT32_MAX) {
            storage = t->n_storages;
            t->storages[t->n_storages++] = bytes[k];
        }
        t->links[t->n_links++] = t->n_tensors;
        t->tensors[t->n_tensors++] = (ebb__trace_tensor){t->n_ops, k, storage};
        t->hash = ebb__trace_mix(t->hash, t->storages[storage]);
    }
    t->commands[t->n_commands++] =
        (ebb__trace_command){EBB__TRACE_CALL, t->n_ops & EBB__TRACE_MAX};
    t->n_ops++;
    return EBB_OK;
}

ebb_status ebb__trace_constant(uint32_t *out, ebb__trace *t, uint64_t bytes)
{
    return ebb__trace_call(out, t, "constant", 0, 0, NULL, 1, &bytes, NULL);
}

ebb_status ebb__trace_note(ebb__trace *t, ebb__trace_verb verb, uint32_t tensor)
{
    EBB_TRY(ebb__trace_room(t, 0, 0, 0, 0, 1, 0));
    t->commands[t->n_commands++] = (ebb__trace_command){verb & 3u, tensor & EBB__TRACE_MAX};
    return EBB_OK;
}

/* ---- checking ---------------------------------------------------------------------------- */
typedef struct check {
    const ebb__trace *t;
    uint32_t *refs;    /* of storages */
    uint8_t *called;   /* ops */
    uint8_t *has_root; /* storages: the op that makes it was called */
} check;

static ebb_status check_tables(const ebb__trace *t)
{
    for (uint32_t i = 0; i < t->n_tensors; i++) {
        const ebb__trace_tensor *x = &t->tensors[i];
        if (x->op >= t->n_ops || x->storage >= t->n_storages ||
            x->index >= t->ops[x->op].n_out ||
            t->links[t->ops[x->op].first + t->ops[x->op].n_in + x->index] != i)
            return ebb__fail(EBB_E_IO,
                             "trace: tensor %u is output %u of operation %u, which "
                             "does not list it",
                             i, x->index, x->op);
    }
    for (uint32_t o = 0; o < t->n_ops; o++) {
        const ebb__traced_op *op = &t->ops[o];
        for (uint32_t k = 0; k < op->n_in + op->n_out; k++) {
            uint32_t x = t->links[op->first + k];
            bool is_out = k >= op->n_in;
            if (x >= t->n_tensors || (is_out && t->tensors[x].op != o))
                return ebb__fail(EBB_E_IO, "trace: operation %u names tensor %u of %u", o, x,
                                 t->n_tensors);
        }
        if (!(op->cost >= 0 && op->cost <= 1e18))
            return ebb__fail(EBB_E_IO, "trace: operation %u costs %g: [0, 1e18] is allowed", o,
                             op->cost);
    }
    uint64_t all = 0;
    for (uint32_t s = 0; s < t->n_storages; s++)
        if (__builtin_add_overflow(all, t->storages[s], &all) || all > INT64_MAX)
            return ebb__fail(EBB_E_IO, "trace: storages up to %u have more than 2^63 bytes", s);
    return EBB_OK;
}

static ebb_status check_call(check *c, uint32_t o)
{
    const ebb__trace *t = c->t;
    if (o >= t->n_ops || c->called[o])
        return ebb__fail(EBB_E_IO, "trace: operation %u of %u is called, once is allowed", o,
                         t->n_ops);
    const ebb__traced_op *op = &t->ops[o];
    for (uint32_t i = 0; i < op->n_in; i++) {
        uint32_t x = t->links[op->first + i];
        if (!c->called[t->tensors[x].op] || !c->refs[t->tensors[x].storage])
            return ebb__fail(EBB_E_IO,
                             "trace: operation %u reads tensor %u, which is not there", o, x);
    }
    c->called[o] = 1;
    for (uint32_t k = 0; k < op->n_out; k++) {
        uint32_t x = t->links[op->first + op->n_in + k], s = t->tensors[x].storage;
        if (c->has_root[s] && !c->refs[s])
            return ebb__fail(EBB_E_IO, "trace: tensor %u views storage %u, which is gone", x,
                             s);
        c->has_root[s] = 1;
        if (c->refs[s]++ == UINT32_MAX)
            return ebb__fail(EBB_E_IO, "trace: too many references");
    }
    return EBB_OK;
}

static ebb_status check_command(check *c, ebb__trace_command m)
{
    if (m.verb == EBB__TRACE_CALL) return check_call(c, m.what);
    const ebb__trace *t = c->t;
    if (m.what >= t->n_tensors || !c->called[t->tensors[m.what].op] ||
        !c->refs[t->tensors[m.what].storage])
        return ebb__fail(EBB_E_IO, "trace: a command names tensor %u, which is not there",
                         m.what);
    uint32_t *refs = &c->refs[t->tensors[m.what].storage];
    if (m.verb == EBB__TRACE_GET && (*refs)++ == UINT32_MAX)
        return ebb__fail(EBB_E_IO, "trace: too many references");
    if (m.verb == EBB__TRACE_RELEASE) --*refs;
    return EBB_OK;
}

ebb_status ebb__trace_check(const ebb__trace *t)
{
    EBB_TRY(check_tables(t));
    size_t bytes = t->n_storages * (sizeof(uint32_t) + 1) + t->n_ops;
    if (!bytes) return EBB_OK;
    uint32_t *refs = ebb__alloc(&t->allocator, bytes, 16);
    if (!refs) return ebb__fail(EBB_E_NOMEM, "no memory to check a trace");
    memset(refs, 0, bytes);
    uint8_t *rest = (uint8_t *)(refs + t->n_storages);
    check c = {.t = t, .refs = refs, .called = rest, .has_root = rest + t->n_ops};
    ebb_status s = EBB_OK;
    for (uint32_t i = 0; i < t->n_commands && s == EBB_OK; i++)
        s = check_command(&c, t->commands[i]);
    ebb__free(&t->allocator, refs, bytes);
    return s;
}
