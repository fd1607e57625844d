/* bench_memory.c - what training under a budget costs, of all models or those named.
 *
 * P: bytes in use at most in a step without a budget. pinned: those in use between steps
 * (parameters, optimizer state, data, bookkeeping) and the gradients in their slots. A budget at r
 * is pinned + r (P - pinned).
 *
 * Rows: slowdown of a step at r against the same step without a budget (median of pairs that
 * take turns; of the sums where steps differ), after WARM steps; of it, what operations run again
 * take (measured) and what moves take (bytes moved at the machine's own speed); the first step
 * against a first step; bytes in use at most over the budget; the smallest r at which training
 * gets through, and gets through in twice the time; the bound below which no budget serves the
 * largest working set; segments of sqrt(n) blocks as regions, without a budget; for chains the
 * least number of operations to run again (by dynamic programming, Griewank & Walther 2000 with
 * a start that stays). n: pairs. EBB_BENCH_SHORT=1: small models, fewer budgets.
 * SPDX-License-Identifier: MIT */
#include "bench.h"
#include "models/zoo.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { WARM = 5, PAIRS = 7, SHORT_PAIRS = 3, N_THREADS = 2 };

static const double LONG_STEP = 0.8; /* seconds; fewer pairs from there */
static bool is_short, has_failed;
static double move_seconds_per_byte;

typedef struct base {
    const zoo_model *model;
    zoo_run run;
    size_t peak, pinned, lower_bound;
    double first, step, forward;
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
    return is_short ? ZOO_SHORT : ZOO_FULL;
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

static double ratio_of(const base *b, size_t bytes)
{
    return ((double)bytes - (double)b->pinned) / (double)(b->peak - b->pinned);
}

/* ---- without a budget -------------------------------------------------------------------- */

static ebb_status warm(zoo_run *run, int n)
{
    double seconds;
    for (int i = 0; i < n; i++) EBB_TRY(timed_step(&seconds, run));
    return EBB_OK;
}

/* The largest of all kinds of steps. */
static ebb_status peak_find(base *b, zoo_run *run)
{
    ebb_stats s;
    EBB_TRY(warm(run, run->model->begin ? 8 : 1));
    ebb_stats_get(&s, run->ctx);
    b->peak = s.peak_bytes;
    b->pinned = s.used_bytes + run->trained_bytes;
    return EBB_OK;
}

static ebb_status base_open(base *b, const zoo_model *model)
{
    double once, again;
    zoo_run extra;
    *b = (base){.model = model};
    ebb_status status = zoo_open(&extra, model, scale(), 0, N_THREADS, false);
    if (status == EBB_OK) status = timed_step(&once, &extra);
    zoo_close(&extra);
    EBB_TRY(status);
    EBB_TRY(zoo_open(&b->run, model, scale(), 0, N_THREADS, false));
    EBB_TRY(timed_step(&again, &b->run));
    b->first = (once + again) / 2;
    EBB_TRY(warm(&b->run, WARM - 1));
    ebb_stats_reset_peak(b->run.ctx);
    EBB_TRY(peak_find(b, &b->run));
    double run[5];
    for (int i = 0; i < 5; i++) EBB_TRY(timed_step(&run[i], &b->run));
    qsort(run, 5, sizeof *run, bench_compare);
    b->step = run[2];
    for (int i = 0; i < 5; i++) {
        EBB_SCOPE(forward);
        double start = bench_now();
        ebb_tensor *loss = zoo_loss(&b->run);
        if (!loss) return ebb_error_status();
        run[i] = bench_now() - start;
        ebb_clear(&b->run.loss);
    }
    qsort(run, 5, sizeof *run, bench_compare);
    b->forward = run[2];
    row(b, "step without a budget", 0, b->step * 1e3, "ms", 5, 0);
    row(b, "peak", 0, (double)b->peak / 1e6, "MB", 1, 0);
    row(b, "pinned", 0, (double)b->pinned / 1e6, "MB", 1, 0);
    return EBB_OK;
}

/* ---- under a budget ---------------------------------------------------------------------- */

typedef struct measured {
    double first, slowdown, spread, recompute, moves; /* shares of the time without a budget */
    double high_water, n_recomputes, n_evictions, moved;
    int n_pairs;
} measured;

static void refusal_note(base *b)
{
    ebb_budget_report report;
    if (ebb_error_budget(&report) && report.lower_bound_bytes > b->lower_bound)
        b->lower_bound = report.lower_bound_bytes;
}

/* The same step in both, the order changing. */
static ebb_status pair_run(double *with, double *without, base *b, zoo_run *run, int i)
{
    b->run.step = run->step;
    if (i % 2 == 0) EBB_TRY(timed_step(without, &b->run));
    EBB_TRY(timed_step(with, run));
    if (i % 2 != 0) EBB_TRY(timed_step(without, &b->run));
    return EBB_OK;
}

static ebb_status pairs_run(measured *out, base *b, zoo_run *run, int n)
{
    double ratio[64], with = 0, without = 0, all = 0, all_without = 0;
    ebb_room_stats before, after;
    ebb_room_stats_get(&before, run->ctx);
    for (int i = 0; i < n; i++) {
        EBB_TRY(pair_run(&with, &without, b, run, i));
        ratio[i] = with / without;
        all += with;
        all_without += without;
    }
    ebb_room_stats_get(&after, run->ctx);
    qsort(ratio, (size_t)n, sizeof *ratio, bench_compare);
    out->n_pairs = n;
    out->slowdown = b->model->begin ? all / all_without : ratio[n / 2];
    out->spread = (ratio[n - 1] - ratio[0]) / out->slowdown;
    out->recompute = (double)(after.recompute_ns - before.recompute_ns) * 1e-9 / all_without;
    out->moved = (double)(after.moved_bytes - before.moved_bytes) / n;
    out->moves = out->moved * n * move_seconds_per_byte / all_without;
    out->n_recomputes = (double)(after.n_recomputes - before.n_recomputes) / n;
    out->n_evictions = (double)(after.n_evictions - before.n_evictions) / n;
    return EBB_OK;
}

static ebb_status measure_in(measured *out, base *b, zoo_run *run)
{
    enum { TOO_LONG = 10 };
    double seconds, least = INFINITY;
    EBB_TRY(timed_step(&seconds, run));
    out->first = seconds / b->first;
    for (int i = 1; i < WARM; i++) {
        EBB_TRY(timed_step(&seconds, run));
        least = fmin(least, seconds);
        if (least > TOO_LONG * b->step) break;
    }
    int n = is_short || b->step > LONG_STEP ? SHORT_PAIRS : b->model->begin ? PAIRS + 1 : PAIRS;
    EBB_TRY(pairs_run(out, b, run, least > TOO_LONG * b->step ? 1 : n));
    ebb_stats s;
    ebb_stats_get(&s, run->ctx);
    out->high_water = (double)s.peak_bytes / (double)s.budget_bytes;
    if (s.peak_bytes > s.budget_bytes) has_failed = true;
    return EBB_OK;
}

static ebb_status measure(measured *out, base *b, double r)
{
    zoo_run run;
    ebb_error_clear();
    ebb_status status = zoo_open(&run, b->model, scale(), budget_at(b, r), N_THREADS, false);
    if (status == EBB_OK) status = measure_in(out, b, &run);
    if (status != EBB_OK) refusal_note(b);
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

/* A backward step has the value it reads and two gradients. */
static void chain_rows(const base *b, const measured *m, double r)
{
    const int n = b->model->variant;
    const size_t one = ebb_n_bytes(b->run.x);
    int room = (int)((budget_at(b, r) - b->pinned) / one), least = optimum(n, room - 2);
    if (!least) return;
    double op = b->forward / n, best = b->step + (least - n) * op;
    row(b, "operations run again", r, m->n_recomputes, "1/step", m->n_pairs, 0);
    row(b, "optimum of that", r, least - n, "1/step", 1, 0);
    row(b, "optimum slowdown", r, best / b->step, "x", 1, 0);
    row(b, "recompute over optimum", r, (b->step + m->n_recomputes * op) / best, "x", 1, 0);
    row(b, "time over optimum", r, m->slowdown * b->step / best, "x", m->n_pairs, 0);
}

/* ---- rows -------------------------------------------------------------------------------- */

static bool budget_rows(base *b, double r)
{
    measured m;
    if (measure(&m, b, r) != EBB_OK) {
        if (ebb_error_status() != EBB_E_BUDGET) has_failed = true;
        fprintf(stderr, "%s r=%.2g: %s\n", b->model->name, r, ebb_error_message());
        return false;
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
    return true;
}

/* A few steps: the best of the last two over one without a budget; 0 where it does not fit. */
static double probe(base *b, double r)
{
    enum { STEPS = 4 };
    double seconds[STEPS] = {0};
    zoo_run run;
    ebb_error_clear();
    ebb_status status = zoo_open(&run, b->model, scale(), budget_at(b, r), N_THREADS, false);
    double whole = b->step;
    for (int i = 0; i < STEPS && status == EBB_OK; i++) {
        if (b->model->begin && i == STEPS - 2) {
            b->run.step = run.step;
            status = timed_step(&whole, &b->run);
        }
        if (status == EBB_OK) status = timed_step(&seconds[i], &run);
        if (status == EBB_OK && i > 0 && !b->model->begin && seconds[i] > 4 * whole) {
            zoo_close(&run);
            return seconds[i] / whole;
        }
    }
    if (status != EBB_OK) refusal_note(b);
    if (status != EBB_OK && ebb_error_status() != EBB_E_BUDGET) has_failed = true;
    zoo_close(&run);
    if (status != EBB_OK) return 0;
    if (b->model->begin) return seconds[STEPS - 2] / whole;
    return fmin(seconds[STEPS - 1], seconds[STEPS - 2]) / whole;
}

static void smallest_rows(base *b)
{
    const double fine = is_short ? 0.04 : 0.01;
    double low = 0, twice = 1, any = 1;
    while (twice - low > fine) {
        double r = (low + twice) / 2, slowdown = probe(b, r);
        if (slowdown > 0 && r < any) any = r;
        if (slowdown > 0 && slowdown <= 2)
            twice = r;
        else
            low = r;
    }
    row(b, "smallest r at twice the time", 0, twice, "r", 1, 0);
    row(b, "smallest r tried that fits", 0, any, "r", 1, 0);
    if (b->lower_bound) row(b, "lower bound", 0, ratio_of(b, b->lower_bound), "r", 1, 0);
}

/* Segments as regions: the peak in r, and the time. */
static ebb_status segment_rows(base *b)
{
    zoo_run run;
    base of_it = {0};
    measured m;
    ebb_status status = zoo_open(&run, b->model, scale(), 0, N_THREADS, true);
    if (status == EBB_OK) status = warm(&run, 2);
    if (status == EBB_OK) ebb_stats_reset_peak(run.ctx);
    if (status == EBB_OK) status = peak_find(&of_it, &run);
    if (status == EBB_OK) status = pairs_run(&m, b, &run, is_short ? 2 : PAIRS);
    zoo_close(&run);
    EBB_TRY(status);
    row(b, "segments peak", 0, ratio_of(b, of_it.peak), "r", 1, 0);
    row(b, "segments slowdown", 0, m.slowdown, "x", m.n_pairs, m.spread);
    return EBB_OK;
}

static ebb_status model_rows(const zoo_model *model)
{
    static const double ratios[] = {0.9, 0.7, 0.5, 0.3, 0.2, 0.1}, few[] = {0.9, 0.5, 0.3};
    const double *r = is_short ? few : ratios;
    const int n = is_short ? sizeof few / sizeof *few : sizeof ratios / sizeof *ratios;
    base b;
    ebb_status status = base_open(&b, model);
    for (int i = 0; i < n && status == EBB_OK && budget_rows(&b, r[i]); i++) continue;
    if (status == EBB_OK) smallest_rows(&b);
    ebb_error_clear();
    if (status == EBB_OK) status = segment_rows(&b);
    zoo_close(&b.run);
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

static bool wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], name) == 0) return true;
    return argc == 1;
}

int main(int argc, char **argv)
{
    is_short = getenv("EBB_BENCH_SHORT") != NULL;
    if (!is_short && argc == 1) bench_open("memory");
    moves_measure();
    ebb_status status = accounting_row(1);
    if (status == EBB_OK) status = accounting_row(256);
    for (int i = 0; i < zoo_n_models && status == EBB_OK; i++)
        if (wanted(zoo_models[i].name, argc, argv)) status = model_rows(&zoo_models[i]);
    bench_close();
    if (status != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    return status == EBB_OK && !has_failed ? 0 : 1;
}
