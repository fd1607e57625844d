/* ledger_order.c - in which order a rebuild makes what it needs.
 *
 * A rebuild of val makes, for each missing input, a tree whose peak P is the most bytes it
 * holds at once and which leaves S = the input's bytes behind. Taking the inputs by P - S,
 * largest first, keeps the total peak least (for trees: Sethi and Ullman 1970, Liu 1987);
 * shared parts are counted once for each way to them. Labels look at the nearest LOOK_MAX
 * vals; beyond, P = S.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger_inner.h"

enum { LOOK_MAX = 64, INPUTS_MAX = 16 };

/* Of one val: P, from the labels of its missing inputs. */
static double peak_of(const ebb__ledger *l, uint32_t val, uint32_t stamp)
{
    const ledger_rec *r = &l->recs[l->vals[val].rec];
    double peaks[INPUTS_MAX], sizes[INPUTS_MAX], made = 0, held = 0, peak = 0;
    uint32_t n = 0;
    for (uint32_t k = 0; k < r->n_out; k++) {
        uint32_t out = l->links[r->first + r->n_in + k].val;
        if (out != NONE && is_away(&l->vals[out])) made += (double)l->vals[out].bytes;
    }
    for (uint32_t i = 0; i < r->n_in && n < INPUTS_MAX; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in == NONE || !is_away(&l->vals[in])) continue;
        const ledger_val *v = &l->vals[in];
        double size = (double)v->bytes, p = v->mark == stamp ? (double)v->label : size;
        uint32_t at = n++;
        for (; at && peaks[at - 1] - sizes[at - 1] < p - size; at--) {
            peaks[at] = peaks[at - 1];
            sizes[at] = sizes[at - 1];
        }
        peaks[at] = p;
        sizes[at] = size;
    }
    for (uint32_t i = 0; i < n; i++) {
        peak = fmax(peak, held + peaks[i]);
        held += sizes[i];
    }
    return fmax(peak, held + made);
}

/* Labels of the missing inputs of val and of what lies above them, nearest first, from the
 * far end. */
static uint32_t labels_make(ebb__ledger *l, uint32_t val)
{
    uint32_t seen[LOOK_MAX], n = 0, stamp = ebb__ledger_stamp(l);
    for (uint32_t id = val, next = 0;; id = seen[next++]) {
        const ledger_rec *r = &l->recs[l->vals[id].rec];
        for (uint32_t i = 0; i < r->n_in && n < LOOK_MAX; i++) {
            uint32_t in = l->links[r->first + i].val;
            if (in == NONE || !is_away(&l->vals[in]) || l->vals[in].mark == stamp) continue;
            l->vals[in].mark = stamp;
            l->vals[in].label = (float)l->vals[in].bytes;
            seen[n++] = in;
        }
        if (next == n) break;
    }
    for (uint32_t i = n; i-- > 0;) l->vals[seen[i]].label = (float)peak_of(l, seen[i], stamp);
    return stamp;
}

uint32_t ebb__ledger_first_missing(ebb__ledger *l, uint32_t val)
{
    if (l->vals[val].rec == NONE) return NONE;
    const ledger_rec *r = &l->recs[l->vals[val].rec];
    uint32_t found = NONE, n = 0;
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in == NONE || in == found || !is_away(&l->vals[in])) continue;
        found = in;
        n++;
    }
    if (n <= 1) return found;
    labels_make(l, val);
    double best = -1;
    for (uint32_t i = 0; i < r->n_in; i++) {
        uint32_t in = l->links[r->first + i].val;
        if (in == NONE || !is_away(&l->vals[in])) continue;
        double key = (double)l->vals[in].label - (double)l->vals[in].bytes;
        if (key <= best) continue;
        best = key;
        found = in;
    }
    return found;
}
