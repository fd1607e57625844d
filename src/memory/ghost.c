/* ghost.c - a program under a budget, in numbers.
 *
 * Invariants: for each rebuild on the stack the inputs of its recipe are locked once they are
 * resident; what the step at hand reads is locked once all of it is, in protected mode each at
 * once: until then one may go again for the rebuild of another, as the last resort, since its
 * next use is now. Resident bytes + what is reserved never exceed the budget.
 *
 * Termination. A step's rebuilds may cost 4 times its distinct missing ancestors + 8 times
 * itself, and be 64 times as many and a thousand: some may cost next to nothing. When that is
 * used up, vals restored from then on stay until the step has run, so each ancestor runs once
 * more at most.
 * SPDX-License-Identifier: MIT */
#include "memory/ghost.h"

#include "base/check.h"
#include "base/error.h"
#include "memory/ghost_moves.h"

#include <string.h>

enum { NONE = UINT32_MAX, RELAX_MAX = 256 }; /* of one step: where recipes cost nothing */

typedef struct ebb__ghost {
    const ebb__program *p;
    ebb__ghost_options options;
    const ebb__ghost_options *o; /* these */
    size_t bytes;                /* with its tables */
    ebb__ghost_result r;
    ebb__ledger *l;
    uint32_t *id;    /* vals: their number in the ledger */
    uint32_t *val;   /* numbers in the ledger: the val that had it last */
    uint32_t *nexts; /* vals: in uses, where the next one may be */
    uint32_t *stack; /* vals being made again */
    uint32_t *kept;  /* vals that protected mode has locked */
    uint32_t *walk;  /* of fuel_fill; numbers of one step's vals */
    uint32_t *mark;  /* steps: the last walk that saw it */
    uint64_t *sizes; /* of one step's outputs */
    bool *link_locked, *is_kept;
    bool *link_held;                    /* EBB__ACT_HOLD is in force */
    uint32_t *held_by;                  /* vals: the output that is held for; NONE */
    uint32_t *again_first, *again_next; /* steps: the first val to make again there; vals: the
                                         * next; NONE */
    uint32_t n_kept, n_stack, n_relaxed, stamp, step;
    double most_extra, extra; /* cost of what is run again: of all of it, so far */
    double fuel;
    uint64_t n_runs; /* that may come yet */
    bool is_protected, is_known;
    bool has_run; /* the step at hand */
    ebb__moves moves;
} ghost;

static double axis_at(const ghost *g, uint32_t step)
{
    return g->o->axis ? g->o->axis[step] : g->p->time[step];
}

/* ---- locks and room -------------------------------------------------------------------------------- */
static void event_tell(const ghost *g, uint32_t val, bool again)
{
    const ebb__ghost_event e = {g->step, val & (UINT32_MAX >> 2), again, g->has_run};
    if (g->o->happened) g->o->happened(g->o->user, &e);
}

static void drop(ghost *g, uint32_t id)
{
    event_tell(g, g->val[id], false);
    g->r.n_evictions++;
    ebb__ledger_dropped(g->l, id);
}

static bool is_resident(const ghost *g, uint32_t val)
{
    return ebb__ledger_is_resident(g->l, g->id[val]);
}

/* Each step is at most once in the making, so what it has locked is kept by link. */
static void inputs_lock(ghost *g, uint32_t step)
{
    const ebb__step *s = &g->p->steps[step];
    for (uint32_t k = s->in; k < s->in + s->n_in; k++) {
        uint32_t val = g->p->links[k];
        if (g->link_locked[k] || !is_resident(g, val)) continue;
        g->link_locked[k] = true;
        ebb__ledger_lock(g->l, g->id[val]);
    }
}

static void inputs_unlock(ghost *g, uint32_t step)
{
    const ebb__step *s = &g->p->steps[step];
    for (uint32_t k = s->in; k < s->in + s->n_in; k++) {
        if (!g->link_locked[k]) continue;
        g->link_locked[k] = false;
        ebb__ledger_unlock(g->l, g->id[g->p->links[k]]);
    }
}

/* The last resort: what rebuilds below the one at hand have gathered may go and be made again. */
static bool relax(ghost *g)
{
    if (g->is_protected || g->n_stack < 2 || ++g->n_relaxed > RELAX_MAX) return false;
    for (uint32_t i = 0; i + 1 < g->n_stack; i++) inputs_unlock(g, g->p->made[g->stack[i]]);
    inputs_lock(g, g->p->made[g->stack[g->n_stack - 1]]);
    return true;
}

static bool reserve(ghost *g, uint64_t need)
{
    uint64_t budget = g->o->budget;
    for (uint64_t used; budget && (used = ebb__ledger_resident_bytes(g->l)) + need > budget;) {
        uint32_t id = ebb__ledger_victim(g->l, used + need - budget);
        if (id == EBB__LEDGER_NONE && relax(g))
            id = ebb__ledger_victim(g->l, used + need - budget);
        if (id == EBB__LEDGER_NONE) {
            g->r.end = EBB__GHOST_SHORT;
            g->r.short_bytes = used + need - budget;
            return false;
        }
        drop(g, id);
    }
    uint64_t used = ebb__ledger_resident_bytes(g->l) + need;
    if (used > g->r.peak) g->r.peak = used;
    g->r.allocated_bytes += need;
    return true;
}

/* Away, and somebody needs it. */
static bool is_wanted(const ghost *g, uint32_t val)
{
    uint32_t id = g->id[val];
    return g->val[id] == val && !ebb__ledger_is_resident(g->l, id) &&
           ebb__ledger_is_needed(g->l, id);
}

static bool is_there(const void *user, uint32_t val)
{
    const ghost *g = user;
    return g->val[g->id[val]] == val && ebb__ledger_is_resident(g->l, g->id[val]);
}

/* Places what a step has made, or makes again, before the ledger has it: what is there keeps its
 * place. */
static void place(ghost *g, uint32_t step, bool is_again)
{
    const uint32_t *out = ebb__step_out(g->p, step);
    if (!g->moves.blocks) return;
    ebb__moves_sync(&g->moves, is_there, g);
    for (uint32_t k = 0; k < g->p->steps[step].n_out; k++) {
        if (is_again && !is_wanted(g, out[k])) continue;
        ebb__moves_place(&g->moves, out[k], g->p->bytes[out[k]]);
    }
}

/* What is beyond the limit once all steps have run is beyond it now. */
static bool spend_again(ghost *g, double cost)
{
    g->r.cost += cost;
    g->extra += cost;
    if (g->extra <= g->most_extra) return true;
    g->r.end = EBB__GHOST_LIMIT;
    return false;
}

/* ---- protected mode ---------------------------------------------------------------------- */
static void keep(ghost *g, uint32_t val)
{
    if (!g->is_protected || g->is_kept[val]) return;
    g->is_kept[val] = true;
    g->kept[g->n_kept++] = val;
    ebb__ledger_lock(g->l, g->id[val]);
}

/* Ends protected mode: what it locked, and is still known, is free to go. */
static void keep_end(ghost *g)
{
    while (g->n_kept) {
        uint32_t val = g->kept[--g->n_kept];
        g->is_kept[val] = false;
        if (g->val[g->id[val]] == val) ebb__ledger_unlock(g->l, g->id[val]);
    }
    g->is_protected = false;
}

/* ---- rebuilding -------------------------------------------------------------------------- */
/* By the distinct recipes of what the step misses, and of what that misses. */
static void fuel_fill(ghost *g, uint32_t step)
{
    const ebb__program *p = g->p;
    double cost = 0;
    uint32_t n = 0;
    g->n_runs = 1000;
    g->stamp++;
    for (uint32_t at = step;; at = p->made[g->walk[--n]]) {
        const uint32_t *in = ebb__step_in(p, at);
        for (uint32_t i = 0; i < p->steps[at].n_in; i++) {
            uint32_t made = p->made[in[i]];
            if (is_resident(g, in[i]) || g->mark[made] == g->stamp) continue;
            g->mark[made] = g->stamp;
            cost += p->steps[made].cost;
            g->n_runs += 64;
            g->walk[n++] = in[i];
        }
        if (!n) break;
    }
    g->fuel = 4 * cost + 8 * p->steps[step].cost;
}

/* Runs the recipe of val, whose inputs are there and locked; with it come back the other
 * outputs that are needed. */
static bool rerun(ghost *g, uint32_t val)
{
    const ebb__program *p = g->p;
    uint32_t step = p->made[val];
    const uint32_t *out = ebb__step_out(p, step);
    uint64_t need = 0;
    for (uint32_t k = 0; k < p->steps[step].n_out; k++) need += p->bytes[out[k]];
    double cost = p->steps[step].cost;
    if (!reserve(g, need) || !spend_again(g, cost)) return false;
    event_tell(g, val, true);
    g->r.n_rebuilt++;
    g->fuel -= cost;
    if (g->n_runs) g->n_runs--;
    if ((g->fuel < 0 || !g->n_runs) && !g->is_protected) {
        g->is_protected = true;
        g->r.n_protected++;
    }
    inputs_unlock(g, step);
    place(g, step, true);
    for (uint32_t k = 0; k < p->steps[step].n_out; k++) {
        if (!is_wanted(g, out[k])) continue;
        ebb__ledger_restored(g->l, g->id[out[k]]);
        keep(g, out[k]);
    }
    return true;
}

/* Makes val resident. The stack holds vals whose recipes have their resident inputs locked. */
static bool materialise(ghost *g, uint32_t val)
{
    if (is_resident(g, val)) return true;
    g->stack[0] = val;
    g->n_stack = 1;
    while (g->n_stack) {
        uint32_t top = g->stack[g->n_stack - 1];
        inputs_lock(g, g->p->made[top]);
        uint32_t missing = ebb__ledger_first_missing(g->l, g->id[top]);
        if (missing != EBB__LEDGER_NONE)
            g->stack[g->n_stack++] = g->val[missing];
        else if (rerun(g, top))
            g->n_stack--;
        else
            return false;
    }
    return true;
}

/* ---- next uses --------------------------------------------------------------------------- */
static double own_next(ghost *g, uint32_t val)
{
    const ebb__program *p = g->p;
    uint32_t *u = &g->nexts[val];
    while (*u < p->use[val + 1] && p->uses[*u] <= g->step) ++*u;
    return *u < p->use[val + 1] ? axis_at(g, p->uses[*u]) : EBB__NEXT_NONE;
}

/* What is held for an output is needed when that is. */
static void next_set(ghost *g, uint32_t val)
{
    const ebb__program *p = g->p;
    if (!g->is_known) return;
    double at = own_next(g, val), with = at;
    if (g->held_by[val] != NONE) with = fmin(at, own_next(g, g->held_by[val]));
    ebb__ledger_set_next(g->l, g->id[val], with);
    const ebb__step *s = &p->steps[p->made[val]];
    for (uint32_t k = s->in; k < s->in + s->n_in; k++)
        if (g->link_held[k] && g->held_by[p->links[k]] == val)
            ebb__ledger_set_next(g->l, g->id[p->links[k]], fmin(at, own_next(g, p->links[k])));
}

/* The backward pass begins: what is alive learns its next use. */
static void know(ghost *g)
{
    g->is_known = true;
    for (uint32_t v = 0; v < g->p->n_vals; v++) {
        if (g->p->made[v] >= g->step || g->p->left[v] < g->step) continue;
        --g->step;
        next_set(g, v);
        ++g->step;
    }
}

/* ---- acts -------------------------------------------------------------------------------- */
static void hold_begin(ghost *g, uint32_t link)
{
    const ebb__step *s = &g->p->steps[g->step];
    if (!s->n_out || s->kind != EBB__STEP_RUN) return;
    uint32_t val = g->p->links[link];
    g->link_held[link] = true;
    g->held_by[val] = ebb__step_out(g->p, g->step)[0];
    ebb__ledger_use(g->l, g->id[val]);
    next_set(g, val);
}

/* val is gone. */
static void hold_end(ghost *g, uint32_t val)
{
    const ebb__step *s = &g->p->steps[g->p->made[val]];
    if (g->p->links[s->out] != val) return;
    for (uint32_t k = s->in; k < s->in + s->n_in; k++) {
        if (!g->link_held[k]) continue;
        uint32_t held = g->p->links[k];
        g->link_held[k] = false;
        if (g->held_by[held] == val) g->held_by[held] = NONE;
        ebb__ledger_unuse(g->l, g->id[held]);
    }
}

static bool acts(ghost *g)
{
    const ebb__step *s = &g->p->steps[g->step];
    for (uint32_t k = s->in; k < s->out + s->n_out && g->o->early; k++) {
        uint32_t act = g->o->early[k], id = g->id[g->p->links[k]];
        if ((act & EBB__ACT_HOLD) && k < s->out) hold_begin(g, k);
        if ((act & EBB__ACT_DROP) && ebb__ledger_can_drop(g->l, id)) drop(g, id);
    }
    if (!g->o->again) return true;
    for (uint32_t v = g->again_first[g->step]; v != NONE; v = g->again_next[v])
        if (is_wanted(g, v) && !materialise(g, v)) return false;
    if (g->n_kept) keep_end(g);
    return true;
}

/* ---- steps ------------------------------------------------------------------------------- */
static ebb_status outputs_add(ghost *g)
{
    const ebb__step *s = &g->p->steps[g->step];
    const uint32_t *in = ebb__step_in(g->p, g->step), *out = ebb__step_out(g->p, g->step);
    uint32_t *ids = g->walk;
    for (uint32_t i = 0; i < s->n_in; i++) ids[i] = g->id[in[i]];
    for (uint32_t k = 0; k < s->n_out; k++) g->sizes[k] = g->p->bytes[out[k]];
    if (s->kind == EBB__STEP_RUN)
        EBB_TRY(ebb__ledger_rec_add(ids + s->n_in, g->l, s->cost, s->n_in, ids, s->n_out,
                                    g->sizes));
    for (uint32_t k = 0; k < s->n_out; k++) {
        if (s->kind == EBB__STEP_SOURCE)
            EBB_TRY(ebb__ledger_source_add(&ids[s->n_in + k], g->l, g->sizes[k]));
        g->id[out[k]] = ids[s->n_in + k];
        g->val[ids[s->n_in + k]] = out[k];
        next_set(g, out[k]);
        if (g->o->weight) ebb__ledger_set_weight(g->l, g->id[out[k]], g->o->weight[out[k]]);
    }
    return EBB_OK;
}

/* Brings what the step reads, and room for what it makes. */
static bool step_prepare(ghost *g)
{
    const ebb__step *s = &g->p->steps[g->step];
    const uint32_t *in = ebb__step_in(g->p, g->step), *out = ebb__step_out(g->p, g->step);
    fuel_fill(g, g->step);
    g->n_relaxed = 0;
    for (uint32_t i = 0; i < s->n_in;) {
        if (g->is_protected) inputs_lock(g, g->step);
        bool was_there = is_resident(g, in[i]);
        EBB_ASSERT(was_there || is_wanted(g, in[i]));
        if (!was_there && !materialise(g, in[i])) return false;
        i = was_there ? i + 1 : 0;
    }
    inputs_lock(g, g->step);
    uint64_t need = 0;
    for (uint32_t k = 0; k < s->n_out; k++) need += g->p->bytes[out[k]];
    if (g->n_kept) keep_end(g);
    for (uint32_t i = 0; i < s->n_in; i++) next_set(g, in[i]);
    if (!reserve(g, need)) return false;
    g->r.cost += s->cost;
    return true;
}

static ebb_status step_run(ghost *g)
{
    const ebb__step *s = &g->p->steps[g->step];
    ebb__ledger_clock(g->l, g->p->time[g->step], axis_at(g, g->step));
    if (g->step == g->o->known_from) know(g);
    if (!step_prepare(g)) return EBB_OK;
    ebb__ledger_clock(g->l, g->p->time[g->step + 1], axis_at(g, g->step + 1));
    place(g, g->step, false);
    EBB_TRY(outputs_add(g));
    const uint32_t *in = ebb__step_in(g->p, g->step);
    for (uint32_t i = 0; i < s->n_in; i++) ebb__ledger_touch(g->l, g->id[in[i]]);
    if (s->kind != EBB__STEP_PIN) inputs_unlock(g, g->step);
    g->has_run = true;
    bool is_done = acts(g);
    g->has_run = false;
    if (!is_done) return EBB_OK;
    for (uint32_t k = 0; k < s->n_gone; k++) {
        uint32_t val = g->p->links[s->gone + k];
        ebb__ledger_unuse(g->l, g->id[val]);
        hold_end(g, val);
    }
    return EBB_OK;
}

/* ---- a run ------------------------------------------------------------------------------- */
static size_t tables(ghost *g, char *base)
{
    const ebb__program *p = g->p;
    size_t at = 0, vals = p->n_vals, links = p->n_links;
    struct {
        void *table;
        size_t bytes;
    } all[] = {
        {&g->id, vals * sizeof *g->id},
        {&g->val, vals * sizeof *g->val},
        {&g->nexts, vals * sizeof *g->nexts},
        {&g->stack, vals * sizeof *g->stack},
        {&g->kept, vals * sizeof *g->kept},
        {&g->walk, (vals + links) * sizeof *g->walk},
        {&g->mark, p->n_steps * sizeof *g->mark},
        {&g->sizes, vals * sizeof *g->sizes},
        {&g->link_locked, links * sizeof *g->link_locked},
        {&g->is_kept, vals * sizeof *g->is_kept},
        {&g->link_held, links * sizeof *g->link_held},
        {&g->held_by, vals * sizeof *g->held_by},
        {&g->again_first, g->o->again ? p->n_steps * sizeof *g->again_first : 0},
        {&g->again_next, g->o->again ? vals * sizeof *g->again_next : 0},
        {&g->moves.blocks, g->o->moves && g->o->budget ? vals * sizeof *g->moves.blocks : 0},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (base) *(void **)all[i].table = base + at;
        at += (all[i].bytes + 15) / 16 * 16;
    }
    return at;
}

static void again_lists_make(ghost *g)
{
    if (!g->o->again) return;
    memset(g->again_first, 0xff, g->p->n_steps * sizeof *g->again_first);
    for (uint32_t v = g->p->n_vals; v-- > 0;) {
        uint32_t at = g->o->again[v];
        if (!at || at >= g->p->n_steps) continue;
        g->again_next[v] = g->again_first[at];
        g->again_first[at] = v;
    }
}

static void tables_begin(ghost *g)
{
    const ebb__program *p = g->p;
    for (uint32_t v = 0; v < p->n_vals; v++) g->nexts[v] = p->use[v];
    memset(g->val, 0xff, p->n_vals * sizeof *g->val);
    memset(g->held_by, 0xff, p->n_vals * sizeof *g->held_by);
    again_lists_make(g);
    g->moves.size = g->o->budget;
    g->moves.max = p->n_vals;
    if (!g->o->moves || !g->o->budget) g->moves.blocks = NULL;
}

ebb_status ebb__ghost_begin(ebb__ghost **out, const ebb__program *p,
                            const ebb__ghost_options *options)
{
    const ebb__policy none = {0};
    const size_t own = (sizeof(ghost) + 15) / 16 * 16;
    ghost init = {.p = p, .o = options};
    init.bytes = own + tables(&init, NULL);
    ghost *g = ebb__alloc(&p->allocator, init.bytes, 16);
    *out = NULL;
    if (!g) return ebb__fail(EBB_E_NOMEM, "no memory to simulate %u steps", p->n_steps);
    memset(g, 0, init.bytes);
    g->p = p;
    g->bytes = init.bytes;
    g->options = *options;
    g->o = &g->options;
    tables(g, (char *)g + own);
    ebb_status s = ebb__ledger_create(&g->l, &p->allocator);
    if (s != EBB_OK) {
        ebb__free(&p->allocator, g, g->bytes);
        return s;
    }
    tables_begin(g);
    bool any = memcmp(&options->policy, &none, sizeof none) != 0;
    ebb__ledger_set_policy(g->l, any ? &options->policy : &ebb__policy_next);
    double limit = options->limit > 0 ? options->limit : 8;
    g->most_extra = (limit - 1 + 1e-12) * p->cost;
    if (g->most_extra < 0) g->r.end = EBB__GHOST_LIMIT;
    *out = g;
    return EBB_OK;
}

ebb_status ebb__ghost_go(bool *is_done, ebb__ghost *g, uint32_t steps)
{
    const uint32_t n = g->p->n_steps;
    for (; steps && g->step < n && g->r.end == EBB__GHOST_DONE; g->step++, steps--) {
        EBB_TRY(step_run(g));
        g->r.step = g->step;
    }
    *is_done = g->step == n || g->r.end != EBB__GHOST_DONE;
    return EBB_OK;
}

const ebb__ghost_result *ebb__ghost_so_far(const ebb__ghost *g)
{
    return &g->r;
}

void ebb__ghost_close(ebb__ghost *g)
{
    if (!g) return;
    ebb__ledger_destroy(g->l);
    ebb__free(&g->p->allocator, g, g->bytes);
}

ebb_status ebb__ghost_run(ebb__ghost_result *out, const ebb__program *p,
                          const ebb__ghost_options *options)
{
    ghost *g;
    bool is_done;
    EBB_TRY(ebb__ghost_begin(&g, p, options));
    ebb_status s = ebb__ghost_go(&is_done, g, UINT32_MAX);
    if (s == EBB_OK) {
        *out = g->r;
        out->moved_bytes = g->moves.moved_bytes;
        out->n_moves = g->moves.n_moves;
    }
    ebb__ghost_close(g);
    return s;
}
