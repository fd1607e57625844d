/* bench_memory.c - what training under a budget costs, of all models or those named.
 *
 * P: bytes in use at most in a step without a budget. pinned: those in use between steps
 * (parameters, optimizer state, data, bookkeeping) and the gradients in their slots. A budget at r
 * is pinned + r (P - pinned).
 *
 * Rows: slowdown of a step at r against the same step without a budget (both run in turns; of
 * each the lower quartile; where steps differ the median over with, without, without, with), after
 * steps enough to learn from; of it, what operations run again take (measured) and what moves take
 * (bytes moved at the machine's own speed); the first step against a first step; bytes in use at
 * most over the budget; the smallest r at which training gets through, and gets through in twice
 * the time; segments of sqrt(n) blocks as regions, without a budget; DTR's heuristic and LRU on the
 * same engine, without learning; for chains the least number of operations to run again (by dynamic
 * programming, Griewank & Walther 2000 with a start that stays). Of a recorded step, with estimated
 * costs: the r below which no budget holds the largest working set, the slowdown that no schedule
 * avoids, and that of a plan.
 *
 * n: pairs. A model that takes longer than its share of the time leaves out what compares.
 * --quick: three small models, few budgets, in seconds.
 * SPDX-License-Identifier: MIT */
#include "bench.h"
#include "memory/reserve.h"
#include "models/zoo.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { WARM = 5, MOST_WARM = 160, FEW_PAIRS = 8, MOST_PAIRS = 20, N_THREADS = 2 };

static const double WARM_SECONDS = 1.5, PAIR_SECONDS = 6; /* where steps are short */
static const double MODEL_SECONDS = 180;
static bool is_quick, has_failed;
static double move_seconds_per_byte;

typedef struct base {
    const zoo_model *model;
    zoo_run run;
    size_t peak, pinned, between; /* between: in use between steps, gradients apart */
    double first, step, forward, begun;
    ebb_iteration *iteration; /* a recorded step, of the largest peak */
    ebb_iteration_facts facts;
} base;

static void row(const base *b, const char *figure, double r, double value, const char *unit,
                int n, double spread)
{
    char name[96];
    if (r > 0)
        snprintf(name, sizeof name, "%s r=%.2g %s", b->model->name, r, figure);
    else
        snprintf(name, sizeof name, "%s %s", b->model->name, figure);
    bench_row(name, value, unit, n, spread);
}

static zoo_scale scale(void)
{
    return is_quick ? ZOO_SHORT : ZOO_FULL;
}

static ebb_status timed_step(double *seconds, zoo_run *run)
{
    double start = bench_now();
    ebb_status status = zoo_step(run);
    *seconds = bench_now() - start;
    return status;
}

static size_t budget_at(const base *b, double r)
{
    return b->pinned + (size_t)(r * (double)(b->peak - b->pinned));
}

static bool is_late(const base *b)
{
    return bench_now() - b->begun > MODEL_SECONDS;
}

static double ratio_of(const base *b, size_t bytes)
{
    return ((double)bytes - (double)b->pinned) / (double)(b->peak - b->pinned);
}

/* ---- without a budget -------------------------------------------------------------------- */

static ebb_status steps_run(zoo_run *run, int n)
{
    double seconds;
    for (int i = 0; i < n; i++) EBB_TRY(timed_step(&seconds, run));
    return EBB_OK;
}

/* The largest of all kinds of steps. */
static ebb_status peak_find(base *b, zoo_run *run)
{
    ebb_stats s;
    EBB_TRY(steps_run(run, run->model->begin ? 8 : 1));
    ebb_stats_get(&s, run->ctx);
    b->peak = s.peak_bytes;
    b->between = s.used_bytes;
    b->pinned = s.used_bytes + run->trained_bytes;
    return EBB_OK;
}

/* Of steps that differ, the one with the largest peak. */
static ebb_status iteration_record(base *b, zoo_run *run)
{
    for (int i = 0; i < (run->model->begin ? 8 : 1); i++) {
        ebb_recorder *recorder;
        ebb_iteration *one;
        ebb_iteration_facts facts;
        EBB_TRY(ebb_recorder_begin(&recorder, run->ctx));
        ebb_status status = zoo_step(run);
        EBB_TRY(ebb_recorder_end(&one, recorder));
        if (status == EBB_OK) status = ebb_iteration_facts_get(&facts, one);
        if (status == EBB_OK && facts.peak_bytes > b->facts.peak_bytes) {
            ebb_iteration_destroy(b->iteration);
            b->iteration = one;
            b->facts = facts;
        } else {
            ebb_iteration_destroy(one);
        }
        EBB_TRY(status);
    }
    return EBB_OK;
}

static ebb_status median_step(double *out, zoo_run *run, bool is_forward)
{
    double seconds[5];
    for (int i = 0; i < 5; i++) {
        EBB_SCOPE(step);
        double start = bench_now();
        if (is_forward && !zoo_loss(run)) return ebb_error_status();
        if (!is_forward) EBB_TRY(zoo_step(run));
        seconds[i] = bench_now() - start;
        ebb_clear(&run->loss);
    }
    qsort(seconds, 5, sizeof *seconds, bench_compare);
    *out = seconds[2];
    return EBB_OK;
}

static ebb_status base_open(base *b, const zoo_model *model)
{
    double seconds;
    zoo_run extra;
    *b = (base){.model = model, .begun = bench_now()};
    ebb_status status = zoo_open(&extra, model, scale(), 0, N_THREADS, false);
    if (status == EBB_OK) status = timed_step(&seconds, &extra);
    zoo_close(&extra);
    EBB_TRY(status);
    EBB_TRY(zoo_open(&b->run, model, scale(), 0, N_THREADS, false));
    EBB_TRY(timed_step(&b->first, &b->run)); /* what the process does once is done */
    EBB_TRY(steps_run(&b->run, WARM - 1));
    ebb_stats_reset_peak(b->run.ctx);
    EBB_TRY(peak_find(b, &b->run));
    EBB_TRY(median_step(&b->step, &b->run, false));
    EBB_TRY(median_step(&b->forward, &b->run, true));
    EBB_TRY(iteration_record(b, &b->run));
    row(b, "step without a budget", 0, b->step * 1e3, "ms", 5, 0);
    row(b, "peak", 0, (double)b->peak / 1e6, "MB", 1, 0);
    row(b, "pinned", 0, (double)b->pinned / 1e6, "MB", 1, 0);
    /* What is there between steps and no operation reads comes on top of the iteration's. */
    size_t beside = b->between - b->facts.outside_bytes;
    row(b, "lower bound", 0, fmax(0, ratio_of(b, b->facts.lower_bound + beside)), "r", 1, 0);
    return EBB_OK;
}

static void base_close(base *b)
{
    ebb_iteration_destroy(b->iteration);
    zoo_close(&b->run);
}

/* ---- under a budget ---------------------------------------------------------------------- */

typedef struct measured {
    double first, slowdown, spread, recompute, moves; /* shares of the time without a budget */
    double high_water, n_recomputes, n_evictions, moved;
    int n_pairs;
} measured;

/* The same step in both. Whichever follows the other finds its data out of the caches: two pairs
 * that follow each other have one of either. */
static ebb_status pair_run(double *with, double *without, base *b, zoo_run *run, int i)
{
    b->run.step = run->step;
    if (i % 2 == 0) EBB_TRY(timed_step(without, &b->run));
    EBB_TRY(timed_step(with, run));
    if (i % 2 != 0) EBB_TRY(timed_step(without, &b->run));
    return EBB_OK;
}

/* Other work on the machine makes some steps longer, and none shorter: of steps that are alike
 * the quarter that took least is undisturbed. */
static double undisturbed(double *seconds, int n)
{
    qsort(seconds, (size_t)n, sizeof *seconds, bench_compare);
    return seconds[n / 4];
}

static ebb_status pairs_run(measured *out, base *b, zoo_run *run, int n)
{
    double ratio[MOST_PAIRS / 2], with[MOST_PAIRS], without[MOST_PAIRS], all_without = 0;
    ebb_room_stats before, after;
    ebb_room_stats_get(&before, run->ctx);
    for (int i = 0; i < n; i++) {
        EBB_TRY(pair_run(&with[i], &without[i], b, run, i));
        all_without += without[i];
        if (i % 2) ratio[i / 2] = (with[i - 1] + with[i]) / (without[i - 1] + without[i]);
    }
    ebb_room_stats_get(&after, run->ctx);
    qsort(ratio, (size_t)n / 2, sizeof *ratio, bench_compare);
    out->n_pairs = n;
    out->slowdown =
        b->model->begin ? ratio[n / 4] : undisturbed(with, n) / undisturbed(without, n);
    out->spread = (ratio[n / 2 - 1] - ratio[0]) / out->slowdown;
    out->recompute = (double)(after.recompute_ns - before.recompute_ns) * 1e-9 / all_without;
    out->moved = (double)(after.moved_bytes - before.moved_bytes) / n;
    out->moves = out->moved * n * move_seconds_per_byte / all_without;
    out->n_recomputes = (double)(after.n_recomputes - before.n_recomputes) / n;
    out->n_evictions = (double)(after.n_evictions - before.n_evictions) / n;
    return EBB_OK;
}

/* As many as the time allows, of both orders alike; a multiple of what differs. */
static int pairs_of(const base *b, double step)
{
    if (is_quick) return 2;
    int n = 2 * (int)(PAIR_SECONDS / (step + b->step) / 2);
    n = n < FEW_PAIRS ? FEW_PAIRS : n > MOST_PAIRS ? MOST_PAIRS : n;
    return b->model->begin ? MOST_PAIRS : n;
}

/* Steps to learn from, until nothing was planned in as many as there are kinds of steps. *out: the
 * shortest. */
static ebb_status warm(double *out, const base *b, zoo_run *run, int most)
{
    const double start = bench_now();
    enum { TOO_LONG = 10, AT_REST = 8 };
    ebb_room_stats now, planned = {0};
    double seconds;
    *out = (double)INFINITY;
    for (int i = 1, last = 0; i < most; i++) {
        EBB_TRY(timed_step(&seconds, run));
        ebb_room_stats_get(&now, run->ctx);
        if (now.plan_ns != planned.plan_ns) last = i;
        planned = now;
        *out = fmin(*out, seconds);
        bool is_enough = i >= last + AT_REST && bench_now() - start > WARM_SECONDS;
        if (is_enough || *out > TOO_LONG * b->step) break;
    }
    return EBB_OK;
}

/* Until pairs agree, or it is not worth more time: those that agree best. */
static ebb_status pairs_agree(measured *out, base *b, zoo_run *run, int n)
{
    enum { TRIES = 3 };
    const double enough = 0.1;
    EBB_TRY(pairs_run(out, b, run, n));
    for (int i = 1; i < TRIES && n > 2 && out->spread > enough && !is_quick; i++) {
        measured again = *out;
        EBB_TRY(pairs_run(&again, b, run, n));
        if (again.spread < out->spread) *out = again;
    }
    return EBB_OK;
}

static ebb_status measure_in(measured *out, base *b, zoo_run *run, int most_warm)
{
    double seconds, step;
    EBB_TRY(timed_step(&seconds, run));
    out->first = seconds / b->first;
    EBB_TRY(warm(&step, b, run, most_warm));
    EBB_TRY(pairs_agree(out, b, run, step > 10 * b->step ? 2 : pairs_of(b, step)));
    ebb_stats s;
    ebb_stats_get(&s, run->ctx);
    out->high_water = (double)s.peak_bytes / (double)s.budget_bytes;
    if (s.peak_bytes > s.budget_bytes) has_failed = true;
    return EBB_OK;
}

/* policy NULL: ours, with steps to learn from. */
static ebb_status measure(measured *out, base *b, double r, const ebb__policy *policy)
{
    zoo_run run;
    ebb_error_clear();
    ebb_status status = zoo_open(&run, b->model, scale(), budget_at(b, r), N_THREADS, false);
    if (status == EBB_OK && policy) ebb__memory_fix_policy(run.ctx, policy);
    int most_warm = policy ? 2 : is_quick ? WARM : MOST_WARM;
    if (status == EBB_OK) status = measure_in(out, b, &run, most_warm);
    zoo_close(&run);
    return status;
}

/* ---- chains ------------------------------------------------------------------------------ */

enum { CHAIN_MAX = 256 };

/* The least number of operations run in all to have n values, each made from the one before, one
 * after the other from the last, with room for s: the first j are run for the j-th to stay,
 * then what is behind it, then what is before it. */
static int optimum(int n, int s)
{
    static int least[CHAIN_MAX + 1][CHAIN_MAX + 1]; /* by s, n */
    if (s < 1 || n > CHAIN_MAX) return 0;
    if (s > CHAIN_MAX) s = CHAIN_MAX;
    for (int k = 1; k <= s; k++)
        for (int l = 0; l <= n; l++) {
            least[k][l] = l * (l + 1) / 2;
            for (int j = 1; k > 1 && j <= l; j++) {
                int all = j + least[k - 1][l - j] + least[k][j - 1];
                if (all < least[k][l]) least[k][l] = all;
            }
        }
    return least[s][n];
}

/* A backward step has the value it reads, and a gradient, which is written over. */
static void chain_rows(const base *b, const measured *m, double r)
{
    const int n = b->model->variant;
    const size_t one = ebb_n_bytes(b->run.x);
    int room = (int)((budget_at(b, r) - b->pinned) / one), least = optimum(n, room - 1);
    if (!least) return;
    double op = b->forward / n, best = b->step + (least - n) * op;
    row(b, "operations run again", r, m->n_recomputes, "1/step", m->n_pairs, 0);
    row(b, "optimum of that", r, least - n, "1/step", 1, 0);
    row(b, "optimum slowdown", r, best / b->step, "x", 1, 0);
    row(b, "recompute over optimum", r, (b->step + m->n_recomputes * op) / best, "x", 1, 0);
    row(b, "time over optimum", r, m->slowdown * b->step / best, "x", m->n_pairs, 0);
}

/* ---- rows -------------------------------------------------------------------------------- */

/* With the recorded step's estimates: what no schedule avoids, and what a plan costs. */
static ebb_status simulated_rows(const base *b, double r)
{
    const ebb_simulate_options planned = {.policy = EBB_POLICY_PLANNED, .most_runs = 120};
    const double less = (1 - r) * (double)(b->peak - b->pinned);
    if (less >= (double)b->facts.peak_bytes) return EBB_OK;
    ebb_simulation s;
    EBB_TRY(
        ebb_iteration_simulate(&s, b->iteration, b->facts.peak_bytes - (size_t)less, &planned));
    if (s.is_infeasible) return EBB_OK;
    row(b, "least possible", r, s.bound, "x", 1, 0);
    if (s.works) row(b, "simulated plan", r, s.slowdown, "x", 1, 0);
    return EBB_OK;
}

static void budget_rows(base *b, double r)
{
    measured m;
    if (measure(&m, b, r, NULL) != EBB_OK) {
        if (ebb_error_status() != EBB_E_BUDGET) has_failed = true;
        fprintf(stderr, "%s r=%.2g: %s\n", b->model->name, r, ebb_error_message());
        return;
    }
    double rest = m.slowdown - 1 - m.recompute - m.moves;
    row(b, "slowdown", r, m.slowdown, "x", m.n_pairs, m.spread);
    row(b, "share recompute", r, m.recompute, "x", m.n_pairs, 0);
    row(b, "share moves", r, m.moves, "x", m.n_pairs, 0);
    row(b, "share bookkeeping", r, rest, "x", m.n_pairs, 0);
    row(b, "first step", r, m.first, "x", 1, 0);
    row(b, "high water over budget", r, m.high_water, "x", 1, 0);
    row(b, "evictions", r, m.n_evictions, "1/step", m.n_pairs, 0);
    if (b->model->is_chain) chain_rows(b, &m, r);
}

/* Other choices on the same engine, as far as they get. */
static void baseline_rows(base *b, const char *figure, const ebb__policy *policy)
{
    static const double ratios[] = {0.7, 0.5, 0.3};
    for (int i = is_quick ? 2 : 0; i < 3 && !is_late(b); i++) {
        measured m;
        if (measure(&m, b, ratios[i], policy) != EBB_OK) {
            if (ebb_error_status() != EBB_E_BUDGET) has_failed = true;
            return;
        }
        row(b, figure, ratios[i], m.slowdown, "x", m.n_pairs, m.spread);
    }
}

/* A few steps, each after the same one without a budget: the best ratio of the last ones; 0 where it
 * does not fit. */
static double probe(base *b, double r)
{
    enum { STEPS = 5, FIRST = 2, TOO_LONG = 4 };
    double with, without, best = (double)INFINITY;
    zoo_run run;
    ebb_error_clear();
    ebb_status status = zoo_open(&run, b->model, scale(), budget_at(b, r), N_THREADS, false);
    for (int i = 0; i < STEPS && status == EBB_OK; i++) {
        status = pair_run(&with, &without, b, &run, 0);
        if (status == EBB_OK && i >= FIRST) best = fmin(best, with / without);
        if (best < (double)INFINITY && best > TOO_LONG) break;
    }
    if (status != EBB_OK && ebb_error_status() != EBB_E_BUDGET) has_failed = true;
    zoo_close(&run);
    return status == EBB_OK ? best : 0;
}

/* Slowdowns need not grow as r falls: all of a grid are tried down to the first that is refused, then
 * what lies between the smallest that is good enough and the next. */
static void smallest_rows(base *b)
{
    static const double grid[] = {0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05};
    enum { N = sizeof grid / sizeof *grid };
    const double fine = is_quick || is_late(b) ? 0.05 : 0.01;
    double low = grid[0], twice = 1, any = 1, slowdown = 1;
    for (int i = 0; i < N && slowdown > 0; i++) {
        slowdown = probe(b, grid[i]);
        if (slowdown > 0) any = grid[i];
        if (slowdown <= 0 || slowdown > 2) continue;
        twice = grid[i];
        low = i + 1 < N ? grid[i + 1] : 0;
    }
    while (twice - low > fine) {
        double r = (low + twice) / 2;
        slowdown = probe(b, r);
        if (slowdown > 0 && r < any) any = r;
        if (slowdown > 0 && slowdown <= 2)
            twice = r;
        else
            low = r;
    }
    row(b, "smallest r at twice the time", 0, twice, "r", 1, 0);
    row(b, "smallest r tried that fits", 0, any, "r", 1, 0);
}

/* Segments as regions: the peak in r, and the time. */
static ebb_status segment_rows(base *b)
{
    zoo_run run;
    base of_it = {0};
    measured m;
    ebb_status status = zoo_open(&run, b->model, scale(), 0, N_THREADS, true);
    if (status == EBB_OK) status = steps_run(&run, 2);
    if (status == EBB_OK) ebb_stats_reset_peak(run.ctx);
    if (status == EBB_OK) status = peak_find(&of_it, &run);
    if (status == EBB_OK) status = pairs_run(&m, b, &run, pairs_of(b, b->step));
    zoo_close(&run);
    EBB_TRY(status);
    row(b, "segments peak", 0, ratio_of(b, of_it.peak), "r", 1, 0);
    row(b, "segments slowdown", 0, m.slowdown, "x", m.n_pairs, m.spread);
    return EBB_OK;
}

static ebb_status model_rows(const zoo_model *model)
{
    static const double ratios[] = {0.9, 0.7, 0.5, 0.3, 0.2, 0.1}, few[] = {0.9, 0.5, 0.3};
    const double *r = is_quick ? few : ratios;
    const int n = is_quick ? sizeof few / sizeof *few : sizeof ratios / sizeof *ratios;
    base b;
    ebb_status status = base_open(&b, model);
    for (int i = 0; i < n && status == EBB_OK; i++) {
        budget_rows(&b, r[i]);
        ebb_error_clear();
        status = simulated_rows(&b, r[i]);
    }
    if (status == EBB_OK) {
        smallest_rows(&b);
        baseline_rows(&b, "slowdown by h_dtr", &ebb__policy_h_dtr);
        baseline_rows(&b, "slowdown by lru", &ebb__policy_lru);
        ebb_error_clear();
        status = segment_rows(&b);
    }
    base_close(&b);
    return status;
}

/* ---- the machine and the price of accounting --------------------------------------------- */

static void moves_measure(void)
{
    enum { BYTES = 32 << 20, MOVE = 4096 * 16 };
    char *p = malloc(BYTES + MOVE);
    if (!p) return;
    memset(p, 1, BYTES + MOVE);
    double best = INFINITY;
    for (int i = 0; i < 5; i++) {
        double start = bench_now();
        memmove(p + (i & 1 ? MOVE : 0), p + (i & 1 ? 0 : MOVE), BYTES);
        best = fmin(best, bench_now() - start);
    }
    move_seconds_per_byte = best / BYTES;
    bench_row("bytes moved in place", BYTES / best / 1e9, "GB/s", 5, 0);
    free(p);
}

enum { SMALL_OPS = 2000, SMALL_ROUNDS = 15 };

/* A chain of small operations, forward and backward; seconds per operation. */
static ebb_status small_ops(double *seconds, ebb_context *ctx, ebb_tensor *leaf)
{
    EBB_SCOPE(iter);
    double start = bench_now();
    ebb_tensor *y = ebb_mul(leaf, leaf);
    for (int i = 1; i < SMALL_OPS; i++) ebb_replace(&y, ebb_neg(y));
    EBB_TRY(ebb_backward(ebb_mean(y, EBB_ALL), NULL));
    *seconds = (bench_now() - start) / SMALL_OPS;
    (void)ctx;
    return ebb_clear_grad(leaf);
}

/* What a budget that is never short costs each operation. */
static ebb_status accounting_row(int64_t n)
{
    ebb_context *ctx[2];
    ebb_tensor *leaf[2];
    double run[2][SMALL_ROUNDS], more[SMALL_ROUNDS];
    char name[64];
    EBB_SCOPE(all);
    for (int k = 0; k < 2; k++) {
        EBB_TRY(ebb_context_create(
            &ctx[k], &(ebb_context_options){.n_threads = 1,
                                            .memory_budget_bytes = k ? (size_t)1 << 30 : 0}));
        leaf[k] = ebb_ones(ctx[k], EBB_F32, EBB_SHAPE(n));
        EBB_TRY(ebb_set_requires_grad(leaf[k], true));
    }
    for (int i = 0; i < SMALL_ROUNDS; i++)
        for (int k = 0; k < 2; k++) EBB_TRY(small_ops(&run[k][i], ctx[k], leaf[k]));
    for (int i = 0; i < SMALL_ROUNDS; i++) more[i] = (run[1][i] - run[0][i]) * 1e9;
    for (int k = 0; k < 2; k++) ebb_context_destroy(ctx[k]);
    qsort(more, SMALL_ROUNDS, sizeof *more, bench_compare);
    snprintf(name, sizeof name, "budget without pressure, %lld floats", (long long)n);
    bench_row(name, more[SMALL_ROUNDS / 2], "ns/op", SMALL_ROUNDS, 0);
    return EBB_OK;
}

/* Those named; else all, or three that are quick: of many sizes, of steps that differ, of known optimum. */
static bool wanted(const zoo_model *model, int argc, char **argv)
{
    int n_named = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], model->name) == 0) return true;
        n_named += argv[i][0] != '-';
    }
    if (n_named) return false;
    return !is_quick || model->make == zoo_unet_make ||
           (model->make == zoo_lstm_make && model->begin) ||
           (model->make == zoo_chain_make && model->variant == 32);
}

int main(int argc, char **argv)
{
    bool is_whole = argc == 1;
    for (int i = 1; i < argc; i++) is_quick |= strcmp(argv[i], "--quick") == 0;
    if (is_whole) bench_open("memory");
    moves_measure();
    ebb_status status = accounting_row(1);
    if (status == EBB_OK) status = accounting_row(256);
    for (int i = 0; i < zoo_n_models && status == EBB_OK; i++)
        if (wanted(&zoo_models[i], argc, argv)) status = model_rows(&zoo_models[i]);
    bench_close();
    if (status != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    return status == EBB_OK && !has_failed ? 0 : 1;
}
