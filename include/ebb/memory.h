/* memory.h - bytes traded for time: regions whose insides are made again, and what a budget costs.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_H
#define EBB_MEMORY_H

#include <ebb/context.h>
#include <ebb/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_checkpoint {
    ebb_context *ctx;
    uint64_t start, reserved;
} ebb_checkpoint;
/* What ctx makes from here on and nobody holds at the end is made again when a backward reads it: only
 * the results that leave the region keep their bytes. Random numbers are those of the first run,
 * state (running statistics) is left alone, gradients are the same bit for bit, of any order.
 * Regions nest. What other threads make in ctx meanwhile is treated alike.
 * Errors: NULL and contexts that are not usable make a region that does nothing. */
EBB_API ebb_checkpoint ebb_checkpoint_begin(ebb_context *ctx);
EBB_API void ebb_checkpoint_end(ebb_checkpoint *region);

typedef struct ebb_room_stats {
    uint64_t n_evictions;  /* values given up for a budget */
    uint64_t n_recomputes; /* operations run again, for a budget or a region */
    uint64_t recompute_ns; /* what that took */
    uint64_t moved_bytes;  /* moved to join free bytes */
    /* Learned from steps; zeros on any but the thread that trains. */
    uint64_t n_traces, n_plans; /* steps that are known again; those with a plan */
    uint64_t n_steps_known;     /* that went to their end like one before */
    uint64_t plan_ns;           /* spent on planning */
    uint64_t reserved[4];
} ebb_room_stats;
/* Since the context was made; of all that share its memory. */
EBB_API void ebb_room_stats_get(ebb_room_stats *out, const ebb_context *ctx);

#ifdef __cplusplus
} /* extern "C" */
struct ebb__region : ebb_checkpoint {
    explicit ebb__region(ebb_context *in) : ebb_checkpoint(ebb_checkpoint_begin(in))
    {
    }
    ~ebb__region()
    {
        ebb_checkpoint_end(this);
    }
    ebb__region(const ebb__region &) = delete;
    ebb__region &operator=(const ebb__region &) = delete;
};
#define EBB__REGION(region, ctx) ebb__region region(ctx)
#elif defined __GNUC__
#define EBB__REGION(region, ctx)                                                               \
    ebb_checkpoint region __attribute__((cleanup(ebb_checkpoint_end), unused)) =               \
        ebb_checkpoint_begin(ctx)
#endif
#ifdef EBB__REGION /* elsewhere: ebb_checkpoint_begin and _end, around a scope */
/* A declaration: a scope of that name, and around it a region; results leave by
 * ebb_escape(name, t). */
#define EBB_CHECKPOINT(name, ctx)                                                              \
    EBB__REGION(name##_region_, ctx);                                                          \
    EBB_SCOPE(name)
#endif

#endif
