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
#include "io/file.h"
#include "job/archive.h"
#include "job/name.h"
#include "job/outputs.h"

#define SEND_BLOCK ((size_t)1 << 20)

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

static enum rc read_outputs(struct http_call *c, enum http_files where,
                            struct job_outputs *out, struct err *err)
{
    return where == FILES_STORED ? job_archive_list(&c->place, c->params[0], out, err)
                                 : job_outputs_read(&c->place, c->params[0], out, err);
}

enum rc http_list_outputs(struct http_call *c, struct err *err)
{
    struct job_outputs l;
    const char *channel = http_schema_text(c->query, "channel", NULL);
    struct store_jobs jobs = {0};
    enum http_files where;
    enum rc rc = http_call_outputs(c, &jobs, &where, err);
    bool away = !rc && where == FILES_AWAY;
    if (away)
        rc = http_forward(c, jobs.at[0].node, err);
    store_jobs_release(&jobs);
    if (!rc && !away)
        rc = read_outputs(c, where, &l, err);
    if (rc || away)
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

/* A file of the store of artifacts that is being sent. */
struct stored_file {
    struct io_file *file;
    int64_t first, end;
};

static ssize_t send_stored(void *arg, uint64_t pos, char *to, size_t most)
{
    struct stored_file *s = arg;
    int64_t at = s->first + (int64_t)pos, left = s->end - at;
    size_t got = 0, n = left < (int64_t)most ? (size_t)left : most;
    if (left <= 0)
        return MHD_CONTENT_READER_END_OF_STREAM;
    if (left > (int64_t)n)
        io_want(s->file, (uint64_t)at + n, n);
    return io_read_at(s->file, (uint64_t)at, n, to, &got, NULL) == RC_OK && got
               ? (ssize_t)got
               : MHD_CONTENT_READER_END_WITH_ERROR;
}

static void close_stored(void *arg)
{
    struct stored_file *s = arg;
    io_close(s->file);
    mem_free(s);
}

/* Empty ones are not asked for: stores do not agree about a range of nothing. */
static enum rc answer_stored(struct http_call *c, const struct job_output *o,
                             struct err *err)
{
    struct stored_file *s = mem_calloc(1, sizeof(*s));
    int64_t n = 0;
    enum rc rc = o->bytes ? job_archive_open(&c->place, c->params[0], o->channel, o->path,
                                             &s->file, err)
                          : RC_OK;
    if (rc || !http_range_decide(c, o->bytes, o->sha256, &s->first, &n)) {
        close_stored(s);
        return rc;
    }
    s->end = s->first + n;
    c->streaming = MHD_create_response_from_callback((uint64_t)n, SEND_BLOCK, send_stored,
                                                     s, close_stored);
    if (!c->streaming) {
        close_stored(s);
        rc = err_set(err, RC_NOMEM, "no memory for the answer");
    }
    return rc;
}

static const char *tag_of(struct http_call *c, const struct job_output *o,
                          const struct stat *st)
{
    if (o && *o->sha256 && o->bytes == st->st_size)
        return o->sha256;
    return arena_printf(&c->arena, "%jx-%jx-%jx", (uintmax_t)st->st_size,
                        (uintmax_t)st->st_mtim.tv_sec, (uintmax_t)st->st_mtim.tv_nsec);
}

/* The bytes of path_hex, which are exact, or `path`. */
static enum rc path_asked(struct http_call *c, const char **out, struct err *err)
{
    const char *path = http_schema_text(c->query, "path", NULL),
               *hex = http_schema_text(c->query, "path_hex", NULL);
    if (!path && !hex)
        return err_coded(err, RC_NOTFOUND, E5502,
                         "no output without a name: 'path' or 'path_hex' is required");
    path = hex ? job_name_of_hex(hex, &c->arena) : path;
    if (!path)
        return err_coded(
            err, RC_INVAL, E5006,
            "'path_hex': '%.100s' is not pairs of the digits 0 to f, none of them 00",
            hex);
    *out = path;
    return RC_OK;
}

static enum rc answer_local(struct http_call *c, const struct job_output *o,
                            const char *path, struct err *err)
{
    struct stat st;
    int fd = -1;
    enum rc rc =
        job_output_open(&c->place, c->params[0], c->params[1], path, &fd, &st, err);
    if (rc == RC_NOTFOUND && o && c->place.artifacts) /* moved, maybe just now */
        return answer_stored(c, o, err);
    return rc ? rc : http_range_answer(c, fd, st.st_size, tag_of(c, o, &st), err);
}

static enum rc answer_file(struct http_call *c, enum http_files where, struct err *err)
{
    struct job_outputs l;
    const char *channel = c->params[1], *path = NULL;
    enum rc rc = path_asked(c, &path, err);
    if (!rc)
        rc = read_outputs(c, where, &l, err);
    if (rc)
        return rc;
    const struct job_output *o = job_outputs_find(&l, channel, path);
    if (o && *o->where) {
        c->status = 409;
        rc = err_coded(err, RC_CANCELED, E5502, "'%.100s/%.300s' lies at %.300s", channel,
                       path, o->where);
    } else {
        rc = answer_local(c, o, path, err);
    }
    job_outputs_release(&l);
    return rc;
}

enum rc http_get_output(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    enum http_files where;
    enum rc rc = http_call_outputs(c, &jobs, &where, err);
    if (!rc)
        rc = where == FILES_AWAY ? http_forward_file(c, jobs.at[0].node, err)
                                 : answer_file(c, where, err);
    store_jobs_release(&jobs);
    return rc;
}
