/* random.c - tensors of random numbers: uniform, normal, bernoulli.
 *
 * Block base + i of the context's generator makes elements 4 i to 4 i + 3 in f32 (one word
 * each) and 2 i, 2 i + 1 in f64 (two words each): results do not depend on threads.
 * SPDX-License-Identifier: MIT */
#include "base/half.h"
#include "base/philox.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>

enum { RANDOM_BLOCKS = 64 };

typedef struct uniform_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double low, high;
} uniform_attr;
typedef struct normal_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double mean, std;
} normal_attr;
typedef struct bernoulli_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    double p;
} bernoulli_attr;

#define RANDOM_SPECS(type)                                                                     \
    {"dtype", EBB_ATTR_DTYPE, offsetof(type, dtype), false, NULL},                             \
    {                                                                                          \
        "shape", EBB_ATTR_SHAPE, offsetof(type, shape), false, NULL                            \
    }
static const ebb_attr_spec uniform_attrs[] = {
    RANDOM_SPECS(uniform_attr),
    {"low", EBB_ATTR_F64, offsetof(uniform_attr, low), false, "included"},
    {"high", EBB_ATTR_F64, offsetof(uniform_attr, high), false, "excluded"},
    {0}};
static const ebb_attr_spec normal_attrs[] = {
    RANDOM_SPECS(normal_attr),
    {"mean", EBB_ATTR_F64, offsetof(normal_attr, mean), false, NULL},
    {"std", EBB_ATTR_F64, offsetof(normal_attr, std), false,
     "standard deviation, not negative"},
    {0}};
static const ebb_attr_spec bernoulli_attrs[] = {
    RANDOM_SPECS(bernoulli_attr),
    {"p", EBB_ATTR_F64, offsetof(bernoulli_attr, p), false, "chance of 1, in [0, 1]"},
    {0}};

/* ---- running ---------------------------------------------------------------------------- */
/* Elements [at, at + count) of out from the words of their blocks. */
typedef void (*random_fn)(const ebb_view *out, int64_t at, int64_t count, const uint32_t *word,
                          const void *attr);
typedef struct random_work {
    const ebb__call *call;
    random_fn fn;
    int64_t each; /* elements of a block */
} random_work;

static int64_t words_of(ebb_dtype d)
{
    return d == EBB_F64 ? 2 : 1;
}

static void random_blocks(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const random_work *w = arg;
    const ebb__call *c = w->call;
    int64_t n = ebb__n_elems(&c->out[0].shape);
    uint32_t word[4 * RANDOM_BLOCKS];
    for (int64_t block = lo; block < hi; block += RANDOM_BLOCKS) {
        int64_t blocks = hi - block < RANDOM_BLOCKS ? hi - block : RANDOM_BLOCKS;
        int64_t at = w->each * block, count = w->each * blocks;
        if (count > n - at) count = n - at;
        ebb__philox_fill(word, blocks, c->random_key, c->random_base + (uint64_t)block);
        w->fn(&c->out[0], at, count, word, c->attr);
    }
}

static ebb_status random_run(const ebb__call *c, random_fn fn)
{
    random_work w = {c, fn, 4 / words_of(c->out[0].dtype)};
    int64_t n_blocks = (ebb__n_elems(&c->out[0].shape) + w.each - 1) / w.each;
    ebb__parallel(c->n_threads, n_blocks, ebb__grain(64), random_blocks, &w);
    return EBB_OK;
}

/* dtype and shape come first in every attribute struct here. */
static ebb_status random_shape(ebb__call *c)
{
    const bernoulli_attr *a = c->attr;
    EBB_TRY(ebb__shape_check(&a->shape, a->dtype));
    ebb__set_out(c, 0, a->dtype, &a->shape);
    c->n_random = ebb__n_elems(&a->shape) * words_of(a->dtype);
    return EBB_OK;
}

static ebb_status random_float_shape(ebb__call *c)
{
    ebb_dtype d = ((const bernoulli_attr *)c->attr)->dtype;
    if (!ebb__dtype_is_float(d))
        return ebb__fail(EBB_E_DTYPE, "dtype must be a floating one, it is %s",
                         ebb_dtype_name(d));
    return random_shape(c);
}

/* 53 random bits as a number in [0, 1). */
static double unit_f64(const uint32_t *word)
{
    uint64_t bits = (uint64_t)word[0] << 32 | word[1];
    return (double)(bits >> 11) * 0x1p-53;
}

/* ---- uniform ---------------------------------------------------------------------------- */
static ebb_status uniform_shape(ebb__call *c)
{
    const uniform_attr *a = c->attr;
    if (!(a->low <= a->high) || !isfinite(a->low) || !isfinite(a->high))
        return ebb__fail(EBB_E_RANGE,
                         "low is %g, high is %g: both finite and low <= high is needed", a->low,
                         a->high);
    return random_float_shape(c);
}

/* The 16-bit float below x, in a type whose infinities are where its exponent is all ones. */
static double half_below(double x, ebb_dtype d)
{
    uint16_t bits = d == EBB_F16 ? ebb__f16_of_float((float)x) : ebb__bf16_of_float((float)x);
    for (;;) {
        double y = d == EBB_F16 ? ebb__f16_to_float(bits) : ebb__bf16_to_float(bits);
        if (y < x) return y;
        bits = (uint16_t)((bits & 0x7fff) == 0 ? 0x8001 : bits + (bits & 0x8000 ? 1 : -1));
    }
}

/* The largest number of the type below high, which is excluded: rounding may reach it. low where
 * there is none from low on. */
static double uniform_end(const uniform_attr *a)
{
    double end;
    if (a->dtype == EBB_F64)
        end = nextafter(a->high, -INFINITY);
    else if (a->dtype != EBB_F32)
        end = half_below(a->high, a->dtype);
    else
        end = (float)a->high < a->high ? (float)a->high : nextafterf((float)a->high, -INFINITY);
    return end < a->low ? a->low : end;
}

static void uniform_piece(const ebb_view *out, int64_t at, int64_t count, const uint32_t *word,
                          const void *attr)
{
    const uniform_attr *a = attr;
    /* A width that overflows is taken in two halves. */
    double width = a->high - a->low, more = 0, end = uniform_end(a);
    if (isinf(width)) width = more = a->high / 2 - a->low / 2;
    if (out->dtype == EBB_F64) {
        double *to = (double *)out->data + at;
        for (int64_t i = 0; i < count; i++) {
            double u = unit_f64(word + 2 * i), value = a->low + width * u + more * u;
            to[i] = value < end ? value : end;
        }
        return;
    }
    float *to = (float *)out->data + at, last = (float)end;
    for (int64_t i = 0; i < count; i++) {
        double u = (double)(word[i] >> 8) * 0x1p-24;
        float value = (float)(a->low + width * u + more * u);
        to[i] = value < last ? value : last;
    }
}

static ebb_status uniform_forward(const ebb__call *c)
{
    return random_run(c, uniform_piece);
}

#define RANDOM_COMMON(name)                                                                    \
    .n_out = 1, .attr_bytes = sizeof(name##_attr), .attrs = name##_attrs,                      \
    .flags = EBB_OP_CREATE | EBB_OP_RANDOM, .bound = EBB_BOUND_MEMORY,                         \
    .forward = name##_forward

const ebb_op ebb__op_uniform = {
    EBB_OP_HEAD(uniform),
    .doc = "Numbers drawn evenly from [low, high).",
    RANDOM_COMMON(uniform),
    .shape = uniform_shape,
    EBB_SAMPLES({.attr = "dtype=f32 shape=3x4 low=-1 high=2"},
                {.attr = "dtype=f64 shape=5 low=0 high=1"},
                {.attr = "dtype=f32 shape= low=3 high=3"},
                {.attr = "dtype=f64 shape=0x2 low=0 high=1"}),
};

/* ---- normal ----------------------------------------------------------------------------- */
static ebb_status normal_shape(ebb__call *c)
{
    const normal_attr *a = c->attr;
    if (!(a->std >= 0) || !isfinite(a->std) || !isfinite(a->mean))
        return ebb__fail(EBB_E_RANGE,
                         "mean is %g, std is %g: both finite and std >= 0 is needed", a->mean,
                         a->std);
    return random_float_shape(c);
}

/* Box & Muller (1958): two normal numbers from two uniform ones, u in (0, 1], v in [0, 1). */
static void normal_pair(double out[2], double u, double v)
{
    double radius = sqrt(-2 * log(u)), angle = 6.283185307179586476925287 * v;
    out[0] = radius * cos(angle);
    out[1] = radius * sin(angle);
}

static void normal_piece(const ebb_view *out, int64_t at, int64_t count, const uint32_t *word,
                         const void *attr)
{
    const normal_attr *a = attr;
    double pair[2];
    for (int64_t i = 0; i < count; i += 2) {
        int64_t n = count - i < 2 ? 1 : 2;
        if (out->dtype == EBB_F64) {
            normal_pair(pair, 1 - unit_f64(word + 2 * i), unit_f64(word + 2 * i + 2));
            for (int64_t q = 0; q < n; q++)
                ((double *)out->data)[at + i + q] = a->mean + a->std * pair[q];
        } else {
            normal_pair(pair, ((double)word[i] + 1) * 0x1p-32, (double)word[i + 1] * 0x1p-32);
            for (int64_t q = 0; q < n; q++)
                ((float *)out->data)[at + i + q] = (float)(a->mean + a->std * pair[q]);
        }
    }
}

static ebb_status normal_forward(const ebb__call *c)
{
    return random_run(c, normal_piece);
}

const ebb_op ebb__op_normal = {
    EBB_OP_HEAD(normal),
    .doc = "Normally distributed numbers with the given mean and standard deviation.",
    RANDOM_COMMON(normal),
    .shape = normal_shape,
    EBB_SAMPLES({.attr = "dtype=f32 shape=3x4 mean=1 std=2"},
                {.attr = "dtype=f64 shape=5 mean=0 std=1"},
                {.attr = "dtype=f32 shape= mean=0 std=0"},
                {.attr = "dtype=f32 shape=0 mean=0 std=1"}),
};

/* ---- bernoulli -------------------------------------------------------------------------- */
static ebb_status bernoulli_shape(ebb__call *c)
{
    double p = ((const bernoulli_attr *)c->attr)->p;
    if (!(p >= 0 && p <= 1)) return ebb__fail(EBB_E_RANGE, "p is %g, it must be in [0, 1]", p);
    return random_shape(c);
}

static void bernoulli_piece(const ebb_view *out, int64_t at, int64_t count,
                            const uint32_t *word, const void *attr)
{
    double below = ((const bernoulli_attr *)attr)->p * 4294967296.0;
    int64_t step = words_of(out->dtype);
    for (int64_t i = 0; i < count; i++) {
        bool one = (double)word[i * step] < below;
        switch (out->dtype) {
        case EBB_F32:
            ((float *)out->data)[at + i] = one;
            break;
        case EBB_F64:
            ((double *)out->data)[at + i] = one;
            break;
        case EBB_I64:
            ((int64_t *)out->data)[at + i] = one;
            break;
        case EBB_I32:
            ((int32_t *)out->data)[at + i] = one;
            break;
        default:
            ((uint8_t *)out->data)[at + i] = one;
            break;
        }
    }
}

static ebb_status bernoulli_forward(const ebb__call *c)
{
    return random_run(c, bernoulli_piece);
}

const ebb_op ebb__op_bernoulli = {
    EBB_OP_HEAD(bernoulli),
    .doc = "1 with chance p, else 0, in any dtype.",
    RANDOM_COMMON(bernoulli),
    .shape = bernoulli_shape,
    EBB_SAMPLES({.attr = "dtype=f32 shape=3x4 p=0.5"}, {.attr = "dtype=bool shape=7 p=0.25"},
                {.attr = "dtype=i64 shape=5 p=1"}, {.attr = "dtype=f64 shape=2x2 p=0"}),
};
