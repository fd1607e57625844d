/* init.c - how parameters start. An ebb_init is a recipe of two numbers; what depends on the
 * shape is resolved when the parameter is made. All zero is the constant 0.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "nn/params.h"

#include <ebb/ops.h>
#include <math.h>

enum init_kind {
    INIT_CONSTANT,        /* a */
    INIT_NORMAL,          /* mean a, standard deviation b */
    INIT_UNIFORM,         /* [a, b) */
    INIT_KAIMING_UNIFORM, /* negative slope a */
    INIT_KAIMING_NORMAL,  /* negative slope a */
    INIT_XAVIER_UNIFORM
};

ebb_init ebb_kaiming_uniform(void)
{
    return (ebb_init){.kind = INIT_KAIMING_UNIFORM, .a = sqrt(5)};
}

ebb_init ebb_kaiming_normal(void)
{
    return (ebb_init){.kind = INIT_KAIMING_NORMAL, .a = 0};
}

ebb_init ebb_xavier_uniform(void)
{
    return (ebb_init){.kind = INIT_XAVIER_UNIFORM};
}

ebb_init ebb_constant(double v)
{
    return (ebb_init){.kind = INIT_CONSTANT, .a = v};
}

ebb_init ebb_normal_init(double mean, double std)
{
    return (ebb_init){.kind = INIT_NORMAL, .a = mean, .b = std};
}

ebb_init ebb_uniform_init(double low, double high)
{
    return (ebb_init){.kind = INIT_UNIFORM, .a = low, .b = high};
}

/* (out, in, ...): an output sees in * ..., an input reaches out * .... False below two axes. */
static bool fans(double *in, double *out, const ebb_shape *s)
{
    double rest = 1;
    if (s->n_dims < 2) return false;
    for (int64_t i = 2; i < s->n_dims; i++) rest *= (double)s->dims[i];
    *in = (double)s->dims[1] * rest;
    *out = (double)s->dims[0] * rest;
    return true;
}

/* An empty shape draws nothing: any finite bound does. */
static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

static ebb_init resolve(ebb_init init, double in, double out)
{
    const double gain2 = 2 / (1 + init.a * init.a);
    double bound;
    switch (init.kind) {
    case INIT_KAIMING_UNIFORM:
        bound = sqrt(3 * ratio(gain2, in));
        return ebb_uniform_init(-bound, bound);
    case INIT_KAIMING_NORMAL:
        return ebb_normal_init(0, sqrt(ratio(gain2, in)));
    default:
        bound = sqrt(ratio(6, in + out));
        return ebb_uniform_init(-bound, bound);
    }
}

ebb_tensor *ebb__init_make(ebb_context *ctx, ebb_dtype d, ebb_shape s, ebb_init init)
{
    if (init.kind < INIT_CONSTANT || init.kind > INIT_XAVIER_UNIFORM) {
        (void)ebb_fail(EBB_E_RANGE, "init: kind %d is none of Ebb's", (int)init.kind);
        return NULL;
    }
    if (init.kind >= INIT_KAIMING_UNIFORM) {
        double in = 0, out = 0;
        if (!fans(&in, &out, &s)) {
            (void)ebb_fail(EBB_E_SHAPE,
                           "init: a bound by fan-in wants 2 dimensions or more, "
                           "%lld given",
                           (long long)s.n_dims);
            return NULL;
        }
        init = resolve(init, in, out);
    }
    if (init.kind == INIT_UNIFORM) return ebb_uniform(ctx, d, s, init.a, init.b);
    if (init.kind == INIT_NORMAL) return ebb_normal(ctx, d, s, init.a, init.b);
    return ebb_full(ctx, d, s, init.a);
}
