/* derivatives.c - products with Hessians and Jacobians, and the whole ones: backwards put together.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NO_SITES
#define EBB_NO_SITES
#endif
#include "api/api.h"

#include "autodiff/commit.h"

#include <ebb/extend.h>
#include <ebb/ops.h>

#include <stdlib.h>

static ebb_status vector_check(const char *function, ebb_tensor *v, ebb_tensor *input,
                               int64_t i)
{
    ebb__slot *s = ebb__slot_of(v, function, "v");
    if (!s) return ebb_error_status();
    ebb_shape have = ebb_shape_get(v), want = ebb_shape_get(input);
    char th[EBB__SHAPE_TEXT], tw[EBB__SHAPE_TEXT];
    if (ebb_dtype_of(v) == ebb_dtype_of(input) && ebb__shape_equal(&have, &want)) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "vector %lld is %s %s, its input %s %s", (long long)i,
                     ebb_dtype_name(ebb_dtype_of(v)), ebb__shape_text(th, sizeof th, &have),
                     ebb_dtype_name(ebb_dtype_of(input)),
                     ebb__shape_text(tw, sizeof tw, &want));
}

static ebb_status hvp_run(ebb_tensor **hv_out, ebb_tensor *loss, ebb_tensor *const *inputs,
                          ebb_tensor *const *v, int64_t n, ebb_tensor **g)
{
    ebb__backward_args first = {.roots = &loss, .n_roots = 1, .inputs = inputs, .n_inputs = n};
    EBB_TRY(ebb__grad_run(g, &first, &(ebb_grad_options){.create_graph = true}));
    /* Gradients that do not depend on the inputs (a linear loss) have Hessian 0. */
    ebb_tensor **root = g + n, **seed = g + 2 * n;
    int64_t n_roots = 0;
    for (int64_t i = 0; i < n; i++) {
        EBB_TRY(vector_check("ebb_hvp", v[i], inputs[i], i));
        if (!ebb_requires_grad(g[i])) continue;
        root[n_roots] = g[i];
        seed[n_roots++] = v[i];
    }
    ebb__backward_args second = {
        .roots = root, .seeds = seed, .n_roots = n_roots, .inputs = inputs, .n_inputs = n};
    for (int64_t i = 0; i < n; i++) hv_out[i] = EBB_NONE;
    if (n_roots)
        EBB_TRY(ebb__grad_run(hv_out, &second,
                              &(ebb_grad_options){.keep_graph = true, .allow_unused = true}));
    for (int64_t i = 0; i < n; i++)
        if (hv_out[i] == EBB_NONE && !(hv_out[i] = ebb__zeros_like(ebb__slot_raw(inputs[i]))))
            return ebb_error_status();
    return EBB_OK;
}

ebb_status(ebb_hvp)(ebb_tensor **hv_out, ebb_tensor *loss, ebb_tensor *const *inputs,
                    ebb_tensor *const *v, int64_t n)
{
    const char *outer = ebb__error_op_set("hvp");
    for (int64_t i = 0; hv_out && i < n; i++) hv_out[i] = NULL;
    ebb_status status = ebb__list_check("inputs", inputs, n);
    if (status == EBB_OK) status = ebb__list_check("vectors", v, n);
    if (status == EBB_OK && !hv_out) status = ebb__null_argument("ebb_hvp", "hv_out");
    if (status == EBB_OK) status = ebb__scope_required();
    ebb_tensor **work = NULL;
    if (status == EBB_OK && !(work = calloc(3 * (size_t)n, sizeof *work)))
        status = ebb__fail(EBB_E_NOMEM, "memory for %lld gradients was refused", (long long)n);
    if (status == EBB_OK) {
        ebb_scope scope = ebb_scope_begin(0, NULL);
        status = hvp_run(hv_out, loss, inputs, v, n, work);
        for (int64_t i = 0; i < n; i++)
            hv_out[i] = status == EBB_OK ? ebb_escape(scope, hv_out[i]) : NULL;
        ebb_scope_end(scope);
    }
    free(work);
    return ebb__call_end(outer, ebb__context_among(&loss, 1), status);
}

/* ---- Jacobian times vector --------------------------------------------------------------- */

/* Cotangents as leaves: what comes back is linear in them, so their value does not matter. */
static ebb_status cotangents_make(ebb_tensor **u, ebb_tensor *const *roots, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const ebb__slot *s = ebb__slot_of(roots[i], "ebb_jvp", "root");
        if (!s) return ebb_error_status();
        u[i] = ebb__zeros_like(s);
        if (!u[i]) return ebb_error_status();
        EBB_TRY(ebb_set_requires_grad(u[i], true));
    }
    return EBB_OK;
}

/* work: 2 n_roots + 3 n_inputs places. */
static ebb_status jvp_run(ebb_tensor **jv_out, ebb_tensor *const *roots, int64_t n_roots,
                          ebb_tensor *const *inputs, ebb_tensor *const *v, int64_t n_inputs,
                          ebb_tensor **work)
{
    ebb_tensor **u = work, **g = u + n_roots, **root = g + n_inputs, **seed = root + n_inputs;
    for (int64_t i = 0; i < n_inputs; i++) EBB_TRY(vector_check("ebb_jvp", v[i], inputs[i], i));
    EBB_TRY(cotangents_make(u, roots, n_roots));
    ebb__backward_args first = {
        .roots = roots, .seeds = u, .n_roots = n_roots, .inputs = inputs, .n_inputs = n_inputs};
    ebb_grad_options graph = {.create_graph = true, .allow_unused = true};
    EBB_TRY(ebb__grad_run(g, &first, &graph));
    int64_t n = 0;
    for (int64_t i = 0; i < n_inputs; i++) {
        if (g[i] == EBB_NONE || !ebb_requires_grad(g[i])) continue;
        root[n] = g[i];
        seed[n++] = v[i];
    }
    for (int64_t k = 0; k < n_roots; k++) jv_out[k] = EBB_NONE;
    ebb__backward_args second = {
        .roots = root, .seeds = seed, .n_roots = n, .inputs = u, .n_inputs = n_roots};
    ebb_grad_options unused = {.allow_unused = true};
    if (n) EBB_TRY(ebb__grad_run(jv_out, &second, &unused));
    for (int64_t k = 0; k < n_roots; k++)
        if (jv_out[k] == EBB_NONE && !(jv_out[k] = ebb__zeros_like(ebb__slot_raw(roots[k]))))
            return ebb_error_status();
    return EBB_OK;
}

ebb_status(ebb_jvp)(ebb_tensor **jv_out, ebb_tensor *const *roots, int64_t n_roots,
                    ebb_tensor *const *inputs, ebb_tensor *const *v, int64_t n_inputs)
{
    const char *outer = ebb__error_op_set("jvp");
    for (int64_t k = 0; jv_out && k < n_roots; k++) jv_out[k] = NULL;
    ebb_status status = ebb__list_check("roots", roots, n_roots);
    if (status == EBB_OK) status = ebb__list_check("inputs", inputs, n_inputs);
    if (status == EBB_OK) status = ebb__list_check("vectors", v, n_inputs);
    if (status == EBB_OK && !jv_out) status = ebb__null_argument("ebb_jvp", "jv_out");
    if (status == EBB_OK) status = ebb__scope_required();
    ebb_tensor **work = NULL;
    size_t n = status == EBB_OK ? (size_t)n_roots + 3 * (size_t)n_inputs : 0;
    if (n && !(work = calloc(n, sizeof *work)))
        status = ebb__fail(EBB_E_NOMEM, "memory for %zu gradients was refused", n);
    if (status == EBB_OK) {
        ebb_scope scope = ebb_scope_begin(0, NULL);
        status = jvp_run(jv_out, roots, n_roots, inputs, v, n_inputs, work);
        for (int64_t k = 0; k < n_roots; k++)
            jv_out[k] = status == EBB_OK ? ebb_escape(scope, jv_out[k]) : NULL;
        ebb_scope_end(scope);
    }
    free(work);
    return ebb__call_end(outer, ebb__context_among(roots, n_roots), status);
}

/* ---- whole Jacobians --------------------------------------------------------------------- */

/* Element e is 1, the others 0. */
static ebb_tensor *unit_like(ebb_tensor *root, int64_t e)
{
    ebb_tensor *t = ebb__zeros_like(ebb__slot_raw(root));
    if (!t) return NULL;
    ebb_tensor *one = ebb_select(ebb_reshape(t, EBB_SHAPE(ebb_n_elems(root))), 0, e);
    return ebb_fill_(one, 1) == EBB_OK ? t : NULL;
}

/* The dimensions of y, then those of x. */
static ebb_status joint_shape(ebb_shape *out, ebb_tensor *y, ebb_tensor *x)
{
    ebb_shape a = ebb_shape_get(y), b = ebb_shape_get(x);
    if (a.n_dims + b.n_dims > EBB_MAX_DIMS)
        return ebb__fail(EBB_E_SHAPE,
                         "%lld dimensions of the root and %lld of an input, %d are possible",
                         (long long)a.n_dims, (long long)b.n_dims, EBB_MAX_DIMS);
    *out = a;
    for (int64_t d = 0; d < b.n_dims; d++) out->dims[out->n_dims++] = b.dims[d];
    return EBB_OK;
}

/* Rows of input i lie at rows[i * n_rows]. */
static ebb_status rows_make(ebb_tensor **rows, ebb_tensor *root, ebb_tensor *const *inputs,
                            int64_t n_inputs, ebb_tensor **row, bool create_graph)
{
    int64_t n_rows = ebb_n_elems(root);
    ebb_grad_options o = {
        .keep_graph = true, .create_graph = create_graph, .allow_unused = true};
    for (int64_t e = 0; e < n_rows; e++) {
        ebb_tensor *seed = unit_like(root, e);
        if (!seed) return ebb_error_status();
        ebb__backward_args a = {.roots = &root,
                                .seeds = &seed,
                                .n_roots = 1,
                                .inputs = inputs,
                                .n_inputs = n_inputs};
        EBB_TRY(ebb__grad_run(row, &a, &o));
        for (int64_t i = 0; i < n_inputs; i++) {
            if (row[i] == EBB_NONE) row[i] = ebb__zeros_like(ebb__slot_raw(inputs[i]));
            if (!row[i]) return ebb_error_status();
            rows[i * n_rows + e] = row[i];
        }
    }
    return EBB_OK;
}

static ebb_status jacobian_run(ebb_tensor **out, ebb_tensor *root, ebb_tensor *const *inputs,
                               int64_t n_inputs, bool create_graph)
{
    int64_t n_rows = ebb_n_elems(root), n;
    ebb_shape shape;
    for (int64_t i = 0; i < n_inputs; i++) {
        if (!ebb__slot_of(inputs[i], "ebb_jacobian", "input")) return ebb_error_status();
        EBB_TRY(joint_shape(&shape, root, inputs[i]));
    }
    if (n_rows > INT32_MAX || __builtin_mul_overflow(n_rows + 1, n_inputs, &n))
        return ebb__fail(EBB_E_RANGE, "%lld elements of the root are too many",
                         (long long)n_rows);
    ebb_tensor **rows = calloc((size_t)n, sizeof *rows);
    if (!rows) return ebb__fail(EBB_E_NOMEM, "memory for %lld rows was refused", (long long)n);
    ebb_status status =
        rows_make(rows, root, inputs, n_inputs, rows + n_rows * n_inputs, create_graph);
    for (int64_t i = 0; i < n_inputs && status == EBB_OK; i++) {
        status = joint_shape(&shape, root, inputs[i]);
        if (status == EBB_OK && n_rows > 0)
            out[i] = ebb_reshape(ebb_stack(rows + i * n_rows, n_rows, 0), shape);
        else if (status == EBB_OK)
            out[i] = ebb_zeros(ebb_context_of(root), ebb_dtype_of(root), shape);
        if (status == EBB_OK && !out[i]) status = ebb_error_status();
    }
    free(rows);
    return status;
}

static ebb_status root_check(ebb_tensor *root, const char *function)
{
    const ebb__slot *s = ebb__slot_of(root, function, "root");
    if (!s) return ebb_error_status();
    if (!s->node)
        return ebb__fail(EBB_E_GRAPH, "the root depends on nothing that wants a gradient");
    return ebb__scope_required();
}

static void results_escape(ebb_scope scope, ebb_tensor **out, int64_t n, ebb_status status)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = status == EBB_OK ? ebb_escape(scope, out[i]) : NULL;
}

ebb_status(ebb_jacobian)(ebb_tensor **jacobian_out, ebb_tensor *root, ebb_tensor *const *inputs,
                         int64_t n_inputs, const ebb_jacobian_options *options)
{
    static const ebb_jacobian_options none;
    const ebb_jacobian_options *o = options ? options : &none;
    const char *outer = ebb__error_op_set("jacobian");
    for (int64_t i = 0; jacobian_out && i < n_inputs; i++) jacobian_out[i] = NULL;
    ebb_status status = ebb__list_check("inputs", inputs, n_inputs);
    if (status == EBB_OK && !jacobian_out)
        status = ebb__null_argument("ebb_jacobian", "jacobian_out");
    if (status == EBB_OK)
        status = ebb__reserved_check("", o->reserved, sizeof o->reserved / sizeof *o->reserved);
    if (status == EBB_OK) status = root_check(root, "ebb_jacobian");
    if (status == EBB_OK) {
        ebb_scope scope =
            ebb_scope_begin(o->create_graph ? EBB_SCOPE_GRAD : EBB_SCOPE_NO_GRAD, NULL);
        status = jacobian_run(jacobian_out, root, inputs, n_inputs, o->create_graph);
        results_escape(scope, jacobian_out, n_inputs, status);
        ebb_scope_end(scope);
    }
    return ebb__call_end(outer, ebb__context_among(&root, 1), status);
}

static ebb_status hessian_run(ebb_tensor **out, ebb_tensor *loss, ebb_tensor *const *inputs,
                              int64_t n, ebb_tensor **g)
{
    ebb__backward_args first = {.roots = &loss, .n_roots = 1, .inputs = inputs, .n_inputs = n};
    ebb_grad_options graph = {.create_graph = true, .allow_unused = true};
    EBB_TRY(ebb__grad_run(g, &first, &graph));
    for (int64_t i = 0; i < n; i++) {
        if (g[i] != EBB_NONE && ebb_requires_grad(g[i])) {
            EBB_TRY(jacobian_run(out + i * n, g[i], inputs, n, false));
            continue;
        }
        for (int64_t j = 0; j < n; j++) {
            ebb_shape shape;
            EBB_TRY(joint_shape(&shape, inputs[i], inputs[j]));
            out[i * n + j] = ebb_zeros(ebb_context_of(loss), ebb_dtype_of(loss), shape);
            if (!out[i * n + j]) return ebb_error_status();
        }
    }
    return EBB_OK;
}

ebb_status(ebb_hessian)(ebb_tensor **hessian_out, ebb_tensor *loss, ebb_tensor *const *inputs,
                        int64_t n)
{
    const char *outer = ebb__error_op_set("hessian");
    bool counted = n >= 1 && n <= INT16_MAX;
    for (int64_t i = 0; hessian_out && counted && i < n * n; i++) hessian_out[i] = NULL;
    ebb_status status = ebb__list_check("inputs", inputs, n);
    if (status == EBB_OK && !counted)
        status =
            ebb__fail(EBB_E_RANGE, "%lld inputs, %d are the most", (long long)n, INT16_MAX);
    if (status == EBB_OK && !hessian_out)
        status = ebb__null_argument("ebb_hessian", "hessian_out");
    if (status == EBB_OK) status = root_check(loss, "ebb_hessian");
    if (status == EBB_OK && ebb_n_elems(loss) != 1)
        status = ebb__fail(EBB_E_SHAPE, "loss has %lld elements, one is needed",
                           (long long)ebb_n_elems(loss));
    ebb_tensor **g = NULL;
    if (status == EBB_OK && !(g = calloc((size_t)n, sizeof *g)))
        status = ebb__fail(EBB_E_NOMEM, "memory for %lld gradients was refused", (long long)n);
    if (status == EBB_OK) {
        ebb_scope scope = ebb_scope_begin(0, NULL);
        status = hessian_run(hessian_out, loss, inputs, n, g);
        results_escape(scope, hessian_out, n * n, status);
        ebb_scope_end(scope);
    }
    free(g);
    return ebb__call_end(outer, ebb__context_among(&loss, 1), status);
}
