/* regions.c - regions that are made again; figures of a budget.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/backward.h"
#include "memory/reserve.h"

#include <ebb/memory.h>

#include <string.h>

static bool is_usable(const ebb_context *ctx)
{
    return ctx && !ctx->closed && ebb__context_is_ours(ctx);
}

ebb_checkpoint ebb_checkpoint_begin(ebb_context *ctx)
{
    ebb_checkpoint region = {0};
    if (!is_usable(ctx)) return region;
    region.ctx = ctx;
    region.start = ebb__region_start(ctx);
    return region;
}

void ebb_checkpoint_end(ebb_checkpoint *region)
{
    if (!region || !is_usable(region->ctx)) return;
    ebb__region_end(region->ctx, region->start);
    region->ctx = NULL;
}

void ebb_room_stats_get(ebb_room_stats *out, const ebb_context *ctx)
{
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!is_usable(ctx)) return;
    ebb__room_stats s;
    ebb__room_stats_get(&s, ctx);
    out->n_evictions = s.n_evictions;
    out->n_recomputes = s.n_recomputes;
    out->recompute_ns = s.recompute_ns;
    out->moved_bytes = s.moved_bytes;
    ebb__follow_stats f;
    ebb__habit_stats(&f, ctx);
    out->n_traces = f.n_traces;
    out->n_plans = f.n_plans;
    out->n_steps_known = f.n_steps_known;
    out->plan_ns = f.plan_ns;
}
