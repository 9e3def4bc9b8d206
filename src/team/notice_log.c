/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about logs: a line that matches, a job that is silent. Logs are read where they
 * lie, line by line; struct team_watched keeps how far each worker's was read, and begins anew
 * with each attempt. While the job runs one piece of each log is read per look, so that a
 * busy log holds up nobody; when it has ended, all that is left. A message is named by
 * what it is about: a match by its attempt, a silence by when it began, so each is told
 * once.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "team/notice_private.h"

#define PIECE (256 << 10) /* bytes of one log and look */
#define LINE_MAX_BYTES 8192
#define QUOTE_MAX 500 /* bytes of a line that are told */

static enum rc tell_line(struct team_looking *l, struct team_watched *w,
                         const struct team_rule *r, const struct store_job *j,
                         int64_t worker, struct str line, struct err *err)
{
    char what[48];
    struct buf text, extra;
    buf_init(&text, 4096);
    buf_init(&extra, 16 << 10);
    if (line.n > QUOTE_MAX)
        line.n = QUOTE_MAX;
    snprintf(what, sizeof(what), "log/%jd", (intmax_t)j->attempt);
    buf_printf(&text, "job %s (%s), worker %jd wrote: ", j->id, j->name,
               (intmax_t)worker);
    buf_add(&text, line.p, line.n);
    buf_printf(&extra, ", \"worker\": %jd, \"line\": ", (intmax_t)worker);
    buf_json_str(&extra, line.p, line.n);
    struct team_rule_fact f = {.job = j,
                               .time = l->now,
                               .what = what,
                               .text = buf_str(&text),
                               .extra = buf_str(&extra)};
    enum rc rc = team_notice_tell(l, w, r, &f, err);
    buf_release(&extra);
    buf_release(&text);
    return rc;
}

static enum rc look_line(struct team_looking *l, struct team_watched *w,
                         const struct store_job *j, int64_t worker, struct str line,
                         struct err *err)
{
    enum rc rc = RC_OK;
    if (line.n > LINE_MAX_BYTES)
        line.n = LINE_MAX_BYTES;
    for (size_t i = 0; i < l->rules.n && !rc; i++)
        if (team_rule_wants_line(&l->rules.at[i], line) &&
            team_notice_about(l, &l->rules.at[i], j))
            rc = tell_line(l, w, &l->rules.at[i], j, worker, line, err);
    return rc;
}

/* Whole lines of `text`; *used is where the rest begins. */
static enum rc look_text(struct team_looking *l, struct team_watched *w,
                         const struct store_job *j, int64_t worker, struct str text,
                         bool last, size_t *used, struct err *err)
{
    enum rc rc = RC_OK;
    size_t at = 0;
    while (at < text.n && !rc) {
        const char *end = memchr(text.p + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - text.p) - at : text.n - at;
        if (!end && !last && n < LINE_MAX_BYTES)
            break;
        rc = look_line(l, w, j, worker, str_of(text.p + at, n), err);
        at += n + (end != NULL);
    }
    *used = at;
    return rc;
}

static enum rc look_file(struct team_looking *l, struct team_watched *w,
                         const struct store_job *j, int64_t worker, bool ended,
                         struct err *err)
{
    char *path = job_place_log(l->p, j->id, worker, j->attempt);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    mem_free(path);
    if (fd < 0)
        return RC_OK; /* none yet */
    char *piece = mem_alloc(PIECE);
    enum rc rc = RC_OK;
    for (;;) {
        ssize_t n = pread(fd, piece, PIECE, w->logs[worker]);
        size_t used = 0;
        if (n <= 0)
            break;
        rc = look_text(l, w, j, worker, str_of(piece, (size_t)n), ended && n < PIECE,
                       &used, err);
        w->logs[worker] += rc ? 0 : (int64_t)used;
        if (rc || !used || !ended)
            break;
    }
    mem_free(piece);
    close(fd);
    return rc;
}

static bool wanted(const struct team_looking *l, const struct store_job *j,
                   enum team_rule_on on)
{
    for (size_t i = 0; i < l->rules.n; i++)
        if (l->rules.at[i].on == on && team_rule_is_about(&l->rules.at[i], j))
            return true;
    return false;
}

enum rc team_notice_logs(struct team_looking *l, struct team_watched *w,
                         const struct store_job *j, bool ended, struct err *err)
{
    enum rc rc = RC_OK;
    if (j->attempt < 1 || !wanted(l, j, RULE_LOG))
        return RC_OK;
    if (w->attempt != j->attempt) {
        memset(w->logs, 0, sizeof(w->logs));
        w->attempt = j->attempt;
    }
    for (int64_t i = 0; i < j->workers && i < NOTICE_WORKERS_MAX && !rc; i++)
        rc = look_file(l, w, j, i, ended, err);
    return rc;
}

/* When any worker last wrote something; the start when none did. */
static int64_t last_sign(const struct team_looking *l, const struct store_job *j)
{
    int64_t latest = j->started;
    for (int64_t i = 0; i < j->workers && i < NOTICE_WORKERS_MAX; i++) {
        struct stat st;
        char *path = job_place_log(l->p, j->id, i, j->attempt);
        if (stat(path, &st) == 0) {
            int64_t at = st.st_mtim.tv_sec * CLOCK_SECOND + st.st_mtim.tv_nsec;
            latest = at > latest ? at : latest;
        }
        mem_free(path);
    }
    return latest;
}

enum rc team_notice_stall(struct team_looking *l, struct team_watched *w,
                          const struct store_job *j, struct err *err)
{
    enum rc rc = RC_OK;
    if (strcmp(j->state, "Running") != 0 || !j->started || !wanted(l, j, RULE_STALL))
        return RC_OK;
    int64_t sign = last_sign(l, j);
    for (size_t i = 0; i < l->rules.n && !rc; i++) {
        const struct team_rule *r = &l->rules.at[i];
        char what[64], text[300], extra[64], span[CLOCK_TEXT_SIZE];
        if (r->on != RULE_STALL || l->now - sign < r->after_s * CLOCK_SECOND ||
            !team_notice_about(l, r, j))
            continue;
        clock_duration(l->now - sign, span);
        snprintf(what, sizeof(what), "stall/%jd/%jd", (intmax_t)j->attempt,
                 (intmax_t)sign);
        snprintf(text, sizeof(text), "job %s (%.100s) has written nothing for %s", j->id,
                 j->name, span);
        snprintf(extra, sizeof(extra), ", \"silent_s\": %jd",
                 (intmax_t)((l->now - sign) / CLOCK_SECOND));
        struct team_rule_fact f = {
            .job = j, .time = l->now, .what = what, .text = text, .extra = extra};
        rc = team_notice_tell(l, w, r, &f, err);
    }
    return rc;
}
