/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "cmd/job_common.h"

static enum rc model_create_local(const struct cmd_place *p, const char *job,
                                  const struct job_model_new *n, int64_t *version,
                                  struct err *err)
{
    struct store_jobs jobs = {0};
    enum rc rc = store_get(p->p.store, job, &jobs, err);
    if (!rc)
        rc = job_model_register(&p->p, &jobs.at[0], n, version, err);
    store_jobs_release(&jobs);
    return rc;
}

static enum rc model_get_local(const struct cmd_place *p, const char *name,
                               int64_t version, struct store_models *out, struct err *err)
{
    return store_model_get(p->p.store, name, version, out, err);
}

static enum rc model_files_local(const struct cmd_place *p, const struct store_model *m,
                                 struct job_outputs *out, struct err *err)
{
    return job_model_files(&p->p, m, out, err);
}

static enum rc model_file_local(const struct cmd_place *p, const struct store_model *m,
                                const char *path, int64_t at, char version[80],
                                struct buf *out, struct err *err)
{
    struct job_model_file *f = NULL;
    enum rc rc = job_model_file_open(&p->p, m, path, &f, err);
    if (rc)
        return rc;
    char *block = mem_alloc(JOB_OUTPUT_PART);
    ssize_t n = job_model_file_read(f, at, block, JOB_OUTPUT_PART);
    if (n < 0)
        rc = err_set(err, RC_IO, "cannot read '%s' of the model", path);
    else
        buf_add(out, block, (size_t)n);
    mem_free(block);
    job_model_file_close(f);
    return rc;
}

static enum rc model_delete_local(const struct cmd_place *p, const struct store_model *m,
                                  struct err *err)
{
    return store_model_delete(p->p.store, m->name, m->version, err);
}

const struct registry_ops registry_ops_local = {
    .create = model_create_local,
    .get = model_get_local,
    .files = model_files_local,
    .file = model_file_local,
    .delete_version = model_delete_local,
};
