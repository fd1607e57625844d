/* dump.c - a space as text: DOT for graphviz, JSON for programs.
 *
 * Invariant: nodes are numbered in the order of the slabs. Those that edges lead from or to, live
 * ones and leaves, bear their number in `mark` meanwhile; `link` is not touched, for a callback
 * may dump while nodes wait there to be freed.
 * SPDX-License-Identifier: MIT */
#if defined __GNUC__ && !defined __clang__
#pragma GCC optimize("Os") /* nobody waits for these; the library has a size to keep */
#endif

#include "base/error.h"
#include "base/text.h"
#include "graph/node.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct dump {
    ebb_graph_space *space;
    void (*write)(void *user, const char *text, size_t n);
    void *user;
    bool is_json;
    uint32_t n_nodes, n_edges;
} dump;

static void put(dump *d, const char *text)
{
    d->write(d->user, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_format(dump *d, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    d->write(d->user, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

/* Inside quotes; both languages escape quotes and backslashes alike. Control characters become
 * spaces in DOT, which has no escape for them; what is not UTF-8 becomes U+FFFD. */
static void put_escaped(dump *d, const char *text)
{
    for (size_t n; *text; text += n ? n : 1) {
        unsigned char c = (unsigned char)*text;
        n = ebb__utf8_bytes(text);
        if (c == '"' || c == '\\')
            put_format(d, "\\%c", c);
        else if (c < ' ')
            put_format(d, d->is_json ? "\\u%04x" : " ", c);
        else if (n)
            d->write(d->user, text, n);
        else
            put(d, "\xEF\xBF\xBD");
    }
}

static const char *state_name(const node *n)
{
    switch (node_state(n)) {
    case NODE_LIVE:
        return "live";
    case NODE_SPENT:
        return "spent";
    case NODE_SEVERED:
        return "severed";
    case NODE_LEAF:
        return "leaf";
    default:
        return "changing";
    }
}

static const char *tag_name(const dump *d, uint32_t tag)
{
    return d->space->tag_name ? d->space->tag_name(d->space->user, tag) : NULL;
}

static void node_number(void *user, node *n)
{
    dump *d = user;
    if (node_state(n) == NODE_LIVE || node_is_leaf(n)) {
        n->mark = d->n_nodes;
        n->mark_walk = d->space->walk_mark;
    }
    d->n_nodes++;
}

static void json_string(dump *d, const char *key, const char *text)
{
    if (!text) return;
    put_format(d, ",\"%s\":\"", key);
    put_escaped(d, text);
    put(d, "\"");
}

static void json_node(void *user, node *n)
{
    dump *d = user;
    ebb_graph_tombstone tomb = ebb_graph_node_tombstone(n);
    uint32_t id = d->n_nodes++;
    put_format(d, "%s\n{\"id\":%u,\"state\":\"%s\",\"tag\":%u,\"handles\":%lld", id ? "," : "",
               id, state_name(n), n->tag, (long long)ebb_graph_node_handles(n));
    json_string(d, "name", tag_name(d, n->tag));
    json_string(d, "label", ebb_graph_label(n));
    if (tomb.number)
        put_format(d, ",\"consumed_tag\":%u,\"consumed_by\":%llu", tomb.tag,
                   (unsigned long long)tomb.number);
    put(d, "}");
}

static void dot_node(void *user, node *n)
{
    dump *d = user;
    const char *label = ebb_graph_label(n), *name = tag_name(d, n->tag);
    long long handles = (long long)ebb_graph_node_handles(n);
    put_format(d, "n%u [shape=%s%s,label=\"", d->n_nodes++, node_is_leaf(n) ? "box" : "ellipse",
               node_state(n) == NODE_LIVE || node_is_leaf(n) ? "" : ",style=dashed");
    if (name)
        put_escaped(d, name);
    else
        put_format(d, "%u", n->tag);
    if (label) {
        put(d, " '");
        put_escaped(d, label);
        put(d, "'");
    }
    put_format(d, "\\n%s, %lld handle%s\"];\n", state_name(n), handles,
               handles == 1 ? "" : "s");
}

static void node_edges(void *user, node *n)
{
    dump *d = user;
    if (node_state(n) != NODE_LIVE) return;
    for (uint32_t i = 0; i < n->n_parents; i++) {
        const edge *e = &n->edges[i];
        if (d->is_json)
            put_format(d, "%s\n{\"from\":%u,\"input\":%u,\"to\":%u,\"output\":%u}",
                       d->n_edges ? "," : "", n->mark, i, e->parent->mark, e->output);
        else
            put_format(d, "n%u -> n%u;\n", n->mark, e->parent->mark);
        d->n_edges++;
    }
}

ebb_status ebb_graph_dump(ebb_graph_space *space, ebb_graph_format format,
                          void (*write)(void *user, const char *text, size_t n), void *user)
{
    if (!space) return ebb__null_argument("ebb_graph_dump", "space");
    if (!write) return ebb__null_argument("ebb_graph_dump", "write");
    if (format != EBB_GRAPH_DOT && format != EBB_GRAPH_JSON)
        return ebb__fail(EBB_E_RANGE, "format %d; DOT (1) and JSON (2) exist", (int)format);
    if (!space_is_ours(space)) return ebb__graph_space_refused(space);
    dump d = {
        .space = space, .write = write, .user = user, .is_json = format == EBB_GRAPH_JSON};
    space->walk_mark++;
    ebb__graph_each(space, node_number, &d);
    d.n_nodes = 0;
    put(&d, d.is_json ? "{\"nodes\":[" : "digraph ebb {\n");
    ebb__graph_each(space, d.is_json ? json_node : dot_node, &d);
    if (d.is_json) put(&d, "\n],\"edges\":[");
    ebb__graph_each(space, node_edges, &d);
    put(&d, d.is_json ? "\n]}\n" : "}\n");
    return EBB_OK;
}
