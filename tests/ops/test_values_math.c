/* test_values_math.c - values and gradients of mathematical functions at the edges: kinks, poles,
 * infinities, NaN. Numbers are by hand, from mpmath (30 digits) or PyTorch 2.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#define EPS 1e-15

/* y = op(leaf): values, then gradients of their sum. */
#define CURVE(op, tolerance, x, y, slope)                                                      \
    do {                                                                                       \
        EBB_SCOPE(curve_);                                                                     \
        const double x_[] = x, y_[] = y, slope_[] = slope;                                     \
        const int64_t n_ = (int64_t)(sizeof x_ / sizeof *x_);                                  \
        ebb_tensor *leaf_ = case_leaf(case_tensor(ctx, EBB_SHAPE(n_), x_, n_));                \
        ebb_tensor *out_ = (op);                                                               \
        case_expect(out_, tolerance, y_, n_, #op, __LINE__);                                   \
        GOOD(case_backward_sum(out_));                                                         \
        case_expect(ebb_grad_of(leaf_), tolerance, slope_, n_, "gradient of " #op, __LINE__);  \
    } while (0)
#define V(...)                                                                                 \
    {                                                                                          \
        __VA_ARGS__                                                                            \
    }
#define INF INFINITY

static void pieces_of_lines_have_the_flat_gradient_at_their_kinks(void **state)
{
    ebb_context *ctx = *state;
    CURVE(ebb_relu6(leaf_), 0, V(-1, 0, 3, 6, 7, NAN), V(0, 0, 3, 6, 6, NAN),
          V(0, 0, 1, 0, 0, 1));
    CURVE(ebb_hardtanh(leaf_, NULL), 0, V(-2, -1, 0, 1, 2, NAN), V(-1, -1, 0, 1, 1, NAN),
          V(0, 0, 1, 0, 0, 1));
    ebb_hardtanh_options from_zero = {.min_val = 0, .max_val = 2};
    CURVE(ebb_hardtanh(leaf_, &from_zero), 0, V(-1, 0, 1, 2), V(0, 0, 1, 2), V(0, 0, 1, 0));
    CURVE(ebb_hardsigmoid(leaf_), EPS, V(-4, -3, 0, 3, 4), V(0, 0, 0.5, 1, 1),
          V(0, 0, 1.0 / 6, 0, 0));
    CURVE(ebb_hardswish(leaf_), EPS, V(-INF, -4, -3, 0, 3, 4, INF), V(0, 0, 0, 0, 3, 4, INF),
          V(0, 0, 0, 0.5, 1, 1, 1));
    EBB_SCOPE(scope);
    ebb_hardtanh_options turned = {.min_val = 2, .max_val = 1};
    assert_null(ebb_hardtanh(VEC(1), &turned));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_error_clear();
}

static void exponential_activations_at_zero_and_far_out(void **state)
{
    ebb_context *ctx = *state;
    const double s = 1.0507009873554804935, sa = 1.7580993408473768599;
    CURVE(ebb_selu(leaf_), EPS, V(-INF, 0, 1, INF), V(-sa, 0, s, INF), V(0, sa, s, s));
    ebb_celu_options two = {.alpha = 2};
    CURVE(ebb_celu(leaf_, &two), EPS, V(-INF, -1, 0, 1), V(-2, -0.7869386805747332, 0, 1),
          V(0, 0.6065306597126334, 1, 1));
    CURVE(ebb_mish(leaf_), EPS, V(-200, 0, 30, INF), V(-2.767793053473475e-85, 0, 30, INF),
          V(-2.7539540882061076e-85, 0.6, 1, 1));
}

static void logarithms_and_angles_at_the_ends_of_their_range(void **state)
{
    ebb_context *ctx = *state;
    CURVE(ebb_exp2(leaf_), EPS, V(-INF, 10, INF), V(0, 1024, INF), V(0, 709.782712893384, INF));
    CURVE(ebb_log2(leaf_), EPS, V(0, 8, INF), V(-INF, 3, INF), V(INF, 0.18033688011112042, 0));
    CURVE(ebb_log10(leaf_), EPS, V(0, 1000), V(-INF, 3), V(INF, 4.3429448190325176e-4));
    CURVE(ebb_tan(leaf_), EPS, V(0, 1), V(0, 1.5574077246549023), V(1, 3.42551882081476));
    CURVE(ebb_asin(leaf_), EPS, V(1, -1, 2), V(M_PI / 2, -M_PI / 2, NAN), V(INF, INF, NAN));
    CURVE(ebb_acos(leaf_), EPS, V(1, -1, 2), V(0, M_PI, NAN), V(-INF, -INF, NAN));
    CURVE(ebb_acosh(leaf_), EPS, V(1, 0.5), V(0, NAN), V(INF, NAN));
    CURVE(ebb_atanh(leaf_), EPS, V(1, -1), V(INF, -INF), V(INF, INF));
    CURVE(ebb_frac(leaf_), 0, V(1.5, -1.5, INF), V(0.5, -0.5, NAN), V(1, 1, 1));
    CURVE(ebb_nan_to_num(leaf_, NULL), 0, V(NAN, INF, -INF, 2),
          V(0, 1.7976931348623157e308, -1.7976931348623157e308, 2), V(0, 0, 0, 1));
    EBB_SCOPE(scope);
    EXPECT(ebb_nan_to_num(ebb_cast(VEC(INF, -INF, 1), EBB_F16), NULL), 0, 65504, -65504, 1);
    ebb_nan_to_num_options zeros = {.nan = 7, .zero_infinities = true};
    CURVE(ebb_nan_to_num(leaf_, &zeros), 0, V(NAN, INF, -INF), V(7, 0, 0), V(0, 0, 0));
}

static void special_functions_and_their_poles(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    EXPECT(ebb_erfinv(VEC(0.1, 0.5, -0.7, 0.9, 0.9999, 0.9999999999, 1 - 0x1p-53, 1e-9, 0.499)),
           3e-15, 0.088855990494257692, 0.476936276204469873, -0.732869077959216785,
           1.16308715367667416, 2.75106390571207969, 4.57282495854492494, 5.86358474875516793,
           8.86226925452758069e-10, 0.475824280883092349);
    CURVE(ebb_erfinv(leaf_), EPS, V(0, 1, -1, 2), V(0, INF, -INF, NAN),
          V(0.8862269254527579, INF, INF, NAN));
    EXPECT(ebb_digamma(VEC(0.1, 1, 1.5, 3.25, -0.5, -3.7, -0.001, 20, 1e10, 1e-5)), 2e-14,
           -10.4237549404110762, -0.577215664901532861, 0.0364899739785765206,
           1.01699091106817904, 0.0364899739785765206, -0.845076858870419355,
           999.421138197891334, 2.97052399224214905, 23.0258509298904568, -100000.577199215673);
    EXPECT(ebb_digamma(VEC(0.0, -0.0, -1, INF, -INF)), 0, -INF, INF, NAN, INF, NAN);
    EXPECT(ebb_polygamma(VEC(0.1, 1, 3.25, -0.5, -3.7, 25, -1000.25, INF, 0, -1), 1), 4e-15,
           101.433299150792748, 1.64493406684822644, 0.359798290309579875, 8.93480220054467931,
           14.8424218641242799, 0.0408106632572255792, 19.7382095516997849, 0, INF, INF);
    EXPECT(ebb_polygamma(VEC(0.1, 1, 3.25, -0.5, -3.7, 25, -1000.25, 0), 2), 1e-13,
           -2001.86145737834367, -2.40411380631918857, -0.128156947139115121,
           -0.828796644234319996, -68.8934546886735474, -0.00166527931842246817,
           124.025105722697844, -INF);
    EXPECT(ebb_polygamma(VEC(0.1, 1, -0.5, 25), 5), 1e-14, 120000069.307510929,
           122.081167438133897, 15371.1135486024355, 2.71317577000383235e-6);
    CURVE(ebb_lgamma(leaf_), 2e-14, V(0, 0.1, 1.5, 171.5, 1e10, INF),
          V(INF, 2.2527126517342059, -0.120782237635245222, 709.143163030928242,
            220258509288.810581, INF),
          V(-INF, -10.4237549404110762, 0.0364899739785765206, 5.141664981433999629,
            23.0258509298904568, INF));
    REFUSED(EBB_E_RANGE, ebb_polygamma(VEC(1), -1) ? EBB_OK : ebb_error_status());
}

/* z = op(x, y): values, then both gradients of their sum. */
#define SURFACE(op, tolerance, x, y, z, by_x, by_y)                                            \
    do {                                                                                       \
        EBB_SCOPE(surface_);                                                                   \
        const double x_[] = x, y_[] = y, z_[] = z, dx_[] = by_x, dy_[] = by_y;                 \
        const int64_t n_ = (int64_t)(sizeof x_ / sizeof *x_);                                  \
        ebb_tensor *a = case_leaf(case_tensor(ctx, EBB_SHAPE(n_), x_, n_));                    \
        ebb_tensor *b = case_leaf(case_tensor(ctx, EBB_SHAPE(n_), y_, n_));                    \
        ebb_tensor *out_ = (op);                                                               \
        case_expect(out_, tolerance, z_, n_, #op, __LINE__);                                   \
        GOOD(case_backward_sum(out_));                                                         \
        case_expect(ebb_grad_of(a), tolerance, dx_, n_, "first gradient of " #op, __LINE__);   \
        case_expect(ebb_grad_of(b), tolerance, dy_, n_, "second gradient of " #op, __LINE__);  \
    } while (0)

static void functions_of_two_at_their_singular_points(void **state)
{
    ebb_context *ctx = *state;
    const double h = 0.5, r = 0.70710678118654752;
    SURFACE(ebb_hypot(a, b), EPS, V(0, 3, 1e200), V(0, 4, 1e200),
            V(0, 5, 1.414213562373095e200), V(0, 0.6, r), V(0, 0.8, r));
    SURFACE(ebb_atan2(a, b), EPS, V(0, 1, 0.0, -0.0, 1e-200), V(0, 0, -1, -1, 1e-200),
            V(0, M_PI / 2, M_PI, -M_PI, M_PI / 4), V(0, 0, -1, -1, 5e199),
            V(0, -1, 0, 0, -5e199));
    SURFACE(ebb_logaddexp(a, b), EPS, V(-INF, 1, 1000, INF), V(-INF, -INF, 1000, INF),
            V(-INF, 1, 1000.6931471805599, INF), V(0, 1, h, h), V(0, 0, h, h));
    SURFACE(ebb_xlogy(a, b), EPS, V(0, 0, 2, 0, 1), V(0, 1, 0, -1, -1), V(0, 0, -INF, 0, NAN),
            V(0, 0, -INF, 0, NAN), V(0, 0, INF, 0, -1));
    SURFACE(ebb_fmod(a, b), 0, V(5, -5, 5, -5, 1), V(3, 3, -3, -3, INF), V(2, -2, 2, -2, 1),
            V(1, 1, 1, 1, 1), V(-1, 1, 1, -1, 0));
    SURFACE(ebb_remainder(a, b), 0, V(5, -5, 5, -5), V(3, 3, -3, -3), V(2, 1, -1, -2),
            V(1, 1, 1, 1), V(-1, 2, 2, -1));
    EBB_SCOPE(scope);
    EXPECT(ebb_fmod(VEC(1, INF), VEC(0, 2)), 0, NAN, NAN);
    EXPECT(ebb_lerp(VEC(1, 1, 1), VEC(3, 3, 3), VEC(0, 1, 0.25)), 0, 1, 3, 1.5);
    /* The quotient of these rounds to 3; the whole number is 2. */
    SURFACE(ebb_fmod(a, b), EPS, V(nextafter(0.3, 0)), V(0.1), V(nextafter(0.3, 0) - 2 * 0.1),
            V(1), V(-2));
}

static ebb_tensor *whole(ebb_context *ctx, ebb_dtype d, int64_t n, const double *x)
{
    return ebb_cast(case_tensor(ctx, EBB_SHAPE(n), x, n), d);
}
#define WHOLE(d, ...) whole(ctx, d, COUNT(__VA_ARGS__), (const double[]){__VA_ARGS__})

static void integers_divide_shift_and_combine_bits(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = WHOLE(EBB_I64, 7, -7, 7, -7), *y = WHOLE(EBB_I64, 3, 3, -3, -3);
    EXPECT(ebb_fmod(x, y), 0, 1, -1, 1, -1);
    EXPECT(ebb_remainder(x, y), 0, 1, 2, -2, -1);
    EXPECT(ebb_remainder(WHOLE(EBB_I32, -2147483648.0), WHOLE(EBB_I32, -1)), 0, 0);
    assert_null(ebb_remainder(x, WHOLE(EBB_I64, 0)));
    assert_int_equal(ebb_error_status(), EBB_E_RANGE);
    ebb_error_clear();
    EXPECT(ebb_bitwise_left_shift(WHOLE(EBB_I32, 1, 1, 1, 5), WHOLE(EBB_I32, 3, 31, 32, -1)), 0,
           8, -2147483648.0, 0, 0);
    EXPECT(ebb_bitwise_right_shift(WHOLE(EBB_I32, -8, 8, -8, 8), WHOLE(EBB_I32, 1, 40, 40, -1)),
           0, -4, 0, -1, 0);
    EXPECT(ebb_bitwise_left_shift(WHOLE(EBB_U8, 255, 1), WHOLE(EBB_U8, 1, 8)), 0, 254, 0);
    EXPECT(ebb_bitwise_and(WHOLE(EBB_I64, 12, -1), WHOLE(EBB_I64, 10, 5)), 0, 8, 5);
    EXPECT(ebb_bitwise_or(WHOLE(EBB_U8, 12), WHOLE(EBB_U8, 10)), 0, 14);
    EXPECT(ebb_bitwise_xor(WHOLE(EBB_I32, 12), WHOLE(EBB_I32, 10)), 0, 6);
    EXPECT(ebb_bitwise_not(WHOLE(EBB_I64, 0, 5)), 0, -1, -6);
    EXPECT(ebb_bitwise_not(WHOLE(EBB_U8, 1)), 0, 254);
    EXPECT(ebb_bitwise_not(WHOLE(EBB_BOOL, 1, 0)), 0, 0, 1);
    EXPECT(ebb_logical_xor(VEC(0, 2, NAN, 0), VEC(3, 1, 0, 0)), 0, 1, 0, 1, 0);
    assert_null(ebb_bitwise_and(VEC(1), VEC(1)));
    assert_int_equal(ebb_error_status(), EBB_E_DTYPE);
    ebb_error_clear();
}

static void functions_to_whole_numbers_leave_integers_as_they_are(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    /* 2^24 + 1 is no f32. */
    ebb_tensor *x = WHOLE(EBB_I64, 16777217, -16777217, 0);
    ebb_tensor *same[] = {ebb_floor(x), ebb_ceil(x), ebb_round(x), ebb_trunc(x),
                          ebb_nan_to_num(x, NULL)};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        EXPECT(same[i], 0, 16777217, -16777217, 0);
        assert_int_equal(ebb_dtype_of(same[i]), EBB_I64);
    }
    EXPECT(ebb_relu(x), 0, 16777217, 0, 0);
    assert_int_equal(ebb_dtype_of(ebb_relu(WHOLE(EBB_U8, 255))), EBB_U8);
    EXPECT(ebb_isnan(x), 0, 0, 0, 0);
    EXPECT(ebb_clamp(x, -INF, 16777216), 0, 16777216, -16777217, 0);
    EXPECT(ebb_clamp(x, -3, INF), 0, 16777217, -3, 0);
    EXPECT(ebb_clamp(WHOLE(EBB_U8, 0, 7, 255), 1, 9), 0, 1, 7, 9);
    assert_int_equal(ebb_dtype_of(ebb_clamp(WHOLE(EBB_I32, 5), -INF, INF)), EBB_I32);
    EXPECT(ebb_clamp(x, 0.5, 2), 0, 2, 0.5, 0.5);
    assert_int_equal(ebb_dtype_of(ebb_clamp(x, 0.5, 2)), EBB_F32);
    EXPECT(ebb_isinf(x), 0, 0, 0, 0);
    EXPECT(ebb_isfinite(WHOLE(EBB_BOOL, 1, 0)), 0, 1, 1);
}

/* p = -1: one over the sum of 1 / |x|, whose derivative is (norm / x)^2. */
static void norms_of_negative_order_are_zero_where_an_element_is(void **state)
{
    ebb_context *ctx = *state;
    CURVE(ebb_norm(leaf_, -1, EBB_KEEP(0)), EPS, V(4), V(4), V(1));
    EBB_SCOPE(scope);
    ebb_tensor *x = case_leaf(MAT(EBB_SHAPE(2, 3), 0, 2, -3, 2, 2, INF));
    ebb_tensor *y = ebb_norm(x, -1, EBB_AXES(1));
    EXPECT(y, EPS, 0, 1);
    GOOD(case_backward_sum(y));
    EXPECT_GRAD(x, EPS, 0, 0, 0, 0.25, 0.25, 0);
    EXPECT(ebb_norm(VEC(INF, -INF), -2, EBB_ALL), 0, INF);
    EXPECT(ebb_norm(VEC(NAN, 1), -2, EBB_ALL), 0, NAN);
    EXPECT(ebb_norm(VEC(0, INF), -2, EBB_ALL), 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(pieces_of_lines_have_the_flat_gradient_at_their_kinks),
        CASE(exponential_activations_at_zero_and_far_out),
        CASE(logarithms_and_angles_at_the_ends_of_their_range),
        CASE(special_functions_and_their_poles),
        CASE(functions_of_two_at_their_singular_points),
        CASE(integers_divide_shift_and_combine_bits),
        CASE(functions_to_whole_numbers_leave_integers_as_they_are),
        CASE(norms_of_negative_order_are_zero_where_an_element_is),
    };
    return cmocka_run_group_tests_name("values of mathematical functions", tests, NULL, NULL);
}
