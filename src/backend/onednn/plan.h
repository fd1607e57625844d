/* plan.h - what oneDNN runs for one application: a few primitives over numbered memories.
 *
 * A plan is immutable once built, apart from its pool of frames. A frame is what one execution
 * needs for itself: a stream, memory objects (they hold addresses) and argument lists. Frames
 * are handed out under the plan's lock and come back, so executions of one plan may overlap and
 * the steady state allocates nothing. Memories in scratch lie at fixed offsets, 64-byte
 * aligned.
 *
 * Where items of a batch are independent a plan may cut the batch into one range per thread,
 * and each range into rounds of a few items. A round runs on one thread: what oneDNN keeps in
 * scratch stays small and in that processor's cache, and the threads meet once, at the end. The
 * last round of a range may repeat items of the one before.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BACKEND_ONEDNN_PLAN_H
#define EBB_BACKEND_ONEDNN_PLAN_H

#include "backend/onednn/primitive.h"
#include "base/alloc.h"
#include "base/lock.h"
#include "op/op.h"

enum {
    EBB__DNNL_MEMORIES = 12,
    EBB__DNNL_STEPS = 6,
    EBB__DNNL_ARGS = 10 /* of one step, its scratchpad included */
};

typedef struct ebb__dnnl_frame ebb__dnnl_frame;
/* A step of our own: to[i] from from[i]; they may be the same. */
typedef void (*ebb__dnnl_own)(float *to, const float *from, int64_t n, double parameter);
typedef struct ebb__dnnl_plan {
    dnnl_engine_t engine;
    const ebb_allocator *allocator;
    dnnl_status_t status; /* sticky while building */
    int32_t n_memories, n_steps;
    size_t scratch_bytes; /* with rounds, of each range while building, then of all */
    int32_t n_ranges;     /* 0: no rounds; the primitives use the call's threads */
    int64_t n_items, round_items;
    size_t range_bytes;          /* of scratch */
    int32_t sum_memory, sum_out; /* n_sum numbers that the ranges make in scratch are added up
                                    in that output; n_sum 0: none */
    int64_t n_sum;
    struct {
        enum { EBB__DNNL_IN, EBB__DNNL_OUT, EBB__DNNL_SCRATCH } where;
        int32_t index;     /* of the call's in or out */
        size_t offset;     /* in scratch */
        size_t item_bytes; /* from item to item of the batch; 0: the same in all rounds */
        dnnl_memory_t of;  /* carries the descriptor; has no bytes */
    } memory[EBB__DNNL_MEMORIES];
    struct {
        dnnl_primitive_t primitive; /* NULL: own(memory arg[0], memory arg[1], n, parameter) */
        ebb__dnnl_own own;
        int64_t n;
        double parameter;
        enum {
            EBB__DNNL_ALWAYS,
            EBB__DNNL_FIRST,
            EBB__DNNL_LATER
        } when; /* in which rounds of a range */
        int32_t n_args;
        struct {
            int32_t arg, memory;
        } arg[EBB__DNNL_ARGS];
    } step[EBB__DNNL_STEPS];
    ebb__lock lock;
    ebb__dnnl_frame *frames; /* idle ones */
} ebb__dnnl_plan;

typedef struct ebb__dnnl_argument {
    int32_t arg, memory;
} ebb__dnnl_argument;

/* Sets OpenMP's thread count of the calling thread; returns the one before. */
int ebb__dnnl_threads_set(int n);

/* Building. Errors are sticky: memories are then -1. */
void ebb__dnnl_plan_init(ebb__dnnl_plan *p, dnnl_engine_t engine, const ebb_allocator *a);
void ebb__dnnl_plan_destroy(ebb__dnnl_plan *p);
/* The call's input or output of that number, seen as l. With rounds, l is what one round sees.
 */
int32_t ebb__dnnl_in(ebb__dnnl_plan *p, int32_t i, const ebb__dnnl_layout *l);
int32_t ebb__dnnl_out(ebb__dnnl_plan *p, int32_t k, const ebb__dnnl_layout *l);
int32_t ebb__dnnl_temporary(ebb__dnnl_plan *p, const ebb__dnnl_layout *l);
/* NULL on failure. The primitive goes into the plan with its step. */
dnnl_primitive_t ebb__dnnl_make(ebb__dnnl_plan *p, const ebb__dnnl_request *r);
/* The memory that the primitive reads as `arg` where it lies in `memory`: that one if the
 * layouts agree, else a copy in scratch that a step of its own fills. */
int32_t ebb__dnnl_read(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int arg, int32_t memory);
/* The memory that it writes as `arg`; if it is in scratch, ebb__dnnl_write after the step. */
int32_t ebb__dnnl_target(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int arg,
                         int32_t memory);
int32_t ebb__dnnl_scratch(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int arg);
void ebb__dnnl_write(ebb__dnnl_plan *p, int32_t written, int32_t memory);
/* Says that axis 0 of a memory is the batch: its address moves from round to round. */
int32_t ebb__dnnl_batch(ebb__dnnl_plan *p, int32_t memory, const ebb__dnnl_layout *l);
/* The rounds' contributions are added up in the call's output k, seen as l. */
void ebb__dnnl_write_sum(ebb__dnnl_plan *p, int32_t written, int32_t k,
                         const ebb__dnnl_layout *l);
void ebb__dnnl_step(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int32_t n,
                    const ebb__dnnl_argument *args);
void ebb__dnnl_own_step(ebb__dnnl_plan *p, ebb__dnnl_own own, int32_t to, int32_t from,
                        int64_t n, double parameter);

/* Ends the building: status is success only if every step has a fast kernel. */
void ebb__dnnl_plan_finish(ebb__dnnl_plan *p);

/* Of plan_run.c, for plan.c. */
dnnl_status_t ebb__dnnl_frames_prepare(ebb__dnnl_plan *p, int32_t n);
void ebb__dnnl_frames_destroy(ebb__dnnl_plan *p);

/* The layouts of a view: as it is; in C order; left to oneDNN. */
ebb__dnnl_layout ebb__dnnl_layout_of(const ebb_view *v);
ebb__dnnl_layout ebb__dnnl_layout_dense(int32_t rank, const int64_t *dims);
ebb__dnnl_layout ebb__dnnl_layout_any(ebb__dnnl_layout l);

ebb_status ebb__dnnl_plan_run(ebb__dnnl_plan *p, const ebb__call *c);

#endif
