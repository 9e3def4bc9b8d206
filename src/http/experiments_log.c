/* SPDX-License-Identifier: Apache-2.0 */
/* The two files that an experiment is made of, and what its trials printed, part by part:
 * a client that has the two files knows all about the experiment.
 */
#include <fcntl.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "http/api_private.h"
#include "http/experiments.h"
#include "http/handlers.h"
#include "tune/served.h"

#define PART ((size_t)512 << 10)
#define SETTINGS_MAX ((size_t)16 << 20)

/* From where the query says; closes `fd`. */
static void put_part(struct http_call *c, int fd)
{
    int64_t from = http_schema_int(c->query, "offset", 0);
    char *part = mem_alloc(PART);
    ssize_t n = fd < 0 ? 0 : pread(fd, part, PART, (off_t)from);
    if (n > 0)
        buf_add(&c->out, part, (size_t)n);
    mem_free(part);
    if (fd >= 0)
        close(fd);
}

enum rc http_get_experiment_settings(struct http_call *c, struct err *err)
{
    char *dir = NULL, *text = NULL;
    size_t n = 0;
    enum rc rc = http_experiments_dir(c, c->params[0], &dir, err);
    if (!rc) {
        char *path = fs_join(dir, "experiment.json");
        rc = fs_read(path, SETTINGS_MAX, &text, &n, err);
        mem_free(path);
    }
    if (!rc)
        buf_add(&c->out, text, n);
    mem_free(text);
    mem_free(dir);
    return rc;
}

enum rc http_get_experiment_log(struct http_call *c, struct err *err)
{
    char *dir = NULL;
    enum rc rc = http_experiments_dir(c, c->params[0], &dir, err);
    if (!rc) {
        char *path = fs_join(dir, "log.jsonl");
        put_part(c, open(path, O_RDONLY | O_CLOEXEC));
        mem_free(path);
    }
    mem_free(dir);
    return rc;
}

/* NNI's client sends what a trial prints to trial.log; other programs write to the log of
 * the job. The trial of an experiment without an owner may lie anywhere: of that one the
 * log of the job alone. */
static enum rc put_trial_log(struct http_call *c, const struct experiment *e, bool alive,
                             struct err *err)
{
    const struct exp_trial *t = experiment_trial_find(e, c->params[1]);
    struct store_jobs row = {0};
    if (!t)
        return err_coded(err, RC_NOTFOUND, E4008, "experiment %s has no trial '%s'",
                         e->set.id, c->params[1]);
    if (!t->job[0])
        return err_coded(err, RC_NOTFOUND, E4008, "trial %s has no job yet", t->id);
    enum rc rc = store_get(c->place.store, t->job, &row, err);
    if (rc)
        return rc;
    int fd = *e->set.owner ? tune_served_open(&c->place, t->job, "trial.log") : -1;
    if (fd < 0) {
        char *path = job_place_log(&c->place, t->job, 0, row.at[0].attempt);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        mem_free(path);
    }
    put_part(c, fd);
    store_jobs_release(&row);
    return RC_OK;
}

enum rc http_get_trial_log(struct http_call *c, struct err *err)
{
    return http_experiments_with(c, c->params[0], put_trial_log, err);
}
