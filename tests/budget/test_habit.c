/* test_habit.c - a step written in one scope comes to need what a step that lets go of everything by
 * hand needs, without a budget; and what it reads after all is what it was.
 * SPDX-License-Identifier: MIT */
#include "support/layers_net.h"

enum { LAYERS = 8, WIDTH = 32, BATCH = 1024 };

static void net_open(net *m, size_t budget)
{
    net_make(m, (net_options){LAYERS, WIDTH, BATCH, 2, true, budget});
}

/* Every handle lives until the step ends; hidden[] gets some of them. */
static ebb_status natural_step(const net *m, ebb_tensor **hidden)
{
    ebb_tensor *h = m->x;
    for (int l = 0; l < LAYERS; l++) {
        h = ebb_matmul(h, net_param(m, l, "w"));
        h = ebb_add(h, net_param(m, l, "b"));
        h = ebb_mul_scalar(h, 1.5);
        h = l % 2 ? ebb_tanh(h) : ebb_gelu(h, NULL);
        if (hidden) hidden[l] = h;
    }
    return ebb_minimize(m->opt, ebb_mean(ebb_square(h), EBB_ALL), NULL);
}

/* Each handle is let go of at its last use. */
static ebb_status tidy_step(const net *m)
{
    EBB_SCOPE(iter);
    ebb_tensor *h = m->x;
    for (int l = 0; l < LAYERS; l++) {
        EBB_SCOPE(layer);
        ebb_tensor *y = ebb_matmul(h, net_param(m, l, "w")), *next;
        ebb_replace(&y, ebb_add(y, net_param(m, l, "b")));
        ebb_replace(&y, ebb_mul_scalar(y, 1.5));
        next = ebb_escape(layer, l % 2 ? ebb_tanh(y) : ebb_gelu(y, NULL));
        ebb_replace(&y, NULL);
        if (h != m->x) ebb_release(h);
        h = ebb_claim(next);
    }
    ebb_tensor *square = ebb_square(h);
    ebb_release(h);
    ebb_tensor *loss = ebb_mean(square, EBB_ALL);
    ebb_replace(&square, loss);
    return ebb_minimize(m->opt, loss, NULL);
}

static size_t tensors_at_peak(ebb_context *ctx)
{
    ebb_stats s = case_stats(ctx);
    return s.peak_bytes - s.peak_by_kind[EBB_KIND_BOOKKEEPING];
}

static void a_step_in_one_scope_peaks_like_one_that_lets_go_by_hand(void **state)
{
    (void)state;
    net m;
    net_open(&m, 0);
    GOOD(tidy_step(&m));
    ebb_stats_reset_peak(m.ctx);
    for (int i = 0; i < 3; i++) GOOD(tidy_step(&m));
    size_t exact = tensors_at_peak(m.ctx);
    net_close(&m);
    net_open(&m, 0);
    size_t at_first = 0, later = 0;
    for (int i = 0; i < 8; i++) {
        if (i == 2) ebb_stats_reset_peak(m.ctx);
        EBB_SCOPE(iter);
        GOOD(natural_step(&m, NULL));
        if (i == 1) at_first = tensors_at_peak(m.ctx);
        later = tensors_at_peak(m.ctx);
    }
    net_close(&m);
    if (getenv("EBB_TEST_VERBOSE"))
        printf("exact %zu, at first %zu, later %zu\n", exact, at_first, later);
    assert_true(at_first > exact * 5 / 4);
    if (later > exact + exact / 20) fail_msg("%zu, exact liveness is %zu", later, exact);
}

static void what_is_read_after_all_is_what_it_was(void **state)
{
    (void)state;
    static float want[LAYERS][BATCH * WIDTH], got[BATCH * WIDTH];
    for (int learning = 0; learning < 2; learning++) {
        net m;
        net_open(&m, 0);
        for (int i = 0; i < 7; i++) {
            EBB_SCOPE(iter);
            ebb_tensor *hidden[LAYERS];
            GOOD(natural_step(&m, hidden));
            /* without learning: every step reads them, so none is given up */
            for (int l = 0; l < LAYERS && (learning ? i == 6 : 1); l++) {
                GOOD(EBB_READ(hidden[l], learning ? got : want[l], BATCH * WIDTH));
                if (learning) assert_memory_equal(want[l], got, sizeof got);
            }
        }
        ebb_room_stats s;
        ebb_room_stats_get(&s, m.ctx);
        assert_true(learning ? s.n_recomputes > 0 : s.n_recomputes == 0);
        net_close(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_in_one_scope_peaks_like_one_that_lets_go_by_hand),
        cmocka_unit_test(what_is_read_after_all_is_what_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
