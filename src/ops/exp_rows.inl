/* exp_rows.inl - the parts of a softmax over a row of unit stride, for one element type T.
 *
 * Sixteen running results side by side, gathered at the end.
 * SPDX-License-Identifier: MIT */
enum { FN(EXP_LANES) = 16 };

/* The largest; NaN stays. n > 0. */
EBB_CLONES static T FN(row_max)(const T *x, int64_t n)
{
    T lane[FN(EXP_LANES)], top;
    int64_t i = 0;
    for (int q = 0; q < FN(EXP_LANES); q++) lane[q] = x[0];
    for (; i + FN(EXP_LANES) <= n; i += FN(EXP_LANES)) {
        EBB_LANES
        for (int q = 0; q < FN(EXP_LANES); q++) {
            T value = x[i + q];
            bool stays = (value <= lane[q]) | (lane[q] != lane[q]);
            lane[q] = stays ? lane[q] : value;
        }
    }
    for (; i < n; i++) lane[0] = x[i] <= lane[0] || lane[0] != lane[0] ? lane[0] : x[i];
    top = lane[0];
    for (int q = 1; q < FN(EXP_LANES); q++) top = lane[q] <= top || top != top ? top : lane[q];
    return top;
}

/* y = exp(x - top); returns the sum. y may be x. */
EBB_CLONES static double FN(row_exp)(T *y, const T *x, T top, int64_t n)
{
    double lane[FN(EXP_LANES)] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + FN(EXP_LANES) <= n; i += FN(EXP_LANES)) {
        T e[FN(EXP_LANES)];
        EBB_LANES
        for (int q = 0; q < FN(EXP_LANES); q++) e[q] = EBB_EXP(x[i + q] - top);
        EBB_LANES
        for (int q = 0; q < FN(EXP_LANES); q++) {
            y[i + q] = e[q];
            lane[q] += (double)e[q];
        }
    }
    for (int q = 0; i < n; i++, q++) {
        y[i] = EBB_EXP(x[i] - top);
        lane[q] += (double)y[i];
    }
    for (int q = 0; q < FN(EXP_LANES); q++) sum += lane[q];
    return sum;
}

/* y *= factor, rounded once. */
EBB_CLONES static void FN(row_scale)(T *y, double factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (T)((double)y[i] * factor);
}

/* The sum of exp(x - top) alone. */
__attribute__((unused)) EBB_CLONES static double FN(row_exp_sum)(const T *x, T top, int64_t n)
{
    double lane[FN(EXP_LANES)] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + FN(EXP_LANES) <= n; i += FN(EXP_LANES)) {
        EBB_LANES
        for (int q = 0; q < FN(EXP_LANES); q++) lane[q] += (double)EBB_EXP(x[i + q] - top);
    }
    for (int q = 0; i < n; i++, q++) lane[q] += (double)EBB_EXP(x[i] - top);
    for (int q = 0; q < FN(EXP_LANES); q++) sum += lane[q];
    return sum;
}
