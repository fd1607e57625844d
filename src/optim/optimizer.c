/* optimizer.c - life of an optimizer, its step and ebb_minimize. Invariant: a step changes all
 * parameters that have a gradient or none. Whatever can be refused (state, handles, making the
 * bytes writable) comes before the first update; an update itself asks for nothing.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "optim/optimizer.h"

#include <ebb/explain.h>
#include <ebb/plan.h>

#include <math.h>
#include <string.h>

ebb_status ebb__optim_set(void *attr, const ebb_op *update, const char *name, double v)
{
    for (const ebb_attr_spec *a = update->attrs; a && a->name; a++) {
        if (strcmp(a->name, name) != 0) continue;
        void *at = (char *)attr + a->offset;
        if (a->kind == EBB_ATTR_F64)
            memcpy(at, &v, sizeof v);
        else if (a->kind == EBB_ATTR_I64)
            memcpy(at, &(int64_t){(int64_t)v}, sizeof(int64_t));
        else if (a->kind == EBB_ATTR_BOOL)
            memcpy(at, &(bool){v != 0}, sizeof(bool));
        else
            break;
        return EBB_OK;
    }
    return ebb__fail(EBB_E_INTERNAL, "%s has no number named %s", update->name, name);
}

/* ---- life -------------------------------------------------------------------------------- */

static void slot_clear(ebb__optim_slot *s)
{
    for (int k = 0; k < EBB__OPTIM_STATES; k++) {
        ebb_release(s->state[k]);
        s->state[k] = NULL;
    }
}

static void optimizer_destroy(void *object)
{
    ebb_optimizer *opt = object;
    ebb_context *ctx = opt->ctx;
    for (int64_t i = 0; i < opt->n_slots; i++) slot_clear(&opt->slots[i]);
    if (opt->slots)
        ebb_free(ctx, opt->slots, (size_t)opt->n_slots * sizeof *opt->slots,
                 EBB_KIND_BOOKKEEPING);
    ebb_params_release(opt->params);
    ebb_free(ctx, opt, sizeof *opt, EBB_KIND_BOOKKEEPING);
}

void ebb_optimizer_release(ebb_optimizer *opt)
{
    if (!opt) return;
    ebb_detach_object(opt->ctx, &opt->attachment);
    optimizer_destroy(opt);
}

static bool is_rate(double v)
{
    return isfinite(v) && v >= 0;
}

/* update: the name of the operation that applies a gradient; n_states: tensors it keeps. */
static ebb_status optimizer_create(ebb_optimizer **out, ebb_params *p, double lr,
                                   const char *update, int32_t n_states)
{
    if (!p) return ebb__null_argument("optimizer", "p");
    EBB_TRY(ebb_params_status(p));
    if (!out) return ebb__fail(EBB_E_MISUSE, "optimizer: out is NULL");
    if (!is_rate(lr))
        return ebb__fail(EBB_E_RANGE, "optimizer: lr is %g, it must be finite and >= 0", lr);
    ebb_context *ctx = ebb_params_context(p);
    const ebb_op *op = ebb__op_find(ctx, update);
    if (!op || op->attr_bytes > EBB__OPTIM_ATTR_BYTES)
        return ebb__fail(EBB_E_INTERNAL, "optimizer: no operation %s", update);
    ebb_optimizer *opt = ebb_alloc(ctx, sizeof *opt, EBB_KIND_BOOKKEEPING);
    if (!opt) return ebb_error_status();
    opt->ctx = ctx;
    opt->params = ebb_params_keep(p);
    opt->update = op;
    opt->lr = lr;
    opt->n_states = n_states;
    ebb_attach(ctx, &opt->attachment, optimizer_destroy, opt);
    *out = opt;
    return EBB_OK;
}

static ebb_status check_reserved(const uint64_t *reserved, size_t n, const char *function)
{
    for (size_t i = 0; i < n; i++)
        if (reserved[i])
            return ebb__fail(EBB_E_MISUSE, "%s: options->reserved is not zero", function);
    return EBB_OK;
}

/* Numbers of update that stay the same from step to step; a failure takes the optimizer with
 * it. */
typedef struct named {
    const char *name;
    double value;
} named;
static ebb_status set_all(ebb_optimizer **out, ebb_optimizer *opt, const named *n,
                          int32_t n_named)
{
    for (int32_t i = 0; i < n_named; i++) {
        ebb_status s = ebb__optim_set(opt->attr, opt->update, n[i].name, n[i].value);
        if (s == EBB_OK) continue;
        ebb_optimizer_release(opt);
        return s;
    }
    *out = opt;
    return EBB_OK;
}

ebb_status ebb_sgd_create(ebb_optimizer **out, ebb_params *p, double lr,
                          const ebb_sgd_options *options)
{
    static const ebb_sgd_options none;
    const ebb_sgd_options *o = options ? options : &none;
    EBB_TRY(
        check_reserved(o->reserved, sizeof o->reserved / sizeof *o->reserved, "sgd_create"));
    if (!is_rate(o->momentum) || !is_rate(o->weight_decay))
        return ebb__fail(EBB_E_RANGE,
                         "sgd_create: momentum is %g and weight_decay %g, both must "
                         "be finite and >= 0",
                         o->momentum, o->weight_decay);
    if (o->nesterov && !(o->momentum > 0))
        return ebb__fail(EBB_E_RANGE, "sgd_create: nesterov wants a momentum > 0");
    ebb_optimizer *opt;
    EBB_TRY(optimizer_create(out ? &opt : NULL, p, lr, "sgd_step", o->momentum > 0 ? 1 : 0));
    const named n[] = {{"momentum", o->momentum},
                       {"weight_decay", o->weight_decay},
                       {"nesterov", o->nesterov}};
    return set_all(out, opt, n, sizeof n / sizeof *n);
}

static ebb_status adam_create(ebb_optimizer **out, ebb_params *p, double lr,
                              const ebb_adam_options *o, double weight_decay, bool decoupled)
{
    const bool unset = o->betas[0] == 0 && o->betas[1] == 0;
    const double beta1 = unset ? 0.9 : o->betas[0], beta2 = unset ? 0.999 : o->betas[1];
    EBB_TRY(
        check_reserved(o->reserved, sizeof o->reserved / sizeof *o->reserved, "adam_create"));
    if (!is_rate(beta1) || !is_rate(beta2) || beta1 >= 1 || beta2 >= 1)
        return ebb__fail(EBB_E_RANGE, "adam_create: betas are %g and %g, [0, 1) is allowed",
                         beta1, beta2);
    if (!is_rate(o->eps) || !is_rate(weight_decay))
        return ebb__fail(EBB_E_RANGE,
                         "adam_create: eps is %g and weight_decay %g, both must be "
                         "finite and >= 0",
                         o->eps, weight_decay);
    ebb_optimizer *opt;
    EBB_TRY(optimizer_create(out ? &opt : NULL, p, lr, "adam_step", 2));
    const named n[] = {{"beta1", beta1},
                       {"beta2", beta2},
                       {"eps", o->eps > 0 ? o->eps : 1e-8},
                       {"weight_decay", weight_decay},
                       {"decoupled", decoupled}};
    return set_all(out, opt, n, sizeof n / sizeof *n);
}

ebb_status ebb_adam_create(ebb_optimizer **out, ebb_params *p, double lr,
                           const ebb_adam_options *options)
{
    static const ebb_adam_options none;
    const ebb_adam_options *o = options ? options : &none;
    return adam_create(out, p, lr, o, o->weight_decay, o->decoupled);
}

ebb_status ebb_adamw_create(ebb_optimizer **out, ebb_params *p, double lr,
                            const ebb_adam_options *options)
{
    static const ebb_adam_options none;
    const ebb_adam_options *o = options ? options : &none;
    return adam_create(out, p, lr, o, o->weight_decay != 0 ? o->weight_decay : 0.01, true);
}

void ebb_optimizer_set_lr(ebb_optimizer *opt, double lr)
{
    if (!opt)
        (void)ebb__null_argument("optimizer_set_lr", "opt");
    else if (!is_rate(lr))
        (void)ebb__fail(EBB_E_RANGE, "optimizer_set_lr: lr is %g, it must be finite and >= 0",
                        lr);
    else
        opt->lr = lr;
}

double ebb_optimizer_lr(const ebb_optimizer *opt)
{
    return opt ? opt->lr : (double)NAN;
}

/* ---- step -------------------------------------------------------------------------------- */

/* Slots for parameters that the set has got since. */
static ebb_status slots_grow(ebb_optimizer *opt)
{
    const int64_t n = ebb_params_count(opt->params);
    if (n <= opt->n_slots) return EBB_OK;
    ebb__optim_slot *grown =
        ebb_alloc(opt->ctx, (size_t)n * sizeof *grown, EBB_KIND_BOOKKEEPING);
    if (!grown) return ebb_error_status();
    if (opt->slots) {
        memcpy(grown, opt->slots, (size_t)opt->n_slots * sizeof *grown);
        ebb_free(opt->ctx, opt->slots, (size_t)opt->n_slots * sizeof *grown,
                 EBB_KIND_BOOKKEEPING);
    }
    opt->slots = grown;
    opt->n_slots = n;
    return EBB_OK;
}

static ebb_status gradients_find(ebb_optimizer *opt)
{
    int64_t n_found = 0;
    for (int64_t i = 0; i < opt->n_slots; i++) {
        ebb__optim_slot *s = &opt->slots[i];
        s->param = ebb_params_at(opt->params, i);
        s->grad = NULL;
        if (ebb_params_is_buffer(opt->params, i) || !ebb_has_grad(s->param)) continue;
        s->grad = ebb_grad_of(s->param);
        if (!s->grad) return ebb_error_status();
        n_found++;
    }
    if (n_found > 0) return EBB_OK;
    return ebb__fail(EBB_E_MISUSE, "optimizer_step: none of its parameters has a gradient");
}

static ebb_status state_create(ebb_tensor **out, ebb_context *ctx, ebb_tensor *like)
{
    ebb_view v;
    ebb_tensor *t = ebb_empty(ctx, ebb_dtype_of(like), ebb_shape_get(like), EBB_KIND_OPTIMIZER);
    if (!t) return ebb_error_status();
    if (!ebb_is_dry_run(ctx)) {
        EBB_TRY(ebb_map(&v, t, EBB_MAP_WRITE));
        memset(v.data, 0, ebb_n_bytes(t));
        ebb_unmap(t);
    }
    *out = ebb_claim(t);
    return *out ? EBB_OK : ebb_error_status();
}

static ebb_status states_create(ebb_optimizer *opt)
{
    for (int64_t i = 0; i < opt->n_slots; i++) {
        ebb__optim_slot *s = &opt->slots[i];
        for (int32_t k = 0; s->grad && k < opt->n_states; k++)
            if (!s->state[k]) EBB_TRY(state_create(&s->state[k], opt->ctx, s->param));
    }
    return EBB_OK;
}

/* State that no step has used yet goes again: a refused step, or a dry run's, leaves nothing
 * behind. */
static void states_drop_unused(ebb_optimizer *opt)
{
    for (int64_t i = 0; i < opt->n_slots; i++)
        if (opt->slots[i].n_steps == 0) slot_clear(&opt->slots[i]);
}

/* A write may want the bytes of older versions kept for somebody; here it can still be refused.
 */
static ebb_status make_writable(ebb_tensor *t)
{
    ebb_view v;
    EBB_TRY(ebb_map(&v, t, EBB_MAP_WRITE));
    ebb_unmap(t);
    return EBB_OK;
}

static ebb_status prepare(ebb_optimizer *opt)
{
    EBB_TRY(slots_grow(opt));
    EBB_TRY(gradients_find(opt));
    EBB_TRY(states_create(opt));
    if (ebb_is_dry_run(opt->ctx)) return EBB_OK;
    for (int64_t i = 0; i < opt->n_slots; i++) {
        const ebb__optim_slot *s = &opt->slots[i];
        if (!s->grad) continue;
        if (!ebb__op_goes_over(opt->ctx, opt->update, (ebb_tensor *[]){s->param, s->grad}))
            EBB_TRY(make_writable(s->param));
        for (int32_t k = 0; k < opt->n_states; k++) EBB_TRY(make_writable(s->state[k]));
    }
    return EBB_OK;
}

static ebb_status update(ebb_optimizer *opt, ebb__optim_slot *s)
{
    _Alignas(16) unsigned char attr[EBB__OPTIM_ATTR_BYTES];
    ebb_tensor *in[2 + EBB__OPTIM_STATES] = {s->param, s->grad, EBB_NONE, EBB_NONE};
    for (int32_t k = 0; k < opt->n_states; k++) in[2 + k] = s->state[k];
    memcpy(attr, opt->attr, sizeof attr);
    EBB_TRY(ebb__optim_set(attr, opt->update, "lr", opt->lr));
    if (opt->n_states == 2)
        EBB_TRY(ebb__optim_set(attr, opt->update, "step", (double)(s->n_steps + 1)));
    EBB_TRY(ebb__op_run(opt->ctx, opt->update, attr, opt->update->n_in, in, 0, NULL));
    if (!ebb_is_dry_run(opt->ctx)) s->n_steps++;
    /* Used up: what it holds may be the parameter's old content. */
    ebb_replace(&s->grad, NULL);
    return ebb_clear_grad(s->param);
}

static ebb_status step(ebb_optimizer *opt)
{
    ebb_status s = prepare(opt);
    if (s != EBB_OK) {
        states_drop_unused(opt);
        return s;
    }
    for (int64_t i = 0; i < opt->n_slots && s == EBB_OK; i++)
        if (opt->slots[i].grad) s = update(opt, &opt->slots[i]);
    if (ebb_is_dry_run(opt->ctx)) states_drop_unused(opt);
    return s;
}

ebb_status ebb_optimizer_step(ebb_optimizer *opt)
{
    if (!opt) return ebb__null_argument("optimizer_step", "opt");
    const ebb_scope scope = ebb_scope_begin(EBB_SCOPE_NO_GRAD, NULL);
    ebb_status s = step(opt);
    ebb_scope_end(scope);
    if (s == EBB_OK && !ebb_is_dry_run(opt->ctx)) ebb_watch_step(opt->ctx);
    return s;
}

/* ---- minimize ---------------------------------------------------------------------------- */

static ebb_status slots_are_empty(const ebb_optimizer *opt)
{
    for (int64_t i = 0; i < ebb_params_count(opt->params); i++)
        if (ebb_has_grad(ebb_params_at(opt->params, i)))
            return ebb__fail(EBB_E_MISUSE,
                             "minimize: %s holds a gradient already; step or clear it first",
                             ebb_params_name(opt->params, i));
    return EBB_OK;
}

ebb_status ebb_minimize(ebb_optimizer *opt, ebb_tensor *loss,
                        const ebb_minimize_options *options)
{
    static const ebb_minimize_options none;
    const ebb_minimize_options *o = options ? options : &none;
    if (!opt) return ebb__null_argument("minimize", "opt");
    EBB_TRY(ebb_check(loss));
    EBB_TRY(check_reserved(o->reserved, sizeof o->reserved / sizeof *o->reserved, "minimize"));
    if (!(o->clip_grad_norm >= 0))
        return ebb__fail(EBB_E_RANGE, "minimize: clip_grad_norm is %g, it must be >= 0",
                         o->clip_grad_norm);
    EBB_TRY(slots_are_empty(opt));
    /* A scope of its own: who holds references by hand needs none around this call. */
    const ebb_backward_options only = {.only = opt->params};
    const ebb_scope scope = ebb_scope_begin(0, NULL);
    ebb_status s = ebb_backward(loss, &only);
    ebb_scope_end(scope);
    EBB_TRY(s);
    if (o->clip_grad_norm > 0)
        s = ebb_params_clip_grad_norm(NULL, opt->params, o->clip_grad_norm);
    if (s == EBB_OK) s = ebb_optimizer_step(opt);
    if (s != EBB_OK && ebb_params_clear_grads(opt->params) != EBB_OK) return s;
    return s;
}
