/* rms_norm.inl - normalisation of rows by their root mean square, for one element type T; sums
 * are made in double.
 * SPDX-License-Identifier: MIT */

EBB_CLONES static double FN(rms_squares)(const T *x, int64_t n)
{
    enum { LANES = 16 };
    double s[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) s[q] += (double)x[i + q] * (double)x[i + q];
    for (int q = 0; i < n; i++, q++) s[q] += (double)x[i] * (double)x[i];
    for (int q = 0; q < LANES; q++) total += s[q];
    return total;
}
static void FN(rms_row)(const rms_work *w, int64_t row)
{
    const T *x = (const T *)w->x + row * w->n, *weight = w->weight;
    T *out = (T *)w->out + row * w->n;
    double rstd = 1 / sqrt(FN(rms_squares)(x, w->n) / (double)w->n + w->eps);
    T scale = (T)rstd;
    ((T *)w->rstd_out)[row] = scale;
    if (weight)
        for (int64_t i = 0; i < w->n; i++) out[i] = x[i] * scale * weight[i];
    else
        for (int64_t i = 0; i < w->n; i++) out[i] = x[i] * scale;
}

/* With r = rstd and gw = g * w: dx = r * (gw - x * r^2 * mean(gw * x)); dw += g * x * r. */
EBB_CLONES static void FN(rms_grad_row)(const rms_work *w, int64_t row, double *restrict dw)
{
    enum { LANES = 16 };
    int64_t n = w->n;
    const T *x = (const T *)w->x + row * n, *g = (const T *)w->grad + row * n;
    const T *weight = w->weight;
    T *restrict dx = (T *)w->out + row * n;
    double rstd = (double)((const T *)w->rstd)[row], products[LANES] = {0}, slope = 0;
    for (int64_t first = 0; first < n; first += LANES) {
        int64_t width = n - first < LANES ? n - first : LANES;
        for (int64_t q = 0, i = first; q < width; q++, i++) {
            double gx = (double)g[i] * (double)x[i];
            products[q] += weight ? gx * (double)weight[i] : gx;
            dw[i] += gx * rstd;
        }
    }
    for (int q = 0; q < LANES; q++) slope += products[q];
    slope *= rstd * rstd / (double)n;
    for (int64_t i = 0; i < n; i++) {
        double gw = weight ? (double)g[i] * (double)weight[i] : (double)g[i];
        dx[i] = (T)(rstd * (gw - (double)x[i] * slope));
    }
}

static void FN(rms_add_parts)(const rms_work *w, int32_t n_parts)
{
    for (int64_t i = 0; i < w->n; i++) {
        double dw = 0;
        for (int32_t p = 0; p < n_parts; p++) dw += w->sums[(int64_t)p * w->n + i];
        ((T *)w->dw)[i] = (T)dw;
    }
}
