/* grad.c - the public face of gradients.
 * SPDX-License-Identifier: MIT */
#include "api/api.h"

#include "autodiff/commit.h"

#include <ebb/extend.h>

#include <stdlib.h>
#include <string.h>

ebb_status ebb__reserved_check(const char *function, const uint64_t *reserved, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (reserved[i])
            return ebb__fail(EBB_E_MISUSE, "%s%soptions.reserved is not zero", function,
                             *function ? ": " : "");
    return EBB_OK;
}

/* ---- backward ---------------------------------------------------------------------------- */

/* The leaves of a parameter set, to be asked about; sorted. */
typedef struct leaf_set {
    const void **leaf;
    int64_t n;
} leaf_set;

static int compare(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t) * (void *const *)a, y = (uintptr_t) * (void *const *)b;
    return (x > y) - (x < y);
}

static bool leaf_wanted(void *user, void *payload)
{
    const leaf_set *set = user;
    return bsearch(&payload, set->leaf, (size_t)set->n, sizeof *set->leaf, compare) != NULL;
}

static ebb_status leaf_set_make(leaf_set *out, const void *params)
{
    const ebb_tensor_list *list = *(const ebb_tensor_list *const *)params;
    int64_t n = list->count(params);
    out->n = 0;
    out->leaf = malloc(((size_t)n + 1) * sizeof *out->leaf);
    if (!out->leaf)
        return ebb__fail(EBB_E_NOMEM, "a list of %lld leaves was refused", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        ebb__slot *s = ebb__slot_raw(list->at(params, i));
        if (s->is_leaf) out->leaf[out->n++] = ebb_graph_node_payload(s->node);
    }
    qsort(out->leaf, (size_t)out->n, sizeof *out->leaf, compare);
    return EBB_OK;
}

static ebb_status backward(ebb__backward_args *a, const ebb_backward_options *o)
{
    static const ebb_backward_options none;
    if (!o) o = &none;
    EBB_TRY(ebb__reserved_check("", o->reserved, sizeof o->reserved / sizeof *o->reserved));
    a->keep_graph = o->keep_graph;
    a->commit_each_leaf = o->commit_each_leaf;
    a->check_finite = o->check_finite;
    if (!o->only) return ebb__backward_run(a);
    leaf_set set;
    EBB_TRY(leaf_set_make(&set, o->only));
    a->only = leaf_wanted;
    a->user = &set;
    ebb_status status = ebb__backward_run(a);
    free(set.leaf);
    return status;
}

ebb_status(ebb_backward)(ebb_tensor *loss, const ebb_backward_options *options)
{
    const char *outer = ebb__error_op_set("backward");
    const ebb__slot *s = ebb__slot_of(loss, "ebb_backward", "loss");
    ebb_status status = s ? EBB_OK : ebb_error_status();
    if (s && ebb_n_elems(loss) != 1)
        status = ebb__fail(EBB_E_SHAPE, "loss has %lld elements, one is needed",
                           (long long)ebb_n_elems(loss));
    ebb__backward_args a = {.roots = &loss, .n_roots = 1};
    if (status == EBB_OK) status = backward(&a, options);
    return ebb__call_end(outer, s ? s->ctx : NULL, status);
}

ebb_status ebb__list_check(const char *name, ebb_tensor *const *list, int64_t n)
{
    if (n < 1) return ebb__fail(EBB_E_RANGE, "%lld %s were given", (long long)n, name);
    if (!list) return ebb__null_argument("backward", name);
    return EBB_OK;
}

ebb_status(ebb_backward_from)(ebb_tensor *const *roots, ebb_tensor *const *seeds, int64_t n,
                              const ebb_backward_options *options)
{
    const char *outer = ebb__error_op_set("backward");
    ebb_status status = ebb__list_check("roots", roots, n);
    ebb__backward_args a = {.roots = roots, .seeds = seeds, .n_roots = n};
    if (status == EBB_OK) status = backward(&a, options);
    return ebb__call_end(outer, ebb__context_among(roots, n), status);
}

ebb_status ebb__grad_run(ebb_tensor **grads_out, const ebb__backward_args *given,
                         const ebb_grad_options *o)
{
    static const ebb_grad_options none;
    if (!o) o = &none;
    EBB_TRY(ebb__list_check("roots", given->roots, given->n_roots));
    EBB_TRY(ebb__list_check("inputs", given->inputs, given->n_inputs));
    if (!grads_out) return ebb__null_argument("ebb_grad", "grads_out");
    EBB_TRY(ebb__reserved_check("", o->reserved, sizeof o->reserved / sizeof *o->reserved));
    ebb__backward_args a = *given;
    a.grads_out = grads_out;
    a.keep_graph = o->keep_graph;
    a.create_graph = o->create_graph;
    a.allow_unused = o->allow_unused;
    a.check_finite = o->check_finite;
    return ebb__backward_run(&a);
}

ebb_status(ebb_grad)(ebb_tensor **grads_out, ebb_tensor *const *roots, ebb_tensor *const *seeds,
                     int64_t n_roots, ebb_tensor *const *inputs, int64_t n_inputs,
                     const ebb_grad_options *options)
{
    const char *outer = ebb__error_op_set("grad");
    for (int64_t i = 0; grads_out && i < n_inputs; i++) grads_out[i] = NULL;
    ebb__backward_args a = {.roots = roots,
                            .seeds = seeds,
                            .n_roots = n_roots,
                            .inputs = inputs,
                            .n_inputs = n_inputs};
    ebb_status status = ebb__grad_run(grads_out, &a, options);
    return ebb__call_end(outer, ebb__context_among(roots, n_roots), status);
}

ebb_status(ebb_discard_graph)(ebb_tensor *root)
{
    const char *outer = ebb__error_op_set("discard_graph");
    ebb__slot *s = ebb__slot_of(root, "ebb_discard_graph", "root");
    ebb_status status = s ? ebb__context_usable(s->ctx) : ebb_error_status();
    if (status == EBB_OK && (!s->node || s->is_leaf))
        status = ebb__fail(EBB_E_GRAPH, "root has no graph behind it");
    if (status == EBB_OK) {
        ebb__graph_walk walk;
        ebb__graph_place place = {s->node, s->output};
        status = ebb__graph_walk_begin(&walk, &place, 1, NULL, 0, NULL, NULL, false);
        if (status == EBB_OK) {
            status = ebb__graph_walk_claim(&walk);
            ebb__graph_walk_end(&walk);
        }
    }
    return ebb__call_end(outer, s ? s->ctx : NULL, status);
}
