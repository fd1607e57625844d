/* arg_reduce.inl - the first largest or smallest of contiguous elements, and where it is. NaN
 * is beyond every number; among several the first counts. SPDX-License-Identifier: MIT */
#if IS_FLOAT
#define BEYOND(x, best, op) ((x)op(best) || ((x) != (x) && (best) == (best)))
#define LEAST (-INFINITY)
#define MOST INFINITY
#define PLACE place_f64
#else
#define BEYOND(x, best, op) ((x)op(best))
#define LEAST INT64_MIN
#define MOST INT64_MAX
#define PLACE place_i64
#endif

#define ARG_FOLD(name, op, nothing)                                                            \
    static void FN(name##_start)(void *acc_, const void *first, int64_t m)                     \
    {                                                                                          \
        (void)first;                                                                           \
        PLACE *acc = acc_;                                                                     \
        for (int64_t i = 0; i < m; i++) acc[i] = (PLACE){nothing, 0};                          \
    }                                                                                          \
    static void FN(name##_row)(void *acc_, const void *x_, int64_t n, int64_t at)              \
    {                                                                                          \
        PLACE *acc = acc_, best = *acc;                                                        \
        const T *x = x_;                                                                       \
        for (int64_t i = 0; i < n; i++)                                                        \
            if (BEYOND((A)x[i], best.value, op)) best = (PLACE){(A)x[i], at + i};              \
        *acc = best;                                                                           \
    }                                                                                          \
    static void FN(name##_cols)(void *acc_, const void *x_, int64_t m, int64_t at)             \
    {                                                                                          \
        PLACE *acc = acc_;                                                                     \
        const T *x = x_;                                                                       \
        for (int64_t i = 0; i < m; i++)                                                        \
            if (BEYOND((A)x[i], acc[i].value, op)) acc[i] = (PLACE){(A)x[i], at};              \
    }                                                                                          \
    static void FN(name##_merge)(void *acc_, const void *later_, int64_t m, int64_t at)        \
    {                                                                                          \
        (void)at;                                                                              \
        PLACE *acc = acc_;                                                                     \
        const PLACE *later = later_;                                                           \
        for (int64_t i = 0; i < m; i++)                                                        \
            if (BEYOND(later[i].value, acc[i].value, op)) acc[i] = later[i];                   \
    }
ARG_FOLD(argmax, >, LEAST)
ARG_FOLD(argmin, <, MOST)

#undef ARG_FOLD
#undef BEYOND
#undef LEAST
#undef MOST
#undef PLACE
