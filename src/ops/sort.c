/* sort.c - order along an axis: sort, argsort, topk, median.
 *
 * Elements are ordered by a 64-bit key that compares as they do, -0 as 0, NaN above infinity;
 * equal keys by their place, so every result is the stable one and depends on nothing else.
 * Values are copied by place, bits and all.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/index.h"
#include "ops/parallel.h"
#include "ops/reduce.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

typedef struct item {
    int64_t key, place;
} item;

enum { INSERTION = 12 }; /* shorter runs are sorted by insertion */

/* ---- keys -------------------------------------------------------------------------------- */
/* Negative floats count down from their bits. */
static int64_t float_key(double x)
{
    int64_t bits;
    if (x != x) return INT64_MAX;
    if (x == 0) return 0;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? bits ^ INT64_MAX : bits;
}

/* n elements, `step` apart; down: the order turned round, but not that of equal ones. */
static void load_keys(item *to, const ebb_view *v, int64_t at, int64_t step, int64_t n,
                      bool down)
{
    const int64_t turn = down ? -1 : 0;
    for (int64_t i = 0; i < n; i++, at += step) {
        int64_t key;
        if (v->dtype == EBB_F32)
            key = float_key((double)((const float *)v->data)[at]);
        else if (v->dtype == EBB_F64)
            key = float_key(((const double *)v->data)[at]);
        else
            key = ebb__index_at(v, at);
        to[i] = (item){key ^ turn, i};
    }
}

static bool before(const item *a, const item *b)
{
    return a->key < b->key || (a->key == b->key && a->place < b->place);
}

/* ---- sorting ----------------------------------------------------------------------------- */
static void insertion_sort(item *x, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        item one = x[i];
        int64_t k = i;
        for (; k > 0 && before(&one, &x[k - 1]); k--) x[k] = x[k - 1];
        x[k] = one;
    }
}

/* to = the items of two sorted runs in order; the choice is made without a branch. */
static void merge(item *to, const item *a, const item *a_end, const item *b, const item *b_end)
{
    while (a < a_end && b < b_end) {
        bool second = before(b, a);
        *to++ = *(second ? b : a);
        b += second, a += !second;
    }
    if (a < a_end) memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
    to += a_end - a;
    if (b < b_end) memcpy(to, b, (size_t)(b_end - b) * sizeof *b);
}

/* Merge sort from runs of INSERTION up; other has room for n. The result is in x or other, which
 * is returned. */
static item *merge_sort(item *x, item *other, int64_t n)
{
    for (int64_t i = 0; i < n; i += INSERTION)
        insertion_sort(x + i, n - i < INSERTION ? n - i : INSERTION);
    for (int64_t run = INSERTION; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t middle = i + run < n ? i + run : n,
                    end = middle + run < n ? middle + run : n;
            merge(other + i, x + i, x + middle, x + middle, x + end);
        }
        item *sorted = other;
        other = x;
        x = sorted;
    }
    return x;
}

/* Puts the k smallest first, in any order, and the k-th of them (from 1) at k - 1: Hoare's
 * selection with the median of three; where that goes badly the rest is sorted. */
static void select_first(item *x, item *other, int64_t n, int64_t k)
{
    int64_t lo = 0, hi = n - 1;
    for (int budget = 128; hi - lo > INSERTION; budget--) {
        if (budget == 0) {
            item *sorted = merge_sort(x + lo, other, hi - lo + 1);
            if (sorted != x + lo) memcpy(x + lo, sorted, (size_t)(hi - lo + 1) * sizeof *x);
            return;
        }
        item three[3] = {x[lo], x[lo + (hi - lo) / 2], x[hi]};
        insertion_sort(three, 3);
        const item pivot = three[1];
        int64_t i = lo, j = hi;
        while (i <= j) {
            while (before(&x[i], &pivot)) i++;
            while (before(&pivot, &x[j])) j--;
            if (i > j) break;
            item swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        if (k - 1 <= j)
            hi = j;
        else if (k - 1 >= i)
            lo = i;
        else
            return;
    }
    insertion_sort(x + lo, hi - lo + 1);
}

/* ---- lines ------------------------------------------------------------------------------- */
typedef enum order_kind { ORDER_SORT, ORDER_ARGSORT, ORDER_TOPK, ORDER_MEDIAN } order_kind;
typedef struct order_work {
    const ebb__call *c;
    order_kind kind;
    ebb__around around; /* of x */
    int64_t m;          /* results of a line */
    bool down;
    item *room; /* 2 n items for each part */
} order_work;

static int64_t order_grain(int64_t n)
{
    int64_t rounds = 4;
    for (int64_t left = n; left > 1; left /= 2) rounds += 4;
    return ebb__grain(n * rounds);
}
static size_t order_scratch(const ebb__call *c, const ebb__around *a)
{
    int32_t parts = ebb__n_parts(c->n_threads, a->outer * a->inner, order_grain(a->n));
    return (size_t)parts * (size_t)a->n * 2 * sizeof(item);
}

/* Writes the first m items: places to the last output, values to the first of two. */
static void store_items(const order_work *w, const item *x, int64_t line)
{
    const ebb__call *c = w->c;
    const int64_t inner = w->around.inner, outer = line / inner, in = line % inner;
    const size_t size = ebb__dtype_size(c->in[0].dtype);
    int64_t *places = c->out[c->n_out - 1].data;
    for (int64_t i = 0; i < w->m; i++) {
        int64_t to = (outer * w->m + i) * inner + in;
        int64_t from = (outer * w->around.n + x[i].place) * inner + in;
        places[to] = x[i].place;
        if (c->n_out == 2)
            memcpy((char *)c->out[0].data + (size_t)to * size,
                   (const char *)c->in[0].data + (size_t)from * size, size);
    }
}

/* The first NaN, or the item in the middle (the lower of two). */
static item middle_item(const order_work *w, item *x, item *other, int64_t n)
{
    bool is_float = ebb__dtype_is_float(w->c->in[0].dtype);
    for (int64_t i = 0; is_float && i < n; i++)
        if (x[i].key == INT64_MAX) return x[i];
    select_first(x, other, n, (n - 1) / 2 + 1);
    return x[(n - 1) / 2];
}

static void order_lines(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const order_work *w = arg;
    const int64_t n = w->around.n, inner = w->around.inner;
    item *x = w->room + 2 * n * part, *other = x + n;
    for (int64_t line = lo; line < hi; line++) {
        load_keys(x, &w->c->in[0], line / inner * n * inner + line % inner, inner, n, w->down);
        if (w->kind == ORDER_MEDIAN) {
            item one = middle_item(w, x, other, n);
            store_items(w, &one, line);
            continue;
        }
        if (w->m < n) select_first(x, other, n, w->m);
        store_items(w, merge_sort(x, other, w->m), line);
    }
}

static ebb_status order_run(const ebb__call *c, order_work *w)
{
    w->c = c;
    w->room = c->scratch;
    int64_t lines = w->around.outer * w->around.inner;
    if (w->around.n > 0 && w->m > 0)
        ebb__parallel(c->n_threads, lines, order_grain(w->around.n), order_lines, w);
    return EBB_OK;
}

/* The values' gradient to where they came from. */
static void order_vjp_along(ebb_vjp *v, int64_t axis)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (g == EBB_NONE) return;
    ebb__index_grad_attr attr = {axis, ebb__in_shape(v, 0)};
    if (attr.axis < 0) attr.axis += attr.shape.n_dims;
    ebb__give(v, 0, EBB_EMIT(v, gather_grad, &attr, g, ebb__out(v, 1)));
}

/* ---- sort, argsort ----------------------------------------------------------------------- */
typedef struct sort_attr {
    bool descending;
    int64_t axis;
} sort_attr;
static const ebb_attr_spec sort_attrs[] = {
    {"descending", EBB_ATTR_BOOL, offsetof(sort_attr, descending), true,
     "the largest first (NaN before all)"},
    {"axis", EBB_ATTR_I64, offsetof(sort_attr, axis), false, "negative: from the end"},
    {0},
};

static ebb_status sort_shape(ebb__call *c)
{
    int64_t axis = ((const sort_attr *)c->attr)->axis;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    ebb__around a = ebb__around_axis(&c->in[0].shape, axis);
    if (c->n_out == 2) ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    ebb__set_out(c, c->n_out - 1, EBB_I64, &c->in[0].shape);
    c->scratch_bytes = order_scratch(c, &a);
    return EBB_OK;
}
static ebb_status sort_forward(const ebb__call *c)
{
    const sort_attr *k = c->attr;
    int64_t axis = k->axis;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    order_work w = {.kind = c->n_out == 2 ? ORDER_SORT : ORDER_ARGSORT,
                    .around = ebb__around_axis(&c->in[0].shape, axis),
                    .down = k->descending};
    w.m = w.around.n;
    return order_run(c, &w);
}
static void sort_vjp(ebb_vjp *v)
{
    order_vjp_along(v, ((const sort_attr *)v->attr)->axis);
}

#define SORT_COMMON                                                                            \
    .n_in = 1, .arg = {"x"}, .attr_bytes = sizeof(sort_attr), .options_bytes = sizeof(bool),   \
    .attrs = sort_attrs, .options = "sort", .bound = EBB_BOUND_COMPUTE, .shape = sort_shape,   \
    .forward = sort_forward,                                                                   \
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axis=0"}, {.in = {"3x40"}, .attr = "axis=-1"},        \
                {.in = {"2x3x4"}, .attr = "axis=1 descending=1"},                              \
                {.in = {"i64:50<7"}, .attr = "axis=0 descending=1"},                           \
                {.in = {"1"}, .attr = "axis=0"}, {.in = {"2x0"}, .attr = "axis=1"})

const ebb_op ebb__op_sort = {
    EBB_OP_HEAD(sort),
    .doc = "The elements along an axis in ascending order and their places (i64); stable, NaN "
           "above infinity.",
    .n_out = 2,
    .result = {"values", "indices"},
    .need = {EBB_NEED_OUT(1)},
    .vjp = sort_vjp,
    SORT_COMMON,
};
const ebb_op ebb__op_argsort = {
    EBB_OP_HEAD(argsort),
    .doc =
        "The places (i64) of the elements along an axis in ascending order; stable, NaN above "
        "infinity.",
    .n_out = 1,
    .flags = EBB_OP_INTEGER,
    SORT_COMMON,
};

/* ---- topk -------------------------------------------------------------------------------- */
typedef struct topk_attr {
    bool smallest;
    int64_t k, axis;
} topk_attr;
static const ebb_attr_spec topk_attrs[] = {
    {"smallest", EBB_ATTR_BOOL, offsetof(topk_attr, smallest), true, "instead of the largest"},
    {"k", EBB_ATTR_I64, offsetof(topk_attr, k), false, "how many, at most the axis' length"},
    {"axis", EBB_ATTR_I64, offsetof(topk_attr, axis), false, "negative: from the end"},
    {0},
};

static ebb_status topk_shape(ebb__call *c)
{
    const topk_attr *t = c->attr;
    int64_t axis = t->axis;
    ebb_shape s = c->in[0].shape;
    EBB_TRY(ebb__axis_check(&axis, s.n_dims));
    ebb__around a = ebb__around_axis(&s, axis);
    if (t->k < 0 || t->k > a.n)
        return ebb__fail(EBB_E_RANGE, "k is %lld, the axis has %lld elements", (long long)t->k,
                         (long long)a.n);
    s.dims[axis] = t->k;
    ebb__set_out(c, 0, c->in[0].dtype, &s);
    ebb__set_out(c, 1, EBB_I64, &s);
    c->scratch_bytes = order_scratch(c, &a);
    return EBB_OK;
}
static ebb_status topk_forward(const ebb__call *c)
{
    const topk_attr *t = c->attr;
    int64_t axis = t->axis;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    order_work w = {.kind = ORDER_TOPK,
                    .around = ebb__around_axis(&c->in[0].shape, axis),
                    .m = t->k,
                    .down = !t->smallest};
    return order_run(c, &w);
}
static void topk_vjp(ebb_vjp *v)
{
    order_vjp_along(v, ((const topk_attr *)v->attr)->axis);
}

const ebb_op ebb__op_topk = {
    EBB_OP_HEAD(topk),
    .doc =
        "The k largest elements along an axis, largest first, and their places (i64); of equal "
        "ones the first come first, NaN counts as largest.",
    .n_in = 1,
    .n_out = 2,
    .arg = {"x"},
    .result = {"values", "indices"},
    .attr_bytes = sizeof(topk_attr),
    .options_bytes = sizeof(bool),
    .attrs = topk_attrs,
    .options = "topk",
    .bound = EBB_BOUND_COMPUTE,
    .need = {EBB_NEED_OUT(1)},
    .shape = topk_shape,
    .forward = topk_forward,
    .vjp = topk_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "k=2 axis=0"}, {.in = {"3x40"}, .attr = "k=5 axis=-1"},
                {.in = {"2x5x4"}, .attr = "k=3 axis=1 smallest=1"},
                {.in = {"i64:50<7"}, .attr = "k=9 axis=0"}, {.in = {"4"}, .attr = "k=4 axis=0"},
                {.in = {"0x3"}, .attr = "k=1 axis=1"}, {.in = {"3"}, .attr = "k=0 axis=0"}),
};

/* ---- median ------------------------------------------------------------------------------ */
/* All axes: one line. */
static ebb_status median_around(ebb__around *a, const ebb__call *c)
{
    const ebb_axes *axes = c->attr;
    const ebb_shape *s = &c->in[0].shape;
    bool reduced[EBB_MAX_DIMS];
    int64_t axis = 0, n_reduced = 0;
    EBB_TRY(ebb__axes_resolve(reduced, axes, s->n_dims));
    for (int64_t d = 0; d < s->n_dims; d++)
        if (reduced[d]) axis = d, n_reduced++;
    if (n_reduced != 1 && n_reduced != s->n_dims)
        return ebb__fail(EBB_E_RANGE, "%lld axes are given, one or EBB_ALL is allowed",
                         (long long)n_reduced);
    *a = (ebb__around){1, ebb__n_elems(s), 1};
    if (n_reduced == 1) *a = ebb__around_axis(s, axis);
    return EBB_OK;
}
static ebb_status median_shape(ebb__call *c)
{
    const ebb_axes *axes = c->attr;
    const ebb_shape *s = &c->in[0].shape;
    bool reduced[EBB_MAX_DIMS];
    ebb__around a;
    ebb_shape out;
    EBB_TRY(median_around(&a, c));
    EBB_TRY(ebb__reduce_nonempty(c, axes));
    EBB_TRY(ebb__axes_resolve(reduced, axes, s->n_dims));
    EBB_TRY(ebb__axes_shape(&out, s, reduced, axes->keep));
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    ebb__set_out(c, 1, EBB_I64, &out);
    c->scratch_bytes = order_scratch(c, &a);
    return EBB_OK;
}
static ebb_status median_forward(const ebb__call *c)
{
    order_work w = {.kind = ORDER_MEDIAN, .m = 1};
    EBB_TRY(median_around(&w.around, c));
    return order_run(c, &w);
}
static void median_vjp(ebb_vjp *v)
{
    ebb__place_axes k = {.axes = ebb__axes_keeping(v->attr), .shape = ebb__in_shape(v, 0)};
    ebb_tensor *g = ebb__grad(v, 0);
    if (g == EBB_NONE) return;
    g = ebb__reduce_keep(v, g, v->attr);
    ebb_tensor *place = ebb__reduce_keep(v, ebb__out(v, 1), v->attr);
    ebb__give(v, 0, EBB_EMIT(v, axis_put, &k, g, place));
}

const ebb_op ebb__op_median = {
    EBB_OP_HEAD(median),
    .doc =
        "The element in the middle (the lower of two) along one axis or all, and its place "
        "(i64), of equal ones as in a stable sort; NaN wins. The gradient goes to that place.",
    .n_in = 1,
    .n_out = 2,
    .arg = {"x"},
    .result = {"values", "indices"},
    .attr_bytes = sizeof(ebb_axes),
    .attrs = ebb__axes_attrs,
    .bound = EBB_BOUND_COMPUTE,
    .need = {EBB_NEED_OUT(1)},
    .shape = median_shape,
    .forward = median_forward,
    .vjp = median_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=0"}, {.in = {"3x40"}, .attr = "axes=-1 keep=1"},
                {.in = {"2x5x4"}, .attr = "axes=1"}, {.in = {"5x7"}, .attr = "axes=all"},
                {.in = {"i64:50<7"}, .attr = "axes=0"}, {.in = {""}, .attr = "axes=all"},
                {.in = {"0x3"}, .attr = "axes=1"}),
};
