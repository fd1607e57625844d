/* ids.h - the operations by name and number, from ops.def.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_IDS_H
#define EBB_OPS_IDS_H

#include "op/op.h"

enum ebb__op_id {
#define EBB_OP(name, family) EBB__OP_##name,
#include "ops/ops.def"
#undef EBB_OP
    EBB__N_OPS
};

#define EBB_OP(name, family) extern const ebb_op ebb__op_##name;
#include "ops/ops.def"
#undef EBB_OP

/* Opens a descriptor: const ebb_op ebb__op_mul = {EBB_OP_HEAD(mul), .doc = ...}; */
#define EBB_OP_HEAD(op_name) .name = #op_name, .id = EBB__OP_##op_name

/* The table in order of ids. */
extern const ebb_op *const ebb__op_table[EBB__N_OPS];

#endif
