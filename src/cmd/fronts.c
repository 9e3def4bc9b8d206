/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fronts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "cmd/cmd.h"

static const char *env_of(const char *name)
{
    return getenv(name);
}

static bool is_this_program(const char *path)
{
    struct stat a, b;
    return stat(path, &a) == 0 && stat("/proc/self/exe", &b) == 0 &&
           a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The first program of that name on PATH that is not a link to this one. */
static char *find_other(const char *name)
{
    struct str rest = str_c(getenv("PATH") ? getenv("PATH") : "/usr/bin:/bin"), dir;
    while (str_split(&rest, ':', &dir)) {
        char *one = mem_strndup(dir.n ? dir.p : ".", dir.n ? dir.n : 1);
        char *found = proc_which(name, one);
        mem_free(one);
        if (found && !is_this_program(found))
            return found;
        mem_free(found);
    }
    return NULL;
}

/* Returns only when it could not be started. */
static enum rc become(const struct front_call *c, struct err *err)
{
    const char *name = c->argv.at[0];
    char *path = strchr(name, '/') ? mem_strdup(name) : find_other(name);
    if (!path && strcmp(name, "python") == 0)
        path = find_other("python3");
    if (!path)
        return err_coded(err, RC_NOTFOUND, E2206, "no other '%s' on PATH", name);
    char **argv = mem_calloc(c->argv.n + 1, sizeof(*argv));
    for (size_t i = 0; i < c->argv.n; i++)
        argv[i] = mem_strdup(i ? c->argv.at[i] : path);
    fflush(NULL);
    execv(path, argv);
    enum rc rc = err_sys(err, errno, "cannot start '%s'", path);
    for (size_t i = 0; i < c->argv.n; i++)
        mem_free(argv[i]);
    mem_free(argv);
    mem_free(path);
    return rc;
}

static int run_command(const struct front_call *c)
{
    struct err err = {0};
    int words = 0, argc = (int)c->argv.n;
    char **argv = mem_calloc(c->argv.n + 1, sizeof(*argv));
    for (int i = 0; i < argc; i++)
        argv[i] = mem_strdup(c->argv.at[i]);
    const struct cmd *cmd = cmd_find(argc, argv, &words);
    enum rc rc = cmd ? cmd_execute(cmd, argc - words, argv + words, &err)
                     : cmd_unknown(argc, argv, &err);
    int status = cmd_report("trainyard", cmd, rc, &err);
    for (int i = 0; i < argc; i++)
        mem_free(argv[i]);
    mem_free(argv);
    return status;
}

static int do_call(const struct front *f, const struct front_call *c)
{
    struct err err = {0};
    for (size_t i = 0; i < c->notes.n; i++)
        fprintf(stderr, "%s: note: %s\n", f->name, c->notes.at[i]);
    for (size_t i = 0; i < c->env.n; i++)
        setenv(c->env.at[i].name, c->env.at[i].value, 1);
    switch (c->does) {
    case FRONT_COMMAND:
        return run_command(c);
    case FRONT_PROGRAM:
        return cmd_report(f->name, NULL, become(c, &err), &err);
    case FRONT_NOTHING:
        break;
    }
    if (c->text)
        fputs(c->text, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}

int front_run(const struct front *f, int argc, char *const *argv)
{
    struct front_args in = {.argc = argc, .argv = argv, .env = env_of};
    struct front_call call = {0};
    struct err err = {0};
    enum rc rc =
        f->translate
            ? f->translate(&in, &call, &err)
            : err_coded(&err, RC_UNSUPPORTED, E0607,
                        "the command line of %s is not supported by trainyard " TY_VERSION
                        " yet",
                        f->title);
    int status = rc ? cmd_report(f->name, NULL, rc, &err) : do_call(f, &call);
    front_call_release(&call);
    return status;
}
