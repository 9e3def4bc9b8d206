/* SPDX-License-Identifier: Apache-2.0 */
/* Experiments over HTTP, out of the folders that `trainyard tune` makes. Nothing is kept
 * between requests: each one opens the folder, which replays the log, and prints what it
 * finds. A lock lets one request at a time do so, and a log beyond LOG_BYTES_MAX is
 * refused, since a replayed experiment may be large. To stop one or to change its limits
 * leaves a request in its folder for the manager, the only one that writes the log. An
 * experiment with an owner is there for the owner, the members of its project and admins
 * alone; one without, made on this machine, can be seen by all and changed by admins.
 */
#include "http/experiments.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/handlers.h"
#include "http/runs.h"
#include "store/experiments.h"
#include "team/standing.h"
#include "tune/manager.h"
#include "tune/report.h"

#define LOG_BYTES_MAX ((off_t)256 << 20)

static int newest_first(const void *a, const void *b)
{
    const struct http_experiments_one *x = a, *y = b;
    if (x->is.created != y->is.created)
        return x->is.created > y->is.created ? -1 : 1;
    return strcmp(x->is.id, y->is.id);
}

static bool is_own(const struct http_call *c, const struct exp_peek *is)
{
    return http_role_sees_all(c->who.role) ||
           (*is->owner && strcmp(is->owner, c->who.name) == 0) ||
           (*is->project && http_call_in_project(c, is->project));
}

const char *http_experiments_away(struct http_call *c)
{
    struct store_experiments l = {0};
    const char *node = NULL, *id = c->params[0];
    char *dir = c->api->o.experiments ? fs_join(c->api->o.experiments, id) : NULL;
    bool here = dir && fs_exists(dir);
    mem_free(dir);
    if (here || store_experiment_get(c->place.store, NULL, &l, NULL))
        return NULL;
    for (size_t i = 0; i < l.n; i++)
        if (strcmp(l.at[i].id, id) == 0 && strcmp(l.at[i].node, c->place.node) != 0)
            node = arena_strdup(&c->arena, l.at[i].node);
    store_experiments_release(&l);
    return node;
}

static bool is_seen(const struct http_call *c, const struct exp_peek *is)
{
    return !*is->owner || is_own(c, is);
}

enum rc http_experiments_find(const struct http_call *c, struct http_experiments *out,
                              struct err *err)
{
    const char *home = c->api->o.experiments;
    struct fs_names names = {0};
    if (!home || !fs_is_dir(home))
        return RC_OK;
    enum rc rc = fs_list(home, &names, err);
    for (size_t i = 0; i < names.n && !rc; i++) {
        struct http_experiments_one one = {.dir = NULL};
        if (names.at[i][0] == '_' || names.at[i][0] == '.')
            continue;
        one.dir = fs_join(home, names.at[i]);
        if (experiment_peek(one.dir, &one.is, NULL) == RC_OK && is_seen(c, &one.is))
            VEC_PUSH(&out->all, one);
        else
            mem_free(one.dir);
    }
    fs_names_release(&names);
    if (!rc && out->all.n > 1)
        qsort(out->all.at, out->all.n, sizeof(*out->all.at), newest_first);
    return rc;
}

void http_experiments_release(struct http_experiments *l)
{
    for (size_t i = 0; i < l->all.n; i++)
        mem_free(l->all.at[i].dir);
    VEC_RELEASE(&l->all);
}

enum rc http_experiments_dir(const struct http_call *c, const char *id, char **out,
                             struct err *err)
{
    const char *home = c->api->o.experiments;
    struct http_experiments l = {0};
    char *dir = home && id ? fs_join(home, id) : NULL;
    char *file = dir ? fs_join(dir, "experiment.json") : NULL;
    struct exp_peek is;
    enum rc rc = RC_OK;
    bool there = dir && fs_exists(file);
    if (there && experiment_peek(dir, &is, NULL) == RC_OK)
        there = is_seen(c, &is); /* one that cannot be read says so later */
    mem_free(file);
    if (!there) {
        mem_free(dir);
        dir = NULL;
        rc = http_experiments_find(c, &l, err);
    }
    for (size_t i = 0; i < l.all.n && !dir && !rc; i++)
        if (!id || strcmp(l.all.at[i].is.id, id) == 0)
            dir = mem_strdup(l.all.at[i].dir);
    http_experiments_release(&l);
    if (!rc && !dir && id)
        rc = err_coded(err, RC_NOTFOUND, E4008, "there is no experiment '%s'", id);
    else if (!rc && !dir)
        rc = err_coded(err, RC_NOTFOUND, E4008, "there is no experiment yet");
    if (!rc)
        *out = dir;
    return rc;
}

enum rc http_experiments_own(struct http_call *c, char **out, struct exp_peek *is,
                             struct err *err)
{
    struct exp_peek found = {.created = 0};
    char *dir = NULL;
    enum rc rc = http_experiments_dir(c, c->params[0], &dir, err);
    if (!rc)
        rc = experiment_peek(dir, &found, err);
    if (!rc && !is_own(c, &found))
        rc = http_call_forbid(c, err,
                              "experiment '%s' was made on the server's machine; only an "
                              "admin may change it",
                              c->params[0]);
    if (!rc && is)
        *is = found;
    if (rc)
        mem_free(dir);
    else
        *out = dir;
    return rc;
}

bool http_experiments_alive(const struct http_call *c, const char *dir)
{
    return http_runs_has(c->api->runs, dir) || tune_manager_alive(dir);
}

static enum rc check_size(const char *dir, struct err *err)
{
    struct stat st = {.st_size = 0};
    char *log = fs_join(dir, "log.jsonl");
    enum rc rc = RC_OK;
    if (stat(log, &st) == 0 && st.st_size > LOG_BYTES_MAX)
        rc = err_coded(err, RC_UNSUPPORTED, E4015,
                       "the log of the experiment has %jd bytes, more than %jd",
                       (intmax_t)st.st_size, (intmax_t)LOG_BYTES_MAX);
    mem_free(log);
    return rc;
}

enum rc http_experiments_read(struct http_call *c, const char *dir,
                              http_experiments_fn *fn, struct err *err)
{
    struct experiment *e = NULL;
    enum rc rc = check_size(dir, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&c->api->replay);
    rc = experiment_open(dir, &e, err);
    if (!rc)
        rc = fn(c, e, http_experiments_alive(c, dir), err);
    experiment_close(e);
    pthread_mutex_unlock(&c->api->replay);
    return rc;
}

enum rc http_experiments_with(struct http_call *c, const char *id,
                              http_experiments_fn *fn, struct err *err)
{
    char *dir = NULL;
    enum rc rc = http_experiments_dir(c, id, &dir, err);
    if (!rc)
        rc = http_experiments_read(c, dir, fn, err);
    mem_free(dir);
    return rc;
}

static enum rc put_experiment(struct http_call *c, const struct experiment *e, bool alive,
                              struct err *err)
{
    struct team_standing people;
    bool asks = alive && *e->set.owner &&
                team_standing_open(c->place.store, NULL, &people, NULL) == RC_OK;
    tune_report_experiment(
        e, alive,
        asks ? team_standing_wrong(&people, e->set.owner, e->set.project, true) : NULL,
        &c->out);
    if (asks)
        team_standing_close(&people);
    return RC_OK;
}

void http_experiments_comma(struct http_call *c)
{
    if (c->out.n > 0 && c->out.p[c->out.n - 1] != '[')
        buf_putc(&c->out, ',');
}

static enum rc put_next(struct http_call *c, const struct experiment *e, bool alive,
                        struct err *err)
{
    http_experiments_comma(c);
    return put_experiment(c, e, alive, err);
}

/* `total` and `next` behind a list; the page ends there. */
static void end_page(struct http_call *c, int64_t total, int64_t next)
{
    buf_printf(&c->out, ",\"total\":%jd", (intmax_t)total);
    if (next)
        buf_printf(&c->out, ",\"next\":%jd", (intmax_t)next);
    buf_puts(&c->out, "}\n");
}

/* Behind the last of this server come those of others. */
static void end_list(struct http_call *c, int64_t n, int64_t end)
{
    struct buf silent;
    buf_init(&silent, 1 << 16);
    int64_t away = end < n ? 0 : http_experiments_list_away(c, &silent);
    buf_puts(&c->out, "]");
    if (silent.n)
        buf_printf(&c->out, ",\"unreachable\":[%s]", buf_str(&silent));
    end_page(c, n + away, end < n ? end : 0);
    buf_release(&silent);
}

/* One that cannot be read is left out, as `trainyard tune list` does. */
enum rc http_list_experiments(struct http_call *c, struct err *err)
{
    struct http_experiments l = {0};
    int64_t from = http_schema_int(c->query, "offset", 0);
    int64_t limit = http_schema_int(c->query, "limit", 100);
    enum rc rc = http_experiments_find(c, &l, err);
    if (!rc)
        buf_puts(&c->out, "{\"experiments\":[");
    int64_t n = (int64_t)l.all.n, end = from + limit < n ? from + limit : n;
    for (int64_t i = from; i < end && !rc; i++)
        if (http_experiments_read(c, l.all.at[i].dir, put_next, NULL))
            continue;
    if (!rc)
        end_list(c, n, end);
    http_experiments_release(&l);
    return rc;
}

enum rc http_get_experiment(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, c->params[0], put_experiment, err);
}

static enum rc put_trials(struct http_call *c, const struct experiment *e, bool alive,
                          struct err *err)
{
    const char *status = http_schema_text(c->query, "status", NULL);
    bool best = strcmp(http_schema_text(c->query, "order", "number"), "best") == 0;
    int64_t from = http_schema_int(c->query, "offset", 0), n = 0;
    int64_t limit = http_schema_int(c->query, "limit", 100);
    int64_t *order =
        best ? tune_report_ranking(e) : mem_calloc(e->trials.n + 1, sizeof(*order));
    for (size_t i = 0; i < e->trials.n; i++) {
        int64_t k = best ? order[i] : (int64_t)i;
        if (!status || strcmp(trial_status_name(e->trials.at[k].status), status) == 0)
            order[n++] = k;
    }
    int64_t end = from + limit < n ? from + limit : n;
    buf_puts(&c->out, "{\"trials\":");
    tune_report_trials(e, order + (from < n ? from : n), from < end ? end - from : 0,
                       &c->out);
    end_page(c, n, end < n ? end : 0);
    mem_free(order);
    return RC_OK;
}

enum rc http_list_trials(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, c->params[0], put_trials, err);
}

static enum rc put_trial(struct http_call *c, const struct experiment *e, bool alive,
                         struct err *err)
{
    const struct exp_trial *t = experiment_trial_find(e, c->params[1]);
    if (!t)
        return err_coded(err, RC_NOTFOUND, E4008, "experiment %s has no trial '%s'",
                         e->set.id, c->params[1]);
    tune_report_trial(e, t, &c->out);
    return RC_OK;
}

enum rc http_get_trial(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, c->params[0], put_trial, err);
}

static enum rc put_best(struct http_call *c, const struct experiment *e, bool alive,
                        struct err *err)
{
    if (!tune_report_best(e, &c->out))
        return err_coded(err, RC_NOTFOUND, E4008,
                         "no trial of experiment %s has a result yet", e->set.id);
    return RC_OK;
}

enum rc http_get_best(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, c->params[0], put_best, err);
}

void http_experiments_asked(struct http_call *c, bool alive)
{
    json_open(&c->json, NULL, '{');
    json_put_str(&c->json, "experiment", c->params[0]);
    json_put_bool(&c->json, "managed", alive);
    json_close(&c->json, '}');
}
