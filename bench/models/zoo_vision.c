/* zoo_vision.c - ResNet-20 and -56, DenseNet-BC 40 and a U-Net of four levels.
 * SPDX-License-Identifier: MIT */
#include "zoo.h"

#include <stddef.h>

typedef struct conv_norm {
    ebb_nn_conv2d conv;
    ebb_nn_batch_norm norm;
} conv_norm;

static ebb_nn_conv2d conv_make(ebb_params *p, const char *name, int64_t n_in, int64_t n_out,
                               int64_t kernel, int64_t stride)
{
    const ebb_conv2d_options options = {.stride = {stride, stride},
                                        .padding = {kernel / 2, kernel / 2}};
    return ebb_nn_conv2d_make(p, name, n_in, n_out, kernel, &options);
}

static conv_norm conv_norm_make(ebb_params *p, int64_t n_in, int64_t n_out, int64_t kernel,
                                int64_t stride)
{
    return (conv_norm){conv_make(p, "conv", n_in, n_out, kernel, stride),
                       ebb_nn_batch_norm_make(p, "norm", n_out)};
}

static ebb_tensor *conv_norm_forward(const conv_norm *m, ebb_tensor *x)
{
    ebb_tensor *y = ebb_nn_conv2d_forward(&m->conv, x);
    ebb_replace(&y, ebb_nn_batch_norm_forward(&m->norm, y, true));
    return y;
}

static ebb_tensor *conv_norm_relu(const conv_norm *m, ebb_tensor *x)
{
    ebb_tensor *y = conv_norm_forward(m, x);
    ebb_replace(&y, ebb_relu(y));
    return y;
}

/* norm, relu, convolution */
static ebb_tensor *norm_relu_conv(const conv_norm *m, ebb_tensor *x)
{
    ebb_tensor *y = ebb_nn_batch_norm_forward(&m->norm, x, true);
    ebb_replace(&y, ebb_relu(y));
    ebb_replace(&y, ebb_nn_conv2d_forward(&m->conv, y));
    return y;
}

/* Mean over places, then ten classes. */
static ebb_tensor *classify(const ebb_nn_linear *head, ebb_tensor *x, ebb_tensor *y)
{
    ebb_tensor *h = ebb_mean(x, EBB_AXES(2, 3));
    ebb_replace(&h, ebb_nn_linear_forward(head, h));
    return ebb_cross_entropy(h, y, NULL);
}

static ebb_status images_make(zoo_run *run, int64_t batch, int64_t side)
{
    run->x = zoo_data(run, EBB_SHAPE(batch, 3, side, side));
    run->y = zoo_labels(run, EBB_SHAPE(batch), 10);
    return run->x && run->y ? EBB_OK : ebb_error_status();
}

/* ---- ResNet (He et al. 2016, section 4.2; shortcuts by 1x1 convolution) ------------------- */

enum { RESNET_MAX_BLOCKS = 27 };

typedef struct resnet {
    conv_norm stem, a[RESNET_MAX_BLOCKS], b[RESNET_MAX_BLOCKS], shortcut[RESNET_MAX_BLOCKS];
    ebb_nn_linear head;
} resnet;

/* variant: blocks in each of the three stages. */
ebb_status zoo_resnet_make(zoo_run *run)
{
    resnet *m = zoo_layers(run, sizeof *m);
    if (!m) return ebb_error_status();
    const int per_stage =
        run->scale == ZOO_TINY ? run->model->variant / 3 : run->model->variant;
    const int64_t width = zoo_pick(run, 16, 8, 16);
    m->stem = conv_norm_make(ebb_params_sub(run->params, "stem"), 3, width, 3, 1);
    int64_t n_in = width;
    for (int i = 0; i < 3 * per_stage; i++) {
        const int stage = i / per_stage;
        const int64_t n_out = width << stage, stride = stage && i % per_stage == 0 ? 2 : 1;
        ebb_params *own = ebb_params_sub(run->params, "block%d", i);
        m->a[i] = conv_norm_make(ebb_params_sub(own, "a"), n_in, n_out, 3, stride);
        m->b[i] = conv_norm_make(ebb_params_sub(own, "b"), n_out, n_out, 3, 1);
        if (n_in != n_out)
            m->shortcut[i] =
                conv_norm_make(ebb_params_sub(own, "shortcut"), n_in, n_out, 1, stride);
        n_in = n_out;
    }
    m->head = ebb_nn_linear_make(run->params, "head", n_in, 10);
    run->n_blocks = 3 * per_stage + 2;
    return images_make(run, zoo_pick(run, 32, 16, 32), zoo_pick(run, 8, 32, 32));
}

ebb_status zoo_resnet_block(ebb_tensor *state[], zoo_run *run, int i)
{
    const resnet *m = run->layers;
    ebb_tensor *x = state[0];
    if (i == 0) {
        state[0] = conv_norm_relu(&m->stem, run->x);
    } else if (i == run->n_blocks - 1) {
        state[0] = classify(&m->head, x, run->y);
    } else {
        ebb_tensor *y = conv_norm_relu(&m->a[i - 1], x);
        ebb_replace(&y, conv_norm_forward(&m->b[i - 1], y));
        const conv_norm *shortcut = &m->shortcut[i - 1];
        ebb_replace(&y, ebb_add(y, shortcut->conv.weight ? conv_norm_forward(shortcut, x) : x));
        state[0] = ebb_relu(y);
    }
    return state[0] ? EBB_OK : ebb_error_status();
}

/* ---- DenseNet-BC (Huang et al. 2017: depth 40, growth 12, halving in between) ------------- */

enum { DENSE_MAX_LAYERS = 6 };

typedef struct densenet {
    ebb_nn_conv2d stem;
    conv_norm narrow[3][DENSE_MAX_LAYERS], grow[3][DENSE_MAX_LAYERS], halve[2];
    ebb_nn_batch_norm last;
    ebb_nn_linear head;
    int n_layers; /* of each of the three stages */
} densenet;

ebb_status zoo_densenet_make(zoo_run *run)
{
    densenet *m = zoo_layers(run, sizeof *m);
    if (!m) return ebb_error_status();
    const int64_t growth = zoo_pick(run, 4, 8, 12);
    m->n_layers = run->scale == ZOO_TINY ? 3 : DENSE_MAX_LAYERS;
    m->stem = conv_make(run->params, "stem", 3, 2 * growth, 3, 1);
    int64_t n = 2 * growth;
    for (int s = 0; s < 3; s++) {
        for (int l = 0; l < m->n_layers; l++, n += growth) {
            ebb_params *own = ebb_params_sub(run->params, "layer%d_%d", s, l);
            ebb_params *a = ebb_params_sub(own, "narrow"), *b = ebb_params_sub(own, "grow");
            m->narrow[s][l].norm = ebb_nn_batch_norm_make(a, "norm", n);
            m->narrow[s][l].conv = conv_make(a, "conv", n, 4 * growth, 1, 1);
            m->grow[s][l].norm = ebb_nn_batch_norm_make(b, "norm", 4 * growth);
            m->grow[s][l].conv = conv_make(b, "conv", 4 * growth, growth, 3, 1);
        }
        if (s == 2) break;
        ebb_params *own = ebb_params_sub(run->params, "halve%d", s);
        m->halve[s].norm = ebb_nn_batch_norm_make(own, "norm", n);
        m->halve[s].conv = conv_make(own, "conv", n, n / 2, 1, 1);
        n /= 2;
    }
    m->last = ebb_nn_batch_norm_make(run->params, "last", n);
    m->head = ebb_nn_linear_make(run->params, "head", n, 10);
    run->n_blocks = 3 * m->n_layers + 4;
    return images_make(run, zoo_pick(run, 32, 8, 32), zoo_pick(run, 16, 32, 32));
}

/* The stem; then per stage its layers and the halving, or the head. */
ebb_status zoo_densenet_block(ebb_tensor *state[], zoo_run *run, int i)
{
    const densenet *m = run->layers;
    const int s = (i - 1) / (m->n_layers + 1), l = (i - 1) % (m->n_layers + 1);
    ebb_tensor *x = state[0], *y;
    if (i == 0) {
        state[0] = ebb_nn_conv2d_forward(&m->stem, run->x);
    } else if (l < m->n_layers) {
        y = norm_relu_conv(&m->narrow[s][l], x);
        ebb_replace(&y, norm_relu_conv(&m->grow[s][l], y));
        ebb_tensor *const both[] = {x, y};
        state[0] = ebb_cat(both, 2, 1);
    } else if (s < 2) {
        y = norm_relu_conv(&m->halve[s], x);
        state[0] = ebb_avg_pool2d(y, 2, 2, NULL);
    } else {
        y = ebb_nn_batch_norm_forward(&m->last, x, true);
        ebb_replace(&y, ebb_relu(y));
        state[0] = classify(&m->head, y, run->y);
    }
    return state[0] ? EBB_OK : ebb_error_status();
}

/* ---- U-Net (Ronneberger et al. 2015, with padding and batch norm) ------------------------- */

enum { UNET_LEVELS = 4 };

typedef struct unet {
    conv_norm down[UNET_LEVELS + 1][2], up[UNET_LEVELS][2]; /* down[UNET_LEVELS]: the bottom */
    ebb_nn_conv2d head;
} unet;

static void pair_make(conv_norm pair[2], ebb_params *p, int64_t n_in, int64_t n_out)
{
    pair[0] = conv_norm_make(ebb_params_sub(p, "a"), n_in, n_out, 3, 1);
    pair[1] = conv_norm_make(ebb_params_sub(p, "b"), n_out, n_out, 3, 1);
}

ebb_status zoo_unet_make(zoo_run *run)
{
    unet *m = zoo_layers(run, sizeof *m);
    if (!m) return ebb_error_status();
    const int64_t width = zoo_pick(run, 8, 4, 8), batch = zoo_pick(run, 8, 2, 8),
                  side = zoo_pick(run, 32, 64, 128);
    for (int l = 0; l <= UNET_LEVELS; l++)
        pair_make(m->down[l], ebb_params_sub(run->params, "down%d", l),
                  l ? width << (l - 1) : 3, width << l);
    for (int l = 0; l < UNET_LEVELS; l++)
        pair_make(m->up[l], ebb_params_sub(run->params, "up%d", l), (width << l) * 3,
                  width << l);
    m->head = conv_make(run->params, "head", width, 1, 1, 1);
    run->n_blocks = 2 * UNET_LEVELS + 2;
    run->x = zoo_data(run, EBB_SHAPE(batch, 3, side, side));
    run->y = zoo_data(run, EBB_SHAPE(batch, 1, side, side));
    return run->x && run->y ? EBB_OK : ebb_error_status();
}

static ebb_tensor *pair_forward(const conv_norm pair[2], ebb_tensor *x)
{
    ebb_tensor *y = conv_norm_relu(&pair[0], x);
    ebb_replace(&y, conv_norm_relu(&pair[1], y));
    return y;
}

/* Down, the bottom, up again, the head; state[1 + l] is what level l hands across. */
ebb_status zoo_unet_block(ebb_tensor *state[], zoo_run *run, int i)
{
    const unet *m = run->layers;
    ebb_tensor *y;
    if (i <= UNET_LEVELS) {
        state[0] = pair_forward(m->down[i], i ? state[0] : run->x);
        if (i == UNET_LEVELS) return state[0] ? EBB_OK : ebb_error_status();
        state[1 + i] = state[0];
        state[0] = ebb_max_pool2d(state[1 + i], 2, 2, NULL);
    } else if (i <= 2 * UNET_LEVELS) {
        const int l = 2 * UNET_LEVELS - i;
        y = ebb_interpolate(state[0], &(ebb_interpolate_options){.scale = 2});
        ebb_tensor *const both[] = {y, state[1 + l]};
        ebb_replace(&y, ebb_cat(both, 2, 1));
        state[0] = pair_forward(m->up[l], y);
        state[1 + l] = EBB_NONE;
    } else {
        y = ebb_nn_conv2d_forward(&m->head, state[0]);
        state[0] = ebb_mse(y, run->y);
    }
    return state[0] ? EBB_OK : ebb_error_status();
}
