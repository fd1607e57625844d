/* recurrent.inl - products of one step for one element type T.
 * SPDX-License-Identifier: MIT */

/* out (batch, n; rows out_row apart) = or += x (batch, k; rows x_row apart) times columns [lo, lo
 * + n) of w' where turned, else of w; w has rows of `width` elements and the rows that count
 * begin at w. */
static void FN(recurrent_product)(const ebb__recurrence *r, T *out, int64_t out_row, const T *x,
                                  int64_t x_row, const T *w, bool turned, int64_t n, int64_t k,
                                  bool add, int32_t part)
{
    ebb__gemm g = {.a = x,
                   .b = w,
                   .c = out,
                   .m = r->batch,
                   .n = n,
                   .k = k,
                   .a_row = x_row,
                   .a_col = 1,
                   .b_row = turned ? 1 : r->width,
                   .b_col = turned ? r->width : 1,
                   .c_row = out_row,
                   .add = add,
                   .scratch = r->scratch + (size_t)part * r->scratch_each};
    FN(ebb__gemm)(&g);
}

/* out[lo..hi) of each of n blocks of `width` columns = x's; rows of both are n * width apart. */
static void FN(recurrent_copy)(const ebb__recurrence *r, T *out, int64_t out_row, const T *x,
                               int64_t x_row, int64_t n, int64_t lo, int64_t hi)
{
    for (int64_t i = 0; i < r->batch; i++)
        for (int64_t k = 0; k < n; k++)
            memcpy(out + i * out_row + k * r->width + lo, x + i * x_row + k * r->width + lo,
                   (size_t)(hi - lo) * sizeof(T));
}
