/* rows.c - copies rows out of mapped tensors of any strides.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "data/rows.h"

#include <string.h>

void ebb__rows_prepare(ebb__rows *r)
{
    for (int64_t k = 0; k < r->n_fields; k++) {
        const ebb_view *v = &r->field[k];
        int64_t step = 1;
        r->dense[k] = true;
        for (int64_t i = v->shape.n_dims; i-- > 1;) {
            r->dense[k] &= v->shape.dims[i] == 1 || v->strides[i] == step;
            step *= v->shape.dims[i];
        }
        r->row_bytes[k] = (size_t)step * ebb_dtype_bytes(v->dtype);
    }
}

static void gather(char *out, const char *row, const ebb_view *v, size_t row_bytes)
{
    const size_t size = ebb_dtype_bytes(v->dtype);
    int64_t index[EBB_MAX_DIMS] = {0}, offset = 0;
    for (size_t done = 0; done < row_bytes; done += size) {
        memcpy(out + done, row + offset * (int64_t)size, size);
        for (int64_t i = v->shape.n_dims; i-- > 1;) {
            offset += v->strides[i];
            if (++index[i] < v->shape.dims[i]) break;
            offset -= v->strides[i] * v->shape.dims[i];
            index[i] = 0;
        }
    }
}

ebb_status ebb__rows_read(void *rows, int64_t index, void *const *fields)
{
    const ebb__rows *r = rows;
    for (int64_t k = 0; k < r->n_fields; k++) {
        const ebb_view *v = &r->field[k];
        const char *row =
            (const char *)v->data + index * v->strides[0] * (int64_t)ebb_dtype_bytes(v->dtype);
        if (r->row_bytes[k] == 0) continue;
        if (r->dense[k])
            memcpy(fields[k], row, r->row_bytes[k]);
        else
            gather(fields[k], row, v, r->row_bytes[k]);
    }
    return EBB_OK;
}
