/* test_over.c - results that take the place of an operand under a budget: only where nobody else can
 * tell. Each program is run without a budget and in ever smaller ones, until one is refused; all
 * that it can read must be the same, bit for bit.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

#include <pthread.h>

enum { N = 1 << 16, DEPTH = 9, MOST = 8 * N, BUDGETS = 48 };

typedef struct program {
    ebb_context *ctx;
    ebb_tensor *x, *h[DEPTH + 1]; /* of the open scope */
    float *out;
    size_t n_out;
} program;

/* Adds what can be read of t to what is compared. */
static ebb_status put(program *p, ebb_tensor *t)
{
    size_t n = (size_t)ebb_n_elems(t);
    assert_true(p->n_out + n <= MOST);
    EBB_TRY(ebb_read(p->out + p->n_out, n * sizeof(float), EBB_F32, t));
    p->n_out += n;
    return EBB_OK;
}

static ebb_tensor *layer(ebb_tensor *h, int k)
{
    switch (k % 3) {
    case 0:
        return ebb_gelu(h, NULL);
    case 1:
        return ebb_tanh(ebb_mul_scalar(h, 1.1));
    default:
        return ebb_relu(ebb_add_scalar(h, -0.1));
    }
}

static ebb_tensor *forward(program *p)
{
    p->h[0] = ebb_mul(p->x, p->x);
    for (int k = 0; k < DEPTH; k++) p->h[k + 1] = layer(p->h[k], k);
    return p->h[DEPTH];
}

static ebb_tensor *loss_of(ebb_tensor *h)
{
    return ebb_sum(ebb_mul(h, h), EBB_ALL);
}

static ebb_status plain(program *p)
{
    EBB_TRY(ebb_backward(loss_of(forward(p)), NULL));
    return put(p, ebb_grad_of(p->x));
}

static ebb_status handles_held(program *p)
{
    ebb_tensor *held[DEPTH + 1] = {NULL};
    ebb_tensor *loss = loss_of(forward(p));
    for (int k = 3; loss && k < 6; k++) held[k] = ebb_keep(p->h[k]);
    ebb_status status = loss ? ebb_backward(loss, NULL) : ebb_error_status();
    for (int k = 3; k < 6; k++) {
        if (status == EBB_OK) status = put(p, held[k]);
        if (held[k]) ebb_release(held[k]);
    }
    return status == EBB_OK ? put(p, ebb_grad_of(p->x)) : status;
}

static ebb_status keep_it(void *user, ebb_tensor **grad)
{
    *(ebb_tensor **)user = ebb_keep(*grad);
    return EBB_OK;
}

static ebb_status hooks_keep(program *p)
{
    ebb_tensor *kept[2] = {NULL};
    ebb_tensor *loss = loss_of(forward(p));
    ebb_status status = loss ? EBB_OK : ebb_error_status();
    for (int k = 0; k < 2 && status == EBB_OK; k++)
        status = ebb_hook_add(NULL, p->h[3 + 2 * k], keep_it, &kept[k], NULL);
    if (status == EBB_OK) status = ebb_backward(loss, NULL);
    for (int k = 0; k < 2; k++) {
        if (status == EBB_OK) status = put(p, kept[k]);
        if (kept[k]) ebb_release(kept[k]);
    }
    return status == EBB_OK ? put(p, ebb_grad_of(p->x)) : status;
}

/* Gradients of what lies on the way to others. */
static ebb_status chosen_inputs(program *p)
{
    ebb_tensor *loss = loss_of(forward(p)), *g[3];
    if (!loss) return ebb_error_status();
    ebb_tensor *inputs[] = {p->h[6], p->h[3], p->x};
    EBB_TRY(ebb_grad(g, &loss, NULL, 1, inputs, 3, NULL));
    for (int k = 0; k < 3; k++) EBB_TRY(put(p, g[k]));
    return EBB_OK;
}

static ebb_status graph_kept(program *p)
{
    ebb_tensor *loss = loss_of(forward(p));
    EBB_TRY(ebb_backward(loss, &(ebb_backward_options){.keep_graph = true}));
    EBB_TRY(ebb_backward(loss, NULL));
    return put(p, ebb_grad_of(p->x));
}

static ebb_status second_derivative(program *p)
{
    ebb_tensor *loss = loss_of(forward(p)), *g;
    if (!loss) return ebb_error_status();
    EBB_TRY(ebb_grad(&g, &loss, NULL, 1, &p->x, 1, &(ebb_grad_options){.create_graph = true}));
    EBB_TRY(put(p, g));
    EBB_TRY(ebb_backward(loss_of(g), NULL));
    return put(p, ebb_grad_of(p->x));
}

/* The seed is the gradient that the first rule reads. */
static ebb_status seed_held(program *p)
{
    ebb_tensor *root = forward(p);
    if (!root) return ebb_error_status();
    ebb_tensor *seed = ebb_add_scalar(ebb_detach(p->x), 0.5);
    EBB_TRY(ebb_backward_from(&root, &seed, 1, NULL));
    EBB_TRY(put(p, seed));
    return put(p, ebb_grad_of(p->x));
}

/* Two readers of one gradient, and views of one. */
static ebb_status shared(program *p)
{
    ebb_tensor *h = forward(p);
    if (!h) return ebb_error_status();
    ebb_tensor *flat = ebb_reshape(h, EBB_SHAPE(2, N / 2));
    ebb_tensor *const both[] = {ebb_relu(flat), flat, ebb_gelu(flat, NULL)};
    ebb_tensor *all = ebb_cat(both, 3, 1), *part = ebb_narrow(all, 1, 7, N);
    EBB_TRY(ebb_backward(loss_of(ebb_relu(part)), NULL));
    return put(p, ebb_grad_of(p->x));
}

static ebb_status mapped(program *p)
{
    ebb_view view;
    ebb_tensor *loss = loss_of(forward(p));
    if (!loss) return ebb_error_status();
    EBB_TRY(ebb_map(&view, p->h[4], EBB_MAP_READ));
    memcpy(p->out + p->n_out, view.data, N * sizeof(float));
    ebb_status status = ebb_backward(loss, NULL);
    bool same = memcmp(p->out + p->n_out, view.data, N * sizeof(float)) == 0;
    ebb_unmap(p->h[4]);
    if (status == EBB_OK && !same) fail_msg("what was mapped has changed");
    return status == EBB_OK ? put(p, ebb_grad_of(p->x)) : status;
}

/* The leaf's gradient is a sum. */
static ebb_status chain(program *p)
{
    ebb_tensor *h = ebb_add(p->x, ebb_sum(p->x, EBB_ALL));
    for (int k = 0; k < DEPTH; k++) h = k % 2 ? ebb_relu(h) : ebb_gelu(h, NULL);
    EBB_TRY(ebb_backward(ebb_mean(h, EBB_ALL), NULL));
    return put(p, ebb_grad_of(p->x));
}

static size_t under_way; /* bytes of gradients, when the hook was called */

static ebb_status look(void *ctx, ebb_tensor **grad)
{
    (void)grad;
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    under_way = s.bytes[EBB_KIND_TEMPORARY];
    return EBB_OK;
}

/* What is joined at the end and was made at the beginning: its gradient is a quarter of one, and waits. */
static ebb_status joined_late(program *p)
{
    ebb_tensor *first = ebb_gelu(p->x, NULL), *h = ebb_gelu(first, NULL);
    if (!h) return ebb_error_status();
    EBB_TRY(ebb_hook_add(NULL, h, look, p->ctx, NULL));
    for (int k = 0; k < DEPTH; k++) h = ebb_gelu(h, NULL);
    ebb_tensor *const all[] = {ebb_relu(h), ebb_tanh(h), ebb_gelu(h, NULL), first};
    EBB_TRY(ebb_backward(loss_of(ebb_cat(all, 4, 0)), NULL));
    return put(p, ebb_grad_of(p->x));
}

/* The gradient that layer_norm's rule reads last, and may write over, is what the first one's is made
 * from: that waits for long, so it is given up for what the rule makes beside. */
static ebb_status made_from_it(program *p)
{
    enum { ROWS = 2 }; /* long ones: what is made beside is as large */
    ebb_tensor *first = ebb_reshape(ebb_gelu(p->x, NULL), EBB_SHAPE(ROWS, N / ROWS)),
               *h = first;
    for (int k = 0; k < DEPTH; k++) h = layer(h, k);
    ebb_tensor *normal = ebb_layer_norm(h, EBB_NONE, EBB_NONE, NULL);
    EBB_TRY(ebb_backward(loss_of(ebb_add(ebb_narrow(first, 0, 1, 1), normal)), NULL));
    return put(p, ebb_grad_of(p->x));
}

typedef ebb_status (*body)(program *p);

/* Some steps, so that they are known again; *used: at most. */
static ebb_status run(float *out, size_t *n_out, size_t *used, body f, size_t budget)
{
    enum { STEPS = 4 };
    static float x[N];
    program p = {.out = out};
    for (int i = 0; i < N; i++) x[i] = (float)((i * 37 % 101) - 50) / 40;
    ebb_context_options options = {.memory_budget_bytes = budget, .n_threads = 1};
    ebb_status status = ebb_context_create(&p.ctx, &options);
    if (status != EBB_OK) return status;
    for (int i = 0; i < STEPS && status == EBB_OK; i++) {
        EBB_SCOPE(step);
        p.n_out = 0;
        p.x = ebb_tensor_copy(p.ctx, EBB_F32, EBB_SHAPE(N), x, sizeof x);
        status = p.x ? ebb_set_requires_grad(p.x, true) : ebb_error_status();
        if (status == EBB_OK) status = f(&p);
    }
    ebb_stats s;
    ebb_stats_get(&s, p.ctx);
    *n_out = p.n_out;
    *used = s.peak_bytes;
    ebb_context_destroy(p.ctx);
    return status;
}

/* In how many tensors of N beside what is there anyway does it fit. */
static double same_in_all_budgets(body f)
{
    float *want = malloc(MOST * sizeof *want), *have = malloc(MOST * sizeof *have);
    size_t n_want, n_have, peak, used, least = 0;
    assert_true(want && have);
    if (run(want, &n_want, &peak, f, 0) != EBB_OK) fail_msg("%s", ebb_error_message());
    assert_true(n_want > 0);
    int n_refused = 0;
    for (size_t budget = peak + peak / 8; n_refused < 2; budget -= peak / BUDGETS) {
        ebb_error_clear();
        ebb_status status = run(have, &n_have, &used, f, budget);
        if (status != EBB_OK && status != EBB_E_BUDGET) fail_msg("%s", ebb_error_message());
        n_refused += status != EBB_OK;
        if (status != EBB_OK) continue;
        assert_true(used <= budget);
        assert_int_equal(n_want, n_have);
        assert_memory_equal(want, have, n_want * sizeof *want);
        least = budget;
    }
    ebb_error_clear();
    free(want);
    free(have);
    if (getenv("EBB_TEST_VERBOSE"))
        printf("%zu of %zu: %.2f tensors\n", least, peak, (double)least / (N * sizeof(float)));
    return (double)least / (N * sizeof(float));
}

#define SAME(f)                                                                                \
    static void f##_is_the_same(void **state)                                                  \
    {                                                                                          \
        (void)state;                                                                           \
        assert_true(same_in_all_budgets(f) > 0);                                               \
    }
SAME(plain)
SAME(handles_held)
SAME(hooks_keep)
SAME(chosen_inputs)
SAME(graph_kept)
SAME(seed_held)
SAME(shared)
SAME(mapped)
SAME(chain)
SAME(made_from_it)

/* Where no result took the place of an operand, in a rule or in what is made again, it was 13.7. */
static void a_second_derivative_fits_where_results_go_over_operands(void **state)
{
    (void)state;
    assert_true(same_in_all_budgets(second_derivative) < 13);
}

static void a_skip_is_the_same_and_keeps_its_part_of_a_gradient_alone(void **state)
{
    (void)state;
    same_in_all_budgets(joined_late);
    assert_true(under_way >= 2 * N * sizeof(float) && under_way < 3 * N * sizeof(float));
}

/* Two threads in one context, under a budget that is short for both. */
typedef struct side {
    ebb_context *ctx;
    float *out;
    bool *differs;
    const float *want;
} side;

static void *side_run(void *user)
{
    const side *s = user;
    program p = {.ctx = s->ctx, .out = s->out};
    for (int i = 0; i < 12; i++) {
        EBB_SCOPE(step);
        p.n_out = 0;
        p.x = ebb_tensor_copy(p.ctx, EBB_F32, EBB_SHAPE(N), s->want + N, N * sizeof(float));
        bool ok = p.x && ebb_set_requires_grad(p.x, true) == EBB_OK && plain(&p) == EBB_OK;
        if (!ok || memcmp(s->out, s->want, N * sizeof(float)) != 0) *s->differs = true;
    }
    return NULL;
}

static void two_threads_get_the_same(void **state)
{
    (void)state;
    float *out = malloc(4 * N * sizeof *out), *want = out + 2 * N;
    bool differs[2] = {false};
    size_t n, peak;
    pthread_t thread[2];
    assert_non_null(out);
    GOOD(run(want, &n, &peak, plain, 0));
    for (int i = 0; i < N; i++) want[N + i] = (float)((i * 37 % 101) - 50) / 40;
    ebb_context *ctx;
    ebb_context_options options = {.memory_budget_bytes = peak, .n_threads = 1};
    GOOD(ebb_context_create(&ctx, &options));
    side sides[2];
    for (int k = 0; k < 2; k++) {
        sides[k] = (side){ctx, out + k * N, &differs[k], want};
        assert_int_equal(pthread_create(&thread[k], NULL, side_run, &sides[k]), 0);
    }
    for (int k = 0; k < 2; k++) pthread_join(thread[k], NULL);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_true(s.peak_bytes <= peak);
    assert_false(differs[0] || differs[1]);
    ebb_context_destroy(ctx);
    free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_is_the_same),
        cmocka_unit_test(handles_held_is_the_same),
        cmocka_unit_test(hooks_keep_is_the_same),
        cmocka_unit_test(chosen_inputs_is_the_same),
        cmocka_unit_test(graph_kept_is_the_same),
        cmocka_unit_test(a_second_derivative_fits_where_results_go_over_operands),
        cmocka_unit_test(seed_held_is_the_same),
        cmocka_unit_test(shared_is_the_same),
        cmocka_unit_test(mapped_is_the_same),
        cmocka_unit_test(chain_is_the_same),
        cmocka_unit_test(made_from_it_is_the_same),
        cmocka_unit_test(two_threads_get_the_same),
        cmocka_unit_test(a_skip_is_the_same_and_keeps_its_part_of_a_gradient_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
