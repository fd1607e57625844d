/* status.h - status codes and the thread's error record.
 *
 * Every fallible function that is not an operation returns ebb_status; an operation returns
 * NULL. Both leave the reason in a fixed-size record of the calling thread: no allocation, so
 * running out of memory can be reported too. The newest real failure wins; passing NULL on
 * never writes. The record stays until ebb_error_clear or a newer failure.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_STATUS_H
#define EBB_STATUS_H

#include <ebb/api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values are pinned; new ones are added at the end. */
#define EBB_STATUS_MAP(X)                                                                      \
    X(OK, 0, "success")                                                                        \
    X(E_MISUSE, 1, "the call breaks the contract: NULL, wrong context, released object")       \
    X(E_SHAPE, 2, "shapes do not fit the operation, or a size overflows")                      \
    X(E_DTYPE, 3, "element types do not fit the operation")                                    \
    X(E_RANGE, 4, "an axis, index or attribute is out of range")                               \
    X(E_GRAPH, 5, "no gradient path, the graph was consumed, or a saved value was written to") \
    X(E_NOMEM, 6, "the system refused memory")                                                 \
    X(E_BUDGET, 7, "the memory budget cannot hold what the call needs")                        \
    X(E_UNSUPPORTED, 8, "valid, but not implemented for this case")                            \
    X(E_BACKEND, 9, "a kernel library failed")                                                 \
    X(E_IO, 10, "a file could not be read or written, or is malformed")                        \
    X(E_INTERNAL, 11, "a bug in Ebb; please report")

typedef enum ebb_status {
#define X(name, value, text) EBB_##name = value,
    EBB_STATUS_MAP(X)
#undef X
} ebb_status;

/* file and line are the caller's; message is one line that begins with them:
 * "train.c:41: matmul: x is (32, 784), w is (10, 784): 784 and 10 differ" */
typedef struct ebb_error {
    ebb_status status;
    int32_t line;
    const char *file; /* a string constant of the caller's, or NULL */
    char op[32];
    char message[400];
} ebb_error;

/* "EBB_E_SHAPE", for any value: never NULL. */
EBB_API const char *ebb_status_name(ebb_status s);
/* The status of the pending failure, EBB_OK if none. */
EBB_API ebb_status ebb_error_status(void);
/* Its message, "" if none; valid until the thread's next call into Ebb. */
EBB_API const char *ebb_error_message(void);
/* A copy of the record, to hand to another thread. */
EBB_API void ebb_error_get(ebb_error *out);
EBB_API void ebb_error_clear(void);
/* Record a failure of the user's own function or operation; returns s. */
EBB_API ebb_status ebb_fail(ebb_status s, const char *format, ...) EBB_PRINTF(2, 3);

#define EBB_TRY(expr)                                                                          \
    do {                                                                                       \
        ebb_status ebb__try = (expr);                                                          \
        if (ebb__try != EBB_OK) return ebb__try;                                               \
    } while (0)

/* Set the caller's line for messages; used by the generated call-site wrappers. */
EBB_API void ebb__at(const char *file, int32_t line);

#ifdef __cplusplus
}
#endif

#endif
