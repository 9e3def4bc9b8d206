/* SPDX-License-Identifier: Apache-2.0 */
/* A job's specification out of a request. The types of its fields are checked strictly
 * first, then its text goes through the parser of job files, so both obey the same rules
 * and all problems come at once. Then come the rules for strangers: no path of this
 * machine, no variable of the server, a project only for its members. The server fills in
 * the working directory, and an empty snapshot where no code was sent; the directory is
 * taken out again before a specification is shown.
 */
#include "http/job_body.h"

#include <string.h>

#include "base/mem.h"
#include "http/api_private.h"
#include "http/model_fetch.h"
#include "job/artifacts.h"
#include "job/gate.h"
#include "job/model.h"
#include "job/snapshot.h"
#include "job/status.h"
#include "text/json.h"

static enum rc no_path(struct err *err, const char *field, const char *value,
                       const char *what)
{
    return err_coded(err, RC_INVAL, E5015, "'%s': '%.100s' %s", field, value, what);
}

static bool is_dataset(const char *uri)
{
    return str_starts(uri, "dataset:") || str_starts(uri, "pai://datasets/");
}

/* Nothing of this machine by path. */
static enum rc check_paths(const struct job_spec *s, struct err *err)
{
    const struct jobspec_JobSpec *j = s->s;
    if (j->has_workdir)
        return no_path(err, "workdir", j->workdir, "is set by the server");
    if (j->inherit)
        return no_path(err, "inherit", "true", "would hand out the server's environment");
    if (j->has_source && !str_starts(j->source, SNAPSHOT_PREFIX))
        return no_path(err, "source", j->source,
                       "is a path; send a snapshot and name it snapshot:ID");
    for (int64_t i = 0; i < j->n_input; i++)
        if (!is_dataset(j->input[i].value) &&
            !str_starts(j->input[i].value, SNAPSHOT_PREFIX))
            return no_path(err, "input", j->input[i].value,
                           "is a path; name a dataset: dataset:NAME, or send the files "
                           "and name them snapshot:ID");
    for (int64_t i = 0; i < j->n_output; i++)
        if (j->output[i].value[0] && !is_dataset(j->output[i].value))
            return no_path(err, "output", j->output[i].value,
                           "is a path; name a dataset: dataset:NAME");
    for (int64_t i = 0; i < j->n_data; i++)
        if (j->data[i][0] == '/' || strstr(j->data[i], "://"))
            return no_path(err, "data", j->data[i], "is not the name of a dataset");
    for (int64_t i = 0; i < j->n_secret; i++)
        if (strstr(j->secret[i], "=file:"))
            return no_path(err, "secret", j->secret[i],
                           "is a file of the server; give it in secret_values");
    return RC_OK;
}

/* Secrets must be among those of the request: the server's own variables are not theirs.
 */
static enum rc check_secrets(const struct job_spec *s, const struct node *secrets,
                             struct err *err)
{
    for (int64_t i = 0; i < s->s->n_secret; i++) {
        const char *text = s->s->secret[i], *eq = strchr(text, '=');
        const char *from = eq && str_starts(eq + 1, "env:") ? eq + 5 : text;
        if (!secrets || !node_find(secrets, from))
            return err_coded(err, RC_INVAL, E5015,
                             "'secret': '%.100s' has no value in secret_values", from);
    }
    return RC_OK;
}

static bool is_scalar(const struct field_def *f, const struct node *n)
{
    int64_t whole;
    if (f->type == FIELD_BOOL)
        return n->kind == NODE_BOOL;
    if (f->type == FIELD_I64)
        return http_schema_whole(n, &whole);
    return n->kind == NODE_STR;
}

/* A file may be lax about quotes; what a program sends is what the document says. */
static bool has_type(const struct field_def *f, const struct node *n)
{
    if (f->type == FIELD_ANY) /* looked at by the job's own rules */
        return n->kind != NODE_NULL;
    if (f->label == LABEL_DICT) {
        for (size_t i = 0; n->kind == NODE_MAP && i < n->map.n; i++)
            if (!is_scalar(f, n->map.at[i].value))
                return false;
        return n->kind == NODE_MAP;
    }
    if (f->label == LABEL_REP) {
        for (size_t i = 0; n->kind == NODE_LIST && i < n->list.n; i++)
            if (!is_scalar(f, n->list.at[i]))
                return false;
        return n->kind == NODE_LIST;
    }
    return is_scalar(f, n);
}

static enum rc check_types(const struct node *job, struct err *err)
{
    for (size_t i = 0; i < job->map.n; i++) {
        char name[64] = "";
        struct str key = job->map.at[i].key;
        if (key.n < sizeof(name))
            memcpy(name, key.p, key.n);
        const struct field_def *f = schema_field(&jobspec_JobSpec_def, name);
        if (f && !has_type(f, job->map.at[i].value))
            return err_coded(err, RC_INVAL, E5006, "'%s': %s is required", name,
                             f->label == LABEL_DICT  ? "an object of texts"
                             : f->label == LABEL_REP ? "a list of texts"
                             : f->type == FIELD_BOOL ? "true or false"
                             : f->type == FIELD_I64  ? "a whole number"
                             : f->type == FIELD_ANY  ? "a value"
                                                     : "a text");
    }
    return RC_OK;
}

/* The code was sent by this user: another's is not there, whoever knows its name. */
static enum rc own_source(struct http_call *c, const char *source, struct err *err)
{
    struct job_snapshot s;
    const char *id = source + strlen(SNAPSHOT_PREFIX);
    char *objects = job_place_objects(&c->place);
    enum rc rc = job_artifacts_settle(&c->place, c->place.owner, id, err);
    if (!rc)
        rc = job_snapshot_need(objects, id, false, &s, err);
    mem_free(objects);
    return rc;
}

static enum rc keep_empty(struct http_call *c, struct err *err)
{
    struct job_snapshot s;
    char *objects = job_place_objects(&c->place);
    enum rc rc = job_snapshot_take(objects, c->api->empty, &s, err);
    if (!rc)
        rc = job_artifacts_send(&c->place, c->place.owner, s.id, err);
    mem_free(objects);
    return rc;
}

/* From wherever they lie: here, in the store of artifacts, or at another server. */
static enum rc bring_model(struct http_call *c, const struct store_model *m,
                           struct err *err)
{
    bool away = strcmp(m->node, c->place.node) != 0 && !job_model_here(&c->place, m);
    return away ? http_model_fetch(c, m, err)
                : job_artifacts_share(&c->place, m->owner, c->place.owner, m->snapshot,
                                      err);
}

/* The contents of a version become the caller's, who may see it. */
static enum rc take_model(struct http_call *c, const char *text, char **uri,
                          const char **version_of, struct err *err)
{
    const char *name = NULL;
    int64_t version = 0;
    struct store_models l = {0};
    if (!job_model_parse(text, &c->arena, &name, &version))
        return err_coded(err, RC_INVAL, E5015, "'%.100s' is not model:NAME:VERSION",
                         text);
    enum rc rc = store_model_get(c->place.store, name, version, &l, err);
    if (!rc && !http_call_sees_model(c, &l.at[0]))
        rc = RC_NOTFOUND;
    if (rc == RC_NOTFOUND) /* in the same words, whether there is one or not */
        rc = err_coded(err, rc, E3111, "no model '%.150s'", text);
    if (!rc) {
        http_call_unlock(c);
        rc = bring_model(c, &l.at[0], err);
        http_call_lock(c);
        *uri = rc ? NULL : mem_printf(SNAPSHOT_PREFIX "%s", l.at[0].snapshot);
        *version_of =
            arena_printf(&c->arena, "%s:%jd", l.at[0].name, (intmax_t)l.at[0].version);
    }
    store_models_release(&l);
    return rc;
}

/* Which version was meant, for the lineage: others may have the same contents. */
static void note_model(struct job_spec *spec, const char *input, const char *version_of)
{
    struct arena *a = &spec->conf.doc.arena;
    struct node *root = spec->conf.doc.root, *extra = node_find(root, "extra");
    if (!extra) {
        extra = node_create(a, NODE_MAP, root->at);
        node_put(a, root, "extra", extra);
    }
    char *key = mem_printf(MODEL_EXTRA "%s", input);
    node_put(a, extra, arena_strdup(a, key),
             node_str(a, version_of, strlen(version_of), root->at));
    mem_free(key);
}

/* Inputs that are models: their contents, by name. */
static enum rc take_models(struct http_call *c, struct job_spec *spec, struct err *err)
{
    struct node *inputs = node_find(spec->conf.doc.root, "input");
    struct arena *a = &spec->conf.doc.arena;
    bool any = false;
    for (int64_t i = 0; i < spec->s->n_input; i++) {
        const struct schema_kv_STR *in = &spec->s->input[i];
        char *uri = NULL;
        const char *version_of = "";
        if (!str_starts(in->value, MODEL_PREFIX))
            continue;
        enum rc rc =
            take_model(c, in->value + strlen(MODEL_PREFIX), &uri, &version_of, err);
        if (rc)
            return err_wrap(err, rc, "input '%.100s'", in->key);
        node_put(a, inputs, in->key,
                 node_str(a, uri, strlen(uri), node_find(inputs, in->key)->at));
        mem_free(uri);
        note_model(spec, in->key, version_of);
        any = true;
    }
    return any ? job_spec_again(spec, err) : RC_OK;
}

/* One waits for jobs that one may see. */
static enum rc check_after(struct http_call *c, const char *const *ids, int64_t n,
                           struct err *err)
{
    const char *own = c->params[0];
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < n && !rc; i++) {
        struct store_jobs jobs = {0};
        c->params[0] = ids[i];
        rc = http_call_job(c, &jobs, err);
        store_jobs_release(&jobs);
    }
    c->params[0] = own;
    return rc;
}

/* What the policy forbids is refused now, not by each run of a schedule and each trial. */
static enum rc pass_gate(struct http_call *c, const struct job_spec *spec,
                         struct err *err)
{
    const struct job_place *p = &c->place;
    struct job_isolation x = p->isolation ? *p->isolation : (struct job_isolation){0};
    return p->gate ? p->gate->check(p->gate->arg, p, spec, p->isolation ? &x : NULL, err)
                   : RC_OK;
}

enum rc http_job_body_check(struct http_call *c, struct job_spec *spec,
                            const struct node *secrets, struct err *err)
{
    enum rc rc = take_models(c, spec, err);
    http_call_lock(c); /* from here on, if it was answered aside for its models */
    if (!rc)
        rc = check_paths(spec, err);
    if (!rc)
        rc = check_after(c, spec->s->after, spec->s->n_after, err);
    if (!rc)
        rc = check_after(c, spec->s->after_ok, spec->s->n_after_ok, err);
    if (!rc)
        rc = check_secrets(spec, secrets, err);
    if (!rc && c->api->o.images_only && !spec->s->has_image && c->who.role < ROLE_ADMIN)
        rc = http_call_forbid(c, err,
                              "this server runs jobs in containers: give an image");
    if (!rc && spec->s->has_project && !http_call_in_project(c, spec->s->project))
        rc = http_call_forbid(c, err, "'project': you are not a member of '%.100s'",
                              spec->s->project);
    if (!rc)
        rc = pass_gate(c, spec, err);
    if (rc)
        return rc;
    rc = spec->s->has_source ? own_source(c, spec->s->source, err) : keep_empty(c, err);
    if (rc)
        return rc;
    job_spec_put(spec, "workdir", c->api->empty);
    if (!spec->s->has_source) /* a working directory of its own */
        job_spec_put(spec, "source", c->api->empty_snapshot);
    return job_spec_again(spec, err);
}

enum rc http_job_body_secrets(struct http_call *c, struct node *job,
                              const struct node **secrets, const char *const **values,
                              struct err *err)
{
    const struct node *map = node_find(job, "secret_values");
    if (map && map->kind != NODE_MAP)
        return err_coded(err, RC_INVAL, E5006, "'secret_values': not an object");
    const char **list =
        arena_alloc(&c->arena, ((map ? map->map.n : 0) + 1) * sizeof(*list));
    size_t n = 0;
    for (size_t i = 0; map && i < map->map.n; i++) {
        const struct node_entry *e = &map->map.at[i];
        if (e->value->kind != NODE_STR || !e->key.n || memchr(e->key.p, '=', e->key.n))
            return err_coded(err, RC_INVAL, E5006,
                             "'secret_values': must map names to strings");
        list[n++] =
            arena_printf(&c->arena, "%.*s=%s", (int)e->key.n, e->key.p, e->value->text.p);
    }
    list[n] = NULL;
    node_remove(job, "secret_values");
    *secrets = map;
    *values = list;
    return RC_OK;
}

enum rc http_job_body_read(struct http_call *c, const struct node *job,
                           const struct node *secrets, struct job_spec *out,
                           struct err *err)
{
    struct buf text;
    enum rc rc = check_types(job, err);
    if (rc)
        return rc;
    buf_init(&text, c->raw.max * 2);
    json_print(job, 0, &text);
    rc = buf_check(&text, err);
    c->problems = mem_calloc(1, sizeof(*c->problems));
    if (!rc)
        rc = job_spec_parse(buf_str(&text), text.n, out, c->problems, err);
    if (rc && c->problems->list.n) {
        c->status = 422;
        err_coded(err, rc, c->problems->list.at[0].code, "the job: %.400s",
                  c->problems->list.at[0].msg);
    }
    buf_release(&text);
    return rc ? rc : http_job_body_check(c, out, secrets, err);
}

enum rc http_job_body_end(struct http_call *c, struct job_spec *spec, enum rc rc,
                          struct err *err)
{
    if (rc)
        api_fail(c, rc, err);
    if (c->problems)
        diags_release(c->problems);
    mem_free(c->problems);
    c->problems = NULL;
    job_spec_release(spec);
    return RC_OK;
}

char *http_job_body_shown(const char *text)
{
    struct doc doc = {0};
    const struct node *spec = job_json_open(text, &doc);
    struct buf out;
    buf_init(&out, (size_t)64 << 20);
    if (spec) {
        node_remove(doc.root, "workdir");
        json_print(spec, 0, &out);
    } else {
        buf_puts(&out, "{}");
    }
    if (doc.src)
        doc_release(&doc);
    char *shown = buf_take(&out);
    buf_release(&out);
    return shown;
}
