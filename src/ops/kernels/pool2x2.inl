/* pool2x2.inl - the most common pooling, 2 x 2 without overlap or padding, for one element type
 * T.
 *
 * x is n_rows pairs of rows of w elements, w even; the result n_rows rows of w / 2. Planes of
 * an even height follow each other without a seam. Places are 0..3 in reading order.
 *
 * Written with the compiler's vectors of 8 elements, because no compiler makes them from the
 * plain loop (half of the branches of which are mispredicted on real data). Rows are short in
 * practice (14, 7), so a vector may run past a row's end into the next row's place, which is
 * written later. Only where the data itself would end are the loops exact.
 * SPDX-License-Identifier: MIT */

enum { FN(POOL_LANES) = 8 };
typedef T FN(pool_lanes) __attribute__((vector_size(8 * sizeof(T))));
typedef __typeof__(_Generic((T)0, float : (int32_t)0, double : (int64_t)0)) FN(pool_int);
typedef FN(pool_int) FN(pool_mask) __attribute__((vector_size(8 * sizeof(T))));
typedef uint8_t FN(pool_bytes) __attribute__((vector_size(8)));

/* Elements 0, 2, ... 14 and 1, 3, ... 15 of two vectors; their inverse. */
#define POOL_EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define POOL_ODD(a, b) __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#define POOL_LOW(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define POOL_HIGH(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
/* Where y is greater than best, or the first NaN, it takes over. */
#define POOL_TAKE(y, number)                                                                   \
    do {                                                                                       \
        FN(pool_mask) take = ~((y) <= best) & (best == best);                                  \
        best = (FN(pool_lanes))((take & (FN(pool_mask))(y)) | (~take & (FN(pool_mask))best));  \
        place = (take & (number)) | (~take & place);                                           \
    } while (0)

static inline __attribute__((always_inline)) void
FN(max_2x2_lanes)(T *out, uint8_t *places, const T *upper, const T *lower)
{
    FN(pool_lanes) a, b, c, d;
    memcpy(&a, upper, sizeof a), memcpy(&b, upper + 8, sizeof b);
    memcpy(&c, lower, sizeof c), memcpy(&d, lower + 8, sizeof d);
    FN(pool_lanes) best = POOL_EVEN(a, b), y1 = POOL_ODD(a, b);
    FN(pool_lanes) y2 = POOL_EVEN(c, d), y3 = POOL_ODD(c, d);
    FN(pool_mask) place = {0};
    POOL_TAKE(y1, 1);
    POOL_TAKE(y2, 2);
    POOL_TAKE(y3, 3);
    FN(pool_bytes) bytes = __builtin_convertvector(place, FN(pool_bytes));
    memcpy(out, &best, sizeof best);
    memcpy(places, &bytes, sizeof bytes);
}

static void FN(max_2x2_one)(T *out, uint8_t *place, const T *upper, const T *lower)
{
    T y[4] = {upper[0], upper[1], lower[0], lower[1]};
    int k = 0;
    for (int i = 1; i < 4; i++)
        if (!(y[i] <= y[k]) && y[k] == y[k]) k = i;
    *out = y[k], *place = (uint8_t)k;
}

EBB_CLONES static void FN(max_2x2)(T *out, uint8_t *places, const T *x, int64_t n_rows,
                                   int64_t w)
{
    int64_t half = w / 2, left = n_rows * half;
    for (int64_t i = 0; i < n_rows; i++, left -= half) {
        const T *upper = x + 2 * i * w, *lower = upper + w;
        T *to = out + i * half;
        uint8_t *at = places + i * half;
        int64_t j = 0;
        /* What x has left is four times what the result has. */
        if (left >= half + 2 * FN(POOL_LANES))
            for (; j < half; j += FN(POOL_LANES))
                FN(max_2x2_lanes)(to + j, at + j, upper + 2 * j, lower + 2 * j);
        for (; j < half; j++) FN(max_2x2_one)(to + j, at + j, upper + 2 * j, lower + 2 * j);
    }
}

/* One row of dx, the upper (first 0) or lower (first 2) of a pair: the place chosen gets g. */
EBB_CLONES static void FN(max_2x2_grad)(T *dx, const T *g, const uint8_t *places,
                                        int64_t n_rows, int64_t w)
{
    int64_t half = w / 2, left = n_rows * half;
    for (int64_t i = 0; i < n_rows; i++, left -= half)
        for (int first = 0; first < 4; first += 2) {
            T *to = dx + (2 * i + first / 2) * w;
            const T *from = g + i * half;
            const uint8_t *at = places + i * half;
            int64_t j = 0;
            if (left >= half + 2 * FN(POOL_LANES))
                for (; j < half; j += FN(POOL_LANES)) {
                    FN(pool_bytes) bytes;
                    FN(pool_mask) y;
                    memcpy(&bytes, at + j, sizeof bytes), memcpy(&y, from + j, sizeof y);
                    FN(pool_mask) place = __builtin_convertvector(bytes, FN(pool_mask));
                    FN(pool_mask) even = (place == first) & y, odd = (place == first + 1) & y;
                    FN(pool_mask) low = POOL_LOW(even, odd), high = POOL_HIGH(even, odd);
                    memcpy(to + 2 * j, &low, sizeof low);
                    memcpy(to + 2 * j + 8, &high, sizeof high);
                }
            for (; j < half; j++) {
                to[2 * j] = at[j] == first ? from[j] : 0;
                to[2 * j + 1] = at[j] == first + 1 ? from[j] : 0;
            }
        }
}

#undef POOL_EVEN
#undef POOL_ODD
#undef POOL_LOW
#undef POOL_HIGH
#undef POOL_TAKE
