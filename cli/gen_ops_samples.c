/* gen_ops_samples.c - what an operation makes of its first sample: shapes, and what that costs.
 *
 * The descriptor's own shape rule and cost are asked; a sample that they do not answer without
 * values is shown by its inputs alone.
 * SPDX-License-Identifier: MIT */
#include "gen_ops.h"

#include <stdlib.h>
#include <string.h>

enum { ATTR_BYTES = 512, MAX_VIEWS = 64 };

typedef struct trial {
    ebb__call call;
    ebb_view in[MAX_VIEWS], out[MAX_VIEWS];
    _Alignas(16) unsigned char attr[ATTR_BYTES];
    char words[200]; /* attributes may point into it */
} trial;

static bool dtype_of(ebb_dtype *out, const char *text, size_t length)
{
    for (int d = EBB_F32; d < 32; d++) {
        const char *name = ebb_dtype_name((ebb_dtype)d);
        if (strlen(name) != length || memcmp(name, text, length) != 0) continue;
        *out = (ebb_dtype)d;
        return true;
    }
    return false;
}

/* "3x4" or "3,4" up to the end or to a '<'. */
static int64_t ints_of(int64_t *out, const char *text)
{
    int64_t n = 0;
    while (*text && *text != '<' && n < EBB_MAX_DIMS) {
        char *end;
        out[n] = strtoll(text, &end, 10);
        if (end == text) break;
        n++;
        text = *end == 'x' || *end == ',' ? end + 1 : end;
    }
    return n;
}

static bool input_parse(ebb_view *v, const char *text)
{
    const char *colon = strchr(text, ':');
    *v = (ebb_view){.dtype = EBB_F32};
    if (strcmp(text, "-") == 0) {
        v->dtype = (ebb_dtype)0;
        return true;
    }
    if (colon && !dtype_of(&v->dtype, text, (size_t)(colon - text))) return false;
    v->shape.n_dims = ints_of(v->shape.dims, colon ? colon + 1 : text);
    ebb__view_contiguous(v);
    return true;
}

static bool attr_parse(void *to, const ebb_attr_spec *spec, const char *text)
{
    int64_t ints[EBB_MAX_DIMS] = {0}, n = ints_of(ints, text);
    char *end;
    switch (spec->kind) {
    case EBB_ATTR_F64:
        *(double *)to = strtod(text, &end);
        return true;
    case EBB_ATTR_F64_PAIR:
        ((double *)to)[0] = strtod(text, &end);
        ((double *)to)[1] = *end ? strtod(end + 1, NULL) : 0;
        return true;
    case EBB_ATTR_DTYPE:
        return dtype_of(to, text, strlen(text));
    case EBB_ATTR_STRING:
        *(const char **)to = text;
        return true;
    case EBB_ATTR_AXES:
        if (strcmp(text, "all") == 0) {
            ((ebb_axes *)to)->all = true;
            return true;
        }
        ((ebb_axes *)to)->n = n;
        memcpy(((ebb_axes *)to)->axis, ints, sizeof ints);
        return true;
    case EBB_ATTR_SHAPE:
        *(ebb_shape *)to = ebb_shape_of(ints, n);
        return true;
    case EBB_ATTR_I64:
        *(int64_t *)to = ints[0];
        return true;
    case EBB_ATTR_BOOL:
        *(bool *)to = ints[0] != 0;
        return true;
    case EBB_ATTR_PAIR:
        ((int64_t *)to)[0] = ints[0];
        ((int64_t *)to)[1] = n > 1 ? ints[1] : ints[0];
        return true;
    case EBB_ATTR_TRIPLE:
        memcpy(to, ints, 3 * sizeof *ints);
        return true;
    }
    return false;
}

static bool attrs_parse(trial *t, const ebb_op *op, const char *text)
{
    if (op->attr_bytes > ATTR_BYTES) return false;
    snprintf(t->words, sizeof t->words, "%s", text ? text : "");
    char *rest = t->words;
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        char *value = strchr(word, '=');
        if (!value) return false;
        *value++ = 0;
        const ebb_attr_spec *spec = op->attrs, *axes = NULL;
        for (; spec && spec->name && strcmp(spec->name, word) != 0; spec++)
            if (spec->kind == EBB_ATTR_AXES) axes = spec;
        if (spec && spec->name) {
            if (!attr_parse(t->attr + spec->offset, spec, value)) return false;
        } else if (axes && strcmp(word, "keep") == 0) {
            ((ebb_axes *)(void *)(t->attr + axes->offset))->keep = value[0] != '0';
        } else {
            return false;
        }
    }
    return true;
}

static bool trial_make(trial *t, const ebb_op *op, const ebb_sample *sample)
{
    memset(t, 0, sizeof *t);
    ebb__call *c = &t->call;
    c->op = op;
    c->in = t->in;
    c->out = t->out;
    c->attr = t->attr;
    c->n_threads = 1;
    c->records = true;
    c->n_out = op->flags & EBB_OP_VARIADIC_OUT ? sample->n_out : op->n_out;
    c->n_aux = op->n_aux;
    if (c->n_out + c->n_aux > MAX_VIEWS) return false;
    while (c->n_in < EBB__MAX_IN && sample->in[c->n_in]) {
        if (!input_parse(&t->in[c->n_in], sample->in[c->n_in])) return false;
        c->n_in++;
    }
    return attrs_parse(t, op, sample->attr);
}

/* Does the descriptor say without values what comes out. */
static bool results_known(trial *t)
{
    const ebb_op *op = t->call.op;
    int64_t offset = 0;
    bool copy = false;
    if (op->compose || op->flags & EBB_OP_VALUE_SHAPE) return false;
    if (!(op->flags & EBB_OP_VIEW)) return op->shape(&t->call) == EBB_OK;
    t->out[0].dtype = t->in[0].dtype;
    return op->view(&t->out[0], &offset, &copy, &t->call) == EBB_OK;
}

static void views_write(FILE *f, const ebb_view *v, int32_t n)
{
    char text[EBB__SHAPE_TEXT];
    for (int32_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", f);
        if (v[i].dtype == 0)
            fputs("none", f);
        else
            fprintf(f, "%s%s%s", v[i].dtype == EBB_F32 ? "" : ebb_dtype_name(v[i].dtype),
                    v[i].dtype == EBB_F32 ? "" : " ",
                    ebb__shape_text(text, sizeof text, &v[i].shape));
    }
    if (n == 0) fputs("nothing", f);
}

/* Bytes that go in and out, where the descriptor has no estimate of its own. */
static ebb_cost cost_of(const ebb__call *c)
{
    if (c->op->cost) return c->op->cost(c);
    ebb_cost cost = {0};
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i].dtype) cost.bytes += (double)ebb__view_bytes(&c->in[i]);
    for (int32_t k = 0; k < c->n_out; k++) cost.bytes += (double)ebb__view_bytes(&c->out[k]);
    return cost;
}

void gen_write_sample(FILE *f, const ebb_op *op)
{
    static trial t;
    for (int32_t s = 0; s < op->n_samples; s++) {
        const ebb_sample *sample = &op->samples[s];
        ebb_error_clear();
        if (!trial_make(&t, op, sample)) continue;
        bool known = results_known(&t);
        if (!known && !op->compose && !(op->flags & EBB_OP_VALUE_SHAPE)) continue;
        fputs("* shapes: ", f);
        views_write(f, t.in, t.call.n_in);
        if (sample->attr) fprintf(f, " with %s", sample->attr);
        if (known) {
            fputs(" give ", f);
            views_write(f, t.out, t.call.n_out);
        }
        fputc('\n', f);
        if (!known || op->flags & EBB_OP_VIEW) return;
        ebb_cost cost = cost_of(&t.call);
        fprintf(f, "* cost there: ");
        if (cost.flop > 0) fprintf(f, "%.0f flop, ", cost.flop);
        fprintf(f, "%.0f bytes read and written\n", cost.bytes);
        return;
    }
}
