/* graph_scalar.c - reverse-mode differentiation of scalars on libebb-graph: an engine in a
 * page.
 *
 * A number is a value and, if it depends on a parameter, the node that made it. A node's
 * payload is its rule: the partial derivatives with respect to its inputs, and the gradient
 * that arrives. Here the engine fits y = a * tanh(b * x) to points made with a = 2 and b = 0.5.
 * SPDX-License-Identifier: MIT */
#include <ebb/graph.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct number {
    double value;
    ebb_graph_node *node; /* NULL: a constant */
} number;

typedef struct rule {
    double gradient, partial[2];
} rule;

static ebb_graph_space *space;

/* Handles of one step, released together: the graph alone keeps what is still of use then. */
static ebb_graph_node *held[1024];
static int n_held;

static void check(ebb_status s)
{
    if (s == EBB_OK) return;
    fprintf(stderr, "%s\n", ebb_error_message());
    exit(1);
}

static rule *rule_new(void)
{
    rule *r = calloc(1, sizeof *r);
    if (!r) exit(1);
    return r;
}

static number parameter(double value)
{
    number p = {.value = value};
    ebb_graph_payload payload = {.data = rule_new(), .free = free};
    check(ebb_graph_leaf_create(&p.node, space, &payload));
    return p;
}

static number constant(double value)
{
    return (number){.value = value};
}

/* The result of an operation with these partial derivatives. Constants get no edge. */
static number result(double value, number x, double dx, number y, double dy)
{
    ebb_graph_edge edges[2];
    uint32_t n = 0;
    rule *r = rule_new();
    if (x.node) {
        r->partial[n] = dx;
        edges[n++].node = x.node;
    }
    if (y.node) {
        r->partial[n] = dy;
        edges[n++].node = y.node;
    }
    number out = {.value = value};
    ebb_graph_payload payload = {.data = r, .free = free};
    if (n == 0) {
        free(r); /* nothing depends on a parameter: nothing is recorded */
        return out;
    }
    for (uint32_t i = 0; i < n; i++) edges[i].output = 0;
    check(ebb_graph_node_record(&out.node, space, edges, n, &payload));
    held[n_held++] = out.node;
    return out;
}

static number add(number x, number y)
{
    return result(x.value + y.value, x, 1, y, 1);
}

static number mul(number x, number y)
{
    return result(x.value * y.value, x, y.value, y, x.value);
}

static number tanh_of(number x)
{
    double t = tanh(x.value);
    return result(t, x, 1 - t * t, constant(0), 0);
}

/* The gradient of a node is complete when it is visited; it is handed on to the inputs. */
static ebb_status hand_on(void *user, const ebb_graph_step *step)
{
    (void)user;
    const rule *r = step->payload;
    for (uint32_t i = 0; i < step->n_parents; i++) {
        ebb_graph_edge parent = ebb_graph_step_parent(step, i);
        rule *to = ebb_graph_node_payload(parent.node);
        to->gradient += r->gradient * r->partial[i];
    }
    return EBB_OK;
}

static void backward(number loss)
{
    ebb_graph_visitor visitor = {.node = hand_on};
    ((rule *)ebb_graph_node_payload(loss.node))->gradient = 1;
    check(ebb_graph_consume(&(ebb_graph_edge){.node = loss.node}, 1, &visitor, NULL));
}

static void step_down(number *p, double rate)
{
    rule *r = ebb_graph_node_payload(p->node);
    p->value -= rate * r->gradient;
    r->gradient = 0;
}

int main(void)
{
    check(ebb_graph_space_create(&space, &(ebb_graph_space_options){.single_threaded = true}));
    number a = parameter(1), b = parameter(1), loss = constant(0);
    for (int step = 0; step < 2000; step++) {
        loss = constant(0);
        for (int i = -10; i <= 10; i++) {
            double x = 0.3 * i, y = 2 * tanh(0.5 * x);
            number error = add(mul(a, tanh_of(mul(b, constant(x)))), constant(-y));
            loss = add(loss, mul(error, error));
        }
        backward(loss);
        while (n_held > 0) ebb_graph_node_release(held[--n_held]);
        step_down(&a, 0.01);
        step_down(&b, 0.01);
        ebb_graph_stats stats;
        ebb_graph_stats_get(&stats, space);
        if (stats.live + stats.spent + stats.severed != 0)
            return 1; /* nothing is left behind */
    }
    printf("a = %.4f, b = %.4f, loss = %.1e\n", a.value, b.value, loss.value);
    ebb_graph_node_release(a.node);
    ebb_graph_node_release(b.node);
    ebb_graph_space_destroy(space);
    return fabs(a.value - 2) < 1e-2 && fabs(b.value - 0.5) < 1e-2 ? 0 : 1;
}
