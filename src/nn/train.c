/* train.c - what training does to a whole parameter set: freezing, clearing and clipping
 * gradients.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "nn/params.h"

#include <ebb/extend.h>
#include <ebb/grad.h>
#include <ebb/ops.h>
#include <ebb/plan.h>
#include <ebb/scope.h>

#include <math.h>
#include <string.h>

static ebb_status set_required(const char *function, const ebb_params *p)
{
    if (p) return EBB_OK;
    if (ebb_error_status() != EBB_OK) return ebb_error_status();
    return ebb_fail(EBB_E_MISUSE, "%s: p is NULL", function);
}

/* After a failure at i those before are put back; a parameter that was as wanted is not
 * touched. */
ebb_status ebb_params_set_trainable(ebb_params *p, bool on)
{
    EBB_TRY(set_required("params_set_trainable", p));
    const int64_t n = ebb_params_count(p);
    if (n == 0) return EBB_OK;
    bool *changed = ebb_alloc(ebb_params_context(p), (size_t)n, EBB_KIND_BOOKKEEPING);
    if (!changed) return ebb_error_status();
    ebb_status s = EBB_OK;
    int64_t i = 0;
    for (; i < n && s == EBB_OK; i++) {
        ebb_tensor *t = ebb_params_at(p, i);
        if (ebb_params_is_buffer(p, i) || ebb_requires_grad(t) == on) continue;
        s = ebb_set_requires_grad(t, on);
        changed[i] = s == EBB_OK;
    }
    while (s != EBB_OK && i-- > 0)
        if (changed[i] && ebb_set_requires_grad(ebb_params_at(p, i), !on) != EBB_OK) break;
    ebb_free(ebb_params_context(p), changed, (size_t)n, EBB_KIND_BOOKKEEPING);
    return s;
}

ebb_status ebb_params_clear_grads(ebb_params *p)
{
    EBB_TRY(set_required("params_clear_grads", p));
    for (int64_t i = 0; i < ebb_params_count(p); i++) {
        ebb_tensor *t = ebb_params_at(p, i);
        if (ebb_has_grad(t)) EBB_TRY(ebb_clear_grad(t));
    }
    return EBB_OK;
}

/* ---- clipping ---------------------------------------------------------------------------- */

/* What is done to a 16-bit gradient is done by operations: `scaled` is what takes its place. */
typedef struct mapped {
    ebb_tensor *grad, *scaled;
    ebb_view view, scaled_view;
} mapped;

static int64_t n_elems(const ebb_view *v)
{
    int64_t n = 1;
    for (int64_t i = 0; i < v->shape.n_dims; i++) n *= v->shape.dims[i];
    return n;
}

/* Several sums, because one alone would wait for each addition. Gradients are dense. */
static double sum_of_squares(const ebb_view *v)
{
    enum { LANES = 8 };
    double sum[LANES] = {0}, total = 0;
    const int64_t n = n_elems(v);
    const float *f = v->data;
    const double *d = v->data;
    for (int64_t i = 0; i < n; i += LANES) {
        const int64_t m = n - i < LANES ? n - i : LANES;
        double x[LANES] = {0};
        if (m == LANES && v->dtype == EBB_F32)
            for (int k = 0; k < LANES; k++) x[k] = (double)f[i + k];
        else
            for (int64_t k = 0; k < m; k++)
                x[k] = v->dtype == EBB_F32 ? (double)f[i + k] : d[i + k];
        for (int k = 0; k < LANES; k++) sum[k] += x[k] * x[k];
    }
    for (int k = 0; k < LANES; k++) total += sum[k];
    return total;
}

static ebb_status sum_of_half_squares(double *out, ebb_tensor *grad)
{
    EBB_SCOPE(scope);
    ebb_tensor *sum = ebb_sum(ebb_square(ebb_cast(grad, EBB_F64)), EBB_ALL);
    if (!sum) return ebb_error_status();
    return ebb_read(out, sizeof *out, EBB_F64, sum);
}

static void scale(const mapped *m, double factor)
{
    const ebb_view *v = &m->view;
    const int64_t n = n_elems(v);
    if (m->scaled) {
        if (n > 0) memcpy(v->data, m->scaled_view.data, (size_t)n * sizeof(uint16_t));
        return;
    }
    float *f = v->data;
    double *d = v->data;
    if (v->dtype == EBB_F32)
        for (int64_t i = 0; i < n; i++) f[i] = (float)(f[i] * factor);
    else
        for (int64_t i = 0; i < n; i++) d[i] *= factor;
}

static bool is_wide(ebb_dtype d)
{
    return d == EBB_F32 || d == EBB_F64;
}

static void unmap_all(const mapped *m, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        ebb_unmap(m[i].grad);
        if (m[i].scaled) ebb_unmap(m[i].scaled);
    }
}

/* All or none of the gradients below p. */
static ebb_status map_all(mapped *m, int64_t *n_out, ebb_params *p, uint32_t access)
{
    int64_t n = 0;
    for (int64_t i = 0; i < ebb_params_count(p); i++) {
        ebb_tensor *t = ebb_params_at(p, i);
        if (!ebb_has_grad(t)) continue;
        m[n].grad = ebb_grad_of(t);
        ebb_status s = m[n].grad ? EBB_OK : ebb_error_status();
        if (s == EBB_OK) s = ebb_map(&m[n].view, m[n].grad, access);
        if (s == EBB_OK && m[n].scaled) {
            s = ebb_map(&m[n].scaled_view, m[n].scaled, EBB_MAP_READ);
            if (s != EBB_OK) ebb_unmap(m[n].grad);
        }
        if (s != EBB_OK) {
            unmap_all(m, n);
            return s;
        }
        n++;
    }
    *n_out = n;
    return EBB_OK;
}

static ebb_status clip(double *norm_out, mapped *m, ebb_params *p, double max_norm)
{
    int64_t n;
    double sum = 0;
    EBB_TRY(map_all(m, &n, p, EBB_MAP_READ));
    for (int64_t i = 0; i < n; i++)
        if (is_wide(m[i].view.dtype)) sum += sum_of_squares(&m[i].view);
    unmap_all(m, n);
    for (int64_t i = 0; i < n; i++) {
        double part = 0;
        if (!is_wide(m[i].view.dtype)) EBB_TRY(sum_of_half_squares(&part, m[i].grad));
        sum += part;
    }
    const double norm = sqrt(sum);
    if (!isfinite(norm))
        return ebb_fail(EBB_E_RANGE, "params_clip_grad_norm: the norm of the gradients is %g",
                        norm);
    if (norm > max_norm) {
        for (int64_t i = 0; i < n; i++) {
            if (is_wide(m[i].view.dtype)) continue;
            m[i].scaled = ebb_mul_scalar(m[i].grad, max_norm / norm);
            if (!m[i].scaled) return ebb_error_status();
        }
        EBB_TRY(map_all(m, &n, p, EBB_MAP_WRITE));
        for (int64_t i = 0; i < n; i++) scale(&m[i], max_norm / norm);
        unmap_all(m, n);
    }
    if (norm_out) *norm_out = norm;
    return EBB_OK;
}

ebb_status ebb_params_clip_grad_norm(double *norm_out, ebb_params *p, double max_norm)
{
    EBB_TRY(set_required("params_clip_grad_norm", p));
    if (!(max_norm > 0))
        return ebb_fail(EBB_E_RANGE, "params_clip_grad_norm: max_norm is %g, it must be > 0",
                        max_norm);
    const int64_t n = ebb_params_count(p);
    if (n == 0 || ebb_is_dry_run(ebb_params_context(p))) {
        if (norm_out) *norm_out = 0;
        return EBB_OK;
    }
    const size_t bytes = (size_t)n * sizeof(mapped);
    mapped *m = ebb_alloc(ebb_params_context(p), bytes, EBB_KIND_BOOKKEEPING);
    if (!m) return ebb_error_status();
    const ebb_scope scope = ebb_scope_begin(EBB_SCOPE_NO_GRAD, NULL);
    ebb_status s = clip(norm_out, m, p, max_norm);
    ebb_scope_end(scope);
    ebb_free(ebb_params_context(p), m, bytes, EBB_KIND_BOOKKEEPING);
    return s;
}
