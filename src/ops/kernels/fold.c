/* fold.c - walks a view for reductions.
 *
 * Two ways, chosen by the shape: where the last axis is reduced, each output is a row of
 * elements; where it is kept, a block of outputs is fed position by position. Work on few
 * outputs is cut into parts along the reduced positions, whose accumulators are merged in
 * order.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/fold.h"

#include "ops/kernels/walk.h"
#include "ops/parallel.h"

#include <string.h>

enum { MAX_PARTS = 16, PART_ELEMS = 65536 };
/* Where elements side by side belong to different outputs, or to different positions of columns
 * that are far apart, a cache line of them is taken at once. */
enum { LINE_BYTES = 64, TILE_STEP = EBB__FOLD_ROW + 16, TILE_BYTES = LINE_BYTES * TILE_STEP };

typedef struct job {
    const ebb__call *c;
    const ebb__folder *f;
    const char *data;
    size_t size;
    ebb__walk outer, inner,
        reduced;               /* kept: outer apart from inner, the columns (n = 1: rows) */
    int64_t n_blocks, n_parts; /* column blocks of each outer index; parts of the reduced */
    char *partial;
} job;

/* The elements [at, at + n) of a walk from base side by side: in place where they lie so, else
 * copied to buffer. */
static const void *gather(const ebb__walk *w, const char *base, size_t size, int64_t at,
                          int64_t n, void *buffer)
{
    if (w->n_dims == 0) return base;
    const int32_t last = w->n_dims - 1;
    const int64_t length = w->dims[last], stride = w->strides[last];
    if (stride == 1 && at % length + n <= length)
        return base + ebb__walk_offset(w, at) * (int64_t)size;
    for (char *out = buffer; n > 0;) {
        int64_t run = length - at % length < n ? length - at % length : n;
        const char *from = base + ebb__walk_offset(w, at) * (int64_t)size;
        if (stride == 1)
            memcpy(out, from, (size_t)run * size);
        else if (size == 4)
            for (int64_t i = 0; i < run; i++) memcpy(out + i * 4, from + i * stride * 4, 4);
        else if (size == 8)
            for (int64_t i = 0; i < run; i++) memcpy(out + i * 8, from + i * stride * 8, 8);
        else
            for (int64_t i = 0; i < run; i++) out[i] = from[i * stride];
        out += (size_t)run * size;
        at += run;
        n -= run;
    }
    return buffer;
}

/* How the axes of a shape divide. strides NULL: sizes alone. */
static void divide(job *j, const ebb_shape *s, const int64_t *strides, const bool *reduced)
{
    int64_t first_column = s->n_dims;
    j->outer.n = j->inner.n = j->reduced.n = 1;
    while (first_column > 0 && !reduced[first_column - 1]) first_column--;
    /* Trailing axes of size 1 do not make columns of what is a row. */
    int64_t columns = 1;
    for (int64_t d = first_column; d < s->n_dims; d++) columns *= s->dims[d];
    if (columns == 1) first_column = s->n_dims;
    for (int64_t d = 0; d < s->n_dims; d++)
        ebb__walk_add(reduced[d]         ? &j->reduced
                      : d < first_column ? &j->outer
                                         : &j->inner,
                      s->dims[d], strides ? strides[d] : 0);
    j->n_blocks = (j->inner.n + EBB__FOLD_COLS - 1) / EBB__FOLD_COLS;
    int64_t tasks = j->outer.n * j->n_blocks,
            width = j->inner.n < EBB__FOLD_COLS ? j->inner.n : EBB__FOLD_COLS;
    j->n_parts = 1;
    if (tasks >= MAX_PARTS || j->reduced.n < 2) return;
    int64_t most = j->reduced.n / (PART_ELEMS / (width > 0 ? width : 1));
    j->n_parts = most < 2 ? 1 : most > MAX_PARTS ? MAX_PARTS : most;
}

/* Folds reduced positions [lo, hi) of one output. */
static void fold_row(const job *j, const char *base, void *acc, int64_t lo, int64_t hi)
{
    char buffer[EBB__FOLD_ROW * sizeof(double)];
    for (int64_t at = lo; at < hi; at += EBB__FOLD_ROW) {
        int64_t n = hi - at < EBB__FOLD_ROW ? hi - at : EBB__FOLD_ROW;
        j->f->row(acc, gather(&j->reduced, base, j->size, at, n, buffer), n, at);
    }
}

/* to[i * step] = from[i], elements of `size` bytes. */
static void spread(char *to, const char *from, size_t size, int64_t n, int64_t step)
{
    if (size == 4)
        for (int64_t i = 0; i < n; i++) memcpy(to + i * step * 4, from + i * 4, 4);
    else if (size == 8)
        for (int64_t i = 0; i < n; i++) memcpy(to + i * step * 8, from + i * 8, 8);
    else
        for (int64_t i = 0; i < n; i++) to[i * step] = from[i];
}

/* Folds all positions of n outputs whose elements lie side by side. */
static void fold_side_by_side(const job *j, const char *base, char *acc, int64_t n)
{
    _Alignas(16) char tile[TILE_BYTES];
    for (int64_t at = 0; at < j->reduced.n; at += EBB__FOLD_ROW) {
        int64_t length = j->reduced.n - at < EBB__FOLD_ROW ? j->reduced.n - at : EBB__FOLD_ROW;
        for (int64_t i = 0; i < length; i++) {
            const char *from = base + ebb__walk_offset(&j->reduced, at + i) * (int64_t)j->size;
            spread(tile + (size_t)i * j->size, from, j->size, n, TILE_STEP);
        }
        for (int64_t q = 0; q < n; q++)
            j->f->row(acc + (size_t)q * j->f->acc_bytes,
                      tile + (size_t)(q * TILE_STEP) * j->size, length, at);
    }
}

/* How many outputs from `out` on lie side by side, at most a line of them and `most`; 1 where
 * each is better folded by itself. */
static int64_t side_by_side(const job *j, int64_t out, int64_t most)
{
    const ebb__walk *o = &j->outer, *r = &j->reduced;
    if (o->n_dims == 0 || o->strides[o->n_dims - 1] != 1 || r->n_dims == 0 ||
        r->strides[r->n_dims - 1] == 1)
        return 1;
    int64_t length = o->dims[o->n_dims - 1], left = length - out % length;
    int64_t n = LINE_BYTES / (int64_t)j->size;
    n = left < n ? left : n;
    return most < n ? most : n;
}

/* Folds positions [lo, hi) of the m outputs from column `column`. */
static void fold_cols(const job *j, const char *base, void *acc, int64_t lo, int64_t hi,
                      int64_t column, int64_t m)
{
    char buffer[EBB__FOLD_COLS * sizeof(double)];
    const int64_t size = (int64_t)j->size;
    bool dense = j->inner.n_dims == 1 && j->inner.strides[0] == 1 && j->reduced.n_dims <= 1;
    if (dense && lo < hi) {
        int64_t step = j->reduced.n_dims ? j->reduced.strides[0] : 0;
        j->f->cols(acc, base + (lo * step + column) * size, m, lo, hi - lo, step);
        return;
    }
    int64_t at = lo;
    const ebb__walk *r = &j->reduced;
    if (r->n_dims == 1 && r->strides[0] == 1) {
        char tile[LINE_BYTES * EBB__FOLD_COLS];
        const int64_t line = LINE_BYTES / size;
        for (; at + line <= hi; at += line) {
            for (int64_t i = 0; i < m; i++)
                spread(tile + i * size,
                       base + (at + ebb__walk_offset(&j->inner, column + i)) * size, j->size,
                       line, EBB__FOLD_COLS);
            j->f->cols(acc, tile, m, at, line, EBB__FOLD_COLS);
        }
    }
    for (; at < hi; at++) {
        const char *from = base + ebb__walk_offset(&j->reduced, at) * size;
        j->f->cols(acc, gather(&j->inner, from, j->size, column, m, buffer), m, at, 1, 0);
    }
}

/* Outputs [lo, hi), each a whole row. */
static void fold_rows(const job *j, int64_t lo, int64_t hi)
{
    _Alignas(16) char acc[EBB__FOLD_COLS * EBB__FOLD_ACC_BYTES];
    _Alignas(16) char first[EBB__FOLD_COLS * sizeof(double)];
    const int64_t size = (int64_t)j->size;
    for (int64_t out = lo; out < hi; out += EBB__FOLD_COLS) {
        int64_t m = hi - out < EBB__FOLD_COLS ? hi - out : EBB__FOLD_COLS;
        bool some = j->f->wants_first && j->reduced.n > 0;
        for (int64_t i = 0; some && i < m; i++)
            memcpy(first + i * size, j->data + ebb__walk_offset(&j->outer, out + i) * size,
                   j->size);
        j->f->start(acc, some ? first : NULL, m);
        for (int64_t i = 0, n; i < m; i += n) {
            const char *base = j->data + ebb__walk_offset(&j->outer, out + i) * size;
            n = side_by_side(j, out + i, m - i);
            if (n > 1)
                fold_side_by_side(j, base, acc + (size_t)i * j->f->acc_bytes, n);
            else
                fold_row(j, base, acc + (size_t)i * j->f->acc_bytes, 0, j->reduced.n);
        }
        j->f->finish(j->c, out, acc, m, j->reduced.n);
    }
}

/* Tasks [lo, hi): part fastest, then column block, then outer index. */
static void fold_blocks(const job *j, int64_t lo, int64_t hi)
{
    _Alignas(16) char local[EBB__FOLD_COLS * EBB__FOLD_ACC_BYTES];
    char buffer[EBB__FOLD_COLS * sizeof(double)];
    for (int64_t task = lo; task < hi; task++) {
        int64_t part = task % j->n_parts, block = task / j->n_parts % j->n_blocks;
        int64_t outer = task / j->n_parts / j->n_blocks, column = block * EBB__FOLD_COLS;
        int64_t m = j->inner.n - column < EBB__FOLD_COLS ? j->inner.n - column : EBB__FOLD_COLS;
        int64_t from = j->reduced.n * part / j->n_parts;
        int64_t to = j->reduced.n * (part + 1) / j->n_parts;
        int64_t out = outer * j->inner.n + column;
        size_t where = (size_t)(part * j->outer.n * j->inner.n + out) * j->f->acc_bytes;
        char *acc = j->n_parts > 1 ? j->partial + where : local;
        const char *base = j->data + ebb__walk_offset(&j->outer, outer) * (int64_t)j->size;
        bool some = j->f->wants_first && j->reduced.n > 0;
        j->f->start(acc, some ? gather(&j->inner, base, j->size, column, m, buffer) : NULL, m);
        if (j->inner.n == 1)
            fold_row(j, base, acc, from, to);
        else
            fold_cols(j, base, acc, from, to, column, m);
        if (j->n_parts == 1) j->f->finish(j->c, out, acc, m, j->reduced.n);
    }
}

static void fold_tasks(const void *arg, int64_t lo, int64_t hi, int32_t part_of_work)
{
    (void)part_of_work;
    const job *j = arg;
    if (j->n_parts == 1 && j->inner.n == 1)
        fold_rows(j, lo, hi);
    else
        fold_blocks(j, lo, hi);
}

size_t ebb__fold_scratch(const ebb_shape *in, const bool reduced[EBB_MAX_DIMS],
                         const ebb__folder *f)
{
    job j = {0};
    divide(&j, in, NULL, reduced);
    if (j.n_parts == 1) return 0;
    return (size_t)(j.n_parts * j.outer.n * j.inner.n) * f->acc_bytes;
}

void ebb__fold(const ebb__call *c, const bool reduced[EBB_MAX_DIMS], const ebb__folder *f)
{
    const ebb_view *x = &c->in[0];
    job j = {.c = c,
             .f = f,
             .data = x->data,
             .size = ebb__dtype_size(x->dtype),
             .partial = c->scratch};
    divide(&j, &x->shape, x->strides, reduced);
    int64_t n_out = j.outer.n * j.inner.n, n_tasks = j.outer.n * j.n_blocks * j.n_parts;
    if (n_out == 0) return;
    int64_t each = (n_out * j.reduced.n) / n_tasks;
    ebb__parallel(c->n_threads, n_tasks, ebb__grain(each), fold_tasks, &j);
    if (j.n_parts == 1) return;
    size_t stride = (size_t)n_out * f->acc_bytes;
    for (int64_t part = 1; part < j.n_parts; part++)
        for (int64_t out = 0; out < n_out; out += EBB__FOLD_COLS)
            f->merge(j.partial + (size_t)out * f->acc_bytes,
                     j.partial + (size_t)part * stride + (size_t)out * f->acc_bytes,
                     n_out - out < EBB__FOLD_COLS ? n_out - out : EBB__FOLD_COLS, 0, 1, 0);
    f->finish(c, 0, j.partial, n_out, j.reduced.n);
}
