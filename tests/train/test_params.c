/* test_params.c - named sets: names, order, failures, freezing, saving and loading.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ebb_params *new_set(ebb_context *ctx)
{
    ebb_params *p;
    assert_ok(ebb_params_create(&p, ctx));
    return p;
}

static void names_and_order_are_those_of_creation(void **state)
{
    ebb_params *p = new_set(*state), *block = ebb_params_sub(p, "blocks.%d", 3);
    ebb_nn_linear a = ebb_nn_linear_make(p, "first", 4, 2);
    ebb_tensor *scale = ebb_param(block, "scale", EBB_F64, EBB_SHAPE(2), ebb_constant(2));
    ebb_nn_batch_norm n = ebb_nn_batch_norm_make(block, "norm", 5);
    static const char *const want[] = {"first.weight",
                                       "first.bias",
                                       "blocks.3.scale",
                                       "blocks.3.norm.weight",
                                       "blocks.3.norm.bias",
                                       "blocks.3.norm.running_mean",
                                       "blocks.3.norm.running_var"};
    assert_ok(ebb_params_status(p));
    assert_int_equal(ebb_params_count(p), 7);
    assert_int_equal(ebb_params_count(block), 5);
    for (int64_t i = 0; i < 7; i++) {
        assert_string_equal(ebb_params_name(p, i), want[i]);
        assert_int_equal(ebb_params_is_buffer(p, i), i >= 5);
        assert_int_equal(ebb_requires_grad(ebb_params_at(p, i)), i < 5);
    }
    assert_string_equal(ebb_params_name(block, 0), "blocks.3.scale");
    assert_ptr_equal(ebb_params_find(p, "first.weight"), a.weight);
    assert_ptr_equal(ebb_params_find(p, "blocks.3.scale"), scale);
    assert_ptr_equal(ebb_params_find(block, "norm.running_var"), n.running_var);
    assert_ptr_equal(ebb_params_find(block, "first.weight"), EBB_NONE);
    assert_ptr_equal(ebb_params_find(p, "first"), EBB_NONE);
    /* Parts of a name, one by one or at once. */
    assert_ptr_equal(ebb_params_sub(ebb_params_sub(p, "blocks"), "3"), block);
    assert_string_equal(ebb_params_path(block), "blocks.3");
    assert_string_equal(ebb_params_path(p), "");
    ebb_tensor *deep = ebb_param(p, "blocks.3.deep", EBB_F32, EBB_SCALAR, ebb_constant(0));
    assert_ptr_equal(ebb_params_find(block, "deep"), deep);
    assert_ptr_equal(ebb_params_context(block), *state);
    assert_null(ebb_params_at(p, 8));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_params_release(p);
}

static void the_first_failure_is_kept_and_null_passes_on(void **state)
{
    ebb_params *p = new_set(*state);
    assert_non_null(ebb_param(p, "w", EBB_F32, EBB_SHAPE(2), ebb_constant(0)));
    assert_null(ebb_param(p, "w", EBB_F32, EBB_SHAPE(2), ebb_constant(0)));
    assert_non_null(strstr(ebb_error_message(), "w"));
    assert_null(ebb_param(p, "i", EBB_I64, EBB_SHAPE(2), ebb_constant(0)));
    ebb_error_clear();
    assert_int_equal(ebb_params_status(p), EBB_E_MISUSE);
    assert_non_null(strstr(ebb_error_message(), "test_params.c:"));
    assert_non_null(strstr(ebb_error_message(), "the name w is taken"));
    assert_int_equal(ebb_params_count(p), 1);
    ebb_error_clear();
    ebb_optimizer *opt;
    assert_status(ebb_sgd_create(&opt, p, 1, NULL), EBB_E_MISUSE);
    ebb_params_release(p);

    assert_null(ebb_params_sub(NULL, "x"));
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    EBB_SCOPE(scope);
    (void)ebb_fail(EBB_E_IO, "something before");
    assert_null(ebb_param(NULL, "x", EBB_F32, EBB_SHAPE(2), ebb_constant(0)));
    ebb_nn_linear none = ebb_nn_linear_make(NULL, "x", 2, 2);
    assert_null(none.weight);
    assert_null(ebb_nn_linear_forward(&none, NULL));
    assert_int_equal(ebb_error_status(), EBB_E_IO);
}

static void names_that_cannot_be(void **state)
{
    static const char *const bad[] = {"", ".", "a.", ".a", "a..b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ebb_params *p = new_set(*state);
        assert_null_with(ebb_param(p, bad[i], EBB_F32, EBB_SHAPE(1), ebb_constant(0)),
                         EBB_E_RANGE);
        assert_null_with(ebb_params_sub(p, "%s", bad[i]), EBB_E_RANGE);
        assert_status(ebb_params_status(p), EBB_E_RANGE);
        ebb_params_release(p);
    }
    char longest[400];
    memset(longest, 'n', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ebb_params *p = new_set(*state);
    assert_null_with(ebb_param(p, longest, EBB_F32, EBB_SHAPE(1), ebb_constant(0)),
                     EBB_E_RANGE);
    assert_null_with(ebb_params_sub(p, "%s", longest), EBB_E_RANGE);
    assert_null_with(ebb_param(p, NULL, EBB_F32, EBB_SHAPE(1), ebb_constant(0)), EBB_E_MISUSE);
    ebb_params_release(p);
}

static void a_set_with_many_parameters(void **state)
{
    ebb_params *p = new_set(*state);
    for (int i = 0; i < 300; i++) {
        ebb_params *layer = ebb_params_sub(p, "layer%d", i / 3);
        char name[2] = {(char)('a' + i % 3), '\0'};
        assert_non_null(ebb_param(layer, name, EBB_F32, EBB_SCALAR, ebb_constant(i)));
    }
    assert_int_equal(ebb_params_count(p), 300);
    assert_int_equal(ebb_params_count(ebb_params_sub(p, "layer%d", 99)), 3);
    assert_true(ebb_item(ebb_params_find(p, "layer57.b")) == 57 * 3 + 1);
    assert_string_equal(ebb_params_name(p, 299), "layer99.c");
    ebb_params_release(p);
}

/* Bounds of He et al. and Glorot & Bengio for (6, 4, 5, 1): fan in 20, fan out 30. */
static void initialisers_draw_what_their_papers_say(void **state)
{
    ebb_context *ctx = *state;
    const double kaiming = 1 / sqrt(20), xavier = sqrt(6.0 / 50), std = sqrt(2.0 / 20);
    const struct {
        ebb_init init;
        double bound, variance;
    } cases[] = {{ebb_kaiming_uniform(), kaiming, kaiming * kaiming / 3},
                 {ebb_xavier_uniform(), xavier, xavier * xavier / 3},
                 {ebb_kaiming_normal(), 6 * std, std * std},
                 {ebb_normal_init(0, 0.5), 3, 0.25},
                 {ebb_uniform_init(-2, 2), 2, 4.0 / 3},
                 {ebb_constant(0), 0, 0}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        double sum = 0, square = 0, v[120];
        for (int r = 0; r < 50; r++) {
            ebb_params *p = new_set(ctx);
            ebb_tensor *w = ebb_param(p, "w", EBB_F64, EBB_SHAPE(6, 4, 5, 1), cases[k].init);
            assert_ok(EBB_READ(w, v, 120));
            for (int i = 0; i < 120; i++) {
                assert_true(fabs(v[i]) <= cases[k].bound);
                sum += v[i];
                square += v[i] * v[i];
            }
            ebb_params_release(p);
        }
        /* 6000 draws: five standard errors of mean and of variance. */
        assert_true(fabs(sum / 6000) <= 5 * sqrt(cases[k].variance / 6000));
        assert_true(fabs(square / 6000 - cases[k].variance) <= 0.1 * cases[k].variance);
    }
    ebb_params *p = new_set(ctx);
    assert_null_with(ebb_param(p, "v", EBB_F32, EBB_SHAPE(3), ebb_kaiming_uniform()),
                     EBB_E_SHAPE);
    ebb_params_release(p);
}

static void the_seed_decides_where_training_starts(void **state)
{
    (void)state;
    float v[3][200];
    for (int i = 0; i < 3; i++) {
        ebb_context *ctx;
        assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.seed = i < 2 ? 5 : 6}));
        ebb_params *p = new_set(ctx);
        ebb_nn_linear m = ebb_nn_linear_make(p, "m", 20, 10);
        assert_ok(EBB_READ(m.weight, v[i], 200));
        ebb_context_destroy(ctx);
    }
    assert_memory_equal(v[0], v[1], sizeof v[0]);
    assert_memory_not_equal(v[0], v[2], sizeof v[0]);
}

static void bytes_are_accounted_and_given_back(void **state)
{
    ebb_context *ctx = *state;
    ebb_stats s;
    size_t after[2];
    for (int i = 0; i < 2; i++) { /* the first also pays for what the context keeps for all */
        ebb_params *p = new_set(ctx);
        (void)ebb_nn_conv2d_make(p, "conv", 2, 8, 4, NULL);
        (void)ebb_nn_lstm_make(p, "lstm", 4, 8);
        assert_ok(ebb_params_status(p));
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.bytes[EBB_KIND_PARAMETER],
                         4 * (8 * 2 * 16 + 8 + 32 * 4 + 32 * 8 + 32));
        assert_int_equal(s.bytes[EBB_KIND_ACTIVATION], 0);
        ebb_params_keep(p);
        ebb_params_release(p);
        assert_int_equal(ebb_params_count(p), 5);
        ebb_params_release(p);
        ebb_stats_get(&s, ctx);
        assert_int_equal(s.bytes[EBB_KIND_PARAMETER], 0);
        after[i] = s.used_bytes;
    }
    assert_int_equal(after[0], after[1]);
    ebb_params_release(NULL);
}

static void freezing_a_subtree_stops_its_gradients(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_params *p = new_set(ctx), *head = ebb_params_sub(p, "head");
    ebb_nn_linear body = ebb_nn_linear_make(p, "body", 2, 2),
                  top = ebb_nn_linear_make(head, "l", 2, 1);
    ebb_nn_norm norm = ebb_nn_norm_make(p, "norm", 2);
    (void)norm;
    assert_ok(ebb_params_set_trainable(p, false));
    assert_ok(ebb_params_set_trainable(head, true));
    assert_false(ebb_requires_grad(body.weight));
    assert_true(ebb_requires_grad(top.weight));
    ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(4, 2), 1);
    ebb_tensor *y = ebb_nn_linear_forward(&top, ebb_nn_linear_forward(&body, x));
    assert_ok(ebb_backward(ebb_sum(y, EBB_ALL), NULL));
    assert_false(ebb_has_grad(body.weight));
    assert_true(ebb_has_grad(top.weight));
    assert_ok(ebb_params_clear_grads(p));
    assert_false(ebb_has_grad(top.weight));
}

/* ---- files ------------------------------------------------------------------------------- */

static char file[] = "/tmp/ebb_test_params_XXXXXX";

typedef struct net {
    ebb_params *params;
    ebb_nn_conv2d conv;
    ebb_nn_batch_norm norm;
    ebb_tensor *wide;
} net;

static net net_make(ebb_context *ctx)
{
    ebb_params *p = new_set(ctx);
    net m = {p, ebb_nn_conv2d_make(p, "conv", 2, 3, 3, NULL),
             ebb_nn_batch_norm_make(p, "norm", 3),
             ebb_param(p, "wide", EBB_F64, EBB_SHAPE(5), ebb_uniform_init(-1, 1))};
    assert_ok(ebb_params_status(p));
    return m;
}

static void expect_equal(ebb_params *a, ebb_params *b, bool equal)
{
    static double x[200], y[200];
    assert_int_equal(ebb_params_count(a), ebb_params_count(b));
    int n_different = 0;
    for (int64_t i = 0; i < ebb_params_count(a); i++) {
        const int64_t n = ebb_n_elems(ebb_params_at(a, i));
        assert_ok(ebb_read(x, (size_t)n * 8, EBB_F64, ebb_params_at(a, i)));
        assert_ok(ebb_read(y, (size_t)n * 8, EBB_F64, ebb_params_at(b, i)));
        n_different += memcmp(x, y, (size_t)n * 8) != 0;
    }
    assert_int_equal(n_different == 0, equal);
}

static void what_was_saved_is_loaded_bit_for_bit(void **state)
{
    net a = net_make(*state), b = net_make(*state);
    ebb_stats before, s;
    expect_equal(a.params, b.params, false);
    assert_ok(ebb_params_save(a.params, file));
    ebb_stats_get(&before, *state);
    assert_ok(ebb_params_load(b.params, file, NULL));
    ebb_stats_get(&s, *state);
    assert_int_equal(s.bytes[EBB_KIND_PARAMETER], before.bytes[EBB_KIND_PARAMETER]);
    assert_int_equal(s.bytes[EBB_KIND_TEMPORARY], 0);
    assert_true(s.used_bytes <= before.used_bytes);
    expect_equal(a.params, b.params, true);
    assert_true(ebb_requires_grad(b.conv.weight));
    /* A subtree is saved under its own names. */
    EBB_SCOPE(scope);
    assert_ok(ebb_params_save(ebb_params_sub(a.params, "conv"), file));
    assert_non_null(ebb_load_safetensors(*state, file, "weight"));
    net c = net_make(*state);
    assert_ok(ebb_params_load(ebb_params_sub(c.params, "conv"), file, NULL));
    double x[3], y[3];
    assert_ok(ebb_read(x, sizeof x, EBB_F64, a.conv.bias));
    assert_ok(ebb_read(y, sizeof y, EBB_F64, c.conv.bias));
    assert_memory_equal(x, y, sizeof x);
}

static void a_refused_load_changes_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    net a = net_make(ctx), copy = net_make(ctx);
    assert_ok(ebb_params_save(a.params, file));
    assert_ok(ebb_params_load(copy.params, file, NULL));
    const int64_t n = ebb_params_count(a.params);
    ebb_tensor *t[16];
    const char *names[16];
    for (int64_t i = 0; i < n; i++) {
        t[i] = ebb_full_like(ebb_params_at(a.params, i), 9);
        names[i] = ebb_params_name(a.params, i);
    }
    /* The last is missing; has another shape; another element type; there is one more. */
    assert_ok(ebb_save_safetensors(file, t, names, n - 1));
    assert_status(ebb_params_load(a.params, file, NULL), EBB_E_RANGE);
    t[n - 1] = ebb_full(ctx, EBB_F64, EBB_SHAPE(5, 1), 9);
    assert_ok(ebb_save_safetensors(file, t, names, n));
    assert_int_equal(ebb_params_load(a.params, file, NULL), EBB_E_SHAPE);
    assert_non_null(strstr(ebb_error_message(), "wide"));
    assert_non_null(strstr(ebb_error_message(), "(5, 1)"));
    ebb_error_clear();
    t[n - 1] = ebb_full(ctx, EBB_F32, EBB_SHAPE(5), 9);
    assert_ok(ebb_save_safetensors(file, t, names, n));
    assert_status(ebb_params_load(a.params, file, NULL), EBB_E_DTYPE);
    t[n - 1] = ebb_full(ctx, EBB_F64, EBB_SHAPE(5), 9);
    t[n] = t[0];
    names[n] = "more";
    assert_ok(ebb_save_safetensors(file, t, names, n + 1));
    assert_status(ebb_params_load(a.params, file, NULL), EBB_E_RANGE);
    assert_int_equal(truncate(file, 300), 0);
    assert_status(ebb_params_load(a.params, file, NULL), EBB_E_IO);
    assert_status(ebb_params_load(a.params, "/nowhere.safetensors", NULL), EBB_E_IO);
    assert_status(ebb_params_load(NULL, file, NULL), EBB_E_MISUSE);
    assert_status(ebb_params_load(a.params, file, &(ebb_load_options){.reserved = {1}}),
                  EBB_E_MISUSE);
    expect_equal(a.params, copy.params, true);
}

static void names_may_be_missing_or_extra_where_allowed(void **state)
{
    EBB_SCOPE(scope);
    net a = net_make(*state), b = net_make(*state);
    ebb_tensor *t[] = {ebb_full_like(a.wide, 9), ebb_full_like(a.wide, 8)};
    assert_ok(ebb_save_safetensors(file, t, (const char *[]){"wide", "more"}, 2));
    const ebb_load_options missing = {.allow_missing = true}, extra = {.allow_extra = true};
    const ebb_load_options both = {.allow_missing = true, .allow_extra = true};
    assert_status(ebb_params_load(b.params, file, &missing), EBB_E_RANGE);
    assert_status(ebb_params_load(b.params, file, &extra), EBB_E_RANGE);
    assert_ok(ebb_params_load(b.params, file, &both));
    double v[5];
    assert_ok(EBB_READ(b.wide, v, 5));
    for (int i = 0; i < 5; i++) assert_true(v[i] == 9);
}

/* Steps of a budget from too little to enough: refused whole or loaded whole. */
static void a_load_without_memory_changes_nothing(void **state)
{
    net a = net_make(*state);
    assert_ok(ebb_params_save(a.params, file));
    ebb_context *ctx;
    ebb_stats s;
    int64_t n_refused = 0;
    assert_ok(ebb_context_create(&ctx, NULL));
    (void)net_make(ctx);
    ebb_stats_get(&s, ctx);
    const size_t least = s.peak_bytes + s.peak_bytes / 100; /* with the budget's own map */
    ebb_context_destroy(ctx);
    for (size_t budget = least; budget < least + 2000; budget += 64) {
        assert_ok(
            ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = budget}));
        net b = net_make(ctx);
        double before[5], after[5];
        assert_ok(EBB_READ(b.wide, before, 5));
        const ebb_status status = ebb_params_load(b.params, file, NULL);
        assert_ok(EBB_READ(b.wide, after, 5));
        if (status == EBB_OK)
            expect_equal(a.params, b.params, true);
        else
            assert_memory_equal(before, after, sizeof before);
        n_refused += status == EBB_E_BUDGET;
        ebb_error_clear();
        ebb_context_destroy(ctx);
    }
    assert_true(n_refused > 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_and_order_are_those_of_creation),
        TEST(the_first_failure_is_kept_and_null_passes_on),
        TEST(names_that_cannot_be),
        TEST(a_set_with_many_parameters),
        TEST(initialisers_draw_what_their_papers_say),
        TEST(the_seed_decides_where_training_starts),
        TEST(bytes_are_accounted_and_given_back),
        TEST(freezing_a_subtree_stops_its_gradients),
        TEST(what_was_saved_is_loaded_bit_for_bit),
        TEST(a_refused_load_changes_nothing),
        TEST(names_may_be_missing_or_extra_where_allowed),
        TEST(a_load_without_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
