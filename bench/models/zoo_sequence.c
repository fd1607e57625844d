/* zoo_sequence.c - an LSTM over 128 steps or over lengths in four buckets, a TreeLSTM, and a
 * transformer of six layers with dropout.
 * SPDX-License-Identifier: MIT */
#include "zoo.h"

#include <stddef.h>

/* ---- LSTM -------------------------------------------------------------------------------- */

typedef struct sequence {
    ebb_nn_lstm cell;
    ebb_nn_linear head;
    int n_steps;
} sequence;

ebb_status zoo_lstm_make(zoo_run *run)
{
    sequence *m = zoo_layers(run, sizeof *m);
    if (!m) return ebb_error_status();
    const int64_t width = zoo_pick(run, 32, 64, 256), batch = zoo_pick(run, 128, 32, 32);
    m->n_steps = (int)zoo_pick(run, 16, 64, 128);
    m->cell = ebb_nn_lstm_make(run->params, "cell", width, width);
    m->head = ebb_nn_linear_make(run->params, "head", width, 10);
    run->n_blocks = m->n_steps + 1;
    run->x = zoo_data(run, EBB_SHAPE(m->n_steps, batch, width));
    run->y = zoo_labels(run, EBB_SHAPE(batch), 10);
    return run->x && run->y ? EBB_OK : ebb_error_status();
}

/* Lengths of a quarter, a half, three quarters, all; in an order that is not a cycle of four. */
void zoo_lstm_begin(zoo_run *run)
{
    static const unsigned char quarters[] = {4, 2, 1, 3, 2, 4, 3, 1};
    const sequence *m = run->layers;
    run->n_blocks = m->n_steps * quarters[run->step % 8] / 4 + 1;
}

ebb_status zoo_lstm_block(ebb_tensor *state[], zoo_run *run, int i)
{
    const sequence *m = run->layers;
    if (i == run->n_blocks - 1) {
        ebb_tensor *y = ebb_nn_linear_forward(&m->head, state[0]);
        state[0] = ebb_cross_entropy(y, run->y, NULL);
        return state[0] ? EBB_OK : ebb_error_status();
    }
    ebb_tensor *x = ebb_select(run->x, 0, i);
    if (i == 0)
        for (int k = 0; k < 2; k++)
            state[k] = ebb_zeros(run->ctx, EBB_F32, EBB_SHAPE(ebb_dim(x, 0), ebb_dim(x, 1)));
    return ebb_nn_lstm_step(&state[0], &state[1], &m->cell, x);
}

/* ---- TreeLSTM (Tai et al. 2015, binary) --------------------------------------------------- */

enum { TREE_STACK = 9, TREE_MAX_LEAVES = 128, SHIFT = 0, REDUCE = 1 };

typedef struct tree {
    ebb_nn_linear leaf, node, head;
    int n_leaves;
    int depth, n_shifted; /* of the stack and of the leaves, while a step runs */
} tree;

ebb_status zoo_tree_make(zoo_run *run)
{
    tree *m = zoo_layers(run, sizeof *m);
    if (!m) return ebb_error_status();
    const int64_t width = zoo_pick(run, 32, 64, 128), batch = zoo_pick(run, 128, 16, 32);
    m->n_leaves = (int)zoo_pick(run, 16, 64, TREE_MAX_LEAVES);
    m->leaf = ebb_nn_linear_make(run->params, "leaf", width, 3 * width);
    m->node = ebb_nn_linear_make(run->params, "node", 2 * width, 5 * width);
    m->head = ebb_nn_linear_make(run->params, "head", width, 10);
    run->x = zoo_data(run, EBB_SHAPE(m->n_leaves, batch, width));
    run->y = zoo_labels(run, EBB_SHAPE(batch), 10);
    run->n_blocks = 2 * m->n_leaves;
    return run->x && run->y ? EBB_OK : ebb_error_status();
}

/* The tree as shifts and reductions of a stack: variant 0 the complete one, 1 another each step. */
void zoo_tree_begin(zoo_run *run)
{
    tree *m = run->layers;
    unsigned random = (unsigned)run->step * 2654435761u + 1;
    int depth = 0, leaves = 0;
    for (int i = 0; i < run->n_blocks - 1; i++) {
        random = random * 1664525u + 1013904223u;
        bool reduce = (random >> 24) & 1;
        if (run->model->variant == 0) /* one entry for each bit of the number of leaves */
            reduce = depth > __builtin_popcount((unsigned)leaves);
        if (depth < 2) reduce = false;
        if (depth == TREE_STACK || leaves == m->n_leaves) reduce = true;
        run->plan[i] = reduce ? REDUCE : SHIFT;
        depth += reduce ? -1 : 1;
        leaves += !reduce;
    }
    m->depth = m->n_shifted = 0;
}

/* Part k of n of the gates, through its curve. */
static ebb_tensor *gate(ebb_tensor *gates, int64_t k, int64_t n)
{
    const int64_t width = ebb_dim(gates, 1) / n;
    ebb_tensor *x = ebb_narrow(gates, 1, k * width, width);
    return k == 0 ? ebb_tanh(x) : ebb_sigmoid(x);
}

/* gates: update, input, output, and one to forget for each child. */
static ebb_status tree_cell(ebb_tensor *state[], ebb_tensor *gates, int64_t n, ebb_tensor *left,
                            ebb_tensor *right)
{
    ebb_tensor *c = ebb_mul(gate(gates, 0, n), gate(gates, 1, n));
    if (n == 5) {
        ebb_replace(&c, ebb_add(c, ebb_mul(gate(gates, 3, n), left)));
        ebb_replace(&c, ebb_add(c, ebb_mul(gate(gates, 4, n), right)));
    }
    state[0] = ebb_mul(gate(gates, 2, n), ebb_tanh(c));
    state[1] = c;
    return state[0] ? EBB_OK : ebb_error_status();
}

/* state: (h, c) of the stack's entries. */
ebb_status zoo_tree_block(ebb_tensor *state[], zoo_run *run, int i)
{
    tree *m = run->layers;
    if (i == run->n_blocks - 1) {
        ebb_tensor *y = ebb_nn_linear_forward(&m->head, state[0]);
        state[0] = ebb_cross_entropy(y, run->y, NULL);
        return state[0] ? EBB_OK : ebb_error_status();
    }
    if (run->plan[i] == SHIFT) {
        ebb_tensor **to = &state[2 * m->depth++];
        ebb_tensor *x = ebb_select(run->x, 0, m->n_shifted++);
        return tree_cell(to, ebb_nn_linear_forward(&m->leaf, x), 3, NULL, NULL);
    }
    ebb_tensor **to = &state[2 * (m->depth-- - 2)];
    ebb_tensor *const both[] = {to[0], to[2]};
    ebb_tensor *x = ebb_cat(both, 2, 1);
    EBB_TRY(tree_cell(to, ebb_nn_linear_forward(&m->node, x), 5, to[1], to[3]));
    to[2] = to[3] = EBB_NONE;
    return EBB_OK;
}

/* ---- transformer (Vaswani et al. 2017; layer norm first) ---------------------------------- */

enum { LAYERS = 6 };

typedef struct layer {
    ebb_nn_norm norm_a, norm_b;
    ebb_nn_attention attention;
    ebb_nn_linear up, down;
} layer;
typedef struct transformer {
    layer layers[LAYERS];
    ebb_nn_norm last;
    ebb_nn_linear head;
} transformer;

ebb_status zoo_transformer_make(zoo_run *run)
{
    transformer *m = zoo_layers(run, sizeof *m);
    if (!m) return ebb_error_status();
    const int64_t width = zoo_pick(run, 32, 64, 256), steps = zoo_pick(run, 32, 128, 256),
                  batch = zoo_pick(run, 8, 4, 4);
    for (int i = 0; i < LAYERS; i++) {
        ebb_params *own = ebb_params_sub(run->params, "layer%d", i);
        m->layers[i] = (layer){ebb_nn_norm_make(own, "norm_a", width),
                               ebb_nn_norm_make(own, "norm_b", width),
                               ebb_nn_attention_make(own, "attention", width, 4),
                               ebb_nn_linear_make(own, "up", width, 4 * width),
                               ebb_nn_linear_make(own, "down", 4 * width, width)};
    }
    m->last = ebb_nn_norm_make(run->params, "last", width);
    m->head = ebb_nn_linear_make(run->params, "head", width, 64);
    run->x = zoo_data(run, EBB_SHAPE(batch, steps, width));
    run->y = zoo_labels(run, EBB_SHAPE(batch * steps), 64);
    run->n_blocks = 2 * LAYERS + 1;
    return run->x && run->y ? EBB_OK : ebb_error_status();
}

/* Per layer its attention and its two linear maps; then the head. */
ebb_status zoo_transformer_block(ebb_tensor *state[], zoo_run *run, int i)
{
    const transformer *m = run->layers;
    ebb_tensor *x = i ? state[0] : run->x, *y;
    if (i == 2 * LAYERS) {
        y = ebb_nn_norm_forward(&m->last, x);
        ebb_replace(&y, ebb_nn_linear_forward(&m->head, y));
        ebb_replace(&y, ebb_reshape(y, EBB_SHAPE(ebb_dim(y, 0) * ebb_dim(y, 1), 64)));
        state[0] = ebb_cross_entropy(y, run->y, NULL);
        return state[0] ? EBB_OK : ebb_error_status();
    }
    const layer *own = &m->layers[i / 2];
    if (i % 2 == 0) {
        const ebb_attention_options options = {.dropout_p = 0.1};
        y = ebb_nn_norm_forward(&own->norm_a, x);
        ebb_replace(&y, ebb_nn_attention_forward(&own->attention, y, EBB_NONE, &options));
    } else {
        y = ebb_nn_norm_forward(&own->norm_b, x);
        ebb_replace(&y, ebb_nn_linear_forward(&own->up, y));
        ebb_replace(&y, ebb_gelu(y, NULL));
        ebb_replace(&y, ebb_nn_linear_forward(&own->down, y));
    }
    ebb_replace(&y, ebb_dropout(y, 0.1));
    state[0] = ebb_add(x, y);
    return state[0] ? EBB_OK : ebb_error_status();
}
