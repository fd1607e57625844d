/* restore.c - dropped bytes made again by running recipes, alone and by work list.
 *
 * For each recipe on the stack those of its inputs that are there stay until it has run; the missing
 * one whose rebuild holds most, compared with what it leaves, is made first. What the operation at
 * hand reads is locked once all of it is there: until then one may go again for the sake of
 * another, as the last resort, since it is needed now.
 *
 * Termination. A rebuild may cost 4 times the distinct recipes that are missing + 8 times those of
 * the operands themselves. When that is used up, everything that a missing recipe reads stays from
 * then on until that recipe has run, and operands do to the end, so each recipe runs once more at
 * most. Then the rebuild completes, or stops at a definite shortfall.
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
    ebb__array frames;
    ebb__array held;         /* per input of a frame: the value, which stays, or NULL */
    ebb__array to_run, kept; /* protected: recipes still to run, kept; what they read, stays */
    ebb__value *const *operands;
    int32_t n_operands;
    const ebb_allocator *allocator;
    double fuel;
    bool is_protected;
} rebuild;

static frame *top_of(const rebuild *b)
{
    return (frame *)b->frames.items + b->frames.n - 1;
}

static ebb__value **value_at(const ebb__array *a, size_t i)
{
    return (ebb__value **)a->items + i;
}

static ebb_status no_recipe(const ebb__value *v)
{
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

/* Adds the distinct recipes that are missing for v, nearest first. */
static ebb_status survey(rebuild *b, ebb__array *records, ebb__array *todo, ebb__value *v,
                         uint32_t number)
{
    ebb_status status = EBB_OK;
    todo->n = 0;
    if (ebb__value_visit(v, number)) status = ebb__array_push(todo, b->allocator, &v);
    for (size_t at = 0; status == EBB_OK && at < todo->n; at++) {
        ebb__record *r = ebb__recipe_of(*value_at(todo, at));
        if (!r || r->broken || (r->n_out > 1 && seen_record(records, r))) continue;
        status = ebb__array_push(records, b->allocator, &r);
        for (uint32_t i = 0; i < r->n_in && status == EBB_OK; i++) {
            ebb__value *in = r->in[i];
            if (!in || ebb__value_has_bytes(in) || !ebb__value_visit(in, number)) continue;
            status = ebb__array_push(todo, b->allocator, &in);
        }
    }
    return status;
}

static ebb_status survey_all(rebuild *b, ebb__array *records)
{
    ebb__array todo = {.item_bytes = sizeof(ebb__value *)};
    uint32_t number = (uint32_t)ebb__unique_id();
    ebb_status status = EBB_OK;
    for (int32_t i = 0; i < b->n_operands && status == EBB_OK; i++)
        if (b->operands[i] && !ebb__value_has_bytes(b->operands[i]))
            status = survey(b, records, &todo, b->operands[i], number);
    ebb__array_free(&todo, b->allocator);
    return status;
}

static ebb_status fuel_fill(rebuild *b)
{
    ebb__array records = {.item_bytes = sizeof(ebb__record *)};
    ebb_status status = survey_all(b, &records);
    for (size_t i = 0; i < records.n && status == EBB_OK; i++)
        b->fuel += (i ? 4 : 12) * (double)ebb__record_cost(((ebb__record **)records.items)[i]);
    ebb__array_free(&records, b->allocator);
    return status;
}

/* ---- protected --------------------------------------------------------------------------- */

static ebb_status keep(rebuild *b, ebb__value *v)
{
    if (!v || v->tiny) return EBB_OK;
    EBB_TRY(ebb__array_push(&b->kept, b->allocator, &v));
    ebb__value_stay(v, false);
    return EBB_OK;
}

static ebb_status protect(rebuild *b)
{
    b->is_protected = true;
    for (int32_t i = 0; i < b->n_operands; i++) EBB_TRY(keep(b, b->operands[i]));
    ebb_status status = survey_all(b, &b->to_run);
    for (size_t i = 0; i < b->to_run.n && status == EBB_OK; i++) {
        const ebb__record *r = ebb__record_keep(((ebb__record **)b->to_run.items)[i]);
        for (uint32_t k = 0; k < r->n_in && status == EBB_OK; k++) status = keep(b, r->in[k]);
        if (status != EBB_OK) b->to_run.n = i + 1; /* as many as are kept */
    }
    return status;
}

/* Lets go of one stay of v. */
static void kept_drop(rebuild *b, const ebb__value *v)
{
    for (size_t i = 0; i < b->kept.n; i++) {
        ebb__value *one = *value_at(&b->kept, i);
        if (one != v) continue;
        *value_at(&b->kept, i) = *value_at(&b->kept, --b->kept.n);
        ebb__value_stay_end(one, true);
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

/* ---- the stack --------------------------------------------------------------------------- */

static ebb_status frame_push(rebuild *b, ebb__value *v)
{
    frame f = {.v = v, .r = ebb__value_recipe_keep(v), .first = b->held.n};
    if (!f.r) return no_recipe(v);
    ebb__value *none = NULL;
    ebb_status status = EBB_OK;
    for (uint32_t i = 0; i < f.r->n_in && status == EBB_OK; i++)
        status = ebb__array_push(&b->held, b->allocator, &none);
    if (status == EBB_OK) status = ebb__array_push(&b->frames, b->allocator, &f);
    if (status == EBB_OK) {
        ebb__value_stay(v, false);
        return EBB_OK;
    }
    b->held.n = f.first;
    ebb__record_release(f.r);
    return status;
}

static void frame_pop(rebuild *b)
{
    frame f = *top_of(b);
    b->frames.n--;
    while (b->held.n > f.first) {
        ebb__value *v = *value_at(&b->held, --b->held.n);
        if (v) ebb__value_stay_end(v, true);
    }
    ebb__value_stay_end(f.v, false);
    ebb__record_release(f.r);
}

static void inputs_hold(rebuild *b, const frame *f)
{
    for (uint32_t i = 0; i < f->r->n_in; i++) {
        ebb__value *in = f->r->in[i], **held = value_at(&b->held, f->first + i);
        if (in && !in->tiny && !*held && ebb__value_stay(in, true)) *held = in;
    }
}

/* Nothing is missing for the recipe on top. */
static ebb_status top_run(rebuild *b)
{
    ebb__record *r = top_of(b)->r;
    b->fuel -= (double)ebb__record_cost(r);
    if (b->is_protected) unprotect(b, r); /* the frame holds what it reads */
    EBB_TRY(ebb__recipe_run(r));
    frame_pop(b);
    return b->fuel < 0 && !b->is_protected ? protect(b) : EBB_OK;
}

static ebb_status materialise(rebuild *b, ebb__value *v)
{
    ebb_status status = frame_push(b, v);
    while (status == EBB_OK && b->frames.n > 0) {
        const frame *f = top_of(b);
        inputs_hold(b, f);
        ebb__value *missing = ebb__value_has_bytes(f->v) ? NULL : ebb__value_missing(f->v);
        if (missing)
            status = frame_push(b, missing);
        else if (ebb__value_has_bytes(f->v))
            frame_pop(b);
        else
            status = top_run(b);
    }
    while (b->frames.n > 0) frame_pop(b);
    return status;
}

static void rebuild_begin(rebuild *b, const ebb_allocator *allocator,
                          ebb__value *const *operands, int32_t n)
{
    *b = (rebuild){.frames = {.item_bytes = sizeof(frame)},
                   .held = {.item_bytes = sizeof(ebb__value *)},
                   .kept = {.item_bytes = sizeof(ebb__value *)},
                   .to_run = {.item_bytes = sizeof(ebb__record *)},
                   .operands = operands,
                   .n_operands = n,
                   .allocator = allocator};
}

static void rebuild_end(rebuild *b)
{
    while (b->kept.n > 0) ebb__value_stay_end(*value_at(&b->kept, --b->kept.n), true);
    while (b->to_run.n > 0)
        ebb__record_release(((ebb__record **)b->to_run.items)[--b->to_run.n]);
    ebb__array_free(&b->to_run, b->allocator);
    ebb__array_free(&b->frames, b->allocator);
    ebb__array_free(&b->held, b->allocator);
    ebb__array_free(&b->kept, b->allocator);
}

/* ---- one value --------------------------------------------------------------------------- */

ebb_status ebb__restore(ebb__value *v)
{
    rebuild b;
    ebb__gate_hold hold;
    rebuild_begin(&b, &v->ctx->allocator, &v, 1);
    ebb__gate_enter_alone(&hold, ebb__gate_of(v->ctx));
    ebb__value_clear_spare(v); /* it is read after all */
    ebb_status status = EBB_OK;
    if (!ebb__value_has_bytes(v)) {
        status = fuel_fill(&b);
        if (status == EBB_OK) status = materialise(&b, v);
    }
    ebb__gate_leave(&hold);
    rebuild_end(&b);
    return status;
}

ebb_status ebb__restore_pinned(ebb__value *v)
{
    ebb__gate_hold hold;
    ebb_error pending;
    ebb_error_get(&pending);
    ebb__gate_enter_alone(&hold, ebb__gate_of(v->ctx));
    ebb_status status = ebb__restore(v);
    while (status == EBB_E_BUDGET && ebb__room_squeeze(v->ctx)) {
        ebb__error_adopt(&pending);
        status = ebb__restore(v);
    }
    if (status == EBB_OK && !ebb__value_pin(v))
        status = ebb__fail(EBB_E_INTERNAL, "restored bytes are not there");
    ebb__gate_leave(&hold);
    return status;
}

/* ---- all that an operation reads --------------------------------------------------------- */

static bool is_away(const ebb__value *v)
{
    return v && !ebb__value_has_bytes(v);
}

static ebb_status operands_make(rebuild *b)
{
    ebb__value *const *v = b->operands;
    for (int32_t i = 0; i < b->n_operands;) {
        if (!is_away(v[i])) {
            i++;
            continue;
        }
        ebb__value_clear_spare(v[i]);
        EBB_TRY(materialise(b, v[i]));
        i = 0; /* one before it may have gone for it */
    }
    return EBB_OK;
}

ebb_status ebb__restore_all(ebb__value *const *v, int32_t n)
{
    rebuild b;
    double few[EBB__MAX_IN], *next = few;
    int32_t first = 0;
    while (first < n && !is_away(v[first])) first++;
    if (first == n) return EBB_OK;
    const ebb_allocator *allocator = &v[first]->ctx->allocator;
    if (n > EBB__MAX_IN) next = ebb__alloc(allocator, (size_t)n * sizeof *next, 16);
    if (!next) return ebb__fail(EBB_E_NOMEM, "%d operands are too many for memory", (int)n);
    rebuild_begin(&b, allocator, v, n);
    for (int32_t i = 0; i < n; i++) {
        if (!v[i]) continue;
        next[i] = ebb__value_next(v[i]);
        ebb__value_set_next(v[i], (double)ebb__clock(v[i]->ctx));
    }
    ebb_status status = fuel_fill(&b);
    if (status == EBB_OK) status = operands_make(&b);
    for (int32_t i = n; i-- > 0;) /* of one that is read twice the first is the true one */
        if (v[i]) ebb__value_set_next(v[i], next[i]);
    rebuild_end(&b);
    if (next != few) ebb__free(allocator, next, (size_t)n * sizeof *next);
    return status;
}
