/* SPDX-License-Identifier: Apache-2.0 */
/* Two names are one file when device and inode agree, which sees through symbolic and hard
 * links, doubled slashes and "..". Objects of a store have no inode; their addresses are
 * compared.
 */
#include "io/guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/str.h"
#include "io/file.h"

bool io_is_direct(const char *path)
{
    struct stat st;
    if (strcmp(path, IO_STDOUT) == 0)
        return true;
    return !io_is_remote(path) && stat(path, &st) == 0 && !S_ISREG(st.st_mode) &&
           !S_ISDIR(st.st_mode);
}

const char *io_output_name(const char *path)
{
    return strcmp(path, IO_STDOUT) == 0 ? "stdout" : path;
}

static bool is_input(const char *path, const struct stat *st, const char *input)
{
    struct stat other;
    if (strcmp(path, input) == 0)
        return true;
    return st && !io_is_remote(input) && stat(input, &other) == 0 &&
           st->st_dev == other.st_dev && st->st_ino == other.st_ino;
}

static enum rc check_inputs(const char *path, const struct stat *st,
                            const struct fs_names *inputs, struct err *err)
{
    for (size_t i = 0; inputs && i < inputs->n; i++)
        if (is_input(path, st, inputs->at[i]))
            return err_coded(err, RC_INVAL, E0009,
                             "output '%.300s' is the input '%.300s'; name another output",
                             path, inputs->at[i]);
    return RC_OK;
}

static enum rc exists(const char *path, struct err *err)
{
    return err_coded(err, RC_INVAL, E0008,
                     "output '%.300s' exists; name another one, or say --overwrite",
                     path);
}

static enum rc guard_object(const char *url, const struct fs_names *inputs,
                            bool overwrite, struct err *err)
{
    struct io_file *f = NULL;
    enum rc rc = check_inputs(url, NULL, inputs, err);
    if (rc || overwrite)
        return rc;
    rc = io_open(url, IO_FRONT, &f, err);
    io_close(f);
    return rc == RC_NOTFOUND ? RC_OK : rc ? rc : exists(url, err);
}

enum rc io_guard_file(const char *path, const struct fs_names *inputs, bool overwrite,
                      struct err *err)
{
    struct stat st;
    if (io_is_direct(path) || (strstr(path, "://") && !io_is_remote(path)))
        return RC_OK; /* a table or topic of a service is not ours to look at */
    if (io_is_remote(path))
        return guard_object(path, inputs, overwrite, err);
    bool there = stat(path, &st) == 0;
    enum rc rc = check_inputs(path, there ? &st : NULL, inputs, err);
    if (!rc && !overwrite && (there || lstat(path, &st) == 0))
        rc = exists(path, err);
    if (!rc) {
        char *dir = fs_dirname(path);
        fs_sweep_dead(dir);
        mem_free(dir);
    }
    return rc;
}

enum rc io_guard_files(const char *dir, const char *const *names,
                       const struct fs_names *inputs, bool overwrite, struct err *err)
{
    enum rc rc = RC_OK;
    for (; *names && !rc; names++) {
        char *path = fs_join(dir, *names);
        rc = io_guard_file(path, inputs, overwrite, err);
        mem_free(path);
    }
    return rc;
}

/* True when the real path `file` lies below the real path `dir`. */
static bool lies_in(const char *file, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(file, dir, n) == 0 && (file[n] == '/' || (n && dir[n - 1] == '/'));
}

enum rc io_guard_dir(const char *dir, const struct fs_names *inputs, struct err *err)
{
    char *real = realpath(dir, NULL);
    enum rc rc = RC_OK;
    for (size_t i = 0; real && inputs && i < inputs->n && !rc; i++) {
        char *file = realpath(inputs->at[i], NULL);
        if (file && lies_in(file, real))
            rc = err_coded(err, RC_INVAL, E0009,
                           "output directory '%.300s' holds the input '%.300s'; name "
                           "another output",
                           dir, inputs->at[i]);
        free(file);
    }
    free(real);
    return rc;
}

/* The real path of what may not be there yet, by the nearest directory above that is. */
static char *real_above(const char *path)
{
    char *at = mem_strdup(path), *real;
    while (!(real = realpath(at, NULL)) && strcmp(at, ".") != 0 && strcmp(at, "/") != 0) {
        char *up = fs_dirname(at);
        mem_free(at);
        at = up;
    }
    mem_free(at);
    return real;
}

enum rc io_guard_outside(const char *path, const char *input, struct err *err)
{
    struct str rest = str_c(input), part;
    enum rc rc = RC_OK;
    if (io_is_direct(path) || strstr(path, "://"))
        return RC_OK;
    char *up = fs_dirname(path), *out = real_above(up);
    while (!rc && out && str_split(&rest, ',', &part)) {
        char *name = mem_strndup(part.p, part.n);
        char *dir = fs_is_dir(name) ? realpath(name, NULL) : NULL;
        if (dir && (strcmp(out, dir) == 0 || lies_in(out, dir)))
            rc = err_coded(err, RC_INVAL, E0009,
                           "output '%.300s' lies in the input directory '%.300s', and "
                           "would be an input the next time; name another output",
                           path, name);
        free(dir);
        mem_free(name);
    }
    free(out);
    mem_free(up);
    return rc;
}
