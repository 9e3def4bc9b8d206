/* SPDX-License-Identifier: Apache-2.0 */
/* pip runs what packages bring, so for a job of a server's user it runs as that job does:
 * under a shim, in a jail, with the job's packages in its view.
 */
#include <signal.h>
#include <string.h>

#include "backend/confine.h"
#include "backend/sup_private.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/space.h"

#define GRACE_S 1.0 /* for a helper that is told to stop */

static char *helper_run(const struct sup *s)
{
    return mem_printf("%s/run/helper.%jd.%d", s->dir, (intmax_t)s->rec.now.attempt,
                      s->helper_step);
}

static void helper_over(void *arg, int fd, unsigned events)
{
    struct sup *s = arg;
    struct backend_shim_exit exit;
    char *run = helper_run(s);
    loop_fd_stop(&s->helper_fd);
    backend_shim_ended(&s->helper_shim);
    if (!backend_shim_exit_read(run, &exit))
        exit = (struct backend_shim_exit){.code = -1, .signal = SIGKILL};
    backend_shim_release(&s->helper_shim);
    mem_free(run);
    s->helper_end(s, (struct proc_exit){.code = exit.code, .signal = exit.signal});
}

static void fill_helper_env(const struct sup *s, const char *const *env,
                            struct job_contract_env *out)
{
    for (; *env; env++) {
        size_t n = strcspn(*env, "=");
        char *name = mem_strndup(*env, n);
        job_contract_env_put(out, name, *env + n + 1);
        mem_free(name);
    }
    confine_env(&s->job, out);
    job_contract_env_put(out, "TRAINYARD_JOB_ID", s->id);
}

static enum rc start_helper(struct sup *s, struct backend_shim_spec *spec,
                            struct arena *a, struct err *err)
{
    int status = 0;
    enum rc rc = confine_tree(&s->job, err);
    if (!rc)
        rc = confine_jail(&s->job, NULL, a, &spec->jail, err);
    if (!rc)
        rc = fs_mkdirs(spec->scratch, 0700, err);
    if (!rc)
        rc = backend_shim_start(spec, &s->helper_shim, &status, err);
    if (!rc)
        rc = loop_fd_start(s->loop, &s->helper_fd, s->helper_shim.pidfd, LOOP_READ,
                           helper_over, s, err);
    return rc;
}

enum rc confine_helper(struct sup *s, const char *const *argv, const char *const *env,
                       loop_child_fn *done, struct err *err)
{
    static const char *const none[] = {NULL};
    struct arena a = {0};
    struct job_contract_env own = {0};
    char *run = helper_run(s);
    const char *venv = arena_printf(&a, "%s/venv", s->dir);
    const char *list = arena_printf(&a, "%s/requirements.txt", s->dir);
    struct backend_view_mount mounts[CONFINE_MOUNTS + 2];
    size_t n;
    confine_mounts(&s->job, &a, mounts, &n);
    mounts[n++] = (struct backend_view_mount){.from = venv, .to = venv};
    mounts[n++] =
        (struct backend_view_mount){.from = list, .to = list, .read_only = true};
    fill_helper_env(s, env, &own);
    struct backend_shim_spec spec = {.run = run,
                                     .log_most = job_space_log(s->p->dir),
                                     .log = arena_printf(&a, "%s/logs/prepare.%jd.log",
                                                         s->dir,
                                                         (intmax_t)s->rec.now.attempt),
                                     .argv = argv,
                                     .env = job_contract_env_list(&own),
                                     .cwd = "/ml/usercode",
                                     .grace_s = GRACE_S,
                                     .secrets = none,
                                     .scratch = arena_printf(&a, "%s/root", s->dir),
                                     .mounts = mounts,
                                     .n_mounts = n};
    s->helper_end = done;
    enum rc rc = fs_mkdirs(venv, 0700, err);
    if (!rc)
        rc = start_helper(s, &spec, &a, err);
    job_contract_env_release(&own);
    arena_release(&a);
    mem_free(run);
    return rc;
}

void confine_helper_cancel(struct sup *s)
{
    if (s->helper_fd.loop)
        backend_shim_signal(&s->helper_shim, SIGINT);
}

void confine_helper_release(struct sup *s)
{
    if (!s->helper_fd.loop)
        return;
    loop_fd_stop(&s->helper_fd);
    backend_shim_kill(&s->helper_shim);
    backend_shim_release(&s->helper_shim);
}
