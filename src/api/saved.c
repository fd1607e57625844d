/* saved.c - what a backward would use: the saves of all operations behind a root.
 *
 * The walk keeps: it pins the nodes, so the values stay, and is given back without a claim.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/inspect.h"

#include <ebb/explain.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A save found, to bring those of the same bytes together. */
typedef struct found {
    const ebb__value *value;
    int64_t node, place; /* in the walk; in the list */
} found;

static int by_value(const void *a, const void *b)
{
    const found *x = a, *y = b;
    if (x->value != y->value) return (uintptr_t)x->value < (uintptr_t)y->value ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static void value_describe(ebb_saved_value *out, const ebb__record *r, const ebb__save *save)
{
    ebb_view view;
    memset(out, 0, sizeof *out);
    ebb__layout_unpack(&view, save->layout, NULL);
    snprintf(out->op, sizeof out->op, "%s", r->op->name);
    ebb__record_site_get(&out->file, &out->line, r);
    out->index = save->index;
    out->is_output = save->is_output;
    out->is_resident = save->value->data != NULL;
    out->is_stale = save->value->moved;
    out->dtype = view.dtype;
    out->shape = view.shape;
    out->bytes = save->value->bytes;
}

/* The saves of a walk in order; returns how many. list may be NULL. */
static int64_t saves_collect(found *list, ebb_saved_value *out, int64_t max,
                             const ebb__graph_walk *walk)
{
    int64_t n = 0;
    for (int64_t i = 0; i < walk->n_nodes; i++) {
        const ebb__record *r = ebb_graph_node_payload(walk->nodes[i]);
        ebb__save save;
        for (uint32_t at = 0; ebb__save_next(&save, r, &at); n++) {
            if (!list) continue;
            list[n] = (found){save.value, i, n};
            if (n < max) value_describe(&out[n], r, &save);
        }
    }
    return n;
}

/* list[first .. end) save one value. */
static void group_mark(ebb_saved_value *out, int64_t max, const found *list, int64_t first,
                       int64_t end)
{
    bool is_shared = false;
    for (int64_t i = first; i < end; i++) is_shared |= list[i].node != list[first].node;
    for (int64_t i = first; i < end; i++)
        if (list[i].place < max) out[list[i].place].is_shared = is_shared;
    if (list[first].place < max) {
        ebb_saved_value *v = &out[list[first].place];
        v->unique_bytes = v->bytes;
    }
}

static ebb_status walk_report(ebb_saved_value *out, int64_t max, int64_t *n_out,
                              const ebb__graph_walk *walk, const ebb_allocator *allocator)
{
    int64_t n = saves_collect(NULL, NULL, 0, walk);
    if (n > 0 && max > 0) {
        size_t bytes = (size_t)n * sizeof(found);
        found *list = ebb__alloc(allocator, bytes, 16);
        if (!list)
            return ebb__fail(EBB_E_NOMEM, "%zu bytes for a list of saved values were refused",
                             bytes);
        saves_collect(list, out, max, walk);
        qsort(list, (size_t)n, sizeof *list, by_value);
        for (int64_t first = 0, end; first < n; first = end) {
            for (end = first + 1; end < n && list[end].value == list[first].value;) end++;
            group_mark(out, max, list, first, end);
        }
        ebb__free(allocator, list, bytes);
    }
    *n_out = n;
    return EBB_OK;
}

static ebb_status saved_checked(ebb_saved_value *out, int64_t max, int64_t *n_out,
                                ebb_tensor *root)
{
    const ebb__slot *s = ebb__slot_of(root, "ebb_saved", "root");
    if (!s) return ebb_error_status();
    if (!n_out) return ebb__null_argument("ebb_saved", "n_out");
    if (max > 0 && !out) return ebb__null_argument("ebb_saved", "out");
    EBB_TRY(ebb__context_usable(s->ctx));
    if (!s->node)
        return ebb__fail(EBB_E_GRAPH, "root depends on nothing that wants a gradient");
    ebb__graph_walk walk;
    ebb__graph_place place = {s->node, s->output};
    EBB_TRY(ebb__graph_walk_begin(&walk, &place, 1, NULL, 0, NULL, NULL, true));
    ebb_status status = walk_report(out, max, n_out, &walk, &s->ctx->allocator);
    ebb__graph_walk_end(&walk);
    return status;
}

ebb_status(ebb_saved)(ebb_saved_value *out, int64_t max, int64_t *n_out, ebb_tensor *root)
{
    const char *outer = ebb__error_op_set("saved");
    ebb_status status = saved_checked(out, max, n_out, root);
    return ebb__call_end(outer, ebb__context_among(&root, 1), status);
}
