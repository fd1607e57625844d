/* plan.c - building plans; plan.h has the invariants, plan_run.c runs them.
 * SPDX-License-Identifier: MIT */
#include "backend/onednn/plan.h"

#include "base/error.h"

#include <string.h>

void ebb__dnnl_plan_init(ebb__dnnl_plan *p, dnnl_engine_t engine, const ebb_allocator *a)
{
    memset(p, 0, sizeof *p);
    p->engine = engine;
    p->allocator = a;
}

void ebb__dnnl_plan_destroy(ebb__dnnl_plan *p)
{
    ebb__dnnl_frames_destroy(p);
    for (int32_t i = 0; i < p->n_memories; i++) dnnl_memory_destroy(p->memory[i].of);
    for (int32_t i = 0; i < p->n_steps; i++)
        if (p->step[i].primitive) dnnl_primitive_destroy(p->step[i].primitive);
    p->n_memories = p->n_steps = 0;
}

/* ---- building ---------------------------------------------------------------------------- */

static bool plan_try(ebb__dnnl_plan *p, dnnl_status_t s)
{
    if (p->status == dnnl_success) p->status = s;
    return p->status == dnnl_success;
}

static int32_t memory_add(ebb__dnnl_plan *p, int where, int32_t index, dnnl_memory_t of)
{
    if (p->n_memories == EBB__DNNL_MEMORIES) {
        dnnl_memory_destroy(of);
        plan_try(p, dnnl_unimplemented);
        return -1;
    }
    int32_t m = p->n_memories++;
    p->memory[m].where = where;
    p->memory[m].index = index;
    p->memory[m].of = of;
    return m;
}

static int32_t operand_add(ebb__dnnl_plan *p, int where, int32_t index,
                           const ebb__dnnl_layout *l)
{
    dnnl_memory_t of = NULL;
    if (p->status != dnnl_success || !plan_try(p, ebb__dnnl_memory(&of, p->engine, l)))
        return -1;
    return memory_add(p, where, index, of);
}

int32_t ebb__dnnl_in(ebb__dnnl_plan *p, int32_t i, const ebb__dnnl_layout *l)
{
    return operand_add(p, EBB__DNNL_IN, i, l);
}

int32_t ebb__dnnl_out(ebb__dnnl_plan *p, int32_t k, const ebb__dnnl_layout *l)
{
    return operand_add(p, EBB__DNNL_OUT, k, l);
}

static ebb__dnnl_md memory_md(const ebb__dnnl_plan *p, int32_t memory)
{
    ebb__dnnl_md md = NULL;
    if (dnnl_memory_get_memory_desc(p->memory[memory].of, &md) != dnnl_success) return NULL;
    return md;
}

static void scratch_place(ebb__dnnl_plan *p, int32_t m)
{
    p->memory[m].offset = p->scratch_bytes;
    p->scratch_bytes += (dnnl_memory_desc_get_size(memory_md(p, m)) + 63) & ~(size_t)63;
}

static int32_t scratch_add(ebb__dnnl_plan *p, ebb__dnnl_md md)
{
    dnnl_memory_t of = NULL;
    if (!plan_try(p, dnnl_memory_create(&of, md, p->engine, DNNL_MEMORY_NONE))) return -1;
    int32_t m = memory_add(p, EBB__DNNL_SCRATCH, 0, of);
    if (m >= 0) scratch_place(p, m);
    return m;
}

dnnl_primitive_t ebb__dnnl_make(ebb__dnnl_plan *p, const ebb__dnnl_request *r)
{
    dnnl_primitive_t made = NULL;
    if (p->status != dnnl_success) return NULL;
    int before = p->n_ranges ? ebb__dnnl_threads_set(1) : 0;
    plan_try(p, ebb__dnnl_primitive(&made, p->engine, r));
    if (before) ebb__dnnl_threads_set(before);
    return made;
}

int32_t ebb__dnnl_temporary(ebb__dnnl_plan *p, const ebb__dnnl_layout *l)
{
    int32_t m = operand_add(p, EBB__DNNL_SCRATCH, 0, l);
    if (m >= 0) scratch_place(p, m);
    return m;
}

void ebb__dnnl_own_step(ebb__dnnl_plan *p, ebb__dnnl_own own, int32_t to, int32_t from,
                        int64_t n, double parameter)
{
    if (p->n_steps == EBB__DNNL_STEPS) {
        plan_try(p, dnnl_unimplemented);
        return;
    }
    int32_t s = p->n_steps++;
    p->step[s].own = own;
    p->step[s].n = n;
    p->step[s].parameter = parameter;
    p->step[s].arg[0].memory = to;
    p->step[s].arg[1].memory = from;
}

void ebb__dnnl_step(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int32_t n,
                    const ebb__dnnl_argument *args)
{
    if (!primitive) return;
    if (p->n_steps == EBB__DNNL_STEPS) {
        dnnl_primitive_destroy(primitive);
        plan_try(p, dnnl_unimplemented);
        return;
    }
    int32_t s = p->n_steps++, used = 0;
    p->step[s].primitive = primitive;
    for (int32_t i = 0; i < n; i++) {
        p->step[s].arg[used].arg = args[i].arg;
        p->step[s].arg[used++].memory = args[i].memory;
    }
    ebb__dnnl_md pad = ebb__dnnl_arg_md(primitive, DNNL_ARG_SCRATCHPAD);
    if (p->status == dnnl_success && pad && dnnl_memory_desc_get_size(pad) > 0) {
        p->step[s].arg[used].arg = DNNL_ARG_SCRATCHPAD;
        p->step[s].arg[used++].memory = scratch_add(p, pad);
    }
    p->step[s].n_args = used;
}

/* With `sum` the target's content is added to. */
static dnnl_status_t reorder_create(dnnl_primitive_t *out, const ebb__dnnl_plan *p,
                                    int32_t from, int32_t to, bool sum)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t ops = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t s = dnnl_primitive_attr_create(&attr);
    if (s == dnnl_success)
        s = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (s == dnnl_success && sum) {
        s = dnnl_post_ops_create(&ops);
        if (s == dnnl_success) s = ebb__dnnl_append_sum(ops);
        if (s == dnnl_success) s = dnnl_primitive_attr_set_post_ops(attr, ops);
    }
    if (s == dnnl_success)
        s = dnnl_reorder_primitive_desc_create(&pd, memory_md(p, from), p->engine,
                                               memory_md(p, to), p->engine, attr);
    if (s == dnnl_success) s = dnnl_primitive_create(out, pd);
    if (pd) dnnl_primitive_desc_destroy(pd);
    if (ops) dnnl_post_ops_destroy(ops);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return s;
}

static void reorder_add(ebb__dnnl_plan *p, int32_t from, int32_t to, int when)
{
    dnnl_primitive_t primitive = NULL;
    if (from < 0 || to < 0 || p->status != dnnl_success) return;
    int before = p->n_ranges ? ebb__dnnl_threads_set(1) : 0;
    bool made = plan_try(p, reorder_create(&primitive, p, from, to, when == EBB__DNNL_LATER));
    if (before) ebb__dnnl_threads_set(before);
    if (!made) return;
    ebb__dnnl_argument args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    int32_t s = p->n_steps;
    ebb__dnnl_step(p, primitive, 2, args);
    if (p->n_steps > s) p->step[s].when = when;
}

int32_t ebb__dnnl_scratch(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int arg)
{
    if (p->status != dnnl_success || !primitive) return -1;
    ebb__dnnl_md want = ebb__dnnl_arg_md(primitive, arg);
    return want ? scratch_add(p, want) : -1;
}

int32_t ebb__dnnl_target(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int arg, int32_t memory)
{
    if (p->status != dnnl_success || !primitive || memory < 0) return -1;
    ebb__dnnl_md want = ebb__dnnl_arg_md(primitive, arg);
    if (want && dnnl_memory_desc_equal(want, memory_md(p, memory))) return memory;
    return ebb__dnnl_scratch(p, primitive, arg);
}

int32_t ebb__dnnl_read(ebb__dnnl_plan *p, dnnl_primitive_t primitive, int arg, int32_t memory)
{
    int32_t at = ebb__dnnl_target(p, primitive, arg, memory);
    bool moves = memory >= 0 && p->memory[memory].item_bytes > 0;
    if (at != memory) reorder_add(p, memory, at, moves ? EBB__DNNL_ALWAYS : EBB__DNNL_FIRST);
    return at;
}

void ebb__dnnl_write(ebb__dnnl_plan *p, int32_t written, int32_t memory)
{
    if (written != memory) reorder_add(p, written, memory, EBB__DNNL_ALWAYS);
}

void ebb__dnnl_write_sum(ebb__dnnl_plan *p, int32_t written, int32_t k,
                         const ebb__dnnl_layout *l)
{
    int32_t part = ebb__dnnl_temporary(p, l);
    reorder_add(p, written, part, EBB__DNNL_FIRST);
    reorder_add(p, written, part, EBB__DNNL_LATER);
    p->sum_memory = part;
    p->sum_out = k;
    p->n_sum = 1;
    for (int32_t i = 0; i < l->rank; i++) p->n_sum *= l->dims[i];
}

int32_t ebb__dnnl_batch(ebb__dnnl_plan *p, int32_t memory, const ebb__dnnl_layout *l)
{
    if (memory >= 0) p->memory[memory].item_bytes = (size_t)l->strides[0] * sizeof(float);
    return memory;
}

/* oneDNN's own reference kernels are slower than ours. */
static bool kernel_is_fast(dnnl_primitive_t primitive)
{
    const char *name = NULL;
    const_dnnl_primitive_desc_t pd = NULL;
    if (!primitive) return true;
    return dnnl_primitive_get_primitive_desc(primitive, &pd) == dnnl_success &&
           dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
           strncmp(name, "ref", 3) != 0;
}

/* The frames of one run are made here, so that the first run allocates nothing either. */
void ebb__dnnl_plan_finish(ebb__dnnl_plan *p)
{
    for (int32_t i = 0; i < p->n_steps && p->status == dnnl_success; i++)
        if (!kernel_is_fast(p->step[i].primitive)) p->status = dnnl_unimplemented;
    if (p->status != dnnl_success) return;
    int32_t n = p->n_ranges ? p->n_ranges : 1;
    p->range_bytes = p->scratch_bytes;
    p->scratch_bytes *= (size_t)n;
    p->status = ebb__dnnl_frames_prepare(p, n);
}

/* ---- layouts ----------------------------------------------------------------------------- */

ebb__dnnl_layout ebb__dnnl_layout_of(const ebb_view *v)
{
    ebb__dnnl_layout l = {.rank = (int32_t)v->shape.n_dims};
    for (int32_t i = 0; i < l.rank; i++) {
        l.dims[i] = v->shape.dims[i];
        l.strides[i] = v->strides[i];
    }
    return l;
}

ebb__dnnl_layout ebb__dnnl_layout_dense(int32_t rank, const int64_t *dims)
{
    ebb__dnnl_layout l = {.rank = rank};
    int64_t stride = 1;
    for (int32_t i = rank - 1; i >= 0; i--) {
        l.dims[i] = dims[i];
        l.strides[i] = stride;
        stride *= dims[i];
    }
    return l;
}

ebb__dnnl_layout ebb__dnnl_layout_any(ebb__dnnl_layout l)
{
    l.any = l.rank > 0;
    return l;
}
