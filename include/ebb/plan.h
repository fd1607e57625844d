/* plan.h - a recorded iteration under a budget: what it would cost, without running it.
 *
 * A trace is one training iteration in numbers: its operations with their costs, its values with
 * their bytes, when each is released. It is run without data, by the rules that choose what to
 * give up while a program runs under a budget, or by others, to compare with. Costs are in the
 * trace's own unit.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_PLAN_H
#define EBB_PLAN_H

#include <ebb/context.h>
#include <ebb/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_iteration ebb_iteration;

/* Reads a trace from a text file and checks all of it.
 *
 *   trace_out  for ebb_iteration_destroy; NULL on failure
 *
 * Errors  EBB_E_IO the file cannot be read, or what in it is no trace, with its line;
 *         EBB_E_NOMEM; EBB_E_MISUSE.
 * Source  the format: docs/memory.md.
 */
EBB_API EBB_NODISCARD ebb_status ebb_iteration_load(ebb_iteration **trace_out,
                                                    const char *path);
EBB_API void ebb_iteration_destroy(ebb_iteration *trace); /* NULL is ignored */
/* Writes it for ebb_iteration_load and `ebb plan`.
 *
 * Errors  EBB_E_IO; EBB_E_MISUSE.
 */
EBB_API EBB_NODISCARD ebb_status ebb_iteration_save(const ebb_iteration *trace,
                                                    const char *path);

typedef struct ebb_recorder ebb_recorder;
/* From here on records what runs in the context (not in its children): a step between two
 * others is an iteration. Costs are estimates, in ns.
 *
 *   recorder_out  for ebb_recorder_end, which must come before the context goes
 *
 * Both while no other thread uses the context.
 * Errors  EBB_E_MISUSE it is recorded already; EBB_E_NOMEM.
 */
EBB_API EBB_NODISCARD ebb_status ebb_recorder_begin(ebb_recorder **recorder_out,
                                                    ebb_context *ctx);
/* Ends it and destroys the recorder, also on failure.
 *
 *   iteration_out  for ebb_iteration_destroy; NULL: not wanted
 *
 * Errors  EBB_E_NOMEM, also where some of it could not be recorded; EBB_E_MISUSE.
 */
EBB_API EBB_NODISCARD ebb_status ebb_recorder_end(ebb_iteration **iteration_out,
                                                  ebb_recorder *recorder);

/* Runs a training step with shapes only and records it: what it would cost is known before the
 * first real one. Operations check their arguments, find shapes and are recorded, with the costs
 * and the scratch they would have; their kernels do not run and their results have no elements and
 * take no bytes (those of at most 64 bytes do). What was there before is not written: parameters,
 * gradients, the optimizer's and normalisations' state and random counters are afterwards what they
 * were, ebb_write writes nothing, a gradient's norm counts as 0. A backward that
 * would use up a graph recorded before, and an in-place operation that would give a tensor made before
 * new history, are EBB_E_UNSUPPORTED; what else the function changes is its own.
 *
 *   iteration_out  for ebb_iteration_destroy; NULL on failure
 *   step(user)     a whole training step in ctx, or part of one; called once
 *
 * Results have no values, neither in the step nor later: to read or map one, and an operation whose
 * result's shape depends on its values, is EBB_E_UNSUPPORTED (ebb_is_dry_run tells a step that
 * it should not), and so is mapping for writing. While no other thread uses the context
 * or those below it.
 * Errors  the step's: nothing was changed; EBB_E_MISUSE; EBB_E_NOMEM.
 */
EBB_API EBB_NODISCARD ebb_status ebb_dry_run(ebb_iteration **iteration_out, ebb_context *ctx,
                                             ebb_status (*step)(void *user), void *user);
/* Whether a dry run of the context is under way. */
EBB_API bool ebb_is_dry_run(const ebb_context *ctx);

typedef struct ebb_iteration_facts {
    int64_t n_operations, n_values;
    double cost;          /* of all operations, once each */
    size_t peak_bytes;    /* without a budget, each value gone when nobody can use it */
    size_t lower_bound;   /* bytes: below it no order of recomputation works */
    size_t outside_bytes; /* of values that are there before the first operation */
    uint64_t reserved[3];
} ebb_iteration_facts;
/* Errors  EBB_E_MISUSE. */
EBB_API EBB_NODISCARD ebb_status ebb_iteration_facts_get(ebb_iteration_facts *out,
                                                         const ebb_iteration *trace);

/* How what to give up is chosen. */
typedef enum ebb_policy {
    EBB_POLICY_PLANNED,  /* the best of many simulated runs: a program that repeats itself */
    EBB_POLICY_KNOWN,    /* cost to make again over bytes and time to the next use, all known */
    EBB_POLICY_BACKWARD, /* the same, next uses known in the backward pass only: no learning */
    EBB_POLICY_H_DTR,    /* DTR as published: that score, by the rules of its own simulator */
    EBB_POLICY_H_DTR_EXACT, /* cost of all around it over bytes and staleness */
    EBB_POLICY_H_LOCAL,     /* its own cost over bytes and staleness */
    EBB_POLICY_LRU,         /* staleness */
    EBB_POLICY_MSPS,        /* cost to make again over bytes */
    EBB_POLICY_MAX
} ebb_policy;
/* "planned", "known", ...; NULL if there is none. Of the name: EBB_POLICY_MAX if there is none. */
EBB_API const char *ebb_policy_name(ebb_policy policy);
EBB_API ebb_policy ebb_policy_of(const char *name);

typedef struct ebb_simulate_options {
    ebb_policy policy;
    int32_t most_runs; /* simulated for PLANNED; 0: 200 */
    double limit;      /* most cost in all, in units of the trace's; 0: 8 */
    uint64_t reserved[4];
} ebb_simulate_options;
typedef struct ebb_simulation {
    bool works;         /* else: the first that did not find room, or too dear */
    bool is_infeasible; /* below the lower bound */
    double slowdown;    /* cost over the trace's; until the end, where it does not work */
    double bound; /* on slowdown, of any schedule in this order; 0 for H_DTR: other rules */
    size_t peak_bytes;
    size_t short_bytes; /* that were missing where it does not work */
    size_t moved_bytes; /* slid together in an arena of the budget's size */
    size_t allocated_bytes;
    int64_t n_evictions, n_rebuilt, n_moves;
    uint64_t reserved[4];
} ebb_simulation;
/* One iteration within budget bytes (0: none).
 *
 *   options  NULL for defaults
 *
 * That it does not work is a result, no error.
 * Errors  EBB_E_MISUSE; EBB_E_NOMEM.
 */
EBB_API EBB_NODISCARD ebb_status ebb_iteration_simulate(ebb_simulation *out,
                                                        const ebb_iteration *trace,
                                                        size_t budget,
                                                        const ebb_simulate_options *options);
/* A budget that works at a slowdown of at most `limit` (> 1), found by halving to a half per cent of
 * the peak with a few policies of known next uses: a plan, or another policy, may do with less.
 *
 *   simulation  of that budget; NULL: not wanted
 *
 * Errors  EBB_E_MISUSE; EBB_E_NOMEM.
 */
EBB_API EBB_NODISCARD ebb_status ebb_iteration_smallest(size_t *budget_out,
                                                        ebb_simulation *simulation,
                                                        const ebb_iteration *trace,
                                                        double limit);

#ifdef __cplusplus
}
#endif

#endif
