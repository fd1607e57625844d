/* op_harness_checks.c - the checks that compare two runs of one case, and the list of all
 * kinds.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include "base/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double tolerance(const harness_case *c)
{
    return c->has_f32 || c->dtype == EBB_F32 ? 1e-5 : 1e-12;
}

static const char *engine_run(harness_results *out, harness_results *grads,
                              const harness_case *c, const harness_options *o)
{
    return harness_run(out, grads, c, o) == EBB_OK ? NULL : verdict("%s", ebb_error_message());
}

/* ---- 1: the written shape is the predicted one, guards stay, every element is written ---- */
static const char *direct_results(harness_results *r, const harness_case *c, unsigned char fill,
                                  bool recompute)
{
    harness_direct d;
    r->n = 0;
    const char *fault = harness_direct_run(&d, c, fill, 2, false, recompute);
    if (!fault) harness_direct_results(r, &d, true);
    harness_direct_end(&d);
    return fault;
}

/* The engine may have used a backend, and draws other numbers than the kernel did here. */
static const char *against_kernel(const harness_case *c, const harness_results *kernel)
{
    harness_results engine = {0};
    const char *fault = engine_run(&engine, NULL, c, NULL);
    for (int32_t k = 0; !fault && k < c->n_out; k++) {
        if (!ebb__shape_equal(&engine.value[k].shape, &kernel->value[k].shape) ||
            engine.value[k].dtype != kernel->value[k].dtype)
            fault = verdict("result %d of the engine has another shape or type", k);
        harness_results a = {.n = 1, .value = {engine.value[k]}};
        harness_results b = {.n = 1, .value = {kernel->value[k]}};
        if (!fault && !(c->op->flags & EBB_OP_RANDOM))
            fault = harness_compare("engine against kernel", &a, &b, tolerance(c) * 10);
    }
    harness_results_free(&engine);
    return fault;
}

const char *harness_check_shape(const harness_case *c)
{
    harness_results one = {0}, two = {0};
    const char *fault = direct_results(&one, c, 0xa5, false);
    if (!fault) fault = direct_results(&two, c, 0x3c, false);
    if (!fault)
        fault = harness_compare("with other garbage in outputs and scratch", &one, &two, 0);
    if (!fault) fault = against_kernel(c, &one);
    harness_results_free(&one), harness_results_free(&two);
    return fault;
}

/* ---- 5: what was dropped is made again, bit for bit -------------------------------------- */
static const char *kernel_again(const harness_case *c)
{
    harness_results one = {0}, two = {0};
    const char *fault = direct_results(&one, c, 0x11, false);
    if (!fault) fault = direct_results(&two, c, 0x22, true);
    int32_t n = one.n, n_results = c->n_out + c->op->n_aux;
    if (!fault) {
        one.n = two.n = n_results; /* what it writes in place stays as it was */
        fault = harness_compare("kernel run again", &two, &one, 0);
        one.n = two.n = n;
    }
    harness_results_free(&one), harness_results_free(&two);
    return fault == HARNESS_SKIP ? NULL : fault;
}

const char *harness_check_recompute(const harness_case *c)
{
    harness_results out = {0}, grads = {0}, again = {0}, grads_again = {0};
    if (c->op->flags & EBB_OP_NO_RECOMPUTE || c->n_out == 0) return HARNESS_SKIP;
    int32_t n_dropped = 0;
    const char *fault = kernel_again(c);
    if (!fault) fault = engine_run(&out, &grads, c, NULL);
    if (!fault)
        fault = engine_run(&again, &grads_again, c,
                           &(harness_options){.drop = true, .n_dropped = &n_dropped});
    if (!fault) fault = harness_compare("after a drop", &again, &out, 0);
    if (!fault) fault = harness_compare("gradient after a drop", &grads_again, &grads, 0);
    harness_results_free(&out), harness_results_free(&grads);
    harness_results_free(&again), harness_results_free(&grads_again);
    return fault;
}

/* ---- 6: layouts -------------------------------------------------------------------------- */
static const char *compare_layout(const harness_case *c, const harness_value *in,
                                  harness_layout layout, const char *what)
{
    harness_results out = {0}, grads = {0}, other = {0}, other_grads = {0};
    const char *fault = engine_run(&out, &grads, c, &(harness_options){.in = in});
    if (!fault)
        fault =
            engine_run(&other, &other_grads, c, &(harness_options){.in = in, .layout = layout});
    if (!fault) fault = harness_compare(what, &other, &out, tolerance(c));
    if (!fault) fault = harness_compare(what, &other_grads, &grads, tolerance(c) * 10);
    harness_results_free(&out), harness_results_free(&grads);
    harness_results_free(&other), harness_results_free(&other_grads);
    return fault;
}

/* Other values than the sample's may be no input at all: a singular matrix. */
static bool takes(const harness_case *c, const harness_value *in)
{
    harness_results out = {0}, grads = {0};
    ebb_status status = harness_run(&out, &grads, c, &(harness_options){.in = in});
    harness_results_free(&out), harness_results_free(&grads);
    return status != EBB_E_RANGE && status != EBB_E_SHAPE;
}

/* Equal elements along the last axis, stored once with stride 0. */
static const char *compare_repeated(const harness_case *c)
{
    harness_value in[EBB__MAX_IN] = {{0}};
    bool any = false;
    for (int32_t i = 0; i < c->n_in; i++) {
        if (!harness_value_copy(&in[i], &c->in[i])) return verdict("no memory");
        int64_t rank = in[i].shape.n_dims, last = rank ? in[i].shape.dims[rank - 1] : 1;
        in[i].diagonal = c->in[i].diagonal;
        if (in[i].diagonal != 0) continue; /* equal rows would be a singular matrix */
        for (int64_t e = 0; !in[i].absent && e < in[i].n; e++)
            in[i].x[e] = in[i].x[e - e % last];
        any |= !in[i].absent && last > 1;
    }
    const char *fault = NULL;
    if (any && takes(c, in))
        fault = compare_layout(c, in, HARNESS_REPEATED, "inputs with stride 0");
    for (int32_t i = 0; i < c->n_in; i++) harness_value_free(&in[i]);
    return fault;
}

static bool expand(harness_value *v, const ebb_shape *s)
{
    ebb_view from = {.data = v->x, .dtype = EBB_F64, .shape = v->shape};
    ebb__view_contiguous(&from);
    ebb__view_broadcast(&from, s);
    harness_value full;
    if (!harness_value_make(&full, v->dtype, s)) return false;
    harness_load(full.x, &from);
    harness_value_free(v);
    *v = full;
    return true;
}

/* A broadcast input gives what the same input repeated by hand gives. */
static const char *compare_expanded(const harness_case *c)
{
    harness_results out = {0}, full = {0};
    harness_value in[EBB__MAX_IN] = {{0}};
    const char *fault = engine_run(&out, NULL, c, NULL);
    for (int32_t i = 0; !fault && i < c->n_in; i++)
        if (!harness_value_copy(&in[i], &c->in[i]) ||
            (!in[i].absent && !expand(&in[i], &out.value[0].shape)))
            fault = verdict("no memory");
    if (!fault) fault = engine_run(&full, NULL, c, &(harness_options){.in = in});
    if (!fault) fault = harness_compare("inputs repeated by hand", &full, &out, 0);
    for (int32_t i = 0; i < c->n_in; i++) harness_value_free(&in[i]);
    harness_results_free(&out), harness_results_free(&full);
    return fault;
}

const char *harness_check_layout(const harness_case *c)
{
    if (c->n_in == 0) return HARNESS_SKIP;
    const char *fault = compare_layout(c, NULL, HARNESS_REVERSED, "inputs with axes reversed");
    if (!fault) fault = compare_layout(c, NULL, HARNESS_STEPPED, "inputs with gaps");
    if (!fault) fault = compare_repeated(c);
    if (!fault && c->op->flags & EBB_OP_BROADCAST) fault = compare_expanded(c);
    return fault;
}

/* ---- lengths: what an element becomes does not depend on where it stands ----------------- */
static const char *same_start(const char *what, const harness_results *part,
                              const harness_results *whole, int64_t n)
{
    for (int32_t k = 0; k < part->n; k++) {
        harness_value start = whole->value[k];
        start.shape = (ebb_shape){1, {n}}, start.n = n;
        harness_results a = {.n = 1, .value = {part->value[k]}}, b = {.n = 1, .value = {start}};
        const char *fault = harness_compare(what, &a, &b, 0);
        if (fault) return verdict("%s %lld: %s", what, (long long)n, fault);
    }
    return NULL;
}

static const char *compare_lengths(const harness_case *base, int64_t whole_length)
{
    static const int64_t lengths[] = {1, 2, 3, 5, 7, 8, 13, 16, 17, 33, 66, 1025};
    harness_case part = *base;
    harness_direct d;
    harness_results whole = {0}, some = {0};
    const char *fault = harness_direct_run(&d, base, 0x11, 2, false, false);
    if (!fault) harness_direct_results(&whole, &d, false);
    harness_direct_end(&d);
    for (size_t l = 0; !fault && l < sizeof lengths / sizeof *lengths; l++) {
        if (lengths[l] > whole_length) break;
        for (int32_t i = 0; i < part.n_in; i++)
            part.in[i].shape = (ebb_shape){1, {lengths[l]}}, part.in[i].n = lengths[l];
        fault = harness_direct_run(&d, &part, 0x22, 1, false, false);
        if (!fault) harness_direct_results(&some, &d, false);
        harness_direct_end(&d);
        if (!fault) fault = same_start("length", &some, &whole, lengths[l]);
        harness_results_free(&some);
    }
    harness_results_free(&whole);
    return fault;
}

/* Elementwise operations: vector loops, their tails and threads agree bit for bit. */
const char *harness_check_lengths(const harness_case *c)
{
    char text[EBB__MAX_IN][24];
    if (!(c->op->flags & EBB_OP_ALIAS_SAFE) || c->n_in == 0 || c->op->writes)
        return HARNESS_SKIP;
    const char *fault = NULL;
    for (int pass = 0; !fault && pass < 2; pass++) {
        int64_t n = pass ? 40003 : 67;
        ebb_sample sample = {.attr = c->sample->attr, .n_out = c->sample->n_out};
        for (int32_t i = 0; i < c->n_in; i++) {
            if (c->in[i].absent) return HARNESS_SKIP;
            const char *bound = c->sample->in[i] ? strchr(c->sample->in[i], '<') : NULL;
            snprintf(text[i], sizeof text[i], "%s:%lld%s", ebb_dtype_name(c->in[i].dtype),
                     (long long)n, bound ? bound : "");
            sample.in[i] = text[i];
        }
        harness_case base;
        fault = harness_case_make(&base, c->op, &sample, c->dtype);
        if (!fault) fault = compare_lengths(&base, n);
        harness_case_free(&base);
    }
    return fault;
}

/* ---- 8: backends against reference, f32 against f64 -------------------------------------- */
const char *harness_check_override(const harness_case *c)
{
    harness_direct d, reference;
    harness_results one = {0}, two = {0};
    memset(&reference, 0, sizeof reference);
    if (c->op->flags & EBB_OP_VIEW) return HARNESS_SKIP;
    const char *fault = harness_direct_run(&d, c, 0xa5, 2, true, false);
    if (!fault && !d.over) fault = HARNESS_SKIP;
    if (!fault) fault = harness_direct_run(&reference, c, 0x3c, 2, false, false);
    if (!fault) {
        harness_direct_results(&one, &d, true);
        harness_direct_results(&two, &reference, true);
        fault = harness_compare("backend against reference", &one, &two, 2e-5);
    }
    harness_direct_end(&d);
    harness_direct_end(&reference);
    harness_results_free(&one), harness_results_free(&two);
    return fault;
}

/* Inputs are of the order of 1, so what cancels leaves rounding errors of that order: results
 * below `floor` are held to the tolerance of a result of that size. */
static const char *compare_floored(const char *what, const harness_results *a,
                                   const harness_results *b, double tolerance, double floor)
{
    for (int32_t k = 0; floor > 0 && k < b->n && k < a->n; k++) {
        const harness_value *x = &a->value[k], *y = &b->value[k];
        for (int64_t i = 0; !y->absent && !x->absent && i < y->n && i < x->n; i++)
            if (fabs(x->x[i] - y->x[i]) <= tolerance * floor) x->x[i] = y->x[i];
    }
    return harness_compare(what, a, b, tolerance);
}

/* In the narrow dtype, against f64 on the same (representable) inputs. */
static const char *against_f64(const harness_case *narrow, double out_tolerance,
                               double grad_tolerance, double floor)
{
    harness_case wide;
    const char *fault = harness_case_make(&wide, narrow->op, narrow->sample, EBB_F64);
    for (int32_t i = 0; !fault && i < narrow->n_in; i++)
        if (!narrow->in[i].absent)
            memcpy(wide.in[i].x, narrow->in[i].x, (size_t)narrow->in[i].n * sizeof(double));
    harness_results out = {0}, grads = {0}, out_wide = {0}, grads_wide = {0};
    if (!fault) fault = engine_run(&out, &grads, narrow, NULL);
    if (!fault) fault = engine_run(&out_wide, &grads_wide, &wide, NULL);
    if (!fault && !(narrow->op->flags & EBB_OP_CREATE))
        fault = compare_floored("against f64", &out, &out_wide, out_tolerance, floor);
    if (!fault)
        fault = compare_floored("gradient, against f64", &grads, &grads_wide, grad_tolerance,
                                floor);
    harness_results_free(&out), harness_results_free(&grads);
    harness_results_free(&out_wide), harness_results_free(&grads_wide);
    harness_case_free(&wide);
    return fault;
}

/* f32, and 16-bit floats: results of these are rounded once, those of a formula and gradients
 * once per operation. */
const char *harness_check_precision(const harness_case *c)
{
    static const struct {
        ebb_dtype dtype;
        double out, grad;
    } half[] = {{EBB_F16, 1e-3, 6e-3}, {EBB_BF16, 8e-3, 5e-2}};
    if (c->dtype != EBB_F32) return HARNESS_SKIP;
    const char *fault = against_f64(c, 4e-6, 2e-5, 0);
    for (int k = 0; !fault && k < 2; k++) {
        harness_case narrow;
        fault = harness_case_make(&narrow, c->op, c->sample, half[k].dtype);
        if (!fault)
            fault = against_f64(&narrow, c->op->compose ? half[k].grad : half[k].out,
                                half[k].grad, 1);
        harness_case_free(&narrow);
    }
    return fault;
}

/* ---- 10: the same again, bit for bit, and nothing is left behind ------------------------- */
const char *harness_check_repeat(const harness_case *c)
{
    ebb_stats before, after;
    harness_results out = {0}, grads = {0}, again = {0}, grads_again = {0};
    const char *fault = engine_run(&out, &grads, c, NULL);
    ebb_stats_get(&before, harness_context());
    if (!fault) fault = engine_run(&again, &grads_again, c, NULL);
    ebb_stats_get(&after, harness_context());
    if (!fault) fault = harness_compare("second run", &again, &out, 0);
    if (!fault) fault = harness_compare("gradient, second run", &grads_again, &grads, 0);
    if (!fault && (after.live_nodes != 0 || after.n_handles != before.n_handles ||
                   after.used_bytes != before.used_bytes || after.n_misuse != before.n_misuse))
        fault = verdict("left behind: %lld nodes, %lld handles, %lld bytes, %lld misuses",
                        (long long)after.live_nodes,
                        (long long)(after.n_handles - before.n_handles),
                        (long long)after.used_bytes - (long long)before.used_bytes,
                        (long long)(after.n_misuse - before.n_misuse));
    harness_results_free(&out), harness_results_free(&grads);
    harness_results_free(&again), harness_results_free(&grads_again);
    return fault;
}

/* ---- the descriptor itself --------------------------------------------------------------- */
const char *harness_check_table(const ebb_op *op)
{
    if (!op->doc || strlen(op->doc) < 5) return verdict("%s: no sentence", op->name);
    if (op->n_samples < (op->flags & EBB_OP_PRIVATE ? 1 : 3))
        return verdict("%s: %d samples", op->name, op->n_samples);
    for (int32_t i = 0; i < op->n_in; i++)
        if (!op->arg[i]) return verdict("%s: input %d has no name", op->name, i);
    for (int32_t k = 0; op->n_out > 1 && k < op->n_out; k++)
        if (!op->result[k]) return verdict("%s: result %d has no name", op->name, k);
    uint32_t exist = 0;
    for (uint32_t i = 0; i < op->n_in; i++) exist |= EBB_NEED_IN(i);
    for (uint32_t k = 0; k < op->n_out; k++) exist |= EBB_NEED_OUT(k);
    for (uint32_t k = 0; k < op->n_aux; k++) exist |= EBB_NEED_AUX(k);
    for (int32_t i = 0; i < EBB__MAX_IN; i++)
        if (op->need[i] & ~exist) return verdict("%s: need[%d] names what is not", op->name, i);
    for (int32_t s = 0; s < op->n_samples; s++) {
        harness_case c;
        const char *fault = harness_case_make(&c, op, &op->samples[s], EBB_F64);
        harness_case_free(&c);
        if (fault) return verdict("%s, sample %d: %s", op->name, s, fault);
    }
    return NULL;
}

const harness_kind harness_kinds[] = {
    {"shape", harness_check_shape, false},         {"gradient", harness_check_gradient, true},
    {"linear", harness_check_linear, false},       {"need", harness_check_need, true},
    {"recompute", harness_check_recompute, false}, {"layout", harness_check_layout, false},
    {"lengths", harness_check_lengths, false},     {"failure", harness_check_failure, true},
    {"budget", harness_check_budget, true},        {"override", harness_check_override, false},
    {"precision", harness_check_precision, false}, {"second", harness_check_second, true},
    {"repeat", harness_check_repeat, false},       {"in_place", harness_check_in_place, false},
    {"third", harness_check_third, true},
};
const int32_t harness_n_kinds = (int32_t)(sizeof harness_kinds / sizeof harness_kinds[0]);
