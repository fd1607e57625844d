/* params_file.c - saves and loads parameter sets. Invariant: a load changes either every tensor
 * it names or none; all data is in memory and every tensor open for writing before the first
 * changes.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/safetensors.h"

#include <ebb/data.h>
#include <ebb/params.h>

#include <string.h>

static const char *relative_name(const ebb_params *p, int64_t i)
{
    const size_t n = strlen(ebb_params_path(p));
    return ebb_params_name(p, i) + (n ? n + 1 : 0);
}

static ebb_status set_required(const char *function, const ebb_params *p)
{
    if (p) return ebb_params_status(p);
    if (ebb_error_status() != EBB_OK) return ebb_error_status();
    return ebb_fail(EBB_E_MISUSE, "%s: p is NULL", function);
}

ebb_status ebb_params_save(const ebb_params *p, const char *path)
{
    EBB_TRY(set_required("params_save", p));
    const int64_t n = ebb_params_count(p);
    if (n == 0) return ebb__st_write("params_save", path, NULL, NULL, 0);
    ebb_context *ctx = ebb_params_context(p);
    const size_t bytes = (size_t)n * (sizeof(ebb_tensor *) + sizeof(char *));
    ebb_tensor **tensors = ebb_alloc(ctx, bytes, EBB_KIND_BOOKKEEPING);
    if (!tensors) return ebb_error_status();
    const char **names = (const char **)(tensors + n);
    for (int64_t i = 0; i < n; i++) {
        tensors[i] = ebb_params_at(p, i);
        names[i] = relative_name(p, i);
    }
    ebb_status s = ebb__st_write("params_save", path, tensors, names, n);
    ebb_free(ctx, tensors, bytes, EBB_KIND_BOOKKEEPING);
    return s;
}

typedef struct target {
    ebb_tensor *tensor;
    const ebb__st_entry *entry;
    void *data; /* of the mapped tensor */
} target;

typedef struct load {
    ebb_params *p;
    ebb__st file;
    target *targets;
    int64_t n_targets, n_mapped;
    size_t target_bytes, staged_bytes;
    char *staged; /* the data of all targets, one after the other */
} load;

static bool same_shape(const ebb_shape *a, const ebb_shape *b)
{
    return a->n_dims == b->n_dims &&
           memcmp(a->dims, b->dims, (size_t)a->n_dims * sizeof *a->dims) == 0;
}

static void shape_text(char *out, size_t size, const ebb_shape *s)
{
    size_t n = (size_t)snprintf(out, size, "(");
    for (int64_t i = 0; i < s->n_dims && n < size; i++)
        n += (size_t)snprintf(out + n, size - n, i ? ", %lld" : "%lld", (long long)s->dims[i]);
    if (n < size) snprintf(out + n, size - n, ")");
}

static ebb_status check_fit(const load *l, ebb_tensor *t, const ebb__st_entry *e)
{
    if (e->dtype != ebb_dtype_of(t))
        return ebb__file_fail(&l->file.file, EBB_E_DTYPE,
                              "%.100s: the file has %.20s, the parameter is %s", e->name,
                              e->dtype_name, ebb_dtype_name(ebb_dtype_of(t)));
    ebb_shape have = ebb_shape_get(t);
    if (same_shape(&have, &e->shape)) return EBB_OK;
    char in_file[64], wanted[64];
    shape_text(in_file, sizeof in_file, &e->shape);
    shape_text(wanted, sizeof wanted, &have);
    return ebb__file_fail(&l->file.file, EBB_E_SHAPE,
                          "%.100s: the file has shape %s, the parameter %s", e->name, in_file,
                          wanted);
}

static ebb_status find_targets(load *l, const ebb_load_options *o)
{
    const int64_t n = ebb_params_count(l->p);
    if (n > 0) {
        l->target_bytes = (size_t)n * sizeof *l->targets;
        l->targets = ebb_alloc(l->file.ctx, l->target_bytes, EBB_KIND_BOOKKEEPING);
        if (!l->targets) return ebb_error_status();
    }
    for (int64_t i = 0; i < n; i++) {
        const char *name = relative_name(l->p, i);
        const ebb__st_entry *e = ebb__st_find(&l->file, name);
        if (!e && o->allow_missing) continue;
        if (!e)
            return ebb__file_fail(&l->file.file, EBB_E_RANGE, "holds no tensor %.100s", name);
        ebb_tensor *t = ebb_params_at(l->p, i);
        EBB_TRY(check_fit(l, t, e));
        l->targets[l->n_targets++] = (target){.tensor = t, .entry = e};
        l->staged_bytes += (size_t)e->bytes;
    }
    if (o->allow_extra) return EBB_OK;
    for (int64_t i = 0; i < l->file.n; i++)
        if (ebb_params_find(l->p, l->file.entries[i].name) == EBB_NONE)
            return ebb__file_fail(&l->file.file, EBB_E_RANGE,
                                  "holds %.100s, which the set does not have",
                                  l->file.entries[i].name);
    return EBB_OK;
}

static ebb_status stage(load *l)
{
    if (l->staged_bytes > 0) {
        l->staged = ebb_alloc(l->file.ctx, l->staged_bytes, EBB_KIND_TEMPORARY);
        if (!l->staged) return ebb_error_status();
    }
    char *at = l->staged;
    for (int64_t i = 0; i < l->n_targets; i++) {
        if (l->targets[i].entry->bytes == 0) continue;
        EBB_TRY(ebb__st_read(at, &l->file, l->targets[i].entry));
        at += l->targets[i].entry->bytes;
    }
    return EBB_OK;
}

static ebb_status map_targets(load *l)
{
    for (; l->n_mapped < l->n_targets; l->n_mapped++) {
        ebb_view v;
        target *t = &l->targets[l->n_mapped];
        EBB_TRY(ebb_map(&v, t->tensor, EBB_MAP_WRITE));
        t->data = v.data;
    }
    return EBB_OK;
}

static ebb_status load_all(load *l, const char *path, const ebb_load_options *o)
{
    EBB_TRY(ebb__st_open(&l->file, ebb_params_context(l->p), "params_load", path));
    EBB_TRY(find_targets(l, o));
    EBB_TRY(stage(l));
    EBB_TRY(map_targets(l));
    const char *at = l->staged;
    for (int64_t i = 0; i < l->n_targets; i++) {
        const size_t bytes = (size_t)l->targets[i].entry->bytes;
        if (bytes == 0) continue;
        memcpy(l->targets[i].data, at, bytes);
        at += bytes;
    }
    return EBB_OK;
}

ebb_status ebb_params_load(ebb_params *p, const char *path, const ebb_load_options *options)
{
    static const ebb_load_options none;
    const ebb_load_options *o = options ? options : &none;
    EBB_TRY(set_required("params_load", p));
    for (size_t i = 0; i < sizeof o->reserved / sizeof *o->reserved; i++)
        if (o->reserved[i])
            return ebb_fail(EBB_E_MISUSE, "params_load: options->reserved is not zero");
    load l = {.p = p, .file.file.fd = -1};
    ebb_status s = load_all(&l, path, o);
    while (l.n_mapped > 0) ebb_unmap(l.targets[--l.n_mapped].tensor);
    if (l.staged) ebb_free(l.file.ctx, l.staged, l.staged_bytes, EBB_KIND_TEMPORARY);
    if (l.targets) ebb_free(l.file.ctx, l.targets, l.target_bytes, EBB_KIND_BOOKKEEPING);
    ebb__st_close(&l.file);
    return s;
}
