/* SPDX-License-Identifier: Apache-2.0 */
/* The shim does the work (shim.h): as long as it holds its lock the worker lives, its pidfd
 * tells that the worker has ended, and its exit record tells how. This file translates that
 * into the calls of backend.h. The name of a control group lies beside the run file, for a
 * supervisor that takes over.
 */
#include "backend/process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/cgroup.h"
#include "backend/confine.h"
#include "base/fs.h"
#include "base/mem.h"
#include "job/file.h"
#include "job/space.h"

struct process {
    struct backend_shim shim;
    bool live;
    char *cgroup; /* owned: limits what it uses; NULL: none */
};

static struct process *process_of(struct backend_worker *w)
{
    if (!w->own) {
        struct process *p = mem_calloc(1, sizeof(*p));
        p->shim.pidfd = -1;
        w->own = p;
    }
    return w->own;
}

static char *cgroup_file(const struct backend_worker *w)
{
    return mem_printf("%s.cgroup", w->handle);
}

/* Memory and processes that could be limited when the server began must be. Processors:
 * the older kind of groups refuses more than the server itself has, which is no danger.
 */
static enum rc check_limits(struct backend_job *j, const struct cgroup_limits *want,
                            const struct cgroup_limits *got, const char *why,
                            struct err *err)
{
    struct job_isolation_held held = {0};
    if (j->isolation)
        held = j->isolation->held;
    bool memory = held.memory && want->memory && !got->memory;
    if (memory || (held.processes && want->processes && !got->processes))
        return err_set(err, RC_IO, "cannot limit the %s of a worker: %s",
                       memory ? "memory" : "processes", why);
    if (held.cpu && want->cpu_milli && !got->cpu_milli)
        j->warn(j, "the processors of a worker could not be limited");
    return RC_OK;
}

static enum rc limit_use(struct backend_job *j, const struct backend_worker *w,
                         struct process *p, struct cgroup_limits *got, struct err *err)
{
    struct err why = {0};
    struct cgroup_limits want = confine_limits(j, w);
    if (!want.memory && !want.cpu_milli && !want.processes)
        return RC_OK;
    char *name = mem_printf("trainyard-%s-%jd.%jd", j->id, (intmax_t)w->index,
                            (intmax_t)j->attempt);
    char *file = cgroup_file(w);
    if (backend_cgroup_create(name, &want, got, &p->cgroup, &why) == RC_OK &&
        job_file_put(file, p->cgroup, strlen(p->cgroup), 0600, &why)) {
        backend_cgroup_destroy(p->cgroup);
        mem_free(p->cgroup);
        p->cgroup = NULL;
        *got = (struct cgroup_limits){0};
    }
    mem_free(file);
    mem_free(name);
    return check_limits(j, &want, got,
                        why.msg[0] ? why.msg : "the control group does not let us", err);
}

/* Of a worker that another supervisor started. */
static void find_cgroup(const struct backend_worker *w, struct process *p)
{
    char *file = cgroup_file(w);
    size_t n = 0;
    if (!p->cgroup && fs_exists(file) &&
        fs_read(file, 4096, &p->cgroup, &n, NULL) != RC_OK)
        p->cgroup = NULL;
    mem_free(file);
}

/* Removes the group; whether the kernel ended a process in it for its memory. The group is
 * all that tells, so that is written down first: whoever asks again, also the supervisor
 * behind one that died in between, hears the same.
 */
static bool leave_cgroup(const struct backend_worker *w, struct process *p)
{
    char *file = mem_printf("%s.starved", w->handle);
    bool noted = fs_exists(file);
    find_cgroup(w, p);
    bool starved = noted || (p->cgroup && backend_cgroup_kills(p->cgroup) > 0);
    if (starved && !noted)
        noted = job_file_put(file, "1\n", 2, 0600, NULL) == RC_OK;
    if (p->cgroup && noted == starved)
        backend_cgroup_destroy(p->cgroup);
    mem_free(file);
    return starved;
}

enum rc backend_process_start(struct backend_job *j, struct backend_worker *w,
                              struct backend_shim_spec *spec, bool limit, struct err *err)
{
    struct process *p = process_of(w);
    struct cgroup_limits got = {0};
    struct jail jail;
    enum rc rc = limit ? limit_use(j, w, p, &got, err) : RC_OK;
    if (spec->jail && got.processes) {
        jail = *spec->jail;
        jail.processes = 0; /* the group counts those of this worker alone */
        spec->jail = &jail;
    }
    spec->run = w->handle;
    spec->log = w->log;
    spec->log_most = job_space_log(j->p->dir);
    spec->grace_s = j->spec->grace_s;
    spec->cgroup = p->cgroup;
    if (!rc)
        rc = backend_shim_start(spec, &p->shim, &j->launch_status, err);
    if (rc) {
        leave_cgroup(w, p);
        return rc;
    }
    p->live = true;
    w->fd = p->shim.pidfd;
    w->pid = p->shim.worker;
    w->limited = got.memory > 0;
    return RC_OK;
}

enum backend_state backend_process_reattach(struct backend_job *j,
                                            struct backend_worker *w)
{
    struct process *p = process_of(w);
    struct backend_shim_exit exit;
    p->live = backend_shim_attach(w->handle, &p->shim);
    if (p->live) {
        w->fd = p->shim.pidfd;
        w->pid = p->shim.worker;
        find_cgroup(w, p);
        w->limited = p->cgroup && backend_cgroup_holds_memory(p->cgroup);
        return BACKEND_RUNNING;
    }
    if (backend_shim_exit_read(w->handle, &exit))
        return BACKEND_ENDED;
    return fs_exists(w->handle) ? BACKEND_LOST : BACKEND_NONE;
}

enum backend_state backend_process_poll(struct backend_job *j, struct backend_worker *w,
                                        struct backend_exit *out)
{
    struct process *p = process_of(w);
    struct backend_shim_exit exit;
    if (p->live && !backend_shim_ended(&p->shim))
        return BACKEND_RUNNING;
    p->live = false;
    bool starved = leave_cgroup(w, p);
    if (!backend_shim_exit_read(w->handle, &exit)) {
        *out = (struct backend_exit){
            .code = -1, .signal = SIGKILL, .out_of_memory = starved};
        return BACKEND_LOST;
    }
    *out = (struct backend_exit){.code = exit.code,
                                 .signal = exit.signal,
                                 .cpu_s = exit.cpu_s,
                                 .rss_bytes = exit.rss_bytes,
                                 .ended = exit.ended,
                                 .out_of_memory = starved,
                                 .log_cut = exit.log_cut};
    return BACKEND_ENDED;
}

void backend_process_signal(struct backend_job *j, struct backend_worker *w,
                            enum backend_signal s)
{
    static const int numbers[] = {[BACKEND_STOP] = SIGTERM,
                                  [BACKEND_KILL] = SIGINT,
                                  [BACKEND_PAUSE] = SIGUSR1,
                                  [BACKEND_RESUME] = SIGUSR2};
    struct process *p = process_of(w);
    if (!p->live)
        return;
    if (s == BACKEND_DESTROY)
        backend_shim_kill(&p->shim);
    else
        backend_shim_signal(&p->shim, numbers[s]);
}

void backend_process_release(struct backend_job *j, struct backend_worker *w)
{
    struct process *p = w->own;
    if (p) {
        backend_shim_release(&p->shim);
        mem_free(p->cgroup);
        mem_free(p);
    }
    w->own = NULL;
    w->fd = -1;
}

void backend_process_clean(struct backend_job *j, int64_t worker, bool lost)
{
    if (lost)
        backend_shim_sweep(j->id, j->attempt, worker);
}

/* Fields of /proc/PID/stat behind the name, which may hold anything. */
static bool read_stat(const char *pid, int64_t *session, int64_t *ticks, int64_t *pages)
{
    char path[300], text[1024];
    snprintf(path, sizeof(path), "/proc/%.200s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *name_end = strrchr(text, ')');
    if (!name_end)
        return false;
    struct str rest = str_c(name_end + 2), word;
    int64_t v[22] = {0};
    for (size_t i = 0; i < ARRAY_LEN(v) && str_split(&rest, ' ', &word); i++)
        if (!str_to_i64(word, &v[i]))
            v[i] = 0;
    *session = v[3];
    *ticks = v[11] + v[12];
    *pages = v[21];
    return true;
}

static void add_sample(struct backend_worker *const *w, size_t n, const char *pid,
                       struct backend_usage *out)
{
    int64_t session, ticks, pages;
    if (!read_stat(pid, &session, &ticks, &pages))
        return;
    for (size_t i = 0; i < n; i++) {
        const struct process *p = w[i]->own;
        if (p && p->live && p->shim.pid == session) {
            out[i].rss += pages * sysconf(_SC_PAGESIZE);
            out[i].cpu_s += (double)ticks / (double)sysconf(_SC_CLK_TCK);
        }
    }
}

void backend_process_usage(struct backend_job *j, struct backend_worker *const *w,
                           size_t n, struct backend_usage *out)
{
    DIR *d = opendir("/proc");
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            add_sample(w, n, e->d_name, out);
    closedir(d);
}

void backend_process_address(const struct backend_job *j, int64_t worker,
                             char out[BACKEND_ADDRESS_SIZE])
{
    snprintf(out, BACKEND_ADDRESS_SIZE, "127.0.0.1");
}

/* Bound to 0 and let go again. */
int64_t backend_process_port(const struct backend_job *j)
{
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(a);
    int64_t port = 23456;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, n) == 0 &&
        getsockname(fd, (struct sockaddr *)&a, &n) == 0)
        port = ntohs(a.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}
