/* arg_reduce.c - extremes with their places; the private pair that moves values by place.
 *
 * A place counts along the reduced axis, or in C order of all elements where the axes are
 * EBB_ALL. The gradient goes to the place reported.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/ids.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/walk.h"
#include "ops/reduce.h"

#include <math.h>
#include <string.h>

typedef struct place_f64 {
    double value;
    int64_t index;
} place_f64;
typedef struct place_i64 {
    int64_t value, index;
} place_i64;

#define EBB_TYPED "ops/arg_reduce.inl"
#include "ops/kernels/numbers.h"

/* Both accumulators keep the index behind eight bytes of value. */
static void index_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    (void)n;
    int64_t *out = c->out[c->n_out - 1].data;
    for (int64_t i = 0; i < m; i++) out[at + i] = ((const place_i64 *)acc)[i].index;
}
static void pair_finish(const ebb__call *c, int64_t at, const void *acc, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        ebb__reduce_finish(c, at + i, (const place_i64 *)acc + i, 1, n);
    index_finish(c, at, acc, m, n);
}

#define FOLDER(name, type, fin)                                                                \
    {                                                                                          \
        sizeof(place_i64), name##_start_##type, name##_row_##type, name##_cols_##type,         \
            name##_merge_##type, fin, false                                                    \
    }
#define FOLDERS(name, fin)                                                                     \
    {                                                                                          \
        [EBB_F32] = FOLDER(name, f32, fin), [EBB_F64] = FOLDER(name, f64, fin),                \
        [EBB_I64] = FOLDER(name, i64, fin), [EBB_I32] = FOLDER(name, i32, fin),                \
        [EBB_U8] = FOLDER(name, u8, fin), [EBB_BOOL] = FOLDER(name, bool, fin)                 \
    }
static const ebb__folder argmax_folder[] = FOLDERS(argmax, index_finish);
static const ebb__folder argmin_folder[] = FOLDERS(argmin, index_finish);
static const ebb__folder max_folder[] = FOLDERS(argmax, pair_finish);
static const ebb__folder min_folder[] = FOLDERS(argmin, pair_finish);

/* One axis, or all: a place is one number. */
static ebb_status place_shape(ebb__call *c)
{
    const ebb_axes *axes = c->attr;
    if (!axes->all && axes->n > 1)
        return ebb__fail(EBB_E_RANGE, "%lld axes are given, one or EBB_ALL is allowed",
                         (long long)axes->n);
    EBB_TRY(ebb__reduce_nonempty(c, axes));
    ebb_dtype d = c->n_out == 2 ? c->in[0].dtype : EBB_I64;
    EBB_TRY(ebb__reduce_shape(c, axes, d, ebb__folder_of(max_folder, c->in[0].dtype)));
    if (c->n_out == 2) {
        c->out[1].dtype = EBB_I64;
        c->out[1].shape = c->out[0].shape;
    }
    return EBB_OK;
}

/* The values' gradient to where they came from. */
static void extreme_vjp(ebb_vjp *v)
{
    ebb__place_axes k = {.axes = ebb__axes_keeping(v->attr), .shape = ebb__in_shape(v, 0)};
    ebb_tensor *g = ebb__grad(v, 0);
    if (g == EBB_NONE) return;
    g = ebb__reduce_keep(v, g, v->attr);
    ebb_tensor *index = ebb__reduce_keep(v, ebb__out(v, 1), v->attr);
    ebb__give(v, 0, EBB_EMIT(v, axis_put, &k, g, index));
}

#define PLACES(op_name, outputs, rule, need_bits, more_flags, text, ...)                       \
    static ebb_status op_name##_forward(const ebb__call *c)                                    \
    {                                                                                          \
        return ebb__reduce_forward(c, c->attr,                                                 \
                                   ebb__folder_of(op_name##_folder, c->in[0].dtype));          \
    }                                                                                          \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = outputs,                                                                      \
        .arg = {"x"},                                                                          \
        .result = {__VA_ARGS__},                                                               \
        .attr_bytes = sizeof(ebb_axes),                                                        \
        .attrs = ebb__axes_attrs,                                                              \
        .flags = EBB_OP_STRIDED | (more_flags),                                                \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_bits},                                                                   \
        .shape = place_shape,                                                                  \
        .forward = op_name##_forward,                                                          \
        .vjp = rule,                                                                           \
        EBB_SAMPLES({.in = {"3x4"}, .attr = "axes=0"},                                         \
                    {.in = {"3x4"}, .attr = "axes=-1 keep=1"},                                 \
                    {.in = {"2x3x4"}, .attr = "axes=1"}, {.in = {"2x3"}, .attr = "axes=all"},  \
                    {.in = {"1"}, .attr = "axes=0"}, {.in = {""}, .attr = "axes=all"},         \
                    {.in = {"0x3"}, .attr = "axes=1"}),                                        \
    };
PLACES(
    argmax, 1, NULL, 0, EBB_OP_INTEGER,
    "Place (i64) of the first largest element along one axis or all; of the first NaN if any.",
    NULL)
PLACES(
    argmin, 1, NULL, 0, EBB_OP_INTEGER,
    "Place (i64) of the first smallest element along one axis or all; of the first NaN if any.",
    NULL)
PLACES(max, 2, extreme_vjp, EBB_NEED_OUT(1), 0,
       "The largest element along one axis or all and the place (i64) of the first such; NaN "
       "wins. The "
       "gradient goes to that place.",
       "values", "indices")
PLACES(min, 2, extreme_vjp, EBB_NEED_OUT(1), 0,
       "The smallest element along one axis or all and the place (i64) of the first such; NaN "
       "wins. The "
       "gradient goes to that place.",
       "values", "indices")

/* ---- by place ---------------------------------------------------------------------------- */
static const ebb_attr_spec axis_put_attrs[] = {
    {"shape", EBB_ATTR_SHAPE, offsetof(ebb__place_axes, shape), false, "of the result"},
    {"axes", EBB_ATTR_AXES, offsetof(ebb__place_axes, axes), false, "along which places count"},
    {0},
};

/* values and index have size 1 along the axes of the whole. */
static ebb_status check_places(const ebb__call *c, const ebb_shape *whole, const ebb_axes *axes,
                               int32_t index)
{
    bool reduced[EBB_MAX_DIMS];
    ebb_shape kept;
    EBB_TRY(ebb__axes_resolve(reduced, axes, whole->n_dims));
    EBB_TRY(ebb__axes_shape(&kept, whole, reduced, true));
    if (c->in[index].dtype != EBB_I64 || !ebb__shape_equal(&c->in[index].shape, &kept))
        return ebb__fail(EBB_E_SHAPE, "index must be i64 and of the reduced shape");
    return EBB_OK;
}
static ebb_status axis_put_shape(ebb__call *c)
{
    const ebb__place_axes *k = c->attr;
    EBB_TRY(check_places(c, &k->shape, &k->axes, 1));
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = k->shape;
    return EBB_OK;
}
static ebb_status axis_take_shape(ebb__call *c)
{
    const ebb__place_axes *k = c->attr;
    EBB_TRY(check_places(c, &c->in[0].shape, &k->axes, 1));
    c->out[0].dtype = c->in[0].dtype;
    c->out[0].shape = c->in[1].shape;
    return EBB_OK;
}

/* For each place: out[whole at place] = values[i] or out[i] = x[whole at place]. */
static ebb_status move_places(const ebb__call *c, const ebb_view *whole_, const ebb_view *part,
                              bool put)
{
    bool is_reduced[EBB_MAX_DIMS];
    ebb__walk kept, reduced;
    ebb_view whole = *whole_;
    const ebb__place_axes *k = c->attr;
    const int64_t *index = c->in[1].data;
    size_t size = ebb__dtype_size(whole.dtype);
    EBB_TRY(ebb__axes_resolve(is_reduced, &k->axes, whole.shape.n_dims));
    ebb__view_contiguous(&whole);
    ebb__walk_split(&kept, &reduced, &whole, is_reduced);
    for (int64_t i = 0; i < kept.n; i++) {
        if (index[i] < 0 || index[i] >= reduced.n)
            return ebb__fail(EBB_E_RANGE, "place %lld is outside [0, %lld)",
                             (long long)index[i], (long long)reduced.n);
        int64_t at = ebb__walk_offset(&kept, i) + ebb__walk_offset(&reduced, index[i]);
        char *in_whole = (char *)whole.data + (size_t)at * size;
        char *in_part = (char *)part->data + (size_t)i * size;
        memcpy(put ? in_whole : in_part, put ? in_part : in_whole, size);
    }
    return EBB_OK;
}
static ebb_status axis_put_forward(const ebb__call *c)
{
    size_t bytes = (size_t)ebb__n_elems(&c->out[0].shape) * ebb__dtype_size(c->out[0].dtype);
    if (bytes == 0) return EBB_OK;
    memset(c->out[0].data, 0, bytes);
    return move_places(c, &c->out[0], &c->in[0], true);
}
static ebb_status axis_take_forward(const ebb__call *c)
{
    return move_places(c, &c->in[0], &c->out[0], false);
}
static void axis_put_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__give(v, 0, EBB_EMIT(v, axis_take, v->attr, ebb__grad(v, 0), ebb__in(v, 1)));
}
static void axis_take_vjp(ebb_vjp *v)
{
    if (!ebb__wants(v, 0)) return;
    ebb__place_axes k = *(const ebb__place_axes *)v->attr;
    k.shape = ebb__in_shape(v, 0);
    ebb__give(v, 0, EBB_EMIT(v, axis_put, &k, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_axis_put = {
    EBB_OP_HEAD(axis_put),
    .doc =
        "Zeros of a shape, with each value at its place along the axes: the gradient of max.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"values", "index"},
    .attr_bytes = sizeof(ebb__place_axes),
    .attrs = axis_put_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = axis_put_shape,
    .forward = axis_put_forward,
    .vjp = axis_put_vjp,
    EBB_SAMPLES({.in = {"3x1", "i64:3x1<4"}, .attr = "shape=3x4 axes=1 keep=1"},
                {.in = {"1x4", "i64:1x4<3"}, .attr = "shape=3x4 axes=0 keep=1"},
                {.in = {"1x1", "i64:1x1<6"}, .attr = "shape=2x3 axes=all keep=1"},
                {.in = {"0x1", "i64:0x1<3"}, .attr = "shape=0x3 axes=1 keep=1"}),
};
const ebb_op ebb__op_axis_take = {
    EBB_OP_HEAD(axis_take),
    .doc = "The element at each place along the axes: the gradient of axis_put.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "index"},
    .attr_bytes = sizeof(ebb__place_axes),
    .attrs = axis_put_attrs,
    .flags = EBB_OP_PRIVATE,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = axis_take_shape,
    .forward = axis_take_forward,
    .vjp = axis_take_vjp,
    EBB_SAMPLES({.in = {"3x4", "i64:3x1<4"}, .attr = "axes=1 keep=1"},
                {.in = {"3x4", "i64:1x4<3"}, .attr = "axes=0 keep=1"},
                {.in = {"2x3", "i64:1x1<6"}, .attr = "axes=all keep=1"},
                {.in = {"0x3", "i64:0x1<3"}, .attr = "axes=1 keep=1"}),
};
