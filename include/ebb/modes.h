/* modes.h - what the numbers in options stand for, where an operation has several ways.
 *
 * Zero is the default everywhere; new ones are added at the end.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MODES_H
#define EBB_MODES_H

enum { EBB_PAD_CONSTANT, EBB_PAD_REFLECT, EBB_PAD_REPLICATE, EBB_PAD_CIRCULAR };
enum { EBB_FFT_BACKWARD, EBB_FFT_ORTHO, EBB_FFT_FORWARD };
/* How a loss ends: the mean over its elements, their sum, one number for each, or (kl_div alone) the
 * sum over the length of axis 0. */
enum { EBB_REDUCTION_MEAN, EBB_REDUCTION_SUM, EBB_REDUCTION_NONE, EBB_REDUCTION_BATCH_MEAN };

#endif
