/* adaptive_pool.inl - windows of their own size for each place, for one element type T.
 * SPDX-License-Identifier: MIT */

static void FN(adaptive_avg)(const adaptive_work *w, int64_t volume)
{
    const T *x = (const T *)w->x + volume * w->n_in;
    T *out = (T *)w->out + volume * w->n_out;
    for (int64_t at = 0; at < w->n_out; at++) {
        adaptive_window b = window_of(w, at);
        double sum = 0;
        for (int64_t z = b.lo[0]; z < b.hi[0]; z++)
            for (int64_t y = b.lo[1]; y < b.hi[1]; y++) {
                const T *line = x + (z * w->in[1] + y) * w->in[2];
                for (int64_t j = b.lo[2]; j < b.hi[2]; j++) sum += (double)line[j];
            }
        out[at] = (T)(sum / (double)b.n);
    }
}

static void FN(adaptive_avg_grad)(const adaptive_work *w, int64_t volume)
{
    T *dx = (T *)w->out + volume * w->n_in;
    const T *g = (const T *)w->x + volume * w->n_out;
    memset(dx, 0, (size_t)w->n_in * sizeof(T));
    for (int64_t at = 0; at < w->n_out; at++) {
        adaptive_window b = window_of(w, at);
        T share = (T)((double)g[at] / (double)b.n);
        for (int64_t z = b.lo[0]; z < b.hi[0]; z++)
            for (int64_t y = b.lo[1]; y < b.hi[1]; y++) {
                T *line = dx + (z * w->in[1] + y) * w->in[2];
                for (int64_t j = b.lo[2]; j < b.hi[2]; j++) line[j] += share;
            }
    }
}

/* The first maximum and its place in the volume; a NaN is more than anything. */
static void FN(adaptive_max)(const adaptive_work *w, int64_t volume)
{
    const T *x = (const T *)w->x + volume * w->n_in;
    T *out = (T *)w->out + volume * w->n_out;
    int64_t *places = w->places + volume * w->n_out;
    for (int64_t at = 0; at < w->n_out; at++) {
        adaptive_window b = window_of(w, at);
        int64_t where = (b.lo[0] * w->in[1] + b.lo[1]) * w->in[2] + b.lo[2];
        T best = x[where];
        for (int64_t z = b.lo[0]; z < b.hi[0]; z++)
            for (int64_t y = b.lo[1]; y < b.hi[1]; y++) {
                int64_t line = (z * w->in[1] + y) * w->in[2];
                for (int64_t j = b.lo[2]; j < b.hi[2]; j++)
                    if (!(x[line + j] <= best) && best == best) {
                        best = x[line + j];
                        where = line + j;
                    }
            }
        out[at] = best;
        places[at] = where;
    }
}
