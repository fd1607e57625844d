/* group_norm.inl - normalisation of groups of channels for one element type T; sums are made in
 * double.
 * SPDX-License-Identifier: MIT */

/* Sums over n elements in lanes: g, and g times (x - mean). */
EBB_CLONES static void FN(group_sums)(double *sum, double *product, const T *g, const T *x,
                                      double mean, int64_t n)
{
    enum { LANES = 16 };
    double s[LANES] = {0}, p[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) {
            s[q] += (double)g[i + q];
            p[q] += (double)g[i + q] * ((double)x[i + q] - mean);
        }
    for (int q = 0; i < n; i++, q++) {
        s[q] += (double)g[i];
        p[q] += (double)g[i] * ((double)x[i] - mean);
    }
    *sum = *product = 0;
    for (int q = 0; q < LANES; q++) *sum += s[q], *product += p[q];
}

EBB_CLONES static double FN(group_squares)(const T *x, double mean, int64_t n)
{
    enum { LANES = 16 };
    double s[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++)
            s[q] += ((double)x[i + q] - mean) * ((double)x[i + q] - mean);
    for (int q = 0; i < n; i++, q++) s[q] += ((double)x[i] - mean) * ((double)x[i] - mean);
    for (int q = 0; q < LANES; q++) total += s[q];
    return total;
}

EBB_CLONES static double FN(group_total)(const T *x, int64_t n)
{
    enum { LANES = 16 };
    double s[LANES] = {0}, total = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (int q = 0; q < LANES; q++) s[q] += (double)x[i + q];
    for (int q = 0; i < n; i++, q++) s[q] += (double)x[i];
    for (int q = 0; q < LANES; q++) total += s[q];
    return total;
}

/* Group `at` of all images: its statistics, and each of its channels scaled and shifted. */
static void FN(group_forward)(const group_work *w, int64_t at)
{
    int64_t n = w->each * w->run, first = at % w->n_groups * w->each;
    const T *x = (const T *)w->x + at * n, *weight = w->weight, *bias = w->bias;
    T *out = (T *)w->out + at * n;
    double mean = FN(group_total)(x, n) / (double)n;
    double squares = FN(group_squares)(x, mean, n);
    double rstd = 1 / sqrt(squares / (double)n + w->eps);
    ((T *)w->mean_out)[at] = (T)mean;
    ((T *)w->rstd_out)[at] = (T)rstd;
    if (w->batch_mean) w->batch_mean[at] = mean, w->batch_squares[at] = squares;
    for (int64_t c = 0; c < w->each; c++, x += w->run, out += w->run) {
        T m = (T)mean, scale = (T)(rstd * (weight ? (double)weight[first + c] : 1));
        T shift = bias ? bias[first + c] : 0;
        for (int64_t i = 0; i < w->run; i++) out[i] = (x[i] - m) * scale + shift;
    }
}

/* With xh = (x - mean) * rstd and gw = g * w over the k elements of a group:
 * dx = rstd * (gw - sum(gw) / k - xh * sum(gw * xh) / k). Per channel, sum(g) and sum(g * xh)
 * are left for the weights. */
static void FN(group_backward)(const group_work *w, int64_t at)
{
    int64_t n = w->each * w->run, first = at % w->n_groups * w->each;
    const T *x = (const T *)w->x + at * n, *g = (const T *)w->grad + at * n,
            *weight = w->weight;
    double *sums = w->sums + 2 * at * w->each, level = 0, slope = 0;
    double mean = (double)((const T *)w->mean)[at], rstd = (double)((const T *)w->rstd)[at];
    for (int64_t c = 0; c < w->each; c++) {
        double factor = weight ? (double)weight[first + c] : 1, sum, product;
        FN(group_sums)(&sum, &product, g + c * w->run, x + c * w->run, mean, w->run);
        sums[2 * c] = sum;
        sums[2 * c + 1] = product * rstd;
        level += factor * sums[2 * c], slope += factor * sums[2 * c + 1];
    }
    level /= (double)n, slope /= (double)n;
    for (int64_t c = 0; c < w->each; c++) {
        double factor = weight ? (double)weight[first + c] : 1;
        T *dx = (T *)w->out + at * n + c * w->run;
        const T *from = x + c * w->run, *own = g + c * w->run;
        T m = (T)mean, a = (T)(rstd * factor), b = (T)(-rstd * rstd * slope);
        T shift = (T)(-rstd * level);
        for (int64_t i = 0; i < w->run; i++) dx[i] = a * own[i] + b * (from[i] - m) + shift;
    }
}

/* dw and db (channels): the images' sums, in order. */
static void FN(group_weights)(const group_work *w)
{
    int64_t channels = w->n_groups * w->each;
    for (int64_t c = 0; c < channels; c++) {
        double dw = 0, db = 0;
        for (int64_t i = 0; i < w->n_images; i++) {
            db += w->sums[2 * (i * channels + c)];
            dw += w->sums[2 * (i * channels + c) + 1];
        }
        ((T *)w->dw)[c] = (T)dw;
        ((T *)w->db)[c] = (T)db;
    }
}

/* The running statistics move towards the mean over images of the images' own. */
static void FN(group_move)(const group_work *w)
{
    T *run_mean = w->run_mean, *run_var = w->run_var;
    double images = (double)w->n_images, count = (double)w->run;
    for (int64_t c = 0; c < w->n_groups; c++) {
        double mean = 0, var = 0;
        for (int64_t i = 0; i < w->n_images; i++) {
            mean += w->batch_mean[i * w->n_groups + c] / images;
            var += w->batch_squares[i * w->n_groups + c] / (count - 1) / images;
        }
        if (run_mean)
            run_mean[c] = (T)((1 - w->momentum) * (double)run_mean[c] + w->momentum * mean);
        if (run_var)
            run_var[c] = (T)((1 - w->momentum) * (double)run_var[c] + w->momentum * var);
    }
}
