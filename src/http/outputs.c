/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs of a job: the list, and files, whole or in ranges. A file is sent from its
 * descriptor, so it costs no memory however large it is. Its ETag is its SHA-256 where the
 * job has recorded one, else size and time of its last change: a client that goes on with
 * If-Range never joins two versions of a file.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "http/api_private.h"
#include "http/forward.h"
#include "http/handlers.h"
#include "http/range.h"
#include "job/name.h"
#include "job/outputs.h"

static void put_path(struct json_out *j, const char *path)
{
    buf_puts(j->out, j->comma ? "," : "");
    job_name_json(path, j->out);
    j->comma = true;
}

static void put_output(struct json_out *j, const struct job_output *o)
{
    json_open(j, NULL, '{');
    json_put_str(j, "channel", o->channel);
    put_path(j, o->path);
    json_put_int(j, "bytes", o->bytes);
    if (o->changed)
        json_put_time(j, "changed", o->changed);
    if (*o->sha256)
        json_put_str(j, "sha256", o->sha256);
    if (*o->where)
        json_put_str(j, "where", o->where);
    json_close(j, '}');
}

enum rc http_list_outputs(struct http_call *c, struct err *err)
{
    struct job_outputs l;
    const char *channel = http_schema_text(c->query, "channel", NULL);
    struct store_jobs jobs = {0};
    bool elsewhere = false;
    enum rc rc = http_call_files(c, &jobs, &elsewhere, err);
    store_jobs_release(&jobs);
    if (!rc && !elsewhere)
        rc = job_outputs_read(&c->place, c->params[0], &l, err);
    if (rc || elsewhere)
        return rc;
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "outputs", '[');
    for (size_t i = 0; i < l.list.n; i++)
        if (!channel || strcmp(channel, l.list.at[i].channel) == 0)
            put_output(&c->json, &l.list.at[i]);
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    job_outputs_release(&l);
    return RC_OK;
}

static const char *tag_of(struct http_call *c, const struct job_output *o,
                          const struct stat *st)
{
    if (o && *o->sha256 && o->bytes == st->st_size)
        return o->sha256;
    return arena_printf(&c->arena, "%jx-%jx-%jx", (uintmax_t)st->st_size,
                        (uintmax_t)st->st_mtim.tv_sec, (uintmax_t)st->st_mtim.tv_nsec);
}

/* `path`, or the bytes of path_hex. */
static enum rc path_asked(struct http_call *c, const char **out, struct err *err)
{
    const char *path = http_schema_text(c->query, "path", NULL),
               *hex = http_schema_text(c->query, "path_hex", NULL);
    if (!path == !hex)
        return err_coded(err, RC_INVAL, E5006, "'path' or 'path_hex' is required");
    path = hex ? job_name_of_hex(hex, &c->arena) : path;
    if (!path)
        return err_coded(err, RC_INVAL, E5006,
                         "'path_hex': '%.100s' is not pairs of hexadecimal digits", hex);
    *out = path;
    return RC_OK;
}

static enum rc answer_file(struct http_call *c, struct err *err)
{
    struct job_outputs l;
    struct stat st;
    int fd = -1;
    const char *channel = c->params[1], *path = NULL;
    enum rc rc = path_asked(c, &path, err);
    if (!rc)
        rc = job_outputs_read(&c->place, c->params[0], &l, err);
    if (rc)
        return rc;
    const struct job_output *o = job_outputs_find(&l, channel, path);
    if (o && *o->where) {
        c->status = 409;
        rc = err_coded(err, RC_CANCELED, E5502, "'%.100s/%.300s' lies at %.300s", channel,
                       path, o->where);
    }
    if (!rc)
        rc = job_output_open(&c->place, c->params[0], channel, path, &fd, &st, err);
    if (!rc)
        rc = http_range_answer(c, fd, st.st_size, tag_of(c, o, &st), err);
    job_outputs_release(&l);
    return rc;
}

enum rc http_get_output(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = http_call_job(c, &jobs, err);
    if (!rc)
        rc = http_call_elsewhere(c, &jobs.at[0])
                 ? http_forward_file(c, jobs.at[0].node, err)
                 : answer_file(c, err);
    store_jobs_release(&jobs);
    return rc;
}
