/* max_pool.inl - max pooling of one volume for one element type T.
 *
 * A row of the output is made in stretches of EBB__POOL_WIDTH columns, one place of the window
 * at a time, so that the loops over columns vectorise.
 * SPDX-License-Identifier: MIT */

/* best and where take what place (row offset applied to x) offers columns [lo, hi). A NaN is
 * more than anything and the first one stays; so does the first of equals. */
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

/* Columns [first, first + n) of the output's line (z, y); `at` is the first one's place. */
static void FN(max_row)(T *out, void *places, int64_t at, const T *x,
                        const ebb__pool_geometry *s, int64_t z, int64_t y, int64_t first,
                        int64_t n)
{
    int32_t where[EBB__POOL_WIDTH], place = 0;
    for (int64_t j = 0; j < n; j++) {
        out[j] = (T)-INFINITY;
        where[j] = -1;
    }
    for (int64_t kd = 0; kd < s->kernel[0]; kd++)
        for (int64_t ki = 0; ki < s->kernel[1]; ki++) {
            int64_t line = ebb__pool_line(s, z, y, kd, ki);
            for (int64_t kj = 0; kj < s->kernel[2]; kj++, place++) {
                int64_t lo, hi, start = ebb__pool_at(s, 2, first, kj);
                if (line < 0) continue;
                ebb__pool_span(&lo, &hi, start, s->stride[2], s->in[2], n);
                FN(max_stretch_any)(out, where, x + line + start, s->stride[2], lo, hi, place);
            }
        }
    if (s->is_wide)
        for (int64_t j = 0; j < n; j++) ((int32_t *)places)[at + j] = where[j];
    else
        for (int64_t j = 0; j < n; j++) ((uint8_t *)places)[at + j] = (uint8_t)where[j];
}

static void FN(max_volume)(const max_work *w, int64_t volume)
{
    const ebb__pool_geometry *s = &w->s;
    const T *x = (const T *)w->x + volume * s->n_in;
    for (int64_t line = 0; line < s->out[0] * s->out[1]; line++)
        for (int64_t first = 0; first < s->out[2]; first += EBB__POOL_WIDTH) {
            int64_t left = s->out[2] - first,
                    n = left < EBB__POOL_WIDTH ? left : EBB__POOL_WIDTH;
            int64_t at = volume * s->n_out + line * s->out[2] + first;
            FN(max_row)
            ((T *)w->out + at, w->places_out, at, x, s, line / s->out[1], line % s->out[1],
             first, n);
        }
}

/* dx gets each g at the place its maximum came from. */
static void FN(max_grad_volume)(const max_work *w, int64_t volume)
{
    const ebb__pool_geometry *s = &w->s;
    int64_t at = volume * s->n_out;
    const T *g = (const T *)w->x;
    T *dx = (T *)w->out + volume * s->n_in;
    memset(dx, 0, (size_t)s->n_in * sizeof(T));
    for (int64_t z = 0; z < s->out[0]; z++)
        for (int64_t y = 0; y < s->out[1]; y++)
            for (int64_t j = 0; j < s->out[2]; j++, at++)
                dx[max_source(w, at, z, y, j)] += g[at];
}

/* out reads u at those places. */
static void FN(max_pick_volume)(const max_work *w, int64_t volume)
{
    const ebb__pool_geometry *s = &w->s;
    int64_t at = volume * s->n_out;
    const T *u = (const T *)w->x + volume * s->n_in;
    T *out = (T *)w->out;
    for (int64_t z = 0; z < s->out[0]; z++)
        for (int64_t y = 0; y < s->out[1]; y++)
            for (int64_t j = 0; j < s->out[2]; j++, at++)
                out[at] = u[max_source(w, at, z, y, j)];
}

/* Both for 2 x 2 windows without overlap: planes follow each other as one tall plane. */
static void FN(max_tiled)(const max_work *w, int64_t lo, int64_t hi)
{
    int64_t first = lo * w->s.n_out, n_rows = (hi - lo) * w->s.out[0] * w->s.out[1];
    T *out = (T *)w->out + first;
    uint8_t *places = (uint8_t *)w->places_out + first;
    FN(max_2x2)(out, places, (const T *)w->x + 4 * first, n_rows, w->s.in[2]);
}

static void FN(max_grad_tiled)(const max_work *w, int64_t lo, int64_t hi)
{
    int64_t first = lo * w->s.n_out, n_rows = (hi - lo) * w->s.out[0] * w->s.out[1];
    const T *g = (const T *)w->x + first;
    const uint8_t *places = (const uint8_t *)w->places + first;
    FN(max_2x2_grad)((T *)w->out + 4 * first, g, places, n_rows, w->s.in[2]);
}
