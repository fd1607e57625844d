/* attend.inl - attention in tiles of scores for one element type T.
 *
 * A tile has ATTEND_ROWS query places by ATTEND_COLS key places, rows ATTEND_COLS apart. Scores
 * that are hidden are -infinity.
 * SPDX-License-Identifier: MIT */

static void FN(attend_product)(const T *a, int64_t a_row, int64_t a_col, const T *b,
                               int64_t b_row, int64_t b_col, T *c, int64_t c_row, int64_t m,
                               int64_t n, int64_t k, bool add, void *scratch)
{
    ebb__gemm g = {a, b, c, m, n, k, a_row, a_col, b_row, b_col, c_row, add, scratch};
    FN(ebb__gemm)(&g);
}

/* One row of scores: scaled, masked, cut off behind the query's own place. */
static void FN(attend_mask_row)(const attend_work *w, T *row, const attend_tile *t, int64_t i)
{
    T scale = (T)w->scale;
    for (int64_t j = 0; j < t->cols; j++) row[j] *= scale;
    const attend_operand *m = &w->mask;
    if (m->data) {
        int64_t at = t->at.mask + (t->first_row + i) * m->row + t->first_col * m->col;
        if (w->mask_is_bool) {
            const bool *seen = (const bool *)m->data + at;
            for (int64_t j = 0; j < t->cols; j++)
                row[j] = seen[j * m->col] ? row[j] : (T)-INFINITY;
        } else {
            const T *term = (const T *)m->data + at;
            for (int64_t j = 0; j < t->cols; j++) row[j] += term[j * m->col];
        }
    }
    if (!w->causal) return;
    int64_t seen = t->first_row + i + 1 - t->first_col;
    for (int64_t j = seen < 0 ? 0 : seen; j < t->cols; j++) row[j] = (T)-INFINITY;
}

/* score = scale * q k' + mask over a tile. */
static void FN(attend_scores)(const attend_work *w, T *score, const attend_tile *t,
                              void *scratch)
{
    const T *q = (const T *)w->q.data + t->at.q + t->first_row * w->q.row;
    const T *k = (const T *)w->k.data + t->at.k + t->first_col * w->k.row;
    FN(attend_product)
    (q, w->q.row, w->q.col, k, w->k.col, w->k.row, score, ATTEND_COLS, t->rows, t->cols, w->d,
     false, scratch);
    for (int64_t i = 0; i < t->rows; i++) FN(attend_mask_row)(w, score + i * ATTEND_COLS, t, i);
}

/* Drops weights of one row and scales those that stay. */
static void FN(attend_drop)(const attend_work *w, T *row, const attend_tile *t, int64_t i)
{
    uint32_t word[ATTEND_COLS + 8];
    uint64_t at = (uint64_t)((t->item * w->l + t->first_row + i) * w->s + t->first_col);
    int64_t skip = (int64_t)(at % 4), blocks = (skip + t->cols + 3) / 4;
    T scale = (T)(1 / (1 - w->p));
    ebb__philox_fill(word, blocks, w->key, w->base + at / 4);
    for (int64_t j = 0; j < t->cols; j++)
        row[j] = word[skip + j] >= w->least ? row[j] * scale : 0;
}

/* ---- forward: query places [first, first + ATTEND_ROWS) of one item ---------------------- */
/* Takes a tile's scores into the rows' running maximum and sum: they become weights against the
 * new maximum, and what the rows' results hold is brought down to it. */
static void FN(attend_row)(const attend_work *w, T *row, T *out, T *top, double *sum,
                           const attend_tile *t, int64_t i)
{
    T high = FN(row_max)(row, t->cols);
    high = high <= *top ? *top : high;
    if (high == (T)-INFINITY) {
        for (int64_t j = 0; j < t->cols; j++) row[j] = 0;
        return;
    }
    T down = EXP(*top - high);
    *sum = *sum * (double)down + FN(row_exp)(row, row, high, t->cols);
    if (w->p > 0) FN(attend_drop)(w, row, t, i);
    if (down != 1)
        for (int64_t e = 0; e < w->e; e++) out[e] *= down;
    *top = high;
}

/* A row that sees nothing is 0. */
static void FN(attend_finish)(const attend_work *w, T *out, int64_t row, T top, double sum)
{
    ((T *)w->lse_out)[row] = sum == 0 ? (T)-INFINITY : (T)((double)top + log(sum));
    if (sum != 0) FN(row_scale)(out, 1 / sum, w->e);
}

static void FN(attend_forward)(const attend_work *w, int64_t item, int64_t first, char *memory)
{
    T *score = (T *)memory, top[ATTEND_ROWS];
    double sum[ATTEND_ROWS];
    attend_tile t = tile_rows(w, item, first);
    int64_t stop = w->causal && first + t.rows < w->s ? first + t.rows : w->s;
    T *out = (T *)w->out + (item * w->l + first) * w->e;
    for (int64_t i = 0; i < t.rows; i++) top[i] = (T)-INFINITY, sum[i] = 0;
    for (int64_t i = 0; i < t.rows * w->e; i++) out[i] = 0;
    for (int64_t col = 0; col < stop; col += ATTEND_COLS) {
        t.first_col = col, t.cols = attend_min(ATTEND_COLS, stop - col);
        FN(attend_scores)(w, score, &t, memory + w->tile_bytes);
        for (int64_t i = 0; i < t.rows; i++)
            FN(attend_row)(w, score + i * ATTEND_COLS, out + i * w->e, &top[i], &sum[i], &t, i);
        const T *v = (const T *)w->v.data + t.at.v + col * w->v.row;
        FN(attend_product)
        (score, ATTEND_COLS, 1, v, w->v.row, w->v.col, out, w->e, t.rows, w->e, t.cols, true,
         memory + w->tile_bytes);
    }
    for (int64_t i = 0; i < t.rows; i++)
        FN(attend_finish)(w, out + i * w->e, item * w->l + first + i, top[i], sum[i]);
}

/* ---- backward: one tile ------------------------------------------------------------------ */
/* sum over e of g * out of one row: that of weight * (gradient of the weight). */
static double FN(attend_level)(const attend_work *w, const attend_tile *t, int64_t i)
{
    int64_t row = t->first_row + i;
    const T *g = (const T *)w->g.data + t->at.g + row * w->g.row;
    const T *out = (const T *)w->y.data + t->at.y + row * w->y.row;
    double sum = 0;
    for (int64_t e = 0; e < w->e; e++)
        sum += (double)g[e * w->g.col] * (double)out[e * w->y.col];
    return sum;
}

/* weight = exp(score - lse); change = weight * (g v' - level) * scale, the gradient of q k'. */
static void FN(attend_weights)(const attend_work *w, T *weight, T *change, const attend_tile *t,
                               void *scratch)
{
    FN(attend_scores)(w, weight, t, scratch);
    if (change) {
        const T *g = (const T *)w->g.data + t->at.g + t->first_row * w->g.row;
        const T *v = (const T *)w->v.data + t->at.v + t->first_col * w->v.row;
        FN(attend_product)
        (g, w->g.row, w->g.col, v, w->v.col, w->v.row, change, ATTEND_COLS, t->rows, t->cols,
         w->e, false, scratch);
    }
    for (int64_t i = 0; i < t->rows; i++) {
        T *row = weight + i * ATTEND_COLS;
        T lse = ((const T *)w->lse.data)[t->at.lse + (t->first_row + i) * w->lse.row];
        if (lse == (T)-INFINITY)
            for (int64_t j = 0; j < t->cols; j++) row[j] = 0;
        else
            FN(row_exp)(row, row, lse, t->cols);
        if (change) {
            T *dw = change + i * ATTEND_COLS, level = (T)FN(attend_level)(w, t, i);
            T scale = (T)w->scale;
            if (w->p > 0) FN(attend_drop)(w, dw, t, i);
            for (int64_t j = 0; j < t->cols; j++) dw[j] = row[j] * (dw[j] - level) * scale;
        }
        if (w->p > 0) FN(attend_drop)(w, row, t, i);
    }
}

/* Adds the tile's part to dq, and to dk and dv. */
static void FN(attend_backward)(const attend_work *w, const attend_tile *t, bool of_q,
                                bool of_kv, char *memory)
{
    T *weight = (T *)memory, *change = w->dq ? weight + ATTEND_ROWS * ATTEND_COLS : NULL;
    void *scratch = memory + w->tile_bytes;
    FN(attend_weights)(w, weight, change, t, scratch);
    const T *q = (const T *)w->q.data + t->at.q + t->first_row * w->q.row;
    const T *k = (const T *)w->k.data + t->at.k + t->first_col * w->k.row;
    const T *g = (const T *)w->g.data + t->at.g + t->first_row * w->g.row;
    if (of_q && change) {
        T *dq = (T *)w->dq + (t->item * w->l + t->first_row) * w->d;
        FN(attend_product)
        (change, ATTEND_COLS, 1, k, w->k.row, w->k.col, dq, w->d, t->rows, w->d, t->cols, true,
         scratch);
    }
    if (!of_kv) return;
    if (change) {
        T *dk = (T *)w->dk + (t->item * w->s + t->first_col) * w->d;
        FN(attend_product)
        (change, 1, ATTEND_COLS, q, w->q.row, w->q.col, dk, w->d, t->cols, w->d, t->rows, true,
         scratch);
    }
    T *dv = (T *)w->dv + (t->item * w->s + t->first_col) * w->e;
    FN(attend_product)
    (weight, 1, ATTEND_COLS, g, w->g.row, w->g.col, dv, w->e, t->cols, w->e, t->rows, true,
     scratch);
}
