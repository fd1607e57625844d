/* physics.c - gradients through a simulation: finds stiffness and damping of an oscillator from
 * its track. Steps go along the gradient, as far as the curvature there (a Hessian-vector
 * product) says.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>

enum { STEPS = 200, ITERATIONS = 60 };
static const double time_step = 0.05, true_k = 1.5, true_c = 0.4;

/* Positions of a mass on a spring that starts at rest at 1, v' = -(k x + c v). The parameters
 * are logarithms: both must be positive. */
static ebb_tensor *simulate(ebb_context *ctx, ebb_tensor *log_k, ebb_tensor *log_c)
{
    EBB_SCOPE(scope);
    ebb_tensor *k = ebb_exp(log_k), *c = ebb_exp(log_c), *track[STEPS];
    ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SCALAR, 1);
    ebb_tensor *v = ebb_full(ctx, EBB_F64, EBB_SCALAR, 0);
    for (int i = 0; i < STEPS; i++) {
        ebb_tensor *force = ebb_add(ebb_mul(k, x), ebb_mul(c, v));
        v = ebb_sub(v, ebb_mul_scalar(force, time_step));
        x = ebb_add(x, ebb_mul_scalar(v, time_step));
        track[i] = x;
    }
    return ebb_escape(scope, ebb_stack(track, STEPS, 0));
}

/* The measurement: the same law in plain C. */
static void measure(double *out)
{
    double x = 1, v = 0;
    for (int i = 0; i < STEPS; i++) {
        v -= (true_k * x + true_c * v) * time_step;
        out[i] = x += v * time_step;
    }
}

/* Far from the goal the curvature may be small or negative; no step is longer than this. */
static double rate(const double g[2], const double hg[2])
{
    const double longest = 0.2, norm2 = g[0] * g[0] + g[1] * g[1];
    const double curvature = (g[0] * hg[0] + g[1] * hg[1]) / norm2;
    const double most = longest / sqrt(norm2);
    return curvature > 1 / most ? 1 / curvature : most;
}

static ebb_status fit(ebb_context *ctx)
{
    double measured[STEPS], value[2] = {0, 0};
    measure(measured);

    EBB_SCOPE(scope);
    ebb_params *params;
    EBB_TRY(ebb_params_create(&params, ctx));
    ebb_tensor *p[2] = {ebb_param(params, "log_k", EBB_F64, EBB_SCALAR, ebb_constant(0)),
                        ebb_param(params, "log_c", EBB_F64, EBB_SCALAR, ebb_constant(0))};
    ebb_tensor *want = EBB_FROM(ctx, EBB_SHAPE(STEPS), measured, STEPS);

    for (int it = 0; it < ITERATIONS; it++) {
        EBB_SCOPE(iter);
        ebb_tensor *loss = ebb_mse(simulate(ctx, p[0], p[1]), want), *g[2], *hg[2];
        EBB_TRY(ebb_grad(g, &loss, NULL, 1, p, 2, &(ebb_grad_options){.keep_graph = true}));
        EBB_TRY(ebb_hvp(hg, loss, p, g, 2));
        const double gs[2] = {ebb_item(g[0]), ebb_item(g[1])};
        const double hgs[2] = {ebb_item(hg[0]), ebb_item(hg[1])};
        const double r = rate(gs, hgs);
        for (int i = 0; i < 2; i++) {
            value[i] -= r * gs[i];
            EBB_TRY(EBB_WRITE(p[i], &value[i], 1));
        }
        if (it % 10 == 0) printf("%d loss %.3e\n", it, ebb_item(loss));
    }
    printf("k = %.6f (true %g), c = %.6f (true %g)\n", exp(value[0]), true_k, exp(value[1]),
           true_c);
    if (!(fabs(exp(value[0]) - true_k) < 1e-4 && fabs(exp(value[1]) - true_c) < 1e-4))
        return ebb_fail(EBB_E_INTERNAL, "the parameters were not found");
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
