/* reduce.c - sums, products, extremes and truths over axes.
 *
 * f32 is summed in double; integers and bools to i64.
 * SPDX-License-Identifier: MIT */
#include "ops/reduce.h"

#include "ops/ids.h"
#include "ops/kernels/clones.h"

#include <math.h>
#include <string.h>

/* Extremes of which NaN is one, as two selections without a branch. */
static inline double top(double best, double x)
{
    const double y = x > best ? x : best;
    return x != x ? x : y;
}
static inline double low(double best, double x)
{
    const double y = x < best ? x : best;
    return x != x ? x : y;
}

#define EBB_TYPED "ops/reduce.inl"
#include "ops/kernels/numbers.h"

#define REDUCE_SAMPLES                                                                         \
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=0"}, {.in = {"3x4"}, .attr = "axes=-1 keep=1"},  \
                {.in = {"2x3x4"}, .attr = "axes=0,2"}, {.in = {"2x3x4"}, .attr = "axes=all"},  \
                {.in = {"1"}, .attr = "axes=0"}, {.in = {""}, .attr = "axes=all"},             \
                {.in = {"0x3"}, .attr = "axes=1"})

const ebb_attr_spec ebb__axes_attrs[] = {
    {"axes", EBB_ATTR_AXES, 0, false, "EBB_ALL, EBB_AXES(...) or EBB_KEEP(...)"},
    {0},
};

/* ---- shared ------------------------------------------------------------------------------ */
ebb_status ebb__reduce_shape(ebb__call *c, const ebb_axes *axes, ebb_dtype dtype,
                             const ebb__folder *f)
{
    bool reduced[EBB_MAX_DIMS];
    EBB_TRY(ebb__axes_resolve(reduced, axes, c->in[0].shape.n_dims));
    c->out[0].dtype = dtype;
    c->scratch_bytes = ebb__fold_scratch(&c->in[0].shape, reduced, f);
    return ebb__axes_shape(&c->out[0].shape, &c->in[0].shape, reduced, axes->keep);
}

ebb_status ebb__reduce_nonempty(const ebb__call *c, const ebb_axes *axes)
{
    char text[EBB__SHAPE_TEXT];
    bool reduced[EBB_MAX_DIMS];
    int64_t n = 1, kept = 1;
    const ebb_shape *s = &c->in[0].shape;
    EBB_TRY(ebb__axes_resolve(reduced, axes, s->n_dims));
    for (int64_t d = 0; d < s->n_dims; d++) *(reduced[d] ? &n : &kept) *= s->dims[d];
    if (n > 0 || kept == 0) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "x is %s: there is nothing along the reduced axes",
                     ebb__shape_text(text, sizeof text, s));
}

ebb_status ebb__reduce_forward(const ebb__call *c, const ebb_axes *axes, const ebb__folder *f)
{
    bool reduced[EBB_MAX_DIMS];
    EBB_TRY(ebb__axes_resolve(reduced, axes, c->in[0].shape.n_dims));
    ebb__fold(c, reduced, f);
    return EBB_OK;
}

void ebb__reduce_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    (void)n;
    const double *real = acc;
    const int64_t *whole = acc;
    void *out = c->out[0].data;
    bool is_float = ebb__dtype_is_float(c->in[0].dtype);
    for (int64_t i = 0; i < m; i++) {
        switch (c->out[0].dtype) {
        case EBB_F32:
            ((float *)out)[at + i] = (float)real[i];
            break;
        case EBB_F64:
            ((double *)out)[at + i] = real[i];
            break;
        case EBB_I64:
            ((int64_t *)out)[at + i] = whole[i];
            break;
        case EBB_I32:
            ((int32_t *)out)[at + i] = (int32_t)whole[i];
            break;
        case EBB_U8:
            ((uint8_t *)out)[at + i] = (uint8_t)whole[i];
            break;
        case EBB_BOOL:
            ((bool *)out)[at + i] = is_float ? real[i] != 0 : whole[i] != 0;
            break;
        case EBB_F16:
        case EBB_BF16: /* made as f32 and rounded */
            break;
        }
    }
}

static void mean_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    const double *sum = acc;
    for (int64_t i = 0; i < m; i++) {
        double mean = sum[i] / (double)n;
        ebb__reduce_finish(c, at + i, &mean, 1, n);
    }
}

ebb_axes ebb__axes_keeping(const ebb_axes *axes)
{
    ebb_axes kept = *axes;
    kept.keep = true;
    return kept;
}

int64_t ebb__reduce_count(ebb_vjp *v, const ebb_axes *axes)
{
    bool reduced[EBB_MAX_DIMS];
    ebb_shape s = ebb__in_shape(v, 0);
    int64_t n = 1;
    if (ebb__axes_resolve(reduced, axes, s.n_dims) != EBB_OK) return 0;
    for (int64_t d = 0; d < s.n_dims; d++)
        if (reduced[d]) n *= s.dims[d];
    return n;
}

ebb_tensor *ebb__reduce_keep(ebb_vjp *v, ebb_tensor *t, const ebb_axes *axes)
{
    bool reduced[EBB_MAX_DIMS];
    ebb_shape s = ebb__in_shape(v, 0);
    if (axes->keep) return t;
    if (ebb__axes_resolve(reduced, axes, s.n_dims) != EBB_OK) return NULL;
    for (int64_t d = 0; d < s.n_dims; d++)
        if (reduced[d]) s.dims[d] = 1;
    return EBB_EMIT(v, reshape, &s, t);
}

ebb_tensor *ebb__reduce_spread(ebb_vjp *v, ebb_tensor *t, const ebb_axes *axes)
{
    ebb_shape s = ebb__in_shape(v, 0);
    return EBB_EMIT(v, expand, &s, ebb__reduce_keep(v, t, axes));
}

/* ---- tables ------------------------------------------------------------------------------ */
#define FOLDER(name, type, acc, fin)                                                           \
    {                                                                                          \
        8, name##_start_##type, name##_row_##type, name##_cols_##type, name##_cols_##acc, fin, \
            false                                                                              \
    }
#define FOLDERS(name, fin)                                                                     \
    {                                                                                          \
        [EBB_F32] = FOLDER(name, f32, f64, fin), [EBB_F64] = FOLDER(name, f64, f64, fin),      \
        [EBB_I64] = FOLDER(name, i64, i64, fin), [EBB_I32] = FOLDER(name, i32, i64, fin),      \
        [EBB_U8] = FOLDER(name, u8, i64, fin), [EBB_BOOL] = FOLDER(name, bool, i64, fin)       \
    }
static const ebb__folder sum_folder[] = FOLDERS(sum, ebb__reduce_finish);
static const ebb__folder mean_folder[] = FOLDERS(sum, mean_finish);
static const ebb__folder prod_folder[] = FOLDERS(prod, ebb__reduce_finish);
static const ebb__folder amax_folder[] = FOLDERS(amax, ebb__reduce_finish);
static const ebb__folder amin_folder[] = FOLDERS(amin, ebb__reduce_finish);
static const ebb__folder any_folder[] = FOLDERS(any, ebb__reduce_finish);
static const ebb__folder all_folder[] = FOLDERS(all, ebb__reduce_finish);

#define REDUCE(op_name, need_bits, rule, text, ...)                                            \
    static ebb_status op_name##_forward(const ebb__call *c)                                    \
    {                                                                                          \
        return ebb__reduce_forward(c, c->attr,                                                 \
                                   ebb__folder_of(op_name##_folder, c->in[0].dtype));          \
    }                                                                                          \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .attr_bytes = sizeof(ebb_axes),                                                        \
        .attrs = ebb__axes_attrs,                                                              \
        .flags = EBB_OP_STRIDED | (__VA_ARGS__),                                               \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_bits},                                                                   \
        .shape = op_name##_shape,                                                              \
        .forward = op_name##_forward,                                                          \
        .vjp = rule,                                                                           \
        REDUCE_SAMPLES,                                                                        \
    };

/* ---- sum, mean, prod --------------------------------------------------------------------- */
static ebb_dtype sum_dtype(ebb_dtype d)
{
    return ebb__dtype_is_float(d) ? d : EBB_I64;
}
static ebb_status sum_shape(ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    return ebb__reduce_shape(c, c->attr, sum_dtype(d), ebb__folder_of(sum_folder, d));
}
static ebb_status mean_shape(ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    if (!ebb__dtype_is_float(d))
        return ebb__fail(EBB_E_DTYPE, "x is %s, f32 or f64 is needed; cast it",
                         ebb_dtype_name(d));
    return ebb__reduce_shape(c, c->attr, d, ebb__folder_of(mean_folder, d));
}
static ebb_status prod_shape(ebb__call *c)
{
    ebb_dtype d = c->in[0].dtype;
    return ebb__reduce_shape(c, c->attr, sum_dtype(d), ebb__folder_of(prod_folder, d));
}

static void sum_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, ebb__reduce_spread(v, ebb__grad(v, 0), v->attr));
}
static void mean_vjp(ebb_vjp *v)
{
    double share = 1 / (double)ebb__reduce_count(v, v->attr);
    ebb_tensor *g = EBB_EMIT(v, mul_scalar, &share, ebb__grad(v, 0));
    ebb__give(v, 0, ebb__reduce_spread(v, g, v->attr));
}
static void prod_vjp(ebb_vjp *v)
{
    ebb_axes axes = ebb__axes_keeping(v->attr);
    ebb_tensor *g = ebb__reduce_keep(v, ebb__grad(v, 0), v->attr);
    ebb__give(v, 0, EBB_EMIT(v, prod_grad, &axes, g, ebb__in(v, 0)));
}

REDUCE(sum, 0, sum_vjp, "Sum over axes; integers and bools give i64.", 0)
REDUCE(mean, 0, mean_vjp, "Mean over axes, f32 or f64; NaN of nothing.", 0)
REDUCE(prod, EBB_NEED_IN(0), prod_vjp,
       "Product over axes, 1 of nothing; integers and bools give i64.", 0)

/* ---- extremes: ties share the gradient --------------------------------------------------- */
static ebb_status extreme_shape(ebb__call *c, const ebb__folder *f)
{
    EBB_TRY(ebb__reduce_nonempty(c, c->attr));
    return ebb__reduce_shape(c, c->attr, c->in[0].dtype, f);
}
static ebb_status amax_shape(ebb__call *c)
{
    return extreme_shape(c, ebb__folder_of(amax_folder, c->in[0].dtype));
}
static ebb_status amin_shape(ebb__call *c)
{
    return extreme_shape(c, ebb__folder_of(amin_folder, c->in[0].dtype));
}
/* g / (number of extremes) where x is one. */
static void extreme_vjp(ebb_vjp *v)
{
    ebb_axes axes = ebb__axes_keeping(v->attr);
    ebb_dtype d = ebb__in_dtype(v, 0);
    ebb_tensor *y = ebb__reduce_keep(v, ebb__out(v, 0), v->attr);
    ebb_tensor *mask = EBB_EMIT(v, cast, &d, EBB_EMIT(v, eq, NULL, ebb__in(v, 0), y));
    ebb_tensor *g = ebb__reduce_keep(v, ebb__grad(v, 0), v->attr);
    ebb_tensor *share = EBB_EMIT(v, div, NULL, g, EBB_EMIT(v, sum, &axes, mask));
    ebb__give(v, 0, EBB_EMIT(v, mul, NULL, mask, share));
}

REDUCE(amax, EBB_NEED_IN(0) | EBB_NEED_OUT(0), extreme_vjp,
       "Largest value over axes; NaN wins; equal ones share the gradient.", 0)
REDUCE(amin, EBB_NEED_IN(0) | EBB_NEED_OUT(0), extreme_vjp,
       "Smallest value over axes; NaN wins; equal ones share the gradient.", 0)

/* ---- truths ------------------------------------------------------------------------------ */
static ebb_status any_shape(ebb__call *c)
{
    return ebb__reduce_shape(c, c->attr, EBB_BOOL, ebb__folder_of(any_folder, c->in[0].dtype));
}
static ebb_status all_shape(ebb__call *c)
{
    return ebb__reduce_shape(c, c->attr, EBB_BOOL, ebb__folder_of(all_folder, c->in[0].dtype));
}
REDUCE(any, 0, NULL, "True where any element over the axes is not 0; false of nothing.",
       EBB_OP_INTEGER)
REDUCE(all, 0, NULL, "True where every element over the axes is not 0; true of nothing.",
       EBB_OP_INTEGER)

/* ---- sum_to ------------------------------------------------------------------------------ */
static const ebb_attr_spec sum_to_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, 0, false, "one that broadcasts to x's"},
    {0},
};

static ebb_status sum_to_axes(bool reduced[EBB_MAX_DIMS], const ebb_shape *to,
                              const ebb_shape *from)
{
    char a[EBB__SHAPE_TEXT], b[EBB__SHAPE_TEXT];
    int64_t shift = from->n_dims - to->n_dims;
    bool fits = shift >= 0;
    for (int64_t d = 0; fits && d < from->n_dims; d++) {
        int64_t size = d < shift ? 1 : to->dims[d - shift];
        reduced[d] = d < shift || (size == 1 && from->dims[d] != 1);
        fits = reduced[d] || size == from->dims[d];
    }
    if (fits) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "x is %s, to which %s does not broadcast",
                     ebb__shape_text(a, sizeof a, from), ebb__shape_text(b, sizeof b, to));
}
static ebb_status sum_to_shape(ebb__call *c)
{
    bool reduced[EBB_MAX_DIMS];
    ebb_dtype d = c->in[0].dtype;
    if (!ebb__dtype_is_float(d))
        return ebb__fail(EBB_E_DTYPE, "x is %s, f32 or f64 is needed", ebb_dtype_name(d));
    EBB_TRY(sum_to_axes(reduced, c->attr, &c->in[0].shape));
    c->out[0].dtype = d;
    c->out[0].shape = *(const ebb_shape *)c->attr;
    c->scratch_bytes =
        ebb__fold_scratch(&c->in[0].shape, reduced, ebb__folder_of(sum_folder, d));
    return EBB_OK;
}
static ebb_status sum_to_forward(const ebb__call *c)
{
    bool reduced[EBB_MAX_DIMS];
    EBB_TRY(sum_to_axes(reduced, c->attr, &c->in[0].shape));
    ebb__fold(c, reduced, ebb__folder_of(sum_folder, c->in[0].dtype));
    return EBB_OK;
}
static void sum_to_vjp(ebb_vjp *v)
{
    ebb_shape s = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, expand, &s, ebb__grad(v, 0)));
}

const ebb_op ebb__op_sum_to = {
    EBB_OP_HEAD(sum_to),
    .doc = "Sums x back to a shape that was broadcast to its own.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_shape),
    .attrs = sum_to_attrs,
    .flags = EBB_OP_STRIDED | EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = sum_to_shape,
    .forward = sum_to_forward,
    .vjp = sum_to_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "shape=4"}, {.in = {"2x3x4"}, .attr = "shape=3x1"},
                {.in = {"3x4"}, .attr = "shape="}, {.in = {"1x1"}, .attr = "shape=1"},
                {.in = {"4x0"}, .attr = "shape=4x1"}),
};
