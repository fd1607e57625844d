/* restore.c - dropped bytes made again by running recipes, alone and by work list.
 *
 * What the recipe on top of the stack reads is locked, so that what has been made for it stays
 * until it has run; the input with the longest chain above it is made first. Under a budget others
 * may be given up meanwhile that are needed again soon after, so the work is bounded: once more
 * than the fuel has been spent, everything that a recipe still to run will read is locked too,
 * and each of them runs once more at most. Then the rebuild completes, or stops at a definite shortfall.
 * SPDX-License-Identifier: MIT */
#include "autodiff/backward.h"

#include "autodiff/rerun.h"
#include "base/array.h"
#include "base/check.h"

typedef struct frame {
    ebb__value *v;
    ebb__record *r; /* kept */
    size_t first;   /* of its inputs in `held` */
} frame;

typedef struct rebuild {
    ebb__array frames, held; /* held: values, each locked */
    ebb__array to_run, kept; /* protected: recipes still to run, and what they read */
    const ebb_allocator *allocator;
    double spent, fuel;
    bool is_protected;
} rebuild;

static frame *frame_at(const rebuild *b, size_t i)
{
    return (frame *)b->frames.items + i;
}

static ebb__value *value_at(const ebb__array *a, size_t i)
{
    return ((ebb__value **)a->items)[i];
}

static bool is_there(const ebb__value *v)
{
    return v->tiny || v->state == EBB__VALUE_RESIDENT;
}

static ebb_status recipe_of(ebb__record **out, const ebb__value *v)
{
    *out = ebb__recipe_of(v);
    if (v->state != EBB__VALUE_LOST && *out && !(*out)->broken) return EBB_OK;
    if (ebb__value_is_forgone(v))
        return ebb__fail(
            EBB_E_BUDGET,
            "the budget held no room for the older content of what the tensor was "
            "made from, which was written to since; what is kept (ebb_keep) stays");
    return ebb__fail(EBB_E_INTERNAL, "bytes are gone and cannot be made again");
}

/* ---- fuel -------------------------------------------------------------------------------- */

static bool seen_record(const ebb__array *records, const ebb__record *r)
{
    for (size_t i = records->n; i-- > 0;)
        if (((ebb__record **)records->items)[i] == r) return true;
    return false;
}

/* The distinct recipes that are missing for v, nearest first. */
static ebb_status survey(ebb__array *records, ebb__array *todo, const ebb_allocator *allocator,
                         ebb__value *v)
{
    uint32_t number = (uint32_t)ebb__unique_id();
    ebb__value_visit(v, number);
    ebb_status status = ebb__array_push(todo, allocator, &v);
    for (size_t at = 0; status == EBB_OK && at < todo->n; at++) {
        ebb__record *r = ebb__recipe_of(value_at(todo, at));
        if (!r || r->broken) continue;
        if (r->n_out == 1 || !seen_record(records, r))
            status = ebb__array_push(records, allocator, &r);
        for (uint32_t i = 0; i < r->n_in && status == EBB_OK; i++) {
            ebb__value *in = r->in[i];
            if (!in || is_there(in) || !ebb__value_visit(in, number)) continue;
            status = ebb__array_push(todo, allocator, &in);
        }
    }
    return status;
}

static ebb_status fuel_fill(rebuild *b, ebb__value *v)
{
    ebb__array records = {.item_bytes = sizeof(ebb__record *)};
    ebb__array todo = {.item_bytes = sizeof(ebb__value *)};
    ebb_status status = survey(&records, &todo, b->allocator, v);
    for (size_t i = 0; i < records.n && status == EBB_OK; i++)
        b->fuel += (i ? 4 : 12) * (double)ebb__record_cost(((ebb__record **)records.items)[i]);
    ebb__array_free(&records, b->allocator);
    ebb__array_free(&todo, b->allocator);
    return status;
}

/* From now on what any missing recipe reads stays until that recipe has run. */
static ebb_status protect(rebuild *b)
{
    ebb__array todo = {.item_bytes = sizeof(ebb__value *)};
    b->is_protected = true;
    ebb_status status = survey(&b->to_run, &todo, b->allocator, frame_at(b, 0)->v);
    ebb__array_free(&todo, b->allocator);
    for (size_t i = 0; i < b->to_run.n && status == EBB_OK; i++) {
        const ebb__record *r = ebb__record_keep(((ebb__record **)b->to_run.items)[i]);
        for (uint32_t k = 0; k < r->n_in && status == EBB_OK; k++) {
            ebb__value *in = r->in[k];
            if (!in || in->tiny) continue;
            status = ebb__array_push(&b->kept, b->allocator, &in);
            if (status == EBB_OK) ebb__value_lock(in);
        }
        if (status != EBB_OK) b->to_run.n = i + 1; /* as many as are kept */
    }
    return status;
}

/* Lets go of one lock of v. */
static void kept_drop(rebuild *b, const ebb__value *v)
{
    ebb__value **kept = b->kept.items;
    for (size_t i = 0; i < b->kept.n; i++) {
        if (kept[i] != v) continue;
        ebb__value *one = kept[i];
        kept[i] = kept[--b->kept.n];
        ebb__value_unlock(one);
        return;
    }
}

/* Recipe r is about to run: it needs no protection any more. */
static void unprotect(rebuild *b, const ebb__record *r)
{
    ebb__record **records = b->to_run.items;
    for (size_t i = 0; i < b->to_run.n; i++) {
        if (records[i] != r) continue;
        for (uint32_t k = 0; k < r->n_in; k++)
            if (r->in[k] && !r->in[k]->tiny) kept_drop(b, r->in[k]);
        ebb__record *done = records[i];
        records[i] = records[--b->to_run.n];
        ebb__record_release(done);
        return;
    }
}

static void unprotect_all(rebuild *b)
{
    while (b->kept.n > 0) ebb__value_unlock(value_at(&b->kept, --b->kept.n));
    while (b->to_run.n > 0)
        ebb__record_release(((ebb__record **)b->to_run.items)[--b->to_run.n]);
}

/* ---- the stack --------------------------------------------------------------------------- */

static ebb_status frame_push(rebuild *b, ebb__value *v)
{
    ebb__record *r;
    EBB_TRY(recipe_of(&r, v));
    frame f = {.v = v, .r = r, .first = b->held.n};
    EBB_TRY(ebb__array_push(&b->frames, b->allocator, &f));
    ebb__record_keep(r);
    for (uint32_t i = 0; i < r->n_in; i++) {
        ebb__value *in = r->in[i];
        if (!in || in->tiny) continue;
        EBB_TRY(ebb__array_push(&b->held, b->allocator, &in));
        ebb__value_lock(in);
    }
    return EBB_OK;
}

static void frame_pop(rebuild *b)
{
    frame f = *frame_at(b, --b->frames.n);
    while (b->held.n > f.first) ebb__value_unlock(value_at(&b->held, --b->held.n));
    ebb__record_release(f.r);
}

/* The missing input with the longest chain; NULL: all are there. */
static ebb__value *next_input(const rebuild *b, const frame *f)
{
    ebb__value *deepest = NULL;
    for (size_t i = f->first; i < b->held.n; i++) {
        ebb__value *in = value_at(&b->held, i);
        if (!is_there(in) && (!deepest || in->depth > deepest->depth)) deepest = in;
    }
    return deepest;
}

static ebb_status step(rebuild *b)
{
    const frame *f = frame_at(b, b->frames.n - 1);
    if (is_there(f->v)) {
        frame_pop(b);
        return EBB_OK;
    }
    ebb__value *in = next_input(b, f);
    if (in) return frame_push(b, in);
    ebb__record *r = f->r;
    double cost = ebb__record_cost(r);
    /* Before it runs: once its results are there it may forget what it read. The frame holds it. */
    if (b->is_protected) unprotect(b, r);
    EBB_TRY(ebb__recipe_run(r));
    frame_pop(b);
    b->spent += cost;
    if (b->spent > b->fuel && !b->is_protected && b->frames.n > 0) return protect(b);
    return EBB_OK;
}

ebb_status ebb__restore(ebb__value *v)
{
    rebuild b = {.frames = {.item_bytes = sizeof(frame)},
                 .held = {.item_bytes = sizeof(ebb__value *)},
                 .to_run = {.item_bytes = sizeof(ebb__record *)},
                 .kept = {.item_bytes = sizeof(ebb__value *)},
                 .allocator = &v->ctx->allocator};
    ebb__gate_hold hold;
    ebb__gate_enter_alone(&hold, ebb__gate_of(v->ctx));
    ebb__value_clear_spare(v); /* it is read after all */
    ebb_status status = EBB_OK;
    if (!is_there(v)) {
        status = fuel_fill(&b, v);
        if (status == EBB_OK) status = frame_push(&b, v);
        while (status == EBB_OK && b.frames.n > 0) status = step(&b);
        while (b.frames.n > 0) frame_pop(&b);
        unprotect_all(&b);
    }
    ebb__gate_leave(&hold);
    ebb__array_free(&b.frames, b.allocator);
    ebb__array_free(&b.held, b.allocator);
    ebb__array_free(&b.to_run, b.allocator);
    ebb__array_free(&b.kept, b.allocator);
    return status;
}

ebb_status ebb__restore_pinned(ebb__value *v)
{
    ebb__gate_hold hold;
    ebb__gate_enter_alone(&hold, ebb__gate_of(v->ctx));
    ebb_status status = ebb__restore(v);
    if (status == EBB_OK && !ebb__value_pin(v))
        status = ebb__fail(EBB_E_INTERNAL, "restored bytes are not there");
    ebb__gate_leave(&hold);
    return status;
}
