/* reduce.inl - what sum, prod, amax, amin, any and all do with contiguous elements of type T,
 * in accumulators of type A. Sums and products of integers wrap.
 * SPDX-License-Identifier: MIT */
#if IS_FLOAT
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define TOP(a, b) (((b) > (a)) | ((b) != (b)) ? (b) : (a)) /* NaN stays */
#define LOW(a, b) (((b) < (a)) | ((b) != (b)) ? (b) : (a))
#define LEAST (-INFINITY)
#define MOST INFINITY
#else
#define PLUS(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#define TIMES(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define TOP(a, b) ((b) > (a) ? (b) : (a))
#define LOW(a, b) ((b) < (a) ? (b) : (a))
#define LEAST INT64_MIN
#define MOST INT64_MAX
#endif
#define AND(a, b) ((a) != 0 && (b) != 0)
#define OR(a, b) ((a) != 0 || (b) != 0)

/* A row goes into sixteen accumulators side by side, so that the loop vectorises in a fixed
 * order. */
#define FOLD(clones, name, combine, nothing)                                                   \
    static void FN(name##_start)(void *acc_, const void *first, int64_t m)                     \
    {                                                                                          \
        (void)first;                                                                           \
        A *acc = acc_;                                                                         \
        for (int64_t i = 0; i < m; i++) acc[i] = nothing;                                      \
    }                                                                                          \
    clones static void FN(name##_row)(void *acc_, const void *x_, int64_t n, int64_t at)       \
    {                                                                                          \
        (void)at;                                                                              \
        A *acc = acc_, lane[16], result = nothing;                                             \
        const T *x = x_;                                                                       \
        int64_t i = 0;                                                                         \
        if (n >= 16) {                                                                         \
            for (int k = 0; k < 16; k++) lane[k] = nothing;                                    \
            for (; i + 16 <= n; i += 16) {                                                     \
                EBB_LANES                                                                      \
                for (int k = 0; k < 16; k++) lane[k] = combine(lane[k], (A)x[i + k]);          \
            }                                                                                  \
            for (int half = 8; half > 0; half /= 2)                                            \
                for (int k = 0; k < half; k++) lane[k] = combine(lane[k], lane[k + half]);     \
            result = lane[0];                                                                  \
        }                                                                                      \
        for (; i + 4 <= n; i += 4) {                                                           \
            const A left = combine((A)x[i], (A)x[i + 1]);                                      \
            const A right = combine((A)x[i + 2], (A)x[i + 3]);                                 \
            result = combine(result, combine(left, right));                                    \
        }                                                                                      \
        for (; i < n; i++) result = combine(result, (A)x[i]);                                  \
        acc[0] = combine(acc[0], result);                                                      \
    }                                                                                          \
    clones static void FN(name##_cols)(void *acc_, const void *x_, int64_t m, int64_t at,      \
                                       int64_t n, int64_t step)                                \
    {                                                                                          \
        (void)at;                                                                              \
        A *acc = acc_;                                                                         \
        const T *x = x_;                                                                       \
        for (int64_t k = 0; k < n; k++, x += step) {                                           \
            EBB_IVDEP                                                                          \
            for (int64_t i = 0; i < m; i++) acc[i] = combine(acc[i], (A)x[i]);                 \
        }                                                                                      \
    }
FOLD(EBB_CLONES, sum, PLUS, 0)
FOLD(, prod, TIMES, 1)
FOLD(EBB_CLONES, amax, TOP, LEAST)
FOLD(EBB_CLONES, amin, LOW, MOST)
FOLD(, any, OR, 0)
FOLD(, all, AND, 1)

#undef FOLD
#undef PLUS
#undef TIMES
#undef TOP
#undef LOW
#undef LEAST
#undef MOST
#undef AND
#undef OR
