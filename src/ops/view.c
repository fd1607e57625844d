/* view.c - other shapes on the same bytes: no element is copied, apart from a reshape of a view
 * whose elements do not lie in order.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ids.h"

#define VIEW_FLAGS (EBB_OP_VIEW | EBB_OP_STRIDED)

/* Removes dimension d from a view. */
static void drop_dim(ebb_view *v, int64_t d)
{
    for (; d + 1 < v->shape.n_dims; d++) {
        v->shape.dims[d] = v->shape.dims[d + 1];
        v->strides[d] = v->strides[d + 1];
    }
    v->shape.n_dims--;
}

static void reshape_back(ebb_vjp *v)
{
    ebb_shape s = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, reshape, &s, ebb__grad(v, 0)));
}

/* ---- reshape ----------------------------------------------------------------------------- */
static const ebb_attr_spec reshape_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, 0, false, "one dimension may be -1: what is left"},
    {0},
};

/* Fills in a dimension of -1 and checks the number of elements. */
static ebb_status resolve_shape(ebb_shape *s, const ebb_view *x)
{
    char from[EBB__SHAPE_TEXT], to[EBB__SHAPE_TEXT];
    int64_t open = -1, known = 1, n = ebb__n_elems(&x->shape);
    ebb_shape sizes = *s;
    for (int64_t d = 0; d < s->n_dims && d < EBB_MAX_DIMS; d++) {
        if (s->dims[d] != -1) continue;
        if (open >= 0)
            return ebb__fail(EBB_E_SHAPE, "dimensions %lld and %lld are both -1, one may be",
                             (long long)open, (long long)d);
        open = d;
        sizes.dims[d] = 1;
    }
    EBB_TRY(ebb__shape_check(&sizes, x->dtype));
    known = ebb__n_elems(&sizes);
    if (open >= 0 && known > 0 && n % known == 0) {
        s->dims[open] = n / known;
        return EBB_OK;
    }
    if (open < 0 && known == n) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "x is %s with %lld elements, which do not fill %s",
                     ebb__shape_text(from, sizeof from, &x->shape), (long long)n,
                     ebb__shape_text(to, sizeof to, s));
}

/* Strides that give the elements of x in the new shape, or false. Runs of x's dimensions that
 * step as one are cut into runs of the new ones. */
static bool restride(ebb_view *out, const ebb_view *x)
{
    int64_t i = 0, k = 0, n_in = x->shape.n_dims, n_out = out->shape.n_dims;
    while (i < n_in || k < n_out) {
        int64_t a = i < n_in ? x->shape.dims[i] : 1, b = k < n_out ? out->shape.dims[k] : 1;
        int64_t i0 = i, k0 = k;
        i += i < n_in;
        k += k < n_out;
        while (a != b) {
            if (a < b && i < n_in)
                a *= x->shape.dims[i++];
            else if (b < a && k < n_out)
                b *= out->shape.dims[k++];
            else
                return false;
        }
        int64_t stride = 1, seen = 0;
        for (int64_t d = i; d-- > i0;) {
            if (x->shape.dims[d] == 1) continue;
            if (!seen)
                stride = x->strides[d];
            else if (x->strides[d] != stride * seen)
                return false;
            seen = (seen ? seen : 1) * x->shape.dims[d];
        }
        for (int64_t d = k; d-- > k0;) {
            out->strides[d] = stride;
            stride *= out->shape.dims[d];
        }
    }
    return true;
}

static ebb_status reshape_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset;
    out->dtype = c->in[0].dtype;
    out->shape = *(const ebb_shape *)c->attr;
    EBB_TRY(resolve_shape(&out->shape, &c->in[0]));
    if (ebb__view_is_contiguous(&c->in[0]))
        ebb__view_contiguous(out);
    else
        *copy = !restride(out, &c->in[0]);
    return EBB_OK;
}

const ebb_op ebb__op_reshape = {
    EBB_OP_HEAD(reshape),
    .doc = "The elements of x in C order in another shape: a view where strides allow it.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_shape),
    .attrs = reshape_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = reshape_view,
    .vjp = reshape_back,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "shape=2x6"}, {.in = {"2x3x2"}, .attr = "shape=3x-1"},
                {.in = {"1"}, .attr = "shape="}, {.in = {""}, .attr = "shape=1x1"},
                {.in = {"0x3"}, .attr = "shape=3x0"}),
};

/* ---- order of axes ----------------------------------------------------------------------- */
static const ebb_attr_spec permute_attrs[] = {
    {"axes", EBB_ATTR_AXES, 0, false, "axis i of the result is axes[i] of x: each axis once"},
    {0},
};

static ebb_status permute_order(int64_t order[EBB_MAX_DIMS], const ebb_axes *axes, int64_t rank)
{
    bool seen[EBB_MAX_DIMS];
    if (axes->all || axes->n != rank)
        return ebb__fail(EBB_E_RANGE, "%lld axes are given, x has %lld",
                         (long long)(axes->all ? 0 : axes->n), (long long)rank);
    if (rank == 0) return EBB_OK;
    EBB_TRY(ebb__axes_resolve(seen, axes, rank));
    for (int64_t i = 0; i < rank; i++)
        order[i] = axes->axis[i] < 0 ? axes->axis[i] + rank : axes->axis[i];
    return EBB_OK;
}

static ebb_status permute_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset;
    (void)copy;
    int64_t order[EBB_MAX_DIMS];
    const ebb_view *x = &c->in[0];
    EBB_TRY(permute_order(order, c->attr, x->shape.n_dims));
    out->dtype = x->dtype;
    out->shape.n_dims = x->shape.n_dims;
    for (int64_t i = 0; i < x->shape.n_dims; i++) {
        out->shape.dims[i] = x->shape.dims[order[i]];
        out->strides[i] = x->strides[order[i]];
    }
    return EBB_OK;
}

static void permute_vjp(ebb_vjp *v)
{
    const ebb_axes *axes = v->attr;
    ebb_axes back = {.n = axes->n};
    for (int64_t i = 0; i < axes->n; i++)
        back.axis[axes->axis[i] < 0 ? axes->axis[i] + axes->n : axes->axis[i]] = i;
    ebb__give(v, 0, EBB_EMIT(v, permute, &back, ebb__grad(v, 0)));
}

const ebb_op ebb__op_permute = {
    EBB_OP_HEAD(permute),
    .doc = "x with its axes in another order; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_axes),
    .attrs = permute_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = permute_view,
    .vjp = permute_vjp,
    EBB_SAMPLES({.in = {"2x3x4"}, .attr = "axes=2,0,1"}, {.in = {"3x4"}, .attr = "axes=-1,0"},
                {.in = {"1x3"}, .attr = "axes=1,0"}, {.in = {"0x3x2"}, .attr = "axes=1,2,0"}),
};

static const ebb_attr_spec transpose_attrs[] = {
    {"a", EBB_ATTR_I64, offsetof(ebb__transpose_attr, a), false, "an axis"},
    {"b", EBB_ATTR_I64, offsetof(ebb__transpose_attr, b), false,
     "the axis it trades places with"},
    {0},
};

static ebb_status transpose_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset;
    (void)copy;
    ebb__transpose_attr k = *(const ebb__transpose_attr *)c->attr;
    EBB_TRY(ebb__axis_check(&k.a, c->in[0].shape.n_dims));
    EBB_TRY(ebb__axis_check(&k.b, c->in[0].shape.n_dims));
    *out = c->in[0];
    out->shape.dims[k.a] = c->in[0].shape.dims[k.b];
    out->strides[k.a] = c->in[0].strides[k.b];
    out->shape.dims[k.b] = c->in[0].shape.dims[k.a];
    out->strides[k.b] = c->in[0].strides[k.a];
    return EBB_OK;
}
static void transpose_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, transpose, v->attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_transpose = {
    EBB_OP_HEAD(transpose),
    .doc = "x with two axes exchanged; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__transpose_attr),
    .attrs = transpose_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = transpose_view,
    .vjp = transpose_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "a=0 b=1"}, {.in = {"2x3x4"}, .attr = "a=-1 b=0"},
                {.in = {"1x3"}, .attr = "a=1 b=1"}, {.in = {"0x3"}, .attr = "a=0 b=1"}),
};

/* ---- axes of size 1 ---------------------------------------------------------------------- */
static const ebb_attr_spec squeeze_attrs[] = {
    {"axis", EBB_ATTR_I64, 0, false, "of size 1"},
    {0},
};
static const ebb_attr_spec unsqueeze_attrs[] = {
    {"axis", EBB_ATTR_I64, 0, false, "of the result; negative counts from its end"},
    {0},
};

static ebb_status squeeze_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset;
    (void)copy;
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis;
    EBB_TRY(ebb__axis_check(&axis, c->in[0].shape.n_dims));
    if (c->in[0].shape.dims[axis] != 1) {
        char text[EBB__SHAPE_TEXT];
        return ebb__fail(EBB_E_SHAPE, "x is %s: axis %lld has size %lld, 1 is needed",
                         ebb__shape_text(text, sizeof text, &c->in[0].shape), (long long)axis,
                         (long long)c->in[0].shape.dims[axis]);
    }
    *out = c->in[0];
    drop_dim(out, axis);
    return EBB_OK;
}

static ebb_status unsqueeze_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset;
    (void)copy;
    const ebb_view *x = &c->in[0];
    int64_t axis = ((const ebb__axis_attr *)c->attr)->axis, rank = x->shape.n_dims;
    if (rank == EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE, "x has %d dimensions already, the most there are",
                         EBB_MAX_DIMS);
    EBB_TRY(ebb__axis_check(&axis, rank + 1));
    out->dtype = x->dtype;
    out->shape.n_dims = rank + 1;
    for (int64_t i = 0; i <= rank; i++) {
        int64_t from = i < axis ? i : i - 1;
        out->shape.dims[i] = i == axis ? 1 : x->shape.dims[from];
        out->strides[i] = i == axis ? 1 : x->strides[from];
    }
    return EBB_OK;
}

const ebb_op ebb__op_squeeze = {
    EBB_OP_HEAD(squeeze),
    .doc = "x without an axis of size 1; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__axis_attr),
    .attrs = squeeze_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = squeeze_view,
    .vjp = reshape_back,
    EBB_SAMPLES({.in = {"3x1x4"}, .attr = "axis=1"}, {.in = {"3x1"}, .attr = "axis=-1"},
                {.in = {"1"}, .attr = "axis=0"}, {.in = {"0x1"}, .attr = "axis=1"}),
};
const ebb_op ebb__op_unsqueeze = {
    EBB_OP_HEAD(unsqueeze),
    .doc = "x with an axis of size 1 put in; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__axis_attr),
    .attrs = unsqueeze_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = unsqueeze_view,
    .vjp = reshape_back,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axis=1"}, {.in = {"3"}, .attr = "axis=-1"},
                {.in = {""}, .attr = "axis=0"}, {.in = {"0x2"}, .attr = "axis=0"}),
};

/* ---- expand ------------------------------------------------------------------------------ */
static const ebb_attr_spec expand_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, 0, false, "-1 keeps the size of an axis that x has"},
    {0},
};

static ebb_status expand_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)offset;
    (void)copy;
    char from[EBB__SHAPE_TEXT], to[EBB__SHAPE_TEXT];
    const ebb_view *x = &c->in[0];
    ebb_shape s = *(const ebb_shape *)c->attr;
    int64_t shift = s.n_dims - x->shape.n_dims;
    if (s.n_dims <= EBB_MAX_DIMS)
        for (int64_t i = shift < 0 ? 0 : shift; i < s.n_dims; i++)
            if (s.dims[i] == -1) s.dims[i] = x->shape.dims[i - shift];
    EBB_TRY(ebb__shape_check(&s, x->dtype));
    bool fits = shift >= 0;
    for (int64_t i = 0; fits && i < x->shape.n_dims; i++)
        fits = x->shape.dims[i] == 1 || x->shape.dims[i] == s.dims[i + shift];
    if (!fits)
        return ebb__fail(EBB_E_SHAPE, "x is %s, which does not repeat to %s",
                         ebb__shape_text(from, sizeof from, &x->shape),
                         ebb__shape_text(to, sizeof to, &s));
    *out = *x;
    ebb__view_broadcast(out, &s);
    return EBB_OK;
}
static void expand_vjp(ebb_vjp *v)
{
    ebb_shape s = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, sum_to, &s, ebb__grad(v, 0)));
}

const ebb_op ebb__op_expand = {
    EBB_OP_HEAD(expand),
    .doc = "x repeated along axes of size 1 and new leading ones; a view of stride 0 there.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb_shape),
    .attrs = expand_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = expand_view,
    .vjp = expand_vjp,
    EBB_SAMPLES({.in = {"3x1"}, .attr = "shape=3x4"}, {.in = {"4"}, .attr = "shape=2x3x-1"},
                {.in = {""}, .attr = "shape=5"}, {.in = {"1x3"}, .attr = "shape=0x3"}),
};

/* ---- parts ------------------------------------------------------------------------------- */
static const ebb_attr_spec narrow_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(ebb__narrow_attr, axis), false, NULL},
    {"start", EBB_ATTR_I64, offsetof(ebb__narrow_attr, start), false, "negative: from the end"},
    {"length", EBB_ATTR_I64, offsetof(ebb__narrow_attr, length), false, ">= 0"},
    {0},
};

static ebb_status narrow_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)copy;
    ebb__narrow_attr k = *(const ebb__narrow_attr *)c->attr;
    EBB_TRY(ebb__axis_check(&k.axis, c->in[0].shape.n_dims));
    int64_t n = c->in[0].shape.dims[k.axis];
    if (k.start < -n || k.start > n || k.length < 0 || k.length > n ||
        (k.start < 0 ? k.start + n : k.start) > n - k.length)
        return ebb__fail(EBB_E_RANGE, "start %lld and length %lld leave axis %lld of size %lld",
                         (long long)k.start, (long long)k.length, (long long)k.axis,
                         (long long)n);
    *out = c->in[0];
    out->shape.dims[k.axis] = k.length;
    *offset += (k.start < 0 ? k.start + n : k.start) * out->strides[k.axis];
    if (k.length == 0) *offset = 0;
    return EBB_OK;
}

/* The gradient of a part: zeros, with g where the part was. */
static void give_placed(ebb_vjp *v, ebb_tensor *g, int64_t axis, int64_t start, int64_t step)
{
    ebb__place_attr place = {
        .shape = ebb__in_shape(v, 0), .axis = axis, .start = start, .step = step};
    if (place.axis < 0) place.axis += place.shape.n_dims;
    if (place.start < 0) place.start += place.shape.dims[place.axis];
    ebb__give(v, 0, EBB_EMIT(v, place, &place, g));
}
static void narrow_vjp(ebb_vjp *v)
{
    const ebb__narrow_attr *k = v->attr;
    give_placed(v, ebb__grad(v, 0), k->axis, k->start, 1);
}

const ebb_op ebb__op_narrow = {
    EBB_OP_HEAD(narrow),
    .doc = "Elements start to start + length of one axis; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__narrow_attr),
    .attrs = narrow_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = narrow_view,
    .vjp = narrow_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axis=1 start=1 length=2"},
                {.in = {"5"}, .attr = "axis=-1 start=-2 length=2"},
                {.in = {"2x3"}, .attr = "axis=0 start=1 length=1"},
                {.in = {"3x4"}, .attr = "axis=0 start=3 length=0"}),
};

static const ebb_attr_spec slice_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(ebb__slice_attr, axis), false, NULL},
    {"start", EBB_ATTR_I64, offsetof(ebb__slice_attr, start), false, "negative: from the end"},
    {"stop", EBB_ATTR_I64, offsetof(ebb__slice_attr, stop), false,
     "not reached; negative: from the end; INT64_MAX: all"},
    {"step", EBB_ATTR_I64, offsetof(ebb__slice_attr, step), false, ">= 1"},
    {0},
};

/* Bounds as in NumPy: clipped to the axis. */
static int64_t clip(int64_t i, int64_t n)
{
    if (i < 0) i = i < -n ? 0 : i + n;
    return i > n ? n : i;
}

static ebb_status slice_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)copy;
    ebb__slice_attr k = *(const ebb__slice_attr *)c->attr;
    EBB_TRY(ebb__axis_check(&k.axis, c->in[0].shape.n_dims));
    if (k.step < 1)
        return ebb__fail(EBB_E_RANGE,
                         "step is %lld, 1 or more is needed; flip turns an axis round",
                         (long long)k.step);
    int64_t n = c->in[0].shape.dims[k.axis], start = clip(k.start, n), stop = clip(k.stop, n);
    int64_t length = stop > start ? (stop - start - 1) / k.step + 1 : 0;
    *out = c->in[0];
    out->shape.dims[k.axis] = length;
    if (length > 0) *offset += start * out->strides[k.axis];
    if (length > 1) out->strides[k.axis] *= k.step;
    return EBB_OK;
}
static void slice_vjp(ebb_vjp *v)
{
    const ebb__slice_attr *k = v->attr;
    ebb_shape s = ebb__in_shape(v, 0);
    int64_t n = s.dims[k->axis < 0 ? k->axis + s.n_dims : k->axis];
    give_placed(v, ebb__grad(v, 0), k->axis, clip(k->start, n), k->step);
}

const ebb_op ebb__op_slice = {
    EBB_OP_HEAD(slice),
    .doc = "Elements start, start + step, ... before stop of one axis, clipped as in NumPy; a "
           "view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__slice_attr),
    .attrs = slice_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = slice_view,
    .vjp = slice_vjp,
    EBB_SAMPLES({.in = {"3x5"}, .attr = "axis=1 start=0 stop=5 step=2"},
                {.in = {"5"}, .attr = "axis=-1 start=-4 stop=-1 step=1"},
                {.in = {"4x3"}, .attr = "axis=0 start=1 stop=99 step=5"},
                {.in = {"3x4"}, .attr = "axis=0 start=2 stop=1 step=1"}),
};

static const ebb_attr_spec select_attrs[] = {
    {"axis", EBB_ATTR_I64, offsetof(ebb__select_attr, axis), false, NULL},
    {"i", EBB_ATTR_I64, offsetof(ebb__select_attr, i), false, "negative: from the end"},
    {0},
};

static ebb_status select_view(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c)
{
    (void)copy;
    ebb__select_attr k = *(const ebb__select_attr *)c->attr;
    EBB_TRY(ebb__axis_check(&k.axis, c->in[0].shape.n_dims));
    int64_t n = c->in[0].shape.dims[k.axis];
    if (k.i < -n || k.i >= n)
        return ebb__fail(
            EBB_E_RANGE, "i is %lld, axis %lld has size %lld: [%lld, %lld) is allowed",
            (long long)k.i, (long long)k.axis, (long long)n, (long long)-n, (long long)n);
    *out = c->in[0];
    *offset += (k.i < 0 ? k.i + n : k.i) * out->strides[k.axis];
    drop_dim(out, k.axis);
    return EBB_OK;
}
static void select_vjp(ebb_vjp *v)
{
    const ebb__select_attr *k = v->attr;
    ebb_shape s = ebb__in_shape(v, 0);
    ebb__axis_attr axis = {k->axis < 0 ? k->axis + s.n_dims : k->axis};
    give_placed(v, EBB_EMIT(v, unsqueeze, &axis, ebb__grad(v, 0)), k->axis, k->i, 1);
}

const ebb_op ebb__op_select = {
    EBB_OP_HEAD(select),
    .doc = "Element i of one axis, which goes; a view.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__select_attr),
    .attrs = select_attrs,
    .flags = VIEW_FLAGS,
    .bound = EBB_BOUND_MEMORY,
    .view = select_view,
    .vjp = select_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "axis=0 i=1"}, {.in = {"3x4"}, .attr = "axis=-1 i=-1"},
                {.in = {"1"}, .attr = "axis=0 i=0"}, {.in = {"2x0"}, .attr = "axis=0 i=1"}),
};
