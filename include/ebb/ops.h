/* ops.h - the operations: they take tensors and return tensors.
 *
 * Generated from the table of operations (src/ops/ops.def) by gen_ops; edit the descriptors.
 *
 * Inputs are borrowed; results belong to the innermost open scope. A failed operation
 * returns NULL and leaves the reason in the thread's error record; NULL as an input
 * passes the failure on. Several outputs are written to out-parameters, all NULL on
 * failure. Errors common to all: E_MISUSE no open scope, a stale handle, an option that
 * must be zero; E_SHAPE, E_DTYPE and E_RANGE where inputs and attributes do not fit;
 * E_BUDGET; E_NOMEM. Options may be NULL; zero is the default of every member.
 *
 * ebb_NAME_ puts the result in the place of its first input, which keeps dtype and shape.
 * While an input is tracked and the scope records, the handle gets the result with its
 * history: E_GRAPH on a leaf, and where other tensors share the bytes. Else the bytes are
 * written, which all views see; E_MISUSE on an expanded tensor. A backward that saved them
 * is refused naming both operations.
 * docs/ops.md has the whole table.
 *
 * SPDX-License-Identifier: MIT */
/* clang-format off */
#ifndef EBB_OPS_H
#define EBB_OPS_H

#include <ebb/axes.h>
#include <ebb/modes.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out = x + y, elementwise, x or y of bools; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_add(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_add_(ebb_tensor *x, ebb_tensor *y);

/* out = x - y, elementwise; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sub(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_sub_(ebb_tensor *x, ebb_tensor *y);

/* out = x * y, elementwise, x and y of bools; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mul(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_mul_(ebb_tensor *x, ebb_tensor *y);

/* out = x / y, elementwise, f32 or f64; shapes broadcast as in NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_div(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_div_(ebb_tensor *x, ebb_tensor *y);

/* out = -x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_neg(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_neg_(ebb_tensor *x);

/* out = |x|; the gradient at 0 is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_abs(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_abs_(ebb_tensor *x);

/* out = -1, 0 or 1; NaN stays NaN, a bool as it is. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sign(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_sign_(ebb_tensor *x);

/* out = sqrt(x), NaN for x < 0; the gradient at 0 is infinite. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sqrt(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_sqrt_(ebb_tensor *x);

/* out = 1 / sqrt(x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_rsqrt(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_rsqrt_(ebb_tensor *x);

/* out = 1 / x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_reciprocal(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_reciprocal_(ebb_tensor *x);

/* out = x * x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_square(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_square_(ebb_tensor *x);

/* out = exp(x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_exp(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_exp_(ebb_tensor *x);

/* out = exp(x) - 1, exact near 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_expm1(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_expm1_(ebb_tensor *x);

/* out = ln(x), NaN for x < 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_log_(ebb_tensor *x);

/* out = ln(1 + x), exact near 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log1p(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_log1p_(ebb_tensor *x);

/* out = sin(x), radians. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sin(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_sin_(ebb_tensor *x);

/* out = cos(x), radians. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cos(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_cos_(ebb_tensor *x);

/* out = 2 / sqrt(pi) * (integral of exp(-t^2) from 0 to x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_erf(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_erf_(ebb_tensor *x);

/* out = the largest whole number <= x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_floor(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_floor_(ebb_tensor *x);

/* out = the smallest whole number >= x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ceil(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_ceil_(ebb_tensor *x);

/* out = the whole number nearest to x; halves go to the even one. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_round(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_round_(ebb_tensor *x);

/* out = x without its fraction. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_trunc(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_trunc_(ebb_tensor *x);

/* out = x + a.
 *   a          a number; one that is not whole makes whole numbers f32 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_add_scalar(ebb_tensor *x, double a);

EBB_API EBB_NODISCARD ebb_status ebb_add_scalar_(ebb_tensor *x, double a);

/* out = x * a.
 *   a          a number; one that is not whole makes whole numbers f32 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mul_scalar(ebb_tensor *x, double a);

EBB_API EBB_NODISCARD ebb_status ebb_mul_scalar_(ebb_tensor *x, double a);

/* out = x^a; the gradient is 0 where a = 0. Whole numbers stay whole (and wrap) where a is,
 * which must not be negative then; else they give f32.
 *   a          a number; one that is not whole makes whole numbers f32 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pow_scalar(ebb_tensor *x, double a);

EBB_API EBB_NODISCARD ebb_status ebb_pow_scalar_(ebb_tensor *x, double a);

/* out = x^y, elementwise; shapes broadcast as in NumPy. The gradient of x is 0 where y = 0,
 * that of y is 0 where x = 0 and y >= 0. Whole numbers stay whole: they wrap, and with y < 0
 * all but 1 and -1 give 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pow(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_pow_(ebb_tensor *x, ebb_tensor *y);

/* out = min(max(x, lo), hi), NaN stays NaN; the gradient is 1 for lo <= x <= hi (and for
 * NaN), else 0, and 0 everywhere where lo = hi.
 *   lo         lower bound; -INFINITY for none
 *   hi         upper bound; INFINITY for none */
EBB_API EBB_NODISCARD ebb_tensor *ebb_clamp(ebb_tensor *x, double lo, double hi);

EBB_API EBB_NODISCARD ebb_status ebb_clamp_(ebb_tensor *x, double lo, double hi);

/* Every element is value.
 *   value      one that the dtype holds */
EBB_API EBB_NODISCARD ebb_tensor *ebb_full(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape,
                                           double value);

/* Every element is 0 (false). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_zeros(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape);

/* Every element is 1 (true). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ones(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape);

/* Every element is value; dtype and shape are x's. Reads no element of x.
 *   value      one that the dtype holds */
EBB_API EBB_NODISCARD ebb_tensor *ebb_full_like(ebb_tensor *x, double value);

/* out[i] = start + i * step, for all i with out[i] before stop.
 *   dtype      a number's
 *   start      the first element
 *   stop       not reached
 *   step       not 0; negative counts down */
EBB_API EBB_NODISCARD ebb_tensor *ebb_arange(ebb_context *ctx, ebb_dtype dtype, double start,
                                             double stop, double step);

/* An n by n matrix with ones on the diagonal, else zeros.
 *   n          rows and columns */
EBB_API EBB_NODISCARD ebb_tensor *ebb_eye(ebb_context *ctx, ebb_dtype dtype, int64_t n);

/* The elements of x in C order in another shape: a view where strides allow it.
 *   shape      one dimension may be -1: what is left */
EBB_API EBB_NODISCARD ebb_tensor *ebb_reshape(ebb_tensor *x, ebb_shape shape);

/* x with its axes in another order; a view.
 *   axes       axis i of the result is axes[i] of x: each axis once */
EBB_API EBB_NODISCARD ebb_tensor *ebb_permute(ebb_tensor *x, ebb_axes axes);

/* x with two axes exchanged; a view.
 *   a          an axis
 *   b          the axis it trades places with */
EBB_API EBB_NODISCARD ebb_tensor *ebb_transpose(ebb_tensor *x, int64_t a, int64_t b);

/* x without an axis of size 1; a view.
 *   axis       of size 1 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_squeeze(ebb_tensor *x, int64_t axis);

/* x with an axis of size 1 put in; a view.
 *   axis       of the result; negative counts from its end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_unsqueeze(ebb_tensor *x, int64_t axis);

/* x repeated along axes of size 1 and new leading ones; a view of stride 0 there.
 *   shape      -1 keeps the size of an axis that x has */
EBB_API EBB_NODISCARD ebb_tensor *ebb_expand(ebb_tensor *x, ebb_shape shape);

/* Elements start to start + length of one axis; a view.
 *   start      negative: from the end
 *   length     >= 0 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_narrow(ebb_tensor *x, int64_t axis, int64_t start,
                                             int64_t length);

/* Elements start, start + step, ... before stop of one axis, clipped as in NumPy; a view.
 *   start      negative: from the end
 *   stop       not reached; negative: from the end; INT64_MAX: all
 *   step       >= 1 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_slice(ebb_tensor *x, int64_t axis, int64_t start,
                                            int64_t stop, int64_t step);

/* Element i of one axis, which goes; a view.
 *   i          negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_select(ebb_tensor *x, int64_t axis, int64_t i);

/* Windows along an axis: out[..., w, ..., i] = x[..., w * step + i, ...]; a view whose
 * windows share elements, as torch.Tensor's unfold.
 *   axis       negative: from the end
 *   size       of a window, at most the axis
 *   step       between windows, >= 1 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_unfold(ebb_tensor *x, int64_t axis, int64_t size,
                                             int64_t step);

/* x with the axes start to end merged into one, in C order; a scalar becomes (1).
 *   start      the first axis to merge
 *   end        the last one; -1: x's last */
EBB_API EBB_NODISCARD ebb_tensor *ebb_flatten(ebb_tensor *x, int64_t start, int64_t end);

/* x repeated along axes of size 1 and new leading ones; a view of stride 0 there, the same
 * as expand.
 *   shape      of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_broadcast_to(ebb_tensor *x, ebb_shape shape);

/* x in n_out parts of one length along an axis, the last one shorter where it does not
 * divide evenly; refused where that makes fewer parts.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_status ebb_chunk(ebb_tensor **parts_out, int64_t n_out, ebb_tensor *x,
                                           int64_t axis);

typedef struct ebb_meshgrid_options {
    bool xy; /* the first two axes of the grids change places, as in plots */
    uint64_t reserved[4]; /* zero */
} ebb_meshgrid_options;
/* Grid k holds xs[k][i_k] at [i_0, i_1, ...]: one grid per vector, views of stride 0. */
EBB_API EBB_NODISCARD ebb_status ebb_meshgrid(ebb_tensor **grids_out, int64_t n_out,
                                              ebb_tensor *const *xs, int64_t n,
                                              const ebb_meshgrid_options *options);

/* out[..., i] = x[..., i, ..., i + offset, ...]: the diagonal of the plane of two axes, as
 * the last axis; a view.
 *   offset     > 0: above the main diagonal, < 0: below it
 *   a          the axis of rows
 *   b          the axis of columns */
EBB_API EBB_NODISCARD ebb_tensor *ebb_diagonal(ebb_tensor *x, int64_t offset, int64_t a,
                                               int64_t b);

/* Square matrices of zeros with the last axis of x on a diagonal; two axes of the result are
 * the rows and columns.
 *   offset     > 0: above the main diagonal, < 0: below it
 *   a          the axis of rows
 *   b          the axis of columns */
EBB_API EBB_NODISCARD ebb_tensor *ebb_diag_embed(ebb_tensor *x, int64_t offset, int64_t a,
                                                 int64_t b);

/* The diagonal of a matrix (a view), or the matrix with a vector on its diagonal.
 *   offset     > 0: above the main diagonal, < 0: below it */
EBB_API EBB_NODISCARD ebb_tensor *ebb_diag(ebb_tensor *x, int64_t offset);

/* out = sum over i of x[i, i]. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_trace(ebb_tensor *x);

/* out[i] = x[i mod n] in each axis: whole copies of x side by side, as torch.Tensor's
 * repeat.
 *   reps       copies along each axis of the result; at least x's rank many */
EBB_API EBB_NODISCARD ebb_tensor *ebb_repeat(ebb_tensor *x, ebb_shape reps);

/* repeat, with 1 for the leading axes that reps does not name, as in NumPy.
 *   reps       copies along the last axes; the axes before are left alone */
EBB_API EBB_NODISCARD ebb_tensor *ebb_tile(ebb_tensor *x, ebb_shape reps);

/* out[(i + shift) mod n] = x[i] along each of the axes; a copy.
 *   shifts     one per axis, EBB_SHAPE(1, -2); negative: towards the start
 *   axes       EBB_ALL: the elements in C order, by one shift */
EBB_API EBB_NODISCARD ebb_tensor *ebb_roll(ebb_tensor *x, ebb_shape shifts, ebb_axes axes);

typedef struct ebb_pad_options {
    int64_t mode; /* EBB_PAD_CONSTANT (0), EBB_PAD_REFLECT, EBB_PAD_REPLICATE or
            EBB_PAD_CIRCULAR */
    double value; /* of a constant border; 0: zeros */
    uint64_t reserved[4]; /* zero */
} ebb_pad_options;
/* x with its last axes made longer at both ends: by a value, by x reflected about its first
 * and last places (which do not repeat), by those places repeated, or by x again from its
 * other end.
 *   before     places put before the first of each of the last axes; negative (constant):
 *              cut off
 *   after      places put after the last, for the same axes */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pad(ebb_tensor *x, ebb_shape before, ebb_shape after,
                                          const ebb_pad_options *options);

/* A copy of x in C order, with a storage of its own. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_clone(ebb_tensor *x);

/* x with the order of elements along some axes turned round; a copy.
 *   axes       to turn round */
EBB_API EBB_NODISCARD ebb_tensor *ebb_flip(ebb_tensor *x, ebb_axes axes);

/* x with elements start, start + step, ... before stop of one axis replaced by y, which
 * broadcasts to them; a copy.
 *   start      negative: from the end
 *   stop       not reached; negative: from the end; INT64_MAX: all
 *   step       >= 1 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_slice_assign(ebb_tensor *x, ebb_tensor *y, int64_t axis,
                                                   int64_t start, int64_t stop, int64_t step);

EBB_API EBB_NODISCARD ebb_status ebb_slice_assign_(ebb_tensor *x, ebb_tensor *y, int64_t axis,
                                                   int64_t start, int64_t stop, int64_t step);

/* y in place of x: cast to its dtype, broadcast to its shape. */
EBB_API EBB_NODISCARD ebb_status ebb_copy_(ebb_tensor *x, ebb_tensor *y);

/* value in place of every element of x.
 *   value      one that the dtype holds */
EBB_API EBB_NODISCARD ebb_status ebb_fill_(ebb_tensor *x, double value);

/* 0 in place of every element of x. */
EBB_API EBB_NODISCARD ebb_status ebb_zero_(ebb_tensor *x);

/* Sum over axes; integers and bools give i64.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sum(ebb_tensor *x, ebb_axes axes);

/* Mean over axes, f32 or f64; NaN of nothing.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mean(ebb_tensor *x, ebb_axes axes);

/* Product over axes, 1 of nothing; integers and bools give i64.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_prod(ebb_tensor *x, ebb_axes axes);

/* Largest value over axes; NaN wins; equal ones share the gradient.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_amax(ebb_tensor *x, ebb_axes axes);

/* Smallest value over axes; NaN wins; equal ones share the gradient.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_amin(ebb_tensor *x, ebb_axes axes);

/* True where any element over the axes is not 0; false of nothing.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_any(ebb_tensor *x, ebb_axes axes);

/* True where every element over the axes is not 0; true of nothing.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_all(ebb_tensor *x, ebb_axes axes);

typedef struct ebb_var_options {
    bool population; /* divide by n instead of n - 1 */
    int64_t correction; /* divide by n - correction; 0: 1, or 0 where population is set */
    uint64_t reserved[4]; /* zero */
} ebb_var_options;
/* Variance over axes: sum((x - mean)^2) / (n - 1), or / n; NaN where that divides by 0.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_var(ebb_tensor *x, ebb_axes axes,
                                          const ebb_var_options *options);

/* Standard deviation over axes: the square root of var; its gradient is 0 where it is 0.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_std(ebb_tensor *x, ebb_axes axes,
                                          const ebb_var_options *options);

/* ln(sum(exp(x))) over axes without overflow; -inf of nothing.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logsumexp(ebb_tensor *x, ebb_axes axes);

/* out = (x == y), elementwise, bool; NaN equals nothing. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_eq(ebb_tensor *x, ebb_tensor *y);

/* out = (x != y), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ne(ebb_tensor *x, ebb_tensor *y);

/* out = (x < y), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_lt(ebb_tensor *x, ebb_tensor *y);

/* out = (x <= y), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_le(ebb_tensor *x, ebb_tensor *y);

/* out = (x > y), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_gt(ebb_tensor *x, ebb_tensor *y);

/* out = (x >= y), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ge(ebb_tensor *x, ebb_tensor *y);

/* out = (x != 0 and y != 0), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logical_and(ebb_tensor *x, ebb_tensor *y);

/* out = (x != 0 or y != 0), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logical_or(ebb_tensor *x, ebb_tensor *y);

/* out = (x == 0), bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logical_not(ebb_tensor *x);

/* out = (x is NaN), bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_isnan(ebb_tensor *x);

/* out = (x is infinite), bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_isinf(ebb_tensor *x);

/* out = (x is neither infinite nor NaN), bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_isfinite(ebb_tensor *x);

/* out = cond ? x : y, elementwise; shapes broadcast as in NumPy. The gradient of the one not
 * taken is 0 (and NaN where its own derivative is infinite). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_where(ebb_tensor *cond, ebb_tensor *x, ebb_tensor *y);

/* out = mask ? value : x, elementwise; shapes broadcast as in NumPy.
 *   value      one that x's dtype holds */
EBB_API EBB_NODISCARD ebb_tensor *ebb_masked_fill(ebb_tensor *x, ebb_tensor *mask,
                                                  double value);

EBB_API EBB_NODISCARD ebb_status ebb_masked_fill_(ebb_tensor *x, ebb_tensor *mask,
                                                  double value);

/* out = the larger of x and y, elementwise; NaN wins; each of two equal ones gets half of
 * the gradient. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_maximum(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_maximum_(ebb_tensor *x, ebb_tensor *y);

/* out = the smaller of x and y, elementwise; NaN wins; each of two equal ones gets half of
 * the gradient. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_minimum(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_minimum_(ebb_tensor *x, ebb_tensor *y);

/* x in another dtype: whole types truncate and saturate, NaN becomes 0, bool is x != 0.
 * Differentiable between floating types.
 *   dtype      of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cast(ebb_tensor *x, ebb_dtype dtype);

/* out[..., i, j] = sum over l of x[..., i, l] * y[..., l, j]; batch axes broadcast and
 * vectors count as one row (x) or one column (y), as in NumPy; whole numbers wrap. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_matmul(ebb_tensor *x, ebb_tensor *y);

/* out[..., j] = sum over i of x[..., i] * w[j, i] + b[j]; w is (out, in).
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_linear(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b);

typedef struct ebb_conv1d_options {
    int64_t stride; /* of the window; 0: 1 */
    int64_t padding; /* zeros on each side */
    int64_t dilation; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_conv1d_options;
/* out[n, o, i] = b[o] + sum over c, p of w[o, c, p] * x[n, c, stride * i - padding +
 * dilation * p], channels split into groups; x is (n, c, l), w is (out, c / groups, kernel).
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_conv1d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                             const ebb_conv1d_options *options);

/* out[i] = sum over j of x[i, j] * y[j]. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mv(ebb_tensor *x, ebb_tensor *y);

/* out = sum over i of x[i] * y[i], of vectors. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_dot(ebb_tensor *x, ebb_tensor *y);

/* out[i, j] = x[i] * y[j], of vectors. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_outer(ebb_tensor *x, ebb_tensor *y);

/* out[b] = x[b] y[b], a matrix product for each b; both have three axes. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bmm(ebb_tensor *x, ebb_tensor *y);

/* out = beta * x + alpha * (a b), of matrices; x broadcasts to the product.
 *   beta       factor of x; 0: x is not read, even where it is NaN
 *   alpha      factor of the product */
EBB_API EBB_NODISCARD ebb_tensor *ebb_addmm(ebb_tensor *x, ebb_tensor *a, ebb_tensor *b,
                                            double beta, double alpha);

/* out[b] = beta * x[b] + alpha * (a[b] b[b]); all have three axes, or x broadcasts to them.
 *   beta       factor of x; 0: x is not read, even where it is NaN
 *   alpha      factor of the product */
EBB_API EBB_NODISCARD ebb_tensor *ebb_baddbmm(ebb_tensor *x, ebb_tensor *a, ebb_tensor *b,
                                              double beta, double alpha);

/* Sums of products as Einstein wrote them: "ij,jk->ik" sums x[i, j] * y[j, k] over j.
 *   equation   "ij,jk->ik": a letter per axis of each tensor, and of the result; "...": the
 *              axes left; without "->" the result has the letters that occur once, in order */
EBB_API EBB_NODISCARD ebb_tensor *ebb_einsum(ebb_tensor *const *xs, int64_t n,
                                             const char *equation);

/* out with a out = 1, for square matrices a, (..., n, n). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_inverse(ebb_tensor *a);

/* out with a out = b, for square matrices a; b is a vector, a matrix of columns, or a batch
 * of them, which broadcast as in torch.linalg.solve. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_solve(ebb_tensor *a, ebb_tensor *b);

typedef struct ebb_triangular_solve_options {
    bool upper; /* a's upper half is read, else its lower one */
    bool transpose; /* a' stands for a in the system */
    bool unitriangular; /* a's diagonal counts as ones and is not read */
    bool right; /* out a = b, not a out = b */
    uint64_t reserved[4]; /* zero */
} ebb_triangular_solve_options;
/* out with a out = b for a triangular a, whose other half is not read; a 0 on the diagonal
 * divides. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_triangular_solve(ebb_tensor *a, ebb_tensor *b,
                                                       const ebb_triangular_solve_options *options);

typedef struct ebb_cholesky_options {
    bool upper; /* the upper factor, the transpose of the lower one */
    uint64_t reserved[4]; /* zero */
} ebb_cholesky_options;
/* Lower triangular out with out out' = (a + a') / 2, for positive definite matrices a, (...,
 * n, n). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cholesky(ebb_tensor *a,
                                               const ebb_cholesky_options *options);

/* The determinant of square matrices a, (..., n, n). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_det(ebb_tensor *a);

/* The sign and the logarithm of the absolute value of determinants, where these themselves
 * would overflow. */
EBB_API EBB_NODISCARD ebb_status ebb_slogdet(ebb_tensor **sign_out, ebb_tensor **logabsdet_out,
                                             ebb_tensor *a);

typedef struct ebb_fft_options {
    int64_t n; /* length of the real data: what is given is cut or followed by zeros; 0: as
            it is, or twice the spectrum less 2 */
    int64_t norm; /* where to divide by n: EBB_FFT_BACKWARD (0: in irfft), EBB_FFT_ORTHO (by
            its root, in both) or EBB_FFT_FORWARD (in rfft) */
    uint64_t reserved[4]; /* zero */
} ebb_fft_options;
/* The Fourier transform of real x along an axis, its first n / 2 + 1 values: out[..., k,
 * ...] = sum over j of x[..., j, ...] exp(-2 pi i j k / n); complex numbers as a last axis
 * of 2.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_rfft(ebb_tensor *x, int64_t axis,
                                           const ebb_fft_options *options);

/* The real data whose rfft along an axis is x, (..., 2); the imaginary part of the first
 * value, and for even n of the last, is not read.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_irfft(ebb_tensor *x, int64_t axis,
                                            const ebb_fft_options *options);

typedef struct ebb_conv2d_options {
    int64_t stride[2]; /* rows, columns; 0: 1 */
    int64_t padding[2]; /* zeros on each side */
    int64_t dilation[2]; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_conv2d_options;
/* out[n, o, i, j] = b[o] + sum over c, p, q of w[o, c, p, q] * x[n, c, stride * i - padding
 * + dilation * p, ...], channels split into groups; x is (n, c, h, w), w is (out, c /
 * groups, kernel_h, kernel_w).
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_conv2d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                             const ebb_conv2d_options *options);

typedef struct ebb_conv3d_options {
    int64_t stride[3]; /* planes, rows, columns; 0: 1 */
    int64_t padding[3]; /* zeros on each side */
    int64_t dilation[3]; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_conv3d_options;
/* out[n, o, h, i, j] = b[o] + sum over c, r, p, q of w[o, c, r, p, q] * x[n, c, stride * h -
 * padding + dilation * r, ...], channels split into groups; x is (n, c, d, h, w), w is (out,
 * c / groups, kernel_d, kernel_h, kernel_w).
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_conv3d(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                             const ebb_conv3d_options *options);

typedef struct ebb_conv_transpose1d_options {
    int64_t stride; /* of the window; 0: 1 */
    int64_t padding; /* taken off each side of the result */
    int64_t output_padding; /* added at the end, less than the stride */
    int64_t dilation; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_conv_transpose1d_options;
/* out[n, o, stride * i - padding + dilation * p] += w[c, o, p] * x[n, c, i], plus b[o]: the
 * gradient of conv1d in its image. x is (n, c, l), w is (c, out / groups, kernel); the
 * result's side is (l - 1) * stride - 2 padding + dilation * (kernel - 1) + output_padding +
 * 1.
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_conv_transpose1d(ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b,
                                                       const ebb_conv_transpose1d_options *options);

typedef struct ebb_conv_transpose2d_options {
    int64_t stride[2]; /* rows, columns; 0: 1 */
    int64_t padding[2]; /* taken off each side of the result */
    int64_t output_padding[2]; /* added at the end, less than the stride */
    int64_t dilation[2]; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_conv_transpose2d_options;
/* out[n, o, stride * i - padding + dilation * p, ...] += w[c, o, p, q] * x[n, c, i, j], plus
 * b[o]: the gradient of conv2d in its image. x is (n, c, h, w), w is (c, out / groups,
 * kernel_h, kernel_w); a side of the result is (side - 1) * stride - 2 padding + dilation *
 * (kernel - 1) + output_padding + 1.
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_conv_transpose2d(ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b,
                                                       const ebb_conv_transpose2d_options *options);

typedef struct ebb_conv_transpose3d_options {
    int64_t stride[3]; /* planes, rows, columns; 0: 1 */
    int64_t padding[3]; /* taken off each side of the result */
    int64_t output_padding[3]; /* added at the end, less than the stride */
    int64_t dilation[3]; /* 0: 1 */
    int64_t groups; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_conv_transpose3d_options;
/* out[n, o, stride * h - padding + dilation * r, ...] += w[c, o, r, p, q] * x[n, c, h, i,
 * j], plus b[o]: the gradient of conv3d in its image. x is (n, c, d, h, w), w is (c, out /
 * groups, kernel_d, kernel_h, kernel_w); a side of the result is (side - 1) * stride - 2
 * padding + dilation * (kernel - 1) + output_padding + 1.
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_conv_transpose3d(ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b,
                                                       const ebb_conv_transpose3d_options *options);

typedef struct ebb_pool1d_options {
    int64_t stride; /* 0: the kernel's side */
    int64_t padding; /* on each side, at most half the kernel */
    int64_t dilation; /* from place to place of the window; 0: 1 */
    bool ceil_mode; /* a last window for what is left at the end */
    uint64_t reserved[4]; /* zero */
} ebb_pool1d_options;
/* out[n, c, i, ...] = the maximum of x[n, c] in the window at (stride * i - padding, ...);
 * the gradient goes to the first maximum; NaN wins.
 *   kernel     length of the window */
EBB_API EBB_NODISCARD ebb_tensor *ebb_max_pool1d(ebb_tensor *x, int64_t kernel,
                                                 const ebb_pool1d_options *options);

typedef struct ebb_pool2d_options {
    int64_t stride[2]; /* rows, columns; 0: the kernel's side */
    int64_t padding[2]; /* on each side, at most half the kernel */
    int64_t dilation[2]; /* from place to place of the window; 0: 1 */
    bool ceil_mode; /* a last window for what is left at the end */
    uint64_t reserved[4]; /* zero */
} ebb_pool2d_options;
/* out[n, c, i, ...] = the maximum of x[n, c] in the window at (stride * i - padding, ...);
 * the gradient goes to the first maximum; NaN wins.
 *   kernel_h   rows of the window
 *   kernel_w   columns of the window */
EBB_API EBB_NODISCARD ebb_tensor *ebb_max_pool2d(ebb_tensor *x, int64_t kernel_h,
                                                 int64_t kernel_w,
                                                 const ebb_pool2d_options *options);

typedef struct ebb_pool3d_options {
    int64_t stride[3]; /* planes, rows, columns; 0: the kernel's side */
    int64_t padding[3]; /* on each side, at most half the kernel */
    int64_t dilation[3]; /* from place to place of the window; 0: 1 */
    bool ceil_mode; /* a last window for what is left at the end */
    uint64_t reserved[4]; /* zero */
} ebb_pool3d_options;
/* out[n, c, h, ...] = the maximum of x[n, c] in the window at (stride * h - padding, ...);
 * the gradient goes to the first maximum; NaN wins.
 *   kernel_d   planes of the window
 *   kernel_h   rows of the window
 *   kernel_w   columns of the window */
EBB_API EBB_NODISCARD ebb_tensor *ebb_max_pool3d(ebb_tensor *x, int64_t kernel_d,
                                                 int64_t kernel_h, int64_t kernel_w,
                                                 const ebb_pool3d_options *options);

typedef struct ebb_avg_pool1d_options {
    int64_t stride; /* 0: the kernel's side */
    int64_t padding; /* on each side, at most half the kernel */
    int64_t divisor; /* of every sum; 0: the places counted */
    bool ceil_mode; /* a last window for what is left at the end */
    bool exclude_padding; /* divide by the places inside the image only */
    uint64_t reserved[4]; /* zero */
} ebb_avg_pool1d_options;
/* out[n, c, i, ...] = the mean of x[n, c] in the window at (stride * i - padding, ...),
 * padding counted as zeros.
 *   kernel     length of the window */
EBB_API EBB_NODISCARD ebb_tensor *ebb_avg_pool1d(ebb_tensor *x, int64_t kernel,
                                                 const ebb_avg_pool1d_options *options);

typedef struct ebb_avg_pool2d_options {
    int64_t stride[2]; /* rows, columns; 0: the kernel's side */
    int64_t padding[2]; /* on each side, at most half the kernel */
    int64_t divisor; /* of every sum; 0: the places counted */
    bool ceil_mode; /* a last window for what is left at the end */
    bool exclude_padding; /* divide by the places inside the image only */
    uint64_t reserved[4]; /* zero */
} ebb_avg_pool2d_options;
/* out[n, c, i, ...] = the mean of x[n, c] in the window at (stride * i - padding, ...),
 * padding counted as zeros.
 *   kernel_h   rows of the window
 *   kernel_w   columns of the window */
EBB_API EBB_NODISCARD ebb_tensor *ebb_avg_pool2d(ebb_tensor *x, int64_t kernel_h,
                                                 int64_t kernel_w,
                                                 const ebb_avg_pool2d_options *options);

typedef struct ebb_avg_pool3d_options {
    int64_t stride[3]; /* planes, rows, columns; 0: the kernel's side */
    int64_t padding[3]; /* on each side, at most half the kernel */
    int64_t divisor; /* of every sum; 0: the places counted */
    bool ceil_mode; /* a last window for what is left at the end */
    bool exclude_padding; /* divide by the places inside the image only */
    uint64_t reserved[4]; /* zero */
} ebb_avg_pool3d_options;
/* out[n, c, h, ...] = the mean of x[n, c] in the window at (stride * h - padding, ...),
 * padding counted as zeros.
 *   kernel_d   planes of the window
 *   kernel_h   rows of the window
 *   kernel_w   columns of the window */
EBB_API EBB_NODISCARD ebb_tensor *ebb_avg_pool3d(ebb_tensor *x, int64_t kernel_d,
                                                 int64_t kernel_h, int64_t kernel_w,
                                                 const ebb_avg_pool3d_options *options);

/* out[n, c, i] = the mean of x[n, c] over [floor(i l / out), ceil((i + 1) l / out)).
 *   out_l      length of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_adaptive_avg_pool1d(ebb_tensor *x, int64_t out_l);

/* out[n, c, i, j] = the mean of x[n, c] over rows [floor(i h / out), ceil((i + 1) h / out))
 * and likewise columns.
 *   out_h      rows of the result
 *   out_w      columns of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_adaptive_avg_pool2d(ebb_tensor *x, int64_t out_h,
                                                          int64_t out_w);

/* out[n, c, h, i, j] = the mean of x[n, c] over planes [floor(h d / out), ceil((h + 1) d /
 * out)), likewise rows and columns.
 *   out_d      planes of the result
 *   out_h      rows of the result
 *   out_w      columns of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_adaptive_avg_pool3d(ebb_tensor *x, int64_t out_d,
                                                          int64_t out_h, int64_t out_w);

/* out[n, c, i] = the maximum of x[n, c] over [floor(i l / out), ceil((i + 1) l / out)); the
 * gradient goes to the first maximum; NaN wins.
 *   out_l      length of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_adaptive_max_pool1d(ebb_tensor *x, int64_t out_l);

/* out[n, c, i, j] = the maximum of x[n, c] over rows [floor(i h / out), ceil((i + 1) h /
 * out)) and likewise columns; the gradient goes to the first maximum; NaN wins.
 *   out_h      rows of the result
 *   out_w      columns of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_adaptive_max_pool2d(ebb_tensor *x, int64_t out_h,
                                                          int64_t out_w);

/* out[n, c, h, i, j] = the maximum of x[n, c] over planes [floor(h d / out), ceil((h + 1) d
 * / out)), likewise rows and columns; the gradient goes to the first maximum; NaN wins.
 *   out_d      planes of the result
 *   out_h      rows of the result
 *   out_w      columns of the result */
EBB_API EBB_NODISCARD ebb_tensor *ebb_adaptive_max_pool3d(ebb_tensor *x, int64_t out_d,
                                                          int64_t out_h, int64_t out_w);

typedef struct ebb_interpolate_options {
    ebb_shape size; /* of the spatial axes; none: by scale */
    double scale; /* of every side, where size is not given: floor(side * scale) */
    bool linear; /* linear, bilinear or trilinear; else the nearest place */
    bool align_corners; /* linear: the first and last places stay where they are */
    uint64_t reserved[4]; /* zero */
} ebb_interpolate_options;
/* x (n, c, sides...) with its one to three sides resampled to `size` or by `scale`: out[n,
 * c, i] = x[n, c, floor(i * ratio)], or linear: x at (i + 1/2) * ratio - 1/2, at the edge
 * where that lies outside. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_interpolate(ebb_tensor *x,
                                                  const ebb_interpolate_options *options);

/* out[..., c, h r + i, w r + j] = x[..., c r^2 + i r + j, h, w], r the factor: channels
 * become places.
 *   factor     of height and width */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pixel_shuffle(ebb_tensor *x, int64_t factor);

/* out[..., c r^2 + i r + j, h, w] = x[..., c, h r + i, w r + j], r the factor: the inverse
 * of pixel_shuffle.
 *   factor     of height and width */
EBB_API EBB_NODISCARD ebb_tensor *ebb_pixel_unshuffle(ebb_tensor *x, int64_t factor);

/* y = exp(x) / sum(exp(x)) along one axis.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_softmax(ebb_tensor *x, int64_t axis);

/* y = x - log(sum(exp(x))) along one axis, without overflow.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log_softmax(ebb_tensor *x, int64_t axis);

typedef struct ebb_norm_options {
    double eps; /* 0: 1e-5 */
    double momentum; /* of the running statistics; 0: 0.1 */
    bool inference; /* normalise with the running statistics and leave them alone */
    uint64_t reserved[4]; /* zero */
} ebb_norm_options;
/* out = (x - mean) / sqrt(var + eps) * w + b per channel (axis 1), with the batch's mean and
 * variance; running_mean and running_var move towards them by momentum (the variance
 * unbiased), once per call. inference: out uses the running values instead.
 *   w          may be EBB_NONE
 *   b          may be EBB_NONE
 *   running_mean may be EBB_NONE
 *   running_var may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_batch_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                                 ebb_tensor *running_mean,
                                                 ebb_tensor *running_var,
                                                 const ebb_norm_options *options);

/* out = (x - mean) / sqrt(var + eps) * w + b, mean and variance over the last axis.
 *   w          may be EBB_NONE
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_layer_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                                 const ebb_norm_options *options);

typedef struct ebb_group_norm_options {
    double eps; /* 0: 1e-5 */
    uint64_t reserved[4]; /* zero */
} ebb_group_norm_options;
/* out = (x - mean) / sqrt(var + eps) * w + b, mean and variance over each group of channels
 * (axis 1) of each image, w and b per channel.
 *   groups     must divide the channels
 *   w          may be EBB_NONE
 *   b          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_group_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                                 int64_t groups,
                                                 const ebb_group_norm_options *options);

/* out = (x - mean) / sqrt(var + eps) * w + b, mean and variance over each channel (axis 1)
 * of each image; running_mean and running_var move by momentum towards the images' mean of
 * them (the variance unbiased). inference: out uses the running values instead.
 *   w          may be EBB_NONE
 *   b          may be EBB_NONE
 *   running_mean may be EBB_NONE
 *   running_var may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_instance_norm(ebb_tensor *x, ebb_tensor *w, ebb_tensor *b,
                                                    ebb_tensor *running_mean,
                                                    ebb_tensor *running_var,
                                                    const ebb_norm_options *options);

typedef struct ebb_rms_norm_options {
    double eps; /* 0: the element type's epsilon */
    uint64_t reserved[4]; /* zero */
} ebb_rms_norm_options;
/* out = x / sqrt(mean(x^2) + eps) * w, the mean over the last axis.
 *   w          may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_rms_norm(ebb_tensor *x, ebb_tensor *w,
                                               const ebb_rms_norm_options *options);

typedef struct ebb_local_response_norm_options {
    double alpha; /* 0: 1e-4 */
    double beta; /* 0: 0.75 */
    double k; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_local_response_norm_options;
/* out = x / (k + alpha * m)^beta, m the mean of x^2 over `size` channels around each (axis
 * 1), zeros outside.
 *   size       neighbouring channels */
EBB_API EBB_NODISCARD ebb_tensor *ebb_local_response_norm(ebb_tensor *x, int64_t size,
                                                          const ebb_local_response_norm_options *options);

typedef struct ebb_cross_entropy_options {
    double label_smoothing; /* in [0, 1]: how much of the target is spread over all classes */
    bool ignore; /* leave out items whose label is ignore_index */
    int64_t ignore_index; /* read where ignore is set */
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_cross_entropy_options;
/* out = mean of -log(softmax(logits)[label]); classes are axis 1 of logits (n, classes,
 * ...), or the only one; labels (n, ...) are i64, i32 or u8. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cross_entropy(ebb_tensor *logits, ebb_tensor *labels,
                                                    const ebb_cross_entropy_options *options);

typedef struct ebb_nll_options {
    bool ignore; /* leave out items whose label is ignore_index */
    int64_t ignore_index; /* read where ignore is set */
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_nll_options;
/* out = mean of -x[label], x being log-probabilities laid out as cross_entropy's logits. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_nll(ebb_tensor *x, ebb_tensor *labels,
                                          const ebb_nll_options *options);

/* out = x / (1 - p) where kept, 0 with chance p; always drops: the caller knows whether it
 * trains. Nothing is saved: the gradient draws the same elements again.
 *   p          chance of each element to be 0, in [0, 1] */
EBB_API EBB_NODISCARD ebb_tensor *ebb_dropout(ebb_tensor *x, double p);

/* Numbers drawn evenly from [low, high).
 *   low        included
 *   high       excluded */
EBB_API EBB_NODISCARD ebb_tensor *ebb_uniform(ebb_context *ctx, ebb_dtype dtype,
                                              ebb_shape shape, double low, double high);

/* Normally distributed numbers with the given mean and standard deviation.
 *   std        standard deviation, not negative */
EBB_API EBB_NODISCARD ebb_tensor *ebb_normal(ebb_context *ctx, ebb_dtype dtype, ebb_shape shape,
                                             double mean, double std);

/* 1 with chance p, else 0, in any dtype.
 *   p          chance of 1, in [0, 1] */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bernoulli(ebb_context *ctx, ebb_dtype dtype,
                                                ebb_shape shape, double p);

/* out = max(x, 0); NaN stays NaN; the gradient at 0 is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_relu(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_relu_(ebb_tensor *x);

/* out = tanh(x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_tanh(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_tanh_(ebb_tensor *x);

/* out = 1 / (1 + exp(-x)). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sigmoid(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_sigmoid_(ebb_tensor *x);

/* out = x * sigmoid(x). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_silu(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_silu_(ebb_tensor *x);

/* out = ln(sigmoid(x)), without overflow. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logsigmoid(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_logsigmoid_(ebb_tensor *x);

typedef struct ebb_leaky_relu_options {
    double slope; /* of the part below 0, > 0; 0: 0.01 */
    uint64_t reserved[4]; /* zero */
} ebb_leaky_relu_options;
/* out = x where x > 0, else slope * x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_leaky_relu(ebb_tensor *x,
                                                 const ebb_leaky_relu_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_leaky_relu_(ebb_tensor *x,
                                                 const ebb_leaky_relu_options *options);

typedef struct ebb_elu_options {
    double alpha; /* -alpha is the limit at -infinity, > 0; 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_elu_options;
/* out = x where x > 0, else alpha * (exp(x) - 1). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_elu(ebb_tensor *x, const ebb_elu_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_elu_(ebb_tensor *x, const ebb_elu_options *options);

typedef struct ebb_softplus_options {
    double beta; /* sharpness, > 0; 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_softplus_options;
/* out = ln(1 + exp(beta * x)) / beta, without overflow. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_softplus(ebb_tensor *x,
                                               const ebb_softplus_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_softplus_(ebb_tensor *x,
                                               const ebb_softplus_options *options);

typedef struct ebb_gelu_options {
    bool tanh_approximation; /* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
    uint64_t reserved[4]; /* zero */
} ebb_gelu_options;
/* out = x * (normal distribution function of x) = 0.5 x (1 + erf(x / sqrt(2))). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_gelu(ebb_tensor *x, const ebb_gelu_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_gelu_(ebb_tensor *x, const ebb_gelu_options *options);

/* Place (i64) of the first largest element along one axis or all; of the first NaN if any.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_argmax(ebb_tensor *x, ebb_axes axes);

/* Place (i64) of the first smallest element along one axis or all; of the first NaN if any.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_argmin(ebb_tensor *x, ebb_axes axes);

/* The largest element along one axis or all and the place (i64) of the first such; NaN wins.
 * The gradient goes to that place.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_status ebb_max(ebb_tensor **values_out, ebb_tensor **indices_out,
                                         ebb_tensor *x, ebb_axes axes);

/* The smallest element along one axis or all and the place (i64) of the first such; NaN
 * wins. The gradient goes to that place.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_status ebb_min(ebb_tensor **values_out, ebb_tensor **indices_out,
                                         ebb_tensor *x, ebb_axes axes);

/* out[i] = x[0] + ... + x[i] along an axis; integers and bools give i64.
 *   axis       along which is summed */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cumsum(ebb_tensor *x, int64_t axis);

/* out = mean of (x - y)^2, a scalar; x and y have one shape. Elements are weighed by
 * EBB_REDUCTION_NONE, mul and mean. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mse(ebb_tensor *x, ebb_tensor *y);

typedef struct ebb_mse_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_mse_options;
/* ebb_mse with options. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mse_with(ebb_tensor *x, ebb_tensor *y,
                                               const ebb_mse_options *options);

/* out = -mean(y log(x) + (1 - y) log(1 - x)) of probabilities x, logarithms no lower than
 * -100; the gradient at x = y in {0, 1} is 0. bce_with_logits keeps more digits. Elements
 * are weighed by EBB_REDUCTION_NONE, mul and mean. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bce(ebb_tensor *x, ebb_tensor *y);

typedef struct ebb_bce_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_bce_options;
/* ebb_bce with options. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bce_with(ebb_tensor *x, ebb_tensor *y,
                                               const ebb_bce_options *options);

/* out = mean(max(x, 0) - x y + log(1 + exp(-|x|))): binary cross-entropy of sigmoid(x)
 * against y, without overflow; with weights: bce_with_logits_weighted. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bce_with_logits(ebb_tensor *x, ebb_tensor *y);

typedef struct ebb_bce_with_logits_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_bce_with_logits_options;
/* ebb_bce_with_logits with options. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bce_with_logits_with(ebb_tensor *x, ebb_tensor *y,
                                                           const ebb_bce_with_logits_options *options);

/* out = mean of |x - y|, a scalar; x and y have one shape. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_l1(ebb_tensor *x, ebb_tensor *y);

typedef struct ebb_l1_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_l1_options;
/* ebb_l1 with options. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_l1_with(ebb_tensor *x, ebb_tensor *y,
                                              const ebb_l1_options *options);

typedef struct ebb_smooth_l1_options {
    double beta; /* |x - y| from which it is linear; 0: 1 */
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_smooth_l1_options;
/* out = mean of (x - y)^2 / (2 beta) where |x - y| < beta, of |x - y| - beta / 2 elsewhere. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_smooth_l1(ebb_tensor *x, ebb_tensor *y,
                                                const ebb_smooth_l1_options *options);

/* out[i..., j, k...] = x[i..., index[i..., j, k...], k...] along one axis; negative indices
 * count from the end.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_gather(ebb_tensor *x, ebb_tensor *index, int64_t axis);

/* x with src[i..., j, k...] added at [i..., index[i..., j, k...], k...]; src has index's
 * shape; repeated places add up.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_scatter_add(ebb_tensor *x, ebb_tensor *index,
                                                  ebb_tensor *src, int64_t axis);

/* x with src[i..., j, k...] at [i..., index[i..., j, k...], k...]; src has index's shape; of
 * several for one place the last in C order wins.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_scatter(ebb_tensor *x, ebb_tensor *index, ebb_tensor *src,
                                              int64_t axis);

/* x with one value at the places index names along an axis.
 *   axis       negative: from the end
 *   value      one that x's dtype holds */
EBB_API EBB_NODISCARD ebb_tensor *ebb_scatter_value(ebb_tensor *x, ebb_tensor *index,
                                                    int64_t axis, double value);

typedef struct ebb_index_put_options {
    bool accumulate; /* add to what is there, repeated places too, instead of replacing it */
    uint64_t reserved[4]; /* zero */
} ebb_index_put_options;
/* x with x[indices[0][i], indices[1][i], ...] = values[i]; the indices broadcast, values
 * broadcast to them and the axes left; the last of several for one place wins. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_index_put(ebb_tensor *x, ebb_tensor *values,
                                                ebb_tensor *const *indices, int64_t n,
                                                const ebb_index_put_options *options);

/* out[i...] = element index[i...] of x in C order; negative indices count from the end. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_take(ebb_tensor *x, ebb_tensor *index);

/* out[..., j, ...] = x[..., index[j], ...] along one axis; negative indices count from the
 * end.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_index_select(ebb_tensor *x, ebb_tensor *index,
                                                   int64_t axis);

/* x with src[..., j, ...] added at [..., index[j], ...]; repeated indices add up.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_index_add(ebb_tensor *x, ebb_tensor *index,
                                                ebb_tensor *src, int64_t axis);

/* out[i..., :] = w[index[i...], :]; index has any shape, negative ones count from the end. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_embedding(ebb_tensor *w, ebb_tensor *index);

typedef struct ebb_embedding_options {
    bool padding; /* the row padding_idx of w gets no gradient */
    int64_t padding_idx; /* read where padding is set; negative: from the end */
    uint64_t reserved[4]; /* zero */
} ebb_embedding_options;
/* ebb_embedding with options. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_embedding_with(ebb_tensor *w, ebb_tensor *index,
                                                     const ebb_embedding_options *options);

/* out[i..., j] = 1 where j = index[i...], else 0; i64.
 *   n_classes  length of the new axis; 0 or -1: one more than the largest index */
EBB_API EBB_NODISCARD ebb_tensor *ebb_one_hot(ebb_tensor *index, int64_t n_classes);

/* The places where x is not 0, in C order: i64 (count, rank of x), one row of coordinates
 * each; NaN is not 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_nonzero(ebb_tensor *x);

/* The elements of x where mask is true, in C order, (count); x and mask broadcast as in
 * NumPy. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_masked_select(ebb_tensor *x, ebb_tensor *mask);

/* The tensors of a list one after another along an axis they have.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cat(ebb_tensor *const *xs, int64_t n, int64_t axis);

/* The tensors of a list, of one shape, along a new axis.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_stack(ebb_tensor *const *xs, int64_t n, int64_t axis);

/* x in parts of `size` along an axis, the last one shorter where it does not divide evenly.
 *   size       length of each part; the last may be shorter
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_status ebb_split(ebb_tensor **parts_out, int64_t n_out, ebb_tensor *x,
                                           int64_t size, int64_t axis);

/* x where column <= row + diagonal, 0 elsewhere, in the last two axes.
 *   diagonal   0: the main one, positive: above it */
EBB_API EBB_NODISCARD ebb_tensor *ebb_tril(ebb_tensor *x, int64_t diagonal);

/* x where column >= row + diagonal, 0 elsewhere, in the last two axes.
 *   diagonal   0: the main one, positive: above it */
EBB_API EBB_NODISCARD ebb_tensor *ebb_triu(ebb_tensor *x, int64_t diagonal);

typedef struct ebb_attention_options {
    bool causal; /* place i sees keys 0 to i only */
    double scale; /* 0: 1 / sqrt(d) */
    double dropout_p; /* chance of each weight to be dropped, in [0, 1) */
    uint64_t reserved[4]; /* zero */
} ebb_attention_options;
/* out = softmax(scale * q k' + mask) v over keys; q is (..., l, d), k (..., s, d), v (...,
 * s, e), batch axes broadcast; mask broadcasts to (..., l, s): bool (true: may look) or a
 * number added. A place that sees nothing is 0. Memory is linear in l and s, unless a mask
 * wants a gradient.
 *   mask       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_scaled_dot_product_attention(ebb_tensor *q, ebb_tensor *k,
                                                                   ebb_tensor *v,
                                                                   ebb_tensor *mask,
                                                                   const ebb_attention_options *options);

typedef struct ebb_rnn_options {
    bool relu; /* max(x, 0) in place of tanh */
    bool reverse; /* from the last step to the first */
    uint64_t reserved[4]; /* zero */
} ebb_rnn_options;
/* One layer in one direction over x (steps, batch, in): y[t] = h = tanh(x[t] w_ih' + b_ih +
 * h w_hh' + b_hh); w_ih is (width, in), w_hh (width, width), h0 (batch, width), absent:
 * zeros; h is the last one.
 *   h0         may be EBB_NONE
 *   b_ih       may be EBB_NONE
 *   b_hh       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_status ebb_rnn(ebb_tensor **y_out, ebb_tensor **h_out, ebb_tensor *x,
                                         ebb_tensor *h0, ebb_tensor *w_ih, ebb_tensor *w_hh,
                                         ebb_tensor *b_ih, ebb_tensor *b_hh,
                                         const ebb_rnn_options *options);

typedef struct ebb_rnn_cell_options {
    bool relu; /* max(x, 0) in place of tanh */
    uint64_t reserved[4]; /* zero */
} ebb_rnn_cell_options;
/* One step of rnn: x is (batch, in); the new h (batch, width).
 *   h0         may be EBB_NONE
 *   b_ih       may be EBB_NONE
 *   b_hh       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_rnn_cell(ebb_tensor *x, ebb_tensor *h0, ebb_tensor *w_ih,
                                               ebb_tensor *w_hh, ebb_tensor *b_ih,
                                               ebb_tensor *b_hh,
                                               const ebb_rnn_cell_options *options);

typedef struct ebb_lstm_options {
    bool reverse; /* from the last step to the first */
    uint64_t reserved[4]; /* zero */
} ebb_lstm_options;
/* One layer in one direction over x (steps, batch, in): with (i, f, g, o) = x[t] w_ih' +
 * b_ih + h w_hh' + b_hh, c = sigmoid(f) c + sigmoid(i) tanh(g), y[t] = h = sigmoid(o)
 * tanh(c); w_ih is (4 width, in), w_hh (4 width, width), h0 and c0 (batch, width), absent:
 * zeros; h and c are the last ones.
 *   h0         may be EBB_NONE
 *   c0         may be EBB_NONE
 *   b_ih       may be EBB_NONE
 *   b_hh       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_status ebb_lstm(ebb_tensor **y_out, ebb_tensor **h_out,
                                          ebb_tensor **c_out, ebb_tensor *x, ebb_tensor *h0,
                                          ebb_tensor *c0, ebb_tensor *w_ih, ebb_tensor *w_hh,
                                          ebb_tensor *b_ih, ebb_tensor *b_hh,
                                          const ebb_lstm_options *options);

/* One step of lstm: x is (batch, in); the new h and c (batch, width).
 *   h0         may be EBB_NONE
 *   c0         may be EBB_NONE
 *   b_ih       may be EBB_NONE
 *   b_hh       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_status ebb_lstm_cell(ebb_tensor **h_out, ebb_tensor **c_out,
                                               ebb_tensor *x, ebb_tensor *h0, ebb_tensor *c0,
                                               ebb_tensor *w_ih, ebb_tensor *w_hh,
                                               ebb_tensor *b_ih, ebb_tensor *b_hh);

typedef struct ebb_gru_options {
    bool reverse; /* from the last step to the first */
    uint64_t reserved[4]; /* zero */
} ebb_gru_options;
/* One layer in one direction over x (steps, batch, in): with (r, z, n) = x[t] w_ih' + b_ih
 * and (r', z', n') = h w_hh' + b_hh, n = tanh(n + sigmoid(r + r') n'), z = sigmoid(z + z'),
 * y[t] = h = (1 - z) n + z h; w_ih is (3 width, in), w_hh (3 width, width), h0 (batch,
 * width), absent: zeros; h is the last one.
 *   h0         may be EBB_NONE
 *   b_ih       may be EBB_NONE
 *   b_hh       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_status ebb_gru(ebb_tensor **y_out, ebb_tensor **h_out, ebb_tensor *x,
                                         ebb_tensor *h0, ebb_tensor *w_ih, ebb_tensor *w_hh,
                                         ebb_tensor *b_ih, ebb_tensor *b_hh,
                                         const ebb_gru_options *options);

/* One step of gru: x is (batch, in); the new h (batch, width).
 *   h0         may be EBB_NONE
 *   b_ih       may be EBB_NONE
 *   b_hh       may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_gru_cell(ebb_tensor *x, ebb_tensor *h0, ebb_tensor *w_ih,
                                               ebb_tensor *w_hh, ebb_tensor *b_ih,
                                               ebb_tensor *b_hh);

/* out = 2^x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_exp2(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_exp2_(ebb_tensor *x);

/* out = ln(x) / ln(2), NaN for x < 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log2(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_log2_(ebb_tensor *x);

/* out = ln(x) / ln(10), NaN for x < 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_log10(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_log10_(ebb_tensor *x);

/* out = tan(x), radians. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_tan(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_tan_(ebb_tensor *x);

/* out = the angle in [-pi/2, pi/2] whose sine is x, NaN for |x| > 1; the gradient at -1 and
 * 1 is infinite. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_asin(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_asin_(ebb_tensor *x);

/* out = the angle in [0, pi] whose cosine is x, NaN for |x| > 1; the gradient at -1 and 1 is
 * infinite. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_acos(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_acos_(ebb_tensor *x);

/* out = the angle in (-pi/2, pi/2) whose tangent is x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_atan(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_atan_(ebb_tensor *x);

/* out = (exp(x) - exp(-x)) / 2. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_sinh(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_sinh_(ebb_tensor *x);

/* out = (exp(x) + exp(-x)) / 2. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cosh(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_cosh_(ebb_tensor *x);

/* out = ln(x + sqrt(x^2 + 1)). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_asinh(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_asinh_(ebb_tensor *x);

/* out = ln(x + sqrt(x^2 - 1)), NaN for x < 1; the gradient at 1 is infinite. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_acosh(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_acosh_(ebb_tensor *x);

/* out = ln((1 + x) / (1 - x)) / 2, infinite at -1 and 1, NaN beyond. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_atanh(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_atanh_(ebb_tensor *x);

/* out = 1 - erf(x), exact far out. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_erfc(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_erfc_(ebb_tensor *x);

/* out = the y with erf(y) = x; infinite at -1 and 1, NaN beyond. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_erfinv(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_erfinv_(ebb_tensor *x);

/* out = ln(|gamma(x)|); infinite at 0, -1, -2, ... */
EBB_API EBB_NODISCARD ebb_tensor *ebb_lgamma(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_lgamma_(ebb_tensor *x);

/* out = the derivative of lgamma; -inf at 0, NaN at -1, -2, ... */
EBB_API EBB_NODISCARD ebb_tensor *ebb_digamma(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_digamma_(ebb_tensor *x);

/* out = the n-th derivative of digamma; infinite at 0, -1, -2, ... for n > 0.
 *   n          order of the derivative of digamma, in [0, 100] */
EBB_API EBB_NODISCARD ebb_tensor *ebb_polygamma(ebb_tensor *x, int64_t n);

EBB_API EBB_NODISCARD ebb_status ebb_polygamma_(ebb_tensor *x, int64_t n);

typedef struct ebb_hardtanh_options {
    double min_val; /* both 0: -1 */
    double max_val; /* both 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_hardtanh_options;
/* out = min(max(x, min_val), max_val); the gradient is 1 strictly between, else 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_hardtanh(ebb_tensor *x,
                                               const ebb_hardtanh_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_hardtanh_(ebb_tensor *x,
                                               const ebb_hardtanh_options *options);

/* out = min(max(x, 0), 6); the gradient at 0 and 6 is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_relu6(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_relu6_(ebb_tensor *x);

/* out = min(max(x + 3, 0), 6) / 6; the gradient at -3 and 3 is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_hardsigmoid(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_hardsigmoid_(ebb_tensor *x);

/* out = x * min(max(x + 3, 0), 6) / 6; the gradient is 0 for x <= -3, 1 for x >= 3. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_hardswish(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_hardswish_(ebb_tensor *x);

/* out = 1.0507 x where x > 0, else 1.0507 * 1.67326 (exp(x) - 1). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_selu(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_selu_(ebb_tensor *x);

typedef struct ebb_celu_options {
    double alpha; /* -alpha is the limit at -infinity, > 0; 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_celu_options;
/* out = x where x > 0, else alpha * (exp(x / alpha) - 1). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_celu(ebb_tensor *x, const ebb_celu_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_celu_(ebb_tensor *x, const ebb_celu_options *options);

/* out = x * tanh(ln(1 + exp(x))). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_mish(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_mish_(ebb_tensor *x);

/* out = sqrt(x^2 + y^2) without overflow; the gradient at (0, 0) is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_hypot(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_hypot_(ebb_tensor *x, ebb_tensor *y);

/* out = the angle of the point (x, y) in [-pi, pi]; the gradient at (0, 0) is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_atan2(ebb_tensor *y, ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_atan2_(ebb_tensor *y, ebb_tensor *x);

/* out = ln(exp(x) + exp(y)) without overflow; both -inf: the gradient is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logaddexp(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_logaddexp_(ebb_tensor *x, ebb_tensor *y);

/* out = x * ln(y), 0 where x = 0 (NaN where y is NaN); where x = 0 and y <= 0 the gradients
 * are 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_xlogy(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_xlogy_(ebb_tensor *x, ebb_tensor *y);

/* out = x + weight * (y - x), elementwise; x at weight 0 and y at weight 1 exactly. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_lerp(ebb_tensor *x, ebb_tensor *y, ebb_tensor *weight);

EBB_API EBB_NODISCARD ebb_status ebb_lerp_(ebb_tensor *x, ebb_tensor *y, ebb_tensor *weight);

/* out = x - trunc(x / y) * y, of x's sign; NaN for y = 0, which integers refuse. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_fmod(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_fmod_(ebb_tensor *x, ebb_tensor *y);

/* out = x - floor(x / y) * y, of y's sign; NaN for y = 0, which integers refuse. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_remainder(ebb_tensor *x, ebb_tensor *y);

EBB_API EBB_NODISCARD ebb_status ebb_remainder_(ebb_tensor *x, ebb_tensor *y);

/* out = x - trunc(x), of x's sign; NaN of an infinity; the gradient is 1. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_frac(ebb_tensor *x);

EBB_API EBB_NODISCARD ebb_status ebb_frac_(ebb_tensor *x);

/* out = bits set in x and in y; integers or bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bitwise_and(ebb_tensor *x, ebb_tensor *y);

/* out = bits set in x or in y; integers or bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bitwise_or(ebb_tensor *x, ebb_tensor *y);

/* out = bits set in one of x and y; integers or bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bitwise_xor(ebb_tensor *x, ebb_tensor *y);

/* out = x with every bit turned; of bool: not x. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bitwise_not(ebb_tensor *x);

/* out = (x != 0) differs from (y != 0), elementwise, bool. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_logical_xor(ebb_tensor *x, ebb_tensor *y);

/* out = x * 2^y without the bits that leave its width; 0 for y < 0 or y >= the width. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bitwise_left_shift(ebb_tensor *x, ebb_tensor *y);

/* out = floor(x / 2^y), the sign being kept; 0 or -1 for y < 0 or y >= the width. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bitwise_right_shift(ebb_tensor *x, ebb_tensor *y);

typedef struct ebb_nan_to_num_options {
    double nan; /* for NaN */
    double posinf; /* for infinity; 0: the largest finite number */
    double neginf; /* for -infinity; 0: the lowest finite number */
    bool zero_infinities; /* posinf and neginf mean 0 where they are 0 */
    uint64_t reserved[4]; /* zero */
} ebb_nan_to_num_options;
/* out = x with NaN and infinities replaced; their gradient is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_nan_to_num(ebb_tensor *x,
                                                 const ebb_nan_to_num_options *options);

EBB_API EBB_NODISCARD ebb_status ebb_nan_to_num_(ebb_tensor *x,
                                                 const ebb_nan_to_num_options *options);

/* How many elements over axes are not 0 (i64); NaN is not.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_count_nonzero(ebb_tensor *x, ebb_axes axes);

typedef struct ebb_sort_options {
    bool descending; /* the largest first (NaN before all) */
    uint64_t reserved[4]; /* zero */
} ebb_sort_options;
/* The elements along an axis in ascending order and their places (i64); stable, NaN above
 * infinity.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_status ebb_sort(ebb_tensor **values_out, ebb_tensor **indices_out,
                                          ebb_tensor *x, int64_t axis,
                                          const ebb_sort_options *options);

/* The places (i64) of the elements along an axis in ascending order; stable, NaN above
 * infinity.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_argsort(ebb_tensor *x, int64_t axis,
                                              const ebb_sort_options *options);

typedef struct ebb_topk_options {
    bool smallest; /* instead of the largest */
    uint64_t reserved[4]; /* zero */
} ebb_topk_options;
/* The k largest elements along an axis, largest first, and their places (i64); of equal ones
 * the first come first, NaN counts as largest.
 *   k          how many, at most the axis' length
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_status ebb_topk(ebb_tensor **values_out, ebb_tensor **indices_out,
                                          ebb_tensor *x, int64_t k, int64_t axis,
                                          const ebb_topk_options *options);

/* The element in the middle (the lower of two) along one axis or all, and its place (i64),
 * of equal ones as in a stable sort; NaN wins. The gradient goes to that place.
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_status ebb_median(ebb_tensor **values_out, ebb_tensor **indices_out,
                                            ebb_tensor *x, ebb_axes axes);

/* out[i] = x[0] * ... * x[i] along an axis; integers and bools give i64. The gradient is
 * exact with zeros in x.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cumprod(ebb_tensor *x, int64_t axis);

/* The largest of x[0] to x[i] along an axis and its place (i64), of equal ones the last; NaN
 * wins from where it stands on. Gradients go to those places.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_status ebb_cummax(ebb_tensor **values_out, ebb_tensor **indices_out,
                                            ebb_tensor *x, int64_t axis);

/* The smallest of x[0] to x[i] along an axis and its place (i64), of equal ones the last;
 * NaN wins from where it stands on. Gradients go to those places.
 *   axis       negative: from the end */
EBB_API EBB_NODISCARD ebb_status ebb_cummin(ebb_tensor **values_out, ebb_tensor **indices_out,
                                            ebb_tensor *x, int64_t axis);

/* out = (sum of |x|^p)^(1/p) over axes; p = inf: the largest |x|, -inf: the smallest, 0: how
 * many are not 0. The gradient at the origin is 0; equal largest share it.
 *   p          2, 1, INFINITY, -INFINITY, 0 or any other number
 *   axes       EBB_ALL, EBB_AXES(...) or EBB_KEEP(...) */
EBB_API EBB_NODISCARD ebb_tensor *ebb_norm(ebb_tensor *x, double p, ebb_axes axes);

typedef struct ebb_huber_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    double delta; /* |x - y| from which it is linear; 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_huber_options;
/* out = mean of (x - y)^2 / 2 where |x - y| < delta, of delta (|x - y| - delta / 2)
 * elsewhere. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_huber(ebb_tensor *x, ebb_tensor *y,
                                            const ebb_huber_options *options);

typedef struct ebb_hinge_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_hinge_options;
/* out = mean of max(0, 1 - x * y), y being 1 or -1: the loss of support vectors; the
 * gradient at x * y = 1 is 0. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_hinge(ebb_tensor *x, ebb_tensor *y,
                                            const ebb_hinge_options *options);

typedef struct ebb_hinge_embedding_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    double margin; /* 0: 1 */
    uint64_t reserved[4]; /* zero */
} ebb_hinge_embedding_options;
/* out = mean of x where y > 0 (1), of max(0, margin - x) elsewhere (-1), x being distances. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_hinge_embedding(ebb_tensor *x, ebb_tensor *y,
                                                      const ebb_hinge_embedding_options *options);

typedef struct ebb_kl_div_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM, _NONE: each, or _BATCH_MEAN: the sum over
            the length of axis 0, which is the divergence */
    bool log_target; /* y are logarithms of probabilities too */
    uint64_t reserved[4]; /* zero */
} ebb_kl_div_options;
/* out = mean of y (ln(y) - x), 0 where y = 0: x are logarithms of probabilities, y
 * probabilities. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_kl_div(ebb_tensor *x, ebb_tensor *y,
                                             const ebb_kl_div_options *options);

typedef struct ebb_cosine_similarity_options {
    double eps; /* least norm divided by; 0: 1e-8 */
    uint64_t reserved[4]; /* zero */
} ebb_cosine_similarity_options;
/* out = sum(x * y) / (max(|x|, eps) max(|y|, eps)) over one axis; shapes broadcast.
 *   axis       of the vectors; after broadcasting */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cosine_similarity(ebb_tensor *x, ebb_tensor *y,
                                                        int64_t axis,
                                                        const ebb_cosine_similarity_options *options);

typedef struct ebb_triplet_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    double margin; /* 0: 1 */
    double p; /* of the norm; 0: 2 */
    double eps; /* added to differences; 0: 1e-6 */
    bool swap; /* the negative's distance is that to the nearer of anchor and positive */
    uint64_t reserved[4]; /* zero */
} ebb_triplet_options;
/* out = mean of max(0, margin + |anchor - positive| - |anchor - negative|), norms over the
 * last axis (triplet_margin_loss). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_triplet(ebb_tensor *anchor, ebb_tensor *positive,
                                              ebb_tensor *negative,
                                              const ebb_triplet_options *options);

typedef struct ebb_nll_weighted_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    bool ignore; /* leave out items whose label is ignore_index */
    int64_t ignore_index; /* read where ignore is set */
    uint64_t reserved[4]; /* zero */
} ebb_nll_weighted_options;
/* nll with a weight for each class: the mean is over the weights of the labels. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_nll_weighted(ebb_tensor *x, ebb_tensor *labels,
                                                   ebb_tensor *weight,
                                                   const ebb_nll_weighted_options *options);

typedef struct ebb_cross_entropy_weighted_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    double label_smoothing; /* in [0, 1]: how much of the target is spread over all classes */
    bool ignore; /* leave out items whose label is ignore_index */
    int64_t ignore_index; /* read where ignore is set */
    uint64_t reserved[4]; /* zero */
} ebb_cross_entropy_weighted_options;
/* cross_entropy with a weight for each class: the mean is over the weights of the labels. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cross_entropy_weighted(ebb_tensor *logits,
                                                             ebb_tensor *labels,
                                                             ebb_tensor *weight,
                                                             const ebb_cross_entropy_weighted_options *options);

typedef struct ebb_cross_entropy_soft_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    double label_smoothing; /* in [0, 1]: how much of the target is spread over all classes */
    uint64_t reserved[4]; /* zero */
} ebb_cross_entropy_soft_options;
/* out = mean over items of -sum(weight * target * log(softmax(logits))): cross_entropy with
 * probabilities of classes as target; weight may be EBB_NONE.
 *   weight     may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_cross_entropy_soft(ebb_tensor *logits, ebb_tensor *target,
                                                         ebb_tensor *weight,
                                                         const ebb_cross_entropy_soft_options *options);

typedef struct ebb_bce_with_logits_weighted_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    uint64_t reserved[4]; /* zero */
} ebb_bce_with_logits_weighted_options;
/* bce_with_logits with a weight for each element and pos_weight for that of y = 1; both
 * broadcast, either may be EBB_NONE.
 *   weight     may be EBB_NONE
 *   pos_weight may be EBB_NONE */
EBB_API EBB_NODISCARD ebb_tensor *ebb_bce_with_logits_weighted(ebb_tensor *x, ebb_tensor *y,
                                                               ebb_tensor *weight,
                                                               ebb_tensor *pos_weight,
                                                               const ebb_bce_with_logits_weighted_options *options);

/* Whole numbers drawn evenly from low, ..., high - 1, in any dtype that holds them.
 *   low        included
 *   high       excluded */
EBB_API EBB_NODISCARD ebb_tensor *ebb_randint(ebb_context *ctx, ebb_dtype dtype,
                                              ebb_shape shape, int64_t low, int64_t high);

/* The numbers 0, ..., n - 1 (i64) in a random order, each order equally likely.
 *   n          how many */
EBB_API EBB_NODISCARD ebb_tensor *ebb_randperm(ebb_context *ctx, int64_t n);

typedef struct ebb_multinomial_options {
    bool replacement; /* a class may be drawn again */
    uint64_t reserved[4]; /* zero */
} ebb_multinomial_options;
/* n classes (i64) drawn from each row of weights p, which need not sum to 1.
 *   n          draws from each row */
EBB_API EBB_NODISCARD ebb_tensor *ebb_multinomial(ebb_tensor *p, int64_t n,
                                                  const ebb_multinomial_options *options);

typedef struct ebb_ctc_options {
    int64_t reduction; /* EBB_REDUCTION_MEAN, _SUM or _NONE: each */
    bool zero_infinity; /* 0 for items whose targets do not fit into their steps, instead of
            infinity */
    int64_t blank; /* class of the blank */
    uint64_t reserved[4]; /* zero */
} ebb_ctc_options;
/* Connectionist temporal classification: -ln(probability of targets over all alignments),
 * divided by the target's length and averaged; log_probs is (steps, items, classes), targets
 * (items, labels), lengths (items). */
EBB_API EBB_NODISCARD ebb_tensor *ebb_ctc(ebb_tensor *log_probs, ebb_tensor *targets,
                                          ebb_tensor *input_lengths, ebb_tensor *target_lengths,
                                          const ebb_ctc_options *options);

/* out[i, j, ...] = the element of x, in C order, at offset + i strides[0] + j strides[1] +
 * ...; a view whose elements may overlap, their gradients add up.
 *   shape      of the result
 *   strides    one for each axis, in elements, none negative
 *   offset     of the first element */
EBB_API EBB_NODISCARD ebb_tensor *ebb_as_strided(ebb_tensor *x, ebb_shape shape,
                                                 ebb_shape strides, int64_t offset);

/* max_pool1d, and where in its volume, counted in C order, each maximum is: i64. max_pool1d
 * keeps less.
 *   kernel     length of the window */
EBB_API EBB_NODISCARD ebb_status ebb_max_pool1d_with_indices(ebb_tensor **values_out,
                                                             ebb_tensor **indices_out,
                                                             ebb_tensor *x, int64_t kernel,
                                                             const ebb_pool1d_options *options);

/* max_pool2d, and where in its volume, counted in C order, each maximum is: i64. max_pool2d
 * keeps less.
 *   kernel_h   rows of the window
 *   kernel_w   columns of the window */
EBB_API EBB_NODISCARD ebb_status ebb_max_pool2d_with_indices(ebb_tensor **values_out,
                                                             ebb_tensor **indices_out,
                                                             ebb_tensor *x, int64_t kernel_h,
                                                             int64_t kernel_w,
                                                             const ebb_pool2d_options *options);

/* max_pool3d, and where in its volume, counted in C order, each maximum is: i64. max_pool3d
 * keeps less.
 *   kernel_d   planes of the window
 *   kernel_h   rows of the window
 *   kernel_w   columns of the window */
EBB_API EBB_NODISCARD ebb_status ebb_max_pool3d_with_indices(ebb_tensor **values_out,
                                                             ebb_tensor **indices_out,
                                                             ebb_tensor *x, int64_t kernel_d,
                                                             int64_t kernel_h, int64_t kernel_w,
                                                             const ebb_pool3d_options *options);

/* The caller's line in messages. Arguments are evaluated first, so that a nested call cannot
 * leave its own line behind. EBB_NO_SITES: without. */
#ifndef EBB_NO_SITES
static inline EBB_NODISCARD ebb_tensor *ebb__add_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_add)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_add(...) ebb__add_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__add__at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_add_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_add_(...) ebb__add__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sub_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sub)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sub(...) ebb__sub_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sub__at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sub_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sub_(...) ebb__sub__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mul_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mul)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mul(...) ebb__mul_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__mul__at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_mul_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mul_(...) ebb__mul__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__div_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_div)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_div(...) ebb__div_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__div__at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_div_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_div_(...) ebb__div__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__neg_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_neg)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_neg(...) ebb__neg_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__neg__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_neg_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_neg_(...) ebb__neg__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__abs_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_abs)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_abs(...) ebb__abs_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__abs__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_abs_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_abs_(...) ebb__abs__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sign_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sign)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sign(...) ebb__sign_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sign__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sign_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sign_(...) ebb__sign__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sqrt_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sqrt)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sqrt(...) ebb__sqrt_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sqrt__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sqrt_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sqrt_(...) ebb__sqrt__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__rsqrt_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_rsqrt)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_rsqrt(...) ebb__rsqrt_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__rsqrt__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_rsqrt_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_rsqrt_(...) ebb__rsqrt__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__reciprocal_at(const char *file, int32_t line,
                                                           ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_reciprocal)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_reciprocal(...) ebb__reciprocal_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__reciprocal__at(const char *file, int32_t line,
                                                           ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_reciprocal_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_reciprocal_(...) ebb__reciprocal__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__square_at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_square)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_square(...) ebb__square_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__square__at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_square_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_square_(...) ebb__square__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__exp_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_exp)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_exp(...) ebb__exp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__exp__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_exp_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_exp_(...) ebb__exp__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__expm1_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_expm1)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_expm1(...) ebb__expm1_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__expm1__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_expm1_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_expm1_(...) ebb__expm1__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_log)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log(...) ebb__log_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__log__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_log_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log_(...) ebb__log__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log1p_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_log1p)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log1p(...) ebb__log1p_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__log1p__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_log1p_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log1p_(...) ebb__log1p__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sin_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sin)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sin(...) ebb__sin_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sin__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sin_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sin_(...) ebb__sin__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cos_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cos)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cos(...) ebb__cos_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__cos__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_cos_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cos_(...) ebb__cos__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__erf_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_erf)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_erf(...) ebb__erf_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__erf__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_erf_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_erf_(...) ebb__erf__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__floor_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_floor)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_floor(...) ebb__floor_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__floor__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_floor_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_floor_(...) ebb__floor__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ceil_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_ceil)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_ceil(...) ebb__ceil_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__ceil__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_ceil_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_ceil_(...) ebb__ceil__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__round_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_round)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_round(...) ebb__round_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__round__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_round_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_round_(...) ebb__round__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__trunc_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_trunc)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_trunc(...) ebb__trunc_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__trunc__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_trunc_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_trunc_(...) ebb__trunc__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__add_scalar_at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_add_scalar)(x, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_add_scalar(...) ebb__add_scalar_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__add_scalar__at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_add_scalar_)(x, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_add_scalar_(...) ebb__add_scalar__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mul_scalar_at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mul_scalar)(x, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mul_scalar(...) ebb__mul_scalar_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__mul_scalar__at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_mul_scalar_)(x, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mul_scalar_(...) ebb__mul_scalar__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pow_scalar_at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_pow_scalar)(x, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pow_scalar(...) ebb__pow_scalar_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__pow_scalar__at(const char *file, int32_t line,
                                                           ebb_tensor *x, double a)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_pow_scalar_)(x, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pow_scalar_(...) ebb__pow_scalar__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pow_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_pow)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pow(...) ebb__pow_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__pow__at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_pow_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pow_(...) ebb__pow__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__clamp_at(const char *file, int32_t line,
                                                      ebb_tensor *x, double lo, double hi)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_clamp)(x, lo, hi);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_clamp(...) ebb__clamp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__clamp__at(const char *file, int32_t line,
                                                      ebb_tensor *x, double lo, double hi)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_clamp_)(x, lo, hi);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_clamp_(...) ebb__clamp__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__full_at(const char *file, int32_t line,
                                                     ebb_context *ctx, ebb_dtype dtype,
                                                     ebb_shape shape, double value)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_full)(ctx, dtype, shape, value);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_full(...) ebb__full_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__zeros_at(const char *file, int32_t line,
                                                      ebb_context *ctx, ebb_dtype dtype,
                                                      ebb_shape shape)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_zeros)(ctx, dtype, shape);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_zeros(...) ebb__zeros_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ones_at(const char *file, int32_t line,
                                                     ebb_context *ctx, ebb_dtype dtype,
                                                     ebb_shape shape)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_ones)(ctx, dtype, shape);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_ones(...) ebb__ones_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__full_like_at(const char *file, int32_t line,
                                                          ebb_tensor *x, double value)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_full_like)(x, value);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_full_like(...) ebb__full_like_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__arange_at(const char *file, int32_t line,
                                                       ebb_context *ctx, ebb_dtype dtype,
                                                       double start, double stop, double step)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_arange)(ctx, dtype, start, stop, step);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_arange(...) ebb__arange_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__eye_at(const char *file, int32_t line,
                                                    ebb_context *ctx, ebb_dtype dtype,
                                                    int64_t n)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_eye)(ctx, dtype, n);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_eye(...) ebb__eye_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__reshape_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_shape shape)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_reshape)(x, shape);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_reshape(...) ebb__reshape_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__permute_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_permute)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_permute(...) ebb__permute_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__transpose_at(const char *file, int32_t line,
                                                          ebb_tensor *x, int64_t a, int64_t b)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_transpose)(x, a, b);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_transpose(...) ebb__transpose_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__squeeze_at(const char *file, int32_t line,
                                                        ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_squeeze)(x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_squeeze(...) ebb__squeeze_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__unsqueeze_at(const char *file, int32_t line,
                                                          ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_unsqueeze)(x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_unsqueeze(...) ebb__unsqueeze_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__expand_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_shape shape)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_expand)(x, shape);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_expand(...) ebb__expand_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__narrow_at(const char *file, int32_t line,
                                                       ebb_tensor *x, int64_t axis,
                                                       int64_t start, int64_t length)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_narrow)(x, axis, start, length);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_narrow(...) ebb__narrow_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__slice_at(const char *file, int32_t line,
                                                      ebb_tensor *x, int64_t axis,
                                                      int64_t start, int64_t stop, int64_t step)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_slice)(x, axis, start, stop, step);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_slice(...) ebb__slice_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__select_at(const char *file, int32_t line,
                                                       ebb_tensor *x, int64_t axis, int64_t i)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_select)(x, axis, i);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_select(...) ebb__select_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__unfold_at(const char *file, int32_t line,
                                                       ebb_tensor *x, int64_t axis,
                                                       int64_t size, int64_t step)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_unfold)(x, axis, size, step);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_unfold(...) ebb__unfold_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__flatten_at(const char *file, int32_t line,
                                                        ebb_tensor *x, int64_t start,
                                                        int64_t end)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_flatten)(x, start, end);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_flatten(...) ebb__flatten_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__broadcast_to_at(const char *file, int32_t line,
                                                             ebb_tensor *x, ebb_shape shape)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_broadcast_to)(x, shape);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_broadcast_to(...) ebb__broadcast_to_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__chunk_at(const char *file, int32_t line,
                                                     ebb_tensor **parts_out, int64_t n_out,
                                                     ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_chunk)(parts_out, n_out, x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_chunk(...) ebb__chunk_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__meshgrid_at(const char *file, int32_t line,
                                                        ebb_tensor **grids_out, int64_t n_out,
                                                        ebb_tensor *const *xs, int64_t n,
                                                        const ebb_meshgrid_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_meshgrid)(grids_out, n_out, xs, n, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_meshgrid(...) ebb__meshgrid_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__diagonal_at(const char *file, int32_t line,
                                                         ebb_tensor *x, int64_t offset,
                                                         int64_t a, int64_t b)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_diagonal)(x, offset, a, b);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_diagonal(...) ebb__diagonal_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__diag_embed_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t offset,
                                                           int64_t a, int64_t b)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_diag_embed)(x, offset, a, b);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_diag_embed(...) ebb__diag_embed_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__diag_at(const char *file, int32_t line,
                                                     ebb_tensor *x, int64_t offset)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_diag)(x, offset);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_diag(...) ebb__diag_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__trace_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_trace)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_trace(...) ebb__trace_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__repeat_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_shape reps)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_repeat)(x, reps);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_repeat(...) ebb__repeat_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__tile_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_shape reps)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_tile)(x, reps);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_tile(...) ebb__tile_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__roll_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_shape shifts,
                                                     ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_roll)(x, shifts, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_roll(...) ebb__roll_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pad_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_shape before,
                                                    ebb_shape after,
                                                    const ebb_pad_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_pad)(x, before, after, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pad(...) ebb__pad_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__clone_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_clone)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_clone(...) ebb__clone_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__flip_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_flip)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_flip(...) ebb__flip_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__slice_assign_at(const char *file, int32_t line,
                                                             ebb_tensor *x, ebb_tensor *y,
                                                             int64_t axis, int64_t start,
                                                             int64_t stop, int64_t step)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_slice_assign)(x, y, axis, start, stop, step);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_slice_assign(...) ebb__slice_assign_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__slice_assign__at(const char *file, int32_t line,
                                                             ebb_tensor *x, ebb_tensor *y,
                                                             int64_t axis, int64_t start,
                                                             int64_t stop, int64_t step)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_slice_assign_)(x, y, axis, start, stop, step);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_slice_assign_(...) ebb__slice_assign__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__copy__at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_copy_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_copy_(...) ebb__copy__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__fill__at(const char *file, int32_t line,
                                                     ebb_tensor *x, double value)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_fill_)(x, value);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_fill_(...) ebb__fill__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__zero__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_zero_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_zero_(...) ebb__zero__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sum_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sum)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sum(...) ebb__sum_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mean_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mean)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mean(...) ebb__mean_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__prod_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_prod)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_prod(...) ebb__prod_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__amax_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_amax)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_amax(...) ebb__amax_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__amin_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_amin)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_amin(...) ebb__amin_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__any_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_any)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_any(...) ebb__any_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__all_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_all)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_all(...) ebb__all_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__var_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_axes axes,
                                                    const ebb_var_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_var)(x, axes, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_var(...) ebb__var_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__std_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_axes axes,
                                                    const ebb_var_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_std)(x, axes, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_std(...) ebb__std_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logsumexp_at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logsumexp)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logsumexp(...) ebb__logsumexp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__eq_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_eq)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_eq(...) ebb__eq_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ne_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_ne)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_ne(...) ebb__ne_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__lt_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_lt)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lt(...) ebb__lt_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__le_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_le)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_le(...) ebb__le_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__gt_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_gt)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_gt(...) ebb__gt_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ge_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_ge)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_ge(...) ebb__ge_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logical_and_at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logical_and)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logical_and(...) ebb__logical_and_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logical_or_at(const char *file, int32_t line,
                                                           ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logical_or)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logical_or(...) ebb__logical_or_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logical_not_at(const char *file, int32_t line,
                                                            ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logical_not)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logical_not(...) ebb__logical_not_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__isnan_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_isnan)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_isnan(...) ebb__isnan_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__isinf_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_isinf)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_isinf(...) ebb__isinf_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__isfinite_at(const char *file, int32_t line,
                                                         ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_isfinite)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_isfinite(...) ebb__isfinite_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__where_at(const char *file, int32_t line,
                                                      ebb_tensor *cond, ebb_tensor *x,
                                                      ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_where)(cond, x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_where(...) ebb__where_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__masked_fill_at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *mask,
                                                            double value)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_masked_fill)(x, mask, value);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_masked_fill(...) ebb__masked_fill_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__masked_fill__at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *mask,
                                                            double value)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_masked_fill_)(x, mask, value);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_masked_fill_(...) ebb__masked_fill__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__maximum_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_maximum)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_maximum(...) ebb__maximum_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__maximum__at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_maximum_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_maximum_(...) ebb__maximum__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__minimum_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_minimum)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_minimum(...) ebb__minimum_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__minimum__at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_minimum_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_minimum_(...) ebb__minimum__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cast_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_dtype dtype)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cast)(x, dtype);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cast(...) ebb__cast_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__matmul_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_matmul)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_matmul(...) ebb__matmul_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__linear_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_linear)(x, w, b);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_linear(...) ebb__linear_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__conv1d_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b,
                                                       const ebb_conv1d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_conv1d)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_conv1d(...) ebb__conv1d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mv_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mv)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mv(...) ebb__mv_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__dot_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_dot)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_dot(...) ebb__dot_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__outer_at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_outer)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_outer(...) ebb__outer_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bmm_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bmm)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bmm(...) ebb__bmm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__addmm_at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *a,
                                                      ebb_tensor *b, double beta, double alpha)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_addmm)(x, a, b, beta, alpha);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_addmm(...) ebb__addmm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__baddbmm_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *a,
                                                        ebb_tensor *b, double beta,
                                                        double alpha)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_baddbmm)(x, a, b, beta, alpha);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_baddbmm(...) ebb__baddbmm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__einsum_at(const char *file, int32_t line,
                                                       ebb_tensor *const *xs, int64_t n,
                                                       const char *equation)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_einsum)(xs, n, equation);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_einsum(...) ebb__einsum_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__inverse_at(const char *file, int32_t line,
                                                        ebb_tensor *a)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_inverse)(a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_inverse(...) ebb__inverse_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__solve_at(const char *file, int32_t line,
                                                      ebb_tensor *a, ebb_tensor *b)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_solve)(a, b);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_solve(...) ebb__solve_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__triangular_solve_at(const char *file, int32_t line,
                                                                 ebb_tensor *a, ebb_tensor *b,
                                                                 const ebb_triangular_solve_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_triangular_solve)(a, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_triangular_solve(...) ebb__triangular_solve_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cholesky_at(const char *file, int32_t line,
                                                         ebb_tensor *a,
                                                         const ebb_cholesky_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cholesky)(a, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cholesky(...) ebb__cholesky_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__det_at(const char *file, int32_t line,
                                                    ebb_tensor *a)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_det)(a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_det(...) ebb__det_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__slogdet_at(const char *file, int32_t line,
                                                       ebb_tensor **sign_out,
                                                       ebb_tensor **logabsdet_out,
                                                       ebb_tensor *a)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_slogdet)(sign_out, logabsdet_out, a);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_slogdet(...) ebb__slogdet_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__rfft_at(const char *file, int32_t line,
                                                     ebb_tensor *x, int64_t axis,
                                                     const ebb_fft_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_rfft)(x, axis, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_rfft(...) ebb__rfft_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__irfft_at(const char *file, int32_t line,
                                                      ebb_tensor *x, int64_t axis,
                                                      const ebb_fft_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_irfft)(x, axis, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_irfft(...) ebb__irfft_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__conv2d_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b,
                                                       const ebb_conv2d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_conv2d)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_conv2d(...) ebb__conv2d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__conv3d_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *w,
                                                       ebb_tensor *b,
                                                       const ebb_conv3d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_conv3d)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_conv3d(...) ebb__conv3d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__conv_transpose1d_at(const char *file, int32_t line,
                                                                 ebb_tensor *x, ebb_tensor *w,
                                                                 ebb_tensor *b,
                                                                 const ebb_conv_transpose1d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_conv_transpose1d)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_conv_transpose1d(...) ebb__conv_transpose1d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__conv_transpose2d_at(const char *file, int32_t line,
                                                                 ebb_tensor *x, ebb_tensor *w,
                                                                 ebb_tensor *b,
                                                                 const ebb_conv_transpose2d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_conv_transpose2d)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_conv_transpose2d(...) ebb__conv_transpose2d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__conv_transpose3d_at(const char *file, int32_t line,
                                                                 ebb_tensor *x, ebb_tensor *w,
                                                                 ebb_tensor *b,
                                                                 const ebb_conv_transpose3d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_conv_transpose3d)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_conv_transpose3d(...) ebb__conv_transpose3d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__max_pool1d_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t kernel,
                                                           const ebb_pool1d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_max_pool1d)(x, kernel, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max_pool1d(...) ebb__max_pool1d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__max_pool2d_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t kernel_h,
                                                           int64_t kernel_w,
                                                           const ebb_pool2d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_max_pool2d)(x, kernel_h, kernel_w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max_pool2d(...) ebb__max_pool2d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__max_pool3d_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t kernel_d,
                                                           int64_t kernel_h, int64_t kernel_w,
                                                           const ebb_pool3d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_max_pool3d)(x, kernel_d, kernel_h, kernel_w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max_pool3d(...) ebb__max_pool3d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__avg_pool1d_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t kernel,
                                                           const ebb_avg_pool1d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_avg_pool1d)(x, kernel, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_avg_pool1d(...) ebb__avg_pool1d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__avg_pool2d_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t kernel_h,
                                                           int64_t kernel_w,
                                                           const ebb_avg_pool2d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_avg_pool2d)(x, kernel_h, kernel_w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_avg_pool2d(...) ebb__avg_pool2d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__avg_pool3d_at(const char *file, int32_t line,
                                                           ebb_tensor *x, int64_t kernel_d,
                                                           int64_t kernel_h, int64_t kernel_w,
                                                           const ebb_avg_pool3d_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_avg_pool3d)(x, kernel_d, kernel_h, kernel_w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_avg_pool3d(...) ebb__avg_pool3d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__adaptive_avg_pool1d_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t out_l)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_adaptive_avg_pool1d)(x, out_l);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_adaptive_avg_pool1d(...) ebb__adaptive_avg_pool1d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__adaptive_avg_pool2d_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t out_h,
                                                                    int64_t out_w)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_adaptive_avg_pool2d)(x, out_h, out_w);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_adaptive_avg_pool2d(...) ebb__adaptive_avg_pool2d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__adaptive_avg_pool3d_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t out_d,
                                                                    int64_t out_h,
                                                                    int64_t out_w)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_adaptive_avg_pool3d)(x, out_d, out_h, out_w);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_adaptive_avg_pool3d(...) ebb__adaptive_avg_pool3d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__adaptive_max_pool1d_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t out_l)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_adaptive_max_pool1d)(x, out_l);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_adaptive_max_pool1d(...) ebb__adaptive_max_pool1d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__adaptive_max_pool2d_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t out_h,
                                                                    int64_t out_w)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_adaptive_max_pool2d)(x, out_h, out_w);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_adaptive_max_pool2d(...) ebb__adaptive_max_pool2d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__adaptive_max_pool3d_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t out_d,
                                                                    int64_t out_h,
                                                                    int64_t out_w)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_adaptive_max_pool3d)(x, out_d, out_h, out_w);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_adaptive_max_pool3d(...) ebb__adaptive_max_pool3d_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__interpolate_at(const char *file, int32_t line,
                                                            ebb_tensor *x,
                                                            const ebb_interpolate_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_interpolate)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_interpolate(...) ebb__interpolate_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pixel_shuffle_at(const char *file, int32_t line,
                                                              ebb_tensor *x, int64_t factor)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_pixel_shuffle)(x, factor);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pixel_shuffle(...) ebb__pixel_shuffle_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__pixel_unshuffle_at(const char *file, int32_t line,
                                                                ebb_tensor *x, int64_t factor)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_pixel_unshuffle)(x, factor);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_pixel_unshuffle(...) ebb__pixel_unshuffle_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__softmax_at(const char *file, int32_t line,
                                                        ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_softmax)(x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_softmax(...) ebb__softmax_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log_softmax_at(const char *file, int32_t line,
                                                            ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_log_softmax)(x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log_softmax(...) ebb__log_softmax_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__batch_norm_at(const char *file, int32_t line,
                                                           ebb_tensor *x, ebb_tensor *w,
                                                           ebb_tensor *b,
                                                           ebb_tensor *running_mean,
                                                           ebb_tensor *running_var,
                                                           const ebb_norm_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_batch_norm)(x, w, b, running_mean, running_var, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_batch_norm(...) ebb__batch_norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__layer_norm_at(const char *file, int32_t line,
                                                           ebb_tensor *x, ebb_tensor *w,
                                                           ebb_tensor *b,
                                                           const ebb_norm_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_layer_norm)(x, w, b, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_layer_norm(...) ebb__layer_norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__group_norm_at(const char *file, int32_t line,
                                                           ebb_tensor *x, ebb_tensor *w,
                                                           ebb_tensor *b, int64_t groups,
                                                           const ebb_group_norm_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_group_norm)(x, w, b, groups, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_group_norm(...) ebb__group_norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__instance_norm_at(const char *file, int32_t line,
                                                              ebb_tensor *x, ebb_tensor *w,
                                                              ebb_tensor *b,
                                                              ebb_tensor *running_mean,
                                                              ebb_tensor *running_var,
                                                              const ebb_norm_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_instance_norm)(x, w, b, running_mean, running_var, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_instance_norm(...) ebb__instance_norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__rms_norm_at(const char *file, int32_t line,
                                                         ebb_tensor *x, ebb_tensor *w,
                                                         const ebb_rms_norm_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_rms_norm)(x, w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_rms_norm(...) ebb__rms_norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__local_response_norm_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    int64_t size,
                                                                    const ebb_local_response_norm_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_local_response_norm)(x, size, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_local_response_norm(...) ebb__local_response_norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cross_entropy_at(const char *file, int32_t line,
                                                              ebb_tensor *logits,
                                                              ebb_tensor *labels,
                                                              const ebb_cross_entropy_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cross_entropy)(logits, labels, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cross_entropy(...) ebb__cross_entropy_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__nll_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *labels,
                                                    const ebb_nll_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_nll)(x, labels, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_nll(...) ebb__nll_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__dropout_at(const char *file, int32_t line,
                                                        ebb_tensor *x, double p)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_dropout)(x, p);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_dropout(...) ebb__dropout_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__uniform_at(const char *file, int32_t line,
                                                        ebb_context *ctx, ebb_dtype dtype,
                                                        ebb_shape shape, double low,
                                                        double high)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_uniform)(ctx, dtype, shape, low, high);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_uniform(...) ebb__uniform_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__normal_at(const char *file, int32_t line,
                                                       ebb_context *ctx, ebb_dtype dtype,
                                                       ebb_shape shape, double mean, double std)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_normal)(ctx, dtype, shape, mean, std);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_normal(...) ebb__normal_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bernoulli_at(const char *file, int32_t line,
                                                          ebb_context *ctx, ebb_dtype dtype,
                                                          ebb_shape shape, double p)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bernoulli)(ctx, dtype, shape, p);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bernoulli(...) ebb__bernoulli_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__relu_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_relu)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_relu(...) ebb__relu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__relu__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_relu_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_relu_(...) ebb__relu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__tanh_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_tanh)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_tanh(...) ebb__tanh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__tanh__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_tanh_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_tanh_(...) ebb__tanh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sigmoid_at(const char *file, int32_t line,
                                                        ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sigmoid)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sigmoid(...) ebb__sigmoid_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sigmoid__at(const char *file, int32_t line,
                                                        ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sigmoid_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sigmoid_(...) ebb__sigmoid__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__silu_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_silu)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_silu(...) ebb__silu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__silu__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_silu_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_silu_(...) ebb__silu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logsigmoid_at(const char *file, int32_t line,
                                                           ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logsigmoid)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logsigmoid(...) ebb__logsigmoid_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__logsigmoid__at(const char *file, int32_t line,
                                                           ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_logsigmoid_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logsigmoid_(...) ebb__logsigmoid__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__leaky_relu_at(const char *file, int32_t line,
                                                           ebb_tensor *x,
                                                           const ebb_leaky_relu_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_leaky_relu)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_leaky_relu(...) ebb__leaky_relu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__leaky_relu__at(const char *file, int32_t line,
                                                           ebb_tensor *x,
                                                           const ebb_leaky_relu_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_leaky_relu_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_leaky_relu_(...) ebb__leaky_relu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__elu_at(const char *file, int32_t line,
                                                    ebb_tensor *x,
                                                    const ebb_elu_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_elu)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_elu(...) ebb__elu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__elu__at(const char *file, int32_t line,
                                                    ebb_tensor *x,
                                                    const ebb_elu_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_elu_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_elu_(...) ebb__elu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__softplus_at(const char *file, int32_t line,
                                                         ebb_tensor *x,
                                                         const ebb_softplus_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_softplus)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_softplus(...) ebb__softplus_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__softplus__at(const char *file, int32_t line,
                                                         ebb_tensor *x,
                                                         const ebb_softplus_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_softplus_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_softplus_(...) ebb__softplus__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__gelu_at(const char *file, int32_t line,
                                                     ebb_tensor *x,
                                                     const ebb_gelu_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_gelu)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_gelu(...) ebb__gelu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__gelu__at(const char *file, int32_t line,
                                                     ebb_tensor *x,
                                                     const ebb_gelu_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_gelu_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_gelu_(...) ebb__gelu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__argmax_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_argmax)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_argmax(...) ebb__argmax_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__argmin_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_argmin)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_argmin(...) ebb__argmin_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__max_at(const char *file, int32_t line,
                                                   ebb_tensor **values_out,
                                                   ebb_tensor **indices_out, ebb_tensor *x,
                                                   ebb_axes axes)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_max)(values_out, indices_out, x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max(...) ebb__max_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__min_at(const char *file, int32_t line,
                                                   ebb_tensor **values_out,
                                                   ebb_tensor **indices_out, ebb_tensor *x,
                                                   ebb_axes axes)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_min)(values_out, indices_out, x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_min(...) ebb__min_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cumsum_at(const char *file, int32_t line,
                                                       ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cumsum)(x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cumsum(...) ebb__cumsum_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mse_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mse)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mse(...) ebb__mse_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mse_with_at(const char *file, int32_t line,
                                                         ebb_tensor *x, ebb_tensor *y,
                                                         const ebb_mse_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mse_with)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mse_with(...) ebb__mse_with_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bce_at(const char *file, int32_t line,
                                                    ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bce)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bce(...) ebb__bce_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bce_with_at(const char *file, int32_t line,
                                                         ebb_tensor *x, ebb_tensor *y,
                                                         const ebb_bce_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bce_with)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bce_with(...) ebb__bce_with_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bce_with_logits_at(const char *file, int32_t line,
                                                                ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bce_with_logits)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bce_with_logits(...) ebb__bce_with_logits_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bce_with_logits_with_at(const char *file,
                                                                     int32_t line,
                                                                     ebb_tensor *x,
                                                                     ebb_tensor *y,
                                                                     const ebb_bce_with_logits_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bce_with_logits_with)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bce_with_logits_with(...) ebb__bce_with_logits_with_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__l1_at(const char *file, int32_t line,
                                                   ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_l1)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_l1(...) ebb__l1_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__l1_with_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *y,
                                                        const ebb_l1_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_l1_with)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_l1_with(...) ebb__l1_with_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__smooth_l1_at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *y,
                                                          const ebb_smooth_l1_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_smooth_l1)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_smooth_l1(...) ebb__smooth_l1_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__gather_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *index,
                                                       int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_gather)(x, index, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_gather(...) ebb__gather_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__scatter_add_at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *index,
                                                            ebb_tensor *src, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_scatter_add)(x, index, src, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_scatter_add(...) ebb__scatter_add_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__scatter_at(const char *file, int32_t line,
                                                        ebb_tensor *x, ebb_tensor *index,
                                                        ebb_tensor *src, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_scatter)(x, index, src, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_scatter(...) ebb__scatter_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__scatter_value_at(const char *file, int32_t line,
                                                              ebb_tensor *x, ebb_tensor *index,
                                                              int64_t axis, double value)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_scatter_value)(x, index, axis, value);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_scatter_value(...) ebb__scatter_value_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__index_put_at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *values,
                                                          ebb_tensor *const *indices, int64_t n,
                                                          const ebb_index_put_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_index_put)(x, values, indices, n, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_index_put(...) ebb__index_put_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__take_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_tensor *index)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_take)(x, index);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_take(...) ebb__take_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__index_select_at(const char *file, int32_t line,
                                                             ebb_tensor *x, ebb_tensor *index,
                                                             int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_index_select)(x, index, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_index_select(...) ebb__index_select_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__index_add_at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *index,
                                                          ebb_tensor *src, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_index_add)(x, index, src, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_index_add(...) ebb__index_add_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__embedding_at(const char *file, int32_t line,
                                                          ebb_tensor *w, ebb_tensor *index)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_embedding)(w, index);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_embedding(...) ebb__embedding_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__embedding_with_at(const char *file, int32_t line,
                                                               ebb_tensor *w, ebb_tensor *index,
                                                               const ebb_embedding_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_embedding_with)(w, index, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_embedding_with(...) ebb__embedding_with_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__one_hot_at(const char *file, int32_t line,
                                                        ebb_tensor *index, int64_t n_classes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_one_hot)(index, n_classes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_one_hot(...) ebb__one_hot_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__nonzero_at(const char *file, int32_t line,
                                                        ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_nonzero)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_nonzero(...) ebb__nonzero_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__masked_select_at(const char *file, int32_t line,
                                                              ebb_tensor *x, ebb_tensor *mask)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_masked_select)(x, mask);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_masked_select(...) ebb__masked_select_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cat_at(const char *file, int32_t line,
                                                    ebb_tensor *const *xs, int64_t n,
                                                    int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cat)(xs, n, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cat(...) ebb__cat_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__stack_at(const char *file, int32_t line,
                                                      ebb_tensor *const *xs, int64_t n,
                                                      int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_stack)(xs, n, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_stack(...) ebb__stack_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__split_at(const char *file, int32_t line,
                                                     ebb_tensor **parts_out, int64_t n_out,
                                                     ebb_tensor *x, int64_t size, int64_t axis)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_split)(parts_out, n_out, x, size, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_split(...) ebb__split_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__tril_at(const char *file, int32_t line,
                                                     ebb_tensor *x, int64_t diagonal)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_tril)(x, diagonal);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_tril(...) ebb__tril_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__triu_at(const char *file, int32_t line,
                                                     ebb_tensor *x, int64_t diagonal)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_triu)(x, diagonal);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_triu(...) ebb__triu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__scaled_dot_product_attention_at(const char *file,
                                                                             int32_t line,
                                                                             ebb_tensor *q,
                                                                             ebb_tensor *k,
                                                                             ebb_tensor *v,
                                                                             ebb_tensor *mask,
                                                                             const ebb_attention_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_scaled_dot_product_attention)(q, k, v, mask, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_scaled_dot_product_attention(...) ebb__scaled_dot_product_attention_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__rnn_at(const char *file, int32_t line,
                                                   ebb_tensor **y_out, ebb_tensor **h_out,
                                                   ebb_tensor *x, ebb_tensor *h0,
                                                   ebb_tensor *w_ih, ebb_tensor *w_hh,
                                                   ebb_tensor *b_ih, ebb_tensor *b_hh,
                                                   const ebb_rnn_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_rnn)(y_out, h_out, x, h0, w_ih, w_hh, b_ih, b_hh, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_rnn(...) ebb__rnn_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__rnn_cell_at(const char *file, int32_t line,
                                                         ebb_tensor *x, ebb_tensor *h0,
                                                         ebb_tensor *w_ih, ebb_tensor *w_hh,
                                                         ebb_tensor *b_ih, ebb_tensor *b_hh,
                                                         const ebb_rnn_cell_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_rnn_cell)(x, h0, w_ih, w_hh, b_ih, b_hh, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_rnn_cell(...) ebb__rnn_cell_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__lstm_at(const char *file, int32_t line,
                                                    ebb_tensor **y_out, ebb_tensor **h_out,
                                                    ebb_tensor **c_out, ebb_tensor *x,
                                                    ebb_tensor *h0, ebb_tensor *c0,
                                                    ebb_tensor *w_ih, ebb_tensor *w_hh,
                                                    ebb_tensor *b_ih, ebb_tensor *b_hh,
                                                    const ebb_lstm_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_lstm)(y_out, h_out, c_out, x, h0, c0, w_ih, w_hh, b_ih, b_hh,
                                    options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lstm(...) ebb__lstm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__lstm_cell_at(const char *file, int32_t line,
                                                         ebb_tensor **h_out, ebb_tensor **c_out,
                                                         ebb_tensor *x, ebb_tensor *h0,
                                                         ebb_tensor *c0, ebb_tensor *w_ih,
                                                         ebb_tensor *w_hh, ebb_tensor *b_ih,
                                                         ebb_tensor *b_hh)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_lstm_cell)(h_out, c_out, x, h0, c0, w_ih, w_hh, b_ih, b_hh);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lstm_cell(...) ebb__lstm_cell_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__gru_at(const char *file, int32_t line,
                                                   ebb_tensor **y_out, ebb_tensor **h_out,
                                                   ebb_tensor *x, ebb_tensor *h0,
                                                   ebb_tensor *w_ih, ebb_tensor *w_hh,
                                                   ebb_tensor *b_ih, ebb_tensor *b_hh,
                                                   const ebb_gru_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_gru)(y_out, h_out, x, h0, w_ih, w_hh, b_ih, b_hh, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_gru(...) ebb__gru_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__gru_cell_at(const char *file, int32_t line,
                                                         ebb_tensor *x, ebb_tensor *h0,
                                                         ebb_tensor *w_ih, ebb_tensor *w_hh,
                                                         ebb_tensor *b_ih, ebb_tensor *b_hh)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_gru_cell)(x, h0, w_ih, w_hh, b_ih, b_hh);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_gru_cell(...) ebb__gru_cell_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__exp2_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_exp2)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_exp2(...) ebb__exp2_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__exp2__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_exp2_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_exp2_(...) ebb__exp2__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log2_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_log2)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log2(...) ebb__log2_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__log2__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_log2_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log2_(...) ebb__log2__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__log10_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_log10)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log10(...) ebb__log10_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__log10__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_log10_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_log10_(...) ebb__log10__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__tan_at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_tan)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_tan(...) ebb__tan_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__tan__at(const char *file, int32_t line,
                                                    ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_tan_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_tan_(...) ebb__tan__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__asin_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_asin)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_asin(...) ebb__asin_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__asin__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_asin_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_asin_(...) ebb__asin__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__acos_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_acos)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_acos(...) ebb__acos_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__acos__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_acos_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_acos_(...) ebb__acos__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__atan_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_atan)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_atan(...) ebb__atan_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__atan__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_atan_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_atan_(...) ebb__atan__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__sinh_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_sinh)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sinh(...) ebb__sinh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sinh__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sinh_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sinh_(...) ebb__sinh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cosh_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cosh)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cosh(...) ebb__cosh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__cosh__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_cosh_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cosh_(...) ebb__cosh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__asinh_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_asinh)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_asinh(...) ebb__asinh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__asinh__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_asinh_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_asinh_(...) ebb__asinh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__acosh_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_acosh)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_acosh(...) ebb__acosh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__acosh__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_acosh_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_acosh_(...) ebb__acosh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__atanh_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_atanh)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_atanh(...) ebb__atanh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__atanh__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_atanh_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_atanh_(...) ebb__atanh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__erfc_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_erfc)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_erfc(...) ebb__erfc_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__erfc__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_erfc_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_erfc_(...) ebb__erfc__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__erfinv_at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_erfinv)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_erfinv(...) ebb__erfinv_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__erfinv__at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_erfinv_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_erfinv_(...) ebb__erfinv__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__lgamma_at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_lgamma)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lgamma(...) ebb__lgamma_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__lgamma__at(const char *file, int32_t line,
                                                       ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_lgamma_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lgamma_(...) ebb__lgamma__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__digamma_at(const char *file, int32_t line,
                                                        ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_digamma)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_digamma(...) ebb__digamma_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__digamma__at(const char *file, int32_t line,
                                                        ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_digamma_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_digamma_(...) ebb__digamma__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__polygamma_at(const char *file, int32_t line,
                                                          ebb_tensor *x, int64_t n)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_polygamma)(x, n);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_polygamma(...) ebb__polygamma_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__polygamma__at(const char *file, int32_t line,
                                                          ebb_tensor *x, int64_t n)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_polygamma_)(x, n);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_polygamma_(...) ebb__polygamma__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__hardtanh_at(const char *file, int32_t line,
                                                         ebb_tensor *x,
                                                         const ebb_hardtanh_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_hardtanh)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hardtanh(...) ebb__hardtanh_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__hardtanh__at(const char *file, int32_t line,
                                                         ebb_tensor *x,
                                                         const ebb_hardtanh_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_hardtanh_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hardtanh_(...) ebb__hardtanh__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__relu6_at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_relu6)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_relu6(...) ebb__relu6_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__relu6__at(const char *file, int32_t line,
                                                      ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_relu6_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_relu6_(...) ebb__relu6__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__hardsigmoid_at(const char *file, int32_t line,
                                                            ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_hardsigmoid)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hardsigmoid(...) ebb__hardsigmoid_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__hardsigmoid__at(const char *file, int32_t line,
                                                            ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_hardsigmoid_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hardsigmoid_(...) ebb__hardsigmoid__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__hardswish_at(const char *file, int32_t line,
                                                          ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_hardswish)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hardswish(...) ebb__hardswish_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__hardswish__at(const char *file, int32_t line,
                                                          ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_hardswish_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hardswish_(...) ebb__hardswish__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__selu_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_selu)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_selu(...) ebb__selu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__selu__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_selu_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_selu_(...) ebb__selu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__celu_at(const char *file, int32_t line,
                                                     ebb_tensor *x,
                                                     const ebb_celu_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_celu)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_celu(...) ebb__celu_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__celu__at(const char *file, int32_t line,
                                                     ebb_tensor *x,
                                                     const ebb_celu_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_celu_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_celu_(...) ebb__celu__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__mish_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_mish)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mish(...) ebb__mish_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__mish__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_mish_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_mish_(...) ebb__mish__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__hypot_at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_hypot)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hypot(...) ebb__hypot_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__hypot__at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_hypot_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hypot_(...) ebb__hypot__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__atan2_at(const char *file, int32_t line,
                                                      ebb_tensor *y, ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_atan2)(y, x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_atan2(...) ebb__atan2_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__atan2__at(const char *file, int32_t line,
                                                      ebb_tensor *y, ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_atan2_)(y, x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_atan2_(...) ebb__atan2__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logaddexp_at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logaddexp)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logaddexp(...) ebb__logaddexp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__logaddexp__at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_logaddexp_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logaddexp_(...) ebb__logaddexp__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__xlogy_at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_xlogy)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_xlogy(...) ebb__xlogy_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__xlogy__at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_xlogy_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_xlogy_(...) ebb__xlogy__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__lerp_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_tensor *y,
                                                     ebb_tensor *weight)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_lerp)(x, y, weight);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lerp(...) ebb__lerp_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__lerp__at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_tensor *y,
                                                     ebb_tensor *weight)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_lerp_)(x, y, weight);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_lerp_(...) ebb__lerp__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__fmod_at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_fmod)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_fmod(...) ebb__fmod_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__fmod__at(const char *file, int32_t line,
                                                     ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_fmod_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_fmod_(...) ebb__fmod__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__remainder_at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_remainder)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_remainder(...) ebb__remainder_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__remainder__at(const char *file, int32_t line,
                                                          ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_remainder_)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_remainder_(...) ebb__remainder__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__frac_at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_frac)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_frac(...) ebb__frac_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__frac__at(const char *file, int32_t line,
                                                     ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_frac_)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_frac_(...) ebb__frac__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bitwise_and_at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bitwise_and)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bitwise_and(...) ebb__bitwise_and_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bitwise_or_at(const char *file, int32_t line,
                                                           ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bitwise_or)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bitwise_or(...) ebb__bitwise_or_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bitwise_xor_at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bitwise_xor)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bitwise_xor(...) ebb__bitwise_xor_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bitwise_not_at(const char *file, int32_t line,
                                                            ebb_tensor *x)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bitwise_not)(x);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bitwise_not(...) ebb__bitwise_not_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__logical_xor_at(const char *file, int32_t line,
                                                            ebb_tensor *x, ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_logical_xor)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_logical_xor(...) ebb__logical_xor_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bitwise_left_shift_at(const char *file,
                                                                   int32_t line, ebb_tensor *x,
                                                                   ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bitwise_left_shift)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bitwise_left_shift(...) ebb__bitwise_left_shift_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bitwise_right_shift_at(const char *file,
                                                                    int32_t line, ebb_tensor *x,
                                                                    ebb_tensor *y)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bitwise_right_shift)(x, y);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bitwise_right_shift(...) ebb__bitwise_right_shift_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__nan_to_num_at(const char *file, int32_t line,
                                                           ebb_tensor *x,
                                                           const ebb_nan_to_num_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_nan_to_num)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_nan_to_num(...) ebb__nan_to_num_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__nan_to_num__at(const char *file, int32_t line,
                                                           ebb_tensor *x,
                                                           const ebb_nan_to_num_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_nan_to_num_)(x, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_nan_to_num_(...) ebb__nan_to_num__at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__count_nonzero_at(const char *file, int32_t line,
                                                              ebb_tensor *x, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_count_nonzero)(x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_count_nonzero(...) ebb__count_nonzero_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__sort_at(const char *file, int32_t line,
                                                    ebb_tensor **values_out,
                                                    ebb_tensor **indices_out, ebb_tensor *x,
                                                    int64_t axis,
                                                    const ebb_sort_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_sort)(values_out, indices_out, x, axis, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_sort(...) ebb__sort_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__argsort_at(const char *file, int32_t line,
                                                        ebb_tensor *x, int64_t axis,
                                                        const ebb_sort_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_argsort)(x, axis, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_argsort(...) ebb__argsort_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__topk_at(const char *file, int32_t line,
                                                    ebb_tensor **values_out,
                                                    ebb_tensor **indices_out, ebb_tensor *x,
                                                    int64_t k, int64_t axis,
                                                    const ebb_topk_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_topk)(values_out, indices_out, x, k, axis, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_topk(...) ebb__topk_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__median_at(const char *file, int32_t line,
                                                      ebb_tensor **values_out,
                                                      ebb_tensor **indices_out, ebb_tensor *x,
                                                      ebb_axes axes)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_median)(values_out, indices_out, x, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_median(...) ebb__median_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cumprod_at(const char *file, int32_t line,
                                                        ebb_tensor *x, int64_t axis)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cumprod)(x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cumprod(...) ebb__cumprod_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__cummax_at(const char *file, int32_t line,
                                                      ebb_tensor **values_out,
                                                      ebb_tensor **indices_out, ebb_tensor *x,
                                                      int64_t axis)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_cummax)(values_out, indices_out, x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cummax(...) ebb__cummax_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__cummin_at(const char *file, int32_t line,
                                                      ebb_tensor **values_out,
                                                      ebb_tensor **indices_out, ebb_tensor *x,
                                                      int64_t axis)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_cummin)(values_out, indices_out, x, axis);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cummin(...) ebb__cummin_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__norm_at(const char *file, int32_t line,
                                                     ebb_tensor *x, double p, ebb_axes axes)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_norm)(x, p, axes);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_norm(...) ebb__norm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__huber_at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y,
                                                      const ebb_huber_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_huber)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_huber(...) ebb__huber_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__hinge_at(const char *file, int32_t line,
                                                      ebb_tensor *x, ebb_tensor *y,
                                                      const ebb_hinge_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_hinge)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hinge(...) ebb__hinge_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__hinge_embedding_at(const char *file, int32_t line,
                                                                ebb_tensor *x, ebb_tensor *y,
                                                                const ebb_hinge_embedding_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_hinge_embedding)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_hinge_embedding(...) ebb__hinge_embedding_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__kl_div_at(const char *file, int32_t line,
                                                       ebb_tensor *x, ebb_tensor *y,
                                                       const ebb_kl_div_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_kl_div)(x, y, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_kl_div(...) ebb__kl_div_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cosine_similarity_at(const char *file,
                                                                  int32_t line, ebb_tensor *x,
                                                                  ebb_tensor *y, int64_t axis,
                                                                  const ebb_cosine_similarity_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cosine_similarity)(x, y, axis, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cosine_similarity(...) ebb__cosine_similarity_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__triplet_at(const char *file, int32_t line,
                                                        ebb_tensor *anchor,
                                                        ebb_tensor *positive,
                                                        ebb_tensor *negative,
                                                        const ebb_triplet_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_triplet)(anchor, positive, negative, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_triplet(...) ebb__triplet_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__nll_weighted_at(const char *file, int32_t line,
                                                             ebb_tensor *x, ebb_tensor *labels,
                                                             ebb_tensor *weight,
                                                             const ebb_nll_weighted_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_nll_weighted)(x, labels, weight, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_nll_weighted(...) ebb__nll_weighted_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cross_entropy_weighted_at(const char *file,
                                                                       int32_t line,
                                                                       ebb_tensor *logits,
                                                                       ebb_tensor *labels,
                                                                       ebb_tensor *weight,
                                                                       const ebb_cross_entropy_weighted_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cross_entropy_weighted)(logits, labels, weight, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cross_entropy_weighted(...) ebb__cross_entropy_weighted_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__cross_entropy_soft_at(const char *file,
                                                                   int32_t line,
                                                                   ebb_tensor *logits,
                                                                   ebb_tensor *target,
                                                                   ebb_tensor *weight,
                                                                   const ebb_cross_entropy_soft_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_cross_entropy_soft)(logits, target, weight, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_cross_entropy_soft(...) ebb__cross_entropy_soft_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__bce_with_logits_weighted_at(const char *file,
                                                                         int32_t line,
                                                                         ebb_tensor *x,
                                                                         ebb_tensor *y,
                                                                         ebb_tensor *weight,
                                                                         ebb_tensor *pos_weight,
                                                                         const ebb_bce_with_logits_weighted_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_bce_with_logits_weighted)(x, y, weight, pos_weight, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_bce_with_logits_weighted(...) ebb__bce_with_logits_weighted_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__randint_at(const char *file, int32_t line,
                                                        ebb_context *ctx, ebb_dtype dtype,
                                                        ebb_shape shape, int64_t low,
                                                        int64_t high)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_randint)(ctx, dtype, shape, low, high);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_randint(...) ebb__randint_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__randperm_at(const char *file, int32_t line,
                                                         ebb_context *ctx, int64_t n)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_randperm)(ctx, n);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_randperm(...) ebb__randperm_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__multinomial_at(const char *file, int32_t line,
                                                            ebb_tensor *p, int64_t n,
                                                            const ebb_multinomial_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_multinomial)(p, n, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_multinomial(...) ebb__multinomial_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__ctc_at(const char *file, int32_t line,
                                                    ebb_tensor *log_probs, ebb_tensor *targets,
                                                    ebb_tensor *input_lengths,
                                                    ebb_tensor *target_lengths,
                                                    const ebb_ctc_options *options)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_ctc)(log_probs, targets, input_lengths, target_lengths, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_ctc(...) ebb__ctc_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_tensor *ebb__as_strided_at(const char *file, int32_t line,
                                                           ebb_tensor *x, ebb_shape shape,
                                                           ebb_shape strides, int64_t offset)
{
    ebb__at(file, line);
    ebb_tensor *result_ = (ebb_as_strided)(x, shape, strides, offset);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_as_strided(...) ebb__as_strided_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__max_pool1d_with_indices_at(const char *file,
                                                                       int32_t line,
                                                                       ebb_tensor **values_out,
                                                                       ebb_tensor **indices_out,
                                                                       ebb_tensor *x,
                                                                       int64_t kernel,
                                                                       const ebb_pool1d_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_max_pool1d_with_indices)(values_out, indices_out, x, kernel,
                                                       options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max_pool1d_with_indices(...) ebb__max_pool1d_with_indices_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__max_pool2d_with_indices_at(const char *file,
                                                                       int32_t line,
                                                                       ebb_tensor **values_out,
                                                                       ebb_tensor **indices_out,
                                                                       ebb_tensor *x,
                                                                       int64_t kernel_h,
                                                                       int64_t kernel_w,
                                                                       const ebb_pool2d_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_max_pool2d_with_indices)(values_out, indices_out, x, kernel_h,
                                                       kernel_w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max_pool2d_with_indices(...) ebb__max_pool2d_with_indices_at(__FILE__, __LINE__, __VA_ARGS__)
static inline EBB_NODISCARD ebb_status ebb__max_pool3d_with_indices_at(const char *file,
                                                                       int32_t line,
                                                                       ebb_tensor **values_out,
                                                                       ebb_tensor **indices_out,
                                                                       ebb_tensor *x,
                                                                       int64_t kernel_d,
                                                                       int64_t kernel_h,
                                                                       int64_t kernel_w,
                                                                       const ebb_pool3d_options *options)
{
    ebb__at(file, line);
    ebb_status result_ = (ebb_max_pool3d_with_indices)(values_out, indices_out, x, kernel_d,
                                                       kernel_h, kernel_w, options);
    ebb__at(NULL, 0);
    return result_;
}
#define ebb_max_pool3d_with_indices(...) ebb__max_pool3d_with_indices_at(__FILE__, __LINE__, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif
