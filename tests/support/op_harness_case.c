/* op_harness_case.c - a case of the table-driven tests from a sample's text: shapes, attributes
 * and input values away from kinks and ties.
 * SPDX-License-Identifier: MIT */
#include "support/op_harness.h"

#include "base/half.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const HARNESS_SKIP = "does not apply";

/* ---- values ------------------------------------------------------------------------------ */
bool harness_value_make(harness_value *v, ebb_dtype d, const ebb_shape *s)
{
    *v = (harness_value){.dtype = d, .shape = *s, .n = ebb__n_elems(s)};
    v->x = calloc(v->n > 0 ? (size_t)v->n : 1, sizeof *v->x);
    return v->x != NULL;
}

bool harness_value_copy(harness_value *v, const harness_value *from)
{
    if (from->absent) {
        *v = *from;
        return true;
    }
    if (!harness_value_make(v, from->dtype, &from->shape)) return false;
    memcpy(v->x, from->x, (size_t)from->n * sizeof *v->x);
    return true;
}

void harness_value_free(harness_value *v)
{
    free(v->x);
    v->x = NULL;
}

void harness_value_round(harness_value *v)
{
    for (int64_t i = 0; i < v->n; i++) {
        float x = (float)v->x[i];
        if (v->dtype == EBB_F32) v->x[i] = x;
        if (v->dtype == EBB_F16) v->x[i] = ebb__f16_to_float(ebb__f16_of_float(x));
        if (v->dtype == EBB_BF16) v->x[i] = ebb__bf16_to_float(ebb__bf16_of_float(x));
    }
}

void harness_value_random(harness_value *v, uint64_t seed)
{
    numeric_random r = {seed};
    for (int64_t i = 0; i < v->n; i++) v->x[i] = numeric_uniform(&r, -1, 1);
    harness_value_round(v);
}

void harness_results_free(harness_results *r)
{
    for (int32_t k = 0; k < r->n; k++) harness_value_free(&r->value[k]);
    r->n = 0;
}

static const char *shape_text(char *buffer, const ebb_shape *s)
{
    int at = snprintf(buffer, 100, "(");
    for (int64_t i = 0; i < s->n_dims && i < EBB_MAX_DIMS && at < 80; i++)
        at += snprintf(buffer + at, 24, i ? ", %lld" : "%lld", (long long)s->dims[i]);
    snprintf(buffer + at, 2, ")");
    return buffer;
}

const char *harness_compare(const char *what, const harness_results *a,
                            const harness_results *b, double tolerance)
{
    char one[100], two[100];
    if (a->n != b->n) return verdict("%s: %d results, %d expected", what, a->n, b->n);
    for (int32_t k = 0; k < a->n; k++) {
        const harness_value *x = &a->value[k], *y = &b->value[k];
        if (x->absent && y->absent) continue;
        if (x->absent != y->absent) return verdict("%s: result %d is absent", what, k);
        if (memcmp(&x->shape.n_dims, &y->shape.n_dims, sizeof x->shape.n_dims) != 0 ||
            memcmp(x->shape.dims, y->shape.dims,
                   (size_t)x->shape.n_dims * sizeof x->shape.dims[0]) != 0)
            return verdict("%s: result %d is %s, %s expected", what, k,
                           shape_text(one, &x->shape), shape_text(two, &y->shape));
        int64_t at = -1;
        if (tolerance > 0)
            at = numeric_difference_rms(x->x, y->x, x->n, tolerance);
        else
            for (int64_t i = x->n - 1; i >= 0; i--)
                if (memcmp(&x->x[i], &y->x[i], sizeof x->x[i]) != 0 &&
                    !(isnan(x->x[i]) && isnan(y->x[i])))
                    at = i;
        if (at >= 0)
            return verdict("%s: result %d, element %lld is %.17g, %.17g expected", what, k,
                           (long long)at, x->x[at], y->x[at]);
    }
    return NULL;
}

/* The place of element i (C order) in a view, in elements from data. */
static int64_t element_offset(const ebb_view *v, int64_t i)
{
    int64_t offset = 0;
    for (int64_t d = v->shape.n_dims - 1; d >= 0; d--) {
        offset += i % v->shape.dims[d] * v->strides[d];
        i /= v->shape.dims[d];
    }
    return offset;
}

void harness_store(const ebb_view *v, const double *x)
{
    int64_t n = ebb__n_elems(&v->shape);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = element_offset(v, i);
        switch (v->dtype) {
        case EBB_F32:
            ((float *)v->data)[at] = (float)x[i];
            break;
        case EBB_F64:
            ((double *)v->data)[at] = x[i];
            break;
        case EBB_I64:
            ((int64_t *)v->data)[at] = (int64_t)x[i];
            break;
        case EBB_I32:
            ((int32_t *)v->data)[at] = (int32_t)x[i];
            break;
        case EBB_U8:
            ((uint8_t *)v->data)[at] = (uint8_t)x[i];
            break;
        case EBB_BOOL:
            ((uint8_t *)v->data)[at] = x[i] != 0;
            break;
        case EBB_F16:
            ((uint16_t *)v->data)[at] = ebb__f16_of_float((float)x[i]);
            break;
        case EBB_BF16:
            ((uint16_t *)v->data)[at] = ebb__bf16_of_float((float)x[i]);
            break;
        }
    }
}

void harness_load(double *x, const ebb_view *v)
{
    int64_t n = ebb__n_elems(&v->shape);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = element_offset(v, i);
        switch (v->dtype) {
        case EBB_F32:
            x[i] = ((float *)v->data)[at];
            break;
        case EBB_F64:
            x[i] = ((double *)v->data)[at];
            break;
        case EBB_I64:
            x[i] = (double)((int64_t *)v->data)[at];
            break;
        case EBB_I32:
            x[i] = ((int32_t *)v->data)[at];
            break;
        case EBB_U8:
        case EBB_BOOL:
            x[i] = ((uint8_t *)v->data)[at];
            break;
        case EBB_F16:
            x[i] = ebb__f16_to_float(((uint16_t *)v->data)[at]);
            break;
        case EBB_BF16:
            x[i] = ebb__bf16_to_float(((uint16_t *)v->data)[at]);
            break;
        }
    }
}

/* ---- the text of a sample ---------------------------------------------------------------- */
static bool dtype_by_name(ebb_dtype *out, const char *text, size_t length)
{
    for (int d = EBB_F32; d <= EBB_BF16; d++) {
        const char *name = ebb_dtype_name((ebb_dtype)d);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *out = (ebb_dtype)d;
            return true;
        }
    }
    return false;
}

/* "3x4" or "3,4"; true where all of text is that. */
static bool parse_ints(int64_t *out, int64_t *n, int64_t room, const char *text)
{
    for (*n = 0; *text;) {
        char *end;
        if (*n == room) return false;
        out[(*n)++] = strtoll(text, &end, 10);
        if (end == text) return false;
        text = end;
        if (*text && *text != 'x' && *text != ',') return false;
        if (*text) text++;
    }
    return true;
}

/* in: "i64:5<10", "3x3+4". *plain: no element type was named. */
static const char *parse_input(harness_value *v, double *bound, bool *plain, const char *in,
                               ebb_dtype dtype)
{
    char text[64];
    *bound = 0, *plain = false;
    bool absent = strcmp(in, "-") == 0;
    *v = (harness_value){.absent = absent, .dtype = absent ? 0 : dtype};
    if (v->absent) return NULL;
    const char *colon = strchr(in, ':');
    *plain = colon == NULL;
    if (colon && !dtype_by_name(&v->dtype, in, (size_t)(colon - in)))
        return verdict("sample input \"%s\": no such element type", in);
    snprintf(text, sizeof text, "%s", colon ? colon + 1 : in);
    char *less = strchr(text, '<');
    if (less) {
        *bound = strtod(less + 1, NULL);
        *less = 0;
    }
    char *plus = strchr(text, '+');
    double diagonal = plus ? strtod(plus + 1, NULL) : 0;
    if (plus) *plus = 0;
    ebb_shape s = {0};
    if (!parse_ints(s.dims, &s.n_dims, EBB_MAX_DIMS, text))
        return verdict("sample input \"%s\" is not a shape", in);
    if (!harness_value_make(v, v->dtype, &s)) return verdict("no memory");
    v->diagonal = diagonal;
    return NULL;
}

bool harness_case_has_f32_form(const ebb_sample *sample)
{
    bool any = false;
    for (int i = 0; i < EBB__MAX_IN && sample->in[i]; i++)
        any |= strcmp(sample->in[i], "-") != 0 && strchr(sample->in[i], ':') == NULL;
    return any;
}

/* ---- attributes -------------------------------------------------------------------------- */
static const char *parse_attr_value(void *to, const ebb_attr_spec *spec, const char *text)
{
    int64_t ints[EBB_MAX_DIMS] = {0}, n = 0;
    char *end = NULL;
    bool listed = parse_ints(ints, &n, EBB_MAX_DIMS, text);
    switch (spec->kind) {
    case EBB_ATTR_F64:
        *(double *)to = strtod(text, &end);
        return *end ? verdict("attribute %s: \"%s\" is no number", spec->name, text) : NULL;
    case EBB_ATTR_F64_PAIR:
        ((double *)to)[0] = strtod(text, &end);
        if (*end != ',') return verdict("attribute %s: \"%s\" is no pair", spec->name, text);
        ((double *)to)[1] = strtod(end + 1, NULL);
        return NULL;
    case EBB_ATTR_DTYPE:
        if (!dtype_by_name(to, text, strlen(text)))
            return verdict("attribute %s: no element type \"%s\"", spec->name, text);
        return NULL;
    case EBB_ATTR_STRING:
        *(const char **)to = text;
        return NULL;
    case EBB_ATTR_AXES:
        if (strcmp(text, "all") == 0) {
            ((ebb_axes *)to)->all = true;
            return NULL;
        }
        ((ebb_axes *)to)->n = n;
        if (listed) memcpy(((ebb_axes *)to)->axis, ints, (size_t)n * sizeof ints[0]);
        break;
    case EBB_ATTR_SHAPE:
        ((ebb_shape *)to)->n_dims = n;
        if (listed) memcpy(((ebb_shape *)to)->dims, ints, (size_t)n * sizeof ints[0]);
        break;
    case EBB_ATTR_I64:
        *(int64_t *)to = ints[0];
        break;
    case EBB_ATTR_BOOL:
        *(bool *)to = ints[0] != 0;
        break;
    case EBB_ATTR_PAIR:
        ((int64_t *)to)[0] = ints[0];
        ((int64_t *)to)[1] = n > 1 ? ints[1] : ints[0];
        break;
    case EBB_ATTR_TRIPLE:
        for (int64_t i = 0; i < 3; i++) ((int64_t *)to)[i] = i < n ? ints[i] : 0;
        break;
    }
    if (!listed || (n == 0 && spec->kind != EBB_ATTR_SHAPE && spec->kind != EBB_ATTR_AXES))
        return verdict("attribute %s: \"%s\" is not understood", spec->name, text);
    return NULL;
}

static const char *parse_attr(unsigned char *attr, const ebb_op *op, const char *text)
{
    /* The words lie behind the attributes, which may point to them. */
    enum { TEXT_BYTES = 200 };
    char *copy = (char *)attr + HARNESS_ATTR_BYTES - TEXT_BYTES, *rest = copy;
    if (op->attr_bytes > HARNESS_ATTR_BYTES - TEXT_BYTES)
        return verdict("attr_bytes is %u", op->attr_bytes);
    snprintf(copy, TEXT_BYTES, "%s", text ? text : "");
    for (char *word; (word = strtok_r(rest, " ", &rest)) != NULL;) {
        char *value = strchr(word, '=');
        if (!value) return verdict("sample attribute \"%s\" has no value", word);
        *value++ = 0;
        const ebb_attr_spec *spec = op->attrs, *axes = NULL;
        for (; spec && spec->name && strcmp(spec->name, word) != 0; spec++)
            if (spec->kind == EBB_ATTR_AXES) axes = spec;
        if (spec && spec->name) {
            const char *fault = parse_attr_value(attr + spec->offset, spec, value);
            if (fault) return fault;
        } else if (axes && strcmp(word, "keep") == 0) {
            ((ebb_axes *)(void *)(attr + axes->offset))->keep = value[0] != '0';
        } else {
            return verdict("sample attribute \"%s\" is not one of the operation's", word);
        }
    }
    return NULL;
}

/* ---- input values ------------------------------------------------------------------------ */
/* Moves x in [lo, hi] away from the kink without changing the order. */
static double avoid_kink(double x, double lo, double hi, double kink)
{
    const double gap = 0.011;
    if (x >= kink && hi - kink > gap)
        return kink + gap + (x - kink) * (hi - kink - gap) / (hi - kink);
    if (x < kink && kink - lo > gap)
        return kink - gap - (kink - x) * (kink - gap - lo) / (kink - lo);
    return x;
}

/* One value from each of n equal strata of the range in random order, inputs interleaved: no
 * two are close, so maxima do not change hands under the small steps of central differences. */
static void fill_float(const harness_case *c, int32_t i, numeric_random *r)
{
    harness_value *v = (harness_value *)&c->in[i];
    int32_t at = i < c->op->n_in ? i : c->op->n_in - 1;
    double lo = c->op->range[at].lo, hi = c->op->range[at].hi, kink = c->op->range[at].kink;
    if (lo == 0 && hi == 0) lo = -2, hi = 2;
    int64_t *order = calloc((size_t)v->n + 1, sizeof *order);
    for (int64_t k = 0; k < v->n; k++) order[k] = k;
    for (int64_t k = v->n - 1; k > 0; k--) {
        int64_t j = numeric_below(r, k + 1), swap = order[k];
        order[k] = order[j], order[j] = swap;
    }
    for (int64_t k = 0; k < v->n; k++) {
        double share = (i + numeric_uniform(r, 0.3, 0.7)) / c->n_in;
        double x = lo + (hi - lo) * ((double)order[k] + share) / (double)v->n;
        v->x[k] = avoid_kink(x, lo, hi, kink);
    }
    free(order);
    int64_t side = v->diagonal != 0 ? v->shape.dims[v->shape.n_dims - 1] : 0;
    for (int64_t k = 0; k < v->n && side > 0; k++)
        if (k / side % side == k % side) v->x[k] += v->diagonal;
    harness_value_round(v);
}

static void fill_integer(harness_value *v, double bound, numeric_random *r)
{
    for (int64_t k = 0; k < v->n; k++) {
        if (v->dtype == EBB_BOOL)
            v->x[k] = (double)numeric_below(r, 2);
        else if (bound > 0)
            v->x[k] = (double)numeric_below(r, (int64_t)bound);
        else {
            v->x[k] = (double)(1 + numeric_below(r, 5));
            if (v->dtype != EBB_U8 && numeric_below(r, 2)) v->x[k] = -v->x[k];
        }
    }
}

static const char *make_inputs(harness_case *c)
{
    double bound[EBB__MAX_IN] = {0};
    bool plain;
    while (c->n_in < EBB__MAX_IN && c->sample->in[c->n_in]) {
        int32_t i = c->n_in++;
        const char *fault =
            parse_input(&c->in[i], &bound[i], &plain, c->sample->in[i], c->dtype);
        if (fault) return fault;
    }
    for (; c->n_in < c->op->n_in; c->n_in++) {
        if (!(c->op->optional >> c->n_in & 1))
            return verdict("sample names %d inputs, %d needed", c->n_in, c->op->n_in);
        c->in[c->n_in] = (harness_value){.absent = true};
    }
    numeric_random r = {c->seed};
    for (int32_t i = 0; i < c->n_in; i++) {
        harness_value *v = &c->in[i];
        if (v->absent) continue;
        c->has_f32 |= v->dtype == EBB_F32;
        c->wants[i] = ebb__dtype_is_float(v->dtype) && !(c->op->writes >> i & 1);
        if (ebb__dtype_is_float(v->dtype))
            fill_float(c, i, &r);
        else
            fill_integer(v, bound[i], &r);
    }
    return NULL;
}

static void make_name(harness_case *c)
{
    char shapes[120] = "";
    for (int32_t i = 0; i < EBB__MAX_IN && c->sample->in[i]; i++) {
        size_t at = strlen(shapes);
        snprintf(shapes + at, sizeof shapes - at, "%s%s", i ? "," : "",
                 *c->sample->in[i] ? c->sample->in[i] : "()");
    }
    const char *attr = c->sample->attr && *c->sample->attr ? c->sample->attr : NULL;
    snprintf(c->name, sizeof c->name, "%s/%s%s%s/%s", c->op->name, shapes,
             attr && *shapes ? "," : "", attr ? attr : "", ebb_dtype_name(c->dtype));
    for (char *p = c->name; *p; p++)
        if (*p == ' ') *p = ',';
}

const char *harness_case_make(harness_case *c, const ebb_op *op, const ebb_sample *sample,
                              ebb_dtype dtype)
{
    memset(c, 0, sizeof *c);
    c->op = op, c->sample = sample, c->dtype = dtype;
    c->n_out = op->flags & EBB_OP_VARIADIC_OUT ? sample->n_out : op->n_out;
    make_name(c);
    /* The element type is left out: f32 and f64 see the same values up to rounding. */
    char base[200];
    snprintf(base, sizeof base, "%s", c->name);
    *strrchr(base, '/') = 0;
    c->seed = numeric_hash(base);
    if (c->n_out > EBB__MAX_OUT) return verdict("%s: %d outputs", c->name, c->n_out);
    const char *fault = parse_attr(c->attr, op, sample->attr);
    return fault ? fault : make_inputs(c);
}

void harness_case_free(harness_case *c)
{
    for (int32_t i = 0; i < EBB__MAX_IN; i++) harness_value_free(&c->in[i]);
}
