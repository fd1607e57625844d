/* lapack.h - the machine's LAPACK in place of reference kernels, for large matrices.
 *
 * It is looked for when the first large matrix comes, not when a program starts: a BLAS may
 * start threads of its own as soon as it is loaded. Without it the reference kernels serve.
 * What it allocates inside is its own and not accounted; work space that it asks for is the
 * call's scratch. Its number of threads is the library's (OPENBLAS_NUM_THREADS and the like).
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BACKEND_LAPACK_LAPACK_H
#define EBB_BACKEND_LAPACK_LAPACK_H

#include "op/op.h"

extern const ebb__backend ebb__backend_lapack;

#endif
