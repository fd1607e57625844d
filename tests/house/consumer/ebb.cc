/* ebb.cc - a user's first program in C++: the same, and a scope that closes itself.
 * SPDX-License-Identifier: MIT */
#include <cstdio>
#include <ebb/ebb.h>

static ebb_status add(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    const double a[] = {1, 2}, b[] = {30, 40};
    ebb_tensor *z =
        ebb_add(EBB_FROM(ctx, EBB_SHAPE(2), a, 2), EBB_FROM(ctx, EBB_SHAPE(2), b, 2));
    double sum[2];
    EBB_TRY(EBB_READ(z, sum, 2));
    if (sum[0] != 31 || sum[1] != 42)
        return ebb_fail(EBB_E_INTERNAL, "(1, 2) + (30, 40) is (%g, %g)", sum[0], sum[1]);
    return EBB_OK;
}

int main()
{
    ebb_context *ctx = nullptr;
    ebb_status s = ebb_context_create(&ctx, nullptr);
    if (s == EBB_OK) s = add(ctx);
    if (s != EBB_OK) std::fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    if (s == EBB_OK) std::puts("consumer ok");
    return s != EBB_OK;
}
