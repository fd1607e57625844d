/* zoo_dense.c - a perceptron of eight layers, and chains of equal cheap ones.
 * SPDX-License-Identifier: MIT */
#include "zoo.h"

/* ---- perceptron -------------------------------------------------------------------------- */

enum { MLP_LAYERS = 8 };

ebb_status zoo_mlp_make(zoo_run *run)
{
    const int64_t batch = zoo_pick(run, 1024, 1024, 2048), width = zoo_pick(run, 64, 256, 1024);
    ebb_nn_linear *layers = zoo_layers(run, MLP_LAYERS * sizeof *layers);
    if (!layers) return ebb_error_status();
    for (int i = 0; i < MLP_LAYERS; i++) {
        ebb_params *own = ebb_params_sub(run->params, "layer%d", i);
        layers[i] = ebb_nn_linear_make(own, "linear", width, width);
    }
    run->x = zoo_data(run, EBB_SHAPE(batch, width));
    run->y = zoo_labels(run, EBB_SHAPE(batch), width);
    run->n_blocks = MLP_LAYERS;
    return run->x && run->y ? EBB_OK : ebb_error_status();
}

ebb_status zoo_mlp_block(ebb_tensor *state[], zoo_run *run, int i)
{
    const ebb_nn_linear *layers = run->layers;
    ebb_tensor *h = ebb_nn_linear_forward(&layers[i], i ? state[0] : run->x);
    state[0] = i < MLP_LAYERS - 1 ? ebb_relu(h) : ebb_cross_entropy(h, run->y, NULL);
    return state[0] ? EBB_OK : ebb_error_status();
}

/* ---- chains ------------------------------------------------------------------------------ */

/* variant values one after another, each made from the one before and read by the backward. */
ebb_status zoo_chain_make(zoo_run *run)
{
    const int64_t n = zoo_pick(run, 1 << 14, 1 << 14, 1 << 17);
    run->x = zoo_data(run, EBB_SHAPE(n));
    run->n_blocks = run->model->variant + 1;
    ebb_tensor *w = ebb_param(run->params, "scale", EBB_F32, EBB_SHAPE(1), ebb_constant(1.25));
    return run->x && w ? EBB_OK : ebb_error_status();
}

ebb_status zoo_chain_block(ebb_tensor *state[], zoo_run *run, int i)
{
    if (i == 0)
        state[0] = ebb_mul(run->x, ebb_params_at(run->params, 0));
    else if (i < run->model->variant)
        state[0] = ebb_tanh(state[0]);
    else
        state[0] = ebb_mean(state[0], EBB_ALL);
    return state[0] ? EBB_OK : ebb_error_status();
}
