/* tensor.h - element types, shapes, and tensors: making, reading, writing and mapping them.
 *
 * Tensors may be used, kept and released from any threads at the same time, and so may graphs be
 * recorded and walked. What changes a tensor itself (writing it, by a map or in place too,
 * ebb_set_requires_grad, ebb_retain_grad, ebb_label) is for one thread while no other uses it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TENSOR_H
#define EBB_TENSOR_H

#include <ebb/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_tensor ebb_tensor;

/* Values are pinned; new ones are added at the end. */
#define EBB_DTYPE_MAP(X)                                                                       \
    X(F32, 1, "f32", 4)                                                                        \
    X(F64, 2, "f64", 8)                                                                        \
    X(I64, 3, "i64", 8)                                                                        \
    X(I32, 4, "i32", 4)                                                                        \
    X(U8, 5, "u8", 1)                                                                          \
    X(BOOL, 6, "bool", 1)                                                                      \
    X(F16, 7, "f16", 2)                                                                        \
    X(BF16, 8, "bf16", 2)
typedef enum ebb_dtype {
#define X(name, value, text, bytes) EBB_##name = value,
    EBB_DTYPE_MAP(X)
#undef X
} ebb_dtype;
EBB_API const char *ebb_dtype_name(ebb_dtype d); /* "f32"; "?" for anything else */
EBB_API size_t ebb_dtype_bytes(ebb_dtype d);     /* of one element; 0 for anything else */

enum { EBB_MAX_DIMS = 8 };
/* What ebb_dim says of NULL. Stays negative through / and *; a shape with it is NULL's
 * consequence, not a new failure. */
#define EBB_DIM_NONE (-(INT64_C(1) << 40))
typedef struct ebb_shape {
    int64_t n_dims, dims[EBB_MAX_DIMS];
} ebb_shape;

#ifdef __cplusplus
} /* extern "C" */
template <class... D> constexpr ebb_shape ebb__shape(D... d)
{
    return {static_cast<int64_t>(sizeof...(d)), {static_cast<int64_t>(d)...}};
}
#define EBB_SHAPE(...) ebb__shape(__VA_ARGS__)
#define EBB_SCALAR ebb__shape()
constexpr ebb_dtype ebb__dtype(const float *)
{
    return EBB_F32;
}
constexpr ebb_dtype ebb__dtype(const double *)
{
    return EBB_F64;
}
constexpr ebb_dtype ebb__dtype(const int *)
{
    return EBB_I32;
}
constexpr ebb_dtype ebb__dtype(const long *)
{
    return sizeof(long) == 8 ? EBB_I64 : EBB_I32;
}
constexpr ebb_dtype ebb__dtype(const long long *)
{
    return EBB_I64;
}
constexpr ebb_dtype ebb__dtype(const unsigned char *)
{
    return EBB_U8;
}
constexpr ebb_dtype ebb__dtype(const bool *)
{
    return EBB_BOOL;
}
#define EBB_DTYPE_OF(p) ebb__dtype(p)
extern "C" {
#else
#define EBB_SHAPE(...)                                                                         \
    ((ebb_shape){(int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#define EBB_SCALAR ((ebb_shape){0})
#define EBB_DTYPE_OF(p)                                                                        \
    _Generic(*(p), float                                                                       \
             : EBB_F32, double                                                                 \
             : EBB_F64, int                                                                    \
             : EBB_I32, long                                                                   \
             : sizeof(long) == 8 ? EBB_I64 : EBB_I32, long long                                \
             : EBB_I64, unsigned char                                                          \
             : EBB_U8, bool                                                                    \
             : EBB_BOOL)
#endif

/* A shape whose rank is known at run time; n_dims > 8 makes every user of it fail with E_SHAPE.
 */
EBB_API ebb_shape ebb_shape_of(const int64_t *dims, int64_t n_dims);

/* "Absent", where an input is optional; never NULL (NULL always means: an earlier call failed).
 */
EBB_API extern ebb_tensor *const EBB_NONE;

/* Results belong to the innermost open scope of the thread, as those of operations do. Data is
 * in C order, contiguous. Errors: E_MISUSE no open scope, NULL; E_SHAPE a negative dimension, a
 * size that overflows or that is not data_bytes; E_DTYPE; E_BUDGET; E_NOMEM. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_tensor_copy(ebb_context *ctx, ebb_dtype d, ebb_shape s,
                                                  const void *data, size_t data_bytes);
/* On the user's memory, which must stay valid until done(user) is called: when no tensor, graph
 * or recipe needs the bytes any more (at once, on failure). done may be NULL. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_tensor_adopt(ebb_context *ctx, ebb_dtype d, ebb_shape s,
                                                   void *data, size_t data_bytes,
                                                   void (*done)(void *user), void *user);
#define EBB_FROM(ctx, shape, ptr, n)                                                           \
    ebb_tensor_copy(ctx, EBB_DTYPE_OF(ptr), shape, ptr, (size_t)(n) * sizeof *(ptr))
#define EBB_VALUES(ctx, type, shape, ...) /* C only */                                         \
    ebb_tensor_copy(ctx, EBB_DTYPE_OF((const type *)0), shape, (const type[]){__VA_ARGS__},    \
                    sizeof((const type[]){__VA_ARGS__}))

EBB_API ebb_dtype ebb_dtype_of(const ebb_tensor *t);
/* NULL or a stale handle: EBB_DIM_NONE. axis counts from the end where negative; out of range:
 * EBB_DIM_NONE and a record. */
EBB_API int64_t ebb_rank(const ebb_tensor *t);
EBB_API int64_t ebb_dim(const ebb_tensor *t, int64_t axis);
EBB_API int64_t ebb_n_elems(const ebb_tensor *t);
EBB_API ebb_shape ebb_shape_get(const ebb_tensor *t);
/* Of the elements, and of the storage that the tensor keeps alive. */
EBB_API size_t ebb_n_bytes(const ebb_tensor *t);
EBB_API size_t ebb_storage_bytes(const ebb_tensor *t);
/* One element as a number; NaN and a record on failure. */
EBB_API double ebb_item(ebb_tensor *t);
/* EBB_OK, or the pending failure where t is NULL, or E_MISUSE where it is stale. */
EBB_API EBB_NODISCARD ebb_status ebb_check(const ebb_tensor *t);

/* Makes an untracked floating tensor a leaf, and back. Errors: E_DTYPE; E_GRAPH on an
 * interior tensor; E_NOMEM. */
EBB_API EBB_NODISCARD ebb_status ebb_set_requires_grad(ebb_tensor *t, bool on);
/* True for leaves and for what was computed from them while recording. */
EBB_API bool ebb_requires_grad(const ebb_tensor *t);

/* Copies all elements in C order, converted to `as`; out_bytes must be exactly their size. */
EBB_API EBB_NODISCARD ebb_status ebb_read(void *out, size_t out_bytes, ebb_dtype as,
                                          ebb_tensor *t);
/* Replaces all elements; bumps the storage's version. Allowed on leaves and untracked tensors;
 * E_GRAPH on an interior tracked one. */
EBB_API EBB_NODISCARD ebb_status ebb_write(ebb_tensor *t, ebb_dtype as, const void *data,
                                           size_t data_bytes);
#define EBB_READ(t, ptr, n) ebb_read(ptr, (size_t)(n) * sizeof *(ptr), EBB_DTYPE_OF(ptr), t)
#define EBB_WRITE(t, ptr, n) ebb_write(t, EBB_DTYPE_OF(ptr), ptr, (size_t)(n) * sizeof *(ptr))

/* strides in elements; data points at the first element. */
typedef struct ebb_view {
    void *data;
    ebb_dtype dtype;
    ebb_shape shape;
    int64_t strides[EBB_MAX_DIMS];
} ebb_view;
enum { EBB_MAP_READ = 1, EBB_MAP_WRITE = 2 };
/* The bytes stay where they are until ebb_unmap or until the handle goes. Mapping for writing
 * is a write. Maps nest; each wants its ebb_unmap. */
EBB_API EBB_NODISCARD ebb_status ebb_map(ebb_view *out, ebb_tensor *t, uint32_t access);
EBB_API void ebb_unmap(ebb_tensor *t);

#ifdef __cplusplus
}
#endif

#endif
