/* workspace.c - first fit, holes in the order of their addresses, neighbours joined.
 * SPDX-License-Identifier: MIT */
#include "memory/workspace.h"

#include "base/size.h"
#include "memory/reserve.h"

typedef ebb__workspace_hole hole;
enum { GRAIN = 64 };
_Static_assert(sizeof(hole) <= GRAIN, "a hole lies in the bytes that are free");

static void *take(void *user, size_t bytes, size_t alignment)
{
    ebb__workspace *w = user;
    size_t need = ebb__round_64(bytes);
    if (need < bytes || alignment > GRAIN) return NULL;
    for (hole **at = &w->holes; *at; at = &(*at)->next) {
        hole *h = *at;
        if (h->bytes < need) continue;
        if (h->bytes == need) {
            *at = h->next;
        } else {
            hole *rest = (hole *)(void *)((char *)h + need);
            *rest = (hole){h->next, h->bytes - need};
            *at = rest;
        }
        return h;
    }
    return NULL;
}

static bool join(hole *h)
{
    if (!h->next || (char *)h + h->bytes != (char *)h->next) return false;
    h->bytes += h->next->bytes;
    h->next = h->next->next;
    return true;
}

static void give(void *user, void *p, size_t bytes)
{
    ebb__workspace *w = user;
    hole *h = p, *before = NULL, **at = &w->holes;
    while (*at && *at < h) {
        before = *at;
        at = &before->next;
    }
    *h = (hole){*at, ebb__round_64(bytes)};
    *at = h;
    join(h);
    if (before) join(before);
}

bool ebb__workspace_make(ebb__workspace *w, ebb_context *ctx, size_t bytes)
{
    *w = (ebb__workspace){0};
    size_t all = ebb__round_64(bytes);
    w->table = ebb__notes_make(ctx, all, true);
    if (!w->table) return false;
    w->holes = ebb__notes_at(w->table);
    *w->holes = (hole){NULL, all};
    return true;
}

void ebb__workspace_free(ebb__workspace *w, ebb_context *ctx)
{
    ebb__notes_drop(ctx, w->table);
    *w = (ebb__workspace){0};
}

ebb_allocator ebb__workspace_allocator(ebb__workspace *w)
{
    return (ebb_allocator){.alloc = take, .free = give, .user = w};
}
