/* fashion_mnist.c - trains a small convolutional network on 60,000 images of clothes, tests it
 * on 10,000 others, saves it, loads it again and shows that it gives the same answers.
 *
 *   fashion_mnist [DATA_FOLDER [MODEL_FILE]]     EBB_DEMO_EPOCHS=1 for a short run
 *
 * After every step it also checks what Ebb promises: nothing but parameters and optimizer state
 * is left, to the byte.
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* isatty */
#include <ebb/ebb.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 128, TEST_BATCH = 500, N_TEST = 10000, N_CLASSES = 10, EPOCHS = 8 };
static const double first_rate = 2e-3; /* falls in a straight line to 0 */
/* Of all pixels of the training images, as fractions of 255. */
static const double pixel_mean = 72.94 / 255, pixel_std = 90.02 / 255;

/* ---- the network ------------------------------------------------------------------------- */

typedef struct cnn {
    ebb_nn_conv2d conv1, conv2;
    ebb_nn_linear fc;
} cnn;

static cnn cnn_make(ebb_params *p)
{
    const ebb_conv2d_options same = {.padding = {1, 1}};
    return (cnn){ebb_nn_conv2d_make(p, "conv1", 1, 32, 3, &same),
                 ebb_nn_conv2d_make(p, "conv2", 32, 64, 3, &same),
                 ebb_nn_linear_make(p, "fc", 64 * 7 * 7, N_CLASSES)};
}

static ebb_tensor *cnn_forward(const cnn *m, ebb_tensor *images, bool training)
{
    EBB_SCOPE(scope);
    ebb_tensor *x = ebb_mul_scalar(ebb_cast(images, EBB_F32), 1 / (255 * pixel_std));
    ebb_replace(&x, ebb_add_scalar(x, -pixel_mean / pixel_std));
    ebb_replace(&x, ebb_reshape(x, EBB_SHAPE(-1, 1, 28, 28)));
    ebb_replace(&x, ebb_nn_conv2d_forward(&m->conv1, x));
    ebb_replace(&x, ebb_relu(x));
    ebb_replace(&x, ebb_max_pool2d(x, 2, 2, NULL));
    ebb_replace(&x, ebb_nn_conv2d_forward(&m->conv2, x));
    ebb_replace(&x, ebb_relu(x));
    ebb_replace(&x, ebb_max_pool2d(x, 2, 2, NULL));
    ebb_replace(&x, ebb_reshape(x, EBB_SHAPE(-1, 64 * 7 * 7)));
    if (training) ebb_replace(&x, ebb_dropout(x, 0.25));
    return ebb_escape(scope, ebb_nn_linear_forward(&m->fc, x));
}

/* ---- what is shown ----------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct progress {
    bool terminal; /* one line that is written over; else one line an epoch */
    int epoch, n_epochs;
    int64_t step, n_steps, n_images;
    double begin, loss_sum;
} progress;

static void show(const progress *p, const ebb_context *ctx)
{
    enum { WIDTH = 24 };
    const int done = (int)(p->step * WIDTH / p->n_steps);
    ebb_stats mem;
    ebb_stats_get(&mem, ctx);
    printf("%sepoch %d/%d [%.*s%.*s]  loss %.4f  %5.0f images/s  %zu MiB, peak %zu MiB",
           p->terminal ? "\r" : "", p->epoch + 1, p->n_epochs, done, "########################",
           WIDTH - done, "........................", p->loss_sum / (double)p->step,
           (double)p->n_images / (seconds() - p->begin), mem.used_bytes >> 20,
           mem.peak_bytes >> 20);
    fflush(stdout);
}

/* ---- training ---------------------------------------------------------------------------- */

/* Between steps the context holds the parameters, Adam's two moments of each, the user's data
 * and nothing of the graph. */
static ebb_status check_clean(const ebb_context *ctx, const ebb_params *params)
{
    size_t want = 0;
    for (int64_t i = 0; i < ebb_params_count(params); i++)
        want += ebb_n_bytes(ebb_params_at(params, i));
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    if (s.bytes[EBB_KIND_ACTIVATION] || s.bytes[EBB_KIND_GRADIENT] || s.live_nodes)
        return ebb_fail(
            EBB_E_INTERNAL, "a step left %zu activation bytes, %zu gradient bytes, %lld nodes",
            s.bytes[EBB_KIND_ACTIVATION], s.bytes[EBB_KIND_GRADIENT], (long long)s.live_nodes);
    if (s.bytes[EBB_KIND_PARAMETER] != want || s.bytes[EBB_KIND_OPTIMIZER] != 2 * want)
        return ebb_fail(
            EBB_E_INTERNAL, "%zu parameter and %zu optimizer bytes, %zu and %zu expected",
            s.bytes[EBB_KIND_PARAMETER], s.bytes[EBB_KIND_OPTIMIZER], want, 2 * want);
    return EBB_OK;
}

static ebb_status train_step(double *loss_out, const cnn *model, ebb_optimizer *adam,
                             const ebb_batch *batch)
{
    EBB_SCOPE(iter);
    ebb_tensor *logits = cnn_forward(model, batch->field[0], true);
    ebb_tensor *loss = ebb_cross_entropy(logits, batch->field[1], NULL);
    EBB_TRY(ebb_minimize(adam, loss, NULL));
    *loss_out = ebb_item(loss);
    return EBB_OK;
}

static ebb_status train_epoch(progress *p, ebb_context *ctx, ebb_params *params,
                              const cnn *model, ebb_optimizer *adam, ebb_loader *loader)
{
    ebb_batch batch;
    p->begin = seconds();
    p->loss_sum = 0;
    p->n_images = p->step = 0;
    while (ebb_loader_next(loader, &batch)) {
        double loss;
        const double epochs_done = p->epoch + (double)batch.index / (double)batch.n_batches;
        ebb_optimizer_set_lr(adam, first_rate * (1 - epochs_done / p->n_epochs));
        EBB_TRY(train_step(&loss, model, adam, &batch));
        EBB_TRY(check_clean(ctx, params));
        p->loss_sum += loss;
        p->n_images += batch.n;
        p->step = batch.index + 1;
        p->n_steps = batch.n_batches;
        if (p->terminal && p->step % 8 == 0) show(p, ctx);
    }
    show(p, ctx);
    return EBB_OK;
}

/* The class of each test image, and the share that is right. */
static ebb_status evaluate(double *accuracy_out, int64_t answers[N_TEST], const cnn *model,
                           ebb_loader *test)
{
    ebb_batch batch;
    int64_t n = 0, n_right = 0;
    while (ebb_loader_next(test, &batch)) {
        EBB_NO_GRAD(iter);
        int64_t labels[TEST_BATCH];
        ebb_tensor *logits = cnn_forward(model, batch.field[0], false);
        EBB_TRY(EBB_READ(ebb_argmax(logits, EBB_AXES(1)), answers + n, batch.n));
        EBB_TRY(EBB_READ(batch.field[1], labels, batch.n));
        for (int64_t i = 0; i < batch.n; i++) n_right += answers[n + i] == labels[i];
        n += batch.n;
    }
    *accuracy_out = (double)n_right / (double)n;
    return EBB_OK;
}

/* ---- the whole run ----------------------------------------------------------------------- */

static ebb_tensor *load(ebb_context *ctx, const char *folder, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s-ubyte.gz", folder, name);
    return ebb_load_idx(ctx, path);
}

static ebb_status reload(ebb_context *ctx, ebb_loader *test, const char *file,
                         const int64_t answers[N_TEST])
{
    static int64_t again[N_TEST];
    double accuracy;
    ebb_params *params;
    EBB_TRY(ebb_params_create(&params, ctx));
    cnn model = cnn_make(params);
    EBB_TRY(ebb_params_load(params, file, NULL));
    EBB_TRY(evaluate(&accuracy, again, &model, test));
    ebb_params_release(params);
    if (memcmp(answers, again, sizeof again) != 0)
        return ebb_fail(EBB_E_INTERNAL, "the model from %s gives other answers", file);
    printf("%s: loaded again, the same %d answers\n", file, N_TEST);
    return EBB_OK;
}

static ebb_status run(ebb_context *ctx, const char *folder, const char *file, int n_epochs)
{
    EBB_SCOPE(scope);
    ebb_tensor *train_set[] = {load(ctx, folder, "train-images-idx3"),
                               load(ctx, folder, "train-labels-idx1")};
    ebb_tensor *test_set[] = {load(ctx, folder, "t10k-images-idx3"),
                              load(ctx, folder, "t10k-labels-idx1")};
    ebb_params *params;
    ebb_optimizer *adam;
    ebb_loader *train, *test;
    EBB_TRY(ebb_params_create(&params, ctx));
    cnn model = cnn_make(params);
    EBB_TRY(ebb_adam_create(&adam, params, first_rate, NULL));
    EBB_TRY(
        ebb_loader_create(&train, train_set, 2, BATCH, &(ebb_loader_options){.shuffle = true}));
    EBB_TRY(ebb_loader_create(&test, test_set, 2, TEST_BATCH, NULL));

    static int64_t answers[N_TEST];
    progress p = {.terminal = isatty(STDOUT_FILENO), .n_epochs = n_epochs};
    double accuracy = 0, train_seconds = 0;
    int64_t n_steps = 0;
    for (p.epoch = 0; p.epoch < n_epochs; p.epoch++) {
        EBB_TRY(train_epoch(&p, ctx, params, &model, adam, train));
        train_seconds += seconds() - p.begin;
        n_steps += p.step;
        EBB_TRY(evaluate(&accuracy, answers, &model, test));
        printf("  test accuracy %.4f\n", accuracy);
    }
    EBB_TRY(ebb_params_save(params, file));
    EBB_TRY(reload(ctx, test, file, answers));
    if (accuracy < (n_epochs < EPOCHS ? 0.8 : 0.91))
        return ebb_fail(EBB_E_INTERNAL, "test accuracy is only %.4f", accuracy);
    ebb_stats mem;
    ebb_stats_get(&mem, ctx);
    printf("result: test_accuracy=%.4f train_seconds=%.1f peak_bytes=%zu steps=%lld\n",
           accuracy, train_seconds, mem.peak_bytes, (long long)n_steps);
    return EBB_OK;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "/usr/share/datasets/fashion-mnist";
    const char *file = argc > 2 ? argv[2] : "cnn.safetensors";
    const char *epochs = getenv("EBB_DEMO_EPOCHS");
    int n_epochs = epochs && atoi(epochs) > 0 ? atoi(epochs) : EPOCHS;
    ebb_context *ctx = NULL;
    ebb_status s =
        ebb_context_create(&ctx, &(ebb_context_options){.memory_budget_bytes = 512u << 20});
    if (s == EBB_OK) s = run(ctx, folder, file, n_epochs);
    if (s != EBB_OK) fprintf(stderr, "\n%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
