/* compose.c - operations that are formulas of others: their temporaries go when they return.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

static void compose_emit(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                         ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    for (int32_t i = 0; i < n_in; i++)
        if (!in[i]) {
            v->status = ebb__null_argument(op->name, "an argument");
            return;
        }
    /* What goes wrong inside is said under the name of the operation the caller knows. */
    v->status = ebb__run_unnamed(v->ctx, op, attr, n_in, in, n_out, out);
}

static const ebb__vjp_host host = {.emit = compose_emit};

ebb_status ebb__compose(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                        ebb_tensor *const *in, int32_t n_out, ebb_tensor **out)
{
    for (int32_t i = 0; i < n_in; i++) {
        int32_t known = i < op->n_in ? i : op->n_in - 1;
        if (in[i] == EBB_NONE && op->optional >> known & 1) continue;
        ebb__slot *s = ebb__slot_of(in[i], op->name, op->arg[known] ? op->arg[known] : "x");
        if (!s) return ebb_error_status();
        if (!ctx) ctx = s->ctx;
    }
    ebb_vjp v = {
        .op = op, .attr = attr, .ctx = ctx, .n_in = n_in, .n_out = n_out, .host = &host};
    ebb_scope scope = ebb_scope_begin(0, NULL);
    if (scope.id == 0) {
        ebb_status refused = ebb_error_status();
        ebb_scope_end(scope);
        return refused;
    }
    ebb_tensor *promoted[EBB__MAX_IN];
    if (op->flags & EBB_OP_PROMOTES) {
        v.status = ebb__promote_all(promoted, op, in, n_in);
        in = promoted;
    }
    if (v.status == EBB_OK) op->compose(&v, out, in, n_in, attr);
    for (int32_t k = 0; k < n_out; k++) {
        if (v.status == EBB_OK && !out[k])
            v.status = ebb__fail(EBB_E_INTERNAL, "%s has no result", op->name);
        out[k] = v.status == EBB_OK ? ebb_escape(scope, out[k]) : NULL;
    }
    ebb_scope_end(scope);
    return v.status;
}
