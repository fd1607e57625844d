/* clones.h - EBB_CLONES: compile a loop for several instruction sets and choose at load time.
 *
 * Contraction is off in the whole build (ISO C mode), so a clone rounds as the plain loop does,
 * apart from the order of sums that are vectorised by hand. Sanitizers run before the loader's
 * choice and do not survive it.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OPS_KERNELS_CLONES_H
#define EBB_OPS_KERNELS_CLONES_H

#if defined __x86_64__ && defined __GNUC__ && !defined __clang__ && defined __OPTIMIZE__ &&    \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define EBB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define EBB_CLONES
#endif

/* The iterations of the next loop may run together: an output is written only where the input
 * of the same iteration may lie (in-place elementwise work). */
#if defined __GNUC__ && !defined __clang__
#define EBB_IVDEP _Pragma("GCC ivdep")
/* Before a loop over a few lanes: a loop that stays one is vectorised, one unrolled early is
 * not. */
#define EBB_LANES _Pragma("GCC unroll 1") _Pragma("GCC ivdep")
#else
#define EBB_IVDEP
#define EBB_LANES
#endif

#endif
