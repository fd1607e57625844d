/* dense.h - square matrices, row after row in doubles: factors and what is solved with them.
 *
 * One matrix at a time on one thread, whatever the element type outside: f32 is factored in
 * double precision and rounded once.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_DENSE_H
#define EBB_OPS_KERNELS_DENSE_H

#include "op/op.h"

/* rows x columns from element `first` of contiguous data; transposed: its columns as rows. */
void ebb__dense_load(double *to, const ebb_view *from, int64_t first, int64_t rows,
                     int64_t columns, bool transposed);
/* The other way; rows and columns are those of `from`. */
void ebb__dense_store(const ebb_view *to, int64_t first, const double *from, int64_t rows,
                      int64_t columns, bool transposed);

/* a becomes L (unit lower, below the diagonal) and U with rows[i] the row of a that is row i of
 * L U: partial pivoting. *sign: of the exchange of rows. Returns the first place where every
 * pivot is 0, or n. */
int64_t ebb__dense_lu(double *a, int64_t *rows, double *sign, int64_t n);
/* The same with columns exchanged too, so that pivots only fall; always goes to the end. */
void ebb__dense_lu_full(double *a, int64_t *rows, int64_t *columns, double *sign, int64_t n);
/* a = L L' in the lower half, zeros above. Returns the first place without a positive pivot, or
 * n. */
int64_t ebb__dense_cholesky(double *a, int64_t n);
/* b (n, m) becomes the solution of a triangular system. */
void ebb__dense_lower(const double *a, double *b, int64_t n, int64_t m, bool unit);
void ebb__dense_upper(const double *a, double *b, int64_t n, int64_t m, bool unit);

#endif
