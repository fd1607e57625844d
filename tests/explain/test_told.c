/* test_told.c - whatever call is refused memory, whoever asked to be told of refusals is told of it:
 * once, and with the failure that the caller sees.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include "support/refusing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KIB = 1024, N = 40000, PATH_BYTES = 64 };

typedef struct told {
    int n_calls;
    ebb_error error;
    ebb_context *ctx;
} told;

static void listen(void *user, ebb_context *ctx, const ebb_error *error)
{
    told *t = user;
    t->n_calls++;
    t->error = *error;
    t->ctx = ctx;
}

/* What the calls work on; made before anything is refused. */
typedef struct world {
    ebb_context *ctx;
    ebb_tensor *leaf, *loss, *data;
    ebb_params *params;
    ebb_optimizer *opt;
    char safetensors[PATH_BYTES];
} world;

static ebb_tensor *passed(void *user, ebb_tensor *const *in, int64_t n)
{
    (void)user, (void)n;
    return ebb_mul(in[0], in[0]);
}

static ebb_status quiet_hook(void *user, ebb_tensor **grad)
{
    (void)user, (void)grad;
    return EBB_OK;
}

static ebb_status of(const ebb_tensor *t)
{
    return t ? EBB_OK : ebb_error_status();
}

static float numbers[N];

static ebb_status call_alloc(world *w)
{
    void *p = ebb_alloc(w->ctx, 100, EBB_KIND_BOOKKEEPING);
    ebb_free(w->ctx, p, 100, EBB_KIND_BOOKKEEPING);
    return p ? EBB_OK : ebb_error_status();
}
static ebb_status call_list(world *w)
{
    ebb_tensor *many[300];
    for (int i = 0; i < 300; i++) many[i] = w->data;
    return of(ebb_cat(many, 300, 0));
}
static ebb_status call_backward(world *w)
{
    return ebb_backward(w->loss, NULL);
}
static ebb_status call_gradcheck(world *w)
{
    ebb_tensor *x = ebb_cast(w->data, EBB_F64);
    if (!x) return ebb_error_status();
    x = ebb_narrow(x, 0, 0, 2);
    return x ? ebb_gradcheck(NULL, passed, NULL, &x, 1, NULL) : ebb_error_status();
}
static ebb_status call_hook(world *w)
{
    return ebb_hook_add(NULL, w->loss, quiet_hook, NULL, NULL);
}
static ebb_status call_retain(world *w)
{
    return ebb_retain_grad(w->loss);
}
static ebb_status call_label(world *w)
{
    return ebb_label(w->loss, "loss");
}
static ebb_status call_explain(world *w)
{
    ebb_explanation e;
    return ebb_explain(&e, w->leaf);
}
static ebb_status call_saved(world *w)
{
    int64_t n;
    return ebb_saved(NULL, 0, &n, w->loss);
}
static ebb_status call_child(world *w)
{
    ebb_context *child = NULL;
    ebb_status s = ebb_context_create(&child, &(ebb_context_options){.parent = w->ctx});
    ebb_context_destroy(child);
    return s;
}
static ebb_status call_params(world *w)
{
    ebb_params *p = NULL;
    ebb_status s = ebb_params_create(&p, w->ctx);
    if (s == EBB_OK)
        s = of(ebb_param(p, "w", EBB_F32, EBB_SHAPE(10, 10), ebb_kaiming_uniform()));
    ebb_params_release(p);
    return s;
}
static ebb_status call_optimizer(world *w)
{
    ebb_optimizer *opt = NULL;
    ebb_status s = ebb_adam_create(&opt, w->params, 0.1, NULL);
    ebb_optimizer_release(opt);
    return s;
}
static ebb_status call_minimize(world *w)
{
    return ebb_minimize(w->opt, w->loss, NULL);
}
static ebb_status call_load_safetensors(world *w)
{
    return of(ebb_load_safetensors(w->ctx, w->safetensors, "data"));
}
static ebb_status call_save(world *w)
{
    return ebb_params_save(w->params, w->safetensors);
}
static ebb_status call_loader(world *w)
{
    ebb_loader *loader = NULL;
    ebb_status s = ebb_loader_create(&loader, &w->data, 1, 8, NULL);
    ebb_loader_release(loader);
    return s;
}

static const struct {
    const char *name;
    ebb_status (*run)(world *w);
} calls[] = {

    {"alloc", call_alloc},       {"cat", call_list},
    {"backward", call_backward}, {"gradcheck", call_gradcheck},
    {"hook_add", call_hook},     {"retain_grad", call_retain},
    {"label", call_label},       {"explain", call_explain},
    {"saved", call_saved},       {"context_create", call_child},
    {"params", call_params},     {"adam_create", call_optimizer},
    {"minimize", call_minimize}, {"load_safetensors", call_load_safetensors},
    {"params_save", call_save},  {"loader_create", call_loader},
};

static void world_make(world *w, const ebb_allocator *allocator)
{
    memset(w, 0, sizeof *w);
    assert_ok(ebb_context_create(
        &w->ctx, &(ebb_context_options){.allocator = allocator, .n_threads = 1}));
    assert_ok(ebb_params_create(&w->params, w->ctx));
    w->leaf = ebb_param(w->params, "leaf", EBB_F32, EBB_SHAPE(64, 64), ebb_constant(1));
    assert_ok(ebb_sgd_create(&w->opt, w->params, 0.1, NULL));
    w->data = ebb_ones(w->ctx, EBB_F32, EBB_SHAPE(64));
    w->loss = w->leaf;
    for (int i = 0; i < 300; i++) w->loss = ebb_mul(w->loss, w->leaf);
    w->loss = ebb_sum(w->loss, EBB_ALL);
    assert_non_null(w->loss);
    snprintf(w->safetensors, sizeof w->safetensors, "/tmp/ebb_told_%d.safetensors",
             (int)getpid());
    const char *name = "data";
    assert_ok(ebb_save_safetensors(w->safetensors, &w->data, &name, 1));
}

/* The k-th allocation of a call is refused: true where it failed for that, and was told of. */
static bool is_told(size_t at, int64_t k, bool *all_given)
{
    refusing memory = {.refuse_at = -1};
    const ebb_allocator allocator = {refusing_alloc, refusing_free, &memory};
    world w;
    told t = {0};
    EBB_SCOPE(scope);
    world_make(&w, &allocator);
    assert_ok(ebb_watch_refusals(w.ctx, listen, &t));
    memory.refuse_at = memory.n_calls + k;
    ebb_status s = calls[at].run(&w);
    *all_given = memory.n_calls <= memory.refuse_at;
    memory.refuse_at = -1;
    if (s != EBB_OK) {
        assert_int_equal(s, EBB_E_NOMEM);
        if (t.n_calls != 1)
            fail_msg("%s, allocation %d: told %d times", calls[at].name, (int)k, t.n_calls);
        assert_int_equal(t.error.status, EBB_E_NOMEM);
        assert_ptr_equal(t.ctx, w.ctx);
        ebb_error_clear();
    } else {
        assert_int_equal(t.n_calls, 0);
    }
    unlink(w.safetensors);
    ebb_context_destroy(w.ctx);
    assert_int_equal(memory.n_live, 0);
    return s != EBB_OK;
}

static void every_call_that_is_refused_memory_is_told_of_once(void **state)
{
    (void)state;
    for (size_t at = 0; at < sizeof calls / sizeof *calls; at++) {
        int n_told = 0;
        bool all_given = false;
        for (int64_t k = 0; !all_given; k++) n_told += is_told(at, k, &all_given);
        if (n_told == 0) fail_msg("%s was never refused", calls[at].name);
    }
}

/* A tensor whose bytes were given up, and no room to make them again. */
static ebb_tensor *given_up(ebb_context **ctx, told *t)
{
    memset(t, 0, sizeof *t);
    assert_ok(ebb_context_create(
        ctx, &(ebb_context_options){.memory_budget_bytes = 640 * KIB, .n_threads = 1}));
    ebb_tensor *x = ebb_tensor_copy(*ctx, EBB_F32, EBB_SHAPE(N), numbers, N * sizeof *numbers);
    ebb_tensor *y = ebb_exp(x);
    for (int i = 0; i < 2; i++)
        assert_non_null(
            ebb_tensor_copy(*ctx, EBB_F32, EBB_SHAPE(N), numbers, N * sizeof *numbers));
    ebb_error_clear();
    assert_ok(ebb_watch_refusals(*ctx, listen, t));
    return y;
}

static ebb_tensor *one_of(ebb_context *ctx)
{
    return EBB_FROM(ctx, EBB_SHAPE(1), numbers, 1);
}

static void bytes_without_room_are_told_of(void **state)
{
    (void)state;
    for (int what = 0; what < 5; what++) {
        EBB_SCOPE(scope);
        ebb_context *ctx;
        told t;
        ebb_view view;
        static float out[N];
        char path[PATH_BYTES];
        ebb_tensor *y = given_up(&ctx, &t), *one = NULL;
        if (what == 1) one = ebb_narrow(y, 0, 0, 1);
        if (what == 0) assert_int_equal(EBB_READ(y, out, N), EBB_E_BUDGET);
        if (what == 1) assert_true(ebb_item(one) != ebb_item(one)); /* NaN, twice */
        if (what == 2) assert_int_equal(ebb_map(&view, y, EBB_MAP_READ), EBB_E_BUDGET);
        if (what == 3) assert_int_equal(EBB_WRITE(y, out, N), EBB_E_BUDGET);
        if (what == 4) {
            snprintf(path, sizeof path, "/tmp/ebb_told_%d.npy", (int)getpid());
            assert_ok(ebb_save_npy(ebb_expand(one_of(ctx), EBB_SHAPE(N)), path));
            assert_null(ebb_load_npy(ctx, path));
            unlink(path);
        }
        assert_int_equal(t.n_calls, what == 1 ? 2 : 1);
        assert_int_equal(t.error.status, EBB_E_BUDGET);
        ebb_error_clear();
        ebb_context_destroy(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_that_is_refused_memory_is_told_of_once),
        cmocka_unit_test(bytes_without_room_are_told_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
