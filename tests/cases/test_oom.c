/* test_oom.c - memory refused in the middle of a training step, a rule that fails, absurd
 * sizes.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include <sys/resource.h>

/* AddressSanitizer would stop the program where the system refuses. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

typedef struct hook {
    int64_t n_calls, refuse_at, n_live;
} hook;

static void *hook_alloc(void *user, size_t bytes, size_t alignment)
{
    hook *h = user;
    if (h->n_calls++ == h->refuse_at) return NULL;
    h->n_live++;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void hook_free(void *user, void *p, size_t bytes)
{
    (void)bytes;
    if (p) ((hook *)user)->n_live--;
    free(p);
}

/* Wide enough for a backend's kernels, which allocate for their plans. */
enum { N_LAYERS = 3, WIDTH = 96 };

static ebb_tensor *waves(ebb_context *ctx, double frequency)
{
    ebb_tensor *x = ebb_arange(ctx, EBB_F32, 0, WIDTH * WIDTH, 1);
    return ebb_reshape(ebb_sin(ebb_mul_scalar(x, frequency)), EBB_SHAPE(WIDTH, WIDTH));
}

/* One step of a three-layer perceptron; gradients to `out`. */
static ebb_status step(ebb_context *ctx, float out[N_LAYERS][WIDTH * WIDTH])
{
    EBB_SCOPE(iter);
    ebb_tensor *w[N_LAYERS], *h = waves(ctx, 0.5);
    for (int l = 0; l < N_LAYERS; l++) {
        w[l] = ebb_mul_scalar(waves(ctx, 0.3 + l), 0.1);
        EBB_TRY(ebb_set_requires_grad(w[l], true));
        h = ebb_tanh(ebb_matmul(h, w[l]));
    }
    EBB_TRY(ebb_backward(ebb_mean(ebb_square(h), EBB_ALL), NULL));
    for (int l = 0; l < N_LAYERS; l++)
        EBB_TRY(EBB_READ(ebb_grad_of(w[l]), out[l], WIDTH * WIDTH));
    return EBB_OK;
}

static void every_refused_allocation_of_a_step_is_survived(void **state)
{
    (void)state;
    static float want[N_LAYERS][WIDTH * WIDTH], got[N_LAYERS][WIDTH * WIDTH];
    bool more = true;
    int n_refused = 0;
    for (int64_t k = -1; more; k++) {
        hook h = {.refuse_at = k};
        ebb_allocator a = {hook_alloc, hook_free, &h};
        ebb_context *ctx = NULL;
        ebb_error_clear();
        ebb_status s =
            ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1, .allocator = &a});
        if (s != EBB_OK) {
            assert_int_equal(s, EBB_E_NOMEM);
            assert_int_equal(h.n_live, 0);
            continue;
        }
        size_t before = case_stats(ctx).used_bytes;
        s = step(ctx, k < 0 ? want : got);
        more = k < 0 || h.n_calls > k;
        assert_true(s == EBB_OK || (s == EBB_E_NOMEM && more && k >= 0));
        if (s == EBB_OK) assert_memory_equal(k < 0 ? want : got, want, sizeof want);
        n_refused += s != EBB_OK;
        assert_int_equal(case_stats(ctx).live_nodes, 0);
        assert_int_equal(case_stats(ctx).used_bytes, before);
        h.refuse_at = -1;
        GOOD(step(ctx, got));
        assert_memory_equal(got, want, sizeof want);
        ebb_context_destroy(ctx);
        assert_int_equal(h.n_live, 0);
    }
    assert_true(n_refused > 0);
}

/* Every allocation counts here, also those that the pool served from what it had. */
static void every_budget_of_a_step_is_survived(void **state)
{
    (void)state;
    static float want[N_LAYERS][WIDTH * WIDTH], got[N_LAYERS][WIDTH * WIDTH];
    ebb_context *ctx = NULL;
    GOOD(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1}));
    GOOD(step(ctx, want));
    size_t peak = case_stats(ctx).peak_bytes, n_refused = 0;
    ebb_context_destroy(ctx);
    for (size_t budget = 4096; budget < peak + (192 << 10); budget += 1536) {
        ctx = NULL;
        ebb_error_clear();
        ebb_status s = ebb_context_create(
            &ctx, &(ebb_context_options){.n_threads = 1, .memory_budget_bytes = budget});
        if (s == EBB_OK) {
            size_t before = case_stats(ctx).used_bytes;
            s = step(ctx, got);
            assert_int_equal(case_stats(ctx).live_nodes, 0);
            assert_int_equal(case_stats(ctx).used_bytes, before);
            assert_true(case_stats(ctx).peak_bytes <= budget);
        }
        if (s != EBB_OK) {
            assert_int_equal(s, EBB_E_BUDGET);
            n_refused++;
        } else {
            assert_memory_equal(got, want, sizeof want);
        }
        ebb_context_destroy(ctx);
    }
    assert_true(n_refused > 3);
}

static ebb_status same_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype, s[0] = in[0].shape;
    return EBB_OK;
}
static ebb_status copy_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                               const void *attr)
{
    (void)aux, (void)attr;
    *(double *)out[0].data = *(double *)in[0].data;
    return EBB_OK;
}
static ebb_status boom(ebb_vjp *v, const void *attr)
{
    (void)v, (void)attr;
    return ebb_fail(EBB_E_RANGE, "boom");
}

static void failed_backward_leaves_every_leaf_as_it_was(void **state)
{
    ebb_context *ctx = *state;
    const ebb_custom op = {.name = "boom",
                           .n_in = 1,
                           .n_out = 1,
                           .shape = same_shape,
                           .forward = copy_forward,
                           .vjp = boom};
    EBB_SCOPE(outer);
    ebb_tensor *a = LEAF_NUMBER(1), *b = LEAF_NUMBER(1), *y;
    GOOD(ebb_backward(ebb_mul_scalar(b, 5), NULL));
    GOOD(ebb_apply(&y, &op, &a, NULL));
    ebb_tensor *loss = ebb_add(y, ebb_mul_scalar(b, 3));
    assert_int_equal(ebb_backward(loss, NULL), EBB_E_RANGE);
    assert_non_null(strstr(ebb_error_message(), "boom"));
    ebb_error_clear();
    assert_false(ebb_has_grad(a));
    EXPECT_GRAD(b, 0, 5);
    assert_int_equal(case_nodes(ctx), 0);
    REFUSED(EBB_E_GRAPH, ebb_backward(loss, NULL)); /* the walked graph is spent */
}

static void refused_sizes(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    const int64_t big = INT64_C(1) << 29;
    struct {
        ebb_shape s;
        ebb_status want;
    } cases[] = {
        {EBB_SHAPE(2, 2, 1, INT64_C(1) << 61), EBB_E_SHAPE},
        {EBB_SHAPE(2, 4, big, big), EBB_E_SHAPE},
        {EBB_SHAPE(INT64_C(1) << 52), EBB_E_NOMEM},
        {EBB_SHAPE(3, -1), EBB_E_SHAPE},
    };
    size_t used = case_stats(ctx).used_bytes;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_null(ebb_zeros(ctx, EBB_F64, cases[k].s));
        assert_int_equal(ebb_error_status(), cases[k].want);
        assert_null(ebb_tensor_copy(ctx, EBB_F64, cases[k].s, &used, sizeof used));
        assert_true(ebb_error_status() != EBB_OK);
        ebb_error_clear();
    }
    assert_int_equal(case_stats(ctx).used_bytes, used);
    ebb_tensor *one = NUMBER(1);
    const ebb_shape wide = EBB_SHAPE(INT64_C(1) << 31, INT64_C(1) << 31, 4);
    assert_null(ebb_expand(one, wide));
    assert_int_equal(ebb_error_status(), EBB_E_SHAPE);
    ebb_error_clear();
    ebb_tensor *legal = ebb_expand(one, EBB_SHAPE(INT64_C(1) << 30, INT64_C(1) << 22));
    GOOD(ebb_check(legal));
    assert_null(ebb_exp(legal)); /* 2^55 bytes */
    assert_int_equal(ebb_error_status(), EBB_E_NOMEM);
    ebb_error_clear();
    assert_null(ebb_arange(ctx, EBB_F64, 0, 1e300, 1));
    assert_int_equal(ebb_error_status(), EBB_E_SHAPE);
    ebb_error_clear();
    EXPECT(ebb_exp(NUMBER(0)), 0, 1);
}

static void empty_shapes_cannot_hide_an_overflow(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *t = ebb_zeros(ctx, EBB_F64, EBB_SHAPE(0, INT64_C(1) << 62, 4));
    if (t) {
        assert_null(ebb_sum(t, EBB_AXES(0)));
        assert_int_equal(ebb_error_status(), EBB_E_SHAPE);
    } else {
        assert_int_equal(ebb_error_status(), EBB_E_SHAPE);
    }
    ebb_error_clear();
}

static void budget_refuses_before_touching_memory_and_says_what_it_needs(void **state)
{
    (void)state;
    ebb_context *ctx = NULL;
    GOOD(ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = 1 << 20}));
    {
        EBB_SCOPE(outer);
        ebb_budget_report report;
        assert_false(ebb_error_budget(&report));
        assert_null(ebb_zeros(ctx, EBB_F32, EBB_SHAPE(INT64_C(1) << 40)));
        assert_int_equal(ebb_error_status(), EBB_E_BUDGET);
        assert_true(ebb_error_budget(&report));
        assert_int_equal(report.budget_bytes, 1 << 20);
        assert_true(report.needed_bytes >= (size_t)4 << 40);
        assert_non_null(strstr(ebb_error_message(), "1048576"));
        ebb_error_clear();
        ebb_tensor *x = ebb_ones(ctx, EBB_F32, EBB_SHAPE(1 << 20 >> 4));
        assert_true(ebb_item(ebb_sum(x, EBB_ALL)) == 1 << 20 >> 4);
    }
    assert_true(case_stats(ctx).peak_bytes <= 1 << 20);
    ebb_context_destroy(ctx);
}

/* ---- 4 TiB in a process that may have 16 GiB ---------------------------------------------- */

typedef struct absurd {
    const char *name;
    size_t bytes;
} absurd;

static ebb_tensor *absurd_make(ebb_context *ctx, int which)
{
    const int64_t side = 1 << 20;
    if (which == 0) return ebb_zeros(ctx, EBB_F32, EBB_SHAPE(INT64_C(1) << 40));
    if (which == 1) return ebb_full(ctx, EBB_F32, EBB_SHAPE(INT64_C(1) << 36), 1.5);
    return ebb_matmul(ebb_ones(ctx, EBB_F32, EBB_SHAPE(side, 1)),
                      ebb_ones(ctx, EBB_F32, EBB_SHAPE(1, side)));
}

static void message_says(const char *before, size_t number, const char *after)
{
    char text[64];
    snprintf(text, sizeof text, "%s%zu%s", before, number, after);
    if (!strstr(ebb_error_message(), text))
        fail_msg("'%s' is not said: %s", text, ebb_error_message());
}

/* Handles that are free are in use, too. */
static void in_use_is_said(size_t used)
{
    const char *at = strstr(ebb_error_message(), "; ");
    size_t said = 0;
    if (!at || sscanf(at, "; %zu are in use, there is no budget", &said) != 1 || said < used ||
        said > used + (128 << 10))
        fail_msg("%zu are in use: %s", used, ebb_error_message());
}

/* limit: of the process, 0: it has none that would be seen. */
static void absurd_sizes_in(size_t budget, size_t limit)
{
    static const absurd sizes[] = {
        {"zeros", (size_t)4 << 40}, {"full", (size_t)4 << 36}, {"matmul", (size_t)4 << 40}};
    struct rusage before, after;
    ebb_context *ctx;
    GOOD(ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = budget}));
    for (int i = 0; i < 3; i++) {
        EBB_SCOPE(iter);
        GOOD(ebb_check(ebb_ones(ctx, EBB_F32, EBB_SHAPE((i + 1) << 18)))); /* MiB in use */
        getrusage(RUSAGE_SELF, &before);
        assert_null(absurd_make(ctx, i));
        getrusage(RUSAGE_SELF, &after);
        assert_true(after.ru_maxrss - before.ru_maxrss < 32 << 10); /* KiB */
        assert_int_equal(ebb_error_status(), budget ? EBB_E_BUDGET : EBB_E_NOMEM);
        assert_non_null(strstr(ebb_error_message(), sizes[i].name));
        ebb_budget_report r = {0};
        assert_true(ebb_error_budget(&r) == (budget != 0));
        if (budget) {
            message_says("the budget is ", budget, "");
            message_says(" ", r.needed_bytes, " bytes are needed at once");
            assert_true(r.needed_bytes >= sizes[i].bytes &&
                        r.needed_bytes < sizes[i].bytes + (32 << 20));
            assert_true(r.needed_by_kind[EBB_KIND_ACTIVATION] >= sizes[i].bytes);
        } else {
            message_says("refused ", sizes[i].bytes, " bytes of kind activation");
            in_use_is_said(case_stats(ctx).used_bytes);
            if (limit) message_says("the limit of the process ", limit, "");
        }
        ebb_error_clear();
        assert_true(ebb_item(ebb_sum(ebb_ones(ctx, EBB_F32, EBB_SHAPE(1000)), EBB_ALL)) ==
                    1000);
    }
    assert_true(case_stats(ctx).peak_bytes < 32 << 20); /* what was refused was no peak */
    ebb_context_destroy(ctx);
}

static void sizes_beyond_the_machine_are_refused_with_what_was_asked_for(void **state)
{
    (void)state;
    absurd_sizes_in((size_t)1 << 30, 0);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* theirs is more than that */
    struct rlimit old, most;
    assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
    most = old;
    most.rlim_cur = (rlim_t)16 << 30;
    assert_int_equal(setrlimit(RLIMIT_AS, &most), 0);
    absurd_sizes_in(0, (size_t)16 << 30);
    absurd_sizes_in((size_t)16 << 30, (size_t)16 << 30);
    assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_refused_allocation_of_a_step_is_survived),
        cmocka_unit_test(every_budget_of_a_step_is_survived),
        CASE(failed_backward_leaves_every_leaf_as_it_was),
        CASE(refused_sizes),
        CASE(empty_shapes_cannot_hide_an_overflow),
        cmocka_unit_test(sizes_beyond_the_machine_are_refused_with_what_was_asked_for),
        cmocka_unit_test(budget_refuses_before_touching_memory_and_says_what_it_needs),
    };
    return cmocka_run_group_tests_name("oom", tests, NULL, NULL);
}
