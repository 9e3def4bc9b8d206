/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/self/mountinfo says where the hierarchies are, /proc/self/cgroup which group is ours.
 * In the unified hierarchy a group that has processes cannot have limited children, so a
 * worker's group is made beside ours; in the older one below it. Each step is tried and taken
 * back when it fails: there is no other way to know what is allowed.
 */
#include "backend/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/mem.h"
#include "base/str.h"

#define TEXT_MAX (1 << 20)
#define REMOVE_ROUNDS 50

/* Where groups can be: a mounted hierarchy that has the memory controller. */
struct hierarchy {
    bool unified;
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

static bool names_memory(struct str list)
{
    return str_lists(list, ',', str_c("memory"));
}

/* 35 31 0:32 ROOT MOUNT OPTIONS ... - TYPE SOURCE SUPER-OPTIONS */
static bool read_mount(struct str line, bool unified, struct hierarchy *out)
{
    struct str field[5] = {{0}}, word, type = {0}, options = {0};
    size_t n = 0;
    while (str_split(&line, ' ', &word) && !str_is(word, "-"))
        if (n < ARRAY_LEN(field))
            field[n++] = word;
    bool whole = n == ARRAY_LEN(field) && str_split(&line, ' ', &type) &&
                 str_split(&line, ' ', &word) && str_split(&line, ' ', &options);
    if (!whole || !str_is(type, unified ? "cgroup2" : "cgroup") ||
        (!unified && !names_memory(options)))
        return false;
    out->unified = unified;
    out->root = dup_str(field[3]);
    out->mount = dup_str(field[4]);
    return true;
}

static bool find_mount(bool unified, struct hierarchy *out)
{
    char *text = read_text("/proc/self/mountinfo");
    struct str rest = str_c(text ? text : ""), line;
    bool found = false;
    while (!found && rest.n && str_split(&rest, '\n', &line))
        found = read_mount(line, unified, out);
    mem_free(text);
    return found;
}

/* N:CONTROLLERS:PATH */
static bool find_own(struct hierarchy *h)
{
    char *text = read_text("/proc/self/cgroup");
    struct str rest = str_c(text ? text : ""), line, number, names;
    while (!h->own && rest.n && str_split(&rest, '\n', &line))
        if (str_split(&line, ':', &number) && str_split(&line, ':', &names) &&
            (h->unified ? names.n == 0 : names_memory(names)))
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

int backend_cgroup_enter(const char *path)
{
    return write_file(path, "cgroup.procs", "0");
}

/* Could a process of ours go there? */
static int try_enter(const char *path)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(backend_cgroup_enter(path) & 0x7f);
    if (pid < 0)
        return errno;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

static int set_limit(const char *path, bool unified, int64_t memory)
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

static int make_below(const char *base, const char *name, bool unified, int64_t memory,
                      char **out)
{
    char *path = fs_join(base, name);
    int rc = mkdir(path, 0755) < 0 && errno != EEXIST ? errno : 0;
    if (!rc)
        rc = set_limit(path, unified, memory);
    if (rc && unified && write_file(base, "cgroup.subtree_control", "+memory") == 0)
        rc = set_limit(path, unified, memory);
    if (!rc)
        rc = try_enter(path);
    if (!rc) {
        *out = path;
        return 0;
    }
    backend_cgroup_destroy(path);
    mem_free(path);
    return rc;
}

/* Below our own group; in the unified kind, where a group with processes cannot have
 * limited children, beside it.
 */
static int make_in(bool unified, const char *name, int64_t memory, char **out)
{
    struct hierarchy h = {.unified = unified};
    int rc = ENOENT;
    if (find_mount(unified, &h) && find_own(&h)) {
        char *dir = own_dir(&h);
        if (dir)
            rc = make_below(dir, name, unified, memory, out);
        if (rc && unified && dir && strcmp(dir, h.mount) != 0) {
            char *parent = fs_dirname(dir);
            rc = make_below(parent, name, unified, memory, out);
            mem_free(parent);
        }
        mem_free(dir);
    }
    hierarchy_release(&h);
    return rc;
}

enum rc backend_cgroup_create(const char *name, int64_t memory, char **path,
                              struct err *err)
{
    int first = make_in(true, name, memory, path);
    if (!first)
        return RC_OK;
    int rc = make_in(false, name, memory, path);
    if (!rc)
        return RC_OK;
    return err_set(err, RC_UNSUPPORTED, "%s", strerror(rc == ENOENT ? first : rc));
}

int64_t backend_cgroup_kills(const char *path)
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

void backend_cgroup_destroy(const char *path)
{
    for (int i = 0; i < REMOVE_ROUNDS; i++) {
        if (rmdir(path) == 0 || errno != EBUSY)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}
