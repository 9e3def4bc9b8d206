/* SPDX-License-Identifier: Apache-2.0 */
/* What a supervisor does differently for a job that is not its own user's. The job owns its
 * program's directory, its outputs and its packages; the configuration and the inputs stay
 * the server's, so that what a second attempt writes there cannot be led elsewhere by links
 * of the first.
 */
#include "backend/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "backend/isolate.h"
#include "backend/shim.h"
#include "base/fs.h"
#include "base/mem.h"

#define GRACE_S 1.0                     /* for a helper that is told to stop */
#define MACHINE_SHARE(n) ((n) / 10 * 9) /* of its memory, for a job that names none */

enum rc confine_tree(const struct backend_job *j, struct err *err)
{
    static const char *const names[] = {
        "ml/usercode", "ml/output", "ml/input/credential", "venv",
        "tmp",         "remote",    "requirements.txt",    "packages",
        NULL};
    if (!j->isolation || !j->isolation->uid)
        return RC_OK;
    uid_t uid = (uid_t)j->isolation->uid;
    char *tmp = fs_join(j->dir, "tmp");
    enum rc rc = fs_mkdirs(tmp, 0700, err);
    mem_free(tmp);
    if (j->isolation->own)
        return rc; /* it is the job's as it is ours */
    return rc ? rc : isolate_own(j->dir, names, uid, (gid_t)uid, err);
}

bool confine_packages_ready(const struct backend_job *j)
{
    char *ready = fs_join(j->dir, CONFINE_READY);
    bool there = fs_exists(ready);
    mem_free(ready);
    return there;
}

char *confine_run(const struct backend_job *j, int64_t worker)
{
    char *first =
        mem_printf("%s/run/%jd.%jd", j->dir, (intmax_t)worker, (intmax_t)j->attempt);
    char *run = mem_strdup(first);
    for (int64_t life = 1;; life++) {
        char *next = mem_printf("%s-%jd", first, (intmax_t)life);
        if (!fs_exists(next)) {
            mem_free(next);
            mem_free(first);
            return run;
        }
        mem_free(run);
        run = next;
    }
}

/* That of a worker which another supervisor started; -1: none runs. */
static int find_network(const struct backend_job *j)
{
    int fd = -1;
    for (int64_t i = 0; i < j->spec->workers && fd < 0; i++) {
        char *run = confine_run(j, i);
        struct backend_shim shim;
        char path[64];
        if (fs_exists(run) && backend_shim_attach(run, &shim)) {
            snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)shim.worker);
            fd = open(path, O_RDONLY | O_CLOEXEC);
            backend_shim_release(&shim);
        }
        mem_free(run);
    }
    return fd;
}

/* Workers of one job share a network, so that they find each other. */
static enum rc open_network(struct backend_job *j, struct err *err)
{
    if (!j->isolation->no_network || j->network >= 0)
        return RC_OK;
    j->network = find_network(j);
    if (j->network < 0)
        j->network = jail_network();
    return j->network < 0 ? err_sys(err, errno, "cannot make a network for the job")
                          : RC_OK;
}

enum rc confine_jail(struct backend_job *j, const struct backend_worker *w,
                     struct arena *a, const struct jail **out, struct err *err)
{
    const struct job_isolation_job *i = j->isolation;
    if (!i->uid)
        return err_coded(err, RC_INVAL, E3203,
                         "this server runs jobs with an image only");
    if (i->own && i->no_network && j->spec->workers > 1)
        return err_coded(err, RC_UNSUPPORTED, E3205,
                         "workers without a network cannot find each other unless the "
                         "server is root: ask for one worker");
    enum rc rc = i->own ? RC_OK : open_network(j, err);
    struct jail *jail = arena_alloc(a, sizeof(*jail));
    *jail = (struct jail){.uid = (uid_t)i->uid,
                          .gid = (gid_t)i->uid,
                          .own = i->own,
                          .alone = i->own && i->no_network,
                          .also = i->hide[0] ? i->hide : NULL,
                          .hide = j->p->dir,
                          .job = j->dir,
                          .tmp = arena_printf(a, "%s/tmp", j->dir),
                          .shm = w ? w->role->memory : 0,
                          .gpus = w && w->role->gpu > 0,
                          .file_bytes = i->file_bytes,
                          .processes = i->processes,
                          .network = j->network};
    *out = jail;
    return rc;
}

void confine_mounts(const struct backend_job *j, struct arena *a,
                    struct backend_view_mount out[CONFINE_MOUNTS], size_t *n)
{
    static const char *const writable[] = {"usercode", "output"};
    bool own = j->isolation && j->isolation->own;
    *n = 0;
    out[(*n)++] =
        (struct backend_view_mount){.from = j->ml, .to = "/ml", .read_only = own};
    for (size_t i = 0; own && i < ARRAY_LEN(writable); i++) {
        char *from = fs_join(j->ml, writable[i]);
        if (fs_is_dir(from))
            out[(*n)++] =
                (struct backend_view_mount){.from = arena_strdup(a, from),
                                            .to = arena_printf(a, "/ml/%s", writable[i])};
        mem_free(from);
    }
}

struct cgroup_limits confine_limits(const struct backend_job *j,
                                    const struct backend_worker *w)
{
    struct cgroup_limits l = {.memory = w->role->memory};
    struct sysinfo machine;
    if (!j->isolation)
        return l;
    if (!l.memory && sysinfo(&machine) == 0)
        l.memory = MACHINE_SHARE((int64_t)machine.totalram * machine.mem_unit);
    l.cpu_milli = w->role->cpu_milli;
    l.processes = j->isolation->processes;
    return l;
}

void confine_env(const struct backend_job *j, struct job_contract_env *e)
{
    static const struct {
        const char *name, *value;
        bool always;
    } own[] = {{"HOME", "/tmp", true},        {"TMPDIR", "/tmp", true},
               {"USER", "job", true},         {"LOGNAME", "job", true},
               {"SHELL", "/bin/sh", true},    {"XDG_RUNTIME_DIR", "/tmp", false},
               {"DOCKER_HOST", "", false},    {"DOCKER_CONFIG", "/tmp", false},
               {"CONTAINERS_CONF", "", false}};
    for (size_t i = 0; j->isolation && i < ARRAY_LEN(own); i++)
        if (own[i].always || job_contract_env_get(e, own[i].name))
            job_contract_env_put(e, own[i].name, own[i].value);
}

void confine_release(struct backend_job *j)
{
    if (j->network >= 0)
        close(j->network);
    j->network = -1;
}
