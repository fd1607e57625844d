/* lstm.inl - one step of an lstm, forward and backward, for one element type T.
 * SPDX-License-Identifier: MIT */

/* Columns of one sequence: gates in their places become activations. */
EBB_CLONES static void FN(lstm_row)(T *restrict gate, T *restrict cell, T *restrict out,
                                    const T *restrict before, int64_t width, int64_t lo,
                                    int64_t hi)
{
    T *in = gate, *forget = gate + width, *fresh = gate + 2 * width, *open = gate + 3 * width;
    EBB_IVDEP
    for (int64_t j = lo; j < hi; j++) {
        in[j] = EBB_SIGMOID(in[j]);
        forget[j] = EBB_SIGMOID(forget[j]);
        fresh[j] = EBB_TANH(fresh[j]);
        open[j] = EBB_SIGMOID(open[j]);
        cell[j] = in[j] * fresh[j] + (before ? forget[j] * before[j] : 0);
        out[j] = open[j] * EBB_TANH(cell[j]);
    }
}

static void FN(lstm_columns)(const lstm_work *w, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, size = r->batch * n, t = ebb__recurrence_time(r, r->at);
    int64_t past = r->at > 0 ? ebb__recurrence_time(r, r->at - 1) : -1;
    const T *h = past < 0 ? w->h0 : (const T *)w->y + past * size;
    const T *c = past < 0 ? w->c0 : (const T *)w->cells + past * size;
    T *gates = (T *)w->gates + t * 4 * size, *cells = (T *)w->cells + t * size;
    T *out = (T *)w->y + t * size;
    FN(recurrent_copy)(r, gates, 4 * n, (const T *)w->pre + t * 4 * size, 4 * n, 4, lo, hi);
    for (int64_t k = 0; h && k < 4; k++) FN(recurrent_product)
    (r, gates + k * n + lo, 4 * n, h, n, (const T *)r->w + (k * n + lo) * n, true, hi - lo, n,
     true, part);
    for (int64_t i = 0; i < r->batch; i++) FN(lstm_row)
    (gates + i * 4 * n, cells + i * n, out + i * n, c ? c + i * n : NULL, n, lo, hi);
}

/* With dh and dc what reaches this step's state: the gates' gradients, and dc before the step.
 * more_gates, more_cell: gradients of the by-products themselves; NULL: none. */
EBB_CLONES static void FN(lstm_grad_row)(T *restrict dgate, T *restrict dc, const T *dh,
                                         const T *gate, const T *cell, const T *before,
                                         const T *more_gates, const T *more_cell, int64_t width,
                                         int64_t lo, int64_t hi)
{
    const T *in = gate, *forget = gate + width, *fresh = gate + 2 * width;
    const T *open = gate + 3 * width;
    EBB_IVDEP
    for (int64_t j = lo; j < hi; j++) {
        T squashed = EBB_TANH(cell[j]);
        T c = dc[j] + dh[j] * open[j] * (1 - squashed * squashed);
        c += more_cell ? more_cell[j] : 0;
        T d_in = c * fresh[j], d_forget = before ? c * before[j] : 0, d_fresh = c * in[j];
        T d_open = dh[j] * squashed;
        if (more_gates) {
            d_in += more_gates[j], d_forget += more_gates[j + width];
            d_fresh += more_gates[j + 2 * width], d_open += more_gates[j + 3 * width];
        }
        dgate[j] = d_in * in[j] * (1 - in[j]);
        dgate[j + width] = d_forget * forget[j] * (1 - forget[j]);
        dgate[j + 2 * width] = d_fresh * (1 - fresh[j] * fresh[j]);
        dgate[j + 3 * width] = d_open * open[j] * (1 - open[j]);
        dc[j] = c * forget[j];
    }
}

/* Columns [lo, hi) of dh before the step made as number `at`, from the gates' gradients there. */
static void FN(lstm_state_columns)(const lstm_work *w, int64_t at, int64_t lo, int64_t hi,
                                   int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, t = ebb__recurrence_time(r, at);
    FN(recurrent_product)
    (r, (T *)w->dh + lo, n, (const T *)w->dpre + t * r->batch * 4 * n, 4 * n,
     (const T *)r->w + lo, false, hi - lo, 4 * n, false, part);
}

static void FN(lstm_grad_columns)(const lstm_work *w, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, size = r->batch * n, t = ebb__recurrence_time(r, r->at);
    int64_t past = r->at > 0 ? ebb__recurrence_time(r, r->at - 1) : -1;
    const T *c = past < 0 ? w->c0 : (const T *)w->cells + past * size;
    const T *gates = (const T *)w->gates + t * 4 * size, *g = w->g_y, *gg = w->g_gates;
    const T *cells = (const T *)w->cells + t * size, *gc = w->g_cells;
    if (r->at + 1 < r->steps) FN(lstm_state_columns)(w, r->at + 1, lo, hi, part);
    for (int64_t i = 0; i < r->batch; i++) {
        T *dh = (T *)w->dh + i * n;
        for (int64_t j = lo; g && j < hi; j++) dh[j] += g[t * size + i * n + j];
        FN(lstm_grad_row)
        ((T *)w->dpre + t * 4 * size + i * 4 * n, (T *)w->dc + i * n, dh, gates + i * 4 * n,
         cells + i * n, c ? c + i * n : NULL, gg ? gg + t * 4 * size + i * 4 * n : NULL,
         gc ? gc + t * size + i * n : NULL, n, lo, hi);
    }
}
