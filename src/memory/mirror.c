/* mirror.c - the values and recipes of a memory under a budget, told to its ledger.
 *
 * Of what makes a value the ledger knows what this memory can make again; the rest, and what no
 * recipe reads, has no number. Expectations: what is saved is read when a backward says; what it
 * has read for the last time and only scopes hold will hardly be asked for again, so it goes
 * first. Of the rest the time since the last use stands for the next: that nobody has saved it so
 * far says little, it may be read once more at once, as by each gate of a cell.
 * SPDX-License-Identifier: MIT */
#include "memory/mirror.h"

#include "memory/reserve.h"

/* More inputs or outputs than these make no recipe under a budget: they are numbered on the
 * stack. */
enum { IN_MAX = 1024, OUT_MAX = 64 };
/* The tables are low where less than this is free. */
enum { VALS_LOW = 64, RECS_LOW = 32, LINKS_LOW = 256 };

/* ---- room -------------------------------------------------------------------------------- */

static bool lacks(ebb__memory *m, ebb__ledger_table *t, uint32_t n_links, bool least)
{
    ebb__memory_enter(m);
    bool sleeps = !m->ledger;
    bool is =
        ebb__ledger_lacks(m->own_ledger, t, (sleeps ? m->n_known : 0) + n_links + VALS_LOW,
                          (sleeps ? m->n_recipes : 0) + RECS_LOW + 1,
                          (sleeps ? m->n_links : 0) + 2 * (size_t)n_links + LINKS_LOW, least);
    if (!is) atomic_store_explicit(&m->ledger_is_low, false, memory_order_relaxed);
    ebb__memory_leave_unchanged(m);
    return is;
}

static void table_moved(void *owner, void *to)
{
    ebb__table **own = owner;
    ebb__memory *m = (*own)->big.value.ctx->memory;
    ebb__ledger_moved(m->own_ledger, (int)(own - m->ledger_tables), to);
}

static void grow(ebb__memory *m, ebb__ledger_table *t, ebb__table *more)
{
    ebb__table **own = &m->ledger_tables[t->which], *old = more;
    ebb__memory_enter(m);
    t->block = more->big.value.data;
    ebb__ledger_grow(m->own_ledger, t);
    if (t->block != more->big.value.data) {
        old = *own;
        *own = more;
        more->moved = table_moved;
        more->owner = own;
    }
    ebb__table_drop(m, old);
    ebb__memory_leave(m);
}

void ebb__mirror_room(ebb_context *ctx, uint32_t n_in, uint32_t n_out)
{
    ebb__memory *m = ctx->memory;
    ebb__ledger_table t;
    if (!m->own_ledger) return;
    if (n_in + n_out <= VALS_LOW &&
        !atomic_load_explicit(&m->ledger_is_low, memory_order_relaxed))
        return;
    /* each once: where bytes are short, what one table takes may be had of another, and so for ever */
    for (int i = 0; i < EBB__LEDGER_TABLES && lacks(m, &t, n_in + n_out, false); i++) {
        ebb__table *more = ebb__table_make(m, t.bytes, false);
        if (!more && lacks(m, &t, n_in + n_out, true))
            more = ebb__table_make(m, t.bytes, false);
        if (!more) return;
        grow(m, &t, more);
    }
}

bool ebb__mirror_cut(ebb_context *ctx)
{
    ebb__memory *m = ctx->memory;
    size_t bytes[EBB__LEDGER_TABLES];
    bool any = false;
    if (!m->own_ledger || !ebb__arena_is_fixed(m->arena)) return false;
    ebb__memory_enter(m);
    ebb__mirror_doze(m);
    ebb__ledger_cut(m->own_ledger, (size_t[]){m->n_known, m->n_recipes, m->n_links}, bytes);
    for (int i = 0; i < EBB__LEDGER_TABLES; i++) {
        ebb__table **t = &m->ledger_tables[i];
        if (!*t) continue;
        any |= !bytes[i] || ebb__table_cut(m, *t, bytes[i]);
        if (bytes[i]) continue;
        ebb__table_drop(m, *t);
        *t = NULL;
    }
    atomic_store_explicit(&m->ledger_is_low, true, memory_order_relaxed);
    ebb__memory_leave(m);
    return any;
}

bool ebb__mirror_fits(ebb__memory *m, const ebb__record *r)
{
    if (!m->own_ledger) return true;
    uint32_t n = (uint32_t)r->n_in + r->n_out;
    if (r->n_in > IN_MAX || r->n_out > OUT_MAX) return false;
    if (m->ledger) return ebb__ledger_has_room(m->ledger, n, n);
    if (n <= VALS_LOW && ebb__mirror_holds(m, VALS_LOW, RECS_LOW, LINKS_LOW)) return true;
    atomic_store_explicit(&m->ledger_is_low, true, memory_order_relaxed);
    return ebb__mirror_holds(m, n, 1, 2 * (size_t)n);
}

/* ---- numbers ----------------------------------------------------------------------------- */

/* A gradient under way is what the whole backward so far has made: what it takes to make one again
 * is there no more. */
static uint8_t group_of(const ebb__memory *m, const ebb__value *v)
{
    bool goes = v->kind == EBB_KIND_TEMPORARY && m->gives_gradients;
    return v->phantom                       ? EBB__GROUP_KEPT
           : v->kind == EBB_KIND_ACTIVATION ? EBB__GROUP_ACTIVATION
           : goes                           ? EBB__GROUP_TEMPORARY
                                            : EBB__GROUP_KEPT;
}

static void number_set(ebb__memory *m, ebb__big *b, uint32_t number)
{
    ebb__ledger_set_owner(m->ledger, number, &b->number);
    ebb__ledger_set_group(m->ledger, number, group_of(m, &b->value));
    b->counted = true;
    ebb__mirror_know(m, b);
    if (b->locks) ebb__ledger_lock(m->ledger, number);
}

static uint32_t input_number(ebb__memory *m, ebb__value *v)
{
    if (!v || v->tiny || ebb__is_elsewhere(m, v)) return EBB__LEDGER_NONE;
    ebb__big *b = ebb__big_of(v);
    uint32_t number;
    if (b->number != EBB__LEDGER_NONE) return b->number;
    EBB_ASSERT(!v->recipe && v->state == EBB__VALUE_RESIDENT);
    /* there is room: fits */
    if (ebb__ledger_source_add(&number, m->ledger, v->bytes) != EBB_OK) return EBB__LEDGER_NONE;
    number_set(m, b, number);
    return number;
}

/* What is free once the value has gone, to its bytes: temporaries that cannot be made again, and
 * that it is made from, stay for its sake, though they would soon go. Where that is as much, it is
 * the last resort. */
static float gain(const ebb__value *v)
{
    double kept = 0, bytes = (double)v->bytes;
    for (uint32_t i = 0; i < v->recipe->n_in; i++) {
        const ebb__value *in = v->recipe->in[i];
        if (in && !in->tiny && in->kind == EBB_KIND_TEMPORARY && !in->recipe)
            kept += (double)in->bytes;
    }
    return kept < bytes ? (float)fmax((bytes - kept) / bytes, 1.0 / 1024) : 1.0F / 1024;
}

static void weigh(ebb__memory *m, ebb__value *v)
{
    ebb__big *b = ebb__big_of(v);
    if (!v->recipe || !ebb__mirror_has(m, b)) return;
    ebb__ledger_set_weight(m->ledger, b->number, gain(v));
}

static void readers_weigh(ebb__memory *m, const ebb__value *v)
{
    if (!m->ledger) return;
    for (const ebb__read *read = v->readers; read; read = read->next)
        for (uint32_t k = 0; k < read->record->n_out; k++) {
            ebb__value *out = read->record->out[k];
            if (out && ebb__recipe_of(out) == read->record) weigh(m, out);
        }
}

void ebb__mirror_tell(ebb__memory *m, ebb__record *r)
{
    uint32_t in[IN_MAX], out[OUT_MAX];
    uint64_t bytes[OUT_MAX];
    bool weighs = false;
    size_t n_known = 0;
    for (uint32_t i = 0; i < r->n_in; i++) {
        in[i] = input_number(m, r->in[i]);
        weighs |= r->in[i] && r->in[i]->kind == EBB_KIND_TEMPORARY;
    }
    for (uint32_t k = 0; k < r->n_out; k++) {
        const ebb__value *v = r->out[k];
        bytes[k] = v && ebb__recipe_of(v) == r ? v->bytes : 0;
        n_known += bytes[k] != 0;
    }
    double cost = (double)ebb__record_cost(r);
    /* the tables are not the ledger's to make */
    EBB_ASSERT(ebb__ledger_has_room(m->ledger, n_known, (size_t)r->n_in + r->n_out));
    if (ebb__ledger_rec_add(out, m->ledger, cost, r->n_in, in, r->n_out, bytes) != EBB_OK)
        return;
    for (uint32_t k = 0; k < r->n_out; k++) {
        if (out[k] == EBB__LEDGER_NONE) continue;
        number_set(m, ebb__big_of(r->out[k]), out[k]);
        if (weighs) weigh(m, r->out[k]);
    }
}

void ebb__mirror_made(ebb__memory *m, ebb__record *r)
{
    ebb__mirror_clock(m);
    ebb__mirror_tell(m, r);
    bool low = !ebb__ledger_has_room(m->ledger, VALS_LOW, LINKS_LOW);
    if (low) atomic_store_explicit(&m->ledger_is_low, true, memory_order_relaxed);
}

void ebb__mirror_restored(ebb__memory *m, ebb__big *b)
{
    if (!ebb__mirror_has(m, b)) return;
    ebb__mirror_clock(m);
    ebb__ledger_restored(m->ledger, b->number);
}

void ebb__mirror_recipe_gone(ebb__memory *m, ebb__value *v)
{
    ebb__big *b = ebb__big_of(v);
    if (!ebb__mirror_has(m, b)) return;
    if (ebb__ledger_is_resident(m->ledger, b->number)) {
        ebb__ledger_set_source(m->ledger, b->number);
        return;
    }
    ebb__mirror_unused(m, b);
    if (b->number != EBB__LEDGER_NONE) ebb__ledger_lost(m->ledger, b->number);
}

void ebb__mirror_source(ebb__memory *m, const ebb__value *v)
{
    if (v->kind == EBB_KIND_TEMPORARY && v->state == EBB__VALUE_RESIDENT) readers_weigh(m, v);
}

void ebb__mirror_kind(ebb__memory *m, ebb__value *v)
{
    ebb__big *b = ebb__big_of(v);
    if (!ebb__mirror_has(m, b)) return;
    ebb__ledger_set_group(m->ledger, b->number, group_of(m, v));
    if (!v->recipe) readers_weigh(m, v);
}

bool ebb__gradients_give(ebb_context *ctx, bool give)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    bool changes = m->own_ledger && m->gives_gradients != give;
    m->gives_gradients = changes ? give : m->gives_gradients;
    for (const ebb__big *b = changes ? m->all : NULL; b; b = b->next)
        if (b->value.kind == EBB_KIND_TEMPORARY && ebb__mirror_has(m, b))
            ebb__ledger_set_group(m->ledger, b->number, group_of(m, &b->value));
    ebb__memory_leave_unchanged(m);
    return changes;
}

bool ebb__room_squeeze(ebb_context *ctx)
{
    return ebb__gradients_give(ctx, true) || ebb__mirror_cut(ctx);
}

/* ---- time and expectations --------------------------------------------------------------- */

void ebb__mirror_clock(ebb__memory *m)
{
    double now = (double)ebb__memory_now(m);
    ebb__ledger_clock(m->ledger, now, now);
}

/* Only handles of scopes hold it, as far as can be seen. */
static bool is_spare(const ebb__big *b)
{
    return b->value.kind == EBB_KIND_ACTIVATION &&
           atomic_load_explicit(&b->value.saves, memory_order_relaxed) == 0 &&
           !atomic_load_explicit(&b->kept, memory_order_relaxed);
}

static double unread_next(const ebb__big *b)
{
    return is_spare(b) ? EBB__NEXT_NONE : EBB__NEXT_UNKNOWN;
}

void ebb__mirror_expect(ebb__memory *m, ebb__big *b)
{
    if (m->follows || !ebb__mirror_has(m, b)) return;
    double have = ebb__ledger_own_next(m->ledger, b->number), next = unread_next(b);
    bool is_guess = have == EBB__NEXT_NONE || have == EBB__NEXT_UNKNOWN;
    if (is_guess && have != next) ebb__ledger_set_next(m->ledger, b->number, next);
}

void ebb__mirror_read(ebb__memory *m, const ebb__record *r)
{
    for (uint32_t i = 0; i < r->n_in; i++) {
        ebb__value *v = r->in[i];
        if (!v || v->tiny || ebb__is_elsewhere(m, v)) continue;
        ebb__big *b = ebb__big_of(v);
        if (b->number != EBB__LEDGER_NONE) ebb__ledger_touch(m->ledger, b->number);
    }
}

/* ---- from outside ------------------------------------------------------------------------ */

void ebb__value_set_next(ebb__value *v, double at)
{
    ebb__memory *m = v->ctx->memory;
    if (v->tiny || !m->ledger) return;
    ebb__memory_enter(m);
    if (ebb__mirror_has(m, ebb__big_of(v)))
        ebb__ledger_set_next(m->ledger, ebb__big_of(v)->number, at);
    ebb__memory_leave_unchanged(m);
}

double ebb__value_next(ebb__value *v)
{
    ebb__memory *m = v->ctx->memory;
    if (v->tiny || !m->ledger) return EBB__NEXT_UNKNOWN;
    ebb__memory_enter(m);
    ebb__big *b = ebb__big_of(v);
    double at =
        ebb__mirror_has(m, b) ? ebb__ledger_own_next(m->ledger, b->number) : EBB__NEXT_UNKNOWN;
    ebb__memory_leave_unchanged(m);
    return at;
}

void ebb__memory_fix_policy(ebb_context *ctx, const ebb__policy *policy)
{
    ebb__memory *m = ctx->memory;
    if (!m->own_ledger) return;
    ebb__memory_enter(m);
    ebb__ledger_set_policy(m->own_ledger, policy);
    m->policy_is_fixed = true;
    ebb__memory_leave_unchanged(m);
}

bool ebb__memory_policy_is_fixed(const ebb_context *ctx)
{
    return ctx->memory->policy_is_fixed;
}

bool ebb__memory_chooses(const ebb_context *ctx)
{
    return ctx->memory->ledger != NULL;
}

void ebb__memory_follow(ebb_context *ctx, bool follows)
{
    ebb__memory *m = ctx->memory;
    ebb__memory_enter(m);
    m->follows = follows;
    ebb__memory_leave_unchanged(m);
}

/* ---- the next uses of one node's saves --------------------------------------------------- */

typedef struct saves {
    ebb__record *r;
    uint32_t at;
} saves;

/* The next save that is not tiny; NULL: no more. */
static ebb__value *saves_next(saves *s)
{
    const ebb__record *r = s->r;
    while (s->at < (uint32_t)r->n_in + r->n_out) {
        uint32_t i = s->at++;
        bool is_in = i < r->n_in;
        uint32_t k = is_in ? i : i - r->n_in;
        ebb__value *v = is_in ? r->in[k] : r->out[k];
        bool saved = is_in ? r->saved_in & ebb__in_bit(k) : r->saved_out & ebb__out_bit(k);
        if (v && saved && !v->tiny) return v;
    }
    return NULL;
}

size_t ebb__saves_count(ebb__record *r)
{
    size_t n = 0;
    for (saves s = {.r = r}; saves_next(&s);) n++;
    return n;
}

void ebb__saves_read_at(ebb__record *r, double at, double *after)
{
    ebb__memory *m = r->ctx->memory;
    ebb__memory_enter(m);
    saves s = {.r = r};
    for (ebb__value *v; (v = saves_next(&s)); after++) {
        ebb__big *b = ebb__big_of(v);
        if (!ebb__mirror_has(m, b)) continue;
        double have = ebb__ledger_own_next(m->ledger, b->number);
        *after = have > at ? have : EBB__NEXT_UNKNOWN;
        ebb__ledger_set_next(m->ledger, b->number, at);
    }
    ebb__memory_leave_unchanged(m);
}

void ebb__saves_were_read(ebb__record *r, const double *after)
{
    ebb__memory *m = r->ctx->memory;
    ebb__memory_enter(m);
    saves s = {.r = r};
    for (ebb__value *v; (v = saves_next(&s)); after += after != NULL) {
        ebb__big *b = ebb__big_of(v);
        if (!ebb__mirror_has(m, b)) continue;
        ebb__ledger_set_next(m->ledger, b->number, after ? *after : EBB__NEXT_UNKNOWN);
        ebb__mirror_expect(m, b);
    }
    ebb__memory_leave_unchanged(m);
}

/* ---- check ------------------------------------------------------------------------------- */

static const char *value_check(const ebb__memory *m, const ebb__big *b)
{
    const ebb__value *v = &b->value;
    unsigned uses = atomic_load(&v->uses);
    if (b->number == EBB__LEDGER_NONE) {
        if (v->recipe && uses) return "a needed value with a recipe is not in the ledger";
        return b->counted ? "a use is counted in no ledger" : NULL;
    }
    const ebb__ledger *l = m->ledger;
    if (ebb__ledger_owner(l, b->number) != &b->number) return "a number is another value's";
    if (ebb__ledger_is_resident(l, b->number) != (v->state == EBB__VALUE_RESIDENT))
        return "the ledger has bytes that are not there, or lacks some";
    if (ebb__ledger_is_needed(l, b->number) != (uses != 0))
        return "the ledger is wrong about who is needed";
    if (!v->recipe && ebb__ledger_is_source(l, b->number) != true)
        return "the ledger knows a recipe that is gone";
    if (v->recipe && ebb__ledger_is_source(l, b->number))
        return "the ledger does not know a recipe";
    if (!b->counted && uses > b->n_deps) return "uses by others are miscounted in the ledger";
    return NULL;
}

const char *ebb__mirror_check(ebb__memory *m)
{
    if (!m->own_ledger) return NULL;
    const char *fault = ebb__mirror_sleep_check(m);
    bool sleeps = !m->ledger;
    if (sleeps) ebb__mirror_wake(m);
    if (!fault) fault = ebb__ledger_check(m->ledger);
    for (const ebb__big *b = m->all; b && !fault; b = b->next) fault = value_check(m, b);
    if (sleeps) ebb__mirror_sleep(m);
    return fault;
}
