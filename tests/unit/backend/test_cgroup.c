/* SPDX-License-Identifier: Apache-2.0 */
/* How a process gets into its control group: made there, or moved without a lock. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cgroup.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"
#include "tap.h"

static struct err err;

static char *content(const char *dir, const char *name)
{
    char *path = fs_join(dir, name), *text = NULL;
    size_t n = 0;
    CHECK(fs_read(path, 1 << 16, &text, &n, &err) == RC_OK);
    mem_free(path);
    return text;
}

/* A group of the unified hierarchy; NULL: this machine does not let us make one. */
static char *make_group(void)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    for (size_t i = 0; i < 2; i++) {
        char *procs = fs_join(mounts[i], "cgroup.procs");
        char *group = mem_printf("%s/trainyard-test-%d", mounts[i], (int)getpid());
        bool made = fs_exists(procs) && mkdir(group, 0755) == 0;
        mem_free(procs);
        if (made)
            return group;
        mem_free(group);
    }
    return NULL;
}

/* 0 when the calling process is in `group`. */
static int look_for(const char *group)
{
    char text[8192] = "";
    int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof(text) - 1);
    return n > 0 && strstr(text, strrchr(group, '/')) ? 0 : 77;
}

static int forked_status(const char *group)
{
    int errnum = -1, status = -1;
    pid_t pid = backend_cgroup_fork(group, &errnum);
    if (pid == 0)
        _exit(errnum ? errnum & 0x7f : look_for(group));
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* `number` fails with ENOSYS from now on, as on an old kernel or below a filter. */
static bool refuse_call(long number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {.len = 4, .filter = code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* In a child of ours, as the filter stays. */
static int status_without(long number, const char *group)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(refuse_call(number) ? forked_status(group) : 78);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void drop_group(char *group)
{
    backend_cgroup_destroy(group);
    CHECK(!fs_exists(group));
    mem_free(group);
}

static void a_worker_is_made_inside_its_unified_group(void)
{
    char *group = make_group();
    if (!group) {
        tap_skip_reason = "no control group can be made here";
        return;
    }
    CHECK_INT(forked_status(group), 0);
    CHECK_INT(status_without(SYS_write, group), 0); /* nothing was moved */
    drop_group(group);
}

static void a_kernel_without_clone3_has_it_moved(void)
{
    char *group = make_group();
    if (!group) {
        tap_skip_reason = "no control group can be made here";
        return;
    }
    CHECK_INT(status_without(SYS_clone3, group), 0);
    drop_group(group);
}

static void in_the_older_kind_one_thread_is_moved(void)
{
    char *top = NULL;
    CHECK(fs_temp_dir("trainyard-cgroup", &top, &err) == RC_OK);
    char *tasks = fs_join(top, "tasks"), *procs = fs_join(top, "cgroup.procs");
    CHECK(fs_write(tasks, "", 0, 0600, &err) == RC_OK);
    CHECK(fs_write(procs, "", 0, 0600, &err) == RC_OK);
    CHECK_INT(backend_cgroup_enter(top), 0);
    char *moved = content(top, "tasks"), *locked = content(top, "cgroup.procs");
    CHECK_STR(moved, "0");
    CHECK_STR(locked, ""); /* would wait for every processor of the machine */
    mem_free(moved);
    mem_free(locked);
    CHECK(unlink(tasks) == 0);
    CHECK_INT(backend_cgroup_enter(top), 0);
    locked = content(top, "cgroup.procs");
    CHECK_STR(locked, "0");
    mem_free(locked);
    mem_free(tasks);
    mem_free(procs);
    CHECK(fs_remove_all(top, NULL) == RC_OK);
    mem_free(top);
}

static void a_group_that_is_gone_is_reported_in_the_child(void)
{
    CHECK_INT(forked_status("/nowhere/group"), ENOENT);
}

static const struct tap_case cases[] = {
    TAP(a_worker_is_made_inside_its_unified_group),
    TAP(a_kernel_without_clone3_has_it_moved),
    TAP(in_the_older_kind_one_thread_is_moved),
    TAP(a_group_that_is_gone_is_reported_in_the_child),
};
TAP_MAIN(cases)
