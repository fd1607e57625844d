/* repeat.c - whole copies side by side: repeat and tile.
 *
 * out[i] = x[i mod n] in each axis. Rows of the result are made once per row of x that they
 * show: one copy of the row, doubled until the row is full.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include "base/size.h"

#include <stddef.h>
#include <string.h>

typedef struct repeat_attr {
    ebb_shape reps;
} repeat_attr;
static const ebb_attr_spec repeat_attrs[] = {
    {"reps", EBB_ATTR_SHAPE, offsetof(repeat_attr, reps), false,
     "copies along each axis of the result; at least x's rank many"},
    {0}};
static const ebb_attr_spec tile_attrs[] = {
    {"reps", EBB_ATTR_SHAPE, offsetof(repeat_attr, reps), false,
     "copies along the last axes; the axes before are left alone"},
    {0}};

/* x's shape with leading axes of 1 up to `rank`. */
static ebb_shape widened(const ebb_shape *x, int64_t rank)
{
    ebb_shape s = {.n_dims = rank};
    for (int64_t d = 0; d < rank; d++) {
        int64_t own = d - (rank - x->n_dims);
        s.dims[d] = own < 0 ? 1 : x->dims[own];
    }
    return s;
}

static ebb_status repeat_shape(ebb__call *c)
{
    const ebb_shape *reps = &((const repeat_attr *)c->attr)->reps, *x = &c->in[0].shape;
    if (reps->n_dims < x->n_dims || reps->n_dims > EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE, "%lld repetitions are given, x has %lld axes: %lld to %d",
                         (long long)reps->n_dims, (long long)x->n_dims, (long long)x->n_dims,
                         EBB_MAX_DIMS);
    ebb_shape out = widened(x, reps->n_dims);
    for (int64_t d = 0; d < out.n_dims; d++) {
        if (reps->dims[d] < 0)
            return ebb__fail(EBB_E_RANGE, "reps[%lld] is %lld, 0 or more is needed",
                             (long long)d, (long long)reps->dims[d]);
        if (!ebb__mul_i64(&out.dims[d], out.dims[d], reps->dims[d]))
            return ebb__fail(EBB_E_SHAPE, "axis %lld repeated %lld times overflows",
                             (long long)d, (long long)reps->dims[d]);
    }
    ebb__set_out(c, 0, c->in[0].dtype, &out);
    return EBB_OK;
}

typedef struct repeat_work {
    const char *from;
    char *to;
    ebb_shape in, out;
    size_t row_bytes, out_row_bytes;
} repeat_work;

static void repeat_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const repeat_work *w = arg;
    for (int64_t row = lo; row < hi; row++) {
        int64_t from = 0, step = 1, rest = row;
        for (int64_t d = w->out.n_dims - 2; d >= 0; d--) {
            from += rest % w->out.dims[d] % w->in.dims[d] * step;
            rest /= w->out.dims[d];
            step *= w->in.dims[d];
        }
        char *to = w->to + (size_t)row * w->out_row_bytes;
        size_t done = w->row_bytes;
        memcpy(to, w->from + (size_t)from * w->row_bytes, done);
        while (done < w->out_row_bytes) {
            size_t left = w->out_row_bytes - done, more = done < left ? done : left;
            memcpy(to + done, to, more);
            done += more;
        }
    }
}

static ebb_status repeat_forward(const ebb__call *c)
{
    repeat_work w = {.from = c->in[0].data, .to = c->out[0].data, .out = c->out[0].shape};
    int64_t n = ebb__n_elems(&w.out), last = w.out.n_dims - 1;
    if (n == 0) return EBB_OK;
    if (last < 0) {
        memcpy(w.to, w.from, ebb__dtype_size(c->in[0].dtype));
        return EBB_OK;
    }
    w.in = widened(&c->in[0].shape, w.out.n_dims);
    w.row_bytes = (size_t)w.in.dims[last] * ebb__dtype_size(c->in[0].dtype);
    w.out_row_bytes = (size_t)w.out.dims[last] * ebb__dtype_size(c->in[0].dtype);
    ebb__parallel(c->n_threads, n / w.out.dims[last], ebb__grain((int64_t)w.out_row_bytes / 8),
                  repeat_rows, &w);
    return EBB_OK;
}

/* Sums over the copies, one axis after the other: what is left shrinks with each. */
static void repeat_vjp(ebb_vjp *v)
{
    const ebb_shape *reps = &((const repeat_attr *)v->attr)->reps;
    ebb_shape x = ebb__in_shape(v, 0), in = widened(&x, reps->n_dims);
    ebb_tensor *g = ebb__grad(v, 0);
    int64_t outer = 1;
    for (int64_t d = 0; d < in.n_dims; d++) {
        int64_t inner = in.dims[d];
        for (int64_t k = d + 1; k < in.n_dims; k++) inner *= in.dims[k] * reps->dims[k];
        if (reps->dims[d] != 1) {
            g = ebb__rule_reshape(v, g, EBB_SHAPE(outer, reps->dims[d], inner));
            g = ebb__rule_sum(v, g, EBB_AXES(1));
        }
        outer *= in.dims[d];
    }
    ebb__give(v, 0, ebb__rule_reshape(v, g, x));
}

const ebb_op ebb__op_repeat = {
    EBB_OP_HEAD(repeat),
    .doc =
        "out[i] = x[i mod n] in each axis: whole copies of x side by side, as torch.Tensor's "
        "repeat.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(repeat_attr),
    .attrs = repeat_attrs,
    .flags = EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = repeat_shape,
    .forward = repeat_forward,
    .vjp = repeat_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "reps=2x3"}, {.in = {"4"}, .attr = "reps=2x1x3"},
                {.in = {"2x3x2"}, .attr = "reps=1x2x1"}, {.in = {""}, .attr = "reps=3"},
                {.in = {"1"}, .attr = "reps=1"}, {.in = {"3"}, .attr = "reps=0"},
                {.in = {"u8:2x2"}, .attr = "reps=2x2"}, {.in = {"0x3"}, .attr = "reps=2x2"}),
};

static void tile_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                         const void *attr)
{
    (void)n_in;
    const ebb_shape *reps = &((const repeat_attr *)attr)->reps;
    ebb_shape x = ebb_shape_get(in[0]);
    repeat_attr all = {.reps = *reps};
    if (reps->n_dims >= 0 && reps->n_dims < x.n_dims) all.reps = widened(reps, x.n_dims);
    out[0] = EBB_EMIT(v, repeat, &all, in[0]);
}

const ebb_op ebb__op_tile = {
    EBB_OP_HEAD(tile),
    .doc = "repeat, with 1 for the leading axes that reps does not name, as in NumPy.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(repeat_attr),
    .attrs = tile_attrs,
    .bound = EBB_BOUND_MEMORY,
    .compose = tile_compose,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "reps=2"}, {.in = {"2x3x2"}, .attr = "reps=2x1"},
                {.in = {"4"}, .attr = "reps=2x2"}, {.in = {""}, .attr = "reps=2x3"},
                {.in = {"0x3"}, .attr = "reps=2"}),
};
