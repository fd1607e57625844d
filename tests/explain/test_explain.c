/* test_explain.c - why a tensor is alive, as fields and as text; labels.
 * SPDX-License-Identifier: MIT */
#include "support/fixture.h"

#include <stdio.h>
#include <string.h>

static size_t bookkeeping(ebb_context *ctx)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    return s.bytes[EBB_KIND_BOOKKEEPING];
}

static void assert_text(ebb_tensor *t, const char *want)
{
    char text[2000];
    assert_ok(ebb_explain_text(text, sizeof text, t));
    assert_string_equal(text, want);
}

static void a_temporary_is_held_by_its_scope_alone(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(iter);
    const int line = __LINE__ - 1;
    ebb_tensor *x = EBB_VALUES(ctx, float, EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6);
    ebb_explanation e;
    assert_ok(ebb_explain(&e, x));
    assert_int_equal(e.bytes, 24);
    assert_int_equal(e.kind, EBB_KIND_DATA);
    assert_true(e.is_resident && e.is_in_scope && !e.is_view);
    assert_int_equal(e.n_references, 0);
    assert_string_equal(e.scope->name, "iter");
    assert_int_equal(e.scope->line, line);
    assert_int_equal(e.n_handles, 1);
    assert_int_equal(e.n_maps + e.n_gradient_slots + e.n_saves + e.n_history, 0);
    char want[200];
    snprintf(want, sizeof want,
             "f32 (2, 3), 24 bytes of kind data\nheld by scope iter (test_explain.c:%d)\n",
             line);
    assert_text(x, want);
}

static void references_maps_and_views_are_counted_apart(void **state)
{
    ebb_context *ctx = *state;
    ebb_tensor *x;
    {
        EBB_SCOPE(scope);
        x = ebb_claim(EBB_VALUES(ctx, double, EBB_SHAPE(2, 2), 1, 2, 3, 4));
        assert_ptr_equal(ebb_keep(x), x);
    }
    EBB_SCOPE(scope);
    ebb_tensor *row = ebb_select(x, 0, 1);
    ebb_view view;
    assert_ok(ebb_map(&view, x, EBB_MAP_READ));
    assert_ok(ebb_label(x, "table"));
    ebb_explanation e;
    assert_ok(ebb_explain(&e, x));
    assert_int_equal(e.n_references, 2);
    assert_false(e.is_in_scope);
    assert_null(e.scope);
    assert_int_equal(e.n_maps, 1);
    assert_int_equal(e.n_handles, 2);
    assert_text(x, "'table': f64 (2, 2), 32 bytes of kind data\n"
                   "held by the user: 2 references\n"
                   "mapped 1 time\n"
                   "bytes shared with 1 other handle\n");
    assert_ok(ebb_explain(&e, row));
    assert_true(e.is_view);
    {
        EBB_SCOPE(views);
        assert_ok(
            ebb_explain(&e, ebb_select(x, 0, 0))); /* contiguous, from the first element */
        assert_true(e.is_view);
        assert_ok(ebb_explain(&e, ebb_reshape(x, EBB_SHAPE(4)))); /* all of it */
        assert_false(e.is_view);
        assert_ok(
            ebb_explain(&e, ebb_zeros(ctx, EBB_F32, EBB_SHAPE(20)))); /* 80 bytes of 128 */
        assert_false(e.is_view);
        assert_ok(ebb_explain(&e, ebb_zeros(ctx, EBB_F32, EBB_SHAPE(0))));
        assert_false(e.is_view);
    }
    assert_ok(ebb_explain(&e, row));
    assert_int_equal(e.n_references, 0);
    assert_int_equal(e.bytes, 32);
    ebb_unmap(x);
    ebb_release(x);
    ebb_release(x);
    assert_ok(ebb_explain(&e, row)); /* the view keeps the bytes */
    assert_int_equal(e.n_handles, 1);
    assert_true(ebb_item(ebb_select(row, 0, 0)) == 3);
}

/* x is saved by the product; that is an input of the sum, and that of the loss, which the user
 * holds. */
static void the_shortest_chain_leads_from_the_saver_to_a_handle(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(outer);
    ebb_tensor *x = leaf_scalar(ctx, 3), *loss = NULL;
    assert_ok(ebb_label(x, "x"));
    {
        EBB_SCOPE(inner);
        ebb_tensor *y = ebb_add(ebb_mul(x, scalar(ctx, 2)), x);
        assert_ok(ebb_hold(&loss, ebb_sum(ebb_exp(y), EBB_ALL)));
        assert_ok(ebb_label(loss, "loss"));
    }
    ebb_explanation e;
    assert_ok(ebb_explain(&e, x));
    assert_int_equal(e.n_saves, 0); /* x's gradient reads the 2, not x */
    assert_int_equal(e.n_history, 0);
    assert_ok(ebb_explain(&e, loss));
    assert_int_equal(e.n_history, 4);
    {
        EBB_SCOPE(inner);
        ebb_tensor *square = ebb_mul(x, x);
        assert_ok(ebb_hold(&loss, ebb_sum(ebb_add(square, x), EBB_ALL)));
        assert_ok(ebb_label(loss, "loss"));
    }
    assert_ok(ebb_explain(&e, x));
    assert_int_equal(e.n_saves, 1);
    assert_int_equal(e.save[0].n_links, 3);
    assert_string_equal(e.save[0].link[0].op, "mul");
    assert_string_equal(e.save[0].link[1].op, "add");
    assert_string_equal(e.save[0].link[2].op, "sum");
    assert_string_equal(e.save[0].head.label, "loss");
    assert_ptr_equal(e.save[0].handle, loss);
    char text[600];
    assert_ok(ebb_explain_text(text, sizeof text, x));
    assert_non_null(
        strstr(text, "\nsaved by mul <- add <- sum (user, 1 reference, label 'loss')\n"));
    ebb_clear(&loss);
    assert_ok(ebb_explain(&e, x));
    assert_int_equal(e.n_saves, 0);
}

static void recorded_sites_are_in_the_chain(void **state)
{
    (void)state;
    ebb_context *ctx;
    assert_ok(ebb_context_create(&ctx, &(ebb_context_options){.record_sites = true}));
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = leaf_scalar(ctx, 3);
        ebb_tensor *y = ebb_mul(x, x);
        const int mul_line = __LINE__ - 1;
        char want[200], text[600];
        snprintf(want, sizeof want,
                 "saved by mul (test_explain.c:%d) (scope scope (test_explain.c:%d))\n",
                 mul_line, mul_line - 2);
        assert_ok(ebb_explain_text(text, sizeof text, x));
        if (!strstr(text, want)) fail_msg("%s lacks %s", text, want);
        ebb_replace(&y, NULL);
    }
    ebb_context_destroy(ctx);
}

static void chains_longer_than_the_list_keep_both_ends(void **state)
{
    ebb_context *ctx = *state;
    for (int length = 20; length <= 200; length += 180) {
        EBB_SCOPE(outer);
        ebb_tensor *x = leaf_scalar(ctx, 1), *last = NULL;
        {
            EBB_SCOPE(inner);
            ebb_tensor *y = ebb_mul(x, x);
            for (int i = 1; i < length; i++) y = ebb_neg(y);
            assert_ok(ebb_hold(&last, y));
        }
        ebb_explanation e;
        assert_ok(ebb_explain(&e, x));
        assert_int_equal(e.n_saves, 1);
        assert_int_equal(e.save[0].n_links, length);
        assert_string_equal(e.save[0].link[0].op, "mul");
        assert_string_equal(e.save[0].head.op, "neg");
        assert_ptr_equal(e.save[0].handle, last);
        char text[800], want[60];
        snprintf(want, sizeof want, "more) <- neg (user, 1 reference)\n");
        assert_ok(ebb_explain_text(text, sizeof text, x));
        assert_non_null(strstr(text, want));
        ebb_clear(&last);
    }
}

static void a_gradient_slot_is_named_by_its_leaf(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *w = leaf_scalar(ctx, 3);
    assert_ok(ebb_label(w, "w"));
    assert_ok(ebb_backward(ebb_mul(w, w), NULL));
    ebb_tensor *g = ebb_grad_of(w);
    ebb_explanation e;
    assert_ok(ebb_explain(&e, g));
    assert_int_equal(e.kind, EBB_KIND_GRADIENT);
    assert_int_equal(e.n_gradient_slots, 1);
    assert_string_equal(e.gradient_of, "w");
    assert_ok(ebb_clear_grad(w));
    assert_ok(ebb_explain(&e, g));
    assert_int_equal(e.n_gradient_slots, 0);
}

static void labels_are_copied_cut_and_go_with_the_handle(void **state)
{
    ebb_context *ctx = *state;
    size_t before;
    {
        EBB_SCOPE(warm); /* the handle's page and the table of names */
        assert_ok(ebb_label(leaf_scalar(ctx, 1), "warm"));
    }
    before = bookkeeping(ctx);
    {
        EBB_SCOPE(scope);
        ebb_tensor *x = scalar(ctx, 1);
        size_t unnamed = bookkeeping(ctx);
        char name[] = "a name that is longer than thirty-one bytes";
        assert_null(ebb_label_of(x));
        assert_ok(ebb_label(x, name));
        name[0] = 'X';
        assert_string_equal(ebb_label_of(x), "a name that is longer than thir");
        assert_int_equal(bookkeeping(ctx) - unnamed, 48);
        /* Three bytes each: ten fit. */
        assert_ok(ebb_label(x, "日本語日本語日本語日本語"));
        assert_string_equal(ebb_label_of(x), "日本語日本語日本語日");
        assert_ok(ebb_label(x, "short"));
        assert_string_equal(ebb_label_of(x), "short");
        assert_int_equal(bookkeeping(ctx) - unnamed, 48);
        assert_ok(ebb_label(x, NULL));
        assert_null(ebb_label_of(x));
        assert_int_equal(bookkeeping(ctx), unnamed);
        assert_ok(ebb_label(x, "again"));
    }
    assert_int_equal(bookkeeping(ctx), before);
    assert_null(ebb_label_of(NULL));
    assert_null(ebb_label_of(EBB_NONE));
    assert_status(ebb_label(NULL, "x"), EBB_E_MISUSE);
}

static void what_does_not_fit_is_cut(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = scalar(ctx, 1);
    char text[8] = "1234567";
    assert_ok(ebb_explain_text(text, 5, x));
    assert_string_equal(text, "f64 ");
    assert_int_equal(text[5], '6');
    assert_ok(ebb_explain_text(NULL, 0, x));
    assert_status(ebb_explain_text(NULL, 5, x), EBB_E_MISUSE);
    assert_status(ebb_explain(NULL, x), EBB_E_MISUSE);
    ebb_explanation e;
    assert_status(ebb_explain(&e, NULL), EBB_E_MISUSE);
}

typedef struct dump_text {
    char text[4000];
    size_t n;
} dump_text;

static void dump_write(void *user, const char *text, size_t n)
{
    dump_text *d = user;
    if (d->n + n >= sizeof d->text) return;
    memcpy(d->text + d->n, text, n);
    d->n += n;
    d->text[d->n] = '\0';
}

static void the_graph_is_dumped_with_operation_names_and_labels(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *x = leaf_scalar(ctx, 1), *y = ebb_exp(ebb_mul(x, x));
    assert_ok(ebb_label(y, "loss"));
    dump_text dot = {.n = 0}, json = {.n = 0};
    assert_ok(ebb_context_dump_graph(ctx, EBB_GRAPH_DOT, dump_write, &dot));
    assert_ok(ebb_context_dump_graph(ctx, EBB_GRAPH_JSON, dump_write, &json));
    assert_non_null(strstr(dot.text, "label=\"exp 'loss'\\nlive, 1 handle\""));
    assert_non_null(strstr(dot.text, "label=\"mul"));
    assert_non_null(strstr(json.text, "\"name\":\"exp\",\"label\":\"loss\""));
    assert_status(ebb_context_dump_graph(ctx, (ebb_graph_format)9, dump_write, &dot),
                  EBB_E_RANGE);
    assert_status(ebb_context_dump_graph(NULL, EBB_GRAPH_DOT, dump_write, &dot), EBB_E_MISUSE);
    assert_status(ebb_context_dump_graph(ctx, EBB_GRAPH_DOT, NULL, &dot), EBB_E_MISUSE);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_temporary_is_held_by_its_scope_alone),
        TEST(references_maps_and_views_are_counted_apart),
        TEST(the_shortest_chain_leads_from_the_saver_to_a_handle),
        TEST(recorded_sites_are_in_the_chain),
        TEST(chains_longer_than_the_list_keep_both_ends),
        TEST(a_gradient_slot_is_named_by_its_leaf),
        TEST(labels_are_copied_cut_and_go_with_the_handle),
        TEST(what_does_not_fit_is_cut),
        TEST(the_graph_is_dumped_with_operation_names_and_labels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
