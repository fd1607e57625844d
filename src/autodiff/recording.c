/* recording.c - from a finished application to its record and its graph node.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include <stdio.h>
#include <string.h>

bool ebb__op_differentiable(const ebb_op *op)
{
    return op->vjp && !(op->flags & EBB_OP_INTEGER);
}

typedef struct tail_writer {
    char *tail;                 /* NULL while only measuring */
    size_t used;                /* bytes */
    const ebb__layout *last[2]; /* the latest different layouts and where they lie */
    size_t last_at[2];
} tail_writer;

static bool same_layout(const ebb__layout *a, const ebb__layout *b)
{
    if (a == b) return true;
    if (a->n_dims != b->n_dims || a->dtype != b->dtype || a->offset != b->offset) return false;
    for (int64_t i = 0; i < 2 * a->n_dims; i++)
        if (a->dims_strides[i] != b->dims_strides[i]) return false;
    return true;
}

/* Where the layout lies in the tail, in units of 8 bytes; written unless measuring. */
static uint16_t layout_put(tail_writer *w, const ebb__layout *l)
{
    for (int i = 0; i < 2; i++)
        if (w->last[i] && same_layout(l, w->last[i])) return (uint16_t)(w->last_at[i] / 8);
    size_t at = w->used, bytes = ebb__layout_bytes(l->n_dims);
    if (w->tail) memcpy(w->tail + at, l, bytes);
    w->used += bytes;
    w->last[1] = w->last[0];
    w->last_at[1] = w->last_at[0];
    w->last[0] = l;
    w->last_at[0] = at;
    return (uint16_t)(at / 8);
}

enum { SMALL_TAIL = 512, MOST_TAIL = (EBB__PLACE_TRACKED - 1) * 8 };

/* No tail is larger, whatever its layouts share. */
static size_t tail_at_most(const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    size_t n = (size_t)c->n_in + (size_t)c->n_out + (size_t)c->n_aux;
    if (n > 8) return SIZE_MAX;
    size_t bytes = ebb__tail_attr_offset((int32_t)n) + c->op->attr_bytes + 16;
    for (int32_t i = 0; i < c->n_in; i++)
        if (a->slot[i]) bytes += ebb__layout_bytes(a->slot[i]->layout->n_dims);
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++)
        bytes += ebb__layout_bytes(c->out[k].shape.n_dims);
    return bytes;
}

static void tail_write(tail_writer *w, const ebb__apply *a, ebb_tensor *const *result)
{
    const ebb__call *c = &a->call;
    int32_t n = c->n_in + c->n_out + c->n_aux;
    size_t counter = ebb__tail_counter_offset(c->op, n);
    bool random = c->op->flags & EBB_OP_RANDOM;
    uint16_t *place = w->tail ? (uint16_t *)w->tail + 1 : NULL;
    w->used = counter + (random ? sizeof c->random_base : 0);
    if (w->tail) {
        *(uint16_t *)w->tail = (uint16_t)c->n_threads;
        if (c->op->attr_bytes)
            memcpy(w->tail + ebb__tail_attr_offset(n), c->attr, c->op->attr_bytes);
        if (random) memcpy(w->tail + counter, &c->random_base, sizeof c->random_base);
    }
    for (int32_t i = 0; i < c->n_in; i++) {
        uint16_t p = 0;
        if (a->slot[i]) {
            p = layout_put(w, a->slot[i]->layout);
            if (a->slot[i]->node) p |= EBB__PLACE_TRACKED;
        }
        if (w->tail) place[i] = p;
    }
    for (int32_t k = 0; k < c->n_out; k++) {
        uint16_t p = layout_put(w, ebb__slot_raw(result[k])->layout);
        if (w->tail) place[c->n_in + k] = p;
    }
    for (int32_t k = c->n_out; k < c->n_out + c->n_aux; k++) {
        size_t at = w->used; /* by-products: dense, rarely alike */
        if (w->tail) {
            ebb__layout_pack((ebb__layout *)(w->tail + at), &c->out[k], 0);
            place[c->n_in + k] = (uint16_t)(at / 8);
        }
        w->used += ebb__layout_bytes(c->out[k].shape.n_dims);
    }
}

/* The union over the inputs that want a gradient of what their gradients read. */
static void need_masks(const ebb__apply *a, uint32_t *in_mask, uint32_t *out_mask)
{
    const ebb__call *c = &a->call;
    uint32_t need = 0;
    for (int32_t i = 0; i < c->n_in; i++)
        if (a->slot[i] && a->slot[i]->node) need |= ebb__need_of(c->op, i);
    *in_mask = 0;
    *out_mask = (need >> 8 & 0xff) & ((1u << c->n_out) - 1);
    for (int32_t k = 0; k < c->n_aux; k++)
        if (need & EBB_NEED_AUX(k)) *out_mask |= 1u << (c->n_out + k);
    for (int32_t i = 0; i < c->op->n_in; i++)
        if (need & EBB_NEED_IN(i)) *in_mask |= 1u << i;
    if (c->op->flags & EBB_OP_VARIADIC_IN && need & EBB_NEED_IN(c->op->n_in - 1))
        for (int32_t i = c->op->n_in; i < c->n_in && i < 32; i++) *in_mask |= 1u << i;
}

static bool any_large(const ebb__apply *a)
{
    int32_t n = a->call.n_out + a->call.n_aux;
    for (int32_t k = 0; k < n; k++)
        if (a->made[k] && !a->made[k]->tiny) return true;
    return false;
}

static void site_write(ebb__record *r)
{
    int32_t line;
    ebb__record_site *site = ebb__record_site_at(r);
    ebb__site_get(&site->file, &line);
    site->line = line;
}

const char *ebb__record_text(char *buffer, size_t size, const ebb__record *r)
{
    const ebb__record_site *site = r->ctx->record_sites ? ebb__record_site_at(r) : NULL;
    if (!site || !site->file) {
        snprintf(buffer, size, "%.31s", r->op->name);
        return buffer;
    }
    const char *slash = strrchr(site->file, '/');
    snprintf(buffer, size, "%.31s (%.100s:%d)", r->op->name, slash ? slash + 1 : site->file,
             (int)site->line);
    return buffer;
}

ebb_status ebb__record_make(ebb__record **out, const ebb__apply *a, ebb_tensor *const *result)
{
    const ebb__call *c = &a->call;
    bool view = c->op->flags & EBB_OP_VIEW;
    bool recipe = !view && !(c->op->flags & EBB_OP_NO_RECOMPUTE) && !a->over && any_large(a);
    *out = NULL;
    if (!recipe && !a->tracked) return EBB_OK;
    int32_t n_out = c->n_out + c->n_aux;
    /* Most tails are small: written once, here, and copied; large ones are measured first. */
    _Alignas(16) char small[SMALL_TAIL];
    tail_writer w = {0};
    if (tail_at_most(a) <= sizeof small) w.tail = small;
    tail_write(&w, a, result);
    size_t tail_bytes = (w.used + 7) & ~(size_t)7;
    if (c->ctx->record_sites) tail_bytes += sizeof(ebb__record_site);
    /* What lies further cannot be named in 15 bits: without a gradient it just has no recipe. */
    if (w.used > MOST_TAIL) {
        if (!a->tracked) return EBB_OK;
        return ebb__fail(
            EBB_E_UNSUPPORTED,
            "%d inputs have different layouts: %zu bytes to record, %d are possible",
            (int)c->n_in, w.used, MOST_TAIL);
    }
    ebb__record *r;
    EBB_TRY(ebb__record_create(&r, c->ctx, c->op, (uint16_t)c->n_in, (uint16_t)n_out, recipe,
                               (uint32_t)tail_bytes));
    if (w.tail) {
        memcpy(ebb__record_tail(r), small, w.used);
    } else {
        w = (tail_writer){.tail = ebb__record_tail(r)};
        tail_write(&w, a, result);
    }
    if (c->ctx->record_sites) site_write(r);
    ebb__record_set_cost(r, a->cost_ns);
    for (int32_t i = 0; i < c->n_in; i++)
        r->in[i] = a->slot[i] ? a->slot[i]->storage->value : NULL;
    for (int32_t k = 0; k < n_out; k++) r->out[k] = view ? NULL : a->made[k];
    if (a->tracked) {
        uint32_t in_mask, out_mask;
        need_masks(a, &in_mask, &out_mask);
        ebb__record_save(r, in_mask, view ? 0 : out_mask);
    }
    if (recipe) ebb__record_link(r);
    *out = r;
    return EBB_OK;
}

/* A node is of no use any more: its saves go, the recipe stays while a result needs it. */
static void payload_free(void *record)
{
    ebb__record *r = record;
    unsigned marks = atomic_load_explicit(&r->marks, memory_order_relaxed);
    if (marks & EBB__RECORD_KEPT) ebb__watch_forget(r);
    if (marks & EBB__RECORD_HOOKED) ebb__hooks_drop(r->ctx->root, r);
    ebb__record_unsave(r);
    ebb__record_release(r);
}

ebb_status ebb__node_make(ebb_graph_node **out, const ebb__apply *a, ebb__record *take_record)
{
    const ebb__call *c = &a->call;
    enum { FEW = 16 };
    ebb_graph_edge few[FEW], *edge = few;
    size_t bytes = (size_t)c->n_in * sizeof *edge;
    if (c->n_in > FEW) {
        edge = ebb__alloc(&c->ctx->allocator, bytes, 16);
        if (!edge) {
            payload_free(take_record);
            return ebb__fail(EBB_E_NOMEM, "%zu bytes for edges were refused", bytes);
        }
    }
    uint32_t n = 0;
    for (int32_t i = 0; i < c->n_in; i++)
        if (a->slot[i] && a->slot[i]->node)
            edge[n++] = (ebb_graph_edge){a->slot[i]->node, a->slot[i]->output};
    ebb_graph_payload payload = {take_record, payload_free, (uint32_t)c->op->id};
    ebb_status status = ebb_graph_node_record(out, c->ctx->space, edge, n, &payload);
    if (edge != few) ebb__free(&c->ctx->allocator, edge, bytes);
    if (status != EBB_OK) payload_free(take_record);
    return status;
}
