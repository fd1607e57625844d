/* gen_ops_sites.c - include/ebb/sites.h: call-site wrappers of the hand-written public
 * functions.
 *
 * A prototype here that differs from the header's does not compile in the generated file.
 * SPDX-License-Identifier: MIT */
#include "gen_ops.h"

#include <string.h>

typedef struct site {
    const char *returns, *name, *params;
} site;

#define CTX "ebb_context *ctx"
#define DATA CTX ", ebb_dtype d, ebb_shape s"
#define NODISCARD "EBB_NODISCARD "
#define STATUS NODISCARD "ebb_status "
#define TENSOR NODISCARD "ebb_tensor *"

static const site sites[] = {
    {TENSOR, "tensor_copy", DATA ", const void *data, size_t data_bytes"},
    {TENSOR, "tensor_adopt",
     DATA ", void *data, size_t data_bytes, void (*done)(void *user), void *user"},
    {"ebb_dtype ", "dtype_of", "const ebb_tensor *t"},
    {"int64_t ", "rank", "const ebb_tensor *t"},
    {"int64_t ", "dim", "const ebb_tensor *t, int64_t axis"},
    {"int64_t ", "n_elems", "const ebb_tensor *t"},
    {"ebb_shape ", "shape_get", "const ebb_tensor *t"},
    {"size_t ", "n_bytes", "const ebb_tensor *t"},
    {"size_t ", "storage_bytes", "const ebb_tensor *t"},
    {"bool ", "requires_grad", "const ebb_tensor *t"},
    {"bool ", "has_grad", "const ebb_tensor *leaf"},
    {"ebb_context *", "context_of", "const ebb_tensor *t"},
    {TENSOR, "empty", DATA ", ebb_kind kind"},
    {STATUS, "set_kind", "ebb_tensor *t, ebb_kind kind"},
    {NODISCARD "void *", "alloc", CTX ", size_t bytes, ebb_kind kind"},
    {"double ", "item", "ebb_tensor *t"},
    {STATUS, "check", "const ebb_tensor *t"},
    {STATUS, "set_requires_grad", "ebb_tensor *t, bool on"},
    {STATUS, "read", "void *out, size_t out_bytes, ebb_dtype as, ebb_tensor *t"},
    {STATUS, "write", "ebb_tensor *t, ebb_dtype as, const void *data, size_t data_bytes"},
    {STATUS, "map", "ebb_view *out, ebb_tensor *t, uint32_t access"},
    {"void ", "unmap", "ebb_tensor *t"},
    {"void ", "scope_end", "ebb_scope scope"},
    {"ebb_tensor *", "keep", "ebb_tensor *t"},
    {"void ", "release", "ebb_tensor *t"},
    {STATUS, "hold", "ebb_tensor **slot, ebb_tensor *t"},
    {"void ", "clear", "ebb_tensor **slot"},
    {TENSOR, "escape", "ebb_scope scope, ebb_tensor *t"},
    {"void ", "replace", "ebb_tensor **x, ebb_tensor *y"},
    {TENSOR, "claim", "ebb_tensor *t"},
    {STATUS, "context_create", "ebb_context **out, const ebb_context_options *options"},
    {STATUS, "params_create", "ebb_params **out, " CTX},
    {"ebb_tensor *", "param",
     "ebb_params *p, const char *name, ebb_dtype d, ebb_shape s, ebb_init init"},
    {"ebb_tensor *", "buffer",
     "ebb_params *p, const char *name, ebb_dtype d, ebb_shape s, ebb_init init"},
    {STATUS, "params_status", "const ebb_params *p"},
    {"ebb_tensor *", "params_find", "ebb_params *p, const char *name"},
    {"ebb_tensor *", "params_at", "const ebb_params *p, int64_t i"},
    {STATUS, "params_set_trainable", "ebb_params *p, bool on"},
    {STATUS, "params_clear_grads", "ebb_params *p"},
    {STATUS, "params_clip_grad_norm", "double *norm_out, ebb_params *p, double max_norm"},
    {STATUS, "params_save", "const ebb_params *p, const char *path"},
    {STATUS, "params_load", "ebb_params *p, const char *path, const ebb_load_options *options"},
    {STATUS, "backward", "ebb_tensor *loss, const ebb_backward_options *options"},
    {STATUS, "backward_from",
     "ebb_tensor *const *roots, ebb_tensor *const *seeds, int64_t n, "
     "const ebb_backward_options *options"},
    {STATUS, "grad",
     "ebb_tensor **grads_out, ebb_tensor *const *roots, ebb_tensor *const *seeds, "
     "int64_t n_roots, ebb_tensor *const *inputs, int64_t n_inputs, "
     "const ebb_grad_options *options"},
    {STATUS, "hvp",
     "ebb_tensor **hv_out, ebb_tensor *loss, ebb_tensor *const *inputs, "
     "ebb_tensor *const *v, int64_t n"},
    {STATUS, "jvp",
     "ebb_tensor **jv_out, ebb_tensor *const *roots, int64_t n_roots, "
     "ebb_tensor *const *inputs, ebb_tensor *const *v, int64_t n_inputs"},
    {STATUS, "jacobian",
     "ebb_tensor **jacobian_out, ebb_tensor *root, ebb_tensor *const *inputs, "
     "int64_t n_inputs, const ebb_jacobian_options *options"},
    {STATUS, "hessian",
     "ebb_tensor **hessian_out, ebb_tensor *loss, ebb_tensor *const *inputs, int64_t n"},
    {STATUS, "gradcheck",
     "ebb_gradcheck_report *report, ebb_function fn, void *user, ebb_tensor *const *inputs, "
     "int64_t n_inputs, const ebb_gradcheck_options *options"},
    {STATUS, "discard_graph", "ebb_tensor *root"},
    {TENSOR, "grad_of", "ebb_tensor *leaf"},
    {STATUS, "clear_grad", "ebb_tensor *leaf"},
    {TENSOR, "detach", "ebb_tensor *x"},
    {STATUS, "hook_add",
     "ebb_hook_id *out, ebb_tensor *t, ebb_hook_fn fn, void *user, "
     "const ebb_hook_options *options"},
    {STATUS, "hook_remove", CTX ", ebb_hook_id id"},
    {STATUS, "retain_grad", "ebb_tensor *t"},
    {STATUS, "label", "ebb_tensor *t, const char *label"},
    {STATUS, "saved", "ebb_saved_value *out, int64_t max, int64_t *n_out, ebb_tensor *root"},
    {STATUS, "explain", "ebb_explanation *out, ebb_tensor *t"},
    {STATUS, "explain_text", "char *buffer, size_t size, ebb_tensor *t"},
    {STATUS, "holders", "ebb_holder *out, int64_t max, int64_t *n_out, " CTX},
    {STATUS, "context_dump_graph",
     CTX ", ebb_graph_format format, "
         "void (*write)(void *user, const char *text, size_t n), void *user"},
    {STATUS, "watch",
     CTX ", void (*warn)(void *user, const ebb_watch_event *e), void *user, uint32_t flags"},
    {STATUS, "sgd_create",
     "ebb_optimizer **out, ebb_params *p, double lr, const ebb_sgd_options *options"},
    {STATUS, "adam_create",
     "ebb_optimizer **out, ebb_params *p, double lr, const ebb_adam_options *options"},
    {STATUS, "adamw_create",
     "ebb_optimizer **out, ebb_params *p, double lr, const ebb_adam_options *options"},
    {STATUS, "minimize",
     "ebb_optimizer *opt, ebb_tensor *loss, const ebb_minimize_options *options"},
    {STATUS, "optimizer_step", "ebb_optimizer *opt"},
    {"void ", "optimizer_set_lr", "ebb_optimizer *opt, double lr"},
    {STATUS, "loader_create",
     "ebb_loader **out, ebb_tensor *const *fields, int64_t n_fields, int64_t batch_size, "
     "const ebb_loader_options *options"},
    {STATUS, "loader_create_from",
     "ebb_loader **out, " CTX ", const ebb_source *source, int64_t batch_size, "
     "const ebb_loader_options *options"},
    {"bool ", "loader_next", "ebb_loader *l, ebb_batch *out"},
    {TENSOR, "load_idx", CTX ", const char *path"},
    {TENSOR, "load_npy", CTX ", const char *path"},
    {STATUS, "save_npy", "ebb_tensor *t, const char *path"},
    {STATUS, "save_safetensors",
     "const char *path, ebb_tensor *const *tensors, const char *const *names, int64_t n"},
    {TENSOR, "load_safetensors", CTX ", const char *path, const char *name"},
    {STATUS, "apply",
     "ebb_tensor **out, const ebb_custom *op, ebb_tensor *const *in, const void *attr"},
    {STATUS, "apply_list",
     "ebb_tensor **out, const ebb_custom *op, ebb_tensor *const *in, int64_t n, "
     "const void *attr"},
    {"ebb_nn_linear ", "nn_linear_make",
     "ebb_params *p, const char *name, int64_t n_in, int64_t n_out"},
    {TENSOR, "nn_linear_forward", "const ebb_nn_linear *m, ebb_tensor *x"},
    {"ebb_nn_norm ", "nn_norm_make", "ebb_params *p, const char *name, int64_t n"},
    {TENSOR, "nn_norm_forward", "const ebb_nn_norm *m, ebb_tensor *x"},
    {"ebb_nn_batch_norm ", "nn_batch_norm_make", "ebb_params *p, const char *name, int64_t n"},
    {TENSOR, "nn_batch_norm_forward",
     "const ebb_nn_batch_norm *m, ebb_tensor *x, bool training"},
    {"ebb_nn_conv2d ", "nn_conv2d_make",
     "ebb_params *p, const char *name, int64_t n_in, int64_t n_out, int64_t kernel, "
     "const ebb_conv2d_options *options"},
    {TENSOR, "nn_conv2d_forward", "const ebb_nn_conv2d *m, ebb_tensor *x"},
    {"ebb_nn_conv1d ", "nn_conv1d_make",
     "ebb_params *p, const char *name, int64_t n_in, int64_t n_out, int64_t kernel, "
     "const ebb_conv1d_options *options"},
    {TENSOR, "nn_conv1d_forward", "const ebb_nn_conv1d *m, ebb_tensor *x"},
    {"ebb_nn_conv_transpose2d ", "nn_conv_transpose2d_make",
     "ebb_params *p, const char *name, int64_t n_in, int64_t n_out, int64_t kernel, "
     "const ebb_conv_transpose2d_options *options"},
    {TENSOR, "nn_conv_transpose2d_forward", "const ebb_nn_conv_transpose2d *m, ebb_tensor *x"},
    {"ebb_nn_group_norm ", "nn_group_norm_make",
     "ebb_params *p, const char *name, int64_t groups, int64_t channels"},
    {TENSOR, "nn_group_norm_forward", "const ebb_nn_group_norm *m, ebb_tensor *x"},
    {"ebb_nn_embedding ", "nn_embedding_make",
     "ebb_params *p, const char *name, int64_t n, int64_t width"},
    {TENSOR, "nn_embedding_forward", "const ebb_nn_embedding *m, ebb_tensor *index"},
    {"ebb_nn_attention ", "nn_attention_make",
     "ebb_params *p, const char *name, int64_t width, int64_t n_heads"},
    {TENSOR, "nn_attention_forward",
     "const ebb_nn_attention *m, ebb_tensor *x, ebb_tensor *mask, "
     "const ebb_attention_options *options"},
    {"ebb_nn_lstm ", "nn_lstm_make",
     "ebb_params *p, const char *name, int64_t n_in, int64_t n_hidden"},
    {STATUS, "nn_lstm_step",
     "ebb_tensor **h, ebb_tensor **c, const ebb_nn_lstm *m, ebb_tensor *x"},
    {STATUS, "nn_lstm_forward",
     "ebb_tensor **y, ebb_tensor **h, ebb_tensor **c, const ebb_nn_lstm *m, ebb_tensor *x, "
     "const ebb_lstm_options *options"},
    {"ebb_nn_gru ", "nn_gru_make",
     "ebb_params *p, const char *name, int64_t n_in, int64_t n_hidden"},
    {STATUS, "nn_gru_forward",
     "ebb_tensor **y, ebb_tensor **h, const ebb_nn_gru *m, ebb_tensor *x, "
     "const ebb_gru_options *options"},
};

static const char head_text[] =
    "/* sites.h - the caller's line in messages of functions that are not operations.\n"
    " *\n"
    " * Generated by gen_ops (cli/gen_ops_sites.c). Arguments are evaluated first, so that a\n"
    " * nested call cannot leave its own line behind. EBB_NO_SITES: without. Included last by\n"
    " * ebb.h.\n"
    " *\n"
    " * SPDX-License-Identifier: MIT */\n"
    "/* clang-format off */\n"
    "#ifndef EBB_SITES_H\n"
    "#define EBB_SITES_H\n"
    "\n"
    "#include <ebb/custom.h>\n"
    "#include <ebb/data.h>\n"
    "#include <ebb/explain.h>\n"
    "#include <ebb/extend.h>\n"
    "#include <ebb/grad.h>\n"
    "#include <ebb/hook.h>\n"
    "#include <ebb/nn.h>\n"
    "#include <ebb/optim.h>\n"
    "#include <ebb/scope.h>\n"
    "\n"
    "#ifndef EBB_NO_SITES\n"
    "/* Variadic: no function can stand between, and the arguments are strings and numbers. "
    "*/\n"
    "#define ebb_params_sub(...) (ebb__at(__FILE__, __LINE__), "
    "(ebb_params_sub)(__VA_ARGS__))\n";

/* The parameters one by one, split at commas outside parentheses. */
static void split_params(gen_list *out, const char *params)
{
    int depth = 0;
    const char *start = params;
    for (const char *p = params;; p++) {
        depth += (*p == '(') - (*p == ')');
        if (*p && (*p != ',' || depth)) continue;
        gen_add(out, "%.*s", (int)(p - start), start);
        if (!*p) return;
        start = p + 1 + strspn(p + 1, " ");
    }
}

/* The name in a declaration: after "(*" of a function pointer, else the last word. */
static void name_of(gen_list *out, const char *declaration)
{
    const char *pointer = strstr(declaration, "(*");
    const char *start = pointer ? pointer + 2 : declaration + strlen(declaration);
    while (!pointer && start > declaration && start[-1] != ' ' && start[-1] != '*') start--;
    gen_add(out, "%.*s", (int)strcspn(start, ") "), start);
}

static void write_site(FILE *f, const site *s)
{
    char text[128];
    gen_list params = {0}, args = {0};
    gen_add(&params, "const char *file");
    gen_add(&params, "int32_t line");
    split_params(&params, s->params);
    for (int i = 2; i < params.n; i++) name_of(&args, params.item[i]);
    snprintf(text, sizeof text, "static inline %sebb__%s_at(", s->returns, s->name);
    gen_write_list(f, text, &params, ")\n");
    fputs("{\n    ebb__at(file, line);\n", f);
    bool is_void = strcmp(s->returns, "void ") == 0;
    const char *type =
        s->returns +
        (strncmp(s->returns, NODISCARD, sizeof NODISCARD - 1) == 0 ? sizeof NODISCARD - 1 : 0);
    snprintf(text, sizeof text, "    %s%s(ebb_%s)(", is_void ? "" : type,
             is_void ? "" : "result_ = ", s->name);
    gen_write_list(f, text, &args, ");\n");
    /* A later call without a wrapper must not speak of this line. */
    fputs("    ebb__at(NULL, 0);\n", f);
    if (!is_void) fputs("    return result_;\n", f);
    fprintf(f, "}\n#define ebb_%s(...) ebb__%s_at(__FILE__, __LINE__, __VA_ARGS__)\n", s->name,
            s->name);
}

void gen_sites(FILE *f)
{
    fputs(head_text, f);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) write_site(f, &sites[i]);
    fputs("#endif\n\n#endif\n", f);
}
