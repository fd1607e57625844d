/* lapack.inl - the kernels of lapack.c for one element type T; CALL(name, ...) is LAPACKE's.
 *
 * A matrix in rows is its transpose in columns, which is how LAPACK reads it: nothing is
 * turned round but right sides of several columns. Each returns the place of a failure, or -1.
 * SPDX-License-Identifier: MIT */

/* The transpose's factors solve a' ' x = b. b (n, m) by rows; x the same. */
static int64_t FN(solve)(const lapack *l, T *x, T *lu, int *pivot, const T *b, T *turned, int n,
                         int m)
{
    int failed = CALL(getrf, COLUMNS, n, n, lu, n, pivot);
    if (failed > 0) return failed - 1;
    T *columns = m > 1 ? turned : x;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < m; j++) columns[j * n + i] = b[i * m + j];
    CALL(getrs, COLUMNS, 'T', n, m, lu, n, pivot, columns, n);
    if (m > 1)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++) x[i * m + j] = columns[j * n + i];
    return -1;
}

static int64_t FN(inverse)(const lapack *l, T *x, int *pivot, T *work, int n)
{
    int failed = CALL(getrf, COLUMNS, n, n, x, n, pivot);
    if (failed == 0) failed = CALL(getri, COLUMNS, n, x, n, pivot, work, n * BLOCK);
    return failed > 0 ? failed - 1 : -1;
}

/* x holds the matrix; the half that is asked for holds its mean with the other. */
static int64_t FN(cholesky)(const lapack *l, T *x, int n, bool upper)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) {
            T mean = x[i * n + j] / 2 + x[j * n + i] / 2;
            x[upper ? i * n + j : j * n + i] = mean;
            x[upper ? j * n + i : i * n + j] = 0;
        }
    int failed = CALL(potrf, COLUMNS, upper ? 'L' : 'U', n, x, n);
    return failed > 0 ? failed - 1 : -1;
}

static void FN(slogdet)(const lapack *l, T *sign, T *log_abs, T *lu, int *pivot, int n)
{
    double s = 1, sum = 0;
    if (CALL(getrf, COLUMNS, n, n, lu, n, pivot) > 0) {
        *sign = 0, *log_abs = (T)-INFINITY;
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        double x = lu[i * n + i];
        if (pivot[i] != (int)i + 1) s = -s;
        s *= isnan(x) ? NAN : x < 0 ? -1 : 1;
        sum += log(fabs(x));
    }
    *sign = (T)s, *log_abs = (T)sum;
}
