/* count.inl - elements of T that are not 0.
 * SPDX-License-Identifier: MIT */
EBB_CLONES static void FN(count_row)(void *acc, const void *x_, int64_t n, int64_t at)
{
    (void)at;
    const T *x = x_;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) count += x[i] != 0;
    *(int64_t *)acc += count;
}
EBB_CLONES static void FN(count_cols)(void *acc_, const void *x_, int64_t m, int64_t at,
                                      int64_t n, int64_t step)
{
    (void)at;
    int64_t *acc = acc_;
    const T *x = x_;
    for (int64_t k = 0; k < n; k++, x += step)
        for (int64_t i = 0; i < m; i++) acc[i] += x[i] != 0;
}
