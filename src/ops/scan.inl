/* scan.inl - running sums of T, made in A: double for floating types, else int64_t, which
 * wraps.
 * SPDX-License-Identifier: MIT */
#if IS_FLOAT
#define RESULT T
#define PLUS(a, b) ((a) + (b))
#else
#define RESULT int64_t
#define PLUS(a, b) (int64_t)((uint64_t)(a) + (uint64_t)(b))
#endif

/* Lines [lo, hi) of outer x inner. */
static void FN(scan_lines)(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const job *j = arg;
    const int64_t n = j->around.n, inner = j->around.inner;
    for (int64_t line = lo; line < hi; line++) {
        int64_t at = line / inner * n * inner + line % inner, step = inner;
        if (j->backwards) {
            at += (n - 1) * inner;
            step = -inner;
        }
        A sum = 0;
        for (int64_t i = 0; i < n; i++, at += step) {
            sum = PLUS(sum, (A)((const T *)j->c->in[0].data)[at]);
            ((RESULT *)j->c->out[0].data)[at] = (RESULT)sum;
        }
    }
}
#undef RESULT
#undef PLUS
