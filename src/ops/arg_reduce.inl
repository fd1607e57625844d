/* arg_reduce.inl - the first largest or smallest of contiguous elements, and where it is. NaN
 * is beyond every number; among several the first counts.
 * SPDX-License-Identifier: MIT */
#if IS_FLOAT
/* The further of two, as selections without a branch; which NaN does not matter. */
#define FURTHER(best, x, op) ((x) != (x) ? (x) : (x)op(best) ? (x) : (best))
#define BEYOND(x, best, op) (((x)op(best)) | (((x) != (x)) & ((best) == (best))))
#define SAME(x, value) ((x) == (value) || ((x) != (x) && (value) != (value)))
#define LEAST (-INFINITY)
#define MOST INFINITY
#define PLACE place_f64
#else
#define FURTHER(best, x, op) ((x)op(best) ? (x) : (best))
#define BEYOND(x, best, op) ((x)op(best))
#define SAME(x, value) ((x) == (value))
#define LEAST INT64_MIN
#define MOST INT64_MAX
#define PLACE place_i64
#endif

#define LANES 16
#define ARG_FOLD(name, op, nothing)                                                            \
    static void FN(name##_start)(void *acc_, const void *first, int64_t m)                     \
    {                                                                                          \
        (void)first;                                                                           \
        PLACE *acc = acc_;                                                                     \
        for (int64_t i = 0; i < m; i++) acc[i] = (PLACE){nothing, 0};                          \
    }                                                                                          \
    /* Long rows: what the extreme is, in lanes, and then where. */                            \
    EBB_CLONES static T FN(name##_value)(const T *x, int64_t n)                                \
    {                                                                                          \
        T lane[LANES];                                                                         \
        int64_t i = LANES;                                                                     \
        for (int k = 0; k < LANES; k++) lane[k] = x[k];                                        \
        for (; i + LANES <= n; i += LANES) {                                                   \
            EBB_LANES                                                                          \
            for (int k = 0; k < LANES; k++) lane[k] = FURTHER(lane[k], x[i + k], op);          \
        }                                                                                      \
        for (; i < n; i++) lane[0] = FURTHER(lane[0], x[i], op);                               \
        for (int k = 1; k < LANES; k++) lane[0] = FURTHER(lane[0], lane[k], op);               \
        return lane[0];                                                                        \
    }                                                                                          \
    static void FN(name##_row)(void *acc_, const void *x_, int64_t n, int64_t at)              \
    {                                                                                          \
        PLACE *acc = acc_, best = *acc;                                                        \
        const T *x = x_;                                                                       \
        if (n >= 4 * LANES) {                                                                  \
            const T value = FN(name##_value)(x, n);                                            \
            if (!(BEYOND((A)value, best.value, op))) return;                                   \
            int64_t i = 0;                                                                     \
            while (!SAME(x[i], value)) i++;                                                    \
            *acc = (PLACE){(A)value, at + i};                                                  \
            return;                                                                            \
        }                                                                                      \
        for (int64_t i = 0; i < n; i++)                                                        \
            if (BEYOND((A)x[i], best.value, op)) best = (PLACE){(A)x[i], at + i};              \
        *acc = best;                                                                           \
    }                                                                                          \
    EBB_CLONES static void FN(name##_cols)(void *acc_, const void *x_, int64_t m, int64_t at,  \
                                           int64_t n, int64_t step)                            \
    {                                                                                          \
        PLACE *acc = acc_;                                                                     \
        const T *x = x_;                                                                       \
        A value[EBB__FOLD_COLS];                                                               \
        int64_t index[EBB__FOLD_COLS];                                                         \
        for (int64_t i = 0; i < m; i++) {                                                      \
            value[i] = acc[i].value;                                                           \
            index[i] = acc[i].index;                                                           \
        }                                                                                      \
        for (int64_t k = 0; k < n; k++, x += step)                                             \
            for (int64_t i = 0; i < m; i++) {                                                  \
                const A next = (A)x[i];                                                        \
                const bool further = BEYOND(next, value[i], op);                               \
                value[i] = further ? next : value[i];                                          \
                index[i] = further ? at + k : index[i];                                        \
            }                                                                                  \
        for (int64_t i = 0; i < m; i++) acc[i] = (PLACE){value[i], index[i]};                  \
    }                                                                                          \
    static void FN(name##_merge)(void *acc_, const void *later_, int64_t m, int64_t at,        \
                                 int64_t n, int64_t step)                                      \
    {                                                                                          \
        (void)at, (void)n, (void)step;                                                         \
        PLACE *acc = acc_;                                                                     \
        const PLACE *later = later_;                                                           \
        for (int64_t i = 0; i < m; i++)                                                        \
            if (BEYOND(later[i].value, acc[i].value, op)) acc[i] = later[i];                   \
    }
ARG_FOLD(argmax, >, LEAST)
ARG_FOLD(argmin, <, MOST)

#undef ARG_FOLD
#undef BEYOND
#undef FURTHER
#undef SAME
#undef LANES
#undef LEAST
#undef MOST
#undef PLACE
