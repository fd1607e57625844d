/* bench_graph.c - the bare graph: nanoseconds per node as everything around it grows, with the
 * classical manager (mark and sweep after each backward) beside it.
 *
 * A node is recorded on the one before, whose handle goes, and consumed and freed by a backward
 * from the last; best of 9. Others are live nodes that have nothing to do with it: half of them
 * in one graph that uses the same leaf. EBB_BENCH_SHORT=1 leaves the largest sizes out.
 * SPDX-License-Identifier: MIT */
#include "bench.h"
#include "support/classic.h"

#include <ebb/graph.h>

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { RUNS = 9, CHAIN = 1000 };

static void must(ebb_status s)
{
    if (s == EBB_OK) return;
    fprintf(stderr, "%s\n", ebb_error_message());
    exit(1);
}

typedef struct bench {
    ebb_graph_space *space;
    ebb_graph_node *leaf;
    ebb_graph_node **others;
    int64_t n_others;
} bench;

static ebb_graph_node *record(bench *b, ebb_graph_node *parent)
{
    ebb_graph_node *node;
    must(ebb_graph_node_record(&node, b->space, &(ebb_graph_edge){.node = parent}, 1, NULL));
    return node;
}

static ebb_graph_node *chain(bench *b, ebb_graph_node *from, int64_t n)
{
    ebb_graph_node *last = ebb_graph_node_keep(from);
    for (int64_t i = 0; i < n; i++) {
        ebb_graph_node *next = record(b, last);
        ebb_graph_node_release(last);
        last = next;
    }
    return last;
}

static void consume(ebb_graph_node *root)
{
    must(ebb_graph_consume(&(ebb_graph_edge){.node = root}, 1, NULL, NULL));
    ebb_graph_node_release(root);
}

static void bench_begin(bench *b, bool single_threaded, int64_t n_others)
{
    *b = (bench){.n_others = n_others};
    must(ebb_graph_space_create(
        &b->space, &(ebb_graph_space_options){.single_threaded = single_threaded}));
    must(ebb_graph_leaf_create(&b->leaf, b->space, NULL));
    b->others = malloc((size_t)(n_others + 1) * sizeof *b->others);
    for (int64_t i = 0; i < n_others; i++)
        b->others[i] = record(b, i % 2 && i > 2 ? b->others[i - 2] : b->leaf);
}

static void bench_end(bench *b)
{
    free(b->others);
    ebb_graph_space_destroy(b->space);
}

/* ---- the figure everybody compares ------------------------------------------------------- */

static double chain_ns(bench *b, int n_chains)
{
    double start = bench_now();
    for (int i = 0; i < n_chains; i++) consume(chain(b, b->leaf, CHAIN));
    return (bench_now() - start) * 1e9 / CHAIN / n_chains;
}

static void bench_nodes(bool single_threaded, int64_t n_others, const char *name)
{
    bench b;
    double run[RUNS];
    bench_begin(&b, single_threaded, n_others);
    chain_ns(&b, 20);
    for (int i = 0; i < RUNS; i++)
        run[i] = chain_ns(&b, 20); /* short: a busy machine leaves some alone */
    bench_runs(name, run, RUNS, 0, "ns/node");
    bench_end(&b);
}

static void bench_others(bool single_threaded, const char *kind, bool is_short)
{
    static const struct {
        int64_t n;
        const char *text;
    } sizes[] = {
        {0, "0"}, {10000, "1e4"}, {100000, "1e5"}, {1000000, "1e6"}, {10000000, "1e7"}};
    for (int i = 0; i < (is_short ? 4 : 5); i++) {
        char name[96];
        snprintf(name, sizeof name, "%s, %s others", kind, sizes[i].text);
        bench_nodes(single_threaded, sizes[i].n, name);
    }
}

static void ignore(void *user, uint64_t leaf)
{
    (void)user;
    (void)leaf;
}

static void bench_classic(int64_t n_others, int n_runs, const char *name)
{
    classic *c = classic_create(0);
    classic_node *leaf = classic_record(c, NULL, 0);
    classic_node **others = malloc((size_t)(n_others + 1) * sizeof *others);
    double run[RUNS];
    for (int64_t i = 0; i < n_others; i++) {
        /* Its leaves are used up by backwards: the others use leaves of their own. */
        others[i] = classic_record(c, i ? &others[i - 1] : NULL, i % 1000 ? 1 : 0);
    }
    for (int i = 0; i < n_runs; i++) {
        double start = bench_now();
        classic_node *own = classic_record(c, NULL, 0), *last = own;
        for (int k = 0; k < CHAIN; k++) {
            classic_node *next = classic_record(c, &last, 1);
            if (last != own) classic_release(c, last);
            last = next;
        }
        if (!classic_backward(c, last, ignore, NULL)) exit(1);
        classic_release(c, last);
        classic_release(c, own);
        run[i] = (bench_now() - start) * 1e9 / CHAIN;
    }
    bench_runs(name, run, n_runs, 0, "ns/node");
    for (int64_t i = 0; i < n_others; i++) classic_release(c, others[i]);
    classic_release(c, leaf);
    classic_destroy(c);
    free(others);
}

/* ---- shapes that are linear here --------------------------------------------------------- */

/* An unroll of n steps with a held metric each is dropped. */
static double unroll_ns(int64_t n)
{
    bench b;
    bench_begin(&b, false, 0);
    ebb_graph_node *h = ebb_graph_node_keep(b.leaf);
    ebb_graph_node **metrics = malloc((size_t)n * sizeof *metrics);
    for (int64_t i = 0; i < n; i++) {
        ebb_graph_node *next = record(&b, h);
        ebb_graph_node_release(h);
        h = next;
        metrics[i] = record(&b, h);
    }
    double start = bench_now();
    ebb_graph_node_release(h);
    for (int64_t i = 0; i < n; i++) ebb_graph_node_release(metrics[i]);
    double ns = (bench_now() - start) * 1e9 / (double)(2 * n);
    free(metrics);
    bench_end(&b);
    return ns;
}

static double fan_ns(int64_t n)
{
    bench b;
    bench_begin(&b, false, 0);
    ebb_graph_node *trunk = record(&b, b.leaf);
    ebb_graph_node **children = malloc((size_t)n * sizeof *children);
    for (int64_t i = 0; i < n; i++) children[i] = record(&b, trunk);
    double start = bench_now();
    for (int64_t i = 0; i < n; i++) ebb_graph_node_release(children[i]);
    double ns = (bench_now() - start) * 1e9 / (double)n;
    free(children);
    bench_end(&b);
    return ns;
}

/* n leaves, each used by one graph; these run backward in the order of their leaves or against
 * it. */
static double leaves_ns(int64_t n, bool newest_first)
{
    bench b;
    bench_begin(&b, false, 0);
    ebb_graph_node **roots = malloc((size_t)n * sizeof *roots);
    for (int64_t i = 0; i < n; i++) {
        ebb_graph_node *leaf;
        must(ebb_graph_leaf_create(&leaf, b.space, NULL));
        roots[i] = record(&b, leaf);
        ebb_graph_node_release(leaf);
    }
    double start = bench_now();
    for (int64_t i = 0; i < n; i++) consume(roots[newest_first ? n - 1 - i : i]);
    double ns = (bench_now() - start) * 1e9 / (double)n;
    free(roots);
    bench_end(&b);
    return ns;
}

static double leaves_newest(int64_t n)
{
    return leaves_ns(n, true);
}

static double leaves_oldest(int64_t n)
{
    return leaves_ns(n, false);
}

/* The same three on the classical manager. It frees nothing before the cleanup of some backward:
 * the releases of the first two are followed by the smallest one. */
static void classic_cleanup(classic *c)
{
    classic_node *leaf = classic_record(c, NULL, 0), *root = classic_record(c, &leaf, 1);
    if (!classic_backward(c, root, ignore, NULL)) exit(1);
    classic_release(c, root);
    classic_release(c, leaf);
}

static double classic_unroll_ns(int64_t n)
{
    classic *c = classic_create(0);
    classic_node *leaf = classic_record(c, NULL, 0), *h = classic_record(c, &leaf, 1);
    classic_node **metrics = malloc((size_t)n * sizeof *metrics);
    for (int64_t i = 0; i < n; i++) {
        classic_node *next = classic_record(c, &h, 1);
        classic_release(c, h);
        h = next;
        metrics[i] = classic_record(c, &h, 1);
    }
    double start = bench_now();
    classic_release(c, h);
    for (int64_t i = 0; i < n; i++) classic_release(c, metrics[i]);
    classic_cleanup(c);
    double ns = (bench_now() - start) * 1e9 / (double)(2 * n);
    free(metrics);
    classic_release(c, leaf);
    classic_destroy(c);
    return ns;
}

static double classic_fan_ns(int64_t n)
{
    classic *c = classic_create(0);
    classic_node *leaf = classic_record(c, NULL, 0), *trunk = classic_record(c, &leaf, 1);
    classic_node **children = malloc((size_t)n * sizeof *children);
    for (int64_t i = 0; i < n; i++) children[i] = classic_record(c, &trunk, 1);
    double start = bench_now();
    for (int64_t i = 0; i < n; i++) classic_release(c, children[i]);
    classic_cleanup(c);
    double ns = (bench_now() - start) * 1e9 / (double)n;
    free(children);
    classic_release(c, trunk);
    classic_release(c, leaf);
    classic_destroy(c);
    return ns;
}

static double classic_leaves_ns(int64_t n, bool newest_first)
{
    classic *c = classic_create(0);
    classic_node **roots = malloc((size_t)n * sizeof *roots);
    for (int64_t i = 0; i < n; i++) {
        classic_node *leaf = classic_record(c, NULL, 0);
        roots[i] = classic_record(c, &leaf, 1);
        classic_release(c, leaf);
    }
    double start = bench_now();
    for (int64_t i = 0; i < n; i++) {
        classic_node *root = roots[newest_first ? n - 1 - i : i];
        if (!classic_backward(c, root, ignore, NULL)) exit(1);
        classic_release(c, root);
    }
    double ns = (bench_now() - start) * 1e9 / (double)n;
    free(roots);
    classic_destroy(c);
    return ns;
}

static double classic_leaves_newest(int64_t n)
{
    return classic_leaves_ns(n, true);
}

static double classic_leaves_oldest(int64_t n)
{
    return classic_leaves_ns(n, false);
}

/* Sizes grow by ten; the classical manager stops where a run takes seconds or its list of what to
 * delete, in which what several sinks reach is listed once for each, a gigabyte. */
typedef struct shape {
    const char *name;
    double (*ours)(int64_t n), (*classical)(int64_t n);
    int64_t least, most, most_classical;
} shape;

static const shape shapes[] = {
    {"dropped unroll with metrics", unroll_ns, classic_unroll_ns, 100, 1000000, 1000},
    {"fan of held children", fan_ns, classic_fan_ns, 100, 1000000, 1000000},
    {"leaves used newest first", leaves_newest, classic_leaves_newest, 100, 1000000, 10000},
    {"leaves used oldest first", leaves_oldest, classic_leaves_oldest, 100, 1000000, 10000},
};

static void bench_shapes(bool is_short)
{
    char name[96];
    double run[RUNS];
    for (const shape *s = shapes; s < shapes + sizeof shapes / sizeof *shapes; s++)
        for (int64_t n = s->least; n <= (is_short ? s->most / 10 : s->most); n *= 10) {
            for (int i = 0; i < RUNS; i++) run[i] = s->ours(n);
            snprintf(name, sizeof name, "graph, %s, 1e%d", s->name,
                     (int)(log10((double)n) + .5));
            bench_runs(name, run, RUNS, 0, "ns/node");
            if (n > (is_short ? s->most_classical / 10 : s->most_classical)) continue;
            int n_runs = n == s->most_classical ? 1 : 3;
            for (int i = 0; i < n_runs; i++) run[i] = s->classical(n);
            snprintf(name, sizeof name, "classical manager, %s, 1e%d", s->name,
                     (int)(log10((double)n) + .5));
            bench_runs(name, run, n_runs, 0, "ns/node");
        }
}

/* ---- threads ----------------------------------------------------------------------------- */

typedef struct worker {
    bench *b;
    pthread_barrier_t *start;
    int n_chains, n_nodes;
    double seconds;
} worker;

static void *worker_main(void *arg)
{
    worker *w = arg;
    ebb_graph_node *own;
    must(ebb_graph_leaf_create(&own, w->b->space, NULL));
    pthread_barrier_wait(w->start);
    double start = bench_now();
    for (int i = 0; i < w->n_chains; i++) consume(chain(w->b, own, w->n_nodes));
    w->seconds = bench_now() - start;
    ebb_graph_node_release(own);
    return NULL;
}

/* Nodes per second of one or two threads on one space, by the slower one's clock. Each works for
 * a fifth of a second. */
static double threads_rate(int n_threads, int n_nodes)
{
    bench b;
    pthread_barrier_t start;
    pthread_t threads[2];
    worker w[2];
    double seconds = 0;
    int n_chains = 5000 * CHAIN / n_nodes;
    bench_begin(&b, false, 0);
    pthread_barrier_init(&start, NULL, (unsigned)n_threads);
    for (int i = 0; i < n_threads; i++) {
        w[i] = (worker){.b = &b, .start = &start, .n_chains = n_chains, .n_nodes = n_nodes};
        pthread_create(&threads[i], NULL, worker_main, &w[i]);
    }
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
        if (w[i].seconds > seconds) seconds = w[i].seconds;
    }
    pthread_barrier_destroy(&start);
    bench_end(&b);
    return n_threads * (double)n_chains * n_nodes / seconds;
}

static void bench_threads(const char *name, int n_nodes)
{
    double gain[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double one = threads_rate(1, n_nodes);
        gain[i] = threads_rate(2, n_nodes) / one;
    }
    bench_runs(name, gain, RUNS, 0.5, "times");
}

static void bench_bytes(void)
{
    bench b;
    ebb_graph_stats before, after;
    bench_begin(&b, false, 0);
    ebb_graph_stats_get(&before, b.space);
    record(&b, b.leaf);
    ebb_graph_stats_get(&after, b.space);
    bench_row("graph, node with one parent", (double)(after.object_bytes - before.object_bytes),
              "bytes", 1, 0);
    bench_end(&b);
}

int main(void)
{
    const char *text = getenv("EBB_BENCH_SHORT");
    bool is_short = text && *text && strcmp(text, "0") != 0;
    bench_open("graph");
    bench_others(false, "graph, with locks", is_short);
    bench_others(true, "graph, single-threaded", is_short);
    bench_classic(0, RUNS, "classical manager, 0 others");
    bench_classic(10000, RUNS, "classical manager, 1e4 others");
    bench_classic(100000, 3, "classical manager, 1e5 others");
    if (!is_short) bench_classic(1000000, 3, "classical manager, 1e6 others");
    bench_shapes(is_short);
    bench_threads("graph, two threads over one, private graphs of 1000", CHAIN);
    bench_threads("graph, two threads over one, private graphs of 100", 100);
    bench_threads("graph, two threads over one, private graphs of 10", 10);
    bench_bytes();
    bench_close();
    return 0;
}
