/* rows.h - a loader's source that reads rows of mapped tensors.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_DATA_ROWS_H
#define EBB_DATA_ROWS_H

#include <ebb/data.h>

/* The user of ebb__rows_read. The views stay mapped while it is used. */
typedef struct ebb__rows {
    ebb_view field[EBB_MAX_FIELDS];
    bool dense[EBB_MAX_FIELDS]; /* a row is one piece of memory */
    size_t row_bytes[EBB_MAX_FIELDS];
    int64_t n_fields;
} ebb__rows;

void ebb__rows_prepare(ebb__rows *r);
ebb_status ebb__rows_read(void *rows, int64_t index, void *const *fields);

#endif
