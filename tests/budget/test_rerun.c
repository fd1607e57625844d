/* test_rerun.c - what is made again is made as it was the first time, with the threads of its own
 * context, whoever reads it.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include "memory/value.h"
#include "tensor/tensor.h"

enum { IMAGES = 12, CHANNELS = 3, SIDE = 24, WIDTH = CHANNELS * CHANNELS * 3 * 3 };

static ebb_context *context(ebb_context *parent, int32_t n_threads, size_t budget)
{
    ebb_context *ctx;
    GOOD(ebb_context_create(&ctx, &(ebb_context_options){.n_threads = n_threads,
                                                         .parent = parent,
                                                         .memory_budget_bytes = budget}));
    return ctx;
}

/* The gradient of a convolution's weights: each thread adds up the images of its part, so the last
 * bits depend on how many there are. */
static ebb_tensor *sums_by_thread(ebb_context *ctx)
{
    enum { N_ALL = IMAGES * CHANNELS * SIDE * SIDE };
    static double x[N_ALL], g[N_ALL];
    const ebb_shape s = EBB_SHAPE(IMAGES, CHANNELS, SIDE, SIDE);
    for (int i = 0; i < N_ALL; i++) {
        x[i] = sin(0.37 * i);
        g[i] = cos(0.11 * i);
    }
    ebb_tensor *w = case_leaf(ebb_ones(ctx, EBB_F64, EBB_SHAPE(CHANNELS, CHANNELS, 3, 3)));
    ebb_tensor *y = ebb_conv2d(case_leaf(case_tensor(ctx, s, x, N_ALL)), w, EBB_NONE,
                               &(ebb_conv2d_options){.padding = {1, 1}});
    ebb_tensor *seed = case_tensor(ctx, s, g, N_ALL), *dw;
    GOOD(ebb_grad(&dw, &y, &seed, 1, &w, 1, &(ebb_grad_options){.create_graph = true}));
    return dw;
}

static void give_up(ebb_tensor *t)
{
    ebb__value *v = ebb__slot_raw(t)->storage->value;
    assert_true(ebb__value_can_drop(v) && ebb__value_drop(v));
    assert_false(ebb__value_has_bytes(v));
}

/* The value is the same whether it is read as it is, by an operation of its own context or, where
 * that is another, by one of the reader's. */
static void same_again(ebb_tensor *t, ebb_context *reader, const double *want)
{
    double got[WIDTH];
    give_up(t);
    GOOD(EBB_READ(t, got, WIDTH));
    assert_memory_equal(got, want, sizeof got);
    give_up(t);
    {
        EBB_SCOPE(scope);
        ebb_tensor *sum = ebb_add(t, ebb_zeros(reader, EBB_F64, ebb_shape_get(t)));
        GOOD(EBB_READ(sum, got, WIDTH));
    }
    assert_memory_equal(got, want, sizeof got);
}

/* Whose thread counts are these; apart or, under a budget, in the memory of the parent. */
static void check(int32_t of_parent, int32_t of_child, size_t budget)
{
    double want[2][WIDTH];
    ebb_context *parent = context(NULL, of_parent, budget);
    ebb_context *child = context(parent, of_child, 0);
    ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_tensor *t[2] = {sums_by_thread(parent), sums_by_thread(child)};
    for (int i = 0; i < 2; i++) GOOD(EBB_READ(t[i], want[i], WIDTH));
    assert_memory_not_equal(want[0], want[1], sizeof want[0]);
    same_again(t[0], child, want[0]);
    same_again(t[1], parent, want[1]);
    same_again(t[0], parent, want[0]);
    ebb_scope_end(scope);
    ebb_context_destroy(child);
    ebb_context_destroy(parent);
}

static void a_context_of_more_threads_reads_the_bits_of_fewer(void **state)
{
    (void)state;
    check(1, 4, 0);
    check(1, 4, 64 << 20);
    check(2, 3, 0);
}

static void a_context_of_fewer_threads_reads_the_bits_of_more(void **state)
{
    (void)state;
    check(4, 1, 0);
    check(4, 1, 64 << 20);
    check(3, 2, 64 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_of_more_threads_reads_the_bits_of_fewer),
        cmocka_unit_test(a_context_of_fewer_threads_reads_the_bits_of_more),
    };
    return cmocka_run_group_tests_name("rerun", tests, NULL, NULL);
}
