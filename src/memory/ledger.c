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

/* ---- room -------------------------------------------------------------------------------- */
/* The allocator may change what the table holds, not how much room it has. */
static bool table_grow(ebb__ledger *l, void **table, size_t old_n, size_t n, size_t item)
{
    void *p = ebb__alloc(&l->allocator, n * item, 64);
    if (!p) return false;
    if (old_n) memcpy(p, *table, old_n * item);
    ebb__free(&l->allocator, *table, old_n * item);
    l->bytes += (n - old_n) * item;
    *table = p;
    return true;
}

static ebb_status no_memory(size_t n)
{
    return ebb__fail(EBB_E_NOMEM, "no memory for a ledger of %zu entries", n);
}

static size_t grown(size_t max, size_t need)
{
    size_t n = max ? max : 16;
    while (n < need) n += n / 2;
    return n;
}

/* The candidates' tables have room for every val; they are grown first, so that a failure
 * leaves all of them large enough for vals_max. */
static ebb_status vals_room(ebb__ledger *l, size_t need)
{
    if (need <= l->vals_max) return EBB_OK;
    size_t old = l->vals_max, n = grown(old, need);
    if (n >= NONE) return no_memory(n);
    void **tables[] = {(void **)&l->slot_val, (void **)&l->slot_gain, (void **)&l->slot_coord,
                       (void **)&l->stale, (void **)&l->vals};
    size_t items[] = {sizeof *l->slot_val, sizeof *l->slot_gain, sizeof *l->slot_coord,
                      sizeof *l->stale, sizeof *l->vals};
    enum { TABLES = 5 };
    void *made[TABLES];
    for (int i = 0; i < TABLES; i++) {
        made[i] = ebb__alloc(&l->allocator, n * items[i], 64);
        if (made[i]) continue;
        while (i-- > 0) ebb__free(&l->allocator, made[i], n * items[i]);
        return no_memory(n);
    }
    for (int i = 0; i < TABLES; i++) {
        if (old) memcpy(made[i], *tables[i], old * items[i]);
        ebb__free(&l->allocator, *tables[i], old * items[i]);
        *tables[i] = made[i];
        l->bytes += (n - old) * items[i];
    }
    l->vals_max = (uint32_t)n;
    return EBB_OK;
}

ebb_status ebb__ledger_reserve(ebb__ledger *l, size_t vals, size_t recs, size_t links)
{
    EBB_TRY(vals_room(l, l->vals_end + vals));
    if (l->recs_end + recs > l->recs_max) {
        size_t n = grown(l->recs_max, l->recs_end + recs);
        if (n >= NONE || !table_grow(l, (void **)&l->recs, l->recs_max, n, sizeof *l->recs))
            return no_memory(n);
        l->recs_max = (uint32_t)n;
    }
    if (l->links_end + links > l->links_max) {
        size_t n = grown(l->links_max, l->links_end + links);
        if (n >= NONE || !table_grow(l, (void **)&l->links, l->links_max, n, sizeof *l->links))
            return no_memory(n);
        l->links_max = (uint32_t)n;
    }
    return EBB_OK;
}

ebb_status ebb__ledger_create(ebb__ledger **out, const ebb_allocator *allocator)
{
    ebb__ledger *l = ebb__alloc(allocator, sizeof *l, 64);
    if (!l) return no_memory(0);
    memset(l, 0, sizeof *l);
    l->allocator = *allocator;
    l->bytes = sizeof *l;
    l->policy = ebb__policy_next;
    l->free_val = l->free_rec = NONE;
    for (int i = 0; i < 32; i++) l->free_links[i] = NONE;
    *out = l;
    return EBB_OK;
}

void ebb__ledger_destroy(ebb__ledger *l)
{
    if (!l) return;
    const ebb_allocator a = l->allocator;
    ebb__free(&a, l->vals, l->vals_max * sizeof *l->vals);
    ebb__free(&a, l->slot_val, l->vals_max * sizeof *l->slot_val);
    ebb__free(&a, l->slot_gain, l->vals_max * sizeof *l->slot_gain);
    ebb__free(&a, l->slot_coord, l->vals_max * sizeof *l->slot_coord);
    ebb__free(&a, l->stale, l->vals_max * sizeof *l->stale);
    ebb__free(&a, l->recs, l->recs_max * sizeof *l->recs);
    ebb__free(&a, l->links, l->links_max * sizeof *l->links);
    ebb__free(&a, l, sizeof *l);
}

/* ---- numbers ----------------------------------------------------------------------------- */
static uint32_t val_take(ebb__ledger *l, uint64_t bytes)
{
    uint32_t id = l->free_val;
    bool stale = false;
    if (id != NONE) {
        l->free_val = l->vals[id].readers;
        stale = l->vals[id].stale;
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
                               .state = VAL_RESIDENT,
                               .stale = stale};
    l->resident_bytes += bytes;
    return id;
}

static void val_give_back(ebb__ledger *l, uint32_t id)
{
    l->vals[id].state = VAL_FREE;
    l->vals[id].readers = l->free_val;
    l->free_val = id;
}

static uint8_t links_class(uint32_t n)
{
    return n <= 1 ? 0 : (uint8_t)(32 - __builtin_clz(n - 1));
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

static void links_give_back(ebb__ledger *l, ledger_rec *r)
{
    l->links[r->first].next = l->free_links[r->size_class];
    l->free_links[r->size_class] = r->first;
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
        links_give_back(l, r);
        r->first = l->free_rec;
        l->free_rec = rec;
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
    links_give_back(l, r);
    r->first = l->free_rec;
    l->free_rec = rec;
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
            ebb__ledger_stale_above(l, away);
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
    if (v->rec != NONE) l->droppable_bytes -= v->bytes;
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
            if (l->awake) ebb__ledger_stale_below(l, id);
        } else {
            if (l->awake) {
                ebb__ledger_later(l, id);
                ebb__ledger_stale_above(l, id);
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
    if (rec != NONE)
        l->free_rec = l->recs[rec].first;
    else
        rec = l->recs_end++;
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
    uint8_t size_class = links_class(n_in + n_out);
    EBB_TRY(rec_room(l, n_out, size_class));
    uint32_t n_alive = 0;
    for (uint32_t k = 0; k < n_out; k++) {
        out[k] = out_bytes[k] ? val_take(l, out_bytes[k]) : NONE;
        n_alive += out_bytes[k] != 0;
    }
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
    EBB_ASSERT_CALL(l->vals[val].locks < UINT16_MAX);
    if (l->vals[val].locks++ == 0 && l->vals[val].slot != NONE)
        ebb__ledger_candidate_lock(l, val);
}

void ebb__ledger_unlock(ebb__ledger *l, uint32_t val)
{
    EBB_ASSERT_CALL(l->vals[val].locks > 0);
    if (--l->vals[val].locks == 0 && l->vals[val].slot != NONE)
        ebb__ledger_candidate_lock(l, val);
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

void ebb__ledger_dropped(ebb__ledger *l, uint32_t val)
{
    EBB_ASSERT(ebb__ledger_can_drop(l, val));
    bytes_go(l, val);
    if (l->awake) ebb__ledger_stale_below(l, val);
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
    if (l->awake) {
        ebb__ledger_later(l, val);
        ebb__ledger_candidate_add(l, val);
        ebb__ledger_stale_below(l, val);
        ebb__ledger_stale_above(l, val);
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

bool ebb__ledger_is_resident(const ebb__ledger *l, uint32_t val)
{
    return l->vals[val].state == VAL_RESIDENT;
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
