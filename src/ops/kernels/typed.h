/* typed.h - includes the file EBB_TYPED twice: for float and for double.
 *
 * In it: T the element type, FN(name) the name with _f32 or _f64, and the C library's functions
 * for T. Sums that must not lose digits are made in double for both; no include guard: a file
 * may use it for several .inl files.
 * SPDX-License-Identifier: MIT */
#define T float
#define FN(name) name##_f32
#define EXP expf
#define LOG logf
#define LOG1P log1pf
#define SQRT sqrtf
#define FABS fabsf
#include EBB_TYPED
#undef T
#undef FN
#undef EXP
#undef LOG
#undef LOG1P
#undef SQRT
#undef FABS

#define T double
#define FN(name) name##_f64
#define EXP exp
#define LOG log
#define LOG1P log1p
#define SQRT sqrt
#define FABS fabs
#include EBB_TYPED
#undef T
#undef FN
#undef EXP
#undef LOG
#undef LOG1P
#undef SQRT
#undef FABS
#undef EBB_TYPED

#ifndef EBB_BY_DTYPE
/* name_f64(...) or name_f32(...), by dtype. */
#define EBB_BY_DTYPE(dtype, name, ...)                                                         \
    ((dtype) == EBB_F64 ? name##_f64(__VA_ARGS__) : name##_f32(__VA_ARGS__))
#endif
