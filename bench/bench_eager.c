/* bench_eager.c - what one eager one-element operation costs: time forward and backward, bytes.
 *
 * A chain of 10,000 products on f32 scalars-as-vectors of one element: y = y * c with c
 * untracked, and y = y * x with both tracked. Best of 9; the same programs run under PyTorch in
 * bench_eager_torch.py.
 * SPDX-License-Identifier: MIT */
#include "bench.h"

#include <ebb/ebb.h>

enum { CHAIN = 10000, RUNS = 9 };

typedef struct result {
    double forward_ns, backward_ns, bytes;
} result;

static ebb_status chain(result *out, ebb_context *ctx, bool both)
{
    EBB_SCOPE(scope);
    float one = 1.0001f;
    ebb_tensor *x = EBB_FROM(ctx, EBB_SHAPE(1), &one, 1),
               *c = EBB_FROM(ctx, EBB_SHAPE(1), &one, 1);
    EBB_TRY(ebb_set_requires_grad(x, true));
    ebb_stats before, after;
    ebb_stats_get(&before, ctx);
    ebb_tensor *y = x, *factor = both ? x : c;
    double start = bench_now();
    for (int i = 0; i < CHAIN; i++) y = ebb_mul(y, factor);
    double middle = bench_now();
    ebb_stats_get(&after, ctx);
    double resume = bench_now();
    EBB_TRY(ebb_backward(y, NULL));
    double end = bench_now();
    EBB_TRY(ebb_check(ebb_grad_of(x)));
    *out = (result){(middle - start) * 1e9 / CHAIN, (end - resume) * 1e9 / CHAIN,
                    (double)(after.used_bytes - before.used_bytes) / CHAIN};
    return EBB_OK;
}

static ebb_status measure(ebb_context *ctx, const char *name, bool both, const char *mode)
{
    double forward[RUNS], backward[RUNS], bytes[RUNS];
    for (int i = -2; i < RUNS; i++) {
        result r;
        EBB_TRY(chain(&r, ctx, both));
        if (i < 0) continue;
        forward[i] = r.forward_ns;
        backward[i] = r.backward_ns;
        bytes[i] = r.bytes;
    }
    char row[96];
    snprintf(row, sizeof row, "eager %s forward%s", name, mode);
    bench_runs(row, forward, RUNS, 0, "ns/op");
    snprintf(row, sizeof row, "eager %s backward%s", name, mode);
    bench_runs(row, backward, RUNS, 0, "ns/op");
    snprintf(row, sizeof row, "eager %s memory%s", name, mode);
    bench_runs(row, bytes, RUNS, 0, "bytes/op");
    return EBB_OK;
}

static ebb_status run(bool single_threaded)
{
    ebb_context *ctx;
    ebb_context_options o = {.single_threaded = single_threaded};
    const char *mode = single_threaded ? " (single-threaded context)" : "";
    EBB_TRY(ebb_context_create(&ctx, &o));
    EBB_TRY(measure(ctx, "y=y*c", false, mode));
    EBB_TRY(measure(ctx, "y=y*x", true, mode));
    ebb_context_destroy(ctx);
    return EBB_OK;
}

int main(void)
{
    bench_open("eager");
    ebb_status s = run(false);
    if (s == EBB_OK) s = run(true);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    bench_close();
    return s != EBB_OK;
}
