/* test_refusals.c - memory refused at every step of a budget: whatever is being made says so
 * once, leaves nothing behind, and works where there is enough.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char file[] = "/tmp/ebb_test_refusals_XXXXXX";
static const ebb_loader_options shuffled = {.shuffle = true};

/* ---- what is made; each takes back what it made, whether it failed or not ---------------- */

static ebb_status build_set(ebb_context *ctx)
{
    ebb_params *p = NULL;
    EBB_TRY(ebb_params_create(&p, ctx));
    for (int i = 0; i < 12; i++)
        (void)ebb_nn_linear_make(ebb_params_sub(p, "blocks.%d", i), "linear", 8 + i, 3);
    (void)ebb_nn_batch_norm_make(p, "norm", 20);
    ebb_status s = ebb_params_status(p);
    ebb_params_release(p);
    return s == EBB_E_MISUSE
               ? ebb_fail(EBB_E_INTERNAL, "a name is taken: %s", ebb_error_message())
               : s;
}

static ebb_status run_epoch(ebb_loader *l)
{
    ebb_batch b;
    ebb_status s = EBB_OK;
    int64_t n = 0;
    while (ebb_loader_next(l, &b)) {
        if (!b.field[0]) s = ebb_error_status();
        n += b.n;
    }
    return n == 50 ? s : ebb_fail(EBB_E_INTERNAL, "%lld rows came", (long long)n);
}

static ebb_status load_batches(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    ebb_loader *l = NULL;
    ebb_tensor *fields[] = {ebb_zeros(ctx, EBB_F32, EBB_SHAPE(50, 7)),
                            ebb_zeros(ctx, EBB_I64, EBB_SHAPE(50))};
    EBB_TRY(ebb_check(fields[0]));
    EBB_TRY(ebb_check(fields[1]));
    EBB_TRY(ebb_loader_create(&l, fields, 2, 8, &shuffled));
    ebb_status s = run_epoch(l);
    ebb_loader_release(l);
    return s;
}

static ebb_status save_and_load(ebb_context *ctx)
{
    ebb_params *p = NULL;
    EBB_TRY(ebb_params_create(&p, ctx));
    (void)ebb_nn_linear_make(p, "a", 30, 20);
    (void)ebb_nn_linear_make(p, "b", 2, 2);
    ebb_status s = ebb_params_status(p);
    if (s == EBB_OK) s = ebb_params_save(p, file);
    if (s == EBB_OK) s = ebb_params_load(p, file, NULL);
    ebb_params_release(p);
    return s;
}

static ebb_status save_and_load_array(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    ebb_tensor *t = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(20, 10));
    EBB_TRY(ebb_check(t));
    EBB_TRY(ebb_save_npy(ebb_transpose(t, 0, 1), file));
    return ebb_check(ebb_load_npy(ctx, file));
}

static ebb_status step_twice(ebb_context *ctx)
{
    EBB_SCOPE(scope);
    ebb_params *p = NULL;
    ebb_optimizer *opt = NULL;
    EBB_TRY(ebb_params_create(&p, ctx));
    ebb_nn_linear m = ebb_nn_linear_make(p, "m", 30, 20);
    ebb_status s = ebb_adamw_create(&opt, p, 0.1, NULL);
    for (int i = 0; i < 2 && s == EBB_OK; i++) {
        EBB_SCOPE(iter);
        ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(4, 30), 1);
        ebb_tensor *loss = ebb_sum(ebb_square(ebb_nn_linear_forward(&m, x)), EBB_ALL);
        s = ebb_minimize(opt, loss, &(ebb_minimize_options){.clip_grad_norm = 1});
    }
    ebb_optimizer_release(opt);
    ebb_params_release(p);
    return s;
}

/* ---- every budget ------------------------------------------------------------------------ */

typedef ebb_status made(ebb_context *ctx);

static size_t peak_of(made *make, size_t *base)
{
    ebb_context *ctx;
    ebb_stats s;
    assert_ok(ebb_context_create(&ctx, NULL));
    ebb_stats_get(&s, ctx);
    *base = s.used_bytes;
    assert_ok(make(ctx));
    ebb_stats_get(&s, ctx);
    ebb_context_destroy(ctx);
    return s.peak_bytes;
}

static void under_every_budget(made *make)
{
    size_t base;
    const size_t peak = peak_of(make, &base);
    int64_t n_refused = 0;
    for (size_t budget = base; budget < peak + 64; budget += 48) {
        ebb_context *ctx;
        ebb_stats before, after;
        if (ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = budget}) !=
            EBB_OK) {
            ebb_error_clear();
            continue;
        }
        ebb_stats_get(&before, ctx);
        const ebb_status s = make(ctx);
        if (s != EBB_OK) {
            if (s != EBB_E_BUDGET && s != EBB_E_NOMEM)
                fail_msg("budget %zu: %s", budget, ebb_error_message());
            n_refused++;
        }
        ebb_stats_get(&after, ctx);
        assert_true(after.peak_bytes <= budget);
        for (int k = 0; k < EBB_KIND_MAX; k++)
            if (k != EBB_KIND_CACHE && k != EBB_KIND_BOOKKEEPING)
                assert_int_equal(after.bytes[k], before.bytes[k]);
        assert_int_equal(after.live_nodes, 0);
        ebb_error_clear();
        ebb_context_destroy(ctx);
    }
    assert_true(n_refused > 5);
}

static void parameter_sets(void **state)
{
    (void)state;
    under_every_budget(build_set);
}

static void loaders(void **state)
{
    (void)state;
    under_every_budget(load_batches);
}

static void saved_sets(void **state)
{
    (void)state;
    under_every_budget(save_and_load);
}

static void arrays_in_files(void **state)
{
    (void)state;
    under_every_budget(save_and_load_array);
}

static void steps(void **state)
{
    (void)state;
    under_every_budget(step_twice);
}

static int make_file(void **state)
{
    (void)state;
    int fd = mkstemp(file);
    return fd < 0 ? -1 : close(fd);
}
static int remove_file(void **state)
{
    (void)state;
    return unlink(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameter_sets), cmocka_unit_test(loaders),
        cmocka_unit_test(saved_sets),     cmocka_unit_test(arrays_in_files),
        cmocka_unit_test(steps),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
