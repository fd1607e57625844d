/* safetensors_write.c - writes safetensors files: wide elements first, so that every tensor
 * lies at a multiple of its element size in a header padded to 8 bytes.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/safetensors.h"

#include <cjson/cJSON.h>
#include <ebb/data.h>
#include <stdlib.h>
#include <string.h>

static const size_t widths[] = {8, 4, 2, 1};
enum { N_WIDTHS = sizeof widths / sizeof *widths };

static const char *st_dtype(ebb_dtype d)
{
    static const char *const name[] = {
        [EBB_F32] = "F32", [EBB_F64] = "F64",   [EBB_I64] = "I64", [EBB_I32] = "I32",
        [EBB_U8] = "U8",   [EBB_BOOL] = "BOOL", [EBB_F16] = "F16", [EBB_BF16] = "BF16"};
    return name[d];
}

/* Everything that can be refused, before a file exists. */
static ebb_status check_all(const char *function, ebb_tensor *const *tensors,
                            const char *const *names, int64_t n)
{
    if (n < 0 || (n > 0 && (!tensors || !names)))
        return ebb_fail(EBB_E_MISUSE, "%s: tensors or names is NULL, or n < 0", function);
    for (int64_t i = 0; i < n; i++) {
        EBB_TRY(ebb_check(tensors[i]));
        if (tensors[i] == EBB_NONE || !names[i])
            return ebb_fail(EBB_E_MISUSE, "%s: tensor or name %lld is absent", function,
                            (long long)i);
        if (strcmp(names[i], "__metadata__") == 0)
            return ebb_fail(EBB_E_RANGE, "%s: the name __metadata__ is the format's own",
                            function);
    }
    return EBB_OK;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ebb_status check_unique(const char *function, const char **sorted,
                               const char *const *names, int64_t n)
{
    memcpy(sorted, names, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, by_text);
    for (int64_t i = 1; i < n; i++)
        if (strcmp(sorted[i - 1], sorted[i]) == 0)
            return ebb_fail(EBB_E_RANGE, "%s: the name %.100s is given twice", function,
                            sorted[i]);
    return EBB_OK;
}

static bool add_entry(cJSON *header, const char *name, ebb_tensor *t, uint64_t *at)
{
    const ebb_shape s = ebb_shape_get(t);
    cJSON *entry = cJSON_AddObjectToObject(header, name);
    if (!entry || !cJSON_AddStringToObject(entry, "dtype", st_dtype(ebb_dtype_of(t))))
        return false;
    cJSON *shape = cJSON_AddArrayToObject(entry, "shape");
    cJSON *offsets = shape ? cJSON_AddArrayToObject(entry, "data_offsets") : NULL;
    if (!offsets) return false;
    for (int64_t i = 0; i < s.n_dims; i++)
        if (!cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)s.dims[i]))) return false;
    if (!cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)*at))) return false;
    *at += ebb_n_bytes(t);
    return cJSON_AddItemToArray(offsets, cJSON_CreateNumber((double)*at));
}

/* The header's text, to be freed with cJSON_free; NULL where memory was refused. */
static char *make_header(ebb_tensor *const *tensors, const char *const *names, int64_t n)
{
    cJSON *header = cJSON_CreateObject();
    uint64_t at = 0;
    bool good = header != NULL;
    for (int w = 0; w < N_WIDTHS; w++)
        for (int64_t i = 0; good && i < n; i++)
            if (ebb_dtype_bytes(ebb_dtype_of(tensors[i])) == widths[w])
                good = add_entry(header, names[i], tensors[i], &at);
    char *text = good ? cJSON_PrintUnformatted(header) : NULL;
    cJSON_Delete(header);
    return text;
}

static ebb_status write_all(ebb__file_writer *w, const char *text, ebb_tensor *const *tensors,
                            int64_t n)
{
    const size_t n_text = strlen(text), padded = (n_text + 7) / 8 * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)((uint64_t)padded >> 8 * i);
    EBB_TRY(ebb__file_write(w, length, sizeof length));
    EBB_TRY(ebb__file_write(w, text, n_text));
    EBB_TRY(ebb__file_write(w, "       ", padded - n_text));
    for (int k = 0; k < N_WIDTHS; k++)
        for (int64_t i = 0; i < n; i++)
            if (ebb_dtype_bytes(ebb_dtype_of(tensors[i])) == widths[k])
                EBB_TRY(ebb__file_write_tensor(w, tensors[i]));
    return ebb__file_commit(w);
}

ebb_status ebb__st_write(const char *function, const char *path, ebb_tensor *const *tensors,
                         const char *const *names, int64_t n)
{
    EBB_TRY(check_all(function, tensors, names, n));
    if (n > 1) {
        ebb_context *ctx = ebb_context_of(tensors[0]);
        const size_t bytes = (size_t)n * sizeof *names;
        const char **sorted = ebb_alloc(ctx, bytes, EBB_KIND_BOOKKEEPING);
        if (!sorted) return ebb_error_status();
        ebb_status unique = check_unique(function, sorted, names, n);
        ebb_free(ctx, sorted, bytes, EBB_KIND_BOOKKEEPING);
        EBB_TRY(unique);
    }
    char *text = make_header(tensors, names, n);
    if (!text) return ebb_fail(EBB_E_NOMEM, "%s: no memory for the header", function);
    ebb__file_writer w;
    ebb_status s = ebb__file_create(&w, function, path);
    if (s == EBB_OK) {
        s = write_all(&w, text, tensors, n);
        ebb__file_abandon(&w);
    }
    cJSON_free(text);
    return s;
}

ebb_status ebb_save_safetensors(const char *path, ebb_tensor *const *tensors,
                                const char *const *names, int64_t n)
{
    return ebb__st_write("save_safetensors", path, tensors, names, n);
}
