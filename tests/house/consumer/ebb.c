/* ebb.c - a user's first program in C: adds two tensors and asks for a gradient.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>
#include <stdio.h>

static ebb_status add(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = EBB_VALUES(ctx, float, EBB_SHAPE(2), 1, 2);
    ebb_tensor *y = EBB_VALUES(ctx, float, EBB_SHAPE(2), 30, 40);
    EBB_TRY(ebb_set_requires_grad(x, true));
    ebb_tensor *z = ebb_add(x, y);
    float sum[2];
    EBB_TRY(EBB_READ(z, sum, 2));
    if (sum[0] != 31 || sum[1] != 42)
        return ebb_fail(EBB_E_INTERNAL, "(1, 2) + (30, 40) is (%g, %g)", sum[0], sum[1]);
    if (!ebb_requires_grad(z)) return ebb_fail(EBB_E_INTERNAL, "the sum has no history");
    return EBB_OK;
}

int main(void)
{
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = add(ctx);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    if (s == EBB_OK) puts("consumer ok");
    return s != EBB_OK;
}
