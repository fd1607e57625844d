/* refuse.c - what cannot fit is refused before anything is given up for it, with the figures.
 *
 * What must be there at once: all that cannot be given up, the operands, and what the operation
 * asks for. No order of operations and no choice of victims does with less while this operation
 * runs, so the largest of these seen is a bound for the program.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"
#include "memory/reserve.h"
#include "memory/room.h"

#include <stdio.h>

/* "7340032 parameter, 81920 scratch": the kinds that are not 0. */
static void kinds_text(char *buffer, size_t size, const size_t bytes[EBB_KIND_MAX])
{
    size_t n = 0;
    buffer[0] = '\0';
    for (int k = 0; k < EBB_KIND_CACHE && n < size; k++)
        if (bytes[k])
            n += (size_t)snprintf(buffer + n, size - n, "%s%zu %s", n ? ", " : "", bytes[k],
                                  ebb_kind_name((ebb_kind)k));
}

static void held_by_kind(size_t out[EBB_KIND_MAX], ebb__memory *m, const ebb__account *a)
{
    ebb_stats held = {0};
    size_t evictable[EBB_KIND_MAX] = {0};
    ebb__account_stats(&held, a);
    ebb__memory_enter(m);
    bool exact = atomic_load(&m->n_maps) || ebb__gate_is_nested(&m->gate);
    ebb__evictable_by_kind(evictable, m, a, exact);
    ebb__memory_leave_unchanged(m);
    for (int k = 0; k < EBB_KIND_CACHE; k++)
        out[k] = held.bytes[k] > evictable[k] ? held.bytes[k] - evictable[k] : 0;
}

static ebb_status check_one(ebb_context *ctx, const ebb__account *a, const size_t *need,
                            size_t missing)
{
    ebb__memory *m = ctx->memory;
    size_t by_kind[EBB_KIND_MAX] = {0}, total = 0, budget = ebb__account_budget(a);
    held_by_kind(by_kind, m, a);
    by_kind[EBB_KIND_ACTIVATION] += missing;
    for (int k = 0; k < EBB_KIND_CACHE; k++) {
        by_kind[k] += need[k];
        if (by_kind[k] < need[k]) by_kind[k] = SIZE_MAX / EBB_KIND_MAX;
        total += by_kind[k];
    }
    ebb__memory_enter(m);
    if (total > m->lower_bound) m->lower_bound = total;
    size_t bound = m->lower_bound;
    ebb__memory_leave_unchanged(m);
    if (total <= budget) return EBB_OK;
    ebb_budget_report *report = ebb__budget_report();
    memset(report, 0, sizeof *report);
    report->needed_bytes = total;
    report->budget_bytes = budget;
    memcpy(report->needed_by_kind, by_kind, sizeof by_kind);
    report->lower_bound_bytes = bound;
    ebb__memory_report_complete(ctx, report);
    char kinds[240];
    kinds_text(kinds, sizeof kinds, by_kind);
    return ebb__fail(EBB_E_BUDGET, "%zu bytes are needed at once, the budget is %zu: %s", total,
                     budget, kinds);
}

ebb_status ebb__room_check(ebb_context *ctx, const size_t need[EBB_KIND_MAX], size_t missing)
{
    for (const ebb_context *c = ctx; c; c = c->parent)
        if (ebb__account_budget(c->account)) EBB_TRY(check_one(ctx, c->account, need, missing));
    return EBB_OK;
}

void ebb__memory_report_complete(ebb_context *ctx, ebb_budget_report *report)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    if (m->lower_bound > report->lower_bound_bytes) report->lower_bound_bytes = m->lower_bound;
    size_t known = m->planned_bytes && m->planned_bytes < m->known_bytes ? m->planned_bytes
                                                                         : m->known_bytes;
    if (known >= report->lower_bound_bytes) report->smallest_known_bytes = known;
    ebb__memory_leave_unchanged(m);
    if (m->top->holders) m->top->holders(ctx, report);
}

void ebb__memory_step_done(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    if (!m->has_budget) return;
    ebb_stats s = {0};
    ebb__account_stats(&s, ctx->account);
    ebb__memory_enter(m);
    m->known_bytes = s.peak_bytes;
    ebb__mirror_rest(m);
    ebb__memory_leave_unchanged(m);
}

void ebb__memory_known(ebb_context *ctx, size_t bytes)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    m->planned_bytes = bytes;
    ebb__memory_leave_unchanged(m);
}

void ebb__memory_set_holders(ebb_context *ctx,
                             void (*holders)(ebb_context *ctx, ebb_budget_report *report))
{
    ctx->memory->top->holders = holders;
}
