/* build_pool.c - plans for average pooling and its gradient, on plain layouts.
 *
 * Max pooling is not here: what oneDNN keeps for the gradient is tied to its own layouts.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

/* Elements below which the reference kernel is done before oneDNN has started. */
static const int64_t POOL_WORTH = 16384;

bool ebb__dnnl_avg_pool2d_worth(const ebb__call *c)
{
    return ebb__dnnl_all_f32(c) && c->in[0].shape.n_dims == 4 &&
           ebb__n_elems(&c->in[0].shape) >= POOL_WORTH;
}

static ebb__dnnl_request request_of(const ebb__call *c, ebb__dnnl_kind kind, const ebb_view *x,
                                    const ebb_view *y)
{
    const int64_t *kernel[2] = {ebb__dnnl_attribute(c, "kernel_h"),
                                ebb__dnnl_attribute(c, "kernel_w")};
    const int64_t *stride = ebb__dnnl_attribute(c, "stride");
    const int64_t *padding = ebb__dnnl_attribute(c, "padding");
    const bool *exclude = ebb__dnnl_attribute(c, "exclude_padding");
    ebb__dnnl_request r = {.kind = kind, .exclude_pad = exclude && *exclude};
    r.src = ebb__dnnl_layout_dense(4, x->shape.dims);
    r.dst = ebb__dnnl_layout_dense(4, y->shape.dims);
    for (int i = 0; i < 2; i++) {
        r.kernel[i] = kernel[i] ? *kernel[i] : 1;
        r.stride[i] = stride && stride[i] ? stride[i] : r.kernel[i];
        r.padding[i] = padding ? padding[i] : 0;
    }
    return r;
}

void ebb__dnnl_avg_pool2d_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_AVG_POOL, &c->in[0], &c->out[0]);
    ebb__dnnl_argument args[] = {{DNNL_ARG_SRC, ebb__dnnl_in(p, 0, &r.src)},
                                 {DNNL_ARG_DST, ebb__dnnl_out(p, 0, &r.dst)}};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 2, args);
}

void ebb__dnnl_avg_pool2d_grad_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_AVG_POOL_GRAD, &c->out[0], &c->in[0]);
    ebb__dnnl_argument args[] = {{DNNL_ARG_DIFF_DST, ebb__dnnl_in(p, 0, &r.dst)},
                                 {DNNL_ARG_DIFF_SRC, ebb__dnnl_out(p, 0, &r.src)}};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 2, args);
}
