/* linreg.c - the smallest whole program: fits y = 3 x + 1.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>

static ebb_status fit(ebb_context *ctx)
{
    float xs[64], ys[64];
    for (int i = 0; i < 64; i++) {
        xs[i] = (float)i / 64;
        ys[i] = 3 * xs[i] + 1;
    }
    EBB_SCOPE(scope);
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(64, 1), xs, 64);
    ebb_tensor *y = EBB_FROM(ctx, EBB_SHAPE(64, 1), ys, 64);
    ebb_params *model;
    ebb_optimizer *sgd;
    EBB_TRY(ebb_params_create(&model, ctx));
    ebb_tensor *w = ebb_param(model, "w", EBB_F32, EBB_SHAPE(1, 1), ebb_constant(0));
    ebb_tensor *b = ebb_param(model, "b", EBB_F32, EBB_SHAPE(1), ebb_constant(0));
    EBB_TRY(ebb_sgd_create(&sgd, model, 0.5, NULL));

    for (int step = 0; step < 500; step++) {
        EBB_SCOPE(iter);
        ebb_tensor *loss = ebb_mse(ebb_add(ebb_matmul(x, w), b), y);
        EBB_TRY(ebb_minimize(sgd, loss, NULL));
        if (step % 100 == 0) printf("step %d loss %g\n", step, ebb_item(loss));
    }
    printf("y = %.3f x + %.3f\n", ebb_item(w), ebb_item(b));
    if (!(fabs(ebb_item(w) - 3) < 1e-2 && fabs(ebb_item(b) - 1) < 1e-2))
        return ebb_fail(EBB_E_INTERNAL, "the data says y = 3 x + 1");
    return EBB_OK;
}

int main(void)
{
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = fit(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
