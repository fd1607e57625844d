/* matrices.c - batches of matrices cut into pieces for threads.
 *
 * Scratch: one place per thread for the first failure, then each thread's doubles and whole
 * numbers. The failure told is the first of the batch, whatever the threads.
 * SPDX-License-Identifier: MIT */
#include "ops/matrices.h"

#include "ops/parallel.h"

typedef struct failure {
    int64_t item, place;
} failure;

typedef struct pieces {
    const ebb__matrices *w;
    failure *failed;
    double *scratch;
    size_t doubles_each;
} pieces;

ebb_status ebb__check_square(const ebb__call *c, int32_t i)
{
    const ebb_shape *s = &c->in[i].shape;
    char text[EBB__SHAPE_TEXT];
    EBB_TRY(ebb__check_float(c, i));
    EBB_TRY(ebb__check_rank_at_least(c, i, 2));
    if (s->dims[s->n_dims - 1] == s->dims[s->n_dims - 2]) return EBB_OK;
    return ebb__fail(EBB_E_SHAPE, "%s is %s, square matrices are needed", ebb__arg_name(c, i),
                     ebb__shape_text(text, sizeof text, s));
}

static size_t threads_of(const ebb__call *c)
{
    return (size_t)(c->n_threads < 1 ? 1 : c->n_threads);
}

static size_t doubles_each(int64_t n, int64_t doubles)
{
    return ((size_t)doubles + 2 * (size_t)n + 7) & ~(size_t)7;
}

void ebb__matrices_reserve(ebb__call *c, int64_t n, int64_t doubles)
{
    c->scratch_bytes =
        threads_of(c) * (sizeof(failure) + doubles_each(n, doubles) * sizeof(double));
}

static void run_piece(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const pieces *p = arg;
    for (int64_t item = lo; item < hi; item++) {
        int64_t place = p->w->run(p->w, item, p->scratch + (size_t)part * p->doubles_each);
        if (place < 0) continue;
        p->failed[part] = (failure){item, place};
        return;
    }
}

ebb_status ebb__matrices_run(const ebb__matrices *w, const char *what)
{
    size_t n_threads = threads_of(w->c);
    int64_t items = ebb__n_elems(&w->batch);
    pieces p = {
        .w = w, .failed = w->c->scratch, .doubles_each = doubles_each(w->n, w->doubles)};
    p.scratch = (double *)(p.failed + n_threads);
    for (size_t t = 0; t < n_threads; t++) p.failed[t].item = -1;
    int64_t cost = w->cost < 1e9 ? (int64_t)w->cost : 1000000000;
    ebb__parallel(w->c->n_threads, items, ebb__grain(cost), run_piece, &p);
    for (size_t t = 0; t < n_threads; t++) {
        if (p.failed[t].item < 0) continue;
        const char *name = ebb__arg_name(w->c, 0);
        if (w->batch.n_dims == 0)
            return ebb__fail(EBB_E_RANGE, "%s %s at row %lld", name, what,
                             (long long)p.failed[t].place);
        return ebb__fail(EBB_E_RANGE, "matrix %lld of %s %s at row %lld",
                         (long long)p.failed[t].item, name, what, (long long)p.failed[t].place);
    }
    return EBB_OK;
}

int64_t ebb__matrices_first(const ebb__matrices *w, const ebb_shape *x, int64_t n_own,
                            int64_t item)
{
    int64_t n_batch = x->n_dims - n_own, skip = w->batch.n_dims - n_batch, at = 0, step = 1;
    for (int64_t d = n_batch; d < x->n_dims; d++) step *= x->dims[d];
    for (int64_t d = w->batch.n_dims - 1; d >= 0; d--) {
        int64_t i = item % w->batch.dims[d];
        item /= w->batch.dims[d];
        if (d < skip) break;
        if (x->dims[d - skip] != 1) at += i * step;
        step *= x->dims[d - skip];
    }
    return at;
}
