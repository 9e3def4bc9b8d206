/* SPDX-License-Identifier: Apache-2.0 */
/* Where jobs are: a directory and a store of this machine, or a server. Defaults come from
 * the environment, and here alone.
 */
#include "cmd/job_common.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/agent.h"
#include "backend/choose.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/map.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/retry.h"
#include "job/state.h"
#include "job/status.h"

static char *default_dir(void)
{
    const char *own = getenv("TRAINYARD_DIR"), *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    const struct passwd *pw = home && *home ? NULL : getpwuid(getuid());
    if (own && *own)
        return mem_strdup(own);
    if (state && *state)
        return fs_join(state, "trainyard");
    return fs_join(home && *home ? home
                   : pw          ? pw->pw_dir
                                 : "/tmp",
                   ".local/state/trainyard");
}

static char *user_name(void)
{
    const struct passwd *pw = getpwuid(geteuid());
    return pw ? mem_strdup(pw->pw_name) : mem_printf("uid-%u", (unsigned)geteuid());
}

static char *node_name(const char *dir)
{
    char host[256] = "";
    if (gethostname(host, sizeof(host) - 1) < 0)
        snprintf(host, sizeof(host), "localhost");
    return mem_printf("%s:%s", host, dir);
}

enum rc cmd_place_dir(const struct job_where *w, char **out, struct err *err)
{
    char *wanted = w->dir ? mem_strdup(w->dir) : default_dir();
    enum rc rc = fs_mkdirs(wanted, 0700, err);
    char *real = rc ? NULL : realpath(wanted, NULL);
    if (!real && !rc)
        rc = err_sys(err, errno, "cannot look at '%s'", wanted);
    if (rc && err)
        err->code = E3201;
    if (!rc)
        *out = mem_strdup(real);
    free(real);
    mem_free(wanted);
    return rc;
}

enum rc cmd_place_open(const struct job_where *w, struct cmd_place *out, struct err *err)
{
    struct cmd_place p = {.ops = &job_ops_local};
    const char *store = w->store ? w->store : getenv("TRAINYARD_STORE");
    enum rc rc = cmd_place_dir(w, &p.dir, err);
    if (!rc) {
        p.where = store && *store && !(w->dir && !w->store) ? mem_strdup(store)
                                                            : fs_join(p.dir, "jobs.db");
        p.owner = user_name();
        p.node = node_name(p.dir);
        p.p = (struct job_place){.dir = p.dir,
                                 .where = p.where,
                                 .owner = p.owner,
                                 .account = p.owner,
                                 .node = p.node};
        p.p.view = getenv("TRAINYARD_VIEW");
        p.p.choose = backend_choose;
        rc = store_open(p.where, &p.p.store, err);
    }
    if (rc) {
        cmd_place_close(&p);
        return rc;
    }
    *out = p;
    return RC_OK;
}

enum rc job_server(const struct job_where *w, struct remote *out, struct err *err)
{
    const char *dir = getenv("TRAINYARD_DIR"), *store = getenv("TRAINYARD_STORE");
    bool named = w->dir || w->store || (dir && *dir) || (store && *store);
    return remote_server(w->server, !named, out, err);
}

enum rc job_open(const struct job_where *w, struct cmd_place *out, struct err *err)
{
    struct remote remote;
    enum rc rc = job_server(w, &remote, err);
    if (rc)
        return rc;
    if (!remote.url)
        return cmd_place_open(w, out, err);
    *out = (struct cmd_place){.ops = &job_ops_remote, .remote = remote};
    return RC_OK;
}

void cmd_place_close(struct cmd_place *p)
{
    remote_release(&p->remote);
    store_close(p->p.store);
    mem_free(p->dir);
    mem_free(p->where);
    mem_free(p->owner);
    mem_free(p->node);
    *p = (struct cmd_place){.dir = NULL};
}

void job_revive(const struct cmd_place *p)
{
    struct store_filter f = {.node = p->node, .states = job_live_states(), .limit = 1};
    struct store_jobs jobs = {0};
    if (!p->p.store)
        return;
    char *lock = fs_join(p->dir, "agent.lock");
    bool lives = job_lock_held(lock);
    mem_free(lock);
    if (lives || store_list(p->p.store, &f, &jobs, NULL))
        return;
    enum rc rc = jobs.n ? backend_agent_wake(&p->p, NULL) : RC_OK;
    (void)rc; /* whoever waits for the job will see */
    store_jobs_release(&jobs);
}

static enum rc several(const char *text, const struct store_jobs *jobs, struct err *err)
{
    struct buf b;
    buf_init(&b, 1000);
    for (size_t i = 0; i < jobs->n && i < 4; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", jobs->at[i].id);
    enum rc rc = err_coded(err, RC_INVAL, E3020, "'%s' is the beginning of %s%s", text,
                           buf_str(&b), jobs->n > 4 ? " and others" : "");
    buf_release(&b);
    return rc;
}

/* An array where one job is wanted. */
static enum rc not_an_array(const struct cmd_place *p, const char *id, struct err *err)
{
    struct store_filter f = {.label_key = "array", .label_value = id, .limit = 5};
    struct store_jobs jobs = {0};
    struct buf b;
    buf_init(&b, 1000);
    enum rc rc = p->ops->list(p, &f, &jobs, err);
    for (size_t i = 0; i < jobs.n && i < 4; i++)
        buf_printf(&b, "%s%s", i ? ", " : "", jobs.at[i].id);
    if (!rc && !jobs.n)
        rc = err_coded(err, RC_NOTFOUND, E3103, "no array '%.64s'", id);
    else if (!rc)
        rc = err_coded(err, RC_INVAL, E3020,
                       "'%.64s' is an array; give one of its jobs: %s%s", id, buf_str(&b),
                       jobs.n > 4 ? " and others (job list --label array=ID)" : "");
    buf_release(&b);
    store_jobs_release(&jobs);
    return rc;
}

enum rc job_asked(const struct cmd_place *p, const char *id, struct job_spec *out,
                  struct err *err)
{
    char *text = NULL;
    *out = (struct job_spec){0};
    enum rc rc = p->ops->spec(p, id, &text, err);
    if (!rc)
        rc = job_spec_from_json(text, out, err);
    mem_free(text);
    return rc;
}

enum rc job_pick(const struct cmd_place *p, const char *text, char out[JOB_ID_SIZE],
                 struct err *err)
{
    char prefix[JOB_ID_SIZE];
    struct store_filter f = {.id = prefix, .limit = 5};
    struct store_jobs jobs = {0};
    bool whole = str_starts(text, "jb-");
    const char *rest = text + (whole ? 3 : 0);
    size_t n = strlen(rest);
    if (str_starts(text, "ja-"))
        return not_an_array(p, text, err);
    bool fits = (n || whole) && n <= 12 &&
                strspn(rest, "abcdefghijklmnopqrstuvwxyz0123456789") == n;
    snprintf(prefix, sizeof(prefix), "jb-%.12s", fits ? rest : "");
    snprintf(out, JOB_ID_SIZE, "%s", prefix);
    if (job_id_ok(out) || !fits)
        return fits ? RC_OK : err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", text);
    enum rc rc = p->ops->list(p, &f, &jobs, err);
    if (!rc && jobs.n == 0)
        rc = err_coded(err, RC_NOTFOUND, E3103, "no job '%.64s'", text);
    if (!rc && jobs.n > 1)
        rc = several(text, &jobs, err);
    if (!rc)
        snprintf(out, JOB_ID_SIZE, "%s", jobs.at[0].id);
    store_jobs_release(&jobs);
    return rc;
}

/* The index of a job of an array; -1: it says none. */
static int64_t array_index(const struct store_job *j)
{
    struct doc doc = {0};
    const struct node *terms = node_find(job_json_open(j->status, &doc), "terms");
    int64_t index = node_get_int(terms, "array_index", -1);
    if (doc.src)
        doc_release(&doc);
    return index;
}

/* A job that was run again has taken the place of the one before it, once that has ended. */
static bool is_replaced(const struct store_job *j, struct map *seen)
{
    char key[24];
    enum job_state state;
    int64_t index = array_index(j);
    snprintf(key, sizeof(key), "%jd", (intmax_t)index);
    bool newer = index >= 0 && map_find(seen, str_c(key));
    map_put(seen, str_c(key))->value = seen;
    return newer && job_state_find(j->state, &state) && job_state_ended(state);
}

static enum rc pick_array(const struct cmd_place *p, const char *id, struct job_ids *out,
                          struct err *err)
{
    struct store_filter f = {.label_key = "array", .label_value = id};
    struct store_jobs jobs = {0};
    struct map seen = {0};
    size_t n = 0;
    enum rc rc = p->ops->list(p, &f, &jobs, err);
    if (!rc && !jobs.n)
        rc = err_coded(err, RC_NOTFOUND, E3103, "no array '%.64s'", id);
    for (size_t i = 0; i < jobs.n && !rc; i++) /* the newest first */
        if (!is_replaced(&jobs.at[i], &seen))
            jobs.at[n++] = jobs.at[i];
    while (n-- > 0 && !rc) {
        struct job_id one;
        snprintf(one.text, sizeof(one.text), "%s", jobs.at[n].id);
        one.index = array_index(&jobs.at[n]);
        VEC_PUSH(&out->list, one);
    }
    map_release(&seen);
    store_jobs_release(&jobs);
    return rc;
}

enum rc job_pick_all(const struct cmd_place *p, const char *const *texts, size_t n,
                     struct job_ids *out, struct err *err)
{
    enum rc rc = RC_OK;
    for (size_t i = 0; i < n && !rc; i++) {
        struct job_id one = {.index = -1};
        if (str_starts(texts[i], "ja-")) {
            rc = pick_array(p, texts[i], out, err);
            continue;
        }
        rc = job_pick(p, texts[i], one.text, err);
        if (!rc)
            VEC_PUSH(&out->list, one);
    }
    return rc;
}

void job_ids_release(struct job_ids *ids)
{
    VEC_RELEASE(&ids->list);
}

void job_span(int64_t from, int64_t to, char out[32])
{
    if (!from) {
        snprintf(out, 32, "-");
        return;
    }
    clock_duration((to ? to : clock_wall_ns()) - from, out);
}

enum rc job_end_status(const struct store_job *j, struct err *err)
{
    struct doc doc = {0};
    if (strcmp(j->state, "Succeeded") == 0)
        return RC_OK;
    const struct node *st = job_json_open(j->status, &doc);
    const struct node *end = node_find(st, "exit");
    int status = job_retry_status((int)node_get_int(end, "code", 1),
                                  (int)node_get_int(end, "signal", 0));
    bool stopped = strcmp(j->state, "Stopped") == 0;
    enum rc rc =
        err_coded(err, RC_CANCELED, E3012, "job %s: %s%s%s%s%.400s", j->id, j->state,
                  *j->reason ? " (" : "", j->reason, *j->reason ? ")" : "", "");
    const char *message = node_get_text(st, "message", "");
    if (*message)
        err_coded(err, rc, E3012, "job %s: %s (%s): %.400s", j->id, j->state, j->reason,
                  message);
    if (err)
        err->exit = stopped ? 3 : status ? status : 1;
    if (doc.src)
        doc_release(&doc);
    return rc;
}
