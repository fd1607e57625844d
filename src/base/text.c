/* text.c - users' names as text.
 * SPDX-License-Identifier: MIT */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("Os") /* nobody waits for these; the graph's library has a size to keep */
#endif

#include "base/text.h"

#include <string.h>

size_t ebb__utf8_bytes(const char *s)
{
    const unsigned char *c = (const unsigned char *)s;
    if (c[0] < 0x80) return 1;
    size_t n = c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    /* No longer form of a shorter one, no surrogates, nothing above U+10FFFF. */
    unsigned low = c[0] == 0xE0 ? 0xA0 : c[0] == 0xF0 ? 0x90 : 0x80;
    unsigned high = c[0] == 0xED ? 0x9F : c[0] == 0xF4 ? 0x8F : 0xBF;
    for (size_t i = 1; i < n; i++, low = 0x80, high = 0xBF)
        if (c[i] < low || c[i] > high) return 0;
    return n;
}

void ebb__text_copy(char *out, size_t size, const char *text)
{
    size_t n = 0;
    while (text[n]) {
        size_t more = ebb__utf8_bytes(text + n);
        if (!more) more = 1;
        if (n + more >= size) break;
        n += more;
    }
    memcpy(out, text, n);
    out[n] = '\0';
}
