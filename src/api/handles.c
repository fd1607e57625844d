/* handles.c - all tensor handles of a root context and the contexts below it; their labels.
 * SPDX-License-Identifier: MIT */
#include "api/handles.h"

#include "base/text.h"
#include "tensor/slots.h"

#include <ebb/explain.h>

#include <string.h>

_Static_assert((int)EBB_NAME_BYTES == (int)EBB__LABEL_BYTES,
               "labels as the public header says");

static void context_handles(ebb_context *ctx, void (*each)(void *user, ebb__slot *s),
                            void *user)
{
    if (!ctx->slots) return;
    for (ebb__slot_page *page = ctx->slots->pages; page; page = page->next) {
        for (size_t i = 1; i < EBB__SLOT_PAGE_BYTES / EBB__SLOT_BYTES; i++) {
            ebb__slot *s = (ebb__slot *)((char *)page + i * EBB__SLOT_BYTES);
            if (ebb__slot_is_live(s)) each(user, s);
        }
    }
}

void ebb__handles_each(ebb_context *ctx, void (*each)(void *user, ebb__slot *s), void *user)
{
    ebb_context *root = ctx->root, *at = root;
    for (;;) {
        context_handles(at, each, user);
        if (at->first_child) {
            at = at->first_child;
            continue;
        }
        while (at != root && !at->next_sibling) at = at->parent;
        if (at == root) return;
        at = at->next_sibling;
    }
}

static ebb_status label_set(ebb__slot *s, const char *label)
{
    EBB_TRY(ebb__context_usable(s->ctx));
    char text[EBB__LABEL_BYTES];
    if (label) {
        ebb__text_copy(text, sizeof text, label);
        if (!ebb__slot_extra_need(s)) return ebb_error_status();
    }
    ebb_status status = s->node ? ebb_graph_label_set(s->node, label ? text : NULL) : EBB_OK;
    ebb__slot_extra *extra = s->extra;
    if (status == EBB_OK && extra) {
        extra->has_label = label != NULL;
        if (label) memcpy(extra->label, text, sizeof text);
    }
    if (extra && !extra->has_label && !extra->retained) ebb__slot_extra_free(s);
    return status;
}

ebb_status(ebb_label)(ebb_tensor *t, const char *label)
{
    const char *outer = ebb__error_op_set("label");
    ebb__slot *s = ebb__slot_of(t, "ebb_label", "t");
    ebb_status status = s ? label_set(s, label) : ebb_error_status();
    return ebb__call_end(outer, s ? s->ctx : NULL, status);
}

const char *ebb_label_of(const ebb_tensor *t)
{
    const ebb__slot *s = t && t != EBB_NONE ? ebb__slot_of(t, "ebb_label_of", "t") : NULL;
    return s ? ebb__slot_label(s) : NULL;
}
