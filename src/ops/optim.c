/* optim.c - parameter updates in place, one pass over parameter, gradient and state.
 *
 * SGD: p -= lr * v, v = momentum * v + d with d = g + weight_decay * p. Adam: Kingma & Ba
 * (2015), algorithm 1; decoupled weight decay: Loshchilov & Hutter (2019), algorithm 2.
 * SPDX-License-Identifier: MIT */
#include "ops/ids.h"
#include "ops/kernels/clones.h"
#include "ops/operand.h"
#include "ops/parallel.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { OPTIM_GRAIN = 16384 };

typedef struct sgd_attr {
    double lr, momentum, weight_decay;
    bool nesterov, first; /* first: the momentum starts as d */
} sgd_attr;
static const ebb_attr_spec sgd_attrs[] = {
    {"lr", EBB_ATTR_F64, offsetof(sgd_attr, lr), false, NULL},
    {"momentum", EBB_ATTR_F64, offsetof(sgd_attr, momentum), false, NULL},
    {"weight_decay", EBB_ATTR_F64, offsetof(sgd_attr, weight_decay), false, NULL},
    {"nesterov", EBB_ATTR_BOOL, offsetof(sgd_attr, nesterov), false, NULL},
    {"first", EBB_ATTR_BOOL, offsetof(sgd_attr, first), false, NULL},
    {0}};

typedef struct adam_attr {
    double lr, beta1, beta2, eps, weight_decay;
    bool decoupled;
    int64_t step; /* 1 at the first step */
} adam_attr;
static const ebb_attr_spec adam_attrs[] = {
    {"lr", EBB_ATTR_F64, offsetof(adam_attr, lr), false, NULL},
    {"beta1", EBB_ATTR_F64, offsetof(adam_attr, beta1), false, NULL},
    {"beta2", EBB_ATTR_F64, offsetof(adam_attr, beta2), false, NULL},
    {"eps", EBB_ATTR_F64, offsetof(adam_attr, eps), false, NULL},
    {"weight_decay", EBB_ATTR_F64, offsetof(adam_attr, weight_decay), false, NULL},
    {"decoupled", EBB_ATTR_BOOL, offsetof(adam_attr, decoupled), false, NULL},
    {"step", EBB_ATTR_I64, offsetof(adam_attr, step), false, NULL},
    {0}};

typedef struct optim_work {
    const void *attr;
    ebb_dtype dtype;
    bool over; /* the result takes g's place */
    void *p, *g;
    void *state[2];
} optim_work;

#define EBB_TYPED "ops/optim.inl"
#include "ops/kernels/typed.h"

static ebb_status optim_shape(ebb__call *c)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
        EBB_TRY(ebb__check_shape_as(c, i, 0));
    }
    return EBB_OK;
}

static ebb_status optim_run(const ebb__call *c, ebb__range_fn fn)
{
    optim_work w = {c->attr,       c->in[0].dtype, c->over,
                    c->in[0].data, c->in[1].data,  {NULL, NULL}};
    for (int32_t i = 2; i < c->n_in; i++)
        w.state[i - 2] = ebb__given(c, i) ? c->in[i].data : NULL;
    ebb__parallel(c->n_threads, ebb__n_elems(&c->in[0].shape), OPTIM_GRAIN, fn, &w);
    return EBB_OK;
}

/* The parameter stays, its update takes the gradient's place: the same arithmetic, on pieces of a
 * copy that stays in the cache. */
static void range_over(const optim_work *w, int64_t lo, int64_t hi,
                       void (*range)(const optim_work *w, int64_t lo, int64_t hi))
{
    enum { PIECE = 4096 };
    _Alignas(64) char piece[PIECE];
    const size_t size = ebb__dtype_size(w->dtype);
    const int64_t most = (int64_t)(PIECE / size);
    for (int64_t at = lo; at < hi; at += most) {
        const int64_t n = hi - at < most ? hi - at : most;
        const size_t from = (size_t)at * size, bytes = (size_t)n * size;
        optim_work part = {w->attr, w->dtype, false, piece, (char *)w->g + from, {NULL, NULL}};
        for (int k = 0; k < 2; k++)
            if (w->state[k]) part.state[k] = (char *)w->state[k] + from;
        memcpy(piece, (char *)w->p + from, bytes);
        range(&part, 0, n);
        memcpy((char *)w->g + from, piece, bytes);
    }
}

static void sgd_in_place(const optim_work *w, int64_t lo, int64_t hi)
{
    EBB_BY_DTYPE(w->dtype, sgd_range, w, lo, hi);
}

static void adam_in_place(const optim_work *w, int64_t lo, int64_t hi)
{
    EBB_BY_DTYPE(w->dtype, adam_range, w, lo, hi);
}

static void sgd_piece(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const optim_work *w = arg;
    if (w->over)
        range_over(w, lo, hi, sgd_in_place);
    else
        sgd_in_place(w, lo, hi);
}

static void adam_piece(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const optim_work *w = arg;
    if (w->over)
        range_over(w, lo, hi, adam_in_place);
    else
        adam_in_place(w, lo, hi);
}

static ebb_status sgd_step_forward(const ebb__call *c)
{
    return optim_run(c, sgd_piece);
}

static ebb_status adam_step_forward(const ebb__call *c)
{
    return optim_run(c, adam_piece);
}

static ebb_status adam_step_shape(ebb__call *c)
{
    const adam_attr *a = c->attr;
    if (a->step < 1)
        return ebb__fail(EBB_E_RANGE, "step is %lld, the first one is 1", (long long)a->step);
    return optim_shape(c);
}

const ebb_op ebb__op_sgd_step = {
    EBB_OP_HEAD(sgd_step),
    .doc = "param -= lr * v with v = momentum * v + grad + weight_decay * param, in place.",
    .n_in = 3,
    .n_out = 0,
    .optional = 1u << 2,
    .arg = {"param", "grad", "momentum"},
    .attr_bytes = sizeof(sgd_attr),
    .attrs = sgd_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_STATEFUL | EBB_OP_OVER,
    .writes = 1u << 0 | 1u << 2,
    .bound = EBB_BOUND_MEMORY,
    .shape = optim_shape,
    .forward = sgd_step_forward,
    EBB_SAMPLES(
        {.in = {"3x4", "3x4", "-"}, .attr = "lr=0.1"},
        {.in = {"3x4", "3x4", "3x4"}, .attr = "lr=0.1 momentum=0.9 first=1"},
        {.in = {"5", "5", "5"}, .attr = "lr=0.1 momentum=0.9 weight_decay=0.01 nesterov=1"}),
};

const ebb_op ebb__op_adam_step = {
    EBB_OP_HEAD(adam_step),
    .doc = "param -= lr * m' / (sqrt(v') + eps) with moving means m of grad and v of grad^2, "
           "m' and v' "
           "corrected for their start; in place.",
    .n_in = 4,
    .n_out = 0,
    .arg = {"param", "grad", "m", "v"},
    .attr_bytes = sizeof(adam_attr),
    .attrs = adam_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_STATEFUL | EBB_OP_OVER,
    .writes = 1u << 0 | 1u << 2 | 1u << 3,
    .bound = EBB_BOUND_MEMORY,
    .shape = adam_step_shape,
    .forward = adam_step_forward,
    .range = {[3] = {0.1, 2, 0}},
    EBB_SAMPLES(
        {.in = {"3x4", "3x4", "3x4", "3x4"},
         .attr = "lr=0.1 beta1=0.9 beta2=0.999 eps=1e-8 step=1"},
        {.in = {"5", "5", "5", "5"},
         .attr = "lr=0.1 beta1=0.9 beta2=0.999 eps=1e-8 weight_decay=0.01 step=3"},
        {.in = {"", "", "", ""},
         .attr = "lr=0.1 beta1=0.9 beta2=0.999 eps=1e-8 weight_decay=0.01 decoupled=1 step=2"}),
};
