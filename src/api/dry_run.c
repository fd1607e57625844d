/* dry_run.c - a training step with shapes only, recorded.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NO_SITES
#define EBB_NO_SITES
#endif
#include "api/api.h"

#include "autodiff/dry.h"

#include <ebb/plan.h>

/* In a scope of its own: what the step leaves behind has no values. */
static ebb_status step_run(ebb_status (*step)(void *user), void *user)
{
    ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_status status = scope.id ? step(user) : ebb_error_status();
    ebb_scope_end(scope);
    return status;
}

ebb_status ebb_dry_run(ebb_iteration **iteration_out, ebb_context *ctx,
                       ebb_status (*step)(void *user), void *user)
{
    if (iteration_out) *iteration_out = NULL;
    if (!iteration_out || !ctx || !step)
        return ebb__fail(EBB_E_MISUSE, "ebb_dry_run: iteration_out, ctx or step is NULL");
    EBB_TRY(ebb__context_usable(ctx));
    ebb_recorder *recorder;
    EBB_TRY(ebb__call_end(ebb__error_op(), ctx, ebb__dry_begin(ctx)));
    ebb_status status = ebb_recorder_begin(&recorder, ctx);
    if (status != EBB_OK) {
        ebb__dry_end(ctx);
        return status;
    }
    status = step_run(step, user);
    ebb_error failure;
    ebb_error_get(&failure);
    ebb_status recorded = ebb_recorder_end(status == EBB_OK ? iteration_out : NULL, recorder);
    ebb__dry_end(ctx);
    if (status == EBB_OK) return recorded;
    ebb__error_adopt(&failure);
    return status;
}

bool ebb_is_dry_run(const ebb_context *ctx)
{
    return ctx && ebb__is_dry(ctx);
}
