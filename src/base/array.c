/* array.c - a growable array of equal items: doubles when full.
 * SPDX-License-Identifier: MIT */
#include "base/array.h"

#include "base/error.h"
#include "base/size.h"

#include <string.h>

ebb_status ebb__array_push(ebb__array *a, const ebb_allocator *allocator, const void *item)
{
    if (a->n == a->max) {
        size_t max = a->max ? 2 * a->max : 16, bytes;
        if (!ebb__mul_size(&bytes, max, a->item_bytes))
            return ebb__fail(EBB_E_NOMEM, "a work list of %zu items is too large", max);
        void *items = ebb__alloc(allocator, bytes, 16);
        if (!items)
            return ebb__fail(EBB_E_NOMEM, "%zu bytes for a work list were refused", bytes);
        if (a->n) memcpy(items, a->items, a->n * a->item_bytes);
        if (a->items) ebb__free(allocator, a->items, a->max * a->item_bytes);
        a->items = items;
        a->max = max;
    }
    memcpy((char *)a->items + a->n * a->item_bytes, item, a->item_bytes);
    a->n++;
    return EBB_OK;
}

void ebb__array_free(ebb__array *a, const ebb_allocator *allocator)
{
    if (a->items) ebb__free(allocator, a->items, a->max * a->item_bytes);
    *a = (ebb__array){.item_bytes = a->item_bytes};
}
