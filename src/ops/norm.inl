/* norm.inl - sums and normalisation for one element type T; sums are made in double.
 *
 * A group is what shares one mean: for layer norm a row of n elements; for batch norm a
 * channel, made of `n_runs` runs of `run` elements, `step` apart.
 * SPDX-License-Identifier: MIT */

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

/* out = (x - mean) * scale + shift; out may be x. */
EBB_CLONES static void FN(run_affine)(T *out, const T *x, T mean, T scale, T shift, int64_t n)
{
    EBB_IVDEP
    for (int64_t i = 0; i < n; i++) out[i] = (x[i] - mean) * scale + shift;
}

/* dx = a * g + b * (x - mean) + c; dx may be g. */
EBB_CLONES static void FN(run_combine)(T *dx, const T *g, const T *x, T a, T b, T c, T mean,
                                       int64_t n)
{
    EBB_IVDEP
    for (int64_t i = 0; i < n; i++) dx[i] = a * g[i] + b * (x[i] - mean) + c;
}

/* ---- batch norm: channels [first, first + n), n <= NORM_BLOCK ---------------------------- */
/* sum[c] += x over channel c; with `away` (x - mean)^2, with g too g * (x - mean). Where a
 * channel's runs are single elements, channels lie side by side and the loop over them
 * vectorises. */
EBB_CLONES static void FN(bn_column_sums)(const norm_work *w, double *restrict sum, const T *x,
                                          const T *g, const double *mean, int64_t n)
{
    for (int64_t r = 0, at = 0; r < w->n_runs; r++, at += w->step) {
        const T *row = x + at;
        if (g)
            for (int64_t c = 0; c < n; c++)
                sum[c] += (double)g[at + c] * ((double)row[c] - mean[c]);
        else if (mean)
            for (int64_t c = 0; c < n; c++)
                sum[c] += ((double)row[c] - mean[c]) * ((double)row[c] - mean[c]);
        else
            for (int64_t c = 0; c < n; c++) sum[c] += (double)row[c];
    }
}

static void FN(bn_sums)(const norm_work *w, double *sum, const T *x, const T *g,
                        const double *mean, int64_t n)
{
    for (int64_t c = 0; c < n; c++) sum[c] = 0;
    if (w->run == 1) {
        FN(bn_column_sums)(w, sum, x, g, mean, n);
        return;
    }
    for (int64_t c = 0; c < n; c++)
        for (int64_t r = 0, at = c * w->run; r < w->n_runs; r++, at += w->step)
            sum[c] += g      ? FN(run_product_sum)(g + at, x + at, mean[c], w->run)
                      : mean ? FN(run_square_sum)(x + at, mean[c], w->run)
                             : FN(run_sum)(x + at, w->run);
}

/* Mean and 1 / sqrt(var + eps) of each channel of the batch; moves the running statistics. */
static void FN(bn_statistics)(const norm_work *w, double *mean, double *rstd, const T *x,
                              int64_t first, int64_t n)
{
    double squares[NORM_BLOCK], count = (double)(w->n_runs * w->run), old = 1 - w->momentum;
    T *run_mean = w->run_mean, *run_var = w->run_var;
    FN(bn_sums)(w, mean, x, NULL, NULL, n);
    for (int64_t c = 0; c < n; c++) mean[c] /= count;
    FN(bn_sums)(w, squares, x, NULL, mean, n);
    for (int64_t c = 0; c < n; c++) {
        int64_t i = first + c;
        rstd[c] = 1 / sqrt(squares[c] / count + w->eps);
        ((T *)w->mean_out)[i] = (T)mean[c];
        ((T *)w->rstd_out)[i] = (T)rstd[c];
        if (run_mean) run_mean[i] = (T)(old * (double)run_mean[i] + w->momentum * mean[c]);
        if (run_var)
            run_var[i] = (T)(old * (double)run_var[i] + w->momentum * squares[c] / (count - 1));
    }
}

static void FN(bn_block)(const norm_work *w, int64_t first, int64_t n)
{
    const T *x = (const T *)w->x + first * w->run, *weight = w->weight, *bias = w->bias;
    T *out = (T *)w->out + first * w->run, m[NORM_BLOCK], scale[NORM_BLOCK], shift[NORM_BLOCK];
    double mean[NORM_BLOCK], rstd[NORM_BLOCK];
    if (w->is_fixed)
        for (int64_t c = 0; c < n; c++) {
            mean[c] = (double)((const T *)w->mean)[first + c];
            rstd[c] = 1 / sqrt((double)((const T *)w->var)[first + c] + w->eps);
        }
    else
        FN(bn_statistics)(w, mean, rstd, x, first, n);
    for (int64_t c = 0; c < n; c++) {
        m[c] = (T)mean[c];
        scale[c] = (T)(rstd[c] * (weight ? (double)weight[first + c] : 1));
        shift[c] = bias ? bias[first + c] : 0;
    }
    for (int64_t r = 0; r < w->n_runs; r++, x += w->step, out += w->step)
        if (w->run == 1)
            for (int64_t c = 0; c < n; c++) out[c] = (x[c] - m[c]) * scale[c] + shift[c];
        else
            for (int64_t c = 0, at = 0; c < n; c++, at += w->run)
                FN(run_affine)(out + at, x + at, m[c], scale[c], shift[c], w->run);
}

/* With xh = (x - mean) * rstd over the k elements of a channel:
 * dw = sum(g * xh), db = sum(g), dx = w * rstd * (g - db / k - xh * dw / k). */
static void FN(bn_grad_block)(const norm_work *w, int64_t first, int64_t n)
{
    const T *x = (const T *)w->x + first * w->run, *g = (const T *)w->grad + first * w->run;
    const T *weight = w->weight;
    T *dx = (T *)w->out + first * w->run;
    T m[NORM_BLOCK], scale[NORM_BLOCK], slope[NORM_BLOCK], level[NORM_BLOCK];
    double mean[NORM_BLOCK], sum[NORM_BLOCK], products[NORM_BLOCK];
    double count = (double)(w->n_runs * w->run);
    for (int64_t c = 0; c < n; c++) mean[c] = (double)((const T *)w->mean)[first + c];
    FN(bn_sums)(w, sum, g, NULL, NULL, n);
    FN(bn_sums)(w, products, x, g, mean, n);
    for (int64_t c = 0; c < n; c++) {
        double rstd = (double)((const T *)w->rstd)[first + c];
        double factor = rstd * (weight ? (double)weight[first + c] : 1);
        ((T *)w->dw)[first + c] = (T)(products[c] * rstd);
        ((T *)w->db)[first + c] = (T)sum[c];
        m[c] = (T)mean[c];
        scale[c] = (T)factor;
        slope[c] = (T)(-factor * rstd * rstd * products[c] / count);
        level[c] = (T)(-factor * sum[c] / count);
    }
    for (int64_t r = 0; r < w->n_runs; r++, x += w->step, g += w->step, dx += w->step) {
        if (w->run == 1)
            for (int64_t c = 0; c < n; c++)
                dx[c] = scale[c] * g[c] + slope[c] * (x[c] - m[c]) + level[c];
        else
            for (int64_t c = 0, i = 0, k = w->run; c < n; c++, i += k)
                FN(run_combine)(dx + i, g + i, x + i, scale[c], slope[c], level[c], m[c], k);
    }
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
EBB_CLONES static void FN(ln_grad_row)(const norm_work *w, int64_t row, double *restrict dw,
                                       double *restrict db)
{
    enum { LANES = 16 };
    int64_t n = w->run;
    const T *x = (const T *)w->x + row * n, *g = (const T *)w->grad + row * n;
    const T *weight = w->weight;
    T *dx = (T *)w->out + row * n; /* may be g */
    double mean = (double)((const T *)w->mean)[row], rstd = (double)((const T *)w->rstd)[row];
    double sum[LANES] = {0}, products[LANES] = {0}, level = 0, slope = 0;
    for (int64_t first = 0; first < n; first += LANES) {
        int64_t width = n - first < LANES ? n - first : LANES;
        for (int64_t q = 0, i = first; q < width; q++, i++) {
            double gi = (double)g[i], xh = ((double)x[i] - mean) * rstd;
            double gw = weight ? gi * (double)weight[i] : gi;
            sum[q] += gw, products[q] += gw * xh;
            dw[i] += gi * xh, db[i] += gi;
        }
    }
    for (int q = 0; q < LANES; q++) level += sum[q], slope += products[q];
    level /= (double)n, slope /= (double)n;
    EBB_IVDEP
    for (int64_t i = 0; i < n; i++) {
        double gw = weight ? (double)g[i] * (double)weight[i] : (double)g[i];
        double xh = ((double)x[i] - mean) * rstd;
        dx[i] = (T)(rstd * (gw - level - xh * slope));
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
