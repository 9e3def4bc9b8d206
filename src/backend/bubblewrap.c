/* SPDX-License-Identifier: Apache-2.0 */
/* bwrap would make a missing mount point on the machine itself when all of "/" is given
 * to it at once. So its root stays the empty one, and gets what "/" holds piece by piece;
 * a directory in which something new is to appear is made anew in the same way.
 */
#include "backend/bubblewrap.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/vec.h"

#define DEPTH_MAX 16

struct building {
    VEC(const char *) argv;
    struct arena *a;
    const struct backend_view_mount *mounts;
    size_t n;
};

static void add(struct building *b, const char *flag, const char *from, const char *to)
{
    VEC_PUSH(&b->argv, flag);
    VEC_PUSH(&b->argv, arena_strdup(b->a, from));
    if (to)
        VEC_PUSH(&b->argv, arena_strdup(b->a, to));
}

/* Is there a place below `dir` that the machine does not have? */
static bool rebuild(const struct building *b, const char *dir)
{
    size_t length = strlen(dir);
    struct stat st;
    for (size_t i = 0; i < b->n; i++)
        if (strncmp(dir, b->mounts[i].to, length) == 0 &&
            b->mounts[i].to[length] == '/' && strncmp(b->mounts[i].to, "/ml/", 4) != 0 &&
            stat(b->mounts[i].to, &st) < 0)
            return true;
    return false;
}

static void fill(struct building *b, const char *dir, int depth);

static void fill_entry(struct building *b, const char *path, int depth)
{
    char target[PATH_MAX];
    struct stat st;
    if (lstat(path, &st) < 0 || strcmp(path, "/ml") == 0)
        return;
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (n > 0)
            add(b, "--symlink", target, path);
    } else if (S_ISDIR(st.st_mode) && rebuild(b, path) && depth < DEPTH_MAX) {
        add(b, "--dir", path, NULL);
        fill(b, path, depth + 1);
    } else {
        add(b, "--dev-bind-try", path, path);
    }
}

static void fill(struct building *b, const char *dir, int depth)
{
    DIR *d = opendir(dir);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d));)
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
            fill_entry(
                b,
                arena_printf(b->a, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, e->d_name),
                depth);
    closedir(d);
}

const char *const *backend_bubblewrap_argv(const struct backend_view_mount *mounts,
                                           size_t n, const char *cwd,
                                           const char *const *argv, struct arena *a)
{
    struct building b = {.a = a, .mounts = mounts, .n = n};
    VEC_PUSH(&b.argv, "bwrap");
    VEC_PUSH(&b.argv, "--die-with-parent");
    fill(&b, "/", 0);
    for (size_t i = 0; i < n; i++)
        add(&b, mounts[i].read_only ? "--ro-bind" : "--bind", mounts[i].from,
            mounts[i].to);
    add(&b, "--chdir", cwd, NULL);
    VEC_PUSH(&b.argv, "--");
    for (size_t i = 0; argv[i]; i++)
        VEC_PUSH(&b.argv, argv[i]);
    const char **copy = arena_alloc(a, (b.argv.n + 1) * sizeof(*copy));
    memcpy(copy, b.argv.at, b.argv.n * sizeof(*copy));
    VEC_RELEASE(&b.argv);
    return copy;
}

bool backend_bubblewrap_possible(void)
{
    static const char *const command[] = {"true", NULL};
    struct arena a = {0};
    struct proc_spec spec = {.argv = backend_bubblewrap_argv(NULL, 0, "/", command, &a)};
    struct proc_limits limits = {.seconds = 10, .max_bytes = 4096};
    struct proc_output got = {0};
    bool good = proc_capture(&spec, &limits, &got, NULL) == RC_OK && got.exit.code == 0;
    proc_output_release(&got);
    arena_release(&a);
    return good;
}
