/* refusal.c - who holds the bytes when a budget refuses: the open scopes of the thread, by name and
 * line, and what is held beyond scopes.
 *
 * The caller's own scopes only: those of other threads change meanwhile.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "memory/reserve.h"

#include <stdio.h>
#include <string.h>

typedef struct listing {
    ebb_budget_report *report;
    const ebb_site *site;
    size_t bytes; /* of the scope under way */
    uint32_t number;
} listing;

enum {
    MOST = sizeof((ebb_budget_report *)0)->holder / sizeof *((ebb_budget_report *)0)->holder
};

/* Keeps the largest, in order. */
static void scope_enter(listing *l)
{
    if (l->bytes == 0) return;
    int at = MOST;
    while (at > 0 && l->report->holder[at - 1].bytes < l->bytes) at--;
    if (at == MOST) return;
    memmove(&l->report->holder[at + 1], &l->report->holder[at],
            (size_t)(MOST - 1 - at) * sizeof l->report->holder[0]);
    memset(&l->report->holder[at], 0, sizeof l->report->holder[0]);
    snprintf(l->report->holder[at].scope, sizeof l->report->holder[at].scope, "%s",
             l->site && l->site->name ? l->site->name : "");
    l->report->holder[at].file = l->site ? l->site->file : NULL;
    l->report->holder[at].line = l->site ? (int32_t)l->site->line : 0;
    l->report->holder[at].bytes = l->bytes;
}

static void handle_count(void *user, const ebb_site *site, bool is_first, const ebb__slot *s)
{
    listing *l = user;
    if (is_first) {
        scope_enter(l);
        l->site = site;
        l->bytes = 0;
    }
    if (!s) return;
    ebb__value *v = s->storage->value;
    if (v->tiny || v->external || !ebb__value_has_bytes(v)) return;
    if (ebb__value_visit(v, l->number)) l->bytes += v->bytes;
}

void ebb__refusal_holders(ebb_context *ctx, ebb_budget_report *report)
{
    (void)ctx;
    listing l = {.report = report, .number = (uint32_t)ebb__unique_id()};
    ebb__scopes_each(handle_count, &l);
    scope_enter(&l);
}
