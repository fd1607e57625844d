/* recurrent.h - what rnn, lstm and gru share: sequences (steps, batch, width), the products of a
 * step, and rules.
 *
 * The part that the inputs have in the gates is one product over all steps, made by `linear`;
 * what is left for a kernel is a step after the other. A step is cut among threads by columns of
 * the state.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_RECURRENT_H
#define EBB_OPS_RECURRENT_H

#include "op/op.h"

#include <stddef.h>

typedef struct ebb__recurrent_attr {
    bool relu; /* of rnn: instead of tanh */
    bool reverse;
} ebb__recurrent_attr;

typedef struct ebb__recurrence {
    ebb_dtype dtype;
    int64_t steps, batch, width;
    int64_t n_gates; /* w is (n_gates * width, width) */
    bool reverse, relu;
    const void *w;
    char *scratch;
    size_t scratch_each; /* bytes of a thread */
    int64_t at;          /* the step being made, counted as they are made */
} ebb__recurrence;

/* The step made as number `at`, as an index into the sequence. */
static inline int64_t ebb__recurrence_time(const ebb__recurrence *r, int64_t at)
{
    return r->reverse ? r->steps - 1 - at : at;
}

/* Input `sequence` is (steps >= 1, batch, n_gates * width), `w` is (n_gates * width, width). */
ebb_status ebb__recurrence_check(const ebb__call *c, int32_t sequence, int32_t w,
                                 int64_t n_gates);
/* Input i, if given, is (batch, width). */
ebb_status ebb__recurrence_check_state(const ebb__call *c, int32_t i, const ebb__recurrence *r);
/* Input i, if given, is (steps, batch, columns). */
ebb_status ebb__recurrence_check_steps(const ebb__call *c, int32_t i, const ebb__recurrence *r,
                                       int64_t columns);
/* From the shapes of a checked call; attr begins with ebb__recurrent_attr. */
ebb__recurrence ebb__recurrence_of(const ebb__call *c, int32_t sequence, int32_t w,
                                   int64_t n_gates);
/* Scratch of a thread for products of (batch, k) and (k, width) matrices. */
void ebb__recurrence_plan(ebb__recurrence *r, int64_t k);
size_t ebb__recurrence_scratch(const ebb__call *c, const ebb__recurrence *r);
/* fn(arg, lo, hi, part) over the columns of the state, each of which costs one product's worth
 * of n_gates columns. */
void ebb__recurrence_columns(const ebb__call *c, const ebb__recurrence *r,
                             void (*fn)(const void *arg, int64_t lo, int64_t hi, int32_t part),
                             const void *arg);

/* ---- formulas --------------------------------------------------------------------------- */
/* x w' + b + c with optional b and c: what the inputs have in the gates. E_SHAPE where x has
 * another rank, or no steps. */
ebb_tensor *ebb__recurrent_input(ebb_vjp *v, ebb_tensor *x, int64_t rank, ebb_tensor *w,
                                 ebb_tensor *b, ebb_tensor *c);
/* An operation on sequences run for one step: x (batch, n) as (1, batch, n). */
ebb_tensor *ebb__recurrent_one(ebb_vjp *v, ebb_tensor *x);
/* Step t of a sequence, (batch, columns). */
ebb_tensor *ebb__recurrent_step(ebb_vjp *v, ebb_tensor *x, int64_t t);
/* A copy of the last step made: what stays of a sequence when the rest goes. */
ebb_tensor *ebb__recurrent_last(ebb_vjp *v, ebb_tensor *y, bool reverse);
/* Columns [k * width, ...) of a (batch, n * width) matrix. */
ebb_tensor *ebb__recurrent_gate(ebb_vjp *v, ebb_tensor *x, int64_t k, int64_t width);
/* The gradient of w from that of the steps' products and the states they had: g is (steps,
 * batch, n), y the states made, h0 the first one or EBB_NONE. */
ebb_tensor *ebb__recurrent_weight(ebb_vjp *v, ebb_tensor *g, ebb_tensor *y, ebb_tensor *h0,
                                  const ebb_shape *shape, bool reverse);
/* x + y, where x may be NULL or EBB_NONE. */
ebb_tensor *ebb__recurrent_plus(ebb_vjp *v, ebb_tensor *x, ebb_tensor *y);

/* Steps (batch, columns) put together as (steps, batch, columns) from last to first or first to
 * last, without an array of them: parts of equal length are joined as they come. */
typedef struct ebb__recurrent_pile {
    int32_t n;
    int64_t size[64];
    ebb_tensor *part[64];
    bool prepend;
} ebb__recurrent_pile;
void ebb__recurrent_push(ebb_vjp *v, ebb__recurrent_pile *p, ebb_tensor *step);
ebb_tensor *ebb__recurrent_whole(ebb_vjp *v, ebb__recurrent_pile *p);

#endif
