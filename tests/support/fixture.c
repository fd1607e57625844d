/* fixture.c - what most tests of the public interface start from.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include "autodiff/engine.h"
#include "base/context.h"

int fixture_setup(void **state)
{
    ebb_error_clear();
    ebb_context *ctx = NULL;
    if (ebb_context_create(&ctx, NULL) != EBB_OK) {
        print_error("%s\n", ebb_error_message());
        return -1;
    }
    *state = ctx;
    return 0;
}

int fixture_teardown(void **state)
{
    ebb_context *ctx = *state;
    ebb_stats stats;
    ebb_stats_get(&stats, ctx);
    const char *graph = ebb__graph_check(ctx->space), *memory = ebb__memory_check(ctx);
    if (graph) print_error("graph: %s\n", graph);
    if (memory) print_error("memory: %s\n", memory);
    if (stats.live_nodes) print_error("%lld nodes are live\n", (long long)stats.live_nodes);
    ebb_context_destroy(ctx);
    ebb_error_clear();
    return graph || memory || stats.live_nodes ? -1 : 0;
}

ebb_tensor *vector(ebb_context *ctx, int64_t n, const double *values)
{
    return EBB_FROM(ctx, EBB_SHAPE(n), values, n);
}

ebb_tensor *scalar(ebb_context *ctx, double value)
{
    return EBB_FROM(ctx, EBB_SCALAR, &value, 1);
}

ebb_tensor *leaf_scalar(ebb_context *ctx, double value)
{
    ebb_tensor *t = scalar(ctx, value);
    assert_ok(ebb_set_requires_grad(t, true));
    return t;
}

double grad_item(ebb_tensor *leaf)
{
    assert_true(ebb_has_grad(leaf));
    return ebb_item(ebb_grad_of(leaf));
}
