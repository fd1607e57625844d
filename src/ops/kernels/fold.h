/* fold.h - reductions over any axes of a strided view, by a few functions on contiguous
 * elements.
 *
 * The order in which elements are combined follows from the shape alone: strides, threads and
 * memory do not change a bit of the result. Reduced positions are counted in C order of the
 * reduced axes.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_FOLD_H
#define EBB_OPS_KERNELS_FOLD_H

#include "op/op.h"

enum {
    EBB__FOLD_ROW = 1024,    /* elements of one call of row, at most */
    EBB__FOLD_COLS = 256,    /* of one call of cols */
    EBB__FOLD_ACC_BYTES = 32 /* of one accumulator, at most */
};

typedef struct ebb__folder {
    size_t acc_bytes;
    /* m accumulators of nothing. first, where asked for: the m elements at reduced position 0,
     * NULL where the reduced axes are empty. */
    void (*start)(void *acc, const void *first, int64_t m);
    /* The n elements of reduced positions at, at + 1, ... into one accumulator. */
    void (*row)(void *acc, const void *x, int64_t n, int64_t at);
    /* n reduced positions from `at`, `step` elements apart, of m <= EBB__FOLD_COLS outputs. */
    void (*cols)(void *acc, const void *x, int64_t m, int64_t at, int64_t n, int64_t step);
    /* m accumulators of later positions into those of earlier ones; at and step are 0, n is 1.
     */
    void (*merge)(void *acc, const void *later, int64_t m, int64_t at, int64_t n, int64_t step);
    /* Writes m outputs from element `at` of each of c->out; n elements were reduced for each.
     */
    void (*finish)(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n);
    bool wants_first;
} ebb__folder;

/* Bytes of scratch that ebb__fold needs for this shape. */
size_t ebb__fold_scratch(const ebb_shape *in, const bool reduced[EBB_MAX_DIMS],
                         const ebb__folder *f);
/* Reduces c->in[0]; outputs are contiguous. */
void ebb__fold(const ebb__call *c, const bool reduced[EBB_MAX_DIMS], const ebb__folder *f);

#endif
