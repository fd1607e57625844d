/* fourier.h - discrete Fourier transforms of any length, in double precision.
 *
 * A plan is tables in memory that the caller gives, read-only once made: threads share it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_FOURIER_H
#define EBB_OPS_KERNELS_FOURIER_H

#include <stddef.h>
#include <stdint.h>

enum { EBB__FOURIER_FACTORS = 64 };

typedef struct ebb__fourier {
    int64_t n;    /* the length asked for */
    int64_t size; /* of the transforms made: n, or a power of two (Bluestein) */
    int32_t n_factors;
    int32_t factor[EBB__FOURIER_FACTORS]; /* of size */
    double *cosine, *sine;                /* of 2 pi i / size */
    double *chirp_re, *chirp_im;          /* exp(-pi i k^2 / n), and the transform of ... */
    double *filter_re, *filter_im;        /* ... its conjugate, over size; NULL: not needed */
} ebb__fourier;

/* cos and sin of 2 pi i / n for 0 <= i < n, exact at multiples of a quarter turn. */
void ebb__fourier_root(double *c, double *s, int64_t i, int64_t n);
/* Doubles for the tables of length n, and for the work space of one transform. */
size_t ebb__fourier_table_doubles(int64_t n);
size_t ebb__fourier_work_doubles(int64_t n);
/* work: of one transform, free again afterwards. n >= 1. */
void ebb__fourier_plan(ebb__fourier *f, int64_t n, double *tables, double *work);
/* work[0 .. size) and work[size .. 2 size) are the real and imaginary parts of n elements;
 * returns where in work the sums over j of x[j] exp(-2 pi i j k / n) lie, in the same way. */
double *ebb__fourier_run(const ebb__fourier *f, double *work);

#endif
