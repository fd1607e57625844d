/* pooling.c - the sizes of pooled results and the rules about windows.
 * SPDX-License-Identifier: MIT */
#include "ops/pooling.h"

#include "ops/operand.h"
#include "ops/parallel.h"

#define POOL_SPEC(name, kind, member)                                                          \
    {                                                                                          \
        name, kind, offsetof(ebb__pool_grad_attr, member), false, NULL                         \
    }
const ebb_attr_spec ebb__pool_grad_attrs[] = {
    POOL_SPEC("stride", EBB_ATTR_TRIPLE, pool.stride),
    POOL_SPEC("padding", EBB_ATTR_TRIPLE, pool.padding),
    POOL_SPEC("dilation", EBB_ATTR_TRIPLE, pool.dilation),
    POOL_SPEC("kernel", EBB_ATTR_TRIPLE, pool.kernel),
    POOL_SPEC("divisor", EBB_ATTR_I64, pool.divisor),
    POOL_SPEC("ceil_mode", EBB_ATTR_BOOL, pool.ceil_mode),
    POOL_SPEC("exclude_padding", EBB_ATTR_BOOL, pool.exclude_padding),
    POOL_SPEC("shape", EBB_ATTR_SHAPE, shape),
    {0}};

/* A window that begins in the padding may step over the whole image. */
static ebb_status check_windows(const ebb__pool_geometry *s, int64_t i)
{
    for (int64_t at = 0; at < s->out[i] && ebb__pool_at(s, (int)i, at, 0) < 0; at++) {
        int64_t start = ebb__pool_at(s, (int)i, at, 0), d = s->dilation[i];
        int64_t place = (-start + d - 1) / d;
        if (place >= s->kernel[i] || start + place * d >= s->in[i])
            return ebb__fail(EBB_E_SHAPE, "window %lld sees nothing but padding",
                             (long long)at);
    }
    return EBB_OK;
}

static ebb_status pool_axis(ebb__pool_geometry *s, int64_t i, bool ceil_mode)
{
    int64_t kernel = s->kernel[i], padding = s->padding[i], stride = s->stride[i];
    if (kernel < 1 || kernel > INT32_MAX / 2 || stride < 1)
        return ebb__fail(
            EBB_E_RANGE,
            "kernel %lld, stride %lld: both must be positive, the kernel at most %d",
            (long long)kernel, (long long)stride, INT32_MAX / 2);
    if (s->dilation[i] < 1 || s->dilation[i] > INT32_MAX)
        return ebb__fail(EBB_E_RANGE, "dilation is %lld, it must be in [1, %d]",
                         (long long)s->dilation[i], INT32_MAX);
    if (padding < 0 || padding > kernel / 2)
        return ebb__fail(EBB_E_RANGE, "padding %lld is outside [0, %lld], half the kernel",
                         (long long)padding, (long long)(kernel / 2));
    int64_t reach = (kernel - 1) * s->dilation[i] + 1, rest = s->in[i] + 2 * padding - reach;
    if (rest < 0)
        return ebb__fail(EBB_E_SHAPE, "the kernel's side is %lld, the padded input's is %lld",
                         (long long)reach, (long long)(rest + reach));
    s->out[i] = rest / stride + 1;
    /* One more window where a part is left over, if it begins before the padding at the end. */
    if (ceil_mode && rest % stride != 0 && s->out[i] * stride < s->in[i] + padding) s->out[i]++;
    return check_windows(s, i);
}

ebb_status ebb__pool_geometry_of(ebb__pool_geometry *s, const ebb_shape *x,
                                 const ebb__pool_attr *a)
{
    int64_t rank = x->n_dims - 2, places = 1;
    *s = (ebb__pool_geometry){.volumes = x->dims[0] * x->dims[1],
                              .n_in = 1,
                              .n_out = 1,
                              .divisor = a->divisor,
                              .exclude_padding = a->exclude_padding,
                              .shape = EBB_SHAPE(x->dims[0], x->dims[1])};
    if (a->divisor < 0)
        return ebb__fail(EBB_E_RANGE, "divisor is %lld, it must be positive",
                         (long long)a->divisor);
    for (int64_t i = 0; i < 3; i++) {
        int64_t own = i - (3 - rank);
        bool has = own >= 0;
        s->in[i] = has ? x->dims[2 + own] : 1;
        s->kernel[i] = has ? a->kernel[own] : 1;
        s->stride[i] = !has ? 1 : a->stride[own] ? a->stride[own] : s->kernel[i];
        s->padding[i] = has ? a->padding[own] : 0;
        s->dilation[i] = has && a->dilation[own] ? a->dilation[own] : 1;
        EBB_TRY(pool_axis(s, i, a->ceil_mode));
        if (places > INT32_MAX / s->kernel[i])
            return ebb__fail(EBB_E_RANGE, "the kernel has more than %d places", INT32_MAX);
        places *= s->kernel[i];
        s->n_in *= s->in[i];
        s->n_out *= s->out[i];
        if (has) s->shape.dims[s->shape.n_dims++] = s->out[i];
    }
    s->is_wide = places > EBB__POOL_NARROW;
    return EBB_OK;
}

ebb_status ebb__pool_check(const ebb__call *c, int64_t n)
{
    EBB_TRY(ebb__check_float(c, 0));
    return ebb__check_rank(c, 0, n + 2);
}

ebb_status ebb__pool_grad_geometry(ebb__pool_geometry *s, const ebb__call *c)
{
    const ebb__pool_grad_attr *a = c->attr;
    if (a->shape.n_dims < 3 || a->shape.n_dims > 5)
        return ebb__fail(EBB_E_SHAPE, "shape must have 3 to 5 dimensions, it has %lld",
                         (long long)a->shape.n_dims);
    EBB_TRY(ebb__pool_check(c, a->shape.n_dims - 2));
    return ebb__pool_geometry_of(s, &a->shape, &a->pool);
}

ebb_status ebb__pool_check_pooled(const ebb__call *c, int32_t i, const ebb__pool_geometry *s)
{
    char a[EBB__SHAPE_TEXT], b[EBB__SHAPE_TEXT];
    if (ebb__shape_equal(&c->in[i].shape, &s->shape)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "%s is %s, the pooled result is %s", ebb__arg_name(c, i),
                     ebb__shape_text(a, sizeof a, &c->in[i].shape),
                     ebb__shape_text(b, sizeof b, &s->shape));
}

void ebb__pool_run(const ebb__call *c, const ebb__pool_geometry *s, ebb__range_fn fn,
                   const void *arg)
{
    int64_t cost = s->n_out * s->kernel[0] * s->kernel[1] * s->kernel[2] + s->n_in;
    ebb__parallel(c->n_threads, s->volumes, ebb__grain(cost), fn, arg);
}
