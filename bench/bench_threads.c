/* bench_threads.c - what a second thread brings: work done in a given time by two threads over
 * that of one, median of 9 pairs of runs.
 *
 * MLPs: 64-64-64-1 on rows of a shared table, each in a context of its own whose parent has the
 * table, batches of 32. Elements: chains of 1,000 products of a one-element tensor with a leaf
 * that all threads use, and a backward into the leaf's slot; in one context, and in a context
 * each. EBB_BENCH_SHORT=1 does a tenth.
 * SPDX-License-Identifier: MIT */
#include "bench.h"

#include <ebb/ebb.h>

#include <pthread.h>

enum { RUNS = 9, BATCH = 32, WIDTH = 64, TABLE_ROWS = 1000, CHAIN = 1000 };

typedef struct job {
    ebb_context *ctx;
    ebb_tensor *shared;
    bool own_context;
    int thread, n;
    ebb_status (*work)(struct job *j, ebb_context *ctx);
    pthread_barrier_t *start, *end;
    ebb_error error;
} job;

static ebb_status train(job *j, ebb_context *ctx)
{
    ebb_params *p;
    ebb_optimizer *sgd;
    EBB_TRY(ebb_params_create(&p, ctx));
    ebb_nn_linear a = ebb_nn_linear_make(p, "a", WIDTH, WIDTH),
                  b = ebb_nn_linear_make(p, "b", WIDTH, WIDTH),
                  c = ebb_nn_linear_make(p, "c", WIDTH, 1);
    EBB_TRY(ebb_sgd_create(&sgd, p, 0.01, NULL));
    int64_t ids[BATCH];
    float y[BATCH];
    pthread_barrier_wait(j->start);
    for (int step = 0; step < j->n; step++) {
        EBB_SCOPE(iter);
        for (int i = 0; i < BATCH; i++) {
            ids[i] = (step * 7 + j->thread * 31 + i) % TABLE_ROWS;
            y[i] = (float)(i & 1);
        }
        ebb_tensor *x = ebb_embedding(j->shared, EBB_FROM(ctx, EBB_SHAPE(BATCH), ids, BATCH));
        x = ebb_tanh(ebb_nn_linear_forward(&a, x));
        x = ebb_tanh(ebb_nn_linear_forward(&b, x));
        x = ebb_nn_linear_forward(&c, x);
        EBB_TRY(ebb_minimize(
            sgd, ebb_bce_with_logits(x, EBB_FROM(ctx, EBB_SHAPE(BATCH, 1), y, BATCH)), NULL));
    }
    return EBB_OK;
}

static ebb_status multiply(job *j, ebb_context *ctx)
{
    pthread_barrier_wait(j->start);
    for (int round = 0; round < j->n; round++) {
        EBB_SCOPE(iter);
        float one = 1;
        ebb_tensor *y = EBB_FROM(ctx, EBB_SHAPE(1), &one, 1);
        for (int i = 0; i < CHAIN; i++) ebb_replace(&y, ebb_mul(y, j->shared));
        EBB_TRY(ebb_backward(y, NULL));
    }
    return EBB_OK;
}

static void *job_main(void *arg)
{
    job *j = arg;
    ebb_context *ctx = j->ctx, *own = NULL;
    ebb_status s = EBB_OK;
    if (j->own_context)
        s = ebb_context_create(&own, &(ebb_context_options){.parent = j->ctx, .n_threads = 1});
    if (s == EBB_OK) s = j->work(j, own ? own : ctx);
    if (s != EBB_OK) {
        fprintf(stderr, "%s\n", ebb_error_message());
        exit(1);
    }
    pthread_barrier_wait(j->end);
    ebb_context_destroy(own);
    return NULL;
}

/* Seconds until all of n_threads have done their n. */
static double seconds(const job *like, int n_threads)
{
    pthread_barrier_t start, end;
    pthread_t thread[2];
    job j[2];
    pthread_barrier_init(&start, NULL, (unsigned)n_threads + 1);
    pthread_barrier_init(&end, NULL, (unsigned)n_threads + 1);
    for (int i = 0; i < n_threads; i++) {
        j[i] = *like;
        j[i].thread = i;
        j[i].start = &start;
        j[i].end = &end;
        pthread_create(&thread[i], NULL, job_main, &j[i]);
    }
    pthread_barrier_wait(&start);
    double began = bench_now();
    pthread_barrier_wait(&end);
    double took = bench_now() - began;
    for (int i = 0; i < n_threads; i++) pthread_join(thread[i], NULL);
    return took;
}

static void measure(const char *name, const job *j, double units)
{
    double one[RUNS], speedup[RUNS];
    char row[96];
    for (int i = -1; i < RUNS; i++) {
        double alone = seconds(j, 1), both = seconds(j, 2);
        if (i < 0) continue;
        one[i] = alone * 1e9 / units;
        speedup[i] = 2 * alone / both;
    }
    snprintf(row, sizeof row, "%s, one thread", name);
    bench_runs(row, one, RUNS, 0.5, "ns/unit");
    snprintf(row, sizeof row, "%s, two threads", name);
    bench_runs(row, speedup, RUNS, 0.5, "x one");
}

static ebb_status run(ebb_context *ctx, int scale)
{
    EBB_SCOPE(outer);
    float one = 1;
    ebb_tensor *table = ebb_normal(ctx, EBB_F32, EBB_SHAPE(TABLE_ROWS, WIDTH), 0, 1);
    ebb_tensor *leaf = EBB_FROM(ctx, EBB_SHAPE(1), &one, 1);
    EBB_TRY(ebb_set_requires_grad(table, true));
    EBB_TRY(ebb_set_requires_grad(leaf, true));
    job j = {.ctx = ctx, .shared = table, .own_context = true, .n = 100 * scale, .work = train};
    measure("MLPs on a shared table (step)", &j, j.n);
    j = (job){.ctx = ctx, .shared = leaf, .n = 50 * scale, .work = multiply};
    measure("elements on a shared leaf, one context (op)", &j, (double)j.n * CHAIN);
    j.own_context = true;
    measure("elements on a shared leaf, a context each (op)", &j, (double)j.n * CHAIN);
    return EBB_OK;
}

int main(void)
{
    ebb_context *ctx = NULL;
    bench_open("threads");
    ebb_status s = ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1});
    if (s == EBB_OK) s = run(ctx, getenv("EBB_BENCH_SHORT") ? 1 : 10);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    bench_close();
    return s != EBB_OK;
}
