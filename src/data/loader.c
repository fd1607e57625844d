/* loader.c - batches of items, in order or shuffled, one read ahead of its use. Invariants:
 * only the calling thread makes tensors; the batch's tensors are the loader's until its next
 * call; an epoch's order depends on the seed and the epoch's number, never on timing.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "data/fetch.h"
#include "data/order.h"
#include "data/rows.h"

#include <ebb/extend.h>

#include <string.h>

struct ebb_loader {
    ebb_context *ctx;
    ebb_attachment attachment;
    ebb_loader_options options;
    ebb_source source;
    ebb__rows rows;                      /* where the source is tensors */
    ebb_tensor *fields[EBB_MAX_FIELDS];  /* those: kept and mapped */
    ebb_tensor *current[EBB_MAX_FIELDS]; /* the batch handed out */
    ebb_shape batch_shape[EBB_MAX_FIELDS];
    int64_t batch_size, n_batches, next; /* next: the batch of this epoch to hand out */
    uint64_t epoch;
    int64_t *order;
    ebb__fetch fetch;
};

/* ---- making and destroying --------------------------------------------------------------- */

static void drop_current(ebb_loader *l)
{
    for (int64_t k = 0; k < EBB_MAX_FIELDS; k++) {
        ebb_release(l->current[k]);
        l->current[k] = NULL;
    }
}

static size_t buffer_bytes(const ebb_loader *l, int64_t k)
{
    return (size_t)l->batch_size * l->fetch.item_bytes[k];
}

static void loader_destroy(void *object)
{
    ebb_loader *l = object;
    ebb__fetch_stop(&l->fetch);
    drop_current(l);
    for (int64_t k = 0; k < EBB_MAX_FIELDS; k++) {
        if (l->fields[k]) {
            ebb_unmap(l->fields[k]);
            ebb_release(l->fields[k]);
        }
        if (l->fetch.buffer[k])
            ebb_free(l->ctx, l->fetch.buffer[k], buffer_bytes(l, k), EBB_KIND_DATA);
    }
    if (l->order)
        ebb_free(l->ctx, l->order, (size_t)l->source.n_items * sizeof *l->order,
                 EBB_KIND_BOOKKEEPING);
    ebb_free(l->ctx, l, sizeof *l, EBB_KIND_BOOKKEEPING);
}

void ebb_loader_release(ebb_loader *l)
{
    if (!l) return;
    ebb_detach_object(l->ctx, &l->attachment);
    loader_destroy(l);
}

static ebb_status check_options(ebb_loader **out, int64_t n_fields, int64_t batch_size,
                                const ebb_loader_options *o)
{
    if (!out) return ebb_fail(EBB_E_MISUSE, "loader: out is NULL");
    if (n_fields < 1 || n_fields > EBB_MAX_FIELDS)
        return ebb_fail(EBB_E_RANGE, "loader: n_fields is %lld, 1 to %d are allowed",
                        (long long)n_fields, EBB_MAX_FIELDS);
    if (batch_size < 1)
        return ebb_fail(EBB_E_RANGE, "loader: batch_size is %lld, it must be > 0",
                        (long long)batch_size);
    for (size_t i = 0; o && i < sizeof o->reserved / sizeof *o->reserved; i++)
        if (o->reserved[i])
            return ebb_fail(EBB_E_MISUSE, "loader: options->reserved is not zero");
    return EBB_OK;
}

/* The shape of a batch of field k, and the bytes of an item. E_SHAPE. */
static ebb_status field_size(ebb_loader *l, int64_t k)
{
    const ebb_shape *item = &l->source.item[k];
    ebb_shape *batch = &l->batch_shape[k];
    size_t bytes = ebb_dtype_bytes(l->source.dtype[k]), all;
    if (bytes == 0)
        return ebb_fail(EBB_E_DTYPE, "loader: field %lld has element type %d, which is none",
                        (long long)k, (int)l->source.dtype[k]);
    if (item->n_dims < 0 || item->n_dims >= EBB_MAX_DIMS)
        return ebb_fail(EBB_E_SHAPE,
                        "loader: items of field %lld have %lld dimensions, 0 to %d "
                        "are allowed",
                        (long long)k, (long long)item->n_dims, EBB_MAX_DIMS - 1);
    batch->n_dims = item->n_dims + 1;
    batch->dims[0] = l->batch_size;
    for (int64_t i = 0; i < item->n_dims; i++) {
        batch->dims[i + 1] = item->dims[i];
        if (item->dims[i] < 0 || __builtin_mul_overflow(bytes, (size_t)item->dims[i], &bytes))
            return ebb_fail(EBB_E_SHAPE, "loader: the items of field %lld have no valid size",
                            (long long)k);
    }
    if (__builtin_mul_overflow(bytes, (size_t)l->batch_size, &all))
        return ebb_fail(EBB_E_SHAPE, "loader: the size of a batch of field %lld overflows",
                        (long long)k);
    l->fetch.item_bytes[k] = bytes;
    return EBB_OK;
}

/* Buffers, order and thread. The source is set. */
static ebb_status loader_start(ebb_loader *l, int64_t batch_size)
{
    const int64_t n = l->source.n_items;
    const int64_t n_kept = l->options.drop_last ? n - n % batch_size : n;
    l->n_batches = n_kept / batch_size + (n_kept % batch_size != 0);
    l->batch_size = batch_size < n ? batch_size : n;
    for (int64_t k = 0; k < l->source.n_fields; k++) {
        EBB_TRY(field_size(l, k));
        if (buffer_bytes(l, k) == 0) continue;
        l->fetch.buffer[k] = ebb_alloc(l->ctx, buffer_bytes(l, k), EBB_KIND_DATA);
        if (!l->fetch.buffer[k]) return ebb_error_status();
    }
    if (l->options.shuffle && n > 0) {
        l->order = ebb_alloc(l->ctx, (size_t)n * sizeof *l->order, EBB_KIND_BOOKKEEPING);
        if (!l->order) return ebb_error_status();
    }
    l->fetch.source = &l->source;
    l->fetch.order = l->order;
    return ebb__fetch_start(&l->fetch, !l->options.no_prefetch);
}

static ebb_loader *loader_alloc(ebb_context *ctx, const ebb_loader_options *o)
{
    ebb_loader *l = ebb_alloc(ctx, sizeof *l, EBB_KIND_BOOKKEEPING);
    if (!l) return NULL;
    l->ctx = ctx;
    if (o) l->options = *o;
    return l;
}

static ebb_status loader_finish(ebb_loader **out, ebb_loader *l, ebb_status s)
{
    if (s != EBB_OK) {
        loader_destroy(l);
        return s;
    }
    ebb_attach(l->ctx, &l->attachment, loader_destroy, l);
    *out = l;
    return EBB_OK;
}

ebb_status ebb_loader_create_from(ebb_loader **out, ebb_context *ctx, const ebb_source *source,
                                  int64_t batch_size, const ebb_loader_options *options)
{
    if (!ctx && ebb_error_status() != EBB_OK) return ebb_error_status();
    if (!ctx || !source || !source->read)
        return ebb_fail(EBB_E_MISUSE, "loader: %s is NULL",
                        !ctx      ? "ctx"
                        : !source ? "source"
                                  : "source->read");
    EBB_TRY(check_options(out, source->n_fields, batch_size, options));
    if (source->n_items < 0)
        return ebb_fail(EBB_E_RANGE, "loader: n_items is %lld, it must be >= 0",
                        (long long)source->n_items);
    ebb_loader *l = loader_alloc(ctx, options);
    if (!l) return ebb_error_status();
    l->source = *source;
    return loader_finish(out, l, loader_start(l, batch_size));
}

/* ---- from tensors ------------------------------------------------------------------------ */

static ebb_status check_field(ebb_tensor *const *fields, int64_t k)
{
    EBB_TRY(ebb_check(fields[k]));
    if (fields[k] == EBB_NONE)
        return ebb_fail(EBB_E_MISUSE, "loader: field %lld is EBB_NONE", (long long)k);
    if (ebb_rank(fields[k]) < 1)
        return ebb_fail(EBB_E_SHAPE, "loader: field %lld has no rows: its shape is ()",
                        (long long)k);
    if (ebb_dim(fields[k], 0) != ebb_dim(fields[0], 0))
        return ebb_fail(EBB_E_SHAPE, "loader: field 0 has %lld rows, field %lld has %lld",
                        (long long)ebb_dim(fields[0], 0), (long long)k,
                        (long long)ebb_dim(fields[k], 0));
    return EBB_OK;
}

static ebb_status use_fields(ebb_loader *l, ebb_tensor *const *fields, int64_t n_fields)
{
    l->rows.n_fields = n_fields;
    l->source = (ebb_source){.n_items = ebb_dim(fields[0], 0),
                             .n_fields = n_fields,
                             .read = ebb__rows_read,
                             .user = &l->rows};
    for (int64_t k = 0; k < n_fields; k++) {
        EBB_TRY(ebb_map(&l->rows.field[k], fields[k], EBB_MAP_READ));
        l->fields[k] = ebb_keep(fields[k]);
        const ebb_shape *s = &l->rows.field[k].shape;
        l->source.dtype[k] = l->rows.field[k].dtype;
        l->source.item[k].n_dims = s->n_dims - 1;
        memcpy(l->source.item[k].dims, s->dims + 1, (size_t)(s->n_dims - 1) * sizeof *s->dims);
    }
    ebb__rows_prepare(&l->rows);
    return EBB_OK;
}

ebb_status ebb_loader_create(ebb_loader **out, ebb_tensor *const *fields, int64_t n_fields,
                             int64_t batch_size, const ebb_loader_options *options)
{
    EBB_TRY(check_options(out, n_fields, batch_size, options));
    if (!fields) return ebb_fail(EBB_E_MISUSE, "loader: fields is NULL");
    for (int64_t k = 0; k < n_fields; k++) EBB_TRY(check_field(fields, k));
    ebb_context *ctx = ebb_context_of(fields[0]);
    if (!ctx) return ebb_error_status();
    ebb_loader *l = loader_alloc(ctx, options);
    if (!l) return ebb_error_status();
    ebb_status s = use_fields(l, fields, n_fields);
    return loader_finish(out, l, s == EBB_OK ? loader_start(l, batch_size) : s);
}

/* ---- handing out ------------------------------------------------------------------------- */

static int64_t rows_of(const ebb_loader *l, int64_t batch)
{
    const int64_t left = l->source.n_items - batch * l->batch_size;
    return left < l->batch_size ? left : l->batch_size;
}

static void ask(ebb_loader *l, int64_t batch)
{
    ebb__fetch_begin(&l->fetch, batch * l->batch_size, rows_of(l, batch));
}

/* The reader's own message stays readable behind the item it was about. */
static ebb_status report_failure(const ebb__fetch *f)
{
    if (f->error.status == EBB_OK)
        return ebb_fail(f->status, "loader: reading item %lld returned %s",
                        (long long)f->failed_item, ebb_status_name(f->status));
    if (f->failed_item < 0) return ebb_fail(f->status, "loader: %s", f->error.message);
    return ebb_fail(f->status, "loader: item %lld: %s", (long long)f->failed_item,
                    f->error.message);
}

/* Tensors of n rows with what is in the buffers. */
static ebb_status make_tensors(ebb_loader *l, int64_t n)
{
    const ebb_scope scope = ebb_scope_begin(EBB_SCOPE_NO_GRAD, NULL);
    ebb_status s = EBB_OK;
    for (int64_t k = 0; k < l->source.n_fields && s == EBB_OK; k++) {
        ebb_shape shape = l->batch_shape[k];
        shape.dims[0] = n;
        l->current[k] =
            ebb_claim(ebb_tensor_copy(l->ctx, l->source.dtype[k], shape, l->fetch.buffer[k],
                                      (size_t)n * l->fetch.item_bytes[k]));
        if (!l->current[k]) s = ebb_error_status();
    }
    ebb_scope_end(scope);
    if (s != EBB_OK) drop_current(l);
    return s;
}

bool ebb_loader_next(ebb_loader *l, ebb_batch *out)
{
    if (!l || !out) {
        if (l || ebb_error_status() == EBB_OK)
            (void)ebb_fail(EBB_E_MISUSE, "loader_next: %s is NULL", l ? "out" : "the loader");
        return false;
    }
    drop_current(l);
    const int64_t i = l->next;
    if (i >= l->n_batches) {
        l->next = 0;
        l->epoch++;
        return false;
    }
    if (i == 0) {
        if (l->order)
            ebb__order_shuffle(l->order, l->source.n_items, l->options.seed, l->epoch);
        ask(l, 0);
    }
    ebb__fetch_wait(&l->fetch);
    const int64_t n = rows_of(l, i);
    ebb_status s = l->fetch.status;
    s = s == EBB_OK ? make_tensors(l, n) : report_failure(&l->fetch);
    l->next++;
    if (l->next < l->n_batches) ask(l, l->next);
    *out = (ebb_batch){.n = n, .index = i, .n_batches = l->n_batches};
    if (s == EBB_OK) memcpy(out->field, l->current, sizeof out->field);
    return true;
}
