/* recurrent.c - sizes, threads and rules of the recurrent operations.
 * SPDX-License-Identifier: MIT */
#include "ops/recurrent.h"

#include "ops/attrs.h"
#include "ops/gemm.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

ebb_status ebb__recurrence_check(const ebb__call *c, int32_t sequence, int32_t w,
                                 int64_t n_gates)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, w));
    }
    EBB_TRY(ebb__check_rank(c, sequence, 3));
    EBB_TRY(ebb__check_rank(c, w, 2));
    const ebb_shape *x = &c->in[sequence].shape, *s = &c->in[w].shape;
    char xt[EBB__SHAPE_TEXT], wt[EBB__SHAPE_TEXT];
    if (s->dims[0] != n_gates * s->dims[1])
        return ebb__fail(EBB_E_SHAPE, "w_hh is %s: its rows must be %lld times its columns",
                         ebb__shape_text(wt, sizeof wt, s), (long long)n_gates);
    if (x->dims[2] % (s->dims[1] ? s->dims[1] : 1) != 0 || x->dims[0] < 1)
        return ebb__fail(EBB_E_SHAPE, "the sequence is %s, w_hh is %s: they do not fit",
                         ebb__shape_text(xt, sizeof xt, x), ebb__shape_text(wt, sizeof wt, s));
    return EBB_OK;
}

static ebb_status check_dims(const ebb__call *c, int32_t i, const ebb_shape *want)
{
    char have[EBB__SHAPE_TEXT], text[EBB__SHAPE_TEXT];
    if (!ebb__given(c, i) || ebb__shape_equal(&c->in[i].shape, want)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "%s is %s, it must be %s", ebb__arg_name(c, i),
                     ebb__shape_text(have, sizeof have, &c->in[i].shape),
                     ebb__shape_text(text, sizeof text, want));
}

ebb_status ebb__recurrence_check_state(const ebb__call *c, int32_t i, const ebb__recurrence *r)
{
    ebb_shape want = EBB_SHAPE(r->batch, r->width);
    return check_dims(c, i, &want);
}

ebb_status ebb__recurrence_check_steps(const ebb__call *c, int32_t i, const ebb__recurrence *r,
                                       int64_t columns)
{
    ebb_shape want = EBB_SHAPE(r->steps, r->batch, columns);
    return check_dims(c, i, &want);
}

ebb__recurrence ebb__recurrence_of(const ebb__call *c, int32_t sequence, int32_t w,
                                   int64_t n_gates)
{
    const ebb_shape *x = &c->in[sequence].shape;
    const ebb__recurrent_attr *a = c->attr;
    return (ebb__recurrence){.dtype = c->in[w].dtype,
                             .steps = x->dims[0],
                             .batch = x->dims[1],
                             .width = c->in[w].shape.dims[1],
                             .n_gates = n_gates,
                             .reverse = a->reverse,
                             .relu = a->relu,
                             .w = c->in[w].data,
                             .scratch = c->scratch};
}

void ebb__recurrence_plan(ebb__recurrence *r, int64_t k)
{
    size_t bytes = ebb__gemm_scratch(r->batch, r->width, k, ebb__dtype_size(r->dtype));
    r->scratch_each = (bytes + 63) & ~(size_t)63;
}

/* Steps of ebb__grain that a column costs; only small numbers need to be right. */
static int64_t column_steps(const ebb__recurrence *r)
{
    double steps = (double)r->batch * (double)r->n_gates * ((double)r->width / 4 + 8);
    return steps < 1e15 ? (int64_t)steps : INT64_C(1000000000000000);
}

size_t ebb__recurrence_scratch(const ebb__call *c, const ebb__recurrence *r)
{
    int32_t n = ebb__n_parts(c->n_threads, r->width, ebb__grain(column_steps(r)));
    return (size_t)(n < 1 ? 1 : n) * r->scratch_each;
}

void ebb__recurrence_columns(const ebb__call *c, const ebb__recurrence *r, ebb__range_fn fn,
                             const void *arg)
{
    ebb__parallel(c->n_threads, r->width, ebb__grain(column_steps(r)), fn, arg);
}

/* ---- formulas --------------------------------------------------------------------------- */
ebb_tensor *ebb__recurrent_input(ebb_vjp *v, ebb_tensor *x, int64_t rank, ebb_tensor *w,
                                 ebb_tensor *b, ebb_tensor *c)
{
    ebb_shape s = ebb_shape_get(x);
    char text[EBB__SHAPE_TEXT];
    if (s.n_dims != rank || (rank == 3 && s.dims[0] < 1)) {
        v->status = ebb__fail(EBB_E_SHAPE, "x is %s, it must be %s",
                              ebb__shape_text(text, sizeof text, &s),
                              rank == 3 ? "(steps, batch, in), steps >= 1" : "(batch, in)");
        return NULL;
    }
    if (b == EBB_NONE)
        b = c;
    else if (c != EBB_NONE)
        b = ebb__rule_add(v, b, c);
    return EBB_EMIT(v, linear, NULL, x, w, b);
}

ebb_tensor *ebb__recurrent_one(ebb_vjp *v, ebb_tensor *x)
{
    int64_t axis = 0;
    return EBB_EMIT(v, unsqueeze, &axis, x);
}

ebb_tensor *ebb__recurrent_step(ebb_vjp *v, ebb_tensor *x, int64_t t)
{
    ebb__select_attr attr = {0, t};
    return EBB_EMIT(v, select, &attr, x);
}

ebb_tensor *ebb__recurrent_last(ebb_vjp *v, ebb_tensor *y, bool reverse)
{
    if (!y) return NULL;
    return EBB_EMIT(v, clone, NULL, ebb__recurrent_step(v, y, reverse ? 0 : ebb_dim(y, 0) - 1));
}

ebb_tensor *ebb__recurrent_gate(ebb_vjp *v, ebb_tensor *x, int64_t k, int64_t width)
{
    ebb__narrow_attr attr = {-1, k * width, width};
    return EBB_EMIT(v, narrow, &attr, x);
}

ebb_tensor *ebb__recurrent_plus(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y)
{
    return !x || x == EBB_NONE ? y : y == EBB_NONE ? x : ebb__rule_add(v, x, y);
}

ebb_tensor *ebb__recurrent_weight(ebb_vjp *v, ebb_tensor *g, ebb_tensor *y, ebb_tensor *h0,
                                  const ebb_shape *shape, bool reverse)
{
    if (!g || !y || !h0) return NULL;
    int64_t steps = shape->dims[0], rows = (steps - 1) * shape->dims[1], n = shape->dims[2];
    ebb_tensor *dw = NULL;
    if (steps > 1) {
        ebb__narrow_attr later = {0, reverse ? 0 : 1, steps - 1};
        ebb__narrow_attr before = {0, reverse ? 1 : 0, steps - 1};
        ebb_tensor *change = EBB_EMIT(v, narrow, &later, g);
        ebb_tensor *state = EBB_EMIT(v, narrow, &before, y);
        change = ebb__rule_reshape(v, change, EBB_SHAPE(rows, n));
        state = ebb__rule_reshape(v, state, EBB_SHAPE(rows, ebb_dim(y, 2)));
        dw = EBB_EMIT(v, matmul, NULL, ebb__rule_transpose(v, change, 0, 1), state);
    }
    ebb_tensor *first = ebb__recurrent_step(v, g, reverse ? steps - 1 : 0);
    first = ebb__rule_transpose(v, first, 0, 1);
    if (h0 != EBB_NONE) return ebb__recurrent_plus(v, dw, EBB_EMIT(v, matmul, NULL, first, h0));
    if (dw) return dw;
    double zero = 0;
    ebb_tensor *like = EBB_EMIT(v, matmul, NULL, first, ebb__recurrent_step(v, y, 0));
    return EBB_EMIT(v, full_like, &zero, like);
}

static void join_two(ebb_vjp *v, ebb__recurrent_pile *p)
{
    int64_t axis = 0;
    ebb_tensor *older = p->part[p->n - 2], *newer = p->part[p->n - 1];
    p->part[p->n - 2] = p->prepend ? EBB_EMIT(v, cat, &axis, newer, older)
                                   : EBB_EMIT(v, cat, &axis, older, newer);
    p->size[p->n - 2] += p->size[p->n - 1];
    p->n--;
}

void ebb__recurrent_push(ebb_vjp *v, ebb__recurrent_pile *p, ebb_tensor *step)
{
    p->part[p->n] = ebb__recurrent_one(v, step);
    p->size[p->n++] = 1;
    while (p->n > 1 && p->size[p->n - 1] == p->size[p->n - 2]) join_two(v, p);
}

ebb_tensor *ebb__recurrent_whole(ebb_vjp *v, ebb__recurrent_pile *p)
{
    while (p->n > 1) join_two(v, p);
    return p->part[0];
}
