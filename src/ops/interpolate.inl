/* interpolate.inl - resampling of lines for one element type T.
 *
 * Lines of x are mixed first and then their columns; what has no weight is not read, so that an
 * infinity beside a point does not make it NaN.
 * SPDX-License-Identifier: MIT */

/* Output line `line` (plane * rows + row) of a volume. */
static void FN(interpolate_line)(const interpolate_work *w, int64_t volume, int64_t line)
{
    const T *x = (const T *)w->x + volume * w->n_in;
    T *out = (T *)w->out + volume * w->n_out + line * w->n[2];
    interpolate_lines from;
    lines_of(&from, w, line);
    for (int64_t j = 0; j < w->n[2]; j++) {
        const interpolate_tap *t = &w->tap[2][j];
        double sum = 0;
        for (int i = 0; i < from.n; i++) {
            const T *row = x + from.at[i];
            double value = (double)row[t->lo];
            if (t->weight != 0)
                value = (1 - t->weight) * value + t->weight * (double)row[t->hi];
            sum += from.weight[i] * value;
        }
        out[j] = (T)sum;
    }
}

/* The transpose: x is the gradient of the result, out that of the image. */
static void FN(interpolate_spread)(const interpolate_work *w, int64_t volume)
{
    T *dx = (T *)w->out + volume * w->n_in;
    memset(dx, 0, (size_t)w->n_in * sizeof(T));
    for (int64_t line = 0; line < w->n[0] * w->n[1]; line++) {
        const T *g = (const T *)w->x + volume * w->n_out + line * w->n[2];
        interpolate_lines to;
        lines_of(&to, w, line);
        for (int i = 0; i < to.n; i++) {
            T *row = dx + to.at[i];
            for (int64_t j = 0; j < w->n[2]; j++) {
                const interpolate_tap *t = &w->tap[2][j];
                double share = to.weight[i] * (double)g[j];
                row[t->lo] += (T)((1 - t->weight) * share);
                if (t->weight != 0) row[t->hi] += (T)(t->weight * share);
            }
        }
    }
}
