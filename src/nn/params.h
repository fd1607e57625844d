/* params.h - parameter sets, inside nn.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NN_PARAMS_H
#define EBB_NN_PARAMS_H

#include <ebb/params.h>

/* A tensor of the innermost scope that starts as init says. */
ebb_tensor *ebb__init_make(ebb_context *ctx, ebb_dtype d, ebb_shape s, ebb_init init);

#endif
