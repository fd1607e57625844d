/* matrices.h - an operation run matrix by matrix over a batch, each thread with scratch of its
 * own, and its failures told by their place in the batch.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_MATRICES_H
#define EBB_OPS_MATRICES_H

#include "ops/operand.h"

/* Does item `item` of the batch; scratch: `doubles` of them, then 2 n whole numbers. Returns
 * the place where the matrix is no such as is needed, or -1. */
typedef struct ebb__matrices ebb__matrices;
typedef int64_t (*ebb__matrix_fn)(const ebb__matrices *w, int64_t item, double *scratch);
struct ebb__matrices {
    const ebb__call *c;
    ebb__matrix_fn run;
    ebb_shape batch;
    int64_t n;       /* the matrix's side */
    int64_t m;       /* columns of a right side, or what run makes of it */
    int64_t doubles; /* of scratch */
    double cost;     /* of one item, elementary steps */
};

/* Operand i is (..., n, n). */
ebb_status ebb__check_square(const ebb__call *c, int32_t i);
/* In shape rules: the scratch of ebb__matrices_run. */
void ebb__matrices_reserve(ebb__call *c, int64_t n, int64_t doubles);
/* E_RANGE with `what` is wrong, naming the first item of the batch that is not such. */
ebb_status ebb__matrices_run(const ebb__matrices *w, const char *what);
/* The first element of the matrix or vector of operand i that item `item` of the batch reads:
 * the operand's last n_own axes are its own, those before broadcast. */
int64_t ebb__matrices_first(const ebb__matrices *w, const ebb_shape *x, int64_t n_own,
                            int64_t item);
static inline int64_t *ebb__matrices_rows(const ebb__matrices *w, double *scratch)
{
    return (int64_t *)(scratch + w->doubles);
}

#endif
