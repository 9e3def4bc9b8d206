/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of this machine: the table job_ops_local answers from the store, the files of the
 * jobs directory and the agent. Its twin is job_remote.c, which asks a server; commands
 * know only the table. Whatever gives the agent work to do (submit, rerun, a request that
 * no supervisor hears) wakes it afterwards, when the record is written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/agent.h"
#include "backend/why.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "cmd/job_common.h"
#include "cmd/job_exec.h"
#include "job/log_read.h"

static enum rc local_get(const struct cmd_place *p, const char *id,
                         struct store_jobs *out, struct err *err)
{
    return store_get(p->p.store, id, out, err);
}

static enum rc local_list(const struct cmd_place *p, const struct store_filter *f,
                          struct store_jobs *out, struct err *err)
{
    return store_list(p->p.store, f, out, err);
}

static enum rc local_counts(const struct cmd_place *p, struct store_count *out,
                            size_t max, size_t *n, struct err *err)
{
    return store_counts(p->p.store, out, max, n, err);
}

static enum rc local_spec_of(const struct cmd_place *p, const char *id, char **out,
                             struct err *err)
{
    return store_spec(p->p.store, id, out, err);
}

static enum rc local_events(const struct cmd_place *p, const char *id, int64_t after,
                            struct store_events *out, struct err *err)
{
    return store_events_get(p->p.store, id, after, 0, out, err);
}

static enum rc local_points(const struct cmd_place *p, const char *id, int64_t after,
                            struct store_points *out, struct err *err)
{
    return store_points_get(p->p.store, id, NULL, after, 0, out, err);
}

static enum rc local_last_points(const struct cmd_place *p, const char *id,
                                 struct store_points *out, struct err *err)
{
    return store_points_last(p->p.store, id, out, err);
}

static enum rc local_submit(const struct cmd_place *p, struct job_spec *spec,
                            const char *cwd, struct job_submit_result *out,
                            struct err *err)
{
    enum rc rc = backend_agent_check(&p->p, getenv("TRAINYARD_SLOTS"), spec, err);
    if (!rc)
        rc = job_submit(&p->p, spec, (const char *const *)environ, cwd, out, err);
    return rc ? rc : backend_agent_wake(&p->p, err);
}

static enum rc local_ask(const struct cmd_place *p, const char *id, enum job_ask what,
                         struct job_request_result *out, struct err *err)
{
    enum rc rc = what == JOB_ASK_SUSPEND ? job_request_suspend(&p->p, id, out, err)
                 : what == JOB_ASK_RESUME
                     ? job_request_resume(&p->p, id, out, err)
                     : job_request_stop(&p->p, id, what == JOB_ASK_KILL, out, err);
    return !rc && out->alone ? backend_agent_wake(&p->p, err) : rc;
}

static enum rc local_rerun(const struct cmd_place *p, const char *id,
                           struct job_submit_result *out, struct err *err)
{
    struct job_spec spec = {0};
    char *text = NULL;
    enum rc rc = store_spec(p->p.store, id, &text, err);
    if (!rc)
        rc = job_spec_from_json(text, &spec, err);
    if (!rc && spec.s->has_client_token) { /* it would be the old job */
        node_remove(spec.conf.doc.root, "client_token");
        rc = job_spec_again(&spec, err);
    }
    if (!rc)
        rc = job_submit(&p->p, &spec, (const char *const *)environ, spec.s->workdir, out,
                        err);
    if (!rc)
        rc = backend_agent_wake(&p->p, err);
    job_spec_release(&spec);
    mem_free(text);
    return rc;
}

static enum rc local_why(const struct cmd_place *p, const char *id, struct buf *out,
                         struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(p->p.store, id, &jobs, err);
    if (!rc)
        rc = backend_why(&p->p, getenv("TRAINYARD_SLOTS"), &jobs.at[0], out, err);
    store_jobs_release(&jobs);
    return rc;
}

static enum rc local_log_part(const struct cmd_place *p, const char *id, int64_t worker,
                              int64_t attempt, int64_t *at, struct buf *out,
                              struct err *err)
{
    int64_t gap = 0;
    char block[65536], *path = job_place_log(&p->p, id, worker, attempt);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    mem_free(path);
    if (fd < 0)
        return RC_OK;
    ssize_t n = job_log_read(fd, block, sizeof(block), at, &gap);
    if (n > 0) {
        job_log_gap(gap, out);
        buf_add(out, block, (size_t)n);
        *at += n;
    }
    close(fd);
    return RC_OK;
}

static enum rc local_log_tail(const struct cmd_place *p, const char *id, int64_t worker,
                              int64_t attempt, int64_t lines, int64_t *out,
                              struct err *err)
{
    struct fs_map m = {0};
    char *path = job_place_log(&p->p, id, worker, attempt);
    *out = 0;
    if (fs_map(path, &m, NULL) == RC_OK) {
        size_t at = m.n;
        if (at && m.data[at - 1] == '\n')
            at--;
        while (at > 0) {
            if (m.data[at - 1] == '\n' && --lines <= 0)
                break;
            at--;
        }
        fs_unmap(&m);
        *out = (int64_t)at;
    }
    mem_free(path);
    return RC_OK;
}

static enum rc local_log_moment(const struct cmd_place *p, const char *id, int64_t worker,
                                int64_t attempt, int64_t ms, int64_t *at, struct err *err)
{
    char *path = job_place_log(&p->p, id, worker, attempt);
    *at = job_log_moment(path, ms);
    mem_free(path);
    return RC_OK;
}

static enum rc local_outputs(const struct cmd_place *p, const char *id,
                             struct job_outputs *out, struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(p->p.store, id, &jobs, err);
    store_jobs_release(&jobs);
    return rc ? rc : job_outputs_read(&p->p, id, out, err);
}

static enum rc local_output(const struct cmd_place *p, const char *id,
                            const struct job_output *o, int64_t at, char version[80],
                            struct buf *out, struct err *err)
{
    struct stat st;
    int fd = -1;
    char now[80];
    enum rc rc = job_output_open(&p->p, id, o->channel, o->path, &fd, &st, err);
    if (rc)
        return rc;
    snprintf(now, sizeof(now), "%jx-%jx-%jx", (uintmax_t)st.st_size,
             (uintmax_t)st.st_mtim.tv_sec, (uintmax_t)st.st_mtim.tv_nsec);
    if (*version && strcmp(version, now) != 0)
        rc = err_coded(err, RC_CANCELED, E5503, "the file was changed meanwhile");
    memcpy(version, now, sizeof(now));
    char *block = mem_alloc(JOB_OUTPUT_PART);
    ssize_t n = rc ? 0 : pread(fd, block, JOB_OUTPUT_PART, at);
    if (n < 0)
        rc = err_sys(err, errno, "cannot read '%s'", o->path);
    else
        buf_add(out, block, (size_t)n);
    mem_free(block);
    close(fd);
    return rc;
}

/* The data must be there, and its name without links, so that it stays the same. */
static enum rc real_path(struct store_dataset *d, struct arena *a, struct err *err)
{
    char *real = realpath(d->uri, NULL);
    if (!real)
        return err_coded(err, RC_NOTFOUND, E3301, "--path: '%.200s': %s", d->uri,
                         strerror(errno));
    d->uri = arena_strdup(a, real);
    free(real);
    return RC_OK;
}

static enum rc local_dataset_create(const struct cmd_place *p, struct store_dataset *d,
                                    struct arena *a, struct err *err)
{
    char id[JOB_ID_SIZE];
    bool local = strcmp(d->type, "local") == 0 || strcmp(d->type, "nas") == 0;
    enum rc rc = local ? real_path(d, a, err) : RC_OK;
    if (!rc)
        rc = job_id_new(id, err);
    if (rc)
        return rc;
    d->id = arena_printf(a, "d-%s", id + 3);
    d->owner = p->owner;
    d->created = clock_wall_ns();
    return store_dataset_create(p->p.store, d, err);
}

static enum rc local_dataset_get(const struct cmd_place *p, const char *name,
                                 struct store_datasets *out, struct err *err)
{
    return store_dataset_get(p->p.store, name, out, err);
}

static enum rc local_dataset_delete(const struct cmd_place *p, const char *name,
                                    struct err *err)
{
    return store_dataset_delete(p->p.store, name, err);
}

const struct job_ops job_ops_local = {
    .name = "local",
    .here = true,
    .team = &team_ops_local,
    .storage = &storage_ops_local,
    .models = &registry_ops_local,
    .nap_ns = 50000000,
    .get = local_get,
    .list = local_list,
    .counts = local_counts,
    .spec = local_spec_of,
    .events = local_events,
    .points = local_points,
    .last_points = local_last_points,
    .submit = local_submit,
    .ask = local_ask,
    .rerun = local_rerun,
    .why = local_why,
    .exec = job_exec_local,
    .log = local_log_part,
    .log_tail = local_log_tail,
    .log_moment = local_log_moment,
    .outputs = local_outputs,
    .output = local_output,
    .dataset_create = local_dataset_create,
    .dataset_get = local_dataset_get,
    .dataset_delete = local_dataset_delete,
};
