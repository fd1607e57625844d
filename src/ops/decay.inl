/* decay.inl - sums along lines that are multiplied by x on the way, for one element type T.
 * SPDX-License-Identifier: MIT */

/* out_i = g_i + x_i out_(i - 1), lines [lo, hi). */
static void FN(decay_up)(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const cumulative_work *w = arg;
    const int64_t n = w->around.n, inner = w->around.inner;
    const T *g = w->c->in[0].data, *x = w->c->in[1].data;
    T *out = w->c->out[0].data;
    for (int64_t line = lo; line < hi; line++) {
        int64_t at = line / inner * n * inner + line % inner;
        double sum = (double)g[at];
        out[at] = (T)sum;
        for (int64_t i = 1; i < n; i++) {
            at += inner;
            sum = (double)g[at] + (double)x[at] * sum;
            out[at] = (T)sum;
        }
    }
}

/* out_i = g_i + x_(i + 1) out_(i + 1), lines [lo, hi). */
static void FN(decay_down)(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const cumulative_work *w = arg;
    const int64_t n = w->around.n, inner = w->around.inner;
    const T *g = w->c->in[0].data, *x = w->c->in[1].data;
    T *out = w->c->out[0].data;
    for (int64_t line = lo; line < hi; line++) {
        int64_t at = line / inner * n * inner + line % inner + (n - 1) * inner;
        double sum = (double)g[at];
        out[at] = (T)sum;
        for (int64_t i = n - 1; i > 0; i--) {
            sum = (double)g[at - inner] + (double)x[at] * sum;
            at -= inner;
            out[at] = (T)sum;
        }
    }
}
