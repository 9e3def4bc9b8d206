/* SPDX-License-Identifier: Apache-2.0 */
/* The job file: found by its keys; what two settings mean together is checked here.
 * Spellings of PAI's SDK are folded into ours before the schema sees them. Whether a
 * path or an image exists is not looked at.
 */
#include <string.h>

#include "text/conf.h"
#include "text/job/job.h"

/* A file whose `command` is misspelt is a job file all the same, with that error. */
static bool means_command(const struct node *root)
{
    for (size_t i = 0; i < root->map.n; i++) {
        struct str key = root->map.at[i].key;
        if (key.n >= 5 && key.n <= 9 && str_distance(key, str_c("command")) <= 2)
            return true;
    }
    return false;
}

static int job_kind_probe(const char *path, enum syntax syntax, const struct node *root)
{
    static const char *const keys[] = {
        "hp",        "hyperparameters", "input",    "inputs", "output",     "outputs",
        "workers",   "retries",         "priority", "source", "source_dir", "image",
        "image_uri", "metric",          "timeout",  "secret"};
    int found = 0;
    if (syntax == SYNTAX_PROTOTEXT || !root || root->kind != NODE_MAP ||
        node_find(root, "trialCommand"))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        found += node_find(root, keys[i]) != NULL;
    if (!node_find(root, "command"))
        return means_command(root) ? 25 : 0;
    return found >= 2 ? 90 : found ? 60 : 30;
}

static enum schema_dialect job_kind_dialect(enum syntax syntax)
{
    return SCHEMA_FOLDED;
}

/* Lists of {Name, Regex}, as PAI's SDK writes metric definitions, become a map. */
static void fold_metrics(struct conf *c)
{
    static const char *const names[] = {"metric_definitions", "metricDefinitions"};
    struct node *root = c->doc.root;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct node *list = node_find(root, names[i]);
        if (!list || list->kind != NODE_LIST)
            continue;
        struct node *map = node_create(&c->doc.arena, NODE_MAP, list->at);
        for (size_t k = 0; k < list->list.n; k++) {
            struct node *name = node_find(list->list.at[k], "Name");
            struct node *regex = node_find(list->list.at[k], "Regex");
            if (name && regex && name->kind == NODE_STR)
                node_add(&c->doc.arena, map, name->text, name->at, regex);
        }
        node_put(&c->doc.arena, root, "metric", map);
        node_remove(root, names[i]);
    }
}

static void job_kind_prepare(struct conf *c, struct diags *diags)
{
    if (c->doc.root && c->doc.root->kind == NODE_MAP)
        fold_metrics(c);
}

static void check_command(const struct jobspec_JobSpec *s, struct diags *d)
{
    const struct node *n = s->command;
    if (!n) {
        diag_add(d, DIAG_ERROR, E3001, s->base.node->at, "the job has no command");
        return;
    }
    if (n->kind == NODE_STR && n->text.n)
        return;
    bool fine = n->kind == NODE_LIST && n->list.n > 0;
    for (size_t i = 0; fine && i < n->list.n; i++)
        fine = n->list.at[i]->kind == NODE_STR &&
               !memchr(n->list.at[i]->text.p, '\0', n->list.at[i]->text.n);
    if (!fine)
        diag_add(d, DIAG_ERROR, E3001, n->at,
                 "'command' takes a text for the shell or a list of words");
}

static void check_hp(const struct jobspec_JobSpec *s, struct diags *d)
{
    if (s->hp && s->hp->kind != NODE_MAP && s->hp->kind != NODE_NULL)
        diag_add(d, DIAG_ERROR, E0202, s->hp->at,
                 "'hp' takes a map of names and values, not %s",
                 node_kind_name(s->hp->kind));
}

static void check_backend(const struct jobspec_JobSpec *s, struct diags *d)
{
    const struct jobspec_backend *b =
        s->has_backend ? jobspec_backend_find(s->backend) : NULL;
    if (b && b->image == JOB_IMAGE_MUST && !s->has_image)
        diag_add(d, DIAG_ERROR, E3002, s->base.node->at, "the %s backend needs an image",
                 b->name);
    if (b && b->image == JOB_IMAGE_NEVER && s->has_image)
        diag_add(d, DIAG_ERROR, E3002, s->base.node->at,
                 "the %s backend runs no images; leave 'backend' away or name %s",
                 b->name, jobspec_backend_for(true)->name);
}

/* Where the value of a field stands, for the caret. Not looked for when there are more
 * problems than are shown: each look goes through the whole field.
 */
static struct span at_entry(const struct jobspec_JobSpec *s, const struct diags *d,
                            const char *field, const char *key)
{
    if (d->list.n >= DIAGS_MAX)
        return s->base.node->at;
    const struct node *n = node_find(s->base.node, field);
    const struct node *value = n ? node_find(n, key) : n;
    return value ? value->at : s->base.node->at;
}

static struct span at_field(const struct jobspec_JobSpec *s, const char *field)
{
    const struct node *n = node_find(s->base.node, field);
    return n ? n->at : s->base.node->at;
}

static const struct jobspec_option *find_option(const char *backend, const char *name)
{
    const struct jobspec_option *o;
    for (size_t i = 0; (o = jobspec_option_at(i)); i++)
        if (strcmp(o->backend, backend) == 0 && strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* "'pull', 'shm_size'", or "none". */
static void list_options(const char *backend, struct buf *out)
{
    const struct jobspec_option *o;
    for (size_t i = 0; (o = jobspec_option_at(i)); i++)
        if (strcmp(o->backend, backend) == 0)
            buf_printf(out, "%s'%s'", out->n ? ", " : "", o->name);
    if (!out->n)
        buf_puts(out, "none");
}

/* One of the backends that have it: settings of one name are written alike. */
static const struct jobspec_option *find_any_option(const char *name)
{
    const struct jobspec_option *o;
    for (size_t i = 0; (o = jobspec_option_at(i)); i++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* `backend` NULL: whichever is chosen. */
static void check_option(const struct jobspec_JobSpec *s, const char *backend, int64_t i,
                         struct diags *d)
{
    const char *name = s->backend_option[i].key, *value = s->backend_option[i].value;
    const struct jobspec_option *o =
        backend ? find_option(backend, name) : find_any_option(name);
    const char *wrong = o && o->check ? o->check(str_c(value)) : NULL;
    struct span at = at_entry(s, d, "backend_option", name);
    struct buf has;
    buf_init(&has, 1000);
    if (backend)
        list_options(backend, &has);
    if (!o && !backend)
        diag_add(d, DIAG_ERROR, E3021, at, "no backend has a setting '%.60s'", name);
    else if (!o)
        diag_add(d, DIAG_ERROR, E3021, at,
                 "the %s backend has no setting '%.60s'; it has %s", backend, name,
                 buf_str(&has));
    else if (wrong)
        diag_add(d, DIAG_ERROR, E3021, at, "'%s' of the %s backend: '%.100s': %s", name,
                 o->backend, value, wrong);
    buf_release(&has);
}

/* Each backend has settings of its own; what another one has is an error. */
static void check_backend_options(const struct jobspec_JobSpec *s, struct diags *d)
{
    const struct jobspec_backend *b =
        s->has_backend ? jobspec_backend_find(s->backend) : NULL;
    bool open = s->has_backend && strcmp(s->backend, "auto") == 0;
    if (!b)
        b = jobspec_backend_for(s->has_image);
    for (int64_t i = 0; i < s->n_backend_option; i++)
        check_option(s, open ? NULL : b->name, i, d);
}

static void check_image(const struct jobspec_JobSpec *s, struct diags *d)
{
    const char *wrong = s->has_image ? jobspec_check_image(str_c(s->image)) : NULL;
    if (wrong)
        diag_add(d, DIAG_ERROR, E3017, at_field(s, "image"), "'image': '%.200s': %s",
                 s->image, wrong);
}

/* A container gets its variables as lines of a file. */
static void check_env(const struct jobspec_JobSpec *s, struct diags *d)
{
    for (int64_t i = 0; i < s->n_env; i++) {
        const char *name = s->env[i].key, *wrong = jobspec_check_variable(str_c(name));
        if (wrong)
            diag_add(d, DIAG_ERROR, E3018, at_entry(s, d, "env", name),
                     "'env': '%.100s': %s", name, wrong);
        else if (s->has_image && strpbrk(s->env[i].value, "\r\n"))
            diag_add(d, DIAG_ERROR, E3018, at_entry(s, d, "env", name),
                     "'env': %.100s holds a line end, which cannot be given to a "
                     "container",
                     name);
    }
}

static void check_roles(const struct jobspec_JobSpec *s, struct diags *d)
{
    int64_t total = 0, leaders = 0;
    struct jobspec_role r;
    for (int64_t i = 0; i < s->n_role; i++) {
        const char *name = s->role[i].key;
        if (jobspec_role_order(name) < 0)
            diag_add(d, DIAG_ERROR, E3003, s->base.node->at,
                     "'%.60s' is not a kind of worker: master, chief, launcher, head, "
                     "worker, ps, evaluator or graphlearn",
                     name);
        else if (!jobspec_role_read(str_c(s->role[i].value), &r))
            diag_add(d, DIAG_ERROR, E3003, s->base.node->at,
                     "role '%s': '%.60s' is not COUNT or COUNT,cpu=N,memory=SIZE,gpu=N",
                     name, s->role[i].value);
        else if (jobspec_role_order(name) < jobspec_role_order("worker") && r.count > 1)
            diag_add(d, DIAG_ERROR, E3003, s->base.node->at,
                     "role '%s': there is one at most, not %jd", name, (intmax_t)r.count);
        else
            total += r.count;
        leaders += !jobspec_role_serves(name);
    }
    if (s->n_role && s->has_workers)
        diag_add(d, DIAG_ERROR, E3002, s->base.node->at,
                 "'workers' and 'role' exclude each other: write role worker=%jd",
                 (intmax_t)s->workers);
    if (s->n_role && !leaders)
        diag_add(
            d, DIAG_ERROR, E3002, s->base.node->at,
            "none of the roles ends by itself: a job needs a worker, master or chief");
    if (total > JOB_WORKERS_MAX)
        diag_add(d, DIAG_ERROR, E3003, s->base.node->at,
                 "the roles have %jd workers, more than %d", (intmax_t)total,
                 JOB_WORKERS_MAX);
}

static void job_kind_check(struct conf *c, struct diags *diags)
{
    const struct jobspec_JobSpec *s = c->data;
    check_command(s, diags);
    check_hp(s, diags);
    check_backend(s, diags);
    check_backend_options(s, diags);
    check_image(s, diags);
    check_env(s, diags);
    check_roles(s, diags);
}

static void job_kind_describe(const struct conf *c, struct buf *out)
{
    const struct jobspec_JobSpec *s = c->data;
    if (!s->n_role)
        buf_printf(out, "%jd worker%s", (intmax_t)s->workers, s->workers == 1 ? "" : "s");
    for (int64_t i = 0; i < s->n_role; i++)
        buf_printf(out, "%s%s: %s", i ? ", " : "", s->role[i].key, s->role[i].value);
    if (s->has_image)
        buf_printf(out, ", image %s", s->image);
}

const struct conf_kind conf_kind_job = {
    .name = "job",
    .title = "job file",
    .example = "job.yaml",
    .family = &schema_family_job,
    .root = &jobspec_JobSpec_def,
    .usual = SYNTAX_YAML,
    .probe = job_kind_probe,
    .dialect = job_kind_dialect,
    .prepare = job_kind_prepare,
    .check = job_kind_check,
    .describe = job_kind_describe,
};
