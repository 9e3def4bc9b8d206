/* SPDX-License-Identifier: Apache-2.0 */
/* Files first, then the job's own Python packages, which may take minutes: they are
 * installed by children that the loop waits for, so that a stop is heard meanwhile.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/call.h"
#include "backend/confine.h"
#include "backend/helper_env.h"
#include "backend/shim.h"
#include "backend/sup_private.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/access.h"
#include "job/file.h"
#include "job/snapshot.h"
#include "job/table.h"
#include "job/tree.h"

#define REQUIREMENTS "usercode/requirements.txt" /* of the program */
#define REQUIREMENTS_MOST ((size_t)1 << 20)

static void step(struct sup *s);

static enum rc restore_code(struct sup *s, struct err *err)
{
    char *done = fs_join(s->dir, "staged"), *code = fs_join(s->ml, "usercode");
    const char *id = s->rec.now.snapshot;
    enum rc rc = RC_OK;
    if (id[0] && !fs_exists(done)) {
        char *objects = job_place_snapshot(s->p, s->rec.row.owner, id);
        rc = job_snapshot_restore(objects, id, code, s->p->dir, err);
        mem_free(objects);
        if (!rc)
            rc = job_file_put(done, "", 0, 0600, err);
    }
    mem_free(code);
    mem_free(done);
    return rc;
}

static enum rc stage_tables(const struct sup *s, struct err *err)
{
    struct job_environ_list access;
    char *path = fs_join(s->dir, "access.json");
    job_environ_read(path, &access);
    enum rc rc = job_access_check(&s->channels, &access, err);
    if (!rc)
        rc = job_table_stage(s->ml, &s->channels, &access, err);
    job_environ_release(&access);
    mem_free(path);
    return rc;
}

static enum rc read_secrets(struct sup *s, struct err *err)
{
    char *path = fs_join(s->dir, "secrets.json");
    enum rc rc = job_secrets_read(&s->spec, path, &s->secrets, err);
    mem_free(path);
    return rc;
}

/* What was staged stays; how workers see it is asked again. */
enum rc prepare_again(struct sup *s, struct err *err)
{
    enum rc rc = backend_call_prepare(&s->job, err);
    job_contract_mounts_release(&s->mounts);
    job_contract_mounts(s->ml, &s->channels, &s->mounts);
    job_secrets_release(&s->secrets);
    return rc ? rc : read_secrets(s, err);
}

static enum rc stage(struct sup *s, enum job_reason *why, struct err *err)
{
    job_channels_release(&s->channels);
    job_secrets_release(&s->secrets);
    job_contract_mounts_release(&s->mounts);
    *why = WHY_InputMissing;
    enum rc rc = job_channels_resolve(s->p, s->rec.row.owner, &s->spec,
                                      s->spec.s->workdir, s->dir, &s->channels, err);
    if (rc && (err->code == E3007 || err->code == E3303))
        *why = WHY_OutputFailed;
    if (rc)
        return rc;
    *why = WHY_LaunchFailure;
    rc = read_secrets(s, err);
    if (!rc)
        rc = job_contract_stage(s->ml, &s->spec, &s->channels, s->job.links, err);
    if (!rc)
        rc = stage_tables(s, err);
    if (!rc)
        rc = restore_code(s, err);
    job_contract_mounts(s->ml, &s->channels, &s->mounts);
    return rc;
}

/* A virtual environment of this machine, or whatever the backend makes of it. */
static char *packages_dir(const struct sup *s)
{
    return fs_join(s->dir, s->job.ops->host_files ? "venv" : "packages");
}

static char *requirements_file(const struct sup *s)
{
    return fs_join(s->dir, s->job.ops->host_files ? "requirements.txt"
                                                  : "packages/requirements.txt");
}

/* A link could lead to files that only we may read, and an earlier attempt may still change
 * the directory; only a job that is our own may have one there.
 */
static void add_own_requirements(const struct sup *s, struct buf *b)
{
    char *text = NULL;
    size_t n = 0;
    if (s->job.isolation) {
        text = job_tree_read(s->ml, REQUIREMENTS, REQUIREMENTS_MOST, &n);
    } else {
        char *path = fs_join(s->ml, REQUIREMENTS);
        if (fs_read(path, REQUIREMENTS_MOST, &text, &n, NULL) != RC_OK)
            n = 0;
        mem_free(path);
    }
    buf_add(b, text ? text : "", n);
    mem_free(text);
}

/* requirements.txt of the program, with the spec's own behind it, in one file. */
static bool write_requirements(const struct sup *s)
{
    char *path = requirements_file(s), *dir = fs_dirname(path);
    struct buf b;
    buf_init(&b, 4 << 20);
    add_own_requirements(s, &b);
    for (int64_t i = 0; i < s->spec.s->n_requirement; i++)
        buf_printf(&b, "\n%s", s->spec.s->requirement[i]);
    buf_putc(&b, '\n');
    bool any = str_trim(str_of(buf_str(&b), b.n)).n > 0;
    if (any &&
        (fs_mkdirs(dir, 0700, NULL) || job_file_put(path, buf_str(&b), b.n, 0600, NULL)))
        any = false;
    buf_release(&b);
    mem_free(dir);
    mem_free(path);
    return any;
}

/* What has to be done before workers start, in this order; each by a process that the
 * loop waits for.
 */
enum { STEP_FETCH, STEP_VENV, STEP_INSTALL, STEP_START };

static bool packages_wanted(const struct sup *s)
{
    bool possible = s->job.ops->host_files || s->job.ops->packages;
    return possible && !confine_packages_ready(&s->job) && write_requirements(s);
}

static void packages_failed(struct sup *s, struct proc_exit exit)
{
    char text[300];
    if (s->spec.s->requirements_optional) {
        sup_warn(s, "the Python packages could not be installed; going on without them");
        attempt_start(s);
        return;
    }
    snprintf(text, sizeof(text),
             "the Python packages could not be installed; `trainyard job logs --worker "
             "prepare %s` shows why",
             s->id);
    sup_attempt_failed(s, WHY_DependencyInstall, exit.code < 0 ? 1 : exit.code, 0, text);
}

static void mark_ready(struct sup *s)
{
    char *ready = fs_join(s->dir, CONFINE_READY);
    enum rc rc = job_file_put(ready, "", 0, 0600, NULL);
    (void)rc; /* then they are installed again */
    mem_free(ready);
}

static void helper_done(void *arg, struct proc_exit exit)
{
    struct sup *s = arg;
    char text[400];
    enum job_reason why = WHY_None;
    bool good = exit.code == 0;
    proc_destroy(s->helper);
    s->helper = NULL;
    if (s->helper_step == STEP_FETCH)
        why = copies_end(s, good, text, sizeof(text));
    if (s->rec.now.stop) {
        sup_attempt_over(s);
    } else if (why != WHY_None) {
        sup_attempt_failed(s, why, -1, 0, text);
    } else if (!good) {
        packages_failed(s, exit);
    } else {
        if (s->helper_step == STEP_INSTALL)
            mark_ready(s);
        s->helper_step++;
        step(s);
    }
}

enum rc sup_helper(struct sup *s, const char *const *argv, const char *const *env,
                   loop_child_fn *done, struct err *err)
{
    char *log =
        mem_printf("%s/logs/prepare.%jd.log", s->dir, (intmax_t)s->rec.now.attempt);
    char *code = fs_join(s->ml, "usercode");
    /* By these a later supervisor finds it, should this one be killed. */
    char *id = mem_printf("TRAINYARD_JOB_ID=%s", s->id);
    char *attempt = mem_printf("TRAINYARD_ATTEMPT=%jd", (intmax_t)s->rec.now.attempt);
    const char *add[] = {id, attempt, NULL};
    struct proc_spec spec = {.argv = argv,
                             .env = env,
                             .env_add = add,
                             .cwd = code,
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_APPEND, .path = log},
                             .err = {.kind = PROC_STDOUT}};
    enum rc rc = proc_start(&spec, &s->helper, err);
    if (!rc)
        rc = loop_child_start(s->loop, &s->helper_watch, s->helper, done, s, err);
    mem_free(attempt);
    mem_free(id);
    mem_free(code);
    mem_free(log);
    return rc;
}

void sup_helper_cancel(struct sup *s)
{
    if (s->helper)
        proc_signal(s->helper, SIGKILL);
    if (s->helper && s->helper_step == STEP_INSTALL)
        backend_call_clean(&s->job, -1, true);
    confine_helper_cancel(s);
}

/* pip takes seconds to be copied, so the machine's own is used where it can be. */
static const char make_venv[] =
    "import importlib.util, sys, venv; venv.create(sys.argv[1], symlinks=True, "
    "system_site_packages=True, with_pip=sys.prefix != sys.base_prefix or "
    "importlib.util.find_spec('pip') is None)";

static enum rc start_python(struct sup *s, struct err *err)
{
    char *venv = packages_dir(s), *own = fs_join(venv, "bin/python");
    char *list = fs_join(s->dir, "requirements.txt"), *kept = fs_join(s->dir, "env.json");
    struct job_environ_list env;
    job_environ_read(kept, &env);
    char *python =
        proc_which("python3", job_environ_get(&env, "PATH")); /* the submitter's */
    const char *make[] = {python ? python : "python3", "-c", make_venv, venv, NULL};
    const char *install[] = {own,  "-m", "pip", "install", "--disable-pip-version-check",
                             "-r", list, NULL};
    struct job_contract_env ours = {0};
    backend_helper_env_fill(&ours, (const char *const *)environ,
                            s->job.isolation ? backend_helper_env_is_public_pip
                                             : backend_helper_env_is_pip);
    const char *const *argv = s->helper_step == STEP_VENV ? make : install;
    if (s->job.isolation)
        make[0] = "python3"; /* the first that the job may execute */
    enum rc rc =
        s->job.isolation
            ? confine_helper(s, argv, job_contract_env_list(&ours), helper_done, err)
            : sup_helper(s, argv, job_contract_env_list(&ours), helper_done, err);
    job_contract_env_release(&ours);
    mem_free(python);
    job_environ_release(&env);
    mem_free(kept);
    mem_free(list);
    mem_free(own);
    mem_free(venv);
    return rc;
}

/* By the backend's own means, in one step. */
static enum rc start_packages(struct sup *s, struct err *err)
{
    struct arena a = {0};
    struct job_contract_env env = {0};
    const char *const *argv = NULL;
    s->helper_step = STEP_INSTALL;
    enum rc rc = backend_call_packages(&s->job, &a, &argv, &env, err);
    if (!rc)
        rc = sup_helper(s, argv, job_contract_env_list(&env), helper_done, err);
    job_contract_env_release(&env);
    arena_release(&a);
    return rc;
}

static enum rc start_install(struct sup *s, struct err *err)
{
    return s->job.ops->host_files ? start_python(s, err) : start_packages(s, err);
}

static void step(struct sup *s)
{
    struct err err = {0};
    enum rc rc = RC_OK;
    if (s->helper_step == STEP_FETCH && !copies_wanted(s, false))
        s->helper_step = STEP_VENV;
    if (s->helper_step == STEP_VENV && !packages_wanted(s))
        s->helper_step = STEP_START;
    if (s->helper_step == STEP_START) {
        attempt_start(s);
        return;
    }
    rc = s->helper_step == STEP_FETCH ? copies_start(s, false, helper_done, &err)
                                      : start_install(s, &err);
    if (rc)
        sup_attempt_failed(s,
                           err.code == E3208              ? WHY_BackendFault
                           : s->helper_step == STEP_FETCH ? WHY_InputMissing
                                                          : WHY_DependencyInstall,
                           -1, 0, err.msg);
}

/* What a supervisor that was killed left at work. */
static void sweep_helpers(struct sup *s)
{
    char *log =
        mem_printf("%s/logs/prepare.%jd.log", s->dir, (intmax_t)s->rec.now.attempt);
    if (fs_exists(log)) {
        backend_shim_sweep(s->id, s->rec.now.attempt,
                           -1); /* of this machine, as helpers are */
        backend_call_clean(&s->job, -1, true);
    }
    mem_free(log);
}

void prepare_start(struct sup *s)
{
    struct err err = {0};
    enum job_reason why = WHY_None;
    if (!sup_on(s, PHASE_ON_PREPARE))
        return;
    s->helper_step = STEP_FETCH;
    sweep_helpers(s);
    s->job.attempt = s->rec.now.attempt;
    enum rc rc = backend_call_prepare(&s->job, &err);
    if (rc)
        why = WHY_BackendFault;
    else
        rc = stage(s, &why, &err);
    if (rc) {
        sup_attempt_failed(s, why, -1, 0, err.msg);
        return;
    }
    step(s);
}
