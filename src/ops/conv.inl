/* conv.inl - patches of an image as columns of a matrix, and back, for one element type T.
 *
 * Row k = (channel, kd, ki, kj) of col (k_rows, n_cols) holds what kernel place k sees at the
 * output places [first, first + n_cols) of one image; padding is 0.
 * SPDX-License-Identifier: MIT */

/* Output columns [lo, hi) of [0, out_w) whose place `at + stride * j` lies in [0, w). */
static void FN(conv_span)(int64_t *lo, int64_t *hi, int64_t at, int64_t stride, int64_t w)
{
    int64_t first = at < 0 ? (-at + stride - 1) / stride : 0;
    int64_t stop = at < w ? (w - at + stride - 1) / stride : 0;
    if (*lo < first) *lo = first;
    if (*hi > stop) *hi = stop;
    if (*hi < *lo) *hi = *lo;
}

/* Where lines of the output lie in x, for one place of the kernel. */
typedef struct FN(conv_lines) {
    int64_t z, y, j; /* the output place to go on from */
    int64_t at;      /* of column 0 */
} FN(conv_lines);

/* The line of x that output line (z, y) sees; NULL: padding. */
static T *FN(conv_line)(const T *x, const conv_geometry *s, const int64_t place[3], int64_t z,
                        int64_t y)
{
    int64_t plane = z * s->stride[0] - s->padding[0] + place[0] * s->dilation[0];
    int64_t row = y * s->stride[1] - s->padding[1] + place[1] * s->dilation[1];
    if (plane < 0 || plane >= s->in[0] || row < 0 || row >= s->in[1]) return NULL;
    return (T *)x + (plane * s->in[1] + row) * s->in[2];
}

static FN(conv_lines) FN(conv_lines_from)(const conv_geometry *s, int64_t kj, int64_t first)
{
    int64_t line = first / s->out[2];
    return (FN(conv_lines)){.z = line / s->out[1],
                            .y = line % s->out[1],
                            .j = first % s->out[2],
                            .at = kj * s->dilation[2] - s->padding[2]};
}

static void FN(conv_next_line)(FN(conv_lines) * l, const conv_geometry *s)
{
    l->j = 0;
    if (++l->y == s->out[1]) l->y = 0, l->z++;
}

static void FN(conv_row_to_col)(T *col, const T *x, const conv_geometry *s,
                                const int64_t place[3], int64_t first, int64_t n_cols)
{
    FN(conv_lines) l = FN(conv_lines_from)(s, place[2], first);
    for (int64_t done = 0, stop; done < n_cols; FN(conv_next_line)(&l, s)) {
        stop = l.j + (n_cols - done);
        if (stop > s->out[2]) stop = s->out[2];
        const T *line = FN(conv_line)(x, s, place, l.z, l.y);
        int64_t lo = l.j, hi = stop;
        FN(conv_span)(&lo, &hi, l.at, s->stride[2], line ? s->in[2] : 0);
        if (lo > stop) lo = hi = stop;
        T *to = col + done - l.j;
        memset(to + l.j, 0, (size_t)(lo - l.j) * sizeof(T));
        if (hi > lo && s->stride[2] == 1)
            memcpy(to + lo, line + l.at + lo, (size_t)(hi - lo) * sizeof(T));
        else
            for (int64_t q = lo; q < hi; q++) to[q] = line[l.at + q * s->stride[2]];
        memset(to + hi, 0, (size_t)(stop - hi) * sizeof(T));
        done += stop - l.j;
    }
}

static void FN(conv_col_to_row)(T *x, const T *col, const conv_geometry *s,
                                const int64_t place[3], int64_t first, int64_t n_cols)
{
    FN(conv_lines) l = FN(conv_lines_from)(s, place[2], first);
    for (int64_t done = 0, stop; done < n_cols; FN(conv_next_line)(&l, s)) {
        stop = l.j + (n_cols - done);
        if (stop > s->out[2]) stop = s->out[2];
        T *line = FN(conv_line)(x, s, place, l.z, l.y);
        int64_t lo = l.j, hi = stop;
        FN(conv_span)(&lo, &hi, l.at, s->stride[2], line ? s->in[2] : 0);
        const T *from = col + done - l.j;
        if (hi > lo && s->stride[2] == 1) {
            T *to = line + l.at;
            for (int64_t q = lo; q < hi; q++) to[q] += from[q];
        } else {
            for (int64_t q = lo; q < hi; q++) line[l.at + q * s->stride[2]] += from[q];
        }
        done += stop - l.j;
    }
}

/* Row k of the matrix of patches: its channel, and its place in the kernel. */
static int64_t FN(conv_place)(int64_t place[3], const conv_geometry *s, int64_t k)
{
    place[2] = k % s->kernel[2], k /= s->kernel[2];
    place[1] = k % s->kernel[1], k /= s->kernel[1];
    place[0] = k % s->kernel[0];
    return k / s->kernel[0];
}

static void FN(conv_to_cols)(T *col, const T *x, const conv_geometry *s, int64_t first,
                             int64_t n_cols)
{
    for (int64_t k = 0; k < s->k_rows; k++) {
        int64_t place[3], channel = FN(conv_place)(place, s, k);
        FN(conv_row_to_col)(col + k * n_cols, x + channel * s->n_in, s, place, first, n_cols);
    }
}

/* out (o_each, n_cols) of one image and group: the kernels times the patches. */
static void FN(conv_forward_unit)(const conv_work *w, int64_t image, int64_t group,
                                  int64_t first, int64_t n_cols, char *scratch)
{
    const conv_geometry *s = &w->s;
    const T *x = (const T *)w->x + (image * s->groups + group) * s->c_each * s->n_in;
    const T *weight = (const T *)w->weight + group * s->o_each * s->k_rows;
    T *out = (T *)w->out + (image * s->groups + group) * s->o_each * s->n_places + first;
    T *col = (T *)scratch;
    const T *bias = w->bias;
    for (int64_t o = 0; bias && o < s->o_each; o++)
        for (int64_t j = 0; j < n_cols; j++)
            out[o * s->n_places + j] = bias[group * s->o_each + o];
    ebb__gemm g = {weight,
                   x + first,
                   out,
                   s->o_each,
                   n_cols,
                   s->k_rows,
                   s->k_rows,
                   1,
                   s->n_places,
                   1,
                   s->n_places,
                   bias != NULL,
                   scratch + w->col_bytes};
    if (!s->is_pointwise) {
        FN(conv_to_cols)(col, x, s, first, n_cols);
        g.b = col, g.b_row = n_cols;
    }
    FN(ebb__gemm)(&g);
}

/* dx of one image and group: the kernels transposed times g, added up where patches overlap. */
static void FN(conv_grad_input_unit)(const conv_work *w, int64_t image, int64_t group,
                                     char *scratch)
{
    const conv_geometry *s = &w->s;
    T *dx = (T *)w->out + (image * s->groups + group) * s->c_each * s->n_in;
    const T *weight = (const T *)w->weight + group * s->o_each * s->k_rows;
    const T *g = (const T *)w->grad + (image * s->groups + group) * s->o_each * s->n_places;
    T *col = (T *)scratch;
    memset(dx, 0, (size_t)(s->c_each * s->n_in) * sizeof(T));
    for (int64_t first = 0; first < s->n_places; first += s->n_cols) {
        int64_t n_cols = s->n_places - first < s->n_cols ? s->n_places - first : s->n_cols;
        ebb__gemm product = {weight,
                             g + first,
                             col,
                             s->k_rows,
                             n_cols,
                             s->o_each,
                             1,
                             s->k_rows,
                             s->n_places,
                             1,
                             n_cols,
                             false,
                             scratch + w->col_bytes};
        FN(ebb__gemm)(&product);
        for (int64_t k = 0; k < s->k_rows; k++) {
            int64_t place[3], channel = FN(conv_place)(place, s, k);
            T *volume = dx + channel * s->n_in;
            FN(conv_col_to_row)(volume, col + k * n_cols, s, place, first, n_cols);
        }
    }
}

/* dw (o, k_rows) += the part of one image: g times the patches transposed. */
static void FN(conv_grad_weight_image)(const conv_work *w, int64_t image, void *dw,
                                       char *scratch)
{
    const conv_geometry *s = &w->s;
    T *col = (T *)scratch;
    for (int64_t group = 0; group < s->groups; group++) {
        const T *x = (const T *)w->x + (image * s->groups + group) * s->c_each * s->n_in;
        const T *g = (const T *)w->grad + (image * s->groups + group) * s->o_each * s->n_places;
        T *to = (T *)dw + group * s->o_each * s->k_rows;
        for (int64_t first = 0; first < s->n_places; first += s->n_cols) {
            int64_t n_cols = s->n_places - first < s->n_cols ? s->n_places - first : s->n_cols;
            FN(conv_to_cols)(col, x, s, first, n_cols);
            ebb__gemm product = {g + first,
                                 col,
                                 to,
                                 s->o_each,
                                 s->k_rows,
                                 n_cols,
                                 s->n_places,
                                 1,
                                 1,
                                 n_cols,
                                 s->k_rows,
                                 true,
                                 scratch + w->col_bytes};
            FN(ebb__gemm)(&product);
        }
    }
}

/* total[0..n) += the other sums, in order. */
static void FN(conv_add_parts)(void *total, const char *parts, size_t part_bytes,
                               int32_t n_parts, int64_t n)
{
    T *to = total;
    for (int32_t p = 0; p < n_parts; p++) {
        const T *from = (const T *)(parts + (size_t)p * part_bytes);
        for (int64_t i = 0; i < n; i++) to[i] += from[i];
    }
}
