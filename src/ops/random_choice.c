/* random_choice.c - random whole numbers, orders and choices: randint, randperm, multinomial.
 *
 * Each draw takes two words of the context's generator, 64 bits, so that none of the results
 * is likelier than another by more than 2^-64 of the number of them; which words is decided by the
 * position, not by threads.
 * SPDX-License-Identifier: MIT */
#include "base/philox.h"
#include "ops/arith.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <stddef.h>

/* Draws of a call in order, a block of two at a time. */
typedef struct draws {
    const ebb__call *c;
    int64_t i; /* of the next draw */
    uint32_t word[4];
} draws;

static uint64_t next_draw(draws *d)
{
    if (d->i % 2 == 0)
        ebb__philox_fill(d->word, 1, d->c->random_key,
                         d->c->random_base + (uint64_t)(d->i / 2));
    const uint32_t *w = d->word + d->i++ % 2 * 2;
    return (uint64_t)w[0] << 32 | w[1];
}
/* One of 0 ... n - 1. */
static uint64_t below(uint64_t draw, uint64_t n)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)draw * n >> 64);
}
/* In (0, 1]: 53 bits. */
static double unit(uint64_t draw)
{
    return ((double)(draw >> 11) + 1) * 0x1p-53;
}

/* ---- randint ----------------------------------------------------------------------------- */
typedef struct randint_attr {
    ebb_dtype dtype;
    ebb_shape shape;
    int64_t low, high;
} randint_attr;
static const ebb_attr_spec randint_attrs[] = {
    {"dtype", EBB_ATTR_DTYPE, offsetof(randint_attr, dtype), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(randint_attr, shape), false, NULL},
    {"low", EBB_ATTR_I64, offsetof(randint_attr, low), false, "included"},
    {"high", EBB_ATTR_I64, offsetof(randint_attr, high), false, "excluded"},
    {0}};

static ebb_status randint_shape(ebb__call *c)
{
    const randint_attr *a = c->attr;
    if (a->low >= a->high)
        return ebb__fail(EBB_E_RANGE, "low is %lld, high is %lld: low < high is needed",
                         (long long)a->low, (long long)a->high);
    EBB_TRY(ebb__shape_check(&a->shape, a->dtype));
    if (a->dtype != EBB_I64) {
        EBB_TRY(ebb__check_holds(a->dtype, (double)a->low));
        EBB_TRY(ebb__check_holds(a->dtype, (double)(a->high - 1)));
    }
    ebb__set_out(c, 0, a->dtype, &a->shape);
    c->n_random = 2 * ebb__n_elems(&a->shape);
    return EBB_OK;
}

static void randint_part(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const ebb__call *c = arg;
    const randint_attr *a = c->attr;
    const uint64_t n = (uint64_t)a->high - (uint64_t)a->low;
    int64_t count = ebb__n_elems(&a->shape);
    draws d = {.c = c, .i = 2 * lo};
    for (int64_t i = 2 * lo; i < 2 * hi && i < count; i++) {
        int64_t value = (int64_t)((uint64_t)a->low + below(next_draw(&d), n));
        switch (a->dtype) {
        case EBB_F32:
            ((float *)c->out[0].data)[i] = (float)value;
            break;
        case EBB_F64:
            ((double *)c->out[0].data)[i] = (double)value;
            break;
        case EBB_I64:
            ((int64_t *)c->out[0].data)[i] = value;
            break;
        case EBB_I32:
            ((int32_t *)c->out[0].data)[i] = (int32_t)value;
            break;
        default:
            ((uint8_t *)c->out[0].data)[i] = (uint8_t)value;
            break;
        }
    }
}
static ebb_status randint_forward(const ebb__call *c)
{
    randint_attr a = *(const randint_attr *)c->attr;
    ebb__call call = *c;
    a.dtype = c->out[0].dtype; /* f32 in place of a narrower type */
    call.attr = &a;
    int64_t n = ebb__n_elems(&a.shape);
    ebb__parallel(c->n_threads, (n + 1) / 2, ebb__grain(32), randint_part, &call);
    return EBB_OK;
}

const ebb_op ebb__op_randint = {
    EBB_OP_HEAD(randint),
    .doc = "Whole numbers drawn evenly from low, ..., high - 1, in any dtype that holds them.",
    .n_out = 1,
    .attr_bytes = sizeof(randint_attr),
    .attrs = randint_attrs,
    .flags = EBB_OP_CREATE | EBB_OP_RANDOM,
    .bound = EBB_BOUND_MEMORY,
    .shape = randint_shape,
    .forward = randint_forward,
    EBB_SAMPLES({.attr = "dtype=i64 shape=3x4 low=-5 high=9"},
                {.attr = "dtype=i32 shape=5 low=0 high=2"},
                {.attr = "dtype=u8 shape=7 low=0 high=256"},
                {.attr = "dtype=f32 shape= low=3 high=4"},
                {.attr = "dtype=i64 shape=0x2 low=0 high=1"}),
};

/* ---- randperm ---------------------------------------------------------------------------- */
typedef struct randperm_attr {
    int64_t n;
} randperm_attr;
static const ebb_attr_spec randperm_attrs[] = {
    {"n", EBB_ATTR_I64, offsetof(randperm_attr, n), false, "how many"}, {0}};

static ebb_status randperm_shape(ebb__call *c)
{
    int64_t n = ((const randperm_attr *)c->attr)->n;
    if (n < 0)
        return ebb__fail(EBB_E_RANGE, "n is %lld, it must not be negative", (long long)n);
    ebb_shape s = {1, {n}};
    EBB_TRY(ebb__shape_check(&s, EBB_I64));
    ebb__set_out(c, 0, EBB_I64, &s);
    c->n_random = 2 * n;
    return EBB_OK;
}
/* Fisher & Yates, from the inside out. */
static ebb_status randperm_forward(const ebb__call *c)
{
    int64_t n = ((const randperm_attr *)c->attr)->n, *out = c->out[0].data;
    draws d = {.c = c};
    for (int64_t i = 0; i < n; i++) {
        int64_t k = (int64_t)below(next_draw(&d), (uint64_t)i + 1);
        out[i] = out[k];
        out[k] = i;
    }
    return EBB_OK;
}

const ebb_op ebb__op_randperm = {
    EBB_OP_HEAD(randperm),
    .doc = "The numbers 0, ..., n - 1 (i64) in a random order, each order equally likely.",
    .n_out = 1,
    .attr_bytes = sizeof(randperm_attr),
    .attrs = randperm_attrs,
    .flags = EBB_OP_CREATE | EBB_OP_RANDOM,
    .bound = EBB_BOUND_MEMORY,
    .shape = randperm_shape,
    .forward = randperm_forward,
    EBB_SAMPLES({.attr = "n=7"}, {.attr = "n=1"}, {.attr = "n=0"}, {.attr = "n=1000"},
                {.attr = "n=2"}),
};

/* ---- multinomial ------------------------------------------------------------------------- */
typedef struct multinomial_attr {
    bool replacement;
    int64_t n;
} multinomial_attr;
static const ebb_attr_spec multinomial_attrs[] = {
    {"replacement", EBB_ATTR_BOOL, offsetof(multinomial_attr, replacement), true,
     "a class may be drawn again"},
    {"n", EBB_ATTR_I64, offsetof(multinomial_attr, n), false, "draws from each row"},
    {0}};

/* The n best of a race so far: a heap, the worst on top. */
typedef struct racer {
    double time;
    int64_t class;
} racer;

static bool later(const racer *a, const racer *b)
{
    return a->time > b->time || (a->time == b->time && a->class > b->class);
}
static void sink(racer *heap, int64_t n, int64_t i)
{
    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && later(&heap[child + 1], &heap[child])) child++;
        if (!later(&heap[child], &heap[i])) return;
        racer swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
    }
}

static int64_t classes_of(const ebb__call *c)
{
    const ebb_shape *s = &c->in[0].shape;
    return s->n_dims > 0 ? s->dims[s->n_dims - 1] : 0;
}
static ebb_status multinomial_shape(ebb__call *c)
{
    const multinomial_attr *a = c->attr;
    ebb_shape s = c->in[0].shape;
    EBB_TRY(ebb__check_float(c, 0));
    if (s.n_dims != 1 && s.n_dims != 2)
        return ebb__fail(EBB_E_SHAPE,
                         "p must be (classes) or (rows, classes), it has %d dimensions",
                         (int)s.n_dims);
    int64_t classes = classes_of(c), rows = s.n_dims == 2 ? s.dims[0] : 1;
    if (a->n < 1 || (!a->replacement && a->n > classes))
        return ebb__fail(
            EBB_E_RANGE,
            "n is %lld for %lld classes: at least 1 is needed, and no more than classes "
            "without replacement",
            (long long)a->n, (long long)classes);
    s.dims[s.n_dims - 1] = a->n;
    EBB_TRY(ebb__shape_check(&s, EBB_I64));
    ebb__set_out(c, 0, EBB_I64, &s);
    c->n_random = 2 * rows * (a->replacement ? a->n : classes);
    c->scratch_bytes =
        a->replacement ? (size_t)classes * sizeof(double) : (size_t)a->n * sizeof(racer);
    return EBB_OK;
}

static double weight_at(const ebb_view *p, int64_t i)
{
    return p->dtype == EBB_F64 ? ((const double *)p->data)[i]
                               : (double)((const float *)p->data)[i];
}
static ebb_status check_row(const ebb_view *p, int64_t row, int64_t classes, int64_t n)
{
    double sum = 0;
    int64_t possible = 0;
    for (int64_t k = 0; k < classes; k++) {
        double w = weight_at(p, row * classes + k);
        if (!(w >= 0 && w < INFINITY))
            return ebb__fail(EBB_E_RANGE,
                             "weight %g of class %lld in row %lld is not a number >= 0", w,
                             (long long)k, (long long)row);
        sum += w;
        possible += w > 0;
    }
    if (possible >= n && possible > 0 && sum < INFINITY) return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "row %lld has %lld weights above 0, %lld are needed",
                     (long long)row, (long long)possible, (long long)n);
}

/* Each draw falls into the interval of one class; one of weight 0 has none. */
static void draw_again(int64_t *out, draws *d, const double *up_to, int64_t classes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double at = unit(next_draw(d)) * up_to[classes - 1]; /* (0, sum] */
        int64_t lo = 0, hi = classes - 1;
        while (lo < hi) {
            int64_t middle = lo + (hi - lo) / 2;
            if (up_to[middle] >= at)
                hi = middle;
            else
                lo = middle + 1;
        }
        out[i] = lo;
    }
}
/* Times of arrival, exponential with the weight as rate: the first n are n draws without
 * replacement, in order. Efraimidis & Spirakis, Weighted random sampling (2006). */
static void draw_once(int64_t *out, draws *d, racer *heap, const ebb_view *p, int64_t row,
                      int64_t classes, int64_t n)
{
    int64_t held = 0;
    for (int64_t k = 0; k < classes; k++) {
        double w = weight_at(p, row * classes + k), u = unit(next_draw(d));
        racer r = {w > 0 ? -log(u) / w : INFINITY, k};
        if (!(w > 0)) continue;
        if (held < n) {
            heap[held++] = r;
            if (held == n)
                for (int64_t i = n / 2; i-- > 0;) sink(heap, n, i);
        } else if (later(&heap[0], &r)) {
            heap[0] = r;
            sink(heap, n, 0);
        }
    }
    for (int64_t left = n; left-- > 0;) {
        out[left] = heap[0].class;
        heap[0] = heap[left];
        sink(heap, left, 0);
    }
}

static ebb_status multinomial_forward(const ebb__call *c)
{
    const multinomial_attr *a = c->attr;
    const ebb_view *p = &c->in[0];
    int64_t classes = classes_of(c), rows = p->shape.n_dims == 2 ? p->shape.dims[0] : 1;
    draws d = {.c = c};
    for (int64_t row = 0; row < rows; row++)
        EBB_TRY(check_row(p, row, classes, a->replacement ? 1 : a->n));
    for (int64_t row = 0; row < rows; row++) {
        int64_t *out = (int64_t *)c->out[0].data + row * a->n;
        if (!a->replacement) {
            draw_once(out, &d, c->scratch, p, row, classes, a->n);
            continue;
        }
        double *up_to = c->scratch, sum = 0;
        for (int64_t k = 0; k < classes; k++) up_to[k] = sum += weight_at(p, row * classes + k);
        draw_again(out, &d, up_to, classes, a->n);
    }
    return EBB_OK;
}

const ebb_op ebb__op_multinomial = {
    EBB_OP_HEAD(multinomial),
    .doc = "n classes (i64) drawn from each row of weights p, which need not sum to 1.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"p"},
    .attr_bytes = sizeof(multinomial_attr),
    .options_bytes = sizeof(bool),
    .attrs = multinomial_attrs,
    .options = "multinomial",
    .flags = EBB_OP_RANDOM | EBB_OP_INTEGER,
    .bound = EBB_BOUND_MEMORY,
    .shape = multinomial_shape,
    .forward = multinomial_forward,
    .range = {{0.1, 2, 0}},
    EBB_SAMPLES({.in = {"3x4"}, .attr = "n=2"}, {.in = {"5"}, .attr = "n=20 replacement=1"},
                {.in = {"4"}, .attr = "n=4"}, {.in = {"2x7"}, .attr = "n=3 replacement=1"},
                {.in = {"0x3"}, .attr = "n=1"}),
};
