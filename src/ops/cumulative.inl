/* cumulative.inl - running products and extremes of T; products are made in A: double for
 * floating types, else int64_t, which wraps.
 * SPDX-License-Identifier: MIT */
#if IS_FLOAT
#define RESULT T
#define TIMES(a, b) ((a) * (b))
#define TAKES_OVER(x, best, op) ((x) != (x) || (x)op(best))
#else
#define RESULT int64_t
#define TIMES(a, b) (int64_t)((uint64_t)(a) * (uint64_t)(b))
#define TAKES_OVER(x, best, op) ((x)op(best))
#endif

/* Lines [lo, hi) of outer x inner. */
static void FN(cumprod_lines)(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const cumulative_work *w = arg;
    const int64_t n = w->around.n, inner = w->around.inner;
    const T *x = w->c->in[0].data;
    RESULT *out = w->c->out[0].data;
    for (int64_t line = lo; line < hi; line++) {
        int64_t at = line / inner * n * inner + line % inner;
        A product = 1;
        for (int64_t i = 0; i < n; i++, at += inner) {
            product = TIMES(product, (A)x[at]);
            out[at] = (RESULT)product;
        }
    }
}

/* A comparison with NaN is false: it is replaced by nothing but NaN. */
#define EXTREME_LINES(name, op)                                                                \
    static void FN(name##_lines)(const void *arg, int64_t lo, int64_t hi, int32_t part)        \
    {                                                                                          \
        (void)part;                                                                            \
        const cumulative_work *w = arg;                                                        \
        const int64_t n = w->around.n, inner = w->around.inner;                                \
        const T *x = w->c->in[0].data;                                                         \
        T *out = w->c->out[0].data;                                                            \
        int64_t *place = w->c->out[1].data;                                                    \
        for (int64_t line = lo; line < hi; line++) {                                           \
            int64_t at = line / inner * n * inner + line % inner, best = 0;                    \
            T value = x[at];                                                                   \
            for (int64_t i = 0; i < n; i++, at += inner) {                                     \
                if (TAKES_OVER(x[at], value, op)) value = x[at], best = i;                     \
                out[at] = value;                                                               \
                place[at] = best;                                                              \
            }                                                                                  \
        }                                                                                      \
    }
EXTREME_LINES(cummax, >=)
EXTREME_LINES(cummin, <=)

#undef RESULT
#undef TIMES
#undef TAKES_OVER
#undef EXTREME_LINES
