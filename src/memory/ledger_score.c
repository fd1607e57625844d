/* ledger_score.c - what a choice of victim needs: candidates, what each costs to bring back,
 * how long its bytes are not needed.
 *
 * Candidates are the resident vals with a recipe, in parallel arrays by slot, so that a
 * choice is one scan. A candidate's gain = weight * bytes^p / back^q changes when a val
 * around it comes, goes, or is needed; those it concerns are put on the stale list by a walk
 * over vals that are away, and are made anew before the next scan. Until then no walk need pass
 * where one has: what it would find is stale. Walks see the nearest
 * WALK_MAX vals: what is further off keeps a sum in which that change counts for little.
 *
 * soonest(v) = min(own next use, soonest of needed vals away that v's readers make).
 * Lowering passes upwards at once; raising makes it anew from the readers.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

enum {
    BACK_MAX = 64, /* recipes that a sum looks at */
    WALK_MAX = 256
};
/* Time, at which horizons without end count: far beyond any other. */
static const double HORIZON_MAX = 1e30;

const ebb__policy ebb__policy_next = {EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 1, 1};
const ebb__policy ebb__policy_h_dtr = {EBB__BACK_AROUND, EBB__HORIZON_STALE, 1, 1, 1};
const ebb__policy ebb__policy_h_local = {EBB__BACK_OWN, EBB__HORIZON_STALE, 1, 1, 1};
const ebb__policy ebb__policy_lru = {EBB__BACK_ONE, EBB__HORIZON_STALE, 0, 0, 1};
const ebb__policy ebb__policy_msps = {EBB__BACK_ABOVE, EBB__HORIZON_ONE, 1, 1, 0};

uint32_t ebb__ledger_stamp(ebb__ledger *l)
{
    if (++l->stamp == 0) {
        for (uint32_t i = 0; i < l->vals_end; i++) l->vals[i].mark = 0;
        for (uint32_t i = 0; i < l->recs_end; i++) l->recs[i].mark = 0;
        l->stamp = 1;
    }
    return l->stamp;
}

/* ---- sums -------------------------------------------------------------------------------- */
typedef struct walk {
    ebb__ledger *l;
    double cost;
    uint32_t stamp, n_recs, n;
    uint32_t stack[WALK_MAX];
} walk;

static void walk_begin(walk *w, ebb__ledger *l)
{
    w->l = l;
    w->cost = 0;
    w->stamp = ebb__ledger_stamp(l);
    w->n_recs = w->n = 0;
}

static void walk_push(walk *w, uint32_t id)
{
    ledger_val *v = &w->l->vals[id];
    if (v->mark == w->stamp || w->n == WALK_MAX) return;
    v->mark = w->stamp;
    w->stack[w->n++] = id;
}

static void walk_rec(walk *w, uint32_t rec)
{
    ledger_rec *r = &w->l->recs[rec];
    if (r->mark == w->stamp) return;
    r->mark = w->stamp;
    w->cost += r->cost;
    w->n_recs++;
}

static void push_inputs(walk *w, uint32_t rec)
{
    const ledger_rec *r = &w->l->recs[rec];
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = w->l->links[r->first + i].val;
        if (in != NONE && is_away(&w->l->vals[in])) walk_push(w, in);
    }
}

static void push_made_from(walk *w, uint32_t id)
{
    const ebb__ledger *l = w->l;
    for (uint32_t k = l->vals[id].readers; k != NONE; k = l->links[k].next) {
        const ledger_rec *r = &l->recs[l->links[k].rec];
        for (uint32_t o = 0; o < r->n_out; o++) {
            uint32_t out = l->links[r->first + r->n_in + o].val;
            if (out != NONE && is_away(&l->vals[out]) && l->vals[out].uses) walk_push(w, out);
        }
    }
}

/* Cost of the val's recipe and of distinct recipes above it that are away. */
static double cost_above(walk *w, uint32_t id)
{
    walk_rec(w, w->l->vals[id].rec);
    push_inputs(w, w->l->vals[id].rec);
    while (w->n && w->n_recs < BACK_MAX) {
        uint32_t rec = w->l->vals[w->stack[--w->n]].rec;
        walk_rec(w, rec);
        push_inputs(w, rec);
    }
    w->n = 0;
    return w->cost;
}

static double cost_around(walk *w, uint32_t id)
{
    cost_above(w, id);
    w->n_recs = 0;
    push_made_from(w, id);
    while (w->n && w->n_recs < BACK_MAX) {
        uint32_t away = w->stack[--w->n];
        walk_rec(w, w->l->vals[away].rec);
        push_made_from(w, away);
    }
    return w->cost;
}

double ebb__ledger_back(ebb__ledger *l, uint32_t val)
{
    if (l->vals[val].rec == NONE) return 0;
    walk w;
    walk_begin(&w, l);
    return cost_above(&w, val);
}

static bool is_by_staleness(const ebb__ledger *l, const ledger_val *v)
{
    return l->policy.horizon == EBB__HORIZON_STALE || v->soonest == EBB__NEXT_UNKNOWN;
}

/* Does a candidate's sum count what is made from it. */
static bool is_around(const ebb__ledger *l, const ledger_val *v)
{
    return l->policy.back == EBB__BACK_AROUND ||
           (l->policy.horizon == EBB__HORIZON_KNOWN && v->soonest == EBB__NEXT_UNKNOWN);
}

/* x^power for the powers a policy may have. */
static double power(double x, float p)
{
    if (p == 1) return x;
    if (p == 0) return 1;
    if (p == 0.5f) return sqrt(x);
    if (p == 2) return x * x;
    return p == 0.25f ? sqrt(sqrt(x)) : pow(x, (double)p);
}

float ebb__ledger_gain_from_scratch(ebb__ledger *l, uint32_t val)
{
    const ledger_val *v = &l->vals[val];
    double back = 1;
    if (l->policy.back == EBB__BACK_OWN) {
        back = l->recs[v->rec].cost;
    } else if (l->policy.back != EBB__BACK_ONE) {
        walk w;
        walk_begin(&w, l);
        back = is_around(l, v) ? cost_around(&w, val) : cost_above(&w, val);
    }
    double gain = (double)v->weight * power((double)v->bytes, l->policy.bytes_power) /
                  power(back + 1e-12, l->policy.cost_power);
    float g = (float)fmin(fmax(gain, 1e-35), 1e35);
    return v->locks ? -g : g;
}

/* ---- candidates -------------------------------------------------------------------------- */
static void stale_add(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    if (v->stale) return;
    v->stale = true;
    l->stale[l->n_stale++] = val;
}

void ebb__ledger_candidate_coord(ebb__ledger *l, uint32_t val)
{
    const ledger_val *v = &l->vals[val];
    double old = l->slot_coord[v->slot];
    double coord = is_by_staleness(l, v) ? -1 - v->last : v->soonest;
    l->slot_coord[v->slot] = coord;
    if ((old < 0) != (coord < 0)) stale_add(l, val); /* another sum counts */
}

void ebb__ledger_candidate_lock(ebb__ledger *l, uint32_t val)
{
    const ledger_val *v = &l->vals[val];
    float g = fabsf(l->slot_gain[v->slot]);
    l->slot_gain[v->slot] = v->locks ? -g : g;
}

void ebb__ledger_candidate_add(ebb__ledger *l, uint32_t val)
{
    uint32_t slot = l->n_candidates++;
    l->vals[val].slot = slot;
    l->slot_val[slot] = val;
    l->slot_gain[slot] = l->vals[val].locks ? -1.0F : 1.0F;
    l->slot_coord[slot] = 0;
    ebb__ledger_candidate_coord(l, val);
    stale_add(l, val);
}

void ebb__ledger_candidate_remove(ebb__ledger *l, uint32_t val)
{
    uint32_t slot = l->vals[val].slot, last = --l->n_candidates;
    l->slot_val[slot] = l->slot_val[last];
    l->slot_gain[slot] = l->slot_gain[last];
    l->slot_coord[slot] = l->slot_coord[last];
    l->vals[l->slot_val[slot]].slot = slot;
    l->vals[val].slot = NONE;
}

static void stale_settle(ebb__ledger *l)
{
    for (uint32_t i = 0; i < l->n_stale; i++) {
        uint32_t val = l->stale[i];
        ledger_val *v = &l->vals[val];
        v->stale = false;
        if (v->state == VAL_RESIDENT && v->slot != NONE)
            l->slot_gain[v->slot] = ebb__ledger_gain_from_scratch(l, val);
    }
    l->n_stale = 0;
    l->choice++;
}

/* A walk from a val past others that are away to candidates. */
typedef struct reach {
    ebb__ledger *l;
    uint32_t n;
    uint32_t list[WALK_MAX];
} reach;
enum { DOWN, UP };

static void reach_pass(reach *w, uint32_t id, int way)
{
    ledger_val *v = &w->l->vals[id];
    if (v->passed[way] == w->l->choice || w->n == WALK_MAX) return;
    v->passed[way] = w->l->choice;
    w->list[w->n++] = id;
}

static void stale_outputs(reach *w, uint32_t val)
{
    ebb__ledger *l = w->l;
    for (uint32_t k = l->vals[val].readers; k != NONE; k = l->links[k].next) {
        const ledger_rec *r = &l->recs[l->links[k].rec];
        for (uint32_t o = 0; o < r->n_out; o++) {
            uint32_t out = l->links[r->first + r->n_in + o].val;
            if (out == NONE) continue;
            if (l->vals[out].slot != NONE)
                stale_add(l, out);
            else if (is_away(&l->vals[out]))
                reach_pass(w, out, DOWN);
        }
    }
}

static void stale_inputs(reach *w, uint32_t val)
{
    ebb__ledger *l = w->l;
    if (l->vals[val].rec == NONE) return;
    const ledger_rec *r = &l->recs[l->vals[val].rec];
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in == NONE) continue;
        if (l->vals[in].slot == NONE) {
            if (is_away(&l->vals[in])) reach_pass(w, in, UP);
        } else if (is_around(l, &l->vals[in])) {
            stale_add(l, in);
        }
    }
}

void ebb__ledger_stale_below(ebb__ledger *l, uint32_t val)
{
    if (l->policy.back == EBB__BACK_ONE || l->policy.back == EBB__BACK_OWN) return;
    reach w;
    w.l = l;
    w.n = 0;
    stale_outputs(&w, val);
    for (uint32_t i = 0; i < w.n; i++) stale_outputs(&w, w.list[i]);
}

void ebb__ledger_stale_above(ebb__ledger *l, uint32_t val)
{
    bool counts =
        l->policy.back == EBB__BACK_AROUND ||
        (l->policy.back == EBB__BACK_ABOVE && l->policy.horizon == EBB__HORIZON_KNOWN);
    if (!counts) return;
    reach w;
    w.l = l;
    w.n = 0;
    stale_inputs(&w, val);
    for (uint32_t i = 0; i < w.n; i++) stale_inputs(&w, w.list[i]);
}

/* ---- soonest next uses ------------------------------------------------------------------- */
double ebb__ledger_soonest_from_scratch(const ebb__ledger *l, uint32_t val)
{
    double at = l->vals[val].next;
    for (uint32_t k = l->vals[val].readers; k != NONE; k = l->links[k].next) {
        const ledger_rec *r = &l->recs[l->links[k].rec];
        for (uint32_t o = 0; o < r->n_out; o++) {
            uint32_t out = l->links[r->first + r->n_in + o].val;
            if (out == NONE || !is_away(&l->vals[out]) || !l->vals[out].uses) continue;
            at = fmin(at, l->vals[out].soonest);
        }
    }
    return at;
}

static bool is_passed_on(const ledger_val *v)
{
    return is_away(v) && v->uses && v->rec != NONE;
}

static void soonest_set(ebb__ledger *l, uint32_t val, double at, uint32_t *list)
{
    ledger_val *v = &l->vals[val];
    v->soonest = at;
    if (v->slot != NONE) ebb__ledger_candidate_coord(l, val);
    if (!is_passed_on(v) || v->chained) return;
    v->chained = true;
    v->chain = *list;
    *list = val;
}

static uint32_t chain_pop(ebb__ledger *l, uint32_t *list)
{
    uint32_t id = *list;
    *list = l->vals[id].chain;
    l->vals[id].chained = false;
    return id;
}

/* soonest of the listed vals fell: so may that of their inputs. */
static void lower_inputs(ebb__ledger *l, uint32_t list)
{
    while (list != NONE) {
        uint32_t id = chain_pop(l, &list);
        double at = l->vals[id].soonest;
        const ledger_rec *r = &l->recs[l->vals[id].rec];
        for (uint32_t i = 0; i < r->n_in; i++) {
            uint32_t in = l->links[r->first + i].val;
            if (in != NONE && l->vals[in].rec != NONE && at < l->vals[in].soonest)
                soonest_set(l, in, at, &list);
        }
    }
}

/* The val no longer gives `old` to its inputs: where theirs is that, it is made anew, and so
 * on upwards, for it can only have come from there. */
static void raise_inputs(ebb__ledger *l, uint32_t val, double old)
{
    uint32_t list = NONE;
    for (uint32_t id = val;; id = chain_pop(l, &list)) {
        const ledger_rec *r = &l->recs[l->vals[id].rec];
        for (uint32_t i = 0; i < r->n_in; i++) {
            uint32_t in = l->links[r->first + i].val;
            if (in == NONE || l->vals[in].rec == NONE || l->vals[in].soonest != old) continue;
            double at = ebb__ledger_soonest_from_scratch(l, in);
            if (at != old) soonest_set(l, in, at, &list);
        }
        if (list == NONE) return;
    }
}

static void list_one(ebb__ledger *l, uint32_t val, uint32_t *list)
{
    l->vals[val].chained = true;
    l->vals[val].chain = *list;
    *list = val;
}

void ebb__ledger_sooner(ebb__ledger *l, uint32_t val)
{
    uint32_t list = NONE;
    list_one(l, val, &list);
    lower_inputs(l, list);
}

void ebb__ledger_later(ebb__ledger *l, uint32_t val)
{
    raise_inputs(l, val, l->vals[val].soonest);
}

void ebb__ledger_soonest(ebb__ledger *l, uint32_t val)
{
    if (l->vals[val].rec == NONE) return;
    double old = l->vals[val].soonest, at = ebb__ledger_soonest_from_scratch(l, val);
    if (at == old) return;
    uint32_t list = NONE;
    soonest_set(l, val, at, &list);
    if (at < old)
        lower_inputs(l, list);
    else if (list != NONE)
        raise_inputs(l, chain_pop(l, &list), old);
}

double ebb__ledger_next(ebb__ledger *l, uint32_t val)
{
    if (!l->awake) ebb__ledger_wake(l);
    return l->vals[val].soonest;
}

/* ---- the choice -------------------------------------------------------------------------- */
void ebb__ledger_wake(ebb__ledger *l)
{
    l->awake = true;
    l->choice++;
    l->n_stale = l->n_candidates = 0;
    for (uint32_t i = 0; i < l->vals_end; i++) {
        ledger_val *v = &l->vals[i];
        v->stale = v->chained = false;
        v->soonest = v->next;
        v->slot = NONE;
        if (is_droppable(v)) ebb__ledger_candidate_add(l, i);
    }
    for (uint32_t i = 0; i < l->vals_end; i++)
        if (is_passed_on(&l->vals[i])) ebb__ledger_sooner(l, i);
}

bool ebb__ledger_is_awake(const ebb__ledger *l)
{
    return l->awake;
}

void ebb__ledger_sleep(ebb__ledger *l)
{
    for (uint32_t i = 0; i < l->n_candidates; i++) l->vals[l->slot_val[i]].slot = NONE;
    for (uint32_t i = 0; i < l->n_stale; i++) l->vals[l->stale[i]].stale = false;
    l->n_candidates = l->n_stale = 0;
    l->awake = false;
}

static void all_stale(ebb__ledger *l)
{
    for (uint32_t i = 0; i < l->n_candidates; i++) stale_add(l, l->slot_val[i]);
}

void ebb__ledger_set_policy(ebb__ledger *l, const ebb__policy *policy)
{
    l->policy = *policy;
    if (!l->awake) return;
    for (uint32_t i = 0; i < l->n_candidates; i++)
        ebb__ledger_candidate_coord(l, l->slot_val[i]);
    all_stale(l);
}

void ebb__ledger_set_weight(ebb__ledger *l, uint32_t val, float weight)
{
    l->vals[val].weight = weight;
    if (l->vals[val].slot != NONE) stale_add(l, val);
}

static inline double key_of(const ebb__ledger *l, uint32_t slot, float p)
{
    double coord = l->slot_coord[slot];
    double horizon = coord >= 0 ? coord - l->at : l->now + coord + 1;
    horizon = horizon > 0 ? horizon : 0;
    horizon = horizon < HORIZON_MAX ? horizon : HORIZON_MAX;
    return (double)l->slot_gain[slot] * power(horizon, p);
}

/* The slot with the largest key; p is a constant at each call, so that the loop is one. */
typedef struct choice {
    bool (*allows)(void *user, const uint32_t *owner); /* NULL: any */
    void *user;
} choice;

static bool allowed(const ebb__ledger *l, const choice *c, uint32_t slot)
{
    return !c->allows || c->allows(c->user, l->vals[l->slot_val[slot]].owner);
}

static inline uint32_t scan(const ebb__ledger *l, const choice *c, float p, double *best_out)
{
    double best = -1;
    uint32_t found = NONE;
    for (uint32_t i = 0; i < l->n_candidates; i++) {
        double key = key_of(l, i, p);
        if (key <= best || l->slot_gain[i] <= 0 || !allowed(l, c, i)) continue;
        best = key;
        found = i;
    }
    *best_out = best;
    return found;
}

static uint32_t scan_all(const ebb__ledger *l, const choice *c, double *best)
{
    float p = l->policy.horizon == EBB__HORIZON_ONE ? 0 : l->policy.horizon_power;
    if (p == 1) return scan(l, c, 1, best);
    if (p == 0) return scan(l, c, 0, best);
    if (p == 0.5f) return scan(l, c, 0.5f, best);
    if (p == 2) return scan(l, c, 2, best);
    return scan(l, c, p, best);
}

/* Of the candidates within 5 % of the best, the best that frees enough. */
static uint32_t scan_enough(const ebb__ledger *l, const choice *c, uint64_t need, double best,
                            uint32_t found)
{
    float p = l->policy.horizon == EBB__HORIZON_ONE ? 0 : l->policy.horizon_power;
    double least = best * 0.95;
    uint32_t enough = NONE;
    for (uint32_t i = 0; i < l->n_candidates; i++) {
        double key = key_of(l, i, p);
        if (key < least || l->slot_gain[i] <= 0) continue;
        if (l->vals[l->slot_val[i]].bytes < need || !allowed(l, c, i)) continue;
        least = key;
        enough = i;
    }
    return enough == NONE ? found : enough;
}

uint32_t ebb__ledger_victim_of(ebb__ledger *l, uint64_t need,
                               bool (*allows)(void *user, const uint32_t *owner), void *user)
{
    const choice c = {allows, user};
    if (!l->awake) ebb__ledger_wake(l);
    if (l->n_stale) stale_settle(l);
    double best;
    uint32_t slot = scan_all(l, &c, &best);
    if (slot == NONE) return NONE;
    if (need && l->vals[l->slot_val[slot]].bytes < need)
        slot = scan_enough(l, &c, need, best, slot);
    return l->slot_val[slot];
}

uint32_t ebb__ledger_victim(ebb__ledger *l, uint64_t need)
{
    return ebb__ledger_victim_of(l, need, NULL, NULL);
}
