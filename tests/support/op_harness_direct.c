/* op_harness_direct.c - a descriptor's shape and kernel, driven without the engine: outputs lie
 * between guards, are filled with garbage first and aligned no better than their element type.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include "base/context.h"

#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = 128, GUARD = 0xc3 };

static bool block_make(harness_block *b, size_t bytes, size_t alignment, unsigned char fill)
{
    /* 64 + alignment: a multiple of the alignment and of nothing greater. */
    size_t before = GUARD_BYTES + (alignment < 64 ? alignment : 0), size;
    size = (before + bytes + GUARD_BYTES + 63) / 64 * 64;
    b->base = aligned_alloc(64, size);
    if (!b->base) return false;
    memset(b->base, GUARD, size);
    b->data = b->base + before;
    b->bytes = bytes;
    memset(b->data, fill, bytes);
    return true;
}

static bool block_intact(const harness_block *b)
{
    for (const unsigned char *p = b->base; p < b->data; p++)
        if (*p != GUARD) return false;
    for (size_t i = 0; i < GUARD_BYTES; i++)
        if (b->data[b->bytes + i] != GUARD) return false;
    return true;
}

static const char *make_inputs(harness_direct *d)
{
    const harness_case *c = d->c;
    for (int32_t i = 0; i < c->n_in; i++) {
        harness_block *b = &d->block[d->n_blocks++];
        if (c->in[i].absent) {
            d->in[i] = (ebb_view){0};
            if (!block_make(b, 0, 8, 0)) return verdict("no memory");
            continue;
        }
        size_t size = ebb__dtype_size(c->in[i].dtype);
        if (!block_make(b, (size_t)c->in[i].n * size, size, 0)) return verdict("no memory");
        d->in[i] =
            (ebb_view){.data = b->data, .dtype = c->in[i].dtype, .shape = c->in[i].shape};
        ebb__view_contiguous(&d->in[i]);
        harness_store(&d->in[i], c->in[i].x);
        b->copy = malloc(b->bytes + 1);
        if (!b->copy) return verdict("no memory");
        memcpy(b->copy, b->data, b->bytes);
    }
    return NULL;
}

static const char *run_shape(harness_direct *d, bool plan)
{
    ebb__call *call = &d->call;
    void *data[EBB__MAX_IN];
    for (int32_t i = 0; i < call->n_in; i++) {
        data[i] = d->in[i].data;
        if (!(call->op->flags & EBB_OP_VALUE_SHAPE)) d->in[i].data = NULL;
    }
    ebb_status status = call->op->shape(call);
    if (status == EBB_OK && plan)
        d->over = ebb__registry_plan(call->ctx->root->registry, call, &d->backend);
    for (int32_t i = 0; i < call->n_in; i++) d->in[i].data = data[i];
    return status == EBB_OK ? NULL : verdict("shape: %s", ebb_error_message());
}

static const char *make_outputs(harness_direct *d, unsigned char fill)
{
    ebb__call *call = &d->call;
    if (call->op->flags & EBB_OP_BROADCAST)
        for (int32_t i = 0; i < call->n_in; i++)
            if (d->in[i].dtype) ebb__view_broadcast(&d->in[i], &call->out[0].shape);
    for (int32_t k = 0; k < call->n_out + call->n_aux; k++) {
        ebb_view *v = &d->out[k];
        size_t size = ebb__dtype_size(v->dtype);
        harness_block *b = &d->block[d->n_blocks++];
        if (size == 0 || ebb__shape_check(&v->shape, v->dtype) != EBB_OK)
            return verdict("shape left result %d without an element type or a sound shape", k);
        if (!block_make(b, (size_t)ebb__n_elems(&v->shape) * size, size, fill))
            return verdict("no memory");
        v->data = b->data;
        ebb__view_contiguous(v);
    }
    harness_block *scratch = &d->block[d->n_blocks++];
    if (!block_make(scratch, call->scratch_bytes, 64, fill)) return verdict("no memory");
    call->scratch = scratch->data;
    return NULL;
}

/* Metadata only: every element of the result must lie in the input's storage. */
static const char *run_view(harness_direct *d)
{
    int64_t offset = 0, low, high;
    bool copy = false;
    if (d->call.op->view(&d->out[0], &offset, &copy, &d->call) != EBB_OK)
        return verdict("view: %s", ebb_error_message());
    if (copy) return verdict("view asks for a copy of a contiguous input");
    low = high = offset;
    for (int64_t i = 0; i < d->out[0].shape.n_dims; i++) {
        int64_t reach = (d->out[0].shape.dims[i] - 1) * d->out[0].strides[i];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    if (ebb__n_elems(&d->out[0].shape) > 0 && (low < 0 || high >= d->c->in[0].n))
        return verdict("the view reaches from element %lld to %lld of %lld", (long long)low,
                       (long long)high, (long long)d->c->in[0].n);
    size_t size = ebb__dtype_size(d->out[0].dtype);
    d->out[0].data = d->block[0].data + offset * (int64_t)size;
    return NULL;
}

static const char *check_blocks(const harness_direct *d)
{
    int32_t n_in = d->call.n_in, n_results = d->call.n_out + d->call.n_aux;
    for (int32_t b = 0; b < d->n_blocks; b++) {
        const harness_block *block = &d->block[b];
        if (!block_intact(block))
            return b < n_in               ? verdict("wrote outside input %d", b)
                   : b < n_in + n_results ? verdict("wrote outside result %d", b - n_in)
                                          : verdict("wrote outside the scratch");
        bool may_write = b < n_in && d->call.op->writes >> b & 1 && !d->call.recompute;
        if (block->copy && !may_write && memcmp(block->copy, block->data, block->bytes) != 0)
            return verdict("wrote into input %d", b);
    }
    return NULL;
}

const char *harness_direct_run(harness_direct *d, const harness_case *c, unsigned char fill,
                               int32_t n_threads, bool plan, bool recompute)
{
    memset(d, 0, sizeof *d);
    d->c = c;
    ebb_context *ctx = harness_context();
    if (!ctx) return verdict("context: %s", ebb_error_message());
    const ebb_op *op = c->op;
    if (op->compose) return HARNESS_SKIP;
    d->call = (ebb__call){.op = op,
                          .ctx = ctx,
                          .attr = op->attr_bytes ? c->attr : NULL,
                          .n_in = c->n_in,
                          .n_out = c->n_out,
                          .n_aux = op->n_aux,
                          .in = d->in,
                          .out = d->out,
                          .random_key = 99,
                          .random_base = 4096,
                          .n_threads = n_threads,
                          .records = true,
                          .recompute = recompute};
    const char *fault = make_inputs(d);
    if (fault) return fault;
    if (op->flags & EBB_OP_VIEW) {
        fault = run_view(d);
        return fault ? fault : check_blocks(d);
    }
    fault = run_shape(d, plan);
    if (!fault) fault = make_outputs(d, fill);
    if (fault) return fault;
    ebb_status status =
        d->over ? d->over->forward(&d->call, d->backend) : op->forward(&d->call);
    fault = check_blocks(d);
    if (fault) return fault;
    return status == EBB_OK ? NULL : verdict("forward: %s", ebb_error_message());
}

void harness_direct_results(harness_results *r, const harness_direct *d, bool with_aux)
{
    memset(r, 0, sizeof *r);
    int32_t n = d->call.n_out + (with_aux ? d->call.n_aux : 0);
    for (int32_t k = 0; k < n; k++) {
        harness_value *v = &r->value[r->n++];
        if (harness_value_make(v, d->out[k].dtype, &d->out[k].shape))
            harness_load(v->x, &d->out[k]);
    }
    for (int32_t i = 0; i < d->call.n_in; i++) {
        if (!(d->call.op->writes >> i & 1)) continue;
        harness_value *v = &r->value[r->n++];
        *v = (harness_value){.absent = true};
        if (d->in[i].dtype && harness_value_make(v, d->in[i].dtype, &d->in[i].shape))
            harness_load(v->x, &d->in[i]);
    }
}

void harness_direct_end(harness_direct *d)
{
    for (int32_t b = 0; b < d->n_blocks; b++) {
        free(d->block[b].base);
        free(d->block[b].copy);
    }
    d->n_blocks = 0;
}
