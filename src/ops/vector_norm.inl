/* vector_norm.inl - sums of squares of contiguous elements of T. f32 is widened, and no square
 * leaves the range of f64.
 * SPDX-License-Identifier: MIT */
static void FN(squares_start)(void *acc_, const void *first, int64_t m)
{
    (void)first;
    squares *acc = acc_;
    for (int64_t i = 0; i < m; i++) acc[i] = (squares){0, 0, 0};
}

EBB_CLONES static double FN(plain_squares)(const T *x, int64_t n)
{
    double sum[16] = {0};
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        EBB_LANES
        for (int k = 0; k < 16; k++) sum[k] += (double)x[i + k] * (double)x[i + k];
    }
    for (int half = 8; half > 0; half /= 2)
        for (int k = 0; k < half; k++) sum[k] += sum[k + half];
    for (; i < n; i++) sum[0] += (double)x[i] * (double)x[i];
    return sum[0];
}

/* Away from the ends of the range the plain sum of a row is right: what underflowed in it is
 * too small to count. */
static void FN(squares_row)(void *acc_, const void *x_, int64_t n, int64_t at)
{
    (void)at;
    squares *acc = acc_;
    const T *x = x_;
    const double sum = FN(plain_squares)(x, n);
    if (sizeof(T) == sizeof(float) || (sum > 0x1p-900 && sum < 0x1p900))
        acc->middle += sum;
    else
        for (int64_t i = 0; i < n; i++) add_square(acc, (double)x[i]);
}

static void FN(squares_cols)(void *acc_, const void *x_, int64_t m, int64_t at, int64_t n,
                             int64_t step)
{
    (void)at;
    squares *acc = acc_;
    const T *x = x_;
    for (int64_t k = 0; k < n; k++, x += step)
        for (int64_t i = 0; i < m; i++) {
            if (sizeof(T) == sizeof(float))
                acc[i].middle += (double)x[i] * (double)x[i];
            else
                add_square(&acc[i], (double)x[i]);
        }
}
