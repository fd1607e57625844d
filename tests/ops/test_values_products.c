/* test_values_products.c - products of vectors and matrices, by rank and by letters. Expected
 * values by hand and by plain loops.
 * SPDX-License-Identifier: MIT */
#include "cases/cases.h"

static void refused_with(ebb_tensor *t, ebb_status want, const char *text)
{
    if (t) fail_msg("not refused: %s", text);
    if (!strstr(ebb_error_message(), text))
        fail_msg("\"%s\" does not say \"%s\"", ebb_error_message(), text);
    REFUSED(want, ebb_error_status());
}

static void products_of_vectors_and_matrices(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *m = MAT(EBB_SHAPE(2, 3), 1, 2, 3, 4, 5, 6), *v = VEC(1, 10, 100);
    EXPECT(ebb_mv(m, v), 0, 321, 654);
    EXPECT(ebb_dot(v, VEC(1, 2, 3)), 0, 321);
    EXPECT(ebb_outer(VEC(1, 2), v), 0, 1, 10, 100, 2, 20, 200);
    ebb_tensor *w = ebb_transpose(m, 0, 1);
    EXPECT(ebb_addmm(VEC(1, 2), m, w, 2, 10), 0, 142, 324, 322, 774);
    EXPECT(ebb_addmm(NUMBER(NAN), m, w, 0, 1), 0, 14, 32, 32, 77);
    ebb_tensor *b = ebb_reshape(m, EBB_SHAPE(2, 1, 3)), *c = ebb_reshape(m, EBB_SHAPE(2, 3, 1));
    EXPECT(ebb_bmm(b, c), 0, 14, 77);
    EXPECT(ebb_baddbmm(NUMBER(1), b, c, 1, -1), 0, -13, -76);
    refused_with(ebb_mv(v, v), EBB_E_SHAPE, "x is (3), 2 axes");
    refused_with(ebb_bmm(b, ebb_narrow(c, 0, 0, 1)), EBB_E_SHAPE, "axis 0 differs");
    refused_with(ebb_addmm(VEC(1, 2, 3), m, w, 1, 1), EBB_E_SHAPE, "do");
}

static void letters_name_what_is_summed(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    ebb_tensor *m = MAT(EBB_SHAPE(2, 2), 1, 2, 3, 4), *n = MAT(EBB_SHAPE(2, 2), 5, 6, 7, 8);
    ebb_tensor *two[] = {m, n}, *one[] = {m};
    EXPECT(ebb_einsum(two, 2, "ij,jk->ik"), 0, 19, 22, 43, 50);
    EXPECT(ebb_einsum(two, 2, "ij,jk"), 0, 19, 22, 43, 50);
    EXPECT(ebb_einsum(two, 2, "ij,kj->ik"), 0, 17, 23, 39, 53);
    EXPECT(ebb_einsum(two, 2, "ij,ij->"), 0, 70);
    EXPECT(ebb_einsum(two, 2, "ij, ij -> j"), 0, 26, 44);
    EXPECT(ebb_einsum(two, 2, "ij,kl->"), 0, 260);
    EXPECT(ebb_einsum(one, 1, "ii"), 0, 5);
    EXPECT(ebb_einsum(one, 1, "ii->i"), 0, 1, 4);
    EXPECT(ebb_einsum(one, 1, "ba"), 0, 1, 3, 2, 4); /* the letters in order: ab */
    EXPECT(ebb_einsum(one, 1, "ij->ij"), 0, 1, 2, 3, 4);
    EXPECT(ebb_einsum(one, 1, "...->..."), 0, 1, 2, 3, 4);
    EXPECT(ebb_einsum(one, 1, "i...->"), 0, 10);
    ebb_tensor *wide[] = {VEC(2), n, VEC(1, 10)};
    EXPECT(ebb_einsum(wide, 3, "i,ij,j->ij"), 0, 10, 120, 14, 160); /* length 1 stretches */
    refused_with(ebb_einsum((ebb_tensor *[]){m, VEC(1, 2, 3)}, 2, "ij,j"), EBB_E_SHAPE,
                 "axis 'j' is 3 long in xs[1], 2 before");
    refused_with(ebb_einsum(one, 1, "ij,jk"), EBB_E_RANGE, "more tensors than the 1");
    refused_with(ebb_einsum(two, 2, "ij->ij"), EBB_E_RANGE, "names 1 tensors, 2 are given");
    refused_with(ebb_einsum(one, 1, "ijk->i"), EBB_E_SHAPE, "xs[0] has 2 axes");
    refused_with(ebb_einsum(one, 1, "ij->k"), EBB_E_RANGE, "axis 'k' of the result");
    refused_with(ebb_einsum(one, 1, "ij->ii"), EBB_E_RANGE, "twice");
    refused_with(ebb_einsum(one, 1, "i1"), EBB_E_RANGE, "'1'");
    refused_with(ebb_einsum(one, 1, "i.."), EBB_E_RANGE, "dots");
    refused_with(ebb_einsum(one, 1, "ij-i"), EBB_E_RANGE, "'-'");
    refused_with(ebb_einsum(one, 1, NULL), EBB_E_MISUSE, "equation");
}

/* sum over b, c, d of x[a, b] y[b, c] z[c, d] w[a, d], by loops. */
static void a_chain_of_four_contracts_from_the_left(void **state)
{
    ebb_context *ctx = *state;
    EBB_SCOPE(scope);
    enum { A = 2, B = 3, C = 4, D = 5 };
    double x[A * B], y[B * C], z[C * D], w[A * D], want[A] = {0};
    for (int i = 0; i < A * B; i++) x[i] = i % 5 - 1.5;
    for (int i = 0; i < B * C; i++) y[i] = i % 7 - 2.25;
    for (int i = 0; i < C * D; i++) z[i] = i % 3 + 0.5;
    for (int i = 0; i < A * D; i++) w[i] = i % 4 - 3;
    for (int a = 0; a < A; a++)
        for (int b = 0; b < B; b++)
            for (int c = 0; c < C; c++)
                for (int d = 0; d < D; d++)
                    want[a] += x[a * B + b] * y[b * C + c] * z[c * D + d] * w[a * D + d];
    ebb_tensor *xs[] = {case_tensor(ctx, EBB_SHAPE(A, B), x, A * B),
                        case_tensor(ctx, EBB_SHAPE(B, C), y, B * C),
                        case_tensor(ctx, EBB_SHAPE(C, D), z, C * D),
                        case_tensor(ctx, EBB_SHAPE(A, D), w, A * D)};
    EXPECT(ebb_einsum(xs, 4, "ab,bc,cd,ad->a"), 1e-14, want[0], want[1]);
    EXPECT(ebb_einsum(xs, 4, "ab,bc,cd,ad->"), 1e-14, want[0] + want[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(products_of_vectors_and_matrices),
        CASE(letters_name_what_is_summed),
        CASE(a_chain_of_four_contracts_from_the_left),
    };
    return cmocka_run_group_tests_name("values/products", tests, NULL, NULL);
}
