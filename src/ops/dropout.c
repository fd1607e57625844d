/* dropout.c - dropout without a mask: which elements fall is drawn again for the gradient.
 *
 * Element i is decided by word i % 4 of block base + i / 4 of the context's generator, so the
 * forward pass, its recomputation and the gradient agree whatever the number of threads.
 * SPDX-License-Identifier: MIT */
#include "ops/dropout.h"

#include "base/philox.h"
#include "ops/kernels/clones.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <stddef.h>

enum { DROPOUT_BLOCKS = 64, DROPOUT_WORDS = 4 * DROPOUT_BLOCKS };

static const ebb_attr_spec dropout_attrs[] = {{"p", EBB_ATTR_F64,
                                               offsetof(ebb__dropout_attr, p), false,
                                               "chance of each element to be 0, in [0, 1]"},
                                              {0}};
static const ebb_attr_spec dropout_grad_attrs[] = {
    {"p", EBB_ATTR_F64, offsetof(ebb__dropout_grad_attr, p), false, NULL},
    {"base", EBB_ATTR_I64, offsetof(ebb__dropout_grad_attr, base), false, NULL},
    {0}};

typedef struct dropout_work {
    const ebb__call *call;
    uint64_t base;
    uint32_t least; /* words from here on keep their element */
    double scale;
} dropout_work;

/* out = x * scale where the word says so. */
#define DROPOUT_ROW(T, name)                                                                   \
    EBB_CLONES static void name(T *restrict out, const T *restrict x,                          \
                                const uint32_t *restrict word, uint32_t least, T scale,        \
                                int64_t n)                                                     \
    {                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                      \
            T kept = x[i] * scale;                                                             \
            out[i] = word[i] >= least ? kept : 0;                                              \
        }                                                                                      \
    }
DROPOUT_ROW(float, dropout_row_f32)
DROPOUT_ROW(double, dropout_row_f64)

static void dropout_blocks(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    (void)part;
    const dropout_work *w = arg;
    const ebb__call *c = w->call;
    int64_t n = ebb__n_elems(&c->out[0].shape);
    uint32_t word[DROPOUT_WORDS];
    for (int64_t block = lo; block < hi; block += DROPOUT_BLOCKS) {
        int64_t blocks = hi - block < DROPOUT_BLOCKS ? hi - block : DROPOUT_BLOCKS;
        int64_t at = 4 * block, count = n - at < 4 * blocks ? n - at : 4 * blocks;
        ebb__philox_fill(word, blocks, c->random_key, w->base + (uint64_t)block);
        if (c->in[0].dtype == EBB_F64)
            dropout_row_f64((double *)c->out[0].data + at, (const double *)c->in[0].data + at,
                            word, w->least, w->scale, count);
        else
            dropout_row_f32((float *)c->out[0].data + at, (const float *)c->in[0].data + at,
                            word, w->least, (float)w->scale, count);
    }
}

static ebb_status dropout_run(const ebb__call *c, double p, uint64_t base)
{
    dropout_work w = {c, base, ebb__dropout_least(p), p < 1 ? 1 / (1 - p) : 0};
    int64_t n_blocks = (ebb__n_elems(&c->out[0].shape) + 3) / 4;
    ebb__parallel(c->n_threads, n_blocks, ebb__grain(8), dropout_blocks, &w);
    return EBB_OK;
}

static ebb_status dropout_shape(ebb__call *c)
{
    double p = *(const double *)c->attr; /* first in both structs */
    EBB_TRY(ebb__shape_same_float(c));
    if (!(p >= 0 && p <= 1)) return ebb__fail(EBB_E_RANGE, "p is %g, it must be in [0, 1]", p);
    return EBB_OK;
}

static ebb_status dropout_draw_shape(ebb__call *c)
{
    c->n_random = ebb__n_elems(&c->in[0].shape);
    return dropout_shape(c);
}

static ebb_status dropout_forward(const ebb__call *c)
{
    return dropout_run(c, ((const ebb__dropout_attr *)c->attr)->p, c->random_base);
}

static void dropout_vjp(ebb_vjp *v)
{
    ebb__dropout_grad_attr attr = {((const ebb__dropout_attr *)v->attr)->p,
                                   (int64_t)v->host->random_base(v)};
    ebb__give(v, 0, EBB_EMIT(v, dropout_grad, &attr, ebb__grad(v, 0)));
}

const ebb_op ebb__op_dropout = {
    EBB_OP_HEAD(dropout),
    .doc = "out = x / (1 - p) where kept, 0 with chance p; always drops: the caller knows "
           "whether it "
           "trains. Nothing is saved: the gradient draws the same elements again.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"x"},
    .attr_bytes = sizeof(ebb__dropout_attr),
    .attrs = dropout_attrs,
    .flags = EBB_OP_RANDOM,
    .bound = EBB_BOUND_MEMORY,
    .shape = dropout_draw_shape,
    .forward = dropout_forward,
    .vjp = dropout_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "p=0.5"}, {.in = {""}, .attr = "p=0.1"},
                {.in = {"0x3"}, .attr = "p=0.5"}, {.in = {"5x7"}, .attr = "p=0"}),
};

static ebb_status dropout_grad_forward(const ebb__call *c)
{
    const ebb__dropout_grad_attr *a = c->attr;
    return dropout_run(c, a->p, (uint64_t)a->base);
}

static void dropout_grad_vjp(ebb_vjp *v)
{
    ebb__give(v, 0, EBB_EMIT(v, dropout_grad, v->attr, ebb__grad(v, 0)));
}

/* RANDOM for the key; it draws nothing new. */
const ebb_op ebb__op_dropout_grad = {
    EBB_OP_HEAD(dropout_grad),
    .doc = "dx = g / (1 - p) where the dropout that drew from counter `base` kept x, else 0.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"g"},
    .attr_bytes = sizeof(ebb__dropout_grad_attr),
    .attrs = dropout_grad_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_RANDOM,
    .bound = EBB_BOUND_MEMORY,
    .shape = dropout_shape,
    .forward = dropout_grad_forward,
    .vjp = dropout_grad_vjp,
    EBB_SAMPLES({.in = {"3x4"}, .attr = "p=0.5 base=0"}, {.in = {""}, .attr = "p=0.1 base=7"},
                {.in = {"5x7"}, .attr = "p=0.3 base=1000"}),
};
