/* SPDX-License-Identifier: Apache-2.0 */
/* cmd/job_flags.h - the flags that make a job, for all commands that do. */
#ifndef CMD_JOB_FLAGS_H
#define CMD_JOB_FLAGS_H

#include "base/opt.h"
#include "job/spec.h"

/* A member `flags` of a command's conf. Each field is one of the job file. */
struct job_flags {
    const char *name, *source, *image, *workers, *nproc, *cpu, *memory, *gpu, *priority,
        *queue, *project, *timeout, *queue_timeout, *grace, *hang, *retries, *retry_on,
        *backoff, *backoff_max, *restart, *success, *backend, *client_token, *job_type,
        *array;
    struct opt_list hp, input, output, data, env, secret, metric, label, requirement,
        role, extra, after, after_ok, backend_option;
    bool requirements_optional, inherit, preemptible;
};

#define JOB_FLAG(T, field, help_, meta_)                     \
    {                                                        \
        OPT_TEXT(T, flags.field, NULL, help_), .meta = meta_ \
    }
#define JOB_FLAG_LIST(T, field, help_, meta_)          \
    {                                                  \
        OPT_LIST(T, flags.field, help_), .meta = meta_ \
    }

/* clang-format off */
#define JOB_FLAGS_OPTS(T) \
    {OPT_HEADING("What")}, \
    JOB_FLAG(T, name, "display name; default: the program's name", "NAME"), \
    JOB_FLAG(T, source, "copy this directory; the command runs in the copy", "DIR"), \
    JOB_FLAG_LIST(T, hp, "hyperparameter", "NAME=VALUE"), \
    JOB_FLAG_LIST(T, input, "input channel: a path or dataset", "CHANNEL=PATH"), \
    JOB_FLAG_LIST(T, output, "output channel: directory or URI to store it", "CHANNEL=PATH"), \
    JOB_FLAG_LIST(T, data, "mount a dataset", "NAME[:/PATH]"), \
    JOB_FLAG_LIST(T, env, "environment variable; NAME alone copies it from here", "NAME=VALUE"), \
    {OPT_BOOL(T, flags.inherit, "false", "pass the whole current environment")}, \
    JOB_FLAG_LIST(T, secret, "environment variable whose value is never shown", "NAME"), \
    JOB_FLAG_LIST(T, metric, "metric to parse from the log: a regex with one group", "NAME=REGEX"), \
    JOB_FLAG_LIST(T, label, "label to filter lists by", "NAME=VALUE"), \
    JOB_FLAG_LIST(T, requirement, "Python package to install before the start", "SPEC"), \
    {OPT_BOOL(T, flags.requirements_optional, "false", \
              "continue if packages cannot be installed")}, \
    {OPT_HEADING("Where")}, \
    JOB_FLAG(T, workers, "number of workers; default 1", "N"), \
    JOB_FLAG_LIST(T, role, "workers by role: master, worker, ps, ...", "NAME=N[,cpu=..]"), \
    JOB_FLAG(T, nproc, "NPROC_PER_NODE; default: GPUs, at least 1", "N"), \
    JOB_FLAG(T, cpu, "CPUs per worker: 2, 0.5, 500m; default 1", "N"), \
    JOB_FLAG(T, memory, "memory per worker: 4Gi; default: no limit", "SIZE"), \
    JOB_FLAG(T, gpu, "GPUs per worker; default 0", "N"), \
    JOB_FLAG(T, image, "container image", "IMAGE"), \
    JOB_FLAG(T, backend, "where it runs; default: by --image", "NAME"), \
    JOB_FLAG_LIST(T, backend_option, "setting of the backend, such as shm_size=8Gi", "NAME=VALUE"), \
    JOB_FLAG(T, job_type, "PyTorchJob, TFJob, XGBoostJob, ...; default PyTorchJob", "TYPE"), \
    JOB_FLAG(T, queue, "name of the queue; default: the queue named default", "Q"), \
    JOB_FLAG(T, project, "project to charge the job to", "P"), \
    JOB_FLAG(T, priority, "1 to 9, highest first; default 1", "N"), \
    {OPT_BOOL(T, flags.preemptible, "false", \
              "may make room for a job of higher priority: stopped, and queued again")}, \
    {OPT_HEADING("When")}, \
    JOB_FLAG_LIST(T, after, "start when this job, or all of an array, has ended", "ID"), \
    JOB_FLAG_LIST(T, after_ok, "start when it has succeeded; fail if it does not", "ID"), \
    JOB_FLAG(T, array, "submit one job per index: 10, 1-8, 1-9:2 or 1,4,7; %4: four at a time", "INDEXES"), \
    {OPT_HEADING("How long, how often")}, \
    JOB_FLAG(T, timeout, "maximum run time", "D"), \
    JOB_FLAG(T, queue_timeout, "maximum time in the queue", "D"), \
    JOB_FLAG(T, grace, "time between SIGTERM and SIGKILL; default 30s", "D"), \
    JOB_FLAG(T, hang, "time without output that counts as a hang", "D"), \
    JOB_FLAG(T, retries, "restarts after transient failures; default 0", "N"), \
    JOB_FLAG(T, retry_on, "exit statuses of transient failures; default 75,128-255", "CODES"), \
    JOB_FLAG(T, backoff, "delay before the first restart; default 10s", "D"), \
    JOB_FLAG(T, backoff_max, "maximum delay before a restart; default 10m", "D"), \
    JOB_FLAG(T, restart, "what to restart: job or worker; default job", "SCOPE"), \
    JOB_FLAG(T, success, "whose success counts: all or chief; default all", "WHO")
/* clang-format on */

/* Is any of them given? */
bool job_flags_any(const struct opt *opts, const void *conf);
/* Reads the job from flags (rows of `opts` whose field begins with "flags."), from a file
 * when an argument names one, and from the words behind `--`. `skip`: arguments before
 * the file that are the command's own. What is wrong in it is shown here; the message is
 * empty then. Release the spec in any case.
 */
enum rc job_flags_load(const struct opt *opts, const void *conf,
                       const struct opt_args *args, size_t skip, struct job_spec *spec,
                       struct err *err) MUST_CHECK;

#endif
