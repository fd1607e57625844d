/* avg_pool.inl - average pooling of one volume for one element type T.
 *
 * In stretches of columns, one place of the window at a time, as in max_pool.inl.
 * SPDX-License-Identifier: MIT */

/* sum[j] += what the window at (z, y, first + j) sees, for n columns. */
static void FN(avg_row)(double *sum, const T *x, const ebb__pool_geometry *s, int64_t z,
                        int64_t y, int64_t first, int64_t n)
{
    for (int64_t kd = 0; kd < s->kernel[0]; kd++)
        for (int64_t ki = 0; ki < s->kernel[1]; ki++) {
            int64_t line = ebb__pool_line(s, z, y, kd, ki), stride = s->stride[2];
            for (int64_t kj = 0; line >= 0 && kj < s->kernel[2]; kj++) {
                int64_t lo, hi, start = ebb__pool_at(s, 2, first, kj);
                ebb__pool_span(&lo, &hi, start, stride, s->in[2], n);
                const T *from = x + line + start;
                for (int64_t j = lo; j < hi; j++) sum[j] += (double)from[j * stride];
            }
        }
}

static void FN(avg_volume)(const avg_work *w, int64_t volume)
{
    const ebb__pool_geometry *s = &w->s;
    const T *x = (const T *)w->x + volume * s->n_in;
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        int64_t z = line / s->out[1], y = line % s->out[1];
        T *out = (T *)w->out + volume * s->n_out + line * s->out[2];
        for (int64_t first = 0; first < s->out[2]; first += EBB__POOL_WIDTH) {
            int64_t left = s->out[2] - first,
                    n = left < EBB__POOL_WIDTH ? left : EBB__POOL_WIDTH;
            double sum[EBB__POOL_WIDTH] = {0};
            FN(avg_row)(sum, x, s, z, y, first, n);
            for (int64_t j = 0; j < n; j++)
                out[first + j] = (T)(sum[j] / avg_count(s, z, y, first + j));
        }
    }
}

/* What the window at (z, y, first + j) sees += share[j]. */
static void FN(avg_spread)(T *dx, const T *share, const ebb__pool_geometry *s, int64_t z,
                           int64_t y, int64_t first, int64_t n)
{
    for (int64_t kd = 0; kd < s->kernel[0]; kd++)
        for (int64_t ki = 0; ki < s->kernel[1]; ki++) {
            int64_t line = ebb__pool_line(s, z, y, kd, ki), stride = s->stride[2];
            for (int64_t kj = 0; line >= 0 && kj < s->kernel[2]; kj++) {
                int64_t lo, hi, start = ebb__pool_at(s, 2, first, kj);
                ebb__pool_span(&lo, &hi, start, stride, s->in[2], n);
                T *to = dx + line + start;
                for (int64_t j = lo; j < hi; j++) to[j * stride] += share[j];
            }
        }
}

static void FN(avg_grad_volume)(const avg_work *w, int64_t volume)
{
    const ebb__pool_geometry *s = &w->s;
    T *dx = (T *)w->out + volume * s->n_in;
    memset(dx, 0, (size_t)s->n_in * sizeof(T));
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++) {
        int64_t z = line / s->out[1], y = line % s->out[1];
        const T *g = (const T *)w->x + volume * s->n_out + line * s->out[2];
        for (int64_t first = 0; first < s->out[2]; first += EBB__POOL_WIDTH) {
            int64_t left = s->out[2] - first,
                    n = left < EBB__POOL_WIDTH ? left : EBB__POOL_WIDTH;
            T share[EBB__POOL_WIDTH];
            for (int64_t j = 0; j < n; j++)
                share[j] = (T)((double)g[first + j] / avg_count(s, z, y, first + j));
            FN(avg_spread)(dx, share, s, z, y, first, n);
        }
    }
}
