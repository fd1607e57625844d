/* op_harness_run.c - a case through the engine: forward, gradients, gradients of gradients.
 *
 * Every run makes its tensors anew inside one scope, with the random counter set back, so two
 * runs of one case see the same inputs and draw the same numbers.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include "autodiff/engine.h"
#include "base/context.h"

#include <stdlib.h>
#include <string.h>

static ebb_context *shared;

ebb_context *harness_context(void)
{
    if (!shared) {
        ebb_context_options options = {.n_threads = 2, .seed = 7};
        if (ebb_context_create(&shared, &options) != EBB_OK) return NULL;
    }
    return shared;
}

void harness_context_close(void)
{
    ebb_context_destroy(shared);
    shared = NULL;
}

typedef struct run {
    const harness_case *c;
    const harness_options *o;
    ebb_context *ctx;
    const harness_value *value;
    const bool *wants;
    ebb_tensor *in[EBB__MAX_IN], *out[EBB__MAX_OUT], *seed[EBB__MAX_OUT];
    ebb_tensor *root[EBB__MAX_OUT], *root_seed[EBB__MAX_OUT];
    ebb_tensor *leaf[EBB__MAX_IN + EBB__MAX_OUT], *got[EBB__MAX_IN + EBB__MAX_OUT];
    int32_t root_at[EBB__MAX_OUT], leaf_at[EBB__MAX_IN + EBB__MAX_OUT];
    int32_t n_roots, n_leaves;
} run;

/* ---- tensors of a given layout ----------------------------------------------------------- */
static bool equal_along(const harness_value *v, int64_t axis)
{
    int64_t inner = 1;
    for (int64_t d = axis + 1; d < v->shape.n_dims; d++) inner *= v->shape.dims[d];
    for (int64_t i = 0; i < v->n; i++)
        if (i / inner % v->shape.dims[axis] > 0 && v->x[i] != v->x[i - inner]) return false;
    return true;
}

/* Sets strides and offset; returns the number of elements the storage must have. */
static int64_t lay_out(ebb_view *view, int64_t *offset, const harness_value *v,
                       harness_layout layout)
{
    *view = (ebb_view){.dtype = v->dtype, .shape = v->shape};
    *offset = 0;
    ebb__view_contiguous(view);
    int64_t rank = v->shape.n_dims, step = 1;
    switch (layout) {
    case HARNESS_CONTIGUOUS:
        return v->n;
    case HARNESS_REVERSED:
        for (int64_t d = 0; d < rank; d++) view->strides[d] = step, step *= v->shape.dims[d];
        return v->n;
    case HARNESS_STEPPED:
        *offset = 2;
        for (int64_t d = 0; d < rank; d++) view->strides[d] *= 2;
        return 2 * v->n + 2;
    case HARNESS_REPEATED:
        for (int64_t d = rank - 1; d >= 0; d--) {
            bool repeated = v->shape.dims[d] > 1 && equal_along(v, d);
            view->strides[d] = repeated ? 0 : step;
            if (!repeated) step *= v->shape.dims[d];
        }
        return step;
    }
    return v->n;
}

ebb_status harness_tensor(ebb_tensor **out, ebb_context *ctx, const harness_value *v,
                          harness_layout layout)
{
    if (v->absent) {
        *out = EBB_NONE;
        return EBB_OK;
    }
    ebb_view view;
    ebb__value *value;
    ebb__storage *storage;
    int64_t offset, n = lay_out(&view, &offset, v, layout);
    size_t size = ebb__dtype_size(v->dtype), bytes = (size_t)n * size;
    EBB_TRY(ebb__value_create(&value, ctx, bytes, EBB_KIND_DATA));
    memset(value->data, 0xff, bytes);
    EBB_TRY(ebb__storage_create(&storage, value));
    ebb_view filled = view;
    filled.data = (char *)value->data + (size_t)offset * size;
    harness_store(&filled, v->x);
    return ebb__tensor_create(out, ctx, storage, &view, offset);
}

/* ---- forward ----------------------------------------------------------------------------- */
static ebb_status run_forward(run *r, const harness_case *c, const harness_options *o,
                              bool record)
{
    static const harness_options none;
    memset(r, 0, sizeof *r);
    r->c = c, r->o = o ? o : &none;
    r->ctx = r->o->ctx ? r->o->ctx : harness_context();
    if (!r->ctx) return ebb_error_status();
    r->value = r->o->in ? r->o->in : c->in;
    r->wants = r->o->wants ? r->o->wants : c->wants;
    for (int32_t i = 0; i < c->n_in; i++) {
        bool written = c->op->writes >> i & 1;
        EBB_TRY(harness_tensor(&r->in[i], r->ctx, &r->value[i],
                               written ? HARNESS_CONTIGUOUS : r->o->layout));
        if (!record || !r->wants[i] || r->value[i].absent) continue;
        EBB_TRY(ebb_set_requires_grad(r->in[i], true));
        r->leaf_at[r->n_leaves] = i;
        r->leaf[r->n_leaves++] = r->in[i];
    }
    atomic_store(&r->ctx->random_counter, 4096);
    return ebb__run(r->ctx, c->op, c->op->attr_bytes ? c->attr : NULL, c->n_in, r->in, c->n_out,
                    r->out);
}

ebb_status harness_apply(ebb_tensor **out, const harness_case *c, ebb_tensor *const *in)
{
    ebb_context *ctx = harness_context();
    atomic_store(&ctx->random_counter, 4096);
    return ebb__run(ctx, c->op, c->op->attr_bytes ? c->attr : NULL, c->n_in, in, c->n_out, out);
}

ebb_status harness_read(harness_value *v, ebb_tensor *t)
{
    if (!t || t == EBB_NONE) {
        *v = (harness_value){.absent = true};
        return t ? EBB_OK : ebb__fail(EBB_E_INTERNAL, "a result is NULL without a failure");
    }
    ebb_shape shape = ebb_shape_get(t);
    if (!harness_value_make(v, ebb_dtype_of(t), &shape)) return ebb_fail(EBB_E_NOMEM, "test");
    return ebb_read(v->x, (size_t)v->n * sizeof *v->x, EBB_F64, t);
}

static void drop_outputs(run *r)
{
    for (int32_t k = 0; k < r->c->n_out; k++) {
        ebb__value *v = ebb__slot_raw(r->out[k])->storage->value;
        if (ebb__value_can_drop(v) && ebb__value_drop(v) && r->o->n_dropped) ++*r->o->n_dropped;
    }
}

static ebb_status read_results(harness_results *out, run *r)
{
    memset(out, 0, sizeof *out);
    for (int32_t k = 0; k < r->c->n_out; k++)
        EBB_TRY(harness_read(&out->value[out->n++], r->out[k]));
    for (int32_t i = 0; i < r->c->n_in; i++)
        if (r->c->op->writes >> i & 1) EBB_TRY(harness_read(&out->value[out->n++], r->in[i]));
    return EBB_OK;
}

/* ---- gradients --------------------------------------------------------------------------- */
static ebb_status make_seeds(run *r, bool as_leaves)
{
    const harness_case *c = r->c;
    for (int32_t k = 0; k < c->n_out; k++) {
        if (!ebb_requires_grad(r->out[k])) continue;
        harness_value seed;
        ebb_shape shape = ebb_shape_get(r->out[k]);
        if (!harness_value_make(&seed, ebb_dtype_of(r->out[k]), &shape))
            return ebb_fail(EBB_E_NOMEM, "test");
        if (r->o->seed)
            memcpy(seed.x, r->o->seed[k].x, (size_t)seed.n * sizeof *seed.x);
        else
            harness_value_random(&seed, c->seed + 1000 + (uint64_t)k);
        ebb_status status = harness_tensor(&r->seed[k], r->ctx, &seed, HARNESS_CONTIGUOUS);
        harness_value_free(&seed);
        EBB_TRY(status);
        r->root_at[r->n_roots] = k;
        r->root[r->n_roots] = r->out[k];
        r->root_seed[r->n_roots++] = r->seed[k];
        if (!as_leaves) continue;
        EBB_TRY(ebb_set_requires_grad(r->seed[k], true));
        r->leaf_at[r->n_leaves] = c->n_in + k;
        r->leaf[r->n_leaves++] = r->seed[k];
    }
    return EBB_OK;
}

/* One entry per input (and per output, for seeds): what was not asked for is absent, what has
 * no path is zeros. */
static ebb_status read_gradients(harness_results *grads, const run *r, int32_t n)
{
    memset(grads, 0, sizeof *grads);
    grads->n = n;
    for (int32_t i = 0; i < n; i++) grads->value[i].absent = true;
    for (int32_t l = 0; l < r->n_leaves; l++) {
        harness_value *v = &grads->value[r->leaf_at[l]];
        if (r->got[l] && r->got[l] != EBB_NONE) {
            EBB_TRY(harness_read(v, r->got[l]));
        } else {
            ebb_shape shape = ebb_shape_get(r->leaf[l]);
            if (!harness_value_make(v, ebb_dtype_of(r->leaf[l]), &shape))
                return ebb_fail(EBB_E_NOMEM, "test");
        }
    }
    return EBB_OK;
}

static ebb_status inputs_unchanged(const run *r)
{
    for (int32_t i = 0; i < r->c->n_in; i++) {
        harness_value now;
        if (r->value[i].absent || r->c->op->writes >> i & 1) continue;
        EBB_TRY(harness_read(&now, r->in[i]));
        bool same = memcmp(now.x, r->value[i].x, (size_t)now.n * sizeof *now.x) == 0;
        harness_value_free(&now);
        if (!same) return ebb_fail(EBB_E_INTERNAL, "input %d has changed", (int)i);
    }
    return EBB_OK;
}

static ebb_status run_all(run *r, harness_results *out, harness_results *grads,
                          const harness_case *c, const harness_options *o)
{
    EBB_TRY(run_forward(r, c, o, grads != NULL));
    if (r->o->drop) drop_outputs(r);
    if (grads) {
        EBB_TRY(make_seeds(r, false));
        if (r->n_roots > 0 && r->n_leaves > 0)
            EBB_TRY(ebb_grad(r->got, r->root, r->root_seed, r->n_roots, r->leaf, r->n_leaves,
                             &(ebb_grad_options){.allow_unused = true}));
    }
    if (out) EBB_TRY(read_results(out, r));
    EBB_TRY(inputs_unchanged(r));
    return grads ? read_gradients(grads, r, c->n_in) : EBB_OK;
}

ebb_status harness_run(harness_results *out, harness_results *grads, const harness_case *c,
                       const harness_options *o)
{
    EBB_SCOPE(scope);
    run r;
    if (out) out->n = 0;
    if (grads) grads->n = 0;
    ebb_status status = run_all(&r, out, grads, c, o);
    if (status != EBB_OK && out) harness_results_free(out);
    if (status != EBB_OK && grads) harness_results_free(grads);
    return status;
}

static ebb_status run_second(run *r, harness_results *first, harness_results *second,
                             const harness_case *c, const harness_options *o,
                             const harness_value *w)
{
    EBB_TRY(run_forward(r, c, o, true));
    int32_t n_inputs = r->n_leaves;
    EBB_TRY(make_seeds(r, true));
    if (r->n_roots == 0 || n_inputs == 0) return EBB_OK;
    EBB_TRY(ebb_grad(r->got, r->root, r->root_seed, r->n_roots, r->leaf, n_inputs,
                     &(ebb_grad_options){.create_graph = true, .allow_unused = true}));
    int32_t n_leaves = r->n_leaves, n = 0;
    r->n_leaves = n_inputs;
    EBB_TRY(read_gradients(first, r, c->n_in));
    r->n_leaves = n_leaves;
    ebb_tensor *root[EBB__MAX_IN], *weight[EBB__MAX_IN];
    for (int32_t l = 0; l < n_inputs; l++) {
        if (r->got[l] == EBB_NONE || !ebb_requires_grad(r->got[l])) continue;
        EBB_TRY(harness_tensor(&weight[n], r->ctx, &w[r->leaf_at[l]], HARNESS_CONTIGUOUS));
        root[n++] = r->got[l];
    }
    memset(r->got, 0, sizeof r->got);
    if (n > 0)
        EBB_TRY(ebb_grad(r->got, root, weight, n, r->leaf, r->n_leaves,
                         &(ebb_grad_options){.allow_unused = true}));
    return read_gradients(second, r, c->n_in + c->n_out);
}

ebb_status harness_run_second(harness_results *first, harness_results *second,
                              const harness_case *c, const harness_options *o,
                              const harness_value *w)
{
    EBB_SCOPE(scope);
    run r;
    first->n = second->n = 0;
    ebb_status status = run_second(&r, first, second, c, o, w);
    if (status != EBB_OK) {
        harness_results_free(first);
        harness_results_free(second);
    }
    return status;
}

void harness_seeds(harness_results *seed, const harness_case *c, const harness_results *r,
                   uint64_t salt)
{
    memset(seed, 0, sizeof *seed);
    seed->n = c->n_out;
    for (int32_t k = 0; k < c->n_out; k++) {
        if (!harness_value_make(&seed->value[k], r->value[k].dtype, &r->value[k].shape)) return;
        harness_value_random(&seed->value[k], c->seed + salt + (uint64_t)k);
    }
}

/* By asking the engine: is any output tracked when the wanted inputs are leaves? */
bool harness_differentiable(const harness_case *c)
{
    EBB_SCOPE(scope);
    run r;
    if (run_forward(&r, c, NULL, true) != EBB_OK) return false;
    bool any = false;
    for (int32_t k = 0; k < c->n_out; k++) any |= ebb_requires_grad(r.out[k]);
    return any;
}
