/* cross_entropy.inl - one item of logits against its label, for one element type T.
 *
 * An item is n_classes logits, `step` elements apart.
 * SPDX-License-Identifier: MIT */

static T FN(ce_max)(const T *x, int64_t n, int64_t step)
{
    if (step == 1) return FN(row_max)(x, n);
    T top = x[0];
    for (int64_t i = 1; i < n; i++) {
        T value = x[i * step];
        top = value <= top || top != top ? top : value;
    }
    return top;
}

/* log(sum(exp(x))) - (1 - smoothing) * x[label] - smoothing * mean(x), from the maximum down.
 */
static double FN(ce_loss)(const T *x, int64_t n, int64_t step, int64_t label, double smoothing)
{
    T top = FN(ce_max)(x, n, step);
    double sum = 0, level = 0, hit = (double)(x[label * step] - top);
    if (step == 1)
        sum = FN(row_exp_sum)(x, top, n);
    else
        for (int64_t i = 0; i < n; i++) sum += (double)EBB_EXP(x[i * step] - top);
    if (smoothing == 0) return log(sum) - hit;
    for (int64_t i = 0; i < n; i++) level += (double)(x[i * step] - top);
    return log(sum) - (1 - smoothing) * hit - smoothing * level / (double)n;
}

/* dx = scale * (softmax(x) - target) */
static void FN(ce_grad)(T *dx, const T *x, int64_t n, int64_t step, int64_t label,
                        double smoothing, double scale)
{
    T top = FN(ce_max)(x, n, step);
    double sum = 0, share = scale * smoothing / (double)n;
    if (step == 1)
        sum = FN(row_exp)(dx, x, top, n);
    else
        for (int64_t i = 0; i < n; i++) {
            dx[i * step] = EBB_EXP(x[i * step] - top);
            sum += (double)dx[i * step];
        }
    /* Where the label is nearly certain p - 1 keeps its digits only if it is rounded once. */
    double factor = scale / sum, hit = (double)dx[label * step] * factor;
    if (step == 1)
        FN(row_scale)(dx, factor, n);
    else
        for (int64_t i = 0; i < n; i++) dx[i * step] = (T)((double)dx[i * step] * factor);
    if (smoothing != 0)
        for (int64_t i = 0; i < n; i++) dx[i * step] = (T)((double)dx[i * step] - share);
    dx[label * step] = (T)(hit - scale * (1 - smoothing) - share);
}

/* 0 where the label is to be ignored. */
static double FN(class_value)(const class_work *w, int64_t item)
{
    int64_t label = ebb__index_at(w->labels, item);
    if (class_ignored(w->attr, label)) return 0;
    const T *x = (const T *)w->x + class_offset(w, item);
    return w->is_nll
               ? -(double)x[label * w->around.inner]
               : FN(ce_loss)(x, w->around.n, w->around.inner, label, w->attr->label_smoothing);
}

static double FN(class_sum)(const class_work *w, int64_t lo, int64_t hi)
{
    double total = 0;
    for (int64_t item = lo; item < hi; item++) total += FN(class_value)(w, item);
    return total;
}

static void FN(class_each)(const class_work *w, int64_t lo, int64_t hi)
{
    for (int64_t item = lo; item < hi; item++)
        ((T *)w->out)[item] = (T)FN(class_value)(w, item);
}

static void FN(class_grad)(const class_work *w, int64_t lo, int64_t hi)
{
    int64_t n = w->around.n, step = w->around.inner;
    double smoothing = w->attr->label_smoothing, scale = w->scale;
    for (int64_t item = lo; item < hi; item++) {
        if (w->g != NULL) scale = (double)((const T *)w->g)[item];
        int64_t label = ebb__index_at(w->labels, item), at = class_offset(w, item);
        bool ignored = class_ignored(w->attr, label);
        T *dx = (T *)w->out + at;
        if (w->is_nll || ignored) {
            for (int64_t i = 0; i < n; i++) dx[i * step] = 0;
            if (!ignored) dx[label * step] = (T)-scale;
        } else {
            const T *x = (const T *)w->x + at;
            FN(ce_grad)(dx, x, n, step, label, smoothing, scale);
        }
    }
}
