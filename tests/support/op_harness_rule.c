/* op_harness_rule.c - a backward rule run under a host of ours, to see what it reads.
 *
 * The host hands out values it holds itself, notes each read, and can poison any of them. So
 * `need` is checked from both sides: a read that is not declared is a fault, and so is a
 * declared value on which no sample's gradient depends.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include "base/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct rule_run {
    const harness_case *c;
    const harness_results *forward; /* outputs, then by-products */
    const harness_value *seed;
    int32_t wanted;
    uint32_t need, poison, reads;
    harness_value grad; /* of the wanted input, summed back to its shape */
    bool given;
    char fault[200];
} rule_run;

static uint32_t need_of(const ebb_op *op, int32_t i)
{
    return op->need[i < op->n_in ? i : op->n_in - 1];
}

static uint32_t bit_of_input(const ebb_op *op, int32_t j)
{
    bool rest = op->flags & EBB_OP_VARIADIC_IN && j >= op->n_in;
    return EBB_NEED_IN(rest ? op->n_in - 1 : j);
}

static void poison_value(harness_value *v)
{
    double top = 0;
    for (int64_t k = 0; k < v->n; k++) top = fmax(top, v->x[k]);
    for (int64_t k = 0; k < v->n; k++) {
        if (ebb__dtype_is_float(v->dtype))
            v->x[k] = NAN;
        else if (v->dtype == EBB_BOOL)
            v->x[k] = v->x[k] == 0;
        else
            v->x[k] = v->x[k] == 0 ? top : 0;
    }
}

static ebb_tensor *hand_out(ebb_vjp *v, const harness_value *value, uint32_t bit,
                            const char *what, int32_t at)
{
    rule_run *r = v->state;
    if (v->status != EBB_OK) return NULL;
    r->reads |= bit;
    if (!(r->need & bit) && !*r->fault)
        snprintf(r->fault, sizeof r->fault, "the rule of input %d reads %s %d, undeclared",
                 (int)r->wanted, what, (int)at);
    if (value->absent) return EBB_NONE;
    ebb_tensor *t = NULL;
    harness_value copy;
    if (!harness_value_copy(&copy, value)) return NULL;
    if (r->poison & bit) poison_value(&copy);
    v->status = harness_tensor(&t, v->ctx, &copy, HARNESS_CONTIGUOUS);
    harness_value_free(&copy);
    return t;
}

static ebb_tensor *host_grad(ebb_vjp *v, int32_t k)
{
    rule_run *r = v->state;
    ebb_tensor *t = NULL;
    if (v->status != EBB_OK) return NULL;
    if (!ebb__dtype_is_float(r->seed[k].dtype)) return EBB_NONE;
    v->status = harness_tensor(&t, v->ctx, &r->seed[k], HARNESS_CONTIGUOUS);
    return t;
}

static ebb_tensor *host_in(ebb_vjp *v, int32_t i)
{
    rule_run *r = v->state;
    return hand_out(v, &r->c->in[i], bit_of_input(r->c->op, i), "input", i);
}

static ebb_tensor *host_out(ebb_vjp *v, int32_t k)
{
    rule_run *r = v->state;
    return hand_out(v, &r->forward->value[k], EBB_NEED_OUT(k), "output", k);
}

static ebb_tensor *host_aux(ebb_vjp *v, int32_t k)
{
    rule_run *r = v->state;
    return hand_out(v, &r->forward->value[r->c->n_out + k], EBB_NEED_AUX(k), "by-product", k);
}

static bool host_wants(ebb_vjp *v, int32_t i)
{
    return ((rule_run *)v->state)->wanted == i;
}

/* Adds g, of a shape that the input was broadcast to, to the gradient. */
static void add_back(harness_value *grad, const harness_value *g)
{
    ebb_view place = {.dtype = EBB_F64, .shape = grad->shape};
    ebb__view_contiguous(&place);
    ebb__view_broadcast(&place, &g->shape);
    for (int64_t k = 0; k < g->n; k++) {
        int64_t at = 0, rest = k;
        for (int64_t d = g->shape.n_dims - 1; d >= 0; d--) {
            at += rest % g->shape.dims[d] * place.strides[d];
            rest /= g->shape.dims[d];
        }
        grad->x[at] += g->x[k];
    }
}

static void host_give(ebb_vjp *v, int32_t i, ebb_tensor *g)
{
    rule_run *r = v->state;
    if (v->status != EBB_OK) return;
    if (!g) {
        v->status = ebb_error_status();
        return;
    }
    if (i != r->wanted || g == EBB_NONE) return;
    harness_value value;
    v->status = harness_read(&value, g);
    if (v->status == EBB_OK) add_back(&r->grad, &value);
    harness_value_free(&value);
    r->given = true;
}

static ebb_shape host_in_shape(ebb_vjp *v, int32_t i)
{
    return ((rule_run *)v->state)->c->in[i].shape;
}

static ebb_dtype host_in_dtype(ebb_vjp *v, int32_t i)
{
    return ((rule_run *)v->state)->c->in[i].dtype;
}

static void host_emit(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                      ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    if (v->status == EBB_OK) v->status = ebb__op_run(v->ctx, op, attr, n_in, in, n_out, out);
}

static uint64_t host_random_base(ebb_vjp *v)
{
    (void)v;
    return 4096;
}

static const ebb__vjp_host host = {.grad = host_grad,
                                   .in = host_in,
                                   .out = host_out,
                                   .aux = host_aux,
                                   .wants = host_wants,
                                   .give = host_give,
                                   .in_shape = host_in_shape,
                                   .in_dtype = host_in_dtype,
                                   .emit = host_emit,
                                   .random_base = host_random_base};

/* The gradient of input r->wanted is in r->grad afterwards; free it. */
static const char *rule_run_once(rule_run *r, int32_t wanted, uint32_t poison)
{
    EBB_NO_GRAD(scope);
    r->wanted = wanted, r->poison = poison, r->reads = 0, r->given = false, *r->fault = 0;
    r->need = need_of(r->c->op, wanted);
    if (!harness_value_make(&r->grad, r->c->in[wanted].dtype, &r->c->in[wanted].shape))
        return verdict("no memory");
    ebb_vjp v = {.op = r->c->op,
                 .attr = r->c->op->attr_bytes ? r->c->attr : NULL,
                 .ctx = harness_context(),
                 .n_in = r->c->n_in,
                 .n_out = r->c->n_out,
                 .host = &host,
                 .state = r};
    r->c->op->vjp(&v);
    if (*r->fault) return verdict("%s", r->fault);
    return v.status == EBB_OK ? NULL
                              : verdict("rule of input %d: %s", wanted, ebb_error_message());
}

static const char *rule_run_begin(rule_run *r, harness_results *forward, harness_results *seed,
                                  const harness_case *c)
{
    harness_direct d;
    memset(r, 0, sizeof *r);
    forward->n = seed->n = 0;
    const char *fault = harness_direct_run(&d, c, 0x5a, 1, false, false);
    if (!fault) {
        harness_direct_results(forward, &d, true);
        harness_seeds(seed, c, forward, 500);
    }
    harness_direct_end(&d);
    r->c = c, r->forward = forward, r->seed = seed->value;
    return fault;
}

static const char *undeclared_reads(const harness_case *c)
{
    harness_results forward, seed;
    rule_run r;
    const char *fault = rule_run_begin(&r, &forward, &seed, c);
    for (int32_t i = 0; !fault && i < c->n_in; i++) {
        if (!c->wants[i]) continue;
        fault = rule_run_once(&r, i, 0);
        harness_value_free(&r.grad);
    }
    harness_results_free(&forward);
    harness_results_free(&seed);
    return fault;
}

/* With one wanted input at a time the engine keeps less; the gradients must stay. */
static const char *one_at_a_time(const harness_case *c)
{
    harness_results all, one;
    if (harness_run(NULL, &all, c, NULL) != EBB_OK) return verdict("%s", ebb_error_message());
    const char *fault = NULL;
    for (int32_t i = 0; !fault && i < c->n_in; i++) {
        bool wants[EBB__MAX_IN] = {false};
        if (!c->wants[i]) continue;
        wants[i] = true;
        if (harness_run(NULL, &one, c, &(harness_options){.wants = wants}) != EBB_OK) {
            fault = verdict("with only input %d wanted: %s", i, ebb_error_message());
            break;
        }
        harness_results a = {.n = 1, .value = {one.value[i]}},
                        b = {.n = 1, .value = {all.value[i]}};
        fault =
            harness_compare("with only one input wanted", &a, &b, c->has_f32 ? 1e-5 : 1e-12);
        harness_results_free(&one);
    }
    harness_results_free(&all);
    return fault;
}

const char *harness_check_need(const harness_case *c)
{
    if (!harness_differentiable(c)) return HARNESS_SKIP;
    const char *fault = c->op->vjp && !c->op->compose ? undeclared_reads(c) : NULL;
    return fault ? fault : one_at_a_time(c);
}

/* Which of the wanted input's declared values the gradient depends on, in this sample. */
static uint32_t bits_that_matter(rule_run *r, int32_t i)
{
    uint32_t need = need_of(r->c->op, i), matter = 0;
    if (rule_run_once(r, i, 0)) {
        harness_value_free(&r->grad);
        return 0;
    }
    harness_value clean = r->grad;
    for (uint32_t b = 0; b < 32; b++) {
        if (!(need >> b & 1)) continue;
        const char *fault = rule_run_once(r, i, 1u << b);
        if (fault || (clean.n > 0 && memcmp(clean.x, r->grad.x, (size_t)clean.n * 8) != 0))
            matter |= 1u << b;
        harness_value_free(&r->grad);
    }
    harness_value_free(&clean);
    return matter;
}

static const char *need_name(uint32_t bit)
{
    if (bit < 8) return verdict("input %u", bit);
    return bit < 16 ? verdict("output %u", bit - 8) : verdict("by-product %u", bit - 16);
}

const char *harness_check_need_minimal(const ebb_op *op)
{
    if (!op->vjp || op->compose || op->flags & EBB_OP_INTEGER) return HARNESS_SKIP;
    uint32_t matter[EBB__MAX_IN] = {0};
    bool seen[EBB__MAX_IN] = {false};
    for (int32_t s = 0; s < op->n_samples; s++) {
        harness_case c;
        harness_results forward = {0}, seed = {0};
        rule_run r;
        const char *fault = harness_case_make(&c, op, &op->samples[s], EBB_F64);
        if (!fault) fault = rule_run_begin(&r, &forward, &seed, &c);
        for (int32_t i = 0; !fault && i < c.n_in; i++) {
            if (!c.wants[i]) continue;
            int32_t at = i < op->n_in ? i : op->n_in - 1;
            seen[at] = true;
            matter[at] |= bits_that_matter(&r, i);
        }
        harness_results_free(&forward);
        harness_results_free(&seed);
        harness_case_free(&c);
        if (fault) return fault;
    }
    for (int32_t i = 0; i < op->n_in; i++)
        for (uint32_t b = 0; seen[i] && b < 32; b++)
            if (op->need[i] & ~matter[i] & 1u << b)
                return verdict(
                    "%s: the gradient of input %d needs %s, it says, but in no sample "
                    "does it depend on that",
                    op->name, i, need_name(b));
    return NULL;
}
