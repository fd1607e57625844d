/* masked.c - shapes that follow from values: nonzero and masked_select.
 *
 * Counted once for the shape and written in C order by the kernel, which writes no more than
 * was counted, whatever happens to the bytes between.
 * SPDX-License-Identifier: MIT */
#include "ops/operand.h"
#include "ops/rule.h"

#include <string.h>

/* ---- kernels ---------------------------------------------------------------------------- */
static bool is_set(const ebb_view *v, int64_t i)
{
    switch (v->dtype) {
    case EBB_F32:
        return ((const float *)v->data)[i] != 0;
    case EBB_F64:
        return ((const double *)v->data)[i] != 0;
    case EBB_F16:
    case EBB_BF16:
        return (((const uint16_t *)v->data)[i] & 0x7fff) != 0;
    default:
        return ebb__index_at(v, i) != 0;
    }
}

static int64_t count_set(const ebb_view *v)
{
    int64_t n = ebb__n_elems(&v->shape), count = 0;
    for (int64_t i = 0; i < n; i++) count += is_set(v, i);
    return count;
}

/* ---- nonzero ---------------------------------------------------------------------------- */
static ebb_status nonzero_shape(ebb__call *c)
{
    ebb__set_out(c, 0, EBB_I64, &EBB_SHAPE(count_set(&c->in[0]), c->in[0].shape.n_dims));
    return EBB_OK;
}

static ebb_status nonzero_forward(const ebb__call *c)
{
    const ebb_shape *s = &c->in[0].shape;
    int64_t n = ebb__n_elems(s), rank = s->n_dims, left = c->out[0].shape.dims[0];
    int64_t *out = c->out[0].data;
    for (int64_t i = 0; i < n && left > 0; i++) {
        if (!is_set(&c->in[0], i)) continue;
        int64_t rest = i;
        for (int64_t d = rank - 1; d >= 0; d--) {
            out[d] = rest % s->dims[d];
            rest /= s->dims[d];
        }
        out += rank;
        left--;
    }
    return EBB_OK;
}

const ebb_op ebb__op_nonzero = {
    EBB_OP_HEAD(nonzero),
    .doc = "The places where x is not 0, in C order: i64 (count, rank of x), one row of "
           "coordinates each; NaN is not 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .flags = EBB_OP_VALUE_SHAPE | EBB_OP_INTEGER | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .shape = nonzero_shape,
    .forward = nonzero_forward,
    EBB_SAMPLES({.in = {"bool:3x4"}}, {.in = {"i64:2x3x2<2"}}, {.in = {"u8:7<2"}},
                {.in = {"3x2"}}, {.in = {"i32:<1"}}, {.in = {"bool:"}}, {.in = {"0x3"}}),
};

/* ---- masked_select ---------------------------------------------------------------------- */
static ebb_tensor *repeated(ebb_vjp *v, ebb_tensor *x, const ebb_shape *shape)
{
    ebb_shape own = ebb_shape_get(x);
    return ebb__shape_equal(&own, shape) ? x : EBB_EMIT(v, expand, shape, x);
}

static void masked_select_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in,
                                  int32_t n_in, const void *attr)
{
    (void)n_in, (void)attr;
    ebb_shape x = ebb_shape_get(in[0]), mask = ebb_shape_get(in[1]), both;
    v->status = ebb__shape_broadcast(&both, &x, &mask);
    if (v->status != EBB_OK) return;
    out[0] =
        EBB_EMIT(v, masked_take, NULL, repeated(v, in[0], &both), repeated(v, in[1], &both));
}

const ebb_op ebb__op_masked_select = {
    EBB_OP_HEAD(masked_select),
    .doc = "The elements of x where mask is true, in C order, (count); x and mask broadcast as "
           "in NumPy.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "mask"},
    .bound = EBB_BOUND_MEMORY,
    .compose = masked_select_compose,
    EBB_SAMPLES({.in = {"3x4", "bool:3x4"}}, {.in = {"3x1", "bool:4"}},
                {.in = {"2x3", "bool:3"}}, {.in = {"4", "bool:2x4"}}, {.in = {"", "bool:"}},
                {.in = {"i64:5", "bool:5"}}, {.in = {"0x3", "bool:3"}}),
};

static ebb_status check_mask(const ebb__call *c)
{
    if (c->in[1].dtype == EBB_BOOL) return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "mask is %s, bool is needed", ebb_dtype_name(c->in[1].dtype));
}

static ebb_status masked_take_shape(ebb__call *c)
{
    EBB_TRY(check_mask(c));
    EBB_TRY(ebb__check_shape_as(c, 1, 0));
    ebb__set_out(c, 0, c->in[0].dtype, &EBB_SHAPE(count_set(&c->in[1])));
    return EBB_OK;
}

static ebb_status masked_take_forward(const ebb__call *c)
{
    size_t size = ebb__dtype_size(c->in[0].dtype);
    const char *from = c->in[0].data;
    char *to = c->out[0].data;
    int64_t n = ebb__n_elems(&c->in[0].shape), left = c->out[0].shape.dims[0];
    for (int64_t i = 0; i < n && left > 0; i++) {
        if (!is_set(&c->in[1], i)) continue;
        memcpy(to, from + (size_t)i * size, size);
        to += size;
        left--;
    }
    return EBB_OK;
}

static void masked_take_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, masked_put, NULL, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_masked_take = {
    EBB_OP_HEAD(masked_take),
    .doc = "The elements of x where mask, of x's shape, is true.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"x", "mask"},
    .flags = EBB_OP_VALUE_SHAPE | EBB_OP_PRIVATE | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = masked_take_shape,
    .forward = masked_take_forward,
    .vjp = masked_take_vjp,
    EBB_SAMPLES({.in = {"3x4", "bool:3x4"}}, {.in = {"7", "bool:7"}},
                {.in = {"u8:2x5", "bool:2x5"}}, {.in = {"0x3", "bool:0x3"}}),
};

static ebb_status masked_put_shape(ebb__call *c)
{
    EBB_TRY(check_mask(c));
    EBB_TRY(ebb__check_float(c, 0));
    int64_t count = count_set(&c->in[1]);
    if (c->in[0].shape.n_dims != 1 || c->in[0].shape.dims[0] != count) {
        char text[EBB__SHAPE_TEXT];
        return ebb__fail(EBB_E_SHAPE, "g is %s, mask has %lld places",
                         ebb__shape_text(text, sizeof text, &c->in[0].shape), (long long)count);
    }
    ebb__set_out(c, 0, c->in[0].dtype, &c->in[1].shape);
    return EBB_OK;
}

static ebb_status masked_put_forward(const ebb__call *c)
{
    size_t size = ebb__dtype_size(c->in[0].dtype);
    const char *from = c->in[0].data;
    char *to = c->out[0].data;
    int64_t n = ebb__n_elems(&c->in[1].shape), left = c->in[0].shape.dims[0];
    for (int64_t i = 0; i < n; i++, to += size) {
        if (!is_set(&c->in[1], i) || left == 0) {
            memset(to, 0, size);
            continue;
        }
        memcpy(to, from, size);
        from += size;
        left--;
    }
    return EBB_OK;
}

static void masked_put_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 0))
        ebb__give(v, 0, EBB_EMIT(v, masked_take, NULL, ebb__grad(v, 0), ebb__in(v, 1)));
}

const ebb_op ebb__op_masked_put = {
    EBB_OP_HEAD(masked_put),
    .doc = "Zeros with the elements of g where mask is true, in C order; the gradient of "
           "masked_select.",
    .n_in = 2,
    .n_out = 1,
    .arg = {"g", "mask"},
    .flags = EBB_OP_VALUE_SHAPE | EBB_OP_PRIVATE | EBB_OP_MOVES,
    .bound = EBB_BOUND_MEMORY,
    .need = {EBB_NEED_IN(1)},
    .shape = masked_put_shape,
    .forward = masked_put_forward,
    .vjp = masked_put_vjp,
    EBB_SAMPLES({.in = {"4", "bool:8"}}, {.in = {"3", "bool:3x2"}}, {.in = {"0", "bool:0x3"}}),
};
