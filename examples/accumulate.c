/* accumulate.c - a batch too large for memory as several small ones: gradients add up in the
 * slots, are clipped together and applied once.
 *
 * Shows at the end that eight micro-batches give the same step as one batch eight times as
 * large.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>

enum { MICRO = 8, N_IN = 12, N_CLASSES = 3, N_ROWS = 96, N_MICRO_BATCH = N_ROWS / MICRO };

static double norm_of_grads(ebb_params *params)
{
    double norm = NAN;
    return ebb_params_clip_grad_norm(&norm, params, INFINITY) == EBB_OK ? norm : (double)NAN;
}

static ebb_status train(double *loss_out, double *norm_out, ebb_loader *loader,
                        ebb_optimizer *opt, ebb_params *params, const ebb_nn_linear *m)
{
    ebb_batch batch;
    double total = 0;
    while (ebb_loader_next(loader, &batch)) {
        EBB_SCOPE(iter);
        ebb_tensor *logits = ebb_nn_linear_forward(m, batch.field[0]);
        ebb_tensor *loss = ebb_cross_entropy(logits, batch.field[1], NULL);
        loss = ebb_mul_scalar(loss, 1.0 / (double)batch.n_batches);
        EBB_TRY(ebb_backward(loss, NULL));
        total += ebb_item(loss);
        if (batch.index + 1 == batch.n_batches) {
            *norm_out = norm_of_grads(params);
            EBB_TRY(ebb_params_clip_grad_norm(NULL, params, 1.0));
            EBB_TRY(ebb_optimizer_step(opt));
        }
    }
    *loss_out = total;
    return EBB_OK;
}

/* One epoch from the same start; the rows of a batch of `batch` at a time. */
static ebb_status one_step(double *loss_out, double *norm_out, float *weight_out,
                           ebb_context *ctx, ebb_tensor *const *fields, int64_t batch)
{
    ebb_params *params;
    ebb_optimizer *sgd;
    ebb_loader *loader;
    EBB_TRY(ebb_params_create(&params, ctx));
    ebb_nn_linear m = {
        .weight =
            ebb_param(params, "weight", EBB_F32, EBB_SHAPE(N_CLASSES, N_IN), ebb_constant(0)),
        .bias = ebb_param(params, "bias", EBB_F32, EBB_SHAPE(N_CLASSES), ebb_constant(0))};
    EBB_TRY(ebb_sgd_create(&sgd, params, 0.5, NULL));
    EBB_TRY(ebb_loader_create(&loader, fields, 2, batch, NULL));
    EBB_TRY(train(loss_out, norm_out, loader, sgd, params, &m));
    EBB_TRY(EBB_READ(m.weight, weight_out, N_CLASSES * N_IN));
    ebb_loader_release(loader);
    ebb_optimizer_release(sgd);
    ebb_params_release(params);
    return EBB_OK;
}

static ebb_status run(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    float x[N_ROWS * N_IN], small[N_CLASSES * N_IN], large[N_CLASSES * N_IN];
    int64_t y[N_ROWS];
    for (int i = 0; i < N_ROWS; i++) {
        y[i] = i % N_CLASSES;
        for (int k = 0; k < N_IN; k++)
            x[i * N_IN + k] = (float)sin(i * 0.7 + k) + (k % N_CLASSES == y[i] ? 2.0f : 0.0f);
    }
    ebb_tensor *fields[] = {EBB_FROM(ctx, EBB_SHAPE(N_ROWS, N_IN), x, N_ROWS * N_IN),
                            EBB_FROM(ctx, EBB_SHAPE(N_ROWS), y, N_ROWS)};
    double loss[2], norm[2], worst = 0;
    EBB_TRY(one_step(&loss[0], &norm[0], small, ctx, fields, N_MICRO_BATCH));
    EBB_TRY(one_step(&loss[1], &norm[1], large, ctx, fields, N_ROWS));
    for (int i = 0; i < N_CLASSES * N_IN; i++) worst = fmax(worst, fabs(small[i] - large[i]));
    printf("%d micro-batches: loss %.6f norm %.6f\n", MICRO, loss[0], norm[0]);
    printf("one batch:       loss %.6f norm %.6f\n", loss[1], norm[1]);
    printf("largest difference of a weight after the step: %.2g\n", worst);
    /* The first loss of a model that knows nothing is log(classes). */
    if (!(worst < 1e-6 && fabs(norm[0] - norm[1]) < 1e-5 &&
          fabs(loss[0] - log(N_CLASSES)) < 1e-5))
        return ebb_fail(EBB_E_INTERNAL, "accumulated gradients differ from those of one batch");
    return EBB_OK;
}

int main(void)
{
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = run(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
