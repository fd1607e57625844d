/* npy.h - the header of a .npy file: a Python dictionary in text.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_IO_NPY_H
#define EBB_IO_NPY_H

#include "io/file.h"

typedef struct ebb__npy {
    ebb_dtype dtype;
    ebb_shape shape;
    bool fortran_order;
    uint64_t data_offset, data_bytes;
} ebb__npy;

/* Parses and compares with the file's size. E_IO, E_SHAPE, E_UNSUPPORTED. */
ebb_status ebb__npy_header_read(ebb__npy *out, const ebb__file *f);
/* Writes version 1.0, padded so that the data begins at a multiple of 64. */
ebb_status ebb__npy_header_write(ebb__file_writer *w, ebb_dtype d, const ebb_shape *s);

#endif
