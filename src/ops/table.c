/* table.c - all operations, in the order of ops.def.
 * SPDX-License-Identifier: MIT */
#include "ops/ids.h"

const ebb_op *const ebb__op_table[EBB__N_OPS] = {
#define EBB_OP(name, family) &ebb__op_##name,
#include "ops/ops.def"
#undef EBB_OP
};
