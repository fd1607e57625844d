/* einsum.c - sums of products named by letters, as permutations, diagonals and matmul.
 *
 * A label is a letter, or one of the axes that an ellipsis stands for (counted from the right).
 * Operands are taken left to right: each is reduced to the labels that something still needs,
 * then multiplied into what there is as one batch of matrices (batch, left, summed) by (batch,
 * summed, right). Nothing larger than a pair's result is ever made.
 * SPDX-License-Identifier: MIT */
#include "ops/attrs.h"
#include "ops/rule.h"

#include <string.h>

enum { N_LETTERS = 52, N_LABELS = N_LETTERS + EBB_MAX_DIMS };

typedef struct einsum_attr {
    const char *equation;
} einsum_attr;
static const ebb_attr_spec einsum_attrs[] = {
    {"equation", EBB_ATTR_STRING, offsetof(einsum_attr, equation), false,
     "\"ij,jk->ik\": a letter per axis of each tensor, and of the result; \"...\": the axes "
     "left; "
     "without \"->\" the result has the letters that occur once, in order"},
    {0}};

/* A tensor and what its axes are. */
typedef struct term {
    ebb_tensor *x;
    int32_t n;
    uint8_t label[EBB_MAX_DIMS];
} term;

typedef struct einsum {
    ebb_vjp *v;
    int64_t size[N_LABELS]; /* 0: not seen; axes of length 1 give way to longer ones */
    bool seen[N_LABELS];
    int32_t needed[N_LABELS]; /* by so many operands to come, and the result */
    int32_t total[N_LABELS];  /* occurrences in all operands, repeated ones too */
    int32_t n_ellipsis;       /* axes of the widest */
    uint8_t out[EBB_MAX_DIMS];
    int32_t n_out;
} einsum;

/* ---- reading the equation --------------------------------------------------------------- */
static int32_t letter_of(char c)
{
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return -1;
}

static char letter_text(int32_t label)
{
    return (char)(label >= N_LETTERS ? '.' : label < 26 ? 'A' + label : 'a' + label - 26);
}

static ebb_status too_many(int64_t n)
{
    return ebb__fail(EBB_E_SHAPE, "the equation makes %lld axes, at most %d are possible",
                     (long long)n, EBB_MAX_DIMS);
}

/* Labels up to ',', '-' or the end; *ellipsis: where "..." stands, or -1. */
static ebb_status read_labels(const char **p, uint8_t label[EBB_MAX_DIMS], int32_t *n,
                              int32_t *ellipsis)
{
    *n = 0, *ellipsis = -1;
    for (; **p && **p != ',' && **p != '-'; ++*p) {
        int32_t letter = letter_of(**p);
        if (**p == ' ') continue;
        if (**p == '.') {
            if (strncmp(*p, "...", 3) != 0 || *ellipsis >= 0)
                return ebb__fail(EBB_E_RANGE,
                                 "the equation has dots that are not one ellipsis per term");
            *ellipsis = *n;
            *p += 2;
            continue;
        }
        if (letter < 0)
            return ebb__fail(
                EBB_E_RANGE,
                "the equation has '%c': letters, ',', \"...\" and \"->\" are known", **p);
        if (*n == EBB_MAX_DIMS) return too_many(*n + 1);
        label[(*n)++] = (uint8_t)letter;
    }
    return EBB_OK;
}

/* Puts the labels of `count` ellipsis axes in at `at`. */
static ebb_status spread(uint8_t label[EBB_MAX_DIMS], int32_t *n, int32_t at, int32_t count)
{
    if (*n + count > EBB_MAX_DIMS) return too_many(*n + count);
    for (int32_t i = *n - 1; i >= at; i--) label[i + count] = label[i];
    for (int32_t i = 0; i < count; i++) label[at + i] = (uint8_t)(N_LETTERS + count - 1 - i);
    *n += count;
    return EBB_OK;
}

static ebb_status read_term(const char **p, term *t, ebb_tensor *x, int32_t i)
{
    int32_t ellipsis;
    int64_t rank = ebb_rank(x);
    t->x = x;
    EBB_TRY(read_labels(p, t->label, &t->n, &ellipsis));
    if (ellipsis < 0 ? t->n != rank : t->n > rank)
        return ebb__fail(EBB_E_SHAPE, "xs[%d] has %lld axes, the equation names %d", (int)i,
                         (long long)rank, (int)t->n);
    if (ellipsis < 0) return EBB_OK;
    return spread(t->label, &t->n, ellipsis, (int32_t)rank - t->n);
}

static bool has(const term *t, int32_t n, uint8_t label)
{
    for (int32_t i = 0; i < n; i++)
        if (t->label[i] == label) return true;
    return false;
}

/* Sizes and occurrences of one operand. */
static ebb_status count_term(einsum *e, const term *t, int32_t i)
{
    for (int32_t d = 0; d < t->n; d++) {
        uint8_t label = t->label[d];
        int64_t size = ebb_dim(t->x, d), known = e->size[label];
        bool free = !e->seen[label] || known == 1;
        if (!free && size != known && size != 1)
            return ebb__fail(EBB_E_SHAPE, "axis '%c' is %lld long in xs[%d], %lld before",
                             letter_text(label), (long long)size, (int)i, (long long)known);
        for (int32_t k = 0; k < d; k++)
            if (t->label[k] == label && ebb_dim(t->x, k) != size)
                return ebb__fail(EBB_E_SHAPE, "axis '%c' is %lld and %lld long in xs[%d]",
                                 letter_text(label), (long long)ebb_dim(t->x, k),
                                 (long long)size, (int)i);
        if (free) e->size[label] = size;
        e->seen[label] = true;
        e->total[label]++;
        if (!has(t, d, label)) e->needed[label]++;
        if (label >= N_LETTERS && label - N_LETTERS >= e->n_ellipsis)
            e->n_ellipsis = label - N_LETTERS + 1;
    }
    return EBB_OK;
}

/* The labels of the result, given or by the rule. */
static ebb_status read_result(einsum *e, const char *p)
{
    int32_t ellipsis = 0;
    if (*p == 0) {
        for (int32_t label = 0; label < N_LETTERS; label++) {
            if (e->total[label] != 1) continue;
            if (e->n_out == EBB_MAX_DIMS) return too_many(e->n_out + 1);
            e->out[e->n_out++] = (uint8_t)label;
        }
    } else {
        if (strncmp(p, "->", 2) != 0)
            return ebb__fail(EBB_E_RANGE, "the equation has a '-' without its '>'");
        p += 2;
        EBB_TRY(read_labels(&p, e->out, &e->n_out, &ellipsis));
        if (*p) return ebb__fail(EBB_E_RANGE, "the equation goes on after its result");
    }
    if (ellipsis >= 0) EBB_TRY(spread(e->out, &e->n_out, ellipsis, e->n_ellipsis));
    for (int32_t i = 0; i < e->n_out; i++) {
        uint8_t label = e->out[i];
        if (!e->seen[label])
            return ebb__fail(EBB_E_RANGE, "axis '%c' of the result is in no tensor",
                             letter_text(label));
        for (int32_t j = 0; j < i; j++)
            if (e->out[j] == label)
                return ebb__fail(EBB_E_RANGE, "axis '%c' is twice in the result",
                                 letter_text(label));
        e->needed[label]++;
    }
    return EBB_OK;
}

static ebb_status read_equation(einsum *e, const char *p, ebb_tensor *const *in, int32_t n_in)
{
    if (!p) return ebb__null_argument("einsum", "equation");
    for (int32_t i = 0; i < n_in; i++) {
        term t;
        EBB_TRY(read_term(&p, &t, in[i], i));
        EBB_TRY(count_term(e, &t, i));
        if (i + 1 == n_in) break;
        if (*p != ',')
            return ebb__fail(EBB_E_RANGE, "the equation names %d tensors, %d are given",
                             (int)i + 1, (int)n_in);
        p++;
    }
    if (*p == ',')
        return ebb__fail(EBB_E_RANGE, "the equation names more tensors than the %d given",
                         (int)n_in);
    return read_result(e, p);
}

/* ---- one operand ------------------------------------------------------------------------ */
static void drop_label(term *t, int32_t at)
{
    t->n--;
    for (int32_t i = at; i < t->n; i++) t->label[i] = t->label[i + 1];
}

/* Each label once. */
static void take_diagonals(einsum *e, term *t)
{
    for (int32_t b = 1; b < t->n; b++)
        for (int32_t a = 0; a < b; a++) {
            if (t->label[a] != t->label[b]) continue;
            uint8_t label = t->label[a];
            int64_t diagonal[3] = {0, a, b}; /* offset, axes */
            t->x = EBB_EMIT(e->v, diagonal, diagonal, t->x);
            drop_label(t, b);
            drop_label(t, a);
            t->label[t->n++] = label;
            b = 0; /* the axes have moved: from the start */
            break;
        }
}

/* An axis of length 1 that is longer elsewhere is left to the others. */
static void drop_ones(einsum *e, term *t)
{
    for (int32_t d = t->n - 1; d >= 0 && t->x; d--) {
        ebb__axis_attr axis = {d};
        if (ebb_dim(t->x, d) == e->size[t->label[d]]) continue;
        t->x = EBB_EMIT(e->v, squeeze, &axis, t->x);
        e->needed[t->label[d]]--;
        drop_label(t, d);
    }
}

/* Sums over what neither `other` nor anything to come has. */
static void sum_unneeded(einsum *e, term *t, const term *other)
{
    ebb_axes unneeded = {0};
    for (int32_t d = 0; d < t->n; d++)
        if (e->needed[t->label[d]] == 0 && !has(other, other->n, t->label[d]))
            unneeded.axis[unneeded.n++] = d;
    if (unneeded.n == 0) return;
    t->x = EBB_EMIT(e->v, sum, &unneeded, t->x);
    for (int64_t i = unneeded.n; i-- > 0;) drop_label(t, (int32_t)unneeded.axis[i]);
}

/* ---- a pair ----------------------------------------------------------------------------- */
/* The axes of t in the order of `label`, which names each once. */
static ebb_tensor *ordered(einsum *e, const term *t, const uint8_t *label)
{
    ebb_axes order = {.n = t->n};
    bool as_is = true;
    for (int32_t i = 0; i < t->n; i++)
        for (int32_t d = 0; d < t->n; d++)
            if (t->label[d] == label[i]) {
                order.axis[i] = d;
                as_is = as_is && d == i;
            }
    return as_is ? t->x : EBB_EMIT(e->v, permute, &order, t->x);
}

typedef struct labels {
    int32_t n;
    uint8_t label[2 * EBB_MAX_DIMS];
    int64_t elements;
} labels;

static void add_label(const einsum *e, labels *l, uint8_t label)
{
    l->label[l->n++] = label;
    l->elements *= e->size[label];
}

static void append(uint8_t *to, int32_t *n, const labels *l)
{
    memcpy(to + *n, l->label, (size_t)l->n);
    *n += l->n;
}

static ebb_tensor *as_matrices(einsum *e, const term *t, const labels *batch,
                               const labels *rows, const labels *columns)
{
    uint8_t order[3 * EBB_MAX_DIMS];
    int32_t n = 0;
    append(order, &n, batch);
    append(order, &n, rows);
    append(order, &n, columns);
    return ebb__rule_reshape(e->v, ordered(e, t, order),
                             EBB_SHAPE(batch->elements, rows->elements, columns->elements));
}

/* acc becomes the product of acc and t, summed over what nothing needs any more. */
static void multiply(einsum *e, term *acc, const term *t)
{
    labels batch = {.elements = 1}, left = batch, right = batch, summed = batch;
    for (int32_t d = 0; d < acc->n; d++) {
        uint8_t label = acc->label[d];
        bool both = has(t, t->n, label);
        add_label(e, !both ? &left : e->needed[label] > 0 ? &batch : &summed, label);
    }
    for (int32_t d = 0; d < t->n; d++)
        if (!has(acc, acc->n, t->label[d])) add_label(e, &right, t->label[d]);
    int32_t n = batch.n + left.n + right.n;
    if (n > EBB_MAX_DIMS) {
        e->v->status = too_many(n);
        return;
    }
    ebb_tensor *a = as_matrices(e, acc, &batch, &left, &summed);
    ebb_tensor *b = as_matrices(e, t, &batch, &summed, &right);
    acc->n = 0;
    append(acc->label, &acc->n, &batch);
    append(acc->label, &acc->n, &left);
    append(acc->label, &acc->n, &right);
    ebb_shape shape = {.n_dims = n};
    for (int32_t i = 0; i < n; i++) shape.dims[i] = e->size[acc->label[i]];
    ebb_tensor *product =
        summed.n > 0 ? EBB_EMIT(e->v, matmul, NULL, a, b) : EBB_EMIT(e->v, mul, NULL, a, b);
    acc->x = ebb__rule_reshape(e->v, product, shape);
}

static void einsum_compose(ebb_vjp *v, ebb_tensor **out, ebb_tensor *const *in, int32_t n_in,
                           const void *attr)
{
    einsum e = {.v = v};
    const char *p = ((const einsum_attr *)attr)->equation;
    term acc = {0};
    v->status = read_equation(&e, p, in, n_in);
    for (int32_t i = 0; i < n_in && v->status == EBB_OK; i++, p++) {
        term t;
        v->status = read_term(&p, &t, in[i], i);
        if (v->status != EBB_OK) return;
        take_diagonals(&e, &t);
        drop_ones(&e, &t);
        for (int32_t d = 0; d < t.n; d++) e.needed[t.label[d]]--;
        sum_unneeded(&e, &t, &acc);
        sum_unneeded(&e, &acc, &t);
        if (v->status != EBB_OK) return;
        if (i == 0)
            acc = t;
        else
            multiply(&e, &acc, &t);
    }
    if (v->status != EBB_OK) return;
    ebb_tensor *y = ordered(&e, &acc, e.out);
    out[0] = y == in[0] ? ebb__rule_reshape(v, y, ebb_shape_get(y)) : y;
}

const ebb_op ebb__op_einsum = {
    EBB_OP_HEAD(einsum),
    .doc =
        "Sums of products as Einstein wrote them: \"ij,jk->ik\" sums x[i, j] * y[j, k] over j.",
    .n_in = 1,
    .n_out = 1,
    .arg = {"xs"},
    .attr_bytes = sizeof(einsum_attr),
    .attrs = einsum_attrs,
    .flags = EBB_OP_VARIADIC_IN,
    .bound = EBB_BOUND_COMPUTE,
    .compose = einsum_compose,
    EBB_SAMPLES({.in = {"3x4", "4x2"}, .attr = "equation=ij,jk->ik"},
                {.in = {"3x4", "4x2"}, .attr = "equation=ij,jk"},
                {.in = {"2x3x4", "2x4x5"}, .attr = "equation=bij,bjk->bki"},
                {.in = {"3x3"}, .attr = "equation=ii->"},
                {.in = {"3x3"}, .attr = "equation=ii->i"},
                {.in = {"2x3x4"}, .attr = "equation=abc->ca"},
                {.in = {"3", "4"}, .attr = "equation=i,j->ij"},
                {.in = {"3x2", "3x2"}, .attr = "equation=ij,ij->"},
                {.in = {"2x3x4", "4x5"}, .attr = "equation=...j,jk->...k"},
                {.in = {"1x3x4", "2x4x3"}, .attr = "equation=...ij,...ji->..."},
                {.in = {"2x3", "3x4", "4x2"}, .attr = "equation=ij,jk,kl->il"},
                {.in = {"2x3", "3x4", "2x4"}, .attr = "equation=ij,jk,ik->j"},
                {.in = {"2x3x3x2"}, .attr = "equation=abba->ab"},
                {.in = {"", "3"}, .attr = "equation=,i->i"},
                {.in = {"0x3", "3x2"}, .attr = "equation=ij,jk->ik"}),
};
