/* consume.c - the public backward: a walk with a visitor.
 *
 * Invariant: all that can refuse comes before the claim, so a refusal has changed nothing.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "graph/walk_shared.h"

ebb_graph_edge ebb_graph_step_parent(const ebb_graph_step *step, uint32_t i)
{
    const ebb__graph_walk *w = step->walk;
    if (i >= step->n_parents) return (ebb_graph_edge){0};
    ebb__graph_target t = w->targets[w->first[step->index] + i];
    if (t.node >= 0) return (ebb_graph_edge){.node = w->nodes[t.node], .output = t.output};
    if (t.leaf >= 0) return (ebb_graph_edge){.node = w->leaves[t.leaf]};
    return (ebb_graph_edge){0};
}

static ebb_status arguments_check(const ebb_graph_edge *roots, int64_t n_roots,
                                  const ebb_graph_consume_options *o)
{
    if (!roots) return ebb__null_argument("ebb_graph_consume", "roots");
    for (int64_t i = 0; i < n_roots; i++)
        if (!roots[i].node) return ebb__null_argument("ebb_graph_consume", "a root");
    if (n_roots > INT32_MAX || o->n_inputs < 0 || o->n_inputs > INT32_MAX)
        return ebb__fail(EBB_E_MISUSE,
                         "%lld roots and %lld inputs; at most 2^31 - 1 are supported",
                         (long long)n_roots, (long long)o->n_inputs);
    for (int64_t i = 0; o->inputs && i < o->n_inputs; i++)
        if (!o->inputs[i].node) return ebb__null_argument("ebb_graph_consume", "an input");
    for (size_t i = 0; i < sizeof o->reserved / sizeof o->reserved[0]; i++)
        if (o->reserved[i])
            return ebb__fail(EBB_E_MISUSE, "options: reserved[%zu] is not zero", i);
    return EBB_OK;
}

static ebb_status inputs_check(const ebb__graph_walk *w, const ebb_graph_consume_options *o)
{
    for (int64_t i = 0; i < w->n_inputs && !o->allow_unused; i++)
        if (w->input[i] == INT32_MIN)
            return ebb__fail(EBB_E_GRAPH, "input %lld: no path leads to it from a root",
                             (long long)i);
    return EBB_OK;
}

ebb_status ebb_graph_consume(const ebb_graph_edge *roots, int64_t n_roots,
                             const ebb_graph_visitor *visitor,
                             const ebb_graph_consume_options *options)
{
    static const ebb_graph_consume_options defaults;
    if (!options) options = &defaults;
    EBB_TRY(arguments_check(roots, n_roots, options));
    ebb__graph_walk w;
    if (!options->keep && !options->inputs)
        EBB_TRY(ebb__graph_walk_begin_claimed(&w, roots, n_roots));
    else
        EBB_TRY(ebb__graph_walk_begin(&w, roots, n_roots, options->inputs, options->n_inputs,
                                      NULL, NULL, options->keep));
    ebb_status s = inputs_check(&w, options);
    if (s == EBB_OK) s = ebb__graph_walk_claim(&w);
    if (s == EBB_OK) s = ebb__graph_walk_visit(&w, visitor);
    ebb__graph_walk_end(&w);
    return s;
}
