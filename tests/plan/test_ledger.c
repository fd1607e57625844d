/* test_ledger.c - random events against the definitions: what is in memory, what it takes to
 * bring back what is not, when it is needed next, what goes first.
 *
 * The model knows each val for ever and makes every answer from scratch, from the newest val to
 * the oldest.
 * SPDX-License-Identifier: MIT */
#include "memory/ledger.h"
#include "support/numeric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_VALS = 90, MAX_IN = 3, MAX_OUT = 2, WINDOW = 40 };

typedef struct model_val {
    uint32_t id; /* the ledger's */
    uint64_t bytes;
    int ext, locks;
    int rec; /* -1: source */
    double next, last;
    bool resident, lost;
    bool needed;    /* made by needs_make */
    double soonest; /* the same */
} model_val;
typedef struct model_rec {
    double cost;
    int n_in, in[MAX_IN];
} model_rec;

static model_val vals[N_VALS];
static model_rec recs[N_VALS];
static int n_vals, n_recs;
static ebb__ledger *ledger;
static numeric_random rng;
static double now;

static int below(int n)
{
    return (int)(numeric_next(&rng) % (unsigned)n);
}

static bool reads(int rec, int val)
{
    for (int i = 0; i < recs[rec].n_in; i++)
        if (recs[rec].in[i] == val) return true;
    return false;
}

static bool is_child(int val, int parent)
{
    return vals[val].rec >= 0 && reads(vals[val].rec, parent);
}

static void needs_make(void)
{
    for (int v = n_vals; v-- > 0;) {
        vals[v].needed = vals[v].ext > 0;
        vals[v].soonest = vals[v].next;
        for (int c = v + 1; c < n_vals; c++) {
            if (!is_child(c, v) || vals[c].resident || !vals[c].needed) continue;
            vals[v].needed = true;
            vals[v].soonest = fmin(vals[v].soonest, vals[c].soonest);
        }
    }
}

static void lose(int source)
{
    vals[source].lost = true;
    for (int c = source + 1; c < n_vals; c++) {
        if (!is_child(c, source)) continue;
        vals[c].rec = -1;
        if (!vals[c].resident) lose(c);
    }
}

static void settle(void)
{
    for (bool again = true; again;) {
        again = false;
        needs_make();
        for (int v = 0; v < n_vals; v++) {
            if (!vals[v].resident || vals[v].needed) continue;
            vals[v].resident = false;
            if (vals[v].rec < 0) lose(v);
            again = true;
        }
    }
}

/* The recipes of val and of vals away around it, each once. */
static double cost_from_scratch(int val, bool around)
{
    bool reached[N_VALS] = {false}, counted[N_VALS] = {false};
    double cost = recs[vals[val].rec].cost;
    counted[vals[val].rec] = reached[val] = true;
    for (int v = val; v-- > 0;)
        for (int c = v + 1; c <= val && !vals[v].resident; c++)
            if (reached[c] && is_child(c, v)) reached[v] = true;
    for (int c = val + 1; c < n_vals && around; c++)
        for (int v = val; v < c && !vals[c].resident && vals[c].needed; v++)
            if (reached[v] && is_child(c, v)) reached[c] = true;
    for (int v = 0; v < n_vals; v++) {
        if (!reached[v] || vals[v].rec < 0 || counted[vals[v].rec]) continue;
        counted[vals[v].rec] = true;
        cost += recs[vals[v].rec].cost;
    }
    return cost;
}

static bool may_go(int v)
{
    return vals[v].resident && vals[v].rec >= 0 && !vals[v].locks;
}

static double score(int v)
{
    bool known = vals[v].soonest != EBB__NEXT_UNKNOWN;
    double horizon = known ? fmin(vals[v].soonest - now, 1e30) : now - vals[v].last;
    double gain = (double)vals[v].bytes * fmax(horizon, 0);
    return gain / cost_from_scratch(v, !known);
}

static void ledger_agrees(void)
{
    settle();
    uint64_t bytes = 0;
    for (int v = 0; v < n_vals; v++) {
        if (!vals[v].resident) continue;
        bytes += vals[v].bytes;
        assert_true(ebb__ledger_is_resident(ledger, vals[v].id));
        assert_int_equal(ebb__ledger_can_drop(ledger, vals[v].id), may_go(v));
    }
    assert_int_equal(ebb__ledger_resident_bytes(ledger), bytes);
    const char *fault = ebb__ledger_check(ledger);
    if (fault) fail_msg("%s", fault);
}

static void choice_agrees(void)
{
    uint32_t id = ebb__ledger_victim(ledger, 0);
    double best = -1, chosen = -1;
    for (int v = 0; v < n_vals; v++) {
        if (!may_go(v)) continue;
        double s = score(v);
        best = fmax(best, s);
        if (vals[v].id == id) chosen = s;
        assert_true(ebb__ledger_next(ledger, vals[v].id) == vals[v].soonest);
        assert_true(ebb__ledger_back(ledger, vals[v].id) == cost_from_scratch(v, false));
    }
    if (best < 0)
        assert_int_equal(id, EBB__LEDGER_NONE);
    else
        assert_true(chosen >= best * (1 - 1e-6));
}

/* ---- events ------------------------------------------------------------------------------ */
static int pick(bool (*is_one)(int v))
{
    int from = n_vals > WINDOW ? n_vals - WINDOW : 0;
    for (int tries = 0; tries < 20; tries++) {
        int v = from + below(n_vals - from);
        if (is_one(v)) return v;
    }
    return -1;
}

static bool is_held(int v)
{
    return vals[v].ext > 0;
}

static bool is_resident(int v)
{
    return vals[v].resident;
}

static bool is_missing(int v)
{
    return !vals[v].resident && vals[v].needed;
}

static bool is_locked(int v)
{
    return vals[v].resident && vals[v].locks;
}

static void val_made(uint32_t id, uint64_t bytes, int rec)
{
    vals[n_vals++] = (model_val){.id = id,
                                 .bytes = bytes,
                                 .ext = 1,
                                 .rec = rec,
                                 .next = EBB__NEXT_UNKNOWN,
                                 .last = now,
                                 .resident = true};
}

static void add_source(void)
{
    uint64_t bytes = (uint64_t)(1 + below(9));
    uint32_t id;
    assert_int_equal(ebb__ledger_source_add(&id, ledger, bytes), EBB_OK);
    val_made(id, bytes, -1);
}

static void add_rec(void)
{
    model_rec *r = &recs[n_recs];
    *r = (model_rec){.cost = 1 + below(9)};
    uint32_t in[MAX_IN], out[MAX_OUT];
    for (int i = below(MAX_IN); i >= 0; i--) {
        int v = pick(is_resident);
        if (v < 0) continue;
        in[r->n_in] = vals[v].id;
        r->in[r->n_in++] = v;
    }
    uint64_t bytes[MAX_OUT] = {(uint64_t)(1 + below(9)), (uint64_t)(1 + below(9))};
    uint32_t n_out = 1 + (uint32_t)below(MAX_OUT);
    assert_int_equal(
        ebb__ledger_rec_add(out, ledger, r->cost, (uint32_t)r->n_in, in, n_out, bytes), EBB_OK);
    for (uint32_t k = 0; k < n_out; k++) val_made(out[k], bytes[k], n_recs);
    n_recs++;
}

static int model_of(uint32_t id)
{
    for (int v = n_vals; v-- > 0;)
        if (vals[v].id == id && !vals[v].resident && vals[v].needed) return v;
    fail_msg("the ledger names a val that is not missing");
    return -1;
}

static void restore(int v)
{
    for (uint32_t in; (in = ebb__ledger_first_missing(ledger, vals[v].id)) != EBB__LEDGER_NONE;)
        restore(model_of(in));
    for (int i = 0; i < recs[vals[v].rec].n_in; i++)
        assert_true(vals[recs[vals[v].rec].in[i]].resident);
    ebb__ledger_restored(ledger, vals[v].id);
    vals[v].resident = true;
    vals[v].last = now;
    settle();
}

static void hold_or_let_go(void)
{
    int v = pick(is_held);
    if (v < 0) return;
    bool more = below(4) == 0;
    vals[v].ext += more ? 1 : -1;
    more ? ebb__ledger_use(ledger, vals[v].id) : ebb__ledger_unuse(ledger, vals[v].id);
}

static void lock_or_unlock(void)
{
    int v = pick(below(2) ? is_locked : is_resident);
    if (v < 0) return;
    bool off = vals[v].locks > 0 && below(2);
    vals[v].locks += off ? -1 : 1;
    off ? ebb__ledger_unlock(ledger, vals[v].id) : ebb__ledger_lock(ledger, vals[v].id);
}

static void look_ahead(void)
{
    int v = pick(below(2) ? is_resident : is_missing);
    if (v < 0) return;
    double choices[] = {now + below(50), EBB__NEXT_NONE, EBB__NEXT_UNKNOWN};
    vals[v].next = choices[below(8) < 6 ? 0 : 1 + below(2)];
    ebb__ledger_set_next(ledger, vals[v].id, vals[v].next);
}

static void touch(void)
{
    int v = pick(is_resident);
    if (v < 0) return;
    vals[v].last = now;
    ebb__ledger_touch(ledger, vals[v].id);
}

static void drop(void)
{
    choice_agrees();
    int v = pick(may_go);
    if (v < 0) return;
    ebb__ledger_dropped(ledger, vals[v].id);
    vals[v].resident = false;
}

static void source_set(void)
{
    int v = pick(is_resident);
    if (v < 0 || below(4)) return;
    vals[v].rec = -1;
    ebb__ledger_set_source(ledger, vals[v].id);
}

static void event(void)
{
    now += below(3);
    ebb__ledger_clock(ledger, now, now);
    int what = below(20);
    int missing = what >= 10 && what < 13 ? pick(is_missing) : -1;
    if (what < 1)
        add_source();
    else if (what < 4)
        add_rec();
    else if (what < 8)
        hold_or_let_go();
    else if (what < 9)
        lock_or_unlock();
    else if (what < 10)
        look_ahead();
    else if (missing >= 0)
        restore(missing);
    else if (what < 14)
        touch();
    else if (what == 14)
        source_set();
    else
        drop();
}

static void random_events_agree_with_the_definitions(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 60; seed++) {
        rng = (numeric_random){seed};
        n_vals = n_recs = 0;
        now = 0;
        assert_int_equal(ebb__ledger_create(&ledger, &ebb__allocator_libc), EBB_OK);
        add_source();
        while (n_vals < N_VALS - MAX_OUT) {
            event();
            ledger_agrees();
        }
        ebb__ledger_destroy(ledger);
    }
}

static void *no_alloc(void *user, size_t bytes, size_t alignment)
{
    size_t *left = user;
    if (!*left) return NULL;
    --*left;
    return ebb__alloc(&ebb__allocator_libc, bytes, alignment);
}

static void libc_free(void *user, void *p, size_t bytes)
{
    (void)user;
    ebb__free(&ebb__allocator_libc, p, bytes);
}

static void a_refused_allocation_changes_nothing(void **state)
{
    (void)state;
    for (size_t most = 0; most < 20; most++) {
        size_t left = most;
        ebb_allocator a = {no_alloc, libc_free, &left};
        ebb__ledger *l;
        if (ebb__ledger_create(&l, &a) != EBB_OK) continue;
        uint32_t last = EBB__LEDGER_NONE, out;
        uint64_t n = 0, bytes = 8;
        while (n < 40 && ebb__ledger_rec_add(&out, l, 1, last != EBB__LEDGER_NONE, &last, 1,
                                             &bytes) == EBB_OK) {
            last = out;
            n++;
        }
        assert_int_equal(ebb__ledger_resident_bytes(l), n * 8);
        assert_null(ebb__ledger_check(l));
        ebb__ledger_destroy(l);
    }
    ebb_error_clear();
}

/* A program that runs for ever holds as much of the ledger as it has vals alive. */
static void numbers_of_the_dead_are_given_out_again(void **state)
{
    (void)state;
    ebb__ledger *l;
    assert_int_equal(ebb__ledger_create(&l, &ebb__allocator_libc), EBB_OK);
    uint32_t x, y;
    uint64_t bytes = 64;
    assert_int_equal(ebb__ledger_rec_add(&x, l, 1, 0, NULL, 1, &bytes), EBB_OK);
    size_t at_100 = 0;
    for (int i = 0; i < 10000; i++) {
        assert_int_equal(ebb__ledger_rec_add(&y, l, 1, 1, &x, 1, &bytes), EBB_OK);
        ebb__ledger_set_source(l, x);
        ebb__ledger_unuse(l, x);
        x = y;
        if (i == 100) at_100 = ebb__ledger_bytes(l);
    }
    assert_int_equal(ebb__ledger_bytes(l), at_100);
    assert_int_equal(ebb__ledger_resident_bytes(l), 64);
    ebb__ledger_destroy(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_events_agree_with_the_definitions),
        cmocka_unit_test(a_refused_allocation_changes_nothing),
        cmocka_unit_test(numbers_of_the_dead_are_given_out_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
