/* conv.inl - patches of an image as columns of a matrix, and back, for one element type T.
 *
 * Row k = (channel, ki, kj) of col (k_rows, n_cols) holds what kernel place k sees at the
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

static void FN(conv_row_to_col)(T *col, const T *x, const conv_geometry *s, int64_t ki,
                                int64_t kj, int64_t first, int64_t n_cols)
{
    int64_t done = 0, y = first / s->out_w, j = first % s->out_w;
    for (; done < n_cols; y++, j = 0) {
        int64_t stop = j + (n_cols - done);
        if (stop > s->out_w) stop = s->out_w;
        int64_t row = y * s->stride[0] - s->padding[0] + ki * s->dilation[0];
        int64_t at = kj * s->dilation[1] - s->padding[1], lo = j, hi = stop;
        FN(conv_span)(&lo, &hi, at, s->stride[1], row < 0 || row >= s->h ? 0 : s->w);
        if (lo > stop) lo = hi = stop;
        T *to = col + done - j;
        const T *from = x + row * s->w + at;
        memset(to + j, 0, (size_t)(lo - j) * sizeof(T));
        if (s->stride[1] == 1) {
            if (hi > lo) memcpy(to + lo, from + lo, (size_t)(hi - lo) * sizeof(T));
        } else {
            for (int64_t q = lo; q < hi; q++) to[q] = from[q * s->stride[1]];
        }
        memset(to + hi, 0, (size_t)(stop - hi) * sizeof(T));
        done += stop - j;
    }
}

static void FN(conv_col_to_row)(T *x, const T *col, const conv_geometry *s, int64_t ki,
                                int64_t kj, int64_t first, int64_t n_cols)
{
    int64_t done = 0, y = first / s->out_w, j = first % s->out_w;
    for (; done < n_cols; y++, j = 0) {
        int64_t stop = j + (n_cols - done);
        if (stop > s->out_w) stop = s->out_w;
        int64_t row = y * s->stride[0] - s->padding[0] + ki * s->dilation[0];
        int64_t at = kj * s->dilation[1] - s->padding[1], lo = j, hi = stop;
        FN(conv_span)(&lo, &hi, at, s->stride[1], row < 0 || row >= s->h ? 0 : s->w);
        const T *from = col + done - j;
        T *to = x + row * s->w + at;
        if (s->stride[1] == 1)
            for (int64_t q = lo; q < hi; q++) to[q] += from[q];
        else
            for (int64_t q = lo; q < hi; q++) to[q * s->stride[1]] += from[q];
        done += stop - j;
    }
}

static void FN(conv_to_cols)(T *col, const T *x, const conv_geometry *s, int64_t first,
                             int64_t n_cols)
{
    for (int64_t k = 0; k < s->k_rows; k++) {
        int64_t kj = k % s->kw, ki = k / s->kw % s->kh, channel = k / (s->kw * s->kh);
        const T *plane = x + channel * s->h * s->w;
        FN(conv_row_to_col)(col + k * n_cols, plane, s, ki, kj, first, n_cols);
    }
}

/* out (o_each, n_cols) of one image and group: the kernels times the patches. */
static void FN(conv_forward_unit)(const conv_work *w, int64_t image, int64_t group,
                                  int64_t first, int64_t n_cols, char *scratch)
{
    const conv_geometry *s = &w->s;
    const T *x = (const T *)w->x + (image * s->groups + group) * s->c_each * s->h * s->w;
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
    T *dx = (T *)w->out + (image * s->groups + group) * s->c_each * s->h * s->w;
    const T *weight = (const T *)w->weight + group * s->o_each * s->k_rows;
    const T *g = (const T *)w->grad + (image * s->groups + group) * s->o_each * s->n_places;
    T *col = (T *)scratch;
    memset(dx, 0, (size_t)(s->c_each * s->h * s->w) * sizeof(T));
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
            int64_t kj = k % s->kw, ki = k / s->kw % s->kh, channel = k / (s->kw * s->kh);
            T *plane = dx + channel * s->h * s->w;
            FN(conv_col_to_row)(plane, col + k * n_cols, s, ki, kj, first, n_cols);
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
        const T *x = (const T *)w->x + (image * s->groups + group) * s->c_each * s->h * s->w;
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
