/* build_matmul.c - plans for matrix products: matmul (batched, transposed by strides) and
 * linear.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

/* Multiplications below which the reference kernel is done before oneDNN has started. */
static const double MATMUL_WORTH = 32768;

/* A factor as a matrix (or a stack of them) of `rank` axes. A vector is a row on the left, a
 * column on the right; missing batch axes and axes of length 1 get strides that oneDNN accepts.
 */
static ebb__dnnl_layout factor_layout(const ebb_view *v, int32_t rank, bool left)
{
    ebb_view m = *v;
    if (v->shape.n_dims == 1) {
        int64_t n = v->shape.dims[0], step = v->strides[0];
        m.shape.n_dims = 2;
        m.shape.dims[0] = left ? 1 : n;
        m.shape.dims[1] = left ? n : 1;
        m.strides[0] = left ? n * step : step;
        m.strides[1] = left ? step : 1;
    }
    ebb__dnnl_layout l = {.rank = rank};
    int32_t missing = rank - (int32_t)m.shape.n_dims;
    int64_t reach = 1; /* past the end of everything inside */
    for (int32_t i = rank - 1; i >= 0; i--) {
        l.dims[i] = i < missing ? 1 : m.shape.dims[i - missing];
        l.strides[i] = i < missing ? 0 : m.strides[i - missing];
        if (l.dims[i] != 1 && l.dims[i] * l.strides[i] > reach)
            reach = l.dims[i] * l.strides[i];
    }
    /* Of the two matrix axes one has stride 1, whatever a length of 1 says. */
    for (int32_t i = 0; i < rank - 2; i++)
        if (l.dims[i] == 1) l.strides[i] = reach;
    int32_t row = rank - 2, column = rank - 1;
    if (l.dims[column] == 1 && l.dims[row] == 1)
        l.strides[row] = l.strides[column] = 1;
    else if (l.dims[column] == 1)
        l.strides[column] = l.strides[row] == 1 ? l.dims[row] : 1;
    else if (l.dims[row] == 1)
        l.strides[row] = l.strides[column] == 1 ? l.dims[column] : 1;
    return l;
}

/* oneDNN reads a matrix whose rows or columns are dense; anything else it would refuse slowly.
 */
static bool layout_fits(const ebb__dnnl_layout *l)
{
    int32_t row = l->rank - 2, column = l->rank - 1;
    for (int32_t i = 0; i < l->rank; i++)
        if (l->strides[i] <= 0) return false;
    return (l->strides[column] == 1 && l->strides[row] >= l->dims[column]) ||
           (l->strides[row] == 1 && l->strides[column] >= l->dims[row]);
}

/* x (batch..., m, k) with dense rows times a single matrix is one product of batch * m rows. */
static bool batch_is_rows(const ebb_view *x, const ebb_view *y)
{
    return x->shape.n_dims > 2 && y->shape.n_dims <= 2 && ebb__view_is_contiguous(x);
}

static void product_build(ebb__dnnl_plan *p, const ebb__dnnl_request *r, bool bias)
{
    if (!layout_fits(&r->src) || !layout_fits(&r->weight)) {
        ebb__dnnl_refuse(p);
        return;
    }
    ebb__dnnl_argument args[4];
    args[0] = (ebb__dnnl_argument){DNNL_ARG_SRC, ebb__dnnl_in(p, 0, &r->src)};
    args[1] = (ebb__dnnl_argument){DNNL_ARG_WEIGHTS, ebb__dnnl_in(p, 1, &r->weight)};
    args[2] = (ebb__dnnl_argument){DNNL_ARG_DST, ebb__dnnl_out(p, 0, &r->dst)};
    args[3] = (ebb__dnnl_argument){DNNL_ARG_BIAS, bias ? ebb__dnnl_in(p, 2, &r->bias) : -1};
    ebb__dnnl_step(p, ebb__dnnl_make(p, r), bias ? 4 : 3, args);
}

bool ebb__dnnl_matmul_worth(const ebb__call *c)
{
    const ebb_shape *x = &c->in[0].shape;
    if (!ebb__dnnl_all_f32(c) || x->n_dims < 1) return false;
    double k = (double)x->dims[x->n_dims - 1];
    return (double)ebb__n_elems(&c->out[0].shape) * k >= MATMUL_WORTH;
}

void ebb__dnnl_matmul_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb_view x = c->in[0], y = c->in[1];
    if (batch_is_rows(&x, &y)) {
        int64_t k = x.shape.dims[x.shape.n_dims - 1], n = ebb__n_elems(&x.shape);
        x.shape = (ebb_shape){2, {n / k, k}};
        ebb__view_contiguous(&x);
    }
    int64_t rank = x.shape.n_dims > y.shape.n_dims ? x.shape.n_dims : y.shape.n_dims;
    if (rank < 2) rank = 2;
    ebb__dnnl_request r = {.kind = EBB__DNNL_MATMUL};
    r.src = factor_layout(&x, (int32_t)rank, true);
    r.weight = factor_layout(&y, (int32_t)rank, false);
    int64_t dims[EBB_MAX_DIMS];
    for (int32_t i = 0; i < rank; i++)
        dims[i] = r.src.dims[i] > r.weight.dims[i] ? r.src.dims[i] : r.weight.dims[i];
    dims[rank - 2] = r.src.dims[rank - 2];
    dims[rank - 1] = r.weight.dims[rank - 1];
    r.dst = ebb__dnnl_layout_dense((int32_t)rank, dims);
    product_build(p, &r, false);
}

void ebb__dnnl_linear_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb_view x = c->in[0], w = c->in[1];
    if (x.shape.n_dims != 2) {
        if (!ebb__view_is_contiguous(&x)) {
            ebb__dnnl_refuse(p);
            return;
        }
        int64_t k = x.shape.dims[x.shape.n_dims - 1], n = ebb__n_elems(&x.shape);
        x.shape = (ebb_shape){2, {n / k, k}};
        ebb__view_contiguous(&x);
    }
    w.shape = (ebb_shape){2, {c->in[1].shape.dims[1], c->in[1].shape.dims[0]}};
    w.strides[0] = c->in[1].strides[1];
    w.strides[1] = c->in[1].strides[0];
    int64_t dims[2] = {x.shape.dims[0], w.shape.dims[1]}, row[2] = {1, w.shape.dims[1]};
    ebb__dnnl_request r = {.kind = EBB__DNNL_MATMUL};
    r.src = factor_layout(&x, 2, true);
    r.weight = factor_layout(&w, 2, false);
    r.dst = ebb__dnnl_layout_dense(2, dims);
    bool bias = c->n_in > 2 && c->in[2].dtype != 0;
    if (bias && !ebb__view_is_contiguous(&c->in[2])) {
        ebb__dnnl_refuse(p);
        return;
    }
    if (bias) r.bias = ebb__dnnl_layout_dense(2, row);
    product_build(p, &r, bias);
}
