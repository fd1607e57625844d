/* memory_fixture.h - a context with memory and nothing above it, an allocator that counts and
 * refuses, and the smallest engine: one operation, run forward and run again.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_SUPPORT_MEMORY_FIXTURE_H
#define EBB_TESTS_SUPPORT_MEMORY_FIXTURE_H

#include "memory/value.h"

/* ---- the allocator ----------------------------------------------------------------------- */
typedef struct test_memory {
    atomic_llong n_allocs;        /* asked for so far */
    atomic_llong fail_at;         /* the one of this number (from 1) is refused; 0: none */
    atomic_llong fail_from;       /* and all from this number on */
    atomic_llong bytes, n_blocks; /* not given back */
} test_memory;
ebb_allocator test_allocator(test_memory *m);

/* ---- contexts ---------------------------------------------------------------------------- */
/* Aborts the test where refused. */
void test_context_init(ebb_context *ctx, test_memory *m, size_t budget_bytes,
                       bool single_threaded);
ebb_status test_context_try(ebb_context *ctx, test_memory *m, size_t budget_bytes,
                            bool single_threaded);
void test_child_init(ebb_context *child, ebb_context *parent, size_t budget_bytes);
void test_context_end(ebb_context *ctx);
ebb_stats test_stats(const ebb_context *ctx);
/* Every kind but CACHE is what it was. */
void test_same_bytes(const ebb_stats *a, const ebb_stats *b);

/* ---- the engine -------------------------------------------------------------------------- */
/* A value of n int32; element j of output k is 1 + k + 3 * (first input) + 5 * (second) + ...,
 * mod 2^32, where an input of another length is read modulo its length. */
enum { TEST_N = 32 }; /* 128 bytes: not tiny */
ebb__value *test_source(ebb_context *ctx, size_t n, int32_t first);
typedef struct test_op {
    ebb__value *in[4], *out[4];
    ebb__record *record;
} test_op;
/* Makes the outputs (n_out values of n int32, one use each for the caller) and a record that
 * saves by the masks; it is a recipe where `recipe`. The caller holds the record's ref. */
ebb_status test_op_run(test_op *op, ebb_context *ctx, int n_in, int n_out, size_t n,
                       bool recipe, uint64_t save_in, uint32_t save_out);
/* One input, one output, recipe, nothing saved, the record let go: h = f(x). Aborts if refused.
 */
ebb__value *test_map(ebb_context *ctx, ebb__value *x);
/* Makes a dropped value resident, and what it needs for that, by work list. */
ebb_status test_restore(ebb__value *v);
/* Element j; restores where dropped. */
int32_t test_at(ebb__value *v, size_t j);

#endif
