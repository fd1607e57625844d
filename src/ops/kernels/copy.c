/* copy.c - copies elements between strided views.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/copy.h"

#include "ops/kernels/clones.h"
#include "ops/parallel.h"

#include <string.h>

/* A tile's lines on both sides stay in the first-level cache: 32 * 64 bytes twice. */
enum { TILE = 32, COPY_GRAIN = 16384 };

typedef struct job {
    char *out;
    const char *in;
    size_t size;
    int32_t n_dims;
    int64_t dims[EBB_MAX_DIMS], to[EBB_MAX_DIMS], from[EBB_MAX_DIMS]; /* strides in elements */
    int64_t rows, to_row, from_row; /* tiles: the dimension along which `in` is dense */
} job;

/* n elements of size bytes; strides in elements. */
static void copy_row(char *out, int64_t to, const char *in, int64_t from, int64_t n,
                     size_t size)
{
    if (to == 1 && from == 1) {
        memcpy(out, in, (size_t)n * size);
    } else if (size == 4) {
        for (int64_t i = 0; i < n; i++) memcpy(out + i * to * 4, in + i * from * 4, 4);
    } else if (size == 8) {
        for (int64_t i = 0; i < n; i++) memcpy(out + i * to * 8, in + i * from * 8, 8);
    } else if (size == 2) {
        for (int64_t i = 0; i < n; i++) memcpy(out + i * to * 2, in + i * from * 2, 2);
    } else {
        for (int64_t i = 0; i < n; i++) out[i * to] = in[i * from];
    }
}

/* Offsets of the row of `outer`, counted over all but the last dimension. */
static void locate(const job *j, int64_t outer, int64_t *to, int64_t *from)
{
    *to = *from = 0;
    for (int32_t d = j->n_dims - 2; d >= 0; d--) {
        int64_t at = outer % j->dims[d];
        outer /= j->dims[d];
        *to += at * j->to[d];
        *from += at * j->from[d];
    }
}

/* Elements [lo, hi) in C order. */
static void copy_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const job *j = arg;
    const int32_t last = j->n_dims - 1;
    const int64_t length = j->dims[last], size = (int64_t)j->size;
    while (lo < hi) {
        int64_t to, from, at = lo % length;
        int64_t n = length - at < hi - lo ? length - at : hi - lo;
        locate(j, lo / length, &to, &from);
        copy_row(j->out + (to + at * j->to[last]) * size, j->to[last],
                 j->in + (from + at * j->from[last]) * size, j->from[last], n, j->size);
        lo += n;
    }
}

#if defined __GNUC__ && !defined __clang__
#define HAVE_BLOCKS 1
typedef uint32_t lanes __attribute__((vector_size(32), aligned(4), may_alias));

/* out[r][k] = in[k][r] for blocks of 8 by 8 four-byte elements: three rounds that exchange
 * halves of growing size between registers. n_rows and n are multiples of 8; strides in
 * elements. */
EBB_CLONES static void transpose_blocks(uint32_t *out, int64_t to_row, const uint32_t *in,
                                        int64_t from, int64_t n_rows, int64_t n)
{
    for (int64_t r = 0; r < n_rows; r += 8)
        for (int64_t k = 0; k < n; k += 8) {
            lanes a[8], b[8];
            for (int i = 0; i < 8; i++) a[i] = *(const lanes *)(in + (k + i) * from + r);
            for (int i = 0; i < 8; i += 2) {
                b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
                b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
            }
            for (int i = 0; i < 8; i += i % 2 ? 3 : 1) {
                a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
                a[i + 2] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
            }
            for (int i = 0; i < 4; i++) {
                b[i] = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
                b[i + 4] = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
            }
            for (int i = 0; i < 8; i++) *(lanes *)(out + (r + i) * to_row + k) = b[i];
        }
}
#endif

/* A strip of up to TILE rows, tile by tile along the last dimension. */
static void copy_strip(const job *j, char *out, const char *in, int64_t n_rows)
{
    const int32_t last = j->n_dims - 1;
    const int64_t n = j->dims[last], size = (int64_t)j->size;
    const int64_t to = j->to[last] * size, from = j->from[last] * size;
    for (int64_t start = 0; start < n; start += TILE) {
        int64_t width = n - start < TILE ? n - start : TILE;
#ifdef HAVE_BLOCKS
        if (size == 4 && j->to[last] == 1 && j->from_row == 1 && width % 8 == 0 &&
            n_rows % 8 == 0) {
            transpose_blocks((uint32_t *)(out + start * to), j->to_row,
                             (const uint32_t *)(in + start * from), j->from[last], n_rows,
                             width);
            continue;
        }
#endif
        for (int64_t r = 0; r < n_rows; r++)
            copy_row(out + r * j->to_row * size + start * to, j->to[last],
                     in + r * j->from_row * size + start * from, j->from[last], width, j->size);
    }
}

/* Strips [lo, hi): each dimension but the tiled two, times strips of the rows. */
static void copy_tiles(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const job *j = arg;
    const int64_t size = (int64_t)j->size, strips = (j->rows + TILE - 1) / TILE;
    for (int64_t s = lo; s < hi; s++) {
        int64_t to, from, first = s % strips * TILE;
        int64_t n_rows = j->rows - first < TILE ? j->rows - first : TILE;
        locate(j, s / strips, &to, &from);
        copy_strip(j, j->out + (to + first * j->to_row) * size,
                   j->in + (from + first * j->from_row) * size, n_rows);
    }
}

static void merge_dims(job *j, const ebb_view *out, const ebb_view *in)
{
    for (int64_t d = 0; d < in->shape.n_dims; d++) {
        int64_t n = in->shape.dims[d], k = j->n_dims - 1;
        if (n == 1) continue;
        if (k < 0 || j->to[k] != out->strides[d] * n || j->from[k] != in->strides[d] * n) {
            k = j->n_dims++;
            j->dims[k] = 1;
        }
        j->dims[k] *= n;
        j->to[k] = out->strides[d];
        j->from[k] = in->strides[d];
    }
}

/* Takes out of the dimensions the one along which `in` is dense; false where that is the last.
 */
static bool take_rows(job *j)
{
    int32_t best = j->n_dims - 1;
    for (int32_t d = 0; d < j->n_dims; d++)
        if (j->from[d] == 1 && j->dims[d] > 1) best = d;
    if (best == j->n_dims - 1) return false;
    j->rows = j->dims[best];
    j->to_row = j->to[best];
    j->from_row = j->from[best];
    for (int32_t d = best; d + 1 < j->n_dims; d++) {
        j->dims[d] = j->dims[d + 1];
        j->to[d] = j->to[d + 1];
        j->from[d] = j->from[d + 1];
    }
    j->n_dims--;
    return true;
}

void ebb__copy_view(const ebb_view *out, const ebb_view *in, int32_t n_threads)
{
    job j = {.out = out->data, .in = in->data, .size = ebb__dtype_size(in->dtype)};
    int64_t n = ebb__n_elems(&in->shape);
    if (n == 0) return;
    merge_dims(&j, out, in);
    if (j.n_dims == 0) {
        memcpy(j.out, j.in, j.size);
        return;
    }
    if (take_rows(&j)) {
        int64_t strips = (j.rows + TILE - 1) / TILE;
        for (int32_t d = 0; d + 1 < j.n_dims; d++) strips *= j.dims[d];
        ebb__parallel(n_threads, strips, ebb__grain(n / strips), copy_tiles, &j);
    } else {
        ebb__parallel(n_threads, n, COPY_GRAIN, copy_rows, &j);
    }
}
