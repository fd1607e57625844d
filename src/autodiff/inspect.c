/* inspect.c - looking into records and graphs that are at rest.
 * SPDX-License-Identifier: MIT */
#include "autodiff/inspect.h"

#include "base/context.h"
#include "graph/node.h"

/* The last bit of a mask stands for all that follow. */
static bool in_mask(uint32_t mask, uint32_t i)
{
    return mask >> (i < 31 ? i : 31) & 1;
}

bool ebb__save_next(ebb__save *out, const ebb__record *r, uint32_t *at)
{
    for (uint32_t n = (uint32_t)r->n_in + r->n_out; *at < n;) {
        uint32_t place = (*at)++;
        bool is_output = place >= r->n_in;
        uint32_t i = is_output ? place - r->n_in : place;
        ebb__value *v = is_output ? r->out[i] : r->in[i];
        if (!v || !in_mask(is_output ? r->saved_out : r->saved_in, i)) continue;
        *out = (ebb__save){.value = v,
                           .layout = ebb__record_layout(r, (int32_t)place),
                           .index = (int32_t)i,
                           .is_output = is_output};
        return true;
    }
    return false;
}

bool ebb__record_saves(const ebb__record *r, const ebb__value *v)
{
    ebb__save save;
    for (uint32_t at = 0; ebb__save_next(&save, r, &at);)
        if (save.value == v) return true;
    return false;
}

void ebb__record_site_get(const char **file, int32_t *line, const ebb__record *r)
{
    const ebb__record_site *site = r->ctx->record_sites ? ebb__record_site_at(r) : NULL;
    *file = site ? site->file : NULL;
    *line = site && site->file ? (int32_t)site->line : 0;
}

typedef struct node_visit {
    ebb__node_fn each;
    void *user;
} node_visit;

static void node_visited(void *user, ebb_graph_node *n)
{
    const node_visit *visit = user;
    unsigned state = node_state(n);
    visit->each(visit->user, n, state == NODE_LIVE ? n->payload : NULL,
                state == NODE_LEAF ? n->payload : NULL);
}

void ebb__nodes_each(ebb_context *ctx, ebb__node_fn each, void *user)
{
    node_visit visit = {each, user};
    ebb__graph_each(ctx->space, node_visited, &visit);
}

uint64_t ebb__node_sequence(const ebb_graph_node *n)
{
    return n->sequence;
}
