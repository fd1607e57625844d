/* ledger_score.c - what a choice of victim needs: candidates, what each costs to bring back,
 * how long its bytes are not needed.
 *
 * Candidates are the resident vals with a recipe, in parallel arrays by slot, so that a
 * choice is one scan. A candidate's gain = weight * bytes^p / back^q changes when a val
 * around it comes, goes, or is needed; those it concerns are stale: what is kept is the most that
 * their gain can be, and it is made anew where that comes into question. A walk over vals that are
 * away finds them; where sums only grow, it need not pass where all it would find is stale. Walks see the
 * nearest WALK_MAX vals, and LESS_MAX where a sum falls: what is further off keeps a sum in which
 * that change counts for little.
 *
 * soonest(v) = min(own next use, soonest of needed vals away that v's readers make).
 * Lowering passes upwards at once; raising makes it anew from the readers.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

enum {
    BACK_MAX = 256, /* recipes that a sum looks at */
    WALK_MAX = 1024,
    LESS_MAX = 16 /* vals past which a fall is told */
};

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
enum { DOWN, UP };
typedef struct walk {
    ebb__ledger *l;
    int back; /* the way from what is visited to the val */
    double cost;
    uint32_t stamp, n_recs, n;
    uint32_t stack[WALK_MAX];
} walk;

static void walk_begin(walk *w, ebb__ledger *l)
{
    w->l = l;
    w->back = DOWN;
    w->cost = 0;
    w->stamp = ebb__ledger_stamp(l);
    w->n_recs = w->n = 0;
}

static void walk_push(walk *w, uint32_t id)
{
    ledger_val *v = &w->l->vals[id];
    if (v->mark == w->stamp || w->n == WALK_MAX) return;
    v->mark = w->stamp;
    v->passed[w->back] = false;
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
    w->back = UP;
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

static bool is_by_sum(const ebb__ledger *l)
{
    return l->policy.back == EBB__BACK_ABOVE || l->policy.back == EBB__BACK_AROUND;
}

/* Without what is away. */
static double own_back(const ebb__ledger *l, const ledger_val *v)
{
    return l->policy.back == EBB__BACK_ONE ? 1 : l->recs[v->rec].cost;
}

static double back_of(ebb__ledger *l, uint32_t val)
{
    const ledger_val *v = &l->vals[val];
    if (!is_by_sum(l)) return own_back(l, v);
    walk w;
    walk_begin(&w, l);
    return is_around(l, v) ? cost_around(&w, val) : cost_above(&w, val);
}

static float gain_of(const ebb__ledger *l, const ledger_val *v, double back)
{
    double gain = (double)v->weight *
                  ebb__ledger_power((double)v->bytes, l->policy.bytes_power) /
                  ebb__ledger_power(back + 1e-12, l->policy.cost_power);
    gain = gain > 1e-35 ? gain : 1e-35;
    float g = (float)(gain < 1e35 ? gain : 1e35);
    return is_held(v) || v->stale ? -g : g;
}

float ebb__ledger_gain_from_scratch(ebb__ledger *l, uint32_t val)
{
    return gain_of(l, &l->vals[val], back_of(l, val));
}

/* ---- candidates -------------------------------------------------------------------------- */
static void slot_sign(ebb__ledger *l, const ledger_val *v)
{
    float g = fabsf(l->slot_gain[v->slot]);
    l->slot_gain[v->slot] = is_held(v) || v->stale ? -g : g;
}

/* The sum may have come to be more than it was, */
static void stale_more(ebb__ledger *l, ledger_val *v)
{
    if (v->stale || !is_by_sum(l)) return;
    v->stale = true;
    slot_sign(l, v);
}

/* or less, but not below `least`. */
static void stale_less(ebb__ledger *l, ledger_val *v, double least)
{
    double own = own_back(l, v), back = least > own ? least : own;
    v->stale = is_by_sum(l);
    if (v->stale && back > (double)v->back) back = (double)v->back;
    v->back = (float)back;
    float before = fabsf(l->slot_gain[v->slot]), gain = gain_of(l, v, back);
    l->slot_gain[v->slot] = gain;
    if (fabsf(gain) > before) ebb__ledger_list(l, l->slot_val[v->slot]);
}

void ebb__ledger_candidate_renew(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    double back = back_of(l, val);
    v->stale = false;
    v->back = (float)back;
    l->slot_gain[v->slot] = gain_of(l, v, back);
}

void ebb__ledger_candidate_reset(ebb__ledger *l, uint32_t val)
{
    stale_less(l, &l->vals[val], 0);
}

void ebb__ledger_candidate_coord(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    double old = l->slot_coord[v->slot];
    double coord = is_by_staleness(l, v) ? -1 - v->last : v->soonest;
    l->slot_coord[v->slot] = coord;
    if (coord >= 0 && coord > old) ebb__ledger_list(l, val);
    if ((old < 0) == (coord < 0)) return;
    ebb__ledger_list(l, val);
    stale_less(l, v, 0); /* another sum counts */
}

void ebb__ledger_candidate_lock(ebb__ledger *l, uint32_t val)
{
    slot_sign(l, &l->vals[val]);
}

void ebb__ledger_candidate_add(ebb__ledger *l, uint32_t val)
{
    ledger_val *v = &l->vals[val];
    v->slot = l->n_candidates++;
    v->back = FLT_MAX;
    l->slot_val[v->slot] = val;
    l->slot_coord[v->slot] = is_by_staleness(l, v) ? -1 - v->last : v->soonest;
    l->slot_gain[v->slot] = 0;
    stale_less(l, v, 0); /* which lists it */
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

/* A walk from a val past others that are away to candidates. */
typedef struct reach {
    ebb__ledger *l;
    double less; /* by which sums fall at most; 0: they do not */
    uint32_t n, stamp;
    uint32_t list[WALK_MAX];
} reach;

static void reach_begin(reach *w, ebb__ledger *l, double less)
{
    w->l = l;
    w->less = less;
    w->n = 0;
    w->stamp = less > 0 ? ebb__ledger_stamp(l) : 0;
}

/* Where sums do not fall, candidates that are stale already may be left out. */
static void reach_pass(reach *w, uint32_t id, int way)
{
    ledger_val *v = &w->l->vals[id];
    bool been = w->less > 0 ? v->mark == w->stamp : v->passed[way];
    if (been || w->n == (w->less > 0 ? LESS_MAX : WALK_MAX)) return;
    if (w->less <= 0) v->passed[way] = true;
    if (w->less > 0) v->mark = w->stamp;
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
            ledger_val *v = &l->vals[out];
            if (v->slot == NONE) {
                if (is_away(v)) reach_pass(w, out, DOWN);
            } else if (w->less > 0) {
                stale_less(l, v, (double)v->back - w->less);
            } else {
                stale_more(l, v);
            }
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
        ledger_val *v = &l->vals[in];
        if (v->slot == NONE) {
            if (is_away(v)) reach_pass(w, in, UP);
        } else if (is_around(l, v)) {
            if (w->less > 0)
                stale_less(l, v, (double)v->back - w->less);
            else
                stale_more(l, v);
        }
    }
}

void ebb__ledger_stale_below(ebb__ledger *l, uint32_t val, double less)
{
    if (!is_by_sum(l)) return;
    reach w;
    reach_begin(&w, l, less);
    stale_outputs(&w, val);
    for (uint32_t i = 0; i < w.n; i++) stale_outputs(&w, w.list[i]);
}

void ebb__ledger_stale_above(ebb__ledger *l, uint32_t val, double less)
{
    if (!is_by_sum(l)) return;
    if (l->policy.back != EBB__BACK_AROUND && l->policy.horizon != EBB__HORIZON_KNOWN) return;
    reach w;
    reach_begin(&w, l, less);
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

bool ebb__ledger_is_passed_on(const ledger_val *v)
{
    return is_away(v) && v->uses && v->rec != NONE;
}

static void soonest_set(ebb__ledger *l, uint32_t val, double at, uint32_t *list)
{
    ledger_val *v = &l->vals[val];
    v->soonest = at;
    if (v->slot != NONE) ebb__ledger_candidate_coord(l, val);
    if (!ebb__ledger_is_passed_on(v) || v->chained) return;
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
