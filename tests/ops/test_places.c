/* test_places.c - reductions, views and index operations against plain loops over the elements:
 * which element goes where, what is added to what.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

enum { A = 3, B = 4, C = 5, N = A * B * C };

/* Element (a, b, c) of the test tensor: no two are equal, no order in any axis. */
static double element(int64_t a, int64_t b, int64_t c)
{
    int64_t i = (a * B + b) * C + c;
    return (double)((i * 37 + 11) % 61) / 8 - 3.5;
}

static ebb_tensor *block(ebb_context *ctx)
{
    double x[N];
    for (int64_t i = 0; i < N; i++) x[i] = element(i / (B * C), i / C % B, i % C);
    return case_tensor(ctx, EBB_SHAPE(A, B, C), x, N);
}

static void expect_all(ebb_tensor *t, ebb_shape s, const double *want, double tolerance,
                       const char *what)
{
    int64_t n = 1;
    for (int64_t d = 0; d < s.n_dims; d++) n *= s.dims[d];
    if (!t) fail_msg("%s: %s", what, ebb_error_message());
    if (!case_has_shape(t, s)) fail_msg("%s has another shape", what);
    case_expect(t, tolerance, want, n, what, __LINE__);
}

/* ---- reductions: `reduced` marks axes; each result gets its elements in C order ---------- */
typedef double (*fold)(const double *x, int64_t n);

static double fold_sum(const double *x, int64_t n)
{
    long double s = 0;
    for (int64_t i = 0; i < n; i++) s += x[i];
    return (double)s;
}
static double fold_mean(const double *x, int64_t n)
{
    return fold_sum(x, n) / (double)n;
}
static double fold_prod(const double *x, int64_t n)
{
    long double p = 1;
    for (int64_t i = 0; i < n; i++) p *= x[i];
    return (double)p;
}
static double fold_argmax(const double *x, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[at]) at = i;
    return (double)at;
}
static double fold_argmin(const double *x, int64_t n)
{
    int64_t at = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] < x[at]) at = i;
    return (double)at;
}
static double fold_amax(const double *x, int64_t n)
{
    return x[(int64_t)fold_argmax(x, n)];
}
static double fold_amin(const double *x, int64_t n)
{
    return x[(int64_t)fold_argmin(x, n)];
}
static double squares(const double *x, int64_t n)
{
    double mean = fold_mean(x, n);
    long double s = 0;
    for (int64_t i = 0; i < n; i++) s += ((long double)x[i] - mean) * (x[i] - mean);
    return (double)s;
}
static double fold_var(const double *x, int64_t n)
{
    return squares(x, n) / (double)(n - 1);
}
static double fold_std(const double *x, int64_t n)
{
    return sqrt(fold_var(x, n));
}
static double fold_population(const double *x, int64_t n)
{
    return squares(x, n) / (double)n;
}
static double fold_logsumexp(const double *x, int64_t n)
{
    long double s = 0;
    for (int64_t i = 0; i < n; i++) s += expl(x[i]);
    return (double)logl(s);
}
static double fold_any(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0) return 1;
    return 0;
}
static double fold_all(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] == 0) return 0;
    return 1;
}

static ebb_tensor *do_var(ebb_tensor *x, ebb_axes a)
{
    return ebb_var(x, a, NULL);
}
static ebb_tensor *do_std(ebb_tensor *x, ebb_axes a)
{
    return ebb_std(x, a, NULL);
}
static ebb_tensor *do_population(ebb_tensor *x, ebb_axes a)
{
    return ebb_var(x, a, &(ebb_var_options){.population = true});
}

static const struct {
    const char *name;
    ebb_tensor *(*run)(ebb_tensor *x, ebb_axes a);
    fold want;
    bool one_axis;
} reductions[] = {
    {"sum", (ebb_sum), fold_sum, false},
    {"mean", (ebb_mean), fold_mean, false},
    {"prod", (ebb_prod), fold_prod, false},
    {"amax", (ebb_amax), fold_amax, false},
    {"amin", (ebb_amin), fold_amin, false},
    {"argmax", (ebb_argmax), fold_argmax, true},
    {"argmin", (ebb_argmin), fold_argmin, true},
    {"var", do_var, fold_var, false},
    {"std", do_std, fold_std, false},
    {"var, population", do_population, fold_population, false},
    {"logsumexp", (ebb_logsumexp), fold_logsumexp, false},
    {"any", (ebb_any), fold_any, false},
    {"all", (ebb_all), fold_all, false},
};

/* What the reduction over the axes in `mask` must give, without the reduced axes. */
static ebb_shape reduce_by_hand(double *out, unsigned mask, fold f)
{
    const int64_t dims[3] = {A, B, C};
    ebb_shape s = {0};
    double x[N];
    int64_t n_out = 1;
    for (int d = 0; d < 3; d++)
        if (!(mask >> d & 1)) s.dims[s.n_dims++] = dims[d], n_out *= dims[d];
    for (int64_t o = 0; o < n_out; o++) {
        int64_t n = 0;
        for (int64_t i = 0; i < N; i++) {
            const int64_t at[3] = {i / (B * C), i / C % B, i % C};
            int64_t place = 0;
            for (int d = 0; d < 3; d++)
                if (!(mask >> d & 1)) place = place * dims[d] + at[d];
            if (place == o) x[n++] = element(at[0], at[1], at[2]);
        }
        out[o] = f(x, n);
    }
    return s;
}

static void reductions_over_every_set_of_axes(void **state)
{
    ebb_context *ctx = *state;
    for (size_t r = 0; r < sizeof reductions / sizeof *reductions; r++) {
        for (unsigned mask = 1; mask < 8; mask++) {
            EBB_SCOPE(iter);
            double want[N];
            ebb_axes axes = {0};
            for (int d = 0; d < 3; d++)
                if (mask >> d & 1) axes.axis[axes.n++] = d - 3;
            if (reductions[r].one_axis && axes.n != 1) {
                if (mask != 7) continue;
                axes = EBB_ALL;
            }
            ebb_shape s = reduce_by_hand(want, mask, reductions[r].want), kept = s;
            expect_all(reductions[r].run(block(ctx), axes), s, want, 1e-13, reductions[r].name);
            /* the same through strides, and with the axes kept */
            ebb_tensor *turned =
                ebb_transpose(ebb_clone(ebb_transpose(block(ctx), 0, 2)), 0, 2);
            axes.keep = true;
            kept.n_dims = 3;
            for (int d = 0; d < 3; d++)
                kept.dims[d] = mask >> d & 1 ? 1 : (const int64_t[]){A, B, C}[d];
            expect_all(reductions[r].run(turned, axes), kept, want, 1e-13, reductions[r].name);
        }
    }
}

static void largest_and_smallest_with_their_places(void **state)
{
    ebb_context *ctx = *state;
    for (int d = 0; d < 3; d++) {
        EBB_SCOPE(iter);
        double want[N];
        ebb_tensor *value, *place;
        GOOD(ebb_max(&value, &place, block(ctx), EBB_AXES(d)));
        ebb_shape s = reduce_by_hand(want, 1u << d, fold_amax);
        expect_all(value, s, want, 0, "max");
        reduce_by_hand(want, 1u << d, fold_argmax);
        expect_all(place, s, want, 0, "place of max");
        GOOD(ebb_min(&value, &place, block(ctx), EBB_AXES(d)));
        reduce_by_hand(want, 1u << d, fold_amin);
        expect_all(value, s, want, 0, "min");
        reduce_by_hand(want, 1u << d, fold_argmin);
        expect_all(place, s, want, 0, "place of min");
    }
}

static void sums_of_many_small_floats_stay_exact(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_full(ctx, EBB_F32, EBB_SHAPE(1000, 3000), 0.1);
    const double tenth = (float)0.1;
    EXPECT(ebb_sum(x, EBB_ALL), 1e-7, 3e6 * tenth);
    EXPECT(ebb_mean(x, EBB_ALL), 1e-7, tenth);
    ebb_tensor *rows = ebb_sum(x, EBB_AXES(1)), *columns = ebb_sum(x, EBB_AXES(0));
    EXPECT(ebb_select(rows, 0, 999), 1e-7, 3000 * tenth);
    EXPECT(ebb_select(columns, 0, 2999), 1e-7, 1000 * tenth);
    ebb_tensor *flags = ebb_full(ctx, EBB_U8, EBB_SHAPE(70000), 1);
    EXPECT(ebb_sum(flags, EBB_ALL), 0, 70000); /* not in u8 */
}

/* ---- views and copies: want(a, b, c) of the result's own place --------------------------- */
#define EACH(shape_, expr)                                                                     \
    do {                                                                                       \
        const ebb_shape s_ = shape_;                                                           \
        double want_[4 * N];                                                                   \
        int64_t k_ = 0;                                                                        \
        for (int64_t i = 0; i < s_.dims[0]; i++)                                               \
            for (int64_t j = 0; j < s_.dims[1]; j++)                                           \
                for (int64_t k = 0; k < s_.dims[2]; k++) want_[k_++] = (expr);                 \
        expect_all(t, s_, want_, 0, #expr);                                                    \
    } while (0)

static void views_show_the_right_elements(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = block(ctx), *t = ebb_transpose(x, 0, -1);
    EACH(EBB_SHAPE(C, B, A), element(k, j, i));
    t = ebb_permute(x, EBB_AXES(1, 2, 0));
    EACH(EBB_SHAPE(B, C, A), element(k, i, j));
    t = ebb_narrow(x, 1, 1, 2);
    EACH(EBB_SHAPE(A, 2, C), element(i, j + 1, k));
    t = ebb_slice(x, 2, 1, 5, 2);
    EACH(EBB_SHAPE(A, B, 2), element(i, j, 1 + 2 * k));
    t = ebb_slice(x, 1, -3, -1, 1);
    EACH(EBB_SHAPE(A, 2, C), element(i, 1 + j, k));
    t = ebb_unsqueeze(ebb_select(x, 1, -1), 1);
    EACH(EBB_SHAPE(A, 1, C), element(i, 3, k));
    t = ebb_expand(ebb_narrow(x, 1, 2, 1), EBB_SHAPE(A, 6, C));
    EACH(EBB_SHAPE(A, 6, C), element(i, 2 + 0 * j, k));
    t = ebb_flip(x, EBB_AXES(0, 2));
    EACH(EBB_SHAPE(A, B, C), element(A - 1 - i, j, C - 1 - k));
    t = ebb_reshape(ebb_transpose(x, 0, 1), EBB_SHAPE(2, -1, C)); /* must copy */
    EACH(EBB_SHAPE(2, 6, C), element((i * 6 + j) % A, (i * 6 + j) / A, k));
    t = ebb_reshape(ebb_squeeze(ebb_narrow(x, 0, 1, 1), 0), EBB_SHAPE(1, B, C));
    EACH(EBB_SHAPE(1, B, C), element(1 + i, j, k));
    t = ebb_clone(ebb_permute(x, EBB_AXES(2, 0, 1)));
    EACH(EBB_SHAPE(C, A, B), element(j, k, i));
    t = ebb_tril(x, 1);
    EACH(EBB_SHAPE(A, B, C), k - j <= 1 ? element(i, j, k) : 0);
    t = ebb_triu(x, -1);
    EACH(EBB_SHAPE(A, B, C), k - j >= -1 ? element(i, j, k) : 0);
    for (int64_t axis = 0; axis < 3; axis++) {
        double want[N];
        for (int64_t i = 0; i < N; i++) {
            int64_t at[3] = {i / (B * C), i / C % B, i % C}, end = at[axis];
            want[i] = 0;
            for (at[axis] = 0; at[axis] <= end; at[axis]++)
                want[i] += element(at[0], at[1], at[2]);
        }
        expect_all(ebb_cumsum(x, axis), EBB_SHAPE(A, B, C), want, 1e-13, "cumsum");
    }
}

static void joining_and_splitting(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = block(ctx), *both[] = {x, ebb_narrow(x, 1, 0, 2)}, *t = ebb_cat(both, 2, 1);
    EACH(EBB_SHAPE(A, 6, C), element(i, j < 4 ? j : j - 4, k));
    ebb_tensor *twice[] = {ebb_select(x, 0, 0), ebb_select(x, 0, 2)};
    t = ebb_stack(twice, 2, 1);
    EACH(EBB_SHAPE(B, 2, C), element(j ? 2 : 0, i, k));
    ebb_tensor *parts[3];
    GOOD(ebb_split(parts, 3, x, 2, 2));
    t = parts[0];
    EACH(EBB_SHAPE(A, B, 2), element(i, j, k));
    t = parts[2];
    EACH(EBB_SHAPE(A, B, 1), element(i, j, 4 + k));
}

static ebb_tensor *whole(ebb_context *ctx, ebb_tensor *values)
{
    (void)ctx;
    return ebb_cast(values, EBB_I64);
}

static void index_operations(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    const int64_t pick[] = {3, -4, 1, 1};
    ebb_tensor *x = block(ctx), *index = whole(ctx, VEC(3, -4, 1, 1));
    ebb_tensor *t = ebb_index_select(x, index, 1);
    EACH(EBB_SHAPE(A, 4, C), element(i, (pick[j] + 4) % 4, k));
    /* one index along axis 1 for each (a, c) */
    ebb_tensor *along =
        whole(ctx, ebb_reshape(VEC(0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, -1),
                               EBB_SHAPE(A, 1, C)));
    t = ebb_gather(x, along, 1);
    EACH(EBB_SHAPE(A, 1, C), element(i, i * 5 + k == 14 ? 3 : (i * 5 + k) % 4, k));
    t = ebb_scatter_add(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(A, B, C)), along,
                        ebb_narrow(x, 1, 0, 1), 1);
    EACH(EBB_SHAPE(A, B, C),
         j == (i * 5 + k == 14 ? 3 : (i * 5 + k) % 4) ? element(i, 0, k) : 0);
    t = ebb_index_add(ebb_zeros(ctx, EBB_F64, EBB_SHAPE(A, B, C)), index, x, 1);
    EACH(EBB_SHAPE(A, B, C), j == 3   ? element(i, 0, k)
                             : j == 0 ? element(i, 1, k)
                             : j == 1 ? element(i, 2, k) + element(i, 3, k)
                                      : 0);
    t = ebb_embedding(ebb_reshape(x, EBB_SHAPE(A * B, C)),
                      ebb_reshape(whole(ctx, VEC(11, 0, 5, 5)), EBB_SHAPE(2, 2)));
    EACH(EBB_SHAPE(2, 2, C), element(((int[]){11, 0, 5, 5})[i * 2 + j] / B,
                                     ((int[]){11, 0, 5, 5})[i * 2 + j] % B, k));
    t = ebb_unsqueeze(ebb_one_hot(whole(ctx, VEC(2, 0)), 3), 0);
    EACH(EBB_SHAPE(1, 2, 3), k == (j ? 0 : 2) + 0 * i);
}

static void made_from_nothing(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    EXPECT(ebb_arange(ctx, EBB_F64, 1, 2, 0.25), 0, 1, 1.25, 1.5, 1.75);
    EXPECT(ebb_arange(ctx, EBB_I64, 5, 0, -2), 0, 5, 3, 1);
    EXPECT(ebb_eye(ctx, EBB_F32, 2), 0, 1, 0, 0, 1);
    EXPECT(ebb_full(ctx, EBB_I32, EBB_SHAPE(2), -3), 0, -3, -3);
    EXPECT(ebb_ones(ctx, EBB_U8, EBB_SHAPE(2)), 0, 1, 1);
    EXPECT(ebb_full_like(VEC(1, 2), 7), 0, 7, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(reductions_over_every_set_of_axes),
        CASE(largest_and_smallest_with_their_places),
        CASE(sums_of_many_small_floats_stay_exact),
        CASE(views_show_the_right_elements),
        CASE(joining_and_splitting),
        CASE(index_operations),
        CASE(made_from_nothing),
    };
    return cmocka_run_group_tests_name("places", tests, NULL, NULL);
}
