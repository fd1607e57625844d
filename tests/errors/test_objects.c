/* test_objects.c - handles that are stale, foreign or of another context or thread; consumed
 * graphs; writes under a graph; files; memory.
 * SPDX-License-Identifier: MIT */
#include "errors/refusal.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static ebb_tensor *number(ebb_context *ctx, double x)
{
    return ebb_tensor_copy(ctx, EBB_F64, EBB_SCALAR, &x, sizeof x);
}

static ebb_tensor *leaf(ebb_context *ctx, double x)
{
    ebb_tensor *t = number(ctx, x);
    assert_int_equal(ebb_set_requires_grad(t, true), EBB_OK);
    return t;
}

static void stale_handle_names_its_scope(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *stale, *x = number(ctx, 2);
    {
        EBB_SCOPE(epoch);
        stale = ebb_exp(x);
    }
    REFUSED_TENSOR(EBB_E_MISUSE, "epoch", ebb_exp(stale));
    REFUSED_TENSOR(EBB_E_MISUSE, "test_objects.c", ebb_add(x, stale));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_check(stale));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_backward(stale, NULL));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_set_requires_grad(stale, true));
    REFUSED_CALL(EBB_E_MISUSE, NULL, ebb_item(stale));
    assert_int_equal(ebb_dim(stale, 0), EBB_DIM_NONE);
    ebb_error_clear();
}

static void late_and_double_release_are_counted(void **state)
{
    ebb_context *ctx = *state;
    ebb_stats before, after;
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_claim(number(ctx, 2)), *owned = number(ctx, 3);
    ebb_release(x);
    ebb_stats_get(&before, ctx);
    ebb_error_clear();
    ebb_release(x);
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    ebb_release(owned); /* the scope's, not ours */
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    ebb_stats_get(&after, ctx);
    assert_int_equal(after.n_misuse, before.n_misuse + 2);
    assert_true(ebb_item(owned) == 3);
    context_works(ctx);
}

static void foreign_pointers_are_told_apart(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    _Alignas(128) static char memory[1024];
    char *heap = malloc(4096);
    assert_non_null(heap);
    ebb_tensor *wrong[] = {(ebb_tensor *)(void *)memory,
                           (ebb_tensor *)(void *)(memory + 13),
                           (ebb_tensor *)(void *)heap,
                           (ebb_tensor *)(uintptr_t)0x1000,
                           (ebb_tensor *)(uintptr_t)0xfffffffffffff080u,
                           (ebb_tensor *)(void *)ctx};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_exp(wrong[i]));
        REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_check(wrong[i]));
        ebb_release(wrong[i]);
        ebb_error_clear();
    }
    free(heap);
}

static void handles_of_a_destroyed_context(void **state)
{
    ebb_context *ctx = *state, *gone = NULL;
    EBB_SCOPE(outer);
    assert_int_equal(ebb_context_create(&gone, NULL), EBB_OK);
    ebb_tensor *kept = ebb_claim(number(gone, 1)), *scoped = leaf(gone, 2),
               *y = ebb_exp(scoped);
    ebb_context_destroy(gone);
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_exp(kept));
    REFUSED_TENSOR(EBB_E_MISUSE, NULL, ebb_exp(scoped));
    REFUSED_STATUS(EBB_E_MISUSE, NULL, ebb_backward(y, NULL));
    ebb_release(kept);
    ebb_error_clear();
}

static void tensors_of_two_contexts_do_not_mix(void **state)
{
    ebb_context *ctx = *state, *other = NULL;
    EBB_SCOPE(outer);
    assert_int_equal(ebb_context_create(&other, NULL), EBB_OK);
    ebb_tensor *x = leaf(ctx, 1), *y = leaf(other, 2);
    REFUSED_TENSOR(EBB_E_MISUSE, "context", ebb_add(x, y));
    ebb_context_destroy(other);
}

static void *use_elsewhere(void *x)
{
    EBB_SCOPE(there);
    ebb_tensor *y = ebb_exp(x);
    return y == NULL && ebb_error_status() == EBB_E_MISUSE &&
                   strstr(ebb_error_message(), "thread")
               ? x
               : NULL;
}

static void single_threaded_context_refuses_other_threads(void **state)
{
    (void)state;
    ebb_context *ctx = NULL;
    assert_int_equal(ebb_context_create(&ctx, &(ebb_context_options){.single_threaded = true}),
                     EBB_OK);
    {
        EBB_SCOPE(outer);
        ebb_tensor *x = number(ctx, 1);
        pthread_t thread;
        void *good = NULL;
        assert_int_equal(pthread_create(&thread, NULL, use_elsewhere, x), 0);
        pthread_join(thread, &good);
        assert_ptr_equal(good, x);
        context_works(ctx);
    }
    ebb_context_destroy(ctx);
}

static void context_from_before_a_fork(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 3);
    assert_int_equal(ebb_backward(ebb_mul(x, x), NULL), EBB_OK);
    pid_t child = fork();
    if (child == 0) {
        EBB_SCOPE(there);
        alarm(60);
        ebb_context *fresh = NULL;
        if (ebb_exp(x) != NULL || ebb_error_status() != EBB_E_MISUSE) _exit(1);
        if (!strstr(ebb_error_message(), "fork")) _exit(2);
        if (ebb_context_create(&fresh, NULL) != EBB_OK) _exit(3);
        ebb_tensor *y = leaf(fresh, 3);
        if (ebb_backward(ebb_mul(y, y), NULL) != EBB_OK) _exit(4);
        _exit(ebb_item(ebb_grad_of(y)) == 6 ? 0 : 5);
    }
    int status = -1;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    context_works(ctx);
}

static void scope_tokens_that_are_not_open(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_scope once = ebb_scope_begin(0, NULL);
    ebb_scope_end(once);
    ebb_tensor *x = number(ctx, 4);
    ebb_error_clear();
    ebb_scope_end(once);
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_scope_end((ebb_scope){12345678901u});
    assert_int_equal(ebb_error_status(), EBB_E_MISUSE);
    ebb_error_clear();
    ebb_scope_end((ebb_scope){0});
    ebb_error_clear();
    assert_true(ebb_item(x) == 4);
}

static void consumed_graph_says_what_consumed_it(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf(ctx, 2), *h = ebb_exp(x), *a = ebb_sin(h), *b = ebb_cos(h), *g;
    assert_int_equal(ebb_backward(a, NULL), EBB_OK);
    REFUSED_STATUS(EBB_E_GRAPH, "sin", ebb_backward(a, NULL));
    REFUSED_STATUS(EBB_E_GRAPH, "exp", ebb_backward(b, NULL));
    REFUSED_STATUS(EBB_E_GRAPH, "exp", ebb_backward(ebb_tanh(b), NULL));
    REFUSED_STATUS(EBB_E_GRAPH, "exp", ebb_grad(&g, &b, NULL, 1, &x, 1, NULL));
    assert_null(g);
    assert_true(ebb_item(b) == cos(exp(2.0)));
}

static void backward_from_what_cannot_be_a_root(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = ebb_full(ctx, EBB_F64, EBB_SHAPE(3), 1), *constant = number(ctx, 1), *g;
    assert_int_equal(ebb_set_requires_grad(x, true), EBB_OK);
    ebb_tensor *y = ebb_exp(x), *seed = number(ctx, 1), *apart = leaf(ctx, 1);
    REFUSED_STATUS(EBB_E_SHAPE, "3 elements", ebb_backward(y, NULL));
    REFUSED_STATUS(EBB_E_GRAPH, NULL, ebb_backward(constant, NULL));
    REFUSED_STATUS(EBB_E_SHAPE, NULL, ebb_backward_from(&y, &seed, 1, NULL));
    REFUSED_STATUS(EBB_E_GRAPH, NULL, ebb_grad(&g, &y, NULL, 1, &apart, 1, NULL));
    REFUSED_STATUS(EBB_E_GRAPH, NULL, ebb_set_requires_grad(y, true));
    assert_int_equal(ebb_backward_from(&y, NULL, 1, NULL), EBB_OK);
}

static void writes_that_a_graph_forbids(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *w = leaf(ctx, 2), *x = leaf(ctx, 3), *p = ebb_mul(w, x);
    const double one = 1;
    REFUSED_STATUS(EBB_E_GRAPH, NULL, EBB_WRITE(p, &one, 1));
    assert_int_equal(EBB_WRITE(w, &one, 1), EBB_OK);
    REFUSED_STATUS(EBB_E_GRAPH, "mul", ebb_backward(p, NULL));
    assert_false(ebb_has_grad(x));
}

static void files_that_are_missing_or_cut(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    REFUSED_TENSOR(EBB_E_IO, "/nonexistent/a.npy", ebb_load_npy(ctx, "/nonexistent/a.npy"));
    REFUSED_TENSOR(EBB_E_IO, "/nonexistent/b", ebb_load_idx(ctx, "/nonexistent/b"));
    REFUSED_TENSOR(EBB_E_IO, "/nonexistent/c",
                   ebb_load_safetensors(ctx, "/nonexistent/c", "w"));
    char path[] = "/tmp/ebb_cut_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    /* IDX: u8, one axis of 100 elements, 3 bytes of data */
    const unsigned char idx[] = {0, 0, 8, 1, 0, 0, 0, 100, 1, 2, 3};
    assert_int_equal(write(file, idx, sizeof idx), sizeof idx);
    close(file);
    REFUSED_TENSOR(EBB_E_IO, path, ebb_load_idx(ctx, path));
    REFUSED_TENSOR(EBB_E_IO, path, ebb_load_npy(ctx, path));
    REFUSED_TENSOR(EBB_E_IO, path, ebb_load_safetensors(ctx, path, "w"));
    unlink(path);
}

static void *refuse_large(void *user, size_t bytes, size_t alignment)
{
    return *(bool *)user && bytes > 100000
               ? NULL
               : aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
static void give_back(void *user, void *p, size_t bytes)
{
    (void)user, (void)bytes;
    free(p);
}

static void no_memory_and_no_budget(void **state)
{
    (void)state;
    bool refuse = false;
    ebb_allocator hook = {refuse_large, give_back, &refuse};
    ebb_context *ctx = NULL;
    assert_int_equal(ebb_context_create(&ctx, &(ebb_context_options){.allocator = &hook}),
                     EBB_OK);
    {
        EBB_SCOPE(outer);
        context_works(ctx);
        refuse = true;
        REFUSED_TENSOR(EBB_E_NOMEM, "zeros", ebb_zeros(ctx, EBB_F32, EBB_SHAPE(64, 1000000)));
        refuse = false;
    }
    ebb_context_destroy(ctx);
    assert_int_equal(
        ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = 1 << 20}),
        EBB_OK);
    {
        EBB_SCOPE(outer);
        REFUSED_TENSOR(EBB_E_BUDGET, "1048576", ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1000, 1000)));
        REFUSED_TENSOR(EBB_E_BUDGET, "4000000", ebb_zeros(ctx, EBB_F32, EBB_SHAPE(1000, 1000)));
    }
    ebb_context_destroy(ctx);
    ctx = NULL;
    assert_int_equal(
        ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = 64}),
        EBB_E_BUDGET);
    assert_null(ctx);
    ebb_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ERRORS(stale_handle_names_its_scope),
        ERRORS(late_and_double_release_are_counted),
        ERRORS(foreign_pointers_are_told_apart),
        ERRORS(handles_of_a_destroyed_context),
        ERRORS(tensors_of_two_contexts_do_not_mix),
        ERRORS(single_threaded_context_refuses_other_threads),
        ERRORS(context_from_before_a_fork),
        ERRORS(scope_tokens_that_are_not_open),
        ERRORS(consumed_graph_says_what_consumed_it),
        ERRORS(backward_from_what_cannot_be_a_root),
        ERRORS(writes_that_a_graph_forbids),
        ERRORS(files_that_are_missing_or_cut),
        ERRORS(no_memory_and_no_budget),
    };
    return cmocka_run_group_tests_name("objects", tests, NULL, NULL);
}
