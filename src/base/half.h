/* half.h - 16-bit floats: binary16 and bfloat16 to float and back, rounding to nearest even.
 *
 * Bit patterns: nothing depends on a compiler's own 16-bit types. NaN stays NaN (payloads do
 * not survive), what is too large becomes infinity, subnormals are exact.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_HALF_H
#define EBB_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline float ebb__float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
static inline uint32_t ebb__bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float ebb__f16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, magnitude = (uint32_t)(h & 0x7fffu) << 13;
    /* Exponents differ by 127 - 15 = 112; the product is exact for subnormals too. */
    uint32_t finite = ebb__bits_of_float(ebb__float_of_bits(magnitude) * 0x1p112f);
    return ebb__float_of_bits(sign |
                              ((h & 0x7c00u) == 0x7c00u ? magnitude | 0x7f800000u : finite));
}

static inline uint16_t ebb__f16_of_float(float x)
{
    uint32_t bits = ebb__bits_of_float(x), sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu, h;
    if (magnitude >= 0x47800000u) /* 65536 and above, infinity, NaN */
        h = magnitude > 0x7f800000u ? 0x7e00u : 0x7c00u;
    else if (magnitude < 0x38800000u) /* below 2^-14: 0.5f has the spacing of subnormals */
        h = ebb__bits_of_float(ebb__float_of_bits(magnitude) + 0.5f) - 0x3f000000u;
    else
        h = ((magnitude + 0xfffu + (magnitude >> 13 & 1u)) >> 13) - (112u << 10);
    return (uint16_t)(sign | h);
}

static inline float ebb__bf16_to_float(uint16_t h)
{
    return ebb__float_of_bits((uint32_t)h << 16);
}

static inline uint16_t ebb__bf16_of_float(float x)
{
    uint32_t bits = ebb__bits_of_float(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

#endif
