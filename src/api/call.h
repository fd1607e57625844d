/* call.h - how generated functions reach the engine.
 *
 * What the engine does not see is checked here: lists, output arrays, reserved members of
 * options.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_API_CALL_H
#define EBB_API_CALL_H

#include "autodiff/engine.h"

/* One result, NULL on failure. ctx is NULL where there is an input. */
static inline ebb_tensor *ebb__call1(ebb_context *ctx, const ebb_op *op, const void *attr,
                                     int32_t n_in, ebb_tensor *const *in)
{
    return ebb__run1(ctx, op, attr, n_in, in);
}
/* Several results to out-parameters, all NULL on failure. */
ebb_status ebb__call_outs(ebb_tensor **const *out, int32_t n_out, const ebb_op *op,
                          const void *attr, int32_t n_in, ebb_tensor *const *in);
/* An operation whose last input is a list, after n_first others. */
ebb_tensor *ebb__call_list(const ebb_op *op, const void *attr, ebb_tensor *const *first,
                           int32_t n_first, ebb_tensor *const *list, int64_t n);
/* n_out results to an array; shape says whether that many are right. in: a list of n. */
ebb_status ebb__call_parts(ebb_tensor **out, int64_t n_out, const ebb_op *op, const void *attr,
                           ebb_tensor *const *in, int64_t n);
/* E_MISUSE where a reserved member of an options struct is not zero. */
ebb_status ebb__call_reserved(const ebb_op *op, const uint64_t reserved[4]);

#endif
