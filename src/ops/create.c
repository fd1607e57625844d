/* create.c - tensors from nothing but attributes.
 * SPDX-License-Identifier: MIT */
#include "ops/arith.h"
#include "ops/ids.h"
#include "ops/kernels/map.h"
#include "ops/parallel.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { FILL_GRAIN = 16384 };

/* ---- full, zeros, ones, full_like -------------------------------------------------------- */
typedef struct fill_job {
    char *data;
    size_t size;
    unsigned char element[8];
} fill_job;

EBB_CLONES static void fill_range(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const fill_job *j = arg;
    if (j->size == 4) {
        uint32_t value, *out = (uint32_t *)j->data;
        memcpy(&value, j->element, 4);
        for (int64_t i = lo; i < hi; i++) out[i] = value;
    } else if (j->size == 8) {
        uint64_t value, *out = (uint64_t *)j->data;
        memcpy(&value, j->element, 8);
        for (int64_t i = lo; i < hi; i++) out[i] = value;
    } else {
        memset(j->data + lo, j->element[0], (size_t)(hi - lo));
    }
}

static void fill_element(unsigned char element[8], ebb_dtype d, double value)
{
    float f32 = (float)value;
    int64_t whole = ebb__dtype_is_float(d) ? 0 : (int64_t)value;
    int32_t i32 = (int32_t)whole;
    switch (d) {
    case EBB_F32:
        memcpy(element, &f32, 4);
        break;
    case EBB_F64:
        memcpy(element, &value, 8);
        break;
    case EBB_I64:
        memcpy(element, &whole, 8);
        break;
    case EBB_I32:
        memcpy(element, &i32, 4);
        break;
    case EBB_U8:
        element[0] = (unsigned char)whole;
        break;
    case EBB_BOOL:
        element[0] = value != 0;
        break;
    case EBB_F16:
    case EBB_BF16: /* made as f32 and rounded */
        break;
    }
}

static ebb_status fill(const ebb__call *c, double value)
{
    const ebb_view *out = &c->out[0];
    fill_job j = {.data = out->data, .size = ebb__dtype_size(out->dtype)};
    fill_element(j.element, out->dtype, value);
    ebb__parallel(c->n_threads, ebb__n_elems(&out->shape), FILL_GRAIN, fill_range, &j);
    return EBB_OK;
}

static ebb_status create_shape(ebb__call *c, ebb_dtype d, const ebb_shape *s)
{
    if (ebb__dtype_size(d) == 0)
        return ebb__fail(EBB_E_DTYPE, "dtype %d is none of Ebb's", (int)d);
    EBB_TRY(ebb__shape_check(s, d));
    c->out[0].dtype = d;
    c->out[0].shape = *s;
    return EBB_OK;
}

typedef struct full_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double value;
} full_attr;

static const ebb_attr_spec full_attrs[] = {
    {"dtype", EBB_ATTR_DTYPE, offsetof(full_attr, dtype), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(full_attr, shape), false, NULL},
    {"value", EBB_ATTR_F64, offsetof(full_attr, value), false, "one that the dtype holds"},
    {0},
};

static ebb_status full_shape(ebb__call *c)
{
    const full_attr *k = c->attr;
    EBB_TRY(create_shape(c, k->dtype, &k->shape));
    return ebb__check_holds(k->dtype, k->value);
}
static ebb_status full_forward(const ebb__call *c)
{
    return fill(c, ((const full_attr *)c->attr)->value);
}

const ebb_op ebb__op_full = {
    EBB_OP_HEAD(full),
    .doc = "Every element is value.",
    .n_out = 1,
    .attr_bytes = sizeof(full_attr),
    .attrs = full_attrs,
    .flags = EBB_OP_CREATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = full_shape,
    .forward = full_forward,
    EBB_SAMPLES({.attr = "dtype=f32 shape=3x4 value=1.5"},
                {.attr = "dtype=i64 shape=5 value=-7"}, {.attr = "dtype=bool shape= value=1"},
                {.attr = "dtype=f64 shape=0x3 value=2"}),
};

typedef struct fill_attr {
    ebb_dtype dtype;
    ebb_shape shape;
} fill_attr;

static const ebb_attr_spec fill_attrs[] = {
    {"dtype", EBB_ATTR_DTYPE, offsetof(fill_attr, dtype), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(fill_attr, shape), false, NULL},
    {0},
};

static ebb_status fill_shape(ebb__call *c)
{
    const fill_attr *k = c->attr;
    return create_shape(c, k->dtype, &k->shape);
}
static ebb_status zeros_forward(const ebb__call *c)
{
    return fill(c, 0);
}
static ebb_status ones_forward(const ebb__call *c)
{
    return fill(c, 1);
}

#define FILL(op_name, text)                                                                    \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_out = 1,                                                                            \
        .attr_bytes = sizeof(fill_attr),                                                       \
        .attrs = fill_attrs,                                                                   \
        .flags = EBB_OP_CREATE,                                                                \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .shape = fill_shape,                                                                   \
        .forward = op_name##_forward,                                                          \
        EBB_SAMPLES({.attr = "dtype=f32 shape=3x4"}, {.attr = "dtype=i32 shape=5"},            \
                    {.attr = "dtype=u8 shape="}, {.attr = "dtype=f64 shape=0x3"}),             \
    };
FILL(zeros, "Every element is 0 (false).")
FILL(ones, "Every element is 1 (true).")

typedef struct full_like_attr {
    double value;
} full_like_attr;

static const ebb_attr_spec full_like_attrs[] = {
    {"value", EBB_ATTR_F64, offsetof(full_like_attr, value), false, "one that the dtype holds"},
    {0},
};

static ebb_status full_like_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_holds(c->in[0].dtype, ((const full_like_attr *)c->attr)->value));
    return ebb__shape_same(c);
}
static ebb_status full_like_forward(const ebb__call *c)
{
    return fill(c, ((const full_like_attr *)c->attr)->value);
}

const ebb_op ebb__op_full_like = {
    EBB_OP_HEAD(full_like),
    .doc = "Every element is value; dtype and shape are x's. Reads no element of x.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(full_like_attr),
    .attrs = full_like_attrs,
    .flags = EBB_OP_STRIDED,
    .bound = EBB_BOUND_MEMORY,
    .shape = full_like_shape,
    .forward = full_like_forward,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "value=3"}, {.in = {""}, .attr = "value=-1"},
                {.in = {"0x3"}, .attr = "value=2"}),
};

/* ---- arange, eye ------------------------------------------------------------------------- */
typedef struct arange_attr {
    ebb_dtype dtype;
    double start, stop, step;
} arange_attr;

static const ebb_attr_spec arange_attrs[] = {
    {"dtype", EBB_ATTR_DTYPE, offsetof(arange_attr, dtype), false, "a number's"},
    {"start", EBB_ATTR_F64, offsetof(arange_attr, start), false, "the first element"},
    {"stop", EBB_ATTR_F64, offsetof(arange_attr, stop), false, "not reached"},
    {"step", EBB_ATTR_F64, offsetof(arange_attr, step), false, "not 0; negative counts down"},
    {0},
};

/* The count is that of NumPy: ceil((stop - start) / step). */
static ebb_status arange_shape(ebb__call *c)
{
    const arange_attr *k = c->attr;
    if (k->dtype == EBB_BOOL)
        return ebb__fail(EBB_E_DTYPE, "dtype is bool, a number is needed");
    if (!isfinite(k->start) || !isfinite(k->stop) || !isfinite(k->step) || k->step == 0)
        return ebb__fail(EBB_E_RANGE,
                         "start is %g, stop is %g, step is %g: finite numbers and a "
                         "step other than 0 are needed",
                         k->start, k->stop, k->step);
    double n = ceil((k->stop - k->start) / k->step);
    if (n > 9e15) return ebb__fail(EBB_E_SHAPE, "%g elements are more than memory can hold", n);
    ebb_shape s = {1, {n > 0 ? (int64_t)n : 0}};
    EBB_TRY(create_shape(c, k->dtype, &s));
    if (s.dims[0] == 0) return EBB_OK;
    if (!ebb__dtype_is_float(k->dtype))
        EBB_TRY(ebb__check_holds(k->dtype, k->step < 0 ? -k->step : k->step));
    EBB_TRY(ebb__check_holds(k->dtype, k->start));
    return ebb__check_holds(k->dtype, k->start + (n - 1) * k->step);
}

static ebb_status arange_forward(const ebb__call *c)
{
    const arange_attr *k = c->attr;
    const ebb_view *out = &c->out[0];
    for (int64_t i = 0; i < out->shape.dims[0]; i++) {
        double value = k->start + (double)i * k->step;
        switch (out->dtype) {
        case EBB_F32:
            ((float *)out->data)[i] = (float)value;
            break;
        case EBB_F64:
            ((double *)out->data)[i] = value;
            break;
        case EBB_I64:
            ((int64_t *)out->data)[i] = (int64_t)k->start + i * (int64_t)k->step;
            break;
        case EBB_I32:
            ((int32_t *)out->data)[i] = (int32_t)value;
            break;
        default:
            ((uint8_t *)out->data)[i] = (uint8_t)value;
            break;
        }
    }
    return EBB_OK;
}

const ebb_op ebb__op_arange = {
    EBB_OP_HEAD(arange),
    .doc = "out[i] = start + i * step, for all i with out[i] before stop.",
    .n_out = 1,
    .attr_bytes = sizeof(arange_attr),
    .attrs = arange_attrs,
    .flags = EBB_OP_CREATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = arange_shape,
    .forward = arange_forward,
    EBB_SAMPLES({.attr = "dtype=f32 start=0 stop=5 step=0.5"},
                {.attr = "dtype=i64 start=10 stop=0 step=-3"},
                {.attr = "dtype=f64 start=0 stop=0 step=1"}),
};

typedef struct eye_attr {
    ebb_dtype dtype;
    int64_t n;
} eye_attr;

static const ebb_attr_spec eye_attrs[] = {
    {"dtype", EBB_ATTR_DTYPE, offsetof(eye_attr, dtype), false, NULL},
    {"n", EBB_ATTR_I64, offsetof(eye_attr, n), false, "rows and columns"},
    {0},
};

static ebb_status eye_shape(ebb__call *c)
{
    const eye_attr *k = c->attr;
    return create_shape(c, k->dtype, &(ebb_shape){2, {k->n, k->n}});
}
static ebb_status eye_forward(const ebb__call *c)
{
    const ebb_view *out = &c->out[0];
    int64_t n = out->shape.dims[0];
    size_t size = ebb__dtype_size(out->dtype);
    unsigned char one[8];
    fill_element(one, out->dtype, 1);
    memset(out->data, 0, (size_t)(n * n) * size);
    for (int64_t i = 0; i < n; i++)
        memcpy((char *)out->data + (size_t)(i * n + i) * size, one, size);
    return EBB_OK;
}

const ebb_op ebb__op_eye = {
    EBB_OP_HEAD(eye),
    .doc = "An n by n matrix with ones on the diagonal, else zeros.",
    .n_out = 1,
    .attr_bytes = sizeof(eye_attr),
    .attrs = eye_attrs,
    .flags = EBB_OP_CREATE,
    .bound = EBB_BOUND_MEMORY,
    .shape = eye_shape,
    .forward = eye_forward,
    EBB_SAMPLES({.attr = "dtype=f32 n=3"}, {.attr = "dtype=i64 n=1"},
                {.attr = "dtype=f64 n=0"}),
};
