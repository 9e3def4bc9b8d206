/* SPDX-License-Identifier: Apache-2.0 */
/* tune space: runs a trial's program once and writes down which parameters it asks for. The
 * program runs as it is, with a directory of ours at the front of PYTHONPATH in which Python
 * finds python/trainyard_space.py; that one writes the file.
 */
#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "cmd/data_input.h"
#include "cmd/tune_common.h"
#include "io/guard.h"
#include "tune/custom_text.h"

struct space_conf {
    const char *command, *dir, *file;
    bool overwrite;
};

static const struct opt opts[] = {
    {OPT_TEXT(struct space_conf, command, NULL, "command line that runs the trial"),
     .meta = "COMMAND"},
    {OPT_TEXT(struct space_conf, dir, ".", "directory to run it in"), .meta = "DIR"},
    {OPT_TEXT(struct space_conf, file, "nni_auto_gen_search_space.json",
              "search space file to write"),
     .meta = "FILE"},
    DATA_OVERWRITE_OPT(struct space_conf),
    {0},
};

/* Runs the command; how it ends is told, and what counts is the file. */
static enum rc run_trial(const char *command, const char *dir, const char *modules,
                         const char *file, struct err *err)
{
    char words[PROC_WORDS_SIZE];
    const char *old = env_get("PYTHONPATH");
    char *path = mem_printf("PYTHONPATH=%s%s%s", modules, old ? ":" : "", old ? old : ""),
         *to = mem_printf("NNI_GEN_SEARCH_SPACE=%s", file);
    const char *argv[] = {"sh", "-c", command, NULL}, *env[] = {path, to, NULL};
    struct proc_spec spec = {.argv = argv,
                             .env_add = env,
                             .cwd = dir,
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_FD, .fd = 2},
                             .err = {.kind = PROC_FD, .fd = 2},
                             .same_group = true};
    struct proc *p = NULL;
    struct proc_exit end = {.code = 0};
    enum rc rc = proc_start(&spec, &p, err);
    if (!rc)
        (void)proc_wait(p, -1, &end);
    if (!rc && (end.code || end.signal)) {
        proc_exit_words(end, words);
        fprintf(stderr, "the trial ended with %s\n", words);
    }
    proc_destroy(p);
    mem_free(to);
    mem_free(path);
    return rc;
}

static enum rc make_space(const struct space_conf *c, const char *made, struct err *err)
{
    char *modules = NULL;
    enum rc rc = fs_temp_dir("trainyard-space", &modules, err);
    if (rc)
        return rc;
    char *program = fs_join(modules, "sitecustomize.py");
    rc = fs_write(program, tune_space_text, strlen(tune_space_text), 0644, err);
    if (!rc)
        rc = run_trial(c->command, c->dir, modules, made, err);
    enum rc gone = fs_remove_all(modules, NULL);
    (void)gone; /* it is in a directory for such files */
    mem_free(program);
    mem_free(modules);
    if (!rc && !fs_exists(made))
        rc = err_coded(
            err, RC_INVAL, E4012,
            "'%.200s' asked for no parameter: it does not call nni.choice, nni.uniform "
            "or a similar function, or failed before it did",
            c->command);
    return rc;
}

static enum rc tune_space_command(const void *conf, const struct opt_args *args,
                                  struct err *err)
{
    const struct space_conf *c = conf;
    char *here = tune_absolute(".", "."), *file = tune_absolute(c->file, here);
    enum rc rc = RC_OK;
    if (!c->command)
        rc = err_coded(err, RC_INVAL, E0605, "--command is required");
    if (!rc && !fs_is_dir(c->dir))
        rc = err_coded(err, RC_NOTFOUND, E0418, "--dir '%.200s' is not a directory",
                       c->dir);
    if (!rc)
        rc = io_guard_file(file, NULL, c->overwrite, err);
    if (!rc && c->overwrite)
        rc = fs_remove_all(file, err);
    if (!rc)
        rc = make_space(c, file, err);
    if (!rc)
        printf("%s\n", file);
    mem_free(file);
    mem_free(here);
    return rc;
}

static const struct cmd_example examples[] = {
    {"the parameters of a program",
     "trainyard tune space --command 'python3 train.py' --file search_space.json"},
    {0},
};

const struct cmd cmd_tune_space = {
    .name = "tune space",
    .summary = "generate a search space file from a trial's program",
    .description =
        "Runs the command once and records its calls of nni.choice, nni.uniform, "
        "nni.randint and similar functions, each of which returns its first value: "
        "nni.choice(16, 32, name='batch') or nni.choice('batch', [16, 32]). The "
        "package nni need not be installed.",
    .examples = examples,
    .opts = opts,
    .conf_size = sizeof(struct space_conf),
    .run = tune_space_command,
};
