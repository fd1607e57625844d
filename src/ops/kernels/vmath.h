/* vmath.h - elementary functions by the type of their argument.
 *
 * f64 uses libm. f32 uses libm too where no version that vectorises is at most 2 ulp off.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_VMATH_H
#define EBB_OPS_KERNELS_VMATH_H

#include <math.h>

static inline float ebb__sigmoid_f32(float x)
{
    return 1 / (1 + expf(-x));
}
static inline double ebb__sigmoid_f64(double x)
{
    return 1 / (1 + exp(-x));
}
#define EBB_SIGMOID(x) _Generic((x), float : ebb__sigmoid_f32, default : ebb__sigmoid_f64)(x)
#define EBB_EXP(x) _Generic((x), float : expf, default : exp)(x)
#define EBB_EXPM1(x) _Generic((x), float : expm1f, default : expm1)(x)
#define EBB_LOG(x) _Generic((x), float : logf, default : log)(x)
#define EBB_LOG1P(x) _Generic((x), float : log1pf, default : log1p)(x)
#define EBB_TANH(x) _Generic((x), float : tanhf, default : tanh)(x)
#define EBB_ERF(x) _Generic((x), float : erff, default : erf)(x)
#define EBB_SIN(x) _Generic((x), float : sinf, default : sin)(x)
#define EBB_COS(x) _Generic((x), float : cosf, default : cos)(x)
#define EBB_POW(x, y) _Generic((x), float : powf, default : pow)(x, y)
#define EBB_SQRT(x) _Generic((x), float : sqrtf, default : sqrt)(x)
#define EBB_FABS(x) _Generic((x), float : fabsf, default : fabs)(x)
#define EBB_FLOOR(x) _Generic((x), float : floorf, default : floor)(x)
#define EBB_CEIL(x) _Generic((x), float : ceilf, default : ceil)(x)
#define EBB_TRUNC(x) _Generic((x), float : truncf, default : trunc)(x)
#define EBB_RINT(x) _Generic((x), float : rintf, default : rint)(x)

#endif
