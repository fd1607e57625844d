/* test_conventions.c - docs/conventions.md, run: every row of its tables has examples under the
 * table that show what it says, and they hold.
 *
 * Under a table comes a block of lines between "```edges" and "```":
 *   # CELL              what follows shows the row whose first cell is CELL
 *   NAME(IN, IN; ATTRIBUTES) = OUT, OUT | grad G, G | second S, S
 *   NAME(...) refused E_RANGE     and "| grad refused", "| second refused" likewise
 *   tests/FILE: TEST    shown by a test of that name in that file
 * A tensor is "[DTYPE] [SHAPE:] numbers": f64 and a vector where nothing is said; "2x3:",
 * "scalar:", "0x3:" are shapes, "none" is an absent input or a gradient that is not looked at. The
 * cotangent is 1 everywhere, and `second` is the gradient of the sum of all gradients. Numbers are
 * compared to 1e-12 relative (1e-6 in f32), a zero exactly, "-0" with its sign. Where all is f64 and
 * the numbers can be had in f32, f16 and bf16, the example holds in these too, to their precision;
 * "f64" written out keeps it to that.
 * A cell that is a list of operations needs an example of each. And every public operation is
 * named by some row, or in the list of those without a choice at the end of the page.
 * SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/context.h"
#include "support/op_harness.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1000, MAX_ROWS = 40, MAX_OPS = 512, MAX_PATH = 600 };
#define PAGE EBB_SOURCE_DIR "/docs/conventions.md"
#define NO_CHOICE "## Nothing to choose"

typedef struct row {
    char cell[160];
    int line, n_examples;
    bool shown[MAX_OPS]; /* by id: an example applies it, or a test shows all of the row */
} row;

typedef struct page {
    row rows[MAX_ROWS]; /* of the section */
    int n_rows, line, n_faults, n_examples, n_in_other_types, n_rows_of_all;
    row *at;              /* that the examples show */
    bool in_block, done;  /* done: in the list of operations without a choice */
    bool named[MAX_OPS];  /* by id: by some row, or in the list */
    bool listed[MAX_OPS]; /* by id: in the list */
} page;

static ebb__registry *registry(void)
{
    return harness_context()->registry;
}

static void complain(page *p, const char *what, const char *more)
{
    print_error("docs/conventions.md:%d: %s%s\n", p->line, what, more);
    p->n_faults++;
}

static char *trim(char *text)
{
    while (isspace((unsigned char)*text)) text++;
    for (size_t n = strlen(text); n > 0 && isspace((unsigned char)text[n - 1]);) text[--n] = 0;
    return text;
}

/* ---- reading an example ------------------------------------------------------------------ */
/* The next part of *rest up to the separator; NULL after the last. */
static char *next_part(char **rest, char separator)
{
    char *part = *rest;
    if (!part) return NULL;
    char *end = strchr(part, separator);
    if (end) *end = 0;
    *rest = end ? end + 1 : NULL;
    return trim(part);
}

static bool dtype_word(ebb_dtype *out, const char *word)
{
    for (int d = EBB_F32; d <= EBB_BF16; d++)
        if (strcmp(ebb_dtype_name((ebb_dtype)d), word) == 0) {
            *out = (ebb_dtype)d;
            return true;
        }
    return false;
}

/* False where the text is no tensor. `type` is taken where none is named. */
static bool read_tensor(harness_value *v, char *text, ebb_dtype type)
{
    double x[256];
    ebb_shape s = {1, {0}};
    int64_t n = 0;
    memset(v, 0, sizeof *v);
    v->absent = strcmp(text, "none") == 0;
    if (v->absent) return true;
    char *space = strchr(text, ' '), *colon = strchr(text, ':');
    if (space) *space = 0;
    bool typed = dtype_word(&type, text);
    if (space) *space = ' ';
    if (typed) text = space ? trim(space) : text + strlen(text);
    if (colon) {
        *colon = 0, s.n_dims = 0;
        for (char *p = strcmp(text, "scalar") == 0 ? colon : text; *p; p += *p == 'x')
            s.dims[s.n_dims++] = strtoll(p, &p, 10);
        text = colon + 1;
    }
    for (char *word, *rest = text; n < 256 && (word = strtok_r(rest, " ", &rest));) {
        char *end;
        x[n++] = strtod(word, &end);
        if (*end) return false;
    }
    if (!colon) s.dims[0] = n;
    if (n != ebb__n_elems(&s) || !harness_value_make(v, type, &s)) return false;
    memcpy(v->x, x, (size_t)n * sizeof *x);
    return true;
}

static bool read_tensors(harness_results *r, char *text, ebb_dtype type)
{
    r->n = 0;
    for (char *part, *rest = *trim(text) ? text : NULL; (part = next_part(&rest, ','));)
        if (!read_tensor(&r->value[r->n++], part, type)) return false;
    return true;
}

typedef struct example {
    char name[64], attr[200], in_text[EBB__MAX_IN][64];
    harness_results in, out, grad, second; /* n 0: not said */
    char refused[3][24];                   /* the status, of the forward, grad and second */
} example;

static void example_free(example *e)
{
    harness_results_free(&e->in), harness_results_free(&e->out);
    harness_results_free(&e->grad), harness_results_free(&e->second);
}

/* "= OUT" or "refused E_X", what follows "grad" and "second". */
static bool read_outcome(example *e, int which, char *text)
{
    harness_results *to[] = {&e->out, &e->grad, &e->second};
    if (sscanf(text, "refused %23s", e->refused[which]) == 1) return true;
    if (which == 0 && *text++ != '=') return false;
    return read_tensors(to[which], trim(text), EBB_F64);
}

static bool read_example(example *e, char *line)
{
    memset(e, 0, sizeof *e);
    char *open = strchr(line, '('), *close = open ? strchr(open, ')') : NULL;
    if (!close || open - line > 63) return false;
    *open = *close = 0;
    snprintf(e->name, sizeof e->name, "%.63s", line);
    char *rest = close + 1, *inputs = open + 1, *attr = strchr(inputs, ';');
    if (attr) *attr++ = 0;
    snprintf(e->attr, sizeof e->attr, "%.199s", attr ? trim(attr) : "");
    if (!read_tensors(&e->in, inputs, EBB_F64) || e->in.n > EBB__MAX_IN) return false;
    for (int i = 0; i < e->in.n; i++) {
        const harness_value *v = &e->in.value[i];
        int at = snprintf(e->in_text[i], 64, v->absent ? "-" : "%s:", ebb_dtype_name(v->dtype));
        for (int64_t d = 0; d < v->shape.n_dims; d++)
            at += snprintf(e->in_text[i] + at, 12, d ? "x%d" : "%d", (int)v->shape.dims[d]);
    }
    if (!read_outcome(e, 0, next_part(&rest, '|'))) return false;
    for (char *part; (part = next_part(&rest, '|'));) {
        int which = strncmp(part, "grad ", 5) == 0     ? 1
                    : strncmp(part, "second ", 7) == 0 ? 2
                                                       : 0;
        if (!which || !read_outcome(e, which, trim(part + (which == 1 ? 5 : 7)))) return false;
    }
    return true;
}

/* ---- running it -------------------------------------------------------------------------- */
static bool same(double x, double want, ebb_dtype d)
{
    if (isnan(want)) return isnan(x);
    if (want == 0) return x == 0 && (!signbit(want) || signbit(x));
    if (isinf(want) || isinf(x)) return x == want;
    double tolerance = d == EBB_F64 ? 1e-12 : d == EBB_F32 ? 2e-6 : d == EBB_F16 ? 2e-3 : 2e-2;
    return fabs(x - want) <= tolerance * fabs(want);
}

static bool all_same(const char *what, const harness_results *got, const harness_results *want)
{
    if (got->n < want->n) {
        print_error("  %s: %d of them, %d expected\n", what, got->n, want->n);
        return false;
    }
    for (int k = 0; k < want->n; k++) {
        const harness_value *x = &got->value[k], *w = &want->value[k];
        if (w->absent) continue;
        if (x->absent || x->dtype != w->dtype || !ebb__shape_equal(&x->shape, &w->shape)) {
            print_error("  %s %d has another shape or type (%s)\n", what, k,
                        x->absent ? "absent" : ebb_dtype_name(x->dtype));
            return false;
        }
        for (int64_t i = 0; i < w->n; i++)
            if (!same(x->x[i], w->x[i], w->dtype)) {
                print_error("  %s %d, element %lld is %.17g, %.17g expected\n", what, k,
                            (long long)i, x->x[i], w->x[i]);
                return false;
            }
    }
    return true;
}

/* Whether the status is the one the example names, or good where it names none. */
static bool as_said(ebb_status status, const char *refused)
{
    const char *name = ebb_status_name(status);
    bool right = *refused ? strstr(name, refused) != NULL : status == EBB_OK;
    if (!right)
        print_error("  %s (%s), %s expected\n", name, ebb_error_message(),
                    *refused ? refused : "OK");
    ebb_error_clear();
    return right;
}

static bool outcome_holds(const example *e, harness_case *c)
{
    harness_results out = {0}, grads = {0}, second = {0}, ones = {0};
    harness_value *in_ones = ones.value;
    bool differentiated = e->grad.n || *e->refused[1];
    bool good = as_said(harness_run(&out, NULL, c, NULL), e->refused[0]);
    good = good && (*e->refused[0] || all_same("result", &out, &e->out));
    harness_seeds(&ones, c, &out, 0);
    for (int k = 0; k < ones.n; k++)
        for (int64_t i = 0; i < ones.value[k].n; i++) ones.value[k].x[i] = 1;
    harness_options o = {.seed = ones.value};
    harness_results_free(&out);
    if (good && differentiated) {
        good = as_said(harness_run(&out, &grads, c, &o), e->refused[1]);
        good = good && (*e->refused[1] || all_same("gradient", &grads, &e->grad));
        harness_results_free(&out);
    }
    if (good && (e->second.n || *e->refused[2])) {
        harness_value weight[EBB__MAX_IN] = {{0}};
        for (int i = 0; i < c->n_in; i++) {
            harness_value_copy(&weight[i], &c->in[i]);
            for (int64_t k = 0; k < weight[i].n; k++) weight[i].x[k] = 1;
        }
        harness_results_free(&grads);
        o.seed = in_ones;
        good = as_said(harness_run_second(&grads, &second, c, &o, weight), e->refused[2]);
        good = good && (*e->refused[2] || all_same("second", &second, &e->second));
        for (int i = 0; i < c->n_in; i++) harness_value_free(&weight[i]);
    }
    harness_results_free(&grads), harness_results_free(&second), harness_results_free(&ones);
    return good;
}

/* NULL, or the fault. */
static const char *run_example(const example *e, const ebb_op *op)
{
    ebb_sample text = {.attr = e->attr, .n_out = e->out.n ? e->out.n : 1};
    for (int i = 0; i < e->in.n; i++) text.in[i] = e->in_text[i];
    harness_case c;
    const char *fault = harness_case_make(&c, op, &text, EBB_F64);
    if (fault) return fault;
    const harness_results *by[] = {&e->grad, &e->second};
    for (int i = 0; i < c.n_in; i++) {
        bool wanted = *e->refused[1] || *e->refused[2];
        for (int k = 0; k < 2; k++) wanted |= i < by[k]->n && !by[k]->value[i].absent;
        c.wants[i] &= wanted;
        if (i < e->in.n && !c.in[i].absent)
            memcpy(c.in[i].x, e->in.value[i].x, (size_t)c.in[i].n * sizeof(double));
    }
    bool holds = outcome_holds(e, &c);
    harness_case_free(&c);
    return holds ? NULL : "does not hold: ";
}

/* Takes the example over to another type: false where its numbers are not had there. `exactly`: an
 * operand's. */
static bool values_to(harness_results *r, ebb_dtype d, bool exactly)
{
    const double most = d == EBB_F16 ? 6e4 : 3e38, least = d == EBB_F16 ? 6.2e-5 : 1.2e-38;
    for (int k = 0; k < r->n; k++) {
        harness_value *v = &r->value[k];
        if (v->absent || v->dtype != EBB_F64) continue;
        v->dtype = d;
        for (int64_t i = 0; i < v->n; i++) {
            double x = v->x[i], size = fabs(x);
            if (isfinite(x) && x != 0 && (size > most || size < least)) return false;
            harness_value one = {.dtype = d, .n = 1, .x = &x};
            harness_value_round(&one);
            if (exactly && isfinite(x) && x != v->x[i]) return false;
        }
    }
    return true;
}

static bool to_type(example *e, ebb_dtype d)
{
    bool any = false;
    for (int i = 0; i < e->in.n; i++) {
        char *colon = strchr(e->in_text[i], ':');
        bool plain = colon && strncmp(e->in_text[i], "f64", 3) == 0;
        if (colon && !plain && e->in_text[i][0] != 'i' &&
            strncmp(e->in_text[i], "bool", 4) != 0)
            return false; /* of several floating types: it is about them */
        char rest[64];
        if (!plain) continue;
        any = true;
        snprintf(rest, sizeof rest, "%s", colon);
        snprintf(e->in_text[i], 64, "%s%.50s", ebb_dtype_name(d), rest);
    }
    return any && values_to(&e->in, d, true) && values_to(&e->out, d, false) &&
           values_to(&e->grad, d, false) && values_to(&e->second, d, false);
}

static const char *run_in_other_types(page *p, const char *line, const ebb_op *op)
{
    static const ebb_dtype types[] = {EBB_F32, EBB_F16, EBB_BF16};
    const char *fault = NULL;
    if (strstr(line, "f64 ")) return NULL;
    for (int t = 0; t < 3 && !fault; t++) {
        char copy[LINE];
        example e;
        snprintf(copy, sizeof copy, "%s", line);
        if (read_example(&e, copy) && to_type(&e, types[t])) {
            fault = run_example(&e, op);
            p->n_in_other_types++;
        }
        if (fault) print_error("  in %s\n", ebb_dtype_name(types[t]));
        example_free(&e);
    }
    return fault;
}

static void example_line(page *p, char *line)
{
    char copy[LINE];
    example e;
    snprintf(copy, sizeof copy, "%s", line);
    bool read = read_example(&e, line);
    const ebb_op *op = read ? ebb__registry_find(registry(), e.name) : NULL;
    const char *fault = !read ? "is no example: " : op ? run_example(&e, op) : "no operation: ";
    if (!fault) fault = run_in_other_types(p, copy, op);
    if (fault) complain(p, fault, copy);
    if (op) p->at->shown[op->id] = true;
    example_free(&e);
}

/* "tests/ops/test_x.c: name" */
static void test_line(page *p, char *line)
{
    char path[MAX_PATH], text[LINE], call[200];
    char *name = strstr(line, ": ");
    bool found = false;
    if (name) {
        snprintf(path, sizeof path, "%s/%.*s", EBB_SOURCE_DIR, (int)(name - line), line);
        snprintf(call, sizeof call, "void %s(", name + 2);
        FILE *f = fopen(path, "r");
        while (f && !found && fgets(text, sizeof text, f)) found = strstr(text, call) != NULL;
        if (f) fclose(f);
    }
    if (!found) complain(p, "no such test: ", line);
    memset(p->at->shown, true, sizeof p->at->shown);
}

/* ---- the page ---------------------------------------------------------------------------- */
/* The operations that a cell lists: their number, 0 where it is a phrase. */
static int ops_of(int32_t *id, const char *cell)
{
    char copy[160];
    int n = 0;
    snprintf(copy, sizeof copy, "%s", cell);
    for (char *part, *rest = copy; (part = next_part(&rest, ','));) {
        const ebb_op *op = ebb__registry_find(registry(), part);
        if (!op || op->flags & EBB_OP_PRIVATE) return 0;
        id[n++] = op->id;
    }
    return n;
}

static void end_section(page *p)
{
    int32_t id[32];
    for (int k = 0; k < p->n_rows; k++) {
        row *r = &p->rows[k];
        p->line = r->line;
        if (!r->n_examples) complain(p, "no example shows ", r->cell);
        for (int n = ops_of(id, r->cell); n > 0; n--) {
            p->named[id[n - 1]] = true;
            if (r->n_examples && !r->shown[id[n - 1]])
                complain(p, "no example of ", ebb__registry_at(registry(), id[n - 1])->name);
        }
        p->n_rows_of_all++;
    }
    p->n_rows = 0, p->at = NULL;
}

static void table_line(page *p, char *line)
{
    char *end = strstr(line, " | ");
    if (strncmp(line, "| ", 2) != 0 || !end) return;
    *end = 0;
    const char *heads[] = {"operation", "what", "question"};
    for (int k = 0; k < 3; k++)
        if (strcmp(line + 2, heads[k]) == 0) return;
    assert_true(p->n_rows < MAX_ROWS);
    row *r = &p->rows[p->n_rows++];
    memset(r, 0, sizeof *r);
    snprintf(r->cell, sizeof r->cell, "%.159s", line + 2);
    r->line = p->line;
}

static void block_line(page *p, char *line)
{
    if (line[0] == '#') {
        p->at = NULL;
        for (int k = 0; k < p->n_rows; k++)
            if (strcmp(p->rows[k].cell, trim(line + 1)) == 0) p->at = &p->rows[k];
        if (!p->at) complain(p, "no row is called ", line + 1);
    } else if (*line && p->at) {
        p->at->n_examples++, p->n_examples++;
        if (strncmp(line, "tests/", 6) == 0)
            test_line(p, line);
        else
            example_line(p, line);
    }
}

static void list_line(page *p, char *line)
{
    for (char *word, *rest = line; (word = strtok_r(rest, " ,`\n", &rest));) {
        const ebb_op *op = ebb__registry_find(registry(), word);
        if (!op) continue;
        if (p->named[op->id]) complain(p, "has a row, and is listed as without: ", word);
        p->named[op->id] = p->listed[op->id] = true;
    }
}

static void read_page(page *p)
{
    char line[LINE];
    FILE *f = fopen(PAGE, "r");
    if (!f) fail_msg("%s cannot be opened", PAGE);
    while (fgets(line, sizeof line, f)) {
        p->line++;
        char *text = trim(line);
        if (strncmp(text, "```", 3) == 0) {
            p->in_block = strcmp(text, "```edges") == 0;
        } else if (p->in_block) {
            block_line(p, text);
        } else if (strncmp(text, "## ", 3) == 0) {
            int at = p->line;
            end_section(p);
            p->line = at, p->done = strcmp(text, NO_CHOICE) == 0;
        } else if (p->done) {
            list_line(p, text);
        } else {
            table_line(p, text);
        }
    }
    end_section(p);
    fclose(f);
}

static page the_page;

static void the_page_of_conventions_holds(void **state)
{
    (void)state;
    read_page(&the_page);
    printf("%d rows, %d examples, %d more in other types\n", the_page.n_rows_of_all,
           the_page.n_examples, the_page.n_in_other_types);
    assert_true(the_page.n_rows_of_all > 50 && the_page.n_examples > 100);
    if (the_page.n_faults) fail_msg("%d faults", the_page.n_faults);
}

static void every_operation_has_a_row_or_is_listed_as_without_a_choice(void **state)
{
    (void)state;
    int n_missing = 0;
    for (int32_t id = 0; id < ebb__registry_count(registry()); id++) {
        const ebb_op *op = ebb__registry_at(registry(), id);
        if (op->flags & EBB_OP_PRIVATE || the_page.named[id]) continue;
        print_error("  %s has no row in docs/conventions.md, nor is it in the list there\n",
                    op->name);
        n_missing++;
    }
    if (n_missing) fail_msg("%d operations are not named", n_missing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_of_conventions_holds),
        cmocka_unit_test(every_operation_has_a_row_or_is_listed_as_without_a_choice),
    };
    int failed = cmocka_run_group_tests_name("conventions", tests, NULL, NULL);
    harness_context_close();
    return failed;
}
