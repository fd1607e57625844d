/* models.h - small models of every kind that a budget has to deal with, trained for a few steps;
 * everything that can be seen of the training is collected, bit for bit.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_BUDGET_MODELS_H
#define EBB_TESTS_BUDGET_MODELS_H

#include <ebb/ebb.h>

typedef struct model {
    const char *name;
    ebb_status (*make)(ebb_params *p);
    ebb_tensor *(*loss)(ebb_params *p, int step);
} model;
extern const model models[];
extern const int n_models;

/* True while the tests themselves allocate. */
extern _Thread_local bool models_own;

typedef struct training {
    unsigned char *seen; /* losses, gradients, parameters and buffers */
    size_t n_seen, max_seen;
    size_t peak, pinned; /* bytes in use at most, and between steps */
    ebb_stats last;      /* after a failure */
} training;
typedef struct training_options {
    size_t budget;
    int32_t n_threads, n_steps;
    bool adam;
    void (*each_step)(void *user, ebb_context *ctx);
    void *user;
    const bool *enough; /* set by each_step: no more steps. NULL: all n_steps */
    const ebb_allocator *allocator;
    ebb_context *parent;
} training_options;
/* The first failure of a step; the context is destroyed in any case. */
ebb_status train(training *out, const model *m, const training_options *o);
void training_free(training *t);
bool training_equal(const training *a, const training *b);

#endif
