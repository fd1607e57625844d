/* op_harness_failure.c - a case with each allocation refused once, and with the budget too
 * small for each reservation: one clear error, nothing left behind, and the next call is right.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"
#include "support/refusing.h"

#include "autodiff/habit.h"
#include "base/context.h"
#include "memory/account.h"
#include "memory/mirror.h"
#include "memory/value.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_REFUSALS = 400 };

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

/* One run that should fail with `want`, or succeed. *failed says which it was. */
static const char *run_failing(bool *failed, harness_results *out, harness_results *grads,
                               const harness_case *c, ebb_context *ctx, ebb_status want)
{
    ebb_stats before, after;
    ebb_stats_get(&before, ctx);
    ebb_error_clear();
    ebb_status status = harness_run(out, grads, c, &(harness_options){.ctx = ctx});
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
        harness_results out = {0}, grads = {0};
        fault = run_failing(&failed, &out, &grads, c, ctx, EBB_E_NOMEM);
        harness_results_free(&out), harness_results_free(&grads);
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
typedef struct probe {
    const harness_case *c;
    const harness_results *want, *want_grads;
    ebb_context *ctx;
    bool failed;
    size_t high; /* bytes in use at most, beyond those before */
} probe;

/* Where something can be given up or written over, less room may do, and the results are right. */
static const char *run_in_room(probe *p, size_t room)
{
    ebb_stats before, after;
    harness_results out = {0}, grads = {0};
    ebb__account *account = p->ctx->account;
    while (ebb__habit_refused(p->ctx, 0)) { /* what tables would give back is room, too */
    }
    ebb__mirror_cut(p->ctx);
    size_t available = ebb__account_free(account);
    size_t ballast = available > room ? available - room : 0;
    if (!ebb__account_try(account, EBB_KIND_DATA, ballast))
        return verdict("ballast of %zu bytes is refused", ballast);
    ebb__account_reset_peak(account);
    ebb__account_stats(&before, account);
    const char *fault = run_failing(&p->failed, &out, &grads, p->c, p->ctx, EBB_E_BUDGET);
    ebb__account_stats(&after, account);
    ebb__account_discharge(account, EBB_KIND_DATA, ballast);
    if (!fault && !p->failed)
        fault = compare_both("with little room", &out, &grads, p->want, p->want_grads);
    harness_results_free(&out), harness_results_free(&grads);
    p->high = after.peak_bytes - before.used_bytes;
    if (!fault && p->high > room) fault = verdict("%zu bytes were used", p->high);
    if (!fault && p->failed)
        fault = run_right("the run after a refused one", p->c, p->ctx, p->want, p->want_grads);
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

static const char *context_new(probe *p)
{
    const ebb_context_options o = {.n_threads = 2, .seed = 7, .memory_budget_bytes = 16 << 20};
    ebb_context_destroy(p->ctx);
    p->ctx = NULL;
    return ebb_context_create(&p->ctx, &o) == EBB_OK ? NULL
                                                     : verdict("%s", ebb_error_message());
}

/* From room for all down: each run has one byte less than the one before has used at most, so
 * whatever raised the high water of that one is what finds no room. is_first: in the first run of
 * a context, which also makes slabs and the engine. */
static const char *step_budget(probe *p, bool is_first)
{
    const char *fault = context_new(p);
    if (!fault && !is_first)
        fault = run_right("with a large budget", p->c, p->ctx, p->want, p->want_grads);
    if (!fault) fault = run_in_room(p, SIZE_MAX);
    for (int32_t n = 0; !fault && p->high > 0; n++) {
        size_t room = p->high - 1;
        if (n == MAX_REFUSALS) return verdict("more than %d budget steps", MAX_REFUSALS);
        if (is_first) fault = context_new(p);
        if (!fault) fault = run_in_room(p, room);
        if (fault) return verdict("with room for %zu bytes: %s", room, fault);
    }
    if (!fault && !p->failed && has_block(p->c)) return verdict("ran in no room at all");
    return fault;
}

const char *harness_check_budget(const harness_case *c)
{
    harness_results want = {0}, want_grads = {0};
    probe p = {.c = c, .want = &want, .want_grads = &want_grads};
    if (harness_run(&want, &want_grads, c, NULL) != EBB_OK)
        return verdict("%s", ebb_error_message());
    const char *fault = step_budget(&p, false);
    if (!fault) fault = step_budget(&p, true);
    ebb_context_destroy(p.ctx);
    harness_results_free(&want), harness_results_free(&want_grads);
    return fault;
}
