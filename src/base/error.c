/* error.c - the thread's error record: fixed size, no allocation, newest real failure wins.
 * Invariants: message is one line that begins with the caller's "file:line: " where known and
 * continues with "operation: " where one is set; status is EBB_OK exactly while message is "".
 * SPDX-License-Identifier: MIT */
#include "base/error.h"

#include "base/thread.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct {
    ebb_error record;
    bool is_told;
} thread_error;
/* Where the thread is: set by every call, so apart from the record. */
static EBB__THREAD_HOT struct {
    const char *file;
    const char *op;
    int32_t line;
} thread_at;

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static ebb_status fail_va(ebb_status s, const char *format, va_list args)
{
    ebb_error *e = &thread_error.record;
    char message[sizeof e->message]; /* an argument may point into the record being replaced */
    int used = 0;
    if (s == EBB_OK) s = EBB_E_MISUSE;
    message[0] = '\0';
    if (thread_at.file)
        used = snprintf(message, sizeof message, "%.100s:%d: ", base_name(thread_at.file),
                        (int)thread_at.line);
    if (thread_at.op)
        used +=
            snprintf(message + used, sizeof message - (size_t)used, "%.31s: ", thread_at.op);
    vsnprintf(message + used, sizeof message - (size_t)used, format, args);
    for (char *c = message; *c; c++)
        if (*c == '\n' || *c == '\r') *c = ' ';
    e->status = s;
    thread_error.is_told = false;
    e->file = thread_at.file;
    e->line = thread_at.file ? thread_at.line : 0;
    snprintf(e->op, sizeof e->op, "%s", thread_at.op ? thread_at.op : "");
    memcpy(e->message, message, sizeof message);
    return s;
}

ebb_status ebb__fail(ebb_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s = fail_va(s, format, args);
    va_end(args);
    return s;
}

void ebb__error_append(const char *text)
{
    ebb_error *e = &thread_error.record;
    size_t used = strlen(e->message);
    if (e->status != EBB_OK) snprintf(e->message + used, sizeof e->message - used, "%s", text);
}

ebb_status ebb_fail(ebb_status s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    s = fail_va(s, format, args);
    va_end(args);
    return s;
}

const char *ebb__error_op_set(const char *name)
{
    const char *before = thread_at.op;
    thread_at.op = name;
    return before;
}

const char *ebb__error_op(void)
{
    return thread_at.op;
}

ebb_status ebb__null_argument(const char *function, const char *argument)
{
    if (thread_error.record.status != EBB_OK) return thread_error.record.status;
    const char *before = ebb__error_op_set(function);
    ebb_status s = ebb__fail(EBB_E_MISUSE, "%s is NULL", argument);
    ebb__error_op_set(before);
    return s;
}

void ebb__at(const char *file, int32_t line)
{
    thread_at.file = file;
    thread_at.line = line;
}

void ebb__site_get(const char **file, int32_t *line)
{
    *file = thread_at.file;
    *line = thread_at.line;
}

void ebb__error_keep(ebb_error *out)
{
    if (thread_error.record.status == EBB_OK)
        out->status = EBB_OK;
    else
        *out = thread_error.record;
}

void ebb__error_adopt(const ebb_error *e)
{
    if (e->status == EBB_OK)
        ebb_error_clear();
    else
        thread_error.record = *e;
}

bool ebb__error_tell(void)
{
    bool is_new = !thread_error.is_told;
    thread_error.is_told = true;
    return is_new;
}

const char *ebb_status_name(ebb_status s)
{
    switch (s) {
#define X(name, value, text)                                                                   \
    case EBB_##name:                                                                           \
        return "EBB_" #name;
        EBB_STATUS_MAP(X)
#undef X
    }
    return "not an ebb_status";
}

ebb_status ebb_error_status(void)
{
    return thread_error.record.status;
}

const char *ebb_error_message(void)
{
    return thread_error.record.message;
}

void ebb_error_get(ebb_error *out)
{
    if (out) *out = thread_error.record;
}

void ebb_error_clear(void)
{
    memset(&thread_error.record, 0, sizeof thread_error.record);
}

ebb_status ebb__callback_status(ebb_status status, const char *callback)
{
    if (status == EBB_OK || ebb_error_status() != EBB_OK) return status;
    if ((unsigned)status > EBB_E_INTERNAL)
        return ebb__fail(EBB_E_MISUSE, "%s returned %d, which is no status", callback,
                         (int)status);
    return ebb__fail(status, "%s returned %s", callback, ebb_status_name(status));
}
