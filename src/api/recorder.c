/* recorder.c - an iteration of a program as a trace: what ran, what it read and made, when bytes
 * went.
 *
 * A value is known by its address while it lives; each has one reference in the trace, given back
 * when its bytes go for good. What no operation of the iteration has made is a constant: from the
 * beginning where it was there before, else from when it is first read. Bytes that are given up because they can be made again go at that
 * point of the trace, too, where nobody reads the value afterwards, which only the end shows.
 * Views cost nothing and are not recorded. Callbacks come from any thread.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NO_SITES
#define EBB_NO_SITES
#endif
#include "api/recorded.h"

#include "api/api.h"
#include "base/array.h"
#include "base/lock.h"

#include <string.h>

enum { NONE = UINT32_MAX };

typedef struct entry {
    const ebb__value *value; /* NULL: free; see `gone` */
    uint32_t tensor;         /* NONE: made by no operation and not read yet */
    uint32_t dropped;        /* in drops; NONE: has its bytes */
    bool gone;               /* the place was used: searches go on */
} entry;
typedef struct drop {
    uint32_t command, tensor; /* tensor NONE: read again */
} drop;

struct ebb_recorder {
    ebb_context *ctx;
    pthread_mutex_t mutex;
    ebb__trace trace;
    entry *entries; /* by address, open addressing; a power of two */
    size_t n_used, n_entries;
    ebb__array drops;
    ebb__array before; /* ops: constants that were there before */
    bool refused;      /* memory was */
};

/* ---- values ------------------------------------------------------------------------------ */
static size_t place_of(const ebb_recorder *r, const ebb__value *v)
{
    return (size_t)ebb__trace_mix(0, (uintptr_t)v) & (r->n_entries - 1);
}

static entry *entry_find(const ebb_recorder *r, const ebb__value *v)
{
    if (!r->n_entries) return NULL;
    for (size_t i = place_of(r, v);; i = (i + 1) & (r->n_entries - 1)) {
        entry *e = &r->entries[i];
        if (e->value == v) return e;
        if (!e->value && !e->gone) return NULL;
    }
}

static void entry_put(ebb_recorder *r, entry e)
{
    size_t i = place_of(r, e.value);
    while (r->entries[i].value) i = (i + 1) & (r->n_entries - 1);
    r->n_used += !r->entries[i].gone;
    r->entries[i] = e;
}

static bool entries_grow(ebb_recorder *r)
{
    if (2 * (r->n_used + 1) <= r->n_entries) return true;
    size_t n = r->n_entries ? 2 * r->n_entries : 1024, old = r->n_entries;
    entry *before = r->entries, *more = ebb__alloc(&ebb__allocator_libc, n * sizeof *more, 16);
    if (!more) return false;
    memset(more, 0, n * sizeof *more);
    r->entries = more;
    r->n_entries = n;
    r->n_used = 0;
    for (size_t i = 0; i < old; i++)
        if (before[i].value) entry_put(r, before[i]);
    ebb__free(&ebb__allocator_libc, before, old * sizeof *before);
    return true;
}

static bool value_add(ebb_recorder *r, const ebb__value *v, uint32_t tensor)
{
    entry *known = entry_find(r, v);
    if (known) {
        known->tensor = tensor;
        known->dropped = NONE;
        return true;
    }
    if (!entries_grow(r)) return false;
    entry_put(r, (entry){.value = v, .tensor = tensor, .dropped = NONE});
    return true;
}

/* The tensor of a value that is read; one that no operation has made becomes a constant. */
static bool read_tensor(uint32_t *out, ebb_recorder *r, const ebb__value *v)
{
    const entry *known = entry_find(r, v);
    entry *e = known && known->tensor != NONE ? entry_find(r, v) : NULL;
    if (e) {
        if (e->dropped != NONE) ((drop *)r->drops.items)[e->dropped].tensor = NONE;
        e->dropped = NONE;
        *out = e->tensor;
        return true;
    }
    const uint32_t op = r->trace.n_ops;
    if (!known && ebb__array_push(&r->before, &ebb__allocator_libc, &op) != EBB_OK)
        return false;
    return ebb__trace_constant(out, &r->trace, v->bytes) == EBB_OK && value_add(r, v, *out);
}

/* ---- events ------------------------------------------------------------------------------ */
/* No white space, and no name that stands for something else. */
static const char *name_of(char buffer[64], const ebb__op_event *e)
{
    size_t n = 0;
    for (const char *s = e->op->name; *s && n < 48; s++) buffer[n++] = *s > ' ' ? *s : '_';
    buffer[n] = '\0';
    if (strcmp(buffer, "constant") == 0) strcpy(buffer, "constant_");
    if (e->rule) strcat(buffer, "_backward");
    return buffer;
}

static bool op_put(ebb_recorder *r, const ebb__op_event *e)
{
    enum { MOST = 64 };
    uint32_t in[MOST], n_in = 0, first;
    uint64_t bytes[MOST + 1];
    uint32_t n_out = e->n_out < MOST ? (uint32_t)e->n_out : MOST;
    char name[64];
    for (int32_t i = 0; i < e->n_in && n_in < MOST; i++)
        if (!read_tensor(&in[n_in++], r, e->in[i])) return false;
    for (uint32_t k = 0; k < n_out; k++) bytes[k] = e->out[k]->bytes;
    bytes[n_out] = (e->scratch_bytes + 63) & ~(size_t)63; /* as it is charged */
    uint32_t n = n_out + (e->scratch_bytes > 0);
    if (ebb__trace_call(&first, &r->trace, name_of(name, e), e->cost_ns, n_in, in, n, bytes,
                        NULL) != EBB_OK)
        return false;
    for (uint32_t k = 0; k < n_out; k++)
        if (!value_add(r, e->out[k], first + k)) return false;
    return !e->scratch_bytes ||
           ebb__trace_note(&r->trace, EBB__TRACE_RELEASE, first + n_out) == EBB_OK;
}

static void on_op(void *user, const ebb__op_event *e)
{
    ebb_recorder *r = user;
    pthread_mutex_lock(&r->mutex);
    if (!r->refused) r->refused = !op_put(r, e);
    pthread_mutex_unlock(&r->mutex);
}

static bool gone_put(ebb_recorder *r, const ebb__value *v)
{
    entry *e = entry_find(r, v);
    if (!e) return true;
    if (e->tensor == NONE) {
        *e = (entry){.gone = true};
        return true;
    }
    const bool was_dropped = e->dropped != NONE; /* what came back since was for others' sake */
    bool is_dead = v->tiny || atomic_load_explicit(&v->uses, memory_order_relaxed) == 0;
    if (!is_dead && was_dropped) return true;
    if (!is_dead) {
        drop d = {r->trace.n_commands, e->tensor};
        e->dropped = (uint32_t)r->drops.n;
        return ebb__array_push(&r->drops, &ebb__allocator_libc, &d) == EBB_OK;
    }
    uint32_t tensor = e->tensor;
    *e = (entry){.gone = true};
    return was_dropped || ebb__trace_note(&r->trace, EBB__TRACE_RELEASE, tensor) == EBB_OK;
}

static void on_memory(void *user, const ebb__memory_event *e)
{
    ebb_recorder *r = user;
    pthread_mutex_lock(&r->mutex);
    if (!r->refused && e->what == EBB__EVENT_GONE) r->refused = !gone_put(r, e->value);
    if (!r->refused && e->what == EBB__EVENT_MADE && !entry_find(r, e->value))
        r->refused = !value_add(r, e->value, NONE);
    pthread_mutex_unlock(&r->mutex);
}

/* ---- begin and end ----------------------------------------------------------------------- */
ebb_status ebb_recorder_begin(ebb_recorder **recorder_out, ebb_context *ctx)
{
    if (!recorder_out || !ctx)
        return ebb__fail(EBB_E_MISUSE, "ebb_recorder_begin: recorder_out or ctx is NULL");
    *recorder_out = NULL;
    EBB_TRY(ebb__context_usable(ctx));
    if (ctx->engine->trace)
        return ebb__fail(EBB_E_MISUSE, "ebb_recorder_begin: the context is recorded already");
    ebb_recorder *r = ebb__alloc(&ebb__allocator_libc, sizeof *r, 16);
    if (!r)
        return ebb__call_end(ebb__error_op(), ctx,
                             ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", sizeof *r));
    memset(r, 0, sizeof *r);
    r->ctx = ctx;
    r->drops.item_bytes = sizeof(drop);
    r->before.item_bytes = sizeof(uint32_t);
    ebb__mutex_init(&r->mutex);
    ebb__trace_create(&r->trace, &ebb__allocator_libc);
    ebb__memory_set_trace(ctx, on_memory, r);
    ebb__engine_set_trace(ctx, on_op, r);
    *recorder_out = r;
    return EBB_OK;
}

/* Releases what was given up and never read again, where it was. */
static ebb_status drops_put(ebb_recorder *r)
{
    ebb__trace *t = &r->trace;
    const drop *d = r->drops.items;
    size_t n = 0;
    for (size_t i = 0; i < r->drops.n; i++) n += d[i].tensor != NONE;
    EBB_TRY(ebb__trace_room(t, 0, 0, 0, 0, n, 0));
    uint32_t from = t->n_commands, to = t->n_commands + (uint32_t)n;
    t->n_commands = to;
    for (size_t i = r->drops.n; i-- > 0;) {
        if (d[i].tensor == NONE) continue;
        while (from > d[i].command) t->commands[--to] = t->commands[--from];
        t->commands[--to] =
            (ebb__trace_command){EBB__TRACE_RELEASE, d[i].tensor & EBB__TRACE_MAX};
    }
    return EBB_OK;
}

/* What was there before was there from the beginning, whenever it was first read. */
static void constants_first(ebb_recorder *r)
{
    ebb__trace *t = &r->trace;
    const uint32_t *op = r->before.items;
    size_t n = r->before.n;
    uint32_t to = t->n_commands;
    for (uint32_t from = t->n_commands; from-- > 0;) {
        ebb__trace_command c = t->commands[from];
        if (n > 0 && c.verb == EBB__TRACE_CALL && c.what == op[n - 1])
            n--;
        else
            t->commands[--to] = c;
    }
    while (to-- > 0)
        t->commands[to] = (ebb__trace_command){EBB__TRACE_CALL, op[to] & EBB__TRACE_MAX};
}

static void recorder_free(ebb_recorder *r)
{
    pthread_mutex_destroy(&r->mutex);
    ebb__array_free(&r->drops, &ebb__allocator_libc);
    ebb__array_free(&r->before, &ebb__allocator_libc);
    ebb__free(&ebb__allocator_libc, r->entries, r->n_entries * sizeof *r->entries);
    ebb__free(&ebb__allocator_libc, r, sizeof *r);
}

ebb_status ebb_recorder_end(ebb_iteration **iteration_out, ebb_recorder *recorder)
{
    if (!recorder) return ebb__fail(EBB_E_MISUSE, "ebb_recorder_end: recorder is NULL");
    if (iteration_out) *iteration_out = NULL;
    ebb_context *ctx = recorder->ctx;
    ebb__engine_set_trace(ctx, NULL, NULL);
    ebb__memory_set_trace(ctx, NULL, NULL);
    ebb_status s = EBB_OK;
    if (recorder->refused) s = ebb__fail(EBB_E_NOMEM, "no memory for all of the iteration");
    if (s == EBB_OK) s = drops_put(recorder);
    if (s == EBB_OK) constants_first(recorder);
    if (s == EBB_OK && iteration_out)
        s = ebb__iteration_make(iteration_out, &recorder->trace);
    else
        ebb__trace_destroy(&recorder->trace);
    recorder_free(recorder);
    return ebb__call_end(ebb__error_op(), ctx, s);
}
