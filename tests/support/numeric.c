/* numeric.c - random numbers, comparison and verdicts of the tests.
 * SPDX-License-Identifier: MIT */
#include "support/numeric.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

uint64_t numeric_next(numeric_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

double numeric_uniform(numeric_random *r, double low, double high)
{
    return low + (high - low) * ((double)(numeric_next(r) >> 11) * 0x1p-53);
}

int64_t numeric_below(numeric_random *r, int64_t n)
{
    return (int64_t)(numeric_next(r) % (uint64_t)n);
}

uint64_t numeric_hash(const char *text)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return h;
}

const char *verdict(const char *format, ...)
{
    static _Thread_local char text[800];
    char line[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    snprintf(text, sizeof text, "%s", line);
    return text;
}

int64_t numeric_difference(const double *a, const double *b, int64_t n, double tolerance,
                           double floor)
{
    for (int64_t i = 0; i < n; i++) {
        if (a[i] == b[i] || (isnan(a[i]) && isnan(b[i]))) continue;
        double size = fmax(fmax(fabs(a[i]), fabs(b[i])), floor);
        if (!(fabs(a[i] - b[i]) <= tolerance * size) || isinf(a[i]) || isinf(b[i])) return i;
    }
    return -1;
}

int64_t numeric_difference_rms(const double *a, const double *b, int64_t n, double tolerance)
{
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(b[i])) sum += b[i] * b[i], count++;
    return numeric_difference(a, b, n, tolerance, count ? sqrt(sum / (double)count) : 0);
}

bool numeric_all_finite(const double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(a[i])) return false;
    return true;
}
