/* lapack.c - solve, inverse, cholesky and slogdet through LAPACKE's functions without
 * allocation, one matrix after the other.
 *
 * Small matrices stay with the reference kernels, which run a batch on several threads.
 * SPDX-License-Identifier: MIT */
#include "backend/lapack/lapack.h"

#include "tensor/owned.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* From this side on; as LAPACK numbers its layouts; columns of work space for getri. */
enum { LEAST_SIDE = 256, COLUMNS = 102, BLOCK = 32 };

/* X(name, parameters after the layout), T being the element type. */
#define LAPACK_MAP(X, T)                                                                       \
    X(getrf, T, (int, int, int, T *, int, int *))                                              \
    X(getrs, T, (int, char, int, int, const T *, int, const int *, T *, int))                  \
    X(getri, T, (int, int, T *, int, const int *, T *, int))                                   \
    X(potrf, T, (int, char, int, T *, int))
#define POINTER(name, T, parameters) int(*name##_##T) parameters;

typedef struct lapack {
    ebb_context *root;
    pthread_mutex_t mutex;
    bool looked;
    void *library; /* NULL: not there */
    LAPACK_MAP(POINTER, double)
    LAPACK_MAP(POINTER, float)
} lapack;

#define T double
#define FN(name) name##_f64
#define CALL(name, ...) l->name##_double(__VA_ARGS__)
#include "backend/lapack/lapack.inl"
#undef T
#undef FN
#undef CALL
#define T float
#define FN(name) name##_f32
#define CALL(name, ...) l->name##_float(__VA_ARGS__)
#include "backend/lapack/lapack.inl"
#undef T
#undef FN
#undef CALL

/* ---- the library ------------------------------------------------------------------------ */
/* A function pointer out of what dlsym gives, as POSIX has it. */
static bool find(void *library, const char *name, void *pointer)
{
    void *found = dlsym(library, name);
    memcpy(pointer, &found, sizeof found);
    return found != NULL;
}

static void look(lapack *l)
{
    void *library = dlopen("liblapacke.so.3", RTLD_LAZY | RTLD_LOCAL);
    bool all = library != NULL;
#define FIND_D(name, type, parameters)                                                         \
    all = all && find(library, "LAPACKE_d" #name "_work", &l->name##_double);
#define FIND_S(name, type, parameters)                                                         \
    all = all && find(library, "LAPACKE_s" #name "_work", &l->name##_float);
    LAPACK_MAP(FIND_D, double)
    LAPACK_MAP(FIND_S, float)
    if (!all && library) dlclose(library);
    l->library = all ? library : NULL;
}

static bool is_there(lapack *l)
{
    pthread_mutex_lock(&l->mutex);
    if (!l->looked) look(l);
    l->looked = true;
    pthread_mutex_unlock(&l->mutex);
    return l->library != NULL;
}

static ebb_status lapack_create(void **backend, ebb_context *root)
{
    lapack *l = ebb__owned_alloc(root, sizeof *l, EBB_KIND_BOOKKEEPING);
    if (!l) return ebb_error_status();
    l->root = root;
    pthread_mutex_init(&l->mutex, NULL);
    *backend = l;
    return EBB_OK;
}

/* The library stays: a BLAS with threads of its own does not survive being unloaded. */
static void lapack_destroy(void *backend)
{
    lapack *l = backend;
    pthread_mutex_destroy(&l->mutex);
    ebb__owned_free(l->root, l, sizeof *l, EBB_KIND_BOOKKEEPING);
}

/* ---- plans ------------------------------------------------------------------------------ */
typedef struct sizes {
    int n, m;      /* m: columns of the right side */
    int64_t items; /* of the batch */
    size_t element;
} sizes;

static bool takes(sizes *s, const ebb__call *c, void *backend)
{
    const ebb_shape *a = &c->in[0].shape;
    int64_t n = a->dims[a->n_dims - 1];
    if (n < LEAST_SIDE || n > INT_MAX / BLOCK || ebb__n_elems(a) == 0) return false;
    *s = (sizes){.n = (int)n, .items = 1, .element = ebb__dtype_size(c->in[0].dtype)};
    for (int64_t d = 0; d < a->n_dims - 2; d++) s->items *= a->dims[d];
    return is_there(backend);
}

static size_t elements_bytes(const sizes *s, int64_t elements)
{
    return ((size_t)elements * s->element + 63) & ~(size_t)63;
}

static size_t pivot_bytes(const sizes *s)
{
    return ((size_t)s->n * sizeof(int) + 63) & ~(size_t)63;
}

/* b has a's batch, which no axis of either repeats for. */
static bool solve_sizes(sizes *s, const ebb__call *c)
{
    const ebb_shape *a = &c->in[0].shape, *b = &c->in[1].shape;
    bool vector = b->n_dims == a->n_dims - 1;
    if (!vector && b->n_dims != a->n_dims) return false;
    for (int64_t d = 0; d < a->n_dims - 1; d++)
        if (b->dims[d] != a->dims[d]) return false;
    int64_t m = vector ? 1 : b->dims[b->n_dims - 1];
    s->m = (int)m;
    return m > 0 && m <= INT_MAX;
}

static bool solve_plan(ebb__call *c, void *backend)
{
    sizes s;
    if (!takes(&s, c, backend) || !solve_sizes(&s, c)) return false;
    c->scratch_bytes = pivot_bytes(&s) + elements_bytes(&s, (int64_t)s.n * s.n) +
                       elements_bytes(&s, (int64_t)s.n * s.m);
    return true;
}

static bool inverse_plan(ebb__call *c, void *backend)
{
    sizes s;
    if (!takes(&s, c, backend)) return false;
    c->scratch_bytes = pivot_bytes(&s) + elements_bytes(&s, (int64_t)s.n * BLOCK);
    return true;
}

static bool cholesky_plan(ebb__call *c, void *backend)
{
    sizes s;
    if (!takes(&s, c, backend)) return false;
    c->scratch_bytes = 0;
    return true;
}

static bool slogdet_plan(ebb__call *c, void *backend)
{
    sizes s;
    if (!takes(&s, c, backend)) return false;
    c->scratch_bytes = pivot_bytes(&s) + elements_bytes(&s, (int64_t)s.n * s.n);
    return true;
}

/* ---- kernels ---------------------------------------------------------------------------- */
static ebb_status failed_at(const ebb__call *c, int64_t item, int64_t place, const char *what)
{
    const char *name = c->op->arg[0];
    if (c->in[0].shape.n_dims == 2)
        return ebb__fail(EBB_E_RANGE, "%s %s at row %lld", name, what, (long long)place);
    return ebb__fail(EBB_E_RANGE, "matrix %lld of %s %s at row %lld", (long long)item, name,
                     what, (long long)place);
}

static char *place_of(const ebb_view *v, int64_t elements)
{
    return (char *)v->data + elements * (int64_t)ebb__dtype_size(v->dtype);
}

static ebb_status solve_forward(const ebb__call *c, void *backend)
{
    const lapack *l = backend;
    sizes s;
    if (!takes(&s, c, backend) || !solve_sizes(&s, c))
        return ebb__fail(EBB_E_INTERNAL, "a plan does not fit its call");
    int64_t square = (int64_t)s.n * s.n, right = (int64_t)s.n * s.m, place;
    int *pivot = c->scratch;
    char *lu = (char *)c->scratch + pivot_bytes(&s), *turned = lu + elements_bytes(&s, square);
    for (int64_t i = 0; i < s.items; i++) {
        memcpy(lu, place_of(&c->in[0], i * square), (size_t)square * s.element);
        void *x = place_of(&c->out[0], i * right), *b = place_of(&c->in[1], i * right);
        if (s.element == sizeof(double))
            place = solve_f64(l, x, (double *)lu, pivot, b, (double *)turned, s.n, s.m);
        else
            place = solve_f32(l, x, (float *)lu, pivot, b, (float *)turned, s.n, s.m);
        if (place >= 0) return failed_at(c, i, place, "is singular: no pivot is left");
    }
    return EBB_OK;
}

static ebb_status inverse_forward(const ebb__call *c, void *backend)
{
    const lapack *l = backend;
    sizes s;
    if (!takes(&s, c, backend))
        return ebb__fail(EBB_E_INTERNAL, "a plan does not fit its call");
    int64_t square = (int64_t)s.n * s.n, place;
    int *pivot = c->scratch;
    char *work = (char *)c->scratch + pivot_bytes(&s);
    for (int64_t i = 0; i < s.items; i++) {
        void *x = place_of(&c->out[0], i * square);
        memcpy(x, place_of(&c->in[0], i * square), (size_t)square * s.element);
        if (s.element == sizeof(double))
            place = inverse_f64(l, x, pivot, (double *)work, s.n);
        else
            place = inverse_f32(l, x, pivot, (float *)work, s.n);
        if (place >= 0) return failed_at(c, i, place, "is singular: no pivot is left");
    }
    return EBB_OK;
}

static ebb_status cholesky_forward(const ebb__call *c, void *backend)
{
    const lapack *l = backend;
    sizes s;
    if (!takes(&s, c, backend))
        return ebb__fail(EBB_E_INTERNAL, "a plan does not fit its call");
    bool upper = *(const bool *)c->attr; /* its only attribute */
    int64_t square = (int64_t)s.n * s.n, place;
    for (int64_t i = 0; i < s.items; i++) {
        void *x = place_of(&c->out[0], i * square);
        memcpy(x, place_of(&c->in[0], i * square), (size_t)square * s.element);
        place = s.element == sizeof(double) ? cholesky_f64(l, x, s.n, upper)
                                            : cholesky_f32(l, x, s.n, upper);
        if (place >= 0) return failed_at(c, i, place, "is not positive definite: no pivot");
    }
    return EBB_OK;
}

static ebb_status slogdet_forward(const ebb__call *c, void *backend)
{
    const lapack *l = backend;
    sizes s;
    if (!takes(&s, c, backend))
        return ebb__fail(EBB_E_INTERNAL, "a plan does not fit its call");
    int64_t square = (int64_t)s.n * s.n;
    int *pivot = c->scratch;
    char *lu = (char *)c->scratch + pivot_bytes(&s);
    for (int64_t i = 0; i < s.items; i++) {
        memcpy(lu, place_of(&c->in[0], i * square), (size_t)square * s.element);
        void *sign = place_of(&c->out[0], i), *log_abs = place_of(&c->out[1], i);
        if (s.element == sizeof(double))
            slogdet_f64(l, sign, log_abs, (double *)lu, pivot, s.n);
        else
            slogdet_f32(l, sign, log_abs, (float *)lu, pivot, s.n);
    }
    return EBB_OK;
}

static const ebb__override overrides[] = {
    {"solve", solve_plan, solve_forward},
    {"inverse", inverse_plan, inverse_forward},
    {"cholesky", cholesky_plan, cholesky_forward},
    {"slogdet", slogdet_plan, slogdet_forward},
    {0},
};

const ebb__backend ebb__backend_lapack = {"lapack", lapack_create, lapack_destroy, overrides};
