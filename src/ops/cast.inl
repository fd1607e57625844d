/* cast.inl - rows that convert from T to every dtype. Whole types saturate; NaN becomes 0.
 * SPDX-License-Identifier: MIT */
#define CAST_ROW(to, R, expr)                                                                  \
    EBB_MAP_BEGIN(FN(cast_to_##to), R)                                                         \
    const T *xs = in[0];                                                                       \
    const int64_t sx = step[0];                                                                \
    if (sx == 1) {                                                                             \
        EBB_IVDEP                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T x = xs[i];                                                                 \
            out[i] = (R)(expr);                                                                \
        }                                                                                      \
        return;                                                                                \
    }                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                          \
        const T x = xs[i * sx];                                                                \
        out[i] = (R)(expr);                                                                    \
    }                                                                                          \
    }
#if IS_FLOAT
/* above is the first number past the type's largest. */
#define WHOLE(R, lowest, above, largest)                                                       \
    (x >= (T)(lowest) ? (x < (T)(above) ? (R)x : largest) : x < (T)(lowest) ? (R)(lowest) : 0)
CAST_ROW(i64, int64_t, WHOLE(int64_t, -9223372036854775808.0, 9223372036854775808.0, INT64_MAX))
CAST_ROW(i32, int32_t, WHOLE(int32_t, -2147483648.0, 2147483648.0, INT32_MAX))
CAST_ROW(u8, uint8_t, WHOLE(uint8_t, 0, 256, UINT8_MAX))
#undef WHOLE
#else
CAST_ROW(i64, int64_t, x)
CAST_ROW(i32, int32_t, whole(x, INT32_MIN, INT32_MAX))
CAST_ROW(u8, uint8_t, whole(x, 0, UINT8_MAX))
#endif
CAST_ROW(f32, float, x)
CAST_ROW(f64, double, x)
CAST_ROW(bool, bool, x != 0)
#undef CAST_ROW

static const ebb__map_row FN(cast_rows)[EBB__N_DTYPES] = {
    [EBB_F32] = FN(cast_to_f32), [EBB_F64] = FN(cast_to_f64), [EBB_I64] = FN(cast_to_i64),
    [EBB_I32] = FN(cast_to_i32), [EBB_U8] = FN(cast_to_u8),   [EBB_BOOL] = FN(cast_to_bool)};
