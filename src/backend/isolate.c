/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the best isolation that works here by trying it, not by asking for versions: a
 * child builds a whole jail around a process that ends at once, under an unused user id,
 * and says through a pipe which step the kernel refused. Namespaces and identities are the
 * child's alone, so a try leaves nothing behind.
 *
 * isolate_own() hands staged files to the account of a job. It walks by directory handles
 * and follows no link, so that a tree cannot lead it to files of others.
 */
#include "backend/isolate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cgroup.h"
#include "backend/jail.h"
#include "backend/seccomp.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"

#define DEPTH_MAX 100
#define TRY_ID 65534 /* nobody, for a process that only ends */

static struct jail try_as(void)
{
    bool own = geteuid() != 0;
    return (struct jail){
        .uid = TRY_ID, .gid = TRY_ID, .own = own, .alone = own, .network = -1};
}

/* A whole jail around a process that ends at once; 0, or an errno. */
static int try_jail(const char *root, const char *tmp, char what[VIEW_ERROR_SIZE])
{
    struct jail j = try_as();
    j.hide = root;
    j.tmp = tmp;
    int rc = jail_build(&j, root, NULL, 0, what);
    pid_t pid = rc ? -1 : fork();
    if (rc)
        return rc;
    if (pid == 0)
        _exit(jail_drop(&j, what) & 0x7f);
    int status = -1;
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (!WIFEXITED(status) || WEXITSTATUS(status))
        snprintf(what, VIEW_ERROR_SIZE, "take another identity");
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static bool jail_possible(const char *scratch, char *why, size_t size)
{
    static const char refused[] = "the kernel refuses a process namespace";
    char what[VIEW_ERROR_SIZE] = "";
    int fds[2], status = -1;
    char *tmp = fs_join(scratch, "tmp"), *root = fs_join(scratch, "root");
    bool ready = fs_mkdirs(tmp, 0700, NULL) == RC_OK &&
                 fs_mkdirs(root, 0700, NULL) == RC_OK && pipe2(fds, O_CLOEXEC) == 0;
    pid_t outer = ready ? fork() : -1;
    if (outer == 0) { /* whoever makes a process namespace has its later children there */
        struct jail j = try_as();
        pid_t pid = jail_unshare(&j) ? -1 : fork();
        if (pid < 0 && write(fds[1], refused, sizeof(refused) - 1) < 0)
            _exit(1);
        if (pid == 0) {
            int rc = try_jail(root, tmp, what);
            char line[VIEW_ERROR_SIZE + 80];
            int n = snprintf(line, sizeof(line), "cannot %s: %s", what, strerror(rc));
            if (rc && n > 0 && write(fds[1], line, (size_t)n) < 0)
                rc = EIO;
            _exit(rc ? 1 : 0);
        }
        while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        _exit(pid < 0 || status ? 1 : 0);
    }
    if (ready)
        close(fds[1]);
    ssize_t n = outer > 0 ? read(fds[0], why, size - 1) : 0;
    if (ready)
        close(fds[0]);
    why[n > 0 ? n : 0] = '\0';
    while (outer > 0 && waitpid(outer, &status, 0) < 0 && errno == EINTR)
        ;
    mem_free(tmp);
    mem_free(root);
    return outer > 0 && status == 0;
}

static bool has_engine(void)
{
    char *podman = proc_which("podman", NULL), *docker = proc_which("docker", NULL);
    bool any = podman || docker;
    mem_free(podman);
    mem_free(docker);
    return any;
}

static void find_limits(struct isolate_found *out)
{
    struct cgroup_limits want = {.memory = (int64_t)1 << 30,
                                 .cpu_milli = 1000,
                                 .processes = 100},
                         got = {0};
    char *name = mem_printf("trainyard-try-%d", (int)getpid()), *path = NULL;
    if (backend_cgroup_create(name, &want, &got, &path, NULL) == RC_OK) {
        backend_cgroup_destroy(path);
        out->memory = got.memory > 0;
        out->cpu = got.cpu_milli > 0;
        out->pids = got.processes > 0;
    }
    mem_free(path);
    mem_free(name);
}

void isolate_find(const char *scratch, struct isolate_found *out)
{
    *out = (struct isolate_found){.seccomp = seccomp_possible()};
    if (jail_possible(scratch, out->why_not, sizeof(out->why_not)))
        out->mode = geteuid() == 0 ? ISOLATE_ACCOUNTS : ISOLATE_NAMESPACES;
    if (out->mode == ISOLATE_NAMESPACES)
        snprintf(out->why_not, sizeof(out->why_not),
                 "accounts of their own for jobs need a server that is root");
    if (out->mode == ISOLATE_NONE && has_engine())
        out->mode = ISOLATE_CONTAINERS;
    find_limits(out);
}

void isolate_words(const struct isolate_found *f, struct buf *out)
{
    static const char *const modes[] = {
        "none: jobs run as this user and see all that it sees",
        "containers: jobs of others need an image",
        "namespaces: each job has a view of the machine of its own, under this user's id",
        "accounts: jobs of each user have a user id and a view of the machine of their own"};
    buf_puts(out, modes[f->mode]);
    if (f->mode >= ISOLATE_NAMESPACES && f->seccomp)
        buf_puts(out, ", system calls filtered");
    if (f->cpu || f->memory || f->pids)
        buf_printf(out, ", control groups limit%s%s%s", f->cpu ? " processors" : "",
                   f->memory ? " memory" : "", f->pids ? " processes" : "");
    if (f->mode != ISOLATE_ACCOUNTS && f->why_not[0])
        buf_printf(out, " (%s)", f->why_not);
}

/* Takes the fd. */
static int own_dir(int fd, uid_t uid, gid_t gid, int depth)
{
    DIR *d = fdopendir(fd);
    int rc = d && fchown(fd, uid, gid) == 0 ? 0 : errno;
    if (!d)
        close(fd);
    for (const struct dirent *e; !rc && d && (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            int sub =
                openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            if (sub >= 0)
                rc = depth < DEPTH_MAX ? own_dir(sub, uid, gid, depth + 1)
                                       : (close(sub), 0);
        } else if (st.st_uid != uid &&
                   fchownat(fd, e->d_name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0) {
            rc = errno;
        }
    }
    if (d)
        closedir(d);
    return rc;
}

enum rc isolate_own(const char *dir, const char *const *names, uid_t uid, gid_t gid,
                    struct err *err)
{
    for (; *names; names++) {
        char *path = fs_join(dir, *names);
        struct stat st;
        int rc = 0;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
            int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            rc = fd < 0 ? errno : own_dir(fd, uid, gid, 0);
        } else if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
            rc = lchown(path, uid, gid) < 0 ? errno : 0;
        }
        mem_free(path);
        if (rc)
            return err_sys(err, rc, "cannot give '%s' to the job", *names);
    }
    return RC_OK;
}
