/* trace.h - one recorded iteration of a program: operations with their cost, values with
 * their bytes, references taken and given back. No data.
 *
 * storage  bytes; tensors that share one are views of each other.
 * tensor   output `index` of an operation, living in a storage; it starts with one reference.
 * op       cost, input and output tensors, a name. One named "constant" stands for what is there
 *          before the iteration or comes from outside: it cannot be run again.
 * command  what the program did, in order: call an op, take (GET) or give back (RELEASE) a
 * reference, PIN: from here on it stays in memory.
 *
 * A trace that was checked (ebb__trace_check) calls each op at most once, names only tensors
 * of called ops, gives each op that makes a storage its first tensor, and uses no tensor
 * whose storage has no reference left.
 * SPDX-License-Identifier: MIT */
#ifndef EBB_MEMORY_TRACE_H
#define EBB_MEMORY_TRACE_H

#include "base/alloc.h"

#include <ebb/status.h>

typedef struct ebb__trace_tensor {
    uint32_t op, index, storage;
} ebb__trace_tensor;
typedef struct ebb__traced_op {
    double cost;
    uint32_t first;       /* of its links: inputs, then outputs */
    uint32_t n_in, n_out; /* in tensors */
    uint32_t name;        /* offset in names */
    bool is_constant;
} ebb__traced_op;
typedef enum ebb__trace_verb {
    EBB__TRACE_CALL,
    EBB__TRACE_GET,
    EBB__TRACE_RELEASE,
    EBB__TRACE_PIN
} ebb__trace_verb;
typedef struct ebb__trace_command {
    uint32_t verb : 2;
    uint32_t what : 30; /* op or tensor */
} ebb__trace_command;

typedef struct ebb__trace {
    ebb_allocator allocator;
    uint64_t *storages;
    ebb__trace_tensor *tensors;
    ebb__traced_op *ops;
    uint32_t *links; /* tensors */
    ebb__trace_command *commands;
    char *names;   /* each ends in NUL */
    uint64_t hash; /* rolling, over the commands; ebb__trace_hash */
    uint32_t n_storages, n_tensors, n_ops, n_links, n_commands, n_names;
    uint32_t max_storages, max_tensors, max_ops, max_links, max_commands, max_names;
} ebb__trace;

enum { EBB__TRACE_MAX = (1 << 30) - 1 }; /* entries of each kind */

/* Empty. */
void ebb__trace_create(ebb__trace *t, const ebb_allocator *allocator);
void ebb__trace_destroy(ebb__trace *t);
void ebb__trace_clear(ebb__trace *t); /* keeps the room */
size_t ebb__trace_bytes(const ebb__trace *t);
/* Room for so many more of each. Errors: E_NOMEM. */
ebb_status ebb__trace_room(ebb__trace *t, size_t storages, size_t tensors, size_t ops,
                           size_t links, size_t commands, size_t names);

/* ---- recording
 * ---------------------------------------------------------------------------
 * Errors of each: E_NOMEM; the trace is as it was. */
/* Called ops and the storages of their outputs; storage_of[k] == UINT32_MAX makes a new one
 * of bytes[k]. The outputs are tensors *first_out, *first_out + 1, ... in, out as tensors. */
ebb_status ebb__trace_call(uint32_t *first_out, ebb__trace *t, const char *name, double cost,
                           uint32_t n_in, const uint32_t *in, uint32_t n_out,
                           const uint64_t *bytes, const uint32_t *storage_of);
/* A value that is there before, one reference. */
ebb_status ebb__trace_constant(uint32_t *out, ebb__trace *t, uint64_t bytes);
ebb_status ebb__trace_note(ebb__trace *t, ebb__trace_verb verb, uint32_t tensor);

/* ---- identity
 * ----------------------------------------------------------------------------
 * Two iterations are alike where their calls are: operations, sizes, and how far back each
 * operand was made. Mixed into the hash by each call; `key` is the operation's own (its
 * attributes, shapes). */
uint64_t ebb__trace_mix(uint64_t hash, uint64_t key);

/* ---- text
 * --------------------------------------------------------------------------------
 * Lines that begin with # come first and are comments. Then counts "S T O C", S sizes, T
 * lines "OP INDEX STORAGE", O lines "COST N_IN in... N_OUT out... NAME", C lines "C op" or
 * "G|R|P tensor". */
/* Errors: E_IO the text is not a trace, with its line; E_NOMEM. The result is checked. */
ebb_status ebb__trace_parse(ebb__trace *out, const ebb_allocator *allocator, const char *text,
                            size_t bytes);
/* Hands the text out piece by piece; stops where put returns false. */
bool ebb__trace_print(const ebb__trace *t, bool (*put)(void *user, const char *s, size_t n),
                      void *user);
/* E_IO: what is wrong with it. E_NOMEM. */
ebb_status ebb__trace_check(const ebb__trace *t);

#endif
