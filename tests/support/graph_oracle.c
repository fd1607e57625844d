/* graph_oracle.c - the definition of live, spent, severed and useful, applied to a whole
 * history.
 *
 * Nothing is carried from one answer to the next and no counts are kept: it is slow and plain.
 * SPDX-License-Identifier: MIT */
#include "graph_program.h"

#include <stdlib.h>
#include <string.h>

typedef struct history {
    const program *p;
    const program_step **made; /* per node */
    int32_t *handles, n;
} history;

/* reached[i]: node i is an ancestor of the root (or the root); onward[i]: and with chosen
 * inputs, one of these lies strictly behind it. Parents have smaller ids. */
static void back_sets(const history *h, const program_step *back, bool *reached, bool *onward)
{
    for (int32_t i = 0; i < h->n; i++) reached[i] = i == back->id;
    for (int32_t i = h->n - 1; i >= 0; i--)
        for (int32_t k = 0; reached[i] && k < h->made[i]->n_parents; k++)
            reached[h->made[i]->parents[k]] = true;
    for (int32_t i = 0; i < h->n; i++) {
        onward[i] = !back->has_inputs;
        for (int32_t k = 0; back->has_inputs && k < h->made[i]->n_parents; k++) {
            int32_t parent = h->made[i]->parents[k];
            onward[i] |= onward[parent];
            for (int32_t j = 0; j < back->n_parents; j++)
                onward[i] |= back->parents[j] == parent;
        }
    }
}

static bool is_input(const program_step *back, int32_t id)
{
    for (int32_t j = 0; j < back->n_parents; j++)
        if (back->parents[j] == id) return true;
    return false;
}

static bool back_apply(answer *a, const history *h, const program_step *back, bool *onward)
{
    memset(a->is_reached, 0, (size_t)h->n);
    if (a->state[back->id] != EBB_GRAPH_LIVE && a->state[back->id] != EBB_GRAPH_LEAF)
        return false;
    back_sets(h, back, a->is_reached, onward);
    for (int32_t j = 0; j < back->n_parents; j++)
        if (!back->allow_unused && !a->is_reached[back->parents[j]]) return false;
    for (int32_t i = 0; i < h->n; i++) {
        bool is_leaf = a->state[i] == EBB_GRAPH_LEAF;
        bool spends = a->is_reached[i] && !is_leaf && onward[i];
        if (spends && !back->keep) a->state[i] = EBB_GRAPH_SPENT;
        if (back->has_inputs) a->is_reached[i] &= is_input(back, i) || spends;
    }
    return true;
}

static void sever(answer *a, const history *h, int32_t i)
{
    for (int32_t k = 0; k < h->made[i]->n_parents && a->state[i] == EBB_GRAPH_LIVE; k++) {
        uint8_t parent = a->state[h->made[i]->parents[k]];
        if (parent == EBB_GRAPH_SPENT || parent == EBB_GRAPH_SEVERED)
            a->state[i] = EBB_GRAPH_SEVERED;
    }
}

static void alive_find(answer *a, const history *h)
{
    for (int32_t i = 0; i < h->n; i++)
        a->is_alive[i] = a->state[i] == EBB_GRAPH_LIVE && h->handles[i] > 0;
    for (int32_t i = h->n - 1; i >= 0; i--)
        for (int32_t k = 0; a->is_alive[i] && k < h->made[i]->n_parents; k++) {
            int32_t parent = h->made[i]->parents[k];
            a->is_alive[parent] = a->state[parent] == EBB_GRAPH_LIVE;
        }
}

void oracle_answer(answer *a, const program *p, int32_t n_steps)
{
    if (a->size < p->n_nodes) {
        a->size = 2 * p->n_nodes;
        a->state = realloc(a->state, (size_t)a->size);
        a->is_alive = realloc(a->is_alive, (size_t)a->size);
        a->is_reached = realloc(a->is_reached, (size_t)a->size);
    }
    size_t n = (size_t)p->n_nodes + 1;
    history h = {
        .p = p, .made = malloc(n * sizeof *h.made), .handles = calloc(n, sizeof(int32_t))};
    bool *onward = malloc(n);
    for (int32_t i = 0; i < n_steps; i++) {
        const program_step *s = &p->steps[i];
        if (s->kind == STEP_LEAF || s->kind == STEP_OP) {
            h.made[h.n] = s;
            a->state[h.n] = s->kind == STEP_LEAF ? EBB_GRAPH_LEAF : EBB_GRAPH_LIVE;
            sever(a, &h, h.n++);
        }
        if (s->kind == STEP_BACK) {
            a->ok = back_apply(a, &h, s, onward);
            for (int32_t k = 0; k < h.n; k++) sever(a, &h, k);
        } else {
            h.handles[s->id] += s->kind == STEP_DROP ? -1 : 1;
        }
    }
    alive_find(a, &h);
    free(h.made);
    free(h.handles);
    free(onward);
}

void answer_free(answer *a)
{
    free(a->state);
    free(a->is_alive);
    free(a->is_reached);
    *a = (answer){0};
}
