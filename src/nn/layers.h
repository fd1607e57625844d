/* layers.h - what layers share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NN_LAYERS_H
#define EBB_NN_LAYERS_H

#include <ebb/nn.h>

/* What a forward says of a layer that is NULL. */
static inline ebb_tensor *ebb__nn_no_layer(const char *function)
{
    (void)ebb_fail(EBB_E_MISUSE, "%s: m is NULL", function);
    return NULL;
}

/* Lets go of a tensor of the innermost scope before that ends. */
static inline void ebb__nn_drop(ebb_tensor *t)
{
    ebb_release(ebb_claim(t));
}

#endif
