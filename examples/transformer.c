/* transformer.c - a small causal transformer: trains on one task, is saved, and a second one
 * loads all but the head, is frozen and gets a new head for another task.
 *
 * Sequences are random digits. First task: is the first digit even; second: is it above 4. Both
 * need attention from the last position back to the first.
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { V = 10, T = 8, D = 32, N_HEADS = 4, N_BLOCKS = 2, B = 32, N_TEST = 256 };

typedef struct block {
    ebb_nn_linear q, k, v, o, up, down;
    ebb_nn_norm n1, n2;
} block;

typedef struct gpt {
    ebb_tensor *tok, *pos;
    block blocks[N_BLOCKS];
    ebb_nn_norm norm;
    ebb_nn_linear head;
} gpt;

static block block_make(ebb_params *p)
{
    return (block){.q = ebb_nn_linear_make(p, "q", D, D),
                   .k = ebb_nn_linear_make(p, "k", D, D),
                   .v = ebb_nn_linear_make(p, "v", D, D),
                   .o = ebb_nn_linear_make(p, "o", D, D),
                   .up = ebb_nn_linear_make(p, "up", D, 4 * D),
                   .down = ebb_nn_linear_make(p, "down", 4 * D, D),
                   .n1 = ebb_nn_norm_make(p, "n1", D),
                   .n2 = ebb_nn_norm_make(p, "n2", D)};
}

static gpt gpt_make(ebb_params *p, const char *head)
{
    const ebb_init small = ebb_normal_init(0, 0.1);
    gpt m = {.tok = ebb_param(p, "tok", EBB_F32, EBB_SHAPE(V, D), small),
             .pos = ebb_param(p, "pos", EBB_F32, EBB_SHAPE(T, D), small),
             .norm = ebb_nn_norm_make(p, "norm", D),
             .head = ebb_nn_linear_make(p, head, D, 2)};
    for (int i = 0; i < N_BLOCKS; i++)
        m.blocks[i] = block_make(ebb_params_sub(p, "blocks.%d", i));
    return m;
}

static ebb_tensor *heads(const ebb_nn_linear *m, ebb_tensor *x)
{
    const ebb_shape s = EBB_SHAPE(ebb_dim(x, 0), ebb_dim(x, 1), N_HEADS, D / N_HEADS);
    return ebb_transpose(ebb_reshape(ebb_nn_linear_forward(m, x), s), 1, 2);
}

static ebb_tensor *block_forward(const block *m, ebb_tensor *x)
{
    EBB_SCOPE(scope);
    ebb_tensor *h = ebb_nn_norm_forward(&m->n1, x);
    ebb_tensor *a =
        ebb_scaled_dot_product_attention(heads(&m->q, h), heads(&m->k, h), heads(&m->v, h),
                                         EBB_NONE, &(ebb_attention_options){.causal = true});
    a = ebb_reshape(ebb_transpose(a, 1, 2), EBB_SHAPE(ebb_dim(x, 0), ebb_dim(x, 1), D));
    x = ebb_add(x, ebb_nn_linear_forward(&m->o, a));
    h = ebb_gelu(ebb_nn_linear_forward(&m->up, ebb_nn_norm_forward(&m->n2, x)), NULL);
    return ebb_escape(scope, ebb_add(x, ebb_nn_linear_forward(&m->down, h)));
}

static ebb_tensor *gpt_forward(const gpt *m, ebb_tensor *ids)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_add(ebb_embedding(m->tok, ids), m->pos);
    for (int i = 0; i < N_BLOCKS; i++) ebb_replace(&x, block_forward(&m->blocks[i], x));
    x = ebb_select(ebb_nn_norm_forward(&m->norm, x), 1, -1);
    return ebb_escape(scope, ebb_nn_linear_forward(&m->head, x));
}

/* ---- two tasks on the same digits -------------------------------------------------------- */

typedef int64_t task(int64_t digit);

static int64_t is_even(int64_t digit)
{
    return digit % 2 == 0;
}

static int64_t is_large(int64_t digit)
{
    return digit > 4;
}

static void digits(int64_t *ids, int64_t *labels, int64_t n, task *t, uint64_t *random)
{
    for (int64_t i = 0; i < n * T; i++) {
        *random = *random * 6364136223846793005u + 1442695040888963407u;
        ids[i] = (int64_t)((*random >> 33) % V);
    }
    for (int64_t i = 0; i < n; i++) labels[i] = t(ids[i * T]);
}

static ebb_status train(ebb_context *ctx, const gpt *m, ebb_optimizer *adam, task *t,
                        int n_steps)
{
    uint64_t random = 1;
    for (int step = 0; step < n_steps; step++) {
        EBB_SCOPE(iter);
        int64_t ids[B * T], labels[B];
        digits(ids, labels, B, t, &random);
        ebb_tensor *logits = gpt_forward(m, EBB_FROM(ctx, EBB_SHAPE(B, T), ids, B * T));
        ebb_tensor *loss =
            ebb_cross_entropy(logits, EBB_FROM(ctx, EBB_SHAPE(B), labels, B), NULL);
        EBB_TRY(ebb_minimize(adam, loss, NULL));
        if (step % 50 == 0) printf("step %d loss %.4f\n", step, ebb_item(loss));
    }
    return EBB_OK;
}

static ebb_status test(double *accuracy_out, ebb_context *ctx, const gpt *m, task *t)
{
    EBB_NO_GRAD(scope);
    int64_t ids[N_TEST * T], labels[N_TEST], answers[N_TEST], n_right = 0;
    uint64_t random = 99;
    digits(ids, labels, N_TEST, t, &random);
    ebb_tensor *logits = gpt_forward(m, EBB_FROM(ctx, EBB_SHAPE(N_TEST, T), ids, N_TEST * T));
    EBB_TRY(EBB_READ(ebb_argmax(logits, EBB_AXES(1)), answers, N_TEST));
    for (int i = 0; i < N_TEST; i++) n_right += answers[i] == labels[i];
    *accuracy_out = (double)n_right / N_TEST;
    return EBB_OK;
}

/* ---- pretraining and fine-tuning --------------------------------------------------------- */

static ebb_status pretrain(double *accuracy_out, ebb_context *ctx, const char *file,
                           int n_steps)
{
    ebb_params *p;
    ebb_optimizer *adam;
    EBB_TRY(ebb_params_create(&p, ctx));
    gpt m = gpt_make(p, "head");
    EBB_TRY(ebb_adamw_create(&adam, p, 3e-3, NULL));
    EBB_TRY(train(ctx, &m, adam, is_even, n_steps));
    EBB_TRY(test(accuracy_out, ctx, &m, is_even));
    EBB_TRY(ebb_params_save(p, file));
    ebb_optimizer_release(adam);
    ebb_params_release(p);
    return EBB_OK;
}

static ebb_status finetune(double *accuracy_out, ebb_context *ctx, const char *file,
                           int n_steps)
{
    ebb_params *p;
    ebb_optimizer *adam;
    EBB_TRY(ebb_params_create(&p, ctx));
    gpt m = gpt_make(p, "new_head");
    EBB_TRY(ebb_params_status(p));
    ebb_params *head = ebb_params_sub(p, "new_head");
    const ebb_load_options others = {.allow_missing = true, .allow_extra = true};
    EBB_TRY(ebb_params_load(p, file, &others));
    EBB_TRY(ebb_params_set_trainable(p, false));
    EBB_TRY(ebb_params_set_trainable(head, true));
    EBB_TRY(ebb_adam_create(&adam, head, 1e-2, NULL));
    EBB_TRY(train(ctx, &m, adam, is_large, n_steps));
    return test(accuracy_out, ctx, &m, is_large);
}

int main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : "transformer.safetensors";
    const int n_steps = argc > 2 ? atoi(argv[2]) : 400;
    double even = 0, large = 0;
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, &(ebb_context_options){.seed = 1});
    if (s == EBB_OK) s = pretrain(&even, ctx, file, n_steps);
    if (s == EBB_OK) s = finetune(&large, ctx, file, n_steps);
    if (s == EBB_OK)
        printf("test accuracy: first task %.3f, second with a new head alone %.3f\n", even,
               large);
    /* Chance is one half. */
    if (s == EBB_OK && !(even > 0.95 && large > 0.6))
        s = ebb_fail(EBB_E_INTERNAL, "the transformer did not learn");
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
