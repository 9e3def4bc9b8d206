/* SPDX-License-Identifier: Apache-2.0 */
/* A file at a time: it is opened here and is the stdin of Python, whose stdout is the file of
 * slots. The sandbox shows the machine read-only, and where it would not (below /tmp) the
 * directories of the reader and of the data, and the current one.
 */
#include "cmd/paddlerec_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/sandbox.h"
#include "base/env.h"
#include "base/mem.h"
#include "text/json.h"

#define PYTHON "python3"
#define MOUNTS_MAX 3

struct reading {
    struct paddlerec_readers *r;
    const struct prec_Dataset *set;
    const char *reader; /* absolute */
    const char *python; /* PATH's */
    struct backend_view_mount mounts[MOUNTS_MAX];
    size_t n_mounts;
    const char *config; /* "TRAINYARD_READER_CONFIG=..." */
};

/* Files of a directory in the order of their names, those below it too. */
static enum rc list_files(const char *dir, struct fs_names *out, struct err *err)
{
    struct fs_names names = {0};
    enum rc rc = fs_list(dir, &names, err);
    for (size_t i = 0; !rc && i < names.n; i++) {
        char *path = fs_join(dir, names.at[i]);
        if (names.at[i][0] == '.') {
            mem_free(path);
        } else if (fs_is_dir(path)) {
            rc = list_files(path, out, err);
            mem_free(path);
        } else {
            out->at = mem_realloc(out->at, out->n + 1, sizeof(*out->at));
            out->at[out->n++] = path;
        }
    }
    fs_names_release(&names);
    return rc;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void show_directory(struct reading *x, const char *path)
{
    char *real = realpath(path, NULL);
    bool there = !real || strcmp(real, "/") == 0;
    for (size_t i = 0; i < x->n_mounts && !there; i++)
        there = strcmp(real, x->mounts[i].to) == 0;
    if (!there) {
        const char *copy = arena_strdup(&x->r->arena, real);
        x->mounts[x->n_mounts++] =
            (struct backend_view_mount){.from = copy, .to = copy, .read_only = true};
    }
    free(real);
}

/* What Python finds its packages and its words by; nothing else of ours is passed on. */
static const char *const *variables(const struct reading *x)
{
    static const char *const kept[] = {"PATH",       "PYTHONPATH",   "VIRTUAL_ENV",
                                       "LANG",       "LC_ALL",       "LC_CTYPE",
                                       "PYENV_ROOT", "PYENV_VERSION"};
    struct arena *a = &x->r->arena;
    const char **env = arena_alloc(a, (ARRAY_LEN(kept) + 5) * sizeof(*env));
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        if (env_get(kept[i]))
            env[n++] = arena_printf(a, "%s=%s", kept[i], env_get(kept[i]));
    env[n++] = "HOME=/tmp";
    env[n++] = "PYTHONHASHSEED=0"; /* hash() of a text is the same in every run */
    env[n++] = "PYTHONUTF8=1";
    env[n++] = x->config;
    env[n] = NULL;
    return env;
}

static enum rc convert_by(struct reading *x, int in, int out, const char *from,
                          struct err *err)
{
    struct arena *a = &x->r->arena;
    char *cwd = getcwd(NULL, 0), *told = NULL, words[PROC_WORDS_SIZE];
    struct proc_exit end = {0};
    const char *argv[] = {x->python,
                          "-B",
                          "-c",
                          paddlerec_reader_text,
                          x->reader,
                          x->set->reader_class_name,
                          arena_printf(a, "%jd", (intmax_t)x->r->seed),
                          x->r->one ? "1" : "0",
                          NULL};
    struct backend_sandbox s = {.argv = argv,
                                .env = variables(x),
                                .cwd = cwd ? cwd : "/",
                                .in = in,
                                .out = out,
                                .scratch = x->r->scratch,
                                .mounts = x->mounts,
                                .n_mounts = x->n_mounts,
                                .open = x->r->trusted};
    enum rc rc = backend_sandbox_run(&s, &told, &end, err);
    proc_exit_words(end, words);
    struct str said = str_trim(str_c(told ? told : ""));
    const char *line = said.n ? memrchr(said.p, '\n', said.n) : NULL;
    if (line)
        said = str_of(line + 1, said.n - (size_t)(line + 1 - said.p));
    if (rc == RC_UNSUPPORTED)
        rc = err_coded(
            err, RC_UNSUPPORTED, E0541,
            "this machine cannot keep a program apart (%s); --trust-reader runs "
            "it as you",
            err ? err->msg : "");
    else if (!rc && (end.code != 0 || said.n))
        rc = end.code == 0 ? RC_OK /* a warning of Python's */
                           : err_coded(err, RC_INVAL, E0541, "'%s': %.*s", from,
                                       said.n ? (int)said.n : (int)strlen(words),
                                       said.n ? said.p : words);
    mem_free(told);
    free(cwd);
    return rc;
}

static enum rc convert(struct reading *x, const char *from, const char *to,
                       struct err *err)
{
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    enum rc rc = out < 0 ? err_sys(err, errno, "'%s'", in < 0 ? from : to)
                         : convert_by(x, in, out, from, err);
    if (in >= 0)
        close(in);
    if (out >= 0 && close(out) && !rc)
        rc = err_sys(err, errno, "'%s'", to);
    return rc;
}

/* "a:1 a:2 b:0.5" -> sparse "a", dense "b:1". */
static enum rc slots_of(const char *path, struct arena *a, struct paddlerec_read *out,
                        struct err *err)
{
    char *text = NULL;
    size_t n = 0;
    enum rc rc = fs_read(path, (size_t)1 << 30, &text, &n, err);
    struct str rest = str_of(text ? text : "", n), line, token, name = {0};
    const char *sparse = "", *dense = "";
    int64_t count = 0;
    bool real = false;
    if (!rc && !str_split(&rest, '\n', &line))
        line = (struct str){0};
    for (bool more = !rc && line.n > 0; more;) {
        more = str_split(&line, ' ', &token);
        const char *colon = more ? memchr(token.p, ':', token.n) : NULL;
        struct str next =
            colon ? str_of(token.p, (size_t)(colon - token.p)) : (struct str){0};
        if (name.p &&
            (!more || next.n != name.n || memcmp(next.p, name.p, name.n) != 0)) {
            if (real)
                dense = arena_printf(a, "%s%s%.*s:%jd", dense, *dense ? " " : "",
                                     (int)name.n, name.p, (intmax_t)count);
            else
                sparse = arena_printf(a, "%s%s%.*s", sparse, *sparse ? " " : "",
                                      (int)name.n, name.p);
            count = 0;
            real = false;
        }
        name = next;
        count++;
        for (size_t i = name.n; more && i < token.n; i++)
            real = real || token.p[i] == '.' || token.p[i] == 'e';
    }
    out->sparse = sparse;
    out->dense = dense;
    mem_free(text);
    return rc;
}

static enum rc convert_all(struct reading *x, const char *data,
                           struct paddlerec_read *out, struct err *err)
{
    struct paddlerec_readers *r = x->r;
    struct fs_names files = {0};
    const char *dir = arena_printf(&r->arena, "%s/%zu", r->scratch, r->n), *first = NULL;
    enum rc rc = list_files(data, &files, err);
    if (!rc && files.n == 0)
        rc = err_set(err, RC_NOTFOUND, "no files in '%s'", data);
    if (!rc)
        qsort(files.at, files.n, sizeof(*files.at), by_bytes);
    if (!rc)
        rc = fs_mkdirs(dir, 0700, err);
    for (size_t i = 0; !rc && i < files.n && !(r->one && i); i++) {
        const char *to = arena_printf(&r->arena, "%s/%09zu", dir, i);
        rc = convert(x, files.at[i], to, err);
        first = first ? first : to;
    }
    if (!rc)
        rc = slots_of(first, &r->arena, out, err);
    if (!rc && !*out->sparse && !*out->dense)
        rc = err_coded(err, RC_INVAL, E0541, "'%s': the reader made no sample of it",
                       files.at[0]);
    out->dir = dir;
    fs_names_release(&files);
    return rc;
}

static enum rc prepare(struct reading *x, const char *data, struct err *err)
{
    struct paddlerec_readers *r = x->r;
    const char *path = paddlerec_expand(r->c, x->set->data_converter, r->base, &r->arena);
    char *real = realpath(path, NULL), *python = proc_which(PYTHON, NULL), *dir;
    enum rc rc = real ? RC_OK : err_sys(err, errno, "reader '%s'", path);
    if (!rc && !python)
        rc = err_coded(err, RC_NOTFOUND, E0541, "there is no '" PYTHON "' to run '%s'",
                       path);
    if (!rc && !r->scratch)
        rc = fs_temp_dir("trainyard-reader", &r->scratch, err);
    if (!rc) {
        struct buf text;
        buf_init(&text, (size_t)1 << 20);
        json_print(r->c->base.node, 0, &text);
        x->config = arena_printf(&r->arena, "TRAINYARD_READER_CONFIG=%s", buf_str(&text));
        buf_release(&text);
        x->reader = arena_strdup(&r->arena, real);
        x->python = arena_strdup(&r->arena, python);
        show_directory(x, dir = fs_dirname(real));
        mem_free(dir);
        show_directory(x, data);
        show_directory(x, ".");
    }
    mem_free(python);
    free(real);
    return rc;
}

enum rc paddlerec_readers_read(void *readers, const struct prec_Dataset *set,
                               struct paddlerec_read *out, struct err *err)
{
    struct paddlerec_readers *r = readers;
    struct reading x = {.r = r, .set = set};
    struct err why = {0};
    for (size_t i = 0; i < r->n; i++)
        if (r->done[i].set == set) {
            *out = r->done[i].read;
            if (r->done[i].rc && err)
                *err = r->done[i].why;
            return r->done[i].rc;
        }
    const char *data = paddlerec_expand(r->c, set->data_path, r->base, &r->arena);
    enum rc rc = prepare(&x, data, &why);
    if (!rc)
        rc = convert_all(&x, data, out, &why);
    if (rc && err)
        *err = why;
    if (r->n < ARRAY_LEN(r->done)) {
        r->done[r->n].set = set;
        r->done[r->n].read = *out;
        r->done[r->n].rc = rc;
        r->done[r->n++].why = why;
    }
    return rc;
}

void paddlerec_readers_release(struct paddlerec_readers *r)
{
    struct err err = {0};
    if (r->scratch && fs_remove_all(r->scratch, &err))
        fprintf(stderr, "%s\n", err.msg);
    mem_free(r->scratch);
    arena_release(&r->arena);
    *r = (struct paddlerec_readers){0};
}
