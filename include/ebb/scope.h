/* scope.h - who owns results: scopes, and the references users take.
 *
 * An operation needs an open scope on its thread; the innermost owns the result. A scope is a
 * number in the user's frame, nothing more.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_SCOPE_H
#define EBB_SCOPE_H

#include <ebb/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ebb_scope {
    uint64_t id;
} ebb_scope;
enum { EBB_SCOPE_NO_GRAD = 1, EBB_SCOPE_GRAD = 2 };
/* String constants; names the scope in messages. */
typedef struct ebb_site {
    const char *name, *file;
    int32_t line;
} ebb_site;

/* flags: 0 inherits whether operations are recorded. site: NULL or static. Where memory for the
 * scope is refused the id is 0 and the record says so: operations then fail, scope_end ignores
 * it. */
EBB_API ebb_scope ebb_scope_begin(uint32_t flags, const ebb_site *site);
/* Closes it and those left open inside it, newest first. A scope that is not open on this
 * thread: reported as misuse, nothing happens. */
EBB_API void ebb_scope_end(ebb_scope scope);

/* One reference more for the caller, who owes one ebb_release. Returns t. */
EBB_API ebb_tensor *ebb_keep(ebb_tensor *t);
EBB_API void ebb_release(ebb_tensor *t);
/* Keeps t in *slot and releases what was there. t NULL: slot unchanged, returns the reason. */
EBB_API EBB_NODISCARD ebb_status ebb_hold(ebb_tensor **slot, ebb_tensor *t);
/* Releases *slot and sets it NULL. */
EBB_API void ebb_clear(ebb_tensor **slot);
/* Hands t to the scope around `scope`: what a function returns. Not made inside it: unchanged.
 */
EBB_API EBB_NODISCARD ebb_tensor *ebb_escape(ebb_scope scope, ebb_tensor *t);
/* *x = y; the old *x goes at once if the innermost scope made it and nothing else holds it. */
EBB_API void ebb_replace(ebb_tensor **x, ebb_tensor *y);
/* For bindings: the scope's reference becomes the caller's. */
EBB_API EBB_NODISCARD ebb_tensor *ebb_claim(ebb_tensor *t);

#ifdef __cplusplus
} /* extern "C" */
struct ebb__guard : ebb_scope {
    ebb__guard(uint32_t flags, const ebb_site *site) : ebb_scope(ebb_scope_begin(flags, site))
    {
    }
    ~ebb__guard()
    {
        ebb_scope_end(*this);
    }
    ebb__guard(const ebb__guard &) = delete;
    ebb__guard &operator=(const ebb__guard &) = delete;
};
#define EBB__SCOPE(scope_name, flags)                                                          \
    static const ebb_site scope_name##_site_ = {#scope_name, __FILE__, __LINE__};              \
    ebb__guard scope_name(flags, &scope_name##_site_)
extern "C" {
#elif defined __GNUC__
static inline void ebb__scope_close(const ebb_scope *s)
{
    ebb_scope_end(*s);
}
#define EBB__SCOPE(scope_name, flags)                                                          \
    static const ebb_site scope_name##_site_ = {#scope_name, __FILE__, __LINE__};              \
    ebb_scope scope_name __attribute__((cleanup(ebb__scope_close), unused)) =                  \
        ebb_scope_begin(flags, &scope_name##_site_)
#endif
#ifdef EBB__SCOPE /* elsewhere: ebb_scope_begin and ebb_scope_end */
/* Declarations: close at the end of the enclosing { }, on every way out. */
#define EBB_SCOPE(name) EBB__SCOPE(name, 0)
#define EBB_NO_GRAD(name) EBB__SCOPE(name, EBB_SCOPE_NO_GRAD)
/* Recorded again, inside one of those or inside a rule or hook. */
#define EBB_ENABLE_GRAD(name) EBB__SCOPE(name, EBB_SCOPE_GRAD)
#endif

#ifdef __cplusplus
}
#endif

#endif
