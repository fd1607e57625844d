/* layers_net.h - equal layers to train: parameters l0, l1, ... with a square weight each, SGD and
 * one batch, the same in every run.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_LAYERS_NET_H
#define EBB_TESTS_LAYERS_NET_H

#include "cases/cases.h"

typedef struct net {
    ebb_context *ctx;
    ebb_params *p;
    ebb_optimizer *opt;
    ebb_tensor *x; /* batch x width */
} net;

typedef struct net_options {
    int n_layers, width, batch, n_threads;
    bool has_biases;
    size_t budget; /* 0: none */
} net_options;

static inline void net_make(net *m, net_options o)
{
    size_t n = (size_t)o.batch * (size_t)o.width;
    float *data = malloc(n * sizeof *data);
    assert_non_null(data);
    for (size_t i = 0; i < n; i++) data[i] = sinf((float)i);
    GOOD(ebb_context_create(&m->ctx, &(ebb_context_options){.n_threads = o.n_threads,
                                                            .seed = 9,
                                                            .memory_budget_bytes = o.budget}));
    GOOD(ebb_params_create(&m->p, m->ctx));
    for (int l = 0; l < o.n_layers; l++) {
        ebb_params *layer = ebb_params_sub(m->p, "l%d", l);
        ebb_param(layer, "w", EBB_F32, EBB_SHAPE(o.width, o.width), ebb_xavier_uniform());
        if (o.has_biases) ebb_param(layer, "b", EBB_F32, EBB_SHAPE(o.width), ebb_constant(0.1));
    }
    GOOD(ebb_params_status(m->p));
    GOOD(ebb_sgd_create(&m->opt, m->p, 0.05, NULL));
    EBB_SCOPE(scope);
    m->x = ebb_keep(
        ebb_tensor_copy(m->ctx, EBB_F32, EBB_SHAPE(o.batch, o.width), data, n * sizeof *data));
    free(data);
}

static inline void net_close(net *m)
{
    ebb_release(m->x);
    ebb_context_destroy(m->ctx);
}

static inline ebb_tensor *net_param(const net *m, int l, const char *name)
{
    return ebb_params_find(ebb_params_sub(m->p, "l%d", l), name);
}

#endif
