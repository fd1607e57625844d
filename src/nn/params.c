/* params.c - named sets of parameters. Invariants: a node lists every tensor below it in order
 * of creation, so a tensor is in the list of each of its ancestors; full names are unique in a
 * set; the set holds one reference to each tensor. A set is built by one thread at a time.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "nn/params.h"

#include <ebb/extend.h>

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 256 }; /* of a full name, with its end */

typedef struct entry {
    ebb_tensor *tensor;
    bool is_buffer;
    char name[]; /* from the root */
} entry;

typedef struct set {
    ebb_context *ctx;
    ebb_attachment attachment;
    atomic_int n_references;
    ebb_params *nodes; /* newest first; the root is the last */
    ebb_params *top;
    ebb_error error; /* the first failure while it was built */
} set;

struct ebb_params {
    const ebb_tensor_list *list; /* first: how the layers below see the set */
    set *set;
    ebb_params *parent, *next;
    entry **entries;
    int64_t n, capacity;
    char path[]; /* from the root */
};

static ebb_status null_set(const char *function)
{
    if (ebb_error_status() != EBB_OK) return ebb_error_status();
    return ebb_fail(EBB_E_MISUSE, "%s: p is NULL", function);
}

/* ---- life -------------------------------------------------------------------------------- */

static size_t node_bytes(const char *path)
{
    return sizeof(ebb_params) + strlen(path) + 1;
}

static size_t entry_bytes(const char *name)
{
    return sizeof(entry) + strlen(name) + 1;
}

static int64_t list_count(const void *p)
{
    return ebb_params_count(p);
}

static ebb_tensor *list_at(const void *p, int64_t i)
{
    return ebb_params_at(p, i);
}

static const ebb_tensor_list as_list = {list_count, list_at};

static ebb_params *node_create(set *s, ebb_params *parent, const char *path)
{
    ebb_params *p = ebb_alloc(s->ctx, node_bytes(path), EBB_KIND_BOOKKEEPING);
    if (!p) return NULL;
    p->list = &as_list;
    p->set = s;
    p->parent = parent;
    p->next = s->nodes;
    memcpy(p->path, path, strlen(path) + 1);
    s->nodes = p;
    return p;
}

static void entry_destroy(ebb_context *ctx, entry *e)
{
    ebb_release(e->tensor);
    ebb_free(ctx, e, entry_bytes(e->name), EBB_KIND_BOOKKEEPING);
}

static void set_destroy(void *object)
{
    set *s = object;
    ebb_context *ctx = s->ctx;
    for (int64_t i = s->top ? s->top->n : 0; i-- > 0;) entry_destroy(ctx, s->top->entries[i]);
    while (s->nodes) {
        ebb_params *p = s->nodes;
        s->nodes = p->next;
        if (p->entries)
            ebb_free(ctx, p->entries, (size_t)p->capacity * sizeof *p->entries,
                     EBB_KIND_BOOKKEEPING);
        ebb_free(ctx, p, node_bytes(p->path), EBB_KIND_BOOKKEEPING);
    }
    ebb_free(ctx, s, sizeof *s, EBB_KIND_BOOKKEEPING);
}

ebb_status ebb_params_create(ebb_params **out, ebb_context *ctx)
{
    if (!out) return ebb_fail(EBB_E_MISUSE, "params_create: out is NULL");
    if (!ctx) {
        if (ebb_error_status() != EBB_OK) return ebb_error_status();
        return ebb_fail(EBB_E_MISUSE, "params_create: ctx is NULL");
    }
    set *s = ebb_alloc(ctx, sizeof *s, EBB_KIND_BOOKKEEPING);
    if (!s) return ebb_error_status();
    s->ctx = ctx;
    atomic_init(&s->n_references, 1);
    s->top = node_create(s, NULL, "");
    if (!s->top) {
        set_destroy(s);
        return ebb_error_status();
    }
    ebb_attach(ctx, &s->attachment, set_destroy, s);
    *out = s->top;
    return EBB_OK;
}

ebb_params *ebb_params_keep(ebb_params *p)
{
    if (p) atomic_fetch_add(&p->set->n_references, 1);
    return p;
}

void ebb_params_release(ebb_params *p)
{
    if (!p || atomic_fetch_sub(&p->set->n_references, 1) != 1) return;
    ebb_detach_object(p->set->ctx, &p->set->attachment);
    set_destroy(p->set);
}

/* ---- building ---------------------------------------------------------------------------- */

/* Keeps the thread's failure if it is the set's first. */
static void remember(ebb_params *p)
{
    if (p->set->error.status == EBB_OK) ebb_error_get(&p->set->error);
}

ebb_status ebb_params_status(const ebb_params *p)
{
    if (!p) return null_set("params_status");
    const ebb_error *e = &p->set->error;
    if (e->status == EBB_OK || e->status == ebb_error_status()) return e->status;
    /* Reported anew where it was made; its message begins with that line already. */
    const char *message = e->file ? strstr(e->message, ": ") : NULL;
    if (e->file) ebb__at(e->file, e->line);
    return ebb_fail(e->status, "%s", message ? message + 2 : e->message);
}

static ebb_params *child_of(ebb_params *p, const char *path)
{
    for (ebb_params *q = p->set->nodes; q; q = q->next)
        if (strcmp(q->path, path) == 0) return q;
    return node_create(p->set, p, path);
}

/* Full name of `name` below p. E_RANGE. */
static ebb_status full_name(char out[NAME_BYTES], const ebb_params *p, const char *name)
{
    int n = snprintf(out, NAME_BYTES, "%s%s%s", p->path, *p->path ? "." : "", name);
    const char *end = name + strlen(name);
    if (end == name || *name == '.' || end[-1] == '.' || strstr(name, ".."))
        return ebb_fail(EBB_E_RANGE, "params: '%.100s' has an empty part", name);
    if (n >= NAME_BYTES)
        return ebb_fail(EBB_E_RANGE, "params: a full name of %d bytes, %d are allowed", n,
                        NAME_BYTES - 1);
    return EBB_OK;
}

/* The node of path `full`, which begins with p's, made with those on the way to it. */
static ebb_params *node_of(ebb_params *p, char *full)
{
    char *at = full + strlen(p->path);
    while (p && *at) {
        char *dot = strchr(at + 1, '.');
        if (dot) *dot = '\0';
        p = child_of(p, full);
        if (!dot) break;
        *dot = '.';
        at = dot;
    }
    return p;
}

ebb_params *ebb_params_sub(ebb_params *p, const char *format, ...)
{
    char name[NAME_BYTES], full[NAME_BYTES];
    if (!p || !format) {
        if (!p)
            (void)null_set("params_sub");
        else
            (void)ebb_fail(EBB_E_MISUSE, "params_sub: format is NULL");
        return NULL;
    }
    va_list args;
    va_start(args, format);
    int n = vsnprintf(name, sizeof name, format, args);
    va_end(args);
    ebb_params *sub = NULL;
    if (n < 0 || n >= NAME_BYTES)
        (void)ebb_fail(EBB_E_RANGE, "params_sub: a name of %d bytes, %d are allowed", n,
                       NAME_BYTES - 1);
    else if (full_name(full, p, name) == EBB_OK)
        sub = node_of(p, full);
    if (!sub) remember(p);
    return sub;
}

/* Room for one entry more in p and all its ancestors. */
static ebb_status reserve(ebb_params *p)
{
    for (; p; p = p->parent) {
        if (p->n < p->capacity) continue;
        const int64_t capacity = p->capacity ? 2 * p->capacity : 8;
        entry **grown =
            ebb_alloc(p->set->ctx, (size_t)capacity * sizeof *grown, EBB_KIND_BOOKKEEPING);
        if (!grown) return ebb_error_status();
        if (p->entries) {
            memcpy(grown, p->entries, (size_t)p->n * sizeof *grown);
            ebb_free(p->set->ctx, p->entries, (size_t)p->capacity * sizeof *grown,
                     EBB_KIND_BOOKKEEPING);
        }
        p->entries = grown;
        p->capacity = capacity;
    }
    return EBB_OK;
}

/* The caller's reference; NULL on failure. */
static ebb_tensor *make_tensor(ebb_context *ctx, ebb_dtype d, ebb_shape s, ebb_init init,
                               bool is_buffer)
{
    const ebb_scope scope = ebb_scope_begin(EBB_SCOPE_NO_GRAD, NULL);
    ebb_tensor *t = ebb__init_make(ctx, d, s, init);
    if (t && ebb_set_kind(t, EBB_KIND_PARAMETER) == EBB_OK &&
        (is_buffer || ebb_set_requires_grad(t, true) == EBB_OK))
        t = ebb_claim(t);
    else
        t = NULL;
    ebb_scope_end(scope);
    return t;
}

static const entry *find_entry(const ebb_params *p, const char *full)
{
    for (int64_t i = 0; i < p->n; i++)
        if (strcmp(p->entries[i]->name, full) == 0) return p->entries[i];
    return NULL;
}

static ebb_tensor *add(ebb_params *p, const char *name, ebb_dtype d, ebb_shape s, ebb_init init,
                       bool is_buffer)
{
    char full[NAME_BYTES];
    if (!name) {
        (void)ebb_fail(EBB_E_MISUSE, "param: name is NULL");
        return NULL;
    }
    if (full_name(full, p, name) != EBB_OK) return NULL;
    bool is_float = d == EBB_F32 || d == EBB_F64 || d == EBB_F16 || d == EBB_BF16;
    if (!is_buffer && !is_float) {
        (void)ebb_fail(EBB_E_DTYPE, "param: %s must be of a floating type, it is %s", full,
                       ebb_dtype_name(d));
        return NULL;
    }
    char *dot = strrchr(full, '.');
    if (dot) *dot = '\0';
    ebb_params *node = dot ? node_of(p, full) : p;
    if (dot) *dot = '.';
    if (!node) return NULL;
    if (find_entry(node, full)) {
        (void)ebb_fail(EBB_E_MISUSE, "param: the name %s is taken", full);
        return NULL;
    }
    if (reserve(node) != EBB_OK) return NULL;
    entry *e = ebb_alloc(p->set->ctx, entry_bytes(full), EBB_KIND_BOOKKEEPING);
    if (!e) return NULL;
    e->is_buffer = is_buffer;
    memcpy(e->name, full, strlen(full) + 1);
    e->tensor = make_tensor(p->set->ctx, d, s, init, is_buffer);
    if (!e->tensor) {
        ebb_free(p->set->ctx, e, entry_bytes(full), EBB_KIND_BOOKKEEPING);
        return NULL;
    }
    for (ebb_params *q = node; q; q = q->parent) q->entries[q->n++] = e;
    return e->tensor;
}

ebb_tensor *ebb_param(ebb_params *p, const char *name, ebb_dtype d, ebb_shape s, ebb_init init)
{
    if (!p) {
        (void)null_set("param");
        return NULL;
    }
    ebb_tensor *t = add(p, name, d, s, init, false);
    if (!t) remember(p);
    return t;
}

ebb_tensor *ebb_buffer(ebb_params *p, const char *name, ebb_dtype d, ebb_shape s, ebb_init init)
{
    if (!p) {
        (void)null_set("buffer");
        return NULL;
    }
    ebb_tensor *t = add(p, name, d, s, init, true);
    if (!t) remember(p);
    return t;
}

/* ---- reading ----------------------------------------------------------------------------- */

ebb_tensor *ebb_params_find(ebb_params *p, const char *name)
{
    char full[NAME_BYTES];
    if (!p) {
        (void)null_set("params_find");
        return NULL;
    }
    if (!name) {
        (void)ebb_fail(EBB_E_MISUSE, "params_find: name is NULL");
        return NULL;
    }
    int n = snprintf(full, sizeof full, "%s%s%s", p->path, *p->path ? "." : "", name);
    const entry *e = n < NAME_BYTES ? find_entry(p, full) : NULL;
    return e ? e->tensor : EBB_NONE;
}

int64_t ebb_params_count(const ebb_params *p)
{
    return p ? p->n : 0;
}

static const entry *entry_at(const ebb_params *p, int64_t i)
{
    if (p && i >= 0 && i < p->n) return p->entries[i];
    if (!p)
        (void)null_set("params_at");
    else
        (void)ebb_fail(EBB_E_RANGE, "params_at: %lld is outside [0, %lld)", (long long)i,
                       (long long)p->n);
    return NULL;
}

ebb_tensor *ebb_params_at(const ebb_params *p, int64_t i)
{
    const entry *e = entry_at(p, i);
    return e ? e->tensor : NULL;
}

const char *ebb_params_name(const ebb_params *p, int64_t i)
{
    const entry *e = entry_at(p, i);
    return e ? e->name : NULL;
}

bool ebb_params_is_buffer(const ebb_params *p, int64_t i)
{
    const entry *e = entry_at(p, i);
    return e && e->is_buffer;
}

const char *ebb_params_path(const ebb_params *p)
{
    return p ? p->path : NULL;
}

ebb_context *ebb_params_context(const ebb_params *p)
{
    return p ? p->set->ctx : NULL;
}
