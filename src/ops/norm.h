/* norm.h - what batch norm and layer norm share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_NORM_H
#define EBB_OPS_NORM_H

#include "op/op.h"

#include <stddef.h>

typedef struct norm_attr {
    double eps, momentum;
    bool inference;
} norm_attr;
#define NORM_SPECS(is_option)                                                                  \
    {                                                                                          \
        {"eps", EBB_ATTR_F64, offsetof(norm_attr, eps), is_option, "0: 1e-5"},                 \
            {"momentum", EBB_ATTR_F64, offsetof(norm_attr, momentum), is_option,               \
             "of the running statistics; 0: 0.1"},                                             \
            {"inference", EBB_ATTR_BOOL, offsetof(norm_attr, inference), is_option,            \
             "normalise with the running statistics and leave them alone"},                    \
        {                                                                                      \
            0                                                                                  \
        }                                                                                      \
    }

typedef struct norm_work {
    ebb_dtype dtype;
    int64_t n_groups, n_runs, run, step;
    const void *x, *weight, *bias, *mean, *var, *rstd, *grad;
    void *out, *mean_out, *rstd_out, *run_mean, *run_var, *dw, *db;
    double eps, momentum;
    double *sums;
    bool is_fixed; /* mean and var are given */
} norm_work;

static inline double norm_eps(const norm_attr *a)
{
    return a->eps != 0 ? a->eps : 1e-5;
}
static inline ebb_status norm_check_attr(const norm_attr *a)
{
    if (!(a->eps >= 0)) return ebb__fail(EBB_E_RANGE, "eps is %g, it must be positive", a->eps);
    if (!(a->momentum >= 0 && a->momentum <= 1))
        return ebb__fail(EBB_E_RANGE, "momentum is %g, it must be in [0, 1]", a->momentum);
    return EBB_OK;
}
/* The data of an optional operand, or NULL. */
static inline const void *norm_data(const ebb__call *c, int32_t i)
{
    return i < c->n_in && c->in[i].dtype ? c->in[i].data : NULL;
}

#endif
