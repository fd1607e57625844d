/* op_harness_in_place.c - the variant that takes the place of its first input against the plain
 * operation: values where nothing is recorded, whatever the layout, and gradients where it is.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include "autodiff/engine.h"

#include <ebb/ops.h>

#include <string.h>

static ebb_status run_in_place(const harness_case *c, ebb_tensor *const *in)
{
    return ebb__run_in_place(c->op, "in_place", c->op->attr_bytes ? c->attr : NULL, c->n_in,
                             in);
}

static ebb_status tensors_make(ebb_tensor **in, const harness_case *c, harness_layout layout)
{
    for (int32_t i = 0; i < c->n_in; i++)
        EBB_TRY(harness_tensor(&in[i], harness_context(), &c->in[i], layout));
    return EBB_OK;
}

/* What is refused changes nothing. */
static const char *refused(const harness_case *c, ebb_tensor *x, ebb_status status)
{
    if (status != EBB_E_SHAPE && status != EBB_E_DTYPE)
        return verdict("a result that does not fit: %s", ebb_error_message());
    ebb_error_clear();
    harness_results now = {.n = 1}, before = {.n = 1, .value = {c->in[0]}};
    if (harness_read(&now.value[0], x) != EBB_OK) return verdict("%s", ebb_error_message());
    const char *fault = harness_compare("refused", &now, &before, 0);
    harness_results_free(&now);
    return fault;
}

static const char *check_values(const harness_case *c, const harness_results *want, bool fits,
                                harness_layout layout)
{
    EBB_SCOPE(scope);
    ebb_tensor *in[EBB__MAX_IN];
    harness_results got = {.n = 1};
    if (tensors_make(in, c, layout) != EBB_OK) return verdict("%s", ebb_error_message());
    ebb_status status = run_in_place(c, in);
    if (!fits) return refused(c, in[0], status);
    if (status != EBB_OK || harness_read(&got.value[0], in[0]) != EBB_OK)
        return verdict("in place: %s", ebb_error_message());
    double tolerance = c->has_f32 ? 2e-5 : 1e-12;
    const char *fault = harness_compare("in place against plain", &got, want, tolerance);
    harness_results_free(&got);
    return fault;
}

/* The first input is a copy of its leaf. */
static ebb_status gradients(harness_results *out, const harness_case *c,
                            const harness_value *seed)
{
    EBB_SCOPE(scope);
    ebb_tensor *in[EBB__MAX_IN], *leaf[EBB__MAX_IN], *g[EBB__MAX_IN], *s;
    int32_t at[EBB__MAX_IN], n = 0;
    memset(out, 0, sizeof *out);
    out->n = c->n_in;
    for (int32_t i = 0; i < c->n_in; i++) out->value[i].absent = true;
    EBB_TRY(tensors_make(in, c, HARNESS_CONTIGUOUS));
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!c->wants[i] || c->in[i].absent) continue;
        EBB_TRY(ebb_set_requires_grad(in[i], true));
        at[n] = i;
        leaf[n++] = in[i];
    }
    in[0] = ebb_add_scalar(in[0], 0);
    if (!in[0]) return ebb_error_status();
    EBB_TRY(run_in_place(c, in));
    EBB_TRY(harness_tensor(&s, harness_context(), seed, HARNESS_CONTIGUOUS));
    if (ebb_requires_grad(in[0]))
        EBB_TRY(ebb_grad(g, &in[0], &s, 1, leaf, n, &(ebb_grad_options){.allow_unused = true}));
    else
        for (int32_t l = 0; l < n; l++) g[l] = EBB_NONE;
    for (int32_t l = 0; l < n; l++) {
        ebb_tensor *value = g[l] == EBB_NONE ? ebb_full_like(leaf[l], 0) : g[l];
        EBB_TRY(harness_read(&out->value[at[l]], value));
    }
    return EBB_OK;
}

static const char *check_gradients(const harness_case *c, const harness_results *out)
{
    harness_results seed = {0}, plain = {0}, got = {0};
    const char *fault = NULL;
    harness_seeds(&seed, c, out, 77);
    if (harness_run(NULL, &plain, c, &(harness_options){.seed = seed.value}) != EBB_OK ||
        gradients(&got, c, seed.value) != EBB_OK)
        fault = verdict("gradient in place: %s", ebb_error_message());
    if (!fault) fault = harness_compare("gradient in place against plain", &got, &plain, 1e-12);
    harness_results_free(&seed);
    harness_results_free(&plain);
    harness_results_free(&got);
    return fault;
}

const char *harness_check_in_place(const harness_case *c)
{
    harness_results out = {0};
    if (!ebb__op_in_place(c->op)) return HARNESS_SKIP;
    if (harness_run(&out, NULL, c, NULL) != EBB_OK) return verdict("%s", ebb_error_message());
    bool fits = out.value[0].dtype == c->in[0].dtype &&
                ebb__shape_equal(&out.value[0].shape, &c->in[0].shape);
    const char *fault = check_values(c, &out, fits, HARNESS_CONTIGUOUS);
    if (!fault) fault = check_values(c, &out, fits, HARNESS_REVERSED);
    if (!fault) fault = check_values(c, &out, fits, HARNESS_STEPPED);
    if (!fault && fits && c->wants[0] && c->dtype == EBB_F64 && !c->has_f32)
        fault = check_gradients(c, &out);
    harness_results_free(&out);
    return fault;
}
