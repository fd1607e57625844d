/* program.h - a checked trace made ready for simulation: vals instead of tensors and views,
 * steps instead of commands.
 *
 * val   a storage that has bytes. Views cost what they cost once and are never run again.
 * step  an operation: its cost, the vals it reads (each once; none where it only makes
 * views), makes, and those whose last reference is given up before the next step. Or a pin:
 * the val in[0] is in memory and stays. A source step makes what is there from outside.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_PROGRAM_H
#define EBB_MEMORY_PROGRAM_H

#include "memory/trace.h"

typedef enum ebb__step_kind { EBB__STEP_RUN, EBB__STEP_SOURCE, EBB__STEP_PIN } ebb__step_kind;

typedef struct ebb__step {
    double cost;
    uint32_t in, n_in; /* in links */
    uint32_t out, n_out;
    uint32_t gone, n_gone;
    uint32_t op; /* the trace's; of a pin: unspecified */
    ebb__step_kind kind;
} ebb__step;

typedef struct ebb__program {
    ebb_allocator allocator;
    uint32_t n_vals, n_steps, n_links, n_uses;
    uint32_t n_forward;   /* the first step of the backward pass, n_steps if there
                           is none */
    uint64_t *bytes;      /* of vals */
    uint32_t *made;       /* vals: the step that makes it */
    uint32_t *left;       /* vals: the step before whose end it has a reference;
                           n_steps: for ever */
    uint32_t *use, *uses; /* val v is read by the steps uses[use[v]..use[v + 1]),
                           ascending */
    uint32_t *links;
    ebb__step *steps;
    double *time;        /* n_steps + 1: cost of the steps before */
    double cost;         /* of all steps */
    uint64_t peak;       /* bytes by exact liveness without a budget */
    uint64_t bottleneck; /* no order of recomputation does with less: max of W_t */
    uint64_t *must;      /* steps: W_t, what must be in memory while it runs */
    void *block;         /* all tables */
    size_t own_bytes;    /* of the block */
} ebb__program;

/* Errors: E_NOMEM. */
ebb_status ebb__program_create(ebb__program *out, const ebb_allocator *allocator,
                               const ebb__trace *trace);
void ebb__program_destroy(ebb__program *p);

static inline const uint32_t *ebb__step_in(const ebb__program *p, uint32_t step)
{
    return p->links + p->steps[step].in;
}
static inline const uint32_t *ebb__step_out(const ebb__program *p, uint32_t step)
{
    return p->links + p->steps[step].out;
}
/* The first step at or after `from` that reads val; UINT32_MAX: none. */
uint32_t ebb__program_next_use(const ebb__program *p, uint32_t val, uint32_t from);

#endif
