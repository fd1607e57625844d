/* ledger_choice.c - which val is to be dropped next.
 *
 * Out of a short list, where none beside it can be better. Else two passes over the candidates, in
 * blocks: the best of those whose gain is known, then those that might be better, of which the gain is
 * at most so much: it is made anew. So sums are made of the few that come into question.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

enum { BLOCK = 64 };
/* Time, at which horizons without end count: far beyond any other. */
static const double HORIZON_MAX = 1e30;
/* What is needed now goes last, but of it what is cheap to bring back goes first. */
static const double HORIZON_MIN = 1e-12;

const ebb__policy ebb__policy_next = {EBB__BACK_ABOVE, EBB__HORIZON_KNOWN, 1, 1, 1};
const ebb__policy ebb__policy_h_dtr = {EBB__BACK_AROUND, EBB__HORIZON_STALE, 1, 1, 1};
const ebb__policy ebb__policy_h_local = {EBB__BACK_OWN, EBB__HORIZON_STALE, 1, 1, 1};
const ebb__policy ebb__policy_lru = {EBB__BACK_ONE, EBB__HORIZON_STALE, 0, 0, 1};
const ebb__policy ebb__policy_msps = {EBB__BACK_ABOVE, EBB__HORIZON_ONE, 1, 1, 0};

void ebb__ledger_wake(ebb__ledger *l)
{
    l->awake = true;
    l->n_candidates = 0;
    l->likely.is_valid = false;
    l->likely.n = 0;
    for (uint32_t i = 0; i < l->vals_end; i++) {
        ledger_val *v = &l->vals[i];
        v->chained = v->listed = false;
        v->soonest = v->next;
        v->slot = NONE;
        if (is_droppable(v)) ebb__ledger_candidate_add(l, i);
    }
    for (uint32_t i = 0; i < l->vals_end; i++)
        if (ebb__ledger_is_passed_on(&l->vals[i])) ebb__ledger_sooner(l, i);
}

bool ebb__ledger_is_awake(const ebb__ledger *l)
{
    return l->awake;
}

void ebb__ledger_sleep(ebb__ledger *l)
{
    for (uint32_t i = 0; i < l->n_candidates; i++) l->vals[l->slot_val[i]].slot = NONE;
    l->n_candidates = 0;
    l->awake = false;
}

void ebb__ledger_set_policy(ebb__ledger *l, const ebb__policy *policy)
{
    l->policy = *policy;
    l->likely.is_valid = false;
    if (!l->awake) return;
    for (uint32_t i = 0; i < l->n_candidates; i++) {
        ebb__ledger_candidate_coord(l, l->slot_val[i]);
        ebb__ledger_candidate_reset(l, l->slot_val[i]);
    }
}

void ebb__ledger_set_weight(ebb__ledger *l, uint32_t val, float weight)
{
    ledger_val *v = &l->vals[val];
    v->weight = weight;
    if (v->slot != NONE) ebb__ledger_candidate_reset(l, val);
}

static inline double key_at(const ebb__ledger *l, uint32_t slot, float p, double now)
{
    double coord = l->slot_coord[slot];
    double horizon = coord >= 0 ? coord - l->at : now + coord + 1;
    horizon = horizon > HORIZON_MIN ? horizon : HORIZON_MIN;
    horizon = horizon < HORIZON_MAX ? horizon : HORIZON_MAX;
    return (double)l->slot_gain[slot] * ebb__ledger_power(horizon, p);
}

static inline double key_of(const ebb__ledger *l, uint32_t slot, float p)
{
    return key_at(l, slot, p, l->now);
}

/* What may be asked of a choice. */
typedef struct choice {
    uint64_t need;
    bool (*allows)(void *user, const uint32_t *owner); /* NULL: any */
    void *user;
    float p; /* of horizons */
} choice;

static bool allowed(const ebb__ledger *l, const choice *c, uint32_t slot)
{
    return !c->allows || c->allows(c->user, l->vals[l->slot_val[slot]].owner);
}

/* ---- passes ------------------------------------------------------------------------------ */

static inline double larger(double x, double y)
{
    return x > y ? x : y;
}

/* The largest sign * key from one slot to before another, 0 if there is none above; p is a constant at
 * each call, so that the loop is one of few instructions. */
static inline double best_key(const ebb__ledger *l, uint32_t from, uint32_t to, double sign,
                              float p)
{
    double best[4] = {0};
    uint32_t i = from;
    for (; i + 4 <= to; i += 4)
        for (uint32_t k = 0; k < 4; k++) {
            double key = sign * key_of(l, i + k, p);
            best[k] = larger(key, best[k]);
        }
    for (; i < to; i++) best[0] = larger(best[0], sign * key_of(l, i, p));
    return larger(larger(best[0], best[1]), larger(best[2], best[3]));
}

static inline uint32_t block_end(const ebb__ledger *l, uint32_t from)
{
    return l->n_candidates - from < BLOCK ? l->n_candidates : from + BLOCK;
}

static inline uint32_t known_best(const ebb__ledger *l, float p, double *best)
{
    uint32_t block = NONE;
    *best = 0;
    for (uint32_t i = 0; i < l->n_candidates; i += BLOCK) {
        double key = best_key(l, i, block_end(l, i), 1, p);
        if (key <= *best) continue;
        *best = key;
        block = i;
    }
    for (uint32_t i = block; i != NONE && i < block_end(l, block); i++)
        if (l->slot_gain[i] > 0 && key_of(l, i, p) >= *best) return i;
    for (uint32_t i = 0; i < l->n_candidates; i++) /* of those used now, if there is no other */
        if (l->slot_gain[i] > 0) return i;
    return NONE;
}

/* Of equal ones the first. */
static inline uint32_t stale_better(ebb__ledger *l, float p, uint32_t found, double *best)
{
    for (uint32_t i = 0; i < l->n_candidates; i += BLOCK) {
        if (found != NONE && best_key(l, i, block_end(l, i), -1, p) < *best) continue;
        for (uint32_t k = i; k < block_end(l, i); k++) {
            if (l->slot_gain[k] >= 0 || is_held(&l->vals[l->slot_val[k]])) continue;
            if (found != NONE && -key_of(l, k, p) < *best) continue;
            ebb__ledger_candidate_renew(l, l->slot_val[k]);
            double key = key_of(l, k, p);
            if (found != NONE && (key < *best || (key == *best && k > found))) continue;
            *best = key;
            found = k;
        }
    }
    return found;
}

static inline uint32_t scan(ebb__ledger *l, float p, double *best)
{
    uint32_t found = known_best(l, p, best);
    return stale_better(l, p, found, best);
}

/* ---- the short list ---------------------------------------------------------------------- */
/* One choice follows another, and little changes in between: what was nearly the best before, and
 * what came or changed since, is all that the next is made of, as long as the best of that is no
 * worse than the others can have become. */

/* The largest |key| of those that are not listed; INFINITY: not known. */
static double rest_now(const ebb__ledger *l)
{
    const ledger_short *s = &l->likely;
    return s->is_valid && l->now <= s->until && l->at >= s->at ? s->rest : (double)INFINITY;
}

/* After a look at all, of which this is the best. */
static inline void list_make(ebb__ledger *l, float p, uint32_t found, double best)
{
    enum { FEW = 24 };
    const double span_max = 1e20; /* far less than horizons without end */
    ledger_short *s = &l->likely;
    const double floor = best * s->part;
    double coord = l->slot_coord[found],
           horizon = coord >= 0 ? coord - l->at : l->now + coord + 1;
    for (uint32_t i = 0; i < s->n; i++) l->vals[s->val[i]].listed = false;
    s->n = 0;
    s->is_valid = true;
    s->rest = 0;
    s->until = l->now + fmin(fmax(horizon, 0) / 8, span_max);
    s->at = l->at;
    for (uint32_t i = 0; i < l->n_candidates; i++) {
        double key = fabs(key_at(l, i, p, s->until));
        if (key < floor || s->n == SHORT_MAX)
            s->rest = larger(s->rest, key);
        else
            ebb__ledger_list(l, l->slot_val[i]);
    }
    if (s->n == SHORT_MAX) s->part = (1 + s->part) / 2;
    if (s->n < FEW && s->part > 0.3) s->part *= 0.9;
}

/* What is no candidate any more, or no better than the rest, leaves; the keys of those that stay, and of
 * those that are known the best. */
static inline uint32_t list_prune(ebb__ledger *l, float p, double *keys, double *best)
{
    ledger_short *s = &l->likely;
    uint32_t kept = 0, found = NONE;
    s->at = l->at;
    for (uint32_t i = 0; i < s->n; i++) {
        ledger_val *v = &l->vals[s->val[i]];
        v->listed = v->slot != NONE && fabs(key_at(l, v->slot, p, s->until)) > s->rest;
        if (!v->listed) continue;
        double key = key_of(l, v->slot, p);
        s->val[kept] = s->val[i];
        keys[kept++] = key;
        if (l->slot_gain[v->slot] <= 0 || key < *best) continue;
        if (found != NONE && key == *best && v->slot > found) continue;
        *best = key;
        found = v->slot;
    }
    s->n = kept;
    return found;
}

/* The best of the list, as scan of all; NONE: another may be better. */
static inline uint32_t list_scan(ebb__ledger *l, float p, double *best)
{
    const ledger_short *s = &l->likely;
    double keys[SHORT_MAX];
    *best = rest_now(l);
    if (*best >= INFINITY) return NONE;
    uint32_t found = list_prune(l, p, keys, best);
    for (uint32_t i = 0; i < s->n; i++) {
        if (-keys[i] < *best || is_held(&l->vals[s->val[i]])) continue;
        ebb__ledger_candidate_renew(l, s->val[i]);
        uint32_t slot = l->vals[s->val[i]].slot;
        double key = key_of(l, slot, p);
        if (key < *best || (found != NONE && key == *best && slot > found)) continue;
        *best = key;
        found = slot;
    }
    return found;
}

/* Out of the list, else of all. p is a constant at each call. */
static inline uint32_t choose(ebb__ledger *l, float p, double *best)
{
    uint32_t slot = list_scan(l, p, best);
    if (slot != NONE) return slot;
    slot = scan(l, p, best);
    if (slot != NONE) list_make(l, p, slot, *best);
    return slot;
}

static uint32_t choose_any(ebb__ledger *l, float p, double *best)
{
    if (p == 1) return choose(l, 1, best);
    if (p == 0) return choose(l, 0, best);
    if (p == 0.5f) return choose(l, 0.5f, best);
    return choose(l, p, best);
}

/* A candidate within 5 % of the best that frees enough, if it is better than those before. */
static void enough_try(ebb__ledger *l, const choice *c, uint32_t slot, double *least,
                       uint32_t *enough)
{
    if (fabs(key_of(l, slot, c->p)) < *least) return;
    const ledger_val *v = &l->vals[l->slot_val[slot]];
    if (v->bytes < c->need || is_held(v) || !allowed(l, c, slot)) return;
    if (v->stale) ebb__ledger_candidate_renew(l, l->slot_val[slot]);
    double key = key_of(l, slot, c->p);
    if (key < *least) return;
    *least = key;
    *enough = slot;
}

static uint32_t scan_enough(ebb__ledger *l, const choice *c, double best, uint32_t found)
{
    const ledger_short *s = &l->likely;
    double least = best * 0.95;
    uint32_t enough = NONE;
    if (rest_now(l) < least)
        for (uint32_t i = 0; i < s->n; i++)
            enough_try(l, c, l->vals[s->val[i]].slot, &least, &enough);
    else
        for (uint32_t i = 0; i < l->n_candidates; i++) enough_try(l, c, i, &least, &enough);
    return enough == NONE ? found : enough;
}

/* By one of those that the driver does not allow: all are looked at. */
static uint32_t scan_allowed(ebb__ledger *l, const choice *c, double *best)
{
    uint32_t found = NONE;
    *best = -1;
    for (uint32_t i = 0; i < l->n_candidates; i++) {
        const ledger_val *v = &l->vals[l->slot_val[i]];
        if (is_held(v) || fabs(key_of(l, i, c->p)) <= *best || !allowed(l, c, i)) continue;
        if (v->stale) ebb__ledger_candidate_renew(l, l->slot_val[i]);
        double key = key_of(l, i, c->p);
        if (key <= *best) continue;
        *best = key;
        found = i;
    }
    return found;
}

uint32_t ebb__ledger_victim_of(ebb__ledger *l, uint64_t need,
                               bool (*allows)(void *user, const uint32_t *owner), void *user)
{
    const choice c = {need, allows, user,
                      l->policy.horizon == EBB__HORIZON_ONE ? 0 : l->policy.horizon_power};
    double best;
    if (!l->awake) ebb__ledger_wake(l);
    uint32_t slot = choose_any(l, c.p, &best);
    if (slot != NONE && !allowed(l, &c, slot)) slot = scan_allowed(l, &c, &best);
    if (slot == NONE) return NONE;
    if (need && l->vals[l->slot_val[slot]].bytes < need) slot = scan_enough(l, &c, best, slot);
    return l->slot_val[slot];
}

uint32_t ebb__ledger_victim(ebb__ledger *l, uint64_t need)
{
    return ebb__ledger_victim_of(l, need, NULL, NULL);
}
