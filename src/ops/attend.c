/* attend.c - attention whose memory is linear in the lengths: scores exist in tiles only.
 *
 * Forward keeps a running maximum and sum per query place (Milakov & Gimelshein 2018; Dao et
 * al., FlashAttention, 2022, algorithms 1 and 4); kept for the gradient are the result and the
 * logarithm of that sum. The gradient makes the tiles of weights again. Sums run over tiles in
 * a fixed order, so results depend on neither threads nor strides.
 * SPDX-License-Identifier: MIT */
#include "ops/attend.h"

#include "base/philox.h"
#include "base/size.h"
#include "ops/dropout.h"
#include "ops/gemm.h"
#include "ops/kernels/clones.h"
#include "ops/kernels/vmath.h"
#include "ops/operand.h"
#include "ops/parallel.h"
#include "ops/rule.h"

#include <math.h>
#include <string.h>

enum { ATTEND_ROWS = 64, ATTEND_COLS = 128 };

#define ATTEND_SPECS(type, path)                                                               \
    {"scale", EBB_ATTR_F64, offsetof(type, path scale), false, NULL},                          \
        {"p", EBB_ATTR_F64, offsetof(type, path p), false, NULL},                              \
    {                                                                                          \
        "causal", EBB_ATTR_BOOL, offsetof(type, path causal), false, NULL                      \
    }
static const ebb_attr_spec attend_attrs[] = {ATTEND_SPECS(ebb__attend_attr, ), {0}};
typedef struct attend_grad_attr {
    ebb__attend_attr how;
    int64_t base; /* of the random counter that the forward drew from */
} attend_grad_attr;
static const ebb_attr_spec attend_grad_attrs[] = {
    ATTEND_SPECS(attend_grad_attr, how.),
    {"base", EBB_ATTR_I64, offsetof(attend_grad_attr, base), false, NULL},
    {0}};

typedef struct attend_operand {
    const void *data;
    const ebb_view *view;
    int64_t row, col; /* steps of the last two axes */
} attend_operand;
typedef struct attend_work {
    ebb_dtype dtype;
    int64_t n_items, l, s, d, e; /* queries, keys, their width, the values' width */
    attend_operand q, k, v, mask, g, y, lse;
    void *out, *lse_out, *dq, *dk, *dv; /* dq NULL: only dv is wanted */
    double scale, p;
    bool causal, mask_is_bool;
    uint32_t least;
    uint64_t key, base;
    size_t tile_bytes, each_bytes; /* of scratch: of the tiles, of a thread */
    char *scratch;
} attend_work;
/* Query places [first_row, + rows) by key places [first_col, + cols) of an item. */
typedef struct attend_tile {
    int64_t item, first_row, rows, first_col, cols;
    struct {
        int64_t q, k, v, mask, g, y, lse; /* the item's first element in each operand */
    } at;
} attend_tile;

static int64_t attend_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The last n_inner axes are an item's own. */
static int64_t item_offset(const attend_operand *o, int64_t item, int64_t n_inner)
{
    int64_t offset = 0;
    if (!o->view) return 0;
    for (int64_t i = o->view->shape.n_dims - n_inner - 1; i >= 0; i--) {
        offset += item % o->view->shape.dims[i] * o->view->strides[i];
        item /= o->view->shape.dims[i];
    }
    return offset;
}

static attend_tile tile_rows(const attend_work *w, int64_t item, int64_t first)
{
    attend_tile t = {
        .item = item, .first_row = first, .rows = attend_min(ATTEND_ROWS, w->l - first)};
    t.at.q = item_offset(&w->q, item, 2), t.at.k = item_offset(&w->k, item, 2);
    t.at.v = item_offset(&w->v, item, 2), t.at.mask = item_offset(&w->mask, item, 2);
    t.at.g = item_offset(&w->g, item, 2), t.at.y = item_offset(&w->y, item, 2);
    t.at.lse = item_offset(&w->lse, item, 1);
    return t;
}

#define EBB_TYPED "ops/exp_rows.inl"
#include "ops/kernels/typed.h"
#define EBB_TYPED "ops/attend.inl"
#include "ops/kernels/typed.h"

/* ---- shapes ----------------------------------------------------------------------------- */
static attend_operand operand_of(const ebb__call *c, int32_t i)
{
    if (i < 0 || !ebb__given(c, i)) return (attend_operand){NULL, NULL, 0, 0};
    const ebb_view *v = &c->in[i];
    int64_t n = v->shape.n_dims;
    return (attend_operand){v->data, v, v->strides[n - 2], v->strides[n - 1]};
}

/* Operand i is (batch..., rows, cols), the batch being q's; -1 as a side: any. */
static ebb_status check_operand(const ebb__call *c, int32_t i, const ebb_shape *q, int64_t rows,
                                int64_t cols)
{
    if (!ebb__given(c, i)) return EBB_OK;
    const ebb_shape *s = &c->in[i].shape;
    int64_t n = q->n_dims;
    bool fits = s->n_dims == n && (rows < 0 || s->dims[n - 2] == rows) &&
                (cols < 0 || s->dims[n - 1] == cols);
    for (int64_t d = 0; fits && d < n - 2; d++) fits = s->dims[d] == q->dims[d];
    if (fits) return EBB_OK;
    char st[EBB__SHAPE_TEXT], qt[EBB__SHAPE_TEXT];
    return ebb__fail(EBB_E_SHAPE, "%s is %s, which does not fit q of %s", ebb__arg_name(c, i),
                     ebb__shape_text(st, sizeof st, s), ebb__shape_text(qt, sizeof qt, q));
}

/* Which of a call's inputs is what; -1: none. */
typedef struct attend_places {
    int32_t g, q, k, v, mask, out, lse;
} attend_places;
static const attend_places forward_places = {-1, 0, 1, 2, 3, -1, -1};
static const attend_places grad_places = {0, 1, 2, 3, 4, 5, 6};
static const attend_places grad_v_places = {0, 1, 2, -1, 3, -1, 4};

static ebb_status attend_check(const ebb__call *c, const attend_places *at)
{
    const ebb_shape *q = &c->in[at->q].shape;
    const ebb__attend_attr *a = c->attr; /* first in all attribute structs */
    if (!(a->p >= 0 && a->p < 1))
        return ebb__fail(EBB_E_RANGE, "dropout_p is %g, it must be in [0, 1)", a->p);
    for (int32_t i = 0; i < c->n_in; i++) {
        bool is_bool_mask = i == at->mask && c->in[i].dtype == EBB_BOOL;
        if (is_bool_mask) continue;
        EBB_TRY(ebb__check_float(c, i));
        EBB_TRY(ebb__check_dtype_as(c, i, 0));
    }
    EBB_TRY(ebb__check_rank_at_least(c, at->q, 2));
    int64_t n = q->n_dims, l = q->dims[n - 2];
    EBB_TRY(check_operand(c, at->k, q, -1, q->dims[n - 1]));
    int64_t s = c->in[at->k].shape.dims[n - 2];
    if (at->v >= 0) EBB_TRY(check_operand(c, at->v, q, s, -1));
    EBB_TRY(check_operand(c, at->mask, q, l, s));
    if (at->g >= 0)
        EBB_TRY(check_operand(c, at->g, q, l, at->v < 0 ? -1 : c->in[at->v].shape.dims[n - 1]));
    if (at->out >= 0) EBB_TRY(ebb__check_shape_as(c, at->out, at->g));
    ebb_shape rows = *q;
    rows.n_dims--;
    char text[EBB__SHAPE_TEXT];
    if (at->lse >= 0 && !ebb__shape_equal(&c->in[at->lse].shape, &rows))
        return ebb__fail(EBB_E_SHAPE, "lse must be %s",
                         ebb__shape_text(text, sizeof text, &rows));
    return EBB_OK;
}

static attend_work work_of(const ebb__call *c, const attend_places *at)
{
    const ebb__attend_attr *a = c->attr;
    const ebb_view *q = &c->in[at->q], *values = &c->in[at->v >= 0 ? at->v : at->g];
    int64_t n = q->shape.n_dims;
    attend_work w = {.dtype = q->dtype,
                     .n_items = 1,
                     .l = q->shape.dims[n - 2],
                     .s = c->in[at->k].shape.dims[n - 2],
                     .d = q->shape.dims[n - 1],
                     .e = values->shape.dims[n - 1],
                     .q = operand_of(c, at->q),
                     .k = operand_of(c, at->k),
                     .v = operand_of(c, at->v),
                     .mask = operand_of(c, at->mask),
                     .g = operand_of(c, at->g),
                     .y = operand_of(c, at->out),
                     .scale = a->scale,
                     .p = a->p,
                     .causal = a->causal,
                     .mask_is_bool =
                         ebb__given(c, at->mask) && c->in[at->mask].dtype == EBB_BOOL,
                     .least = ebb__dropout_least(a->p),
                     .key = c->random_key,
                     .scratch = c->scratch};
    for (int64_t i = 0; i < n - 2; i++) w.n_items *= q->shape.dims[i];
    if (at->lse >= 0) {
        const ebb_view *lse = &c->in[at->lse];
        w.lse = (attend_operand){lse->data, lse, lse->strides[n - 2], 0};
    }
    return w;
}

/* Per thread: tiles, and packing for the largest product that is made of them. */
static void plan_scratch(attend_work *w, int n_tiles)
{
    size_t element = ebb__dtype_size(w->dtype), most = 0;
    int64_t rows = attend_min(ATTEND_ROWS, w->l), cols = attend_min(ATTEND_COLS, w->s);
    int64_t size[6][3] = {{rows, cols, w->d}, {rows, w->e, cols}, {rows, cols, w->e},
                          {rows, w->d, cols}, {cols, w->d, rows}, {cols, w->e, rows}};
    for (int i = 0; i < 6; i++) {
        size_t bytes = ebb__gemm_scratch(size[i][0], size[i][1], size[i][2], element);
        most = bytes > most ? bytes : most;
    }
    w->tile_bytes = (size_t)n_tiles * ATTEND_ROWS * ATTEND_COLS * element;
    w->each_bytes = w->tile_bytes + ebb__round_64(most);
}

static int64_t row_tiles(const attend_work *w)
{
    return (w->l + ATTEND_ROWS - 1) / ATTEND_ROWS;
}

static int64_t col_tiles(const attend_work *w)
{
    return (w->s + ATTEND_COLS - 1) / ATTEND_COLS;
}

/* Steps of ebb__grain that one row tile takes over all keys; only small numbers need be right. */
static int64_t tile_steps(const attend_work *w)
{
    double steps = (double)ATTEND_ROWS * (double)w->s * (double)(w->d + w->e + 8) / 4;
    return steps < 1e15 ? (int64_t)steps : INT64_C(1000000000000000);
}

/* Products of two floating numbers per pair of places: width of q and of the values. */
static ebb_cost attend_cost(const ebb__call *c, const attend_places *at, double products)
{
    attend_work w = work_of(c, at);
    double pairs = (double)w.n_items * (double)w.l * (double)w.s;
    double bytes = (double)w.n_items * (double)(2 * w.l + 2 * w.s) * (double)(w.d + w.e);
    return (ebb_cost){products * pairs * (double)(w.d + w.e),
                      bytes * (double)ebb__dtype_size(w.dtype)};
}

/* ---- attention -------------------------------------------------------------------------- */
static ebb_status attend_shape(ebb__call *c)
{
    EBB_TRY(attend_check(c, &forward_places));
    attend_work w = work_of(c, &forward_places);
    ebb_shape out = c->in[0].shape, rows = out;
    out.dims[out.n_dims - 1] = w.e;
    rows.n_dims--;
    ebb__set_out(c, 0, w.dtype, &out);
    ebb__set_out(c, 1, w.dtype, &rows);
    plan_scratch(&w, 1);
    c->scratch_bytes = w.each_bytes * (size_t)(c->n_threads < 1 ? 1 : c->n_threads);
    if (w.p > 0) c->n_random = w.n_items * w.l * w.s;
    return EBB_OK;
}

static void attend_units(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const attend_work *w = arg;
    char *memory = w->scratch + (size_t)part * w->each_bytes;
    int64_t tiles = row_tiles(w);
    for (int64_t i = lo; i < hi; i++)
        EBB_BY_DTYPE(w->dtype, attend_forward, w, i / tiles, i % tiles * ATTEND_ROWS, memory);
}

static ebb_status attend_run(const ebb__call *c)
{
    attend_work w = work_of(c, &forward_places);
    w.out = c->out[0].data, w.lse_out = c->out[1].data;
    w.base = c->random_base;
    plan_scratch(&w, 1);
    ebb__parallel(c->n_threads, w.n_items * row_tiles(&w), ebb__grain(tile_steps(&w)),
                  attend_units, &w);
    return EBB_OK;
}

static ebb_cost attend_forward_cost(const ebb__call *c)
{
    return attend_cost(c, &forward_places, 2);
}

/* ---- the formula, for second derivatives and for the mask's gradient --------------------- */
/* softmax of the scores; rows that see nothing are 0. *scaled: scale * q. */
static ebb_tensor *weights_of(ebb_vjp *v, ebb_tensor **scaled)
{
    const ebb__attend_attr *a = v->attr;
    int64_t axis = -1;
    double zero = 0, lowest = -INFINITY;
    *scaled = ebb__rule_scale(v, ebb__in(v, 0), a->scale);
    ebb_tensor *score =
        EBB_EMIT(v, matmul, NULL, *scaled, ebb__rule_transpose(v, ebb__in(v, 1), -1, -2));
    if (a->causal) score = EBB_EMIT(v, causal_fill, NULL, score);
    ebb_dtype mask = ebb__in_dtype(v, 3);
    ebb_shape keys = ebb__in_shape(v, 1);
    if (!mask || keys.dims[keys.n_dims - 2] == 0) return EBB_EMIT(v, softmax, &axis, score);
    if (mask == EBB_BOOL)
        score = EBB_EMIT(v, masked_fill, &lowest, score,
                         EBB_EMIT(v, logical_not, NULL, ebb__in(v, 3)));
    else
        score = ebb__rule_add(v, score, ebb__in(v, 3));
    ebb_axes last = EBB_KEEP(-1);
    ebb_tensor *top = EBB_EMIT(v, amax, &last, score);
    ebb_tensor *blind = EBB_EMIT(v, eq, NULL, top, EBB_EMIT(v, full_like, &lowest, top));
    score = EBB_EMIT(v, masked_fill, &zero, score, blind);
    return EBB_EMIT(v, masked_fill, &zero, EBB_EMIT(v, softmax, &axis, score), blind);
}

static ebb_tensor *drop(ebb_vjp *v, ebb_tensor *x)
{
    const ebb__attend_attr *a = v->attr;
    if (a->p == 0) return x;
    ebb__dropout_grad_attr attr = {a->p, (int64_t)v->host->random_base(v)};
    return EBB_EMIT(v, dropout_grad, &attr, x);
}

static void attend_composed(ebb_vjp *v)
{
    const ebb__attend_attr *a = v->attr;
    ebb_tensor *g = ebb__grad(v, 0), *scaled, *weight = weights_of(v, &scaled);
    if (ebb__wants(v, 2)) {
        ebb_tensor *turned = ebb__rule_transpose(v, drop(v, weight), -1, -2);
        ebb__give(v, 2, EBB_EMIT(v, matmul, NULL, turned, g));
    }
    if (!ebb__wants(v, 0) && !ebb__wants(v, 1) && !ebb__wants(v, 3)) return;
    ebb_axes last = EBB_KEEP(-1);
    ebb_tensor *values = ebb__rule_transpose(v, ebb__in(v, 2), -1, -2);
    ebb_tensor *dw = drop(v, EBB_EMIT(v, matmul, NULL, g, values));
    ebb_tensor *level = ebb__rule_sum(v, ebb__rule_mul(v, dw, weight), last);
    ebb_tensor *ds = ebb__rule_mul(v, weight, ebb__rule_sub(v, dw, level));
    if (ebb__wants(v, 0)) {
        ebb_tensor *dq = EBB_EMIT(v, matmul, NULL, ds, ebb__in(v, 1));
        ebb__give(v, 0, ebb__rule_scale(v, dq, a->scale));
    }
    if (ebb__wants(v, 1))
        ebb__give(v, 1, EBB_EMIT(v, matmul, NULL, ebb__rule_transpose(v, ds, -1, -2), scaled));
    if (ebb__wants(v, 3)) ebb__give(v, 3, ds);
}

static void attend_vjp(ebb_vjp *v)
{
    if (ebb__wants(v, 3)) { /* as large as the scores, whatever is done */
        attend_composed(v);
        return;
    }
    attend_grad_attr attr;
    memset(&attr, 0, sizeof attr);
    memcpy(&attr.how, v->attr, sizeof attr.how);
    attr.base = attr.how.p > 0 ? (int64_t)v->host->random_base(v) : 0;
    ebb_tensor *mask = ebb__in_dtype(v, 3) ? ebb__in(v, 3) : EBB_NONE;
    if (!ebb__wants(v, 0) && !ebb__wants(v, 1)) {
        ebb__give(v, 2,
                  EBB_EMIT(v, attend_grad_v, &attr, ebb__grad(v, 0), ebb__in(v, 0),
                           ebb__in(v, 1), mask, ebb__aux(v, 0)));
        return;
    }
    ebb_tensor *out[3],
        *in[] = {ebb__grad(v, 0), ebb__in(v, 0), ebb__in(v, 1), ebb__in(v, 2), mask,
                 ebb__out(v, 0),  ebb__aux(v, 0)};
    ebb__emit_n(v, &ebb__op_attend_grad, &attr, 7, in, 3, out);
    for (int32_t i = 0; i < 3; i++)
        if (ebb__wants(v, i)) ebb__give(v, i, out[i]);
}

#define ATTEND_NEED                                                                            \
    (EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2) | EBB_NEED_IN(3) | EBB_NEED_OUT(0) |     \
     EBB_NEED_AUX(0))

const ebb_op ebb__op_attend = {
    EBB_OP_HEAD(attend),
    .doc =
        "softmax(scale * q k' + mask) v with all batch axes in full; by-product: the logarithm "
        "of each row's sum of exp.",
    .n_in = 4,
    .n_out = 1,
    .n_aux = 1,
    .optional = 1u << 3,
    .arg = {"q", "k", "v", "mask"},
    .attr_bytes = sizeof(ebb__attend_attr),
    .attrs = attend_attrs,
    .flags = EBB_OP_PRIVATE | EBB_OP_STRIDED | EBB_OP_RANDOM,
    .bound = EBB_BOUND_COMPUTE,
    .cost = attend_forward_cost,
    .need = {ATTEND_NEED, ATTEND_NEED,
             EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(3) | EBB_NEED_AUX(0),
             EBB_NEED_IN(0) | EBB_NEED_IN(1) | EBB_NEED_IN(2) | EBB_NEED_IN(3)},
    .shape = attend_shape,
    .forward = attend_run,
    .vjp = attend_vjp,
    .vjp_composed = attend_composed,
    EBB_SAMPLES({.in = {"2x3x4", "2x5x4", "2x5x6", "-"}, .attr = "scale=0.5"},
                {.in = {"4x3", "4x3", "4x2", "-"}, .attr = "scale=0.6 causal=1"},
                {.in = {"2x3x4", "2x3x4", "2x3x4", "2x3x3"}, .attr = "scale=0.5"},
                {.in = {"2x1x3x4", "2x1x5x4", "2x1x5x2", "bool:2x1x3x5"}, .attr = "scale=0.7"},
                {.in = {"1x1", "1x1", "1x1", "-"}, .attr = "scale=1"},
                {.in = {"0x3x2", "0x3x2", "0x3x2", "-"}, .attr = "scale=1"},
                {.in = {"70x3", "131x3", "131x2", "-"}, .attr = "scale=0.5 causal=1"},
                {.in = {"2x3x4", "2x5x4", "2x5x6", "-"}, .attr = "scale=0.5 p=0.3"}),
};

/* ---- its gradients ---------------------------------------------------------------------- */
static ebb_status attend_grad_shape(ebb__call *c)
{
    EBB_TRY(attend_check(c, &grad_places));
    attend_work w = work_of(c, &grad_places);
    for (int32_t i = 0; i < 3; i++) ebb__set_out(c, i, w.dtype, &c->in[1 + i].shape);
    plan_scratch(&w, 2);
    c->scratch_bytes = w.each_bytes * (size_t)(c->n_threads < 1 ? 1 : c->n_threads);
    return EBB_OK;
}

static ebb_status attend_grad_v_shape(ebb__call *c)
{
    EBB_TRY(attend_check(c, &grad_v_places));
    attend_work w = work_of(c, &grad_v_places);
    ebb_shape out = c->in[2].shape;
    out.dims[out.n_dims - 1] = w.e;
    ebb__set_out(c, 0, w.dtype, &out);
    plan_scratch(&w, 1);
    c->scratch_bytes = w.each_bytes * (size_t)(c->n_threads < 1 ? 1 : c->n_threads);
    return EBB_OK;
}

/* One tile, unless no query of it sees a key of it. */
static void grad_tile(const attend_work *w, int64_t item, int64_t row, int64_t col, bool of_q,
                      bool of_kv, int32_t part)
{
    attend_tile t = tile_rows(w, item, row * ATTEND_ROWS);
    t.first_col = col * ATTEND_COLS, t.cols = attend_min(ATTEND_COLS, w->s - t.first_col);
    if (w->causal && t.first_row + t.rows <= t.first_col) return;
    char *memory = w->scratch + (size_t)part * w->each_bytes;
    EBB_BY_DTYPE(w->dtype, attend_backward, w, &t, of_q, of_kv, memory);
}

static void grad_items(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const attend_work *w = arg;
    for (int64_t item = lo; item < hi; item++)
        for (int64_t col = 0; col < col_tiles(w); col++)
            for (int64_t row = 0; row < row_tiles(w); row++)
                grad_tile(w, item, row, col, true, true, part);
}

static void grad_rows(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const attend_work *w = arg;
    for (int64_t i = lo; i < hi; i++)
        for (int64_t col = 0; col < col_tiles(w); col++)
            grad_tile(w, i / row_tiles(w), i % row_tiles(w), col, true, false, part);
}

static void grad_cols(const void *arg, int64_t lo, int64_t hi, int32_t part)
{
    const attend_work *w = arg;
    for (int64_t i = lo; i < hi; i++)
        for (int64_t row = 0; row < row_tiles(w); row++)
            grad_tile(w, i / col_tiles(w), row, i % col_tiles(w), false, true, part);
}

/* Items side by side where there are enough of them; else the tiles of an item, those of dq
 * apart from those of dk and dv. Each sum has the same order either way. */
static void grad_run(const ebb__call *c, attend_work *w)
{
    w->base = (uint64_t)((const attend_grad_attr *)c->attr)->base;
    for (int32_t i = 0; i < c->n_out; i++) {
        size_t n = (size_t)ebb__n_elems(&c->out[i].shape);
        if (n > 0) memset(c->out[i].data, 0, n * ebb__dtype_size(w->dtype));
    }
    int64_t steps = 2 * tile_steps(w), item = steps * (row_tiles(w) < 1 ? 1 : row_tiles(w));
    if (item < steps || w->n_items >= c->n_threads || item < 65536) {
        ebb__parallel(c->n_threads, w->n_items, ebb__grain(item), grad_items, w);
        return;
    }
    if (w->dq)
        ebb__parallel(c->n_threads, w->n_items * row_tiles(w), ebb__grain(steps), grad_rows, w);
    ebb__parallel(c->n_threads, w->n_items * col_tiles(w), ebb__grain(steps), grad_cols, w);
}

static ebb_status attend_grad_run(const ebb__call *c)
{
    attend_work w = work_of(c, &grad_places);
    w.dq = c->out[0].data, w.dk = c->out[1].data, w.dv = c->out[2].data;
    plan_scratch(&w, 2);
    grad_run(c, &w);
    return EBB_OK;
}

static ebb_status attend_grad_v_run(const ebb__call *c)
{
    attend_work w = work_of(c, &grad_v_places);
    w.dv = c->out[0].data;
    plan_scratch(&w, 1);
    grad_run(c, &w);
    return EBB_OK;
}

static ebb_cost attend_grad_cost(const ebb__call *c)
{
    return attend_cost(c, &grad_places, 5);
}

static ebb_cost attend_grad_v_cost(const ebb__call *c)
{
    return attend_cost(c, &grad_v_places, 2);
}

#define ATTEND_GRAD_COMMON                                                                     \
    .attr_bytes = sizeof(attend_grad_attr), .attrs = attend_grad_attrs,                        \
    .flags = EBB_OP_PRIVATE | EBB_OP_STRIDED | EBB_OP_RANDOM, .bound = EBB_BOUND_COMPUTE

/* RANDOM for the key; they draw nothing new. */
const ebb_op ebb__op_attend_grad = {
    EBB_OP_HEAD(attend_grad),
    .doc = "dq, dk and dv of attend, from its result and by-product.",
    .n_in = 7,
    .n_out = 3,
    .optional = 1u << 4,
    .arg = {"g", "q", "k", "v", "mask", "out", "lse"},
    .result = {"dq", "dk", "dv"},
    ATTEND_GRAD_COMMON,
    .cost = attend_grad_cost,
    .shape = attend_grad_shape,
    .forward = attend_grad_run,
    EBB_SAMPLES(
        {.in = {"2x3x6", "2x3x4", "2x5x4", "2x5x6", "-", "2x3x6", "2x3"}, .attr = "scale=0.5"},
        {.in = {"4x2", "4x3", "4x3", "4x2", "4x4", "4x2", "4"}, .attr = "scale=0.6 causal=1"},
        {.in = {"1x3x2", "1x3x2", "1x2x2", "1x2x2", "bool:1x3x2", "1x3x2", "1x3"},
         .attr = "scale=1 p=0.4 base=9"}),
};

const ebb_op ebb__op_attend_grad_v = {
    EBB_OP_HEAD(attend_grad_v),
    .doc = "dv of attend where nothing else is wanted.",
    .n_in = 5,
    .n_out = 1,
    .optional = 1u << 3,
    .arg = {"g", "q", "k", "mask", "lse"},
    ATTEND_GRAD_COMMON,
    .cost = attend_grad_v_cost,
    .shape = attend_grad_v_shape,
    .forward = attend_grad_v_run,
    EBB_SAMPLES({.in = {"2x3x6", "2x3x4", "2x5x4", "-", "2x3"}, .attr = "scale=0.5"},
                {.in = {"4x2", "4x3", "4x3", "4x4", "4"}, .attr = "scale=0.6 causal=1"},
                {.in = {"1x3x2", "1x3x2", "1x2x2", "bool:1x3x2", "1x3"},
                 .attr = "scale=1 p=0.4 base=9"}),
};
