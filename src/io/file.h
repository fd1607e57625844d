/* file.h - files as the readers and writers see them: sizes known first, errors with the path.
 *
 * A reader asks for memory only after it has compared what the file claims with file.bytes.
 * Errors read "load_npy: PATH: what was wrong".
 * SPDX-License-Identifier: MIT */
#ifndef EBB_IO_FILE_H
#define EBB_IO_FILE_H

#include <ebb/tensor.h>

#include <stdio.h>

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the file formats are little-endian and are read without conversion"
#endif

typedef struct ebb__file {
    const char *function, *path; /* for messages: the caller's, valid while the file is open */
    int fd;
    uint64_t bytes;
} ebb__file;

/* A regular file, for reading. E_MISUSE path NULL; E_IO. Closing a file that is not open does
 * nothing: {.fd = -1}. */
ebb_status ebb__file_open(ebb__file *out, const char *function, const char *path);
void ebb__file_close(ebb__file *f);
/* Exactly n bytes from there. E_IO. */
ebb_status ebb__file_read(void *out, const ebb__file *f, uint64_t offset, size_t n);
/* Records "function: path: message"; returns s. */
ebb_status ebb__file_fail(const ebb__file *f, ebb_status s, const char *format, ...)
    EBB_PRINTF(3, 4);

/* elements and bytes of a shape whose dimensions are known to be >= 0; false on overflow of
 * INT64_MAX. A dimension of 0 does not hide an overflow of the others. */
bool ebb__file_shape_bytes(uint64_t *out, const ebb_shape *s, ebb_dtype d);
/* Bytes other than 0 and 1 are true: to a C bool they would be undefined. */
void ebb__file_fix_bool(void *data, uint64_t n, ebb_dtype d);

/* A file that appears whole or not at all: written beside `path`, renamed onto it by commit. */
typedef struct ebb__file_writer {
    const char *function, *path;
    FILE *stream;
    char temporary[4096];
} ebb__file_writer;
ebb_status ebb__file_create(ebb__file_writer *out, const char *function, const char *path);
ebb_status ebb__file_write(ebb__file_writer *w, const void *data, size_t n);
/* The elements of t in C order, whatever its strides. */
ebb_status ebb__file_write_tensor(ebb__file_writer *w, ebb_tensor *t);
ebb_status ebb__file_commit(ebb__file_writer *w);
/* Removes what was written, unless committed. */
void ebb__file_abandon(ebb__file_writer *w);

#endif
