/* pooling.inl - pooling of one plane (h, w) into (out_h, out_w), for one element
 * type T.
 *
 * A row of the output is made in stretches of POOL_WIDTH columns, one place of
 * the window at a time, so that the loops over columns vectorise.
 * SPDX-License-Identifier: MIT */

/* best and where take what place (row offset applied to x) offers columns [lo,
 * hi). A NaN is more than anything and the first one stays; so does the first
 * of equals. */
static inline __attribute__((always_inline)) void
FN(max_stretch)(T *restrict best, int32_t *restrict where, const T *restrict x, int64_t stride,
                int64_t lo, int64_t hi, int32_t place)
{
    for (int64_t j = lo; j < hi; j++) {
        T value = x[j * stride];
        bool take = (!(value <= best[j]) && best[j] == best[j]) || where[j] < 0;
        best[j] = take ? value : best[j];
        where[j] = take ? place : where[j];
    }
}

EBB_CLONES static void FN(max_stretch_any)(T *restrict best, int32_t *restrict where,
                                           const T *restrict x, int64_t stride, int64_t lo,
                                           int64_t hi, int32_t place)
{
    if (stride == 1)
        FN(max_stretch)(best, where, x, 1, lo, hi, place);
    else if (stride == 2)
        FN(max_stretch)(best, where, x, 2, lo, hi, place);
    else
        FN(max_stretch)(best, where, x, stride, lo, hi, place);
}

static void FN(max_row)(T *out, void *places, int64_t at, const T *x, const pool_geometry *s,
                        int64_t y, int64_t first, int64_t n)
{
    int32_t where[POOL_WIDTH];
    for (int64_t j = 0; j < n; j++) {
        out[j] = (T)-INFINITY;
        where[j] = -1;
    }
    for (int64_t ki = 0; ki < s->kernel[0]; ki++) {
        int64_t row = y * s->stride[0] - s->padding[0] + ki;
        if (row < 0 || row >= s->h) continue;
        for (int64_t kj = 0; kj < s->kernel[1]; kj++) {
            int64_t lo, hi, start = first * s->stride[1] - s->padding[1] + kj;
            pool_span(&lo, &hi, start, s->stride[1], s->w, n);
            const T *from = x + row * s->w + start;
            int32_t place = (int32_t)(ki * s->kernel[1] + kj);
            FN(max_stretch_any)(out, where, from, s->stride[1], lo, hi, place);
        }
    }
    if (s->is_wide)
        for (int64_t j = 0; j < n; j++) ((int32_t *)places)[at + j] = where[j];
    else
        for (int64_t j = 0; j < n; j++) ((uint8_t *)places)[at + j] = (uint8_t)where[j];
}

static void FN(max_plane)(const pool_work *w, int64_t plane)
{
    const pool_geometry *s = &w->s;
    const T *x = (const T *)w->x + plane * s->h * s->w;
    int64_t to = plane * s->out_h * s->out_w;
    for (int64_t y = 0; y < s->out_h; y++)
        for (int64_t first = 0; first < s->out_w; first += POOL_WIDTH) {
            int64_t n = s->out_w - first < POOL_WIDTH ? s->out_w - first : POOL_WIDTH;
            int64_t at = to + y * s->out_w + first;
            FN(max_row)((T *)w->out + at, w->places_out, at, x, s, y, first, n);
        }
}

/* dx (h, w) gets each g at the place its maximum came from. */
static void FN(max_grad_plane)(const pool_work *w, int64_t plane)
{
    const pool_geometry *s = &w->s;
    int64_t from = plane * s->out_h * s->out_w;
    const T *g = (const T *)w->x + from;
    T *dx = (T *)w->out + plane * s->h * s->w;
    memset(dx, 0, (size_t)(s->h * s->w) * sizeof(T));
    for (int64_t y = 0; y < s->out_h; y++)
        for (int64_t j = 0; j < s->out_w; j++)
            dx[pool_source(w, from, y, j)] += g[y * s->out_w + j];
}

/* out (out_h, out_w) reads u (h, w) at those places. */
static void FN(max_pick_plane)(const pool_work *w, int64_t plane)
{
    const pool_geometry *s = &w->s;
    int64_t to = plane * s->out_h * s->out_w;
    const T *u = (const T *)w->x + plane * s->h * s->w;
    T *out = (T *)w->out + to;
    for (int64_t y = 0; y < s->out_h; y++)
        for (int64_t j = 0; j < s->out_w; j++)
            out[y * s->out_w + j] = u[pool_source(w, to, y, j)];
}

/* Both for 2 x 2 windows without overlap: planes follow each other as one tall plane. */
static void FN(max_tiled)(const pool_work *w, int64_t lo, int64_t hi)
{
    int64_t first = lo * w->s.out_h * w->s.out_w, n_rows = (hi - lo) * w->s.out_h;
    T *out = (T *)w->out + first;
    uint8_t *places = (uint8_t *)w->places_out + first;
    FN(max_2x2)(out, places, (const T *)w->x + 4 * first, n_rows, w->s.w);
}

static void FN(max_grad_tiled)(const pool_work *w, int64_t lo, int64_t hi)
{
    int64_t first = lo * w->s.out_h * w->s.out_w, n_rows = (hi - lo) * w->s.out_h;
    const T *g = (const T *)w->x + first;
    const uint8_t *places = (const uint8_t *)w->places + first;
    FN(max_2x2_grad)((T *)w->out + 4 * first, g, places, n_rows, w->s.w);
}

static void FN(avg_plane)(const pool_work *w, int64_t plane)
{
    const pool_geometry *s = &w->s;
    const T *x = (const T *)w->x + plane * s->h * s->w;
    T *out = (T *)w->out + plane * s->out_h * s->out_w;
    for (int64_t y = 0; y < s->out_h; y++)
        for (int64_t first = 0; first < s->out_w; first += POOL_WIDTH) {
            int64_t n = s->out_w - first < POOL_WIDTH ? s->out_w - first : POOL_WIDTH;
            double sum[POOL_WIDTH] = {0};
            for (int64_t ki = 0; ki < s->kernel[0]; ki++) {
                int64_t row = y * s->stride[0] - s->padding[0] + ki;
                if (row < 0 || row >= s->h) continue;
                for (int64_t kj = 0; kj < s->kernel[1]; kj++) {
                    int64_t lo, hi, start = first * s->stride[1] - s->padding[1] + kj;
                    pool_span(&lo, &hi, start, s->stride[1], s->w, n);
                    const T *from = x + row * s->w + start;
                    for (int64_t j = lo; j < hi; j++) sum[j] += (double)from[j * s->stride[1]];
                }
            }
            for (int64_t j = 0; j < n; j++)
                out[y * s->out_w + first + j] = (T)(sum[j] / pool_count(s, y, first + j));
        }
}

static void FN(avg_grad_plane)(const pool_work *w, int64_t plane)
{
    const pool_geometry *s = &w->s;
    const T *g = (const T *)w->x + plane * s->out_h * s->out_w;
    T *dx = (T *)w->out + plane * s->h * s->w;
    memset(dx, 0, (size_t)(s->h * s->w) * sizeof(T));
    for (int64_t y = 0; y < s->out_h; y++)
        for (int64_t first = 0; first < s->out_w; first += POOL_WIDTH) {
            int64_t n = s->out_w - first < POOL_WIDTH ? s->out_w - first : POOL_WIDTH;
            T share[POOL_WIDTH];
            for (int64_t j = 0; j < n; j++)
                share[j] =
                    (T)((double)g[y * s->out_w + first + j] / pool_count(s, y, first + j));
            for (int64_t ki = 0; ki < s->kernel[0]; ki++) {
                int64_t row = y * s->stride[0] - s->padding[0] + ki;
                if (row < 0 || row >= s->h) continue;
                for (int64_t kj = 0; kj < s->kernel[1]; kj++) {
                    int64_t lo, hi, start = first * s->stride[1] - s->padding[1] + kj;
                    pool_span(&lo, &hi, start, s->stride[1], s->w, n);
                    T *to = dx + row * s->w + start;
                    for (int64_t j = lo; j < hi; j++) to[j * s->stride[1]] += share[j];
                }
            }
        }
}
