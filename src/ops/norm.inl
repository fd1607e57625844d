/* norm.inl - sums and normalisation for one element type T; sums are made in double.
 *
 * A group is what shares one mean: for layer norm a row of n elements; for batch norm a
 * channel, made of `n_runs` runs of `run` elements, `step` apart. SPDX-License-Identifier: MIT
 */

EBB_CLONES static double FN(run_sum)(const T *x, int64_t n)
{
    enum { LANES = 16 };
    double sum[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) sum[q] += (double)x[i + q];
    for (int q = 0; i < n; i++, q++) sum[q] += (double)x[i];
    for (int q = 0; q < LANES; q++) total += sum[q];
    return total;
}

EBB_CLONES static double FN(run_square_sum)(const T *x, double mean, int64_t n)
{
    enum { LANES = 16 };
    double sum[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++)
            sum[q] += ((double)x[i + q] - mean) * ((double)x[i + q] - mean);
    for (int q = 0; i < n; i++, q++) sum[q] += ((double)x[i] - mean) * ((double)x[i] - mean);
    for (int q = 0; q < LANES; q++) total += sum[q];
    return total;
}

/* sum of g * (x - mean) */
EBB_CLONES static double FN(run_product_sum)(const T *g, const T *x, double mean, int64_t n)
{
    enum { LANES = 16 };
    double sum[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) sum[q] += (double)g[i + q] * ((double)x[i + q] - mean);
    for (int q = 0; i < n; i++, q++) sum[q] += (double)g[i] * ((double)x[i] - mean);
    for (int q = 0; q < LANES; q++) total += sum[q];
    return total;
}

/* out = (x - mean) * scale + shift */
EBB_CLONES static void FN(run_affine)(T *restrict out, const T *restrict x, T mean, T scale,
                                      T shift, int64_t n)
{
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * scale + shift;
}

/* dx = a * g + b * (x - mean) + c */
EBB_CLONES static void FN(run_combine)(T *restrict dx, const T *restrict g, const T *restrict x,
                                       T a, T b, T c, T mean, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dx[i] = a * g[i] + b * (x[i] - mean) + c;
}

/* ---- batch norm: one channel ------------------------------------------------------------ */
static void FN(bn_channel)(const norm_work *w, int64_t channel)
{
    const T *x = (const T *)w->x + channel * w->run;
    T *out = (T *)w->out + channel * w->run;
    double mean, rstd;
    if (w->is_fixed) {
        mean = (double)((const T *)w->mean)[channel];
        rstd = 1 / sqrt((double)((const T *)w->var)[channel] + w->eps);
    } else {
        double sum = 0, squares = 0, n = (double)(w->n_runs * w->run);
        for (int64_t r = 0; r < w->n_runs; r++) sum += FN(run_sum)(x + r * w->step, w->run);
        mean = sum / n;
        for (int64_t r = 0; r < w->n_runs; r++)
            squares += FN(run_square_sum)(x + r * w->step, mean, w->run);
        rstd = 1 / sqrt(squares / n + w->eps);
        ((T *)w->mean_out)[channel] = (T)mean;
        ((T *)w->rstd_out)[channel] = (T)rstd;
        T *run_mean = w->run_mean, *run_var = w->run_var;
        if (run_mean)
            run_mean[channel] =
                (T)((1 - w->momentum) * (double)run_mean[channel] + w->momentum * mean);
        if (run_var)
            run_var[channel] = (T)((1 - w->momentum) * (double)run_var[channel] +
                                   w->momentum * (squares / (n - 1)));
    }
    double scale = rstd * (w->weight ? (double)((const T *)w->weight)[channel] : 1);
    double shift = w->bias ? (double)((const T *)w->bias)[channel] : 0;
    for (int64_t r = 0; r < w->n_runs; r++)
        FN(run_affine)(out + r * w->step, x + r * w->step, (T)mean, (T)scale, (T)shift, w->run);
}

/* With xh = (x - mean) * rstd over the n elements of the channel:
 * dw = sum(g * xh), db = sum(g), dx = w * rstd * (g - db / n - xh * dw / n). */
static void FN(bn_grad_channel)(const norm_work *w, int64_t channel)
{
    const T *x = (const T *)w->x + channel * w->run, *g = (const T *)w->grad + channel * w->run;
    T *dx = (T *)w->out + channel * w->run;
    double mean = (double)((const T *)w->mean)[channel];
    double rstd = (double)((const T *)w->rstd)[channel];
    double sum = 0, products = 0, n = (double)(w->n_runs * w->run);
    for (int64_t r = 0; r < w->n_runs; r++) {
        sum += FN(run_sum)(g + r * w->step, w->run);
        products += FN(run_product_sum)(g + r * w->step, x + r * w->step, mean, w->run);
    }
    ((T *)w->dw)[channel] = (T)(products * rstd);
    ((T *)w->db)[channel] = (T)sum;
    double scale = rstd * (w->weight ? (double)((const T *)w->weight)[channel] : 1);
    T slope = (T)(-scale * rstd * rstd * products / n), level = (T)(-scale * sum / n);
    for (int64_t r = 0, at = 0; r < w->n_runs; r++, at += w->step)
        FN(run_combine)(dx + at, g + at, x + at, (T)scale, slope, level, (T)mean, w->run);
}

/* ---- layer norm: one row ---------------------------------------------------------------- */
static void FN(ln_row)(const norm_work *w, int64_t row)
{
    int64_t n = w->run;
    const T *x = (const T *)w->x + row * n, *weight = w->weight, *bias = w->bias;
    T *out = (T *)w->out + row * n;
    double mean = FN(run_sum)(x, n) / (double)n;
    double rstd = 1 / sqrt(FN(run_square_sum)(x, mean, n) / (double)n + w->eps);
    ((T *)w->mean_out)[row] = (T)mean;
    ((T *)w->rstd_out)[row] = (T)rstd;
    FN(run_affine)(out, x, (T)mean, (T)rstd, 0, n);
    if (weight)
        for (int64_t i = 0; i < n; i++) out[i] *= weight[i];
    if (bias)
        for (int64_t i = 0; i < n; i++) out[i] += bias[i];
}

/* With gw = g * w and xh = (x - mean) * rstd over the row:
 * dx = rstd * (gw - mean(gw) - xh * mean(gw * xh)); dw += g * xh, db += g, summed in double. */
static void FN(ln_grad_row)(const norm_work *w, int64_t row, double *restrict dw,
                            double *restrict db)
{
    int64_t n = w->run;
    const T *x = (const T *)w->x + row * n, *g = (const T *)w->grad + row * n;
    const T *weight = w->weight;
    T *dx = (T *)w->out + row * n;
    double mean = (double)((const T *)w->mean)[row], rstd = (double)((const T *)w->rstd)[row];
    double sum = 0, products = 0;
    for (int64_t i = 0; i < n; i++) {
        double gi = (double)g[i], xh = ((double)x[i] - mean) * rstd;
        double gw = weight ? gi * (double)weight[i] : gi;
        sum += gw, products += gw * xh;
        dw[i] += gi * xh, db[i] += gi;
    }
    sum /= (double)n, products /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        double gw = weight ? (double)g[i] * (double)weight[i] : (double)g[i];
        double xh = ((double)x[i] - mean) * rstd;
        dx[i] = (T)(rstd * (gw - sum - xh * products));
    }
}

/* dw, db (n) from n_parts sums in double, in order. */
static void FN(ln_add_parts)(const norm_work *w, int32_t n_parts)
{
    for (int64_t i = 0; i < w->run; i++) {
        double dw = 0, db = 0;
        for (int32_t p = 0; p < n_parts; p++) {
            const double *part = w->sums + 2 * (int64_t)p * w->run;
            dw += part[i], db += part[w->run + i];
        }
        ((T *)w->dw)[i] = (T)dw;
        ((T *)w->db)[i] = (T)db;
    }
}
