/* array.h - a growable array of equal items, for work lists.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_ARRAY_H
#define EBB_BASE_ARRAY_H

#include "base/alloc.h"

#include <ebb/status.h>

/* Zero but item_bytes is empty. */
typedef struct ebb__array {
    void *items;
    size_t n, max, item_bytes;
} ebb__array;

/* Appends a copy of *item. E_NOMEM: the array is as it was. */
ebb_status ebb__array_push(ebb__array *a, const ebb_allocator *allocator, const void *item);
void ebb__array_free(ebb__array *a, const ebb_allocator *allocator);

#endif
