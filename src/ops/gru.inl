/* gru.inl - one step of a gru, forward and backward, for one element type T. A step keeps r, z,
 * n and what the state has in n's gate, s.
 * SPDX-License-Identifier: MIT */

/* Columns of one sequence: r and z hold sums, n what the input has in it, s the state's part. */
EBB_CLONES static void FN(gru_row)(T *restrict gate, T *restrict out, const T *restrict before,
                                   int64_t width, int64_t lo, int64_t hi)
{
    T *r = gate, *z = gate + width, *n = gate + 2 * width;
    const T *s = gate + 3 * width;
    EBB_IVDEP
    for (int64_t j = lo; j < hi; j++) {
        r[j] = EBB_SIGMOID(r[j]);
        z[j] = EBB_SIGMOID(z[j]);
        n[j] = EBB_TANH(n[j] + r[j] * s[j]);
        out[j] = (1 - z[j]) * n[j] + (before ? z[j] * before[j] : 0);
    }
}

/* r and z += their biases; s = its own (0 where there is none). */
static void FN(gru_bias)(const gru_work *w, T *gates, int64_t lo, int64_t hi)
{
    int64_t n = w->r.width;
    const T *bias = w->bias;
    for (int64_t i = 0; i < w->r.batch; i++, gates += 4 * n)
        for (int64_t j = lo; j < hi; j++) {
            gates[j] += bias ? bias[j] : 0;
            gates[j + n] += bias ? bias[j + n] : 0;
            gates[j + 3 * n] = bias ? bias[j + 2 * n] : 0;
        }
}

static void FN(gru_columns)(const gru_work *w, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, size = r->batch * n, t = ebb__recurrence_time(r, r->at);
    const T *h =
        r->at == 0 ? w->h0 : (const T *)w->y + ebb__recurrence_time(r, r->at - 1) * size;
    T *gates = (T *)w->gates + t * 4 * size, *out = (T *)w->y + t * size;
    FN(recurrent_copy)(r, gates, 4 * n, (const T *)w->pre + t * 3 * size, 3 * n, 3, lo, hi);
    FN(gru_bias)(w, gates, lo, hi);
    for (int64_t k = 0; h && k < 3; k++) FN(recurrent_product)
    (r, gates + (k == 2 ? 3 : k) * n + lo, 4 * n, h, n, (const T *)r->w + (k * n + lo) * n,
     true, hi - lo, n, true, part);
    for (int64_t i = 0; i < r->batch; i++)
        FN(gru_row)(gates + i * 4 * n, out + i * n, h ? h + i * n : NULL, n, lo, hi);
}

/* With dh what reaches this step's state: the gradients of the gates as the input sees them
 * (dpre) and as the state does (dsum), and what of dh goes past them. more: gradients of r, z,
 * n and s themselves; NULL: none. */
EBB_CLONES static void FN(gru_grad_row)(T *restrict dpre, T *restrict dsum, T *restrict dh,
                                        const T *gate, const T *before, const T *more,
                                        int64_t width, int64_t lo, int64_t hi)
{
    const T *r = gate, *z = gate + width, *n = gate + 2 * width, *s = gate + 3 * width;
    EBB_IVDEP
    for (int64_t j = lo; j < hi; j++) {
        T dz = dh[j] * ((before ? before[j] : 0) - n[j]), dn = dh[j] * (1 - z[j]);
        if (more) dz += more[j + width], dn += more[j + 2 * width];
        dn *= 1 - n[j] * n[j];
        T dr = dn * s[j], ds = dn * r[j];
        if (more) dr += more[j], ds += more[j + 3 * width];
        dr *= r[j] * (1 - r[j]), dz *= z[j] * (1 - z[j]);
        dpre[j] = dsum[j] = dr;
        dpre[j + width] = dsum[j + width] = dz;
        dpre[j + 2 * width] = dn;
        dsum[j + 2 * width] = ds;
        dh[j] *= z[j];
    }
}

/* Columns [lo, hi) of dh before the step made as number `at` += what came through its gates. */
static void FN(gru_state_columns)(const gru_work *w, int64_t at, int64_t lo, int64_t hi,
                                  int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, t = ebb__recurrence_time(r, at);
    FN(recurrent_product)
    (r, (T *)w->dh + lo, n, (const T *)w->dsum + t * r->batch * 3 * n, 3 * n,
     (const T *)r->w + lo, false, hi - lo, 3 * n, true, part);
}

static void FN(gru_grad_columns)(const gru_work *w, int64_t lo, int64_t hi, int32_t part)
{
    const ebb__recurrence *r = &w->r;
    int64_t n = r->width, size = r->batch * n, t = ebb__recurrence_time(r, r->at);
    const T *h =
        r->at == 0 ? w->h0 : (const T *)w->y + ebb__recurrence_time(r, r->at - 1) * size;
    const T *gates = (const T *)w->gates + t * 4 * size, *g = w->g_y, *gg = w->g_gates;
    if (r->at + 1 < r->steps) FN(gru_state_columns)(w, r->at + 1, lo, hi, part);
    for (int64_t i = 0; i < r->batch; i++) {
        T *dh = (T *)w->dh + i * n;
        for (int64_t j = lo; g && j < hi; j++) dh[j] += g[t * size + i * n + j];
        FN(gru_grad_row)
        ((T *)w->dpre + t * 3 * size + i * 3 * n, (T *)w->dsum + t * 3 * size + i * 3 * n, dh,
         gates + i * 4 * n, h ? h + i * n : NULL, gg ? gg + t * 4 * size + i * 4 * n : NULL, n,
         lo, hi);
    }
}
