/* data.h - batches from tensors or from a reader of yours, shuffled and prefetched.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_DATA_H
#define EBB_DATA_H

#include <ebb/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_loader ebb_loader;
enum { EBB_MAX_FIELDS = 4 };

/* Borrowed: valid until the next call on the loader. */
typedef struct ebb_batch {
    ebb_tensor *field[EBB_MAX_FIELDS];
    int64_t n, index, n_batches;
} ebb_batch;
typedef struct ebb_loader_options {
    bool shuffle, drop_last, no_prefetch;
    uint64_t seed, reserved[4];
} ebb_loader_options;
/* Rows of 1 to 4 tensors of equal first dimension. The fields are kept until the loader goes. A
 * field's rows are copied as they are; the loader's thread never touches the graph. */
EBB_API EBB_NODISCARD ebb_status ebb_loader_create(ebb_loader **out, ebb_tensor *const *fields,
                                                   int64_t n_fields, int64_t batch_size,
                                                   const ebb_loader_options *options);
/* read fills one item per field, each of item[k]'s bytes; called from other threads. */
typedef struct ebb_source {
    int64_t n_items, n_fields;
    ebb_dtype dtype[EBB_MAX_FIELDS];
    ebb_shape item[EBB_MAX_FIELDS];
    ebb_status (*read)(void *user, int64_t index, void *const *fields);
    void *user;
} ebb_source;
EBB_API EBB_NODISCARD ebb_status ebb_loader_create_from(ebb_loader **out, ebb_context *ctx,
                                                        const ebb_source *source,
                                                        int64_t batch_size,
                                                        const ebb_loader_options *options);
/* False at the end of the epoch; the next call begins a new one (in a new order where
 * shuffled). A failed read: true once, with NULL fields and the reason on record. */
EBB_API bool ebb_loader_next(ebb_loader *l, ebb_batch *out);
EBB_API void ebb_loader_release(ebb_loader *l);

/* Files. Everything is validated against the file's size before memory is asked for. The tensor
 * belongs to the innermost scope; its kind is DATA. Errors: E_IO, E_UNSUPPORTED (element type),
 * E_SHAPE, E_BUDGET, E_NOMEM. */
/* IDX as in MNIST, plain or gzip-compressed. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_load_idx(ebb_context *ctx, const char *path);
/* NumPy's .npy, versions 1 to 3, little-endian, either order. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_load_npy(ebb_context *ctx, const char *path);
EBB_API EBB_NODISCARD ebb_status ebb_save_npy(ebb_tensor *t, const char *path);
/* Tensors by name in one file; views and strided tensors are written in C order. */
EBB_API EBB_NODISCARD ebb_status ebb_save_safetensors(const char *path,
                                                      ebb_tensor *const *tensors,
                                                      const char *const *names, int64_t n);
/* One tensor of a safetensors file. E_RANGE: no such name. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_load_safetensors(ebb_context *ctx, const char *path,
                                                       const char *name);

#ifdef __cplusplus
}
#endif

#endif
