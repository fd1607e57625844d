/* numeric.h - what the tests of operations compute with: random numbers, comparison, verdicts.
 *
 * A check returns NULL when all is well, else a verdict: one line in a static buffer of the
 * thread. Comparisons are written so that a NaN where a number belongs is a difference.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_NUMERIC_H
#define EBB_TESTS_NUMERIC_H

#include <ebb/api.h>

/* splitmix64: Steele, Lea, Flood 2014. Every seed is a sequence of its own. */
typedef struct numeric_random {
    uint64_t state;
} numeric_random;
uint64_t numeric_next(numeric_random *r);
double numeric_uniform(numeric_random *r, double low, double high);
int64_t numeric_below(numeric_random *r, int64_t n); /* in [0, n), n > 0 */
uint64_t numeric_hash(const char *text);

const char *verdict(const char *format, ...) EBB_PRINTF(1, 2);

/* Index of the first element where |a - b| > tolerance * max(|a|, |b|, floor), -1 if none.
 * Equal infinities and NaN against NaN agree. */
int64_t numeric_difference(const double *a, const double *b, int64_t n, double tolerance,
                           double floor);
/* The same with the root mean square of b's finite elements as floor. */
int64_t numeric_difference_rms(const double *a, const double *b, int64_t n, double tolerance);
bool numeric_all_finite(const double *a, int64_t n);

#endif
