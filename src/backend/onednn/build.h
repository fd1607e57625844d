/* build.h - one builder per overridden operation: the call's plan, in terms of plan.h.
 *
 * `worth` is a cheap look at sizes alone, made at every application: is the work large enough
 * for oneDNN's fixed cost? `build` runs once per key; what it cannot express it leaves as an
 * error in the plan, and the reference kernel keeps that key.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BACKEND_ONEDNN_BUILD_H
#define EBB_BACKEND_ONEDNN_BUILD_H

#include "backend/onednn/plan.h"

typedef struct ebb__dnnl_builder {
    const char *name;
    bool (*worth)(const ebb__call *c);
    void (*build)(ebb__dnnl_plan *p, const ebb__call *c);
} ebb__dnnl_builder;

/* Of the call's inputs, by the descriptor's argument name; -1: none such or absent. */
int32_t ebb__dnnl_input(const ebb__call *c, const char *arg);
/* A member of the attributes by name; NULL: none such. */
const void *ebb__dnnl_attribute(const ebb__call *c, const char *name);
/* Leaves the call to the reference kernel. */
void ebb__dnnl_refuse(ebb__dnnl_plan *p);
bool ebb__dnnl_all_f32(const ebb__call *c);

bool ebb__dnnl_conv_worth(const ebb__call *c);
void ebb__dnnl_conv_build(ebb__dnnl_plan *p, const ebb__call *c);
bool ebb__dnnl_conv_grad_input_worth(const ebb__call *c);
void ebb__dnnl_conv_grad_input_build(ebb__dnnl_plan *p, const ebb__call *c);
bool ebb__dnnl_conv_grad_weight_worth(const ebb__call *c);
void ebb__dnnl_conv_grad_weight_build(ebb__dnnl_plan *p, const ebb__call *c);
bool ebb__dnnl_matmul_worth(const ebb__call *c);
void ebb__dnnl_matmul_build(ebb__dnnl_plan *p, const ebb__call *c);
void ebb__dnnl_linear_build(ebb__dnnl_plan *p, const ebb__call *c);
bool ebb__dnnl_softmax_worth(const ebb__call *c);
void ebb__dnnl_softmax_build(ebb__dnnl_plan *p, const ebb__call *c);
void ebb__dnnl_softmax_grad_build(ebb__dnnl_plan *p, const ebb__call *c);
bool ebb__dnnl_norm_worth(const ebb__call *c);
void ebb__dnnl_layer_norm_build(ebb__dnnl_plan *p, const ebb__call *c);
void ebb__dnnl_layer_norm_grad_build(ebb__dnnl_plan *p, const ebb__call *c);
bool ebb__dnnl_avg_pool_worth(const ebb__call *c);
void ebb__dnnl_avg_pool_build(ebb__dnnl_plan *p, const ebb__call *c);
void ebb__dnnl_avg_pool_grad_build(ebb__dnnl_plan *p, const ebb__call *c);

#endif
