/* bench_kernels.c - where the time of the demo network's training step goes: each operation at
 * its shape (batch 128), forward and backward apart.
 *
 * Microseconds, best of 25. Backward is that of the operation alone, to the inputs that want a
 * gradient in the network, from a given cotangent.
 * SPDX-License-Identifier: MIT */
#include "bench.h"

#include <ebb/ebb.h>

enum { BATCH = 128, RUNS = 25, MAX_WANTED = 3 };

typedef ebb_tensor *(*forward_fn)(ebb_tensor *const *in);

/* One operation of the network. */
typedef struct part {
    const char *name;
    forward_fn forward;
    ebb_shape in[3]; /* n_dims 0: none */
    int n_in, first_wanted;
} part;

static ebb_tensor *conv(ebb_tensor *const *in)
{
    return ebb_conv2d(in[0], in[1], in[2], &(ebb_conv2d_options){.padding = {1, 1}});
}
static ebb_tensor *relu(ebb_tensor *const *in)
{
    return ebb_relu(in[0]);
}
static ebb_tensor *pool(ebb_tensor *const *in)
{
    return ebb_max_pool2d(in[0], 2, 2, NULL);
}
static ebb_tensor *dropout(ebb_tensor *const *in)
{
    return ebb_dropout(in[0], 0.25);
}
static ebb_tensor *linear(ebb_tensor *const *in)
{
    return ebb_linear(in[0], in[1], in[2]);
}
static ebb_tensor *matmul(ebb_tensor *const *in)
{
    return ebb_matmul(in[0], in[1]);
}

/* The images want no gradient; everything else does. The product at the end is not of the
 * network: it tells how fast this machine multiplies. */
static const part parts[] = {
    {"conv 1->32 28x28", conv, {{4, {BATCH, 1, 28, 28}}, {4, {32, 1, 3, 3}}, {1, {32}}}, 3, 1},
    {"relu 32x28x28", relu, {{4, {BATCH, 32, 28, 28}}}, 1, 0},
    {"max_pool 2x2 32x28x28", pool, {{4, {BATCH, 32, 28, 28}}}, 1, 0},
    {"conv 32->64 14x14",
     conv,
     {{4, {BATCH, 32, 14, 14}}, {4, {64, 32, 3, 3}}, {1, {64}}},
     3,
     0},
    {"relu 64x14x14", relu, {{4, {BATCH, 64, 14, 14}}}, 1, 0},
    {"max_pool 2x2 64x14x14", pool, {{4, {BATCH, 64, 14, 14}}}, 1, 0},
    {"dropout 3136", dropout, {{2, {BATCH, 3136}}}, 1, 0},
    {"linear 3136->10", linear, {{2, {BATCH, 3136}}, {2, {10, 3136}}, {1, {10}}}, 3, 0},
    {"matmul 512x512x512", matmul, {{2, {512, 512}}, {2, {512, 512}}}, 2, 0}};
enum { N_PARTS = sizeof parts / sizeof *parts };

static ebb_status forward_run(double *out, const part *p, ebb_tensor *const *in)
{
    EBB_SCOPE(scope);
    double start = bench_now();
    EBB_TRY(ebb_check(p->forward(in)));
    *out = (bench_now() - start) * 1e6;
    return EBB_OK;
}

static ebb_status backward_run(double *out, const part *p, ebb_tensor *const *in,
                               ebb_tensor *seed)
{
    EBB_SCOPE(scope);
    ebb_tensor *y = p->forward(in), *grad[MAX_WANTED];
    EBB_TRY(ebb_check(y));
    double start = bench_now();
    EBB_TRY(
        ebb_grad(grad, &y, &seed, 1, in + p->first_wanted, p->n_in - p->first_wanted, NULL));
    *out = (bench_now() - start) * 1e6;
    return EBB_OK;
}

static ebb_status measure(ebb_context *ctx, const part *p, double total[2])
{
    EBB_SCOPE(scope);
    ebb_tensor *in[3] = {NULL};
    for (int i = 0; i < p->n_in; i++) {
        in[i] = ebb_normal(ctx, EBB_F32, p->in[i], 0, 1);
        if (i >= p->first_wanted) EBB_TRY(ebb_set_requires_grad(in[i], true));
    }
    ebb_tensor *y = ebb_detach(p->forward(in));
    EBB_TRY(ebb_check(y));
    ebb_tensor *seed = ebb_normal(ctx, EBB_F32, ebb_shape_get(y), 0, 1);
    double forward[RUNS], backward[RUNS];
    for (int i = -3; i < RUNS; i++) {
        double f, b;
        EBB_TRY(forward_run(&f, p, in));
        EBB_TRY(backward_run(&b, p, in, seed));
        if (i >= 0) forward[i] = f, backward[i] = b;
    }
    char name[80];
    snprintf(name, sizeof name, "%s forward", p->name);
    bench_runs(name, forward, RUNS, 0, "us");
    snprintf(name, sizeof name, "%s backward", p->name);
    bench_runs(name, backward, RUNS, 0, "us");
    total[0] += forward[0]; /* sorted */
    total[1] += backward[0];
    return EBB_OK;
}

static ebb_status run(ebb_context *ctx)
{
    double total[2] = {0, 0};
    for (int i = 0; i < N_PARTS; i++) {
        if (i == N_PARTS - 1) {
            bench_row("sum of the network's operations forward", total[0], "us", RUNS, 0);
            bench_row("sum of the network's operations backward", total[1], "us", RUNS, 0);
        }
        EBB_TRY(measure(ctx, &parts[i], total));
    }
    return EBB_OK;
}

int main(void)
{
    bench_open("kernels");
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = run(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    bench_close();
    return s != EBB_OK;
}
