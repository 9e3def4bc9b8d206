/* SPDX-License-Identifier: Apache-2.0 */
/* The program and inputs are sent by content: the list of files first, then the objects that
 * the server does not have, read from where they lie. Secrets are read here and travel beside the specification, never in it.
 */
#include "cmd/job_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/model.h"
#include "job/secret.h"
#include "job/status.h"
#include "text/json.h"

#define TELL_NS (5 * INT64_C(1000000000))

static enum rc put_object(const struct cmd_place *p, const char *kind, const char *id,
                          const void *data, size_t n, struct doc *doc, struct err *err)
{
    char *path = mem_printf("/api/v1/%s/%s", kind, id);
    struct remote_ask q = {.method = "PUT",
                           .path = path,
                           .type = "application/octet-stream",
                           .body = data,
                           .n = n,
                           .patient = true};
    enum rc rc = remote_call(&p->remote, &q, doc, NULL, err);
    mem_free(path);
    return rc;
}

struct sending {
    const struct cmd_place *p;
    const struct job_snapshot_list *list;
    int64_t sent;    /* bytes */
    int64_t told_at; /* monotonic, ns */
};

/* A long upload says how far it is, on stderr. */
static void tell_progress(struct sending *s)
{
    int64_t now = clock_mono_ns();
    if (now - s->told_at < TELL_NS)
        return;
    s->told_at = now;
    fprintf(stderr, "sent %jd of %jd MiB\n", (intmax_t)(s->sent >> 20),
            (intmax_t)(s->list->is.bytes >> 20));
}

static enum rc send_missing(struct sending *s, const struct node *missing,
                            struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < missing->list.n && !rc; i++) {
        const char *id = missing->list.at[i]->text.p;
        char *data = NULL;
        size_t n = 0;
        rc = job_snapshot_piece_read(s->list, id, &data, &n, err);
        if (!rc)
            rc = put_object(s->p, "objects", id, data, n, NULL, err);
        mem_free(data);
        s->sent += (int64_t)n;
        tell_progress(s);
    }
    return rc;
}

/* What the server does not take is not kept there half; what merely broke off is. */
static void give_up(const struct cmd_place *p, const char *id, const struct err *why)
{
    struct err err = {0};
    char *path = mem_printf("/api/v1/snapshots/%s", id);
    struct remote_ask q = {.method = "DELETE", .path = path};
    if ((why->code == E5501 || why->code == E3108) &&
        remote_call(&p->remote, &q, NULL, NULL, &err))
        err.msg[0] = '\0'; /* the refusal is what counts; a collection finds the rest */
    mem_free(path);
}

/* The list first; it says which objects the server does not have. An upload that broke off
 * goes on where it was: what arrived is not missing any more.
 */
static enum rc send_list(const struct cmd_place *p, const struct job_snapshot_list *l,
                         struct err *err)
{
    struct sending s = {.p = p, .list = l, .told_at = clock_mono_ns()};
    int64_t left = INT64_MAX;
    for (;;) {
        struct doc doc = {0};
        enum rc rc =
            put_object(p, "snapshots", l->is.id, buf_str(&l->text), l->text.n, &doc, err);
        const struct node *missing = rc ? NULL : node_find(doc.root, "missing");
        bool any = missing && missing->kind == NODE_LIST && missing->list.n;
        int64_t n = any ? (int64_t)missing->list.n : 0;
        n = rc ? 0 : node_get_int(doc.root, "missing_count", n);
        if (!rc && any && n >= left)
            rc = err_coded(err, RC_IO, E5017,
                           "%s does not keep the files that it was sent", p->remote.url);
        if (!rc && any)
            rc = send_missing(&s, missing, err);
        if (rc)
            give_up(p, l->is.id, err);
        left = n;
        if (doc.src)
            doc_release(&doc);
        if (rc || !any)
            return rc;
    }
}

enum rc job_send_dir(const struct cmd_place *p, const char *dir, struct job_snapshot *out,
                     struct err *err)
{
    struct job_snapshot_list l;
    enum rc rc = job_snapshot_list_make(dir, false, &l, err);
    if (!rc)
        rc = send_list(p, &l, err);
    if (!rc)
        *out = l.is;
    job_snapshot_list_release(&l);
    return rc;
}

static enum rc send_source(const struct cmd_place *p, struct job_spec *spec,
                           const char *cwd, struct job_submit_result *r, struct err *err)
{
    char *full = fs_join(cwd, spec->s->source);
    enum rc rc = job_send_dir(p, full, &r->snapshot, err);
    if (!rc) {
        char *source = mem_printf(SNAPSHOT_PREFIX "%s", r->snapshot.id);
        job_spec_put(spec, "source", source);
        r->copied = true;
        mem_free(source);
    }
    mem_free(full);
    return rc;
}

bool job_send_is_path(const char *value)
{
    return str_starts(value, "file://") ||
           (!strstr(value, "://") && !str_starts(value, "dataset:") &&
            !str_starts(value, SNAPSHOT_PREFIX) && !str_starts(value, MODEL_PREFIX));
}

/* The address of what was sent, to mem_free(). */
static enum rc send_input(const struct cmd_place *p, const char *value, const char *cwd,
                          char **out, struct err *err)
{
    struct job_snapshot_list l;
    const char *given = str_starts(value, "file://") ? value + strlen("file://") : value;
    char *full = fs_join(cwd, given), *name = fs_basename(full);
    enum rc rc = RC_OK;
    if (!fs_exists(full)) {
        rc = err_coded(err, RC_NOTFOUND, E3005, "'%.300s': %s", full, strerror(errno));
    } else {
        rc = job_snapshot_list_make(full, true, &l, err);
        if (!rc)
            rc = send_list(p, &l, err);
        if (!rc)
            *out = fs_is_dir(full) ? mem_printf(SNAPSHOT_PREFIX "%s", l.is.id)
                                   : mem_printf(SNAPSHOT_PREFIX "%s/%s", l.is.id, name);
        job_snapshot_list_release(&l);
    }
    mem_free(name);
    mem_free(full);
    return rc;
}

/* Inputs that are paths go to the server before the job does. */
static enum rc send_inputs(const struct cmd_place *p, struct job_spec *spec,
                           const char *cwd, struct err *err)
{
    struct arena *a = &spec->conf.doc.arena;
    struct node *inputs = node_find(spec->conf.doc.root, "input");
    for (int64_t i = 0; i < spec->s->n_input; i++) {
        const struct schema_kv_STR *in = &spec->s->input[i];
        char *sent = NULL;
        if (!job_send_is_path(in->value))
            continue;
        enum rc rc = send_input(p, in->value, cwd, &sent, err);
        if (rc)
            return err_wrap(err, rc, "input '%.100s'", in->key);
        node_put(a, inputs, in->key,
                 node_str(a, sent, strlen(sent), node_find(inputs, in->key)->at));
        mem_free(sent);
    }
    return RC_OK;
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
    if (eq && str_starts(eq + 1, "file:")) {
        enum rc rc = fs_read(eq + 6, SECRET_BYTES_MAX, out, &n, err);
        while (!rc && n && ((*out)[n - 1] == '\n' || (*out)[n - 1] == '\r'))
            (*out)[--n] = '\0';
        return rc;
    }
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

enum rc job_send_files(const struct cmd_place *p, struct job_spec *spec, const char *cwd,
                       struct job_submit_result *out, struct err *err)
{
    enum rc rc = RC_OK;
    if (spec->s->has_source && !str_starts(spec->s->source, SNAPSHOT_PREFIX))
        rc = send_source(p, spec, cwd, out, err);
    if (!rc)
        rc = send_inputs(p, spec, cwd, err);
    return rc ? rc : put_secrets(spec, err);
}

enum rc job_send(const struct cmd_place *p, struct job_spec *spec, const char *cwd,
                 struct job_submit_result *out, struct err *err)
{
    struct job_submit_result r = {.existed = false};
    char token[JOB_ID_SIZE];
    bool own_token = spec->s->has_client_token;
    enum rc rc = job_id_new(token, err);
    if (!rc)
        rc = job_send_files(p, spec, cwd, &r, err);
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
