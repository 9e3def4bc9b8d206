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
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"
#include "job/space.h"

#define LOOK_NS (2 * CLOCK_SECOND)

/* All that confine_tree() gives to a job, and its packages. */
int64_t backend_disk_sum(const char *dir)
{
    static const char *const names[] = {"ml/usercode", "ml/output", "ml/input/credential",
                                        "tmp",         "venv",      "packages"};
    int64_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char *path = fs_join(dir, names[i]);
        int fd = fs_open_own(AT_FDCWD, path, O_DIRECTORY);
        bool whole = true;
        if (fd >= 0)
            sum += job_space_below(fd, &whole);
        if (!whole) /* whoever hides files so deep has written too much */
            sum = DISK_BEYOND;
        mem_free(path);
        if (!whole)
            break;
    }
    return sum;
}

/* Files that have no name any more, each once however often it is open. */
struct unnamed {
    struct unnamed_file {
        ino_t ino;
        int64_t bytes;
    } * at;
    size_t n, cap;
    dev_t dev;
};

static void note_unnamed(struct unnamed *u, const struct stat *st)
{
    if (!S_ISREG(st->st_mode) || st->st_nlink > 0 || st->st_dev != u->dev)
        return;
    struct unnamed_file f = {.ino = st->st_ino, .bytes = (int64_t)st->st_blocks * 512};
    VEC_PUSH(u, f);
}

/* What one process has open. Nothing is opened for it, so nothing of the job's can happen. */
static void look_at_process(struct unnamed *u, const char *pid)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%s/fd", pid);
    DIR *d = opendir(path);
    for (const struct dirent *e; d && (e = readdir(d));)
        if (fstatat(dirfd(d), e->d_name, &st, 0) == 0)
            note_unnamed(u, &st);
    if (d)
        closedir(d);
}

static ino_t process_space(const char *pid)
{
    char path[300];
    struct stat st;
    snprintf(path, sizeof(path), "/proc/%s/ns/pid", pid);
    return stat(path, &st) == 0 ? st.st_ino : 0;
}

typedef VEC(ino_t) space_list;

static bool has_space(const space_list *l, ino_t one)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->at[i] == one)
            return true;
    return false;
}

static void add_space(space_list *l, ino_t one)
{
    if (one && one != process_space("self") && !has_space(l, one))
        VEC_PUSH(l, one); /* ours: it is not kept apart */
}

static int64_t parent_of(const char *pid)
{
    char path[300], *text = NULL;
    size_t n = 0;
    int64_t parent = -1;
    snprintf(path, sizeof(path), "/proc/%s/stat", pid);
    if (fs_read(path, 4096, &text, &n, NULL) == RC_OK) {
        const char *end = strrchr(text, ')'); /* behind the name: " S 123" */
        parent = end && strlen(end) > 4 ? strtoll(end + 4, NULL, 10) : -1;
    }
    mem_free(text);
    return parent;
}

typedef void process_fn(void *arg, const char *pid);

static void each_process(process_fn *fn, void *arg)
{
    DIR *d = opendir("/proc");
    for (const struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
            fn(arg, e->d_name);
    if (d)
        closedir(d);
}

struct looking {
    const int64_t *pids;
    size_t n;
    space_list spaces;
    struct unnamed files;
};

/* The first process of a worker may let nobody look at it; its children do. */
static void find_space(void *arg, const char *pid)
{
    struct looking *l = arg;
    int64_t own = strtoll(pid, NULL, 10), parent = parent_of(pid);
    for (size_t i = 0; i < l->n; i++)
        if (l->pids[i] > 0 && (l->pids[i] == own || l->pids[i] == parent))
            add_space(&l->spaces, process_space(pid));
}

static void find_files(void *arg, const char *pid)
{
    struct looking *l = arg;
    if (has_space(&l->spaces, process_space(pid)))
        look_at_process(&l->files, pid);
}

static int by_ino(const void *a, const void *b)
{
    const struct unnamed_file *x = a, *y = b;
    return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static int64_t sum_unnamed(struct unnamed *u)
{
    int64_t sum = 0;
    if (u->n)
        qsort(u->at, u->n, sizeof(*u->at), by_ino);
    for (size_t i = 0; i < u->n; i++)
        if (i == 0 || u->at[i].ino != u->at[i - 1].ino)
            sum += u->at[i].bytes;
    return sum;
}

int64_t backend_disk_unnamed(const char *dir, const int64_t *pids, size_t n)
{
    struct stat st;
    struct looking l = {.pids = pids, .n = n};
    l.files.dev = stat(dir, &st) == 0 ? st.st_dev : 0;
    if (n)
        each_process(find_space, &l);
    if (l.spaces.n)
        each_process(find_files, &l);
    int64_t sum = sum_unnamed(&l.files);
    VEC_RELEASE(&l.files);
    VEC_RELEASE(&l.spaces);
    return sum;
}

static void start_look(struct backend_disk_look *l, const char *dir, const int64_t *pids,
                       size_t n)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return;
    pid_t pid = fork();
    if (pid == 0) {
        setpriority(PRIO_PROCESS, 0, 10);
        int64_t sum = backend_disk_sum(dir) + backend_disk_unnamed(dir, pids, n);
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

int64_t backend_disk_look(struct backend_disk_look *l, const char *dir,
                          const int64_t *pids, size_t n_pids)
{
    int64_t sum = -1, now = clock_mono_ns();
    if (!l->pid && now - l->at >= LOOK_NS) {
        l->at = now;
        start_look(l, dir, pids, n_pids);
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
