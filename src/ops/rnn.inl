/* rnn.inl - one step of a plain recurrent network, forward and backward, for one element type T.
 * SPDX-License-Identifier: MIT */

EBB_CLONES static void FN(rnn_row)(T *restrict out, bool relu, int64_t n)
{
    if (relu)
        for (int64_t j = 0; j < n; j++) out[j] = out[j] > 0 || out[j] != out[j] ? out[j] : 0;
    else
        for (int64_t j = 0; j < n; j++) out[j] = EBB_TANH(out[j]);
}

static void FN(rnn_columns)(const rnn_work *w, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, size = r->batch * n, t = ebb__recurrence_time(r, r->at);
    const T *h =
        r->at == 0 ? w->h0 : (const T *)w->y + ebb__recurrence_time(r, r->at - 1) * size;
    T *out = (T *)w->y + t * size;
    FN(recurrent_copy)(r, out, n, (const T *)w->pre + t * size, n, 1, lo, hi);
    if (h) FN(recurrent_product)
    (r, out + lo, n, h, n, (const T *)r->w + lo * n, true, hi - lo, n, true, part);
    for (int64_t i = 0; i < r->batch; i++) FN(rnn_row)(out + i * n + lo, r->relu, hi - lo);
}

/* Columns [lo, hi) of dh before the step made as number `at`. */
static void FN(rnn_state_columns)(const rnn_work *w, int64_t at, int64_t lo, int64_t hi,
                                  int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, t = ebb__recurrence_time(r, at);
    FN(recurrent_product)
    (r, (T *)w->dh + lo, n, (const T *)w->dpre + t * r->batch * n, n, (const T *)r->w + lo,
     false, hi - lo, n, false, part);
}

static void FN(rnn_grad_columns)(const rnn_work *w, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, size = r->batch * n, t = ebb__recurrence_time(r, r->at);
    if (r->at + 1 < r->steps) FN(rnn_state_columns)(w, r->at + 1, lo, hi, part);
    for (int64_t i = 0; i < r->batch; i++) {
        const T *dh = (const T *)w->dh + i * n, *g = (const T *)w->g_y + t * size + i * n;
        const T *y = (const T *)w->y + t * size + i * n;
        T *dpre = (T *)w->dpre + t * size + i * n;
        for (int64_t j = lo; j < hi; j++) {
            T reach = dh[j] + g[j];
            dpre[j] = r->relu ? (y[j] > 0 ? reach : 0) : reach * (1 - y[j] * y[j]);
        }
    }
}
