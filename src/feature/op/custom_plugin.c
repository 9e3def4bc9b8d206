/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from libraries (include/trainyard/feature_plugin.h). The library is opened
 * when the plan is made, and its operator's ABI is checked; operator_params reaches it
 * as JSON, whichever of the two ways it was written in. Each thread has an instance.
 * Inputs are handed over as slices of what the cells hold; numbers are printed only for
 * an operator that wants texts.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "feature/op/custom.h"
#include "text/json.h"

#define MSG_SIZE 300

struct plug_scratch {
    void *self; /* NULL: create() refused */
    char msg[MSG_SIZE];
    struct ty_feature_input *inputs;
    struct feature_mem *texts; /* [n_in] */
    size_t n_in;
};

/* One `fields { key: "k" value { number_value: 1 } }` as "k": 1. */
static void print_field(const struct node *field, struct buf *out)
{
    const struct node *key = node_find(field, "key"), *value = node_find(field, "value");
    if (!key || !node_is_scalar(key) || !value || value->kind != NODE_MAP ||
        !value->map.n)
        return;
    buf_puts(out, out->n > 1 ? ", " : "");
    buf_json_str(out, key->text.p, key->text.n);
    buf_puts(out, ": ");
    json_print(value->map.at[0].value, 0, out);
}

static void print_struct(const struct node *params, struct buf *out)
{
    buf_putc(out, '{');
    for (size_t i = 0; i < params->map.n; i++) {
        const struct node *v = params->map.at[i].value;
        if (v->kind != NODE_LIST)
            print_field(v, out);
        for (size_t k = 0; v->kind == NODE_LIST && k < v->list.n; k++)
            print_field(v->list.at[k], out);
    }
    buf_putc(out, '}');
}

/* operator_params as JSON, written as plain keys or as a protobuf Struct. */
static char *params_json(const struct node *params)
{
    struct buf out;
    buf_init(&out, 1 << 20);
    if (!params || params->kind != NODE_MAP)
        buf_puts(&out, "{}");
    else if (node_find(params, "fields"))
        print_struct(params, &out);
    else
        json_print(params, 0, &out);
    return buf_take(&out);
}

typedef const struct ty_feature_operator *find_fn(const char *name);

static const struct ty_feature_operator *custom_plugin_load(struct custom *c,
                                                            const char *path,
                                                            const char *name, char *msg,
                                                            size_t n)
{
    c->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!c->library) {
        snprintf(msg, n, "%s", dlerror());
        return NULL;
    }
    find_fn *find;
    void *symbol = dlsym(c->library, "ty_feature_operator");
    memcpy(&find, &symbol, sizeof(find)); /* ISO C has no cast for this */
    const struct ty_feature_operator *op = symbol ? find(name) : NULL;
    if (!symbol)
        snprintf(msg, n, "it does not export ty_feature_operator");
    else if (!op)
        snprintf(msg, n, "it has no operator '%s'", name);
    else if (op->abi != TY_FEATURE_ABI)
        snprintf(msg, n, "it was made for version %d of the interface, not %d", op->abi,
                 TY_FEATURE_ABI);
    else
        return op;
    return NULL;
}

static void plug_compile(struct custom *c, struct fg *f, struct feature_plan *p,
                         struct diags *diags)
{
    const struct pc_CustomFeature *m = (const void *)f->conf->msg;
    char msg[MSG_SIZE] = "";
    if (!*m->operator_lib_file || str_starts(m->operator_lib_file, "pyfg/")) {
        plan_report(diags, f, E1312, "operator_name",
                    "feature '%s': there is no operator '%s'", f->info.name,
                    m->operator_name);
        return;
    }
    char *path = plan_path(p, NULL, m->operator_lib_file);
    c->plug = custom_plugin_load(c, path, m->operator_name, msg, sizeof(msg));
    mem_free(path);
    c->params = params_json(m->operator_params);
    if (c->plug) { /* once here, so that bad parameters are seen early */
        void *self = c->plug->create(c->params, c->n_in, msg, sizeof(msg));
        if (self)
            c->plug->destroy(self);
        else
            c->plug = NULL;
    }
    if (!c->plug)
        plan_report(diags, f, E1312, "operator_lib_file",
                    "feature '%s': operator '%s' of '%s': %s", f->info.name,
                    m->operator_name, m->operator_lib_file, msg);
    for (size_t i = 0; c->plug && c->plug->numbers && i < f->n_in; i++) {
        f->in[i].form = FORM_NUMBERS;
        f->in[i].wide = true;
    }
}

static void plug_release(struct custom *c)
{
    mem_free(c->params);
    if (c->library)
        dlclose(c->library);
}

static void *plug_scratch(const struct custom *c)
{
    struct plug_scratch *s = mem_calloc(1, sizeof(*s));
    s->n_in = c->n_in;
    s->inputs = mem_calloc(c->n_in + 1, sizeof(*s->inputs));
    s->texts = mem_calloc(c->n_in + 1, sizeof(*s->texts));
    s->self = c->plug->create(c->params, c->n_in, s->msg, sizeof(s->msg));
    return s;
}

static void plug_scratch_destroy(const struct custom *c, void *scratch)
{
    struct plug_scratch *s = scratch;
    if (s->self)
        c->plug->destroy(s->self);
    for (size_t i = 0; i < s->n_in; i++)
        feature_mem_release(&s->texts[i]);
    mem_free(s->inputs);
    mem_free(s->texts);
    mem_free(s);
}

struct giving {
    struct fg_run *x;
    enum rc rc;
};

static void give_number(void *ctx, double v)
{
    struct giving *g = ctx;
    if (!g->rc)
        g->rc = sink_number(g->x, v, false);
}

static void give_text(void *ctx, const char *p, size_t n)
{
    struct giving *g = ctx;
    if (!g->rc && n)
        g->rc = sink_text(g->x, str_of(p, n), 1.0f);
}

/* Texts of numbers are written behind the array of slices. */
static enum rc set_texts(struct fg_run *x, struct plug_scratch *s, size_t i,
                         struct fg_range r)
{
    const struct fg_cells *c = &x->st->in[i];
    size_t n = (size_t)(r.end - r.begin), each = sizeof(struct ty_feature_text);
    if (!feature_mem_room(&s->texts[i], n, each + sizeof(struct cell_buf)))
        return fg_nomem(x);
    struct ty_feature_text *to = s->texts[i].p;
    struct cell_buf *bufs = (struct cell_buf *)((char *)s->texts[i].p + n * each);
    for (size_t k = 0; k < n; k++) {
        struct str t = cell_text(c, r.begin + (int64_t)k, &bufs[k]);
        to[k] = (struct ty_feature_text){t.p, t.n};
    }
    s->inputs[i].texts = to;
    return RC_OK;
}

static enum rc plug_step(struct fg_run *x, struct custom *c, const struct fg_range *in)
{
    struct plug_scratch *s = custom_inner(x);
    struct giving g = {.x = x};
    struct ty_feature_sink sink = {&g, give_number, give_text};
    enum rc rc = RC_OK;
    if (!s->self)
        return fg_fail(x, NULL, RC_INVAL, E1312, "%s", s->msg);
    for (size_t i = 0; !rc && i < s->n_in; i++) {
        s->inputs[i].n = (size_t)(in[i].end - in[i].begin);
        if (c->plug->numbers)
            s->inputs[i].numbers = cells_f64(&x->st->in[i]) + in[i].begin;
        else
            rc = set_texts(x, s, i, in[i]);
    }
    if (rc)
        return rc;
    s->msg[0] = '\0';
    int bad = c->plug->step(s->self, s->inputs, s->n_in, &sink, s->msg, sizeof(s->msg));
    s->msg[sizeof(s->msg) - 1] = '\0';
    return bad ? fg_fail(x, NULL, RC_FORMAT, E1319, "%s", s->msg) : g.rc;
}

const struct custom_ops custom_plugin = {.name = "plug-in",
                                         .compile = plug_compile,
                                         .step = plug_step,
                                         .release = plug_release,
                                         .scratch = plug_scratch,
                                         .scratch_destroy = plug_scratch_destroy};
