/* safetensors.c - opens safetensors files: u64 header length, JSON header, data. Invariants:
 * the header's length is compared with the file before memory is asked for; once open, every
 * entry's bytes lie inside the file, fit its shape and dtype where Ebb knows the dtype, and
 * cover the data without overlap or gap; names are unique.
 *
 * Source: the format's description in huggingface/safetensors, README.md.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/safetensors.h"

#include <cjson/cJSON.h>
#include <ebb/data.h>
#include <stdlib.h>
#include <string.h>

/* What the reference implementation accepts. */
enum { HEADER_MAX = 100000000, LENGTH_BYTES = 8 };
#define METADATA "__metadata__"

static const struct {
    char name[5];
    ebb_dtype dtype;
} dtypes[] = {{"F32", EBB_F32}, {"F64", EBB_F64},   {"I64", EBB_I64}, {"I32", EBB_I32},
              {"U8", EBB_U8},   {"BOOL", EBB_BOOL}, {"F16", EBB_F16}, {"BF16", EBB_BF16}};

/* A whole number that a double holds exactly. */
static bool get_u64(uint64_t *out, const cJSON *item)
{
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0) || item->valuedouble > 0x1p53)
        return false;
    *out = (uint64_t)item->valuedouble;
    return (double)*out == item->valuedouble;
}

static ebb_status bad_entry(const ebb__st *s, const char *name, const char *what)
{
    return ebb__file_fail(&s->file, EBB_E_IO, "%.100s: %s", name, what);
}

static ebb_status entry_shape(ebb__st_entry *e, const ebb__st *s, const cJSON *shape)
{
    if (!cJSON_IsArray(shape)) return bad_entry(s, e->name, "has no shape");
    const cJSON *item;
    cJSON_ArrayForEach(item, shape)
    {
        uint64_t dim;
        if (!get_u64(&dim, item)) return bad_entry(s, e->name, "has a malformed shape");
        if (e->shape.n_dims == EBB_MAX_DIMS)
            return ebb__file_fail(&s->file, EBB_E_SHAPE, "%.100s: more than %d dimensions",
                                  e->name, EBB_MAX_DIMS);
        e->shape.dims[e->shape.n_dims++] = (int64_t)dim;
    }
    uint64_t bytes = 0;
    if (!e->dtype) return EBB_OK;
    if (!ebb__file_shape_bytes(&bytes, &e->shape, e->dtype))
        return ebb__file_fail(&s->file, EBB_E_SHAPE, "%.100s: its size overflows", e->name);
    return bytes == e->bytes ? EBB_OK
                             : bad_entry(s, e->name, "its offsets do not fit its shape");
}

static ebb_status entry_parse(ebb__st_entry *e, const ebb__st *s, const cJSON *item,
                              uint64_t data_bytes)
{
    const cJSON *dtype = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    uint64_t begin, end;
    *e = (ebb__st_entry){.name = item->string, .dtype_name = "?"};
    if (!cJSON_IsObject(item) || !dtype) return bad_entry(s, e->name, "has no dtype");
    if (cJSON_IsString(dtype)) e->dtype_name = dtype->valuestring;
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(e->dtype_name, dtypes[i].name) == 0) e->dtype = dtypes[i].dtype;
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 ||
        !get_u64(&begin, cJSON_GetArrayItem(offsets, 0)) ||
        !get_u64(&end, cJSON_GetArrayItem(offsets, 1)))
        return bad_entry(s, e->name, "has malformed data_offsets");
    if (begin > end || end > data_bytes)
        return ebb__file_fail(&s->file, EBB_E_IO,
                              "%.100s: its data at [%llu, %llu) is outside "
                              "the file's %llu bytes of data",
                              e->name, (unsigned long long)begin, (unsigned long long)end,
                              (unsigned long long)data_bytes);
    e->offset = begin;
    e->bytes = end - begin;
    return entry_shape(e, s, cJSON_GetObjectItemCaseSensitive(item, "shape"));
}

static int by_offset(const void *a, const void *b)
{
    const ebb__st_entry *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const ebb__st_entry *)a)->name, ((const ebb__st_entry *)b)->name);
}

static ebb_status check_cover(const ebb__st *s, uint64_t data_bytes)
{
    uint64_t at = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (s->entries[i].offset != at)
            return bad_entry(s, s->entries[i].name,
                             "its data overlaps another's or leaves a gap");
        at += s->entries[i].bytes;
    }
    if (at == data_bytes) return EBB_OK;
    return ebb__file_fail(&s->file, EBB_E_IO,
                          "has %llu bytes of data, its header describes %llu",
                          (unsigned long long)data_bytes, (unsigned long long)at);
}

static ebb_status parse_entries(ebb__st *s, uint64_t data_begin)
{
    const uint64_t data_bytes = s->file.bytes - data_begin;
    int64_t n = 0;
    if (!cJSON_IsObject(s->header))
        return ebb__file_fail(&s->file, EBB_E_IO, "its header is not a JSON object");
    for (const cJSON *item = s->header->child; item; item = item->next)
        n += strcmp(item->string, METADATA) != 0;
    if (n > 0) {
        s->entries = ebb_alloc(s->ctx, (size_t)n * sizeof *s->entries, EBB_KIND_BOOKKEEPING);
        if (!s->entries) return ebb_error_status();
        s->n = n;
    }
    ebb__st_entry *e = s->entries;
    for (const cJSON *item = s->header->child; item; item = item->next)
        if (strcmp(item->string, METADATA) != 0) EBB_TRY(entry_parse(e++, s, item, data_bytes));
    if (n > 1) qsort(s->entries, (size_t)n, sizeof *s->entries, by_offset);
    EBB_TRY(check_cover(s, data_bytes));
    if (n > 1) qsort(s->entries, (size_t)n, sizeof *s->entries, by_name);
    for (int64_t i = 0; i < n; i++) {
        s->entries[i].offset += data_begin;
        if (i > 0 && strcmp(s->entries[i - 1].name, s->entries[i].name) == 0)
            return bad_entry(s, s->entries[i].name, "appears twice");
    }
    return EBB_OK;
}

static ebb_status parse_header(ebb__st *s, char *text, size_t n)
{
    const char *end = text;
    EBB_TRY(ebb__file_read(text, &s->file, LENGTH_BYTES, n));
    s->header = cJSON_ParseWithLengthOpts(text, n, &end, false);
    while (s->header && end < text + n && *end == ' ') end++;
    if (!s->header || end != text + n)
        return ebb__file_fail(&s->file, EBB_E_IO, "its header is not JSON from byte %zu on",
                              (size_t)(end - text));
    return EBB_OK;
}

ebb_status ebb__st_open(ebb__st *out, ebb_context *ctx, const char *function, const char *path)
{
    unsigned char length[LENGTH_BYTES];
    uint64_t n = 0;
    *out = (ebb__st){.ctx = ctx, .file.fd = -1};
    if (!ctx) return ebb_fail(EBB_E_MISUSE, "%s: ctx is NULL", function);
    EBB_TRY(ebb__file_open(&out->file, function, path));
    if (out->file.bytes < LENGTH_BYTES)
        return ebb__file_fail(&out->file, EBB_E_IO, "is not a safetensors file: %llu bytes",
                              (unsigned long long)out->file.bytes);
    EBB_TRY(ebb__file_read(length, &out->file, 0, LENGTH_BYTES));
    for (int i = LENGTH_BYTES; i-- > 0;) n = n << 8 | length[i];
    if (n < 2 || n > out->file.bytes - LENGTH_BYTES || n > HEADER_MAX)
        return ebb__file_fail(&out->file, EBB_E_IO,
                              "states a header of %llu bytes, %llu follow and %d are allowed",
                              (unsigned long long)n,
                              (unsigned long long)out->file.bytes - LENGTH_BYTES, HEADER_MAX);
    char *text = ebb_alloc(ctx, (size_t)n, EBB_KIND_BOOKKEEPING);
    if (!text) return ebb_error_status();
    ebb_status s = parse_header(out, text, (size_t)n);
    ebb_free(ctx, text, (size_t)n, EBB_KIND_BOOKKEEPING);
    return s == EBB_OK ? parse_entries(out, LENGTH_BYTES + n) : s;
}

void ebb__st_close(ebb__st *s)
{
    if (s->entries)
        ebb_free(s->ctx, s->entries, (size_t)s->n * sizeof *s->entries, EBB_KIND_BOOKKEEPING);
    s->entries = NULL;
    s->n = 0;
    cJSON_Delete(s->header);
    s->header = NULL;
    ebb__file_close(&s->file);
}

const ebb__st_entry *ebb__st_find(const ebb__st *s, const char *name)
{
    const ebb__st_entry key = {.name = name};
    if (s->n == 0) return NULL;
    return bsearch(&key, s->entries, (size_t)s->n, sizeof key, by_name);
}

ebb_status ebb__st_read(void *out, const ebb__st *s, const ebb__st_entry *e)
{
    EBB_TRY(ebb__file_read(out, &s->file, e->offset, (size_t)e->bytes));
    ebb__file_fix_bool(out, e->bytes, e->dtype);
    return EBB_OK;
}

static ebb_tensor *load_entry(const ebb__st *s, const char *name)
{
    const ebb__st_entry *e = ebb__st_find(s, name);
    ebb_view v;
    if (!e) {
        (void)ebb__file_fail(&s->file, EBB_E_RANGE, "holds no tensor %.100s", name);
        return NULL;
    }
    if (!e->dtype) {
        (void)ebb__file_fail(&s->file, EBB_E_UNSUPPORTED,
                             "%.100s: element type '%.20s' is none "
                             "of F32, F64, I64, I32, U8, BOOL",
                             name, e->dtype_name);
        return NULL;
    }
    ebb_tensor *t = ebb_empty(s->ctx, e->dtype, e->shape, EBB_KIND_DATA);
    if (!t) return NULL;
    ebb_status status = ebb_map(&v, t, EBB_MAP_WRITE);
    if (status == EBB_OK) {
        status = ebb__st_read(v.data, s, e);
        ebb_unmap(t);
    }
    if (status == EBB_OK) return t;
    ebb_release(ebb_claim(t));
    return NULL;
}

ebb_tensor *ebb_load_safetensors(ebb_context *ctx, const char *path, const char *name)
{
    ebb__st s;
    ebb_tensor *t = NULL;
    if (ebb__st_open(&s, ctx, "load_safetensors", path) == EBB_OK) {
        if (name)
            t = load_entry(&s, name);
        else
            (void)ebb__file_fail(&s.file, EBB_E_MISUSE, "name is NULL");
    }
    ebb__st_close(&s);
    return t;
}
