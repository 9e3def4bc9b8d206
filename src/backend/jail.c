/* SPDX-License-Identifier: Apache-2.0 */
/* Order matters: the view is built as the server's user, because only that one can see the
 * job's tree below the directory of jobs; the identity is given up behind it, then the
 * last system calls. The first process keeps the server's identity, so that the job can
 * neither read its memory nor send it a signal; it has nothing open and only waits. Without
 * root both have one identity: there the kernel keeps the job from a process that is not
 * dumpable, and from sending signals to the first of a process namespace.
 */
#include "backend/jail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/seccomp.h"
#include "base/compiler.h"

#define CAPS_MAX 63

/* A view while it is built. */
struct view {
    const struct jail *j;
    char groups[4096]; /* /proc/self/cgroup as it was before */
};

struct furnishing {
    struct view *view;
    const struct jail *j;
    const char *root;
    char *what;
};

static int failed(char *what, const char *step, const char *path)
{
    int errnum = errno;
    snprintf(what, VIEW_ERROR_SIZE, "%s %.150s", step, path);
    return errnum ? errnum : EIO;
}

int jail_unshare(const struct jail *j)
{
    char what[VIEW_ERROR_SIZE];
    if (j->own)
        return backend_view_own_namespace(CLONE_NEWPID, what);
    return unshare(CLONE_NEWPID) == 0 ? 0 : errno;
}

static bool below(const struct furnishing *f, const char *path, char out[PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s%s", f->root, path);
    return n > 0 && n < PATH_MAX;
}

static int mount_at(const struct furnishing *f, const char *type, const char *path,
                    unsigned long flags, const char *options)
{
    char to[PATH_MAX];
    if (!below(f, path, to))
        return ENAMETOOLONG;
    if (mkdir(to, 0755) < 0 && errno != EEXIST)
        return failed(f->what, "make", path);
    if (mount(type, to, type, MS_NOSUID | flags, options) < 0)
        return failed(f->what, "mount", path);
    return 0;
}

static int bind_at(const struct furnishing *f, const char *from, const char *path)
{
    char to[PATH_MAX];
    struct stat st;
    if (!below(f, path, to) || stat(to, &st) < 0)
        return 0; /* there is no such place on this machine */
    return mount(from, to, NULL, MS_BIND, NULL) < 0 ? failed(f->what, "mount", path) : 0;
}

/* A device file of the machine's, when it has it. */
static int add_device(const struct furnishing *f, const char *name)
{
    char from[300], to[PATH_MAX];
    struct stat st;
    snprintf(from, sizeof(from), "/dev/%.200s", name);
    if (stat(from, &st) < 0 || !below(f, from, to))
        return 0;
    if (S_ISDIR(st.st_mode) ? mkdir(to, 0755) < 0
                            : mknod(to, S_IFREG | 0644, 0) < 0 && errno != EEXIST)
        return failed(f->what, "make", from);
    return mount(from, to, NULL, MS_BIND, NULL) < 0 ? failed(f->what, "mount", from) : 0;
}

static int add_gpus(const struct furnishing *f)
{
    DIR *d = opendir("/dev");
    int rc = 0;
    for (const struct dirent *e; d && !rc && (e = readdir(d));)
        if (strncmp(e->d_name, "nvidia", 6) == 0)
            rc = add_device(f, e->d_name);
    if (d)
        closedir(d);
    return rc;
}

static int make_dev(const struct furnishing *f)
{
    static const char *const names[] = {"null",   "zero",    "full",
                                        "random", "urandom", "tty"};
    static const struct {
        const char *to, *path;
    } links[] = {{"/proc/self/fd", "/dev/fd"},
                 {"/proc/self/fd/0", "/dev/stdin"},
                 {"/proc/self/fd/1", "/dev/stdout"},
                 {"/proc/self/fd/2", "/dev/stderr"},
                 {"pts/ptmx", "/dev/ptmx"}};
    char options[64], to[PATH_MAX];
    int rc = mount_at(f, "tmpfs", "/dev", MS_NOEXEC, "size=64k,mode=755");
    for (size_t i = 0; i < ARRAY_LEN(names) && !rc; i++)
        rc = add_device(f, names[i]);
    if (!rc && f->j->gpus)
        rc = add_gpus(f);
    for (size_t i = 0; i < ARRAY_LEN(links) && !rc; i++)
        if (below(f, links[i].path, to) && symlink(links[i].to, to) < 0)
            rc = failed(f->what, "link", links[i].path);
    if (!rc)
        rc = mount_at(f, "devpts", "/dev/pts", MS_NOEXEC, "newinstance,ptmxmode=0666");
    if (f->j->shm > 0)
        snprintf(options, sizeof(options), "size=%jd,mode=1777", (intmax_t)f->j->shm);
    else
        snprintf(options, sizeof(options), "size=25%%,mode=1777");
    return rc ? rc : mount_at(f, "tmpfs", "/dev/shm", MS_NODEV, options);
}

/* Where it would be seen, there is an empty directory, or an empty file. */
static int hide(const struct furnishing *f, const char *path)
{
    char to[PATH_MAX];
    struct stat st;
    if (!path || path[0] != '/' || !path[1] || !below(f, path, to) || stat(to, &st) < 0)
        return 0;
    if (!S_ISDIR(st.st_mode))
        return bind_at(f, "/dev/null", path);
    if (mount("none", to, "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") < 0)
        return failed(f->what, "hide", path);
    return 0;
}

/* Calls for each path that a job must not see. */
typedef int secret_fn(void *arg, const char *path);

static int each_secret(const struct jail *j, secret_fn *fn, void *arg)
{
    char path[PATH_MAX];
    int rc = j->hide ? fn(arg, j->hide) : 0;
    for (const char *at = j->also; at && *at && !rc;) {
        size_t n = strcspn(at, "\n");
        if (n < sizeof(path)) {
            memcpy(path, at, n);
            path[n] = '\0';
            rc = fn(arg, path);
        }
        at += n + (at[n] == '\n');
    }
    return rc;
}

static int hide_secret(void *arg, const char *path)
{
    return hide(arg, path);
}

/* Is `path` at `dir` or below it? */
static bool within(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return n > 1 && strncmp(dir, path, n) == 0 && (!path[n] || path[n] == '/');
}

/* A mount, as it is judged: mounts come over what was hidden before. */
struct judging {
    const struct jail *j;
    const char *from, *place;
    char *what;
};

static int refuse_secret(void *arg, const char *path)
{
    const struct judging *g = arg;
    char real[PATH_MAX];
    if (!realpath(path, real) || !within(real, g->from))
        return 0;
    errno = EACCES;
    return failed(g->what, "mount", "a directory of the server's");
}

static int may_mount(void *arg, const char *from, char what[VIEW_ERROR_SIZE])
{
    const struct jail *j = ((const struct view *)arg)->j;
    struct judging g = {.j = j, .from = from, .what = what};
    char own[PATH_MAX];
    if (j->job && realpath(j->job, own) && within(own, from))
        return 0;
    return each_secret(j, refuse_secret, &g);
}

/* What is hidden lies below what was mounted: it is hidden there too. */
static int hide_below(void *arg, const char *path)
{
    const struct judging *g = arg;
    char real[PATH_MAX];
    size_t n = strlen(g->from);
    bool root = strcmp(g->from, "/") == 0;
    if (!realpath(path, real) || (!root && !within(g->from, real)))
        return 0;
    struct furnishing f = {.j = g->j, .root = g->place, .what = g->what};
    return hide(&f, real + (root ? 0 : n));
}

static int mounted(void *arg, const char *from, const char *place,
                   char what[VIEW_ERROR_SIZE])
{
    const struct jail *j = ((const struct view *)arg)->j;
    struct judging g = {.j = j, .from = from, .place = place, .what = what};
    char own[PATH_MAX];
    if (j->job && realpath(j->job, own) && within(own, from))
        return 0;
    return each_secret(j, hide_below, &g);
}

/* One hierarchy of control groups, as the job's own namespace has it: its own group is the
 * root. False: the kernel does not let us.
 */
static bool mount_group(const struct furnishing *f, const char *type, const char *path,
                        const char *options)
{
    char to[PATH_MAX];
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
    if (!below(f, path, to) || (mkdir(to, 0755) < 0 && errno != EEXIST) ||
        mount(type, to, type, flags, options) < 0)
        return false;
    if (mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) == 0)
        return true;
    umount2(to, MNT_DETACH);
    return false;
}

/* "N:LIST:PATH", of one hierarchy. Where the job has no group of its own there is none to be
 * seen either: the namespace would begin at the server's.
 */
static void mount_own_group(const struct furnishing *f, char *line)
{
    static const char top[] = "/sys/fs/cgroup";
    char path[200], link[PATH_MAX], *list = strchr(line, ':');
    char *group = list ? strchr(++list, ':') : NULL;
    if (!group || !strstr(group, "/trainyard-jb-"))
        return;
    *group = '\0';
    bool unified = !*list;
    snprintf(path, sizeof(path), "%s%s%.100s", top, unified ? "" : "/", list);
    if (!mount_group(f, unified ? "cgroup2" : "cgroup", path, unified ? NULL : list) ||
        !strchr(list, ','))
        return;
    for (char *name, *rest = list; (name = strsep(&rest, ","));) {
        char at[200];
        snprintf(at, sizeof(at), "%s/%.100s", top, name);
        if (below(f, at, link) && symlink(strrchr(path, '/') + 1, link) < 0)
            return;
    }
}

/* The machine's groups name the jobs of everybody, so they are hidden; programs that ask how
 * many processors they have find their own.
 */
static int own_groups(const struct furnishing *f)
{
    char *rest = f->view->groups, *line;
    int rc = hide(f, "/sys/fs/cgroup");
    while (!rc && (line = strsep(&rest, "\n")))
        mount_own_group(f, line);
    return rc;
}

static int furnish(void *arg, const char *root, char what[VIEW_ERROR_SIZE])
{
    struct view *view = arg;
    struct furnishing f = {.view = view, .j = view->j, .root = root, .what = what};
    int rc = mount_at(&f, "proc", "/proc", MS_NODEV | MS_NOEXEC, NULL);
    if (!rc)
        rc = make_dev(&f);
    if (!rc)
        rc = mount_at(&f, "tmpfs", "/run", MS_NODEV, "size=1m,mode=755");
    if (!rc)
        rc = bind_at(&f, f.j->tmp, "/tmp");
    if (!rc)
        rc = bind_at(&f, f.j->tmp, "/var/tmp");
    if (!rc)
        rc = own_groups(&f);
    return rc ? rc : each_secret(f.j, hide_secret, &f);
}

static int loopback_up(void)
{
    struct ifreq r = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return rc;
}

int jail_network(void)
{
    int fds[2];
    char path[64], byte;
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        bool good = unshare(CLONE_NEWNET) == 0 && loopback_up() == 0;
        if (!good || write(fds[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause(); /* until somebody holds the namespace */
    }
    close(fds[1]);
    bool ready = pid > 0 && read(fds[0], &byte, 1) == 1;
    close(fds[0]);
    snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
    int fd = ready ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    int errnum = ready ? errno : EPERM;
    if (pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    errno = errnum;
    return fd;
}

/* Before a namespace of its own hides where they are. */
static void read_groups(struct view *v)
{
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, v->groups, sizeof(v->groups) - 1);
    v->groups[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
}

int jail_build(const struct jail *j, const char *scratch,
               const struct backend_view_mount *mounts, size_t n,
               char what[VIEW_ERROR_SIZE])
{
    static const char *const skip[] = {"/proc", "/dev", "/tmp", "/run", NULL};
    struct view view = {.j = j};
    struct backend_view_rules rules = {.skip = skip,
                                       .read_only = true,
                                       .owner = j->own,
                                       .furnish = furnish,
                                       .may_mount = may_mount,
                                       .mounted = mounted,
                                       .arg = &view};
    read_groups(&view);
    jail_offer_to_oom();
    prctl(PR_SET_DUMPABLE, 0);
    if (unshare(CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0)
        return failed(what, "unshare", "IPC, host name and control groups");
    if (j->network >= 0 && setns(JAIL_NETWORK, CLONE_NEWNET) < 0)
        return failed(what, "enter", "the job's network");
    if (j->alone && (unshare(CLONE_NEWNET) < 0 || loopback_up()))
        return failed(what, "make", "a network of its own");
    return backend_view_enter_with(scratch, mounts, n, &rules, what);
}

static void limit(int what, int64_t most)
{
    struct rlimit now, r = {.rlim_cur = (rlim_t)most, .rlim_max = (rlim_t)most};
    if (getrlimit((__rlimit_resource_t)what, &now) == 0 && now.rlim_max < r.rlim_max)
        r = (struct rlimit){now.rlim_max, now.rlim_max};
    setrlimit((__rlimit_resource_t)what, &r);
}

void jail_offer_to_oom(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n = write(fd, "500", 3);
    (void)n; /* then it is judged by its size alone */
    close(fd);
}

/* The capabilities of the owner of a user namespace. */
static int drop_capabilities(char what[VIEW_ERROR_SIZE])
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    return syscall(SYS_capset, &head, none) < 0 ? failed(what, "drop", "capabilities")
                                                : 0;
}

static int change_identity(const struct jail *j, char what[VIEW_ERROR_SIZE])
{
    for (unsigned long cap = 0; cap <= CAPS_MAX; cap++)
        prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* beyond the last: EINVAL */
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (j->own)
        return drop_capabilities(what);
    if (setgroups(0, NULL) < 0)
        return failed(what, "leave", "the server's groups");
    if (setresgid(j->gid, j->gid, j->gid) < 0 || setresuid(j->uid, j->uid, j->uid) < 0)
        return failed(what, "take", "the job's identity");
    if (setuid(0) == 0 || getuid() != j->uid || geteuid() != j->uid)
        return failed(what, "give up", "the server's identity");
    return 0;
}

int jail_drop(const struct jail *j, char what[VIEW_ERROR_SIZE])
{
    umask(022);
    limit(RLIMIT_CORE, 0);
    if (j->file_bytes > 0)
        limit(RLIMIT_FSIZE, j->file_bytes);
    if (j->processes > 0)
        limit(RLIMIT_NPROC, j->processes);
    int rc = change_identity(j, what);
    if (rc)
        return rc;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return failed(what, "set", "no new privileges");
    rc = seccomp_enter();
    if (rc)
        snprintf(what, VIEW_ERROR_SIZE, "restrict system calls");
    return rc;
}

void jail_hear(bool on)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGCHLD);
    sigprocmask(on ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* To whoever left the group of the worker, which has had its signal. */
static void tell_others(void)
{
    DIR *d = opendir("/proc");
    for (const struct dirent *e; d && (e = readdir(d));) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        if (pid > 1 && getpgid(pid) > 0 && getpgid(pid) != getpgrp())
            kill(pid, SIGTERM);
    }
    if (d)
        closedir(d);
}

/* Until no child is left, or `worker` has ended. */
static int reap(pid_t worker)
{
    sigset_t set;
    int status = 0, sig;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        pid_t pid = waitpid(-1, &status, WNOHANG);
        if (pid < 0 || pid == worker)
            return status;
        if (pid == 0)
            sigwait(&set, &sig);
    }
}

/* Only the shim can send it a signal: the job has another identity. */
_Noreturn void jail_wait(pid_t worker, int ends)
{
    sigset_t pending;
    int kept = dup2(ends, 3);
    for (int i = 0; i < 3; i++)
        close(i);
    close_range(4, ~0U, 0);
    prctl(PR_SET_NAME, "ty-first");
    int status = reap(worker);
    ssize_t n = write(kept, &status, sizeof(status));
    (void)n; /* then nobody waits for it */
    sigpending(&pending);
    if (sigismember(&pending, SIGTERM)) {
        tell_others();
        reap(-1);
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}
