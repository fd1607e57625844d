/* onednn.c - the backend: which operations it overrides, and how a call finds its plan.
 *
 * The number of threads is OpenMP's for the calling thread: set around creation and execution,
 * because a primitive must run with the count it was made for, and put back for the user.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/onednn.h"

#include "backend/onednn/build.h"
#include "backend/onednn/plan_cache.h"
#include "base/context.h"

#include <string.h>

enum { CACHE_CAPACITY = 512 };

typedef struct onednn {
    ebb_allocator allocator;
    dnnl_engine_t engine;
    ebb__dnnl_cache *cache;
} onednn;

/* X(operation, its worth, its builder) */
#define ONEDNN_MAP(X)                                                                          \
    X(conv1d, conv, conv)                                                                      \
    X(conv2d, conv, conv)                                                                      \
    X(conv3d, conv, conv)                                                                      \
    X(conv_grad_input, conv_grad_input, conv_grad_input)                                       \
    X(conv_grad_weight, conv_grad_weight, conv_grad_weight)                                    \
    X(matmul, matmul, matmul)                                                                  \
    X(linear, matmul, linear)                                                                  \
    X(softmax, softmax, softmax)                                                               \
    X(softmax_grad, softmax, softmax_grad)                                                     \
    X(log_softmax, softmax, softmax)                                                           \
    X(log_softmax_grad, softmax, softmax_grad)                                                 \
    X(avg_pool1d, avg_pool, avg_pool)                                                          \
    X(avg_pool2d, avg_pool, avg_pool)                                                          \
    X(avg_pool3d, avg_pool, avg_pool)                                                          \
    X(avg_pool_grad, avg_pool, avg_pool_grad)                                                  \
    X(layer_norm, norm, layer_norm)                                                            \
    X(layer_norm_grad, norm, layer_norm_grad)

enum builder_index {
#define X(name, worth, build) BUILDER_##name,
    ONEDNN_MAP(X)
#undef X
};

static const ebb__dnnl_builder builders[] = {
#define X(name, worth, build) {#name, ebb__dnnl_##worth##_worth, ebb__dnnl_##build##_build},
    ONEDNN_MAP(X)
#undef X
};

/* ---- what builders share ----------------------------------------------------------------- */

int32_t ebb__dnnl_input(const ebb__call *c, const char *arg)
{
    for (int32_t i = 0; i < c->n_in && i < EBB__MAX_IN; i++)
        if (c->op->arg[i] && strcmp(c->op->arg[i], arg) == 0) return c->in[i].dtype ? i : -1;
    return -1;
}

const void *ebb__dnnl_attribute(const ebb__call *c, const char *name)
{
    for (const ebb_attr_spec *s = c->op->attrs; s && s->name; s++)
        if (strcmp(s->name, name) == 0) return (const char *)c->attr + s->offset;
    return NULL;
}

void ebb__dnnl_refuse(ebb__dnnl_plan *p)
{
    if (p->status == dnnl_success) p->status = dnnl_unimplemented;
}

bool ebb__dnnl_all_f32(const ebb__call *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i].dtype != EBB_F32 && c->in[i].dtype != 0) return false;
    return c->out[0].dtype == EBB_F32;
}

/* ---- threads ----------------------------------------------------------------------------- */

/* Without OpenMP here nothing tells oneDNN how many threads it may use: every call is left to
 * the reference kernels. */
static bool threads_managed(void)
{
#ifdef _OPENMP
    return true;
#else
    return false;
#endif
}

/* ---- plans ------------------------------------------------------------------------------- */

static void plan_build(ebb__dnnl_plan *p, const onednn *b, const ebb__dnnl_builder *how,
                       const ebb__call *c)
{
    ebb__dnnl_plan_init(p, b->engine, &b->allocator);
    int before = ebb__dnnl_threads_set(c->n_threads);
    how->build(p, c);
    ebb__dnnl_threads_set(before);
    ebb__dnnl_plan_finish(p);
}

/* False: there was no memory, or every entry is pinned. */
static bool entry_add(ebb__dnnl_found *found, onednn *b, const ebb__dnnl_builder *how,
                      const ebb__call *c, const ebb__dnnl_key *key)
{
    ebb__dnnl_entry *e = ebb__alloc(&b->allocator, sizeof *e, 16);
    if (!e) return false;
    e->key = *key;
    plan_build(&e->plan, b, how, c);
    e->usable = e->plan.status == dnnl_success;
    if (e->plan.status == dnnl_out_of_memory) {
        ebb__dnnl_entry_destroy(&b->allocator, e);
        return false;
    }
    return ebb__dnnl_cache_add(found, b->cache, e);
}

static bool call_plan(ebb__call *c, void *backend, const ebb__dnnl_builder *how)
{
    onednn *b = backend;
    ebb__dnnl_key key;
    ebb__dnnl_found found;
    if (!how->worth(c) || !threads_managed() || !ebb__dnnl_key_make(&key, c)) return false;
    c->plan = NULL;
    /* Memory does not decide which kernel runs: where it is refused, so is the call. */
    if (!ebb__dnnl_cache_find(&found, b->cache, &key) && !entry_add(&found, b, how, c, &key))
        return true;
    if (!found.usable) return false;
    c->plan = found.ticket;
    c->scratch_bytes = found.scratch_bytes;
    return true;
}

/* The plan was displaced between plan and run: one for this run alone. */
static ebb_status run_displaced(const ebb__call *c, const onednn *b)
{
    const ebb__dnnl_builder *how = builders;
    while (strcmp(how->name, c->op->name) != 0) how++;
    ebb__dnnl_plan p;
    plan_build(&p, b, how, c);
    ebb_status s = p.status == dnnl_success ? ebb__dnnl_plan_run(&p, c)
                                            : ebb__fail(EBB_E_BACKEND, "oneDNN reports %s",
                                                        ebb__dnnl_status_text(p.status));
    ebb__dnnl_plan_destroy(&p);
    return s;
}

static ebb_status call_forward(const ebb__call *c, void *backend)
{
    onednn *b = backend;
    if (!c->plan) return ebb__fail(EBB_E_NOMEM, "no memory for a plan of oneDNN's");
    int before = ebb__dnnl_threads_set(c->n_threads);
    ebb__dnnl_plan *p = ebb__dnnl_cache_pin(b->cache, c->plan);
    ebb_status s = p ? ebb__dnnl_plan_run(p, c) : run_displaced(c, b);
    if (p) ebb__dnnl_cache_unpin(b->cache, c->plan);
    ebb__dnnl_threads_set(before);
    return s;
}

#define X(name, worth, build)                                                                  \
    static bool name##_plan(ebb__call *c, void *backend)                                       \
    {                                                                                          \
        return call_plan(c, backend, &builders[BUILDER_##name]);                               \
    }
ONEDNN_MAP(X)
#undef X

static const ebb__override overrides[] = {
#define X(name, worth, build) {#name, name##_plan, call_forward},
    ONEDNN_MAP(X)
#undef X
        {NULL, NULL, NULL}};

/* ---- the backend ------------------------------------------------------------------------- */

static void onednn_destroy(void *backend)
{
    onednn *b = backend;
    ebb_allocator allocator = b->allocator;
    ebb__dnnl_cache_destroy(b->cache);
    if (b->engine) dnnl_engine_destroy(b->engine);
    ebb__free(&allocator, b, sizeof *b);
}

static ebb_status onednn_create(void **backend, ebb_context *root)
{
    onednn *b = ebb__alloc(&root->allocator, sizeof *b, 16);
    if (!b) return ebb__fail(EBB_E_NOMEM, "no memory for the oneDNN backend");
    memset(b, 0, sizeof *b);
    b->allocator = root->allocator;
    dnnl_set_verbose(0);
    dnnl_status_t s = dnnl_engine_create(&b->engine, dnnl_cpu, 0);
    if (s != dnnl_success) {
        onednn_destroy(b);
        return ebb__fail(EBB_E_BACKEND, "oneDNN reports %s", ebb__dnnl_status_text(s));
    }
    b->cache = ebb__dnnl_cache_create(&b->allocator, CACHE_CAPACITY);
    if (!b->cache) {
        onednn_destroy(b);
        return ebb__fail(EBB_E_NOMEM, "no memory for the plans of the oneDNN backend");
    }
    *backend = b;
    return EBB_OK;
}

const ebb__backend ebb__backend_onednn = {"onednn", onednn_create, onednn_destroy, overrides};
