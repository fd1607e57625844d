/* optim.inl - fused parameter updates for one element type T, elements [lo, hi).
 *
 * Arithmetic is in T, in the order of PyTorch's single-tensor updates.
 * SPDX-License-Identifier: MIT */

EBB_CLONES static void FN(sgd_plain)(T *restrict p, const T *restrict g, T lr, T decay,
                                     int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++) p[i] -= lr * (g[i] + decay * p[i]);
}

EBB_CLONES static void FN(sgd_momentum)(T *restrict p, const T *restrict g, T *restrict m, T lr,
                                        T decay, T momentum, bool nesterov, bool first,
                                        int64_t lo, int64_t hi)
{
    for (int64_t i = lo; i < hi; i++) {
        T d = g[i] + decay * p[i];
        T v = first ? d : momentum * m[i] + d;
        m[i] = v;
        p[i] -= lr * (nesterov ? d + momentum * v : v);
    }
}

static void FN(sgd_range)(const optim_work *w, int64_t lo, int64_t hi)
{
    const sgd_attr *a = w->attr;
    T lr = (T)a->lr, decay = (T)a->weight_decay, momentum = (T)a->momentum;
    if (w->state[0] == NULL) {
        FN(sgd_plain)(w->p, w->g, lr, decay, lo, hi);
        return;
    }
    bool nesterov = a->nesterov, first = a->first;
    FN(sgd_momentum)(w->p, w->g, w->state[0], lr, decay, momentum, nesterov, first, lo, hi);
}

/* shrink: the parameter's factor (decoupled decay); decay: added to the gradient. */
EBB_CLONES static void FN(adam_elements)(T *restrict p, const T *restrict g, T *restrict m,
                                         T *restrict v, const T *restrict k, int64_t lo,
                                         int64_t hi)
{
    const T beta2 = k[0], rate = k[1], root = k[2], eps = k[3], decay = k[4], shrink = k[5],
            rest1 = k[6], rest2 = k[7];
    for (int64_t i = lo; i < hi; i++) {
        T d = g[i] + decay * p[i];
        T mi = m[i] + (d - m[i]) * rest1;
        T vi = beta2 * v[i] + rest2 * d * d;
        m[i] = mi;
        v[i] = vi;
        p[i] = p[i] * shrink - rate * mi / (SQRT(vi) / root + eps);
    }
}

static void FN(adam_range)(const optim_work *w, int64_t lo, int64_t hi)
{
    const adam_attr *a = w->attr;
    double fix1 = 1 - pow(a->beta1, (double)a->step), fix2 = 1 - pow(a->beta2, (double)a->step);
    T k[] = {(T)a->beta2,
             (T)(a->lr / fix1),
             (T)sqrt(fix2),
             (T)a->eps,
             (T)(a->decoupled ? 0 : a->weight_decay),
             (T)(a->decoupled ? 1 - a->lr * a->weight_decay : 1),
             (T)(1 - a->beta1),
             (T)(1 - a->beta2)};
    FN(adam_elements)(w->p, w->g, w->state[0], w->state[1], k, lo, hi);
}
