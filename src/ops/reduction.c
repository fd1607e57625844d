/* reduction.c - how a loss ends: the mean, the sum, or every element.
 * SPDX-License-Identifier: MIT */
#include "ops/reduction.h"

const ebb_attr_spec ebb__reduction_specs[] = {EBB_REDUCTION_SPEC(ebb__reduction_attr, true),
                                              {0}};

ebb_status ebb__reduction_check(int64_t reduction)
{
    if (reduction >= EBB_REDUCTION_MEAN && reduction <= EBB_REDUCTION_NONE) return EBB_OK;
    return ebb__fail(
        EBB_E_RANGE, "reduction is %lld, mean (%d), sum (%d) and none (%d) are allowed",
        (long long)reduction, EBB_REDUCTION_MEAN, EBB_REDUCTION_SUM, EBB_REDUCTION_NONE);
}

ebb_tensor *ebb__reduction_of(ebb_vjp *v, int64_t reduction, ebb_tensor *each)
{
    if (v->status == EBB_OK) v->status = ebb__reduction_check(reduction);
    if (v->status != EBB_OK) return NULL;
    if (reduction == EBB_REDUCTION_NONE) return each;
    return reduction == EBB_REDUCTION_SUM ? ebb__rule_sum(v, each, EBB_ALL)
                                          : ebb__rule_mean(v, each, EBB_ALL);
}

ebb_tensor *ebb__weighed(ebb_vjp *v, ebb_tensor *weight, ebb_tensor *x)
{
    double zero = 0;
    ebb_tensor *none = EBB_EMIT(v, logical_and, NULL, EBB_EMIT(v, logical_not, NULL, weight),
                                EBB_EMIT(v, isinf, NULL, x));
    return EBB_EMIT(v, masked_fill, &zero, ebb__rule_mul(v, weight, x), none);
}

ebb_shape ebb__tensor_shape(const ebb_tensor *t)
{
    ebb_shape s = {.n_dims = ebb_rank(t)};
    for (int64_t d = 0; d < s.n_dims && d < EBB_MAX_DIMS; d++) s.dims[d] = ebb_dim(t, d);
    return s;
}
