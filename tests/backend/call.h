/* call.h - drives one operation's kernels directly, with a backend or without: no engine.
 *
 * Operands hold random values; outputs and scratch lie between guard bytes that must survive.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_BACKEND_CALL_H
#define EBB_TESTS_BACKEND_CALL_H

#include "op/op.h"

enum { CALL_MAX_IN = 5, CALL_MAX_OUT = 3, CALL_MAX_ATTRS = 6, CALL_GUARD = 256 };

/* One operand. rank -1: absent. order[0] != order[1]: its axes lie in memory in that order. */
typedef struct operand {
    int64_t rank, dims[EBB_MAX_DIMS];
    int order[EBB_MAX_DIMS];
    bool is_positive; /* from [0.5, 1.5) instead of [-1, 1) */
} operand;
typedef struct attribute {
    const char *name;
    int64_t value[4]; /* of a shape: up to four dimensions */
} attribute;
typedef struct subject {
    const char *op;
    operand in[CALL_MAX_IN];
    attribute attr[CALL_MAX_ATTRS];
} subject;

typedef struct call {
    ebb__call c;
    ebb_view in[CALL_MAX_IN], out[CALL_MAX_OUT];
    void *memory[CALL_MAX_IN + CALL_MAX_OUT], *attr;
    char *scratch;
    size_t out_bytes[CALL_MAX_OUT];
} call;

/* The descriptor of that name; fails the test where there is none. */
const ebb_op *call_op(const char *name);
/* Operands from the seed, the same numbers in f32 and f64; shape has run. */
void call_init(call *k, const subject *s, ebb_dtype dtype, int32_t n_threads, uint64_t seed);
void call_destroy(call *k);
/* With scratch of its own between guards, which are checked. override NULL: the reference. */
void call_run(call *k, const ebb__override *override, void *backend);
/* The largest difference between the outputs and by-products of two calls, relative to the
 * largest value of each in `want`. NaN where one is. */
double call_error(const call *got, const call *want);

#endif
