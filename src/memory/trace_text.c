/* trace_text.c - traces as text, read without trust and written.
 *
 * Every count is compared with what is left of the text before anything of that size is
 * allocated: each entry takes at least two characters.
 * SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "memory/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct scanner {
    const char *at, *end;
    size_t line;
} scanner;

static ebb_status wrong(const scanner *s, const char *wanted)
{
    return ebb__fail(EBB_E_IO, "trace: line %zu: %s is expected", s->line, wanted);
}

static void skip_space(scanner *s, bool lines)
{
    for (; s->at < s->end; s->at++) {
        bool is_line = *s->at == '\n';
        if (is_line && !lines) return;
        if (!is_line && *s->at != ' ' && *s->at != '\t' && *s->at != '\r') return;
        s->line += is_line;
    }
}

static ebb_status number(uint64_t *out, scanner *s, uint64_t most, const char *what)
{
    skip_space(s, true);
    const char *from = s->at;
    uint64_t n = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++) {
        if (n > (UINT64_MAX - 9) / 10) return wrong(s, what);
        n = n * 10 + (uint64_t)(*s->at - '0');
    }
    if (s->at == from || n > most) return wrong(s, what);
    *out = n;
    return EBB_OK;
}

static ebb_status small(uint32_t *out, scanner *s, const char *what)
{
    uint64_t n;
    EBB_TRY(number(&n, s, EBB__TRACE_MAX, what));
    *out = (uint32_t)n;
    return EBB_OK;
}

/* A cost: digits, a fraction and an exponent where there is one; the locale does not matter. */
static ebb_status cost(double *out, scanner *s)
{
    uint64_t whole;
    EBB_TRY(number(&whole, s, UINT64_MAX, "a cost"));
    double x = (double)whole, unit = 1;
    if (s->at < s->end && *s->at == '.')
        for (s->at++; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++)
            x += (unit /= 10) * (*s->at - '0');
    if (s->at < s->end && (*s->at | 32) == 'e') {
        s->at++;
        bool negative = s->at < s->end && *s->at == '-';
        if (s->at < s->end && (*s->at == '-' || *s->at == '+')) s->at++;
        uint64_t power;
        EBB_TRY(number(&power, s, 300, "an exponent"));
        for (; power; power--) x = negative ? x / 10 : x * 10;
    }
    *out = x;
    return EBB_OK;
}

static ebb_status links(ebb__trace *t, scanner *s, uint32_t *n, const char *what)
{
    EBB_TRY(small(n, s, what));
    if (*n > (size_t)(s->end - s->at)) return wrong(s, what);
    EBB_TRY(ebb__trace_room(t, 0, 0, 0, *n, 0, 0));
    for (uint32_t i = 0; i < *n; i++) {
        EBB_TRY(small(&t->links[t->n_links], s, "a tensor"));
        t->n_links++;
    }
    return EBB_OK;
}

static ebb_status op_line(ebb__trace *t, scanner *s)
{
    ebb__traced_op *op = &t->ops[t->n_ops];
    *op = (ebb__traced_op){.first = t->n_links, .name = t->n_names};
    EBB_TRY(cost(&op->cost, s));
    EBB_TRY(links(t, s, &op->n_in, "a number of inputs"));
    EBB_TRY(links(t, s, &op->n_out, "a number of outputs"));
    skip_space(s, false);
    const char *from = s->at;
    while (s->at < s->end && *s->at != '\n') s->at++;
    const char *to = s->at;
    while (to > from && (to[-1] == ' ' || to[-1] == '\r' || to[-1] == '\t')) to--;
    size_t n = (size_t)(to - from);
    if (memchr(from, 0, n)) return wrong(s, "a name");
    EBB_TRY(ebb__trace_room(t, 0, 0, 0, 0, 0, n + 1));
    if (n) memcpy(t->names + t->n_names, from, n);
    t->names[t->n_names + n] = 0;
    op->is_constant = n == 8 && memcmp(from, "constant", 8) == 0;
    t->n_names += (uint32_t)n + 1;
    t->n_ops++;
    return EBB_OK;
}

static ebb_status command_line(ebb__trace *t, scanner *s)
{
    skip_space(s, true);
    static const char verbs[] = "CGRP";
    const char *verb = s->at < s->end && *s->at ? strchr(verbs, *s->at) : NULL;
    if (!verb) return wrong(s, "a command C, G, R or P");
    s->at++;
    uint32_t what;
    EBB_TRY(small(&what, s, "an operation or tensor"));
    t->commands[t->n_commands++] =
        (ebb__trace_command){(unsigned)(verb - verbs) & 3u, what & EBB__TRACE_MAX};
    return EBB_OK;
}

static ebb_status parse(ebb__trace *t, scanner *s)
{
    for (skip_space(s, true); s->at < s->end && *s->at == '#'; skip_space(s, true))
        while (s->at < s->end && *s->at != '\n') s->at++;
    uint32_t n[4];
    for (int i = 0; i < 4; i++) {
        EBB_TRY(small(&n[i], s, "a count"));
        if (n[i] > (size_t)(s->end - s->at)) return wrong(s, "a count that the text can hold");
    }
    EBB_TRY(ebb__trace_room(t, n[0], n[1], n[2], 0, n[3], 0));
    for (; t->n_storages < n[0]; t->n_storages++)
        EBB_TRY(number(&t->storages[t->n_storages], s, INT64_MAX, "a size in bytes"));
    for (; t->n_tensors < n[1]; t->n_tensors++) {
        ebb__trace_tensor *x = &t->tensors[t->n_tensors];
        EBB_TRY(small(&x->op, s, "an operation"));
        EBB_TRY(small(&x->index, s, "an output"));
        EBB_TRY(small(&x->storage, s, "a storage"));
    }
    for (uint32_t i = 0; i < n[2]; i++) EBB_TRY(op_line(t, s));
    for (uint32_t i = 0; i < n[3]; i++) EBB_TRY(command_line(t, s));
    skip_space(s, true);
    return s->at == s->end ? EBB_OK : wrong(s, "the end");
}

static void hash_make(ebb__trace *t)
{
    for (uint32_t i = 0; i < t->n_commands; i++) {
        if (t->commands[i].verb != EBB__TRACE_CALL) continue;
        const ebb__traced_op *op = &t->ops[t->commands[i].what];
        const uint32_t *in = t->links + op->first, *out = in + op->n_in;
        for (uint32_t k = 0; k < op->n_in; k++)
            t->hash = ebb__trace_mix(t->hash, op->n_out ? out[0] - in[k] : in[k]);
        for (uint32_t k = 0; k < op->n_out; k++)
            t->hash = ebb__trace_mix(t->hash, t->storages[t->tensors[out[k]].storage]);
    }
}

ebb_status ebb__trace_parse(ebb__trace *out, const ebb_allocator *allocator, const char *text,
                            size_t bytes)
{
    ebb__trace t;
    ebb__trace_create(&t, allocator);
    scanner s = {text, text + bytes, 1};
    ebb_status status = parse(&t, &s);
    if (status == EBB_OK) status = ebb__trace_check(&t);
    if (status != EBB_OK) {
        ebb__trace_destroy(&t);
        return status;
    }
    hash_make(&t);
    *out = t;
    return EBB_OK;
}

/* ---- writing ----------------------------------------------------------------------------- */
typedef struct printer {
    bool (*put)(void *user, const char *s, size_t n);
    void *user;
    bool ok;
} printer;

static void EBB_PRINTF(2, 3) say(printer *p, const char *format, ...)
{
    char line[64];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (p->ok) p->ok = p->put(p->user, line, (size_t)n);
}

bool ebb__trace_print(const ebb__trace *t, bool (*put)(void *user, const char *s, size_t n),
                      void *user)
{
    printer p = {put, user, true};
    say(&p, "%u %u %u %u\n", t->n_storages, t->n_tensors, t->n_ops, t->n_commands);
    for (uint32_t i = 0; i < t->n_storages; i++)
        say(&p, "%llu%c", (unsigned long long)t->storages[i],
            i + 1 < t->n_storages ? ' ' : '\n');
    for (uint32_t i = 0; i < t->n_tensors; i++)
        say(&p, "%u %u %u\n", t->tensors[i].op, t->tensors[i].index, t->tensors[i].storage);
    for (uint32_t o = 0; o < t->n_ops; o++) {
        const ebb__traced_op *op = &t->ops[o];
        say(&p, "%.0f %u", op->cost, op->n_in);
        for (uint32_t i = 0; i < op->n_in; i++) say(&p, " %u", t->links[op->first + i]);
        say(&p, " %u", op->n_out);
        for (uint32_t k = 0; k < op->n_out; k++)
            say(&p, " %u", t->links[op->first + op->n_in + k]);
        say(&p, " ");
        const char *name = t->names + op->name;
        p.ok = p.ok && put(user, name, strlen(name));
        say(&p, "\n");
    }
    for (uint32_t i = 0; i < t->n_commands; i++)
        say(&p, "%c %u\n", "CGRP"[t->commands[i].verb], (unsigned)t -> commands[i].what);
    return p.ok;
}
