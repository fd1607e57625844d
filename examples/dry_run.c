/* dry_run.c - what training would cost, known before its first step: prints the time that each
 * budget would take. Argument: the batch (default 4,096).
 *
 * The step is run with shapes only, so trying a batch that needs gigabytes takes milliseconds
 * and none of them.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 8, WIDTH = 512 };

typedef struct net {
    ebb_context *ctx;
    ebb_params *params;
    ebb_optimizer *adam;
    int64_t batch;
} net;

static ebb_status step(void *user)
{
    net *n = user;
    EBB_SCOPE(iter);
    ebb_tensor *h = ebb_uniform(n->ctx, EBB_F32, EBB_SHAPE(n->batch, WIDTH), -1, 1);
    for (int64_t i = 0; i < LAYERS; i++) {
        EBB_SCOPE(layer);
        h = ebb_escape(layer, ebb_gelu(ebb_matmul(h, ebb_params_at(n->params, i)), NULL));
    }
    ebb_tensor *loss = ebb_mean(ebb_square(h), EBB_ALL);
    EBB_TRY(ebb_minimize(n->adam, loss, NULL));
    return EBB_OK;
}

static ebb_status table_print(const ebb_iteration *it)
{
    ebb_iteration_facts f;
    ebb_simulation s;
    size_t smallest;
    EBB_TRY(ebb_iteration_facts_get(&f, it));
    EBB_TRY(ebb_iteration_smallest(&smallest, &s, it, 2));
    const double mib = 1 << 20, peak = (double)f.peak_bytes;
    printf("%lld operations, peak %.1f MiB; nothing works below %.1f MiB\n",
           (long long)f.n_operations, peak / mib, (double)f.lower_bound / mib);
    printf("   budget  time\n");
    for (int tenth = 9; tenth >= 1; tenth -= 2) {
        size_t budget = (size_t)(peak * tenth / 10);
        EBB_TRY(ebb_iteration_simulate(&s, it, budget, NULL));
        if (s.works)
            printf("%6.1f MiB  %.3f times as long\n", (double)budget / mib, s.slowdown);
        else
            printf("%6.1f MiB  does not work\n", (double)budget / mib);
    }
    printf("%6.1f MiB  is the least that works in twice the time\n", (double)smallest / mib);
    return smallest < f.peak_bytes ? EBB_OK : EBB_E_INTERNAL;
}

static ebb_status run(net *n)
{
    ebb_iteration *it;
    EBB_TRY(ebb_params_create(&n->params, n->ctx));
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        ebb_param(n->params, name, EBB_F32, EBB_SHAPE(WIDTH, WIDTH), ebb_xavier_uniform());
    }
    EBB_TRY(ebb_params_status(n->params));
    EBB_TRY(ebb_adam_create(&n->adam, n->params, 0.001, NULL));
    EBB_TRY(ebb_dry_run(&it, n->ctx, step, n));
    ebb_status status = table_print(it);
    ebb_iteration_destroy(it);
    return status;
}

int main(int argc, char **argv)
{
    net n = {.batch = argc > 1 ? atoi(argv[1]) : 4096};
    ebb_status status = ebb_context_create(&n.ctx, NULL);
    if (status == EBB_OK) status = run(&n);
    if (status != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(n.ctx);
    return status != EBB_OK;
}
