/* SPDX-License-Identifier: Apache-2.0 */
/* Each part of a path is opened below the descriptor of the one before it, with O_NOFOLLOW:
 * what is swapped meanwhile is either the old thing or the new one, never where a link leads.
 */
#include "job/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define DEPTH_MAX 64
#define PATH_MOST 4000

bool job_tree_path_ok(const char *rel)
{
    struct str rest = str_c(rel), part;
    if (!*rel || strlen(rel) > PATH_MOST || str_ends(rel, "/"))
        return false;
    while (rest.n && str_split(&rest, '/', &part))
        if (!part.n || str_is(part, ".") || str_is(part, ".."))
            return false;
    return true;
}

static int open_part(int at, const char *name, bool dir)
{
    return fs_open_own(at, name, O_NONBLOCK | O_NOCTTY | (dir ? O_DIRECTORY : 0));
}

/* Closes `fd` and fails unless it is a regular file. */
static int only_file(int fd, struct stat *st)
{
    struct stat own;
    if (fd >= 0 && fstat(fd, &own) == 0 && S_ISREG(own.st_mode)) {
        if (st)
            *st = own;
        return fd;
    }
    if (fd >= 0) {
        close(fd);
        errno = ENOENT;
    }
    return -1;
}

int job_tree_open(const char *root, const char *rel, bool dir, struct stat *st)
{
    struct str rest = str_c(rel), part;
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!job_tree_path_ok(rel)) {
        if (fd >= 0)
            close(fd);
        errno = ENOENT;
        return -1;
    }
    while (fd >= 0 && rest.n && str_split(&rest, '/', &part)) {
        char *name = mem_strndup(part.p, part.n);
        int next = open_part(fd, name, dir || rest.n), errnum = errno;
        close(fd);
        mem_free(name);
        errno = errnum;
        fd = next;
    }
    return dir ? fd : only_file(fd, st);
}

bool job_tree_has(const char *root, const char *rel, bool dir)
{
    int fd = job_tree_open(root, rel, dir, NULL);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

/* Up to n bytes; fewer where the file ends. */
static size_t read_some(int fd, char *to, size_t n)
{
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(fd, to + done, n - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

char *job_tree_read(const char *root, const char *rel, size_t max, size_t *n)
{
    struct stat st;
    int fd = job_tree_open(root, rel, false, &st);
    char *text = NULL;
    if (fd < 0)
        return NULL;
    if ((uintmax_t)st.st_size <= max)
        text = mem_try_alloc((size_t)st.st_size + 1, 1);
    if (text) {
        *n = read_some(fd, text, (size_t)st.st_size);
        text[*n] = '\0';
    }
    close(fd);
    return text;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int real_name(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

struct walking {
    job_tree_fn *each;
    void *arg;
    struct err *err;
};

static enum rc walk(const struct walking *w, int fd, const char *rel, int depth);

static enum rc visit(const struct walking *w, int at, const char *name, const char *rel,
                     int depth)
{
    struct stat st;
    enum rc rc = RC_OK;
    int fd = open_part(at, name, false);
    if (fd < 0 || fstat(fd, &st) < 0) { /* a link, or gone by now */
        if (fd >= 0)
            close(fd);
        return RC_OK;
    }
    if (S_ISDIR(st.st_mode))
        rc = walk(w, fd, rel, depth + 1);
    else if (S_ISREG(st.st_mode))
        rc = w->each(w->arg, rel, fd, &st, w->err);
    close(fd);
    return rc;
}

static enum rc walk(const struct walking *w, int fd, const char *rel, int depth)
{
    struct dirent **names = NULL;
    enum rc rc = RC_OK;
    if (depth > DEPTH_MAX)
        return err_set(w->err, RC_INVAL, "'%s' is nested deeper than %d", rel, DEPTH_MAX);
    int n = scandirat(fd, ".", &names, real_name, by_name);
    if (n < 0)
        return err_sys(w->err, errno, "cannot list '%s'", rel);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        char *sub = *rel ? fs_join(rel, name) : mem_strdup(name);
        if (!rc && strlen(sub) <= PATH_MOST)
            rc = visit(w, fd, name, sub, depth);
        mem_free(sub);
        free(names[i]);
    }
    free(names);
    return rc;
}

enum rc job_tree_walk(int fd, job_tree_fn *each, void *arg, struct err *err)
{
    struct walking w = {.each = each, .arg = arg, .err = err};
    return walk(&w, fd, "", 0);
}
