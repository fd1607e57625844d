/* op_harness.h - the table-driven tests of operations: one line of a descriptor's samples and
 * an element type make a case, and every check takes a case.
 *
 * A check returns NULL when the case passes, HARNESS_SKIP where it does not apply, else a
 * verdict (one line). So the checks can themselves be tested: tests/meta runs them on broken
 * operations.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_OP_HARNESS_H
#define EBB_TESTS_OP_HARNESS_H

#include "op/op.h"
#include "support/numeric.h"

enum { HARNESS_MAX_RESULTS = 16, HARNESS_ATTR_BYTES = 512 };

/* Elements in C order as doubles, whatever the element type. */
typedef struct harness_value {
    bool absent; /* EBB_NONE */
    ebb_dtype dtype;
    ebb_shape shape;
    int64_t n;
    double *x;
    double diagonal; /* added there, so that matrices are far from singular */
} harness_value;

/* The outputs, then the inputs that the operation writes. */
typedef struct harness_results {
    int32_t n;
    harness_value value[HARNESS_MAX_RESULTS];
} harness_results;

typedef struct harness_case {
    char name[200];
    const ebb_op *op;
    const ebb_sample *sample;
    ebb_dtype dtype; /* of plain float inputs */
    uint64_t seed;
    int32_t n_in, n_out;
    _Alignas(16) unsigned char attr[HARNESS_ATTR_BYTES];
    harness_value in[EBB__MAX_IN];
    bool wants[EBB__MAX_IN]; /* float inputs that are not written */
    bool has_f32;            /* some input is f32: differences are coarse */
} harness_case;

extern const char *const HARNESS_SKIP;

/* NULL, or what is wrong with the sample's text. */
const char *harness_case_make(harness_case *c, const ebb_op *op, const ebb_sample *sample,
                              ebb_dtype dtype);
void harness_case_free(harness_case *c);
/* True where a case of this element type differs from that of f64. */
bool harness_case_has_f32_form(const ebb_sample *sample);

bool harness_value_make(harness_value *v, ebb_dtype d, const ebb_shape *s); /* zeros */
bool harness_value_copy(harness_value *v, const harness_value *from);
void harness_value_free(harness_value *v);
/* Uniform in [-1, 1], rounded to the value's element type. */
void harness_value_random(harness_value *v, uint64_t seed);
void harness_value_round(harness_value *v);
void harness_results_free(harness_results *r);
/* NULL where equal: tolerance 0 means bit for bit. */
const char *harness_compare(const char *what, const harness_results *a,
                            const harness_results *b, double tolerance);
/* Elements to and from memory in a view's order. */
void harness_store(const ebb_view *v, const double *x);
void harness_load(double *x, const ebb_view *v);

/* ---- one run through the engine ---------------------------------------------------------- */
typedef enum harness_layout {
    HARNESS_CONTIGUOUS,
    HARNESS_REVERSED, /* axes stored in the opposite order */
    HARNESS_STEPPED,  /* every second element of a longer row, from the third on */
    HARNESS_REPEATED  /* stride 0 where all elements along an axis are equal */
} harness_layout;
typedef struct harness_options {
    ebb_context *ctx;          /* NULL: the shared one */
    const harness_value *in;   /* NULL: the case's */
    const bool *wants;         /* NULL: the case's */
    const harness_value *seed; /* one per output; NULL: random ones */
    harness_layout layout;
    bool drop; /* give up what can be made again before reading */
    int32_t *n_dropped;
} harness_options;

/* A tensor of the innermost scope with this content; unused storage is filled with NaN bytes.
 */
ebb_status harness_tensor(ebb_tensor **out, ebb_context *ctx, const harness_value *v,
                          harness_layout layout);
ebb_status harness_read(harness_value *v, ebb_tensor *t);
/* The shared context of the process: two threads, no budget. */
ebb_context *harness_context(void);
void harness_context_close(void);
/* Runs the case's operation on tensors, with the random counter set back. */
ebb_status harness_apply(ebb_tensor **out, const harness_case *c, ebb_tensor *const *in);
/* out, grads may be NULL. Without grads nothing is recorded. grads->value[i] belongs to input
 * i: absent where not wanted, zeros where there is no path. */
ebb_status harness_run(harness_results *out, harness_results *grads, const harness_case *c,
                       const harness_options *o);
/* <w, grad> differentiated once more by the engine, w being the weight of each gradient: in the
 * inputs (value[i]) and in the seeds (value[n_in + k]). `first` gets the gradients. */
ebb_status harness_run_second(harness_results *first, harness_results *second,
                              const harness_case *c, const harness_options *o,
                              const harness_value *w);
/* Seeds that a run draws where none are given, for outputs of r. */
void harness_seeds(harness_results *seed, const harness_case *c, const harness_results *r,
                   uint64_t salt);
bool harness_differentiable(const harness_case *c);

/* ---- one run of the descriptor's own functions, outside the engine ----------------------- */
enum { HARNESS_MAX_BLOCKS = EBB__MAX_IN + EBB__MAX_OUT + EBB__MAX_AUX + 1 };
/* Bytes between guards; aligned as the element type and no better (scratch: 64). */
typedef struct harness_block {
    unsigned char *base, *data, *copy; /* copy: of an input's bytes, to see that they stay */
    size_t bytes;
} harness_block;
typedef struct harness_direct {
    const harness_case *c;
    ebb__call call;
    ebb_view in[EBB__MAX_IN], out[EBB__MAX_OUT + EBB__MAX_AUX];
    harness_block block[HARNESS_MAX_BLOCKS];
    int32_t n_blocks;
    const ebb__override
        *over; /* a backend's kernel, where one was asked for and takes the call */
    void *backend;
} harness_direct;
/* Prepares inputs and runs `shape` (or `view`), then `forward` (or a backend's, where `plan`)
 * on outputs, by-products and scratch filled with `fill`. A verdict where guards or inputs
 * changed. */
const char *harness_direct_run(harness_direct *d, const harness_case *c, unsigned char fill,
                               int32_t n_threads, bool plan, bool recompute);
void harness_direct_results(harness_results *r, const harness_direct *d, bool with_aux);
void harness_direct_end(harness_direct *d);

/* ---- the checks -------------------------------------------------------------------------- */
typedef const char *(*harness_check)(const harness_case *c);
const char *harness_check_shape(const harness_case *c);
const char *harness_check_gradient(const harness_case *c);
const char *harness_check_linear(const harness_case *c);
const char *harness_check_need(const harness_case *c);
const char *harness_check_recompute(const harness_case *c);
const char *harness_check_layout(const harness_case *c);
const char *harness_check_lengths(const harness_case *c);
const char *harness_check_failure(const harness_case *c);
const char *harness_check_budget(const harness_case *c);
const char *harness_check_override(const harness_case *c);
const char *harness_check_precision(const harness_case *c);
const char *harness_check_second(const harness_case *c);
const char *harness_check_repeat(const harness_case *c);
const char *harness_check_in_place(const harness_case *c);
const char *harness_check_third(const harness_case *c);

typedef struct harness_kind {
    const char *name;
    harness_check check;
    bool f64_only;
} harness_kind;
extern const harness_kind harness_kinds[];
extern const int32_t harness_n_kinds;

/* Over all samples of an operation: each declared saved value matters for some gradient (`need`
 * is minimal), and each sample is understood. */
const char *harness_check_need_minimal(const ebb_op *op);
/* The descriptor itself: names, sentence, number of samples. */
const char *harness_check_table(const ebb_op *op);

#endif
