/* sleep.c - a ledger that nobody asks anything is told nothing.
 *
 * As long as no value is given up, all that a ledger would know can be seen from the values and
 * their recipes. So it sleeps, and is made from them when the first one goes; and goes to sleep
 * again at the end of a step in which none went.
 *
 * Invariant: while it sleeps no value has a number and no dropped one is needed, and its tables
 * have room for all it would have to know (counted here: values that a recipe has made or read,
 * as long as they are; records that read, and their links), so waking takes no memory.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"

bool ebb__mirror_holds(const ebb__memory *m, size_t n_vals, size_t n_recs, size_t n_links)
{
    return ebb__ledger_holds(m->own_ledger, m->n_known + n_vals, m->n_recipes + n_recs,
                             m->n_links + n_links);
}

void ebb__mirror_linked(ebb__memory *m, const ebb__record *r)
{
    if (!m->own_ledger) return;
    m->n_recipes++;
    m->n_links += ebb__ledger_links((uint32_t)r->n_in + r->n_out);
}

void ebb__mirror_unlinked(ebb__memory *m, const ebb__record *r)
{
    if (!m->own_ledger) return;
    m->n_recipes--;
    m->n_links -= ebb__ledger_links((uint32_t)r->n_in + r->n_out);
}

/* The next newer one; NULL: none. */
static ebb__big *newer(const ebb__memory *m, ebb__big *b)
{
    return b->prev == &m->all ? NULL : (ebb__big *)((char *)b->prev - offsetof(ebb__big, next));
}

/* The recipe of b, once for all that it makes; NULL. */
static ebb__record *recipe_of_first(const ebb__big *b)
{
    ebb__record *r = ebb__recipe_of(&b->value);
    for (uint32_t k = 0; r && k < r->n_out; k++)
        if (r->out[k] && ebb__recipe_of(r->out[k]) == r)
            return r->out[k] == &b->value ? r : NULL;
    return NULL;
}

/* Each value is older than what is made from it. The time that has stood still meanwhile is that
 * in which the recipes would run one after the other. */
static void recipes_tell(ebb__memory *m)
{
    double since = (double)ebb__memory_now(m), cost = 0;
    ebb__big *oldest = m->all;
    while (oldest && oldest->next) oldest = oldest->next;
    for (ebb__big *b = oldest; b; b = newer(m, b)) {
        ebb__record *r = ebb__recipe_of(&b->value);
        if (!r || b->number != EBB__LEDGER_NONE) continue;
        cost += (double)ebb__record_cost(r);
        ebb__ledger_clock(m->ledger, since + cost, since + cost);
        ebb__mirror_tell(m, r);
        for (uint32_t i = 0; i < r->n_in; i++) {
            const ebb__value *v = r->in[i];
            if (!v || v->tiny || ebb__is_elsewhere(m, v)) continue;
            uint32_t number = ((const ebb__big *)v)->number;
            if (number != EBB__LEDGER_NONE) ebb__ledger_touch(m->ledger, number);
        }
    }
    atomic_fetch_add_explicit(&m->clock, (uint64_t)cost, memory_order_relaxed);
}

void ebb__mirror_wake(ebb__memory *m)
{
    if (m->ledger || !m->own_ledger) return;
    m->ledger = m->own_ledger;
    recipes_tell(m);
    for (ebb__big *b = m->all; b; b = b->next)
        if (!atomic_load_explicit(&b->value.uses, memory_order_relaxed))
            ebb__mirror_unused(m, b);
    ebb__mirror_clock(m);
}

void ebb__mirror_sleep(ebb__memory *m)
{
    for (ebb__big *b = m->all; b; b = b->next) {
        b->number = EBB__LEDGER_NONE;
        b->counted = false;
    }
    ebb__ledger_clear(m->ledger);
    m->ledger = NULL;
}

static bool any_dropped(const ebb__memory *m)
{
    for (const ebb__big *b = m->all; b; b = b->next)
        if (b->value.state == EBB__VALUE_DROPPED &&
            atomic_load_explicit(&b->value.uses, memory_order_relaxed))
            return true;
    return false;
}

void ebb__mirror_doze(ebb__memory *m)
{
    /* Awake it needs no room for recipes of what can not be had: there may be too little. */
    if (m->ledger && ebb__mirror_holds(m, 0, 0, 0) && !any_dropped(m)) ebb__mirror_sleep(m);
}

void ebb__mirror_rest(ebb__memory *m)
{
    bool none_went = m->n_evictions == m->n_evictions_before;
    m->n_evictions_before = m->n_evictions;
    if (none_went) ebb__mirror_doze(m);
}

const char *ebb__mirror_sleep_check(const ebb__memory *m)
{
    size_t n_known = 0, n_recipes = 0, n_links = 0;
    for (const ebb__big *b = m->all; b; b = b->next) {
        const ebb__record *r = recipe_of_first(b);
        n_known += b->known;
        bool is_read = !b->value.moved && b->value.readers;
        if ((is_read || b->value.recipe) && !b->known)
            return "the ledger was not told of a value";
        if (!m->ledger && (b->number != EBB__LEDGER_NONE || b->counted))
            return "a ledger that sleeps knows a value";
        if (!r) continue;
        n_recipes++;
        n_links += ebb__ledger_links((uint32_t)r->n_in + r->n_out);
    }
    if (n_known != m->n_known) return "values are miscounted for the ledger";
    if (n_recipes > m->n_recipes || n_links > m->n_links)
        return "recipes are miscounted for the ledger";
    if (!m->ledger && any_dropped(m)) return "the ledger sleeps although a value was given up";
    if (!m->ledger && !ebb__ledger_holds(m->own_ledger, 0, n_recipes, n_links))
        return "a ledger that sleeps has no room to wake";
    return NULL;
}
