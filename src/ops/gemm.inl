/* gemm.inl - matrix product for one element type T.
 * SPDX-License-Identifier: MIT */
typedef T FN(gemm_vector) __attribute__((vector_size(64), aligned(sizeof(T))));
enum { FN(GEMM_NR) = 64 / sizeof(T) };

/* tile (MR, NR) = panel of a (k, MR) times panel of b (k, NR). */
GEMM_CLONES static void FN(gemm_tile)(T *restrict tile, const T *restrict a,
                                      const T *restrict b, int64_t k)
{
    const FN(gemm_vector) zero = {0};
    FN(gemm_vector) s0 = zero, s1 = zero, s2 = zero, s3 = zero;
    FN(gemm_vector) s4 = zero, s5 = zero, s6 = zero, s7 = zero;
    for (int64_t l = 0; l < k; l++, a += GEMM_MR, b += FN(GEMM_NR)) {
        FN(gemm_vector) y = *(const FN(gemm_vector) *)b;
        s0 += a[0] * y, s1 += a[1] * y, s2 += a[2] * y, s3 += a[3] * y;
        s4 += a[4] * y, s5 += a[5] * y, s6 += a[6] * y, s7 += a[7] * y;
    }
    FN(gemm_vector) *out = (FN(gemm_vector) *)tile;
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
    out[4] = s4, out[5] = s5, out[6] = s6, out[7] = s7;
}

/* The same where the panel of a lies in rows of x, `step` apart; those from `rows` on repeat the last. */
GEMM_CLONES static void FN(gemm_tile_rows)(T *restrict tile, const T *restrict x, int64_t step,
                                           int64_t rows, const T *restrict b, int64_t k)
{
    const FN(gemm_vector) zero = {0};
    FN(gemm_vector) s0 = zero, s1 = zero, s2 = zero, s3 = zero;
    FN(gemm_vector) s4 = zero, s5 = zero, s6 = zero, s7 = zero;
    const T *a[GEMM_MR];
    for (int64_t i = 0; i < GEMM_MR; i++) a[i] = x + gemm_min(i, rows - 1) * step;
    for (int64_t l = 0; l < k; l++, b += FN(GEMM_NR)) {
        FN(gemm_vector) y = *(const FN(gemm_vector) *)b;
        s0 += a[0][l] * y, s1 += a[1][l] * y, s2 += a[2][l] * y, s3 += a[3][l] * y;
        s4 += a[4][l] * y, s5 += a[5][l] * y, s6 += a[6][l] * y, s7 += a[7][l] * y;
    }
    FN(gemm_vector) *out = (FN(gemm_vector) *)tile;
    out[0] = s0, out[1] = s1, out[2] = s2, out[3] = s3;
    out[4] = s4, out[5] = s5, out[6] = s6, out[7] = s7;
}

/* (rows, k) at x becomes panels of `width` rows, each (k, width); missing rows are zero. */
static void FN(gemm_pack)(T *to, const T *x, int64_t rows, int64_t k, int64_t row_step,
                          int64_t k_step, int64_t width)
{
    for (int64_t first = 0; first < rows; first += width, to += k * width) {
        int64_t n = gemm_min(width, rows - first);
        const T *from = x + first * row_step;
        if (n < width) memset(to, 0, (size_t)(k * width) * sizeof(T));
        if (row_step == 1 && n == FN(GEMM_NR) && width == n)
            for (int64_t l = 0; l < k; l++)
                memcpy(to + l * width, from + l * k_step, FN(GEMM_NR) * sizeof(T));
        else if (row_step == 1)
            for (int64_t l = 0; l < k; l++)
                memcpy(to + l * width, from + l * k_step, (size_t)n * sizeof(T));
        else
            for (int64_t i = 0; i < n; i++)
                for (int64_t l = 0; l < k; l++)
                    to[l * width + i] = from[i * row_step + l * k_step];
    }
}

/* One block of a (m, k), packed where a_row is 0, else in rows, times a packed one of b (k, n), into
 * or onto c. */
static void FN(gemm_block)(T *c, int64_t c_row, const T *a, int64_t a_row, const T *b,
                           int64_t m, int64_t n, int64_t k, bool add)
{
    T tile[GEMM_MR * FN(GEMM_NR)] __attribute__((aligned(64)));
    for (int64_t j = 0; j < n; j += FN(GEMM_NR)) {
        int64_t cols = gemm_min(FN(GEMM_NR), n - j);
        for (int64_t i = 0; i < m; i += GEMM_MR) {
            int64_t rows = gemm_min(GEMM_MR, m - i);
            if (a_row)
                FN(gemm_tile_rows)(tile, a + i * a_row, a_row, rows, b + j * k, k);
            else
                FN(gemm_tile)(tile, a + i * k, b + j * k, k);
            for (int64_t r = 0; r < rows; r++) {
                T *out = c + (i + r) * c_row + j;
                const T *in = tile + r * FN(GEMM_NR);
                if (add)
                    for (int64_t q = 0; q < cols; q++) out[q] += in[q];
                else if (cols == FN(GEMM_NR)) /* of known size: no call */
                    memcpy(out, in, FN(GEMM_NR) * sizeof(T));
                else
                    memcpy(out, in, (size_t)cols * sizeof(T));
            }
        }
    }
}

static void FN(gemm_packed)(const ebb__gemm *g)
{
    const T *a = g->a, *b = g->b;
    T *c = g->c, *b_pack = g->scratch;
    int64_t depth = gemm_min(g->k, GEMM_KC);
    T *a_pack = b_pack + depth * gemm_round(gemm_min(g->n, GEMM_NC), FN(GEMM_NR));
    /* Packed rows of a are read n / NR times: few times for a narrow b. */
    bool in_rows = g->a_col == 1 && g->a_row != 0 && g->n <= GEMM_NARROW;
    for (int64_t j = 0; j < g->n; j += GEMM_NC) {
        int64_t n = gemm_min(GEMM_NC, g->n - j);
        for (int64_t l = 0; l < g->k; l += GEMM_KC) {
            int64_t k = gemm_min(GEMM_KC, g->k - l);
            const T *from = b + l * g->b_row + j * g->b_col;
            FN(gemm_pack)(b_pack, from, n, k, g->b_col, g->b_row, FN(GEMM_NR));
            for (int64_t i = 0; i < g->m; i += GEMM_MC) {
                int64_t m = gemm_min(GEMM_MC, g->m - i);
                T *to = c + i * g->c_row + j;
                from = a + i * g->a_row + l * g->a_col;
                if (!in_rows) FN(gemm_pack)(a_pack, from, m, k, g->a_row, g->a_col, GEMM_MR);
                FN(gemm_block)
                (to, g->c_row, in_rows ? from : a_pack, in_rows ? g->a_row : 0, b_pack, m, n, k,
                 l > 0 || g->add);
            }
        }
    }
}

/* Dot product of two runs of unit stride: two vectors of sums side by side, gathered in double
 * every 4096 terms. */
GEMM_CLONES static double FN(gemm_dot)(const T *x, const T *y, int64_t n)
{
    enum { LANES = FN(GEMM_NR) };
    double total = 0;
    for (int64_t first = 0; first < n; first += 4096) {
        int64_t stop = gemm_min(n, first + 4096), i = first;
        FN(gemm_vector) s0 = {0}, s1 = {0};
        for (; i + 2 * LANES <= stop; i += 2 * LANES) {
            s0 += *(const FN(gemm_vector) *)(x + i) * *(const FN(gemm_vector) *)(y + i);
            s1 += *(const FN(gemm_vector) *)(x + i + LANES) *
                  *(const FN(gemm_vector) *)(y + i + LANES);
        }
        s0 += s1;
        double sum = 0;
        for (int q = 0; q < LANES; q++) sum += (double)s0[q];
        for (; i < stop; i++) sum += (double)x[i] * (double)y[i];
        total += sum;
    }
    return total;
}

/* sum[0..n) of row x (k, step x_step) times b, summed in double. */
GEMM_CLONES static void FN(gemm_row)(double *restrict sum, const T *x, int64_t x_step,
                                     const T *restrict b, int64_t b_row, int64_t b_col,
                                     int64_t n, int64_t k)
{
    for (int64_t j = 0; j < n; j++) sum[j] = 0;
    for (int64_t l = 0; l < k; l++) {
        double factor = (double)x[l * x_step];
        const T *y = b + l * b_row;
        if (b_col == 1)
            for (int64_t j = 0; j < n; j++) sum[j] += factor * (double)y[j];
        else
            for (int64_t j = 0; j < n; j++) sum[j] += factor * (double)y[j * b_col];
    }
}

static void FN(gemm_direct)(const ebb__gemm *g)
{
    enum { WIDTH = 32 };
    const T *a = g->a, *b = g->b;
    bool dots = g->a_col == 1 && g->b_row == 1 && g->k >= 8;
    for (int64_t i = 0; i < g->m; i++) {
        const T *x = a + i * g->a_row;
        T *out = (T *)g->c + i * g->c_row;
        for (int64_t j = 0; j < g->n; j += WIDTH) {
            int64_t n = gemm_min(WIDTH, g->n - j);
            double sum[WIDTH];
            if (dots)
                for (int64_t q = 0; q < n; q++)
                    sum[q] = FN(gemm_dot)(x, b + (j + q) * g->b_col, g->k);
            else
                FN(gemm_row)(sum, x, g->a_col, b + j * g->b_col, g->b_row, g->b_col, n, g->k);
            for (int64_t q = 0; q < n; q++)
                out[j + q] = (T)(g->add ? (double)out[j + q] + sum[q] : sum[q]);
        }
    }
}

void FN(ebb__gemm)(const ebb__gemm *g)
{
    if (!gemm_is_small(g->m, g->n, g->k)) {
        FN(gemm_packed)(g);
    } else if (g->n == 1 && g->c_row == 1 && g->m > 1) {
        /* A column: the same product transposed is one row, which the direct form does well. */
        ebb__gemm row = {g->b,     g->a,     g->c,     1,    g->m,   g->k,      g->b_col,
                         g->b_row, g->a_col, g->a_row, g->m, g->add, g->scratch};
        FN(gemm_direct)(&row);
    } else {
        FN(gemm_direct)(g);
    }
}
