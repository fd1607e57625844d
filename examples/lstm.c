/* lstm.c - a character model: an LSTM reads a text and learns to say what comes next.
 *
 *   lstm [TEXT_FILE]     without one, a short text of its own, often enough to see the loss
 * fall
 *
 * The state is carried from window to window: held by the program, cut from its history.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 96, E = 32, H = 64, B = 8, T = 32, TEXT_MAX = 1 << 20 };

typedef struct model {
    ebb_tensor *emb;
    ebb_nn_lstm cell;
    ebb_nn_linear out;
} model;

static model model_make(ebb_params *p)
{
    return (model){ebb_param(p, "emb", EBB_F32, EBB_SHAPE(V, E), ebb_normal_init(0, 1)),
                   ebb_nn_lstm_make(p, "cell", E, H), ebb_nn_linear_make(p, "out", H, V)};
}

/* The text read by B readers side by side, each n / B characters after the one before. */
static void characters(int64_t *out, const unsigned char *text, size_t stride, size_t at)
{
    for (size_t b = 0; b < B; b++) out[b] = text[b * stride + at] % V;
}

/* Mean loss over T characters; *h and *c move on. */
static ebb_tensor *window(ebb_tensor **h, ebb_tensor **c, ebb_context *ctx, const model *m,
                          const unsigned char *text, size_t stride, size_t pos)
{
    ebb_tensor *losses[T];
    for (size_t t = 0; t < T; t++) {
        int64_t in[B], want[B];
        characters(in, text, stride, pos + t);
        characters(want, text, stride, pos + t + 1);
        ebb_tensor *x = ebb_embedding(m->emb, EBB_FROM(ctx, EBB_SHAPE(B), in, B));
        if (ebb_nn_lstm_step(h, c, &m->cell, x) != EBB_OK) return NULL;
        losses[t] = ebb_cross_entropy(ebb_nn_linear_forward(&m->out, *h),
                                      EBB_FROM(ctx, EBB_SHAPE(B), want, B), NULL);
    }
    return ebb_mean(ebb_stack(losses, T, 0), EBB_ALL);
}

static ebb_status train(double *first, double *last, ebb_context *ctx,
                        const unsigned char *text, size_t n)
{
    ebb_params *params;
    ebb_optimizer *adam;
    EBB_TRY(ebb_params_create(&params, ctx));
    model m = model_make(params);
    EBB_TRY(ebb_adam_create(&adam, params, 5e-3, NULL));

    EBB_SCOPE(scope);
    ebb_tensor *h = NULL, *c = NULL; /* carried from window to window: ours */
    EBB_TRY(ebb_hold(&h, ebb_full(ctx, EBB_F32, EBB_SHAPE(B, H), 0)));
    EBB_TRY(ebb_hold(&c, ebb_full(ctx, EBB_F32, EBB_SHAPE(B, H), 0)));
    const size_t stride = n / B;
    for (size_t pos = 0; pos + T + 1 < stride; pos += T) {
        EBB_SCOPE(iter);
        ebb_tensor *ht = h, *ct = c;
        ebb_tensor *loss = window(&ht, &ct, ctx, &m, text, stride, pos);
        EBB_TRY(ebb_minimize(adam, loss, &(ebb_minimize_options){.clip_grad_norm = 1.0}));
        EBB_TRY(ebb_hold(&h, ebb_detach(ht)));
        EBB_TRY(ebb_hold(&c, ebb_detach(ct)));
        *last = ebb_item(loss);
        if (pos == 0) *first = *last;
        if (pos / T % 10 == 0) printf("%zu characters  loss %.4f\n", (pos + T) * B, *last);
    }
    ebb_clear(&h);
    ebb_clear(&c);
    return EBB_OK;
}

static size_t own_text(unsigned char *text)
{
    static const char line[] = "the quick brown fox jumps over the lazy dog; ";
    size_t n = 0;
    for (int i = 0; i < 200; i++, n += sizeof line - 1) memcpy(text + n, line, sizeof line - 1);
    return n;
}

int main(int argc, char **argv)
{
    static unsigned char text[TEXT_MAX];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (argc > 1 && !f) {
        perror(argv[1]);
        return 2;
    }
    size_t n = f ? fread(text, 1, sizeof text, f) : own_text(text);
    if (f) fclose(f);
    double first = 0, last = 0;
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, NULL);
    if (s == EBB_OK) s = train(&first, &last, ctx, text, n);
    if (s == EBB_OK) printf("loss %.3f at first, %.3f at last\n", first, last);
    if (s == EBB_OK && !f && !(last < 0.5 * first))
        s = ebb_fail(EBB_E_INTERNAL, "the model learns nothing from a text of one line");
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
