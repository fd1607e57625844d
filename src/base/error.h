/* error.h - the thread's error record, inside the library.
 *
 * ebb__fail is the only expression that makes a non-OK status.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_BASE_ERROR_H
#define EBB_BASE_ERROR_H

#include <ebb/status.h>

/* Record a failure: "file:line: op: message". Returns s. */
ebb_status ebb__fail(ebb_status s, const char *format, ...) EBB_PRINTF(2, 3);
/* The operation or function named in messages from now on, on this thread; returns the one
 * before. NULL: none. The string must outlive its use (a descriptor's name, a literal). */
const char *ebb__error_op_set(const char *name);
/* The one named now. */
const char *ebb__error_op(void);
/* What a status function returns that was given NULL as `argument`: the pending failure's
 * status, or a new E_MISUSE that names function and argument. */
ebb_status ebb__null_argument(const char *function, const char *argument);
/* What a user's callback returned: where it failed without saying why, this says so for it. */
ebb_status ebb__callback_status(ebb_status status, const char *callback);
/* The caller's line as last set on this thread; file may be NULL. */
void ebb__site_get(const char **file, int32_t *line);
/* Adds to the pending message: "; the walked graph is spent". Nothing where none is pending. */
void ebb__error_append(const char *text);
/* Keeps the record for ebb__error_adopt: in no time where none is pending. */
void ebb__error_keep(ebb_error *out);
/* Puts a record kept or taken before in place of this thread's. */
void ebb__error_adopt(const ebb_error *e);
/* True once for each failure, not again for one that is only passed on. */
bool ebb__error_tell(void);

#endif
