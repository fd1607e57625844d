/* scope.c - the thread's stack of scopes and the handles they own.
 *
 * Handles lie on one stack, a scope owning those above its `first`. A slot knows its index
 * there and the depth of the scope that owns it: escaping lowers that depth, and the scope's
 * end then leaves the handle to the segment below instead of letting it go. Entries let go
 * early are NULL.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/thread.h"
#include "tensor/slots.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct open_scope {
    uint64_t id;
    uint32_t first;
    bool records, is_rule;
    const ebb_site *site;
} open_scope;

typedef struct scope_stack {
    ebb_tensor **handle; /* with generation: a slot that died with its context is not ours */
    open_scope *scope;
    uint32_t n_handles, max_handles, n_scopes, max_scopes;
    uint32_t n_refused; /* scopes that could not be opened and are not yet ended */
    uint32_t floor;     /* scopes that what runs now may not end */
    uint64_t next_id;   /* thread's number in the high half: never equal between threads */
} scope_stack;

static EBB__THREAD_HOT scope_stack stack;

static pthread_key_t stack_key;
static pthread_once_t stack_once = PTHREAD_ONCE_INIT;

static void scopes_pop_to(uint32_t depth);

static void thread_end(void *unused)
{
    (void)unused;
    scopes_pop_to(0);
    free(stack.handle);
    free(stack.scope);
    stack = (scope_stack){0};
}

static void key_make(void)
{
    pthread_key_create(&stack_key, thread_end);
}

static bool grow(void **array, uint32_t *max, size_t size)
{
    uint32_t want = *max ? *max * 2 : 64;
    void *p = want > *max ? realloc(*array, want * size) : NULL;
    if (!p) return false;
    *array = p;
    *max = want;
    return true;
}

ebb_scope ebb_scope_begin(uint32_t flags, const ebb_site *site)
{
    if (stack.n_scopes == UINT16_MAX) {
        ebb__fail(EBB_E_RANGE, "%d scopes are open on this thread", UINT16_MAX);
        stack.n_refused++;
        return (ebb_scope){0};
    }
    if (stack.n_scopes == stack.max_scopes) {
        if (stack.next_id == 0) {
            ebb__thread_token *self = ebb__thread_self();
            pthread_once(&stack_once, key_make);
            if (!self || pthread_setspecific(stack_key, &stack)) goto refused;
            stack.next_id = (self->id << 32) + 1;
        }
        if (!grow((void **)&stack.scope, &stack.max_scopes, sizeof *stack.scope)) goto refused;
    }
    bool records = stack.n_scopes == 0 || stack.scope[stack.n_scopes - 1].records;
    if (flags & EBB_SCOPE_NO_GRAD) records = false;
    if (flags & EBB_SCOPE_GRAD) records = true;
    bool is_rule = (flags & EBB__SCOPE_RULE) || ebb__scope_is_rule();
    open_scope *s = &stack.scope[stack.n_scopes++];
    *s = (open_scope){stack.next_id++, stack.n_handles, records, is_rule, site};
    return (ebb_scope){s->id};
refused:
    ebb__fail(EBB_E_NOMEM, "memory for a scope was refused");
    stack.n_refused++;
    return (ebb_scope){0};
}

static void handle_let_go(ebb__slot *s)
{
    /* Only the scope holds it: no other thread may touch it, so plain stores do. */
    if (atomic_load_explicit(&s->refs, memory_order_acquire) == EBB__SCOPE_REF)
        atomic_store_explicit(&s->refs, 0, memory_order_relaxed);
    else if (atomic_fetch_sub_explicit(&s->refs, EBB__SCOPE_REF, memory_order_acq_rel) !=
             EBB__SCOPE_REF)
        return;
    ebb__slot_die(s);
}

/* The slot of an entry, NULL where it was let go early or died with its context. */
static ebb__slot *slot_at(uint32_t i)
{
    ebb_tensor *t = stack.handle[i];
    return t && ebb__handle_of(ebb__slot_raw(t)) == t ? ebb__slot_raw(t) : NULL;
}

static void place(uint32_t i, ebb_tensor *t)
{
    stack.handle[i] = t;
    ebb__slot *s = slot_at(i);
    if (s) s->scope_index = i;
}

/* Closes the innermost scope. Its handles go newest first; those escaped move down. */
static void scope_pop(void)
{
    uint32_t depth = stack.n_scopes, first = stack.scope[depth - 1].first, kept = 0;
    for (uint32_t i = first; i < stack.n_handles; i++) { /* escaped ones first, in order */
        ebb__slot *s = slot_at(i);
        if (!s || s->scope_depth >= depth) continue;
        place(i, stack.handle[first + kept]);
        place(first + kept++, ebb__handle_of(s));
    }
    while (stack.n_handles > first + kept) {
        ebb__slot *s = slot_at(--stack.n_handles);
        if (s) handle_let_go(s);
    }
    stack.n_scopes--;
}

static void scopes_pop_to(uint32_t depth)
{
    while (stack.n_scopes > depth) scope_pop();
}

void ebb_scope_end(ebb_scope scope)
{
    if (scope.id == 0) {
        if (stack.n_refused) stack.n_refused--;
        return;
    }
    uint32_t depth = stack.n_scopes;
    while (depth > 0 && stack.scope[depth - 1].id != scope.id) depth--;
    if (depth == 0) {
        ebb__fail(EBB_E_MISUSE, "ebb_scope_end: the scope is not open on this thread");
        return;
    }
    if (depth <= stack.floor) {
        ebb__fail(EBB_E_MISUSE, "ebb_scope_end: the scope is around the call that ends it");
        return;
    }
    scopes_pop_to(depth - 1);
}

ebb__fence ebb__scope_fence(void)
{
    ebb__fence before = {.floor = stack.floor};
    ebb__site_get(&before.file, &before.line);
    stack.floor = stack.n_scopes;
    return before;
}

void ebb__scope_unfence(ebb__fence before)
{
    scopes_pop_to(stack.floor); /* what a callback left open */
    stack.floor = before.floor;
    ebb__at(before.file, before.line);
}

ebb_status ebb__scope_required(void)
{
    if (stack.n_refused)
        return ebb__fail(EBB_E_MISUSE, "the innermost scope could not be opened");
    if (stack.n_scopes > 0) return EBB_OK;
    return ebb__fail(EBB_E_MISUSE, "no scope is open on this thread: open one with EBB_SCOPE");
}

bool ebb__scope_records(void)
{
    return stack.n_scopes == 0 || stack.scope[stack.n_scopes - 1].records;
}

bool ebb__scope_is_rule(void)
{
    return stack.n_scopes > 0 && stack.scope[stack.n_scopes - 1].is_rule;
}

const ebb_site *ebb__scope_site(void)
{
    return stack.n_scopes ? stack.scope[stack.n_scopes - 1].site : NULL;
}

ebb_status ebb__scope_adopt(ebb__slot *s)
{
    if (stack.n_handles == stack.max_handles &&
        !grow((void **)&stack.handle, &stack.max_handles, sizeof *stack.handle))
        return ebb__fail(EBB_E_NOMEM, "memory for a scope's handles was refused");
    s->scope_index = stack.n_handles;
    s->scope_depth = (uint16_t)stack.n_scopes;
    s->scope = stack.scope[stack.n_scopes - 1].site;
    stack.handle[stack.n_handles++] = ebb__handle_of(s);
    return EBB_OK;
}

static bool owned_here(const ebb__slot *s)
{
    return s->scope_index < stack.n_handles &&
           stack.handle[s->scope_index] == ebb__handle_of(s);
}

bool ebb__scope_sole_owner(const ebb__slot *s)
{
    return owned_here(s) && s->scope_depth == stack.n_scopes &&
           atomic_load_explicit(&s->refs, memory_order_acquire) == EBB__SCOPE_REF;
}

/* Takes s off the stack; a newer handle of the same segment fills the hole, so that a loop that
 * replaces a variable does not grow the stack. */
static void entry_clear(const ebb__slot *s)
{
    uint32_t i = s->scope_index, top = stack.n_handles - 1;
    uint32_t first = stack.n_scopes ? stack.scope[stack.n_scopes - 1].first : 0;
    stack.handle[i] = NULL;
    if (i < first) return;
    if (i != top) place(i, stack.handle[top]);
    stack.n_handles--;
    while (stack.n_handles > first && !stack.handle[stack.n_handles - 1]) stack.n_handles--;
}

bool ebb__scope_take(ebb__slot *s)
{
    if (!ebb__scope_sole_owner(s)) return false;
    entry_clear(s);
    atomic_store_explicit(&s->refs, 1, memory_order_release); /* nobody else may count here */
    return true;
}

bool ebb__scope_disown(ebb__slot *s)
{
    if (!owned_here(s)) return false;
    entry_clear(s);
    return true;
}

ebb_tensor *ebb_escape(ebb_scope scope, ebb_tensor *t)
{
    if (!t || t == EBB_NONE) return t;
    ebb__slot *s = ebb__slot_of(t, "ebb_escape", "t");
    if (!s) return NULL;
    uint32_t depth = stack.n_scopes;
    while (depth > 0 && stack.scope[depth - 1].id != scope.id) depth--;
    if (depth == 0) {
        ebb__fail(EBB_E_MISUSE, "ebb_escape: the scope is not open on this thread");
        return NULL;
    }
    if (!owned_here(s) || s->scope_depth < depth) return t; /* not made inside it */
    if (depth == 1) {
        ebb__fail(EBB_E_MISUSE, "ebb_escape: no scope is open around it");
        return NULL;
    }
    s->scope_depth = (uint16_t)(depth - 1);
    s->scope = stack.scope[depth - 2].site;
    return t;
}

void ebb_replace(ebb_tensor **x, ebb_tensor *y)
{
    if (!x) {
        ebb__fail(EBB_E_MISUSE, "ebb_replace: x is NULL");
        return;
    }
    ebb_tensor *old = *x;
    *x = y;
    if (!old || old == y || old == EBB_NONE) return;
    ebb__slot *s = ebb__slot_of(old, "ebb_replace", "*x");
    if (!s || !ebb__scope_sole_owner(s)) return;
    entry_clear(s);
    handle_let_go(s);
}

ebb_tensor *ebb_claim(ebb_tensor *t)
{
    if (!t || t == EBB_NONE) return t;
    ebb__slot *s = ebb__slot_of(t, "ebb_claim", "t");
    if (!s) return NULL;
    if (!ebb__scope_disown(s)) return ebb_keep(t);
    ebb__value_note_kept(s->storage->value);
    if (atomic_load_explicit(&s->refs, memory_order_acquire) == EBB__SCOPE_REF)
        atomic_store_explicit(&s->refs, 1,
                              memory_order_release); /* nobody else may count here */
    else
        atomic_fetch_sub_explicit(&s->refs, EBB__SCOPE_REF - 1, memory_order_acq_rel);
    return t;
}

void ebb__scopes_each(void (*each)(void *user, const ebb_site *site, bool is_first,
                                   const ebb__slot *s),
                      void *user)
{
    for (uint32_t i = 0; i < stack.n_scopes; i++) {
        const open_scope *scope = &stack.scope[i];
        bool is_last = i + 1 == stack.n_scopes;
        uint32_t end = is_last ? stack.n_handles : stack.scope[i + 1].first;
        each(user, scope->site, true, NULL);
        for (uint32_t k = scope->first; k < end; k++) {
            const ebb__slot *s = ebb__slot_find(stack.handle[k]);
            if (s) each(user, scope->site, false, s);
        }
    }
}
