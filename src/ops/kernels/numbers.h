/* numbers.h - includes the file EBB_TYPED once per dtype: T the element type, A what it is
 * summed in (double or int64_t), FN(name) the name with the dtype's. no include guard: it is
 * used several times.
 * SPDX-License-Identifier: MIT */
#define T float
#define A double
#define FN(name) name##_f32
#define IS_FLOAT 1
#include EBB_TYPED
#undef T
#undef FN

#define T double
#define FN(name) name##_f64
#include EBB_TYPED
#undef T
#undef A
#undef FN
#undef IS_FLOAT

#define A int64_t
#define IS_FLOAT 0
#define T int64_t
#define FN(name) name##_i64
#include EBB_TYPED
#undef T
#undef FN

#define T int32_t
#define FN(name) name##_i32
#include EBB_TYPED
#undef T
#undef FN

#define T uint8_t
#define FN(name) name##_u8
#include EBB_TYPED
#undef T
#undef FN

#define T bool
#define FN(name) name##_bool
#include EBB_TYPED
#undef T
#undef FN
#undef A
#undef IS_FLOAT
#undef EBB_TYPED
