/* threads.c - tenants that train side by side, each in a context of its own with a budget of
 * its own, on a table that belongs to their parent. Every error comes back with its tenant.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { N_TENANTS = 8, STEPS = 200, N_ROWS = 32, WIDTH = 64, TABLE_ROWS = 1000 };

typedef struct job {
    ebb_context *shared;
    ebb_tensor *table;
    int tenant;
    double first, last;
    ebb_error error;
} job;

static ebb_status train(ebb_context *ctx, job *j)
{
    ebb_params *p;
    ebb_optimizer *sgd;
    EBB_TRY(ebb_params_create(&p, ctx));
    ebb_nn_linear m = ebb_nn_linear_make(p, "linear", WIDTH, 1);
    EBB_TRY(ebb_sgd_create(&sgd, p, 0.1, NULL));
    for (int step = 0; step < STEPS; step++) {
        EBB_SCOPE(iter);
        int64_t ids[N_ROWS];
        float y[N_ROWS];
        for (int i = 0; i < N_ROWS; i++) {
            ids[i] = (j->tenant * 7 + i) % TABLE_ROWS;
            y[i] = (float)(i & 1);
        }
        ebb_tensor *rows =
            ebb_embedding(j->table, EBB_FROM(ctx, EBB_SHAPE(N_ROWS), ids, N_ROWS));
        ebb_tensor *loss = ebb_bce_with_logits(ebb_nn_linear_forward(&m, rows),
                                               EBB_FROM(ctx, EBB_SHAPE(N_ROWS, 1), y, N_ROWS));
        EBB_TRY(ebb_minimize(sgd, loss, NULL));
        j->last = ebb_item(loss);
        if (step == 0) j->first = j->last;
    }
    return EBB_OK;
}

static void *work(void *arg)
{
    job *j = arg;
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(
        &ctx, &(ebb_context_options){
                  .parent = j->shared, .memory_budget_bytes = 64u << 20, .n_threads = 1});
    if (s == EBB_OK) s = train(ctx, j);
    if (s != EBB_OK) ebb_error_get(&j->error);
    ebb_context_destroy(ctx);
    return NULL;
}

/* 32 random rows of width 64 can be told apart by a plane: the loss must fall. */
static int judge(const job *j)
{
    if (j->error.status != EBB_OK) {
        fprintf(stderr, "tenant %d: %s\n", j->tenant, j->error.message);
        return 1;
    }
    printf("tenant %d: loss %.4f at first, %.4f at last\n", j->tenant, j->first, j->last);
    return !(j->last < 0.5 * j->first);
}

int main(void)
{
    ebb_context *ctx = NULL;
    ebb_params *p;
    if (ebb_context_create(&ctx, NULL) != EBB_OK || ebb_params_create(&p, ctx) != EBB_OK) {
        fprintf(stderr, "%s\n", ebb_error_message());
        return 1;
    }
    ebb_tensor *table =
        ebb_param(p, "table", EBB_F32, EBB_SHAPE(TABLE_ROWS, WIDTH), ebb_normal_init(0, 1));
    pthread_t thread[N_TENANTS];
    job jobs[N_TENANTS];
    int n_bad = 0;
    for (int i = 0; i < N_TENANTS; i++) {
        jobs[i] = (job){.shared = ctx, .table = table, .tenant = i};
        if (pthread_create(&thread[i], NULL, work, &jobs[i]) != 0) return 1;
    }
    for (int i = 0; i < N_TENANTS; i++) {
        pthread_join(thread[i], NULL);
        n_bad += judge(&jobs[i]);
    }
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    printf("%lld graph nodes and %zu gradient bytes are left\n", (long long)s.live_nodes,
           s.bytes[EBB_KIND_GRADIENT]);
    n_bad += s.live_nodes != 0 || s.bytes[EBB_KIND_GRADIENT] != 0;
    ebb_context_destroy(ctx);
    return n_bad != 0;
}
