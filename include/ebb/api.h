/* api.h - the attributes that public declarations carry.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_API_H
#define EBB_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __GNUC__
#define EBB_API __attribute__((visibility("default")))
#define EBB_NODISCARD __attribute__((warn_unused_result))
#define EBB_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define EBB_API
#define EBB_NODISCARD
#define EBB_PRINTF(f, a)
#endif

#endif
