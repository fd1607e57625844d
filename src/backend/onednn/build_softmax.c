/* build_softmax.c - plans for softmax, log_softmax and their gradients.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

#include <string.h>

/* Elements below which the reference kernel is done before oneDNN has started. */
static const int64_t SOFTMAX_WORTH = 16384;

bool ebb__dnnl_softmax_worth(const ebb__call *c)
{
    return ebb__dnnl_all_f32(c) && ebb__n_elems(&c->in[0].shape) >= SOFTMAX_WORTH;
}

static ebb__dnnl_request request_of(const ebb__call *c, ebb__dnnl_kind kind)
{
    const ebb_shape *s = &c->in[0].shape;
    const int64_t *axis = ebb__dnnl_attribute(c, "axis");
    ebb__dnnl_request r = {.kind = kind};
    r.src = r.dst = ebb__dnnl_layout_dense((int32_t)s->n_dims, s->dims);
    r.axis = (int32_t)(axis ? *axis : -1);
    if (r.axis < 0) r.axis += (int32_t)s->n_dims;
    r.log = strncmp(c->op->name, "log_", 4) == 0;
    return r;
}

static bool all_contiguous(const ebb__call *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (!ebb__view_is_contiguous(&c->in[i])) return false;
    return true;
}

void ebb__dnnl_softmax_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_SOFTMAX);
    if (!all_contiguous(c)) {
        ebb__dnnl_refuse(p);
        return;
    }
    ebb__dnnl_argument args[2];
    args[0] = (ebb__dnnl_argument){DNNL_ARG_SRC, ebb__dnnl_in(p, 0, &r.src)};
    args[1] = (ebb__dnnl_argument){DNNL_ARG_DST, ebb__dnnl_out(p, 0, &r.dst)};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 2, args);
}

void ebb__dnnl_softmax_grad_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_SOFTMAX_GRAD);
    int32_t g = ebb__dnnl_input(c, "g"), y = ebb__dnnl_input(c, "y");
    if (g < 0 || y < 0 || !all_contiguous(c)) {
        ebb__dnnl_refuse(p);
        return;
    }
    ebb__dnnl_argument args[3];
    args[0] = (ebb__dnnl_argument){DNNL_ARG_DIFF_DST, ebb__dnnl_in(p, g, &r.dst)};
    args[1] = (ebb__dnnl_argument){DNNL_ARG_DST, ebb__dnnl_in(p, y, &r.dst)};
    args[2] = (ebb__dnnl_argument){DNNL_ARG_DIFF_SRC, ebb__dnnl_out(p, 0, &r.src)};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 3, args);
}
