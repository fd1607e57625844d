/* ebb_graph_replay.c - runs a graph-lifetime program and compares with what it states.
 *
 *   ebb-graph-replay FILE
 *
 * Statements: leaf ID, op ID P1 [P2 ...], hold ID, drop ID, back ID, and after a back what must
 * hold: expect ok L1 ... | expect error, live N1 .... After each back the program prints these
 * two lines as they turned out. Exit status 0: all that the file states holds; 1: something
 * differs; 2: the file cannot be read or is not such a program. Invariant: entries lie in
 * blocks that never move, for payloads point at them.
 * SPDX-License-Identifier: MIT */
#include <ebb/graph.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    ebb_graph_node *node;
    struct entry *next, **back; /* the live list, ascending, while its state is alive */
    int64_t id, n_handles;
    bool is_leaf;
} entry;

enum { BLOCK = 4096 };

typedef struct replay {
    const char *file;
    int64_t line;
    ebb_graph_space *space;
    entry **blocks;
    int64_t n_entries, n_blocks;
    entry *live, **live_end;
    ebb_graph_edge *parents; /* of the statement at hand */
    int64_t *ids, n_ids, ids_size;
    char *said[2]; /* the last expect and live lines */
    int n_stated;  /* how many of them the file has stated */
    bool differs, has_backed;
} replay;

static struct replay *running; /* a free callback learns nothing but its payload */

static void bad(const replay *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%lld: ", r->file, (long long)r->line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

static void *grow(const replay *r, void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    if (!p) bad(r, "no memory");
    return p;
}

static void state_gone(void *payload)
{
    entry *e = payload;
    if (e->is_leaf) return;
    *e->back = e->next;
    if (e->next)
        e->next->back = e->back;
    else
        running->live_end = e->back;
}

static entry *entry_at(const replay *r, int64_t id)
{
    return &r->blocks[id / BLOCK][id % BLOCK];
}

static entry *entry_add(replay *r, int64_t id, bool is_leaf)
{
    if (id != r->n_entries)
        bad(r, "id %lld; the next one is %lld", (long long)id, (long long)r->n_entries);
    if (id / BLOCK == r->n_blocks) {
        r->blocks = grow(r, r->blocks, (size_t)(r->n_blocks + 1) * sizeof *r->blocks);
        r->blocks[r->n_blocks++] = grow(r, NULL, BLOCK * sizeof(entry));
    }
    r->n_entries++;
    entry *e = entry_at(r, id);
    *e = (entry){.id = id, .n_handles = 1, .is_leaf = is_leaf};
    if (!is_leaf) {
        e->back = r->live_end;
        *e->back = e;
        r->live_end = &e->next;
    }
    return e;
}

static entry *entry_held(const replay *r, int64_t id)
{
    if (id < 0 || id >= r->n_entries) bad(r, "node %lld does not exist", (long long)id);
    entry *e = entry_at(r, id);
    if (e->n_handles == 0) bad(r, "node %lld has no handle", (long long)id);
    return e;
}

/* Reads the rest of the line as ids. */
static void ids_read(replay *r, char *text)
{
    r->n_ids = 0;
    for (char *word = strtok(text, " \t"); word; word = strtok(NULL, " \t")) {
        char *end;
        errno = 0;
        long long id = strtoll(word, &end, 10);
        if (*end || word[0] < '0' || word[0] > '9' || errno) bad(r, "'%s' is not an id", word);
        if (r->n_ids == r->ids_size) {
            r->ids_size = r->ids_size ? 2 * r->ids_size : 16;
            r->ids = grow(r, r->ids, (size_t)r->ids_size * sizeof *r->ids);
        }
        r->ids[r->n_ids++] = id;
    }
}

static void op_run(replay *r)
{
    if (r->n_ids < 2) bad(r, "op needs an id and at least one parent");
    r->parents = grow(r, r->parents, (size_t)r->n_ids * sizeof *r->parents);
    for (int64_t i = 1; i < r->n_ids; i++)
        r->parents[i - 1] = (ebb_graph_edge){.node = entry_held(r, r->ids[i])->node};
    entry *e = entry_add(r, r->ids[0], false);
    ebb_graph_payload payload = {.data = e, .free = state_gone};
    if (ebb_graph_node_record(&e->node, r->space, r->parents, (uint32_t)(r->n_ids - 1),
                              &payload) != EBB_OK)
        bad(r, "%s", ebb_error_message());
}

static ebb_status leaf_reached(void *user, ebb_graph_node *leaf, void *payload)
{
    (void)leaf;
    replay *r = user;
    if (r->n_ids == r->ids_size) {
        r->ids_size = 2 * r->ids_size + 16;
        r->ids = grow(r, r->ids, (size_t)r->ids_size * sizeof *r->ids);
    }
    r->ids[r->n_ids++] = ((entry *)payload)->id;
    return EBB_OK;
}

static int id_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void say_id(FILE *to, int64_t id)
{
    fprintf(to, " %lld", (long long)id);
}

static void back_run(replay *r)
{
    entry *root = entry_held(r, r->ids[0]);
    ebb_graph_visitor visitor = {.leaf = leaf_reached, .user = r};
    r->n_ids = 0;
    ebb_status s = ebb_graph_consume(&(ebb_graph_edge){.node = root->node}, 1, &visitor, NULL);
    if (s != EBB_OK && s != EBB_E_GRAPH) bad(r, "%s", ebb_error_message());
    for (int i = 0; i < 2; i++) {
        size_t size;
        free(r->said[i]);
        FILE *to = open_memstream(&r->said[i], &size);
        if (!to) bad(r, "no memory");
        if (i == 1) {
            fputs("live", to);
            for (entry *e = r->live; e; e = e->next) say_id(to, e->id);
        } else if (s != EBB_OK) {
            fputs("expect error", to);
        } else {
            fputs("expect ok", to);
            qsort(r->ids, (size_t)r->n_ids, sizeof *r->ids, id_order);
            for (int64_t k = 0; k < r->n_ids; k++) say_id(to, r->ids[k]);
        }
        if (fclose(to) != 0) bad(r, "no memory");
        puts(r->said[i]);
    }
    r->n_stated = 0;
    r->has_backed = true;
}

/* Compares word by word. */
static void stated_check(replay *r, const char *stated, int which)
{
    if (!r->has_backed || r->n_stated > which) bad(r, "no back precedes this line");
    r->n_stated = which + 1;
    const char *a = stated, *b = r->said[which];
    for (;;) {
        a += strspn(a, " \t");
        b += strspn(b, " ");
        size_t n = strcspn(a, " \t"), m = strcspn(b, " ");
        if (n == 0 && m == 0) return;
        if (n != m || memcmp(a, b, n) != 0) break;
        a += n;
        b += m;
    }
    fprintf(stderr, "%s:%lld: the file states '%s', the graph says '%s'\n", r->file,
            (long long)r->line, stated, r->said[which]);
    r->differs = true;
}

static void statement_run(replay *r, char *line)
{
    line[strcspn(line, "#\r\n")] = '\0';
    line += strspn(line, " \t");
    size_t n = strcspn(line, " \t");
    if (n == 0) return;
    bool is_expect = n == 6 && memcmp(line, "expect", n) == 0;
    if (is_expect || (n == 4 && memcmp(line, "live", n) == 0)) {
        stated_check(r, line, is_expect ? 0 : 1);
        return;
    }
    char *rest = line + n + (line[n] != '\0');
    line[n] = '\0';
    ids_read(r, rest);
    bool is_op = strcmp(line, "op") == 0;
    if (r->n_ids == 0 || (!is_op && r->n_ids != 1)) bad(r, "'%s' takes one id", line);
    if (is_op) {
        op_run(r);
    } else if (strcmp(line, "leaf") == 0) {
        entry *e = entry_add(r, r->ids[0], true);
        ebb_graph_payload payload = {.data = e};
        if (ebb_graph_leaf_create(&e->node, r->space, &payload) != EBB_OK)
            bad(r, "%s", ebb_error_message());
    } else if (strcmp(line, "hold") == 0) {
        entry *e = entry_held(r, r->ids[0]);
        ebb_graph_node_keep(e->node);
        e->n_handles++;
    } else if (strcmp(line, "drop") == 0) {
        entry *e = entry_held(r, r->ids[0]);
        e->n_handles--;
        ebb_graph_node_release(e->node);
    } else if (strcmp(line, "back") == 0) {
        back_run(r);
    } else {
        bad(r, "'%s' is not a statement", line);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: ebb-graph-replay FILE\n", stderr);
        return 2;
    }
    replay r = {.file = argv[1]};
    r.live_end = &r.live;
    running = &r;
    FILE *in = fopen(argv[1], "r");
    if (!in) bad(&r, "%s", strerror(errno));
    if (ebb_graph_space_create(&r.space, NULL) != EBB_OK) bad(&r, "%s", ebb_error_message());
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, in) >= 0) {
        r.line++;
        statement_run(&r, line);
    }
    if (ferror(in)) bad(&r, "%s", strerror(errno));
    fclose(in);
    ebb_graph_space_destroy(r.space);
    for (int64_t i = 0; i < r.n_blocks; i++) free(r.blocks[i]);
    free(r.blocks);
    free(r.parents);
    free(r.ids);
    free(r.said[0]);
    free(r.said[1]);
    free(line);
    return r.differs ? 1 : 0;
}
