/* bench.h - rows of a benchmark: printed, and written to bench/results/NAME.csv.
 *
 * Columns: name,value,unit,n,spread. value is the best or the median of n runs as the program
 * says, spread = (largest - smallest) / value of those runs.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BENCH_H
#define EBB_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static FILE *bench_file;

static inline double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* From the top of the project, as make bench runs it; elsewhere only prints. */
static inline void bench_open(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "bench/results/%s.csv", name);
    bench_file = fopen(path, "w");
    if (bench_file) fprintf(bench_file, "name,value,unit,n,spread\n");
}

static inline void bench_row(const char *name, double value, const char *unit, int n,
                             double spread)
{
    printf("%-52s %12.4g %-10s n=%d spread=%.2f\n", name, value, unit, n, spread);
    if (bench_file)
        fprintf(bench_file, "\"%s\",%.6g,%s,%d,%.3f\n", name, value, unit, n, spread);
    fflush(NULL);
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorts the runs and writes one row: quantile 0 is the best (smallest), 0.5 the median. */
static inline void bench_runs(const char *name, double *run, int n, double quantile,
                              const char *unit)
{
    qsort(run, (size_t)n, sizeof *run, bench_compare);
    double value = run[(int)(quantile * (n - 1) + 0.5)];
    bench_row(name, value, unit, n, (run[n - 1] - run[0]) / value);
}

static inline void bench_close(void)
{
    if (bench_file) fclose(bench_file);
    bench_file = NULL;
}

#endif
