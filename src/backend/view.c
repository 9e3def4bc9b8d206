/* SPDX-License-Identifier: Apache-2.0 */
/* A new root is built on a tmpfs: each entry of / becomes a bind mount or a link of the same
 * name, and a directory in which a place is missing is rebuilt one level deeper in the same
 * way. Then pivot_root() makes it the root, and the old one is let go. Flags of a mount that the
 * user namespace may not take away (nosuid, nodev ...) are kept.
 */
#include "backend/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct building {
    const char *root; /* of the new view */
    const struct backend_view_mount *mounts;
    size_t n;
    const struct backend_view_rules *rules; /* NULL: none */
    char *what;
};

static int failed(struct building *b, const char *step, const char *path)
{
    int errnum = errno;
    snprintf(b->what, VIEW_ERROR_SIZE, "%s %.150s", step, path);
    return errnum ? errnum : EIO;
}

static int write_once(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    ssize_t n = write(fd, text, strlen(text));
    int errnum = errno;
    close(fd);
    errno = errnum;
    return n < 0 ? -1 : 0;
}

int backend_view_own_namespace(int flags, char what[VIEW_ERROR_SIZE])
{
    struct building b = {.what = what};
    char line[64];
    uid_t uid = geteuid();
    gid_t gid = getegid();
    if (unshare(CLONE_NEWUSER | flags) < 0)
        return failed(&b, "unshare", "a user namespace");
    snprintf(line, sizeof(line), "%u %u 1", (unsigned)uid, (unsigned)uid);
    if (write_once("/proc/self/uid_map", line) < 0)
        return failed(&b, "write", "/proc/self/uid_map");
    if (write_once("/proc/self/setgroups", "deny") < 0 && errno != ENOENT)
        return failed(&b, "write", "/proc/self/setgroups");
    snprintf(line, sizeof(line), "%u %u 1", (unsigned)gid, (unsigned)gid);
    if (write_once("/proc/self/gid_map", line) < 0)
        return failed(&b, "write", "/proc/self/gid_map");
    return 0;
}

/* Root needs no user namespace; everybody else becomes its owner and keeps the own id. */
static int new_namespace(struct building *b)
{
    bool owner = geteuid() == 0 || (b->rules && b->rules->owner);
    if (owner && unshare(CLONE_NEWNS) == 0)
        return 0;
    return backend_view_own_namespace(CLONE_NEWNS, b->what);
}

/* Is `dir` a true ancestor of `path`? */
static bool above(const char *dir, const char *path)
{
    size_t n = strlen(dir);
    return strncmp(dir, path, n) == 0 && path[n] == '/';
}

static bool below_another(const struct building *b, size_t i)
{
    for (size_t k = 0; k < b->n; k++)
        if (k != i && above(b->mounts[k].to, b->mounts[i].to))
            return true;
    return false;
}

/* Must `path` be rebuilt, because a place below it does not exist? */
static bool rebuild(const struct building *b, const char *path)
{
    struct stat st;
    for (size_t i = 0; i < b->n; i++)
        if (above(path, b->mounts[i].to) && !below_another(b, i) &&
            stat(b->mounts[i].to, &st) < 0)
            return true;
    return false;
}

static int copy_node(struct building *b, const char *path, const char *to,
                     const struct stat *st)
{
    char target[PATH_MAX];
    if (S_ISLNK(st->st_mode)) {
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        if (n < 0)
            return 0;
        target[n] = '\0';
        return symlink(target, to) < 0 ? failed(b, "link", path) : 0;
    }
    if (S_ISDIR(st->st_mode)) {
        if (mkdir(to, 0755) < 0)
            return failed(b, "make", to);
    } else {
        int fd = open(to, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
        if (fd < 0)
            return failed(b, "make", to);
        close(fd);
    }
    if (mount(path, to, NULL, MS_BIND | MS_REC, NULL) == 0)
        return 0;
    /* What this user may not even see need not be there. */
    return errno == EACCES || errno == EPERM || errno == ENOENT
               ? 0
               : failed(b, "mount", path);
}

static bool skipped(const struct building *b, const char *path)
{
    for (const char *const *s = b->rules ? b->rules->skip : NULL; s && *s; s++)
        if (strcmp(path, *s) == 0)
            return true;
    return false;
}

static int fill_dir(struct building *b, const char *dir, int depth);

static int fill_entry(struct building *b, const char *dir, const char *name, int depth)
{
    char path[PATH_MAX], to[PATH_MAX];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, name);
    if (n < 0 || (size_t)n >= sizeof(path) || lstat(path, &st) < 0)
        return 0;
    n = snprintf(to, sizeof(to), "%s%s", b->root, path);
    if (n < 0 || (size_t)n >= sizeof(to))
        return 0;
    if (skipped(b, path))
        return mkdir(to, 0755) < 0 ? failed(b, "make", to) : 0;
    if (S_ISDIR(st.st_mode) && rebuild(b, path) && depth < 16) {
        if (mkdir(to, 0755) < 0)
            return failed(b, "make", to);
        return fill_dir(b, path, depth + 1);
    }
    return copy_node(b, path, to, &st);
}

static int fill_dir(struct building *b, const char *dir, int depth)
{
    DIR *d = opendir(dir);
    int rc = 0;
    if (!d)
        return failed(b, "list", dir);
    for (const struct dirent *e; !rc && (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            rc = fill_entry(b, dir, e->d_name, depth);
    closedir(d);
    return rc;
}

static unsigned long kept_flags(const char *path)
{
    static const struct {
        unsigned long have, want;
    } flags[] = {{ST_NOSUID, MS_NOSUID},         {ST_NODEV, MS_NODEV},
                 {ST_NOEXEC, MS_NOEXEC},         {ST_NOATIME, MS_NOATIME},
                 {ST_NODIRATIME, MS_NODIRATIME}, {ST_RELATIME, MS_RELATIME}};
    struct statvfs vfs;
    unsigned long out = 0;
    if (statvfs(path, &vfs) == 0)
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            if (vfs.f_flag & flags[i].have)
                out |= flags[i].want;
    return out;
}

/* One step of the way to a place: `name` below `dir`, made when it is not there. A link is
 * followed by nobody: what lies in the tree of a job is the job's, and root would make
 * directories wherever it leads.
 */
static int step_down(int dir, const char *name, bool file)
{
    struct stat st;
    if (file) {
        int made = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
        if (made >= 0)
            close(made);
    } else {
        mkdirat(dir, name, 0755);
    }
    int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode))
        return fd;
    if (fd >= 0) {
        close(fd);
        errno = ELOOP;
    }
    return -1;
}

/* The place `path` of the new view, with the directories on the way; -1: errno. */
static int open_place(const struct building *b, const char *path, bool file)
{
    char copy[PATH_MAX], *rest = copy, *name;
    int dir = open(b->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy)) {
        close(dir);
        errno = ENAMETOOLONG;
        return -1;
    }
    while (dir >= 0 && (name = strsep(&rest, "/"))) {
        if (!*name || strcmp(name, ".") == 0)
            continue;
        bool last = !rest || !rest[strspn(rest, "/")];
        int next = step_down(dir, name, file && last);
        int errnum = errno;
        close(dir);
        errno = errnum;
        dir = next;
    }
    return dir;
}

/* With all that is mounted below it; a kernel before 5.12 restricts the uppermost alone. */
static int restrict_mount(int place, bool read_only, bool no_devices)
{
    struct mount_attr a = {.attr_set =
                               (read_only ? MOUNT_ATTR_RDONLY : 0) |
                               (no_devices ? MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV : 0)};
    unsigned long flags =
        (read_only ? MS_RDONLY : 0) | (no_devices ? MS_NOSUID | MS_NODEV : 0);
    char path[64];
    if (!flags)
        return 0;
    if (syscall(SYS_mount_setattr, place, "", AT_EMPTY_PATH | AT_RECURSIVE, &a,
                sizeof(a)) == 0)
        return 0;
    if (errno != ENOSYS)
        return -1;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | flags | kept_flags(path), NULL);
}

/* Puts what `from` has open at m->to; `real` is its path. */
static int put_open(struct building *b, const struct backend_view_mount *m, int from,
                    bool file, const char *real)
{
    const struct backend_view_rules *r = b->rules;
    char to[64], source[64];
    int rc = 0, place = open_place(b, m->to, file);
    if (place < 0)
        return failed(b, "reach", m->to);
    snprintf(source, sizeof(source), "/proc/self/fd/%d", from);
    snprintf(to, sizeof(to), "/proc/self/fd/%d", place);
    if (mount(source, to, NULL, MS_BIND | MS_REC, NULL) < 0)
        rc = failed(b, "mount", m->to);
    close(place);
    place = rc ? -1 : open_place(b, m->to, file); /* what is on it now */
    snprintf(to, sizeof(to), "/proc/self/fd/%d", place);
    if (!rc && restrict_mount(place, m->read_only, r && r->read_only) < 0)
        rc = failed(b, "restrict", m->to);
    if (!rc && r && r->mounted)
        rc = r->mounted(r->arg, real, to, b->what);
    if (place >= 0)
        close(place);
    return rc;
}

static int put_mount(struct building *b, const struct backend_view_mount *m)
{
    const struct backend_view_rules *r = b->rules;
    char link[64], real[PATH_MAX];
    struct stat st;
    int rc = 0, from = open(m->from, O_PATH | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) < 0) {
        rc = failed(b, "find", m->from);
    } else {
        snprintf(link, sizeof(link), "/proc/self/fd/%d", from);
        ssize_t n = readlink(link, real, sizeof(real) - 1);
        real[n > 0 ? n : 0] = '\0';
        if (r && r->may_mount)
            rc = r->may_mount(r->arg, real, b->what);
        if (!rc)
            rc = put_open(b, m, from, !S_ISDIR(st.st_mode), real);
    }
    if (from >= 0)
        close(from);
    return rc;
}

static int change_attributes(struct building *b, uint64_t set, uint64_t clear, bool all)
{
    struct mount_attr a = {.attr_set = set, .attr_clr = clear};
    if (syscall(SYS_mount_setattr, AT_FDCWD, b->root, all ? AT_RECURSIVE : 0, &a,
                sizeof(a)) < 0)
        return failed(b, "make read-only", "the machine's files");
    return 0;
}

/* Everything so far is the machine's; the root itself is closed at the end. */
static int apply_rules(struct building *b)
{
    uint64_t closed = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    int rc = 0;
    if (b->rules && b->rules->read_only)
        rc = change_attributes(b, closed, 0, true);
    if (!rc && b->rules && b->rules->read_only)
        rc = change_attributes(b, 0, MOUNT_ATTR_RDONLY, false);
    if (!rc && b->rules && b->rules->furnish)
        rc = b->rules->furnish(b->rules->arg, b->root, b->what);
    return rc;
}

int backend_view_enter(const char *scratch, const struct backend_view_mount *mounts,
                       size_t n, char what[VIEW_ERROR_SIZE])
{
    return backend_view_enter_with(scratch, mounts, n, NULL, what);
}

int backend_view_enter_with(const char *scratch, const struct backend_view_mount *mounts,
                            size_t n, const struct backend_view_rules *rules,
                            char what[VIEW_ERROR_SIZE])
{
    struct building b = {
        .root = scratch, .mounts = mounts, .n = n, .rules = rules, .what = what};
    errno = 0;
    int rc = new_namespace(&b);
    if (rc)
        return rc;
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return failed(&b, "make private", "/");
    if (mount("none", scratch, "tmpfs", MS_NOSUID | MS_NODEV, "size=4m,mode=755") < 0)
        return failed(&b, "mount a root at", scratch);
    rc = fill_dir(&b, "/", 0);
    if (!rc)
        rc = apply_rules(&b);
    for (size_t i = 0; i < n && !rc; i++)
        rc = put_mount(&b, &mounts[i]);
    if (!rc && rules && rules->read_only)
        rc = change_attributes(&b, MOUNT_ATTR_RDONLY, 0, false);
    if (rc)
        return rc;
    if (chdir(scratch) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return failed(&b, "change to", "the new root");
    return 0;
}

bool backend_view_possible(const char *scratch, char what[VIEW_ERROR_SIZE])
{
    int fds[2], status = 1;
    what[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        char text[VIEW_ERROR_SIZE] = "";
        int rc = backend_view_enter(scratch, NULL, 0, text);
        char line[VIEW_ERROR_SIZE];
        int n = snprintf(line, sizeof(line), "%.120s: %s", text, strerror(rc));
        if (rc && n > 0 && write(fds[1], line, (size_t)n) < 0)
            rc = EIO;
        _exit(rc ? 1 : 0);
    }
    close(fds[1]);
    ssize_t n = pid > 0 ? read(fds[0], what, VIEW_ERROR_SIZE - 1) : 0;
    what[n > 0 ? n : 0] = '\0';
    close(fds[0]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && status == 0;
}
