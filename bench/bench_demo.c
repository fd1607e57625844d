/* bench_demo.c - images per second of the demo network, training and inference, and peak bytes.
 *
 * The network of examples/fashion_mnist.c (conv 32, pool, conv 64, pool, dropout, linear) with
 * Adam on random images, batch 128; the same under PyTorch in bench_demo_torch.py. Median of 9
 * runs of 20 steps.
 * SPDX-License-Identifier: MIT */
#include "bench.h"

#include <ebb/ebb.h>

enum { BATCH = 128, STEPS = 20, RUNS = 9 };

typedef struct cnn {
    ebb_nn_conv2d conv1, conv2;
    ebb_nn_linear fc;
} cnn;

static cnn cnn_make(ebb_params *p)
{
    ebb_conv2d_options same = {.padding = {1, 1}};
    return (cnn){ebb_nn_conv2d_make(p, "conv1", 1, 32, 3, &same),
                 ebb_nn_conv2d_make(p, "conv2", 32, 64, 3, &same),
                 ebb_nn_linear_make(p, "fc", 64 * 7 * 7, 10)};
}

static ebb_tensor *cnn_forward(const cnn *m, ebb_tensor *x, bool training)
{
    EBB_SCOPE(scope);
    ebb_replace(&x, ebb_nn_conv2d_forward(&m->conv1, x));
    ebb_replace(&x, ebb_relu(x));
    ebb_replace(&x, ebb_max_pool2d(x, 2, 2, NULL));
    ebb_replace(&x, ebb_nn_conv2d_forward(&m->conv2, x));
    ebb_replace(&x, ebb_relu(x));
    ebb_replace(&x, ebb_max_pool2d(x, 2, 2, NULL));
    ebb_replace(&x, ebb_reshape(x, EBB_SHAPE(-1, 64 * 7 * 7)));
    if (training) ebb_replace(&x, ebb_dropout(x, 0.25));
    return ebb_escape(scope, ebb_nn_linear_forward(&m->fc, x));
}

static ebb_status train_steps(const cnn *m, ebb_optimizer *adam, ebb_tensor *x, ebb_tensor *y)
{
    for (int i = 0; i < STEPS; i++) {
        EBB_SCOPE(iter);
        EBB_TRY(ebb_minimize(adam, ebb_cross_entropy(cnn_forward(m, x, true), y, NULL), NULL));
    }
    return EBB_OK;
}

static ebb_status infer_steps(const cnn *m, ebb_tensor *x)
{
    for (int i = 0; i < STEPS; i++) {
        EBB_NO_GRAD(iter);
        EBB_TRY(ebb_check(cnn_forward(m, x, false)));
    }
    return EBB_OK;
}

static ebb_status run(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    static int64_t label[BATCH];
    for (int i = 0; i < BATCH; i++) label[i] = i % 10;
    ebb_tensor *x = ebb_uniform(ctx, EBB_F32, EBB_SHAPE(BATCH, 1, 28, 28), 0, 1);
    ebb_tensor *y = EBB_FROM(ctx, EBB_SHAPE(BATCH), label, BATCH);
    ebb_params *params;
    ebb_optimizer *adam;
    EBB_TRY(ebb_params_create(&params, ctx));
    cnn model = cnn_make(params);
    EBB_TRY(ebb_adam_create(&adam, params, 1e-3, NULL));
    double train[RUNS], infer[RUNS];
    for (int i = -1; i < RUNS; i++) {
        double start = bench_now();
        EBB_TRY(train_steps(&model, adam, x, y));
        double middle = bench_now();
        EBB_TRY(infer_steps(&model, x));
        if (i < 0) continue;
        train[i] = BATCH * STEPS / (middle - start);
        infer[i] = BATCH * STEPS / (bench_now() - middle);
    }
    bench_runs("demo network training", train, RUNS, 0.5, "images/s");
    bench_runs("demo network inference", infer, RUNS, 0.5, "images/s");
    ebb_stats stats;
    ebb_stats_get(&stats, ctx);
    bench_row("demo network peak", (double)stats.peak_bytes, "bytes", 1, 0);
    return EBB_OK;
}

int main(void)
{
    bench_open("demo");
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = run(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    bench_close();
    return s != EBB_OK;
}
