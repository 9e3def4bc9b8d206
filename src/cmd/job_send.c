/* SPDX-License-Identifier: Apache-2.0 */
/* A snapshot is sent by content: the list of files first, then those that the server does not
 * have. Secrets are read here and travel beside the specification, never in it.
 */
#include "cmd/job_send.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "job/secret.h"
#include "job/status.h"
#include "text/json.h"

#define ROUNDS 3 /* of asking what is missing */

static enum rc put_object(const struct cmd_place *p, const char *kind,
                          const char *objects, const char *id, struct doc *doc,
                          struct err *err)
{
    char *data = NULL, *path = mem_printf("/api/v1/%s/%s", kind, id);
    size_t n = 0;
    enum rc rc = job_snapshot_object_get(objects, id, &data, &n, err);
    struct remote_ask q = {.method = "PUT",
                           .path = path,
                           .type = "application/octet-stream",
                           .body = data,
                           .n = n};
    if (!rc)
        rc = remote_call(&p->remote, &q, doc, NULL, err);
    mem_free(data);
    mem_free(path);
    return rc;
}

/* The list first; it says which files the server does not have. */
static enum rc send_snapshot(const struct cmd_place *p, const char *objects,
                             const char *id, struct err *err)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct doc doc = {0};
        enum rc rc = put_object(p, "snapshots", objects, id, &doc, err);
        const struct node *missing = rc ? NULL : node_find(doc.root, "missing");
        size_t n = missing && missing->kind == NODE_LIST ? missing->list.n : 0;
        for (size_t k = 0; k < n && !rc; k++)
            rc =
                put_object(p, "objects", objects, missing->list.at[k]->text.p, NULL, err);
        if (doc.src)
            doc_release(&doc);
        if (rc || n == 0)
            return rc;
    }
    return err_coded(err, RC_IO, E5017, "%s does not keep the files that it was sent",
                     p->remote.url);
}

static enum rc send_source(const struct cmd_place *p, struct job_spec *spec,
                           const char *cwd, struct job_submit_result *r, struct err *err)
{
    char *temp = NULL, *full = fs_join(cwd, spec->s->source);
    enum rc rc = fs_temp_dir("trainyard-send", &temp, err);
    if (!rc) {
        char *objects = fs_join(temp, "objects");
        rc = job_snapshot_take(objects, full, &r->snapshot, err);
        if (!rc)
            rc = send_snapshot(p, objects, r->snapshot.id, err);
        mem_free(objects);
        enum rc gone = fs_remove_all(temp, NULL);
        (void)gone; /* what is left lies below /tmp */
    }
    if (!rc) {
        char *source = mem_printf(SNAPSHOT_PREFIX "%s", r->snapshot.id);
        job_spec_put(spec, "source", source);
        r->copied = true;
        mem_free(source);
    }
    mem_free(temp);
    mem_free(full);
    return rc;
}

static const char *own_variable(const char *name)
{
    size_t n = strlen(name);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, name, n) == 0 && (*e)[n] == '=')
            return *e + n + 1;
    return NULL;
}

/* NAME, NAME=env:VARIABLE or NAME=file:PATH: its value, to mem_free(). */
static enum rc secret_value(const char *text, const char *name, char **out,
                            struct err *err)
{
    const char *eq = strchr(text, '=');
    size_t n;
    if (eq && str_starts(eq + 1, "file:"))
        return fs_read(eq + 6, SECRET_BYTES_MAX, out, &n, err);
    const char *from = eq && str_starts(eq + 1, "env:") ? eq + 5 : name;
    const char *value = own_variable(from);
    if (!value)
        return err_coded(err, RC_NOTFOUND, E3008,
                         "secret '%.100s': there is no variable "
                         "'%.100s'",
                         name, from);
    *out = mem_strdup(value);
    return RC_OK;
}

/* The list keeps names alone; the values go beside it. */
static enum rc put_secrets(struct job_spec *spec, struct err *err)
{
    static const struct span nowhere;
    struct arena *a = &spec->conf.doc.arena;
    struct node *names = node_create(a, NODE_LIST, nowhere),
                *values = node_create(a, NODE_MAP, nowhere);
    enum rc rc = RC_OK;
    for (int64_t i = 0; i < spec->s->n_secret && !rc; i++) {
        const char *text = spec->s->secret[i];
        char *name = mem_strndup(text, strcspn(text, "=")), *value = NULL;
        rc = secret_value(text, name, &value, err);
        if (!rc) {
            node_push(a, names, node_str(a, name, strlen(name), nowhere));
            node_put(a, values, name, node_str(a, value, strlen(value), nowhere));
            explicit_bzero(value, strlen(value));
        }
        mem_free(value);
        mem_free(name);
    }
    if (!rc && spec->s->n_secret) {
        node_put(a, spec->conf.doc.root, "secret", names);
        node_put(a, spec->conf.doc.root, "secret_values", values);
    }
    return rc;
}

static enum rc post_job(const struct cmd_place *p, const struct job_spec *spec,
                        struct job_submit_result *r, struct err *err)
{
    struct buf body;
    struct doc doc = {0};
    struct io_http_reply reply = {0};
    buf_init(&body, (size_t)64 << 20);
    job_spec_print(spec, &body);
    struct remote_ask q = {.method = "POST",
                           .path = "/api/v1/jobs",
                           .type = "application/json",
                           .body = body.p,
                           .n = body.n};
    enum rc rc = buf_check(&body, err);
    if (!rc)
        rc = remote_call(&p->remote, &q, &doc, &reply, err);
    if (!rc) {
        snprintf(r->id, sizeof(r->id), "%s", node_get_text(doc.root, "id", ""));
        r->existed = reply.status == 200;
    }
    io_http_reply_release(&reply);
    if (doc.src)
        doc_release(&doc);
    if (body.p)
        explicit_bzero(body.p, body.n);
    buf_release(&body);
    return rc;
}

enum rc job_send(const struct cmd_place *p, struct job_spec *spec, const char *cwd,
                 struct job_submit_result *out, struct err *err)
{
    struct job_submit_result r = {.existed = false};
    char token[JOB_ID_SIZE];
    bool own_token = spec->s->has_client_token;
    enum rc rc = job_id_new(token, err);
    if (!rc && spec->s->has_source && !str_starts(spec->s->source, SNAPSHOT_PREFIX))
        rc = send_source(p, spec, cwd, &r, err);
    if (!rc)
        rc = put_secrets(spec, err);
    if (!rc && !own_token) /* an answer that was lost does not make a second job */
        job_spec_put(spec, "client_token", token);
    if (!rc)
        rc = post_job(p, spec, &r, err);
    if (!own_token && r.existed)
        r.existed = false;
    if (!rc)
        *out = r;
    return rc;
}
