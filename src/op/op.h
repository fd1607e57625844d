/* op.h - what an operation is: one constant descriptor beside its code.
 *
 * Adding an operation: write its descriptor in src/ops/FAMILY.c and one line in
 * src/ops/ops.def. Everything else (ebb/ops.h, docs/ops.md, tests) is derived from the table.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_OP_OP_H
#define EBB_OP_OP_H

#include "base/error.h"
#include "tensor/layout.h"

#include <ebb/axes.h>
#include <ebb/custom.h>
#include <ebb/modes.h>

typedef struct ebb_op ebb_op;
typedef struct ebb__call ebb__call;

enum { EBB__MAX_IN = 8, EBB__MAX_OUT = 8, EBB__MAX_AUX = 4 };

/* ---- attributes: a struct of the operation's, described for the generator and for tests ---- */
typedef enum ebb_attr_kind {
    EBB_ATTR_F64 = 1,  /* double */
    EBB_ATTR_I64,      /* int64_t */
    EBB_ATTR_BOOL,     /* bool; only in options */
    EBB_ATTR_PAIR,     /* int64_t[2] */
    EBB_ATTR_F64_PAIR, /* double[2] */
    EBB_ATTR_SHAPE,    /* ebb_shape */
    EBB_ATTR_AXES,     /* ebb_axes */
    EBB_ATTR_DTYPE,    /* ebb_dtype */
    EBB_ATTR_TRIPLE,   /* int64_t[3] */
    EBB_ATTR_STRING    /* const char *; of composed operations only: nothing keeps it */
} ebb_attr_kind;
typedef struct ebb_attr_spec {
    const char *name;
    ebb_attr_kind kind;
    uint16_t offset; /* in the attribute struct */
    bool option; /* a member of the options struct; else positional, in order, after the tensors
                  */
    const char *doc; /* one phrase: units, default ("0: 1e-5") */
} ebb_attr_spec;
/* The options struct is the first part of the attribute struct, member for member (the
 * generated code asserts it); zero is the default of every member: the kernel or rule resolves
 * it. */

/* ---- one application --------------------------------------------------------------------- */
struct ebb__call {
    const ebb_op *op;
    ebb_context *ctx;
    const void *attr;
    int32_t n_in, n_out, n_aux; /* variadic: as given / as asked for */
    /* An absent optional input has dtype 0. In `shape` data is NULL unless EBB_OP_VALUE_SHAPE.
     */
    ebb_view *in;
    ebb_view *out; /* n_out outputs, then n_aux by-products; shape writes dtype and shape */
    size_t
        scratch_bytes; /* written by shape (or a backend's plan); 64-byte aligned in forward */
    void *scratch;
    int64_t n_random; /* written by shape of a random operation: 32-bit draws it needs */
    uint64_t random_key, random_base; /* Philox key; first of ceil(n_random / 4) counters */
    int32_t n_threads;                /* the kernel may use */
    bool recompute;                   /* a stateful operation leaves its state alone */
    bool over;                        /* EBB_OP_OVER: it writes in[1] instead of in[0] */
    bool records; /* a gradient is wanted: by-products will be kept (else they are temporary) */
    const void *plan; /* a backend's, chosen at plan time; NULL: reference kernel */
};

typedef enum ebb_bound { EBB_BOUND_MEMORY = 1, EBB_BOUND_COMPUTE } ebb_bound;
typedef struct ebb_cost {
    double flop, bytes;
} ebb_cost;

enum ebb_op_flag {
    EBB_OP_BROADCAST = 1u << 0,    /* inputs broadcast as in NumPy: views arrive in the output's
                                      shape with stride 0; the engine sums gradients back.
                                      Inputs of several dtypes are promoted */
    EBB_OP_VIEW = 1u << 1,         /* metadata only: `view` instead of `forward` */
    EBB_OP_RANDOM = 1u << 2,       /* reads random_key and random_base */
    EBB_OP_STATEFUL = 1u << 3,     /* writes inputs named by `writes` unless recompute */
    EBB_OP_PRIVATE = 1u << 4,      /* no public function */
    EBB_OP_VARIADIC_IN = 1u << 5,  /* the last of n_in is a list of >= 1 tensors */
    EBB_OP_VARIADIC_OUT = 1u << 6, /* n_out outputs as shape says (public: an out-array) */
    EBB_OP_VALUE_SHAPE = 1u << 7,  /* shape reads values (nonzero) */
    EBB_OP_CREATE = 1u << 8, /* no tensor inputs: takes a context, dtype and shape attributes */
    EBB_OP_STRIDED = 1u << 9, /* the kernel takes any strides; else the engine passes
                                 contiguous inputs (copying where they are not) */
    EBB_OP_NO_RECOMPUTE = 1u << 10,
    EBB_OP_INTEGER = 1u << 11, /* the outputs are never differentiable (argmax, comparisons) */
    EBB_OP_ALIAS_SAFE = 1u << 12, /* elementwise: out may be one of the inputs' bytes */
    EBB_OP_MOVES = 1u << 13,      /* the kernel only moves elements, of any size: f16 and bf16
                                     are not widened for it */
    EBB_OP_PROMOTES = 1u << 14, /* inputs that do not broadcast are promoted all the same; of a
                                     formula: before it sees them (no lists) */
    EBB_OP_IN_PLACE = 1u << 15, /* ebb_NAME_ puts the result in the place of input 0, as every
                                     elementwise operation has it */
    EBB_OP_FLOATS = 1u << 17, /* with PROMOTES: whole numbers are taken as f32, as where `shape`
                                     is ebb__shape_floats */
    EBB_OP_OVER =
        1u << 18, /* writes input 0, f32 or f64; where its old content stays for others
                               and input 1 is nobody else's, the kernel puts the new one there */
    EBB_OP_OVER_FIRST =
        1u << 19, /* the first result may be the first input's bytes; so may that of whatever is
                     ALIAS_SAFE */
    EBB_OP_SHORT = 1u << 16 /* ebb_NAME leaves all options at their defaults, ebb_NAME_with
                                     takes them */
};

/* One line of the table-driven tests. in[i]: dtype and shape, "3x4", "i64:5<10" (values in [0,
 * 10)), "bool:3x4", "f32:2" (fixed dtype; plain floats run in f64 and f32), "3x3+4" (4 added on
 * the diagonals of the last two axes), "" a scalar, "0x3" empty, "-" EBB_NONE. attr:
 * "axis=-2 keep=1 shape=2x3 stride=2,1". n_out for variadic outputs. */
typedef struct ebb_sample {
    const char *in[EBB__MAX_IN];
    const char *attr;
    int32_t n_out;
} ebb_sample;

struct ebb_op {
    /* identity: the same word in C (ebb_NAME), messages and docs; id indexes the registry */
    const char *name;
    int32_t id;
    const char *doc; /* one sentence with the formula */

    /* interface */
    uint8_t n_in, n_out, n_aux;
    uint8_t optional; /* bit i: input i may be EBB_NONE */
    const char *arg[EBB__MAX_IN];
    const char *result[EBB__MAX_OUT]; /* names of several outputs: "values", "indices" */
    uint16_t attr_bytes, options_bytes;
    const ebb_attr_spec *attrs; /* name NULL ends */
    const char *options;        /* "conv2d": the struct is ebb_conv2d_options; may be shared */
    uint32_t flags;
    uint8_t writes;     /* bit i: input i is written in place (a storage write) */
    uint8_t keep_dtype; /* bit i: input i takes no part in promotion (a mask) */

    /* what the memory planner may assume */
    ebb_bound bound;
    ebb_cost (*cost)(const ebb__call *c); /* NULL: bytes moved */
    uint32_t need[EBB__MAX_IN]; /* EBB_NEED_IN(j) | EBB_NEED_OUT(k) | EBB_NEED_AUX(k) */

    /* behaviour */
    ebb_status (*shape)(ebb__call *c);         /* checks; allocates nothing */
    ebb_status (*forward)(const ebb__call *c); /* the reference kernel; allocates nothing */
    /* EBB_OP_VIEW: dtype, shape, strides of out within in[0]; *offset, in elements from in[0]'s
     * first, is 0 on entry. *copy = true asks for a contiguous copy of in[0] (and another
     * call). */
    ebb_status (*view)(ebb_view *out, int64_t *offset, bool *copy, const ebb__call *c);
    void (*vjp)(ebb_vjp *v);          /* NULL: not differentiable */
    void (*vjp_composed)(ebb_vjp *v); /* under create_graph, where vjp reads a
                                         floating by-product or emits what has no rule */
    /* Instead of shape and forward: a formula of other operations; has no node of its own.
     * Returns status through v; writes n_out results. */
    void (*compose)(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                    const void *attr);

    /* evidence */
    struct {
        double lo, hi, kink; /* inputs from [lo, hi], not within 1e-2 of kink; zeros: [-2, 2] */
    } range[EBB__MAX_IN];
    const ebb_sample *samples; /* in[0] NULL (or attr for CREATE) ends */
    int32_t n_samples;
};
#define EBB_SAMPLES(...)                                                                       \
    .samples = (const ebb_sample[]){__VA_ARGS__},                                              \
    .n_samples = (int32_t)(sizeof((const ebb_sample[]){__VA_ARGS__}) / sizeof(ebb_sample))

/* ---- inside a rule ---------------------------------------------------------------------------
 *
 * Errors are sticky: emit of NULL is NULL, the rule needs no plumbing. Tensors belong to the rule.
 * A rule reaches only what `need` declared for the inputs that want a gradient. */
typedef struct ebb__vjp_host ebb__vjp_host; /* the engine's side */
struct ebb_vjp {
    const ebb_op *op;
    const void *attr;
    ebb_context *ctx;
    int32_t n_in, n_out;
    ebb_status status; /* sticky */
    const ebb__vjp_host *host;
    ebb_tensor *last; /* see ebb__grad_last */
    void *state;      /* the engine's */
};
struct ebb__vjp_host {
    ebb_tensor *(*grad)(ebb_vjp *v, int32_t k);
    ebb_tensor *(*in)(ebb_vjp *v, int32_t i);
    ebb_tensor *(*out)(ebb_vjp *v, int32_t k);
    ebb_tensor *(*aux)(ebb_vjp *v, int32_t k);
    bool (*wants)(ebb_vjp *v, int32_t i);
    void (*give)(ebb_vjp *v, int32_t i, ebb_tensor *g);
    ebb_shape (*in_shape)(ebb_vjp *v, int32_t i); /* of any input, needed or not */
    ebb_dtype (*in_dtype)(ebb_vjp *v, int32_t i);
    void (*emit)(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                 ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);
    uint64_t (*random_base)(ebb_vjp *v); /* the counter the forward drew from */
};
/* The gradient of output k; EBB_NONE where nobody used it (never for a single output). */
static inline ebb_tensor *ebb__grad(ebb_vjp *v, int32_t k)
{
    return v->host->grad(v, k);
}
/* The same for the rule's last look at it, and nothing that it gives is that gradient: the operation
 * emitted next, whose first input it is, may put its result there. */
static inline ebb_tensor *ebb__grad_last(ebb_vjp *v, int32_t k)
{
    return v->last = v->host->grad(v, k);
}
static inline ebb_tensor *ebb__in(ebb_vjp *v, int32_t i)
{
    return v->host->in(v, i);
}
static inline ebb_tensor *ebb__out(ebb_vjp *v, int32_t k)
{
    return v->host->out(v, k);
}
static inline ebb_tensor *ebb__aux(ebb_vjp *v, int32_t k)
{
    return v->host->aux(v, k);
}
static inline bool ebb__wants(ebb_vjp *v, int32_t i)
{
    return v->host->wants(v, i);
}
static inline void ebb__give(ebb_vjp *v, int32_t i, ebb_tensor *g)
{
    v->host->give(v, i, g);
}
static inline ebb_shape ebb__in_shape(ebb_vjp *v, int32_t i)
{
    return v->host->in_shape(v, i);
}
static inline ebb_dtype ebb__in_dtype(ebb_vjp *v, int32_t i)
{
    return v->host->in_dtype(v, i);
}
/* Is there an ebb_NAME_: where the first input may be written in place of the result. */
static inline bool ebb__op_in_place(const ebb_op *op)
{
    if (op->flags & EBB_OP_IN_PLACE) return true;
    uint32_t other = EBB_OP_PRIVATE | EBB_OP_INTEGER | EBB_OP_VARIADIC_IN | EBB_OP_VARIADIC_OUT;
    return op->flags & EBB_OP_ALIAS_SAFE && !(op->flags & other) && op->n_out == 1 &&
           op->n_in > 0 && !(op->keep_dtype & 1) && !op->writes;
}
/* One result. attr is copied; NULL where the operation has none. */
ebb_tensor *ebb__emit(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                      ebb_tensor *const *in);
/* EBB_EMIT(v, mul, NULL, g, y): any number of tensors. EBB_EMIT(v, sum, &attr, x). */
#define EBB_EMIT(v, name, attr, ...)                                                           \
    ebb__emit(v, &ebb__op_##name, attr,                                                        \
              (int32_t)(sizeof((ebb_tensor *[]){__VA_ARGS__}) / sizeof(ebb_tensor *)),         \
              (ebb_tensor *[]){__VA_ARGS__})
/* Several results, all NULL on failure. */
void ebb__emit_n(ebb_vjp *v, const ebb_op *op, const void *attr, int32_t n_in,
                 ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);

/* ---- shape rules shared by families ------------------------------------------------------ */
ebb_status ebb__shape_same(ebb__call *c);        /* out = in[0]'s dtype and shape */
ebb_status ebb__shape_same_float(ebb__call *c);  /* the same, in[0] floating */
ebb_status ebb__shape_broadcast_n(ebb__call *c); /* all inputs broadcast, one common dtype */
/* The same, floating; where it is an operation's rule the engine casts whole numbers to f32. */
ebb_status ebb__shape_floats(ebb__call *c);
/* "x is f32 (2, 3), y is i64 (3): ..." pieces for messages. */
const char *ebb__view_text(char *buffer, size_t size, const ebb_view *v);

/* ---- axes attribute ---------------------------------------------------------------------- */
/* Marks reduced axes; EBB_ALL, and n == 0 without `all`, mean every axis. E_RANGE. */
ebb_status ebb__axes_resolve(bool reduced[EBB_MAX_DIMS], const struct ebb_axes *a,
                             int64_t rank);
ebb_status ebb__axes_shape(ebb_shape *out, const ebb_shape *in,
                           const bool reduced[EBB_MAX_DIMS], bool keep);

/* ---- registry: the table, and kernels that override reference ones by name --------------- */
/* plan looks at shapes (data NULL), may set scratch_bytes and plan, and returns false to leave
 * the call to the reference kernel. It may create and cache primitives. */
typedef struct ebb__override {
    const char *name;
    bool (*plan)(ebb__call *c, void *backend);
    ebb_status (*forward)(const ebb__call *c, void *backend);
} ebb__override;
typedef struct ebb__backend {
    const char *name;
    ebb_status (*create)(void **backend, ebb_context *root);
    void (*destroy)(void *backend);
    const ebb__override *overrides; /* name NULL ends */
} ebb__backend;
typedef struct ebb__registry ebb__registry;
/* table: n descriptors, id i at position i. E_INTERNAL where a descriptor or an override's name
 * is unsound. Sets root->registry. */
ebb_status ebb__registry_create(ebb_context *root, const ebb_op *const *table, int32_t n);
ebb_status ebb__registry_add(ebb_context *root, const ebb__backend *backend);
void ebb__registry_destroy(ebb_context *root);
const ebb_op *ebb__registry_find(const ebb__registry *r, const char *name);
const ebb_op *ebb__registry_at(const ebb__registry *r, int32_t id);
int32_t ebb__registry_count(const ebb__registry *r);
/* Chooses: sets c->plan and scratch through an override where one takes the call. */
const ebb__override *ebb__registry_plan(const ebb__registry *r, ebb__call *c, void **backend);
/* How layers above op (optimizers) and the engine's own rules run an operation: the engine sets
 * the function when it is created. Semantics: ebb__run in autodiff/engine.h. */
typedef ebb_status (*ebb__run_fn)(ebb_context *ctx, const ebb_op *op, const void *attr,
                                  int32_t n_in, ebb_tensor *const *in, int32_t n_out,
                                  ebb_tensor **out);
typedef bool (*ebb__over_fn)(const ebb_op *op, ebb_tensor *const *in);
void ebb__registry_set_run(ebb_context *root, ebb__run_fn run, ebb__over_fn over);
/* By name, from a context; NULL where there is none. */
const ebb_op *ebb__op_find(const ebb_context *ctx, const char *name);
/* Would the kernel find its input 0 left as it is, see EBB_OP_OVER: then the write asks for nothing. */
bool ebb__op_goes_over(ebb_context *ctx, const ebb_op *op, ebb_tensor *const *in);
ebb_status ebb__op_run(ebb_context *ctx, const ebb_op *op, const void *attr, int32_t n_in,
                       ebb_tensor *const *in, int32_t n_out, ebb_tensor **out);

#endif
