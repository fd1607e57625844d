/* recorded.c - recorded iterations under a budget, for programs and tools.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_NO_SITES
#define EBB_NO_SITES
#endif
#include "api/recorded.h"

#include "api/api.h"
#include "memory/planner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- loading ----------------------------------------------------------------------------- */
typedef struct text {
    char *bytes;
    size_t n, max;
} text;

static ebb_status text_room(text *t)
{
    if (t->n < t->max) return EBB_OK;
    size_t max = t->max ? 2 * t->max : 1 << 16;
    char *bytes = max > t->max ? ebb__alloc(&ebb__allocator_libc, max, 16) : NULL;
    if (!bytes) return ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", max);
    if (t->n) memcpy(bytes, t->bytes, t->n);
    ebb__free(&ebb__allocator_libc, t->bytes, t->max);
    t->bytes = bytes;
    t->max = max;
    return EBB_OK;
}

static ebb_status text_read(text *t, FILE *f, const char *path)
{
    size_t n;
    do {
        EBB_TRY(text_room(t));
        n = fread(t->bytes + t->n, 1, t->max - t->n, f);
        t->n += n;
    } while (n);
    if (ferror(f)) return ebb__fail(EBB_E_IO, "%.200s: %s", path, strerror(errno));
    return EBB_OK;
}

static ebb_status trace_read(ebb__trace *out, const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) return ebb__fail(EBB_E_IO, "%.200s: %s", path, strerror(errno));
    text t = {0};
    ebb_status s = text_read(&t, f, path);
    fclose(f);
    if (s == EBB_OK) s = ebb__trace_parse(out, &ebb__allocator_libc, t.bytes, t.n);
    ebb__free(&ebb__allocator_libc, t.bytes, t.max);
    return s;
}

ebb_status ebb__iteration_make(ebb_iteration **out, ebb__trace *take_trace)
{
    ebb_iteration *t = ebb__alloc(&ebb__allocator_libc, sizeof *t, 16);
    ebb_status s = EBB_OK;
    if (!t) s = ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", sizeof *t);
    if (t) s = ebb__trace_check(take_trace);
    if (s == EBB_OK) s = ebb__program_create(&t->program, &ebb__allocator_libc, take_trace);
    if (s != EBB_OK) {
        ebb__trace_destroy(take_trace);
        ebb__free(&ebb__allocator_libc, t, sizeof *t);
        return s;
    }
    t->trace = *take_trace;
    *out = t;
    return EBB_OK;
}

ebb_status ebb_iteration_load(ebb_iteration **trace_out, const char *path)
{
    ebb__trace trace;
    if (!trace_out || !path)
        return ebb__fail(EBB_E_MISUSE, "ebb_iteration_load: trace_out or path is NULL");
    *trace_out = NULL;
    EBB_TRY(trace_read(&trace, path));
    return ebb__iteration_make(trace_out, &trace);
}

static bool file_put(void *user, const char *s, size_t n)
{
    return fwrite(s, 1, n, user) == n;
}

ebb_status ebb_iteration_save(const ebb_iteration *trace, const char *path)
{
    if (!trace || !path)
        return ebb__fail(EBB_E_MISUSE, "ebb_iteration_save: trace or path is NULL");
    FILE *f = fopen(path, "wb");
    if (!f) return ebb__fail(EBB_E_IO, "%.200s: %s", path, strerror(errno));
    bool good = ebb__trace_print(&trace->trace, file_put, f);
    good = fclose(f) == 0 && good;
    return good ? EBB_OK : ebb__fail(EBB_E_IO, "%.200s: %s", path, strerror(errno));
}

void ebb_iteration_destroy(ebb_iteration *trace)
{
    if (!trace) return;
    ebb__program_destroy(&trace->program);
    ebb__trace_destroy(&trace->trace);
    ebb__free(&ebb__allocator_libc, trace, sizeof *trace);
}

ebb_status ebb_iteration_facts_get(ebb_iteration_facts *out, const ebb_iteration *trace)
{
    if (!out || !trace)
        return ebb__fail(EBB_E_MISUSE, "ebb_iteration_facts_get: out or trace is NULL");
    const ebb__program *p = &trace->program;
    *out = (ebb_iteration_facts){.n_values = p->n_vals,
                                 .cost = p->cost,
                                 .peak_bytes = (size_t)p->peak,
                                 .lower_bound = (size_t)p->bottleneck};
    for (uint32_t i = 0; i < p->n_steps; i++) {
        const ebb__step *s = &p->steps[i];
        out->n_operations += s->kind == EBB__STEP_RUN;
        bool before = s->kind == EBB__STEP_SOURCE && !out->n_operations;
        for (uint32_t k = 0; before && k < s->n_out; k++)
            out->outside_bytes += (size_t)p->bytes[ebb__step_out(p, i)[k]];
    }
    return EBB_OK;
}

/* ---- policies ---------------------------------------------------------------------------- */
static const struct {
    const char *name;
    const ebb__policy *policy; /* NULL: not one of the ledger's */
} policies[EBB_POLICY_MAX] = {
    {"planned", NULL},
    {"known", &ebb__policy_next},
    {"backward", &ebb__policy_next},
    {"h_dtr", NULL},
    {"h_dtr_exact", &ebb__policy_h_dtr},
    {"h_local", &ebb__policy_h_local},
    {"lru", &ebb__policy_lru},
    {"msps", &ebb__policy_msps},
};

const char *ebb_policy_name(ebb_policy policy)
{
    return (unsigned)policy < EBB_POLICY_MAX ? policies[policy].name : NULL;
}

ebb_policy ebb_policy_of(const char *name)
{
    int i = 0;
    while (i < EBB_POLICY_MAX && !(name && strcmp(policies[i].name, name) == 0)) i++;
    return (ebb_policy)i;
}

/* ---- simulation -------------------------------------------------------------------------- */
static double ratio(const ebb__program *p, double cost)
{
    return p->cost > 0 ? cost / p->cost : 1;
}

static void result_give(ebb_simulation *out, const ebb__program *p, const ebb__ghost_result *r,
                        size_t budget)
{
    *out = (ebb_simulation){.works = r->end == EBB__GHOST_DONE,
                            .is_infeasible = budget && budget < p->bottleneck,
                            .slowdown = ratio(p, r->cost),
                            .peak_bytes = (size_t)r->peak,
                            .short_bytes = (size_t)r->short_bytes,
                            .moved_bytes = (size_t)r->moved_bytes,
                            .allocated_bytes = (size_t)r->allocated_bytes,
                            .n_evictions = r->n_evictions,
                            .n_rebuilt = r->n_rebuilt,
                            .n_moves = r->n_moves};
}

/* What no schedule avoids, in units of the program's cost. */
static ebb_status bound_find(double *out, const ebb__program *p, size_t budget, double cost)
{
    enum { PASSES = 300 };
    ebb__bound b;
    *out = 1;
    if (!budget || budget >= p->peak) return EBB_OK;
    EBB_TRY(ebb__bound_create(&b, p, budget));
    for (int i = 0; i < PASSES; i++) ebb__bound_pass(&b, cost - p->cost);
    *out = ratio(p, p->cost + b.best);
    ebb__bound_destroy(&b);
    return EBB_OK;
}

static ebb_status plan_find(ebb__ghost_result *r, const ebb__program *p, size_t budget,
                            uint32_t most_runs, double limit)
{
    ebb__planner n;
    bool is_done = false;
    EBB_TRY(ebb__planner_create(&n, p, budget));
    ebb_status s = EBB_OK;
    while (s == EBB_OK && !is_done && n.n_tried < most_runs)
        s = ebb__planner_work(&is_done, &n, 1);
    /* Once more for the addresses; where there is no plan, to say what is short. */
    ebb__ghost_options o = {.budget = budget};
    if (n.best.result.end == EBB__GHOST_DONE) ebb__plan_options(&o, &n.best, budget);
    o.moves = true;
    o.limit = limit;
    if (s == EBB_OK) s = ebb__ghost_run(r, p, &o);
    ebb__planner_destroy(&n);
    return s;
}

static ebb_status options_check(const ebb_simulate_options *o)
{
    EBB_TRY(ebb__reserved_check("ebb_iteration_simulate: ", o->reserved,
                                sizeof o->reserved / sizeof *o->reserved));
    if ((unsigned)o->policy >= EBB_POLICY_MAX)
        return ebb__fail(EBB_E_MISUSE, "ebb_iteration_simulate: policy %d is not in [0, %d)",
                         (int)o->policy, (int)EBB_POLICY_MAX);
    if (o->most_runs < 0 || !(o->limit >= 0))
        return ebb__fail(EBB_E_MISUSE,
                         "ebb_iteration_simulate: most_runs or limit is negative");
    return EBB_OK;
}

ebb_status ebb_iteration_simulate(ebb_simulation *out, const ebb_iteration *trace,
                                  size_t budget, const ebb_simulate_options *options)
{
    ebb_simulate_options o = {0};
    if (options) o = *options;
    if (!out || !trace)
        return ebb__fail(EBB_E_MISUSE, "ebb_iteration_simulate: out or trace is NULL");
    EBB_TRY(options_check(&o));
    const ebb__program *p = &trace->program;
    ebb__ghost_result r = {0};
    if (o.policy == EBB_POLICY_H_DTR) {
        EBB_TRY(ebb__ghost_dtr(&r, &trace->trace, budget, o.limit));
    } else if (o.policy == EBB_POLICY_PLANNED) {
        EBB_TRY(plan_find(&r, p, budget, o.most_runs ? (uint32_t)o.most_runs : 200, o.limit));
    } else {
        ebb__ghost_options g = {.budget = budget,
                                .policy = *policies[o.policy].policy,
                                .limit = o.limit,
                                .moves = true};
        if (o.policy == EBB_POLICY_BACKWARD) g.known_from = p->n_forward;
        EBB_TRY(ebb__ghost_run(&r, p, &g));
    }
    double bound = 0;
    if (o.policy != EBB_POLICY_H_DTR)
        EBB_TRY(bound_find(&bound, p, budget,
                           r.end == EBB__GHOST_DONE ? r.cost : (double)INFINITY));
    result_give(out, p, &r, budget);
    out->bound = bound;
    return EBB_OK;
}

ebb_status ebb_iteration_smallest(size_t *budget_out, ebb_simulation *simulation,
                                  const ebb_iteration *trace, double limit)
{
    if (!budget_out || !trace)
        return ebb__fail(EBB_E_MISUSE, "ebb_iteration_smallest: budget_out or trace is NULL");
    if (!(limit > 1))
        return ebb__fail(EBB_E_MISUSE,
                         "ebb_iteration_smallest: limit is %g, more than 1 is allowed", limit);
    uint64_t budget;
    double bound;
    ebb__ghost_result r;
    const ebb__program *p = &trace->program;
    EBB_TRY(ebb__planner_smallest(&budget, &r, p, limit));
    EBB_TRY(bound_find(&bound, p, (size_t)budget, r.cost));
    *budget_out = (size_t)budget;
    if (!simulation) return EBB_OK;
    result_give(simulation, p, &r, (size_t)budget);
    simulation->bound = bound;
    return EBB_OK;
}
