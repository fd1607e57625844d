/* plan_run.c - running plans; plan.h has the invariants.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/plan.h"
#include "base/error.h"

#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

struct ebb__dnnl_frame {
    ebb__dnnl_frame *next;
    dnnl_stream_t stream;
    dnnl_memory_t memory[EBB__DNNL_MEMORIES];
    dnnl_exec_arg_t arg[EBB__DNNL_STEPS][EBB__DNNL_ARGS];
};

int ebb__dnnl_threads_set(int n)
{
#ifdef _OPENMP
    int before = omp_get_max_threads();
    if (before != n) omp_set_num_threads(n);
    return before;
#else
    return n;
#endif
}

/* ---- frames ------------------------------------------------------------------------------ */

static void frame_destroy(const ebb__dnnl_plan *p, ebb__dnnl_frame *f)
{
    for (int32_t i = 0; i < p->n_memories; i++)
        if (f->memory[i]) dnnl_memory_destroy(f->memory[i]);
    if (f->stream) dnnl_stream_destroy(f->stream);
    ebb__free(p->allocator, f, sizeof *f);
}

static ebb__dnnl_md memory_md(const ebb__dnnl_plan *p, int32_t memory)
{
    ebb__dnnl_md md = NULL;
    dnnl_status_t s = dnnl_memory_get_memory_desc(p->memory[memory].of, &md);
    return s == dnnl_success ? md : NULL;
}

static ebb__dnnl_frame *frame_create(const ebb__dnnl_plan *p)
{
    ebb__dnnl_frame *f = ebb__alloc(p->allocator, sizeof *f, _Alignof(max_align_t));
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    dnnl_status_t s = dnnl_stream_create(&f->stream, p->engine, dnnl_stream_default_flags);
    for (int32_t i = 0; i < p->n_memories && s == dnnl_success; i++)
        s = dnnl_memory_create(&f->memory[i], memory_md(p, i), p->engine, DNNL_MEMORY_NONE);
    if (s != dnnl_success) {
        frame_destroy(p, f);
        return NULL;
    }
    for (int32_t i = 0; i < p->n_steps; i++)
        for (int32_t j = 0; j < p->step[i].n_args; j++) {
            f->arg[i][j].arg = p->step[i].arg[j].arg;
            f->arg[i][j].memory = f->memory[p->step[i].arg[j].memory];
        }
    return f;
}

static ebb__dnnl_frame *frame_take(ebb__dnnl_plan *p)
{
    ebb__lock_take(&p->lock);
    ebb__dnnl_frame *f = p->frames;
    if (f) p->frames = f->next;
    ebb__lock_give(&p->lock);
    return f ? f : frame_create(p);
}

static void frame_give(ebb__dnnl_plan *p, ebb__dnnl_frame *f)
{
    ebb__lock_take(&p->lock);
    f->next = p->frames;
    p->frames = f;
    ebb__lock_give(&p->lock);
}

dnnl_status_t ebb__dnnl_frames_prepare(ebb__dnnl_plan *p, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        ebb__dnnl_frame *f = frame_create(p);
        if (!f) return dnnl_out_of_memory;
        frame_give(p, f);
    }
    return dnnl_success;
}

void ebb__dnnl_frames_destroy(ebb__dnnl_plan *p)
{
    while (p->frames) {
        ebb__dnnl_frame *f = p->frames;
        p->frames = f->next;
        frame_destroy(p, f);
    }
}

/* ---- one range --------------------------------------------------------------------------- */

/* Items [lo, hi) of the call, on the calling thread where the plan has rounds. */
typedef struct range {
    ebb__dnnl_plan *plan;
    const ebb__call *call;
    ebb__dnnl_frame *frame;
    char *scratch;
    int64_t lo, hi;
} range;

static void *address_of(const range *r, int32_t memory, int64_t item)
{
    const ebb__dnnl_plan *p = r->plan;
    char *at = r->scratch + p->memory[memory].offset;
    int32_t index = p->memory[memory].index;
    if (p->memory[memory].where == EBB__DNNL_IN) at = r->call->in[index].data;
    if (p->memory[memory].where == EBB__DNNL_OUT) at = r->call->out[index].data;
    return at + (size_t)item * p->memory[memory].item_bytes;
}

static dnnl_status_t step_run(const range *r, int32_t i)
{
    const ebb__dnnl_plan *p = r->plan;
    if (p->step[i].primitive)
        return dnnl_primitive_execute(p->step[i].primitive, r->frame->stream, p->step[i].n_args,
                                      r->frame->arg[i]);
    p->step[i].own(address_of(r, p->step[i].arg[0].memory, 0),
                   address_of(r, p->step[i].arg[1].memory, 0), p->step[i].n,
                   p->step[i].parameter);
    return dnnl_success;
}

static dnnl_status_t round_run(const range *r, int64_t item)
{
    const ebb__dnnl_plan *p = r->plan;
    bool first = item == r->lo;
    dnnl_status_t s = dnnl_success;
    for (int32_t i = 0; i < p->n_memories && s == dnnl_success; i++)
        if (first || p->memory[i].item_bytes > 0)
            s = dnnl_memory_set_data_handle(r->frame->memory[i], address_of(r, i, item));
    int skipped = first ? EBB__DNNL_LATER : EBB__DNNL_FIRST;
    for (int32_t i = 0; i < p->n_steps && s == dnnl_success; i++)
        if ((int)p->step[i].when != skipped) s = step_run(r, i);
    return s;
}

static dnnl_status_t range_run(range *r)
{
    const ebb__dnnl_plan *p = r->plan;
    r->frame = frame_take(r->plan);
    if (!r->frame) return dnnl_out_of_memory;
    dnnl_status_t s = round_run(r, r->lo);
    int64_t last = r->hi - p->round_items;
    for (int64_t i = r->lo + p->round_items; i < r->hi && s == dnnl_success;
         i += p->round_items)
        s = round_run(r, i < last ? i : last);
    if (s == dnnl_success) s = dnnl_stream_wait(r->frame->stream);
    frame_give(r->plan, r->frame);
    return s;
}

/* ---- all ranges -------------------------------------------------------------------------- */

static dnnl_status_t range_number(ebb__dnnl_plan *p, const ebb__call *c, int32_t k)
{
    int before = ebb__dnnl_threads_set(1);
    range r = {.plan = p,
               .call = c,
               .scratch = (char *)c->scratch + (size_t)k * p->range_bytes,
               .lo = p->n_items * k / p->n_ranges,
               .hi = p->n_items * (k + 1) / p->n_ranges};
    dnnl_status_t s = range_run(&r);
    ebb__dnnl_threads_set(before);
    return s;
}

/* The runtime may give fewer threads than there are ranges. */
static dnnl_status_t ranges_run(ebb__dnnl_plan *p, const ebb__call *c)
{
    if (p->n_ranges == 1) return range_number(p, c, 0);
    atomic_int failed = dnnl_success;
#ifdef _OPENMP
#pragma omp parallel for num_threads(p->n_ranges) schedule(static, 1)
#endif
    for (int32_t k = 0; k < p->n_ranges; k++) {
        dnnl_status_t s = range_number(p, c, k);
        if (s != dnnl_success) atomic_store(&failed, (int)s);
    }
    return (dnnl_status_t)atomic_load(&failed);
}

/* In the order of the ranges. */
static void ranges_sum(const ebb__dnnl_plan *p, const ebb__call *c)
{
    float *to = c->out[p->sum_out].data;
    for (int32_t k = 0; k < p->n_ranges; k++) {
        const float *part = (const void *)((char *)c->scratch + (size_t)k * p->range_bytes +
                                           p->memory[p->sum_memory].offset);
        for (int64_t i = 0; i < p->n_sum; i++) to[i] = k ? to[i] + part[i] : part[i];
    }
}

ebb_status ebb__dnnl_plan_run(ebb__dnnl_plan *p, const ebb__call *c)
{
    range whole = {.plan = p, .call = c, .scratch = c->scratch};
    dnnl_status_t s = p->n_ranges ? ranges_run(p, c) : range_run(&whole);
    if (s == dnnl_success && p->n_sum) ranges_sum(p, c);
    if (s == dnnl_success) return EBB_OK;
    return ebb__fail(s == dnnl_out_of_memory ? EBB_E_NOMEM : EBB_E_BACKEND, "oneDNN reports %s",
                     ebb__dnnl_status_text(s));
}
