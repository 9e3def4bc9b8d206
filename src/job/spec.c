/* SPDX-License-Identifier: Apache-2.0 */
/* Flags become a tree like that of a file and take the same way through the schema, so
 * there is one set of rules and one set of messages.
 */
#include "job/spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "job/hp.h"
#include "text/json.h"

static const struct span nowhere;

static struct node *text_node(struct conf *c, const char *value)
{
    return node_str(&c->doc.arena, value, strlen(value), nowhere);
}

/* NAME=VALUE into the map `field` of the root. */
static enum rc put_pair(struct conf *c, const char *field, const char *value,
                        struct err *err)
{
    const char *eq = strchr(value, '=');
    if (!eq || eq == value)
        return err_coded(err, RC_INVAL, E3003, "--%s: '%.100s' is not NAME=VALUE", field,
                         value);
    struct node *map = node_find(c->doc.root, field);
    if (!map || map->kind != NODE_MAP) {
        map = node_create(&c->doc.arena, NODE_MAP, nowhere);
        node_put(&c->doc.arena, c->doc.root, field, map);
    }
    char *key = arena_strndup(&c->doc.arena, value, (size_t)(eq - value));
    node_put(&c->doc.arena, map, key, text_node(c, eq + 1));
    return RC_OK;
}

static void put_item(struct conf *c, const char *field, const char *value)
{
    struct node *list = node_find(c->doc.root, field);
    if (!list || list->kind != NODE_LIST) {
        list = node_create(&c->doc.arena, NODE_LIST, nowhere);
        node_put(&c->doc.arena, c->doc.root, field, list);
    }
    node_push(&c->doc.arena, list, text_node(c, value));
}

static enum rc put_scalar(struct conf *c, const struct field_def *f, const char *value,
                          struct err *err)
{
    int64_t v;
    struct node *n = text_node(c, value);
    if (f->type == FIELD_I64) {
        if (!str_to_i64(str_c(value), &v))
            return err_coded(err, RC_INVAL, E3003, "--%s: '%.100s' is not a whole number",
                             f->name, value);
        n = node_int(&c->doc.arena, v, nowhere);
    }
    if (f->type == FIELD_BOOL)
        n = node_bool(&c->doc.arena, strcmp(value, "true") == 0, nowhere);
    node_put(&c->doc.arena, c->doc.root, f->name, n);
    return RC_OK;
}

static enum rc put_flag(struct conf *c, const struct job_spec_flag *flag, struct err *err)
{
    const struct field_def *f = schema_field(&jobspec_JobSpec_def, flag->name);
    if (!f)
        return err_coded(err, RC_INVAL, E3003, "a job has no setting '%.60s'",
                         flag->name);
    if (f->label == LABEL_DICT || strcmp(f->name, "hp") == 0)
        return put_pair(c, f->name, flag->value, err);
    if (f->label == LABEL_REP) {
        put_item(c, f->name, flag->value);
        return RC_OK;
    }
    return put_scalar(c, f, flag->value, err);
}

static void put_command(struct conf *c, const struct job_spec_flags *flags)
{
    struct node *n;
    if (!flags->n_command)
        return;
    if (flags->n_command == 1) {
        n = text_node(c, flags->command[0]);
    } else {
        n = node_create(&c->doc.arena, NODE_LIST, nowhere);
        for (size_t i = 0; i < flags->n_command; i++)
            node_push(&c->doc.arena, n, text_node(c, flags->command[i]));
    }
    node_put(&c->doc.arena, c->doc.root, "command", n);
}

/* Puts the flags into the tree and reads it again as text: what is wrong then points at
 * the flag in that text.
 */
static enum rc apply_flags(struct conf *c, const struct job_spec_flags *flags,
                           struct diags *diags, struct err *err)
{
    struct conf_options o = {.kind = &conf_kind_job};
    struct conf again = {0};
    struct buf text;
    enum rc rc = RC_OK;
    for (size_t i = 0; i < flags->n && !rc; i++)
        rc = put_flag(c, &flags->at[i], err);
    if (rc)
        return rc;
    put_command(c, flags);
    buf_init(&text, 16 << 20);
    json_print(c->doc.root, 1, &text);
    rc = buf_check(&text, err);
    if (!rc)
        rc = conf_from("job", buf_str(&text), text.n, &o, &again, diags, err);
    buf_release(&text);
    conf_release(c);
    *c = again;
    return rc;
}

static enum rc empty_tree(struct conf *c, struct err *err)
{
    *c = (struct conf){.kind = &conf_kind_job, .syntax = SYNTAX_JSON};
    c->doc.root = node_create(&c->doc.arena, NODE_MAP, nowhere);
    return source_from("job", "{}", 2, &c->doc.src, err);
}

static void take_command(struct job_spec *out)
{
    const struct node *n = out->s->command;
    if (!n)
        return;
    if (n->kind == NODE_STR) {
        out->shell = n->text.p;
        return;
    }
    const char **argv = arena_alloc(&out->arena, (n->list.n + 1) * sizeof(*argv));
    for (size_t i = 0; i < n->list.n; i++)
        argv[i] = n->list.at[i]->text.p;
    out->argv = argv;
}

static double seconds_of(const char *text)
{
    double v = 0;
    return text && *text && jobspec_seconds(str_c(text), &v) ? v : 0;
}

static int by_order(const void *a, const void *b)
{
    const struct job_spec_role *x = a, *y = b;
    return jobspec_role_order(x->name) - jobspec_role_order(y->name);
}

/* What the job says of one worker, and a role may say otherwise. */
static struct job_spec_role plain_role(const struct job_spec *out)
{
    return (struct job_spec_role){.name = "worker",
                                  .count = out->s->workers,
                                  .cpu_milli = out->cpu_milli,
                                  .memory = out->memory,
                                  .gpu = out->s->gpu};
}

static void derive_roles(struct job_spec *out)
{
    const struct jobspec_JobSpec *s = out->s;
    out->n_roles = s->n_role ? (size_t)s->n_role : 1;
    out->roles = arena_alloc(&out->arena, out->n_roles * sizeof(*out->roles));
    for (size_t i = 0; i < out->n_roles; i++) {
        struct job_spec_role *r = &out->roles[i];
        struct jobspec_role said;
        *r = plain_role(out);
        if (s->n_role && jobspec_role_read(str_c(s->role[i].value), &said)) {
            r->name = s->role[i].key;
            r->count = said.count;
            r->cpu_milli = said.cpu_milli >= 0 ? said.cpu_milli : r->cpu_milli;
            r->memory = said.memory >= 0 ? said.memory : r->memory;
            r->gpu = said.gpu >= 0 ? said.gpu : r->gpu;
            r->serves = jobspec_role_serves(r->name);
        }
        r->nproc = s->nproc > 0 ? s->nproc : r->gpu > 0 ? r->gpu : 1;
        out->workers += r->count;
        out->total_cpu += r->cpu_milli * r->count;
        out->total_mem += r->memory * r->count;
        out->total_gpu += r->gpu * r->count;
    }
    qsort(out->roles, out->n_roles, sizeof(*out->roles), by_order);
}

const struct job_spec_role *job_spec_role_of(const struct job_spec *s, int64_t worker,
                                             int64_t *index)
{
    const struct job_spec_role *r = s->roles;
    while (worker >= r->count && r + 1 < s->roles + s->n_roles) {
        worker -= r->count;
        r++;
    }
    if (index)
        *index = worker;
    return r;
}

int64_t job_spec_worker_find(const struct job_spec *s, const char *name)
{
    const char *dash = strrchr(name, '-');
    int64_t number, first = 0;
    if (!dash || !str_to_i64(str_c(dash + 1), &number) || number < 0)
        return -1;
    for (size_t i = 0; i < s->n_roles; i++) {
        const struct job_spec_role *r = &s->roles[i];
        if (strlen(r->name) == (size_t)(dash - name) &&
            strncmp(r->name, name, (size_t)(dash - name)) == 0)
            return number < r->count ? first + number : -1;
        first += r->count;
    }
    return -1;
}

bool job_spec_roles_differ(const struct job_spec *s)
{
    for (size_t i = 1; i < s->n_roles; i++)
        if (s->roles[i].cpu_milli != s->roles[0].cpu_milli ||
            s->roles[i].memory != s->roles[0].memory ||
            s->roles[i].gpu != s->roles[0].gpu)
            return true;
    return false;
}

bool job_spec_auto(const struct job_spec *s)
{
    return s->s->has_backend && strcmp(s->s->backend, "auto") == 0;
}

/* What follows from the bound struct. */
static void derive(struct job_spec *out)
{
    const struct jobspec_JobSpec *s = out->s = out->conf.data;
    take_command(out);
    job_hp_read(s->hp, &out->arena, &out->hp, &out->n_hp);
    out->backend = s->has_backend && !job_spec_auto(out)
                       ? s->backend
                       : jobspec_backend_for(s->has_image)->name;
    if (!jobspec_cpu_milli(str_c(s->cpu), &out->cpu_milli))
        out->cpu_milli = 1000;
    if (!s->has_memory || !jobspec_bytes(str_c(s->memory), &out->memory))
        out->memory = 0;
    derive_roles(out);
    out->timeout_s = seconds_of(s->timeout);
    out->queue_timeout_s = seconds_of(s->queue_timeout);
    out->grace_s = seconds_of(s->grace);
    out->hang_s = seconds_of(s->hang);
    out->backoff_s = seconds_of(s->backoff);
    out->backoff_max_s = seconds_of(s->backoff_max);
}

enum rc job_spec_load(const char *path, const struct job_spec_flags *flags,
                      struct job_spec *out, struct diags *diags, struct err *err)
{
    struct conf_options o = {.kind = &conf_kind_job};
    struct diags unheard = {0};
    *out = (struct job_spec){0};
    enum rc rc = RC_OK;
    if (!path) {
        rc = empty_tree(&out->conf, err);
    } else {
        /* A file without command is fine when the command line has one. */
        bool later = flags->n_command > 0 || flags->n > 0;
        rc = conf_open(path, &o, &out->conf, later ? &unheard : diags, err);
        if (later && (rc == RC_INVAL || rc == RC_FORMAT) && out->conf.data)
            rc = RC_OK;
        else if (later && rc && !err->msg[0]) {
            conf_release(&out->conf);
            rc = conf_open(path, &o, &out->conf, diags, err);
        }
    }
    diags_release(&unheard);
    if (!rc && (!path || flags->n || flags->n_command))
        rc = apply_flags(&out->conf, flags, diags, err);
    if (rc)
        return rc;
    derive(out);
    return RC_OK;
}

enum rc job_spec_from_json(const char *text, struct job_spec *out, struct err *err)
{
    struct conf_options o = {.kind = &conf_kind_job};
    struct diags diags = {0};
    *out = (struct job_spec){0};
    enum rc rc = conf_from("job", text, strlen(text), &o, &out->conf, &diags, err);
    if (rc && diags.list.n)
        err_coded(err, rc, diags.list.at[0].code, "the job's record: %s",
                  diags.list.at[0].msg);
    diags_release(&diags);
    if (rc)
        return rc;
    derive(out);
    return RC_OK;
}

enum rc job_spec_parse(const char *text, size_t n, struct job_spec *out,
                       struct diags *diags, struct err *err)
{
    struct conf_options o = {.kind = &conf_kind_job};
    *out = (struct job_spec){0};
    enum rc rc = conf_from("job", text, n, &o, &out->conf, diags, err);
    if (!rc)
        derive(out);
    return rc;
}

enum rc job_spec_again(struct job_spec *s, struct err *err)
{
    struct buf text;
    struct job_spec again;
    buf_init(&text, 64 << 20);
    job_spec_print(s, &text);
    enum rc rc = buf_check(&text, err);
    if (!rc)
        rc = job_spec_from_json(buf_str(&text), &again, err);
    buf_release(&text);
    job_spec_release(s);
    if (!rc)
        *s = again;
    return rc;
}

void job_spec_release(struct job_spec *s)
{
    conf_release(&s->conf);
    arena_release(&s->arena);
    *s = (struct job_spec){0};
}

void job_spec_print(const struct job_spec *s, struct buf *out)
{
    json_print(s->conf.doc.root, 0, out);
}

void job_spec_put(struct job_spec *s, const char *field, const char *value)
{
    node_put(&s->conf.doc.arena, s->conf.doc.root, field, text_node(&s->conf, value));
}
