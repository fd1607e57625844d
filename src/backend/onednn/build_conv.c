/* build_conv.c - plans for the convolution and its two gradients.
 *
 * oneDNN's fast kernels want their own blocked layouts. Copies into and out of them cost a
 * tenth of the kernel at the sizes that matter, and plain layouts run at less than half the
 * speed, so every operand but the bias is offered in the layout of the kernel's choice.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

/* Multiplications below which creating and running primitives does not pay. */
static const double CONV_WORTH = 16384;

static ebb__dnnl_layout weight_layout(const ebb_shape *w, int64_t groups)
{
    if (groups == 1) return ebb__dnnl_layout_dense(4, w->dims);
    int64_t dims[5] = {groups, w->dims[0] / groups, w->dims[1], w->dims[2], w->dims[3]};
    return ebb__dnnl_layout_dense(5, dims);
}

static void read_pair(dnnl_dims_t out, const ebb__call *c, const char *name, int64_t zero)
{
    const int64_t *pair = ebb__dnnl_attribute(c, name);
    for (int i = 0; i < 2; i++) out[i] = pair && pair[i] ? pair[i] : zero;
}

/* x, w and y in their roles; for a gradient one of them is the result. */
static ebb__dnnl_request request_of(const ebb__call *c, ebb__dnnl_kind kind, const ebb_view *x,
                                    const ebb_view *w, const ebb_view *y)
{
    const int64_t *attr = ebb__dnnl_attribute(c, "groups");
    int64_t groups = attr && *attr ? *attr : 1;
    ebb__dnnl_request r = {.kind = kind};
    r.src = ebb__dnnl_layout_any(ebb__dnnl_layout_dense(4, x->shape.dims));
    r.weight = ebb__dnnl_layout_any(weight_layout(&w->shape, groups));
    r.dst = ebb__dnnl_layout_any(ebb__dnnl_layout_dense(4, y->shape.dims));
    read_pair(r.stride, c, "stride", 1);
    read_pair(r.padding, c, "padding", 0);
    read_pair(r.dilation, c, "dilation", 1);
    return r;
}

static ebb__dnnl_layout plain(ebb__dnnl_layout l)
{
    l.any = false;
    return l;
}

static bool worth(const ebb__call *c, const ebb_shape *w, const ebb_shape *y)
{
    if (!ebb__dnnl_all_f32(c) || w->n_dims != 4) return false;
    double taps = (double)w->dims[1] * (double)w->dims[2] * (double)w->dims[3];
    return (double)ebb__n_elems(y) * taps >= CONV_WORTH;
}

bool ebb__dnnl_conv2d_worth(const ebb__call *c)
{
    return worth(c, &c->in[1].shape, &c->out[0].shape);
}

void ebb__dnnl_conv2d_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    ebb__dnnl_request r = request_of(c, EBB__DNNL_CONV, &c->in[0], &c->in[1], &c->out[0]);
    ebb__dnnl_layout x = plain(r.src), w = plain(r.weight), y = plain(r.dst);
    bool bias = c->n_in > 2 && c->in[2].dtype != 0;
    if (bias) r.bias = ebb__dnnl_layout_dense(1, c->in[2].shape.dims);
    int32_t mx = ebb__dnnl_in(p, 0, &x), mw = ebb__dnnl_in(p, 1, &w);
    int32_t mb = bias ? ebb__dnnl_in(p, 2, &r.bias) : -1, my = ebb__dnnl_out(p, 0, &y);
    dnnl_primitive_t made = ebb__dnnl_make(p, &r);
    ebb__dnnl_argument args[4];
    args[0] = (ebb__dnnl_argument){DNNL_ARG_SRC, ebb__dnnl_read(p, made, DNNL_ARG_SRC, mx)};
    args[1] =
        (ebb__dnnl_argument){DNNL_ARG_WEIGHTS, ebb__dnnl_read(p, made, DNNL_ARG_WEIGHTS, mw)};
    int32_t target = ebb__dnnl_target(p, made, DNNL_ARG_DST, my);
    args[2] = (ebb__dnnl_argument){DNNL_ARG_DST, target};
    args[3] = (ebb__dnnl_argument){DNNL_ARG_BIAS, mb};
    ebb__dnnl_step(p, made, bias ? 4 : 3, args);
    ebb__dnnl_write(p, target, my);
}

/* The operation's two inputs are the gradient g of y and the other factor. */
static const ebb_view *named(const ebb__call *c, const char *arg)
{
    int32_t i = ebb__dnnl_input(c, arg);
    return i < 0 ? &c->in[0] : &c->in[i];
}

bool ebb__dnnl_conv2d_grad_input_worth(const ebb__call *c)
{
    return worth(c, &named(c, "w")->shape, &named(c, "g")->shape);
}

bool ebb__dnnl_conv2d_grad_weight_worth(const ebb__call *c)
{
    return worth(c, &c->out[0].shape, &named(c, "g")->shape);
}

/* Two inputs read as `arg`, one output written as `result`. */
static void gradient_build(ebb__dnnl_plan *p, const ebb__dnnl_request *r, int32_t mg,
                           int32_t mother, int other_arg, int32_t mout, int out_arg)
{
    dnnl_primitive_t made = ebb__dnnl_make(p, r);
    ebb__dnnl_argument args[3];
    args[0] =
        (ebb__dnnl_argument){DNNL_ARG_DIFF_DST, ebb__dnnl_read(p, made, DNNL_ARG_DIFF_DST, mg)};
    args[1] = (ebb__dnnl_argument){other_arg, ebb__dnnl_read(p, made, other_arg, mother)};
    int32_t target = ebb__dnnl_target(p, made, out_arg, mout);
    args[2] = (ebb__dnnl_argument){out_arg, target};
    ebb__dnnl_step(p, made, 3, args);
    ebb__dnnl_write(p, target, mout);
}

void ebb__dnnl_conv2d_grad_input_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    int32_t g = ebb__dnnl_input(c, "g"), w = ebb__dnnl_input(c, "w");
    if (g < 0 || w < 0) {
        ebb__dnnl_refuse(p);
        return;
    }
    ebb__dnnl_request r =
        request_of(c, EBB__DNNL_CONV_GRAD_INPUT, &c->out[0], &c->in[w], &c->in[g]);
    ebb__dnnl_layout lx = plain(r.src), lw = plain(r.weight), ly = plain(r.dst);
    int32_t mg = ebb__dnnl_in(p, g, &ly), mw = ebb__dnnl_in(p, w, &lw);
    gradient_build(p, &r, mg, mw, DNNL_ARG_WEIGHTS, ebb__dnnl_out(p, 0, &lx),
                   DNNL_ARG_DIFF_SRC);
}

void ebb__dnnl_conv2d_grad_weight_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    int32_t g = ebb__dnnl_input(c, "g"), x = ebb__dnnl_input(c, "x");
    if (g < 0 || x < 0) {
        ebb__dnnl_refuse(p);
        return;
    }
    ebb__dnnl_request r =
        request_of(c, EBB__DNNL_CONV_GRAD_WEIGHT, &c->in[x], &c->out[0], &c->in[g]);
    ebb__dnnl_layout lx = plain(r.src), lw = plain(r.weight), ly = plain(r.dst);
    int32_t mg = ebb__dnnl_in(p, g, &ly), mx = ebb__dnnl_in(p, x, &lx);
    gradient_build(p, &r, mg, mx, DNNL_ARG_SRC, ebb__dnnl_out(p, 0, &lw),
                   DNNL_ARG_DIFF_WEIGHTS);
}
