/* gan.c - two networks against each other: one makes points, one tells them from real ones.
 * Each has its own optimizer on its own part of one parameter set.
 *
 *   gan [STEPS]
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct mlp {
    ebb_nn_linear l1, l2;
} mlp;

static mlp mlp_make(ebb_params *p, int64_t n_in, int64_t n_mid, int64_t n_out)
{
    return (mlp){ebb_nn_linear_make(p, "l1", n_in, n_mid),
                 ebb_nn_linear_make(p, "l2", n_mid, n_out)};
}

static ebb_tensor *mlp_forward(const mlp *m, ebb_tensor *x)
{
    return ebb_nn_linear_forward(&m->l2, ebb_relu(ebb_nn_linear_forward(&m->l1, x)));
}

static ebb_tensor *against(ebb_tensor *logits, double target)
{
    return ebb_bce_with_logits(logits, ebb_full_like(logits, target));
}

/* Mean of the points the generator makes now. */
static ebb_status generated_mean(double *out, ebb_context *ctx, const mlp *gen)
{
    EBB_NO_GRAD(scope);
    ebb_tensor *noise = ebb_normal(ctx, EBB_F32, EBB_SHAPE(1000, 16), 0, 1);
    ebb_tensor *mean = ebb_mean(mlp_forward(gen, noise), EBB_ALL);
    EBB_TRY(ebb_check(mean));
    *out = ebb_item(mean);
    return EBB_OK;
}

static ebb_status train(ebb_context *ctx, int n_steps)
{
    ebb_params *p;
    ebb_optimizer *opt_g, *opt_d;
    EBB_TRY(ebb_params_create(&p, ctx));
    mlp gen = mlp_make(ebb_params_sub(p, "gen"), 16, 128, 2);
    mlp dis = mlp_make(ebb_params_sub(p, "dis"), 2, 128, 1);
    const ebb_adam_options betas = {.betas = {0.5, 0.9}};
    EBB_TRY(ebb_adam_create(&opt_g, ebb_params_sub(p, "gen"), 1e-3, &betas));
    EBB_TRY(ebb_adam_create(&opt_d, ebb_params_sub(p, "dis"), 1e-3, &betas));

    double before, after;
    EBB_TRY(generated_mean(&before, ctx, &gen));
    for (int step = 0; step < n_steps; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *real = ebb_normal(ctx, EBB_F32, EBB_SHAPE(64, 2), 2, 0.1);
        ebb_tensor *fake = mlp_forward(&gen, ebb_normal(ctx, EBB_F32, EBB_SHAPE(64, 16), 0, 1));
        ebb_tensor *loss_d = ebb_add(against(mlp_forward(&dis, real), 1),
                                     against(mlp_forward(&dis, ebb_detach(fake)), 0));
        EBB_TRY(ebb_minimize(opt_d, loss_d, NULL));
        ebb_tensor *loss_g = against(mlp_forward(&dis, fake), 1);
        EBB_TRY(ebb_minimize(opt_g, loss_g, NULL));
        if (!isfinite(ebb_item(loss_d)) || !isfinite(ebb_item(loss_g)))
            return ebb_fail(EBB_E_INTERNAL, "step %d: a loss is not finite", step);
        if (step % 100 == 0)
            printf("%d: D %.3f G %.3f\n", step, ebb_item(loss_d), ebb_item(loss_g));
    }
    EBB_TRY(generated_mean(&after, ctx, &gen));
    printf("mean of the points: %.3f before, %.3f after, 2 wanted\n", before, after);
    if (!(fabs(after - 2) < fabs(before - 2)))
        return ebb_fail(EBB_E_INTERNAL, "the generator moved away from the real points");
    return EBB_OK;
}

int main(int argc, char **argv)
{
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = train(ctx, argc > 1 ? atoi(argv[1]) : 2000);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
