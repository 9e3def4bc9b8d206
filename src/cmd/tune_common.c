/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands about experiments share: how an id, the beginning of one, or nothing
 * becomes a folder, and how an experiment is run. tune_run() is the manager in this
 * process, with a line on stderr for each trial that ends; tune_start() starts `tune
 * resume --wait` in a session of its own, which writes manager.log, so that both are the
 * same code.
 */
#include "cmd/tune_common.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/proc.h"
#include "cmd/cmd.h"
#include "tune/manager.h"

char *tune_home(void)
{
    const char *home = getenv("HOME");
    return fs_join(home ? home : ".", "nni-experiments");
}

static bool id_ok(const char *id)
{
    return *id && strlen(id) < EXP_ID_SIZE && !strchr(id, '/') && id[0] != '.';
}

/* The one name in `home` that begins with `id`, as nnictl takes it; a '*' at the end may
 * say so. The caller's; NULL: none, or several, whose names are then in `several`.
 */
static char *by_prefix(const char *home, const char *id, struct buf *several)
{
    struct fs_names names = {0};
    size_t n = strlen(id), found = 0;
    char *one = NULL;
    if (n > 0 && id[n - 1] == '*')
        n--;
    if (fs_is_dir(home) && fs_list(home, &names, NULL) == RC_OK)
        for (size_t i = 0; i < names.n; i++) {
            if (names.at[i][0] == '_' || names.at[i][0] == '.' ||
                strncmp(names.at[i], id, n) != 0)
                continue;
            buf_printf(several, "%s%s", found++ ? ", " : "", names.at[i]);
            mem_free(one);
            one = mem_strdup(names.at[i]);
        }
    fs_names_release(&names);
    if (found != 1) {
        mem_free(one);
        one = NULL;
    }
    return one;
}

static enum rc no_such(const char *home, const char *id, const char *several,
                       struct err *err)
{
    if (!id)
        return err_coded(err, RC_NOTFOUND, E4008, "there is no experiment in '%s' yet",
                         home);
    if (several[0])
        return err_coded(err, RC_NOTFOUND, E4008,
                         "'%s' is ambiguous; it matches the "
                         "experiments %s",
                         id, several);
    return err_coded(err, RC_NOTFOUND, E4008, "there is no experiment '%s' in '%s'", id,
                     home);
}

enum rc tune_dir(const char *dir, const char *id, char **out, struct err *err)
{
    if (dir) {
        char *real = realpath(dir, NULL);
        *out = mem_strdup(real ? real : dir);
        free(real);
        return RC_OK;
    }
    char *home = tune_home(), *whole = NULL;
    struct buf several;
    buf_init(&several, CMD_TEXT_MAX);
    char *path = fs_join(home, id ? id : "_latest");
    if (id && id_ok(id) && !fs_is_dir(path) && (whole = by_prefix(home, id, &several))) {
        mem_free(path);
        path = fs_join(home, whole);
    }
    enum rc rc = RC_OK;
    if ((id && !id_ok(id)) || !fs_is_dir(path))
        rc = no_such(home, id, buf_str(&several), err);
    if (!rc)
        *out = path;
    else
        mem_free(path);
    buf_release(&several);
    mem_free(whole);
    mem_free(home);
    return rc;
}

/* One line per trial that ended, and per change of the experiment. */
struct watch {
    VEC(bool) told;
    enum exp_status status;
};

static void show_end(const struct experiment *e, const struct exp_trial *t)
{
    char took[CLOCK_TEXT_SIZE] = "-", value[32] = "-";
    if (t->started)
        clock_duration((t->ended - t->started) * 1000000, took);
    if (t->has_final)
        str_from_f64(t->final, value);
    fprintf(stderr, "trial %jd %-13s %-10s %8s %s%s\n", (intmax_t)t->number,
            trial_status_name(t->status), value, took, t->params,
            e->best == t->number ? "  best so far" : "");
    if (t->message[0])
        fprintf(stderr, "  %s\n", t->message);
}

static void on_change(void *arg, const struct experiment *e)
{
    struct watch *w = arg;
    for (size_t i = 0; i < e->trials.n; i++) {
        while (w->told.n <= i)
            VEC_PUSH(&w->told, false);
        if (!w->told.at[i] && trial_status_ended(e->trials.at[i].status)) {
            w->told.at[i] = true;
            show_end(e, &e->trials.at[i]);
        }
    }
    if (w->status != e->status)
        fprintf(stderr, "experiment %s: %s\n", e->set.id, exp_status_name(e->status));
    w->status = e->status;
}

enum rc tune_outcome(const struct experiment *e, struct err *err)
{
    char value[32];
    if (e->best < 0) {
        fprintf(stderr, "no trial has a result\n");
    } else {
        str_from_f64(e->trials.at[e->best].final, value);
        fprintf(stderr, "best of %zu trials: trial %jd with %s\n  %s\n", e->trials.n,
                (intmax_t)e->best, value, e->trials.at[e->best].params);
    }
    return e->status == EXP_ERROR
               ? err_coded(err, RC_INVAL, E4009, "experiment %s failed: %s", e->set.id,
                           e->error)
               : RC_OK;
}

enum rc tune_run(const char *dir, const struct job_where *jobs, struct err *err)
{
    struct experiment *e = NULL;
    struct cmd_place place = {0};
    struct watch watch = {.status = EXP_STATUSES};
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    int signals = signalfd(-1, &set, SFD_CLOEXEC);
    sigaddset(&set, SIGPIPE); /* a custom tuner that ended is an answer, not our end */
    sigprocmask(SIG_BLOCK, &set, NULL);
    enum rc rc = cmd_place_open(jobs, &place, err);
    if (!rc)
        rc = experiment_open(dir, &e, err);
    if (!rc) {
        for (size_t i = 0; i < e->trials.n; i++)
            VEC_PUSH(&watch.told, trial_status_ended(e->trials.at[i].status));
        struct tune_manager_options o = {.env = (const char *const *)environ,
                                         .signals = signals,
                                         .changed = on_change,
                                         .arg = &watch};
        rc = tune_manager_run(e, &place.p, &o, err);
    }
    if (!rc)
        rc = tune_outcome(e, err);
    VEC_RELEASE(&watch.told);
    experiment_close(e);
    cmd_place_close(&place);
    if (signals >= 0)
        close(signals);
    return rc;
}

enum rc tune_start(const char *dir, const struct job_where *jobs, struct err *err)
{
    char exe[4096], *log = fs_join(dir, "manager.log");
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = 0;
    const char *argv[12] = {exe, "tune", "resume", "--wait", "--dir", dir};
    size_t k = 6;
    if (jobs->dir) {
        argv[k++] = "--jobs-dir";
        argv[k++] = jobs->dir;
    }
    if (jobs->store) {
        argv[k++] = "--store";
        argv[k++] = jobs->store;
    }
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    struct proc_spec spec = {.argv = argv,
                             .in = {.kind = PROC_NULL},
                             .out = {.kind = PROC_FD, .fd = fd},
                             .err = {.kind = PROC_FD, .fd = fd},
                             .new_session = true};
    struct proc *p = NULL;
    enum rc rc = fd < 0 ? err_set(err, RC_IO, "cannot write '%s'", log)
                        : proc_start(&spec, &p, err);
    if (!rc)
        proc_disown(p);
    if (fd >= 0)
        close(fd);
    mem_free(log);
    return rc;
}
