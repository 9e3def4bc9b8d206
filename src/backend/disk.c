/* SPDX-License-Identifier: Apache-2.0 */
/* How much a job has written. Every few seconds a child of the supervisor adds up what lies in
 * the directories that the job can write to and tells it through a pipe, so that a tree of a
 * million files does not hold up anything. Links are not followed; a file with several
 * names is counted for each, and a directory that nobody may read is read all the same. What is over the limit ends the job.
 */
#include "backend/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"

#define LOOK_NS (2 * CLOCK_SECOND)
#define DEPTH_MAX 200

/* Takes the fd. */
static int64_t sum_dir(int fd, int depth)
{
    DIR *d = fdopendir(fd);
    int64_t sum = 0;
    if (!d) {
        close(fd);
        return 0;
    }
    for (const struct dirent *e; (e = readdir(d));) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            continue;
        sum += (int64_t)st.st_blocks * 512;
        int sub = S_ISDIR(st.st_mode) && depth < DEPTH_MAX
                      ? fs_open_own(fd, e->d_name, O_DIRECTORY)
                      : -1;
        if (sub >= 0)
            sum += sum_dir(sub, depth + 1);
    }
    closedir(d);
    return sum;
}

int64_t backend_disk_sum(const char *dir)
{
    static const char *const names[] = {"ml/usercode", "ml/output", "tmp", "venv"};
    int64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = fs_join(dir, names[i]);
        int fd = fs_open_own(AT_FDCWD, path, O_DIRECTORY);
        if (fd >= 0)
            sum += sum_dir(fd, 0);
        mem_free(path);
    }
    return sum;
}

static void start_look(struct backend_disk_look *l, const char *dir)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        setpriority(PRIO_PROCESS, 0, 10);
        int64_t sum = backend_disk_sum(dir);
        _exit(write(fds[1], &sum, sizeof(sum)) == (ssize_t)sizeof(sum) ? 0 : 1);
    }
    close(fds[1]);
    if (pid < 0)
        close(fds[0]);
    else
        *l = (struct backend_disk_look){.pid = pid, .fd = fds[0], .at = l->at};
}

void backend_disk_look_end(struct backend_disk_look *l)
{
    if (!l->pid)
        return;
    kill(l->pid, SIGKILL);
    while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    close(l->fd);
    *l = (struct backend_disk_look){.at = l->at};
}

int64_t backend_disk_look(struct backend_disk_look *l, const char *dir)
{
    int64_t sum = -1, now = clock_mono_ns();
    if (!l->pid && now - l->at >= LOOK_NS) {
        l->at = now;
        start_look(l, dir);
    }
    if (!l->pid)
        return -1;
    ssize_t n = read(l->fd, &sum, sizeof(sum));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -1;
    backend_disk_look_end(l);
    l->at = clock_mono_ns();
    return n == (ssize_t)sizeof(sum) ? sum : -1;
}
