/* map.h - elementwise kernels: a loop over one row per element type, walked over strided views.
 *
 * EBB_MAPn(name, dtypes, expr) makes name, an ebb_op.forward that computes
 *     out = expr          of x, y, z (the inputs' elements) and a, b (two parameters)
 * for each of the dtypes. The walk merges dimensions, takes rows in C order of the output
 * (which is contiguous) and cuts large work into one piece per thread.
 *
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_MAP_H
#define EBB_OPS_KERNELS_MAP_H

#include "op/op.h"
#include "ops/kernels/clones.h"

enum { EBB__N_DTYPES = EBB_BOOL + 1, EBB__MAP_MAX_IN = 3 };

/* n elements: out[i] from in[j][i * step[j]]; p points at two parameters. */
typedef void (*ebb__map_row)(void *out, const void *const *in, const int64_t *step, int64_t n,
                             const double *p);

/* out[0] from all inputs (at most EBB__MAP_MAX_IN), by one row function. p NULL: zeros. */
ebb_status ebb__map(const ebb__call *c, ebb__map_row row, const double *p);

#define EBB_MAP_BEGIN(name, R)                                                                 \
    EBB_CLONES static void name(void *out_, const void *const *in, const int64_t *step,        \
                                int64_t n, const double *p)                                    \
    {                                                                                          \
        R *out = out_;                                                                         \
        (void)p;
/* A number as T; whole negative ones wrap in unsigned types. */
#define EBB_PARAMETER(T, v)                                                                    \
    _Generic((T)0, uint64_t                                                                    \
             : (uint64_t)(int64_t)(v), uint32_t                                                \
             : (uint32_t)(int64_t)(v), default                                                 \
             : (T)(v))
#define EBB_MAP_PARAMETERS(T)                                                                  \
    const T a = EBB_PARAMETER(T, p[0]), b = EBB_PARAMETER(T, p[1]);                            \
    (void)a;                                                                                   \
    (void)b;

/* The unit-stride case is a loop of its own: that is the one which vectorises. */
#define EBB_MAP_ROW1(name, T, R, expr)                                                         \
    EBB_MAP_BEGIN(name, R)                                                                     \
    EBB_MAP_PARAMETERS(T)                                                                      \
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

#define EBB_MAP_ROW2(name, T, R, expr) EBB_MAP_ROW_XY(name, T, T, R, expr)
/* X and Y: the inputs' element types; parameters are of the first. */
#define EBB_MAP_ROW_XY(name, X, Y, R, expr)                                                    \
    EBB_MAP_BEGIN(name, R)                                                                     \
    EBB_MAP_PARAMETERS(X)                                                                      \
    const X *xs = in[0];                                                                       \
    const Y *ys = in[1];                                                                       \
    const int64_t sx = step[0], sy = step[1];                                                  \
    if (sx == 1 && sy == 1) {                                                                  \
        EBB_IVDEP                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const X x = xs[i];                                                                 \
            const Y y = ys[i];                                                                 \
            out[i] = (R)(expr);                                                                \
        }                                                                                      \
    } else if (sx == 1 && sy == 0) {                                                           \
        const Y y = *ys;                                                                       \
        EBB_IVDEP                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const X x = xs[i];                                                                 \
            out[i] = (R)(expr);                                                                \
        }                                                                                      \
    } else if (sx == 0 && sy == 1) {                                                           \
        const X x = *xs;                                                                       \
        EBB_IVDEP                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const Y y = ys[i];                                                                 \
            out[i] = (R)(expr);                                                                \
        }                                                                                      \
    } else {                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const X x = xs[i * sx];                                                            \
            const Y y = ys[i * sy];                                                            \
            out[i] = (R)(expr);                                                                \
        }                                                                                      \
    }                                                                                          \
    }

/* X, Y, Z: the inputs' element types. */
#define EBB_MAP_ROW3(name, X, Y, Z, R, expr)                                                   \
    EBB_MAP_BEGIN(name, R)                                                                     \
    const X *xs = in[0];                                                                       \
    const Y *ys = in[1];                                                                       \
    const Z *zs = in[2];                                                                       \
    const int64_t sx = step[0], sy = step[1], sz = step[2];                                    \
    if (sx == 1 && sy == 1 && sz == 1) {                                                       \
        EBB_IVDEP                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const X x = xs[i];                                                                 \
            const Y y = ys[i];                                                                 \
            const Z z = zs[i];                                                                 \
            out[i] = (R)(expr);                                                                \
        }                                                                                      \
        return;                                                                                \
    }                                                                                          \
    for (int64_t i = 0; i < n; i++) {                                                          \
        const X x = xs[i * sx];                                                                \
        const Y y = ys[i * sy];                                                                \
        const Z z = zs[i * sz];                                                                \
        out[i] = (R)(expr);                                                                    \
    }                                                                                          \
    }

/* Row functions by dtype; R(T) is the result's type: EBB_SAME or EBB_TRUTH. */
#define EBB_SAME(T) T
#define EBB_TRUTH(T) bool
#define EBB_ROWS_FLOAT(n, name, R, expr)                                                       \
    EBB_MAP_ROW##n(name##_f32, float, R(float), expr)                                          \
        EBB_MAP_ROW##n(name##_f64, double, R(double), expr)
/* Three inputs of one dtype, f32 or f64, with the forward. */
#define EBB_MAP3(name, expr)                                                                   \
    EBB_MAP_ROW3(name##_f32, float, float, float, float, expr)                                 \
    EBB_MAP_ROW3(name##_f64, double, double, double, double, expr)                             \
    static const ebb__map_row name##_rows[EBB__N_DTYPES] = {EBB_TABLE_FLOAT(name)};            \
    EBB_MAP_FORWARD(name)
#define EBB_ROWS_NUMBER(n, name, R, expr)                                                      \
    EBB_ROWS_FLOAT(n, name, R, expr)                                                           \
    EBB_MAP_ROW##n(name##_i64, int64_t, R(int64_t), expr)                                      \
        EBB_MAP_ROW##n(name##_i32, int32_t, R(int32_t), expr)                                  \
            EBB_MAP_ROW##n(name##_u8, uint8_t, R(uint8_t), expr)
/* The same for sums and products, whose overflow wraps: on the unsigned twin of a signed type.
 */
#define EBB_ROWS_WRAPPING(n, name, R, expr)                                                    \
    EBB_ROWS_FLOAT(n, name, R, expr)                                                           \
    EBB_MAP_ROW##n(name##_i64, uint64_t, R(uint64_t), expr)                                    \
        EBB_MAP_ROW##n(name##_i32, uint32_t, R(uint32_t), expr)                                \
            EBB_MAP_ROW##n(name##_u8, uint8_t, R(uint8_t), expr)
#define EBB_ROWS_ANY(n, name, R, expr)                                                         \
    EBB_ROWS_NUMBER(n, name, R, expr)                                                          \
    EBB_MAP_ROW##n(name##_bool, bool, R(bool), expr)

#define EBB_TABLE_FLOAT(name) [EBB_F32] = name##_f32, [EBB_F64] = name##_f64
#define EBB_TABLE_NUMBER(name)                                                                 \
    EBB_TABLE_FLOAT(name), [EBB_I64] = name##_i64, [EBB_I32] = name##_i32, [EBB_U8] = name##_u8
#define EBB_TABLE_WRAPPING EBB_TABLE_NUMBER
#define EBB_TABLE_ANY(name) EBB_TABLE_NUMBER(name), [EBB_BOOL] = name##_bool

#define EBB_ROWS_INTEGER(n, name, R, expr)                                                     \
    EBB_MAP_ROW##n(name##_i64, int64_t, R(int64_t), expr)                                      \
        EBB_MAP_ROW##n(name##_i32, int32_t, R(int32_t), expr)                                  \
            EBB_MAP_ROW##n(name##_u8, uint8_t, R(uint8_t), expr)
#define EBB_ROWS_BITS(n, name, R, expr)                                                        \
    EBB_ROWS_INTEGER(n, name, R, expr)                                                         \
    EBB_MAP_ROW##n(name##_bool, bool, R(bool), expr)
#define EBB_TABLE_INTEGER(name)                                                                \
    [EBB_I64] = name##_i64, [EBB_I32] = name##_i32, [EBB_U8] = name##_u8
#define EBB_TABLE_BITS(name) EBB_TABLE_INTEGER(name), [EBB_BOOL] = name##_bool

/* dtypes: FLOAT, NUMBER, WRAPPING (as NUMBER), INTEGER, BITS (INTEGER and bool) or ANY. The forward chooses by the dtype of the
 * first input. */
#define EBB_MAP_ROWS(n, name, dtypes, R, expr)                                                 \
    EBB_ROWS_##dtypes(n, name, R,                                                              \
                      expr) static const ebb__map_row name##_rows[EBB__N_DTYPES] = {           \
        EBB_TABLE_##dtypes(name)};
#define EBB_MAP_FORWARD(name)                                                                  \
    static ebb_status name##_forward(const ebb__call *c)                                       \
    {                                                                                          \
        return ebb__map(c, name##_rows[c->in[0].dtype], NULL);                                 \
    }
#define EBB_MAP1(name, dtypes, expr)                                                           \
    EBB_MAP_ROWS(1, name, dtypes, EBB_SAME, expr) EBB_MAP_FORWARD(name)
#define EBB_MAP2(name, dtypes, expr)                                                           \
    EBB_MAP_ROWS(2, name, dtypes, EBB_SAME, expr) EBB_MAP_FORWARD(name)

/* For calls into the C library, which no loop vectorises: one version for any steps. */
#define EBB_PLAIN_ROW1(name, T, expr)                                                          \
    static void name(void *out_, const void *const *in, const int64_t *step, int64_t n,        \
                     const double *p)                                                          \
    {                                                                                          \
        T *out = out_;                                                                         \
        const T *xs = in[0];                                                                   \
        EBB_MAP_PARAMETERS(T)                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T x = xs[i * step[0]];                                                       \
            out[i] = (T)(expr);                                                                \
        }                                                                                      \
    }
#define EBB_PLAIN_ROW2(name, T, expr)                                                          \
    static void name(void *out_, const void *const *in, const int64_t *step, int64_t n,        \
                     const double *p)                                                          \
    {                                                                                          \
        T *out = out_;                                                                         \
        const T *xs = in[0], *ys = in[1];                                                      \
        EBB_MAP_PARAMETERS(T)                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                      \
            const T x = xs[i * step[0]], y = ys[i * step[1]];                                  \
            out[i] = (T)(expr);                                                                \
        }                                                                                      \
    }
#define EBB_PLAIN_ROWS(n, name, expr)                                                          \
    EBB_PLAIN_ROW##n(name##_f32, float, expr) EBB_PLAIN_ROW##n(                                \
        name##_f64, double,                                                                    \
        expr) static const ebb__map_row name##_rows[EBB__N_DTYPES] = {EBB_TABLE_FLOAT(name)};
#define EBB_PLAIN1(name, expr) EBB_PLAIN_ROWS(1, name, expr) EBB_MAP_FORWARD(name)
#define EBB_PLAIN2(name, expr) EBB_PLAIN_ROWS(2, name, expr) EBB_MAP_FORWARD(name)
/* Results are bool. */
#define EBB_TEST1(name, dtypes, expr)                                                          \
    EBB_MAP_ROWS(1, name, dtypes, EBB_TRUTH, expr) EBB_MAP_FORWARD(name)
#define EBB_TEST2(name, dtypes, expr)                                                          \
    EBB_MAP_ROWS(2, name, dtypes, EBB_TRUTH, expr) EBB_MAP_FORWARD(name)

#endif
