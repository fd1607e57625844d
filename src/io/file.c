/* file.c - opening, reading and writing files with one message per failure. Invariants: a
 * reader never blocks on what is not a regular file; a writer leaves either the whole new file
 * under its name or what was there before.
 * SPDX-License-Identifier: MIT */
#define EBB_NO_SITES
#include "io/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SHOWN = 200 };

/* The end of a long path tells more than its beginning. */
static const char *path_tail(const char *path)
{
    size_t n = strlen(path);
    return n > PATH_SHOWN ? path + n - PATH_SHOWN : path;
}

static ebb_status fail_va(const char *function, const char *path, ebb_status s,
                          const char *format, va_list args) EBB_PRINTF(4, 0);
static ebb_status fail_va(const char *function, const char *path, ebb_status s,
                          const char *format, va_list args)
{
    char text[300];
    vsnprintf(text, sizeof text, format, args);
    return ebb_fail(s, "%s: %s: %s", function, path_tail(path), text);
}

ebb_status ebb__file_fail(const ebb__file *f, ebb_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s = fail_va(f->function, f->path, s, format, args);
    va_end(args);
    return s;
}

static const char *reason(int error, char *buffer, size_t size)
{
    return strerror_r(error, buffer, size);
}

static ebb_status path_required(const char *function, const char *path)
{
    if (path && *path) return EBB_OK;
    return ebb_fail(EBB_E_MISUSE, "%s: path is %s", function, path ? "empty" : "NULL");
}

ebb_status ebb__file_open(ebb__file *out, const char *function, const char *path)
{
    *out = (ebb__file){.function = function, .path = path, .fd = -1};
    EBB_TRY(path_required(function, path));
    char text[128];
    /* O_NONBLOCK: opening a pipe that nobody writes to would wait for ever. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return ebb__file_fail(out, EBB_E_IO, "%s", reason(errno, text, sizeof text));
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return ebb__file_fail(out, EBB_E_IO, "is not a regular file");
    }
    out->fd = fd;
    out->bytes = (uint64_t)st.st_size;
    return EBB_OK;
}

void ebb__file_close(ebb__file *f)
{
    if (f->fd >= 0) close(f->fd);
    f->fd = -1;
}

ebb_status ebb__file_read(void *out, const ebb__file *f, uint64_t offset, size_t n)
{
    char text[128];
    size_t done = 0;
    while (done < n) {
        size_t want = n - done < (size_t)1 << 30 ? n - done : (size_t)1 << 30;
        ssize_t got = pread(f->fd, (char *)out + done, want, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return ebb__file_fail(f, EBB_E_IO, "reading: %s", reason(errno, text, sizeof text));
        if (got == 0)
            return ebb__file_fail(f, EBB_E_IO, "ends at byte %llu, %zu more are needed",
                                  (unsigned long long)(offset + done), n - done);
        done += (size_t)got;
    }
    return EBB_OK;
}

bool ebb__file_shape_bytes(uint64_t *out, const ebb_shape *s, ebb_dtype d)
{
    int64_t n = (int64_t)ebb_dtype_bytes(d);
    bool empty = false;
    for (int64_t i = 0; i < s->n_dims; i++) {
        empty |= s->dims[i] == 0;
        if (__builtin_mul_overflow(n, s->dims[i] ? s->dims[i] : 1, &n)) return false;
    }
    *out = empty ? 0 : (uint64_t)n;
    return true;
}

void ebb__file_fix_bool(void *data, uint64_t n, ebb_dtype d)
{
    unsigned char *byte = data;
    if (d != EBB_BOOL) return;
    for (uint64_t i = 0; i < n; i++) byte[i] = byte[i] != 0;
}

/* ---- writing ----------------------------------------------------------------------------- */

static ebb_status write_fail(const ebb__file_writer *w, ebb_status s, const char *format, ...)
    EBB_PRINTF(3, 4);
static ebb_status write_fail(const ebb__file_writer *w, ebb_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s = fail_va(w->function, w->path, s, format, args);
    va_end(args);
    return s;
}

/* In the same folder, because a rename across file systems is not atomic; by open and not by
 * mkstemp, so that the process's umask decides who may read it. */
static int create_beside(ebb__file_writer *w)
{
    for (int k = 0; k < 1000; k++) {
        int n = snprintf(w->temporary, sizeof w->temporary, "%s.%ld.%d.tmp", w->path,
                         (long)getpid(), k);
        if (n < 0 || (size_t)n >= sizeof w->temporary) {
            errno = ENAMETOOLONG;
            return -1;
        }
        int fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

ebb_status ebb__file_create(ebb__file_writer *out, const char *function, const char *path)
{
    out->function = function;
    out->path = path;
    out->stream = NULL;
    EBB_TRY(path_required(function, path));
    struct stat old;
    bool replaces = stat(path, &old) == 0;
    if (replaces && !S_ISREG(old.st_mode))
        return write_fail(out, EBB_E_IO, "is not a regular file");
    char text[128];
    int fd = create_beside(out);
    if (fd < 0) return write_fail(out, EBB_E_IO, "%s", reason(errno, text, sizeof text));
    if (!replaces || fchmod(fd, old.st_mode & 07777) == 0) out->stream = fdopen(fd, "wb");
    if (out->stream) return EBB_OK;
    int error = errno;
    close(fd);
    unlink(out->temporary);
    return write_fail(out, EBB_E_IO, "%s", reason(error, text, sizeof text));
}

ebb_status ebb__file_write(ebb__file_writer *w, const void *data, size_t n)
{
    char text[128];
    if (n == 0 || fwrite(data, 1, n, w->stream) == n) return EBB_OK;
    return write_fail(w, EBB_E_IO, "writing: %s", reason(errno, text, sizeof text));
}

static bool is_dense(const ebb_view *v)
{
    int64_t step = 1;
    for (int64_t i = v->shape.n_dims; i-- > 0;) {
        if (v->shape.dims[i] != 1 && v->strides[i] != step) return false;
        step *= v->shape.dims[i];
    }
    return true;
}

/* Moves to the next index in C order; returns the offset of its element. */
static int64_t next_offset(int64_t index[EBB_MAX_DIMS], int64_t offset, const ebb_view *v)
{
    for (int64_t i = v->shape.n_dims; i-- > 0;) {
        offset += v->strides[i];
        if (++index[i] < v->shape.dims[i]) return offset;
        offset -= v->strides[i] * v->shape.dims[i];
        index[i] = 0;
    }
    return offset;
}

static ebb_status write_view(ebb__file_writer *w, const ebb_view *v)
{
    unsigned char chunk[8192];
    int64_t index[EBB_MAX_DIMS] = {0}, n = 1, offset = 0;
    size_t size = ebb_dtype_bytes(v->dtype), used = 0;
    for (int64_t i = 0; i < v->shape.n_dims; i++) n *= v->shape.dims[i];
    if (n == 0) return EBB_OK;
    if (is_dense(v)) return ebb__file_write(w, v->data, (size_t)n * size);
    for (int64_t k = 0; k < n; k++) {
        memcpy(chunk + used, (const char *)v->data + offset * (int64_t)size, size);
        offset = next_offset(index, offset, v);
        used += size;
        if (used < sizeof chunk && k + 1 < n) continue;
        EBB_TRY(ebb__file_write(w, chunk, used));
        used = 0;
    }
    return EBB_OK;
}

ebb_status ebb__file_write_tensor(ebb__file_writer *w, ebb_tensor *t)
{
    ebb_view v;
    EBB_TRY(ebb_map(&v, t, EBB_MAP_READ));
    ebb_status s = write_view(w, &v);
    ebb_unmap(t);
    return s;
}

ebb_status ebb__file_commit(ebb__file_writer *w)
{
    char text[128];
    bool good = fflush(w->stream) == 0 && fsync(fileno(w->stream)) == 0;
    int error = errno;
    good = fclose(w->stream) == 0 && good;
    w->stream = NULL;
    if (good && rename(w->temporary, w->path) == 0) return EBB_OK;
    if (good) error = errno;
    unlink(w->temporary);
    return write_fail(w, EBB_E_IO, "writing: %s", reason(error, text, sizeof text));
}

void ebb__file_abandon(ebb__file_writer *w)
{
    if (!w->stream) return;
    fclose(w->stream);
    unlink(w->temporary);
    w->stream = NULL;
}
