/* handles.h - all tensor handles of a root context and the contexts below it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_API_HANDLES_H
#define EBB_API_HANDLES_H

#include "api/api.h"

/* Each live handle of the context's root and all below it, while no other call is in progress.
 */
void ebb__handles_each(ebb_context *ctx, void (*each)(void *user, ebb__slot *s), void *user);
/* References that the user took, apart from the scope's. */
static inline int64_t ebb__user_references(const ebb__slot *s)
{
    return atomic_load_explicit(&s->refs, memory_order_relaxed) % EBB__SCOPE_REF;
}
static inline bool ebb__is_in_scope(const ebb__slot *s)
{
    return atomic_load_explicit(&s->refs, memory_order_relaxed) >= EBB__SCOPE_REF;
}

#endif
