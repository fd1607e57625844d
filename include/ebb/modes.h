/* modes.h - what the numbers in options stand for, where an operation has several ways.
 *
 * Zero is the default everywhere; new ones are added at the end.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MODES_H
#define EBB_MODES_H

enum { EBB_PAD_CONSTANT, EBB_PAD_REFLECT, EBB_PAD_REPLICATE, EBB_PAD_CIRCULAR };
enum { EBB_FFT_BACKWARD, EBB_FFT_ORTHO, EBB_FFT_FORWARD };

#endif
