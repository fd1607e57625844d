/* text.h - users' names as text: whole characters of UTF-8 (RFC 3629).
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_TEXT_H
#define EBB_BASE_TEXT_H

#include <stddef.h>

/* Bytes of the character that s begins with; 0 where it begins with none. s is not at its end. */
size_t ebb__utf8_bytes(const char *s);
/* As much of text as fits, cut between characters; always ends in 0. */
void ebb__text_copy(char *out, size_t size, const char *text);

#endif
