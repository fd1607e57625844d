/* extra.c - what few handles have: a label, a gradient slot of their own.
 * SPDX-License-Identifier: MIT */
#include "base/context.h"
#include "base/error.h"
#include "tensor/tensor.h"

#include <string.h>

ebb__retained *ebb__retained_create(ebb_context *ctx, ebb_dtype d, const ebb_shape *shape)
{
    ebb__retained *r = ebb__pool_alloc(ctx->pool, sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    atomic_init(&r->refs, 1);
    r->slot = (ebb__leaf){.ctx = ctx, .dtype = d, .shape = *shape};
    return r;
}

void ebb__retained_release(ebb__retained *r)
{
    if (!r || atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    ebb__storage *grad = r->slot.grad;
    ebb__pool_free(r->slot.ctx->pool, r, sizeof *r);
    ebb__storage_release(grad);
}

ebb__slot_extra *ebb__slot_extra_need(ebb__slot *s)
{
    if (s->extra) return s->extra;
    ebb__slot_extra *extra = ebb__pool_alloc(s->ctx->pool, sizeof *extra);
    if (!extra) return NULL;
    memset(extra, 0, sizeof *extra);
    s->extra = extra;
    return extra;
}

void ebb__slot_extra_free(ebb__slot *s)
{
    ebb__slot_extra *extra = s->extra;
    s->extra = NULL;
    ebb__retained_release(extra->retained);
    ebb__pool_free(s->ctx->pool, extra, sizeof *extra);
}
