/* unary.h - the descriptor that functions of one tensor share.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_UNARY_H
#define EBB_OPS_UNARY_H

#include "ops/arith.h"
#include "ops/ids.h"

#define EBB_ONE_SAMPLES                                                                        \
    EBB_SAMPLES({.in = {"3x4"}}, {.in = {""}}, {.in = {"67"}}, {.in = {"2x1x3"}},              \
                {.in = {"0x3"}})

/* Named op_name, with op_name_forward; the last argument is the range of inputs for tests. */
#define EBB_UNARY(op_name, shape_rule, need_bits, rule, text, ...)                             \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 1,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {"x"},                                                                          \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE,                                           \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_bits},                                                                   \
        .shape = shape_rule,                                                                   \
        .forward = op_name##_forward,                                                          \
        .vjp = rule,                                                                           \
        .range = {__VA_ARGS__},                                                                \
        EBB_ONE_SAMPLES,                                                                       \
    };

/* Private: g (or another factor) times a slope, from n tensors that broadcast. */
#define EBB_SLOPE3(op_name, a, b, c, need_a, need_b, need_c, text, ...)                        \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 3,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {a, b, c},                                                                      \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,       \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_a, need_b, need_c},                                                      \
        .shape = ebb__shape_floats,                                                            \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {__VA_ARGS__},                                                                \
        EBB_SAMPLES({.in = {"3x4", "3x4", "3x4"}}, {.in = {"2x3", "2x1", "3"}},                \
                    {.in = {"", "", ""}}, {.in = {"0x3", "0x3", "3"}}),                        \
    };
#define EBB_SLOPE2(op_name, a, b, need_a, need_b, text, ...)                                   \
    const ebb_op ebb__op_##op_name = {                                                         \
        EBB_OP_HEAD(op_name),                                                                  \
        .doc = text,                                                                           \
        .n_in = 2,                                                                             \
        .n_out = 1,                                                                            \
        .arg = {a, b},                                                                         \
        .flags = EBB_OP_STRIDED | EBB_OP_ALIAS_SAFE | EBB_OP_BROADCAST | EBB_OP_PRIVATE,       \
        .bound = EBB_BOUND_MEMORY,                                                             \
        .need = {need_a, need_b},                                                              \
        .shape = ebb__shape_floats,                                                            \
        .forward = op_name##_forward,                                                          \
        .vjp = op_name##_vjp,                                                                  \
        .range = {__VA_ARGS__},                                                                \
        EBB_SAMPLES({.in = {"3x4", "3x4"}}, {.in = {"", ""}}, {.in = {"67", "67"}},            \
                    {.in = {"0x3", "0x3"}}),                                                   \
    };

#endif
