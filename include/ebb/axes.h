/* axes.h - which axes an operation reduces.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_AXES_H
#define EBB_AXES_H

#include <ebb/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* EBB_ALL, EBB_AXES(0, 2); EBB_KEEP(-1) keeps the reduced axes as 1. Negative axes count from
 * the end. */
typedef struct ebb_axes {
    int64_t n, axis[EBB_MAX_DIMS];
    bool all, keep;
} ebb_axes;
#ifdef __cplusplus
} /* extern "C" */
template <class... D> constexpr ebb_axes ebb__axes(bool all, bool keep, D... d)
{
    return {static_cast<int64_t>(sizeof...(d)), {static_cast<int64_t>(d)...}, all, keep};
}
#define EBB_ALL ebb__axes(true, false)
#define EBB_AXES(...) ebb__axes(false, false, __VA_ARGS__)
#define EBB_KEEP(...) ebb__axes(false, true, __VA_ARGS__)
extern "C" {
#else
#define EBB_ALL ((ebb_axes){.all = true})
#define EBB_AXES(...)                                                                          \
    ((ebb_axes){(int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                 \
                {__VA_ARGS__},                                                                 \
                false,                                                                         \
                false})
#define EBB_KEEP(...)                                                                          \
    ((ebb_axes){(int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                 \
                {__VA_ARGS__},                                                                 \
                false,                                                                         \
                true})
#endif

#ifdef __cplusplus
}
#endif

#endif
