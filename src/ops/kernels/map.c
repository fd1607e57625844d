/* map.c - walks strided views row by row for elementwise kernels.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/map.h"

#include "ops/parallel.h"

enum {
    SERIAL_ELEMS = 32768
}; /* below: threads cost more than they save (some 5 us to wake them) */

typedef struct job {
    ebb__map_row row;
    const double *p;
    char *out;
    size_t out_size;
    int32_t n_in, n_dims;
    const char *in[EBB__MAP_MAX_IN];
    size_t in_size[EBB__MAP_MAX_IN];
    int64_t dims[EBB_MAX_DIMS];
    int64_t strides[EBB__MAP_MAX_IN][EBB_MAX_DIMS];
    int64_t step[EBB__MAP_MAX_IN]; /* of the last dimension */
} job;

/* Elements [lo, hi) of the output where every input is dense or one repeated element. */
static void run_flat(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const job *j = arg;
    const void *in[EBB__MAP_MAX_IN];
    for (int32_t i = 0; i < j->n_in; i++)
        in[i] = j->in[i] + (size_t)(lo * j->step[i]) * j->in_size[i];
    j->row(j->out + (size_t)lo * j->out_size, in, j->step, hi - lo, j->p);
}

static void run_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const job *j = arg;
    const int32_t last = j->n_dims - 1;
    const int64_t length = j->dims[last];
    int64_t at[EBB_MAX_DIMS], rest = lo;
    int64_t offset[EBB__MAP_MAX_IN] = {0};
    for (int32_t d = last; d >= 0; d--) {
        at[d] = rest % j->dims[d];
        rest /= j->dims[d];
        for (int32_t i = 0; i < j->n_in; i++) offset[i] += at[d] * j->strides[i][d];
    }
    while (lo < hi) {
        const void *in[EBB__MAP_MAX_IN];
        int64_t n = length - at[last] < hi - lo ? length - at[last] : hi - lo;
        for (int32_t i = 0; i < j->n_in; i++)
            in[i] = j->in[i] + offset[i] * (int64_t)j->in_size[i];
        j->row(j->out + (size_t)lo * j->out_size, in, j->step, n, j->p);
        lo += n;
        for (int32_t i = 0; i < j->n_in; i++) offset[i] -= at[last] * j->strides[i][last];
        at[last] = 0;
        for (int32_t d = last - 1; d >= 0; d--) {
            for (int32_t i = 0; i < j->n_in; i++) offset[i] += j->strides[i][d];
            if (++at[d] < j->dims[d]) break;
            for (int32_t i = 0; i < j->n_in; i++) offset[i] -= at[d] * j->strides[i][d];
            at[d] = 0;
        }
    }
}

/* Takes over dimensions of more than one element, merging each with the one before where all
 * inputs step through the two as through one. */
static void merge_dims(job *j, const ebb__call *c, const ebb_shape *shape)
{
    j->n_dims = 0;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        int64_t n = shape->dims[d];
        if (n == 1) continue;
        bool joins = j->n_dims > 0;
        for (int32_t i = 0; joins && i < j->n_in; i++)
            joins = j->strides[i][j->n_dims - 1] == c->in[i].strides[d] * n;
        int32_t k = joins ? j->n_dims - 1 : j->n_dims++;
        j->dims[k] = joins ? j->dims[k] * n : n;
        for (int32_t i = 0; i < j->n_in; i++) j->strides[i][k] = c->in[i].strides[d];
    }
}

/* One element: strides do not matter. */
static void run_one(const ebb__call *c, void *out, ebb__map_row row, const double *p)
{
    static const int64_t step[EBB__MAP_MAX_IN] = {1, 1, 1};
    const void *in[EBB__MAP_MAX_IN];
    for (int32_t i = 0; i < c->n_in; i++) in[i] = c->in[i].data;
    row(out, in, step, 1, p);
}

ebb_status ebb__map(const ebb__call *c, ebb__map_row row, const double *p)
{
    static const double zeros[2];
    const ebb_view *out = c->n_out > 0 ? &c->out[0] : &c->in[0];
    int64_t n = ebb__n_elems(&out->shape);
    if (!p) p = zeros;
    if (n == 1) run_one(c, out->data, row, p);
    if (n < 2) return EBB_OK;
    job j;
    j.row = row;
    j.p = p;
    j.out = out->data;
    j.out_size = ebb__dtype_size(out->dtype);
    j.n_in = c->n_in;
    for (int32_t i = 0; i < c->n_in; i++) {
        j.in[i] = c->in[i].data;
        j.in_size[i] = ebb__dtype_size(c->in[i].dtype);
    }
    merge_dims(&j, c, &out->shape);
    for (int32_t i = 0; i < c->n_in; i++) j.step[i] = j.strides[i][j.n_dims - 1];
    int32_t n_threads = n < SERIAL_ELEMS ? 1 : c->n_threads;
    ebb__parallel(n_threads, n, SERIAL_ELEMS / 2, j.n_dims == 1 ? run_flat : run_rows, &j);
    return EBB_OK;
}
