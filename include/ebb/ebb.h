/* ebb.h - all of Ebb.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_EBB_H
#define EBB_EBB_H

#include <ebb/context.h>
#include <ebb/custom.h>
#include <ebb/data.h>
#include <ebb/explain.h>
#include <ebb/extend.h>
#include <ebb/grad.h>
#include <ebb/hook.h>
#include <ebb/memory.h>
#include <ebb/nn.h>
#include <ebb/ops.h>
#include <ebb/optim.h>
#include <ebb/params.h>
#include <ebb/plan.h>
#include <ebb/scope.h>
#include <ebb/status.h>
#include <ebb/tensor.h>
#include <ebb/version.h>

#include <ebb/sites.h>

#endif
