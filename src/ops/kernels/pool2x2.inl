/* pool2x2.inl - the most common pooling, 2 x 2 without overlap or padding, for one element type
 * T.
 *
 * x is n_rows pairs of rows of w elements, w even; the result n_rows rows of w / 2. Planes of
 * an even height follow each other without a seam. Places are 0..3 in reading order. Rows are
 * short in practice (14, 7), so vectors run past a row's end into the next row's place, which
 * is written later: the loops have fixed lengths and no remainder. Only where the data itself
 * would end are they exact. SPDX-License-Identifier: MIT */

enum { FN(pool2x2_wide) = 16 };

/* Column j of each row pair: the greatest, the first of equals, or the first NaN. */
static inline __attribute__((always_inline)) void
FN(max_2x2_block)(T *restrict out, uint8_t *restrict places, const T *restrict upper,
                  const T *restrict lower, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        T best = upper[2 * j], b = upper[2 * j + 1], c = lower[2 * j], d = lower[2 * j + 1];
        int32_t place = 0;
        int take = !(b <= best) & (best == best);
        best = take ? b : best, place = take ? 1 : place;
        take = !(c <= best) & (best == best);
        best = take ? c : best, place = take ? 2 : place;
        take = !(d <= best) & (best == best);
        best = take ? d : best, place = take ? 3 : place;
        out[j] = best, places[j] = (uint8_t)place;
    }
}

EBB_CLONES static void FN(max_2x2)(T *out, uint8_t *places, const T *x, int64_t n_rows,
                                   int64_t w)
{
    int64_t half = w / 2, wide = FN(pool2x2_wide), left = n_rows * half;
    for (int64_t i = 0; i < n_rows; i++, left -= half) {
        const T *upper = x + 2 * i * w, *lower = upper + w;
        T *to = out + i * half;
        uint8_t *at = places + i * half;
        int64_t j = 0;
        /* What x has left is four times what the result has. */
        bool room = left >= half + 2 * wide;
        for (; room && j + wide / 2 < half; j += wide)
            FN(max_2x2_block)(to + j, at + j, upper + 2 * j, lower + 2 * j, FN(pool2x2_wide));
        if (room && j < half) FN(max_2x2_block)
        (to + j, at + j, upper + 2 * j, lower + 2 * j, FN(pool2x2_wide) / 2);
        else if (j < half)
            FN(max_2x2_block)(to + j, at + j, upper + 2 * j, lower + 2 * j, half - j);
    }
}

/* One row of dx: pairs of which the place chosen gets g. first: the place of its even columns.
 */
static inline __attribute__((always_inline)) void
FN(max_2x2_grad_block)(T *restrict dx, const T *restrict g, const uint8_t *restrict places,
                       int32_t first, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        dx[2 * j] = places[j] == first ? g[j] : 0;
        dx[2 * j + 1] = places[j] == first + 1 ? g[j] : 0;
    }
}

EBB_CLONES static void FN(max_2x2_grad)(T *dx, const T *g, const uint8_t *places,
                                        int64_t n_rows, int64_t w)
{
    int64_t half = w / 2, wide = FN(pool2x2_wide), left = n_rows * half;
    for (int64_t i = 0; i < n_rows; i++, left -= half) {
        bool room = left >= half + 2 * wide;
        for (int32_t row = 0; row < 2; row++) {
            T *to = dx + (2 * i + row) * w;
            const T *from = g + i * half;
            const uint8_t *at = places + i * half;
            int64_t j = 0;
            for (; room && j + wide / 2 < half; j += wide) FN(max_2x2_grad_block)
            (to + 2 * j, from + j, at + j, 2 * row, FN(pool2x2_wide));
            if (room && j < half) FN(max_2x2_grad_block)
            (to + 2 * j, from + j, at + j, 2 * row, FN(pool2x2_wide) / 2);
            else if (j < half)
                FN(max_2x2_grad_block)(to + 2 * j, from + j, at + j, 2 * row, half - j);
        }
    }
}
