/* SPDX-License-Identifier: Apache-2.0 */
/* A directory is a run when a run of ours says so in it (run.json, or a config beside a
 * checkpoint), or when it has files of events. Inside a run nothing further is looked for.
 */
#include "http/run_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "http/api_private.h"

#define DEEP 6          /* below a directory that was given */
#define DEEP_RUN 3      /* below the directory of a run */
#define LOOK_MAX 200000 /* entries in all */

void http_run_files_release(struct http_run_files *f)
{
    VEC_RELEASE(&f->list);
    arena_release(&f->arena);
    *f = (struct http_run_files){0};
}

void http_run_places_release(struct http_run_places *p)
{
    VEC_RELEASE(&p->list);
    arena_release(&p->arena);
    *p = (struct http_run_places){0};
}

static int64_t when(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * CLOCK_SECOND + st->st_mtim.tv_nsec;
}

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !d)
        close(fd);
    return d;
}

static void list_below(struct http_run_files *f, DIR *d, const char *below, int deep)
{
    struct dirent *e;
    struct stat st;
    while (f->list.n < RUN_FILES_MAX && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        const char *path = arena_printf(&f->arena, "%s%s", below, e->d_name);
        if (S_ISREG(st.st_mode)) {
            struct http_run_file one = {path, st.st_size, when(&st)};
            VEC_PUSH(&f->list, one);
        } else if (S_ISDIR(st.st_mode) && deep > 0) {
            DIR *sub = open_dir(dirfd(d), e->d_name);
            if (!sub)
                continue;
            list_below(f, sub, arena_printf(&f->arena, "%s/", path), deep - 1);
            closedir(sub);
        }
    }
}

/* Part by part, so that no link in between is followed either. */
static int open_below(const char *root, const char *path, int last)
{
    int at = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (at >= 0) {
        const char *slash = strchr(path, '/');
        char *part = slash ? mem_strndup(path, (size_t)(slash - path)) : NULL;
        int flags =
            O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (slash ? O_DIRECTORY : last);
        int next = openat(at, slash ? part : path, flags);
        close(at);
        mem_free(part);
        if (!slash)
            return next;
        at = next;
        path = slash + 1;
    }
    return -1;
}

enum rc http_run_files_of_dir(const struct http_run_place *at, struct http_run_files *out,
                              struct err *err)
{
    int fd = open_below(at->root, at->name, O_DIRECTORY);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    *out = (struct http_run_files){0};
    if (fd >= 0 && !d)
        close(fd);
    if (!d)
        return err_coded(err, RC_NOTFOUND, E5007, "the run is no longer there");
    out->root = arena_strdup(&out->arena, at->root);
    out->below = arena_printf(&out->arena, "%s/", at->name);
    list_below(out, d, "", DEEP_RUN);
    closedir(d);
    return RC_OK;
}

/* Files that tell of a run: the directory that they lie in is its own. */
static bool tells_of_run(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strcmp(name, "run.json") == 0 ||
           strncmp(name, "events.out.tfevents.", 20) == 0;
}

enum rc http_run_files_of_job(struct http_call *c, const struct job_outputs *all,
                              struct http_run_files *out, struct err *err)
{
    const struct job_output *best = NULL;
    *out = (struct http_run_files){0};
    for (size_t i = 0; i < all->list.n; i++) {
        const struct job_output *o = &all->list.at[i];
        if (!*o->where && tells_of_run(o->path) && !strstr(o->path, "eval_val/") &&
            (!best || o->changed > best->changed))
            best = o;
    }
    if (!best) {
        c->status = 404;
        return err_coded(err, RC_NOTFOUND, E5007,
                         "the outputs of the job hold no training run");
    }
    const char *slash = strrchr(best->path, '/');
    size_t n = slash ? (size_t)(slash + 1 - best->path) : 0;
    out->channel = arena_strdup(&out->arena, best->channel);
    out->below = arena_strndup(&out->arena, best->path, n);
    for (size_t i = 0; i < all->list.n && out->list.n < RUN_FILES_MAX; i++) {
        const struct job_output *o = &all->list.at[i];
        if (strcmp(o->channel, out->channel) != 0 || strncmp(o->path, out->below, n) != 0)
            continue;
        struct http_run_file one = {arena_strdup(&out->arena, o->path + n), o->bytes,
                                    o->changed};
        VEC_PUSH(&out->list, one);
    }
    return RC_OK;
}

const struct http_run_file *http_run_files_find(const struct http_run_files *f,
                                                const char *path)
{
    for (size_t i = 0; i < f->list.n; i++)
        if (strcmp(f->list.at[i].path, path) == 0)
            return &f->list.at[i];
    return NULL;
}

int http_run_files_open(struct http_call *c, const struct http_run_files *f,
                        const char *path)
{
    struct stat st;
    int fd = -1;
    if (!http_run_files_find(f, path))
        return -1;
    const char *whole = arena_printf(&c->arena, "%s%s", f->below, path);
    if (!f->root)
        return job_output_open(&c->place, c->params[0], f->channel, whole, &fd, &st,
                               NULL) == RC_OK
                   ? fd
                   : -1;
    fd = open_below(f->root, whole, 0);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

const char *http_run_files_text(struct http_call *c, const struct http_run_files *f,
                                const char *path, size_t most)
{
    struct stat st;
    int fd = http_run_files_open(c, f, path);
    char *text = NULL;
    size_t n = 0;
    if (fd >= 0 && fstat(fd, &st) == 0 && (uint64_t)st.st_size <= most) {
        text = arena_alloc(&c->arena, (size_t)st.st_size + 1);
        while (n < (size_t)st.st_size) {
            ssize_t got = read(fd, text + n, (size_t)st.st_size - n);
            if (got <= 0)
                break;
            n += (size_t)got;
        }
        text[n] = '\0';
    }
    if (fd >= 0)
        close(fd);
    return text && strlen(text) == n ? text : NULL;
}

struct search {
    struct http_run_places *out;
    const char *root;
    int64_t looked;
};

static void note_place(struct search *s, const char *dir, const char *name,
                       int64_t changed)
{
    struct http_run_place one = {.root = s->root, .changed = changed};
    struct sha256 h;
    char text[SHA256_TEXT_SIZE];
    sha256_init(&h);
    sha256_add(&h, dir, strlen(dir));
    sha256_text(&h, text);
    memcpy(one.id, text, RUN_ID_SIZE - 1);
    one.dir = arena_strdup(&s->out->arena, dir);
    one.name = arena_strdup(&s->out->arena, *name ? name : ".");
    for (size_t i = 0; i < s->out->list.n; i++)
        if (strcmp(s->out->list.at[i].id, one.id) == 0)
            return; /* below two of the roots */
    VEC_PUSH(&s->out->list, one);
}

static void search_dir(struct search *s, DIR *d, const char *dir, const char *name,
                       int deep)
{
    struct dirent *e;
    struct stat st;
    bool config = false, ckpt = false, run = false;
    int64_t changed = 0;
    VEC(char *) subs = {0};
    while ((e = readdir(d))) {
        if (s->looked++ > LOOK_MAX || s->out->list.n >= RUNS_SHOWN_MAX) {
            s->out->more = true;
            break;
        }
        if (e->d_name[0] == '.' ||
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISDIR(st.st_mode)) {
            if (strncmp(e->d_name, "model.ckpt-", 11) == 0)
                ckpt = true;
            else
                VEC_PUSH(&subs, mem_strdup(e->d_name));
        } else if (S_ISREG(st.st_mode)) {
            run |= tells_of_run(e->d_name);
            config |= strcmp(e->d_name, "pipeline.config") == 0;
            changed = when(&st) > changed ? when(&st) : changed;
        }
    }
    if (run || (config && ckpt))
        note_place(s, dir, name, changed);
    for (size_t i = 0; i < subs.n; i++) {
        DIR *sub = run || ckpt || deep == 0 || s->out->more
                       ? NULL
                       : open_dir(dirfd(d), subs.at[i]);
        if (sub) {
            char *path = mem_printf("%s/%s", dir, subs.at[i]);
            char *below = mem_printf("%s%s%s", name, *name ? "/" : "", subs.at[i]);
            search_dir(s, sub, path, below, deep - 1);
            mem_free(path);
            mem_free(below);
            closedir(sub);
        }
        mem_free(subs.at[i]);
    }
    VEC_RELEASE(&subs);
}

static int newest_first(const void *a, const void *b)
{
    const struct http_run_place *x = a, *y = b;
    if (x->changed != y->changed)
        return x->changed < y->changed ? 1 : -1;
    return strcmp(x->dir, y->dir);
}

void http_run_places_find(const char *const *roots, struct http_run_places *out)
{
    *out = (struct http_run_places){0};
    for (; roots && *roots; roots++) {
        struct search s = {.out = out, .root = arena_strdup(&out->arena, *roots)};
        int fd = open(*roots, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *d = fd < 0 ? NULL : fdopendir(fd);
        if (fd >= 0 && !d)
            close(fd);
        if (!d)
            continue;
        search_dir(&s, d, *roots, "", DEEP);
        closedir(d);
    }
    if (out->list.n)
        qsort(out->list.at, out->list.n, sizeof(*out->list.at), newest_first);
}
