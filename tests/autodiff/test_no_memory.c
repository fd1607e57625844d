/* test_no_memory.c - derivatives, hooks and operations of the user's own with each allocation
 * refused once: one clear error, nothing left, and the next call in the same context is right.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"
#include "support/refusing.h"

#include "autodiff/engine.h"
#include "base/context.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NUMBERS = 16, MAX_REMEMBERED = 1024 };

/* ---- what is run: writes numbers that do not depend on the run ---------------------------- */
typedef struct numbers {
    int n;
    double x[MAX_NUMBERS];
} numbers;
typedef ebb_status (*scenario)(numbers *out, ebb_context *ctx);

static ebb_status note(numbers *out, ebb_tensor *t)
{
    EBB_TRY(ebb_check(t));
    int64_t n = ebb_n_elems(t);
    EBB_TRY(EBB_READ(t, out->x + out->n, n));
    out->n += (int)n;
    return EBB_OK;
}

static ebb_status leaf(ebb_tensor **out, ebb_context *ctx, double a, double b)
{
    *out = vector(ctx, 2, (const double[]){a, b});
    EBB_TRY(ebb_check(*out));
    return ebb_set_requires_grad(*out, true);
}

/* x^2 y, of two leaves */
static ebb_status start(ebb_tensor **x, ebb_tensor **y, ebb_tensor **loss, ebb_context *ctx)
{
    EBB_TRY(leaf(x, ctx, 1, 2));
    EBB_TRY(leaf(y, ctx, 3, -1));
    *loss = ebb_sum(ebb_mul(ebb_square(*x), *y), EBB_ALL);
    return ebb_check(*loss);
}

static ebb_status double_it(void *user, ebb_tensor **grad)
{
    ++*(int *)user;
    *grad = ebb_mul_scalar(*grad, 2);
    return ebb_check(*grad);
}

static int n_done;
static void count_done(void *user)
{
    (void)user;
    n_done++;
}

static ebb_status hooked(numbers *out, ebb_context *ctx)
{
    static int n_seen;
    ebb_tensor *x, *y, *loss;
    ebb_hook_id id;
    EBB_TRY(start(&x, &y, &loss, ctx));
    ebb_tensor *z = ebb_mul(x, y);
    EBB_TRY(ebb_check(z));
    const ebb_hook_options o = {.name = "double", .done = count_done};
    int before = n_done;
    ebb_status status = ebb_hook_add(&id, z, double_it, &n_seen, &o);
    if (status != EBB_OK) {
        assert_int_equal(n_done, before + 1); /* at once */
        return status;
    }
    EBB_TRY(ebb_hook_add(NULL, x, double_it, &n_seen, NULL));
    EBB_TRY(ebb_retain_grad(z));
    EBB_TRY(ebb_backward(ebb_add(loss, ebb_sum(z, EBB_ALL)), NULL));
    assert_int_equal(n_done, before + 1);
    EBB_TRY(note(out, ebb_grad_of(x)));
    EBB_TRY(note(out, ebb_grad_of(y)));
    return note(out, ebb_grad_of(z));
}

static ebb_status products(numbers *out, ebb_context *ctx)
{
    ebb_tensor *x, *y, *loss, *hv[2], *jv;
    EBB_TRY(start(&x, &y, &loss, ctx));
    ebb_tensor *in[] = {x, y}, *v[] = {y, x}, *root = ebb_mul(x, y);
    EBB_TRY(ebb_check(root));
    EBB_TRY(ebb_hvp(hv, loss, in, v, 2));
    EBB_TRY(note(out, hv[0]));
    EBB_TRY(note(out, hv[1]));
    EBB_TRY(ebb_jvp(&jv, &root, 1, in, v, 2));
    return note(out, jv);
}

static ebb_status matrices(numbers *out, ebb_context *ctx)
{
    ebb_tensor *x, *y, *loss, *j[2], *h[4];
    EBB_TRY(start(&x, &y, &loss, ctx));
    ebb_tensor *in[] = {x, y}, *root = ebb_mul(x, y);
    EBB_TRY(ebb_check(root));
    EBB_TRY(ebb_jacobian(j, root, in, 2, NULL));
    EBB_TRY(note(out, j[0]));
    EBB_TRY(ebb_hessian(h, loss, in, 2));
    EBB_TRY(note(out, h[0]));
    return note(out, h[1]);
}

static ebb_tensor *of_two(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user, (void)n;
    return ebb_mul(ebb_sin(in[0]), in[1]);
}

static ebb_status checked(numbers *out, ebb_context *ctx)
{
    ebb_tensor *x, *y, *loss;
    ebb_gradcheck_report report;
    EBB_TRY(start(&x, &y, &loss, ctx));
    ebb_tensor *in[] = {x, y};
    EBB_TRY(ebb_gradcheck(&report, of_two, NULL, in, 2,
                          &(ebb_gradcheck_options){.second_order = true}));
    return note(out, loss);
}

/* In place, with history and without. */
static ebb_status in_place(numbers *out, ebb_context *ctx)
{
    ebb_tensor *x, *y, *loss;
    EBB_TRY(start(&x, &y, &loss, ctx));
    ebb_tensor *z = ebb_mul(x, y);
    EBB_TRY(ebb_check(z));
    EBB_TRY(ebb_mul_(z, x));
    EBB_TRY(ebb_backward(ebb_sum(z, EBB_ALL), NULL));
    EBB_TRY(note(out, ebb_grad_of(x)));
    EBB_NO_GRAD(quiet);
    EBB_TRY(ebb_add_(y, x));
    return note(out, y);
}

/* ---- an operation of the user's: x y and x + y, a by-product, a list of any length -------- */
static ebb_status mix_shape(ebb_dtype *d, ebb_shape *s, const ebb_view *in, const void *attr)
{
    (void)attr;
    for (int k = 0; k < 3; k++) d[k] = in[0].dtype, s[k] = in[0].shape;
    return EBB_OK;
}

static ebb_status mix_forward(const ebb_view *out, const ebb_view *aux, const ebb_view *in,
                              const void *attr)
{
    (void)attr;
    const double *x = in[0].data, *y = in[1].data;
    for (int64_t i = 0; i < out[0].shape.dims[0]; i++) {
        ((double *)out[0].data)[i] = x[i] * y[i];
        ((double *)out[1].data)[i] = x[i] + y[i];
        ((double *)aux[0].data)[i] = y[i];
    }
    return EBB_OK;
}

static ebb_status mix_give(ebb_vjp *v, ebb_tensor *y)
{
    ebb_tensor *product = ebb_vjp_grad(v, 0), *sum = ebb_vjp_grad(v, 1);
    for (int i = 0; i < 2; i++) {
        ebb_tensor *other = i == 0 ? y : ebb_vjp_in(v, 0);
        if (product != EBB_NONE) ebb_vjp_give(v, i, ebb_mul(product, other));
        if (sum != EBB_NONE) ebb_vjp_give(v, i, sum);
    }
    return EBB_OK;
}
static ebb_status mix_vjp(ebb_vjp *v, const void *attr)
{
    (void)attr;
    return mix_give(v, ebb_vjp_aux(v, 0));
}
static ebb_status mix_composed(ebb_vjp *v, const void *attr)
{
    (void)attr;
    return mix_give(v, ebb_vjp_in(v, 1));
}

static ebb_status custom(numbers *out, ebb_context *ctx)
{
    static const uint32_t all = EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_AUX(0);
    static const ebb_custom mix = {.name = "mix",
                                   .n_in = 2,
                                   .n_out = 2,
                                   .n_aux = 1,
                                   .need = {all, all},
                                   .shape = mix_shape,
                                   .forward = mix_forward,
                                   .vjp = mix_vjp,
                                   .vjp_composed = mix_composed};
    ebb_tensor *x, *y, *loss, *of[2], *g[2];
    EBB_TRY(start(&x, &y, &loss, ctx));
    ebb_tensor *in[] = {x, y};
    EBB_TRY(ebb_apply(of, &mix, in, NULL));
    ebb_tensor *root = ebb_sum(ebb_mul(of[0], of[1]), EBB_ALL); /* x^2 y + x y^2 */
    EBB_TRY(ebb_check(root));
    EBB_TRY(ebb_grad(g, &root, NULL, 1, in, 2, &(ebb_grad_options){.create_graph = true}));
    EBB_TRY(note(out, g[0]));
    EBB_TRY(ebb_backward(ebb_sum(g[0], EBB_ALL), NULL)); /* 2 x y + y^2 */
    EBB_TRY(note(out, ebb_grad_of(x)));
    return note(out, ebb_grad_of(y));
}

/* ---- every allocation --------------------------------------------------------------------- */
static ebb_status run(numbers *out, scenario f, ebb_context *ctx)
{
    EBB_SCOPE(scope);
    memset(out, 0, sizeof *out);
    return f(out, ctx);
}

static void nothing_is_left(ebb_context *ctx, const ebb_stats *before, int64_t k)
{
    ebb_stats now;
    ebb_stats_get(&now, ctx);
    const char *graph = ebb__graph_check(ctx->space), *memory = ebb__memory_check(ctx);
    if (graph || memory) fail_msg("allocation %lld: %s", (long long)k, graph ? graph : memory);
    size_t kept = now.used_bytes - before->used_bytes; /* a context remembers operations */
    if (now.live_nodes || now.n_handles != before->n_handles || kept > MAX_REMEMBERED ||
        now.used_bytes - now.bytes[EBB_KIND_BOOKKEEPING] !=
            before->used_bytes - before->bytes[EBB_KIND_BOOKKEEPING])
        fail_msg("allocation %lld: %lld nodes, %lld handles, %lld bytes are left", (long long)k,
                 (long long)now.live_nodes, (long long)(now.n_handles - before->n_handles),
                 (long long)now.used_bytes - (long long)before->used_bytes);
}

/* False where fewer allocations were made than k. */
static bool refuse(scenario f, int64_t k, const numbers *want)
{
    refusing r = {.refuse_at = k};
    ebb_allocator hook = {refusing_alloc, refusing_free, &r};
    ebb_context_options options = {.n_threads = 1, .allocator = &hook};
    ebb_context *ctx = NULL;
    ebb_stats before;
    numbers got;
    ebb_error_clear();
    if (ebb_context_create(&ctx, &options) != EBB_OK) {
        assert_status(ebb_error_status(), EBB_E_NOMEM);
        assert_int_equal(r.n_live, 0);
        return true;
    }
    ebb_stats_get(&before, ctx);
    if (run(&got, f, ctx) != EBB_OK) {
        assert_true(strlen(ebb_error_message()) > 10);
        assert_status(ebb_error_status(), EBB_E_NOMEM);
        nothing_is_left(ctx, &before, k);
    }
    bool refused = r.n_calls > k;
    r.refuse_at = -1;
    assert_ok(run(&got, f, ctx));
    assert_int_equal(got.n, want->n);
    for (int i = 0; i < got.n; i++) assert_true(got.x[i] == want->x[i]);
    ebb_context_destroy(ctx);
    assert_int_equal(r.n_live, 0);
    return refused;
}

static void every_allocation(scenario f, numbers want)
{
    int64_t k = 0;
    while (refuse(f, k, &want)) k++;
    assert_true(k > 10);
}

/* By hand, at x = (1, 2), y = (3, -1). */
static void hooks_and_kept_gradients(void **state)
{
    (void)state;
    /* of x: 2 (2 x y + 2 y), both hooks doubling; of y: x^2 + 2 x; of z: 2 */
    every_allocation(hooked, (numbers){6, {24, -12, 3, 8, 2, 2}});
}
static void products_with_vectors(void **state)
{
    (void)state;
    /* 2 y y + 2 x x; 2 x y; y y + x x */
    every_allocation(products, (numbers){6, {20, 10, 6, -4, 10, 5}});
}
static void whole_jacobians_and_hessians(void **state)
{
    (void)state;
    every_allocation(matrices, (numbers){12, {3, 0, 0, -1, 6, 0, 0, -2, 2, 0, 0, 4}});
}
static void a_gradient_is_checked(void **state)
{
    (void)state;
    every_allocation(checked, (numbers){1, {-1}});
}
static void writing_in_place(void **state)
{
    (void)state;
    every_allocation(in_place, (numbers){4, {6, -4, 4, 1}});
}
static void an_operation_of_the_users_differentiated_twice(void **state)
{
    (void)state;
    /* 2 x y + y^2; then 2 y; 2 x + 2 y */
    every_allocation(custom, (numbers){6, {15, -3, 6, -2, 8, 2}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hooks_and_kept_gradients),
        cmocka_unit_test(products_with_vectors),
        cmocka_unit_test(whole_jacobians_and_hessians),
        cmocka_unit_test(a_gradient_is_checked),
        cmocka_unit_test(writing_in_place),
        cmocka_unit_test(an_operation_of_the_users_differentiated_twice),
    };
    return cmocka_run_group_tests_name("autodiff/no_memory", tests, NULL, NULL);
}
