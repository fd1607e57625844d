/* random_program.c - makes and runs random programs.
 *
 * A program is a function of its seed alone: which operations, which inputs, which handles go
 * when. Values do not influence it, so it can be run again at a shifted point. Every operand is
 * gathered from the elements of an older tensor and squeezed into the operation's range by a
 * sine.
 * SPDX-License-Identifier: MIT */
#include "support/random_program.h"

#include "autodiff/engine.h"
#include "base/context.h"
#include "ops/ids.h"
#include "support/op_harness.h"

#include <ebb/ebb.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_LEAVES = 3, MAX_POOL = 160, MAX_ELEMS = 96 };

static const ebb_shape leaf_shape[N_LEAVES] = {{2, {3, 4}}, {1, {5}}, {3, {2, 1, 3}}};

typedef struct pool_entry {
    ebb_tensor *t; /* NULL: released */
    bool gone;     /* the program does not use it any more */
} pool_entry;

typedef struct program {
    ebb_context *ctx;
    numeric_random choice; /* the program's own stream */
    numeric_random chaos;  /* drops, where asked for */
    bool drops, releases;
    const ebb_op *gather;
    pool_entry pool[MAX_POOL];
    int32_t n_pool;
    ebb_tensor *leaf[N_LEAVES];
    random_program_report *report;
} program;

typedef struct program_result {
    double loss;
    double grad[N_LEAVES][12];
    double product[N_LEAVES][12]; /* of the Hessian with a vector, where asked for */
} program_result;

/* ---- operands ---------------------------------------------------------------------------- */
bool random_program_draws(const ebb_op *op)
{
    const uint32_t no = EBB_OP_PRIVATE | EBB_OP_CREATE;
    bool shape_by_value = op->flags & EBB_OP_VALUE_SHAPE && op->flags & EBB_OP_INTEGER;
    return !(op->flags & no) && !shape_by_value && !(op->writes & 1) && op->n_samples > 0 &&
           op->n_in > 0;
}

static const ebb_op *choose_op(program *p)
{
    for (;;) {
        const ebb_op *op = ebb__op_table[numeric_below(&p->choice, EBB__N_OPS)];
        if (random_program_draws(op)) return op;
    }
}

static ebb_tensor *choose_tensor(program *p)
{
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_pool; i++) n += !p->pool[i].gone;
    int64_t at = numeric_below(&p->choice, N_LEAVES + n);
    if (at < N_LEAVES) return p->leaf[at];
    at -= N_LEAVES;
    for (int32_t i = 0; i < p->n_pool; i++)
        if (!p->pool[i].gone && at-- == 0) return p->pool[i].t;
    return p->leaf[0];
}

/* An older tensor's elements in new places, each with a number of its own, so that no two are
 * equal (maxima, std of equal elements have kinks), and not near singular where a matrix must
 * not be. */
static ebb_tensor *gather_operand(program *p, const harness_value *like, double lo, double hi)
{
    int64_t index[MAX_ELEMS], n = like->n;
    double own[MAX_ELEMS];
    ebb_tensor *from = choose_tensor(p);
    if (ebb_n_elems(from) == 0) from = p->leaf[0];
    if (lo == 0 && hi == 0) lo = -2, hi = 2;
    double middle = (lo + hi) / 2, half = (hi - lo) / 2 * (like->diagonal != 0 ? 0.4 : 0.95);
    int64_t side = like->diagonal != 0 ? like->shape.dims[like->shape.n_dims - 1] : 1;
    for (int64_t i = 0; i < n; i++) {
        index[i] = numeric_below(&p->choice, ebb_n_elems(from));
        own[i] = middle + half * numeric_uniform(&p->choice, -0.3, 0.3);
        if (i / side % side == i % side) own[i] += like->diagonal;
    }
    ebb_tensor *at = ebb_tensor_copy(p->ctx, EBB_I64, EBB_SHAPE(n), index, (size_t)n * 8);
    ebb_tensor *plus = ebb_tensor_copy(p->ctx, EBB_F64, like->shape, own, (size_t)n * 8);
    ebb_tensor *flat = ebb_reshape(from, EBB_SHAPE(ebb_n_elems(from)));
    ebb_tensor *in[] = {flat, at};
    const int64_t axis = 0;
    ebb_tensor *x = ebb_reshape(ebb__run1(p->ctx, p->gather, &axis, 2, in), like->shape);
    return ebb_add(ebb_mul_scalar(ebb_sin(x), 0.7 * half), plus);
}

static bool fits(const harness_case *c)
{
    for (int32_t i = 0; i < c->n_in; i++)
        if (c->in[i].n > MAX_ELEMS || c->in[i].dtype == EBB_F32) return false;
    return true;
}

static ebb_status make_operands(program *p, const harness_case *c, ebb_tensor **in)
{
    for (int32_t i = 0; i < c->n_in; i++) {
        int32_t at = i < c->op->n_in ? i : c->op->n_in - 1;
        if (!c->in[i].absent && c->wants[i])
            in[i] = gather_operand(p, &c->in[i], c->op->range[at].lo, c->op->range[at].hi);
        else
            EBB_TRY(harness_tensor(&in[i], p->ctx, &c->in[i], HARNESS_CONTIGUOUS));
        EBB_TRY(ebb_check(in[i] == EBB_NONE ? p->leaf[0] : in[i]));
    }
    return EBB_OK;
}

/* ---- steps ------------------------------------------------------------------------------- */
static void drop_something(program *p)
{
    int64_t at = p->n_pool ? numeric_below(&p->chaos, p->n_pool) : 0;
    if (!p->n_pool || !p->pool[at].t || numeric_below(&p->chaos, 3) == 0) return;
    ebb__value *v = ebb__slot_raw(p->pool[at].t)->storage->value;
    if (ebb__value_can_drop(v) && ebb__value_drop(v)) p->report->n_dropped++;
}

static void release_something(program *p)
{
    if (!p->n_pool || numeric_below(&p->choice, 4) != 0) return;
    pool_entry *e = &p->pool[numeric_below(&p->choice, p->n_pool)];
    e->gone = true;
    if (!p->releases || !e->t) return;
    ebb_release(e->t);
    e->t = NULL;
    p->report->n_released++;
}

static ebb_status run_op(program *p)
{
    EBB_SCOPE(step);
    harness_case c;
    ebb_tensor *in[EBB__MAX_IN], *out[EBB__MAX_OUT];
    const ebb_op *op = choose_op(p);
    const ebb_sample *sample = &op->samples[numeric_below(&p->choice, op->n_samples)];
    const char *fault = harness_case_make(&c, op, sample, EBB_F64);
    ebb_status status = EBB_OK;
    if (!fault && fits(&c)) {
        status = make_operands(p, &c, in);
        if (status == EBB_OK)
            status =
                ebb__run(p->ctx, op, op->attr_bytes ? c.attr : NULL, c.n_in, in, c.n_out, out);
        p->report->n_ops++;
        if (status == EBB_OK) p->report->drawn[op->id] = true;
        for (int32_t k = 0; status == EBB_OK && k < c.n_out; k++)
            if (ebb_dtype_of(out[k]) == EBB_F64 && p->n_pool < MAX_POOL)
                p->pool[p->n_pool++].t = ebb_keep(out[k]);
    }
    harness_case_free(&c);
    return status;
}

/* sum of <random constant, tensor> over what is left of the pool and over the leaves */
static ebb_status make_loss(program *p, ebb_tensor **loss)
{
    *loss = ebb_zeros(p->ctx, EBB_F64, EBB_SCALAR);
    for (int32_t i = -N_LEAVES; i < p->n_pool; i++) {
        if (i >= 0 && (p->pool[i].gone || numeric_below(&p->choice, 4) == 0)) continue;
        ebb_tensor *t = i < 0 ? p->leaf[i + N_LEAVES] : p->pool[i].t;
        harness_value w;
        ebb_shape shape = ebb_shape_get(t);
        ebb_tensor *weight = NULL;
        if (!harness_value_make(&w, EBB_F64, &shape)) return ebb_fail(EBB_E_NOMEM, "test");
        harness_value_random(&w, numeric_next(&p->choice));
        ebb_status status = harness_tensor(&weight, p->ctx, &w, HARNESS_CONTIGUOUS);
        harness_value_free(&w);
        EBB_TRY(status);
        *loss = ebb_add(*loss, ebb_sum(ebb_mul(ebb_sin(t), weight), EBB_ALL));
    }
    return ebb_check(*loss);
}

typedef struct run_mode {
    bool drops, releases;
    const double *shift; /* of the leaves; then no gradient unless asked for */
    bool gradient;
    const double *vector; /* for the Hessian's product */
    ebb_context *ctx;     /* NULL: the shared one */
} run_mode;

static ebb_status make_leaves(program *p, const double *shift)
{
    numeric_random values = {p->choice.state + 1};
    for (int32_t l = 0; l < N_LEAVES; l++) {
        double x[12];
        int64_t n = ebb__n_elems(&leaf_shape[l]);
        for (int64_t k = 0; k < n; k++)
            x[k] = numeric_uniform(&values, -1, 1) + (shift ? shift[l * 12 + k] : 0);
        p->leaf[l] = ebb_tensor_copy(p->ctx, EBB_F64, leaf_shape[l], x, (size_t)n * 8);
        EBB_TRY(ebb_set_requires_grad(p->leaf[l], true));
    }
    return EBB_OK;
}

static ebb_status read_leaves(double out[N_LEAVES][12], ebb_tensor *const *from)
{
    for (int32_t l = 0; l < N_LEAVES; l++)
        EBB_TRY(ebb_read(out[l], (size_t)ebb__n_elems(&leaf_shape[l]) * 8, EBB_F64, from[l]));
    return EBB_OK;
}

static ebb_status hessian_product(program *p, program_result *r, ebb_tensor *loss,
                                  const double *vector)
{
    ebb_tensor *v[N_LEAVES], *out[N_LEAVES];
    for (int32_t l = 0; l < N_LEAVES; l++)
        v[l] = ebb_tensor_copy(p->ctx, EBB_F64, leaf_shape[l], vector + l * 12,
                               (size_t)ebb__n_elems(&leaf_shape[l]) * 8);
    EBB_TRY(ebb_hvp(out, loss, p->leaf, v, N_LEAVES));
    return read_leaves(r->product, out);
}

static ebb_status run_program(program *p, program_result *r, int32_t n_ops, const run_mode *m)
{
    EBB_SCOPE(outer);
    EBB_TRY(make_leaves(p, m->shift));
    for (int32_t k = 0; k < n_ops; k++) {
        EBB_TRY(run_op(p));
        release_something(p);
        if (p->drops) drop_something(p);
    }
    ebb_tensor *loss, *grad[N_LEAVES];
    EBB_TRY(make_loss(p, &loss));
    for (int k = 0; p->drops && k < 8; k++) drop_something(p);
    r->loss = ebb_item(loss);
    if (m->vector) EBB_TRY(hessian_product(p, r, loss, m->vector));
    if (m->shift && !m->gradient) return EBB_OK;
    EBB_TRY(ebb_backward(loss, NULL));
    for (int32_t l = 0; l < N_LEAVES; l++) grad[l] = ebb_grad_of(p->leaf[l]);
    return read_leaves(r->grad, grad);
}

static ebb_context *context;

static ebb_status run_once(program_result *r, uint64_t seed, int32_t max_ops, const run_mode *m,
                           random_program_report *report)
{
    program p = {.ctx = m->ctx ? m->ctx : context,
                 .choice = {seed},
                 .chaos = {seed ^ 0x5555},
                 .drops = m->drops,
                 .releases = m->releases,
                 .gather = ebb__registry_find(context->registry, "index_select"),
                 .report = report};
    if (!p.gather) return ebb_fail(EBB_E_UNSUPPORTED, "index_select is not in the table");
    memset(r, 0, sizeof *r);
    atomic_store(&p.ctx->random_counter, 1 << 20);
    int32_t n_ops = (int32_t)(1 + numeric_below(&p.choice, max_ops));
    ebb_status status = run_program(&p, r, n_ops, m);
    for (int32_t i = 0; i < p.n_pool; i++) ebb_release(p.pool[i].t);
    return status;
}

/* ---- what must hold ---------------------------------------------------------------------- */
static const char *nothing_left(const char *what, uint64_t seed, ebb_context *ctx,
                                const ebb_stats *before)
{
    ebb_stats now;
    ebb_stats_get(&now, ctx);
    const char *unsound = ebb__memory_check(ctx);
    if (unsound) return verdict("seed %llu, %s: %s", (unsigned long long)seed, what, unsound);
    if (now.live_nodes == 0 && now.n_handles == before->n_handles &&
        now.used_bytes == before->used_bytes && now.n_misuse == before->n_misuse)
        return NULL;
    return verdict("seed %llu, %s: %lld nodes, %lld handles, %lld bytes are left",
                   (unsigned long long)seed, what, (long long)now.live_nodes,
                   (long long)(now.n_handles - before->n_handles),
                   (long long)now.used_bytes - (long long)before->used_bytes);
}

static const char *differences(const program_result *plain, uint64_t seed, int32_t max_ops,
                               random_program_report *report)
{
    double u[N_LEAVES * 12], at[N_LEAVES * 12], numeric[3];
    numeric_random r = {seed + 77};
    double analytic = 0, size = 0;
    random_program_report unused;
    for (int i = 0; i < N_LEAVES * 12; i++) {
        u[i] = numeric_uniform(&r, -1, 1);
        analytic += u[i] * plain->grad[i / 12][i % 12];
        size += fabs(u[i] * plain->grad[i / 12][i % 12]);
    }
    for (int k = 0; k < 3; k++) { /* steps h, 2 h, 4 h */
        program_result f[2];
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < N_LEAVES * 12; i++)
                at[i] = (s ? -1 : 1) * ldexp(5e-6, k) * u[i];
            if (run_once(&f[s], seed, max_ops, &(run_mode){.shift = at}, &unused) != EBB_OK)
                return verdict("shifted: %s", ebb_error_message());
        }
        numeric[k] = (f[0].loss - f[1].loss) / (2 * ldexp(5e-6, k));
    }
    double fine = (4 * numeric[0] - numeric[1]) / 3, rough = (4 * numeric[1] - numeric[2]) / 3;
    /* Near a kink, or too curved, the two do not agree; too steep, sines turn over within a
     * step: then this says nothing. */
    if (!(fabs(fine - rough) <= 1e-6 * (size + fabs(fine))) || size > 2000) return NULL;
    report->differentiated = true;
    if (!(fabs(analytic - fine) <= 2e-5 * (size + fabs(fine)) + 1e-7))
        return verdict("seed %llu: <gradient, u> is %.10g, central differences give %.10g",
                       (unsigned long long)seed, analytic, fine);
    return NULL;
}

static double inner(const double *a, double b[N_LEAVES][12])
{
    double sum = 0;
    for (int i = 0; i < N_LEAVES * 12; i++) sum += a[i] * b[i / 12][i % 12];
    return sum;
}

/* <u, H v> against differences of the gradient along v, where the differences converge. */
static const char *second_differences(uint64_t seed, int32_t max_ops,
                                      random_program_report *report)
{
    double u[N_LEAVES * 12], v[N_LEAVES * 12], at[N_LEAVES * 12], numeric[2];
    numeric_random random = {seed + 99};
    random_program_report unused;
    program_result r, f[2];
    for (int i = 0; i < N_LEAVES * 12; i++)
        u[i] = numeric_uniform(&random, -1, 1), v[i] = numeric_uniform(&random, -1, 1);
    if (run_once(&r, seed, max_ops, &(run_mode){.vector = v}, &unused) != EBB_OK)
        return verdict("seed %llu, Hessian: %s", (unsigned long long)seed, ebb_error_message());
    for (int k = 0; k < 2; k++) {
        for (int s = 0; s < 2; s++) {
            for (int i = 0; i < N_LEAVES * 12; i++)
                at[i] = (s ? -1 : 1) * ldexp(1e-5, k) * v[i];
            const run_mode shifted = {.shift = at, .gradient = true};
            if (run_once(&f[s], seed, max_ops, &shifted, &unused) != EBB_OK)
                return verdict("shifted: %s", ebb_error_message());
        }
        numeric[k] = (inner(u, f[0].grad) - inner(u, f[1].grad)) / (2 * ldexp(1e-5, k));
    }
    double analytic = inner(u, r.product), size = 0;
    for (int i = 0; i < N_LEAVES * 12; i++) size += fabs(u[i] * r.product[i / 12][i % 12]);
    bool converged = fabs(numeric[0] - numeric[1]) <= 1e-4 * (size + fabs(numeric[0]));
    if (!converged || size > 1e5) return NULL;
    report->twice_differentiated = true;
    if (!(fabs(analytic - numeric[0]) <= 1e-3 * (size + fabs(numeric[0])) + 1e-5))
        return verdict("seed %llu: <u, H v> is %.8g, differences of the gradient give %.8g",
                       (unsigned long long)seed, analytic, numeric[0]);
    return NULL;
}

/* In a context that may be too small: refused cleanly, or right. */
static const char *with_little_memory(const program_result *plain, uint64_t seed,
                                      int32_t max_ops)
{
    ebb_context *ctx = NULL;
    ebb_stats before;
    program_result r;
    random_program_report unused;
    numeric_random random = {seed + 5};
    size_t budget = (size_t)(200000 + numeric_below(&random, 500000));
    ebb_context_options options = {.n_threads = 2, .seed = 11, .memory_budget_bytes = budget};
    ebb_error_clear();
    if (ebb_context_create(&ctx, &options) != EBB_OK) {
        ebb_error_clear();
        return NULL;
    }
    ebb_stats_get(&before, ctx);
    ebb_status status = run_once(&r, seed, max_ops, &(run_mode){.ctx = ctx}, &unused);
    const char *fault = nothing_left("with little memory", seed, ctx, &before);
    if (!fault && status != EBB_OK && status != EBB_E_BUDGET)
        fault = verdict("seed %llu, with little memory: %s", (unsigned long long)seed,
                        ebb_error_message());
    if (!fault && status == EBB_OK && memcmp(&r, plain, sizeof r) != 0)
        fault = verdict("seed %llu: other bits with little memory", (unsigned long long)seed);
    ebb_context_destroy(ctx);
    ebb_error_clear();
    return fault;
}

const char *random_program_check(uint64_t seed, int32_t max_ops, random_program_report *report)
{
    ebb_context_options options = {.n_threads = 2, .seed = 11};
    ebb_stats before;
    program_result plain, other;
    memset(report, 0, sizeof *report);
    if (!context && ebb_context_create(&context, &options) != EBB_OK)
        return verdict("%s", ebb_error_message());
    ebb_stats_get(&before, context);
    ebb_error_clear();
    if (run_once(&plain, seed, max_ops, &(run_mode){0}, report) != EBB_OK)
        return verdict("seed %llu: %s", (unsigned long long)seed, ebb_error_message());
    const char *fault = nothing_left("plain", seed, context, &before);
    const run_mode chaos = {.drops = true, .releases = true};
    if (!fault && run_once(&other, seed, max_ops, &chaos, report) != EBB_OK)
        fault =
            verdict("seed %llu, with drops: %s", (unsigned long long)seed, ebb_error_message());
    if (!fault) fault = nothing_left("with drops and releases", seed, context, &before);
    bool finite = isfinite(plain.loss) && numeric_all_finite(&plain.grad[0][0], N_LEAVES * 12);
    if (!fault && memcmp(&plain, &other, sizeof plain) != 0 && finite)
        fault = verdict("seed %llu: other bits with drops and releases: %.17g, %.17g",
                        (unsigned long long)seed, plain.loss, other.loss);
    if (!fault && finite) fault = with_little_memory(&plain, seed, max_ops);
    if (fault || !finite) return fault;
    fault = differences(&plain, seed, max_ops, report);
    if (!fault) fault = second_differences(seed, max_ops, report);
    return fault ? fault : nothing_left("shifted", seed, context, &before);
}

void random_program_close(void)
{
    ebb_context_destroy(context);
    context = NULL;
}
