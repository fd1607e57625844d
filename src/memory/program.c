/* program.c - from a checked trace to steps.
 * SPDX-License-Identifier: MIT */
#include "memory/program.h"

#include "base/error.h"

#include <string.h>

enum { NONE = UINT32_MAX };

typedef struct maker {
    const ebb__trace *t;
    ebb__program *p;
    uint32_t *val_of; /* storages: NONE where it has no bytes or is not made yet */
    uint32_t *refs;   /* storages */
    uint32_t *last;   /* vals: the step that named it last, to name each once */
    bool *pinned;     /* vals */
    bool *fixed;      /* vals: in memory whatever is done: sources, and pinned ones */
} maker;

static ebb__step *step_add(maker *m, ebb__step_kind kind)
{
    ebb__program *p = m->p;
    ebb__step *s = &p->steps[p->n_steps++];
    *s = (ebb__step){.kind = kind, .in = p->n_links, .out = p->n_links, .gone = p->n_links};
    return s;
}

static void call(maker *m, uint32_t o)
{
    const ebb__trace *t = m->t;
    ebb__program *p = m->p;
    const ebb__traced_op *op = &t->ops[o];
    uint32_t at = p->n_steps;
    ebb__step *s = step_add(m, op->is_constant ? EBB__STEP_SOURCE : EBB__STEP_RUN);
    s->cost = op->is_constant ? 0 : op->cost;
    s->op = o;
    const uint32_t *in = t->links + op->first, *out = in + op->n_in;
    bool is_view = op->n_out > 0;
    for (uint32_t k = 0; k < op->n_out; k++) {
        uint32_t storage = t->tensors[out[k]].storage;
        if (m->refs[storage]++ == 0 && m->val_of[storage] == NONE) is_view = false;
    }
    for (uint32_t i = 0; i < op->n_in && !is_view && !op->is_constant; i++) {
        uint32_t val = m->val_of[t->tensors[in[i]].storage];
        if (val == NONE || m->last[val] == at + 1) continue;
        m->last[val] = at + 1;
        p->links[p->n_links++] = val;
        s->n_in++;
    }
    s->out = p->n_links;
    for (uint32_t k = 0; k < op->n_out; k++) {
        uint32_t storage = t->tensors[out[k]].storage;
        if (m->val_of[storage] != NONE || !t->storages[storage]) continue;
        uint32_t val = m->val_of[storage] = p->n_vals++;
        p->bytes[val] = t->storages[storage];
        p->made[val] = at;
        p->left[val] = NONE;
        p->links[p->n_links++] = val;
        s->n_out++;
    }
    s->gone = p->n_links;
    if (p->n_forward == NONE && strstr(t->names + op->name, "backward")) p->n_forward = at;
}

static void pin(maker *m, uint32_t tensor)
{
    ebb__program *p = m->p;
    uint32_t val = m->val_of[m->t->tensors[tensor].storage];
    if (val == NONE || m->pinned[val]) return;
    m->pinned[val] = true;
    ebb__step *s = step_add(m, EBB__STEP_PIN);
    p->links[p->n_links++] = val;
    s->n_in = 1;
    s->out = s->gone = p->n_links;
}

static void release(maker *m, uint32_t tensor)
{
    ebb__program *p = m->p;
    uint32_t storage = m->t->tensors[tensor].storage;
    if (--m->refs[storage]) return;
    uint32_t val = m->val_of[storage];
    if (val == NONE || m->pinned[val]) return;
    p->left[val] = p->n_steps - 1;
    p->links[p->n_links++] = val;
    p->steps[p->n_steps - 1].n_gone++;
}

static void commands(maker *m)
{
    const ebb__trace *t = m->t;
    for (uint32_t i = 0; i < t->n_commands; i++) {
        uint32_t what = t->commands[i].what;
        switch ((ebb__trace_verb)t->commands[i].verb) {
        case EBB__TRACE_CALL:
            call(m, what);
            break;
        case EBB__TRACE_GET:
            m->refs[t->tensors[what].storage]++;
            break;
        case EBB__TRACE_RELEASE:
            release(m, what);
            break;
        case EBB__TRACE_PIN:
            pin(m, what);
            break;
        }
    }
}

/* Counts, then places; afterwards use[v] has moved to where v's end, so it is moved back. */
static void uses_make(ebb__program *p)
{
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t i = 0; i < p->n_steps; i++)
            for (uint32_t k = 0; k < p->steps[i].n_in; k++) {
                uint32_t val = ebb__step_in(p, i)[k];
                if (fill)
                    p->uses[p->use[val]++] = i;
                else
                    p->use[val + 1]++;
            }
        if (!fill)
            for (uint32_t v = 0; v < p->n_vals; v++) p->use[v + 1] += p->use[v];
    }
    for (uint32_t v = p->n_vals; v > 0; v--) p->use[v] = p->use[v - 1];
    p->use[0] = 0;
}

static void must_make(maker *m, uint32_t i, uint64_t *held, uint64_t *fixed)
{
    ebb__program *p = m->p;
    const ebb__step *s = &p->steps[i];
    bool fixes = s->kind != EBB__STEP_RUN;
    uint64_t made = 0, read = 0;
    for (uint32_t k = 0; k < s->n_out; k++) {
        uint32_t v = ebb__step_out(p, i)[k];
        made += p->bytes[v];
        m->fixed[v] = fixes;
    }
    for (uint32_t k = 0; k < s->n_in; k++) {
        uint32_t v = ebb__step_in(p, i)[k];
        if (m->fixed[v]) continue;
        read += p->bytes[v];
        m->fixed[v] = fixes;
    }
    *held += made;
    p->must[i] = *fixed + made + read;
    if (fixes) *fixed = p->must[i];
    if (p->must[i] > p->bottleneck) p->bottleneck = p->must[i];
    if (*held > p->peak) p->peak = *held;
    for (uint32_t k = 0; k < s->n_gone; k++) {
        uint32_t v = p->links[s->gone + k];
        *held -= p->bytes[v];
        if (m->fixed[v]) *fixed -= p->bytes[v];
    }
}

/* Places in one block, n items each, in the order of a call; base NULL: only adds up. */
static void *place(char *base, size_t *at, size_t n, size_t item)
{
    void *p = base ? base + *at : NULL;
    *at += (n * item + 15) / 16 * 16;
    return p;
}

static size_t n_pins(const ebb__trace *t)
{
    size_t n = 0;
    for (uint32_t i = 0; i < t->n_commands; i++) n += t->commands[i].verb == EBB__TRACE_PIN;
    return n;
}

static size_t program_tables(ebb__program *p, char *base, const ebb__trace *t)
{
    size_t vals = t->n_storages, pins = n_pins(t), steps = t->n_ops + pins, at = 0;
    size_t uses = t->n_links + pins, links = uses + vals;
    p->bytes = place(base, &at, vals, sizeof *p->bytes);
    p->made = place(base, &at, vals, sizeof *p->made);
    p->left = place(base, &at, vals, sizeof *p->left);
    p->use = place(base, &at, vals + 1, sizeof *p->use);
    p->uses = place(base, &at, uses, sizeof *p->uses);
    p->links = place(base, &at, links, sizeof *p->links);
    p->steps = place(base, &at, steps, sizeof *p->steps);
    p->time = place(base, &at, steps + 1, sizeof *p->time);
    p->must = place(base, &at, steps, sizeof *p->must);
    return at;
}

static size_t maker_tables(maker *m, char *base, const ebb__trace *t)
{
    size_t n = t->n_storages, at = 0;
    m->val_of = place(base, &at, n, sizeof *m->val_of);
    m->refs = place(base, &at, n, sizeof *m->refs);
    m->last = place(base, &at, n, sizeof *m->last);
    m->pinned = place(base, &at, n, sizeof *m->pinned);
    m->fixed = place(base, &at, n, sizeof *m->fixed);
    return at;
}

static void make(maker *m)
{
    ebb__program *p = m->p;
    memset(m->val_of, 0xff, m->t->n_storages * sizeof *m->val_of);
    p->n_forward = NONE;
    commands(m);
    if (p->n_forward == NONE) p->n_forward = p->n_steps;
    for (uint32_t v = 0; v < p->n_vals; v++)
        if (p->left[v] == NONE) p->left[v] = p->n_steps;
    uses_make(p);
    uint64_t held = 0, fixed = 0;
    for (uint32_t i = 0; i < p->n_steps; i++) {
        p->time[i + 1] = p->time[i] + p->steps[i].cost;
        must_make(m, i, &held, &fixed);
    }
    p->cost = p->time[p->n_steps];
}

ebb_status ebb__program_create(ebb__program *out, const ebb_allocator *allocator,
                               const ebb__trace *t)
{
    ebb__program p = {.allocator = *allocator};
    maker m = {.t = t, .p = &p};
    size_t scratch = maker_tables(&m, NULL, t) + 16;
    p.own_bytes = program_tables(&p, NULL, t) + 16;
    void *temporary = ebb__alloc(allocator, scratch, 16);
    p.block = ebb__alloc(allocator, p.own_bytes, 16);
    if (!temporary || !p.block) {
        ebb__free(allocator, temporary, scratch);
        ebb__free(allocator, p.block, p.own_bytes);
        return ebb__fail(EBB_E_NOMEM, "no memory for a program of %u operations", t->n_ops);
    }
    memset(temporary, 0, scratch);
    memset(p.block, 0, p.own_bytes);
    maker_tables(&m, temporary, t);
    program_tables(&p, p.block, t);
    make(&m);
    ebb__free(allocator, temporary, scratch);
    *out = p;
    return EBB_OK;
}

void ebb__program_destroy(ebb__program *p)
{
    ebb__free(&p->allocator, p->block, p->own_bytes);
    p->block = NULL;
}

uint32_t ebb__program_next_use(const ebb__program *p, uint32_t val, uint32_t from)
{
    uint32_t low = p->use[val], high = p->use[val + 1];
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (p->uses[mid] < from)
            low = mid + 1;
        else
            high = mid;
    }
    return low < p->use[val + 1] ? p->uses[low] : NONE;
}
