/* graph_program.h - small programs over a graph: made at random or read from a trace, run on
 * the library, and answered from the definition by the oracle.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_SUPPORT_GRAPH_PROGRAM_H
#define EBB_TESTS_SUPPORT_GRAPH_PROGRAM_H

#include "graph/graph.h"

#include <stdio.h>

enum { PROGRAM_PARENTS = 4 };

typedef enum step_kind { STEP_LEAF, STEP_OP, STEP_HOLD, STEP_DROP, STEP_BACK } step_kind;

/* One statement. parents are those of an op; of a back they are the chosen inputs. */
typedef struct program_step {
    step_kind kind;
    bool keep, has_inputs, allow_unused; /* of a back */
    int32_t id, n_parents;
    int32_t parents[PROGRAM_PARENTS];
} program_step;

typedef struct program {
    program_step *steps;
    int32_t n_steps, size;
    int32_t n_nodes;
    int32_t *handles; /* per node, after all steps */
    int32_t nodes_size;
} program;

typedef struct program_shape {
    int32_t most_nodes;
    int32_t leaves, ops, holds, drops, backs; /* weights */
    bool keeps, inputs;                       /* backs of these kinds too */
} program_shape;

uint64_t random_next(uint64_t *state);
int32_t random_below(uint64_t *state, int32_t n);

void program_add(program *p, program_step s);
/* One more statement that a user could write; false where the program is full. */
bool program_grow(program *p, const program_shape *shape, uint64_t *random);
void program_clear(program *p);
void program_free(program *p);
/* As a trace (kept and chosen backs as comments). */
void program_print(FILE *to, const program *p, int32_t n_steps);

/* ---- what must hold, from the whole history ---------------------------------------------- */
typedef struct answer {
    uint8_t *state;   /* per node: ebb_graph_state; LIVE also for one freed while live */
    bool *is_alive;   /* per node: an interior node's payload is there */
    bool ok;          /* of the last step, a back */
    bool *is_reached; /* per node, of that back: an interior node visited, a leaf with a
                         gradient */
    int32_t size;
} answer;

void oracle_answer(answer *out, const program *p, int32_t n_steps);
void answer_free(answer *a);

/* ---- the same on the library ------------------------------------------------------------- */
typedef struct run_entry {
    struct run *run;
    ebb_graph_node *node;
    int32_t id, handles;
    bool is_leaf, has_payload, is_reached;
} run_entry;

typedef struct run {
    ebb_graph_space *space;
    run_entry **entries;
    int32_t n_entries, size;
    ebb_status status; /* of the last step */
    const char *fault; /* what a callback saw that must not be */
    const program *program;
} run;

void run_begin(run *r, const ebb_graph_space_options *options);
/* E_NOMEM leaves everything as it was before the step. */
void run_step(run *r, const program_step *s);
/* The first difference from the answer, NULL if none. full: with the audit. */
const char *run_compare(run *r, const answer *a, const program_step *last, bool full);
/* Releases every handle. */
void run_release(run *r);
void run_end(run *r);

#endif
