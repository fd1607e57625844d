/* test_liveness.c - the demo network holds little more than exact liveness: a training step at
 * most 1.6 times, an evaluation 1.8 times, each layer's forward 1.02 times; and nothing after a
 * step.
 * SPDX-License-Identifier: MIT */
#include "liveness/lifetimes.h"

#include <ebb/ebb.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 16 };

#define GOOD(expr)                                                                             \
    do {                                                                                       \
        if ((expr) != EBB_OK) fail_msg("%s: %s", #expr, ebb_error_message());                  \
    } while (0)

typedef struct cnn {
    ebb_nn_conv2d conv1, conv2;
    ebb_nn_linear fc;
} cnn;

static cnn cnn_make(ebb_params *p)
{
    ebb_conv2d_options same = {.padding = {1, 1}};
    return (cnn){ebb_nn_conv2d_make(p, "conv1", 1, 32, 3, &same),
                 ebb_nn_conv2d_make(p, "conv2", 32, 64, 3, &same),
                 ebb_nn_linear_make(p, "fc", 64 * 7 * 7, 10)};
}

/* As in examples/fashion_mnist.c. */
static ebb_tensor *cnn_forward(const cnn *m, ebb_tensor *images, bool training)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_mul_scalar(ebb_cast(images, EBB_F32), 1.0 / 90);
    ebb_replace(&x, ebb_add_scalar(x, -0.8));
    ebb_replace(&x, ebb_reshape(x, EBB_SHAPE(-1, 1, 28, 28)));
    ebb_replace(&x, ebb_nn_conv2d_forward(&m->conv1, x));
    ebb_replace(&x, ebb_relu(x));
    ebb_replace(&x, ebb_max_pool2d(x, 2, 2, NULL));
    ebb_replace(&x, ebb_nn_conv2d_forward(&m->conv2, x));
    ebb_replace(&x, ebb_relu(x));
    ebb_replace(&x, ebb_max_pool2d(x, 2, 2, NULL));
    ebb_replace(&x, ebb_reshape(x, EBB_SHAPE(-1, 64 * 7 * 7)));
    if (training) ebb_replace(&x, ebb_dropout(x, 0.25));
    return ebb_escape(scope, ebb_nn_linear_forward(&m->fc, x));
}

typedef struct bench {
    ebb_context *ctx;
    ebb_params *params;
    ebb_optimizer *adam;
    cnn model;
    ebb_tensor *images, *labels;
} bench;

static void bench_open(bench *b)
{
    unsigned char *pixels = malloc(BATCH * 28 * 28), labels[BATCH];
    assert_non_null(pixels);
    for (int i = 0; i < BATCH * 28 * 28; i++) pixels[i] = (unsigned char)(i * 31 % 251);
    for (int i = 0; i < BATCH; i++) labels[i] = (unsigned char)(i % 10);
    GOOD(ebb_context_create(&b->ctx, &(ebb_context_options){.n_threads = 2, .seed = 5}));
    GOOD(ebb_params_create(&b->params, b->ctx));
    b->model = cnn_make(b->params);
    GOOD(ebb_params_status(b->params));
    GOOD(ebb_adam_create(&b->adam, b->params, 1e-3, NULL));
    EBB_SCOPE(scope);
    b->images = ebb_claim(EBB_FROM(b->ctx, EBB_SHAPE(BATCH, 28, 28), pixels, BATCH * 28 * 28));
    b->labels = ebb_claim(EBB_FROM(b->ctx, EBB_SHAPE(BATCH), labels, BATCH));
    GOOD(ebb_check(b->labels));
    free(pixels);
}

static void bench_close(bench *b)
{
    ebb_release(b->images);
    ebb_release(b->labels);
    ebb_context_destroy(b->ctx);
}

static void train_step(bench *b)
{
    EBB_SCOPE(iter);
    ebb_tensor *loss =
        ebb_cross_entropy(cnn_forward(&b->model, b->images, true), b->labels, NULL);
    GOOD(ebb_minimize(b->adam, loss, NULL));
}

static double evaluate(bench *b)
{
    EBB_NO_GRAD(iter);
    ebb_tensor *answer = ebb_argmax(cnn_forward(&b->model, b->images, false), EBB_AXES(1));
    ebb_tensor *hit = ebb_sum(ebb_eq(answer, ebb_cast(b->labels, EBB_I64)), EBB_ALL);
    GOOD(ebb_check(hit));
    return ebb_item(hit);
}

static void expect_ratio(const char *what, lifetimes *l, double allowed)
{
    size_t exact, actual;
    assert_true(lifetimes_end(l, &exact, &actual));
    printf("%s: peak %zu bytes, exact liveness %zu, ratio %.3f\n", what, actual, exact,
           (double)actual / (double)exact);
    assert_true(exact > 0 && actual > 0);
    if ((double)actual > allowed * (double)exact)
        fail_msg("%s: %zu bytes at the peak, %.2f times %zu allowed", what, actual, allowed,
                 exact);
}

/* The measure itself: three maps of 1 MiB in a row need two at a time; with all handles held,
 * three. */
static void the_measure_is_right_where_the_answer_is_known(void **state)
{
    (void)state;
    lifetimes l;
    size_t exact, actual;
    ebb_context *ctx = NULL;
    GOOD(ebb_context_create(&ctx, NULL));
    for (int replace = 0; replace < 2; replace++) {
        EBB_NO_GRAD(outer);
        ebb_tensor *x = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(512, 512));
        lifetimes_begin(&l, ctx);
        {
            EBB_SCOPE(inner);
            ebb_tensor *y = ebb_exp(x);
            if (replace) {
                for (int k = 0; k < 2; k++) ebb_replace(&y, ebb_exp(y));
            } else {
                for (int k = 0; k < 2; k++) y = ebb_exp(y);
            }
            GOOD(ebb_check(y));
        }
        assert_true(lifetimes_end(&l, &exact, &actual));
        assert_int_equal(exact, 2 << 20);
        assert_int_equal(actual, replace ? 2 << 20 : 3 << 20);
    }
    ebb_context_destroy(ctx);
}

static void training_step_holds_little_more_than_it_must(void **state)
{
    (void)state;
    bench b;
    lifetimes l;
    bench_open(&b);
    for (int k = 0; k < 4; k++) train_step(&b);
    lifetimes_begin(&l, b.ctx);
    train_step(&b);
    expect_ratio("training step", &l, 1.6);
    bench_close(&b);
}

static void evaluation_holds_little_more_than_it_must(void **state)
{
    (void)state;
    bench b;
    lifetimes l;
    bench_open(&b);
    for (int k = 0; k < 4; k++) evaluate(&b);
    lifetimes_begin(&l, b.ctx);
    evaluate(&b);
    expect_ratio("evaluation", &l, 1.8);
    bench_close(&b);
}

static void nothing_is_left_after_a_training_step(void **state)
{
    (void)state;
    bench b;
    bench_open(&b);
    ebb_stats first, now;
    for (int k = 0; k < 6; k++) {
        train_step(&b);
        ebb_stats_get(&now, b.ctx);
        assert_int_equal(now.live_nodes, 0);
        assert_int_equal(now.bytes[EBB_KIND_ACTIVATION], 0);
        assert_int_equal(now.bytes[EBB_KIND_GRADIENT], 0);
        assert_int_equal(now.bytes[EBB_KIND_TEMPORARY], 0);
        assert_int_equal(now.bytes[EBB_KIND_SCRATCH], 0);
        const size_t n = 32 * 9 + 32 + 64 * 32 * 9 + 64 + 10 * 64 * 7 * 7 + 10;
        assert_in_range(now.bytes[EBB_KIND_PARAMETER], n * 4, n * 4 + 64);
        assert_in_range(now.bytes[EBB_KIND_OPTIMIZER], 2 * n * 4, 2 * n * 4 + 6 * 2 * 128);
        if (k == 0) first = now;
        assert_int_equal(now.used_bytes, first.used_bytes);
        assert_int_equal(now.n_handles, first.n_handles);
    }
    bench_close(&b);
}

/* ---- each layer alone -------------------------------------------------------------------- */
typedef struct layers {
    ebb_context *ctx;
    ebb_nn_linear linear;
    ebb_nn_norm norm;
    ebb_nn_batch_norm batch_norm;
    ebb_nn_conv2d conv;
    ebb_nn_lstm lstm;
    ebb_nn_gru gru;
    ebb_nn_attention attention;
    ebb_nn_conv_transpose2d up;
    ebb_tensor *sequence, *flat, *image, *zero;
} layers;

typedef ebb_tensor *(*forward)(const layers *l);
static ebb_tensor *run_linear(const layers *l)
{
    return ebb_nn_linear_forward(&l->linear, l->flat);
}
static ebb_tensor *run_norm(const layers *l)
{
    return ebb_nn_norm_forward(&l->norm, l->flat);
}
static ebb_tensor *run_batch_norm(const layers *l)
{
    return ebb_nn_batch_norm_forward(&l->batch_norm, l->image, true);
}
static ebb_tensor *run_batch_norm_inference(const layers *l)
{
    return ebb_nn_batch_norm_forward(&l->batch_norm, l->image, false);
}
static ebb_tensor *run_conv(const layers *l)
{
    return ebb_nn_conv2d_forward(&l->conv, l->image);
}
static ebb_tensor *run_lstm(const layers *l)
{
    ebb_tensor *h = l->zero, *c = l->zero;
    return ebb_nn_lstm_step(&h, &c, &l->lstm, l->flat) == EBB_OK ? h : NULL;
}

static ebb_tensor *run_lstm_sequence(const layers *l)
{
    ebb_tensor *y, *h = EBB_NONE, *c = EBB_NONE;
    return ebb_nn_lstm_forward(&y, &h, &c, &l->lstm, l->sequence, NULL) == EBB_OK ? y : NULL;
}
static ebb_tensor *run_gru(const layers *l)
{
    ebb_tensor *y, *h = EBB_NONE;
    return ebb_nn_gru_forward(&y, &h, &l->gru, l->sequence, NULL) == EBB_OK ? y : NULL;
}
static ebb_tensor *run_attention(const layers *l)
{
    return ebb_nn_attention_forward(&l->attention, l->sequence, EBB_NONE, NULL);
}
static ebb_tensor *run_up(const layers *l)
{
    return ebb_nn_conv_transpose2d_forward(&l->up, l->image);
}

static void layers_make(layers *l, ebb_params *p)
{
    l->linear = ebb_nn_linear_make(p, "linear", 256, 256);
    l->norm = ebb_nn_norm_make(p, "norm", 256);
    l->batch_norm = ebb_nn_batch_norm_make(p, "batch_norm", 16);
    l->conv =
        ebb_nn_conv2d_make(p, "conv", 16, 16, 3, &(ebb_conv2d_options){.padding = {1, 1}});
    l->lstm = ebb_nn_lstm_make(p, "lstm", 256, 128);
    l->gru = ebb_nn_gru_make(p, "gru", 256, 128);
    l->attention = ebb_nn_attention_make(p, "attention", 256, 4);
    l->up = ebb_nn_conv_transpose2d_make(p, "up", 16, 16, 3, NULL);
    GOOD(ebb_params_status(p));
    l->sequence = ebb_uniform(l->ctx, EBB_F32, EBB_SHAPE(6, 64, 256), -1, 1);
    GOOD(ebb_check(l->sequence));
    l->flat = ebb_uniform(l->ctx, EBB_F32, EBB_SHAPE(64, 256), -1, 1);
    l->image = ebb_uniform(l->ctx, EBB_F32, EBB_SHAPE(8, 16, 20, 20), -1, 1);
    l->zero = ebb_zeros(l->ctx, EBB_F32, EBB_SHAPE(64, 128));
    GOOD(ebb_check(l->image));
    GOOD(ebb_check(l->zero));
}

static void each_layer_forward_holds_what_it_must(void **state)
{
    (void)state;
    const struct {
        const char *name;
        forward run;
        bool saves; /* recorded, it keeps for backward what the measure does not know of */
    } all[] = {{"linear", run_linear, false},
               {"norm", run_norm, false},
               {"batch_norm", run_batch_norm, false},
               {"batch_norm, inference", run_batch_norm_inference, false},
               {"conv2d", run_conv, false},
               {"lstm", run_lstm, false},
               {"conv_transpose2d", run_up, false},
               {"lstm over a sequence", run_lstm_sequence, false},
               {"gru", run_gru, false},
               {"attention", run_attention, true}};
    layers l = {0};
    ebb_params *p;
    GOOD(ebb_context_create(&l.ctx, &(ebb_context_options){.n_threads = 2}));
    GOOD(ebb_params_create(&p, l.ctx));
    EBB_SCOPE(outer);
    layers_make(&l, p);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (int train = 0; train < (all[i].saves ? 1 : 2); train++) {
            char what[80];
            lifetimes lives;
            snprintf(what, sizeof what, "%s%s", all[i].name, train ? ", recorded" : "");
            ebb_scope s = ebb_scope_begin(train ? 0 : EBB_SCOPE_NO_GRAD, NULL);
            GOOD(ebb_check(all[i].run(&l)));
            ebb_scope_end(s);
            lifetimes_begin(&lives, l.ctx);
            s = ebb_scope_begin(train ? 0 : EBB_SCOPE_NO_GRAD, NULL);
            GOOD(ebb_check(all[i].run(&l)));
            ebb_scope_end(s);
            expect_ratio(what, &lives, 1.02);
        }
    }
    ebb_context_destroy(l.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_measure_is_right_where_the_answer_is_known),
        cmocka_unit_test(nothing_is_left_after_a_training_step),
        cmocka_unit_test(training_step_holds_little_more_than_it_must),
        cmocka_unit_test(evaluation_holds_little_more_than_it_must),
        cmocka_unit_test(each_layer_forward_holds_what_it_must),
    };
    return cmocka_run_group_tests_name("liveness", tests, NULL, NULL);
}
