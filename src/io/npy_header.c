/* npy_header.c - parses and writes the header of .npy files. Invariant: nothing is believed
 * that was not compared with the file's size.
 *
 * Source: NEP 1, and numpy.lib.format: magic, version, header length (u16; u32 from version 2),
 * then
 * {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), } padded with spaces to a newline.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/npy.h"

#include <string.h>

enum { MAGIC_BYTES = 6, HEADER_MAX = 65536, DESCR_MAX = 32 };
static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

typedef struct parser {
    const char *at, *end;
} parser;

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')) p->at++;
}

static bool accept(parser *p, const char *text)
{
    size_t n = strlen(text);
    skip_space(p);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, text, n) != 0) return false;
    p->at += n;
    return true;
}

static bool parse_string(char *out, size_t size, parser *p)
{
    skip_space(p);
    if (p->at == p->end || (*p->at != '\'' && *p->at != '"')) return false;
    const char quote = *p->at++;
    size_t n = 0;
    while (p->at < p->end && *p->at != quote && n + 1 < size) out[n++] = *p->at++;
    out[n] = '\0';
    return p->at < p->end && *p->at++ == quote;
}

static bool parse_bool(bool *out, parser *p)
{
    *out = accept(p, "True");
    return *out || accept(p, "False");
}

static bool parse_number(int64_t *out, parser *p)
{
    skip_space(p);
    const char *first = p->at;
    int64_t v = 0;
    for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p->at - '0', &v))
            return false;
    accept(p, "L"); /* files of Python 2 */
    *out = v;
    return p->at > first;
}

static bool parse_shape(ebb_shape *out, parser *p)
{
    *out = (ebb_shape){0};
    if (!accept(p, "(")) return false;
    while (!accept(p, ")")) {
        int64_t dim;
        if (!parse_number(&dim, p)) return false;
        if (out->n_dims < EBB_MAX_DIMS) out->dims[out->n_dims] = dim;
        out->n_dims++;
        if (!accept(p, ",") && (p->at == p->end || *p->at != ')')) return false;
    }
    return true;
}

/* descr is left empty where it is not a string: a record type. */
static bool parse_dict(ebb__npy *out, char descr[DESCR_MAX], parser *p)
{
    char key[16];
    unsigned seen = 0;
    if (!accept(p, "{")) return false;
    while (!accept(p, "}")) {
        if (!parse_string(key, sizeof key, p) || !accept(p, ":")) return false;
        unsigned which = strcmp(key, "descr") == 0           ? 1
                         : strcmp(key, "fortran_order") == 0 ? 2
                         : strcmp(key, "shape") == 0         ? 4
                                                             : 0;
        if (which == 0 || seen & which) return false;
        seen |= which;
        if (which == 1 && accept(p, "[")) {
            descr[0] = '\0';
            return true;
        }
        if ((which == 1 && !parse_string(descr, DESCR_MAX, p)) ||
            (which == 2 && !parse_bool(&out->fortran_order, p)) ||
            (which == 4 && !parse_shape(&out->shape, p)))
            return false;
        if (!accept(p, ",") && (p->at == p->end || *p->at != '}')) return false;
    }
    skip_space(p);
    return seen == 7 && p->at == p->end;
}

static ebb_status npy_dtype(ebb_dtype *out, const char *descr, const ebb__file *f)
{
    static const struct {
        char name[4];
        ebb_dtype dtype;
    } known[] = {{"f4", EBB_F32}, {"f8", EBB_F64},  {"i8", EBB_I64}, {"i4", EBB_I32},
                 {"u1", EBB_U8},  {"b1", EBB_BOOL}, {"f2", EBB_F16}};
    if (descr[0] == '\0')
        return ebb__file_fail(f, EBB_E_UNSUPPORTED,
                              "holds records; plain elements can be read");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(descr + 1, known[i].name) != 0) continue;
        if (descr[0] == '>' && ebb_dtype_bytes(known[i].dtype) > 1)
            return ebb__file_fail(f, EBB_E_UNSUPPORTED,
                                  "holds big-endian %s; little-endian "
                                  "can be read",
                                  descr);
        if (!strchr("<|=>", descr[0])) break;
        *out = known[i].dtype;
        return EBB_OK;
    }
    return ebb__file_fail(f, EBB_E_UNSUPPORTED,
                          "holds elements '%s'; <f4, <f8, <i8, <i4, |u1 and |b1 can be read",
                          descr);
}

static ebb_status check_size(ebb__npy *out, const ebb__file *f)
{
    if (out->shape.n_dims > EBB_MAX_DIMS)
        return ebb__file_fail(f, EBB_E_SHAPE, "has %lld dimensions, %d are allowed",
                              (long long)out->shape.n_dims, EBB_MAX_DIMS);
    if (!ebb__file_shape_bytes(&out->data_bytes, &out->shape, out->dtype))
        return ebb__file_fail(f, EBB_E_SHAPE, "the size of its data overflows");
    if (out->data_bytes > f->bytes - out->data_offset)
        return ebb__file_fail(f, EBB_E_IO, "has %llu bytes of data, its header asks for %llu",
                              (unsigned long long)(f->bytes - out->data_offset),
                              (unsigned long long)out->data_bytes);
    return EBB_OK;
}

ebb_status ebb__npy_header_read(ebb__npy *out, const ebb__file *f)
{
    unsigned char h[MAGIC_BYTES + 6] = {0};
    char text[HEADER_MAX], descr[DESCR_MAX] = "";
    if (f->bytes < MAGIC_BYTES + 4)
        return ebb__file_fail(f, EBB_E_IO, "is not a .npy file: %llu bytes",
                              (unsigned long long)f->bytes);
    EBB_TRY(ebb__file_read(h, f, 0, f->bytes < sizeof h ? MAGIC_BYTES + 4 : sizeof h));
    if (memcmp(h, magic, MAGIC_BYTES) != 0)
        return ebb__file_fail(f, EBB_E_IO, "is not a .npy file: it lacks the magic bytes");
    const unsigned version = h[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return ebb__file_fail(f, EBB_E_IO, "is of .npy version %u, 1 to 3 can be read",
                              version);
    const unsigned char *at = h + MAGIC_BYTES + 2;
    uint64_t n = (uint64_t)at[0] | (uint64_t)at[1] << 8, begin = MAGIC_BYTES + 4;
    if (version > 1) {
        n |= (uint64_t)at[2] << 16 | (uint64_t)at[3] << 24;
        begin += 2;
    }
    if (begin > f->bytes || n > f->bytes - begin || n > HEADER_MAX)
        return ebb__file_fail(f, EBB_E_IO,
                              "states a header of %llu bytes, %llu follow and %d "
                              "are allowed",
                              (unsigned long long)n,
                              (unsigned long long)(begin > f->bytes ? 0 : f->bytes - begin),
                              HEADER_MAX);
    EBB_TRY(ebb__file_read(text, f, begin, (size_t)n));
    parser p = {text, text + n};
    *out = (ebb__npy){.data_offset = begin + n};
    if (!parse_dict(out, descr, &p))
        return ebb__file_fail(f, EBB_E_IO, "has a malformed header");
    EBB_TRY(npy_dtype(&out->dtype, descr, f));
    return check_size(out, f);
}

ebb_status ebb__npy_header_write(ebb__file_writer *w, ebb_dtype d, const ebb_shape *s)
{
    static const char *const descr[] = {
        [EBB_F32] = "<f4", [EBB_F64] = "<f8",  [EBB_I64] = "<i8", [EBB_I32] = "<i4",
        [EBB_U8] = "|u1",  [EBB_BOOL] = "|b1", [EBB_F16] = "<f2"};
    enum { PREFIX = MAGIC_BYTES + 4, ALIGN = 64 };
    char h[512]; /* 8 dimensions of at most 19 digits each */
    size_t n = PREFIX;
    n += (size_t)snprintf(h + n, sizeof h - n,
                          "{'descr': '%s', 'fortran_order': False, 'shape': (", descr[d]);
    for (int64_t i = 0; i < s->n_dims; i++)
        n += (size_t)snprintf(h + n, sizeof h - n,
                              s->n_dims == 1 ? "%lld,"
                              : i            ? ", %lld"
                                             : "%lld",
                              (long long)s->dims[i]);
    n += (size_t)snprintf(h + n, sizeof h - n, "), }");
    size_t padded = (n + 1 + ALIGN - 1) / ALIGN * ALIGN;
    memset(h + n, ' ', padded - n);
    h[padded - 1] = '\n';
    memcpy(h, magic, MAGIC_BYTES);
    h[MAGIC_BYTES] = 1;
    h[MAGIC_BYTES + 1] = 0;
    h[MAGIC_BYTES + 2] = (char)((padded - PREFIX) & 255);
    h[MAGIC_BYTES + 3] = (char)((padded - PREFIX) >> 8);
    return ebb__file_write(w, h, padded);
}
