/* zoo.c - the list of models, and how one is trained.
 * SPDX-License-Identifier: MIT */
#include "zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const zoo_model zoo_models[] = {
    {.name = "mlp_8x1024", .make = zoo_mlp_make, .block = zoo_mlp_block},
    {.name = "resnet_20", .make = zoo_resnet_make, .block = zoo_resnet_block, .variant = 3},
    {.name = "resnet_56", .make = zoo_resnet_make, .block = zoo_resnet_block, .variant = 9},
    {.name = "densenet_40", .make = zoo_densenet_make, .block = zoo_densenet_block},
    {.name = "unet_4", .make = zoo_unet_make, .block = zoo_unet_block},
    {.name = "transformer_6",
     .make = zoo_transformer_make,
     .block = zoo_transformer_block,
     .adam = true},
    {.name = "lstm_128", .make = zoo_lstm_make, .block = zoo_lstm_block},
    {.name = "lstm_buckets",
     .make = zoo_lstm_make,
     .block = zoo_lstm_block,
     .begin = zoo_lstm_begin,
     .variant = 1},
    {.name = "tree_lstm_fixed",
     .make = zoo_tree_make,
     .block = zoo_tree_block,
     .begin = zoo_tree_begin},
    {.name = "tree_lstm_random",
     .make = zoo_tree_make,
     .block = zoo_tree_block,
     .begin = zoo_tree_begin,
     .variant = 1},
    {.name = "chain_32",
     .make = zoo_chain_make,
     .block = zoo_chain_block,
     .variant = 32,
     .is_chain = true},
    {.name = "chain_64",
     .make = zoo_chain_make,
     .block = zoo_chain_block,
     .variant = 64,
     .is_chain = true},
    {.name = "chain_128",
     .make = zoo_chain_make,
     .block = zoo_chain_block,
     .variant = 128,
     .is_chain = true},
    {.name = "chain_256",
     .make = zoo_chain_make,
     .block = zoo_chain_block,
     .variant = 256,
     .is_chain = true},
};
const int zoo_n_models = sizeof zoo_models / sizeof *zoo_models;

/* ---- data -------------------------------------------------------------------------------- */

static int64_t count(ebb_shape s)
{
    int64_t n = 1;
    for (int64_t d = 0; d < s.n_dims; d++) n *= s.dims[d];
    return n;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u; /* Numerical Recipes, 1992 */
    return *state >> 8;
}

static ebb_tensor *copied(zoo_run *run, ebb_dtype d, ebb_shape s, void *data, size_t bytes)
{
    ebb_tensor *t = data ? ebb_keep(ebb_tensor_copy(run->ctx, d, s, data, bytes)) : NULL;
    if (!data) (void)ebb_fail(EBB_E_NOMEM, "no memory for the data of a model");
    free(data);
    return t;
}

ebb_tensor *zoo_data(zoo_run *run, ebb_shape s)
{
    size_t bytes = (size_t)count(s) * sizeof(float);
    float *x = malloc(bytes);
    uint32_t random = 7;
    for (int64_t i = 0; x && i < count(s); i++)
        x[i] = (float)next_random(&random) / (1 << 23) - 1;
    return copied(run, EBB_F32, s, x, bytes);
}

ebb_tensor *zoo_labels(zoo_run *run, ebb_shape s, int64_t n_classes)
{
    size_t bytes = (size_t)count(s) * sizeof(int64_t);
    int64_t *y = malloc(bytes);
    uint32_t random = 11;
    for (int64_t i = 0; y && i < count(s); i++) y[i] = next_random(&random) % n_classes;
    return copied(run, EBB_I64, s, y, bytes);
}

void *zoo_layers(zoo_run *run, size_t bytes)
{
    run->layers = calloc(1, bytes);
    if (!run->layers) (void)ebb_fail(EBB_E_NOMEM, "no memory for the layers of a model");
    return run->layers;
}

/* ---- training ---------------------------------------------------------------------------- */

static ebb_status open_in(zoo_run *run)
{
    EBB_SCOPE(open);
    EBB_TRY(ebb_params_create(&run->params, run->ctx));
    EBB_TRY(run->model->make(run));
    EBB_TRY(ebb_params_status(run->params));
    for (int64_t i = 0; i < ebb_params_count(run->params); i++)
        if (!ebb_params_is_buffer(run->params, i))
            run->trained_bytes += ebb_n_bytes(ebb_params_at(run->params, i));
    if (run->model->adam) return ebb_adam_create(&run->opt, run->params, 1e-4, NULL);
    return ebb_sgd_create(&run->opt, run->params, 1e-3, &(ebb_sgd_options){.momentum = 0.9});
}

ebb_status zoo_open(zoo_run *run, const zoo_model *model, zoo_scale scale, size_t budget,
                    int32_t n_threads, bool regions)
{
    *run = (zoo_run){.model = model, .scale = scale};
    const ebb_context_options options = {
        .memory_budget_bytes = budget, .n_threads = n_threads, .seed = 5};
    EBB_TRY(ebb_context_create(&run->ctx, &options));
    EBB_TRY(open_in(run));
    if (regions) run->n_segments = (int)(sqrt(run->n_blocks) + 0.5);
    return EBB_OK;
}

void zoo_close(zoo_run *run)
{
    ebb_context_destroy(run->ctx);
    free(run->layers);
    *run = (zoo_run){0};
}

static ebb_status run_block(ebb_tensor *held[ZOO_STATE], zoo_run *run, int i)
{
    EBB_SCOPE(block);
    ebb_tensor *now[ZOO_STATE];
    memcpy(now, held, sizeof now);
    EBB_TRY(run->model->block(now, run, i));
    for (int k = 0; k < ZOO_STATE; k++) {
        if (now[k] == held[k]) continue;
        if (now[k] == EBB_NONE)
            ebb_clear(&held[k]);
        else
            EBB_TRY(ebb_hold(&held[k], now[k]));
    }
    return EBB_OK;
}

static ebb_status run_segment(ebb_tensor *held[ZOO_STATE], zoo_run *run, int from, int to)
{
    for (int i = from; i < to; i++) EBB_TRY(run_block(held, run, i));
    return EBB_OK;
}

/* The last segment is no region: its backward comes at once. */
static ebb_status run_segments(ebb_tensor *held[ZOO_STATE], zoo_run *run)
{
    int n = run->n_segments ? run->n_segments : 1;
    for (int k = 0; k < n; k++) {
        int from = run->n_blocks * k / n, to = run->n_blocks * (k + 1) / n;
        if (k == n - 1) return run_segment(held, run, from, to);
        ebb_checkpoint region = ebb_checkpoint_begin(run->ctx);
        ebb_status status = run_segment(held, run, from, to);
        ebb_checkpoint_end(&region);
        EBB_TRY(status);
    }
    return EBB_OK;
}

ebb_tensor *zoo_loss(zoo_run *run)
{
    ebb_tensor *held[ZOO_STATE] = {NULL};
    ebb_clear(&run->loss);
    if (run->model->begin) run->model->begin(run);
    ebb_status status = run_segments(held, run);
    run->step++;
    for (int k = 1; k < ZOO_STATE; k++) ebb_clear(&held[k]);
    if (status != EBB_OK) ebb_clear(&held[0]);
    return run->loss = held[0];
}

ebb_status zoo_step(zoo_run *run)
{
    EBB_SCOPE(iter);
    ebb_status status = ebb_minimize(run->opt, zoo_loss(run), NULL);
    ebb_clear(&run->loss);
    return status;
}
