/* zoo.h - models to train under a budget: what a step does, in blocks, on the public interface.
 *
 * A step is a list of blocks that hand a few tensors on; what else a block makes goes when it
 * ends, so that a step holds no more than its backward needs. Blocks can be put together to
 * regions whose insides are made again (the baseline of segments of sqrt(n) blocks). Parameters,
 * data and random numbers are the same in every run.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BENCH_ZOO_H
#define EBB_BENCH_ZOO_H

#include <ebb/ebb.h>

enum { ZOO_STATE = 20, ZOO_MAX_BLOCKS = 300 };
/* TINY: for tests; SHORT: a tenth of the work of FULL. */
typedef enum zoo_scale { ZOO_TINY, ZOO_SHORT, ZOO_FULL } zoo_scale;

typedef struct zoo_run zoo_run;
typedef struct zoo_model {
    const char *name;
    /* Parameters, layers, x and y (may stay NULL) and n_blocks of a run. */
    ebb_status (*make)(zoo_run *run);
    /* Block i replaces what it changes in state[]; EBB_NONE lets go. The last one leaves the
     * loss in state[0]. */
    ebb_status (*block)(ebb_tensor *state[ZOO_STATE], zoo_run *run, int i);
    /* What differs from step to step: n_blocks, plan. May be NULL. */
    void (*begin)(zoo_run *run);
    int variant;
    bool adam;     /* else SGD with momentum */
    bool is_chain; /* equal layers, measured against the optimum */
} zoo_model;
extern const zoo_model zoo_models[];
extern const int zoo_n_models;

struct zoo_run {
    const zoo_model *model;
    zoo_scale scale;
    ebb_context *ctx;
    ebb_params *params;
    ebb_optimizer *opt;
    ebb_tensor *x, *y, *loss;
    void *layers;
    int n_blocks, step;
    int n_segments; /* 0: no regions */
    unsigned char plan[ZOO_MAX_BLOCKS];
    size_t trained_bytes; /* of the parameters that get gradients */
};
/* budget 0: none. run->ctx is there even on failure, unless the budget cannot hold a context.
 * regions: sqrt(n) of them. */
ebb_status zoo_open(zoo_run *run, const zoo_model *model, zoo_scale scale, size_t budget,
                    int32_t n_threads, bool regions);
void zoo_close(zoo_run *run);
/* The next step's loss: borrowed until the next call; zoo_step lets go of it. */
ebb_tensor *zoo_loss(zoo_run *run);
/* The whole step: loss, backward, update. */
ebb_status zoo_step(zoo_run *run);

/* ---- for the models ---------------------------------------------------------------------- */
static inline int64_t zoo_pick(const zoo_run *run, int64_t tiny, int64_t less, int64_t full)
{
    return run->scale == ZOO_TINY ? tiny : run->scale == ZOO_SHORT ? less : full;
}
/* Data in [-1, 1); class numbers. Held until the context goes. */
ebb_tensor *zoo_data(zoo_run *run, ebb_shape s);
ebb_tensor *zoo_labels(zoo_run *run, ebb_shape s, int64_t n_classes);
/* Zeroed, freed by zoo_close; NULL with a failure recorded. */
void *zoo_layers(zoo_run *run, size_t bytes);

ebb_status zoo_mlp_make(zoo_run *run);
ebb_status zoo_mlp_block(ebb_tensor *state[], zoo_run *run, int i);
ebb_status zoo_chain_make(zoo_run *run);
ebb_status zoo_chain_block(ebb_tensor *state[], zoo_run *run, int i);
ebb_status zoo_resnet_make(zoo_run *run);
ebb_status zoo_resnet_block(ebb_tensor *state[], zoo_run *run, int i);
ebb_status zoo_densenet_make(zoo_run *run);
ebb_status zoo_densenet_block(ebb_tensor *state[], zoo_run *run, int i);
ebb_status zoo_unet_make(zoo_run *run);
ebb_status zoo_unet_block(ebb_tensor *state[], zoo_run *run, int i);
ebb_status zoo_lstm_make(zoo_run *run);
ebb_status zoo_lstm_block(ebb_tensor *state[], zoo_run *run, int i);
void zoo_lstm_begin(zoo_run *run);
ebb_status zoo_tree_make(zoo_run *run);
ebb_status zoo_tree_block(ebb_tensor *state[], zoo_run *run, int i);
void zoo_tree_begin(zoo_run *run);
ebb_status zoo_transformer_make(zoo_run *run);
ebb_status zoo_transformer_block(ebb_tensor *state[], zoo_run *run, int i);

#endif
