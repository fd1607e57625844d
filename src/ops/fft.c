/* fft.c - Fourier transforms of real data: rfft, irfft.
 *
 * Complex numbers are real tensors with a last axis of 2 (real and imaginary part), as in
 * torch.view_as_real. Of the n values of the spectrum of real data the first n / 2 + 1 are kept,
 * the others are their conjugates. The public functions bring the axis to the end and to its
 * length; the two private ones transform rows and are each other's gradients.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/kernels/fourier.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>

/* inner: factor of all values but the first and, where n is even, the last of the spectrum. */
typedef struct rows_attr {
    int64_t n;
    double scale, inner;
} rows_attr;
static const ebb_attr_spec rows_attrs[] = {
    {"n", EBB_ATTR_I64, offsetof(rows_attr, n), false, NULL},
    {"scale", EBB_ATTR_F64, offsetof(rows_attr, scale), false, NULL},
    {"inner", EBB_ATTR_F64, offsetof(rows_attr, inner), false, NULL},
    {0}};

/* ---- rows ------------------------------------------------------------------------------- */
/* Rows of even length n go as n / 2 complex numbers: elements 2 j and 2 j + 1 as one. */
typedef struct fft_work {
    const ebb__call *c;
    ebb__fourier plan; /* of length n, or n / 2 for even n */
    int64_t n, half;   /* n / 2 + 1 */
    double scale, inner, *scratch;
    size_t scratch_each;
    double *cosine, *sine; /* of 2 pi k / n, k <= n / 2, for even n */
} fft_work;

static double get(const ebb_view *v, int64_t i)
{
    return v->dtype == EBB_F64 ? ((const double *)v->data)[i]
                               : (double)((const float *)v->data)[i];
}

static void put(const ebb_view *v, int64_t i, double x)
{
    if (v->dtype == EBB_F64)
        ((double *)v->data)[i] = x;
    else
        ((float *)v->data)[i] = (float)x;
}

/* The factor of place k of the spectrum. */
static double weight(const fft_work *w, int64_t k)
{
    return k == 0 || 2 * k == w->n ? 1 : w->inner;
}

/* The work space of a row: real parts, then imaginary parts `size` further on. */
static void put_spectrum(const fft_work *w, int64_t row, int64_t k, double re, double im)
{
    double factor = w->scale * weight(w, k);
    bool real = k == 0 || 2 * k == w->n;
    put(&w->c->out[0], (row * w->half + k) * 2, factor * re);
    put(&w->c->out[0], (row * w->half + k) * 2 + 1, real ? 0 : factor * im);
}

static void spectrum_of_odd(const fft_work *w, int64_t row, double *work)
{
    int64_t size = w->plan.size;
    for (int64_t j = 0; j < w->n; j++) {
        work[j] = get(&w->c->in[0], row * w->n + j);
        work[size + j] = 0;
    }
    const double *x = ebb__fourier_run(&w->plan, work);
    for (int64_t k = 0; k < w->half; k++) put_spectrum(w, row, k, x[k], x[size + k]);
}

/* With Z the transform of the pairs: e = (Z[k] + Z[-k]*) / 2 and o = (Z[k] - Z[-k]*) / 2 i are
 * those of the even and the odd elements; together e + exp(-2 pi i k / n) o. */
static void spectrum_of_even(const fft_work *w, int64_t row, double *work)
{
    int64_t size = w->plan.size, n = w->n / 2;
    for (int64_t j = 0; j < n; j++) {
        work[j] = get(&w->c->in[0], row * w->n + 2 * j);
        work[size + j] = get(&w->c->in[0], row * w->n + 2 * j + 1);
    }
    const double *x = ebb__fourier_run(&w->plan, work);
    for (int64_t k = 0; k <= n; k++) {
        int64_t a = k == n ? 0 : k, b = k == 0 ? 0 : n - k;
        double e_re = (x[a] + x[b]) / 2, e_im = (x[size + a] - x[size + b]) / 2;
        double o_re = (x[size + a] + x[size + b]) / 2, o_im = (x[b] - x[a]) / 2;
        double c = w->cosine[k], s = w->sine[k];
        put_spectrum(w, row, k, e_re + (c * o_re + s * o_im), e_im + (c * o_im - s * o_re));
    }
}

static void to_spectrum(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const fft_work *w = arg;
    double *work = w->scratch + (size_t)part * w->scratch_each;
    for (int64_t row = lo; row < hi; row++)
        if (w->n % 2)
            spectrum_of_odd(w, row, work);
        else
            spectrum_of_even(w, row, work);
}

/* Place k of the whole spectrum, half of the factor for each of two conjugates. */
static void get_spectrum(const fft_work *w, int64_t row, int64_t k, double *re, double *im)
{
    bool real = k == 0 || 2 * k == w->n;
    double factor = real ? 1 : w->inner / 2;
    *re = factor * get(&w->c->in[0], (row * w->half + k) * 2);
    *im = real ? 0 : factor * get(&w->c->in[0], (row * w->half + k) * 2 + 1);
}

/* The real part of the sum with +i is that of the conjugates with -i. */
static void odd_from_spectrum(const fft_work *w, int64_t row, double *work)
{
    int64_t size = w->plan.size, n = w->n;
    for (int64_t k = 0; k < w->half; k++) {
        double re, im;
        get_spectrum(w, row, k, &re, &im);
        work[k] = re, work[size + k] = -im;
        if (k > 0) work[n - k] = re, work[size + n - k] = im;
    }
    const double *x = ebb__fourier_run(&w->plan, work);
    for (int64_t j = 0; j < n; j++) put(&w->c->out[0], row * n + j, w->scale * x[j]);
}

/* Back the same way: Z = (S[k] + S[n/2-k]*) + i exp(2 pi i k / n) (S[k] - S[n/2-k]*). */
static void even_from_spectrum(const fft_work *w, int64_t row, double *work)
{
    int64_t size = w->plan.size, n = w->n / 2;
    for (int64_t k = 0; k < n; k++) {
        double p_re, p_im, q_re, q_im, c = w->cosine[k], s = w->sine[k];
        get_spectrum(w, row, k, &p_re, &p_im);
        get_spectrum(w, row, n - k, &q_re, &q_im);
        double d_re = p_re - q_re, d_im = p_im + q_im;
        work[k] = (p_re + q_re) - (c * d_im + s * d_re);
        work[size + k] = -((p_im - q_im) + (c * d_re - s * d_im));
    }
    const double *x = ebb__fourier_run(&w->plan, work);
    for (int64_t j = 0; j < n; j++) {
        put(&w->c->out[0], row * w->n + 2 * j, w->scale * x[j]);
        put(&w->c->out[0], row * w->n + 2 * j + 1, w->scale * -x[size + j]);
    }
}

static void from_spectrum(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const fft_work *w = arg;
    double *work = w->scratch + (size_t)part * w->scratch_each;
    for (int64_t row = lo; row < hi; row++)
        if (w->n % 2)
            odd_from_spectrum(w, row, work);
        else
            even_from_spectrum(w, row, work);
}

/* The length of the complex transforms. */
static int64_t complex_length(int64_t n)
{
    return n % 2 ? n : n / 2;
}

static size_t table_doubles(int64_t n)
{
    return ebb__fourier_table_doubles(complex_length(n)) + (n % 2 ? 0 : (size_t)n + 2);
}

static void reserve(ebb__call *c, int64_t n)
{
    size_t n_threads = (size_t)(c->n_threads < 1 ? 1 : c->n_threads);
    size_t each = ebb__fourier_work_doubles(complex_length(n));
    c->scratch_bytes = (table_doubles(n) + n_threads * each) * sizeof(double);
}

static ebb_status run_rows(const ebb__call *c, ebb__range_fn fn)
{
    const rows_attr *a = c->attr;
    fft_work w = {
        .c = c, .n = a->n, .half = a->n / 2 + 1, .scale = a->scale, .inner = a->inner};
    int64_t all = ebb__n_elems(&c->out[0].shape), n = complex_length(w.n);
    if (all == 0) return EBB_OK;
    int64_t rows = all / (fn == to_spectrum ? 2 * w.half : w.n);
    w.scratch = (double *)c->scratch + table_doubles(w.n);
    w.scratch_each = ebb__fourier_work_doubles(n);
    ebb__fourier_plan(&w.plan, n, c->scratch, w.scratch);
    w.cosine = (double *)c->scratch + ebb__fourier_table_doubles(n);
    w.sine = w.cosine + w.half;
    for (int64_t k = 0; k < w.half && w.n % 2 == 0; k++)
        ebb__fourier_root(&w.cosine[k], &w.sine[k], k, w.n);
    ebb__parallel(c->n_threads, rows, ebb__grain(w.plan.size * (w.plan.n_factors + 1) * 4), fn,
                  &w);
    return EBB_OK;
}

static ebb_cost rows_cost(const ebb__call *c)
{
    double n = (double)((const rows_attr *)c->attr)->n;
    double elements = (double)(ebb__n_elems(&c->in[0].shape) + ebb__n_elems(&c->out[0].shape));
    return (ebb_cost){5 * elements * log2(n + 1),
                      elements * (double)ebb__dtype_size(c->in[0].dtype)};
}

static ebb_status rfft_rows_shape(ebb__call *c)
{
    const rows_attr *a = c->attr;
    ebb_shape out = c->in[0].shape;
    EBB_TRY(ebb__check_float(c, 0));
    out.dims[out.n_dims - 1] = a->n / 2 + 1;
    out.dims[out.n_dims++] = 2;
    reserve(c, a->n);
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status rfft_rows_forward(const ebb__call *c)
{
    return run_rows(c, to_spectrum);
}

static void rfft_rows_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, irfft_rows, v->attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_rfft_rows = {
    EBB_OP_HEAD(rfft_rows),
    .doc = "out[k] = scale * (inner where a conjugate was left out) * sum over j of x[j] "
           "exp(-2 pi i j k / n), of the last axis.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(rows_attr),
    .attrs = rows_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = rows_cost,
    .shape = rfft_rows_shape,
    .forward = rfft_rows_forward,
    .vjp = rfft_rows_vjp,
    EBB_SAMPLES({.in = {"2x8"}, .attr = "n=8 scale=0.5 inner=2"},
                {.in = {"15"}, .attr = "n=15 scale=1 inner=1"},
                {.in = {"2x37"}, .attr = "n=37 scale=1 inner=0.5"},
                {.in = {"1"}, .attr = "n=1 scale=1 inner=2"},
                {.in = {"0x4"}, .attr = "n=4 scale=1 inner=2"}),
};

static ebb_status irfft_rows_shape(ebb__call *c)
{
    const rows_attr *a = c->attr;
    ebb_shape out = c->in[0].shape;
    EBB_TRY(ebb__check_float(c, 0));
    out.dims[--out.n_dims - 1] = a->n;
    reserve(c, a->n);
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

static ebb_status irfft_rows_forward(const ebb__call *c)
{
    return run_rows(c, from_spectrum);
}

static void irfft_rows_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, rfft_rows, v->attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_irfft_rows = {
    EBB_OP_HEAD(irfft_rows),
    .doc = "out[j] = scale * the real part of the sum over k of (inner where a conjugate was "
           "left out) * x[k] exp(2 pi i j k / n), of the last axis but one.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(rows_attr),
    .attrs = rows_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_COMPUTE,
    .cost = rows_cost,
    .shape = irfft_rows_shape,
    .forward = irfft_rows_forward,
    .vjp = irfft_rows_vjp,
    EBB_SAMPLES({.in = {"2x5x2"}, .attr = "n=8 scale=0.125 inner=2"},
                {.in = {"8x2"}, .attr = "n=15 scale=1 inner=1"},
                {.in = {"2x19x2"}, .attr = "n=37 scale=1 inner=2"},
                {.in = {"1x2"}, .attr = "n=1 scale=1 inner=2"},
                {.in = {"0x3x2"}, .attr = "n=4 scale=1 inner=2"}),
};

/* ---- rfft, irfft ------------------------------------------------------------------------ */
typedef struct fft_attr {
    int64_t n, norm, axis; /* n and norm are options: first */
} fft_attr;
static const ebb_attr_spec rfft_attrs[] = {
    {"n", EBB_ATTR_I64, offsetof(fft_attr, n), true,
     "length of the real data: what is given is cut or followed by zeros; 0: as it is, or "
     "twice the spectrum less 2"},
    {"norm", EBB_ATTR_I64, offsetof(fft_attr, norm), true,
     "where to divide by n: EBB_FFT_BACKWARD (0: in irfft), EBB_FFT_ORTHO (by its root, in "
     "both) or EBB_FFT_FORWARD (in rfft)"},
    {"axis", EBB_ATTR_I64, offsetof(fft_attr, axis), false, "negative: from the end"},
    {0}};
static const ebb_attr_spec irfft_attrs[] = {
    {"n", EBB_ATTR_I64, offsetof(fft_attr, n), true, "length of the real data"},
    {"norm", EBB_ATTR_I64, offsetof(fft_attr, norm), true,
     "where to divide by n: EBB_FFT_BACKWARD (0: in irfft), EBB_FFT_ORTHO (by its root, in "
     "both) or EBB_FFT_FORWARD (in rfft)"},
    {"axis", EBB_ATTR_I64, offsetof(fft_attr, axis), false, "negative: from the end"},
    {0}};
static double scale_of(ebb_vjp *v, int64_t norm, int64_t n, int64_t divides)
{
    if (norm < EBB_FFT_BACKWARD || norm > EBB_FFT_FORWARD)
        v->status = ebb__fail(EBB_E_RANGE, "norm is %lld, 0 to %d are norms", (long long)norm,
                              (int)EBB_FFT_FORWARD);
    if (norm == EBB_FFT_ORTHO) return 1 / sqrt((double)n);
    return norm == divides ? 1 / (double)n : 1;
}

/* x with `length` places of an axis: the first ones, or all and zeros. */
static ebb_tensor *fit(ebb_vjp *v, ebb_tensor *x, int64_t axis, int64_t length)
{
    ebb_shape s = ebb_shape_get(x);
    if (s.dims[axis] == length) return x;
    ebb__narrow_attr part = {axis, 0, length};
    if (s.dims[axis] > length) return EBB_EMIT(v, narrow, &part, x);
    s.dims[axis] = length;
    ebb__place_attr place = {.shape = s, .axis = axis, .start = 0, .step = 1};
    return EBB_EMIT(v, place, &place, x);
}

static bool check_length(ebb_vjp *v, int64_t n)
{
    if (n >= 1 && n <= INT64_C(1) << 40) return true;
    v->status = ebb__fail(EBB_E_RANGE,
                          "the length of the transform would be %lld, 1 to 2^40 "
                          "are allowed",
                          (long long)n);
    return false;
}

static void rfft_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    fft_attr a = *(const fft_attr *)attr;
    ebb_shape s = ebb_shape_get(in[0]);
    if ((v->status = ebb__axis_check(&a.axis, s.n_dims)) != EBB_OK) return;
    if (s.n_dims == EBB_MAX_DIMS) {
        v->status = ebb__fail(EBB_E_SHAPE, "x has %d dimensions already, the most there are",
                              EBB_MAX_DIMS);
        return;
    }
    int64_t last = s.n_dims - 1;
    rows_attr rows = {.n = a.n != 0 ? a.n : s.dims[a.axis], .inner = 1};
    if (!check_length(v, rows.n)) return;
    rows.scale = scale_of(v, a.norm, rows.n, EBB_FFT_FORWARD);
    ebb_tensor *x = fit(v, in[0], a.axis, rows.n);
    if (a.axis != last) x = ebb__rule_transpose(v, x, a.axis, last);
    ebb_tensor *y = EBB_EMIT(v, rfft_rows, &rows, x);
    out[0] = a.axis == last ? y : ebb__rule_transpose(v, y, a.axis, last);
}

const ebb_op ebb__op_rfft = {
    EBB_OP_HEAD(rfft),
    .doc =
        "The Fourier transform of real x along an axis, its first n / 2 + 1 values: out[..., "
        "k, "
        "...] = sum over j of x[..., j, ...] exp(-2 pi i j k / n); complex numbers as a last "
        "axis of 2.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(fft_attr),
    .options_bytes = offsetof(fft_attr, axis),
    .attrs = rfft_attrs,
    .options = "fft",
    .bound = EBB_BOUND_COMPUTE,
    .flags = EBB_OP_PROMOTES | EBB_OP_FLOATS,
    .compose = rfft_compose,
    EBB_SAMPLES({.in = {"8"}, .attr = "axis=0"}, {.in = {"3x5"}, .attr = "axis=-1 norm=1"},
                {.in = {"6x2"}, .attr = "axis=0 norm=2"}, {.in = {"2x5"}, .attr = "axis=1 n=8"},
                {.in = {"2x5x3"}, .attr = "axis=1 n=4"}, {.in = {"1"}, .attr = "axis=0"},
                {.in = {"0x4"}, .attr = "axis=1"}),
};

static void irfft_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                          const void *attr)
{
    (void)n_in;
    fft_attr a = *(const fft_attr *)attr;
    ebb_shape s = ebb_shape_get(in[0]);
    if (s.n_dims < 2 || s.dims[s.n_dims - 1] != 2) {
        char text[EBB__SHAPE_TEXT];
        v->status =
            ebb__fail(EBB_E_SHAPE,
                      "x is %s: a last axis of 2, for real and imaginary parts, and one "
                      "more are needed",
                      ebb__shape_text(text, sizeof text, &s));
        return;
    }
    if ((v->status = ebb__axis_check(&a.axis, s.n_dims - 1)) != EBB_OK) return;
    int64_t last = s.n_dims - 2;
    rows_attr rows = {.n = a.n != 0 ? a.n : 2 * (s.dims[a.axis] - 1), .inner = 2};
    if (!check_length(v, rows.n)) return;
    rows.scale = scale_of(v, a.norm, rows.n, EBB_FFT_BACKWARD);
    ebb_tensor *x = fit(v, in[0], a.axis, rows.n / 2 + 1);
    if (a.axis != last) x = ebb__rule_transpose(v, x, a.axis, last);
    ebb_tensor *y = EBB_EMIT(v, irfft_rows, &rows, x);
    out[0] = a.axis == last ? y : ebb__rule_transpose(v, y, a.axis, last);
}

const ebb_op ebb__op_irfft = {
    EBB_OP_HEAD(irfft),
    .doc = "The real data whose rfft along an axis is x, (..., 2); the imaginary part of the "
           "first "
           "value, and for even n of the last, is not read.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(fft_attr),
    .options_bytes = offsetof(fft_attr, axis),
    .attrs = irfft_attrs,
    .options = "fft",
    .bound = EBB_BOUND_COMPUTE,
    .flags = EBB_OP_PROMOTES | EBB_OP_FLOATS,
    .compose = irfft_compose,
    EBB_SAMPLES({.in = {"5x2"}, .attr = "axis=0"}, {.in = {"3x4x2"}, .attr = "axis=-1 norm=1"},
                {.in = {"4x3x2"}, .attr = "axis=0 n=7"},
                {.in = {"2x3x2"}, .attr = "axis=1 n=8"},
                {.in = {"2x5x3x2"}, .attr = "axis=1 n=4 norm=2"},
                {.in = {"1x2"}, .attr = "axis=0 n=1"}, {.in = {"0x3x2"}, .attr = "axis=1"}),
};
