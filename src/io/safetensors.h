/* safetensors.h - the header of a safetensors file as a sorted table.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_IO_SAFETENSORS_H
#define EBB_IO_SAFETENSORS_H

#include "io/file.h"

#include <ebb/extend.h>

typedef struct ebb__st_entry {
    const char *name; /* both in the parsed header */
    const char *dtype_name;
    ebb_dtype dtype; /* 0: an element type that Ebb does not have */
    ebb_shape shape;
    uint64_t offset, bytes; /* in the file; checked */
} ebb__st_entry;

typedef struct ebb__st {
    ebb_context *ctx;
    ebb__file file;
    struct cJSON *header;
    ebb__st_entry *entries; /* by name */
    int64_t n;
} ebb__st;

/* Opens, parses and checks everything that the header says against the file's size. Close it
 * even after an error. */
ebb_status ebb__st_open(ebb__st *out, ebb_context *ctx, const char *function, const char *path);
void ebb__st_close(ebb__st *s);
/* NULL where there is no such name. */
const ebb__st_entry *ebb__st_find(const ebb__st *s, const char *name);
/* Its elements; out has e->bytes. */
ebb_status ebb__st_read(void *out, const ebb__st *s, const ebb__st_entry *e);
/* The tensors under these names, as one file. */
ebb_status ebb__st_write(const char *function, const char *path, ebb_tensor *const *tensors,
                         const char *const *names, int64_t n);

#endif
