/* parts.c - gradients under way that are views of a larger one.
 *
 * What was put together (cat) gives each part a view of its gradient. A part whose turn comes late, as
 * that of a skip connection, would keep all of the bytes until then: under a budget it is copied as soon
 * as nobody else holds them and it is no more than half of them.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"
#include "memory/reserve.h"

/* It alone keeps more than twice the bytes that it has. */
static bool is_small(const ebb_tensor *t)
{
    const ebb__slot *s = ebb__slot_raw((ebb_tensor *)t);
    const ebb__value *v = s->storage->value;
    ebb_view view;
    if (v->tiny || v->external || s->node) return false;
    ebb__layout_unpack(&view, s->layout, NULL);
    return ebb__view_bytes(&view) <= v->bytes / 2;
}

void ebb__part_note(ebb__backward *b, ebb__grad_total *total)
{
    if (b->n_parts == EBB__MAX_PARTS || b->create_graph || !ebb__budget_gate(b->ctx)) return;
    if (is_small(*total)) b->part[b->n_parts++] = total;
}

static bool is_alone(const ebb_tensor *t)
{
    const ebb__slot *s = ebb__slot_raw((ebb_tensor *)t);
    return atomic_load_explicit(&s->refs, memory_order_acquire) == 1 &&
           atomic_load_explicit(&s->storage->refs, memory_order_acquire) == 1;
}

static ebb_status copy(ebb__backward *b, ebb__grad_total *total)
{
    ebb_tensor *own = ebb__run1(b->ctx, b->ctx->engine->clone, NULL, 1, total);
    if (!own) return ebb_error_status();
    ebb_release(*total);
    *total = ebb__claim_or_keep(own);
    return *total ? EBB_OK : ebb_error_status();
}

ebb_status ebb__parts_settle(ebb__backward *b, int64_t i)
{
    for (int32_t k = 0; k < b->n_parts;) {
        ebb__grad_total *total = b->part[k];
        bool is_next = total >= b->total + b->first_out[i] &&
                       total < b->total + b->first_out[i + 1]; /* it goes in a moment */
        bool waits = *total && !is_next && is_small(*total);
        if (waits && !is_alone(*total)) {
            k++;
            continue;
        }
        b->part[k] = b->part[--b->n_parts];
        if (waits) EBB_TRY(copy(b, total));
    }
    return EBB_OK;
}
