/* SPDX-License-Identifier: Apache-2.0 */
#include "train/model_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"

struct train_model_lock {
    int fd;
    char *path, *made; /* .lock; the directory when it was made for it, else NULL */
};

static enum rc refused(int fd, const char *dir, const char *what, struct err *err)
{
    char text[512] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return err_coded(
        err, RC_INVAL, E1410,
        "%s '%.300s' is being written by %s; wait for it, stop it, or take another %s",
        what, dir, text[0] ? text : "another process", what);
}

static void write_owner(int fd)
{
    char host[256] = "?", text[512];
    (void)!gethostname(host, sizeof(host) - 1);
    int n =
        snprintf(text, sizeof(text), "process %ld on host %s\n", (long)getpid(), host);
    if (ftruncate(fd, 0) == 0 && n > 0)
        (void)!pwrite(fd, text, (size_t)n, 0);
}

/* The file is removed with the lock, so the one that was opened may be gone by now. */
static bool is_still_there(int fd, const char *path)
{
    struct stat a, b;
    return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static enum rc lock_file(const char *dir, const char *what, const char *path, int *out,
                         struct err *err)
{
    for (;;) {
        int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        if (fd < 0)
            return err_sys(err, errno, "%s: cannot open '%.300s'", what, path);
        /* file systems without locks have none to be refused by */
        if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
            enum rc rc = refused(fd, dir, what, err);
            close(fd);
            return rc;
        }
        if (is_still_there(fd, path)) {
            *out = fd;
            return RC_OK;
        }
        close(fd);
    }
}

enum rc train_model_lock_take(const char *dir, const char *what,
                              struct train_model_lock **out, struct err *err)
{
    bool was_there = fs_is_dir(dir);
    enum rc rc = fs_mkdirs(dir, 0755, err);
    if (rc)
        return rc;
    struct train_model_lock *l = mem_calloc(1, sizeof(*l));
    l->path = fs_join(dir, ".lock");
    l->made = was_there ? NULL : mem_strdup(dir);
    l->fd = -1;
    rc = lock_file(dir, what, l->path, &l->fd, err);
    if (rc) {
        train_model_lock_release(l);
        return rc;
    }
    write_owner(l->fd);
    fs_sweep(dir);
    *out = l;
    return RC_OK;
}

void train_model_lock_release(struct train_model_lock *l)
{
    if (!l)
        return;
    if (l->fd >= 0) {
        unlink(l->path);
        close(l->fd);
    }
    if (l->made)
        rmdir(l->made); /* nothing came of it; else it is not empty */
    mem_free(l->path);
    mem_free(l->made);
    mem_free(l);
}
