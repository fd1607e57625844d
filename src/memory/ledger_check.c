/* ledger_check.c - compares everything the ledger keeps up to date with what it is worth
 * from scratch; for tests and audits. SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

static bool is_alive(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].state != VAL_FREE;
}

/* Input slots, naming val, of recs of needed vals that are away, each val of a rec apart. */
static uint32_t uses_by_vals(const ebb__ledger *l, uint32_t val)
{
    uint32_t n = 0;
    for (uint32_t k = l->vals[val].readers; k != NONE; k = l->links[k].next) {
        const ledger_rec *r = &l->recs[l->links[k].rec];
        for (uint32_t o = 0; o < r->n_out; o++) {
            uint32_t out = l->links[r->first + r->n_in + o].val;
            n += out != NONE && is_away(&l->vals[out]) && l->vals[out].uses;
        }
    }
    return n;
}

static const char *check_val(ebb__ledger *l, uint32_t id)
{
    const ledger_val *v = &l->vals[id];
    if (v->uses < uses_by_vals(l, id)) return "a val lacks a use by one made from it";
    if (v->state == VAL_RESIDENT && !v->uses) return "a resident val has no use";
    if (is_away(v) && v->rec == NONE) return "a source without bytes is alive";
    if (is_away(v) && !v->uses && v->readers == NONE) return "a val that nobody needs is alive";
    for (uint32_t k = v->readers; k != NONE; k = l->links[k].next)
        if (l->links[k].val != id) return "a list of readers holds another's";
    if (!l->awake || v->rec == NONE) return NULL;
    if ((v->slot != NONE) != (v->state == VAL_RESIDENT)) return "the candidates are not those";
    if (v->uses && v->soonest != ebb__ledger_soonest_from_scratch(l, id))
        return "a soonest next use is out of date";
    if (v->slot == NONE) return NULL;
    if (l->slot_val[v->slot] != id) return "a candidate has another's slot";
    if (!v->stale && l->slot_gain[v->slot] != ebb__ledger_gain_from_scratch(l, id))
        return "a candidate's gain is out of date";
    double by_stale = -1 - v->last, coord = l->slot_coord[v->slot];
    bool is_stale = l->policy.horizon == EBB__HORIZON_STALE || v->soonest == EBB__NEXT_UNKNOWN;
    return coord == (is_stale ? by_stale : v->soonest) ? NULL : "a candidate's place is wrong";
}

const char *ebb__ledger_check(ebb__ledger *l)
{
    uint64_t resident = 0, droppable = 0, free = 0, free_kept = 0;
    uint32_t n = 0;
    for (uint32_t id = 0; id < l->vals_end; id++) {
        if (!is_alive(l, id)) continue;
        const ledger_val *v = &l->vals[id];
        if (v->state == VAL_RESIDENT) resident += v->bytes;
        if (is_droppable(v)) droppable += v->bytes;
        if (is_droppable(v) && !v->locks) free += v->bytes;
        if (v->owner && *v->owner != id) return "an owner has another's number";
        n += v->slot != NONE;
        const char *fault = check_val(l, id);
        if (fault) return fault;
    }
    if (resident != l->resident_bytes) return "the resident bytes are not the sum";
    if (droppable != l->droppable_bytes) return "the droppable bytes are not the sum";
    for (int i = 0; i < EBB__LEDGER_GROUPS; i++) free_kept += l->free_bytes[i];
    if (free != free_kept) return "the bytes that could be dropped are not the sum";
    if (l->awake && n != l->n_candidates) return "the number of candidates is wrong";
    return NULL;
}
