/* custom_op.c - an operation of one's own, log(1 + |x|^p), that keeps its slope for the
 * backward pass and nothing else; its gradient is compared with central differences.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>

enum { N = 5 };

typedef struct attr {
    double p;
} attr;

static ebb_status shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *a)
{
    (void)a;
    if (in[0].dtype != EBB_F64) return ebb_fail(EBB_E_DTYPE, "x must be f64");
    d[0] = d[1] = EBB_F64; /* the output, and the slope that is kept */
    s[0] = s[1] = in[0].shape;
    return EBB_OK;
}

static ebb_status forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                          const void *a)
{
    const double p = ((const attr *)a)->p, *x = in[0].data;
    double *y = out[0].data, *slope = aux[0].data;
    int64_t n = 1;
    for (int64_t i = 0; i < in[0].shape.n_dims; i++) n *= in[0].shape.dims[i];
    for (int64_t i = 0; i < n; i++) {
        const double t = pow(fabs(x[i]), p);
        y[i] = log1p(t);
        slope[i] = copysign(p * pow(fabs(x[i]), p - 1) / (1 + t), x[i]);
    }
    return EBB_OK;
}

static ebb_status vjp(ebb_vjp *v, const void *a)
{
    (void)a;
    ebb_vjp_give(v, 0, ebb_mul(ebb_vjp_grad(v, 0), ebb_vjp_aux(v, 0)));
    return EBB_OK;
}

static const ebb_custom soft_log = {.name = "soft_log",
                                    .n_in = 1,
                                    .n_out = 1,
                                    .n_aux = 1,
                                    .attr_bytes = sizeof(attr),
                                    .need = {EBB_NEED_AUX(0)},
                                    .shape = shape,
                                    .forward = forward,
                                    .vjp = vjp};

static ebb_tensor *my_soft_log(ebb_tensor *x, double p)
{
    ebb_tensor *y = NULL;
    return ebb_apply(&y, &soft_log, &x, &(attr){p}) == EBB_OK ? y : NULL;
}

/* Weights that are all different: a sum would not notice errors that cancel. */
static const double weight[N] = {0.3, -1.1, 0.7, 2.0, -0.4};

static double loss_at(const double *x)
{
    double loss = 0;
    for (int i = 0; i < N; i++) loss += weight[i] * log1p(pow(fabs(x[i]), 1.7));
    return loss;
}

static ebb_status check(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    double x0[N] = {-2.0, -0.6, 0.4, 1.3, 3.1}, got[N], worst = 0;
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(N), x0, N);
    EBB_TRY(ebb_set_requires_grad(x, true));
    ebb_tensor *w = EBB_FROM(ctx, EBB_SHAPE(N), weight, N);
    ebb_tensor *loss = ebb_sum(ebb_mul(my_soft_log(x, 1.7), w), EBB_ALL);
    EBB_TRY(ebb_backward(loss, NULL));
    EBB_TRY(EBB_READ(ebb_grad_of(x), got, N));
    for (int i = 0; i < N; i++) {
        const double h = 1e-5, middle = x0[i];
        x0[i] = middle + h;
        const double above = loss_at(x0);
        x0[i] = middle - h;
        const double want = (above - loss_at(x0)) / (2 * h);
        x0[i] = middle;
        worst = fmax(worst, fabs(got[i] - want));
        printf("d loss / d x[%d]: %.9f, by differences %.9f\n", i, got[i], want);
    }
    printf("largest difference %.2g\n", worst);
    return worst < 1e-8 ? EBB_OK : ebb_fail(EBB_E_INTERNAL, "the backward rule is wrong");
}

int main(void)
{
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = check(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
