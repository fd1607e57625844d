/* bytes.c - reading, writing and mapping a tensor's elements.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/dry.h"
#include "base/half.h"
#include "tensor/slots.h"

#include <math.h>
#include <string.h>

/* ---- conversion of single elements ------------------------------------------------------- */

static double element_get(const void *p, ebb_dtype d)
{
    switch (d) {
    case EBB_F32:
        return *(const float *)p;
    case EBB_F64:
        return *(const double *)p;
    case EBB_I64:
        return (double)*(const int64_t *)p;
    case EBB_I32:
        return *(const int32_t *)p;
    case EBB_U8:
        return *(const uint8_t *)p;
    case EBB_BOOL:
        return *(const uint8_t *)p != 0;
    case EBB_F16:
        return (double)ebb__f16_to_float(*(const uint16_t *)p);
    case EBB_BF16:
        return (double)ebb__bf16_to_float(*(const uint16_t *)p);
    }
    return NAN;
}

/* C's conversion; values outside an integer type saturate, NaN becomes 0. */
static int64_t to_integer(double x, double low, double high)
{
    if (!(x > low)) return x == x ? (int64_t)low : 0;
    return x >= high ? (high >= 9.2e18 ? INT64_MAX : (int64_t)high) : (int64_t)x;
}

static void element_put(void *p, ebb_dtype d, double x)
{
    switch (d) {
    case EBB_F32:
        *(float *)p = (float)x;
        break;
    case EBB_F64:
        *(double *)p = x;
        break;
    case EBB_I64:
        *(int64_t *)p = to_integer(x, -9223372036854775808.0, 9223372036854775808.0);
        break;
    case EBB_I32:
        *(int32_t *)p = (int32_t)to_integer(x, INT32_MIN, INT32_MAX);
        break;
    case EBB_U8:
        *(uint8_t *)p = (uint8_t)to_integer(x, 0, 255);
        break;
    case EBB_BOOL:
        *(uint8_t *)p = x != 0;
        break;
    case EBB_F16:
        *(uint16_t *)p = ebb__f16_of_float((float)x);
        break;
    case EBB_BF16:
        *(uint16_t *)p = ebb__bf16_of_float((float)x);
        break;
    }
}

static int32_t saturated(int64_t x)
{
    return x < INT32_MIN ? INT32_MIN : x > INT32_MAX ? INT32_MAX : (int32_t)x;
}

static void element_copy(void *to, ebb_dtype dt, const void *from, ebb_dtype df)
{
    if (dt == df)
        memcpy(to, from, ebb__dtype_size(dt));
    else if (df == EBB_I64 && dt == EBB_I32)
        *(int32_t *)to = saturated(*(const int64_t *)from);
    else
        element_put(to, dt, element_get(from, df));
}

/* Copies all elements between a strided view and packed memory in C order. */
static void elements_copy(const ebb_view *v, void *packed, ebb_dtype as, bool out)
{
    int64_t n = ebb__n_elems(&v->shape), index[EBB_MAX_DIMS] = {0};
    size_t size = ebb__dtype_size(v->dtype), packed_size = ebb__dtype_size(as);
    if (as == v->dtype && ebb__view_is_contiguous(v)) {
        if (n) memcpy(out ? packed : v->data, out ? v->data : packed, (size_t)n * size);
        return;
    }
    char *p = v->data, *q = packed;
    for (int64_t i = 0; i < n; i++, q += packed_size) {
        if (out)
            element_copy(q, as, p, v->dtype);
        else
            element_copy(p, v->dtype, q, as);
        for (int64_t d = v->shape.n_dims; d-- > 0;) {
            p += v->strides[d] * (int64_t)size;
            if (++index[d] < v->shape.dims[d]) break;
            p -= index[d] * v->strides[d] * (int64_t)size;
            index[d] = 0;
        }
    }
}

/* ---- reading ----------------------------------------------------------------------------- */

static ebb_status size_check(const ebb__slot *s, ebb_dtype as, size_t bytes)
{
    ebb_view v;
    char text[EBB__SHAPE_TEXT];
    ebb__layout_unpack(&v, s->layout, NULL);
    EBB_TRY(ebb__shape_check(&v.shape, as));
    size_t want = (size_t)ebb__n_elems(&v.shape) * ebb__dtype_size(as);
    if (bytes == want) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "%s as %s is %zu bytes, %zu were given",
                     ebb__shape_text(text, sizeof text, &v.shape), ebb_dtype_name(as), want,
                     bytes);
}

static ebb_status read_checked(void *out, size_t out_bytes, ebb_dtype as, ebb_tensor *t)
{
    ebb__slot *s = ebb__slot_of(t, "ebb_read", "t");
    if (!s) return ebb_error_status();
    EBB_TRY(ebb__context_usable(s->ctx));
    EBB_TRY(size_check(s, as, out_bytes));
    if (!out && out_bytes) return ebb__null_argument("ebb_read", "out");
    ebb_view v;
    EBB_TRY(ebb__tensor_pin(&v, s));
    elements_copy(&v, out, as, true);
    ebb__tensor_unpin(s);
    return EBB_OK;
}

ebb_status(ebb_read)(void *out, size_t out_bytes, ebb_dtype as, ebb_tensor *t)
{
    const char *outer = ebb__error_op_set("read");
    ebb_status status = read_checked(out, out_bytes, as, t);
    return ebb__call_end(outer, ebb__context_among(&t, 1), status);
}

double(ebb_item)(ebb_tensor *t)
{
    const char *outer = ebb__error_op_set("item");
    double x = NAN;
    ebb__slot *s = ebb__slot_of(t, "ebb_item", "t");
    ebb_view v;
    ebb_status status = s ? ebb__context_usable(s->ctx) : ebb_error_status();
    if (status == EBB_OK && ebb_n_elems(t) != 1)
        status = ebb__fail(EBB_E_SHAPE, "the tensor has %lld elements, one is needed",
                           (long long)ebb_n_elems(t));
    if (status == EBB_OK) status = ebb__tensor_pin(&v, s);
    if (status == EBB_OK) {
        x = element_get(v.data, v.dtype);
        ebb__tensor_unpin(s);
    }
    (void)ebb__call_end(outer, s ? s->ctx : NULL, status);
    return x;
}

/* ---- writing ----------------------------------------------------------------------------- */

static bool overlaps_itself(const ebb__layout *l)
{
    for (int64_t i = 0; i < l->n_dims; i++)
        if (l->dims_strides[i] > 1 && l->dims_strides[l->n_dims + i] == 0) return true;
    return false;
}

static ebb_status write_allowed(const ebb__slot *s)
{
    if (s->node && !s->is_leaf)
        return ebb__fail(EBB_E_GRAPH, "the tensor carries history: only leaves and untracked "
                                      "tensors are written to");
    if (overlaps_itself(s->layout))
        return ebb__fail(EBB_E_MISUSE,
                         "the tensor repeats elements (expand): it cannot be written");
    return EBB_OK;
}

static ebb_status write_checked(ebb_tensor *t, ebb_dtype as, const void *data,
                                size_t data_bytes)
{
    ebb__slot *s = ebb__slot_of(t, "ebb_write", "t");
    if (!s) return ebb_error_status();
    EBB_TRY(ebb__context_usable(s->ctx));
    EBB_TRY(size_check(s, as, data_bytes));
    if (!data && data_bytes) return ebb__null_argument("ebb_write", "data");
    EBB_TRY(write_allowed(s));
    if (ebb__is_dry(s->ctx)) return EBB_OK;
    ebb_view v;
    EBB_TRY(ebb__storage_write(s->storage, "write", ebb__restore));
    EBB_TRY(ebb__tensor_pin(&v, s));
    elements_copy(&v, (void *)(uintptr_t)data, as, false);
    ebb__tensor_unpin(s);
    return EBB_OK;
}

ebb_status(ebb_write)(ebb_tensor *t, ebb_dtype as, const void *data, size_t data_bytes)
{
    const char *outer = ebb__error_op_set("write");
    ebb_status status = write_checked(t, as, data, data_bytes);
    return ebb__call_end(outer, ebb__context_among(&t, 1), status);
}

/* ---- mapping ----------------------------------------------------------------------------- */

static ebb_status map_checked(ebb_view *out, ebb_tensor *t, uint32_t access)
{
    ebb__slot *s = ebb__slot_of(t, "ebb_map", "t");
    if (!s) return ebb_error_status();
    if (!out) return ebb__null_argument("ebb_map", "out");
    if (!access || access & ~(uint32_t)(EBB_MAP_READ | EBB_MAP_WRITE))
        return ebb__fail(EBB_E_RANGE, "access is %u: EBB_MAP_READ, EBB_MAP_WRITE or both",
                         (unsigned)access);
    EBB_TRY(ebb__context_usable(s->ctx));
    if (atomic_load(&s->n_maps) == UINT8_MAX)
        return ebb__fail(EBB_E_RANGE, "the tensor is mapped %d times", UINT8_MAX);
    if (access & EBB_MAP_WRITE) {
        EBB_TRY(write_allowed(s));
        if (ebb__is_dry(s->ctx))
            return ebb__fail(EBB_E_UNSUPPORTED, "a dry run writes nothing: no tensor is mapped "
                                                "for writing in it");
        EBB_TRY(ebb__storage_write(s->storage, "map for writing", ebb__restore));
    }
    EBB_TRY(ebb__tensor_pin(out, s));
    if (access & EBB_MAP_WRITE) atomic_store(&s->written_by_map, true);
    atomic_fetch_add(&s->n_maps, 1);
    ebb__storage_map_count(s->storage, 1);
    return EBB_OK;
}

ebb_status(ebb_map)(ebb_view *out, ebb_tensor *t, uint32_t access)
{
    const char *outer = ebb__error_op_set("map");
    ebb_status status = map_checked(out, t, access);
    return ebb__call_end(outer, ebb__context_among(&t, 1), status);
}

void ebb_unmap(ebb_tensor *t)
{
    ebb__slot *s = t ? ebb__slot_of(t, "ebb_unmap", "t") : NULL;
    if (!s) return;
    if (atomic_load(&s->n_maps) == 0) {
        ebb__fail(EBB_E_MISUSE, "ebb_unmap: the tensor is not mapped");
        return;
    }
    bool last = atomic_fetch_sub(&s->n_maps, 1) == 1;
    ebb__storage_map_count(s->storage, -1);
    ebb__tensor_unpin(s);
    /* What was saved while the user could write is as good as written to. */
    if (last && atomic_exchange(&s->written_by_map, false) &&
        ebb__context_usable(s->ctx) == EBB_OK) {
        ebb_status status = ebb__storage_write(s->storage, "map for writing", ebb__restore);
        (void)ebb__call_end(ebb__error_op(), s->ctx, status);
    }
}
