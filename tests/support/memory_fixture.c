/* memory_fixture.c - a context with memory and nothing above it, a refusing allocator, an
 * engine.
 * SPDX-License-Identifier: MIT */
#include "support/memory_fixture.h"

#include "base/error.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

/* ---- the allocator ----------------------------------------------------------------------- */

static void *allocator_alloc(void *user, size_t bytes, size_t alignment)
{
    test_memory *m = user;
    long long number = atomic_fetch_add(&m->n_allocs, 1) + 1;
    if (number == atomic_load(&m->fail_at)) return NULL;
    if (atomic_load(&m->fail_from) && number >= atomic_load(&m->fail_from)) return NULL;
    if (bytes > (size_t)1 << 40) return NULL;
    void *p = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (!p) return NULL;
    memset(p, 0xA5, bytes < 4096 ? bytes : 4096);
    atomic_fetch_add(&m->bytes, (long long)bytes);
    atomic_fetch_add(&m->n_blocks, 1);
    return p;
}

static void allocator_free(void *user, void *p, size_t bytes)
{
    test_memory *m = user;
    atomic_fetch_sub(&m->bytes, (long long)bytes);
    atomic_fetch_sub(&m->n_blocks, 1);
    free(p);
}

ebb_allocator test_allocator(test_memory *m)
{
    return (ebb_allocator){.alloc = allocator_alloc, .free = allocator_free, .user = m};
}

/* ---- contexts ---------------------------------------------------------------------------- */

ebb_status test_context_try(ebb_context *ctx, test_memory *m, size_t budget_bytes,
                            bool single_threaded)
{
    memset(ctx, 0, sizeof *ctx);
    ctx->root = ctx;
    ctx->allocator = test_allocator(m);
    ctx->single_threaded = single_threaded;
    EBB_TRY(ebb__account_create(&ctx->account, &ctx->allocator, NULL, budget_bytes,
                                single_threaded));
    ebb_status s = ebb__memory_create(ctx);
    if (s != EBB_OK) ebb__account_destroy(ctx->account);
    return s;
}

void test_context_init(ebb_context *ctx, test_memory *m, size_t budget_bytes,
                       bool single_threaded)
{
    if (m->n_allocs == 0) memset(m, 0, sizeof *m);
    assert_int_equal(test_context_try(ctx, m, budget_bytes, single_threaded), EBB_OK);
}

void test_child_init(ebb_context *child, ebb_context *parent, size_t budget_bytes)
{
    memset(child, 0, sizeof *child);
    child->root = parent->root;
    child->parent = parent;
    child->allocator = parent->allocator;
    child->single_threaded = parent->single_threaded;
    assert_int_equal(ebb__account_create(&child->account, &child->allocator, parent->account,
                                         budget_bytes, child->single_threaded),
                     EBB_OK);
    assert_int_equal(ebb__memory_create(child), EBB_OK);
}

void test_context_end(ebb_context *ctx)
{
    test_memory *m = ctx->allocator.user;
    bool is_root = !ctx->parent;
    ebb__memory_destroy(ctx);
    ebb__account_destroy(ctx->account);
    if (is_root) assert_int_equal(atomic_load(&m->n_blocks), 0);
}

ebb_stats test_stats(const ebb_context *ctx)
{
    ebb_stats stats = {0};
    ebb__account_stats(&stats, ctx->account);
    ebb__memory_stats(&stats, ctx);
    size_t sum = 0;
    for (int kind = 0; kind < EBB_KIND_CACHE; kind++) sum += stats.bytes[kind];
    assert_int_equal(sum, stats.used_bytes);
    if (stats.budget_bytes) assert_true(stats.used_bytes <= stats.budget_bytes);
    assert_true(stats.used_bytes <= stats.peak_bytes);
    return stats;
}

void test_same_bytes(const ebb_stats *a, const ebb_stats *b)
{
    for (int kind = 0; kind < EBB_KIND_CACHE; kind++)
        if (a->bytes[kind] != b->bytes[kind])
            fail_msg("%s: %zu bytes, then %zu", ebb_kind_name((ebb_kind)kind), a->bytes[kind],
                     b->bytes[kind]);
}

/* ---- the engine -------------------------------------------------------------------------- */

struct ebb_op {
    const char *name;
};
static const struct ebb_op test_sum = {"sum"};

ebb__value *test_source(ebb_context *ctx, size_t n, int32_t first)
{
    ebb__value *v;
    assert_int_equal(ebb__value_create(&v, ctx, n * sizeof(int32_t), EBB_KIND_DATA), EBB_OK);
    for (size_t j = 0; j < n; j++) ((int32_t *)v->data)[j] = first + (int32_t)j;
    return v;
}

static void compute(void *data, size_t n, ebb__value *const *in, size_t n_in, uint32_t k)
{
    for (size_t j = 0; j < n; j++) {
        uint32_t sum = 1 + k;
        for (size_t i = 0; i < n_in; i++) {
            assert_non_null(in[i]->data);
            sum += (uint32_t)(2 * i + 3) *
                   ((uint32_t *)in[i]->data)[j % (in[i]->bytes / sizeof(int32_t))];
        }
        ((uint32_t *)data)[j] = sum;
    }
}

ebb_status test_op_run(test_op *op, ebb_context *ctx, int n_in, int n_out, size_t n,
                       bool recipe, uint64_t save_in, uint32_t save_out)
{
    ebb_status s = ebb__record_create(&op->record, ctx, &test_sum, (uint16_t)n_in,
                                      (uint16_t)n_out, recipe, 16);
    if (s != EBB_OK) return s;
    for (int i = 0; i < n_in; i++) op->record->in[i] = op->in[i];
    for (int k = 0; k < n_out; k++) {
        s = ebb__value_create(&op->out[k], ctx, n * sizeof(int32_t), EBB_KIND_ACTIVATION);
        if (s != EBB_OK) {
            while (k-- > 0) ebb__value_unuse(op->out[k]);
            ebb__record_release(op->record);
            return s;
        }
        compute(op->out[k]->data, n, op->in, (size_t)n_in, (uint32_t)k);
        op->record->out[k] = op->out[k];
    }
    ebb__record_save(op->record, save_in, save_out);
    if (recipe) ebb__record_link(op->record);
    return EBB_OK;
}

ebb__value *test_map(ebb_context *ctx, ebb__value *x)
{
    test_op op = {.in = {x}};
    assert_int_equal(test_op_run(&op, ctx, 1, 1, TEST_N, true, 0, 0), EBB_OK);
    ebb__record_release(op.record);
    return op.out[0];
}

ebb_status test_restore(ebb__value *v)
{
    size_t n = 0, max = 16;
    ebb__value **stack = malloc(max * sizeof(ebb__value *));
    ebb_status s = EBB_OK;
    stack[n++] = v;
    while (n && s == EBB_OK) {
        ebb__value *top = stack[n - 1];
        if (top->state == EBB__VALUE_RESIDENT) {
            n--;
            continue;
        }
        assert_int_equal(top->state, EBB__VALUE_DROPPED);
        const ebb__record *r = top->recipe;
        size_t before = n;
        for (uint32_t i = 0; i < r->n_in; i++) {
            if (r->in[i]->state == EBB__VALUE_RESIDENT) continue;
            if (n == max) stack = realloc(stack, (max *= 2) * sizeof(ebb__value *));
            stack[n++] = r->in[i];
        }
        if (n > before) continue;
        s = ebb__value_reserve(top);
        if (s != EBB_OK) break;
        compute(top->data, top->bytes / sizeof(int32_t), r->in, r->n_in, top->out_index);
        ebb__value_restored(top);
        n--;
    }
    free(stack);
    return s;
}

int32_t test_at(ebb__value *v, size_t j)
{
    if (v->state == EBB__VALUE_DROPPED) assert_int_equal(test_restore(v), EBB_OK);
    assert_int_equal(v->state, EBB__VALUE_RESIDENT);
    assert_true((j + 1) * sizeof(int32_t) <= v->bytes);
    return ((int32_t *)v->data)[j];
}
