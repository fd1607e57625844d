/* npy.c - reads and writes NumPy's .npy files.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/npy.h"

#include <ebb/data.h>
#include <ebb/extend.h>

#include <string.h>

enum { CHUNK_BYTES = 65536 };

/* The file's first axis runs fastest. */
static ebb_status fill_fortran(char *data, const ebb__npy *h, const ebb__file *f)
{
    unsigned char chunk[CHUNK_BYTES];
    const size_t size = ebb_dtype_bytes(h->dtype);
    int64_t index[EBB_MAX_DIMS] = {0}, stride[EBB_MAX_DIMS], offset = 0, step = 1;
    for (int64_t i = h->shape.n_dims; i-- > 0;) {
        stride[i] = step;
        step *= h->shape.dims[i];
    }
    for (uint64_t done = 0; done < h->data_bytes;) {
        size_t n = h->data_bytes - done < CHUNK_BYTES ? (size_t)(h->data_bytes - done)
                                                      : (size_t)CHUNK_BYTES;
        EBB_TRY(ebb__file_read(chunk, f, h->data_offset + done, n));
        for (size_t k = 0; k < n; k += size) {
            memcpy(data + (size_t)offset * size, chunk + k, size);
            for (int64_t i = 0; i < h->shape.n_dims; i++) {
                offset += stride[i];
                if (++index[i] < h->shape.dims[i]) break;
                offset -= stride[i] * h->shape.dims[i];
                index[i] = 0;
            }
        }
        done += n;
    }
    return EBB_OK;
}

static ebb_status npy_fill(ebb_tensor *t, const ebb__npy *h, const ebb__file *f)
{
    ebb_view v;
    EBB_TRY(ebb_map(&v, t, EBB_MAP_WRITE));
    ebb_status s = h->fortran_order && h->shape.n_dims > 1
                       ? fill_fortran(v.data, h, f)
                       : ebb__file_read(v.data, f, h->data_offset, (size_t)h->data_bytes);
    if (s == EBB_OK) ebb__file_fix_bool(v.data, h->data_bytes, h->dtype);
    ebb_unmap(t);
    return s;
}

static ebb_tensor *npy_load(ebb__file *f, ebb_context *ctx, const char *path)
{
    ebb__npy h;
    if (ebb__file_open(f, "load_npy", path) != EBB_OK || ebb__npy_header_read(&h, f) != EBB_OK)
        return NULL;
    ebb_tensor *t = ebb_empty(ctx, h.dtype, h.shape, EBB_KIND_DATA);
    if (!t || npy_fill(t, &h, f) == EBB_OK) return t;
    ebb_release(ebb_claim(t));
    return NULL;
}

ebb_tensor *ebb_load_npy(ebb_context *ctx, const char *path)
{
    ebb__file f = {.fd = -1};
    ebb_tensor *t = npy_load(&f, ctx, path);
    ebb__file_close(&f);
    return t;
}

static ebb_status npy_save(ebb__file_writer *w, ebb_tensor *t)
{
    ebb_shape s = ebb_shape_get(t);
    EBB_TRY(ebb__npy_header_write(w, ebb_dtype_of(t), &s));
    EBB_TRY(ebb__file_write_tensor(w, t));
    return ebb__file_commit(w);
}

ebb_status ebb_save_npy(ebb_tensor *t, const char *path)
{
    ebb__file_writer w;
    EBB_TRY(ebb_check(t));
    if (ebb_dtype_of(t) == EBB_BF16)
        return ebb_fail(EBB_E_UNSUPPORTED,
                        "save_npy: the format has no bf16; cast to f32 first");
    EBB_TRY(ebb__file_create(&w, "save_npy", path));
    ebb_status s = npy_save(&w, t);
    ebb__file_abandon(&w);
    return s;
}
