/* call.c - driving one operation's kernels; call.h says how.
 * SPDX-License-Identifier: MIT */
#include "backend/call.h"

#include "ops/ids.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { GUARD_BYTE = 0xa5 };

static void *guarded(size_t bytes)
{
    size_t all = (bytes + 2 * CALL_GUARD + 63) & ~(size_t)63;
    unsigned char *p = aligned_alloc(64, all);
    assert_non_null(p);
    memset(p, GUARD_BYTE, all);
    return p + CALL_GUARD;
}

static void guards_check(const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (int i = 1; i <= CALL_GUARD; i++) {
        assert_int_equal(p[-i], GUARD_BYTE);
        assert_int_equal(p[bytes + (size_t)i - 1], GUARD_BYTE);
    }
}

static void guarded_free(void *data)
{
    if (data) free((char *)data - CALL_GUARD);
}

const ebb_op *call_op(const char *name)
{
    for (int i = 0; i < EBB__N_OPS; i++)
        if (strcmp(ebb__op_table[i]->name, name) == 0) return ebb__op_table[i];
    fail_msg("there is no operation %s", name);
    return NULL;
}

static void attributes_set(call *k, const subject *s)
{
    const ebb_op *op = k->c.op;
    k->attr = calloc(1, op->attr_bytes ? op->attr_bytes : 1);
    k->c.attr = k->attr;
    for (int i = 0; i < CALL_MAX_ATTRS && s->attr[i].name; i++) {
        const ebb_attr_spec *spec = op->attrs;
        while (spec->name && strcmp(spec->name, s->attr[i].name) != 0) spec++;
        assert_non_null(spec->name);
        void *at = (char *)k->attr + spec->offset;
        const int64_t *value = s->attr[i].value;
        if (spec->kind == EBB_ATTR_SHAPE)
            *(ebb_shape *)at = EBB_SHAPE(value[0], value[1], value[2], value[3]);
        else
            memcpy(at, value,
                   spec->kind == EBB_ATTR_PAIR     ? 16
                   : spec->kind == EBB_ATTR_TRIPLE ? 24
                   : spec->kind == EBB_ATTR_BOOL   ? sizeof(bool)
                                                   : 8);
    }
}

/* Numbers in [-1, 1) that f32 holds exactly, from a splitmix64 sequence. */
static double number(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)(int64_t)((z ^ z >> 31) >> 44) / 524288.0 - 1.0;
}

static void operand_init(ebb_view *v, void **memory, const operand *o, ebb_dtype dtype,
                         uint64_t seed)
{
    *v = (ebb_view){0};
    *memory = NULL;
    if (o->rank < 0) return;
    v->dtype = dtype;
    v->shape.n_dims = o->rank;
    memcpy(v->shape.dims, o->dims, sizeof o->dims);
    ebb__view_contiguous(v);
    if (o->rank > 1 && o->order[0] != o->order[1]) {
        int64_t stride = 1;
        for (int64_t i = o->rank; i-- > 0;) {
            v->strides[o->order[i]] = stride;
            stride *= o->dims[o->order[i]];
        }
    }
    int64_t n = ebb__n_elems(&v->shape);
    v->data = *memory = guarded((size_t)n * ebb__dtype_size(dtype));
    for (int64_t i = 0; i < n; i++) {
        double value = number(&seed);
        if (o->is_positive) value = 1 + value / 2;
        if (dtype == EBB_F64)
            ((double *)v->data)[i] = value;
        else
            ((float *)v->data)[i] = (float)value;
    }
}

void call_init(call *k, const subject *s, ebb_dtype dtype, int32_t n_threads, uint64_t seed)
{
    *k = (call){0};
    const ebb_op *op = call_op(s->op);
    k->c = (ebb__call){.op = op, .n_in = op->n_in, .n_out = op->n_out, .n_aux = op->n_aux};
    k->c.in = k->in;
    k->c.out = k->out;
    k->c.n_threads = n_threads;
    k->c.records = true;
    attributes_set(k, s);
    for (int i = 0; i < k->c.n_in; i++)
        operand_init(&k->in[i], &k->memory[i], &s->in[i], dtype, seed + (uint64_t)i * 1000);
    if (op->shape(&k->c) != EBB_OK) fail_msg("%s", ebb_error_message());
    for (int i = 0; i < k->c.n_out + k->c.n_aux; i++) {
        ebb__view_contiguous(&k->out[i]);
        k->out_bytes[i] =
            (size_t)ebb__n_elems(&k->out[i].shape) * ebb__dtype_size(k->out[i].dtype);
        k->out[i].data = k->memory[CALL_MAX_IN + i] = guarded(k->out_bytes[i]);
    }
}

void call_destroy(call *k)
{
    for (int i = 0; i < CALL_MAX_IN + CALL_MAX_OUT; i++) guarded_free(k->memory[i]);
    guarded_free(k->scratch);
    free(k->attr);
}

void call_run(call *k, const ebb__override *override, void *backend)
{
    guarded_free(k->scratch);
    k->scratch = guarded(k->c.scratch_bytes);
    k->c.scratch = k->scratch;
    ebb_status s = override ? override->forward(&k->c, backend) : k->c.op->forward(&k->c);
    if (s != EBB_OK) fail_msg("%s", ebb_error_message());
    guards_check(k->scratch, k->c.scratch_bytes);
    for (int i = 0; i < k->c.n_out + k->c.n_aux; i++)
        guards_check(k->out[i].data, k->out_bytes[i]);
}

static double element(const ebb_view *v, int64_t i)
{
    if (v->dtype == EBB_F64) return ((const double *)v->data)[i];
    return (double)((const float *)v->data)[i];
}

double call_error(const call *got, const call *want)
{
    double worst = 0;
    for (int k = 0; k < want->c.n_out + want->c.n_aux; k++) {
        const ebb_view *a = &got->out[k], *b = &want->out[k];
        double top = 1e-30;
        int64_t n = ebb__n_elems(&b->shape);
        for (int64_t i = 0; i < n; i++) top = fmax(top, fabs(element(b, i)));
        for (int64_t i = 0; i < n; i++) {
            double error = fabs(element(a, i) - element(b, i)) / top;
            worst = error <= worst ? worst : error;
        }
    }
    return worst;
}
