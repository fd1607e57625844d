/* test_values.c - what elementwise operations compute, against the C library in twice the
 * precision: all kinds of floats (NaN, infinities, zeros, denormals), f32 and f64, vector loops
 * included.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include <stdint.h>

typedef long double wide;

static wide f_sign(wide x)
{
    return isnan(x) ? x : (wide)((x > 0) - (x < 0));
}
static wide f_square(wide x)
{
    return x * x;
}
static wide f_rsqrt(wide x)
{
    return 1 / sqrtl(x);
}
static wide f_reciprocal(wide x)
{
    return 1 / x;
}
static wide f_neg(wide x)
{
    return -x;
}
static wide f_relu(wide x)
{
    return x > 0 || isnan(x) ? x : 0;
}
static wide f_sigmoid(wide x)
{
    return 1 / (1 + expl(-x));
}
static wide f_silu(wide x)
{
    return x / (1 + expl(-x)); /* NaN at -infinity, as in PyTorch */
}
static wide f_softplus(wide x)
{
    return isnan(x) ? x : fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}
static wide f_logsigmoid(wide x)
{
    return -f_softplus(-x);
}
static wide f_leaky_relu(wide x)
{
    return x > 0 ? x : 0.01L * x;
}
static wide f_elu(wide x)
{
    return x > 0 ? x : expm1l(x);
}
static wide f_gelu(wide x)
{
    return x * erfcl(-x / sqrtl(2)) / 2;
}
static wide f_tanh_gelu(wide x)
{
    return x / (1 + expl(-2 * sqrtl(2 / M_PIl) * (x + 0.044715L * x * x * x)));
}

static wide f_frac(wide x)
{
    return x - truncl(x);
}
static wide f_relu6(wide x)
{
    return x <= 0 ? 0 : x >= 6 ? 6 : x;
}
static wide f_hardtanh(wide x)
{
    return x <= -1 ? -1 : x >= 1 ? 1 : x;
}
static wide f_hardsigmoid(wide x)
{
    return x <= -3 ? 0 : x >= 3 ? 1 : (x + 3) / 6;
}
static wide f_hardswish(wide x)
{
    return x <= -3 ? 0 : x * f_hardsigmoid(x);
}
static wide f_selu(wide x)
{
    return 1.0507009873554804934193349852946L *
           (x > 0 ? x : 1.6732632423543772848170429916717L * expm1l(x));
}
static wide f_celu(wide x)
{
    return x > 0 ? x : 2 * expm1l(x / 2);
}
static wide f_mish(wide x)
{
    wide e = expl(x < 200 ? x : 200);
    return x * (e * (e + 2) / (e * (e + 2) + 2)); /* NaN at -infinity, as in PyTorch */
}
static wide f_lgamma(wide x)
{
    return lgammal(x);
}

static ebb_tensor *do_hardtanh(ebb_tensor *x)
{
    return ebb_hardtanh(x, NULL);
}
static ebb_tensor *do_celu(ebb_tensor *x)
{
    return ebb_celu(x, &(ebb_celu_options){.alpha = 2});
}
static ebb_tensor *do_leaky_relu(ebb_tensor *x)
{
    return ebb_leaky_relu(x, NULL);
}
static ebb_tensor *do_elu(ebb_tensor *x)
{
    return ebb_elu(x, NULL);
}
static ebb_tensor *do_softplus(ebb_tensor *x)
{
    return ebb_softplus(x, NULL);
}
static ebb_tensor *do_gelu(ebb_tensor *x)
{
    return ebb_gelu(x, NULL);
}
static ebb_tensor *do_tanh_gelu(ebb_tensor *x)
{
    return ebb_gelu(x, &(ebb_gelu_options){.tanh_approximation = true});
}

/* ulp: allowed error in units of the result's last place; slack: besides, relative to x (where
 * the formula's own terms cancel). below: |x| up to which that is promised. */
typedef struct function {
    const char *name;
    ebb_tensor *(*run)(ebb_tensor *x);
    wide (*want)(wide x);
    double ulp, slack, below;
    bool product; /* of x and a factor that is a denormal far out */
} function;

static const function functions[] = {
    {"neg", (ebb_neg), f_neg, 0, 0, INFINITY, false},
    {"abs", (ebb_abs), fabsl, 0, 0, INFINITY, false},
    {"sign", (ebb_sign), f_sign, 0, 0, INFINITY, false},
    {"square", (ebb_square), f_square, 0.5, 0, INFINITY, false},
    {"reciprocal", (ebb_reciprocal), f_reciprocal, 0.5, 0, INFINITY, false},
    {"sqrt", (ebb_sqrt), sqrtl, 0.5, 0, INFINITY, false},
    {"rsqrt", (ebb_rsqrt), f_rsqrt, 2, 0, INFINITY, false},
    {"exp", (ebb_exp), expl, 2, 0, INFINITY, false},
    {"expm1", (ebb_expm1), expm1l, 2, 0, INFINITY, false},
    {"log", (ebb_log), logl, 2, 0, INFINITY, false},
    {"log1p", (ebb_log1p), log1pl, 2, 0, INFINITY, false},
    {"sin", (ebb_sin), sinl, 2, 0, 1e5, false},
    {"cos", (ebb_cos), cosl, 2, 0, 1e5, false},
    {"erf", (ebb_erf), erfl, 2, 0, INFINITY, false},
    {"floor", (ebb_floor), floorl, 0, 0, INFINITY, false},
    {"ceil", (ebb_ceil), ceill, 0, 0, INFINITY, false},
    {"round", (ebb_round), rintl, 0, 0, INFINITY, false},
    {"trunc", (ebb_trunc), truncl, 0, 0, INFINITY, false},
    {"relu", (ebb_relu), f_relu, 0, 0, INFINITY, false},
    {"tanh", (ebb_tanh), tanhl, 2, 0, INFINITY, false},
    {"sigmoid", (ebb_sigmoid), f_sigmoid, 4, 0, INFINITY, false},
    {"silu", (ebb_silu), f_silu, 4, 0, INFINITY, true},
    {"logsigmoid", (ebb_logsigmoid), f_logsigmoid, 4, 0, INFINITY, false},
    {"softplus", do_softplus, f_softplus, 4, 0, INFINITY, false},
    {"leaky_relu", do_leaky_relu, f_leaky_relu, 1, 0, INFINITY, false},
    {"elu", do_elu, f_elu, 2, 0, INFINITY, false},
    {"exp2", (ebb_exp2), exp2l, 2, 0, INFINITY, false},
    {"log2", (ebb_log2), log2l, 2.5, 0, INFINITY, false},
    {"log10", (ebb_log10), log10l, 2, 0, INFINITY, false},
    {"tan", (ebb_tan), tanl, 2, 0, 1e5, false},
    {"asin", (ebb_asin), asinl, 2, 0, INFINITY, false},
    {"acos", (ebb_acos), acosl, 2, 0, INFINITY, false},
    {"atan", (ebb_atan), atanl, 2, 0, INFINITY, false},
    {"sinh", (ebb_sinh), sinhl, 2, 0, INFINITY, false},
    {"cosh", (ebb_cosh), coshl, 2, 0, INFINITY, false},
    {"asinh", (ebb_asinh), asinhl, 2, 0, INFINITY, false},
    {"acosh", (ebb_acosh), acoshl, 2, 0, INFINITY, false},
    {"atanh", (ebb_atanh), atanhl, 2, 0, INFINITY, false},
    {"erfc", (ebb_erfc), erfcl, 4, 0, INFINITY, false},
    {"lgamma", (ebb_lgamma), f_lgamma, 8, 0, INFINITY, false},
    {"frac", (ebb_frac), f_frac, 0, 0, INFINITY, false},
    {"relu6", (ebb_relu6), f_relu6, 0, 0, INFINITY, false},
    {"hardtanh", do_hardtanh, f_hardtanh, 0, 0, INFINITY, false},
    {"hardsigmoid", (ebb_hardsigmoid), f_hardsigmoid, 1, 0.2, INFINITY, false},
    {"hardswish", (ebb_hardswish), f_hardswish, 2, 0.2, INFINITY, false},
    {"selu", (ebb_selu), f_selu, 3, 0, INFINITY, false},
    {"celu", do_celu, f_celu, 2, 0, INFINITY, false},
    {"mish", (ebb_mish), f_mish, 4, 0, INFINITY, true},
    {"gelu", do_gelu, f_gelu, 4, 0.5, INFINITY, false},
    {"gelu, tanh", do_tanh_gelu, f_tanh_gelu, 8, 0.5, 1e6, false},
};

/* The distance between floats next to x: 2^-23 or 2^-52 relative, no less than the denormals'.
 */
static double last_place(double x, bool f32)
{
    int exponent;
    frexp(x, &exponent);
    int at = exponent - (f32 ? 24 : 53), least = f32 ? -149 : -1074;
    return ldexp(1, at > least ? at : least);
}

static bool close_enough(double got, wide want, double x, const function *f, bool f32)
{
    if (isnan(want)) return isnan(got);
    double rounded = f32 ? (float)want : (double)want;
    if (got == rounded) return true;
    double place = last_place(rounded, f32);
    if (isinf(rounded) || isinf(got)) /* next to overflow */
        return f->ulp > 0 &&
               fabs(isinf(rounded) ? got : rounded) > (f32 ? 3.4028e38 : 1.7976e308);
    double slack = f->slack * last_place(1, f32) * fabs(x);
    if (f->product) slack += fabs(x) * last_place(0, f32);
    return fabsl(got - want) <= f->ulp * place * 1.0001 + slack;
}

/* The number of wrong values; tells the first. */
static int64_t wrong_values(ebb_context *ctx, const function *f, const double *x, int64_t n,
                            bool f32)
{
    EBB_SCOPE(scope);
    double *y = malloc((size_t)n * sizeof *y);
    assert_non_null(y);
    ebb_tensor *in = ebb_tensor_copy(ctx, EBB_F64, EBB_SHAPE(n), x, (size_t)n * sizeof *x);
    if (f32) in = ebb_cast(in, EBB_F32);
    GOOD(ebb_read(y, (size_t)n * sizeof *y, EBB_F64, f->run(in)));
    int64_t n_wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        if (fabs(x[i]) > f->below && isfinite(x[i])) continue;
        wide want = f->want(x[i]);
        if (close_enough(y[i], want, x[i], f, f32) || n_wrong++ > 0) continue;
        print_message("%s(%a = %.9g) in %s is %.17g, %.17Lg expected\n", f->name, x[i], x[i],
                      f32 ? "f32" : "f64", y[i], want);
    }
    free(y);
    return n_wrong;
}

/* Floats of all sizes and signs, evenly over their bits. */
static double *all_kinds_of_floats(int64_t *n)
{
    uint32_t step = getenv("EBB_TEST_SHORT") ? 1000003 : 20011;
    double *x = malloc((UINT32_MAX / step + 64) * sizeof *x);
    const float special[] = {
        0.0, -0.0, INFINITY, -INFINITY, NAN,      1,       -1,    0.5,    -0.5,    1.5,
        2.5, -2.5, 0x1p-149, -0x1p-149, 0x1p-126, 88.7228, 88.73, -87.34, -103.97, -104};
    assert_non_null(x);
    *n = 0;
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) x[(*n)++] = special[i];
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += step) {
        uint32_t b = (uint32_t)bits;
        float v;
        memcpy(&v, &b, sizeof v);
        x[(*n)++] = v;
    }
    return x;
}

static void functions_of_one_variable_are_right_to_the_last_places(void **state)
{
    int64_t n, n_wrong = 0;
    double *x = all_kinds_of_floats(&n);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        n_wrong += wrong_values(*state, &functions[i], x, n, true);
        n_wrong += wrong_values(*state, &functions[i], x, n, false);
    }
    free(x);
    assert_int_equal(n_wrong, 0);
}

/* ---- two variables ----------------------------------------------------------------------- */
static double g_add(double x, double y)
{
    return x + y;
}
static double g_sub(double x, double y)
{
    return x - y;
}
static double g_mul(double x, double y)
{
    return x * y;
}
static double g_div(double x, double y)
{
    return x / y;
}
static double g_maximum(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x > y ? x : y;
}
static double g_minimum(double x, double y)
{
    return isnan(x) || isnan(y) ? NAN : x < y ? x : y;
}
static double g_eq(double x, double y)
{
    return x == y;
}
static double g_ne(double x, double y)
{
    return x != y;
}
static double g_lt(double x, double y)
{
    return x < y;
}
static double g_le(double x, double y)
{
    return x <= y;
}
static double g_gt(double x, double y)
{
    return x > y;
}
static double g_ge(double x, double y)
{
    return x >= y;
}
static double g_and(double x, double y)
{
    return x != 0 && y != 0;
}
static double g_or(double x, double y)
{
    return x != 0 || y != 0;
}

static double g_xor(double x, double y)
{
    return (x != 0) != (y != 0);
}
static double g_logaddexp(double x, double y)
{
    if (isnan(x) || isnan(y)) return NAN;
    return x == y && isinf(x) ? x : (double)(fmaxl(x, y) + log1pl(expl(-fabsl((wide)x - y))));
}
static double g_xlogy(double x, double y)
{
    return x == 0 && !isnan(y) ? 0 : x * log(y);
}
static double g_remainder(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static const struct {
    const char *name;
    ebb_tensor *(*run)(ebb_tensor *x, ebb_tensor *y);
    double (*want)(double x, double y);
    bool exact;    /* also in i64 */
    double places; /* allowed error, in last places */
} pairs[] = {
    {"add", (ebb_add), g_add, true, 0},
    {"sub", (ebb_sub), g_sub, true, 0},
    {"mul", (ebb_mul), g_mul, true, 0},
    {"div", (ebb_div), g_div, false, 0},
    {"pow", (ebb_pow), pow, false, 2},
    {"maximum", (ebb_maximum), g_maximum, true, 0},
    {"minimum", (ebb_minimum), g_minimum, true, 0},
    {"eq", (ebb_eq), g_eq, true, 0},
    {"ne", (ebb_ne), g_ne, true, 0},
    {"lt", (ebb_lt), g_lt, true, 0},
    {"le", (ebb_le), g_le, true, 0},
    {"gt", (ebb_gt), g_gt, true, 0},
    {"ge", (ebb_ge), g_ge, true, 0},
    {"logical_and", (ebb_logical_and), g_and, true, 0},
    {"logical_or", (ebb_logical_or), g_or, true, 0},
    {"logical_xor", (ebb_logical_xor), g_xor, true, 0},
    {"hypot", (ebb_hypot), hypot, false, 1},
    {"atan2", (ebb_atan2), atan2, false, 2},
    {"logaddexp", (ebb_logaddexp), g_logaddexp, false, 3},
    {"xlogy", (ebb_xlogy), g_xlogy, false, 3},
    {"fmod", (ebb_fmod), fmod, false, 0},
    {"remainder", (ebb_remainder), g_remainder, false, 0},
};

/* x down, y across: every pair, broadcast. */
static void check_pairs(ebb_context *ctx, ebb_dtype d, const double *v, int64_t n)
{
    EBB_SCOPE(scope);
    double *z = malloc((size_t)(n * n) * sizeof *z);
    assert_non_null(z);
    ebb_tensor *flat =
        ebb_cast(ebb_tensor_copy(ctx, EBB_F64, EBB_SHAPE(n), v, (size_t)n * sizeof *v), d);
    ebb_tensor *x = ebb_reshape(flat, EBB_SHAPE(n, 1));
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        if (d == EBB_I64 && !pairs[p].exact) continue;
        GOOD(ebb_read(z, (size_t)(n * n) * sizeof *z, EBB_F64, pairs[p].run(x, flat)));
        for (int64_t i = 0; i < n * n; i++) {
            double a = v[i / n], b = v[i % n], want = pairs[p].want(a, b);
            if (d == EBB_F32) want = (float)want;
            double allowed = pairs[p].places * last_place(want, d == EBB_F32);
            if (z[i] == want || (isnan(z[i]) && isnan(want))) continue;
            if (!(fabs(z[i] - want) <= allowed))
                fail_msg("%s(%g, %g) in %s is %.17g, %.17g expected", pairs[p].name, a, b,
                         ebb_dtype_name(d), z[i], want);
        }
    }
    free(z);
}

static void functions_of_two_variables(void **state)
{
    const double floats[] = {0.0,  -0.0, 1,        -1,        0.5, 2,      3,
                             -2.5, 10,   INFINITY, -INFINITY, NAN, 0x1p-20};
    const double whole[] = {0, 1, -1, 2, -7, 1000000007, 3};
    check_pairs(*state, EBB_F64, floats, sizeof floats / sizeof *floats);
    check_pairs(*state, EBB_F32, floats, sizeof floats / sizeof *floats);
    check_pairs(*state, EBB_I64, whole, sizeof whole / sizeof *whole);
}

static void tests_of_kind_and_choice(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(1, NAN, INFINITY, -INFINITY, 0);
    EXPECT(ebb_isnan(x), 0, 0, 1, 0, 0, 0);
    EXPECT(ebb_isinf(x), 0, 0, 0, 1, 1, 0);
    EXPECT(ebb_isfinite(x), 0, 1, 0, 0, 0, 1);
    EXPECT(ebb_logical_not(VEC(0, 2, -0.0)), 0, 1, 0, 1);
    ebb_tensor *yes = ebb_cast(VEC(1, 0, 1), EBB_BOOL);
    EXPECT(ebb_where(yes, VEC(1, 2, 3), NUMBER(9)), 0, 1, 9, 3);
    EXPECT(ebb_masked_fill(VEC(1, 2, 3), yes, -INFINITY), 0, -INFINITY, 2, -INFINITY);
    EXPECT(ebb_clamp(VEC(-3, 0.5, 7), -1, 1), 0, -1, 0.5, 1);
    EXPECT(ebb_add_scalar(VEC(1, 2), 0.5), 0, 1.5, 2.5);
    EXPECT(ebb_mul_scalar(VEC(1, 2), 0.5), 0, 0.5, 1);
    EXPECT(ebb_pow_scalar(VEC(4, 9), 0.5), 1e-15, 2, 3);
}

static void casts_round_and_truncate_as_in_c(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = VEC(2.9, -2.9, 0, 200);
    EXPECT(ebb_cast(x, EBB_I64), 0, 2, -2, 0, 200);
    EXPECT(ebb_cast(x, EBB_I32), 0, 2, -2, 0, 200);
    EXPECT(ebb_cast(x, EBB_BOOL), 0, 1, 1, 0, 1);
    EXPECT(ebb_cast(VEC(2.9, 0, 200), EBB_U8), 0, 2, 0, 200);
    EXPECT(ebb_cast(VEC(0.1), EBB_F32), 0, (float)0.1);
    EXPECT(ebb_cast(ebb_cast(VEC(3, 0), EBB_BOOL), EBB_F64), 0, 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(functions_of_one_variable_are_right_to_the_last_places),
        CASE(functions_of_two_variables),
        CASE(tests_of_kind_and_choice),
        CASE(casts_round_and_truncate_as_in_c),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
