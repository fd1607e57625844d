/* gelu.inl - rows of gelu.c for one element type.
 * SPDX-License-Identifier: MIT */
#define HALF ((T)0.5)
#define C1 ((T)ROOT_TWO_BY_PI)
#define C3 ((T)(ROOT_TWO_BY_PI * CUBIC))

EBB_MAP_ROW1(FN(gelu_erf), T, T, HALF *x *(1 + EBB_ERF(x * (T)ROOT_HALF)))
EBB_MAP_ROW1(FN(gelu_tanh), T, T, HALF *x *(1 + EBB_TANH(U(x))))
EBB_MAP_ROW2(FN(gelu_erf_grad), T, T,
             x *(HALF *(1 + EBB_ERF(y * (T)ROOT_HALF)) + y * (T)BELL * EBB_EXP(-HALF * y * y)))
EBB_MAP_ROW2(FN(gelu_tanh_grad), T, T, x *SLOPE(y, EBB_TANH(U(y))))

#undef HALF
#undef C1
#undef C3
