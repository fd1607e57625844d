/* fourier.c - Stockham's transform for lengths of small factors, Bluestein's for all others.
 *
 * Van Loan: Computational Frameworks for the Fast Fourier Transform (1992), 1.7 and 4.2. Real
 * and imaginary parts lie apart, so that inner loops are plain vectors.
 * SPDX-License-Identifier: MIT */
#include "ops/kernels/fourier.h"

#include "ops/kernels/clones.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { LARGEST_FACTOR = 31, FEW = 8 };

/* The factors of n where none is large, 4 before 2; their number, or -1. */
static int32_t factorise(int32_t factor[EBB__FOURIER_FACTORS], int64_t n)
{
    int32_t count = 0;
    for (; n % 4 == 0; n /= 4) factor[count++] = 4;
    for (int32_t p = 2; p <= LARGEST_FACTOR; p++)
        for (; n % p == 0; n /= p) factor[count++] = p;
    return n == 1 ? count : -1;
}

static int64_t transform_size(int64_t n)
{
    int32_t factor[EBB__FOURIER_FACTORS];
    int64_t size = 1;
    if (factorise(factor, n) >= 0) return n;
    while (size < 2 * n - 1) size *= 2;
    return size;
}

size_t ebb__fourier_table_doubles(int64_t n)
{
    int64_t size = transform_size(n);
    return (size_t)(size == n ? 2 * n : 4 * size + 2 * n);
}

size_t ebb__fourier_work_doubles(int64_t n)
{
    return 4 * (size_t)transform_size(n);
}

/* By an angle of at most pi / 4. */
void ebb__fourier_root(double *c, double *s, int64_t i, int64_t n)
{
    const double pi = 3.14159265358979323846;
    bool below = 2 * i > n, left, swap;
    int64_t k = below ? 2 * (n - i) : 2 * i; /* angle: pi k / n, in [0, pi] */
    left = 2 * k > n;
    if (left) k = n - k;
    swap = 4 * k > n;
    double angle =
        swap ? pi * (double)(n - 2 * k) / (double)(2 * n) : pi * (double)k / (double)n;
    double x = swap ? sin(angle) : cos(angle), y = swap ? cos(angle) : sin(angle);
    *c = left ? -x : x;
    *s = below ? -y : y;
}

/* y += w x, complex. */
EBB_CLONES static void add_turned(double *y_re, double *y_im, const double *x_re,
                                  const double *x_im, double w_re, double w_im, int64_t n)
{
    EBB_IVDEP
    for (int64_t k = 0; k < n; k++) {
        y_re[k] += w_re * x_re[k] - w_im * x_im[k];
        y_im[k] += w_re * x_im[k] + w_im * x_re[k];
    }
}

/* The same without the call; imaginary parts lie `size` further on. */
static inline void add_few(double *y, const double *x, int64_t size, double w_re, double w_im,
                           int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        y[k] += w_re * x[k] - w_im * x[size + k];
        y[size + k] += w_re * x[size + k] + w_im * x[k];
    }
}

/* Sums of x[j] exp(-2 pi i j k / size). Before a stage `done` elements of each of the rest
 * (size / done) interleaved sequences are transformed; p of them at a time become one. */
static double *transform(const ebb__fourier *f, double *work)
{
    int64_t size = f->size, done = 1;
    double *from = work, *to = work + 2 * size;
    for (int32_t stage = 0; stage < f->n_factors; stage++) {
        int64_t p = f->factor[stage], m = size / done / p;
        memset(to, 0, 2 * (size_t)size * sizeof *to);
        for (int64_t out = 0, j = 0; out < done * p; out++, j = j + 1 < done ? j + 1 : 0) {
            double *y = to + out * m;
            int64_t angle = 0; /* q out, in parts of done p */
            for (int64_t q = 0; q < p; q++) {
                const double *x = from + (j * p + q) * m;
                double c = f->cosine[angle * m], s = -f->sine[angle * m];
                if (m < FEW)
                    add_few(y, x, size, c, s, m);
                else
                    add_turned(y, y + size, x, x + size, c, s, m);
                angle += out;
                if (angle >= done * p) angle -= done * p;
            }
        }
        double *swap = from;
        from = to, to = swap;
        done *= p;
    }
    return from;
}

/* k^2 mod 2 n without overflow. */
static int64_t square_mod(int64_t k, int64_t n)
{
    return (int64_t)((unsigned __int128)k * (unsigned __int128)k % (uint64_t)(2 * n));
}

/* The filter is symmetric around 0, wrapped at size. */
static void plan_chirp(ebb__fourier *f, double *work)
{
    int64_t n = f->n, size = f->size;
    memset(work, 0, 2 * (size_t)size * sizeof *work);
    for (int64_t k = 0; k < n; k++) {
        double c, s;
        ebb__fourier_root(&c, &s, square_mod(k, n), 2 * n);
        f->chirp_re[k] = c, f->chirp_im[k] = -s;
        work[k] = work[(size - k) % size] = c;
        work[size + k] = work[size + (size - k) % size] = s;
    }
    const double *t = transform(f, work);
    for (int64_t k = 0; k < size; k++) {
        f->filter_re[k] = t[k] / (double)size;
        f->filter_im[k] = t[size + k] / (double)size;
    }
}

void ebb__fourier_plan(ebb__fourier *f, int64_t n, double *tables, double *work)
{
    *f = (ebb__fourier){.n = n, .size = transform_size(n)};
    f->n_factors = factorise(f->factor, f->size);
    f->cosine = tables;
    f->sine = tables + f->size;
    for (int64_t i = 0; i < f->size; i++)
        ebb__fourier_root(&f->cosine[i], &f->sine[i], i, f->size);
    if (f->size == n) return;
    f->filter_re = f->sine + f->size;
    f->filter_im = f->filter_re + f->size;
    f->chirp_re = f->filter_im + f->size;
    f->chirp_im = f->chirp_re + n;
    plan_chirp(f, work);
}

/* (re, im) becomes its product with (w_re, w_im), conjugated where asked. */
static void turn(double *re, double *im, const double *w_re, const double *w_im, int64_t n,
                 bool conjugate)
{
    for (int64_t k = 0; k < n; k++) {
        double x = re[k] * w_re[k] - im[k] * w_im[k], y = re[k] * w_im[k] + im[k] * w_re[k];
        re[k] = x, im[k] = conjugate ? -y : y;
    }
}

/* jk = (j^2 + k^2 - (k - j)^2) / 2: a convolution of x times the chirp with its conjugate. */
double *ebb__fourier_run(const ebb__fourier *f, double *work)
{
    int64_t n = f->n, size = f->size;
    if (size == n) return transform(f, work);
    turn(work, work + size, f->chirp_re, f->chirp_im, n, false);
    memset(work + n, 0, (size_t)(size - n) * sizeof *work);
    memset(work + size + n, 0, (size_t)(size - n) * sizeof *work);
    double *x = transform(f, work);
    turn(x, x + size, f->filter_re, f->filter_im, size, true);
    if (x != work) memcpy(work, x, 2 * (size_t)size * sizeof *work);
    x = transform(f, work); /* the inverse, conjugated at both ends */
    for (int64_t k = 0; k < n; k++) x[size + k] = -x[size + k];
    turn(x, x + size, f->chirp_re, f->chirp_im, n, false);
    return x;
}
