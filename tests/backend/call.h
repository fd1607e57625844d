/* call.h - drives one operation's kernels directly, with a backend or without: no engine.
 *
 * Operands hold random values; outputs and scratch lie between guard bytes that must survive.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_BACKEND_CALL_H
#define EBB_TESTS_BACKEND_CALL_H

#include "op/op.h"

enum { CALL_MAX_IN = 3, CALL_MAX_ATTRS = 6, CALL_GUARD = 256 };

/* One operand. rank -1: absent. order[0] != order[1]: its axes lie in memory in that order. */
typedef struct operand {
    int64_t rank, dims[EBB_MAX_DIMS];
    int order[EBB_MAX_DIMS];
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
    ebb_view in[CALL_MAX_IN], out[2];
    void *memory[CALL_MAX_IN + 2], *attr;
    char *scratch;
    size_t out_bytes[2];
} call;

/* The descriptor of that name; fails the test where there is none. */
const ebb_op *call_op(const char *name);
/* Operands from the seed, the same numbers in f32 and f64; shape has run. */
void call_init(call *k, const subject *s, ebb_dtype dtype, int32_t n_threads, uint64_t seed);
void call_destroy(call *k);
/* With scratch of its own between guards, which are checked. override NULL: the reference. */
void call_run(call *k, const ebb__override *override, void *backend);
double call_out(const call *k, int64_t i);
int64_t call_out_elems(const call *k);

#endif
