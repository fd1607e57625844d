/* owned.h - accounted memory of a context outside the pool, and objects that go with the
 * context.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TENSOR_OWNED_H
#define EBB_TENSOR_OWNED_H

#include "base/context.h"

#include <ebb/extend.h>

/* Zeroed, 64-byte aligned; NULL with a record where refused. bytes > 0. */
void *ebb__owned_alloc(ebb_context *ctx, size_t bytes, ebb_kind kind);
void ebb__owned_free(ebb_context *ctx, void *p, size_t bytes, ebb_kind kind);

ebb_status ebb__owned_create(ebb_context *ctx);
/* Destroys what is attached, newest first. */
void ebb__owned_destroy(ebb_context *ctx);

#endif
