/* gradcheck.c - every element of a Jacobian against central differences.
 *
 * Numbers live outside the tensors: each call of the function gets tensors made anew from them. Of
 * second order the function checked is the gradient J^T u, of the inputs and of the cotangent u.
 *
 * Where a difference is off, what rounding leaves uncertain is measured: the function is evaluated
 * rounding up and rounding down, and may be off by as much (Vignes, A stochastic arithmetic for
 * reliable scientific computation, 1993, has the idea).
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NO_SITES
#define EBB_NO_SITES
#endif
#include "api/api.h"

#include "base/philox.h"

#include <ebb/extend.h>
#include <ebb/grad.h>

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is varied, or a result, as numbers. */
typedef struct numbers {
    double *x; /* NULL: not varied, the caller's own tensor is passed */
    int64_t n;
    ebb_shape shape;
} numbers;

typedef struct check {
    ebb_context *ctx;
    ebb_function fn;
    void *user;
    ebb_tensor *const *inputs;
    int64_t n_inputs;
    ebb_gradcheck_options o;
    int order;
    numbers *var; /* n_inputs, then the cotangent at order 2 */
    int64_t n_vars;
    numbers *out; /* of the last evaluation; n_inputs at most */
    int64_t n_outs;
    numbers *noise; /* of the results, where it was measured; else NULL */
    ebb_tensor **tensor, **result, **work; /* of one evaluation */
    ebb_gradcheck_report report;
} check;

static double *doubles(int64_t n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (!x) ebb__fail(EBB_E_NOMEM, "memory for %lld numbers was refused", (long long)n);
    return x;
}

/* ---- one evaluation ---------------------------------------------------------------------- */

static ebb_status tensors_make(check *k, bool as_leaves)
{
    for (int64_t i = 0; i < k->n_vars; i++) {
        numbers *v = &k->var[i];
        if (!v->x) {
            k->tensor[i] = k->inputs[i];
            continue;
        }
        k->tensor[i] =
            ebb_tensor_copy(k->ctx, EBB_F64, v->shape, v->x, (size_t)v->n * sizeof *v->x);
        if (!k->tensor[i]) return ebb_error_status();
        if (as_leaves) EBB_TRY(ebb_set_requires_grad(k->tensor[i], true));
    }
    return EBB_OK;
}

static ebb_status call(ebb_tensor **out, check *k)
{
    ebb__fence before = ebb__scope_fence();
    ebb_scope scope = ebb_scope_begin(0, NULL); /* the fence closes what the function opens */
    ebb_tensor *y = scope.id ? k->fn(k->user, k->tensor, k->n_inputs) : NULL;
    y = y ? ebb_escape(scope, y) : NULL;
    ebb_scope_end(scope);
    ebb__scope_unfence(before);
    if (!y)
        return ebb_error_status() != EBB_OK
                   ? ebb_error_status()
                   : ebb__fail(EBB_E_MISUSE, "the function returned NULL without a failure");
    const ebb__slot *s = ebb__slot_of(y, "ebb_gradcheck", "the function's result");
    if (!s) return ebb_error_status();
    if (s->layout->dtype != EBB_F64)
        return ebb__fail(EBB_E_DTYPE, "the function's result is %s, f64 is needed",
                         ebb_dtype_name((ebb_dtype)s->layout->dtype));
    *out = y;
    return EBB_OK;
}

/* Order 2: the gradients of the inputs that are varied, as functions of those and of u. */
static ebb_status evaluate_gradient(check *k)
{
    ebb_tensor *y, *u = k->tensor[k->n_inputs], **leaf = k->work, **g = k->work + k->n_inputs;
    int64_t n = 0;
    EBB_TRY(call(&y, k));
    for (int64_t i = 0; i < k->n_inputs; i++)
        if (k->var[i].x) leaf[n++] = k->tensor[i];
    for (int64_t i = 0; i < n; i++) g[i] = EBB_NONE;
    ebb_grad_options graph = {.create_graph = true, .allow_unused = true};
    if (ebb_requires_grad(y)) EBB_TRY(ebb_grad(g, &y, &u, 1, leaf, n, &graph));
    for (int64_t i = 0; i < n; i++) k->result[i] = g[i];
    k->n_outs = n;
    return EBB_OK;
}

/* Results as tensors in k->result; EBB_NONE where one is identically zero. */
static ebb_status evaluate(check *k, bool as_leaves)
{
    EBB_TRY(tensors_make(k, as_leaves || k->order == 2));
    if (k->order == 2) return evaluate_gradient(k);
    k->n_outs = 1;
    return call(&k->result[0], k);
}

static ebb_status result_read(numbers *to, ebb_tensor *from)
{
    if (from == EBB_NONE) {
        if (to->x) memset(to->x, 0, (size_t)to->n * sizeof *to->x);
        return EBB_OK;
    }
    ebb_shape shape = ebb_shape_get(from);
    if (to->x && !ebb__shape_equal(&shape, &to->shape))
        return ebb__fail(EBB_E_RANGE, "two calls of the function give other shapes");
    to->shape = shape;
    to->n = ebb_n_elems(from);
    if (!to->x && !(to->x = doubles(to->n))) return ebb_error_status();
    return ebb_read(to->x, (size_t)to->n * sizeof *to->x, EBB_F64, from);
}

static ebb_status evaluate_numbers(check *k, numbers *out)
{
    ebb_scope scope = ebb_scope_begin(k->order == 2 ? EBB_SCOPE_GRAD : EBB_SCOPE_NO_GRAD, NULL);
    ebb_status status = scope.id ? evaluate(k, false) : ebb_error_status();
    for (int64_t i = 0; i < k->n_outs && status == EBB_OK; i++)
        status = result_read(&out[i], k->result[i]);
    ebb_scope_end(scope);
    return status;
}

/* ---- analytic: one backward per element of the results ------------------------------------- */

/* row[...]: the derivative of element e of result o in every number that is varied. */
static ebb_status analytic_row(check *k, int64_t o, int64_t e, double *row)
{
    numbers unit = {doubles(k->out[o].n), k->out[o].n, k->out[o].shape};
    if (!unit.x) return ebb_error_status();
    unit.x[e] = 1;
    ebb_tensor *seed =
        ebb_tensor_copy(k->ctx, EBB_F64, unit.shape, unit.x, (size_t)unit.n * sizeof *unit.x);
    free(unit.x);
    if (!seed) return ebb_error_status();
    ebb_tensor **leaf = k->work, **g = k->work + k->n_vars;
    int64_t n = 0;
    for (int64_t i = 0; i < k->n_vars; i++)
        if (k->var[i].x) leaf[n++] = k->tensor[i];
    ebb_grad_options o2 = {.keep_graph = true, .allow_unused = true};
    EBB_TRY(ebb_grad(g, &k->result[o], &seed, 1, leaf, n, &o2));
    n = 0;
    for (int64_t i = 0; i < k->n_vars; i++) {
        numbers to = {row, k->var[i].n, k->var[i].shape};
        if (!k->var[i].x) continue;
        EBB_TRY(result_read(&to, g[n++]));
        row += k->var[i].n;
    }
    return EBB_OK;
}

static ebb_status analytic(check *k, double *jacobian, int64_t n_columns)
{
    ebb_scope scope = ebb_scope_begin(EBB_SCOPE_GRAD, NULL);
    ebb_status status = scope.id ? evaluate(k, true) : ebb_error_status();
    for (int64_t o = 0; o < k->n_outs && status == EBB_OK; o++) {
        bool tracked = k->result[o] != EBB_NONE && ebb_requires_grad(k->result[o]);
        for (int64_t e = 0; e < k->out[o].n && status == EBB_OK; e++, jacobian += n_columns) {
            ebb_scope row = ebb_scope_begin(0, NULL);
            if (tracked) status = analytic_row(k, o, e, jacobian);
            ebb_scope_end(row);
        }
    }
    ebb_scope_end(scope);
    return status;
}

/* ---- numeric, and the comparison ----------------------------------------------------------- */

static void compare(check *k, int64_t input, int64_t element, const numbers *high,
                    const numbers *low, const double *column, int64_t stride)
{
    ebb_gradcheck_report *r = &k->report;
    for (int64_t o = 0; o < k->n_outs; o++) {
        for (int64_t e = 0; e < k->out[o].n; e++, column += stride) {
            double numeric = (high[o].x[e] - low[o].x[e]) / (2 * k->o.eps);
            double off = fabs(*column - numeric),
                   allowed = k->o.atol + k->o.rtol * fabs(numeric);
            if (k->noise) allowed += k->noise[o].x[e] / k->o.eps;
            double error = off / allowed;
            if (isnan(error)) error = isnan(*column) && isnan(numeric) ? 0 : INFINITY;
            if (isinf(numeric) && *column == numeric) error = 0;
            bool worse = r->n_compared++ == 0 || error > r->error;
            if (!worse) continue;
            r->order = k->order;
            r->input = input;
            r->element = element;
            r->output = o;
            r->output_element = e;
            r->analytic = *column;
            r->numeric = numeric;
            r->error = error;
        }
    }
}

static void numbers_free(numbers *list, int64_t n)
{
    for (int64_t i = 0; list && i < n; i++) free(list[i].x);
    free(list);
}

/* Room for the results of two evaluations. */
static ebb_status pair_make(const check *k, numbers **high, numbers **low)
{
    *high = calloc((size_t)k->n_inputs, sizeof **high);
    *low = calloc((size_t)k->n_inputs, sizeof **low);
    if (!*high || !*low) return ebb__fail(EBB_E_NOMEM, "memory for results was refused");
    for (int64_t o = 0; o < k->n_outs; o++) {
        (*high)[o] = (numbers){doubles(k->out[o].n), k->out[o].n, k->out[o].shape};
        (*low)[o] = (numbers){doubles(k->out[o].n), k->out[o].n, k->out[o].shape};
        if (!(*high)[o].x || !(*low)[o].x) return ebb_error_status();
    }
    return EBB_OK;
}

static ebb_status numeric(check *k, const double *jacobian, int64_t n_columns)
{
    numbers *high, *low;
    ebb_status status = pair_make(k, &high, &low);
    for (int64_t i = 0, column = 0; i < k->n_vars && status == EBB_OK; i++) {
        for (int64_t e = 0; k->var[i].x && e < k->var[i].n && status == EBB_OK; e++, column++) {
            double x = k->var[i].x[e];
            k->var[i].x[e] = x + k->o.eps;
            status = evaluate_numbers(k, high);
            k->var[i].x[e] = x - k->o.eps;
            if (status == EBB_OK) status = evaluate_numbers(k, low);
            k->var[i].x[e] = x;
            if (status == EBB_OK) compare(k, i, e, high, low, jacobian + column, n_columns);
        }
    }
    numbers_free(high, k->n_inputs);
    numbers_free(low, k->n_inputs);
    return status;
}

/* What rounding leaves uncertain in each result. */
static ebb_status noise_measure(check *k, numbers *noise, numbers *low)
{
#if defined FE_UPWARD && defined FE_DOWNWARD
    const int nearest = fegetround();
    fesetround(FE_UPWARD);
    ebb_status status = evaluate_numbers(k, noise);
    fesetround(FE_DOWNWARD);
    if (status == EBB_OK) status = evaluate_numbers(k, low);
    fesetround(nearest);
    if (status != EBB_OK) return status;
#endif
    for (int64_t o = 0; o < k->n_outs; o++) {
        for (int64_t e = 0; e < k->out[o].n; e++) {
            double spread = fabs(noise[o].x[e] - low[o].x[e]);
            noise[o].x[e] = isfinite(spread) ? spread : 0;
        }
    }
    return EBB_OK;
}

/* The comparison once more, with what rounding explains: what is off nonetheless is wrong, else the
 * worst of before is ill-conditioned. `before` is what other orders came to. */
static ebb_status rounding_weigh(check *k, const double *jacobian, int64_t n_columns,
                                 const ebb_gradcheck_report *before)
{
    const ebb_gradcheck_report first = k->report;
    numbers *noise, *low;
    ebb_status status = pair_make(k, &noise, &low);
    if (status == EBB_OK) status = noise_measure(k, noise, low);
    k->noise = noise;
    k->report = *before;
    if (status == EBB_OK) status = numeric(k, jacobian, n_columns);
    k->noise = NULL;
    if (status != EBB_OK || k->report.error <= 1) {
        k->report = first;
        k->report.is_ill_conditioned = status == EBB_OK;
        if (status == EBB_OK)
            k->report.uncertainty = noise[first.output].x[first.output_element] / k->o.eps;
    }
    numbers_free(noise, k->n_inputs);
    numbers_free(low, k->n_inputs);
    return status;
}

static ebb_status verdict_of(const check *k)
{
    const ebb_gradcheck_report *r = &k->report;
    if (r->error <= 1) return EBB_OK;
    char of[64], by[64];
    if (r->order == 2)
        snprintf(of, sizeof of, "the gradient of input %lld", (long long)r->output);
    if (r->input >= k->n_inputs)
        snprintf(by, sizeof by, "the cotangent");
    else
        snprintf(by, sizeof by, "input %lld", (long long)r->input);
    char rounding[100] = "";
    if (r->is_ill_conditioned)
        snprintf(
            rounding, sizeof rounding,
            ", which rounding makes uncertain by %.3g: ill-conditioned, not shown to be wrong",
            r->uncertainty);
    return ebb__fail(EBB_E_RANGE,
                     "element %lld of %s in element %lld of %s: the derivative is %.9g, "
                     "differences give %.9g%s",
                     (long long)r->output_element, r->order == 2 ? of : "the result",
                     (long long)r->element, by, r->analytic, r->numeric, rounding);
}

/* Are two evaluations equal: else differences say nothing. */
static ebb_status repeatable(check *k)
{
    numbers *again = calloc((size_t)k->n_inputs, sizeof *again);
    if (!again) return ebb__fail(EBB_E_NOMEM, "memory for results was refused");
    ebb_status status = evaluate_numbers(k, again);
    for (int64_t o = 0; o < k->n_outs && status == EBB_OK; o++)
        if (again[o].n != k->out[o].n ||
            (again[o].n &&
             memcmp(again[o].x, k->out[o].x, (size_t)again[o].n * sizeof *again[o].x) != 0))
            status = ebb__fail(EBB_E_RANGE, "two calls of the function with the same inputs "
                                            "give different results");
    numbers_free(again, k->n_inputs);
    return status;
}

static ebb_status order_check(check *k)
{
    int64_t n_rows = 0, n_columns = 0, n;
    memset(k->out, 0, (size_t)k->n_inputs * sizeof *k->out);
    EBB_TRY(evaluate_numbers(k, k->out));
    if (k->order == 1) EBB_TRY(repeatable(k));
    for (int64_t i = 0; i < k->n_vars; i++) n_columns += k->var[i].x ? k->var[i].n : 0;
    for (int64_t o = 0; o < k->n_outs; o++) n_rows += k->out[o].n;
    if (__builtin_mul_overflow(n_rows, n_columns, &n) || n > INT32_MAX)
        return ebb__fail(EBB_E_RANGE, "a Jacobian of %lld by %lld is too large to check",
                         (long long)n_rows, (long long)n_columns);
    double *jacobian = doubles(n);
    const ebb_gradcheck_report before = k->report;
    ebb_status status = jacobian ? analytic(k, jacobian, n_columns) : ebb_error_status();
    if (status == EBB_OK) status = numeric(k, jacobian, n_columns);
    if (status == EBB_OK && k->report.error > 1)
        status = rounding_weigh(k, jacobian, n_columns, &before);
    free(jacobian);
    return status == EBB_OK ? verdict_of(k) : status;
}

/* ---- entry ------------------------------------------------------------------------------- */

static ebb_status inputs_take(check *k)
{
    int64_t n_varied = 0;
    for (int64_t i = 0; i < k->n_inputs; i++) {
        if (!ebb__slot_of(k->inputs[i], "ebb_gradcheck", "input")) return ebb_error_status();
        ebb_dtype d = ebb_dtype_of(k->inputs[i]);
        if (!ebb__dtype_is_float(d)) continue;
        if (d != EBB_F64)
            return ebb__fail(EBB_E_DTYPE,
                             "input %lld is %s: differences need f64, other inputs are whole",
                             (long long)i, ebb_dtype_name(d));
        n_varied++;
        EBB_TRY(result_read(&k->var[i], k->inputs[i]));
        if (!k->ctx) k->ctx = ebb_context_of(k->inputs[i]);
    }
    if (n_varied) return EBB_OK;
    return ebb__fail(EBB_E_DTYPE, "none of the %lld inputs is f64", (long long)k->n_inputs);
}

static ebb_status cotangent_make(check *k)
{
    numbers *u = &k->var[k->n_inputs];
    *u = (numbers){doubles(k->out[0].n), k->out[0].n, k->out[0].shape};
    if (!u->x) return ebb_error_status();
    for (int64_t i = 0; i < u->n; i++) {
        uint32_t draw[4];
        ebb__philox_fill(draw, 1, 0x5eed, (uint64_t)i);
        u->x[i] = 2.0 * draw[0] / UINT32_MAX - 1;
    }
    k->n_vars = k->n_inputs + 1;
    return EBB_OK;
}

static ebb_status check_run(check *k)
{
    size_t n = (size_t)k->n_inputs + 1;
    k->var = calloc(n, sizeof *k->var);
    k->out = calloc(n, sizeof *k->out);
    k->tensor = calloc(4 * n, sizeof *k->tensor);
    if (!k->var || !k->out || !k->tensor)
        return ebb__fail(EBB_E_NOMEM, "memory for %zu inputs was refused", n - 1);
    k->result = k->tensor + n;
    k->work = k->result + n;
    k->n_vars = k->n_inputs;
    k->order = 1;
    EBB_TRY(inputs_take(k));
    EBB_TRY(order_check(k));
    if (!k->o.second_order) return EBB_OK;
    EBB_TRY(cotangent_make(k));
    for (int64_t i = 0; i < k->n_inputs; i++) free(k->out[i].x);
    k->order = 2;
    return order_check(k);
}

ebb_status(ebb_gradcheck)(ebb_gradcheck_report *report, ebb_function fn, void *user,
                          ebb_tensor *const *inputs, int64_t n_inputs,
                          const ebb_gradcheck_options *options)
{
    static const ebb_gradcheck_options none;
    const char *outer = ebb__error_op_set("gradcheck");
    check k = {.fn = fn, .user = user, .inputs = inputs, .n_inputs = n_inputs};
    k.o = options ? *options : none;
    ebb_status status = fn ? EBB_OK : ebb__null_argument("ebb_gradcheck", "fn");
    if (status == EBB_OK) status = ebb__list_check("inputs", inputs, n_inputs);
    if (status == EBB_OK)
        status = ebb__reserved_check("", k.o.reserved, sizeof none.reserved / sizeof(uint64_t));
    if (status == EBB_OK && !(k.o.eps >= 0 && k.o.atol >= 0 && k.o.rtol >= 0))
        status =
            ebb__fail(EBB_E_RANGE, "options: eps %g, atol %g, rtol %g must not be negative",
                      k.o.eps, k.o.atol, k.o.rtol);
    if (status == EBB_OK) status = ebb__scope_required();
    if (k.o.eps == 0) k.o.eps = 1e-6;
    if (k.o.atol == 0) k.o.atol = 1e-5;
    if (k.o.rtol == 0) k.o.rtol = 1e-3;
    if (status == EBB_OK) {
        status = check_run(&k);
        if (report && k.report.n_compared) *report = k.report;
    }
    numbers_free(k.var, k.n_inputs + 1);
    numbers_free(k.out, k.n_inputs + 1);
    free(k.tensor);
    return ebb__call_end(outer, ebb__context_among(inputs, inputs ? n_inputs : 0), status);
}
