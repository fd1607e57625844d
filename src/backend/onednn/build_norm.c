/* build_norm.c - plans for layer norm and its gradient.
 *
 * The operation keeps rstd = 1 / sqrt(var + eps); oneDNN speaks of the variance. Batch norm is
 * not here: on plain layouts oneDNN's kernel takes three times as long as ours.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/build.h"

#include <math.h>

/* Elements below which the reference kernel is done before oneDNN has started. */
static const int64_t NORM_WORTH = 16384;

bool ebb__dnnl_norm_worth(const ebb__call *c)
{
    return ebb__dnnl_all_f32(c) && ebb__n_elems(&c->in[0].shape) >= NORM_WORTH;
}

static void rstd_from_variance(float *to, const float *from, int64_t n, double eps)
{
    for (int64_t i = 0; i < n; i++) to[i] = (float)(1 / sqrt((double)from[i] + eps));
}

/* The variance with which an eps of 0 gives that rstd. */
static void variance_from_rstd(float *to, const float *from, int64_t n, double unused)
{
    (void)unused;
    for (int64_t i = 0; i < n; i++) to[i] = (float)(1 / ((double)from[i] * (double)from[i]));
}

/* x as rows, and one statistic per row. */
typedef struct rows {
    ebb__dnnl_layout x, stat, weight;
    int64_t n;
} rows;

static rows rows_of(const ebb_shape *s)
{
    int64_t width = s->dims[s->n_dims - 1], n = ebb__n_elems(s) / width, dims[2] = {n, width};
    return (rows){.x = ebb__dnnl_layout_dense(2, dims),
                  .stat = ebb__dnnl_layout_dense(1, &n),
                  .weight = ebb__dnnl_layout_dense(1, &width),
                  .n = n};
}

void ebb__dnnl_layer_norm_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    rows k = rows_of(&c->in[0].shape);
    const double *eps = ebb__dnnl_attribute(c, "eps");
    ebb__dnnl_request r = {.kind = EBB__DNNL_LAYER_NORM, .src = k.x, .weight = k.stat};
    r.eps = eps && *eps != 0 ? *eps : 1e-5;
    r.scale = ebb__dnnl_input(c, "w") == 1;
    r.shift = ebb__dnnl_input(c, "b") == 2;
    ebb__dnnl_argument args[6] = {{DNNL_ARG_SRC, ebb__dnnl_in(p, 0, &k.x)},
                                  {DNNL_ARG_DST, ebb__dnnl_out(p, 0, &k.x)},
                                  {DNNL_ARG_MEAN, ebb__dnnl_out(p, 1, &k.stat)},
                                  {DNNL_ARG_VARIANCE, ebb__dnnl_out(p, 2, &k.stat)}};
    int32_t variance = args[3].memory, n = 4;
    if (r.scale)
        args[n++] = (ebb__dnnl_argument){DNNL_ARG_SCALE, ebb__dnnl_in(p, 1, &k.weight)};
    if (r.shift)
        args[n++] = (ebb__dnnl_argument){DNNL_ARG_SHIFT, ebb__dnnl_in(p, 2, &k.weight)};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), n, args);
    ebb__dnnl_own_step(p, rstd_from_variance, variance, variance, k.n, r.eps);
}

/* Inputs g, x, w, mean, rstd; results dx, dw, db. */
void ebb__dnnl_layer_norm_grad_build(ebb__dnnl_plan *p, const ebb__call *c)
{
    if (c->n_in != 5 || c->in[2].dtype == 0) {
        ebb__dnnl_refuse(p);
        return;
    }
    rows k = rows_of(&c->in[0].shape);
    ebb__dnnl_request r = {.kind = EBB__DNNL_LAYER_NORM_GRAD, .src = k.x, .weight = k.stat};
    r.scale = r.shift = true;
    int32_t rstd = ebb__dnnl_in(p, 4, &k.stat), variance = ebb__dnnl_temporary(p, &k.stat);
    int32_t weight = ebb__dnnl_in(p, 2, &k.weight);
    ebb__dnnl_own_step(p, variance_from_rstd, variance, rstd, k.n, 0);
    /* The shift is asked for and not read. */
    ebb__dnnl_argument args[] = {{DNNL_ARG_DIFF_DST, ebb__dnnl_in(p, 0, &k.x)},
                                 {DNNL_ARG_SRC, ebb__dnnl_in(p, 1, &k.x)},
                                 {DNNL_ARG_SCALE, weight},
                                 {DNNL_ARG_SHIFT, weight},
                                 {DNNL_ARG_MEAN, ebb__dnnl_in(p, 3, &k.stat)},
                                 {DNNL_ARG_VARIANCE, variance},
                                 {DNNL_ARG_DIFF_SRC, ebb__dnnl_out(p, 0, &k.x)},
                                 {DNNL_ARG_DIFF_SCALE, ebb__dnnl_out(p, 1, &k.weight)},
                                 {DNNL_ARG_DIFF_SHIFT, ebb__dnnl_out(p, 2, &k.weight)}};
    ebb__dnnl_step(p, ebb__dnnl_make(p, &r), 9, args);
}
