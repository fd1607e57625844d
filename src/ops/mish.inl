/* mish.inl - mish and its slope for one element type.
 *
 * With e = exp(x): tanh(ln(1 + e)) = n / (n + 2) for n = e (e + 2), without cancellation. From
 * x = 20 on it is 1 in either type.
 * SPDX-License-Identifier: MIT */
static inline T FN(mish_of)(T x)
{
    const T e = EBB_EXP(x > 20 ? (T)20 : x), n = e * (e + 2);
    return x * (n / (n + 2));
}
static inline T FN(mish_slope)(T x)
{
    const T e = EBB_EXP(x > 20 ? (T)20 : x), n = e * (e + 2), under = 1 / (n + 2);
    return x > 20 ? 1 : under * (n + x * (4 * e * (e + 1) * under));
}
