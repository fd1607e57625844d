/* ledger.c - the program in integers: vals, recs, who needs what.
 *
 * Invariants
 *   uses(v) = the caller's + the input slots, naming v, of recs of needed vals that are away.
 *   A resident val has uses. A source that is away is dead. A rec reads no dead val.
 *   Links of a rec lie side by side: inputs (in the readers list of their val, unless NONE),
 *   then outputs (NONE once dead).
 * Cascades use a list linked through ledger_val.work: nothing recurses or allocates.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

#include <string.h>

/* ---- numbers ----------------------------------------------------------------------------- */
static uint32_t val_take(ebb__ledger *l, uint64_t bytes)
{
    uint32_t id = l->free_val;
    if (id != NONE) {
        l->free_val = l->vals[id].readers;
        l->n_free_vals--;
    } else {
        id = l->vals_end++;
    }
    l->vals[id] = (ledger_val){.bytes = bytes,
                               .last = l->now,
                               .next = EBB__NEXT_UNKNOWN,
                               .soonest = EBB__NEXT_UNKNOWN,
                               .weight = 1,
                               .uses = 1,
                               .rec = NONE,
                               .readers = NONE,
                               .slot = NONE,
                               .state = VAL_RESIDENT};
    l->resident_bytes += bytes;
    return id;
}

static void val_give_back(ebb__ledger *l, uint32_t id)
{
    if (l->vals[id].owner) *l->vals[id].owner = NONE;
    l->vals[id].state = VAL_FREE;
    l->vals[id].readers = l->free_val;
    l->free_val = id;
    l->n_free_vals++;
}

/* A val comes to be droppable and unlocked, or to be so no longer. */
static inline void free_add(ebb__ledger *l, const ledger_val *v)
{
    if (!v->locks) l->free_bytes[v->group] += v->bytes;
}
static inline void free_sub(ebb__ledger *l, const ledger_val *v)
{
    if (!v->locks) l->free_bytes[v->group] -= v->bytes;
}

static uint32_t links_take(ebb__ledger *l, uint8_t size_class)
{
    uint32_t first = l->free_links[size_class];
    if (first != NONE) {
        l->free_links[size_class] = l->links[first].next;
        return first;
    }
    first = l->links_end;
    l->links_end += UINT32_C(1) << size_class;
    return first;
}

static void rec_give_back(ebb__ledger *l, uint32_t rec)
{
    ledger_rec *r = &l->recs[rec];
    l->links[r->first].next = l->free_links[r->size_class];
    l->free_links[r->size_class] = r->first;
    r->first = l->free_rec;
    l->free_rec = rec;
    l->n_free_recs++;
    l->n_links -= UINT32_C(1) << r->size_class;
}

static void reader_link(ebb__ledger *l, uint32_t at)
{
    ledger_link *k = &l->links[at];
    ledger_val *v = &l->vals[k->val];
    k->prev = NONE;
    k->next = v->readers;
    if (v->readers != NONE) l->links[v->readers].prev = at;
    v->readers = at;
}

static void reader_unlink(ebb__ledger *l, uint32_t at)
{
    ledger_link *k = &l->links[at];
    if (k->next != NONE) l->links[k->next].prev = k->prev;
    if (k->prev != NONE)
        l->links[k->prev].next = k->next;
    else
        l->vals[k->val].readers = k->next;
}

/* ---- death ------------------------------------------------------------------------------- */
/* Nothing knows the val any more. (A source that is away is in source_gone's list, a queued
 * val in that of unneeded; these will end it.) */
static bool is_forgotten(const ledger_val *v)
{
    return is_away(v) && !v->uses && v->readers == NONE && v->rec != NONE && !v->queued;
}

/* Forgotten vals, in a list through work. */
static void die(ebb__ledger *l, uint32_t list)
{
    while (list != NONE) {
        uint32_t id = list, rec = l->vals[id].rec;
        list = l->vals[id].work;
        val_give_back(l, id);
        if (rec == NONE) continue;
        ledger_rec *r = &l->recs[rec];
        for (uint32_t k = 0; k < r->n_out; k++)
            if (l->links[r->first + r->n_in + k].val == id)
                l->links[r->first + r->n_in + k].val = NONE;
        if (--r->n_alive) continue;
        for (uint32_t i = 0; i < r->n_in; i++) {
            uint32_t in = l->links[r->first + i].val;
            if (in == NONE) continue;
            reader_unlink(l, r->first + i);
            ledger_val *v = &l->vals[in];
            if (!is_forgotten(v)) continue;
            v->work = list;
            list = in;
        }
        rec_give_back(l, rec);
    }
}

static void die_if_unread(ebb__ledger *l, uint32_t id)
{
    if (l->vals[id].readers != NONE) return;
    l->vals[id].work = NONE;
    die(l, id);
}

/* The val has lost its recipe; it is resident. */
static void become_source(ebb__ledger *l, uint32_t id)
{
    ledger_val *v = &l->vals[id];
    if (v->slot != NONE) ebb__ledger_candidate_remove(l, id);
    v->rec = NONE;
    l->droppable_bytes -= v->bytes;
    free_sub(l, v);
}

/* An output, away and not needed, of a rec that is broken: nothing can bring it back. Its
 * readers are broken in turn, by way of `list`. */
static void rec_break(ebb__ledger *l, uint32_t rec, uint32_t *list)
{
    ledger_rec *r = &l->recs[rec];
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in != NONE) reader_unlink(l, r->first + i);
    }
    for (uint32_t k = 0; k < r->n_out; k++) {
        uint32_t out = l->links[r->first + r->n_in + k].val;
        if (out == NONE) continue;
        ledger_val *v = &l->vals[out];
        if (v->state == VAL_RESIDENT) {
            become_source(l, out);
            continue;
        }
        EBB_ASSERT(!v->uses);
        v->rec = NONE;
        v->work = *list;
        *list = out;
    }
}

/* After rec_break: its inputs may be unread now; itself goes. */
static void rec_bury(ebb__ledger *l, uint32_t rec)
{
    ledger_rec *r = &l->recs[rec];
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in == NONE) continue;
        ledger_val *v = &l->vals[in];
        if (!is_forgotten(v)) continue;
        v->work = NONE;
        die(l, in);
    }
    rec_give_back(l, rec);
}

/* A source's bytes are gone for ever: recs that read it break, and so on. */
static void source_gone(ebb__ledger *l, uint32_t id)
{
    l->vals[id].work = NONE;
    for (uint32_t list = id; list != NONE;) {
        uint32_t gone = list;
        list = l->vals[gone].work;
        while (l->vals[gone].readers != NONE) {
            uint32_t rec = l->links[l->vals[gone].readers].rec;
            rec_break(l, rec, &list);
            rec_bury(l, rec);
        }
        val_give_back(l, gone);
    }
}

/* ---- needs ------------------------------------------------------------------------------- */
/* The val, away, has come to be needed: so have its inputs. */
static void inputs_use(ebb__ledger *l, uint32_t id)
{
    l->vals[id].work = NONE;
    for (uint32_t list = id; list != NONE;) {
        uint32_t away = list;
        list = l->vals[away].work;
        const ledger_rec *r = &l->recs[l->vals[away].rec];
        for (uint32_t i = 0; i < r->n_in; i++) {
            uint32_t in = l->links[r->first + i].val;
            if (in == NONE || l->vals[in].uses++) continue;
            EBB_ASSERT(is_away(&l->vals[in]) && l->vals[in].rec != NONE);
            if (l->awake) ebb__ledger_soonest(l, in); /* by resident or newly needed readers */
            l->vals[in].work = list;
            list = in;
        }
        if (l->awake) {
            ebb__ledger_sooner(l, away);
            ebb__ledger_stale_above(l, away, 0);
        }
    }
}

/* The bytes of a resident val go. */
static void bytes_go(ebb__ledger *l, uint32_t id)
{
    ledger_val *v = &l->vals[id];
    if (v->slot != NONE) ebb__ledger_candidate_remove(l, id);
    v->state = VAL_AWAY;
    l->resident_bytes -= v->bytes;
    if (v->rec == NONE) return;
    l->droppable_bytes -= v->bytes;
    free_sub(l, v);
}

/* What the val, away or just back, held of its inputs is given back. */
static void inputs_unuse(ebb__ledger *l, uint32_t id, uint32_t *list)
{
    const ledger_rec *r = &l->recs[l->vals[id].rec];
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in == NONE) continue;
        EBB_ASSERT(l->vals[in].uses > 0);
        if (--l->vals[in].uses) continue;
        l->vals[in].queued = true;
        l->vals[in].work = *list;
        *list = in;
    }
}

/* Vals whose uses have reached 0, in a list through work. */
static void unneeded(ebb__ledger *l, uint32_t list)
{
    while (list != NONE) {
        uint32_t id = list;
        ledger_val *v = &l->vals[id];
        list = v->work;
        v->queued = false;
        if (v->state == VAL_RESIDENT) {
            bytes_go(l, id);
            if (v->rec == NONE) {
                source_gone(l, id);
                continue;
            }
            if (l->awake) ebb__ledger_stale_below(l, id, 0);
        } else {
            if (l->awake) {
                ebb__ledger_later(l, id);
                ebb__ledger_stale_above(l, id, DBL_MAX);
            }
            inputs_unuse(l, id, &list);
        }
        die_if_unread(l, id);
    }
}

/* ---- adds -------------------------------------------------------------------------------- */
ebb_status ebb__ledger_source_add(uint32_t *out, ebb__ledger *l, uint64_t bytes)
{
    if (l->free_val == NONE && l->vals_end == l->vals_max)
        EBB_TRY(ebb__ledger_reserve(l, 1, 0, 0));
    *out = val_take(l, bytes);
    return EBB_OK;
}

static ebb_status rec_room(ebb__ledger *l, uint32_t n_out, uint8_t size_class)
{
    size_t links = l->free_links[size_class] == NONE ? (size_t)1 << size_class : 0;
    if (l->vals_end + (size_t)n_out <= l->vals_max && l->recs_end < l->recs_max &&
        l->links_end + links <= l->links_max)
        return EBB_OK;
    return ebb__ledger_reserve(l, n_out, 1, links);
}

static bool inputs_can_be_had(const ebb__ledger *l, uint32_t n_in, const uint32_t *in)
{
    for (uint32_t i = 0; i < n_in; i++)
        if (in[i] != NONE && is_away(&l->vals[in[i]]) && l->vals[in[i]].rec == NONE)
            return false;
    return true;
}

static uint32_t rec_take(ebb__ledger *l, double cost, uint32_t n_in, uint32_t n_out,
                         uint8_t size_class)
{
    uint32_t rec = l->free_rec;
    bool is_again = rec != NONE;
    if (rec != NONE)
        l->free_rec = l->recs[rec].first;
    else
        rec = l->recs_end++;
    l->n_free_recs -= is_again;
    l->n_links += UINT32_C(1) << size_class;
    l->recs[rec] = (ledger_rec){.cost = cost,
                                .first = links_take(l, size_class),
                                .n_in = n_in,
                                .n_out = n_out,
                                .size_class = size_class};
    return rec;
}

ebb_status ebb__ledger_rec_add(uint32_t *out, ebb__ledger *l, double cost, uint32_t n_in,
                               const uint32_t *in, uint32_t n_out, const uint64_t *out_bytes)
{
    bool is_recipe = inputs_can_be_had(l, n_in, in);
    uint8_t size_class = ebb__ledger_links_class(n_in + n_out);
    uint32_t n_alive = 0;
    for (uint32_t k = 0; k < n_out; k++) n_alive += out_bytes[k] != 0;
    EBB_TRY(rec_room(l, n_alive, size_class));
    for (uint32_t k = 0; k < n_out; k++)
        out[k] = out_bytes[k] ? val_take(l, out_bytes[k]) : NONE;
    if (!is_recipe || !n_alive) return EBB_OK;
    uint32_t rec = rec_take(l, cost, n_in, n_out, size_class);
    ledger_rec *r = &l->recs[rec];
    r->n_alive = n_alive;
    for (uint32_t i = 0; i < n_in; i++) {
        l->links[r->first + i] = (ledger_link){.val = in[i], .rec = rec};
        if (in[i] != NONE) reader_link(l, r->first + i);
    }
    for (uint32_t k = 0; k < n_out; k++) {
        l->links[r->first + n_in + k] = (ledger_link){.val = out[k], .rec = rec};
        if (out[k] == NONE) continue;
        l->vals[out[k]].rec = rec;
        l->droppable_bytes += out_bytes[k];
        free_add(l, &l->vals[out[k]]);
        if (l->awake) ebb__ledger_candidate_add(l, out[k]);
    }
    return EBB_OK;
}

/* ---- events ------------------------------------------------------------------------------ */
void ebb__ledger_use(ebb__ledger *l, uint32_t val)
{
    EBB_ASSERT_CALL(l->vals[val].uses > 0);
    l->vals[val].uses++;
}

void ebb__ledger_unuse(ebb__ledger *l, uint32_t val)
{
    EBB_ASSERT_CALL(l->vals[val].uses > 0);
    if (--l->vals[val].uses) return;
    l->vals[val].work = NONE;
    unneeded(l, val);
}

void ebb__ledger_lock(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    EBB_ASSERT_CALL(v->locks < UINT16_MAX);
    if (v->locks == 0 && is_droppable(v)) free_sub(l, v);
    if (v->locks++ == 0 && v->slot != NONE) ebb__ledger_candidate_lock(l, val);
}

void ebb__ledger_unlock(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    EBB_ASSERT_CALL(v->locks > 0);
    if (--v->locks) return;
    if (is_droppable(v)) free_add(l, v);
    if (v->slot != NONE) ebb__ledger_candidate_lock(l, val);
}

void ebb__ledger_touch(ebb__ledger *l, uint32_t val)
{
    l->vals[val].last = l->now;
    if (l->vals[val].slot != NONE) ebb__ledger_candidate_coord(l, val);
}

void ebb__ledger_set_next(ebb__ledger *l, uint32_t val, double at)
{
    l->vals[val].next = at;
    if (l->awake) ebb__ledger_soonest(l, val);
}

void ebb__ledger_set_source(ebb__ledger *l, uint32_t val)
{
    uint32_t rec = l->vals[val].rec;
    if (rec == NONE) return;
    EBB_ASSERT(l->vals[val].state == VAL_RESIDENT);
    ledger_rec *r = &l->recs[rec];
    become_source(l, val);
    for (uint32_t k = 0; k < r->n_out; k++)
        if (l->links[r->first + r->n_in + k].val == val)
            l->links[r->first + r->n_in + k].val = NONE;
    if (--r->n_alive) return;
    uint32_t list = NONE;
    rec_break(l, rec, &list);
    rec_bury(l, rec);
}

void ebb__ledger_lost(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    uint32_t rec = v->rec, list = NONE;
    EBB_ASSERT(is_away(v) && !v->uses && rec != NONE);
    ledger_rec *r = &l->recs[rec];
    for (uint32_t k = 0; k < r->n_out; k++)
        if (l->links[r->first + r->n_in + k].val == val)
            l->links[r->first + r->n_in + k].val = NONE;
    v->rec = NONE;
    if (--r->n_alive == 0) {
        rec_break(l, rec, &list);
        rec_bury(l, rec);
    }
    source_gone(l, val);
}

void ebb__ledger_dropped(ebb__ledger *l, uint32_t val)
{
    EBB_ASSERT(ebb__ledger_can_drop(l, val));
    bytes_go(l, val);
    if (l->awake) ebb__ledger_stale_below(l, val, 0);
    inputs_use(l, val);
}

void ebb__ledger_restored(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    EBB_ASSERT(v->state == VAL_AWAY && v->uses > 0);
    v->state = VAL_RESIDENT;
    v->last = l->now;
    l->resident_bytes += v->bytes;
    l->droppable_bytes += v->bytes;
    free_add(l, v);
    if (l->awake) {
        ebb__ledger_later(l, val);
        ebb__ledger_candidate_add(l, val);
        ebb__ledger_stale_below(l, val, l->recs[v->rec].cost);
        ebb__ledger_stale_above(l, val, DBL_MAX);
    }
    uint32_t list = NONE;
    inputs_unuse(l, val, &list);
    unneeded(l, list);
}

/* ---- questions --------------------------------------------------------------------------- */
size_t ebb__ledger_bytes(const ebb__ledger *l)
{
    return l->bytes;
}

uint64_t ebb__ledger_resident_bytes(const ebb__ledger *l)
{
    return l->resident_bytes;
}

uint64_t ebb__ledger_droppable_bytes(const ebb__ledger *l)
{
    return l->droppable_bytes;
}

uint64_t ebb__ledger_free_bytes(const ebb__ledger *l, uint8_t group)
{
    return l->free_bytes[group];
}

void ebb__ledger_set_group(ebb__ledger *l, uint32_t val, uint8_t group)
{
    ledger_val *v = &l->vals[val];
    EBB_ASSERT(group < EBB__LEDGER_GROUPS);
    if (is_droppable(v)) free_sub(l, v);
    v->group = group;
    if (is_droppable(v)) free_add(l, v);
    if (v->slot != NONE) ebb__ledger_candidate_lock(l, val);
}

void ebb__ledger_set_owner(ebb__ledger *l, uint32_t val, uint32_t *owner)
{
    l->vals[val].owner = owner;
    *owner = val;
}

uint32_t *ebb__ledger_owner(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].owner;
}

double ebb__ledger_own_next(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].next;
}

bool ebb__ledger_is_resident(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].state == VAL_RESIDENT;
}

bool ebb__ledger_is_source(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].rec == NONE;
}

bool ebb__ledger_is_needed(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].uses > 0;
}

bool ebb__ledger_can_drop(const ebb__ledger *l, uint32_t val)
{
    return is_droppable(&l->vals[val]) && !l->vals[val].locks;
}

uint64_t ebb__ledger_val_bytes(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].bytes;
}

void ebb__ledger_clock(ebb__ledger *l, double now, double at)
{
    l->now = now;
    l->at = at;
}
