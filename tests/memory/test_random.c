/* test_random.c - random programs against the definition: who needs a value, and what it
 * contains.
 *
 * After every step the uses of every needed value are counted afresh from what the program
 * holds, and contents are compared with what arithmetic says, through drops, recomputes and
 * writes.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "support/memory_fixture.h"
#include "support/numeric.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N_SLOTS = 24, N_NODES = 12, N_SEEN = 4096 };

typedef struct slot {
    ebb__storage *storage;
    uint32_t first; /* element 0; 1 is known from it where the value is a source only */
} slot;
typedef struct node {
    ebb__record *record;
    uint64_t saved_in;
    uint32_t saved_out;
    uint32_t in_first[4], out_first[4];
    ebb__value *in[4], *out[4];
} node;
typedef struct seen {
    ebb__value *value;
    unsigned uses;
} seen;

static test_memory memory;
static ebb_context ctx;
static numeric_random rng;
static slot slots[N_SLOTS];
static node nodes[N_NODES];
static seen table[N_SEEN];
static int n_seen;

static unsigned below(unsigned n)
{
    return (unsigned)(numeric_next(&rng) % n);
}

/* ---- the definition ---------------------------------------------------------------------- */

static void need(ebb__value *v)
{
    if (v->tiny) return;
    for (int i = 0; i < n_seen; i++)
        if (table[i].value == v) {
            table[i].uses++;
            return;
        }
    assert_true(n_seen < N_SEEN);
    table[n_seen++] = (seen){v, 1};
}

static void uses_are_those_of_the_definition(void)
{
    n_seen = 0;
    for (int i = 0; i < N_SLOTS; i++)
        if (slots[i].storage) need(slots[i].storage->value);
    for (int i = 0; i < N_NODES; i++) {
        for (int k = 0; k < 4 && nodes[i].record; k++) {
            if (nodes[i].saved_in >> k & 1) need(nodes[i].in[k]);
            if (nodes[i].saved_out >> k & 1) need(nodes[i].out[k]);
        }
    }
    /* the table grows while it is walked: inputs of dropped values are needed as well */
    for (int i = 0; i < n_seen; i++) {
        const ebb__value *v = table[i].value;
        if (v->state != EBB__VALUE_DROPPED) continue;
        for (uint32_t k = 0; k < v->recipe->n_in; k++) need(v->recipe->in[k]);
    }
    for (int i = 0; i < n_seen; i++)
        assert_int_equal(atomic_load(&table[i].value->uses), table[i].uses);
    const char *fault = ebb__memory_check(&ctx);
    if (fault) fail_msg("%s", fault);
}

/* ---- steps ------------------------------------------------------------------------------- */

static slot *free_slot(void)
{
    slot *s = &slots[below(N_SLOTS)];
    ebb__storage_release(s->storage);
    s->storage = NULL;
    return s;
}

static slot *used_slot(void)
{
    unsigned from = below(N_SLOTS);
    for (unsigned i = 0; i < N_SLOTS; i++) {
        slot *s = &slots[(from + i) % N_SLOTS];
        if (s->storage) return s;
    }
    return NULL;
}

static void put(slot *s, ebb__value *v, uint32_t first)
{
    assert_int_equal(ebb__storage_create(&s->storage, v), EBB_OK);
    s->first = first;
}

static void step_source(void)
{
    slot *s = free_slot();
    int32_t first = (int32_t)below(1000);
    put(s, test_source(&ctx, below(4) ? TEST_N : 2, first), (uint32_t)first);
}

static void node_forget(node *n)
{
    if (!n->record) return;
    ebb__record_unsave(n->record);
    ebb__record_release(n->record);
    memset(n, 0, sizeof *n);
}

static void step_op(void)
{
    node *n = &nodes[below(N_NODES)];
    test_op op;
    int n_in = 1 + (int)below(3), n_out = 1 + (int)below(2);
    uint32_t sum = 1;
    node_forget(n);
    memset(&op, 0, sizeof op);
    for (int i = 0; i < n_in; i++) {
        slot *s = used_slot();
        if (!s) return;
        test_at(s->storage->value, 0);
        op.in[i] = ebb__value_use(s->storage->value);
        n->in_first[i] = s->first;
        sum += (uint32_t)(2 * i + 3) * s->first;
    }
    n->saved_in = below(1u << n_in);
    n->saved_out = below(1u << n_out);
    assert_int_equal(test_op_run(&op, &ctx, n_in, n_out, below(4) ? TEST_N : 1, below(4) != 0,
                                 n->saved_in, n->saved_out),
                     EBB_OK);
    n->record = op.record;
    for (int i = 0; i < n_in; i++) n->in[i] = op.in[i];
    for (int k = 0; k < n_out; k++) {
        n->out[k] = op.out[k];
        n->out_first[k] = sum + (uint32_t)k;
    }
    for (int k = 0; k < n_out; k++) put(free_slot(), op.out[k], n->out_first[k]);
    for (int i = 0; i < n_in; i++) ebb__value_unuse(op.in[i]);
    if (below(4) == 0) node_forget(n);
}

static void saved_is_right(ebb__value *v, uint32_t first)
{
    if (v->tiny || !v->moved) assert_int_equal((uint32_t)test_at(v, 0), first);
}

static void step_backward(void)
{
    node *n = &nodes[below(N_NODES)];
    if (!n->record) return;
    for (int k = 0; k < 4; k++) {
        if (n->saved_in >> k & 1) saved_is_right(n->in[k], n->in_first[k]);
        if (n->saved_out >> k & 1) saved_is_right(n->out[k], n->out_first[k]);
    }
    node_forget(n);
}

static void step_write(void)
{
    slot *s = used_slot();
    if (!s) return;
    uint32_t version = s->storage->version;
    assert_int_equal(ebb__storage_write(s->storage, "write", test_restore), EBB_OK);
    assert_int_equal(s->storage->version, version + 1);
    assert_int_equal((uint32_t)test_at(s->storage->value, 0), s->first);
    int32_t *data = s->storage->value->data;
    s->first = below(1000);
    for (size_t j = 0; j < s->storage->value->bytes / sizeof *data; j++)
        data[j] = (int32_t)(s->first + j);
}

static void step(void)
{
    slot *s = used_slot();
    switch (below(8)) {
    case 0:
        step_source();
        break;
    case 1:
    case 2:
    case 3:
        step_op();
        break;
    case 4:
        if (s) ebb__value_drop(s->storage->value);
        break;
    case 5:
        if (s) assert_int_equal((uint32_t)test_at(s->storage->value, 0), s->first);
        break;
    case 6:
        step_backward();
        break;
    default:
        if (below(3))
            free_slot();
        else
            step_write();
    }
}

static void random_programs_keep_what_is_needed_and_nothing_else(void **state)
{
    (void)state;
    int n_programs = getenv("EBB_TEST_SHORT") ? 3 : 10;
    for (int program = 0; program < n_programs; program++) {
        memset(&memory, 0, sizeof memory);
        test_context_init(&ctx, &memory, 0, program % 2);
        ebb_stats before = test_stats(&ctx);
        rng.state = (uint64_t)program;
        for (int i = 0; i < 1500; i++) {
            step();
            uses_are_those_of_the_definition();
        }
        for (int i = 0; i < N_NODES; i++) node_forget(&nodes[i]);
        for (int i = 0; i < N_SLOTS; i++) {
            ebb__storage_release(slots[i].storage);
            slots[i].storage = NULL;
        }
        ebb_stats after = test_stats(&ctx);
        test_same_bytes(&before, &after);
        test_context_end(&ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_keep_what_is_needed_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
