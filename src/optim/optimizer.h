/* optimizer.h - what all optimizers share: parameters, state and the update operation.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPTIM_OPTIMIZER_H
#define EBB_OPTIM_OPTIMIZER_H

#include "op/op.h"

#include <ebb/extend.h>
#include <ebb/optim.h>

enum { EBB__OPTIM_STATES = 2, EBB__OPTIM_ATTR_BYTES = 128 };

/* One parameter's part, at the parameter's position in the set. */
typedef struct ebb__optim_slot {
    ebb_tensor *state[EBB__OPTIM_STATES]; /* NULL until its first step */
    int64_t n_steps;
    ebb_tensor *param, *grad; /* during a step; grad NULL: it has none */
} ebb__optim_slot;

struct ebb_optimizer {
    ebb_context *ctx;
    ebb_attachment attachment;
    ebb_params *params; /* one reference */
    const ebb_op *update;
    double lr;
    int32_t n_states;
    ebb__optim_slot *slots;
    int64_t n_slots;
    _Alignas(16) unsigned char attr[EBB__OPTIM_ATTR_BYTES]; /* of update, but for lr and step */
};

/* Writes one attribute of update into attr, by its name in the descriptor. E_INTERNAL. */
ebb_status ebb__optim_set(void *attr, const ebb_op *update, const char *name, double v);

#endif
