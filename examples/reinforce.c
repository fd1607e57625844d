/* reinforce.c - learns to balance a pole on a cart: log-probabilities of an episode's actions
 * are kept by the program, with their history, until the episode's end tells what they were
 * worth.
 *
 *   reinforce [EPISODES]
 * SPDX-License-Identifier: MIT */
#include <ebb/ebb.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX = 200, N_STATE = 4, N_MID = 32, N_ACTIONS = 2, N_SHOWN = 50 };

/* ---- the world --------------------------------------------------------------------------- */

typedef struct env {
    float s[N_STATE]; /* position, speed, angle, turning speed */
    uint64_t random;
} env;

static double draw(env *e)
{
    e->random = e->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(e->random >> 11) * 0x1p-53;
}

static void env_reset(env *e)
{
    for (int i = 0; i < N_STATE; i++) e->s[i] = (float)(0.1 * draw(e) - 0.05);
}

/* Pushes left or right; false when the pole has fallen or the cart has left the track.
 * Source: Barto, Sutton & Anderson 1983, with the constants of later reimplementations. */
static bool env_act(env *e, int action)
{
    const double gravity = 9.8, pole = 0.1, total = 1.1, half = 0.5, dt = 0.02;
    const double push = action ? 10 : -10, c = cos(e->s[2]), s = sin(e->s[2]);
    const double t = (push + pole * half * e->s[3] * e->s[3] * s) / total;
    const double turn = (gravity * s - c * t) / (half * (4.0 / 3 - pole * c * c / total));
    const double speed = t - pole * half * turn * c / total;
    e->s[0] += (float)(dt * e->s[1]);
    e->s[1] += (float)(dt * speed);
    e->s[2] += (float)(dt * e->s[3]);
    e->s[3] += (float)(dt * turn);
    return fabsf(e->s[0]) < 2.4f && fabsf(e->s[2]) < 0.2095f;
}

/* ---- the policy -------------------------------------------------------------------------- */

typedef struct policy {
    ebb_nn_linear l1, l2;
} policy;

static ebb_status act(ebb_tensor **logp_out, int *action_out, ebb_context *ctx, const policy *m,
                      env *e)
{
    EBB_SCOPE(scope);
    ebb_tensor *s = EBB_FROM(ctx, EBB_SHAPE(1, N_STATE), e->s, N_STATE);
    ebb_tensor *h = ebb_tanh(ebb_nn_linear_forward(&m->l1, s));
    ebb_tensor *lp = ebb_log_softmax(ebb_nn_linear_forward(&m->l2, h), 1);
    float p[N_ACTIONS];
    EBB_TRY(EBB_READ(ebb_exp(lp), p, N_ACTIONS));
    *action_out = draw(e) >= p[0];
    return ebb_hold(logp_out, ebb_select(ebb_select(lp, 1, *action_out), 0, 0));
}

/* What is still to come from each step on, with the average taken off: less noise. */
static void returns_of(float *out, int n)
{
    double r = 0, mean = 0, square = 0;
    for (int t = n; t-- > 0;) {
        r = 1 + 0.99 * r;
        out[t] = (float)r;
        mean += r / n;
        square += r * r / n;
    }
    const double spread = sqrt(fmax(square - mean * mean, 0)) + 1e-6;
    for (int t = 0; t < n; t++) out[t] = (float)((out[t] - mean) / spread);
}

static ebb_status episode(int *length_out, ebb_tensor **logp, ebb_context *ctx, const policy *m,
                          ebb_optimizer *opt, env *e)
{
    EBB_SCOPE(iter);
    int n = 0, a = 0;
    env_reset(e);
    for (bool alive = true; alive && n < MAX; n++) {
        EBB_TRY(act(&logp[n], &a, ctx, m, e));
        alive = env_act(e, a);
    }
    float returns[MAX];
    returns_of(returns, n);
    ebb_tensor *worth = ebb_mul(ebb_stack(logp, n, 0), EBB_FROM(ctx, EBB_SHAPE(n), returns, n));
    *length_out = n;
    return ebb_minimize(opt, ebb_neg(ebb_mean(worth, EBB_ALL)), NULL);
}

static ebb_status learn(ebb_context *ctx, int n_episodes)
{
    static ebb_tensor *logp[MAX]; /* ours; ebb_hold releases what a slot held before */
    ebb_params *p;
    ebb_optimizer *adam;
    EBB_TRY(ebb_params_create(&p, ctx));
    policy m = {ebb_nn_linear_make(p, "l1", N_STATE, N_MID),
                ebb_nn_linear_make(p, "l2", N_MID, N_ACTIONS)};
    EBB_TRY(ebb_adam_create(&adam, p, 1e-2, NULL));
    env e = {.random = 1};
    double first = 0, mean = 0;
    for (int i = 0; i < n_episodes; i++) {
        int n;
        EBB_TRY(episode(&n, logp, ctx, &m, adam, &e));
        mean += (double)n / N_SHOWN;
        if ((i + 1) % N_SHOWN != 0) continue;
        printf("episodes %d to %d: balanced %.1f steps\n", i + 1 - N_SHOWN, i, mean);
        if (first == 0) first = mean;
        if (i + 1 < n_episodes) mean = 0;
    }
    for (int t = 0; t < MAX; t++) ebb_clear(&logp[t]);
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    printf("%.1f steps at first, %.1f at last; %lld graph nodes are left\n", first, mean,
           (long long)s.live_nodes);
    if (!(mean > 2 * first) || s.live_nodes != 0)
        return ebb_fail(EBB_E_INTERNAL,
                        "the policy did not learn, or the graph was not let go");
    return EBB_OK;
}

int main(int argc, char **argv)
{
    ebb_context *ctx = NULL;
    ebb_status s = ebb_context_create(&ctx, &(ebb_context_options){.n_threads = 1});
    if (s == EBB_OK) s = learn(ctx, argc > 1 ? atoi(argv[1]) : 300);
    if (s != EBB_OK) fprintf(stderr, "%s\n", ebb_error_message());
    ebb_context_destroy(ctx);
    return s != EBB_OK;
}
