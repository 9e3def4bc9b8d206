/* SPDX-License-Identifier: Apache-2.0 */
/* Models: names for outputs. Who may see the project of a model, or owns it, sees it; a
 * version that lies at another server is asked for there.
 */
#include <string.h>

#include "base/mem.h"
#include "http/api_private.h"
#include "http/forward.h"
#include "http/handlers.h"
#include "http/range.h"
#include "job/artifacts.h"
#include "job/model.h"
#include "job/remove.h"
#include "job/snapshot.h"

bool http_call_sees_model(const struct http_call *c, const struct store_model *m)
{
    return http_role_sees_all(c->who.role) || strcmp(m->owner, c->who.name) == 0 ||
           (*m->project && http_call_in_project(c, m->project));
}

static void put_output_file(struct json_out *j, const struct job_output *o)
{
    json_open(j, NULL, '{');
    json_put_str(j, "channel", o->channel);
    json_put_str(j, "path", o->path);
    json_put_int(j, "bytes", o->bytes);
    json_put_str(j, "sha256", o->sha256);
    json_close(j, '}');
}

/* `files` NULL: without the details of one version. */
static void put_model(struct json_out *j, const struct store_model *m,
                      const struct job_outputs *files)
{
    json_open(j, NULL, '{');
    json_put_str(j, "name", m->name);
    json_put_int(j, "version", m->version);
    json_put_str(j, "owner", m->owner);
    json_put_str(j, "project", m->project);
    json_put_str(j, "job", m->job);
    json_put_str(j, "channel", m->channel);
    json_put_str(j, "snapshot", m->snapshot);
    json_put_int(j, "files", m->files);
    json_put_int(j, "bytes", m->bytes);
    json_put_str(j, "note", m->note);
    json_put_time(j, "created", m->created);
    if (files) {
        json_put_raw(j, "lineage", *m->lineage ? m->lineage : "{}");
        json_open(j, "outputs", '[');
        for (size_t i = 0; i < files->list.n; i++)
            put_output_file(j, &files->list.at[i]);
        json_close(j, ']');
    }
    json_close(j, '}');
}

static enum rc answer_models(struct http_call *c, const char *name, struct err *err)
{
    struct store_models l = {0};
    size_t shown = 0;
    enum rc rc = store_model_get(c->place.store, name, 0, &l, err);
    if (rc)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "models", '[');
    for (size_t i = 0; i < l.n; i++)
        if (http_call_sees_model(c, &l.at[i])) {
            shown++;
            put_model(&c->json, &l.at[i], NULL);
        }
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    store_models_release(&l);
    if (name && !shown)
        rc = err_coded(err, RC_NOTFOUND, E3111, "no model '%.200s'", name);
    return rc;
}

enum rc http_list_models(struct http_call *c, struct err *err)
{
    return answer_models(c, NULL, err);
}

enum rc http_list_versions(struct http_call *c, struct err *err)
{
    return answer_models(c, c->params[0], err);
}

/* The version params[1] of the model params[0]; as if it were not there for those who may
 * not see it.
 */
static enum rc find_model(struct http_call *c, struct store_models *out, struct err *err)
{
    int64_t version = -1;
    if (!str_to_i64(str_c(c->params[1]), &version))
        version = -1; /* latest */
    enum rc rc = store_model_get(c->place.store, c->params[0], version, out, err);
    if (!rc && !http_call_sees_model(c, &out->at[0])) {
        store_models_release(out);
        rc = RC_NOTFOUND;
    }
    /* In the same words, whether there is none or it is not the caller's to see. */
    return rc == RC_NOTFOUND ? err_coded(err, rc, E3111, "no model '%.128s:%.20s'",
                                         c->params[0], c->params[1])
                             : rc;
}

static bool is_away(const struct http_call *c, const struct store_model *m)
{
    return strcmp(m->node, c->place.node) != 0 && !job_model_here(&c->place, m);
}

enum rc http_get_model(struct http_call *c, struct err *err)
{
    struct store_models l = {0};
    struct job_outputs files = {.list = {0}};
    enum rc rc = find_model(c, &l, err);
    if (rc)
        return rc;
    if (is_away(c, &l.at[0])) {
        rc = http_forward(c, l.at[0].node, err);
    } else {
        rc = job_model_files(&c->place, &l.at[0], &files, err);
        if (!rc)
            put_model(&c->json, &l.at[0], &files);
        job_outputs_release(&files);
    }
    store_models_release(&l);
    return rc;
}

/* A file that is being sent. */
struct sending {
    struct job_model_file *file;
    int64_t first, end;
};

static ssize_t send_part(void *arg, uint64_t pos, char *to, size_t most)
{
    const struct sending *s = arg;
    int64_t at = s->first + (int64_t)pos, left = s->end - at;
    if (left <= 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    ssize_t n =
        job_model_file_read(s->file, at, to, left < (int64_t)most ? (size_t)left : most);
    return n > 0 ? n : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void send_end(void *arg)
{
    struct sending *s = arg;
    job_model_file_close(s->file);
    mem_free(s);
}

static enum rc send_file(struct http_call *c, const struct store_model *m,
                         struct err *err)
{
    struct job_model_file *f = NULL;
    int64_t first = 0, n = 0;
    enum rc rc = job_model_file_open(&c->place, m, http_schema_text(c->query, "path", ""),
                                     &f, err);
    if (rc)
        return rc;
    if (!http_range_decide(c, job_model_file_size(f), job_model_file_sha256(f), &first,
                           &n)) {
        job_model_file_close(f);
        return RC_OK;
    }
    struct sending *s = mem_calloc(1, sizeof(*s));
    *s = (struct sending){.file = f, .first = first, .end = first + n};
    c->streaming =
        MHD_create_response_from_callback((uint64_t)n, 1 << 18, send_part, s, send_end);
    if (!c->streaming) {
        send_end(s);
        rc = err_set(err, RC_NOMEM, "no memory for the answer");
    }
    return rc;
}

enum rc http_get_model_file(struct http_call *c, struct err *err)
{
    struct store_models l = {0};
    enum rc rc = find_model(c, &l, err);
    if (rc)
        return rc;
    rc = is_away(c, &l.at[0]) ? http_forward_file(c, l.at[0].node, err)
                              : send_file(c, &l.at[0], err);
    store_models_release(&l);
    return rc;
}

struct looking_for {
    const char *id;
    bool found;
};

static enum rc see_id(void *arg, const char *id, struct err *err)
{
    struct looking_for *l = arg;
    l->found = l->found || strcmp(l->id, id) == 0;
    return RC_OK;
}

/* An object that the version's list names, or that list: other contents of its owner are
 * nobody's to read.
 */
static enum rc read_object(struct http_call *c, const struct store_model *m,
                           struct err *err)
{
    struct looking_for l = {.id = c->params[2]};
    char *objects = job_place_snapshot(&c->place, m->owner, m->snapshot), *data = NULL;
    size_t n = 0;
    enum rc rc = job_artifacts_fetch(&c->place, m->owner, m->snapshot, err);
    if (!rc)
        rc = job_snapshot_each(objects, m->snapshot, see_id, &l, err);
    if (!rc && !l.found)
        rc = err_coded(err, RC_NOTFOUND, E5502, "the model has no object '%.64s'", l.id);
    if (!rc)
        rc = job_artifacts_fetch(&c->place, m->owner, l.id, err);
    if (!rc)
        rc = job_snapshot_object_get(objects, l.id, &data, &n, err);
    if (!rc) {
        c->type = "application/octet-stream";
        buf_add(&c->out, data, n);
    }
    mem_free(data);
    mem_free(objects);
    return rc;
}

enum rc http_get_model_object(struct http_call *c, struct err *err)
{
    struct store_models l = {0};
    enum rc rc = find_model(c, &l, err);
    if (rc)
        return rc;
    rc = is_away(c, &l.at[0]) ? http_forward(c, l.at[0].node, err)
                              : read_object(c, &l.at[0], err);
    store_models_release(&l);
    return rc;
}

enum rc http_delete_model(struct http_call *c, struct err *err)
{
    struct store_models l = {0};
    enum rc rc = find_model(c, &l, err);
    if (rc)
        return rc;
    rc = http_call_need_owner(c, "model", l.at[0].owner, l.at[0].project, err);
    if (!rc)
        rc = store_model_delete(c->place.store, l.at[0].name, l.at[0].version, err);
    if (!rc)
        job_collect_let_go(&c->place, l.at[0].owner, l.at[0].snapshot);
    store_models_release(&l);
    return rc;
}

enum rc http_create_model(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct store_models made = {0};
    int64_t version = 0;
    struct job_model_new n = {.name = http_schema_text(c->body, "name", ""),
                              .channel = http_schema_text(c->body, "channel", "model"),
                              .note = http_schema_text(c->body, "note", ""),
                              .most = c->api->o.user_storage};
    enum http_files where;
    c->params[0] = http_schema_text(c->body, "job", "");
    enum rc rc = http_call_outputs(c, &jobs, &where, err);
    bool elsewhere = !rc && where == FILES_AWAY;
    if (elsewhere)
        rc = http_forward(c, jobs.at[0].node, err);
    else if (!rc)
        rc = job_model_register(&c->place, &jobs.at[0], &n, &version, err);
    store_jobs_release(&jobs);
    if (rc || elsewhere)
        return rc;
    rc = store_model_get(c->place.store, n.name, version, &made, err);
    if (!rc) {
        c->location = arena_printf(&c->arena, "/api/v1/models/%s/versions/%jd", n.name,
                                   (intmax_t)version);
        put_model(&c->json, &made.at[0], NULL);
    }
    store_models_release(&made);
    return rc;
}
