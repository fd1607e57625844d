/* owned.c - accounted memory of a context outside the pool, and objects that go with the
 * context.
 * SPDX-License-Identifier: MIT */
#include "tensor/owned.h"

#include "base/error.h"
#include "memory/account.h"
#include "memory/value.h"

#include <pthread.h>
#include <string.h>

struct ebb__owned {
    pthread_mutex_t mutex;
    ebb_attachment *first;
};

void *ebb__owned_alloc(ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    if (ebb__room_charge(ctx, kind, bytes) != EBB_OK) return NULL;
    void *p = ebb__alloc(&ctx->allocator, bytes, 64);
    if (!p) {
        ebb__account_take_back(ctx->account, kind, bytes);
        ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
        return NULL;
    }
    return memset(p, 0, bytes);
}

void ebb__owned_free(ebb_context *ctx, void *p, size_t bytes, ebb_kind kind)
{
    if (!p) return;
    ebb__free(&ctx->allocator, p, bytes);
    ebb__account_discharge(ctx->account, kind, bytes);
}

ebb_status ebb__owned_create(ebb_context *ctx)
{
    struct ebb__owned *o = ebb__owned_alloc(ctx, sizeof *o, EBB_KIND_BOOKKEEPING);
    if (!o) return ebb_error_status();
    pthread_mutex_init(&o->mutex, NULL);
    ctx->owned = o;
    return EBB_OK;
}

void ebb__owned_destroy(ebb_context *ctx)
{
    struct ebb__owned *o = ctx->owned;
    if (!o) return;
    while (o->first) {
        ebb_attachment *a = o->first;
        ebb_detach_object(ctx, a);
        a->destroy(a->object);
    }
    pthread_mutex_destroy(&o->mutex);
    ebb__owned_free(ctx, o, sizeof *o, EBB_KIND_BOOKKEEPING);
    ctx->owned = NULL;
}

void ebb_attach(ebb_context *ctx, ebb_attachment *a, void (*destroy)(void *object),
                void *object)
{
    if (!ctx || !a || !ctx->owned) return;
    struct ebb__owned *o = ctx->owned;
    *a = (ebb_attachment){.destroy = destroy, .object = object};
    pthread_mutex_lock(&o->mutex);
    a->next = o->first;
    a->prev = &o->first;
    if (a->next) a->next->prev = &a->next;
    o->first = a;
    pthread_mutex_unlock(&o->mutex);
}

void ebb_detach_object(ebb_context *ctx, ebb_attachment *a)
{
    if (!ctx || !a || !ctx->owned || !a->prev || !ebb__context_is_ours(ctx)) return;
    struct ebb__owned *o = ctx->owned;
    pthread_mutex_lock(&o->mutex);
    *a->prev = a->next;
    if (a->next) a->next->prev = a->prev;
    a->prev = NULL;
    pthread_mutex_unlock(&o->mutex);
}
