/* budget.c - a memory budget as a promise: a batch that does not fit is refused before anything
 * has happened, and half of it is tried.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>

enum { N_ROWS = 4096, N_IN = 64, N_MID = 512, N_CLASSES = 4, N_STEPS = 30, BUDGET = 12 << 20 };

typedef struct mlp {
    ebb_nn_linear l1, l2;
} mlp;

static ebb_tensor *mlp_forward(const mlp *m, ebb_tensor *x)
{
    EBB_SCOPE(scope);
    x = ebb_relu(ebb_nn_linear_forward(&m->l1, x));
    return ebb_escape(scope, ebb_nn_linear_forward(&m->l2, x));
}

static ebb_status step(double *loss_out, ebb_tensor *rows, ebb_tensor *labels, const mlp *m,
                       ebb_optimizer *opt, int64_t n)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_narrow(rows, 0, 0, n), *y = ebb_narrow(labels, 0, 0, n);
    ebb_tensor *loss = ebb_cross_entropy(mlp_forward(m, x), y, NULL);
    EBB_TRY(ebb_minimize(opt, loss, NULL));
    *loss_out = ebb_item(loss);
    return EBB_OK;
}

static ebb_status train_step(double *loss_out, ebb_tensor *rows, ebb_tensor *labels,
                             const mlp *m, ebb_optimizer *opt, int64_t *batch)
{
    for (; *batch > 0; *batch /= 2) {
        ebb_status s = step(loss_out, rows, labels, m, opt, *batch);
        if (s != EBB_E_BUDGET && s != EBB_E_NOMEM) return s;
        ebb_budget_report r;
        if (ebb_error_budget(&r))
            printf("batch %lld needs %zu bytes at once, the budget is %zu: halving\n",
                   (long long)*batch, r.needed_bytes, r.budget_bytes);
    }
    return ebb_fail(EBB_E_BUDGET, "not even one example fits");
}

static ebb_status run(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    static float x[N_ROWS * N_IN];
    static int64_t y[N_ROWS];
    for (int i = 0; i < N_ROWS; i++) {
        y[i] = i % N_CLASSES;
        for (int k = 0; k < N_IN; k++)
            x[i * N_IN + k] =
                (float)sin(i * 1.3 + k * 0.7) + (k % N_CLASSES == y[i] ? 1.0f : 0.0f);
    }
    ebb_tensor *rows = EBB_FROM(ctx, EBB_SHAPE(N_ROWS, N_IN), x, N_ROWS * N_IN);
    ebb_tensor *labels = EBB_FROM(ctx, EBB_SHAPE(N_ROWS), y, N_ROWS);
    ebb_params *params;
    ebb_optimizer *adam;
    EBB_TRY(ebb_params_create(&params, ctx));
    mlp m = {ebb_nn_linear_make(params, "l1", N_IN, N_MID),
             ebb_nn_linear_make(params, "l2", N_MID, N_CLASSES)};
    EBB_TRY(ebb_adam_create(&adam, params, 1e-3, NULL));

    int64_t batch = N_ROWS;
    double first = 0, last = 0;
    for (int i = 0; i < N_STEPS; i++) {
        EBB_TRY(train_step(&last, rows, labels, &m, adam, &batch));
        if (i == 0) first = last;
    }
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    printf("batch %lld: loss %.4f at first, %.4f at last; peak %zu of %zu bytes\n",
           (long long)batch, first, last, s.peak_bytes, s.budget_bytes);
    if (batch == N_ROWS || s.peak_bytes > s.budget_bytes || !(last < 0.5 * first))
        return ebb_fail(EBB_E_INTERNAL, "the budget was not kept, or nothing was learnt");
    return EBB_OK;
}

int main(void)
{
    ebb_context *ctx = NULL;
    ebb_status s =
        ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = BUDGET});
    if (s == EBB_OK) s = run(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
