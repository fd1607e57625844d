/* custom_parts.h - what the tests' own operations are made of.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_CUSTOM_PARTS_H
#define EBB_TESTS_CUSTOM_PARTS_H

#include <ebb/ebb.h>

static inline int64_t n_elems(const ebb_view *v)
{
    int64_t n = 1;
    for (int64_t i = 0; i < v->shape.n_dims; i++) n *= v->shape.dims[i];
    return n;
}

static inline ebb_status like_first(ebb_dtype *d, ebb_shape *s, const ebb_view *in,
                                    const void *attr)
{
    (void)attr;
    d[0] = in[0].dtype;
    s[0] = in[0].shape;
    return EBB_OK;
}

#endif
