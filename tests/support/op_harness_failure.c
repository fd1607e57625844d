/* op_harness_failure.c - a case with each allocation refused once, and with the budget too
 * small by every step: one clear error, nothing left behind, and the next call is right.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"
#include "support/refusing.h"

#include "base/context.h"
#include "memory/value.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_REFUSALS = 400, MAX_STEPS = 24 };

static const char *compare_both(const char *what, const harness_results *out,
                                const harness_results *grads, const harness_results *want,
                                const harness_results *want_grads)
{
    const char *fault = harness_compare(what, out, want, 0);
    return fault ? fault : harness_compare(what, grads, want_grads, 0);
}

static const char *run_right(const char *what, const harness_case *c, ebb_context *ctx,
                             const harness_results *want, const harness_results *want_grads)
{
    harness_results out = {0}, grads = {0};
    if (harness_run(&out, &grads, c, &(harness_options){.ctx = ctx}) != EBB_OK)
        return verdict("%s: %s", what, ebb_error_message());
    const char *fault = compare_both(what, &out, &grads, want, want_grads);
    harness_results_free(&out), harness_results_free(&grads);
    return fault;
}

/* One run that should fail with `status`, or succeed. *failed says which it was. */
static const char *run_failing(bool *failed, const harness_case *c, ebb_context *ctx,
                               ebb_status want)
{
    ebb_stats before, after;
    harness_results out = {0}, grads = {0};
    ebb_stats_get(&before, ctx);
    ebb_error_clear();
    ebb_status status = harness_run(&out, &grads, c, &(harness_options){.ctx = ctx});
    harness_results_free(&out), harness_results_free(&grads);
    *failed = status != EBB_OK;
    if (!*failed) return NULL;
    if (status != want || ebb_error_status() != want || strlen(ebb_error_message()) < 10)
        return verdict("%s \"%s\", %s expected", ebb_status_name(status), ebb_error_message(),
                       ebb_status_name(want));
    ebb_stats_get(&after, ctx);
    if (after.live_nodes != 0 || after.n_handles != before.n_handles ||
        after.used_bytes != before.used_bytes)
        return verdict(
            "after a failure %lld nodes, %lld handles, %lld bytes are left (%s)",
            (long long)after.live_nodes, (long long)(after.n_handles - before.n_handles),
            (long long)after.used_bytes - (long long)before.used_bytes, ebb_error_message());
    return NULL;
}

/* *done: no call was refused any more. */
static const char *refuse_one(bool *done, const harness_case *c, int64_t k,
                              const harness_results *want, const harness_results *want_grads)
{
    refusing r = {.refuse_at = k};
    ebb_allocator hook = {refusing_alloc, refusing_free, &r};
    ebb_context *ctx = NULL;
    const char *fault = NULL;
    ebb_error_clear();
    ebb_status status = ebb_context_create(
        &ctx, &(ebb_context_options){.n_threads = 2, .seed = 7, .allocator = &hook});
    if (status != EBB_OK && (status != EBB_E_NOMEM || ctx))
        fault = verdict("refusal %lld: context: %s", (long long)k, ebb_error_message());
    if (status == EBB_OK) {
        bool failed;
        fault = run_failing(&failed, c, ctx, EBB_E_NOMEM);
        r.refuse_at = -1;
        if (!fault) fault = run_right("the run after a refusal", c, ctx, want, want_grads);
    }
    *done = r.n_calls <= k;
    ebb_context_destroy(ctx);
    if (!fault && r.n_live != 0)
        fault = verdict("refusal %lld: %lld blocks were never freed", (long long)k,
                        (long long)r.n_live);
    return fault;
}

const char *harness_check_failure(const harness_case *c)
{
    harness_results want = {0}, want_grads = {0};
    if (harness_run(&want, &want_grads, c, NULL) != EBB_OK)
        return verdict("%s", ebb_error_message());
    const char *fault = NULL;
    bool done = false;
    for (int64_t k = 0; !fault && !done; k++) {
        fault = refuse_one(&done, c, k, &want, &want_grads);
        if (k == MAX_REFUSALS) fault = verdict("more than %d allocations", MAX_REFUSALS);
    }
    harness_results_free(&want), harness_results_free(&want_grads);
    return fault;
}

/* ---- every budget step ------------------------------------------------------------------- */
/* Leaves `room` bytes to charge and runs. */
static const char *run_in_room(bool *failed, const harness_case *c, ebb_context *ctx,
                               size_t room)
{
    size_t available = ebb__account_free(ctx->account);
    size_t ballast = available > room ? (available - room) / 64 * 64 : 0;
    void *p = ballast ? ebb_alloc(ctx, ballast, EBB_KIND_DATA) : NULL;
    if (ballast && !p) return verdict("ballast of %zu bytes: %s", ballast, ebb_error_message());
    const char *fault = run_failing(failed, c, ctx, EBB_E_BUDGET);
    if (p) ebb_free(ctx, p, ballast, EBB_KIND_DATA);
    return fault;
}

/* Tiny values come from the pool, which may have room of its own. */
static bool has_block(const harness_case *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i].n * (int64_t)ebb__dtype_size(c->in[i].dtype) > EBB__TINY_BYTES)
            return true;
    return false;
}

static const char *step_budget(const harness_case *c, ebb_context *ctx, size_t need,
                               const harness_results *want, const harness_results *want_grads)
{
    size_t step = need / MAX_STEPS / 64 * 64 + 64;
    bool failed = true;
    for (size_t room = 0; failed; room += step) {
        if (room > 4 * need + (256 << 10)) return verdict("%zu bytes are not enough", room);
        const char *fault = run_in_room(&failed, c, ctx, room);
        if (!fault && failed)
            fault = run_right("the run after a refused one", c, ctx, want, want_grads);
        if (fault) return verdict("with room for %zu bytes: %s", room, fault);
        if (room == 0 && !failed && has_block(c)) return verdict("ran in no room at all");
    }
    return NULL;
}

const char *harness_check_budget(const harness_case *c)
{
    harness_results want = {0}, want_grads = {0};
    ebb_context *ctx = NULL;
    ebb_stats idle, peak;
    const char *fault = NULL;
    ebb_context_options options = {.n_threads = 2, .seed = 7, .memory_budget_bytes = 16 << 20};
    if (harness_run(&want, &want_grads, c, NULL) != EBB_OK)
        return verdict("%s", ebb_error_message());
    if (ebb_context_create(&ctx, &options) != EBB_OK)
        fault = verdict("%s", ebb_error_message());
    if (!fault) fault = run_right("with a large budget", c, ctx, &want, &want_grads);
    if (!fault) {
        ebb_stats_get(&idle, ctx);
        ebb_stats_reset_peak(ctx);
        fault = run_right("with a large budget", c, ctx, &want, &want_grads);
        ebb_stats_get(&peak, ctx);
    }
    if (!fault) {
        size_t need = peak.peak_bytes > idle.used_bytes ? peak.peak_bytes - idle.used_bytes : 0;
        fault = step_budget(c, ctx, need, &want, &want_grads);
    }
    ebb_context_destroy(ctx);
    harness_results_free(&want), harness_results_free(&want_grads);
    return fault;
}
