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
#include <sys/resource.h>

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

static size_t all_of(const size_t bytes[EBB_KIND_MAX])
{
    size_t total = 0;
    for (int k = 0; k < EBB_KIND_CACHE; k++) total += bytes[k];
    return total;
}

/* The message of a refusal that is reported; what was asked for comes first. */
static ebb_status need_say(const char *asked, const ebb_budget_report *report)
{
    char kinds[240];
    kinds_text(kinds, sizeof kinds, report->needed_by_kind);
    return ebb__fail(EBB_E_BUDGET, "%s%zu bytes are needed at once, the budget is %zu: %s",
                     asked, report->needed_bytes, report->budget_bytes, kinds);
}

/* What is in use, without what can be given up. Quick: more, gradients under way among it where others
 * go first. */
static void held_by_kind(size_t out[EBB_KIND_MAX], ebb__memory *m, const ebb__account *a,
                         bool quick)
{
    ebb_stats held = {0};
    size_t evictable[EBB_KIND_MAX] = {0};
    ebb__account_stats(&held, a);
    ebb__memory_enter(m);
    bool exact = !quick || atomic_load(&m->n_maps) || ebb__gate_is_nested(&m->gate);
    ebb__evictable_by_kind(evictable, m, a, exact);
    ebb__memory_leave_unchanged(m);
    memset(out, 0, EBB_KIND_MAX * sizeof *out);
    for (int k = 0; k < EBB_KIND_CACHE; k++)
        out[k] = held.bytes[k] > evictable[k] ? held.bytes[k] - evictable[k] : 0;
}

/* "; iter (train.c:40) holds 400000; no budget below 800000 serves; 850000 has served so far" */
static void figures_text(char *buffer, size_t size, const ebb_budget_report *r, bool is_planned)
{
    size_t n = 0;
    buffer[0] = '\0';
    for (int i = 0; i < 2 && r->holder[i].file; i++) {
        const char *file = r->holder[i].file, *slash = strrchr(file, '/');
        if (slash) file = slash + 1;
        n += (size_t)snprintf(
            buffer + n, size - n, i ? ", %s (%.40s:%d) %zu" : "; %s (%.40s:%d) holds %zu",
            r->holder[i].scope, file, (int)r->holder[i].line, r->holder[i].bytes);
    }
    if (r->lower_bound_bytes)
        n += (size_t)snprintf(buffer + n, size - n, "; no budget below %zu serves",
                              r->lower_bound_bytes);
    if (r->smallest_known_bytes)
        snprintf(buffer + n, size - n,
                 is_planned ? "; %zu does for steps like the last" : "; %zu has served so far",
                 r->smallest_known_bytes);
}

/* Under the mutex. */
static size_t held_by_user(const ebb__memory *m)
{
    size_t bytes = 0;
    for (const ebb__big *b = m->all; b; b = b->next)
        if (b->value.data && !b->value.external && ebb__big_is_kept(b)) bytes += b->value.bytes;
    return bytes;
}

/* Adds bounds, known budget and holders to what a refusal has reported. */
static void complete(ebb_context *ctx, const ebb__account *a)
{
    ebb__memory *m = ctx->memory;
    const ebb__budget_notes *notes = ebb__account_notes(a);
    ebb_budget_report *report = &ebb__refusal_get()->report;
    char text[512]; /* two holders of 31 + 40 characters, four numbers */
    ebb__memory_enter(m);
    if (notes->lower_bound > report->lower_bound_bytes)
        report->lower_bound_bytes = notes->lower_bound;
    bool is_planned =
        a == m->owner->account && m->planned_bytes && m->planned_bytes < notes->served;
    size_t known = is_planned ? m->planned_bytes : notes->served;
    if (known >= report->lower_bound_bytes) report->smallest_known_bytes = known;
    report->held_by_user_bytes = held_by_user(m);
    ebb__memory_leave_unchanged(m);
    if (m->top->holders) m->top->holders(ctx, report);
    figures_text(text, sizeof text, report, is_planned);
    ebb__error_append(text);
    ebb__refusal_bind();
}

/* Of what is in use, what no bound may count: with less of it less is learned, or can be given up. Under
 * the mutex. */
static size_t tables_of(const ebb__memory *m, const ebb__account *a)
{
    const ebb_context *c = m->owner;
    while (c && c->account != a) c = c->parent;
    return c ? ebb__tables_bytes(m) : 0;
}

/* All that must be there at once. */
static size_t at_once(size_t by_kind[EBB_KIND_MAX], ebb__memory *m, const ebb__account *a,
                      const size_t *need, size_t missing, bool quick)
{
    held_by_kind(by_kind, m, a, quick);
    by_kind[EBB_KIND_ACTIVATION] += missing;
    for (int k = 0; k < EBB_KIND_CACHE; k++) {
        by_kind[k] += need[k];
        if (by_kind[k] < need[k]) by_kind[k] = SIZE_MAX / EBB_KIND_MAX;
    }
    return all_of(by_kind);
}

/* By a quick look it is neither refused nor more than was seen: there is nothing to note. */
static bool is_nothing_new(ebb__memory *m, const ebb__account *a, const size_t *need,
                           size_t missing)
{
    size_t by_kind[EBB_KIND_MAX], most = at_once(by_kind, m, a, need, missing, true);
    ebb__memory_enter(m);
    ebb__budget_notes *notes = ebb__account_notes(a);
    bool is_new = most > notes->seen;
    if (is_new) notes->seen = most;
    ebb__memory_leave_unchanged(m);
    return !is_new && most <= ebb__account_budget(a);
}

static ebb_status check_one(ebb_context *ctx, const ebb__account *a, const size_t *need,
                            size_t missing)
{
    ebb__memory *m = ctx->memory;
    if (is_nothing_new(m, a, need, missing)) return EBB_OK;
    size_t by_kind[EBB_KIND_MAX], budget = ebb__account_budget(a);
    const size_t total = at_once(by_kind, m, a, need, missing, false);
    ebb__memory_enter(m);
    ebb__budget_notes *notes = ebb__account_notes(a);
    const size_t bound = total - tables_of(m, a);
    if (total <= budget && bound > notes->lower_bound) notes->lower_bound = bound;
    ebb__memory_leave_unchanged(m);
    if (total <= budget) return EBB_OK;
    ebb_budget_report *report = &ebb__refusal_get()->report;
    memset(report, 0, sizeof *report);
    report->needed_bytes = total;
    report->budget_bytes = budget;
    memcpy(report->needed_by_kind, by_kind, sizeof by_kind);
    report->lower_bound_bytes = bound;
    ebb_status status = need_say("", report);
    complete(ctx, a);
    return status;
}

ebb_status ebb__room_check(ebb_context *ctx, const size_t need[EBB_KIND_MAX], size_t missing)
{
    for (const ebb_context *c = ctx; c; c = c->parent)
        if (ebb__account_budget(c->account)) EBB_TRY(check_one(ctx, c->account, need, missing));
    return EBB_OK;
}

/* `more` and what is held beside it; all of it, where what could be given up was not to be had. */
static void needed_set(ebb_context *ctx, const ebb__account *tight,
                       const size_t more[EBB_KIND_MAX])
{
    ebb_budget_report *report = &ebb__refusal_get()->report;
    size_t by_kind[EBB_KIND_MAX];
    held_by_kind(by_kind, ctx->memory, tight, true);
    if (all_of(by_kind) + all_of(more) <= report->budget_bytes) {
        ebb_stats held;
        ebb__account_stats(&held, tight);
        memcpy(by_kind, held.bytes, sizeof by_kind);
    }
    for (int k = 0; k < EBB_KIND_CACHE; k++) by_kind[k] += more[k];
    by_kind[EBB_KIND_CACHE] = 0;
    memcpy(report->needed_by_kind, by_kind, sizeof report->needed_by_kind);
    report->needed_bytes = all_of(by_kind);
}

ebb_status ebb__room_refuse(ebb_context *ctx, const size_t more[EBB_KIND_MAX])
{
    const size_t bytes = all_of(more);
    const ebb__account *tight = ebb__account_tight(ctx->account, bytes);
    ebb_kind kind = 0;
    for (int k = 1; k < EBB_KIND_CACHE; k++)
        if (more[k] > more[kind]) kind = (ebb_kind)k;
    ebb_status status = ebb__account_refuse(ctx->account, kind, bytes);
    if (!tight) return status;
    if (bytes < SIZE_MAX / EBB_KIND_MAX) {
        char asked[64];
        needed_set(ctx, tight, more);
        snprintf(asked, sizeof asked, "%zu bytes more do not fit: ", bytes);
        status = need_say(asked, &ebb__refusal_get()->report);
    }
    complete(ctx, tight);
    return status;
}

ebb_status ebb__room_refuse_charge(ebb_context *ctx, ebb_kind kind, size_t bytes)
{
    size_t more[EBB_KIND_MAX] = {0};
    more[kind] = bytes;
    return ebb__room_refuse(ctx, more);
}

/* With what is in use, and what limits that. */
static ebb_status allocator_refused(const ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    ebb_stats s = {0};
    struct rlimit most;
    char budget[48] = "there is no budget", process[64] = "";
    ebb__account_stats(&s, ctx->memory->top->owner->account);
    if (s.budget_bytes) snprintf(budget, sizeof budget, "the budget is %zu", s.budget_bytes);
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
        snprintf(process, sizeof process, ", the limit of the process %llu",
                 (unsigned long long)most.rlim_cur);
    return ebb__fail(EBB_E_NOMEM,
                     "the allocator refused %zu bytes of kind %s; %zu are in use, %s%s", bytes,
                     ebb_kind_name(kind), s.used_bytes, budget, process);
}

ebb_status ebb__room_refuse_block(ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    if (!ebb__arena_is_fixed(ctx->memory->arena)) return allocator_refused(ctx, bytes, kind);
    ebb_budget_report *report = &ebb__refusal_get()->report;
    memset(report, 0, sizeof *report);
    report->needed_bytes = bytes;
    report->budget_bytes = ebb__account_budget(ctx->memory->owner->account);
    report->needed_by_kind[kind] = bytes;
    ebb_status status = ebb__fail(
        EBB_E_BUDGET,
        "%zu bytes of kind %s are free, but not in one piece: what is mapped lies between",
        bytes, ebb_kind_name(kind));
    complete(ctx, ctx->memory->owner->account);
    return status;
}

void ebb__memory_step_done(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    ebb__gradients_give(ctx, false);
    for (const ebb_context *c = m->has_budget ? ctx : NULL; c; c = c->parent) {
        if (!ebb__account_budget(c->account)) continue;
        ebb_stats s = {0};
        ebb__account_stats(&s, c->account);
        ebb__memory_enter(m);
        /* What was used at most would not do as a budget where values were given up: room is made,
         * and steps are learned, by what the budget is. */
        const size_t bytes = m->n_evictions ? s.budget_bytes : s.peak_bytes;
        ebb__budget_notes *notes = ebb__account_notes(c->account);
        /* the first backward says nothing of the update that comes after it */
        if (notes->n_backwards++ > 0 && bytes > notes->served) notes->served = bytes;
        ebb__memory_leave_unchanged(m);
    }
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

void ebb__memory_set_relief(ebb_context *ctx, bool (*relief)(ebb_context *ctx, size_t missing))
{
    ctx->memory->top->relief = relief;
}
