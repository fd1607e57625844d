/* call.c - the entry points of generated functions.
 * SPDX-License-Identifier: MIT */
#include "api/call.h"

enum { MAX_LIST = 1 << 20 }; /* inputs or outputs of one application */

static ebb_status refuse(const ebb_op *op, ebb_status s, const char *what, int64_t given)
{
    const char *before = ebb__error_op_set(op->name);
    s = ebb__fail(s, "%s is %lld, allowed are 1 to %d", what, (long long)given, MAX_LIST);
    ebb__error_op_set(before);
    return s;
}

ebb_status ebb__call_reserved(const ebb_op *op, const uint64_t reserved[4])
{
    for (int i = 0; i < 4; i++) {
        if (reserved[i] == 0) continue;
        const char *before = ebb__error_op_set(op->name);
        ebb_status s = ebb__fail(EBB_E_MISUSE,
                                 "options->reserved[%d] is not zero; zero the whole struct", i);
        ebb__error_op_set(before);
        return s;
    }
    return EBB_OK;
}

ebb_status ebb__call_outs(ebb_tensor **const *out, int32_t n_out, const ebb_op *op,
                          const void *attr, int32_t n_in, ebb_tensor *const *in)
{
    ebb_tensor *result[EBB__MAX_OUT] = {0};
    ebb_status status = EBB_OK;
    for (int32_t k = 0; k < n_out; k++) {
        if (out[k])
            *out[k] = NULL;
        else
            status = ebb__null_argument(op->name, op->result[k]);
    }
    if (status == EBB_OK) status = ebb__run(NULL, op, attr, n_in, in, n_out, result);
    if (status != EBB_OK) return status;
    for (int32_t k = 0; k < n_out; k++) *out[k] = result[k];
    return EBB_OK;
}

ebb_tensor *ebb__call_list(const ebb_op *op, const void *attr, ebb_tensor *const *in, int64_t n)
{
    if (!in) {
        ebb__null_argument(op->name, op->arg[0]);
        return NULL;
    }
    if (n < 1 || n > MAX_LIST) {
        refuse(op, EBB_E_RANGE, "the number of tensors", n);
        return NULL;
    }
    return ebb__run1(NULL, op, attr, (int32_t)n, in);
}

ebb_status ebb__call_parts(ebb_tensor **out, int64_t n_out, const ebb_op *op, const void *attr,
                           ebb_tensor *const *in)
{
    if (!out) return ebb__null_argument(op->name, op->result[0] ? op->result[0] : "parts");
    if (n_out < 1 || n_out > MAX_LIST)
        return refuse(op, EBB_E_RANGE, "the number of outputs", n_out);
    for (int64_t k = 0; k < n_out; k++) out[k] = NULL;
    return ebb__run(NULL, op, attr, 1, in, (int32_t)n_out, out);
}
