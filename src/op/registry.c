/* registry.c - the table of operations of a root context and the kernels that override them.
 *
 * Invariants: table[i]->id == i; names are distinct; an override names an operation of the
 * table.
 * SPDX-License-Identifier: MIT */
#include "op/widen.h"

#include "tensor/owned.h"

#include <string.h>

enum { MAX_BACKENDS = 4 };

struct ebb__registry {
    const ebb_op *const *table;
    int32_t n;
    ebb__run_fn run;
    ebb__over_fn over;
    int32_t n_backends;
    struct {
        const ebb__backend *backend;
        void *state;
    } backend[MAX_BACKENDS];
    const ebb__override **override; /* per operation: the last backend's, or NULL */
    uint8_t *owner;                 /* which backend that is */
};

static size_t registry_bytes(int32_t n)
{
    return sizeof(ebb__registry) + (size_t)n * (sizeof(ebb__override *) + sizeof(uint8_t));
}

static ebb_status descriptor_check(const ebb_op *op, int32_t id)
{
    if (!op || op->id != id || !op->name || !op->doc)
        return ebb__fail(EBB_E_INTERNAL, "operation %d has no sound descriptor", (int)id);
    bool runs =
        op->compose || (op->flags & EBB_OP_VIEW ? op->view != NULL : op->shape && op->forward);
    if (!runs || op->n_in > EBB__MAX_IN || op->n_out > EBB__MAX_OUT || op->n_aux > EBB__MAX_AUX)
        return ebb__fail(EBB_E_INTERNAL, "the descriptor of %s is not complete", op->name);
    return EBB_OK;
}

ebb_status ebb__registry_create(ebb_context *root, const ebb_op *const *table, int32_t n)
{
    for (int32_t i = 0; i < n; i++) EBB_TRY(descriptor_check(table[i], i));
    size_t bytes = registry_bytes(n);
    ebb__registry *r = ebb__owned_alloc(root, bytes, EBB_KIND_BOOKKEEPING);
    if (!r) return ebb_error_status();
    r->table = table;
    r->n = n;
    r->override = (const ebb__override **)(r + 1);
    r->owner = (uint8_t *)(r->override + n);
    root->registry = r;
    return EBB_OK;
}

ebb_status ebb__registry_add(ebb_context *root, const ebb__backend *backend)
{
    ebb__registry *r = root->registry;
    if (r->n_backends == MAX_BACKENDS)
        return ebb__fail(EBB_E_INTERNAL, "more than %d backends", MAX_BACKENDS);
    for (const ebb__override *o = backend->overrides; o->name; o++)
        if (!ebb__registry_find(r, o->name))
            return ebb__fail(EBB_E_INTERNAL, "%s overrides %s, which is no operation",
                             backend->name, o->name);
    int32_t b = r->n_backends;
    EBB_TRY(backend->create(&r->backend[b].state, root));
    r->backend[b].backend = backend;
    r->n_backends++;
    for (const ebb__override *o = backend->overrides; o->name; o++) {
        int32_t id = ebb__registry_find(r, o->name)->id;
        r->override[id] = o;
        r->owner[id] = (uint8_t)b;
    }
    return EBB_OK;
}

void ebb__registry_destroy(ebb_context *root)
{
    ebb__registry *r = root->registry;
    if (!r) return;
    for (int32_t i = r->n_backends; i-- > 0;)
        r->backend[i].backend->destroy(r->backend[i].state);
    ebb__owned_free(root, r, registry_bytes(r->n), EBB_KIND_BOOKKEEPING);
    root->registry = NULL;
}

const ebb_op *ebb__registry_find(const ebb__registry *r, const char *name)
{
    for (int32_t i = 0; i < r->n; i++)
        if (strcmp(r->table[i]->name, name) == 0) return r->table[i];
    return NULL;
}

const ebb_op *ebb__registry_at(const ebb__registry *r, int32_t id)
{
    return id >= 0 && id < r->n ? r->table[id] : NULL;
}

int32_t ebb__registry_count(const ebb__registry *r)
{
    return r->n;
}

static const ebb__override *plan_native(const ebb__registry *r, ebb__call *c, void **backend)
{
    int32_t id = c->op->id;
    if (id < 0 || id >= r->n || !r->override[id]) return NULL;
    void *state = r->backend[r->owner[id]].state;
    if (!r->override[id]->plan(c, state)) return NULL;
    *backend = state;
    return r->override[id];
}

static ebb_status half_forward(const ebb__call *c, void *registry)
{
    return ebb__half_forward(c, &(ebb__half_kernel){registry, plan_native});
}

const ebb__override *ebb__registry_plan(const ebb__registry *r, ebb__call *c, void **backend)
{
    static const ebb__override half = {.name = "f32", .forward = half_forward};
    if (!ebb__half_wanted(c)) return plan_native(r, c, backend);
    ebb__half_plan(c, &(ebb__half_kernel){r, plan_native});
    *backend = (void *)(uintptr_t)r;
    return &half;
}

void ebb__registry_set_run(ebb_context *root, ebb__run_fn run, ebb__over_fn over)
{
    root->registry->run = run;
    root->registry->over = over;
}

bool ebb__op_goes_over(ebb_context *ctx, const ebb_op *op, ebb_tensor *const *in)
{
    return ctx->registry->over(op, in);
}

ebb_status ebb__op_run(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                       ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    return ctx->registry->run(ctx, op, attr, n_in, in, n_out, out);
}

const ebb_op *ebb__op_find(const ebb_context *ctx, const char *name)
{
    return ebb__registry_find(ctx->registry, name);
}
