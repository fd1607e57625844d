/* test_cases.c - what users of budgets and checkpoints ran into elsewhere: steps that do not fit,
 * long chains, holes, and state.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include "memory/reserve.h"

static ebb_context *with_budget(size_t bytes)
{
    ebb_context *ctx;
    GOOD(ebb_context_create(
        &ctx, &(ebb_context_options){.n_threads = 1, .memory_budget_bytes = bytes, .seed = 3}));
    return ctx;
}

/* ---- a batch that does not fit ----------------------------------------------------------- */

enum { WIDE = 64, MOST = 4096 };

static ebb_status step(ebb_params *p, ebb_optimizer *opt, const float *data, int64_t n)
{
    EBB_SCOPE(train_step);
    ebb_context *ctx = ebb_params_context(p);
    ebb_tensor *x = ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(n, WIDE), data,
                                    (size_t)n * WIDE * sizeof *data);
    ebb_tensor *h = ebb_tanh(ebb_matmul(x, ebb_params_find(p, "a")));
    h = ebb_tanh(ebb_matmul(h, ebb_params_find(p, "b")));
    return ebb_minimize(opt, ebb_mean(ebb_square(h), EBB_ALL), NULL);
}

static void a_smaller_batch_trains_on_after_a_refusal(void **state)
{
    (void)state;
    static float data[MOST * WIDE];
    for (int i = 0; i < MOST * WIDE; i++) data[i] = (float)(i % 17) * 0.1f;
    size_t budget = 1 << 20;
    ebb_context *ctx = with_budget(budget);
    ebb_params *p;
    ebb_optimizer *opt;
    GOOD(ebb_params_create(&p, ctx));
    ebb_param(p, "a", EBB_F32, EBB_SHAPE(WIDE, WIDE), ebb_xavier_uniform());
    ebb_param(p, "b", EBB_F32, EBB_SHAPE(WIDE, WIDE), ebb_xavier_uniform());
    GOOD(ebb_params_status(p));
    GOOD(ebb_sgd_create(&opt, p, 0.1, NULL));
    ebb_stats before, after;
    ebb_stats_get(&before, ctx);
    int n_refused = 0;
    int64_t batch = MOST;
    for (; batch > 0; batch /= 2) {
        ebb_status status = step(p, opt, data, batch);
        if (status == EBB_OK) break;
        assert_int_equal(status, EBB_E_BUDGET);
        ebb_budget_report r;
        assert_true(ebb_error_budget(&r));
        assert_int_equal(r.budget_bytes, budget);
        assert_true(r.needed_bytes > 0);
        ebb_stats_get(&after, ctx);
        assert_int_equal(after.n_handles, before.n_handles);
        assert_int_equal(after.live_nodes, 0);
        assert_int_equal(after.bytes[EBB_KIND_ACTIVATION], 0);
        assert_int_equal(after.bytes[EBB_KIND_TEMPORARY], 0);
        assert_true(after.peak_bytes <= budget);
        n_refused++;
        ebb_error_clear();
    }
    assert_true(n_refused > 0 && batch >= 128);
    for (int i = 0; i < 3; i++) GOOD(step(p, opt, data, batch));
    ebb_context_destroy(ctx);
}

static void a_refusal_names_need_budget_and_the_scope_that_holds_most(void **state)
{
    (void)state;
    ebb_context *ctx = with_budget(1 << 20);
    {
        EBB_SCOPE(outer);
        ebb_tensor *held = ebb_empty(ctx, EBB_F32, EBB_SHAPE(100000), EBB_KIND_DATA);
        assert_non_null(held);
        EBB_SCOPE(inner);
        ebb_tensor *x = ebb_ones(ctx, EBB_F32, EBB_SHAPE(50000));
        assert_non_null(x);
        assert_null(ebb_matmul(ebb_reshape(x, EBB_SHAPE(500, 100)),
                               ebb_reshape(x, EBB_SHAPE(100, 500))));
        ebb_budget_report r;
        assert_true(ebb_error_budget(&r));
        assert_int_equal(r.budget_bytes, 1 << 20);
        size_t sum = 0;
        for (int k = 0; k < EBB_KIND_MAX; k++) sum += r.needed_by_kind[k];
        assert_int_equal(sum, r.needed_bytes);
        /* both operands' bytes, the result's, and what cannot be given up */
        assert_true(r.needed_bytes > 400000 + 200000 + 1000000);
        assert_true(r.lower_bound_bytes > 400000 + 200000 + 1000000);
        assert_true(r.lower_bound_bytes <= r.needed_bytes);
        assert_string_equal(r.holder[0].scope, "outer");
        assert_int_equal(r.holder[0].bytes, 400000);
        assert_true(r.holder[0].line > 0);
        assert_string_equal(r.holder[1].scope, "inner");
        assert_non_null(strstr(ebb_error_message(), "1048576"));
        assert_non_null(strstr(ebb_error_message(), "400000 data"));
        /* nothing was given up for it */
        ebb_stats s;
        ebb_stats_get(&s, ctx);
        assert_true(s.bytes[EBB_KIND_ACTIVATION] >= 200000);
        ebb_error_clear();
    }
    ebb_context_destroy(ctx);
}

static void figures_add_up_and_are_said(const ebb_budget_report *r, size_t budget)
{
    char text[64];
    size_t sum = 0;
    for (int k = 0; k < EBB_KIND_MAX; k++) sum += r->needed_by_kind[k];
    assert_int_equal(sum, r->needed_bytes);
    assert_int_equal(r->budget_bytes, budget);
    assert_true(r->needed_bytes > budget);
    snprintf(text, sizeof text, "%zu bytes are needed at once, the budget is %zu",
             r->needed_bytes, budget);
    assert_non_null(strstr(ebb_error_message(), text));
    for (int k = 0; k < EBB_KIND_MAX; k++) {
        snprintf(text, sizeof text, "%zu %s", r->needed_by_kind[k], ebb_kind_name((ebb_kind)k));
        if (r->needed_by_kind[k] && !strstr(ebb_error_message(), text))
            fail_msg("'%s' is not said: %s", text, ebb_error_message());
    }
    snprintf(text, sizeof text, "no budget below %zu serves", r->lower_bound_bytes);
    if (r->lower_bound_bytes) assert_non_null(strstr(ebb_error_message(), text));
    snprintf(text, sizeof text, "%zu has served so far", r->smallest_known_bytes);
    if (r->smallest_known_bytes) assert_non_null(strstr(ebb_error_message(), text));
    if (!r->holder[0].file) return;
    snprintf(text, sizeof text, "%s (test_cases.c:%d) holds %zu", r->holder[0].scope,
             (int)r->holder[0].line, r->holder[0].bytes);
    assert_non_null(strstr(ebb_error_message(), text));
}

/* At each budget that does not do: in the forward, the backward, the optimizer; before an
 * operation, and where room was made for it and did not suffice. */
static void each_refusal_of_a_training_says_all_figures(void **state)
{
    (void)state;
    static const int batch[] = {32, 32, 64, 128};
    static float data[128 * WIDE];
    for (int i = 0; i < 128 * WIDE; i++) data[i] = (float)(i % 17) * 0.1f;
    int n_refused = 0, n_known = 0, n_bound = 0, n_later = 0;
    size_t least = SIZE_MAX, bound = 0;
    for (size_t budget = 200000; budget < 600000; budget += 3000) {
        ebb_context *ctx = with_budget(budget);
        ebb_params *p;
        ebb_optimizer *opt = NULL;
        ebb_error_clear();
        GOOD(ebb_params_create(&p, ctx));
        ebb_param(p, "a", EBB_F32, EBB_SHAPE(WIDE, WIDE), ebb_xavier_uniform());
        ebb_param(p, "b", EBB_F32, EBB_SHAPE(WIDE, WIDE), ebb_xavier_uniform());
        ebb_status status = ebb_params_status(p);
        if (status == EBB_OK) status = ebb_adam_create(&opt, p, 0.1, NULL);
        int n_steps = 0;
        for (; n_steps < 4 && status == EBB_OK; n_steps++)
            status = step(p, opt, data, batch[n_steps]);
        if (status == EBB_OK) {
            if (budget < least) least = budget;
        } else {
            ebb_budget_report r;
            assert_int_equal(status, EBB_E_BUDGET);
            assert_true(ebb_error_budget(&r));
            figures_add_up_and_are_said(&r, budget);
            /* a step that is refused in its update has not been served */
            if (n_steps <= 1) assert_int_equal(r.smallest_known_bytes, 0);
            n_refused++;
            n_known += r.smallest_known_bytes > 0;
            n_bound += r.lower_bound_bytes > 0;
            n_later += strstr(ebb_error_message(), "bytes more do not fit") != NULL;
            if (r.lower_bound_bytes > bound) bound = r.lower_bound_bytes;
        }
        ebb_context_destroy(ctx);
    }
    assert_true(n_refused > 10 && n_known > 0 && n_bound > 0 && n_later > 0 &&
                n_later < n_refused);
    assert_true(bound <= least); /* what was said not to serve does not */
    ebb_error_clear();
}

/* What was given up is made of something larger, for which there is no room any more. */
static void a_read_that_cannot_be_made_again_says_what_is_held(void **state)
{
    (void)state;
    enum { WIDTH = 1 << 14, ROWS = 10, HELD = 200000 };
    static float seen[WIDTH];
    const size_t budget = 1 << 20, large = ROWS * WIDTH * sizeof *seen;
    ebb_context *ctx = with_budget(budget);
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = ebb_tensor_copy(ctx, EBB_F32, EBB_SHAPE(WIDTH), seen, sizeof seen);
        ebb_tensor *y = ebb_sum(ebb_exp(ebb_expand(x, EBB_SHAPE(ROWS, WIDTH))), EBB_AXES(0));
        GOOD(ebb_check(y));
        ebb_tensor *held = ebb_empty(ctx, EBB_F32, EBB_SHAPE(HELD), EBB_KIND_DATA);
        GOOD(ebb_check(held));
        while (case_stats(ctx).bytes[EBB_KIND_ACTIVATION] > 0) /* until y has gone, too */
            GOOD(ebb_check(ebb_empty(ctx, EBB_F32, EBB_SHAPE(WIDTH / 4), EBB_KIND_DATA)));
        assert_int_equal(EBB_READ(y, seen, WIDTH), EBB_E_BUDGET);
        ebb_budget_report r;
        assert_true(ebb_error_budget(&r));
        figures_add_up_and_are_said(&r, budget);
        assert_int_equal(r.needed_by_kind[EBB_KIND_DATA], case_stats(ctx).bytes[EBB_KIND_DATA]);
        assert_true(r.needed_by_kind[EBB_KIND_ACTIVATION] >= large);
        assert_int_equal(r.needed_by_kind[EBB_KIND_TEMPORARY], 0);
        assert_non_null(strstr(ebb_error_message(), "bytes more do not fit"));
        ebb_error_clear();
        ebb_replace(&held, NULL);
        GOOD(EBB_READ(y, seen, WIDTH));
        for (int i = 0; i < WIDTH; i++) assert_true(seen[i] == ROWS);
    }
    ebb_context_destroy(ctx);
}

/* What was too much for a tenant's budget, or for one larger batch, is no bound of others'. */
static void a_bound_is_that_of_what_was_run_under_the_budget(void **state)
{
    (void)state;
    ebb_budget_report r;
    ebb_context *root = with_budget(4 << 20), *tenant;
    GOOD(ebb_context_create(
        &tenant, &(ebb_context_options){.parent = root, .memory_budget_bytes = 1 << 20}));
    ebb_scope scope = ebb_scope_begin(0, NULL);
    assert_null(ebb_zeros(root, EBB_F32, EBB_SHAPE(100 << 20)));
    assert_true(ebb_error_budget(&r) && r.lower_bound_bytes > (size_t)400 << 20);
    ebb_tensor *x = ebb_ones(root, EBB_F32, EBB_SHAPE(1 << 19)); /* half of the root's */
    GOOD(ebb_check(ebb_sum(x, EBB_ALL)));
    assert_null(ebb_zeros(tenant, EBB_F32, EBB_SHAPE(3 << 17)));
    assert_true(ebb_error_budget(&r));
    assert_int_equal(r.budget_bytes, 1 << 20);
    assert_int_equal(r.lower_bound_bytes, r.needed_bytes);
    assert_true(r.needed_bytes < (3 << 19) + (128 << 10));
    ebb_scope_end(scope);
    ebb_error_clear();
    ebb_context_destroy(tenant);
    ebb_context_destroy(root);
}

static void a_failure_without_figures_has_none_of_an_earlier_one(void **state)
{
    (void)state;
    ebb_budget_report r;
    ebb_context *ctx = with_budget(1 << 20);
    ebb_scope scope = ebb_scope_begin(0, NULL);
    assert_null(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1 << 20)));
    assert_true(ebb_error_budget(&r) && r.budget_bytes == 1 << 20);
    ebb_tensor *kept = ebb_keep(ebb_ones(ctx, EBB_F32, EBB_SHAPE(1 << 14)));
    assert_null(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1 << 20)));
    assert_true(ebb_error_budget(&r));
    assert_int_equal(r.held_by_user_bytes, 4 << 14);
    ebb_fail(EBB_E_BUDGET, "not even one example fits");
    assert_true(ebb_error_budget(&r));
    assert_true(r.needed_bytes == 0 && r.budget_bytes == 0 && r.holder[0].bytes == 0);
    ebb_release(kept);
    ebb_scope_end(scope);
    ebb_error_clear();
    ebb_context_destroy(ctx);
}

static void the_environment_gives_a_budget_or_is_refused(void **state)
{
    (void)state;
    const char *name = "EBB_MEMORY_BUDGET_BYTES";
    static const char *const none[] = {"", "0"}, *const bad[] = {"2G", "1e9", "-1", "none"};
    ebb_context *ctx;
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        setenv(name, none[i], 1);
        GOOD(ebb_context_create(&ctx, NULL));
        assert_int_equal(case_stats(ctx).budget_bytes, 0);
        ebb_context_destroy(ctx);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv(name, bad[i], 1);
        REFUSED(EBB_E_RANGE, ebb_context_create(&ctx, NULL));
    }
    ctx = with_budget(1 << 20); /* what is said outright counts */
    assert_int_equal(case_stats(ctx).budget_bytes, 1 << 20);
    ebb_context_destroy(ctx);
    setenv(name, "2000000", 1);
    GOOD(ebb_context_create(&ctx, NULL));
    assert_int_equal(case_stats(ctx).budget_bytes, 2000000);
    ebb_context_destroy(ctx);
    unsetenv(name);
}

/* ---- chains and holes -------------------------------------------------------------------- */

enum { DEEP = 200, N = 512 };

/* sin applied 200 times: value and derivative, and how many were run again. */
static void chain(ebb_context *ctx, double *y_out, double *g_out)
{
    EBB_SCOPE(iter);
    static double x0[N];
    for (int i = 0; i < N; i++) x0[i] = 0.7;
    ebb_tensor *x = case_tensor(ctx, EBB_SHAPE(N), x0, N);
    GOOD(ebb_set_requires_grad(x, true));
    ebb_tensor *y = x;
    for (int i = 0; i < DEEP; i++) {
        ebb_tensor *next = ebb_claim(ebb_sin(y));
        if (!next) fail_msg("%s", ebb_error_message());
        if (y != x) ebb_release(y);
        y = next;
    }
    GOOD(EBB_READ(y, y_out, N));
    GOOD(case_backward_sum(y));
    ebb_release(y);
    GOOD(EBB_READ(ebb_grad_of(x), g_out, N));
}

static void a_chain_of_200_fits_29_buffers_without_running_each_again_and_again(void **state)
{
    (void)state;
    static double y[N], g[N], y_free[N], g_free[N];
    ebb_context *ctx = with_budget(0);
    chain(ctx, y_free, g_free);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    size_t others = s.peak_by_kind[EBB_KIND_BOOKKEEPING];
    ebb_context_destroy(ctx);
    size_t buffer = N * sizeof(double), budget = (29 + 4) * buffer + others * 3 / 2;
    ctx = with_budget(budget);
    chain(ctx, y, g);
    ebb_stats_get(&s, ctx);
    ebb__room_stats r;
    ebb__room_stats_get(&r, ctx);
    assert_true(s.peak_bytes <= budget);
    ebb_context_destroy(ctx);
    assert_memory_equal(y, y_free, sizeof y);
    assert_memory_equal(g, g_free, sizeof g);
    assert_true(fabs(y[0] / 0.12001612211846752 - 1) < 1e-12);
    assert_true(fabs(g[0] / 0.0045234851479007 - 1) < 1e-12);
    assert_true(r.n_evictions > 0 && r.n_recomputes > 0);
    if (getenv("EBB_TEST_VERBOSE"))
        printf("%d evictions, %d runs again, peak %zu of %zu, bookkeeping %zu\n",
               (int)r.n_evictions, (int)r.n_recomputes, s.peak_bytes, budget,
               s.peak_by_kind[EBB_KIND_BOOKKEEPING]);
    if (r.n_recomputes > 400) fail_msg("%d were run again", (int)r.n_recomputes);
}

static void bytes_that_are_free_can_be_had_in_one_piece(void **state)
{
    (void)state;
    enum { KIB = 256 }; /* elements of 1 KiB */
    ebb_context *ctx = with_budget((64 << 10) * 16 + 200000);
    {
        EBB_SCOPE(scope);
        ebb_tensor *keep[64];
        int n = 0;
        /* 1 and 7 parts alternately, none of which can be made again */
        for (; n < 14; n++) {
            int64_t parts = n % 2 ? 7 : 1;
            keep[n] = ebb_empty(ctx, EBB_F32, EBB_SHAPE(parts * 16 * KIB / 2), EBB_KIND_DATA);
            if (!keep[n]) break;
            ebb_view v;
            GOOD(ebb_map(&v, keep[n], EBB_MAP_WRITE));
            for (int64_t i = 0; i < parts * 16 * KIB / 2; i++) ((float *)v.data)[i] = (float)n;
            ebb_unmap(keep[n]);
        }
        assert_true(n >= 10);
        /* every other goes: holes of one part each; all of them together are needed */
        size_t freed = 0;
        for (int i = 0; i < n; i += 2) {
            freed += ebb_n_bytes(keep[i]);
            ebb_replace(&keep[i], NULL);
        }
        ebb_tensor *x = ebb_empty(ctx, EBB_F32, EBB_SHAPE((int64_t)(freed / 4)), EBB_KIND_DATA);
        if (!x) fail_msg("%s", ebb_error_message());
        static float seen[7 * 16 * KIB];
        for (int i = 1; i < n; i += 2) {
            GOOD(EBB_READ(keep[i], seen, ebb_n_elems(keep[i])));
            for (int64_t k = 0; k < ebb_n_elems(keep[i]); k++) assert_true(seen[k] == (float)i);
        }
    }
    ebb_context_destroy(ctx);
}

/* A system that grants 32 MiB at a time: there the budget is no single chunk. */
static void *parts_alloc(void *user, size_t bytes, size_t alignment)
{
    (void)user;
    if (bytes > (size_t)32 << 20) return NULL;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void parts_free(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

static void values_of_two_sizes_give_way_to_one_large_one(void **state)
{
    enum { MIB = 1 << 18 }; /* elements */
    static float seen[7 * MIB];
    const ebb_allocator parts = {parts_alloc, parts_free, NULL};
    ebb_context *ctx;
    ebb_tensor *value[16];
    ebb_room_stats before, after;
    int n = 0;
    GOOD(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1,
                                                         .memory_budget_bytes = 64 << 20,
                                                         .allocator = *state ? &parts : NULL}));
    {
        EBB_SCOPE(scope);
        for (int64_t mib = 0; mib + (n % 2 ? 7 : 1) <= 60; mib += n++ % 2 ? 7 : 1)
            GOOD(ebb_check(
                value[n] = ebb_full(ctx, EBB_F32, EBB_SHAPE((n % 2 ? 7 : 1) * MIB), n + 1)));
        ebb_room_stats_get(&before, ctx);
        assert_int_equal(before.n_evictions, 0);
        ebb_tensor *large = ebb_empty(ctx, EBB_F32, EBB_SHAPE(20 * MIB), EBB_KIND_DATA);
        if (!large) fail_msg("%s", ebb_error_message());
        ebb_room_stats_get(&after, ctx);
        assert_true(after.n_evictions > 0);
        assert_null(ebb_empty(ctx, EBB_F32, EBB_SHAPE(45 * MIB), EBB_KIND_DATA));
        REFUSED(EBB_E_BUDGET, ebb_error_status());
        for (int i = 0; i < n; i++) {
            GOOD(EBB_READ(value[i], seen, ebb_n_elems(value[i])));
            for (int64_t k = 0; k < ebb_n_elems(value[i]); k++)
                assert_true(seen[k] == (float)(i + 1));
        }
    }
    assert_true(case_stats(ctx).peak_bytes <= 64 << 20);
    ebb_context_destroy(ctx);
}

/* A page of handles, the user's own arrays, a child: what can be made again gives way to them. */
static void room_is_made_for_handles_arrays_and_children(void **state)
{
    (void)state;
    enum { SIDE = 64, MANY = 600 };
    size_t budget = 1 << 20;
    ebb_context *ctx = with_budget(budget), *child;
    ebb_room_stats before, after;
    ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_tensor *x = ebb_ones(ctx, EBB_F32, EBB_SHAPE(SIDE, SIDE));
    for (int i = 0; i < MANY; i++) { /* 10 MB, and the second page of handles */
        x = ebb_cos(x);
        if (!x) fail_msg("handle %d: %s", i, ebb_error_message());
    }
    ebb_room_stats_get(&before, ctx);
    size_t bytes = 200000;
    void *own = ebb_alloc(ctx, bytes, EBB_KIND_DATA);
    if (!own) fail_msg("%s", ebb_error_message());
    ebb_room_stats_get(&after, ctx);
    assert_true(before.n_evictions > 0 && after.n_evictions > before.n_evictions);
    GOOD(ebb_context_create(&child, &(ebb_context_options){.parent = ctx}));
    GOOD(ebb_check(ebb_ones(child, EBB_F32, EBB_SHAPE(SIDE, SIDE))));
    ebb_context_destroy(child);
    ebb_free(ctx, own, bytes, EBB_KIND_DATA);
    double got = ebb_item(ebb_mean(x, EBB_ALL));
    assert_true(fabs(got - 0.7390851332151607) < 1e-6); /* cos x = x */
    ebb_scope_end(scope);
    assert_true(case_stats(ctx).peak_bytes <= budget);
    ebb_context_destroy(ctx);
}

static void what_is_mapped_stays_where_it_is(void **state)
{
    (void)state;
    ebb_context *ctx = with_budget(1 << 20);
    {
        EBB_SCOPE(scope);
        ebb_tensor *a = ebb_empty(ctx, EBB_F32, EBB_SHAPE(40000), EBB_KIND_ACTIVATION);
        ebb_tensor *b = ebb_ones(ctx, EBB_F32, EBB_SHAPE(40000));
        ebb_view v;
        GOOD(ebb_map(&v, b, EBB_MAP_READ));
        ebb_replace(&a, NULL);
        for (int i = 0; i < 30; i++) { /* pressure, and blocks on the move */
            ebb_tensor *t = ebb_add_scalar(b, i);
            if (!t) fail_msg("%s", ebb_error_message());
            for (int64_t k = 0; k < 40000; k += 999) assert_true(((float *)v.data)[k] == 1);
        }
        ebb_unmap(b);
    }
    ebb_context_destroy(ctx);
}

/* ---- writes, state, randomness ----------------------------------------------------------- */

static void a_value_read_after_its_parameter_was_updated_is_what_it_was(void **state)
{
    (void)state;
    ebb_context *ctx = with_budget(1 << 20);
    static float seen[30000];
    {
        EBB_SCOPE(scope);
        ebb_tensor *w = ebb_empty(ctx, EBB_F32, EBB_SHAPE(30000), EBB_KIND_PARAMETER), *y;
        static float ones[30000];
        for (int i = 0; i < 30000; i++) ones[i] = 1;
        GOOD(EBB_WRITE(w, ones, 30000));
        y = ebb_keep(ebb_mul_scalar(w, 3));
        for (int i = 0; i < 12; i++) /* y gives way */
            assert_non_null(ebb_add_scalar(w, i));
        for (int i = 0; i < 30000; i++) ones[i] = 100;
        GOOD(EBB_WRITE(w, ones, 30000));
        for (int i = 0; i < 12; i++) assert_non_null(ebb_add_scalar(w, i));
        GOOD(EBB_READ(y, seen, 30000));
        for (int i = 0; i < 30000; i++) assert_true(seen[i] == 3);
        ebb_release(y);
    }
    ebb_context_destroy(ctx);
}

/* ---- a budget within a budget ------------------------------------------------------------ */

/* So many results of 64 KiB that can be made again, all held by the scope. */
static void results_make(ebb_tensor **out, int n, ebb_context *ctx)
{
    ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(16384), 0.5);
    for (int i = 0; i < n; i++) GOOD(ebb_check(out[i] = ebb_mul_scalar(x, i + 1)));
}

static void a_tenant_short_of_his_own_budget_takes_nothing_from_others(void **state)
{
    (void)state;
    enum { OURS = 16, THEIRS = 40 }; /* 1 and 2.5 MiB */
    ebb_context *ctx = with_budget(8 << 20), *tenant;
    ebb_tensor *ours[OURS], *theirs[THEIRS];
    ebb_room_stats before, between, after;
    float x[16384];
    GOOD(ebb_context_create(
        &tenant, &(ebb_context_options){.parent = ctx, .memory_budget_bytes = 1 << 20}));
    EBB_SCOPE(scope);
    results_make(ours, OURS, ctx);
    ebb_room_stats_get(&before, ctx);
    results_make(theirs, THEIRS, tenant);
    ebb_room_stats_get(&between, ctx);
    assert_true(between.n_evictions > before.n_evictions);
    for (int i = 0; i < OURS; i++) GOOD(EBB_READ(ours[i], x, 16384));
    ebb_room_stats_get(&after, ctx);
    assert_int_equal(after.n_recomputes, between.n_recomputes);
    GOOD(EBB_READ(theirs[0], x, 16384));
    assert_true(x[0] == 0.5f);
    ebb_scope_end(scope);
    ebb_context_destroy(tenant);
    ebb_context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_smaller_batch_trains_on_after_a_refusal),
        cmocka_unit_test(a_refusal_names_need_budget_and_the_scope_that_holds_most),
        cmocka_unit_test(each_refusal_of_a_training_says_all_figures),
        cmocka_unit_test(a_read_that_cannot_be_made_again_says_what_is_held),
        cmocka_unit_test(a_bound_is_that_of_what_was_run_under_the_budget),
        cmocka_unit_test(a_failure_without_figures_has_none_of_an_earlier_one),
        cmocka_unit_test(the_environment_gives_a_budget_or_is_refused),
        cmocka_unit_test(a_chain_of_200_fits_29_buffers_without_running_each_again_and_again),
        cmocka_unit_test(bytes_that_are_free_can_be_had_in_one_piece),
        cmocka_unit_test(values_of_two_sizes_give_way_to_one_large_one),
        {"values_of_two_sizes_give_way_where_memory_comes_in_parts",
         values_of_two_sizes_give_way_to_one_large_one, NULL, NULL, ""},
        cmocka_unit_test(room_is_made_for_handles_arrays_and_children),
        cmocka_unit_test(what_is_mapped_stays_where_it_is),
        cmocka_unit_test(a_tenant_short_of_his_own_budget_takes_nothing_from_others),
        cmocka_unit_test(a_value_read_after_its_parameter_was_updated_is_what_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
