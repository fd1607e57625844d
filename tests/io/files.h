/* files.h - test files made of bytes, and a context that watches what a loader asks for.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_TESTS_IO_FILES_H
#define EBB_TESTS_IO_FILES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ebb/ebb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct bytes {
    unsigned char data[4096];
    size_t n;
} bytes;

static inline void put(bytes *b, const void *data, size_t n)
{
    assert_true(b->n + n <= sizeof b->data);
    if (n) memcpy(b->data + b->n, data, n);
    b->n += n;
}
static inline void put_u64(bytes *b, uint64_t v)
{
    for (int i = 0; i < 8; i++) put(b, &(unsigned char){(unsigned char)(v >> 8 * i)}, 1);
}

/* One file per test program, in a folder of its own. */
static char folder[] = "/tmp/ebb_test_io_XXXXXX", file_path[sizeof folder + 32];

static inline const char *write_file(const void *data, size_t n)
{
    FILE *f = fopen(file_path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    return file_path;
}
static inline size_t read_file(void *out, size_t size)
{
    FILE *f = fopen(file_path, "rb");
    assert_non_null(f);
    size_t n = fread(out, 1, size, f);
    fclose(f);
    return n;
}

/* The largest single request since the last reset. */
static size_t largest_request;
static inline void *watched_alloc(void *user, size_t n, size_t alignment)
{
    (void)user;
    void *p = NULL;
    if (n > largest_request) largest_request = n;
    if (n > (size_t)1 << 36) return NULL; /* a sanitizer's allocator would stop the program */
    return posix_memalign(&p, alignment < sizeof(void *) ? sizeof(void *) : alignment, n) ? NULL
                                                                                          : p;
}
static inline void watched_free(void *user, void *p, size_t n)
{
    (void)user;
    (void)n;
    free(p);
}

static ebb_context *ctx;
static ebb_scope scope;

static inline int set_up(void **state)
{
    (void)state;
    static const ebb_allocator watched = {watched_alloc, watched_free, NULL};
    if (folder[sizeof folder - 2] == 'X' && !mkdtemp(folder)) return 1;
    snprintf(file_path, sizeof file_path, "%s/file", folder);
    if (ebb_context_create(&ctx, &(ebb_context_options){.allocator = &watched}) != EBB_OK)
        return 1;
    scope = ebb_scope_begin(0, NULL);
    ebb_error_clear();
    return 0;
}
static inline int tear_down(void **state)
{
    (void)state;
    ebb_scope_end(scope);
    ebb_context_destroy(ctx);
    unlink(file_path);
    return rmdir(folder) == 0 ? (memcpy(folder + sizeof folder - 7, "XXXXXX", 6), 0) : 1;
}

static inline void expect_failure(ebb_status want, const char *path)
{
    if (ebb_error_status() != want)
        print_message("status %s, message: %s\n", ebb_status_name(ebb_error_status()),
                      ebb_error_message());
    assert_int_equal(ebb_error_status(), want);
    if (path && !strstr(ebb_error_message(), path))
        fail_msg("no path in: %s", ebb_error_message());
    ebb_error_clear();
}
/* What a loader that is lied to may do: say so, and ask for no more than 1 MiB in all. */
static inline void begin_watch(void)
{
    largest_request = 0;
    ebb_stats_reset_peak(ctx);
}
static inline void end_watch(void)
{
    ebb_stats s;
    ebb_stats_get(&s, ctx);
    assert_true(largest_request <= 1 << 20);
    assert_true(s.peak_bytes - s.used_bytes <= 1 << 20);
}

#endif
