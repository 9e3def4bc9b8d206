/* SPDX-License-Identifier: Apache-2.0 */
/* A pattern is walked component by component; directories are listed only where a
 * component is no plain name. Links to directories are followed, but not by `**`, which
 * could run in circles.
 */
#include "data/files.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "data/reader.h"
#include "io/file.h"
#include "io/glob.h"

#define DEPTH_MAX 64

typedef VEC(char *) path_vec;

static bool is_pattern(const char *s)
{
    return strpbrk(s, "*?[") != NULL;
}

static bool is_hidden(const char *name)
{
    return name[0] == '.' || name[0] == '_';
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static enum rc too_deep(const char *path, struct err *err)
{
    return err_coded(err, RC_INVAL, E1201, "'%.200s': more than %d directories deep",
                     path, DEPTH_MAX);
}

/* Every file below `dir`. */
static enum rc add_tree(const char *dir, int depth, path_vec *out, struct err *err)
{
    struct fs_names names = {0};
    if (depth > DEPTH_MAX)
        return too_deep(dir, err);
    enum rc rc = fs_list(dir, &names, err);
    for (size_t i = 0; !rc && i < names.n; i++) {
        if (is_hidden(names.at[i]))
            continue;
        char *path = fs_join(dir, names.at[i]);
        if (!fs_is_dir(path)) {
            VEC_PUSH(out, path);
            continue;
        }
        if (depth == 0 || !is_link(path))
            rc = add_tree(path, depth + 1, out, err);
        mem_free(path);
    }
    fs_names_release(&names);
    return rc;
}

static enum rc add_matches(const char *dir, const char *pattern, int depth, path_vec *out,
                           struct err *err);

/* `path` fits so far; `rest` is what of the pattern is left. */
static enum rc go_on(char *path, const char *rest, int depth, path_vec *out,
                     struct err *err)
{
    enum rc rc = RC_OK;
    if (rest[0] && fs_is_dir(path))
        rc = add_matches(path, rest, depth + 1, out, err);
    if (!rest[0] && fs_exists(path) && !fs_is_dir(path)) {
        VEC_PUSH(out, path);
        return RC_OK;
    }
    mem_free(path);
    return rc;
}

/* `**`: here, and in every directory below. */
static enum rc add_below(const char *dir, const char *pattern, const char *rest,
                         int depth, path_vec *out, struct err *err)
{
    struct fs_names names = {0};
    const char *here = dir[0] ? dir : ".";
    enum rc rc = add_matches(dir, rest[0] ? rest : "*", depth + 1, out, err);
    if (!rc)
        rc = fs_list(here, &names, err);
    for (size_t i = 0; !rc && i < names.n; i++) {
        char *path = dir[0] ? fs_join(dir, names.at[i]) : mem_strdup(names.at[i]);
        if (!is_hidden(names.at[i]) && fs_is_dir(path) && !is_link(path))
            rc = add_matches(path, pattern, depth + 1, out, err);
        mem_free(path);
    }
    fs_names_release(&names);
    return rc;
}

/* `dir` is "" for the current directory. */
static enum rc add_matches(const char *dir, const char *pattern, int depth, path_vec *out,
                           struct err *err)
{
    const char *slash = strchr(pattern, '/');
    size_t n = slash ? (size_t)(slash - pattern) : strlen(pattern);
    const char *rest = slash ? slash + strspn(slash, "/") : "";
    struct fs_names names = {0};
    if (depth > DEPTH_MAX)
        return too_deep(dir, err);
    char *part = mem_strndup(pattern, n);
    enum rc rc = RC_OK;
    if (strcmp(part, "**") == 0) {
        rc = add_below(dir, pattern, rest, depth, out, err);
    } else if (!is_pattern(part)) {
        rc = go_on(dir[0] ? fs_join(dir, part) : mem_strdup(part), rest, depth, out, err);
    } else {
        rc = fs_list(dir[0] ? dir : ".", &names, err);
        for (size_t i = 0; !rc && i < names.n; i++)
            if (fnmatch(part, names.at[i], FNM_PERIOD) == 0 &&
                (!is_hidden(names.at[i]) || part[0] == names.at[i][0]))
                rc = go_on(dir[0] ? fs_join(dir, names.at[i]) : mem_strdup(names.at[i]),
                           rest, depth, out, err);
        fs_names_release(&names);
    }
    mem_free(part);
    return rc;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum rc expand_url(const char *url, path_vec *out, struct err *err)
{
    struct fs_names found = {0};
    enum rc rc = io_glob(url, &found, err);
    for (size_t i = 0; i < found.n; i++)
        VEC_PUSH(out, found.at[i]);
    mem_free(found.at);
    if (!rc && out->n == 0)
        rc = err_coded(err, RC_NOTFOUND, E1201,
                       is_pattern(url) ? "no object matches '%.300s'"
                                       : "there is no object '%.300s', nor any below it",
                       url);
    return rc;
}

/* An address of no file: tables, topics. */
static enum rc expand_address(const struct reader_ops *ops, const char *address,
                              path_vec *out, struct err *err)
{
    struct fs_names found = {0};
    if (!ops->expand) {
        VEC_PUSH(out, mem_strdup(address));
        return RC_OK;
    }
    enum rc rc = ops->expand(address, &found, err);
    for (size_t i = 0; i < found.n; i++)
        VEC_PUSH(out, found.at[i]);
    mem_free(found.at);
    return rc;
}

/* Types, cuts and passes each read a file from its start; a pipe can be read once. */
static bool is_pipe(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode));
}

static enum rc expand_part(const char *part, path_vec *out, struct err *err)
{
    enum rc rc = RC_OK;
    const struct reader_ops *ops = reader_of_scheme(part);
    if (ops)
        return expand_address(ops, part, out, err);
    if (io_is_remote(part))
        return expand_url(part, out, err);
    if (is_pipe(part))
        return err_coded(err, RC_UNSUPPORTED, E1201,
                         "'%.300s' is a pipe, which can be read once only: write it to a "
                         "file first",
                         part);
    if (fs_is_dir(part))
        rc = add_tree(part, 0, out, err);
    else if (fs_exists(part))
        VEC_PUSH(out, mem_strdup(part));
    else if (is_pattern(part))
        rc = part[0] == '/' ? add_matches("/", part + strspn(part, "/"), 0, out, err)
                            : add_matches("", part, 0, out, err);
    if (!rc && out->n == 0)
        rc = err_coded(err, RC_NOTFOUND, E1201,
                       fs_is_dir(part)    ? "directory '%.300s' holds no data files"
                       : is_pattern(part) ? "no file matches '%.300s'"
                                          : "'%.300s' does not exist",
                       part);
    if (out->n)
        qsort(out->at, out->n, sizeof(*out->at), by_bytes);
    return rc;
}

static void add_once(struct map *seen, path_vec *files, path_vec *part)
{
    for (size_t i = 0; i < part->n; i++) {
        struct map_entry *e = map_put(seen, str_c(part->at[i]));
        if (e->value) {
            mem_free(part->at[i]);
            continue;
        }
        e->value = part->at[i];
        VEC_PUSH(files, part->at[i]);
    }
    part->n = 0;
}

static void files_release(path_vec *v)
{
    for (size_t i = 0; i < v->n; i++)
        mem_free(v->at[i]);
    VEC_RELEASE(v);
}

enum rc files_expand(const char *input, struct fs_names *out, struct err *err)
{
    path_vec files = {0}, part = {0};
    struct map seen = {0};
    struct str rest = str_c(input), one;
    const struct reader_ops *ops = reader_of_scheme(input);
    /* A name may hold commas itself, and so may a list of brokers. */
    bool whole = fs_exists(input) || (ops && ops->streams);
    enum rc rc = RC_OK;
    while (!rc && (whole || str_split(&rest, ',', &one))) {
        one = whole ? str_c(input) : str_trim(one);
        char *text = mem_strndup(one.p, one.n);
        if (one.n)
            rc = expand_part(text, &part, err);
        mem_free(text);
        add_once(&seen, &files, &part);
        if (whole)
            break;
    }
    if (!rc && files.n == 0)
        rc = err_coded(err, RC_INVAL, E1201, "the input path is empty");
    map_release(&seen);
    VEC_RELEASE(&part);
    if (rc) {
        files_release(&files);
        return rc;
    }
    *out = (struct fs_names){.at = files.at, .n = files.n};
    return RC_OK;
}
