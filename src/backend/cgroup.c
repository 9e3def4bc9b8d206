/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/mountinfo says where the hierarchies are, /proc/self/cgroup which group is ours.
 * In the unified hierarchy a group that has processes cannot have limited children, so a
 * worker's group is made beside ours; in the older one below it. Each step is tried and taken
 * back when it fails: there is no other way to know what is allowed.
 *
 * A write to cgroup.procs locks out every fork of the machine, for which the kernel waits
 * 10 ms and more. So a process is made inside its unified group (clone3), and in the older
 * kind moves only its one thread (tasks), which needs no such lock.
 */
#include "backend/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define TEXT_MAX (1 << 20)
#define REMOVE_ROUNDS 50
#define PERIOD_US 100000  /* over which processor time is counted */
#define QUOTA_MIN_US 1000 /* the kernel takes no less */

/* Where groups can be: the unified hierarchy, or the older one of a controller. */
struct hierarchy {
    bool unified;
    const char *controller; /* of the older kind */
    char *mount, *root; /* owned: the directory, and what part of it is mounted there */
    char *own;          /* our group's path in it */
};

static void hierarchy_release(struct hierarchy *h)
{
    mem_free(h->mount);
    mem_free(h->root);
    mem_free(h->own);
    *h = (struct hierarchy){.unified = false};
}

static char *read_text(const char *path)
{
    char *text = NULL;
    size_t n = 0;
    return fs_read(path, TEXT_MAX, &text, &n, NULL) == RC_OK ? text : NULL;
}

static char *dup_str(struct str s)
{
    return mem_strndup(s.p, s.n);
}

static bool names(struct str list, const char *controller)
{
    return str_lists(list, ',', str_c(controller));
}

/* 35 31 0:32 ROOT MOUNT OPTIONS ... - TYPE SOURCE SUPER-OPTIONS */
static bool read_mount(struct str line, struct hierarchy *out)
{
    struct str field[5] = {{0}}, word, type = {0}, options = {0};
    size_t n = 0;
    while (str_split(&line, ' ', &word) && !str_is(word, "-"))
        if (n < ARRAY_LEN(field))
            field[n++] = word;
    bool whole = n == ARRAY_LEN(field) && str_split(&line, ' ', &type) &&
                 str_split(&line, ' ', &word) && str_split(&line, ' ', &options);
    if (!whole || !str_is(type, out->unified ? "cgroup2" : "cgroup") ||
        (!out->unified && !names(options, out->controller)))
        return false;
    out->root = dup_str(field[3]);
    out->mount = dup_str(field[4]);
    return true;
}

static bool find_mount(struct hierarchy *out)
{
    char *text = read_text("/proc/self/mountinfo");
    struct str rest = str_c(text ? text : ""), line;
    bool found = false;
    while (!found && rest.n && str_split(&rest, '\n', &line))
        found = read_mount(line, out);
    mem_free(text);
    return found;
}

/* N:CONTROLLERS:PATH */
static bool find_own(struct hierarchy *h)
{
    char *text = read_text("/proc/self/cgroup");
    struct str rest = str_c(text ? text : ""), line, number, list;
    while (!h->own && rest.n && str_split(&rest, '\n', &line))
        if (str_split(&line, ':', &number) && str_split(&line, ':', &list) &&
            (h->unified ? list.n == 0 : names(list, h->controller)))
            h->own = dup_str(line);
    mem_free(text);
    return h->own != NULL;
}

/* Our group as a directory; NULL when it is outside of what is mounted. */
static char *own_dir(const struct hierarchy *h)
{
    const char *path = h->own;
    size_t n = strlen(h->root);
    if (strcmp(h->root, "/") != 0) {
        if (strncmp(path, h->root, n) != 0)
            return NULL;
        path += n;
    }
    while (*path == '/')
        path++;
    return *path ? fs_join(h->mount, path) : mem_strdup(h->mount);
}

static int write_file(const char *dir, const char *name, const char *text)
{
    char path[4400];
    int n = snprintf(path, sizeof(path), "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return ENAMETOOLONG;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int rc = write(fd, text, strlen(text)) < 0 ? errno : 0;
    close(fd);
    return rc;
}

/* Each directory of a list, in `one`; false at its end. Allocates nothing. */
static bool next_dir(struct str *rest, char one[PATH_MAX])
{
    struct str line;
    if (!rest->n || !str_split(rest, '\n', &line) || line.n >= PATH_MAX)
        return false;
    memcpy(one, line.p, line.n);
    one[line.n] = '\0';
    return true;
}

/* Moves the calling thread, which is all of its process. */
static int move_self(const char *dir)
{
    int rc = write_file(dir, "tasks", "0");
    return rc == ENOENT ? write_file(dir, "cgroup.procs", "0") : rc;
}

static bool is_unified(const char *dir)
{
    struct statfs fs;
    return statfs(dir, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* With `inside` we are in the group of the unified hierarchy already. */
static int enter_all(const char *path, bool inside)
{
    struct str rest = str_c(path);
    char one[PATH_MAX];
    int rc = 0;
    while (!rc && next_dir(&rest, one))
        if (!inside || !is_unified(one))
            rc = move_self(one);
    return rc;
}

int backend_cgroup_enter(const char *path)
{
    return enter_all(path, false);
}

/* The directory in the unified hierarchy; -1: `path` has none. */
static int open_unified(const char *path)
{
    struct str rest = str_c(path);
    char one[PATH_MAX];
    while (next_dir(&rest, one))
        if (is_unified(one))
            return open(one, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return -1;
}

/* As fork(), without its handlers: our callers have one thread, and nothing to tell it. */
static pid_t fork_into(int group)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (__u64)group};
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

pid_t backend_cgroup_fork(const char *path, int *errnum)
{
    int group = open_unified(path);
    pid_t pid = group < 0 ? -1 : fork_into(group);
    bool inside = pid >= 0;
    if (!inside) /* old kernels and filters of system calls refuse it */
        pid = fork();
    if (pid == 0)
        *errnum = enter_all(path, inside);
    if (group >= 0)
        close(group);
    return pid;
}

/* Could a process of ours go there? */
static int try_enter(const char *path)
{
    int status = -1, errnum = 0;
    pid_t pid = backend_cgroup_fork(path, &errnum);
    if (pid == 0)
        _exit(errnum & 0x7f);
    if (pid < 0)
        return errno;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int set_memory(const char *path, bool unified, int64_t memory)
{
    char text[32];
    snprintf(text, sizeof(text), "%jd", (intmax_t)memory);
    int rc = write_file(path, unified ? "memory.max" : "memory.limit_in_bytes", text);
    if (rc)
        return rc;
    /* Without these it would swap instead, or lose one process of several. */
    if (unified) {
        write_file(path, "memory.swap.max", "0");
        write_file(path, "memory.oom.group", "1");
    } else {
        write_file(path, "memory.memsw.limit_in_bytes", text);
    }
    return 0;
}

static int set_cpu(const char *path, bool unified, int64_t milli)
{
    char text[64];
    int64_t quota = milli * (PERIOD_US / 1000);
    quota = quota < QUOTA_MIN_US ? QUOTA_MIN_US : quota;
    if (unified)
        snprintf(text, sizeof(text), "%jd %d", (intmax_t)quota, PERIOD_US);
    else
        snprintf(text, sizeof(text), "%jd", (intmax_t)quota);
    return write_file(path, unified ? "cpu.max" : "cpu.cfs_quota_us", text);
}

static int set_processes(const char *path, bool unified, int64_t n)
{
    char text[32];
    snprintf(text, sizeof(text), "%jd", (intmax_t)n);
    return write_file(path, "pids.max", text);
}

/* One row per controller. */
static const struct controller {
    const char *name, *enable;
    size_t offset; /* of its limit */
    int (*set)(const char *path, bool unified, int64_t value);
} controllers[] = {
    {"memory", "+memory", offsetof(struct cgroup_limits, memory), set_memory},
    {"cpu", "+cpu", offsetof(struct cgroup_limits, cpu_milli), set_cpu},
    {"pids", "+pids", offsetof(struct cgroup_limits, processes), set_processes},
};

static int64_t *limit_of(const struct cgroup_limits *l, const struct controller *c)
{
    return (int64_t *)(uintptr_t)((const char *)l + c->offset);
}

/* Sets what is wanted and not there yet; how many it set. */
static int set_limits(const char *base, const char *path, const struct hierarchy *h,
                      const struct cgroup_limits *want, struct cgroup_limits *got,
                      int *errnum)
{
    int n = 0;
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++) {
        const struct controller *c = &controllers[i];
        int64_t value = *limit_of(want, c);
        if (!value || *limit_of(got, c) ||
            (!h->unified && strcmp(h->controller, c->name) != 0))
            continue;
        int rc = c->set(path, h->unified, value);
        if (rc && h->unified &&
            write_file(base, "cgroup.subtree_control", c->enable) == 0)
            rc = c->set(path, true, value);
        if (rc) {
            *errnum = rc;
            continue;
        }
        *limit_of(got, c) = value;
        n++;
    }
    return n;
}

static int make_below(const char *base, const char *name, const struct hierarchy *h,
                      const struct cgroup_limits *want, struct cgroup_limits *got,
                      struct buf *out)
{
    char *path = fs_join(base, name);
    struct cgroup_limits now = *got;
    int rc = mkdir(path, 0755) < 0 && errno != EEXIST ? errno : 0;
    if (!rc && set_limits(base, path, h, want, &now, &rc) > 0)
        rc = 0;
    else if (!rc)
        rc = ENOENT;
    if (!rc && (h->unified || geteuid() != 0))
        rc = try_enter(path);
    if (!rc) {
        *got = now;
        buf_printf(out, "%s%s", out->n ? "\n" : "", path);
    } else {
        backend_cgroup_destroy(path);
    }
    mem_free(path);
    return rc;
}

/* Below our own group; in the unified kind, where a group with processes cannot have
 * limited children, beside it.
 */
static int make_in(struct hierarchy h, const char *name, const struct cgroup_limits *want,
                   struct cgroup_limits *got, struct buf *out)
{
    int rc = ENOENT;
    if (find_mount(&h) && find_own(&h)) {
        char *dir = own_dir(&h);
        if (dir)
            rc = make_below(dir, name, &h, want, got, out);
        if (rc && h.unified && dir && strcmp(dir, h.mount) != 0) {
            char *parent = fs_dirname(dir);
            rc = make_below(parent, name, &h, want, got, out);
            mem_free(parent);
        }
        mem_free(dir);
    }
    hierarchy_release(&h);
    return rc;
}

enum rc backend_cgroup_create(const char *name, const struct cgroup_limits *want,
                              struct cgroup_limits *got, char **path, struct err *err)
{
    struct buf b;
    int rc = 0;
    *got = (struct cgroup_limits){0};
    buf_init(&b, 1 << 16);
    int first = make_in((struct hierarchy){.unified = true}, name, want, got, &b);
    for (size_t i = 0; i < ARRAY_LEN(controllers); i++)
        if (*limit_of(want, &controllers[i]) && !*limit_of(got, &controllers[i]))
            rc = make_in((struct hierarchy){.controller = controllers[i].name}, name,
                         want, got, &b);
    bool any = b.n > 0;
    if (any)
        *path = buf_take(&b);
    buf_release(&b);
    return any ? RC_OK
               : err_set(err, RC_UNSUPPORTED, "%s",
                         strerror(rc == ENOENT || !rc ? first : rc));
}

static int64_t kills_of(const char *path)
{
    static const char *const files[] = {"memory.events", "memory.oom_control"};
    int64_t kills = 0;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char *file = fs_join(path, files[i]);
        char *text = fs_exists(file) ? read_text(file) : NULL;
        struct str rest = str_c(text ? text : ""), line, key;
        while (rest.n && str_split(&rest, '\n', &line))
            if (str_split(&line, ' ', &key) && str_is(key, "oom_kill") &&
                !str_to_i64(line, &kills))
                kills = 0;
        mem_free(text);
        mem_free(file);
    }
    return kills;
}

int64_t backend_cgroup_kills(const char *path)
{
    struct str rest = str_c(path);
    char one[PATH_MAX];
    int64_t kills = 0;
    while (next_dir(&rest, one))
        kills += kills_of(one);
    return kills;
}

/* Without a limit it reads "max", or in the older kind nearly all that a number holds. */
static bool holds_memory(const char *path)
{
    static const char *const files[] = {"memory.max", "memory.limit_in_bytes"};
    bool held = false;
    for (size_t i = 0; i < ARRAY_LEN(files) && !held; i++) {
        char *file = fs_join(path, files[i]);
        char *text = fs_exists(file) ? read_text(file) : NULL;
        int64_t value;
        held = text && str_to_i64(str_trim(str_c(text)), &value) && value < INT64_MAX / 2;
        mem_free(text);
        mem_free(file);
    }
    return held;
}

bool backend_cgroup_holds_memory(const char *path)
{
    struct str rest = str_c(path);
    char one[PATH_MAX];
    while (next_dir(&rest, one))
        if (holds_memory(one))
            return true;
    return false;
}

void backend_cgroup_destroy(const char *path)
{
    struct str rest = str_c(path);
    char one[PATH_MAX];
    while (next_dir(&rest, one))
        for (int i = 0; i < REMOVE_ROUNDS; i++) {
            if (rmdir(one) == 0 || errno != EBUSY)
                break;
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
}
