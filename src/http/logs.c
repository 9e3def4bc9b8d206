/* SPDX-License-Identifier: Apache-2.0 */
/* The log files of a job: which there are, a part of one, or all that comes. A part is
 * bytes from an offset, or the last lines, found by reading backwards in blocks; headers
 * tell the size, the attempt and whether the log still grows, so a client can go on from
 * there. With `follow` the answer is a stream of events (http/follow.c), which starts
 * where Last-Event-ID says that an earlier one broke off. A file that is not there yet is
 * an empty log.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/forward.h"
#include "http/handlers.h"
#include "job/log_read.h"
#include "job/state.h"

#define PART ((int64_t)1 << 20)
#define TAIL_MAX ((int64_t)4 << 20)

/* "worker-0.1.log", "prepare.1.log" */
static bool log_name(const char *name, char log[16], int64_t *attempt)
{
    char rest[32];
    if (sscanf(name, "worker-%4[0-9].%20[0-9].log", log, rest) != 2 &&
        sscanf(name, "prepare.%20[0-9].log", rest) == 1)
        snprintf(log, 16, "prepare");
    else if (strncmp(name, "worker-", 7) != 0)
        return false;
    return str_ends(name, ".log") && str_to_i64(str_c(rest), attempt);
}

enum rc http_list_logs(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    struct fs_names names = {0};
    bool elsewhere = false;
    enum rc rc = http_call_files(c, &jobs, &elsewhere, err);
    store_jobs_release(&jobs);
    if (rc || elsewhere)
        return rc;
    char *dir = job_place_file(&c->place, c->params[0], "logs");
    if (fs_list(dir, &names, NULL))
        names = (struct fs_names){0}; /* nothing there yet, or no more */
    json_open(&c->json, NULL, '{');
    json_open(&c->json, "logs", '[');
    for (size_t i = 0; i < names.n; i++) {
        char log[16] = "", *path = fs_join(dir, names.at[i]);
        int64_t attempt = 0;
        struct stat st;
        if (log_name(names.at[i], log, &attempt) && stat(path, &st) == 0) {
            json_open(&c->json, NULL, '{');
            json_put_str(&c->json, "log", log);
            json_put_int(&c->json, "attempt", attempt);
            json_put_int(&c->json, "bytes", st.st_size);
            json_close(&c->json, '}');
        }
        mem_free(path);
    }
    json_close(&c->json, ']');
    json_close(&c->json, '}');
    fs_names_release(&names);
    mem_free(dir);
    return RC_OK;
}

/* Where the last lines begin, looking back no further than TAIL_MAX. */
static int64_t tail_start(int fd, int64_t size, int64_t lines)
{
    char block[8192];
    int64_t at = size, least = size > TAIL_MAX ? size - TAIL_MAX : 0;
    bool last = true;
    if (lines == 0)
        return size;
    while (at > least) {
        size_t n =
            at - least < (int64_t)sizeof(block) ? (size_t)(at - least) : sizeof(block);
        if (pread(fd, block, n, at - (int64_t)n) != (ssize_t)n)
            return at;
        for (size_t i = n; i > 0; i--) {
            bool end = block[i - 1] == '\n';
            if (end && !last && --lines == 0)
                return at - (int64_t)(n - i);
            last = false;
        }
        at -= (int64_t)n;
    }
    return least;
}

static enum rc read_part(struct http_call *c, const char *path, struct err *err)
{
    int64_t offset = http_schema_int(c->query, "offset", 0), tail;
    int64_t limit = http_schema_int(c->query, "limit", PART);
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0) { /* not there yet: an empty log */
        if (fd >= 0)
            close(fd);
        return RC_OK;
    }
    c->log_size = st.st_size;
    tail = http_schema_int(c->query, "tail", -1);
    int64_t since = http_schema_int(c->query, "since", -1);
    if (tail >= 0)
        offset = tail_start(fd, st.st_size, tail);
    else if (since >= 0)
        offset = job_log_moment(path, since);
    if (offset < st.st_size && limit > st.st_size - offset)
        limit = st.st_size - offset;
    char *data = offset < st.st_size ? mem_try_alloc((size_t)limit, 1) : NULL;
    enum rc rc = RC_OK;
    if (offset < st.st_size && !data)
        rc = err_set(err, RC_NOMEM, "no memory for the answer");
    int64_t gap = 0;
    ssize_t n = data ? job_log_read(fd, data, (size_t)limit, &offset, &gap) : 0;
    if (n > 0) {
        job_log_gap(gap, &c->out);
        buf_add(&c->out, data, (size_t)n);
        c->log_next = offset + n;
    }
    mem_free(data);
    close(fd);
    return rc;
}

/* "attempt.offset" of an earlier stream. */
static void take_last_id(struct http_call *c, struct http_follow_start *s)
{
    const char *id =
        MHD_lookup_connection_value(c->conn, MHD_HEADER_KIND, "Last-Event-ID");
    struct str rest = str_c(id ? id : ""), first;
    int64_t attempt, offset;
    if (rest.n && str_split(&rest, '.', &first) && str_to_i64(first, &attempt) &&
        str_to_i64(rest, &offset) && attempt >= 1 && attempt <= 1000000 && offset >= 0) {
        s->attempt = attempt;
        s->offset = offset;
    }
}

static enum rc logs_follow(struct http_call *c, const struct store_job *j,
                           struct err *err)
{
    int64_t tail = http_schema_int(c->query, "tail", -1);
    int64_t asked = http_schema_int(c->query, "attempt", 0);
    struct http_follow_start s = {.job = c->params[0],
                                  .log = c->params[1],
                                  .attempt = asked       ? asked
                                             : tail >= 0 ? j->attempt
                                                         : 1,
                                  .offset = http_schema_int(c->query, "offset", 0),
                                  .fixed = asked > 0};
    if (s.attempt < 1)
        s.attempt = 1;
    if (tail >= 0) {
        char *path = http_follow_path(&c->place, s.job, s.log, s.attempt);
        struct stat st;
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0)
            s.offset = tail_start(fd, st.st_size, tail);
        if (fd >= 0)
            close(fd);
        mem_free(path);
    }
    take_last_id(c, &s);
    snprintf(s.who.user, sizeof(s.who.user), "%s", c->who.name);
    snprintf(s.who.token, sizeof(s.who.token), "%s", c->who.token);
    snprintf(s.who.owner, sizeof(s.who.owner), "%s", j->owner);
    snprintf(s.who.project, sizeof(s.who.project), "%s", j->project);
    c->type = "text/event-stream";
    enum rc rc = http_follows_open(c->api->follows, c->conn, &s, &c->streaming, err);
    if (rc == RC_INVAL)
        c->status = 429;
    return rc;
}

enum rc http_get_log(struct http_call *c, struct err *err)
{
    struct store_jobs jobs = {0};
    int64_t worker = 0, attempt = http_schema_int(c->query, "attempt", 0);
    enum job_state state = JOB_Unknown;
    enum rc rc = http_call_job(c, &jobs, err);
    if (rc)
        return rc;
    const struct store_job *j = &jobs.at[0];
    if (strcmp(c->params[1], "prepare") != 0 &&
        (!str_to_i64(str_c(c->params[1]), &worker) || worker >= j->workers)) {
        c->status = 404;
        rc = err_coded(err, RC_NOTFOUND, E3015, "job %s has %jd workers, numbered from 0",
                       j->id, (intmax_t)j->workers);
    } else if (http_call_elsewhere(c, j)) {
        rc = http_schema_bool(c->query, "follow", false)
                 ? http_forward_away(c, j->node, err)
                 : http_forward(c, j->node, err);
    } else if (http_schema_bool(c->query, "follow", false)) {
        rc = logs_follow(c, j, err);
    } else {
        c->type = "text/plain; charset=utf-8";
        c->log_attempt = attempt ? attempt : j->attempt ? j->attempt : 1;
        c->log_over = (job_state_find(j->state, &state) && job_state_ended(state)) ||
                      c->log_attempt < j->attempt;
        char *path = http_follow_path(&c->place, j->id, c->params[1], c->log_attempt);
        rc = read_part(c, path, err);
        mem_free(path);
    }
    store_jobs_release(&jobs);
    return rc;
}
