/* engine.c - the engine's part of a context.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"
#include "autodiff/in_budget.h"
#include "autodiff/rerun.h"

#include <string.h>

static ebb_status need(const ebb_op **out, const ebb_context *ctx, const char *name)
{
    *out = ebb__registry_find(ctx->registry, name);
    return *out ? EBB_OK : ebb__fail(EBB_E_INTERNAL, "the engine needs an operation %s", name);
}

ebb_status ebb__engine_create(ebb_context *ctx)
{
    ebb__engine *e = ebb__pool_alloc(ctx->pool, sizeof *e);
    if (!e) return ebb_error_status();
    memset(e, 0, sizeof *e);
    ctx->engine = e;
    if (ctx->parent) e->dry = ctx->parent->engine->dry;
    EBB_TRY(need(&e->add, ctx, "add"));
    EBB_TRY(need(&e->accumulate, ctx, "accumulate"));
    EBB_TRY(need(&e->sum_to, ctx, "sum_to"));
    EBB_TRY(need(&e->clone, ctx, "clone"));
    EBB_TRY(need(&e->cast, ctx, "cast"));
    if (ctx->root == ctx) ebb__registry_set_run(ctx, ebb__run, ebb__goes_over);
    ebb__habit_begin(ctx);
    return EBB_OK;
}

void ebb__engine_destroy(ebb_context *ctx)
{
    if (ctx->engine && ctx->root == ctx) ebb__hooks_destroy(ctx);
    if (ctx->engine) {
        ctx->engine->dry = NULL;
        ebb__habit_end(ctx);
    }
    if (ctx->engine) ebb__pool_free(ctx->pool, ctx->engine, sizeof(ebb__engine));
    ctx->engine = NULL;
}

void ebb__engine_set_trace(ebb_context *ctx, void (*fn)(void *user, const ebb__op_event *e),
                           void *user)
{
    ctx->engine->trace = fn;
    ctx->engine->trace_user = user;
}

void ebb__trace_op(const ebb__apply *a)
{
    const ebb__call *c = &a->call;
    const ebb__engine *e = c->ctx->engine;
    enum { MOST = 64 };
    const ebb__value *in[MOST];
    int32_t n = 0;
    for (int32_t i = 0; i < c->n_in && n < MOST; i++)
        if (a->slot[i]) in[n++] = ebb__operand(a, i);
    ebb__op_event event = {.op = c->op,
                           .ctx = c->ctx,
                           .in = in,
                           .out = (const ebb__value *const *)a->made,
                           .n_in = n,
                           .n_out = c->n_out + c->n_aux,
                           .scratch_bytes = c->scratch_bytes,
                           .cost_ns = ebb__call_cost(c),
                           .rule = ebb__scope_is_rule()};
    e->trace(e->trace_user, &event);
}
