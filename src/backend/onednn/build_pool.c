/* build_pool.c - plans for average pooling and its gradient, on plain layouts.
 *
 * Max pooling is not here: what oneDNN keeps for the gradient is tied to its own layouts.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

/* Elements below which the reference kernel is done before oneDNN has started. */
static const int64_t POOL_WORTH = 16384;

/* What oneDNN cannot say: a divisor of one's own, a last window that is cut off. */
bool ebb__dnnl_avg_pool_worth(const ebb__call *c)
{
    const bool *ceil_mode = ebb__dnnl_attribute(c, "ceil_mode");
    const int64_t *divisor = ebb__dnnl_attribute(c, "divisor");
    return ebb__dnnl_all_f32(c) && !(ceil_mode && *ceil_mode) && !(divisor && *divisor) &&
           ebb__n_elems(&c->in[0].shape) >= POOL_WORTH;
}

/* The sides of the window: an array, or by their names. */
static void read_kernel(dnnl_dims_t kernel, const ebb__call *c, int32_t n)
{
    static const char *const side[] = {"kernel_d", "kernel_h", "kernel_w"};
    const int64_t *all = ebb__dnnl_attribute(c, "kernel");
    for (int32_t i = 0; i < n; i++) {
        const int64_t *own = all ? all + i : ebb__dnnl_attribute(c, side[3 - n + i]);
        kernel[i] = own ? *own : 1;
    }
}

static ebb__dnnl_request request_of(const ebb__call *c, ebb__dnnl_kind kind, const ebb_view *x,
                                    const ebb_view *y)
{
    const int64_t *stride = ebb__dnnl_attribute(c, "stride");
    const int64_t *padding = ebb__dnnl_attribute(c, "padding");
    const bool *exclude = ebb__dnnl_attribute(c, "exclude_padding");
    ebb__dnnl_request r = {.kind = kind, .exclude_pad = exclude && *exclude};
    int32_t rank = (int32_t)x->shape.n_dims;
    r.src = ebb__dnnl_layout_dense(rank, x->shape.dims);
    r.dst = ebb__dnnl_layout_dense(rank, y->shape.dims);
    read_kernel(r.kernel, c, rank - 2);
    for (int32_t i = 0; i < rank - 2; i++) {
        r.stride[i] = stride && stride[i] ? stride[i] : r.kernel[i];
        r.padding[i] = padding ? padding[i] : 0;
    }
    return r;
}

void ebb__dnnl_avg_pool_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_AVG_POOL, &c->in[0], &c->out[0]);
    ebb__dnnl_argument args[] = {{DNNL_ARG_SRC, ebb__dnnl_in(p, 0, &r.src)},
                                 {DNNL_ARG_DST, ebb__dnnl_out(p, 0, &r.dst)}};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 2, args);
}

void ebb__dnnl_avg_pool_grad_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_AVG_POOL_GRAD, &c->out[0], &c->in[0]);
    ebb__dnnl_argument args[] = {{DNNL_ARG_DIFF_DST, ebb__dnnl_in(p, 0, &r.dst)},
                                 {DNNL_ARG_DIFF_SRC, ebb__dnnl_out(p, 0, &r.src)}};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 2, args);
}
