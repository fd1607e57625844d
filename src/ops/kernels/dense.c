/* dense.c - LU, Cholesky and triangular systems, as sums of rows.
 *
 * Golub, Van Loan: Matrix Computations (2013), 3.4 (pivoting), 4.2 (Cholesky). Every inner loop
 * goes along rows of both operands and rounds element by element, so vectors do not change
 * results.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/dense.h"

#include "ops/kernels/clones.h"

#include <math.h>

void ebb__dense_load(double *to, const ebb_view *from, int64_t first, int64_t rows,
                     int64_t columns, bool transposed)
{
    const float *f32 = (const float *)from->data + (from->dtype == EBB_F32 ? first : 0);
    const double *f64 = (const double *)from->data + (from->dtype == EBB_F64 ? first : 0);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t at = transposed ? j * rows + i : i * columns + j;
            to[i * columns + j] = from->dtype == EBB_F32 ? (double)f32[at] : f64[at];
        }
}

void ebb__dense_store(const ebb_view *to, int64_t first, const double *from, int64_t rows,
                      int64_t columns, bool transposed)
{
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            int64_t at = first + (transposed ? j * rows + i : i * columns + j);
            if (to->dtype == EBB_F32)
                ((float *)to->data)[at] = (float)from[i * columns + j];
            else
                ((double *)to->data)[at] = from[i * columns + j];
        }
}

/* y -= factor x */
EBB_CLONES static void subtract(double *y, double factor, const double *x, int64_t n)
{
    EBB_IVDEP
    for (int64_t i = 0; i < n; i++) y[i] -= factor * x[i];
}

static void swap_rows(double *a, int64_t *rows, int64_t i, int64_t j, int64_t n)
{
    int64_t row = rows[i];
    if (i == j) return;
    rows[i] = rows[j], rows[j] = row;
    for (int64_t k = 0; k < n; k++) {
        double x = a[i * n + k];
        a[i * n + k] = a[j * n + k], a[j * n + k] = x;
    }
}

static void swap_columns(double *a, int64_t *columns, int64_t i, int64_t j, int64_t n)
{
    int64_t column = columns[i];
    if (i == j) return;
    columns[i] = columns[j], columns[j] = column;
    for (int64_t k = 0; k < n; k++) {
        double x = a[k * n + i];
        a[k * n + i] = a[k * n + j], a[k * n + j] = x;
    }
}

/* Rows below k less their multiple of row k. */
static void eliminate(double *a, int64_t k, int64_t n)
{
    for (int64_t i = k + 1; i < n; i++) {
        double factor = a[i * n + k] / a[k * n + k];
        a[i * n + k] = factor;
        if (factor != 0) subtract(a + i * n + k + 1, factor, a + k * n + k + 1, n - k - 1);
    }
}

/* NaN counts as largest, so that it is not divided by silently later. */
static bool larger(double x, double than)
{
    return fabs(x) > fabs(than) || (isnan(x) && !isnan(than));
}

int64_t ebb__dense_lu(double *a, int64_t *rows, double *sign, int64_t n)
{
    *sign = 1;
    for (int64_t i = 0; i < n; i++) rows[i] = i;
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t i = k + 1; i < n; i++)
            if (larger(a[i * n + k], a[best * n + k])) best = i;
        if (a[best * n + k] == 0) return k;
        if (best != k) *sign = -*sign;
        swap_rows(a, rows, k, best, n);
        eliminate(a, k, n);
    }
    return n;
}

void ebb__dense_lu_full(double *a, int64_t *rows, int64_t *columns, double *sign, int64_t n)
{
    *sign = 1;
    for (int64_t i = 0; i < n; i++) rows[i] = columns[i] = i;
    for (int64_t k = 0; k < n; k++) {
        int64_t row = k, column = k;
        for (int64_t i = k; i < n; i++)
            for (int64_t j = k; j < n; j++)
                if (larger(a[i * n + j], a[row * n + column])) row = i, column = j;
        if (row != k) *sign = -*sign;
        if (column != k) *sign = -*sign;
        swap_rows(a, rows, k, row, n);
        swap_columns(a, columns, k, column, n);
        if (a[k * n + k] == 0) return; /* all that is left is 0 */
        eliminate(a, k, n);
    }
}

/* Row by row the rest of the lower half, by rows of the result transposed in the upper half. */
int64_t ebb__dense_cholesky(double *a, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double pivot = a[k * n + k];
        if (!(pivot > 0) || isinf(pivot)) return k;
        pivot = sqrt(pivot);
        a[k * n + k] = pivot;
        for (int64_t j = k + 1; j < n; j++) a[k * n + j] /= pivot;
        for (int64_t i = k + 1; i < n; i++)
            subtract(a + i * n + i, a[k * n + i], a + k * n + i, n - i);
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            a[j * n + i] = a[i * n + j];
            a[i * n + j] = 0;
        }
    return n;
}

static void divide(double *x, double by, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] /= by;
}

void ebb__dense_lower(const double *a, double *b, int64_t n, int64_t m, bool unit)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++) subtract(b + i * m, a[i * n + k], b + k * m, m);
        if (!unit) divide(b + i * m, a[i * n + i], m);
    }
}

void ebb__dense_upper(const double *a, double *b, int64_t n, int64_t m, bool unit)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = i + 1; k < n; k++) subtract(b + i * m, a[i * n + k], b + k * m, m);
        if (!unit) divide(b + i * m, a[i * n + i], m);
    }
}
