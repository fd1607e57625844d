/* context.c - assembling a context from its layers; statistics. The only reader of the
 * environment.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/backward.h"
#include "base/check.h"
#include "base/thread.h"
#include "memory/reserve.h"
#include "ops/ids.h"
#include "tensor/owned.h"
#ifdef EBB_HAVE_LAPACK
#include "backend/lapack/lapack.h"
#endif
#ifdef EBB_HAVE_ONEDNN
#include "backend/onednn/onednn.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int64_t environment(const char *name)
{
    const char *text = getenv(name);
    if (!text || !*text) return 0;
    char *end;
    long long n = strtoll(text, &end, 10);
    return *end == '\0' && n > 0 ? n : 0;
}

/* A budget that cannot be read is no reason to go without one. */
static ebb_status budget_of(size_t *out, const ebb_context_options *o)
{
    const char *name = "EBB_MEMORY_BUDGET_BYTES", *text = getenv(name);
    *out = o->memory_budget_bytes;
    if (*out || o->parent || !text || !*text || strcmp(text, "0") == 0) return EBB_OK;
    int64_t n = environment(name);
    if (!n)
        return ebb__fail(EBB_E_RANGE, "%s is \"%.40s\": a number of bytes is allowed", name,
                         text);
    *out = (size_t)n;
    return EBB_OK;
}

static int32_t thread_count(const ebb_context_options *o)
{
    /* The pools of threads that kernels would use stayed with the parent process. */
    if (ebb__fork_generation() > 0) return 1;
    int64_t n = o->n_threads;
    if (n == 0 && o->parent) n = o->parent->n_threads;
    if (n == 0) n = environment("EBB_NUM_THREADS");
    if (n == 0) n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > 1024 ? 1024 : (int32_t)n;
}

static ebb_status options_check(const ebb_context_options *o)
{
    for (size_t i = 0; i < sizeof o->reserved / sizeof *o->reserved; i++)
        if (o->reserved[i]) return ebb__fail(EBB_E_MISUSE, "options.reserved is not zero");
    if (o->n_threads < 0)
        return ebb__fail(EBB_E_RANGE, "n_threads is %d, 0 or more is allowed",
                         (int)o->n_threads);
    if (!o->parent) return EBB_OK;
    EBB_TRY(ebb__context_usable(o->parent));
    if (o->single_threaded && !o->parent->single_threaded)
        return ebb__fail(EBB_E_MISUSE, "a child is single-threaded where its parent is: this "
                                       "parent is not");
    return EBB_OK;
}

static const char *tag_name(void *root, uint32_t tag)
{
    if (tag == EBB__LEAF_TAG) return "leaf";
    const ebb_op *op = ebb__op_of_tag(root, tag);
    return op ? op->name : "an operation";
}

static ebb_status root_create(ebb_context *ctx)
{
    EBB_TRY(ebb__registry_create(ctx, ebb__op_table, EBB__N_OPS));
    EBB_TRY(ebb__custom_create(ctx));
    ebb_graph_space_options o = {.single_threaded = ctx->single_threaded,
                                 .allocator = &ctx->allocator,
                                 .tag_name = tag_name,
                                 .user = ctx};
    EBB_TRY(ebb__graph_space_create(&ctx->space, ctx->pool, &o));
#ifdef EBB_HAVE_ONEDNN
    /* Its caches have locks that a thread of the parent process may have held. */
    if (ebb__fork_generation() == 0) EBB_TRY(ebb__registry_add(ctx, &ebb__backend_onednn));
#endif
#ifdef EBB_HAVE_LAPACK
    if (ebb__fork_generation() == 0) EBB_TRY(ebb__registry_add(ctx, &ebb__backend_lapack));
#endif
    return EBB_OK;
}

static ebb_status context_build(ebb_context *ctx, const ebb_context_options *o)
{
    ebb__account *above = o->parent ? o->parent->account : NULL;
    size_t budget;
    EBB_TRY(budget_of(&budget, o));
    EBB_TRY(ebb__account_create(&ctx->account, &ctx->allocator, above, budget,
                                ctx->single_threaded));
    EBB_TRY(ebb__memory_create(ctx));
    if (ctx->root == ctx) {
        ebb__memory_set_holders(ctx, ebb__refusal_holders);
        ebb__memory_set_relief(ctx, ebb__habit_refused);
    }
    EBB_TRY(ebb__owned_create(ctx));
    EBB_TRY(ebb__slots_create(ctx));
    if (ctx->root == ctx) {
        EBB_TRY(root_create(ctx));
    } else {
        ctx->space = ctx->root->space;
        ctx->registry = ctx->root->registry;
    }
    return ebb__engine_create(ctx);
}

static void child_link(ebb_context *parent, ebb_context *child)
{
    ebb__lock_take(&parent->children_lock);
    child->next_sibling = parent->first_child;
    parent->first_child = child;
    ebb__lock_give(&parent->children_lock);
}

static void child_unlink(ebb_context *parent, ebb_context *child)
{
    ebb__lock_take(&parent->children_lock);
    ebb_context **link = &parent->first_child;
    while (*link != child) link = &(*link)->next_sibling;
    *link = child->next_sibling;
    ebb__lock_give(&parent->children_lock);
}

/* Whoever makes room or writes may hold a value of any context of the memory for a while. */
static void others_await(const ebb_context *ctx)
{
    ebb__gate_hold hold;
    ebb__gate_enter(&hold, ebb__budget_gate(ctx));
    ebb__gate_leave(&hold);
}

/* Takes down what the context has, but not its frame. Its children are closed already. */
static void parts_destroy(ebb_context *ctx)
{
    bool is_root = ctx->root == ctx;
    ebb__owned_destroy(ctx);
    ebb__slots_destroy(ctx);
    if (ctx->memory) others_await(ctx);
    ebb__engine_destroy(ctx);
    if (is_root) {
        ebb_graph_space_destroy(ctx->space);
        ebb__custom_destroy(ctx);
        ebb__registry_destroy(ctx);
    }
    ebb__memory_destroy(ctx);
    ebb__account_destroy(ctx->account);
    ctx->closed = true;
}

/* Closes the context and all below it, deepest first. */
static void context_close(ebb_context *ctx)
{
    ebb_context *at = ctx;
    while (!ctx->closed) {
        while (at->first_child) at = at->first_child;
        ebb_context *parent = at->parent;
        if (parent) child_unlink(parent, at);
        parts_destroy(at);
        at->parent = NULL;
        at = at == ctx ? ctx : parent;
    }
}

static void context_free(ebb_context *ctx)
{
    bool ours = ctx->fork_generation == ebb__fork_generation();
    if (ours && ctx->root == ctx && ctx->engine) { /* complete, and nobody was inside it */
        EBB__ASSERT(3, !ebb__graph_check(ctx->space));
        EBB__ASSERT(3, !ebb__memory_check(ctx));
    }
    context_close(ctx);
    ebb_allocator allocator = ctx->allocator;
    ebb__free(&allocator, ctx, sizeof *ctx);
}

ebb_status(ebb_context_create)(ebb_context **out, const ebb_context_options *options)
{
    static const ebb_context_options none;
    const ebb_context_options *o = options ? options : &none;
    if (!out) return ebb__null_argument("ebb_context_create", "out");
    EBB_TRY(options_check(o));
    const ebb_allocator *a = o->allocator ? o->allocator
                             : o->parent  ? &o->parent->allocator
                                          : &ebb__allocator_libc;
    ebb_context *ctx = ebb__alloc(a, sizeof *ctx, 64);
    if (!ctx)
        return ebb__call_end(
            ebb__error_op(), o->parent,
            ebb__fail(EBB_E_NOMEM, "%zu bytes for a context were refused", sizeof *ctx));
    memset(ctx, 0, sizeof *ctx);
    ctx->allocator = *a;
    ctx->parent = o->parent;
    ctx->root = o->parent ? o->parent->root : ctx;
    ctx->fork_generation = ebb__fork_generation();
    ctx->n_threads = thread_count(o);
    ctx->single_threaded = o->parent ? o->parent->single_threaded : o->single_threaded;
    ctx->nondeterministic = o->nondeterministic;
    ctx->record_sites = o->record_sites || (o->parent && o->parent->record_sites);
    ctx->check_recompute = o->check_recompute || (o->parent && o->parent->check_recompute);
    ctx->cache_limit = o->cache_limit_bytes;
    if (!ctx->cache_limit && o->parent) ctx->cache_limit = o->parent->cache_limit;
    ebb__thread_token *self = ebb__thread_self();
    ctx->thread_id = o->parent ? o->parent->thread_id : self ? self->id : 0;
    ctx->seed = o->seed;
    if (ctx->parent) child_link(ctx->parent, ctx);
    ebb_status status = context_build(ctx, o);
    if (status != EBB_OK) {
        context_free(ctx);
        return ebb__call_end(ebb__error_op(), o->parent, status);
    }
    *out = ctx;
    return EBB_OK;
}

void ebb_context_destroy(ebb_context *ctx)
{
    if (ctx && ebb__context_is_ours(ctx)) context_free(ctx);
}

/* Not in a forked child, whose parent may have been inside the graph when it forked. */
static void graph_stats(ebb_stats *out, const ebb_context *ctx)
{
    out->live_nodes = ebb__graph_live_nodes(ctx->space);
    if (ctx->fork_generation != ebb__fork_generation()) return;
    ebb_graph_stats g;
    ebb_graph_stats_get(&g, ctx->space);
    out->spent_nodes = g.spent;
    out->severed_nodes = g.severed;
    out->leaves_in_use = g.leaves_in_use;
    out->edges = g.edges;
    out->created_nodes = g.nodes_created;
    out->freed_nodes = g.nodes_freed;
}

/* Has it anything that may be touched: neither closed nor of a parent process. */
static bool is_open(const ebb_context *ctx)
{
    return ctx && !ctx->closed && ebb__context_is_ours(ctx);
}

void ebb_stats_get(ebb_stats *out, const ebb_context *ctx)
{
    if (!out) return;
    memset(out, 0, sizeof *out);
    if (!is_open(ctx)) return;
    ebb__account_stats(out, ctx->account);
    ebb__memory_stats(out, ctx);
    size_t idle;
    ebb__slots_count(ctx, &out->n_handles, &idle);
    out->bytes[EBB_KIND_BOOKKEEPING] -= idle;
    out->used_bytes -= idle;
    out->bytes[EBB_KIND_CACHE] += idle;
    graph_stats(out, ctx);
    out->saved_bytes = ebb__saved_bytes(ctx);
    out->n_misuse = ebb__slots_misuse(ctx);
}

void ebb_stats_reset_peak(ebb_context *ctx)
{
    if (is_open(ctx)) ebb__account_reset_peak(ctx->account);
}

void ebb_trim(ebb_context *ctx)
{
    if (is_open(ctx)) ebb__memory_trim(ctx);
}

bool ebb_error_budget(ebb_budget_report *out)
{
    if (ebb_error_status() != EBB_E_BUDGET) return false;
    const ebb_budget_report *report = ebb__refusal_pending();
    if (out) *out = report ? *report : (ebb_budget_report){0};
    return true;
}

void *ebb_alloc(ebb_context *ctx, size_t bytes, ebb_kind kind)
{
    if (!ctx || bytes == 0 || (unsigned)kind > EBB_KIND_BOOKKEEPING) {
        ebb__fail(EBB_E_MISUSE, "ebb_alloc: ctx is NULL, bytes is 0 or the kind is unknown");
        return NULL;
    }
    if (ebb__context_usable(ctx) != EBB_OK) return NULL;
    void *p = ebb__owned_alloc(ctx, bytes, kind);
    (void)ebb__call_end(ebb__error_op(), ctx, p ? EBB_OK : ebb_error_status());
    return p;
}

void ebb_free(ebb_context *ctx, void *p, size_t bytes, ebb_kind kind)
{
    if (is_open(ctx)) ebb__owned_free(ctx, p, bytes, kind);
}
