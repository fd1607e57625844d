/* widen.c - a call on 16-bit floats run by the kernel for f32.
 *
 * Layout of the scratch: the wide kernel's own, then one block per widened operand, 64-byte
 * aligned each. Dimensions an operand is repeated along (stride 0) stay repeated.
 * SPDX-License-Identifier: MIT */
#include "op/widen.h"

#include "base/half.h"

enum { MAX_OPERANDS = EBB__MAX_IN + EBB__MAX_OUT + EBB__MAX_AUX };

static size_t padded(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

bool ebb__half_wanted(const ebb__call *c)
{
    if (c->op->flags & EBB_OP_MOVES) return false;
    for (int32_t i = 0; i < c->n_in; i++)
        if (ebb__dtype_is_half(c->in[i].dtype)) return true;
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++)
        if (ebb__dtype_is_half(c->out[k].dtype)) return true;
    return false;
}

/* Elements that are stored, not repeated. */
static int64_t n_stored(const ebb_view *v)
{
    int64_t n = 1;
    for (int64_t d = 0; d < v->shape.n_dims; d++)
        if (v->strides[d] != 0 || v->shape.dims[d] == 0) n *= v->shape.dims[d];
    return n;
}

/* The view as the wide kernel sees it; what it takes of the scratch. */
static size_t widen_view(ebb_view *wide, const ebb_view *v)
{
    *wide = *v;
    if (!ebb__dtype_is_half(v->dtype)) return 0;
    wide->dtype = EBB_F32;
    int64_t step = 1;
    for (int64_t d = v->shape.n_dims; d-- > 0;) {
        wide->strides[d] = v->strides[d] == 0 ? 0 : step;
        if (v->strides[d] != 0) step *= v->shape.dims[d];
    }
    return padded((size_t)n_stored(v) * sizeof(float));
}

/* The call the wide kernel gets. Returns the bytes of the widened operands. */
static size_t widen_call(ebb__call *wide, ebb_view *views, const ebb__call *c)
{
    size_t bytes = 0;
    *wide = *c;
    wide->in = views;
    wide->out = views + c->n_in;
    for (int32_t i = 0; i < c->n_in; i++) bytes += widen_view(&wide->in[i], &c->in[i]);
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++)
        bytes += widen_view(&wide->out[k], &c->out[k]);
    return bytes;
}

/* The shape rule again, for the scratch that the wide dtypes need. It has passed once and
 * depends on values only where the operation says so. */
static ebb_status wide_scratch(ebb__call *wide, const ebb__call *c)
{
    wide->scratch_bytes = 0;
    if (c->op->flags & EBB_OP_VALUE_SHAPE) {
        wide->scratch_bytes = c->scratch_bytes * 2;
        return EBB_OK;
    }
    EBB_TRY(c->op->shape(wide));
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) widen_view(&wide->out[k], &c->out[k]);
    return EBB_OK;
}

void ebb__half_plan(ebb__call *c, const ebb__half_kernel *k)
{
    ebb_view views[MAX_OPERANDS];
    ebb__call wide;
    void *backend = NULL;
    if (c->n_in + c->n_out + c->n_aux > MAX_OPERANDS) return; /* forward refuses */
    size_t bytes = widen_call(&wide, views, c);
    if (wide_scratch(&wide, c) != EBB_OK) return; /* and there it says why */
    k->plan(k->registry, &wide, &backend);
    c->scratch_bytes = padded(wide.scratch_bytes) + bytes;
}

/* Calls row(wide, narrow, stride, n) for each run along the last stored dimension. */
static void for_rows(const ebb_view *v, float *wide,
                     void (*row)(float *wide, uint16_t *narrow, int64_t stride, int64_t n))
{
    int64_t dims[EBB_MAX_DIMS], strides[EBB_MAX_DIMS], index[EBB_MAX_DIMS] = {0};
    int64_t n_dims = 0, left = n_stored(v);
    for (int64_t d = 0; d < v->shape.n_dims; d++)
        if (v->strides[d] != 0) {
            dims[n_dims] = v->shape.dims[d];
            strides[n_dims++] = v->strides[d];
        }
    while (n_dims > 1 && strides[n_dims - 2] == strides[n_dims - 1] * dims[n_dims - 1]) {
        dims[n_dims - 2] *= dims[n_dims - 1];
        strides[n_dims - 2] = strides[n_dims - 1];
        n_dims--;
    }
    int64_t length = n_dims ? dims[n_dims - 1] : 1;
    uint16_t *p = v->data;
    for (; left > 0; left -= length, wide += length) {
        row(wide, p, n_dims ? strides[n_dims - 1] : 1, length);
        for (int64_t d = n_dims - 1; d-- > 0;) {
            p += strides[d];
            if (++index[d] < dims[d]) break;
            p -= index[d] * strides[d];
            index[d] = 0;
        }
    }
}

#define ROWS(name)                                                                             \
    static void name##_widen(float *wide, uint16_t *narrow, int64_t stride, int64_t n)         \
    {                                                                                          \
        if (stride == 1)                                                                       \
            for (int64_t i = 0; i < n; i++) wide[i] = ebb__##name##_to_float(narrow[i]);       \
        else                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                    \
                wide[i] = ebb__##name##_to_float(narrow[i * stride]);                          \
    }                                                                                          \
    static void name##_narrow(float *wide, uint16_t *narrow, int64_t stride, int64_t n)        \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) narrow[i * stride] = ebb__##name##_of_float(wide[i]);  \
    }
ROWS(f16)
ROWS(bf16)
#undef ROWS

static void widen(const ebb_view *v, float *wide)
{
    for_rows(v, wide, v->dtype == EBB_F16 ? f16_widen : bf16_widen);
}

static void narrow(const ebb_view *v, float *wide)
{
    for_rows(v, wide, v->dtype == EBB_F16 ? f16_narrow : bf16_narrow);
}

ebb_status ebb__half_forward(const ebb__call *c, const ebb__half_kernel *k)
{
    ebb_view views[MAX_OPERANDS];
    ebb__call wide;
    void *backend = NULL;
    if (c->n_in + c->n_out + c->n_aux > MAX_OPERANDS)
        return ebb__fail(EBB_E_UNSUPPORTED, "more than %d operands with 16-bit floats",
                         (int)MAX_OPERANDS);
    widen_call(&wide, views, c);
    EBB_TRY(wide_scratch(&wide, c));
    const ebb__override *o = k->plan(k->registry, &wide, &backend);
    wide.scratch = c->scratch;
    char *block = (char *)c->scratch + padded(wide.scratch_bytes);
    int32_t n = c->n_in + c->n_out + c->n_aux;
    for (int32_t i = 0; i < n; i++) {
        const ebb_view *v = i < c->n_in ? &c->in[i] : &c->out[i - c->n_in];
        views[i].data = v->data;
        if (!ebb__dtype_is_half(v->dtype)) continue;
        views[i].data = block;
        block += padded((size_t)n_stored(v) * sizeof(float));
        if (i < c->n_in) widen(v, views[i].data);
    }
    EBB_TRY(o ? o->forward(&wide, backend) : c->op->forward(&wide));
    for (int32_t i = 0; i < n; i++) {
        const ebb_view *v = i < c->n_in ? &c->in[i] : &c->out[i - c->n_in];
        bool made = i >= c->n_in || c->op->writes >> i & 1;
        if (made && ebb__dtype_is_half(v->dtype)) narrow(v, views[i].data);
    }
    return EBB_OK;
}
