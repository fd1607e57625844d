/* extend.h - for libraries that make objects of their own which live in a context.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_EXTEND_H
#define EBB_EXTEND_H

#include <ebb/context.h>
#include <ebb/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Accounted memory, 64-byte aligned, zeroed; NULL and a record where refused (E_BUDGET,
 * E_NOMEM). bytes > 0. */
EBB_API EBB_NODISCARD void *ebb_alloc(ebb_context *ctx, size_t bytes, ebb_kind kind);
EBB_API void ebb_free(ebb_context *ctx, void *p, size_t bytes, ebb_kind kind);

/* Embed one in an object: destroy(object) is called when the context goes, newest first, before
 * any tensor goes. Detach it when the object goes by itself. Neither allocates or fails. */
typedef struct ebb_attachment {
    struct ebb_attachment *next, **prev;
    void (*destroy)(void *object);
    void *object;
} ebb_attachment;
EBB_API void ebb_attach(ebb_context *ctx, ebb_attachment *a, void (*destroy)(void *object),
                        void *object);
EBB_API void ebb_detach_object(ebb_context *ctx, ebb_attachment *a);

/* What a backward may be limited to. An ebb_params begins with a pointer to one, through which
 * the layers below it see its tensors. */
typedef struct ebb_tensor_list {
    int64_t (*count)(const void *list);
    ebb_tensor *(*at)(const void *list, int64_t i); /* borrowed */
} ebb_tensor_list;

/* The context a tensor was made in; NULL for NULL, EBB_NONE or a stale handle (with a record).
 */
EBB_API ebb_context *ebb_context_of(const ebb_tensor *t);
/* What a tensor's bytes count as, from now on. */
EBB_API EBB_NODISCARD ebb_status ebb_set_kind(ebb_tensor *t, ebb_kind kind);
/* An uninitialised tensor of the innermost scope. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_empty(ebb_context *ctx, ebb_dtype d, ebb_shape s,
                                            ebb_kind kind);

#ifdef __cplusplus
}
#endif

#endif
