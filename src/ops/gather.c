/* gather.c - elements chosen by index along one axis: gather and scatter_add.
 *
 * index has x's rank and is nowhere longer than x, the axis aside. A line is what lies along the
 * axis; additions go through each line of the index in order on one thread: repeated places add up
 * in one order, whatever the number of threads.
 * SPDX-License-Identifier: MIT */
#include "ops/index.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <stddef.h>
#include <string.h>

typedef struct gather_attr {
    int64_t axis;
} gather_attr;
static const ebb_attr_spec gather_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(gather_attr, axis), false, "negative: from the end"}, {0}};
static const ebb_attr_spec gather_grad_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(ebb__index_grad_attr, axis), false, NULL},
    {"shape", EBB_ATTR_SHAPE, offsetof(ebb__index_grad_attr, shape), false, NULL},
    {0}};

/* ---- kernels ---------------------------------------------------------------------------- */
/* Goes through index in C order and says which element of x each names. */
typedef struct gather_walk {
    const ebb_view *index;
    int64_t axis, n, i;         /* i: position in index */
    int64_t at[EBB_MAX_DIMS];   /* the same as coordinates */
    int64_t step[EBB_MAX_DIMS]; /* of x, in C order; 0 for the axis */
    int64_t axis_step, base;
} gather_walk;

static gather_walk walk_start(const ebb_view *index, const ebb_shape *x, int64_t axis)
{
    gather_walk w = {.index = index, .axis = axis, .n = x->dims[axis]};
    int64_t step = 1;
    for (int64_t d = x->n_dims - 1; d >= 0; d--) {
        w.step[d] = step;
        step *= x->dims[d];
    }
    w.axis_step = w.step[axis];
    w.step[axis] = 0;
    return w;
}

/* To position i of index. */
static void walk_to(gather_walk *w, int64_t i)
{
    const ebb_shape *s = &w->index->shape;
    w->i = i;
    w->base = 0;
    for (int64_t d = s->n_dims - 1; d >= 0; d--) {
        w->at[d] = i % s->dims[d];
        w->base += w->at[d] * w->step[d];
        i /= s->dims[d];
    }
}

/* How many positions from here on, at most to `end`, have neighbouring bases: the rest of a row. */
static int64_t walk_run(const gather_walk *w, int64_t end)
{
    int64_t last = w->index->shape.n_dims - 1, left = w->index->shape.dims[last] - w->at[last];
    return left < end - w->i ? left : end - w->i;
}

/* On by n positions of the same row. */
static void walk_skip(gather_walk *w, int64_t n)
{
    const ebb_shape *s = &w->index->shape;
    int64_t d = s->n_dims - 1;
    w->i += n, w->at[d] += n, w->base += n * w->step[d];
    for (; w->at[d] == s->dims[d] && d > 0; d--) {
        w->base += w->step[d - 1] - w->step[d] * s->dims[d];
        w->at[d] = 0;
        w->at[d - 1]++;
    }
}

/* Where position i of index, j places on in its row, points. */
static inline int64_t walk_place(const gather_walk *w, int64_t j)
{
    return w->base + j * w->step[w->index->shape.n_dims - 1] +
           ebb__index_wrap(ebb__index_at(w->index, w->i + j), w->n) * w->axis_step;
}

typedef struct gather_work {
    gather_walk start;
    ebb__around around; /* of index */
    ebb_dtype dtype;
    const char *from;
    char *to;
} gather_work;

#define GATHER_RUN(T)                                                                          \
    for (int64_t j = 0; j < run; j++)                                                          \
    ((T *)k->to)[w.i + j] = ((const T *)k->from)[walk_place(&w, j)]
/* out[i] = x[place i] for positions [lo, hi), by size of element. */
static void gather_part(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const gather_work *k = arg;
    gather_walk w = k->start;
    size_t size = ebb__dtype_size(k->dtype);
    walk_to(&w, lo);
    for (int64_t run; w.i < hi; walk_skip(&w, run)) {
        run = walk_run(&w, hi);
        if (size == 8)
            GATHER_RUN(uint64_t);
        else if (size == 4)
            GATHER_RUN(uint32_t);
        else if (size == 2)
            GATHER_RUN(uint16_t);
        else
            GATHER_RUN(uint8_t);
    }
}

static void gather_all(const ebb__call *c, int64_t axis)
{
    gather_work k = {.start = walk_start(&c->in[1], &c->in[0].shape, axis),
                     .dtype = c->in[0].dtype,
                     .from = c->in[0].data,
                     .to = c->out[0].data};
    int64_t n = ebb__n_elems(&c->in[1].shape);
    if (n > 0) ebb__parallel(c->n_threads, n, ebb__grain(4), gather_part, &k);
}

#define ADD_RUN(T)                                                                             \
    for (int64_t j = 0; j < run; j++) {                                                        \
        T *to = (T *)k->to + walk_place(&w, j);                                                \
        *to = (T)(*to + ((const T *)k->from)[w.i + j]);                                        \
    }
/* out[place i] += from[i] for positions [i, end); whole numbers wrap round. */
static void add_run(const gather_work *k, int64_t i, int64_t end)
{
    gather_walk w = k->start;
    walk_to(&w, i);
    for (int64_t run; w.i < end; walk_skip(&w, run)) {
        run = walk_run(&w, end);
        if (k->dtype == EBB_F32)
            ADD_RUN(float)
        else if (k->dtype == EBB_F64)
            ADD_RUN(double)
        else if (k->dtype == EBB_I64)
            ADD_RUN(uint64_t)
        else if (k->dtype == EBB_I32)
            ADD_RUN(uint32_t)
        else
            ADD_RUN(uint8_t)
    }
}

/* Lines [lo, hi) of outer * inner. */
static void add_lines(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const gather_work *k = arg;
    int64_t n = k->around.n, inner = k->around.inner;
    for (int64_t outer = lo / inner; outer * inner < hi; outer++) {
        int64_t first = outer * inner < lo ? lo - outer * inner : 0;
        int64_t stop = hi - outer * inner < inner ? hi - outer * inner : inner;
        if (first == 0 && stop == inner)
            add_run(k, outer * n * inner, (outer + 1) * n * inner);
        else
            for (int64_t row = outer * n; row < (outer + 1) * n; row++)
                add_run(k, row * inner + first, row * inner + stop);
    }
}

static void add_all(const ebb__call *c, int64_t axis, const ebb_view *from)
{
    gather_work k = {.start = walk_start(&c->in[1], &c->out[0].shape, axis),
                     .around = ebb__around_axis(&c->in[1].shape, axis),
                     .dtype = from->dtype,
                     .from = from->data,
                     .to = c->out[0].data};
    if (ebb__n_elems(&c->in[1].shape) == 0) return;
    ebb__parallel(c->n_threads, k.around.outer * k.around.inner, ebb__grain(4 * k.around.n),
                  add_lines, &k);
}

static size_t bytes_of(const ebb_view *v)
{
    return (size_t)ebb__n_elems(&v->shape) * ebb__dtype_size(v->dtype);
}

/* ---- shapes ----------------------------------------------------------------------------- */
static ebb_status check_index(const ebb__call *c, const ebb_shape *x, int64_t axis)
{
    const ebb_shape *index = &c->in[1].shape;
    char xt[EBB__SHAPE_TEXT], it[EBB__SHAPE_TEXT];
    EBB_TRY(ebb__check_integer(c, 1));
    EBB_TRY(ebb__axis_check(&axis, x->n_dims));
    bool fits = index->n_dims == x->n_dims;
    for (int64_t d = 0; fits && d < x->n_dims; d++)
        fits = d == axis || index->dims[d] <= x->dims[d];
    if (fits) return EBB_OK;
    return ebb__fail(
        EBB_E_SHAPE,
        "x is %s, index is %s: it must have x's rank and, axis %lld aside, be nowhere "
        "longer",
        ebb__shape_text(xt, sizeof xt, x), ebb__shape_text(it, sizeof it, index),
        (long long)axis);
}

static int64_t axis_of(const ebb__call *c)
{
    int64_t axis = ((const gather_attr *)c->attr)->axis;
    return axis < 0 ? axis + c->in[0].shape.n_dims : axis;
}

/* ---- gather ----------------------------------------------------------------------------- */
static ebb_status gather_shape(ebb__call *c)
{
    EBB_TRY(check_index(c, &c->in[0].shape, ((const gather_attr *)c->attr)->axis));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    return EBB_OK;
}

static ebb_status gather_forward(const ebb__call *c)
{
    int64_t axis = axis_of(c);
    EBB_TRY(ebb__index_check(&c->in[1], c->in[0].shape.dims[axis]));
    gather_all(c, axis);
    return EBB_OK;
}

static void gather_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__index_grad_attr attr = {((const gather_attr *)v->attr)->axis, ebb__in_shape(v, 0)};
    if (attr.axis < 0) attr.axis += attr.shape.n_dims;
    ebb__give(v, 0, EBB_EMIT(v, gather_grad, &attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_gather = {
    EBB_OP_HEAD(gather),
    .doc = "out[i..., j, k...] = x[i..., index[i..., j, k...], k...] along one axis; negative "
           "indices "
           "count from the end.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "index"},
    .attr_bytes = sizeof(gather_attr),
    .attrs = gather_attrs,
    .flags = EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = gather_shape,
    .forward = gather_forward,
    .vjp = gather_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:2x4<3"}, .attr = "axis=0"},
                {.in = {"3x4", "u8:2x7<4"}, .attr = "axis=-1"},
                {.in = {"2x3x2", "i32:2x5x1<3"}, .attr = "axis=1"},
                {.in = {"1", "i64:3<1"}, .attr = "axis=0"},
                {.in = {"3x2", "i64:0x2"}, .attr = "axis=0"}),
};

static ebb_status gather_grad_shape(ebb__call *c)
{
    const ebb__index_grad_attr *a = c->attr;
    EBB_TRY(ebb__check_float(c, 0));
    EBB_TRY(check_index(c, &a->shape, a->axis));
    EBB_TRY(ebb__check_shape_as(c, 0, 1));
    ebb__set_out(c, 0, c->in[0].dtype, &a->shape);
    return EBB_OK;
}

static ebb_status gather_grad_forward(const ebb__call *c)
{
    const ebb__index_grad_attr *a = c->attr;
    EBB_TRY(ebb__index_check(&c->in[1], a->shape.dims[a->axis]));
    if (bytes_of(&c->out[0]) > 0) memset(c->out[0].data, 0, bytes_of(&c->out[0]));
    add_all(c, a->axis, &c->in[0]);
    return EBB_OK;
}

static void gather_grad_vjp(ebb_vjp *v)
{
    gather_attr attr = {((const ebb__index_grad_attr *)v->attr)->axis};
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, gather, &attr, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_gather_grad = {
    EBB_OP_HEAD(gather_grad),
    .doc = "zeros of the given shape with g added at the places index names; the gradient of "
           "gather.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "index"},
    .attr_bytes = sizeof(ebb__index_grad_attr),
    .attrs = gather_grad_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = gather_grad_shape,
    .forward = gather_grad_forward,
    .vjp = gather_grad_vjp,
    EBB_SAMPLES({.in = {"2x4", "i64:2x4<3"}, .attr = "axis=0 shape=3x4"},
                {.in = {"2x5x1", "i32:2x5x1<3"}, .attr = "axis=1 shape=2x3x2"},
                {.in = {"3", "u8:3<1"}, .attr = "axis=0 shape=1"}),
};

/* ---- scatter_add ------------------------------------------------------------------------ */
static ebb_status scatter_add_shape(ebb__call *c)
{
    EBB_TRY(ebb__check_number(c, 0));
    EBB_TRY(ebb__check_dtype_as(c, 2, 0));
    EBB_TRY(check_index(c, &c->in[0].shape, ((const gather_attr *)c->attr)->axis));
    EBB_TRY(ebb__check_shape_as(c, 2, 1));
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[0].shape);
    return EBB_OK;
}

static ebb_status scatter_add_forward(const ebb__call *c)
{
    int64_t axis = axis_of(c);
    EBB_TRY(ebb__index_check(&c->in[1], c->in[0].shape.dims[axis]));
    if (bytes_of(&c->out[0]) > 0) memcpy(c->out[0].data, c->in[0].data, bytes_of(&c->out[0]));
    add_all(c, axis, &c->in[2]);
    return EBB_OK;
}

static void scatter_add_vjp(ebb_vjp *v)
{
    ebb_tensor *g = ebb__grad(v, 0);
    if (ebb__wants(v, 0)) ebb__give(v, 0, g);
    if (ebb__wants(v, 2)) ebb__give(v, 2, EBB_EMIT(v, gather, v->attr, g, ebb__in(v, 1)));
}

const ebb_op ebb__op_scatter_add = {
    EBB_OP_HEAD(scatter_add),
    .doc = "x with src[i..., j, k...] added at [i..., index[i..., j, k...], k...]; src has "
           "index's "
           "shape; repeated places add up.",
    .n_in = 3,
    .n_out = 1,
    .arg = {"x", "index", "src"},
    .attr_bytes = sizeof(gather_attr),
    .attrs = gather_attrs,
    .bound = EBB_BOUND_MEMORY,
    .need = {0, 0, EBB_NEED_IN(1)},
    .shape = scatter_add_shape,
    .forward = scatter_add_forward,
    .vjp = scatter_add_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:2x4<3", "2x4"}, .attr = "axis=0"},
                {.in = {"2x3x2", "i32:2x5x1<3", "2x5x1"}, .attr = "axis=-2"},
                {.in = {"1", "u8:3<1", "3"}, .attr = "axis=0"},
                {.in = {"3x2", "i64:0x2", "0x2"}, .attr = "axis=0"}),
};
