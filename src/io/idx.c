/* idx.c - IDX files as in MNIST, plain or gzip-compressed: 0 0 type n_dims, the dimensions as
 * big-endian u32, the elements in C order, big-endian.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/file.h"

#include <ebb/data.h>
#include <ebb/extend.h>

#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { HEADER_MAX = 4 + 4 * EBB_MAX_DIMS };
/* No deflate stream grows by more. Source: zlib's technical notes. */
enum { DEFLATE_RATIO = 1032 };

typedef struct idx {
    ebb__file file;
    gzFile gz; /* reads plain files as they are */
    bool compressed;
    ebb_dtype dtype;
    ebb_shape shape;
    uint64_t header_bytes, data_bytes;
} idx;

static uint32_t big_u32(const unsigned char *b)
{
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static ebb_status idx_read(void *out, idx *x, uint64_t n)
{
    uint64_t done = 0;
    while (done < n) {
        unsigned want = (unsigned)(n - done < 1u << 30 ? n - done : 1u << 30);
        int got = gzread(x->gz, (char *)out + done, want);
        int code = 0;
        if (got > 0) done += (uint64_t)got;
        if (got <= 0 && (gzerror(x->gz, &code), code) != Z_OK && code != Z_BUF_ERROR)
            return ebb__file_fail(&x->file, EBB_E_IO, "is not intact gzip data");
        if (got <= 0)
            return ebb__file_fail(&x->file, EBB_E_IO, "ends after %llu of %llu bytes",
                                  (unsigned long long)done, (unsigned long long)n);
    }
    return EBB_OK;
}

static ebb_status idx_open(idx *x, const char *path)
{
    EBB_TRY(ebb__file_open(&x->file, "load_idx", path));
    unsigned char magic[2] = {0};
    if (x->file.bytes >= sizeof magic)
        EBB_TRY(ebb__file_read(magic, &x->file, 0, sizeof magic));
    x->compressed = magic[0] == 0x1f && magic[1] == 0x8b;
    int copy = dup(x->file.fd); /* gzclose closes it */
    if (copy >= 0) x->gz = gzdopen(copy, "rb");
    if (x->gz) return EBB_OK;
    if (copy >= 0) close(copy);
    return ebb__file_fail(&x->file, EBB_E_NOMEM, "no memory for reading");
}

static ebb_status idx_dtype(idx *x, unsigned type)
{
    switch (type) {
    case 0x08:
        x->dtype = EBB_U8;
        return EBB_OK;
    case 0x0C:
        x->dtype = EBB_I32;
        return EBB_OK;
    case 0x0D:
        x->dtype = EBB_F32;
        return EBB_OK;
    case 0x0E:
        x->dtype = EBB_F64;
        return EBB_OK;
    case 0x09:
    case 0x0B:
        return ebb__file_fail(&x->file, EBB_E_UNSUPPORTED,
                              "holds %s; u8, i32, f32 and f64 can be read",
                              type == 0x09 ? "i8" : "i16");
    default:
        return ebb__file_fail(&x->file, EBB_E_IO, "is not an IDX file: type 0x%02x", type);
    }
}

static ebb_status idx_header(idx *x)
{
    unsigned char h[HEADER_MAX];
    EBB_TRY(idx_read(h, x, 4));
    if (h[0] != 0 || h[1] != 0)
        return ebb__file_fail(&x->file, EBB_E_IO, "is not an IDX file: begins with %02x %02x",
                              h[0], h[1]);
    EBB_TRY(idx_dtype(x, h[2]));
    x->shape = (ebb_shape){.n_dims = h[3]};
    if (h[3] < 1 || h[3] > EBB_MAX_DIMS)
        return ebb__file_fail(&x->file, EBB_E_SHAPE, "has %d dimensions, 1 to %d are allowed",
                              h[3], EBB_MAX_DIMS);
    EBB_TRY(idx_read(h + 4, x, 4 * (uint64_t)h[3]));
    for (int i = 0; i < h[3]; i++) x->shape.dims[i] = big_u32(h + 4 + 4 * i);
    x->header_bytes = 4 + 4 * (uint64_t)h[3];
    if (!ebb__file_shape_bytes(&x->data_bytes, &x->shape, x->dtype))
        return ebb__file_fail(&x->file, EBB_E_SHAPE, "the size of its data overflows");
    return EBB_OK;
}

/* The file's own size, or for gzip the size that its trailer states (modulo 2^32) and the most
 * that so many bytes can expand to. */
static ebb_status idx_check_size(const idx *x)
{
    const uint64_t want = x->header_bytes + x->data_bytes;
    unsigned char trailer[4];
    if (!x->compressed) {
        if (x->file.bytes == want) return EBB_OK;
        return ebb__file_fail(&x->file, EBB_E_IO, "has %llu bytes, its header asks for %llu",
                              (unsigned long long)x->file.bytes, (unsigned long long)want);
    }
    if (x->file.bytes < sizeof trailer || want / DEFLATE_RATIO > x->file.bytes)
        return ebb__file_fail(&x->file, EBB_E_IO,
                              "%llu compressed bytes cannot hold the %llu its header asks for",
                              (unsigned long long)x->file.bytes, (unsigned long long)want);
    EBB_TRY(ebb__file_read(trailer, &x->file, x->file.bytes - 4, 4));
    uint32_t stated = (uint32_t)trailer[3] << 24 | (uint32_t)trailer[2] << 16 |
                      (uint32_t)trailer[1] << 8 | trailer[0];
    if (stated == (uint32_t)want) return EBB_OK;
    return ebb__file_fail(&x->file, EBB_E_IO, "expands to %u bytes, its header asks for %llu",
                          stated, (unsigned long long)want);
}

static void swap_bytes(unsigned char *data, uint64_t n, size_t size)
{
    for (uint64_t i = 0; i < n; i += size)
        for (size_t k = 0; k < size / 2; k++) {
            unsigned char kept = data[i + k];
            data[i + k] = data[i + size - 1 - k];
            data[i + size - 1 - k] = kept;
        }
}

static ebb_status idx_fill(idx *x, ebb_tensor *t)
{
    ebb_view v;
    EBB_TRY(ebb_map(&v, t, EBB_MAP_WRITE));
    ebb_status s = idx_read(v.data, x, x->data_bytes);
    if (s == EBB_OK) swap_bytes(v.data, x->data_bytes, ebb_dtype_bytes(x->dtype));
    ebb_unmap(t);
    unsigned char more;
    /* Reading to the end is what compares the checksum. */
    if (s == EBB_OK && gzread(x->gz, &more, 1) != 0)
        s = ebb__file_fail(&x->file, EBB_E_IO, "is damaged at or after the end of its data");
    return s;
}

static ebb_tensor *idx_load(idx *x, ebb_context *ctx, const char *path)
{
    if (idx_open(x, path) != EBB_OK || idx_header(x) != EBB_OK || idx_check_size(x) != EBB_OK)
        return NULL;
    ebb_tensor *t = ebb_empty(ctx, x->dtype, x->shape, EBB_KIND_DATA);
    if (!t || idx_fill(x, t) == EBB_OK) return t;
    ebb_release(ebb_claim(t));
    return NULL;
}

ebb_tensor *ebb_load_idx(ebb_context *ctx, const char *path)
{
    idx x = {.file.fd = -1};
    ebb_tensor *t = idx_load(&x, ctx, path);
    if (x.gz) gzclose(x.gz);
    ebb__file_close(&x.file);
    return t;
}
