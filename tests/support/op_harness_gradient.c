/* op_harness_gradient.c - gradients against central differences in f64, first and second order.
 *
 * With random cotangents, never ones: the gradient of sum(softmax(x)) is 0, so a loss that sums
 * lets a zero or a sign-flipped softmax rule pass (measured: error 3.8e-11 for all three; with
 * a random cotangent 2.5e-11, 1.4e-1 and 2.8e-1).
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_TRIALS = 2, MAX_COORDINATES = EBB__MAX_IN + EBB__MAX_OUT };

/* Where the function under test is evaluated: inputs, then seeds. */
typedef struct point {
    const harness_case *c;
    harness_value value[MAX_COORDINATES];
    const harness_value *weight; /* second order: of each gradient */
    double size;                 /* sum of the absolute terms of the last evaluation */
    const char *fault;
} point;
typedef double (*objective)(point *p);

static void point_free(point *p)
{
    for (int32_t i = 0; i < MAX_COORDINATES; i++) harness_value_free(&p->value[i]);
}

static bool point_make(point *p, const harness_case *c, const harness_results *seed)
{
    memset(p, 0, sizeof *p);
    p->c = c;
    bool good = true;
    for (int32_t i = 0; i < EBB__MAX_IN; i++)
        good &= harness_value_copy(&p->value[i],
                                   i < c->n_in ? &c->in[i] : &(harness_value){.absent = true});
    for (int32_t k = 0; k < c->n_out; k++)
        good &= harness_value_copy(&p->value[EBB__MAX_IN + k], &seed->value[k]);
    return good;
}

static double inner(double *size, const harness_value *a, const harness_value *b)
{
    long double sum = 0;
    for (int64_t k = 0; k < a->n; k++) {
        sum += (long double)a->x[k] * b->x[k];
        *size += fabs(a->x[k] * b->x[k]);
    }
    return (double)sum;
}

/* sum over float outputs k of <seed_k, out_k> */
static double loss(point *p)
{
    harness_results out;
    if (harness_run(&out, NULL, p->c, &(harness_options){.in = p->value}) != EBB_OK) {
        p->fault = verdict("forward at a shifted point: %s", ebb_error_message());
        return NAN;
    }
    double sum = 0;
    p->size = 0;
    for (int32_t k = 0; k < p->c->n_out; k++)
        if (ebb__dtype_is_float(out.value[k].dtype))
            sum += inner(&p->size, &out.value[k], &p->value[EBB__MAX_IN + k]);
    harness_results_free(&out);
    return sum;
}

/* sum over wanted inputs i of <weight_i, gradient_i> */
static double weighted_gradient(point *p)
{
    harness_results grads;
    harness_options o = {.in = p->value, .seed = p->value + EBB__MAX_IN};
    if (harness_run(NULL, &grads, p->c, &o) != EBB_OK) {
        p->fault = verdict("gradient at a shifted point: %s", ebb_error_message());
        return NAN;
    }
    double sum = 0;
    p->size = 0;
    for (int32_t i = 0; i < grads.n; i++)
        if (!grads.value[i].absent) sum += inner(&p->size, &grads.value[i], &p->weight[i]);
    harness_results_free(&grads);
    return sum;
}

/* (f(p + step u) - f(p - step u)) / (2 step), u along one coordinate. */
static double central(point *p, objective f, int32_t at, const harness_value *u, double step)
{
    harness_value *v = &p->value[at], base;
    if (!harness_value_copy(&base, v)) return NAN;
    double f_at[2];
    for (int s = 0; s < 2; s++) {
        for (int64_t k = 0; k < v->n; k++) v->x[k] = base.x[k] + (s ? -step : step) * u->x[k];
        harness_value_round(v);
        f_at[s] = f(p);
    }
    memcpy(v->x, base.x, (size_t)v->n * sizeof *v->x);
    harness_value_free(&base);
    return (f_at[0] - f_at[1]) / (2 * step);
}

typedef struct step_size {
    double step, tolerance, noise; /* noise: relative error of one evaluation, over the step */
} step_size;
/* Error of the extrapolated difference: some step^4 = 1e-14, rounding 1e-16 / step = 1e-13. */
static const step_size fine = {3e-4, 1e-7, 2e-11}, coarse = {1.0 / 64, 5e-3, 1e-5};

/* Of many values some lie so close that a step would let maxima change hands. */
static step_size smaller_step(const step_size *s, const harness_case *c)
{
    int64_t n = 1;
    step_size r = *s;
    for (int32_t i = 0; i < c->n_in; i++) n = c->in[i].n > n ? c->in[i].n : n;
    r.step = fmin(s->step, 0.2 / (double)n);
    r.noise *= s->step / r.step;
    return r;
}

/* <gradient, u> against the difference of f, for random u. */
static const char *compare_along(point *p, objective f, int32_t at,
                                 const harness_value *gradient, const step_size *s,
                                 const char *what, uint64_t salt)
{
    const char *fault = NULL;
    const step_size used = s == &fine ? smaller_step(s, p->c) : *s;
    for (uint64_t trial = 0; !fault && trial < N_TRIALS; trial++) {
        harness_value u;
        double size = 0;
        if (gradient->n != p->value[at].n)
            return verdict("%s: the gradient's shape differs", what);
        if (!harness_value_make(&u, EBB_F64, &p->value[at].shape)) return verdict("no memory");
        harness_value_random(&u, p->c->seed + salt + 7919 * trial);
        double analytic = inner(&size, gradient, &u);
        double once = central(p, f, at, &u, used.step);
        double twice = central(p, f, at, &u, 2 * used.step);
        double numeric = s == &fine ? (4 * once - twice) / 3 : once;
        double allowed = used.tolerance * fmax(size, fabs(numeric)) + used.noise * p->size;
        harness_value_free(&u);
        if (p->fault) return p->fault;
        if (!(fabs(analytic - numeric) <= allowed))
            fault =
                verdict("%s: <gradient, u> is %.12g, central differences give %.12g (off by "
                        "%.2g, %.2g allowed)",
                        what, analytic, numeric, fabs(analytic - numeric), allowed);
    }
    return fault;
}

static bool finite_results(const harness_results *r)
{
    for (int32_t k = 0; k < r->n; k++)
        if (!r->value[k].absent && !numeric_all_finite(r->value[k].x, r->value[k].n))
            return false;
    return true;
}

static const step_size *step_for(const harness_case *c, const harness_results *out)
{
    bool f32 = c->has_f32;
    for (int32_t k = 0; k < c->n_out; k++) f32 |= out->value[k].dtype == EBB_F32;
    return f32 ? &coarse : &fine;
}

static bool has_float_path(const harness_case *c, const harness_results *out)
{
    bool in = false, result = false;
    for (int32_t i = 0; i < c->n_in; i++) in |= c->wants[i] && c->in[i].n > 0;
    for (int32_t k = 0; k < c->n_out; k++)
        result |= ebb__dtype_is_float(out->value[k].dtype) && out->value[k].n > 0;
    return in && result;
}

/* Also of operations without a rule: their derivative must be 0. Private ones may have none. */
static const char *first_order(point *p, const harness_results *out,
                               const harness_results *seed)
{
    const harness_case *c = p->c;
    bool differentiable = harness_differentiable(c);
    if (!differentiable && c->op->flags & EBB_OP_PRIVATE) return HARNESS_SKIP;
    harness_results grads;
    harness_options o = {.seed = seed->value};
    if (harness_run(NULL, &grads, c, &o) != EBB_OK)
        return verdict("gradient: %s", ebb_error_message());
    const char *fault = NULL;
    for (int32_t i = 0; !fault && i < c->n_in; i++) {
        char what[60];
        if (!c->wants[i]) continue;
        snprintf(what, sizeof what, differentiable ? "input %d" : "input %d, no rule", (int)i);
        fault = compare_along(p, loss, i, &grads.value[i], step_for(c, out), what,
                              31u * (uint64_t)i);
    }
    harness_results_free(&grads);
    return fault;
}

const char *harness_check_gradient(const harness_case *c)
{
    harness_results out, seed;
    point p;
    if (harness_run(&out, NULL, c, NULL) != EBB_OK)
        return verdict("forward: %s", ebb_error_message());
    const char *fault = HARNESS_SKIP;
    if (has_float_path(c, &out) && finite_results(&out)) {
        harness_seeds(&seed, c, &out, 17);
        fault = point_make(&p, c, &seed) ? first_order(&p, &out, &seed) : verdict("no memory");
        point_free(&p);
        harness_results_free(&seed);
    }
    harness_results_free(&out);
    return fault;
}

/* With create_graph another rule may have run; its gradient must be the same. */
static const char *same_first(const harness_case *c, const harness_options *o,
                              const harness_results *first)
{
    harness_results plain;
    if (first->n == 0) return NULL;
    if (harness_run(NULL, &plain, c, o) != EBB_OK) return verdict("%s", ebb_error_message());
    const char *fault = harness_compare("gradient with create_graph", first, &plain, 1e-11);
    harness_results_free(&plain);
    return fault;
}

static const char *second_order(point *p, const harness_results *seed, const harness_value *w)
{
    const harness_case *c = p->c;
    harness_results first, second;
    harness_options o = {.seed = seed->value};
    if (harness_run_second(&first, &second, c, &o, w) != EBB_OK)
        return verdict("gradient of the gradient: %s", ebb_error_message());
    p->weight = w;
    const char *fault = same_first(c, &o, &first);
    for (int32_t j = 0; !fault && j < second.n; j++) {
        char what[60];
        if (second.value[j].absent) continue;
        bool is_seed = j >= c->n_in;
        int32_t at = is_seed ? EBB__MAX_IN + j - c->n_in : j;
        snprintf(what, sizeof what, "second order, %s %d", is_seed ? "cotangent" : "input",
                 (int)(is_seed ? j - c->n_in : j));
        fault = compare_along(p, weighted_gradient, at, &second.value[j], &fine, what,
                              61u * (uint64_t)j);
    }
    harness_results_free(&first);
    harness_results_free(&second);
    return fault;
}

const char *harness_check_second(const harness_case *c)
{
    harness_results out, seed;
    harness_value w[EBB__MAX_IN] = {{0}};
    point p;
    if (!harness_differentiable(c)) return HARNESS_SKIP;
    if (harness_run(&out, NULL, c, NULL) != EBB_OK)
        return verdict("forward: %s", ebb_error_message());
    const char *fault = HARNESS_SKIP;
    if (has_float_path(c, &out) && finite_results(&out) && step_for(c, &out) == &fine) {
        harness_seeds(&seed, c, &out, 19);
        for (int32_t i = 0; i < c->n_in; i++)
            if (!c->in[i].absent && harness_value_make(&w[i], c->in[i].dtype, &c->in[i].shape))
                harness_value_random(&w[i], c->seed + 300 + (uint64_t)i);
        fault = point_make(&p, c, &seed) ? second_order(&p, &seed, w) : verdict("no memory");
        for (int32_t i = 0; i < c->n_in; i++) harness_value_free(&w[i]);
        point_free(&p);
        harness_results_free(&seed);
    }
    harness_results_free(&out);
    return fault;
}

/* The rule is linear in the cotangent: v(2 g - 3 h) = 2 v(g) - 3 v(h). */
const char *harness_check_linear(const harness_case *c)
{
    harness_results out, g, h, mix, grad[3] = {{0}};
    if (!harness_differentiable(c)) return HARNESS_SKIP;
    if (harness_run(&out, NULL, c, NULL) != EBB_OK)
        return verdict("forward: %s", ebb_error_message());
    harness_seeds(&g, c, &out, 23);
    harness_seeds(&h, c, &out, 29);
    harness_seeds(&mix, c, &out, 31);
    for (int32_t k = 0; k < c->n_out; k++)
        for (int64_t e = 0; e < mix.value[k].n; e++)
            mix.value[k].x[e] = 2 * g.value[k].x[e] - 3 * h.value[k].x[e];
    const harness_value *seeds[] = {g.value, h.value, mix.value};
    const char *fault = NULL;
    for (int s = 0; !fault && s < 3; s++)
        if (harness_run(NULL, &grad[s], c, &(harness_options){.seed = seeds[s]}) != EBB_OK)
            fault = verdict("gradient: %s", ebb_error_message());
    for (int32_t i = 0; !fault && i < c->n_in; i++)
        for (int64_t e = 0; !grad[0].value[i].absent && e < grad[0].value[i].n; e++)
            grad[0].value[i].x[e] = 2 * grad[0].value[i].x[e] - 3 * grad[1].value[i].x[e];
    bool coarse_case = step_for(c, &out) == &coarse;
    if (!fault)
        fault = harness_compare("linear in the cotangent", &grad[2], &grad[0],
                                coarse_case ? 1e-5 : 1e-11);
    for (int s = 0; s < 3; s++) harness_results_free(&grad[s]);
    harness_results_free(&g), harness_results_free(&h), harness_results_free(&mix);
    harness_results_free(&out);
    return fault;
}
