/* SPDX-License-Identifier: Apache-2.0 */
/* Files first, then the job's own Python packages, which may take minutes: they are
 * installed by children that the loop waits for, so that a stop is heard meanwhile.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/capacity.h"
#include "backend/sup_private.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/snapshot.h"

static void step(struct sup *s);

static bool literal_ml(const struct spec *s)
{
    if (s->shell)
        return strstr(s->shell, "/ml/") != NULL;
    for (size_t i = 0; s->argv && s->argv[i]; i++)
        if (strstr(s->argv[i], "/ml/"))
            return true;
    return false;
}

/* Decides how the job will see its tree. */
static void choose_view(struct sup *s)
{
    char *scratch = fs_join(s->dir, "root");
    s->view = VIEW_PLAIN;
    if (strcmp(s->spec.backend, "container") == 0)
        s->view = VIEW_CONTAINER;
    else if (fs_mkdirs(scratch, 0700, NULL) == RC_OK &&
             (capacity_view(s->p->dir) || view_possible(scratch, s->view_error)))
        s->view = VIEW_MOUNT;
    mem_free(scratch);
    if (s->view != VIEW_PLAIN)
        return;
    if (literal_ml(&s->spec) || s->spec.s->n_data)
        sup_warn(s, "no private /ml is possible here, so paths below /ml and mounts of "
                    "datasets do not exist; only the PAI_* variables hold real paths");
}

static enum rc restore_code(struct sup *s, struct err *err)
{
    char *done = fs_join(s->dir, "staged"), *code = fs_join(s->ml, "usercode");
    char *objects = fs_join(s->p->dir, "objects");
    enum rc rc = RC_OK;
    if (s->rec.now.snapshot[0] && !fs_exists(done)) {
        rc = snapshot_restore(objects, s->rec.now.snapshot, code, err);
        if (!rc)
            rc = file_put(done, "", 0, 0600, err);
    }
    mem_free(objects);
    mem_free(code);
    mem_free(done);
    return rc;
}

static enum rc stage(struct sup *s, enum job_reason *why, struct err *err)
{
    channels_release(&s->channels);
    secrets_release(&s->secrets);
    contract_mounts_release(&s->mounts);
    *why = WHY_InputMissing;
    enum rc rc = channels_resolve(s->p, &s->spec, s->spec.s->workdir, &s->channels, err);
    if (rc && err->code == E3007)
        *why = WHY_OutputFailed;
    if (rc)
        return rc;
    *why = WHY_LaunchFailure;
    char *path = fs_join(s->dir, "secrets.json");
    rc = secrets_read(&s->spec, path, &s->secrets, err);
    mem_free(path);
    if (!rc)
        rc = contract_stage(s->ml, &s->spec, &s->channels, s->view, err);
    if (!rc)
        rc = restore_code(s, err);
    contract_mounts(s->ml, &s->channels, &s->mounts);
    return rc;
}

static char *venv_dir(const struct sup *s)
{
    return fs_join(s->dir, "venv");
}

/* requirements.txt of the program, with the spec's own behind it, in one file. */
static bool write_requirements(const struct sup *s, char **path)
{
    char *own = fs_join(s->ml, "usercode/requirements.txt"), *text = NULL;
    size_t n = 0;
    struct buf b;
    buf_init(&b, 4 << 20);
    if (fs_exists(own) && fs_read(own, 1 << 20, &text, &n, NULL) == RC_OK)
        buf_add(&b, text, n);
    for (int64_t i = 0; i < s->spec.s->n_requirement; i++)
        buf_printf(&b, "\n%s", s->spec.s->requirement[i]);
    buf_putc(&b, '\n');
    bool any = str_trim(str_of(buf_str(&b), b.n)).n > 0;
    *path = fs_join(s->dir, "requirements.txt");
    if (any && file_put(*path, buf_str(&b), b.n, 0600, NULL))
        any = false;
    buf_release(&b);
    mem_free(text);
    mem_free(own);
    return any;
}

static void helper_done(void *arg, struct proc_exit exit)
{
    struct sup *s = arg;
    proc_destroy(s->helper);
    s->helper = NULL;
    if (exit.code == 0) {
        s->helper_step++;
        step(s);
        return;
    }
    if (s->rec.now.stop) {
        sup_attempt_over(s);
        return;
    }
    if (s->spec.s->requirements_optional) {
        sup_warn(s, "the Python packages could not be installed; going on without them");
        attempt_start(s);
        return;
    }
    sup_attempt_failed(s, WHY_DependencyInstall, exit.code < 0 ? 1 : exit.code, 0,
                       "the Python packages could not be installed; see the log of the "
                       "preparation");
}

static enum rc start_helper(struct sup *s, const char *const *argv, struct err *err)
{
    char *log =
        mem_printf("%s/logs/prepare.%jd.log", s->dir, (intmax_t)s->rec.now.attempt);
    char *code = fs_join(s->ml, "usercode");
    struct proc_spec spec = {.argv = argv,
                             .cwd = code,
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_APPEND, .path = log},
                             .err = {.kind = PROC_STDOUT}};
    enum rc rc = proc_start(&spec, &s->helper, err);
    if (!rc)
        rc = loop_child_start(s->loop, &s->helper_watch, s->helper, helper_done, s, err);
    mem_free(code);
    mem_free(log);
    return rc;
}

/* 0: make the environment, 1: install, 2: done. */
static void step(struct sup *s)
{
    struct err err = {0};
    char *venv = venv_dir(s), *ready = fs_join(venv, ".ready"), *list = NULL;
    char *pip = fs_join(venv, "bin/pip");
    const char *make[] = {"python3", "-m", "venv", "--system-site-packages", venv, NULL};
    enum rc rc = RC_OK;
    bool wanted =
        s->view != VIEW_CONTAINER && write_requirements(s, &list) && !fs_exists(ready);
    if (s->helper_step == 2 && wanted)
        rc = file_put(ready, "", 0, 0600, &err);
    if (!rc && (!wanted || s->helper_step == 2)) {
        attempt_start(s);
    } else if (!rc) {
        const char *install[] = {pip,  "install", "--disable-pip-version-check",
                                 "-r", list,      NULL};
        s->phase = SUP_PREPARING;
        rc = start_helper(s, s->helper_step == 0 ? make : install, &err);
    }
    if (rc)
        sup_attempt_failed(s, WHY_DependencyInstall, -1, 0, err.msg);
    mem_free(list);
    mem_free(pip);
    mem_free(ready);
    mem_free(venv);
}

void prepare_start(struct sup *s)
{
    struct err err = {0};
    enum job_reason why = WHY_None;
    s->phase = SUP_PREPARING;
    s->helper_step = 0;
    choose_view(s);
    enum rc rc = stage(s, &why, &err);
    if (rc) {
        sup_attempt_failed(s, why, -1, 0, err.msg);
        return;
    }
    step(s);
}

void prepare_cancel(struct sup *s)
{
    if (s->helper)
        proc_signal(s->helper, SIGKILL);
}
