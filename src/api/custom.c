/* custom.c - the user's own operations as descriptors like any other.
 *
 * A descriptor made from an ebb_custom is kept for the life of the root context and found again
 * by its content, so calling ebb_apply in a loop makes one. Its tag in the graph lies above the
 * table's.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "tensor/owned.h"

#include <pthread.h>
#include <string.h>

typedef struct custom_op {
    ebb_op op; /* first */
    ebb_custom custom;
    char name[32];
    struct custom_op *next;
} custom_op;

typedef struct custom_list {
    pthread_mutex_t mutex;
    custom_op *first;
    int32_t n;
} custom_list;

static const ebb_custom *custom_of(const ebb_op *op)
{
    return &((const custom_op *)op)->custom;
}

static ebb_status custom_shape(ebb__call *c)
{
    const ebb_custom *custom = custom_of(c->op);
    ebb_dtype d[EBB__MAX_OUT + EBB__MAX_AUX] = {0};
    ebb_shape s[EBB__MAX_OUT + EBB__MAX_AUX];
    memset(s, 0, sizeof s);
    ebb__fence before = ebb__scope_fence();
    ebb_status status = custom->shape(d, s, c->in, c->attr);
    ebb__scope_unfence(before);
    EBB_TRY(ebb__callback_status(status, "shape"));
    for (int32_t k = 0; k < c->n_out + c->n_aux; k++) {
        c->out[k].dtype = d[k];
        c->out[k].shape = s[k];
    }
    return EBB_OK;
}

static ebb_status custom_forward(const ebb__call *c)
{
    ebb__fence before = ebb__scope_fence();
    ebb_status status = custom_of(c->op)->forward(c->out, c->out + c->n_out, c->in, c->attr);
    ebb__scope_unfence(before);
    return ebb__callback_status(status, "forward");
}

static void rule_call(ebb_vjp *v, ebb_status (*rule)(ebb_vjp *, const void *))
{
    ebb__fence before = ebb__scope_fence();
    ebb_status status = rule(v, v->attr);
    ebb__scope_unfence(before);
    status = ebb__callback_status(status, "vjp");
    if (status != EBB_OK && v->status == EBB_OK) v->status = status;
}

static void custom_vjp(ebb_vjp *v)
{
    rule_call(v, custom_of(v->op)->vjp);
}

static void custom_vjp_composed(ebb_vjp *v)
{
    rule_call(v, custom_of(v->op)->vjp_composed);
}

static ebb_status custom_check(const ebb_custom *c)
{
    if (!c->name || !c->shape || !c->forward)
        return ebb__fail(EBB_E_MISUSE,
                         "the operation has no name, no shape or no forward function");
    if (c->n_in < 1 || c->n_in > EBB__MAX_IN || c->n_out < 1 || c->n_out > EBB__MAX_OUT ||
        c->n_aux < 0 || c->n_aux > EBB__MAX_AUX)
        return ebb__fail(
            EBB_E_RANGE,
            "%s has %d inputs, %d outputs, %d by-products; 1 to %d, 1 to %d, 0 to %d "
            "are allowed",
            c->name, (int)c->n_in, (int)c->n_out, (int)c->n_aux, EBB__MAX_IN, EBB__MAX_OUT,
            EBB__MAX_AUX);
    uint32_t flags = EBB_CUSTOM_STRIDED | EBB_CUSTOM_NO_RECOMPUTE | EBB_CUSTOM_CHEAP |
                     EBB_CUSTOM_BROADCAST | EBB_CUSTOM_LIST;
    if (c->flags & ~flags || c->optional >> c->n_in)
        return ebb__fail(EBB_E_RANGE,
                         "%s has flags %u and optional inputs %u: flags to %u and "
                         "bits of its %d inputs are known",
                         c->name, (unsigned)c->flags, (unsigned)c->optional, (unsigned)flags,
                         (int)c->n_in);
    if (c->flags & EBB_CUSTOM_BROADCAST && !(c->flags & EBB_CUSTOM_STRIDED))
        return ebb__fail(EBB_E_MISUSE, "%s broadcasts: it must be EBB_CUSTOM_STRIDED", c->name);
    if (c->attr_bytes > 4096)
        return ebb__fail(EBB_E_RANGE, "%s has %zu bytes of attributes, 4096 are allowed",
                         c->name, c->attr_bytes);
    return ebb__reserved_check(c->name, c->reserved, sizeof c->reserved / sizeof *c->reserved);
}

static bool same_custom(const custom_op *k, const ebb_custom *c)
{
    const ebb_custom *o = &k->custom;
    return strncmp(k->name, c->name, sizeof k->name - 1) == 0 && o->n_in == c->n_in &&
           o->n_out == c->n_out && o->n_aux == c->n_aux && o->attr_bytes == c->attr_bytes &&
           o->flags == c->flags && memcmp(o->need, c->need, sizeof o->need) == 0 &&
           o->shape == c->shape && o->forward == c->forward && o->vjp == c->vjp &&
           o->vjp_composed == c->vjp_composed && o->optional == c->optional;
}

static void custom_fill(custom_op *k, const ebb_custom *c, int32_t id)
{
    static const char *const arg[EBB__MAX_IN] = {"input 0", "input 1", "input 2", "input 3",
                                                 "input 4", "input 5", "input 6", "input 7"};
    strncpy(k->name, c->name, sizeof k->name - 1);
    k->custom = *c;
    k->custom.name = k->name;
    k->op = (ebb_op){.name = k->name,
                     .id = id,
                     .doc = "an operation of the user's",
                     .n_in = (uint8_t)c->n_in,
                     .n_out = (uint8_t)c->n_out,
                     .n_aux = (uint8_t)c->n_aux,
                     .attr_bytes = (uint16_t)c->attr_bytes,
                     .bound = EBB_BOUND_COMPUTE,
                     .shape = custom_shape,
                     .forward = custom_forward,
                     .vjp = c->vjp ? custom_vjp : NULL,
                     .vjp_composed = c->vjp_composed ? custom_vjp_composed : NULL};
    if (c->flags & EBB_CUSTOM_STRIDED) k->op.flags |= EBB_OP_STRIDED;
    if (c->flags & EBB_CUSTOM_NO_RECOMPUTE) k->op.flags |= EBB_OP_NO_RECOMPUTE;
    if (c->flags & EBB_CUSTOM_CHEAP) k->op.bound = EBB_BOUND_MEMORY;
    if (c->flags & EBB_CUSTOM_BROADCAST) k->op.flags |= EBB_OP_BROADCAST;
    if (c->flags & EBB_CUSTOM_LIST) k->op.flags |= EBB_OP_VARIADIC_IN;
    k->op.optional = (uint8_t)c->optional;
    memcpy(k->op.need, c->need, sizeof k->op.need);
    memcpy(k->op.arg, arg, sizeof arg);
}

static custom_list *list_of(ebb_context *root)
{
    return root->customs;
}

ebb_status ebb__custom_create(ebb_context *root)
{
    custom_list *list = ebb__owned_alloc(root, sizeof *list, EBB_KIND_BOOKKEEPING);
    if (!list) return ebb_error_status();
    pthread_mutex_init(&list->mutex, NULL);
    root->customs = list;
    return EBB_OK;
}

void ebb__custom_destroy(ebb_context *root)
{
    custom_list *list = list_of(root);
    if (!list) return;
    while (list->first) {
        custom_op *k = list->first;
        list->first = k->next;
        ebb__owned_free(root, k, sizeof *k, EBB_KIND_BOOKKEEPING);
    }
    pthread_mutex_destroy(&list->mutex);
    ebb__owned_free(root, list, sizeof *list, EBB_KIND_BOOKKEEPING);
    root->customs = NULL;
}

/* fresh: becomes one of the list where c is not there yet; NULL: is only looked for. */
static custom_op *find_or_add(ebb_context *root, const ebb_custom *c, custom_op *fresh)
{
    custom_list *list = list_of(root);
    pthread_mutex_lock(&list->mutex);
    custom_op *k = list->first;
    while (k && !same_custom(k, c)) k = k->next;
    if (!k && fresh) {
        k = fresh;
        custom_fill(k, c, ebb__registry_count(root->registry) + list->n++);
        k->next = list->first;
        list->first = k;
    }
    pthread_mutex_unlock(&list->mutex);
    if (fresh != k) ebb__owned_free(root, fresh, sizeof *k, EBB_KIND_BOOKKEEPING);
    return k;
}

/* Room is made outside the lock, which a running kernel may want. */
static const ebb_op *custom_find(ebb_context *root, const ebb_custom *c)
{
    custom_op *k = find_or_add(root, c, NULL);
    if (!k && (k = ebb__owned_alloc(root, sizeof *k, EBB_KIND_BOOKKEEPING)))
        k = find_or_add(root, c, k);
    return k ? &k->op : NULL;
}

const ebb_op *ebb__op_of_tag(ebb_context *root, uint32_t tag)
{
    const ebb_op *op = ebb__registry_at(root->registry, (int32_t)tag);
    if (op) return op;
    custom_list *list = list_of(root);
    pthread_mutex_lock(&list->mutex);
    custom_op *k = list->first;
    while (k && k->op.id != (int32_t)tag) k = k->next;
    pthread_mutex_unlock(&list->mutex);
    return k ? &k->op : NULL;
}

enum { MOST_INPUTS = 1 << 12 };

static ebb_status count_check(const ebb_custom *op, int64_t n)
{
    if (n == op->n_in || (op->flags & EBB_CUSTOM_LIST && n > op->n_in && n <= MOST_INPUTS))
        return EBB_OK;
    return ebb__fail(EBB_E_RANGE, "%s was given %lld inputs, %d%s are allowed", op->name,
                     (long long)n, (int)op->n_in,
                     op->flags & EBB_CUSTOM_LIST ? " to 4096" : "");
}

static ebb_status context_find(ebb_context **out, const ebb_custom *op, ebb_tensor *const *in,
                               int64_t n)
{
    *out = NULL;
    for (int64_t i = 0; i < n && !*out; i++) {
        int64_t known = i < op->n_in ? i : op->n_in - 1;
        if (in[i] == EBB_NONE && op->optional >> known & 1) continue;
        const ebb__slot *s = ebb__slot_of(in[i], op->name, "an input");
        if (!s) return ebb_error_status();
        *out = s->ctx;
    }
    return *out ? EBB_OK : ebb__fail(EBB_E_MISUSE, "%s was given no tensor", op->name);
}

/* A callback may let go of what the caller gave: the engine holds it meanwhile. */
static ebb_status run_holding(ebb_tensor **out, const ebb_op *descriptor, const void *attr,
                              ebb_tensor *const *in, int64_t n)
{
    ebb_tensor *few[EBB__MAX_IN], **held = few;
    size_t bytes = (size_t)n * sizeof *held;
    if (n > EBB__MAX_IN) held = ebb__alloc(&ebb__allocator_libc, bytes, 16);
    if (!held) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes);
    for (int64_t i = 0; i < n; i++) held[i] = in[i] ? ebb_keep(in[i]) : NULL;
    ebb_status status =
        ebb__run(NULL, descriptor, attr, (int32_t)n, in, descriptor->n_out, out);
    for (int64_t i = 0; i < n; i++) ebb_release(held[i]);
    if (held != few) ebb__free(&ebb__allocator_libc, held, bytes);
    return status;
}

static ebb_status apply_checked(ebb_tensor **out, const ebb_custom *op, ebb_tensor *const *in,
                                int64_t n, const void *attr)
{
    ebb_context *ctx;
    if (!out) return ebb__null_argument("ebb_apply", "out");
    if (!in) return ebb__null_argument("ebb_apply", "in");
    EBB_TRY(custom_check(op));
    if (op->attr_bytes && !attr) return ebb__null_argument("ebb_apply", "attr");
    EBB_TRY(count_check(op, n));
    EBB_TRY(context_find(&ctx, op, in, n));
    const ebb_op *descriptor = custom_find(ctx->root, op);
    if (!descriptor) return ebb_error_status();
    return run_holding(out, descriptor, attr, in, n);
}

static ebb_status apply(ebb_tensor **out, const ebb_custom *op, ebb_tensor *const *in,
                        int64_t n, const void *attr)
{
    const char *outer = ebb__error_op_set("apply");
    if (out && op)
        for (int32_t k = 0; k < op->n_out && k < EBB__MAX_OUT; k++) out[k] = NULL;
    ebb_status status =
        op ? apply_checked(out, op, in, n, attr) : ebb__null_argument("ebb_apply", "op");
    return ebb__call_end(outer, ebb__context_among(in, n), status);
}

ebb_status(ebb_apply)(ebb_tensor **out, const ebb_custom *op, ebb_tensor *const *in,
                      const void *attr)
{
    return apply(out, op, in, op ? op->n_in : 0, attr);
}

ebb_status(ebb_apply_list)(ebb_tensor **out, const ebb_custom *op, ebb_tensor *const *in,
                           int64_t n, const void *attr)
{
    return apply(out, op, in, n, attr);
}

/* ---- inside a user's rule ------------------------------------------------------------------- */

static bool no_rule(const ebb_vjp *v, const char *function)
{
    if (!v) ebb__fail(EBB_E_MISUSE, "%s: v is NULL", function);
    return !v;
}

ebb_tensor *ebb_vjp_grad(ebb_vjp *v, int32_t out)
{
    return no_rule(v, "ebb_vjp_grad") ? NULL : v->host->grad(v, out);
}

ebb_tensor *ebb_vjp_in(ebb_vjp *v, int32_t i)
{
    return no_rule(v, "ebb_vjp_in") ? NULL : v->host->in(v, i);
}

ebb_tensor *ebb_vjp_out(ebb_vjp *v, int32_t k)
{
    return no_rule(v, "ebb_vjp_out") ? NULL : v->host->out(v, k);
}

ebb_tensor *ebb_vjp_aux(ebb_vjp *v, int32_t k)
{
    return no_rule(v, "ebb_vjp_aux") ? NULL : v->host->aux(v, k);
}

bool ebb_vjp_wants(ebb_vjp *v, int32_t i)
{
    return !no_rule(v, "ebb_vjp_wants") && v->host->wants(v, i);
}

ebb_shape ebb_vjp_in_shape(ebb_vjp *v, int32_t i)
{
    bool known = !no_rule(v, "ebb_vjp_in_shape") && i >= 0 && i < v->n_in;
    return known ? v->host->in_shape(v, i) : (ebb_shape){0};
}

ebb_dtype ebb_vjp_in_dtype(ebb_vjp *v, int32_t i)
{
    bool known = !no_rule(v, "ebb_vjp_in_dtype") && i >= 0 && i < v->n_in;
    return known ? v->host->in_dtype(v, i) : (ebb_dtype)0;
}

int64_t ebb_vjp_n_in(ebb_vjp *v)
{
    return no_rule(v, "ebb_vjp_n_in") ? 0 : v->n_in;
}

void ebb_vjp_give(ebb_vjp *v, int32_t i, ebb_tensor *g)
{
    if (!no_rule(v, "ebb_vjp_give")) v->host->give(v, i, g);
}
