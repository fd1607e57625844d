/* test_vmath.c - f32 functions against libm's f64 over all magnitudes: at most 2 ulp.
 *
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/vmath.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static double softplus(double x)
{
    return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

typedef struct function {
    const char *name;
    float (*f32)(float);
    double (*f64)(double);
} function;

/* In units of the last place of the f32 nearest to want, the denormals' at the bottom. */
static double ulps(float got, double want)
{
    int exponent;
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got) ? 0 : INFINITY;
    if (isinf((float)want) || isinf(got)) return (float)want == got ? 0 : INFINITY;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1, (exponent < -125 ? -125 : exponent) - 24);
}

static const function functions[] = {
    {"exp", ebb__exp_f32, exp},    {"expm1", ebb__expm1_f32, expm1},
    {"log", ebb__log_f32, log},    {"log1p", ebb__log1p_f32, log1p},
    {"tanh", ebb__tanh_f32, tanh}, {"sigmoid", ebb__sigmoid_f32, sigmoid},
    {"erf", ebb__erf_f32, erf},    {"softplus", ebb__softplus_f32, softplus},
};
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* Every 4,999th of the 2^32 bit patterns: both signs, all exponents, NaNs. */
static void within_two_ulp(void **state)
{
    (void)state;
    for (int k = 0; k < N_FUNCTIONS; k++) {
        for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 4999) {
            float x = ebb__of_bits((int32_t)(uint32_t)bits);
            double off = ulps(functions[k].f32(x), functions[k].f64((double)x));
            if (off > 2)
                fail_msg("%s(%.9g) is %.9g, %.9g expected: %.2f ulp", functions[k].name,
                         (double)x, (double)functions[k].f32(x), functions[k].f64((double)x),
                         off);
        }
    }
}

static void special_values(void **state)
{
    (void)state;
    const float x[] = {0,       -0.0f,           INFINITY, -INFINITY, NAN,      1e-45f,
                       -1e-45f, 1.17549435e-38f, -1,       1,         88.7f,    88.73f,
                       -87.4f,  -103.9f,         -104.1f,  3.4e38f,   -3.4e38f, 0.625f};
    for (int k = 0; k < N_FUNCTIONS; k++)
        for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
            double off = ulps(functions[k].f32(x[i]), functions[k].f64((double)x[i]));
            if (off > 2)
                fail_msg("%s(%g) is %g, %g expected", functions[k].name, (double)x[i],
                         (double)functions[k].f32(x[i]), functions[k].f64((double)x[i]));
        }
    assert_true(signbit(ebb__tanh_f32(-0.0f)));
    assert_true(signbit(ebb__erf_f32(-0.0f)));
    assert_true(signbit(ebb__expm1_f32(-0.0f)));
    assert_true(signbit(ebb__log1p_f32(-0.0f)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(within_two_ulp),
        cmocka_unit_test(special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
