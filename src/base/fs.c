/* SPDX-License-Identifier: Apache-2.0 */
/* Writing goes through a temporary name rather than O_TMPFILE: linkat() cannot replace a
 * file, and some network file systems have none of it. The name is short and fixed, so
 * that it fits wherever the target's name does.
 */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"

#define TEMP_NAME ".ty-XXXXXX"
#define READ_STEP ((size_t)65536)
#define DEPTH_MAX 200 /* of directories open at once, where a tree is removed */

static _Atomic(fs_hook_fn *) hook_fn;
static void *hook_arg;

void fs_set_hook(fs_hook_fn *hook, void *arg)
{
    hook_arg = arg;
    hook_fn = hook;
}

/* 0, or -1 with errno set; *short_ is set when one byte is all there shall be. */
static int fs_ask(enum fs_call call, bool *short_)
{
    fs_hook_fn *hook = atomic_load_explicit(&hook_fn, memory_order_relaxed);
    int answer = LIKELY(!hook) ? 0 : hook(hook_arg, call);
    if (short_)
        *short_ = answer == FS_SHORT;
    if (answer <= 0)
        return 0;
    errno = answer;
    return -1;
}

static ssize_t do_read(int fd, void *p, size_t n)
{
    bool one = false;
    ssize_t done;
    if (fs_ask(FS_READ, &one) < 0)
        return -1;
    do {
        done = read(fd, p, one ? 1 : n);
    } while (done < 0 && errno == EINTR);
    return done;
}

static int write_all(int fd, const char *p, size_t n)
{
    while (n) {
        bool one = false;
        if (fs_ask(FS_WRITE, &one) < 0)
            return -1;
        ssize_t done = write(fd, p, one ? 1 : n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

static int do_open(const char *path, int flags)
{
    return fs_ask(FS_OPEN, NULL) < 0 ? -1 : open(path, flags | O_CLOEXEC);
}

/* A first guess at the room: the size plus one, so that the end is seen without growing.
 */
static size_t first_room(int fd, size_t max)
{
    struct stat st;
    size_t room = READ_STEP;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        room = (size_t)st.st_size + 1;
    return room > max ? max + 1 : room;
}

/* Reads to the end, at most max + 1 bytes. *data is the caller's in any case. */
static enum rc read_all(int fd, size_t max, char **data, size_t *n, struct err *err)
{
    size_t room = first_room(fd, max);
    *data = mem_try_alloc(room + 1, 1);
    for (*n = 0; *data;) {
        ssize_t got = do_read(fd, *data + *n, room - *n);
        if (got < 0)
            return err_sys(err, errno, "cannot read");
        *n += (size_t)got;
        if (*n > max)
            return err_set(err, RC_INVAL, "larger than %zu bytes", max);
        if (got == 0)
            return RC_OK;
        if (*n < room)
            continue;
        room = room > max / 2 ? max + 1 : room * 2;
        char *more = mem_try_realloc(*data, room + 1, 1);
        if (!more)
            break;
        *data = more;
    }
    return err_set(err, RC_NOMEM, "out of memory for %zu bytes", room);
}

enum rc fs_read(const char *path, size_t max, char **data, size_t *n, struct err *err)
{
    char *text = NULL;
    size_t got = 0;
    if (max > (size_t)PTRDIFF_MAX - 2)
        max = (size_t)PTRDIFF_MAX - 2;
    int fd = do_open(path, O_RDONLY);
    enum rc rc =
        fd < 0 ? err_sys(err, errno, "cannot open") : read_all(fd, max, &text, &got, err);
    if (fd >= 0)
        close(fd);
    if (rc) {
        mem_free(text);
        return err_wrap(err, rc, "file '%s'", path);
    }
    text[got] = '\0';
    *data = text;
    *n = got;
    return RC_OK;
}

struct fs_file {
    int fd;
    char *path; /* what it will be */
    char *dir;
    char *temp; /* what it is until then; NULL when there is nothing to remove */
};

static void file_free(struct fs_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->temp)
        unlink(f->temp);
    mem_free(f->temp);
    mem_free(f->dir);
    mem_free(f->path);
    mem_free(f);
}

enum rc fs_create(const char *path, mode_t mode, struct fs_file **out, struct err *err)
{
    struct fs_file *f = mem_calloc(1, sizeof(*f));
    f->path = mem_strdup(path);
    f->dir = fs_dirname(path);
    char *temp = fs_join(f->dir, TEMP_NAME);
    f->fd = fs_ask(FS_OPEN, NULL) < 0 ? -1 : mkostemp(temp, O_CLOEXEC);
    enum rc rc = RC_OK;
    if (f->fd < 0) {
        rc = err_sys(err, errno, "cannot create");
        mem_free(temp);
        goto out;
    }
    f->temp = temp;
    (void)!flock(f->fd, LOCK_SH | LOCK_NB); /* while we live: see fs_sweep_dead() */
    if (fs_ask(FS_CHMOD, NULL) < 0 || fchmod(f->fd, mode) < 0) {
        rc = err_sys(err, errno, "cannot set mode %04o", (unsigned)mode);
        goto out;
    }
    *out = f;
    f = NULL;
out:
    if (f)
        file_free(f);
    return rc ? err_wrap(err, rc, "file '%s'", path) : RC_OK;
}

int fs_file_fd(const struct fs_file *f)
{
    return f->fd;
}

enum rc fs_append(struct fs_file *f, const void *data, size_t n, struct err *err)
{
    if (write_all(f->fd, data, n) < 0)
        return err_wrap(err, err_sys(err, errno, "cannot write"), "file '%s'", f->path);
    return RC_OK;
}

const char *fs_file_temp(const struct fs_file *f)
{
    return f->temp;
}

enum rc fs_file_skip(struct fs_file *f, int64_t n, struct err *err)
{
    if (lseek(f->fd, n, SEEK_CUR) < 0)
        return err_wrap(err, err_sys(err, errno, "cannot seek"), "file '%s'", f->path);
    return RC_OK;
}

struct fs_part {
    int fd;
    char *path;
};

enum rc fs_part_open(const char *temp, struct fs_part **out, struct err *err)
{
    int fd = do_open(temp, O_WRONLY | O_NOFOLLOW);
    if (fd < 0)
        return err_wrap(err, err_sys(err, errno, "cannot open"), "file '%s'", temp);
    *out = mem_calloc(1, sizeof(**out));
    **out = (struct fs_part){.fd = fd, .path = mem_strdup(temp)};
    return RC_OK;
}

enum rc fs_part_write(struct fs_part *p, int64_t offset, const void *data, size_t n,
                      struct err *err)
{
    const char *at = data;
    while (n) {
        bool one = false;
        ssize_t done = -1;
        if (fs_ask(FS_WRITE, &one) == 0)
            done = pwrite(p->fd, at, one ? 1 : n, offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return err_wrap(err, err_sys(err, errno, "cannot write"), "file '%s'",
                            p->path);
        at += done;
        offset += done;
        n -= (size_t)done;
    }
    return RC_OK;
}

enum rc fs_part_close(struct fs_part *p, bool sync, struct err *err)
{
    enum rc rc = RC_OK;
    if (!p)
        return RC_OK;
    if (sync && (fs_ask(FS_SYNC, NULL) < 0 || fsync(p->fd) < 0))
        rc = err_sys(err, errno, "cannot sync");
    if (close(p->fd) < 0 && !rc)
        rc = err_sys(err, errno, "cannot close");
    if (rc)
        err_wrap(err, rc, "file '%s'", p->path);
    mem_free(p->path);
    mem_free(p);
    return rc;
}

static enum rc sync_dir(const char *dir, struct err *err)
{
    int fd = do_open(dir, O_RDONLY | O_DIRECTORY);
    enum rc rc = RC_OK;
    if (fd < 0 || fs_ask(FS_SYNC_DIR, NULL) < 0 || fsync(fd) < 0)
        rc = err_sys(err, errno, "cannot sync its directory '%s'", dir);
    if (fd >= 0)
        close(fd);
    return rc;
}

static enum rc close_file(struct fs_file *f, struct err *err)
{
    int fd = f->fd;
    f->fd = -1;
    bool refused = fs_ask(FS_CLOSE, NULL) < 0;
    int errnum = errno;
    if (close(fd) == 0 && !refused)
        return RC_OK;
    return err_sys(err, refused ? errnum : errno, "cannot close");
}

static enum rc fs_replace(struct fs_file *f, struct err *err)
{
    if (fs_ask(FS_SYNC, NULL) < 0 || fsync(f->fd) < 0)
        return err_sys(err, errno, "cannot sync");
    int locked =
        fcntl(f->fd, F_DUPFD_CLOEXEC, 0); /* the lock lasts until it has its name */
    enum rc rc = close_file(f, err);
    if (!rc && (fs_ask(FS_RENAME, NULL) < 0 || rename(f->temp, f->path) < 0))
        rc = err_sys(err, errno, "cannot rename '%s' to it", f->temp);
    if (locked >= 0)
        close(locked);
    if (rc)
        return rc;
    mem_free(f->temp);
    f->temp = NULL;
    return sync_dir(f->dir, err);
}

enum rc fs_commit(struct fs_file *f, struct err *err)
{
    enum rc rc = fs_replace(f, err);
    if (rc)
        err_wrap(err, rc, "file '%s'", f->path);
    file_free(f);
    return rc;
}

void fs_abandon(struct fs_file *f)
{
    if (f)
        file_free(f);
}

enum rc fs_write(const char *path, const void *data, size_t n, mode_t mode,
                 struct err *err)
{
    struct fs_file *f;
    enum rc rc = fs_create(path, mode, &f, err);
    if (rc)
        return rc;
    rc = fs_append(f, data, n, err);
    if (rc) {
        fs_abandon(f);
        return rc;
    }
    return fs_commit(f, err);
}

static enum rc make_dir(const char *path, mode_t mode, struct err *err)
{
    if (fs_ask(FS_MKDIR, NULL) == 0 &&
        (mkdir(path, mode) == 0 || (errno == EEXIST && fs_is_dir(path))))
        return RC_OK;
    return err_sys(err, errno, "cannot make directory '%s'", path);
}

/* For file systems without an exchange of names. */
static int swap_by_hand(const char *from, const char *to)
{
    char *aside = mem_printf("%s.old", from);
    int rc = rename(to, aside);
    if (rc == 0 && (rc = rename(from, to)) == 0)
        rc = rename(aside, from);
    mem_free(aside);
    return rc;
}

static int do_move(const char *from, const char *to)
{
    struct stat st;
    if (fs_ask(FS_RENAME, NULL) < 0)
        return -1;
    if (lstat(to, &st) < 0)
        return rename(from, to);
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) == 0)
        return 0;
    return errno == EINVAL || errno == ENOSYS ? swap_by_hand(from, to) : -1;
}

enum rc fs_move(const char *from, const char *to, struct err *err)
{
    if (do_move(from, to) < 0)
        return err_sys(err, errno, "cannot rename '%s' to '%s'", from, to);
    char *dir = fs_dirname(to);
    enum rc rc = sync_dir(dir, err);
    mem_free(dir);
    return rc ? err_wrap(err, rc, "'%s'", to) : RC_OK;
}

enum rc fs_mkdirs(const char *path, mode_t mode, struct err *err)
{
    char *part = mem_strdup(path);
    enum rc rc = RC_OK;
    for (char *c = part + (*part == '/'); *c && !rc; c++) {
        if (*c != '/' || c[-1] == '/')
            continue;
        *c = '\0';
        rc = make_dir(part, mode, err);
        *c = '/';
    }
    mem_free(part);
    return rc ? rc : make_dir(path, mode, err);
}

enum rc fs_temp_dir(const char *prefix, char **path, struct err *err)
{
    const char *root = getenv("TMPDIR");
    char *name = mem_printf("%s-XXXXXX", prefix);
    char *full = fs_join(root && *root ? root : "/tmp", name);
    mem_free(name);
    if (!mkdtemp(full)) {
        enum rc rc = err_sys(err, errno, "cannot make directory '%s'", full);
        mem_free(full);
        return rc;
    }
    *path = full;
    return RC_OK;
}

/* The file behind a descriptor that only names it, for reading. */
static int open_named(int ref, int flags)
{
    struct stat st;
    char self[40];
    if (fstat(ref, &st) < 0)
        return -1;
    if (st.st_uid != geteuid() || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
        errno = EACCES;
        return -1;
    }
    mode_t mode = (st.st_mode & 07777) | (S_ISDIR(st.st_mode) ? 0700 : 0400);
    snprintf(self, sizeof(self), "/proc/self/fd/%d", ref);
    return chmod(self, mode) < 0 ? -1 : open(self, O_RDONLY | O_CLOEXEC | flags);
}

int fs_open_own(int at, const char *name, int flags)
{
    struct stat st;
    int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | flags);
    if (fd < 0 && errno == EACCES) {
        int ref = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        fd = ref < 0 ? -1 : open_named(ref, flags);
        int errnum = errno;
        if (ref >= 0)
            close(ref);
        errno = errnum;
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
        (st.st_mode & 0700) != 0700)
        (void)!fchmod(fd, (st.st_mode & 07777) | 0700);
    return fd;
}

/* A tree that is being removed. A directory that lies too deep is moved up to its root and
 * removed from there, so that depth costs neither descriptors nor stack.
 */
struct removing {
    int root; /* -1: not open yet */
    unsigned moved;
};

static int remove_tree(struct removing *r, int parent, const char *name, int depth);

static int remove_entries(struct removing *r, int fd, int depth)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return -1;
    }
    if (depth == 0)
        r->root = dirfd(dir);
    int rc = 0, errnum = 0;
    const struct dirent *e;
    while (rc == 0 && (e = readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        rc = remove_tree(r, dirfd(dir), e->d_name, depth + 1);
        errnum = errno;
    }
    closedir(dir);
    errno = errnum;
    return rc;
}

static int move_up(struct removing *r, int parent, const char *name)
{
    char to[40];
    int fd = fs_open_own(parent, name, O_DIRECTORY), rc = -1; /* it is let in, too */
    if (fd >= 0)
        close(fd);
    for (int i = 0; i < 1000 && rc < 0; i++) { /* a name may be taken */
        snprintf(to, sizeof(to), ".ty-deep-%u", r->moved++);
        rc = renameat2(parent, name, r->root, to, RENAME_NOREPLACE);
        if (rc < 0 && errno == EINVAL) /* not on every file system */
            rc = renameat(parent, name, r->root, to);
        if (rc < 0 && errno != EEXIST && errno != ENOTEMPTY)
            break;
    }
    return rc;
}

/* Tried as a file first: that is right for all but directories and follows no link. */
static int remove_tree(struct removing *r, int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    if (depth > DEPTH_MAX)
        return move_up(r, parent, name);
    for (unsigned seen = r->moved;; seen = r->moved) {
        int fd = fs_open_own(parent, name, O_DIRECTORY);
        if (fd < 0 || remove_entries(r, fd, depth) < 0)
            return -1;
        if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return 0;
        if (depth > 0 || r->moved == seen) /* else what came up meanwhile is next */
            return -1;
    }
}

enum rc fs_remove_all(const char *path, struct err *err)
{
    struct removing r = {.root = -1};
    if (remove_tree(&r, AT_FDCWD, path, 0) < 0)
        return err_sys(err, errno, "cannot remove '%s'", path);
    return RC_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum rc fs_list(const char *path, struct fs_names *out, struct err *err)
{
    DIR *dir = opendir(path);
    if (!dir)
        return err_sys(err, errno, "cannot list directory '%s'", path);
    VEC(char *) names = {0};
    const struct dirent *e;
    errno = 0;
    while ((e = readdir(dir)))
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            VEC_PUSH(&names, mem_strdup(e->d_name));
    int errnum = errno;
    closedir(dir);
    struct fs_names list = {.at = names.at, .n = names.n};
    if (errnum) {
        fs_names_release(&list);
        return err_sys(err, errnum, "cannot list directory '%s'", path);
    }
    if (list.n)
        qsort(list.at, list.n, sizeof(*list.at), by_bytes);
    *out = list;
    return RC_OK;
}

void fs_names_release(struct fs_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        mem_free(names->at[i]);
    mem_free(names->at);
    *names = (struct fs_names){0};
}

static bool is_temp(const char *name)
{
    return str_starts(name, ".ty-") && strlen(name) == strlen(TEMP_NAME);
}

/* Its writer would hold the lock, from just after the file was made. */
static bool is_dead(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool dead = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
                time(NULL) - st.st_mtime > 1 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (fd >= 0)
        close(fd);
    return dead;
}

void fs_sweep_dead(const char *path)
{
    struct fs_names names = {0};
    if (fs_list(path, &names, NULL))
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *left = fs_join(path, names.at[i]);
        if (is_temp(names.at[i]) && is_dead(left))
            unlink(left);
        mem_free(left);
    }
    fs_names_release(&names);
}

void fs_sweep(const char *path)
{
    struct fs_names names = {0};
    if (fs_list(path, &names, NULL))
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *left = fs_join(path, names.at[i]);
        if (is_temp(names.at[i]))
            (void)!fs_remove_all(left, NULL);
        mem_free(left);
    }
    fs_names_release(&names);
}

bool fs_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

bool fs_is_dir(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

char *fs_join(const char *a, const char *b)
{
    if (b[0] == '/' || a[0] == '\0')
        return mem_strdup(b);
    return mem_printf("%s%s%s", a, str_ends(a, "/") ? "" : "/", b);
}

/* Length without slashes at the end; at least one byte of "/". */
static size_t trimmed(const char *path, size_t n)
{
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

char *fs_dirname(const char *path)
{
    size_t n = trimmed(path, strlen(path));
    while (n && path[n - 1] != '/')
        n--;
    return n ? mem_strndup(path, trimmed(path, n)) : mem_strdup(".");
}

char *fs_basename(const char *path)
{
    size_t end = trimmed(path, strlen(path)), start = end;
    while (start && path[start - 1] != '/')
        start--;
    if (start == end)
        start = 0; /* "/" or "" */
    return mem_strndup(path + start, end - start);
}

enum rc fs_map(const char *path, struct fs_map *out, struct err *err)
{
    struct fs_map map = {.data = (const unsigned char *)""};
    struct stat st;
    enum rc rc = RC_OK;
    int fd = do_open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        rc = err_sys(err, errno, "cannot open");
    } else if (!S_ISREG(st.st_mode)) {
        rc = err_set(err, RC_INVAL, "not a regular file");
    } else if (st.st_size > 0) {
        map.n = (size_t)st.st_size;
        void *p = mmap(NULL, map.n, PROT_READ, MAP_PRIVATE, fd, 0);
        map.data = p;
        if (p == MAP_FAILED)
            rc = err_sys(err, errno, "cannot map %zu bytes", map.n);
    }
    if (fd >= 0)
        close(fd);
    if (rc)
        return err_wrap(err, rc, "file '%s'", path);
    *out = map;
    return RC_OK;
}

void fs_unmap(struct fs_map *map)
{
    if (map->n)
        munmap((void *)(uintptr_t)map->data, map->n);
    *map = (struct fs_map){.data = (const unsigned char *)""};
}

enum rc fs_space(const char *path, int64_t *available, int64_t *total, struct err *err)
{
    struct statvfs v;
    if (statvfs(path, &v) < 0)
        return err_sys(err, errno, "cannot ask for the free space of '%s'", path);
    *available = (int64_t)((uint64_t)v.f_bavail * v.f_frsize);
    *total = (int64_t)((uint64_t)v.f_blocks * v.f_frsize);
    return RC_OK;
}

enum rc fs_files(const char *path, int64_t *available, int64_t *total, struct err *err)
{
    struct statvfs v;
    if (statvfs(path, &v) < 0)
        return err_sys(err, errno, "cannot ask for the free files of '%s'", path);
    *available = (int64_t)v.f_favail;
    *total = (int64_t)v.f_files;
    return RC_OK;
}

enum rc fs_add_line(const char *path, const char *line, size_t n, struct err *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(err, errno, "%s: cannot open", path);
    ssize_t done = write(fd, line, n);
    enum rc rc = RC_OK;
    if (done < 0 || (size_t)done != n || fsync(fd) < 0)
        rc = err_sys(err, done >= 0 && (size_t)done != n ? ENOSPC : errno,
                     "%s: cannot write", path);
    close(fd);
    return rc;
}
