/* lifetimes.c - records lives of values and adds them up.
 * SPDX-License-Identifier: MIT */
#include "liveness/lifetimes.h"

#include <stdlib.h>
#include <string.h>

static life *find(lifetimes *l, const ebb__value *v)
{
    for (int64_t i = l->n; i-- > 0;)
        if (l->life[i].value == v && !l->life[i].gone) return &l->life[i];
    return NULL;
}

static void on_memory(void *user, const ebb__memory_event *e)
{
    lifetimes *l = user;
    if (e->what == EBB__EVENT_GONE) {
        life *old = find(l, e->value);
        if (old) old->gone = true;
        return;
    }
    if (l->n == l->room) {
        int64_t room = l->room ? 2 * l->room : 256;
        life *more = realloc(l->life, (size_t)room * sizeof *more);
        if (!more) return;
        l->life = more, l->room = room;
    }
    l->life[l->n++] =
        (life){.value = e->value, .bytes = e->bytes, .born = l->n_ops, .last = l->n_ops};
}

static void touch(lifetimes *l, const ebb__value *v, int64_t when)
{
    life *x = v ? find(l, v) : NULL;
    if (x) x->last = when;
}

static void on_op(void *user, const ebb__op_event *e)
{
    lifetimes *l = user;
    for (int32_t i = 0; i < e->n_in; i++) touch(l, e->in[i], l->n_ops);
    for (int32_t k = 0; k < e->n_out; k++) touch(l, e->out[k], l->n_ops);
    if (l->n_ops == l->ops_room) {
        int64_t room = l->ops_room ? 2 * l->ops_room : 256;
        size_t *more = realloc(l->scratch, (size_t)room * sizeof *more);
        if (!more) return;
        l->scratch = more, l->ops_room = room;
    }
    l->scratch[l->n_ops++] = e->scratch_bytes;
}

static size_t tensor_bytes(const size_t bytes[EBB_KIND_MAX])
{
    size_t sum = 0;
    for (int k = 0; k < EBB_KIND_MAX; k++)
        if (k != EBB_KIND_BOOKKEEPING && k != EBB_KIND_CACHE) sum += bytes[k];
    return sum;
}

void lifetimes_begin(lifetimes *l, ebb_context *ctx)
{
    ebb_stats s;
    memset(l, 0, sizeof *l);
    l->ctx = ctx;
    ebb_stats_reset_peak(ctx);
    ebb_stats_get(&s, ctx);
    l->base_bytes = tensor_bytes(s.bytes);
    ebb__memory_set_trace(ctx, on_memory, l);
    ebb__engine_set_trace(ctx, on_op, l);
}

bool lifetimes_end(lifetimes *l, size_t *exact, size_t *actual)
{
    ebb_stats s;
    ebb__memory_set_trace(l->ctx, NULL, NULL);
    ebb__engine_set_trace(l->ctx, NULL, NULL);
    ebb_stats_get(&s, l->ctx);
    *actual = tensor_bytes(s.peak_by_kind) - l->base_bytes;
    *exact = 0;
    bool sound = l->n > 0 && l->n_ops > 0;
    for (int64_t t = 0; t < l->n_ops; t++) {
        size_t now = l->scratch[t];
        for (int64_t i = 0; i < l->n; i++)
            if (l->life[i].gone && l->life[i].born <= t && t <= l->life[i].last)
                now += l->life[i].bytes;
        if (now > *exact) *exact = now;
    }
    free(l->life);
    free(l->scratch);
    return sound;
}
