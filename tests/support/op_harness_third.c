/* op_harness_third.c - the gradient of the gradient of the gradient against central differences of
 * the second, along one direction: the first sample that has values, in f64.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include <ebb/grad.h>

#include <math.h>
#include <string.h>

enum { ORDERS = 3 };

typedef struct derivative {
    double value; /* of the weighted gradient before the last differentiation */
    double size;  /* sum of absolute terms */
    double along; /* its derivative along the direction */
    bool is_zero; /* constant before the third order */
} derivative;

static ebb_status random_tensor(ebb_tensor **out, ebb_tensor *like, uint64_t seed)
{
    harness_value v;
    ebb_shape s = ebb_shape_get(like);
    if (!harness_value_make(&v, ebb_dtype_of(like), &s)) return ebb_fail(EBB_E_NOMEM, "test");
    harness_value_random(&v, seed);
    ebb_status status = harness_tensor(out, harness_context(), &v, HARNESS_CONTIGUOUS);
    harness_value_free(&v);
    return status;
}

/* What depends on the leaves among `from` becomes roots with random seeds. */
static ebb_status roots_make(ebb_tensor **root, ebb_tensor **seed, int32_t *n,
                             ebb_tensor *const *from, int32_t n_from, uint64_t salt)
{
    *n = 0;
    for (int32_t i = 0; i < n_from; i++) {
        if (!from[i] || from[i] == EBB_NONE || !ebb_requires_grad(from[i])) continue;
        root[*n] = from[i];
        EBB_TRY(random_tensor(&seed[(*n)++], from[i], salt + (uint64_t)i));
    }
    return EBB_OK;
}

static ebb_status weighted_sum(derivative *d, ebb_tensor *const *root, ebb_tensor *const *seed,
                               int32_t n)
{
    d->value = d->size = 0;
    for (int32_t i = 0; i < n; i++) {
        harness_value a, b;
        EBB_TRY(harness_read(&a, root[i]));
        EBB_TRY(harness_read(&b, seed[i]));
        for (int64_t k = 0; k < a.n; k++) {
            d->value += a.x[k] * b.x[k];
            d->size += fabs(a.x[k] * b.x[k]);
        }
        harness_value_free(&a);
        harness_value_free(&b);
    }
    return EBB_OK;
}

/* At inputs + shift * direction. */
static ebb_status evaluate(derivative *d, const harness_case *c, double shift, bool third)
{
    EBB_SCOPE(scope);
    ebb_tensor *in[EBB__MAX_IN], *out[HARNESS_MAX_RESULTS] = {0}, *leaf[EBB__MAX_IN];
    ebb_tensor *root[HARNESS_MAX_RESULTS], *seed[HARNESS_MAX_RESULTS], *g[EBB__MAX_IN];
    double *direction[EBB__MAX_IN];
    harness_value moved[EBB__MAX_IN] = {{0}}, unit[EBB__MAX_IN] = {{0}};
    ebb_status status = EBB_OK;
    int32_t n_leaves = 0, n_roots = 0;
    for (int32_t i = 0; i < c->n_in && status == EBB_OK; i++) {
        harness_value_copy(&moved[i], &c->in[i]);
        harness_value_copy(&unit[i], &c->in[i]);
        if (c->wants[i] && !c->in[i].absent) {
            harness_value_random(&unit[i], c->seed + 500 + (uint64_t)i);
            for (int64_t k = 0; k < moved[i].n; k++) moved[i].x[k] += shift * unit[i].x[k];
        }
        status = harness_tensor(&in[i], harness_context(), &moved[i], HARNESS_CONTIGUOUS);
        if (status == EBB_OK && c->wants[i] && !c->in[i].absent) {
            status = ebb_set_requires_grad(in[i], true);
            direction[n_leaves] = unit[i].x;
            leaf[n_leaves++] = in[i];
        }
    }
    if (status == EBB_OK) status = harness_apply(out, c, in);
    for (int order = 1; order <= ORDERS && status == EBB_OK; order++) {
        status = order == 1 ? roots_make(root, seed, &n_roots, out, c->n_out, c->seed + 600)
                            : roots_make(root, seed, &n_roots, g, n_leaves,
                                         c->seed + 600 + 50 * (uint64_t)order);
        d->is_zero = n_roots == 0;
        if (status != EBB_OK || n_roots == 0) break;
        if (order == ORDERS) status = weighted_sum(d, root, seed, n_roots);
        if (order == ORDERS && !third) break;
        ebb_grad_options o = {.create_graph = order < ORDERS, .allow_unused = true};
        if (status == EBB_OK) status = ebb_grad(g, root, seed, n_roots, leaf, n_leaves, &o);
    }
    d->along = 0;
    for (int32_t l = 0; l < n_leaves && third && !d->is_zero && status == EBB_OK; l++) {
        harness_value v;
        if (g[l] == EBB_NONE) continue;
        status = harness_read(&v, g[l]);
        for (int64_t k = 0; k < v.n && status == EBB_OK; k++)
            d->along += v.x[k] * direction[l][k];
        if (status == EBB_OK) harness_value_free(&v);
    }
    for (int32_t i = 0; i < c->n_in; i++) {
        harness_value_free(&moved[i]);
        harness_value_free(&unit[i]);
    }
    return status;
}

static bool is_first_with_values(const harness_case *c)
{
    for (int32_t s = 0; s < c->op->n_samples; s++) {
        harness_case other;
        bool has = false;
        if (harness_case_make(&other, c->op, &c->op->samples[s], EBB_F64) == NULL)
            for (int32_t i = 0; i < other.n_in; i++)
                has |= other.wants[i] && other.in[i].n > 0 && !other.has_f32;
        harness_case_free(&other);
        if (has) return c->sample == &c->op->samples[s];
    }
    return false;
}

static bool is_finite_case(const harness_case *c)
{
    harness_results out;
    if (harness_run(&out, NULL, c, NULL) != EBB_OK) return false;
    bool finite = true;
    for (int32_t k = 0; k < out.n; k++)
        for (int64_t i = 0; !out.value[k].absent && i < out.value[k].n; i++)
            finite &= isfinite(out.value[k].x[i]) != 0;
    harness_results_free(&out);
    return finite;
}

const char *harness_check_third(const harness_case *c)
{
    const double step = 2e-4;
    derivative here, at[4];
    if (!is_first_with_values(c) || !harness_differentiable(c) || !is_finite_case(c))
        return HARNESS_SKIP;
    if (evaluate(&here, c, 0, true) != EBB_OK)
        return verdict("third order: %s", ebb_error_message());
    if (here.is_zero) return NULL;
    for (int s = 0; s < 4; s++)
        if (evaluate(&at[s], c, (s % 2 ? -step : step) * (s / 2 + 1), false) != EBB_OK)
            return verdict("second order at a shifted point: %s", ebb_error_message());
    double once = (at[0].value - at[1].value) / (2 * step);
    double numeric = (4 * once - (at[2].value - at[3].value) / (4 * step)) / 3;
    double allowed = 2e-6 * fmax(fabs(numeric), here.size) + 1e-11 / step * here.size + 1e-9;
    if (fabs(here.along - numeric) <= allowed) return NULL;
    return verdict(
        "third order: the derivative is %.12g, central differences give %.12g (off by "
        "%.2g, %.2g allowed)",
        here.along, numeric, fabs(here.along - numeric), allowed);
}
