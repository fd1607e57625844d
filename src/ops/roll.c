/* roll.c - elements carried round an axis: roll.
 *
 * Each rolled axis is two runs that trade places, so the whole is at most 2^axes block copies.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/copy.h"
#include "ops/rule.h"

#include <stddef.h>

typedef struct roll_attr {
    ebb_shape shifts;
    ebb_axes axes;
} roll_attr;
static const ebb_attr_spec roll_attrs[] = {
    {"shifts", EBB_ATTR_SHAPE, offsetof(roll_attr, shifts), false,
     "one per axis, EBB_SHAPE(1, -2); negative: towards the start"},
    {"axes", EBB_ATTR_AXES, offsetof(roll_attr, axes), false,
     "EBB_ALL: the elements in C order, by one shift"},
    {0}};

/* By how much each axis is rolled, in [0, its length). */
static ebb_status roll_shifts(int64_t by[EBB_MAX_DIMS], const roll_attr *a, const ebb_shape *s)
{
    bool chosen[EBB_MAX_DIMS];
    bool flat = a->axes.all || a->axes.n == 0;
    int64_t n = flat ? 1 : a->axes.n;
    for (int64_t d = 0; d < EBB_MAX_DIMS; d++) by[d] = 0;
    if (a->shifts.n_dims != n)
        return ebb__fail(EBB_E_RANGE, "%lld shifts are given for %lld axes",
                         (long long)a->shifts.n_dims, (long long)n);
    for (int64_t i = 0; i < n && i < EBB_MAX_DIMS; i++)
        if (a->shifts.dims[i] == INT64_MIN)
            return ebb__fail(EBB_E_RANGE, "shifts[%lld] has no opposite", (long long)i);
    if (flat) return EBB_OK;
    EBB_TRY(ebb__axes_resolve(chosen, &a->axes, s->n_dims));
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = a->axes.axis[i] < 0 ? a->axes.axis[i] + s->n_dims : a->axes.axis[i];
        int64_t length = s->dims[axis];
        by[axis] = length > 0 ? (a->shifts.dims[i] % length + length) % length : 0;
    }
    return EBB_OK;
}

static ebb_status roll_shape(ebb__call *c)
{
    int64_t by[EBB_MAX_DIMS];
    EBB_TRY(roll_shifts(by, c->attr, &c->in[0].shape));
    return ebb__shape_same(c);
}

/* Takes `length` elements of an axis from start; strides stay. */
static void cut(ebb_view *v, int64_t axis, int64_t start, int64_t length)
{
    v->data = (char *)v->data + start * v->strides[axis] * (int64_t)ebb__dtype_size(v->dtype);
    v->shape.dims[axis] = length;
}

/* Bit d of `wrapped`: the run of axis d that goes from the end to the start. */
static void roll_block(const ebb_view *out, const ebb_view *in, const int64_t by[EBB_MAX_DIMS],
                       uint32_t wrapped, int32_t n_threads)
{
    ebb_view to = *out, from = *in;
    for (int64_t d = 0; d < in->shape.n_dims; d++) {
        int64_t n = in->shape.dims[d], tail = by[d];
        if (tail == 0) continue;
        if (wrapped >> d & 1) {
            cut(&to, d, 0, tail);
            cut(&from, d, n - tail, tail);
        } else {
            cut(&to, d, tail, n - tail);
            cut(&from, d, 0, n - tail);
        }
    }
    ebb__copy_view(&to, &from, n_threads);
}

static ebb_status roll_forward(const ebb__call *c)
{
    const roll_attr *a = c->attr;
    ebb_view in = c->in[0], out = c->out[0];
    int64_t by[EBB_MAX_DIMS], n = ebb__n_elems(&in.shape);
    if (n == 0) return EBB_OK;
    EBB_TRY(roll_shifts(by, a, &in.shape));
    if (a->axes.all || a->axes.n == 0) {
        in.shape = out.shape = EBB_SHAPE(n);
        by[0] = (a->shifts.dims[0] % n + n) % n;
    }
    ebb__view_contiguous(&in);
    ebb__view_contiguous(&out);
    uint32_t rolled = 0;
    for (int64_t d = 0; d < in.shape.n_dims; d++) rolled |= by[d] > 0 ? 1u << d : 0;
    for (uint32_t wrapped = rolled;; wrapped = (wrapped - 1) & rolled) {
        roll_block(&out, &in, by, wrapped, c->n_threads);
        if (wrapped == 0) return EBB_OK;
    }
}

static void roll_vjp(ebb_vjp *v)
{
    roll_attr back = *(const roll_attr *)v->attr;
    for (int64_t i = 0; i < back.shifts.n_dims; i++) back.shifts.dims[i] *= -1;
    ebb__give(v, 0, EBB_EMIT(v, roll, &back, ebb__grad(v, 0)));
}

const ebb_op ebb__op_roll = {
    EBB_OP_HEAD(roll),
    .doc = "out[(i + shift) mod n] = x[i] along each of the axes; a copy.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(roll_attr),
    .attrs = roll_attrs,
    .flags = EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = roll_shape,
    .forward = roll_forward,
    .vjp = roll_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "shifts=1 axes=1"},
                {.in = {"3x4"}, .attr = "shifts=-1,2 axes=0,-1"},
                {.in = {"2x3x5"}, .attr = "shifts=1,1,7 axes=0,1,2"},
                {.in = {"2x3"}, .attr = "shifts=4 axes=all"},
                {.in = {"1"}, .attr = "shifts=3 axes=0"},
                {.in = {""}, .attr = "shifts=2 axes=all"},
                {.in = {"i64:5<9"}, .attr = "shifts=-7 axes=0"},
                {.in = {"0x3"}, .attr = "shifts=1 axes=0"}),
};
