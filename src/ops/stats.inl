/* stats.inl - variance and log-sum-exp of contiguous elements of T. f32 is widened.
 * SPDX-License-Identifier: MIT */

/* Moments about the first element: no cancellation where the spread is small beside the mean.
 */
static void FN(var_start)(void *acc_, const void *first_, int64_t m)
{
    moments *acc = acc_;
    const T *first = first_;
    for (int64_t i = 0; i < m; i++) acc[i] = (moments){first ? (double)first[i] : 0, 0, 0};
}
EBB_CLONES static void FN(var_row)(void *acc_, const void *x_, int64_t n, int64_t at)
{
    (void)at;
    moments *acc = acc_;
    const T *x = x_;
    const double shift = acc->shift;
    double s[8] = {0}, q[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++) {
            const double d = (double)x[i + k] - shift;
            s[k] += d;
            q[k] += d * d;
        }
    for (int half = 4; half > 0; half /= 2)
        for (int k = 0; k < half; k++) {
            s[k] += s[k + half];
            q[k] += q[k + half];
        }
    for (; i < n; i++) {
        const double d = (double)x[i] - shift;
        s[0] += d;
        q[0] += d * d;
    }
    acc->sum += s[0];
    acc->squares += q[0];
}
EBB_CLONES static void FN(var_cols)(void *acc_, const void *x_, int64_t m, int64_t at,
                                    int64_t n, int64_t step)
{
    (void)at;
    moments *acc = acc_;
    const T *x = x_;
    double shift[EBB__FOLD_COLS], s[EBB__FOLD_COLS], q[EBB__FOLD_COLS];
    for (int64_t i = 0; i < m; i++) {
        shift[i] = acc[i].shift;
        s[i] = acc[i].sum;
        q[i] = acc[i].squares;
    }
    for (int64_t k = 0; k < n; k++, x += step)
        for (int64_t i = 0; i < m; i++) {
            const double d = (double)x[i] - shift[i];
            s[i] += d;
            q[i] += d * d;
        }
    for (int64_t i = 0; i < m; i++) acc[i] = (moments){shift[i], s[i], q[i]};
}

/* exp(x - top), which is 1 for two equal infinities. */
static void FN(lse_start)(void *acc_, const void *first, int64_t m)
{
    (void)first;
    log_sum *acc = acc_;
    for (int64_t i = 0; i < m; i++) acc[i] = (log_sum){-INFINITY, 0};
}
static void FN(lse_row)(void *acc_, const void *x_, int64_t n, int64_t at)
{
    (void)at;
    log_sum *acc = acc_;
    const T *x = x_;
    double top = acc->top;
    for (int64_t i = 0; i < n; i++) top = (double)x[i] > top ? (double)x[i] : top;
    double sum = acc->sum * ratio(acc->top, top);
    for (int64_t i = 0; i < n; i++) sum += ratio((double)x[i], top);
    *acc = (log_sum){top, sum};
}
static void FN(lse_cols)(void *acc_, const void *x_, int64_t m, int64_t at, int64_t n,
                         int64_t step)
{
    (void)at;
    log_sum *acc = acc_;
    const T *x = x_;
    for (int64_t k = 0; k < n; k++, x += step)
        for (int64_t i = 0; i < m; i++) {
            const double value = (double)x[i];
            if (value > acc[i].top)
                acc[i] = (log_sum){value, acc[i].sum * ratio(acc[i].top, value) + 1};
            else
                acc[i].sum += ratio(value, acc[i].top);
        }
}

/* dx = g exp(x - top) / sum(exp(x - top)): the gradient of one log-sum-exp. All of x -inf: 0.
 */
static void FN(lse_grad)(T *dx, const T *x, T g, const ebb__walk *w)
{
    double top = -INFINITY, sum = 0;
    for (int64_t i = 0; i < w->n; i++) {
        double value = (double)x[ebb__walk_offset(w, i)];
        if (value > top) top = value;
    }
    for (int64_t i = 0; i < w->n; i++) sum += ratio((double)x[ebb__walk_offset(w, i)], top);
    for (int64_t i = 0; i < w->n; i++) {
        int64_t at = ebb__walk_offset(w, i);
        dx[at] = top == -INFINITY ? (T)(0 * sum)
                                  : (T)((double)g * (ratio((double)x[at], top) / sum));
    }
}

/* dx[i] = g * (product of all x but x[i]): by division where that is safe. */
static void FN(prod_grad)(T *dx, const T *x, T g, const ebb__walk *w)
{
    int64_t n_zeros = 0;
    double rest = 1;
    for (int64_t i = 0; i < w->n; i++) {
        T value = x[ebb__walk_offset(w, i)];
        if (value == 0)
            n_zeros++;
        else
            rest *= (double)value;
    }
    for (int64_t i = 0; i < w->n; i++) {
        int64_t at = ebb__walk_offset(w, i);
        if (n_zeros == 0)
            dx[at] = (T)((double)g * (rest / (double)x[at]));
        else
            dx[at] = n_zeros == 1 && x[at] == 0 ? (T)((double)g * rest) : 0;
    }
}
