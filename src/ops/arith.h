/* arith.h - what elementwise families share: shape rules by kind of number.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_ARITH_H
#define EBB_OPS_ARITH_H

#include "op/op.h"

/* All inputs broadcast and have one dtype, which is a number's (not bool). */
ebb_status ebb__shape_numbers(ebb__call *c);
/* The same, any dtype; the result is bool. */
ebb_status ebb__shape_test(ebb__call *c);
/* E_RANGE where an integer dtype cannot hold the number (floating ones round it). */
ebb_status ebb__check_holds(ebb_dtype d, double value);
/* The bytes of an element, in the first ones of the result; not of 16-bit floats. */
uint64_t ebb__element_bits(ebb_dtype d, double value);

#endif
