/* onednn.h - kernels of oneDNN in place of reference ones, for single precision and large work.
 *
 * Small work, other types and what oneDNN has no fast kernel for stay with the reference
 * kernels. Results are bit for bit the same for the same number of threads.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BACKEND_ONEDNN_ONEDNN_H
#define EBB_BACKEND_ONEDNN_ONEDNN_H

#include "op/op.h"

extern const ebb__backend ebb__backend_onednn;

#endif
