/* call.c - the entry points of generated functions.
 * SPDX-License-Identifier: MIT */
#include "api/call.h"

#include "base/alloc.h"

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

static ebb_status list_check(const ebb_op *op, ebb_tensor *const *list, int64_t n)
{
    if (!list) return ebb__null_argument(op->name, op->arg[op->n_in - 1]);
    if (n < 1 || n > MAX_LIST) return refuse(op, EBB_E_RANGE, "the number of tensors", n);
    return EBB_OK;
}

ebb_tensor *ebb__call_list(const ebb_op *op, const void *attr, ebb_tensor *const *first,
                           int32_t n_first, ebb_tensor *const *list, int64_t n)
{
    if (list_check(op, list, n) != EBB_OK) return NULL;
    if (n_first == 0) return ebb__run1(NULL, op, attr, (int32_t)n, list);
    ebb_tensor *few[EBB__MAX_IN], **all = few;
    size_t bytes = (size_t)(n_first + n) * sizeof *all;
    if (n_first + n > EBB__MAX_IN) all = ebb__alloc(&ebb__allocator_libc, bytes, 16);
    if (!all) {
        (void)ebb__call_end(NULL, ebb__context_among(list, n),
                            ebb__fail(EBB_E_NOMEM, "%zu bytes were refused", bytes));
        return NULL;
    }
    for (int32_t i = 0; i < n_first; i++) all[i] = first[i];
    for (int64_t i = 0; i < n; i++) all[n_first + i] = list[i];
    ebb_tensor *out = ebb__run1(NULL, op, attr, n_first + (int32_t)n, all);
    if (all != few) ebb__free(&ebb__allocator_libc, all, bytes);
    return out;
}

ebb_status ebb__call_parts(ebb_tensor **out, int64_t n_out, const ebb_op *op, const void *attr,
                           ebb_tensor *const *in, int64_t n)
{
    if (!out) return ebb__null_argument(op->name, op->result[0] ? op->result[0] : "parts");
    if (n_out < 1 || n_out > MAX_LIST)
        return refuse(op, EBB_E_RANGE, "the number of outputs", n_out);
    for (int64_t k = 0; k < n_out; k++) out[k] = NULL;
    EBB_TRY(list_check(op, in, n));
    return ebb__run(NULL, op, attr, (int32_t)n, in, (int32_t)n_out, out);
}
