/* hook.h - functions of one's own that see a gradient on its way and may replace it.
 *
 * A hook belongs to what made the tensor, not to the handle: it stays while a backward may still
 * come by, whoever lets go of handles, and goes when that operation is consumed, severed or
 * freed, or when the leaf goes. A hook whose user data holds the hook's own tensor (or one
 * computed from it) is the one cycle that can be made here: each waits for the other. Tensors
 * named in `holds` are kept by the hook, and ebb_explain and ebb_watch know about them.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_HOOK_H
#define EBB_HOOK_H

#include <ebb/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef uint64_t ebb_hook_id; /* never 0 */

/* Called during a backward, without locks, in a scope of its own, when the gradient of the
 * tensor is complete: the sum over all uses; of a leaf that of this backward, before it is added
 * to the slot.
 *
 *   grad  *grad is the gradient: borrowed, of the tensor's dtype and shape. Another tensor of
 *         that dtype and shape put there takes its place; writing into it changes it. A hook may
 *         keep it: it is the hook's own then, later changes to either are not seen by the other.
 *
 * Nothing is recorded inside unless the backward creates a graph or the hook opens
 * EBB_ENABLE_GRAD; a backward of another graph may be run. A status other than EBB_OK (made with
 * ebb_fail) ends the backward with it: no slot has changed, the walked graph is spent unless it
 * is kept. */
typedef ebb_status (*ebb_hook_fn)(void *user, ebb_tensor **grad);

typedef struct ebb_hook_options {
    const char *name;         /* for messages and explanations; copied, cut to 31 bytes */
    void (*done)(void *user); /* once, without locks, when the hook goes; at once on failure */
    ebb_tensor *const *holds; /* tensors that it uses: each kept until it goes */
    int64_t n_holds;
    uint64_t reserved[4];
} ebb_hook_options;
/* Adds a hook to a tensor; those of one tensor run in the order of adding.
 *
 *   out      what ebb_hook_remove wants; may be NULL
 *   t        a leaf, or computed from one and not consumed: borrowed
 *   options  NULL for defaults
 *
 * ebb_grad runs the hooks of what it visits, chosen inputs included: its results are what the
 * hooks leave.
 * Errors  EBB_E_GRAPH no gradient will reach t; EBB_E_MISUSE; EBB_E_NOMEM; EBB_E_BUDGET.
 */
EBB_API EBB_NODISCARD ebb_status ebb_hook_add(ebb_hook_id *out, ebb_tensor *t, ebb_hook_fn fn,
                                              void *user, const ebb_hook_options *options);
/* Takes it away; one that has gone already is no error. Inside a hook: that one too.
 * Errors  EBB_E_MISUSE no hook ever had this number.
 */
EBB_API EBB_NODISCARD ebb_status ebb_hook_remove(ebb_context *ctx, ebb_hook_id id);

/* Gives an interior tensor a gradient slot, as leaves have one: ebb_backward adds to it (after
 * its hooks), ebb_grad_of, ebb_has_grad and ebb_clear_grad work on it. The slot belongs to this
 * handle and goes with it. Nothing happens on a leaf, or the second time.
 * Errors  EBB_E_GRAPH no gradient will reach t; EBB_E_MISUSE; EBB_E_NOMEM; EBB_E_BUDGET.
 */
EBB_API EBB_NODISCARD ebb_status ebb_retain_grad(ebb_tensor *t);

#ifdef __cplusplus
}
#endif

#endif
