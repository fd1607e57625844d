/* softmax.inl - the kernels of softmax.c for one element type T.
 *
 * A slab is n elements along the axis by `width` neighbours, `step` elements from one to the
 * next along the axis; width is at most SOFTMAX_WIDTH.
 * SPDX-License-Identifier: MIT */

/* The largest of each column; NaN stays. */
static void FN(slab_max)(T *top, const T *x, int64_t n, int64_t step, int64_t width)
{
    for (int64_t q = 0; q < width; q++) top[q] = x[q];
    for (int64_t i = 1; i < n; i++)
        for (int64_t q = 0; q < width; q++) {
            T value = x[i * step + q];
            top[q] = value <= top[q] || top[q] != top[q] ? top[q] : value;
        }
}

EBB_CLONES static void FN(softmax_slab)(T *y, const T *x, int64_t n, int64_t step,
                                        int64_t width)
{
    T top[SOFTMAX_WIDTH];
    double sum[SOFTMAX_WIDTH] = {0};
    FN(slab_max)(top, x, n, step, width);
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++) {
            T e = EBB_EXP(x[i * step + q] - top[q]);
            y[i * step + q] = e;
            sum[q] += (double)e;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++)
            y[i * step + q] = (T)((double)y[i * step + q] / sum[q]);
}

EBB_CLONES static void FN(log_softmax_slab)(T *y, const T *x, int64_t n, int64_t step,
                                            int64_t width)
{
    T top[SOFTMAX_WIDTH];
    double sum[SOFTMAX_WIDTH] = {0};
    FN(slab_max)(top, x, n, step, width);
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++) sum[q] += (double)EBB_EXP(x[i * step + q] - top[q]);
    for (int64_t q = 0; q < width; q++) sum[q] = log(sum[q]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++)
            y[i * step + q] = (T)((double)(x[i * step + q] - top[q]) - sum[q]);
}

/* dx = y * (g - sum(g * y)) */
EBB_CLONES static void FN(softmax_grad_slab)(T *dx, const T *g, const T *y, int64_t n,
                                             int64_t step, int64_t width)
{
    double dot[SOFTMAX_WIDTH] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++)
            dot[q] += (double)g[i * step + q] * (double)y[i * step + q];
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++)
            dx[i * step + q] =
                (T)((double)y[i * step + q] * ((double)g[i * step + q] - dot[q]));
}

/* dx = g - exp(y) * sum(g) */
EBB_CLONES static void FN(log_softmax_grad_slab)(T *dx, const T *g, const T *y, int64_t n,
                                                 int64_t step, int64_t width)
{
    double sum[SOFTMAX_WIDTH] = {0};
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++) sum[q] += (double)g[i * step + q];
    for (int64_t i = 0; i < n; i++)
        for (int64_t q = 0; q < width; q++)
            dx[i * step + q] =
                (T)((double)g[i * step + q] - (double)EBB_EXP(y[i * step + q]) * sum[q]);
}

/* A row: a slab of one column, whose elements lie side by side. */
static void FN(softmax_row)(T *y, const T *x, int64_t n)
{
    double sum = FN(row_exp)(y, x, FN(row_max)(x, n), n);
    FN(row_scale)(y, 1 / sum, n);
}

static void FN(log_softmax_row)(T *y, const T *x, int64_t n)
{
    T top = FN(row_max)(x, n);
    double level = log(FN(row_exp_sum)(x, top, n));
    for (int64_t i = 0; i < n; i++) y[i] = (T)((double)(x[i] - top) - level);
}

EBB_CLONES static void FN(softmax_grad_row)(T *restrict dx, const T *g, const T *y, int64_t n)
{
    enum { LANES = 16 };
    double lane[LANES] = {0}, dot = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) lane[q] += (double)g[i + q] * (double)y[i + q];
    for (int q = 0; i < n; i++, q++) lane[q] += (double)g[i] * (double)y[i];
    for (int q = 0; q < LANES; q++) dot += lane[q];
    for (i = 0; i < n; i++) dx[i] = (T)((double)y[i] * ((double)g[i] - dot));
}

EBB_CLONES static void FN(log_softmax_grad_row)(T *restrict dx, const T *g, const T *y,
                                                int64_t n)
{
    enum { LANES = 16 };
    double lane[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) lane[q] += (double)g[i + q];
    for (int q = 0; i < n; i++, q++) lane[q] += (double)g[i];
    for (int q = 0; q < LANES; q++) sum += lane[q];
    for (i = 0; i < n; i++) dx[i] = (T)((double)g[i] - (double)EBB_EXP(y[i]) * sum);
}

/* Slab `item` of the operands. */
static void FN(softmax_item)(const softmax_work *w, int64_t item)
{
    int64_t blocks = (w->around.inner + SOFTMAX_WIDTH - 1) / SOFTMAX_WIDTH;
    int64_t first = item % blocks * SOFTMAX_WIDTH;
    int64_t at = item / blocks * w->around.n * w->around.inner + first;
    int64_t step = w->around.inner, left = step - first;
    int64_t width = left < SOFTMAX_WIDTH ? left : SOFTMAX_WIDTH;
    T *out = (T *)w->out + at;
    const T *x = (const T *)w->x + at;
    switch (w->kind) {
    case SOFTMAX:
        if (step == 1)
            FN(softmax_row)(out, x, w->around.n);
        else
            FN(softmax_slab)(out, x, w->around.n, step, width);
        break;
    case LOG_SOFTMAX:
        if (step == 1)
            FN(log_softmax_row)(out, x, w->around.n);
        else
            FN(log_softmax_slab)(out, x, w->around.n, step, width);
        break;
    case SOFTMAX_GRAD:
        if (step == 1)
            FN(softmax_grad_row)(out, x, (const T *)w->y + at, w->around.n);
        else
            FN(softmax_grad_slab)(out, x, (const T *)w->y + at, w->around.n, step, width);
        break;
    case LOG_SOFTMAX_GRAD:
        if (step == 1)
            FN(log_softmax_grad_row)(out, x, (const T *)w->y + at, w->around.n);
        else
            FN(log_softmax_grad_slab)(out, x, (const T *)w->y + at, w->around.n, step, width);
        break;
    }
}
