/* loss.inl - losses of two tensors element by element, for one element type T.
 * SPDX-License-Identifier: MIT */

/* The sum over elements [lo, hi). */
EBB_CLONES static double FN(square_sum)(const T *x, const T *y, int64_t lo, int64_t hi)
{
    enum { LANES = 16 };
    double sum[LANES] = {0}, total = 0;
    int64_t i = lo;
    for (; i + LANES <= hi; i += LANES)
        for (int q = 0; q < LANES; q++) {
            double away = (double)x[i + q] - (double)y[i + q];
            sum[q] += away * away;
        }
    for (int q = 0; i < hi; i++, q++) {
        double away = (double)x[i] - (double)y[i];
        sum[q] += away * away;
    }
    for (int q = 0; q < LANES; q++) total += sum[q];
    return total;
}

/* log(p) no lower than -100, so that a certain and wrong answer costs a finite amount. */
static double FN(bce_log)(double log_p)
{
    return log_p < -100 ? -100 : log_p;
}

/* log(1 + exp(a)) - a t for either sign of a; infinite a with the label of that side cost 0. */
static double FN(logit_loss)(double a, double t)
{
    double off = a > 0 ? 1 - t : -t;
    return (off == 0 ? 0 : off * a) + log1p(exp(-fabs(a)));
}

/* Of cross-entropies. */
static double FN(pair_value)(pair_kind kind, double a, double t)
{
    if (kind == PAIR_BCE_LOGITS) return FN(logit_loss)(a, t);
    return -(t * FN(bce_log)(log(a)) + (1 - t) * FN(bce_log)(log1p(-a)));
}

static double FN(pair_sum)(const pair_work *w, int64_t lo, int64_t hi)
{
    const T *x = w->x, *y = w->y;
    double sum = 0;
    if (w->kind == PAIR_MSE) return FN(square_sum)(x, y, lo, hi);
    for (int64_t i = lo; i < hi; i++)
        sum += FN(pair_value)(w->kind, (double)x[i], (double)y[i]);
    return sum;
}

/* out = the loss of each element of [lo, hi). */
static void FN(pair_values)(const pair_work *w, int64_t lo, int64_t hi)
{
    const T *x = w->x, *y = w->y;
    T *out = w->out;
    if (w->kind == PAIR_MSE)
        for (int64_t i = lo; i < hi; i++) out[i] = (x[i] - y[i]) * (x[i] - y[i]);
    else
        for (int64_t i = lo; i < hi; i++)
            out[i] = (T)FN(pair_value)(w->kind, (double)x[i], (double)y[i]);
}

/* dx = scale * (derivative by x), elements [lo, hi); where g has one for each: g instead. */
static void FN(pair_grad)(const pair_work *w, double scale, int64_t lo, int64_t hi)
{
    const T *x = w->x, *y = w->y, *g = w->g;
    T *dx = w->out;
    if (w->kind == PAIR_MSE) {
        if (g != NULL) {
            for (int64_t i = lo; i < hi; i++) dx[i] = 2 * g[i] * (x[i] - y[i]);
            return;
        }
        T factor = (T)(2 * scale);
        for (int64_t i = lo; i < hi; i++) dx[i] = factor * (x[i] - y[i]);
        return;
    }
    for (int64_t i = lo; i < hi; i++) {
        double a = (double)x[i], t = (double)y[i];
        if (g != NULL) scale = (double)g[i];
        if (w->kind == PAIR_BCE) {
            double spread = a * (1 - a);
            dx[i] = (T)(scale * (a - t) / (spread < 1e-12 ? 1e-12 : spread));
        } else {
            double e = exp(-fabs(a)), p = a >= 0 ? 1 / (1 + e) : e / (1 + e);
            dx[i] = (T)(scale * (p - t));
        }
    }
}
