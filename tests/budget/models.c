/* models.c - a perceptron, a convolutional net with batch norm and dropout, an unrolled LSTM and
 * an attention block.
 * SPDX-License-Identifier: MIT */
#include "budget/models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Thread_local bool models_own;

static void *own_realloc(void *p, size_t bytes)
{
    models_own = true;
    p = realloc(p, bytes);
    models_own = false;
    return p;
}

static void own_free(void *p)
{
    models_own = true;
    free(p);
    models_own = false;
}

/* Numbers that look like data and are the same in every run. */
static ebb_tensor *data(ebb_params *p, int step, ebb_shape s)
{
    int64_t n = 1;
    for (int64_t d = 0; d < s.n_dims; d++) n *= s.dims[d];
    float *x = own_realloc(NULL, (size_t)n * sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = sinf((float)(i % 1013) * 0.37f + (float)step);
    ebb_tensor *t =
        ebb_tensor_copy(ebb_params_context(p), EBB_F32, s, x, (size_t)n * sizeof *x);
    own_free(x);
    return t;
}

static ebb_tensor *labels(ebb_params *p, int step, int64_t n, int64_t n_classes)
{
    int64_t y[256];
    for (int64_t i = 0; i < n; i++) y[i] = (i * 7 + step) % n_classes;
    return ebb_tensor_copy(ebb_params_context(p), EBB_I64, EBB_SHAPE(n), y,
                           (size_t)n * sizeof *y);
}

static ebb_tensor *param(ebb_params *p, const char *name, ebb_shape s)
{
    return ebb_param(p, name, EBB_F32, s, ebb_kaiming_uniform());
}

static ebb_tensor *at(ebb_params *p, const char *layer, const char *name)
{
    return ebb_params_find(ebb_params_sub(p, "%s", layer), name);
}

/* ---- perceptron -------------------------------------------------------------------------- */

enum { MLP_LAYERS = 8, MLP_WIDTH = 64, MLP_BATCH = 256 };

static ebb_status mlp_make(ebb_params *p)
{
    for (int l = 0; l < MLP_LAYERS; l++) {
        ebb_params *layer = ebb_params_sub(p, "l%d", l);
        param(layer, "w", EBB_SHAPE(MLP_WIDTH, MLP_WIDTH));
        param(layer, "b", EBB_SHAPE(MLP_WIDTH, 1));
    }
    return ebb_params_status(p);
}

static ebb_tensor *mlp_loss(ebb_params *p, int step)
{
    ebb_tensor *h = data(p, step, EBB_SHAPE(MLP_BATCH, MLP_WIDTH));
    for (int l = 0; l < MLP_LAYERS; l++) {
        ebb_params *layer = ebb_params_sub(p, "l%d", l);
        ebb_tensor *b = ebb_reshape(ebb_params_find(layer, "b"), EBB_SHAPE(MLP_WIDTH));
        h = ebb_add(ebb_matmul(h, ebb_params_find(layer, "w")), b);
        h = l % 3 == 0 ? ebb_relu(h) : l % 3 == 1 ? ebb_tanh(h) : ebb_gelu(h, NULL);
    }
    return ebb_cross_entropy(h, labels(p, step, MLP_BATCH, MLP_WIDTH), NULL);
}

/* ---- convolutions ------------------------------------------------------------------------ */

enum { CNN_CHANNELS = 12, CNN_BLOCKS = 5, CNN_BATCH = 8, CNN_SIDE = 16 };

static ebb_status cnn_make(ebb_params *p)
{
    param(p, "stem", EBB_SHAPE(CNN_CHANNELS, 3, 3, 3));
    for (int l = 0; l < CNN_BLOCKS; l++) {
        ebb_params *layer = ebb_params_sub(p, "l%d", l);
        param(layer, "w", EBB_SHAPE(CNN_CHANNELS, CNN_CHANNELS, 3, 3));
        ebb_nn_batch_norm_make(layer, "norm", CNN_CHANNELS);
    }
    param(p, "head", EBB_SHAPE(CNN_CHANNELS, 10));
    return ebb_params_status(p);
}

static ebb_tensor *cnn_loss(ebb_params *p, int step)
{
    const ebb_conv2d_options same = {.padding = {1, 1}};
    ebb_tensor *x = data(p, step, EBB_SHAPE(CNN_BATCH, 3, CNN_SIDE, CNN_SIDE));
    ebb_tensor *h = ebb_conv2d(x, ebb_params_find(p, "stem"), EBB_NONE, &same);
    for (int l = 0; l < CNN_BLOCKS; l++) {
        ebb_params *layer = ebb_params_sub(p, "l%d", l), *norm = ebb_params_sub(layer, "norm");
        ebb_tensor *y = ebb_conv2d(h, ebb_params_find(layer, "w"), EBB_NONE, &same);
        y = ebb_batch_norm(y, ebb_params_find(norm, "weight"), ebb_params_find(norm, "bias"),
                           ebb_params_find(norm, "running_mean"),
                           ebb_params_find(norm, "running_var"), NULL);
        h = ebb_add(h, ebb_dropout(ebb_relu(y), 0.25));
    }
    h = ebb_mean(ebb_max_pool2d(h, 2, 2, NULL), EBB_AXES(2, 3));
    return ebb_cross_entropy(ebb_matmul(h, ebb_params_find(p, "head")),
                             labels(p, step, CNN_BATCH, 10), NULL);
}

/* ---- LSTM -------------------------------------------------------------------------------- */

enum { LSTM_STEPS = 14, LSTM_WIDTH = 48, LSTM_BATCH = 64 };

static ebb_status lstm_make(ebb_params *p)
{
    ebb_nn_lstm_make(p, "cell", LSTM_WIDTH, LSTM_WIDTH);
    param(p, "head", EBB_SHAPE(LSTM_WIDTH, LSTM_WIDTH));
    return ebb_params_status(p);
}

static ebb_tensor *lstm_loss(ebb_params *p, int step)
{
    ebb_nn_lstm cell = {at(p, "cell", "w_x"), at(p, "cell", "w_h"), at(p, "cell", "bias")};
    ebb_context *ctx = ebb_params_context(p);
    ebb_tensor *h = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(LSTM_BATCH, LSTM_WIDTH));
    ebb_tensor *c = ebb_zeros(ctx, EBB_F32, EBB_SHAPE(LSTM_BATCH, LSTM_WIDTH));
    for (int t = 0; t < LSTM_STEPS; t++) {
        ebb_tensor *x = data(p, step * 31 + t, EBB_SHAPE(LSTM_BATCH, LSTM_WIDTH));
        if (ebb_nn_lstm_step(&h, &c, &cell, x) != EBB_OK) return NULL;
    }
    return ebb_cross_entropy(ebb_matmul(h, ebb_params_find(p, "head")),
                             labels(p, step, LSTM_BATCH, LSTM_WIDTH), NULL);
}

/* ---- attention --------------------------------------------------------------------------- */

enum { ATT_WIDTH = 48, ATT_LENGTH = 48, ATT_BATCH = 4, ATT_BLOCKS = 3 };

static ebb_status attention_make(ebb_params *p)
{
    static const char *const names[] = {"q", "k", "v", "o", "up", "down"};
    for (int l = 0; l < ATT_BLOCKS; l++) {
        ebb_params *layer = ebb_params_sub(p, "l%d", l);
        for (int i = 0; i < 6; i++) param(layer, names[i], EBB_SHAPE(ATT_WIDTH, ATT_WIDTH));
        ebb_nn_norm_make(layer, "norm", ATT_WIDTH);
    }
    return ebb_params_status(p);
}

static ebb_tensor *attention_loss(ebb_params *p, int step)
{
    ebb_tensor *h = data(p, step, EBB_SHAPE(ATT_BATCH, ATT_LENGTH, ATT_WIDTH));
    for (int l = 0; l < ATT_BLOCKS; l++) {
        ebb_params *layer = ebb_params_sub(p, "l%d", l), *norm = ebb_params_sub(layer, "norm");
        ebb_tensor *x = ebb_layer_norm(h, ebb_params_find(norm, "weight"),
                                       ebb_params_find(norm, "bias"), NULL);
        ebb_tensor *q = ebb_matmul(x, ebb_params_find(layer, "q"));
        ebb_tensor *k = ebb_matmul(x, ebb_params_find(layer, "k"));
        ebb_tensor *v = ebb_matmul(x, ebb_params_find(layer, "v"));
        ebb_tensor *s = ebb_matmul(q, ebb_transpose(k, 1, 2));
        s = ebb_dropout(ebb_softmax(ebb_mul_scalar(s, 0.176776695), -1), 0.1);
        x = ebb_matmul(ebb_matmul(s, v), ebb_params_find(layer, "o"));
        h = ebb_add(h, ebb_dropout(x, 0.1));
        x = ebb_gelu(ebb_matmul(h, ebb_params_find(layer, "up")), NULL);
        h = ebb_add(h, ebb_matmul(x, ebb_params_find(layer, "down")));
    }
    return ebb_mean(ebb_square(h), EBB_ALL);
}

const model models[] = {{"perceptron", mlp_make, mlp_loss},
                        {"convolutions", cnn_make, cnn_loss},
                        {"lstm", lstm_make, lstm_loss},
                        {"attention", attention_make, attention_loss}};
const int n_models = sizeof models / sizeof *models;

/* ---- training ---------------------------------------------------------------------------- */

static ebb_status see(training *out, ebb_tensor *t)
{
    size_t bytes = ebb_n_bytes(t);
    while (out->n_seen + bytes > out->max_seen) {
        out->max_seen = out->max_seen ? 2 * out->max_seen : 1 << 16;
        out->seen = own_realloc(out->seen, out->max_seen);
    }
    EBB_TRY(ebb_read(out->seen + out->n_seen, bytes, ebb_dtype_of(t), t));
    out->n_seen += bytes;
    return EBB_OK;
}

static ebb_status train_step(training *out, const model *m, ebb_params *p, ebb_optimizer *opt,
                             int step)
{
    EBB_SCOPE(iter);
    ebb_tensor *loss = m->loss(p, step);
    ebb_status status = ebb_backward(loss, NULL);
    if (status != EBB_OK) ebb_stats_get(&out->last, ebb_params_context(p));
    if (status != EBB_OK) return status;
    EBB_TRY(see(out, loss));
    for (int64_t i = 0; i < ebb_params_count(p); i++)
        if (!ebb_params_is_buffer(p, i)) EBB_TRY(see(out, ebb_grad_of(ebb_params_at(p, i))));
    status = ebb_optimizer_step(opt);
    if (status != EBB_OK) ebb_stats_get(&out->last, ebb_params_context(p));
    return status;
}

static ebb_status train_in(training *out, const model *m, const training_options *o,
                           ebb_context *ctx)
{
    ebb_params *p;
    ebb_optimizer *opt;
    ebb_stats s;
    EBB_TRY(ebb_params_create(&p, ctx));
    EBB_TRY(m->make(p));
    EBB_TRY(o->adam ? ebb_adam_create(&opt, p, 1e-3, NULL)
                    : ebb_sgd_create(&opt, p, 0.05, &(ebb_sgd_options){.momentum = 0.9}));
    for (int step = 0; step < o->n_steps && !(o->enough && *o->enough); step++) {
        EBB_TRY(train_step(out, m, p, opt, step));
        if (o->each_step) o->each_step(o->user, ctx);
    }
    EBB_SCOPE(end);
    for (int64_t i = 0; i < ebb_params_count(p); i++) EBB_TRY(see(out, ebb_params_at(p, i)));
    ebb_stats_get(&s, ctx);
    out->peak = s.peak_bytes;
    out->pinned = s.used_bytes;
    return EBB_OK;
}

ebb_status train(training *out, const model *m, const training_options *o)
{
    ebb_context *ctx;
    *out = (training){0};
    EBB_TRY(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = o->n_threads,
                                                            .seed = 5,
                                                            .memory_budget_bytes = o->budget,
                                                            .parent = o->parent,
                                                            .allocator = o->allocator}));
    ebb_status status = train_in(out, m, o, ctx);
    ebb_context_destroy(ctx);
    return status;
}

void training_free(training *t)
{
    own_free(t->seen);
    *t = (training){0};
}

bool training_equal(const training *a, const training *b)
{
    return a->n_seen == b->n_seen && memcmp(a->seen, b->seen, a->n_seen) == 0;
}
